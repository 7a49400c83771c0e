/*
  Coarse operators: MATSHELLFEM matrices whose elements are P' A P of the finer ones (coarse.h)
*/
#include "femmgimpl.h"

/* Refuses, with a reason, what has no elements on a lattice, or more than elements. Collective. */
PetscErrorCode FEMMGCheckOperator(PC pc, Mat A)
{
  const MPI_Comm           comm = PetscObjectComm((PetscObject)pc);
  Mat_ShellFEM            *a;
  PetscBool                ours;
  PetscInt                 wrong[2] = {0, 0};
  static const char *const remedy   = "use -pc_type gamg, which assembles it";

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELLFEM, &ours));
  PetscCheck(ours, comm, PETSC_ERR_ARG_WRONG, "The matrix has type %s; femmg needs elements: take -dm_mat_type shellfem on a DMDA, or use -pc_type mg or gamg for other types", ((PetscObject)A)->type_name);
  a = (Mat_ShellFEM *)A->data;
  for (ShellFEMGroup g = a->groups; g; g = g->next) wrong[0] += g->nel;
  if (a->S) { /* its diagonal is like any other */
    for (PetscInt r = A->rmap->rstart; r < A->rmap->rend; r++) {
      const PetscInt    *cols;
      const PetscScalar *vals;
      PetscInt           n;

      PetscCall(MatGetRow(a->S, r, &n, &cols, &vals));
      for (PetscInt k = 0; k < n; k++) wrong[1] += cols[k] != r && vals[k] != (PetscScalar)0.;
      PetscCall(MatRestoreRow(a->S, r, &n, &cols, &vals));
    }
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, wrong, 2, MPIU_INT, MPI_SUM, comm));
  PetscCheck(!wrong[0], comm, PETSC_ERR_SUP, "%" PetscInt_FMT " elements of the matrix are given by connectivity; femmg needs cells of a DMDA: give them by MatSetValuesStencil() or MatSetValuesLocal() to a matrix of DMCreateMatrix() with a box stencil and without -mat_shellfem_lattice 0, or %s", wrong[0], remedy);
  PetscCheck(a->lattice, comm, PETSC_ERR_SUP, "The matrix has no cells of a DMDA; create it by DMCreateMatrix() on a DMDA with a box stencil, or %s", remedy);
  PetscCheck(!wrong[1], comm, PETSC_ERR_SUP, "The matrix has %" PetscInt_FMT " entries off the diagonal that belong to no element, which have no place on coarse lattices; add them as part of elements, or %s", wrong[1], remedy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FEMMGCreateCoarseMat(DM da, Mat fine, Mat *A)
{
  ISLocalToGlobalMapping map;
  Vec                    v;
  PetscInt               n, bs;
  PetscBool              bound;

  PetscFunctionBegin;
  PetscCall(DMGetGlobalVector(da, &v));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(DMRestoreGlobalVector(da, &v));
  PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bs, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)da), A));
  PetscCall(MatSetSizes(*A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, MATSHELLFEM));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetLocalToGlobalMapping(*A, map, map));
  PetscCall(MatSetDM(*A, da));
  PetscCall(MatBoundToCPU(fine, &bound));
  PetscCall(MatBindToCPU(*A, bound));
  PetscCall(MatSetVecType(*A, fine->defaultvectype));
  ((Mat_ShellFEM *)(*A)->data)->kernel    = ((Mat_ShellFEM *)fine->data)->kernel;
  ((Mat_ShellFEM *)(*A)->data)->precision = ((Mat_ShellFEM *)fine->data)->precision;
  PetscCall(MatPropagateSymmetryOptions(fine, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* free = 0 on dofs whose row or column is held, and on those that nothing reaches; refuses any other scaling */
PetscErrorCode FEMMGGetFree(Mat A, Vec free)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  const PetscScalar  *l = NULL, *r = NULL;
  PetscScalar        *f;
  PetscInt            other = 0;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(A, free));
  PetscCall(VecGetArray(free, &f));
  for (PetscInt k = 0; k < A->rmap->n; k++) f[k] = f[k] == (PetscScalar)0. ? 0 : 1;
  if (a->L) {
    PetscCall(VecGetArrayRead(a->L, &l));
    PetscCall(VecGetArrayRead(a->R, &r));
    for (PetscInt k = 0; k < A->rmap->n; k++) {
      if (l[k] == (PetscScalar)0. || r[k] == (PetscScalar)0.)
        f[k] = 0;
      else
        other += l[k] != (PetscScalar)1. || r[k] != (PetscScalar)1.;
    }
    PetscCall(VecRestoreArrayRead(a->L, &l));
    PetscCall(VecRestoreArrayRead(a->R, &r));
  }
  PetscCall(VecRestoreArray(free, &f));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &other, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCheck(!other, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "%" PetscInt_FMT " rows or columns were scaled by MatDiagonalScale(); femmg knows factors 0 (held dofs) and 1 only: scale the elements, or use -pc_type gamg", other);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D and the diagonal of S in the local box, zero on nodes of other processes; NULL where it is zero on all free dofs */
static PetscErrorCode GetBoxDiagonal(Mat A, const FEMMGGrids *g, const unsigned char *mask, PetscScalar **diag)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  const PetscScalar  *d;
  PetscInt            t = 0, some = 0;
  Vec                 sum;

  PetscFunctionBegin;
  *diag = NULL;
  if (!a->D && !a->S) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &sum, NULL));
  if (a->S)
    PetscCall(MatGetDiagonal(a->S, sum));
  else
    PetscCall(VecSet(sum, 0.));
  if (a->D) PetscCall(VecPlus_ShellFEM(sum, 1., a->D));
  PetscCall(PetscCalloc1((size_t)g->fine.n[0] * g->fine.n[1] * g->fine.n[2] * g->bs, diag));
  PetscCall(VecGetArrayRead(sum, &d));
  for (PetscInt k = 0; k < g->fine.ownn[2]; k++)
    for (PetscInt j = 0; j < g->fine.ownn[1]; j++)
      for (PetscInt i = 0; i < g->fine.ownn[0] * g->bs; i++, t++) {
        const PetscCount row = ((PetscCount)(k + g->fine.ownlow[2] - g->fine.low[2]) * g->fine.n[1] + j + g->fine.ownlow[1] - g->fine.low[1]) * g->fine.n[0];
        const PetscCount dof = (row + g->fine.ownlow[0] - g->fine.low[0]) * g->bs + i;

        if (mask && !mask[dof]) continue;
        (*diag)[dof] = d[t];
        some += d[t] != (PetscScalar)0.;
      }
  PetscCall(VecRestoreArrayRead(sum, &d));
  PetscCall(VecDestroy(&sum));
  if (!some) PetscCall(PetscFree(*diag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the cells of the coarse lattice what they are; memory is only taken when more cells than ever need a matrix of their own */
static PetscErrorCode SetCoarseElements(FEMMGCoarsening *s, ShellFEMGroup g)
{
  const size_t size = (size_t)g->ndof * g->ndof;
  PetscScalar *table, *K, *work;
  PetscInt     nfull;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(s->m.nref * FEMMGChildren(&s->grids) * size, &table, s->m.nref * size, &K, size, &work));
  s->table = table;
  FEMMGCoarsenReferences_Host(s, table, K);
  g->nref = g->lastref = 0;
  PetscCall(ElementPlanDestroy(&g->plan));
  g->planned = PETSC_FALSE;
  PetscCall(ShellFEMGroupSetReferences(g, s->m.nref, K));
  if (!g->fullindex) PetscCall(PetscMalloc1(g->allocated, &g->fullindex));
  nfull = FEMMGClassify_Host(s, g->ref, g->scale, g->fullindex);
  PetscCheck(nfull >= 0, PETSC_COMM_SELF, PETSC_ERR_SUP, "A process holds elements that are not next to its own nodes: let each element be given by the process of one of its nodes");
  if (nfull > g->allocatedfull) {
    g->allocatedfull = PetscMin(g->nel, nfull + nfull / 8);
    PetscCall(PetscFree(g->full));
    PetscCall(PetscMalloc1((size_t)g->allocatedfull * size, &g->full));
  }
  g->nfull = nfull;
  FEMMGGalerkin_Host(s, g->ref, g->fullindex, work, g->full);
  PetscCall(PetscFree3(table, K, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns that are not free become those of the identity */
static PetscErrorCode Hold(Mat A, Vec free)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  PetscScalar   sum;

  PetscFunctionBegin;
  PetscCall(VecSum(free, &sum));
  if (PetscRealPart(sum) < A->rmap->N) {
    PetscCall(VecDuplicate(free, &a->L));
    PetscCall(VecDuplicate(free, &a->R));
    PetscCall(VecDuplicate(free, &a->D));
    PetscCall(VecCopy(free, a->L));
    PetscCall(VecCopy(free, a->R));
    PetscCall(VecSet(a->D, 1.));
    PetscCall(VecAXPY(a->D, -1., free));
  }
  PetscCall(MatShellFEMUpdateMask(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coarse = P' A P, with the identity where that has zero rows; coarsefree tells where */
PetscErrorCode FEMMGCoarsenOperator(Mat A, Mat P, Mat coarse, Vec coarsefree)
{
  Mat_ShellFEM     *a = (Mat_ShellFEM *)A->data, *c = (Mat_ShellFEM *)coarse->data;
  const FEMMGGrids *grids;
  FEMMGCoarsening   s;
  ShellFEMGroup     g;
  PetscScalar      *diag;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PC_FEMMGCoarsen, A, P, coarse, 0));
  PetscCall(MatShellFEMHostScales(A));
  PetscCall(FEMMGTransferGetMask(P, &grids, &s.mask));
  PetscCall(GetBoxDiagonal(A, grids, s.mask, &diag));
  PetscCall(MatShellFEMGetLattice(coarse, &g));
  s.grids = *grids;
  s.m     = ShellFEMGroupMatrices(a->lattice);
  s.diag  = diag;
  PetscCall(SetCoarseElements(&s, g));
  PetscCall(PetscFree(diag));
  PetscCall(VecDestroy(&c->L));
  PetscCall(VecDestroy(&c->R));
  PetscCall(VecDestroy(&c->D));
  c->structurestate++;
  PetscCall(MatAssemblyBegin(coarse, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(coarse, MAT_FINAL_ASSEMBLY));
  PetscCall(FEMMGGetFree(coarse, coarsefree));
  PetscCall(Hold(coarse, coarsefree));
  PetscCall(PetscLogEventEnd(PC_FEMMGCoarsen, A, P, coarse, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
