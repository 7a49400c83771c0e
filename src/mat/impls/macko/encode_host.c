#include <math.h>
#include <string.h>
#include "values.h"

PetscInt64 MACKOBytes(const MACKOMatrix *A)
{
  PetscInt64 bytes = (PetscInt64)(((PetscInt64)A->m + 1) * (PetscInt64)sizeof(PetscCount)) + A->stored * MACKOValueBits(A->type) / 8;

  bytes += A->bits ? (A->stored * A->bits + 7) / 8 : 8 * (PetscInt64)A->m * MACKOWords(A);
  if (A->rowscale) bytes += (PetscInt64)sizeof(PetscReal) * A->m;
  return bytes;
}

/* Entries of a delta encoding: the nonzeros, and a stored zero for every 2^bits positions skipped */
static void MACKOCount(PetscInt m, const PetscInt i[], const PetscInt j[], const PetscScalar a[], PetscCount *nonzeros, PetscCount stored[4])
{
  const PetscInt bits[] = {1, 2, 4, 8};

  *nonzeros = 0;
  for (int b = 0; b < 4; b++) stored[b] = 0;
  for (PetscInt r = 0; r < m; r++) {
    PetscInt previous = -1;

    for (PetscInt k = i[r]; k < i[r + 1]; k++) {
      if (a[k] == (PetscScalar)0.) continue;
      (*nonzeros)++;
      for (int b = 0; b < 4; b++) stored[b] += 1 + ((j[k] - previous - 1) >> bits[b]);
      previous = j[k];
    }
  }
}

/* The value as it will be read back */
static PetscReal MACKORound(MatMACKOValueType type, PetscReal v)
{
  switch (type) {
  case MAT_MACKO_VALUES_FP16: return (PetscReal)FloatFromHalf(HalfFromDouble((double)v));
  case MAT_MACKO_VALUES_BF16: return (PetscReal)FloatFromBFloat(BFloatFromFloat((float)v));
  default: return v;
  }
}

static PetscBool MACKOExact(MatMACKOValueType type, PetscCount n, const PetscScalar a[])
{
  if (PetscDefined(USE_COMPLEX)) return PETSC_FALSE;
  for (PetscCount k = 0; k < n; k++) {
    const PetscReal v = PetscRealPart(a[k]);

    if (MACKORound(type, v) != v && v == v) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscErrorCode MACKOChooseType(PetscCount n, const PetscScalar a[], MatMACKOValueType *type)
{
  PetscFunctionBegin;
  if (*type == MAT_MACKO_VALUES_AUTO) *type = MACKOExact(MAT_MACKO_VALUES_FP16, n, a) ? MAT_MACKO_VALUES_FP16 : MACKOExact(MAT_MACKO_VALUES_BF16, n, a) ? MAT_MACKO_VALUES_BF16
                                                                                                                                                        : MAT_MACKO_VALUES_SCALAR;
  PetscCheck(!PetscDefined(USE_COMPLEX) || *type == MAT_MACKO_VALUES_SCALAR, PETSC_COMM_SELF, PETSC_ERR_SUP, "A MACKO matrix stores complex values as PetscScalar only, not %s; use -mat_macko_values scalar", MatMACKOValueTypes[*type]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MACKOStore(MACKOMatrix *A, PetscInt r, PetscCount k, PetscScalar v)
{
  const PetscReal re = PetscRealPart(v);
  PetscReal       error;

  PetscFunctionBegin;
  switch (A->type) {
  case MAT_MACKO_VALUES_FP16:
    PetscCheck(PetscIsInfOrNanReal(re) || PetscAbsReal(re) < 65520., PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Value %g of row %" PetscInt_FMT " is beyond half precision, 65504; use -mat_macko_values bf16 or scalar", (double)re, r);
    ((uint16_t *)A->values)[k] = HalfFromDouble((double)re);
    break;
  case MAT_MACKO_VALUES_BF16:
    ((uint16_t *)A->values)[k] = BFloatFromFloat((float)re);
    break;
  case MAT_MACKO_VALUES_INT8:
    ((signed char *)A->values)[k] = A->rowscale[r] > 0 ? (signed char)PetscMax(-127., PetscMin(127., PetscRintReal(re / A->rowscale[r]))) : 0;
    break;
  default:
    ((PetscScalar *)A->values)[k] = v;
  }
  error = PetscAbsScalar(MACKOValue(A, r, k) - v);
  if (error > A->maxerror) A->maxerror = error;
  if (error > 0) A->rmserror += error * error;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MACKOSetDelta(MACKOMatrix *A, PetscCount k, PetscInt d)
{
  const PetscInt perbyte = 8 / A->bits;

  A->deltas[k / perbyte] |= (unsigned char)(d << (A->bits * (k % perbyte)));
}

/* One row; k: its first entry, returns the next */
static PetscErrorCode MACKOEncodeRow(MACKOMatrix *A, PetscInt r, PetscInt n, const PetscInt j[], const PetscScalar a[], PetscCount *k)
{
  PetscInt previous = -1;

  PetscFunctionBegin;
  if (A->type == MAT_MACKO_VALUES_INT8) {
    PetscReal largest = 0;

    for (PetscInt l = 0; l < n; l++) {
      PetscCheck(!PetscIsInfOrNanScalar(a[l]), PETSC_COMM_SELF, PETSC_ERR_FP, "Row %" PetscInt_FMT " has a NaN or infinity, which int8 values cannot hold; use -mat_macko_values bf16", r);
      largest = PetscMax(largest, PetscAbsScalar(a[l]));
    }
    A->rowscale[r] = largest / 127;
  }
  for (PetscInt l = 0; l < n; l++) {
    PetscInt skip = j[l] - previous - 1;

    if (a[l] == (PetscScalar)0.) continue;
    if (A->bits) {
      for (; skip >= 1 << A->bits; skip -= 1 << A->bits) {
        PetscCall(MACKOStore(A, r, *k, 0.));
        MACKOSetDelta(A, (*k)++, (1 << A->bits) - 1);
      }
      MACKOSetDelta(A, *k, skip);
    } else
      A->bitmap[(size_t)r * MACKOWords(A) + j[l] / 64] |= (uint64_t)1 << (j[l] % 64);
    PetscCall(MACKOStore(A, r, (*k)++, a[l]));
    previous = j[l];
  }
  A->start[r + 1] = *k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MACKOEncode_Host(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar a[], MatMACKOEncoding encoding, PetscInt bits, MatMACKOValueType type, MACKOMatrix *A)
{
  PetscCount stored[4], k = 0;
  PetscInt   best = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->m      = m;
  A->n      = n;
  A->factor = 1;
  A->type   = type;
  PetscCall(MACKOChooseType(i[m], a, &A->type));
  MACKOCount(m, i, j, a, &A->nonzeros, stored);
  for (PetscInt b = 0; b < 4; b++) { /* the smallest delta, or the one asked for */
    if (bits ? 1 << b == bits : stored[b] * (MACKOValueBits(A->type) + (1 << b)) < stored[best] * (MACKOValueBits(A->type) + (1 << best))) best = b;
  }
  A->bits   = 1 << best;
  A->stored = stored[best];
  if (encoding != MAT_MACKO_ENCODING_DELTA) {
    const PetscInt64 delta = MACKOBytes(A);

    A->bits   = 0;
    A->stored = A->nonzeros;
    if (encoding == MAT_MACKO_ENCODING_AUTO && delta <= MACKOBytes(A)) {
      A->bits   = 1 << best;
      A->stored = stored[best];
    }
  }
  PetscCall(PetscMalloc1((PetscCount)m + 1, &A->start));
  /* room beyond the end: kernels read whole vectors */
  PetscCall(PetscCalloc1((size_t)A->stored * MACKOValueBits(A->type) / 8 + 64, (char **)&A->values));
  if (A->bits)
    PetscCall(PetscCalloc1((size_t)A->stored * A->bits / 8 + 64, &A->deltas));
  else
    PetscCall(PetscCalloc1((size_t)m * MACKOWords(A) + 1, &A->bitmap));
  if (A->type == MAT_MACKO_VALUES_INT8) PetscCall(PetscMalloc1(m, &A->rowscale));
  A->start[0] = 0;
  for (PetscInt r = 0; r < m; r++) PetscCall(MACKOEncodeRow(A, r, i[r + 1] - i[r], j + i[r], a + i[r], &k));
  if (A->nonzeros) A->rmserror = PetscSqrtReal(A->rmserror / (PetscReal)A->nonzeros);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt MACKODecodeRow_Host(const MACKOMatrix *A, PetscInt r, PetscInt cols[], PetscScalar vals[])
{
  PetscInt n = 0, column = -1;

  if (A->bits) {
    for (PetscCount k = A->start[r]; k < A->start[r + 1]; k++) {
      const PetscScalar v = MACKOValue(A, r, k);

      column += MACKODelta(A, k) + 1;
      if (v == (PetscScalar)0.) continue; /* padding, or rounded to zero */
      if (cols) cols[n] = column;
      if (vals) vals[n] = A->factor * v;
      n++;
    }
  } else {
    PetscCount k = A->start[r];

    for (PetscInt w = 0; w < MACKOWords(A); w++)
      for (uint64_t word = A->bitmap[(size_t)r * MACKOWords(A) + w]; word; word &= word - 1) {
        const PetscScalar v = MACKOValue(A, r, k++);

        if (v == (PetscScalar)0.) continue; /* rounded to zero */
        if (cols) cols[n] = 64 * w + __builtin_ctzll(word);
        if (vals) vals[n] = A->factor * v;
        n++;
      }
  }
  return n;
}

PetscErrorCode MACKODuplicate(const MACKOMatrix *A, MACKOMatrix *B)
{
  const size_t values = (size_t)A->stored * MACKOValueBits(A->type) / 8 + 64, deltas = (size_t)A->stored * A->bits / 8 + 64, words = (size_t)A->m * MACKOWords(A) + 1;

  PetscFunctionBegin;
  *B       = *A;
  B->start = NULL;
  if (!A->start) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1((PetscCount)A->m + 1, &B->start));
  PetscCall(PetscArraycpy(B->start, A->start, (PetscCount)A->m + 1));
  PetscCall(PetscMalloc1(values, (char **)&B->values));
  PetscCall(PetscMemcpy(B->values, A->values, values));
  if (A->deltas) {
    PetscCall(PetscMalloc1(deltas, &B->deltas));
    PetscCall(PetscArraycpy(B->deltas, A->deltas, deltas));
  }
  if (A->bitmap) {
    PetscCall(PetscMalloc1(words, &B->bitmap));
    PetscCall(PetscArraycpy(B->bitmap, A->bitmap, words));
  }
  if (A->rowscale) {
    PetscCall(PetscMalloc1(A->m, &B->rowscale));
    PetscCall(PetscArraycpy(B->rowscale, A->rowscale, A->m));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MACKODestroy(MACKOMatrix *A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->start));
  PetscCall(PetscFree(A->values));
  PetscCall(PetscFree(A->deltas));
  PetscCall(PetscFree(A->bitmap));
  PetscCall(PetscFree(A->rowscale));
  PetscCall(PetscMemzero(A, sizeof(*A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
