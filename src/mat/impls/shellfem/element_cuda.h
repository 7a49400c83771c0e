/*
  Element operators of MATSHELLFEM on the GPU: the CUDA versions of element.h.

  The structures are those of element.h with every pointer in device memory; a plan is the host's plan. Vectors, masks
  and results are in device memory, too. All launches go to the stream and return at once.

  Except by ELEMENT_KERNEL_FUSED, nothing is accumulated by atomics: each entry of y is summed by one thread in the order of
  the elements, so that repeated products are bit-identical.

  Real scalars only: a complex PETSc gets PETSC_ERR_SUP, and the type then stays on the host.
*/
#pragma once

#include "element_tiles.h"
#include <petscdevice_cuda.h>

/*
  Buffers that kernels make for themselves, at most about 1 GiB and what the list of dofs of ELEMENT_KERNEL_FUSED takes; NULL at
  first. Destroy them when the elements, not only values, change.
*/
typedef struct _n_ElementWork *ElementWork;
PETSC_EXTERN PetscErrorCode    ElementWorkDestroy(ElementWork *);
PETSC_EXTERN PetscErrorCode    ElementWorkSetLimit(ElementWork *, size_t bytes); /* instead of 1 GiB: elements are then taken in smaller parts */

/* Elements around node n, ascending: element[t], of which n is corner[t], for start[n] <= t < start[n+1] */
typedef struct {
  const PetscCount     *start; /* [nnode + 1] */
  const PetscInt       *element;
  const unsigned short *corner;
} ElementAdjacency;

/*
  What a product reads and writes, all in `precision` unless a type is given:

    r = M E M x + D x,  and then  y = r, or y = z + r, or y = x + omega dinv (b - r)

  with E the sum of the elements and M the mask. x must be finite; no array may overlap y, except z, which may be y.
  scale: as in ElementMatrices, in `precision` (float for ELEMENT_BFLOAT16); NULL: all are 1. It replaces m->scale.
*/
typedef struct {
  ElementPrecision     precision;
  const unsigned char *mask;     /* [dofs] 1 free, 0 Dirichlet; NULL: all are free */
  const unsigned char *nodemask; /* the same by nodes, bit c for component c; without it lattices cannot march */
  const void          *scale;
  const void          *x;
  void                *y;
  const void          *D;         /* NULL: none */
  PetscBool            Dirichlet; /* D is zero wherever the mask is 1, and need not be read there */
  const void          *z;         /* MultAdd, or NULL */
  const void          *b, *dinv;  /* Jacobi step, or NULL; z is then ignored */
  double               omega;
} ElementVectors;

/*
  What a kernel needs that is not there, as in "the kernel dmma needs ...", NULL if it can compute the product; any kernel can
  be transposed. mesh NULL: the lattice. The matrices may be those in host memory; of the vectors only precision, mask
  and nodemask matter.
*/
PETSC_EXTERN const char *ElementKernelNeeds(ElementKernel, const ElementMatrices *, const ElementMesh *mesh, const ElementLattice *, const ElementTiles *, ElementPlan, const ElementVectors *);

/*
  Matrices of single elements that are all symmetric to rounding take half of the memory and time when they are packed: the
  upper triangle by rows, entry (i, j), i <= j, at i (2 ndof - i - 1) / 2 + j, one matrix after the other. m and the result,
  [nfull][ndof (ndof + 1) / 2] from PetscMalloc(), are in host memory; NULL: there is none, or one is not symmetric. Where it
  is not NULL, upload it as `full` of the matrices on the GPU and set their `packed`.
*/
PETSC_EXTERN PetscErrorCode ElementMatricesPack(const ElementMatrices *m, PetscInt nfull, PetscScalar **packed);

/* The product, with A or A^T. nnode: local nodes; tiles, with the plan of ElementPlanCreateHex(): NULL, or for the fastest kernel of meshes */
PETSC_EXTERN PetscErrorCode ElementApplyMesh_CUDA(ElementKernel, const ElementMatrices *, const ElementMesh *, const ElementAdjacency *, const ElementTiles *, ElementPlan, PetscInt nnode, PetscBool transpose, const ElementVectors *, ElementWork *, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementApplyLattice_CUDA(ElementKernel, const ElementMatrices *, const ElementLattice *, ElementPlan, PetscBool transpose, const ElementVectors *, ElementWork *, cudaStream_t);

/* d += block diagonal, energy = u_e^T K v_e, layouts as in element.h, in PetscScalar */
PETSC_EXTERN PetscErrorCode ElementBlockDiagonalMesh_CUDA(const ElementMatrices *, const ElementMesh *, const ElementAdjacency *, PetscInt nnode, PetscScalar *d, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementBlockDiagonalLattice_CUDA(const ElementMatrices *, const ElementLattice *, PetscScalar *d, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementEnergyMesh_CUDA(const ElementMatrices *, const ElementMesh *, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementEnergyLattice_CUDA(const ElementMatrices *, const ElementLattice *, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t);

/* PETSC_ERR_SUP in a complex PETSc */
PETSC_INTERN PetscErrorCode ElementCheckReal(void);

/* to = from in another precision, or added to it; BFLOAT16 rounds to nearest */
PETSC_EXTERN PetscErrorCode ElementConvert_CUDA(PetscCount n, ElementPrecision f, const void *from, ElementPrecision t, void *to, PetscBool add, cudaStream_t);

/* The cells that a process owns, inside all those of its box; owned[0] = 0: all, in their order */
typedef struct {
  PetscInt all[3], low[3], owned[3];
} ElementCells;

/* scale = Emin + rho^p (E0 - Emin) of n owned elements; bad: a density was not between 0 and 1. owned = all at owned elements. */
PETSC_EXTERN PetscErrorCode ElementSIMP_CUDA(PetscCount n, const ElementCells *, const PetscScalar *rho, PetscReal p, PetscReal Emin, PetscReal E0, PetscScalar *scale, PetscBool *bad, cudaStream_t);
PETSC_EXTERN PetscErrorCode ElementSelect_CUDA(PetscCount n, const ElementCells *, const PetscScalar *all, PetscScalar *owned, cudaStream_t);

/* d += the diagonal of blocks as ElementBlockDiagonal*_CUDA() lay them out, n entries */
PETSC_EXTERN PetscErrorCode ElementAddDiagonal_CUDA(PetscCount n, PetscInt bs, const PetscScalar *blocks, PetscScalar *d, cudaStream_t);
