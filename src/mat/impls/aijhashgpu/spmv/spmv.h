/*
  Sparse matrix-vector products of CSR matrices: a copy of the matrix on the GPU and the kernels that use it.

  y = A x + z; A has m rows, n columns, nnz entries. One team of 2 to 32 lanes computes a row, its width chosen from the
  mean row length; sums are taken in the same order in each run, so results repeat bit by bit.
  Traffic: 8 + 4 bytes for each entry (double, 32-bit index), 4 for each row, x and y once, x more often where rows are
  irregular; 2 nnz flops.

  The product with the transpose uses an explicit transpose, built on the device at its first use and kept: no atomics.
  All functions but the queries run on the given stream (a cudaStream_t) and do not wait for it unless stated.
  They return 0, or a CUDA error code.
*/
#pragma once

#include <petscsys.h>

typedef struct SpMVDevice SpMVDevice;

/* How many GPUs the machine has; 0 without a driver */
PETSC_INTERN int         SpMVDeviceCount(void);
PETSC_INTERN const char *SpMVErrorString(int);

/* Uploads the CSR structure, waits for it; values are not set */
PETSC_INTERN int SpMVDeviceCreate(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], void *stream, SpMVDevice **);
PETSC_INTERN int SpMVDeviceDestroy(SpMVDevice **);
/* Uploads the values (host array), waits for it */
PETSC_INTERN int SpMVDeviceSetValues(SpMVDevice *, const PetscScalar a[], void *stream);
/* The arrays on the device */
PETSC_INTERN void SpMVDeviceGetCSR(const SpMVDevice *, const PetscInt **i, const PetscInt **j, const PetscScalar **a);

/* y = A x, or y = A x + z when z is not NULL (z may be y); all arrays on the device */
PETSC_INTERN int SpMVMult_CUDA(const SpMVDevice *, const PetscScalar *x, const PetscScalar *z, PetscScalar *y, void *stream);
/* y = A^T x + z likewise, with the conjugate transpose if hermitian */
PETSC_INTERN int SpMVMultTranspose_CUDA(SpMVDevice *, int hermitian, const PetscScalar *x, const PetscScalar *z, PetscScalar *y, void *stream);
/* d[r] = a_rr, 0 where there is none; min(m, n) entries */
PETSC_INTERN int SpMVGetDiagonal_CUDA(const SpMVDevice *, PetscScalar *d, void *stream);
