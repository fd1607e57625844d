#!/usr/bin/env python3
"""make_train.py > tests/data/golden_train.h - what PyTorch's optimizers and LSTM cell give.

Run by hand where PyTorch can be imported; its output is committed.
SPDX-License-Identifier: MIT
"""
import math

import torch

STEPS, N = 5, 4
# name, function, lr, sgd options, adam options
CASES = [
    ("sgd", "sgd", 0.1, {}),
    ("sgd with momentum", "sgd", 0.1, {"momentum": 0.9}),
    ("sgd with momentum and weight decay", "sgd", 0.05, {"momentum": 0.8, "weight_decay": 0.02}),
    ("sgd with weight decay", "sgd", 0.05, {"weight_decay": 0.1}),
    ("nesterov", "sgd", 0.1, {"momentum": 0.9, "weight_decay": 0.01, "nesterov": True}),
    ("adam", "adam", 0.01, {}),
    ("adam with weight decay", "adam", 0.01, {"weight_decay": 0.1}),
    ("adam with other betas", "adam", 0.02, {"betas": (0.5, 0.9), "eps": 1e-3}),
    ("adamw", "adamw", 0.01, {}),
    ("adamw with weight decay", "adamw", 0.02, {"weight_decay": 0.2}),
]


def start(i):
    return 0.3 * i - 0.5


def gradient(step, i):
    return math.sin(1.0 + 2.0 * step + 0.7 * i) * 10.0 ** (1 - i)


def run(kind, lr, options, dtype):
    p = torch.tensor([start(i) for i in range(N)], dtype=dtype, requires_grad=True)
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind]
    optimizer = make([p], lr=lr, **options)
    rows = []
    for step in range(STEPS):
        p.grad = torch.tensor([gradient(step, i) for i in range(N)], dtype=torch.float64).to(dtype)
        optimizer.step()
        rows.append([float(v) for v in p.detach()])
    return rows


def numbers(values):
    return "{" + ", ".join(repr(v) for v in values) + "}"


def table(rows):
    return "{" + ", ".join(numbers(r) for r in rows) + "}"


def print_optimizers():
    print("enum { GOLDEN_STEPS = %d, GOLDEN_N = %d };" % (STEPS, N))
    print("static const double golden_start[GOLDEN_N] = %s;" % numbers([start(i) for i in range(N)]))
    print("static const double golden_gradient[GOLDEN_STEPS][GOLDEN_N] = %s;"
          % table([[gradient(s, i) for i in range(N)] for s in range(STEPS)]))
    print("static const struct golden_optimizer {")
    print("    const char *name, *kind;")
    print("    double lr, momentum, weight_decay, betas[2], eps;")
    print("    bool nesterov;")
    print("    double f32[GOLDEN_STEPS][GOLDEN_N], f64[GOLDEN_STEPS][GOLDEN_N];")
    print("} golden_optimizers[] = {")
    for name, kind, lr, options in CASES:
        print('    {"%s", "%s", %r, %r, %r, %s, %r, %s,\n     %s,\n     %s},' % (
            name, kind, lr, options.get("momentum", 0.0), options.get("weight_decay", 0.0),
            numbers(options.get("betas", (0.0, 0.0))), options.get("eps", 0.0),
            "true" if options.get("nesterov") else "false",
            table(run(kind, lr, options, torch.float32)), table(run(kind, lr, options, torch.float64))))
    print("};")


def print_lstm():
    n, n_in, n_hidden = 2, 3, 2
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(n_in, n_hidden)
    with torch.no_grad():
        cell.bias_hh.zero_()
    x, h, c = torch.randn(n, n_in), torch.randn(n, n_hidden), torch.randn(n, n_hidden)
    h1, c1 = cell(x, (h, c))
    values = [("w_x", cell.weight_ih), ("w_h", cell.weight_hh), ("bias", cell.bias_ih), ("x", x), ("h", h),
              ("c", c), ("h_next", h1), ("c_next", c1)]
    for name, t in values:
        flat = [float(v) for v in t.detach().flatten()]
        print("static const float golden_lstm_%s[%d] = %s;" % (name, len(flat), numbers(flat)))


def main():
    print("/* golden_train.h - what PyTorch's optimizers and LSTM cell give; written by")
    print(" * scripts/golden/make_train.py.")
    print(" * SPDX-License-Identifier: MIT */")
    print("#ifndef EBB_TESTS_DATA_GOLDEN_TRAIN_H")
    print("#define EBB_TESTS_DATA_GOLDEN_TRAIN_H")
    print("\n#include <stdbool.h>\n")
    print_optimizers()
    print_lstm()
    print("\n#endif")


if __name__ == "__main__":
    main()
