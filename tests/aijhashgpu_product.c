static char help[] = "Products of MATAIJHASHGPU against those of MATAIJ, with new values and MAT_REUSE_MATRIX.\n"
                     "  -shape square|rectangular|empty|diagonal|dense|long|blocked|band|aggregation|wide : what the factors look like\n"
                     "  -mixed <0..7> : factors that stay MATAIJ, one bit each\n\n";

#include <trefoil.h>
#include <mataijhashgpu.h>

typedef struct {
  PetscInt  m, n, k, per_row, block;
  PetscBool dense_row, dense_column, diagonal, holes, wide, band, aggregation;
} Shape;

static PetscErrorCode ShapeSetUp(const char name[], Shape *s)
{
  PetscBool is;

  PetscFunctionBeginUser;
  s->m       = 61;
  s->n       = 61;
  s->k       = 61;
  s->per_row = 5;
  s->block   = 1;
  PetscCall(PetscStrcmp(name, "rectangular", &is));
  if (is) s->m = 47, s->n = 90, s->k = 23;
  PetscCall(PetscStrcmp(name, "empty", &is));
  if (is) s->m = s->n = s->k = 0;
  PetscCall(PetscStrcmp(name, "diagonal", &s->diagonal));
  PetscCall(PetscStrcmp(name, "dense", &is));
  if (is) s->dense_row = s->dense_column = PETSC_TRUE;
  /* rows of more than 8192 products, and of all other groups */
  PetscCall(PetscStrcmp(name, "long", &is));
  if (is) s->m = s->n = s->k = 400, s->per_row = 120, s->dense_row = PETSC_TRUE, s->holes = PETSC_TRUE;
  PetscCall(PetscStrcmp(name, "blocked", &is));
  if (is) s->m = s->n = s->k = 60, s->block = 3;
  /* rows that have most columns in common with their neighbours */
  PetscCall(PetscStrcmp(name, "band", &s->band));
  if (s->band) s->m = s->n = s->k = 150, s->per_row = 20;
  /* the second factor is an aggregation: triple products are computed at once */
  PetscCall(PetscStrcmp(name, "aggregation", &s->aggregation));
  if (s->aggregation) s->k = 20;
  /* columns so far apart that neither bitmap nor window pays: the table is used */
  PetscCall(PetscStrcmp(name, "wide", &s->wide));
  if (s->wide) s->m = 40, s->n = 40, s->k = 200000, s->per_row = 9;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random structure and values; the structure depends on the row only, so that the matrix is the same on any number of ranks */
static PetscErrorCode CreateRandom(const Shape *s, PetscInt M, PetscInt N, PetscInt seed, MatType type, Mat *A)
{
  PetscInt     start, end, per_row = s->diagonal || (s->aggregation && seed == 1) ? 1 : s->per_row;
  PetscScalar *v;
  PetscInt    *cols;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, M, N));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  PetscCall(PetscMalloc2(PetscMax(N, per_row), &cols, PetscMax(N, per_row), &v));
  for (PetscInt row = start; row < end; row++) {
    const uint64_t node = (uint64_t)(row / s->block);
    uint64_t       h    = (node + 1) * 0x9E3779B97F4A7C15u + (uint64_t)seed * 0xBF58476D1CE4E5B9u;
    PetscInt       n    = 0;

    if (s->holes && row % 7 == 3) continue;
    if ((s->dense_row && row == M / 2) || !N) {
      for (; n < N; n++) cols[n] = n;
    } else {
      for (; n < per_row; n++) {
        h ^= h >> 31;
        h *= 0x94D049BB133111EBu;
        if (s->band) cols[n] = PetscMin(row + n, N - 1);
        else cols[n] = s->diagonal ? PetscMin(row, N - 1) : (PetscInt)((h >> 20) % (uint64_t)N) / s->block * s->block + n % s->block;
      }
      if (s->dense_column) cols[n - 1] = N / 3;
    }
    for (PetscInt k = 0; k < n; k++) {
      v[k] = PetscSinReal((PetscReal)(1 + seed + row * 13 + cols[k] * 7 + k));
#if PetscDefined(USE_COMPLEX)
      v[k] += PETSC_i * PetscCosReal((PetscReal)(seed + row * 5 + cols[k] * 3));
#endif
    }
    PetscCall(MatSetValues(*A, 1, &row, n, cols, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree2(cols, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |C - D| / |D| with D of MATAIJ; also the type and that columns ascend */
static PetscErrorCode Compare(const char name[], Mat C, Mat D)
{
  Mat       E;
  PetscReal error, norm;
  MatType   type;
  PetscBool same;
  PetscInt  start, end, sorted = 1;

  PetscFunctionBeginUser;
  PetscCall(MatGetType(C, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &same, MATSEQAIJHASHGPU, MATMPIAIJHASHGPU, ""));
  PetscCall(MatGetOwnershipRange(C, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    const PetscInt *cols;
    PetscInt        n;

    PetscCall(MatGetRow(C, row, &n, &cols, NULL));
    for (PetscInt k = 1; k < n; k++)
      if (cols[k] <= cols[k - 1]) sorted = 0;
    PetscCall(MatRestoreRow(C, row, &n, &cols, NULL));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &sorted, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &E));
  PetscCall(MatAXPY(E, -1., D, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(E, NORM_FROBENIUS, &error));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  PetscCall(MatDestroy(&E));
  if (norm > 0) error /= norm;
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the result is of type %s\n", name, type));
  if (!sorted) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: columns do not ascend\n", name));
  if (!(error < 1000 * PETSC_MACHINE_EPSILON))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: relative error %g\n", name, (double)error));
  else if (same && sorted)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: OK\n", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product by this type into C, by MATAIJ on one process or several into D; MATMPIAIJ lacks ABt, so B is transposed there */
static PetscErrorCode Multiply(MatProductType type, Mat A, Mat B, Mat F, MatReuse reuse, Mat *C)
{
  PetscFunctionBeginUser;
  switch (type) {
  case MATPRODUCT_AB:
    PetscCall(MatMatMult(A, B, reuse, PETSC_DETERMINE, C));
    break;
  case MATPRODUCT_AtB:
    PetscCall(MatTransposeMatMult(A, B, reuse, PETSC_DETERMINE, C));
    break;
  case MATPRODUCT_ABt:
    PetscCall(MatMatTransposeMult(A, B, reuse, PETSC_DETERMINE, C));
    break;
  case MATPRODUCT_PtAP:
    PetscCall(MatPtAP(A, B, reuse, PETSC_DETERMINE, C));
    break;
  case MATPRODUCT_RARt:
    PetscCall(MatRARt(A, B, reuse, PETSC_DETERMINE, C));
    break;
  default:
    PetscCall(MatMatMatMult(A, B, F, reuse, PETSC_DETERMINE, C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Reference(MatProductType type, Mat A, Mat B, Mat F, Mat *D)
{
  Mat T, W;

  PetscFunctionBeginUser;
  switch (type) {
  case MATPRODUCT_ABt:
    PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatMatMult(A, T, MAT_INITIAL_MATRIX, PETSC_DETERMINE, D));
    PetscCall(MatDestroy(&T));
    break;
  case MATPRODUCT_RARt:
    PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatPtAP(A, T, MAT_INITIAL_MATRIX, PETSC_DETERMINE, D));
    PetscCall(MatDestroy(&T));
    break;
  case MATPRODUCT_ABC:
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &W));
    PetscCall(MatMatMult(W, F, MAT_INITIAL_MATRIX, PETSC_DETERMINE, D));
    PetscCall(MatDestroy(&W));
    break;
  default:
    PetscCall(Multiply(type, A, B, F, MAT_INITIAL_MATRIX, D));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewValues(Mat A, Mat B, PetscReal scale)
{
  PetscFunctionBeginUser;
  PetscCall(MatScale(A, scale));
  PetscCall(MatScale(B, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatProductType type, const Shape *s, PetscInt mixed)
{
  const PetscInt rows[3] = {s->m, s->n, s->k};
  PetscInt       M[3], N[3];
  Mat            X[3], Y[3], C, D;
  char           name[64];

  PetscFunctionBeginUser;
  M[0] = rows[0], N[0] = rows[1], M[1] = rows[1], N[1] = rows[2], M[2] = rows[2], N[2] = rows[0];
  if (type == MATPRODUCT_AtB) M[0] = rows[1], N[0] = rows[0];
  if (type == MATPRODUCT_ABt || type == MATPRODUCT_RARt) M[1] = rows[2], N[1] = rows[1];
  if (type == MATPRODUCT_PtAP || type == MATPRODUCT_RARt) M[0] = N[0] = rows[1];
  for (int f = 0; f < 3; f++) {
    PetscCall(CreateRandom(s, M[f], N[f], f, MATAIJ, &X[f]));
    PetscCall(MatConvert(X[f], (mixed >> f) & 1 ? MATAIJ : MATAIJHASHGPU, MAT_INITIAL_MATRIX, &Y[f]));
  }
  PetscCall(Multiply(type, Y[0], Y[1], Y[2], MAT_INITIAL_MATRIX, &C));
  PetscCall(Reference(type, X[0], X[1], X[2], &D));
  PetscCall(Compare(MatProductTypes[type], C, D));
  PetscCall(MatDestroy(&D));
  for (int f = 0; f < 3; f++) PetscCall(NewValues(X[f], Y[f], 1.5 + f));
  PetscCall(Multiply(type, Y[0], Y[1], Y[2], MAT_REUSE_MATRIX, &C));
  PetscCall(Reference(type, X[0], X[1], X[2], &D));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s again with new values", MatProductTypes[type]));
  PetscCall(Compare(name, C, D));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&C));
  for (int f = 0; f < 3; f++) {
    PetscCall(MatDestroy(&X[f]));
    PetscCall(MatDestroy(&Y[f]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An infinite entry of B comes into those rows of A B only that have it, though they are computed together with others */
static PetscErrorCode TestInfinite(const Shape *s)
{
  Mat      A, B, C;
  PetscInt start, end, middle = s->n / 2 + 2, wrong = 0;

  PetscFunctionBeginUser;
  PetscCall(CreateRandom(s, s->m, s->n, 0, MATAIJHASHGPU, &A));
  PetscCall(CreateRandom(s, s->n, s->k, 1, MATAIJHASHGPU, &B));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  if (middle >= start && middle < end) PetscCall(MatSetValue(B, middle, middle, (PetscScalar)INFINITY, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatGetOwnershipRange(C, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    const PetscBool    has = row <= middle && middle < row + s->per_row ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt    *cols;
    const PetscScalar *v;
    PetscInt           n;

    PetscCall(MatGetRow(C, row, &n, &cols, &v));
    for (PetscInt k = 0; k < n; k++) wrong += PetscIsInfOrNanScalar(v[k]) != (has && cols[k] == middle);
    PetscCall(MatRestoreRow(C, row, &n, &cols, &v));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "infinite entry: %" PetscInt_FMT " wrong entries\n", wrong));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Shape    s         = {0};
  char     shape[64] = "square";
  PetscInt mixed     = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-shape", shape, sizeof(shape), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mixed", &mixed, NULL));
  PetscCall(ShapeSetUp(shape, &s));
  for (MatProductType type = MATPRODUCT_AB; type <= MATPRODUCT_ABC; type++) {
    /* the transpose of a wide factor makes a product without empty rows, too large for a test */
    if (!s.wide || (type != MATPRODUCT_ABt && type != MATPRODUCT_RARt)) PetscCall(Test(type, &s, mixed));
  }
  if (s.band) PetscCall(TestInfinite(&s));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2 3}}
      args: -shape {{square rectangular empty diagonal dense long blocked band aggregation}}
      output_file: output/aijhashgpu_product_1.out

   test:
      suffix: wide
      nsize: {{1 2}}
      args: -shape wide

   test:
      suffix: mixed
      nsize: {{1 3}}
      args: -shape rectangular -mixed {{1 2 4 5 6}}
      output_file: output/aijhashgpu_product_1.out

   test:
      suffix: petsc
      nsize: 1
      args: -matmatmult_via rowmerge -matptap_via rap -mattransposematmult_via at*b
      output_file: output/aijhashgpu_product_1.out

   test:
      suffix: cuda
      requires: cuda
      nsize: {{1 2}}
      args: -shape {{square rectangular empty dense long blocked aggregation}} -mat_aijhashgpu_spgemm_backend cuda
      output_file: output/aijhashgpu_product_1.out

TEST*/
