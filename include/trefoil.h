/*
  Public interface of Trefoil: registration of the Mat types of this package with PETSc.
*/
#pragma once

#include <petscmat.h>

#define TREFOIL_VERSION_MAJOR    0
#define TREFOIL_VERSION_MINOR    1
#define TREFOIL_VERSION_SUBMINOR 0

PETSC_EXTERN PetscErrorCode TrefoilInitialize(void);
PETSC_EXTERN PetscErrorCode TrefoilFinalize(void);
PETSC_EXTERN PetscErrorCode TrefoilInitialized(PetscBool *);
