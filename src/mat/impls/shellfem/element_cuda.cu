/*
  Chooses the kernel for a product on the GPU, and does what comes after the sum of the elements where the kernel does not.
*/
#include "element_kernels_cuda.h"
#include "element_march_cuda.h"

struct _n_ElementWork {
  void  *array[WORK_NSLOTS];
  size_t bytes[WORK_NSLOTS];
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

/* Why a kernel cannot be used, NULL if it can */
static const char *WhyNot(ElementKernel kernel, const Elements *el, const ElementMatrices *m, ElementPlan plan, const ElementVectors *v)
{
  const PetscBool single = (PetscBool)(m->nref == 1 && !m->full), hex = (PetscBool)(!el->conn && el->nen == 8 && el->bs == 3);

  switch (kernel) {
  case ELEMENT_KERNEL_THREESTAGE:
    if (!single) return "one reference matrix for all elements";
    return v->precision == ELEMENT_BFLOAT16 ? "precision double or single" : NULL;
  case ELEMENT_KERNEL_FUSED:
    if (!single) return "one reference matrix for all elements";
    if (el->ndof != 24 && el->ndof != 8) return "elements with 24 or 8 dofs";
    return v->precision == ELEMENT_BFLOAT16 ? "precision double or single" : NULL;
  case ELEMENT_KERNEL_PARITY:
    return el->conn || !ElementMarchFits(m, &el->lattice, plan, v) ? "cells of a DMDA with 3 dofs for each node and one reference matrix with the symmetries of a box" : NULL;
  case ELEMENT_KERNEL_DMMA:
    if (!single || !hex) return "cells of a DMDA with 3 dofs for each node and one reference matrix";
    return v->precision != ELEMENT_DOUBLE ? "precision double" : NULL;
  case ELEMENT_KERNEL_WMMA:
    if (!single || !hex) return "cells of a DMDA with 3 dofs for each node and one reference matrix";
    return v->precision == ELEMENT_DOUBLE ? "precision single or bfloat16 (-mat_shellfem_precision)" : NULL;
  default:
    return NULL;
  }
}

/* The sum of the elements by one kernel, to y; those with matrices of their own are left out by PARITY */
static PetscErrorCode Sum(ElementKernel kernel, const Elements *el, const ElementMatrices *m, ElementPlan plan, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  PetscBool rigid = PETSC_FALSE;

  PetscFunctionBegin;
  if (plan) (void)ElementPlanGetParity(plan, transpose, &rigid);
  else rigid = (PetscBool)(m->rigid && v->precision != ELEMENT_DOUBLE);
  switch (kernel) {
  case ELEMENT_KERNEL_THREESTAGE:
    PetscCall(ElementThreeStage_CUDA(el, transpose, v, work, stream));
    break;
  case ELEMENT_KERNEL_FUSED:
    PetscCall(ElementFused_CUDA(el, transpose, v, work, stream));
    break;
  case ELEMENT_KERNEL_PARITY:
    PetscCall(ElementMarch_CUDA(m, &el->lattice, plan, transpose, v, stream));
    if (m->full) PetscCall(ElementNode_CUDA(el, transpose, rigid, PETSC_TRUE, v, stream));
    break;
  case ELEMENT_KERNEL_DMMA:
  case ELEMENT_KERNEL_WMMA:
    PetscCall(ElementTensor_CUDA(el, transpose, rigid, v, stream));
    break;
  default:
    PetscCall(ElementNode_CUDA(el, transpose, rigid, PETSC_FALSE, v, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(ElementKernel kernel, const Elements *el, const ElementMatrices *m, ElementPlan plan, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const size_t     size = v->precision == ELEMENT_DOUBLE ? sizeof(double) : v->precision == ELEMENT_SINGLE ? sizeof(float) : sizeof(__nv_bfloat16);
  const PetscCount n    = (PetscCount)el->nnode * el->bs;
  const char      *why;
  ElementVectors   sum = *v, rest = *v;
  PetscBool        isnew;

  PetscFunctionBegin;
  PetscCall(ElementCheckReal());
  if (kernel == ELEMENT_KERNEL_AUTO) kernel = WhyNot(ELEMENT_KERNEL_PARITY, el, m, plan, v) ? ELEMENT_KERNEL_NODE : ELEMENT_KERNEL_PARITY;
  why = WhyNot(kernel, el, m, plan, v);
  PetscCheck(!why, PETSC_COMM_SELF, PETSC_ERR_SUP, "The kernel %s of MATSHELLFEM needs %s; use -mat_shellfem_kernel auto", ElementKernels[kernel], why);
  if (kernel == ELEMENT_KERNEL_PARITY && !m->full) {
    PetscCall(ElementMarch_CUDA(m, &el->lattice, plan, transpose, v, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  sum.D = sum.z = sum.dinv = NULL;
  if (v->z == v->y && !v->dinv) { /* what is added to would be lost */
    void *z;

    PetscCall(ElementWorkGet(work, WORK_ADDED, size * (size_t)n, &z, &isnew));
    PetscCallCUDA(cudaMemcpyAsync(z, v->y, size * (size_t)n, cudaMemcpyDeviceToDevice, stream));
    rest.z = z;
  }
  PetscCall(Sum(kernel, el, m, plan, transpose, &sum, work, stream));
  PetscCall(LaunchFinish(n, &rest, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementApplyMesh_CUDA(ElementKernel kernel, const ElementMatrices *m, const ElementMesh *mesh, const ElementAdjacency *around, PetscInt nnode, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const Elements el = ElementsCreateMesh(m, mesh, around, nnode);

  PetscFunctionBegin;
  PetscCall(Apply(kernel, &el, m, NULL, transpose, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementApplyLattice_CUDA(ElementKernel kernel, const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, PetscBool transpose, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const Elements el = ElementsCreateLattice(m, lattice);

  PetscFunctionBegin;
  PetscCall(Apply(kernel, &el, m, plan, transpose, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
