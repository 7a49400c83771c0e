/*
  KSPIR: iterative refinement, a solver inside in a shorter precision and residuals in PetscScalar outside
*/
#pragma once

#include <petscksp.h>
#include <matshellfem.h>

#define KSPIR "ir"

PETSC_EXTERN PetscErrorCode KSPIRGetInnerKSP(KSP, KSP *);
PETSC_EXTERN PetscErrorCode KSPIRSetInnerPrecision(KSP, MatShellFEMPrecision);
PETSC_EXTERN PetscErrorCode KSPIRGetInnerPrecision(KSP, MatShellFEMPrecision *);
PETSC_EXTERN PetscErrorCode KSPIRSetStagnation(KSP, PetscReal, PetscInt);
PETSC_EXTERN PetscErrorCode KSPIRGetStagnation(KSP, PetscReal *, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPIRGetConditionEstimate(KSP, PetscReal *, PetscReal *);
