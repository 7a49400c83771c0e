#include "spgemm.h"
#include "hashtable.h"
#include "../../../../sys/trefoilsimd.h"

#define WINDOW_BYTES (1 << 20) /* a window stays in the second-level cache */

/* One row of A: w[c] += a b; w is zero in the columns of the row before, and again after the values are taken out to v */
static inline void RowWindow(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt n, const PetscInt *restrict c, PetscScalar *restrict v, PetscScalar *restrict w)
{
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt     begin = B->i[A->j[k]], length = B->i[A->j[k] + 1] - begin;
    const PetscInt    *restrict j = B->j + begin;
    const PetscScalar *restrict b = B->a + begin, a = A->a[k];

    for (PetscInt l = 0; l < length; l++) w[j[l]] += a * b[l];
  }
  for (PetscInt l = 0; l < n; l++) {
    v[l]    = w[c[l]];
    w[c[l]] = 0;
  }
}

/* lanes rows with the same columns: w holds lanes entries for each column; lanes beyond the rows stay zero. Inlined with a
   constant for lanes, so that the inner loops become vector operations. */
static inline __attribute__((always_inline)) void RowsWindow(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt rows, const PetscInt lanes, const PetscInt Ci[], const PetscInt *restrict c, PetscScalar *restrict Ca, PetscScalar *restrict w)
{
  const PetscInt length = A->i[row + 1] - A->i[row], n = Ci[row + 1] - Ci[row];

  for (PetscInt k = 0; k < length; k++) {
    const PetscInt     brow = A->j[A->i[row] + k], begin = B->i[brow], blength = B->i[brow + 1] - begin;
    const PetscInt    *restrict j = B->j + begin;
    const PetscScalar *restrict b = B->a + begin;
    PetscScalar        a[SPGEMM_LANES];

    for (PetscInt r = 0; r < lanes; r++) a[r] = r < rows ? A->a[A->i[row + r] + k] : 0;
    for (PetscInt l = 0; l < blength; l++) {
      PetscScalar *restrict x = w + (PetscCount)lanes * j[l];

      for (PetscInt r = 0; r < lanes; r++) x[r] += a[r] * b[l];
    }
  }
  for (PetscInt r = 0; r < rows; r++) {
    PetscScalar *restrict v = Ca + Ci[row + r];

    for (PetscInt l = 0; l < n; l++) v[l] = w[(PetscCount)lanes * c[l] + r];
  }
  for (PetscInt l = 0; l < n; l++)
    for (PetscInt r = 0; r < lanes; r++) w[(PetscCount)lanes * c[l] + r] = 0;
}

/* A row of A with one entry takes the row of B as it is */
static inline void RowCopy(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt n, PetscScalar *restrict v)
{
  const PetscScalar a = A->a[A->i[row]], *restrict b = B->a + B->i[A->j[A->i[row]]];

  for (PetscInt l = 0; l < n; l++) v[l] = a * b[l];
}

/* Rows from row on that can be taken without a table; returns where it stops. The window must hold most entries. */
TREFOIL_SIMD static PetscInt RowsNumeric(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[], PetscInt64 most, PetscScalar *window)
{
  while (row < A->m) {
    const PetscInt   n = Ci[row + 1] - Ci[row], *c = Cj + Ci[row];
    const PetscInt64 span = n ? (PetscInt64)c[n - 1] - c[0] + 1 : 0;
    PetscInt         alike, lanes = 1;

    if (span > most) return row;
    if (!n) {
      row++;
      continue;
    }
    if (A->i[row + 1] - A->i[row] == 1) {
      RowCopy(A, B, row, n, Ca + Ci[row]);
      row++;
      continue;
    }
    alike = SpGEMMRowsAlike(A, row, SPGEMM_LANES);
    while (lanes < alike) lanes *= 2;
    while (lanes > 1 && span * lanes > most) lanes /= 2;
    alike = PetscMin(alike, lanes);
    switch (lanes) {
    case 1:
      RowWindow(A, B, row, n, c, Ca + Ci[row], window - c[0]);
      break;
    case 2:
      RowsWindow(A, B, row, alike, 2, Ci, c, Ca, window - (PetscCount)c[0] * 2);
      break;
    case 4:
      RowsWindow(A, B, row, alike, 4, Ci, c, Ca, window - (PetscCount)c[0] * 4);
      break;
    default:
      RowsWindow(A, B, row, alike, 8, Ci, c, Ca, window - (PetscCount)c[0] * 8);
    }
    row += alike;
  }
  return row;
}

/* A row by its table: positions of the known columns, then one look-up for each product */
static PetscErrorCode RowHash(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, HashTable *h, PetscInt n, const PetscInt *c, PetscScalar *v)
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
  const PetscInt64 most   = PetscMin(WINDOW_BYTES / (PetscInt64)sizeof(PetscScalar), (PetscInt64)SPGEMM_LANES * B->n);
  HashTable        table  = {0};
  PetscScalar     *window = NULL;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(most, &window));
  for (PetscInt row = 0; row < A->m;) {
    row = RowsNumeric(A, B, row, Ci, Cj, Ca, most, window);
    if (row < A->m) {
      PetscCall(RowHash(A, B, row, &table, Ci[row + 1] - Ci[row], Cj + Ci[row], Ca + Ci[row]));
      row++;
    }
  }
  PetscCall(PetscFree(window));
  PetscCall(HashTableDestroy(&table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
