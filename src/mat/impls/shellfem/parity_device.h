/*
  The parity form of hexahedra with 3 dofs a node (element_lattice_host.c), for .cu files: eight 3 x 3 blocks in one of three
  forms, of which CUBIC costs 41 operations and the others at most 66 and 93.
*/
#pragma once

#include "elements_device.h"

#define GENERAL 0 /* eight 3 x 3 blocks */
#define RIGID   1 /* the same, modes of translation left out */
#define CUBIC   2 /* RIGID, for a cube of isotropic material: eight constants */

template <class T> struct Parity {
  T H[8][3][3], cubic[8];
};

/* Pairs of modes without coupling when translations cost no energy, as in the host kernel */
static __host__ __device__ __forceinline__ constexpr bool Decoupled(int p, int q)
{
  return p == 0 || q == 0 || (p != q && (p == 7 || q == 7));
}

/*
  f = scale times block g of u. For CUBIC: c holds the constants times the scale: 0, 1 for g = 0 (stretch), 2, 3 for g = 7,
  each as diagonal minus off-diagonal and off-diagonal; 4, 5 for g with one bit; 6 (shear, of rank one), 7 (mode 7) for two.
*/
template <int FORM, class T> static __device__ __forceinline__ void Block(const T H[3][3], const T c[8], T scale, int g, const T u[3], T f[3])
{
  const int bits = (g & 1) + ((g >> 1) & 1) + (g >> 2);

  if (FORM != CUBIC) {
#pragma unroll
    for (int r = 0; r < 3; r++) {
      T sum = 0;

#pragma unroll
      for (int s = 0; s < 3; s++)
        if (FORM == GENERAL || !Decoupled(g ^ (1 << r), g ^ (1 << s))) sum += H[r][s] * u[s];
      f[r] = sum * scale;
    }
  } else if (bits == 0 || bits == 3) {
    const T d = c[bits ? 2 : 0], s = c[bits ? 3 : 1] * (u[0] + u[1] + u[2]);

#pragma unroll
    for (int r = 0; r < 3; r++) f[r] = d * u[r] + s;
  } else { /* component k is the one apart from the others, i and j */
    const int one = bits == 1 ? g : 7 ^ g, k = one >> 1, i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2;

    if (bits == 1) {
      f[k] = 0;
      f[i] = c[4] * u[i] + c[5] * u[j];
      f[j] = c[5] * u[i] + c[4] * u[j];
    } else {
      f[k] = c[7] * u[k];
      f[i] = f[j] = c[6] * (u[i] + u[j]);
    }
  }
}

/* The constants of CUBIC, if the blocks have that form to rounding */
static bool GetCubic(const ElementParityBlocks H, double cubic[8])
{
  const double a = PetscRealPart(H[0][0][0]), b = PetscRealPart(H[0][0][1]), c = PetscRealPart(H[7][0][0]), d = PetscRealPart(H[7][0][1]);
  const double constants[8] = {a - b, b, c - d, d, (double)PetscRealPart(H[1][1][1]), (double)PetscRealPart(H[1][1][2]), (double)PetscRealPart(H[3][0][1]), (double)PetscRealPart(H[3][2][2])};

  for (int g = 0; g < 8; g++) {
    const int bits = (g & 1) + ((g >> 1) & 1) + (g >> 2), one = bits == 1 ? g : 7 ^ g;

    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++) {
        double expected = bits == 0 || bits == 3 ? (r == s ? (bits ? c : a) : (bits ? d : b)) : bits == 1 ? constants[r == s ? 4 : 5]
                                                                                                          : constants[6];

        if (Decoupled(g ^ (1 << r), g ^ (1 << s))) expected = 0;
        else if (bits == 2 && r == s && r == one >> 1) expected = constants[7];
        if (PetscAbsReal(PetscRealPart(H[g][r][s]) - expected) > 64 * PETSC_MACHINE_EPSILON * PetscAbsReal(a) && !Decoupled(g ^ (1 << r), g ^ (1 << s))) return false;
      }
  }
  for (int i = 0; i < 8; i++) cubic[i] = constants[i];
  return true;
}

/* The blocks for a kernel, and their form */
template <class T> static int ParitySet(const ElementParityBlocks H, bool rigid, Parity<T> *parity)
{
  double    cubic[8];
  const int form = rigid && GetCubic(H, cubic) ? CUBIC : rigid ? RIGID
                                                               : GENERAL;

  for (int g = 0; g < 8; g++)
    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++) parity->H[g][r][s] = PetscRealPart(H[g][r][s]);
  for (int i = 0; i < 8 && form == CUBIC; i++) parity->cubic[i] = cubic[i];
  return form;
}
