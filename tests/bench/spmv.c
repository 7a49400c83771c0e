static char help[] = "MatMult of MATAIJHASHGPU next to MATAIJ, with -vec_type cuda next to MATAIJCUSPARSE.\n"
                     "  -scale s    : sizes of the matrices, see matrices.h (16, beyond caches)\n"
                     "  -case name  : one matrix only\n"
                     "  -vec_type t : cuda measures on the GPU\n\n";

#include <trefoil.h>
#include <mataijhashgpu.h>
#include "bench.h"
#include "matrices.h"

typedef struct {
  Mat A;
  Vec x, y;
} Product;

static PetscErrorCode Multiply(void *ctx)
{
  Product *p = (Product *)ctx;

  PetscFunctionBeginUser;
  PetscCall(MatMult(p->A, p->x, p->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a product moves at least: values, columns and row offsets, and both vectors, once */
static PetscErrorCode CompulsoryBytes(Mat A, PetscReal *bytes)
{
  MatInfo  info;
  PetscInt rows, columns;

  PetscFunctionBeginUser;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetSize(A, &rows, &columns));
  *bytes = (PetscReal)info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt)) + (rows + (PetscReal)1) * sizeof(PetscInt) + ((PetscReal)rows + columns) * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A as another type; reference: the product that it should give; peer: seconds of the first type, which is measured if 0 */
static PetscErrorCode Measure(Bench *bench, const char testcase[], const char implementation[], MatType type, Mat A, PetscReal bytes, Vec x, Vec reference, PetscReal *peer)
{
  Product   p = {NULL, x, NULL};
  PetscReal seconds, error, norm;
  char      note[64] = "";

  PetscFunctionBeginUser;
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &p.A));
  PetscCall(VecDuplicate(reference, &p.y));
  PetscCall(VecSet(p.y, PETSC_INFINITY)); /* what is left of it is an error */
  PetscCall(BenchTime(bench, Multiply, &p, &seconds));
  PetscCall(VecAXPY(p.y, -1, reference));
  PetscCall(VecNorm(p.y, NORM_2, &error));
  PetscCall(VecNorm(reference, NORM_2, &norm));
  if (*peer > 0) PetscCall(PetscSNPrintf(note, sizeof(note), "%.3g times the speed of %s", (double)(*peer / seconds), bench->gpu ? "aijcusparse" : "aij"));
  else *peer = seconds;
  PetscCall(BenchRecord(bench, testcase, implementation, "apply_s", seconds, "s", bytes / bench->bandwidth, error / norm, note));
  PetscCall(VecDestroy(&p.y));
  PetscCall(MatDestroy(&p.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *bench, const char name[], PetscReal scale, VecType vectype)
{
  Mat       A;
  Vec       x, reference;
  PetscReal bytes = 0, peer = 0;

  PetscFunctionBeginUser;
  PetscCall(BenchMatrixCreate(bench->comm, name, scale, &A));
  PetscCall(CompulsoryBytes(A, &bytes));
  PetscCall(MatSetVecType(A, vectype));
  PetscCall(MatCreateVecs(A, &x, &reference));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, reference)); /* by MATAIJ on the host in both cases */
  PetscCall(Measure(bench, name, bench->gpu ? "petsc-aijcusparse" : "petsc-aij", bench->gpu ? MATAIJCUSPARSE : MATAIJ, A, bytes, x, reference, &peer));
  PetscCall(Measure(bench, name, "trefoil-auto", MATAIJHASHGPU, A, bytes, x, reference, &peer));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&reference));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     bench;
  PetscReal scale    = 16;
  char      only[64] = "", vectype[64] = VECSTANDARD;
  PetscBool gpu, run = PETSC_TRUE, found = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-case", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vec_type", vectype, sizeof(vectype), NULL));
  PetscCall(PetscStrcmp(vectype, VECCUDA, &gpu));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, NULL));
  PetscCheck(scale > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-scale %g must be positive", (double)scale);
  PetscCall(BenchBegin(PETSC_COMM_WORLD, gpu, &bench));
  for (int k = 0; BenchMatrixNames[k]; k++) {
    if (only[0]) PetscCall(PetscStrcmp(only, BenchMatrixNames[k], &run));
    if (!run) continue;
    PetscCall(RunCase(&bench, BenchMatrixNames[k], scale, vectype));
    found = PETSC_TRUE;
  }
  PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_ARG_UNKNOWN_TYPE, "-case %s: there is no such matrix; see matrices.h", only);
  PetscCall(PetscFinalize());
  return 0;
}
