#include "spgemm_cuda.h"
#include <cub/cub.cuh>

#if PetscDefined(USE_COMPLEX)
  #include <thrust/complex.h>
typedef thrust::complex<PetscReal> Scalar;
#else
typedef PetscScalar  Scalar;
#endif

#define BLOCK      128
#define POOL_BYTES ((size_t)1 << 29) /* tables in global memory */
#define SLOTS      (2 * SPGEMM_SHARED_KEYS)

#define CallCUDA(call) \
  do { \
    const cudaError_t error_ = (call); \
    if (error_) return (int)error_; \
  } while (0)

/* A copy of a matrix on the device; a only if its values were asked for */
typedef struct {
  PetscInt  m, n;
  PetscInt *i, *j;
  Scalar   *a;
} DeviceCSR;

static int DeviceCSRFree(DeviceCSR *d, cudaStream_t s)
{
  CallCUDA(cudaFreeAsync(d->i, s));
  CallCUDA(cudaFreeAsync(d->j, s));
  if (d->a) CallCUDA(cudaFreeAsync(d->a, s));
  return 0;
}

static int DeviceCSRCopy(const SpGEMMMatrix *h, int values, DeviceCSR *d, cudaStream_t s)
{
  const size_t nz = (size_t)h->i[h->m];

  d->m = h->m;
  d->n = h->n;
  d->a = NULL;
  CallCUDA(cudaMallocAsync((void **)&d->i, ((size_t)h->m + 1) * sizeof(PetscInt), s));
  CallCUDA(cudaMallocAsync((void **)&d->j, (nz + 1) * sizeof(PetscInt), s));
  CallCUDA(cudaMemcpyAsync(d->i, h->i, ((size_t)h->m + 1) * sizeof(PetscInt), cudaMemcpyHostToDevice, s));
  if (nz) CallCUDA(cudaMemcpyAsync(d->j, h->j, nz * sizeof(PetscInt), cudaMemcpyHostToDevice, s));
  if (!values) return 0;
  CallCUDA(cudaMallocAsync((void **)&d->a, (nz + 1) * sizeof(Scalar), s));
  if (nz) CallCUDA(cudaMemcpyAsync(d->a, h->a, nz * sizeof(Scalar), cudaMemcpyHostToDevice, s));
  return 0;
}

__device__ static inline unsigned long long HashOf(PetscInt key, int shift)
{
  return ((unsigned long long)key * 0x9E3779B97F4A7C15ull) >> shift;
}

#if PetscDefined(USE_64BIT_INDICES)
typedef unsigned long long Word;
#else
typedef unsigned int Word;
#endif

/* Enters the key; returns 1 if it is new. Empty slots hold all ones, which no column is. */
__device__ static inline int Insert(Word *table, unsigned long long size, int shift, PetscInt key)
{
  unsigned long long slot = HashOf(key, shift);

  for (;;) {
    const Word old = atomicCAS(&table[slot], ~(Word)0, (Word)key);

    if (old == ~(Word)0) return 1;
    if (old == (Word)key) return 0;
    slot = (slot + 1) & (size - 1);
  }
}

/* The block enters all columns of a row and takes them out to list if that is not NULL; returns how many, to every thread */
__device__ static PetscInt64 RowColumns(const DeviceCSR A, const DeviceCSR B, PetscInt row, Word *table, unsigned long long size, int shift, PetscInt *list, int *count)
{
  for (unsigned long long slot = threadIdx.x; slot < size; slot += BLOCK) table[slot] = ~(Word)0;
  if (threadIdx.x == 0) *count = 0;
  __syncthreads();
  for (PetscInt k = A.i[row] + (PetscInt)(threadIdx.x / 32); k < A.i[row + 1]; k += BLOCK / 32) {
    const PetscInt end = B.i[A.j[k] + 1];

    for (PetscInt l = B.i[A.j[k]] + (PetscInt)(threadIdx.x % 32); l < end; l += 32) {
      if (Insert(table, size, shift, B.j[l])) {
        const int at = atomicAdd(count, 1);

        if (list) list[at] = B.j[l];
      }
    }
  }
  __syncthreads();
  return *count;
}

/* bound[row]: an upper bound of the length of the row of C */
__global__ static void BoundKernel(const DeviceCSR A, const DeviceCSR B, PetscInt64 *bound)
{
  const size_t row      = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  PetscInt64   products = 0;

  if (row >= (size_t)A.m) return;
  for (PetscInt k = A.i[row]; k < A.i[row + 1]; k++) products += B.i[A.j[k] + 1] - B.i[A.j[k]];
  bound[row] = products < B.n ? products : B.n;
}

/* offset NULL: counts only, to length */
__global__ static void __launch_bounds__(BLOCK) SharedKernel(const DeviceCSR A, const DeviceCSR B, const PetscInt64 *bound, PetscInt64 *length, const PetscInt64 *offset, PetscInt *columns)
{
  __shared__ Word table[SLOTS];
  __shared__ int  count;

  for (PetscInt row = blockIdx.x; row < A.m; row += gridDim.x) {
    int                shift = 64 - 5;
    unsigned long long size  = 32;

    if (bound[row] > SPGEMM_SHARED_KEYS) continue;
    while ((PetscInt64)size < 2 * bound[row]) size *= 2, shift--;
    const PetscInt64 n = RowColumns(A, B, row, table, size, shift, offset ? columns + offset[row] : NULL, &count);

    if (!offset && threadIdx.x == 0) length[row] = n;
    __syncthreads();
  }
}

__global__ static void __launch_bounds__(BLOCK) GlobalKernel(const DeviceCSR A, const DeviceCSR B, const PetscInt64 *bound, PetscInt64 *length, const PetscInt64 *offset, PetscInt *columns, Word *pool, unsigned long long size, int shift)
{
  Word          *table = pool + size * blockIdx.x;
  __shared__ int count;

  for (PetscInt row = blockIdx.x; row < A.m; row += gridDim.x) {
    if (bound[row] <= SPGEMM_SHARED_KEYS) continue;
    const PetscInt64 n = RowColumns(A, B, row, table, size, shift, offset ? columns + offset[row] : NULL, &count);

    if (!offset && threadIdx.x == 0) length[row] = n;
    __syncthreads();
  }
}

/* Both kernels over all rows; each takes its own. most: the largest bound of a row */
static int RunSymbolic(const DeviceCSR *A, const DeviceCSR *B, const PetscInt64 *bound, PetscInt64 most, PetscInt64 *length, const PetscInt64 *offset, PetscInt *columns, cudaStream_t s)
{
  const unsigned int grid = (unsigned int)(A->m < 65536 ? A->m : 65536);

  SharedKernel<<<grid, BLOCK, 0, s>>>(*A, *B, bound, length, offset, columns);
  CallCUDA(cudaGetLastError());
  if (most > SPGEMM_SHARED_KEYS) {
    unsigned long long size  = 32;
    int                shift = 64 - 5;
    size_t             tables;
    Word              *pool;

    while ((PetscInt64)size < 2 * most) size *= 2, shift--;
    tables = POOL_BYTES / (size * sizeof(Word));
    tables = tables < 1 ? 1 : tables > grid ? grid
                                            : tables;
    CallCUDA(cudaMallocAsync((void **)&pool, tables * size * sizeof(Word), s));
    GlobalKernel<<<(unsigned int)tables, BLOCK, 0, s>>>(*A, *B, bound, length, offset, columns, pool, size, shift);
    CallCUDA(cudaGetLastError());
    CallCUDA(cudaFreeAsync(pool, s));
  }
  return 0;
}

typedef struct {
  PetscInt   *j;
  PetscInt64 *offset;
} Columns;

/* From the lengths of the rows, on the host: offsets, and the columns in the order in which they were entered */
static int FillColumns(const DeviceCSR *A, const DeviceCSR *B, const PetscInt64 *bound, PetscInt64 most, const PetscInt64 Ci[], Columns *columns, cudaStream_t s)
{
  CallCUDA(cudaMallocAsync((void **)&columns->offset, ((size_t)A->m + 1) * sizeof(PetscInt64), s));
  CallCUDA(cudaMallocAsync((void **)&columns->j, ((size_t)Ci[A->m] + 1) * sizeof(PetscInt), s));
  CallCUDA(cudaMemcpyAsync(columns->offset, Ci, ((size_t)A->m + 1) * sizeof(PetscInt64), cudaMemcpyHostToDevice, s));
  return RunSymbolic(A, B, bound, most, NULL, columns->offset, columns->j, s);
}

extern "C" int SpGEMMSymbolic_CUDA(const SpGEMMMatrix *A, const SpGEMMMatrix *B, PetscInt64 Ci[], void **handle, void *stream)
{
  cudaStream_t s       = (cudaStream_t)stream;
  Columns     *columns = (Columns *)calloc(1, sizeof(*columns));
  DeviceCSR    dA, dB;
  PetscInt64  *bound, most = 0;

  *handle = columns;
  Ci[0]   = 0;
  if (!columns) return (int)cudaErrorMemoryAllocation;
  if (!A->m) return 0;
  int error = DeviceCSRCopy(A, 0, &dA, s);
  if (!error) error = DeviceCSRCopy(B, 0, &dB, s);
  if (error) return error;
  CallCUDA(cudaMallocAsync((void **)&bound, 2 * (size_t)A->m * sizeof(PetscInt64), s));
  BoundKernel<<<(unsigned int)((A->m + (size_t)BLOCK - 1) / BLOCK), BLOCK, 0, s>>>(dA, dB, bound);
  CallCUDA(cudaMemcpyAsync(Ci + 1, bound, (size_t)A->m * sizeof(PetscInt64), cudaMemcpyDeviceToHost, s));
  CallCUDA(cudaStreamSynchronize(s));
  for (PetscInt row = 0; row < A->m; row++) most = Ci[row + 1] > most ? Ci[row + 1] : most;
  error = RunSymbolic(&dA, &dB, bound, most, bound + A->m, NULL, NULL, s);
  if (error) return error;
  CallCUDA(cudaMemcpyAsync(Ci + 1, bound + A->m, (size_t)A->m * sizeof(PetscInt64), cudaMemcpyDeviceToHost, s));
  CallCUDA(cudaStreamSynchronize(s));
  for (PetscInt row = 0; row < A->m; row++) Ci[row + 1] += Ci[row];
  error = FillColumns(&dA, &dB, bound, most, Ci, columns, s);
  if (error) return error;
  CallCUDA(cudaFreeAsync(bound, s));
  error = DeviceCSRFree(&dA, s);
  if (!error) error = DeviceCSRFree(&dB, s);
  if (error) return error;
  CallCUDA(cudaStreamSynchronize(s));
  return 0;
}

extern "C" int SpGEMMGetColumns_CUDA(PetscInt m, const PetscInt64 Ci[], void **handle, PetscInt Cj[], void *stream)
{
  cudaStream_t s       = (cudaStream_t)stream;
  Columns     *columns = (Columns *)*handle;
  PetscInt    *sorted;
  void        *temp;
  size_t       bytes = 0;

  if (Cj && m && Ci[m]) {
    CallCUDA(cudaMallocAsync((void **)&sorted, (size_t)Ci[m] * sizeof(PetscInt), s));
    CallCUDA(cub::DeviceSegmentedSort::SortKeys(NULL, bytes, columns->j, sorted, Ci[m], (PetscInt64)m, columns->offset, columns->offset + 1, s));
    CallCUDA(cudaMallocAsync(&temp, bytes, s));
    CallCUDA(cub::DeviceSegmentedSort::SortKeys(temp, bytes, columns->j, sorted, Ci[m], (PetscInt64)m, columns->offset, columns->offset + 1, s));
    CallCUDA(cudaMemcpyAsync(Cj, sorted, (size_t)Ci[m] * sizeof(PetscInt), cudaMemcpyDeviceToHost, s));
    CallCUDA(cudaFreeAsync(temp, s));
    CallCUDA(cudaFreeAsync(sorted, s));
  }
  if (columns->j) CallCUDA(cudaFreeAsync(columns->j, s));
  if (columns->offset) CallCUDA(cudaFreeAsync(columns->offset, s));
  free(columns);
  *handle = NULL;
  CallCUDA(cudaStreamSynchronize(s));
  return 0;
}

/* A warp a row; the place of a column in its sorted row of C by bisection */
__global__ static void __launch_bounds__(BLOCK) NumericKernel(const DeviceCSR A, const DeviceCSR B, const DeviceCSR C)
{
  const size_t row  = ((size_t)blockIdx.x * BLOCK + threadIdx.x) / 32;
  const int    lane = threadIdx.x % 32;

  if (row >= (size_t)A.m) return; /* the whole warp */
  for (PetscInt l = C.i[row] + lane; l < C.i[row + 1]; l += 32) C.a[l] = 0;
  __syncwarp();
  for (PetscInt k = A.i[row]; k < A.i[row + 1]; k++) {
    const Scalar   a   = A.a[k];
    const PetscInt end = B.i[A.j[k] + 1];

    for (PetscInt l = B.i[A.j[k]] + lane; l < end; l += 32) {
      const PetscInt c   = B.j[l];
      PetscInt       low = C.i[row], high = C.i[row + 1] - 1;

      while (low < high) {
        const PetscInt mid = low + (high - low) / 2;

        if (C.j[mid] < c) low = mid + 1;
        else high = mid;
      }
      C.a[low] += a * B.a[l];
    }
    __syncwarp();
  }
}

extern "C" int SpGEMMNumeric_CUDA(const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt Ci[], const PetscInt Cj[], PetscScalar Ca[], void *stream)
{
  cudaStream_t       s = (cudaStream_t)stream;
  const SpGEMMMatrix C = {A->m, B->n, Ci, Cj, NULL};
  DeviceCSR          dA, dB, dC;

  if (!A->m || !Ci[A->m]) return 0;
  int error = DeviceCSRCopy(A, 1, &dA, s);
  if (!error) error = DeviceCSRCopy(B, 1, &dB, s);
  if (!error) error = DeviceCSRCopy(&C, 0, &dC, s);
  if (error) return error;
  CallCUDA(cudaMallocAsync((void **)&dC.a, (size_t)Ci[A->m] * sizeof(Scalar), s));
  NumericKernel<<<(unsigned int)((32 * (size_t)A->m + BLOCK - 1) / BLOCK), BLOCK, 0, s>>>(dA, dB, dC);
  CallCUDA(cudaGetLastError());
  CallCUDA(cudaMemcpyAsync(Ca, dC.a, (size_t)Ci[A->m] * sizeof(Scalar), cudaMemcpyDeviceToHost, s));
  error = DeviceCSRFree(&dA, s);
  if (!error) error = DeviceCSRFree(&dB, s);
  if (!error) error = DeviceCSRFree(&dC, s);
  if (error) return error;
  CallCUDA(cudaStreamSynchronize(s));
  return 0;
}
