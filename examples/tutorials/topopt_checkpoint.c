/*
  The state as a PETSc binary file: numbers that must fit, the iteration, the design, the displacements. Vectors are in
  natural order, so that another number of processes can read them. The file is replaced only when the new one is whole.
*/
#include "topopt.h"
#include <petscviewer.h>
#include <stdio.h>

#define CHECKPOINT_VERSION 1
#define CHECKPOINT_LENGTH  7

static void Head(const FEM *fem, PetscInt it, PetscInt head[CHECKPOINT_LENGTH])
{
  const Problem *p = fem->problem;

  head[0] = CHECKPOINT_VERSION;
  head[1] = (PetscInt)p->type;
  for (int d = 0; d < 3; d++) head[2 + d] = p->n[d];
  head[5] = p->ncase;
  head[6] = it;
}

static PetscErrorCode Open(const char file[], PetscFileMode mode, PetscViewer *viewer)
{
  PetscFunctionBeginUser;
  PetscCall(PetscViewerCreate(PETSC_COMM_WORLD, viewer));
  PetscCall(PetscViewerSetType(*viewer, PETSCVIEWERBINARY));
  PetscCall(PetscViewerBinarySetSkipInfo(*viewer, PETSC_TRUE));
  PetscCall(PetscViewerFileSetMode(*viewer, mode));
  PetscCall(PetscViewerFileSetName(*viewer, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckpointWrite(const char file[], const FEM *fem, const State *state)
{
  PetscInt    head[CHECKPOINT_LENGTH];
  char        part[PETSC_MAX_PATH_LEN];
  PetscViewer viewer;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  Head(fem, state->it, head);
  PetscCall(PetscSNPrintf(part, sizeof(part), "%s.part", file));
  PetscCall(Open(part, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinaryWrite(viewer, head, CHECKPOINT_LENGTH, PETSC_INT));
  PetscCall(PetscViewerBinaryWrite(viewer, &state->change, 1, PETSC_REAL));
  PetscCall(VecView(state->x, viewer));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) PetscCall(VecView(fem->u[l], viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) PetscCheck(!rename(part, file), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot rename %s to %s", part, file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckpointRead(const char file[], FEM *fem, State *state)
{
  static const char *const what[CHECKPOINT_LENGTH] = {"version of the file", "problem", "nx", "ny", "nz", "number of load cases", ""};
  PetscInt                 head[CHECKPOINT_LENGTH], want[CHECKPOINT_LENGTH];
  PetscViewer              viewer;
  PetscBool                exists;

  PetscFunctionBeginUser;
  PetscCall(PetscTestFile(file, 'r', &exists));
  PetscCheck(exists, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "-restart %s: there is no such file that can be read; a run with -checkpoint FILE writes one", file);
  PetscCall(Open(file, FILE_MODE_READ, &viewer));
  PetscCall(PetscViewerBinaryRead(viewer, head, CHECKPOINT_LENGTH, NULL, PETSC_INT));
  Head(fem, head[6], want);
  for (int i = 0; i < CHECKPOINT_LENGTH - 1; i++) PetscCheck(head[i] == want[i], PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "-restart %s: its %s is %" PetscInt_FMT ", this run's is %" PetscInt_FMT, file, what[i], head[i], want[i]);
  state->it = head[6];
  PetscCall(PetscViewerBinaryRead(viewer, &state->change, 1, NULL, PETSC_REAL));
  PetscCall(VecLoad(state->x, viewer));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) PetscCall(VecLoad(fem->u[l], viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
