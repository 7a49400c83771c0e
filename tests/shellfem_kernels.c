static char help[] = "Element kernels of MATSHELLFEM against an assembled matrix.\n"
                     "  -nodes nx,ny,nz : lattice of nodes, nz = 1 for quadrilaterals\n"
                     "  -bs n           : dofs of a node\n"
                     "  -mesh           : the same elements by connectivity, nodes in random order\n"
                     "  -nen n          : with -mesh: elements of n random nodes instead\n"
                     "  -order o        : with -mesh: nodes of a hexahedron as binary numbers, or as vtk or plex have them\n"
                     "  -material m     : isotropic, orthotropic, anisotropic, dynamic (with mass), random\n"
                     "  -nref n         : reference matrices, taken in random order\n"
                     "  -void f, -full f: fraction of elements that do not exist, that have a matrix of their own\n"
                     "  -pack           : those matrices are symmetric, and packed on the GPU\n"
                     "  -mask f         : fraction of dofs held by Dirichlet conditions\n"
                     "  -parity         : the parity form is expected\n"
                     "  -gpu            : the CUDA kernels\n"
                     "  -kernel k       : which of them\n"
                     "  -precision p    : double, single or bfloat16 storage of vectors\n"
                     "  -work bytes     : limit of the work space\n\n";

#include <trefoil.h>
#include "../src/mat/impls/shellfem/element.h"
#if PetscDefined(HAVE_CUDA)
  #include "../src/mat/impls/shellfem/element_cuda.h"
#endif

typedef struct {
  ElementMatrices m;
  ElementLattice  lattice;
  ElementMesh     mesh; /* connectivity: always there for the assembly, nodes in the order of the lattice or another */
  ElementPlan     plan;
  PetscInt        corner[8]; /* what the plan of a mesh found */
  PetscInt        place[8];  /* where node a of an element is, in binary */
  PetscInt        dim, nnode, n;
  unsigned char  *mask;
  PetscInt       *ref, *fullindex; /* what m.ref and m.fullindex point to */
  PetscBool       usemesh, gpu, elastic, symmetric, pack;
  PetscRandom     random;
  PetscReal      *coordinates; /* [nnode][3] */
  void           *device[32];  /* what has to be freed there */
  PetscInt        ndevice;
  PetscReal       tolerance; /* of products */
#if PetscDefined(HAVE_CUDA)
  ElementKernel    kernel;
  ElementWork      work;
  ElementPrecision precision;
  void            *dscale;
  unsigned char   *dnodemask;
  ElementMatrices  dm;
  ElementMesh      dmesh;
  ElementAdjacency daround;
  ElementTiles     dtiles;
  unsigned char   *dmask;
#endif
} Problem;

/* What x becomes when it is stored */
static PetscScalar Round(const Problem *p, PetscScalar x)
{
#if PetscDefined(HAVE_CUDA)
  union
  {
    float    f;
    uint32_t i;
  } u = {.f = (float)PetscRealPart(x)};

  if (p->precision == ELEMENT_DOUBLE) return x;
  if (p->precision == ELEMENT_BFLOAT16 && u.f == u.f) u.i = (u.i + 0x7fff + ((u.i >> 16) & 1)) & 0xffff0000; /* to nearest, ties to even */
  return u.f;
#else
  return x;
#endif
}

static PetscErrorCode Fill(Problem *p, PetscCount n, PetscScalar *v)
{
  PetscFunctionBeginUser;
  for (PetscCount i = 0; i < n; i++) {
    PetscCall(PetscRandomGetValue(p->random, &v[i]));
    v[i] = Round(p, v[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* true with the given probability */
static PetscErrorCode Draw(Problem *p, PetscReal probability, PetscBool *yes)
{
  PetscReal v;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomGetValueReal(p->random, &v));
  *yes = (PetscBool)((v + 1) / 2 < probability);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char *what, PetscReal error, PetscReal tolerance)
{
  PetscFunctionBeginUser;
  if (error <= tolerance)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: OK\n", what));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: FAILED, %g exceeds %g\n", what, (double)error, (double)tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |a - b| / |b|; NaN if there is one in a */
static PetscReal Difference(PetscCount n, const PetscScalar *a, const PetscScalar *b)
{
  PetscReal d = 0, s = 0;

  for (PetscCount i = 0; i < n; i++) {
    d += PetscSqr(PetscAbsScalar(a[i] - b[i]));
    s += PetscSqr(PetscAbsScalar(b[i]));
  }
  return s > 0 ? PetscSqrtReal(d / s) : PetscSqrtReal(d);
}

/*
  Bilinear quadrilateral or trilinear hexahedron on a box with edges 1, 1/2, 2: integral over 2^dim Gauss points of
  strain-stress products. lambda changes from one reference matrix to the next.
*/
static void ElementMatrix(PetscInt dim, PetscInt bs, const char *material, PetscReal lambda, PetscScalar *K)
{
  const PetscReal h[3] = {1, 0.5, 2}, g = 1 / PetscSqrtReal(3.), mu = 0.4;
  const PetscInt  nen = 1 << dim, ndof = nen * bs;
  PetscReal       weight = 1;

  for (PetscInt c = 0; c < dim; c++) weight *= h[c] / 2;
  for (PetscInt i = 0; i < ndof * ndof; i++) K[i] = 0;
  for (PetscInt q = 0; q < nen; q++) {
    PetscReal N[8], D[8][3];

    for (PetscInt a = 0; a < nen; a++) {
      PetscReal f[3];

      N[a] = 1;
      for (PetscInt c = 0; c < dim; c++) f[c] = (1 + ((a >> c) & 1 ? 1 : -1) * ((q >> c) & 1 ? g : -g)) / 2;
      for (PetscInt c = 0; c < dim; c++) {
        N[a] *= f[c];
        D[a][c] = ((a >> c) & 1 ? 1 : -1) / h[c];
        for (PetscInt d = 0; d < dim; d++) D[a][c] *= d == c ? 1 : f[d];
      }
    }
    for (PetscInt a = 0; a < nen; a++)
      for (PetscInt b = 0; b < nen; b++) {
        PetscReal dot = 0;

        for (PetscInt c = 0; c < dim; c++) dot += D[a][c] * D[b][c];
        for (PetscInt c = 0; c < bs; c++)
          for (PetscInt d = 0; d < bs; d++) {
            PetscReal k = bs == 1 ? lambda * dot : lambda * D[a][c] * D[b][d] + mu * D[a][d] * D[b][c] + (c == d ? mu * dot : 0);

            if (material[0] == 'o' && c == d) k += (1 + c) * D[a][c] * D[b][c];
            if (material[0] == 'd' && c == d) k += 3 * N[a] * N[b];
            if (material[0] == 'a' && c == 0 && d == 0) k += 0.3 * (D[a][0] * D[b][1] + D[a][1] * D[b][0]);
            K[(a * bs + c) * ndof + b * bs + d] += weight * k;
          }
      }
  }
}

/* Elements of the lattice, or of nen random nodes each, which need not be different from element to element */
static PetscErrorCode CreateConnectivity(Problem *p, PetscInt nen)
{
  const ElementLattice *l       = &p->lattice;
  const PetscInt        corners = 1 << p->dim;
  PetscInt             *conn, *number;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->nnode, &number));
  PetscCall(PetscMalloc1(3 * p->nnode, &p->coordinates));
  for (PetscInt i = 0; i < p->nnode; i++) number[i] = i;
  for (PetscInt i = p->nnode - 1; i > 0 && p->usemesh; i--) {
    PetscReal v;
    PetscInt  j, t = number[i];

    PetscCall(PetscRandomGetValueReal(p->random, &v));
    j         = PetscMin(i, (PetscInt)((v + 1) / 2 * (i + 1)));
    number[i] = number[j];
    number[j] = t;
  }
  p->mesh.nen = nen ? nen : corners;
  p->mesh.bs  = l->bs;
  p->m.nel    = (l->nx - 1) * (l->ny - 1) * (p->dim == 3 ? l->nz - 1 : 1);
  p->m.ndof   = p->mesh.nen * l->bs;
  PetscCall(PetscMalloc1((PetscCount)p->m.nel * p->mesh.nen, &conn));
  for (PetscInt e = 0; e < p->m.nel; e++) {
    const PetscInt i = e % (l->nx - 1), j = e / (l->nx - 1) % (l->ny - 1), k = e / (l->nx - 1) / (l->ny - 1);

    for (PetscInt a = 0; a < p->mesh.nen; a++) {
      if (nen)
        conn[e * nen + a] = number[(7 * e + a) % p->nnode];
      else
        conn[e * corners + a] = number[((k + (p->place[a] >> 2)) * l->ny + j + ((p->place[a] >> 1) & 1)) * l->nx + i + (p->place[a] & 1)];
    }
  }
  for (PetscInt i = 0; i < p->nnode; i++) {
    p->coordinates[3 * number[i]]     = i % l->nx;
    p->coordinates[3 * number[i] + 1] = i / l->nx % l->ny * 0.5;
    p->coordinates[3 * number[i] + 2] = i / l->nx / l->ny * 2.;
  }
  p->mesh.conn = conn;
  PetscCall(PetscFree(number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* References, scales, matrices of single elements, mask. Where nothing may be read there is NaN. */
static PetscErrorCode CreateMatrices(Problem *p, PetscInt nref, const char *material, PetscReal none, PetscReal full, PetscReal mask)
{
  const PetscCount size = (PetscCount)p->m.ndof * p->m.ndof;
  const PetscInt   bs   = p->lattice.bs;
  PetscScalar     *K, *scale, *own;
  PetscInt         nfull = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(nref * size, &K));
  PetscCall(PetscMalloc1(p->m.nel, &scale));
  PetscCall(PetscMalloc2(p->m.nel, &p->ref, p->m.nel, &p->fullindex));
  if (material[0] == 'r')
    PetscCall(Fill(p, nref * size, K));
  else
    for (PetscInt r = 0; r < nref; r++) {
      PetscScalar *binary;

      PetscCall(PetscMalloc1(size, &binary));
      ElementMatrix(p->dim, p->lattice.bs, material, 0.6 + 0.3 * r, binary);
      for (PetscInt i = 0; i < p->m.ndof; i++)
        for (PetscInt j = 0; j < p->m.ndof; j++) K[r * size + i * p->m.ndof + j] = binary[(p->place[i / bs] * bs + i % bs) * p->m.ndof + p->place[j / bs] * bs + j % bs];
      PetscCall(PetscFree(binary));
    }
  for (PetscInt e = 0; e < p->m.nel; e++) {
    PetscBool yes = PETSC_FALSE;
    PetscReal v;

    PetscCall(PetscRandomGetValueReal(p->random, &v));
    p->ref[e]       = PetscMin(nref - 1, (PetscInt)((v + 1) / 2 * nref));
    p->fullindex[e] = -1;
    PetscCall(PetscRandomGetValueReal(p->random, &v));
    scale[e] = 1 + 0.999 * v;
    PetscCall(Draw(p, none, &yes));
    if (yes) {
      p->ref[e] = ELEMENT_NONE;
      scale[e]  = NAN;
      continue;
    }
    PetscCall(Draw(p, full, &yes));
    if (yes) {
      p->ref[e]       = ELEMENT_FULL;
      scale[e]        = NAN;
      p->fullindex[e] = nfull++;
    }
  }
  PetscCall(PetscMalloc1(nfull * size, &own));
  PetscCall(Fill(p, nfull * size, own));
  for (PetscCount k = 0; k < nfull * size && p->pack; k++) {
    const PetscCount row = k % size / p->m.ndof, col = k % p->m.ndof;

    if (row > col) own[k] = own[k - k % size + col * p->m.ndof + row];
  }
  p->m.nref      = nref;
  p->m.K         = K;
  p->m.scale     = scale;
  p->m.ref       = nref > 1 || none > 0 || full > 0 ? p->ref : NULL;
  p->m.full      = nfull ? own : NULL;
  p->m.fullindex = p->fullindex;
  p->n           = p->nnode * p->lattice.bs;
  PetscCall(PetscMalloc1(p->n, &p->mask));
  for (PetscInt i = 0; i < p->n; i++) {
    PetscBool yes = PETSC_FALSE;

    PetscCall(Draw(p, mask, &yes));
    p->mask[i] = !yes;
  }
  p->elastic   = (PetscBool)((material[0] == 'i' || material[0] == 'o') && full == 0);
  p->symmetric = (PetscBool)(material[0] != 'r' && (full == 0 || p->pack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of element e with its scale; false if there is no element */
static PetscBool GetElement(const Problem *p, PetscInt e, PetscScalar *Ke, PetscScalar *unscaled)
{
  const PetscCount   size  = (PetscCount)p->m.ndof * p->m.ndof;
  const PetscInt     ref   = p->m.ref ? p->m.ref[e] : 0;
  const PetscScalar *K     = ref == ELEMENT_FULL ? p->m.full + p->m.fullindex[e] * size : p->m.K + ref * size;
  const PetscScalar  scale = ref == ELEMENT_FULL ? 1 : p->m.scale[e];

  if (ref == ELEMENT_NONE) return PETSC_FALSE;
  for (PetscCount i = 0; i < size; i++) {
    Ke[i]       = scale * K[i];
    unscaled[i] = K[i];
  }
  return PETSC_TRUE;
}

static PetscErrorCode Assemble(Problem *p, Mat *A)
{
  PetscScalar *Ke, *K;
  PetscInt    *dof;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3((PetscCount)p->m.ndof * p->m.ndof, &Ke, (PetscCount)p->m.ndof * p->m.ndof, &K, p->m.ndof, &dof));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, p->n, p->n, p->n, p->n));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  for (PetscInt e = 0; e < p->m.nel; e++) {
    if (!GetElement(p, e, Ke, K)) continue;
    for (PetscInt r = 0; r < p->m.ndof; r++) dof[r] = p->mesh.conn[e * p->mesh.nen + r / p->mesh.bs] * p->mesh.bs + r % p->mesh.bs;
    PetscCall(MatSetValues(*A, p->m.ndof, dof, p->m.ndof, dof, Ke, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree3(Ke, K, dof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
static PetscErrorCode ToDevice(Problem *p, const void *host, size_t bytes, void *device)
{
  void *copy;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMalloc(&copy, PetscMax(bytes, 1)));
  if (host) PetscCallCUDA(cudaMemcpy(copy, host, bytes, cudaMemcpyHostToDevice));
  p->device[p->ndevice++] = copy;
  *(void **)device        = host ? copy : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector in the precision of the test; scale: those of elements, which bfloat16 leaves in single */
static PetscErrorCode VectorToDevice(Problem *p, PetscCount n, const PetscScalar *x, PetscBool scale, void *device)
{
  const size_t size = p->precision == ELEMENT_DOUBLE ? 8 : p->precision == ELEMENT_SINGLE || scale ? 4
                                                                                                   : 2;
  char        *stored;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n * size, &stored));
  for (PetscCount i = 0; x && i < n; i++) {
    const double    d = PetscRealPart(x[i]);
    const float     f = (float)PetscRealPart(Round(p, x[i])), s = (float)d;
    const uint16_t *half = (const uint16_t *)&f;

    memcpy(stored + i * size, size == 8 ? (const void *)&d : size == 4 ? (scale ? (const void *)&s : (const void *)&f)
                                                                       : (const void *)(half + 1),
           size);
  }
  PetscCall(ToDevice(p, x ? stored : NULL, n * size, device));
  PetscCall(PetscFree(stored));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorFromDevice(Problem *p, PetscCount n, const void *device, PetscScalar *x)
{
  const size_t size = p->precision == ELEMENT_DOUBLE ? 8 : p->precision == ELEMENT_SINGLE ? 4
                                                                                          : 2;
  char        *stored;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n * size, &stored));
  PetscCallCUDA(cudaMemcpy(stored, device, n * size, cudaMemcpyDeviceToHost));
  for (PetscCount i = 0; i < n; i++) {
    double d;
    float  f = 0;

    memcpy(size == 8 ? (char *)&d : (char *)&f + 4 - size, stored + i * size, size);
    x[i] = size == 8 ? d : f;
  }
  PetscCall(PetscFree(stored));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDeviceTiles(Problem *p)
{
  ElementTiles t;
  PetscBool    ok;

  PetscFunctionBeginUser;
  PetscCall(ElementTilesCreate(&p->mesh, p->m.nel, p->nnode, p->corner, &t, &ok));
  PetscCall(Check("tiles", !ok, 0));
  p->dtiles = t;
  PetscCall(ToDevice(p, t.nodestart, (t.ntile + 1) * sizeof(PetscInt), &p->dtiles.nodestart));
  PetscCall(ToDevice(p, t.owned, t.ntile * sizeof(PetscInt), &p->dtiles.owned));
  PetscCall(ToDevice(p, t.node, t.nodestart[t.ntile] * sizeof(PetscInt), &p->dtiles.node));
  PetscCall(ToDevice(p, t.elementstart, (t.ntile + 1) * sizeof(PetscInt), &p->dtiles.elementstart));
  PetscCall(ToDevice(p, t.element, t.elementstart[t.ntile] * sizeof(PetscInt), &p->dtiles.element));
  PetscCall(ToDevice(p, t.corner, t.elementstart[t.ntile] * 8 * sizeof(unsigned short), &p->dtiles.corner));
  PetscCall(ToDevice(p, t.valence, t.nodestart[t.ntile], &p->dtiles.valence));
  PetscCall(ElementTilesDestroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does the kernel refuse these elements? Then that is the test. */
static PetscErrorCode IsRefused(Problem *p, PetscBool *refused)
{
  const ElementVectors v     = {.precision = p->precision};
  const char          *needs = ElementKernelNeeds(p->kernel, &p->m, p->usemesh ? &p->mesh : NULL, &p->lattice, &p->dtiles, p->plan, &v);

  PetscFunctionBeginUser;
  *refused = (PetscBool)(needs != NULL);
  if (needs) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "needs %s\n", needs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDevice(Problem *p)
{
  const size_t    size = sizeof(PetscScalar) * p->m.ndof * p->m.ndof, around = (size_t)p->m.nel * p->mesh.nen;
  PetscInt        nfull = 0, *element;
  PetscCount     *start;
  unsigned short *corner;
  unsigned char  *nodemask;

  PetscFunctionBeginUser;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  for (PetscInt e = 0; e < p->m.nel; e++) nfull += p->m.ref && p->m.ref[e] == ELEMENT_FULL;
  p->dm       = p->m;
  p->dm.rigid = ElementMatricesAreRigid(&p->m, p->mesh.bs);
  p->dmesh    = p->mesh;
  PetscCall(ElementAdjacencyCreate(&p->mesh, p->m.nel, p->nnode, &start, &element, &corner));
  PetscCall(ToDevice(p, p->m.K, p->m.nref * size, &p->dm.K));
  PetscCall(ToDevice(p, p->m.ref, p->m.nel * sizeof(PetscInt), &p->dm.ref));
  PetscCall(ToDevice(p, p->m.scale, p->m.nel * sizeof(PetscScalar), &p->dm.scale));
  if (p->pack) {
    PetscScalar *packed;

    PetscCall(ElementMatricesPack(&p->m, nfull, &packed));
    PetscCall(Check("packed", !packed, 0));
    p->dm.packed = PETSC_TRUE;
    PetscCall(ToDevice(p, packed, nfull * sizeof(PetscScalar) * p->m.ndof * (p->m.ndof + 1) / 2, &p->dm.full));
    PetscCall(PetscFree(packed));
  } else PetscCall(ToDevice(p, p->m.full, nfull * size, &p->dm.full));
  PetscCall(ToDevice(p, p->m.fullindex, p->m.nel * sizeof(PetscInt), &p->dm.fullindex));
  PetscCall(ToDevice(p, p->mesh.conn, around * sizeof(PetscInt), &p->dmesh.conn));
  PetscCall(ToDevice(p, p->mask, p->n, &p->dmask));
  PetscCall(VectorToDevice(p, p->m.nel, p->m.scale, PETSC_TRUE, &p->dscale));
  PetscCall(PetscCalloc1(p->nnode, &nodemask));
  for (PetscInt i = 0; i < p->n; i++) nodemask[i / p->mesh.bs] |= (unsigned char)(p->mask[i] << i % p->mesh.bs);
  PetscCall(ToDevice(p, nodemask, p->nnode, &p->dnodemask));
  PetscCall(PetscFree(nodemask));
  PetscCall(ToDevice(p, start, (p->nnode + 1) * sizeof(PetscCount), &p->daround.start));
  PetscCall(ToDevice(p, element, around * sizeof(PetscInt), &p->daround.element));
  PetscCall(ToDevice(p, corner, around * sizeof(unsigned short), &p->daround.corner));
  PetscCall(PetscFree(start));
  PetscCall(PetscFree(element));
  PetscCall(PetscFree(corner));
  if (p->usemesh && p->plan) PetscCall(CreateDeviceTiles(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies x, u and y there, runs the kernel of the diagonal (u NULL) or of energies, copies y back */
static PetscErrorCode RunDevice(Problem *p, PetscCount nu, const PetscScalar *u, const PetscScalar *x, PetscCount ny, PetscScalar *y)
{
  const PetscInt keep = p->ndevice;
  PetscScalar   *du, *dx, *dy;

  PetscFunctionBeginUser;
  PetscCall(ToDevice(p, u, nu * sizeof(PetscScalar), &du));
  PetscCall(ToDevice(p, x, p->n * sizeof(PetscScalar), &dx));
  PetscCall(ToDevice(p, y, ny * sizeof(PetscScalar), &dy));
  if (!u && p->usemesh)
    PetscCall(ElementBlockDiagonalMesh_CUDA(&p->dm, &p->dmesh, &p->daround, p->nnode, dy, NULL));
  else if (!u)
    PetscCall(ElementBlockDiagonalLattice_CUDA(&p->dm, &p->lattice, dy, NULL));
  else if (p->usemesh)
    PetscCall(ElementEnergyMesh_CUDA(&p->dm, &p->dmesh, du, dx, dy, NULL));
  else
    PetscCall(ElementEnergyLattice_CUDA(&p->dm, &p->lattice, du, dx, dy, NULL));
  PetscCallCUDA(cudaMemcpy(y, dy, ny * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  while (p->ndevice > keep) PetscCallCUDA(cudaFree(p->device[--p->ndevice]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = r + D x, z added or a Jacobi step made of it where those are given; z may be y */
static PetscErrorCode ApplyDevice(Problem *p, PetscBool transpose, PetscBool masked, const PetscScalar *x, const PetscScalar *z, const PetscScalar *D, PetscBool Dirichlet, const PetscScalar *b, const PetscScalar *dinv, double omega, PetscScalar *y)
{
  const PetscInt keep = p->ndevice;
  ElementVectors v    = {0};

  PetscFunctionBeginUser;
  v.precision = p->precision;
  v.mask      = masked ? p->dmask : NULL;
  v.nodemask  = masked ? p->dnodemask : NULL;
  v.scale     = p->dscale;
  v.Dirichlet = Dirichlet;
  v.omega     = omega;
  PetscCall(VectorToDevice(p, p->n, x, PETSC_FALSE, &v.x));
  PetscCall(VectorToDevice(p, p->n, y, PETSC_FALSE, &v.y));
  PetscCall(VectorToDevice(p, p->n, D, PETSC_FALSE, &v.D));
  PetscCall(VectorToDevice(p, p->n, b, PETSC_FALSE, &v.b));
  PetscCall(VectorToDevice(p, p->n, dinv, PETSC_FALSE, &v.dinv));
  if (z == y)
    v.z = v.y;
  else
    PetscCall(VectorToDevice(p, p->n, z, PETSC_FALSE, &v.z));
  if (p->usemesh)
    PetscCall(ElementApplyMesh_CUDA(p->kernel, &p->dm, &p->dmesh, &p->daround, &p->dtiles, p->plan, p->nnode, transpose, &v, &p->work, NULL));
  else
    PetscCall(ElementApplyLattice_CUDA(p->kernel, &p->dm, &p->lattice, p->plan, transpose, &v, &p->work, NULL));
  PetscCall(VectorFromDevice(p, p->n, v.y, y));
  while (p->ndevice > keep) PetscCallCUDA(cudaFree(p->device[--p->ndevice]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode Apply(Problem *p, PetscBool transpose, PetscBool masked, const PetscScalar *x, PetscScalar *y)
{
  const unsigned char *mask = masked ? p->mask : NULL;

  PetscFunctionBeginUser;
#if PetscDefined(HAVE_CUDA)
  if (p->gpu) {
    PetscCall(ApplyDevice(p, transpose, masked, x, y, NULL, PETSC_FALSE, NULL, NULL, 0, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  if (p->usemesh)
    (transpose ? ElementApplyTransposeMesh_Host : ElementApplyMesh_Host)(&p->m, &p->mesh, mask, x, y);
  else
    (transpose ? ElementApplyTransposeLattice_Host : ElementApplyLattice_Host)(&p->m, &p->lattice, p->plan, mask, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Energy(Problem *p, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy)
{
  PetscFunctionBeginUser;
#if PetscDefined(HAVE_CUDA)
  if (p->gpu) {
    PetscCall(RunDevice(p, p->n, u, v, p->m.nel, energy));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  if (p->usemesh)
    ElementEnergyMesh_Host(&p->m, &p->mesh, u, v, energy);
  else
    ElementEnergyLattice_Host(&p->m, &p->lattice, u, v, energy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockDiagonal(Problem *p, PetscScalar *d)
{
  PetscFunctionBeginUser;
#if PetscDefined(HAVE_CUDA)
  if (p->gpu) {
    PetscCall(RunDevice(p, 0, NULL, NULL, (PetscCount)p->n * p->lattice.bs, d));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  if (p->usemesh)
    ElementBlockDiagonalMesh_Host(&p->m, &p->mesh, d);
  else
    ElementBlockDiagonalLattice_Host(&p->m, &p->lattice, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = y0 + M A M x with NaN in the entries of x and y that are masked */
static PetscErrorCode TestProduct(Problem *p, Mat A, PetscBool transpose, PetscBool masked)
{
  PetscScalar *x, *y, *z, *ref, *work;
  Vec          vx, vy;
  PetscInt     touched = 0, changed = 0;
  PetscBool    atomic = PETSC_FALSE;
  char         what[64];

  PetscFunctionBeginUser;
#if PetscDefined(HAVE_CUDA)
  atomic = (PetscBool)(p->kernel == ELEMENT_KERNEL_FUSED); /* adds in any order */
#endif
  PetscCall(PetscMalloc5(p->n, &x, p->n, &y, p->n, &z, p->n, &ref, p->n, &work));
  PetscCall(Fill(p, p->n, x));
  PetscCall(Fill(p, p->n, y));
  for (PetscInt i = 0; i < p->n; i++) work[i] = !masked || p->mask[i] ? x[i] : 0;
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, p->n, work, &vx));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, p->n, ref, &vy));
  PetscCall((transpose ? MatMultTranspose : MatMult)(A, vx, vy));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  for (PetscInt i = 0; i < p->n; i++) {
    ref[i] += y[i];
    if (masked && !p->mask[i]) x[i] = y[i] = NAN;
    z[i] = y[i];
  }
  PetscCall(Apply(p, transpose, masked, x, y));
  PetscCall(Apply(p, transpose, masked, x, z));
  for (PetscInt i = 0; i < p->n; i++) {
    if (masked && !p->mask[i]) {
      touched += !PetscIsNanScalar(y[i]);
      y[i] = z[i] = ref[i] = 0;
    }
    changed += !atomic && y[i] != z[i];
  }
  PetscCall(PetscSNPrintf(what, sizeof what, "%s%s", masked ? "masked " : "", transpose ? "transposed product" : "product"));
  PetscCall(Check(what, Difference(p->n, y, ref), p->tolerance));
  PetscCall(Check("  repeats bit by bit, leaves masked entries", touched + changed, 0));
  PetscCall(PetscFree5(x, y, z, ref, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
/* What the kernels do with the sum besides storing it: D x, addition to another vector, a Jacobi step */
static PetscErrorCode TestForms(Problem *p, Mat A, PetscBool masked)
{
  PetscScalar *x, *y, *z, *D, *b, *dinv, *r, *work, *ref;
  Vec          vx, vr;
  char         what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(p->n, &x, p->n, &y, p->n, &z, p->n, &D, p->n, &b));
  PetscCall(PetscMalloc4(p->n, &dinv, p->n, &r, p->n, &work, p->n, &ref));
  PetscCall(Fill(p, p->n, x));
  PetscCall(Fill(p, p->n, z));
  PetscCall(Fill(p, p->n, D));
  PetscCall(Fill(p, p->n, b));
  PetscCall(Fill(p, p->n, dinv));
  for (PetscInt i = 0; i < p->n; i++) work[i] = !masked || p->mask[i] ? x[i] : 0;
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, p->n, work, &vx));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, p->n, r, &vr));
  PetscCall(MatMult(A, vx, vr));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vr));
  for (PetscInt i = 0; i < p->n; i++)
    if (masked && !p->mask[i]) r[i] = 0;
  for (PetscInt form = 0; form < 8; form++) { /* bits: D everywhere or only where the mask is 0, z, Jacobi step */
    const PetscBool useD = (PetscBool)(form > 0), Dirichlet = (PetscBool)(masked && form & 1), useb = (PetscBool)((form & 4) != 0), usez = (PetscBool)(form & 2 && !useb);

    for (PetscInt i = 0; i < p->n; i++) {
      const PetscScalar d = useD && !(Dirichlet && p->mask[i]) ? D[i] : 0, s = r[i] + d * x[i];

      y[i]   = NAN;
      ref[i] = useb ? x[i] + 0.7 * dinv[i] * (b[i] - s) : usez ? z[i] + s
                                                               : s;
    }
    PetscCall(ApplyDevice(p, PETSC_FALSE, masked, x, usez ? z : NULL, useD ? D : NULL, Dirichlet, useb ? b : NULL, useb ? dinv : NULL, 0.7, y));
    PetscCall(PetscSNPrintf(what, sizeof what, "%sform %" PetscInt_FMT, masked ? "masked " : "", form));
    PetscCall(Check(what, Difference(p->n, y, ref), p->tolerance));
  }
  PetscCall(PetscFree5(x, y, z, D, b));
  PetscCall(PetscFree4(dinv, r, work, ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* The plain dense forms do not */
static PetscBool ActsOnDifferences(const Problem *p)
{
#if PetscDefined(HAVE_CUDA)
  if (p->gpu && (p->kernel == ELEMENT_KERNEL_THREESTAGE || p->kernel == ELEMENT_KERNEL_FUSED || p->kernel == ELEMENT_KERNEL_DMMA)) return PETSC_FALSE;
  if (p->gpu && p->usemesh) return (PetscBool)(p->precision != ELEMENT_DOUBLE || (p->plan && p->kernel != ELEMENT_KERNEL_NODE));
#endif
  return (PetscBool)(p->plan && !p->usemesh);
}

/* Rigid translations and, for elasticity, rotations have no forces; u'Av = v'Au */
static PetscErrorCode TestMechanics(Problem *p)
{
  const PetscInt bs = p->lattice.bs;
  PetscScalar   *u, *v, *Au, *Av, uAv = 0, vAu = 0;
  PetscReal      sum = 0, max = 0, stiffness = 0, size = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc4(p->n, &u, p->n, &v, p->n, &Au, p->n, &Av));
  PetscCall(Fill(p, p->n, u));
  PetscCall(Fill(p, p->n, v));
  PetscCall(Apply(p, PETSC_FALSE, PETSC_FALSE, u, Au));
  PetscCall(Apply(p, PETSC_FALSE, PETSC_FALSE, v, Av));
  for (PetscInt i = 0; i < p->n; i++) {
    uAv += u[i] * Av[i];
    vAu += v[i] * Au[i];
    sum += PetscAbsScalar(u[i] * Av[i]);
    stiffness = PetscMax(stiffness, PetscAbsScalar(Au[i]));
  }
  if (p->symmetric) PetscCall(Check("u'Av = v'Au", PetscAbsScalar(uAv - vAu) / sum, p->tolerance));
  if (p->elastic) {
    for (PetscInt i = 0; i < p->n; i++) {
      u[i]  = Round(p, 1e5 * (1 + i % bs) / 3.);
      Au[i] = 0;
    }
    PetscCall(Apply(p, PETSC_FALSE, PETSC_FALSE, u, Au));
    for (PetscInt i = 0; i < p->n; i++) max = PetscMax(max, PetscAbsScalar(Au[i]));
    PetscCall(Check("translation has no forces", max, ActsOnDifferences(p) ? 0 : p->tolerance * 1e5 * stiffness));
    if (bs == p->dim) {
      const PetscReal w[3] = {p->dim == 3 ? 0.7 : 0, p->dim == 3 ? -0.4 : 0, 0.9};

      for (PetscInt i = 0; i < p->n; i++) {
        const PetscReal *X = p->coordinates + i / bs * 3;
        const PetscInt   c = i % bs, d = (c + 1) % 3, e = (c + 2) % 3;

        u[i]  = Round(p, w[d] * X[e] - w[e] * X[d]);
        size  = PetscMax(size, PetscAbsScalar(u[i]));
        Au[i] = 0;
      }
      PetscCall(Apply(p, PETSC_FALSE, PETSC_FALSE, u, Au));
      max = 0;
      for (PetscInt i = 0; i < p->n; i++) max = PetscMax(max, PetscAbsScalar(Au[i]));
      PetscCall(Check("rotation has no forces", max / size, p->tolerance * stiffness));
    }
  }
  PetscCall(PetscFree4(u, v, Au, Av));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestEnergy(Problem *p)
{
  PetscScalar *u, *v, *energy, *ref, *Ke, *K;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(p->n, &u, p->n, &v, p->m.nel, &energy, p->m.nel, &ref, (PetscCount)p->m.ndof * p->m.ndof, &Ke, (PetscCount)p->m.ndof * p->m.ndof, &K));
  PetscCall(Fill(p, p->n, u));
  PetscCall(Fill(p, p->n, v));
  for (PetscInt e = 0; e < p->m.nel; e++) {
    const PetscInt *node = p->mesh.conn + e * p->mesh.nen, bs = p->mesh.bs;

    energy[e] = NAN;
    ref[e]    = 0;
    if (!GetElement(p, e, Ke, K)) continue;
    for (PetscInt r = 0; r < p->m.ndof; r++)
      for (PetscInt c = 0; c < p->m.ndof; c++) ref[e] += u[node[r / bs] * bs + r % bs] * K[r * p->m.ndof + c] * v[node[c / bs] * bs + c % bs];
  }
  PetscCall(Energy(p, u, v, energy));
  PetscCall(Check("energy of elements", Difference(p->m.nel, energy, ref), 64 * PETSC_MACHINE_EPSILON));
  PetscCall(PetscFree6(u, v, energy, ref, Ke, K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBlockDiagonal(Problem *p, Mat A)
{
  const PetscInt bs = p->lattice.bs;
  PetscScalar   *d, *ref;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2((PetscCount)p->n * bs, &d, (PetscCount)p->n * bs, &ref));
  PetscCall(Fill(p, (PetscCount)p->n * bs, d));
  for (PetscInt i = 0; i < p->nnode; i++)
    for (PetscInt c = 0; c < bs; c++)
      for (PetscInt r = 0; r < bs; r++) {
        const PetscInt   row = i * bs + r, col = i * bs + c;
        const PetscCount k = (PetscCount)i * bs * bs + c * bs + r;

        PetscCall(MatGetValues(A, 1, &row, 1, &col, &ref[k]));
        ref[k] += d[k];
      }
  PetscCall(BlockDiagonal(p, d));
  PetscCall(Check("block diagonal", Difference((PetscCount)p->n * bs, d, ref), 64 * PETSC_MACHINE_EPSILON));
  PetscCall(PetscFree2(d, ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem           p        = {0};
  PetscInt          nodes[3] = {7, 6, 5}, three = 3, bs = 3, nref = 1, nen = 0, seed = 1;
  PetscReal         none = 0, full = 0, mask = 0.2;
  PetscBool         parity = PETSC_FALSE, refused = PETSC_FALSE;
  PetscInt          order        = 0;
  const char *const orders[]     = {"binary", "vtk", "plex"};
  const PetscInt    places[3][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 3, 2, 4, 5, 7, 6}, {0, 2, 3, 1, 4, 5, 7, 6}};
  char              material[32] = "isotropic";
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-nodes", nodes, &three, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &bs, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mesh", &p.usemesh, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nen", &nen, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-material", material, sizeof material, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nref", &nref, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-void", &none, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-full", &full, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-mask", &mask, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-parity", &parity, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &p.gpu, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-pack", &p.pack, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  p.tolerance = 64 * PETSC_MACHINE_EPSILON;
#if PetscDefined(HAVE_CUDA)
  {
    const char *const precisions[] = {"double", "single", "bfloat16"};
    PetscInt          choice       = ELEMENT_PETSC;
    PetscInt          work;
    PetscBool         set, limited;

    PetscCall(PetscOptionsGetEnum(NULL, NULL, "-kernel", ElementKernels, (PetscEnum *)&p.kernel, NULL));
    PetscCall(PetscOptionsGetEList(NULL, NULL, "-precision", precisions, 3, &choice, &set));
    p.precision = (ElementPrecision)choice;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-work", &work, &limited));
    if (limited) PetscCall(ElementWorkSetLimit(&p.work, work));
    if (set || p.kernel == ELEMENT_KERNEL_WMMA) p.tolerance = p.kernel == ELEMENT_KERNEL_WMMA ? 1e-2 : choice == ELEMENT_DOUBLE ? 64 * 2.3e-16
                                                                                                     : choice == ELEMENT_SINGLE ? 2e-6
                                                                                                                                : 1e-2;
  }
#endif
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &p.random));
  PetscCall(PetscRandomSetInterval(p.random, PetscCMPLX(-1., PetscDefined(USE_COMPLEX) ? -1. : 0.), PetscCMPLX(1., PetscDefined(USE_COMPLEX) ? 1. : 0.)));
  PetscCall(PetscRandomSetSeed(p.random, seed));
  PetscCall(PetscRandomSeed(p.random));
  p.lattice.nx = nodes[0];
  p.lattice.ny = nodes[1];
  p.lattice.nz = nodes[2];
  p.lattice.bs = bs;
  p.dim        = nodes[2] > 1 ? 3 : 2;
  p.nnode      = nodes[0] * nodes[1] * nodes[2];
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-order", orders, 3, &order, NULL));
  for (PetscInt a = 0; a < 8; a++) p.place[a] = places[order][a];
  PetscCall(CreateConnectivity(&p, nen));
  PetscCall(CreateMatrices(&p, nref, material, none, full, mask));
  if (!p.usemesh) PetscCall(ElementPlanCreateLattice(&p.m, &p.lattice, &p.plan));
  else if (p.dim == 3 && !nen && bs == 3 && nref == 1) PetscCall(ElementPlanCreateHex(&p.m, bs, p.corner, &p.plan));
  PetscCall(Check("the form that was expected", parity != (p.plan != NULL), 0));
#if PetscDefined(HAVE_CUDA)
  if (p.gpu) PetscCall(CreateDevice(&p));
  if (p.gpu) PetscCall(IsRefused(&p, &refused));
#endif
  PetscCall(Assemble(&p, &A));
  for (PetscInt masked = 0; masked < 2 && !refused; masked++)
    for (PetscInt transpose = 0; transpose < 2; transpose++) PetscCall(TestProduct(&p, A, (PetscBool)transpose, (PetscBool)masked));
#if PetscDefined(HAVE_CUDA)
  for (PetscInt masked = 0; masked < 2 && p.gpu && !refused; masked++) PetscCall(TestForms(&p, A, (PetscBool)masked));
#endif
  if (!refused) {
    PetscCall(TestMechanics(&p));
    PetscCall(TestEnergy(&p));
    PetscCall(TestBlockDiagonal(&p, A));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(ElementPlanDestroy(&p.plan));
  PetscCall(PetscFree(p.m.K));
  PetscCall(PetscFree(p.m.scale));
  PetscCall(PetscFree2(p.ref, p.fullindex));
  PetscCall(PetscFree(p.m.full));
  PetscCall(PetscFree(p.mesh.conn));
  PetscCall(PetscFree(p.coordinates));
  PetscCall(PetscFree(p.mask));
#if PetscDefined(HAVE_CUDA)
  while (p.ndevice) PetscCallCUDA(cudaFree(p.device[--p.ndevice]));
  PetscCall(ElementWorkDestroy(&p.work));
#endif
  PetscCall(PetscRandomDestroy(&p.random));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/shellfem_kernels_elastic.out
    test:
      suffix: hex
      args: -parity -material {{isotropic orthotropic}} -nodes {{2,2,2 7,6,5 5,2,9 65,4,3 66,3,4 131,3,2}}
    test:
      suffix: hex_references
      args: -parity -void 0.2 -nref {{1 2 8}}
    test:
      suffix: hex_many_references
      args: -nref 9 -material isotropic
    test:
      suffix: quad
      args: -parity -bs 2 -material {{isotropic orthotropic}} -nodes {{2,2,1 9,8,1 67,5,1}}
    test:
      suffix: quad_references
      args: -parity -bs 2 -void 0.3 -nref 3 -nodes 70,4,1
    test:
      suffix: mesh
      args: -mesh -material {{isotropic orthotropic}} -void 0.1 -nref 3
    test:
      suffix: hexahedra
      args: -parity -mesh -material {{isotropic orthotropic}} -void 0.1 -order {{binary vtk plex}}
    test:
      suffix: mesh_quad
      args: -mesh -bs 2 -nodes 9,8,1

  testset:
    output_file: output/shellfem_kernels_scalar.out
    args: -bs 1
    test:
      suffix: scalar
      args: -parity -nodes {{7,6,5 9,8,1}} -nref {{1 2}} -void 0.1
    test:
      suffix: scalar_mesh
      args: -mesh -nodes {{7,6,5 9,8,1}}

  testset:
    output_file: output/shellfem_kernels_symmetric.out
    test:
      suffix: dynamic
      args: -parity -material dynamic -bs {{1 3}}
    test:
      suffix: dynamic_quad
      args: -parity -material dynamic -bs {{1 2}} -nodes 9,8,1
    test:
      suffix: anisotropic
      args: -material anisotropic -nref {{1 2}}

  testset:
    output_file: output/shellfem_kernels_general.out
    test:
      suffix: full
      args: -parity -void 0.1 -full {{0.2 0.9}} -nref {{1 2}}
    test:
      suffix: full_mesh
      args: -mesh -void 0.1 -full {{0.2 0.9}} -nref 2
    test:
      suffix: random
      args: -material random -bs {{1 2 3 4 7}} -seed {{1 2}}
    test:
      suffix: random_mesh
      args: -mesh -material random -bs {{1 3 5}} -nen {{3 10 27}}

  testset:
    requires: cuda !complex
    args: -gpu
    test:
      suffix: gpu_hex
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -material {{isotropic orthotropic}} -nodes {{2,2,2 7,6,5 33,30,20 66,3,40 5,50,3}}
    test:
      suffix: gpu_hex_references
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -void 0.2 -nref {{1 2}} -nodes 33,14,9
    test:
      suffix: gpu_quad
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -bs 2 -nodes 9,8,1
    test:
      suffix: gpu_mesh
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -mesh -void 0.1 -nref 3
    test:
      suffix: gpu_scalar
      output_file: output/shellfem_kernels_gpu_scalar.out
      args: -bs 1 -parity
    test:
      suffix: gpu_scalar_mesh
      output_file: output/shellfem_kernels_gpu_scalar.out
      args: -bs 1 -mesh
    test:
      suffix: gpu_dynamic
      output_file: output/shellfem_kernels_gpu_symmetric.out
      args: -parity -material dynamic -nodes 40,13,11
    test:
      suffix: gpu_full
      output_file: output/shellfem_kernels_gpu_general.out
      args: -parity -void 0.1 -full 0.3 -nref {{1 2}}
    test:
      suffix: gpu_random
      output_file: output/shellfem_kernels_gpu_general.out
      args: -material random -bs {{1 3 4}}
    test:
      suffix: gpu_kernels
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -kernel {{threestage fused node parity dmma}} -precision double -void {{0 0.2}} -nodes {{7,6,5 33,14,9}}
    test:
      suffix: gpu_kernels_single
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -kernel {{auto threestage fused node wmma}} -precision single -nodes {{7,6,5 33,14,9}}
    test:
      suffix: gpu_kernels_bfloat16
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -kernel {{auto node wmma}} -precision bfloat16 -void {{0 0.2}} -nodes {{7,6,5 33,14,9}}
    test:
      suffix: gpu_kernels_orthotropic
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -material orthotropic -precision {{double single bfloat16}} -nodes 40,13,11
    test:
      suffix: gpu_kernels_anisotropic
      output_file: output/shellfem_kernels_gpu_symmetric.out
      args: -material anisotropic -kernel {{threestage fused node dmma}} -nodes 11,10,9
    test:
      suffix: gpu_kernels_quad
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -bs 2 -nodes 9,8,1 -kernel {{threestage fused node}} -precision {{double single}}
    test:
      suffix: gpu_kernels_scalar
      output_file: output/shellfem_kernels_gpu_scalar.out
      args: -parity -bs 1 -kernel {{threestage fused node}} -precision {{double single}}
    test:
      suffix: gpu_kernels_mesh
      output_file: output/shellfem_kernels_gpu_hexahedra.out
      args: -parity -mesh -void 0.1 -kernel {{threestage fused node}} -precision {{double single}} -nodes {{7,6,5 23,14,17}}
    test:
      suffix: gpu_kernels_tensor_mesh
      output_file: output/shellfem_kernels_gpu_hexahedra.out
      args: -parity -mesh -void 0.1 -kernel dmma -nodes {{7,6,5 23,14,17}}
    test:
      suffix: gpu_kernels_tensor_mesh_low
      output_file: output/shellfem_kernels_gpu_hexahedra.out
      args: -parity -mesh -void 0.1 -kernel wmma -precision {{single bfloat16}} -nodes {{7,6,5 23,14,17}}
    test:
      suffix: gpu_kernels_tensor_scalar
      output_file: output/shellfem_kernels_gpu_scalar.out
      args: -parity -void 0.1 -bs 1 -kernel dmma -nodes {{7,6,5 33,14,9}}
    test:
      suffix: gpu_kernels_tensor_scalar_low
      output_file: output/shellfem_kernels_gpu_scalar.out
      args: -parity -void 0.1 -bs 1 -kernel wmma -precision {{single bfloat16}} -nodes {{7,6,5 33,14,9}}
    test:
      suffix: gpu_kernels_tensor_quad
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -void 0.1 -bs 2 -kernel dmma -nodes 39,28,1
    test:
      suffix: gpu_kernels_tensor_quad_mesh
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -mesh -void 0.1 -bs 2 -kernel wmma -precision {{single bfloat16}} -nodes 39,28,1
    test:
      suffix: gpu_kernels_low_random
      output_file: output/shellfem_kernels_gpu_general.out
      args: -mesh -material random -bs {{1 3}} -nen {{4 8}} -kernel node -precision {{single bfloat16}}
    test:
      suffix: gpu_kernels_references
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -mesh -void 0.1 -nref 3 -kernel threestage -precision {{double single}} -work {{1000000 40000}}
    test:
      suffix: gpu_kernels_parts
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -parity -void 0.1 -kernel {{threestage dmma}} -work 30000
    test:
      suffix: gpu_kernels_parts_scalar
      output_file: output/shellfem_kernels_gpu_scalar.out
      args: -parity -bs 1 -void 0.1 -kernel {{threestage dmma}} -work 3000
    test:
      suffix: gpu_kernels_full
      output_file: output/shellfem_kernels_gpu_general.out
      args: -parity -void 0.1 -full 0.3 -kernel {{threestage fused node parity dmma}} -work {{1000000 20000}}
    test:
      suffix: gpu_kernels_full_low
      output_file: output/shellfem_kernels_gpu_general.out
      args: -parity -void 0.1 -full 0.3 -kernel {{node wmma}} -precision {{single bfloat16}}
    test:
      suffix: gpu_kernels_packed
      output_file: output/shellfem_kernels_gpu_packed.out
      args: -pack -mesh -void 0.1 -full {{0.3 1}} -nref 2 -work {{1000000 20000}}
    test:
      suffix: gpu_kernels_packed_random
      output_file: output/shellfem_kernels_gpu_packed_general.out
      args: -pack -mesh -material random -full 0.5 -bs {{1 3}} -nen {{3 10 27}}
    test:
      suffix: gpu_kernels_refused_precision
      args: -parity -kernel dmma -precision single
    test:
      suffix: gpu_kernels_refused_references
      args: -parity -kernel fused -nref 2
    test:
      suffix: gpu_kernels_refused_material
      args: -material anisotropic -kernel parity
    test:
      suffix: gpu_kernels_hexahedra
      output_file: output/shellfem_kernels_gpu_hexahedra.out
      args: -parity -mesh -void 0.1 -order {{binary vtk plex}} -precision {{double single bfloat16}} -nodes 23,14,17 -material {{isotropic orthotropic}}
    test:
      suffix: gpu_kernels_hexahedra_full
      output_file: output/shellfem_kernels_gpu_hexahedra_general.out
      args: -parity -mesh -void 0.1 -full 0.2 -order vtk -nodes 9,8,7
    test:
      suffix: gpu_kernels_mesh_low
      output_file: output/shellfem_kernels_gpu_elastic.out
      args: -mesh -void 0.1 -nref 2 -precision {{single bfloat16}}
    test:
      suffix: gpu_random_mesh
      output_file: output/shellfem_kernels_gpu_general.out
      args: -mesh -material random -bs {{1 3}} -nen {{3 27}}

TEST*/
