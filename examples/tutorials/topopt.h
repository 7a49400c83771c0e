/*
  Topology optimization of a block of nx*ny*nz unit cubes (SIMP): where should the material go?

    minimize    c = sum of weight_l f_l^T u_l       compliance, over load cases l
    subject to  K(rho) u_l = f_l,  K = sum_e E_e P_e^T K0 P_e,  E_e = Emin + rho_e^p (E0 - Emin)
                sum of rho <= volfrac times the number of elements,  0 <= x <= 1

  x -> density filter -> Heaviside projection -> rho. Each file holds one step of it:

    topopt.c             options, the optimization loop, the tests
    topopt_problem.c     supports, loads and passive regions of the four problems
    topopt_fem.c         element matrix, operators on all grids, solves, element energies
    topopt_filter.c      filter, projection, and their transposes
    topopt_oc.c          optimality criteria update
    topopt_output.c      .vti and .vtu files
    topopt_checkpoint.c  write and read the state
*/
#pragma once

#include <petscdmda.h>
#include <petscksp.h>

#if PetscDefined(USE_COMPLEX)
  #error "topopt is written for real scalars: use a PETSc configured with --with-scalar-type=real"
#endif

typedef enum {
  PROBLEM_CANTILEVER,
  PROBLEM_TORSION,
  PROBLEM_BRIDGE,
  PROBLEM_MBB
} ProblemType;

#define MAX_CASES  3
#define MAX_STAGES 16
#define MAX_BOXES  16

/* What is optimized: geometry, supports, loads */
typedef struct {
  ProblemType type;
  PetscInt    n[3];                  /* elements in x, y, z */
  PetscInt    ncase;                 /* load cases */
  PetscReal   weight[MAX_CASES];     /* of the load cases, sum 1 */
  PetscBool   published_supports;    /* MBB: the supports of the publication, which leave rigid-body motions free */
  PetscInt    deck;                  /* layers of solid elements at the top */
  PetscReal   box[2][6 * MAX_BOXES]; /* void, solid boxes x0,x1,y0,y1,z0,z1 in fractions of the domain */
  PetscInt    nbox[2];
} Problem;

/* Continuation: iteration it runs with the values of its stage */
typedef struct {
  PetscInt  nstage, its[MAX_STAGES]; /* iterations of each stage but the last */
  PetscReal penal[MAX_STAGES], beta[MAX_STAGES], move[MAX_STAGES], rmin[MAX_STAGES];
} Schedule;

typedef struct _n_Coarse *Coarse;

/* Grids, operator and solver. Local elements are numbered as the owned entries of a global vector of `cells`. */
typedef struct {
  DM             nodes, cells; /* 3 displacements a node; 1 density an element */
  const Problem *problem;
  PetscScalar    K0[24 * 24]; /* element matrix for E = 1, nodes in binary order */
  PetscReal      E0, Emin;
  Mat            K;
  KSP            ksp;
  Vec            f[MAX_CASES], u[MAX_CASES], r;
  Vec            E;       /* modulus of every element */
  Coarse         coarse;  /* moduli of coarse grids */
  PetscReal      factor;  /* true residuals above factor*rtol are an error */
  PetscBool      keep_on; /* continue after a failed solve */
  PetscBool      capture; /* SHELLFEM: by element matrices, as any other type */
} FEM;

typedef struct {
  PetscInt  its;      /* of all load cases */
  PetscReal residual; /* largest true relative residual |f - K u|/|f| */
} SolveInfo;

typedef struct {
  DM           cells;
  PetscInt     width; /* ghost elements */
  PetscReal    rmin, beta, eta;
  PetscReal   *weight; /* [2*width+1]^3 */
  Vec          sum, work;
  signed char *passive; /* of the local elements: -1 void, 1 solid, 0 free */
} Filter;

/* What the loop carries from one iteration to the next, and a checkpoint holds (with FEM.u) */
typedef struct {
  PetscInt  it; /* iterations done */
  Vec       x;  /* design of iteration it + 1 */
  PetscReal change;
} State;

extern const char *const ProblemTypes[];

PetscErrorCode ProblemSetFromOptions(Problem *);
PetscErrorCode ProblemCheckSupports(const Problem *, DM nodes);
PetscErrorCode ProblemGetFixed(const Problem *, DM nodes, PetscInt coarsening, IS *);
PetscErrorCode ProblemGetLoad(const Problem *, DM nodes, PetscInt loadcase, Vec f);
PetscErrorCode ProblemGetPassive(const Problem *, DM cells, signed char **);

PetscErrorCode FEMCreate(FEM *, const Problem *, DM nodes, DM cells);
PetscErrorCode FEMSolve(FEM *, Vec rho, PetscReal penal, PetscReal compliance[], SolveInfo *);
PetscErrorCode FEMSensitivity(FEM *, Vec rho, PetscReal penal, Vec dc);
PetscErrorCode FEMDestroy(FEM *);

PetscErrorCode FilterCreate(Filter *, DM cells, PetscInt width, signed char *passive);
PetscErrorCode FilterSet(Filter *, PetscReal rmin, PetscReal beta, PetscReal eta);
PetscErrorCode FilterApply(Filter *, Vec x, Vec filtered, Vec rho);
PetscErrorCode FilterApplyTranspose(Filter *, Vec filtered, Vec drho, Vec dx);
PetscErrorCode FilterDestroy(Filter *);

PetscErrorCode OCUpdate(Filter *, PetscReal volfrac, PetscReal move, Vec dc, Vec dv, Vec x, PetscReal *change);

PetscErrorCode OutputVTI(const char file[], FEM *, Vec rho);
PetscErrorCode OutputVTU(const char file[], FEM *, Vec rho, PetscReal threshold);

PetscErrorCode CheckpointWrite(const char file[], const FEM *, const State *);
PetscErrorCode CheckpointRead(const char file[], FEM *, State *);
