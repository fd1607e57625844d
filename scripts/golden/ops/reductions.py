"""reductions.py - sums, extremes, statistics, scans; tensors made of nothing.
SPDX-License-Identifier: MIT
"""

import torch

from golden import INF, NAN, b, f, i, wave

AXES = (
    ("3x4", "0", [0], False),
    ("3x4", "-1", [-1], True),
    ("2x3x2", "0,2", [0, 2], False),
    ("2x3x2", "all", [0, 1, 2], False),
    ("1", "0", [0], False),
)


def attr(axes, keep):
    return f"axes={axes}" + (" keep=1" if keep else "")


def over_axes(g):
    fns = {
        "sum": torch.sum,
        "mean": torch.mean,
        "amax": torch.amax,
        "amin": torch.amin,
        "logsumexp": torch.logsumexp,
    }
    for name, fn in fns.items():
        for x, a, dims, keep in AXES:
            g.case(name, lambda t: fn(t, dim=dims, keepdim=keep), x, attr=attr(a, keep))
    for name in ("sum", "amax", "amin"):
        g.case(name, lambda t: fns[name](t, dim=[0]), f(1, INF, 3), attr="axes=0")
    for name in ("amax", "amin"):  # ties share the gradient
        g.case(name, lambda t: fns[name](t, dim=[1]), f(1, 2, 2, 3, 3, 3, shape=(2, 3)), attr="axes=1")
    g.case("logsumexp", lambda t: torch.logsumexp(t, 0), f(1000, 1000, -1000), attr="axes=0")
    g.case("sum", lambda t: t.sum(), i(1, 2, 3), attr="axes=all")
    g.case("sum", lambda t: t.sum(0), "0x3", attr="axes=0")
    g.case("mean", lambda t: t.mean(0), "0x3", attr="axes=0")
    for x, a, dims, keep in AXES:

        def prod(t):
            for d in sorted((d % t.dim() for d in dims), reverse=True):
                t = t.prod(d, keepdim=keep)
            return t

        g.case("prod", prod, x, attr=attr(a, keep))
    g.case("prod", lambda t: t.prod(0), f(2, 0, 3), attr="axes=0")
    g.case("prod", lambda t: t.prod(0), f(2, 0, 0), attr="axes=0")
    for name in ("any", "all"):
        fn = getattr(torch, name)
        for x, a, d in (
            (b(1, 0, 1), "0", 0),
            (b(0, 0, shape=(1, 2)), "1", 1),
            (f(0, 1, shape=(2, 1)), "0", 0),
            (i(0, 0), "all", 0),
            (b(shape=(0, 2)), "0", 0),
        ):
            g.case(name, lambda t: fn(t, d), x, attr=f"axes={a}")
    for name in ("var", "std"):
        fn = getattr(torch, name)
        for x, a, dims, keep in AXES[:4]:
            g.case(name, lambda t: fn(t, dim=dims, keepdim=keep), x, attr=attr(a, keep))
            g.case(
                name,
                lambda t: fn(t, dim=dims, correction=0, keepdim=keep),
                x,
                attr=attr(a, keep) + " population=1",
            )
    for name in ("argmax", "argmin"):
        fn = getattr(torch, name)
        for x, a, d in (
            (wave("3x4"), "0", 0),
            (wave("3x4"), "-1", -1),
            (wave("2x3"), "all", None),
            (f(1, 3, 3), "0", 0),
            (f(2, NAN, 5), "0", 0),
        ):
            g.case(
                name, lambda t: fn(t, d) if d is not None else fn(t), x, attr=f"axes={a}", gradient=False
            )
    for name in ("max", "min"):
        fn = getattr(torch, name)
        for x, d in (
            (wave("3x4"), 0),
            (wave("3x4"), -1),
            (f(1, 3, 3), 0),
            (f(2, NAN, 5), 0),
            (i(4, 2, 9), 0),
        ):
            g.case(name, lambda t: tuple(fn(t, d)), x, attr=f"axes={d}")


def scans(g):
    for name in ("cumsum", "cumprod"):
        fn = getattr(torch, name)
        for x, a in (("3x4", 0), ("3x4", 1), ("5", -1), ("1", 0), ("0x3", 0), (f(2, 0, 3, 0, 4), 0)):
            g.case(name, lambda t: fn(t, a), x, attr=f"axis={a}")
    for name in ("cummax", "cummin"):
        fn = getattr(torch, name)
        for x, a in (
            ("3x4", 0),
            ("3x4", 1),
            ("5", -1),
            ("1", 0),
            (f(1, 1, 3, 2, 3), 0),
            (f(1, NAN, 3), 0),
        ):
            g.case(name, lambda t: tuple(fn(t, a)), x, attr=f"axis={a}")


def order(g):
    for x, a in ((wave("3x4"), 0), (wave("3x4"), -1), (wave("1"), 0), (f(2, NAN, -INF, 5, INF), 0)):
        for down in (0, 1):
            opts = f"axis={a} descending={down}"
            g.case(
                "sort",
                lambda t: tuple(torch.sort(t, dim=a, descending=bool(down), stable=True)),
                x,
                attr=opts,
            )
            g.case(
                "argsort",
                lambda t: torch.argsort(t, dim=a, descending=bool(down), stable=True),
                x,
                attr=opts,
                gradient=False,
            )
    g.case("sort", lambda t: tuple(torch.sort(t, dim=0, stable=True)), i(3, 1, 3, 2, 1), attr="axis=0")
    for x, k, a, low in (
        (wave("3x4"), 2, 1, 0),
        (wave("3x4"), 1, 0, 0),
        (wave("7"), 3, -1, 1),
        (wave("2"), 2, 0, 0),
        (wave("5"), 0, 0, 0),
    ):
        g.case(
            "topk", lambda t: tuple(torch.topk(t, k, a, not low)), x, attr=f"k={k} axis={a} smallest={low}"
        )
    for x, a in ((wave("3x4"), 0), (wave("3x4"), 1), (wave("5"), -1), (wave("1"), 0), (f(1, NAN, 3), 0)):
        g.case("median", lambda t: tuple(torch.median(t, a)), x, attr=f"axes={a}")
    for x, a, d in (
        (i(0, 1, 2, 0), "0", 0),
        (wave("3x4"), "1", 1),
        (b(1, 0, 1), "0", 0),
        (f(0, NAN), "0", 0),
        (wave("0x2"), "0", 0),
    ):
        g.case("count_nonzero", lambda t: torch.count_nonzero(t, d), x, attr=f"axes={a}", gradient=False)
    for x, p, a, d in (
        ("3x4", 2, "0", 0),
        ("3x4", 1, "-1", -1),
        ("2x3", 3, "0,1", (0, 1)),
        ("5", INF, "0", 0),
        ("5", -INF, "0", 0),
        ("4", 0.5, "0", 0),
        ("4", 0, "0", 0),
        ("4", -1, "0", 0),
        (f(0, 2, -3), -1, "0", 0),
        (f(0, 0), 2, "0", 0),
    ):
        text = "inf" if p == INF else "-inf" if p == -INF else str(p)
        g.case(
            "norm",
            lambda t: torch.linalg.vector_norm(t, p, d),
            x,
            attr=f"p={text} axes={a}",
            gradient=p > 0 or x == "4" and p != 0,
        )


def large_norm(g):
    g.case(
        "norm",
        lambda t: torch.linalg.vector_norm(t / 1e200, 2, 0) * 1e200,
        f(3e200, 4e200),
        attr="p=2 axes=0",
    )


def made(g):
    for d, dt in (("f64", torch.float64), ("i64", torch.int64)):
        for s in ("2x3", "1", "0x2"):
            dims = [int(v) for v in s.split("x")]
            g.case("full", lambda: torch.full(dims, 3, dtype=dt), attr=f"dtype={d} shape={s} value=3")
            g.case("zeros", lambda: torch.zeros(dims, dtype=dt), attr=f"dtype={d} shape={s}")
            g.case("ones", lambda: torch.ones(dims, dtype=dt), attr=f"dtype={d} shape={s}")
    for x in (wave("2x3"), wave(""), i(1, 2), wave("0x2"), b(1, 0)):
        g.case("full_like", lambda t: torch.full_like(t, 1), x, attr="value=1", gradient=False)
    for a, e, st in ((0, 5, 1), (1, 2, 0.25), (5, 0, -2), (0, 0, 1), (-1, 1.1, 0.5)):
        g.case(
            "arange",
            lambda: torch.arange(a, e, st, dtype=torch.float64),
            attr=f"dtype=f64 start={a} stop={e} step={st}",
        )
    for n in (1, 2, 3, 0, 4):
        g.case("eye", lambda: torch.eye(n, dtype=torch.float64), attr=f"dtype=f64 n={n}")


def write(g):
    over_axes(g)
    scans(g)
    order(g)
    large_norm(g)
    made(g)
