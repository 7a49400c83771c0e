/*
  The kernels behind ElementApplyMesh_CUDA() and ElementApplyLattice_CUDA(), one file each. All compute y = M E M x; what
  comes after the sum (D, z, a Jacobi step) is done by the dispatcher in a pass of its own, except by the marching kernel.
*/
#pragma once

#include "elements_device.h"

/* element_node_cuda.cu; rigid: act on differences. onlyfull: only elements with matrices of their own, added to y */
PETSC_INTERN PetscErrorCode ElementNode_CUDA(const Elements *, PetscBool transpose, PetscBool rigid, PetscBool onlyfull, const ElementVectors *, cudaStream_t);

/* element_fused_cuda.cu and element_threestage_cuda.cu: one reference matrix, double or single */
PETSC_INTERN PetscErrorCode ElementFused_CUDA(const Elements *, PetscBool transpose, const ElementVectors *, ElementWork *, cudaStream_t);
PETSC_INTERN PetscErrorCode ElementThreeStage_CUDA(const Elements *, PetscBool transpose, const ElementVectors *, ElementWork *, cudaStream_t);

/* element_tensor_cuda.cu: lattices of hexahedra with 24 dofs and one reference matrix; dmma in double, wmma in the others */
PETSC_INTERN PetscErrorCode ElementTensor_CUDA(const Elements *, PetscBool transpose, PetscBool rigid, const ElementVectors *, cudaStream_t);

/* Device memory of at least that size, kept in the work space for the next call; slot: who asks */
typedef enum {
  WORK_DOFS,
  WORK_GATHERED,
  WORK_PRODUCTS,
  WORK_MATRIX,
  WORK_ADDED,
  WORK_NSLOTS
} WorkSlot;
PETSC_INTERN PetscErrorCode ElementWorkGet(ElementWork *, WorkSlot, size_t bytes, void **array, PetscBool *isnew);
