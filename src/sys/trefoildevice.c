#include <petscsys.h>

#if defined(PETSC_HAVE_CUDA)
  #include "trefoildevice.h"

PetscErrorCode TrefoilGetStream(cudaStream_t *stream)
{
  PetscDeviceContext context;
  void              *handle;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
  *stream = *(cudaStream_t *)handle;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TrefoilUpload(size_t bytes, const void *host, void **device)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *device = NULL;
  if (!bytes || !host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TrefoilGetStream(&stream));
  PetscCallCUDA(cudaMalloc(device, bytes));
  /* on the stream of the kernels: a plain copy orders only what runs on the default stream */
  PetscCallCUDA(cudaMemcpyAsync(*device, host, bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* the caller may change or free the host's array */
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
