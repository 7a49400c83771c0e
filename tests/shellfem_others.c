static char help[] = "SHELLFEM: values that are not elements, before, after and on top of elements, against aij.\n"
                     "  -lattice         : nodes of a DMDA, else a mesh with nodes in random order\n"
                     "  options of the problem: see shellfemtest.h\n\n";

#include "shellfemtest.h"

typedef struct {
  const char *name;
  PetscErrorCode (*set)(Problem *, Mat);
} Kind;

/* A row of any rank, not the same for each */
static PetscInt RandomRow(Problem *p, PetscInt which)
{
  return (PetscInt)(Noise(p, 31 * p->rank + which, 900) * (PetscReal)p->nnode * (PetscReal)p->dof);
}

static PetscErrorCode SingleEntries(Problem *p, Mat A)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 20; i++) PetscCall(MatSetValue(A, RandomRow(p, i), RandomRow(p, i + 50), NoiseScalar(p, i, 901), ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Diagonal(Problem *p, Mat A)
{
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) PetscCall(MatSetValue(A, i, i, NoiseScalar(p, i, 902), ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Rectangular(Problem *p, Mat A)
{
  PetscInt    rows[3], cols[5];
  PetscScalar v[15];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 3; i++) rows[i] = RandomRow(p, i);
  for (PetscInt i = 0; i < 5; i++) cols[i] = RandomRow(p, i + 10);
  for (PetscInt i = 0; i < 15; i++) v[i] = NoiseScalar(p, i, 903);
  PetscCall(MatSetValues(A, 3, rows, 5, cols, v, ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OtherColumns(Problem *p, Mat A)
{
  PetscInt    rows[4], cols[4];
  PetscScalar v[16];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 4; i++) {
    rows[i]     = RandomRow(p, i);
    cols[3 - i] = rows[i];
  }
  for (PetscInt i = 0; i < 16; i++) v[i] = NoiseScalar(p, i, 904);
  PetscCall(MatSetValues(A, 4, rows, 4, cols, v, ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Square calls with rows and columns left out */
static PetscErrorCode Negative(Problem *p, Mat A)
{
  PetscInt    rows[6];
  PetscScalar v[36];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 36; i++) v[i] = NoiseScalar(p, i, 905);
  for (PetscInt t = 0; t < 3; t++) {
    for (PetscInt i = 0; i < 6; i++) rows[i] = Noise(p, i + t, 906) < .4 ? -1 - i : RandomRow(p, i + 7 * t);
    PetscCall(MatSetValues(A, 6, rows, 6, rows, v, ADD_VALUES));
  }
  for (PetscInt i = 0; i < 6; i++) rows[i] = -1;
  PetscCall(MatSetValues(A, 6, rows, 6, rows, v, ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same node twice in one element: its contributions add up */
static PetscErrorCode Repeated(Problem *p, Mat A)
{
  PetscInt    rows[4];
  PetscScalar v[16];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 16; i++) v[i] = NoiseScalar(p, i, 907);
  rows[0] = rows[2] = RandomRow(p, 0);
  rows[1] = rows[3] = RandomRow(p, 1);
  PetscCall(MatSetValues(A, 4, rows, 4, rows, v, ADD_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values by columns */
static PetscErrorCode ByColumns(Problem *p, Mat A)
{
  PetscInt    rows[5];
  PetscScalar v[25];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 25; i++) v[i] = NoiseScalar(p, i, 908);
  for (PetscInt i = 0; i < 5; i++) rows[i] = RandomRow(p, i);
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_FALSE));
  PetscCall(MatSetValues(A, 5, rows, 5, rows, v, ADD_VALUES));
  PetscCall(MatSetValues(A, 2, rows, 5, rows, v, ADD_VALUES));
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that elements have contributed to are replaced, one also on another rank */
static PetscErrorCode Insert(Problem *p, Mat A)
{
  PetscInt    start, end, rows[4];
  PetscScalar v[16];

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = 0; i < 16; i++) v[i] = NoiseScalar(p, i, 909);
  for (PetscInt i = 0; i < 4; i++) rows[i] = start + i;
  if (end - start >= 4) PetscCall(MatSetValues(A, 4, rows, 4, rows, v, INSERT_VALUES));
  if (p->rank == 0) PetscCall(MatSetValue(A, p->nnode * p->dof - 1, p->nnode * p->dof - 1, 12.5, INSERT_VALUES));
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ... and elements added on top of that, with a flush between */
static PetscErrorCode InsertAdd(Problem *p, Mat A)
{
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) PetscCall(MatSetValue(A, i, i, 3, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(Assemble(p, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More elements after the first assembly, without MatZeroEntries() */
static PetscErrorCode MoreElements(Problem *p, Mat A)
{
  PetscFunctionBeginUser;
  p->step = 1;
  PetscCall(Assemble(p, A));
  p->step = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An element over the whole rank: larger than any shape function has */
static PetscErrorCode Large(Problem *p, Mat A)
{
  const PetscInt n = PetscMin(300, p->nnode * p->dof);
  PetscInt      *rows;
  PetscScalar   *v;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &rows));
  PetscCall(PetscMalloc1(n * n, &v));
  for (PetscInt i = 0; i < n; i++) rows[i] = p->nnode * p->dof - 1 - i;
  for (PetscInt i = 0; i < n * n; i++) v[i] = NoiseScalar(p, i, 910);
  PetscCall(MatSetValues(A, n, rows, n, rows, v, ADD_VALUES));
  PetscCall(Finish(A));
  PetscCall(PetscFree(rows));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Nothing(Problem *p, Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Kind kinds[] = {
  {"nothing", Nothing},
  {"single entries", SingleEntries},
  {"diagonal", Diagonal},
  {"rectangular block", Rectangular},
  {"other columns than rows", OtherColumns},
  {"negative indices", Negative},
  {"node twice in an element", Repeated},
  {"values by columns", ByColumns},
  {"insert over elements", Insert},
  {"insert, flush, elements", InsertAdd},
  {"more elements", MoreElements},
  {"large block", Large}};

int main(int argc, char **argv)
{
  const PetscInt nkind   = sizeof kinds / sizeof *kinds;
  PetscBool      lattice = PETSC_FALSE;
  char           type[64];
  Problem        p;
  Mat            A, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lattice", &lattice, NULL));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, lattice, &p));
  PetscCall(ProblemTestedType(type, sizeof type));
  for (PetscInt k = 0; k < nkind; k++) {
    PetscCall(ProblemCreateMats(&p, &A, &B));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
    PetscCall((*kinds[k].set)(&p, A));
    PetscCall((*kinds[k].set)(&p, B));
    PetscCall(CompareProduct(&p, kinds[k].name, A, B));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(ProblemCreateMat(&p, MATAIJ, &A));
    PetscCall(ProblemCreateMat(&p, type, &B));
    PetscCall((*kinds[k].set)(&p, A));
    PetscCall((*kinds[k].set)(&p, B));
    PetscCall(Assemble(&p, A));
    PetscCall(Assemble(&p, B));
    PetscCall(CompareProduct(&p, "  before the elements", A, B));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(ProblemCreateMats(&p, &A, &B));
  for (PetscInt k = 0; k < nkind; k++) {
    PetscCall((*kinds[k].set)(&p, A));
    PetscCall((*kinds[k].set)(&p, B));
  }
  PetscCall(CompareProduct(&p, "all of them", A, B));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatZeroEntries(B));
  PetscCall(Assemble(&p, A));
  PetscCall(Assemble(&p, B));
  PetscCall(CompareProduct(&p, "zeroed, elements again", A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/shellfem_others_1.out
    test:
      suffix: 1
      nsize: {{1 3}}
      args: -lattice {{0 1}}
    test:
      suffix: full
      nsize: 2
      args: -full 0.3 -simplices 0.3 -lattice {{0 1}}
    test:
      suffix: empty
      nsize: 3
      args: -empty_rank
    test:
      suffix: gpu
      requires: cuda
      nsize: {{1 2}}
      args: -vec_type cuda -lattice {{0 1}}

TEST*/
