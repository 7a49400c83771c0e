static char help[] = "Topology optimization (SIMP) of a cantilever, a torsion bar, a bridge or an MBB beam.\n"
                     "The operator's type is chosen at run time: -dm_mat_type shellfem | aij | aijhashgpu, and so is the\n"
                     "solver: -ksp_type, -pc_type jacobi | mg -pc_mg_levels 3 (-pc_mg_galerkin both: PtAP) and so on. Smoothers are\n"
                     "Chebyshev with Jacobi and a bound of the eigenvalues that holds for every design\n"
                     "(-mg_levels_ksp_chebyshev_esteig 0,0.1,0,1.1: PETSc's estimate instead).\n\n";

#include "topopt.h"
#include <trefoil.h>
#include <petsctime.h>

typedef struct {
  PetscReal volfrac, eta, changetol, expect_rtol, threshold, expected[64];
  PetscInt  maxit, every, nexpected;
  PetscBool monitor;
  char      vti[PETSC_MAX_PATH_LEN], vtu[PETSC_MAX_PATH_LEN], checkpoint[PETSC_MAX_PATH_LEN], restart[PETSC_MAX_PATH_LEN], history[PETSC_MAX_PATH_LEN];
} Options;

/* A list with one value a stage, the last of which also holds for the stages behind */
static PetscErrorCode StageOption(const char name[], const char text[], PetscInt nstage, PetscReal value[], PetscReal low, PetscReal high)
{
  PetscInt  n = MAX_STAGES;
  PetscBool set;
  PetscReal given[MAX_STAGES];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, name, given, &n, &set));
  if (set) {
    PetscCheck(n > 0 && n <= nstage, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%s gives %" PetscInt_FMT " values for %" PetscInt_FMT " stage(s): -stage_its says how many iterations each stage but the last has", name, n, nstage);
    for (PetscInt s = 0; s < nstage; s++) value[s] = given[PetscMin(s, n - 1)];
  }
  PetscCall(PetscOptionsHasHelp(NULL, &set));
  if (set) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: <%g> %s, one value a stage\n", name, (double)value[0], text));
  for (PetscInt s = 0; s < nstage; s++) PetscCheck(value[s] > low && value[s] <= high, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "%s %g: must be above %g and at most %g", name, (double)value[s], (double)low, (double)high);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  -preset paper: the schedule of Yang, Wang and Wang, arXiv:2604.18020 (their filter radius shrinks by 0.1 an iteration
  from one value to the next, here in one step)
*/
static PetscErrorCode ScheduleSetFromOptions(Schedule *s, Options *o)
{
  static const PetscReal paper[4][4] = {
    {1.5, 3.5, 4.5, 4.5},
    {1, 4, 16, 32},
    {0.2, 0.15, 0.08, 0.05},
    {1.5, 1.35, 1.25, 1.2}};
  static const PetscInt paperits[3] = {15, 25, 25};
  static const char    *presets[]   = {"none", "paper"};
  PetscInt              preset = 0, n = MAX_STAGES - 1;
  PetscBool             set;

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Topology optimization: the schedule", NULL);
  PetscCall(PetscOptionsEList("-preset", "none, or the schedule of arXiv:2604.18020", NULL, presets, 2, presets[0], &preset, NULL));
  s->nstage = preset ? 4 : 1;
  o->maxit  = preset ? 120 : 100;
  for (PetscInt i = 0; i < MAX_STAGES; i++) {
    s->penal[i] = preset ? paper[0][PetscMin(i, 3)] : 3;
    s->beta[i]  = preset ? paper[1][PetscMin(i, 3)] : 0;
    s->move[i]  = preset ? paper[2][PetscMin(i, 3)] : 0.2;
    s->rmin[i]  = preset ? paper[3][PetscMin(i, 3)] : 1.5;
    s->its[i]   = preset ? paperits[PetscMin(i, 2)] : 0;
  }
  PetscCall(PetscOptionsIntArray("-stage_its", "Iterations of each stage but the last", NULL, s->its, &n, &set));
  if (set) s->nstage = n + 1;
  for (PetscInt i = 0; i < s->nstage - 1; i++) PetscCheck(s->its[i] > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-stage_its %" PetscInt_FMT ": a stage has at least one iteration", s->its[i]);
  PetscOptionsEnd();
  PetscCall(StageOption("-penal", "Penalization exponent p", s->nstage, s->penal, 0, 100));
  PetscCall(StageOption("-beta", "Sharpness of the Heaviside projection, 0: none", s->nstage, s->beta, -PETSC_SMALL, 1e6));
  PetscCall(StageOption("-move", "Move limit of the design", s->nstage, s->move, 0, 1));
  PetscCall(StageOption("-rmin", "Filter radius in elements; 1 or less: no filter", s->nstage, s->rmin, 0, 1000));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OptionsSet(Options *o, const Problem *p, FEM *fem)
{
  static const PetscReal volfrac[] = {0.3, 0.25, 0.3, 0.5};

  PetscFunctionBeginUser;
  o->volfrac     = volfrac[p->type];
  o->eta         = 0.5;
  o->changetol   = 0.01;
  o->threshold   = 0.5;
  o->every       = 10;
  o->monitor     = PETSC_TRUE;
  o->nexpected   = PETSC_STATIC_ARRAY_LENGTH(o->expected);
  o->expect_rtol = 1e-6;
  fem->E0        = 1;
  fem->Emin      = 1e-9;
  fem->factor    = 10;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Topology optimization: the optimization", NULL);
  PetscCall(PetscOptionsReal("-volfrac", "Fraction of the volume to fill", NULL, o->volfrac, &o->volfrac, NULL));
  PetscCheck(o->volfrac > 0 && o->volfrac <= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-volfrac %g: must be above 0 and at most 1", (double)o->volfrac);
  PetscCall(PetscOptionsReal("-emin", "Modulus of void, solid has 1", NULL, fem->Emin, &fem->Emin, NULL));
  PetscCheck(fem->Emin > 0 && fem->Emin < 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-emin %g: must be between 0 and 1, or the stiffness matrix is singular where there is no material", (double)fem->Emin);
  PetscCall(PetscOptionsReal("-eta", "Threshold of the Heaviside projection", NULL, o->eta, &o->eta, NULL));
  PetscCheck(o->eta > 0 && o->eta < 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-eta %g: must be between 0 and 1", (double)o->eta);
  PetscCall(PetscOptionsInt("-max_it", "Iterations in total", NULL, o->maxit, &o->maxit, NULL));
  PetscCheck(o->maxit > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-max_it %" PetscInt_FMT ": must be positive", o->maxit);
  PetscCall(PetscOptionsReal("-change_tol", "Stop in the last stage when no element changes by more", NULL, o->changetol, &o->changetol, NULL));
  PetscCall(PetscOptionsReal("-true_residual_factor", "Stop with an error if the true residual exceeds the tolerance this many times", NULL, fem->factor, &fem->factor, NULL));
  PetscCall(PetscOptionsBool("-continue_on_failure", "Go on after a solve that did not converge", NULL, fem->keep_on, &fem->keep_on, NULL));
  PetscCall(PetscOptionsBool("-capture", "SHELLFEM: give it element matrices by MatSetValuesBlockedLocal() as any type, instead of moduli", NULL, fem->capture, &fem->capture, NULL));
  PetscCall(PetscOptionsBool("-topopt_monitor", "A line every iteration", NULL, o->monitor, &o->monitor, NULL));
  PetscCall(PetscOptionsString("-table", "Table (CSV) of the iterations", NULL, o->history, o->history, sizeof(o->history), NULL));
  PetscCall(PetscOptionsString("-vti", "Densities and displacements of the block, for ParaView", NULL, o->vti, o->vti, sizeof(o->vti), NULL));
  PetscCall(PetscOptionsString("-vtu", "Solid elements and displacements, for ParaView", NULL, o->vtu, o->vtu, sizeof(o->vtu), NULL));
  PetscCall(PetscOptionsReal("-threshold", "Density from which an element is solid in the .vtu file", NULL, o->threshold, &o->threshold, NULL));
  PetscCall(PetscOptionsString("-checkpoint", "File for the state", NULL, o->checkpoint, o->checkpoint, sizeof(o->checkpoint), NULL));
  PetscCall(PetscOptionsInt("-checkpoint_every", "Iterations between checkpoints", NULL, o->every, &o->every, NULL));
  PetscCheck(o->every > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-checkpoint_every %" PetscInt_FMT ": must be positive", o->every);
  PetscCall(PetscOptionsString("-restart", "File to continue from", NULL, o->restart, o->restart, sizeof(o->restart), NULL));
  PetscCall(PetscOptionsRealArray("-expect_compliance", "Compare the compliances of the first iterations with these", NULL, o->expected, &o->nexpected, NULL));
  PetscCall(PetscOptionsReal("-expect_rtol", "Relative tolerance of this comparison", NULL, o->expect_rtol, &o->expect_rtol, NULL));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An element and its lowest node have the same owner: the last process in a direction has one layer of nodes more than of elements */
static PetscErrorCode CreateGrids(const Problem *p, PetscInt width, DM *cells, DM *nodes)
{
  PetscInt        m, n, q;
  const PetscInt *l[3];
  PetscInt       *lnode[3];
  PetscInt        nproc[3];

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) PetscCheck(width <= p->n[d], PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-rmin above %" PetscInt_FMT ": the filter reaches farther than the %" PetscInt_FMT " elements in %c; each process needs as many", width, p->n[d], (char)('x' + d));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, p->n[0], p->n[1], p->n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, width, NULL, NULL, NULL, cells));
  PetscCall(DMSetOptionsPrefix(*cells, "cells_"));
  PetscCall(DMSetFromOptions(*cells));
  PetscCall(DMSetUp(*cells));
  PetscCall(DMDAGetInfo(*cells, NULL, NULL, NULL, NULL, &m, &n, &q, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(*cells, &l[0], &l[1], &l[2]));
  nproc[0] = m;
  nproc[1] = n;
  nproc[2] = q;
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscMalloc1(nproc[d], &lnode[d]));
    PetscCall(PetscArraycpy(lnode[d], l[d], nproc[d]));
    lnode[d][nproc[d] - 1]++;
  }
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, p->n[0] + 1, p->n[1] + 1, p->n[2] + 1, m, n, q, 3, 1, lnode[0], lnode[1], lnode[2], nodes));
  PetscCall(DMSetFromOptions(*nodes));
  PetscCall(DMSetUp(*nodes));
  PetscCall(DMDASetUniformCoordinates(*nodes, 0, p->n[0], 0, p->n[1], 0, p->n[2]));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(lnode[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Passive elements at their density, the others at one density that fills the volume */
static PetscErrorCode InitialDesign(const signed char *passive, PetscReal volfrac, Vec x)
{
  PetscInt     n, ntotal;
  PetscInt64   count[2] = {0, 0};
  PetscReal    rest;
  PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetSize(x, &ntotal));
  for (PetscInt e = 0; e < n; e++) {
    count[0] += passive[e] > 0;
    count[1] += passive[e] == 0;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, count, 2, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  PetscCheck(count[1] > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONGSTATE, "All elements are passive: nothing to optimize");
  rest = (volfrac * ntotal - (PetscReal)count[0]) / (PetscReal)count[1];
  PetscCheck(rest > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "The %" PetscInt64_FMT " passive solid elements of %" PetscInt_FMT " fill -volfrac %g already: raise it", count[0], ntotal, (double)volfrac);
  PetscCall(VecGetArrayWrite(x, &v));
  for (PetscInt e = 0; e < n; e++) v[e] = passive[e] ? (passive[e] > 0) : PetscMin(1, rest);
  PetscCall(VecRestoreArrayWrite(x, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of iteration it, counted from 1 */
static PetscInt ScheduleStage(const Schedule *s, PetscInt it)
{
  PetscInt stage = 0;

  for (PetscInt end = 0; stage < s->nstage - 1; stage++) {
    end += s->its[stage];
    if (it <= end) break;
  }
  return stage;
}

static PetscErrorCode Report(const Options *o, const Schedule *s, PetscInt stage, PetscInt it, PetscReal c, PetscReal volume, PetscReal change, const SolveInfo *info, PetscReal seconds, FILE *history)
{
  PetscFunctionBeginUser;
  if (o->monitor) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%5" PetscInt_FMT "  %12.6e  %8.6f  %8.6f  %6" PetscInt_FMT "  %9.2e  %8.2f\n", it, (double)c, (double)volume, (double)change, info->its, (double)info->residual, (double)seconds));
  if (history) {
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, history, "%" PetscInt_FMT ",%.17g,%.17g,%.17g,%" PetscInt_FMT ",%.6g,%.6g,%g,%g,%g,%g\n", it, (double)c, (double)volume, (double)change, info->its, (double)info->residual, (double)seconds, (double)s->penal[stage], (double)s->beta[stage], (double)s->move[stage], (double)s->rmin[stage]));
    PetscCall(PetscFFlush(history));
  }
  if (it <= o->nexpected) {
    const PetscReal error = PetscAbsReal(c - o->expected[it - 1]) / PetscAbsReal(o->expected[it - 1]);

    if (error <= o->expect_rtol)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Compliance of iteration %" PetscInt_FMT " as expected\n", it));
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Compliance of iteration %" PetscInt_FMT ": %.10g, expected %.10g, relative difference %.2e\n", it, (double)c, (double)o->expected[it - 1], (double)error));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpenHistory(const Options *o, const State *state, FILE **history)
{
  PetscFunctionBeginUser;
  *history = NULL;
  if (!o->history[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, o->history, state->it ? "a" : "w", history));
  if (!state->it) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, *history, "iteration,compliance,volume,change,ksp_iterations,true_residual,seconds,penal,beta,move,rmin\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The design of the next iteration */
static PetscErrorCode Update(FEM *fem, Filter *filter, const Schedule *s, PetscInt stage, PetscReal volfrac, Vec filtered, Vec rho, State *state)
{
  Vec drho, dc, dv;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(rho, &drho));
  PetscCall(VecDuplicate(rho, &dc));
  PetscCall(VecDuplicate(rho, &dv));
  PetscCall(FEMSensitivity(fem, rho, s->penal[stage], drho));
  PetscCall(FilterApplyTranspose(filter, filtered, drho, dc));
  PetscCall(VecSet(drho, 1));
  PetscCall(FilterApplyTranspose(filter, filtered, drho, dv));
  PetscCall(OCUpdate(filter, volfrac, s->move[stage], dc, dv, state->x, &state->change));
  PetscCall(VecDestroy(&drho));
  PetscCall(VecDestroy(&dc));
  PetscCall(VecDestroy(&dv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Optimize(const Options *o, const Schedule *s, FEM *fem, Filter *filter, State *state, Vec rho)
{
  Vec            filtered;
  PetscReal      c = 0;
  PetscInt       n;
  PetscLogDouble begin, end;
  FILE          *history;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(rho, &filtered));
  PetscCall(VecGetSize(rho, &n));
  PetscCall(OpenHistory(o, state, &history));
  if (o->monitor) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   it    compliance    volume    change     KSP   residual   seconds\n"));
  PetscCall(PetscTime(&begin));
  while (state->it < o->maxit) {
    const PetscInt it = ++state->it, stage = ScheduleStage(s, it);
    PetscReal      compliance[MAX_CASES];
    PetscScalar    volume;
    SolveInfo      info;

    PetscCall(FilterSet(filter, s->rmin[stage], s->beta[stage], o->eta));
    PetscCall(FilterApply(filter, state->x, filtered, rho));
    PetscCall(VecSum(rho, &volume));
    PetscCall(FEMSolve(fem, rho, s->penal[stage], compliance, &info));
    c = 0;
    for (PetscInt l = 0; l < fem->problem->ncase; l++) c += fem->problem->weight[l] * compliance[l];
    PetscCheck(!PetscIsInfOrNanReal(c), PETSC_COMM_WORLD, PETSC_ERR_FP, "The compliance of iteration %" PetscInt_FMT " is not a number", it);
    PetscCall(PetscTime(&end));
    PetscCall(Report(o, s, stage, it, c, volume / n, state->change, &info, end - begin, history));
    begin = end; /* the update is in the time of the next line */
    if (it > 1 && stage == s->nstage - 1 && state->change <= o->changetol) break;
    PetscCall(Update(fem, filter, s, stage, o->volfrac, filtered, rho, state));
    if (o->checkpoint[0] && (it % o->every == 0 || it == o->maxit)) PetscCall(CheckpointWrite(o->checkpoint, fem, state));
  }
  if (o->monitor) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Final compliance %.6e after %" PetscInt_FMT " iterations\n", (double)c, state->it));
  if (history) PetscCall(PetscFClose(PETSC_COMM_WORLD, history));
  PetscCall(VecDestroy(&filtered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem      problem  = {PROBLEM_CANTILEVER};
  Schedule     schedule = {0};
  Options      o        = {0};
  FEM          fem      = {0};
  Filter       filter   = {0};
  State        state    = {0};
  PetscReal    rmin     = 1;
  DM           cells, nodes;
  Vec          rho;
  signed char *passive;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(ProblemSetFromOptions(&problem));
  PetscCall(ScheduleSetFromOptions(&schedule, &o));
  PetscCall(OptionsSet(&o, &problem, &fem));
  for (PetscInt s = 0; s < schedule.nstage; s++) rmin = PetscMax(rmin, schedule.rmin[s]);
  PetscCall(CreateGrids(&problem, (PetscInt)PetscCeilReal(rmin) - 1, &cells, &nodes));
  PetscCall(ProblemCheckSupports(&problem, nodes));
  PetscCall(FEMCreate(&fem, &problem, nodes, cells));
  PetscCall(ProblemGetPassive(&problem, cells, &passive));
  PetscCall(FilterCreate(&filter, cells, (PetscInt)PetscCeilReal(rmin) - 1, passive));
  PetscCall(DMCreateGlobalVector(cells, &rho));
  PetscCall(VecDuplicate(rho, &state.x));
  PetscCall(InitialDesign(passive, o.volfrac, state.x));
  if (o.restart[0]) PetscCall(CheckpointRead(o.restart, &fem, &state));
  PetscCheck(state.it < o.maxit, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-restart %s is at iteration %" PetscInt_FMT " already: raise -max_it %" PetscInt_FMT, o.restart, state.it, o.maxit);
  PetscCall(Optimize(&o, &schedule, &fem, &filter, &state, rho));
  if (o.vti[0]) PetscCall(OutputVTI(o.vti, &fem, rho));
  if (o.vtu[0]) PetscCall(OutputVTU(o.vtu, &fem, rho, o.threshold));
  PetscCall(PetscFree(passive));
  PetscCall(VecDestroy(&rho));
  PetscCall(VecDestroy(&state.x));
  PetscCall(FilterDestroy(&filter));
  PetscCall(FEMDestroy(&fem));
  PetscCall(DMDestroy(&cells));
  PetscCall(DMDestroy(&nodes));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: !complex double
    depends: topopt_problem.c topopt_fem.c topopt_filter.c topopt_oc.c topopt_output.c topopt_checkpoint.c

  # compliances by tests/topopt/reference.py
  testset:
    args: -topopt_monitor 0 -max_it 5 -ksp_rtol 1e-9
    output_file: output/topopt_expected.out
    test:
      suffix: cantilever
      nsize: {{1 2 3}}
      args: -nx 12 -ny 6 -nz 4 -dm_mat_type {{aij aijhashgpu shellfem}}
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: direct
      args: -nx 12 -ny 6 -nz 4 -ksp_type preonly -pc_type {{cholesky lu}} -options_left no
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: multigrid
      nsize: {{1 3}}
      args: -nx 12 -ny 6 -nz 4 -pc_type mg -pc_mg_levels 2 -dm_mat_type {{aij aijhashgpu shellfem}}
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: galerkin
      nsize: {{1 3}}
      args: -nx 12 -ny 6 -nz 4 -pc_type mg -pc_mg_levels 2 -dm_mat_type {{aij aijhashgpu shellfem}} -pc_mg_galerkin both
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: femmg
      nsize: {{1 2 3}}
      args: -nx 12 -ny 6 -nz 4 -dm_mat_type shellfem -pc_type femmg -pc_femmg_coarse_eq_limit 100
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: capture
      nsize: {{1 2 3}}
      args: -nx 12 -ny 6 -nz 4 -dm_mat_type shellfem -capture -pc_type {{jacobi pbjacobi mg}} -pc_mg_levels 2 -options_left no
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: cuda
      requires: cuda
      nsize: {{1 2}}
      args: -nx 12 -ny 6 -nz 4 -dm_vec_type cuda -dm_mat_type {{aijcusparse aijhashgpu shellfem}} -pc_type {{jacobi mg}} -pc_mg_levels 2 -options_left no
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: gamg
      nsize: {{1 3}}
      args: -nx 12 -ny 6 -nz 4 -pc_type gamg -dm_mat_type {{aij aijhashgpu shellfem}}
      args: -expect_compliance 381.515882051,244.497064937,189.832257676,166.486063278,150.741832555
    test:
      suffix: projection
      nsize: {{1 3}}
      args: -problem torsion -nx 12 -ny 4 -nz 4 -beta 1 -rmin 1.8 -dm_mat_type {{aij shellfem}}
      args: -expect_compliance 467.402797838,294.480506943,264.817925867,251.184908228,240.45353898
    test:
      suffix: bridge
      nsize: {{1 3}}
      args: -problem bridge -nx 12 -ny 6 -nz 4 -dm_mat_type {{aij shellfem}}
      args: -expect_compliance 253.54232552,59.0422965293,35.1387409465,28.0028378085,25.3611301831
    test:
      suffix: load_cases
      nsize: {{1 3}}
      args: -nx 8 -ny 4 -nz 4 -load_cases 3 -rmin 1.2 -move 0.1 -dm_mat_type {{aij shellfem}}
      args: -expect_compliance 269.007917736,203.057208506,163.015760982,136.342810036,115.74196539
    test:
      suffix: passive
      nsize: {{1 3}}
      args: -nx 12 -ny 8 -nz 4 -volfrac 0.4 -deck 1 -passive_void 0.25,0.75,0.25,0.75,0,1 -dm_mat_type {{aij shellfem}}
      args: -expect_compliance 95.0298103506,65.4562085892,54.0305351664,47.8638184707,44.6517541836
    test:
      suffix: wide_filter
      nsize: {{1 2}}
      args: -nx 16 -ny 8 -nz 4 -rmin 2.5 -dm_mat_type {{aij shellfem}}
      args: -expect_compliance 387.37588054,257.758974219,208.487751074,190.247090949,177.238948394

  test:
    suffix: mbb
    nsize: {{1 3}}
    args: -problem mbb -nx 12 -ny 6 -nz 4 -penal 2 -topopt_monitor 0 -max_it 5 -ksp_rtol 1e-9 -dm_mat_type {{aij shellfem}}
    args: -expect_compliance 60.2152528429,40.4951301729,32.9851134673,30.2441200302,29.6047911475

  # a monitor line, without what rounding and the clock change
  test:
    suffix: monitor
    args: -nx 8 -ny 4 -nz 2 -max_it 3 -ksp_type preonly -pc_type cholesky
    filter: cut -c 1-47

  # multigrid on black and white designs: at most 150 iterations each (Jacobi: 834 for the bridge)
  test:
    suffix: contrast
    nsize: 2
    args: -problem {{torsion bridge}} -nx 24 -ny 8 -nz 8 -preset paper -max_it 45 -change_tol 0 -dm_mat_type shellfem -pc_type mg -pc_mg_levels {{2 3}} -ksp_rtol 1e-5 -ksp_max_it 150
    filter: tail -n 1 | sed -e "s|compliance [^ ]*|compliance|"

  test:
    suffix: contrast_femmg
    nsize: 2
    output_file: output/topopt_contrast.out
    args: -problem {{torsion bridge}} -nx 24 -ny 8 -nz 8 -preset paper -max_it 45 -change_tol 0 -dm_mat_type shellfem -pc_type femmg -pc_femmg_coarse_eq_limit 300 -ksp_rtol 1e-5 -ksp_max_it 150
    filter: tail -n 1 | sed -e "s|compliance [^ ]*|compliance|"

  # converged before the last iteration
  test:
    suffix: change
    args: -nx 8 -ny 4 -nz 2 -max_it 30 -change_tol 0.15
    filter: tail -n 1 | sed -e "s|compliance [^ ]*|compliance|"

  # what goes wrong, and what the message says
  testset:
    requires: !defined(PETSCTEST_VALGRIND) !defined(PETSC_HAVE_SANITIZER)
    args: -petsc_ci_portable_error_output -error_output_stdout -nx 8 -ny 4 -nz 4 -max_it 2
    test:
      suffix: error_iterations
      nsize: {{1 2}}
      args: -ksp_max_it 5
      filter: grep -o "the solve stopped after.*" | sed -e "s|residual [^ ]*|residual|"
    test:
      suffix: error_residual
      args: -ksp_convergence_test skip -ksp_max_it 5
      filter: grep -o "the solver reports [A-Z_]*" | sort -u
    test:
      suffix: error_supports
      nsize: {{1 2}}
      args: -problem mbb -published_supports
      filter: grep -o "The supports of problem.*singular" | sort -u
    test:
      suffix: error_size
      args: -ny 0
      filter: grep -o "[-]ny 0: give.*"
    test:
      suffix: error_volfrac
      args: -volfrac {{0 1.5}separate output}
      filter: grep -o "[-]volfrac.*must.*"
    test:
      suffix: error_rmin
      args: -rmin 0
      filter: grep -o "[-]rmin .*: must.*"
    test:
      suffix: error_filter
      args: -rmin 6
      filter: grep -o "[-]rmin above.*"
    test:
      suffix: error_solid
      args: -volfrac 0.1 -passive_solid 0,1,0,0.5,0,1
      filter: grep -o "The 64 passive.*"
    test:
      suffix: error_box
      args: -passive_void 0,1,0.5
      filter: grep -o "[-]passive_void: 3.*"
    test:
      suffix: error_restart
      args: -restart nowhere.state
      filter: grep -o "[-]restart nowhere.state: there is.*"
    test:
      suffix: error_stages
      args: -penal 1,2,3
      filter: grep -o "[-]penal gives.*"
    test:
      suffix: error_coarse
      args: -nx 6 -pc_type mg -pc_mg_levels 3 -ny 8 -nz 8
      filter: grep -o "[0-9]* elements in .*"

  # the same solve, not stopped
  test:
    suffix: continue
    args: -nx 8 -ny 4 -nz 4 -max_it 2 -ksp_max_it 5 -continue_on_failure
    filter: grep -c "^ .*e+"

TEST*/
