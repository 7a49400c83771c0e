/*
  Smoothers: damped Jacobi, or Chebyshev polynomials of Jacobi or of its blocks of nodes, with (block) diagonals that bound
  the eigenvalues by one (bound.h)
*/
#include "femmgimpl.h"
#include "bound.h"
#include <petscblaslapack.h>

/* Adds the blocks of local dofs to those of owned ones, one column of all blocks at a time */
static PetscErrorCode GatherBlocks(Mat A, PetscInt b, const PetscScalar *local, PetscScalar *own)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  PetscScalar        *v;
  PetscInt            n;
  Vec                 column, box;

  PetscFunctionBegin;
  PetscCall(DMGetGlobalVector(a->dm, &column));
  PetscCall(DMGetLocalVector(a->dm, &box));
  PetscCall(VecGetLocalSize(box, &n));
  for (PetscInt c = 0; c < b; c++) {
    PetscCall(VecGetArrayWrite(box, &v));
    for (PetscInt k = 0; k < n; k++) v[k] = local[((size_t)(k / b) * b + c) * b + k % b];
    PetscCall(VecRestoreArrayWrite(box, &v));
    PetscCall(VecSet(column, 0.));
    PetscCall(DMLocalToGlobalBegin(a->dm, box, ADD_VALUES, column));
    PetscCall(DMLocalToGlobalEnd(a->dm, box, ADD_VALUES, column));
    PetscCall(VecGetArray(column, &v));
    for (PetscInt k = 0; k < A->rmap->n; k++) own[((size_t)(k / b) * b + c) * b + k % b] = v[k];
    PetscCall(VecRestoreArray(column, &v));
  }
  PetscCall(DMRestoreLocalVector(a->dm, &box));
  PetscCall(DMRestoreGlobalVector(a->dm, &column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns that are held become zero, then the diagonals D and of S are added */
static PetscErrorCode AddConditions(Mat A, PetscInt b, PetscScalar *blocks)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  const PetscScalar  *l, *r, *d;
  const PetscInt      n = A->rmap->n;

  PetscFunctionBegin;
  if (a->L) {
    PetscCall(VecGetArrayRead(a->L, &l));
    PetscCall(VecGetArrayRead(a->R, &r));
    for (PetscInt k = 0; k < n; k++) {
      if (l[k] != (PetscScalar)0. && r[k] != (PetscScalar)0.) continue;
      for (PetscInt c = 0; c < b; c++) blocks[((size_t)(k / b) * b + c) * b + k % b] = blocks[((size_t)(k / b) * b + k % b) * b + c] = 0;
    }
    PetscCall(VecRestoreArrayRead(a->L, &l));
    PetscCall(VecRestoreArrayRead(a->R, &r));
  }
  if (a->D) {
    PetscCall(VecGetArrayRead(a->D, &d));
    for (PetscInt k = 0; k < n; k++) blocks[((size_t)(k / b) * b + k % b) * b + k % b] += d[k];
    PetscCall(VecRestoreArrayRead(a->D, &d));
  }
  if (a->S) {
    Vec s;

    PetscCall(MatCreateVecs(a->S, &s, NULL));
    PetscCall(MatGetDiagonal(a->S, s));
    PetscCall(VecGetArrayRead(s, &d));
    for (PetscInt k = 0; k < n; k++) blocks[((size_t)(k / b) * b + k % b) * b + k % b] += d[k];
    PetscCall(VecRestoreArrayRead(s, &d));
    PetscCall(VecDestroy(&s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inverts each block on the dofs that have a diagonal; the others stay zero, so that the smoother leaves them alone */
static PetscErrorCode InvertBlocks(PetscInt count, PetscInt b, PetscScalar *blocks)
{
  PetscBLASInt n, lwork, info, *pivot;
  PetscBool   *empty;
  PetscScalar *work;

  PetscFunctionBegin;
  if (b == 1) {
    for (PetscInt k = 0; k < count; k++) blocks[k] = blocks[k] != (PetscScalar)0. ? 1 / blocks[k] : 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscBLASIntCast(b, &n));
  lwork = n * n;
  PetscCall(PetscMalloc3(b, &pivot, b * b, &work, b, &empty));
  for (PetscInt k = 0; k < count; k++) {
    PetscScalar *block = blocks + (size_t)k * b * b;

    for (PetscInt c = 0; c < b; c++) {
      empty[c] = (PetscBool)(block[c * b + c] == (PetscScalar)0.);
      if (empty[c]) block[c * b + c] = 1;
    }
    PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&n, &n, block, &n, pivot, &info));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "The diagonal block of local node %" PetscInt_FMT " is singular; use -pc_femmg_smoother chebyshev", k);
    PetscCallBLAS("LAPACKgetri", LAPACKgetri_(&n, block, &n, pivot, work, &lwork, &info));
    for (PetscInt c = 0; c < b; c++)
      if (empty[c]) block[c * b + c] = 0;
  }
  PetscCall(PetscFree3(pivot, work, empty));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the smoother of this operator up to date; b: 1, or dofs of a node for blocks */
PetscErrorCode FEMMGSmootherSetUp(Mat A, PetscInt b, FEMMGSmoother *s)
{
  Mat_ShellFEM   *a = (Mat_ShellFEM *)A->data;
  ElementMatrices m;
  FEMMGBox        box  = {{0, 0, 0}, {a->box.nx, a->box.ny, a->box.nz}, {0, 0, 0}, {0, 0, 0}};
  const size_t    size = (size_t)a->lattice->ndof * a->lattice->ndof;
  PetscScalar    *local, *own, *work, *inverse;
  PetscReal      *lambda;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  m = ShellFEMGroupMatrices(a->lattice);
  if (!s->inverse && !s->blocks) {
    s->b = b;
    if (b == 1)
      PetscCall(MatCreateVecs(A, &s->inverse, NULL));
    else
      PetscCall(PetscMalloc1((size_t)A->rmap->n * b, &s->blocks));
  }
  PetscCall(PetscCalloc1((size_t)box.n[0] * box.n[1] * box.n[2] * a->box.bs * b, &local));
  PetscCall(PetscMalloc3(3 * size, &work, m.nref, &lambda, b == 1 ? A->rmap->n : 0, &own));
  FEMMGBoundDiagonal_Host(&m, &box, a->box.nz > 1 ? 3 : 2, a->box.bs, b, lambda, work, local);
  if (b == 1) {
    PetscCall(GatherBlocks(A, b, local, own));
    PetscCall(AddConditions(A, b, own));
    PetscCall(InvertBlocks(A->rmap->n, b, own));
    PetscCall(VecGetArrayWrite(s->inverse, &inverse));
    PetscCall(PetscArraycpy(inverse, own, A->rmap->n));
    PetscCall(VecRestoreArrayWrite(s->inverse, &inverse));
  } else {
    PetscCall(GatherBlocks(A, b, local, s->blocks));
    PetscCall(AddConditions(A, b, s->blocks));
    PetscCall(InvertBlocks(A->rmap->n / b, b, s->blocks));
  }
  PetscCall(PetscFree3(work, lambda, own));
  PetscCall(PetscFree(local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FEMMGSmootherReset(FEMMGSmoother *s)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&s->inverse));
  PetscCall(PetscFree(s->blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_FEMMGSmoother(PC pc, Vec x, Vec y)
{
  FEMMGSmoother     *s;
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &s));
  if (s->b == 1) {
    PetscCall(VecPointwiseMult(y, s->inverse, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayWrite(y, &ya));
  for (PetscInt k = 0; k < n; k++) {
    const PetscScalar *row = s->blocks + (size_t)(k / s->b) * s->b * s->b + k % s->b, *v = xa + k / s->b * s->b;

    ya[k] = 0;
    for (PetscInt c = 0; c < s->b; c++) ya[k] += row[c * s->b] * v[c];
  }
  PetscCall(VecRestoreArrayWrite(y, &ya));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(PetscLogFlops(2.0 * s->b * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Was an option given to this solver, by its number of level or for all? */
static PetscErrorCode Given(KSP ksp, const char name[], PetscBool *given)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsHasName(((PetscObject)ksp)->options, prefix, name, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The default smoother, then what the options say; the bound of the eigenvalues is only for our own diagonal */
PetscErrorCode FEMMGSmootherConfigure(KSP ksp, FEMMGSmootherType type, PetscInt smooths, FEMMGSmoother *s)
{
  PC        pc;
  PetscBool ours, chebyshev, estimate, given;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, type == FEMMG_JACOBI ? KSPRICHARDSON : KSPCHEBYSHEV));
  if (type == FEMMG_JACOBI) PetscCall(KSPRichardsonSetScale(ksp, 4. / 3.));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, smooths));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetName(pc, type == FEMMG_PBJACOBI ? "block Jacobi of nodes, eigenvalues at most 1" : "Jacobi, eigenvalues at most 1"));
  PetscCall(PCShellSetContext(pc, s));
  PetscCall(PCShellSetApply(pc, PCApply_FEMMGSmoother));
  PetscCall(PCShellSetApplyTranspose(pc, PCApply_FEMMGSmoother));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSHELL, &ours));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCHEBYSHEV, &chebyshev));
  PetscCall(Given(ksp, "-ksp_chebyshev_esteig", &estimate));
  PetscCall(Given(ksp, "-ksp_chebyshev_eigenvalues", &given));
  if (ours && chebyshev && !estimate && !given) PetscCall(KSPChebyshevSetEigenvalues(ksp, 1., 0.1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chebyshev polynomials of the optimal fourth kind, unless told otherwise: KSPSetFromOptions() always sets the first */
PetscErrorCode FEMMGSmootherFinish(KSP ksp)
{
  PetscBool chebyshev, given;
  Mat       A, B;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCHEBYSHEV, &chebyshev));
  PetscCall(Given(ksp, "-ksp_chebyshev_kind", &given));
  if (!chebyshev || given) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPChebyshevSetKind(ksp, KSP_CHEBYSHEV_OPT_FOURTH));
  PetscCall(KSPGetOperators(ksp, &A, &B));
  PetscCall(KSPSetOperators(ksp, A, B)); /* so that it is set up again */
  PetscCall(KSPSetUp(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
