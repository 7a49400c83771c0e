/*
  Element operators on the GPU for any mesh or lattice, any number of dofs and any mix of matrices.

  One thread sums one entry of y over the elements around its node; element matrices are read through the first-level
  cache, where threads of a warp find the same rows. Each element row is computed once in all, so the operations are
  those of the host kernel: 2 ndof^2 an element.
*/
#include "element_cuda.h"
#include "element_march_cuda.h"

#define THREADS 128

typedef PetscReal Scalar; /* complex is refused by the launchers */

/* Matrices, and how elements and nodes find each other: lists, or the formula of a lattice (conn NULL) */
typedef struct {
  PetscInt         ndof, nel, nen, bs, nnode;
  const PetscInt  *ref, *fullindex;
  const Scalar    *K, *scale, *full;
  const PetscInt  *conn;
  ElementAdjacency around;
  ElementLattice   lattice;
} Elements;

static Elements ElementsCreate(const ElementMatrices *m)
{
  Elements el = {};

  el.ndof      = m->ndof;
  el.nel       = m->nel;
  el.ref       = m->ref;
  el.fullindex = m->fullindex;
  el.K         = (const Scalar *)m->K;
  el.scale     = (const Scalar *)m->scale;
  el.full      = (const Scalar *)m->full;
  return el;
}

static Elements ElementsCreateMesh(const ElementMatrices *m, const ElementMesh *mesh, const ElementAdjacency *around, PetscInt nnode)
{
  Elements el = ElementsCreate(m);

  el.nen   = mesh->nen;
  el.bs    = mesh->bs;
  el.conn  = mesh->conn;
  el.nnode = nnode;
  if (around) el.around = *around;
  return el;
}

static Elements ElementsCreateLattice(const ElementMatrices *m, const ElementLattice *lattice)
{
  Elements el = ElementsCreate(m);

  el.nen     = lattice->nz > 1 ? 8 : 4;
  el.bs      = lattice->bs;
  el.nnode   = lattice->nx * lattice->ny * lattice->nz;
  el.lattice = *lattice;
  return el;
}

/* Corner a of a lattice's element, counted from its first node */
static __device__ __forceinline__ PetscInt Corner(const ElementLattice &l, PetscInt a)
{
  return ((a >> 2) * l.ny + ((a >> 1) & 1)) * l.nx + (a & 1);
}

/* The t-th element around a node: false if there is none. a: which corner of e the node is */
static __device__ __forceinline__ bool ElementAround(const Elements &el, PetscInt node, PetscInt t, PetscInt *e, PetscInt *a)
{
  const ElementLattice &l = el.lattice;

  if (el.conn) {
    *e = el.around.element[el.around.start[node] + t];
    *a = el.around.corner[el.around.start[node] + t];
    return true;
  }
  *a               = el.nen - 1 - t; /* ascending elements */
  const PetscInt i = node % l.nx - (*a & 1), j = node / l.nx % l.ny - ((*a >> 1) & 1), k = node / l.nx / l.ny - (*a >> 2);

  *e = (k * (l.ny - 1) + j) * (l.nx - 1) + i;
  return i >= 0 && j >= 0 && k >= 0 && i < l.nx - 1 && j < l.ny - 1 && (l.nz == 1 || k < l.nz - 1);
}

static __device__ __forceinline__ PetscInt ElementsAround(const Elements &el, PetscInt node)
{
  return el.conn ? (PetscInt)(el.around.start[node + 1] - el.around.start[node]) : el.nen;
}

/* First node of a lattice's element */
static __device__ __forceinline__ PetscInt FirstNode(const ElementLattice &l, PetscInt e)
{
  const PetscInt row = e / (l.nx - 1);

  return (row / (l.ny - 1) * l.ny + row % (l.ny - 1)) * l.nx + e % (l.nx - 1);
}

static __device__ __forceinline__ PetscInt Node(const Elements &el, PetscInt e, PetscInt first, PetscInt b)
{
  return el.conn ? el.conn[(PetscCount)e * el.nen + b] : first + Corner(el.lattice, b);
}

/* The matrix of element e, NULL for none, and the scale that goes with it */
static __device__ __forceinline__ const Scalar *Matrix(const Elements &el, PetscInt e, Scalar *scale)
{
  const PetscCount size = (PetscCount)el.ndof * el.ndof;
  const PetscInt   ref  = el.ref ? el.ref[e] : 0;

  *scale = ref == ELEMENT_FULL || !el.scale ? Scalar(1) : el.scale[e];
  if (ref == ELEMENT_NONE) return NULL;
  return ref == ELEMENT_FULL ? el.full + el.fullindex[e] * size : el.K + ref * size;
}

/* An entry of x, zero where the mask is 0 */
static __device__ __forceinline__ Scalar Value(const unsigned char *mask, const Scalar *x, PetscCount dof)
{
  return !mask || mask[dof] ? x[dof] : Scalar(0);
}

/*
  One thread an entry of y; rstride and cstride are ndof and 1, or exchanged for the transpose.
  rigid: translations cost the reference matrices no energy, which then act on differences to the node itself.
*/
static __global__ void __launch_bounds__(THREADS) GatherApply(const Elements el, PetscInt rstride, PetscInt cstride, bool rigid, bool onlyfull, const unsigned char *__restrict__ mask, const Scalar *__restrict__ x, Scalar *__restrict__ y)
{
  const PetscCount dof = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  Scalar           sum = 0;

  if (dof >= (PetscCount)el.nnode * el.bs || (mask && !mask[dof])) return;
  const PetscInt node = (PetscInt)(dof / el.bs), r = (PetscInt)(dof % el.bs), count = ElementsAround(el, node);

  for (PetscInt t = 0; t < count; t++) {
    PetscInt e, a;
    Scalar   scale, f = 0;

    if (!ElementAround(el, node, t, &e, &a) || (onlyfull && el.ref[e] != ELEMENT_FULL)) continue;
    const Scalar *K = Matrix(el, e, &scale);

    if (!K) continue;
    const PetscInt   first       = el.conn ? 0 : node - Corner(el.lattice, a);
    const PetscCount own         = (PetscCount)node * el.bs;
    const bool       differences = rigid && !(el.ref && el.ref[e] == ELEMENT_FULL);

    K += (PetscCount)(a * el.bs + r) * rstride;
    for (PetscInt b = 0; b < el.nen; b++) {
      const PetscCount col = (PetscCount)Node(el, e, first, b) * el.bs;

      for (PetscInt c = 0; c < el.bs; c++, K += cstride) {
        const Scalar origin = differences ? Value(mask, x, own + c) : Scalar(0);

        f += *K * (Value(mask, x, col + c) - origin);
      }
    }
    sum += scale * f;
  }
  y[dof] += sum;
}

/* One thread an entry of the block diagonal, column by column in each block */
static __global__ void __launch_bounds__(THREADS) GatherBlockDiagonal(const Elements el, Scalar *__restrict__ d)
{
  const PetscCount entry = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  const PetscInt   block = el.bs * el.bs;
  Scalar           sum   = 0;

  if (entry >= (PetscCount)el.nnode * block) return;
  const PetscInt node = (PetscInt)(entry / block), c = (PetscInt)(entry % block) / el.bs, r = (PetscInt)(entry % el.bs), count = ElementsAround(el, node);

  for (PetscInt t = 0; t < count; t++) {
    PetscInt e, a;
    Scalar   scale;

    if (!ElementAround(el, node, t, &e, &a)) continue;
    const Scalar *K = Matrix(el, e, &scale);

    if (!K) continue;
    const PetscInt first = el.conn ? 0 : FirstNode(el.lattice, e);

    for (PetscInt b = 0; b < el.nen; b++) /* collapsed elements name a node twice */
      if (Node(el, e, first, b) == node) sum += scale * K[(PetscCount)(a * el.bs + r) * el.ndof + b * el.bs + c];
  }
  d[entry] += sum;
}

/* One thread an element */
static __global__ void __launch_bounds__(THREADS) Energy(const Elements el, const Scalar *__restrict__ u, const Scalar *__restrict__ v, Scalar *__restrict__ energy)
{
  const PetscCount e = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  Scalar           scale, sum = 0;

  if (e >= el.nel) return;
  const Scalar  *K     = Matrix(el, (PetscInt)e, &scale);
  const PetscInt first = el.conn ? 0 : FirstNode(el.lattice, (PetscInt)e);

  for (PetscInt a = 0; K && a < el.nen; a++)
    for (PetscInt r = 0; r < el.bs; r++) {
      Scalar f = 0;

      for (PetscInt b = 0; b < el.nen; b++) {
        const PetscCount col = (PetscCount)Node(el, (PetscInt)e, first, b) * el.bs;

        for (PetscInt c = 0; c < el.bs; c++) f += *K++ * v[col + c];
      }
      sum += f * u[(PetscCount)Node(el, (PetscInt)e, first, a) * el.bs + r];
    }
  energy[e] = sum;
}

static PetscErrorCode CheckReal(void)
{
  PetscFunctionBegin;
  PetscCheck(!PetscDefined(USE_COMPLEX), PETSC_COMM_SELF, PETSC_ERR_SUP, "The GPU kernels of MATSHELLFEM are for real scalars; use -vec_type standard with a complex PETSc");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static unsigned Blocks(PetscCount n)
{
  return (unsigned)((n + THREADS - 1) / THREADS);
}

/* y = z + (y + D x), or x + omega dinv (b - (y + D x)), for kernels that do not do it themselves */
static __global__ void __launch_bounds__(THREADS) Finish(PetscCount n, const ElementVectors v)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  const Scalar    *x = (const Scalar *)v.x, *z = (const Scalar *)v.z, *D = (const Scalar *)v.D;
  Scalar          *y = (Scalar *)v.y, r;

  if (i >= n) return;
  r = y[i];
  if (D && !(v.Dirichlet && v.mask[i])) r += D[i] * x[i];
  if (v.dinv)
    r = x[i] + Scalar(v.omega) * ((const Scalar *)v.dinv)[i] * (((const Scalar *)v.b)[i] - r);
  else if (z && z != y)
    r += z[i];
  y[i] = r;
}

static PetscErrorCode LaunchApply(const Elements *el, PetscBool transpose, PetscBool rigid, PetscBool onlyfull, const ElementVectors *v, cudaStream_t stream)
{
  const PetscCount n      = (PetscCount)el->nnode * el->bs;
  const unsigned   blocks = Blocks(n);

  PetscFunctionBegin;
  if (v->y != v->z && !onlyfull) PetscCallCUDA(cudaMemsetAsync(v->y, 0, sizeof(Scalar) * (size_t)n, stream));
  if (blocks && el->nel) GatherApply<<<blocks, THREADS, 0, stream>>>(*el, transpose ? 1 : el->ndof, transpose ? el->ndof : 1, rigid, onlyfull, v->mask, (const Scalar *)v->x, (Scalar *)v->y);
  if (blocks && (v->D || v->dinv || (v->z && v->z != v->y))) Finish<<<blocks, THREADS, 0, stream>>>(n, *v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementApplyMesh_CUDA(ElementKernel kernel, const ElementMatrices *m, const ElementMesh *mesh, const ElementAdjacency *around, PetscInt nnode, PetscBool transpose, const ElementVectors *v, cudaStream_t stream)
{
  const Elements el = ElementsCreateMesh(m, mesh, around, nnode);

  PetscFunctionBegin;
  PetscCall(CheckReal());
  PetscCall(LaunchApply(&el, transpose, PETSC_FALSE, PETSC_FALSE, v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementApplyLattice_CUDA(ElementKernel kernel, const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, PetscBool transpose, const ElementVectors *v, cudaStream_t stream)
{
  const Elements  el    = ElementsCreateLattice(m, lattice);
  const PetscBool march = ElementMarchFits(m, lattice, plan, v);
  PetscBool       rigid = PETSC_FALSE;
  ElementVectors  sum   = *v;

  PetscFunctionBegin;
  PetscCall(CheckReal());
  if (plan) (void)ElementPlanGetParity(plan, transpose, &rigid);
  if (march && !m->full) {
    PetscCall(ElementMarch_CUDA(m, lattice, plan, transpose, v, stream));
  } else if (march) { /* what comes after the sum waits for the elements with matrices of their own */
    sum.D = sum.dinv = NULL;
    if (v->z != v->y) sum.z = NULL;
    PetscCall(ElementMarch_CUDA(m, lattice, plan, transpose, &sum, stream));
    PetscCall(LaunchApply(&el, transpose, rigid, PETSC_TRUE, v, stream));
  } else PetscCall(LaunchApply(&el, transpose, rigid, PETSC_FALSE, v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LaunchBlockDiagonal(const Elements *el, PetscScalar *d, cudaStream_t stream)
{
  const unsigned blocks = Blocks((PetscCount)el->nnode * el->bs * el->bs);

  PetscFunctionBegin;
  PetscCall(CheckReal());
  if (blocks && el->nel) GatherBlockDiagonal<<<blocks, THREADS, 0, stream>>>(*el, (Scalar *)d);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementBlockDiagonalMesh_CUDA(const ElementMatrices *m, const ElementMesh *mesh, const ElementAdjacency *around, PetscInt nnode, PetscScalar *d, cudaStream_t stream)
{
  const Elements el = ElementsCreateMesh(m, mesh, around, nnode);

  PetscFunctionBegin;
  PetscCall(LaunchBlockDiagonal(&el, d, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementBlockDiagonalLattice_CUDA(const ElementMatrices *m, const ElementLattice *lattice, PetscScalar *d, cudaStream_t stream)
{
  const Elements el = ElementsCreateLattice(m, lattice);

  PetscFunctionBegin;
  PetscCall(LaunchBlockDiagonal(&el, d, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LaunchEnergy(const Elements *el, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CheckReal());
  if (el->nel) Energy<<<Blocks(el->nel), THREADS, 0, stream>>>(*el, (const Scalar *)u, (const Scalar *)v, (Scalar *)energy);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementEnergyMesh_CUDA(const ElementMatrices *m, const ElementMesh *mesh, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t stream)
{
  const Elements el = ElementsCreateMesh(m, mesh, NULL, 0);

  PetscFunctionBegin;
  PetscCall(LaunchEnergy(&el, u, v, energy, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementEnergyLattice_CUDA(const ElementMatrices *m, const ElementLattice *lattice, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy, cudaStream_t stream)
{
  const Elements el = ElementsCreateLattice(m, lattice);

  PetscFunctionBegin;
  PetscCall(LaunchEnergy(&el, u, v, energy, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
