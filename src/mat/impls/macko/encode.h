/*
  The compressed matrix of MATMACKO, and its encoding on the host, in plain C

  Row r has entries start[r] to start[r+1] - 1 of `values`.

  Delta encoding (arXiv:2511.13061): entry k has a number d_k of `bits` bits, 0 to 2^bits - 1, the zeros skipped since
  the previous entry or the start of the row: its column is the sum of d + 1 over the entries of the row up to k, minus 1.
  Where more zeros are to be skipped, a stored zero stands in between, every 2^bits positions. Nothing follows the last
  nonzero of a row; an empty row has no entry. Numbers are packed from the low bits of each byte upwards.

  Bitmap encoding: bitmap[r * words + w], words = ceil(n / 64), has bit b set where column 64 w + b has a nonzero; the values
  of these follow each other. No value is stored for anything else.

  Values: IEEE half, bfloat16, PetscScalar, or 8-bit integers times rowscale[r]; all times `factor`. Zeros of the
  input, -0 too, are not stored; NaN and infinity are kept by the floating-point types.

  Bytes for each position at density d with v bits a value: bitmap (d v + 1) / 8; delta d / (1 - z) (v + bits) / 8 expected
  on a random mask, z = (1 - d)^(2^bits).
*/
#pragma once

#include <petscsys.h>
#include <matmacko.h>

typedef struct {
  PetscInt          m, n, bits; /* bits: of a delta, 0 for a bitmap */
  MatMACKOValueType type;       /* not AUTO */
  PetscCount        nonzeros, stored;
  PetscCount       *start;
  void             *values;
  unsigned char    *deltas;
  uint64_t         *bitmap;
  PetscReal        *rowscale;
  PetscScalar       factor;
  PetscReal         maxerror, rmserror; /* of rounding: largest absolute, root mean square over nonzeros */
} MACKOMatrix;

static inline PetscInt MACKOWords(const MACKOMatrix *A)
{
  return A->n / 64 + (A->n % 64 ? 1 : 0);
}

static inline PetscInt MACKOValueBits(MatMACKOValueType type)
{
  return type == MAT_MACKO_VALUES_SCALAR ? 8 * (PetscInt)sizeof(PetscScalar) : type == MAT_MACKO_VALUES_INT8 ? 8
                                                                                                             : 16;
}

static inline PetscInt MACKODelta(const MACKOMatrix *A, PetscCount k)
{
  const PetscInt perbyte = 8 / A->bits;

  return (A->deltas[k / perbyte] >> (A->bits * (k % perbyte))) & ((1 << A->bits) - 1);
}

/* Bytes of positions, values and row offsets together */
PETSC_EXTERN PetscInt64 MACKOBytes(const MACKOMatrix *);

/* i[m+1], j sorted, a: CSR. type and encoding AUTO choose; bits 0 chooses among 1, 2, 4, 8. A->factor is 1 afterwards. */
PETSC_EXTERN PetscErrorCode MACKOEncode_Host(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar a[], MatMACKOEncoding, PetscInt bits, MatMACKOValueType, MACKOMatrix *A);

/* Row r: columns and values of its nonzeros (both may be NULL), without those that rounding made zero; returns their number */
PETSC_EXTERN PetscInt MACKODecodeRow_Host(const MACKOMatrix *, PetscInt r, PetscInt cols[], PetscScalar vals[]);

PETSC_EXTERN PetscErrorCode MACKODuplicate(const MACKOMatrix *, MACKOMatrix *);
PETSC_EXTERN PetscErrorCode MACKODestroy(MACKOMatrix *);
