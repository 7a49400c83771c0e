/*
  Private parts of MATMACKO. A matrix is set and changed in a builder, a MATAIJ which assembly compresses and frees.
*/
#pragma once

#include "../../../sys/trefoilimpl.h"
#include <petsc/private/vecimpl.h>
#include "mult.h"

typedef struct {
  Mat        builder; /* while values are set */
  PetscBool  columnoriented;
  PetscCount nstash, allocatedstash; /* values set in an assembled parallel matrix */
  struct {
    PetscInt    row, col;
    PetscScalar value;
  } * stash;
  InsertMode        stashmode;
  MatMACKOEncoding  encoding;
  PetscInt          bits;
  MatMACKOValueType type;
  MACKOMatrix       enc;     /* sequential: the matrix */
  PetscInt         *rowcols; /* of MatGetRow() */
  PetscScalar      *rowvals;
  PetscBool         rowactive;
#if defined(PETSC_HAVE_CUDA)
  MACKODevice device;
#endif

  Mat        A, B;   /* parallel: diagonal and off-diagonal block, both MATSEQMACKO */
  PetscInt  *garray; /* global numbers of B's columns */
  Vec        ghosts;
  VecScatter scatter;
} Mat_MACKO;

PETSC_INTERN PetscLogEvent MAT_MACKOEncode;

PETSC_INTERN PetscErrorCode MatCreate_SeqMACKO(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIMACKO(Mat);
PETSC_INTERN PetscErrorCode MatSetUp_MACKO(Mat); /* what both share: operations, options, data */
PETSC_INTERN PetscErrorCode MatMACKOGetBuilder(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatMACKOToAIJ(Mat, Mat *);           /* a new MATAIJ */
PETSC_INTERN PetscErrorCode MatMACKOEncodeFrom(Mat, Mat seqaij); /* sequential */

static inline PetscBool MatUsesDevice_MACKO(Mat A, Vec x)
{
#if defined(PETSC_HAVE_CUDA) && !defined(PETSC_USE_COMPLEX)
  return !A->boundtocpu && x->ops->bindtocpu && !x->boundtocpu ? PETSC_TRUE : PETSC_FALSE;
#else
  return PETSC_FALSE;
#endif
}
