/*
  The precision of products, and matrices that apply the elements of another one in a precision of their own
*/
#include "shellfemimpl.h"

const char *const MatShellFEMPrecisions[] = {"double", "single", "bfloat16", "MatShellFEMPrecision", "MAT_SHELLFEM_PRECISION_", NULL};

static PetscErrorCode MatCheckPrecision(Mat A, MatShellFEMPrecision precision)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELLFEM, &ours));
  PetscCheck(ours, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix has type %s, not shellfem", ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "(not set)");
  PetscCheck(!PetscDefined(USE_COMPLEX) || precision == MAT_SHELLFEM_PRECISION_PETSC, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Products in precision %s are for real scalars", MatShellFEMPrecisions[precision]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMSetPrecision - Sets how products with a vector store vectors and scales

  Logically Collective

  Input Parameters:
+ A         - the `MATSHELLFEM` matrix
- precision - `MAT_SHELLFEM_PRECISION_DOUBLE`, `MAT_SHELLFEM_PRECISION_SINGLE` or `MAT_SHELLFEM_PRECISION_BFLOAT16`

  Options Database Key:
. -mat_shellfem_precision <double> - double, single, bfloat16

  Level: intermediate

  Note:
  Below the precision of `PetscScalar` the product is for preconditioners. `KSPIR` solves with such a product inside and
  residuals in `PetscScalar` outside.

.seealso: `MATSHELLFEM`, `MatShellFEMGetPrecision()`, `MatShellFEMCreateInPrecision()`, `KSPIR`
@*/
PetscErrorCode MatShellFEMSetPrecision(Mat A, MatShellFEMPrecision precision)
{
  Mat_ShellFEM *a;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, precision, 2);
  PetscCall(MatCheckPrecision(A, precision));
  a = (Mat_ShellFEM *)A->data;
  if (a->precision == (ElementPrecision)precision) PetscFunctionReturn(PETSC_SUCCESS);
  a->precision = (ElementPrecision)precision;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMGetPrecision - Gets how products with a vector store vectors and scales

  Not Collective

  Input Parameter:
. A - the `MATSHELLFEM` matrix

  Output Parameter:
. precision - the precision

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMSetPrecision()`
@*/
PetscErrorCode MatShellFEMGetPrecision(Mat A, MatShellFEMPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  PetscCall(MatCheckPrecision(A, MAT_SHELLFEM_PRECISION_PETSC));
  *precision = (MatShellFEMPrecision)((Mat_ShellFEM *)A->data)->precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat              A; /* whose elements these are */
  ElementPrecision precision;
} InPrecision;

/* The precision is no part of the value of A: its state does not change, so that no preconditioner is set up again */
static PetscErrorCode InPrecisionApply(Mat B, PetscErrorCode (*product)(Mat, Vec, Vec), Vec x, Vec y)
{
  InPrecision     *b;
  Mat_ShellFEM    *a;
  ElementPrecision own;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(B, &b));
  a            = (Mat_ShellFEM *)b->A->data;
  own          = a->precision;
  a->precision = b->precision;
  PetscCall((*product)(b->A, x, y));
  a->precision = own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_InPrecision(Mat B, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(InPrecisionApply(B, MatMult, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_InPrecision(Mat B, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(InPrecisionApply(B, MatMultTranspose, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_InPrecision(Mat B, Vec d)
{
  InPrecision *b;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(B, &b));
  PetscCall(MatGetDiagonal(b->A, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InPrecisionDestroy(void **ctx)
{
  InPrecision *b = *(InPrecision **)ctx;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&b->A));
  PetscCall(PetscFree(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMCreateInPrecision - Creates a matrix that applies the elements of another one in a precision of its own

  Collective

  Input Parameters:
+ A         - the `MATSHELLFEM` matrix
- precision - how products store vectors and scales

  Output Parameter:
. B - the matrix, of type `MATSHELL`

  Level: advanced

  Notes:
  Nothing is copied: `B` refers to the elements of `A`, and what happens to `A` later (assembly, scales, boundary conditions)
  has happened to `B`. The object state of `B` does not follow that of `A`.

  `B` has products with vectors, also transposed, and the diagonal of `A`. Null spaces are those that are given to it.

.seealso: `MATSHELLFEM`, `MatShellFEMSetPrecision()`, `KSPIR`, `KSPIRSetInnerPrecision()`
@*/
PetscErrorCode MatShellFEMCreateInPrecision(Mat A, MatShellFEMPrecision precision, Mat *B)
{
  InPrecision *b;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, precision, 2);
  PetscAssertPointer(B, 3);
  PetscCall(MatCheckPrecision(A, precision));
  PetscCall(PetscNew(&b));
  PetscCall(PetscObjectReference((PetscObject)A));
  b->A         = A;
  b->precision = (ElementPrecision)precision;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, MATSHELL));
  PetscCall(MatShellSetContext(*B, b));
  PetscCall(MatShellSetContextDestroy(*B, (PetscCtxDestroyFn *)InPrecisionDestroy));
  PetscCall(MatShellSetOperation(*B, MATOP_MULT, (void (*)(void))MatMult_InPrecision));
  PetscCall(MatShellSetOperation(*B, MATOP_MULT_TRANSPOSE, (void (*)(void))MatMultTranspose_InPrecision));
  PetscCall(MatShellSetOperation(*B, MATOP_GET_DIAGONAL, (void (*)(void))MatGetDiagonal_InPrecision));
  PetscCall(MatShellSetVecType(*B, A->defaultvectype));
  PetscCall(MatSetUp(*B));
  PetscCall(MatPropagateSymmetryOptions(A, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
