#!/usr/bin/env python3
"""Reads the .vti and .vtu files of one run with VTK and checks that they say the same.

  readback.py file.vti file.vtu nx ny nz volume [more.vti more.vtu]     more: of the same run on other processes
"""
import sys
import numpy as np
from vtkmodules.vtkIOXML import vtkXMLImageDataReader, vtkXMLUnstructuredGridReader
from vtkmodules.util.numpy_support import vtk_to_numpy

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def read(reader, file):
    reader.SetFileName(file)
    check(reader.CanReadFile(file), "VTK cannot read " + file)
    reader.Update()
    return reader.GetOutput()


def image(file, n):
    data = read(vtkXMLImageDataReader(), file)
    check(data.GetDimensions() == tuple(k + 1 for k in n), "dimensions %s" % (data.GetDimensions(),))
    density = vtk_to_numpy(data.GetCellData().GetArray("density"))
    u = vtk_to_numpy(data.GetPointData().GetArray("displacement0"))
    check(density.shape == (np.prod(n),), "number of densities")
    return density.reshape(n[::-1]), u.reshape(n[2] + 1, n[1] + 1, n[0] + 1, 3)


def solids(file):
    data = read(vtkXMLUnstructuredGridReader(), file)
    check(all(data.GetCellType(c) == 12 for c in range(data.GetNumberOfCells())), "a cell is not a hexahedron")
    points = vtk_to_numpy(data.GetPoints().GetData())
    cells = vtk_to_numpy(data.GetCells().GetConnectivityArray()).reshape(-1, 8)
    return points, cells, vtk_to_numpy(data.GetCellData().GetArray("density")), vtk_to_numpy(data.GetPointData().GetArray("displacement0"))


def compare(vti, vtu, n, volume):
    rho, u = image(vti, n)
    points, cells, density, displacement = solids(vtu)
    check(abs(rho.mean() - volume) < 1e-6, "mean density %.9f is not %.9f" % (rho.mean(), volume))
    check(rho.min() >= 0 and rho.max() <= 1, "densities beyond 0 and 1")
    check(np.all(u[:, :, 0, :] == 0), "the clamped face moves")
    check(u[n[2] // 2, n[1] // 2, n[0], 1] < 0, "the loaded point does not move down")
    x, y, z = points.astype(int).T
    check(len(np.unique(points, axis=0)) == len(points), "a node is there twice")
    check(len(np.unique(cells)) == len(points), "a node belongs to no cell")
    check(np.array_equal(u[z, y, x], displacement), "displacements of .vtu and .vti differ")
    low = points[cells[:, 0]].astype(int)
    hexahedron = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
    check(np.array_equal(points[cells], low[:, None, :] + hexahedron), "a cell is not the cube in VTK's order")
    check(len(cells) == (rho >= 0.5).sum() > 0, "%d solid cells, %d dense elements" % (len(cells), (rho >= 0.5).sum()))
    check(np.array_equal(rho[low[:, 2], low[:, 1], low[:, 0]], density), "densities of .vtu and .vti differ")
    return rho, u


n, volume = tuple(int(a) for a in sys.argv[3:6]), float(sys.argv[6])
rho, u = compare(sys.argv[1], sys.argv[2], n, volume)
for vti, vtu in zip(sys.argv[7::2], sys.argv[8::2]):
    other, v = compare(vti, vtu, n, volume)
    check(np.allclose(rho, other, atol=1e-6) and np.allclose(u, v, atol=1e-5 * abs(u).max()), vti + " differs from " + sys.argv[1])
print("\n".join(failures) or "OK")
sys.exit(bool(failures))
