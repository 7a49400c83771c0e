static char help[] = "MATMACKO against MATAIJ: products with vectors, rows, norms, conversions, files, changes after assembly.\n"
                     "  -m -n rows and columns, -density of nonzeros, -exact: values that half precision holds, -seed\n\n";

#include <trefoil.h>
#include <matmacko.h>

typedef struct {
  PetscInt    m, n, seed;
  PetscReal   density, tol;
  PetscBool   exact;
  PetscRandom rand;
} Ctx;

static PetscErrorCode Report(const char name[], PetscReal error, PetscReal tol)
{
  PetscFunctionBeginUser;
  if (error <= tol)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: OK\n", name));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %g, more than %g\n", name, (double)error, (double)tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Difference(Vec a, Vec b, PetscReal *error)
{
  Vec       w;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(a, &w));
  PetscCall(VecWAXPY(w, -1., a, b));
  PetscCall(VecNorm(w, NORM_2, error));
  PetscCall(VecNorm(b, NORM_2, &norm));
  if (norm > 0) *error /= norm;
  if (PetscIsInfOrNanReal(*error)) *error = PETSC_MAX_REAL;
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random matrix of the density; row 1 is empty, row 2 dense, the last column empty */
static PetscErrorCode Create(Ctx *ctx, MatType type, Mat *A)
{
  PetscInt     start, end;
  PetscInt    *cols;
  PetscScalar *vals;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ctx->m, ctx->n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  PetscCall(PetscMalloc2(ctx->n, &cols, ctx->n, &vals));
  for (PetscInt r = start; r < end; r++) {
    PetscInt n = 0;

    PetscCall(PetscRandomSetSeed(ctx->rand, (unsigned long)(ctx->seed + 1000 * r))); /* the same on any number of processes */
    PetscCall(PetscRandomSeed(ctx->rand));
    for (PetscInt c = 0; c < ctx->n - 1; c++) {
      PetscReal   u;
      PetscScalar v;

      PetscCall(PetscRandomGetValueReal(ctx->rand, &u));
      PetscCall(PetscRandomGetValue(ctx->rand, &v));
      if (r == 1 || (r != 2 && u >= ctx->density)) continue;
      cols[n]   = c;
      vals[n++] = ctx->exact ? PetscFloorReal(256 * PetscRealPart(v)) - 127.5 : v - (PetscScalar)0.5;
    }
    PetscCall(MatSetValues(*A, 1, &r, n, cols, vals, INSERT_VALUES));
  }
  PetscCall(PetscFree2(cols, vals));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products and entries of M are those of A within tol */
static PetscErrorCode Compare(Ctx *ctx, Mat A, Mat M, const char name[])
{
  Vec       x, y, ya, ym, xt, xa, xm;
  PetscReal error, na, nm;
  char      line[128];
  Mat       B;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(M, &x, &y));
  PetscCall(VecDuplicate(y, &ya));
  PetscCall(VecDuplicate(y, &ym));
  PetscCall(VecDuplicate(x, &xt));
  PetscCall(VecDuplicate(x, &xa));
  PetscCall(VecDuplicate(x, &xm));
  PetscCall(VecSetRandom(x, ctx->rand));
  PetscCall(VecSetRandom(y, ctx->rand));
  PetscCall(VecSetRandom(xt, ctx->rand));
  PetscCall(VecSet(ym, 1e300));
  PetscCall(MatMult(A, x, ya));
  PetscCall(MatMult(M, x, ym));
  PetscCall(Difference(ym, ya, &error));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%s MatMult", name));
  PetscCall(Report(line, error, ctx->tol));
  PetscCall(VecSet(ym, 1e300));
  PetscCall(MatMultAdd(A, x, y, ya));
  PetscCall(MatMultAdd(M, x, y, ym));
  PetscCall(Difference(ym, ya, &error));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%s MatMultAdd", name));
  PetscCall(Report(line, error, ctx->tol));
  PetscCall(VecCopy(y, ym));
  PetscCall(MatMultAdd(M, x, ym, ym));
  PetscCall(Difference(ym, ya, &error));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%s MatMultAdd in place", name));
  PetscCall(Report(line, error, ctx->tol));
  PetscCall(VecSet(xm, 1e300));
  PetscCall(MatMultTranspose(A, y, xa));
  PetscCall(MatMultTranspose(M, y, xm));
  PetscCall(Difference(xm, xa, &error));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%s MatMultTranspose", name));
  PetscCall(Report(line, error, ctx->tol));
  PetscCall(MatMultTransposeAdd(A, y, xt, xa));
  PetscCall(MatMultTransposeAdd(M, y, xt, xm));
  PetscCall(Difference(xm, xa, &error));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%s MatMultTransposeAdd", name));
  PetscCall(Report(line, error, ctx->tol));
  PetscCall(MatNorm(A, NORM_INFINITY, &na));
  PetscCall(MatNorm(M, NORM_INFINITY, &nm));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%s MatNorm", name));
  PetscCall(Report(line, PetscAbsReal(na - nm) / PetscMax(na, 1), ctx->tol));
  PetscCall(MatConvert(M, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &na));
  PetscCall(MatAXPY(B, -1., A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &nm));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%s entries", name));
  PetscCall(Report(line, na > 0 ? nm / na : nm, ctx->tol));
  PetscCall(MatDestroy(&B));
  if (ctx->m == ctx->n) {
    PetscCall(MatGetDiagonal(A, ya));
    PetscCall(VecSet(ym, 1e300));
    PetscCall(MatGetDiagonal(M, ym));
    PetscCall(Difference(ym, ya, &error));
    PetscCall(PetscSNPrintf(line, sizeof(line), "%s MatGetDiagonal", name));
    PetscCall(Report(line, error, ctx->tol));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&ym));
  PetscCall(VecDestroy(&xt));
  PetscCall(VecDestroy(&xa));
  PetscCall(VecDestroy(&xm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows one by one */
static PetscErrorCode CompareRows(Ctx *ctx, Mat A, Mat M)
{
  PetscInt  start, end;
  PetscReal mine = 0, most;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    PetscInt           na, nm;
    const PetscInt    *ca, *cm;
    const PetscScalar *va, *vm;

    PetscCall(MatGetRow(A, r, &na, &ca, &va));
    PetscCall(MatGetRow(M, r, &nm, &cm, &vm));
    for (PetscInt k = 0, l = 0; k < na || l < nm;) { /* an entry that M lacks may have been rounded to zero */
      if (l == nm || (k < na && ca[k] < cm[l]))
        mine = PetscMax(mine, PetscAbsScalar(va[k])), k++;
      else if (k == na || ca[k] > cm[l])
        mine = PETSC_MAX_REAL, l++;
      else
        mine = PetscMax(mine, PetscAbsScalar(va[k] - vm[l])), k++, l++;
    }
    PetscCall(MatRestoreRow(A, r, &na, &ca, &va));
    PetscCall(MatRestoreRow(M, r, &nm, &cm, &vm));
  }
  PetscCallMPI(MPIU_Allreduce(&mine, &most, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(Report("MatGetRow", most, ctx->exact ? 0 : ctx->tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDense(Ctx *ctx, Mat A, Mat M)
{
  Mat       X, Y, Z;
  PetscReal error, norm;
  PetscInt  n;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, ctx->n, 5, NULL, &X));
  PetscCall(MatSetRandom(X, ctx->rand));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &Y));
  PetscCall(MatMatMult(M, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &Z));
  PetscCall(MatSetRandom(X, ctx->rand));
  PetscCall(MatMatMult(A, X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &Y));
  PetscCall(MatMatMult(M, X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &Z));
  PetscCall(MatNorm(Y, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(Z, -1., Y, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(Z, NORM_FROBENIUS, &error));
  PetscCall(Report("MatMatMult with dense", error / norm, ctx->tol));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&Z));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &X));
  PetscCall(MatConvert(X, MATMACKO, MAT_INITIAL_MATRIX, &Y));
  PetscCall(MatConvert(Y, MATDENSE, MAT_INITIAL_MATRIX, &Z));
  PetscCall(MatAXPY(Z, -1., X, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(X, NORM_FROBENIUS, &norm));
  PetscCall(MatNorm(Z, NORM_FROBENIUS, &error));
  PetscCall(Report("dense to macko to dense", error / norm, ctx->tol));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFile(Ctx *ctx, Mat A, Mat M)
{
  PetscViewer viewer;
  Mat         L;

  PetscFunctionBeginUser;
  for (int f = 0; f < 2; f++) { /* what macko wrote, and what aij wrote */
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "macko.tmpmat", FILE_MODE_WRITE, &viewer));
    PetscCall(MatView(f ? A : M, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &L));
    PetscCall(MatSetType(L, MATMACKO));
    PetscCall(MatSetFromOptions(L));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "macko.tmpmat", FILE_MODE_READ, &viewer));
    PetscCall(MatLoad(L, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(Compare(ctx, M, L, f ? "loaded from an aij file" : "loaded"));
    PetscCall(MatDestroy(&L));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same changes to both */
static PetscErrorCode TestChanges(Ctx *ctx, Mat A, Mat M)
{
  Mat      B, D;
  PetscInt rows[2] = {0, ctx->m - 1};

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatDuplicate(M, MAT_COPY_VALUES, &D));
  PetscCall(MatScale(B, -0.25));
  PetscCall(MatScale(D, -0.25));
  PetscCall(Compare(ctx, B, D, "scaled copy"));
  if (ctx->m == ctx->n) {
    PetscMPIInt rank;
    Vec         l, r;

    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatZeroRowsColumns(B, rank ? 0 : 2, rows, 1., NULL, NULL));
    PetscCall(MatZeroRowsColumns(D, rank ? 0 : 2, rows, 1., NULL, NULL));
    PetscCall(MatShift(B, 2.));
    PetscCall(MatShift(D, 2.));
    PetscCall(MatCreateVecs(B, &r, &l));
    PetscCall(VecSet(l, 2.));
    PetscCall(VecSet(r, 0.5));
    PetscCall(MatDiagonalScale(B, l, r));
    PetscCall(MatDiagonalScale(D, l, r));
    PetscCall(VecDestroy(&l));
    PetscCall(VecDestroy(&r));
    PetscCall(Compare(ctx, B, D, "rows zeroed, shifted, scaled"));
  }
  PetscCall(MatZeroEntries(B));
  PetscCall(MatZeroEntries(D));
  PetscCall(Compare(ctx, B, D, "zeroed"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Ctx               ctx  = {37, 150, 1, 0.5, 0, PETSC_FALSE, NULL};
  MatMACKOValueType type = MAT_MACKO_VALUES_AUTO;
  Mat               A, M, C;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &ctx.m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &ctx.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &ctx.seed, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-density", &ctx.density, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-exact", &ctx.exact, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mat_macko_values", MatMACKOValueTypes, (PetscEnum *)&type, NULL));
  /* half of the last place of the stored values, relative to the norm */
  ctx.tol = 100 * PETSC_MACHINE_EPSILON;
  if (!ctx.exact && type == MAT_MACKO_VALUES_FP16) ctx.tol = 5e-4;
  if (!ctx.exact && type == MAT_MACKO_VALUES_BF16) ctx.tol = 4e-3;
  if (type == MAT_MACKO_VALUES_INT8) ctx.tol = 1e-2;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &ctx.rand));
  PetscCall(PetscRandomSetFromOptions(ctx.rand));
  PetscCall(Create(&ctx, MATAIJ, &A));
  PetscCall(Create(&ctx, MATMACKO, &M));
  PetscCall(Compare(&ctx, A, M, "set by values"));
  PetscCall(CompareRows(&ctx, A, M));
  PetscCall(MatConvert(A, MATMACKO, MAT_INITIAL_MATRIX, &C));
  PetscCall(Compare(&ctx, A, C, "converted"));
  PetscCall(MatDestroy(&C));
  PetscCall(TestDense(&ctx, A, M));
  if (type != MAT_MACKO_VALUES_INT8) {
    PetscCall(TestFile(&ctx, A, M));
    PetscCall(TestChanges(&ctx, A, M));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&M));
  PetscCall(PetscRandomDestroy(&ctx.rand));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3}}
    test:
      suffix: rectangular
      args: -mat_macko_values scalar -mat_macko_encoding {{delta bitmap auto}}
      output_file: output/macko_rectangular.out
    test:
      suffix: tall
      args: -m 150 -n 37 -mat_macko_values scalar -density 0.1
      output_file: output/macko_rectangular.out

  testset:
    nsize: {{1 3}}
    requires: !complex
    output_file: output/macko_square.out
    test:
      suffix: exact
      args: -m 83 -n 83 -exact -mat_macko_values {{auto fp16 scalar}}
    test:
      suffix: bits
      args: -m 70 -n 70 -exact -density {{0.02 0.3 0.9}} -mat_macko_encoding delta -mat_macko_delta_bits {{1 2 4 8}}
    test:
      suffix: sparse
      args: -m 300 -n 300 -density 0.01 -seed {{1 2}}

  testset:
    requires: !complex
    nsize: {{1 2}}
    test:
      suffix: rounded
      args: -mat_macko_values {{fp16 bf16}} -mat_macko_encoding {{delta bitmap}}
      output_file: output/macko_rectangular.out
    test:
      suffix: int8
      args: -mat_macko_values int8 -mat_macko_encoding {{delta bitmap}}

  testset:
    requires: cuda !complex
    nsize: {{1 2}}
    args: -mat_vec_type cuda
    test:
      suffix: gpu
      args: -m 83 -n 83 -exact -mat_macko_values {{scalar fp16}} -mat_macko_encoding {{bitmap delta}}
      output_file: output/macko_square.out
    test:
      suffix: gpu_bits
      args: -m 70 -n 70 -exact -density 0.3 -mat_macko_encoding delta -mat_macko_delta_bits {{1 2 8}}
      output_file: output/macko_square.out
    test:
      suffix: gpu_rounded
      args: -mat_macko_values bf16 -mat_macko_encoding {{bitmap delta}}
      output_file: output/macko_rectangular.out
    test:
      suffix: gpu_int8
      args: -mat_macko_values int8
      output_file: output/macko_int8.out

TEST*/
