#include "spgemm.h"
#include "hashtable.h"
#include "../../../../sys/trefoilsimd.h"

#define WINDOW_BYTES (1 << 20) /* a window stays in the second-level cache */

/* One row: w[c] += a b over the window, all of whose used entries the caller has set to zero */
TREFOIL_SIMD static void RowsNumericWindow1(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscScalar *restrict w)
{
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt     begin = B->i[A->j[k]], n = B->i[A->j[k] + 1] - begin;
    const PetscInt    *restrict j = B->j + begin;
    const PetscScalar *restrict b = B->a + begin, a = A->a[k];

    for (PetscInt l = 0; l < n; l++) w[j[l]] += a * b[l];
  }
}

/* Rows with the same columns: w holds so many lanes for each column, lanes beyond the rows stay zero. Inlined with a
   constant number of lanes, so that the innermost loop is one vector operation. */
static inline __attribute__((always_inline)) void RowsNumericLanes(const int lanes, const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt rows, PetscScalar *restrict w)
{
  const PetscInt length = A->i[row + 1] - A->i[row];

  for (PetscInt k = 0; k < length; k++) {
    const PetscInt     brow = A->j[A->i[row] + k], begin = B->i[brow], n = B->i[brow + 1] - begin;
    const PetscInt    *restrict j = B->j + begin;
    const PetscScalar *restrict b = B->a + begin;
    PetscScalar        a[SPGEMM_LANES];

    for (int r = 0; r < lanes; r++) a[r] = r < rows ? A->a[A->i[row + r] + k] : 0;
    for (PetscInt l = 0; l < n; l++) {
      PetscScalar *restrict v = w + (PetscCount)lanes * j[l];

      for (int r = 0; r < lanes; r++) v[r] += a[r] * b[l];
    }
  }
}

TREFOIL_SIMD static void RowsNumericWindow2(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt rows, PetscScalar *w)
{
  RowsNumericLanes(2, A, B, row, rows, w);
}

TREFOIL_SIMD static void RowsNumericWindow4(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt rows, PetscScalar *w)
{
  RowsNumericLanes(4, A, B, row, rows, w);
}

TREFOIL_SIMD static void RowsNumericWindow8(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt rows, PetscScalar *w)
{
  RowsNumericLanes(8, A, B, row, rows, w);
}

/* A row by its table: positions of the known columns, then one look-up for each product */
static PetscErrorCode RowNumericHash(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, HashTable *h, PetscInt n, const PetscInt *c, PetscScalar *v)
{
  PetscFunctionBegin;
  PetscCall(HashTableReset(h, n));
  for (PetscInt l = 0; l < n; l++) {
    const PetscInt s = HashFind(h, c[l]);

    h->key[s]      = c[l];
    h->position[s] = l;
    v[l]           = 0;
  }
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscScalar a = A->a[k];

    for (PetscInt l = B->i[A->j[k]]; l < B->i[A->j[k] + 1]; l++) {
      const PetscInt s = HashFind(h, B->j[l]);

      PetscCheck(h->key[s] == B->j[l], PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Row %" PetscInt_FMT " of the product has a nonzero in column %" PetscInt_FMT " that its symbolic phase did not: the nonzero structure of a factor has changed; use MAT_INITIAL_MATRIX", row, B->j[l]);
      v[h->position[s]] += a * B->a[l];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMNumeric_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[])
{
  const PetscInt64 most   = WINDOW_BYTES / (PetscInt64)sizeof(PetscScalar);
  HashTable        table  = {0};
  PetscScalar     *window = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(most, &window));
  for (PetscInt row = 0, alike; row < A->m; row += alike) {
    const PetscInt  n = Ci[row + 1] - Ci[row], *c = Cj + Ci[row];
    const PetscInt  span  = n ? c[n - 1] - c[0] + 1 : 0;
    PetscInt        lanes = 1;

    alike = SpGEMMRowsAlike_Host(A, row, SPGEMM_LANES);
    if (!n) continue;
    while (lanes < alike) lanes *= 2;
    while (lanes > 1 && (PetscInt64)span * lanes > most) lanes /= 2;
    alike = PetscMin(alike, lanes);
    if (span > most) {
      alike = 1;
      PetscCall(RowNumericHash(A, B, row, &table, n, c, Ca + Ci[row]));
      continue;
    }
    if (lanes == 1) {
      PetscScalar *v = Ca + Ci[row];

      for (PetscInt l = 0; l < n; l++) window[c[l] - c[0]] = 0;
      RowsNumericWindow1(A, B, row, window - c[0]);
      for (PetscInt l = 0; l < n; l++) v[l] = window[c[l] - c[0]];
    } else {
      for (PetscInt l = 0; l < n; l++)
        for (PetscInt r = 0; r < lanes; r++) window[(PetscCount)(c[l] - c[0]) * lanes + r] = 0;
      if (lanes == 2) RowsNumericWindow2(A, B, row, alike, window - (PetscCount)c[0] * lanes);
      else if (lanes == 4) RowsNumericWindow4(A, B, row, alike, window - (PetscCount)c[0] * lanes);
      else RowsNumericWindow8(A, B, row, alike, window - (PetscCount)c[0] * lanes);
      for (PetscInt r = 0; r < alike; r++) {
        PetscScalar *v = Ca + Ci[row + r];

        for (PetscInt l = 0; l < n; l++) v[l] = window[(PetscCount)(c[l] - c[0]) * lanes + r];
      }
    }
  }
  PetscCall(PetscFree(window));
  PetscCall(HashTableDestroy(&table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
