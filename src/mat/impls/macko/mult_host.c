#include <math.h>
#include <string.h>
#include "mult.h"
#include "values.h"

static inline PetscScalar RowDelta(const MACKOMatrix *A, PetscInt r, const PetscScalar *x)
{
  PetscScalar sum    = 0;
  PetscInt    column = -1;

  for (PetscCount k = A->start[r]; k < A->start[r + 1]; k++) {
    const PetscScalar v = MACKOValue(A, r, k);

    column += MACKODelta(A, k) + 1;
    sum += v != (PetscScalar)0. ? v * x[column] : 0; /* padding ignores what x holds there */
  }
  return sum;
}

static inline PetscScalar RowBitmap(const MACKOMatrix *A, PetscInt r, const PetscScalar *x)
{
  const PetscInt words = MACKOWords(A);
  PetscScalar    sum   = 0;
  PetscCount     k     = A->start[r];

  for (PetscInt w = 0; w < words; w++)
    for (uint64_t word = A->bitmap[(size_t)r * words + w]; word; word &= word - 1) sum += MACKOValue(A, r, k++) * x[64 * w + __builtin_ctzll(word)];
  return sum;
}

void MACKOMult_Host(const MACKOMatrix *A, PetscBool add, const PetscScalar *x, PetscScalar *y)
{
  if (MACKOMult_AVX512(A, add, x, y)) return;
  for (PetscInt r = 0; r < A->m; r++) {
    const PetscScalar sum = A->factor * (A->bits ? RowDelta(A, r, x) : RowBitmap(A, r, x));

    y[r] = add ? y[r] + sum : sum;
  }
}

void MACKOMultTranspose_Host(const MACKOMatrix *A, PetscBool conjugate, const PetscScalar *x, PetscScalar *y)
{
  for (PetscInt r = 0; r < A->m; r++) {
    PetscCount k = A->start[r];

    if (A->bits) {
      PetscInt column = -1;

      for (; k < A->start[r + 1]; k++) {
        const PetscScalar v = A->factor * MACKOValue(A, r, k);

        column += MACKODelta(A, k) + 1;
        if (v != (PetscScalar)0.) y[column] += (conjugate ? PetscConj(v) : v) * x[r];
      }
    } else {
      for (PetscInt w = 0; w < MACKOWords(A); w++)
        for (uint64_t word = A->bitmap[(size_t)r * MACKOWords(A) + w]; word; word &= word - 1) {
          const PetscScalar v = A->factor * MACKOValue(A, r, k++);

          y[64 * w + __builtin_ctzll(word)] += (conjugate ? PetscConj(v) : v) * x[r];
        }
    }
  }
}
