/*
  Galerkin coarse element matrices on the host: see coarse.h
*/
#include "coarse.h"
#include "../../../../sys/trefoilsimd.h"

PetscInt FEMMGChildren(const FEMMGGrids *g)
{
  return g->factor[0] * g->factor[1] * g->factor[2];
}

/* The part of child c in each direction: 0 lower, 1 upper half */
static void ChildBits(const FEMMGGrids *g, PetscInt c, PetscInt bit[3])
{
  for (PetscInt d = 0; d < 3; d++) {
    bit[d] = c % g->factor[d];
    c /= g->factor[d];
  }
}

/* Child c of the coarse cell of this local index; -1 if it is not in the fine box */
static PetscInt ChildCell(const FEMMGGrids *g, PetscInt cell, PetscInt c)
{
  PetscInt bit[3], index = 0, stride = 1;

  ChildBits(g, c, bit);
  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt nc = FEMMGBoxCells(&g->coarse, g->dim, d), nf = FEMMGBoxCells(&g->fine, g->dim, d);
    const PetscInt i = g->factor[d] * (cell % nc + g->coarse.low[d]) + bit[d] - g->fine.low[d];

    if (i < 0 || i >= nf) return -1;
    index += i * stride;
    stride *= nf;
    cell /= nc;
  }
  return index;
}

/* Does the coarse box hold the parent of every element of the fine one? */
static PetscBool ParentsInBox(const FEMMGCoarsening *s)
{
  const FEMMGGrids *g = &s->grids;

  for (PetscInt e = 0; e < s->m.nel; e++) {
    PetscInt rest = e;

    if (s->m.ref && s->m.ref[e] == ELEMENT_NONE) continue;
    for (PetscInt d = 0; d < g->dim; d++) {
      const PetscInt nf = FEMMGBoxCells(&g->fine, g->dim, d), i = (rest % nf + g->fine.low[d]) / g->factor[d] - g->coarse.low[d];

      if (i < 0 || i >= FEMMGBoxCells(&g->coarse, g->dim, d)) return PETSC_FALSE;
      rest /= nf;
    }
  }
  return PETSC_TRUE;
}

static void CellNodes(const FEMMGBox *b, PetscInt dim, PetscInt cell, PetscInt node[8], PetscInt place[3])
{
  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt n = FEMMGBoxCells(b, dim, d);

    place[d] = cell % n;
    cell /= n;
  }
  for (PetscInt a = 0; a < 1 << dim; a++) node[a] = ((place[2] + (a >> 2)) * b->n[1] + place[1] + (a >> 1 & 1)) * b->n[0] + place[0] + (a & 1);
}

/* D of corner a, if the cell at this place is the one that has it */
static PetscBool HasCorner(const FEMMGBox *b, PetscInt dim, const PetscInt place[3], PetscInt a)
{
  for (PetscInt d = 0; d < dim; d++)
    if ((a >> d & 1) && place[d] + 1 != b->n[d] - 1) return PETSC_FALSE;
  return PETSC_TRUE;
}

static inline PetscInt CellRef(const FEMMGCoarsening *s, PetscInt cell)
{
  return s->m.ref ? s->m.ref[cell] : 0;
}

static inline PetscScalar CellScale(const FEMMGCoarsening *s, PetscInt cell)
{
  return s->m.scale ? s->m.scale[cell] : 1;
}

typedef enum {
  CELL_NONE,    /* gives nothing */
  CELL_PLAIN,   /* s_e K_e */
  CELL_SPECIAL, /* with held dofs or parts of D */
} CellKind;

static CellKind GetCellKind(const FEMMGCoarsening *s, PetscInt cell)
{
  const PetscInt  bs = s->grids.bs, dim = s->grids.dim;
  const PetscBool none = (PetscBool)(CellRef(s, cell) == ELEMENT_NONE);
  PetscInt        node[8], place[3];

  if (s->mask || s->diag) {
    CellNodes(&s->grids.fine, dim, cell, node, place);
    for (PetscInt a = 0; a < 1 << dim; a++)
      for (PetscInt c = 0; c < bs; c++) {
        const PetscCount dof = (PetscCount)node[a] * bs + c;

        if (!none && s->mask && !s->mask[dof]) return CELL_SPECIAL;
        if (s->diag && s->diag[dof] != (PetscScalar)0. && HasCorner(&s->grids.fine, dim, place, a)) return CELL_SPECIAL;
      }
  }
  return none ? CELL_NONE : CELL_PLAIN;
}

PetscInt FEMMGClassify_Host(const FEMMGCoarsening *s, PetscInt *ref, PetscScalar *scale, PetscInt *fullindex)
{
  const FEMMGGrids *g     = &s->grids;
  const PetscInt    nc    = FEMMGChildren(g);
  const PetscInt    cells = FEMMGBoxCells(&g->coarse, g->dim, 0) * FEMMGBoxCells(&g->coarse, g->dim, 1) * FEMMGBoxCells(&g->coarse, g->dim, 2);
  PetscInt          nfull = 0;

  if (!ParentsInBox(s)) return -1;
  for (PetscInt cell = 0; cell < cells; cell++) {
    const PetscInt first = ChildCell(g, cell, 0);
    PetscBool      alike = first >= 0 ? PETSC_TRUE : PETSC_FALSE, none = PETSC_TRUE;

    for (PetscInt c = 0; c < nc; c++) {
      const PetscInt child = ChildCell(g, cell, c);
      const CellKind kind  = child >= 0 ? GetCellKind(s, child) : CELL_NONE;

      if (kind != CELL_NONE) none = PETSC_FALSE;
      alike = (PetscBool)(alike && kind == CELL_PLAIN && CellRef(s, child) >= 0 && CellRef(s, child) == CellRef(s, first) && CellScale(s, child) == CellScale(s, first));
    }
    ref[cell]       = none ? ELEMENT_NONE : alike ? CellRef(s, first)
                                                  : ELEMENT_FULL;
    scale[cell]     = alike && !none ? CellScale(s, first) : 1;
    fullindex[cell] = ref[cell] == ELEMENT_FULL ? nfull++ : 0;
  }
  return nfull;
}

/* K = M (s K_e + D_e) M of a fine cell */
static void ChildMatrix(const FEMMGCoarsening *s, PetscInt cell, PetscScalar *K)
{
  const PetscInt     n = s->m.ndof, bs = s->grids.bs, ref = CellRef(s, cell);
  const PetscCount   size  = (PetscCount)n * n;
  const PetscScalar  scale = ref == ELEMENT_FULL ? 1 : CellScale(s, cell);
  const PetscScalar *from  = ref == ELEMENT_NONE ? NULL : ref == ELEMENT_FULL ? s->m.full + s->m.fullindex[cell] * size
                                                                              : s->m.K + ref * size;
  PetscInt           node[8], place[3];

  for (PetscCount i = 0; i < size; i++) K[i] = from ? scale * from[i] : 0;
  if (!s->mask && !s->diag) return;
  CellNodes(&s->grids.fine, s->grids.dim, cell, node, place);
  for (PetscInt r = 0; r < n; r++) {
    const PetscCount dof = (PetscCount)node[r / bs] * bs + r % bs;

    if (s->diag && HasCorner(&s->grids.fine, s->grids.dim, place, r / bs)) K[r * n + r] += s->diag[dof];
    if (s->mask && !s->mask[dof])
      for (PetscInt q = 0; q < n; q++) K[r * n + q] = K[q * n + r] = 0;
  }
}

/* Replaces the lines l0 and l1 of fine nodes by those of coarse ones: the transpose of T in one direction */
static inline __attribute__((always_inline)) void MergeLines(PetscInt n, PetscInt stride, PetscInt upper, PetscScalar *l0, PetscScalar *l1)
{
  for (PetscInt q = 0; q < n; q++) {
    const PetscScalar a = l0[q * stride], b = l1[q * stride];

    l0[q * stride] = upper ? a / 2 : a + b / 2;
    l1[q * stride] = upper ? a / 2 + b : b / 2;
  }
}

/* K = T_c' K T_c, direction by direction */
static inline __attribute__((always_inline)) void Congruence(const FEMMGGrids *g, PetscInt bs, PetscInt n, PetscInt child, PetscScalar *K)
{
  PetscInt bit[3];

  ChildBits(g, child, bit);
  for (PetscInt d = 0; d < g->dim; d++) {
    if (g->factor[d] == 1) continue;
    for (PetscInt a = 0; a < n / bs; a++) {
      if (a >> d & 1) continue;
      for (PetscInt c = 0; c < bs; c++) {
        const PetscInt r0 = a * bs + c, r1 = (a | 1 << d) * bs + c;

        MergeLines(n, 1, bit[d], K + (PetscCount)r0 * n, K + (PetscCount)r1 * n);
      }
    }
    for (PetscInt r = 0; r < n; r++)
      for (PetscInt a = 0; a < n / bs; a++)
        if (!(a >> d & 1)) MergeLines(bs, 1, bit[d], K + (PetscCount)r * n + a * bs, K + (PetscCount)r * n + (a | 1 << d) * bs);
  }
}

TREFOIL_SIMD static void CongruenceHex3(const FEMMGGrids *g, PetscInt child, PetscScalar *K)
{
  Congruence(g, 3, 24, child, K);
}

TREFOIL_SIMD static void CongruenceAny(const FEMMGGrids *g, PetscInt n, PetscInt child, PetscScalar *K)
{
  Congruence(g, g->bs, n, child, K);
}

static void CongruenceChild(const FEMMGGrids *g, PetscInt n, PetscInt child, PetscScalar *K)
{
  if (g->bs == 3 && n == 24)
    CongruenceHex3(g, child, K);
  else
    CongruenceAny(g, n, child, K);
}

void FEMMGCoarsenReferences_Host(const FEMMGCoarsening *s, PetscScalar *table, PetscScalar *K)
{
  const PetscInt   nc   = FEMMGChildren(&s->grids);
  const PetscCount size = (PetscCount)s->m.ndof * s->m.ndof;

  for (PetscInt r = 0; r < s->m.nref; r++) {
    for (PetscCount i = 0; i < size; i++) K[r * size + i] = 0;
    for (PetscInt c = 0; c < nc; c++) {
      PetscScalar *t = table + ((PetscCount)r * nc + c) * size;

      for (PetscCount i = 0; i < size; i++) t[i] = s->m.K[r * size + i];
      CongruenceChild(&s->grids, s->m.ndof, c, t);
      for (PetscCount i = 0; i < size; i++) K[r * size + i] += t[i];
    }
  }
}

TREFOIL_SIMD static void AddScaled(PetscCount size, PetscScalar s, const PetscScalar *restrict from, PetscScalar *restrict to)
{
  for (PetscCount i = 0; i < size; i++) to[i] += s * from[i];
}

void FEMMGGalerkin_Host(const FEMMGCoarsening *s, const PetscInt *ref, const PetscInt *fullindex, PetscScalar *work, PetscScalar *full)
{
  const FEMMGGrids *g     = &s->grids;
  const PetscInt    nc    = FEMMGChildren(g);
  const PetscInt    cells = FEMMGBoxCells(&g->coarse, g->dim, 0) * FEMMGBoxCells(&g->coarse, g->dim, 1) * FEMMGBoxCells(&g->coarse, g->dim, 2);
  const PetscCount  size  = (PetscCount)s->m.ndof * s->m.ndof;

  for (PetscInt cell = 0; cell < cells; cell++) {
    PetscScalar *K;

    if (ref[cell] != ELEMENT_FULL) continue;
    K = full + fullindex[cell] * size;
    for (PetscCount i = 0; i < size; i++) K[i] = 0;
    for (PetscInt c = 0; c < nc; c++) {
      const PetscInt child = ChildCell(g, cell, c);

      const CellKind kind = child >= 0 ? GetCellKind(s, child) : CELL_NONE;

      if (kind == CELL_PLAIN && CellRef(s, child) >= 0)
        AddScaled(size, CellScale(s, child), s->table + ((PetscCount)CellRef(s, child) * nc + c) * size, K);
      else if (kind != CELL_NONE) {
        ChildMatrix(s, child, work);
        CongruenceChild(g, s->m.ndof, c, work);
        AddScaled(size, 1, work, K);
      }
    }
  }
}
