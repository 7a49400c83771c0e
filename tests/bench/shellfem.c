static char help[] = "MatMult of hexahedral elasticity on a lattice of n^3 elements, one modulus an element: SHELLFEM next to aij.\n"
                     "  -n n        : elements in each direction (60: 216 thousand)\n"
                     "  -dof n      : 3 for elasticity, 1 for diffusion\n"
                     "  -types a,b  : matrix types; default aij,shellfem, with -vec_type cuda aijcusparse,shellfem\n"
                     "  -vec_type t : cuda measures on the GPU\n\n";

#include <trefoil.h>
#include <petscdmda.h>
#include "cubes.h"
#include "../../src/mat/impls/shellfem/element.h"

static PetscErrorCode CreateLattice(MPI_Comm comm, PetscInt n, PetscInt dof, DM *da)
{
  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n + 1, n + 1, n + 1, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Element by element, as any finite-element program does */
static PetscErrorCode Assemble(DM da, PetscInt dof, Mat A)
{
  PetscScalar K[576], Ke[576];
  PetscInt    xs, ys, zs, xm, ym, zm, M;
  MatStencil  node[8];

  PetscFunctionBeginUser;
  CubeMatrix(dof, K);
  PetscCall(DMDAGetInfo(da, NULL, &M, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  for (PetscInt k = zs; k < PetscMin(zs + zm, M - 1); k++)
    for (PetscInt j = ys; j < PetscMin(ys + ym, M - 1); j++)
      for (PetscInt i = xs; i < PetscMin(xs + xm, M - 1); i++) {
        const PetscReal E = CubeModulus(PETSC_FALSE, i, j, k);

        for (PetscInt a = 0; a < 8; a++) {
          node[a].i = i + (a & 1);
          node[a].j = j + ((a >> 1) & 1);
          node[a].k = k + (a >> 2);
          node[a].c = 0;
        }
        for (PetscInt e = 0; e < 64 * dof * dof; e++) Ke[e] = E * K[e];
        PetscCall(MatSetValuesBlockedStencil(A, 8, node, 8, node, Ke, ADD_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat                A;
  Vec                x, y;
  ElementMatrices    m;
  ElementLattice     lattice;
  ElementMesh        mesh;
  ElementPlan        plan;
  PetscBool          usemesh;
  const PetscScalar *u;
  PetscScalar       *v;
} Product;

static PetscErrorCode Multiply(void *ctx)
{
  Product *p = (Product *)ctx;

  PetscFunctionBeginUser;
  PetscCall(MatMult(p->A, p->x, p->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Kernel(void *ctx)
{
  Product *p = (Product *)ctx;

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(p->v, p->lattice.nx * p->lattice.ny * p->lattice.nz * p->lattice.bs));
  if (p->usemesh)
    ElementApplyMesh_Host(&p->m, &p->mesh, NULL, p->u, p->v);
  else
    ElementApplyLattice_Host(&p->m, &p->lattice, p->plan, NULL, p->u, p->v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* || y - reference || / || reference || */
static PetscErrorCode Error(Vec y, Vec reference, PetscReal *error)
{
  PetscReal norm;
  Vec       d;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(reference, NORM_2, &norm));
  PetscCall(VecDuplicate(y, &d));
  PetscCall(VecCopy(y, d));
  PetscCall(VecAXPY(d, -1, reference));
  PetscCall(VecNorm(d, NORM_2, error));
  PetscCall(VecDestroy(&d));
  *error /= norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smallest traffic of the product: x and y once, and one scale an element */
static PetscReal FloorElements(const Bench *b, PetscInt n, PetscInt dof)
{
  return sizeof(PetscScalar) * (2. * dof * PetscPowRealInt(n + 1, 3) + PetscPowRealInt(n, 3)) / b->bandwidth;
}

/* memory: of the operator */
static PetscErrorCode Record(Bench *b, const char *name, const char *implementation, PetscReal seconds, PetscReal floor, PetscReal bytes, PetscReal flops, PetscReal memory, PetscInt nel, PetscReal error, const char *note)
{
  PetscFunctionBeginUser;
  PetscCall(BenchRecord(b, name, implementation, "apply_s", seconds, "s", floor, error, note));
  PetscCall(BenchRecord(b, name, implementation, "bandwidth", bytes / seconds / 1e9, "GB/s", b->bandwidth / 1e9, -1, NULL));
  PetscCall(BenchRecord(b, name, implementation, "gflops", flops / seconds / 1e9, "GFLOP/s", -1, -1, NULL));
  PetscCall(BenchRecord(b, name, implementation, "bytes_per_element", memory / nel, "B", -1, -1, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One Mat type; y is compared with reference, or kept as the reference where there is none yet */
static PetscErrorCode BenchType(Bench *b, DM da, PetscInt n, PetscInt dof, MatType type, const char *name, Vec x, Vec *reference, PetscReal *seconds, PetscReal *memory)
{
  const PetscInt nel   = n * n * n;
  const char    *label = type;
  char           implementation[64];
  PetscBool      shell;
  MatInfo        info;
  PetscReal      error = -1, bytes, floor, assembly;
  PetscLogDouble start, end, before, after;
  Product        p = {0};

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(type, "shellfem", &shell));
  PetscCall(PetscSNPrintf(implementation, sizeof implementation, shell ? "trefoil-auto" : "petsc-%s", label));
  PetscCall(PetscMemoryGetCurrentUsage(&before));
  PetscCall(DMSetMatType(da, type));
  PetscCall(DMCreateMatrix(da, &p.A));
  PetscCall(PetscTime(&start));
  PetscCall(Assemble(da, dof, p.A));
  PetscCall(PetscTime(&end));
  assembly = (PetscReal)(end - start);
  PetscCall(PetscMemoryGetCurrentUsage(&after));
  p.x = x;
  PetscCall(VecDuplicate(x, &p.y));
  PetscCall(VecSet(p.y, 1e300));
  PetscCall(BenchTime(b, Multiply, &p, seconds));
  if (*reference)
    PetscCall(Error(p.y, *reference, &error));
  else {
    PetscCall(VecDuplicate(p.y, reference));
    PetscCall(VecCopy(p.y, *reference));
  }
  PetscCall(MatGetInfo(p.A, MAT_GLOBAL_SUM, &info));
  *memory = info.memory > 0 ? (PetscReal)info.memory : (PetscReal)(after - before); /* aij does not count its own */
  if (shell) {
    floor = FloorElements(b, n, dof);
    bytes = floor * b->bandwidth;
    PetscCall(Record(b, name, implementation, *seconds, floor, bytes, 128. * dof * dof * nel, *memory, nel, error, NULL));
  } else {
    const PetscReal rows = dof * PetscPowRealInt(n + 1, 3), nnz = (PetscReal)info.nz_used;

    bytes = nnz * (sizeof(PetscScalar) + sizeof(PetscInt)) + rows * (2 * sizeof(PetscScalar) + sizeof(PetscInt));
    PetscCall(Record(b, name, implementation, *seconds, bytes / b->bandwidth, bytes, 2 * nnz, *memory, nel, error, NULL));
  }
  PetscCall(BenchRecord(b, name, implementation, "assembly_s", assembly, "s", -1, -1, NULL));
  PetscCall(VecDestroy(&p.y));
  PetscCall(MatDestroy(&p.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host kernels alone, on one rank: parity form, dense form, dense form by connectivity */
static PetscErrorCode BenchKernels(Bench *b, PetscInt n, PetscInt dof, const char *name, Vec x, Vec reference)
{
  const PetscInt nel               = n * n * n;
  const char    *implementation[3] = {"trefoil-kernel-parity", "trefoil-kernel-dense", "trefoil-kernel-mesh"};
  PetscScalar   *K, *scale;
  PetscInt      *conn, e = 0;
  ElementPlan    plan;
  Product        p = {0};

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(576, &K, nel, &scale, 8 * nel, &conn));
  CubeMatrix(dof, K);
  for (PetscInt k = 0; k < n; k++)
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++, e++) {
        scale[e] = CubeModulus(PETSC_FALSE, i, j, k);
        for (PetscInt a = 0; a < 8; a++) conn[8 * e + a] = ((k + (a >> 2)) * (n + 1) + j + ((a >> 1) & 1)) * (n + 1) + i + (a & 1);
      }
  p.m       = (ElementMatrices){8 * dof, 1, K, nel, NULL, scale, NULL, NULL, PETSC_FALSE, PETSC_FALSE};
  p.lattice = (ElementLattice){n + 1, n + 1, n + 1, dof};
  p.mesh    = (ElementMesh){8, dof, conn};
  PetscCall(ElementPlanCreateLattice(&p.m, &p.lattice, &plan));
  PetscCall(VecDuplicate(x, &p.y));
  for (PetscInt form = 0; form < 3; form++) {
    const PetscReal floor = FloorElements(b, n, dof) + (form == 2 ? 8. * sizeof(PetscInt) * nel / b->bandwidth : 0);
    PetscReal       seconds, error;

    p.plan    = form == 0 ? plan : NULL;
    p.usemesh = (PetscBool)(form == 2);
    PetscCall(VecGetArrayRead(x, &p.u));
    PetscCall(VecGetArray(p.y, &p.v));
    PetscCall(BenchTime(b, Kernel, &p, &seconds));
    PetscCall(VecRestoreArrayRead(x, &p.u));
    PetscCall(VecRestoreArray(p.y, &p.v));
    PetscCall(Error(p.y, reference, &error));
    PetscCall(Record(b, name, implementation[form], seconds, floor, floor * b->bandwidth, 128. * dof * dof * nel, sizeof(PetscScalar) * (nel + 64. * dof * dof) + (form == 2 ? 8. * sizeof(PetscInt) * nel : 0), nel, error, ElementPlanName(p.plan)));
  }
  PetscCall(VecDestroy(&p.y));
  PetscCall(ElementPlanDestroy(&plan));
  PetscCall(PetscFree3(K, scale, conn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    n = 60, dof = 3, ntypes = 8;
  PetscBool   gpu, set;
  PetscMPIInt size;
  PetscReal   seconds[8], memory[8];
  PetscRandom random;
  char       *types[8], vectype[64] = "standard", name[64];
  Bench       b;
  DM          da;
  Vec         x, reference = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dof", &dof, NULL));
  PetscCheck(dof == 1 || dof == 3, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-dof %" PetscInt_FMT ": 1 or 3", dof);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vec_type", vectype, sizeof vectype, NULL));
  PetscCall(PetscStrcmp(vectype, "cuda", &gpu));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-types", types, &ntypes, &set));
  if (!set) {
    ntypes = 2;
    PetscCall(PetscStrallocpy(gpu ? "aijcusparse" : "aij", &types[0]));
    PetscCall(PetscStrallocpy("shellfem", &types[1]));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(BenchBegin(PETSC_COMM_WORLD, gpu, &b));
  PetscCall(PetscSNPrintf(name, sizeof name, dof == 3 ? "elasticity-%" PetscInt_FMT "^3" : "diffusion-%" PetscInt_FMT "^3", n));
  PetscCall(CreateLattice(PETSC_COMM_WORLD, n, dof, &da));
  PetscCall(DMSetVecType(da, vectype));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(VecSetRandom(x, random));
  PetscCall(PetscRandomDestroy(&random));
  for (PetscInt t = 0; t < ntypes; t++) PetscCall(BenchType(&b, da, n, dof, types[t], name, x, &reference, &seconds[t], &memory[t]));
  if (!gpu && size == 1) PetscCall(BenchKernels(&b, n, dof, name, x, reference));
  for (PetscInt t = 1; t < ntypes; t++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s is %.1f times as fast as %s with 1/%.1f of its memory\n", name, types[t], (double)(seconds[0] / seconds[t]), types[0], (double)(memory[0] / memory[t])));
  for (PetscInt t = 0; t < ntypes; t++) PetscCall(PetscFree(types[t]));
  PetscCall(VecDestroy(&reference));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
