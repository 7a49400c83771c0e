/*
  C = A B on the GPU, host arrays in and out; see spgemm.h for the maths. A first, plain version: it copies its operands to
  the device in each phase and the result back.

  Symbolic: a block of threads for each row enters the columns in a table with linear probing, at most half full, in shared
  memory for rows of up to SPGEMM_SHARED_KEYS intermediate products, else in one of a pool of tables in global memory; rows
  are sorted afterwards. Numeric: a warp for each row takes the rows of B one after another; the columns of one row of B are
  distinct, so that no atomic additions are needed and sums are taken in the order of A's row: results repeat bit by bit.

  All functions return 0 or a CUDA error code, and have finished when they return.
*/
#pragma once

#include "spgemm.h"

#define SPGEMM_SHARED_KEYS 2048

/* Ci: m+1 entries of the caller, 64-bit so that the caller can check them against PetscInt. columns: handle for the next call */
PETSC_INTERN int SpGEMMSymbolic_CUDA(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt64 Ci[], void **columns, void *stream);
/* Takes the columns out, sorted within rows, to Cj, and destroys the handle; with Cj NULL only the latter */
PETSC_INTERN int SpGEMMGetColumns_CUDA(PetscInt m, const PetscInt64 Ci[], void **columns, PetscInt Cj[], void *stream);
PETSC_INTERN int SpGEMMNumeric_CUDA(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[], void *stream);
