/*
  MATAIJHASHGPU: sparse matrices in compressed rows whose products are computed by the multi-phase hash method.
*/
#pragma once

#include <petscmat.h>

#define MATAIJHASHGPU    "aijhashgpu"
#define MATSEQAIJHASHGPU "seqaijhashgpu"
#define MATMPIAIJHASHGPU "mpiaijhashgpu"

#define MAT_AIJHASHGPU_GROUPS 4

/*S
  MatAIJHashGPUStatistics - What the last product that made a matrix took, summed over its sparse products

  Level: advanced

  Note:
  The groups hold rows with 0-31, 32-511, 512-8191, and 8192 or more intermediate products.

.seealso: `MATAIJHASHGPU`, `MatAIJHashGPUGetProductStatistics()`
S*/
typedef struct {
  PetscInt64 products;                    /* intermediate products, that is multiplications */
  PetscInt64 nonzeros;                    /* of the results */
  PetscInt64 rows[MAT_AIJHASHGPU_GROUPS]; /* rows in each group */
} MatAIJHashGPUStatistics;

PETSC_EXTERN PetscErrorCode MatCreateSeqAIJHashGPU(MPI_Comm, PetscInt, PetscInt, PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatCreateAIJHashGPU(MPI_Comm, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, const PetscInt[], PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatAIJHashGPUGetProductStatistics(Mat, MatAIJHashGPUStatistics *);
