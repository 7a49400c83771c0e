/*
  Linear elasticity on unit cubes. The operator is assembled by element matrices, whatever its type: AIJ sums them,
  SHELLFEM recognizes them. As SHELLFEM needs only K0 and the moduli, it gets these directly, which is faster. On coarse grids (PCMG without Galerkin products) an element takes the mean modulus of the elements
  of the fine grid within it, and its matrix is K0 times its width.
*/
#include "topopt.h"
#include <matshellfem.h>
#include <petscblaslapack.h>

/* Moduli of one coarse grid */
struct _n_Coarse {
  PetscInt   f; /* elements of the fine grid in a row of one coarse element */
  PetscInt   n; /* local coarse elements */
  Vec        children;
  VecScatter scatter;
  Coarse     next;
};

/* K0 of the unit cube, E = 1, Poisson's ratio 0.3, two Gauss points in each direction */
static void ElementMatrix(PetscScalar K[24 * 24])
{
  const PetscReal nu = 0.3, lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 0.5 / (1 + nu);

  for (int i = 0; i < 24 * 24; i++) K[i] = 0;
  for (int q = 0; q < 8; q++) {
    PetscReal xi[3], grad[8][3];

    for (int d = 0; d < 3; d++) xi[d] = 0.5 + (q >> d & 1 ? 0.5 : -0.5) / PetscSqrtReal(3.0);
    for (int a = 0; a < 8; a++) {
      for (int d = 0; d < 3; d++) {
        grad[a][d] = 1;
        for (int o = 0; o < 3; o++) grad[a][d] *= o == d ? (a >> o & 1 ? 1 : -1) : (a >> o & 1 ? xi[o] : 1 - xi[o]);
      }
    }
    for (int a = 0; a < 8; a++) {
      for (int b = 0; b < 8; b++) {
        PetscReal dot = 0;

        for (int d = 0; d < 3; d++) dot += grad[a][d] * grad[b][d];
        for (int c = 0; c < 3; c++) {
          for (int d = 0; d < 3; d++) K[(3 * a + c) * 24 + 3 * b + d] += 0.125 * (lambda * grad[a][c] * grad[b][d] + mu * grad[a][d] * grad[b][c] + (c == d ? mu * dot : 0));
        }
      }
    }
  }
}

/* The elements whose lowest node this process owns: first element, elements in each direction */
static PetscErrorCode GetElements(DM nodes, PetscInt s[3], PetscInt m[3])
{
  PetscInt n[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(nodes, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(nodes, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  for (int d = 0; d < 3; d++) m[d] = PetscMin(s[d] + m[d], n[d] - 1) - s[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of element i,j,k (counted from the first local one) in a local vector */
static void ElementNodes(const PetscInt offset[3], const PetscInt gm[3], PetscInt i, PetscInt j, PetscInt k, PetscInt node[8])
{
  for (int a = 0; a < 8; a++) node[a] = ((k + offset[2] + (a >> 2)) * gm[1] + j + offset[1] + (a >> 1 & 1)) * gm[0] + i + offset[0] + (a & 1);
}

static PetscErrorCode GetGhostBox(DM nodes, const PetscInt s[3], PetscInt offset[3], PetscInt gm[3])
{
  PetscInt gs[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetGhostCorners(nodes, &gs[0], &gs[1], &gs[2], &gm[0], &gm[1], &gm[2]));
  for (int d = 0; d < 3; d++) offset[d] = s[d] - gs[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsNative(const FEM *fem, Mat K, PetscBool *native)
{
  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)K, MATSHELLFEM, native));
  if (fem->capture) *native = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns of held displacements are replaced by those of width times the identity */
static PetscErrorCode Hold(const FEM *fem, DM nodes, PetscInt width, Mat K)
{
  IS fixed;

  PetscFunctionBeginUser;
  PetscCall(MatAssemblyBegin(K, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(K, MAT_FINAL_ASSEMBLY));
  PetscCall(ProblemGetFixed(fem->problem, nodes, width, &fixed));
  PetscCall(MatZeroRowsColumnsIS(K, fixed, width, NULL, NULL));
  PetscCall(ISDestroy(&fixed));
  PetscCall(MatSetOption(K, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scales of the one reference matrix of SHELLFEM; what is held stays so */
static PetscErrorCode AssembleNative(const FEM *fem, DM nodes, PetscInt width, PetscInt n, const PetscScalar E[], Mat K)
{
  PetscScalar *scale;
  PetscInt     count;
  PetscBool    assembled;

  PetscFunctionBeginUser;
  PetscCall(MatAssembled(K, &assembled));
  if (!assembled) {
    PetscCall(MatShellFEMSetReferenceMatrices(K, 1, fem->K0));
    PetscCall(Hold(fem, nodes, width, K));
  }
  PetscCall(MatShellFEMGetElementCount(K, &count));
  PetscCheck(count == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SHELLFEM has %" PetscInt_FMT " elements here, the grid %" PetscInt_FMT, count, n);
  PetscCall(PetscMalloc1(n, &scale));
  for (PetscInt e = 0; e < n; e++) scale[e] = width * E[e];
  PetscCall(MatShellFEMSetElementScales(K, scale));
  PetscCall(PetscFree(scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K = sum_e E_e width P_e^T K0 P_e with held displacements */
static PetscErrorCode Assemble(const FEM *fem, DM nodes, PetscInt width, const PetscScalar E[], Mat K)
{
  PetscInt    s[3], m[3], offset[3] = {0, 0, 0}, gm[3], node[8];
  PetscScalar Ke[24 * 24];
  PetscBool   native;

  PetscFunctionBeginUser;
  PetscCall(GetElements(nodes, s, m));
  PetscCall(IsNative(fem, K, &native));
  if (native) {
    PetscCall(AssembleNative(fem, nodes, width, m[0] * m[1] * m[2], E, K));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetGhostBox(nodes, s, offset, gm));
  PetscCall(MatZeroEntries(K));
  for (PetscInt k = 0, e = 0; k < m[2]; k++) {
    for (PetscInt j = 0; j < m[1]; j++) {
      for (PetscInt i = 0; i < m[0]; i++, e++) {
        ElementNodes(offset, gm, i, j, k, node);
        for (int v = 0; v < 24 * 24; v++) Ke[v] = E[e] * width * fem->K0[v];
        PetscCall(MatSetValuesBlockedLocal(K, 8, node, 8, node, Ke, ADD_VALUES));
      }
    }
  }
  PetscCall(Hold(fem, nodes, width, K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CoarseCreate(FEM *fem, DM nodes, PetscInt f)
{
  PetscInt s[3], m[3], n[3] = {fem->problem->n[0], fem->problem->n[1], fem->problem->n[2]}, count = 0, *list;
  Coarse   coarse;
  AO       ao;
  IS       is;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&coarse));
  PetscCall(GetElements(nodes, s, m));
  coarse->f = f;
  coarse->n = m[0] * m[1] * m[2];
  PetscCall(PetscMalloc1(coarse->n * f * f * f, &list));
  for (PetscInt k = s[2]; k < s[2] + m[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + m[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + m[0]; i++) {
        for (PetscInt a = 0; a < f * f * f; a++) list[count++] = ((k * f + a / (f * f)) * n[1] + j * f + a / f % f) * n[0] + i * f + a % f;
      }
    }
  }
  PetscCall(DMDAGetAO(fem->cells, &ao));
  PetscCall(AOApplicationToPetsc(ao, count, list));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, count, list, PETSC_OWN_POINTER, &is));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, count, &coarse->children));
  PetscCall(VecScatterCreate(fem->E, is, coarse->children, NULL, &coarse->scatter));
  PetscCall(ISDestroy(&is));
  coarse->next = fem->coarse;
  fem->coarse  = coarse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPComputeOperatorsFn for the coarse grids of PCMG */
static PetscErrorCode CoarseOperator(KSP ksp, Mat A, Mat P, void *ctx)
{
  FEM               *fem = (FEM *)ctx;
  DM                 nodes;
  PetscInt           n[3], level, f;
  Coarse             coarse;
  const PetscScalar *children;
  PetscScalar       *E;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &nodes));
  PetscCall(DMDAGetInfo(nodes, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMGetCoarsenLevel(nodes, &level));
  f = 1 << level;
  for (int d = 0; d < 3; d++) PetscCheck((n[d] - 1) * f == fem->problem->n[d], PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " elements in %c cannot be coarsened %" PetscInt_FMT " times: take sizes divisible by 2^(levels - 1), or fewer -pc_mg_levels", fem->problem->n[d], (char)('x' + d), f);
  for (coarse = fem->coarse; coarse && coarse->f != f; coarse = coarse->next) {}
  if (!coarse) {
    PetscCall(CoarseCreate(fem, nodes, f));
    coarse = fem->coarse;
  }
  PetscCall(VecScatterBegin(coarse->scatter, fem->E, coarse->children, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(coarse->scatter, fem->E, coarse->children, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(PetscCalloc1(coarse->n, &E));
  PetscCall(VecGetArrayRead(coarse->children, &children));
  for (PetscInt e = 0; e < coarse->n; e++) {
    for (PetscInt a = 0; a < f * f * f; a++) E[e] += children[e * f * f * f + a] / (PetscReal)(f * f * f);
  }
  PetscCall(VecRestoreArrayRead(coarse->children, &children));
  PetscCall(Assemble(fem, nodes, f, E, P));
  if (A != P) PetscCall(MatCopy(P, A, SAME_NONZERO_PATTERN));
  PetscCall(PetscFree(E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest eigenvalue of diag(K0)^{-1} K0 */
static PetscErrorCode ElementBound(const PetscScalar K0[], PetscReal *bound)
{
  PetscScalar  a[24 * 24], work[24 * 8];
  PetscReal    eigenvalue[24];
  PetscBLASInt n = 24, lwork = 24 * 8, info;

  PetscFunctionBeginUser;
  for (int i = 0; i < 24; i++) {
    for (int j = 0; j < 24; j++) a[24 * i + j] = K0[24 * i + j] / PetscSqrtReal(K0[25 * i] * K0[25 * j]);
  }
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("N", "U", &n, a, &n, eigenvalue, work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK syev failed: info %d", (int)info);
  *bound = eigenvalue[23];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Smoothers of PCMG: Chebyshev with Jacobi, for eigenvalues up to a bound that no design exceeds. Where E varies by nine
  orders of magnitude, an estimate by a few Krylov iterations can be too low, and the cycle is then indefinite. With
  A = sum A_e and D = sum D_e over elements, x'Ax / x'Dx is at most the largest x'A_e x / x'D_e x, in which the modulus
  cancels. It holds for the elements of all grids; Galerkin products have others, and keep PETSc's estimate.
*/
static PetscErrorCode SetSmoothers(FEM *fem, PC pc)
{
  PetscBool        mg;
  PetscInt         nlevel;
  PetscReal        bound;
  PCMGGalerkinType galerkin;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCMG, &mg));
  if (!mg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ElementBound(fem->K0, &bound));
  PetscCall(PCMGGetLevels(pc, &nlevel));
  PetscCall(PCMGGetGalerkin(pc, &galerkin));
  for (PetscInt l = 1; l < nlevel; l++) {
    KSP smoother;
    PC  spc;

    PetscCall(PCMGGetSmoother(pc, l, &smoother));
    PetscCall(KSPGetPC(smoother, &spc));
    PetscCall(PCSetType(spc, PCJACOBI));
    if (galerkin == PC_MG_GALERKIN_NONE || l == nlevel - 1) PetscCall(KSPChebyshevSetEigenvalues(smoother, bound, bound / 10));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rigid-body motions, for algebraic multigrid (-pc_type gamg) */
static PetscErrorCode SetNearNullSpace(DM nodes, Mat K)
{
  Vec          coordinates;
  MatNullSpace rigid;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinates(nodes, &coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &rigid));
  PetscCall(MatSetNearNullSpace(K, rigid));
  PetscCall(MatNullSpaceDestroy(&rigid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DMCoarsenHook: coarse grids with few nodes have AIJ matrices. The coarsest is factored, which SHELLFEM is not made for,
  and assembling a small one costs nothing.
*/
static PetscErrorCode CoarsenHook(DM fine, DM coarse, void *ctx)
{
  PetscInt  n[3];
  VecType   vectype;
  MatType   mattype;
  PetscBool shellfem, cuda;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(coarse, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMGetMatType(coarse, &mattype));
  PetscCall(DMGetVecType(coarse, &vectype));
  PetscCall(PetscStrcmp(mattype, MATSHELLFEM, &shellfem));
  PetscCall(PetscStrendswith(vectype, VECCUDA, &cuda));
  if (shellfem && (PetscCount)n[0] * n[1] * n[2] <= 4000) PetscCall(DMSetMatType(coarse, cuda ? MATAIJCUSPARSE : MATAIJ));
  PetscCall(DMCoarsenHookAdd(coarse, CoarsenHook, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FEMCreate(FEM *fem, const Problem *problem, DM nodes, DM cells)
{
  PC pc;
  IS fixed;

  PetscFunctionBeginUser;
  fem->nodes   = nodes;
  fem->cells   = cells;
  fem->problem = problem;
  ElementMatrix(fem->K0);
  PetscCall(DMCreateMatrix(nodes, &fem->K));
  PetscCall(MatSetOption(fem->K, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(SetNearNullSpace(nodes, fem->K));
  PetscCall(DMCreateGlobalVector(cells, &fem->E));
  PetscCall(DMCreateGlobalVector(nodes, &fem->r));
  PetscCall(ProblemGetFixed(problem, nodes, 1, &fixed));
  for (PetscInt l = 0; l < problem->ncase; l++) {
    PetscReal norm;

    PetscCall(VecDuplicate(fem->r, &fem->f[l]));
    PetscCall(VecDuplicate(fem->r, &fem->u[l]));
    PetscCall(VecSet(fem->u[l], 0));
    PetscCall(ProblemGetLoad(problem, nodes, l, fem->f[l]));
    PetscCall(VecISSet(fem->f[l], fixed, 0));
    PetscCall(VecNorm(fem->f[l], NORM_2, &norm));
    PetscCheck(norm > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONGSTATE, "Load case %" PetscInt_FMT " has no load on displacements that are free", l);
  }
  PetscCall(ISDestroy(&fixed));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &fem->ksp));
  PetscCall(DMCoarsenHookAdd(nodes, CoarsenHook, NULL, NULL));
  PetscCall(KSPSetDM(fem->ksp, nodes)); /* for the hierarchy of PCMG */
#if PETSC_VERSION_LT(3, 25, 0)
  PetscCall(KSPSetDMActive(fem->ksp, PETSC_FALSE));
#else
  PetscCall(KSPSetDMActive(fem->ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
#endif
  PetscCall(KSPSetComputeOperators(fem->ksp, CoarseOperator, fem));
  PetscCall(KSPSetOperators(fem->ksp, fem->K, fem->K));
  PetscCall(KSPSetType(fem->ksp, KSPCG));
  PetscCall(KSPSetNormType(fem->ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(fem->ksp, 1e-6, PETSC_CURRENT, PETSC_CURRENT, 10000));
  PetscCall(KSPGetPC(fem->ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetFromOptions(fem->ksp));
  PetscCall(SetSmoothers(fem, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FEMDestroy(FEM *fem)
{
  PetscFunctionBeginUser;
  while (fem->coarse) {
    Coarse next = fem->coarse->next;

    PetscCall(VecDestroy(&fem->coarse->children));
    PetscCall(VecScatterDestroy(&fem->coarse->scatter));
    PetscCall(PetscFree(fem->coarse));
    fem->coarse = next;
  }
  for (PetscInt l = 0; l < fem->problem->ncase; l++) {
    PetscCall(VecDestroy(&fem->f[l]));
    PetscCall(VecDestroy(&fem->u[l]));
  }
  PetscCall(VecDestroy(&fem->E));
  PetscCall(VecDestroy(&fem->r));
  PetscCall(MatDestroy(&fem->K));
  PetscCall(KSPDestroy(&fem->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve from the last displacements; from zero if that fails. A residual that is too large stops the program. */
static PetscErrorCode SolveCase(FEM *fem, PetscInt l, SolveInfo *info)
{
  KSPConvergedReason reason;
  KSPType            type;
  PetscReal          rtol, unorm, fnorm, rnorm;
  PetscInt           its;
  PetscBool          direct;

  PetscFunctionBeginUser;
  PetscCall(KSPGetType(fem->ksp, &type));
  PetscCall(PetscStrcmp(type, KSPPREONLY, &direct));
  PetscCall(VecNorm(fem->u[l], NORM_2, &unorm));
  for (PetscBool warm = (PetscBool)(unorm > 0 && !direct);; warm = PETSC_FALSE) {
    PetscCall(KSPSetInitialGuessNonzero(fem->ksp, warm));
    PetscCall(KSPSolve(fem->ksp, fem->f[l], fem->u[l]));
    PetscCall(KSPGetConvergedReason(fem->ksp, &reason));
    PetscCall(KSPGetIterationNumber(fem->ksp, &its));
    info->its += its;
    if (reason > 0 || !warm) break;
  }
  PetscCall(MatMult(fem->K, fem->u[l], fem->r));
  PetscCall(VecAYPX(fem->r, -1, fem->f[l]));
  PetscCall(VecNorm(fem->r, NORM_2, &rnorm));
  PetscCall(VecNorm(fem->f[l], NORM_2, &fnorm));
  info->residual = PetscMax(info->residual, rnorm / fnorm);
  PetscCall(KSPGetTolerances(fem->ksp, &rtol, NULL, NULL, NULL));
  if (!fem->keep_on) {
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Load case %" PetscInt_FMT ": the solve stopped after %" PetscInt_FMT " iterations (%s), true relative residual %.2e. Raise -ksp_max_it, precondition better (-pc_type mg), or go on with -continue_on_failure", l, its, KSPConvergedReasons[reason], (double)(rnorm / fnorm));
    PetscCheck(rnorm <= fem->factor * rtol * fnorm, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Load case %" PetscInt_FMT ": the solver reports %s, but its true relative residual is %.2e, more than %g times the tolerance %.1e. Precondition better (-pc_type mg), allow more with -true_residual_factor, or go on with -continue_on_failure", l, KSPConvergedReasons[reason], (double)(rnorm / fnorm), (double)fem->factor, (double)rtol);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Displacements and compliance of every load case. The compliance is the energy functional 2 f^T u - u^T K u = f^T u + u^T r,
  which is f^T u for the exact solution and has the square of the error of u for another.
*/
PetscErrorCode FEMSolve(FEM *fem, Vec rho, PetscReal penal, PetscReal compliance[], SolveInfo *info)
{
  const PetscScalar *d;
  PetscScalar       *E;
  PetscInt           n;

  PetscFunctionBeginUser;
  info->its      = 0;
  info->residual = 0;
  PetscCall(VecGetLocalSize(rho, &n));
  PetscCall(VecGetArrayRead(rho, &d));
  PetscCall(VecGetArray(fem->E, &E));
  for (PetscInt e = 0; e < n; e++) E[e] = fem->Emin + PetscPowReal(d[e], penal) * (fem->E0 - fem->Emin);
  PetscCall(Assemble(fem, fem->nodes, 1, E, fem->K));
  PetscCall(VecRestoreArray(fem->E, &E));
  PetscCall(VecRestoreArrayRead(rho, &d));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) {
    PetscScalar work, rest;

    PetscCall(SolveCase(fem, l, info));
    PetscCall(VecDot(fem->f[l], fem->u[l], &work));
    PetscCall(VecDot(fem->r, fem->u[l], &rest));
    compliance[l] = work + rest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* energy_e = u_e^T K0 u_e */
static PetscErrorCode ElementEnergy(FEM *fem, Vec u, PetscScalar energy[])
{
  PetscInt           s[3], m[3], offset[3] = {0, 0, 0}, gm[3], node[8];
  Vec                local;
  const PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(GetElements(fem->nodes, s, m));
  PetscCall(GetGhostBox(fem->nodes, s, offset, gm));
  PetscCall(DMGetLocalVector(fem->nodes, &local));
  PetscCall(DMGlobalToLocal(fem->nodes, u, INSERT_VALUES, local));
  PetscCall(VecGetArrayRead(local, &v));
  for (PetscInt k = 0, e = 0; k < m[2]; k++) {
    for (PetscInt j = 0; j < m[1]; j++) {
      for (PetscInt i = 0; i < m[0]; i++, e++) {
        PetscScalar ue[24];

        ElementNodes(offset, gm, i, j, k, node);
        for (int a = 0; a < 24; a++) ue[a] = v[3 * node[a / 3] + a % 3];
        energy[e] = 0;
        for (int a = 0; a < 24; a++) {
          PetscScalar row = 0;

          for (int b = 0; b < 24; b++) row += fem->K0[24 * a + b] * ue[b];
          energy[e] += ue[a] * row;
        }
      }
    }
  }
  PetscCall(VecRestoreArrayRead(local, &v));
  PetscCall(DMRestoreLocalVector(fem->nodes, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dc_e = -dE/drho sum over load cases of weight u_e^T K0 u_e */
PetscErrorCode FEMSensitivity(FEM *fem, Vec rho, PetscReal penal, Vec dc)
{
  const PetscScalar *d;
  PetscScalar       *c, *energy;
  PetscInt           n;
  PetscBool          native;

  PetscFunctionBeginUser;
  PetscCall(IsNative(fem, fem->K, &native));
  PetscCall(VecSet(dc, 0));
  PetscCall(VecGetLocalSize(rho, &n));
  PetscCall(PetscMalloc1(n, &energy));
  PetscCall(VecGetArray(dc, &c));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) {
    if (native)
      PetscCall(MatShellFEMGetElementEnergy(fem->K, fem->u[l], fem->u[l], energy));
    else
      PetscCall(ElementEnergy(fem, fem->u[l], energy));
    for (PetscInt e = 0; e < n; e++) c[e] += fem->problem->weight[l] * energy[e];
  }
  PetscCall(PetscFree(energy));
  PetscCall(VecGetArrayRead(rho, &d));
  for (PetscInt e = 0; e < n; e++) c[e] *= -penal * PetscPowReal(d[e], penal - 1) * (fem->E0 - fem->Emin);
  PetscCall(VecRestoreArrayRead(rho, &d));
  PetscCall(VecRestoreArray(dc, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
