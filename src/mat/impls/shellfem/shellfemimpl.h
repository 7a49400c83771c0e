/*
  Private parts of MATSHELLFEM

  The operator is  A = L E R + D + S  with E the sum of the elements, L and R diagonal scalings from the left and right,
  D a diagonal and S a small side matrix. L, R, D, S may be absent. Dirichlet rows are zeros in L (and, with their
  columns, in R) and their value in D. Where L = R holds only zeros and ones the kernels apply it as a mask.

  Elements are kept in groups of equal shape. The lattice group has no connectivity: its elements are cells of the box of
  nodes that this process sees of a DMDA, and its vectors are DMDA local vectors. The others number owned nodes first,
  then ghost nodes; a node is a block of A->rmap->bs rows.
*/
#pragma once

#include "../../../sys/trefoilimpl.h"
#include <matshellfem.h>
#include <petscdmda.h>
#include <petsc/private/vecimpl.h>
#include "element.h"
#if PetscDefined(HAVE_CUDA)
  #include "element_cuda.h"
#endif

#define SHELLFEM_MAX_NDOF 192 /* larger square blocks of values go to the side matrix */

typedef struct _n_ShellFEMGroup  *ShellFEMGroup;
typedef struct _n_ShellFEMDevice *ShellFEMDevice;

struct _n_ShellFEMGroup {
  PetscInt      nen, bs, ndof;
  PetscInt      nel, allocated; /* elements, room for elements */
  PetscInt      cursor;         /* re-assembly: the next element expected */
  PetscInt     *conn;           /* [nel][nen] local nodes, of bs dofs, below `numbered`; global ones from there on */
  PetscInt      numbered;
  PetscInt     *ref, *fullindex;
  PetscScalar  *scale;
  PetscInt      nref, allocatedref, *pivot; /* pivot: largest entry of each reference matrix */
  PetscScalar  *K;
  PetscInt      lastref;
  PetscBool     swept;  /* unused reference matrices were dropped since the last MatZeroEntries() */
  PetscBool     native; /* elements were given without values: they keep their references */
  PetscInt      nfull, allocatedfull;
  PetscScalar  *full;
  PetscScalar  *work;      /* one matrix, in the order of the lattice's corners */
  PetscBool     iscells;   /* the lattice group */
  ElementPlan   plan;      /* of the lattice, or of hexahedra on the GPU, for the current reference matrices */
  PetscInt      corner[8]; /* which node of those hexahedra the plan takes for each corner */
  PetscBool     planned;
  ShellFEMGroup next;
};

typedef struct {
  ShellFEMGroup  groups;  /* with connectivity */
  ShellFEMGroup  lattice; /* without, or NULL */
  ElementLattice box;
  DM             dm;                               /* of the lattice; a borrowed reference: the Mat holds the DM */
  PetscBool      boxisglobal;                      /* one process, no periodic direction: local vectors are global ones */
  PetscInt       cells[3], ownedlow[3], ownedn[3]; /* cells of the box, and those that native calls number */

  PetscInt   nghost, *ghosts;            /* ghost nodes, sorted global numbers */
  VecScatter scatter;                    /* owned and ghost entries to the local vector; NULL where there is no ghost anywhere */
  Vec        xlocal, ylocal, xbox, ybox; /* work */
  PetscBool  structure;                  /* elements were added since the numbering was made */

  Vec            L, R, D;
  PetscBool      masked;         /* L == R, all zeros and ones */
  unsigned char *mask, *boxmask; /* local forms */
  Vec            work, sum;      /* work */

  Mat          S;
  PetscBool    capture;                          /* take ADD_VALUES of square blocks as elements */
  PetscBool    uselattice, roworiented, decided; /* decided: PETSc chose the local sizes when the type was set */
  PetscInt     maxref;
  PetscReal    rtol;
  PetscCount   npending, allocatedpending; /* values kept until assembly, where all processes take part */
  InsertMode   pendingmode;
  PetscInt    *pendingrow, *pendingcol;
  PetscScalar *pendingvalue;

  Mat              assembled; /* AIJ, on demand */
  PetscObjectState assembledstate;
  PetscScalar     *blockinverse;
  PetscErrorCode (*viewdm)(Mat, PetscViewer); /* what a DM has put in the place of our viewer, or NULL */
  PetscCount fallback;                        /* entries of S that elements would have been */

  ElementKernel    kernel;
  ElementPrecision precision;
  ShellFEMDevice   device;
  PetscBool        scalesondevice;                  /* the host's scales are older than those on the GPU */
  PetscObjectState state;                           /* counts changes of what the kernels read, */
  PetscObjectState structurestate, conditionsstate; /* of elements and their nodes, and of masks */
} Mat_ShellFEM;

PETSC_INTERN PetscLogEvent MAT_ShellFEMAssemble;

/* capture.c */
PETSC_INTERN PetscErrorCode MatSetValues_ShellFEM(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSetValuesBlocked_ShellFEM(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSetValuesLocal_ShellFEM(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSetValuesBlockedLocal_ShellFEM(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatShellFEMGetGroup(Mat, PetscInt nen, PetscInt bs, ShellFEMGroup *);
PETSC_INTERN PetscErrorCode MatShellFEMGetLattice(Mat, ShellFEMGroup *);
PETSC_INTERN PetscErrorCode ShellFEMGroupReserve(ShellFEMGroup, PetscInt nel);
PETSC_INTERN PetscErrorCode ShellFEMGroupSetReferences(ShellFEMGroup, PetscInt n, const PetscScalar K[]);
PETSC_INTERN PetscErrorCode ShellFEMGroupSetFull(ShellFEMGroup, PetscInt e, const PetscScalar K[]);
PETSC_INTERN PetscErrorCode ShellFEMGroupDuplicate(ShellFEMGroup, PetscBool values, ShellFEMGroup *);
PETSC_INTERN PetscErrorCode ShellFEMGroupDestroy(ShellFEMGroup *);
PETSC_INTERN PetscErrorCode MatShellFEMGetSide(Mat, Mat *);
static inline PetscInt      ShellFEMGroupGlobalNode(Mat A, PetscInt local)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  const PetscInt      b = A->rmap->bs, n = A->rmap->n / b;

  return local < n ? A->rmap->rstart / b + local : a->ghosts[local - n];
}

/* shellfem.c */
PETSC_INTERN PetscErrorCode MatShellFEMTakeViewer(Mat);

/* assembly.c */
PETSC_INTERN PetscErrorCode MatAssemblyBegin_ShellFEM(Mat, MatAssemblyType);
PETSC_INTERN PetscErrorCode MatAssemblyEnd_ShellFEM(Mat, MatAssemblyType);
PETSC_INTERN PetscBool      MatShellFEMIsAssembled(Mat);         /* is that AIJ there, and up to date? */
PETSC_INTERN PetscErrorCode MatShellFEMGetAssembled(Mat, Mat *); /* an AIJ with the same values, kept; a borrowed reference */
PETSC_INTERN PetscErrorCode MatConvert_ShellFEM(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_ShellFEM(Mat);

/* dirichlet.c */
PETSC_INTERN PetscErrorCode MatZeroRows_ShellFEM(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_ShellFEM(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatDiagonalScale_ShellFEM(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatDiagonalSet_ShellFEM(Mat, Vec, InsertMode);
PETSC_INTERN PetscErrorCode MatShift_ShellFEM(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode MatShellFEMUpdateMask(Mat);
PETSC_INTERN PetscErrorCode VecTimes_ShellFEM(Vec, Vec);
PETSC_INTERN PetscErrorCode VecPlus_ShellFEM(Vec, PetscScalar, Vec);

/* apply.c: y += op(A) x and the rest that runs kernels */
PETSC_INTERN PetscErrorCode  MatMult_ShellFEM(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode  MatMultAdd_ShellFEM(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode  MatMultTranspose_ShellFEM(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode  MatMultTransposeAdd_ShellFEM(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode  MatGetDiagonal_ShellFEM(Mat, Vec);
PETSC_INTERN PetscErrorCode  MatInvertBlockDiagonal_ShellFEM(Mat, const PetscScalar **);
PETSC_INTERN PetscErrorCode  MatShellFEMForward(Mat, PetscBool box, Vec x, Vec *local);
PETSC_INTERN PetscErrorCode  MatShellFEMForwardEnd(Mat, PetscBool box, Vec x, Vec *local);
PETSC_INTERN ElementMatrices ShellFEMGroupMatrices(ShellFEMGroup);

/* device.c */
PETSC_INTERN PetscErrorCode ShellFEMDeviceDestroy(ShellFEMDevice *);
PETSC_INTERN PetscErrorCode MatShellFEMApplyElements_CUDA(Mat, ShellFEMGroup, PetscBool transpose, PetscBool masked, PetscBool add, Vec x, Vec y);
PETSC_INTERN PetscErrorCode MatShellFEMApplyOnce_CUDA(Mat, PetscBool transpose, PetscReal omega, Vec x, Vec z, Vec b, Vec dinv, Vec y);
PETSC_INTERN PetscErrorCode MatShellFEMAddDiagonal_CUDA(Mat, ShellFEMGroup, Vec d);
PETSC_INTERN PetscErrorCode MatShellFEMEnergy_CUDA(Mat, ShellFEMGroup, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy);
PETSC_INTERN PetscErrorCode MatShellFEMGetScales_CUDA(Mat, ShellFEMGroup, PetscScalar **scale);
PETSC_INTERN PetscErrorCode MatShellFEMScalesChanged_CUDA(Mat);
PETSC_INTERN PetscErrorCode MatShellFEMFetchScales_CUDA(Mat);
PETSC_INTERN PetscErrorCode MatShellFEMDeviceBytes(Mat, PetscInt64 *);

/* Whoever reads the scales on the host calls this first */
static inline PetscErrorCode MatShellFEMHostScales(Mat A)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (((Mat_ShellFEM *)A->data)->scalesondevice) PetscCall(MatShellFEMFetchScales_CUDA(A));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool MatUsesDevice_ShellFEM(Mat A, Vec x)
{
#if PetscDefined(HAVE_CUDA) && !PetscDefined(USE_COMPLEX)
  return !A->boundtocpu && x->ops->bindtocpu && !x->boundtocpu ? PETSC_TRUE : PETSC_FALSE;
#else
  return PETSC_FALSE;
#endif
}
