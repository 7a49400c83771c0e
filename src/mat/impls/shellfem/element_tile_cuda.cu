/*
  Meshes of hexahedra with 3 dofs a node and one reference matrix of parity form, in any numbering, on the GPU, by tiles
  (element_tiles.h): one block a tile.

  x of all nodes of the tile goes to shared memory; a thread takes one element at a time: 24 values, the stages of the
  parity form, blocks, transposed stages; each of its 8 forces waits in a place of its own for the node it belongs to. When all are
  there, a thread sums those of one entry in the order of the elements and writes it once: no atomics, the same bits in every run.

  Cost for each element of a large lattice: 1.5 times 185 to 237 operations; memory, FP64 (FP32): 16 bytes of local numbers 1.5
  times, as many indices of nodes and elements, 8 (4) of scales, x and y once if neighbouring tiles meet in the L2 cache: 100
  (72) bytes, 23 (17) us per million elements at the copy speed of an H200.

  Measured on an H200 at 200^3: 127 (62) us, before threads read the next element ahead and before the forces of a node were
  stored side by side (the sums then had twice the bank conflicts). Counted for a lattice: reading x takes 1.97 times the
  wavefronts of shared memory that it would without conflicts, waiting forces 0.94; with the sums 25 us in FP64. So most of the
  time is waiting for memory between the barriers, with two (three) blocks on a multiprocessor.
*/
#include "element_kernels_cuda.h"
#include "parity_device.h"

#define TILE_THREADS 256

template <class V> struct Tiles {
  typedef typename Arithmetic<V>::T T;
  ElementTiles                      t;
  const PetscInt                   *ref;
  const T                          *scale;
  const unsigned char              *mask;
  Vectors<V>                        v;
  Parity<T>                         parity;
};

/* u = the stages of one element in place: sums and differences in each direction, transposed or not */
template <bool TRANSPOSE, class T> static __device__ __forceinline__ void Stages(T u[8][3])
{
#pragma unroll
  for (int s = 1; s < 8; s *= 2)
#pragma unroll
    for (int a = 0; a < 8; a++) {
      if (a & s) continue;
#pragma unroll
      for (int c = 0; c < 3; c++) {
        const T lower = u[a][c], upper = u[a | s][c];

        u[a][c]     = TRANSPOSE ? lower - upper : lower + upper;
        u[a | s][c] = TRANSPOSE ? lower + upper : upper - lower;
      }
    }
}

/* u = the product of one element, with its scale */
template <int FORM, class T> static __device__ __forceinline__ void Element(const Parity<T> &parity, T scale, T u[8][3])
{
  T constants[8], f[8][3];

  if (FORM == CUBIC)
#pragma unroll
    for (int i = 0; i < 8; i++) constants[i] = scale * parity.cubic[i];
  Stages<false>(u);
#pragma unroll
  for (int g = 0; g < 8; g++) {
    T modes[3], forces[3];

#pragma unroll
    for (int c = 0; c < 3; c++) modes[c] = u[g ^ (1 << c)][c];
    Block<FORM, T>(parity.H[g], constants, scale, g, modes, forces);
#pragma unroll
    for (int c = 0; c < 3; c++) f[g ^ (1 << c)][c] = forces[c];
  }
#pragma unroll
  for (int a = 0; a < 8; a++)
#pragma unroll
    for (int c = 0; c < 3; c++) u[a][c] = f[a][c];
  Stages<true>(u);
}

/* What a thread reads of an element, while it waits for x of the tile or computes the element before */
template <class T> struct TileElement {
  uint4 corners;
  T     scale;
};

template <class V, class T> static __device__ __forceinline__ void LoadElement(const Tiles<V> &t, int first, int e, int elements, TileElement<T> *read)
{
  read->scale = 0;
  if (e >= elements) return;
  const PetscInt element = t.t.element[first + e];

  read->corners = *(const uint4 *)(t.t.corner + 8 * (PetscCount)(first + e));
  read->scale   = t.ref && t.ref[element] != 0 ? T(0) : t.scale ? t.scale[element]
                                                                : T(1);
}

template <class V, int FORM> static __global__ void __launch_bounds__(TILE_THREADS, sizeof(V) == 8 ? 2 : 3) ApplyTiles(const Tiles<V> t)
{
  typedef typename Arithmetic<V>::T T;
  extern __shared__ double          memory[];
  const int                         first = t.t.nodestart[blockIdx.x], nodes = t.t.nodestart[blockIdx.x + 1] - first, owned = t.t.owned[blockIdx.x];
  const int                         firstelement = t.t.elementstart[blockIdx.x], elements = t.t.elementstart[blockIdx.x + 1] - firstelement;
  T *const x = (T *)memory, *const waiting = x + 3 * TILE_NODES; /* [rank][owned node][component] */
  TileElement<T> now, next;

  LoadElement(t, firstelement, threadIdx.x, elements, &now);
  for (int n = threadIdx.x; n < nodes; n += TILE_THREADS) {
    const PetscCount dof = 3 * (PetscCount)t.t.node[first + n];

#pragma unroll
    for (int c = 0; c < 3; c++) x[c * TILE_NODES + n] = Value(t.mask, t.v.x, dof + c);
  }
  __syncthreads();
  for (int e = threadIdx.x; e < elements; e += TILE_THREADS, now = next) {
    const unsigned pair[4] = {now.corners.x, now.corners.y, now.corners.z, now.corners.w};
    T              u[8][3];

    LoadElement(t, firstelement, e + TILE_THREADS, elements, &next);
#pragma unroll
    for (int a = 0; a < 8; a++) {
      const int n = (pair[a / 2] >> (16 * (a % 2))) & ((1 << TILE_INDEX) - 1);

#pragma unroll
      for (int c = 0; c < 3; c++) u[a][c] = x[c * TILE_NODES + n];
    }
    Element<FORM, T>(t.parity, now.scale, u);
#pragma unroll
    for (int a = 0; a < 8; a++) {
      const int corner = (pair[a / 2] >> (16 * (a % 2))) & 0xffff, n = corner & ((1 << TILE_INDEX) - 1), rank = corner >> TILE_INDEX;

      if (n >= owned) continue;
#pragma unroll
      for (int c = 0; c < 3; c++) waiting[3 * (rank * TILE_OWNED + n) + c] = u[a][c];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 3 * owned; i += TILE_THREADS) {
    const int        n = i / 3, c = i % 3, count = t.t.valence[first + n];
    const PetscCount dof = 3 * (PetscCount)t.t.node[first + n] + c;
    T                sum = 0;

    for (int rank = 0; rank < count; rank++) sum += waiting[3 * rank * TILE_OWNED + i];
    Finish(t.v, dof, !t.mask || t.mask[dof], sum);
  }
}

/* Shared memory a block needs, for the largest number of elements around a node */
static size_t SharedBytes(size_t size, PetscInt ranks)
{
  return size * 3 * (TILE_NODES + (size_t)ranks * TILE_OWNED);
}

template <class V> static PetscErrorCode Launch(const Elements *el, const ElementTiles *tiles, const ElementParityBlocks H, bool rigid, const ElementVectors *v, cudaStream_t stream)
{
  const size_t bytes = SharedBytes(sizeof(typename Arithmetic<V>::T), tiles->ranks);
  Tiles<V>     t;

  PetscFunctionBegin;
  t.t     = *tiles;
  t.ref   = el->ref;
  t.scale = (const typename Arithmetic<V>::T *)v->scale;
  t.mask  = v->mask;
  t.v     = VectorsCreate<V>(v);
  switch (ParitySet(H, rigid, &t.parity)) {
  case CUBIC:
    PetscCallCUDA(cudaFuncSetAttribute(ApplyTiles<V, CUBIC>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    ApplyTiles<V, CUBIC><<<tiles->ntile, TILE_THREADS, bytes, stream>>>(t);
    break;
  case RIGID:
    PetscCallCUDA(cudaFuncSetAttribute(ApplyTiles<V, RIGID>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    ApplyTiles<V, RIGID><<<tiles->ntile, TILE_THREADS, bytes, stream>>>(t);
    break;
  default:
    PetscCallCUDA(cudaFuncSetAttribute(ApplyTiles<V, GENERAL>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    ApplyTiles<V, GENERAL><<<tiles->ntile, TILE_THREADS, bytes, stream>>>(t);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool ElementTilesFit(const ElementMatrices *m, const ElementMesh *mesh, const ElementTiles *tiles, ElementPlan plan, const ElementVectors *v)
{
  int device, shared = 0;

  if (!plan || !tiles || !tiles->ntile || m->nref != 1 || mesh->nen != 8 || mesh->bs != 3) return PETSC_FALSE;
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess) return PETSC_FALSE;
  return (PetscBool)(SharedBytes(v->precision == ELEMENT_DOUBLE ? sizeof(double) : sizeof(float), tiles->ranks) <= (size_t)shared);
}

PetscErrorCode ElementTiles_CUDA(const Elements *el, const ElementTiles *tiles, ElementPlan plan, PetscBool transpose, const ElementVectors *v, cudaStream_t stream)
{
  PetscBool                  rigid;
  const ElementParityBlocks *H = ElementPlanGetParity(plan, transpose, &rigid);

  PetscFunctionBegin;
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, tiles, H[0], rigid, v, stream));
  else if (v->precision == ELEMENT_SINGLE) PetscCall(Launch<float>(el, tiles, H[0], rigid, v, stream));
  else PetscCall(Launch<__nv_bfloat16>(el, tiles, H[0], rigid, v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
