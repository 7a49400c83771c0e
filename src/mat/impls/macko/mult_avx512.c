/*
  The bitmap product for processors with AVX-512 VBMI2, real double: eight columns at a time, an expand instruction puts
  stored values where the bits of the bitmap are. The compiler does not find these instructions by itself; everything
  here has a portable twin in mult_host.c, against which it is tested.
*/
#include "mult.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  #include <immintrin.h>

  #define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,f16c,popcnt")))

/* Values k to k + popcount(mask) - 1, spread over the lanes of the mask, zero elsewhere */
static inline AVX512 __attribute__((always_inline)) __m512d Expand(MatMACKOValueType type, const void *values, PetscCount k, __mmask8 mask)
{
  switch (type) {
  case MAT_MACKO_VALUES_FP16: return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_maskz_expand_epi16(mask, _mm_loadu_si128((const __m128i *)((const uint16_t *)values + k)))));
  case MAT_MACKO_VALUES_BF16: return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_maskz_expand_epi16(mask, _mm_loadu_si128((const __m128i *)((const uint16_t *)values + k)))), 16)));
  case MAT_MACKO_VALUES_INT8: return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_maskz_expand_epi8(mask, _mm_loadl_epi64((const __m128i *)((const signed char *)values + k)))));
  default: return _mm512_maskz_expandloadu_pd(mask, (const double *)values + k);
  }
}

/* Row r; x holds n entries, of which the last n % 8 are read under a mask */
static inline AVX512 __attribute__((always_inline)) double Row(MatMACKOValueType type, const MACKOMatrix *A, PetscInt r, const double *x)
{
  const PetscInt       n      = A->n, words = MACKOWords(A);
  const unsigned char *bits   = (const unsigned char *)(A->bitmap + (size_t)r * words);
  __m512d              sum[4] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd()};
  PetscCount           k      = A->start[r];
  PetscInt             c      = 0;

  for (; c + 32 <= n; c += 32)
    for (int u = 0; u < 4; u++) {
      const unsigned char mask = bits[c / 8 + u];

      /* under the mask: a NaN of x where the matrix has no entry stays out */
      sum[u] = _mm512_mask3_fmadd_pd(Expand(type, A->values, k, mask), _mm512_loadu_pd(x + c + 8 * u), sum[u], mask);
      k += __builtin_popcount(mask);
    }
  for (; c < n; c += 8) {
    const unsigned char mask = bits[c / 8];

    sum[0] = _mm512_fmadd_pd(Expand(type, A->values, k, mask), _mm512_maskz_loadu_pd(mask, x + c), sum[0]);
    k += __builtin_popcount(mask);
  }
  return _mm512_reduce_add_pd(_mm512_add_pd(_mm512_add_pd(sum[0], sum[1]), _mm512_add_pd(sum[2], sum[3])));
}

static inline AVX512 __attribute__((always_inline)) void Rows(MatMACKOValueType type, const MACKOMatrix *A, PetscBool add, const double *x, double *y)
{
  for (PetscInt r = 0; r < A->m; r++) {
    const double sum = A->factor * (type == MAT_MACKO_VALUES_INT8 ? A->rowscale[r] : 1.) * Row(type, A, r, x);

    y[r] = add ? y[r] + sum : sum;
  }
}

static AVX512 void Mult(const MACKOMatrix *A, PetscBool add, const double *x, double *y)
{
  switch (A->type) {
  case MAT_MACKO_VALUES_FP16: Rows(MAT_MACKO_VALUES_FP16, A, add, x, y); break;
  case MAT_MACKO_VALUES_BF16: Rows(MAT_MACKO_VALUES_BF16, A, add, x, y); break;
  case MAT_MACKO_VALUES_INT8: Rows(MAT_MACKO_VALUES_INT8, A, add, x, y); break;
  default: Rows(MAT_MACKO_VALUES_SCALAR, A, add, x, y);
  }
}

PetscBool MACKOMult_AVX512(const MACKOMatrix *A, PetscBool add, const PetscScalar *x, PetscScalar *y)
{
  if (A->bits || !__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw")) return PETSC_FALSE;
  Mult(A, add, x, y);
  return PETSC_TRUE;
}
#else
PetscBool MACKOMult_AVX512(const MACKOMatrix *A, PetscBool add, const PetscScalar *x, PetscScalar *y)
{
  return PETSC_FALSE;
}
#endif
