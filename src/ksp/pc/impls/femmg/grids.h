/*
  Two lattices of nodes, one the coarsening of the other, as one process sees them; plain C.

  In each direction a coarse cell covers two fine ones (factor 2) or one (factor 1). Fine node i lies at coarse node i/2,
  or between (i-1)/2 and (i+1)/2; there interpolation takes the mean. An odd number of fine cells is thought to have one
  void cell more: the last coarse node then lies one cell beyond the last fine node. Linear functions are reproduced.

  Boxes are those of DMDA: `n` nodes from global node `low` on in local vectors, of which `ownn` from `ownlow` on belong to
  this process. The local box of the fine lattice holds all that owned coarse nodes gather from, that of the coarse one
  all that owned fine nodes are interpolated from. In 2D n[2] = 1.
*/
#pragma once

#include <petscsys.h>

#define FEMMG_MAX_CHILDREN 8

typedef struct {
  PetscInt low[3], n[3], ownlow[3], ownn[3];
} FEMMGBox;

typedef struct {
  PetscInt dim, bs;   /* dofs of a node */
  PetscInt factor[3]; /* 1 or 2 */
  FEMMGBox fine, coarse;
} FEMMGGrids;

/* Cells of a box in one direction; a 2D box has one layer */
static inline PetscInt FEMMGBoxCells(const FEMMGBox *b, PetscInt dim, PetscInt d)
{
  return d < dim ? b->n[d] - 1 : 1;
}

/* The fine nodes that a node of number `node` gathers from: 1 or 3 of them, with weights */
static inline PetscInt FEMMGGather(const FEMMGGrids *g, PetscInt d, PetscInt node, PetscInt fine[3], PetscReal weight[3])
{
  const PetscInt end   = g->fine.low[d] + g->fine.n[d];
  PetscInt       count = 0;

  for (PetscInt i = g->factor[d] * node - (g->factor[d] - 1); i <= g->factor[d] * node + (g->factor[d] - 1); i++) {
    if (i < g->fine.low[d] || i >= end) continue;
    fine[count]     = i - g->fine.low[d];
    weight[count++] = i == g->factor[d] * node ? 1 : 0.5;
  }
  return count;
}

/* The coarse nodes that fine node i is interpolated from: 1 or 2 of them, each with the returned weight */
static inline PetscReal FEMMGInterpolate(const FEMMGGrids *g, PetscInt d, PetscInt i, PetscInt coarse[2], PetscInt *count)
{
  const PetscInt f = g->factor[d];

  coarse[0] = i / f - g->coarse.low[d];
  coarse[1] = coarse[0] + 1;
  *count    = 1 + i % f;
  return i % f ? 0.5 : 1;
}
