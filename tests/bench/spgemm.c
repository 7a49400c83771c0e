static char help[] = "Sparse products A*A and P'*A*P by the hash method against all algorithms of MATAIJ.\n"
                     "  -scale s      : sizes of the matrices, see matrices.h\n"
                     "  -case name    : one matrix only\n"
                     "  -product name : AB, PtAP (P of plain aggregation) or PtAPs (smoothed) only\n"
                     "  -peers 0      : MATAIJ's default algorithm only\n\n";

#include <trefoil.h>
#include <mataijhashgpu.h>
#include <petscmat.h>
#include "bench.h"
#include "matrices.h"

typedef struct {
  Mat            A, B, C; /* C: kept, for the numeric phase alone */
  MatProductType type;
  const char    *algorithm;
} Product;

static PetscErrorCode Symbolic(Product *p, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(p->A, p->B, NULL, C));
  PetscCall(MatProductSetType(*C, p->type));
  PetscCall(MatProductSetAlgorithm(*C, p->algorithm));
  PetscCall(MatProductSetFill(*C, PETSC_DETERMINE));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode First(void *ctx)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(Symbolic((Product *)ctx, &C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Reuse(void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatProductNumeric(((Product *)ctx)->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RelativeError(Mat C, Mat D, PetscReal *error)
{
  Mat       E;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &E));
  PetscCall(MatAXPY(E, -1., D, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(E, NORM_FROBENIUS, error));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  PetscCall(MatDestroy(&E));
  *error /= norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One implementation; reference: the product of MATAIJ, NULL the first time, when it is made */
static PetscErrorCode Measure(Bench *bench, const char label[], const char implementation[], Product *p, Mat *reference, PetscReal floor, PetscReal *first, PetscReal *reuse)
{
  PetscReal error = 0;

  PetscFunctionBegin;
  PetscCall(BenchTime(bench, First, p, first));
  PetscCall(Symbolic(p, &p->C));
  PetscCall(MatProductNumeric(p->C));
  if (*reference) PetscCall(RelativeError(p->C, *reference, &error));
  PetscCall(BenchTime(bench, Reuse, p, reuse));
  PetscCall(BenchRecord(bench, label, implementation, "first_product_s", *first, "s", floor, error, NULL));
  PetscCall(BenchRecord(bench, label, implementation, "reuse_s", *reuse, "s", floor, error, NULL));
  if (*reference)
    PetscCall(MatDestroy(&p->C));
  else
    *reference = p->C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes that a product moves at least: its factors and its result once */
static PetscErrorCode Bytes(Mat A, PetscReal *bytes)
{
  MatInfo  info;
  PetscInt rows;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetSize(A, &rows, NULL));
  *bytes += (PetscReal)(info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt)) + (PetscLogDouble)(rows + 1) * sizeof(PetscInt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *bench, const char name[], const char product[], Mat A, Mat B, MatProductType type, PetscBool peers)
{
  const char *const ab[] = {"sorted", "scalable", "scalable_fast", "heap", "btheap", "llcondensed", "rowmerge", NULL}, *const ptap[] = {"scalable", "rap", NULL};
  const char *const      *algorithms = type == MATPRODUCT_AB ? ab : ptap;
  Mat                     HA, HB, reference = NULL;
  char                    label[64], implementation[64];
  PetscReal               first, reuse, best_first = PETSC_MAX_REAL, best_reuse = PETSC_MAX_REAL, default_first = 0, default_reuse = 0, bytes = 0;
  MatAIJHashGPUStatistics statistics;
  Product                 p = {A, B, NULL, type, NULL};

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(label, sizeof(label), "%s-%s", product, name));
  PetscCall(Bytes(A, &bytes));
  PetscCall(Bytes(B, &bytes));
  for (int a = 0; algorithms[a] && (!a || peers); a++) {
    p.algorithm = algorithms[a];
    PetscCall(PetscSNPrintf(implementation, sizeof(implementation), "petsc-aij-%s", algorithms[a]));
    PetscCall(Measure(bench, label, implementation, &p, &reference, -1, &first, &reuse));
    if (!a) {
      PetscCall(Bytes(reference, &bytes));
      default_first = first;
      default_reuse = reuse;
    }
    best_first = PetscMin(best_first, first);
    best_reuse = PetscMin(best_reuse, reuse);
  }
  PetscCall(MatConvert(A, MATAIJHASHGPU, MAT_INITIAL_MATRIX, &HA));
  if (B == A) {
    HB = HA;
    PetscCall(PetscObjectReference((PetscObject)HB));
  } else
    PetscCall(MatConvert(B, MATAIJHASHGPU, MAT_INITIAL_MATRIX, &HB));
  p.A         = HA;
  p.B         = HB;
  p.algorithm = "hash";
  PetscCall(Measure(bench, label, "trefoil-auto", &p, &reference, bytes / bench->bandwidth, &first, &reuse));
  PetscCall(Symbolic(&p, &p.C));
  PetscCall(MatAIJHashGPUGetProductStatistics(p.C, &statistics));
  PetscCall(MatDestroy(&p.C));
  PetscCall(PetscPrintf(bench->comm, "%-16s compression %5.2f  first: %.2f of aij, %.2f of its best; reuse: %.2f of aij, %.2f of its best; %.2f GFLOPS\n", label, (double)statistics.products / PetscMax(1., (double)statistics.nonzeros), (double)(default_first / first), (double)(best_first / first), (double)(default_reuse / reuse), (double)(best_reuse / reuse),
                        2.e-9 * (double)statistics.products / (double)first));
  PetscCall(BenchRecord(bench, label, "trefoil-auto", "first_speedup", default_first / first, "times", -1, -1, "over the default algorithm of MATAIJ"));
  PetscCall(BenchRecord(bench, label, "trefoil-auto", "reuse_speedup", default_reuse / reuse, "times", -1, -1, "over the default algorithm of MATAIJ"));
  PetscCall(MatDestroy(&reference));
  PetscCall(MatDestroy(&HA));
  PetscCall(MatDestroy(&HB));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     bench;
  PetscReal scale    = 1;
  char      only[64] = "", product[64] = "";
  PetscBool peers = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-case", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-product", product, sizeof(product), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
  PetscCall(BenchBegin(PETSC_COMM_WORLD, PETSC_FALSE, &bench));
  for (int k = 0; BenchMatrixNames[k]; k++) {
    const char *name = BenchMatrixNames[k];
    Mat         A, P;
    PetscBool   run = PETSC_TRUE;

    if (only[0]) PetscCall(PetscStrcmp(only, name, &run));
    if (!run) continue;
    PetscCall(BenchMatrixCreate(PETSC_COMM_WORLD, name, scale, &A));
    for (int s = 0; s < 3; s++) {
      const char *const products[] = {"AB", "PtAP", "PtAPs"};

      run = PETSC_TRUE;
      if (product[0]) PetscCall(PetscStrcmp(product, products[s], &run));
      if (!run) continue;
      if (!s)
        PetscCall(RunCase(&bench, name, products[s], A, A, MATPRODUCT_AB, peers));
      else {
        PetscCall(BenchProlongatorCreate(A, name, scale, (PetscBool)(s == 2), &P));
        PetscCall(RunCase(&bench, name, products[s], A, P, MATPRODUCT_PtAP, peers));
        PetscCall(MatDestroy(&P));
      }
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFinalize());
  return 0;
}
