#include "../../../sys/trefoilimpl.h"

PetscErrorCode MatInitializePackage_MACKO(void)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
