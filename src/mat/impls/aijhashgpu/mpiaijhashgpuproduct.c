/*
  Products of parallel matrices. As in the sequential case each is a chain of one or two links; a link is A B of a parallel
  matrix A and rows B in the same distribution as the columns of A. Every process multiplies its rows of A, with the columns
  numbered 0, 1, ... in ascending order, and the rows of B that they name: its own, and those fetched from other processes.

    AB = A B     AtB = A' B     ABt = A B'     PtAP = P' (A P)     RARt = R (A R')     ABC = A (B C)

  Transposes are parallel matrices, renewed in each numeric phase. So no sums are exchanged, only rows: results do not
  depend on the order in which messages arrive.
*/
#include "aijhashgpuimpl.h"
#include <petscsf.h>

/* The rows of a process, its two blocks merged */
typedef struct {
  PetscInt     m, n;
  PetscInt    *i, *j;
  PetscScalar *a;
} Rows;

typedef struct {
  Mat      left, right; /* right: NULL for the result of the previous link */
  PetscInt before;      /* how many fetched rows precede the process's own */
  PetscInt fetched;
  Rows     A, own, B, C; /* factor with compact columns; own rows of the other factor; all its rows that A names; result */
  PetscSF  sf;           /* brings entries of fetched rows from their owners' own rows */
} Link;

typedef struct {
  int              nlinks;
  PetscBool        device;          /* on the GPU */
  Mat              transpose;       /* of a factor, NULL if the product needs none */
  PetscObjectId    id[3];           /* which factors, and which structures of them, */
  PetscObjectState nonzerostate[3]; /* the symbolic phase saw */
  Link             link[2];
} Chain;

static PetscErrorCode RowsDestroy(Rows *r)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(r->i));
  PetscCall(PetscFree(r->j));
  PetscCall(PetscFree(r->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static SpGEMMMatrix RowsView(const Rows *r)
{
  const SpGEMMMatrix view = {r->m, r->n, r->i, r->j, r->a};

  return view;
}

/* The local rows of X: with columns 0, 1, ... of those that occur if compact, else with global ones. Structure and values
   the first time, values only when r is there already. */
static PetscErrorCode RowsGetLocal(Mat X, PetscBool compact, Rows *r)
{
  Mat                diagonal, offdiagonal;
  const PetscInt    *ghosts, *di, *dj, *oi, *oj;
  const PetscScalar *da, *oa;
  PetscInt           start, end, before = 0, own, other;
  PetscBool          structure = r->i ? PETSC_FALSE : PETSC_TRUE;
  PetscMemType       memtype;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(X, &diagonal, &offdiagonal, &ghosts));
  PetscCall(MatGetOwnershipRangeColumn(X, &start, &end));
  own   = end - start;
  other = offdiagonal->cmap->n;
  while (before < other && ghosts[before] < start) before++;
  PetscCall(MatSeqAIJGetCSRAndMemType(diagonal, &di, &dj, NULL, &memtype));
  PetscCall(MatSeqAIJGetCSRAndMemType(offdiagonal, &oi, &oj, NULL, &memtype));
  if (structure) {
    PetscCount nz;

    r->m = X->rmap->n;
    r->n = compact ? own + other : X->cmap->N;
    nz   = (PetscCount)di[r->m] + oi[r->m];
    PetscCheck(nz <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "The local rows have %" PetscCount_FMT " nonzeros, more than PetscInt holds; configure PETSc with --with-64-bit-indices, or use more MPI processes", nz);
    PetscCall(PetscMalloc1((PetscCount)r->m + 1, &r->i));
    PetscCall(PetscMalloc1(nz, &r->j));
    PetscCall(PetscMalloc1(nz, &r->a));
    r->i[0] = 0;
  }
  PetscCall(MatSeqAIJGetArrayRead(diagonal, &da));
  PetscCall(MatSeqAIJGetArrayRead(offdiagonal, &oa));
  for (PetscInt row = 0, k = 0; row < r->m; row++) {
    PetscInt o = oi[row];

    for (; o < oi[row + 1] && oj[o] < before; o++, k++) {
      r->a[k] = oa[o];
      if (structure) r->j[k] = compact ? oj[o] : ghosts[oj[o]];
    }
    for (PetscInt d = di[row]; d < di[row + 1]; d++, k++) {
      r->a[k] = da[d];
      if (structure) r->j[k] = dj[d] + (compact ? before : start);
    }
    for (; o < oi[row + 1]; o++, k++) {
      r->a[k] = oa[o];
      if (structure) r->j[k] = compact ? oj[o] + own : ghosts[oj[o]];
    }
    r->i[row + 1] = k;
  }
  PetscCall(MatSeqAIJRestoreArrayRead(diagonal, &da));
  PetscCall(MatSeqAIJRestoreArrayRead(offdiagonal, &oa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lengths and places of the fetched rows at their owners, the structure of B, and the way their entries will come */
static PetscErrorCode LinkFetchStructure(Link *link)
{
  Mat                offdiagonal;
  const PetscInt    *ghosts;
  const PetscSFNode *owner;
  PetscSF            rows;
  PetscSFNode       *remote;
  PetscInt          *local, *length, *begin, *own_length, start, entries = 0;
  const Rows        *own = &link->own;
  Rows              *B   = &link->B;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(link->left, NULL, &offdiagonal, &ghosts));
  PetscCall(MatGetOwnershipRangeColumn(link->left, &start, NULL));
  link->fetched = offdiagonal->cmap->n;
  link->before  = 0;
  while (link->before < link->fetched && ghosts[link->before] < start) link->before++;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)link->left), &rows));
  PetscCall(PetscSFSetGraphLayout(rows, link->left->cmap, link->fetched, NULL, PETSC_COPY_VALUES, ghosts));
  PetscCall(PetscMalloc3(link->fetched, &length, link->fetched, &begin, own->m, &own_length));
  for (PetscInt row = 0; row < own->m; row++) own_length[row] = own->i[row + 1] - own->i[row];
  PetscCall(PetscSFBcastBegin(rows, MPIU_INT, own_length, length, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(rows, MPIU_INT, own_length, length, MPI_REPLACE));
  PetscCall(PetscSFBcastBegin(rows, MPIU_INT, own->i, begin, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(rows, MPIU_INT, own->i, begin, MPI_REPLACE));
  B->m = own->m + link->fetched;
  B->n = own->n;
  PetscCall(PetscMalloc1((PetscCount)B->m + 1, &B->i));
  B->i[0] = 0;
  for (PetscInt row = 0; row < B->m; row++) {
    const PetscBool  mine = row >= link->before && row < link->before + own->m ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt   n    = mine ? own_length[row - link->before] : length[row < link->before ? row : row - own->m];
    const PetscCount sum  = (PetscCount)B->i[row] + n;

    PetscCheck(sum <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "The rows of the second factor that a process needs have more nonzeros than PetscInt holds; configure PETSc with --with-64-bit-indices, or use more MPI processes");
    B->i[row + 1] = (PetscInt)sum;
  }
  for (PetscInt g = 0; g < link->fetched; g++) entries += length[g];
  PetscCall(PetscSFGetGraph(rows, NULL, NULL, NULL, &owner));
  PetscCall(PetscMalloc1(entries, &local));
  PetscCall(PetscMalloc1(entries, &remote));
  for (PetscInt g = 0, e = 0; g < link->fetched; g++)
    for (PetscInt k = 0; k < length[g]; k++, e++) {
      local[e]        = B->i[g < link->before ? g : g + own->m] + k;
      remote[e].rank  = owner[g].rank;
      remote[e].index = begin[g] + k;
    }
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)link->left), &link->sf));
  PetscCall(PetscSFSetGraph(link->sf, own->i[own->m], entries, local, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscFree3(length, begin, own_length));
  PetscCall(PetscSFDestroy(&rows));
  PetscCall(PetscMalloc1(B->i[B->m], &B->j));
  PetscCall(PetscMalloc1(B->i[B->m], &B->a));
  PetscCall(PetscArraycpy(B->j + B->i[link->before], own->j, own->i[own->m]));
  PetscCall(PetscSFBcastBegin(link->sf, MPIU_INT, own->j, B->j, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(link->sf, MPIU_INT, own->j, B->j, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinkFetchValues(Link *link)
{
  const Rows *own = &link->own;

  PetscFunctionBegin;
  PetscCall(PetscSFBcastBegin(link->sf, MPIU_SCALAR, own->a, link->B.a, MPI_REPLACE));
  PetscCall(PetscArraycpy(link->B.a + link->B.i[link->before], own->a, own->i[own->m]));
  PetscCall(PetscSFBcastEnd(link->sf, MPIU_SCALAR, own->a, link->B.a, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChainReset(Chain *chain)
{
  PetscFunctionBegin;
  for (int l = 0; l < chain->nlinks; l++) {
    Link *link = &chain->link[l];

    PetscCall(RowsDestroy(&link->A));
    if (link->right) PetscCall(RowsDestroy(&link->own)); /* else they belong to the previous link */
    PetscCall(RowsDestroy(&link->B));
    PetscCall(RowsDestroy(&link->C));
    PetscCall(PetscSFDestroy(&link->sf));
  }
  PetscCall(MatDestroy(&chain->transpose));
  PetscCall(PetscMemzero(chain, sizeof(*chain)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChainDestroy(PetscCtxRt ctx)
{
  Chain *chain = *(Chain **)ctx;

  PetscFunctionBegin;
  PetscCall(ChainReset(chain));
  PetscCall(PetscFree(chain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which matrices the links multiply; called again for each phase since MatProductReplaceMats() may have changed them */
static PetscErrorCode ChainSetMats(const Mat_Product *product, Chain *chain)
{
  Link *first = &chain->link[0], *second = &chain->link[1];
  Mat   source = NULL;

  PetscFunctionBegin;
  if (product->type == MATPRODUCT_AtB)
    source = product->A;
  else if (product->type == MATPRODUCT_ABt || product->type == MATPRODUCT_PtAP || product->type == MATPRODUCT_RARt)
    source = product->B;
  if (source) {
    const MatReuse reuse = chain->transpose ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;

    if (reuse == MAT_REUSE_MATRIX) PetscCall(MatTransposeSetPrecursor(source, chain->transpose));
    PetscCall(MatTranspose(source, reuse, &chain->transpose));
  }
  chain->nlinks = 2;
  switch (product->type) {
  case MATPRODUCT_PtAP:
    first->left  = product->A;
    first->right = product->B;
    second->left = chain->transpose;
    break;
  case MATPRODUCT_RARt:
    first->left  = product->A;
    first->right = chain->transpose;
    second->left = product->B;
    break;
  case MATPRODUCT_ABC:
    first->left  = product->B;
    first->right = product->C;
    second->left = product->A;
    break;
  default:
    chain->nlinks = 1;
    first->left   = product->type == MATPRODUCT_AtB ? chain->transpose : product->A;
    first->right  = product->type == MATPRODUCT_ABt ? chain->transpose : product->B;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Remembers which factors there are now; tells whether they were others before */
static PetscErrorCode ChainStamp(const Mat_Product *product, Chain *chain, PetscBool *changed)
{
  Mat factors[] = {product->A, product->B, product->type == MATPRODUCT_ABC ? product->C : NULL};

  PetscFunctionBegin;
  *changed = PETSC_FALSE;
  for (int f = 0; f < 3; f++) {
    PetscObjectId    id;
    PetscObjectState nonzerostate;

    if (!factors[f]) continue;
    PetscCall(PetscObjectGetId((PetscObject)factors[f], &id));
    PetscCall(MatGetNonzeroState(factors[f], &nonzerostate));
    if (id != chain->id[f] || nonzerostate != chain->nonzerostate[f]) *changed = PETSC_TRUE;
    chain->id[f]           = id;
    chain->nonzerostate[f] = nonzerostate;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure of all links */
static PetscErrorCode ChainSymbolic(Mat C, Chain *chain, MatAIJHashGPUStatistics *total)
{
  PetscBool changed;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(total, sizeof(*total)));
  PetscCall(ChainSetMats(C->product, chain));
  PetscCall(ChainStamp(C->product, chain, &changed));
  for (int l = 0; l < chain->nlinks; l++) {
    Link        *link = &chain->link[l];
    SpGEMMMatrix A, B;

    PetscCall(PetscLogEventBegin(MAT_HashGPU_Gather, C, 0, 0, 0));
    PetscCall(RowsGetLocal(link->left, PETSC_TRUE, &link->A));
    if (link->right)
      PetscCall(RowsGetLocal(link->right, PETSC_FALSE, &link->own));
    else
      link->own = chain->link[l - 1].C;
    PetscCall(LinkFetchStructure(link));
    PetscCall(PetscLogEventEnd(MAT_HashGPU_Gather, C, 0, 0, 0));
    A = RowsView(&link->A);
    B = RowsView(&link->B);
    PetscCheck(SpGEMMIsSorted_Host(&A) && SpGEMMIsSorted_Host(&B), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "A factor of the product has a row whose columns do not ascend or repeat; build the matrix with MatSetValues(), or sort its rows");
    link->C.m = A.m;
    link->C.n = B.n;
    PetscCall(MatAIJHashGPUSymbolic(C, chain->device, &A, &B, total, &link->C.i, &link->C.j));
    PetscCall(PetscCalloc1(link->C.i[A.m], &link->C.a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After MatProductReplaceMats() or a change of structure: valid only if the structure of the product stays what it is */
static PetscErrorCode ChainRenew(Mat C, Chain *chain)
{
  Rows                    old = chain->link[chain->nlinks - 1].C, *now;
  MatAIJHashGPUStatistics total;
  const PetscBool         device = chain->device;
  PetscBool               same;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&chain->link[chain->nlinks - 1].C, sizeof(Rows)));
  PetscCall(ChainReset(chain));
  chain->device = device;
  PetscCall(ChainSymbolic(C, chain, &total));
  now = &chain->link[chain->nlinks - 1].C;
  PetscCall(PetscArraycmp(old.i, now->i, (PetscCount)old.m + 1, &same));
  if (same) PetscCall(PetscArraycmp(old.j, now->j, old.i[old.m], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The nonzero structure of a factor has changed so that the product has another structure; use MAT_INITIAL_MATRIX, or clear the product and call MatProductSymbolic() again");
  PetscCall(RowsDestroy(&old));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_MPIAIJHashGPU(Mat C)
{
  Chain    *chain = (Chain *)C->product->data;
  PetscBool changed;

  PetscFunctionBegin;
  PetscCheck(chain, PetscObjectComm((PetscObject)C), PETSC_ERR_ORDER, "The product has been cleared; call MatProductSymbolic() first");
  PetscCall(ChainStamp(C->product, chain, &changed));
  if (changed) PetscCall(ChainRenew(C, chain));
  PetscCall(ChainSetMats(C->product, chain));
  for (int l = 0; l < chain->nlinks; l++) {
    Link        *link = &chain->link[l];
    SpGEMMMatrix A, B;

    PetscCall(PetscLogEventBegin(MAT_HashGPU_Gather, C, 0, 0, 0));
    PetscCall(RowsGetLocal(link->left, PETSC_TRUE, &link->A));
    if (link->right) PetscCall(RowsGetLocal(link->right, PETSC_FALSE, &link->own));
    PetscCall(LinkFetchValues(link));
    PetscCall(PetscLogEventEnd(MAT_HashGPU_Gather, C, 0, 0, 0));
    A = RowsView(&link->A);
    B = RowsView(&link->B);
    PetscCall(MatAIJHashGPUNumeric(C, chain->device, &A, &B, link->C.i, link->C.j, link->C.a));
  }
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)((Mat_AIJHashGPU *)C->spptr)->statistics.products));
  PetscCall(MatUpdateMPIAIJWithArray(C, chain->link[chain->nlinks - 1].C.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_MPIAIJHashGPU(Mat C)
{
  Mat_Product            *product = C->product;
  MatAIJHashGPUStatistics total;
  Chain                  *chain;
  Link                   *last;
  Mat                     columns;

  PetscFunctionBegin;
  PetscCheck(!product->data, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "Product data not empty");
  PetscCall(PetscNew(&chain));
  product->data    = chain;
  product->destroy = ChainDestroy;
  PetscCall(MatProductAIJHashGPUUsesDevice(C, &chain->device));
  PetscCall(ChainSymbolic(C, chain, &total));
  last    = &chain->link[chain->nlinks - 1];
  columns = chain->link[0].right;
  PetscCall(MatSetSizes(C, last->left->rmap->n, columns->cmap->n, last->left->rmap->N, columns->cmap->N));
  PetscCall(MatSetType(C, MATMPIAIJHASHGPU));
  PetscCall(MatAIJHashGPUSetProductBlockSizes(C));
  PetscCall(MatMPIAIJSetPreallocationCSR(C, last->C.i, last->C.j, last->C.a));
  ((Mat_AIJHashGPU *)C->spptr)->statistics = total;
  C->ops->productnumeric                   = MatProductNumeric_MPIAIJHashGPU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_MPIAIJHashGPU(Mat C)
{
  const struct _MatOps *base;
  const Mat_Product    *product = C->product;
  const PetscLayout     inner   = product->type == MATPRODUCT_AtB || product->type == MATPRODUCT_PtAP ? product->B->rmap : product->type == MATPRODUCT_ABt || product->type == MATPRODUCT_RARt ? product->B->cmap
                                                                                                                                                                                               : product->B->rmap;
  const PetscLayout     outer   = product->type == MATPRODUCT_AtB ? product->A->rmap : product->A->cmap;
  PetscBool             hash;

  PetscFunctionBegin;
  PetscCheck(inner->rstart == outer->rstart && inner->rend == outer->rend, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Factors of a parallel product must share their distribution: local range [%" PetscInt_FMT ", %" PetscInt_FMT ") of A against [%" PetscInt_FMT ", %" PetscInt_FMT ") of B", outer->rstart, outer->rend, inner->rstart, inner->rend);
  PetscCall(MatProductAIJHashGPUUsesHash(C, &hash));
  if (hash)
    C->ops->productsymbolic = MatProductSymbolic_MPIAIJHashGPU;
  else {
    PetscCall(MatMPIAIJHashGPUGetBaseOps(&base));
    PetscCall(base->productsetfromoptions(C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
