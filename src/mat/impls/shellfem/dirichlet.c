/*
  Boundary conditions and scalings: what MatZeroRows(), MatZeroRowsColumns(), MatDiagonalScale(), MatDiagonalSet() and
  MatShift() do to A = L E R + D + S. No element is touched.
*/
#include "shellfemimpl.h"

static PetscErrorCode MatShellFEMCreateVec(Mat A, PetscScalar value, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)A), v));
  PetscCall(VecSetSizes(*v, A->rmap->n, A->rmap->N));
  PetscCall(VecSetBlockSize(*v, A->rmap->bs));
  PetscCall(VecSetType(*v, VECSTANDARD));
  PetscCall(VecSet(*v, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool VecsUseDevice(Vec w, Vec v)
{
#if PetscDefined(HAVE_DEVICE)
  return (PetscBool)(w->ops->bindtocpu && !w->boundtocpu && v->ops->bindtocpu && !v->boundtocpu);
#else
  return PETSC_FALSE;
#endif
}

/* w = w .* v and w += s v, whether either lies on the GPU or not */
PetscErrorCode VecTimes_ShellFEM(Vec w, Vec v)
{
  const PetscScalar *va;
  PetscScalar       *wa;
  PetscInt           n;

  PetscFunctionBegin;
  if (VecsUseDevice(w, v)) {
    PetscCall(VecPointwiseMult(w, w, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(w, &n));
  PetscCall(VecGetArrayRead(v, &va));
  PetscCall(VecGetArray(w, &wa));
  for (PetscInt k = 0; k < n; k++) wa[k] *= va[k];
  PetscCall(VecRestoreArray(w, &wa));
  PetscCall(VecRestoreArrayRead(v, &va));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecPlus_ShellFEM(Vec w, PetscScalar s, Vec v)
{
  const PetscScalar *va;
  PetscScalar       *wa;
  PetscInt           n;

  PetscFunctionBegin;
  if (VecsUseDevice(w, v)) {
    PetscCall(VecAXPY(w, s, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(w, &n));
  PetscCall(VecGetArrayRead(v, &va));
  PetscCall(VecGetArray(w, &wa));
  for (PetscInt k = 0; k < n; k++) wa[k] += s * va[k];
  PetscCall(VecRestoreArray(w, &wa));
  PetscCall(VecRestoreArrayRead(v, &va));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMGetScalings(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  if (!a->L) {
    PetscCall(MatShellFEMCreateVec(A, 1., &a->L));
    PetscCall(MatShellFEMCreateVec(A, 1., &a->R));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMGetShift(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  if (!a->D) PetscCall(MatShellFEMCreateVec(A, 0., &a->D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMToMask(Mat A, PetscBool box, unsigned char **mask)
{
  Mat_ShellFEM      *a = (Mat_ShellFEM *)A->data;
  const PetscScalar *v;
  PetscInt           n;
  Vec                local;

  PetscFunctionBegin;
  PetscCall(PetscFree(*mask));
  PetscCall(MatShellFEMForward(A, box, a->L, &local));
  PetscCall(VecGetLocalSize(local, &n));
  PetscCall(PetscMalloc1(n, mask));
  PetscCall(VecGetArrayRead(local, &v));
  for (PetscInt k = 0; k < n; k++) (*mask)[k] = v[k] != (PetscScalar)0. ? 1 : 0;
  PetscCall(VecRestoreArrayRead(local, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Are L and R the same zeros and ones? Then the kernels apply them. Collective. */
PetscErrorCode MatShellFEMUpdateMask(Mat A)
{
  Mat_ShellFEM      *a = (Mat_ShellFEM *)A->data;
  const PetscScalar *l, *r;
  PetscBool          mask = PETSC_TRUE;

  PetscFunctionBegin;
  a->state++;
  a->conditionsstate++;
  a->masked = PETSC_FALSE;
  PetscCall(PetscFree(a->mask));
  PetscCall(PetscFree(a->boxmask));
  if (!a->L) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(a->L, &l));
  PetscCall(VecGetArrayRead(a->R, &r));
  for (PetscInt k = 0; k < A->rmap->n && mask; k++) mask = l[k] == r[k] && (l[k] == (PetscScalar)0. || l[k] == (PetscScalar)1.) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(VecRestoreArrayRead(a->L, &l));
  PetscCall(VecRestoreArrayRead(a->R, &r));
  PetscCallMPI(MPIU_Allreduce(&mask, &a->masked, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!a->masked) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->lattice) PetscCall(MatShellFEMToMask(A, PETSC_TRUE, &a->boxmask));
  if (a->groups || a->scatter) PetscCall(MatShellFEMToMask(A, PETSC_FALSE, &a->mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 on the rows named by any process, 0 elsewhere */
static PetscErrorCode MatShellFEMMarkRows(Mat A, PetscInt n, const PetscInt rows[], Vec *marks)
{
  PetscFunctionBegin;
  PetscCall(MatShellFEMCreateVec(A, 0., marks));
  for (PetscInt k = 0; k < n; k++) {
    PetscCheck(rows[k] < A->rmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Row %" PetscInt_FMT " to be zeroed is beyond the last, %" PetscInt_FMT, rows[k], A->rmap->N - 1);
    PetscCall(VecSetValue(*marks, rows[k], 1., INSERT_VALUES)); /* negative rows are ignored */
  }
  PetscCall(VecAssemblyBegin(*marks));
  PetscCall(VecAssemblyEnd(*marks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = value on marked rows */
static PetscErrorCode VecSetMarked(Vec v, Vec marks, PetscScalar value)
{
  const PetscScalar *m;
  PetscScalar       *va;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(marks, &m));
  PetscCall(VecGetArray(v, &va));
  for (PetscInt k = 0; k < n; k++)
    if (m[k] != (PetscScalar)0.) va[k] = value;
  PetscCall(VecRestoreArray(v, &va));
  PetscCall(VecRestoreArrayRead(marks, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = diag x on marked rows */
static PetscErrorCode VecSetMarkedFrom(Vec b, Vec marks, PetscScalar diag, Vec x)
{
  const PetscScalar *m, *xa;
  PetscScalar       *ba;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(VecGetArrayRead(marks, &m));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArray(b, &ba));
  for (PetscInt k = 0; k < n; k++)
    if (m[k] != (PetscScalar)0.) ba[k] = diag * xa[k];
  PetscCall(VecRestoreArray(b, &ba));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArrayRead(marks, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* L = 0 (and R = 0) and D = diag on marked rows */
static PetscErrorCode MatShellFEMHold(Mat A, Vec marks, PetscBool columns, PetscScalar diag)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetScalings(A));
  PetscCall(VecSetMarked(a->L, marks, 0.));
  if (columns) PetscCall(VecSetMarked(a->R, marks, 0.));
  if (a->D || diag != (PetscScalar)0.) {
    PetscCall(MatShellFEMGetShift(A));
    PetscCall(VecSetMarked(a->D, marks, diag));
  }
  PetscCall(MatShellFEMUpdateMask(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatZeroRows_ShellFEM(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  Vec           marks;

  PetscFunctionBegin;
  PetscCall(MatShellFEMMarkRows(A, n, rows, &marks));
  if (x && b) PetscCall(VecSetMarkedFrom(b, marks, diag, x));
  if (a->S) PetscCall(MatZeroRows(a->S, n, rows, 0., NULL, NULL));
  PetscCall(MatShellFEMHold(A, marks, PETSC_FALSE, diag));
  PetscCall(VecDestroy(&marks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatZeroRowsColumns_ShellFEM(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  Vec           marks;

  PetscFunctionBegin;
  PetscCall(MatShellFEMMarkRows(A, n, rows, &marks));
  if (x && b) { /* known values go to the right-hand side: b -= A x with x zero on other rows */
    Vec known, w;

    PetscCall(VecDuplicate(x, &known));
    PetscCall(VecDuplicate(b, &w));
    PetscCall(VecSet(known, 0.));
    PetscCall(VecSetMarkedFrom(known, marks, 1., x));
    PetscCall(MatMult_ShellFEM(A, known, w));
    PetscCall(VecAXPY(b, -1., w));
    PetscCall(VecSetMarkedFrom(b, marks, diag, x));
    PetscCall(VecDestroy(&known));
    PetscCall(VecDestroy(&w));
  }
  if (a->S) PetscCall(MatZeroRowsColumns(a->S, n, rows, 0., NULL, NULL));
  PetscCall(MatShellFEMHold(A, marks, PETSC_TRUE, diag));
  PetscCall(VecDestroy(&marks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDiagonalScale_ShellFEM(Mat A, Vec left, Vec right)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetScalings(A));
  if (left) PetscCall(VecTimes_ShellFEM(a->L, left));
  if (right) PetscCall(VecTimes_ShellFEM(a->R, right));
  if (a->D && left) PetscCall(VecTimes_ShellFEM(a->D, left));
  if (a->D && right) PetscCall(VecTimes_ShellFEM(a->D, right));
  if (a->S) PetscCall(MatDiagonalScale(a->S, left, right));
  PetscCall(MatShellFEMUpdateMask(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDiagonalSet_ShellFEM(Mat A, Vec d, InsertMode mode)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetShift(A));
  if (mode == INSERT_VALUES) { /* D makes up the difference to what the diagonal is now */
    Vec now;

    PetscCall(VecDuplicate(a->D, &now));
    PetscCall(MatGetDiagonal_ShellFEM(A, now));
    PetscCall(VecPlus_ShellFEM(a->D, -1., now));
    PetscCall(VecDestroy(&now));
  }
  PetscCall(VecPlus_ShellFEM(a->D, 1., d));
  a->state++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatShift_ShellFEM(Mat A, PetscScalar s)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetShift(A));
  PetscCall(VecShift(a->D, s));
  a->state++;
  PetscFunctionReturn(PETSC_SUCCESS);
}
