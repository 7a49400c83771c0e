/*
  MATSHELLFEM: a finite-element operator that is never assembled
*/
#pragma once

#include <petscmat.h>
#include <petscdm.h>

#define MATSHELLFEM "shellfem"

PETSC_EXTERN PetscErrorCode MatCreateShellFEM(MPI_Comm, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatShellFEMSetReferenceMatrices(Mat, PetscInt, const PetscScalar[]);
PETSC_EXTERN PetscErrorCode MatShellFEMSetElementReferences(Mat, const PetscInt[]);
PETSC_EXTERN PetscErrorCode MatShellFEMSetElementScales(Mat, const PetscScalar[]);
PETSC_EXTERN PetscErrorCode MatShellFEMSetSIMP(Mat, const PetscReal[], PetscReal, PetscReal, PetscReal);
PETSC_EXTERN PetscErrorCode MatShellFEMSetElementMatrices(Mat, const PetscScalar[]);
PETSC_EXTERN PetscErrorCode MatShellFEMGetElementCount(Mat, PetscInt *);
PETSC_EXTERN PetscErrorCode MatShellFEMGetElementEnergy(Mat, Vec, Vec, PetscScalar[]);
PETSC_EXTERN PetscErrorCode MatShellFEMCreateElementVec(Mat, Vec *);
PETSC_EXTERN PetscErrorCode MatShellFEMSetSIMPVec(Mat, Vec, PetscReal, PetscReal, PetscReal);
PETSC_EXTERN PetscErrorCode MatShellFEMGetElementEnergyVec(Mat, Vec, Vec, Vec);
PETSC_EXTERN PetscErrorCode MatShellFEMJacobiStep(Mat, PetscReal, Vec, Vec, Vec, Vec);
