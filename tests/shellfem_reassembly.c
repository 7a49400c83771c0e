static char help[] = "SHELLFEM: assembled again after MatZeroEntries(), against aij; the same elements need no allocation.\n"
                     "  -lattice         : nodes of a DMDA, else a mesh with nodes in random order\n"
                     "  options of the problem: see shellfemtest.h\n\n";

#include "shellfemtest.h"

static PetscErrorCode Again(Problem *p, const char *what, Mat A, Mat B)
{
  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(A));
  PetscCall(MatZeroEntries(B));
  PetscCall(Assemble(p, A));
  PetscCall(Assemble(p, B));
  PetscCall(CompareProduct(p, what, A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other scales, the same elements: no memory is kept for each assembly */
static PetscErrorCode CheckAllocation(Problem *p, Mat B)
{
  PetscLogDouble before, after;

  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(B));
  PetscCall(Assemble(p, B));
  PetscCall(PetscMallocGetCurrentUsage(&before));
  for (PetscInt i = 0; i < 3; i++) {
    p->step++;
    PetscCall(MatZeroEntries(B));
    PetscCall(AddElements(p, B));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PetscMallocGetCurrentUsage(&after));
  PetscCall(Check("memory in use afterwards", PetscAbsReal((PetscReal)(after - before)), 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool lattice = PETSC_FALSE;
  Problem   p;
  Mat       A, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TrefoilInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lattice", &lattice, NULL));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, lattice, &p));
  PetscCall(ProblemCreateMats(&p, &A, &B));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(Again(&p, "the same", A, B));
  p.step = 1;
  PetscCall(Again(&p, "other scales", A, B));
  PetscCall(CheckAllocation(&p, B));
  PetscCall(Again(&p, "other scales, after that", A, B));
  p.reverse = PETSC_TRUE;
  PetscCall(Again(&p, "reverse order", A, B));
  p.voids = .3;
  PetscCall(Again(&p, "fewer elements", A, B));
  p.voids = 0;
  PetscCall(Again(&p, "all elements", A, B));
  p.references += 2;
  PetscCall(Again(&p, "more reference matrices", A, B));
  p.simplices = .5;
  PetscCall(Again(&p, "other shapes", A, B));
  p.full = .5;
  PetscCall(Again(&p, "matrices of their own", A, B));
  p.step = 2;
  PetscCall(Again(&p, "  other ones", A, B));
  p.full = p.simplices = 0;
  p.contrast           = 1e-9;
  PetscCall(Again(&p, "soft elements", A, B));
  p.contrast = 0;
  PetscCall(Again(&p, "elements of stiffness zero", A, B));
  p.contrast = 1;
  PetscCall(Again(&p, "all elements alike", A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/shellfem_reassembly_1.out
    test:
      suffix: 1
      nsize: {{1 3}}
      args: -lattice {{0 1}}
    test:
      suffix: calls
      nsize: 2
      args: -call mixed -lattice {{0 1}} -dof 1
    test:
      suffix: gpu
      requires: cuda
      args: -vec_type cuda -lattice {{0 1}}

TEST*/
