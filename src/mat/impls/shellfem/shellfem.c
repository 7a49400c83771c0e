#include "../../../sys/trefoilimpl.h"

PetscErrorCode MatInitializePackage_ShellFEM(void)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
