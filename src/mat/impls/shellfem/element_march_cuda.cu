/*
  The lattice operator for hexahedra with 3 dofs a node, in the parity form of element_lattice_host.c, on the GPU.

  A thread owns a column of nodes, ROWS in y, and marches in z; a warp owns 30 such columns. Lanes 0 and 31, and one row
  on either side, are there for the elements around; neighbours compute those again, so that every entry of y belongs to
  one thread: no atomics, a fixed order, one write. Lanes run along rows of nodes and, where a row ends, on to the next
  strip of rows (the element between has scale zero), so that no lane idles whatever the size of the lattice.

  For each layer of elements, row of nodes by row of nodes: z stage in registers (the plane below is still there), x stage
  by a shuffle from the lane to the right, y stage with the row before, blocks, scale, and the transposed stages: y with
  what the row before left, x by a shuffle from the lane to the left, z with what the layer below left. The plane after
  the next is on its way from memory meanwhile; two planes of registers change their roles from one layer to the next.

  Cost for an element, where no work is repeated: 156 operations for a cube of isotropic material (8 constants in
  all, scaled once: 41 operations for the blocks), 181 for any box; 2/30 more for the lanes at the ends, 1/ROWS more of the
  y stage, blocks and its transpose, 2/ROWS more of z and x stages. Memory: x and y once, one scale an element.

  What limits it on an H200, 256^3 cubes, FP64 (FP32), measured with one test for the three stores of a node, as now, in an
  earlier state of this file: 20.0 (10.2) us per million elements, of which 13.2 (6.6) is memory at
  copy speed. Without memory traffic, the same planes again and again, it takes 16.8 (9.2), without arithmetic 15.0 (8.4):
  the FP64 pipe is 70 % busy, in FP32 80 % of all issue slots, at 8 to 16 warps a multiprocessor. With a test for each store
  it took 41 at 200^3 (ncu: 244 registers, 7.5 warps, FP64 pipe 36 %, issue slots 31 %, most of the waiting for loads). Tried and not faster: x stage before
  z stage (half of the shuffles, more registers), rings of planes in shared memory filled by cp.async, prefetch to L2, loads
  fenced to the beginning of a layer, stores through shared memory, 2 to 8 rows, 1 to 4 warps a block.
*/
#include "element_march_cuda.h"
#include "parity_device.h"

#define LANES     32 /* nodes in x a warp sees */
#define OWNED     30 /* and owns */
#define WARPS     2  /* in a block, next to each other in y */
#define MIN_CHUNK 4  /* planes of nodes a block marches through, at least; one layer is computed twice between chunks */

/* Rows of nodes a thread owns: what fits its registers */
template <class V> struct Traits {
  typedef typename Arithmetic<V>::T T;
  static const int                  rows = sizeof(T) == 8 ? 3 : 4;
};

/* Blocks that a multiprocessor is to hold: as many as leave enough registers */
template <class V> static __host__ __device__ constexpr int BlocksPerProcessor(int form, bool masked)
{
  return sizeof(V) == 8 ? 4 : form == CUBIC && !masked ? 8
                                                       : 6;
}

/* What the elements of a launch share; the pointers of ElementVectors by their types */
template <class V> struct March {
  typedef typename Traits<V>::T T;
  ElementLattice                l;
  PetscInt                      chunk; /* planes of nodes a block owns */
  const PetscInt               *ref;
  const T                      *scale;
  const unsigned char          *mask; /* by nodes */
  Vectors<V>                    v;
  Parity<T>                     parity;
};

/* y stage of two rows of modes, blocks, transposed y stage: what the two rows of nodes receive */
template <int FORM, class V, class T> static __device__ __forceinline__ void ElementRow(const March<V> &t, T scale, const T prev[12], const T next[12], T lo[12], T hi[12])
{
  T constants[8];

  if (FORM == CUBIC)
#pragma unroll
    for (int i = 0; i < 8; i++) constants[i] = scale * t.parity.cubic[i];
#pragma unroll
  for (int n = 0; n < 4; n++) {
    const int g = (n & 1) + (n & 2) * 2; /* groups g and g ^ 2 share their modes in x and z */
    T         u[2][3], f[2][3];

#pragma unroll
    for (int c = 0; c < 3; c++) {
      const int p = g ^ (1 << c), line = ((p & 1) + (p >> 2) * 2) * 3 + c, odd = (p >> 1) & 1;

      u[odd][c]     = next[line] + prev[line];
      u[1 - odd][c] = next[line] - prev[line];
    }
#pragma unroll
    for (int h = 0; h < 2; h++) Block<FORM, T>(t.parity.H[g ^ (2 * h)], constants, scale, g ^ (2 * h), u[h], f[h]);
#pragma unroll
    for (int c = 0; c < 3; c++) {
      const int p = g ^ (1 << c), line = ((p & 1) + (p >> 2) * 2) * 3 + c, odd = (p >> 1) & 1;

      lo[line] = f[odd][c] - f[1 - odd][c];
      hi[line] = f[odd][c] + f[1 - odd][c];
    }
  }
}

/* Where a thread is, and what it carries from one layer of elements to the next */
template <class V> struct Walk {
  typedef typename Traits<V>::T T;
  static const int              rows = Traits<V>::rows;
  PetscInt                      k, k0, k1;
  PetscCount                    plane, layer;    /* first node of plane k, first element of layer k */
  unsigned                      node[rows + 2];  /* of each row, in the plane */
  int                           element;         /* of row 0, in the layer */
  unsigned                      elements, nodes; /* rows, as bits, where there is one and it is this thread's */
  unsigned                      free;            /* mask of the plane k, three bits a row */
  unsigned char                 mask[rows + 2];  /* of the plane k + 1 */
  T                             scale[rows + 1], carry[rows][3];
};

/* x, and the mask, of one row of nodes in plane k */
template <class V, bool MASKED> static __device__ __forceinline__ void LoadNodes(const March<V> &t, Walk<V> &w, PetscCount plane, int r, typename Traits<V>::T u[3])
{
  const V *x = t.v.x + 3 * (plane + w.node[r]);

#pragma unroll
  for (int c = 0; c < 3; c++) u[c] = Load(x + c);
  if (MASKED) w.mask[r] = t.mask[plane + w.node[r]];
}

/* Scale of the element in row r of layer k: zero where there is none */
template <class V> static __device__ __forceinline__ void LoadScale(const March<V> &t, Walk<V> &w, PetscCount layer, bool inside, int r)
{
  const PetscCount e = layer + w.element + (PetscCount)r * (t.l.nx - 1);

  w.scale[r] = 0;
  if (!inside || !((w.elements >> r) & 1)) return;
  w.scale[r] = t.scale ? t.scale[e] : typename Traits<V>::T(1);
  if (t.ref && t.ref[e] != 0) w.scale[r] = 0;
}

/* The layer of elements between planes k and k + 1, below and above; below then holds what is known of plane k + 2 */
template <class V, int FORM, bool MASKED> static __device__ __forceinline__ void Layer(const March<V> &t, Walk<V> &w, typename Traits<V>::T (&below)[Traits<V>::rows + 2][3], typename Traits<V>::T (&above)[Traits<V>::rows + 2][3])
{
  typedef typename Traits<V>::T T;
  const int                     rows  = Traits<V>::rows;
  const PetscCount              plane = (PetscCount)t.l.nx * t.l.ny, layer = (PetscCount)(t.l.nx - 1) * (t.l.ny - 1);
  const PetscCount              ahead = w.plane + (w.k + 2 < t.l.nz ? 2 : 0) * plane; /* beyond the last: any node, its elements have scale zero */
  unsigned                      free  = 0;
  T                             prev[12], next[12], lo[12], hi[12], rest[12];

#pragma unroll
  for (int r = 0; r < rows + 2; r++) {
    if (MASKED) free |= (unsigned)w.mask[r] << (3 * r);
#pragma unroll
    for (int c = 0; c < 3; c++) {
      if (MASKED && !((w.mask[r] >> c) & 1)) above[r][c] = 0;
      const T s = above[r][c] + below[r][c], d = above[r][c] - below[r][c];
      const T sr = __shfl_down_sync(0xffffffffu, s, 1), dr = __shfl_down_sync(0xffffffffu, d, 1);

      next[c]     = sr + s;
      next[3 + c] = sr - s;
      next[6 + c] = dr + d;
      next[9 + c] = dr - d;
    }
    LoadNodes<V, MASKED>(t, w, ahead, r, below[r]);
    if (r > 0) {
      const int e     = r - 1; /* row of elements, between rows of nodes r - 1 and r */
      const T   scale = w.scale[e];

      LoadScale(t, w, w.layer + layer, w.k + 1 < t.l.nz - 1, e);
      ElementRow<FORM>(t, scale, prev, next, lo, hi);
      if (e > 0) { /* the row of nodes before is complete */
        T sum[3];

#pragma unroll
        for (int c = 0; c < 3; c++) {
          const T m0 = rest[c] + lo[c], m1 = rest[3 + c] + lo[3 + c], m2 = rest[6 + c] + lo[6 + c], m3 = rest[9 + c] + lo[9 + c];
          const T s = m0 - m1 + __shfl_up_sync(0xffffffffu, m0 + m1, 1), d = m2 - m3 + __shfl_up_sync(0xffffffffu, m2 + m3, 1);

          sum[c]            = w.carry[e - 1][c] + (s - d);
          w.carry[e - 1][c] = s + d;
        }
        if (w.k >= w.k0 && ((w.nodes >> e) & 1)) FinishNode(t.v, w.plane + w.node[e], MASKED ? w.free >> (3 * e) : 7u, sum);
      }
#pragma unroll
      for (int m = 0; m < 12; m++) rest[m] = hi[m];
    }
#pragma unroll
    for (int m = 0; m < 12; m++) prev[m] = next[m];
  }
  w.free = free;
  w.plane += plane;
  w.layer += layer;
  w.k++;
}

template <class V, int FORM, bool MASKED> static __global__ void __launch_bounds__(LANES *WARPS, BlocksPerProcessor<V>(FORM, MASKED)) MarchLattice(const March<V> t)
{
  typedef typename Traits<V>::T T;
  const int                     rows = Traits<V>::rows;
  const PetscInt                nx = t.l.nx, ny = t.l.ny, nz = t.l.nz, lane = threadIdx.x;
  const PetscInt                place = blockIdx.x * OWNED + lane - 1, strip = max(place, 0) / nx;                     /* along the rows of nodes, strip after strip */
  const PetscInt                i = place < 0 ? -1 : place - strip * nx, j = (strip * WARPS + threadIdx.y) * rows - 1; /* row 0 of this thread */
  const PetscInt                start = max((PetscInt)(blockIdx.y * t.chunk) - 1, 0);
  T                             even[rows + 2][3], odd[rows + 2][3];
  Walk<V>                       w;

  if (__all_sync(0xffffffffu, j + 1 >= ny)) return;
  w.k0       = blockIdx.y * t.chunk;
  w.k1       = min(w.k0 + t.chunk, nz);
  w.k        = start;
  w.plane    = (PetscCount)start * nx * ny;
  w.layer    = (PetscCount)start * (nx - 1) * (ny - 1);
  w.element  = j * (nx - 1) + i;
  w.elements = w.nodes = w.free = 0;
#pragma unroll
  for (int r = 0; r < rows + 2; r++) {
    w.node[r] = min(max(j + r, 0), ny - 1) * nx + min(max(i, 0), nx - 1);
    if (r <= rows && lane < LANES - 1 && i >= 0 && i < nx - 1 && j + r >= 0 && j + r < ny - 1) w.elements |= 1u << r;
    if (r > 0 && r <= rows && lane > 0 && lane <= OWNED && j + r < ny) w.nodes |= 1u << r;
    LoadNodes<V, MASKED>(t, w, w.plane, r, even[r]);
    if (MASKED) {
      w.free |= (unsigned)w.mask[r] << (3 * r);
#pragma unroll
      for (int c = 0; c < 3; c++)
        if (!((w.mask[r] >> c) & 1)) even[r][c] = 0;
    }
    LoadNodes<V, MASKED>(t, w, w.plane + (start + 1 < nz ? (PetscCount)nx * ny : 0), r, odd[r]);
    if (r <= rows) LoadScale(t, w, w.layer, start < nz - 1, r);
    if (r < rows) w.carry[r][0] = w.carry[r][1] = w.carry[r][2] = 0;
  }
  while (w.k < w.k1) { /* beyond the last layer all scales are zero: what is carried comes out */
    Layer<V, FORM, MASKED>(t, w, even, odd);
    if (w.k < w.k1) Layer<V, FORM, MASKED>(t, w, odd, even);
  }
}

/* Planes of nodes for each block: as few layers as possible for the multiprocessor that has most to do */
static PetscInt Chunk(PetscInt columns, PetscInt nz, PetscInt slots)
{
  PetscInt best  = nz;
  double   least = PETSC_MAX_REAL;

  for (PetscInt n = 1; n <= PetscMax(1, nz / MIN_CHUNK); n++) {
    const PetscInt chunk  = (nz + n - 1) / n;
    const double   rounds = (double)columns * ((nz + chunk - 1) / chunk) / slots, layers = (rounds > 4 ? rounds + 0.3 : PetscCeilReal(rounds)) * (chunk + 1.5);

    if (layers < least) {
      least = layers;
      best  = chunk;
    }
  }
  return best;
}

PetscBool ElementMarchFits(const ElementMatrices *m, const ElementLattice *l, ElementPlan plan, const ElementVectors *v)
{
  return (PetscBool)(plan && m->nref == 1 && l->nz > 1 && l->bs == 3 && (!v->mask || v->nodemask) && (PetscCount)l->nx * l->ny < PETSC_INT32_MAX / 8);
}

template <class V> static PetscErrorCode Launch(const ElementMatrices *m, const ElementLattice *l, const ElementParityBlocks H, bool rigid, const ElementVectors *v, cudaStream_t stream)
{
  const PetscInt strips = (l->ny + WARPS * Traits<V>::rows - 1) / (WARPS * Traits<V>::rows), columns = (PetscInt)(((PetscCount)strips * l->nx + OWNED - 1) / OWNED);
  const dim3     block(LANES, WARPS);
  March<V>       t;
  int            device, processors, form;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  form    = ParitySet(H, rigid, &t.parity);
  t.l     = *l;
  t.ref   = m->ref;
  t.scale = (const typename Traits<V>::T *)v->scale;
  t.mask  = v->mask ? v->nodemask : NULL;
  t.v     = VectorsCreate<V>(v);
  t.chunk = Chunk(columns, l->nz, processors * BlocksPerProcessor<V>(form, t.mask));
  const dim3 grid(columns, (l->nz + t.chunk - 1) / t.chunk);

  if (t.mask) {
    if (form == CUBIC) MarchLattice<V, CUBIC, true><<<grid, block, 0, stream>>>(t);
    else if (form == RIGID) MarchLattice<V, RIGID, true><<<grid, block, 0, stream>>>(t);
    else MarchLattice<V, GENERAL, true><<<grid, block, 0, stream>>>(t);
  } else {
    if (form == CUBIC) MarchLattice<V, CUBIC, false><<<grid, block, 0, stream>>>(t);
    else if (form == RIGID) MarchLattice<V, RIGID, false><<<grid, block, 0, stream>>>(t);
    else MarchLattice<V, GENERAL, false><<<grid, block, 0, stream>>>(t);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementMarch_CUDA(const ElementMatrices *m, const ElementLattice *l, ElementPlan plan, PetscBool transpose, const ElementVectors *v, cudaStream_t stream)
{
  PetscBool                  rigid;
  const ElementParityBlocks *H = ElementPlanGetParity(plan, transpose, &rigid);

  PetscFunctionBegin;
  switch (v->precision) {
  case ELEMENT_DOUBLE:
    PetscCall(Launch<double>(m, l, H[0], rigid, v, stream));
    break;
  case ELEMENT_SINGLE:
    PetscCall(Launch<float>(m, l, H[0], rigid, v, stream));
    break;
  case ELEMENT_BFLOAT16:
    PetscCall(Launch<__nv_bfloat16>(m, l, H[0], rigid, v, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
