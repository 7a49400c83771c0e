/*
  MATSEQAIJHASHGPU: life cycle, conversions and options of the sequential type, and registration of both
*/
#include "aijhashgpuimpl.h"

PetscLogEvent MAT_HashGPU_Analysis, MAT_HashGPU_Symbolic, MAT_HashGPU_Numeric, MAT_HashGPU_Gather, MAT_HashGPU_Upload;

PetscErrorCode MatSeqAIJHashGPUGetBaseOps(const struct _MatOps **base)
{
  static struct _MatOps ops;
  static PetscBool      known = PETSC_FALSE;

  PetscFunctionBegin;
  if (!known) {
    Mat A;

    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetType(A, MATSEQAIJ));
    ops   = A->ops[0];
    known = PETSC_TRUE;
    PetscCall(MatDestroy(&A));
  }
  *base = &ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Converters and products that PETSc looks up by the name of the type, so that a derived type would miss them */
PetscErrorCode MatAIJHashGPUComposeAliases(Mat A, const char base[], const char derived[], PetscBool add)
{
  const char *const forms[] = {"MatConvert_%s_seqdense_C", "MatConvert_%s_mpidense_C", "MatConvert_%s_seqbaij_C", "MatConvert_%s_mpibaij_C", "MatConvert_%s_seqsbaij_C", "MatConvert_%s_mpisbaij_C", "MatConvert_%s_is_C",
                               "MatConvert_%s_seqsell_C", "MatConvert_%s_mpisell_C", "MatConvert_%s_hypre_C", "MatConvert_%s_elemental_C", "MatConvert_%s_scalapack_C", "MatProductSetFromOptions_is_%s_C",
                               "MatProductSetFromOptions_seqdense_%s_C"};
  char              name[128];
  PetscErrorCodeFn *f;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(forms); k++) {
    f = NULL;
    if (add) {
      PetscCall(PetscSNPrintf(name, sizeof(name), forms[k], base));
      PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &f));
      if (!f) continue;
    }
    PetscCall(PetscSNPrintf(name, sizeof(name), forms[k], derived));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every product in which this type takes part, with PETSc's AIJ on the other sides */
static PetscErrorCode MatSeqAIJHashGPUComposeProducts(Mat A, PetscBool add)
{
  const char *const types[] = {MATSEQAIJ, MATSEQAIJHASHGPU};
  PetscErrorCode (*f)(Mat)  = add ? MatProductSetFromOptions_SeqAIJHashGPU : NULL;
  PetscErrorCode (*g)(Mat)  = add ? MatProductSetFromOptions_AIJHashGPU_Dense : NULL;
  PetscErrorCode (*h)(Mat)  = add ? MatProductSetFromOptions_AIJHashGPU_MAIJ : NULL;
  char name[128];

  PetscFunctionBegin;
  for (int p = 1; p < 4; p++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "MatProductSetFromOptions_%s_%s_C", types[p & 1], types[p >> 1]));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f));
  }
  for (int p = 1; p < 8; p++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "MatProductSetFromOptions_%s_%s_%s_C", types[p & 1], types[(p >> 1) & 1], types[p >> 2]));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f));
  }
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_" MATSEQAIJHASHGPU "_seqdense_C", g));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_" MATSEQAIJHASHGPU "_seqmaij_C", h));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqmaij_" MATSEQAIJHASHGPU "_C", h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_SeqAIJHashGPU_SeqAIJ(Mat, MatType, MatReuse, Mat *);

static PetscErrorCode MatSeqAIJHashGPUCompose(Mat A, PetscBool add)
{
  PetscFunctionBegin;
  PetscCall(MatAIJHashGPUComposeAliases(A, MATSEQAIJ, MATSEQAIJHASHGPU, add));
  PetscCall(MatSeqAIJHashGPUComposeProducts(A, add));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_" MATSEQAIJ "_" MATSEQAIJHASHGPU "_C", add ? MatConvert_SeqAIJ_SeqAIJHashGPU : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_" MATSEQAIJHASHGPU "_" MATSEQAIJ "_C", add ? MatConvert_SeqAIJHashGPU_SeqAIJ : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJHashGPUReset(Mat A)
{
  Mat_AIJHashGPU *h = (Mat_AIJHashGPU *)A->spptr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUCompose(A, PETSC_FALSE));
  if (h) {
    PetscCall(MatSeqAIJHashGPUFreeDevice(A));
    PetscCall(PetscFree(A->spptr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJHashGPU(Mat A)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUReset(A));
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  PetscCall(base->destroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_SeqAIJHashGPU(Mat A, MatDuplicateOption op, Mat *B)
{
  const struct _MatOps *base;
  PetscBool             host;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  PetscCall(base->duplicate(A, op, B));
  PetscCall(MatBoundToCPU(A, &host));
  if (host) PetscCall(MatBindToCPU(*B, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_SeqAIJHashGPU(Mat A, PetscViewer viewer)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  PetscCall(base->view(A, viewer));
  PetscCall(MatAIJHashGPUViewInfo(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces (or with replace PETSC_FALSE restores) the operations that differ from the base's */
static PetscErrorCode MatSeqAIJHashGPUSetOps(Mat A, PetscBool replace)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  A->ops->destroy               = replace ? MatDestroy_SeqAIJHashGPU : base->destroy;
  A->ops->duplicate             = replace ? MatDuplicate_SeqAIJHashGPU : base->duplicate;
  A->ops->view                  = replace ? MatView_SeqAIJHashGPU : base->view;
  A->ops->productsetfromoptions = replace ? MatProductSetFromOptions_SeqAIJHashGPU : base->productsetfromoptions;
  PetscCall(MatSeqAIJHashGPUSetDeviceOps(A, replace));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJHashGPUConvertTarget(Mat A, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (reuse == MAT_INITIAL_MATRIX)
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  else if (reuse == MAT_REUSE_MATRIX)
    PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_SeqAIJHashGPU_SeqAIJ(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  PetscFunctionBegin;
  PetscCall(MatAIJHashGPUConvertTarget(A, reuse, newmat));
  if (reuse != MAT_REUSE_MATRIX) {
    Mat B = *newmat;

    PetscCall(MatSeqAIJHashGPUSetOps(B, PETSC_FALSE));
    PetscCall(MatSeqAIJHashGPUReset(B));
    PetscCall(MatSetVecType(B, VECSTANDARD));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQAIJ));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_SeqAIJ_SeqAIJHashGPU(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  PetscFunctionBegin;
  PetscCall(MatAIJHashGPUConvertTarget(A, reuse, newmat));
  if (reuse != MAT_REUSE_MATRIX) {
    Mat             B = *newmat;
    Mat_AIJHashGPU *h;

    PetscCall(PetscNew(&h));
    h->statistics.products = -1;
    h->sortedstate         = -1;
    B->spptr               = h;
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQAIJHASHGPU));
    MatStartUnbound(B);
    PetscCall(MatSeqAIJHashGPUSetOps(B, PETSC_TRUE));
    PetscCall(MatSeqAIJHashGPUCompose(B, PETSC_TRUE));
    PetscCall(MatAIJHashGPUSetVecType(B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJHashGPU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATSEQAIJ));
  PetscCall(MatConvert_SeqAIJ_SeqAIJHashGPU(A, MATSEQAIJHASHGPU, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors live where the matrix works: on the GPU if there is one */
PetscErrorCode MatAIJHashGPUSetVecType(Mat A)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatAIJHashGPUHasDevice(&device));
  if (device) PetscCall(MatSetVecType(A, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the base's lines in the info formats: how the product that made this matrix went */
PetscErrorCode MatAIJHashGPUViewInfo(Mat A, PetscViewer viewer)
{
  MatAIJHashGPUStatistics s = ((Mat_AIJHashGPU *)A->spptr)->statistics;
  PetscViewerFormat       format;
  PetscBool               ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) PetscFunctionReturn(PETSC_SUCCESS);
  if (s.products < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s, sizeof(s) / sizeof(PetscInt64), MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "product by hash: intermediate products %" PetscInt64_FMT ", nonzeros %" PetscInt64_FMT ", compression ratio %.2f\n", s.products, s.nonzeros, s.nonzeros ? (double)s.products / (double)s.nonzeros : 1.));
  PetscCall(PetscViewerASCIIPrintf(viewer, "rows by intermediate products: 0-31 %" PetscInt64_FMT ", 32-511 %" PetscInt64_FMT ", 512-8191 %" PetscInt64_FMT ", >= 8192 %" PetscInt64_FMT "\n", s.rows[0], s.rows[1], s.rows[2], s.rows[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJHashGPUGetProductStatistics - Gets counts of the product that made a matrix

  Collective

  Input Parameter:
. A - a `MATAIJHASHGPU` matrix that is the result of a product computed by the hash method

  Output Parameter:
. statistics - intermediate products, nonzeros and rows by group, summed over the sparse products taken and over all processes

  Level: advanced

  Note:
  A triple product such as `MatPtAP()` takes two sparse products; both are counted. An error if the matrix is not such a result.

.seealso: `MATAIJHASHGPU`, `MatAIJHashGPUStatistics`
@*/
PetscErrorCode MatAIJHashGPUGetProductStatistics(Mat A, MatAIJHashGPUStatistics *statistics)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(statistics, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJHASHGPU, &seq));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJHASHGPU, &mpi));
  PetscCheck(seq || mpi, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "Matrix of type %s has no hash product statistics; set its type to %s", ((PetscObject)A)->type_name, MATAIJHASHGPU);
  *statistics = ((Mat_AIJHashGPU *)A->spptr)->statistics;
  PetscCheck(statistics->products >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix is not the result of a product computed by the hash method");
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, statistics, sizeof(*statistics) / sizeof(PetscInt64), MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateSeqAIJHashGPU - Creates a sparse matrix of type `MATSEQAIJHASHGPU`

  Collective

  Input Parameters:
+ comm - MPI communicator of one process
. m    - number of rows
. n    - number of columns
. nz   - number of nonzeros per row, ignored if `nnz` is given
- nnz  - number of nonzeros of each row, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

  Note:
  `MatCreate()`, `MatSetType()` and `MatSetFromOptions()` are recommended instead. Without preallocation values are set
  through a hash table, as in `MATSEQAIJ`.

.seealso: `MATAIJHASHGPU`, `MatCreateAIJHashGPU()`, `MatCreateSeqAIJ()`
@*/
PetscErrorCode MatCreateSeqAIJHashGPU(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt nz, const PetscInt nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, m, n));
  PetscCall(MatSetType(*A, MATSEQAIJHASHGPU));
  PetscCall(MatSeqAIJSetPreallocation(*A, nz, nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATAIJHASHGPU - "aijhashgpu" - Sparse matrices in compressed rows whose products are computed by the multi-phase hash
   method: analysis, symbolic, numeric.

   Options Database Keys:
+ -mat_type aijhashgpu                                  - sets the type during `MatSetFromOptions()`
. -mat_aijhashgpu_spgemm_backend (host|cuda)            - where products of sparse matrices are computed
- -mat_product_algorithm (hash|...), -matmatmult_via, -matptap_via, -mattransposematmult_via - `hash`, the default, or any algorithm of `MATAIJ`

   Level: beginner

   Notes:
   The type is `MATSEQAIJHASHGPU` on one process and `MATMPIAIJHASHGPU` on several; both are a `MATAIJ` in every respect:
   setting values, COO assembly, factorization, submatrices, and conversion are those of `MATAIJ`.

   Products AB, AtB, ABt, PtAP, RARt and ABC of such matrices, and mixed ones with `MATAIJ`, are computed by the hash method,
   their result has this type and sorted columns. `MAT_REUSE_MATRIX` repeats the numeric phase only. Products with dense
   matrices are those of `MATAIJ`.

   Where an NVIDIA GPU is present vectors made by the matrix are `VECCUDA`; `MatMult()` and its variants and
   `MatGetDiagonal()` then run on the GPU with a copy of the matrix that is renewed when the matrix changes. `MatBindToCPU()`
   keeps everything on the host.

   Products of sparse matrices run on the host unless `-mat_aijhashgpu_spgemm_backend cuda` is given: the GPU version is a
   first one, which copies its factors to the GPU and the result back.

   `-mat_view ::ascii_info` shows the intermediate products, the compression ratio (products per nonzero of the result) and
   the row groups of the product that made the matrix.

   The method follows S. Li et al., arXiv:2512.12036, and Y. Nagasaka, A. Nukada, S. Matsuoka, ICPP 2017.

.seealso: `MATSEQAIJHASHGPU`, `MATMPIAIJHASHGPU`, `MatCreateAIJHashGPU()`, `MatAIJHashGPUGetProductStatistics()`, `MATAIJ`
M*/

/*MC
   MATSEQAIJHASHGPU - "seqaijhashgpu" - The type `MATAIJHASHGPU` on one process

   Level: beginner

.seealso: `MATAIJHASHGPU`, `MATMPIAIJHASHGPU`
M*/

PetscErrorCode MatInitializePackage_AIJHashGPU(void)
{
  PetscFunctionBegin;
  PetscCall(MatRegister(MATSEQAIJHASHGPU, MatCreate_SeqAIJHashGPU));
  PetscCall(MatRegister(MATMPIAIJHASHGPU, MatCreate_MPIAIJHashGPU));
  PetscCall(MatRegisterRootName(MATAIJHASHGPU, MATSEQAIJHASHGPU, MATMPIAIJHASHGPU));
  PetscCall(PetscLogEventRegister("MatHashAnalysis", MAT_CLASSID, &MAT_HashGPU_Analysis));
  PetscCall(PetscLogEventRegister("MatHashSymbolic", MAT_CLASSID, &MAT_HashGPU_Symbolic));
  PetscCall(PetscLogEventRegister("MatHashNumeric", MAT_CLASSID, &MAT_HashGPU_Numeric));
  PetscCall(PetscLogEventRegister("MatHashGather", MAT_CLASSID, &MAT_HashGPU_Gather));
  PetscCall(PetscLogEventRegister("MatHashUpload", MAT_CLASSID, &MAT_HashGPU_Upload));
  PetscFunctionReturn(PETSC_SUCCESS);
}
