/*
  MATMPIMACKO: rows by process, in a diagonal and an off-diagonal block, as MATMPIAIJ
*/
#include "mackoimpl.h"

/* The ghost values lie where x lies */
static PetscErrorCode MatMACKOGhosts(Mat A, Vec x)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (MatUsesDevice_MACKO(A, x) && !((Mat_MACKO *)A->data)->ghosts->ops->bindtocpu) PetscCall(VecSetType(((Mat_MACKO *)A->data)->ghosts, VECSEQCUDA));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = y + A x, y NULL for zero; the local product runs while ghost values travel */
static PetscErrorCode MatMACKOApply_MPI(Mat A, Vec x, Vec y, Vec z)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMACKOGhosts(A, x));
  PetscCall(VecScatterBegin(a->scatter, x, a->ghosts, INSERT_VALUES, SCATTER_FORWARD));
  if (y)
    PetscCall((*a->A->ops->multadd)(a->A, x, y, z));
  else
    PetscCall((*a->A->ops->mult)(a->A, x, z));
  PetscCall(VecScatterEnd(a->scatter, x, a->ghosts, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall((*a->B->ops->multadd)(a->B, a->ghosts, z, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_MPIMACKO(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMACKOApply_MPI(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_MPIMACKO(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(MatMACKOApply_MPI(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMACKOApplyTranspose_MPI(Mat A, Vec x, Vec y, Vec z)
{
  Mat_MACKO *a = (Mat_MACKO *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMACKOGhosts(A, x));
  PetscCall((*a->B->ops->multtranspose)(a->B, x, a->ghosts));
  if (y)
    PetscCall((*a->A->ops->multtransposeadd)(a->A, x, y, z));
  else
    PetscCall((*a->A->ops->multtranspose)(a->A, x, z));
  PetscCall(VecScatterBegin(a->scatter, a->ghosts, z, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(a->scatter, a->ghosts, z, ADD_VALUES, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_MPIMACKO(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMACKOApplyTranspose_MPI(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_MPIMACKO(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(MatMACKOApplyTranspose_MPI(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIMACKO(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetUp_MACKO(A));
  A->ops->mult             = MatMult_MPIMACKO;
  A->ops->multadd          = MatMultAdd_MPIMACKO;
  A->ops->multtranspose    = MatMultTranspose_MPIMACKO;
  A->ops->multtransposeadd = MatMultTransposeAdd_MPIMACKO;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATMPIMACKO));
  MatStartUnbound(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}
