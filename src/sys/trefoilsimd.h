/*
  TREFOIL_SIMD before a host kernel's definition compiles it once for each vector extension and lets the loader
  pick at run time, so that one binary is portable and still uses AVX2 or AVX-512 where they exist. The compiler's
  own vectorizer does the rest; the kernels contain no intrinsics.
*/
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && !defined(__CUDACC__)
  #define TREFOIL_SIMD __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
  #define TREFOIL_SIMD
#endif
