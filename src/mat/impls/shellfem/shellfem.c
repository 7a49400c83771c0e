/*
  MATSHELLFEM: life cycle, options, view, operations on the whole matrix
*/
#include "shellfemimpl.h"

PetscLogEvent MAT_ShellFEMAssemble;

static PetscErrorCode MatSetFromOptions_ShellFEM(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "SHELLFEM options");
  PetscCall(PetscOptionsBool("-mat_shellfem_capture", "Take square blocks of values that are added as elements", MATSHELLFEM, a->capture, &a->capture, NULL));
  PetscCall(PetscOptionsBool("-mat_shellfem_lattice", "Store no connectivity for cells of a DMDA", MATSHELLFEM, a->uselattice, &a->uselattice, NULL));
  PetscCall(PetscOptionsRangeInt("-mat_shellfem_max_references", "Reference matrices at most for each shape; elements that match none keep a matrix of their own", MATSHELLFEM, a->maxref, &a->maxref, NULL, 0, 4096));
  PetscCall(PetscOptionsReal("-mat_shellfem_classify_rtol", "An element matches a reference matrix when entries differ by less, relative to its largest entry", MATSHELLFEM, a->rtol, &a->rtol, NULL));
  PetscCall(PetscOptionsEnum("-mat_shellfem_kernel", "How products are computed on a GPU", MATSHELLFEM, ElementKernels, (PetscEnum)a->kernel, (PetscEnum *)&a->kernel, NULL));
  PetscCall(PetscOptionsEnum("-mat_shellfem_precision", "How products store vectors and scales, less than PetscScalar's for preconditioners", MATSHELLFEM, ElementPrecisions, (PetscEnum)a->precision, (PetscEnum *)&a->precision, NULL));
  PetscOptionsHeadEnd();
  PetscCheck(!PetscDefined(USE_COMPLEX) || a->precision == ELEMENT_PETSC, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "-mat_shellfem_precision %s is for real scalars", ElementPrecisions[a->precision]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that PETSc dealt out when the type was set are dealt out again in whole blocks */
static PetscErrorCode MatSetBlockSizes_ShellFEM(Mat A, PetscInt rbs, PetscInt cbs)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  PetscLayout   rmap, cmap;

  PetscFunctionBegin;
  if (!a->decided || A->preallocated || A->rmap->mapping || A->cmap->mapping || A->rmap->N < 0 || A->cmap->N < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLayoutCreateFromSizes(PetscObjectComm((PetscObject)A), PETSC_DECIDE, A->rmap->N, rbs, &rmap));
  PetscCall(PetscLayoutCreateFromSizes(PetscObjectComm((PetscObject)A), PETSC_DECIDE, A->cmap->N, cbs, &cmap));
  PetscCall(PetscLayoutDestroy(&A->rmap));
  PetscCall(PetscLayoutDestroy(&A->cmap));
  A->rmap = rmap;
  A->cmap = cmap;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetUp_ShellFEM(Mat A)
{
  PetscBool rectangular;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  rectangular = A->rmap->N != A->cmap->N || A->rmap->n != A->cmap->n || A->rmap->bs != A->cmap->bs ? PETSC_TRUE : PETSC_FALSE;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &rectangular, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (rectangular) { /* PCGAMG makes its prolongations of the type of the matrix */
    PetscCall(PetscInfo(A, "Rows and columns are not distributed alike: no elements fit here, the matrix becomes an AIJ\n"));
    PetscCall(MatSetType(A, MATAIJ));
    PetscCall(MatSetUp(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  A->preallocated = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatReset_ShellFEM(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  while (a->groups) {
    ShellFEMGroup next = a->groups->next;

    PetscCall(ShellFEMGroupDestroy(&a->groups));
    a->groups = next;
  }
  PetscCall(ShellFEMGroupDestroy(&a->lattice));
  PetscCall(PetscFree(a->ghosts));
  PetscCall(VecScatterDestroy(&a->scatter));
  PetscCall(VecDestroy(&a->xlocal));
  PetscCall(VecDestroy(&a->ylocal));
  PetscCall(VecDestroy(&a->xbox));
  PetscCall(VecDestroy(&a->ybox));
  PetscCall(VecDestroy(&a->work));
  PetscCall(VecDestroy(&a->sum));
  PetscCall(VecDestroy(&a->L));
  PetscCall(VecDestroy(&a->R));
  PetscCall(VecDestroy(&a->D));
  PetscCall(PetscFree(a->mask));
  PetscCall(PetscFree(a->boxmask));
  PetscCall(MatDestroy(&a->S));
  PetscCall(PetscFree(a->pendingrow));
  PetscCall(PetscFree(a->pendingcol));
  PetscCall(PetscFree(a->pendingvalue));
  PetscCall(MatDestroy(&a->assembled));
  PetscCall(PetscFree(a->blockinverse));
#if PetscDefined(HAVE_CUDA)
  PetscCall(ShellFEMDeviceDestroy(&a->device));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const composed[] = {"MatConvert_shellfem_aij_C", "MatConvert_shellfem_seqaij_C", "MatConvert_shellfem_mpiaij_C"};

static PetscErrorCode MatDestroy_ShellFEM(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatReset_ShellFEM(A));
  for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(composed); f++) PetscCall(PetscObjectComposeFunction((PetscObject)A, composed[f], NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", NULL));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The elements of a re-assembly are expected in the same order; no memory is given back */
static PetscErrorCode ShellFEMGroupZero(ShellFEMGroup g)
{
  PetscFunctionBegin;
  g->cursor = g->nfull = 0;
  g->swept             = PETSC_FALSE;
  for (PetscInt e = 0; e < g->nel; e++) {
    if (!g->native || g->ref[e] == ELEMENT_FULL) g->ref[e] = ELEMENT_NONE;
    g->scale[e] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroEntries_ShellFEM(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  a->scalesondevice = PETSC_FALSE;
  for (ShellFEMGroup g = a->groups; g; g = g->next) PetscCall(ShellFEMGroupZero(g));
  if (a->lattice) PetscCall(ShellFEMGroupZero(a->lattice));
  PetscCall(VecDestroy(&a->L));
  PetscCall(VecDestroy(&a->R));
  PetscCall(VecDestroy(&a->D));
  a->npending = 0;
  if (a->S) PetscCall(MatZeroEntries(a->S));
  PetscCall(MatShellFEMUpdateMask(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellFEMGroupScale(ShellFEMGroup g, PetscScalar s)
{
  PetscFunctionBegin;
  for (PetscInt e = 0; e < g->nel; e++)
    if (g->ref[e] != ELEMENT_FULL) g->scale[e] *= s;
  for (PetscCount k = 0; k < (PetscCount)g->nfull * g->ndof * g->ndof; k++) g->full[k] *= s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_ShellFEM(Mat A, PetscScalar s)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  for (ShellFEMGroup g = a->groups; g; g = g->next) PetscCall(ShellFEMGroupScale(g, s));
  if (a->lattice) PetscCall(ShellFEMGroupScale(a->lattice, s));
  if (a->D) PetscCall(VecScale(a->D, s));
  if (a->S) PetscCall(MatScale(a->S, s));
  a->state++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDuplicateWithValues(Vec v, Vec *copy)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(copy));
  if (v) {
    PetscCall(VecDuplicate(v, copy));
    PetscCall(VecCopy(v, *copy));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B, whose layout is that of A, becomes A, with its values or only its elements */
static PetscErrorCode MatShellFEMCopyInto(Mat A, PetscBool values, Mat B)
{
  Mat_ShellFEM  *a = (Mat_ShellFEM *)A->data, *b = (Mat_ShellFEM *)B->data;
  ShellFEMGroup *last = &b->groups;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  for (ShellFEMGroup g = a->groups; g; g = g->next, last = &(*last)->next) PetscCall(ShellFEMGroupDuplicate(g, values, last));
  if (a->lattice) PetscCall(ShellFEMGroupDuplicate(a->lattice, values, &b->lattice));
  b->box         = a->box;
  b->boxisglobal = a->boxisglobal;
  b->dm          = a->dm;
  PetscCall(PetscArraycpy(b->cells, a->cells, 3));
  PetscCall(PetscArraycpy(b->ownedlow, a->ownedlow, 3));
  PetscCall(PetscArraycpy(b->ownedn, a->ownedn, 3));
  b->nghost = a->nghost;
  PetscCall(PetscMalloc1(a->nghost, &b->ghosts));
  PetscCall(PetscArraycpy(b->ghosts, a->ghosts, a->nghost));
  PetscCall(PetscObjectReference((PetscObject)a->scatter));
  b->scatter     = a->scatter;
  b->structure   = a->structure;
  b->capture     = a->capture;
  b->uselattice  = a->uselattice;
  b->roworiented = a->roworiented;
  b->maxref      = a->maxref;
  b->rtol        = a->rtol;
  b->kernel      = a->kernel;
  b->precision   = a->precision;
  if (values) {
    PetscCall(VecDuplicateWithValues(a->L, &b->L));
    PetscCall(VecDuplicateWithValues(a->R, &b->R));
    PetscCall(VecDuplicateWithValues(a->D, &b->D));
  }
  if (a->S) PetscCall(MatDuplicate(a->S, values ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, &b->S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_ShellFEM(Mat A, MatDuplicateOption op, Mat *B)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  PetscBool     bound;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(PetscLayoutReference(A->rmap, &(*B)->rmap));
  PetscCall(PetscLayoutReference(A->cmap, &(*B)->cmap));
  PetscCall(MatSetType(*B, MATSHELLFEM));
  PetscCall(MatSetUp(*B));
  if (a->dm) PetscCall(MatSetDM(*B, a->dm));
  (*B)->stencil = A->stencil;
  PetscCall(MatShellFEMCopyInto(A, op == MAT_COPY_VALUES ? PETSC_TRUE : PETSC_FALSE, *B));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatBindToCPU(*B, bound));
  PetscCall(MatSetVecType(*B, A->defaultvectype));
  (*B)->assembled = A->assembled;
  PetscCall(MatShellFEMUpdateMask(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_ShellFEM(Mat A, Mat B, MatStructure str)
{
  PetscBool same;
  PetscErrorCode (*viewdm)(Mat, PetscViewer);

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSHELLFEM, &same));
  if (!same) {
    Mat assembled;

    PetscCall(MatShellFEMGetAssembled(A, &assembled));
    PetscCall(MatCopy(assembled, B, str));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatReset_ShellFEM(B));
  viewdm = ((Mat_ShellFEM *)B->data)->viewdm;
  PetscCall(PetscMemzero(B->data, sizeof(Mat_ShellFEM)));
  ((Mat_ShellFEM *)B->data)->viewdm = viewdm;
  PetscCall(MatShellFEMCopyInto(A, PETSC_TRUE, B));
  PetscCall(MatShellFEMUpdateMask(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetOption_ShellFEM(Mat A, MatOption op, PetscBool flg)
{
  PetscFunctionBegin;
  if (op == MAT_ROW_ORIENTED)
    ((Mat_ShellFEM *)A->data)->roworiented = flg;
  else
    PetscCall(PetscInfo(A, "Option %s has no effect on elements\n", MatOptions[op]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_ShellFEM(Mat A, PetscBool flg)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
#if PetscDefined(HAVE_DEVICE)
  A->boundtocpu = flg;
#endif
  if (a->S) PetscCall(MatBindToCPU(a->S, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations on rows go through the assembled matrix */
static PetscErrorCode MatGetRow_ShellFEM(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **vals)
{
  Mat         B;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1 || MatShellFEMIsAssembled(A), PETSC_COMM_SELF, PETSC_ERR_SUP, "Rows of a parallel SHELLFEM matrix need it assembled, by all processes: call MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B) and take the rows of B");
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatGetRow(B, row, n, (const PetscInt **)cols, (const PetscScalar **)vals));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreRow_ShellFEM(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **vals)
{
  PetscFunctionBegin;
  PetscCall(MatRestoreRow(((Mat_ShellFEM *)A->data)->assembled, row, n, (const PetscInt **)cols, (const PetscScalar **)vals));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_ShellFEM(Mat A, NormType type, PetscReal *norm)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatNorm(B, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonalBlock_ShellFEM(Mat A, Mat *block)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatGetDiagonalBlock(B, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSOR_ShellFEM(Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatSOR(B, b, omega, flag, shift, its, lits, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateGraph_ShellFEM(Mat A, PetscBool sym, PetscBool scale, PetscReal filter, PetscInt n, PetscInt index[], Mat *graph)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatCreateGraph(B, sym, scale, filter, n, index, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrices_ShellFEM(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *submat[])
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatCreateSubMatrices(B, n, rows, cols, reuse, submat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIncreaseOverlap_ShellFEM(Mat A, PetscInt n, IS is[], PetscInt overlap)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatIncreaseOverlap(B, n, is, overlap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrix_ShellFEM(Mat A, IS rows, IS cols, MatReuse reuse, Mat *submat)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetAssembled(A, &B));
  PetscCall(MatCreateSubMatrix(B, rows, cols, reuse, submat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt64 elements, full, references, bytes;
} ShellFEMCount;

static void ShellFEMGroupCount(ShellFEMGroup g, ShellFEMCount *c)
{
  const size_t size = sizeof(PetscScalar) * (size_t)g->ndof * g->ndof;

  for (PetscInt e = 0; e < g->nel; e++) {
    c->elements += g->ref[e] != ELEMENT_NONE;
    c->full += g->ref[e] == ELEMENT_FULL;
  }
  c->references += g->nref;
  c->bytes += (PetscInt64)((size_t)g->allocated * (sizeof(PetscInt) + sizeof(PetscScalar)) + (size_t)g->allocatedref * size + (size_t)g->allocatedfull * size);
  if (g->fullindex) c->bytes += (PetscInt64)((size_t)g->allocated * sizeof(PetscInt));
  if (!g->iscells) c->bytes += (PetscInt64)((size_t)g->allocated * g->nen * sizeof(PetscInt));
}

/* Elements and bytes of all groups, masks and scalings on this process */
static ShellFEMCount MatShellFEMCount(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  ShellFEMCount c = {0, 0, 0, 0};

  for (ShellFEMGroup g = a->groups; g; g = g->next) ShellFEMGroupCount(g, &c);
  if (a->lattice) ShellFEMGroupCount(a->lattice, &c);
  c.bytes += (PetscInt64)(sizeof(PetscScalar) * (size_t)A->rmap->n * ((a->L ? 2 : 0) + (a->D ? 1 : 0)));
  if (a->mask) c.bytes += A->rmap->n + a->nghost * A->rmap->bs;
  if (a->boxmask) c.bytes += (PetscInt64)a->box.nx * a->box.ny * a->box.nz * a->box.bs;
  return c;
}

static PetscErrorCode MatGetInfo_ShellFEM(Mat A, MatInfoType type, MatInfo *info)
{
  Mat_ShellFEM  *a     = (Mat_ShellFEM *)A->data;
  ShellFEMCount  count = MatShellFEMCount(A);
  MatInfo        side  = {0};
  PetscLogDouble mine[2], sum[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  if (a->S) PetscCall(MatGetInfo(a->S, MAT_LOCAL, &side));
  mine[0] = (PetscLogDouble)count.bytes + side.memory;
  mine[1] = side.nz_used;
  PetscCallMPI(MPIU_Allreduce(mine, sum, 2, MPI_DOUBLE, type == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM, type == MAT_LOCAL ? PETSC_COMM_SELF : PetscObjectComm((PetscObject)A)));
  info->block_size = 1.0;
  info->memory     = sum[0];
  info->nz_used    = sum[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMViewInfo(Mat A, PetscViewer viewer)
{
  Mat_ShellFEM *a     = (Mat_ShellFEM *)A->data;
  ShellFEMCount count = MatShellFEMCount(A);
  PetscInt64    mine[6], sum[6], most;
  MatInfo       info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  mine[0] = count.elements;
  mine[1] = count.full;
  mine[2] = count.bytes;
  mine[3] = 0;
  if (a->lattice)
    for (PetscInt e = 0; e < a->lattice->nel; e++) mine[3] += a->lattice->ref[e] != ELEMENT_NONE;
  mine[4] = a->nghost;
  mine[5] = 0;
  if (a->masked) {
    const PetscScalar *l;

    PetscCall(VecGetArrayRead(a->L, &l));
    for (PetscInt k = 0; k < A->rmap->n; k++) mine[5] += l[k] == (PetscScalar)0.;
    PetscCall(VecRestoreArrayRead(a->L, &l));
  }
  PetscCallMPI(MPIU_Allreduce(mine, sum, 6, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCallMPI(MPIU_Allreduce(&count.references, &most, 1, MPIU_INT64, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "elements: %" PetscInt64_FMT ", of which %" PetscInt64_FMT " cells of a lattice without connectivity and %" PetscInt64_FMT " with a matrix of their own\n", sum[0], sum[3], sum[1]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "reference matrices: %" PetscInt64_FMT " at most on a process; lattice kernel: %s\n", most, a->lattice ? (a->lattice->planned ? ElementPlanName(a->lattice->plan) : "not chosen yet") : "none"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "Dirichlet rows: %" PetscInt64_FMT " masked%s; other entries in a side matrix: %g nonzeros; ghost nodes: %" PetscInt64_FMT "\n", sum[5], a->L && !a->masked ? " (general scaling)" : "", (double)info.nz_used, sum[4]));
  if (a->kernel != ELEMENT_KERNEL_AUTO || a->precision != ELEMENT_PETSC) PetscCall(PetscViewerASCIIPrintf(viewer, "kernel on a GPU: %s; precision of products: %s\n", ElementKernels[a->kernel], ElementPrecisions[a->precision]));
#if PetscDefined(HAVE_CUDA)
  {
    PetscInt64 device;

    PetscCall(MatShellFEMDeviceBytes(A, &device));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &device, 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
    if (device && sum[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "memory on the GPU: %.4g MB, %.4g bytes per element\n", device / 1e6, device / (double)sum[0]));
  }
#endif
  if (sum[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "memory: %.4g MB, %.4g bytes per element\n", info.memory / 1e6, info.memory / (double)sum[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_ShellFEM(Mat A, PetscViewer viewer)
{
  PetscBool         isascii;
  PetscViewerFormat format;
  Mat_ShellFEM     *a = (Mat_ShellFEM *)A->data;
  Mat               B;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (isascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL))
    PetscCall(MatShellFEMViewInfo(A, viewer));
  else if (a->viewdm)
    PetscCall((*a->viewdm)(A, viewer));
  else {
    PetscCall(MatShellFEMGetAssembled(A, &B));
    PetscCall(MatView(B, viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A parallel DMDA puts a viewer of its own in front, in natural order, which says nothing of the elements */
PetscErrorCode MatShellFEMTakeViewer(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  if (A->ops->view == MatView_ShellFEM) PetscFunctionReturn(PETSC_SUCCESS);
  a->viewdm    = A->ops->view;
  A->ops->view = MatView_ShellFEM;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_ShellFEM(Mat A)
{
  Mat_ShellFEM *a;

  PetscFunctionBegin;
  PetscCall(PetscNew(&a));
  A->data        = a;
  a->capture     = PETSC_TRUE;
  a->uselattice  = PETSC_TRUE;
  a->roworiented = PETSC_TRUE;
  a->maxref      = 16;
  a->rtol        = 8 * PETSC_MACHINE_EPSILON;
  a->structure   = PETSC_TRUE;
  a->kernel      = ELEMENT_KERNEL_AUTO;
  a->precision   = ELEMENT_PETSC;

  A->ops->setvalues             = MatSetValues_ShellFEM;
  A->ops->setvaluesblocked      = MatSetValuesBlocked_ShellFEM;
  A->ops->setvalueslocal        = MatSetValuesLocal_ShellFEM;
  A->ops->setvaluesblockedlocal = MatSetValuesBlockedLocal_ShellFEM;
  A->ops->assemblybegin         = MatAssemblyBegin_ShellFEM;
  A->ops->assemblyend           = MatAssemblyEnd_ShellFEM;
  A->ops->setup                 = MatSetUp_ShellFEM;
  A->ops->setblocksizes         = MatSetBlockSizes_ShellFEM;
  A->ops->setfromoptions        = MatSetFromOptions_ShellFEM;
  A->ops->destroy               = MatDestroy_ShellFEM;
  A->ops->view                  = MatView_ShellFEM;
  A->ops->getinfo               = MatGetInfo_ShellFEM;
  A->ops->mult                  = MatMult_ShellFEM;
  A->ops->multadd               = MatMultAdd_ShellFEM;
  A->ops->multtranspose         = MatMultTranspose_ShellFEM;
  A->ops->multtransposeadd      = MatMultTransposeAdd_ShellFEM;
  A->ops->getdiagonal           = MatGetDiagonal_ShellFEM;
  A->ops->invertblockdiagonal   = MatInvertBlockDiagonal_ShellFEM;
  A->ops->getdiagonalblock      = MatGetDiagonalBlock_ShellFEM;
  A->ops->createsubmatrices     = MatCreateSubMatrices_ShellFEM;
  A->ops->createsubmatrix       = MatCreateSubMatrix_ShellFEM;
  A->ops->increaseoverlap       = MatIncreaseOverlap_ShellFEM;
  A->ops->sor                   = MatSOR_ShellFEM;
  A->ops->creategraph           = MatCreateGraph_ShellFEM;
  A->ops->getrow                = MatGetRow_ShellFEM;
  A->ops->restorerow            = MatRestoreRow_ShellFEM;
  A->ops->norm                  = MatNorm_ShellFEM;
  A->ops->convert               = MatConvert_ShellFEM;
  A->ops->duplicate             = MatDuplicate_ShellFEM;
  A->ops->copy                  = MatCopy_ShellFEM;
  A->ops->zeroentries           = MatZeroEntries_ShellFEM;
  A->ops->scale                 = MatScale_ShellFEM;
  A->ops->shift                 = MatShift_ShellFEM;
  A->ops->diagonalset           = MatDiagonalSet_ShellFEM;
  A->ops->diagonalscale         = MatDiagonalScale_ShellFEM;
  A->ops->zerorows              = MatZeroRows_ShellFEM;
  A->ops->zerorowscolumns       = MatZeroRowsColumns_ShellFEM;
  A->ops->setoption             = MatSetOption_ShellFEM;
  A->ops->bindtocpu             = MatBindToCPU_ShellFEM;
  for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(composed); f++) PetscCall(PetscObjectComposeFunction((PetscObject)A, composed[f], MatConvert_ShellFEM));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", MatProductSetFromOptions_ShellFEM));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSHELLFEM));
  MatStartUnbound(A);
  /* programs that preallocate ask for the ownership range next; the preallocation functions themselves are not composed,
     for DMDA would take the matrix for an AIJ */
  a->decided = A->rmap->n < 0 && A->cmap->n < 0 ? PETSC_TRUE : PETSC_FALSE;
  if (A->rmap->n >= 0 || A->rmap->N >= 0) PetscCall(PetscLayoutSetUp(A->rmap));
  if (A->cmap->n >= 0 || A->cmap->N >= 0) PetscCall(PetscLayoutSetUp(A->cmap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATSHELLFEM - "shellfem" - A finite-element operator that keeps elements and is never assembled

   Options Database Keys:
+  -mat_type shellfem                   - sets the type, -dm_mat_type for matrices of a `DM`
.  -mat_shellfem_capture <true>         - take square blocks of values that are added as elements
.  -mat_shellfem_lattice <true>         - store no connectivity for cells of a `DMDA`
.  -mat_shellfem_max_references <16>    - reference matrices at most for each shape of elements
.  -mat_shellfem_classify_rtol <8 eps>  - when an element is a multiple of a reference matrix
.  -mat_shellfem_kernel <auto>          - how products are computed on a GPU: threestage, fused, node, parity, dmma, wmma
-  -mat_shellfem_precision <double>     - how products store vectors and scales: double, single, bfloat16

   Level: beginner

   Notes:
   Each square call of `MatSetValues()`, `MatSetValuesBlocked()`, `MatSetValuesLocal()` or `MatSetValuesStencil()` with
   `ADD_VALUES` and equal rows and columns is one element. Its matrix is stored as a scale times one of a few reference
   matrices, where it is one, and in full otherwise. Anything else that is set goes to a small `MATAIJ` which
   `MatMult()` adds, so that the matrix is always what was set. `MatCreateShellFEM()` gives elements directly.

   Cells of a `DMDA` need no connectivity: with 3 dofs for each node, or 1, 12 bytes for each element are read besides the
   vectors. `MatZeroRows()`, `MatZeroRowsColumns()`, `MatDiagonalScale()`, `MatDiagonalSet()` and `MatShift()` touch no
   element: they become masks, scalings and a diagonal.

   On a GPU (`-vec_type cuda`, `-dm_vec_type cuda`) `auto` takes the parity form for cells of a `DMDA` with 3 dofs for each node
   and one reference matrix that has the symmetries of a box (an isotropic or axis-aligned orthotropic material), and the
   kernel of nodes otherwise. The other kernels are there to be compared with: three stages with cuBLAS, one fused kernel
   with atomic additions, FP64 tensor cores (dmma) and BF16 tensor cores (wmma, with precision single or bfloat16). All but
   `fused` give the same bits in each run.

   With `-mat_shellfem_precision` single or bfloat16 `MatMult()` rounds the vector to that storage, computes in single
   precision, on differences where translations cost no energy, and rounds the result: an operator for preconditioners,
   of half or a quarter of the memory traffic. Never solve with it alone: correct with a residual in `PetscScalar`.

   Assembling again after `MatZeroEntries()`, with the same elements in the same order, allocates nothing.

   `MatGetRow()`, `MatView()`, `MatNorm()`, `MatConvert()`, submatrices and products with other matrices assemble a
   `MATAIJ`, kept until the matrix changes. On several processes call `MatConvert()` before `MatGetRow()`.

   References: arXiv:2604.18020 (fused gather, product and scatter).

.seealso: `MatCreateShellFEM()`, `MatShellFEMSetReferenceMatrices()`, `MatShellFEMGetElementEnergy()`, `MATAIJ`, `MATIS`
M*/

PetscErrorCode MatInitializePackage_ShellFEM(void)
{
  PetscFunctionBegin;
  PetscCall(MatRegister(MATSHELLFEM, MatCreate_ShellFEM));
  PetscCall(PetscLogEventRegister("MatShellFEMAsm", MAT_CLASSID, &MAT_ShellFEMAssemble));
  PetscFunctionReturn(PETSC_SUCCESS);
}
