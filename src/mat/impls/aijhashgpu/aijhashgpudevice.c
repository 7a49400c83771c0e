/*
  The copy of a MATSEQAIJHASHGPU matrix on the GPU, and the operations that use it. The host arrays stay the truth: the copy
  is renewed when the state of the matrix shows a change, its structure only when the nonzero state does.
*/
#include "aijhashgpuimpl.h"
#include <petscdevice.h>
#include "spgemm/spgemm_cuda.h"

#if PetscDefined(HAVE_CUDA)
  #define PetscCallSpMV(call) \
    do { \
      const int error_ = (call); \
      PetscCheck(!error_, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA error %d: %s", error_, SpMVErrorString(error_)); \
    } while (0)

/* Asks CUDA only, so that a machine without a driver is not an error; then lets PETSc start its own device objects */
PetscErrorCode MatAIJHashGPUHasDevice(PetscBool *has)
{
  static int count = -1;

  PetscFunctionBegin;
  if (count < 0) count = SpMVDeviceCount();
  if (count > 0) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  *has = count > 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetStream(void **stream)
{
  PetscDeviceContext context;
  void              *handle;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
  *stream = *(void **)handle;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSeqAIJHashGPUFreeDevice(Mat A)
{
  Mat_AIJHashGPU *h = (Mat_AIJHashGPU *)A->spptr;

  PetscFunctionBegin;
  if (h->device) PetscCallSpMV(SpMVDeviceDestroy(&h->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSeqAIJHashGPUUpload(Mat A, SpMVDevice **device)
{
  Mat_AIJHashGPU    *h = (Mat_AIJHashGPU *)A->spptr;
  PetscObjectState   state, nonzerostate;
  const PetscInt    *i, *j;
  const PetscScalar *a;
  PetscScalar       *values;
  PetscMemType       memtype;
  void              *stream;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatGetNonzeroState(A, &nonzerostate));
  if (!h->device || h->state != state || h->nonzerostate != nonzerostate) {
    const PetscInt m = A->rmap->n;

    PetscCall(PetscLogEventBegin(MAT_HashGPU_Upload, A, 0, 0, 0));
    PetscCall(GetStream(&stream));
    PetscCall(MatSeqAIJGetCSRAndMemType(A, &i, &j, &values, &memtype));
    if (h->device && h->nonzerostate != nonzerostate) PetscCallSpMV(SpMVDeviceDestroy(&h->device));
    if (!h->device) {
      PetscCallSpMV(SpMVDeviceCreate(m, A->cmap->n, i, j, stream, &h->device));
      PetscCall(PetscLogCpuToGpu((PetscLogDouble)(m + 1 + (i ? i[m] : 0)) * sizeof(PetscInt)));
    }
    PetscCall(MatSeqAIJGetArrayRead(A, &a));
    PetscCallSpMV(SpMVDeviceSetValues(h->device, a, stream));
    PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(i ? i[m] : 0) * sizeof(PetscScalar)));
    h->state        = state;
    h->nonzerostate = nonzerostate;
    PetscCall(PetscLogEventEnd(MAT_HashGPU_Upload, A, 0, 0, 0));
  }
  *device = h->device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OnDevice(Mat A, Vec x, Vec y, PetscBool *flg)
{
  PetscBool xhost, yhost;

  PetscFunctionBegin;
  *flg = PETSC_FALSE;
  PetscCall(VecBoundToCPU(x, &xhost));
  PetscCall(VecBoundToCPU(y, &yhost));
  if (!A->boundtocpu && !xhost && !yhost) {
    PetscCall(PetscObjectTypeCompareAny((PetscObject)x, flg, VECSEQCUDA, VECMPICUDA, ""));
    if (*flg) PetscCall(PetscObjectTypeCompareAny((PetscObject)y, flg, VECSEQCUDA, VECMPICUDA, ""));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  MULT_NONE,
  MULT_TRANSPOSE,
  MULT_HERMITIAN
} MultForm;

/* y = op(A) x + z on the GPU; z may be NULL or y */
static PetscErrorCode MultOnDevice(Mat A, MultForm form, Vec x, Vec z, Vec y)
{
  SpMVDevice        *device;
  const PetscScalar *ax, *az = NULL;
  PetscScalar       *ay;
  const PetscInt    *i, *j;
  PetscMemType       memtype;
  void              *stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUUpload(A, &device));
  PetscCall(GetStream(&stream));
  PetscCall(VecCUDAGetArrayRead(x, &ax));
  if (z && z != y) PetscCall(VecCUDAGetArrayRead(z, &az));
  if (z == y) {
    PetscCall(VecCUDAGetArray(y, &ay));
    az = ay;
  } else
    PetscCall(VecCUDAGetArrayWrite(y, &ay));
  PetscCall(PetscLogGpuTimeBegin());
  if (form == MULT_NONE)
    PetscCallSpMV(SpMVMult_CUDA(device, ax, az, ay, stream));
  else
    PetscCallSpMV(SpMVMultTranspose_CUDA(device, form == MULT_HERMITIAN, ax, az, ay, stream));
  PetscCall(PetscLogGpuTimeEnd());
  if (z == y)
    PetscCall(VecCUDARestoreArray(y, &ay));
  else
    PetscCall(VecCUDARestoreArrayWrite(y, &ay));
  if (z && z != y) PetscCall(VecCUDARestoreArrayRead(z, &az));
  PetscCall(VecCUDARestoreArrayRead(x, &ax));
  PetscCall(MatSeqAIJGetCSRAndMemType(A, &i, &j, NULL, &memtype));
  PetscCall(PetscLogGpuFlops(2.0 * (i ? i[A->rmap->n] : 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_SeqAIJHashGPU(Mat A, Vec x, Vec y)
{
  const struct _MatOps *base;
  PetscBool             device;

  PetscFunctionBegin;
  PetscCall(OnDevice(A, x, y, &device));
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  if (device)
    PetscCall(MultOnDevice(A, MULT_NONE, x, NULL, y));
  else
    PetscCall(base->mult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_SeqAIJHashGPU(Mat A, Vec x, Vec z, Vec y)
{
  const struct _MatOps *base;
  PetscBool             device;

  PetscFunctionBegin;
  PetscCall(OnDevice(A, x, y, &device));
  if (device) PetscCall(OnDevice(A, z, y, &device));
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  if (device)
    PetscCall(MultOnDevice(A, MULT_NONE, x, z, y));
  else
    PetscCall(base->multadd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SeqAIJHashGPU(Mat A, Vec x, Vec y)
{
  const struct _MatOps *base;
  PetscBool             device;

  PetscFunctionBegin;
  PetscCall(OnDevice(A, x, y, &device));
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  if (device)
    PetscCall(MultOnDevice(A, MULT_TRANSPOSE, x, NULL, y));
  else
    PetscCall(base->multtranspose(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_SeqAIJHashGPU(Mat A, Vec x, Vec z, Vec y)
{
  const struct _MatOps *base;
  PetscBool             device;

  PetscFunctionBegin;
  PetscCall(OnDevice(A, x, y, &device));
  if (device) PetscCall(OnDevice(A, z, y, &device));
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  if (device)
    PetscCall(MultOnDevice(A, MULT_TRANSPOSE, x, z, y));
  else
    PetscCall(base->multtransposeadd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_SeqAIJHashGPU(Mat A, Vec d)
{
  const struct _MatOps *base;
  PetscBool             device;
  SpMVDevice           *copy;
  PetscScalar          *ad;
  void                 *stream;

  PetscFunctionBegin;
  PetscCall(OnDevice(A, d, d, &device));
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  if (!device)
    PetscCall(base->getdiagonal(A, d));
  else {
    PetscCall(MatSeqAIJHashGPUUpload(A, &copy));
    PetscCall(GetStream(&stream));
    PetscCall(VecSet(d, 0.));
    PetscCall(VecCUDAGetArray(d, &ad));
    PetscCall(PetscLogGpuTimeBegin());
    PetscCallSpMV(SpMVGetDiagonal_CUDA(copy, ad, stream));
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(VecCUDARestoreArray(d, &ad));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_SeqAIJHashGPU(Mat A, PetscBool flg)
{
  PetscFunctionBegin;
  A->boundtocpu = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSeqAIJHashGPUSetDeviceOps(Mat A, PetscBool replace)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  A->ops->mult             = replace ? MatMult_SeqAIJHashGPU : base->mult;
  A->ops->multadd          = replace ? MatMultAdd_SeqAIJHashGPU : base->multadd;
  A->ops->multtranspose    = replace ? MatMultTranspose_SeqAIJHashGPU : base->multtranspose;
  A->ops->multtransposeadd = replace ? MatMultTransposeAdd_SeqAIJHashGPU : base->multtransposeadd;
  A->ops->bindtocpu        = replace ? MatBindToCPU_SeqAIJHashGPU : base->bindtocpu;
  A->ops->getdiagonal      = replace ? MatGetDiagonal_SeqAIJHashGPU : base->getdiagonal;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJHashGPUSymbolicOnDevice(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt **i, PetscInt **j)
{
  PetscInt64 *ci;
  PetscInt   *cj = NULL;
  void       *columns, *stream;

  PetscFunctionBegin;
  PetscCall(GetStream(&stream));
  PetscCall(PetscMalloc1((PetscCount)A->m + 1, &ci));
  PetscCallSpMV(SpGEMMSymbolic_CUDA(A, B, ci, &columns, stream));
  PetscCheck(ci[A->m] <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "The product of a %" PetscInt_FMT " x %" PetscInt_FMT " and a %" PetscInt_FMT " x %" PetscInt_FMT " matrix has %" PetscInt64_FMT " nonzeros, more than PetscInt holds; configure PETSc with --with-64-bit-indices, or use more MPI processes", A->m, A->n, B->m, B->n, ci[A->m]);
  PetscCall(PetscMalloc1((PetscCount)A->m + 1, i));
  for (PetscInt row = 0; row <= A->m; row++) (*i)[row] = (PetscInt)ci[row];
  PetscCall(PetscMalloc1(ci[A->m], &cj));
  PetscCallSpMV(SpGEMMGetColumns_CUDA(A->m, ci, &columns, cj, stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(A->i[A->m] + B->i[B->m] + A->m + B->m + 2) * sizeof(PetscInt)));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)(ci[A->m]) * sizeof(PetscInt)));
  PetscCall(PetscFree(ci));
  *j = cj;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJHashGPUNumericOnDevice(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt i[], const PetscInt j[], PetscScalar a[])
{
  void *stream;

  PetscFunctionBegin;
  PetscCall(GetStream(&stream));
  PetscCallSpMV(SpGEMMNumeric_CUDA(A, B, i, j, a, stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(A->i[A->m] + B->i[B->m]) * (sizeof(PetscInt) + sizeof(PetscScalar)) + (PetscLogDouble)i[A->m] * sizeof(PetscInt)));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)i[A->m] * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else

PetscErrorCode MatAIJHashGPUHasDevice(PetscBool *has)
{
  PetscFunctionBegin;
  *has = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSeqAIJHashGPUFreeDevice(Mat A)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSeqAIJHashGPUSetDeviceOps(Mat A, PetscBool replace)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not reached: MatProductAIJHashGPUUsesDevice() stops before */
PetscErrorCode MatAIJHashGPUSymbolicOnDevice(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt **i, PetscInt **j)
{
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "This PETSc was built without CUDA");
}

PetscErrorCode MatAIJHashGPUNumericOnDevice(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt i[], const PetscInt j[], PetscScalar a[])
{
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "This PETSc was built without CUDA");
}
#endif
