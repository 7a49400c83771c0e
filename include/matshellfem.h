/*
  MATSHELLFEM: a finite-element operator that is never assembled
*/
#pragma once

#include <petscmat.h>
#include <petscdm.h>

#define MATSHELLFEM "shellfem"

/*E
  MatShellFEMPrecision - how products with a `MATSHELLFEM` matrix store vectors and scales

  Values:
+ `MAT_SHELLFEM_PRECISION_DOUBLE`   - 53 significant bits
. `MAT_SHELLFEM_PRECISION_SINGLE`   - 24
- `MAT_SHELLFEM_PRECISION_BFLOAT16` - 8, the range of single precision

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMSetPrecision()`, `MatShellFEMCreateInPrecision()`
E*/
typedef enum {
  MAT_SHELLFEM_PRECISION_DOUBLE,
  MAT_SHELLFEM_PRECISION_SINGLE,
  MAT_SHELLFEM_PRECISION_BFLOAT16
} MatShellFEMPrecision;

/* That of PetscScalar */
#define MAT_SHELLFEM_PRECISION_PETSC (PetscDefined(USE_REAL_SINGLE) ? MAT_SHELLFEM_PRECISION_SINGLE : MAT_SHELLFEM_PRECISION_DOUBLE)

PETSC_EXTERN const char *const MatShellFEMPrecisions[];

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
PETSC_EXTERN PetscErrorCode MatShellFEMSetPrecision(Mat, MatShellFEMPrecision);
PETSC_EXTERN PetscErrorCode MatShellFEMGetPrecision(Mat, MatShellFEMPrecision *);
PETSC_EXTERN PetscErrorCode MatShellFEMCreateInPrecision(Mat, MatShellFEMPrecision, Mat *);
