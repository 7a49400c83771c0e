#!/usr/bin/env python3
"""Picture of a topology optimization: the design and the convergence curve.

  topopt_plot.py design.vti table.csv picture.png [threshold]

Needs Python with numpy and matplotlib (Debian: python3-matplotlib).
"""
import csv
import re
import sys
import numpy as np
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d.art3d import Poly3DCollection


def read_density(file):
    """The first array of a .vti file of topopt: raw, big-endian, behind 8 bytes of length."""
    data = open(file, "rb").read()
    start = data.index(b"_", data.index(b"<AppendedData")) + 1
    header = data[:start].decode()
    nx, ny, nz = (int(n) for n in re.search(r'WholeExtent="0 (\d+) 0 (\d+) 0 (\d+)"', header).groups())
    kind = {"Float64": ">f8", "Float32": ">f4"}[re.search(r'Name="density" type="(\w+)"', header).group(1)]
    return np.frombuffer(data, kind, nx * ny * nz, start + 8).reshape(nz, ny, nx).transpose(2, 1, 0).astype(float)


def smooth(values):
    """Mean over neighbours, with weights 1, 2, 1 in each direction."""
    for axis in range(3):
        v = np.moveaxis(values, axis, 0)
        padded = np.concatenate([v[:1], v, v[-1:]])
        values = np.moveaxis((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4, 0, axis)
    return values


def shifted_nodes(rho, threshold):
    """The nodes of the elements, moved along the density's gradient to where it crosses the threshold."""
    field = smooth(np.pad(rho, 2, mode="edge"))
    nodal = sum(field[i:i - 1 or None, j:j - 1 or None, k:k - 1 or None] for i in (0, 1) for j in (0, 1) for k in (0, 1)) / 8
    gradient = np.stack(np.gradient(nodal), -1)
    shift = gradient * ((threshold - nodal) / np.maximum((gradient**2).sum(-1), 1e-3))[..., None]
    shift = np.clip(shift, -0.8, 0.8)[1:-1, 1:-1, 1:-1]
    for axis in range(3):  # the faces of the domain stay plane
        np.moveaxis(shift, axis, 0)[[0, -1], ..., axis] = 0
    return np.stack(np.meshgrid(*(np.arange(n + 1.0) for n in rho.shape), indexing="ij"), -1) + shift


def surface(rho, threshold):
    """Quadrilaterals between elements above and below the threshold; normals averaged over those around their corners."""
    solid = np.pad(rho >= threshold, 1)
    node = shifted_nodes(rho, threshold)
    quads = []
    for axis in range(3):
        up = np.roll(solid, -1, axis)
        a, b = np.roll(np.eye(3, dtype=int), axis, 1)[1:]
        for turn, faces in ((1, solid & ~up), (-1, up & ~solid)):
            low = np.argwhere(faces) - 1  # of the padded element below the face
            low[:, axis] += 1
            corners = [np.ravel_multi_index((low + c).T, node.shape[:3]) for c in (0 * a, a, a + b, b)]
            quads.append(np.stack(corners[::turn], 1))
    quads = np.concatenate(quads)
    points = node.reshape(-1, 3)[quads]
    face = np.cross(points[:, 2] - points[:, 0], points[:, 3] - points[:, 1])
    normals = np.zeros((node.size // 3, 3))
    np.add.at(normals, quads, face[:, None, :])
    normals = normals[quads].sum(1) + face
    return points, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)


def draw_design(ax, rho, threshold):
    quads, normals = surface(rho, threshold)
    quads, normals = quads[:, :, [0, 2, 1]], normals[:, [0, 2, 1]]  # y is up
    light = np.array([0.25, -0.65, 0.72])
    shade = (0.5 + 0.5 * normals @ light)[:, None]
    colors = np.clip((0.2 + 0.8 * shade) * np.array([0.4, 0.66, 0.88]) + 0.15 * shade**8, 0, 1)
    ax.add_collection3d(Poly3DCollection(quads, facecolors=colors, edgecolors=colors, linewidths=0.2))
    size = np.array(rho.shape)[[0, 2, 1]]
    ax.set_xlim(0, size[0]), ax.set_ylim(0, size[1]), ax.set_zlim(0, size[2])
    ax.set_box_aspect(size)
    ax.view_init(elev=22, azim=-58)
    ax.set_axis_off()


def draw_history(ax, rows):
    it = [int(r["iteration"]) for r in rows]
    compliance = [float(r["compliance"]) for r in rows]
    ax.plot(it, compliance, color="tab:blue", lw=2)
    ax.set_ylim(0, min(max(compliance), 4 * compliance[-1]) * 1.05)
    ax.set_xlabel("iteration")
    ax.set_ylabel("compliance", color="tab:blue")
    ax.grid(alpha=0.3)
    right = ax.twinx()
    right.plot(it, [float(r["volume"]) for r in rows], color="tab:orange", lw=1.5)
    right.set_ylim(0, 1)
    right.set_ylabel("volume fraction", color="tab:orange")
    for a, b in zip(rows, rows[1:]):
        if (a["penal"], a["beta"]) != (b["penal"], b["beta"]):
            ax.axvline(int(b["iteration"]), color="0.6", lw=0.8, ls=":")


def main():
    vti, table, picture = sys.argv[1:4]
    threshold = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5
    rho = read_density(vti)
    rows = list(csv.DictReader(open(table)))
    figure = plt.figure(figsize=(12, 5.4), dpi=120)
    ax = figure.add_axes([-0.09, -0.22, 0.8, 1.4], projection="3d")
    draw_design(ax, rho, threshold)
    figure.text(0.03, 0.94, "%d x %d x %d elements, compliance %.4g, volume %.3f" % (rho.shape + (float(rows[-1]["compliance"]), float(rows[-1]["volume"]))))
    draw_history(figure.add_axes([0.69, 0.17, 0.24, 0.7]), rows)
    figure.savefig(picture)


if __name__ == "__main__":
    main()
