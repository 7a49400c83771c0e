/*
  The lattice operator of MATSHELLFEM on the host, in parity form.

  H is the Walsh-Hadamard matrix over the N = 2^dim nodes of an element: mode p is the sum over nodes with a minus sign
  for every direction of p in which the node is the lower one; p = 0 is translation. When the reflections of the box
  leave the material unchanged (isotropic, or orthotropic along the axes), H K H^T couples mode p of component c only with
  mode q of component d where p ^ bit(c) == q ^ bit(d) (scalar problems: p == q), so that 24 x 24 becomes eight 3 x 3
  blocks. Where translations cost no energy their rows are dropped: the product then acts on differences alone, and
  rigid translations give exactly zero, whatever their size.

  H is a product of one stage for each direction, shared between neighbours. A tile of TILE elements in x is swept in y
  at fixed z. For each row of nodes: x stage and z stage (12 values an element for 3 dofs a node); with the row before:
  y stage, blocks, scale, transposed y stage; what belongs to the next row is carried on. All lines of a tile fit in the
  first-level cache, every loop runs along x over contiguous arrays, and y receives its contributions in a fixed order.

  Cost for 3 dofs a node: about 190 floating-point operations an element, instead of 1152 (Walsh-Hadamard form of hex8:
  Nejeoui and Bekkari 2026, "matrix-free voxel elasticity").
*/
#include "element.h"
#include "../../../sys/trefoilsimd.h"

#define TILE      64
#define LANES     (64 / (PetscInt)sizeof(PetscReal)) /* lines are padded to a multiple of this */
#define MAX_REF   8                                  /* more reference matrices than this: the general kernel */
#define INLINE    static inline __attribute__((always_inline))
#define ANY_ORDER _Pragma("GCC ivdep")    /* the lines in the loop do not overlap */
#define UNROLL    _Pragma("GCC unroll 8") /* before vectorization of the loop around */

typedef PetscScalar Line[LANES + TILE + LANES]; /* element or node i of the tile at LANES + i, zero around */

struct _n_ElementPlan {
  PetscInt            dim, bs;
  PetscBool           rigid;              /* translations cost no energy: their modes are left out */
  ElementParityBlocks blocks[2][MAX_REF]; /* H K H^T / N^2 of each reference matrix, and of its transpose */
};

typedef struct {
  const ElementMatrices     *m;
  const ElementLattice      *lattice;
  const ElementParityBlocks *blocks;
  const unsigned char       *mask;
  const PetscScalar         *x;
  PetscScalar               *y;
} ParityArgs;

/* The direction that reflects component c; a scalar has none */
INLINE PetscInt Bit(PetscInt bs, PetscInt c)
{
  return bs == 1 ? 0 : 1 << c;
}

/* Pairs of modes that do not couple when translations cost no energy; mode 7, xyz, then has only itself */
INLINE PetscBool Decoupled(PetscInt dim, PetscInt bs, PetscInt p, PetscInt q)
{
  return (PetscBool)(p == 0 || q == 0 || (dim == 3 && bs == 3 && p != q && (p == 7 || q == 7)));
}

/* One row of n nodes, component by component */
INLINE void LoadNodes(PetscInt bs, PetscInt n, PetscInt width, const unsigned char *mask, const PetscScalar *x, Line *u)
{
  if (mask) {
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt c = 0; c < bs; c++) u[c][LANES + i] = mask[i * bs + c] ? x[i * bs + c] : 0;
  } else {
    ANY_ORDER
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt c = 0; c < bs; c++) u[c][LANES + i] = x[i * bs + c];
  }
  for (PetscInt c = 0; c < bs; c++)
    for (PetscInt i = n; i <= width; i++) u[c][LANES + i] = 0;
}

/* y at the nodes of a row: what the element to the right gives its lower node, and the one to the left its upper node */
INLINE void AddNodes(PetscInt bs, PetscInt n, const unsigned char *mask, const Line *lower, const Line *upper, PetscScalar *y)
{
  if (mask) {
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt c = 0; c < bs; c++)
        if (mask[i * bs + c]) y[i * bs + c] += lower[c][LANES + i] + upper[c][LANES + i - 1];
  } else {
    ANY_ORDER
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt c = 0; c < bs; c++) y[i * bs + c] += lower[c][LANES + i] + upper[c][LANES + i - 1];
  }
}

/* x stage and z stage of a row of nodes in the lower plane, u0, and in the upper, u1. Mode (px, pz) at (2 pz + px) bs + c */
INLINE void Forward(PetscInt dim, PetscInt bs, PetscInt width, const Line *u0, const Line *u1, Line *modes)
{
  ANY_ORDER
  for (PetscInt i = LANES; i < LANES + width; i++)
    UNROLL
  for (PetscInt c = 0; c < bs; c++) {
    const PetscScalar s0 = u0[c][i + 1] + u0[c][i], d0 = u0[c][i + 1] - u0[c][i];

    if (dim == 3) {
      const PetscScalar s1 = u1[c][i + 1] + u1[c][i], d1 = u1[c][i + 1] - u1[c][i];

      modes[0 * bs + c][i] = s1 + s0;
      modes[1 * bs + c][i] = d1 + d0;
      modes[2 * bs + c][i] = s1 - s0;
      modes[3 * bs + c][i] = d1 - d0;
    } else {
      modes[0 * bs + c][i] = s0;
      modes[1 * bs + c][i] = d0;
    }
  }
}

/* Transposed z stage, and x stage as far as elements go, for the nodes of one plane; upper: which */
INLINE void Backward(PetscInt dim, PetscInt bs, PetscInt width, PetscBool upperplane, const Line *modes, Line *lower, Line *upper)
{
  ANY_ORDER
  for (PetscInt i = LANES; i < LANES + width; i++)
    UNROLL
  for (PetscInt c = 0; c < bs; c++) {
    PetscScalar s = modes[0 * bs + c][i], d = modes[1 * bs + c][i];

    if (dim == 3) {
      s = upperplane ? s + modes[2 * bs + c][i] : s - modes[2 * bs + c][i];
      d = upperplane ? d + modes[3 * bs + c][i] : d - modes[3 * bs + c][i];
    }
    lower[c][i] = s - d;
    upper[c][i] = s + d;
  }
}

/*
  y stage, the blocks of the modes g ^ bit(c) and g ^ 2 ^ bit(c), scale, transposed y stage. prev and next are the
  modes of the two rows of nodes; out is what the former receives in all, carry what goes to the latter.
  first: the carry of the row before enters; else out and carry are added to (several reference matrices).
*/
INLINE void Blocks(PetscInt dim, PetscInt bs, PetscBool rigid, PetscBool first, PetscInt g, PetscInt width, const ElementParityBlocks H, const PetscScalar *scale, const Line *prev, const Line *next, Line *carry, Line *out)
{
  ANY_ORDER
  for (PetscInt i = LANES; i < LANES + width; i++) {
    PetscScalar u[2][3], f[2][3];

    UNROLL
    for (PetscInt c = 0; c < bs; c++) {
      const PetscInt    p = g ^ Bit(bs, c), line = ((p & 1) + (p >> 2) * 2) * bs + c, odd = (p >> 1) & 1;
      const PetscScalar a = prev[line][i], b = next[line][i];

      u[odd][c]     = b + a;
      u[1 - odd][c] = b - a;
    }
    UNROLL
    for (PetscInt h = 0; h < 2; h++)
      UNROLL
    for (PetscInt c = 0; c < bs; c++) {
      f[h][c] = 0;
      UNROLL
      for (PetscInt d = 0; d < bs; d++)
        if (!rigid || !Decoupled(dim, bs, g ^ (2 * h) ^ Bit(bs, c), g ^ (2 * h) ^ Bit(bs, d))) f[h][c] += H[g ^ (2 * h)][c][d] * u[h][d];
      f[h][c] *= scale[i];
    }
    UNROLL
    for (PetscInt c = 0; c < bs; c++) {
      const PetscInt    p = g ^ Bit(bs, c), line = ((p & 1) + (p >> 2) * 2) * bs + c, odd = (p >> 1) & 1;
      const PetscScalar s = f[odd][c], d = f[1 - odd][c];

      out[line][i]   = (first ? carry[line][i] : out[line][i]) + (s - d);
      carry[line][i] = first ? s + d : carry[line][i] + (s + d);
    }
  }
}

/* Every g without the y bit, each a constant for the compiler */
INLINE void AllBlocks(PetscInt dim, PetscInt bs, PetscBool rigid, PetscBool first, PetscInt width, const ElementParityBlocks H, const PetscScalar *scale, const Line *prev, const Line *next, Line *carry, Line *out)
{
  Blocks(dim, bs, rigid, first, 0, width, H, scale, prev, next, carry, out);
  Blocks(dim, bs, rigid, first, 1, width, H, scale, prev, next, carry, out);
  if (dim == 3) {
    Blocks(dim, bs, rigid, first, 4, width, H, scale, prev, next, carry, out);
    Blocks(dim, bs, rigid, first, 5, width, H, scale, prev, next, carry, out);
  }
}

/* Scales of the n elements from e on that have reference matrix r, zero for others; false when there are none */
INLINE PetscBool LoadScales(const ElementMatrices *m, PetscInt r, PetscCount e, PetscInt n, PetscInt width, PetscScalar *scale)
{
  PetscBool any = PETSC_FALSE;

  if (m->ref) {
    for (PetscInt i = 0; i < n; i++) any = m->ref[e + i] == r ? PETSC_TRUE : any;
    if (!any && r) return PETSC_FALSE;
    for (PetscInt i = 0; i < n; i++) scale[LANES + i] = m->ref[e + i] == r ? (m->scale ? m->scale[e + i] : 1) : 0;
  } else {
    for (PetscInt i = 0; i < n; i++) scale[LANES + i] = m->scale ? m->scale[e + i] : 1;
  }
  for (PetscInt i = n; i < width; i++) scale[LANES + i] = 0;
  return PETSC_TRUE;
}

/* Elements i0 .. i0+n-1 of the layer k between two planes of nodes, all rows */
INLINE void SweepTile(PetscInt dim, PetscInt bs, PetscBool rigid, const ParityArgs *t, PetscInt k, PetscInt i0, PetscInt n)
{
  const PetscInt    nx = t->lattice->nx, ny = t->lattice->ny, width = (n + LANES - 1) / LANES * LANES, nmodes = (dim == 3 ? 4 : 2) * bs;
  _Alignas(64) Line u[2][3], modes[2][12], carry[12], out[12], lower[3], upper[3], scale;

  for (PetscInt l = 0; l < nmodes; l++)
    for (PetscInt i = 0; i < width; i++) carry[l][LANES + i] = 0;
  for (PetscInt c = 0; c < bs; c++) upper[c][LANES - 1] = lower[c][LANES + width] = 0; /* no elements outside */
  for (PetscInt j = 0; j <= ny; j++) {
    const Line *prev = modes[(j + 1) & 1], *next = modes[j & 1];

    if (j < ny) {
      for (PetscInt z = 0; z < dim - 1; z++) {
        const PetscCount node = ((PetscCount)(k + z) * ny + j) * nx + i0;

        LoadNodes(bs, n + 1, width, t->mask ? t->mask + node * bs : NULL, t->x + node * bs, u[z]);
      }
      Forward(dim, bs, width, u[0], u[1], modes[j & 1]);
    }
    if (j == 0) continue;
    if (j < ny) {
      const PetscCount e = ((PetscCount)k * (ny - 1) + j - 1) * (nx - 1) + i0;

      for (PetscInt r = 0; r < t->m->nref; r++) {
        if (!LoadScales(t->m, r, e, n, width, scale)) continue;
        if (r == 0)
          AllBlocks(dim, bs, rigid, PETSC_TRUE, width, t->blocks[r], scale, prev, next, carry, out);
        else
          AllBlocks(dim, bs, rigid, PETSC_FALSE, width, t->blocks[r], scale, prev, next, carry, out);
      }
    }
    for (PetscInt z = 0; z < dim - 1; z++) {
      const PetscCount node = ((PetscCount)(k + z) * ny + j - 1) * nx + i0;

      Backward(dim, bs, width, (PetscBool)z, j < ny ? out : carry, lower, upper);
      AddNodes(bs, n + 1, t->mask ? t->mask + node * bs : NULL, lower, upper, t->y + node * bs);
    }
  }
}

INLINE void Sweep(PetscInt dim, PetscInt bs, PetscBool rigid, const ParityArgs *t)
{
  const PetscInt ne = t->lattice->nx - 1, ntile = (ne + TILE - 1) / TILE, size = ntile ? (ne + ntile - 1) / ntile : 0;

  for (PetscInt k = 0; k < (dim == 3 ? t->lattice->nz - 1 : 1); k++)
    for (PetscInt i = 0; i < ne; i += size) SweepTile(dim, bs, rigid, t, k, i, PetscMin(size, ne - i));
}

#define KERNEL(name, dim, bs, rigid) \
  TREFOIL_SIMD static void name(const ParityArgs *t) \
  { \
    Sweep(dim, bs, rigid, t); \
  }
KERNEL(Quad1, 2, 1, PETSC_FALSE)
KERNEL(Quad1Rigid, 2, 1, PETSC_TRUE)
KERNEL(Quad2, 2, 2, PETSC_FALSE)
KERNEL(Quad2Rigid, 2, 2, PETSC_TRUE)
KERNEL(Hex1, 3, 1, PETSC_FALSE)
KERNEL(Hex1Rigid, 3, 1, PETSC_TRUE)
KERNEL(Hex3, 3, 3, PETSC_FALSE)
KERNEL(Hex3Rigid, 3, 3, PETSC_TRUE)

static void ElementApplyParity(const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, PetscBool transpose, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  static void (*const kernel[2][2][2])(const ParityArgs *) = {
    {{Quad1, Quad1Rigid}, {Quad2, Quad2Rigid}},
    {{Hex1, Hex1Rigid}, {Hex3, Hex3Rigid}}};
  const ParityArgs args = {m, lattice, plan->blocks[transpose], mask, x, y};

  kernel[plan->dim - 2][plan->bs > 1][plan->rigid](&args);
  if (m->full) ElementApplyLatticeDense_Host(m, lattice, transpose, PETSC_TRUE, mask, x, y);
}

void ElementApplyLattice_Host(const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  if (plan)
    ElementApplyParity(m, lattice, plan, PETSC_FALSE, mask, x, y);
  else
    ElementApplyLatticeDense_Host(m, lattice, PETSC_FALSE, PETSC_FALSE, mask, x, y);
}

void ElementApplyTransposeLattice_Host(const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  if (plan)
    ElementApplyParity(m, lattice, plan, PETSC_TRUE, mask, x, y);
  else
    ElementApplyLatticeDense_Host(m, lattice, PETSC_TRUE, PETSC_FALSE, mask, x, y);
}

/* Entry of H: the sign of node a in mode p */
static PetscReal Sign(PetscInt p, PetscInt a)
{
  PetscReal sign = 1;

  for (PetscInt lower = p & ~a; lower; lower &= lower - 1) sign = -sign;
  return sign;
}

/* One entry of H K H^T / N^2 */
static PetscScalar ParityEntry(const PetscScalar *K, PetscInt nnode, PetscInt bs, PetscInt p, PetscInt c, PetscInt q, PetscInt d)
{
  PetscScalar sum = 0;

  for (PetscInt a = 0; a < nnode; a++)
    for (PetscInt b = 0; b < nnode; b++) sum += Sign(p, a) * Sign(q, b) * K[(a * bs + c) * nnode * bs + b * bs + d];
  return sum / (PetscReal)(nnode * nnode);
}

/*
  The blocks of K; false when others of its modes couple, too. rigid becomes false when a translation has energy or when
  a hourglass mode couples. Modes that are left out do not exceed rounding errors of K.
*/
static PetscBool ParityFind(const PetscScalar *K, PetscInt dim, PetscInt bs, ElementParityBlocks H, PetscBool *rigid)
{
  const PetscInt nnode = 1 << dim, ndof = nnode * bs;
  PetscReal      max = 0, tiny;

  for (PetscInt i = 0; i < ndof * ndof; i++) max = PetscMax(max, PetscAbsScalar(K[i]));
  tiny = 8 * PETSC_MACHINE_EPSILON * max / nnode;
  for (PetscInt p = 0; p < nnode; p++)
    for (PetscInt c = 0; c < bs; c++)
      for (PetscInt q = 0; q < nnode; q++)
        for (PetscInt d = 0; d < bs; d++) {
          const PetscScalar entry = ParityEntry(K, nnode, bs, p, c, q, d);
          const PetscBool   small = (PetscBool)(PetscAbsScalar(entry) <= tiny);

          if (PetscIsInfOrNanScalar(entry)) return PETSC_FALSE;
          if ((p ^ Bit(bs, c)) == (q ^ Bit(bs, d))) {
            H[p ^ Bit(bs, c)][c][d] = entry;
            if (!small && Decoupled(dim, bs, p, q)) *rigid = PETSC_FALSE;
          } else if (!small)
            return PETSC_FALSE;
        }
  return PETSC_TRUE;
}

PetscErrorCode ElementPlanCreateLattice(const ElementMatrices *m, const ElementLattice *lattice, ElementPlan *plan)
{
  const PetscInt dim = lattice->nz > 1 ? 3 : 2, bs = lattice->bs;
  PetscBool      rigid = PETSC_TRUE;

  PetscFunctionBegin;
  *plan = NULL;
  if (m->nref < 1 || m->nref > MAX_REF || (bs != 1 && bs != dim)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(plan));
  for (PetscInt r = 0; r < m->nref; r++) {
    ElementParityBlocks *H = &(*plan)->blocks[0][r], *T = &(*plan)->blocks[1][r];

    if (!ParityFind(m->K + r * m->ndof * m->ndof, dim, bs, *H, &rigid)) {
      PetscCall(PetscFree(*plan));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    for (PetscInt g = 0; g < 1 << dim; g++)
      for (PetscInt c = 0; c < bs; c++)
        for (PetscInt d = 0; d < bs; d++) (*T)[g][c][d] = (*H)[g][d][c];
  }
  (*plan)->dim   = dim;
  (*plan)->bs    = bs;
  (*plan)->rigid = rigid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Binary order, that of VTK and of DMPlex, each with the axes in any order; reflections do not matter */
PetscErrorCode ElementPlanCreateHex(const ElementMatrices *m, PetscInt bs, PetscInt corner[8], ElementPlan *plan)
{
  const PetscInt       orders[3][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 3, 2, 4, 5, 7, 6}, {0, 3, 1, 2, 4, 5, 7, 6}};
  const PetscInt       axes[6][3]   = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  const ElementLattice lattice      = {2, 2, 2, bs};
  const PetscInt       ndof         = m->ndof;
  ElementMatrices      binary       = *m;
  PetscScalar         *K;

  PetscFunctionBegin;
  *plan = NULL;
  if (ndof != 8 * bs || m->nref < 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1((PetscCount)m->nref * ndof * ndof, &K));
  binary.K = K;
  for (PetscInt t = 0; t < 18 && !*plan; t++) {
    for (PetscInt a = 0; a < 8; a++) {
      PetscInt place = 0;

      for (PetscInt d = 0; d < 3; d++) place |= ((a >> d) & 1) << axes[t / 3][d];
      corner[a] = orders[t % 3][place];
    }
    for (PetscInt r = 0; r < m->nref; r++)
      for (PetscInt i = 0; i < ndof; i++)
        for (PetscInt j = 0; j < ndof; j++) K[((PetscCount)r * ndof + i) * ndof + j] = m->K[((PetscCount)r * ndof + corner[i / bs] * bs + i % bs) * ndof + corner[j / bs] * bs + j % bs];
    PetscCall(ElementPlanCreateLattice(&binary, &lattice, plan));
  }
  PetscCall(PetscFree(K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementPlanDestroy(ElementPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *ElementPlanName(ElementPlan plan)
{
  if (!plan) return "dense";
  return plan->rigid ? "parity, differences" : "parity";
}

const ElementParityBlocks *ElementPlanGetParity(ElementPlan plan, PetscBool transpose, PetscBool *rigid)
{
  *rigid = plan->rigid;
  return plan->blocks[transpose];
}
