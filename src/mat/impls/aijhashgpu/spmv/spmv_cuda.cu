#include "spmv.h"
#include <cub/cub.cuh>

#if PetscDefined(USE_COMPLEX)
  #include <thrust/complex.h>
typedef thrust::complex<PetscReal> Scalar;
#else
typedef PetscScalar Scalar;
#endif

#define BLOCK 256

#define CallCUDA(call) \
  do { \
    const cudaError_t error_ = (call); \
    if (error_) return (int)error_; \
  } while (0)

/* perm: entry k of the transpose is entry perm[k] of the matrix */
struct SpMVDevice {
  PetscInt  m, n, nnz;
  PetscInt *i, *j;
  Scalar   *a;
  PetscInt *ti, *tj, *perm;
  Scalar   *ta;
  int       transposed; /* ta holds the current values */
};

extern "C" int SpMVDeviceCount(void)
{
  int count = 0;

  if (cudaGetDeviceCount(&count)) {
    (void)cudaGetLastError();
    count = 0;
  }
  return count;
}

extern "C" const char *SpMVErrorString(int error)
{
  return cudaGetErrorString((cudaError_t)error);
}

extern "C" int SpMVDeviceCreate(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], void *stream, SpMVDevice **device)
{
  cudaStream_t s = (cudaStream_t)stream;
  SpMVDevice  *d = (SpMVDevice *)calloc(1, sizeof(*d));

  *device = d;
  if (!d) return (int)cudaErrorMemoryAllocation;
  d->m   = m;
  d->n   = n;
  d->nnz = m ? i[m] : 0;
  CallCUDA(cudaMalloc((void **)&d->i, ((size_t)m + 1) * sizeof(*d->i)));
  CallCUDA(cudaMalloc((void **)&d->j, ((size_t)d->nnz + 1) * sizeof(*d->j)));
  CallCUDA(cudaMalloc((void **)&d->a, ((size_t)d->nnz + 1) * sizeof(*d->a)));
  if (m)
    CallCUDA(cudaMemcpyAsync(d->i, i, ((size_t)m + 1) * sizeof(*d->i), cudaMemcpyHostToDevice, s));
  else
    CallCUDA(cudaMemsetAsync(d->i, 0, sizeof(*d->i), s));
  if (d->nnz) CallCUDA(cudaMemcpyAsync(d->j, j, (size_t)d->nnz * sizeof(*d->j), cudaMemcpyHostToDevice, s));
  CallCUDA(cudaStreamSynchronize(s));
  return 0;
}

extern "C" int SpMVDeviceDestroy(SpMVDevice **device)
{
  SpMVDevice *d = *device;

  if (!d) return 0;
  CallCUDA(cudaFree(d->i));
  CallCUDA(cudaFree(d->j));
  CallCUDA(cudaFree(d->a));
  CallCUDA(cudaFree(d->ti));
  CallCUDA(cudaFree(d->tj));
  CallCUDA(cudaFree(d->perm));
  CallCUDA(cudaFree(d->ta));
  free(d);
  *device = NULL;
  return 0;
}

extern "C" int SpMVDeviceSetValues(SpMVDevice *d, const PetscScalar a[], void *stream)
{
  cudaStream_t s = (cudaStream_t)stream;

  d->transposed = 0;
  if (d->nnz) CallCUDA(cudaMemcpyAsync(d->a, a, (size_t)d->nnz * sizeof(*d->a), cudaMemcpyHostToDevice, s));
  CallCUDA(cudaStreamSynchronize(s));
  return 0;
}

extern "C" void SpMVDeviceGetCSR(const SpMVDevice *d, const PetscInt **i, const PetscInt **j, const PetscScalar **a)
{
  *i = d->i;
  *j = d->j;
  *a = (const PetscScalar *)d->a;
}

/* a += b of another lane; complex numbers travel as two reals */
template <int WIDTH>
__device__ static inline Scalar SumOverTeam(Scalar sum)
{
  for (int step = WIDTH / 2; step > 0; step /= 2) {
#if PetscDefined(USE_COMPLEX)
    sum += Scalar(__shfl_down_sync(0xffffffffu, sum.real(), step, WIDTH), __shfl_down_sync(0xffffffffu, sum.imag(), step, WIDTH));
#else
    sum += __shfl_down_sync(0xffffffffu, sum, step, WIDTH);
#endif
  }
  return sum;
}

/* WIDTH lanes a row; every lane of a warp reaches the shuffles */
template <int WIDTH>
__global__ static void __launch_bounds__(BLOCK) CSRMultKernel(PetscInt m, const PetscInt *__restrict__ i, const PetscInt *__restrict__ j, const Scalar *__restrict__ a, const Scalar *__restrict__ x, const Scalar *z, Scalar *y)
{
  const size_t thread = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  const size_t row    = thread / WIDTH;
  const int    lane   = (int)(thread % WIDTH);
  Scalar       sum    = 0;

  if (row < (size_t)m) {
    const PetscInt end = i[row + 1];

    for (PetscInt k = i[row] + lane; k < end; k += WIDTH) sum += a[k] * x[j[k]];
  }
  sum = SumOverTeam<WIDTH>(sum);
  if (row < (size_t)m && lane == 0) y[row] = z ? z[row] + sum : sum;
}

template <int WIDTH>
static int CSRMultLaunch(PetscInt m, const PetscInt *i, const PetscInt *j, const Scalar *a, const Scalar *x, const Scalar *z, Scalar *y, cudaStream_t s)
{
  const size_t blocks = ((size_t)m * WIDTH + BLOCK - 1) / BLOCK;

  CSRMultKernel<WIDTH><<<(unsigned int)blocks, BLOCK, 0, s>>>(m, i, j, a, x, z, y);
  return (int)cudaGetLastError();
}

static int CSRMult(PetscInt m, PetscInt nnz, const PetscInt *i, const PetscInt *j, const Scalar *a, const PetscScalar *x, const PetscScalar *z, PetscScalar *y, cudaStream_t s)
{
  const Scalar  *sx = (const Scalar *)x, *sz = (const Scalar *)z;
  Scalar        *sy   = (Scalar *)y;
  const PetscInt mean = m ? nnz / m : 0;

  if (!m) return 0;
  if (mean <= 3) return CSRMultLaunch<2>(m, i, j, a, sx, sz, sy, s);
  if (mean <= 6) return CSRMultLaunch<4>(m, i, j, a, sx, sz, sy, s);
  if (mean <= 12) return CSRMultLaunch<8>(m, i, j, a, sx, sz, sy, s);
  if (mean <= 24) return CSRMultLaunch<16>(m, i, j, a, sx, sz, sy, s);
  return CSRMultLaunch<32>(m, i, j, a, sx, sz, sy, s);
}

extern "C" int SpMVMult_CUDA(const SpMVDevice *d, const PetscScalar *x, const PetscScalar *z, PetscScalar *y, void *stream)
{
  return CSRMult(d->m, d->nnz, d->i, d->j, d->a, x, z, y, (cudaStream_t)stream);
}

__global__ static void FillRowOfEntry(PetscInt m, const PetscInt *i, PetscInt *row)
{
  const PetscInt r = (PetscInt)(((size_t)blockIdx.x * BLOCK + threadIdx.x) / 32), lane = threadIdx.x % 32;

  if (r < m)
    for (PetscInt k = i[r] + lane; k < i[r + 1]; k += 32) row[k] = r;
}

__global__ static void FillIota(PetscInt n, PetscInt *p)
{
  const size_t k = (size_t)blockIdx.x * BLOCK + threadIdx.x;

  if (k < (size_t)n) p[k] = (PetscInt)k;
}

/* ti[c]: how many sorted columns are below c */
__global__ static void FillOffsets(PetscInt n, PetscInt nnz, const PetscInt *sorted, PetscInt *ti)
{
  const size_t c   = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  PetscInt     low = 0, high = nnz;

  if (c > (size_t)n) return;
  while (low < high) {
    const PetscInt mid = low + (high - low) / 2;

    if (sorted[mid] < (PetscInt)c)
      low = mid + 1;
    else
      high = mid;
  }
  ti[c] = low;
}

__global__ static void GatherIndices(PetscInt n, const PetscInt *perm, const PetscInt *from, PetscInt *to)
{
  const size_t k = (size_t)blockIdx.x * BLOCK + threadIdx.x;

  if (k < (size_t)n) to[k] = from[perm[k]];
}

__global__ static void GatherValues(PetscInt n, const PetscInt *perm, const Scalar *from, Scalar *to)
{
  const size_t k = (size_t)blockIdx.x * BLOCK + threadIdx.x;

  if (k < (size_t)n) to[k] = from[perm[k]];
}

static unsigned int Blocks(size_t threads)
{
  return (unsigned int)((threads + BLOCK - 1) / BLOCK);
}

/* A stable sort of the entries by column keeps the rows of each column in order */
static int BuildTranspose(SpMVDevice *d, cudaStream_t s)
{
  const size_t nnz = (size_t)d->nnz;
  PetscInt    *row, *iota, *sorted;
  void        *temp  = NULL;
  size_t       bytes = 0;
  int          bits  = 1;

  while (bits < (int)(8 * sizeof(PetscInt)) - 1 && ((PetscInt)1 << bits) < d->n) bits++;
  CallCUDA(cudaMalloc((void **)&d->ti, ((size_t)d->n + 1) * sizeof(PetscInt)));
  CallCUDA(cudaMalloc((void **)&d->tj, (nnz + 1) * sizeof(PetscInt)));
  CallCUDA(cudaMalloc((void **)&d->perm, (nnz + 1) * sizeof(PetscInt)));
  CallCUDA(cudaMalloc((void **)&d->ta, (nnz + 1) * sizeof(Scalar)));
  if (!nnz) {
    CallCUDA(cudaMemsetAsync(d->ti, 0, ((size_t)d->n + 1) * sizeof(PetscInt), s));
    return 0;
  }
  CallCUDA(cudaMallocAsync((void **)&row, 3 * nnz * sizeof(PetscInt), s));
  iota   = row + nnz;
  sorted = iota + nnz;
  FillRowOfEntry<<<Blocks(32 * (size_t)d->m), BLOCK, 0, s>>>(d->m, d->i, row);
  FillIota<<<Blocks(nnz), BLOCK, 0, s>>>(d->nnz, iota);
  CallCUDA(cub::DeviceRadixSort::SortPairs(NULL, bytes, d->j, sorted, iota, d->perm, nnz, 0, bits, s));
  CallCUDA(cudaMallocAsync(&temp, bytes, s));
  CallCUDA(cub::DeviceRadixSort::SortPairs(temp, bytes, d->j, sorted, iota, d->perm, nnz, 0, bits, s));
  FillOffsets<<<Blocks((size_t)d->n + 1), BLOCK, 0, s>>>(d->n, d->nnz, sorted, d->ti);
  GatherIndices<<<Blocks(nnz), BLOCK, 0, s>>>(d->nnz, d->perm, row, d->tj);
  CallCUDA(cudaFreeAsync(temp, s));
  CallCUDA(cudaFreeAsync(row, s));
  return (int)cudaGetLastError();
}

#if PetscDefined(USE_COMPLEX)
__global__ static void Conjugate(PetscInt n, Scalar *a)
{
  const size_t k = (size_t)blockIdx.x * BLOCK + threadIdx.x;

  if (k < (size_t)n) a[k] = thrust::conj(a[k]);
}
#endif

extern "C" int SpMVMultTranspose_CUDA(SpMVDevice *d, int hermitian, const PetscScalar *x, const PetscScalar *z, PetscScalar *y, void *stream)
{
  cudaStream_t s = (cudaStream_t)stream;

  if (!d->ti) {
    const int error = BuildTranspose(d, s);

    if (error) return error;
  }
  /* transposed: 1 plain, 2 conjugated */
  if (d->transposed != 1 + !!hermitian) {
    if (d->nnz) {
      GatherValues<<<Blocks((size_t)d->nnz), BLOCK, 0, s>>>(d->nnz, d->perm, d->a, d->ta);
#if PetscDefined(USE_COMPLEX)
      if (hermitian) Conjugate<<<Blocks((size_t)d->nnz), BLOCK, 0, s>>>(d->nnz, d->ta);
#endif
      CallCUDA(cudaGetLastError());
    }
    d->transposed = 1 + !!hermitian;
  }
  return CSRMult(d->n, d->nnz, d->ti, d->tj, d->ta, x, z, y, s);
}

__global__ static void DiagonalKernel(PetscInt rows, const PetscInt *i, const PetscInt *j, const Scalar *a, Scalar *d)
{
  const size_t row = (size_t)blockIdx.x * BLOCK + threadIdx.x;

  if (row < (size_t)rows) {
    PetscInt       low = i[row], high = i[row + 1];
    const PetscInt end = high;

    while (low < high) {
      const PetscInt mid = low + (high - low) / 2;

      if (j[mid] < (PetscInt)row)
        low = mid + 1;
      else
        high = mid;
    }
    d[row] = low < end && j[low] == (PetscInt)row ? a[low] : Scalar(0);
  }
}

extern "C" int SpMVGetDiagonal_CUDA(const SpMVDevice *d, PetscScalar *diagonal, void *stream)
{
  const PetscInt rows = d->m < d->n ? d->m : d->n;

  if (!rows) return 0;
  DiagonalKernel<<<Blocks((size_t)rows), BLOCK, 0, (cudaStream_t)stream>>>(rows, d->i, d->j, d->a, (Scalar *)diagonal);
  return (int)cudaGetLastError();
}
