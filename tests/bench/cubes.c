#include "cubes.h"

PetscReal CubeModulus(PetscBool uniform, PetscInt i, PetscInt j, PetscInt k)
{
  return uniform ? 1 : (PetscReal)1e-3 + ((7 * i + 11 * j + 13 * k) % 17) / (PetscReal)17;
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

PetscErrorCode CubesVecError(PetscInt n, PetscBool uniform, Vec y, PetscReal *error)
{
  PetscInt           count;
  PetscCount        *node;
  PetscScalar       *sample;
  const PetscScalar *ya;

  PetscFunctionBeginUser;
  PetscCall(CubesSample(n, &count, &node));
  PetscCall(PetscMalloc1(3 * count, &sample));
  PetscCall(VecGetArrayRead(y, &ya));
  for (PetscInt s = 0; s < 3 * count; s++) sample[s] = ya[3 * node[s / 3] + s % 3];
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCall(CubesError(n, 3, uniform, count, node, sample, error));
  PetscCall(PetscFree(sample));
  PetscCall(PetscFree(node));
  PetscFunctionReturn(PETSC_SUCCESS);
}
