static char help[] = "PCFEMMG: interpolation between lattices, and coarse operators against MatPtAP() of assembled matrices.\n"
                     "  -hold none|face|points|random : which dofs are held\n"
                     "  -rows_only       : MatZeroRows() instead of MatZeroRowsColumns()\n"
                     "  -shift <0>       : what MatShift() adds\n"
                     "  -errors          : only what is refused\n"
                     "  options of the problem: see shellfemtest.h\n\n";

#include "shellfemtest.h"
#include <pcfemmg.h>

typedef enum {
  HOLD_NONE,
  HOLD_FACE,   /* x = 0 */
  HOLD_POINTS, /* one dof in nine */
  HOLD_RANDOM  /* half of all */
} HoldType;
static const char *const HoldTypes[] = {"none", "face", "points", "random", "HoldType", "HOLD_", NULL};

static PetscErrorCode RandomVec(PetscRandom rnd, Mat A, PetscBool left, Vec *v)
{
  PetscFunctionBeginUser;
  PetscCall(left ? MatCreateVecs(A, NULL, v) : MatCreateVecs(A, v, NULL));
  PetscCall(VecSetRandom(*v, rnd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y' (P x) = (P' y)' x, and the products that add */
static PetscErrorCode CheckTranspose(PetscRandom rnd, Mat P)
{
  Vec         x, y, Px, Pty, sum;
  PetscScalar a, b;
  PetscReal   error, norm;

  PetscFunctionBeginUser;
  PetscCall(RandomVec(rnd, P, PETSC_FALSE, &x));
  PetscCall(RandomVec(rnd, P, PETSC_TRUE, &y));
  PetscCall(VecDuplicate(y, &Px));
  PetscCall(VecDuplicate(x, &Pty));
  PetscCall(MatMult(P, x, Px));
  PetscCall(MatMultTranspose(P, y, Pty));
  PetscCall(VecTDot(Px, y, &a));
  PetscCall(VecTDot(x, Pty, &b));
  PetscCall(VecNorm(Px, NORM_2, &norm));
  PetscCall(Check("restriction is the transpose of interpolation", PetscAbsScalar(a - b) / (norm + 1), TOLERANCE));
  PetscCall(VecDuplicate(y, &sum));
  PetscCall(MatMultAdd(P, x, y, sum));
  PetscCall(VecAXPY(Px, 1., y));
  PetscCall(Difference(sum, Px, &error));
  PetscCall(Check("interpolation that adds", error, TOLERANCE));
  PetscCall(VecCopy(y, sum));
  PetscCall(MatInterpolateAdd(P, x, sum, sum));
  PetscCall(Difference(sum, Px, &error));
  PetscCall(Check("interpolation that adds in place", error, TOLERANCE));
  PetscCall(VecDestroy(&sum));
  PetscCall(VecDuplicate(x, &sum));
  PetscCall(MatMultTransposeAdd(P, y, x, sum));
  PetscCall(VecAXPY(Pty, 1., x));
  PetscCall(Difference(sum, Pty, &error));
  PetscCall(Check("restriction that adds", error, TOLERANCE));
  PetscCall(VecDestroy(&sum));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Px));
  PetscCall(VecDestroy(&Pty));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 + 2x + 3y + 5z + component, with nodes at multiples of h */
static PetscErrorCode LinearVec(DM da, const PetscReal h[3], Vec *v)
{
  PetscInt     s[3] = {0, 0, 0}, n[3] = {1, 1, 1}, bs, t = 0;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, v));
  PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bs, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArrayWrite(*v, &a));
  for (PetscInt k = s[2]; k < s[2] + n[2]; k++)
    for (PetscInt j = s[1]; j < s[1] + n[1]; j++)
      for (PetscInt i = s[0]; i < s[0] + n[0]; i++)
        for (PetscInt c = 0; c < bs; c++) a[t++] = 1 + 2 * h[0] * (PetscReal)i + 3 * h[1] * (PetscReal)j + 5 * h[2] * (PetscReal)k + (PetscReal)c;
  PetscCall(VecRestoreArrayWrite(*v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All coarse lattices below that of the problem, without held dofs */
static PetscErrorCode CheckLinear(Problem *p)
{
  DM        fine = p->da, coarse;
  PetscReal h[3] = {1, 1, 1}, hc[3], error, worst = 0;
  PetscInt  N[3], Nc[3];

  PetscFunctionBeginUser;
  PetscCall(PetscObjectReference((PetscObject)fine));
  for (;;) {
    Mat P;
    Vec x, y, Px;

    PetscCall(PCFEMMGCoarsenDM(fine, &coarse));
    if (!coarse) break;
    PetscCall(DMDAGetInfo(fine, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    PetscCall(DMDAGetInfo(coarse, NULL, &Nc[0], &Nc[1], &Nc[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    for (PetscInt d = 0; d < 3; d++) hc[d] = Nc[d] == N[d] ? h[d] : 2 * h[d];
    PetscCall(PCFEMMGCreateInterpolation(coarse, fine, NULL, &P));
    PetscCall(LinearVec(coarse, hc, &x));
    PetscCall(LinearVec(fine, h, &y));
    PetscCall(VecDuplicate(y, &Px));
    PetscCall(MatMult(P, x, Px));
    PetscCall(Difference(Px, y, &error));
    worst = PetscMax(worst, error);
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&Px));
    PetscCall(MatDestroy(&P));
    PetscCall(DMDestroy(&fine));
    fine = coarse;
    PetscCall(PetscArraycpy(h, hc, 3));
  }
  PetscCall(DMDestroy(&fine));
  PetscCall(Check("linear functions are reproduced", worst, TOLERANCE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeldRows(Problem *p, HoldType hold, IS *is)
{
  PetscInt s[3], n[3] = {1, 1, 1}, count = 0, *rows, start = 0;
  Vec      v;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(p->da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  PetscCall(DMGetGlobalVector(p->da, &v));
  PetscCall(VecGetOwnershipRange(v, &start, NULL));
  PetscCall(DMRestoreGlobalVector(p->da, &v));
  PetscCall(PetscMalloc1(p->nlocal * p->dof, &rows));
  for (PetscInt r = 0; r < p->nlocal * p->dof; r++) {
    const PetscInt  node = r / p->dof, i = s[0] + node % n[0], j = s[1] + node / n[0] % n[1], k = s[2] + node / n[0] / n[1];
    const PetscReal u = Noise(p, ((k * 100 + j) * 100 + i) * 10 + r % p->dof, 900); /* the same on any number of ranks */

    if ((hold == HOLD_FACE && i == 0) || (hold == HOLD_POINTS && u < 1. / 9) || (hold == HOLD_RANDOM && u < .5)) rows[count++] = start + r;
  }
  PetscCall(ISCreateGeneral(p->comm, count, rows, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 / sqrt(|a_ii|), or 1 */
static PetscErrorCode RootOfDiagonal(Mat A, Vec *d)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, d, NULL));
  PetscCall(MatGetDiagonal(A, *d));
  PetscCall(VecGetLocalSize(*d, &n));
  PetscCall(VecGetArray(*d, &a));
  for (PetscInt k = 0; k < n; k++) a[k] = a[k] == (PetscScalar)0. ? 1 : 1 / PetscSqrtReal(PetscAbsScalar(a[k]));
  PetscCall(VecRestoreArray(*d, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A of the level below is P' A P, with the identity on its zero rows; entries are compared relative to the diagonal */
static PetscErrorCode CheckGalerkin(PC pc, PetscInt l, PetscReal *error)
{
  Mat       A, Ac, P, Aa, Aca, Pa, G;
  Vec       d, dg;
  IS        zero;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(PCFEMMGGetOperator(pc, l, &A));
  PetscCall(PCFEMMGGetOperator(pc, l - 1, &Ac));
  PetscCall(PCFEMMGGetInterpolation(pc, l, &P));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &Aa));
  PetscCall(MatConvert(Ac, MATAIJ, MAT_INITIAL_MATRIX, &Aca));
  PetscCall(MatComputeOperator(P, MATAIJ, &Pa));
  PetscCall(MatPtAP(Aa, Pa, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &G));
  PetscCall(MatSetOption(G, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatFindZeroRows(G, &zero));
  if (zero) PetscCall(MatZeroRowsColumnsIS(G, zero, 1., NULL, NULL));
  PetscCall(ISDestroy(&zero));
  PetscCall(RootOfDiagonal(Aca, &d));
  PetscCall(MatDiagonalScale(Aca, d, d));
  PetscCall(MatDiagonalScale(G, d, d));
  PetscCall(MatNorm(G, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(G, -1., Aca, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(G, NORM_FROBENIUS, error));
  *error /= norm;
  /* the diagonal, as smoothers and the next level see it */
  PetscCall(MatCreateVecs(Ac, &dg, NULL));
  PetscCall(MatGetDiagonal(Ac, dg));
  PetscCall(VecPointwiseMult(dg, dg, d));
  PetscCall(VecPointwiseMult(dg, dg, d));
  PetscCall(MatGetDiagonal(Aca, d));
  PetscCall(Difference(dg, d, &norm));
  *error = PetscMax(*error, norm);
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&dg));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&Pa));
  PetscCall(MatDestroy(&Aca));
  PetscCall(MatDestroy(&Aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLevels(PC pc, PetscRandom rnd)
{
  PetscInt  levels;
  PetscReal worst = 0;

  PetscFunctionBeginUser;
  PetscCall(PCFEMMGGetLevels(pc, &levels));
  PetscCall(Check("there are levels", levels > 1 ? 0 : 1, 0));
  for (PetscInt l = levels - 1; l > 0; l--) {
    PetscReal error;

    PetscCall(CheckGalerkin(pc, l, &error));
    worst = PetscMax(worst, error);
    if (l == levels - 1) {
      Mat P;

      PetscCall(PCFEMMGGetInterpolation(pc, l, &P));
      PetscCall(CheckTranspose(rnd, P));
    }
  }
  PetscCall(Check("coarse operators are Galerkin products", worst, TOLERANCE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AssembleHeld(Problem *p, HoldType hold, PetscBool rowsonly, PetscReal shift, Mat A)
{
  IS is;

  PetscFunctionBeginUser;
  PetscCall(Assemble(p, A));
  if (shift != 0) PetscCall(MatShift(A, shift));
  PetscCall(HeldRows(p, hold, &is));
  if (rowsonly)
    PetscCall(MatZeroRowsIS(A, is, 2., NULL, NULL));
  else
    PetscCall(MatZeroRowsColumnsIS(A, is, 2., NULL, NULL));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpError(Mat A, PetscErrorCode *ierr)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), &pc));
  PetscCall(PCSetType(pc, PCFEMMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is no sum of cells, or scaled, is refused */
static PetscErrorCode CheckErrors(Problem *p)
{
  PetscErrorCode ierr;
  CallType       call = p->call;
  PetscInt       first;
  Mat            A;
  Vec            s;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateMat(p, MATAIJ, &A));
  PetscCall(Assemble(p, A));
  PetscCall(SetUpError(A, &ierr));
  PetscCall(Check("a matrix without elements is refused", ierr == PETSC_ERR_ARG_WRONG ? 0 : 1, 0));
  PetscCall(MatDestroy(&A));
  p->call = CALL_VALUES;
  PetscCall(ProblemCreateMat(p, SHELLFEM, &A));
  PetscCall(Assemble(p, A));
  PetscCall(SetUpError(A, &ierr));
  PetscCall(Check("elements given by connectivity are refused", ierr == PETSC_ERR_SUP ? 0 : 1, 0));
  PetscCall(MatDestroy(&A));
  p->call = call;
  PetscCall(ProblemCreateMat(p, SHELLFEM, &A));
  PetscCall(Assemble(p, A));
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(MatSetValue(A, first, first, 3., ADD_VALUES));
  PetscCall(Finish(A));
  PetscCall(SetUpError(A, &ierr));
  PetscCall(Check("other entries on the diagonal are not", ierr, 0));
  PetscCall(MatSetValue(A, first, first + 1, 1e-3, ADD_VALUES));
  PetscCall(Finish(A));
  PetscCall(SetUpError(A, &ierr));
  PetscCall(Check("those off the diagonal are refused", ierr == PETSC_ERR_SUP ? 0 : 1, 0));
  PetscCall(MatDestroy(&A));
  PetscCall(ProblemCreateMat(p, SHELLFEM, &A));
  PetscCall(Assemble(p, A));
  PetscCall(MatCreateVecs(A, &s, NULL));
  PetscCall(VecSet(s, 2.));
  PetscCall(MatDiagonalScale(A, s, s));
  PetscCall(SetUpError(A, &ierr));
  PetscCall(Check("scaled rows are refused", ierr == PETSC_ERR_SUP ? 0 : 1, 0));
  PetscCall(VecDestroy(&s));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool   errors   = PETSC_FALSE;
  PetscBool   rowsonly = PETSC_FALSE;
  PetscReal   shift    = 0;
  HoldType    hold     = HOLD_FACE;
  PetscRandom rnd;
  Problem     p;
  Mat         A;
  PC          pc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-hold", HoldTypes, (PetscEnum *)&hold, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rows_only", &rowsonly, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-shift", &shift, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, PETSC_TRUE, &p));
  if (errors) {
    PetscCall(CheckErrors(&p));
    PetscCall(ProblemDestroy(&p));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscRandomCreate(p.comm, &rnd));
  PetscCall(CheckLinear(&p));
  PetscCall(ProblemCreateMat(&p, SHELLFEM, &A));
  PetscCall(AssembleHeld(&p, hold, rowsonly, shift, A));
  PetscCall(PCCreate(p.comm, &pc));
  PetscCall(PCSetType(pc, PCFEMMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(CheckLevels(pc, rnd));
  p.step = 1; /* other scales and other matrices, and other dofs are held */
  PetscCall(MatZeroEntries(A));
  PetscCall(AssembleHeld(&p, hold == HOLD_NONE ? HOLD_POINTS : HOLD_NONE, rowsonly, shift, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PetscPrintf(p.comm, "Assembled again\n"));
  PetscCall(CheckLevels(pc, rnd));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscRandomDestroy(&rnd));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/femmg_1.out
    nsize: {{1 3}}
    args: -pc_femmg_coarse_eq_limit 30
    test:
      suffix: 1
      nsize: {{1 2 3}}
      args: -n 7,5,6 -hold {{none face points random}} -contrast 1e-9
    test:
      suffix: sizes
      args: -n {{8,4,4 1,9,2 5,2,1}}
    test:
      suffix: elements
      args: -n 6,6,5 -voids 0.3 -full {{0 0.3}} -references {{1 3}} -hold points
    test:
      suffix: dofs
      args: -n 9,6,5 -dim {{2 3}} -dof {{1 2 4}} -voids 0.2 -hold points
    test:
      suffix: diagonal
      args: -n 6,5,4 -shift 0.7 -hold {{none points}} -voids 0.3
    test:
      suffix: rows
      args: -n 6,5,4 -rows_only

  test:
    suffix: errors
    nsize: {{1 3}}
    args: -errors -n 6,5,4
    output_file: output/femmg_errors.out

  test:
    suffix: gpu
    requires: cuda
    output_file: output/femmg_1.out
    nsize: {{1 2}}
    args: -pc_femmg_coarse_eq_limit 30 -n 7,5,6 -dm_vec_type cuda -hold {{face points}}

TEST*/
