/*
  A lattice of n^3 cubes of one isotropic material, or of diffusion, with one modulus a cube: the problem of the benchmarks
  of MATSHELLFEM, by formulas, so that any entry of a product can be computed without the others.
*/
#pragma once

#include "bench.h"

/* Unit cube, lambda = mu = 1 (dof 3), or the Laplacian (dof 1); K is [8 dof][8 dof], nodes in binary order */
PETSC_INTERN void CubeMatrix(PetscInt dof, PetscScalar *K);

/* Of cube (i, j, k); uniform: always 1 */
PETSC_INTERN PetscReal CubeModulus(PetscBool uniform, PetscInt i, PetscInt j, PetscInt k);

/* Entry `dof` of the vector that is multiplied: pseudorandom, between -1 and 1 */
PETSC_INTERN PetscReal CubesEntry(PetscCount dof);

/* Nodes whose products are compared, corners among them: node[s], ascending, from PetscMalloc() */
PETSC_INTERN PetscErrorCode CubesSample(PetscInt n, PetscInt *count, PetscCount **node);

/* || y - A x || / || A x || over the sampled nodes; y is [count][dof] */
PETSC_INTERN PetscErrorCode CubesError(PetscInt n, PetscInt dof, PetscBool uniform, PetscInt count, const PetscCount *node, const PetscScalar *y, PetscReal *error);

/*
  Peers that assemble, with modulus 1, on the GPU: aijcusparse of PETSc, cuSPARSE with CSR and BSR(3). The matrix is written
  directly in its final form; real scalars in double only.
*/
PETSC_INTERN PetscErrorCode CubesBenchAssembled(Bench *b, PetscInt n);
