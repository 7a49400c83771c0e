/*
  Chooses the kernel for a product on the GPU, and does what comes after the sum of the elements where the kernel does not.
*/
#include "element_kernels_cuda.h"
#include "element_march_cuda.h"

struct _n_ElementWork {
  void  *array[WORK_NSLOTS];
  size_t bytes[WORK_NSLOTS];
  size_t limit; /* 0: the usual one */
};

PetscErrorCode ElementWorkGet(ElementWork *work, WorkSlot slot, size_t bytes, void **array, PetscBool *isnew)
{
  PetscFunctionBegin;
  if (!*work) PetscCall(PetscNew(work));
  *isnew = (PetscBool)((*work)->bytes[slot] < bytes || !(*work)->array[slot]);
  if (*isnew) {
    PetscCallCUDA(cudaFree((*work)->array[slot]));
    (*work)->array[slot] = NULL;
    PetscCallCUDA(cudaMalloc(&(*work)->array[slot], PetscMax(bytes, 1)));
    (*work)->bytes[slot] = bytes;
  }
  *array = (*work)->array[slot];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementWorkSetLimit(ElementWork *work, size_t bytes)
{
  PetscFunctionBegin;
  if (!*work) PetscCall(PetscNew(work));
  (*work)->limit = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt ElementsInChunk(const Elements *el, size_t bytes, ElementWork work)
{
  const size_t limit = work && work->limit ? work->limit : (size_t)1 << 30;

  return (PetscInt)PetscMin((size_t)el->nel, PetscMax(1, limit / bytes));
}

PetscErrorCode ElementWorkDestroy(ElementWork *work)
{
  PetscFunctionBegin;
  if (!*work) PetscFunctionReturn(PETSC_SUCCESS);
  for (int slot = 0; slot < WORK_NSLOTS; slot++) PetscCallCUDA(cudaFree((*work)->array[slot]));
  PetscCall(PetscFree(*work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementCheckReal(void)
{
  PetscFunctionBegin;
  PetscCheck(!PetscDefined(USE_COMPLEX), PETSC_COMM_SELF, PETSC_ERR_SUP, "The GPU kernels of MATSHELLFEM are for real scalars; use -vec_type standard with a complex PETSc");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = z + (y + D x), or x + omega dinv (b - (y + D x)) */
template <class V> static __global__ void __launch_bounds__(THREADS) FinishAll(PetscCount n, const unsigned char *__restrict__ mask, const Vectors<V> v)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (i < n) Finish(v, i, !mask || mask[i], Load(v.y + i));
}

static PetscErrorCode LaunchFinish(PetscCount n, const ElementVectors *v, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!n || !(v->D || v->dinv || v->z)) PetscFunctionReturn(PETSC_SUCCESS);
  if (v->precision == ELEMENT_DOUBLE) FinishAll<double><<<Blocks(n), THREADS, 0, stream>>>(n, v->mask, VectorsCreate<double>(v));
  else if (v->precision == ELEMENT_SINGLE) FinishAll<float><<<Blocks(n), THREADS, 0, stream>>>(n, v->mask, VectorsCreate<float>(v));
  else FinishAll<__nv_bfloat16><<<Blocks(n), THREADS, 0, stream>>>(n, v->mask, VectorsCreate<__nv_bfloat16>(v));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *ElementKernelNeeds(ElementKernel kernel, const ElementMatrices *m, const ElementMesh *mesh, const ElementLattice *lattice, const ElementTiles *tiles, ElementPlan plan, const ElementVectors *v)
{
  switch (kernel) {
  case ELEMENT_KERNEL_THREESTAGE:
    return v->precision == ELEMENT_BFLOAT16 ? "precision double or single" : NULL;
  case ELEMENT_KERNEL_FUSED:
    if (m->nref > 1) return "one reference matrix for all elements";
    if (m->ndof != 24 && m->ndof != 8) return "elements with 24 or 8 dofs";
    return v->precision == ELEMENT_BFLOAT16 ? "precision double or single" : NULL;
  case ELEMENT_KERNEL_PARITY:
    return (mesh ? ElementTilesFit(m, mesh, tiles, plan, v) : ElementMarchFits(m, lattice, plan, v)) ? NULL : "hexahedra with 3 dofs for each node and one reference matrix with the symmetries of a box";
  case ELEMENT_KERNEL_DMMA:
  case ELEMENT_KERNEL_WMMA:
    if (m->nref > 1) return "one reference matrix for all elements";
    if (m->ndof != 24 && m->ndof != 8) return "elements with 24 or 8 dofs";
    if (kernel == ELEMENT_KERNEL_DMMA) return v->precision != ELEMENT_DOUBLE ? "precision double" : NULL;
    return v->precision == ELEMENT_DOUBLE ? "precision single or bfloat16 (-mat_shellfem_precision)" : NULL;
  default:
    return NULL;
  }
}

PetscErrorCode ElementMatricesPack(const ElementMatrices *m, PetscInt nfull, PetscScalar **packed)
{
  const PetscCount n = m->ndof, size = n * (n + 1) / 2;
  PetscBool        same = PETSC_TRUE;

  PetscFunctionBegin;
  *packed = NULL;
  if (!nfull) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(size * nfull, packed));
  for (PetscInt k = 0; k < nfull && same; k++) {
    const PetscScalar *K   = m->full + n * n * k;
    PetscScalar       *p   = *packed + size * k;
    PetscReal          max = 0, difference = 0;

    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = i; j < n; j++) {
        max        = PetscMax(max, PetscAbsScalar(K[i * n + j]));
        difference = PetscMax(difference, PetscAbsScalar(K[i * n + j] - K[j * n + i]));
        *p++       = (K[i * n + j] + K[j * n + i]) / (PetscReal)2;
      }
    same = (PetscBool)(difference <= 16 * PETSC_MACHINE_EPSILON * max);
  }
  if (!same) PetscCall(PetscFree(*packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = the sum of the elements, those with matrices of their own included; the node kernel does the whole product if there are none */
static PetscErrorCode Sum(ElementKernel kernel, const Elements *el, const ElementMatrices *m, const ElementTiles *tiles, ElementPlan plan, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  PetscBool rigid = PETSC_FALSE;

  PetscFunctionBegin;
  if (plan && !el->conn) (void)ElementPlanGetParity(plan, transpose, &rigid);
  else rigid = (PetscBool)(m->rigid && v->precision != ELEMENT_DOUBLE);
  if (!el->nel || !el->nref) PetscCallCUDA(cudaMemsetAsync(v->y, 0, ElementPrecisionSize(v->precision) * (size_t)el->nnode * el->bs, stream));
  else if (kernel == ELEMENT_KERNEL_THREESTAGE) PetscCall(ElementThreeStage_CUDA(el, transpose, v, work, stream));
  else if (kernel == ELEMENT_KERNEL_FUSED) PetscCall(ElementFused_CUDA(el, transpose, v, work, stream));
  else if (kernel == ELEMENT_KERNEL_PARITY && el->conn) PetscCall(ElementTiles_CUDA(el, tiles, plan, transpose, v, stream));
  else if (kernel == ELEMENT_KERNEL_PARITY) PetscCall(ElementMarch_CUDA(m, &el->lattice, plan, transpose, v, stream));
  else if (kernel == ELEMENT_KERNEL_DMMA || kernel == ELEMENT_KERNEL_WMMA) PetscCall(ElementTensor_CUDA(el, transpose, rigid, v, work, stream));
  else PetscCall(ElementNode_CUDA(el, transpose, rigid, v, work, stream));
  if (m->full) PetscCall(ElementFull_CUDA(el, transpose, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(ElementKernel kernel, const Elements *el, const ElementMatrices *m, const ElementMesh *mesh, const ElementTiles *tiles, ElementPlan plan, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const PetscCount n     = (PetscCount)el->nnode * el->bs;
  const size_t     bytes = ElementPrecisionSize(v->precision) * (size_t)n;
  const char      *needs;
  ElementVectors   sum = *v, rest = *v;
  PetscBool        isnew;

  PetscFunctionBegin;
  PetscCall(ElementCheckReal());
  if (kernel == ELEMENT_KERNEL_AUTO) kernel = ElementKernelNeeds(ELEMENT_KERNEL_PARITY, m, mesh, &el->lattice, tiles, plan, v) ? ELEMENT_KERNEL_NODE : ELEMENT_KERNEL_PARITY;
  needs = ElementKernelNeeds(kernel, m, mesh, &el->lattice, tiles, plan, v);
  PetscCheck(!needs, PETSC_COMM_SELF, PETSC_ERR_SUP, "The kernel %s of MATSHELLFEM needs %s; use -mat_shellfem_kernel auto", ElementKernels[kernel], needs);
  if (el->nel && el->nref && !m->full && (kernel == ELEMENT_KERNEL_PARITY || kernel == ELEMENT_KERNEL_NODE)) { /* they do the whole product */
    PetscCall(Sum(kernel, el, m, tiles, plan, transpose, v, work, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  sum.D = sum.z = sum.dinv = NULL;
  if (v->z == v->y && !v->dinv) { /* what is added to would be lost */
    void *z;

    PetscCall(ElementWorkGet(work, WORK_ADDED, bytes, &z, &isnew));
    PetscCallCUDA(cudaMemcpyAsync(z, v->y, bytes, cudaMemcpyDeviceToDevice, stream));
    rest.z = z;
  }
  PetscCall(Sum(kernel, el, m, tiles, plan, transpose, &sum, work, stream));
  PetscCall(LaunchFinish(n, &rest, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementApplyMesh_CUDA(ElementKernel kernel, const ElementMatrices *m, const ElementMesh *mesh, const ElementAdjacency *around, const ElementTiles *tiles, ElementPlan plan, PetscInt nnode, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const Elements el = ElementsCreateMesh(m, mesh, around, nnode);

  PetscFunctionBegin;
  PetscCall(Apply(kernel, &el, m, mesh, tiles, plan, transpose, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementApplyLattice_CUDA(ElementKernel kernel, const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const Elements el = ElementsCreateLattice(m, lattice);

  PetscFunctionBegin;
  PetscCall(Apply(kernel, &el, m, NULL, NULL, plan, transpose, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
