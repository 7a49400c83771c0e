/* Links Trefoil and registers its types, repeatedly; compiled with LOADED it links nothing and is given the library by options */
#include <trefoil.h>
#include <mataijhashgpu.h>
#include <matmacko.h>
#include <matshellfem.h>

int main(int argc, char **argv)
{
  const MatType types[] = {MATAIJHASHGPU, MATMACKO, MATSHELLFEM};
#if !defined(LOADED)
  PetscBool before, after, loaded;
#endif

  if (MPI_Init(&argc, &argv)) return 1; /* PETSc then leaves MPI running between the rounds */
  for (int round = 0; round < 2; round++) {
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
#if !defined(LOADED)
    PetscCall(TrefoilInitialized(&before));
    PetscCall(PetscOptionsHasName(NULL, NULL, "-dll_append", &loaded));
    PetscCheck(before == loaded, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Round %d: the types are %s before TrefoilInitialize()", round, before ? "there" : "not there");
    PetscCall(TrefoilInitialize());
    PetscCall(TrefoilInitialize());
    PetscCall(TrefoilInitialized(&after));
    PetscCheck(after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "TrefoilInitialized() denies it");
#endif
    for (int t = 0; t < 3; t++) {
      Mat A;

      PetscCall(MatCreate(PETSC_COMM_SELF, &A));
      PetscCall(MatSetSizes(A, 2, 2, 2, 2));
      PetscCall(MatSetType(A, types[t]));
      PetscCall(MatSetUp(A));
      PetscCall(MatSetValue(A, 0, 0, 1., INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatDestroy(&A));
    }
    if (round) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "two rounds: OK\n"));
    PetscCall(PetscFinalize());
  }
  return MPI_Finalize();
}
