static char help[] = "SHELLFEM: element matrices captured from MatSetValues() and its kin, against aij.\n"
                     "  -lattice         : nodes of a DMDA, else a mesh with nodes in random order\n"
                     "  -patch           : rotation, and constant strain where all cells are alike (-contrast 1)\n"
                     "  options of the problem: see shellfemtest.h\n"
                     "  -type t          : another type instead of shellfem\n\n";

#include "shellfemtest.h"

/* Rigid-body modes have no forces, and the operator is symmetric where the elements are */
static PetscErrorCode CheckMechanics(Problem *p, Mat B)
{
  Vec         u, v, f, g;
  PetscScalar a, b;
  PetscReal   norm, scale;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateVec(p, 0, &u));
  PetscCall(ProblemCreateVec(p, 1, &v));
  PetscCall(VecDuplicate(u, &f));
  PetscCall(VecDuplicate(u, &g));
  PetscCall(MatMult(B, u, f));
  PetscCall(MatMult(B, v, g));
  PetscCall(VecTDot(v, f, &a));
  PetscCall(VecTDot(u, g, &b));
  PetscCall(VecNorm(f, NORM_2, &scale));
  PetscCall(Check("v'Au = u'Av", PetscAbsScalar(a - b) / scale, TOLERANCE));
  PetscCall(VecSet(u, 1));
  PetscCall(VecSet(f, 1e30));
  PetscCall(MatMult(B, u, f));
  PetscCall(VecNorm(f, NORM_2, &norm));
  PetscCall(Check("translation has no forces", norm / scale, TOLERANCE));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x of the lattice: (-y, x, 0) has no forces, and u = (x, 0, 0) none inside where all cells are alike */
static PetscErrorCode CheckLattice(Problem *p, Mat B)
{
  const PetscReal edge[3] = {1, .5, 2};
  DM              da;
  Vec             u, f;
  PetscScalar ****a, ***a2;
  DMDALocalInfo   info;
  PetscReal       norm, scale, inside = 0, global;

  PetscFunctionBeginUser;
  PetscCall(MatGetDM(B, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(ProblemCreateVec(p, 0, &u));
  PetscCall(VecDuplicate(u, &f));
  PetscCall(MatMult(B, u, f));
  PetscCall(VecNorm(f, NORM_2, &scale));
  for (PetscInt mode = 0; mode < 2; mode++) {
    if (p->dim == 3)
      PetscCall(DMDAVecGetArrayDOF(da, u, &a));
    else
      PetscCall(DMDAVecGetArrayDOF(da, u, &a2));
    for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
      for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
        for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
          PetscScalar *d = p->dim == 3 ? a[k][j][i] : a2[j][i];

          for (PetscInt c = 0; c < p->dof; c++) d[c] = 0;
          d[0] = mode == 0 ? -edge[1] * (PetscReal)j : edge[0] * (PetscReal)i;
          if (mode == 0) d[1] = edge[0] * (PetscReal)i;
        }
    if (p->dim == 3)
      PetscCall(DMDAVecRestoreArrayDOF(da, u, &a));
    else
      PetscCall(DMDAVecRestoreArrayDOF(da, u, &a2));
    PetscCall(VecSet(f, 1e30));
    PetscCall(MatMult(B, u, f));
    PetscCall(VecNorm(f, NORM_2, &norm));
    if (mode == 0) PetscCall(Check("rotation has no forces", norm / scale, TOLERANCE));
  }
  if (p->dim == 3)
    PetscCall(DMDAVecGetArrayDOFRead(da, f, &a));
  else
    PetscCall(DMDAVecGetArrayDOFRead(da, f, &a2));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt at[3]    = {i, j, k};
        PetscBool      edgenode = PETSC_FALSE;

        for (PetscInt d = 0; d < p->dim; d++)
          if (at[d] == 0 || at[d] == p->nodes[d] - 1) edgenode = PETSC_TRUE;
        for (PetscInt c = 0; c < p->dof && !edgenode; c++) inside = PetscMax(inside, PetscAbsScalar(p->dim == 3 ? a[k][j][i][c] : a2[j][i][c]));
      }
  if (p->dim == 3)
    PetscCall(DMDAVecRestoreArrayDOFRead(da, f, &a));
  else
    PetscCall(DMDAVecRestoreArrayDOFRead(da, f, &a2));
  PetscCallMPI(MPIU_Allreduce(&inside, &global, 1, MPIU_REAL, MPIU_MAX, p->comm));
  PetscCall(Check("constant strain has no forces inside", norm > 0 ? global / scale : PETSC_MAX_REAL, TOLERANCE));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool lattice = PETSC_FALSE, patch = PETSC_FALSE;
  Problem   p;
  Mat       A, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lattice", &lattice, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-patch", &patch, NULL));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, lattice, &p));
  PetscCall(ProblemCreateMats(&p, &A, &B));
  PetscCall(CompareProducts(&p, A, B));
  if (p.symmetric) PetscCall(CheckMechanics(&p, B));
  if (patch) PetscCall(CheckLattice(&p, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/shellfem_capture_symmetric.out
    test:
      suffix: call
      nsize: {{1 3}}
      args: -call {{values blocked local blockedlocal mixed}}
    test:
      suffix: call_lattice
      nsize: {{1 3}}
      args: -lattice -call {{values blocked local blockedlocal stencil blockedstencil mixed}}
    test:
      suffix: dof
      nsize: 2
      args: -dof {{1 2 4}} -dim {{2 3}} -lattice {{0 1}}
    test:
      suffix: order
      nsize: 3
      args: -lattice {{0 1}} -order {{around random}} -references 3
    test:
      suffix: shapes
      nsize: {{1 3}}
      args: -simplices {{0.4 1}} -voids 0.2 -lattice {{0 1}} -contrast 1e-9
    test:
      suffix: by_component
      nsize: 2
      args: -by_component -call {{values local}} -lattice {{0 1}}
    test:
      suffix: empty
      nsize: 3
      args: -empty_rank -reverse
    test:
      suffix: flat
      nsize: {{2 3}}
      args: -lattice -n {{1,1,6 2,3,1}}
    test:
      suffix: periodic
      nsize: {{1 3}}
      args: -lattice -periodic -dim {{2 3}} -n 5,4,7
    test:
      suffix: options
      nsize: 2
      args: -lattice {{0 1}} -references 5 -mat_shellfem_max_references {{0 2}} -mat_shellfem_classify_rtol 1e-14
    test:
      suffix: gpu
      requires: cuda
      nsize: {{1 2}}
      args: -vec_type cuda -lattice {{0 1}} -simplices {{0 0.3}}

  testset:
    args: -mat_view ::ascii_info
    filter: grep -E "elements:|reference matrices" | cut -d";" -f1
    test:
      suffix: view_lattice
      nsize: {{1 3}}
      args: -lattice -call {{local blockedlocal stencil blockedstencil}} -order {{binary random}}
    test:
      suffix: view_mesh
      args: -references 3 -simplices 0.5

  testset:
    output_file: output/shellfem_capture_patch.out
    nsize: {{1 3}}
    args: -lattice -patch -contrast 1
    test:
      suffix: patch
      args: -dim {{2 3}} -order {{binary random}}
    test:
      suffix: patch_gpu
      requires: cuda
      args: -vec_type cuda

  testset:
    output_file: output/shellfem_capture_general.out
    nsize: {{1 3}}
    test:
      suffix: full
      args: -full {{0.3 1}} -lattice {{0 1}} -order random
    test:
      suffix: full_shapes
      args: -full 0.2 -simplices 0.5 -voids 0.1 -call mixed

TEST*/
