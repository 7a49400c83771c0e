/*
  A warp takes a row. Delta encoding: 32 entries at a time, one a lane, columns by a prefix sum of the deltas. Bitmap: 32
  words at a time, one a lane, offsets of values by a prefix sum of population counts. Sums are added in a fixed tree.
*/
#include "../../../sys/trefoildevice.h"
#include "mult.h"

#define WARPS 8 /* rows of a block */

struct _n_MACKODevice {
  MACKOMatrix A; /* device pointers */
};

PetscErrorCode MACKODeviceCreate(const MACKOMatrix *A, MACKODevice *device)
{
  MACKOMatrix *d;

  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscNew(device));
  d  = &(*device)->A;
  *d = *A;
  PetscCall(TrefoilUpload(sizeof(PetscCount) * ((size_t)A->m + 1), A->start, (void **)&d->start));
  PetscCall(TrefoilUpload((size_t)A->stored * MACKOValueBits(A->type) / 8 + 64, A->values, &d->values));
  PetscCall(TrefoilUpload((size_t)A->stored * A->bits / 8 + 64, A->deltas, (void **)&d->deltas));
  PetscCall(TrefoilUpload(sizeof(uint64_t) * (size_t)A->m * MACKOWords(A), A->bitmap, (void **)&d->bitmap));
  PetscCall(TrefoilUpload(sizeof(PetscReal) * (size_t)A->m, A->rowscale, (void **)&d->rowscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MACKODeviceDestroy(MACKODevice *device)
{
  PetscFunctionBegin;
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree((*device)->A.start));
  PetscCallCUDA(cudaFree((*device)->A.values));
  PetscCallCUDA(cudaFree((*device)->A.deltas));
  PetscCallCUDA(cudaFree((*device)->A.bitmap));
  PetscCallCUDA(cudaFree((*device)->A.rowscale));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(PETSC_USE_COMPLEX)
  #include <cuda_fp16.h>
  #include <cuda_bf16.h>

template <int TYPE> static __device__ inline PetscReal DeviceValue(const void *values, PetscCount k)
{
  if (TYPE == MAT_MACKO_VALUES_FP16) return (PetscReal)__half2float(((const __half *)values)[k]);
  if (TYPE == MAT_MACKO_VALUES_BF16) return (PetscReal)__bfloat162float(((const __nv_bfloat16 *)values)[k]);
  if (TYPE == MAT_MACKO_VALUES_INT8) return (PetscReal)((const signed char *)values)[k];
  return ((const PetscReal *)values)[k];
}

/* Sum over the lanes before this one */
static __device__ inline int WarpExclusive(int v, int lane)
{
  int sum = v;

  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, sum, offset);

    if (lane >= offset) sum += other;
  }
  return sum - v;
}

template <int TYPE> static __device__ inline PetscReal WarpDelta(const MACKOMatrix &A, PetscCount begin, PetscCount end, int lane, const PetscReal *__restrict__ x)
{
  const int perbyte = 8 / A.bits, most = (1 << A.bits) - 1;
  PetscReal sum    = 0;
  PetscInt  column = -1; /* of the last entry of the batch before */

  for (PetscCount k = begin; k < end; k += 32) {
    const PetscCount mine  = k + lane;
    const int        d     = mine < end ? ((A.deltas[mine / perbyte] >> (A.bits * (int)(mine % perbyte))) & most) + 1 : 0;
    const PetscInt   c     = column + WarpExclusive(d, lane) + d;
    const PetscReal  value = mine < end ? DeviceValue<TYPE>(A.values, mine) : 0;

    if (value != 0) sum += value * x[c]; /* padding ignores what x holds there */
    column = __shfl_sync(0xffffffffu, c, 31);
  }
  return sum;
}

template <int TYPE> static __device__ inline PetscReal WarpBitmap(const MACKOMatrix &A, PetscInt row, PetscInt words, PetscCount k, int lane, const PetscReal *__restrict__ x)
{
  PetscReal sum = 0;

  for (PetscInt w = 0; w < words; w += 32) {
    const PetscInt mine  = w + lane;
    uint64_t       word  = mine < words ? A.bitmap[(size_t)row * words + mine] : 0;
    const int      count = __popcll(word), before = WarpExclusive(count, lane);
    PetscCount     entry = k + before;

    for (; word; word &= word - 1) sum += DeviceValue<TYPE>(A.values, entry++) * x[64 * mine + __ffsll((long long)word) - 1];
    k += __shfl_sync(0xffffffffu, before + count, 31);
  }
  return sum;
}

template <int TYPE> static __global__ void MultKernel(MACKOMatrix A, bool add, const PetscReal *__restrict__ x, PetscReal *__restrict__ y)
{
  const PetscInt row  = blockIdx.x * WARPS + threadIdx.x / 32;
  const int      lane = threadIdx.x % 32;
  PetscReal      sum;

  if (row >= A.m) return; /* whole warps */
  sum = A.bits ? WarpDelta<TYPE>(A, A.start[row], A.start[row + 1], lane, x) : WarpBitmap<TYPE>(A, row, A.n / 64 + (A.n % 64 ? 1 : 0), A.start[row], lane, x);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) {
    sum *= A.factor * (TYPE == MAT_MACKO_VALUES_INT8 ? A.rowscale[row] : 1);
    y[row] = add ? y[row] + sum : sum;
  }
}

PetscErrorCode MACKOMult_CUDA(MACKODevice device, PetscBool add, const PetscScalar *x, PetscScalar *y)
{
  const MACKOMatrix &A    = device->A;
  const unsigned     grid = (unsigned)((A.m + WARPS - 1) / WARPS);
  cudaStream_t       stream;

  PetscFunctionBegin;
  if (!A.m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TrefoilGetStream(&stream));
  switch (A.type) {
  case MAT_MACKO_VALUES_FP16: MultKernel<MAT_MACKO_VALUES_FP16><<<grid, 32 * WARPS, 0, stream>>>(A, add, x, y); break;
  case MAT_MACKO_VALUES_BF16: MultKernel<MAT_MACKO_VALUES_BF16><<<grid, 32 * WARPS, 0, stream>>>(A, add, x, y); break;
  case MAT_MACKO_VALUES_INT8: MultKernel<MAT_MACKO_VALUES_INT8><<<grid, 32 * WARPS, 0, stream>>>(A, add, x, y); break;
  default: MultKernel<MAT_MACKO_VALUES_SCALAR><<<grid, 32 * WARPS, 0, stream>>>(A, add, x, y);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode MACKOMult_CUDA(MACKODevice device, PetscBool add, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "MACKO products of complex matrices run on the host");
}
#endif
