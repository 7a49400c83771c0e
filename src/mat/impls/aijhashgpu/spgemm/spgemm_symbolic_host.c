#include "spgemm.h"
#include "hashtable.h"
#include "columnlist.h"

#define MERGE_PRODUCTS 32        /* a row merged has fewer, */
#define MERGE_ROWS     4         /* and takes no more rows of B than this */
#define SCAN_WORDS     4         /* words of the bitmap looked at for each product, at most: else the columns are listed and sorted */
#define LIST_COLUMNS   (1 << 17) /* a bitmap of so many columns stays in the first-level cache: else a table */

/* Union of two sorted lists; returns its length */
static inline PetscInt Merge(const PetscInt *a, const PetscInt *aend, const PetscInt *b, const PetscInt *bend, PetscInt *out)
{
  PetscInt n = 0;

  while (a < aend && b < bend) {
    const PetscInt ca = *a, cb = *b;

    out[n++] = ca < cb ? ca : cb;
    a += ca <= cb;
    b += cb <= ca;
  }
  while (a < aend) out[n++] = *a++;
  while (b < bend) out[n++] = *b++;
  return n;
}

/* Union of the sorted rows of B that row names, at most MERGE_ROWS, into out; work holds as much. Returns the length. */
static inline PetscInt RowMerge(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt *out, PetscInt *work)
{
  const PetscInt  begin = A->i[row], rows = A->i[row + 1] - begin;
  const PetscInt *list = B->j + B->i[A->j[begin]], *end = B->j + B->i[A->j[begin] + 1];

  for (PetscInt k = 1; k < rows; k++) {
    const PetscInt *b = B->j + B->i[A->j[begin + k]], *bend = B->j + B->i[A->j[begin + k] + 1];
    PetscInt       *result = (rows - k) & 1 ? out : work; /* so that the last merge goes to out */

    end  = result + Merge(list, end, b, bend, result);
    list = result;
  }
  if (rows == 1)
    for (PetscInt l = 0; list + l < end; l++) out[l] = list[l];
  return (PetscInt)(end - list);
}

/* bits: one for each column of B, all zero before and after */
static inline PetscInt RowWindow(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, PetscInt first, PetscInt last, uint64_t *bits, PetscInt *out)
{
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    for (PetscInt l = B->i[A->j[k]]; l < B->i[A->j[k] + 1]; l++) bits[B->j[l] >> 6] |= (uint64_t)1 << (B->j[l] & 63);
  }
  return BitmapScan(bits, first, last, out);
}

/* bits as before; columns are listed when they are new */
static inline PetscErrorCode RowList(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, uint64_t *bits, PetscInt *out, PetscInt *n)
{
  PetscInt found = 0;

  PetscFunctionBegin;
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    for (PetscInt l = B->i[A->j[k]]; l < B->i[A->j[k] + 1]; l++) {
      const PetscInt c    = B->j[l];
      const uint64_t word = bits[c >> 6], bit = (uint64_t)1 << (c & 63);

      if (!(word & bit)) {
        out[found++] = c;
        bits[c >> 6] = word | bit;
      }
    }
  }
  for (PetscInt l = 0; l < found; l++) bits[out[l] >> 6] = 0;
  PetscCall(PetscSortInt(found, out));
  *n = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowHash(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row, HashTable *h, PetscInt *out, PetscInt *n)
{
  PetscInt found = 0;

  PetscFunctionBegin;
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    for (PetscInt l = B->i[A->j[k]]; l < B->i[A->j[k] + 1]; l++) {
      const PetscInt c = B->j[l], s = HashFind(h, c);

      if (h->key[s] != c) {
        h->key[s]    = c;
        out[found++] = c;
      }
    }
  }
  PetscCall(PetscSortInt(found, out));
  *n = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMSymbolic_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const SpGEMMPlan *plan, PetscInt **Ci, PetscInt **Cj)
{
  HashTable  table = {0};
  ColumnList list  = {0};
  PetscInt  *ci, merge[MERGE_PRODUCTS], row = 0;
  uint64_t  *bits;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((PetscCount)A->m + 1, &ci));
  PetscCall(PetscCalloc1((PetscCount)B->n / 64 + 2, &bits));
  PetscCall(ColumnListReserve(&list, 2 * (PetscCount)A->i[A->m] + 1));
  ci[0] = 0;
  for (PetscInt b = 0; b < plan->nbundles; b++) {
    const SpGEMMBundle *bundle = &plan->bundle[b];
    PetscInt            n      = 0;

    if (bundle->products) {
      const PetscInt64 span = (PetscInt64)bundle->last - bundle->first + 1;
      const PetscInt64 most = PetscMin(bundle->products, span);
      PetscInt        *out;

      PetscCall(ColumnListReserve(&list, (PetscCount)most * bundle->rows));
      out = list.j + list.n;
      if (A->i[row + 1] - A->i[row] <= MERGE_ROWS && bundle->products < MERGE_PRODUCTS) n = RowMerge(A, B, row, out, merge);
      else if (span / 64 <= SCAN_WORDS * bundle->products) n = RowWindow(A, B, row, bundle->first, bundle->last, bits, out);
      else if (B->n <= LIST_COLUMNS) PetscCall(RowList(A, B, row, bits, out, &n));
      else {
        PetscCall(HashTableReset(&table, most));
        PetscCall(RowHash(A, B, row, &table, out, &n));
      }
    }
    for (PetscInt r = 0; r < bundle->rows; r++, row++) {
      if (r && n) PetscCall(PetscArraycpy(list.j + list.n, list.j + list.n - n, n));
      list.n += n;
      PetscCheck(list.n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "The product of a %" PetscInt_FMT " x %" PetscInt_FMT " and a %" PetscInt_FMT " x %" PetscInt_FMT " matrix has more than %" PetscInt_FMT " nonzeros, at row %" PetscInt_FMT "; configure PETSc with --with-64-bit-indices, or use more MPI processes", A->m, A->n, B->m, B->n, PETSC_INT_MAX, row);
      ci[row + 1] = (PetscInt)list.n;
    }
  }
  PetscCall(HashTableDestroy(&table));
  PetscCall(PetscFree(bits));
  PetscCall(ColumnListTrim(&list));
  *Ci = ci;
  *Cj = list.j;
  PetscFunctionReturn(PETSC_SUCCESS);
}
