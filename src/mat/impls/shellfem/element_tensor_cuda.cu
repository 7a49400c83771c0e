/*
  Any shared matrix of 8 or 24 dofs on tensor cores: FP64 (m8n8k4, no padding) for vectors in double, BF16 with FP32
  accumulation (m16n8k16, padded to 16 or 32) for the others. A warp takes 8 elements at a time, one column each, with
  the matrix in its registers: 1152 operations an element of 24 dofs.

  Cells of a lattice with 24 dofs: a block owns a box of nodes. It loads them and their neighbours, and the results wait in
  shared memory until the owners of the nodes have summed them, in the order of the elements. Elements on the faces of the
  box are computed by each of the blocks that touch them: 225 for 128 nodes, 1.76 times the operations. Memory: x and y
  little more than once, one scale an element.

  Other elements: the products go to memory, and the owners of the nodes add them, as with three stages. Memory besides the
  vectors: ndof values written and read once (FP64, 24 dofs: 384 bytes an element), and the nodes.

  Either way no atomics: repeated products are bit-identical.

  BF16 keeps 8 bits: where translations cost no energy the product acts on u_j - u_0, formed in FP32 before it is rounded.
*/
#include "element_kernels_cuda.h"

#define TX         8 /* nodes a block owns */
#define TY         4
#define TZ         4
#define EX         (TX + 1) /* elements around them */
#define EY         (TY + 1)
#define EZ         (TZ + 1)
#define HX         (TX + 2) /* nodes of those */
#define HY         (TY + 2)
#define HZ         (TZ + 2)
#define NEL        (EX * EY * EZ)
#define GROUPS     ((NEL + 7) / 8)
#define MAX_BLOCKS 2048 /* enough to fill any GPU; each loads the matrix once */

/* The matrix, as the operand of the products that a lane holds */
template <class T, int NDOF> struct Operand;
template <int NDOF> struct Operand<double, NDOF> {
  double a[NDOF / 8][NDOF / 4];
};
template <int NDOF> struct Operand<float, NDOF> {
  unsigned a[(NDOF + 15) / 16][(NDOF + 15) / 16][4];
};

template <int NDOF> static __device__ __forceinline__ Scalar Padded(const Scalar *K, bool transpose, int row, int col)
{
  return row < NDOF && col < NDOF ? K[transpose ? col * NDOF + row : row * NDOF + col] : Scalar(0);
}

static __device__ __forceinline__ unsigned Pack(float lower, float upper)
{
  const __nv_bfloat162 v = __floats2bfloat162_rn(lower, upper);

  return *(const unsigned *)&v;
}

template <int NDOF> static __device__ __forceinline__ void LoadOperand(const Scalar *K, bool transpose, Operand<double, NDOF> &A)
{
  const int lane = threadIdx.x % 32;

#pragma unroll
  for (int m = 0; m < NDOF / 8; m++)
#pragma unroll
    for (int k = 0; k < NDOF / 4; k++) A.a[m][k] = Padded<NDOF>(K, transpose, 8 * m + lane / 4, 4 * k + lane % 4);
}

template <int NDOF> static __device__ __forceinline__ void LoadOperand(const Scalar *K, bool transpose, Operand<float, NDOF> &A)
{
  const int lane = threadIdx.x % 32;

#pragma unroll
  for (int m = 0; m < (NDOF + 15) / 16; m++)
#pragma unroll
    for (int k = 0; k < (NDOF + 15) / 16; k++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const int row = 16 * m + lane / 4 + 8 * (q & 1), col = 16 * k + 2 * (lane % 4) + 8 * (q >> 1);

        A.a[m][k][q] = Pack((float)Padded<NDOF>(K, transpose, row, col), (float)Padded<NDOF>(K, transpose, row, col + 1));
      }
}

/* Entry d of an element, zero for the padding; less that of its first node for rigid. BOX: u is the first node's place in the box of a block */
template <bool BOX, int NDOF, class T> static __device__ __forceinline__ T Dof(const T *u, int d, PetscInt bs, bool rigid)
{
  const int a = d / 3;

  if (d >= NDOF) return 0;
  if (BOX) return u[3 * (((a >> 2) * HY + ((a >> 1) & 1)) * HX + (a & 1)) + d % 3] - (rigid ? u[d % 3] : T(0));
  return u[d] - (rigid ? u[d % bs] : T(0));
}

/* c += a b by the lanes of a warp; other compute capabilities than those we support have no such instructions */
static __device__ __forceinline__ void MultiplyAdd(double a, double b, double c[2])
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
#endif
}

static __device__ __forceinline__ void MultiplyAdd(const unsigned a[4], unsigned b0, unsigned b1, float c[4])
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/* f[8][NDOF] = the matrix times 8 elements, of which this lane reads the one at u, times their scales */
template <bool BOX, int NDOF> static __device__ __forceinline__ void Multiply(const Operand<double, NDOF> &A, const double *u, PetscInt bs, bool, const double *scale, int n, double *f)
{
  const int lane           = threadIdx.x % 32;
  double    c[NDOF / 8][2] = {};

#pragma unroll
  for (int k = 0; k < NDOF / 4; k++) {
    const double b = Dof<BOX, NDOF>(u, 4 * k + lane % 4, bs, false);

#pragma unroll
    for (int m = 0; m < NDOF / 8; m++) MultiplyAdd(A.a[m][k], b, c[m]);
  }
#pragma unroll
  for (int m = 0; m < NDOF / 8; m++)
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const int e = 2 * (lane % 4) + q;

      if (e < n) f[e * NDOF + 8 * m + lane / 4] = scale[e] * c[m][q];
    }
}

template <bool BOX, int NDOF> static __device__ __forceinline__ void Multiply(const Operand<float, NDOF> &A, const float *u, PetscInt bs, bool rigid, const float *scale, int n, float *f)
{
  const int lane                   = threadIdx.x % 32;
  float     c[(NDOF + 15) / 16][4] = {};

#pragma unroll
  for (int k = 0; k < (NDOF + 15) / 16; k++) {
    const int      d  = 16 * k + 2 * (lane % 4);
    const unsigned b0 = Pack(Dof<BOX, NDOF>(u, d, bs, rigid), Dof<BOX, NDOF>(u, d + 1, bs, rigid)), b1 = Pack(Dof<BOX, NDOF>(u, d + 8, bs, rigid), Dof<BOX, NDOF>(u, d + 9, bs, rigid));

#pragma unroll
    for (int m = 0; m < (NDOF + 15) / 16; m++) MultiplyAdd(A.a[m][k], b0, b1, c[m]);
  }
#pragma unroll
  for (int m = 0; m < (NDOF + 15) / 16; m++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int e = 2 * (lane % 4) + (q & 1), row = 16 * m + lane / 4 + 8 * (q >> 1);

      if (e < n && row < NDOF) f[e * NDOF + row] = scale[e] * c[m][q];
    }
}

/* Cells of a lattice with 24 dofs: a block owns a box of nodes */
template <class V> static __global__ void __launch_bounds__(THREADS) MultiplyBox(const Elements el, bool transpose, bool rigid, const typename Arithmetic<V>::T *__restrict__ scales, const unsigned char *__restrict__ mask, const V *__restrict__ x, V *__restrict__ y)
{
  typedef typename Arithmetic<V>::T T;
  const int                         NDOF = 24;
  extern __shared__ double          memory[];
  T *const f = (T *)memory, *const u = f + NEL * NDOF, *const scale = u + 3 * HX * HY * HZ;
  const ElementLattice &l  = el.lattice;
  const int             i0 = blockIdx.x * TX - 1, j0 = blockIdx.y * TY - 1, k0 = blockIdx.z * TZ - 1, lane = threadIdx.x % 32; /* first element, first node */
  Operand<T, NDOF>      A;

  for (int n = threadIdx.x; n < HX * HY * HZ; n += THREADS) {
    const int        i = i0 + n % HX, j = j0 + n / HX % HY, k = k0 + n / HX / HY;
    const bool       inside = i >= 0 && j >= 0 && k >= 0 && i < l.nx && j < l.ny && k < l.nz;
    const PetscCount dof    = 3 * (((PetscCount)k * l.ny + j) * l.nx + i);

    for (int c = 0; c < 3; c++) u[3 * n + c] = inside ? Value(mask, x, dof + c) : T(0);
  }
  for (int n = threadIdx.x; n < NEL; n += THREADS) {
    const int        i = i0 + n % EX, j = j0 + n / EX % EY, k = k0 + n / EX / EY;
    const bool       inside = i >= 0 && j >= 0 && k >= 0 && i < l.nx - 1 && j < l.ny - 1 && k < l.nz - 1;
    const PetscCount e      = ((PetscCount)k * (l.ny - 1) + j) * (l.nx - 1) + i;

    scale[n] = !inside || (el.ref && el.ref[e] != 0) ? T(0) : scales ? scales[e]
                                                                     : T(1);
  }
  LoadOperand(el.K, transpose, A);
  __syncthreads();
  for (int g = threadIdx.x / 32; g < GROUPS; g += THREADS / 32) {
    const int e = min(8 * g + lane / 4, NEL - 1);

    Multiply<true>(A, u + 3 * ((e / EX / EY * HY + e / EX % EY) * HX + e % EX), 3, rigid, scale + 8 * g, NEL - 8 * g, f + 8 * g * NDOF);
  }
  __syncthreads();
  for (int n = threadIdx.x; n < 3 * TX * TY * TZ; n += THREADS) {
    const int        i = n / 3 % TX, j = n / 3 / TX % TY, k = n / 3 / TX / TY;
    const PetscCount dof = 3 * (((PetscCount)(k0 + 1 + k) * l.ny + j0 + 1 + j) * l.nx + i0 + 1 + i) + n % 3;
    T                sum = 0;

    if (i0 + 1 + i >= l.nx || j0 + 1 + j >= l.ny || k0 + 1 + k >= l.nz) continue;
#pragma unroll
    for (int a = 7; a >= 0; a--) sum += f[((((k + 1 - (a >> 2)) * EY) + j + 1 - ((a >> 1) & 1)) * EX + i + 1 - (a & 1)) * NDOF + 3 * a + n % 3];
    Store(y + dof, !mask || mask[dof] ? sum : T(0));
  }
}

/* Any elements: f[n][NDOF] of the n elements from `first` on, to memory */
template <class V, int NDOF> static __global__ void __launch_bounds__(THREADS) MultiplyList(const Elements el, bool transpose, bool rigid, PetscInt first, PetscInt n, const typename Arithmetic<V>::T *__restrict__ scales, const unsigned char *__restrict__ mask, const V *__restrict__ x, typename Arithmetic<V>::T *__restrict__ f)
{
  typedef typename Arithmetic<V>::T T;
  const int                         warps = THREADS / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  __shared__ T                      gathered[warps][8 * NDOF], scale[warps][8];
  T *const                          u = gathered[warp];
  Operand<T, NDOF>                  A;

  LoadOperand(el.K, transpose, A);
  for (PetscCount group = (PetscCount)blockIdx.x * warps + warp; group < (n + 7) / 8; group += (PetscCount)gridDim.x * warps) {
    const PetscInt start = first + (PetscInt)group * 8, count = min(8, first + n - start);

    __syncwarp();
    for (int i = lane; i < 8 * NDOF; i += 32) {
      const PetscInt e = start + i / NDOF, d = i % NDOF;

      u[i] = i / NDOF >= count ? T(0) : Value(mask, x, (PetscCount)Node(el, e, el.conn ? 0 : FirstNode(el.lattice, e), d / el.bs) * el.bs + d % el.bs);
    }
    if (lane < count) scale[warp][lane] = el.ref && el.ref[start + lane] != 0 ? T(0) : scales ? scales[start + lane]
                                                                                              : T(1);
    __syncwarp();
    Multiply<false>(A, u + lane / 4 * NDOF, el.bs, rigid, scale[warp], count, f + group * 8 * NDOF);
  }
}

template <class V> static PetscErrorCode LaunchBox(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, cudaStream_t stream)
{
  const ElementLattice *l     = &el->lattice;
  const size_t          bytes = sizeof(typename Arithmetic<V>::T) * (NEL * 24 + 3 * HX * HY * HZ + 8 * GROUPS);
  const dim3            grid((l->nx + TX - 1) / TX, (l->ny + TY - 1) / TY, (l->nz + TZ - 1) / TZ);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(MultiplyBox<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  MultiplyBox<V><<<grid, THREADS, bytes, stream>>>(*el, transpose, rigid, (const typename Arithmetic<V>::T *)v->scale, v->mask, (const V *)v->x, (V *)v->y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class V> static PetscErrorCode LaunchList(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  typedef typename Arithmetic<V>::T T;
  const PetscInt                    chunk = ElementsInChunk(el, sizeof(T) * el->ndof, *work), warps = THREADS / 32;
  T                                *f;
  PetscBool                         isnew;

  PetscFunctionBegin;
  PetscCall(ElementWorkGet(work, WORK_PRODUCTS, sizeof(T) * (size_t)chunk * el->ndof, (void **)&f, &isnew));
  for (PetscInt first = 0; first < el->nel; first += chunk) {
    const PetscInt n      = PetscMin(chunk, el->nel - first);
    const unsigned blocks = (unsigned)PetscMin(MAX_BLOCKS, ((n + 7) / 8 + warps - 1) / warps);

    if (el->ndof == 24) MultiplyList<V, 24><<<blocks, THREADS, 0, stream>>>(*el, transpose, rigid, first, n, (const T *)v->scale, v->mask, (const V *)v->x, f);
    else MultiplyList<V, 8><<<blocks, THREADS, 0, stream>>>(*el, transpose, rigid, first, n, (const T *)v->scale, v->mask, (const V *)v->x, f);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(ElementScatter_CUDA(el, first, first + n, 0, (PetscBool)(first > 0), NULL, f, v, stream));
    if (chunk > PETSC_INT_MAX - first) break; /* the next sum would overflow: this was the last one */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class V> static PetscErrorCode Launch(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  const ElementLattice *l = &el->lattice;

  PetscFunctionBegin;
  if (!el->conn && el->ndof == 24 && l->bs == 3 && l->ny <= 65535 * TY && l->nz <= 65535 * TZ) PetscCall(LaunchBox<V>(el, transpose, rigid, v, stream));
  else PetscCall(LaunchList<V>(el, transpose, rigid, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementTensor_CUDA(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, ElementWork *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, transpose, rigid, v, work, stream));
  else if (v->precision == ELEMENT_SINGLE) PetscCall(Launch<float>(el, transpose, rigid, v, work, stream));
  else PetscCall(Launch<__nv_bfloat16>(el, transpose, rigid, v, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
