/*
  Sparse product C = A B of CSR matrices by the multi-phase hash method, in plain C.

  Phases (arXiv:2512.12036 and, before it, Nagasaka et al., ICPP 2017):
  - analysis: intermediate products (IP) of each row, IP_i = sum over k in row i of A of the length of row k of B; the
    group of the row, 0-31, 32-511, 512-8191, 8192 and more; and the columns between which the row of C lies;
  - symbolic (allocation): the distinct columns of each row of C, sorted;
  - numeric (accumulation): the values, for columns that are known. It alone is repeated when only values change.

  A row of C is accumulated in the way that is cheapest for it:
  - copy: a row of A with one entry takes one row of B as it is;
  - merge: rows of group 0 by merging the few sorted rows of B;
  - window: rows whose columns do not lie too far apart, in a bitmap (symbolic) and a dense window (numeric);
  - list: symbolic only, new columns by a bitmap and sorted, where the bitmap is small;
  - hash: all others, in a table with linear probing, at most half full, multiply-shift hashing.
  Consecutive rows of A with the same columns (the dofs of a node) are taken together in the symbolic phase, up to
  SPGEMM_ALIKE of them. The numeric phase takes a few rows together that have many columns in common (neighbours in a grid,
  too): the window then holds one lane for each row, and one vector operation updates all.

  Cost: IP multiply-adds, 2 flops each. Memory traffic at least A once, C once, and the rows of B that A names.
  Counts of intermediate products and nonzeros are 64-bit. Sums are taken in the order of A's row: repeats are bit-identical.
*/
#pragma once

#include <petscsys.h>

#define SPGEMM_ALIKE  8 /* rows of A with the same columns taken together at most */
#define SPGEMM_GROUPS 4

/* rows [0, m), columns [0, n); i[m+1] offsets into j and a. Columns sorted within a row, without repeats. */
typedef struct {
  PetscInt           m, n;
  const PetscInt    *i, *j;
  const PetscScalar *a;
} SpGEMMMatrix;

typedef struct {
  PetscInt64 products;            /* intermediate products */
  PetscInt64 rows[SPGEMM_GROUPS]; /* rows in each group */
} SpGEMMStatistics;

static inline int SpGEMMGroupOfRow(PetscInt64 products)
{
  return products < 32 ? 0 : products < 512  ? 1
                           : products < 8192 ? 2
                                             : 3;
}

/* What a row of A, and the rows after it that have the same columns, ask of B */
typedef struct {
  PetscInt64 products;
  PetscInt   first, last; /* columns of C, inclusive; first > last: none */
  PetscInt   rows;        /* how many rows, this one included */
} SpGEMMBundle;

typedef struct {
  PetscInt      nbundles;
  SpGEMMBundle *bundle;
} SpGEMMPlan;

/* PETSC_TRUE if every row's columns ascend and lie in [0, n) */
PETSC_INTERN PetscBool SpGEMMIsSorted_Host(const SpGEMMMatrix *A);

/* How many rows from this one on, at most most, have the same columns */
static inline PetscInt SpGEMMRowsAlike(const SpGEMMMatrix *A, PetscInt row, PetscInt most)
{
  const PetscInt  length = A->i[row + 1] - A->i[row];
  const PetscInt *j      = A->j + A->i[row];
  PetscInt        n      = 1;

  if (!length || A->i[row + 1] == A->i[A->m] || j[length] != j[0]) return 1; /* the next row begins elsewhere: usual, foreseen by the processor */
  while (n < most && row + n < A->m && A->i[row + n + 1] - A->i[row + n] == length) {
    const PetscInt *other = A->j + A->i[row + n];
    PetscInt        k     = 0;

    if (other[0] != j[0] || other[length - 1] != j[length - 1]) break;
    while (k < length && other[k] == j[k]) k++;
    if (k < length) break;
    n++;
  }
  return n;
}

PETSC_INTERN PetscErrorCode SpGEMMAnalysis_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, SpGEMMPlan **, SpGEMMStatistics *);
PETSC_INTERN PetscErrorCode SpGEMMPlanDestroy_Host(SpGEMMPlan **);

/* *Ci (m+1 entries) and *Cj come from PetscMalloc1(). Fails when C has more nonzeros than PetscInt holds. */
PETSC_INTERN PetscErrorCode SpGEMMSymbolic_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const SpGEMMPlan *, PetscInt **Ci, PetscInt **Cj);

/* Ca[k] for the columns Cj, which must hold every column of A B; columns that A B does not have become zero */
PETSC_INTERN PetscErrorCode SpGEMMNumeric_Host(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[]);

/*
  D = L (M R) without M R, for R with one entry a row and L with one a column at most, on average, as an aggregation and its
  transpose have it: then all products of L (M R) are no more than those of M R alone, which need not be stored.
*/
PETSC_INTERN PetscBool      SpGEMMTripleIsCheaper_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *R);
PETSC_INTERN PetscErrorCode SpGEMMTripleSymbolic_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *M, const SpGEMMMatrix *R, SpGEMMStatistics *, PetscInt **Di, PetscInt **Dj);
PETSC_INTERN PetscErrorCode SpGEMMTripleNumeric_Host(const SpGEMMMatrix *L, const SpGEMMMatrix *M, const SpGEMMMatrix *R, const PetscInt Di[], const PetscInt Dj[], PetscScalar Da[]);

/* Transpose: Ti (n+1), Tj and perm (nnz; entry k of the transpose is entry perm[k] of A) are the caller's */
PETSC_INTERN PetscErrorCode SpGEMMTranspose_Host(const SpGEMMMatrix *A, PetscInt Ti[], PetscInt Tj[], PetscInt perm[]);

/* to[k] = from[perm[k]], the values of a transpose */
PETSC_INTERN void SpGEMMPermute_Host(PetscInt n, const PetscInt perm[], const PetscScalar from[], PetscScalar to[]);
