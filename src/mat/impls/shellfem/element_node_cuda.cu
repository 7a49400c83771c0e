/*
  Element operators on the GPU for any mesh or lattice, any number of dofs and any mix of reference matrices: one thread
  owns a node and sums over the elements around it. No atomics: repeated products are bit-identical.

  Each row of an element is computed once in all, so the operations are those of an element loop, 2 ndof^2 an element (3 bs
  ndof more where it acts on differences); nodes and x come through the first-level cache, once for each element around
  a node: memory is x, y, one scale an element, connectivity (once as the corners of elements, once as the elements
  of nodes: 8 + 8 integers for a hexahedron).

  For one reference matrix of a common shape the matrix is in shared memory, row by row for each corner, and a thread computes all
  components of its node; the general kernel has one thread for each entry of y and reads matrices through the cache.
*/
#include "element_kernels_cuda.h"

/* What both kernels read; K in the precision of the arithmetic */
template <class V> struct Gather {
  typedef typename Arithmetic<V>::T T;
  Elements                          el;
  PetscInt                          rstride, cstride; /* of matrices: ndof and 1, or exchanged for the transpose */
  bool                              rigid;            /* act on differences to the node itself: translations cost no energy */
  const T                          *K, *scales;
  const unsigned char              *mask, *nodemask;
  Vectors<V>                        v;
};

/* Which components of a node are free, as bits */
template <class V, int BS> static __device__ __forceinline__ unsigned Free(const Gather<V> &t, PetscInt node)
{
  unsigned bits = 0;

  if (!t.mask) return (1u << BS) - 1;
  if (t.nodemask) return t.nodemask[node];
#pragma unroll
  for (int c = 0; c < BS; c++) bits |= (unsigned)t.mask[(PetscCount)node * BS + c] << c;
  return bits;
}

/* One reference matrix, NEN nodes of BS dofs: one thread a node */
template <class V, int NEN, int BS> static __global__ void __launch_bounds__(THREADS) GatherNodes(const Gather<V> t)
{
  typedef typename Arithmetic<V>::T T;
  const int                         ndof = NEN * BS;
  const Elements                   &el   = t.el;
  const PetscCount                  i    = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  __shared__ T                      K[NEN][BS * ndof + 1]; /* corners that the lanes of a warp are at the same time are in different banks */
  T                                 sum[BS] = {}, own[BS] = {};

  for (int k = threadIdx.x; k < ndof * ndof; k += THREADS) K[k / (BS * ndof)][k % (BS * ndof)] = t.K[k / ndof * t.rstride + k % ndof * t.cstride];
  __syncthreads();
  if (i >= el.nnode) return;
  const PetscInt node = (PetscInt)i, count = ElementsAround(el, node);
  const unsigned free = Free<V, BS>(t, node);

  if (t.rigid)
#pragma unroll
    for (int c = 0; c < BS; c++) own[c] = (free >> c) & 1 ? Load(t.v.x + i * BS + c) : T(0);
  for (PetscInt k = 0; k < count && free; k++) {
    PetscInt e, a;
    T        f[BS] = {};

    if (!ElementAround(el, node, k, &e, &a) || (el.ref && el.ref[e] != 0)) continue;
    const PetscInt first = el.conn ? 0 : node - Corner(el.lattice, a);
    const T       *row   = K[a];

#pragma unroll
    for (int b = 0; b < NEN; b++) {
      const PetscInt other = Node(el, e, first, b);
      const unsigned taken = Free<V, BS>(t, other);

#pragma unroll
      for (int c = 0; c < BS; c++) {
        const T u = ((taken >> c) & 1 ? Load(t.v.x + (PetscCount)other * BS + c) : T(0)) - own[c];

#pragma unroll
        for (int r = 0; r < BS; r++) f[r] += row[r * ndof + b * BS + c] * u;
      }
    }
    const T scale = t.scales ? t.scales[e] : T(1);

#pragma unroll
    for (int r = 0; r < BS; r++) sum[r] += scale * f[r];
  }
#pragma unroll
  for (int r = 0; r < BS; r++) Finish(t.v, i * BS + r, (free >> r) & 1, sum[r]);
}

/* Any reference matrices: one thread a dof */
template <class V> static __global__ void __launch_bounds__(THREADS) GatherDofs(const Gather<V> t)
{
  typedef typename Arithmetic<V>::T T;
  const Elements                   &el  = t.el;
  const PetscCount                  dof = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  T                                 sum = 0;

  if (dof >= (PetscCount)el.nnode * el.bs) return;
  const bool       free = !t.mask || t.mask[dof];
  const PetscInt   node = (PetscInt)(dof / el.bs), r = (PetscInt)(dof % el.bs), count = free ? ElementsAround(el, node) : 0;
  const PetscCount own = (PetscCount)node * el.bs;

  for (PetscInt k = 0; k < count; k++) {
    PetscInt e, a;
    T        f = 0;

    if (!ElementAround(el, node, k, &e, &a)) continue;
    const PetscInt ref = el.ref ? el.ref[e] : 0, first = el.conn ? 0 : node - Corner(el.lattice, a);

    if (ref < 0) continue;
    const T *K = t.K + (PetscCount)ref * el.ndof * el.ndof + (PetscCount)(a * el.bs + r) * t.rstride;

    for (PetscInt b = 0; b < el.nen; b++) {
      const PetscCount col = (PetscCount)Node(el, e, first, b) * el.bs;

      for (PetscInt c = 0; c < el.bs; c++, K += t.cstride) f += *K * (Value(t.mask, t.v.x, col + c) - (t.rigid ? Value(t.mask, t.v.x, own + c) : T(0)));
    }
    sum += t.scales ? t.scales[e] * f : f;
  }
  Finish(t.v, dof, free, sum);
}

template <class V> static PetscErrorCode Launch(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const unsigned nodes = Blocks(el->nnode), dofs = Blocks((PetscCount)el->nnode * el->bs);
  Gather<V>      t;
  const void    *K;

  PetscFunctionBegin;
  if (!dofs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ElementWorkMatrices(el, v->precision, work, &K, stream));
  t.el       = *el;
  t.rstride  = transpose ? 1 : el->ndof;
  t.cstride  = transpose ? el->ndof : 1;
  t.rigid    = rigid;
  t.K        = (const typename Arithmetic<V>::T *)K;
  t.scales   = (const typename Arithmetic<V>::T *)v->scale;
  t.mask     = v->mask;
  t.nodemask = v->nodemask;
  t.v        = VectorsCreate<V>(v);
  if (el->nref != 1) GatherDofs<V><<<dofs, THREADS, 0, stream>>>(t);
  else if (el->nen == 8 && el->bs == 3) GatherNodes<V, 8, 3><<<nodes, THREADS, 0, stream>>>(t);
  else if (el->nen == 8 && el->bs == 1) GatherNodes<V, 8, 1><<<nodes, THREADS, 0, stream>>>(t);
  else if (el->nen == 4 && el->bs == 3) GatherNodes<V, 4, 3><<<nodes, THREADS, 0, stream>>>(t);
  else if (el->nen == 4 && el->bs == 2) GatherNodes<V, 4, 2><<<nodes, THREADS, 0, stream>>>(t);
  else if (el->nen == 4 && el->bs == 1) GatherNodes<V, 4, 1><<<nodes, THREADS, 0, stream>>>(t);
  else GatherDofs<V><<<dofs, THREADS, 0, stream>>>(t);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementNode_CUDA(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, transpose, rigid, v, work, stream));
  else if (v->precision == ELEMENT_SINGLE) PetscCall(Launch<float>(el, transpose, rigid, v, work, stream));
  else PetscCall(Launch<__nv_bfloat16>(el, transpose, rigid, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One thread an entry of the block diagonal, column by column in each block */
static __global__ void __launch_bounds__(THREADS) BlockDiagonal(const Elements el, const Scalar *__restrict__ scales, Scalar *__restrict__ d)
{
  const PetscCount entry = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  const PetscInt   block = el.bs * el.bs;
  Scalar           sum   = 0;

  if (entry >= (PetscCount)el.nnode * block) return;
  const PetscInt node = (PetscInt)(entry / block), c = (PetscInt)(entry % block) / el.bs, r = (PetscInt)(entry % el.bs), count = ElementsAround(el, node);

  for (PetscInt t = 0; t < count; t++) {
    PetscInt e, a;
    bool     full;

    if (!ElementAround(el, node, t, &e, &a)) continue;
    const Scalar *K = Matrix(el, e, &full);

    if (!K) continue;
    const PetscInt first = el.conn ? 0 : FirstNode(el.lattice, e);
    const Scalar   scale = full || !scales ? Scalar(1) : scales[e];

    for (PetscInt b = 0; b < el.nen; b++) /* collapsed elements name a node twice */
      if (Node(el, e, first, b) == node) sum += scale * Entry(el, K, full, a * el.bs + r, b * el.bs + c);
  }
  d[entry] += sum;
}

/* One thread an element */
static __global__ void __launch_bounds__(THREADS) Energy(const Elements el, const Scalar *__restrict__ u, const Scalar *__restrict__ v, Scalar *__restrict__ energy)
{
  const PetscCount e   = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  Scalar           sum = 0;
  bool             full;

  if (e >= el.nel) return;
  const Scalar  *K     = Matrix(el, (PetscInt)e, &full);
  const PetscInt first = el.conn ? 0 : FirstNode(el.lattice, (PetscInt)e);

  for (PetscInt a = 0; K && a < el.nen; a++)
    for (PetscInt r = 0; r < el.bs; r++) {
      Scalar f = 0;

      for (PetscInt b = 0; b < el.nen; b++) {
        const PetscCount col = (PetscCount)Node(el, (PetscInt)e, first, b) * el.bs;

        for (PetscInt c = 0; c < el.bs; c++) f += Entry(el, K, full, a * el.bs + r, b * el.bs + c) * v[col + c];
      }
      sum += f * u[(PetscCount)Node(el, (PetscInt)e, first, a) * el.bs + r];
    }
  energy[e] = sum;
}

static PetscErrorCode LaunchBlockDiagonal(const Elements *el, const PetscScalar *scale, PetscScalar *d, cudaStream_t stream)
{
  const unsigned blocks = Blocks((PetscCount)el->nnode * el->bs * el->bs);

  PetscFunctionBegin;
  PetscCall(ElementCheckReal());
  if (blocks && el->nel) BlockDiagonal<<<blocks, THREADS, 0, stream>>>(*el, (const Scalar *)scale, (Scalar *)d);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementBlockDiagonalMesh_CUDA(const ElementMatrices *m, const ElementMesh *mesh, const ElementAdjacency *around, PetscInt nnode, PetscScalar *d, cudaStream_t stream)
{
  const Elements el = ElementsCreateMesh(m, mesh, around, nnode);

  PetscFunctionBegin;
  PetscCall(LaunchBlockDiagonal(&el, m->scale, d, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementBlockDiagonalLattice_CUDA(const ElementMatrices *m, const ElementLattice *lattice, PetscScalar *d, cudaStream_t stream)
{
  const Elements el = ElementsCreateLattice(m, lattice);

  PetscFunctionBegin;
  PetscCall(LaunchBlockDiagonal(&el, m->scale, d, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LaunchEnergy(const Elements *el, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ElementCheckReal());
  if (el->nel) Energy<<<Blocks(el->nel), THREADS, 0, stream>>>(*el, (const Scalar *)u, (const Scalar *)v, (Scalar *)energy);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementEnergyMesh_CUDA(const ElementMatrices *m, const ElementMesh *mesh, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t stream)
{
  const Elements el = ElementsCreateMesh(m, mesh, NULL, 0);

  PetscFunctionBegin;
  PetscCall(LaunchEnergy(&el, u, v, energy, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementEnergyLattice_CUDA(const ElementMatrices *m, const ElementLattice *lattice, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t stream)
{
  const Elements el = ElementsCreateLattice(m, lattice);

  PetscFunctionBegin;
  PetscCall(LaunchEnergy(&el, u, v, energy, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
