/*
  Q1 interpolation P between two lattices (see grids.h) and its transpose, without a matrix; plain C.

  P = M I with I the interpolation of Q1 elements and M = diag(0 or 1): held dofs of the fine lattice receive nothing and
  give nothing. Each value is computed by one process from its local box, in a fixed order: no additions across processes.

  Cost for each fine dof: about 2 + 1 multiplications for the transpose (rows in y and z are added to one line, which
  is then reduced in x), 1.5 + 1 for P; fine and coarse vectors are read or written once, and the mask, 1 byte a dof.
*/
#pragma once

#include "grids.h"

/*
  mask: [dofs of the fine local box], 1 free, 0 held; NULL: all free. line: work, fine.n[0]*bs entries for the transpose,
  coarse.n[0]*bs for P. Owned entries of y are written, or added to.
*/
PETSC_INTERN void FEMMGInterpolateAdd_Host(const FEMMGGrids *, const unsigned char *mask, PetscBool add, const PetscScalar *coarse, PetscScalar *line, PetscScalar *y);
PETSC_INTERN void FEMMGRestrictAdd_Host(const FEMMGGrids *, const unsigned char *mask, PetscBool add, const PetscScalar *fine, PetscScalar *line, PetscScalar *y);
