#include "aijhashgpuimpl.h"

PetscErrorCode MatProductSetFromOptions_SeqAIJHashGPU(Mat C)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJHashGPUGetBaseOps(&base));
  PetscCall(base->productsetfromoptions(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode MatProductSetFromOptions_MPIAIJHashGPU(Mat C)
{
  const struct _MatOps *base;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJHashGPUGetBaseOps(&base));
  PetscCall(base->productsetfromoptions(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* Products with dense matrices are PETSc's own, found under the name of the base type */
PetscErrorCode MatProductSetFromOptions_AIJHashGPU_Dense(Mat C)
{
  Mat         A = C->product->A, B = C->product->B;
  const char *const names[] = {"MatProductSetFromOptions_seqaij_seqdense_C", "MatProductSetFromOptions_mpiaij_mpidense_C", "MatProductSetFromOptions_mpidense_mpiaij_C"};
  PetscBool   mpi, left;
  PetscErrorCode (*f)(Mat) = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIDENSE, &left));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)B, MATMPIDENSE, &mpi));
  PetscCall(PetscObjectQueryFunction((PetscObject)(left ? A : B), names[left ? 2 : mpi], &f));
  if (f) PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
