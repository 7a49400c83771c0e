/*
  Q1 interpolation and restriction on the host, line by line: see transfer.h
*/
#include "transfer.h"
#include "../../../../sys/trefoilsimd.h"

#define INLINE static inline __attribute__((always_inline))

/* line += weight * row, without held dofs */
INLINE void AddRow(PetscInt n, PetscReal weight, const unsigned char *mask, const PetscScalar *row, PetscScalar *line)
{
  if (mask)
    for (PetscInt q = 0; q < n; q++) line[q] += mask[q] ? weight * row[q] : 0;
  else
    for (PetscInt q = 0; q < n; q++) line[q] += weight * row[q];
}

INLINE void PutRow(PetscInt n, PetscBool add, const PetscScalar *value, PetscScalar *y)
{
  for (PetscInt c = 0; c < n; c++) y[c] = (add ? y[c] : 0) + value[c];
}

/* One row of owned coarse nodes from a line of fine ones */
INLINE void RestrictLine(const FEMMGGrids *g, PetscInt bs, PetscBool add, const PetscScalar *line, PetscScalar *y)
{
  for (PetscInt p = 0; p < g->coarse.ownn[0]; p++) {
    PetscInt       node[3];
    PetscReal      weight[3];
    PetscScalar    sum[16];
    const PetscInt count = FEMMGGather(g, 0, g->coarse.ownlow[0] + p, node, weight);

    for (PetscInt first = 0; first < bs; first += 16) {
      const PetscInt nc = PetscMin(16, bs - first);

      for (PetscInt c = 0; c < nc; c++) sum[c] = 0;
      for (PetscInt t = 0; t < count; t++)
        for (PetscInt c = 0; c < nc; c++) sum[c] += weight[t] * line[node[t] * bs + first + c];
      PutRow(nc, add, sum, y + p * bs + first);
    }
  }
}

TREFOIL_SIMD void FEMMGRestrictAdd_Host(const FEMMGGrids *g, const unsigned char *mask, PetscBool add, const PetscScalar *fine, PetscScalar *line, PetscScalar *y)
{
  const PetscInt bs = g->bs, n = g->fine.n[0] * bs;

  for (PetscInt K = 0; K < g->coarse.ownn[2]; K++) {
    PetscInt       k[3];
    PetscReal      wk[3];
    const PetscInt nk = FEMMGGather(g, 2, g->coarse.ownlow[2] + K, k, wk);

    for (PetscInt J = 0; J < g->coarse.ownn[1]; J++, y += g->coarse.ownn[0] * bs) {
      PetscInt       j[3];
      PetscReal      wj[3];
      const PetscInt nj = FEMMGGather(g, 1, g->coarse.ownlow[1] + J, j, wj);

      for (PetscInt q = 0; q < n; q++) line[q] = 0;
      for (PetscInt s = 0; s < nk; s++)
        for (PetscInt t = 0; t < nj; t++) {
          const PetscCount row = ((PetscCount)k[s] * g->fine.n[1] + j[t]) * n;

          AddRow(n, wk[s] * wj[t], mask ? mask + row : NULL, fine + row, line);
        }
      if (bs == 3)
        RestrictLine(g, 3, add, line, y);
      else
        RestrictLine(g, bs, add, line, y);
    }
  }
}

/* One row of owned fine nodes from a line of coarse ones */
INLINE void InterpolateLine(const FEMMGGrids *g, PetscInt bs, const unsigned char *mask, PetscBool add, const PetscScalar *line, PetscScalar *y)
{
  for (PetscInt i = 0; i < g->fine.ownn[0]; i++) {
    PetscInt        node[2], count;
    const PetscReal weight = FEMMGInterpolate(g, 0, g->fine.ownlow[0] + i, node, &count);

    for (PetscInt c = 0; c < bs; c++) {
      PetscScalar v = line[node[0] * bs + c];

      if (count == 2) v += line[node[1] * bs + c];
      v             = mask && !mask[i * bs + c] ? 0 : weight * v;
      y[i * bs + c] = (add ? y[i * bs + c] : 0) + v;
    }
  }
}

TREFOIL_SIMD void FEMMGInterpolateAdd_Host(const FEMMGGrids *g, const unsigned char *mask, PetscBool add, const PetscScalar *coarse, PetscScalar *line, PetscScalar *y)
{
  const PetscInt bs = g->bs, n = g->coarse.n[0] * bs;

  for (PetscInt k = 0; k < g->fine.ownn[2]; k++) {
    PetscInt        K[2], nk;
    const PetscReal wk = FEMMGInterpolate(g, 2, g->fine.ownlow[2] + k, K, &nk);

    for (PetscInt j = 0; j < g->fine.ownn[1]; j++, y += g->fine.ownn[0] * bs) {
      PetscInt             J[2], nj;
      const PetscReal      wj = FEMMGInterpolate(g, 1, g->fine.ownlow[1] + j, J, &nj);
      const PetscInt       lj = g->fine.ownlow[1] + j - g->fine.low[1], lk = g->fine.ownlow[2] + k - g->fine.low[2];
      const unsigned char *held = mask ? mask + (((PetscCount)lk * g->fine.n[1] + lj) * g->fine.n[0] + g->fine.ownlow[0] - g->fine.low[0]) * bs : NULL;

      for (PetscInt q = 0; q < n; q++) line[q] = 0;
      for (PetscInt s = 0; s < nk; s++)
        for (PetscInt t = 0; t < nj; t++) AddRow(n, wk * wj, NULL, coarse + ((PetscCount)K[s] * g->coarse.n[1] + J[t]) * n, line);
      if (bs == 3)
        InterpolateLine(g, 3, held, add, line, y);
      else
        InterpolateLine(g, bs, held, add, line, y);
    }
  }
}
