/*
  The operator in single precision, with vectors stored in single or bfloat16: what the kernels on the GPU compute, in plain
  C. It is there for preconditioners and as their reference; it is not fast.

  Where translations cost no energy, each row of an element acts on differences to the first node, formed in single
  precision before anything is multiplied: a rigid translation gives exactly zero, whatever its size.
*/
#include "element.h"

/* x as it is stored; bfloat16 to nearest, ties to even */
static float Round(ElementPrecision precision, PetscScalar x)
{
  union
  {
    float        f;
    unsigned int i;
  } u = {.f = (float)PetscRealPart(x)};

  if (precision == ELEMENT_BFLOAT16 && u.f == u.f) u.i = (u.i + 0x7fff + ((u.i >> 16) & 1)) & 0xffff0000u;
  return u.f;
}

/* Sums of rows and columns over the nodes, against the largest entry */
static PetscBool IsRigid(const PetscScalar *K, PetscInt n, PetscInt bs)
{
  PetscReal max = 0, sum = 0;

  for (PetscInt i = 0; i < n; i++)
    for (PetscInt c = 0; c < bs; c++) {
      PetscScalar row = 0, col = 0;

      for (PetscInt j = c; j < n; j += bs) {
        row += K[i * n + j];
        col += K[j * n + i];
        max = PetscMax(max, PetscAbsScalar(K[i * n + j]));
      }
      sum = PetscMax(sum, PetscMax(PetscAbsScalar(row), PetscAbsScalar(col)));
    }
  return (PetscBool)(sum <= 64 * PETSC_MACHINE_EPSILON * max);
}

PetscBool ElementMatricesAreRigid(const ElementMatrices *m, PetscInt bs)
{
  for (PetscInt r = 0; r < m->nref; r++)
    if (!IsRigid(m->K + (PetscCount)r * m->ndof * m->ndof, m->ndof, bs)) return PETSC_FALSE;
  return (PetscBool)(m->nref > 0);
}

static PetscInt LatticeNode(const ElementLattice *l, PetscCount e, PetscInt a)
{
  const PetscInt i = (PetscInt)(e % (l->nx - 1)), row = (PetscInt)(e / (l->nx - 1)), j = row % (l->ny - 1), k = row / (l->ny - 1);

  return ((k + (a >> 2)) * l->ny + j + ((a >> 1) & 1)) * l->nx + i + (a & 1);
}

/* y += the result, rounded as it would be stored; mesh NULL: the lattice */
PetscErrorCode ElementApplyLow_Host(ElementPrecision precision, const ElementMatrices *m, const ElementMesh *mesh, const ElementLattice *l, PetscBool transpose, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  const PetscInt n = m->ndof, bs = mesh ? mesh->bs : l->bs, nen = n / bs;
  PetscInt      *dof, ndofs = 0;
  float         *u, *sum;
  PetscBool     *rigid;

  PetscFunctionBegin;
  if (!mesh) ndofs = l->nx * l->ny * l->nz * bs;
  for (PetscCount k = 0; mesh && k < (PetscCount)m->nel * nen; k++) ndofs = PetscMax(ndofs, (mesh->conn[k] + 1) * bs);
  PetscCall(PetscMalloc4(n, &dof, n, &u, m->nref, &rigid, ndofs, &sum));
  PetscCall(PetscArrayzero(sum, ndofs));
  for (PetscInt r = 0; r < m->nref; r++) rigid[r] = IsRigid(m->K + (PetscCount)r * n * n, n, bs);
  for (PetscInt e = 0; e < m->nel; e++) {
    const PetscInt     ref   = m->ref ? m->ref[e] : 0;
    const PetscScalar *K     = ref == ELEMENT_FULL ? m->full + (PetscCount)m->fullindex[e] * n * n : m->K + (PetscCount)ref * n * n;
    const float        scale = ref == ELEMENT_FULL || !m->scale ? 1 : (float)PetscRealPart(m->scale[e]);

    if (ref == ELEMENT_NONE) continue;
    for (PetscInt i = 0; i < n; i++) {
      dof[i] = (mesh ? mesh->conn[(PetscCount)e * nen + i / bs] : LatticeNode(l, e, i / bs)) * bs + i % bs;
      u[i]   = !mask || mask[dof[i]] ? Round(precision, x[dof[i]]) : 0;
    }
    if (ref >= 0 && rigid[ref])
      for (PetscInt i = n - 1; i >= 0; i--) u[i] -= u[i % bs];
    for (PetscInt i = 0; i < n; i++) {
      float f = 0;

      for (PetscInt j = 0; j < n; j++) f += (float)PetscRealPart(K[transpose ? j * n + i : i * n + j]) * u[j];
      if (!mask || mask[dof[i]]) sum[dof[i]] += scale * f;
    }
  }
  for (PetscInt i = 0; i < ndofs; i++) y[i] += Round(precision, sum[i]);
  PetscCall(PetscFree4(dof, u, rigid, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}
