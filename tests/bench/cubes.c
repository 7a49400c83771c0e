#include "cubes.h"

void CubeMatrix(PetscInt dof, PetscScalar *K)
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

PetscReal CubeModulus(PetscBool uniform, PetscInt i, PetscInt j, PetscInt k)
{
  return uniform ? 1 : (PetscReal)1e-3 + ((7 * i + 11 * j + 13 * k) % 17) / (PetscReal)17;
}

/* The finalizer of the generator splitmix64 (Steele, Lea, Flood 2014), to 53 bits */
PetscReal CubesEntry(PetscCount dof)
{
  uint64_t h = ((uint64_t)dof + 1) * 0x9e3779b97f4a7c15u;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  h ^= h >> 31;
  return (PetscReal)((double)(h >> 11) / 4503599627370496. - 1);
}

PetscErrorCode CubesSample(PetscInt n, PetscInt *count, PetscCount **node)
{
  const PetscCount all = (PetscCount)(n + 1) * (n + 1) * (n + 1);

  PetscFunctionBeginUser;
  *count = (PetscInt)PetscMin(all, 2000);
  PetscCall(PetscMalloc1(*count, node));
  for (PetscInt s = 0; s < *count; s++) (*node)[s] = *count < 2 ? 0 : (PetscCount)((double)s * (double)(all - 1) / (*count - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of one node times the vector */
static void NodeProduct(PetscInt n, PetscInt dof, PetscBool uniform, const PetscScalar *K, PetscCount node, PetscScalar y[3])
{
  const PetscInt m = n + 1, i = (PetscInt)(node % m), j = (PetscInt)(node / m % m), k = (PetscInt)(node / m / m);

  for (PetscInt c = 0; c < dof; c++) y[c] = 0;
  for (PetscInt a = 0; a < 8; a++) { /* the node is corner a of the cube */
    const PetscInt  ei = i - (a & 1), ej = j - ((a >> 1) & 1), ek = k - (a >> 2);
    const PetscReal E = CubeModulus(uniform, ei, ej, ek);

    if (PetscMin(ei, PetscMin(ej, ek)) < 0 || PetscMax(ei, PetscMax(ej, ek)) >= n) continue;
    for (PetscInt b = 0; b < 8; b++) {
      const PetscCount other = ((PetscCount)(ek + (b >> 2)) * m + ej + ((b >> 1) & 1)) * m + ei + (b & 1);

      for (PetscInt c = 0; c < dof; c++)
        for (PetscInt d = 0; d < dof; d++) y[c] += E * K[(a * dof + c) * 8 * dof + b * dof + d] * CubesEntry(other * dof + d);
    }
  }
}

PetscErrorCode CubesError(PetscInt n, PetscInt dof, PetscBool uniform, PetscInt count, const PetscCount *node, const PetscScalar *y, PetscReal *error)
{
  PetscScalar K[576], exact[3];
  PetscReal   difference = 0, norm = 0;

  PetscFunctionBeginUser;
  CubeMatrix(dof, K);
  for (PetscInt s = 0; s < count; s++) {
    NodeProduct(n, dof, uniform, K, node[s], exact);
    for (PetscInt c = 0; c < dof; c++) {
      difference += PetscSqr(PetscAbsScalar(y[s * dof + c] - exact[c]));
      norm += PetscSqr(PetscAbsScalar(exact[c]));
    }
  }
  *error = PetscSqrtReal(difference / norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}
