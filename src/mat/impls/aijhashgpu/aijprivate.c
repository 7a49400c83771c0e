/*
  The only file of this type that includes headers PETSc does not install, for two things that no public function does:
  - a product hands its arrays to a MATSEQAIJ without a copy (MatSeqAIJSetPreallocationCSR() copies them, and
    MatCreateSeqAIJWithArrays() leaves them to the caller, who would not know when to free them);
  - the vector of ghost values of a MATMPIAIJ takes the type of the vectors it is used with.
*/
#include "aijhashgpuimpl.h"
#include <../src/mat/impls/aij/mpi/mpiaij.h>

PetscErrorCode MatSeqAIJHashGPUSetCSR(Mat C, PetscInt *i, PetscInt *j, PetscScalar *a)
{
  Mat_SeqAIJ    *c;
  const PetscInt m = C->rmap->n;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetPreallocation(C, MAT_SKIP_ALLOCATION, NULL));
  c = (Mat_SeqAIJ *)C->data;
  PetscCall(MatSeqXAIJFreeAIJ(C, &c->a, &c->j, &c->i));
  PetscCall(PetscFree(c->ilen));
  PetscCall(PetscFree(c->imax));
  PetscCall(PetscMalloc1(m, &c->imax));
  PetscCall(PetscMalloc1(m, &c->ilen));
  c->nonzerorowcnt = 0;
  c->rmax          = 0;
  for (PetscInt row = 0; row < m; row++) {
    const PetscInt length = i[row + 1] - i[row];

    c->ilen[row] = c->imax[row] = length;
    c->nonzerorowcnt += !!length;
    c->rmax = PetscMax(c->rmax, length);
  }
  c->i              = i;
  c->j              = j;
  c->a              = a;
  c->nz             = i[m];
  c->maxnz          = i[m];
  c->free_a         = PETSC_TRUE;
  c->free_ij        = PETSC_TRUE;
  c->free_imax_ilen = PETSC_TRUE;
  C->preallocated   = PETSC_TRUE;
  C->nonzerostate++;
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMPIAIJHashGPUSetGhostVecType(Mat A, VecType type)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  if (a->lvec) PetscCall(VecSetType(a->lvec, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
