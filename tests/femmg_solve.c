static char help[] = "PCFEMMG: how many iterations CG takes on cantilevers and on designs of high contrast.\n"
                     "  -n 16,8,8         : elements\n"
                     "  -dim 3, -dof 3    : dof 1 is heat conduction\n"
                     "  -design uniform|random|gyroid, -emin 1e-9\n"
                     "  -support face|points\n"
                     "  -expect n         : iterations, give or take one\n"
                     "  -halvings 1       : on so many coarser lattices, too, where iterations must not differ by more than 20 %\n"
                     "  -against_jacobi n : CG with Jacobi must take n times as many iterations at least\n"
                     "  -time             : prints iterations and seconds of both\n\n";

#include <trefoil.h>
#include <matshellfem.h>
#include <pcfemmg.h>
#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

static const char *const Designs[]  = {"uniform", "random", "gyroid"};
static const char *const Supports[] = {"face", "points"};

typedef struct {
  PetscInt  dim, dof, n[3], design, support;
  PetscReal emin;
  DM        da;
  Mat       A;
  Vec       b, x;
} Beam;

static PetscErrorCode Check(const char *what, PetscReal value, PetscReal limit)
{
  PetscFunctionBeginUser;
  if (value <= limit)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: OK\n", what));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: FAILED, %g exceeds %g\n", what, (double)value, (double)limit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a unit square or cube: elasticity with E = 1, nu = 0.3 (in 2D plane strain), or conduction */
static void ElementMatrix(PetscInt dim, PetscInt dof, PetscScalar K[])
{
  const PetscReal nu = 0.3, lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 0.5 / (1 + nu);
  const PetscInt  nen = 1 << dim, ndof = nen * dof;

  for (PetscInt i = 0; i < ndof * ndof; i++) K[i] = 0;
  for (PetscInt q = 0; q < nen; q++) {
    PetscReal xi[3], grad[8][3];

    for (PetscInt d = 0; d < dim; d++) xi[d] = 0.5 + (q >> d & 1 ? 0.5 : -0.5) / PetscSqrtReal(3.0);
    for (PetscInt a = 0; a < nen; a++)
      for (PetscInt d = 0; d < dim; d++) {
        grad[a][d] = 1;
        for (PetscInt o = 0; o < dim; o++) grad[a][d] *= o == d ? (a >> o & 1 ? 1 : -1) : (a >> o & 1 ? xi[o] : 1 - xi[o]);
      }
    for (PetscInt a = 0; a < nen; a++)
      for (PetscInt b = 0; b < nen; b++) {
        PetscReal dot = 0;

        for (PetscInt d = 0; d < dim; d++) dot += grad[a][d] * grad[b][d];
        for (PetscInt c = 0; c < dof; c++)
          for (PetscInt d = 0; d < dof; d++) {
            const PetscReal v = dof == 1 ? dot : lambda * grad[a][c] * grad[b][d] + mu * grad[a][d] * grad[b][c] + (c == d ? mu * dot : 0);

            K[(a * dof + c) * ndof + b * dof + d] += v / (PetscReal)nen;
          }
      }
  }
}

/* Modulus of the element at i,j,k */
static PetscReal Modulus(const Beam *m, PetscInt i, PetscInt j, PetscInt k, PetscInt step)
{
  const PetscReal    w = 2 * PETSC_PI / 9, x = w * (PetscReal)i, y = w * (PetscReal)j, z = w * (PetscReal)k;
  const PetscInt     e = ((k * 1000) + j) * 1000 + i + step * 77;
  unsigned long long h = (unsigned long long)(e + 1) * 0x9e3779b97f4a7c15ULL;

  if (m->design == 0) return step ? 0.1 + 0.9 * (PetscReal)(i % 5) / 4 : 1;
  if (m->design == 1) {
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    return PetscPowReal(m->emin, (PetscReal)((h >> 11) & 0xffff) / 65535);
  }
  if (i >= m->n[0] - 2) return 1; /* where the load is */
  return PetscSinReal(x) * PetscCosReal(y) + PetscSinReal(y) * PetscCosReal(z) + PetscSinReal(z) * PetscCosReal(x) + 0.3 * step > 0 ? 1 : m->emin;
}

static PetscErrorCode SetModuli(Beam *m, PetscInt step)
{
  PetscInt     s[3], n[3] = {1, 1, 1}, count, t = 0;
  PetscScalar *E;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(m->da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  PetscCall(MatShellFEMGetElementCount(m->A, &count));
  PetscCall(PetscMalloc1(count, &E));
  for (PetscInt k = s[2]; k < (m->dim == 3 ? PetscMin(s[2] + n[2], m->n[2]) : 1); k++)
    for (PetscInt j = s[1]; j < PetscMin(s[1] + n[1], m->n[1]); j++)
      for (PetscInt i = s[0]; i < PetscMin(s[0] + n[0], m->n[0]); i++) E[t++] = Modulus(m, i, j, k, step);
  PetscCheck(t == count, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " elements, not %" PetscInt_FMT, t, count);
  PetscCall(MatShellFEMSetElementScales(m->A, E));
  PetscCall(PetscFree(E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The left face, or four nodes of it in all directions */
static PetscBool IsHeld(const Beam *m, PetscInt i, PetscInt j, PetscInt k)
{
  if (i) return PETSC_FALSE;
  return (PetscBool)(m->support == 0 || ((j == 0 || j == m->n[1]) && (k == 0 || k == m->n[2])));
}

static PetscErrorCode SetConditions(Beam *m)
{
  PetscInt     s[3] = {0, 0, 0}, n[3] = {1, 1, 1}, start, t = 0, held = 0, *rows;
  PetscScalar *b;
  IS           is;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(m->da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  PetscCall(DMCreateGlobalVector(m->da, &m->b));
  PetscCall(VecDuplicate(m->b, &m->x));
  PetscCall(VecGetOwnershipRange(m->b, &start, NULL));
  PetscCall(PetscMalloc1(n[0] * n[1] * n[2] * m->dof, &rows));
  PetscCall(VecGetArray(m->b, &b));
  for (PetscInt k = s[2]; k < s[2] + n[2]; k++)
    for (PetscInt j = s[1]; j < s[1] + n[1]; j++)
      for (PetscInt i = s[0]; i < s[0] + n[0]; i++)
        for (PetscInt c = 0; c < m->dof; c++, t++) {
          b[t] = i == m->n[0] && k == 0 && c == PetscMin(1, m->dof - 1) ? -1 : 0; /* an edge of the right face */
          if (IsHeld(m, i, j, k)) rows[held++] = start + t;
        }
  PetscCall(VecRestoreArray(m->b, &b));
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, held, rows, PETSC_OWN_POINTER, &is));
  PetscCall(MatZeroRowsColumnsIS(m->A, is, 1., NULL, NULL));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeamCreate(const Beam *options, PetscInt halvings, Beam *m)
{
  PetscScalar K[24 * 24];

  PetscFunctionBeginUser;
  *m = *options;
  for (PetscInt d = 0; d < 3; d++) m->n[d] >>= halvings;
  if (m->dim == 3)
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, m->n[0] + 1, m->n[1] + 1, m->n[2] + 1, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, m->dof, 1, NULL, NULL, NULL, &m->da));
  else
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, m->n[0] + 1, m->n[1] + 1, PETSC_DECIDE, PETSC_DECIDE, m->dof, 1, NULL, NULL, &m->da));
  PetscCall(DMSetMatType(m->da, MATSHELLFEM));
  PetscCall(DMSetFromOptions(m->da));
  PetscCall(DMSetUp(m->da));
  PetscCall(DMCreateMatrix(m->da, &m->A));
  ElementMatrix(m->dim, m->dof, K);
  PetscCall(MatShellFEMSetReferenceMatrices(m->A, 1, K));
  PetscCall(MatAssemblyBegin(m->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(m->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(m->A, MAT_SPD, PETSC_TRUE));
  PetscCall(SetConditions(m));
  PetscCall(SetModuli(m, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeamDestroy(Beam *m)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&m->b));
  PetscCall(VecDestroy(&m->x));
  PetscCall(MatDestroy(&m->A));
  PetscCall(DMDestroy(&m->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeamCreateKSP(Beam *m, PCType type, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, m->A, m->A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 20000));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves; the residual is recomputed and compared with what was asked for */
static PetscErrorCode BeamSolve(Beam *m, KSP ksp, const char *what, PetscInt *its)
{
  KSPConvergedReason reason;
  PetscReal          r, b, rtol;
  Vec                w;
  char               text[128];

  PetscFunctionBeginUser;
  PetscCall(KSPSolve(ksp, m->b, m->x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(VecDuplicate(m->b, &w));
  PetscCall(MatMult(m->A, m->x, w));
  PetscCall(VecAYPX(w, -1., m->b));
  PetscCall(VecNorm(w, NORM_2, &r));
  PetscCall(VecNorm(m->b, NORM_2, &b));
  PetscCall(VecDestroy(&w));
  PetscCall(PetscSNPrintf(text, sizeof(text), "true residual of %s", what));
  PetscCall(Check(text, reason > 0 ? r / (rtol * b) : 1e30, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z'My = y'Mz and y'My > 0 for the preconditioner M */
static PetscErrorCode CheckSymmetry(Beam *m, KSP ksp)
{
  PetscRandom rnd;
  PetscScalar zMy, yMz, yMy, zMz;
  PC          pc;
  Vec         y, z, My, Mz;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rnd));
  PetscCall(VecDuplicate(m->b, &y));
  PetscCall(VecDuplicate(m->b, &z));
  PetscCall(VecDuplicate(m->b, &My));
  PetscCall(VecDuplicate(m->b, &Mz));
  PetscCall(VecSetRandom(y, rnd));
  PetscCall(VecSetRandom(z, rnd));
  PetscCall(MatMult(m->A, y, My)); /* a residual as solves have it, not one that needs huge displacements of void */
  PetscCall(VecCopy(My, y));
  PetscCall(MatMult(m->A, z, Mz));
  PetscCall(VecCopy(Mz, z));
  PetscCall(PCApply(pc, y, My));
  PetscCall(PCApply(pc, z, Mz));
  PetscCall(VecTDot(z, My, &zMy));
  PetscCall(VecTDot(y, Mz, &yMz));
  PetscCall(VecTDot(y, My, &yMy));
  PetscCall(VecTDot(z, Mz, &zMz));
  PetscCall(Check("the preconditioner is symmetric", PetscAbsScalar(zMy - yMz) / PetscSqrtReal(PetscAbsScalar(yMy * zMz)), 1e5 * PETSC_MACHINE_EPSILON));
  PetscCall(Check("and positive", PetscRealPart(yMy) > 0 && PetscRealPart(zMz) > 0 ? 0 : 1, 0));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&Mz));
  PetscCall(PetscRandomDestroy(&rnd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other moduli: the same solver must do what a new one does */
static PetscErrorCode CheckUpdate(Beam *m, KSP ksp)
{
  PetscInt  its, fresh;
  PetscReal error, norm;
  KSP       other;
  Vec       x;

  PetscFunctionBeginUser;
  PetscCall(SetModuli(m, 1));
  PetscCall(BeamSolve(m, ksp, "other moduli", &its));
  PetscCall(VecDuplicate(m->x, &x));
  PetscCall(VecCopy(m->x, x));
  PetscCall(BeamCreateKSP(m, PCFEMMG, &other));
  PetscCall(BeamSolve(m, other, "a new solver", &fresh));
  PetscCall(KSPDestroy(&other));
  PetscCall(Check("iterations are those of a new solver", PetscAbsInt(its - fresh), 0));
  PetscCall(VecNorm(m->x, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1., m->x));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(Check("so is the solution", error / norm, 1e6 * PETSC_MACHINE_EPSILON));
  PetscCall(VecDestroy(&x));
  PetscCall(SetModuli(m, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckAgainstJacobi(Beam *m, PetscInt its, PetscInt times)
{
  PetscInt jacobi;
  KSP      ksp;

  PetscFunctionBeginUser;
  PetscCall(BeamCreateKSP(m, PCJACOBI, &ksp));
  PetscCall(BeamSolve(m, ksp, "CG with Jacobi", &jacobi));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Check("iterations are far below those of Jacobi", (PetscReal)times * (PetscReal)its / (PetscReal)jacobi, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(Beam *m)
{
  const PCType types[] = {PCFEMMG, PCJACOBI};

  PetscFunctionBeginUser;
  for (int t = 0; t < 2; t++) {
    PetscLogDouble start, setup, end;
    PetscInt       its;
    KSP            ksp;

    PetscCall(BeamCreateKSP(m, types[t], &ksp));
    PetscCall(PetscTime(&start));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PetscTime(&setup));
    PetscCall(BeamSolve(m, ksp, types[t], &its));
    PetscCall(PetscTime(&end));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, set-up %.3f s, solve %.3f s\n", types[t], its, setup - start, end - setup));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Beam      options = {3, 3, {16, 8, 8}, 0, 0, 1e-9, NULL, NULL, NULL, NULL}, m;
  PetscInt  three = 3, expect = 0, halvings = 0, times = 0, its, first = 0;
  PetscBool time = PETSC_FALSE;
  KSP       ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Beam", NULL);
  PetscCall(PetscOptionsIntArray("-n", "Elements", NULL, options.n, &three, NULL));
  PetscCall(PetscOptionsRangeInt("-dim", "Dimension", NULL, options.dim, &options.dim, NULL, 2, 3));
  PetscCall(PetscOptionsRangeInt("-dof", "Dofs of a node", NULL, options.dof, &options.dof, NULL, 1, 3));
  PetscCall(PetscOptionsEList("-design", "Design", NULL, Designs, 3, Designs[0], &options.design, NULL));
  PetscCall(PetscOptionsEList("-support", "Support", NULL, Supports, 2, Supports[0], &options.support, NULL));
  PetscCall(PetscOptionsReal("-emin", "Modulus of void", NULL, options.emin, &options.emin, NULL));
  PetscCall(PetscOptionsInt("-expect", "Iterations", NULL, expect, &expect, NULL));
  PetscCall(PetscOptionsInt("-halvings", "Coarser lattices", NULL, halvings, &halvings, NULL));
  PetscCall(PetscOptionsInt("-against_jacobi", "Times", NULL, times, &times, NULL));
  PetscCall(PetscOptionsBool("-time", "Print times", NULL, time, &time, NULL));
  PetscOptionsEnd();
  if (options.dim == 2) options.n[2] = 0;
  for (PetscInt h = halvings; h >= 0; h--) {
    PetscCall(BeamCreate(&options, h, &m));
    if (time) PetscCall(Time(&m));
    PetscCall(BeamCreateKSP(&m, PCFEMMG, &ksp));
    PetscCall(BeamSolve(&m, ksp, "CG with femmg", &its));
    if (h == halvings) first = its;
    PetscCall(PetscInfo(ksp, "%" PetscInt_FMT " iterations\n", its));
    if (halvings && h < halvings) PetscCall(Check("iterations do not depend on the lattice", PetscAbsReal((PetscReal)(its - first)), PetscMax(1, 0.2 * (PetscReal)first)));
    if (h == 0) {
      PetscCall(CheckSymmetry(&m, ksp));
      if (expect) PetscCall(Check("iterations are as expected", PetscAbsInt(its - expect), 1));
      if (times) PetscCall(CheckAgainstJacobi(&m, its, times));
      PetscCall(CheckUpdate(&m, ksp));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(BeamDestroy(&m));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    output_file: output/femmg_solve_expected.out
    nsize: {{1 2 3}}
    test:
      suffix: expected
      args: -n 16,8,8 -expect 11
    test:
      suffix: odd
      args: -n 19,11,7 -expect 11
    test:
      suffix: gyroid
      args: -n 24,12,12 -design gyroid -expect 25
    test:
      suffix: points
      args: -n 16,8,8 -support points -expect 12
    test:
      suffix: random
      args: -n 8,8,8 -design random -emin 1e-3 -pc_femmg_coarse_eq_limit 200 -expect 33
    test:
      suffix: quad
      args: -n 48,24 -dim 2 -dof 2 -expect 11 -pc_femmg_coarse_eq_limit 100
    test:
      suffix: heat
      args: -n 16,12,9 -dof 1 -design gyroid -expect 8 -pc_femmg_coarse_eq_limit 100

  # every smoother and cycle keeps the preconditioner symmetric and positive, whatever the design
  testset:
    output_file: output/femmg_solve_1.out
    args: -n 12,6,6 -design random -emin 1e-9 -pc_femmg_coarse_eq_limit 200
    test:
      suffix: smoothers
      args: -pc_femmg_smoother {{jacobi pbjacobi chebyshev}} -pc_femmg_smooths {{1 3}}
    test:
      suffix: cycle
      args: -pc_femmg_cycle {{v w}} -pc_femmg_levels {{2 3}}
    test:
      suffix: kind
      args: -femmg_levels_ksp_chebyshev_kind {{first fourth}}

  test:
    suffix: options
    output_file: output/femmg_solve_1.out
    args: -n 12,6,6 -pc_femmg_levels 2 -femmg_levels_1_ksp_max_it 3 -femmg_levels_pc_type {{jacobi pbjacobi}} -femmg_coarse_pc_type cholesky

  test:
    suffix: lattices
    output_file: output/femmg_solve_lattices.out
    args: -n 64,32,32 -halvings 2 -against_jacobi 10

  test:
    suffix: contrast
    output_file: output/femmg_solve_contrast.out
    args: -n 36,18,18 -design gyroid -against_jacobi 10

  test:
    suffix: view
    requires: !complex !defined(PETSC_USE_64BIT_INDICES)
    args: -n 8,5,4 -pc_femmg_coarse_eq_limit 100 -ksp_view
    filter: sed -n "/type: femmg/,/grid complexity/p" | head -6

  test:
    suffix: gpu
    requires: cuda
    nsize: {{1 2}}
    output_file: output/femmg_solve_expected.out
    args: -n 16,8,8 -expect 11 -dm_vec_type cuda

TEST*/
