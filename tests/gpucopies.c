static char help[] = "A second KSP solve with matrix and vectors on the GPU moves no array between host and GPU.\n"
                     "  -elasticity : three coupled unknowns a node instead of one; -count : print the number of copies\n\n";

#include <trefoil.h>
#include <petscdmda.h>
#include <petscksp.h>

/* Hexahedron of unit size: integral of grad phi_a . grad phi_b, plus a vector coupling that keeps it symmetric and
   positive semidefinite with constants in the kernel. Nodes in the order of DMDA boxes: x fastest. */
static void ElementMatrix(PetscInt dof, PetscScalar K[])
{
  const PetscReal m[2][2] = {
    {1. / 3, 1. / 6},
    {1. / 6, 1. / 3}},
                  s[2][2] = {{1, -1}, {-1, 1}};

  for (PetscInt a = 0; a < 8; a++)
    for (PetscInt b = 0; b < 8; b++) {
      const PetscInt  ax = a & 1, ay = (a >> 1) & 1, az = a >> 2, bx = b & 1, by = (b >> 1) & 1, bz = b >> 2;
      const PetscReal l[3] = {s[ax][bx] * m[ay][by] * m[az][bz], m[ax][bx] * s[ay][by] * m[az][bz], m[ax][bx] * m[ay][by] * s[az][bz]};

      for (PetscInt c = 0; c < dof; c++)
        for (PetscInt d = 0; d < dof; d++) K[(a * dof + c) * 8 * dof + b * dof + d] = c == d ? l[0] + l[1] + l[2] + 0.5 * l[c] : 0.;
    }
}

static PetscErrorCode Assemble(DM da, PetscInt dof, Mat A)
{
  PetscScalar K[24 * 24], Ke[24 * 24];
  MatStencil  idx[24];
  PetscInt    xs, ys, zs, xm, ym, zm, M, N, P;

  PetscFunctionBeginUser;
  ElementMatrix(dof, K);
  PetscCall(DMDAGetInfo(da, NULL, &M, &N, &P, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  for (PetscInt k = zs; k < PetscMin(zs + zm, P - 1); k++)
    for (PetscInt j = ys; j < PetscMin(ys + ym, N - 1); j++)
      for (PetscInt i = xs; i < PetscMin(xs + xm, M - 1); i++) {
        const PetscReal scale = 1. + 0.1 * ((i + 3 * j + 5 * k) % 7);

        for (PetscInt a = 0; a < 8; a++)
          for (PetscInt c = 0; c < dof; c++) {
            idx[a * dof + c].i = i + (a & 1);
            idx[a * dof + c].j = j + ((a >> 1) & 1);
            idx[a * dof + c].k = k + (a >> 2);
            idx[a * dof + c].c = c;
          }
        for (PetscInt e = 0; e < 64 * dof * dof; e++) Ke[e] = scale * K[e];
        PetscCall(MatSetValuesStencil(A, 8 * dof, idx, 8 * dof, idx, Ke, ADD_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lower face is held: symmetric elimination, as every structural code does */
static PetscErrorCode Clamp(DM da, PetscInt dof, Mat A)
{
  PetscInt    xs, ys, zs, xm, ym, zm, n = 0;
  MatStencil *rows;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  PetscCall(PetscMalloc1(ym * zm * dof, &rows));
  if (xs == 0) {
    for (PetscInt k = zs; k < zs + zm; k++)
      for (PetscInt j = ys; j < ys + ym; j++)
        for (PetscInt c = 0; c < dof; c++, n++) {
          rows[n].i = 0;
          rows[n].j = j;
          rows[n].k = k;
          rows[n].c = c;
        }
  }
  PetscCall(MatZeroRowsColumnsStencil(A, n, rows, 1.0, NULL, NULL));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Are the floating-point operations of MatMult() those of the GPU, on every process? */
static PetscErrorCode ProductsOnGPU(PetscBool *yes)
{
  PetscEventPerfInfo info;
  PetscLogEvent      mult;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("MatMult", &mult));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, mult, &info));
  *yes = PETSC_FALSE;
#if PetscDefined(HAVE_DEVICE)
  *yes = (PetscBool)(info.GpuFlops > 0 && info.GpuFlops > 0.99 * info.flops);
#endif
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, yes, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM                 da;
  Mat                A;
  Vec                x, b, r;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           n = 17, dof = 1, its;
  PetscBool          elasticity = PETSC_FALSE, count = PETSC_TRUE, gpu;
  PetscReal          norm, bnorm;
  PetscRandom        rand;
  PetscLogDouble     down, up;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-elasticity", &elasticity, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-count", &count, NULL));
  if (elasticity) dof = 3;
  PetscCall(PetscLogDefaultBegin());
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, n - 2, n - 4, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Assemble(da, dof, A));
  PetscCall(Clamp(da, dof, A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rand));
  PetscCall(VecSetRandom(b, rand));
  PetscCall(PetscRandomDestroy(&rand));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 500));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x)); /* uploads what it needs, once */
  PetscCall(VecSet(x, 0.));
  down = petsc_gtoc_ct;
  up   = petsc_ctog_ct;
  PetscCall(KSPSolve(ksp, b, x));
  down = petsc_gtoc_ct - down;
  up   = petsc_ctog_ct - up;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1., b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "converged: %s, more than ten iterations: %s, true residual below 1e-7: %s\n", PetscBools[reason > 0], PetscBools[its > 10], PetscBools[norm < 1e-7 * bnorm]));
  PetscCall(ProductsOnGPU(&gpu));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "products on the GPU: %s\n", PetscBools[gpu]));
  if (count) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "arrays copied during the solve: %d to the host, %d to the GPU\n", (int)down, (int)up));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -ksp_type cg -pc_type jacobi -dm_vec_type standard
    nsize: 1
    output_file: output/gpucopies_1.out
    test:
      suffix: laplace_host
      args: -dm_mat_type {{aij aijhashgpu macko shellfem}}
    test:
      suffix: elasticity_host
      args: -elasticity -dm_mat_type {{aij aijhashgpu macko shellfem}}
    test:
      suffix: laplace_cuda
      requires: cuda
      output_file: output/gpucopies_cuda.out
      args: -dm_vec_type cuda -dm_mat_type {{aijcusparse aijhashgpu macko shellfem}}
    test:
      suffix: elasticity_cuda
      requires: cuda
      output_file: output/gpucopies_cuda.out
      args: -elasticity -dm_vec_type cuda -dm_mat_type {{aijcusparse aijhashgpu macko shellfem}}

  # several processes: an MPI that cannot read device memory copies halos through the host, whatever the type
  testset:
    args: -ksp_type cg -pc_type jacobi -count 0
    nsize: {{2 3}}
    output_file: output/gpucopies_2.out
    test:
      suffix: parallel_host
      args: -elasticity -dm_mat_type {{aij aijhashgpu macko shellfem}}
    test:
      suffix: parallel_cuda
      requires: cuda
      output_file: output/gpucopies_parallel_cuda.out
      args: -elasticity -dm_vec_type cuda -dm_mat_type {{aijcusparse aijhashgpu macko shellfem}}

TEST*/
