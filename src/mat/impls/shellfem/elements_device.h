/*
  What the element kernels on the GPU share, for .cu files: storage of vectors, how elements and nodes find each other.
*/
#pragma once

#include "element_cuda.h"
#include <cuda_bf16.h>

#define THREADS 128

typedef PetscReal Scalar; /* of matrices; complex is refused before any launch */

/* Arithmetic, and the storage of scales, that goes with a storage of vectors */
template <class V> struct Arithmetic {
  typedef float T;
};
template <> struct Arithmetic<double> {
  typedef double T;
};

static __device__ __forceinline__ double Load(const double *p)
{
  return *p;
}
static __device__ __forceinline__ float Load(const float *p)
{
  return *p;
}
static __device__ __forceinline__ float Load(const __nv_bfloat16 *p)
{
  return __bfloat162float(*p);
}
static __device__ __forceinline__ void Store(double *p, double v)
{
  *p = v;
}
static __device__ __forceinline__ void Store(float *p, float v)
{
  *p = v;
}
static __device__ __forceinline__ void Store(__nv_bfloat16 *p, float v)
{
  *p = __float2bfloat16(v);
}

/* The pointers of ElementVectors by their types; plain: y = r, nothing else is asked for */
template <class V> struct Vectors {
  const V *x, *z, *b, *D, *dinv;
  V       *y;
  double   omega;
  bool     plain, Dirichlet; /* Dirichlet: D only where the mask is 0 */
};

template <class V> static Vectors<V> VectorsCreate(const ElementVectors *v)
{
  Vectors<V> w;

  w.x         = (const V *)v->x;
  w.z         = (const V *)v->z;
  w.b         = (const V *)v->b;
  w.D         = (const V *)v->D;
  w.dinv      = (const V *)v->dinv;
  w.y         = (V *)v->y;
  w.omega     = v->omega;
  w.plain     = !v->z && !v->D && !v->dinv;
  w.Dirichlet = v->Dirichlet && v->mask;
  return w;
}

/* Entry i of y from the sum of its elements; free: its mask is 1 */
template <class V> static __device__ __forceinline__ void Finish(const Vectors<V> &v, PetscCount i, bool free, typename Arithmetic<V>::T sum)
{
  typename Arithmetic<V>::T r = free ? sum : 0;

  if (!v.plain) {
    if (v.D && !(v.Dirichlet && free)) r += Load(v.D + i) * Load(v.x + i);
    if (v.dinv)
      r = Load(v.x + i) + (typename Arithmetic<V>::T)v.omega * Load(v.dinv + i) * (Load(v.b + i) - r);
    else if (v.z)
      r += Load(v.z + i);
  }
  Store(v.y + i, r);
}

/* The same for 3 dofs of a node, bit c of free for component c. One test for all keeps the usual case three stores in a row:
   with a test for each, the march took twice as long, for the compiler moves no load across them. */
template <class V> static __device__ __forceinline__ void FinishNode(const Vectors<V> &v, PetscCount node, unsigned free, const typename Arithmetic<V>::T sum[3])
{
  if (v.plain) {
#pragma unroll
    for (int c = 0; c < 3; c++) Store(v.y + 3 * node + c, (free >> c) & 1 ? sum[c] : typename Arithmetic<V>::T(0));
    return;
  }
#pragma unroll
  for (int c = 0; c < 3; c++) Finish(v, 3 * node + c, (free >> c) & 1, sum[c]);
}

/* Matrices, and how elements and nodes find each other: lists, or the formula of a lattice (conn NULL) */
typedef struct {
  PetscInt         ndof, nref, nel, nen, bs, nnode;
  PetscBool        packed;
  const PetscInt  *ref, *fullindex;
  const Scalar    *K, *full;
  const PetscInt  *conn;
  ElementAdjacency around;
  ElementLattice   lattice;
} Elements;

static inline Elements ElementsCreate(const ElementMatrices *m)
{
  Elements el = {};

  el.ndof      = m->ndof;
  el.nref      = m->nref;
  el.nel       = m->nel;
  el.packed    = m->packed;
  el.ref       = m->ref;
  el.fullindex = m->fullindex;
  el.K         = (const Scalar *)m->K;
  el.full      = (const Scalar *)m->full;
  return el;
}

static inline Elements ElementsCreateMesh(const ElementMatrices *m, const ElementMesh *mesh, const ElementAdjacency *around, PetscInt nnode)
{
  Elements el = ElementsCreate(m);

  el.nen   = mesh->nen;
  el.bs    = mesh->bs;
  el.conn  = mesh->conn;
  el.nnode = nnode;
  if (around) el.around = *around;
  return el;
}

static inline Elements ElementsCreateLattice(const ElementMatrices *m, const ElementLattice *lattice)
{
  Elements el = ElementsCreate(m);

  el.nen     = lattice->nz > 1 ? 8 : 4;
  el.bs      = lattice->bs;
  el.nnode   = lattice->nx * lattice->ny * lattice->nz;
  el.lattice = *lattice;
  return el;
}

static inline unsigned Blocks(PetscCount n)
{
  return (unsigned)((n + THREADS - 1) / THREADS);
}

/* Corner a of a lattice's element, counted from its first node */
static __host__ __device__ __forceinline__ PetscInt Corner(const ElementLattice &l, PetscInt a)
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
static __host__ __device__ __forceinline__ PetscInt FirstNode(const ElementLattice &l, PetscInt e)
{
  const PetscInt row = e / (l.nx - 1);

  return (row / (l.ny - 1) * l.ny + row % (l.ny - 1)) * l.nx + e % (l.nx - 1);
}

static __device__ __forceinline__ PetscInt Node(const Elements &el, PetscInt e, PetscInt first, PetscInt b)
{
  return el.conn ? el.conn[(PetscCount)e * el.nen + b] : first + Corner(el.lattice, b);
}

/* The matrix of element e, NULL for none; full: it has its scale already */
static __device__ __forceinline__ const Scalar *Matrix(const Elements &el, PetscInt e, bool *full)
{
  const PetscCount size = (PetscCount)el.ndof * el.ndof;
  const PetscInt   ref  = el.ref ? el.ref[e] : 0;

  *full = ref == ELEMENT_FULL;
  if (ref == ELEMENT_NONE) return NULL;
  return *full ? el.full + el.fullindex[e] * (el.packed ? (PetscCount)el.ndof * (el.ndof + 1) / 2 : size) : el.K + ref * size;
}

/* One entry of it */
static __device__ __forceinline__ Scalar Entry(const Elements &el, const Scalar *K, bool full, PetscInt r, PetscInt c)
{
  if (!full || !el.packed) return K[(PetscCount)r * el.ndof + c];
  const PetscInt i = min(r, c), j = max(r, c);

  return K[i * (2 * el.ndof - i - 1) / 2 + j];
}

/* An entry of x, zero where the mask is 0 */
template <class V> static __device__ __forceinline__ typename Arithmetic<V>::T Value(const unsigned char *mask, const V *x, PetscCount dof)
{
  return !mask || mask[dof] ? Load(x + dof) : typename Arithmetic<V>::T(0);
}
