/*
  The baseline of matrix-free operators: gather the entries of all elements, multiply them by the shared matrix in one call
  of cuBLAS, and add the results to the nodes. The addition is by the owner of a node, in the order of the elements, so that
  repeated products are bit-identical. 2 ndof^2 operations an element; memory: besides the vectors ndof values of each
  element written and read twice, 4 ndof values in all (FP64, 24 dofs: 768 bytes an element).
*/
#include "element_kernels_cuda.h"

template <class V> static __global__ void __launch_bounds__(THREADS) GatherElements(const Elements el, const unsigned char *__restrict__ mask, const V *__restrict__ x, V *__restrict__ u)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (i >= (PetscCount)el.nel * el.ndof) return;
  const PetscInt e = (PetscInt)(i / el.ndof), d = (PetscInt)(i % el.ndof);

  u[i] = Value(mask, x, (PetscCount)Node(el, e, el.conn ? 0 : FirstNode(el.lattice, e), d / el.bs) * el.bs + d % el.bs);
}

template <class V> static __global__ void __launch_bounds__(THREADS) ScatterElements(const Elements el, const unsigned char *__restrict__ mask, const V *__restrict__ scales, const V *__restrict__ f, V *__restrict__ y)
{
  const PetscCount dof = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  V                sum = 0;

  if (dof >= (PetscCount)el.nnode * el.bs) return;
  const PetscInt node = (PetscInt)(dof / el.bs), count = mask && !mask[dof] ? 0 : ElementsAround(el, node);

  for (PetscInt t = 0; t < count; t++) {
    PetscInt e, a;

    if (!ElementAround(el, node, t, &e, &a) || (el.ref && el.ref[e] != 0)) continue;
    sum += (scales ? scales[e] : V(1)) * f[(PetscCount)e * el.ndof + a * el.bs + dof % el.bs];
  }
  y[dof] = sum;
}

template <class V> static __global__ void ConvertMatrix(PetscInt n, const Scalar *__restrict__ K, V *__restrict__ converted)
{
  for (PetscInt i = threadIdx.x; i < n; i += THREADS) converted[i] = V(K[i]);
}

static cublasStatus_t Multiply(cublasHandle_t handle, cublasOperation_t op, int n, int columns, const double *K, const double *u, double *f)
{
  const double one = 1, zero = 0;

  return cublasDgemm(handle, op, CUBLAS_OP_N, n, columns, n, &one, K, n, u, n, &zero, f, n);
}

static cublasStatus_t Multiply(cublasHandle_t handle, cublasOperation_t op, int n, int columns, const float *K, const float *u, float *f)
{
  const float one = 1, zero = 0;

  return cublasSgemm(handle, op, CUBLAS_OP_N, n, columns, n, &one, K, n, u, n, &zero, f, n);
}

template <class V> static PetscErrorCode Launch(const Elements *el, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const PetscCount values = (PetscCount)el->nel * el->ndof, dofs = (PetscCount)el->nnode * el->bs;
  cublasHandle_t   handle;
  cudaStream_t     previous;
  V               *K, *u, *f;
  PetscBool        isnew;

  PetscFunctionBegin;
  PetscCall(ElementWorkGet(work, WORK_MATRIX, sizeof(V) * (size_t)el->ndof * el->ndof, (void **)&K, &isnew));
  PetscCall(ElementWorkGet(work, WORK_GATHERED, sizeof(V) * (size_t)values, (void **)&u, &isnew));
  PetscCall(ElementWorkGet(work, WORK_PRODUCTS, sizeof(V) * (size_t)values, (void **)&f, &isnew));
  ConvertMatrix<V><<<1, THREADS, 0, stream>>>(el->ndof * el->ndof, el->K, K);
  if (values) GatherElements<V><<<Blocks(values), THREADS, 0, stream>>>(*el, v->mask, (const V *)v->x, u);
  PetscCall(PetscCUBLASGetHandle(&handle));
  PetscCallCUBLAS(cublasGetStream(handle, &previous));
  PetscCallCUBLAS(cublasSetStream(handle, stream));
  /* K by rows is its transpose by columns */
  if (values) PetscCallCUBLAS(Multiply(handle, transpose ? CUBLAS_OP_N : CUBLAS_OP_T, (int)el->ndof, (int)el->nel, K, u, f));
  PetscCallCUBLAS(cublasSetStream(handle, previous));
  if (dofs) ScatterElements<V><<<Blocks(dofs), THREADS, 0, stream>>>(*el, v->mask, (const V *)v->scale, f, (V *)v->y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementThreeStage_CUDA(const Elements *el, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, transpose, v, work, stream));
  else PetscCall(Launch<float>(el, transpose, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
