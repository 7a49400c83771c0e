/*
  Element operators of MATSHELLFEM, in plain C: y += sum_e P_e^T s_e K_{r(e)} P_e x without assembly.

  u_e = P_e x are the ndof entries of element e, K_r one of nref reference matrices, s_e one scale per element.
  x and y are local arrays (owned and ghost nodes); whoever calls moves ghost values.

  x must be finite at every free dof, also where there are only void elements: the parity form multiplies them by zero.

  Masked dofs (Dirichlet) enter as zero and receive nothing: the kernels apply M A M; the caller adds D (1 - M) x.

  Two ways to say which entries an element has:
  - ElementMesh: connectivity. Element e has nodes conn[e*nen .. e*nen+nen-1] and dofs node*bs .. node*bs+bs-1 of each
    (ndof = nen*bs). Any nen, any bs; a list of single dofs is bs = 1.
  - ElementLattice: a box of nx*ny*nz nodes, x fastest (the order of a DMDA's local vector), nz = 1 in 2D. Element
    e = (k*(ny-1) + j)*(nx-1) + i has its 4 or 8 nodes in binary order: node a is (i + (a&1), j + (a>>1&1), k + (a>>2)).
    Rows and columns of K follow that order, bs dofs for each node. No connectivity is read.

  The functions are exported, so that tests and benchmarks reach the kernels without the Mat type.

  An element's matrix is either s_e K_{r(e)} or, for r(e) = ELEMENT_FULL, a matrix of its own in `full`.
*/
#pragma once

#include <petscsys.h>

#define ELEMENT_NONE (-1) /* no element here (void): skipped */
#define ELEMENT_FULL (-2) /* the element's matrix is full + fullindex[e]*ndof*ndof, row by row, already scaled */

typedef struct {
  PetscInt           ndof;      /* rows of one element matrix */
  PetscInt           nref;      /* number of reference matrices */
  const PetscScalar *K;         /* [nref][ndof][ndof], row by row */
  PetscInt           nel;       /* number of elements */
  const PetscInt    *ref;       /* [nel] which reference matrix, or ELEMENT_*; NULL: all are 0 */
  const PetscScalar *scale;     /* [nel] s_e; NULL: all are 1 */
  const PetscScalar *full;      /* [nfull][ndof][ndof] */
  const PetscInt    *fullindex; /* [nel] which one, only read where ref[e] == ELEMENT_FULL */
  PetscBool          rigid;     /* known to be rigid, see ElementMatricesAreRigid() */
  PetscBool          packed;    /* on a GPU only, see ElementMatricesPack(): full holds upper triangles */
} ElementMatrices;

typedef struct {
  PetscInt        nen, bs;
  const PetscInt *conn; /* [nel][nen] */
} ElementMesh;

typedef struct {
  PetscInt nx, ny, nz; /* nodes in each direction; nz == 1: quads */
  PetscInt bs;
} ElementLattice;

/* A precomputed plan for one lattice and one set of reference matrices (parity form, work space); NULL is allowed */
typedef struct _n_ElementPlan *ElementPlan;

/* mask: [ndofs local] 1 free, 0 Dirichlet; NULL: all free. All add to y. Host memory. */
PETSC_EXTERN void ElementApplyMesh_Host(const ElementMatrices *, const ElementMesh *, const unsigned char *mask, const PetscScalar *x, PetscScalar *y);
PETSC_EXTERN void ElementApplyTransposeMesh_Host(const ElementMatrices *, const ElementMesh *, const unsigned char *mask, const PetscScalar *x, PetscScalar *y);
PETSC_EXTERN void ElementApplyLattice_Host(const ElementMatrices *, const ElementLattice *, ElementPlan, const unsigned char *mask, const PetscScalar *x, PetscScalar *y);
PETSC_EXTERN void ElementApplyTransposeLattice_Host(const ElementMatrices *, const ElementLattice *, ElementPlan, const unsigned char *mask, const PetscScalar *x, PetscScalar *y);

/* The lattice without a plan; onlyfull: only the elements with a matrix of their own */
PETSC_EXTERN void ElementApplyLatticeDense_Host(const ElementMatrices *, const ElementLattice *, PetscBool transpose, PetscBool onlyfull, const unsigned char *mask, const PetscScalar *x, PetscScalar *y);

/* d[node*bs*bs + c*bs + r] += the bs x bs block of each node (column-major, as MatInvertBlockDiagonal); unmasked */
PETSC_EXTERN void ElementBlockDiagonalMesh_Host(const ElementMatrices *, const ElementMesh *, PetscScalar *d);
PETSC_EXTERN void ElementBlockDiagonalLattice_Host(const ElementMatrices *, const ElementLattice *, PetscScalar *d);

/* energy[e] = u_e^T K_{r(e)} v_e WITHOUT the scale s_e (full matrices: with what they contain); u, v local arrays */
PETSC_EXTERN void ElementEnergyMesh_Host(const ElementMatrices *, const ElementMesh *, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy);
PETSC_EXTERN void ElementEnergyLattice_Host(const ElementMatrices *, const ElementLattice *, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy);

/*
  The plan: NULL is returned when no fast form applies, and the general kernel is used. It depends on the reference
  matrices and the number of dofs alone; scales, refs and masks may change from one product to the next.
*/
PETSC_EXTERN PetscErrorCode ElementPlanCreateLattice(const ElementMatrices *, const ElementLattice *, ElementPlan *);
/* The plan of hexahedra of a mesh, whose nodes may be in any usual order: corner[a] is which node of an element is at (a&1, a>>1&1, a>>2) */
PETSC_EXTERN PetscErrorCode ElementPlanCreateHex(const ElementMatrices *, PetscInt bs, PetscInt corner[8], ElementPlan *);
PETSC_EXTERN PetscErrorCode ElementPlanDestroy(ElementPlan *);
PETSC_EXTERN const char    *ElementPlanName(ElementPlan); /* "dense" for NULL, "parity", "parity, differences" */

/*
  The parity form (element_lattice_host.c): blocks[g][c][d] couples mode g ^ bit(c) of component c with mode g ^ bit(d)
  of component d; rigid: modes of translation are left out, and mode 7 has only itself.
*/
typedef PetscScalar                     ElementParityBlocks[8][3][3];
PETSC_EXTERN const ElementParityBlocks *ElementPlanGetParity(ElementPlan, PetscBool transpose, PetscBool *rigid); /* [nref] */

/* The elements around each of nnode nodes, ascending: start[nnode + 1], element[nel*nen], corner[nel*nen] from PetscMalloc */
PETSC_EXTERN PetscErrorCode ElementAdjacencyCreate(const ElementMesh *, PetscInt nel, PetscInt nnode, PetscCount **start, PetscInt **element, unsigned short **corner);

/* How vectors and scales are stored. Arithmetic is in double for the first and in float for the others. */
typedef enum {
  ELEMENT_DOUBLE,
  ELEMENT_SINGLE,
  ELEMENT_BFLOAT16
} ElementPrecision;

/* The precision of PetscScalar */
#define ELEMENT_PETSC (PetscDefined(USE_REAL_SINGLE) ? ELEMENT_SINGLE : ELEMENT_DOUBLE)

/* Ways to compute the product; one that does not fit the elements or the precision is refused with PETSC_ERR_SUP */
typedef enum {
  ELEMENT_KERNEL_AUTO,
  ELEMENT_KERNEL_THREESTAGE, /* gather, batched dense product by cuBLAS, scatter */
  ELEMENT_KERNEL_FUSED,      /* one thread an element, a list of its dofs, atomic addition */
  ELEMENT_KERNEL_NODE,       /* one thread an entry of y, no atomics */
  ELEMENT_KERNEL_PARITY,     /* Walsh-Hadamard basis */
  ELEMENT_KERNEL_DMMA,       /* FP64 tensor cores */
  ELEMENT_KERNEL_WMMA        /* BF16 tensor cores, FP32 accumulation */
} ElementKernel;
PETSC_EXTERN const char *const ElementKernels[]; /* their names, as PetscOptionsEnum() wants them */
PETSC_EXTERN const char *const ElementPrecisions[];
static inline size_t           ElementPrecisionSize(ElementPrecision p)
{
  return p == ELEMENT_DOUBLE ? 8 : p == ELEMENT_SINGLE ? 4
                                                       : 2;
}

/* The product in single precision, see element_low_host.c: y += M A M x; mesh NULL: the lattice. Real scalars. */
PETSC_EXTERN PetscErrorCode ElementApplyLow_Host(ElementPrecision, const ElementMatrices *, const ElementMesh *mesh, const ElementLattice *, PetscBool transpose, const unsigned char *mask, const PetscScalar *x, PetscScalar *y);

/* Do translations cost the reference matrices no energy, from the left and from the right? K in host memory */
PETSC_EXTERN PetscBool ElementMatricesAreRigid(const ElementMatrices *, PetscInt bs);
