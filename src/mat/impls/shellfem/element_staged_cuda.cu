/*
  What kernels share that compute the products of elements first and add them to the nodes in a second step: matrices in the
  precision of the arithmetic, and the addition.

  The addition is by the owners of the nodes, one thread an entry of y, over the elements around its node in ascending
  order: no atomics, repeated products are bit-identical. Memory: the products once, y once, twice for the nodes that
  several chunks of elements touch.
*/
#include "element_kernels_cuda.h"

/* The reference matrices in double or single: those of el where that is the precision of PetscScalar, else a copy */
PetscErrorCode ElementWorkMatrices(const Elements *el, ElementPrecision precision, ElementWork *work, const void **K, cudaStream_t stream)
{
  const PetscCount       n          = (PetscCount)el->nref * el->ndof * el->ndof;
  const ElementPrecision arithmetic = precision == ELEMENT_DOUBLE ? ELEMENT_DOUBLE : ELEMENT_SINGLE;
  void                  *copy;
  PetscBool              isnew;

  PetscFunctionBegin;
  *K = el->K;
  if (arithmetic == ELEMENT_PETSC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ElementWorkGet(work, WORK_MATRIX, ElementPrecisionSize(arithmetic) * (size_t)n, &copy, &isnew));
  PetscCall(ElementConvert_CUDA(n, ELEMENT_PETSC, el->K, arithmetic, copy, PETSC_FALSE, stream));
  *K = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f: products of the elements from `first` on; node: the first of the nodes that are there; scales NULL: f has them already */
template <class V> static __global__ void __launch_bounds__(THREADS) Scatter(const Elements el, PetscInt first, PetscInt end, PetscInt ref, PetscInt node, PetscCount n, bool add, const typename Arithmetic<V>::T *__restrict__ scales, const unsigned char *__restrict__ mask, const typename Arithmetic<V>::T *__restrict__ f, V *__restrict__ y)
{
  const PetscCount          i = (PetscCount)blockIdx.x * THREADS + threadIdx.x, dof = (PetscCount)node * el.bs + i;
  typename Arithmetic<V>::T sum = 0;

  if (i >= n) return;
  const PetscInt own = (PetscInt)(dof / el.bs), r = (PetscInt)(dof % el.bs), count = mask && !mask[dof] ? 0 : ElementsAround(el, own);

  for (PetscInt t = 0; t < count; t++) {
    PetscInt e, a;

    if (!ElementAround(el, own, t, &e, &a) || e < first || e >= end || (el.ref ? el.ref[e] : 0) != ref) continue;
    const typename Arithmetic<V>::T entry = f[(PetscCount)(e - first) * el.ndof + a * el.bs + r];

    sum += scales ? scales[e] * entry : entry;
  }
  if (add) sum += Load(y + dof);
  Store(y + dof, sum);
}

template <class V> static void Launch(const Elements *el, PetscInt first, PetscInt end, PetscInt ref, PetscInt node, PetscCount n, PetscBool add, const void *scale, const void *f, const ElementVectors *v, cudaStream_t stream)
{
  typedef typename Arithmetic<V>::T T;

  if (n) Scatter<V><<<Blocks(n), THREADS, 0, stream>>>(*el, first, end, ref, node, n, add, (const T *)scale, v->mask, (const T *)f, (V *)v->y);
}

PetscErrorCode ElementScatter_CUDA(const Elements *el, PetscInt first, PetscInt end, PetscInt ref, PetscBool add, const void *scale, const void *f, const ElementVectors *v, cudaStream_t stream)
{
  PetscInt   node = 0;
  PetscCount n    = (PetscCount)el->nnode * el->bs;

  PetscFunctionBegin;
  if (!el->conn && add && first < end) { /* the others have none of these elements */
    node = FirstNode(el->lattice, first);
    n    = ((PetscCount)FirstNode(el->lattice, end - 1) + Corner(el->lattice, el->nen - 1) + 1 - node) * el->bs;
  }
  if (v->precision == ELEMENT_DOUBLE) Launch<double>(el, first, end, ref, node, n, add, scale, f, v, stream);
  else if (v->precision == ELEMENT_SINGLE) Launch<float>(el, first, end, ref, node, n, add, scale, f, v, stream);
  else Launch<__nv_bfloat16>(el, first, end, ref, node, n, add, scale, f, v, stream);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
