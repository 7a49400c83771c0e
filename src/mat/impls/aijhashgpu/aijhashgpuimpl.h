/*
  What the files of MATAIJHASHGPU share. The type derives from MATSEQAIJ and MATMPIAIJ: a base matrix is created and a few
  of its operations are replaced; the functions they had, which libpetsc does not export, are kept to be called.
*/
#pragma once

#include "../../../sys/trefoilimpl.h"
#include <mataijhashgpu.h>
#include "spgemm/spgemm.h"
#include "spmv/spmv.h"

/* A->spptr of both types; the blocks of a MATMPIAIJHASHGPU are MATSEQAIJHASHGPU and hold the copies on the GPU */
typedef struct {
  MatAIJHashGPUStatistics statistics;          /* of the product that made this matrix; products == -1: none did */
  SpMVDevice             *device;              /* copy of a sequential matrix on the GPU, NULL until used there */
  PetscObjectState        state, nonzerostate; /* of the copy */
  PetscObjectState        sortedstate;         /* nonzero state of a sequential matrix whose columns were found to ascend */
} Mat_AIJHashGPU;

PETSC_INTERN PetscLogEvent MAT_HashGPU_Analysis, MAT_HashGPU_Symbolic, MAT_HashGPU_Numeric, MAT_HashGPU_Gather, MAT_HashGPU_Upload;

/* The operations of MATSEQAIJ and MATMPIAIJ */
PETSC_INTERN PetscErrorCode MatSeqAIJHashGPUGetBaseOps(const struct _MatOps **);
PETSC_INTERN PetscErrorCode MatMPIAIJHashGPUGetBaseOps(const struct _MatOps **);
/* Composes (or with add PETSC_FALSE removes) under this type's name what the base type composed under its own */
PETSC_INTERN PetscErrorCode MatAIJHashGPUComposeAliases(Mat, const char base[], const char derived[], PetscBool add);
PETSC_INTERN PetscErrorCode MatAIJHashGPUViewInfo(Mat, PetscViewer);
/* PETSC_TRUE where a GPU is present; touches no device */
PETSC_INTERN PetscErrorCode MatAIJHashGPUHasDevice(PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJHashGPUSetVecType(Mat);

/* The matrix that a conversion fills: its own copy, the one given, or A itself */
PETSC_INTERN PetscErrorCode MatAIJHashGPUConvertTarget(Mat A, MatReuse, Mat *B);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJHashGPU(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJHashGPU(Mat, MatType, MatReuse, Mat *);
PETSC_EXTERN PetscErrorCode MatCreate_SeqAIJHashGPU(Mat);
PETSC_EXTERN PetscErrorCode MatCreate_MPIAIJHashGPU(Mat);

/* aijprivate.c: gives i, j and a, all from PetscMalloc1(), to the MATSEQAIJHASHGPU matrix C, which becomes assembled */
PETSC_INTERN PetscErrorCode MatSeqAIJHashGPUSetCSR(Mat C, PetscInt *i, PetscInt *j, PetscScalar *a);
PETSC_INTERN PetscErrorCode MatMPIAIJHashGPUSetGhostVecType(Mat, VecType);

/* aijhashgpudevice.c: the copy on the GPU, and operations that use it when their vectors are there */
PETSC_INTERN PetscErrorCode MatSeqAIJHashGPUUpload(Mat, SpMVDevice **);
PETSC_INTERN PetscErrorCode MatSeqAIJHashGPUFreeDevice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJHashGPUSetDeviceOps(Mat, PetscBool);

/* aijhashgpuproduct.c, mpiaijhashgpuproduct.c */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJHashGPU(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIAIJHashGPU(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJHashGPU_Dense(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJHashGPU_MAIJ(Mat);
PETSC_INTERN PetscErrorCode MatProductAIJHashGPUUsesHash(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJHashGPUSetProductBlockSizes(Mat);
/* Whether a product runs on the GPU, by its option; an error where there is none */
PETSC_INTERN PetscErrorCode MatProductAIJHashGPUUsesDevice(Mat, PetscBool *);
/* A link of a product; the statistics are added to */
PETSC_INTERN PetscErrorCode MatAIJHashGPUSymbolic(Mat C, PetscBool device, const SpGEMMMatrix *, const SpGEMMMatrix *, MatAIJHashGPUStatistics *, PetscInt **i, PetscInt **j);
PETSC_INTERN PetscErrorCode MatAIJHashGPUNumeric(Mat C, PetscBool device, const SpGEMMMatrix *, const SpGEMMMatrix *, const PetscInt i[], const PetscInt j[], PetscScalar a[]);
/* The same on the GPU, structure and values of the factors and of the result on the host */
PETSC_INTERN PetscErrorCode MatAIJHashGPUSymbolicOnDevice(const SpGEMMMatrix *, const SpGEMMMatrix *, PetscInt **i, PetscInt **j);
PETSC_INTERN PetscErrorCode MatAIJHashGPUNumericOnDevice(const SpGEMMMatrix *, const SpGEMMMatrix *, const PetscInt i[], const PetscInt j[], PetscScalar a[]);
