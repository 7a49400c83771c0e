/*
  Element operators on the GPU for any mesh or lattice, any number of dofs and any mix of matrices.

  One thread sums one entry of y over the elements around its node; element matrices are read through the first-level
  cache, where threads of a warp find the same rows. Each element row is computed once in all, so the operations are
  those of the host kernel: 2 ndof^2 an element. No atomics: repeated products are bit-identical.
*/
#include "element_kernels_cuda.h"

/*
  rstride and cstride are ndof and 1, or exchanged for the transpose.
  rigid: translations cost the reference matrices no energy, which then act on differences to the node itself.
*/
template <class V> static __global__ void __launch_bounds__(THREADS) Gather(const Elements el, PetscInt rstride, PetscInt cstride, bool rigid, bool onlyfull, const typename Arithmetic<V>::T *__restrict__ scales, const unsigned char *__restrict__ mask, const V *__restrict__ x, V *__restrict__ y)
{
  typedef typename Arithmetic<V>::T T;
  const PetscCount                  dof = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  T                                 sum = 0;

  if (dof >= (PetscCount)el.nnode * el.bs) return;
  const PetscInt node = (PetscInt)(dof / el.bs), r = (PetscInt)(dof % el.bs), count = mask && !mask[dof] ? 0 : ElementsAround(el, node);

  for (PetscInt t = 0; t < count; t++) {
    PetscInt e, a;
    bool     full;
    T        f = 0;

    if (!ElementAround(el, node, t, &e, &a) || (onlyfull && el.ref[e] != ELEMENT_FULL)) continue;
    const Scalar *K = Matrix(el, e, &full);

    if (!K) continue;
    const PetscInt   first       = el.conn ? 0 : node - Corner(el.lattice, a);
    const PetscCount own         = (PetscCount)node * el.bs;
    const bool       differences = rigid && !full;

    K += (PetscCount)(a * el.bs + r) * rstride;
    for (PetscInt b = 0; b < el.nen; b++) {
      const PetscCount col = (PetscCount)Node(el, e, first, b) * el.bs;

      for (PetscInt c = 0; c < el.bs; c++, K += cstride) {
        const T origin = differences ? Value(mask, x, own + c) : T(0);

        f += T(*K) * (Value(mask, x, col + c) - origin);
      }
    }
    sum += full || !scales ? f : scales[e] * f;
  }
  Store(y + dof, onlyfull ? Load(y + dof) + sum : sum);
}

template <class V> static void Launch(const Elements *el, PetscBool transpose, PetscBool rigid, PetscBool onlyfull, const ElementVectors *v, cudaStream_t stream)
{
  const unsigned blocks = Blocks((PetscCount)el->nnode * el->bs);

  if (blocks) Gather<V><<<blocks, THREADS, 0, stream>>>(*el, transpose ? 1 : el->ndof, transpose ? el->ndof : 1, rigid, onlyfull, (const typename Arithmetic<V>::T *)v->scale, v->mask, (const V *)v->x, (V *)v->y);
}

PetscErrorCode ElementNode_CUDA(const Elements *el, PetscBool transpose, PetscBool rigid, PetscBool onlyfull, const ElementVectors *v, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->precision == ELEMENT_DOUBLE) Launch<double>(el, transpose, rigid, onlyfull, v, stream);
  else if (v->precision == ELEMENT_SINGLE) Launch<float>(el, transpose, rigid, onlyfull, v, stream);
  else Launch<__nv_bfloat16>(el, transpose, rigid, onlyfull, v, stream);
  PetscCallCUDA(cudaGetLastError());
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
      if (Node(el, e, first, b) == node) sum += scale * K[(PetscCount)(a * el.bs + r) * el.ndof + b * el.bs + c];
  }
  d[entry] += sum;
}

/* One thread an element */
static __global__ void __launch_bounds__(THREADS) Energy(const Elements el, const Scalar *__restrict__ u, const Scalar *__restrict__ v, Scalar *__restrict__ energy)
{
  const PetscCount e = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
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

        for (PetscInt c = 0; c < el.bs; c++) f += *K++ * v[col + c];
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
