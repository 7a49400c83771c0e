#include "spgemm.h"
#include "../../../../sys/trefoilsimd.h"

#define WINDOW_BYTES (1 << 20) /* a window stays in the second-level cache */

/* What a row (or a group of equal rows) of A asks of B: products, and where its columns lie */
typedef struct {
  PetscInt64 products;
  PetscInt   first, last; /* columns, inclusive; first > last: none */
} RowShape;

static inline RowShape RowGetShape(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row)
{
  RowShape s = {0, PETSC_INT_MAX, -1};

  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt begin = B->i[A->j[k]], end = B->i[A->j[k] + 1];

    if (begin == end) continue;
    s.products += end - begin;
    s.first = PetscMin(s.first, B->j[begin]);
    s.last  = PetscMax(s.last, B->j[end - 1]);
  }
  return s;
}

/* How many rows from this one on have the same columns */
static inline PetscInt RowsAlike(const SpGEMMMatrix *A, PetscInt row, PetscInt most)
{
  const PetscInt  length = A->i[row + 1] - A->i[row];
  const PetscInt *j      = A->j + A->i[row];
  PetscInt        n      = 1;

  if (!length) return 1;
  while (n < most && row + n < A->m && A->i[row + n + 1] - A->i[row + n] == length) {
    const PetscInt *other = A->j + A->i[row + n];
    PetscInt        k     = 0;

    if (other[length - 1] != j[length - 1]) break;
    while (k < length && other[k] == j[k]) k++;
    if (k < length) break;
    n++;
  }
  return n;
}

static inline PetscInt GroupOfRow(PetscInt64 products)
{
  return products < 32 ? 0 : products < 512 ? 1 : products < 8192 ? 2 : 3;
}

/* A table of columns with linear probing. Empty slots hold -1; size is a power of two. */
typedef struct {
  PetscInt     size, allocated;
  int          shift;
  PetscInt    *key;
  PetscInt    *position;
} HashTable;

static inline PetscInt HashOf(const HashTable *h, PetscInt key)
{
  return (PetscInt)((uint32_t)((uint32_t)key * 0x9E3779B1u) >> h->shift);
}

static PetscErrorCode HashTableReset(HashTable *h, PetscInt64 keys)
{
  PetscInt64 size  = 32;
  int        shift = 27;

  PetscFunctionBegin;
  while (size < 2 * keys) size *= 2, shift--;
  PetscCheck(shift > 0 && size <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "One row of the product has %" PetscInt64_FMT " nonzeros, more than a hash table holds", keys);
  h->size  = (PetscInt)size;
  h->shift = shift;
  if (h->size > h->allocated) {
    PetscCall(PetscFree2(h->key, h->position));
    PetscCall(PetscMalloc2(h->size, &h->key, h->size, &h->position));
    h->allocated = h->size;
  }
  for (PetscInt s = 0; s < h->size; s++) h->key[s] = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slot of the key, or the empty slot where it belongs */
static inline PetscInt HashFind(const HashTable *h, PetscInt key)
{
  PetscInt s = HashOf(h, key);

  while (h->key[s] != key && h->key[s] != -1) s = (s + 1) & (h->size - 1);
  return s;
}

/* The columns of C found so far; grows by half when full */
typedef struct {
  PetscInt  *j;
  PetscCount n, allocated;
} ColumnList;

static PetscErrorCode ColumnListReserve(ColumnList *list, PetscCount more)
{
  PetscFunctionBegin;
  if (list->n + more > list->allocated) {
    PetscInt  *grown;
    PetscCount allocated = PetscMax(list->n + more, list->allocated + list->allocated / 2);

    PetscCall(PetscMalloc1(allocated, &grown));
    if (list->n) PetscCall(PetscArraycpy(grown, list->j, list->n));
    PetscCall(PetscFree(list->j));
    list->j         = grown;
    list->allocated = allocated;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Union of the sorted rows of B that row names, into out; work holds as much. Returns the length. */
static inline PetscInt RowSymbolicMerge(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt *out, PetscInt *work)
{
  PetscInt *list = out, *next = work, n = 0;

  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt *b = B->j + B->i[A->j[k]], *end = B->j + B->i[A->j[k] + 1];
    PetscInt        l = 0, m = 0, *swap = list;

    if (b == end) continue;
    while (l < n && b < end) {
      const PetscInt cl = list[l], cb = *b;

      next[m++] = cl < cb ? cl : cb;
      l += cl <= cb;
      b += cb <= cl;
    }
    while (l < n) next[m++] = list[l++];
    while (b < end) next[m++] = *b++;
    list = next;
    next = swap;
    n    = m;
  }
  if (list != out)
    for (PetscInt l = 0; l < n; l++) out[l] = list[l];
  return n;
}

/* bits: one for each column of the window's words, all zero before and after */
TREFOIL_SIMD static PetscInt RowSymbolicWindow(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, const RowShape *shape, uint64_t *bits, PetscInt *out)
{
  const PetscInt base = shape->first & ~(PetscInt)63, words = (shape->last - base) / 64 + 1;
  PetscInt       n = 0;

  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    for (PetscInt l = B->i[A->j[k]]; l < B->i[A->j[k] + 1]; l++) {
      const PetscInt c = B->j[l] - base;

      bits[c >> 6] |= (uint64_t)1 << (c & 63);
    }
  }
  for (PetscInt w = 0; w < words; w++) {
    uint64_t word = bits[w];

    bits[w] = 0;
    for (; word; word &= word - 1) out[n++] = base + 64 * w + __builtin_ctzll(word);
  }
  return n;
}

static PetscErrorCode RowSymbolicHash(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, HashTable *h, PetscInt *out, PetscInt *n)
{
  PetscFunctionBegin;
  *n = 0;
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    for (PetscInt l = B->i[A->j[k]]; l < B->i[A->j[k] + 1]; l++) {
      const PetscInt c = B->j[l], s = HashFind(h, c);

      if (h->key[s] != c) {
        h->key[s]   = c;
        out[(*n)++] = c;
      }
    }
  }
  PetscCall(PetscSortInt(*n, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool SpGEMMIsSorted_Host(const SpGEMMMatrix *A)
{
  for (PetscInt row = 0; row < A->m; row++) {
    PetscInt previous = -1;

    for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
      if (A->j[k] <= previous) return PETSC_FALSE;
      previous = A->j[k];
    }
    if (previous >= A->n) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode SpGEMMSymbolic_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, SpGEMMAccumulator accumulator, SpGEMMStatistics *stat, PetscInt **Ci, PetscInt **Cj)
{
  HashTable  table = {0};
  ColumnList list  = {0};
  PetscInt  *ci, merge[32];
  uint64_t  *bits;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(stat, sizeof(*stat)));
  PetscCall(PetscMalloc1((PetscCount)A->m + 1, &ci));
  PetscCall(PetscCalloc1((PetscCount)B->n / 64 + 2, &bits));
  PetscCall(ColumnListReserve(&list, 2 * (PetscCount)(A->i[A->m] - A->i[0]) + 1));
  ci[0] = 0;
  for (PetscInt row = 0, alike; row < A->m; row += alike) {
    const RowShape shape = RowGetShape(A, B, row);
    const PetscInt span  = shape.last - shape.first + 1;
    PetscInt       n     = 0, *out;

    alike = RowsAlike(A, row, SPGEMM_LANES);
    stat->products += alike * shape.products;
    stat->rows[GroupOfRow(shape.products)] += alike;
    if (shape.products) {
      const PetscInt most = (PetscInt)PetscMin(shape.products, span);

      PetscCall(ColumnListReserve(&list, (PetscCount)most * alike));
      out = list.j + list.n;
      if (accumulator == SPGEMM_AUTO && shape.products < 32) {
        n = RowSymbolicMerge(A, B, row, out, merge);
        stat->merged += alike;
      } else if (accumulator == SPGEMM_AUTO && span / 64 <= shape.products) {
        n = RowSymbolicWindow(A, B, row, &shape, bits, out);
        stat->windowed += alike;
      } else {
        PetscCall(HashTableReset(&table, most));
        PetscCall(RowSymbolicHash(A, B, row, &table, out, &n));
        stat->hashed += alike;
      }
    }
    for (PetscInt r = 0; r < alike; r++) {
      if (r) PetscCall(PetscArraycpy(list.j + list.n, list.j + list.n - n, n));
      list.n += n;
      PetscCheck(list.n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "The product of a %" PetscInt_FMT " x %" PetscInt_FMT " and a %" PetscInt_FMT " x %" PetscInt_FMT " matrix has more than %" PetscInt_FMT " nonzeros, at row %" PetscInt_FMT "; configure PETSc with --with-64-bit-indices, or use more MPI processes", A->m, A->n, B->m, B->n, PETSC_INT_MAX, row);
      ci[row + r + 1] = (PetscInt)list.n;
    }
  }
  stat->nonzeros = list.n;
  PetscCall(PetscFree2(table.key, table.position));
  PetscCall(PetscFree(bits));
  *Ci = ci;
  *Cj = list.j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

PetscErrorCode SpGEMMNumeric_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, SpGEMMAccumulator accumulator, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[])
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

    alike = RowsAlike(A, row, SPGEMM_LANES);
    if (!n) continue;
    while (lanes < alike) lanes *= 2;
    while (lanes > 1 && (PetscInt64)span * lanes > most) lanes /= 2;
    alike = PetscMin(alike, lanes);
    if (accumulator == SPGEMM_HASH || span > most) {
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
  PetscCall(PetscFree2(table.key, table.position));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMTranspose_Host(const SpGEMMMatrix *A, PetscInt Ti[], PetscInt Tj[], PetscInt perm[])
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(Ti, (PetscCount)A->n + 1));
  for (PetscInt k = A->i[0]; k < A->i[A->m]; k++) Ti[A->j[k] + 1]++;
  for (PetscInt c = 0; c < A->n; c++) Ti[c + 1] += Ti[c];
  for (PetscInt row = 0; row < A->m; row++)
    for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const PetscInt t = Ti[A->j[k]]++;

      Tj[t]   = row;
      perm[t] = k;
    }
  for (PetscInt c = A->n; c > 0; c--) Ti[c] = Ti[c - 1];
  Ti[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
