/*
  Element operators on the host for any mesh, any number of dofs and any mix of matrices.

  Elements are taken in order, in batches of LANES that share one matrix, and stored dof by dof with one lane for each
  element of the batch: the product with the matrix is then a loop over lanes that the compiler vectorizes, and every
  entry of the matrix is read once for the batch. Results are added to y element after element, so repeated products
  are bit-identical.
*/
#include "element.h"
#include "../../../sys/trefoilsimd.h"

#define LANES  (64 / (PetscInt)sizeof(PetscScalar)) /* elements in a batch: one vector of 512 bits */
#define CHUNK  96                                   /* rows or columns handled at once: all those of a triquadratic hexahedron */
#define UNROLL _Pragma("GCC unroll 8")
#define INLINE static inline __attribute__((always_inline))

const char *const ElementKernels[]    = {"auto", "threestage", "fused", "node", "parity", "dmma", "wmma", "ElementKernel", "ELEMENT_KERNEL_", NULL};
const char *const ElementPrecisions[] = {"double", "single", "bfloat16", "ElementPrecision", "ELEMENT_", NULL};

/* Where elements find their nodes: in a list, or by the formula of a lattice */
typedef struct {
  PetscInt              nen, bs;
  const PetscInt       *conn;
  const ElementLattice *lattice;
} ElementNodes;

INLINE ElementNodes ElementNodesMesh(const ElementMesh *mesh)
{
  const ElementNodes nodes = {mesh->nen, mesh->bs, mesh->conn, NULL};
  return nodes;
}

INLINE ElementNodes ElementNodesLattice(const ElementLattice *lattice)
{
  const ElementNodes nodes = {lattice->nz > 1 ? 8 : 4, lattice->bs, NULL, lattice};
  return nodes;
}

/* Nodes of element e; corner is room for those of a lattice */
INLINE const PetscInt *ElementGetNodes(const ElementNodes *nodes, PetscCount e, PetscInt corner[8])
{
  const ElementLattice *l = nodes->lattice;
  PetscInt              i, j, k, row;

  if (!l) return nodes->conn + e * nodes->nen;
  i   = (PetscInt)(e % (l->nx - 1));
  row = (PetscInt)(e / (l->nx - 1));
  j   = row % (l->ny - 1);
  k   = row / (l->ny - 1);
  for (PetscInt a = 0; a < nodes->nen; a++) corner[a] = ((k + (a >> 2)) * l->ny + j + ((a >> 1) & 1)) * l->nx + i + (a & 1);
  return corner;
}

/* Elements that share a matrix */
typedef struct {
  const PetscScalar *K;
  PetscInt           n;
  PetscScalar        scale[LANES];
  PetscCount         e[LANES];
  const PetscInt    *node[LANES];
  PetscInt           corner[LANES][8];
} ElementBatch;

/* The matrix of element e without its scale, NULL for none */
INLINE const PetscScalar *ElementGetMatrix(const ElementMatrices *m, PetscCount e)
{
  const PetscCount size = (PetscCount)m->ndof * m->ndof;
  const PetscInt   ref  = m->ref ? m->ref[e] : 0;

  if (ref == ELEMENT_NONE) return NULL;
  return ref == ELEMENT_FULL ? m->full + m->fullindex[e] * size : m->K + ref * size;
}

/* Fills the batch from element e on; returns the first element that is not in it */
INLINE PetscCount ElementBatchFill(const ElementMatrices *m, const ElementNodes *nodes, PetscBool onlyfull, PetscCount e, ElementBatch *b)
{
  for (b->n = 0, b->K = NULL; e < m->nel && b->n < LANES; e++) {
    const PetscScalar *K    = ElementGetMatrix(m, e);
    const PetscBool    full = m->ref && m->ref[e] == ELEMENT_FULL ? PETSC_TRUE : PETSC_FALSE;

    if (!K || (onlyfull && !full)) continue;
    if (b->K && b->K != K) break;
    b->K           = K;
    b->e[b->n]     = e;
    b->scale[b->n] = full || !m->scale ? 1 : m->scale[e];
    b->node[b->n]  = ElementGetNodes(nodes, e, b->corner[b->n]);
    b->n++;
  }
  return e;
}

/* U[r][lane] = entry first + r of the elements' part of x */
INLINE void ElementBatchGather(const ElementBatch *b, PetscInt bs, PetscInt first, PetscInt count, const unsigned char *mask, const PetscScalar *x, PetscScalar U[][LANES])
{
  for (PetscInt lane = 0; lane < LANES; lane++) {
    PetscInt a = first / bs, c = first % bs;

    if (lane >= b->n) {
      for (PetscInt r = 0; r < count; r++) U[r][lane] = 0;
      continue;
    }
    for (PetscInt r = 0; r < count; r++) {
      const PetscInt dof = b->node[lane][a] * bs + c;

      U[r][lane] = !mask || mask[dof] ? x[dof] : 0;
      if (++c == bs) c = 0, a++;
    }
  }
}

INLINE void ElementBatchScatter(const ElementBatch *b, PetscInt bs, PetscInt first, PetscInt count, const unsigned char *mask, PetscScalar F[][LANES], PetscScalar *y)
{
  for (PetscInt lane = 0; lane < b->n; lane++) {
    PetscInt a = first / bs, c = first % bs;

    for (PetscInt r = 0; r < count; r++) {
      const PetscInt dof = b->node[lane][a] * bs + c;

      if (!mask || mask[dof]) y[dof] += b->scale[lane] * F[r][lane];
      if (++c == bs) c = 0, a++;
    }
  }
}

/* F[r] += sum_s K[r*rstride + s*cstride] U[s] in every lane, for a block of nr x nc constants */
INLINE void ElementBatchBlock(PetscInt nr, PetscInt nc, const PetscScalar *K, PetscCount rstride, PetscCount cstride, PetscScalar U[][LANES], PetscScalar F[][LANES])
{
  for (PetscInt v = 0; v < LANES; v++)
    UNROLL
  for (PetscInt r = 0; r < nr; r++) {
    PetscScalar f = F[r][v];

    UNROLL
    for (PetscInt s = 0; s < nc; s++) f += K[r * rstride + s * cstride] * U[s][v];
    F[r][v] = f;
  }
}

INLINE void ElementBatchProduct(PetscInt nrow, PetscInt ncol, const PetscScalar *K, PetscCount rstride, PetscCount cstride, PetscScalar U[][LANES], PetscScalar F[][LANES])
{
  const PetscInt rows = nrow / 4 * 4, cols = ncol / 8 * 8;

  for (PetscInt r = 0; r < rows; r += 4) {
    for (PetscInt s = 0; s < cols; s += 8) ElementBatchBlock(4, 8, K + r * rstride + s * cstride, rstride, cstride, U + s, F + r);
    for (PetscInt s = cols; s < ncol; s++) ElementBatchBlock(4, 1, K + r * rstride + s * cstride, rstride, cstride, U + s, F + r);
  }
  for (PetscInt r = rows; r < nrow; r++)
    for (PetscInt s = 0; s < ncol; s++) ElementBatchBlock(1, 1, K + r * rstride + s * cstride, rstride, cstride, U + s, F + r);
}

INLINE void ElementBatchZero(PetscInt count, PetscScalar F[][LANES])
{
  for (PetscInt r = 0; r < count; r++)
    for (PetscInt v = 0; v < LANES; v++) F[r][v] = 0;
}

/* ndof and bs are constants in the cases that matter most */
INLINE void ElementApplySized(PetscInt ndof, PetscInt bs, const ElementMatrices *m, const ElementNodes *nodes, PetscBool transpose, PetscBool onlyfull, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  const PetscCount rstride = transpose ? 1 : ndof, cstride = transpose ? ndof : 1;
  PetscScalar      U[CHUNK][LANES], F[CHUNK][LANES];
  ElementBatch     b;

  for (PetscCount e = 0; e < m->nel;) {
    e = ElementBatchFill(m, nodes, onlyfull, e, &b);
    if (!b.n) break;
    for (PetscInt r = 0; r < ndof; r += CHUNK) {
      const PetscInt nrow = PetscMin(CHUNK, ndof - r);

      ElementBatchZero(nrow, F);
      for (PetscInt s = 0; s < ndof; s += CHUNK) {
        const PetscInt ncol = PetscMin(CHUNK, ndof - s);

        if (r == 0 || ndof > CHUNK) ElementBatchGather(&b, bs, s, ncol, mask, x, U);
        ElementBatchProduct(nrow, ncol, b.K + r * rstride + s * cstride, rstride, cstride, U, F);
      }
      ElementBatchScatter(&b, bs, r, nrow, mask, F, y);
    }
  }
}

TREFOIL_SIMD static void ElementApply(const ElementMatrices *m, const ElementNodes *nodes, PetscBool transpose, PetscBool onlyfull, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  const PetscInt ndof = m->ndof, bs = nodes->bs;

  if (transpose)
    ElementApplySized(ndof, bs, m, nodes, PETSC_TRUE, onlyfull, mask, x, y);
  else if (ndof == 24 && bs == 3)
    ElementApplySized(24, 3, m, nodes, PETSC_FALSE, onlyfull, mask, x, y);
  else if (ndof == 8 && bs == 2)
    ElementApplySized(8, 2, m, nodes, PETSC_FALSE, onlyfull, mask, x, y);
  else if (ndof == 8 && bs == 1)
    ElementApplySized(8, 1, m, nodes, PETSC_FALSE, onlyfull, mask, x, y);
  else
    ElementApplySized(ndof, bs, m, nodes, PETSC_FALSE, onlyfull, mask, x, y);
}

TREFOIL_SIMD static void ElementEnergy(const ElementMatrices *m, const ElementNodes *nodes, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy)
{
  const PetscInt ndof = m->ndof, bs = nodes->bs;
  PetscScalar    U[CHUNK][LANES], F[CHUNK][LANES], sum[LANES];
  ElementBatch   b;

  for (PetscCount e = 0; e < m->nel; e++) energy[e] = 0;
  for (PetscCount e = 0; e < m->nel;) {
    e = ElementBatchFill(m, nodes, PETSC_FALSE, e, &b);
    for (PetscInt w = 0; w < LANES; w++) sum[w] = 0;
    for (PetscInt r = 0; r < ndof; r += CHUNK) {
      const PetscInt nrow = PetscMin(CHUNK, ndof - r);

      ElementBatchZero(nrow, F);
      for (PetscInt s = 0; s < ndof; s += CHUNK) {
        const PetscInt ncol = PetscMin(CHUNK, ndof - s);

        ElementBatchGather(&b, bs, s, ncol, NULL, v, U);
        if (b.n) ElementBatchProduct(nrow, ncol, b.K + (PetscCount)r * ndof + s, ndof, 1, U, F);
      }
      ElementBatchGather(&b, bs, r, nrow, NULL, u, U);
      for (PetscInt s = 0; s < nrow; s++)
        for (PetscInt w = 0; w < LANES; w++) sum[w] += U[s][w] * F[s][w];
    }
    for (PetscInt w = 0; w < b.n; w++) energy[b.e[w]] = sum[w];
  }
}

static void ElementBlockDiagonal(const ElementMatrices *m, const ElementNodes *nodes, PetscScalar *d)
{
  const PetscInt bs = nodes->bs;
  PetscInt       corner[8];

  for (PetscCount e = 0; e < m->nel; e++) {
    const PetscScalar *K     = ElementGetMatrix(m, e);
    const PetscInt    *node  = ElementGetNodes(nodes, e, corner);
    const PetscScalar  scale = !m->scale || (m->ref && m->ref[e] == ELEMENT_FULL) ? 1 : m->scale[e];

    if (!K) continue;
    for (PetscInt a = 0; a < nodes->nen; a++)
      for (PetscInt b = 0; b < nodes->nen; b++) {
        PetscScalar *block = d + (PetscCount)node[a] * bs * bs;

        if (node[b] != node[a]) continue; /* collapsed elements name a node twice */
        for (PetscInt c = 0; c < bs; c++)
          for (PetscInt r = 0; r < bs; r++) block[c * bs + r] += scale * K[(PetscCount)(a * bs + r) * m->ndof + b * bs + c];
      }
  }
}

void ElementApplyMesh_Host(const ElementMatrices *m, const ElementMesh *mesh, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  const ElementNodes nodes = ElementNodesMesh(mesh);
  ElementApply(m, &nodes, PETSC_FALSE, PETSC_FALSE, mask, x, y);
}

void ElementApplyTransposeMesh_Host(const ElementMatrices *m, const ElementMesh *mesh, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  const ElementNodes nodes = ElementNodesMesh(mesh);
  ElementApply(m, &nodes, PETSC_TRUE, PETSC_FALSE, mask, x, y);
}

void ElementApplyLatticeDense_Host(const ElementMatrices *m, const ElementLattice *lattice, PetscBool transpose, PetscBool onlyfull, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  const ElementNodes nodes = ElementNodesLattice(lattice);
  ElementApply(m, &nodes, transpose, onlyfull, mask, x, y);
}

void ElementBlockDiagonalMesh_Host(const ElementMatrices *m, const ElementMesh *mesh, PetscScalar *d)
{
  const ElementNodes nodes = ElementNodesMesh(mesh);
  ElementBlockDiagonal(m, &nodes, d);
}

void ElementBlockDiagonalLattice_Host(const ElementMatrices *m, const ElementLattice *lattice, PetscScalar *d)
{
  const ElementNodes nodes = ElementNodesLattice(lattice);
  ElementBlockDiagonal(m, &nodes, d);
}

void ElementEnergyMesh_Host(const ElementMatrices *m, const ElementMesh *mesh, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy)
{
  const ElementNodes nodes = ElementNodesMesh(mesh);
  ElementEnergy(m, &nodes, u, v, energy);
}

void ElementEnergyLattice_Host(const ElementMatrices *m, const ElementLattice *lattice, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy)
{
  const ElementNodes nodes = ElementNodesLattice(lattice);
  ElementEnergy(m, &nodes, u, v, energy);
}

/* Counting sort of the connectivity by node */
PetscErrorCode ElementAdjacencyCreate(const ElementMesh *mesh, PetscInt nel, PetscInt nnode, PetscCount **start, PetscInt **element, unsigned short **corner)
{
  const PetscCount n = (PetscCount)nel * mesh->nen;
  PetscCount      *next;

  PetscFunctionBegin;
  PetscCheck(mesh->nen <= 65535, PETSC_COMM_SELF, PETSC_ERR_SUP, "An element has %" PetscInt_FMT " nodes, at most 65535 are supported", mesh->nen);
  PetscCall(PetscCalloc1(nnode + 1, start));
  PetscCall(PetscMalloc1(n, element));
  PetscCall(PetscMalloc1(n, corner));
  PetscCall(PetscMalloc1(nnode + 1, &next));
  for (PetscCount t = 0; t < n; t++) (*start)[mesh->conn[t] + 1]++;
  for (PetscInt i = 0; i < nnode; i++) (*start)[i + 1] += (*start)[i];
  for (PetscInt i = 0; i < nnode; i++) next[i] = (*start)[i];
  for (PetscInt e = 0; e < nel; e++)
    for (PetscInt a = 0; a < mesh->nen; a++) {
      const PetscCount t = next[mesh->conn[(PetscCount)e * mesh->nen + a]]++;

      (*element)[t] = e;
      (*corner)[t]  = (unsigned short)a;
    }
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}
