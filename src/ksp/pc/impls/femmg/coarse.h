/*
  Exact Galerkin products P' A P, element by element; plain C.

  A = sum_e s_e K_e on the fine lattice, with held dofs M, and a diagonal D on free dofs. A coarse cell C is the sum of its children,
  K_C = sum_c T_c' M (s_c K_c + D_c) M T_c, where T_c = tensor product of [1 0; 1/2 1/2] or [1/2 1/2; 0 1] in each direction
  that is coarsened gives the nodes of child c their values. Then sum_C K_C = P' A P to rounding.

  Children of several processes may make up one coarse cell. Each process sums those elements that it holds, and coarse cells
  that two processes hold parts of add up in products as any others do: nothing is communicated.

  Cells whose children are all there, free and the same multiple of one reference matrix K_r are that multiple of the coarse
  reference matrix sum_c T_c' K_r T_c. The others get a matrix of their own: for references by a table of T_c' K_r T_c, ndof^2
  multiplications a child; else by averaging rows and columns in place, 1.5 ndof^2 for each direction.

  D is given to cells: a node belongs to the one cell of which it is the lowest corner, or, last in its direction, the
  highest. It must be zero on nodes of other processes.
*/
#pragma once

#include "grids.h"
#include "../../../../mat/impls/shellfem/element.h"

typedef struct {
  FEMMGGrids           grids;
  ElementMatrices      m;     /* cells of the fine local box */
  const unsigned char *mask;  /* dofs of the fine local box, NULL: all free */
  const PetscScalar   *diag;  /* D on them, NULL: none */
  const PetscScalar   *table; /* [nref][children][ndof][ndof]; children: see FEMMGChildren() */
} FEMMGCoarsening;

PETSC_INTERN PetscInt FEMMGChildren(const FEMMGGrids *);

/* table and [nref][ndof][ndof] coarse reference matrices, from m.K */
PETSC_INTERN void FEMMGCoarsenReferences_Host(const FEMMGCoarsening *, PetscScalar *table, PetscScalar *K);

/*
  What each cell of the coarse local box is: ref, scale and, for matrices of their own, fullindex counted from 0. Returns
  how many there are; -1 if an element lies outside the coarse box.
*/
PETSC_INTERN PetscInt FEMMGClassify_Host(const FEMMGCoarsening *, PetscInt *ref, PetscScalar *scale, PetscInt *fullindex);

/* The matrices of those, full[fullindex][ndof][ndof]; work: ndof^2 entries */
PETSC_INTERN void FEMMGGalerkin_Host(const FEMMGCoarsening *, const PetscInt *ref, const PetscInt *fullindex, PetscScalar *work, PetscScalar *full);
