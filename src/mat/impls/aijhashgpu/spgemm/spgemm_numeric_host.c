#include "spgemm.h"
#include "columnlist.h"
#include "hashtable.h"
#include "../../../../sys/trefoilsimd.h"

#define LANES        4         /* rows of A taken together: twice as many, in vectors of 64 bytes, are slower for scalar grids */
#define WINDOW_BYTES (1 << 26) /* largest window: a table is slower even where this is far from any cache; */
#define FEW_COLUMNS  (1 << 17) /* and the smallest one, where clearing it would cost more than the product does */
#define VECTOR_BYTES 64
#define FEW_ENTRIES  4  /* shorter rows are not tried together, on average, */
#define SCAN_WORDS   4  /* nor those so far apart that more words of a bitmap are looked at for each entry; */
#define ROWS_APART   64 /* and where rows turned out to differ, so many are taken one by one */

/* before a short loop that is to become a vector operation: unrolled first, it would be taken entry by entry */
#if defined(__GNUC__) && !defined(__clang__)
  #define KEEP_LOOP _Pragma("GCC unroll 1") _Pragma("GCC ivdep")
#else
  #define KEEP_LOOP
#endif

typedef struct {
  PetscScalar *window; /* sums, entries of them, */
  PetscScalar *factor; /* LANES for each of span columns of A, */
  uint64_t    *bits;   /* and one bit for each: all zero between rows, the former two aligned for vector operations */
  PetscInt    *column; /* those that rows taken together have */
  PetscInt     span, wantedspan;
  PetscInt64   entries, wantedentries;
  PetscInt     together; /* rows before this one are taken one by one */
  void        *memory[2];
} Work;

/* One row of A: w[c] += a b; w is zero before, and again after the values are taken out to v. Short rows are bound by the
   mispredicted ends of the inner loop, yet what avoids these was slower: products collected eight at a time and added
   afterwards 0.75 of this speed, additions by fours with those beyond the row masked 0.75 but for rows of B with 1 to 4
   entries (1.1). Fused multiply-add makes the sums wait longer for each other: 0.97. */
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

/* A row of A with one entry takes the row of B as it is */
static inline void RowCopy(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt n, PetscScalar *restrict v)
{
  const PetscScalar a = A->a[A->i[row]], *restrict b = B->a + B->i[A->j[A->i[row]]];

  for (PetscInt l = 0; l < n; l++) v[l] = a * b[l];
}

/* The span of the columns of so many rows from row on, and the first of them */
static inline PetscInt RowsSpan(const PetscInt i[], const PetscInt j[], PetscInt row, PetscInt rows, PetscInt *first)
{
  PetscInt last = -1;

  *first = PETSC_INT_MAX;
  for (PetscInt r = row; r < row + rows; r++) {
    if (i[r] == i[r + 1]) continue;
    *first = PetscMin(*first, j[i[r]]);
    last   = PetscMax(last, j[i[r + 1] - 1]);
  }
  return last < 0 ? 0 : last - *first + 1;
}

/* Entries of rows side by side, LANES for each column, zero where a row has none; returns how many columns there are */
static inline PetscInt RowsUnite(const SpGEMMMatrix *A, PetscInt row, PetscInt rows, PetscInt first, PetscInt span, const Work *work)
{
  for (PetscInt r = 0; r < rows; r++) {
    PetscInt at   = 0;
    uint64_t word = 0; /* of the bitmap, kept in a register while columns fall into it */

    for (PetscInt k = A->i[row + r]; k < A->i[row + r + 1]; k++) {
      const PetscInt c = A->j[k] - first;

      work->factor[LANES * (PetscInt64)c + r] = A->a[k];
      if (c >> 6 != at) {
        work->bits[at] |= word;
        word = 0;
        at   = c >> 6;
      }
      word |= (uint64_t)1 << (c & 63);
    }
    work->bits[at] |= word;
  }
  return BitmapScan(work->bits, 0, span - 1, work->column);
}

/* w holds LANES sums for each column of B, so that one vector operation updates all rows */
TREFOIL_SIMD static void RowsWindow(const SpGEMMMatrix *B, PetscInt n, const PetscInt *restrict column, PetscInt first, const PetscScalar *restrict factor, PetscScalar *restrict w)
{
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt brow = first + column[k], begin = B->i[brow], length = B->i[brow + 1] - begin;
    const PetscInt *restrict j    = B->j + begin;
    const PetscScalar *restrict b = B->a + begin;
    PetscScalar a[LANES];

    for (PetscInt r = 0; r < LANES; r++) a[r] = factor[LANES * (PetscInt64)column[k] + r];
    for (PetscInt l = 0; l < length; l++) {
      PetscScalar *restrict x = w + LANES * (PetscInt64)j[l];

      KEEP_LOOP
      for (PetscInt r = 0; r < LANES; r++) x[r] += a[r] * b[l];
    }
  }
}

/* The sums go to the values of the rows, and are zero again */
static inline void RowsTake(PetscInt row, PetscInt rows, const PetscInt Ci[], const PetscInt *restrict Cj, PetscScalar *restrict Ca, PetscScalar *restrict w)
{
  for (PetscInt r = 0; r < rows; r++) {
    for (PetscInt l = Ci[row + r]; l < Ci[row + r + 1]; l++) {
      PetscScalar *x = w + LANES * (PetscInt64)Cj[l] + r;

      Ca[l] = *x;
      *x    = 0;
    }
  }
}

/* The next rows together, if that saves a third of the operations or more; returns how many, 0 if it does not, -1 to ask
   for room. Zeros are added where a row lacks a column of the others: the sums are those of each row by itself. */
static PetscInt RowsTogether(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[], Work *work)
{
  const PetscInt   rows    = PetscMin(LANES, A->m - row);
  const PetscInt64 entries = (PetscInt64)A->i[row + rows] - A->i[row];
  PetscInt         first, cfirst, n;
  PetscBool        alike;

  if (entries <= FEW_ENTRIES * LANES) return 0;
  work->wantedspan    = RowsSpan(A->i, A->j, row, rows, &first);
  work->wantedentries = LANES * (PetscInt64)RowsSpan(Ci, Cj, row, rows, &cfirst);
  if (work->wantedspan / 64 > SCAN_WORDS * entries || work->wantedentries > WINDOW_BYTES / (PetscInt64)sizeof(PetscScalar)) return 0;
  if (work->wantedspan > work->span || work->wantedentries > work->entries) return -1;
  n     = RowsUnite(A, row, rows, first, work->wantedspan, work);
  alike = 3 * (PetscInt64)n <= 2 * entries ? PETSC_TRUE : PETSC_FALSE;
  if (alike) {
    RowsWindow(B, n, work->column, first, work->factor, work->window - LANES * (PetscInt64)cfirst);
    RowsTake(row, rows, Ci, Cj, Ca, work->window - LANES * (PetscInt64)cfirst);
  }
  for (PetscInt k = 0; k < n; k++)
    for (PetscInt r = 0; r < LANES; r++) work->factor[LANES * (PetscInt64)work->column[k] + r] = 0;
  return alike ? rows : 0;
}

/* Rows one by one until end, or until one needs a table; returns it */
static PetscInt RowsAlone(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt end, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[], PetscScalar *window, PetscInt64 entries)
{
  for (; row < end; row++) {
    const PetscInt n = Ci[row + 1] - Ci[row], *c = Cj + Ci[row];

    if (!n) continue;
    if (A->i[row + 1] - A->i[row] == 1) {
      RowCopy(A, B, row, n, Ca + Ci[row]);
      continue;
    }
    if ((PetscInt64)c[n - 1] - c[0] >= entries) return row;
    RowWindow(A, B, row, n, c, Ca + Ci[row], window - c[0]);
  }
  return row;
}

/* Rows from row on, until one needs a table or rows need more room; returns it */
static PetscInt RowsNumeric(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[], Work *work)
{
  while (row < A->m) {
    if (row < work->together) {
      const PetscInt end = PetscMin(work->together, A->m);

      row = RowsAlone(A, B, row, end, Ci, Cj, Ca, work->window, work->entries);
      if (row < end) return row;
    } else {
      const PetscInt rows = RowsTogether(A, B, row, Ci, Cj, Ca, work);

      if (rows < 0) return row;
      if (!rows) work->together = row + PetscMin(ROWS_APART, A->m - row);
      row += rows;
    }
  }
  return row;
}

/* Sums of 0 x, VECTOR_BYTES of them side by side, are zero then and only then */
TREFOIL_SIMD static PetscBool ValuesAreFinite(PetscInt64 n, const PetscReal x[])
{
  PetscReal  sum[VECTOR_BYTES / sizeof(PetscReal)] = {0}, total = 0;
  const int  lanes = (int)PETSC_STATIC_ARRAY_LENGTH(sum);
  PetscInt64 k     = 0;

  for (; k + lanes <= n; k += lanes)
    for (int l = 0; l < lanes; l++) sum[l] += 0 * x[k + l];
  for (; k < n; k++) total += 0 * x[k];
  for (int l = 0; l < lanes; l++) total += sum[l];
  return total == 0 ? PETSC_TRUE : PETSC_FALSE;
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

/* n zeros at an address for vector operations; memory is what is to be freed */
static PetscErrorCode CallocAligned(PetscInt64 n, void **memory, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*memory));
  PetscCall(PetscCalloc((size_t)n * sizeof(PetscScalar) + VECTOR_BYTES, memory));
  *a = (PetscScalar *)(((uintptr_t)*memory + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorkReserveWindow(Work *work, PetscInt64 entries)
{
  PetscFunctionBegin;
  if (entries <= work->entries) PetscFunctionReturn(PETSC_SUCCESS);
  work->entries = entries;
  PetscCall(CallocAligned(entries, &work->memory[0], &work->window));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorkReserveSpan(Work *work, PetscInt span)
{
  PetscFunctionBegin;
  if (span <= work->span) PetscFunctionReturn(PETSC_SUCCESS);
  work->span = span;
  PetscCall(CallocAligned(LANES * (PetscInt64)span, &work->memory[1], &work->factor));
  PetscCall(PetscFree2(work->bits, work->column));
  PetscCall(PetscCalloc2(span / 64 + 1, &work->bits, span, &work->column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before rows are first taken together: zero times an infinite entry is not zero, then all are taken one by one */
static PetscErrorCode WorkReserve(Work *work, const SpGEMMMatrix *A, const SpGEMMMatrix *B)
{
  PetscFunctionBegin;
  if (!work->span && !ValuesAreFinite((PetscInt64)B->i[B->m] * (PetscInt64)(sizeof(PetscScalar) / sizeof(PetscReal)), (const PetscReal *)B->a)) work->together = A->m;
  else {
    PetscCall(WorkReserveWindow(work, work->wantedentries + work->wantedentries / 2));
    PetscCall(WorkReserveSpan(work, (PetscInt)PetscMin((PetscInt64)work->wantedspan + work->wantedspan / 2, A->n)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMNumeric_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[])
{
  HashTable table = {0};
  Work      work  = {0};

  PetscFunctionBegin;
  PetscCall(WorkReserveWindow(&work, PetscMin(PetscMin(WINDOW_BYTES / (PetscInt64)sizeof(PetscScalar), B->n), PetscMax(FEW_COLUMNS, Ci[A->m]))));
  for (PetscInt row = 0; row < A->m;) {
    row = RowsNumeric(A, B, row, Ci, Cj, Ca, &work);
    if (row < A->m && row >= work.together) PetscCall(WorkReserve(&work, A, B));
    else if (row < A->m) {
      PetscCall(RowHash(A, B, row, &table, Ci[row + 1] - Ci[row], Cj + Ci[row], Ca + Ci[row]));
      row++;
    }
  }
  PetscCall(PetscFree(work.memory[0]));
  PetscCall(PetscFree(work.memory[1]));
  PetscCall(PetscFree2(work.bits, work.column));
  PetscCall(HashTableDestroy(&table));
  PetscFunctionReturn(PETSC_SUCCESS);
}
