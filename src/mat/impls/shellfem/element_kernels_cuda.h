/*
  The kernels behind ElementApplyMesh_CUDA() and ElementApplyLattice_CUDA(), one file each. All sum over the elements with a
  reference matrix, y = M E M x; those with matrices of their own are added by ElementFull_CUDA(). What comes after the
  sum (D, z, a Jacobi step) is done by the dispatcher in a pass of its own, except by the node kernel and those in
  parity form.
*/
#pragma once

#include "element_tiles.h"
#include "elements_device.h"

/* element_node_cuda.cu: the whole product. rigid: act on differences */
PETSC_INTERN PetscErrorCode ElementNode_CUDA(const Elements *, PetscBool transpose, PetscBool rigid, const ElementVectors *, ElementWork *, cudaStream_t);

/* element_fused_cuda.cu: one reference matrix, 8 or 24 dofs; element_threestage_cuda.cu: any. Double or single */
PETSC_INTERN PetscErrorCode ElementFused_CUDA(const Elements *, PetscBool transpose, const ElementVectors *, ElementWork *, cudaStream_t);
PETSC_INTERN PetscErrorCode ElementThreeStage_CUDA(const Elements *, PetscBool transpose, const ElementVectors *, ElementWork *, cudaStream_t);

/* element_tensor_cuda.cu: one reference matrix, 8 or 24 dofs; FP64 tensor cores for double, BF16 for the others */
PETSC_INTERN PetscErrorCode ElementTensor_CUDA(const Elements *, PetscBool transpose, PetscBool rigid, const ElementVectors *, ElementWork *, cudaStream_t);

/* element_full_cuda.cu: added to y */
PETSC_INTERN PetscErrorCode ElementFull_CUDA(const Elements *, PetscBool transpose, const ElementVectors *, ElementWork *, cudaStream_t);

/*
  element_staged_cuda.cu: y = or += the sum of f over those of the elements first, ..., end - 1 that have this reference;
  f[end - first][ndof] in double or, for a y in single or bfloat16, in float; scale NULL: f has the scales already.
*/
PETSC_INTERN PetscErrorCode ElementScatter_CUDA(const Elements *, PetscInt first, PetscInt end, PetscInt ref, PetscBool add, const void *scale, const void *f, const ElementVectors *, cudaStream_t);
PETSC_INTERN PetscErrorCode ElementWorkMatrices(const Elements *, ElementPrecision, ElementWork *, const void **K, cudaStream_t);

/* element_tile_cuda.cu: meshes of hexahedra with 3 dofs and one reference matrix of parity form; does the whole product */
PETSC_INTERN PetscBool      ElementTilesFit(const ElementMatrices *, const ElementMesh *, const ElementTiles *, ElementPlan, const ElementVectors *);
PETSC_INTERN PetscErrorCode ElementTiles_CUDA(const Elements *, const ElementTiles *, ElementPlan, PetscBool transpose, const ElementVectors *, cudaStream_t);

/* Device memory of at least that size, kept in the work space for the next call; slot: who asks */
typedef enum {
  WORK_DOFS,
  WORK_GATHERED,
  WORK_PRODUCTS,
  WORK_MATRIX,
  WORK_ADDED,
  WORK_NSLOTS
} WorkSlot;
PETSC_INTERN PetscInt       ElementsInChunk(const Elements *, size_t bytes, ElementWork); /* how many, of that many bytes each, fit at a time */
PETSC_INTERN PetscErrorCode ElementWorkGet(ElementWork *, WorkSlot, size_t bytes, void **array, PetscBool *isnew);
