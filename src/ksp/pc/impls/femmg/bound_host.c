/*
  Bounds of eigenvalues by elements on the host: see bound.h
*/
#include "bound.h"
#include "../../../../sys/trefoilsimd.h"

/* In place: the lower triangle L of a block with L L' = block; rows of dofs without stiffness become zero */
static void FactorBlock(PetscInt b, PetscInt stride, PetscScalar *A)
{
  for (PetscInt j = 0; j < b; j++) {
    const PetscScalar d = A[j * stride + j];

    for (PetscInt k = 0; k < j; k++) A[j * stride + j] -= A[j * stride + k] * A[j * stride + k];
    if (PetscRealPart(A[j * stride + j]) <= 16 * PETSC_MACHINE_EPSILON * PetscAbsScalar(d)) {
      for (PetscInt i = 0; i < b; i++) A[i * stride + j] = 0;
      continue;
    }
    A[j * stride + j] = PetscSqrtScalar(A[j * stride + j]);
    for (PetscInt i = j + 1; i < b; i++) {
      for (PetscInt k = 0; k < j; k++) A[i * stride + j] -= A[i * stride + k] * A[j * stride + k];
      A[i * stride + j] /= A[j * stride + j];
    }
  }
}

/* v = L^-1 v, entries of v being `stride` apart */
static void SolveBlock(PetscInt b, const PetscScalar *L, PetscInt lstride, PetscScalar *v, PetscInt stride)
{
  for (PetscInt i = 0; i < b; i++) {
    for (PetscInt k = 0; k < i; k++) v[i * stride] -= L[i * lstride + k] * v[k * stride];
    v[i * stride] = L[i * lstride + i] != (PetscScalar)0. ? v[i * stride] / L[i * lstride + i] : 0;
  }
}

/* C = B^-1/2 K B^-1/2 with Cholesky factors for the roots; L: work */
static void Normalize(PetscInt n, PetscInt b, const PetscScalar *K, PetscScalar *L, PetscScalar *C)
{
  for (PetscInt i = 0; i < n * n; i++) L[i] = C[i] = K[i];
  for (PetscInt r = 0; r < n; r += b) FactorBlock(b, n, L + r * n + r);
  for (PetscInt r = 0; r < n; r += b)
    for (PetscInt q = 0; q < n; q++) SolveBlock(b, L + r * n + r, n, C + r * n + q, n);
  for (PetscInt r = 0; r < n; r += b)
    for (PetscInt q = 0; q < n; q++) SolveBlock(b, L + r * n + r, n, C + q * n + r, 1);
}

/* D = C C */
static inline __attribute__((always_inline)) void Square(PetscInt n, const PetscScalar *restrict C, PetscScalar *restrict D)
{
  for (PetscInt r = 0; r < n; r++) {
    PetscScalar *d = D + r * n;

    for (PetscInt q = 0; q < n; q++) d[q] = 0;
    for (PetscInt k = 0; k < n; k++) {
      const PetscScalar c = C[r * n + k];

      for (PetscInt q = 0; q < n; q++) d[q] += c * C[k * n + q];
    }
  }
}

TREFOIL_SIMD static void Square24(const PetscScalar *C, PetscScalar *D)
{
  Square(24, C, D);
}

TREFOIL_SIMD static void SquareAny(PetscInt n, const PetscScalar *C, PetscScalar *D)
{
  Square(n, C, D);
}

static PetscReal ScaleToNorm1(PetscInt n, PetscScalar *C)
{
  PetscReal sum = 0;

  for (PetscInt i = 0; i < n * n; i++) sum += PetscRealPart(C[i] * PetscConj(C[i]));
  sum = PetscSqrtReal(sum);
  for (PetscInt i = 0; i < n * n && sum > 0; i++) C[i] /= sum;
  return sum;
}

/* A bound of the eigenvalues of C, which is lost, after m squarings */
static PetscReal EigenvalueBound(PetscInt n, PetscInt m, PetscScalar *C, PetscScalar *work)
{
  PetscReal bound = ScaleToNorm1(n, C), root = 1;

  for (; m > 0 && bound > 0; m--) {
    PetscScalar *swap = C;
    PetscReal    norm;

    if (n == 24)
      Square24(C, work);
    else
      SquareAny(n, C, work);
    C    = work;
    work = swap;
    norm = ScaleToNorm1(n, C);
    root /= 2;
    bound *= PetscPowReal(norm, root);
  }
  return bound;
}

static PetscReal ElementBound(PetscInt n, PetscInt b, PetscInt m, const PetscScalar *K, PetscScalar *work)
{
  Normalize(n, b, K, work, work + n * n);
  return EigenvalueBound(n, m, work + n * n, work + 2 * n * n);
}

void FEMMGBoundDiagonal_Host(const ElementMatrices *m, const FEMMGBox *box, PetscInt dim, PetscInt bs, PetscInt b, PetscReal *lambda, PetscScalar *work, PetscScalar *blocks)
{
  const PetscInt   n = m->ndof, nx = FEMMGBoxCells(box, dim, 0), ny = FEMMGBoxCells(box, dim, 1);
  const PetscCount size = (PetscCount)n * n;

  for (PetscInt r = 0; r < m->nref; r++) lambda[r] = ElementBound(n, b, 5, m->K + r * size, work);
  for (PetscInt e = 0; e < m->nel; e++) {
    const PetscInt     ref = m->ref ? m->ref[e] : 0, i = e % nx, j = e / nx % ny, k = e / nx / ny;
    const PetscScalar *K = ref == ELEMENT_FULL ? m->full + m->fullindex[e] * size : m->K + ref * size;
    PetscScalar        s;

    if (ref == ELEMENT_NONE) continue;
    s = ref == ELEMENT_FULL ? ElementBound(n, b, 2, K, work) : lambda[ref] * (m->scale ? m->scale[e] : 1);
    for (PetscInt r = 0; r < n; r++) {
      const PetscInt   a   = r / bs;
      const PetscCount dof = (PetscCount)(((k + (a >> 2)) * box->n[1] + j + (a >> 1 & 1)) * box->n[0] + i + (a & 1)) * bs + r % bs;

      for (PetscInt q = r / b * b; q < r / b * b + b; q++) blocks[dof / b * b * b + q % b * b + dof % b] += s * K[r * n + q];
    }
  }
}
