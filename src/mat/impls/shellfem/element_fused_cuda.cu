/*
  Gather, element product and scatter fused in one kernel, as in arXiv:2604.18020: one thread an element, a list of all its
  dofs, the shared matrix in shared memory, atomic addition to y. 2 ndof^2 operations an element; memory: ndof integers, ndof
  values to read and as many to add, one scale. The order of additions, and so the last bits, change from run to run.
*/
#include "element_kernels_cuda.h"

#define MAX_NDOF 24

static __global__ void __launch_bounds__(THREADS) ListDofs(const Elements el, PetscInt *__restrict__ dofs)
{
  const PetscCount e = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (e >= el.nel) return;
  const PetscInt first = el.conn ? 0 : FirstNode(el.lattice, (PetscInt)e);

  for (PetscInt b = 0; b < el.nen; b++)
    for (PetscInt c = 0; c < el.bs; c++) dofs[e * el.ndof + b * el.bs + c] = Node(el, (PetscInt)e, first, b) * el.bs + c;
}

template <class V, int NDOF> static __global__ void __launch_bounds__(THREADS) Fused(const Elements el, bool transpose, const V *__restrict__ matrix, const PetscInt *__restrict__ dofs, const V *__restrict__ scales, const unsigned char *__restrict__ mask, const V *__restrict__ x, V *__restrict__ y)
{
  const PetscCount e = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  __shared__ V     K[NDOF * NDOF];
  PetscInt         dof[NDOF];
  V                u[NDOF];

  for (int i = threadIdx.x; i < NDOF * NDOF; i += THREADS) K[i] = matrix[transpose ? i % NDOF * NDOF + i / NDOF : i];
  __syncthreads();
  if (e >= el.nel || (el.ref && el.ref[e] != 0)) return;
#pragma unroll
  for (int i = 0; i < NDOF; i++) {
    dof[i] = dofs[e * NDOF + i];
    u[i]   = Value(mask, x, dof[i]);
  }
  const V scale = scales ? scales[e] : V(1);

#pragma unroll
  for (int i = 0; i < NDOF; i++) {
    V f = 0;

#pragma unroll
    for (int j = 0; j < NDOF; j++) f += K[i * NDOF + j] * u[j];
    if (!mask || mask[dof[i]]) atomicAdd(y + dof[i], scale * f);
  }
}

template <class V> static PetscErrorCode Launch(const Elements *el, PetscBool transpose, const void *K, const PetscInt *dofs, const ElementVectors *v, cudaStream_t stream)
{
  const unsigned blocks = Blocks(el->nel);

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(v->y, 0, sizeof(V) * (size_t)el->nnode * el->bs, stream));
  if (blocks && el->ndof == 24) Fused<V, 24><<<blocks, THREADS, 0, stream>>>(*el, transpose, (const V *)K, dofs, (const V *)v->scale, v->mask, (const V *)v->x, (V *)v->y);
  else if (blocks) Fused<V, 8><<<blocks, THREADS, 0, stream>>>(*el, transpose, (const V *)K, dofs, (const V *)v->scale, v->mask, (const V *)v->x, (V *)v->y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementFused_CUDA(const Elements *el, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const void *K;
  PetscInt   *dofs;
  PetscBool   isnew;

  PetscFunctionBegin;
  PetscCall(ElementWorkMatrices(el, v->precision, work, &K, stream));
  PetscCall(ElementWorkGet(work, WORK_DOFS, sizeof(PetscInt) * (size_t)el->nel * el->ndof, (void **)&dofs, &isnew));
  if (isnew && el->nel) ListDofs<<<Blocks(el->nel), THREADS, 0, stream>>>(*el, dofs);
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, transpose, K, dofs, v, stream));
  else PetscCall(Launch<float>(el, transpose, K, dofs, v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
