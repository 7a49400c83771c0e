/*
  Products of a compressed matrix (encode.h) with vectors, in plain C: y += A x, and y += A' x.

  Accumulation is in PetscScalar, row by row in the order of columns within each of a fixed number of partial sums:
  repeats are bit-identical. Cost: the stored bytes once, x from the cache; 2 flops for each stored entry.
*/
#pragma once

#include "encode.h"

PETSC_EXTERN void MACKOMult_Host(const MACKOMatrix *, PetscBool add, const PetscScalar *x, PetscScalar *y);
PETSC_EXTERN void MACKOMultTranspose_Host(const MACKOMatrix *, PetscBool conjugate, const PetscScalar *x, PetscScalar *y); /* adds to y */

/* mult_avx512.c: PETSC_FALSE where the processor lacks the instructions, or for what it does not cover */
PETSC_INTERN PetscBool MACKOMult_AVX512(const MACKOMatrix *, PetscBool add, const PetscScalar *x, PetscScalar *y);

#if defined(PETSC_HAVE_CUDA)
typedef struct _n_MACKODevice *MACKODevice;

PETSC_INTERN PetscErrorCode MACKODeviceCreate(const MACKOMatrix *, MACKODevice *);
PETSC_INTERN PetscErrorCode MACKODeviceDestroy(MACKODevice *);
/* device pointers; PETSc's current stream */
PETSC_INTERN PetscErrorCode MACKOMult_CUDA(MACKODevice, PetscBool add, const PetscScalar *x, PetscScalar *y);
#endif
