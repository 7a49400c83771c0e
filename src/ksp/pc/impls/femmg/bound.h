/*
  A block diagonal B with A <= B for A = sum_e s_e K_e, so that no eigenvalue of B^-1 A exceeds 1; plain C.

  For each element K_e <= lambda_e B_e, where B_e is the (block) diagonal of K_e and lambda_e a bound of the eigenvalues of
  C = B_e^-1/2 K_e B_e^-1/2. Then A <= B = sum_e s_e lambda_e B_e. The bound holds for every design, however high its
  contrast: a few steps of Lanczos may miss the largest eigenvalue, whose vector lives on few elements. Where one
  material fills everything, B is the diagonal of A times lambda. Soft elements next to stiff ones hardly count, however
  bad their own lambda is.

  lambda_e = || C^(2^m) ||_F^(2^-m) exceeds the largest eigenvalue by rank^(2^-m-1) at most: m = 5 for reference matrices
  (4.6 % for a hexahedron, once each), m = 2 for matrices of single elements. Cost of those: 2 ndof^3 multiplications.
*/
#pragma once

#include "grids.h"
#include "../../../../mat/impls/shellfem/element.h"

/*
  blocks[dof/b][b][b] += column by column, for the dofs of the local box; b = 1, or bs. lambda: work, one entry for each
  reference matrix; work: 3 ndof^2 entries. The diagonal of every K_e must not be negative.
*/
PETSC_INTERN void FEMMGBoundDiagonal_Host(const ElementMatrices *, const FEMMGBox *, PetscInt dim, PetscInt bs, PetscInt b, PetscReal *lambda, PetscScalar *work, PetscScalar *blocks);
