/*
  The four problems. Node (i,j,k) of the fine grid is at x = i, y = j, z = k; the published domains are scaled so that
  an element is a unit cube. Sets of nodes are given on the fine grid and found on a coarse one by rounding down.
*/
#include "topopt.h"
#include <petscblaslapack.h>

const char *const ProblemTypes[] = {"cantilever", "torsion", "bridge", "mbb", "ProblemType", "PROBLEM_", NULL};

PetscErrorCode ProblemSetFromOptions(Problem *p)
{
  static const PetscInt size[][3] = {
    {32, 16, 8},
    {30, 10, 10},
    {30, 10, 6},
    {30, 10, 6}};
  PetscInt  n, maxcase = MAX_CASES;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Topology optimization: the problem", NULL);
  PetscCall(PetscOptionsEnum("-problem", "What to optimize", NULL, ProblemTypes, (PetscEnum)p->type, (PetscEnum *)&p->type, NULL));
  PetscCall(PetscArraycpy(p->n, size[p->type], 3));
  PetscCall(PetscOptionsInt("-nx", "Elements in x", NULL, p->n[0], &p->n[0], NULL));
  PetscCall(PetscOptionsInt("-ny", "Elements in y", NULL, p->n[1], &p->n[1], NULL));
  PetscCall(PetscOptionsInt("-nz", "Elements in z", NULL, p->n[2], &p->n[2], NULL));
  for (PetscInt d = 0; d < 3; d++) PetscCheck(p->n[d] > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-n%c %" PetscInt_FMT ": give a positive number of elements", (char)('x' + d), p->n[d]);
  p->ncase = 1;
  PetscCall(PetscOptionsInt("-load_cases", "Number of load cases", NULL, p->ncase, &p->ncase, NULL));
  PetscCheck(p->ncase > 0 && p->ncase <= MAX_CASES, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-load_cases %" PetscInt_FMT ": the problems have 1 to %d load cases", p->ncase, MAX_CASES);
  for (PetscInt l = 0; l < p->ncase; l++) p->weight[l] = 1 / (PetscReal)p->ncase;
  PetscCall(PetscOptionsRealArray("-load_weights", "Weights of the load cases", NULL, p->weight, &maxcase, &set));
  PetscCheck(!set || maxcase == p->ncase, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "-load_weights gives %" PetscInt_FMT " weights for %" PetscInt_FMT " load cases", maxcase, p->ncase);
  p->deck = p->type == PROBLEM_BRIDGE ? 1 : 0;
  PetscCall(PetscOptionsInt("-deck", "Layers of solid elements at the top", NULL, p->deck, &p->deck, NULL));
  PetscCall(PetscOptionsBool("-published_supports", "MBB: leave displacements in z free, as published", NULL, p->published_supports, &p->published_supports, NULL));
  for (int s = 0; s < 2; s++) {
    p->nbox[s] = 0;
    n          = 6 * MAX_BOXES;
    PetscCall(PetscOptionsRealArray(s ? "-passive_solid" : "-passive_void", "Boxes x0,x1,y0,y1,z0,z1 in fractions of the domain", NULL, p->box[s], &n, &set));
    if (!set) continue;
    PetscCheck(n % 6 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%s: %" PetscInt_FMT " numbers are not boxes x0,x1,y0,y1,z0,z1", s ? "-passive_solid" : "-passive_void", n);
    p->nbox[s] = n / 6;
  }
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is component c of node ijk of the grid coarsened f times held? */
static PetscBool NodeIsFixed(const Problem *p, PetscInt f, const PetscInt ijk[3], PetscInt c)
{
  const PetscInt *n    = p->n;
  const PetscBool left = (PetscBool)(ijk[0] == 0), right = (PetscBool)(ijk[0] == n[0] / f), bottom = (PetscBool)(ijk[1] == 0), top = (PetscBool)(ijk[1] == n[1] / f);
  const PetscBool middle  = (PetscBool)(ijk[2] == (n[2] / 2) / f || ijk[2] == ((n[2] + 1) / 2) / f); /* one node, or two around the middle */
  const PetscBool onenode = (PetscBool)(ijk[2] == (n[2] / 2) / f);
  const PetscBool ends    = (PetscBool)(ijk[2] == 0 || ijk[2] == n[2] / f);

  switch (p->type) {
  case PROBLEM_CANTILEVER:
  case PROBLEM_TORSION:
    return left;
  case PROBLEM_BRIDGE:
    if (!bottom || !(ends || middle)) return PETSC_FALSE;
    return (PetscBool)(left || (right && c == 1));
  case PROBLEM_MBB:
    if (left && c == 0) return PETSC_TRUE;
    if (right && bottom && middle && c == 1) return PETSC_TRUE;
    /*
      The published supports leave uz and the rotation about x free. Two held displacements, at the support and below
      the load, remove just these two motions: no load works on them, so that the design and the compliance stay.
    */
    return (PetscBool)(!p->published_supports && c == 2 && onenode && ((right && bottom) || (left && top)));
  }
  return PETSC_FALSE;
}

/* Global numbers of the held displacements of the nodes that this process owns */
PetscErrorCode ProblemGetFixed(const Problem *p, DM nodes, PetscInt f, IS *is)
{
  PetscInt s[3], m[3], rstart, count = 0, *list;
  Vec      v;
  MPI_Comm comm;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectGetComm((PetscObject)nodes, &comm));
  PetscCall(DMDAGetCorners(nodes, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(DMGetGlobalVector(nodes, &v));
  PetscCall(VecGetOwnershipRange(v, &rstart, NULL));
  PetscCall(DMRestoreGlobalVector(nodes, &v));
  PetscCall(PetscMalloc1(3 * m[0] * m[1] * m[2], &list));
  for (PetscInt k = 0, node = 0; k < m[2]; k++) {
    for (PetscInt j = 0; j < m[1]; j++) {
      for (PetscInt i = 0; i < m[0]; i++, node++) {
        for (PetscInt c = 0; c < 3; c++) {
          if (NodeIsFixed(p, f, (PetscInt[3]){s[0] + i, s[1] + j, s[2] + k}, c)) list[count++] = rstart + 3 * node + c;
        }
      }
    }
  }
  PetscCall(ISCreateGeneral(comm, count, list, PETSC_COPY_VALUES, is));
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Do the supports hold the body? Row by row, a held displacement takes the values of the six rigid-body motions there;
  the Gram matrix of these rows is singular when a motion does not move any of the held displacements.
*/
PetscErrorCode ProblemCheckSupports(const Problem *p, DM nodes)
{
  static const char *const motion[] = {"displacement in x", "displacement in y", "displacement in z", "rotation about x", "rotation about y", "rotation about z"};
  PetscInt                 s[3], m[3];
  PetscReal                gram[36] = {0}, length = PetscMax(p->n[0], PetscMax(p->n[1], p->n[2]));
  char                     names[256] = "";

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(nodes, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  for (PetscInt k = s[2]; k < s[2] + m[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + m[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + m[0]; i++) {
        const PetscReal x = (i - p->n[0] / 2.) / length, y = (j - p->n[1] / 2.) / length, z = (k - p->n[2] / 2.) / length;
        const PetscReal rows[3][6] = {
          {1, 0, 0, 0, z, -y},
          {0, 1, 0, -z, 0, x},
          {0, 0, 1, y, -x, 0}};

        for (PetscInt c = 0; c < 3; c++) {
          if (!NodeIsFixed(p, 1, (PetscInt[3]){i, j, k}, c)) continue;
          for (int a = 0; a < 36; a++) gram[a] += rows[c][a / 6] * rows[c][a % 6];
        }
      }
    }
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, gram, 36, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  {
    PetscScalar  a[36], work[64];
    PetscReal    eigenvalue[6];
    PetscBLASInt n = 6, lwork = 64, info;
    PetscInt     nfree = 0;

    for (int i = 0; i < 36; i++) a[i] = gram[i];
    PetscCallBLAS("LAPACKsyev", LAPACKsyev_("V", "U", &n, a, &n, eigenvalue, work, &lwork, &info));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK syev failed: info %d", (int)info);
    while (nfree < 6 && eigenvalue[nfree] <= 1e-6 * PetscMax(eigenvalue[5], 1e-6)) nfree++;
    for (int c = 0; c < 6; c++) {
      PetscReal share = 0; /* of motion c in the motions that stay free */

      for (PetscInt e = 0; e < nfree; e++) share += PetscSqr(a[6 * e + c]);
      if (share < 0.3) continue;
      if (names[0]) PetscCall(PetscStrlcat(names, ", ", sizeof(names)));
      PetscCall(PetscStrlcat(names, motion[c], sizeof(names)));
    }
    PetscCheck(!nfree, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONGSTATE, "The supports of problem %s leave %" PetscInt_FMT " rigid-body motion(s) free (%s): the stiffness matrix is singular%s", ProblemTypes[p->type], nfree, names, p->type == PROBLEM_MBB ? ". Run without -published_supports, which holds uz at two points where no force results" : "");
  }
  if (p->type == PROBLEM_MBB) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Supports: uz held at two nodes, because the published ones leave uz and the rotation about x free\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A force at a point, shared by the nodes of the element around it as its shape functions say */
static PetscErrorCode AddPointLoad(DM nodes, PetscScalar ****f, PetscReal x, PetscReal y, PetscReal z, const PetscReal force[3])
{
  PetscInt        s[3], m[3];
  const PetscReal at[3] = {x, y, z};

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(nodes, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  for (int a = 0; a < 8; a++) {
    PetscInt  i[3];
    PetscReal w    = 1;
    PetscBool mine = PETSC_TRUE;

    for (int d = 0; d < 3; d++) {
      const PetscInt low = (PetscInt)PetscFloorReal(at[d]);
      const int      up  = a >> d & 1;

      i[d] = low + up;
      w *= up ? at[d] - low : 1 - (at[d] - low);
      if (i[d] < s[d] || i[d] >= s[d] + m[d]) mine = PETSC_FALSE;
    }
    if (!mine || w == 0) continue;
    for (int c = 0; c < 3; c++) f[i[2]][i[1]][i[0]][c] += w * force[c];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The top between x0 and x1 under a uniform load, 1 on the whole of it */
static PetscErrorCode AddTopLoad(const Problem *p, DM nodes, PetscScalar ****f, PetscInt x0, PetscInt x1)
{
  PetscInt s[3], m[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(nodes, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  if (s[1] + m[1] != p->n[1] + 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = s[2]; k < s[2] + m[2]; k++) {
    for (PetscInt i = PetscMax(s[0], x0); i < PetscMin(s[0] + m[0], x1 + 1); i++) {
      f[k][p->n[1]][i][1] -= (i == x0 || i == x1 ? 0.5 : 1.0) * (k == 0 || k == p->n[2] ? 0.5 : 1.0) / ((PetscReal)p->n[0] * p->n[2]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProblemGetLoad(const Problem *p, DM nodes, PetscInt loadcase, Vec v)
{
  const PetscReal direction[MAX_CASES][3] = {
    {0, -1, 0},
    {0, 0, 1},
    {1, 0, 0}};
  const PetscReal x = p->n[0], y = p->n[1], z = p->n[2];
  PetscScalar ****f;

  PetscFunctionBeginUser;
  PetscCall(VecSet(v, 0));
  PetscCall(DMDAVecGetArrayDOF(nodes, v, &f));
  switch (p->type) {
  case PROBLEM_CANTILEVER: /* a force at the middle of the free end: down, sideways, along */
    PetscCall(AddPointLoad(nodes, f, x, y / 2, z / 2, direction[loadcase]));
    break;
  case PROBLEM_TORSION: /* a twisting couple; bending; tension */
    if (loadcase)
      PetscCall(AddPointLoad(nodes, f, x, y / 2, z / 2, direction[loadcase == 1 ? 0 : 2]));
    else {
      PetscCall(AddPointLoad(nodes, f, x, y, z / 2, (PetscReal[3]){0, -0.5, 0.5}));
      PetscCall(AddPointLoad(nodes, f, x, 0, z / 2, (PetscReal[3]){0, 0.5, -0.5}));
    }
    break;
  case PROBLEM_BRIDGE: /* traffic everywhere; on the left half; on the right half */
    PetscCall(AddTopLoad(p, nodes, f, loadcase == 2 ? p->n[0] / 2 : 0, loadcase == 1 ? (p->n[0] + 1) / 2 : p->n[0]));
    break;
  case PROBLEM_MBB: /* a force on the top at the plane of symmetry; at a third; at two thirds */
    PetscCall(AddPointLoad(nodes, f, loadcase * x / 3, y, z / 2, direction[0]));
    break;
  }
  PetscCall(DMDAVecRestoreArrayDOF(nodes, v, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is the middle of the element within the box? */
static PetscBool InBox(const Problem *p, const PetscReal box[6], const PetscInt ijk[3])
{
  for (int d = 0; d < 3; d++) {
    const PetscReal middle = (ijk[d] + 0.5) / p->n[d];

    if (middle < box[2 * d] || middle > box[2 * d + 1]) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode ProblemGetPassive(const Problem *p, DM cells, signed char **passive)
{
  PetscInt s[3], m[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(cells, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(PetscCalloc1(m[0] * m[1] * m[2], passive));
  for (PetscInt k = 0, e = 0; k < m[2]; k++) {
    for (PetscInt j = 0; j < m[1]; j++) {
      for (PetscInt i = 0; i < m[0]; i++, e++) {
        const PetscInt ijk[3] = {s[0] + i, s[1] + j, s[2] + k};

        for (PetscInt b = 0; b < p->nbox[0]; b++) {
          if (InBox(p, &p->box[0][6 * b], ijk)) (*passive)[e] = -1;
        }
        for (PetscInt b = 0; b < p->nbox[1]; b++) {
          if (InBox(p, &p->box[1][6 * b], ijk)) (*passive)[e] = 1;
        }
        if (ijk[1] >= p->n[1] - p->deck) (*passive)[e] = 1;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
