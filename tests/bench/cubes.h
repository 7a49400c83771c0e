/*
  A lattice of n^3 cubes of one isotropic material, or of diffusion, with one modulus a cube: the problem of the benchmarks
  of MATSHELLFEM, by formulas, so that any entry of a product can be computed without the others.
*/
#pragma once

#include "bench.h"
#include "../cube.h"

/* Of cube (i, j, k); uniform: always 1 */
PETSC_INTERN PetscReal CubeModulus(PetscBool uniform, PetscInt i, PetscInt j, PetscInt k);

/* Nodes whose products are compared, corners among them: node[s], ascending, from PetscMalloc() */
PETSC_INTERN PetscErrorCode CubesSample(PetscInt n, PetscInt *count, PetscCount **node);

/* || y - A x || / || A x || over the sampled nodes; y is [count][dof] */
PETSC_INTERN PetscErrorCode CubesError(PetscInt n, PetscInt dof, PetscBool uniform, PetscInt count, const PetscCount *node, const PetscScalar *y, PetscReal *error);

/* The same of a vector with 3 dofs a node, on one process */
PETSC_INTERN PetscErrorCode CubesVecError(PetscInt n, PetscBool uniform, Vec y, PetscReal *error);

/*
  Peers that assemble, with modulus 1, on the GPU: aijcusparse of PETSc, cuSPARSE with CSR and BSR(3). The matrix is written
  directly in its final form; real scalars in double only.
*/
PETSC_INTERN PetscErrorCode CubesBenchAssembled(Bench *b, PetscInt n);
