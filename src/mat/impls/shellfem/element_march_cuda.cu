/*
  The lattice operator for hexahedra with 3 dofs a node, in the parity form of element_lattice_host.c, on the GPU.

  A warp owns a column of 30 nodes in x by ROWS nodes in y and marches in z. Lanes 0 and 31, and one row on either
  side, are there for the elements around; neighbours compute those again, so that every entry of y belongs to one
  thread: no atomics, a fixed order, one write.
  For each layer of elements, row of nodes by row of nodes: z stage in registers (the plane below is still there), x stage
  by a shuffle from the lane to the right, y stage with the row before, blocks, scale, and the transposed stages: y with
  what the row before left, x by a shuffle from the lane to the left, z with what the layer below left. The plane after
  the next is on its way from memory meanwhile.

  About 190 operations an element where no work is repeated (30/32 of lanes in x, ROWS/(ROWS+1) of rows in y); memory:
  x and y once, one scale an element.
*/
#include "element_march_cuda.h"

#define LANES     32   /* nodes in x a warp sees */
#define OWNED     30   /* and owns */
#define ROWS      3    /* nodes in y a thread owns */
#define WARPS     4    /* in a block, next to each other in y */
#define MIN_CHUNK 8    /* planes of nodes a block marches through, at least; one layer is computed twice at each end */
#define FEW       1024 /* blocks: with fewer than this the march is cut into chunks */

typedef PetscReal Scalar; /* complex is refused by ElementApplyLattice_CUDA */

typedef struct {
  ElementLattice       l;
  PetscInt             chunk; /* planes of nodes a block owns */
  const PetscInt      *ref;
  const Scalar        *scale, *x;
  const unsigned char *mask;
  Scalar              *y;
  Scalar               H[8][3][3];
} March;

/* Pairs of modes without coupling when translations cost no energy, as in the host kernel */
static __device__ __forceinline__ constexpr bool Decoupled(int p, int q)
{
  return p == 0 || q == 0 || (p != q && (p == 7 || q == 7));
}

/* x of one node, zero outside of the lattice and where the mask is 0 */
static __device__ __forceinline__ void LoadNode(const March &t, bool inside, PetscCount node, Scalar u[3])
{
#pragma unroll
  for (int c = 0; c < 3; c++) u[c] = inside && (!t.mask || t.mask[3 * node + c]) ? t.x[3 * node + c] : Scalar(0);
}

static __device__ __forceinline__ Scalar LoadScale(const March &t, bool inside, PetscCount e)
{
  if (!inside || (t.ref && t.ref[e] != 0)) return 0;
  return t.scale ? t.scale[e] : Scalar(1);
}

/* y stage of two rows of modes, blocks, scale, transposed y stage: what the two rows of nodes receive */
template <bool RIGID>
static __device__ __forceinline__ void ElementRow(const Scalar H[8][3][3], Scalar scale, const Scalar prev[12], const Scalar next[12], Scalar lo[12], Scalar hi[12])
{
#pragma unroll
  for (int n = 0; n < 4; n++) {
    const int g = (n & 1) + (n & 2) * 2; /* groups g and g ^ 2 share their modes in x and z */
    Scalar    u[2][3], f[2][3];

#pragma unroll
    for (int c = 0; c < 3; c++) {
      const int p = g ^ (1 << c), line = ((p & 1) + (p >> 2) * 2) * 3 + c, odd = (p >> 1) & 1;

      u[odd][c]     = next[line] + prev[line];
      u[1 - odd][c] = next[line] - prev[line];
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int c = 0; c < 3; c++) {
        Scalar sum = 0;

#pragma unroll
        for (int d = 0; d < 3; d++)
          if (!RIGID || !Decoupled(g ^ (2 * h) ^ (1 << c), g ^ (2 * h) ^ (1 << d))) sum += H[g ^ (2 * h)][c][d] * u[h][d];
        f[h][c] = sum * scale;
      }
#pragma unroll
    for (int c = 0; c < 3; c++) {
      const int p = g ^ (1 << c), line = ((p & 1) + (p >> 2) * 2) * 3 + c, odd = (p >> 1) & 1;

      lo[line] = f[odd][c] - f[1 - odd][c];
      hi[line] = f[odd][c] + f[1 - odd][c];
    }
  }
}

/* Transposed x and z stages for one row of nodes: adds what this layer gives the plane below, carries the rest on */
static __device__ __forceinline__ void FinishNode(const March &t, bool store, PetscCount node, const Scalar modes[12], Scalar carry[3])
{
#pragma unroll
  for (int c = 0; c < 3; c++) {
    const Scalar s   = modes[c] - modes[3 + c] + __shfl_up_sync(0xffffffffu, modes[c] + modes[3 + c], 1);
    const Scalar d   = modes[6 + c] - modes[9 + c] + __shfl_up_sync(0xffffffffu, modes[6 + c] + modes[9 + c], 1);
    const Scalar sum = carry[c] + (s - d);

    if (store && (!t.mask || t.mask[3 * node + c])) t.y[3 * node + c] += sum;
    carry[c] = s + d;
  }
}

template <bool RIGID>
static __global__ void __launch_bounds__(LANES *WARPS, 2) MarchLattice(const March t)
{
  const PetscInt   nx = t.l.nx, ny = t.l.ny, nz = t.l.nz, lane = threadIdx.x;
  const PetscInt   i = blockIdx.x * OWNED + lane - 1, j0 = (blockIdx.y * WARPS + threadIdx.y) * ROWS - 1; /* row 0 of this thread */
  const PetscInt   k0 = blockIdx.z * t.chunk, k1 = min(k0 + t.chunk, nz), start = max(k0 - 1, 0);
  const PetscCount plane = (PetscCount)nx * ny, layer = (PetscCount)(nx - 1) * (ny - 1);
  const bool       owned = lane > 0 && lane <= OWNED && i < nx;
  PetscCount       node = start * plane + (PetscCount)j0 * nx + i, e = start * layer + (PetscCount)j0 * (nx - 1) + i;
  Scalar           below[ROWS + 2][3], above[ROWS + 2][3], scale[ROWS + 1], carry[ROWS][3];

  if (j0 + 1 >= ny) return; /* the whole warp */
#define NODE_INSIDE(r)    (i >= 0 && i < nx && j0 + (r) >= 0 && j0 + (r) < ny)
#define ELEMENT_INSIDE(r) (i >= 0 && i < nx - 1 && lane < LANES - 1 && j0 + (r) >= 0 && j0 + (r) < ny - 1)
#pragma unroll
  for (int r = 0; r < ROWS + 2; r++) {
    LoadNode(t, NODE_INSIDE(r), node + r * nx, below[r]);
    LoadNode(t, NODE_INSIDE(r) && start + 1 < nz, node + r * nx + plane, above[r]);
    if (r <= ROWS) scale[r] = LoadScale(t, ELEMENT_INSIDE(r) && start < nz - 1, e + r * (nx - 1));
    if (r < ROWS) carry[r][0] = carry[r][1] = carry[r][2] = 0;
  }
  for (PetscInt k = start; k < k1; k++, node += plane, e += layer) {
    Scalar prev[12], next[12], lo[12], hi[12], rest[12];

    /* beyond the last plane all scales are zero: what is carried comes out */
#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) {
#pragma unroll
      for (int c = 0; c < 3; c++) {
        const Scalar s = above[r][c] + below[r][c], d = above[r][c] - below[r][c];
        const Scalar sr = __shfl_down_sync(0xffffffffu, s, 1), dr = __shfl_down_sync(0xffffffffu, d, 1);

        next[c]     = sr + s;
        next[3 + c] = sr - s;
        next[6 + c] = dr + d;
        next[9 + c] = dr - d;
        below[r][c] = above[r][c];
      }
      LoadNode(t, NODE_INSIDE(r) && k + 2 < nz && k + 1 < k1, node + r * nx + 2 * plane, above[r]);
      if (r > 0) {
        const int s = r - 1; /* row of elements, between rows of nodes r - 1 and r */

        ElementRow<RIGID>(t.H, scale[s], prev, next, lo, hi);
        scale[s] = LoadScale(t, ELEMENT_INSIDE(s) && k + 1 < nz - 1 && k + 1 < k1, e + s * (nx - 1) + layer);
        if (s > 0) { /* the row of nodes before, r - 1, is complete */
#pragma unroll
          for (int m = 0; m < 12; m++) rest[m] += lo[m];
          FinishNode(t, owned && k >= k0 && j0 + s < ny, node + s * nx, rest, carry[s - 1]);
        }
#pragma unroll
        for (int m = 0; m < 12; m++) rest[m] = hi[m];
      }
#pragma unroll
      for (int m = 0; m < 12; m++) prev[m] = next[m];
    }
  }
#undef NODE_INSIDE
#undef ELEMENT_INSIDE
}

PetscErrorCode ElementMarch_CUDA(const ElementMatrices *m, const ElementLattice *l, ElementPlan plan, PetscBool transpose, const unsigned char *mask, const PetscScalar *x, PetscScalar *y, cudaStream_t stream)
{
  PetscBool                  rigid;
  const ElementParityBlocks *H = ElementPlanGetParity(plan, transpose, &rigid);
  dim3                       grid((l->nx + OWNED - 1) / OWNED, (l->ny + ROWS * WARPS - 1) / (ROWS * WARPS), 1);
  const dim3                 block(LANES, WARPS);
  PetscInt                   nchunk = FEW / (grid.x * grid.y) + 1;
  March                      t;

  PetscFunctionBegin;
  nchunk  = PetscMax(1, PetscMin(nchunk, l->nz / MIN_CHUNK));
  t.l     = *l;
  t.chunk = (l->nz + nchunk - 1) / nchunk;
  grid.z  = (l->nz + t.chunk - 1) / t.chunk;
  t.ref   = m->ref;
  t.scale = (const Scalar *)m->scale;
  t.x     = (const Scalar *)x;
  t.mask  = mask;
  t.y     = (Scalar *)y;
  for (PetscInt g = 0; g < 8; g++)
    for (PetscInt c = 0; c < 3; c++)
      for (PetscInt d = 0; d < 3; d++) t.H[g][c][d] = PetscRealPart(H[0][g][c][d]);
  if (rigid)
    MarchLattice<true><<<grid, block, 0, stream>>>(t);
  else
    MarchLattice<false><<<grid, block, 0, stream>>>(t);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
