#include "spgemm.h"
#include "columnlist.h"

#define SAMPLE     256 /* rows looked at to see whether rows are alike */
#define SCAN_WORDS 4   /* words of the bitmap looked at for each column, at most: else the columns are sorted */

PetscBool SpGEMMTripleIsCheaper_Host(const SpGEMMMatrix *M, const SpGEMMMatrix *R)
{
  const PetscInt step = PetscMax(1, M->m / SAMPLE);
  PetscInt       rows = 0, alike = 0;

  if (R->i[R->m] > R->m) return PETSC_FALSE;
  for (PetscInt row = 0; row < M->m - 1; row += step, rows++) alike += SpGEMMRowsAlike(M, row, 2) > 1;
  return 4 * alike <= rows ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode SpGEMMTripleSymbolic_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *M, const SpGEMMMatrix *R, SpGEMMStatistics *statistics, PetscInt **Di, PetscInt **Dj)
{
  ColumnList       list  = {0};
  SpGEMMStatistics total = {0};
  PetscInt        *di, longest = 0;
  uint64_t        *bits;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < R->m; k++) longest = PetscMax(longest, R->i[k + 1] - R->i[k]);
  PetscCall(PetscMalloc1((PetscCount)L->m + 1, &di));
  PetscCall(PetscCalloc1((PetscCount)R->n / 64 + 1, &bits));
  di[0] = 0;
  for (PetscInt row = 0; row < L->m; row++) {
    PetscInt64 products = 0;
    PetscInt   n = 0, first = PETSC_INT_MAX, last = -1, *out;

    for (PetscInt h = L->i[row]; h < L->i[row + 1]; h++) {
      const PetscInt   mid  = L->j[h];
      const PetscCount most = (PetscCount)(M->i[mid + 1] - M->i[mid]) * longest;

      PetscCall(ColumnListReserve(&list, n + PetscMin(most, (PetscCount)R->n - n)));
      out = list.j + list.n;
      for (PetscInt k = M->i[mid]; k < M->i[mid + 1]; k++) {
        for (PetscInt l = R->i[M->j[k]]; l < R->i[M->j[k] + 1]; l++) {
          const PetscInt c    = R->j[l];
          const uint64_t word = bits[c >> 6], bit = (uint64_t)1 << (c & 63);

          products++;
          if (word & bit) continue;
          bits[c >> 6] = word | bit;
          out[n++]     = c;
          first        = PetscMin(first, c);
          last         = PetscMax(last, c);
        }
      }
    }
    total.products += products;
    total.rows[SpGEMMGroupOfRow(products)]++;
    out = list.j + list.n;
    if (n && (last - first) / 64 <= SCAN_WORDS * (PetscInt64)n) (void)BitmapScan(bits, first, last, out);
    else {
      for (PetscInt l = 0; l < n; l++) bits[out[l] >> 6] = 0;
      PetscCall(PetscSortInt(n, out));
    }
    list.n += n;
    PetscCheck(list.n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "The triple product of size %" PetscInt_FMT " x %" PetscInt_FMT " has more than %" PetscInt_FMT " nonzeros, at row %" PetscInt_FMT "; configure PETSc with --with-64-bit-indices, or use more MPI processes", L->m, R->n, PETSC_INT_MAX, row);
    di[row + 1] = (PetscInt)list.n;
  }
  PetscCall(PetscFree(bits));
  PetscCall(ColumnListTrim(&list));
  *statistics = total;
  *Di         = di;
  *Dj         = list.j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMTripleNumeric_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *M, const SpGEMMMatrix *R, const PetscInt Di[], const PetscInt Dj[], PetscScalar Da[])
{
  PetscScalar *w;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(R->n, &w));
  for (PetscInt row = 0; row < L->m; row++) {
    for (PetscInt h = L->i[row]; h < L->i[row + 1]; h++) {
      const PetscInt    mid = L->j[h];
      const PetscScalar a   = L->a[h];

      for (PetscInt k = M->i[mid]; k < M->i[mid + 1]; k++) {
        const PetscScalar am = a * M->a[k];

        for (PetscInt l = R->i[M->j[k]]; l < R->i[M->j[k] + 1]; l++) w[R->j[l]] += am * R->a[l];
      }
    }
    for (PetscInt l = Di[row]; l < Di[row + 1]; l++) {
      Da[l]    = w[Dj[l]];
      w[Dj[l]] = 0;
    }
  }
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
