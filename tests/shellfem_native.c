static char help[] = "SHELLFEM: elements given by connectivity or by the cells of a DMDA, reference matrices and scales, against aij.\n"
                     "  -lattice         : nodes of a DMDA, else a mesh with nodes in random order\n"
                     "  options of the problem: see shellfemtest.h\n\n";

#include "shellfemtest.h"
#include <matshellfem.h>
#include <math.h>

/* The same elements as arrays, in the order in which AddElements() gives them */
typedef struct {
  PetscInt     nel, ndof, nen, *conn, *ref;
  PetscScalar *reference, *scale, *full, *energy; /* energy: u_e' K v_e with K of the reference */
  Vec          u, v;
  PetscScalar *ul, *vl; /* all entries of u and v */
} Arrays;

static PetscErrorCode CountVisitor(Problem *p, PetscInt id, Element *e, void *ctx)
{
  PetscFunctionBeginUser;
  ((Arrays *)ctx)->nel++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillVisitor(Problem *p, PetscInt id, Element *e, void *ctx)
{
  Arrays        *a    = (Arrays *)ctx;
  const PetscInt ndof = a->ndof, k = a->nel++, r = (PetscInt)(Noise(p, id, 3) * (PetscReal)p->references);
  PetscInt       local[MAXNODES], *global = a->conn + k * a->nen;
  MatStencil     place[MAXNODES];
  Element        t = *e;

  PetscFunctionBeginUser;
  PetscCall(ProblemIndices(p, e, local, global, place));
  a->ref[k]   = r;
  a->scale[k] = PetscPowReal(p->contrast, Noise(p, id, 10 + p->step));
  PetscCall(PetscArraycpy(a->full + (size_t)k * ndof * ndof, e->K, ndof * ndof));
  ElementTruss(p, r, &t);
  PetscCall(PetscArraycpy(a->reference + (size_t)r * ndof * ndof, t.K, ndof * ndof));
  a->energy[k] = 0;
  for (PetscInt i = 0; i < ndof; i++)
    for (PetscInt j = 0; j < ndof; j++) a->energy[k] += a->ul[global[i / p->dof] * p->dof + i % p->dof] * t.K[i * ndof + j] * a->vl[global[j / p->dof] * p->dof + j % p->dof];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries on all ranks */
static PetscErrorCode Everything(Vec x, PetscScalar **all)
{
  VecScatter         scatter;
  Vec                copy;
  PetscInt           n;
  const PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(VecScatterCreateToAll(x, &scatter, &copy));
  PetscCall(VecScatterBegin(scatter, x, copy, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, x, copy, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetSize(copy, &n));
  PetscCall(PetscMalloc1(n, all));
  PetscCall(VecGetArrayRead(copy, &v));
  PetscCall(PetscArraycpy(*all, v, n));
  PetscCall(VecRestoreArrayRead(copy, &v));
  PetscCall(VecDestroy(&copy));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArraysCreate(Problem *p, Arrays *a)
{
  size_t size;

  PetscFunctionBeginUser;
  *a = (Arrays){0};
  PetscCall(ProblemVisit(p, CountVisitor, a));
  a->nen  = 1 << p->dim;
  a->ndof = a->nen * p->dof;
  size    = (size_t)a->ndof * a->ndof;
  PetscCall(PetscMalloc5(a->nel * a->nen, &a->conn, a->nel, &a->ref, a->nel, &a->scale, a->nel, &a->energy, a->nel * size, &a->full));
  PetscCall(PetscCalloc1(p->references * size, &a->reference));
  PetscCall(ProblemCreateVec(p, 20, &a->u));
  PetscCall(ProblemCreateVec(p, 21, &a->v));
  PetscCall(Everything(a->u, &a->ul));
  PetscCall(Everything(a->v, &a->vl));
  a->nel = 0;
  PetscCall(ProblemVisit(p, FillVisitor, a));
  /* every rank knows all reference matrices, also those that none of its elements has */
  for (PetscInt r = 0; r < p->references; r++) {
    Element e;

    e.nen = a->nen;
    for (PetscInt n = 0; n < e.nen; n++)
      for (PetscInt d = 0; d < 3; d++) e.node[n][d] = n >> d & 1;
    ElementTruss(p, r, &e);
    PetscCall(PetscArraycpy(a->reference + r * size, e.K, size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArraysDestroy(Arrays *a)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree5(a->conn, a->ref, a->scale, a->energy, a->full));
  PetscCall(PetscFree(a->reference));
  PetscCall(PetscFree(a->ul));
  PetscCall(PetscFree(a->vl));
  PetscCall(VecDestroy(&a->u));
  PetscCall(VecDestroy(&a->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckEnergy(Problem *p, Mat B, const Arrays *a)
{
  PetscScalar *energy;
  PetscReal    error[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(a->nel, &energy));
  for (PetscInt e = 0; e < a->nel; e++) energy[e] = 1e30;
  PetscCall(MatShellFEMGetElementEnergy(B, a->u, a->v, energy));
  for (PetscInt e = 0; e < a->nel; e++) {
    error[0] = PetscMax(error[0], PetscAbsScalar(energy[e] - a->energy[e]));
    error[1] = PetscMax(error[1], PetscAbsScalar(a->energy[e]));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, error, 2, MPIU_REAL, MPIU_MAX, p->comm));
  PetscCall(Check("energies of elements", error[0] / error[1], TOLERANCE));
  PetscCall(PetscFree(energy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sum of scale times u_e' K u_e is u' A u */
static PetscErrorCode CheckCompliance(Problem *p, Mat B, const Arrays *a)
{
  PetscScalar *energy, sum = 0, whole;
  Vec          f;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(a->nel, &energy));
  PetscCall(MatShellFEMGetElementEnergy(B, a->u, a->u, energy));
  for (PetscInt e = 0; e < a->nel; e++) sum += a->scale[e] * energy[e];
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_SCALAR, MPIU_SUM, p->comm));
  PetscCall(VecDuplicate(a->u, &f));
  PetscCall(MatMult(B, a->u, f));
  PetscCall(VecTDot(a->u, f, &whole));
  PetscCall(Check("energies add up to u'Au", PetscAbsScalar(sum - whole) / PetscAbsScalar(whole), TOLERANCE));
  PetscCall(VecDestroy(&f));
  PetscCall(PetscFree(energy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Reassemble(Problem *p, Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(A));
  PetscCall(Assemble(p, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SIMP_EMIN 1e-3
#define SIMP_E0   2

/* Scales of SIMP with penalization 3, and A assembled with them */
static PetscErrorCode AssembleSIMP(Arrays *a, const PetscReal *rho, Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(A));
  for (PetscInt e = 0; e < a->nel; e++) {
    PetscScalar *K = a->full + (size_t)e * a->ndof * a->ndof;

    a->scale[e] = SIMP_EMIN + rho[e] * rho[e] * rho[e] * (SIMP_E0 - SIMP_EMIN);
    for (PetscInt i = 0; i < a->ndof * a->ndof; i++) K[i] = a->scale[e] * a->reference[(size_t)a->ref[e] * a->ndof * a->ndof + i];
    PetscCall(MatSetValuesBlocked(A, a->nen, a->conn + e * a->nen, a->nen, a->conn + e * a->nen, K, ADD_VALUES));
  }
  PetscCall(Finish(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSIMP(Problem *p, Arrays *a, Mat A, Mat B)
{
  PetscReal *rho;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(a->nel, &rho));
  for (PetscInt e = 0; e < a->nel; e++) rho[e] = PetscRealPart(a->scale[e]); /* between 0 and 1 */
  PetscCall(MatShellFEMSetSIMP(B, rho, 3, SIMP_EMIN, SIMP_E0));
  PetscCall(AssembleSIMP(a, rho, A));
  PetscCall(CompareProduct(p, "SIMP", A, B));
  PetscCall(CheckCompliance(p, B, a));
  PetscCall(PetscFree(rho));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Densities and energies as vectors of elements, which a GPU keeps */
static PetscErrorCode TestElementVecs(Problem *p, Arrays *a, Mat A, Mat B)
{
  PetscReal         *density, error[2] = {0, 0};
  Vec                rho, energy;
  PetscScalar       *r;
  const PetscScalar *computed;
  PetscErrorCode     ierr;
  Mat                C;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(a->nel, &density));
  PetscCall(MatShellFEMCreateElementVec(B, &rho));
  PetscCall(VecDuplicate(rho, &energy));
  for (PetscInt design = 0; design < 2; design++) { /* the second after products with the first */
    PetscCall(VecGetArrayWrite(rho, &r));
    for (PetscInt e = 0; e < a->nel; e++) r[e] = density[e] = Noise(p, e + 1000 * p->rank, 30 + design);
    PetscCall(VecRestoreArrayWrite(rho, &r));
    PetscCall(MatShellFEMSetSIMPVec(B, rho, 3, SIMP_EMIN, SIMP_E0));
    PetscCall(AssembleSIMP(a, density, A));
    PetscCall(CompareProduct(p, "SIMP from a vector", A, B));
    PetscCall(CheckCompliance(p, B, a));
  }
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(CompareProduct(p, "MatConvert after SIMP from a vector", A, C));
  PetscCall(MatDestroy(&C));
  PetscCall(VecSet(energy, 1e30));
  PetscCall(MatShellFEMGetElementEnergyVec(B, a->u, a->v, energy));
  PetscCall(VecGetArrayRead(energy, &computed));
  for (PetscInt e = 0; e < a->nel; e++) {
    error[0] = PetscMax(error[0], PetscAbsScalar(computed[e] - a->energy[e]));
    error[1] = PetscMax(error[1], PetscAbsScalar(a->energy[e]));
  }
  PetscCall(VecRestoreArrayRead(energy, &computed));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, error, 2, MPIU_REAL, MPIU_MAX, p->comm));
  PetscCall(Check("a vector of energies", error[0] / error[1], TOLERANCE));
  PetscCall(VecSet(rho, 1.5));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatShellFEMSetSIMPVec(B, rho, 3, SIMP_EMIN, SIMP_E0);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Check("a density above one in a vector is refused", ierr == PETSC_ERR_ARG_OUTOFRANGE ? 0 : 1, 0));
  PetscCall(VecDestroy(&rho));
  PetscCall(VecDestroy(&energy));
  PetscCall(PetscFree(density));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = x + omega / diag(A) (b - A x), with the elements and by operations on vectors with the assembled matrix */
static PetscErrorCode CheckJacobiStep(const char *what, Mat A, Mat B, Vec x, Vec b)
{
  const PetscReal omega = 0.6;
  PetscReal       error, norm;
  Vec             dinv, y, z;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &dinv));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(MatGetDiagonal(A, dinv));
  PetscCall(VecReciprocal(dinv));
  PetscCall(VecSet(y, 1e30));
  PetscCall(MatShellFEMJacobiStep(B, omega, dinv, b, x, y));
  PetscCall(MatMult(A, x, z));
  PetscCall(VecAYPX(z, -1, b));
  PetscCall(VecPointwiseMult(z, z, dinv));
  PetscCall(VecAYPX(z, omega, x));
  PetscCall(VecNorm(z, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1, z));
  PetscCall(VecNorm(y, NORM_2, &error));
  PetscCall(Check(what, error / norm, TOLERANCE));
  PetscCall(VecDestroy(&dinv));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before and after conditions on some rows, and with what a shift adds */
static PetscErrorCode TestJacobiStep(Problem *p, const Arrays *a, Mat A, Mat B)
{
  PetscInt rows[3], N;

  PetscFunctionBeginUser;
  PetscCall(CheckJacobiStep("Jacobi step", A, B, a->u, a->v));
  PetscCall(MatShift(A, 0.5));
  PetscCall(MatShift(B, 0.5));
  PetscCall(CheckJacobiStep("Jacobi step after MatShift", A, B, a->u, a->v));
  PetscCall(MatGetSize(A, &N, NULL));
  rows[0] = 0;
  rows[1] = N / 2;
  rows[2] = N - 1;
  PetscCall(MatZeroRowsColumns(A, p->rank ? 0 : 3, rows, 2, NULL, NULL));
  PetscCall(MatZeroRowsColumns(B, p->rank ? 0 : 3, rows, 2, NULL, NULL));
  PetscCall(CheckJacobiStep("Jacobi step with conditions", A, B, a->u, a->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a wrong call says, without the trace */
static PetscErrorCode TestErrors(Problem *p, Mat B, const Arrays *a)
{
  PetscErrorCode ierr[4];
  PetscInt      *ref;
  PetscScalar   *scale;
  PetscReal     *rho;
  Mat            C;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(a->nel, &ref, a->nel, &scale, a->nel, &rho));
  for (PetscInt e = 0; e < a->nel; e++) {
    ref[e]   = p->references + 5;
    scale[e] = NAN;
    rho[e]   = 1.5;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &C));
  PetscCall(MatSetType(C, MATSEQAIJ));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = MatShellFEMSetElementReferences(B, ref);
  ierr[1] = MatShellFEMSetElementScales(B, scale);
  ierr[2] = MatShellFEMSetSIMP(B, rho, 3, 0, 1);
  ierr[3] = MatShellFEMSetElementScales(C, scale);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Check("a reference that is not there is refused", ierr[0] == PETSC_ERR_ARG_OUTOFRANGE ? 0 : 1, 0));
  PetscCall(Check("a scale that is no number is refused", ierr[1] == PETSC_ERR_FP ? 0 : 1, 0));
  PetscCall(Check("a density above one is refused", ierr[2] == PETSC_ERR_ARG_OUTOFRANGE ? 0 : 1, 0));
  PetscCall(Check("another type is refused", ierr[3] == PETSC_ERR_ARG_WRONG ? 0 : 1, 0));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscFree3(ref, scale, rho));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool lattice = PETSC_FALSE;
  PetscInt  count;
  Problem   p;
  Arrays    a;
  Mat       A, B, C;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lattice", &lattice, NULL));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, lattice, &p));
  PetscCall(ProblemCreateMat(&p, MATAIJ, &A));
  PetscCall(Assemble(&p, A));
  PetscCall(ArraysCreate(&p, &a));
  if (lattice) {
    PetscCall(DMSetMatType(p.da, MATSHELLFEM));
    PetscCall(DMCreateMatrix(p.da, &B));
  } else
    PetscCall(MatCreateShellFEM(p.comm, p.nlocal * p.dof, PETSC_DETERMINE, p.dof, a.nel, a.nen, a.conn, &B));
  PetscCall(MatShellFEMGetElementCount(B, &count));
  PetscCall(Check("number of elements", PetscAbsInt(count - a.nel), 0));
  PetscCall(MatShellFEMSetReferenceMatrices(B, p.references, a.reference));
  PetscCall(MatShellFEMSetElementReferences(B, a.ref));
  PetscCall(MatShellFEMSetElementScales(B, a.scale));
  PetscCall(Finish(B));
  PetscCall(CompareProducts(&p, A, B));
  PetscCall(CheckEnergy(&p, B, &a));
  PetscCall(CheckCompliance(&p, B, &a));
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(CompareProduct(&p, "MatConvert", A, C));
  PetscCall(MatDestroy(&C));
  p.step = 1;
  PetscCall(Reassemble(&p, A));
  a.nel = 0;
  PetscCall(ProblemVisit(&p, FillVisitor, &a));
  PetscCall(MatShellFEMSetElementScales(B, a.scale));
  PetscCall(CompareProduct(&p, "other scales, without assembly", A, B));
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(CompareProduct(&p, "MatConvert again", A, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatShellFEMSetElementMatrices(B, a.full));
  PetscCall(CompareProduct(&p, "a matrix for each element", A, B));
  PetscCall(MatShellFEMSetReferenceMatrices(B, p.references, a.reference));
  PetscCall(MatShellFEMSetElementReferences(B, a.ref));
  PetscCall(TestSIMP(&p, &a, A, B));
  PetscCall(TestElementVecs(&p, &a, A, B));
  PetscCall(TestErrors(&p, B, &a));
  PetscCall(TestJacobiStep(&p, &a, A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ArraysDestroy(&a));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/shellfem_native_1.out
    nsize: {{1 3}}
    test:
      suffix: 1
      args: -lattice {{0 1}} -references {{1 3}}
    test:
      suffix: dim
      args: -lattice {{0 1}} -dim {{2 3}} -dof {{1 2}}
    test:
      suffix: periodic
      args: -lattice -periodic -n 5,6,7
    test:
      suffix: gpu
      requires: cuda
      args: -lattice {{0 1}} -vec_type cuda

TEST*/
