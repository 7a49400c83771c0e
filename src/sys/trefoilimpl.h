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
PETSC_INTERN PetscErrorCode KSPInitializePackage_IR(void);

/* MatCreate() binds a matrix to the CPU; a type that works on both, wherever vectors are, starts free */
static inline void MatStartUnbound(Mat A)
{
#if PetscDefined(HAVE_DEVICE)
  A->boundtocpu = PETSC_FALSE;
#endif
}

/* Vectors made for the matrix of a DM are of the type that the DM makes: DMCreateMatrix() does not see to it */
PETSC_INTERN PetscErrorCode MatTakeVecTypeOfDM(Mat);
