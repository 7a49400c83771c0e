static char help[] = "MATSHELLFEM where elements, layouts and re-assembly are unusual, compared with AIJ\n\n";

#include "shellfemtest.h"
#include <matshellfem.h>

/* A chain of n nodes with b dofs; the last node of every third element is named twice. kind changes all matrices. */
static PetscErrorCode AddChain(Mat A, PetscInt n, PetscInt b, PetscInt kind)
{
  PetscMPIInt rank, size;
  PetscScalar K[81];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt e = rank; e < n - 1; e += size) {
    const PetscInt node[3] = {e, e + 1, e + 1}, nen = e % 3 ? 2 : 3;

    for (PetscInt k = 0; k < nen * nen * b * b; k++) K[k] = PetscSinReal((PetscReal)(1 + k * (kind + 2))) + 3;
    PetscCall(MatSetValuesBlocked(A, nen, node, nen, node, K, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc deals out the rows, and the block size comes after the type */
static PetscErrorCode CreateChain(MatType type, PetscInt n, PetscInt b, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * b, n * b));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetBlockSize(*A, b));
  PetscCall(MatSetUp(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char *what, Mat A, Mat B)
{
  char      name[128];
  Vec       x, y, z;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(x, NULL));
  for (PetscInt t = 0; t < 2; t++) {
    PetscCall(VecSet(z, 1e30));
    PetscCall(t ? MatGetDiagonal(A, z) : MatMult(A, x, z));
    PetscCall(t ? MatGetDiagonal(B, y) : MatMult(B, x, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(VecAXPY(z, -1., y));
    PetscCall(VecNorm(z, NORM_2, &error));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s", what, t ? "MatGetDiagonal" : "MatMult"));
    PetscCall(Check(name, error / norm, TOLERANCE));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New matrices at each of many assemblies: those of earlier ones make room */
static PetscErrorCode TestSteps(Mat A, Mat B, PetscInt n, PetscInt b)
{
  MatInfo first, last;

  PetscFunctionBeginUser;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &first));
  for (PetscInt step = 1; step < 40; step++) {
    PetscCall(MatZeroEntries(A));
    PetscCall(MatZeroEntries(B));
    PetscCall(AddChain(A, n, b, step));
    PetscCall(AddChain(B, n, b, step));
  }
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &last));
  PetscCall(Compare("fortieth assembly", A, B));
  PetscCall(Check("memory per assembly", last.memory / first.memory, 5.));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scales given after MatZeroEntries(): the elements still know their reference matrix */
static PetscErrorCode TestNativeZero(void)
{
  const PetscInt    conn[2] = {0, 1};
  const PetscScalar K[4] = {1, -1, -1, 1}, scale = 2;
  Mat               A;
  PetscReal         norm;

  PetscFunctionBeginUser;
  PetscCall(MatCreateShellFEM(PETSC_COMM_SELF, 2, 2, 1, 1, 2, conn, &A));
  PetscCall(MatShellFEMSetReferenceMatrices(A, 1, K));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  PetscCall(Check("MatZeroEntries", norm, 0.));
  PetscCall(MatShellFEMSetElementScales(A, &scale));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  PetscCall(Check("scales after MatZeroEntries", PetscAbsReal(norm - 4), TOLERANCE));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One periodic cell across: both ends of it are the same node */
static PetscErrorCode TestOnePeriodicCell(void)
{
  Mat A[2];

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < 2; k++) {
    DM       da;
    PetscInt start, width;

    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_BOX, 6, 1, PETSC_DECIDE, 1, 1, 1, NULL, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMSetMatType(da, k ? MATAIJ : SHELLFEM));
    PetscCall(DMCreateMatrix(da, &A[k]));
    PetscCall(DMDAGetCorners(da, &start, NULL, NULL, &width, NULL, NULL));
    for (PetscInt i = start; i < PetscMin(start + width, 5); i++) {
      MatStencil  place[4];
      PetscScalar K[16];

      for (PetscInt a = 0; a < 4; a++) place[a] = (MatStencil){.i = i + (a & 1), .j = a >> 1};
      for (PetscInt c = 0; c < 16; c++) K[c] = c % 5 ? 1 + c : 9;
      PetscCall(MatSetValuesStencil(A[k], 4, place, 4, place, K, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(A[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A[k], MAT_FINAL_ASSEMBLY));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(Compare("one periodic cell", A[0], A[1]));
  PetscCall(MatDestroy(&A[0]));
  PetscCall(MatDestroy(&A[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n = 301, b = 3;
  Mat            A, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(CreateChain(SHELLFEM, n, b, &A));
  PetscCall(CreateChain(MATAIJ, n, b, &B));
  PetscCall(AddChain(A, n, b, 0));
  PetscCall(AddChain(B, n, b, 0));
  PetscCall(Compare("nodes named twice", A, B));
  PetscCall(TestSteps(A, B, n, b));
  PetscCall(TestNativeZero());
  PetscCall(TestOnePeriodicCell());
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    nsize: {{1 2 3}}

TEST*/
