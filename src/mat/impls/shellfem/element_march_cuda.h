/*
  The lattice operator for hexahedra with 3 dofs a node and one reference matrix, in parity form, by marching.
  Called by ElementApplyLattice_CUDA; see element_march_cuda.cu for the method and element_cuda.h for the arguments.
*/
#pragma once

#include "element.h"
#include <petscdevice_cuda.h>

/* y += M A M x over the elements whose ref is 0; those with ELEMENT_FULL are left to the caller */
PETSC_INTERN PetscErrorCode ElementMarch_CUDA(const ElementMatrices *, const ElementLattice *, ElementPlan, PetscBool transpose, const unsigned char *mask, const PetscScalar *x, PetscScalar *y, cudaStream_t);
