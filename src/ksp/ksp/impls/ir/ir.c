/*
  KSPIR: iterative refinement.

    r = b - A x      in PetscScalar, computed anew each time
    A~ d = r / |r|   by another KSP, with an operator that may be shorter
    x = x + |r| d

  The first line is all that decides about convergence, so that nothing the inner solver believes can reach the answer. It
  converges while the relative error of d stays below one: where the condition number of A times the unit roundoff of A~ does
  (Carson and Higham, SIAM J. Sci. Comput. 40, 2018). Beyond that it stagnates, which is noticed and explained.

  The residual is scaled to norm one because single precision and bfloat16 end at 1e-38: an unscaled residual of 1e-10 leaves
  no room for its small entries.
*/
#include "../../../../sys/trefoilimpl.h"
#include <petsc/private/kspimpl.h>
#include <kspir.h>

typedef struct {
  KSP                  inner;
  Vec                  d;
  MatShellFEMPrecision precision; /* of the inner operator; PetscScalar's: Pmat as it is */
  Mat                  low, of;   /* the operator in that precision, and of which matrix */
  MatShellFEMPrecision lowprecision;
  PetscObjectState     state; /* of that matrix */

  PetscReal factor; /* stagnation: not below this factor in so many corrections */
  PetscInt  stalls;

  PetscInt  innerits; /* of the last solve */
  PetscReal condition, roundoff;
  char      why[1024]; /* the last solve failed */
} KSP_IR;

/* Half the distance from 1 to the next number */
static PetscReal UnitRoundoff(MatShellFEMPrecision precision)
{
  return precision == MAT_SHELLFEM_PRECISION_BFLOAT16 ? 1. / 256 : precision == MAT_SHELLFEM_PRECISION_SINGLE ? 1. / 16777216
                                                                                                              : (PetscReal)(1. / 9007199254740992.);
}

/* The preconditioner of the inner solver is that of the outer one, unless it is given one */
static PetscErrorCode PCApply_IR(PC pc, Vec x, Vec y)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &ksp));
  PetscCall(PCApply(ksp->pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_IR(PC pc, Vec x, Vec y)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &ksp));
  PetscCall(PCApplyTranspose(ksp->pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIRUsesOuterPC(KSP ksp, PetscBool *uses)
{
  PC    pc;
  void *context = NULL;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(((KSP_IR *)ksp->data)->inner, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSHELL, uses));
  if (*uses) PetscCall(PCShellGetContext(pc, &context));
  *uses = (PetscBool)(context == ksp);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIRCreateInner(KSP ksp)
{
  KSP_IR *ir = (KSP_IR *)ksp->data;
  PC      pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)ksp), &ir->inner));
  PetscCall(KSPSetNestLevel(ir->inner, ksp->nestlevel + 1));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)ir->inner, (PetscObject)ksp, 1));
  PetscCall(KSPSetType(ir->inner, KSPCG));
  PetscCall(KSPSetTolerances(ir->inner, 1e-3, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetComputeSingularValues(ir->inner, PETSC_TRUE));
  PetscCall(KSPGetPC(ir->inner, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetContext(pc, ksp));
  PetscCall(PCShellSetName(pc, "the preconditioner of the outer KSP"));
  PetscCall(PCShellSetApply(pc, PCApply_IR));
  PetscCall(PCShellSetApplyTranspose(pc, PCApplyTranspose_IR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIRSetInnerPrefix(KSP ksp)
{
  KSP         inner = ((KSP_IR *)ksp->data)->inner;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(KSPSetOptionsPrefix(inner, prefix));
  PetscCall(KSPAppendOptionsPrefix(inner, "ir_"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_IR(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  KSP_IR *ir = (KSP_IR *)ksp->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP IR options");
  PetscCall(PetscOptionsEnum("-ksp_ir_inner_mat_precision", "Precision of the inner operator, for a MATSHELLFEM", "KSPIRSetInnerPrecision", MatShellFEMPrecisions, (PetscEnum)ir->precision, (PetscEnum *)&ir->precision, NULL));
  PetscCall(PetscOptionsBoundedReal("-ksp_ir_stagnation_factor", "The true residual stagnates when it does not fall below this factor", "KSPIRSetStagnation", ir->factor, &ir->factor, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-ksp_ir_stagnation_its", "in this number of corrections; 0: go on", "KSPIRSetStagnation", ir->stalls, &ir->stalls, NULL, 0));
  PetscOptionsHeadEnd();
  PetscCall(KSPIRSetInnerPrefix(ksp));
  PetscCall(KSPSetFromOptions(ir->inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that nothing applies is not set up */
static PetscErrorCode KSPSetUp_IR(KSP ksp)
{
  PetscBool uses;

  PetscFunctionBegin;
  PetscCall(KSPSetWorkVecs(ksp, 2));
  PetscCall(KSPIRUsesOuterPC(ksp, &uses));
  if (!uses) PetscCall(PCSetType(ksp->pc, PCNONE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIsShellFEM(Mat A, PetscBool *is, MatShellFEMPrecision *precision)
{
  PetscFunctionBegin;
  *precision = MAT_SHELLFEM_PRECISION_PETSC;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELLFEM, is));
  if (*is) PetscCall(MatShellFEMGetPrecision(A, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of the same elements in the inner precision. It shares them, so that only its state has to follow */
static PetscErrorCode KSPIRGetLow(KSP ksp, Mat A)
{
  KSP_IR          *ir = (KSP_IR *)ksp->data;
  PetscObjectState state;
  MatNullSpace     null;

  PetscFunctionBegin;
  if (ir->of != A || ir->lowprecision != ir->precision) {
    PetscCall(MatDestroy(&ir->low));
    PetscCall(MatShellFEMCreateInPrecision(A, ir->precision, &ir->low));
    ir->of           = A; /* which `low` refers to */
    ir->lowprecision = ir->precision;
  }
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (state != ir->state) PetscCall(PetscObjectStateIncrease((PetscObject)ir->low));
  ir->state = state;
  PetscCall(MatGetNullSpace(A, &null));
  PetscCall(MatSetNullSpace(ir->low, null));
  PetscCall(MatGetTransposeNullSpace(A, &null));
  PetscCall(MatSetTransposeNullSpace(ir->low, null));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operators may have been replaced or changed since the last solve */
static PetscErrorCode KSPIRUpdateInner(KSP ksp)
{
  KSP_IR              *ir = (KSP_IR *)ksp->data;
  Mat                  A, P, op;
  PetscBool            elements;
  MatShellFEMPrecision own;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, &P));
  PetscCall(MatIsShellFEM(A, &elements, &own));
  PetscCheck(own == MAT_SHELLFEM_PRECISION_PETSC, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_WRONGSTATE, "The residuals of KSPIR need an operator in PetscScalar, but -mat_shellfem_precision made this one %s; leave that out and use -ksp_ir_inner_mat_precision %s", MatShellFEMPrecisions[own], MatShellFEMPrecisions[own]);
  if (ir->precision == MAT_SHELLFEM_PRECISION_PETSC) {
    op = P;
    PetscCall(MatIsShellFEM(P, &elements, &own));
    ir->roundoff = UnitRoundoff(own);
  } else {
    PetscCheck(elements, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_WRONG, "-ksp_ir_inner_mat_precision %s is for matrices of type shellfem, this one has type %s; leave it out, or give a shorter matrix as Pmat to KSPSetOperators()", MatShellFEMPrecisions[ir->precision], ((PetscObject)A)->type_name);
    PetscCall(KSPIRGetLow(ksp, A));
    op           = ir->low;
    ir->roundoff = UnitRoundoff(ir->precision);
  }
  PetscCall(KSPSetOperators(ir->inner, op, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |r| d, the inner solver's answer to r */
static PetscErrorCode KSPIRCorrect(KSP ksp, Vec r, PetscReal rnorm, Vec d)
{
  KSP_IR  *ir = (KSP_IR *)ksp->data;
  PetscInt its;

  PetscFunctionBegin;
  PetscCall(VecScale(r, 1 / rnorm));
  PetscCall(ksp->transpose_solve ? KSPSolveTranspose(ir->inner, r, d) : KSPSolve(ir->inner, r, d));
  PetscCall(KSPGetIterationNumber(ir->inner, &its));
  ir->innerits += its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Condition number of the preconditioned operator, from the extreme singular values that the inner solver finds. It is asked once
  more, with A in PetscScalar: what a shorter operator shows of its smallest eigenvalues is rounding.
*/
static PetscErrorCode KSPIREstimateCondition(KSP ksp, Vec r, PetscReal rnorm, Vec d)
{
  KSP_IR   *ir = (KSP_IR *)ksp->data;
  PetscReal smax, smin;
  PetscBool able;
  Mat       A, P;

  PetscFunctionBegin;
  ir->condition = 0;
  PetscCall(KSPGetComputeSingularValues(ir->inner, &able));
  if (!able || !ir->inner->ops->computeextremesingularvalues) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(ksp->pc, &A, &P));
  PetscCall(KSPSetOperators(ir->inner, A, P));
  PetscCall(KSPIRCorrect(ksp, r, rnorm, d));
  PetscCall(KSPComputeExtremeSingularValues(ir->inner, &smax, &smin));
  if (smin > 0) ir->condition = smax / smin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -ksp_converged_reason and -ksp_view say about it */
static PetscErrorCode KSPIRExplain(KSP ksp)
{
  KSP_IR         *ir      = (KSP_IR *)ksp->data;
  const PetscReal product = ir->condition * ir->roundoff;

  PetscFunctionBegin;
  if (product >= 0.1) PetscCall(PetscSNPrintf(ir->why, sizeof(ir->why), "condition number %.2g (estimated, with the preconditioner) times unit roundoff %.2g of the inner operator is %.2g: refinement converges below one; use a longer precision or a better preconditioner", (double)ir->condition, (double)ir->roundoff, (double)product));
  else if (ir->condition > 0) PetscCall(PetscSNPrintf(ir->why, sizeof(ir->why), "not by rounding, condition number %.2g (estimated, with the preconditioner) times unit roundoff %.2g is %.2g: let the inner solver do more (-ir_ksp_rtol, -ir_ksp_max_it)", (double)ir->condition, (double)ir->roundoff, (double)product));
  else PetscCall(PetscSNPrintf(ir->why, sizeof(ir->why), "the inner solver tells no singular values; with -ir_ksp_type cg or gmres it does"));
  PetscCall(PetscInfo(ksp, "Stagnation: %s\n", ir->why));
  if (ksp->convergedreasonviewer) PetscCall(PetscViewerASCIIPrintf(ksp->convergedreasonviewer, "Iterative refinement stagnated at %.3g: %s\n", (double)ksp->rnorm, ir->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_IR(KSP ksp)
{
  KSP_IR   *ir = (KSP_IR *)ksp->data;
  Vec       x = ksp->vec_sol, b = ksp->vec_rhs, r = ksp->work[0], d = ksp->work[1];
  Mat       A;
  PetscReal rnorm, reference = PETSC_MAX_REAL;
  PetscInt  stalls = 0;

  PetscFunctionBegin;
  PetscCall(KSPIRUpdateInner(ksp));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  ir->innerits = 0;
  ir->why[0]   = 0;
  for (ksp->its = 0;; ksp->its++) {
    if (ksp->its == 0 && ksp->guess_zero) PetscCall(VecCopy(b, r));
    else {
      PetscCall(KSP_MatMult(ksp, A, x, r));
      PetscCall(VecAYPX(r, -1., b));
    }
    PetscCall(VecNorm(r, NORM_2, &rnorm));
    KSPCheckNorm(ksp, rnorm);
    ksp->rnorm = rnorm;
    PetscCall(KSPLogResidualHistory(ksp, rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, rnorm));
    PetscCall((*ksp->converged)(ksp, ksp->its, rnorm, &ksp->reason, ksp->cnvP));
    if (ksp->reason) break;
    if (rnorm <= ir->factor * reference) {
      reference = rnorm;
      stalls    = 0;
    } else if (++stalls == ir->stalls) {
      ksp->reason = KSP_DIVERGED_BREAKDOWN;
      PetscCall(KSPIREstimateCondition(ksp, r, rnorm, d));
      PetscCall(KSPIRExplain(ksp));
      break;
    }
    if (ksp->its >= ksp->max_it) {
      ksp->reason = KSP_DIVERGED_ITS;
      break;
    }
    PetscCall(KSPIRCorrect(ksp, r, rnorm, d));
    PetscCall(VecAXPY(x, rnorm, d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_IR(KSP ksp, PetscViewer viewer)
{
  KSP_IR   *ir = (KSP_IR *)ksp->data;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  inner operator: %s, iterations of the last solve: %" PetscInt_FMT "\n", ir->precision == MAT_SHELLFEM_PRECISION_PETSC ? "Pmat" : MatShellFEMPrecisions[ir->precision], ir->innerits));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  stagnation: true residual not below %g of before in %" PetscInt_FMT " corrections\n", (double)ir->factor, ir->stalls));
  if (ir->why[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  the last solve stagnated: %s\n", ir->why));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  inner solver:\n"));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(KSPView(ir->inner, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_IR(KSP ksp)
{
  KSP_IR *ir = (KSP_IR *)ksp->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&ir->low));
  PetscCall(KSPReset(ir->inner));
  ir->of = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_IR(KSP ksp)
{
  KSP_IR *ir = (KSP_IR *)ksp->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&ir->low));
  PetscCall(KSPDestroy(&ir->inner));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIRCheck(KSP ksp)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPIR, &ours));
  PetscCheck(ours, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_WRONG, "The KSP has type %s, not ir; call KSPSetType() with KSPIR first", ((PetscObject)ksp)->type_name ? ((PetscObject)ksp)->type_name : "(not set)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRGetInnerKSP - Gets the solver that computes corrections

  Not Collective

  Input Parameter:
. ksp - the `KSPIR`

  Output Parameter:
. inner - its solver, with the prefix `ir_`; `KSPCG` with the preconditioner of the outer one, relative tolerance 1e-3

  Level: intermediate

.seealso: `KSPIR`, `KSPIRSetInnerPrecision()`
@*/
PetscErrorCode KSPIRGetInnerKSP(KSP ksp, KSP *inner)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(inner, 2);
  PetscCall(KSPIRCheck(ksp));
  *inner = ((KSP_IR *)ksp->data)->inner;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRSetInnerPrecision - Sets the precision of the inner operator, where it is a `MATSHELLFEM`

  Logically Collective

  Input Parameters:
+ ksp       - the `KSPIR`
- precision - that of `PetscScalar` takes Pmat as it is

  Options Database Key:
. -ksp_ir_inner_mat_precision <double> - double, single, bfloat16

  Level: intermediate

.seealso: `KSPIR`, `MatShellFEMCreateInPrecision()`
@*/
PetscErrorCode KSPIRSetInnerPrecision(KSP ksp, MatShellFEMPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, precision, 2);
  PetscCall(KSPIRCheck(ksp));
  ((KSP_IR *)ksp->data)->precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRSetStagnation - Sets when the true residual is said to stagnate

  Logically Collective

  Input Parameters:
+ ksp    - the `KSPIR`
. factor - a correction helps if it brings the residual below this factor of the smallest before
- its    - corrections in a row that do not help; 0: go on for ever

  Options Database Keys:
+ -ksp_ir_stagnation_factor <0.9> - the factor
- -ksp_ir_stagnation_its <3>      - the corrections

  Level: advanced

  Note:
  The solve then ends with `KSP_DIVERGED_BREAKDOWN`; `-ksp_converged_reason` prints why, `KSPIRGetConditionEstimate()` gives numbers.

.seealso: `KSPIR`
@*/
PetscErrorCode KSPIRSetStagnation(KSP ksp, PetscReal factor, PetscInt its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscCall(KSPIRCheck(ksp));
  PetscCheck(factor > 0 && its >= 0, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE, "The factor %g must be positive and the number of corrections %" PetscInt_FMT " not negative", (double)factor, its);
  ((KSP_IR *)ksp->data)->factor = factor;
  ((KSP_IR *)ksp->data)->stalls = its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRGetConditionEstimate - Gets what explains the stagnation of the last solve

  Not Collective

  Input Parameter:
. ksp - the `KSPIR`

  Output Parameters:
+ condition - estimated condition number of the preconditioned operator, 0 where there is none
- roundoff  - unit roundoff of the inner operator

  Level: advanced

.seealso: `KSPIR`, `KSPIRSetStagnation()`
@*/
PetscErrorCode KSPIRGetConditionEstimate(KSP ksp, PetscReal *condition, PetscReal *roundoff)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscCall(KSPIRCheck(ksp));
  if (condition) *condition = ((KSP_IR *)ksp->data)->condition;
  if (roundoff) *roundoff = ((KSP_IR *)ksp->data)->roundoff;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   KSPIR - "ir" - Iterative refinement: corrections in a shorter precision, residuals in `PetscScalar`

   Options Database Keys:
+  -ksp_type ir                         - sets the type
.  -ksp_ir_inner_mat_precision <double> - precision of the inner operator of a `MATSHELLFEM`: double, single, bfloat16
.  -ksp_ir_stagnation_factor <0.9>      - the true residual stagnates when it does not fall below this factor
.  -ksp_ir_stagnation_its <3>           - in this number of corrections
-  -ir_ksp_type, -ir_ksp_rtol, ...      - the inner solver: `KSPCG`, relative tolerance 1e-3, the outer preconditioner

   Level: intermediate

   Notes:
   The inner operator is Pmat, or the same elements in another precision. Monitors, tolerances and the convergence test see b - A x,
   computed anew for each correction.

   Refinement converges while the condition number times the unit roundoff of the inner operator stays below one; beyond that the
   solve ends with `KSP_DIVERGED_BREAKDOWN` and says so.

   Reference:
   E. Carson and N. J. Higham, Accelerating the solution of linear systems by iterative refinement in three precisions,
   SIAM Journal on Scientific Computing 40, 2018

.seealso: `KSPIRGetInnerKSP()`, `KSPIRSetInnerPrecision()`, `KSPIRSetStagnation()`, `MATSHELLFEM`
M*/
static PetscErrorCode KSPCreate_IR(KSP ksp)
{
  KSP_IR *ir;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ir));
  ksp->data     = ir;
  ir->precision = MAT_SHELLFEM_PRECISION_PETSC;
  ir->factor    = 0.9;
  ir->stalls    = 3;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscCall(KSPIRCreateInner(ksp));
  ksp->ops->setup          = KSPSetUp_IR;
  ksp->ops->solve          = KSPSolve_IR;
  ksp->ops->view           = KSPView_IR;
  ksp->ops->reset          = KSPReset_IR;
  ksp->ops->destroy        = KSPDestroy_IR;
  ksp->ops->setfromoptions = KSPSetFromOptions_IR;
  ksp->ops->buildsolution  = KSPBuildSolutionDefault;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPInitializePackage_IR(void)
{
  PetscFunctionBegin;
  PetscCall(KSPRegister(KSPIR, KSPCreate_IR));
  PetscFunctionReturn(PETSC_SUCCESS);
}
