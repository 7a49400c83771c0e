/*
  Optimality criteria: x_e <- x_e sqrt(-dc_e / (lambda dv_e)) within [0, 1] and the move limit. The multiplier lambda is
  found by bisection of its logarithm, so that the densities (filtered and projected) fill the volume.
*/
#include "topopt.h"

typedef struct {
  const signed char *passive;
  PetscInt           n; /* local elements */
  PetscReal          move;
  const PetscScalar *x, *ratio; /* ratio: -dc/dv, not negative */
} OC;

static PetscErrorCode Trial(const OC *oc, PetscReal lambda, Vec xnew)
{
  PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayWrite(xnew, &v));
  for (PetscInt e = 0; e < oc->n; e++) {
    const PetscReal x = oc->x[e], low = PetscMax(0, x - oc->move), high = PetscMin(1, x + oc->move);

    v[e] = oc->passive[e] ? x : PetscMax(low, PetscMin(high, x * PetscSqrtReal(oc->ratio[e] / lambda)));
  }
  PetscCall(VecRestoreArrayWrite(xnew, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OCUpdate(Filter *filter, PetscReal volfrac, PetscReal move, Vec dc, Vec dv, Vec x, PetscReal *change)
{
  const PetscReal accuracy = PetscMax(1e-10, 100 * PETSC_MACHINE_EPSILON);
  OC              oc       = {.passive = filter->passive, .move = move};
  Vec             ratio, xnew, filtered, rho;
  PetscInt        n;
  PetscReal       largest, lower, upper;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &ratio));
  PetscCall(VecDuplicate(x, &xnew));
  PetscCall(VecDuplicate(x, &filtered));
  PetscCall(VecDuplicate(x, &rho));
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecGetLocalSize(x, &oc.n));
  {
    const PetscScalar *c, *v;
    PetscScalar       *r;

    PetscCall(VecGetArrayRead(dc, &c));
    PetscCall(VecGetArrayRead(dv, &v));
    PetscCall(VecGetArrayWrite(ratio, &r));
    for (PetscInt e = 0; e < oc.n; e++) r[e] = v[e] > 0 ? PetscMax(0, -c[e] / v[e]) : 0;
    PetscCall(VecRestoreArrayWrite(ratio, &r));
    PetscCall(VecRestoreArrayRead(dv, &v));
    PetscCall(VecRestoreArrayRead(dc, &c));
  }
  PetscCall(VecMax(ratio, NULL, &largest));
  PetscCheck(largest > 0 && !PetscIsInfOrNanReal(largest), PETSC_COMM_WORLD, PETSC_ERR_FP, "No element's density changes the compliance (largest -dc/dv is %g): check loads, supports and passive regions", (double)largest);
  PetscCall(VecGetArrayRead(x, &oc.x));
  PetscCall(VecGetArrayRead(ratio, &oc.ratio));
  lower = PetscLogReal(largest) - 50;
  upper = PetscLogReal(largest) + 15;
  while (upper - lower > accuracy * PetscMax(1, PetscAbsReal(upper))) {
    const PetscReal middle = (lower + upper) / 2;
    PetscScalar     volume;

    PetscCall(Trial(&oc, PetscExpReal(middle), xnew));
    PetscCall(FilterApply(filter, xnew, filtered, rho));
    PetscCall(VecSum(rho, &volume));
    if (volume > volfrac * n)
      lower = middle;
    else
      upper = middle;
  }
  PetscCall(Trial(&oc, PetscExpReal(upper), xnew));
  PetscCall(VecRestoreArrayRead(ratio, &oc.ratio));
  PetscCall(VecRestoreArrayRead(x, &oc.x));
  PetscCall(VecAXPY(x, -1, xnew));
  PetscCall(VecNorm(x, NORM_INFINITY, change));
  PetscCall(VecCopy(xnew, x));
  PetscCall(VecDestroy(&ratio));
  PetscCall(VecDestroy(&xnew));
  PetscCall(VecDestroy(&filtered));
  PetscCall(VecDestroy(&rho));
  PetscFunctionReturn(PETSC_SUCCESS);
}
