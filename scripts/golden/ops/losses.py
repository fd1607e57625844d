"""losses.py - losses, means over all elements.
SPDX-License-Identifier: MIT
"""

import torch
import torch.nn.functional as F

from golden import b, f, i, wave


def pairs(g):
    for name, fn in {"mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss}.items():
        for x, y in (("3x4", "3x4"), ("4", "4"), ("", ""), ("1", "1"), (f(0, 2, -3), f(0.5, -1, 3))):
            g.case(name, fn, x, y)
    g.case("smooth_l1", lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), "3x4", "3x4", attr="beta=0.5")
    for n in ("3x4", "4", "", "1"):
        p = torch.sigmoid(wave(n))
        t = torch.sigmoid(wave(n, 1))
        g.case("bce", F.binary_cross_entropy, p, t, gradient=True)
        g.case("bce_with_logits", F.binary_cross_entropy_with_logits, wave(n), t)
    g.case("bce_with_logits", F.binary_cross_entropy_with_logits, f(800, -800, 0), f(1, 0, 0.5))
    g.case("bce", F.binary_cross_entropy, f(0.25, 0.75), f(0, 1))


def classes(g):
    ids = i(0, 2, 1)
    g.case("cross_entropy", F.cross_entropy, "3x4", ids)
    g.case("cross_entropy", F.cross_entropy, "4", i(2, shape=()))
    g.case("cross_entropy", F.cross_entropy, "2x3x2", i(0, 2, 1, 1, shape=(2, 2)))
    g.case(
        "cross_entropy",
        lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1),
        "3x4",
        ids,
        attr="label_smoothing=0.1",
    )
    g.case(
        "cross_entropy",
        lambda x, y: F.cross_entropy(x, y, ignore_index=2),
        "3x4",
        ids,
        attr="ignore=1 ignore_index=2",
    )
    g.case("cross_entropy", F.cross_entropy, f(1000, 0, 0, 1000, shape=(2, 2)), i(0, 0))
    g.case("nll", F.nll_loss, "3x4", ids)
    g.case("nll", F.nll_loss, "4", i(2, shape=()))
    g.case("nll", F.nll_loss, "2x3x2", i(0, 2, 1, 1, shape=(2, 2)))
    g.case("nll", lambda x, y: F.nll_loss(x, y, ignore_index=2), "3x4", ids, attr="ignore=1 ignore_index=2")
    g.case("nll", F.nll_loss, "1x2", i(1))


def write(g):
    pairs(g)
    classes(g)
