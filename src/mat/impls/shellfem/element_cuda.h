/*
  Element operators of MATSHELLFEM on the GPU: the CUDA versions of element.h.

  The structures are those of element.h with every pointer in device memory; a plan is the host's plan. Vectors, masks
  and results are in device memory, too. All launches go to the stream and return at once.

  Nothing is accumulated by atomics: each entry of y is summed by one thread over the elements around its node, in the
  order of the elements, so that repeated products are bit-identical and y is written once.
  - Meshes need the elements around each node (ElementAdjacency, built once on the host).
  - Lattices need nothing; hexahedra with 3 dofs a node and a plan run in parity form (see element_march_cuda.cu).

  Real scalars only: a complex PETSc gets PETSC_ERR_SUP, and the type then stays on the host.
*/
#pragma once

#include "element.h"
#include <petscdevice_cuda.h>

/* Elements around node n, ascending: element[t], of which n is corner[t], for start[n] <= t < start[n+1] */
typedef struct {
  const PetscCount     *start; /* [nnode + 1] */
  const PetscInt       *element;
  const unsigned short *corner;
} ElementAdjacency;

/* y += M A M x, or with A^T. nnode: local nodes; mask NULL: all free */
PETSC_EXTERN PetscErrorCode ElementApplyMesh_CUDA(const ElementMatrices *, const ElementMesh *, const ElementAdjacency *, PetscInt nnode, PetscBool transpose, const unsigned char *mask, const PetscScalar *x, PetscScalar *y, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementApplyLattice_CUDA(const ElementMatrices *, const ElementLattice *, ElementPlan, PetscBool transpose, const unsigned char *mask, const PetscScalar *x, PetscScalar *y, cudaStream_t);

/* d += block diagonal, energy = u_e^T K v_e, layouts as in element.h */
PETSC_EXTERN PetscErrorCode ElementBlockDiagonalMesh_CUDA(const ElementMatrices *, const ElementMesh *, const ElementAdjacency *, PetscInt nnode, PetscScalar *d, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementBlockDiagonalLattice_CUDA(const ElementMatrices *, const ElementLattice *, PetscScalar *d, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementEnergyMesh_CUDA(const ElementMatrices *, const ElementMesh *, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementEnergyLattice_CUDA(const ElementMatrices *, const ElementLattice *, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t);

/* y += (1 - M) D x where the mask is 0: the diagonal of Dirichlet rows; d NULL: the same value for all */
PETSC_EXTERN PetscErrorCode ElementMaskDiagonal_CUDA(PetscInt n, const unsigned char *mask, PetscScalar value, const PetscScalar *d, const PetscScalar *x, PetscScalar *y, cudaStream_t);
