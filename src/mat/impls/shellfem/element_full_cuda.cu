/*
  Elements with matrices of their own: a warp multiplies one, the owners of the nodes add the products.

  Symmetric matrices are packed (upper triangles by rows): they are read once, in order, and multiplied from shared memory, so
  that memory is that of the matrices, 4 ndof (ndof + 1) bytes an element in FP64 (24 dofs: 2400), and of the products,
  twice 8 ndof. Others, and those too large to be kept there, are read through the first-level cache, a row by each lane.
  2 ndof^2 operations an element.
*/
#include "element_kernels_cuda.h"

#define WARPS      (THREADS / 32)
#define MAX_STAGED 32 /* dofs of an element whose packed matrix is kept in shared memory */

static __host__ __device__ __forceinline__ PetscInt Staged(bool packed, PetscInt ndof)
{
  return packed && ndof <= MAX_STAGED ? ndof * (ndof + 1) / 2 : 0;
}

template <class V> static __global__ void __launch_bounds__(THREADS) MultiplyFull(const Elements el, bool transpose, PetscInt first, PetscInt n, const unsigned char *__restrict__ mask, const V *__restrict__ x, typename Arithmetic<V>::T *__restrict__ f)
{
  typedef typename Arithmetic<V>::T T;
  extern __shared__ double          memory[];
  const PetscInt                    ndof = el.ndof, size = Staged(el.packed, ndof), lane = threadIdx.x % 32, k = blockIdx.x * WARPS + threadIdx.x / 32, e = first + k;
  T *const u = (T *)memory + threadIdx.x / 32 * (ndof + size), *const staged = u + ndof;
  bool full;

  if (k >= n || el.ref[e] != ELEMENT_FULL) return;
  const Scalar  *K    = Matrix(el, e, &full);
  const PetscInt node = el.conn ? 0 : FirstNode(el.lattice, e), rstride = transpose ? 1 : ndof, cstride = transpose ? ndof : 1;

  for (PetscInt i = lane; i < size; i += 32) staged[i] = T(K[i]);
  for (PetscInt i = lane; i < ndof; i += 32) u[i] = Value(mask, x, (PetscCount)Node(el, e, node, i / el.bs) * el.bs + i % el.bs);
  __syncwarp();
  for (PetscInt i = lane; i < ndof; i += 32) {
    PetscInt index = el.packed ? i : i * rstride;
    T        sum   = 0;

    for (PetscInt j = 0; j < ndof; j++) {
      sum += (size ? staged[index] : T(K[index])) * u[j];
      index += !el.packed ? cstride : j < i ? ndof - 1 - j
                                            : 1; /* down the column of the triangle, then along the row */
    }
    f[(PetscCount)k * ndof + i] = sum;
  }
}

template <class V> static PetscErrorCode Launch(const Elements *el, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  typedef typename Arithmetic<V>::T T;
  const PetscInt                    chunk = ElementsInChunk(el, sizeof(T) * el->ndof, *work);
  T                                *f;
  PetscBool                         isnew;

  PetscFunctionBegin;
  PetscCall(ElementWorkGet(work, WORK_PRODUCTS, sizeof(T) * (size_t)chunk * el->ndof, (void **)&f, &isnew));
  for (PetscInt first = 0; first < el->nel; first += chunk) {
    const PetscInt n = PetscMin(chunk, el->nel - first);

    MultiplyFull<V><<<(n + WARPS - 1) / WARPS, THREADS, sizeof(T) * WARPS *(el->ndof + Staged(el->packed, el->ndof)), stream>>>(*el, transpose, first, n, v->mask, (const V *)v->x, f);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(ElementScatter_CUDA(el, first, first + n, ELEMENT_FULL, PETSC_TRUE, NULL, f, v, stream));
    if (chunk > PETSC_INT_MAX - first) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementFull_CUDA(const Elements *el, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, transpose, v, work, stream));
  else if (v->precision == ELEMENT_SINGLE) PetscCall(Launch<float>(el, transpose, v, work, stream));
  else PetscCall(Launch<__nv_bfloat16>(el, transpose, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
