/* Leaves an object, memory of PETSc and memory of the C library behind, so that the tests of leaks show that they see them */
#include <petscsys.h>

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_leaky(void);

PetscErrorCode PetscDLLibraryRegister_leaky(void)
{
  PetscRandom random;
  void       *memory;
  void *volatile lost;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscMalloc(40, &memory));
  lost = malloc(50);
  lost = NULL;
  (void)lost;
  PetscFunctionReturn(PETSC_SUCCESS);
}
