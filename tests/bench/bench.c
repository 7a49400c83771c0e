#include "bench.h"
#include <time.h>
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

#define COPY_BYTES 268435456 /* far more than any cache */
#define COPIES     8         /* on the GPU, in a row: launching them takes no time that counts */

static PetscErrorCode Synchronize(const Bench *b)
{
  PetscFunctionBeginUser;
#if PetscDefined(HAVE_CUDA)
  if (b->gpu) PetscCallCUDA(cudaDeviceSynchronize());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(void *ctx)
{
  char **buffer = (char **)ctx;

  PetscFunctionBeginUser;
  PetscCall(PetscMemcpy(buffer[0], buffer[1], COPY_BYTES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
static PetscErrorCode CopyDevice(void *ctx)
{
  char **buffer = (char **)ctx;

  PetscFunctionBeginUser;
  for (int k = 0; k < COPIES; k++) PetscCallCUDA(cudaMemcpyAsync(buffer[k % 2], buffer[1 - k % 2], COPY_BYTES, cudaMemcpyDeviceToDevice, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode MeasureBandwidth(Bench *b)
{
  char     *buffer[2];
  PetscReal seconds;

  PetscFunctionBeginUser;
#if PetscDefined(HAVE_CUDA)
  if (b->gpu) {
    PetscCallCUDA(cudaMalloc((void **)&buffer[0], COPY_BYTES));
    PetscCallCUDA(cudaMalloc((void **)&buffer[1], COPY_BYTES));
    PetscCallCUDA(cudaMemset(buffer[1], 0, COPY_BYTES));
    PetscCall(BenchTime(b, CopyDevice, buffer, &seconds));
    PetscCallCUDA(cudaFree(buffer[0]));
    PetscCallCUDA(cudaFree(buffer[1]));
    b->bandwidth = 2. * COPIES * COPY_BYTES / seconds;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(PetscMalloc2(COPY_BYTES, &buffer[0], COPY_BYTES, &buffer[1]));
  PetscCall(PetscMemzero(buffer[1], COPY_BYTES));
  PetscCall(BenchTime(b, Copy, buffer, &seconds));
  PetscCall(PetscFree2(buffer[0], buffer[1]));
  b->bandwidth = 2. * COPY_BYTES / seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BenchBegin(MPI_Comm comm, PetscBool gpu, Bench *b)
{
  PetscFunctionBeginUser;
  b->comm    = comm;
  b->gpu     = gpu;
  b->repeats = 15;
  b->csv[0]  = 0;
  PetscCall(PetscStrncpy(b->commit, "unknown", sizeof b->commit));
  PetscCall(PetscStrncpy(b->device, "none", sizeof b->device));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", b->csv, sizeof b->csv, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-commit", b->commit, sizeof b->commit, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeats", &b->repeats, NULL));
  PetscCheck(b->repeats > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "-repeats %" PetscInt_FMT " must be positive", b->repeats);
#if PetscDefined(HAVE_CUDA)
  if (gpu) {
    struct cudaDeviceProp property;

    PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
    PetscCallCUDA(cudaGetDeviceProperties(&property, 0));
    PetscCall(PetscStrncpy(b->device, property.name, sizeof b->device));
  }
#else
  PetscCheck(!gpu, comm, PETSC_ERR_SUP, "This PETSc was built without CUDA");
#endif
  PetscCall(MeasureBandwidth(b));
  PetscCall(PetscPrintf(comm, "copy bandwidth %.1f GB/s (read plus written), %s\n", (double)(b->bandwidth / 1e9), gpu ? b->device : "host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BenchTime(Bench *b, BenchFunction run, void *ctx, PetscReal *seconds)
{
  PetscReal *t;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(b->repeats, &t));
  for (PetscInt i = -2; i < b->repeats; i++) {
    PetscLogDouble start, end;

    PetscCallMPI(MPI_Barrier(b->comm));
    PetscCall(Synchronize(b));
    PetscCall(PetscTime(&start));
    PetscCall(run(ctx));
    PetscCall(Synchronize(b));
    PetscCallMPI(MPI_Barrier(b->comm));
    PetscCall(PetscTime(&end));
    if (i >= 0) t[i] = (PetscReal)(end - start);
  }
  PetscCall(PetscSortReal(b->repeats, t));
  *seconds = t[b->repeats / 2];
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Text with a comma or quotation marks stands in quotation marks, those in it twice */
static void WriteField(FILE *file, const char *text, char end)
{
  const char *quote = strpbrk(text, ",\"\n") ? "\"" : "";

  fputs(quote, file);
  for (; *text; text++) {
    if (*text == '"') fputc('"', file);
    fputc(*text, file);
  }
  fprintf(file, "%s%c", quote, end);
}

static PetscErrorCode WriteRow(Bench *b, const char *testcase, const char *implementation, const char *metric, const char *value, const char *unit, const char *floor, const char *error, const char *note)
{
  PetscMPIInt rank, size;
  PetscBool   exists;
  FILE       *file;
  char        date[32];
  time_t      now = time(NULL);

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(b->comm, &rank));
  PetscCallMPI(MPI_Comm_size(b->comm, &size));
  if (!b->csv[0] || rank) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscTestFile(b->csv, 'r', &exists));
  file = fopen(b->csv, "a");
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot append to %s", b->csv);
  if (!exists) fprintf(file, "date,commit,gpu,ranks,case,implementation,metric,value,unit,floor,relative_error,note\n");
  strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
  WriteField(file, date, ',');
  WriteField(file, b->commit, ',');
  WriteField(file, b->device, ',');
  fprintf(file, "%d,", size);
  WriteField(file, testcase, ',');
  WriteField(file, implementation, ',');
  WriteField(file, metric, ',');
  fprintf(file, "%s,%s,%s,%s,", value, unit, floor, error);
  WriteField(file, note ? note : "", '\n');
  fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BenchRecord(Bench *b, const char *testcase, const char *implementation, const char *metric, PetscReal value, const char *unit, PetscReal floor, PetscReal error, const char *note)
{
  char v[32], f[32] = "", e[32] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(v, sizeof v, "%.5g", (double)value));
  if (floor >= 0) PetscCall(PetscSNPrintf(f, sizeof f, "%.5g", (double)floor));
  if (error >= 0) PetscCall(PetscSNPrintf(e, sizeof e, "%.2g", (double)error));
  PetscCall(PetscPrintf(b->comm, "%-24s %-22s %-20s %12s %-10s", testcase, implementation, metric, v, unit));
  if (floor >= 0) PetscCall(PetscPrintf(b->comm, " floor %s (%.2f times)", f, floor > 0 ? (double)(value / floor) : 0.));
  if (error >= 0) PetscCall(PetscPrintf(b->comm, " error %s", e));
  PetscCall(PetscPrintf(b->comm, "%s%s\n", note ? "  " : "", note ? note : ""));
  PetscCall(WriteRow(b, testcase, implementation, metric, v, unit, f, e, note));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BenchFailed(Bench *b, const char *testcase, const char *implementation, const char *metric, const char *note)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(b->comm, "%-24s %-22s %-20s %12s  %s\n", testcase, implementation, metric, "failed", note));
  PetscCall(WriteRow(b, testcase, implementation, metric, "failed", "", "", "", note));
  PetscFunctionReturn(PETSC_SUCCESS);
}
