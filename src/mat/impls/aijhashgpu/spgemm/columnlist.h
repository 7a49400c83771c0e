/*
  The columns of a result found so far. Growing and shrinking a large array moves its pages, not its contents.
*/
#pragma once

#include <petscsys.h>

typedef struct {
  PetscInt  *j;
  PetscCount n, allocated;
} ColumnList;

static inline PetscErrorCode ColumnListReserve(ColumnList *list, PetscCount more)
{
  PetscFunctionBegin;
  if (list->n + more > list->allocated) {
    list->allocated = PetscMax(list->n + more, list->allocated + list->allocated / 2);
    PetscCall(PetscRealloc((size_t)list->allocated * sizeof(*list->j), &list->j));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ColumnListTrim(ColumnList *list)
{
  PetscFunctionBegin;
  if (list->allocated > list->n) PetscCall(PetscRealloc((size_t)PetscMax(list->n, 1) * sizeof(*list->j), &list->j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of the bitmap from first to last in ascending order to out; clears it. Returns how many. */
static inline PetscInt BitmapScan(uint64_t *bits, PetscInt first, PetscInt last, PetscInt *out)
{
  PetscInt n = 0;

  for (PetscInt w = first / 64; w <= last / 64; w++) {
    uint64_t word = bits[w];

    bits[w] = 0;
    for (; word; word &= word - 1) out[n++] = 64 * w + __builtin_ctzll(word);
  }
  return n;
}
