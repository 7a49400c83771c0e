/*
  MATMACKO: options, building by values, conversions, and MATSEQMACKO's operations
*/
#include "mackoimpl.h"

const char *const MatMACKOEncodings[]  = {"auto", "delta", "bitmap", "MatMACKOEncoding", "MAT_MACKO_ENCODING_", NULL};
const char *const MatMACKOValueTypes[] = {"auto", "fp16", "bf16", "int8", "scalar", "MatMACKOValueType", "MAT_MACKO_VALUES_", NULL};

PetscLogEvent MAT_MACKOEncode;

static PetscErrorCode MatMACKOCheckBits(PetscInt bits)
{
  PetscFunctionBegin;
  PetscCheck(bits == 0 || bits == 1 || bits == 2 || bits == 4 || bits == 8, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Deltas of %" PetscInt_FMT " bits: choose 1, 2, 4 or 8, or 0 for the smallest", bits);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_MACKO(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "MACKO options");
  PetscCall(PetscOptionsEnum("-mat_macko_encoding", "How positions of nonzeros are stored", "MatMACKOSetEncoding", MatMACKOEncodings, (PetscEnum)a->encoding, (PetscEnum *)&a->encoding, NULL));
  PetscCall(PetscOptionsInt("-mat_macko_delta_bits", "Bits of a delta: 1, 2, 4, 8, or 0 for the smallest result", "MatMACKOSetEncoding", a->bits, &a->bits, NULL));
  PetscCall(MatMACKOCheckBits(a->bits));
  PetscCall(PetscOptionsEnum("-mat_macko_values", "How values are stored", "MatMACKOSetValueType", MatMACKOValueTypes, (PetscEnum)a->type, (PetscEnum *)&a->type, NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMACKOReset(Mat A)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  PetscCall(MACKODestroy(&a->enc));
#if defined(PETSC_HAVE_CUDA)
  PetscCall(MACKODeviceDestroy(&a->device));
#endif
  PetscCall(MatDestroy(&a->A));
  PetscCall(MatDestroy(&a->B));
  PetscCall(PetscFree(a->garray));
  PetscCall(VecDestroy(&a->ghosts));
  PetscCall(VecScatterDestroy(&a->scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The builder holds what the matrix holds */
PetscErrorCode MatMACKOGetBuilder(Mat A, Mat *builder)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  if (!a->builder) {
    if (a->enc.start || a->A)
      PetscCall(MatMACKOToAIJ(A, &a->builder));
    else {
      PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &a->builder));
      PetscCall(MatSetSizes(a->builder, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
      PetscCall(MatSetBlockSizesFromMats(a->builder, A, A));
      PetscCall(MatSetType(a->builder, MATAIJ));
      PetscCall(MatSetUp(a->builder));
    }
    PetscCall(MatSetOption(a->builder, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(a->builder, MAT_ROW_ORIENTED, a->columnoriented ? PETSC_FALSE : PETSC_TRUE));
  }
  *builder = a->builder;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An assembled parallel matrix opens its builder at assembly, where all processes take part; until then values wait */
static PetscErrorCode MatMACKOStash(Mat A, PetscInt row, PetscInt col, PetscScalar v, InsertMode mode)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  if (a->nstash == a->allocatedstash) {
    a->allocatedstash = PetscMax(64, 2 * a->allocatedstash);
    PetscCall(PetscRealloc(sizeof(*a->stash) * (size_t)a->allocatedstash, &a->stash));
  }
  a->stash[a->nstash].row     = row;
  a->stash[a->nstash].col     = col;
  a->stash[a->nstash++].value = v;
  a->stashmode                = mode;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValues_MACKO(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], const PetscScalar v[], InsertMode mode)
{
  Mat_MACKO  *a = (Mat_MACKO *)A->data;
  Mat         builder;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (!a->builder && size == 1) PetscCall(MatMACKOGetBuilder(A, &builder));
  if (a->builder)
    PetscCall(MatSetValues(a->builder, m, rows, n, cols, v, mode));
  else {
    for (PetscInt r = 0; r < m; r++)
      for (PetscInt c = 0; c < n; c++) PetscCall(MatMACKOStash(A, rows[r], cols[c], a->columnoriented ? v[(size_t)c * m + r] : v[(size_t)r * n + c], mode));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetOption_MACKO(Mat A, MatOption op, PetscBool flg)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  if (op == MAT_ROW_ORIENTED) a->columnoriented = flg ? PETSC_FALSE : PETSC_TRUE;
  if (a->builder && (op == MAT_ROW_ORIENTED || op == MAT_IGNORE_OFF_PROC_ENTRIES || op == MAT_NO_OFF_PROC_ENTRIES))
    PetscCall(MatSetOption(a->builder, op, flg));
  else
    PetscCall(PetscInfo(A, "Option %s has no effect on a compressed matrix\n", MatOptions[op]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMACKOEncodeFrom(Mat A, Mat seqaij)
{
  Mat_MACKO         *a = (Mat_MACKO *)A->data;
  const PetscInt    *i, *j;
  const PetscScalar *v;
  PetscInt           m;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_MACKOEncode, A, 0, 0, 0));
  PetscCall(MatMACKOReset(A));
  PetscCall(MatGetRowIJ(seqaij, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No access to the rows of the builder");
  PetscCall(MatSeqAIJGetArrayRead(seqaij, &v));
  PetscCall(MACKOEncode_Host(A->rmap->n, A->cmap->n, i, j, v, a->encoding, a->bits, a->type, &a->enc));
  PetscCall(MatSeqAIJRestoreArrayRead(seqaij, &v));
  PetscCall(MatRestoreRowIJ(seqaij, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscCall(PetscLogEventEnd(MAT_MACKOEncode, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block: same options, values of seqaij */
static PetscErrorCode MatMACKOCreateBlock(Mat A, Mat seqaij, PetscInt n, Mat *block)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data, *b;
  PetscBool  bound;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, block));
  PetscCall(MatSetSizes(*block, A->rmap->n, n, A->rmap->n, n));
  PetscCall(MatSetType(*block, MATSEQMACKO));
  PetscCall(PetscLayoutSetUp((*block)->rmap));
  PetscCall(PetscLayoutSetUp((*block)->cmap));
  b           = (Mat_MACKO *)(*block)->data;
  b->encoding = a->encoding;
  b->bits     = a->bits;
  b->type     = a->type;
  PetscCall(MatMACKOEncodeFrom(*block, seqaij));
  (*block)->preallocated = (*block)->assembled = PETSC_TRUE;
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatBindToCPU(*block, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMACKOEncodeParallel(Mat A, Mat aij)
{
  Mat_MACKO      *a = (Mat_MACKO *)A->data;
  Mat             d, o;
  const PetscInt *garray;
  PetscInt        n;
  IS              from;
  Vec             global;

  PetscFunctionBegin;
  PetscCall(MatMACKOReset(A));
  PetscCall(MatMPIAIJGetSeqAIJ(aij, &d, &o, &garray));
  PetscCall(MatGetLocalSize(o, NULL, &n));
  PetscCall(MatMACKOCreateBlock(A, d, A->cmap->n, &a->A));
  PetscCall(MatMACKOCreateBlock(A, o, n, &a->B));
  PetscCall(PetscMalloc1(n, &a->garray));
  PetscCall(PetscArraycpy(a->garray, garray, n));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, a->garray, PETSC_COPY_VALUES, &from));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &a->ghosts));
  PetscCall(VecCreateMPIWithArray(PetscObjectComm((PetscObject)A), 1, A->cmap->n, A->cmap->N, NULL, &global));
  PetscCall(VecScatterCreate(global, from, a->ghosts, NULL, &a->scatter));
  PetscCall(VecDestroy(&global));
  PetscCall(ISDestroy(&from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the values of aij and frees it */
static PetscErrorCode MatMACKOTake(Mat A, Mat *aij)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size == 1)
    PetscCall(MatMACKOEncodeFrom(A, *aij));
  else
    PetscCall(MatMACKOEncodeParallel(A, *aij));
  PetscCall(MatDestroy(aij));
  A->nonzerostate++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyBegin_MACKO(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyEnd_MACKO(Mat A, MatAssemblyType type)
{
  Mat_MACKO *a    = (Mat_MACKO *)A->data;
  PetscBool  mine = a->builder || a->nstash ? PETSC_TRUE : PETSC_FALSE, any;
  Mat        builder;

  PetscFunctionBegin;
  PetscCall(MatTakeVecTypeOfDM(A));
  PetscCallMPI(MPIU_Allreduce(&mine, &any, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (!any && (a->enc.start || a->A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMACKOGetBuilder(A, &builder));
  for (PetscCount k = 0; k < a->nstash; k++) PetscCall(MatSetValue(builder, a->stash[k].row, a->stash[k].col, a->stash[k].value, a->stashmode));
  a->nstash = 0;
  PetscCall(MatAssemblyBegin(builder, type));
  PetscCall(MatAssemblyEnd(builder, type));
  if (type == MAT_FINAL_ASSEMBLY) PetscCall(MatMACKOTake(A, &a->builder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row r of this process, columns global and ascending; rowcols and rowvals hold as many as there are columns */
static PetscInt MatMACKODecodeRow(Mat A, PetscInt r, PetscInt *cols, PetscScalar *vals)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;
  PetscInt   low, n, d, start = A->cmap->rstart;
  Mat_MACKO *diag, *off;

  if (!a->A) return MACKODecodeRow_Host(&a->enc, r, cols, vals);
  diag = (Mat_MACKO *)a->A->data;
  off  = (Mat_MACKO *)a->B->data;
  n    = MACKODecodeRow_Host(&off->enc, r, cols, vals);
  for (low = 0; low < n && a->garray[cols[low]] < start; low++)
    ;
  d = MACKODecodeRow_Host(&diag->enc, r, NULL, NULL);
  /* entries beyond the diagonal block make room for it */
  for (PetscInt k = n - 1; k >= low; k--) {
    cols[k + d] = a->garray[cols[k]];
    vals[k + d] = vals[k];
  }
  for (PetscInt k = 0; k < low; k++) cols[k] = a->garray[cols[k]];
  (void)MACKODecodeRow_Host(&diag->enc, r, cols + low, vals + low);
  for (PetscInt k = low; k < low + d; k++) cols[k] += start;
  return n + d;
}

PetscErrorCode MatMACKOToAIJ(Mat A, Mat *B)
{
  PetscInt    *i, *j, *cols, n;
  PetscScalar *v, *vals;
  PetscCount   nz = 0;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(PetscIntCast((PetscCount)info.nz_used, &n)); /* at most: rounding may have made zeros */
  PetscCall(PetscMalloc1(A->rmap->n + 1, &i));
  PetscCall(PetscMalloc2(n, &j, n, &v));
  PetscCall(PetscMalloc2(A->cmap->N, &cols, A->cmap->N, &vals));
  i[0] = 0;
  for (PetscInt r = 0; r < A->rmap->n; r++) {
    n = MatMACKODecodeRow(A, r, cols, vals);
    PetscCall(PetscArraycpy(j + nz, cols, n));
    PetscCall(PetscArraycpy(v + nz, vals, n));
    nz += n;
    i[r + 1] = (PetscInt)nz;
  }
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*B, i, j, v));
  PetscCall(MatMPIAIJSetPreallocationCSR(*B, i, j, v));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree2(j, v));
  PetscCall(PetscFree2(cols, vals));
  PetscCall(MatSetOption(*B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); /* what changes it may add entries */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRow_MACKO(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **vals)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  PetscCheck(!a->rowactive, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Call MatRestoreRow() before the next MatGetRow()");
  PetscCheck(row >= A->rmap->rstart && row < A->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_SUP, "Row %" PetscInt_FMT " is on another process", row);
  if (!a->rowcols) PetscCall(PetscMalloc2(A->cmap->N, &a->rowcols, A->cmap->N, &a->rowvals));
  a->rowactive = PETSC_TRUE;
  *n           = MatMACKODecodeRow(A, row - A->rmap->rstart, a->rowcols, a->rowvals);
  if (cols) *cols = a->rowcols;
  if (vals) *vals = a->rowvals;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreRow_MACKO(Mat A, PetscInt row, PetscInt *n, PetscInt **cols, PetscScalar **vals)
{
  PetscFunctionBegin;
  ((Mat_MACKO *)A->data)->rowactive = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_MACKO(Mat A, Vec d)
{
  PetscInt     rows, n;
  PetscInt    *cols;
  PetscScalar *da, *vals;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(A->cmap->N, &cols, A->cmap->N, &vals));
  PetscCall(VecGetLocalSize(d, &rows));
  PetscCall(VecGetArrayWrite(d, &da));
  for (PetscInt r = 0; r < rows; r++) { /* rows below a square, or past the last, have no diagonal entry: 0, as AIJ says */
    PetscInt k;

    da[r] = 0;
    if (r >= A->rmap->n) continue;
    n = MatMACKODecodeRow(A, r, cols, vals);
    PetscCall(PetscFindInt(A->rmap->rstart + r, n, cols, &k));
    if (k >= 0) da[r] = vals[k];
  }
  PetscCall(VecRestoreArrayWrite(d, &da));
  PetscCall(PetscFree2(cols, vals));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations that change or read single entries go through AIJ, and back */
static PetscErrorCode MatNorm_MACKO(Mat A, NormType type, PetscReal *norm)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &B));
  PetscCall(MatNorm(B, type, norm));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_MACKO(Mat A, Vec l, Vec r)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &B));
  PetscCall(MatDiagonalScale(B, l, r));
  PetscCall(MatMACKOTake(A, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_MACKO(Mat A, PetscScalar s)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &B));
  PetscCall(MatShift(B, s));
  PetscCall(MatMACKOTake(A, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalSet_MACKO(Mat A, Vec d, InsertMode mode)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &B));
  PetscCall(MatDiagonalSet(B, d, mode));
  PetscCall(MatMACKOTake(A, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroRows_MACKO(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &B));
  PetscCall(MatZeroRows(B, n, rows, diag, x, b));
  PetscCall(MatMACKOTake(A, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroRowsColumns_MACKO(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &B));
  PetscCall(MatZeroRowsColumns(B, n, rows, diag, x, b));
  PetscCall(MatMACKOTake(A, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_MACKO(Mat A, PetscScalar s)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  if (a->A) {
    PetscCall(MatScale(a->A, s));
    PetscCall(MatScale(a->B, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  a->enc.factor *= s; /* exact, whatever the values are stored in */
  a->enc.maxerror *= PetscAbsScalar(s);
  a->enc.rmserror *= PetscAbsScalar(s);
#if defined(PETSC_HAVE_CUDA)
  PetscCall(MACKODeviceDestroy(&a->device));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroEntries_MACKO(Mat A)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;
  Mat        builder;

  PetscFunctionBegin;
  a->nstash = 0;
  if (!a->enc.start && !a->A) { /* nothing was assembled yet: start again */
    PetscCall(MatDestroy(&a->builder));
    PetscCall(MatMACKOGetBuilder(A, &builder));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDestroy(&a->builder));
  PetscCall(MatMACKOToAIJ(A, &a->builder)); /* its structure is where values will be set again */
  PetscCall(MatZeroEntries(a->builder));
  PetscCall(MatDuplicate(a->builder, MAT_COPY_VALUES, &builder));
  PetscCall(MatMACKOTake(A, &builder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_MACKO(Mat A, MatDuplicateOption op, Mat *B)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data, *b;
  PetscBool  bound;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(PetscLayoutReference(A->rmap, &(*B)->rmap));
  PetscCall(PetscLayoutReference(A->cmap, &(*B)->cmap));
  PetscCall(MatSetType(*B, ((PetscObject)A)->type_name));
  b           = (Mat_MACKO *)(*B)->data;
  b->encoding = a->encoding;
  b->bits     = a->bits;
  b->type     = a->type;
  if (a->A) {
    PetscInt n;

    PetscCall(MatDuplicate(a->A, MAT_COPY_VALUES, &b->A));
    PetscCall(MatDuplicate(a->B, MAT_COPY_VALUES, &b->B));
    PetscCall(MatGetLocalSize(a->B, NULL, &n));
    PetscCall(PetscMalloc1(n, &b->garray));
    PetscCall(PetscArraycpy(b->garray, a->garray, n));
    PetscCall(VecDuplicate(a->ghosts, &b->ghosts));
    PetscCall(VecScatterCopy(a->scatter, &b->scatter));
  } else
    PetscCall(MACKODuplicate(&a->enc, &b->enc));
  (*B)->preallocated = PETSC_TRUE;
  (*B)->assembled    = A->assembled;
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatBindToCPU(*B, bound));
  PetscCall(MatSetVecType(*B, A->defaultvectype));
  if (op != MAT_COPY_VALUES) PetscCall(MatZeroEntries(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_MACKO(Mat A, Mat B, MatStructure str)
{
  PetscBool same;
  Mat       C;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &C));
  PetscCall(PetscObjectTypeCompare((PetscObject)B, ((PetscObject)A)->type_name, &same));
  if (same) {
    PetscCall(MatDestroy(&((Mat_MACKO *)B->data)->builder));
    PetscCall(MatMACKOTake(B, &C));
  } else {
    PetscCall(MatCopy(C, B, str));
    PetscCall(MatDestroy(&C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_MACKO_AIJ(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(MatMACKOToAIJ(A, &B));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatConvert(B, type, MAT_REUSE_MATRIX, newmat));
    PetscCall(MatDestroy(&B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatDestroy(&B));
  if (reuse == MAT_INPLACE_MATRIX)
    PetscCall(MatHeaderReplace(A, &C));
  else
    *newmat = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From any type: through AIJ; zeros of a dense matrix are left out */
static PetscErrorCode MatConvertFrom_MACKO(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  if (reuse == MAT_REUSE_MATRIX)
    B = *newmat;
  else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
    PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizesFromMats(B, A, A));
    PetscCall(MatSetOptionsPrefix(B, ((PetscObject)A)->prefix));
    PetscCall(MatSetType(B, MATMACKO));
    PetscObjectOptionsBegin((PetscObject)B);
    PetscCall(MatSetFromOptions_MACKO(B, PetscOptionsObject));
    PetscOptionsEnd();
    PetscCall(PetscLayoutSetUp(B->rmap));
    PetscCall(PetscLayoutSetUp(B->cmap));
  }
  PetscCall(MatMACKOTake(B, &C));
  B->preallocated = B->assembled = PETSC_TRUE;
  PetscCall(PetscObjectStateIncrease((PetscObject)B));
  if (reuse == MAT_INPLACE_MATRIX)
    PetscCall(MatHeaderReplace(A, &B));
  else
    *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLoad_MACKO(Mat A, PetscViewer viewer)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
  if (A->rmap->N >= 0) PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetType(B, MATAIJ));
  PetscCall(MatLoad(B, viewer));
  if (A->rmap->N < 0) PetscCall(MatSetSizes(A, B->rmap->n, B->cmap->n, B->rmap->N, B->cmap->N));
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MatDestroy(&((Mat_MACKO *)A->data)->builder));
  PetscCall(MatMACKOTake(A, &B));
  A->preallocated = A->assembled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_MACKO(Mat A, MatInfoType type, MatInfo *info)
{
  Mat_MACKO     *a       = (Mat_MACKO *)A->data;
  const Mat      part[]  = {a->A ? a->A : A, a->B};
  PetscLogDouble mine[3] = {0, 0, 0}, sum[3];

  PetscFunctionBegin;
  for (int p = 0; p < 2; p++) {
    const MACKOMatrix *enc = part[p] ? &((Mat_MACKO *)part[p]->data)->enc : NULL;

    if (!enc || !enc->start) continue;
    mine[0] += (PetscLogDouble)enc->nonzeros;
    mine[1] += (PetscLogDouble)enc->stored;
    mine[2] += (PetscLogDouble)MACKOBytes(enc);
  }
  PetscCallMPI(MPIU_Allreduce(mine, sum, 3, MPI_DOUBLE, type == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM, type == MAT_LOCAL ? PETSC_COMM_SELF : PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size   = 1.0;
  info->nz_used      = sum[0];
  info->nz_allocated = sum[1];
  info->nz_unneeded  = sum[1] - sum[0];
  info->memory       = sum[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block of rows and columns, beside what the papers' formulas say of a random mask of the same density */
static PetscErrorCode MatMACKOViewBlock(const MACKOMatrix *enc, PetscViewer viewer)
{
  const double size = (double)enc->m * (double)enc->n, d = size > 0 ? (double)enc->nonzeros / size : 0, v = (double)MACKOValueBits(enc->type), b = (double)enc->bits;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " x %" PetscInt_FMT ", density %.5g: values %s, ", enc->m, enc->n, d, MatMACKOValueTypes[enc->type]));
  if (enc->bits) {
    const double z = PetscPowReal(1 - d, PetscPowInt(2, enc->bits));

    PetscCall(PetscViewerASCIIPrintf(viewer, "deltas of %" PetscInt_FMT " bits\n", enc->bits));
    PetscCall(PetscViewerASCIIPrintf(viewer, "effective density %.5g of dense %s (best %.5g, expected %.5g, worst %.5g), %" PetscCount_FMT " stored zeros\n", size > 0 ? (double)enc->stored * (v + b) / v / size : 0., MatMACKOValueTypes[enc->type], d * (v + b) / v, d / (1 - z) * (v + b) / v, (d + (1 - d) / PetscPowInt(2, enc->bits)) * (v + b) / v, enc->stored - enc->nonzeros));
  } else {
    PetscCall(PetscViewerASCIIPrintf(viewer, "bitmap\n"));
    PetscCall(PetscViewerASCIIPrintf(viewer, "effective density %.5g of dense %s\n", size > 0 ? d + 64. * MACKOWords(enc) / (double)enc->n / v : 0., MatMACKOValueTypes[enc->type]));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "bytes stored: %" PetscInt64_FMT "; rounding of values: largest %.3g, root mean square %.3g\n", MACKOBytes(enc), (double)enc->maxerror, (double)enc->rmserror));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_MACKO(Mat A, PetscViewer viewer)
{
  Mat_MACKO        *a = (Mat_MACKO *)A->data;
  PetscBool         isascii;
  PetscViewerFormat format;
  Mat               B;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (isascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL)) {
    if (a->A) {
      MatInfo   info;
      PetscReal mine = PetscMax(((Mat_MACKO *)a->A->data)->enc.maxerror, ((Mat_MACKO *)a->B->data)->enc.maxerror), most;

      PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
      PetscCallMPI(MPIU_Allreduce(&mine, &most, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
      PetscCall(PetscViewerASCIIPrintf(viewer, "bytes stored by all processes: %.0f; rounding of values: largest %.3g; first process:\n", info.memory, (double)most));
      PetscCall(MatMACKOViewBlock(&((Mat_MACKO *)a->A->data)->enc, viewer));
    } else if (a->enc.start)
      PetscCall(MatMACKOViewBlock(&a->enc, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatMACKOToAIJ(A, &B));
  if (((PetscObject)A)->name) PetscCall(PetscObjectSetName((PetscObject)B, ((PetscObject)A)->name));
  PetscCall(MatView(B, viewer));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_MACKO(Mat A, PetscBool flg)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
#if defined(PETSC_HAVE_DEVICE)
  A->boundtocpu = flg;
#endif
  if (a->A) {
    PetscCall(MatBindToCPU(a->A, flg));
    PetscCall(MatBindToCPU(a->B, flg));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MACKO(Mat A)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMACKOReset(A));
  PetscCall(MatDestroy(&a->builder));
  PetscCall(PetscFree(a->stash));
  PetscCall(PetscFree2(a->rowcols, a->rowvals));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMACKOSetEncoding_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMACKOSetValueType_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMACKOGetStorage_C", NULL));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetUp_Layout(Mat A)
{
  Mat builder;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MatMACKOGetBuilder(A, &builder)); /* here, where all processes take part */
  A->preallocated = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's preallocation is not needed, but it also sets a matrix up, where all processes take part */
static PetscErrorCode MatMPIAIJSetPreallocation_MACKO(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  PetscFunctionBegin;
  PetscCall(MatSetUp(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMACKOSetEncoding_MACKO(Mat A, MatMACKOEncoding encoding, PetscInt bits)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;
  Mat        B;

  PetscFunctionBegin;
  PetscCall(MatMACKOCheckBits(bits));
  a->encoding = encoding;
  a->bits     = bits;
  if (A->assembled) {
    PetscCall(MatMACKOToAIJ(A, &B));
    PetscCall(MatMACKOTake(A, &B));
    PetscCall(PetscObjectStateIncrease((PetscObject)A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMACKOSetValueType_MACKO(Mat A, MatMACKOValueType type)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  a->type = type;
  PetscCall(MatMACKOSetEncoding_MACKO(A, a->encoding, a->bits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMACKOGetStorage_MACKO(Mat A, PetscInt64 *bytes, PetscReal *density)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  if (bytes) *bytes = (PetscInt64)info.memory;
  if (density) {
    const Mat_MACKO  *a    = (const Mat_MACKO *)A->data;
    MatMACKOValueType type = a->A ? ((Mat_MACKO *)a->A->data)->enc.type : a->enc.type;

    *density = (PetscReal)(info.memory * 8 / ((double)A->rmap->N * (double)A->cmap->N * MACKOValueBits(type)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetUp_MACKO(Mat A)
{
  Mat_MACKO  *a;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscNew(&a));
  A->data                 = a;
  A->ops->setvalues       = MatSetValues_MACKO;
  A->ops->setfromoptions  = MatSetFromOptions_MACKO;
  A->ops->setup           = MatSetUp_Layout;
  A->ops->setoption       = MatSetOption_MACKO;
  A->ops->assemblybegin   = MatAssemblyBegin_MACKO;
  A->ops->assemblyend     = MatAssemblyEnd_MACKO;
  A->ops->getrow          = MatGetRow_MACKO;
  A->ops->restorerow      = MatRestoreRow_MACKO;
  A->ops->getdiagonal     = MatGetDiagonal_MACKO;
  A->ops->norm            = MatNorm_MACKO;
  A->ops->scale           = MatScale_MACKO;
  A->ops->diagonalscale   = MatDiagonalScale_MACKO;
  A->ops->shift           = MatShift_MACKO;
  A->ops->diagonalset     = MatDiagonalSet_MACKO;
  A->ops->zerorows        = MatZeroRows_MACKO;
  A->ops->zerorowscolumns = MatZeroRowsColumns_MACKO;
  A->ops->zeroentries     = MatZeroEntries_MACKO;
  A->ops->duplicate       = MatDuplicate_MACKO;
  A->ops->copy            = MatCopy_MACKO;
  A->ops->convert         = MatConvert_MACKO_AIJ;
  A->ops->convertfrom     = MatConvertFrom_MACKO;
  A->ops->load            = MatLoad_MACKO;
  A->ops->view            = MatView_MACKO;
  A->ops->getinfo         = MatGetInfo_MACKO;
  A->ops->bindtocpu       = MatBindToCPU_MACKO;
  A->ops->destroy         = MatDestroy_MACKO;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size > 1) PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", MatMPIAIJSetPreallocation_MACKO));
  else {
    /* On one process a DMDA writes into the data of what can be preallocated as an AIJ, so we cannot be. Programs that
       preallocate ask for the ownership range next. */
    if (A->rmap->n >= 0 || A->rmap->N >= 0) PetscCall(PetscLayoutSetUp(A->rmap));
    if (A->cmap->n >= 0 || A->cmap->N >= 0) PetscCall(PetscLayoutSetUp(A->cmap));
  }
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMACKOSetEncoding_C", MatMACKOSetEncoding_MACKO));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMACKOSetValueType_C", MatMACKOSetValueType_MACKO));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMACKOGetStorage_C", MatMACKOGetStorage_MACKO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x (+ y) where the vectors are */
static PetscErrorCode MatMACKOApply(Mat A, PetscBool add, Vec x, Vec y)
{
  Mat_MACKO         *a = (Mat_MACKO *)A->data;
  const PetscScalar *xa;
  PetscScalar       *ya;

  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (MatUsesDevice_MACKO(A, x)) {
    if (!a->device) PetscCall(MACKODeviceCreate(&a->enc, &a->device));
    PetscCall(VecCUDAGetArrayRead(x, &xa));
    if (add)
      PetscCall(VecCUDAGetArray(y, &ya));
    else
      PetscCall(VecCUDAGetArrayWrite(y, &ya));
    PetscCall(PetscLogGpuTimeBegin());
    PetscCall(MACKOMult_CUDA(a->device, add, xa, ya));
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(VecCUDARestoreArrayRead(x, &xa));
    if (add)
      PetscCall(VecCUDARestoreArray(y, &ya));
    else
      PetscCall(VecCUDARestoreArrayWrite(y, &ya));
    PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)a->enc.nonzeros));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(VecGetArrayRead(x, &xa));
  if (add)
    PetscCall(VecGetArray(y, &ya));
  else
    PetscCall(VecGetArrayWrite(y, &ya));
  MACKOMult_Host(&a->enc, add, xa, ya);
  PetscCall(VecRestoreArrayRead(x, &xa));
  if (add)
    PetscCall(VecRestoreArray(y, &ya));
  else
    PetscCall(VecRestoreArrayWrite(y, &ya));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)a->enc.nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_SeqMACKO(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMACKOApply(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_SeqMACKO(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(MatMACKOApply(A, PETSC_TRUE, x, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host also for vectors on a GPU: entries of a row scatter, which only atomics would do there */
static PetscErrorCode MatMACKOApplyTranspose(Mat A, PetscBool conjugate, Vec x, Vec y)
{
  Mat_MACKO         *a = (Mat_MACKO *)A->data;
  const PetscScalar *xa;
  PetscScalar       *ya;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArray(y, &ya));
  MACKOMultTranspose_Host(&a->enc, conjugate, xa, ya);
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArray(y, &ya));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)a->enc.nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SeqMACKO(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.));
  PetscCall(MatMACKOApplyTranspose(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultHermitianTranspose_SeqMACKO(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.));
  PetscCall(MatMACKOApplyTranspose(A, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_SeqMACKO(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(MatMACKOApplyTranspose(A, PETSC_FALSE, x, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqMACKO(Mat A)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "A seqmacko matrix lives on one process; use type macko or mpimacko");
  PetscCall(MatSetUp_MACKO(A));
  A->ops->mult                   = MatMult_SeqMACKO;
  A->ops->multadd                = MatMultAdd_SeqMACKO;
  A->ops->multtranspose          = MatMultTranspose_SeqMACKO;
  A->ops->multtransposeadd       = MatMultTransposeAdd_SeqMACKO;
  A->ops->multhermitiantranspose = MatMultHermitianTranspose_SeqMACKO;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQMACKO));
  MatStartUnbound(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatMACKOSetEncoding - Sets how positions of nonzeros are stored

  Logically Collective

  Input Parameters:
+ A        - the `MATMACKO` matrix
. encoding - `MAT_MACKO_ENCODING_AUTO` for the smallest, `MAT_MACKO_ENCODING_DELTA` or `MAT_MACKO_ENCODING_BITMAP`
- bits     - of a delta, 1, 2, 4 or 8, or 0 for the smallest

  Options Database Keys:
+ -mat_macko_encoding (auto|delta|bitmap) - the encoding
- -mat_macko_delta_bits (0|1|2|4|8)       - bits of a delta

  Level: intermediate

  Note:
  An assembled matrix is encoded again.

.seealso: `MATMACKO`, `MatMACKOSetValueType()`, `MatMACKOGetStorage()`
@*/
PetscErrorCode MatMACKOSetEncoding(Mat A, MatMACKOEncoding encoding, PetscInt bits)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscTryMethod(A, "MatMACKOSetEncoding_C", (Mat, MatMACKOEncoding, PetscInt), (A, encoding, bits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatMACKOSetValueType - Sets how values are stored

  Logically Collective

  Input Parameters:
+ A    - the `MATMACKO` matrix
- type - the type; all but `MAT_MACKO_VALUES_SCALAR` and `MAT_MACKO_VALUES_AUTO` may round, `-mat_view ::ascii_info` says by how much

  Options Database Key:
. -mat_macko_values (auto|fp16|bf16|int8|scalar) - the type

  Level: intermediate

.seealso: `MATMACKO`, `MatMACKOSetEncoding()`, `MatMACKOGetStorage()`
@*/
PetscErrorCode MatMACKOSetValueType(Mat A, MatMACKOValueType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscTryMethod(A, "MatMACKOSetValueType_C", (Mat, MatMACKOValueType), (A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatMACKOGetStorage - Gets the size of the compressed matrix

  Collective

  Input Parameter:
. A - the assembled `MATMACKO` matrix

  Output Parameters:
+ bytes   - of positions, values and row offsets of all processes, or `NULL`
- density - the same relative to a dense matrix of such values, or `NULL`

  Level: intermediate

.seealso: `MATMACKO`, `MatMACKOSetEncoding()`, `MatMACKOSetValueType()`
@*/
PetscErrorCode MatMACKOGetStorage(Mat A, PetscInt64 *bytes, PetscReal *density)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscUseMethod(A, "MatMACKOGetStorage_C", (Mat, PetscInt64 *, PetscReal *), (A, bytes, density));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATMACKO - "macko" - Compressed storage for matrices of 10 to 95 % sparsity, as layers of pruned language models

   This matrix type is `MATSEQMACKO` on one process and `MATMPIMACKO` otherwise.

   Options Database Keys:
+  -mat_type macko                               - sets the type
.  -mat_macko_encoding (auto|delta|bitmap)       - how positions of nonzeros are stored
.  -mat_macko_delta_bits (0|1|2|4|8)             - bits of a delta, 0 for the smallest
-  -mat_macko_values (auto|fp16|bf16|int8|scalar) - how values are stored; auto never rounds

   Level: beginner

   Notes:
   Positions cost 1 to 8 bits for each nonzero (deltas) or 1 bit for each entry of the matrix (bitmap), where CSR spends 32.
   `-mat_view ::ascii_info` shows the size beside the published formulas, and the rounding of values, the only loss.

   Values are set by `MatSetValues()` in a `MATAIJ` that assembly compresses; zeros are left out. `MatScale()` keeps a factor
   and rounds nothing. `MatView()` to a binary file writes an AIJ file, which `MatLoad()` reads into any type.

   Products with vectors accumulate in `PetscScalar`. With vectors on a GPU `MatMult()` and `MatMultAdd()` run there,
   `MatMultTranspose()` on the host. Complex scalars: values are stored as `PetscScalar` only, products run on the host.

   References: arXiv:2511.13061 (deltas with padding).

.seealso: `MatMACKOSetEncoding()`, `MatMACKOSetValueType()`, `MatMACKOGetStorage()`, `MATAIJ`
M*/

PetscErrorCode MatInitializePackage_MACKO(void)
{
  PetscFunctionBegin;
  PetscCall(MatRegisterRootName(MATMACKO, MATSEQMACKO, MATMPIMACKO));
  PetscCall(MatRegister(MATSEQMACKO, MatCreate_SeqMACKO));
  PetscCall(MatRegister(MATMPIMACKO, MatCreate_MPIMACKO));
  PetscCall(PetscLogEventRegister("MatMACKOEncode", MAT_CLASSID, &MAT_MACKOEncode));
  PetscFunctionReturn(PETSC_SUCCESS);
}
