/*
  The lattice operator for hexahedra with 3 dofs a node and one reference matrix, in parity form, by marching.
  Called by ElementApplyLattice_CUDA; see element_march_cuda.cu for the method and element_cuda.h for the arguments.
*/
#pragma once

#include "element_cuda.h"

/* Whether it can be used for these elements and vectors */
PETSC_INTERN PetscBool ElementMarchFits(const ElementMatrices *, const ElementLattice *, ElementPlan, const ElementVectors *);

/* The product of element_cuda.h over the elements whose ref is 0 */
PETSC_INTERN PetscErrorCode ElementMarch_CUDA(const ElementMatrices *, const ElementLattice *, ElementPlan, PetscBool transpose, const ElementVectors *, cudaStream_t);
