#!/usr/bin/env python3
"""Compliances of the first iterations of a topology optimization, computed apart from PETSc and from topopt.c.

The usual educational program: strain-displacement matrices, a sparse matrix by triplets, a sparse direct solve, the
filter as a matrix, bisection of the multiplier. Its numbers stand in the TEST block of examples/tutorials/topopt.c.

  reference.py problem nx ny nz iterations [key=value ...]     keys: volfrac penal beta rmin move deck hole cases
"""
import sys
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import splu

corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])


def element_matrix(nu=0.3):
    D = np.zeros((6, 6))
    D[:3, :3] = nu
    D[range(3), range(3)] = 1 - nu
    D[range(3, 6), range(3, 6)] = (1 - 2 * nu) / 2
    D /= (1 + nu) * (1 - 2 * nu)
    sign = 2 * corners - 1.0
    K = np.zeros((24, 24))
    for gauss in sign / np.sqrt(3):
        one = 1 + sign * gauss
        # the cube's half width is 1/2: derivatives by x are twice those by the reference coordinate
        grad = 2 * 0.125 * np.stack([sign[:, 0] * one[:, 1] * one[:, 2], sign[:, 1] * one[:, 0] * one[:, 2], sign[:, 2] * one[:, 0] * one[:, 1]], 1)
        B = np.zeros((6, 24))
        for a, (dx, dy, dz) in enumerate(grad):
            B[:, 3 * a:3 * a + 3] = [[dx, 0, 0], [0, dy, 0], [0, 0, dz], [dy, dx, 0], [0, dz, dy], [dz, 0, dx]]
        K += B.T @ D @ B / 8
    return K


def setup(problem, nx, ny, nz, cases):
    def node(x, y, z):
        return (x * (ny + 1) + y) * (nz + 1) + z

    ndof = 3 * (nx + 1) * (ny + 1) * (nz + 1)
    F = np.zeros((ndof, cases))
    y, z = np.meshgrid(np.arange(ny + 1), np.arange(nz + 1), indexing="ij")
    left = node(0, y, z).ravel()
    mid = nz // 2
    assert ny % 2 == 0 and nz % 2 == 0
    if problem in ("cantilever", "torsion"):
        fixed = np.concatenate([3 * left + c for c in range(3)])
    if problem == "cantilever":
        for case, (component, force) in enumerate([(1, -1), (2, 1), (0, 1)][:cases]):
            F[3 * node(nx, ny // 2, mid) + component, case] = force
    if problem == "torsion":
        F[3 * node(nx, ny, mid) + 1, 0], F[3 * node(nx, ny, mid) + 2, 0] = -0.5, 0.5
        F[3 * node(nx, 0, mid) + 1, 0], F[3 * node(nx, 0, mid) + 2, 0] = 0.5, -0.5
    if problem == "bridge":
        line = np.array([0, mid, nz])
        fixed = np.concatenate([3 * node(0, 0, line) + c for c in range(3)] + [3 * node(nx, 0, line) + 1])
        for ex in range(nx):
            for ez in range(nz):
                for n in (node(ex, ny, ez), node(ex + 1, ny, ez), node(ex, ny, ez + 1), node(ex + 1, ny, ez + 1)):
                    F[3 * n + 1, 0] -= 0.25 / (nx * nz)
    if problem == "mbb":
        fixed = np.concatenate([3 * left, [3 * node(nx, 0, mid) + 1, 3 * node(nx, 0, mid) + 2, 3 * node(0, ny, mid) + 2]])
        F[3 * node(0, ny, mid) + 1, 0] = -1
    ex, ey, ez = (a.ravel() for a in np.meshgrid(np.arange(nx), np.arange(ny), np.arange(nz), indexing="ij"))
    nodes = np.stack([node(ex + a, ey + b, ez + c) for a, b, c in corners], 1)
    edof = (3 * nodes[:, :, None] + np.arange(3)).reshape(-1, 24)
    return F, np.setdiff1d(np.arange(ndof), fixed), edof, np.stack([ex, ey, ez], 1)


def filter_matrix(centre, rmin):
    index = {tuple(c): e for e, c in enumerate(centre)}
    w = int(np.ceil(rmin))
    rows, cols, values = [], [], []
    for e, c in enumerate(centre):
        for d in np.ndindex(2 * w + 1, 2 * w + 1, 2 * w + 1):
            o = index.get(tuple(c + np.array(d) - w))
            weight = rmin - np.linalg.norm(np.array(d) - w)
            if o is not None and weight > 0:
                rows.append(e), cols.append(o), values.append(weight)
    H = coo_matrix((values, (rows, cols))).tocsr()
    return H.multiply(1 / H.sum(1)).tocsr()


def optimize(problem, nx, ny, nz, iterations, volfrac=None, penal=3., beta=0., rmin=1.5, move=0.2, deck=None, hole=0, cases=1, Emin=1e-9):
    volfrac = volfrac or {"cantilever": 0.3, "torsion": 0.25, "bridge": 0.3, "mbb": 0.5}[problem]
    deck = int(deck if deck is not None else problem == "bridge")
    cases = int(cases)
    K0 = element_matrix()
    F, free, edof, centre = setup(problem, nx, ny, nz, cases)
    ndof, nel = F.shape[0], len(edof)
    H = filter_matrix(centre, rmin)
    solid = centre[:, 1] >= ny - deck
    middle = (centre + 0.5) / (nx, ny, nz)
    void = (hole > 0) & (abs(middle[:, :2] - 0.5) <= 0.25).all(1)  # a hole in the middle half of x and y, all z
    passive = solid | void
    x = np.where(passive, solid, (volfrac * nel - solid.sum()) / (nel - passive.sum()))
    rows, cols = np.repeat(edof, 24, 1).ravel(), np.tile(edof, (1, 24)).ravel()

    def project(t):
        return t if beta == 0 else (np.tanh(beta / 2) + np.tanh(beta * (t - 0.5))) / (2 * np.tanh(beta / 2))

    def densities(x):
        return np.where(passive, solid, project(H @ x))

    history = []
    for _ in range(iterations):
        rho = densities(x)
        E = Emin + rho**penal * (1 - Emin)
        K = coo_matrix(((E[:, None] * K0.ravel()).ravel(), (rows, cols)), (ndof, ndof)).tocsc()[free][:, free]
        U = np.zeros_like(F)
        U[free] = splu(K).solve(F[free])
        history.append(float((F * U).sum() / cases))
        energy = sum(np.einsum("ei,ij,ej->e", U[edof, l], K0, U[edof, l]) for l in range(cases)) / cases
        slope = 1.0 if beta == 0 else beta * (1 - np.tanh(beta * (H @ x - 0.5))**2) / (2 * np.tanh(beta / 2))
        dc = H.T @ np.where(passive, 0, -penal * rho**(penal - 1) * (1 - Emin) * energy * slope)
        dv = H.T @ np.where(passive, 0, slope * np.ones(nel))
        low, high = 0.0, 1e9
        while high - low > 1e-13 * (low + high):
            mean = (low + high) / 2
            new = np.where(passive, solid, np.clip(x * np.sqrt(-dc / np.maximum(dv, 1e-300) / mean), np.maximum(0, x - move), np.minimum(1, x + move)))
            low, high = (mean, high) if densities(new).sum() > volfrac * nel else (low, mean)
        x = new
    return history


if __name__ == "__main__":
    options = {k: float(v) for k, v in (a.split("=") for a in sys.argv[6:])}
    print(",".join("%.12g" % c for c in optimize(sys.argv[1], *map(int, sys.argv[2:6]), **options)))
