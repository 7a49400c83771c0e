/*
  The element of many tests and benchmarks, and numbers that are the same on any number of processes
*/
#pragma once

#include <petscsys.h>

/* Unit cube, lambda = mu = 1 (dof 3), or the Laplacian (dof 1); K is [8 dof][8 dof], nodes in binary order */
static inline void CubeMatrix(PetscInt dof, PetscScalar *K)
{
  const PetscReal g = 1 / PetscSqrtReal(3.); /* 2 x 2 x 2 Gauss points */

  for (PetscInt i = 0; i < 64 * dof * dof; i++) K[i] = 0;
  for (PetscInt q = 0; q < 8; q++) {
    PetscReal D[8][3];

    for (PetscInt a = 0; a < 8; a++)
      for (PetscInt c = 0; c < 3; c++) {
        D[a][c] = (a >> c) & 1 ? 1 : -1;
        for (PetscInt d = 0; d < 3; d++) D[a][c] *= d == c ? 1 : (1 + ((a >> d) & 1 ? 1 : -1) * ((q >> d) & 1 ? g : -g)) / 2;
      }
    for (PetscInt a = 0; a < 8; a++)
      for (PetscInt b = 0; b < 8; b++)
        for (PetscInt c = 0; c < dof; c++)
          for (PetscInt d = 0; d < dof; d++) K[(a * dof + c) * 8 * dof + b * dof + d] += (D[a][c] * D[b][d] * (dof > 1) + D[a][d] * D[b][c] * (dof > 1) + (c == d ? D[a][0] * D[b][0] + D[a][1] * D[b][1] + D[a][2] * D[b][2] : 0)) / 8;
  }
}

/* Entry k of a pseudorandom sequence between -1 and 1: the finalizer of splitmix64 (Steele, Lea, Flood 2014), to 53 bits */
static inline PetscReal CubesEntry(PetscCount k)
{
  uint64_t h = ((uint64_t)k + 1) * 0x9e3779b97f4a7c15u;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  h ^= h >> 31;
  return (PetscReal)((double)(h >> 11) / 4503599627370496. - 1);
}
