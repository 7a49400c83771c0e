/*
  Stand-ins for matrices of public collections: the same kind of graph and similar row lengths, in any size, the same on
  any number of processes. Values are in [0.5, 1.5).

    name     like                          graph                                                       default size
    road     roadNet-TX                    square grid with 69 % of its edges                          360^2
    web      web-Google, webbase-1M        directed, skewed in- and out-degrees, links mostly in hosts 90000
    cage     cage12, cage15                7-dimensional lattice 3^5 x 4^2, neighbours and diagonal    15552 (x 4 dims at scale 4)
    pwtk     pwtk, shell models            9-point grid, 6 unknowns a node                             36^2 nodes
    consph   consph, solid models          27-point grid, 3 unknowns a node                            13^3 nodes
    grid5, grid7, grid9, grid27            the stencils in 2 and 3 dimensions                          360^2, 44^3, 256^2, 30^3
*/
#pragma once

#include <petscmat.h>

/* Names of all kinds, NULL at the end */
PETSC_INTERN const char *const BenchMatrixNames[];

/* scale multiplies the number of rows, about */
PETSC_INTERN PetscErrorCode BenchMatrixCreate(MPI_Comm, const char name[], PetscReal scale, Mat *);

/* For the kinds on grids: P of an aggregation of 2 nodes in each direction, one column for each aggregate and unknown; for
   others aggregates of 4 consecutive rows. smooth: (I - 2/3 D^-1 A) P as smoothed aggregation has it. */
PETSC_INTERN PetscErrorCode BenchProlongatorCreate(Mat A, const char name[], PetscReal scale, PetscBool smooth, Mat *P);
