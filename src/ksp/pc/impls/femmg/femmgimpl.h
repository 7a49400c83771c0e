/*
  Private parts of PCFEMMG

  Level 0 is the coarsest, as in PCMG. The operator of the finest is the matrix that the PC is given, those below are
  MATSHELLFEM on coarse DMDAs, P_l' A_l P_l by elements (coarse.h), with P_l = M_l I_l (transfer.h). M_l holds the dofs
  that the matrix holds (zero rows or columns) or that no element reaches: the correction is exactly zero there, and
  P_l' A_l P_l is what the elements alone give. A coarse dof is held where its diagonal is zero, which is
  where all fine dofs around it are held. A support of few fine nodes therefore holds no coarse node: it adds to the
  energy of coarse functions, as it should.

  The cycle itself is an inner PCMG.
*/
#pragma once

#include "../../../../sys/trefoilimpl.h"
#include "../../../../mat/impls/shellfem/shellfemimpl.h"
#include <petsc/private/pcimpl.h>
#include <petscksp.h>
#include <pcfemmg.h>
#include "coarse.h"

#define FEMMG_MAX_LEVELS 32

typedef enum {
  FEMMG_JACOBI,
  FEMMG_PBJACOBI,
  FEMMG_CHEBYSHEV
} FEMMGSmootherType;

/* The inverse of the (block) diagonal of bound.h */
typedef struct {
  PetscInt     b;       /* 1, or dofs of a node */
  Vec          inverse; /* for b = 1 */
  PetscScalar *blocks;  /* else [block][b][b], column by column */
} FEMMGSmoother;

typedef struct {
  DM            da;
  Mat           A;
  Mat           P;    /* from the level below; none at level 0 */
  Vec           free; /* 1 where a dof is free, 0 where it is held */
  FEMMGSmoother smoother;
} FEMMGLevel;

typedef struct {
  PetscInt          nlevels, wanted; /* 0: as many as sensible */
  PetscInt          limit;           /* equations that are solved directly */
  PetscInt          smooths;
  FEMMGSmootherType smoothertype;
  PCMGCycleType     cycle;
  FEMMGLevel        level[FEMMG_MAX_LEVELS];
  Mat               coarsest; /* AIJ of level 0 */
  PC                mg;
} PC_FEMMG;

PETSC_INTERN PetscLogEvent PC_FEMMGCoarsen, PC_FEMMGTransfer;

/* femmg_transfer.c */
PETSC_INTERN PetscErrorCode FEMMGGridsCreate(DM coarse, DM fine, FEMMGGrids *);
PETSC_INTERN PetscErrorCode FEMMGTransferSetFree(Mat P, Vec free);
PETSC_INTERN PetscErrorCode FEMMGTransferGetMask(Mat P, const FEMMGGrids **, const unsigned char **);

/* femmg_coarse.c */
PETSC_INTERN PetscErrorCode FEMMGCheckOperator(PC, Mat);
PETSC_INTERN PetscErrorCode FEMMGCreateCoarseMat(DM, Mat fine, Mat *);
PETSC_INTERN PetscErrorCode FEMMGGetFree(Mat, Vec free);
PETSC_INTERN PetscErrorCode FEMMGCoarsenOperator(Mat A, Mat P, Mat coarse, Vec coarsefree);

/* femmg_smoother.c */
PETSC_INTERN PetscErrorCode FEMMGSmootherSetUp(Mat A, PetscInt b, FEMMGSmoother *);
PETSC_INTERN PetscErrorCode FEMMGSmootherConfigure(KSP, FEMMGSmootherType, PetscInt smooths, FEMMGSmoother *);
PETSC_INTERN PetscErrorCode FEMMGSmootherFinish(KSP);
PETSC_INTERN PetscErrorCode FEMMGSmootherReset(FEMMGSmoother *);
