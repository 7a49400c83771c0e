/*
  The baseline of matrix-free operators: gather the entries of all elements, multiply them by the shared matrix in one call
  of cuBLAS, and add the results to the nodes, by their owners. Several reference matrices: one call each, for all elements.

  2 ndof^2 operations an element; memory: besides the vectors ndof values of each element written and read twice, 4 ndof
  values in all (FP64, 24 dofs: 768 bytes an element), at most 1 GiB at a time.
*/
#include "element_kernels_cuda.h"

template <class V> static __global__ void __launch_bounds__(THREADS) GatherElements(const Elements el, PetscInt first, PetscCount n, const unsigned char *__restrict__ mask, const V *__restrict__ x, V *__restrict__ u)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (i >= n) return;
  const PetscInt e = first + (PetscInt)(i / el.ndof), d = (PetscInt)(i % el.ndof);

  u[i] = Value(mask, x, (PetscCount)Node(el, e, el.conn ? 0 : FirstNode(el.lattice, e), d / el.bs) * el.bs + d % el.bs);
}

static cublasStatus_t Multiply(cublasHandle_t handle, cublasOperation_t op, int n, int nel, const double *K, const double *u, double *f)
{
  const double one = 1, zero = 0;

  return cublasDgemm(handle, op, CUBLAS_OP_N, n, nel, n, &one, K, n, u, n, &zero, f, n);
}

static cublasStatus_t Multiply(cublasHandle_t handle, cublasOperation_t op, int n, int nel, const float *K, const float *u, float *f)
{
  const float one = 1, zero = 0;

  return cublasSgemm(handle, op, CUBLAS_OP_N, n, nel, n, &one, K, n, u, n, &zero, f, n);
}

template <class V> static PetscErrorCode Launch(const Elements *el, PetscBool transpose, const ElementVectors *v, ElementWork *work, cublasHandle_t handle, cudaStream_t stream)
{
  const cublasOperation_t op   = transpose ? CUBLAS_OP_N : CUBLAS_OP_T; /* K by rows is its transpose by columns */
  const PetscInt          ndof = el->ndof, chunk = ElementsInChunk(el, 2 * sizeof(V) * ndof, *work);
  const size_t            bytes = sizeof(V) * (size_t)chunk * ndof;
  const void             *K;
  V                      *u, *f;
  PetscBool               isnew;

  PetscFunctionBegin;
  PetscCall(ElementWorkMatrices(el, v->precision, work, &K, stream));
  PetscCall(ElementWorkGet(work, WORK_GATHERED, bytes, (void **)&u, &isnew));
  PetscCall(ElementWorkGet(work, WORK_PRODUCTS, bytes, (void **)&f, &isnew));
  for (PetscInt first = 0; first < el->nel; first += chunk) {
    const PetscInt n = PetscMin(chunk, el->nel - first);

    GatherElements<V><<<Blocks((PetscCount)n * ndof), THREADS, 0, stream>>>(*el, first, (PetscCount)n * ndof, v->mask, (const V *)v->x, u);
    PetscCallCUDA(cudaGetLastError());
    for (PetscInt r = 0; r < el->nref; r++) {
      PetscCallCUBLAS(Multiply(handle, op, (int)ndof, (int)n, (const V *)K + (PetscCount)r * ndof * ndof, u, f));
      PetscCall(ElementScatter_CUDA(el, first, first + n, r, (PetscBool)(first > 0 || r > 0), v->scale, f, v, stream));
    }
    if (chunk > PETSC_INT_MAX - first) break; /* the next sum would overflow: this was the last one */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementThreeStage_CUDA(const Elements *el, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  cublasHandle_t handle;
  cudaStream_t   previous;

  PetscFunctionBegin;
  PetscCall(PetscCUBLASGetHandle(&handle));
  PetscCallCUBLAS(cublasGetStream(handle, &previous));
  PetscCallCUBLAS(cublasSetStream(handle, stream));
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, transpose, v, work, handle, stream));
  else PetscCall(Launch<float>(el, transpose, v, work, handle, stream));
  PetscCallCUBLAS(cublasSetStream(handle, previous));
  PetscFunctionReturn(PETSC_SUCCESS);
}
