/*
  The peers of MATSHELLFEM on the GPU: the assembled matrix, as CSR and as blocks of 3 x 3
*/
#include "cubes.h"
#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_REAL_DOUBLE) && !PetscDefined(USE_COMPLEX) && !PetscDefined(USE_64BIT_INDICES)
  #include <petscmat.h>
  #include <petscdevice_cuda.h>
  #include <cusparse.h>

  #define PetscCallSparse(...) \
    do { \
      cusparseStatus_t status_ = __VA_ARGS__; \
      PetscCheck(status_ == CUSPARSE_STATUS_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_GPU, "cuSPARSE error %d (%s)", (int)status_, cusparseGetErrorString(status_)); \
    } while (0)

typedef struct {
  PetscInt     n, rows, nnz;
  PetscInt    *start, *column; /* of the CSR matrix */
  PetscScalar *value;
} Assembled;

/* Which of the classes 0 (first), 1 (inside), 2 (last) node i is of */
static PetscInt Side(PetscInt n, PetscInt i)
{
  return i == 0 ? 0 : i == n ? 2
                             : 1;
}

/* stencil[side][neighbour][3][3]: neighbour (d + 1) + 3 (..) + 9 (..) of a node on that side, as sums over the cubes around */
static void Stencils(PetscScalar (*stencil)[27][3][3])
{
  PetscScalar K[576];

  CubeMatrix(3, K);
  for (PetscInt side = 0; side < 27; side++) {
    const PetscInt at[3] = {side % 3, side / 3 % 3, side / 9};

    memset(stencil[side], 0, sizeof stencil[side]);
    for (PetscInt a = 0; a < 8; a++) {
      PetscBool inside = PETSC_TRUE;

      for (PetscInt d = 0; d < 3; d++) inside = (PetscBool)(inside && !(at[d] == 0 && (a >> d) & 1) && !(at[d] == 2 && !((a >> d) & 1)));
      for (PetscInt b = 0; b < 8 && inside; b++) {
        const PetscInt t = (b & 1) - (a & 1) + 1 + 3 * (((b >> 1) & 1) - ((a >> 1) & 1) + 1) + 9 * ((b >> 2) - (a >> 2) + 1);

        for (PetscInt c = 0; c < 3; c++)
          for (PetscInt d = 0; d < 3; d++) stencil[side][t][c][d] += K[(a * 3 + c) * 24 + b * 3 + d];
      }
    }
  }
}

/* Neighbours of a node that exist, ascending: their place in the stencil and their number; returns how many */
static PetscInt Neighbours(PetscInt n, PetscInt i, PetscInt j, PetscInt k, PetscInt place[27], PetscInt node[27])
{
  PetscInt count = 0;

  for (PetscInt t = 0; t < 27; t++) {
    const PetscInt x = i + t % 3 - 1, y = j + t / 3 % 3 - 1, z = k + t / 9 - 1;

    if (PetscMin(x, PetscMin(y, z)) < 0 || PetscMax(x, PetscMax(y, z)) > n) continue;
    place[count]  = t;
    node[count++] = (z * (n + 1) + y) * (n + 1) + x;
  }
  return count;
}

/* block: values and columns of blocks of 3 x 3, rows of blocks; else of CSR */
static PetscErrorCode Assemble(Assembled *m, PetscBool block)
{
  PetscScalar(*stencil)[27][3][3];
  PetscInt row = 0, at = 0, place[27], node[27];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(27, &stencil));
  Stencils(stencil);
  m->start[0] = 0;
  for (PetscInt k = 0; k <= m->n; k++)
    for (PetscInt j = 0; j <= m->n; j++)
      for (PetscInt i = 0; i <= m->n; i++) {
        const PetscInt count  = Neighbours(m->n, i, j, k, place, node);
        PetscScalar(*s)[3][3] = stencil[Side(m->n, i) + 3 * Side(m->n, j) + 9 * Side(m->n, k)];

        for (PetscInt t = 0; t < count && block; t++) {
          memcpy(m->value + (size_t)(at + t) * 9, s[place[t]], sizeof s[0]);
          m->column[at + t] = node[t];
        }
        for (PetscInt c = 0; c < 3 && !block; c++, at += 3 * count) {
          for (PetscInt t = 0; t < count; t++)
            for (PetscInt d = 0; d < 3; d++) {
              m->value[at + 3 * t + d]  = s[place[t]][c][d];
              m->column[at + 3 * t + d] = 3 * node[t] + d;
            }
          m->start[++row] = at + 3 * count;
        }
        if (block) m->start[++row] = at += count;
      }
  PetscCall(PetscFree(stencil));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat                  A;
  Vec                  x, y;
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t csr;
  cusparseMatDescr_t   bsr;
  cusparseDnVecDescr_t xd, yd;
  cusparseSpMVAlg_t    algorithm;
  void                *buffer;
  PetscInt             nodes, nblock, *start, *column;
  PetscScalar         *value;
  const PetscScalar   *xa;
  PetscScalar         *ya;
} Peer;

static PetscErrorCode MultiplyPETSc(void *ctx)
{
  Peer *p = (Peer *)ctx;

  PetscFunctionBeginUser;
  PetscCall(MatMult(p->A, p->x, p->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyCSR(void *ctx)
{
  Peer             *p   = (Peer *)ctx;
  const PetscScalar one = 1, zero = 0;

  PetscFunctionBeginUser;
  PetscCallSparse(cusparseSpMV(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->csr, p->xd, &zero, p->yd, CUDA_R_64F, p->algorithm, p->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyBSR(void *ctx)
{
  Peer             *p   = (Peer *)ctx;
  const PetscScalar one = 1, zero = 0;

  PetscFunctionBeginUser;
  PetscCallSparse(cusparseDbsrmv(p->handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, p->nodes, p->nodes, p->nblock, &one, p->bsr, p->value, p->start, p->column, 3, p->xa, &zero, p->ya));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(Bench *b, const Assembled *m, const char *name, const char *implementation, PetscReal seconds, PetscReal bytes, Vec y)
{
  const PetscReal nel = PetscPowRealInt(m->n, 3);
  PetscReal       error;

  PetscFunctionBeginUser;
  PetscCall(CubesVecError(m->n, PETSC_TRUE, y, &error));
  PetscCall(BenchRecord(b, name, implementation, "apply_s", seconds, "s", (bytes + 16. * m->rows) / b->bandwidth, error, NULL));
  PetscCall(BenchRecord(b, name, implementation, "us_per_million_elements", seconds / nel * 1e12, "us", -1, -1, NULL));
  PetscCall(BenchRecord(b, name, implementation, "bytes_per_element", bytes / nel, "B", -1, -1, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's MatMult, and cuSPARSE with the arrays that it has on the GPU */
static PetscErrorCode BenchCSR(Bench *b, const Assembled *m, const char *name, Peer *p)
{
  const PetscReal    bytes = 12. * m->nnz + 4. * m->rows;
  const PetscInt    *start, *column;
  const PetscScalar *value;
  const char *const  names[2]     = {"cusparse-alg1", "cusparse-alg2"};
  cusparseSpMVAlg_t  algorithm[2] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
  const PetscScalar  one = 1, zero = 0;
  PetscReal          seconds;
  size_t             size;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, m->rows, m->rows, m->start, m->column, m->value, &p->A));
  PetscCall(MatConvert(p->A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, &p->A));
  PetscCall(VecSet(p->y, PETSC_MAX_REAL));
  PetscCall(BenchTime(b, MultiplyPETSc, p, &seconds));
  PetscCall(Report(b, m, name, "petsc-aijcusparse", seconds, bytes, p->y));
  PetscCall(MatSeqAIJCUSPARSEGetIJ(p->A, PETSC_FALSE, &start, &column));
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(p->A, &value));
  PetscCallSparse(cusparseCreateCsr(&p->csr, m->rows, m->rows, m->nnz, (void *)start, (void *)column, (void *)value, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  for (int a = 0; a < 2; a++) {
    PetscCall(VecSet(p->y, PETSC_MAX_REAL));
    PetscCall(VecCUDAGetArrayRead(p->x, &p->xa));
    PetscCall(VecCUDAGetArray(p->y, &p->ya));
    PetscCallSparse(cusparseCreateDnVec(&p->xd, m->rows, (void *)p->xa, CUDA_R_64F));
    PetscCallSparse(cusparseCreateDnVec(&p->yd, m->rows, p->ya, CUDA_R_64F));
    p->algorithm = algorithm[a];
    PetscCallSparse(cusparseSpMV_bufferSize(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->csr, p->xd, &zero, p->yd, CUDA_R_64F, p->algorithm, &size));
    PetscCallCUDA(cudaMalloc(&p->buffer, PetscMax(1, size)));
    PetscCallSparse(cusparseSpMV_preprocess(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->csr, p->xd, &zero, p->yd, CUDA_R_64F, p->algorithm, p->buffer));
    PetscCall(BenchTime(b, MultiplyCSR, p, &seconds));
    PetscCallCUDA(cudaFree(p->buffer));
    PetscCallSparse(cusparseDestroyDnVec(p->xd));
    PetscCallSparse(cusparseDestroyDnVec(p->yd));
    PetscCall(VecCUDARestoreArrayRead(p->x, &p->xa));
    PetscCall(VecCUDARestoreArray(p->y, &p->ya));
    PetscCall(Report(b, m, name, names[a], seconds, bytes, p->y));
  }
  PetscCallSparse(cusparseDestroySpMat(p->csr));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(p->A, &value));
  PetscCall(MatSeqAIJCUSPARSERestoreIJ(p->A, PETSC_FALSE, &start, &column));
  PetscCall(MatDestroy(&p->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchBSR(Bench *b, const Assembled *m, const char *name, Peer *p)
{
  PetscReal seconds;

  PetscFunctionBeginUser;
  p->nodes  = m->rows / 3;
  p->nblock = m->nnz / 9;
  PetscCallCUDA(cudaMalloc((void **)&p->start, sizeof(PetscInt) * ((size_t)p->nodes + 1)));
  PetscCallCUDA(cudaMalloc((void **)&p->column, sizeof(PetscInt) * (size_t)p->nblock));
  PetscCallCUDA(cudaMalloc((void **)&p->value, sizeof(PetscScalar) * (size_t)m->nnz));
  PetscCallCUDA(cudaMemcpy(p->start, m->start, sizeof(PetscInt) * ((size_t)p->nodes + 1), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(p->column, m->column, sizeof(PetscInt) * (size_t)p->nblock, cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(p->value, m->value, sizeof(PetscScalar) * (size_t)m->nnz, cudaMemcpyHostToDevice));
  PetscCallSparse(cusparseCreateMatDescr(&p->bsr));
  PetscCall(VecSet(p->y, PETSC_MAX_REAL));
  PetscCall(VecCUDAGetArrayRead(p->x, &p->xa));
  PetscCall(VecCUDAGetArray(p->y, &p->ya));
  PetscCall(BenchTime(b, MultiplyBSR, p, &seconds));
  PetscCall(VecCUDARestoreArrayRead(p->x, &p->xa));
  PetscCall(VecCUDARestoreArray(p->y, &p->ya));
  PetscCall(Report(b, m, name, "cusparse-bsr3", seconds, 8. * m->nnz + 4. * (p->nblock + p->nodes), p->y));
  PetscCallSparse(cusparseDestroyMatDescr(p->bsr));
  PetscCallCUDA(cudaFree(p->start));
  PetscCallCUDA(cudaFree(p->column));
  PetscCallCUDA(cudaFree(p->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CubesBenchAssembled(Bench *b, PetscInt n)
{
  const double nnz = 9 * pow(3. * n + 1, 3); /* 3 n + 1 pairs of neighbours in each direction */
  Assembled    m   = {n, 3 * (n + 1) * (n + 1) * (n + 1), 0, NULL, NULL, NULL};
  Peer         p   = {0};
  PetscScalar *xa;
  char         name[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(name, sizeof name, "elasticity-%" PetscInt_FMT "^3", n));
  if (nnz > PETSC_INT_MAX) {
    PetscCall(BenchFailed(b, name, "petsc-aijcusparse", "apply_s", "more nonzeros than PetscInt holds"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  m.nnz = (PetscInt)nnz;
  PetscCall(PetscMalloc3(m.rows + 1, &m.start, m.nnz, &m.column, m.nnz, &m.value));
  PetscCall(VecCreateSeqCUDA(PETSC_COMM_SELF, m.rows, &p.x));
  PetscCall(VecDuplicate(p.x, &p.y));
  PetscCall(VecGetArrayWrite(p.x, &xa));
  for (PetscInt k = 0; k < m.rows; k++) xa[k] = CubesEntry(k);
  PetscCall(VecRestoreArrayWrite(p.x, &xa));
  PetscCallSparse(cusparseCreate(&p.handle));
  PetscCall(Assemble(&m, PETSC_FALSE));
  PetscCall(BenchCSR(b, &m, name, &p));
  PetscCall(Assemble(&m, PETSC_TRUE));
  PetscCall(BenchBSR(b, &m, name, &p));
  PetscCallSparse(cusparseDestroy(p.handle));
  PetscCall(VecDestroy(&p.x));
  PetscCall(VecDestroy(&p.y));
  PetscCall(PetscFree3(m.start, m.column, m.value));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode CubesBenchAssembled(Bench *b, PetscInt n)
{
  PetscFunctionBeginUser;
  PetscCall(BenchFailed(b, "elasticity", "petsc-aijcusparse", "apply_s", "only for real scalars in double, 32-bit indices and CUDA"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
