/*
  The lattice operator for hexahedra with 3 dofs a node and any shared matrix, on tensor cores: FP64 (m8n8k4, 24 x 24 without
  padding) for vectors in double, BF16 with FP32 accumulation (m16n8k16, padded to 32 x 32) for the others.

  A block owns a box of nodes. It loads them and their neighbours, its warps take 8 elements at a time, one column each, with
  the matrix in registers, and the results wait in shared memory until the owners of the nodes have summed them, in the
  order of the elements: no atomics. Elements on the faces of the box are computed by each of the blocks that touch
  them: 225 for 128 nodes. 1152 tensor operations an element, 1.76 times.

  BF16 keeps 8 bits: where translations cost no energy the product acts on u_j - u_0, formed in FP32 before it is rounded.
*/
#include "element_kernels_cuda.h"

#define TX     8 /* nodes a block owns */
#define TY     4
#define TZ     4
#define EX     (TX + 1) /* elements around them */
#define EY     (TY + 1)
#define EZ     (TZ + 1)
#define HX     (TX + 2) /* nodes of those */
#define HY     (TY + 2)
#define HZ     (TZ + 2)
#define NEL    (EX * EY * EZ)
#define GROUPS ((NEL + 7) / 8)
#define NDOF   24

/* The matrix, as the operand of the products that a lane holds */
template <class T> struct Operand;
template <> struct Operand<double> {
  double a[3][6];
};
template <> struct Operand<float> {
  unsigned a[2][2][4];
};

static __device__ __forceinline__ Scalar Entry(const Scalar *K, bool transpose, int row, int col)
{
  return row < NDOF && col < NDOF ? K[transpose ? col * NDOF + row : row * NDOF + col] : Scalar(0);
}

static __device__ __forceinline__ unsigned Pack(float lower, float upper)
{
  const __nv_bfloat162 v = __floats2bfloat162_rn(lower, upper);

  return *(const unsigned *)&v;
}

static __device__ __forceinline__ void LoadOperand(const Scalar *K, bool transpose, Operand<double> &A)
{
  const int lane = threadIdx.x % 32;

#pragma unroll
  for (int m = 0; m < 3; m++)
#pragma unroll
    for (int k = 0; k < 6; k++) A.a[m][k] = Entry(K, transpose, 8 * m + lane / 4, 4 * k + lane % 4);
}

static __device__ __forceinline__ void LoadOperand(const Scalar *K, bool transpose, Operand<float> &A)
{
  const int lane = threadIdx.x % 32;

#pragma unroll
  for (int m = 0; m < 2; m++)
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const int row = 16 * m + lane / 4 + 8 * (q & 1), col = 16 * k + 2 * (lane % 4) + 8 * (q >> 1);

        A.a[m][k][q] = Pack((float)Entry(K, transpose, row, col), (float)Entry(K, transpose, row, col + 1));
      }
}

/* Entry d of the element whose first node is u, zero for the padding; less that of its first corner for rigid */
template <class T> static __device__ __forceinline__ T Dof(const T *u, int d, bool rigid)
{
  const int a = d / 3;

  if (d >= NDOF) return 0;
  return u[3 * (((a >> 2) * HY + ((a >> 1) & 1)) * HX + (a & 1)) + d % 3] - (rigid ? u[d % 3] : T(0));
}

/* f[8][NDOF] = the matrix times 8 elements, of which this lane reads the one at u, times their scales */
static __device__ __forceinline__ void Multiply(const Operand<double> &A, const double *u, bool, const double *scale, int n, double *f)
{
  const int lane = threadIdx.x % 32;
  double    c[3][2] = {};

#pragma unroll
  for (int k = 0; k < 6; k++) {
    const double b = Dof(u, 4 * k + lane % 4, false);

#pragma unroll
    for (int m = 0; m < 3; m++) asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[m][0]), "+d"(c[m][1]) : "d"(A.a[m][k]), "d"(b));
  }
#pragma unroll
  for (int m = 0; m < 3; m++)
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const int e = 2 * (lane % 4) + q;

      if (e < n) f[e * NDOF + 8 * m + lane / 4] = scale[e] * c[m][q];
    }
}

static __device__ __forceinline__ void Multiply(const Operand<float> &A, const float *u, bool rigid, const float *scale, int n, float *f)
{
  const int lane = threadIdx.x % 32;
  float     c[2][4] = {};

#pragma unroll
  for (int k = 0; k < 2; k++) {
    const int      d  = 16 * k + 2 * (lane % 4);
    const unsigned b0 = Pack(Dof(u, d, rigid), Dof(u, d + 1, rigid)), b1 = Pack(Dof(u, d + 8, rigid), Dof(u, d + 9, rigid));

#pragma unroll
    for (int m = 0; m < 2; m++)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[m][0]), "+f"(c[m][1]), "+f"(c[m][2]), "+f"(c[m][3])
                   : "r"(A.a[m][k][0]), "r"(A.a[m][k][1]), "r"(A.a[m][k][2]), "r"(A.a[m][k][3]), "r"(b0), "r"(b1));
  }
#pragma unroll
  for (int m = 0; m < 2; m++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int e = 2 * (lane % 4) + (q & 1), row = 16 * m + lane / 4 + 8 * (q >> 1);

      if (e < n && row < NDOF) f[e * NDOF + row] = scale[e] * c[m][q];
    }
}

template <class V> static __global__ void __launch_bounds__(THREADS) Tensor(const Elements el, bool transpose, bool rigid, const typename Arithmetic<V>::T *__restrict__ scales, const unsigned char *__restrict__ mask, const V *__restrict__ x, V *__restrict__ y)
{
  typedef typename Arithmetic<V>::T T;
  extern __shared__ double          memory[];
  T *const                          f = (T *)memory, *const u = f + NEL * NDOF, *const scale = u + 3 * HX * HY * HZ;
  const ElementLattice             &l = el.lattice;
  const int                         i0 = blockIdx.x * TX - 1, j0 = blockIdx.y * TY - 1, k0 = blockIdx.z * TZ - 1, lane = threadIdx.x % 32; /* first element, first node */
  Operand<T>                        A;

  for (int n = threadIdx.x; n < HX * HY * HZ; n += THREADS) {
    const int        i = i0 + n % HX, j = j0 + n / HX % HY, k = k0 + n / HX / HY;
    const bool       inside = i >= 0 && j >= 0 && k >= 0 && i < l.nx && j < l.ny && k < l.nz;
    const PetscCount dof = 3 * (((PetscCount)k * l.ny + j) * l.nx + i);

    for (int c = 0; c < 3; c++) u[3 * n + c] = inside ? Value(mask, x, dof + c) : T(0);
  }
  for (int n = threadIdx.x; n < NEL; n += THREADS) {
    const int        i = i0 + n % EX, j = j0 + n / EX % EY, k = k0 + n / EX / EY;
    const bool       inside = i >= 0 && j >= 0 && k >= 0 && i < l.nx - 1 && j < l.ny - 1 && k < l.nz - 1;
    const PetscCount e = ((PetscCount)k * (l.ny - 1) + j) * (l.nx - 1) + i;

    scale[n] = !inside || (el.ref && el.ref[e] != 0) ? T(0) : scales ? scales[e] : T(1);
  }
  LoadOperand(el.K, transpose, A);
  __syncthreads();
  for (int g = threadIdx.x / 32; g < GROUPS; g += THREADS / 32) {
    const int e = min(8 * g + lane / 4, NEL - 1);

    Multiply(A, u + 3 * ((e / EX / EY * HY + e / EX % EY) * HX + e % EX), rigid, scale + 8 * g, NEL - 8 * g, f + 8 * g * NDOF);
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

template <class V> static PetscErrorCode Launch(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, cudaStream_t stream)
{
  const ElementLattice *l     = &el->lattice;
  const size_t          bytes = sizeof(typename Arithmetic<V>::T) * (NEL * NDOF + 3 * HX * HY * HZ + 8 * GROUPS);
  const dim3            grid((l->nx + TX - 1) / TX, (l->ny + TY - 1) / TY, (l->nz + TZ - 1) / TZ);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(Tensor<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  Tensor<V><<<grid, THREADS, bytes, stream>>>(*el, transpose, rigid, (const typename Arithmetic<V>::T *)v->scale, v->mask, (const V *)v->x, (V *)v->y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ElementTensor_CUDA(const Elements *el, PetscBool transpose, PetscBool rigid, const ElementVectors *v, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->precision == ELEMENT_DOUBLE) PetscCall(Launch<double>(el, transpose, rigid, v, stream));
  else if (v->precision == ELEMENT_SINGLE) PetscCall(Launch<float>(el, transpose, rigid, v, stream));
  else PetscCall(Launch<__nv_bfloat16>(el, transpose, rigid, v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
