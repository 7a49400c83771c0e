/*
  Products of sequential matrices. Each is a chain of one or two links, a link being the product of two CSR matrices that
  the engine in spgemm/ computes; a factor may be a transposed matrix or the result of the previous link:

    AB = A B     AtB = A' B     ABt = A B'     PtAP = P' (A P)     RARt = R (A R')     ABC = A (B C)

  The symbolic phase finds all structures and keeps what the numeric phase needs, which alone runs for MAT_REUSE_MATRIX.
*/
#include "aijhashgpuimpl.h"

/* One side of a link */
typedef struct {
  Mat              mat; /* NULL: the result of the previous link */
  PetscBool        transpose;
  PetscObjectId    id;           /* which matrix, and which structure of it, */
  PetscObjectState nonzerostate; /* the symbolic phase saw */
  PetscInt        *i, *j, *perm; /* structure of the transpose, and where its values are in mat */
  PetscScalar     *a;
  SpGEMMMatrix     csr; /* what is multiplied; borrows the arrays of mat between FactorOpen() and FactorClose() */
} Factor;

typedef struct {
  Factor       left, right;
  SpGEMMMatrix result; /* its arrays are i, j and a, but those of the product itself in the last link */
  PetscInt    *i, *j;
  PetscScalar *a;
} Link;

typedef struct {
  int       nlinks;
  PetscBool device; /* on the GPU */
  PetscBool fused;  /* both links at once, without the result of the first */
  Link      link[2];
} Chain;

static PetscErrorCode FactorGetCSR(Factor *f)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(f->mat, &f->csr.i, &f->csr.j, NULL, &memtype));
  PetscCheck(PetscMemTypeHost(memtype), PETSC_COMM_SELF, PETSC_ERR_SUP, "Matrix of type %s keeps its structure on the GPU; convert it to %s", ((PetscObject)f->mat)->type_name, MATSEQAIJHASHGPU);
  f->csr.m = f->mat->rmap->n;
  f->csr.n = f->mat->cmap->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of this type remembers for which structure it was found to be sorted */
static PetscErrorCode FactorIsSorted(const Factor *f, PetscBool *sorted)
{
  Mat_AIJHashGPU  *h = NULL;
  PetscBool        mine;
  PetscObjectState nonzerostate;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)f->mat, MATSEQAIJHASHGPU, &mine));
  PetscCall(MatGetNonzeroState(f->mat, &nonzerostate));
  if (mine) h = (Mat_AIJHashGPU *)f->mat->spptr;
  *sorted = h && h->sortedstate == nonzerostate ? PETSC_TRUE : SpGEMMIsSorted_Host(&f->csr);
  if (h && *sorted) h->sortedstate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure; of a transposed factor it is built here */
static PetscErrorCode FactorSymbolic(Factor *f)
{
  PetscBool sorted = PETSC_FALSE;

  PetscFunctionBegin;
  if (!f->mat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FactorGetCSR(f));
  PetscCall(FactorIsSorted(f, &sorted));
  PetscCheck(sorted, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "A factor of the product has a row whose columns do not ascend or repeat; build the matrix with MatSetValues(), or sort its rows");
  PetscCall(PetscObjectGetId((PetscObject)f->mat, &f->id));
  PetscCall(MatGetNonzeroState(f->mat, &f->nonzerostate));
  if (f->transpose) {
    const PetscInt nz = f->csr.i[f->csr.m];
    const PetscInt m  = f->csr.n;

    PetscCall(PetscFree2(f->j, f->perm));
    if (!f->i) PetscCall(PetscMalloc1((PetscCount)m + 1, &f->i));
    PetscCall(PetscMalloc2(nz, &f->j, nz, &f->perm));
    PetscCall(PetscFree(f->a));
    PetscCall(SpGEMMTranspose_Host(&f->csr, f->i, f->j, f->perm));
    f->csr.n = f->csr.m;
    f->csr.m = m;
    f->csr.i = f->i;
    f->csr.j = f->j;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorChanged(const Factor *f, PetscBool *changed)
{
  PetscObjectId    id;
  PetscObjectState nonzerostate;

  PetscFunctionBegin;
  if (f->mat) {
    PetscCall(PetscObjectGetId((PetscObject)f->mat, &id));
    PetscCall(MatGetNonzeroState(f->mat, &nonzerostate));
    if (id != f->id || nonzerostate != f->nonzerostate) *changed = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorOpen(Factor *f)
{
  PetscFunctionBegin;
  if (!f->mat) PetscFunctionReturn(PETSC_SUCCESS);
  if (!f->transpose) {
    PetscCall(FactorGetCSR(f));
    PetscCall(MatSeqAIJGetArrayRead(f->mat, &f->csr.a));
  } else {
    const PetscScalar *a;
    const PetscInt     nz = f->csr.i[f->csr.m];

    if (!f->a) PetscCall(PetscMalloc1(nz, &f->a));
    PetscCall(MatSeqAIJGetArrayRead(f->mat, &a));
    SpGEMMPermute_Host(nz, f->perm, a, f->a);
    PetscCall(MatSeqAIJRestoreArrayRead(f->mat, &a));
    f->csr.a = f->a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorClose(Factor *f)
{
  PetscFunctionBegin;
  if (f->mat && !f->transpose) PetscCall(MatSeqAIJRestoreArrayRead(f->mat, &f->csr.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorDestroy(Factor *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->i));
  PetscCall(PetscFree2(f->j, f->perm));
  PetscCall(PetscFree(f->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChainDestroy(PetscCtxRt ctx)
{
  Chain *chain = *(Chain **)ctx;

  PetscFunctionBegin;
  for (int l = 0; l < 2; l++) {
    PetscCall(FactorDestroy(&chain->link[l].left));
    PetscCall(FactorDestroy(&chain->link[l].right));
    PetscCall(PetscFree(chain->link[l].i));
    PetscCall(PetscFree(chain->link[l].j));
    PetscCall(PetscFree(chain->link[l].a));
  }
  PetscCall(PetscFree(chain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which matrices the links multiply; called again for each phase since MatProductReplaceMats() may have changed them */
static void ChainSetMats(const Mat_Product *product, Chain *chain)
{
  Factor *first = &chain->link[0].left, *second = &chain->link[0].right, *outer = &chain->link[1].left;

  chain->nlinks = 2;
  switch (product->type) {
  case MATPRODUCT_PtAP:
    first->mat       = product->A;
    second->mat      = product->B;
    outer->mat       = product->B;
    outer->transpose = PETSC_TRUE;
    break;
  case MATPRODUCT_RARt:
    first->mat        = product->A;
    second->mat       = product->B;
    second->transpose = PETSC_TRUE;
    outer->mat        = product->B;
    break;
  case MATPRODUCT_ABC:
    first->mat  = product->B;
    second->mat = product->C;
    outer->mat  = product->A;
    break;
  default:
    chain->nlinks     = 1;
    first->mat        = product->A;
    second->mat       = product->B;
    first->transpose  = product->type == MATPRODUCT_AtB ? PETSC_TRUE : PETSC_FALSE;
    second->transpose = product->type == MATPRODUCT_ABt ? PETSC_TRUE : PETSC_FALSE;
  }
}

PetscErrorCode MatAIJHashGPUSymbolic(Mat C, PetscBool device, const SpGEMMMatrix *A, const SpGEMMMatrix *B, MatAIJHashGPUStatistics *total, PetscInt **i, PetscInt **j)
{
  SpGEMMStatistics s;
  SpGEMMPlan      *plan;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_HashGPU_Analysis, C, 0, 0, 0));
  PetscCall(SpGEMMAnalysis_Host(A, B, &plan, &s));
  PetscCall(PetscLogEventEnd(MAT_HashGPU_Analysis, C, 0, 0, 0));
  PetscCall(PetscLogEventBegin(MAT_HashGPU_Symbolic, C, 0, 0, 0));
  if (device) PetscCall(MatAIJHashGPUSymbolicOnDevice(A, B, i, j));
  else PetscCall(SpGEMMSymbolic_Host(A, B, plan, i, j));
  PetscCall(SpGEMMPlanDestroy_Host(&plan));
  PetscCall(PetscLogEventEnd(MAT_HashGPU_Symbolic, C, 0, 0, 0));
  total->products += s.products;
  total->nonzeros += (*i)[A->m];
  for (int g = 0; g < SPGEMM_GROUPS; g++) total->rows[g] += s.rows[g];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJHashGPUNumeric(Mat C, PetscBool device, const SpGEMMMatrix *A, const SpGEMMMatrix *B, const PetscInt i[], const PetscInt j[], PetscScalar a[])
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_HashGPU_Numeric, C, 0, 0, 0));
  if (device) PetscCall(MatAIJHashGPUNumericOnDevice(A, B, i, j, a));
  else PetscCall(SpGEMMNumeric_Host(A, B, i, j, a));
  PetscCall(PetscLogEventEnd(MAT_HashGPU_Numeric, C, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SymbolicFused(Mat C, Chain *chain, MatAIJHashGPUStatistics *total)
{
  const SpGEMMMatrix *L = &chain->link[1].left.csr, *M = &chain->link[0].left.csr, *R = &chain->link[0].right.csr;
  Link               *last = &chain->link[1];
  SpGEMMStatistics    s;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_HashGPU_Symbolic, C, 0, 0, 0));
  PetscCall(SpGEMMTripleSymbolic_Host(L, M, R, &s, &last->i, &last->j));
  PetscCall(PetscLogEventEnd(MAT_HashGPU_Symbolic, C, 0, 0, 0));
  last->result.m  = L->m;
  last->result.n  = R->n;
  total->products = s.products;
  total->nonzeros = last->i[L->m];
  for (int g = 0; g < SPGEMM_GROUPS; g++) total->rows[g] = s.rows[g];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SymbolicLinks(Mat C, Chain *chain, MatAIJHashGPUStatistics *total)
{
  PetscFunctionBegin;
  for (int l = 0; l < chain->nlinks; l++) {
    Link *link = &chain->link[l];

    if (l) link->right.csr = chain->link[l - 1].result;
    PetscCall(MatAIJHashGPUSymbolic(C, chain->device, &link->left.csr, &link->right.csr, total, &link->i, &link->j));
    link->result.m = link->left.csr.m;
    link->result.n = link->right.csr.n;
    link->result.i = link->i;
    link->result.j = link->j;
    if (l < chain->nlinks - 1) {
      PetscCall(PetscMalloc1(link->i[link->result.m], &link->a));
      link->result.a = link->a;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structures of all links; those of the last one are in its i and j */
static PetscErrorCode ChainSymbolic(Mat C, Chain *chain, MatAIJHashGPUStatistics *total)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(total, sizeof(*total)));
  for (int l = 0; l < chain->nlinks; l++) {
    Link *link = &chain->link[l];

    PetscCall(FactorSymbolic(&link->left));
    PetscCall(FactorSymbolic(&link->right));
    PetscCall(PetscFree(link->i));
    PetscCall(PetscFree(link->j));
    PetscCall(PetscFree(link->a));
  }
  chain->fused = PETSC_FALSE;
  if (chain->nlinks == 2 && !chain->device) chain->fused = SpGEMMTripleIsCheaper_Host(&chain->link[1].left.csr, &chain->link[0].right.csr);
  if (chain->fused) PetscCall(SymbolicFused(C, chain, total));
  else PetscCall(SymbolicLinks(C, chain, total));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After MatProductReplaceMats() or a change of structure: valid only if the structure of the product stays what it is */
static PetscErrorCode ChainRenew(Mat C, Chain *chain, const PetscInt ci[], const PetscInt cj[])
{
  Link                   *last    = &chain->link[chain->nlinks - 1];
  PetscBool               changed = PETSC_FALSE, same;
  MatAIJHashGPUStatistics total;

  PetscFunctionBegin;
  for (int l = 0; l < chain->nlinks; l++) {
    PetscCall(FactorChanged(&chain->link[l].left, &changed));
    PetscCall(FactorChanged(&chain->link[l].right, &changed));
  }
  if (!changed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ChainSymbolic(C, chain, &total));
  PetscCall(PetscArraycmp(ci, last->i, (PetscCount)last->result.m + 1, &same));
  if (same) PetscCall(PetscArraycmp(cj, last->j, ci[last->result.m], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The nonzero structure of a factor has changed so that the product has another structure; use MAT_INITIAL_MATRIX, or clear the product and call MatProductSymbolic() again");
  PetscCall(PetscFree(last->i));
  PetscCall(PetscFree(last->j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NumericFused(Mat C, Chain *chain, const PetscInt ci[], const PetscInt cj[], PetscScalar ca[])
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_HashGPU_Numeric, C, 0, 0, 0));
  PetscCall(SpGEMMTripleNumeric_Host(&chain->link[1].left.csr, &chain->link[0].left.csr, &chain->link[0].right.csr, ci, cj, ca));
  PetscCall(PetscLogEventEnd(MAT_HashGPU_Numeric, C, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NumericLinks(Mat C, Chain *chain, const PetscInt ci[], const PetscInt cj[], PetscScalar ca[])
{
  PetscFunctionBegin;
  for (int l = 0; l < chain->nlinks; l++) {
    Link           *link = &chain->link[l];
    const PetscBool last = l == chain->nlinks - 1 ? PETSC_TRUE : PETSC_FALSE;

    if (l) link->right.csr = chain->link[l - 1].result;
    PetscCall(MatAIJHashGPUNumeric(C, chain->device, &link->left.csr, &link->right.csr, last ? ci : link->i, last ? cj : link->j, last ? ca : link->a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_SeqAIJHashGPU(Mat C)
{
  Mat_Product    *product = C->product;
  Chain          *chain   = (Chain *)product->data;
  const PetscInt *ci, *cj;
  PetscScalar    *ca;
  PetscMemType    memtype;

  PetscFunctionBegin;
  PetscCheck(chain, PETSC_COMM_SELF, PETSC_ERR_ORDER, "The product has been cleared; call MatProductSymbolic() first");
  ChainSetMats(product, chain);
  PetscCall(MatSeqAIJGetCSRAndMemType(C, &ci, &cj, NULL, &memtype));
  PetscCall(ChainRenew(C, chain, ci, cj));
  for (int l = 0; l < chain->nlinks; l++) {
    PetscCall(FactorOpen(&chain->link[l].left));
    PetscCall(FactorOpen(&chain->link[l].right));
  }
  PetscCall(MatSeqAIJGetArrayWrite(C, &ca));
  if (chain->fused) PetscCall(NumericFused(C, chain, ci, cj, ca));
  else PetscCall(NumericLinks(C, chain, ci, cj, ca));
  PetscCall(MatSeqAIJRestoreArrayWrite(C, &ca));
  for (int l = 0; l < chain->nlinks; l++) {
    PetscCall(FactorClose(&chain->link[l].left));
    PetscCall(FactorClose(&chain->link[l].right));
  }
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)((Mat_AIJHashGPU *)C->spptr)->statistics.products));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJHashGPUSetProductBlockSizes(Mat C)
{
  const Mat_Product *product = C->product;
  Mat                A = product->A, B = product->B;
  PetscInt           rbs, cbs;

  PetscFunctionBegin;
  switch (product->type) {
  case MATPRODUCT_AB:
    rbs = A->rmap->bs, cbs = B->cmap->bs;
    break;
  case MATPRODUCT_AtB:
    rbs = A->cmap->bs, cbs = B->cmap->bs;
    break;
  case MATPRODUCT_ABt:
    rbs = A->rmap->bs, cbs = B->rmap->bs;
    break;
  case MATPRODUCT_PtAP:
    rbs = cbs = B->cmap->bs;
    break;
  case MATPRODUCT_RARt:
    rbs = cbs = B->rmap->bs;
    break;
  default:
    rbs = A->rmap->bs, cbs = product->C->cmap->bs;
  }
  if (rbs > 0 && cbs > 0) PetscCall(MatSetBlockSizes(C, rbs, cbs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_SeqAIJHashGPU(Mat C)
{
  Mat_Product            *product = C->product;
  MatAIJHashGPUStatistics total;
  Chain                  *chain;
  Link                   *last;
  PetscScalar            *a;

  PetscFunctionBegin;
  PetscCheck(!product->data, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Product data not empty");
  PetscCall(PetscNew(&chain));
  product->data    = chain;
  product->destroy = ChainDestroy;
  PetscCall(MatProductAIJHashGPUUsesDevice(C, &chain->device));
  ChainSetMats(product, chain);
  PetscCall(ChainSymbolic(C, chain, &total));
  last = &chain->link[chain->nlinks - 1];
  PetscCall(MatSetSizes(C, last->result.m, last->result.n, last->result.m, last->result.n));
  PetscCall(MatSetType(C, MATSEQAIJHASHGPU));
  PetscCall(MatAIJHashGPUSetProductBlockSizes(C));
  PetscCall(PetscLayoutSetUp(C->rmap));
  PetscCall(PetscLayoutSetUp(C->cmap));
  PetscCall(PetscCalloc1(last->i[last->result.m], &a));
  PetscCall(MatSeqAIJHashGPUSetCSR(C, last->i, last->j, a));
  last->i = last->j                        = NULL;
  ((Mat_AIJHashGPU *)C->spptr)->statistics = total;
  C->ops->productnumeric                   = MatProductNumeric_SeqAIJHashGPU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The user's choice, by the options that PETSc has for the algorithms of AIJ: "hash", the default, or one of those */
PetscErrorCode MatProductAIJHashGPUUsesHash(Mat C, PetscBool *hash)
{
  const Mat_Product *product   = C->product;
  const char *const  options[] = {"", "-matmatmult_via", "-mattransposematmult_via", "-matmattransmult_via", "-matptap_via", "-matrart_via", "-matmatmatmult_via"};
  const char        *option    = product->api_user ? options[product->type] : "-mat_product_algorithm";
  char               algorithm[64];
  PetscBool          standard, set;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(algorithm, product->alg, sizeof(algorithm)));
  PetscCall(PetscStrcmp(algorithm, MATPRODUCTALGORITHMDEFAULT, &standard));
  if (standard) PetscCall(PetscStrncpy(algorithm, "hash", sizeof(algorithm)));
  PetscOptionsBegin(PetscObjectComm((PetscObject)C), ((PetscObject)C)->prefix, "Products of MATAIJHASHGPU", "Mat");
  PetscCall(PetscOptionsString(option, "hash, or an algorithm of MATAIJ", "MatProductSetAlgorithm", algorithm, algorithm, sizeof(algorithm), &set));
  PetscOptionsEnd();
  PetscCall(PetscStrcmp(algorithm, MATPRODUCTALGORITHMDEFAULT, &standard));
  PetscCall(PetscStrcmp(algorithm, "hash", hash));
  if (standard) *hash = PETSC_TRUE;
  if (C->force_diagonals && !set) *hash = PETSC_FALSE; /* MAT_FORCE_DIAGONAL_ENTRIES: AIJ's algorithms add the missing ones */
  if (*hash) PetscCall(MatProductSetAlgorithm(C, "hash"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductAIJHashGPUUsesDevice(Mat C, PetscBool *device)
{
  const char *const backends[] = {"host", "cuda"};
  PetscInt          backend    = 0;

  PetscFunctionBegin;
  PetscOptionsBegin(PetscObjectComm((PetscObject)C), ((PetscObject)C)->prefix, "Products of MATAIJHASHGPU", "Mat");
  PetscCall(PetscOptionsEList("-mat_aijhashgpu_spgemm_backend", "Where sparse products are computed", "MATAIJHASHGPU", backends, 2, backends[0], &backend, NULL));
  PetscOptionsEnd();
  *device = PETSC_FALSE;
  if (backend) {
    PetscCall(MatAIJHashGPUHasDevice(device));
    PetscCheck(*device, PetscObjectComm((PetscObject)C), PETSC_ERR_SUP, "-mat_aijhashgpu_spgemm_backend cuda needs an NVIDIA GPU and a PETSc with CUDA; there is none here, use host");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_SeqAIJHashGPU(Mat C)
{
  const struct _MatOps *base;
  PetscBool             hash;

  PetscFunctionBegin;
  PetscCall(MatProductAIJHashGPUUsesHash(C, &hash));
  if (hash)
    C->ops->productsymbolic = MatProductSymbolic_SeqAIJHashGPU;
  else {
    PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
    PetscCall(base->productsetfromoptions(C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with dense matrices are PETSc's own, found under the name of the base type */
PetscErrorCode MatProductSetFromOptions_AIJHashGPU_Dense(Mat C)
{
  Mat               A = C->product->A, B = C->product->B;
  const char *const names[] = {"MatProductSetFromOptions_seqaij_seqdense_C", "MatProductSetFromOptions_mpiaij_mpidense_C", "MatProductSetFromOptions_mpidense_mpiaij_C"};
  PetscBool         left, right;
  PetscErrorCode (*f)(Mat) = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIDENSE, &left));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)B, MATMPIDENSE, &right));
  PetscCall(PetscObjectQueryFunction((PetscObject)(left ? A : B), names[left ? 2 : right], &f));
  if (f) PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Interpolation of DMDA with several dofs for each node is a MATMAIJ, which PETSc multiplies by a MATMPIAIJ after it has
  made an AIJ of it, in its place; here as well. Then the types fit, and products on coarser levels are of this type, too.
*/
PetscErrorCode MatProductSetFromOptions_AIJHashGPU_MAIJ(Mat C)
{
  Mat *const factors[] = {&C->product->A, &C->product->B};
  PetscBool  maij;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscObjectTypeCompareAny((PetscObject)*factors[k], &maij, MATSEQMAIJ, MATMPIMAIJ, ""));
    if (maij) PetscCall(MatConvert(*factors[k], MATAIJ, MAT_INPLACE_MATRIX, factors[k]));
  }
  PetscCall(MatProductSetFromOptions(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
