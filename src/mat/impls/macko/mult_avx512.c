/*
  The bitmap product for processors with AVX-512, real double: eight columns at a time, a shuffle puts stored
  values where the bits of the bitmap are. The compiler does not find these instructions by itself; everything
  here has a portable twin in mult_host.c, against which it is tested.
*/
#include "mult.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  #include <immintrin.h>

  #define ROWS   4
  #define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,f16c,popcnt")))

/*
  Shuffles that spread packed values over the lanes of a mask, zero elsewhere: for each mask, which byte goes where. A
  shuffle from a table of 6 KB is faster than the expand instructions for 8 and 16 bits on the processors tried.
*/
static uint8_t spread16[256][16], spread8[256][16];

static void __attribute__((constructor)) SpreadSetUp(void)
{
  for (int mask = 0; mask < 256; mask++)
    for (int lane = 0, rank = 0; lane < 8; lane++) {
      const int set = (mask >> lane) & 1;

      spread8[mask][lane]          = (uint8_t)(set ? rank : 0x80);
      spread8[mask][lane + 8]      = 0x80;
      spread16[mask][2 * lane]     = (uint8_t)(set ? 2 * rank : 0x80);
      spread16[mask][2 * lane + 1] = (uint8_t)(set ? 2 * rank + 1 : 0x80);
      rank += set;
    }
}

/* Values k to k + popcount(mask) - 1, spread over the lanes of the mask, zero elsewhere */
static inline AVX512 __attribute__((always_inline)) __m512d Spread(MatMACKOValueType type, const void *values, PetscCount k, unsigned char mask)
{
  const __m128i v16 = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)((const uint16_t *)values + k)), _mm_loadu_si128((const __m128i *)spread16[mask]));

  switch (type) {
  case MAT_MACKO_VALUES_FP16: return _mm512_cvtps_pd(_mm256_cvtph_ps(v16));
  case MAT_MACKO_VALUES_BF16: return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v16), 16)));
  case MAT_MACKO_VALUES_INT8: return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)((const signed char *)values + k)), _mm_loadu_si128((const __m128i *)spread8[mask]))));
  default: return _mm512_maskz_expandloadu_pd((__mmask8)mask, (const double *)values + k);
  }
}

/* COUNT rows from r on, sums in sum: together, so that x is loaded once and the rows' chains of offsets overlap */
static inline AVX512 __attribute__((always_inline)) void Sums(MatMACKOValueType type, int count, const MACKOMatrix *A, PetscInt r, const double *x, double sum[])
{
  const PetscInt  n = A->n, words = MACKOWords(A);
  const uint64_t *bits = A->bitmap + (size_t)r * words;
  __m512d         s[ROWS];
  PetscCount      k[ROWS];
  PetscInt        c = 0;

  for (int u = 0; u < count; u++) {
    s[u] = _mm512_setzero_pd();
    k[u] = A->start[r + u];
  }
  for (PetscInt w = 0; w < words; w++) {
    uint64_t word[ROWS];

    for (int u = 0; u < count; u++) word[u] = bits[(size_t)u * words + w];
    for (int byte = 0; byte < 8 && c < n; byte++, c += 8) {
      const __m512d xc = c + 8 <= n ? _mm512_loadu_pd(x + c) : _mm512_maskz_loadu_pd((__mmask8)((1u << (n - c)) - 1), x + c);

      for (int u = 0; u < count; u++) {
        const unsigned char mask = (unsigned char)word[u];

        /* under the mask: a NaN of x where the matrix has no entry stays out */
        s[u] = _mm512_mask3_fmadd_pd(Spread(type, A->values, k[u], mask), xc, s[u], (__mmask8)mask);
        k[u] += __builtin_popcount(mask);
        word[u] >>= 8;
      }
    }
  }
  for (int u = 0; u < count; u++) sum[u] = _mm512_reduce_add_pd(s[u]);
}

static inline AVX512 __attribute__((always_inline)) void Rows(MatMACKOValueType type, const MACKOMatrix *A, PetscBool add, const double *x, double *y)
{
  double sum[ROWS];

  for (PetscInt r = 0; r < A->m; r += ROWS) {
    const int count = (int)PetscMin(ROWS, A->m - r);

    if (count == ROWS)
      Sums(type, ROWS, A, r, x, sum);
    else
      for (int u = 0; u < count; u++) Sums(type, 1, A, r + u, x, sum + u);
    for (int u = 0; u < count; u++) {
      const double v = A->factor * (type == MAT_MACKO_VALUES_INT8 ? A->rowscale[r + u] : 1.) * sum[u];

      y[r + u] = add ? y[r + u] + v : v;
    }
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
  if (A->bits || !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw")) return PETSC_FALSE;
  Mult(A, add, x, y);
  return PETSC_TRUE;
}
#else
PetscBool MACKOMult_AVX512(const MACKOMatrix *A, PetscBool add, const PetscScalar *x, PetscScalar *y)
{
  return PETSC_FALSE;
}
#endif
