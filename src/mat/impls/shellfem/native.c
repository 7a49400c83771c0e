/*
  The interface that gives elements without values: connectivity or the cells of a DMDA, reference matrices, scales
*/
#include "shellfemimpl.h"
#if PetscDefined(HAVE_CUDA)
  #include "../../../sys/trefoildevice.h"
#endif

/*@
  MatCreateShellFEM - Creates a `MATSHELLFEM` matrix from elements of one shape

  Collective

  Input Parameters:
+ comm - MPI communicator
. m    - number of local rows, a multiple of `bs`
. M    - number of global rows, or `PETSC_DETERMINE`
. bs   - dofs for each node
. nel  - number of elements of this process
. nen  - nodes for each element
- conn - global node numbers, [nel][nen]; node k has rows k*bs to k*bs + bs - 1

  Output Parameter:
. A - the matrix; give it reference matrices, or a matrix for each element, and assemble it

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMSetReferenceMatrices()`, `MatShellFEMSetElementScales()`, `MatShellFEMSetElementMatrices()`
@*/
PetscErrorCode MatCreateShellFEM(MPI_Comm comm, PetscInt m, PetscInt M, PetscInt bs, PetscInt nel, PetscInt nen, const PetscInt conn[], Mat *A)
{
  Mat_ShellFEM *a;
  ShellFEMGroup g;

  PetscFunctionBegin;
  PetscAssertPointer(A, 8);
  PetscCheck(nel >= 0 && nen > 0 && bs > 0 && nen * bs <= SHELLFEM_MAX_NDOF, comm, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " elements of %" PetscInt_FMT " nodes with %" PetscInt_FMT " dofs: elements have 1 to %d dofs", nel, nen, bs, SHELLFEM_MAX_NDOF);
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, m, M, M));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, MATSHELLFEM));
  PetscCall(MatSetUp(*A));
  for (PetscCount k = 0; k < (PetscCount)nel * nen; k++)
    PetscCheck(conn[k] >= 0 && conn[k] < (*A)->rmap->N / bs, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Node %" PetscInt_FMT " of element %" PetscInt_FMT " is not between 0 and %" PetscInt_FMT, conn[k], (PetscInt)(k / nen), (*A)->rmap->N / bs - 1);
  a = (Mat_ShellFEM *)(*A)->data;
  PetscCall(MatShellFEMGetGroup(*A, nen, bs, &g));
  PetscCall(ShellFEMGroupReserve(g, nel));
  PetscCall(PetscArraycpy(g->conn, conn, (size_t)nel * nen));
  g->nel = g->cursor = nel;
  for (PetscInt e = 0; e < nel; e++) {
    g->ref[e]   = ELEMENT_NONE;
    g->scale[e] = 1;
  }
  a->structure = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The elements that native calls are about: cells of the lattice that this process owns, or the only mesh */
typedef struct {
  ShellFEMGroup g;
  PetscInt      count;
} NativeElements;

static PetscErrorCode MatShellFEMGetNative(Mat A, NativeElements *n)
{
  Mat_ShellFEM *a = (Mat_ShellFEM *)A->data;
  PetscBool     ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELLFEM, &ours));
  PetscCheck(ours, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix has type %s, not shellfem; create it with MatCreateShellFEM() or -mat_type shellfem", ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "(not set)");
  n->g = a->groups;
  if (!a->groups) PetscCall(MatShellFEMGetLattice(A, &n->g));
  PetscCheck(n->g, PETSC_COMM_SELF, PETSC_ERR_ORDER, "The matrix has no elements; create it with MatCreateShellFEM(), or with DMCreateMatrix() on a DMDA with a box stencil");
  PetscCheck(n->g->iscells || !n->g->next, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has elements of several shapes; set their values by MatSetValues()");
  n->count = n->g->iscells ? a->ownedn[0] * a->ownedn[1] * a->ownedn[2] : n->g->nel;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where native element e is in the group */
static PetscInt NativeIndex(Mat A, const NativeElements *n, PetscInt e)
{
  const Mat_ShellFEM *a = (const Mat_ShellFEM *)A->data;
  PetscInt            i, j, k;

  if (!n->g->iscells) return e;
  i = a->ownedlow[0] + e % a->ownedn[0];
  j = a->ownedlow[1] + e / a->ownedn[0] % a->ownedn[1];
  k = a->ownedlow[2] + e / a->ownedn[0] / a->ownedn[1];
  return (k * a->cells[1] + j) * a->cells[0] + i;
}

static PetscErrorCode NativeSetScale(Mat A, const NativeElements *n, PetscInt e, PetscScalar scale)
{
  const PetscInt k = NativeIndex(A, n, e);

  PetscFunctionBegin;
  PetscCheck(n->g->ref[k] != ELEMENT_FULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Element %" PetscInt_FMT " has a matrix of its own, which has no scale; give it again by MatShellFEMSetElementMatrices()", e);
  n->g->scale[k] = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMChanged(Mat A)
{
  PetscFunctionBegin;
  ((Mat_ShellFEM *)A->data)->state++;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMGetElementCount - Gets the number of elements of this process

  Not Collective

  Input Parameter:
. A - the `MATSHELLFEM` matrix

  Output Parameter:
. nel - elements that the other calls number: those given to `MatCreateShellFEM()`, or the cells of the `DMDA` whose
        lowest node this process owns, x fastest

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMSetElementScales()`
@*/
PetscErrorCode MatShellFEMGetElementCount(Mat A, PetscInt *nel)
{
  NativeElements n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatShellFEMGetNative(A, &n));
  *nel = n.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMSetReferenceMatrices - Sets the reference matrices; all elements refer to the first, with scale 1, until told otherwise

  Not Collective

  Input Parameters:
+ A    - the `MATSHELLFEM` matrix
. nref - number of matrices
- K    - the matrices, [nref][ndof][ndof], row by row; nodes in the order of the connectivity, for cells of a `DMDA` node
         a is at (a & 1, a >> 1 & 1, a >> 2), dofs of a node together

  Level: intermediate

  Note:
  Assemble the matrix afterwards.

.seealso: `MATSHELLFEM`, `MatShellFEMSetElementReferences()`, `MatShellFEMSetElementScales()`
@*/
PetscErrorCode MatShellFEMSetReferenceMatrices(Mat A, PetscInt nref, const PetscScalar K[])
{
  NativeElements n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(K, 3);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCall(MatShellFEMHostScales(A));
  PetscCheck(nref > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " reference matrices: there must be one at least", nref);
  for (PetscCount k = 0; k < (PetscCount)nref * n.g->ndof * n.g->ndof; k++) PetscCheck(!PetscIsInfOrNanScalar(K[k]), PETSC_COMM_SELF, PETSC_ERR_FP, "Reference matrix %" PetscInt_FMT " contains a NaN or infinity", (PetscInt)(k / ((PetscCount)n.g->ndof * n.g->ndof)));
  n.g->nref = n.g->lastref = 0;
  n.g->native              = PETSC_TRUE;
  PetscCall(ShellFEMGroupSetReferences(n.g, nref, K));
  for (PetscInt e = 0; e < n.count; e++) {
    n.g->ref[NativeIndex(A, &n, e)]   = 0;
    n.g->scale[NativeIndex(A, &n, e)] = 1;
  }
  PetscCall(MatShellFEMChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMSetElementReferences - Sets which reference matrix each element has

  Not Collective

  Input Parameters:
+ A   - the `MATSHELLFEM` matrix
- ref - for each element of this process, 0 to nref - 1, or -1 for no element (void)

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMSetReferenceMatrices()`
@*/
PetscErrorCode MatShellFEMSetElementReferences(Mat A, const PetscInt ref[])
{
  NativeElements n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCall(MatShellFEMHostScales(A));
  for (PetscInt e = 0; e < n.count; e++) {
    PetscCheck(ref[e] >= -1 && ref[e] < n.g->nref, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Element %" PetscInt_FMT " refers to matrix %" PetscInt_FMT ", there are %" PetscInt_FMT, e, ref[e], n.g->nref);
    n.g->ref[NativeIndex(A, &n, e)] = ref[e];
  }
  PetscCall(MatShellFEMChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMSetElementScales - Sets the factor of each element's matrix

  Not Collective

  Input Parameters:
+ A     - the `MATSHELLFEM` matrix
- scale - one for each element of this process, on the host

  Level: intermediate

  Note:
  May be called on an assembled matrix; nothing else is rebuilt.

.seealso: `MATSHELLFEM`, `MatShellFEMSetSIMP()`, `MatShellFEMSetReferenceMatrices()`
@*/
PetscErrorCode MatShellFEMSetElementScales(Mat A, const PetscScalar scale[])
{
  NativeElements n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCall(MatShellFEMHostScales(A));
  for (PetscInt e = 0; e < n.count; e++) {
    PetscCheck(!PetscIsInfOrNanScalar(scale[e]), PETSC_COMM_SELF, PETSC_ERR_FP, "The scale of element %" PetscInt_FMT " is a NaN or infinity", e);
    PetscCall(NativeSetScale(A, &n, e, scale[e]));
  }
  PetscCall(MatShellFEMChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMSetSIMP - Sets the scales of topology optimization by SIMP, Emin + rho^p (E0 - Emin)

  Not Collective

  Input Parameters:
+ A    - the `MATSHELLFEM` matrix
. rho  - density of each element of this process, 0 to 1
. p    - penalization
. Emin - modulus of void
- E0   - modulus of solid

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMSetElementScales()`, `MatShellFEMGetElementEnergy()`
@*/
PetscErrorCode MatShellFEMSetSIMP(Mat A, const PetscReal rho[], PetscReal p, PetscReal Emin, PetscReal E0)
{
  NativeElements n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCall(MatShellFEMHostScales(A));
  for (PetscInt e = 0; e < n.count; e++) {
    PetscCheck(rho[e] >= 0 && rho[e] <= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The density of element %" PetscInt_FMT " is %g, not between 0 and 1", e, (double)rho[e]);
    PetscCall(NativeSetScale(A, &n, e, Emin + PetscPowReal(rho[e], p) * (E0 - Emin)));
  }
  PetscCall(MatShellFEMChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMSetElementMatrices - Gives each element a matrix of its own

  Not Collective

  Input Parameters:
+ A - the `MATSHELLFEM` matrix
- K - [nel][ndof][ndof], row by row

  Level: intermediate

  Note:
  Elements that are multiples of a few matrices cost far less by `MatShellFEMSetReferenceMatrices()`.

.seealso: `MATSHELLFEM`, `MatShellFEMSetReferenceMatrices()`
@*/
PetscErrorCode MatShellFEMSetElementMatrices(Mat A, const PetscScalar K[])
{
  NativeElements n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCall(MatShellFEMHostScales(A));
  n.g->nfull = 0;
  for (PetscInt e = 0; e < n.count; e++) PetscCall(ShellFEMGroupSetFull(n.g, NativeIndex(A, &n, e), K + (size_t)e * n.g->ndof * n.g->ndof));
  PetscCall(MatShellFEMChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMCreateElementVec - Creates a vector with one entry for each element, in the order that the other calls number them

  Collective

  Input Parameter:
. A - the `MATSHELLFEM` matrix

  Output Parameter:
. v - the vector, on the GPU where vectors of the matrix are

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMGetElementCount()`, `MatShellFEMSetSIMPVec()`, `MatShellFEMGetElementEnergyVec()`
@*/
PetscErrorCode MatShellFEMCreateElementVec(Mat A, Vec *v)
{
  NativeElements n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)A), v));
  PetscCall(VecSetSizes(*v, n.count, PETSC_DETERMINE));
  PetscCall(VecSetType(*v, A->defaultvectype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
static ElementCells NativeCells(Mat A, const NativeElements *n)
{
  const Mat_ShellFEM *a     = (const Mat_ShellFEM *)A->data;
  ElementCells        cells = {{0}, {0}, {0}};

  for (PetscInt d = 0; d < 3 && n->g->iscells; d++) {
    cells.all[d]   = a->cells[d];
    cells.low[d]   = a->ownedlow[d];
    cells.owned[d] = a->ownedn[d];
  }
  return cells;
}

/* done: the scales were written on the GPU; not where some elements have none there */
static PetscErrorCode MatShellFEMSetSIMP_CUDA(Mat A, const NativeElements *n, Vec rho, PetscReal p, PetscReal Emin, PetscReal E0, PetscBool *done)
{
  const ElementCells cells = NativeCells(A, n);
  const PetscScalar *r;
  PetscScalar       *scale = NULL;
  PetscBool          bad;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(MatShellFEMGetScales_CUDA(A, n->g, &scale));
  *done = (PetscBool)(scale != NULL);
  if (!scale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TrefoilGetStream(&stream));
  PetscCall(VecCUDAGetArrayRead(rho, &r));
  PetscCall(ElementSIMP_CUDA(n->count, &cells, r, p, Emin, E0, scale, &bad, stream));
  PetscCall(VecCUDARestoreArrayRead(rho, &r));
  PetscCall(MatShellFEMScalesChanged_CUDA(A));
  PetscCheck(!bad, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "A density is not between 0 and 1");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMGetElementEnergy_CUDA(Mat A, const NativeElements *n, Vec u, Vec v, Vec energy)
{
  const ElementCells cells = NativeCells(A, n);
  const PetscScalar *ua, *va;
  PetscScalar       *ea, *all;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(TrefoilGetStream(&stream));
  PetscCall(VecCUDAGetArrayRead(u, &ua));
  PetscCall(VecCUDAGetArrayRead(v, &va));
  PetscCall(VecCUDAGetArrayWrite(energy, &ea));
  if (n->g->iscells && n->count != n->g->nel) {
    PetscCallCUDA(cudaMallocAsync((void **)&all, sizeof(PetscScalar) * (size_t)n->g->nel, stream));
    PetscCall(MatShellFEMEnergy_CUDA(A, n->g, ua, va, all));
    PetscCall(ElementSelect_CUDA(n->count, &cells, all, ea, stream));
    PetscCallCUDA(cudaFreeAsync(all, stream));
  } else PetscCall(MatShellFEMEnergy_CUDA(A, n->g, ua, va, ea));
  PetscCall(VecCUDARestoreArrayRead(u, &ua));
  PetscCall(VecCUDARestoreArrayRead(v, &va));
  PetscCall(VecCUDARestoreArrayWrite(energy, &ea));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*@
  MatShellFEMSetSIMPVec - Sets the scales of topology optimization by SIMP from a vector of densities

  Collective

  Input Parameters:
+ A    - the assembled `MATSHELLFEM` matrix
. rho  - densities, 0 to 1; see `MatShellFEMCreateElementVec()`
. p    - penalization
. Emin - modulus of void
- E0   - modulus of solid

  Level: intermediate

  Note:
  On a GPU densities and scales stay there; the host's scales are brought up to date when something reads them.

.seealso: `MATSHELLFEM`, `MatShellFEMSetSIMP()`, `MatShellFEMGetElementEnergyVec()`
@*/
PetscErrorCode MatShellFEMSetSIMPVec(Mat A, Vec rho, PetscReal p, PetscReal Emin, PetscReal E0)
{
  NativeElements     n;
  const PetscScalar *r;
  PetscReal         *density;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(rho, VEC_CLASSID, 2);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCheck(rho->map->n == n.count, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vector has %" PetscInt_FMT " local entries, the process %" PetscInt_FMT " elements; create it with MatShellFEMCreateElementVec()", rho->map->n, n.count);
#if PetscDefined(HAVE_CUDA)
  if (A->assembled && MatUsesDevice_ShellFEM(A, rho)) {
    PetscBool done;

    PetscCall(MatShellFEMSetSIMP_CUDA(A, &n, rho, p, Emin, E0, &done));
    if (done) PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(PetscMalloc1(n.count, &density));
  PetscCall(VecGetArrayRead(rho, &r));
  for (PetscInt e = 0; e < n.count; e++) density[e] = PetscRealPart(r[e]);
  PetscCall(VecRestoreArrayRead(rho, &r));
  ierr = MatShellFEMSetSIMP(A, density, p, Emin, E0); /* refuses some densities */
  PetscCall(PetscFree(density));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u and v in the numbering of the elements; there is one work vector, so that of u is a copy where they differ */
static PetscErrorCode MatShellFEMGetLocals(Mat A, const NativeElements *n, Vec u, Vec v, Vec *ul, Vec *vl)
{
  PetscFunctionBegin;
  PetscCall(MatShellFEMForward(A, n->g->iscells, u, ul));
  *vl = *ul;
  if (u != v) {
    Vec copy;

    PetscCall(VecDuplicate(*ul, &copy));
    PetscCall(VecCopy(*ul, copy));
    PetscCall(MatShellFEMForward(A, n->g->iscells, v, vl));
    *ul = copy;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShellFEMRestoreLocals(Vec u, Vec v, Vec *ul)
{
  PetscFunctionBegin;
  if (u != v) PetscCall(VecDestroy(ul));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMGetElementEnergy - Computes u_e' K_e v_e of each element, with its reference matrix: without its scale

  Collective

  Input Parameters:
+ A - the assembled `MATSHELLFEM` matrix
. u - a vector
- v - a vector, may be `u`

  Output Parameter:
. energy - for each element of this process, as `MatShellFEMGetElementCount()` numbers them

  Level: intermediate

  Note:
  With scales Emin + rho^p (E0 - Emin) and displacements u the sensitivity of the compliance to the density of an element is
  -p rho^(p-1) (E0 - Emin) energy. Elements with a matrix of their own give u_e' K_e v_e with all that it contains.

.seealso: `MATSHELLFEM`, `MatShellFEMSetSIMP()`
@*/
PetscErrorCode MatShellFEMGetElementEnergy(Mat A, Vec u, Vec v, PetscScalar energy[])
{
  Mat_ShellFEM      *a = (Mat_ShellFEM *)A->data;
  NativeElements     n;
  Vec                ul, vl;
  const PetscScalar *ua, *va;
  PetscScalar       *all = energy;
  ElementMatrices    m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(u, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(v, VEC_CLASSID, 3);
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Assemble the matrix first");
  PetscCall(MatShellFEMGetNative(A, &n));
  m = ShellFEMGroupMatrices(n.g);
  PetscCall(MatShellFEMGetLocals(A, &n, u, v, &ul, &vl));
  PetscCall(VecGetArrayRead(ul, &ua));
  PetscCall(VecGetArrayRead(vl, &va));
  if (n.g->iscells) {
    PetscCall(PetscMalloc1(n.g->nel, &all));
    ElementEnergyLattice_Host(&m, &a->box, ua, va, all);
    for (PetscInt e = 0; e < n.count; e++) energy[e] = all[NativeIndex(A, &n, e)];
    PetscCall(PetscFree(all));
  } else {
    const ElementMesh mesh = {n.g->nen, n.g->bs, n.g->conn};

    ElementEnergyMesh_Host(&m, &mesh, ua, va, energy);
  }
  PetscCall(VecRestoreArrayRead(ul, &ua));
  PetscCall(VecRestoreArrayRead(vl, &va));
  PetscCall(MatShellFEMRestoreLocals(u, v, &ul));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatShellFEMGetElementEnergyVec - Computes u_e' K_e v_e of each element, as `MatShellFEMGetElementEnergy()`, into a vector

  Collective

  Input Parameters:
+ A - the assembled `MATSHELLFEM` matrix
. u - a vector
- v - a vector, may be `u`

  Output Parameter:
. energy - one entry for each element; see `MatShellFEMCreateElementVec()`

  Level: intermediate

.seealso: `MATSHELLFEM`, `MatShellFEMGetElementEnergy()`, `MatShellFEMSetSIMPVec()`
@*/
PetscErrorCode MatShellFEMGetElementEnergyVec(Mat A, Vec u, Vec v, Vec energy)
{
  NativeElements n;
  PetscScalar   *ea;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(energy, VEC_CLASSID, 4);
  PetscCall(MatShellFEMGetNative(A, &n));
  PetscCheck(energy->map->n == n.count, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vector has %" PetscInt_FMT " local entries, the process %" PetscInt_FMT " elements; create it with MatShellFEMCreateElementVec()", energy->map->n, n.count);
#if PetscDefined(HAVE_CUDA)
  if (A->assembled && MatUsesDevice_ShellFEM(A, u) && MatUsesDevice_ShellFEM(A, v) && MatUsesDevice_ShellFEM(A, energy)) {
    Vec ul, vl;

    PetscCall(MatShellFEMGetLocals(A, &n, u, v, &ul, &vl));
    PetscCall(MatShellFEMGetElementEnergy_CUDA(A, &n, ul, vl, energy));
    PetscCall(MatShellFEMRestoreLocals(u, v, &ul));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(VecGetArrayWrite(energy, &ea));
  PetscCall(MatShellFEMGetElementEnergy(A, u, v, ea));
  PetscCall(VecRestoreArrayWrite(energy, &ea));
  PetscFunctionReturn(PETSC_SUCCESS);
}
