/*
  Density filter and Heaviside projection.

    filtered = diag(1/sum) W x,  W_ej = max(0, rmin - distance of the elements e and j),  sum = W 1
    rho      = (tanh(beta eta) + tanh(beta (filtered - eta))) / (tanh(beta eta) + tanh(beta (1 - eta)))

  rho = filtered for beta = 0. W is symmetric and never stored: its weights depend on the offset alone, and the entries
  of other processes are ghost entries of the grid of elements. Passive elements keep their density.
*/
#include "topopt.h"

PetscErrorCode FilterCreate(Filter *filter, DM cells, PetscInt width, signed char *passive)
{
  PetscFunctionBeginUser;
  filter->cells   = cells;
  filter->width   = width;
  filter->passive = passive;
  filter->rmin    = -1;
  PetscCall(PetscMalloc1((2 * width + 1) * (2 * width + 1) * (2 * width + 1), &filter->weight));
  PetscCall(DMCreateGlobalVector(cells, &filter->sum));
  PetscCall(VecDuplicate(filter->sum, &filter->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FilterDestroy(Filter *filter)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(filter->weight));
  PetscCall(VecDestroy(&filter->sum));
  PetscCall(VecDestroy(&filter->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = W x */
static PetscErrorCode ApplyWeights(Filter *filter, Vec x, Vec y)
{
  const PetscInt       w = filter->width, nw = 2 * w + 1;
  PetscInt             s[3], m[3], n[3];
  Vec                  local;
  PetscScalar       ***ya;
  const PetscScalar ***xa;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(filter->cells, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(filter->cells, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(DMGetLocalVector(filter->cells, &local));
  PetscCall(DMGlobalToLocal(filter->cells, x, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(filter->cells, local, &xa));
  PetscCall(DMDAVecGetArrayWrite(filter->cells, y, &ya));
  for (PetscInt k = s[2]; k < s[2] + m[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + m[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + m[0]; i++) {
        PetscScalar sum = 0;

        for (PetscInt c = PetscMax(0, k - w); c <= PetscMin(n[2] - 1, k + w); c++) {
          for (PetscInt b = PetscMax(0, j - w); b <= PetscMin(n[1] - 1, j + w); b++) {
            const PetscReal *weight = filter->weight + ((c - k + w) * nw + b - j + w) * nw + w - i;

            for (PetscInt a = PetscMax(0, i - w); a <= PetscMin(n[0] - 1, i + w); a++) sum += weight[a] * xa[c][b][a];
          }
        }
        ya[k][j][i] = sum;
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayWrite(filter->cells, y, &ya));
  PetscCall(DMDAVecRestoreArrayRead(filter->cells, local, &xa));
  PetscCall(DMRestoreLocalVector(filter->cells, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FilterSet(Filter *filter, PetscReal rmin, PetscReal beta, PetscReal eta)
{
  const PetscInt w = filter->width;

  PetscFunctionBeginUser;
  filter->beta = beta;
  filter->eta  = eta;
  if (filter->rmin == rmin) PetscFunctionReturn(PETSC_SUCCESS);
  filter->rmin = rmin;
  for (PetscInt k = -w, a = 0; k <= w; k++) {
    for (PetscInt j = -w; j <= w; j++) {
      for (PetscInt i = -w; i <= w; i++) filter->weight[a++] = PetscMax(0, rmin - PetscSqrtReal((PetscReal)(i * i + j * j + k * k)));
    }
  }
  PetscCall(VecSet(filter->work, 1));
  PetscCall(ApplyWeights(filter, filter->work, filter->sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Project(const Filter *f, PetscReal x)
{
  if (f->beta <= 0) return x;
  return (PetscTanhReal(f->beta * f->eta) + PetscTanhReal(f->beta * (x - f->eta))) / (PetscTanhReal(f->beta * f->eta) + PetscTanhReal(f->beta * (1 - f->eta)));
}

static PetscReal ProjectDerivative(const Filter *f, PetscReal x)
{
  const PetscReal t = PetscTanhReal(f->beta * (x - f->eta));

  if (f->beta <= 0) return 1;
  return f->beta * (1 - t * t) / (PetscTanhReal(f->beta * f->eta) + PetscTanhReal(f->beta * (1 - f->eta)));
}

/* Design to density */
PetscErrorCode FilterApply(Filter *filter, Vec x, Vec filtered, Vec rho)
{
  const PetscScalar *f;
  PetscScalar       *r;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(ApplyWeights(filter, x, filtered));
  PetscCall(VecPointwiseDivide(filtered, filtered, filter->sum));
  PetscCall(VecGetLocalSize(rho, &n));
  PetscCall(VecGetArrayRead(filtered, &f));
  PetscCall(VecGetArrayWrite(rho, &r));
  for (PetscInt e = 0; e < n; e++) r[e] = filter->passive[e] ? (filter->passive[e] > 0) : Project(filter, f[e]);
  PetscCall(VecRestoreArrayWrite(rho, &r));
  PetscCall(VecRestoreArrayRead(filtered, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Derivative by the densities to derivative by the design */
PetscErrorCode FilterApplyTranspose(Filter *filter, Vec filtered, Vec drho, Vec dx)
{
  const PetscScalar *f, *d;
  PetscScalar       *w;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(drho, &n));
  PetscCall(VecGetArrayRead(filtered, &f));
  PetscCall(VecGetArrayRead(drho, &d));
  PetscCall(VecGetArrayWrite(filter->work, &w));
  for (PetscInt e = 0; e < n; e++) w[e] = filter->passive[e] ? 0 : d[e] * ProjectDerivative(filter, f[e]);
  PetscCall(VecRestoreArrayWrite(filter->work, &w));
  PetscCall(VecRestoreArrayRead(drho, &d));
  PetscCall(VecRestoreArrayRead(filtered, &f));
  PetscCall(VecPointwiseDivide(filter->work, filter->work, filter->sum));
  PetscCall(ApplyWeights(filter, filter->work, dx));
  PetscFunctionReturn(PETSC_SUCCESS);
}
