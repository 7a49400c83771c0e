/*
  What MatSetValues() and its variants bring: square blocks that are added become elements, everything else goes to the
  side matrix (ADD_VALUES) or waits for assembly (INSERT_VALUES).

  The usual element is a multiple of the matrix that the one before was a multiple of, and has its nodes in the order of
  the lattice: it costs one comparison of its values, in a loop without branches, and no copy.
*/
#include "shellfemimpl.h"
#include "../../../sys/trefoilsimd.h"

PetscErrorCode ShellFEMGroupReserve(ShellFEMGroup g, PetscInt nel)
{
  PetscInt allocated = PetscMax(nel, g->allocated + g->allocated / 2);

  PetscFunctionBegin;
  if (nel <= g->allocated) PetscFunctionReturn(PETSC_SUCCESS);
  allocated = PetscMax(allocated, 64);
  if (!g->iscells) PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)allocated * g->nen, &g->conn));
  PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)allocated, &g->ref));
  PetscCall(PetscRealloc(sizeof(PetscScalar) * (size_t)allocated, &g->scale));
  if (g->fullindex) PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)allocated, &g->fullindex));
  g->allocated = allocated;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellFEMGroupCreate(PetscInt nen, PetscInt bs, ShellFEMGroup *group)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(group));
  (*group)->nen  = nen;
  (*group)->bs   = bs;
  (*group)->ndof = nen * bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ShellFEMGroupDestroy(ShellFEMGroup *group)
{
  ShellFEMGroup g = *group;

  PetscFunctionBegin;
  if (!g) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ElementPlanDestroy(&g->plan));
  PetscCall(PetscFree(g->conn));
  PetscCall(PetscFree(g->ref));
  PetscCall(PetscFree(g->fullindex));
  PetscCall(PetscFree(g->scale));
  PetscCall(PetscFree(g->pivot));
  PetscCall(PetscFree(g->K));
  PetscCall(PetscFree(g->full));
  PetscCall(PetscFree(g->work));
  PetscCall(PetscFree(*group));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ShellFEMGroupDuplicate(ShellFEMGroup g, PetscBool values, ShellFEMGroup *copy)
{
  const size_t  size = (size_t)g->ndof * g->ndof;
  ShellFEMGroup c;

  PetscFunctionBegin;
  PetscCall(ShellFEMGroupCreate(g->nen, g->bs, &c));
  c->iscells  = g->iscells;
  c->numbered = g->numbered;
  c->lastref  = g->lastref;
  c->native   = g->native;
  if (g->work) PetscCall(PetscMalloc1(size, &c->work));
  PetscCall(ShellFEMGroupReserve(c, g->nel));
  c->nel = g->nel;
  if (g->conn) PetscCall(PetscArraycpy(c->conn, g->conn, (size_t)g->nel * g->nen));
  PetscCall(ShellFEMGroupSetReferences(c, g->nref, g->K));
  if (values) {
    c->cursor = g->cursor;
    PetscCall(PetscArraycpy(c->ref, g->ref, g->nel));
    PetscCall(PetscArraycpy(c->scale, g->scale, g->nel));
    if (g->nfull) {
      PetscCall(PetscMalloc1(c->allocated, &c->fullindex));
      PetscCall(PetscArraycpy(c->fullindex, g->fullindex, g->nel));
      PetscCall(PetscMalloc1((size_t)g->nfull * size, &c->full));
      PetscCall(PetscArraycpy(c->full, g->full, (size_t)g->nfull * size));
      c->nfull = c->allocatedfull = g->nfull;
    }
  } else {
    for (PetscInt e = 0; e < c->nel; e++) {
      c->ref[e]   = g->native && g->ref[e] >= 0 ? g->ref[e] : ELEMENT_NONE;
      c->scale[e] = 0;
    }
  }
  *copy = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds n reference matrices to the group */
PetscErrorCode ShellFEMGroupSetReferences(ShellFEMGroup g, PetscInt n, const PetscScalar K[])
{
  const PetscInt size = g->ndof * g->ndof;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if (g->nref + n > g->allocatedref) {
    g->allocatedref = g->nref + PetscMax(n, 4);
    PetscCall(PetscRealloc(sizeof(PetscScalar) * (size_t)g->allocatedref * size, &g->K));
    PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)g->allocatedref, &g->pivot));
  }
  PetscCall(PetscArraycpy(g->K + (size_t)g->nref * size, K, (size_t)n * size));
  for (PetscInt r = g->nref; r < g->nref + n; r++) {
    const PetscScalar *k = g->K + (size_t)r * size;

    g->pivot[r] = 0;
    for (PetscInt s = 1; s < size; s++)
      if (PetscAbsScalar(k[s]) > PetscAbsScalar(k[g->pivot[r]])) g->pivot[r] = s;
  }
  g->nref += n;
  PetscCall(ElementPlanDestroy(&g->plan));
  g->planned = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Element e gets a matrix of its own */
PetscErrorCode ShellFEMGroupSetFull(ShellFEMGroup g, PetscInt e, const PetscScalar K[])
{
  const PetscInt size = g->ndof * g->ndof;

  PetscFunctionBegin;
  if (!g->fullindex) PetscCall(PetscMalloc1(g->allocated, &g->fullindex));
  if (g->nfull == g->allocatedfull) {
    g->allocatedfull = PetscMax(16, g->allocatedfull + g->allocatedfull / 2);
    PetscCall(PetscRealloc(sizeof(PetscScalar) * (size_t)g->allocatedfull * size, &g->full));
  }
  PetscCall(PetscArraycpy(g->full + (size_t)g->nfull * size, K, size));
  g->ref[e]       = ELEMENT_FULL;
  g->scale[e]     = 1;
  g->fullindex[e] = g->nfull++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Drops the reference matrices that no element has, such as those of earlier time steps */
static PetscErrorCode ShellFEMGroupSweep(ShellFEMGroup g)
{
  const size_t size = (size_t)g->ndof * g->ndof;
  PetscInt    *now, kept = 0;

  PetscFunctionBegin;
  g->swept = PETSC_TRUE;
  PetscCall(PetscCalloc1(g->nref, &now));
  for (PetscInt e = 0; e < g->nel; e++)
    if (g->ref[e] >= 0) now[g->ref[e]] = 1;
  for (PetscInt r = 0; r < g->nref; r++) {
    if (!now[r]) continue;
    if (kept < r) PetscCall(PetscArraycpy(g->K + (size_t)kept * size, g->K + (size_t)r * size, size));
    g->pivot[kept] = g->pivot[r];
    now[r]         = kept++;
  }
  for (PetscInt e = 0; e < g->nel; e++)
    if (g->ref[e] >= 0) g->ref[e] = now[g->ref[e]];
  if (kept < g->nref) {
    PetscCall(ElementPlanDestroy(&g->plan));
    g->planned = PETSC_FALSE;
  }
  g->nref    = kept;
  g->lastref = 0;
  PetscCall(PetscFree(now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(USE_REAL_SINGLE)
typedef int32_t Flags; /* as wide as a PetscReal, so that comparisons stay in their lanes */
#else
typedef int64_t Flags;
#endif

/* | v - s K | <= tol everywhere? A NaN in v is a difference. */
TREFOIL_SIMD static PetscBool ValuesMatch(PetscInt size, const PetscScalar *restrict v, PetscScalar s, const PetscScalar *restrict K, PetscReal tol)
{
  for (PetscInt first = 0; first < size; first += 96) { /* other matrices are told by a few rows */
    const PetscInt last  = PetscMin(first + 96, size);
    Flags          other = 0;

    for (PetscInt k = first; k < last; k++) other |= PetscAbsScalar(v[k] - s * K[k]) <= tol ? 0 : 1;
    if (other) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Are all values finite? Is there one that is not zero? */
TREFOIL_SIMD static void ValuesCheck(PetscInt size, const PetscScalar *v, PetscBool *finite, PetscBool *nonzero)
{
  Flags wrong = 0, some = 0;

  for (PetscInt k = 0; k < size; k++) {
    wrong |= v[k] - v[k] == (PetscScalar)0. ? 0 : 1;
    some |= v[k] == (PetscScalar)0. ? 0 : 1;
  }
  *finite  = wrong ? PETSC_FALSE : PETSC_TRUE;
  *nonzero = some ? PETSC_TRUE : PETSC_FALSE;
}

/* v == s K_r within rtol of its largest entry? */
static inline PetscBool ShellFEMGroupMatches(ShellFEMGroup g, PetscInt r, const PetscScalar v[], PetscReal rtol, PetscScalar *s)
{
  const PetscInt     size  = g->ndof * g->ndof;
  const PetscScalar *K     = g->K + (size_t)r * size;
  const PetscScalar  pivot = v[g->pivot[r]];

  *s = pivot / K[g->pivot[r]];
  return ValuesMatch(size, v, *s, K, rtol * PetscAbsScalar(pivot));
}

static inline void ShellFEMGroupSetElement(ShellFEMGroup g, PetscInt e, PetscInt r, PetscScalar s)
{
  g->ref[e]   = r;
  g->scale[e] = s;
  g->lastref  = r;
}

/* The values of element e: a multiple of a reference matrix, a new reference matrix, or a matrix of its own */
static PetscErrorCode MatShellFEMClassify(Mat A, ShellFEMGroup g, PetscInt e, const PetscScalar v[])
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  PetscBool           finite, nonzero;
  PetscScalar         s;

  PetscFunctionBegin;
  PetscCall(MatShellFEMHostScales(A));
  for (PetscInt r = 0; r < g->nref; r++) {
    const PetscInt candidate = g->lastref + r < g->nref ? g->lastref + r : g->lastref + r - g->nref; /* neighbours tend to be alike */

    if (ShellFEMGroupMatches(g, candidate, v, a->rtol, &s)) {
      ShellFEMGroupSetElement(g, e, candidate, s);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  ValuesCheck(g->ndof * g->ndof, v, &finite, &nonzero);
  PetscCheck(finite, PETSC_COMM_SELF, PETSC_ERR_FP, "The matrix of an element with %" PetscInt_FMT " dofs contains a NaN or infinity; check the coefficients it is computed from", g->ndof);
  if (!nonzero && g->nref) {
    ShellFEMGroupSetElement(g, e, g->lastref, 0);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (nonzero) {
    if (g->nref >= a->maxref && g->nref && !g->swept && !g->native) PetscCall(ShellFEMGroupSweep(g));
    if (g->nref < a->maxref) {
      PetscCall(ShellFEMGroupSetReferences(g, 1, v));
      ShellFEMGroupSetElement(g, e, g->nref - 1, 1);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(ShellFEMGroupSetFull(g, e, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatShellFEMGetGroup(Mat A, PetscInt nen, PetscInt bs, ShellFEMGroup *group)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  for (*group = a->groups; *group; *group = (*group)->next)
    if ((*group)->nen == nen && (*group)->bs == bs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ShellFEMGroupCreate(nen, bs, group));
  (*group)->next = a->groups;
  a->groups      = *group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds an element with these global nodes. During re-assembly the element that the cursor points to is expected. */
static PetscErrorCode MatShellFEMAddElement(Mat A, PetscInt nen, PetscInt bs, const PetscInt node[], const PetscScalar v[])
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  ShellFEMGroup g;
  PetscInt      e;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetGroup(A, nen, bs, &g));
  PetscCall(MatShellFEMHostScales(A));
  e = g->cursor;
  if (e < g->nel) {
    const PetscInt *conn = g->conn + (size_t)e * nen, b = A->rmap->bs;
    PetscBool       same = PETSC_TRUE;

    for (PetscInt n = 0; n < nen && same; n++) {
      PetscInt global = conn[n];

      if (e < g->numbered) global = bs == b ? ShellFEMGroupGlobalNode(A, conn[n]) : ShellFEMGroupGlobalNode(A, conn[n] / b) * b + conn[n] % b;
      same = global == node[n] ? PETSC_TRUE : PETSC_FALSE;
    }
    if (!same) { /* another mesh, or another order: what follows is new */
      g->nel       = e;
      g->numbered  = PetscMin(g->numbered, e);
      a->structure = PETSC_TRUE;
    }
  }
  if (e == g->nel) {
    PetscCheck(g->nel < PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "More than %" PetscInt_FMT " elements on one process; configure PETSc with --with-64-bit-indices, or use more processes", PETSC_INT_MAX);
    PetscCall(ShellFEMGroupReserve(g, e + 1));
    PetscCall(PetscArraycpy(g->conn + (size_t)e * nen, node, nen));
    g->nel++;
    a->structure = PETSC_TRUE;
  }
  g->cursor = e + 1;
  g->ref[e] = ELEMENT_NONE;
  PetscCall(MatShellFEMClassify(A, g, e, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps a value until assembly: what it does to others, and to the side matrix, is for all processes together */
static PetscErrorCode MatShellFEMKeep(Mat A, PetscInt row, PetscInt col, PetscScalar v, InsertMode mode)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  a->pendingmode = mode;
  if (a->npending == a->allocatedpending) {
    a->allocatedpending = PetscMax(64, 2 * a->allocatedpending);
    PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)a->allocatedpending, &a->pendingrow));
    PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)a->allocatedpending, &a->pendingcol));
    PetscCall(PetscRealloc(sizeof(PetscScalar) * (size_t)a->allocatedpending, &a->pendingvalue));
  }
  a->pendingrow[a->npending]     = row;
  a->pendingcol[a->npending]     = col;
  a->pendingvalue[a->npending++] = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The side matrix. Collective. */
PetscErrorCode MatShellFEMGetSide(Mat A, Mat *S)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  if (!a->S) {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &a->S));
    PetscCall(MatSetSizes(a->S, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizes(a->S, A->rmap->bs, A->cmap->bs));
    PetscCall(MatSetType(a->S, MATAIJ));
    PetscCall(MatSetUp(a->S));
  }
  *S = a->S;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whole nodes of b dofs in order? Then their numbers are in node. */
static PetscBool RowsAreNodes(PetscInt m, const PetscInt rows[], PetscInt b, PetscInt node[])
{
  if (m % b) return PETSC_FALSE;
  for (PetscInt n = 0; n < m / b; n++) {
    if (rows[n * b] % b) return PETSC_FALSE;
    for (PetscInt c = 1; c < b; c++)
      if (rows[n * b + c] != rows[n * b] + c) return PETSC_FALSE;
    node[n] = rows[n * b] / b;
  }
  return PETSC_TRUE;
}

PetscErrorCode MatSetValues_ShellFEM(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], const PetscScalar v[], InsertMode mode)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  PetscInt      kept[SHELLFEM_MAX_NDOF], list[SHELLFEM_MAX_NDOF], node[SHELLFEM_MAX_NDOF], count = 0;
  PetscBool     element = mode == ADD_VALUES && a->capture && !a->L && m == n && m > 1 && m <= SHELLFEM_MAX_NDOF ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (!v || !m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt r = 0; r < m && element; r++) {
    if (rows[r] != cols[r])
      element = PETSC_FALSE;
    else if (rows[r] >= 0) {
      PetscCheck(rows[r] < A->rmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Row %" PetscInt_FMT " of an element is beyond the last, %" PetscInt_FMT, rows[r], A->rmap->N - 1);
      kept[count]   = r;
      list[count++] = rows[r];
    }
  }
  if (element) { /* rows and columns with negative numbers are dropped */
    PetscScalar *k = (PetscScalar *)v;

    if (count < m || !a->roworiented) {
      PetscCall(PetscMalloc1((size_t)count * count, &k));
      for (PetscInt r = 0; r < count; r++)
        for (PetscInt c = 0; c < count; c++) k[r * count + c] = a->roworiented ? v[kept[r] * m + kept[c]] : v[kept[c] * m + kept[r]];
    }
    if (count) {
      const PetscInt b = A->rmap->bs;

      if (RowsAreNodes(count, list, b, node))
        PetscCall(MatShellFEMAddElement(A, count / b, b, node, k));
      else
        PetscCall(MatShellFEMAddElement(A, count, 1, list, k));
    }
    if (k != v) PetscCall(PetscFree(k));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mode == ADD_VALUES && a->S) {
    PetscCall(MatSetOption(a->S, MAT_ROW_ORIENTED, a->roworiented));
    PetscCall(MatSetValues(a->S, m, rows, n, cols, v, ADD_VALUES));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt r = 0; r < m; r++)
    for (PetscInt c = 0; c < n; c++)
      if (rows[r] >= 0 && cols[c] >= 0) PetscCall(MatShellFEMKeep(A, rows[r], cols[c], a->roworiented ? v[(size_t)r * n + c] : v[(size_t)c * m + r], mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* block indices to row indices; the values of a blocked call are ordered as those of the expanded call */
static PetscErrorCode MatShellFEMExpand(PetscInt m, const PetscInt blocks[], PetscInt b, PetscInt rows[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < m; k++)
    for (PetscInt c = 0; c < b; c++) rows[k * b + c] = blocks[k] < 0 ? -1 : blocks[k] * b + c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A blocked call by the one that takes rows */
static PetscErrorCode MatShellFEMSetBlocks(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], const PetscScalar v[], InsertMode mode, PetscErrorCode (*setvalues)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode))
{
  const PetscInt rb = A->rmap->bs, cb = A->cmap->bs;
  PetscInt      *r, *c;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(m * rb, &r, n * cb, &c));
  PetscCall(MatShellFEMExpand(m, rows, rb, r));
  PetscCall(MatShellFEMExpand(n, cols, cb, c));
  PetscCall((*setvalues)(A, m * rb, r, n * cb, c, v, mode));
  PetscCall(PetscFree2(r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* May this call be an element? */
static inline PetscBool CallIsSquare(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], const PetscScalar v[], InsertMode mode)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;

  if (mode != ADD_VALUES || !a->capture || a->L || m != n || !v) return PETSC_FALSE;
  for (PetscInt k = 0; k < m; k++)
    if (rows[k] != cols[k] || rows[k] < 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

PetscErrorCode MatSetValuesBlocked_ShellFEM(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], const PetscScalar v[], InsertMode mode)
{
  const PetscInt b = A->rmap->bs;

  PetscFunctionBegin;
  if (b == A->cmap->bs && m * b > 1 && m * b <= SHELLFEM_MAX_NDOF && ((Mat_ShellFEM *)A->data)->roworiented && CallIsSquare(A, m, rows, n, cols, v, mode)) {
    for (PetscInt k = 0; k < m; k++) PetscCheck(rows[k] < A->rmap->N / b, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Block %" PetscInt_FMT " of rows of an element is beyond the last, %" PetscInt_FMT, rows[k], A->rmap->N / b - 1);
    PetscCall(MatShellFEMAddElement(A, m, b, rows, v));
  } else
    PetscCall(MatShellFEMSetBlocks(A, m, rows, n, cols, v, mode, MatSetValues_ShellFEM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lattice of the DMDA that is attached, if there is one that fits; asked for once */
PetscErrorCode MatShellFEMGetLattice(Mat A, ShellFEMGroup *lattice)
{
  Mat_ShellFEM   *a = (Mat_ShellFEM *)A->data;
  PetscBool       isda;
  PetscInt        dim, dof, start[3] = {0, 0, 0}, n[3] = {1, 1, 1}, low[3], count[3], global[3], width;
  DMDAStencilType stencil;
  DMBoundaryType  boundary[3];
  PetscMPIInt     size;

  PetscFunctionBegin;
  *lattice = a->lattice;
  if (a->lattice || !a->uselattice) PetscFunctionReturn(PETSC_SUCCESS);
  a->uselattice = PETSC_FALSE;
  PetscCall(MatGetDM(A, &a->dm));
  if (!a->dm) {
    a->uselattice = PETSC_TRUE; /* it may come later */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)a->dm, DMDA, &isda));
  if (!isda) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDAGetInfo(a->dm, &dim, &global[0], &global[1], &global[2], NULL, NULL, NULL, &dof, &width, &boundary[0], &boundary[1], &boundary[2], &stencil));
  PetscCall(DMDAGetGhostCorners(a->dm, &start[0], &start[1], &start[2], &n[0], &n[1], &n[2]));
  PetscCall(DMDAGetCorners(a->dm, &low[0], &low[1], &low[2], &count[0], &count[1], &count[2]));
  /* a star does not bring the corners of cells; a cell needs its upper neighbours */
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (dim < 2 || (stencil == DMDA_STENCIL_STAR && size > 1) || width < 1) PetscFunctionReturn(PETSC_SUCCESS);
  a->box.nx = n[0];
  a->box.ny = n[1];
  a->box.nz = dim == 3 ? n[2] : 1;
  a->box.bs = dof;
  for (PetscInt d = 0; d < 3; d++) {
    if (d >= dim) {
      a->cells[d]    = 1;
      a->ownedlow[d] = 0;
      a->ownedn[d]   = 1;
      continue;
    }
    a->cells[d]    = n[d] - 1;
    a->ownedlow[d] = low[d] - start[d];
    a->ownedn[d]   = PetscMin(count[d], boundary[d] == DM_BOUNDARY_PERIODIC ? count[d] : global[d] - 1 - low[d]);
    /* one periodic cell has the same node at both ends, which the local box does not show */
    if (a->cells[d] < 1 || (boundary[d] == DM_BOUNDARY_PERIODIC && global[d] < 2)) PetscFunctionReturn(PETSC_SUCCESS);
  }
  a->boxisglobal = size == 1 && (PetscInt64)n[0] * n[1] * n[2] * dof == A->rmap->n ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(ShellFEMGroupCreate(dim == 3 ? 8 : 4, dof, &a->lattice));
  a->lattice->iscells = PETSC_TRUE;
  PetscCall(PetscMalloc1((size_t)a->lattice->ndof * a->lattice->ndof, &a->lattice->work));
  PetscCall(ShellFEMGroupReserve(a->lattice, a->cells[0] * a->cells[1] * a->cells[2]));
  a->lattice->nel = a->cells[0] * a->cells[1] * a->cells[2];
  for (PetscInt e = 0; e < a->lattice->nel; e++) {
    a->lattice->ref[e]   = ELEMENT_NONE;
    a->lattice->scale[e] = 0;
  }
  *lattice = a->lattice;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cell with these local nodes, and which of its corners each of them is, NULL if they are in order; -1: no cell */
static PetscInt LatticeFindCell(const Mat_ShellFEM *a, PetscInt nen, const PetscInt node[], PetscInt corner[], PetscBool *inorder)
{
  const PetscInt nx = a->box.nx, ny = a->box.ny;
  PetscInt       lowest = node[0], i, j, k;
  unsigned int   found  = 0;

  *inorder = PETSC_TRUE;
  for (PetscInt n = 1; n < nen; n++) {
    if (node[n] != node[0] + ((n >> 2) * ny + ((n >> 1) & 1)) * nx + (n & 1)) *inorder = PETSC_FALSE;
    lowest = PetscMin(lowest, node[n]);
  }
  i = lowest % nx;
  j = lowest / nx % ny;
  k = lowest / nx / ny;
  if (i >= a->cells[0] || j >= a->cells[1] || k >= a->cells[2]) return -1;
  if (*inorder) return (k * a->cells[1] + j) * a->cells[0] + i;
  for (PetscInt n = 0; n < nen; n++) {
    const PetscInt di = node[n] % nx - i, dj = node[n] / nx % ny - j, dk = node[n] / nx / ny - k;

    if (di < 0 || di > 1 || dj < 0 || dj > 1 || dk < 0 || dk > 1) return -1;
    corner[n] = di + 2 * dj + 4 * dk;
    found |= 1u << corner[n];
  }
  return found == (1u << nen) - 1 ? (k * a->cells[1] + j) * a->cells[0] + i : -1;
}

/* Takes the values as those of a cell of the lattice, if they are; these are its local nodes */
static PetscErrorCode MatShellFEMAddCell(Mat A, ShellFEMGroup g, const PetscInt node[], const PetscScalar v[], PetscBool *taken)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  const PetscInt      m = g->ndof, bs = g->bs;
  PetscInt            corner[8], dof[SHELLFEM_MAX_NDOF], cell;
  PetscBool           inorder;

  PetscFunctionBegin;
  cell   = LatticeFindCell(a, g->nen, node, corner, &inorder);
  *taken = cell >= 0 && g->ref[cell] == ELEMENT_NONE ? PETSC_TRUE : PETSC_FALSE;
  if (!*taken) PetscFunctionReturn(PETSC_SUCCESS);
  if (inorder && a->roworiented) {
    PetscCall(MatShellFEMClassify(A, g, cell, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt n = 0; n < g->nen; n++)
    for (PetscInt c = 0; c < bs; c++) dof[n * bs + c] = (inorder ? n : corner[n]) * bs + c;
  for (PetscInt p = 0; p < m; p++)
    for (PetscInt q = 0; q < m; q++) g->work[dof[p] * m + dof[q]] = a->roworiented ? v[p * m + q] : v[q * m + p];
  PetscCall(MatShellFEMClassify(A, g, cell, g->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local indices: cells of the lattice are recognized, the rest goes by global indices */
PetscErrorCode MatSetValuesLocal_ShellFEM(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], const PetscScalar v[], InsertMode mode)
{
  PetscInt     *r, *c;
  ShellFEMGroup g;

  PetscFunctionBegin;
  if (m > 1 && m <= SHELLFEM_MAX_NDOF && CallIsSquare(A, m, rows, n, cols, v, mode)) {
    PetscCall(MatShellFEMGetLattice(A, &g));
    if (g && m == g->ndof) {
      PetscInt  node[SHELLFEM_MAX_NDOF];
      PetscBool taken = PETSC_FALSE;

      if (RowsAreNodes(m, rows, g->bs, node)) PetscCall(MatShellFEMAddCell(A, g, node, v, &taken));
      if (taken) PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(PetscMalloc2(m, &r, n, &c));
  if (A->rmap->mapping)
    PetscCall(ISLocalToGlobalMappingApply(A->rmap->mapping, m, rows, r));
  else
    PetscCall(PetscArraycpy(r, rows, m));
  if (A->cmap->mapping)
    PetscCall(ISLocalToGlobalMappingApply(A->cmap->mapping, n, cols, c));
  else
    PetscCall(PetscArraycpy(c, cols, n));
  PetscCall(MatSetValues_ShellFEM(A, m, r, n, c, v, mode));
  PetscCall(PetscFree2(r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do blocks of local rows map to blocks of global rows? */
static PetscErrorCode MappingHasBlocks(ISLocalToGlobalMapping map, PetscInt b, PetscBool *has)
{
  PetscInt bs = 0;

  PetscFunctionBegin;
  if (map) PetscCall(ISLocalToGlobalMappingGetBlockSize(map, &bs));
  *has = bs == b ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetValuesBlockedLocal_ShellFEM(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[], const PetscScalar v[], InsertMode mode)
{
  const PetscInt b = A->rmap->bs;
  ShellFEMGroup  g;

  PetscFunctionBegin;
  if (b == A->cmap->bs && m * b > 1 && m * b <= SHELLFEM_MAX_NDOF && CallIsSquare(A, m, rows, n, cols, v, mode)) {
    PetscInt  node[SHELLFEM_MAX_NDOF];
    PetscBool taken = PETSC_FALSE;

    PetscCall(MatShellFEMGetLattice(A, &g));
    if (g && m == g->nen && b == g->bs) PetscCall(MatShellFEMAddCell(A, g, rows, v, &taken));
    if (taken) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MappingHasBlocks(A->rmap->mapping, b, &taken));
    if (taken && A->cmap->mapping == A->rmap->mapping) {
      PetscCall(ISLocalToGlobalMappingApplyBlock(A->rmap->mapping, m, rows, node));
      PetscCall(MatSetValuesBlocked_ShellFEM(A, m, node, m, node, v, mode));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(MatShellFEMSetBlocks(A, m, rows, n, cols, v, mode, MatSetValuesLocal_ShellFEM));
  PetscFunctionReturn(PETSC_SUCCESS);
}
