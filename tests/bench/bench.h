/*
  What every benchmark shares: median times, the copy bandwidth of the memory in use, and records.

  A record is one line of text and, with -csv FILE, one row appended to that file (text with commas in quotation marks):
  date,commit,gpu,ranks,case,implementation,metric,value,unit,floor,relative_error,note
  Options of every benchmark: -csv FILE, -commit TEXT, -repeats N (median of N, 15).
*/
#pragma once

#include <petscvec.h>

typedef struct {
  MPI_Comm  comm;
  PetscBool gpu; /* measure on the GPU */
  PetscInt  repeats;
  PetscReal bandwidth; /* bytes read plus written a second by a plain copy, in the memory measured */
  char      csv[PETSC_MAX_PATH_LEN], commit[64], device[256];
} Bench;

typedef PetscErrorCode (*BenchFunction)(void *ctx);

/* gpu: what is timed runs on the GPU. Measures the bandwidth. */
PETSC_INTERN PetscErrorCode BenchBegin(MPI_Comm, PetscBool gpu, Bench *);

/* Median seconds of one call after two calls that are not counted; the GPU is waited for before and after each */
PETSC_INTERN PetscErrorCode BenchTime(Bench *, BenchFunction, void *ctx, PetscReal *seconds);

/* floor is in the unit of value; floor and error below zero are left empty; note may be NULL */
PETSC_INTERN PetscErrorCode BenchRecord(Bench *, const char *testcase, const char *implementation, const char *metric, PetscReal value, const char *unit, PetscReal floor, PetscReal error, const char *note);

/* What could not be measured, and why */
PETSC_INTERN PetscErrorCode BenchFailed(Bench *, const char *testcase, const char *implementation, const char *metric, const char *note);
