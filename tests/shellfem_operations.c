static char help[] = "SHELLFEM: operations on the whole matrix, and solvers that need rows of it, against aij.\n"
                     "  -lattice         : nodes of a DMDA, else a mesh with nodes in random order\n"
                     "  options of the problem: see shellfemtest.h\n\n";

#include "shellfemtest.h"

/* Elements, boundary conditions and a few other entries */
static PetscErrorCode CreatePair(Problem *p, Mat M[2])
{
  PetscFunctionBeginUser;
  PetscCall(ProblemCreateMats(p, &M[0], &M[1]));
  for (PetscInt i = 0; i < 2; i++) {
    PetscInt start, end, held[3], n = 0;

    PetscCall(MatGetOwnershipRange(M[i], &start, &end));
    for (PetscInt r = 0; r < 3 && start + r < end; r++) held[n++] = start + r;
    PetscCall(MatZeroRowsColumns(M[i], n, held, 1, NULL, NULL));
    for (PetscInt r = start + 3; r < PetscMin(start + 9, end); r++) PetscCall(MatSetValue(M[i], r, r, 2, ADD_VALUES));
    PetscCall(Finish(M[i]));
    PetscCall(MatShift(M[i], .1)); /* few nodes are held: without it CG would not converge */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPair(Mat M[2])
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&M[0]));
  PetscCall(MatDestroy(&M[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDuplicate(Problem *p, Mat M[2])
{
  Mat C, D;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(M[1], MAT_COPY_VALUES, &C));
  PetscCall(CompareProduct(p, "MatDuplicate", M[0], C));
  PetscCall(MatScale(C, 3));
  PetscCall(CompareProduct(p, "  the original is left alone", M[0], M[1]));
  PetscCall(MatCopy(M[1], C, SAME_NONZERO_PATTERN));
  PetscCall(CompareProduct(p, "MatCopy", M[0], C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDuplicate(M[0], MAT_DO_NOT_COPY_VALUES, &D));
  PetscCall(MatDuplicate(M[1], MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MatZeroEntries(D));
  PetscCall(MatZeroEntries(C));
  PetscCall(Assemble(p, D));
  PetscCall(Assemble(p, C));
  PetscCall(CompareProduct(p, "MatDuplicate without values, assembled", D, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestConvert(Problem *p, Mat M[2])
{
  static const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  static const char    *names[] = {"MatNorm, 1", "MatNorm, Frobenius", "MatNorm, infinity"};
  const PetscScalar    *values[2];
  PetscInt              bs;
  PetscReal             norm[2];
  Mat                   C;
  PetscBool             aij;

  PetscFunctionBeginUser;
  PetscCall(MatConvert(M[1], MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(Check("MatConvert gives an aij", aij ? 0 : 1, 0));
  PetscCall(MatGetBlockSize(C, &bs));
  PetscCall(Check("  its block size", PetscAbsInt(bs - p->dof), 0));
  PetscCall(CompareProduct(p, "  its products", M[0], C));
  PetscCall(MatAXPY(C, -1, M[0], DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(M[0], NORM_FROBENIUS, &norm[0]));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm[1]));
  PetscCall(Check("  its entries", norm[1] / norm[0], TOLERANCE));
  PetscCall(MatConvert(M[1], MATAIJ, MAT_REUSE_MATRIX, &C));
  PetscCall(CompareProduct(p, "  converted again", M[0], C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(M[1], MATDENSE, MAT_INITIAL_MATRIX, &C));
  PetscCall(CompareProduct(p, "MatConvert to dense", M[0], C));
  PetscCall(MatDestroy(&C));
  for (PetscInt t = 0; t < 3; t++) {
    for (PetscInt i = 0; i < 2; i++) PetscCall(MatNorm(M[i], types[t], &norm[i]));
    PetscCall(Check(names[t], PetscAbsReal(norm[1] - norm[0]) / norm[0], TOLERANCE));
  }
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatInvertBlockDiagonal(M[i], &values[i]));
  norm[0] = norm[1] = 0;
  for (PetscInt i = 0; i < p->nlocal * p->dof * p->dof; i++) {
    norm[0] = PetscMax(norm[0], PetscAbsScalar(values[0][i]));
    norm[1] = PetscMax(norm[1], PetscAbsScalar(values[0][i] - values[1][i]));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, norm, 2, MPIU_REAL, MPIU_MAX, p->comm));
  PetscCall(Check("MatInvertBlockDiagonal", norm[1] / norm[0], 100 * TOLERANCE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The block of this rank, as PCBJACOBI takes it */
static PetscErrorCode TestBlock(Problem *p, Mat M[2])
{
  Mat       block[2], copy;
  PetscReal norm[2];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatGetDiagonalBlock(M[i], &block[i]));
  PetscCall(MatDuplicate(block[1], MAT_COPY_VALUES, &copy));
  PetscCall(MatAXPY(copy, -1, block[0], DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(copy, NORM_FROBENIUS, &norm[1]));
  PetscCall(MatNorm(block[0], NORM_FROBENIUS, &norm[0]));
  norm[0] = norm[0] > 0 ? norm[1] / norm[0] : norm[1];
  PetscCall(MatDestroy(&copy));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, norm, 1, MPIU_REAL, MPIU_MAX, p->comm));
  PetscCall(Check("MatGetDiagonalBlock", norm[0], TOLERANCE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this rank by MatGetRow(), one process */
static PetscErrorCode TestRows(Problem *p, Mat M[2])
{
  Vec                x;
  const PetscScalar *xa;
  PetscReal          error = 0, size = 0;

  PetscFunctionBeginUser;
  if (p->size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProblemCreateVec(p, 3, &x));
  PetscCall(VecGetArrayRead(x, &xa));
  for (PetscInt r = 0; r < p->nlocal * p->dof; r++) {
    PetscScalar product[2] = {0, 0};

    for (PetscInt i = 0; i < 2; i++) {
      PetscInt           n;
      const PetscInt    *cols;
      const PetscScalar *v;

      PetscCall(MatGetRow(M[i], r, &n, &cols, &v));
      for (PetscInt k = 0; k < n; k++) product[i] += v[k] * xa[cols[k]];
      PetscCall(MatRestoreRow(M[i], r, &n, &cols, &v));
    }
    error = PetscMax(error, PetscAbsScalar(product[0] - product[1]));
    size  = PetscMax(size, PetscAbsScalar(product[0]));
  }
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecDestroy(&x));
  PetscCall(Check("MatGetRow", error / size, TOLERANCE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A P and P' A P with a sparse P of a third of the columns, then with other values */
static PetscErrorCode TestProducts(Problem *p, Mat M[2])
{
  Mat       P, C[2], D[2];
  PetscInt  start, end, N, n = (p->nlocal + 2) / 3;
  PetscReal norm[2];

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(M[0], &start, &end));
  PetscCall(MatCreateAIJ(p->comm, end - start, n, PETSC_DETERMINE, PETSC_DETERMINE, 4, NULL, 4, NULL, &P));
  PetscCall(MatGetSize(P, NULL, &N));
  for (PetscInt r = start; r < end; r++)
    for (PetscInt k = 0; k < 3; k++) PetscCall(MatSetValue(P, r, (PetscInt)(Noise(p, r, 300 + k) * (PetscReal)N), NoiseScalar(p, r, 310 + k), INSERT_VALUES));
  PetscCall(Finish(P));
  for (PetscInt again = 0; again < 2; again++) {
    for (PetscInt i = 0; i < 2; i++) {
      if (again) PetscCall(MatScale(M[i], .5));
      PetscCall(MatMatMult(M[i], P, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[i]));
      PetscCall(MatPtAP(M[i], P, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D[i]));
    }
    PetscCall(MatNorm(C[0], NORM_FROBENIUS, &norm[0]));
    PetscCall(MatNorm(C[1], NORM_FROBENIUS, &norm[1]));
    PetscCall(Check("MatMatMult", PetscAbsReal(norm[1] - norm[0]) / norm[0], TOLERANCE));
    PetscCall(MatNorm(D[0], NORM_FROBENIUS, &norm[0]));
    PetscCall(MatNorm(D[1], NORM_FROBENIUS, &norm[1]));
    PetscCall(Check("MatPtAP", PetscAbsReal(norm[1] - norm[0]) / norm[0], TOLERANCE));
  }
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(MatScale(M[i], 2));
    PetscCall(MatDestroy(&C[i]));
    PetscCall(MatDestroy(&D[i]));
  }
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The iterations of CG, which are those with aij, give or take one */
static PetscErrorCode TestSolver(Problem *p, Mat M[2], PCType pc)
{
  char     name[64];
  PetscInt its[2];
  Vec      x, b;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateVec(p, 4, &b));
  PetscCall(VecDuplicate(b, &x));
  for (PetscInt i = 0; i < 2; i++) {
    KSP ksp;
    PC  c;

    PetscCall(KSPCreate(p->comm, &ksp));
    PetscCall(KSPSetOperators(ksp, M[i], M[i]));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetTolerances(ksp, 1e-4, PETSC_CURRENT, PETSC_CURRENT, 2000));
    PetscCall(KSPGetPC(ksp, &c));
    PetscCall(PCSetType(c, pc));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(PetscSNPrintf(name, sizeof name, "iterations with %s", pc));
  PetscCall(Check(name, PetscAbsInt(its[0] - its[1]), 1));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSymmetry(Problem *p, Mat M[2])
{
  PetscBool set, flag;

  PetscFunctionBeginUser;
  PetscCall(MatSetOption(M[1], MAT_SPD, PETSC_TRUE));
  PetscCall(MatIsSymmetricKnown(M[1], &set, &flag));
  PetscCall(Check("symmetry is known once it is told", set && flag ? 0 : 1, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PCType pcs[]   = {PCNONE, PCJACOBI, PCPBJACOBI, PCBJACOBI, PCGAMG};
  PetscBool           lattice = PETSC_FALSE;
  Problem             p;
  Mat                 M[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lattice", &lattice, NULL));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, lattice, &p));
  PetscCall(CreatePair(&p, M));
  PetscCall(TestDuplicate(&p, M));
  PetscCall(TestConvert(&p, M));
  PetscCall(TestBlock(&p, M));
  PetscCall(TestRows(&p, M));
  PetscCall(TestProducts(&p, M));
  PetscCall(CompareProduct(&p, "after all that", M[0], M[1]));
  PetscCall(TestSymmetry(&p, M));
  PetscCall(MatSetOption(M[0], MAT_SPD, PETSC_TRUE));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(pcs); i++) PetscCall(TestSolver(&p, M, pcs[i]));
  PetscCall(DestroyPair(M));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    nsize: 1
    args: -lattice {{0 1}}
    output_file: output/shellfem_operations_1.out

  testset:
    output_file: output/shellfem_operations_2.out
    test:
      suffix: 2
      nsize: {{2 3}}
      args: -lattice {{0 1}}
    test:
      suffix: 2d
      nsize: 2
      args: -lattice {{0 1}} -dim 2 -n 7,6
    test:
      suffix: empty
      nsize: 3
      args: -empty_rank

TEST*/
