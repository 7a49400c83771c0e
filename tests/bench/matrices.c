#include "matrices.h"

#define MAX_ROW 4096

const char *const BenchMatrixNames[] = {"road", "web", "cage", "pwtk", "consph", "grid5", "grid7", "grid9", "grid27", NULL};

typedef struct _Kind Kind;
struct _Kind {
  PetscInt nx, ny, nz, dof;                            /* grid */
  PetscInt n;                                          /* rows */
  PetscInt dims[16], ndims;                            /* lattice */
  PetscInt (*row)(const Kind *, PetscInt, PetscInt *); /* columns of a row, in any order, repeats allowed */
};

static inline uint64_t Mix(uint64_t x)
{
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/* in [0, 1), always the same for the same x */
static inline double Uniform(uint64_t x)
{
  return (double)(Mix(x) >> 11) / 9007199254740992.0;
}

/* The edge from node p to the next one in direction d exists with probability 0.69 */
static PetscInt RoadRow(const Kind *k, PetscInt row, PetscInt *c)
{
  const PetscInt x = row % k->nx, y = row / k->nx;
  PetscInt       n = 0;

  if (y > 0 && Uniform(2 * (uint64_t)(row - k->nx) + 1) < 0.69) c[n++] = row - k->nx;
  if (x > 0 && Uniform(2 * (uint64_t)(row - 1)) < 0.69) c[n++] = row - 1;
  if (x < k->nx - 1 && Uniform(2 * (uint64_t)row) < 0.69) c[n++] = row + 1;
  if (y < k->ny - 1 && Uniform(2 * (uint64_t)row + 1) < 0.69) c[n++] = row + k->nx;
  return n;
}

/* 12 % of pages have no links; others 1 + geometric, 2 in 1000 up to 456. Most links go to one of 32 pages nearby,
   preferring its first ones; the rest to pages whose popularity falls off as a power. */
static PetscInt WebRow(const Kind *k, PetscInt row, PetscInt *c)
{
  const uint64_t seed = (uint64_t)row * 1000;
  const double   u    = Uniform(seed);
  PetscInt       n    = 0, degree;

  if (u < 0.12) return 0;
  if (u < 0.998)
    degree = 1 + (PetscInt)(-4.8 * PetscLogReal((PetscReal)(1. - Uniform(seed + 1))));
  else
    degree = (PetscInt)(40 / PetscPowReal((PetscReal)(Uniform(seed + 1) + 0.026), 0.667));
  for (PetscInt d = 0; d < degree; d++) {
    const double v = Uniform(seed + 2 + 2 * (uint64_t)d), w = Uniform(seed + 3 + 2 * (uint64_t)d);
    PetscInt     target;

    if (v < 0.75)
      target = row / 32 * 32 + (PetscInt)(32 * w * w);
    else
      target = (PetscInt)(Mix((uint64_t)((double)k->n * w * w * w)) % (uint64_t)k->n);
    c[n++] = PetscMin(target, k->n - 1);
  }
  return n;
}

static PetscInt LatticeRow(const Kind *k, PetscInt row, PetscInt *c)
{
  PetscInt n = 0, stride = 1, rest = row;

  c[n++] = row;
  for (PetscInt d = 0; d < k->ndims; d++) {
    const PetscInt at = rest % k->dims[d];

    if (at > 0) c[n++] = row - stride;
    if (at < k->dims[d] - 1) c[n++] = row + stride;
    rest /= k->dims[d];
    stride *= k->dims[d];
  }
  return n;
}

static PetscInt BoxRow(const Kind *k, PetscInt row, PetscInt *c)
{
  const PetscInt p = row / k->dof, x = p % k->nx, y = p / k->nx % k->ny, z = p / k->nx / k->ny;
  PetscInt       n = 0;

  for (PetscInt dz = -(z > 0); dz <= (z < k->nz - 1); dz++)
    for (PetscInt dy = -(y > 0); dy <= (y < k->ny - 1); dy++)
      for (PetscInt dx = -(x > 0); dx <= (x < k->nx - 1); dx++)
        for (PetscInt f = 0; f < k->dof; f++) c[n++] = (p + dx + k->nx * (dy + k->ny * dz)) * k->dof + f;
  return n;
}

static PetscInt StarRow(const Kind *k, PetscInt row, PetscInt *c)
{
  const PetscInt x = row % k->nx, y = row / k->nx % k->ny, z = row / k->nx / k->ny;
  PetscInt       n = 0;

  c[n++] = row;
  if (x > 0) c[n++] = row - 1;
  if (x < k->nx - 1) c[n++] = row + 1;
  if (y > 0) c[n++] = row - k->nx;
  if (y < k->ny - 1) c[n++] = row + k->nx;
  if (z > 0) c[n++] = row - k->nx * k->ny;
  if (z < k->nz - 1) c[n++] = row + k->nx * k->ny;
  return n;
}

static PetscErrorCode KindGet(const char name[], PetscReal scale, Kind *k)
{
  const struct {
    const char *name;
    PetscInt    n, dimension, dof;
    PetscInt (*row)(const Kind *, PetscInt, PetscInt *);
  } kinds[] = {
    {"road", 360, 2, 1, RoadRow},
    {"pwtk", 36, 2, 6, BoxRow},
    {"consph", 13, 3, 3, BoxRow},
    {"grid5", 360, 2, 1, StarRow},
    {"grid7", 44, 3, 1, StarRow},
    {"grid9", 256, 2, 1, BoxRow},
    {"grid27", 30, 3, 1, BoxRow}};
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(k, sizeof(*k)));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(kinds); t++) {
    PetscCall(PetscStrcmp(name, kinds[t].name, &is));
    if (!is) continue;
    k->nx = k->ny = PetscMax(2, (PetscInt)(kinds[t].n * PetscPowReal(scale, 1. / kinds[t].dimension) + 0.5));
    k->nz         = kinds[t].dimension == 3 ? k->nx : 1;
    k->dof        = kinds[t].dof;
    k->row        = kinds[t].row;
    k->n          = k->nx * k->ny * k->nz * k->dof;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrcmp(name, "web", &is));
  if (is) {
    k->n   = PetscMax(64, (PetscInt)(90000 * scale));
    k->row = WebRow;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrcmp(name, "cage", &is));
  PetscCheck(is, PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "There is no matrix called %s; see matrices.h", name);
  k->n   = 1;
  k->row = LatticeRow;
  for (k->ndims = 0; k->ndims < 16 && (k->ndims < 2 || (PetscReal)k->n * 2 < 24000 * scale); k->ndims++) {
    k->dims[k->ndims] = k->ndims < 5 ? 3 : 4;
    k->n *= k->dims[k->ndims];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateEmpty(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BenchMatrixCreate(MPI_Comm comm, const char name[], PetscReal scale, Mat *A)
{
  Kind        kind;
  PetscInt    begin, end, cols[MAX_ROW];
  PetscScalar v[MAX_ROW];

  PetscFunctionBegin;
  PetscCall(KindGet(name, scale, &kind));
  PetscCall(CreateEmpty(comm, PETSC_DECIDE, PETSC_DECIDE, kind.n, kind.n, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    PetscInt n = kind.row(&kind, row, cols);

    PetscCall(PetscSortRemoveDupsInt(&n, cols));
    for (PetscInt k = 0; k < n; k++) v[k] = 0.5 + Uniform(((uint64_t)row << 32) + (uint64_t)cols[k]);
    PetscCall(MatSetValues(*A, 1, &row, n, cols, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt Aggregate(const Kind *k, PetscInt row)
{
  const PetscInt p = row / PetscMax(k->dof, 1);
  PetscInt       x, y, z, cx;

  if (!k->nx) return row / 4;
  x  = p % k->nx;
  y  = p / k->nx % k->ny;
  z  = p / k->nx / k->ny;
  cx = (k->nx + 1) / 2;
  return (x / 2 + cx * (y / 2 + (k->ny + 1) / 2 * (z / 2))) * k->dof + row % k->dof;
}

PetscErrorCode BenchProlongatorCreate(Mat A, const char name[], PetscReal scale, PetscBool smooth, Mat *P)
{
  Kind     kind;
  PetscInt begin, end, columns;
  Vec      d;
  Mat      AP;

  PetscFunctionBegin;
  PetscCall(KindGet(name, scale, &kind));
  columns = Aggregate(&kind, kind.n - 1) + 1;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(CreateEmpty(PetscObjectComm((PetscObject)A), end - begin, PETSC_DECIDE, kind.n, columns, P));
  for (PetscInt row = begin; row < end; row++) PetscCall(MatSetValue(*P, row, Aggregate(&kind, row), 1., INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  if (smooth) {
    PetscCall(MatMatMult(A, *P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AP));
    PetscCall(MatCreateVecs(A, NULL, &d));
    PetscCall(MatGetRowSumAbs(A, d));
    PetscCall(VecShift(d, 1.e-3));
    PetscCall(VecReciprocal(d));
    PetscCall(MatDiagonalScale(AP, d, NULL));
    PetscCall(MatAYPX(AP, -2. / 3., *P, DIFFERENT_NONZERO_PATTERN));
    PetscCall(VecDestroy(&d));
    PetscCall(MatDestroy(P));
    *P = AP;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
