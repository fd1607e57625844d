"""losses.py - losses, means over all elements.
SPDX-License-Identifier: MIT
"""

import itertools

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
    g.case("bce_with_logits", F.binary_cross_entropy_with_logits, f(float("inf"), 1), f(0, 0.5), fixed=(1,))
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
    g.case(
        "cross_entropy",
        lambda x, y: F.cross_entropy(x, y, ignore_index=2, label_smoothing=0.1),
        "4x5",
        i(2, 0, 4, 2),
        attr="ignore=1 ignore_index=2 label_smoothing=0.1",
    )
    g.case("cross_entropy", F.cross_entropy, f(1000, 0, 0, 1000, shape=(2, 2)), i(0, 0))
    g.case("nll", F.nll_loss, "3x4", ids)
    g.case("nll", F.nll_loss, "4", i(2, shape=()))
    g.case("nll", F.nll_loss, "2x3x2", i(0, 2, 1, 1, shape=(2, 2)))
    g.case("nll", lambda x, y: F.nll_loss(x, y, ignore_index=2), "3x4", ids, attr="ignore=1 ignore_index=2")
    g.case("nll", F.nll_loss, "1x2", i(1))


def reductions(g):
    for name, fn in {"mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss}.items():
        reduced(g, name, fn, "2x3", "2x3")
    p, t = torch.sigmoid(wave("2x3")), torch.sigmoid(wave("2x3", 1))
    reduced(g, "bce", F.binary_cross_entropy, p, t)
    reduced(g, "bce_with_logits", F.binary_cross_entropy_with_logits, wave("2x3"), t)
    reduced(g, "bce_with_logits", F.binary_cross_entropy_with_logits, f(800, -800, 30), f(0, 1, 0.5))
    ids = i(0, 2, 1, 1, shape=(2, 2))
    for name, fn in {"cross_entropy": F.cross_entropy, "nll": F.nll_loss}.items():
        reduced(g, name, fn, "2x3x2", ids)
        reduced(
            g,
            name,
            lambda x, y, reduction: fn(x, y, ignore_index=1, reduction=reduction),
            "2x3x2",
            ids,
            attr="ignore=1 ignore_index=1",
        )
    reduced(
        g,
        "cross_entropy",
        lambda x, y, reduction: F.cross_entropy(x, y, label_smoothing=0.3, reduction=reduction),
        "3x4",
        i(0, 3, 1),
        attr="label_smoothing=0.3",
    )


def reduced(g, name, fn, *inputs, attr="", fixed=()):
    """The mean, the sum, each."""
    for option, reduction in (("", "mean"), ("reduction=1", "sum"), ("reduction=2", "none")):
        g.case(
            name,
            lambda *t: fn(*t, reduction=reduction),
            *inputs,
            attr=f"{attr} {option}".strip(),
            fixed=fixed,
        )


def formulas(g):
    signs = f(1, -1, 1, -1)
    reduced(g, "huber", F.huber_loss, "3x4", "3x4")
    reduced(
        g,
        "huber",
        lambda x, y, reduction: F.huber_loss(x, y, delta=0.4, reduction=reduction),
        "4",
        "4",
        attr="delta=0.4",
    )
    reduced(g, "hinge_embedding", F.hinge_embedding_loss, "4", signs)
    reduced(
        g,
        "hinge_embedding",
        lambda x, y, reduction: F.hinge_embedding_loss(x, y, 0.5, reduction=reduction),
        "3x4",
        signs.repeat(3, 1),
        attr="margin=0.5",
    )
    total = {"mean": torch.mean, "sum": torch.sum, "none": lambda t: t}
    reduced(g, "hinge", lambda x, y, reduction: total[reduction](torch.relu(1 - x * y)), "4", signs)
    reduced(
        g,
        "hinge",
        lambda x, y, reduction: total[reduction](torch.relu(1 - x * y)),
        "2x4",
        signs.repeat(2, 1),
    )
    logs, target = torch.log_softmax(wave("3x4"), 1), torch.softmax(wave("3x4", 1), 1)
    reduced(g, "kl_div", F.kl_div, logs, target)
    reduced(
        g,
        "kl_div",
        lambda x, y, reduction: F.kl_div(x, y, reduction=reduction, log_target=True),
        logs,
        target.log(),
        attr="log_target=1",
    )
    g.case("kl_div", lambda x, y: F.kl_div(x, y, reduction="batchmean"), logs, target, attr="reduction=3")
    g.case("kl_div", F.kl_div, f(-1, -2), f(0.5, 0), fixed=(1,))
    for x, y, a in (
        ("3x4", "3x4", 1),
        ("4", "4", 0),
        ("2x3x2", "2x3x2", 1),
        ("1x4", "3x4", -1),
        ("2x1", "2x1", 1),
    ):
        g.case("cosine_similarity", lambda p, q: F.cosine_similarity(p, q, a), x, y, attr=f"axis={a}")
    reduced(g, "triplet", F.triplet_margin_loss, "3x4", "3x4", "3x4")
    reduced(
        g,
        "triplet",
        lambda a, p, n, reduction: F.triplet_margin_loss(a, p, n, 0.5, 1, swap=True, reduction=reduction),
        "2x3",
        "2x3",
        "2x3",
        attr="margin=0.5 p=1 swap=1",
    )


def weighted(g):
    ids, weight = i(0, 2, 1), f(0.5, 2, 1, 0.25)
    reduced(
        g,
        "nll_weighted",
        lambda x, y, w, reduction: F.nll_loss(x, y, w, reduction=reduction),
        "3x4",
        ids,
        weight.clone(),
        fixed=(2, 3),
    )
    reduced(
        g,
        "nll_weighted",
        lambda x, y, w, reduction: F.nll_loss(x, y, w, ignore_index=2, reduction=reduction),
        "3x4",
        ids,
        weight,
        attr="ignore=1 ignore_index=2",
        fixed=(2, 3),
    )
    for name, fn in (("nll_weighted", F.nll_loss), ("cross_entropy_weighted", F.cross_entropy)):
        g.case(
            name,
            lambda x, y, w: fn(x, y, w, ignore_index=2),
            "3x4",
            i(2, 2, 2),
            weight,
            attr="ignore=1 ignore_index=2",
            fixed=(2,),
        )
    for smooth in (0, 0.2):
        reduced(
            g,
            "cross_entropy_weighted",
            lambda x, y, w, reduction: F.cross_entropy(
                x, y, w, label_smoothing=smooth, reduction=reduction
            ),
            "3x4",
            ids,
            weight,
            attr=f"label_smoothing={smooth}",
            fixed=(2, 3),
        )
    target = torch.softmax(wave("3x4", 1), 1)
    reduced(
        g,
        "cross_entropy_soft",
        lambda x, t, w, reduction: F.cross_entropy(x, t, reduction=reduction),
        "3x4",
        target,
        None,
        fixed=(2, 3),
    )
    reduced(
        g,
        "cross_entropy_soft",
        lambda x, t, w, reduction: F.cross_entropy(x, t, w, reduction=reduction),
        "3x4",
        target,
        weight,
        fixed=(2, 3),
    )
    p = torch.sigmoid(wave("3x4", 2))
    bce = F.binary_cross_entropy_with_logits
    reduced(
        g,
        "bce_with_logits_weighted",
        lambda x, y, w, q, reduction: bce(x, y, w, reduction=reduction),
        "3x4",
        p,
        weight,
        None,
        fixed=(2, 3),
    )
    reduced(
        g,
        "bce_with_logits_weighted",
        lambda x, y, w, q, reduction: bce(x, y, None, pos_weight=q, reduction=reduction),
        "3x4",
        p,
        None,
        weight,
        fixed=(2, 3),
    )


def ctc(log_probs, targets, steps, lengths, blank):
    """By definition: over all paths that collapse to the labels. PyTorch's own gradient is that of
    the scores before a log_softmax; its values are checked here."""
    rows = []
    for n in range(log_probs.shape[1]):
        want = targets[n, : lengths[n]].tolist()
        paths = []
        for path in itertools.product(range(log_probs.shape[2]), repeat=int(steps[n])):
            merged = [c for c, _ in itertools.groupby(path)]
            if [c for c in merged if c != blank] == want:
                paths.append(sum(log_probs[t, n, c] for t, c in enumerate(path)))
        rows.append(-torch.logsumexp(torch.stack(paths), 0))
    each = torch.stack(rows)
    theirs = F.ctc_loss(log_probs, targets, steps, lengths, blank, reduction="none")
    assert torch.allclose(each, theirs, rtol=1e-12), (each, theirs)
    return each


def alignments(g):
    def case(t, n, c, targets, steps, lengths, blank):
        targets = i(*targets, shape=(n, len(targets) // n))
        steps, lengths = i(*steps), i(*lengths)
        x = torch.log_softmax(wave(f"{t}x{n}x{c}"), 2)
        for option, end in (
            ("", lambda e: (e / lengths.clamp(min=1)).mean()),
            ("reduction=1", torch.sum),
            ("reduction=2", lambda e: e),
        ):
            g.case(
                "ctc",
                lambda lp, y, il, tl: end(ctc(lp, y, il, tl, blank)),
                x,
                targets,
                steps,
                lengths,
                attr=f"blank={blank} {option}".strip(),
            )

    case(4, 2, 3, (1, 2, 2, 2), (4, 4), (2, 2), 0)
    case(5, 2, 3, (0, 1, 1, 0), (5, 3), (2, 1), 2)
    case(3, 1, 3, (1, 1), (3,), (2,), 0)
    case(3, 2, 2, (1, 1), (3, 2), (0, 1), 0)
    impossible = (torch.log_softmax(wave("2x1x3"), 2), i(1, 1, shape=(1, 2)), i(2), i(2))
    g.case(
        "ctc",
        lambda lp, y, il, tl: torch.tensor([float("inf")], dtype=torch.float64),
        *impossible,
        attr="reduction=2",
    )
    g.case("ctc", lambda lp, y, il, tl: lp.sum() * 0, *impossible, attr="zero_infinity=1")


def write(g):
    pairs(g)
    classes(g)
    reductions(g)
    formulas(g)
    weighted(g)
    alignments(g)
