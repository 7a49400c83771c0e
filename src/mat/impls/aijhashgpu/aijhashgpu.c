#include "../../../sys/trefoilimpl.h"

PetscErrorCode MatInitializePackage_AIJHashGPU(void)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
