/*
  Conversion of stored values. Half precision by arithmetic on bits, so that no processor extension is needed; rounding is
  to nearest, ties to even.
*/
#pragma once

#include "encode.h"

static inline float FloatFromBits(uint32_t bits)
{
  float f;

  memcpy(&f, &bits, sizeof(f));
  return f;
}

static inline uint32_t BitsFromFloat(float f)
{
  uint32_t bits;

  memcpy(&bits, &f, sizeof(bits));
  return bits;
}

static inline float FloatFromHalf(uint16_t h)
{
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7fffu) << 13;

  if ((h & 0x7c00u) == 0x7c00u) return FloatFromBits(sign | 0x7f800000u | rest); /* infinity, NaN */
  return FloatFromBits(sign | BitsFromFloat(FloatFromBits(rest) * 0x1p112f));    /* subnormals come out right, too */
}

/* infinity beyond 65504 */
static inline uint16_t HalfFromDouble(double v)
{
  const double   a    = fabs(v);
  const uint16_t sign = signbit(v) ? 0x8000u : 0;
  int            e;
  double         q;

  if (isnan(v)) return 0x7e00u;
  if (a >= 65520.) return sign | 0x7c00u;
  if (a == 0.) return sign;
  (void)frexp(a, &e); /* a = f 2^e, 1/2 <= f < 1 */
  if (e < -13) e = -13;
  q = nearbyint(ldexp(a, 11 - e)); /* units in the last place of 11 significant bits */
  return sign | (uint16_t)((e + 13) * 1024 + (int)q);
}

static inline uint16_t BFloatFromFloat(float f)
{
  uint32_t bits = BitsFromFloat(f);

  if (f != f) return (uint16_t)((bits >> 16) | 0x40u);
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return (uint16_t)(bits >> 16);
}

static inline float FloatFromBFloat(uint16_t b)
{
  return FloatFromBits((uint32_t)b << 16);
}

/* Stored value k of row r without the common factor */
static inline PetscScalar MACKOValue(const MACKOMatrix *A, PetscInt r, PetscCount k)
{
  switch (A->type) {
  case MAT_MACKO_VALUES_FP16: return (PetscReal)FloatFromHalf(((const uint16_t *)A->values)[k]);
  case MAT_MACKO_VALUES_BF16: return (PetscReal)FloatFromBFloat(((const uint16_t *)A->values)[k]);
  case MAT_MACKO_VALUES_INT8: return A->rowscale[r] * (PetscReal)((const signed char *)A->values)[k];
  default: return ((const PetscScalar *)A->values)[k];
  }
}
