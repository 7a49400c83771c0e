/*
  A table of columns with linear probing, at most half full. Slots are numbered by the multiply-shift hash of the column;
  empty ones hold -1. One table serves all rows: it grows as needed, and only the part a row needs is cleared.
*/
#pragma once

#include <petscsys.h>

typedef struct {
  PetscInt  size, allocated; /* slots in use, a power of two, and there */
  int       shift;
  PetscInt *key;
  PetscInt *position; /* of the key in its row */
} HashTable;

static inline PetscInt HashOf(const HashTable *h, PetscInt key)
{
  return (PetscInt)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> h->shift);
}

/* Empty, with room for so many keys */
static inline PetscErrorCode HashTableReset(HashTable *h, PetscInt64 keys)
{
  PetscInt64 size  = 16;
  int        shift = 60;

  PetscFunctionBegin;
  while (size < 2 * keys) size *= 2, shift--;
  PetscCheck(size <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "One row of the product has up to %" PetscInt64_FMT " nonzeros, more than a hash table with indices of PetscInt holds; configure PETSc with --with-64-bit-indices", keys);
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

static inline PetscErrorCode HashTableDestroy(HashTable *h)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(h->key, h->position));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slot of the key, or the empty slot where it belongs */
static inline PetscInt HashFind(const HashTable *h, PetscInt key)
{
  PetscInt s = HashOf(h, key);

  while (h->key[s] != key && h->key[s] != -1) s = (s + 1) & (h->size - 1);
  return s;
}
