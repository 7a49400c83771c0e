static char help[] = "Sizes of MATMACKO on random masks against the published formulas, and its choice of encoding.\n"
                     "  -density of nonzeros, -size of the square matrix\n\n";

#include <trefoil.h>
#include <matmacko.h>

/* Bits per entry of the matrix, row offsets (64 bits a row) left out */
static PetscErrorCode MeasureBits(Mat A, MatMACKOEncoding encoding, PetscInt bits, PetscInt size, PetscReal *measured)
{
  PetscInt64 bytes;

  PetscFunctionBeginUser;
  PetscCall(MatMACKOSetEncoding(A, encoding, bits));
  PetscCall(MatMACKOGetStorage(A, &bytes, NULL));
  *measured = 8 * ((PetscReal)bytes - 8 * (size + 1)) / ((PetscReal)size * size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat            A;
  PetscInt       size = 640, smallest = 0;
  PetscReal      density = 0.5, d, measured, least = PETSC_MAX_REAL;
  PetscRandom    rand;
  MatInfo        info;
  const PetscInt bits[] = {0, 1, 2, 4, 8}; /* 0: bitmap */

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-density", &density, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-size", &size, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rand));
  PetscCall(PetscRandomSetFromOptions(rand));
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, size, size, size, size));
  PetscCall(MatSetType(A, MATMACKO));
  PetscCall(MatMACKOSetValueType(A, MAT_MACKO_VALUES_FP16));
  PetscCall(MatSetUp(A));
  for (PetscInt r = 0; r < size; r++)
    for (PetscInt c = 0; c < size; c++) {
      PetscReal u;

      PetscCall(PetscRandomGetValueReal(rand, &u));
      if (u < density) PetscCall(MatSetValue(A, r, c, 1. + u, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  d = info.nz_used / ((PetscReal)size * size);
  for (int b = 0; b < 5; b++) {
    const PetscReal power = PetscPowInt(2, bits[b]), z = PetscPowReal(1 - d, power), width = 16 + bits[b];
    const PetscReal best = bits[b] ? d * width : 16 * d + 1, worst = bits[b] ? (d + (1 - d) / power) * width : best, expected = bits[b] ? d / (1 - z) * width : best;

    PetscCall(MeasureBits(A, bits[b] ? MAT_MACKO_ENCODING_DELTA : MAT_MACKO_ENCODING_BITMAP, bits[b], size, &measured));
    if (measured < least) {
      least    = measured;
      smallest = b;
    }
    /* the end of a row needs no padding, which the formulas do not know: 1/d positions of `size` */
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s%" PetscInt_FMT ": between best and worst: %s, expected: %s\n", bits[b] ? "delta " : "bitmap ", bits[b], PetscBools[measured <= worst * 1.001 && measured >= best * (1 - 1e-9)], PetscBools[PetscAbsReal(measured / expected - 1) < 0.02 + 1 / (d * size)]));
    if (!(measured <= worst * 1.001 && measured >= best * (1 - 1e-9))) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %g, best %g, worst %g\n", (double)measured, (double)best, (double)worst));
  }
  PetscCall(MeasureBits(A, MAT_MACKO_ENCODING_AUTO, 0, size, &measured));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "auto takes the smallest: %s, which is %s%" PetscInt_FMT "\n", PetscBools[measured == least], bits[smallest] ? "delta " : "bitmap ", bits[smallest]));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscRandomDestroy(&rand));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: !complex
    test:
      suffix: bitmap
      args: -density {{0.3 0.5 0.7 0.9}}
    test:
      suffix: delta4
      args: -density {{0.15 0.2}}
    test:
      suffix: delta8
      args: -density {{0.02 0.05}}

TEST*/
