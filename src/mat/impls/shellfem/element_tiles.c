/*
  Cuts a mesh into tiles: nodes breadth first, then tiles breadth first from the first node that none owns. On a lattice
  numbered row by row the tiles are cubes of 7 nodes.
*/
#include "element_tiles.h"

/* Everything that cutting a mesh needs to know of it, and of what has been done */
typedef struct {
  const ElementMesh *mesh;
  PetscCount        *start; /* elements around nodes */
  PetscInt          *around;
  PetscInt          *order; /* nodes, breadth first: neighbours are close to each other */
  PetscInt          *tile;  /* of a node, -1: not yet */
  PetscInt          *seen, *seenelement, *probed, stamp, probe;
  PetscInt          *queue;
} Cutter;

/* Nodes breadth first, from node 0 and then from the first that was not reached */
static void OrderNodes(Cutter *c, PetscInt nnode)
{
  PetscInt n = 0;

  for (PetscInt seed = 0; seed < nnode; seed++) {
    if (c->seen[seed]) continue;
    c->seen[seed] = 1;
    c->order[n++] = seed;
    for (PetscInt k = n - 1; k < n; k++)
      for (PetscCount t = c->start[c->order[k]]; t < c->start[c->order[k] + 1]; t++)
        for (PetscInt a = 0; a < 8; a++) {
          const PetscInt node = c->mesh->conn[(PetscCount)c->around[t] * 8 + a];

          if (c->seen[node]) continue;
          c->seen[node] = 1;
          c->order[n++] = node;
        }
  }
}

/* Takes the elements around a node and their nodes into this tile, if there is room for them */
static PetscBool Touch(Cutter *c, PetscInt node, PetscInt *nodes, PetscInt *elements)
{
  PetscInt newnodes = 0, newelements = 0;

  c->probe++;
  for (PetscCount t = c->start[node]; t < c->start[node + 1]; t++) {
    if (c->seenelement[c->around[t]] == c->stamp) continue;
    newelements++;
    for (PetscInt a = 0; a < 8; a++) {
      const PetscInt other = c->mesh->conn[(PetscCount)c->around[t] * 8 + a];

      if (c->seen[other] == c->stamp || c->probed[other] == c->probe) continue;
      c->probed[other] = c->probe;
      newnodes++;
    }
  }
  if (*nodes + newnodes > TILE_NODES || *elements + newelements > TILE_ELEMENTS) return PETSC_FALSE;
  *nodes += newnodes;
  *elements += newelements;
  for (PetscCount t = c->start[node]; t < c->start[node + 1]; t++) {
    c->seenelement[c->around[t]] = c->stamp;
    for (PetscInt a = 0; a < 8; a++) c->seen[c->mesh->conn[(PetscCount)c->around[t] * 8 + a]] = c->stamp;
  }
  return PETSC_TRUE;
}

/* Nodes of one tile, to the queue: breadth first from the seed among those that no tile owns */
static PetscInt GrowTile(Cutter *c, PetscInt seed, PetscInt number)
{
  PetscInt owned = 0, queued = 0, nodes = 1, elements = 0;

  c->stamp++;
  c->seen[seed]      = c->stamp;
  c->tile[seed]      = number;
  c->queue[queued++] = seed;
  while (owned < queued && Touch(c, c->queue[owned], &nodes, &elements)) {
    const PetscInt node = c->queue[owned++];

    for (PetscCount t = c->start[node]; t < c->start[node + 1]; t++)
      for (PetscInt a = 0; a < 8; a++) {
        const PetscInt other = c->mesh->conn[(PetscCount)c->around[t] * 8 + a];

        if (c->tile[other] >= 0 || queued >= TILE_OWNED) continue;
        c->tile[other]     = number;
        c->queue[queued++] = other;
      }
  }
  for (PetscInt k = owned; k < queued; k++) c->tile[c->queue[k]] = -1;
  return owned;
}

/* Cuts all nodes; owned and order then hold them tile by tile, ascending in each */
static PetscErrorCode CutNodes(Cutter *c, PetscInt nnode, ElementTiles *t)
{
  PetscInt *nodes, total = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nnode, &nodes));
  PetscCall(PetscMalloc1(nnode, &t->owned)); /* at most one tile for each node */
  for (PetscInt k = 0; k < nnode; k++) {
    if (c->tile[c->order[k]] >= 0) continue;
    const PetscInt owned = GrowTile(c, c->order[k], t->ntile);

    PetscCall(PetscSortInt(owned, c->queue));
    PetscCall(PetscArraycpy(nodes + total, c->queue, owned));
    total += owned;
    t->owned[t->ntile++] = owned;
  }
  PetscCall(PetscFree(c->order));
  c->order = nodes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elements of a tile, and its nodes with those that it does not own behind; returns how many of each */
static PetscErrorCode ListTile(Cutter *c, const PetscInt *nodes, PetscInt owned, PetscInt *node, PetscInt *nnodes, PetscInt *element, PetscInt *nelements)
{
  PetscFunctionBegin;
  c->stamp++;
  *nelements = 0;
  *nnodes    = owned;
  for (PetscInt k = 0; k < owned; k++) {
    c->seen[nodes[k]] = c->stamp;
    node[k]           = nodes[k];
  }
  for (PetscInt k = 0; k < owned; k++)
    for (PetscCount t = c->start[nodes[k]]; t < c->start[nodes[k] + 1]; t++) {
      const PetscInt e = c->around[t];

      if (c->seenelement[e] == c->stamp) continue;
      c->seenelement[e]       = c->stamp;
      element[(*nelements)++] = e;
      for (PetscInt a = 0; a < 8; a++) {
        const PetscInt other = c->mesh->conn[(PetscCount)e * 8 + a];

        if (c->seen[other] == c->stamp) continue;
        c->seen[other]    = c->stamp;
        node[(*nnodes)++] = other;
      }
    }
  PetscCall(PetscSortInt(*nelements, element));
  PetscCall(PetscSortInt(*nnodes - owned, node + owned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local numbers and ranks of one tile; number: room for the local number of each node of the mesh */
static void NumberTile(Cutter *c, const PetscInt corner[8], PetscInt owned, PetscInt nnodes, const PetscInt *node, PetscInt nelements, const PetscInt *element, PetscInt *number, unsigned short *corners, unsigned char *valence)
{
  for (PetscInt k = 0; k < nnodes; k++) {
    number[node[k]] = k;
    valence[k]      = 0;
  }
  for (PetscInt e = 0; e < nelements; e++)
    for (PetscInt a = 0; a < 8; a++) {
      const PetscInt k = number[c->mesh->conn[(PetscCount)element[e] * 8 + corner[a]]], rank = k < owned ? valence[k]++ : 0;

      corners[(PetscCount)e * 8 + a] = (unsigned short)(k | rank << TILE_INDEX);
    }
}

/* Lists of all tiles: first how long they are, then what they are */
static PetscErrorCode FillTiles(Cutter *c, const PetscInt corner[8], PetscInt nnode, ElementTiles *t)
{
  PetscInt        node[TILE_NODES], element[TILE_ELEMENTS], n, m, *number;
  const PetscInt *nodes = c->order;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(t->ntile + 1, &t->nodestart));
  PetscCall(PetscMalloc1(t->ntile + 1, &t->elementstart));
  PetscCall(PetscMalloc1(nnode, &number));
  t->nodestart[0] = t->elementstart[0] = 0;
  for (PetscInt k = 0; k < t->ntile; nodes += t->owned[k++]) {
    PetscCall(ListTile(c, nodes, t->owned[k], node, &n, element, &m));
    t->nodestart[k + 1]    = t->nodestart[k] + n;
    t->elementstart[k + 1] = t->elementstart[k] + m;
  }
  PetscCall(PetscMalloc1(t->nodestart[t->ntile], &t->node));
  PetscCall(PetscMalloc1(t->nodestart[t->ntile], &t->valence));
  PetscCall(PetscMalloc1(t->elementstart[t->ntile], &t->element));
  PetscCall(PetscMalloc1((PetscCount)t->elementstart[t->ntile] * 8, &t->corner));
  nodes = c->order;
  for (PetscInt k = 0; k < t->ntile; nodes += t->owned[k++]) {
    const PetscInt first = t->nodestart[k], firstelement = t->elementstart[k];

    PetscCall(ListTile(c, nodes, t->owned[k], t->node + first, &n, t->element + firstelement, &m));
    NumberTile(c, corner, t->owned[k], n, t->node + first, m, t->element + firstelement, number, t->corner + (PetscCount)firstelement * 8, t->valence + first);
  }
  PetscCall(PetscFree(number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementTilesCreate(const ElementMesh *mesh, PetscInt nel, PetscInt nnode, const PetscInt corner[8], ElementTiles *t, PetscBool *ok)
{
  Cutter          c = {.mesh = mesh, .stamp = 1}; /* 1 was used by the order */
  unsigned short *which;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  *ok = PETSC_FALSE;
  if (mesh->nen != 8 || !nel) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ElementAdjacencyCreate(mesh, nel, nnode, &c.start, &c.around, &which));
  PetscCall(PetscFree(which));
  for (PetscInt k = 0; k < nnode; k++) t->ranks = PetscMax(t->ranks, (PetscInt)(c.start[k + 1] - c.start[k]));
  if (t->ranks <= TILE_RANKS) {
    PetscCall(PetscCalloc4(nnode, &c.seen, nel, &c.seenelement, nnode, &c.probed, nnode, &c.tile));
    PetscCall(PetscMalloc1(nnode, &c.order));
    PetscCall(PetscMalloc1(TILE_OWNED, &c.queue));
    OrderNodes(&c, nnode);
    for (PetscInt k = 0; k < nnode; k++) c.tile[k] = -1;
    PetscCall(CutNodes(&c, nnode, t));
    PetscCall(FillTiles(&c, corner, nnode, t));
    PetscCall(PetscFree(c.queue));
    PetscCall(PetscFree(c.order));
    PetscCall(PetscFree4(c.seen, c.seenelement, c.probed, c.tile));
    *ok = PETSC_TRUE;
  }
  PetscCall(PetscFree(c.start));
  PetscCall(PetscFree(c.around));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementTilesDestroy(ElementTiles *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(t->nodestart));
  PetscCall(PetscFree(t->owned));
  PetscCall(PetscFree(t->node));
  PetscCall(PetscFree(t->elementstart));
  PetscCall(PetscFree(t->element));
  PetscCall(PetscFree(t->corner));
  PetscCall(PetscFree(t->valence));
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
