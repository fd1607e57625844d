"""linear_algebra.py - products of matrices.
SPDX-License-Identifier: MIT
"""

import torch
import torch.nn.functional as F

from golden import f, i, wave


def products(g):
    for x, y in (
        ("3x4", "4x2"),
        ("3", "3"),
        ("2x3", "3"),
        ("3", "3x2"),
        ("2x2x3", "3x2"),
        ("2x1x2x3", "2x3x2"),
        ("0x3", "3x2"),
        ("2x0", "0x2"),
    ):
        g.case("matmul", torch.matmul, x, y)
    whole = i(*range(-5, 7), shape=(2, 2, 3))
    g.case("matmul", torch.matmul, whole, i(2**40, -3, 7, 2**45, 5, 1, shape=(3, 2)))
    g.case("bmm", torch.bmm, whole, whole.transpose(1, 2).contiguous())
    g.case("mv", torch.mv, whole[0].contiguous(), i(1, -2, 3))
    g.case("dot", torch.dot, i(100, 3, dtype=torch.uint8), i(7, 5, dtype=torch.uint8))
    for x, w, bias in (
        ("3x4", "2x4", "2"),
        ("2x3x2", "4x2", "4"),
        ("4", "2x4", "2"),
        ("0x3", "2x3", "2"),
        ("3x4", "2x4", None),
    ):
        g.case("linear", lambda t, m, c: F.linear(t, m, c), x, w, bias)
    for x, y in (("3x4", "4"), ("1x2", "2"), ("2x1", "1"), ("0x3", "3"), ("2x0", "0")):
        g.case("mv", torch.mv, x, y)
    for x, y in (("4", "4"), ("1", "1"), ("0", "0"), ("7", "7"), (f(1e200, 1), f(1e-200, 2))):
        g.case("dot", torch.dot, x, y)
    for x, y in (("3", "2"), ("1", "4"), ("0", "2"), ("2", "0"), ("4", "3")):
        g.case("outer", torch.outer, x, y)
    for x, y in (
        ("2x3x4", "2x4x2"),
        ("1x2x2", "1x2x2"),
        ("3x1x2", "3x2x1"),
        ("0x2x3", "0x3x2"),
        ("2x2x0", "2x0x2"),
    ):
        g.case("bmm", torch.bmm, x, y)
    for bt, al in ((1, 1), (0.5, 2), (0, 1), (-1, 0.25), (2, 0)):
        g.case(
            "addmm",
            lambda c, x, y: torch.addmm(c, x, y, beta=bt, alpha=al),
            "3x2",
            "3x4",
            "4x2",
            attr=f"beta={bt} alpha={al}",
        )
        g.case(
            "baddbmm",
            lambda c, x, y: torch.baddbmm(c, x, y, beta=bt, alpha=al),
            "2x3x2",
            "2x3x4",
            "2x4x2",
            attr=f"beta={bt} alpha={al}",
        )
    for eq, xs in (
        ("ij,jk->ik", ("2x3", "3x4")),
        ("ii->", ("3x3",)),
        ("ij->ji", ("2x3",)),
        ("bij,bjk->bik", ("2x2x3", "2x3x2")),
        ("i,j->ij", ("3", "2")),
        ("...ij,...jk->...ik", ("2x2x3", "3x2")),
        ("ij,jk,kl->il", ("2x3", "3x2", "2x2")),
        ("ij,ij->", ("2x3", "2x3")),
    ):
        g.case("einsum", lambda *t: torch.einsum(eq, *t), *xs, attr=f"equation={eq}")


def positive_definite(n, k=0, batch=None):
    a = wave(f"{batch}x{n}x{n}" if batch else f"{n}x{n}", k)
    return a @ a.transpose(-1, -2) + torch.eye(n, dtype=torch.float64)


def solvers(g):
    well = [
        wave("3x3") + 3 * torch.eye(3, dtype=torch.float64),
        wave("1x1") + 2,
        wave("2x2x2") + 3 * torch.eye(2, dtype=torch.float64),
        f(4, -2, 1, 1, shape=(2, 2)),
        wave("4x4", 2) + 3 * torch.eye(4, dtype=torch.float64),
    ]
    for a in well:
        g.case("inverse", torch.linalg.inv, a)
        g.case("det", torch.linalg.det, a)
        g.case("slogdet", lambda t: tuple(torch.linalg.slogdet(t)), a)
    for n in (1, 2, 3, 4):
        g.case("cholesky", torch.linalg.cholesky, positive_definite(n))
    g.case("cholesky", torch.linalg.cholesky, positive_definite(2, 1, 2))
    for a, y in ((well[0], "3"), (well[0], "3x2"), (well[2], "2x2x3"), (well[3], "2x1"), (well[4], "4")):
        g.case("solve", torch.linalg.solve, a, y)
    for a, y, up in (
        (well[0], "3x2", 0),
        (well[0], "3x1", 1),
        (well[2], "2x2x3", 0),
        (well[3], "2x2", 1),
        (well[4], "4x1", 0),
    ):
        g.case(
            "triangular_solve",
            lambda t, r: torch.linalg.solve_triangular(t, r, upper=bool(up)),
            a,
            y,
            attr=f"upper={up}",
        )


def transforms(g):
    real = torch.view_as_real
    for x, a in (("5", 0), ("6", 0), ("2x4", 1), ("4x2", 0), ("1", 0), ("2x7", -1)):
        g.case("rfft", lambda t: real(torch.fft.rfft(t, dim=a)), x, attr=f"axis={a}")
    for x, a, n in (("3x2", 0, 4), ("2x3x2", 1, 4), ("4x2", 0, 6), ("2x2", 0, 2), ("3x1x2", 0, 4)):

        def back(t):
            z = torch.view_as_complex(t.contiguous())
            return torch.fft.irfft(z, dim=a)

        g.case("irfft", back, x, attr=f"axis={a}")


def write(g):
    products(g)
    solvers(g)
    transforms(g)
