#include "spgemm.h"

PetscBool SpGEMMIsSorted_Host(const SpGEMMMatrix *A)
{
  for (PetscInt row = 0; row < A->m; row++) {
    PetscInt previous = -1, ascends = 1;

    for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
      ascends &= A->j[k] > previous;
      previous = A->j[k];
    }
    if (!ascends || previous >= A->n) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static inline SpGEMMBundle RowGetShape(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt row)
{
  SpGEMMBundle s = {0, PETSC_INT_MAX, -1, 1};

  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt begin = B->i[A->j[k]], end = B->i[A->j[k] + 1];

    if (begin == end) continue;
    s.products += end - begin;
    s.first = PetscMin(s.first, B->j[begin]);
    s.last  = PetscMax(s.last, B->j[end - 1]);
  }
  return s;
}

PetscErrorCode SpGEMMAnalysis_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, SpGEMMPlan **plan, SpGEMMStatistics *statistics)
{
  SpGEMMPlan      *p;
  SpGEMMStatistics total = {0};

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  PetscCall(PetscMalloc1(A->m, &p->bundle));
  for (PetscInt row = 0; row < A->m;) {
    SpGEMMBundle *bundle = &p->bundle[p->nbundles++];

    *bundle      = RowGetShape(A, B, row);
    bundle->rows = SpGEMMRowsAlike(A, row, SPGEMM_ALIKE);
    total.products += bundle->rows * bundle->products;
    total.rows[SpGEMMGroupOfRow(bundle->products)] += bundle->rows;
    row += bundle->rows;
  }
  *plan       = p;
  *statistics = total;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMPlanDestroy_Host(SpGEMMPlan **plan)
{
  PetscFunctionBegin;
  PetscCall(PetscFree((*plan)->bundle));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpGEMMTranspose_Host(const SpGEMMMatrix *A, PetscInt Ti[], PetscInt Tj[], PetscInt perm[])
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(Ti, (PetscCount)A->n + 1));
  for (PetscInt k = 0; k < A->i[A->m]; k++) Ti[A->j[k] + 1]++;
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

void SpGEMMPermute_Host(PetscInt n, const PetscInt perm[], const PetscScalar from[], PetscScalar to[])
{
  for (PetscInt k = 0; k < n; k++) to[k] = from[perm[k]];
}
