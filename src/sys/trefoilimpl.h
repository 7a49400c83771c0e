/*
  What every part of Trefoil shares: one registration function per type, called by TrefoilInitialize(), and the
  attribute that lets one portable library use the vector instructions of the processor it runs on.
*/
#pragma once

#include <trefoil.h>
#include <petsc/private/matimpl.h>

PETSC_INTERN PetscErrorCode MatInitializePackage_AIJHashGPU(void);
PETSC_INTERN PetscErrorCode MatInitializePackage_MACKO(void);
PETSC_INTERN PetscErrorCode MatInitializePackage_ShellFEM(void);
PETSC_INTERN PetscErrorCode PCInitializePackage_FEMMG(void);
