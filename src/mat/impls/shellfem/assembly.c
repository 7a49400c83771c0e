/*
  Assembly: the local numbering of nodes, entries that were inserted, and the assembled matrix on demand
*/
#include "shellfemimpl.h"
#include <petsc/private/hashseti.h>

static PetscErrorCode MatShellFEMAddTo(Mat, Mat);

static PetscBool GroupsHaveElements(const Mat_ShellFEM *a)
{
  for (ShellFEMGroup g = a->groups; g; g = g->next)
    if (g->nel) return PETSC_TRUE;
  if (a->lattice)
    for (PetscInt e = 0; e < a->lattice->nel; e++)
      if (a->lattice->ref[e] != ELEMENT_NONE) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* global block numbers of all nodes of a group of elements, for nodes past `numbered` as they were given */
static PetscErrorCode ShellFEMGroupToGlobal(Mat A, ShellFEMGroup g)
{
  const PetscInt b = A->rmap->bs;

  PetscFunctionBegin;
  for (PetscCount k = 0; k < (PetscCount)g->numbered * g->nen; k++) g->conn[k] = g->bs == b ? ShellFEMGroupGlobalNode(A, g->conn[k]) : ShellFEMGroupGlobalNode(A, g->conn[k] / b) * b + g->conn[k] % b;
  g->numbered = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMFindGhosts(Mat A)
{
  Mat_ShellFEM  *a = (Mat_ShellFEM *)A->data;
  const PetscInt b = A->rmap->bs, start = A->rmap->rstart / b, end = A->rmap->rend / b;
  PetscHSetI     set;
  PetscInt       offset = 0;

  PetscFunctionBegin;
  PetscCall(PetscHSetICreate(&set));
  for (ShellFEMGroup g = a->groups; g; g = g->next) {
    PetscCall(ShellFEMGroupToGlobal(A, g));
    for (PetscCount k = 0; k < (PetscCount)g->nel * g->nen; k++) {
      const PetscInt node = g->bs == b ? g->conn[k] : g->conn[k] / b;

      if (node < start || node >= end) PetscCall(PetscHSetIAdd(set, node));
    }
  }
  PetscCall(PetscFree(a->ghosts));
  PetscCall(PetscHSetIGetSize(set, &a->nghost));
  PetscCall(PetscMalloc1(a->nghost, &a->ghosts));
  PetscCall(PetscHSetIGetElems(set, &offset, a->ghosts));
  PetscCall(PetscSortInt(a->nghost, a->ghosts));
  PetscCall(PetscHSetIDestroy(&set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers the nodes of all elements: owned ones first, then ghosts. Collective. */
static PetscErrorCode MatShellFEMNumber(Mat A)
{
  Mat_ShellFEM  *a = (Mat_ShellFEM *)A->data;
  const PetscInt b = A->rmap->bs, start = A->rmap->rstart / b, end = A->rmap->rend / b, n = end - start;
  PetscBool      ghosts, anyghosts;

  PetscFunctionBegin;
  PetscCall(MatShellFEMFindGhosts(A));
  for (ShellFEMGroup g = a->groups; g; g = g->next) {
    for (PetscCount k = 0; k < (PetscCount)g->nel * g->nen; k++) {
      PetscInt node = g->bs == b ? g->conn[k] : g->conn[k] / b, local = node - start;

      if (node < start || node >= end) {
        PetscCall(PetscFindInt(node, a->nghost, a->ghosts, &local));
        local += n;
      }
      g->conn[k] = g->bs == b ? local : local * b + g->conn[k] % b;
    }
    g->numbered = g->nel;
  }
  PetscCall(VecScatterDestroy(&a->scatter));
  PetscCall(VecDestroy(&a->xlocal));
  PetscCall(VecDestroy(&a->ylocal));
  ghosts = a->nghost ? PETSC_TRUE : PETSC_FALSE;
  PetscCallMPI(MPIU_Allreduce(&ghosts, &anyghosts, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (anyghosts) {
    PetscInt *nodes;
    IS        from;
    Vec       global, local;

    PetscCall(PetscMalloc1(n + a->nghost, &nodes));
    for (PetscInt k = 0; k < n; k++) nodes[k] = start + k;
    PetscCall(PetscArraycpy(nodes + n, a->ghosts, a->nghost));
    PetscCall(ISCreateBlock(PETSC_COMM_SELF, b, n + a->nghost, nodes, PETSC_OWN_POINTER, &from));
    PetscCall(VecCreateMPIWithArray(PetscObjectComm((PetscObject)A), b, A->rmap->n, A->rmap->N, NULL, &global));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, b, (n + a->nghost) * b, NULL, &local));
    PetscCall(VecScatterCreate(global, from, local, NULL, &a->scatter));
    PetscCall(ISDestroy(&from));
    PetscCall(VecDestroy(&global));
    PetscCall(VecDestroy(&local));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elements become part of the side matrix, which new values can replace entries of */
static PetscErrorCode MatShellFEMDemote(Mat A, Mat S)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  PetscCall(PetscInfo(A, "Values are inserted over elements: elements become part of the side matrix, which is slower\n"));
  PetscCall(MatShellFEMAddTo(A, S));
  a->capture = PETSC_FALSE;
  for (ShellFEMGroup g = a->groups; g; g = g->next) g->nel = g->numbered = g->cursor = g->nfull = 0;
  if (a->lattice) {
    a->lattice->nfull = 0;
    for (PetscInt e = 0; e < a->lattice->nel; e++) a->lattice->ref[e] = ELEMENT_NONE;
  }
  PetscCall(VecDestroy(&a->L));
  PetscCall(VecDestroy(&a->R));
  PetscCall(VecDestroy(&a->D));
  a->structure = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between adding and inserting; a flush alone does not do for a parallel AIJ without preallocation */
static PetscErrorCode MatSettle(Mat S)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that were kept go to the side matrix; where they replace others, elements have gone there before */
static PetscErrorCode MatShellFEMApplyPending(Mat A, PetscBool demote)
{
  Mat_ShellFEM *a   = (Mat_ShellFEM *)A->data;
  PetscBool     old = a->S ? PETSC_TRUE : PETSC_FALSE;
  Mat           S;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetSide(A, &S));
  PetscCall(MatSetOption(S, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  if (demote) PetscCall(MatShellFEMDemote(A, S));
  if (old || demote) PetscCall(MatSettle(S));
  for (PetscCount k = 0; k < a->npending; k++) PetscCall(MatSetValue(S, a->pendingrow[k], a->pendingcol[k], a->pendingvalue[k], a->pendingmode));
  a->npending = 0;
  PetscCall(MatSettle(S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAssemblyBegin_ShellFEM(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAssemblyEnd_ShellFEM(Mat A, MatAssemblyType type)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  enum {
    PENDING,
    INSERTS,
    NONZERO,
    ELEMENTS,
    SIDE,
    LATTICE,
    STRUCTURE,
    COUNT
  };
  PetscBool mine[COUNT] = {PETSC_FALSE}, any[COUNT];

  PetscFunctionBegin;
  PetscCall(MatTakeVecTypeOfDM(A));
  mine[PENDING] = a->npending ? PETSC_TRUE : PETSC_FALSE;
  mine[INSERTS] = a->npending && a->pendingmode == INSERT_VALUES ? PETSC_TRUE : PETSC_FALSE;
  for (PetscCount k = 0; k < a->npending && !mine[NONZERO]; k++) mine[NONZERO] = a->pendingvalue[k] != (PetscScalar)0. ? PETSC_TRUE : PETSC_FALSE;
  mine[ELEMENTS]  = GroupsHaveElements(a);
  mine[SIDE]      = a->S ? PETSC_TRUE : PETSC_FALSE;
  mine[LATTICE]   = a->lattice ? PETSC_TRUE : PETSC_FALSE;
  mine[STRUCTURE] = a->structure;
  PetscCallMPI(MPIU_Allreduce(mine, any, COUNT, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (any[LATTICE]) { /* also where a process has given no element: ghost values are exchanged by all */
    ShellFEMGroup lattice;

    PetscCall(MatShellFEMGetLattice(A, &lattice));
  }
  if (any[STRUCTURE] && any[INSERTS] && any[ELEMENTS]) PetscCall(MatShellFEMNumber(A)); /* demotion reads the numbering */
  if (any[PENDING] && !any[NONZERO] && !any[SIDE] && !(any[INSERTS] && any[ELEMENTS]))
    a->npending = 0; /* preallocation: zeros into nothing */
  else if (any[PENDING]) {
    PetscCall(MatShellFEMApplyPending(A, any[INSERTS] && any[ELEMENTS] ? PETSC_TRUE : PETSC_FALSE));
    any[SIDE] = PETSC_TRUE;
    if (any[INSERTS] && any[ELEMENTS]) any[STRUCTURE] = PETSC_TRUE;
  }
  if (type == MAT_FLUSH_ASSEMBLY) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatShellFEMTakeViewer(A));
  if (any[SIDE]) {
    Mat S;

    PetscCall(MatShellFEMGetSide(A, &S));
    PetscCall(MatAssemblyBegin(S, type));
    PetscCall(MatAssemblyEnd(S, type));
  }
  if (any[STRUCTURE]) {
    PetscCall(MatShellFEMNumber(A));
    A->nonzerostate++;
    a->structurestate++;
  }
  a->structure = PETSC_FALSE;
  PetscCall(MatShellFEMUpdateMask(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the elements of a group, scaled by L and R (local arrays, or NULL), to B by MatSetValues() */
static PetscErrorCode MatShellFEMAddGroupTo(Mat A, ShellFEMGroup g, const PetscScalar *l, const PetscScalar *r, Mat B)
{
  Mat_ShellFEM  *a    = (Mat_ShellFEM *)A->data;
  const PetscInt b    = A->rmap->bs;
  const size_t   size = (size_t)g->ndof * g->ndof;
  PetscScalar   *k;
  PetscInt      *local, *rows;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(size, &k, g->ndof, &local, g->ndof, &rows));
  for (PetscInt e = 0; e < g->nel; e++) {
    const PetscScalar *K = g->ref[e] == ELEMENT_FULL ? g->full + (size_t)g->fullindex[e] * size : g->K + (size_t)g->ref[e] * size;

    if (g->ref[e] == ELEMENT_NONE) continue;
    for (PetscInt n = 0; n < g->nen; n++) {
      PetscInt node;

      if (g->iscells) {
        const PetscInt i = e % a->cells[0], j = e / a->cells[0] % a->cells[1], c = e / a->cells[0] / a->cells[1];

        node = ((c + (n >> 2)) * a->box.ny + j + ((n >> 1) & 1)) * a->box.nx + i + (n & 1);
      } else
        node = g->conn[(size_t)e * g->nen + n];
      for (PetscInt c = 0; c < g->bs; c++) local[n * g->bs + c] = node * g->bs + c;
    }
    if (g->iscells)
      PetscCall(ISLocalToGlobalMappingApply(A->rmap->mapping, g->ndof, local, rows));
    else
      for (PetscInt n = 0; n < g->ndof; n++) rows[n] = ShellFEMGroupGlobalNode(A, local[n] / b) * b + local[n] % b;
    for (PetscInt p = 0; p < g->ndof; p++)
      for (PetscInt q = 0; q < g->ndof; q++) k[p * g->ndof + q] = g->scale[e] * K[p * g->ndof + q] * (l ? l[local[p]] * r[local[q]] : 1);
    PetscCall(MatSetValues(B, g->ndof, rows, g->ndof, rows, k, ADD_VALUES));
  }
  PetscCall(PetscFree3(k, local, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A local copy of a scaling, which the work vectors of products must not share */
static PetscErrorCode MatShellFEMLocalCopy(Mat A, PetscBool box, Vec v, PetscScalar **copy)
{
  const PetscScalar *va;
  PetscInt           n;
  Vec                local;

  PetscFunctionBegin;
  PetscCall(MatShellFEMForward(A, box, v, &local));
  PetscCall(VecGetLocalSize(local, &n));
  PetscCall(PetscMalloc1(n, copy));
  PetscCall(VecGetArrayRead(local, &va));
  PetscCall(PetscArraycpy(*copy, va, n));
  PetscCall(VecRestoreArrayRead(local, &va));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds all of A to B; the caller assembles B */
static PetscErrorCode MatShellFEMAddTo(Mat A, Mat B)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  PetscCall(MatSetOption(B, MAT_ROW_ORIENTED, PETSC_TRUE));
  for (int box = 0; box < 2; box++) {
    PetscScalar *l = NULL, *r = NULL;

    if (box ? !a->lattice : !a->groups && !a->scatter) continue;
    if (a->L) {
      PetscCall(MatShellFEMLocalCopy(A, box ? PETSC_TRUE : PETSC_FALSE, a->L, &l));
      PetscCall(MatShellFEMLocalCopy(A, box ? PETSC_TRUE : PETSC_FALSE, a->R, &r));
    }
    if (box)
      PetscCall(MatShellFEMAddGroupTo(A, a->lattice, l, r, B));
    else
      for (ShellFEMGroup g = a->groups; g; g = g->next) PetscCall(MatShellFEMAddGroupTo(A, g, l, r, B));
    PetscCall(PetscFree(l));
    PetscCall(PetscFree(r));
  }
  if (a->D) {
    const PetscScalar *d;

    PetscCall(VecGetArrayRead(a->D, &d));
    for (PetscInt k = 0; k < A->rmap->n; k++) PetscCall(MatSetValue(B, A->rmap->rstart + k, A->rmap->rstart + k, d[k], ADD_VALUES));
    PetscCall(VecRestoreArrayRead(a->D, &d));
  }
  if (a->S && B != a->S) {
    for (PetscInt k = A->rmap->rstart; k < A->rmap->rend; k++) {
      const PetscInt    *cols;
      const PetscScalar *vals;
      PetscInt           n;

      PetscCall(MatGetRow(a->S, k, &n, &cols, &vals));
      PetscCall(MatSetValues(B, 1, &k, n, cols, vals, ADD_VALUES));
      PetscCall(MatRestoreRow(a->S, k, &n, &cols, &vals));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MatShellFEMIsAssembled(Mat A)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;

  return a->assembled && a->assembledstate == ((PetscObject)A)->state ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MatShellFEMGetAssembled(Mat A, Mat *B)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  MatNullSpace  nullspace;

  PetscFunctionBegin;
  if (!MatShellFEMIsAssembled(A)) {
    PetscCall(PetscLogEventBegin(MAT_ShellFEMAssemble, A, 0, 0, 0));
    PetscCall(PetscInfo(A, "Assembling the matrix, because an operation needs its rows\n"));
    PetscCall(MatDestroy(&a->assembled));
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &a->assembled));
    PetscCall(MatSetSizes(a->assembled, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizes(a->assembled, A->rmap->bs, A->cmap->bs));
    PetscCall(MatSetType(a->assembled, MATAIJ));
    PetscCall(MatSetUp(a->assembled));
    PetscCall(MatShellFEMAddTo(A, a->assembled));
    PetscCall(MatAssemblyBegin(a->assembled, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(a->assembled, MAT_FINAL_ASSEMBLY));
    if (A->rmap->mapping) PetscCall(MatSetLocalToGlobalMapping(a->assembled, A->rmap->mapping, A->cmap->mapping));
    PetscCall(MatPropagateSymmetryOptions(A, a->assembled));
    PetscCall(MatGetNearNullSpace(A, &nullspace));
    if (nullspace) PetscCall(MatSetNearNullSpace(a->assembled, nullspace));
    PetscCall(MatGetNullSpace(A, &nullspace));
    if (nullspace) PetscCall(MatSetNullSpace(a->assembled, nullspace));
    PetscCall(PetscObjectStateGet((PetscObject)A, &a->assembledstate));
    PetscCall(PetscLogEventEnd(MAT_ShellFEMAssemble, A, 0, 0, 0));
  }
  *B = a->assembled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_ShellFEM(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatConvert(B, type, MAT_REUSE_MATRIX, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &C));
  if (reuse == MAT_INPLACE_MATRIX)
    PetscCall(MatHeaderReplace(A, &C));
  else
    *newmat = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Products with other matrices run on the assembled matrix. The product keeps A, so that the numeric phase can bring the
  assembled matrix up to date.
*/
typedef struct {
  Mat inner; /* the same product with assembled factors */
} ShellFEMProduct;

static PetscErrorCode ShellFEMProductDestroy(PetscCtxRt ctx)
{
  ShellFEMProduct *p = *(ShellFEMProduct **)ctx;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->inner));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor itself, or assembled if it is one of ours */
static PetscErrorCode ShellFEMProductFactor(Mat F, Mat *assembled)
{
  PetscBool ours = PETSC_FALSE;

  PetscFunctionBegin;
  *assembled = F;
  if (F) PetscCall(PetscObjectTypeCompare((PetscObject)F, MATSHELLFEM, &ours));
  if (ours) {
    PetscCheck(F->assembled, PetscObjectComm((PetscObject)F), PETSC_ERR_ARG_WRONGSTATE, "Product of a SHELLFEM matrix that has no values: call MatAssemblyBegin() and MatAssemblyEnd() first");
    PetscCall(MatShellFEMGetAssembled(F, assembled));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_ShellFEM(Mat C)
{
  Mat_Product     *product = C->product;
  ShellFEMProduct *p;
  Mat              A, B, D;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  p = (ShellFEMProduct *)product->data;
  PetscCheck(p, PetscObjectComm((PetscObject)C), PETSC_ERR_ORDER, "The product's data was cleared; call MatProductSymbolic() first");
  PetscCall(ShellFEMProductFactor(product->A, &A));
  PetscCall(ShellFEMProductFactor(product->B, &B));
  PetscCall(ShellFEMProductFactor(product->C, &D));
  PetscCall(MatProductReplaceMats(A, B, D, p->inner));
  PetscCall(MatProductNumeric(p->inner));
  PetscCall(MatCopy(p->inner, C, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_ShellFEM(Mat C)
{
  Mat_Product     *product = C->product;
  ShellFEMProduct *p;
  Mat              A, B, D, copy;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(PetscNew(&p));
  PetscCall(ShellFEMProductFactor(product->A, &A));
  PetscCall(ShellFEMProductFactor(product->B, &B));
  PetscCall(ShellFEMProductFactor(product->C, &D));
  PetscCall(MatProductCreate(A, B, D, &p->inner));
  PetscCall(MatProductSetType(p->inner, product->type));
  PetscCall(MatProductSetAlgorithm(p->inner, product->alg));
  PetscCall(MatProductSetFill(p->inner, product->fill));
  PetscCall(MatProductSetFromOptions(p->inner));
  PetscCall(MatProductSymbolic(p->inner));
  PetscCall(MatProductNumeric(p->inner));
  PetscCall(MatDuplicate(p->inner, MAT_COPY_VALUES, &copy));
  C->product = NULL; /* survives the replacement of the header */
  PetscCall(MatHeaderReplace(C, &copy));
  C->product             = product;
  product->data          = p;
  product->destroy       = ShellFEMProductDestroy;
  C->ops->productnumeric = MatProductNumeric_ShellFEM;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_ShellFEM(Mat C)
{
  PetscFunctionBegin;
  C->ops->productsymbolic = MatProductSymbolic_ShellFEM;
  PetscFunctionReturn(PETSC_SUCCESS);
}
