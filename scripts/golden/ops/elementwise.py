"""elementwise.py - functions of each element, comparisons, choices.
SPDX-License-Identifier: MIT
"""

import torch
import torch.nn.functional as F
from scipy import special

from golden import INF, NAN, b, f, i, wave


class Polygamma(torch.autograd.Function):
    """SciPy's values: PyTorch's trigamma has nine digits."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        y = special.digamma(x.numpy()) if n == 0 else special.polygamma(n, x.numpy())
        return torch.as_tensor(y, dtype=torch.float64)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.as_tensor(special.polygamma(ctx.n + 1, x.numpy())), None


EDGES = f(0.0, -0.0, 1, -1, 0.5, -2.5, 1e-8, 700, -700, INF, -INF, NAN)
WIDE = f(1e-300, 1e300, -1e300, 3, -3, 20, -20, 0.25)


def unary(family):
    """Anywhere on the line; then those with a narrower domain."""
    everywhere = {
        "neg": torch.neg,
        "abs": torch.abs,
        "sign": lambda x: torch.sign(x) + torch.where(torch.isnan(x), x, 0).detach(),
        "square": torch.square,
        "exp": torch.exp,
        "expm1": torch.expm1,
        "exp2": torch.exp2,
        "sin": torch.sin,
        "cos": torch.cos,
        "tan": torch.tan,
        "atan": torch.atan,
        "sinh": torch.sinh,
        "cosh": torch.cosh,
        "asinh": torch.asinh,
        "erf": torch.erf,
        "erfc": torch.erfc,
        "reciprocal": torch.reciprocal,
        "floor": torch.floor,
        "ceil": torch.ceil,
        "round": torch.round,
        "trunc": torch.trunc,
        "frac": torch.frac,
        "relu": torch.relu,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "silu": F.silu,
        "logsigmoid": F.logsigmoid,
        "relu6": F.relu6,
        "hardsigmoid": lambda x: torch.clamp(x / 6 + 0.5, 0, 1),
        "hardswish": F.hardswish,
        "selu": F.selu,
        "mish": F.mish,
        "digamma": lambda x: Polygamma.apply(x, 0),
        "log1p": torch.log1p,
        "sqrt": torch.sqrt,
        "rsqrt": torch.rsqrt,
        "log": torch.log,
        "log2": torch.log2,
        "log10": torch.log10,
        "lgamma": torch.lgamma,
        "isnan": torch.isnan,
        "isinf": torch.isinf,
        "isfinite": torch.isfinite,
        "logical_not": torch.logical_not,
    }
    positive = {"sqrt", "rsqrt", "log", "log1p", "log2", "log10", "lgamma", "digamma"}
    flat = {"floor", "ceil", "round", "trunc"}  # no gradient in Ebb, zeros in PyTorch
    for name, fn in everywhere.items():
        only = name in positive
        gradient = name not in flat
        edges, wide = EDGES, WIDE
        if name in OWN_EDGES:
            edges, wide = OWN_EDGES[name], f(0.75, 2, 5)
        for x in (
            wave("3x4", positive=only),
            wave("", positive=only),
            wave("1", positive=only),
            wave("0x3"),
            edges,
            wide,
        ):
            family.case(name, fn, x, gradient=gradient)
    for name in ("floor", "ceil", "round", "trunc", "relu", "nan_to_num"):
        family.case(name, getattr(torch, name), i(16777217, -5, 0))
    for name in ("isnan", "isinf", "isfinite"):
        family.case(name, getattr(torch, name), i(16777217, -5, 0))
        family.case(name, getattr(torch, name), b(1, 0))
    within = {"asin": torch.asin, "acos": torch.acos, "atanh": torch.atanh, "erfinv": torch.erfinv}
    for name, fn in within.items():
        for x in (
            wave("3x4", scale=0.9),
            wave("", scale=0.9),
            wave("1", scale=0.5),
            wave("0x2"),
            f(0, 1, -1, 1.5, NAN, 1e-9),
        ):
            family.case(name, fn, x)
    for x in (wave("3x4", positive=True) + 1, f(1.5), wave("0x2"), f(1, 2, 1e10), f(0.5, NAN, INF)):
        family.case("acosh", torch.acosh, x)


# Where PyTorch's gradient at an edge is an artefact of its formula (0 * inf and the like) the edge
# is left to the tests of conventions, and milder places stand here.
MILD = f(0.0, 1, -1, 0.5, -2.5, 1e-8, 30, -30)
OWN_EDGES = {
    "silu": MILD,
    "mish": f(0.0, 1, -1, 0.5, -2.5, 1e-8, 15, -15),
    "hardswish": f(-4, 0, 4, 1.5),
    "reciprocal": f(1, -1, 0.5, 1e-8, INF),
    "digamma": f(0.3, 1, 2, 10.5, -0.5, -1.5),
    "lgamma": f(0.3, 1, 2, 10.5, -0.5, -1.5),
    "sqrt": f(0, 4, 1e-300, INF, 2),
    "rsqrt": f(4, 1e-8, 2, 7),
    "log": f(1, 1e-300, 1e300, 0.5),
    "log1p": f(0, 1e-17, -0.5, 1e300),
    "log2": f(1, 8, 1e-300, 0.5),
    "log10": f(1, 1000, 1e-300, 0.5),
    "tan": MILD,
    "sin": MILD,
    "cos": MILD,
    "sinh": MILD,
    "cosh": MILD,
    "asinh": f(0, 1e-9, 1e10, -1e10, 3),
    "exp": f(0, -0.0, 700, -700, -INF),
    "exp2": f(0, 3, 1000, -1000),
    "expm1": f(0, 1e-17, 700, -700),
    "square": f(0, 1e154, -3, 1e-160),
    "frac": f(0.25, -0.25, 2.75, -2.75),
    "abs": f(0, -0.0, INF, -INF, 3),
    "erfc": f(0, 1, -1, 5, -5, 26),
    "atan": f(0, 1e300, -1e300, 1),
    "relu": f(0, -0.0, INF, -INF, 2),
    "relu6": f(0, 6, 7, -1, 3),
    "hardsigmoid": f(-4, 4, 0, 1.5),
    "selu": f(0, -INF, INF, 1, -1),
    "tanh": f(0, INF, -INF, 20, 1e-9),
    "logsigmoid": f(0, 800, -800, 3),
    "sigmoid": f(0, INF, -INF, 40, -40),
}


def with_options(family):
    def all_of(name, fn, attr, *more):
        for x in (wave("3x4"), wave(""), wave("0x3"), f(-3, -0.5, 0.25, 1.5, 8), *more):
            family.case(name, fn, x, attr=attr)

    all_of("leaky_relu", F.leaky_relu, "")
    all_of("leaky_relu", lambda x: F.leaky_relu(x, 0.3), "slope=0.3")
    all_of("elu", F.elu, "")
    all_of("elu", lambda x: F.elu(x, 0.7), "alpha=0.7")
    all_of("celu", F.celu, "")
    all_of(
        "celu",
        lambda x: torch.clamp(x, min=0) + torch.clamp(0.7 * torch.expm1(x / 0.7), max=0),
        "alpha=0.7",
    )
    all_of("softplus", F.softplus, "")
    all_of("softplus", lambda x: torch.logaddexp(2 * x, torch.zeros_like(x)) / 2, "beta=2")
    all_of("gelu", F.gelu, "")
    all_of("gelu", lambda x: F.gelu(x, approximate="tanh"), "tanh_approximation=1")
    all_of("hardtanh", F.hardtanh, "", f(INF, -INF, 2))
    all_of("add_scalar", lambda x: x + 2.5, "a=2.5", f(INF, -INF, NAN))
    all_of("mul_scalar", lambda x: x * -1.5, "a=-1.5", f(INF, -INF, NAN))
    all_of("clamp", lambda x: torch.clamp(x, -0.6, 0.75), "lo=-0.6 hi=0.75", f(INF, -INF))
    for a in (2, 3, 0.5, -1, 0):
        family.case("pow_scalar", lambda x: torch.pow(x, a), wave("3x4", positive=True), attr=f"a={a}")
    family.case("pow_scalar", lambda x: torch.pow(x, 3), f(-2, 0, 1), attr="a=3")
    family.case("pow_scalar", lambda x: torch.pow(x, 3), i(-2, 0, 7), attr="a=3")
    family.case("pow_scalar", lambda x: torch.pow(x, 30), i(7, -3, dtype=torch.int32), attr="a=30")
    for n in (0, 1, 2, 3, 4):
        family.case("polygamma", lambda x: Polygamma.apply(x, n), f(0.4, 1, 2.5, 7), attr=f"n={n}")
    family.case("nan_to_num", torch.nan_to_num, f(NAN, INF, -INF, 2))
    for x in (wave("3x4"), wave(""), wave("0x3"), f(NAN, 1)):
        family.case("nan_to_num", torch.nan_to_num, x)


def pairs(family):
    shapes = (("3x4", "3x4"), ("3x1", "4"), ("", "2"), ("0x3", "3"), ("2x1x3", "4x1"))

    def broadcast(name, fn, positive=False, gradient=True):
        for x, y in shapes:
            family.case(name, fn, wave(x, 0, positive), wave(y, 1, positive), gradient=gradient)

    edge_x, edge_y = f(0, 1, -1, INF, NAN, 2), f(1, 1, -1, 2, 1, 2)
    for name, fn in {
        "add": torch.add,
        "sub": torch.sub,
        "mul": torch.mul,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
    }.items():
        broadcast(name, fn)
        family.case(name, fn, edge_x, edge_y)
    broadcast("div", torch.div, positive=True)
    family.case("div", torch.div, f(1, -1, 0, 3), f(2, 4, 5, -7))
    broadcast("pow", torch.pow, positive=True)
    family.case("pow", torch.pow, f(2, 3, 4), f(0, -1, 0.5))
    family.case("pow", torch.pow, i(2, -3, 0, 1, -1, 7), i(10, 3, 0, -5, -3, 40))
    family.case("pow", torch.pow, i(2, 255, 16, dtype=torch.uint8), i(3, 255, 2, dtype=torch.uint8))
    truths, other = b(0, 0, 1, 1), b(0, 1, 0, 1)
    for name in ("add", "mul", "maximum", "minimum"):
        family.case(name, getattr(torch, name), truths, other)
    broadcast("atan2", torch.atan2)
    family.case("atan2", torch.atan2, f(0, 1, -1, 1), f(1, 0, -1, -1))
    broadcast("hypot", torch.hypot)
    family.case("hypot", torch.hypot, f(3, 1e200, 1e-200), f(4, 1e200, 1e-200))
    broadcast("logaddexp", torch.logaddexp)
    family.case("logaddexp", torch.logaddexp, f(1000, -1000, 0), f(1000, -1001, 800))
    broadcast("xlogy", torch.xlogy, positive=True)
    broadcast("fmod", torch.fmod, positive=True)
    family.case("fmod", torch.fmod, f(5.5, -5.5, 5.5, -5.5), f(2, 2, -2, -2), gradient=False)
    broadcast("remainder", torch.remainder, positive=True)
    family.case("remainder", torch.remainder, f(5.5, -5.5, 5.5, -5.5), f(2, 2, -2, -2), gradient=False)
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"):
        fn = getattr(torch, name)
        broadcast(name, fn, gradient=False)
        family.case(name, fn, edge_x, edge_y, gradient=False)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        fn = getattr(torch, name)
        for x, y in (
            (i(5, 6, -7), i(3, 3, 3)),
            (i(12), i(10, 9, 8)),
            (b(1, 0, 1), b(1, 1, 0)),
            (i(5, 6, dtype=torch.uint8), i(3, 250, dtype=torch.uint8)),
            (i(1, 2, shape=(2, 1)), i(4, 8, 15)),
        ):
            family.case(name, fn, x, y)
    for x in (i(5, -6, 0), i(0), b(1, 0), i(7, 255, dtype=torch.uint8), i(1, 2, 3, dtype=torch.int32)):
        family.case("bitwise_not", torch.bitwise_not, x)
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        fn = getattr(torch, name)
        for x, y in (
            (i(5, 6, 7), i(1, 2, 3)),
            (i(12), i(0, 1, 2)),
            (i(-8, -9), i(1, 1)),
            (i(1, 2, shape=(2, 1)), i(4, 8, 15)),
            (i(3, 200, dtype=torch.uint8), i(1, 2, dtype=torch.uint8)),
        ):
            family.case(name, fn, x, y)


def choices(family):
    for x, y, w in (
        ("3x4", "3x4", "3x4"),
        ("3x1", "4", ""),
        ("", "", ""),
        ("0x3", "3", "3"),
        ("2", "2", "1"),
    ):
        family.case("lerp", torch.lerp, x, y, w)
    for c, x, y in (
        (b(1, 0, 1), "3", "3"),
        (b(1, 0, 1), "", "3"),
        (b(1, 0, shape=(2, 1)), "3", "2x3"),
        (b(0), f(NAN), f(2)),
        (b(shape=(0, 3)), "0x3", "3"),
    ):
        family.case("where", torch.where, c, x, y)
    for x, m, v in (
        ("3x4", b(1, 0, 1, 1), -1),
        ("2", b(1, 0), 2.5),
        ("", b(1, shape=()), 3),
        ("0x3", b(1, 0, 1), 0),
        (f(NAN, INF, 1), b(1, 1, 0), 0),
    ):
        family.case("masked_fill", lambda t, k: t.masked_fill(k, v), x, m, attr=f"value={v}")
    for x, d in (
        (f(1.7, -1.7, 3), "i64"),
        (i(3, -4), "f64"),
        (b(1, 0), "f64"),
        (f(0, 2, NAN), "bool"),
        (i(1, 2, 3, dtype=torch.int32), "i64"),
        (f(3, 200), "u8"),
    ):
        to = {"i64": torch.int64, "f64": torch.float64, "bool": torch.bool, "u8": torch.uint8}[d]
        family.case("cast", lambda t: t.to(to), x, attr=f"dtype={d}", gradient=False)


def write(family):
    unary(family)
    with_options(family)
    pairs(family)
    choices(family)
