static char help[] = "MatMult of compressed pruned layers next to MATAIJ and MATDENSE, one core or one GPU.\n"
                     "  -size 4096, -densities 0.1,0.3,0.5,0.7,0.9\n\n";

#include <trefoil.h>
#include <matmacko.h>
#include "bench.h"

typedef struct {
  Mat A;
  Vec x, y;
} Product;

static PetscErrorCode Run(void *ctx)
{
  Product *p = (Product *)ctx;

  PetscFunctionBeginUser;
  PetscCall(MatMult(p->A, p->x, p->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* size x size, values that half precision holds */
static PetscErrorCode Layer(PetscInt size, PetscReal density, Mat *A)
{
  PetscInt    *i, *j, n = 0;
  PetscScalar *a;
  PetscRandom  rand;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rand));
  PetscCall(PetscRandomSetFromOptions(rand));
  PetscCall(PetscMalloc3(size + 1, &i, (size_t)size * size, &j, (size_t)size * size, &a));
  i[0] = 0;
  for (PetscInt r = 0; r < size; r++) {
    for (PetscInt c = 0; c < size; c++) {
      PetscReal u;

      PetscCall(PetscRandomGetValueReal(rand, &u));
      if (u >= density) continue;
      j[n]   = c;
      a[n++] = (PetscFloorReal(512 * u / density) - 255.5) / 1024;
    }
    i[r + 1] = n;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, size, size, size, size));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, i, j, a));
  PetscCall(PetscFree3(i, j, a));
  PetscCall(PetscRandomDestroy(&rand));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One implementation; reference: the product that it should give */
static PetscErrorCode Measure(Bench *bench, const char *name, const char *testcase, Mat A, PetscReal bytes, Vec x, Vec y, Vec reference, PetscReal *aij)
{
  Product   p = {A, x, y};
  PetscReal seconds, error, norm;
  char      note[64] = "";

  PetscFunctionBeginUser;
  PetscCall(VecSet(y, 1e300));
  PetscCall(BenchTime(bench, Run, &p, &seconds));
  PetscCall(VecAXPY(y, -1., reference));
  PetscCall(VecNorm(y, NORM_2, &error));
  PetscCall(VecNorm(reference, NORM_2, &norm));
  if (*aij > 0)
    PetscCall(PetscSNPrintf(note, sizeof(note), "%.3g times aij", (double)(*aij / seconds)));
  else
    *aij = seconds;
  PetscCall(BenchRecord(bench, testcase, name, "apply_s", seconds, "s", bytes / bench->bandwidth, error / norm, note));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatMACKOValueType types[] = {MAT_MACKO_VALUES_FP16, MAT_MACKO_VALUES_BF16, MAT_MACKO_VALUES_INT8, MAT_MACKO_VALUES_SCALAR};
  Bench                   bench;
  PetscInt                size = 4096, n = 16;
  PetscReal               densities[16] = {0.1, 0.3, 0.5, 0.7, 0.9};
  char                    vectype[64]   = VECSTANDARD;
  PetscBool               gpu, set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-size", &size, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vec_type", vectype, sizeof(vectype), NULL));
  PetscCall(PetscStrbeginswith(vectype, "cuda", &gpu));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-densities", densities, &n, &set));
  if (!set) n = 5;
  PetscCall(BenchBegin(PETSC_COMM_SELF, gpu, &bench));
  for (PetscInt d = 0; d < n; d++) {
    const PetscReal vectors = 2. * sizeof(PetscScalar) * size;
    Mat             A, B;
    Vec             x, y, reference;
    PetscReal       aij = 0;
    char            testcase[64], name[64];
    MatInfo         info;

    PetscCall(PetscSNPrintf(testcase, sizeof(testcase), "%" PetscInt_FMT "^2 density %g", size, (double)densities[d]));
    PetscCall(Layer(size, densities[d], &A));
    PetscCall(VecCreate(PETSC_COMM_SELF, &x));
    PetscCall(VecSetSizes(x, size, size));
    PetscCall(VecSetType(x, vectype));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(x, &reference));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(MatMult(A, x, reference));
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    if (gpu) {
      PetscCall(MatConvert(A, MATAIJCUSPARSE, MAT_INITIAL_MATRIX, &B));
      PetscCall(Measure(&bench, "petsc-aijcusparse", testcase, B, info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt)) + vectors, x, y, reference, &aij));
      PetscCall(MatDestroy(&B));
    } else
      PetscCall(Measure(&bench, "petsc-aij", testcase, A, info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt)) + vectors, x, y, reference, &aij));
    PetscCall(MatConvert(A, gpu ? MATDENSECUDA : MATDENSE, MAT_INITIAL_MATRIX, &B));
    PetscCall(Measure(&bench, gpu ? "petsc-densecuda" : "petsc-dense", testcase, B, (PetscReal)size * size * sizeof(PetscScalar) + vectors, x, y, reference, &aij));
    PetscCall(MatDestroy(&B));
    PetscCall(MatConvert(A, MATMACKO, MAT_INITIAL_MATRIX, &B));
    for (int t = 0; t < 4; t++)
      for (int e = 0; e < 3; e++) { /* auto, delta 4, bitmap */
        PetscInt64 bytes;

        if (e && types[t] != MAT_MACKO_VALUES_FP16) continue;
        PetscCall(MatMACKOSetValueType(B, types[t]));
        PetscCall(MatMACKOSetEncoding(B, (MatMACKOEncoding)e, e == 1 ? 4 : 0));
        PetscCall(MatConvert(A, MATMACKO, MAT_REUSE_MATRIX, &B)); /* after that: values rounded before stay rounded */
        PetscCall(MatMACKOGetStorage(B, &bytes, NULL));
        PetscCall(PetscSNPrintf(name, sizeof(name), "trefoil-%s-%s", e == 0 ? "auto" : e == 1 ? "delta4"
                                                                                              : "bitmap",
                                MatMACKOValueTypes[types[t]]));
        PetscCall(Measure(&bench, name, testcase, B, (PetscReal)bytes + vectors, x, y, reference, &aij));
      }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&reference));
  }
  PetscCall(PetscFinalize());
  return 0;
}
