"""golden.py - samples of operations with the values PyTorch gives, as text.

A sample is an operation, its attributes, input values, results, and the gradients of the inputs for
a fixed cotangent (element j of result k: cos(0.7 j + k + 0.3)). Everything is f64.
SPDX-License-Identifier: MIT
"""

import math
import os
import sys

import torch

DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.bool: "bool",
}
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "golden")


def wave(text, k=0, positive=False, scale=1.5):
    """Floats of a shape like "3x4" ("" is a scalar): waves, distinct from input to input."""
    shape = [int(d) for d in text.split("x")] if text else []
    n = math.prod(shape)
    x = torch.tensor([scale * math.sin(0.9 * i + 1.1 * k + 0.4) for i in range(n)], dtype=torch.float64)
    x = x.abs() + 0.2 if positive else x
    return x.reshape(shape)


def f(*values, shape=None):
    x = torch.tensor(values, dtype=torch.float64)
    return x.reshape(shape) if shape is not None else x


def i(*values, shape=None, dtype=torch.int64):
    x = torch.tensor(values, dtype=dtype)
    return x.reshape(shape) if shape is not None else x


def b(*values, shape=None):
    x = torch.tensor([bool(v) for v in values], dtype=torch.bool)
    return x.reshape(shape) if shape is not None else x


INF, NAN = math.inf, math.nan


class Family:
    def __init__(self, name):
        self.lines, self.name = [], name

    def write(self):
        os.makedirs(OUT, exist_ok=True)
        head = [
            f"# {self.name}.txt - made by scripts/golden/ops/make.py; see tests/golden/test_golden.c",
            "# SPDX-License-Identifier: MIT",
        ]
        with open(os.path.join(OUT, self.name + ".txt"), "w") as out:
            out.write("\n".join(head + self.lines) + "\n")

    def _values(self, key, x):
        shape = "x".join(str(d) for d in x.shape) or "()"
        values = " ".join(number(v) for v in x.detach().reshape(-1).tolist())
        self.lines.append(f"{key} {DTYPES[x.dtype]} {shape} : {values}".rstrip())

    def case(self, name, fn, *inputs, attr="", gradient=True, fixed=()):
        """fn of the inputs (strings are waves, None is absent) is what the operation gives.
        fixed: inputs that PyTorch gives no gradient."""
        made = []
        for k, x in enumerate(inputs):
            made.append(wave(x, k) if isinstance(x, str) else x)
        leaves = [
            x is not None and x.dtype == torch.float64 and gradient and k not in fixed
            for k, x in enumerate(made)
        ]
        made = [x.clone().requires_grad_(True) if leaf else x for x, leaf in zip(made, leaves)]
        try:
            got = fn(*made)
        except Exception as e:  # a mistake in the table: say where
            sys.exit(f"{name} {attr}: {e}")
        got = list(got) if isinstance(got, (tuple, list)) else [got]
        self.lines.append(f"case {name}" + (f" {len(got)}" if len(got) > 1 else ""))
        if attr:
            self.lines.append(f"attr {attr}")
        for x in made:
            self._values("in", x) if x is not None else self.lines.append("absent")
        for y in got:
            self._values("out", y)
        roots = [(k, y) for k, y in enumerate(got) if y.requires_grad]
        wanted = [k for k, leaf in enumerate(leaves) if leaf]
        if roots and wanted:
            seeds = [
                torch.tensor(
                    [math.cos(0.7 * j + k + 0.3) for j in range(y.numel())], dtype=torch.float64
                ).reshape(y.shape)
                for k, y in roots
            ]
            grads = torch.autograd.grad(
                [y for _, y in roots], [made[k] for k in wanted], seeds, allow_unused=True
            )
            for k, g in zip(wanted, grads):
                self._values(f"grad {k}", torch.zeros_like(made[k]) if g is None else g)
        self.lines.append("end")


def number(v):
    if isinstance(v, bool):
        return "1" if v else "0"
    if isinstance(v, int):
        return str(v)
    if math.isnan(v):
        return "nan"
    return f"{v:.17g}"
