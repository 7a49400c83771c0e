/*
  PCFEMMG: geometric multigrid for MATSHELLFEM on the lattice of a DMDA
*/
#pragma once

#include <petscpc.h>
#include <petscdm.h>

#define PCFEMMG "femmg"

PETSC_EXTERN PetscErrorCode PCFEMMGGetLevels(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCFEMMGGetOperator(PC, PetscInt, Mat *);
PETSC_EXTERN PetscErrorCode PCFEMMGGetInterpolation(PC, PetscInt, Mat *);
PETSC_EXTERN PetscErrorCode PCFEMMGGetMG(PC, PC *);
PETSC_EXTERN PetscErrorCode PCFEMMGCoarsenDM(DM, DM *);
PETSC_EXTERN PetscErrorCode PCFEMMGCreateInterpolation(DM, DM, Vec, Mat *);
