/*
  The lattice operator of MATSHELLFEM on the host.
*/
#include "element.h"

void ElementApplyLattice_Host(const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  ElementApplyLatticeDense_Host(m, lattice, PETSC_FALSE, PETSC_FALSE, mask, x, y);
}

void ElementApplyTransposeLattice_Host(const ElementMatrices *m, const ElementLattice *lattice, ElementPlan plan, const unsigned char *mask, const PetscScalar *x, PetscScalar *y)
{
  ElementApplyLatticeDense_Host(m, lattice, PETSC_TRUE, PETSC_FALSE, mask, x, y);
}

PetscErrorCode ElementPlanCreateLattice(const ElementMatrices *m, const ElementLattice *lattice, ElementPlan *plan)
{
  *plan = NULL;
  return PETSC_SUCCESS;
}

PetscErrorCode ElementPlanDestroy(ElementPlan *plan)
{
  *plan = NULL;
  return PETSC_SUCCESS;
}

const char *ElementPlanName(ElementPlan plan)
{
  return "dense";
}
