/*
  MATMACKO: compressed storage for matrices of 10 to 95 % sparsity, as layers of pruned language models
*/
#pragma once

#include <petscmat.h>

#define MATMACKO    "macko"
#define MATSEQMACKO "seqmacko"
#define MATMPIMACKO "mpimacko"

/*E
  MatMACKOEncoding - how `MATMACKO` stores where nonzeros are

  Values:
+ `MAT_MACKO_ENCODING_AUTO`   - whichever takes fewest bytes
. `MAT_MACKO_ENCODING_DELTA`  - distances to the previous nonzero, in 1, 2, 4 or 8 bits, padded with stored zeros
- `MAT_MACKO_ENCODING_BITMAP` - one bit for each position

  Level: beginner

.seealso: `MATMACKO`, `MatMACKOSetEncoding()`
E*/
typedef enum {
  MAT_MACKO_ENCODING_AUTO,
  MAT_MACKO_ENCODING_DELTA,
  MAT_MACKO_ENCODING_BITMAP
} MatMACKOEncoding;

/*E
  MatMACKOValueType - how `MATMACKO` stores values

  Values:
+ `MAT_MACKO_VALUES_AUTO`   - the shortest of fp16, bf16 and scalar that holds every value exactly
. `MAT_MACKO_VALUES_FP16`   - 16 bits, 11 of them significant
. `MAT_MACKO_VALUES_BF16`   - 16 bits, 8 of them significant, the range of single precision
. `MAT_MACKO_VALUES_INT8`   - 8 bits and one scale for each row
- `MAT_MACKO_VALUES_SCALAR` - `PetscScalar`

  Level: beginner

.seealso: `MATMACKO`, `MatMACKOSetValueType()`
E*/
typedef enum {
  MAT_MACKO_VALUES_AUTO,
  MAT_MACKO_VALUES_FP16,
  MAT_MACKO_VALUES_BF16,
  MAT_MACKO_VALUES_INT8,
  MAT_MACKO_VALUES_SCALAR
} MatMACKOValueType;

PETSC_EXTERN const char *const MatMACKOEncodings[];
PETSC_EXTERN const char *const MatMACKOValueTypes[];

PETSC_EXTERN PetscErrorCode MatMACKOSetEncoding(Mat, MatMACKOEncoding, PetscInt);
PETSC_EXTERN PetscErrorCode MatMACKOSetValueType(Mat, MatMACKOValueType);
PETSC_EXTERN PetscErrorCode MatMACKOGetStorage(Mat, PetscInt64 *, PetscReal *);
