static char help[] = "The element kernels of MATSHELLFEM on the GPU, each in each precision, next to assembled matrices.\n"
                     "  -n n,m,...       : cubes in each direction of the lattices (60,100,200: all kernels)\n"
                     "  -large n,m,...   : lattices on which only the fastest kernel is measured (256,400)\n"
                     "  -mesh n,m,...    : the same cubes as a mesh, with connectivity (60,100,200)\n"
                     "  -assembled n,... : peers that assemble (60,100,200)\n"
                     "  -mat n,...       : the matrix type as a whole (60,100,200,504)\n"
                     "0 leaves a part out\n\n";

#include <trefoil.h>
#include <matshellfem.h>
#include <petscdmda.h>
#include "cubes.h"

#if PetscDefined(HAVE_CUDA) && !PetscDefined(USE_COMPLEX)
  #include "../../src/mat/impls/shellfem/element_cuda.h"

  #define ROTATED 536870912 /* bytes that repeated products touch before they come back to the first vectors: far more than L2 */
  #define BUFFERS 64

/* One lattice of n^3 cubes, or a mesh of them, and vectors in one precision */
typedef struct {
  PetscInt         n, nbuffer, batch;
  PetscCount       nnode, nel;
  PetscBool        usemesh, jacobi;
  ElementKernel    kernel;
  ElementPrecision precision;
  ElementMatrices  m;
  ElementLattice   lattice;
  ElementMesh      mesh;
  ElementAdjacency around;
  ElementTiles     tiles;
  ElementPlan      plan;
  ElementWork      work;
  PetscScalar     *x; /* as PetscScalar, on the GPU */
  void            *xs[BUFFERS], *ys[BUFFERS], *scales[BUFFERS], *b, *dinv;
  PetscInt         nsample;
  PetscCount      *sample;
  PetscReal        baseline; /* seconds of threestage in double */
  char             name[64];
} Cubes;

static PetscErrorCode Upload(size_t bytes, const void *host, void *device)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMalloc((void **)device, bytes));
  if (host) PetscCallCUDA(cudaMemcpy(*(void **)device, host, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(Cubes *p, const ElementMatrices *m)
{
  const size_t    around = 8 * (size_t)p->nel;
  PetscInt       *conn, *element, corner[8], e = 0;
  PetscCount     *start;
  unsigned short *place;
  ElementTiles    t;
  PetscBool       ok;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(around, &conn));
  for (PetscInt k = 0; k < p->n; k++)
    for (PetscInt j = 0; j < p->n; j++)
      for (PetscInt i = 0; i < p->n; i++, e++)
        for (PetscInt a = 0; a < 8; a++) conn[8 * e + a] = ((k + (a >> 2)) * (p->n + 1) + j + ((a >> 1) & 1)) * (p->n + 1) + i + (a & 1);
  p->mesh = (ElementMesh){8, 3, conn};
  PetscCall(ElementPlanCreateHex(m, 3, corner, &p->plan));
  PetscCall(ElementAdjacencyCreate(&p->mesh, (PetscInt)p->nel, (PetscInt)p->nnode, &start, &element, &place));
  PetscCall(Upload((p->nnode + 1) * sizeof(PetscCount), start, &p->around.start));
  PetscCall(Upload(around * sizeof(PetscInt), element, &p->around.element));
  PetscCall(Upload(around * sizeof(unsigned short), place, &p->around.corner));
  PetscCall(PetscFree(start));
  PetscCall(PetscFree(element));
  PetscCall(PetscFree(place));
  PetscCall(ElementTilesCreate(&p->mesh, (PetscInt)p->nel, (PetscInt)p->nnode, corner, &t, &ok));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A mesh of cubes has no tiles");
  p->tiles = t;
  PetscCall(Upload(((size_t)t.ntile + 1) * sizeof(PetscInt), t.nodestart, &p->tiles.nodestart));
  PetscCall(Upload((size_t)t.ntile * sizeof(PetscInt), t.owned, &p->tiles.owned));
  PetscCall(Upload((size_t)t.nodestart[t.ntile] * sizeof(PetscInt), t.node, &p->tiles.node));
  PetscCall(Upload(((size_t)t.ntile + 1) * sizeof(PetscInt), t.elementstart, &p->tiles.elementstart));
  PetscCall(Upload((size_t)t.elementstart[t.ntile] * sizeof(PetscInt), t.element, &p->tiles.element));
  PetscCall(Upload(8 * (size_t)t.elementstart[t.ntile] * sizeof(unsigned short), t.corner, &p->tiles.corner));
  PetscCall(Upload((size_t)t.nodestart[t.ntile], t.valence, &p->tiles.valence));
  PetscCall(ElementTilesDestroy(&t));
  PetscCall(Upload(around * sizeof(PetscInt), conn, (void **)&p->mesh.conn));
  PetscCall(PetscFree(conn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscInt n, PetscBool usemesh, Cubes *p)
{
  PetscScalar    *K, *scale, *x;
  PetscCount      e = 0;
  ElementMatrices host;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof *p));
  p->n       = n;
  p->usemesh = usemesh;
  p->nel     = (PetscCount)n * n * n;
  p->nnode   = (PetscCount)(n + 1) * (n + 1) * (n + 1);
  PetscCall(PetscSNPrintf(p->name, sizeof p->name, usemesh ? "elasticity-mesh-%" PetscInt_FMT "^3" : "elasticity-%" PetscInt_FMT "^3", n));
  PetscCall(PetscMalloc3(576, &K, p->nel, &scale, 3 * p->nnode, &x));
  CubeMatrix(3, K);
  for (PetscInt k = 0; k < n; k++)
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++) scale[e++] = CubeModulus(PETSC_FALSE, i, j, k);
  for (PetscCount k = 0; k < 3 * p->nnode; k++) x[k] = CubesEntry(k);
  host       = (ElementMatrices){24, 1, K, (PetscInt)p->nel, NULL, scale, NULL, NULL, PETSC_FALSE, PETSC_FALSE};
  host.rigid = ElementMatricesAreRigid(&host, 3);
  p->lattice = (ElementLattice){n + 1, n + 1, n + 1, 3};
  if (usemesh)
    PetscCall(CreateMesh(p, &host));
  else
    PetscCall(ElementPlanCreateLattice(&host, &p->lattice, &p->plan));
  p->m = host;
  PetscCall(Upload(576 * sizeof(PetscScalar), K, (void **)&p->m.K));
  PetscCall(Upload(p->nel * sizeof(PetscScalar), scale, (void **)&p->m.scale));
  PetscCall(Upload(3 * p->nnode * sizeof(PetscScalar), x, &p->x));
  PetscCall(PetscFree3(K, scale, x));
  PetscCall(CubesSample(n, &p->nsample, &p->sample));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Cubes *p)
{
  const void *const all[] = {p->m.K, p->m.scale, p->x, p->mesh.conn, p->around.start, p->around.element, p->around.corner, p->tiles.nodestart, p->tiles.owned, p->tiles.node, p->tiles.elementstart, p->tiles.element, p->tiles.corner, p->tiles.valence};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) PetscCallCUDA(cudaFree((void *)all[k]));
  PetscCall(ElementPlanDestroy(&p->plan));
  PetscCall(ElementWorkDestroy(&p->work));
  PetscCall(PetscFree(p->sample));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors in a precision, several of each */
static PetscErrorCode CreateVectors(Cubes *p, ElementPrecision precision)
{
  const ElementPrecision single = precision == ELEMENT_DOUBLE ? ELEMENT_DOUBLE : ELEMENT_SINGLE;
  const size_t           size = ElementPrecisionSize(precision), scalesize = ElementPrecisionSize(single);
  const PetscCount       n = 3 * p->nnode;

  PetscFunctionBeginUser;
  p->precision = precision;
  p->nbuffer   = (PetscInt)PetscMin(BUFFERS, 1 + ROTATED / (2 * n * size));
  p->batch     = PetscMax(p->nbuffer, p->n > 200 ? 3 : 16);
  for (PetscInt k = 0; k < p->nbuffer; k++) {
    PetscCall(Upload(n * size, NULL, &p->xs[k]));
    PetscCall(Upload(n * size, NULL, &p->ys[k]));
    PetscCall(Upload(p->nel * scalesize, NULL, &p->scales[k]));
    PetscCall(ElementConvert_CUDA(n, ELEMENT_PETSC, p->x, precision, p->xs[k], PETSC_FALSE, NULL));
    PetscCall(ElementConvert_CUDA(p->nel, ELEMENT_PETSC, p->m.scale, single, p->scales[k], PETSC_FALSE, NULL));
    PetscCallCUDA(cudaMemsetAsync(p->ys[k], 0xff, n * size, NULL)); /* NaN */
  }
  PetscCall(Upload(n * size, NULL, &p->b));
  PetscCall(Upload(n * size, NULL, &p->dinv));
  PetscCallCUDA(cudaMemsetAsync(p->b, 0, n * size, NULL));
  PetscCall(ElementConvert_CUDA(n, ELEMENT_PETSC, p->x, precision, p->dinv, PETSC_FALSE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyVectors(Cubes *p)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < p->nbuffer; k++) {
    PetscCallCUDA(cudaFree(p->xs[k]));
    PetscCallCUDA(cudaFree(p->ys[k]));
    PetscCallCUDA(cudaFree(p->scales[k]));
  }
  PetscCallCUDA(cudaFree(p->b));
  PetscCallCUDA(cudaFree(p->dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch of products, launched without waiting in between */
static PetscErrorCode Multiply(void *ctx)
{
  Cubes         *p = (Cubes *)ctx;
  ElementVectors v = {0};

  PetscFunctionBeginUser;
  v.precision = p->precision;
  v.b         = p->jacobi ? p->b : NULL;
  v.dinv      = p->jacobi ? p->dinv : NULL;
  v.omega     = 0.5;
  for (PetscInt k = 0; k < p->batch; k++) {
    v.x     = p->xs[k % p->nbuffer];
    v.y     = p->ys[k % p->nbuffer];
    v.scale = p->scales[k % p->nbuffer];
    if (p->usemesh)
      PetscCall(ElementApplyMesh_CUDA(p->kernel, &p->m, &p->mesh, &p->around, &p->tiles, p->plan, (PetscInt)p->nnode, PETSC_FALSE, &v, &p->work, NULL));
    else
      PetscCall(ElementApplyLattice_CUDA(p->kernel, &p->m, &p->lattice, p->plan, PETSC_FALSE, &v, &p->work, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Against the product by formula, of the last vector of a batch */
static PetscErrorCode SampledError(Cubes *p, PetscReal *error)
{
  const PetscInt last = (p->batch - 1) % p->nbuffer;
  PetscScalar   *y, *sample;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(3 * p->nsample, &sample));
  PetscCallCUDA(cudaMalloc((void **)&y, 3 * p->nnode * sizeof(PetscScalar)));
  PetscCall(ElementConvert_CUDA(3 * p->nnode, p->precision, p->ys[last], ELEMENT_PETSC, y, PETSC_FALSE, NULL));
  for (PetscInt s = 0; s < p->nsample; s++) PetscCallCUDA(cudaMemcpy(sample + 3 * s, y + 3 * p->sample[s], 3 * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  PetscCall(CubesError(p->n, 3, PETSC_FALSE, p->nsample, p->sample, sample, error));
  PetscCallCUDA(cudaFree(y));
  PetscCall(PetscFree(sample));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, y (b and the diagonal, too, in a Jacobi step) and the scales once; with a mesh, its connectivity */
static PetscReal Floor(const Bench *b, const Cubes *p)
{
  const PetscReal size = (PetscReal)ElementPrecisionSize(p->precision);

  return (3. * (PetscReal)p->nnode * size * (p->jacobi ? 4 : 2) + (PetscReal)p->nel * PetscMax(size, 4) + (p->usemesh ? 32. * (PetscReal)p->nel : 0)) / b->bandwidth;
}

static PetscErrorCode BenchKernel(Bench *b, Cubes *p, ElementKernel kernel, PetscBool jacobi)
{
  const ElementVectors v     = {.precision = p->precision};
  const char          *needs = ElementKernelNeeds(kernel, &p->m, p->usemesh ? &p->mesh : NULL, &p->lattice, &p->tiles, p->plan, &v);
  PetscReal            seconds, floor, error = -1;
  char                 implementation[64], note[128];

  PetscFunctionBeginUser;
  if (needs) PetscFunctionReturn(PETSC_SUCCESS);
  p->kernel = kernel;
  p->jacobi = jacobi;
  PetscCall(PetscSNPrintf(implementation, sizeof implementation, "trefoil-%s-%s%s", ElementKernels[kernel], ElementPrecisions[p->precision], jacobi ? "-jacobi" : ""));
  PetscCall(PetscSNPrintf(note, sizeof note, "median of batches of %" PetscInt_FMT " on %" PetscInt_FMT " pairs of vectors", p->batch, p->nbuffer));
  PetscCall(BenchTime(b, Multiply, p, &seconds));
  seconds /= p->batch;
  floor = Floor(b, p);
  if (!jacobi) PetscCall(SampledError(p, &error));
  PetscCall(BenchRecord(b, p->name, implementation, "apply_s", seconds, "s", floor, error, note));
  PetscCall(BenchRecord(b, p->name, implementation, "us_per_million_elements", seconds / (PetscReal)p->nel * 1e12, "us", floor / (PetscReal)p->nel * 1e12, -1, NULL));
  if (kernel == ELEMENT_KERNEL_THREESTAGE && p->precision == ELEMENT_DOUBLE) p->baseline = seconds;
  if (kernel == ELEMENT_KERNEL_AUTO && p->baseline > 0 && !jacobi) PetscCall(BenchRecord(b, p->name, implementation, "times_threestage_double", p->baseline / seconds, "x", -1, -1, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchKernels(Bench *b, PetscInt n, PetscBool usemesh, PetscBool all)
{
  Cubes p;

  PetscFunctionBeginUser;
  PetscCall(Create(n, usemesh, &p));
  for (int precision = ELEMENT_PETSC; precision <= ELEMENT_BFLOAT16; precision++) {
    PetscCall(CreateVectors(&p, (ElementPrecision)precision));
    for (int kernel = ELEMENT_KERNEL_WMMA; kernel > ELEMENT_KERNEL_AUTO && all; kernel--) PetscCall(BenchKernel(b, &p, (ElementKernel)kernel, PETSC_FALSE));
    PetscCall(BenchKernel(b, &p, ELEMENT_KERNEL_AUTO, PETSC_FALSE));
    PetscCall(BenchKernel(b, &p, ELEMENT_KERNEL_AUTO, PETSC_TRUE));
    PetscCall(DestroyVectors(&p));
  }
  PetscCall(Destroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat A;
  Vec x, y;
} Product;

static PetscErrorCode MultiplyMat(void *ctx)
{
  Product *p = (Product *)ctx;

  PetscFunctionBeginUser;
  PetscCall(MatMult(p->A, p->x, p->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillCubes(Product *p, PetscInt n)
{
  PetscScalar K[576], *scale, *xa;
  PetscInt    nel, e = 0, rows;

  PetscFunctionBeginUser;
  CubeMatrix(3, K);
  PetscCall(MatShellFEMSetReferenceMatrices(p->A, 1, K));
  PetscCall(MatShellFEMGetElementCount(p->A, &nel));
  PetscCall(PetscMalloc1(nel, &scale));
  for (PetscInt k = 0; k < n; k++)
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++) scale[e++] = CubeModulus(PETSC_FALSE, i, j, k);
  PetscCall(MatShellFEMSetElementScales(p->A, scale));
  PetscCall(PetscFree(scale));
  PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecGetLocalSize(p->x, &rows));
  PetscCall(VecGetArrayWrite(p->x, &xa));
  for (PetscInt k = 0; k < rows; k++) xa[k] = CubesEntry(k);
  PetscCall(VecRestoreArrayWrite(p->x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a program gets: a DMDA, DMCreateMatrix(), MatMult(); the memory on the GPU before and after the first product */
static PetscErrorCode BenchMat(Bench *b, PetscInt n)
{
  const PetscReal nel = PetscPowRealInt(n, 3), floor = sizeof(PetscScalar) * (6 * PetscPowRealInt(n + 1, 3) + nel) / b->bandwidth;
  Product         p;
  DM              da;
  PetscReal       seconds, error;
  char            name[64];
  size_t          before, after, total;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(name, sizeof name, "elasticity-%" PetscInt_FMT "^3", n));
  PetscCall(DMDACreate3d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n + 1, n + 1, n + 1, 1, 1, 1, 3, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetMatType(da, MATSHELLFEM));
  PetscCall(DMSetVecType(da, VECCUDA));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &p.A));
  PetscCall(DMCreateGlobalVector(da, &p.x));
  PetscCall(VecDuplicate(p.x, &p.y));
  PetscCall(FillCubes(&p, n));
  PetscCall(VecScale(p.x, 1)); /* on the GPU from here on, */
  PetscCall(VecSet(p.y, PETSC_MAX_REAL));
  PetscCallCUDA(cudaMemGetInfo(&before, &total));
  PetscCall(MatMult(p.A, p.x, p.y)); /* and with this the matrix */
  PetscCallCUDA(cudaMemGetInfo(&after, &total));
  PetscCall(BenchTime(b, MultiplyMat, &p, &seconds));
  PetscCall(CubesVecError(n, PETSC_FALSE, p.y, &error));
  PetscCall(BenchRecord(b, name, "trefoil-mat", "apply_s", seconds, "s", floor, error, "one call of MatMult and the wait for it"));
  PetscCall(BenchRecord(b, name, "trefoil-mat", "us_per_million_elements", seconds / nel * 1e12, "us", floor / nel * 1e12, -1, NULL));
  PetscCall(BenchRecord(b, name, "trefoil-mat", "bytes_per_element", (PetscReal)(before - after) / nel, "B", sizeof(PetscScalar), -1, "on the GPU without vectors"));
  PetscCall(VecDestroy(&p.x));
  PetscCall(VecDestroy(&p.y));
  PetscCall(MatDestroy(&p.A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sizes(const char *option, PetscInt n[8], PetscInt *count)
{
  PetscInt  given = 8;
  PetscBool set;
  PetscInt  list[8];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, option, list, &given, &set));
  if (set) {
    PetscCall(PetscArraycpy(n, list, given));
    *count = given == 1 && list[0] == 0 ? 0 : given;
  }
  for (PetscInt k = 0; k < *count; k++) PetscCheck(n[k] > 0 && n[k] < 800, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s: %" PetscInt_FMT " is not between 1 and 799", option, n[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchAll(void)
{
  PetscInt n[8] = {60, 100, 200}, large[8] = {256, 400}, mesh[8] = {60, 100, 200}, assembled[8] = {60, 100, 200}, mat[8] = {60, 100, 200, 504}, count[5] = {3, 2, 3, 3, 4};
  int      gpus = 0;
  Bench    b;

  PetscFunctionBeginUser;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This benchmark is about GPUs; there is none\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Sizes("-n", n, &count[0]));
  PetscCall(Sizes("-large", large, &count[1]));
  PetscCall(Sizes("-mesh", mesh, &count[2]));
  PetscCall(Sizes("-assembled", assembled, &count[3]));
  PetscCall(Sizes("-mat", mat, &count[4]));
  PetscCall(BenchBegin(PETSC_COMM_WORLD, PETSC_TRUE, &b));
  for (PetscInt k = 0; k < count[0]; k++) PetscCall(BenchKernels(&b, n[k], PETSC_FALSE, PETSC_TRUE));
  for (PetscInt k = 0; k < count[1]; k++) PetscCall(BenchKernels(&b, large[k], PETSC_FALSE, PETSC_FALSE));
  for (PetscInt k = 0; k < count[2]; k++) PetscCall(BenchKernels(&b, mesh[k], PETSC_TRUE, PETSC_TRUE));
  for (PetscInt k = 0; k < count[3]; k++) PetscCall(CubesBenchAssembled(&b, assembled[k]));
  for (PetscInt k = 0; k < count[4]; k++) PetscCall(BenchMat(&b, mat[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
static PetscErrorCode BenchAll(void)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This benchmark is about GPUs and real scalars; this PETSc is not\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(BenchAll());
  PetscCall(PetscFinalize());
  return 0;
}
