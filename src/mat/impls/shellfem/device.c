/*
  The elements on the GPU: copies of connectivity, matrices, scales and masks that follow the host's, and the launches
*/
#include "shellfemimpl.h"

#if PetscDefined(HAVE_CUDA)
  #include "../../../sys/trefoildevice.h"

/* What one group has on the GPU */
typedef struct {
  ShellFEMGroup    g;
  PetscInt         nel;
  ElementMatrices  m;
  ElementMesh      mesh;
  ElementAdjacency around;
  unsigned char   *mask, *nodemask;
  ElementWork      work;
} DeviceGroup;

struct _n_ShellFEMDevice {
  PetscObjectState state, matstate;
  PetscInt         ngroups;
  DeviceGroup     *group;
};

static PetscErrorCode DeviceGroupFree(DeviceGroup *d)
{
  const void *const all[] = {d->m.K, d->m.ref, d->m.scale, d->m.full, d->m.fullindex, d->mesh.conn, d->around.start, d->around.element, d->around.corner, d->mask, d->nodemask};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) PetscCallCUDA(cudaFree((void *)all[k]));
  PetscCall(ElementWorkDestroy(&d->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ShellFEMDeviceDestroy(ShellFEMDevice *device)
{
  PetscFunctionBegin;
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < (*device)->ngroups; k++) PetscCall(DeviceGroupFree(&(*device)->group[k]));
  PetscCall(PetscFree((*device)->group));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceGroupUpload(Mat A, ShellFEMGroup g, DeviceGroup *d)
{
  Mat_ShellFEM  *a    = (Mat_ShellFEM *)A->data;
  const size_t   size = sizeof(PetscScalar) * (size_t)g->ndof * g->ndof, nel = (size_t)g->nel;
  const PetscInt nodes = (A->rmap->n / A->rmap->bs + a->nghost) * (A->rmap->bs / g->bs);

  PetscFunctionBegin;
  d->g   = g;
  d->nel = g->nel;
  d->m   = ShellFEMGroupMatrices(g);
  PetscCall(TrefoilUpload(size * g->nref, g->K, (void **)&d->m.K));
  PetscCall(TrefoilUpload(sizeof(PetscInt) * nel, g->ref, (void **)&d->m.ref));
  PetscCall(TrefoilUpload(sizeof(PetscScalar) * nel, g->scale, (void **)&d->m.scale));
  PetscCall(TrefoilUpload(size * g->nfull, g->full, (void **)&d->m.full));
  PetscCall(TrefoilUpload(sizeof(PetscInt) * nel, g->nfull ? g->fullindex : NULL, (void **)&d->m.fullindex));
  if (!g->iscells) {
    const ElementMesh mesh = {g->nen, g->bs, g->conn};
    PetscCount        n    = (PetscCount)g->nel * g->nen, *start;
    PetscInt         *element;
    unsigned short   *corner;

    d->mesh = mesh;
    PetscCall(TrefoilUpload(sizeof(PetscInt) * (size_t)n, g->conn, (void **)&d->mesh.conn));
    PetscCall(ElementAdjacencyCreate(&mesh, g->nel, nodes, &start, &element, &corner));
    PetscCall(TrefoilUpload(sizeof(PetscCount) * ((size_t)nodes + 1), start, (void **)&d->around.start));
    PetscCall(TrefoilUpload(sizeof(PetscInt) * (size_t)n, element, (void **)&d->around.element));
    PetscCall(TrefoilUpload(sizeof(unsigned short) * (size_t)n, corner, (void **)&d->around.corner));
    PetscCall(PetscFree(start));
    PetscCall(PetscFree(element));
    PetscCall(PetscFree(corner));
  }
  if (a->masked) {
    const size_t bytes = g->iscells ? (size_t)a->box.nx * a->box.ny * a->box.nz * a->box.bs : (size_t)nodes * g->bs;

    PetscCall(TrefoilUpload(bytes, g->iscells ? a->boxmask : a->mask, (void **)&d->mask));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The group's copy, made anew when anything changed */
static PetscErrorCode MatShellFEMGetDevice(Mat A, ShellFEMGroup g, DeviceGroup **d)
{
  Mat_ShellFEM    *a = (Mat_ShellFEM *)A->data;
  PetscObjectState state;
  PetscInt         n = a->lattice ? 1 : 0;

  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (a->device && (a->device->state != a->state || a->device->matstate != state)) PetscCall(ShellFEMDeviceDestroy(&a->device));
  if (!a->device) {
    for (ShellFEMGroup h = a->groups; h; h = h->next) n++;
    PetscCall(PetscNew(&a->device));
    PetscCall(PetscCalloc1(n, &a->device->group));
    a->device->ngroups  = n;
    a->device->state    = a->state;
    a->device->matstate = state;
    n                   = 0;
    if (a->lattice) PetscCall(DeviceGroupUpload(A, a->lattice, &a->device->group[n++]));
    for (ShellFEMGroup h = a->groups; h; h = h->next) PetscCall(DeviceGroupUpload(A, h, &a->device->group[n++]));
  }
  for (n = 0; a->device->group[n].g != g; n++)
    ;
  *d = &a->device->group[n];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatShellFEMApplyElements_CUDA(Mat A, ShellFEMGroup g, PetscBool transpose, PetscBool masked, Vec x, Vec y)
{
  Mat_ShellFEM      *a = (Mat_ShellFEM *)A->data;
  DeviceGroup       *d = NULL;
  ElementVectors     v = {0};
  cudaStream_t       stream;
  const PetscScalar *xa;
  PetscScalar       *ya;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetDevice(A, g, &d));
  PetscCall(TrefoilGetStream(&stream));
  PetscCall(VecCUDAGetArrayRead(x, &xa));
  PetscCall(VecCUDAGetArray(y, &ya));
  PetscCall(PetscLogGpuTimeBegin());
  v.precision = ELEMENT_PETSC;
  v.mask      = masked ? d->mask : NULL;
  v.scale     = d->m.scale;
  v.x         = xa;
  v.y         = ya;
  v.z         = ya;
  if (g->iscells)
    PetscCall(ElementApplyLattice_CUDA(ELEMENT_KERNEL_AUTO, &d->m, &a->box, g->plan, transpose, &v, &d->work, stream));
  else if (g->nel)
    PetscCall(ElementApplyMesh_CUDA(ELEMENT_KERNEL_AUTO, &d->m, &d->mesh, &d->around, (A->rmap->n / A->rmap->bs + a->nghost) * (A->rmap->bs / g->bs), transpose, &v, &d->work, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(VecCUDARestoreArray(y, &ya));
  PetscCall(VecCUDARestoreArrayRead(x, &xa));
  PetscCall(PetscLogGpuFlops(2.0 * g->nel * g->ndof * (PetscLogDouble)g->ndof));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
