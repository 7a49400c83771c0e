static char help[] = "SHELLFEM: Dirichlet conditions in every form that PETSc has, and diagonal scalings, against aij.\n"
                     "  -lattice         : nodes of a DMDA, else a mesh with nodes in random order\n"
                     "  options of the problem: see shellfemtest.h\n\n";

#include "shellfemtest.h"

typedef enum {
  FORM_GLOBAL,
  FORM_IS,
  FORM_LOCAL,
  FORM_LOCALIS,
  FORM_STENCIL
} Form;
static const char *const Forms[] = {"", "IS", "Local", "LocalIS", "Stencil"};

/* Owned rows held fixed, as local indices; some ranks may have none */
static PetscErrorCode HeldRows(Problem *p, PetscInt which, PetscInt *n, PetscInt **rows)
{
  PetscFunctionBeginUser;
  *n = 0;
  PetscCall(PetscMalloc1(p->nlocal * p->dof, rows));
  for (PetscInt i = 0; i < p->nlocal * p->dof; i++)
    if (Noise(p, i + 1000 * p->rank, 700 + which) < .2) (*rows)[(*n)++] = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local numbers of owned nodes: first with a mesh, inside the box of ghosts with a DMDA */
static PetscErrorCode OwnedToLocal(Problem *p, PetscInt n, const PetscInt owned[], PetscInt local[], MatStencil place[])
{
  PetscInt corner[3], width[3];

  PetscFunctionBeginUser;
  if (p->da) PetscCall(DMDAGetCorners(p->da, &corner[0], &corner[1], &corner[2], &width[0], &width[1], &width[2]));
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt node = owned[r] / p->dof, c = owned[r] % p->dof;

    local[r] = owned[r];
    if (!p->da) continue;
    const PetscInt i = corner[0] + node % width[0], j = corner[1] + node / width[0] % width[1], k = corner[2] + node / (width[0] * width[1]);

    place[r] = (MatStencil){.i = i, .j = j, .k = k, .c = c};
    local[r] = (((k - p->ghost[2]) * p->ghost[4] + j - p->ghost[1]) * p->ghost[3] + i - p->ghost[0]) * p->dof + c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(Problem *p, Mat A, Form form, PetscBool columns, PetscInt which, PetscScalar diag, Vec x, Vec b)
{
  PetscInt    n, *owned, *local, *global, start;
  MatStencil *place;
  IS          is;

  PetscFunctionBeginUser;
  PetscCall(HeldRows(p, which, &n, &owned));
  PetscCall(PetscMalloc3(n, &local, n, &global, n, &place));
  PetscCall(OwnedToLocal(p, n, owned, local, place));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  for (PetscInt i = 0; i < n; i++) global[i] = start + owned[i];
  PetscCall(ISCreateGeneral(p->comm, n, form == FORM_LOCALIS ? local : global, PETSC_COPY_VALUES, &is));
  switch (form) {
  case FORM_GLOBAL:
    PetscCall((columns ? MatZeroRowsColumns : MatZeroRows)(A, n, global, diag, x, b));
    break;
  case FORM_IS:
    PetscCall((columns ? MatZeroRowsColumnsIS : MatZeroRowsIS)(A, is, diag, x, b));
    break;
  case FORM_LOCAL:
    PetscCall((columns ? MatZeroRowsColumnsLocal : MatZeroRowsLocal)(A, n, local, diag, x, b));
    break;
  case FORM_LOCALIS:
    PetscCall((columns ? MatZeroRowsColumnsLocalIS : MatZeroRowsLocalIS)(A, is, diag, x, b));
    break;
  case FORM_STENCIL:
    PetscCall((columns ? MatZeroRowsColumnsStencil : MatZeroRowsStencil)(A, n, place, diag, x, b));
  }
  PetscCall(ISDestroy(&is));
  PetscCall(PetscFree3(local, global, place));
  PetscCall(PetscFree(owned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What b becomes when rows of the assembled matrix B are held: on the host, whatever the type of the vectors */
static PetscErrorCode ExpectedRightHandSide(Problem *p, Mat B, Form form, PetscBool columns, PetscScalar diag, Vec x, Vec b)
{
  Vec                known, w;
  PetscInt           n, *rows, start;
  const PetscScalar *xa;
  PetscScalar       *wa, *ba;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(B, &known, &w));
  PetscCall(HeldRows(p, 0, &n, &rows));
  if (!p->da && (form == FORM_LOCAL || form == FORM_LOCALIS)) { /* owned nodes come first there, in an order of their own */
    ISLocalToGlobalMapping map;

    PetscCall(MatGetLocalToGlobalMapping(B, &map, NULL));
    PetscCall(MatGetOwnershipRange(B, &start, NULL));
    PetscCall(ISLocalToGlobalMappingApply(map, n, rows, rows));
    for (PetscInt i = 0; i < n; i++) rows[i] -= start;
  }
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayWrite(known, &wa));
  PetscCall(PetscArrayzero(wa, p->nlocal * p->dof));
  for (PetscInt i = 0; i < n; i++) wa[rows[i]] = xa[rows[i]];
  PetscCall(VecRestoreArrayWrite(known, &wa));
  if (columns)
    PetscCall(MatMult(B, known, w));
  else
    PetscCall(VecSet(w, 0));
  PetscCall(VecGetArray(w, &wa));
  PetscCall(VecGetArray(b, &ba));
  for (PetscInt i = 0; i < p->nlocal * p->dof; i++) ba[i] -= wa[i];
  for (PetscInt i = 0; i < n; i++) ba[rows[i]] = diag * xa[rows[i]];
  PetscCall(VecRestoreArray(b, &ba));
  PetscCall(VecRestoreArray(w, &wa));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(PetscFree(rows));
  PetscCall(VecDestroy(&known));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Product and right-hand side after one form */
static PetscErrorCode TestForm(Problem *p, Form form, PetscBool columns)
{
  char name[64];
  Mat  A, B;
  Vec  x, ba, bb, expected;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(name, sizeof name, "MatZeroRows%s%s", columns ? "Columns" : "", Forms[form]));
  PetscCall(ProblemCreateMats(p, &A, &B));
  PetscCall(ProblemCreateVec(p, 5, &x));
  PetscCall(ProblemCreateVec(p, 6, &ba));
  PetscCall(VecDuplicate(ba, &bb));
  PetscCall(VecCopy(ba, bb));
  PetscCall(VecDuplicate(ba, &expected));
  PetscCall(VecCopy(ba, expected));
  PetscCall(ExpectedRightHandSide(p, A, form, columns, 2.5, x, expected));
  PetscCall(ZeroRows(p, A, form, columns, 0, 2.5, x, ba));
  PetscCall(ZeroRows(p, B, form, columns, 0, 2.5, x, bb));
  PetscCall(CompareProduct(p, name, A, B));
  PetscCall(CheckVec("  right-hand side", bb, expected));
  PetscCall(VecDestroy(&expected));
  PetscCall(ZeroRows(p, A, form, columns, 1, 0.5, NULL, NULL));
  PetscCall(ZeroRows(p, B, form, columns, 1, 0.5, NULL, NULL));
  PetscCall(CompareProduct(p, "  and once more, other rows", A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&ba));
  PetscCall(VecDestroy(&bb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What follows the conditions: every step against aij on the same pair */
static PetscErrorCode TestSequence(Problem *p, PetscBool columns)
{
  Mat M[2];

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "after MatZeroRows%s\n", columns ? "Columns" : ""));
  PetscCall(ProblemCreateMats(p, &M[0], &M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(ZeroRows(p, M[i], FORM_GLOBAL, columns, 0, 3, NULL, NULL));
  PetscCall(CompareProducts(p, M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatScale(M[i], -2));
  PetscCall(CompareProduct(p, "MatScale", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatShift(M[i], 1.5));
  PetscCall(CompareProduct(p, "MatShift", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(ZeroRows(p, M[i], FORM_GLOBAL, PETSC_TRUE, 1, 1, NULL, NULL));
  PetscCall(CompareProduct(p, "MatZeroRowsColumns", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(ZeroRows(p, M[i], FORM_GLOBAL, PETSC_FALSE, 2, 7, NULL, NULL));
  PetscCall(CompareProduct(p, "MatZeroRows", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(Assemble(p, M[i]));
  PetscCall(CompareProduct(p, "elements on top", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(MatZeroEntries(M[i]));
    PetscCall(Assemble(p, M[i]));
  }
  PetscCall(CompareProduct(p, "assembled again without conditions", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(ZeroRows(p, M[i], FORM_GLOBAL, columns, 2, 0, NULL, NULL));
  PetscCall(CompareProduct(p, "conditions with zero on the diagonal", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDestroy(&M[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 free, 0 held, as programs of topology optimization have it */
static PetscErrorCode CreateMask(Problem *p, Vec *mask)
{
  PetscInt     n, *rows;
  PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateVec(p, 0, mask));
  PetscCall(VecSet(*mask, 1));
  PetscCall(HeldRows(p, 0, &n, &rows));
  PetscCall(VecGetArray(*mask, &v));
  for (PetscInt i = 0; i < n; i++) v[rows[i]] = 0;
  PetscCall(VecRestoreArray(*mask, &v));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDiagonals(Problem *p)
{
  Mat M[2];
  Vec mask, held, l, r;

  PetscFunctionBeginUser;
  PetscCall(CreateMask(p, &mask));
  PetscCall(VecDuplicate(mask, &held));
  PetscCall(VecSet(held, 1));
  PetscCall(VecAXPY(held, -1, mask));
  PetscCall(ProblemCreateVec(p, 7, &l));
  PetscCall(ProblemCreateVec(p, 8, &r));
  PetscCall(ProblemCreateMats(p, &M[0], &M[1]));
  for (PetscInt step = 0; step < 2; step++) {
    p->step = step;
    for (PetscInt i = 0; i < 2; i++) {
      PetscCall(MatZeroEntries(M[i]));
      PetscCall(Assemble(p, M[i]));
      PetscCall(MatDiagonalScale(M[i], mask, mask));
      PetscCall(MatDiagonalSet(M[i], held, ADD_VALUES));
    }
    PetscCall(CompareProduct(p, "MatDiagonalScale by zeros and ones, MatDiagonalSet", M[0], M[1]));
  }
  p->step = 0;
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDiagonalScale(M[i], mask, NULL));
  PetscCall(CompareProduct(p, "MatDiagonalScale by zeros and ones, rows", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDiagonalScale(M[i], l, NULL));
  PetscCall(CompareProduct(p, "MatDiagonalScale, rows", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDiagonalScale(M[i], NULL, r));
  PetscCall(CompareProduct(p, "MatDiagonalScale, columns", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDiagonalScale(M[i], r, l));
  PetscCall(CompareProduct(p, "MatDiagonalScale, both", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDiagonalSet(M[i], l, ADD_VALUES));
  PetscCall(CompareProduct(p, "MatDiagonalSet, add", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDiagonalSet(M[i], r, INSERT_VALUES));
  PetscCall(CompareProduct(p, "MatDiagonalSet, insert", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(ZeroRows(p, M[i], FORM_GLOBAL, PETSC_TRUE, 1, 1, NULL, NULL));
  PetscCall(CompareProduct(p, "MatZeroRowsColumns after that", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(Assemble(p, M[i]));
  PetscCall(CompareProduct(p, "elements on top", M[0], M[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDestroy(&M[i]));
  PetscCall(VecDestroy(&mask));
  PetscCall(VecDestroy(&held));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool lattice = PETSC_FALSE;
  Problem   p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lattice", &lattice, NULL));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, lattice, &p));
  for (PetscInt columns = 0; columns < 2; columns++)
    for (PetscInt form = FORM_GLOBAL; form <= (lattice ? FORM_STENCIL : FORM_LOCALIS); form++) PetscCall(TestForm(&p, (Form)form, (PetscBool)columns));
  PetscCall(TestSequence(&p, PETSC_FALSE));
  PetscCall(TestSequence(&p, PETSC_TRUE));
  PetscCall(TestDiagonals(&p));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/shellfem_dirichlet_mesh.out
    test:
      suffix: mesh
      nsize: {{1 3}}
      args: -full {{0 0.3}}
    test:
      suffix: empty
      nsize: 3
      args: -empty_rank -simplices 0.5
    test:
      suffix: mesh_gpu
      requires: cuda
      nsize: {{1 2}}
      args: -vec_type cuda

  testset:
    output_file: output/shellfem_dirichlet_lattice.out
    args: -lattice
    test:
      suffix: lattice
      nsize: {{1 3}}
      args: -dim {{2 3}}
    test:
      suffix: lattice_full
      nsize: 2
      args: -full 0.3 -simplices 0.2 -dof 1
    test:
      suffix: lattice_gpu
      requires: cuda
      nsize: {{1 2}}
      args: -vec_type cuda

TEST*/
