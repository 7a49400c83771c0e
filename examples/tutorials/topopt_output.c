/*
  VTK XML files with appended raw data. Every process writes its part at its place through PETSc's binary viewer, whose
  byte order is big-endian; any number of processes gives one file.

    .vti   the whole block: density of each element, displacement of each node
    .vtu   the elements above a density threshold as hexahedra, with the nodes that they use
*/
#include "topopt.h"
#include <petscviewer.h>

typedef struct {
  PetscViewer viewer;
  PetscCount  offset; /* of the next block, from the underscore */
} VTK;

#define REAL_TYPE (sizeof(PetscReal) == 8 ? "Float64" : "Float32")

static PetscErrorCode Open(VTK *vtk, const char file[])
{
  PetscFunctionBeginUser;
  vtk->offset = 0;
  PetscCall(PetscViewerCreate(PETSC_COMM_WORLD, &vtk->viewer));
  PetscCall(PetscViewerSetType(vtk->viewer, PETSCVIEWERBINARY));
  PetscCall(PetscViewerBinarySetSkipInfo(vtk->viewer, PETSC_TRUE));
  PetscCall(PetscViewerFileSetMode(vtk->viewer, FILE_MODE_WRITE));
  PetscCall(PetscViewerFileSetName(vtk->viewer, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Text(VTK *vtk, const char format[], ...)
{
  char    line[1024];
  size_t  length;
  va_list arguments;

  PetscFunctionBeginUser;
  va_start(arguments, format);
  PetscCall(PetscVSNPrintf(line, sizeof(line), format, &length, arguments));
  va_end(arguments);
  PetscCall(PetscStrlen(line, &length));
  PetscCall(PetscViewerBinaryWrite(vtk->viewer, line, (PetscCount)length, PETSC_CHAR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says where the data of an array will be: n items of the given bytes, behind their 8 bytes of length */
static PetscErrorCode Array(VTK *vtk, const char name[], const char type[], PetscInt components, PetscCount n, PetscCount bytes)
{
  PetscFunctionBeginUser;
  PetscCall(Text(vtk, "<DataArray Name=\"%s\" type=\"%s\" NumberOfComponents=\"%" PetscInt_FMT "\" format=\"appended\" offset=\"%" PetscCount_FMT "\"/>\n", name, type, components, vtk->offset));
  vtk->offset += 8 + n * bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data of the next array: n items of this process */
static PetscErrorCode Data(VTK *vtk, const void *data, PetscInt n, PetscDataType type)
{
  PetscInt64 total = n;
  size_t     size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &total, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscDataTypeGetSize(type, &size));
  total *= (PetscInt64)size;
  PetscCall(PetscViewerBinaryWrite(vtk->viewer, &total, 1, PETSC_INT64));
  PetscCall(PetscViewerBinaryWriteAll(vtk->viewer, data, n, PETSC_DETERMINE, PETSC_DETERMINE, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A global vector in the order of the block: x fastest */
static PetscErrorCode DataVec(VTK *vtk, DM dm, Vec v)
{
  Vec                natural;
  PetscInt           n;
  const PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(DMDACreateNaturalVector(dm, &natural));
  PetscCall(DMDAGlobalToNaturalBegin(dm, v, INSERT_VALUES, natural));
  PetscCall(DMDAGlobalToNaturalEnd(dm, v, INSERT_VALUES, natural));
  PetscCall(VecGetLocalSize(natural, &n));
  PetscCall(VecGetArrayRead(natural, &a));
  PetscCall(Data(vtk, a, n, PETSC_SCALAR));
  PetscCall(VecRestoreArrayRead(natural, &a));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputVTI(const char file[], FEM *fem, Vec rho)
{
  const PetscInt  *n     = fem->problem->n;
  const PetscCount ncell = (PetscCount)n[0] * n[1] * n[2], nnode = (PetscCount)(n[0] + 1) * (n[1] + 1) * (n[2] + 1);
  char             name[32];
  VTK              vtk;

  PetscFunctionBeginUser;
  PetscCall(Open(&vtk, file));
  PetscCall(Text(&vtk, "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"BigEndian\" header_type=\"UInt64\">\n"));
  PetscCall(Text(&vtk, "<ImageData WholeExtent=\"0 %" PetscInt_FMT " 0 %" PetscInt_FMT " 0 %" PetscInt_FMT "\" Origin=\"0 0 0\" Spacing=\"1 1 1\">\n", n[0], n[1], n[2]));
  PetscCall(Text(&vtk, "<Piece Extent=\"0 %" PetscInt_FMT " 0 %" PetscInt_FMT " 0 %" PetscInt_FMT "\">\n<CellData Scalars=\"density\">\n", n[0], n[1], n[2]));
  PetscCall(Array(&vtk, "density", REAL_TYPE, 1, ncell, sizeof(PetscReal)));
  PetscCall(Text(&vtk, "</CellData>\n<PointData>\n"));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "displacement%" PetscInt_FMT, l));
    PetscCall(Array(&vtk, name, REAL_TYPE, 3, 3 * nnode, sizeof(PetscReal)));
  }
  PetscCall(Text(&vtk, "</PointData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_"));
  PetscCall(DataVec(&vtk, fem->cells, rho));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) PetscCall(DataVec(&vtk, fem->nodes, fem->u[l]));
  PetscCall(Text(&vtk, "\n</AppendedData>\n</VTKFile>\n"));
  PetscCall(PetscViewerDestroy(&vtk.viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The elements above the threshold and the nodes that they use, of this process */
typedef struct {
  PetscInt    ncell, nnode;
  PetscInt64 *connectivity, *ends;
  PetscReal  *density, *point, *displacement[MAX_CASES];
  char       *type;
} Solid;

/* Nodes used by an element above the threshold are numbered over all processes; number: local vector, -1 not used */
static PetscErrorCode NumberNodes(DM scalar, DM cells, Vec rho, PetscReal threshold, PetscInt *nnode, Vec number)
{
  PetscInt           s[3], m[3], n;
  PetscInt64         end;
  Vec                used;
  PetscScalar     ***mark, *u;
  const PetscScalar *d;

  PetscFunctionBeginUser;
  PetscCall(DMGetGlobalVector(scalar, &used));
  PetscCall(VecSet(used, 0));
  PetscCall(VecSet(number, 0));
  PetscCall(DMDAGetCorners(cells, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(VecGetArrayRead(rho, &d));
  PetscCall(DMDAVecGetArray(scalar, number, &mark));
  for (PetscInt k = s[2], e = 0; k < s[2] + m[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + m[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + m[0]; i++, e++) {
        if (d[e] < threshold) continue;
        for (int a = 0; a < 8; a++) mark[k + (a >> 2)][j + (a >> 1 & 1)][i + (a & 1)] = 1;
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(scalar, number, &mark));
  PetscCall(VecRestoreArrayRead(rho, &d));
  PetscCall(DMLocalToGlobal(scalar, number, ADD_VALUES, used));
  PetscCall(VecGetLocalSize(used, &n));
  PetscCall(VecGetArray(used, &u));
  *nnode = 0;
  for (PetscInt i = 0; i < n; i++) *nnode += u[i] > 0;
  end = *nnode;
  PetscCallMPI(MPI_Scan(MPI_IN_PLACE, &end, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  PetscCheck((PetscReal)end < 1 / PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_SUP, "A .vtu file of more than %g nodes needs a PETSc with double precision", (double)(1 / PETSC_MACHINE_EPSILON));
  for (PetscInt i = 0, next = 0; i < n; i++) u[i] = u[i] > 0 ? (PetscReal)(end - *nnode + next++) : -1;
  PetscCall(VecRestoreArray(used, &u));
  PetscCall(DMGlobalToLocal(scalar, used, INSERT_VALUES, number));
  PetscCall(DMRestoreGlobalVector(scalar, &used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolidCells(DM scalar, DM cells, Vec rho, PetscReal threshold, Vec number, Solid *solid)
{
  static const int     vtkorder[8] = {0, 1, 3, 2, 4, 5, 7, 6};
  PetscInt             s[3], m[3], n;
  PetscInt64           end;
  const PetscScalar   *d;
  const PetscScalar ***id;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(rho, &n));
  PetscCall(VecGetArrayRead(rho, &d));
  solid->ncell = 0;
  for (PetscInt e = 0; e < n; e++) solid->ncell += d[e] >= threshold;
  end = solid->ncell;
  PetscCallMPI(MPI_Scan(MPI_IN_PLACE, &end, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscMalloc4(8 * solid->ncell, &solid->connectivity, solid->ncell, &solid->ends, solid->ncell, &solid->density, solid->ncell, &solid->type));
  PetscCall(DMDAGetCorners(cells, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(DMDAVecGetArrayRead(scalar, number, &id));
  for (PetscInt k = s[2], e = 0, c = 0; k < s[2] + m[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + m[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + m[0]; i++, e++) {
        if (d[e] < threshold) continue;
        for (int v = 0; v < 8; v++) {
          const int a = vtkorder[v];

          solid->connectivity[8 * c + v] = (PetscInt64)id[k + (a >> 2)][j + (a >> 1 & 1)][i + (a & 1)];
        }
        solid->ends[c]    = 8 * (end - solid->ncell + c + 1);
        solid->density[c] = d[e];
        solid->type[c]    = 12; /* VTK_HEXAHEDRON */
        c++;
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(scalar, number, &id));
  PetscCall(VecRestoreArrayRead(rho, &d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolidNodes(FEM *fem, DM scalar, Vec number, Solid *solid)
{
  PetscInt              s[3], m[3];
  const PetscScalar  ***id;
  const PetscScalar ****u;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(3 * solid->nnode, &solid->point));
  PetscCall(DMDAGetCorners(scalar, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(DMDAVecGetArrayRead(scalar, number, &id));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) {
    PetscCall(PetscMalloc1(3 * solid->nnode, &solid->displacement[l]));
    PetscCall(DMDAVecGetArrayDOFRead(fem->nodes, fem->u[l], &u));
    for (PetscInt k = s[2], c = 0; k < s[2] + m[2]; k++) {
      for (PetscInt j = s[1]; j < s[1] + m[1]; j++) {
        for (PetscInt i = s[0]; i < s[0] + m[0]; i++) {
          if (id[k][j][i] < 0) continue;
          solid->point[3 * c]     = i;
          solid->point[3 * c + 1] = j;
          solid->point[3 * c + 2] = k;
          for (int d = 0; d < 3; d++) solid->displacement[l][3 * c + d] = u[k][j][i][d];
          c++;
        }
      }
    }
    PetscCall(DMDAVecRestoreArrayDOFRead(fem->nodes, fem->u[l], &u));
  }
  PetscCall(DMDAVecRestoreArrayRead(scalar, number, &id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteSolid(const char file[], const Solid *solid, PetscInt ncase)
{
  PetscInt64 total[2] = {solid->ncell, solid->nnode};
  char       name[32];
  VTK        vtk;

  PetscFunctionBeginUser;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, total, 2, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(Open(&vtk, file));
  PetscCall(Text(&vtk, "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"BigEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n"));
  PetscCall(Text(&vtk, "<Piece NumberOfPoints=\"%" PetscInt64_FMT "\" NumberOfCells=\"%" PetscInt64_FMT "\">\n<Points>\n", total[1], total[0]));
  PetscCall(Array(&vtk, "points", REAL_TYPE, 3, 3 * total[1], sizeof(PetscReal)));
  PetscCall(Text(&vtk, "</Points>\n<Cells>\n"));
  PetscCall(Array(&vtk, "connectivity", "Int64", 1, 8 * total[0], 8));
  PetscCall(Array(&vtk, "offsets", "Int64", 1, total[0], 8));
  PetscCall(Array(&vtk, "types", "UInt8", 1, total[0], 1));
  PetscCall(Text(&vtk, "</Cells>\n<CellData Scalars=\"density\">\n"));
  PetscCall(Array(&vtk, "density", REAL_TYPE, 1, total[0], sizeof(PetscReal)));
  PetscCall(Text(&vtk, "</CellData>\n<PointData Vectors=\"displacement0\">\n"));
  for (PetscInt l = 0; l < ncase; l++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "displacement%" PetscInt_FMT, l));
    PetscCall(Array(&vtk, name, REAL_TYPE, 3, 3 * total[1], sizeof(PetscReal)));
  }
  PetscCall(Text(&vtk, "</PointData>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_"));
  PetscCall(Data(&vtk, solid->point, 3 * solid->nnode, PETSC_REAL));
  PetscCall(Data(&vtk, solid->connectivity, 8 * solid->ncell, PETSC_INT64));
  PetscCall(Data(&vtk, solid->ends, solid->ncell, PETSC_INT64));
  PetscCall(Data(&vtk, solid->type, solid->ncell, PETSC_CHAR));
  PetscCall(Data(&vtk, solid->density, solid->ncell, PETSC_REAL));
  for (PetscInt l = 0; l < ncase; l++) PetscCall(Data(&vtk, solid->displacement[l], 3 * solid->nnode, PETSC_REAL));
  PetscCall(Text(&vtk, "\n</AppendedData>\n</VTKFile>\n"));
  PetscCall(PetscViewerDestroy(&vtk.viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputVTU(const char file[], FEM *fem, Vec rho, PetscReal threshold)
{
  DM    scalar;
  Vec   number;
  Solid solid;

  PetscFunctionBeginUser;
  PetscCall(DMDACreateCompatibleDMDA(fem->nodes, 1, &scalar));
  PetscCall(DMCreateLocalVector(scalar, &number));
  PetscCall(NumberNodes(scalar, fem->cells, rho, threshold, &solid.nnode, number));
  PetscCall(SolidCells(scalar, fem->cells, rho, threshold, number, &solid));
  PetscCall(SolidNodes(fem, scalar, number, &solid));
  PetscCall(WriteSolid(file, &solid, fem->problem->ncase));
  for (PetscInt l = 0; l < fem->problem->ncase; l++) PetscCall(PetscFree(solid.displacement[l]));
  PetscCall(PetscFree(solid.point));
  PetscCall(PetscFree4(solid.connectivity, solid.ends, solid.density, solid.type));
  PetscCall(VecDestroy(&number));
  PetscCall(DMDestroy(&scalar));
  PetscFunctionReturn(PETSC_SUCCESS);
}
