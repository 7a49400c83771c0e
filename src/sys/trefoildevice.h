/*
  What the types share to use a GPU through PETSc: its current stream, and copies of host arrays that the work on this
  stream sees. Needs a PETSc with CUDA.
*/
#pragma once

#include <petscdevice_cuda.h>

PETSC_INTERN PetscErrorCode TrefoilGetStream(cudaStream_t *);

/* *device = a copy of `bytes` bytes at host, NULL for none; cudaFree() releases it. Ordered before later work on the stream. */
PETSC_INTERN PetscErrorCode TrefoilUpload(size_t bytes, const void *host, void **device);
