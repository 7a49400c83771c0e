/*
  MATMPIAIJHASHGPU: a MATMPIAIJ whose two blocks are MATSEQAIJHASHGPU. Its products of matrix and vector are those of the
  base: they scatter ghost values in the type of the vectors and call the blocks.
*/
#include "aijhashgpuimpl.h"

/* A one-process communicator is enough: the table of operations is the same on every communicator */
PetscErrorCode MatMPIAIJHashGPUGetBaseOps(const struct _MatOps **base)
{
  static struct _MatOps ops;
  static PetscBool      known = PETSC_FALSE;

  PetscFunctionBegin;
  if (!known) {
    Mat A;

    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetType(A, MATMPIAIJ));
    ops   = A->ops[0];
    known = PETSC_TRUE;
    PetscCall(MatDestroy(&A));
  }
  *base = &ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockSetType(Mat block)
{
  PetscBool same;

  PetscFunctionBegin;
  if (!block) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)block, MATSEQAIJHASHGPU, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  /* a block that is filled through a hash table has other operations until it is assembled */
  if (block->hash_active) {
    PetscCall(MatAssemblyBegin(block, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(block, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatConvert_SeqAIJ_SeqAIJHashGPU(block, MATSEQAIJHASHGPU, MAT_INPLACE_MATRIX, &block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlocksSetType(Mat A)
{
  Mat diagonal, offdiagonal;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &offdiagonal, NULL));
  PetscCall(BlockSetType(diagonal));
  PetscCall(BlockSetType(offdiagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJSetPreallocation_MPIAIJHashGPU(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  PetscErrorCode (*f)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatMPIAIJSetPreallocation_mpiaij_C", &f));
  PetscCall((*f)(A, d_nz, d_nnz, o_nz, o_nnz));
  PetscCall(BlocksSetType(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyEnd_MPIAIJHashGPU(Mat A, MatAssemblyType type)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJHashGPUGetBaseOps(&base));
  /* before the base, which makes the vector of ghost values in the type of the off-diagonal block's vectors */
  PetscCall(BlocksSetType(A));
  PetscCall(base->assemblyend(A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJHashGPUComposeProducts(Mat A, PetscBool add)
{
  const char *const types[] = {MATMPIAIJ, MATMPIAIJHASHGPU};
  PetscErrorCode (*f)(Mat)  = add ? MatProductSetFromOptions_MPIAIJHashGPU : NULL;
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
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_" MATMPIAIJHASHGPU "_mpidense_C", g));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_" MATMPIAIJHASHGPU "_mpimaij_C", h));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpimaij_" MATMPIAIJHASHGPU "_C", h));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpidense_" MATMPIAIJHASHGPU "_C", g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_MPIAIJHashGPU_MPIAIJ(Mat, MatType, MatReuse, Mat *);

static PetscErrorCode MatMPIAIJHashGPUCompose(Mat A, PetscBool add)
{
  PetscErrorCodeFn *f;

  PetscFunctionBegin;
  PetscCall(MatAIJHashGPUComposeAliases(A, MATMPIAIJ, MATMPIAIJHASHGPU, add));
  PetscCall(MatMPIAIJHashGPUComposeProducts(A, add));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_" MATMPIAIJ "_" MATMPIAIJHASHGPU "_C", add ? MatConvert_MPIAIJ_MPIAIJHashGPU : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_" MATMPIAIJHASHGPU "_" MATMPIAIJ "_C", add ? MatConvert_MPIAIJHashGPU_MPIAIJ : NULL));
  if (add) {
    PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", &f));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_mpiaij_C", f));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", MatMPIAIJSetPreallocation_MPIAIJHashGPU));
  } else {
    PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatMPIAIJSetPreallocation_mpiaij_C", &f));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", f));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_mpiaij_C", NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJHashGPU(Mat A)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJHashGPUCompose(A, PETSC_FALSE));
  PetscCall(PetscFree(A->spptr));
  PetscCall(MatMPIAIJHashGPUGetBaseOps(&base));
  PetscCall(base->destroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_MPIAIJHashGPU(Mat A, MatDuplicateOption op, Mat *B)
{
  const struct _MatOps *base;
  PetscBool             host;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJHashGPUGetBaseOps(&base));
  PetscCall(base->duplicate(A, op, B));
  PetscCall(MatBoundToCPU(A, &host));
  if (host) PetscCall(MatBindToCPU(*B, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_MPIAIJHashGPU(Mat A, PetscViewer viewer)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJHashGPUGetBaseOps(&base));
  PetscCall(base->view(A, viewer));
  PetscCall(MatAIJHashGPUViewInfo(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces (or with replace PETSC_FALSE restores) the operations that differ from the base's */
static PetscErrorCode MatMPIAIJHashGPUSetOps(Mat A, PetscBool replace)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJHashGPUGetBaseOps(&base));
  A->ops->destroy               = replace ? MatDestroy_MPIAIJHashGPU : base->destroy;
  A->ops->duplicate             = replace ? MatDuplicate_MPIAIJHashGPU : base->duplicate;
  A->ops->view                  = replace ? MatView_MPIAIJHashGPU : base->view;
  A->ops->assemblyend           = replace ? MatAssemblyEnd_MPIAIJHashGPU : base->assemblyend;
  A->ops->productsetfromoptions = replace ? MatProductSetFromOptions_MPIAIJHashGPU : base->productsetfromoptions;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_MPIAIJHashGPU_MPIAIJ(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  PetscFunctionBegin;
  PetscCall(MatAIJHashGPUConvertTarget(A, reuse, newmat));
  if (reuse != MAT_REUSE_MATRIX) {
    Mat B = *newmat, diagonal, offdiagonal;

    PetscCall(MatMPIAIJHashGPUSetOps(B, PETSC_FALSE));
    PetscCall(MatMPIAIJHashGPUCompose(B, PETSC_FALSE));
    PetscCall(PetscFree(B->spptr));
    PetscCall(MatSetVecType(B, VECSTANDARD));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJ));
    PetscCall(MatMPIAIJGetSeqAIJ(B, &diagonal, &offdiagonal, NULL));
    if (diagonal) PetscCall(MatConvert(diagonal, MATSEQAIJ, MAT_INPLACE_MATRIX, &diagonal));
    if (offdiagonal) PetscCall(MatConvert(offdiagonal, MATSEQAIJ, MAT_INPLACE_MATRIX, &offdiagonal));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_MPIAIJ_MPIAIJHashGPU(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  PetscFunctionBegin;
  PetscCall(MatAIJHashGPUConvertTarget(A, reuse, newmat));
  if (reuse != MAT_REUSE_MATRIX) {
    Mat             B = *newmat;
    Mat_AIJHashGPU *h;

    PetscCall(PetscNew(&h));
    h->statistics.products = -1;
    B->spptr               = h;
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJHASHGPU));
    MatStartUnbound(B);
    PetscCall(MatMPIAIJHashGPUSetOps(B, PETSC_TRUE));
    PetscCall(MatMPIAIJHashGPUCompose(B, PETSC_TRUE));
    PetscCall(MatAIJHashGPUSetVecType(B));
    if (B->assembled) {
      PetscCall(BlocksSetType(B));
      PetscCall(MatMPIAIJHashGPUSetGhostVecType(B, B->defaultvectype));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJHashGPU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATMPIAIJ));
  PetscCall(MatConvert_MPIAIJ_MPIAIJHashGPU(A, MATMPIAIJHASHGPU, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateAIJHashGPU - Creates a sparse parallel matrix of type `MATAIJHASHGPU`

  Collective

  Input Parameters:
+ comm  - MPI communicator
. m     - number of local rows, or `PETSC_DECIDE`
. n     - number of local columns, or `PETSC_DECIDE`
. M     - number of rows, or `PETSC_DETERMINE`
. N     - number of columns, or `PETSC_DETERMINE`
. d_nz  - nonzeros per row in the diagonal block, ignored if `d_nnz` is given
. d_nnz - nonzeros of each row in the diagonal block, or `NULL`
. o_nz  - nonzeros per row in the off-diagonal block, ignored if `o_nnz` is given
- o_nnz - nonzeros of each row in the off-diagonal block, or `NULL`

  Output Parameter:
. A - the matrix, `MATSEQAIJHASHGPU` on one process and `MATMPIAIJHASHGPU` on several

  Level: intermediate

  Note:
  `MatCreate()`, `MatSetType()` and `MatSetFromOptions()` are recommended instead.

.seealso: `MATAIJHASHGPU`, `MatCreateSeqAIJHashGPU()`, `MatCreateAIJ()`
@*/
PetscErrorCode MatCreateAIJHashGPU(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, MATAIJHASHGPU));
  PetscCall(MatSeqAIJSetPreallocation(*A, d_nz, d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(*A, d_nz, d_nnz, o_nz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATMPIAIJHASHGPU - "mpiaijhashgpu" - The type `MATAIJHASHGPU` on several processes: a `MATMPIAIJ` whose diagonal and
   off-diagonal blocks are `MATSEQAIJHASHGPU`

   Level: beginner

.seealso: `MATAIJHASHGPU`, `MATSEQAIJHASHGPU`
M*/
