#include "spgemm.h"
#include "columnlist.h"

#define SCAN_WORDS 4 /* words of the bitmap looked at for each column, at most: else the columns are sorted */

PetscBool SpGEMMTripleIsCheaper_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *R)
{
  return L->i[L->m] <= L->n && R->i[R->m] <= R->m ? PETSC_TRUE : PETSC_FALSE;
}

/* One entry in every row: entry k is row k */
static PetscBool EveryRowHasOne(const SpGEMMMatrix *R)
{
  for (PetscInt k = 0; k <= R->m; k++)
    if (R->i[k] != k) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* A row of the result while it is found: a bitmap of all columns, zero between rows, and the columns in the order found */
typedef struct {
  uint64_t *bits;
  PetscInt  n, first, last;
  PetscInt *out;
} Found;

static inline void FoundAdd(Found *f, PetscInt c)
{
  const uint64_t word = f->bits[c >> 6], bit = (uint64_t)1 << (c & 63);

  if (word & bit) return;
  f->bits[c >> 6] = word | bit;
  f->out[f->n++]  = c;
  f->first        = PetscMin(f->first, c);
  f->last         = PetscMax(f->last, c);
}

/* Adds the columns of row mid of M R; returns the products */
static inline PetscInt FoundAddRow(Found *f, const SpGEMMMatrix *M, const SpGEMMMatrix *R, PetscInt mid, PetscBool one)
{
  PetscInt products = 0;

  if (one) {
    for (PetscInt k = M->i[mid]; k < M->i[mid + 1]; k++) FoundAdd(f, R->j[M->j[k]]);
    return M->i[mid + 1] - M->i[mid];
  }
  for (PetscInt k = M->i[mid]; k < M->i[mid + 1]; k++) {
    for (PetscInt l = R->i[M->j[k]]; l < R->i[M->j[k] + 1]; l++, products++) FoundAdd(f, R->j[l]);
  }
  return products;
}

static inline PetscErrorCode FoundSort(Found *f)
{
  PetscFunctionBegin;
  if (f->n && (f->last - f->first) / 64 <= SCAN_WORDS * (PetscInt64)f->n) (void)BitmapScan(f->bits, f->first, f->last, f->out);
  else {
    for (PetscInt l = 0; l < f->n; l++) f->bits[f->out[l] >> 6] = 0;
    PetscCall(PetscSortInt(f->n, f->out));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMTripleSymbolic_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *M, const SpGEMMMatrix *R, SpGEMMStatistics *statistics, PetscInt **Di, PetscInt **Dj)
{
  ColumnList       list  = {0};
  SpGEMMStatistics total = {0};
  PetscInt        *di, longest = 0;
  const PetscBool  one   = EveryRowHasOne(R);
  Found            found = {0};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < R->m; k++) longest = PetscMax(longest, R->i[k + 1] - R->i[k]);
  PetscCall(PetscMalloc1((PetscCount)L->m + 1, &di));
  PetscCall(PetscCalloc1((PetscCount)R->n / 64 + 1, &found.bits));
  di[0] = 0;
  for (PetscInt row = 0; row < L->m; row++) {
    PetscInt64 products = 0;

    found.n     = 0;
    found.first = PETSC_INT_MAX;
    found.last  = -1;
    for (PetscInt h = L->i[row]; h < L->i[row + 1]; h++) {
      const PetscInt   mid  = L->j[h];
      const PetscCount most = (PetscCount)(M->i[mid + 1] - M->i[mid]) * longest;

      PetscCall(ColumnListReserve(&list, found.n + PetscMin(most, (PetscCount)R->n - found.n)));
      found.out = list.j + list.n;
      products += FoundAddRow(&found, M, R, mid, one);
    }
    total.products += products;
    total.rows[SpGEMMGroupOfRow(products)]++;
    PetscCall(FoundSort(&found));
    list.n += found.n;
    PetscCheck(list.n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "The triple product of size %" PetscInt_FMT " x %" PetscInt_FMT " has more than %" PetscInt_FMT " nonzeros, at row %" PetscInt_FMT "; configure PETSc with --with-64-bit-indices, or use more MPI processes", L->m, R->n, PETSC_INT_MAX, row);
    di[row + 1] = (PetscInt)list.n;
  }
  PetscCall(PetscFree(found.bits));
  PetscCall(ColumnListTrim(&list));
  *statistics = total;
  *Di         = di;
  *Dj         = list.j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w += a (row mid of M) R */
static inline void AddRow(PetscScalar a, const SpGEMMMatrix *M, const SpGEMMMatrix *R, PetscInt mid, PetscBool one, PetscScalar *restrict w)
{
  if (one) {
    for (PetscInt k = M->i[mid]; k < M->i[mid + 1]; k++) w[R->j[M->j[k]]] += a * M->a[k] * R->a[M->j[k]];
    return;
  }
  for (PetscInt k = M->i[mid]; k < M->i[mid + 1]; k++) {
    const PetscScalar am = a * M->a[k];

    for (PetscInt l = R->i[M->j[k]]; l < R->i[M->j[k] + 1]; l++) w[R->j[l]] += am * R->a[l];
  }
}

PetscErrorCode SpGEMMTripleNumeric_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *M, const SpGEMMMatrix *R, const PetscInt Di[], const PetscInt Dj[], PetscScalar Da[])
{
  const PetscBool one = EveryRowHasOne(R);
  PetscScalar    *w;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(R->n, &w));
  for (PetscInt row = 0; row < L->m; row++) {
    for (PetscInt h = L->i[row]; h < L->i[row + 1]; h++) AddRow(L->a[h], M, R, L->j[h], one, w);
    for (PetscInt l = Di[row]; l < Di[row + 1]; l++) {
      Da[l]    = w[Dj[l]];
      w[Dj[l]] = 0;
    }
  }
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
