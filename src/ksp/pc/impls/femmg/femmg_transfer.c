/*
  Coarse DMDAs, and interpolation between two of them as a Mat that stores nothing but the mask of held dofs
*/
#include "femmgimpl.h"
#include "transfer.h"

typedef struct {
  DM             coarse, fine;
  FEMMGGrids     grids;
  PetscBool      alone; /* one process: local vectors are global ones */
  unsigned char *mask;  /* NULL: no dof of the local box is held */
  PetscScalar   *line;
} FEMMGTransfer;

/* Nodes in each direction, and how many each process owns; the coarse lattice keeps every node of even number at its process */
typedef struct {
  PetscInt        dim, bs, width;
  PetscInt        N[3], nproc[3];
  const PetscInt *own[3];
} Lattice;

static PetscErrorCode GetLattice(DM da, Lattice *l)
{
  PetscBool       isda;
  DMBoundaryType  boundary[3];
  DMDAStencilType stencil;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  PetscCheck(isda, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_WRONG, "The DM has type %s; geometric multigrid needs a DMDA", ((PetscObject)da)->type_name);
  PetscCall(DMDAGetInfo(da, &l->dim, &l->N[0], &l->N[1], &l->N[2], &l->nproc[0], &l->nproc[1], &l->nproc[2], &l->bs, &l->width, &boundary[0], &boundary[1], &boundary[2], &stencil));
  PetscCheck(l->dim == 2 || l->dim == 3, PetscObjectComm((PetscObject)da), PETSC_ERR_SUP, "The DMDA has %" PetscInt_FMT " dimension; there are quadrilaterals and hexahedra", l->dim);
  for (PetscInt d = 0; d < l->dim; d++) PetscCheck(boundary[d] == DM_BOUNDARY_NONE, PetscObjectComm((PetscObject)da), PETSC_ERR_SUP, "Direction %c of the DMDA is %s: only DM_BOUNDARY_NONE is coarsened; use -pc_type gamg, or -pc_type mg", (char)('x' + d), DMBoundaryTypes[boundary[d]]);
  PetscCheck((stencil == DMDA_STENCIL_BOX && l->width > 0) || l->nproc[0] * l->nproc[1] * l->nproc[2] == 1, PetscObjectComm((PetscObject)da), PETSC_ERR_SUP, "Cells of several processes need a DMDA with DMDA_STENCIL_BOX and a width of 1 at least");
  PetscCall(DMDAGetOwnershipRanges(da, &l->own[0], &l->own[1], &l->own[2]));
  for (PetscInt d = l->dim; d < 3; d++) l->N[d] = l->nproc[d] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of each process in one direction of the coarse lattice; false: a process would have none, or there is nothing to coarsen */
static PetscBool CoarsenDirection(PetscInt N, PetscInt nproc, const PetscInt own[], PetscInt coarse[])
{
  PetscInt start = 0;

  if (N < 3) return PETSC_FALSE;
  for (PetscInt p = 0; p < nproc; p++) {
    coarse[p] = (start + own[p] + 1) / 2 - (start + 1) / 2;
    start += own[p];
    if (p == nproc - 1 && N % 2 == 0) coarse[p]++; /* the one beyond the last fine node */
    if (!coarse[p]) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/*@
  PCFEMMGCoarsenDM - Creates the `DMDA` of the next coarser lattice

  Collective

  Input Parameter:
. fine - a `DMDA` of 2 or 3 dimensions without periodic directions

  Output Parameter:
. coarse - with (cells + 1)/2 cells in each direction, or the same number where a process would have no node; `NULL` if nothing can
           be coarsened

  Level: advanced

  Note:
  Where the number of cells is odd the coarse lattice is one fine cell longer than the fine one, `DMCoarsen()` would refuse.
  No node changes its process.

.seealso: `PCFEMMG`, `PCFEMMGCreateInterpolation()`, `DMCoarsen()`
@*/
PetscErrorCode PCFEMMGCoarsenDM(DM fine, DM *coarse)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)fine);
  Lattice        l;
  PetscInt      *own[3] = {NULL, NULL, NULL}, N[3];
  PetscBool      any    = PETSC_FALSE;
  VecType        vectype;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(fine, DM_CLASSID, 1);
  PetscAssertPointer(coarse, 2);
  PetscCall(GetLattice(fine, &l));
  *coarse = NULL;
  for (PetscInt d = 0; d < l.dim; d++) {
    PetscCall(PetscMalloc1(l.nproc[d], &own[d]));
    N[d] = l.N[d];
    if (CoarsenDirection(l.N[d], l.nproc[d], l.own[d], own[d])) {
      N[d] = l.N[d] / 2 + 1;
      any  = PETSC_TRUE;
    } else
      PetscCall(PetscArraycpy(own[d], l.own[d], l.nproc[d]));
  }
  if (any) {
    if (l.dim == 3)
      PetscCall(DMDACreate3d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, N[0], N[1], N[2], l.nproc[0], l.nproc[1], l.nproc[2], l.bs, 1, own[0], own[1], own[2], coarse));
    else
      PetscCall(DMDACreate2d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, N[0], N[1], l.nproc[0], l.nproc[1], l.bs, 1, own[0], own[1], coarse));
    PetscCall(DMGetVecType(fine, &vectype));
    PetscCall(DMSetVecType(*coarse, vectype));
    PetscCall(DMSetUp(*coarse));
  }
  for (PetscInt d = 0; d < l.dim; d++) PetscCall(PetscFree(own[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetBox(DM da, PetscInt dim, FEMMGBox *b)
{
  PetscFunctionBegin;
  PetscCall(DMDAGetGhostCorners(da, &b->low[0], &b->low[1], &b->low[2], &b->n[0], &b->n[1], &b->n[2]));
  PetscCall(DMDAGetCorners(da, &b->ownlow[0], &b->ownlow[1], &b->ownlow[2], &b->ownn[0], &b->ownn[1], &b->ownn[2]));
  for (PetscInt d = dim; d < 3; d++) {
    b->low[d] = b->ownlow[d] = 0;
    b->n[d] = b->ownn[d] = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does the coarse lattice, with this factor, have its nodes where the fine one has them? */
static PetscErrorCode CheckOwners(const Lattice *c, const Lattice *f, PetscInt d, PetscInt factor)
{
  PetscInt *own, wrong = 0;

  PetscFunctionBegin;
  PetscCheck(c->nproc[d] == f->nproc[d], PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Direction %c of the coarse DMDA is dealt out to %" PetscInt_FMT " processes, of the fine one to %" PetscInt_FMT "; create it by PCFEMMGCoarsenDM()", (char)('x' + d), c->nproc[d], f->nproc[d]);
  PetscCall(PetscMalloc1(f->nproc[d], &own));
  PetscCall(PetscArraycpy(own, f->own[d], f->nproc[d]));
  if (factor == 2 && !CoarsenDirection(f->N[d], f->nproc[d], f->own[d], own)) wrong = 1;
  for (PetscInt p = 0; p < f->nproc[d]; p++) wrong += own[p] != c->own[d][p];
  PetscCall(PetscFree(own));
  PetscCheck(!wrong, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Direction %c: processes do not have the nodes of the coarse DMDA where they have those of the fine one; create it by PCFEMMGCoarsenDM()", (char)('x' + d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FEMMGGridsCreate(DM coarse, DM fine, FEMMGGrids *g)
{
  Lattice c, f;

  PetscFunctionBegin;
  PetscCall(GetLattice(coarse, &c));
  PetscCall(GetLattice(fine, &f));
  PetscCheck(c.dim == f.dim && c.bs == f.bs, PetscObjectComm((PetscObject)fine), PETSC_ERR_ARG_INCOMP, "The coarse DMDA has %" PetscInt_FMT " dimensions and %" PetscInt_FMT " dofs a node, the fine one %" PetscInt_FMT " and %" PetscInt_FMT, c.dim, c.bs, f.dim, f.bs);
  g->dim = f.dim;
  g->bs  = f.bs;
  for (PetscInt d = 0; d < 3; d++) {
    g->factor[d] = c.N[d] == f.N[d] ? 1 : 2;
    PetscCheck(g->factor[d] == 1 || c.N[d] == f.N[d] / 2 + 1, PetscObjectComm((PetscObject)fine), PETSC_ERR_ARG_INCOMP, "Direction %c: %" PetscInt_FMT " nodes are coarsened to %" PetscInt_FMT " or left alone, not to %" PetscInt_FMT, (char)('x' + d), f.N[d], f.N[d] / 2 + 1, c.N[d]);
    if (d < g->dim) PetscCall(CheckOwners(&c, &f, d, g->factor[d]));
  }
  PetscCall(GetBox(fine, g->dim, &g->fine));
  PetscCall(GetBox(coarse, g->dim, &g->coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x in the local box of its lattice */
static PetscErrorCode TransferForward(const FEMMGTransfer *t, DM da, Vec x, Vec *local)
{
  PetscFunctionBegin;
  *local = x;
  if (t->alone) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetLocalVector(da, local));
  PetscCall(DMGlobalToLocalBegin(da, x, INSERT_VALUES, *local));
  PetscCall(DMGlobalToLocalEnd(da, x, INSERT_VALUES, *local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferRestore(const FEMMGTransfer *t, DM da, Vec *local)
{
  PetscFunctionBegin;
  if (!t->alone) PetscCall(DMRestoreLocalVector(da, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = or += P x, or P' x */
static PetscErrorCode TransferApply(Mat P, PetscBool transpose, PetscBool add, Vec x, Vec y)
{
  FEMMGTransfer     *t;
  DM                 from;
  Vec                local;
  const PetscScalar *xa;
  PetscScalar       *ya;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  from = transpose ? t->fine : t->coarse;
  PetscCall(PetscLogEventBegin(PC_FEMMGTransfer, P, x, y, 0));
  PetscCall(TransferForward(t, from, x, &local));
  PetscCall(VecGetArrayRead(local, &xa));
  PetscCall(add ? VecGetArray(y, &ya) : VecGetArrayWrite(y, &ya));
  (transpose ? FEMMGRestrictAdd_Host : FEMMGInterpolateAdd_Host)(&t->grids, t->mask, add, xa, t->line, ya);
  PetscCall(add ? VecRestoreArray(y, &ya) : VecRestoreArrayWrite(y, &ya));
  PetscCall(VecRestoreArrayRead(local, &xa));
  PetscCall(TransferRestore(t, from, &local));
  PetscCall(PetscLogFlops((transpose ? 6.0 : 5.0) * P->rmap->n));
  PetscCall(PetscLogEventEnd(PC_FEMMGTransfer, P, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_FEMMGTransfer(Mat P, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(TransferApply(P, PETSC_FALSE, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_FEMMGTransfer(Mat P, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(TransferApply(P, PETSC_TRUE, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_FEMMGTransfer(Mat P, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(TransferApply(P, PETSC_FALSE, PETSC_TRUE, x, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_FEMMGTransfer(Mat P, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(TransferApply(P, PETSC_TRUE, PETSC_TRUE, x, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_FEMMGTransfer(Mat P)
{
  FEMMGTransfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCall(DMDestroy(&t->coarse));
  PetscCall(DMDestroy(&t->fine));
  PetscCall(PetscFree(t->mask));
  PetscCall(PetscFree(t->line));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which dofs are free (1) or held (0); NULL: all are free */
PetscErrorCode FEMMGTransferSetFree(Mat P, Vec free)
{
  FEMMGTransfer     *t;
  const PetscScalar *v;
  PetscInt           n, held = 0;
  Vec                local;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  if (free) {
    PetscCall(TransferForward(t, t->fine, free, &local));
    PetscCall(VecGetLocalSize(local, &n));
    PetscCall(VecGetArrayRead(local, &v));
    for (PetscInt k = 0; k < n; k++) held += v[k] == (PetscScalar)0.;
    if (held && !t->mask) PetscCall(PetscMalloc1(n, &t->mask));
    for (PetscInt k = 0; k < n && held; k++) t->mask[k] = v[k] == (PetscScalar)0. ? 0 : 1;
    PetscCall(VecRestoreArrayRead(local, &v));
    PetscCall(TransferRestore(t, t->fine, &local));
  }
  if (!held) PetscCall(PetscFree(t->mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FEMMGTransferGetMask(Mat P, const FEMMGGrids **grids, const unsigned char **mask)
{
  FEMMGTransfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  *grids = &t->grids;
  *mask  = t->mask;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCFEMMGCreateInterpolation - Creates Q1 interpolation between the nodes of two lattices, as a matrix that stores nothing

  Collective

  Input Parameters:
+ coarse - the coarse `DMDA`, from `PCFEMMGCoarsenDM()`
. fine   - the fine `DMDA`
- free   - a global vector of `fine`, zero for dofs that are held: their rows are zero; or `NULL`

  Output Parameter:
. P - the matrix; it has `MatMult()`, `MatMultAdd()`, and the same of the transpose, which is the restriction

  Level: advanced

  Note:
  It serves `PCMGSetInterpolation()`, too. `MatComputeOperator()` gives its entries.

.seealso: `PCFEMMG`, `PCFEMMGCoarsenDM()`, `PCMGSetInterpolation()`, `DMCreateInterpolation()`
@*/
PetscErrorCode PCFEMMGCreateInterpolation(DM coarse, DM fine, Vec free, Mat *P)
{
  FEMMGTransfer *t;
  PetscInt       m, n;
  PetscMPIInt    size;
  Vec            v;
  VecType        vectype;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(coarse, DM_CLASSID, 1);
  PetscValidHeaderSpecific(fine, DM_CLASSID, 2);
  if (free) PetscValidHeaderSpecific(free, VEC_CLASSID, 3);
  PetscAssertPointer(P, 4);
  PetscCall(PetscNew(&t));
  PetscCall(FEMMGGridsCreate(coarse, fine, &t->grids));
  PetscCall(PetscObjectReference((PetscObject)coarse));
  PetscCall(PetscObjectReference((PetscObject)fine));
  t->coarse = coarse;
  t->fine   = fine;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)fine), &size));
  t->alone = size == 1 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscMalloc1((size_t)PetscMax(t->grids.fine.n[0], t->grids.coarse.n[0]) * t->grids.bs, &t->line));
  PetscCall(DMGetGlobalVector(fine, &v));
  PetscCall(VecGetLocalSize(v, &m));
  PetscCall(DMRestoreGlobalVector(fine, &v));
  PetscCall(DMGetGlobalVector(coarse, &v));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(DMRestoreGlobalVector(coarse, &v));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)fine), m, n, PETSC_DETERMINE, PETSC_DETERMINE, t, P));
  PetscCall(MatSetBlockSizes(*P, t->grids.bs, t->grids.bs));
  PetscCall(DMGetVecType(fine, &vectype));
  PetscCall(MatSetVecType(*P, vectype));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT, (PetscErrorCodeFn *)MatMult_FEMMGTransfer));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MatMultTranspose_FEMMGTransfer));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT_ADD, (PetscErrorCodeFn *)MatMultAdd_FEMMGTransfer));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT_TRANSPOSE_ADD, (PetscErrorCodeFn *)MatMultTransposeAdd_FEMMGTransfer));
  PetscCall(MatShellSetOperation(*P, MATOP_DESTROY, (PetscErrorCodeFn *)MatDestroy_FEMMGTransfer));
  PetscCall(MatSetUp(*P));
  PetscCall(FEMMGTransferSetFree(*P, free));
  PetscFunctionReturn(PETSC_SUCCESS);
}
