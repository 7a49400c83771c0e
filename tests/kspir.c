static char help[] = "KSPIR: a clamped cantilever of elastic cubes, moduli of any contrast, solved with corrections in another precision.\n"
                     "  -n n        : elements across; twice as many along\n"
                     "  -contrast c : half of the elements, at random, have modulus 1 / c\n"
                     "  -expected e : relative error of the solution at most\n"
                     "  -again      : change the moduli and solve once more with the same KSP\n\n";

#include <trefoil.h>
#include <petscdmda.h>
#include <kspir.h>
#include "cube.h"

/* Deterministic and the same on any number of processes */
static PetscReal Modulus(PetscReal contrast, PetscInt design, PetscInt i, PetscInt j, PetscInt k)
{
  return j > 0 && CubesEntry((PetscCount)(((design * 64 + k) * 64 + j) * 64 + i)) > 0 ? 1 / contrast : 1; /* the layer j = 0 is whole */
}

static PetscErrorCode Assemble(DM da, PetscReal contrast, PetscInt design, Mat A)
{
  PetscScalar K[576], Ke[576];
  PetscInt    xs, ys, zs, xm, ym, zm, M, N, P, n = 0;
  MatStencil  node[8], *rows;

  PetscFunctionBeginUser;
  CubeMatrix(3, K);
  PetscCall(MatZeroEntries(A));
  PetscCall(DMDAGetInfo(da, NULL, &M, &N, &P, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  for (PetscInt k = zs; k < PetscMin(zs + zm, P - 1); k++)
    for (PetscInt j = ys; j < PetscMin(ys + ym, N - 1); j++)
      for (PetscInt i = xs; i < PetscMin(xs + xm, M - 1); i++) {
        for (PetscInt a = 0; a < 8; a++) node[a] = (MatStencil){.k = k + (a >> 2), .j = j + ((a >> 1) & 1), .i = i + (a & 1), .c = 0};
        for (PetscInt e = 0; e < 576; e++) Ke[e] = Modulus(contrast, design, i, j, k) * K[e];
        PetscCall(MatSetValuesBlockedStencil(A, 8, node, 8, node, Ke, ADD_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscMalloc1(3 * ym * zm, &rows));
  for (PetscInt k = zs; k < zs + zm && xs == 0; k++)
    for (PetscInt j = ys; j < ys + ym; j++)
      for (PetscInt c = 0; c < 3; c++) rows[n++] = (MatStencil){.k = k, .j = j, .i = 0, .c = c};
  PetscCall(MatZeroRowsColumnsStencil(A, n, rows, 1, NULL, NULL));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves for an x that is known, and tells what came out: the residual is computed here */
static PetscErrorCode Solve(KSP ksp, Mat A, Vec exact, PetscReal expected)
{
  KSPConvergedReason reason;
  PetscReal          norm, bnorm, rtol, error, enorm, condition, roundoff;
  Vec                x, b, r;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(exact, &x));
  PetscCall(VecDuplicate(exact, &b));
  PetscCall(VecDuplicate(exact, &r));
  PetscCall(MatMult(A, exact, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecNorm(exact, NORM_2, &enorm));
  PetscCall(VecAXPY(x, -1, exact));
  PetscCall(VecNorm(x, NORM_2, &error));
  if (reason > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "converged, and so says b - A x: %s, the solution is right: %s\n", PetscBools[norm <= 1.01 * rtol * bnorm], PetscBools[error <= expected * enorm]));
  else {
    PetscBool refined;

    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, and b - A x is too large: %s\n", KSPConvergedReasons[reason], PetscBools[norm > rtol * bnorm]));
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPIR, &refined));
    if (refined) {
      PetscCall(KSPIRGetConditionEstimate(ksp, &condition, &roundoff));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "condition number times unit roundoff is above 0.1: %s\n", PetscBools[condition * roundoff > 0.1]));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt     n        = 4;
  PetscReal    contrast = 1, expected = 1e-5;
  PetscBool    again = PETSC_FALSE;
  PetscScalar *xa;
  PetscInt     first, last;
  DM           da;
  Mat          A;
  Vec          x;
  KSP          ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &contrast, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-expected", &expected, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-again", &again, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 2 * n + 1, n + 1, n + 1, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 3, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetMatType(da, MATSHELLFEM));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Assemble(da, contrast, 0, A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayWrite(x, &xa));
  for (PetscInt k = first; k < last; k++) xa[k - first] = CubesEntry(k);
  PetscCall(VecRestoreArrayWrite(x, &xa));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPIR));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, A, x, expected));
  if (again) {
    PetscCall(Assemble(da, contrast, 1, A));
    PetscCall(Solve(ksp, A, x, expected));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -pc_type jacobi -ksp_converged_reason
    filter: sed -e "s|stagnated at [0-9.e+]*|stagnated|" -e "s|[0-9.]*e[-+][0-9]*|NUMBER|g" -e "s|roundoff [0-9.][0-9.]*|roundoff NUMBER|" -e "s|iterations [0-9]*|iterations|"
    test:
      suffix: types
      nsize: {{1 3}}
      output_file: output/kspir_converged.out
      args: -dm_mat_type {{aij aijhashgpu shellfem}}
    test:
      suffix: precisions
      nsize: {{1 2 3}}
      output_file: output/kspir_again.out
      args: -again -ksp_ir_inner_mat_precision {{double single bfloat16}}
      requires: !complex double
    test:
      suffix: contrast
      output_file: output/kspir_converged.out
      args: -n 8 -contrast 1e6 -expected 1e-3 -ksp_ir_inner_mat_precision single
      requires: !complex double
    # the inner operator cannot follow a condition number of a million; CG with it alone believes that it did
    test:
      suffix: stagnation
      nsize: {{1 3}}
      output_file: output/kspir_stagnation.out
      args: -n 8 -contrast 1e6 -ksp_ir_inner_mat_precision bfloat16
      requires: !complex double
    test:
      suffix: recursive
      output_file: output/kspir_recursive.out
      args: -ksp_type cg -ksp_norm_type unpreconditioned -ksp_max_it 1000 -mat_shellfem_precision bfloat16
      requires: !complex double
    test:
      suffix: cuda
      nsize: {{1 3}}
      output_file: output/kspir_again.out
      args: -again -dm_vec_type cuda -ksp_ir_inner_mat_precision {{double single bfloat16}}
      requires: cuda !complex double

TEST*/
