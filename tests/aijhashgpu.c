static char help[] = "MATAIJHASHGPU is a MATAIJ in every respect: each operation against the same on MATAIJ.\n"
                     "  -test <name> : one operation, see main()\n\n";

#include <trefoil.h>
#include <mataijhashgpu.h>
#include <petscksp.h>

#define TOLERANCE (1000 * PETSC_MACHINE_EPSILON)

static PetscErrorCode Report(const char name[], PetscReal error)
{
  PetscFunctionBeginUser;
  if (error < TOLERANCE)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: OK\n", name));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: relative error %g\n", name, (double)error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReportBool(const char name[], PetscBool ok)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, ok ? "OK" : "FAILED"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonsymmetric, diagonally dominant, with a few entries far from the diagonal; rows of every process get values from others */
static PetscErrorCode Fill(Mat A)
{
  PetscInt M, N, start, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    const PetscInt    cols[] = {row % N, (row + 1) % N, (3 * row + 7) % N, (row + N - 5) % N};
    const PetscScalar v[]    = {(PetscScalar)(10 + row % 3), (PetscScalar)-1.5, (PetscScalar)(0.5 + 0.01 * (row % 11)), (PetscScalar)0.25};
    const PetscInt    far    = (row + M / 2) % M;

    PetscCall(MatSetValues(A, 1, &row, 4, cols, v, ADD_VALUES));
    PetscCall(MatSetValue(A, far, row % N, 0.125, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscInt M, PetscInt N, PetscBool preallocate, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, M, N));
  PetscCall(MatSetType(*A, type));
  if (preallocate) {
    PetscCall(MatSeqAIJSetPreallocation(*A, 6, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 6, NULL, 6, NULL));
  } else
    PetscCall(MatSetUp(*A));
  PetscCall(Fill(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |B - A| / |A|, with B of this type */
static PetscErrorCode Compare(const char name[], Mat A, Mat B)
{
  Mat       C;
  MatType   type;
  PetscReal error, norm;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &same, MATSEQAIJHASHGPU, MATMPIAIJHASHGPU, ""));
  PetscCall(MatGetType(B, &type));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the type is %s\n", name, type));
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatAXPY(C, -1., A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &error));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  PetscCall(MatDestroy(&C));
  if (same) PetscCall(Report(name, error / norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareVec(const char name[], Vec reference, Vec y)
{
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(reference, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1., reference));
  PetscCall(VecNorm(y, NORM_2, &error));
  PetscCall(Report(name, error / norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMult(Mat A, Mat B)
{
  Vec x, y, z, xa, ya, za;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(MatCreateVecs(A, &xa, &ya));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(ya, &za));
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscInt start, end;

    PetscCall(VecGetOwnershipRange(xa, &start, &end));
    for (PetscInt k = start; k < end; k++) PetscCall(VecSetValue(xa, k, PetscSinReal(k + 1.), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(xa));
    PetscCall(VecAssemblyEnd(xa));
    PetscCall(VecCopy(xa, x));
    PetscCall(MatMult(A, xa, ya));
    PetscCall(VecSet(y, PETSC_MAX_REAL / 4));
    PetscCall(MatMult(B, x, y));
    PetscCall(VecCopy(y, z));
    PetscCall(CompareVec("MatMult", ya, z));
    PetscCall(VecCopy(ya, za));
    PetscCall(MatMultAdd(A, xa, ya, za));
    PetscCall(MatMultAdd(B, x, y, z));
    PetscCall(CompareVec("MatMultAdd", za, z));
    PetscCall(MatMultAdd(B, x, y, y));
    PetscCall(CompareVec("MatMultAdd in place", za, y));
    PetscCall(VecCopy(ya, y));
    PetscCall(MatMultTranspose(A, ya, xa));
    PetscCall(MatMultTranspose(B, y, x));
    PetscCall(CompareVec("MatMultTranspose", xa, x));
    /* once more with other values: a copy of the matrix elsewhere must follow */
    PetscCall(MatScale(A, 3.));
    PetscCall(MatScale(B, 3.));
    PetscCall(MatSetValue(A, 0, 0, 77., INSERT_VALUES));
    PetscCall(MatSetValue(B, 0, 0, 77., INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatGetDiagonal(A, ya));
  PetscCall(MatGetDiagonal(B, y));
  PetscCall(CompareVec("MatGetDiagonal", ya, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&xa));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&za));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestConvert(Mat A, Mat B)
{
  Mat       C, D;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(MatConvert(A, MATAIJHASHGPU, MAT_INITIAL_MATRIX, &C));
  PetscCall(Compare("from aij", A, C));
  PetscCall(MatScale(C, 2.));
  PetscCall(MatConvert(A, MATAIJHASHGPU, MAT_REUSE_MATRIX, &C));
  PetscCall(Compare("from aij, again", A, C));
  PetscCall(MatConvert(C, MATAIJ, MAT_INPLACE_MATRIX, &C));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &same, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(ReportBool("to aij in place", same));
  PetscCall(MatConvert(C, MATAIJHASHGPU, MAT_INPLACE_MATRIX, &C));
  PetscCall(Compare("from aij in place", A, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(B, MATDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatConvert(D, MATAIJHASHGPU, MAT_INITIAL_MATRIX, &C));
  PetscCall(Compare("to dense and back", A, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatConvert(B, MATBAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatConvert(D, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatConvert(C, MATAIJHASHGPU, MAT_INPLACE_MATRIX, &C));
  PetscCall(Compare("to baij and back", A, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDuplicate(Mat A, Mat B)
{
  Mat       C;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
  PetscCall(Compare("MatDuplicate", A, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
  PetscCall(Report("MatDuplicate without values", norm));
  PetscCall(MatCopy(B, C, SAME_NONZERO_PATTERN));
  PetscCall(Compare("MatCopy", A, C));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLoad(Mat A, Mat B)
{
  Mat         C;
  PetscViewer viewer;
  char        file[] = "aijhashgpu.bin";

  PetscFunctionBeginUser;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(B, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatSetType(C, MATAIJHASHGPU));
  PetscCall(MatLoad(C, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(Compare("MatView and MatLoad", A, C));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSubMatrix(Mat A, Mat B)
{
  Mat      CA, CB, *SA, *SB;
  IS       rows, all;
  PetscInt start, end, M, N;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - start) / 2, start, 2, &rows));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, &CA));
  PetscCall(MatCreateSubMatrix(B, rows, rows, MAT_INITIAL_MATRIX, &CB));
  PetscCall(Compare("MatCreateSubMatrix", CA, CB));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatScale(B, 0.5));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_REUSE_MATRIX, &CA));
  PetscCall(MatCreateSubMatrix(B, rows, rows, MAT_REUSE_MATRIX, &CB));
  PetscCall(Compare("MatCreateSubMatrix, again", CA, CB));
  PetscCall(MatDestroy(&CA));
  PetscCall(MatDestroy(&CB));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, M, 0, 1, &all));
  PetscCall(MatCreateSubMatrices(A, 1, &all, &all, MAT_INITIAL_MATRIX, &SA));
  PetscCall(MatCreateSubMatrices(B, 1, &all, &all, MAT_INITIAL_MATRIX, &SB));
  PetscCall(MatConvert(SB[0], MATSEQAIJ, MAT_INITIAL_MATRIX, &CB));
  PetscCall(MatAXPY(CB, -1., SA[0], SAME_NONZERO_PATTERN));
  {
    PetscReal error;

    PetscCall(MatNorm(CB, NORM_FROBENIUS, &error));
    PetscCall(Report("MatCreateSubMatrices", error));
  }
  PetscCall(MatDestroy(&CB));
  PetscCall(MatDestroySubMatrices(1, &SA));
  PetscCall(MatDestroySubMatrices(1, &SB));
  PetscCall(ISDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries in COO form, some twice, some of other processes' rows; then other values */
static PetscErrorCode TestCOO(Mat A, Mat B)
{
  Mat          M[2];
  MatType      types[] = {MATAIJ, MATAIJHASHGPU};
  PetscInt     start, end, N, n;
  PetscInt    *i, *j;
  PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(MatGetSize(A, &N, NULL));
  n = 4 * (end - start);
  PetscCall(PetscMalloc3(n, &i, n, &j, n, &v));
  for (int m = 0; m < 2; m++) {
    for (PetscInt row = start, k = 0; row < end; row++) {
      for (PetscInt d = 0; d < 4; d++, k++) {
        i[k] = d == 3 ? (row + N / 2) % N : row;
        j[k] = d == 2 ? row : (row + d * 5) % N;
        v[k] = (PetscScalar)(1 + row % 7 + d);
      }
    }
    PetscCall(MatCreate(PETSC_COMM_WORLD, &M[m]));
    PetscCall(MatSetSizes(M[m], PETSC_DECIDE, PETSC_DECIDE, N, N));
    PetscCall(MatSetType(M[m], types[m]));
    PetscCall(MatSetPreallocationCOO(M[m], n, i, j));
    PetscCall(MatSetValuesCOO(M[m], v, INSERT_VALUES));
  }
  PetscCall(Compare("MatSetValuesCOO", M[0], M[1]));
  for (PetscInt k = 0; k < n; k++) v[k] *= 0.5;
  for (int m = 0; m < 2; m++) PetscCall(MatSetValuesCOO(M[m], v, ADD_VALUES));
  PetscCall(Compare("MatSetValuesCOO added", M[0], M[1]));
  PetscCall(TestMult(M[0], M[1]));
  for (int m = 0; m < 2; m++) PetscCall(MatDestroy(&M[m]));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of sequential matrices: LU, ILU, and Cholesky of A + A'; in parallel through block Jacobi */
static PetscErrorCode Solve(const char name[], Mat B, const char pc_type[])
{
  KSP       ksp;
  PC        pc;
  Vec       x, b, r;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(B, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1.));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pc_type));
  PetscCall(KSPSetTolerances(ksp, 10 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatMult(B, x, r));
  PetscCall(VecAXPY(r, -1., b));
  PetscCall(VecNorm(r, NORM_2, &error));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(Report(name, error / norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolve(Mat A, Mat B)
{
  PetscMPIInt size;
  Mat         S, T;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &S));
  PetscCall(MatAXPY(S, 1., T, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatSetOption(S, MAT_SPD, PETSC_TRUE));
  PetscCall(Solve("Jacobi", B, PCJACOBI));
  PetscCall(Solve("LU", B, size == 1 ? PCLU : PCBJACOBI));
  PetscCall(Solve("ILU", B, size == 1 ? PCILU : PCASM));
  PetscCall(Solve("SOR", B, PCSOR));
  PetscCall(Solve("Cholesky", S, size == 1 ? PCCHOLESKY : PCBJACOBI));
  PetscCall(Solve("ICC", S, size == 1 ? PCICC : PCBJACOBI));
  PetscCall(Solve("GAMG", S, PCGAMG));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDense(Mat A, Mat B)
{
  Mat       X, YA, YB;
  PetscInt  M, N;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &X));
  PetscCall(MatSetSizes(X, PETSC_DECIDE, PETSC_DECIDE, N, 7));
  PetscCall(MatSetType(X, MATDENSE));
  PetscCall(MatSetUp(X));
  PetscCall(MatSetRandom(X, NULL));
  for (int t = 0; t < 2; t++) {
    if (t) {
      PetscCall(MatTransposeMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &YA));
      PetscCall(MatTransposeMatMult(B, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &YB));
    } else {
      PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &YA));
      PetscCall(MatMatMult(B, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &YB));
    }
    PetscCall(MatNorm(YA, NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(YB, -1., YA, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(YB, NORM_FROBENIUS, &error));
    PetscCall(Report(t ? "transposed times dense" : "times dense", error / norm));
    PetscCall(MatDestroy(&YA));
    PetscCall(MatDestroy(&YB));
  }
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChange(Mat A, Mat B)
{
  Mat      T;
  PetscInt start, end, rows[2];
  Vec      l;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  rows[0] = start;
  rows[1] = PetscMax(start, end - 1);
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatSetOption(B, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(A, 2, rows, 4., NULL, NULL));
  PetscCall(MatZeroRows(B, 2, rows, 4., NULL, NULL));
  PetscCall(Compare("MatZeroRows", A, B));
  PetscCall(MatZeroRowsColumns(A, 1, rows + 1, 2., NULL, NULL));
  PetscCall(MatZeroRowsColumns(B, 1, rows + 1, 2., NULL, NULL));
  PetscCall(Compare("MatZeroRowsColumns", A, B));
  PetscCall(MatShift(A, 0.75));
  PetscCall(MatShift(B, 0.75));
  PetscCall(Compare("MatShift", A, B));
  PetscCall(MatCreateVecs(A, NULL, &l));
  PetscCall(MatGetDiagonal(A, l));
  PetscCall(MatDiagonalScale(A, l, NULL));
  PetscCall(MatDiagonalScale(B, l, NULL));
  PetscCall(Compare("MatDiagonalScale", A, B));
  PetscCall(VecDestroy(&l));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatTranspose(T, MAT_INPLACE_MATRIX, &T));
  PetscCall(Compare("MatTranspose twice", A, T));
  PetscCall(MatDestroy(&T));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatZeroEntries(B));
  PetscCall(Fill(A));
  PetscCall(Fill(B));
  PetscCall(Compare("re-assembly", A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBind(Mat A, Mat B)
{
  PetscFunctionBeginUser;
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(TestMult(A, B));
  PetscCall(MatBindToCPU(B, PETSC_FALSE));
  PetscCall(TestMult(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error, caught: its code, and that the message names the remedy */
static PetscErrorCode CatchMessage(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type, const char *message, void *ctx)
{
  if (type == PETSC_ERROR_INITIAL) (void)PetscStrncpy((char *)ctx, message, 512);
  return code;
}

static PetscErrorCode TestErrors(Mat A, Mat B)
{
  MatAIJHashGPUStatistics statistics;
  char                    message[512] = "";
  char                   *found;
  PetscErrorCode          code;

  PetscFunctionBeginUser;
  PetscCall(PetscPushErrorHandler(CatchMessage, message));
  code = MatAIJHashGPUGetProductStatistics(A, &statistics);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscStrstr(message, "set its type to aijhashgpu", &found));
  PetscCall(ReportBool("statistics of another type are refused", (PetscBool)(code == PETSC_ERR_ARG_WRONG && found)));
  PetscCall(PetscPushErrorHandler(CatchMessage, message));
  code = MatAIJHashGPUGetProductStatistics(B, &statistics);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscStrstr(message, "not the result of a product", &found));
  PetscCall(ReportBool("statistics without a product are refused", (PetscBool)(code == PETSC_ERR_ARG_WRONGSTATE && found)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sum over k of (entries in column k) (entries in row k), counted apart from the product */
static PetscErrorCode TestStatistics(Mat A, Mat B)
{
  MatAIJHashGPUStatistics statistics;
  PetscInt64              products = 0, rows = 0;
  PetscInt                start, end, N;
  Mat                     C;
  MatInfo                 info;
  Vec                     column, row;
  PetscScalar             dot;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatCreateVecs(A, &column, &row));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(VecSet(column, 0.));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt *cols;
    PetscInt        n;

    PetscCall(MatGetRow(A, r, &n, &cols, NULL));
    for (PetscInt k = 0; k < n; k++) PetscCall(VecSetValue(column, cols[k], 1., ADD_VALUES));
    PetscCall(VecSetValue(row, r, n, INSERT_VALUES));
    PetscCall(MatRestoreRow(A, r, &n, &cols, NULL));
  }
  PetscCall(VecAssemblyBegin(column));
  PetscCall(VecAssemblyEnd(column));
  PetscCall(VecAssemblyBegin(row));
  PetscCall(VecAssemblyEnd(row));
  PetscCall(VecDot(column, row, &dot));
  products = (PetscInt64)(PetscRealPart(dot) + 0.5);
  PetscCall(MatMatMult(B, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatAIJHashGPUGetProductStatistics(C, &statistics));
  PetscCall(MatGetInfo(C, MAT_GLOBAL_SUM, &info));
  for (int g = 0; g < MAT_AIJHASHGPU_GROUPS; g++) rows += statistics.rows[g];
  PetscCall(ReportBool("intermediate products", (PetscBool)(statistics.products == products)));
  PetscCall(ReportBool("nonzeros", (PetscBool)((PetscLogDouble)statistics.nonzeros == info.nz_used)));
  PetscCall(ReportBool("rows in groups", (PetscBool)(rows == N)));
  PetscCall(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(C, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatDestroy(&C));
  PetscCall(VecDestroy(&column));
  PetscCall(VecDestroy(&row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscErrorCode (*run)(Mat, Mat);
  } tests[] = {
    {"mult", TestMult},
    {"convert", TestConvert},
    {"duplicate", TestDuplicate},
    {"load", TestLoad},
    {"submatrix", TestSubMatrix},
    {"coo", TestCOO},
    {"solve", TestSolve},
    {"dense", TestDense},
    {"change", TestChange},
    {"bind", TestBind},
    {"errors", TestErrors},
    {"statistics", TestStatistics}};
  char      name[64]    = "";
  PetscBool preallocate = PETSC_FALSE, is, found = PETSC_FALSE;
  Mat       A, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", name, sizeof(name), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-preallocate", &preallocate, NULL));
  PetscCall(Create(MATAIJ, 90, 90, preallocate, &A));
  PetscCall(Create(MATAIJHASHGPU, 90, 90, preallocate, &B));
  PetscCall(Compare("MatSetValues", A, B));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tests); t++) {
    PetscCall(PetscStrcmp(name, tests[t].name, &is));
    if (is) PetscCall(tests[t].run(A, B));
    if (is) found = PETSC_TRUE;
  }
  PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test %s is not one of the tests in main()", name);
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      args: -preallocate {{0 1}}

      test:
         suffix: mult
         args: -test mult

      test:
         suffix: change
         args: -test change

   testset:
      nsize: {{1 3}}

      test:
         suffix: convert
         args: -test convert

      test:
         suffix: duplicate
         args: -test duplicate

      test:
         suffix: load
         args: -test load

      test:
         suffix: submatrix
         args: -test submatrix

      test:
         suffix: coo
         args: -test coo

      # PETSc copies the function list of the matrix to its ILU and ICC factors, whose type does not know these functions
      test:
         suffix: solve
         args: -test solve -checkfunctionlist 0

      test:
         suffix: dense
         args: -test dense

      test:
         suffix: bind
         args: -test bind

      test:
         suffix: errors
         args: -test errors

   test:
      suffix: statistics
      args: -test statistics

TEST*/
