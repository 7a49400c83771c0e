/*
  Products with vectors, and the diagonal: moves vectors to the local numbering and back, and runs the kernels of
  element.h on the host or their versions on the GPU, wherever the vectors are.
*/
#include "shellfemimpl.h"
#include <petscblaslapack.h>

/* Where all elements refer to the first matrix the kernels need not read which one: a scan costs less than that */
ElementMatrices ShellFEMGroupMatrices(ShellFEMGroup g)
{
  ElementMatrices m = {g->ndof, g->nref, g->K, g->nel, g->ref, g->scale, g->full, g->fullindex, PETSC_FALSE, PETSC_FALSE};
  PetscInt        e = 0;

  while (e < g->nel && g->ref[e] == 0) e++;
  if (e == g->nel) m.ref = NULL;
  return m;
}

/* Moves w, with its values, to where x lies */
static PetscErrorCode VecFollow(Vec *w, Vec x)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (x->ops->bindtocpu && !x->boundtocpu && !(*w)->ops->bindtocpu) {
    PetscMPIInt size;
    Vec         moved;
    DM          dm;

    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)*w), &size));
    PetscCall(VecCreate(PetscObjectComm((PetscObject)*w), &moved));
    PetscCall(VecSetLayout(moved, (*w)->map));
    PetscCall(VecSetType(moved, size == 1 ? VECSEQCUDA : VECMPICUDA));
    PetscCall(VecGetDM(*w, &dm));
    if (dm) PetscCall(VecSetDM(moved, dm));
    PetscCall(VecCopy(*w, moved));
    PetscCall(VecDestroy(w));
    *w = moved;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMGetLocal(Mat A, PetscBool box, Vec *stored, Vec x)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  if (!*stored) {
    if (box)
      PetscCall(DMCreateLocalVector(a->dm, stored));
    else {
      PetscCall(VecCreateSeq(PETSC_COMM_SELF, A->rmap->n + a->nghost * A->rmap->bs, stored));
      PetscCall(VecSetBlockSize(*stored, A->rmap->bs));
    }
  }
  PetscCall(VecFollow(stored, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x in the numbering of the lattice (box) or of the meshes; x itself where they are the same */
PetscErrorCode MatShellFEMForward(Mat A, PetscBool box, Vec x, Vec *local)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (MatUsesDevice_ShellFEM(A, x)) { /* values that the host holds go up first: a scatter then stays on the GPU */
    const PetscScalar *xa;

    PetscCall(VecCUDAGetArrayRead(x, &xa));
    PetscCall(VecCUDARestoreArrayRead(x, &xa));
  }
#endif
  *local = x;
  if (box && !a->boxisglobal) {
    PetscCall(MatShellFEMGetLocal(A, box, &a->xbox, x));
    PetscCall(DMGlobalToLocalBegin(a->dm, x, INSERT_VALUES, a->xbox));
    PetscCall(DMGlobalToLocalEnd(a->dm, x, INSERT_VALUES, a->xbox));
    *local = a->xbox;
  } else if (!box && a->scatter) {
    PetscCall(MatShellFEMGetLocal(A, box, &a->xlocal, x));
    PetscCall(VecScatterBegin(a->scatter, x, a->xlocal, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(a->scatter, x, a->xlocal, INSERT_VALUES, SCATTER_FORWARD));
    *local = a->xlocal;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds a vector of local entries to y */
static PetscErrorCode MatShellFEMReverseEnd(Mat A, PetscBool box, Vec local, Vec y)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  if (local == y) PetscFunctionReturn(PETSC_SUCCESS);
  if (box) {
    PetscCall(DMLocalToGlobalBegin(a->dm, local, ADD_VALUES, y));
    PetscCall(DMLocalToGlobalEnd(a->dm, local, ADD_VALUES, y));
  } else {
    PetscCall(VecScatterBegin(a->scatter, local, y, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(a->scatter, local, y, ADD_VALUES, SCATTER_REVERSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMApplyGroup_Host(Mat A, ShellFEMGroup g, PetscBool transpose, PetscBool masked, Vec x, Vec y)
{
  Mat_ShellFEM        *a    = (Mat_ShellFEM *)A->data;
  const ElementMesh    mesh = {g->nen, g->bs, g->conn};
  const unsigned char *mask = !masked ? NULL : g->iscells ? a->boxmask
                                                          : a->mask;
  ElementMatrices      m;
  const PetscScalar   *xa;
  PetscScalar         *ya;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  m = ShellFEMGroupMatrices(g);
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArray(y, &ya));
  if (a->precision != ELEMENT_PETSC)
    PetscCall(ElementApplyLow_Host(a->precision, &m, g->iscells ? NULL : &mesh, &a->box, transpose, mask, xa, ya));
  else if (g->iscells)
    (transpose ? ElementApplyTransposeLattice_Host : ElementApplyLattice_Host)(&m, &a->box, g->plan, mask, xa, ya);
  else
    (transpose ? ElementApplyTransposeMesh_Host : ElementApplyMesh_Host)(&m, &mesh, mask, xa, ya);
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArray(y, &ya));
  PetscCall(PetscLogFlops(2.0 * g->nel * g->ndof * (PetscLogDouble)g->ndof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The form that the lattice kernels use for the current reference matrices */
static PetscErrorCode MatShellFEMPlan(Mat A, ShellFEMGroup g)
{
  PetscFunctionBegin;
  if (g && !g->planned) {
    const ElementMatrices m = ShellFEMGroupMatrices(g);

    if (g->iscells)
      PetscCall(ElementPlanCreateLattice(&m, &((Mat_ShellFEM *)A->data)->box, &g->plan));
    else if (g->nen == 8 && g->bs == 3 && g->nref == 1)
      PetscCall(ElementPlanCreateHex(&m, g->bs, g->corner, &g->plan));
    g->planned = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = or += the product of one group, in its numbering */
static PetscErrorCode MatShellFEMApplyGroup(Mat A, ShellFEMGroup g, PetscBool transpose, PetscBool masked, PetscBool add, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatShellFEMPlan(A, g));
#if PetscDefined(HAVE_CUDA)
  if (MatUsesDevice_ShellFEM(A, x)) {
    PetscCall(MatShellFEMApplyElements_CUDA(A, g, transpose, masked, add, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  if (!add) PetscCall(VecSet(y, 0.));
  PetscCall(MatShellFEMApplyGroup_Host(A, g, transpose, masked, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = E x or E' x, with rows and columns masked or not */
static PetscErrorCode MatShellFEMApplyElements(Mat A, PetscBool transpose, PetscBool masked, Vec x, Vec y)
{
  Mat_ShellFEM *a       = (Mat_ShellFEM *)A->data;
  PetscBool     written = PETSC_FALSE, add;
  Vec           xl, yl;

  PetscFunctionBegin;
  if (a->lattice) {
    PetscCall(MatShellFEMForward(A, PETSC_TRUE, x, &xl));
    yl = y;
    if (!a->boxisglobal) {
      PetscCall(MatShellFEMGetLocal(A, PETSC_TRUE, &a->ybox, y));
      PetscCall(VecSet(y, 0.));
      yl = a->ybox;
    }
    PetscCall(MatShellFEMApplyGroup(A, a->lattice, transpose, masked, PETSC_FALSE, xl, yl));
    PetscCall(MatShellFEMReverseEnd(A, PETSC_TRUE, yl, y));
    written = PETSC_TRUE;
  }
  if (a->groups || a->scatter) { /* the scatter is collective though a process may have no group */
    PetscCall(MatShellFEMForward(A, PETSC_FALSE, x, &xl));
    yl = y;
    if (a->scatter) {
      PetscCall(MatShellFEMGetLocal(A, PETSC_FALSE, &a->ylocal, y));
      if (!written) PetscCall(VecSet(y, 0.));
      yl = a->ylocal;
    }
    add = (PetscBool)(yl == y && written);
    if (!a->groups && !add) PetscCall(VecSet(yl, 0.));
    for (ShellFEMGroup g = a->groups; g; g = g->next, add = PETSC_TRUE) PetscCall(MatShellFEMApplyGroup(A, g, transpose, masked, add, xl, yl));
    PetscCall(MatShellFEMReverseEnd(A, PETSC_FALSE, yl, y));
    written = PETSC_TRUE;
  }
  if (!written) PetscCall(VecSet(y, 0.));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is the product one launch on the GPU, without ghosts or anything else that is added? */
static PetscErrorCode MatShellFEMIsOnce(Mat A, Vec x, PetscBool *once)
{
  PetscFunctionBegin;
  *once = PETSC_FALSE;
#if PetscDefined(HAVE_CUDA)
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  if (MatUsesDevice_ShellFEM(A, x) && a->precision == ELEMENT_PETSC && !a->S && (!a->L || a->masked) && !a->scatter) {
    *once = (PetscBool)(a->lattice ? a->boxisglobal && !a->groups : a->groups && !a->groups->next);
    if (*once) PetscCall(MatShellFEMPlan(A, a->lattice ? a->lattice : a->groups));
    if (*once && a->D) PetscCall(VecFollow(&a->D, x));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMGetWork(Mat A, Vec x, Vec *work)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  if (!a->work) PetscCall(VecDuplicate(x, &a->work));
  PetscCall(VecFollow(&a->work, x));
  *work = a->work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += d .* x */
static PetscErrorCode MatShellFEMAddDiagonal(Mat A, Vec *d, Vec x, Vec y)
{
  Vec w = NULL;

  PetscFunctionBegin;
  PetscCall(VecFollow(d, x));
  PetscCall(MatShellFEMGetWork(A, x, &w));
  PetscCall(VecPointwiseMult(w, *d, x));
  PetscCall(VecAXPY(y, 1., w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x; y differs from x */
static PetscErrorCode MatShellFEMApply(Mat A, PetscBool transpose, Vec x, Vec y)
{
  Mat_ShellFEM *a    = (Mat_ShellFEM *)A->data;
  Vec          *left = transpose ? &a->R : &a->L, *right = transpose ? &a->L : &a->R, xs = x;
  PetscBool     once;

  PetscFunctionBegin;
  PetscCall(MatShellFEMIsOnce(A, x, &once));
#if PetscDefined(HAVE_CUDA)
  if (once) {
    PetscCall(MatShellFEMApplyOnce_CUDA(A, transpose, 0., x, NULL, NULL, NULL, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  if (*right && !a->masked) {
    PetscCall(MatShellFEMGetWork(A, x, &xs));
    PetscCall(VecCopy(x, xs));
    PetscCall(VecFollow(right, xs));
    PetscCall(VecTimes_ShellFEM(xs, *right));
  }
  PetscCall(MatShellFEMApplyElements(A, transpose, a->masked, xs, y));
  if (*left && !a->masked) {
    PetscCall(VecFollow(left, y));
    PetscCall(VecTimes_ShellFEM(y, *left));
  }
  if (a->D) PetscCall(MatShellFEMAddDiagonal(A, &a->D, x, y));
  if (a->S && transpose)
    PetscCall(MatMultTransposeAdd(a->S, x, y, y));
  else if (a->S)
    PetscCall(MatMultAdd(a->S, x, y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_ShellFEM(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatShellFEMApply(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_ShellFEM(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatShellFEMApply(A, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = y + op(A) x */
static PetscErrorCode MatShellFEMApplyAdd(Mat A, PetscBool transpose, Vec x, Vec y, Vec z)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  PetscBool     once;

  PetscFunctionBegin;
  PetscCall(MatShellFEMIsOnce(A, x, &once));
#if PetscDefined(HAVE_CUDA)
  if (once) {
    PetscCall(MatShellFEMApplyOnce_CUDA(A, transpose, 0., x, y, NULL, NULL, z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  if (!a->sum) PetscCall(VecDuplicate(z, &a->sum));
  PetscCall(VecFollow(&a->sum, z));
  PetscCall(MatShellFEMApply(A, transpose, x, a->sum));
  if (z == y)
    PetscCall(VecAXPY(z, 1., a->sum));
  else
    PetscCall(VecWAXPY(z, 1., a->sum, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_ShellFEM(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(MatShellFEMApplyAdd(A, PETSC_FALSE, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_ShellFEM(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(MatShellFEMApplyAdd(A, PETSC_TRUE, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMJacobiStep - Computes y = x + omega dinv .* (b - A x), one step of the damped Jacobi method

  Neighbor-wise Collective

  Input Parameters:
+ A     - the assembled `MATSHELLFEM` matrix
. omega - the damping
. dinv  - inverses of the diagonal, or any other vector
. b     - the right-hand side
- x     - the vector to start from

  Output Parameter:
. y - the result; differs from all others

  Level: advanced

  Note:
  On a GPU, where no value of another process is needed, this is one kernel: A x is not stored.

.seealso: `MATSHELLFEM`, `MatGetDiagonal()`, `PCJACOBI`, `KSPRICHARDSON`, `KSPCHEBYSHEV`
@*/
PetscErrorCode MatShellFEMJacobiStep(Mat A, PetscReal omega, Vec dinv, Vec b, Vec x, Vec y)
{
  const Vec others[] = {dinv, b, x};
  PetscBool ours, once;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(dinv, VEC_CLASSID, 3);
  PetscValidHeaderSpecific(b, VEC_CLASSID, 4);
  PetscValidHeaderSpecific(x, VEC_CLASSID, 5);
  PetscValidHeaderSpecific(y, VEC_CLASSID, 6);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELLFEM, &ours));
  PetscCheck(ours, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix has type %s, not shellfem", ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "(not set)");
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Assemble the matrix first");
  PetscCheck(A->rmap->n == A->cmap->n, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_SIZ, "A Jacobi step needs a square matrix");
  for (int k = 0; k < 3; k++) {
    PetscCheck(y != others[k], PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_IDN, "The result must differ from the vectors it is computed from");
    PetscCheck(others[k]->map->n == A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A vector has %" PetscInt_FMT " local entries, the matrix %" PetscInt_FMT " local rows", others[k]->map->n, A->rmap->n);
  }
  PetscCheck(y->map->n == A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The result has %" PetscInt_FMT " local entries, the matrix %" PetscInt_FMT " local rows", y->map->n, A->rmap->n);
  PetscCall(MatShellFEMIsOnce(A, x, &once));
#if PetscDefined(HAVE_CUDA)
  if (once) {
    PetscCall(MatShellFEMApplyOnce_CUDA(A, PETSC_FALSE, omega, x, NULL, b, dinv, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(MatMult(A, x, y));
  PetscCall(VecAYPX(y, -1., b));
  PetscCall(VecPointwiseMult(y, y, dinv));
  PetscCall(VecAYPX(y, omega, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of the diagonal of E on owned nodes: [node][column][row], in an array of the process's own */
static PetscErrorCode MatShellFEMGetElementBlocks(Mat A, PetscScalar **blocks)
{
  Mat_ShellFEM  *a = (Mat_ShellFEM *)A->data;
  const PetscInt b = A->rmap->bs, n = A->rmap->n, nodes = n / b;
  Vec            column, local;
  PetscScalar   *d, *all;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  PetscCall(PetscCalloc1((size_t)n * b, &all));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)A), &column));
  PetscCall(VecSetSizes(column, n, A->rmap->N));
  PetscCall(VecSetType(column, VECSTANDARD));
  for (int box = 0; box < 2; box++) {
    PetscScalar  *blocksl;
    PetscInt      nl;
    PetscBool     same;
    ShellFEMGroup first = box ? a->lattice : a->groups;

    if (box ? !a->lattice : !a->groups && !a->scatter) continue;
    same = box ? a->boxisglobal : !a->scatter;
    nl   = box ? a->box.nx * a->box.ny * a->box.nz : nodes + a->nghost;
    PetscCall(PetscCalloc1((size_t)nl * b * b, &blocksl));
    for (ShellFEMGroup g = first; g; g = g->iscells ? NULL : g->next) {
      const ElementMatrices m    = ShellFEMGroupMatrices(g);
      const ElementMesh     mesh = {g->nen, g->bs, g->conn};

      if (box)
        ElementBlockDiagonalLattice_Host(&m, &a->box, blocksl);
      else if (g->bs == b)
        ElementBlockDiagonalMesh_Host(&m, &mesh, blocksl);
      else { /* lists of dofs: the kernel gives the diagonal, entries between dofs of a node are added here */
        for (PetscInt e = 0; e < g->nel; e++) {
          const PetscScalar *K = g->ref[e] == ELEMENT_NONE ? NULL : g->ref[e] == ELEMENT_FULL ? g->full + (size_t)g->fullindex[e] * g->ndof * g->ndof
                                                                                              : g->K + (size_t)g->ref[e] * g->ndof * g->ndof;
          const PetscInt    *c = g->conn + (size_t)e * g->nen;

          for (PetscInt r = 0; r < g->ndof && K; r++)
            for (PetscInt s = 0; s < g->ndof; s++)
              if (c[r] / b == c[s] / b) blocksl[((size_t)(c[r] / b) * b + c[s] % b) * b + c[r] % b] += g->scale[e] * K[r * g->ndof + s];
        }
      }
    }
    for (PetscInt c = 0; c < b; c++) { /* one column of all blocks at a time goes through the vector of the rows */
      PetscCall(VecSet(column, 0.));
      if (same)
        local = column;
      else if (box)
        PetscCall(DMGetLocalVector(a->dm, &local));
      else
        PetscCall(VecCreateSeq(PETSC_COMM_SELF, nl * b, &local));
      PetscCall(VecGetArrayWrite(local, &d));
      for (PetscInt node = 0; node < nl; node++)
        for (PetscInt r = 0; r < b; r++) d[node * b + r] = blocksl[((size_t)node * b + c) * b + r];
      PetscCall(VecRestoreArrayWrite(local, &d));
      PetscCall(MatShellFEMReverseEnd(A, box ? PETSC_TRUE : PETSC_FALSE, local, column));
      if (!same && box)
        PetscCall(DMRestoreLocalVector(a->dm, &local));
      else if (!same)
        PetscCall(VecDestroy(&local));
      PetscCall(VecGetArray(column, &d));
      for (PetscInt node = 0; node < nodes; node++)
        for (PetscInt r = 0; r < b; r++) all[((size_t)node * b + c) * b + r] += d[node * b + r];
      PetscCall(VecRestoreArray(column, &d));
    }
    PetscCall(PetscFree(blocksl));
  }
  PetscCall(VecDestroy(&column));
  *blocks = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d = the diagonal of E */
static PetscErrorCode MatShellFEMGetElementDiagonal(Mat A, Vec d)
{
  const PetscInt b = A->rmap->bs;
  PetscScalar   *blocks, *da;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (MatUsesDevice_ShellFEM(A, d)) {
    Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
    Vec           local;

    PetscCall(VecSet(d, 0.));
    if (a->lattice) {
      local = d;
      if (!a->boxisglobal) {
        PetscCall(MatShellFEMGetLocal(A, PETSC_TRUE, &a->ybox, d));
        local = a->ybox;
        PetscCall(VecSet(local, 0.));
      }
      PetscCall(MatShellFEMAddDiagonal_CUDA(A, a->lattice, local));
      PetscCall(MatShellFEMReverseEnd(A, PETSC_TRUE, local, d));
    }
    if (a->groups || a->scatter) {
      local = d;
      if (a->scatter) {
        PetscCall(MatShellFEMGetLocal(A, PETSC_FALSE, &a->ylocal, d));
        local = a->ylocal;
        PetscCall(VecSet(local, 0.));
      }
      for (ShellFEMGroup g = a->groups; g; g = g->next) PetscCall(MatShellFEMAddDiagonal_CUDA(A, g, local));
      PetscCall(MatShellFEMReverseEnd(A, PETSC_FALSE, local, d));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(MatShellFEMGetElementBlocks(A, &blocks));
  PetscCall(VecGetArrayWrite(d, &da));
  for (PetscInt r = 0; r < A->rmap->n; r++) da[r] = blocks[(size_t)r * b + r % b];
  PetscCall(VecRestoreArrayWrite(d, &da));
  PetscCall(PetscFree(blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d = diagonal of E, scaled by L and R, plus D, plus that of S */
PetscErrorCode MatGetDiagonal_ShellFEM(Mat A, Vec d)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetElementDiagonal(A, d));
  if (a->L) {
    PetscCall(VecFollow(&a->L, d));
    PetscCall(VecTimes_ShellFEM(d, a->L));
  }
  if (a->R) {
    PetscCall(VecFollow(&a->R, d));
    PetscCall(VecTimes_ShellFEM(d, a->R));
  }
  if (a->D) {
    PetscCall(VecFollow(&a->D, d));
    PetscCall(VecPlus_ShellFEM(d, 1., a->D));
  }
  if (a->S) {
    Vec s;

    PetscCall(VecDuplicate(d, &s));
    PetscCall(MatGetDiagonal(a->S, s));
    PetscCall(VecAXPY(d, 1., s));
    PetscCall(VecDestroy(&s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the entries of S between the dofs of a node */
static PetscErrorCode MatShellFEMAddSideBlocks(Mat A, PetscScalar *blocks)
{
  Mat_ShellFEM  *a = (Mat_ShellFEM *)A->data;
  const PetscInt b = A->rmap->bs, start = A->rmap->rstart;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < A->rmap->n; r++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           n;

    PetscCall(MatGetRow(a->S, start + r, &n, &cols, &vals));
    for (PetscInt k = 0; k < n; k++)
      if (cols[k] / b == (start + r) / b) blocks[((size_t)(r / b) * b + cols[k] % b) * b + r % b] += vals[k];
    PetscCall(MatRestoreRow(a->S, start + r, &n, &cols, &vals));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlocksScale(PetscInt nodes, PetscInt b, Vec left, Vec right, PetscScalar *blocks)
{
  const PetscScalar *l, *r;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(left, &l));
  PetscCall(VecGetArrayRead(right, &r));
  for (PetscInt n = 0; n < nodes; n++)
    for (PetscInt c = 0; c < b; c++)
      for (PetscInt s = 0; s < b; s++) blocks[((size_t)n * b + c) * b + s] *= l[n * b + s] * r[n * b + c];
  PetscCall(VecRestoreArrayRead(left, &l));
  PetscCall(VecRestoreArrayRead(right, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatInvertBlockDiagonal_ShellFEM(Mat A, const PetscScalar **values)
{
  Mat_ShellFEM  *a = (Mat_ShellFEM *)A->data;
  const PetscInt b = A->rmap->bs, nodes = A->rmap->n / b;
  PetscBLASInt   n, lwork, info, *pivot;
  PetscScalar   *work;

  PetscFunctionBegin;
  PetscCall(PetscFree(a->blockinverse));
  PetscCall(MatShellFEMGetElementBlocks(A, &a->blockinverse));
  if (a->L) PetscCall(BlocksScale(nodes, b, a->L, a->R, a->blockinverse));
  if (a->S) PetscCall(MatShellFEMAddSideBlocks(A, a->blockinverse));
  if (a->D) {
    const PetscScalar *d;

    PetscCall(VecGetArrayRead(a->D, &d));
    for (PetscInt r = 0; r < A->rmap->n; r++) a->blockinverse[(size_t)r * b + r % b] += d[r];
    PetscCall(VecRestoreArrayRead(a->D, &d));
  }
  PetscCall(PetscBLASIntCast(b, &n));
  lwork = n * n;
  PetscCall(PetscMalloc2(b, &pivot, b * b, &work));
  for (PetscInt node = 0; node < nodes; node++) {
    PetscScalar *block = a->blockinverse + (size_t)node * b * b;

    PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&n, &n, block, &n, pivot, &info));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "The diagonal block of node %" PetscInt_FMT " is singular: no element reaches all its dofs; hold them by MatZeroRowsColumns() or give void elements a small stiffness", A->rmap->rstart / b + node);
    PetscCallBLAS("LAPACKgetri", LAPACKgetri_(&n, block, &n, pivot, work, &lwork, &info));
  }
  PetscCall(PetscFree2(pivot, work));
  *values = a->blockinverse;
  PetscFunctionReturn(PETSC_SUCCESS);
}
