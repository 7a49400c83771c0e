/*
  Vectors from one precision to another, diagonals out of blocks, and the scales of topology optimization, on the GPU: one
  thread an entry
*/
#include "elements_device.h"

template <class V, class W> static __global__ void __launch_bounds__(THREADS) Convert(PetscCount n, const V *__restrict__ from, W *__restrict__ to, bool add)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (i < n) Store(to + i, (typename Arithmetic<W>::T)Load(from + i) + (add ? Load(to + i) : (typename Arithmetic<W>::T)0));
}

template <class V> static void Launch(PetscCount n, const V *from, ElementPrecision t, void *to, bool add, cudaStream_t stream)
{
  if (t == ELEMENT_DOUBLE) Convert<<<Blocks(n), THREADS, 0, stream>>>(n, from, (double *)to, add);
  else if (t == ELEMENT_SINGLE) Convert<<<Blocks(n), THREADS, 0, stream>>>(n, from, (float *)to, add);
  else Convert<<<Blocks(n), THREADS, 0, stream>>>(n, from, (__nv_bfloat16 *)to, add);
}

PetscErrorCode ElementConvert_CUDA(PetscCount n, ElementPrecision f, const void *from, ElementPrecision t, void *to, PetscBool add, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if (f == ELEMENT_DOUBLE) Launch(n, (const double *)from, t, to, add, stream);
  else if (f == ELEMENT_SINGLE) Launch(n, (const float *)from, t, to, add, stream);
  else Launch(n, (const __nv_bfloat16 *)from, t, to, add, stream);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where element e of the cells that a process owns is in its box of cells */
static __device__ __forceinline__ PetscCount Index(const ElementCells &c, PetscCount e)
{
  if (!c.owned[0]) return e;
  const PetscInt i = c.low[0] + (PetscInt)(e % c.owned[0]), j = c.low[1] + (PetscInt)(e / c.owned[0] % c.owned[1]), k = c.low[2] + (PetscInt)(e / c.owned[0] / c.owned[1]);

  return ((PetscCount)k * c.all[1] + j) * c.all[0] + i;
}

static __global__ void __launch_bounds__(THREADS) SIMP(PetscCount n, const ElementCells cells, const Scalar *__restrict__ rho, Scalar p, Scalar Emin, Scalar E0, Scalar *__restrict__ scale, int *bad)
{
  const PetscCount e = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (e >= n) return;
  if (!(rho[e] >= 0 && rho[e] <= 1)) *bad = 1; /* whoever writes, writes the same */
  scale[Index(cells, e)] = Emin + pow(rho[e], p) * (E0 - Emin);
}

static __global__ void __launch_bounds__(THREADS) AddDiagonal(PetscCount n, PetscInt bs, const Scalar *__restrict__ blocks, Scalar *__restrict__ d)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (i < n) d[i] += blocks[i * bs + i % bs];
}

static __global__ void __launch_bounds__(THREADS) Select(PetscCount n, const ElementCells cells, const Scalar *__restrict__ all, Scalar *__restrict__ owned)
{
  const PetscCount e = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (e < n) owned[e] = all[Index(cells, e)];
}

PetscErrorCode ElementSIMP_CUDA(PetscCount n, const ElementCells *cells, const PetscScalar *rho, PetscReal p, PetscReal Emin, PetscReal E0, PetscScalar *scale, PetscBool *bad, cudaStream_t stream)
{
  int *flag, value = 0;

  PetscFunctionBegin;
  PetscCall(ElementCheckReal());
  *bad = PETSC_FALSE;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMallocAsync((void **)&flag, sizeof(int), stream));
  PetscCallCUDA(cudaMemsetAsync(flag, 0, sizeof(int), stream));
  SIMP<<<Blocks(n), THREADS, 0, stream>>>(n, *cells, (const Scalar *)rho, p, Emin, E0, (Scalar *)scale, flag);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&value, flag, sizeof(int), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaFreeAsync(flag, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *bad = (PetscBool)(value != 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementSelect_CUDA(PetscCount n, const ElementCells *cells, const PetscScalar *all, PetscScalar *owned, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ElementCheckReal());
  if (n) Select<<<Blocks(n), THREADS, 0, stream>>>(n, *cells, (const Scalar *)all, (Scalar *)owned);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementAddDiagonal_CUDA(PetscCount n, PetscInt bs, const PetscScalar *blocks, PetscScalar *d, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ElementCheckReal());
  if (n) AddDiagonal<<<Blocks(n), THREADS, 0, stream>>>(n, bs, (const Scalar *)blocks, (Scalar *)d);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
