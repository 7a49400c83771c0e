/*
  A mesh of hexahedra cut into tiles, for kernels that keep the nodes of a tile in fast memory.

  A tile owns nodes that are close to each other; with it go all elements around them and the nodes of those. Elements on the
  border of tiles are listed in each tile that needs them, so that every node is computed by one tile, without addition
  across tiles. In a tile nodes have local numbers, owned ones first, elements store 8 of them in 16 bits each, with the place
  where the element's contribution to an owned node waits until that node is summed: its rank among the elements around it.

  Cost of the copies for a large lattice: 1.5 elements for each node, 24 bytes for each of them, 2.1 nodes of 4 bytes.
*/
#pragma once

#include "element.h"

#define TILE_OWNED    343  /* nodes a tile owns at most: 7^3, around which there are 8^3 elements of 9^3 nodes */
#define TILE_NODES    1023 /* nodes it may touch */
#define TILE_ELEMENTS 1024
#define TILE_INDEX    10 /* bits of a local number; the others are the rank */
#define TILE_RANKS    63 /* elements around a node at most */

typedef struct {
  PetscInt        ntile;
  PetscInt       *nodestart;    /* [ntile + 1] */
  PetscInt       *owned;        /* [ntile] how many of a tile's nodes are its own */
  PetscInt       *node;         /* node of the mesh, owned ones first */
  PetscInt       *elementstart; /* [ntile + 1] */
  PetscInt       *element;      /* element of the mesh, ascending in a tile */
  unsigned short *corner;       /* [elements of all tiles][8] local number and, shifted by TILE_INDEX, rank */
  unsigned char  *valence;      /* of each owned node, as node is */
  PetscInt        ranks;        /* the largest valence */
} ElementTiles;

/* corner[a]: which node of an element comes a-th. *ok false, and nothing allocated, where a node has too many elements. */
PETSC_EXTERN PetscErrorCode ElementTilesCreate(const ElementMesh *, PetscInt nel, PetscInt nnode, const PetscInt corner[8], ElementTiles *, PetscBool *ok);
PETSC_EXTERN PetscErrorCode ElementTilesDestroy(ElementTiles *);
