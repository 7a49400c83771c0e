/*
  Finite-element problems that a matrix of any type is given element by element, for the tests of MATSHELLFEM.

  Cells of a box, n[0] x n[1] x n[2] with edges 1, 1/2, 2, are whole (quadrilaterals, hexahedra) or cut into dim! simplices. An
  element is a truss: springs between all pairs of its nodes. That is an elastic element of any shape in any number of nodes, it is
  symmetric, and rigid-body motions cost nothing, so that known answers exist.

  Values come from a hash of seed, element and index: the same for every type, rank count and repetition.
*/
#pragma once

#include <trefoil.h>
#include <petscdmda.h>
#include <petscksp.h>

#define SHELLFEM "shellfem"
#define MAXNODES 8
#define MAXDOF   6

typedef enum {
  CALL_VALUES,
  CALL_BLOCKED,
  CALL_LOCAL,
  CALL_BLOCKEDLOCAL,
  CALL_STENCIL,
  CALL_BLOCKEDSTENCIL,
  CALL_MIXED /* each element by another call */
} CallType;
static const char *const CallTypes[] = {"values", "blocked", "local", "blockedlocal", "stencil", "blockedstencil", "mixed", "CallType", "CALL_", NULL};

typedef enum {
  ORDER_BINARY,
  ORDER_AROUND, /* around each face, as DMDAGetElements */
  ORDER_RANDOM  /* another one for each element */
} OrderType;
static const char *const OrderTypes[] = {"binary", "around", "random", "OrderType", "ORDER_", NULL};

typedef struct {
  MPI_Comm               comm;
  PetscMPIInt            rank, size;
  DM                     da; /* NULL: an unstructured mesh with nodes in random order */
  PetscInt               dim, n[3], dof, seed, references, step;
  PetscReal              voids, full, contrast, simplices;
  PetscBool              bycomponent, reverse, emptyrank, symmetric, periodic;
  CallType               call;
  OrderType              order;
  PetscInt               nodes[3], nnode;  /* of the whole mesh */
  PetscInt               nlocal;           /* nodes that this rank owns */
  PetscInt               start[3], end[3]; /* with da: cells whose elements this rank gives */
  PetscInt               ghost[6];         /* with da: corner and width of the local box */
  PetscInt              *number, *local;   /* without: natural to global, to local number of a node */
  ISLocalToGlobalMapping map;
  PetscInt               given; /* elements that this rank gave in the last Assemble() */
} Problem;

typedef struct {
  PetscInt    nen;
  PetscInt    node[MAXNODES][3]; /* place in the lattice of nodes */
  PetscScalar K[MAXNODES * MAXDOF * MAXNODES * MAXDOF];
} Element;

/* Number in [0, 1) */
static inline PetscReal Noise(const Problem *p, PetscInt a, PetscInt b)
{
  unsigned long long h = 0x9e3779b97f4a7c15ULL * (unsigned long long)(p->seed + 1);

  h ^= (unsigned long long)a * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
  h ^= (unsigned long long)b * 0x94d049bb133111ebULL;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
  h ^= h >> 31;
  return (PetscReal)((double)(h >> 11) / 9007199254740992.);
}

static inline PetscScalar NoiseScalar(const Problem *p, PetscInt a, PetscInt b)
{
  PetscScalar v = 2 * Noise(p, a, b) - 1;

#if PetscDefined(USE_COMPLEX)
  v += PETSC_i * (2 * Noise(p, a + 77, b) - 1);
#endif
  return v;
}

static inline PetscErrorCode Check(const char *what, PetscReal error, PetscReal tolerance)
{
  PetscFunctionBeginUser;
  if (error <= tolerance)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: OK\n", what));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: FAILED, %g exceeds %g\n", what, (double)error, (double)tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define TOLERANCE (1000 * PETSC_MACHINE_EPSILON)

/* Mesh without DMDA: nodes in random order, rows dealt out evenly or rank 0 without any */
static inline PetscErrorCode ProblemNumber(Problem *p)
{
  PetscInt *list, nlist = 0, first, cells = p->n[0] * p->n[1] * p->n[2];

  PetscFunctionBeginUser;
  p->nlocal = p->nnode / p->size + (p->rank < p->nnode % p->size);
  if (p->emptyrank && p->size > 1) p->nlocal = p->rank == 0 ? 0 : p->nnode / (p->size - 1) + (p->rank - 1 < p->nnode % (p->size - 1));
  PetscCallMPI(MPI_Scan(&p->nlocal, &first, 1, MPIU_INT, MPI_SUM, p->comm));
  first -= p->nlocal;
  PetscCall(PetscMalloc1(p->nnode, &p->number));
  PetscCall(PetscMalloc1(p->nnode, &p->local));
  PetscCall(PetscMalloc1(p->nnode, &list));
  for (PetscInt i = 0; i < p->nnode; i++) p->number[i] = i;
  for (PetscInt i = p->nnode - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)(Noise(p, i, 1001) * (PetscReal)(i + 1)), t = p->number[i];

    p->number[i] = p->number[j];
    p->number[j] = t;
  }
  for (PetscInt i = 0; i < p->nnode; i++) {
    p->local[i] = -1;
    if (p->number[i] >= first && p->number[i] < first + p->nlocal) {
      p->local[i]   = nlist;
      list[nlist++] = p->number[i];
    }
  }
  p->start[0] = (PetscInt)((PetscInt64)cells * p->rank / p->size);
  p->end[0]   = (PetscInt)((PetscInt64)cells * (p->rank + 1) / p->size);
  for (PetscInt c = p->start[0]; c < p->end[0]; c++) {
    for (PetscInt a = 0; a < (1 << p->dim); a++) {
      const PetscInt i = c % p->n[0] + (a & 1), j = c / p->n[0] % p->n[1] + (a >> 1 & 1), k = c / (p->n[0] * p->n[1]) + (a >> 2);
      const PetscInt node = (k * p->nodes[1] + j) * p->nodes[0] + i;

      if (p->local[node] >= 0) continue;
      p->local[node] = nlist;
      list[nlist++]  = p->number[node];
    }
  }
  PetscCall(ISLocalToGlobalMappingCreate(p->comm, p->dof, nlist, list, PETSC_COPY_VALUES, &p->map));
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemCreateDMDA(Problem *p)
{
  const DMBoundaryType boundary = p->periodic ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  PetscInt             width[3] = {1, 1, 1}, corner[3] = {0, 0, 0};
  Vec                  x;

  PetscFunctionBeginUser;
  if (p->dim == 2)
    PetscCall(DMDACreate2d(p->comm, boundary, boundary, DMDA_STENCIL_BOX, p->nodes[0], p->nodes[1], PETSC_DECIDE, PETSC_DECIDE, p->dof, 1, NULL, NULL, &p->da));
  else
    PetscCall(DMDACreate3d(p->comm, boundary, boundary, boundary, DMDA_STENCIL_BOX, p->nodes[0], p->nodes[1], p->nodes[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, p->dof, 1, NULL, NULL, NULL, &p->da));
  PetscCall(DMSetFromOptions(p->da));
  PetscCall(DMSetUp(p->da));
  PetscCall(DMDAGetCorners(p->da, &corner[0], &corner[1], &corner[2], &width[0], &width[1], &width[2]));
  PetscCall(DMDAGetGhostCorners(p->da, &p->ghost[0], &p->ghost[1], &p->ghost[2], &p->ghost[3], &p->ghost[4], &p->ghost[5]));
  for (PetscInt d = 0; d < 3; d++) {
    p->start[d] = corner[d];
    p->end[d]   = d < p->dim && !p->periodic ? PetscMin(corner[d] + width[d], p->n[d]) : corner[d] + width[d];
  }
  PetscCall(DMGetGlobalVector(p->da, &x));
  PetscCall(VecGetLocalSize(x, &p->nlocal));
  PetscCall(DMRestoreGlobalVector(p->da, &x));
  p->nlocal /= p->dof;
  PetscCall(DMGetLocalToGlobalMapping(p->da, &p->map));
  PetscCall(PetscObjectReference((PetscObject)p->map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options say what the problem is; lattice: with a DMDA */
static inline PetscErrorCode ProblemCreate(MPI_Comm comm, PetscBool lattice, Problem *p)
{
  PetscInt three = 3;

  PetscFunctionBeginUser;
  *p            = (Problem){0};
  p->comm       = comm;
  p->dim        = 3;
  p->n[0]       = 5;
  p->n[1]       = 4;
  p->n[2]       = 3;
  p->contrast   = 1e-3;
  p->references = 1;
  p->call       = lattice ? CALL_BLOCKEDSTENCIL : CALL_BLOCKED;
  PetscCallMPI(MPI_Comm_rank(comm, &p->rank));
  PetscCallMPI(MPI_Comm_size(comm, &p->size));
  PetscOptionsBegin(comm, NULL, "Finite-element problem of a test", NULL);
  PetscCall(PetscOptionsRangeInt("-dim", "Space dimension", NULL, p->dim, &p->dim, NULL, 2, 3));
  p->dof = p->dim;
  PetscCall(PetscOptionsIntArray("-n", "Cells in each direction", NULL, p->n, &three, NULL));
  PetscCall(PetscOptionsRangeInt("-dof", "Dofs of a node", NULL, p->dof, &p->dof, NULL, 1, MAXDOF));
  PetscCall(PetscOptionsInt("-seed", "Of the random numbers", NULL, p->seed, &p->seed, NULL));
  PetscCall(PetscOptionsInt("-references", "Different reference matrices", NULL, p->references, &p->references, NULL));
  PetscCall(PetscOptionsReal("-voids", "Fraction of cells without element", NULL, p->voids, &p->voids, NULL));
  PetscCall(PetscOptionsReal("-full", "Fraction of elements with a matrix of their own", NULL, p->full, &p->full, NULL));
  PetscCall(PetscOptionsReal("-simplices", "Fraction of cells that are cut", NULL, p->simplices, &p->simplices, NULL));
  PetscCall(PetscOptionsReal("-contrast", "Smallest scale", NULL, p->contrast, &p->contrast, NULL));
  PetscCall(PetscOptionsBool("-by_component", "Dofs of an element by component, not by node", NULL, p->bycomponent, &p->bycomponent, NULL));
  PetscCall(PetscOptionsBool("-reverse", "Elements in reverse order", NULL, p->reverse, &p->reverse, NULL));
  PetscCall(PetscOptionsBool("-empty_rank", "Rank 0 owns nothing", NULL, p->emptyrank, &p->emptyrank, NULL));
  PetscCall(PetscOptionsBool("-periodic", "Periodic lattice", NULL, p->periodic, &p->periodic, NULL));
  PetscCall(PetscOptionsEnum("-call", "Which MatSetValues", NULL, CallTypes, (PetscEnum)p->call, (PetscEnum *)&p->call, NULL));
  PetscCall(PetscOptionsEnum("-order", "Of the nodes of an element", NULL, OrderTypes, (PetscEnum)p->order, (PetscEnum *)&p->order, NULL));
  PetscOptionsEnd();
  p->symmetric = (PetscBool)(p->full == 0);
  if (p->dim == 2) p->n[2] = 1;
  p->nnode = 1;
  for (PetscInt d = 0; d < 3; d++) {
    p->nodes[d] = d < p->dim ? p->n[d] + !p->periodic : 1;
    p->nnode *= p->nodes[d];
  }
  if (lattice)
    PetscCall(ProblemCreateDMDA(p));
  else
    PetscCall(ProblemNumber(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(ISLocalToGlobalMappingDestroy(&p->map));
  PetscCall(DMDestroy(&p->da));
  PetscCall(PetscFree(p->number));
  PetscCall(PetscFree(p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The springs of reference matrix r; nodes at (1, 1/2, 2) times their place */
static inline void ElementTruss(const Problem *p, PetscInt r, Element *e)
{
  const PetscInt  ndof    = e->nen * p->dof;
  const PetscReal edge[3] = {1, .5, 2};

  for (PetscInt i = 0; i < ndof * ndof; i++) e->K[i] = 0;
  for (PetscInt a = 0; a < e->nen; a++)
    for (PetscInt b = 0; b < e->nen; b++) {
      PetscReal d[3] = {0, 0, 0}, length = 0, k;

      if (a == b) continue;
      for (PetscInt c = 0; c < p->dim; c++) {
        d[c] = edge[c] * (PetscReal)(e->node[b][c] - e->node[a][c]);
        length += d[c] * d[c];
      }
      length = PetscSqrtReal(length);
      k      = (1 + (PetscReal)r * PetscAbsReal(d[0]) / length) / length;
      for (PetscInt c = 0; c < p->dof; c++)
        for (PetscInt f = 0; f < p->dof; f++) {
          const PetscReal v = k * (p->dof == p->dim ? d[c] * d[f] / (length * length) : (c == f) + .1);

          e->K[(a * p->dof + c) * ndof + a * p->dof + f] += v;
          e->K[(a * p->dof + c) * ndof + b * p->dof + f] -= v;
        }
    }
}

/* Part of a cell: the whole cell, or the simplex along the path of one permutation of the axes */
static inline void ElementNodes(const Problem *p, const PetscInt cell[3], PetscInt part, PetscInt id, Element *e)
{
  static const PetscInt axes[6][3] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {0, 2, 1}, {1, 2, 0}, {2, 1, 0}};
  static const PetscInt around[8]  = {0, 1, 3, 2, 4, 5, 7, 6};
  PetscInt              corner[MAXNODES];

  if (part < 0) {
    e->nen = 1 << p->dim;
    for (PetscInt a = 0; a < e->nen; a++) corner[a] = p->order == ORDER_AROUND ? around[a] : a;
  } else {
    e->nen    = p->dim + 1;
    corner[0] = 0;
    for (PetscInt a = 0; a < p->dim; a++) corner[a + 1] = corner[a] | (1 << axes[part][a]);
  }
  for (PetscInt a = e->nen - 1; a > 0 && p->order == ORDER_RANDOM; a--) {
    const PetscInt b = (PetscInt)(Noise(p, id, 500 + a) * (PetscReal)(a + 1)), t = corner[a];

    corner[a] = corner[b];
    corner[b] = t;
  }
  for (PetscInt a = 0; a < e->nen; a++)
    for (PetscInt d = 0; d < 3; d++) e->node[a][d] = cell[d] + (corner[a] >> d & 1);
}

static inline void ElementValues(const Problem *p, PetscInt id, Element *e)
{
  const PetscInt  ndof  = e->nen * p->dof;
  const PetscReal scale = PetscPowReal(p->contrast, Noise(p, id, 10 + p->step));

  if (Noise(p, id, 2) < p->full)
    for (PetscInt i = 0; i < ndof * ndof; i++) e->K[i] = NoiseScalar(p, id, 2000 + i + 7919 * p->step);
  else {
    ElementTruss(p, (PetscInt)(Noise(p, id, 3) * (PetscReal)p->references), e);
    for (PetscInt i = 0; i < ndof * ndof; i++) e->K[i] *= scale;
  }
}

/* What an element is called with: nodes (or places) and the dofs of them */
static inline PetscErrorCode ProblemIndices(const Problem *p, const Element *e, PetscInt local[], PetscInt global[], MatStencil place[])
{
  PetscFunctionBeginUser;
  for (PetscInt a = 0; a < e->nen; a++) {
    const PetscInt *n = e->node[a];

    if (p->da) {
      local[a] = ((n[2] - p->ghost[2]) * p->ghost[4] + n[1] - p->ghost[1]) * p->ghost[3] + n[0] - p->ghost[0];
      place[a] = (MatStencil){.i = n[0], .j = n[1], .k = n[2], .c = 0};
    } else
      local[a] = p->local[(n[2] * p->nodes[1] + n[1]) * p->nodes[0] + n[0]];
  }
  PetscCall(ISLocalToGlobalMappingApplyBlock(p->map, e->nen, local, global));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ElementAdd(const Problem *p, PetscInt id, Element *e, Mat A)
{
  const PetscInt ndof = e->nen * p->dof, nen = e->nen, dof = p->dof;
  PetscInt       local[MAXNODES], global[MAXNODES], rows[MAXNODES * MAXDOF];
  MatStencil     place[MAXNODES], dofs[MAXNODES * MAXDOF];
  PetscScalar    K[MAXNODES * MAXDOF * MAXNODES * MAXDOF];
  CallType       call = p->call;

  PetscFunctionBeginUser;
  PetscCall(ProblemIndices(p, e, local, global, place));
  if (call == CALL_MIXED) call = (CallType)(Noise(p, id, 4) * (p->da ? 6 : 4));
  for (PetscInt a = 0; a < nen; a++)
    for (PetscInt c = 0; c < dof; c++) {
      const PetscInt i = p->bycomponent ? c * nen + a : a * dof + c;

      rows[i] = (call == CALL_LOCAL ? local[a] : global[a]) * dof + c;
      if (p->da) {
        dofs[i]   = place[a];
        dofs[i].c = c;
      }
      for (PetscInt b = 0; b < nen; b++)
        for (PetscInt d = 0; d < dof; d++) K[i * ndof + (p->bycomponent ? d * nen + b : b * dof + d)] = e->K[(a * dof + c) * ndof + b * dof + d];
    }
  switch (call) {
  case CALL_VALUES:
    PetscCall(MatSetValues(A, ndof, rows, ndof, rows, K, ADD_VALUES));
    break;
  case CALL_LOCAL:
    PetscCall(MatSetValuesLocal(A, ndof, rows, ndof, rows, K, ADD_VALUES));
    break;
  case CALL_STENCIL:
    PetscCall(MatSetValuesStencil(A, ndof, dofs, ndof, dofs, K, ADD_VALUES));
    break;
  case CALL_BLOCKED:
    PetscCall(MatSetValuesBlocked(A, nen, global, nen, global, e->K, ADD_VALUES));
    break;
  case CALL_BLOCKEDLOCAL:
    PetscCall(MatSetValuesBlockedLocal(A, nen, local, nen, local, e->K, ADD_VALUES));
    break;
  default:
    PetscCall(MatSetValuesBlockedStencil(A, nen, place, nen, place, e->K, ADD_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*ElementVisitor)(Problem *, PetscInt, Element *, void *);

static inline PetscErrorCode CellVisit(Problem *p, const PetscInt cell[3], ElementVisitor visit, void *ctx)
{
  const PetscInt  c = (cell[2] * p->n[1] + cell[1]) * p->n[0] + cell[0], parts = p->dim == 2 ? 2 : 6;
  const PetscBool cut = (PetscBool)(Noise(p, 8 * c, 5) < p->simplices);
  Element         e;

  PetscFunctionBeginUser;
  if (Noise(p, 8 * c, 6) < p->voids) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt part = cut ? 0 : -1; part < (cut ? parts : 0); part++) {
    const PetscInt id = 8 * c + part + 1;

    ElementNodes(p, cell, part, id, &e);
    ElementValues(p, id, &e);
    PetscCall((*visit)(p, id, &e, ctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The elements that this rank gives */
static inline PetscErrorCode ProblemVisit(Problem *p, ElementVisitor visit, void *ctx)
{
  PetscInt width[3] = {1, 1, 1}, total = p->end[0] - p->start[0];

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < 3 && p->da; d++) width[d] = PetscMax(0, p->end[d] - p->start[d]);
  if (p->da) total = width[0] * width[1] * width[2];
  for (PetscInt t = 0; t < total; t++) {
    const PetscInt s = p->reverse ? total - 1 - t : t, w = p->start[0] + s;
    const PetscInt plain[3] = {w % p->n[0], w / p->n[0] % p->n[1], w / (p->n[0] * p->n[1])};
    const PetscInt box[3]   = {p->start[0] + s % width[0], p->start[1] + s / width[0] % width[1], p->start[2] + s / (width[0] * width[1])};

    PetscCall(CellVisit(p, p->da ? box : plain, visit, ctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode AddVisitor(Problem *p, PetscInt id, Element *e, void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(ElementAdd(p, id, e, (Mat)ctx));
  p->given++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds all elements; the caller says when assembly ends */
static inline PetscErrorCode AddElements(Problem *p, Mat A)
{
  PetscFunctionBeginUser;
  p->given = 0;
  PetscCall(ProblemVisit(p, AddVisitor, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Finish(Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Assemble(Problem *p, Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(AddElements(p, A));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An empty matrix of the problem, ready for values */
static inline PetscErrorCode ProblemCreateMat(const Problem *p, MatType type, Mat *A)
{
  PetscFunctionBeginUser;
  if (p->da) {
    PetscCall(DMSetMatType(p->da, type));
    PetscCall(DMCreateMatrix(p->da, A));
  } else {
    PetscCall(MatCreate(p->comm, A));
    PetscCall(MatSetSizes(*A, p->nlocal * p->dof, p->nlocal * p->dof, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetBlockSize(*A, p->dof));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSeqAIJSetPreallocation(*A, 200, NULL)); /* with no effect on other types */
    PetscCall(MatMPIAIJSetPreallocation(*A, 200, NULL, 200, NULL));
    PetscCall(MatSetUp(*A));
    PetscCall(MatSetLocalToGlobalMapping(*A, p->map, p->map));
  }
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type under test is -type, so that a type of PETSc's can stand in to test the test */
static inline PetscErrorCode ProblemTestedType(char type[], size_t length)
{
  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(type, SHELLFEM, length));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, length, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A: the reference, aij; B: the type under test; both with all elements */
static inline PetscErrorCode ProblemCreateMats(Problem *p, Mat *A, Mat *B)
{
  char type[64];

  PetscFunctionBeginUser;
  PetscCall(ProblemTestedType(type, sizeof type));
  PetscCall(ProblemCreateMat(p, MATAIJ, A));
  PetscCall(ProblemCreateMat(p, type, B));
  PetscCall(Assemble(p, *A));
  PetscCall(Assemble(p, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random vector with the layout of the problem; -vec_type as usual */
static inline PetscErrorCode ProblemCreateVec(const Problem *p, PetscInt which, Vec *x)
{
  PetscScalar *v;
  PetscInt     first;

  PetscFunctionBeginUser;
  PetscCall(VecCreate(p->comm, x));
  PetscCall(VecSetSizes(*x, p->nlocal * p->dof, PETSC_DETERMINE));
  PetscCall(VecSetBlockSize(*x, p->dof));
  PetscCall(VecSetFromOptions(*x));
  PetscCall(VecGetOwnershipRange(*x, &first, NULL));
  PetscCall(VecGetArrayWrite(*x, &v));
  for (PetscInt i = 0; i < p->nlocal * p->dof; i++) v[i] = NoiseScalar(p, first + i, 100000 + which);
  PetscCall(VecRestoreArrayWrite(*x, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* || a - b || / || b || on this or all ranks; an entry that is no number counts as infinite */
static inline PetscErrorCode Difference(Vec a, Vec b, PetscReal *error)
{
  Vec       d;
  PetscReal norm, size;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &d));
  PetscCall(VecCopy(a, d));
  PetscCall(VecAXPY(d, -1, b));
  PetscCall(VecNorm(d, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(VecDestroy(&d));
  *error = size > 0 ? norm / size : norm;
  if (PetscIsInfOrNanReal(*error)) *error = PETSC_MAX_REAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CheckVec(const char *what, Vec a, Vec b)
{
  PetscReal error = PETSC_MAX_REAL;

  PetscFunctionBeginUser;
  PetscCall(Difference(a, b, &error));
  PetscCall(Check(what, error, TOLERANCE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B against A in every product and the diagonal; outputs are poisoned */
static inline PetscErrorCode CompareProducts(Problem *p, Mat A, Mat B)
{
  Vec       x, z, ya, yb, again;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateVec(p, 0, &x));
  PetscCall(ProblemCreateVec(p, 1, &z));
  PetscCall(VecDuplicate(x, &ya));
  PetscCall(VecDuplicate(x, &yb));
  PetscCall(VecDuplicate(x, &again));
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatMult(A, x, ya));
  PetscCall(MatMult(B, x, yb));
  PetscCall(CheckVec("MatMult", yb, ya));
  PetscCall(VecSet(again, -1e30));
  PetscCall(MatMult(B, x, again));
  PetscCall(VecEqual(yb, again, &same));
  PetscCall(Check("  the same bits again", same ? 0 : 1, 0));
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatMultAdd(A, x, z, ya));
  PetscCall(MatMultAdd(B, x, z, yb));
  PetscCall(CheckVec("MatMultAdd", yb, ya));
  PetscCall(VecCopy(z, yb));
  PetscCall(MatMultAdd(B, x, yb, yb));
  PetscCall(CheckVec("  in place", yb, ya));
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatMultTranspose(A, x, ya));
  PetscCall(MatMultTranspose(B, x, yb));
  PetscCall(CheckVec("MatMultTranspose", yb, ya));
  PetscCall(MatMultTransposeAdd(A, x, z, ya));
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatMultTransposeAdd(B, x, z, yb));
  PetscCall(CheckVec("MatMultTransposeAdd", yb, ya));
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatGetDiagonal(A, ya));
  PetscCall(MatGetDiagonal(B, yb));
  PetscCall(CheckVec("MatGetDiagonal", yb, ya));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&yb));
  PetscCall(VecDestroy(&again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One comparison alone, for tests that make many */
static inline PetscErrorCode CompareProduct(Problem *p, const char *what, Mat A, Mat B)
{
  Vec       x, ya, yb;
  PetscReal error = PETSC_MAX_REAL, transposed = PETSC_MAX_REAL;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateVec(p, 2, &x));
  PetscCall(VecDuplicate(x, &ya));
  PetscCall(VecDuplicate(x, &yb));
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatMult(A, x, ya));
  PetscCall(MatMult(B, x, yb));
  PetscCall(Difference(yb, ya, &error));
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatMultTranspose(A, x, ya));
  PetscCall(MatMultTranspose(B, x, yb));
  PetscCall(Difference(yb, ya, &transposed));
  error = PetscMax(error, transposed);
  PetscCall(VecSet(yb, 1e30));
  PetscCall(MatGetDiagonal(A, ya));
  PetscCall(MatGetDiagonal(B, yb));
  PetscCall(Difference(yb, ya, &transposed));
  PetscCall(Check(what, PetscMax(error, transposed), TOLERANCE));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&yb));
  PetscFunctionReturn(PETSC_SUCCESS);
}
