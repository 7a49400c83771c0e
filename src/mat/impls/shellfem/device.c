/*
  The elements on the GPU: copies of connectivity, matrices, scales and masks that follow the host's, and the launches.

  Each part of a copy is made anew only when it changed: connectivity with the structure, masks with the conditions; a
  re-assembly of the same elements uploads scales, or the values of matrices, into memory that is there already.
*/
#include "shellfemimpl.h"

#if PetscDefined(HAVE_CUDA)
  #include "../../../sys/trefoildevice.h"

/* What one group has on the GPU */
typedef struct {
  ShellFEMGroup    g;
  ElementMatrices  m;
  ElementMesh      mesh;
  ElementAdjacency around;
  ElementTiles     tiles;
  PetscInt         nnode;
  unsigned char   *mask, *nodemask;
  void            *scale[3]; /* for each ElementPrecision that was asked for, PetscScalar's always */
  ElementWork      work;
  PetscInt         nref, nfull; /* room for matrices */
  PetscBool        tiled;       /* or it was tried, */
  PetscInt         corner[8];   /* with the nodes in this order */
  PetscInt64       tilebytes;
  PetscBool        voids; /* void elements have the scale zero here */
} DeviceGroup;

struct _n_ShellFEMDevice {
  PetscObjectState state, matstate, structure, conditions; /* what the copies were made of */
  PetscInt         ngroups;
  DeviceGroup     *group;
  void            *vector[2]; /* x and y in another precision */
  size_t           bytes[2];
  PetscBool        Dirichlet; /* D is zero wherever the mask is 1 */
};

static PetscErrorCode DeviceGroupFreeTiles(DeviceGroup *d)
{
  void *const all[] = {d->tiles.nodestart, d->tiles.owned, d->tiles.node, d->tiles.elementstart, d->tiles.element, d->tiles.corner, d->tiles.valence};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) PetscCallCUDA(cudaFree(all[k]));
  PetscCall(PetscMemzero(&d->tiles, sizeof(d->tiles)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceGroupFree(DeviceGroup *d)
{
  const void *const all[] = {d->m.K, d->m.ref, d->m.full, d->m.fullindex, d->mesh.conn, d->around.start, d->around.element, d->around.corner, d->mask, d->nodemask, d->scale[0], d->scale[1], d->scale[2]};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) PetscCallCUDA(cudaFree((void *)all[k]));
  PetscCall(ElementWorkDestroy(&d->work));
  PetscCall(DeviceGroupFreeTiles(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ShellFEMDeviceDestroy(ShellFEMDevice *device)
{
  PetscFunctionBegin;
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < (*device)->ngroups; k++) PetscCall(DeviceGroupFree(&(*device)->group[k]));
  for (PetscInt k = 0; k < 2; k++) PetscCallCUDA(cudaFree((*device)->vector[k]));
  PetscCall(PetscFree((*device)->group));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies to memory that is there, or to new memory where there is none */
static PetscErrorCode Refresh(size_t bytes, const void *host, void *device)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!*(void **)device)
    PetscCall(TrefoilUpload(bytes, host, (void **)device));
  else {
    PetscCall(TrefoilGetStream(&stream));
    PetscCallCUDA(cudaMemcpyAsync(*(void **)device, host, bytes, cudaMemcpyHostToDevice, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Release(void *device)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(*(void **)device));
  *(void **)device = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceGroupSetStructure(Mat A, DeviceGroup *d)
{
  Mat_ShellFEM     *a    = (Mat_ShellFEM *)A->data;
  ShellFEMGroup     g    = d->g;
  const ElementMesh mesh = {g->nen, g->bs, g->conn};
  const PetscCount  n    = (PetscCount)g->nel * g->nen;
  PetscCount       *start;
  PetscInt         *element;
  unsigned short   *corner;

  PetscFunctionBegin;
  d->nnode = g->iscells ? a->box.nx * a->box.ny * a->box.nz : (A->rmap->n / A->rmap->bs + a->nghost) * (A->rmap->bs / g->bs);
  if (g->iscells) PetscFunctionReturn(PETSC_SUCCESS);
  d->mesh = mesh;
  PetscCall(TrefoilUpload(sizeof(PetscInt) * (size_t)n, g->conn, (void **)&d->mesh.conn));
  PetscCall(ElementAdjacencyCreate(&mesh, g->nel, d->nnode, &start, &element, &corner));
  PetscCall(TrefoilUpload(sizeof(PetscCount) * ((size_t)d->nnode + 1), start, (void **)&d->around.start));
  PetscCall(TrefoilUpload(sizeof(PetscInt) * (size_t)n, element, (void **)&d->around.element));
  PetscCall(TrefoilUpload(sizeof(unsigned short) * (size_t)n, corner, (void **)&d->around.corner));
  PetscCall(PetscFree(start));
  PetscCall(PetscFree(element));
  PetscCall(PetscFree(corner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One scale for each element, zero for void ones; a group where all others refer to the first matrix needs no references */
static PetscErrorCode DeviceGroupSetScales(DeviceGroup *d)
{
  ShellFEMGroup g = d->g;
  PetscScalar  *scale;
  PetscInt      e = 0;

  PetscFunctionBegin;
  d->voids = PETSC_FALSE;
  if (!d->m.ref) { /* ShellFEMGroupMatrices() found all references to be 0 */
    PetscCall(Refresh(sizeof(PetscScalar) * (size_t)g->nel, g->scale, &d->scale[ELEMENT_PETSC]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (e < g->nel && (g->ref[e] == 0 || g->ref[e] == ELEMENT_NONE)) e++;
  if (e < g->nel) { /* several matrices */
    PetscCall(Refresh(sizeof(PetscScalar) * (size_t)g->nel, g->scale, &d->scale[ELEMENT_PETSC]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(g->nel, &scale));
  for (e = 0; e < g->nel; e++) scale[e] = g->ref[e] == ELEMENT_NONE ? 0 : g->scale[e];
  PetscCall(Refresh(sizeof(PetscScalar) * (size_t)g->nel, scale, &d->scale[ELEMENT_PETSC]));
  PetscCall(PetscFree(scale));
  d->m.ref = NULL;
  d->voids = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceGroupSetValues(DeviceGroup *d)
{
  ShellFEMGroup   g    = d->g;
  const size_t    size = sizeof(PetscScalar) * (size_t)g->ndof * g->ndof, nel = (size_t)g->nel;
  ElementMatrices old = d->m;

  PetscFunctionBegin;
  if (g->nref > d->nref) PetscCall(Release(&old.K));
  if (g->nfull > d->nfull) PetscCall(Release(&old.full));
  d->nref    = PetscMax(d->nref, g->nref);
  d->nfull   = PetscMax(d->nfull, g->nfull);
  d->m       = ShellFEMGroupMatrices(g);
  d->m.rigid = ElementMatricesAreRigid(&d->m, g->bs);
  PetscCall(DeviceGroupSetScales(d));
  d->m.K         = old.K;
  d->m.full      = old.full;
  d->m.fullindex = old.fullindex;
  d->m.scale     = (const PetscScalar *)d->scale[ELEMENT_PETSC];
  if (g->nref) PetscCall(Refresh(size * g->nref, g->K, &d->m.K));
  if (g->nfull) {
    PetscCall(Refresh(size * g->nfull, g->full, &d->m.full));
    PetscCall(Refresh(sizeof(PetscInt) * nel, g->fullindex, &d->m.fullindex));
  } else PetscCall(Release(&d->m.full));
  if (d->m.ref) {
    d->m.ref = old.ref;
    PetscCall(Refresh(sizeof(PetscInt) * nel, g->ref, &d->m.ref));
  } else PetscCall(Release(&old.ref));
  for (int p = 0; p < 3; p++)
    if (p != ELEMENT_PETSC) PetscCall(Release(&d->scale[p]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceGroupSetMask(Mat A, DeviceGroup *d)
{
  Mat_ShellFEM        *a    = (Mat_ShellFEM *)A->data;
  const PetscInt       bs   = d->g->bs;
  const unsigned char *mask = d->g->iscells ? a->boxmask : a->mask;
  unsigned char       *nodemask;

  PetscFunctionBegin;
  PetscCall(Release(&d->mask));
  PetscCall(Release(&d->nodemask));
  if (!a->masked) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TrefoilUpload((size_t)d->nnode * bs, mask, (void **)&d->mask));
  if (bs > 8) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(d->nnode, &nodemask));
  for (PetscCount k = 0; k < (PetscCount)d->nnode * bs; k++) nodemask[k / bs] |= (unsigned char)(mask[k] << k % bs);
  PetscCall(TrefoilUpload((size_t)d->nnode, nodemask, (void **)&d->nodemask));
  PetscCall(PetscFree(nodemask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMIsDirichlet(Mat A, PetscBool *yes)
{
  Mat_ShellFEM      *a = (Mat_ShellFEM *)A->data;
  const PetscScalar *l, *D;

  PetscFunctionBegin;
  *yes = (PetscBool)(a->D && a->masked);
  if (!*yes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(a->L, &l));
  PetscCall(VecGetArrayRead(a->D, &D));
  for (PetscInt k = 0; k < A->rmap->n && *yes; k++) *yes = (PetscBool)(l[k] == (PetscScalar)0. || D[k] == (PetscScalar)0.);
  PetscCall(VecRestoreArrayRead(a->L, &l));
  PetscCall(VecRestoreArrayRead(a->D, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellFEMDeviceCreate(Mat A, ShellFEMDevice *device)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  PetscInt      n = a->lattice ? 1 : 0;

  PetscFunctionBegin;
  for (ShellFEMGroup h = a->groups; h; h = h->next) n++;
  PetscCall(PetscNew(device));
  PetscCall(PetscCalloc1(n, &(*device)->group));
  (*device)->ngroups   = n;
  (*device)->structure = a->structurestate;
  n                    = 0;
  if (a->lattice) (*device)->group[n++].g = a->lattice;
  for (ShellFEMGroup h = a->groups; h; h = h->next) (*device)->group[n++].g = h;
  for (n = 0; n < (*device)->ngroups; n++) PetscCall(DeviceGroupSetStructure(A, &(*device)->group[n]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The group's copy, up to date */
static PetscErrorCode MatShellFEMGetDevice(Mat A, ShellFEMGroup g, DeviceGroup **d)
{
  Mat_ShellFEM    *a = (Mat_ShellFEM *)A->data;
  PetscObjectState state;
  PetscBool        isnew = PETSC_FALSE;
  PetscInt         n;

  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  n = a->lattice ? 1 : 0;
  for (ShellFEMGroup h = a->groups; h; h = h->next) n++;
  if (a->device && (a->device->structure != a->structurestate || a->device->ngroups != n)) {
    PetscCall(MatShellFEMHostScales(A));
    PetscCall(ShellFEMDeviceDestroy(&a->device));
  }
  if (!a->device) {
    PetscCall(ShellFEMDeviceCreate(A, &a->device));
    isnew = PETSC_TRUE;
  }
  if (isnew || a->device->state != a->state || a->device->matstate != state) {
    for (n = 0; n < a->device->ngroups; n++) {
      if (!a->scalesondevice) PetscCall(DeviceGroupSetValues(&a->device->group[n]));
      if (isnew || a->device->conditions != a->conditionsstate) PetscCall(DeviceGroupSetMask(A, &a->device->group[n]));
    }
    PetscCall(MatShellFEMIsDirichlet(A, &a->device->Dirichlet));
    a->device->state      = a->state;
    a->device->matstate   = state;
    a->device->conditions = a->conditionsstate;
  }
  for (n = 0; a->device->group[n].g != g; n++)
    ;
  *d = &a->device->group[n];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for x or y in another precision, and scales */
static PetscErrorCode MatShellFEMGetLow(Mat A, DeviceGroup *d, ElementPrecision precision, int which, void **array)
{
  ShellFEMDevice   device = ((Mat_ShellFEM *)A->data)->device;
  const PetscCount n      = (PetscCount)d->nnode * d->g->bs;
  const size_t     bytes  = (size_t)n * ElementPrecisionSize(precision);
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (device->bytes[which] < bytes) {
    PetscCall(Release(&device->vector[which]));
    PetscCallCUDA(cudaMalloc(&device->vector[which], bytes));
    device->bytes[which] = bytes;
  }
  *array = device->vector[which];
  if (!d->scale[precision]) {
    PetscCall(TrefoilGetStream(&stream));
    PetscCallCUDA(cudaMalloc(&d->scale[precision], PetscMax(1, sizeof(double) * (size_t)d->g->nel)));
    PetscCall(ElementConvert_CUDA(d->g->nel, ELEMENT_PETSC, d->scale[ELEMENT_PETSC], precision == ELEMENT_DOUBLE ? ELEMENT_DOUBLE : ELEMENT_SINGLE, d->scale[precision], PETSC_FALSE, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tiles for the kernel of hexahedra, where their matrix allows it: made once for each numbering of the elements */
static PetscErrorCode DeviceGroupSetTiles(Mat A, DeviceGroup *d)
{
  Mat_ShellFEM     *a    = (Mat_ShellFEM *)A->data;
  ShellFEMGroup     g    = d->g;
  const ElementMesh mesh = {g->nen, g->bs, g->conn};
  ElementTiles      t;
  PetscBool         ok;

  PetscFunctionBegin;
  if (d->tiled && g->plan && memcmp(d->corner, g->corner, sizeof(d->corner))) { /* another matrix, which takes the nodes in another order */
    PetscCall(DeviceGroupFreeTiles(d));
    d->tiled = PETSC_FALSE;
  }
  if (d->tiled || g->iscells || !g->plan || g->nref != 1 || (a->kernel != ELEMENT_KERNEL_AUTO && a->kernel != ELEMENT_KERNEL_PARITY)) PetscFunctionReturn(PETSC_SUCCESS);
  d->tiled = PETSC_TRUE;
  PetscCall(PetscArraycpy(d->corner, g->corner, 8));
  PetscCall(ElementTilesCreate(&mesh, g->nel, d->nnode, g->corner, &t, &ok));
  if (!ok) PetscFunctionReturn(PETSC_SUCCESS);
  d->tiles = t;
  PetscCall(TrefoilUpload(sizeof(PetscInt) * ((size_t)t.ntile + 1), t.nodestart, (void **)&d->tiles.nodestart));
  PetscCall(TrefoilUpload(sizeof(PetscInt) * (size_t)t.ntile, t.owned, (void **)&d->tiles.owned));
  PetscCall(TrefoilUpload(sizeof(PetscInt) * (size_t)t.nodestart[t.ntile], t.node, (void **)&d->tiles.node));
  PetscCall(TrefoilUpload(sizeof(PetscInt) * ((size_t)t.ntile + 1), t.elementstart, (void **)&d->tiles.elementstart));
  PetscCall(TrefoilUpload(sizeof(PetscInt) * (size_t)t.elementstart[t.ntile], t.element, (void **)&d->tiles.element));
  PetscCall(TrefoilUpload(8 * sizeof(unsigned short) * (size_t)t.elementstart[t.ntile], t.corner, (void **)&d->tiles.corner));
  PetscCall(TrefoilUpload((size_t)t.nodestart[t.ntile], t.valence, (void **)&d->tiles.valence));
  d->tilebytes = (PetscInt64)t.nodestart[t.ntile] * 5 + (PetscInt64)t.elementstart[t.ntile] * 20;
  PetscCall(ElementTilesDestroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Launch(Mat A, DeviceGroup *d, PetscBool transpose, const ElementVectors *v, cudaStream_t stream)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(DeviceGroupSetTiles(A, d));
  if (d->g->iscells)
    PetscCall(ElementApplyLattice_CUDA(a->kernel, &d->m, &a->box, d->g->plan, transpose, v, &d->work, stream));
  else
    PetscCall(ElementApplyMesh_CUDA(a->kernel, &d->m, &d->mesh, &d->around, &d->tiles, d->g->plan, d->nnode, transpose, v, &d->work, stream));
  PetscCall(PetscLogGpuFlops(2.0 * d->g->nel * d->g->ndof * (PetscLogDouble)d->g->ndof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = E x, added to what y holds or not; vectors in the numbering of the group */
PetscErrorCode MatShellFEMApplyElements_CUDA(Mat A, ShellFEMGroup g, PetscBool transpose, PetscBool masked, PetscBool add, Vec x, Vec y)
{
  Mat_ShellFEM      *a = (Mat_ShellFEM *)A->data;
  DeviceGroup       *d = NULL;
  ElementVectors     v = {0};
  cudaStream_t       stream;
  const PetscScalar *xa;
  PetscScalar       *ya;
  void              *low[2];

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetDevice(A, g, &d));
  PetscCall(TrefoilGetStream(&stream));
  PetscCall(VecCUDAGetArrayRead(x, &xa));
  PetscCall(add ? VecCUDAGetArray(y, &ya) : VecCUDAGetArrayWrite(y, &ya));
  PetscCall(PetscLogGpuTimeBegin());
  v.precision = a->precision;
  v.mask      = masked ? d->mask : NULL;
  v.nodemask  = masked ? d->nodemask : NULL;
  v.x         = xa;
  v.y         = ya;
  if (a->precision == ELEMENT_PETSC) {
    v.z     = add ? ya : NULL;
    v.scale = d->scale[ELEMENT_PETSC];
    PetscCall(Launch(A, d, transpose, &v, stream));
  } else {
    for (int k = 0; k < 2; k++) PetscCall(MatShellFEMGetLow(A, d, a->precision, k, &low[k]));
    v.scale = d->scale[a->precision];
    v.x     = low[0];
    v.y     = low[1];
    PetscCall(ElementConvert_CUDA((PetscCount)d->nnode * g->bs, ELEMENT_PETSC, xa, a->precision, low[0], PETSC_FALSE, stream));
    PetscCall(Launch(A, d, transpose, &v, stream));
    PetscCall(ElementConvert_CUDA((PetscCount)d->nnode * g->bs, a->precision, low[1], ELEMENT_PETSC, ya, add, stream));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(add ? VecCUDARestoreArray(y, &ya) : VecCUDARestoreArrayWrite(y, &ya));
  PetscCall(VecCUDARestoreArrayRead(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole matrix in one launch: y = r = A x, or z + r, or x + omega dinv (b - r). z, b, dinv may be NULL; y differs from x. */
PetscErrorCode MatShellFEMApplyOnce_CUDA(Mat A, PetscBool transpose, PetscReal omega, Vec x, Vec z, Vec b, Vec dinv, Vec y)
{
  Mat_ShellFEM      *a = (Mat_ShellFEM *)A->data;
  ShellFEMGroup      g = a->lattice ? a->lattice : a->groups;
  DeviceGroup       *d = NULL;
  ElementVectors     v = {0};
  Vec                read[5];
  const PetscScalar *array[5] = {NULL};
  PetscScalar       *ya;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetDevice(A, g, &d));
  PetscCall(TrefoilGetStream(&stream));
  read[0] = x;
  read[1] = a->D;
  read[2] = z == y ? NULL : z;
  read[3] = b;
  read[4] = dinv;
  for (int k = 0; k < 5; k++)
    if (read[k]) PetscCall(VecCUDAGetArrayRead(read[k], &array[k]));
  PetscCall(z == y ? VecCUDAGetArray(y, &ya) : VecCUDAGetArrayWrite(y, &ya));
  PetscCall(PetscLogGpuTimeBegin());
  v.precision = ELEMENT_PETSC;
  v.mask      = a->masked ? d->mask : NULL;
  v.nodemask  = a->masked ? d->nodemask : NULL;
  v.scale     = d->scale[ELEMENT_PETSC];
  v.x         = array[0];
  v.y         = ya;
  v.D         = array[1];
  v.Dirichlet = a->device->Dirichlet;
  v.z         = z == y ? ya : array[2];
  v.b         = array[3];
  v.dinv      = array[4];
  v.omega     = omega;
  PetscCall(Launch(A, d, transpose, &v, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(z == y ? VecCUDARestoreArray(y, &ya) : VecCUDARestoreArrayWrite(y, &ya));
  for (int k = 0; k < 5; k++)
    if (read[k]) PetscCall(VecCUDARestoreArrayRead(read[k], &array[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d += the diagonal of a group, in its numbering */
PetscErrorCode MatShellFEMAddDiagonal_CUDA(Mat A, ShellFEMGroup g, Vec d)
{
  Mat_ShellFEM *a     = (Mat_ShellFEM *)A->data;
  DeviceGroup  *group = NULL;
  PetscCount    n;
  cudaStream_t  stream;
  PetscScalar  *blocks, *da;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetDevice(A, g, &group));
  PetscCall(TrefoilGetStream(&stream));
  n = (PetscCount)group->nnode * g->bs;
  PetscCallCUDA(cudaMallocAsync((void **)&blocks, PetscMax(1, sizeof(PetscScalar) * (size_t)n * g->bs), stream));
  PetscCallCUDA(cudaMemsetAsync(blocks, 0, sizeof(PetscScalar) * (size_t)n * g->bs, stream));
  if (g->iscells)
    PetscCall(ElementBlockDiagonalLattice_CUDA(&group->m, &a->box, blocks, stream));
  else
    PetscCall(ElementBlockDiagonalMesh_CUDA(&group->m, &group->mesh, &group->around, group->nnode, blocks, stream));
  PetscCall(VecCUDAGetArray(d, &da));
  PetscCall(ElementAddDiagonal_CUDA(n, g->bs, blocks, da, stream));
  PetscCall(VecCUDARestoreArray(d, &da));
  PetscCallCUDA(cudaFreeAsync(blocks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* energy[e] = u_e' K v_e of all elements of a group, on the GPU */
PetscErrorCode MatShellFEMEnergy_CUDA(Mat A, ShellFEMGroup g, const PetscScalar *u, const PetscScalar *v, PetscScalar *energy)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  DeviceGroup  *d = NULL;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetDevice(A, g, &d));
  PetscCall(TrefoilGetStream(&stream));
  if (g->iscells)
    PetscCall(ElementEnergyLattice_CUDA(&d->m, &a->box, u, v, energy, stream));
  else
    PetscCall(ElementEnergyMesh_CUDA(&d->m, &d->mesh, u, v, energy, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scales on the GPU, to be written there; NULL where some elements have none */
PetscErrorCode MatShellFEMGetScales_CUDA(Mat A, ShellFEMGroup g, PetscScalar **scale)
{
  DeviceGroup *d = NULL;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetDevice(A, g, &d));
  *scale = d->m.full || d->m.ref || d->voids ? NULL : (PetscScalar *)d->scale[ELEMENT_PETSC];
  for (int p = 0; p < 3; p++)
    if (p != ELEMENT_PETSC) PetscCall(Release(&d->scale[p]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* They were written: the copies are what the matrix is now */
PetscErrorCode MatShellFEMScalesChanged_CUDA(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscCall(PetscObjectStateGet((PetscObject)A, &a->device->matstate));
  a->device->state  = ++a->state;
  a->scalesondevice = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings scales that were computed on the GPU back: whoever reads g->scale on the host calls it first */
PetscErrorCode MatShellFEMFetchScales_CUDA(Mat A)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < a->device->ngroups; k++) {
    DeviceGroup *d = &a->device->group[k];

    PetscCallCUDA(cudaMemcpy(d->g->scale, d->scale[ELEMENT_PETSC], sizeof(PetscScalar) * (size_t)d->g->nel, cudaMemcpyDeviceToHost));
    PetscCall(PetscLogGpuToCpu(sizeof(PetscScalar) * (PetscLogDouble)d->g->nel));
  }
  a->scalesondevice = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatShellFEMDeviceBytes(Mat A, PetscInt64 *bytes)
{
  ShellFEMDevice device = ((Mat_ShellFEM *)A->data)->device;

  PetscFunctionBegin;
  *bytes = 0;
  for (PetscInt k = 0; device && k < device->ngroups; k++) {
    const DeviceGroup *d    = &device->group[k];
    const PetscInt64   size = sizeof(PetscScalar) * (PetscInt64)d->g->ndof * d->g->ndof, nel = d->g->nel;

    *bytes += size * (d->nref + d->nfull) + (d->m.ref ? nel * (PetscInt64)sizeof(PetscInt) : 0) + (d->m.full ? nel * (PetscInt64)sizeof(PetscInt) : 0);
    if (!d->g->iscells) *bytes += nel * d->g->nen * (PetscInt64)(2 * sizeof(PetscInt) + sizeof(unsigned short)) + (d->nnode + 1) * (PetscInt64)sizeof(PetscCount);
    *bytes += d->tilebytes;
    if (d->mask) *bytes += (PetscInt64)d->nnode * (d->g->bs + 1);
    for (int p = 0; p < 3; p++) *bytes += d->scale[p] ? nel * (PetscInt64)(p == ELEMENT_DOUBLE ? sizeof(double) : sizeof(float)) : 0;
  }
  for (int k = 0; device && k < 2; k++) *bytes += (PetscInt64)device->bytes[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
