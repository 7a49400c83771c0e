#include "spgemm.h"
#include "hashtable.h"
#include "../../../../sys/trefoilsimd.h"

#define WINDOW_BYTES (1 << 20) /* a window stays in the second-level cache */
#define VECTOR_BYTES 64

/* before a short loop that is to become a vector operation: unrolled first, it would be taken entry by entry */
#if defined(__GNUC__) && !defined(__clang__)
  #define KEEP_LOOP _Pragma("GCC unroll 1") _Pragma("GCC ivdep")
#else
  #define KEEP_LOOP
#endif

/* One row of A: w[c] += a b; w is zero before, and again after the values are taken out to v */
static inline void RowWindow(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt n, const PetscInt *restrict c, PetscScalar *restrict v, PetscScalar *restrict w)
{
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt begin = B->i[A->j[k]], length = B->i[A->j[k] + 1] - begin;
    const PetscInt *restrict j    = B->j + begin;
    const PetscScalar *restrict b = B->a + begin, a = A->a[k];

    for (PetscInt l = 0; l < length; l++) w[j[l]] += a * b[l];
  }
  for (PetscInt l = 0; l < n; l++) {
    v[l]    = w[c[l]];
    w[c[l]] = 0;
  }
}

/* lanes rows with the same columns: w holds lanes sums for each column of the result, in its order, so that it stays in the
   first-level cache; place tells where a column is in that order. Lanes beyond the rows stay zero. Inlined with a constant
   for lanes, so that the inner loops become vector operations. */
static inline __attribute__((always_inline)) void RowsTogether(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt rows, const PetscInt lanes, const PetscInt Ci[], const PetscInt *restrict c, PetscScalar *restrict Ca, PetscInt *restrict place, PetscScalar *restrict w)
{
  const PetscInt length = A->i[row + 1] - A->i[row], n = Ci[row + 1] - Ci[row];

  for (PetscInt l = 0; l < n; l++) place[c[l]] = l;
  for (PetscInt l = 0; l < n * lanes; l++) w[l] = 0;
  for (PetscInt k = 0; k < length; k++) {
    const PetscInt brow = A->j[A->i[row] + k], begin = B->i[brow], blength = B->i[brow + 1] - begin;
    const PetscInt *restrict j    = B->j + begin;
    const PetscScalar *restrict b = B->a + begin;
    PetscScalar a[SPGEMM_LANES];

    for (PetscInt r = 0; r < lanes; r++) a[r] = r < rows ? A->a[A->i[row + r] + k] : 0;
    for (PetscInt l = 0; l < blength; l++) {
      PetscScalar *restrict x = w + lanes * place[j[l]];

      KEEP_LOOP
      for (PetscInt r = 0; r < lanes; r++) x[r] += a[r] * b[l];
    }
  }
  for (PetscInt r = 0; r < rows; r++) {
    PetscScalar *restrict v = Ca + Ci[row + r];

    for (PetscInt l = 0; l < n; l++) v[l] = w[lanes * l + r];
  }
}

/* A row of A with one entry takes the row of B as it is */
static inline void RowCopy(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt n, PetscScalar *restrict v)
{
  const PetscScalar a = A->a[A->i[row]], *restrict b = B->a + B->i[A->j[A->i[row]]];

  for (PetscInt l = 0; l < n; l++) v[l] = a * b[l];
}

typedef struct {
  PetscScalar *window; /* of so many entries, zero between rows */
  PetscInt64   entries;
  PetscInt    *place; /* one for each column of B */
  PetscScalar *sums;  /* aligned for vector operations */
  void        *memory;
  PetscInt64   allocated; /* sums */
} Work;

/* Rows from row on, until one needs a table or more room for sums; returns it */
TREFOIL_SIMD static PetscInt RowsNumeric(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[], const Work *work)
{
  while (row < A->m) {
    const PetscInt n = Ci[row + 1] - Ci[row], *c = Cj + Ci[row];
    PetscInt       alike;

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
    if (alike == 1) {
      if ((PetscInt64)c[n - 1] - c[0] >= work->entries) return row;
      RowWindow(A, B, row, n, c, Ca + Ci[row], work->window - c[0]);
    } else {
      if ((PetscInt64)n * SPGEMM_LANES > work->allocated) return row;
      if (alike == 2)
        RowsTogether(A, B, row, 2, 2, Ci, c, Ca, work->place, work->sums);
      else if (alike <= 4)
        RowsTogether(A, B, row, alike, 4, Ci, c, Ca, work->place, work->sums);
      else
        RowsTogether(A, B, row, alike, 8, Ci, c, Ca, work->place, work->sums);
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

static PetscErrorCode WorkReserve(Work *work, PetscInt64 sums)
{
  PetscFunctionBegin;
  work->allocated = 2 * sums;
  PetscCall(PetscFree(work->memory));
  PetscCall(PetscMalloc((size_t)work->allocated * sizeof(PetscScalar) + VECTOR_BYTES, &work->memory));
  work->sums = (PetscScalar *)(((uintptr_t)work->memory + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMNumeric_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[])
{
  HashTable table = {0};
  Work      work  = {0};

  PetscFunctionBegin;
  work.entries = PetscMin(WINDOW_BYTES / (PetscInt64)sizeof(PetscScalar), (PetscInt64)B->n);
  PetscCall(PetscCalloc1(work.entries, &work.window));
  PetscCall(PetscMalloc1(B->n, &work.place));
  PetscCall(WorkReserve(&work, 1024));
  for (PetscInt row = 0; row < A->m;) {
    row = RowsNumeric(A, B, row, Ci, Cj, Ca, &work);
    if (row < A->m) {
      const PetscInt n = Ci[row + 1] - Ci[row];

      if (SpGEMMRowsAlike(A, row, 2) > 1)
        PetscCall(WorkReserve(&work, (PetscInt64)n * SPGEMM_LANES));
      else {
        PetscCall(RowHash(A, B, row, &table, n, Cj + Ci[row], Ca + Ci[row]));
        row++;
      }
    }
  }
  PetscCall(PetscFree(work.window));
  PetscCall(PetscFree(work.place));
  PetscCall(PetscFree(work.memory));
  PetscCall(HashTableDestroy(&table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
