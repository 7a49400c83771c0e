/*
  PCFEMMG: options, life cycle, view. The levels are made here and handed to an inner PCMG.
*/
#include "femmgimpl.h"

PetscLogEvent PC_FEMMGCoarsen, PC_FEMMGTransfer;

static const char *const Smoothers[] = {"jacobi", "pbjacobi", "chebyshev", "FEMMGSmootherType", "FEMMG_", NULL};

static PetscErrorCode PCReset_FEMMG(PC pc)
{
  PC_FEMMG *f = (PC_FEMMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCDestroy(&f->mg));
  for (PetscInt l = 0; l < f->nlevels; l++) {
    PetscCall(MatDestroy(&f->level[l].P));
    PetscCall(MatDestroy(&f->level[l].A));
    PetscCall(VecDestroy(&f->level[l].free));
    PetscCall(FEMMGSmootherReset(&f->level[l].smoother));
    PetscCall(DMDestroy(&f->level[l].da));
  }
  PetscCall(MatDestroy(&f->coarsest));
  f->nlevels = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_FEMMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_FEMMG(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_FEMMG(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_FEMMG                *f = (PC_FEMMG *)pc->data;
  PetscInt                 cycle;
  PetscBool                set;
  static const char *const cycles[] = {"v", "w"};

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "FEMMG options");
  PetscCall(PetscOptionsRangeInt("-pc_femmg_levels", "Levels, the finest included; 0: as many as it takes", PCFEMMG, f->wanted, &f->wanted, NULL, 0, FEMMG_MAX_LEVELS));
  PetscCall(PetscOptionsBoundedInt("-pc_femmg_coarse_eq_limit", "Equations at most on the coarsest level, if it can be", PCFEMMG, f->limit, &f->limit, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-pc_femmg_smooths", "Smoothing steps before, and as many after, each correction", PCFEMMG, f->smooths, &f->smooths, NULL, 1));
  PetscCall(PetscOptionsEnum("-pc_femmg_smoother", "Smoother: damped Jacobi, or Chebyshev polynomials of Jacobi with blocks of nodes (pbjacobi) or without (chebyshev)", PCFEMMG, Smoothers, (PetscEnum)f->smoothertype, (PetscEnum *)&f->smoothertype, NULL));
  PetscCall(PetscOptionsEList("-pc_femmg_cycle", "Cycle", PCFEMMG, cycles, 2, cycles[f->cycle == PC_MG_CYCLE_W], &cycle, &set));
  if (set) f->cycle = cycle ? PC_MG_CYCLE_W : PC_MG_CYCLE_V;
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMs from the finest to the coarsest, then in the order of levels */
static PetscErrorCode CreateLattices(PC pc, Mat A)
{
  PC_FEMMG *f = (PC_FEMMG *)pc->data;
  DM        da[FEMMG_MAX_LEVELS];
  PetscInt  n = 0, rows;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)((Mat_ShellFEM *)A->data)->dm));
  da[n++] = ((Mat_ShellFEM *)A->data)->dm;
  rows    = A->rmap->N;
  while (n < (f->wanted ? f->wanted : FEMMG_MAX_LEVELS) && (f->wanted || rows > f->limit)) {
    Vec v;

    PetscCall(PCFEMMGCoarsenDM(da[n - 1], &da[n]));
    if (!da[n]) break;
    PetscCall(DMGetGlobalVector(da[n], &v));
    PetscCall(VecGetSize(v, &rows));
    PetscCall(DMRestoreGlobalVector(da[n], &v));
    n++;
  }
  if (f->wanted > n) PetscCall(PetscInfo(pc, "%" PetscInt_FMT " levels instead of %" PetscInt_FMT ": the lattice cannot be coarsened further\n", n, f->wanted));
  f->nlevels = n;
  for (PetscInt l = 0; l < n; l++) f->level[l].da = da[n - 1 - l];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarsest level is solved by LU, each process having all of it */
static PetscErrorCode ConfigureCoarsest(PC pc, KSP ksp)
{
  PetscMPIInt size;
  PC          cpc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &cpc));
  PetscCall(PCSetType(cpc, size > 1 ? PCREDUNDANT : PCLU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCycle(PC pc)
{
  PC_FEMMG   *f = (PC_FEMMG *)pc->data;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &f->mg));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)f->mg, (PetscObject)pc, 1));
  PetscCall(PCSetOptionsPrefix(f->mg, prefix));
  PetscCall(PCAppendOptionsPrefix(f->mg, "femmg_"));
  PetscCall(PCSetType(f->mg, PCMG));
  PetscCall(PCMGSetLevels(f->mg, f->nlevels, NULL));
  PetscCall(PCMGSetGalerkin(f->mg, PC_MG_GALERKIN_EXTERNAL));
  PetscCall(PCMGSetCycleType(f->mg, f->cycle));
  for (PetscInt l = 0; l < f->nlevels; l++) {
    KSP  ksp;
    char name[64];

    PetscCall(PCMGGetSmoother(f->mg, l, &ksp));
    if (l)
      PetscCall(PetscSNPrintf(name, sizeof(name), "femmg_levels_%" PetscInt_FMT "_", l));
    else
      PetscCall(PetscStrncpy(name, "femmg_coarse_", sizeof(name)));
    PetscCall(KSPSetOptionsPrefix(ksp, prefix));
    PetscCall(KSPAppendOptionsPrefix(ksp, name));
    if (l)
      PetscCall(FEMMGSmootherConfigure(ksp, f->smoothertype, f->smooths, &f->level[l].smoother));
    else
      PetscCall(ConfigureCoarsest(pc, ksp));
    if (l) PetscCall(PCMGSetInterpolation(f->mg, l, f->level[l].P));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that does not depend on the elements' values */
static PetscErrorCode CreateLevels(PC pc, Mat A)
{
  PC_FEMMG *f = (PC_FEMMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(CreateLattices(pc, A));
  for (PetscInt l = 0; l < f->nlevels; l++) {
    FEMMGLevel *level = &f->level[l];

    PetscCall(DMCreateGlobalVector(level->da, &level->free));
    if (l) PetscCall(PCFEMMGCreateInterpolation(f->level[l - 1].da, level->da, NULL, &level->P));
    if (l < f->nlevels - 1) PetscCall(FEMMGCreateCoarseMat(level->da, A, &level->A));
  }
  PetscCall(CreateCycle(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operators from the finest to the coarsest, and smoothers */
static PetscErrorCode UpdateLevels(PC pc, Mat A)
{
  PC_FEMMG      *f     = (PC_FEMMG *)pc->data;
  const PetscInt top   = f->nlevels - 1;
  FEMMGLevel    *level = f->level;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(MatDestroy(&level[top].A));
  level[top].A = A;
  PetscCall(FEMMGGetFree(A, level[top].free));
  for (PetscInt l = top; l > 0; l--) {
    PetscCall(FEMMGTransferSetFree(level[l].P, level[l].free));
    PetscCall(FEMMGCoarsenOperator(level[l].A, level[l].P, level[l - 1].A, level[l - 1].free));
    PetscCall(FEMMGSmootherSetUp(level[l].A, f->smoothertype == FEMMG_PBJACOBI ? A->rmap->bs : 1, &level[l].smoother));
  }
  PetscCall(MatConvert(level[0].A, MATAIJ, f->coarsest ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &f->coarsest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UpdateCycle(PC pc)
{
  PC_FEMMG       *f     = (PC_FEMMG *)pc->data;
  const PetscBool first = (PetscBool)!f->mg->setupcalled;
  PCFailedReason  reason;

  PetscFunctionBegin;
  PetscCall(PCSetOperators(f->mg, f->level[f->nlevels - 1].A, f->level[f->nlevels - 1].A));
  PetscCall(PCSetErrorIfFailure(f->mg, pc->erroriffailure));
  for (PetscInt l = 0; l < f->nlevels; l++) {
    const Mat A = l ? f->level[l].A : f->coarsest;
    KSP       ksp;

    PetscCall(PCMGGetSmoother(f->mg, l, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(PCMGSetResidual(f->mg, l, PCMGResidualDefault, A));
    PetscCall(PCMGSetResidualTranspose(f->mg, l, PCMGResidualTransposeDefault, A));
  }
  PetscCall(PCSetUp(f->mg));
  for (PetscInt l = 1; l < f->nlevels && first; l++) {
    KSP ksp;

    PetscCall(PCMGGetSmoother(f->mg, l, &ksp));
    PetscCall(FEMMGSmootherFinish(ksp));
  }
  PetscCall(PCGetFailedReason(f->mg, &reason));
  PetscCall(PCSetFailedReason(pc, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_FEMMG(PC pc)
{
  PC_FEMMG *f = (PC_FEMMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(FEMMGCheckOperator(pc, pc->pmat));
  if (f->mg && f->level[f->nlevels - 1].da != ((Mat_ShellFEM *)pc->pmat->data)->dm) PetscCall(PCReset_FEMMG(pc));
  if (!f->mg) PetscCall(CreateLevels(pc, pc->pmat));
  PetscCall(UpdateLevels(pc, pc->pmat));
  PetscCall(UpdateCycle(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_FEMMG(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCApply(((PC_FEMMG *)pc->data)->mg, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_FEMMG(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCApplyTranspose(((PC_FEMMG *)pc->data)->mg, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt N[3];
  double   rows, elements, full, entries, bytes; /* entries: of element matrices, which a product multiplies */
} LevelCount;

static PetscErrorCode CountLevel(const FEMMGLevel *level, LevelCount *c)
{
  const Mat_ShellFEM *a      = (const Mat_ShellFEM *)level->A->data;
  const ShellFEMGroup g      = a->lattice;
  double              sum[2] = {0, 0};
  MatInfo             info;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(level->da, NULL, &c->N[0], &c->N[1], &c->N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt e = 0; e < g->nel; e++) {
    sum[0] += g->ref[e] != ELEMENT_NONE;
    sum[1] += g->ref[e] == ELEMENT_FULL;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)level->A)));
  PetscCall(MatGetInfo(level->A, MAT_GLOBAL_SUM, &info));
  c->rows     = (double)level->A->rmap->N;
  c->elements = sum[0];
  c->full     = sum[1];
  c->entries  = sum[0] * g->ndof * g->ndof;
  c->bytes    = info.memory;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewLevels(const PC_FEMMG *f, PetscViewer viewer)
{
  LevelCount fine = {{0, 0, 0}, 0, 0, 0, 0, 0}, sum = {{0, 0, 0}, 0, 0, 0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt l = f->nlevels - 1; l >= 0; l--) {
    LevelCount c;

    PetscCall(CountLevel(&f->level[l], &c));
    if (l == f->nlevels - 1) fine = c;
    PetscCall(PetscViewerASCIIPrintf(viewer, "level %" PetscInt_FMT ": %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " nodes, %.0f equations, %.0f elements, %.0f with a matrix of their own, %.4g MB\n", l, c.N[0], c.N[1], PetscMax(c.N[2], 1), c.rows, c.elements, c.full, c.bytes / 1e6));
    sum.rows += c.rows;
    sum.entries += c.entries;
    sum.bytes += c.bytes;
  }
  if (fine.rows > 0 && fine.entries > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "grid complexity %.4g, operator complexity %.4g, %.4g bytes per element of the finest level\n", sum.rows / fine.rows, sum.entries / fine.entries, sum.bytes / fine.elements));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_FEMMG(PC pc, PetscViewer viewer)
{
  PC_FEMMG *f = (PC_FEMMG *)pc->data;
  PetscBool isascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  smoother %s, %" PetscInt_FMT " steps before and after\n", Smoothers[f->smoothertype], f->smooths));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    if (f->mg) PetscCall(ViewLevels(f, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  if (f->mg) PetscCall(PCView(f->mg, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetLevels(PC pc, PC_FEMMG **f)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCFEMMG, &ours));
  PetscCheck(ours, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONG, "The preconditioner has type %s, not femmg", ((PetscObject)pc)->type_name ? ((PetscObject)pc)->type_name : "(not set)");
  *f = (PC_FEMMG *)pc->data;
  PetscCheck((*f)->mg, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE, "Call PCSetUp() first: there are no levels yet");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetLevel(PC pc, PetscInt l, FEMMGLevel **level)
{
  PC_FEMMG *f = NULL;

  PetscFunctionBegin;
  PetscCall(GetLevels(pc, &f));
  PetscCheck(l >= 0 && l < f->nlevels, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "There is no level %" PetscInt_FMT ": levels are 0, the coarsest, to %" PetscInt_FMT, l, f->nlevels - 1);
  *level = &f->level[l];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCFEMMGGetLevels - Gets the number of levels

  Not Collective

  Input Parameter:
. pc - the preconditioner, set up

  Output Parameter:
. levels - their number, the finest included

  Level: intermediate

.seealso: `PCFEMMG`, `PCFEMMGGetOperator()`, `PCFEMMGGetInterpolation()`
@*/
PetscErrorCode PCFEMMGGetLevels(PC pc, PetscInt *levels)
{
  PC_FEMMG *f = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(levels, 2);
  PetscCall(GetLevels(pc, &f));
  *levels = f->nlevels;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCFEMMGGetOperator - Gets the operator of a level, a `MATSHELLFEM` matrix

  Not Collective

  Input Parameters:
+ pc - the preconditioner, set up
- l  - the level, 0 is the coarsest

  Output Parameter:
. A - the matrix, a borrowed reference

  Level: intermediate

.seealso: `PCFEMMG`, `PCFEMMGGetLevels()`, `PCFEMMGGetInterpolation()`
@*/
PetscErrorCode PCFEMMGGetOperator(PC pc, PetscInt l, Mat *A)
{
  FEMMGLevel *level = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(A, 3);
  PetscCall(GetLevel(pc, l, &level));
  *A = level->A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCFEMMGGetInterpolation - Gets the interpolation to a level from the one below, `NULL` for level 0

  Not Collective

  Input Parameters:
+ pc - the preconditioner, set up
- l  - the level, 0 is the coarsest

  Output Parameter:
. P - the matrix, a borrowed reference; rows of held dofs are zero

  Level: intermediate

.seealso: `PCFEMMG`, `PCFEMMGGetLevels()`, `PCFEMMGCreateInterpolation()`
@*/
PetscErrorCode PCFEMMGGetInterpolation(PC pc, PetscInt l, Mat *P)
{
  FEMMGLevel *level = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(P, 3);
  PetscCall(GetLevel(pc, l, &level));
  *P = level->P;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCFEMMGGetMG - Gets the `PCMG` that runs the cycle

  Not Collective

  Input Parameter:
. pc - the preconditioner, set up

  Output Parameter:
. mg - the inner preconditioner, a borrowed reference

  Level: advanced

.seealso: `PCFEMMG`, `PCMGGetSmoother()`, `PCMGGetCoarseSolve()`
@*/
PetscErrorCode PCFEMMGGetMG(PC pc, PC *mg)
{
  PC_FEMMG *f = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(mg, 2);
  PetscCall(GetLevels(pc, &f));
  *mg = f->mg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCFEMMG - "femmg" - Geometric multigrid for `MATSHELLFEM` matrices on the lattice of a `DMDA`

   Options Database Keys:
+  -pc_type femmg                     - sets the type
.  -pc_femmg_levels <0>               - levels, the finest included; 0: until few equations are left
.  -pc_femmg_coarse_eq_limit <1500>   - how many that is
.  -pc_femmg_smoother <chebyshev>     - jacobi (damped), or Chebyshev polynomials: pbjacobi (of blocks of nodes), chebyshev
.  -pc_femmg_smooths <2>              - smoothing steps before and after each correction
.  -pc_femmg_cycle <v>                - v or w
.  -femmg_levels_                     - prefix of the smoothers: -femmg_levels_ksp_type, -femmg_levels_2_pc_type, ...
-  -femmg_coarse_                     - prefix of the solver of the coarsest level: -femmg_coarse_pc_type, ...

   Level: beginner

   Notes:
   Nothing is assembled but the coarsest level. Interpolation is that of the elements (linear in each direction); coarse operators are
   exact Galerkin products P' A P, computed element by element. Where eight elements are alike their coarse element is
   a multiple of a reference matrix and takes 12 bytes; others have a matrix of their own. Any number of elements will do, an odd
   one is rounded up.

   Held dofs, of `MatZeroRowsColumns()` and `MatZeroRows()`, get no correction, on no level. Diagonals added by `MatShift()` or
   `MatDiagonalSet()` are part of the coarse operators.

   The preconditioner is symmetric and positive definite if the matrix is, for every contrast of the elements: smoothers are scaled
   by a bound of the eigenvalues from the elements, not by an estimate. Use it with `KSPCG`. Another preconditioner inside a smoother
   (`-femmg_levels_pc_type`) gets estimated bounds, as in `PCMG`.

   Scales that change, or elements that are assembled again, are taken up by the next `KSPSolve()`; what was allocated stays.

   Each process keeps one node at least in each direction on each level. The coarsest level is solved by every process
   (`PCREDUNDANT`, LU).

   References: Baker, Falgout, Kolev and Yang 2011 (smoothers by bounds), Lottes 2023 (Chebyshev polynomials of the fourth kind).

.seealso: `MATSHELLFEM`, `PCMG`, `KSPCG`, `PCFEMMGGetOperator()`, `PCFEMMGCreateInterpolation()`
M*/
static PetscErrorCode PCCreate_FEMMG(PC pc)
{
  PC_FEMMG *f = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  pc->data        = f;
  f->limit        = 1500;
  f->smooths      = 2;
  f->smoothertype = FEMMG_CHEBYSHEV;
  f->cycle        = PC_MG_CYCLE_V;

  pc->ops->setup          = PCSetUp_FEMMG;
  pc->ops->reset          = PCReset_FEMMG;
  pc->ops->destroy        = PCDestroy_FEMMG;
  pc->ops->setfromoptions = PCSetFromOptions_FEMMG;
  pc->ops->apply          = PCApply_FEMMG;
  pc->ops->applytranspose = PCApplyTranspose_FEMMG;
  pc->ops->view           = PCView_FEMMG;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCInitializePackage_FEMMG(void)
{
  PetscFunctionBegin;
  PetscCall(PCRegister(PCFEMMG, PCCreate_FEMMG));
  PetscCall(PetscLogEventRegister("PCFEMMGCoarsen", PC_CLASSID, &PC_FEMMGCoarsen));
  PetscCall(PetscLogEventRegister("PCFEMMGTransfer", PC_CLASSID, &PC_FEMMGTransfer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
