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
  MatShellFEMPrecision precision; /* of the inner operator; PetscScalar's: Pmat as it is */
  Mat                  low, of;   /* the operator in that precision, and of which matrix */
  MatShellFEMPrecision lowprecision;
  PetscObjectState     state;    /* of that matrix */
  PetscReal            roundoff; /* of the inner operator */
  PetscReal            factor;   /* stagnation: the residual stays above this factor */
  PetscInt             stalls;   /* in so many corrections */
  PetscInt             innerits; /* of the last solve, with those for the estimate */
  PetscReal            condition;
  char                 why[1024]; /* that solve failed */
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
  PetscCall(KSPSetTolerances(ir->inner, 1e-3, PETSC_CURRENT, PETSC_CURRENT, 1000));
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

static PetscErrorCode KSPIRSolveInner(KSP ksp, Vec r, Vec d)
{
  KSP_IR  *ir = (KSP_IR *)ksp->data;
  PetscInt its;

  PetscFunctionBegin;
  PetscCall(ksp->transpose_solve ? KSPSolveTranspose(ir->inner, r, d) : KSPSolve(ir->inner, r, d));
  PetscCall(KSPGetIterationNumber(ir->inner, &its));
  ir->innerits += its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Condition number of the preconditioned operator, a lower bound, from the extreme singular values that the inner solver finds.
  Those of a rounded operator are as wrong as its answers are, so the last correction is computed again with that of the residuals.
*/
static PetscErrorCode KSPIREstimateCondition(KSP ksp, Vec r, Vec d)
{
  KSP_IR   *ir = (KSP_IR *)ksp->data;
  Mat       A, op, P;
  PetscReal smax, smin;
  PetscBool able;

  PetscFunctionBegin;
  PetscCall(KSPGetComputeSingularValues(ir->inner, &able));
  if (!able || !ir->inner->ops->computeextremesingularvalues) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(KSPGetOperators(ir->inner, &op, &P));
  PetscCall(PetscObjectReference((PetscObject)op));
  PetscCall(PetscObjectReference((PetscObject)P));
  PetscCall(KSPSetOperators(ir->inner, A, P));
  PetscCall(KSPIRSolveInner(ksp, r, d));
  if (ir->inner->reason != KSP_DIVERGED_INDEFINITE_MAT && ir->inner->reason != KSP_DIVERGED_INDEFINITE_PC) { /* where it has all values */
    PetscCall(KSPComputeExtremeSingularValues(ir->inner, &smax, &smin));
    if (smin > 0) ir->condition = smax / smin;
  }
  PetscCall(KSPSetOperators(ir->inner, op, P));
  PetscCall(MatDestroy(&op));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says why the residual does not fall: precision, or an inner solver that stops too early */
static PetscErrorCode KSPIRExplain(KSP ksp, Vec r, Vec d)
{
  KSP_IR                  *ir     = (KSP_IR *)ksp->data;
  const KSPConvergedReason inner  = ir->inner->reason;
  const char              *prefix = ((PetscObject)ksp)->prefix ? ((PetscObject)ksp)->prefix : "", *remedy;
  char                     estimate[256];
  PetscBool                ascii;

  PetscFunctionBegin;
  PetscCall(VecScale(r, 1 / ksp->rnorm));
  PetscCall(KSPIREstimateCondition(ksp, r, d));
  if (ir->condition > 0)
    PetscCall(PetscSNPrintf(estimate, sizeof(estimate), "condition number %.1e (preconditioned) times unit roundoff %.1e of the inner operator = %.1e", (double)ir->condition, (double)ir->roundoff, (double)(ir->condition * ir->roundoff)));
  else
    PetscCall(PetscSNPrintf(estimate, sizeof(estimate), "the inner solver, %s, gives no condition number; unit roundoff %.1e of the inner operator", ((PetscObject)ir->inner)->type_name, (double)ir->roundoff));
  if (ir->condition * ir->roundoff >= 1)
    remedy = "not below 1, corrections need have no correct digit: take a longer precision inside or a stronger preconditioner";
  else
    remedy = "let the inner solver do more, or is this all that PetscScalar holds?";
  PetscCall(PetscSNPrintf(ir->why, sizeof(ir->why), "the true residual is %.2e after %" PetscInt_FMT " corrections and does not fall; the last inner solve ended with %s. %s: %s (-%sksp_ir_inner_mat_precision, -%sir_pc_type, -%sir_ksp_rtol, -%sir_ksp_max_it)", (double)ksp->rnorm, ksp->its, KSPConvergedReasons[inner], estimate, remedy, prefix, prefix, prefix, prefix));
  PetscCall(PetscInfo(ksp, "%s\n", ir->why));
  PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED, "KSPSolve() has not converged, reason %s: %s", KSPConvergedReasons[ksp->reason], ir->why);
  if (!ksp->convergedreasonviewer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->convergedreasonviewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(ksp->convergedreasonviewer, "  Iterative refinement: %s\n", ir->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has the residual not fallen below the factor in so many corrections? reference: where it last did */
static PetscBool KSPIRStagnates(KSP ksp, PetscReal *reference, PetscInt *stalls)
{
  const KSP_IR *ir = (const KSP_IR *)ksp->data;

  if (ksp->its == 0 || ksp->rnorm <= ir->factor * *reference) {
    *reference = ksp->rnorm;
    *stalls    = 0;
  } else ++*stalls;
  return (PetscBool)(ir->stalls && *stalls >= ir->stalls && ksp->normtype != KSP_NORM_NONE);
}

static PetscErrorCode KSPSolve_IR(KSP ksp)
{
  KSP_IR   *ir = (KSP_IR *)ksp->data;
  Vec       x = ksp->vec_sol, b = ksp->vec_rhs, r = ksp->work[0], d = ksp->work[1];
  Mat       A;
  PetscReal rnorm, reference = 0;
  PetscInt  stalls = 0;

  PetscFunctionBegin;
  PetscCall(KSPIRUpdateInner(ksp));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  ir->innerits  = 0;
  ir->condition = 0;
  ir->why[0]    = 0;
  for (ksp->its = 0;; ksp->its++) {
    if (ksp->its == 0 && ksp->guess_zero) PetscCall(VecCopy(b, r));
    else {
      PetscCall(KSP_MatMult(ksp, A, x, r));
      PetscCall(VecAYPX(r, -1., b));
    }
    if (ksp->its == 0) PetscCall(VecFlag(r, ksp->reason == KSP_DIVERGED_PC_FAILED)); /* perhaps on some processes only */
    PetscCall(VecNorm(r, NORM_2, &rnorm));
    KSPCheckNorm(ksp, rnorm);
    ksp->rnorm = rnorm;
    PetscCall(KSPLogResidualHistory(ksp, rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, rnorm));
    PetscCall((*ksp->converged)(ksp, ksp->its, rnorm, &ksp->reason, ksp->cnvP));
    if (!ksp->reason && rnorm == 0) ksp->reason = KSP_CONVERGED_ATOL;
    if (!ksp->reason && KSPIRStagnates(ksp, &reference, &stalls)) ksp->reason = KSP_DIVERGED_BREAKDOWN;
    if (!ksp->reason && ksp->its >= ksp->max_it) ksp->reason = KSP_DIVERGED_ITS;
    if (ksp->reason) break;
    PetscCall(VecScale(r, 1 / rnorm));
    PetscCall(KSPIRSolveInner(ksp, r, d));
    PetscCall(VecAXPY(x, rnorm, d));
  }
  if (ksp->reason == KSP_DIVERGED_BREAKDOWN || ksp->reason == KSP_DIVERGED_DTOL) PetscCall(KSPIRExplain(ksp, r, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_IR(KSP ksp, PetscViewer viewer)
{
  KSP_IR   *ir = (KSP_IR *)ksp->data;
  PetscBool ascii, uses;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPIRUsesOuterPC(ksp, &uses));
  if (ir->precision == MAT_SHELLFEM_PRECISION_PETSC)
    PetscCall(PetscViewerASCIIPrintf(viewer, "residuals in PetscScalar, inner operator: Pmat\n"));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "residuals in PetscScalar, inner operator: elements of Amat in precision %s\n", MatShellFEMPrecisions[ir->precision]));
  if (ir->stalls) PetscCall(PetscViewerASCIIPrintf(viewer, "stagnation: not below %g of the residual in %" PetscInt_FMT " corrections\n", (double)ir->factor, ir->stalls));
  if (ir->innerits) PetscCall(PetscViewerASCIIPrintf(viewer, "last solve: %" PetscInt_FMT " corrections, %" PetscInt_FMT " inner iterations\n", ksp->its, ir->innerits));
  if (ir->why[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "it failed: %s\n", ir->why));
  PetscCall(PetscViewerASCIIPrintf(viewer, "inner solver, %s:\n", uses ? "with the preconditioner of this one" : "with a preconditioner of its own"));
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
  ir->of = NULL;
  PetscCall(KSPReset(ir->inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_IR(KSP ksp)
{
  KSP_IR *ir = (KSP_IR *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPReset_IR(ksp));
  PetscCall(KSPDestroy(&ir->inner));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL where the type is another one: setters then do nothing, as those of PETSc's types */
static PetscErrorCode KSPGetIR(KSP ksp, KSP_IR **ir)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPIR, &ours));
  *ir = ours ? (KSP_IR *)ksp->data : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPGetIRRequired(KSP ksp, KSP_IR **ir)
{
  PetscFunctionBegin;
  PetscCall(KSPGetIR(ksp, ir));
  PetscCheck(*ir, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_WRONG, "The solver has type %s, not ir; call KSPSetType(ksp, KSPIR) first", ((PetscObject)ksp)->type_name ? ((PetscObject)ksp)->type_name : "(not set)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRGetInnerKSP - Gets the solver that computes the corrections

  Not Collective

  Input Parameter:
. ksp - the `KSPIR` solver

  Output Parameter:
. inner - the solver, `KSPCG` with a relative tolerance of 1e-3 and 1000 iterations at most unless told otherwise; its
          options begin with `-ir_`

  Level: intermediate

.seealso: `KSPIR`, `KSPIRSetInnerPrecision()`
@*/
PetscErrorCode KSPIRGetInnerKSP(KSP ksp, KSP *inner)
{
  KSP_IR *ir = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(inner, 2);
  PetscCall(KSPGetIRRequired(ksp, &ir));
  *inner = ir->inner;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRSetInnerPrecision - Sets the precision in which the inner solver applies a `MATSHELLFEM` operator

  Logically Collective

  Input Parameters:
+ ksp       - the `KSPIR` solver
- precision - `MAT_SHELLFEM_PRECISION_SINGLE` or `MAT_SHELLFEM_PRECISION_BFLOAT16`, or that of `PetscScalar`,
              `MAT_SHELLFEM_PRECISION_PETSC`, for `Pmat` as it is

  Options Database Key:
. -ksp_ir_inner_mat_precision <double> - double, single, bfloat16

  Level: intermediate

.seealso: `KSPIR`, `KSPIRGetInnerPrecision()`, `MatShellFEMCreateInPrecision()`
@*/
PetscErrorCode KSPIRSetInnerPrecision(KSP ksp, MatShellFEMPrecision precision)
{
  KSP_IR *ir = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, precision, 2);
  PetscCall(KSPGetIR(ksp, &ir));
  if (ir) ir->precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRGetInnerPrecision - Gets the precision in which the inner solver applies a `MATSHELLFEM` operator

  Not Collective

  Input Parameter:
. ksp - the `KSPIR` solver

  Output Parameter:
. precision - the precision

  Level: intermediate

.seealso: `KSPIR`, `KSPIRSetInnerPrecision()`
@*/
PetscErrorCode KSPIRGetInnerPrecision(KSP ksp, MatShellFEMPrecision *precision)
{
  KSP_IR *ir = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  PetscCall(KSPGetIRRequired(ksp, &ir));
  *precision = ir->precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRSetStagnation - Sets when the true residual counts as stagnating, which ends a solve with `KSP_DIVERGED_BREAKDOWN`

  Logically Collective

  Input Parameters:
+ ksp    - the `KSPIR` solver
. factor - the residual should fall below this factor, 0.9 by default,
- its    - in this number of corrections, 3 by default; 0: never stop for stagnation

  Options Database Keys:
+ -ksp_ir_stagnation_factor <0.9> - the factor
- -ksp_ir_stagnation_its <3>      - the number of corrections

  Level: intermediate

.seealso: `KSPIR`, `KSPIRGetStagnation()`, `KSPIRGetConditionEstimate()`
@*/
PetscErrorCode KSPIRSetStagnation(KSP ksp, PetscReal factor, PetscInt its)
{
  KSP_IR *ir = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, factor, 2);
  PetscValidLogicalCollectiveInt(ksp, its, 3);
  PetscCheck(factor >= 0 && its >= 0, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE, "Factor %g and number of corrections %" PetscInt_FMT " must not be negative", (double)factor, its);
  PetscCall(KSPGetIR(ksp, &ir));
  if (!ir) PetscFunctionReturn(PETSC_SUCCESS);
  ir->factor = factor;
  ir->stalls = its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRGetStagnation - Gets when the true residual counts as stagnating

  Not Collective

  Input Parameter:
. ksp - the `KSPIR` solver

  Output Parameters:
+ factor - the residual should fall below this factor
- its    - in this number of corrections

  Level: intermediate

.seealso: `KSPIR`, `KSPIRSetStagnation()`
@*/
PetscErrorCode KSPIRGetStagnation(KSP ksp, PetscReal *factor, PetscInt *its)
{
  KSP_IR *ir = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(factor, 2);
  PetscAssertPointer(its, 3);
  PetscCall(KSPGetIRRequired(ksp, &ir));
  *factor = ir->factor;
  *its    = ir->stalls;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIRGetConditionEstimate - Gets what a solve that stagnated or diverged found out about the system

  Not Collective

  Input Parameter:
. ksp - the `KSPIR` solver

  Output Parameters:
+ condition - condition number of the preconditioned operator, a lower bound; 0 where the last solve did not fail or the inner
              solver finds none
- roundoff  - unit roundoff of the inner operator

  Level: intermediate

  Note:
  Refinement is sure to converge only where the product of the two is below one.

.seealso: `KSPIR`, `KSPIRSetInnerPrecision()`, `KSPComputeExtremeSingularValues()`
@*/
PetscErrorCode KSPIRGetConditionEstimate(KSP ksp, PetscReal *condition, PetscReal *roundoff)
{
  KSP_IR *ir = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(condition, 2);
  PetscAssertPointer(roundoff, 3);
  PetscCall(KSPGetIRRequired(ksp, &ir));
  *condition = ir->condition;
  *roundoff  = ir->roundoff;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   KSPIR - "ir" - Iterative refinement: residuals in `PetscScalar`, corrections by an inner `KSP` whose operator may be shorter

   Options Database Keys:
+  -ksp_ir_inner_mat_precision <double> - for a `MATSHELLFEM` operator: double, single or bfloat16 in the inner solver
.  -ksp_ir_stagnation_factor <0.9>      - stop when the true residual does not fall below this factor
.  -ksp_ir_stagnation_its <3>           - in this number of corrections; 0 goes on
-  -ir_ksp_type <cg>, -ir_pc_type, ...  - options of the inner solver; `-ir_ksp_rtol` <1e-3>, `-ir_ksp_max_it` <1000>

   Level: beginner

   Notes:
   Each iteration computes r = b - A x anew with `Amat`, solves with |r| = 1 to a low accuracy, and corrects x. Monitors and
   convergence tests see |r|: what is reported converged has that residual.

   The inner operator is `Pmat`. A `MATSHELLFEM` as `Amat` can be applied in single precision or bfloat16 instead
   (`KSPIRSetInnerPrecision()`), with the same elements, whatever changes they undergo. Any other `Pmat` that is
   shorter than `Amat`, as a `MATMACKO`, does as well.

   The preconditioner of this `KSP` is applied in the inner solver, unless that is given one (`-ir_pc_type`); then that of
   this `KSP` becomes `PCNONE`. The inner `KSPCG` is for symmetric positive definite matrices: take `-ir_ksp_type gmres`
   for others, `-ir_ksp_type preonly` to apply a preconditioner only.

   Refinement converges where the condition number times the unit roundoff of the inner operator (6e-8 single, 4e-3 bfloat16)
   is below one, often also somewhat beyond. Otherwise the residual stagnates: the solve ends with `KSP_DIVERGED_BREAKDOWN`, and
   `-ksp_converged_reason`, `-ksp_view` and `-info` tell the estimate of that product. The estimate costs one inner solve.

   Only unpreconditioned norms are supported.

   References:
   E. Carson, N. J. Higham, Accelerating the solution of linear systems by iterative refinement in three precisions, SIAM J.
   Sci. Comput. 40 (2018).

.seealso: `KSP`, `KSPIRGetInnerKSP()`, `KSPIRSetInnerPrecision()`, `KSPIRSetStagnation()`, `KSPIRGetConditionEstimate()`, `MATSHELLFEM`, `KSPCG`, `KSPRICHARDSON`
M*/

static PetscErrorCode KSPCreate_IR(KSP ksp)
{
  KSP_IR *ir = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ir));
  ksp->data     = ir;
  ir->precision = MAT_SHELLFEM_PRECISION_PETSC;
  ir->factor    = 0.9;
  ir->stalls    = 3;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
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
