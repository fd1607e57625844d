"""shapes.py - views, copies, joining, indexing.
SPDX-License-Identifier: MIT
"""

import torch
import torch.nn.functional as F

from golden import b, f, i


def views(g):
    for x, s in (("3x4", "4x3"), ("3x4", "12"), ("2x3x2", "3x-1"), ("1", ""), ("0x3", "3x0")):
        dims = [int(d) for d in s.split("x")] if s else []
        if -1 not in dims:
            g.case("reshape", lambda t: t.reshape(dims), x, attr=f"shape={s}")
    g.case("reshape", lambda t: t.reshape(1, 1, 2), "2", attr="shape=1x1x2")
    for x, a in (("3x4", "1,0"), ("2x3x4", "2,0,1"), ("2x3x4", "0,2,1"), ("3", "0"), ("0x3", "1,0")):
        g.case("permute", lambda t: t.permute([int(d) for d in a.split(",")]), x, attr=f"axes={a}")
    for x, p, q in (("3x4", 0, 1), ("2x3x4", 0, 2), ("2x3x4", -1, 1), ("3", 0, 0), ("0x3", 0, 1)):
        g.case("transpose", lambda t: t.transpose(p, q), x, attr=f"a={p} b={q}")
    for x, a in (("1x3", 0), ("3x1", -1), ("2x1x3", 1), ("1", 0), ("0x1", 1)):
        g.case("squeeze", lambda t: t.squeeze(a), x, attr=f"axis={a}")
    for x, a in (("3", 0), ("3", -1), ("2x3", 1), ("", 0), ("0x2", 2)):
        g.case("unsqueeze", lambda t: t.unsqueeze(a), x, attr=f"axis={a}")
    for name in ("expand", "broadcast_to"):
        for x, s in (("1x3", "4x3"), ("3x1", "3x2"), ("3", "2x3"), ("", "2x2"), ("1x0", "2x0")):
            dims = [int(d) for d in s.split("x")]
            g.case(name, lambda t: t.expand(dims), x, attr=f"shape={s}")
    for x, a, s, n in (
        ("3x4", 1, 1, 2),
        ("3x4", -2, 0, 3),
        ("5", 0, 4, 1),
        ("2x3", 1, 1, 0),
        ("2x2x2", 2, 1, 1),
    ):
        g.case("narrow", lambda t: t.narrow(a, s, n), x, attr=f"axis={a} start={s} length={n}")
    for x, a, s, e, st in (
        ("7", 0, 1, 6, 2),
        ("3x4", 1, 0, 4, 3),
        ("3x4", -2, 1, 3, 1),
        ("5", 0, 2, 2, 1),
        ("2x5", 1, 4, 5, 7),
    ):
        g.case(
            "slice",
            lambda t: torch.index_select(t, a, torch.arange(s, e, st)),
            x,
            attr=f"axis={a} start={s} stop={e} step={st}",
        )
    for x, a, n in (("3x4", 0, 1), ("3x4", 1, -1), ("5", 0, 2), ("2x3x2", -1, 0), ("1x2", 0, 0)):
        g.case("select", lambda t: t.select(a, n), x, attr=f"axis={a} i={n}")
    for x, a, n, st in (
        ("6", 0, 3, 1),
        ("6", 0, 2, 2),
        ("2x5", 1, 3, 2),
        ("5x2", 0, 5, 1),
        ("4", -1, 1, 3),
    ):
        g.case("unfold", lambda t: t.unfold(a, n, st), x, attr=f"axis={a} size={n} step={st}")
    for x, size, strides, offset in (
        ("3x4", (2, 3), (4, 1), 1),
        ("7", (5, 3), (1, 1), 0),
        ("2x3", (2, 2, 2), (0, 1, 3), 1),
        ("5", (), (), 4),
        ("3x4", (4, 3), (1, 4), 0),
        ("3x4", (0, 3), (1, 1), 12),
    ):
        text = "shape=" + "x".join(map(str, size)) + " strides=" + "x".join(map(str, strides))
        attr = f"{text} offset={offset}"
        g.case("as_strided", lambda t: torch.as_strided(t, size, strides, offset), x, attr=attr)
    for x, s, e in (("2x3x2", 0, -1), ("2x3x2", 1, 2), ("", 0, -1), ("4", 0, 0), ("2x0x3", 0, 1)):
        g.case("flatten", lambda t: t.flatten(s, e), x, attr=f"start={s} end={e}")
    for x, o, p, q in (
        ("3x4", 0, 0, 1),
        ("3x4", 1, 0, 1),
        ("3x4", -2, 0, 1),
        ("2x3x3", 0, -2, -1),
        ("2x2", 1, 1, 0),
    ):
        g.case("diagonal", lambda t: t.diagonal(o, p, q), x, attr=f"offset={o} a={p} b={q}")
    for x, o, p, q in (
        ("3", 0, -2, -1),
        ("3", 1, -2, -1),
        ("3", -1, 0, 1),
        ("2x2", 0, -2, -1),
        ("2x2", 0, 0, 2),
    ):
        g.case("diag_embed", lambda t: torch.diag_embed(t, o, p, q), x, attr=f"offset={o} a={p} b={q}")
    for x, o in (("3", 0), ("3", 2), ("3", -1), ("3x4", 0), ("3x4", -1)):
        g.case("diag", lambda t: torch.diag(t, o), x, attr=f"offset={o}")
    for x in ("3x3", "2x4", "4x2", "1x1", "0x0"):
        g.case("trace", torch.trace, x)


def copies(g):
    for x in ("3x4", "", "1", "0x3", "2x2x2"):
        g.case("clone", torch.clone, x)
    for x, r in (("2", "3"), ("2x3", "2x1"), ("2", "2x2"), ("1", "3x2"), ("2", "0")):
        dims = [int(d) for d in r.split("x")]
        g.case("repeat", lambda t: t.repeat(dims), x, attr=f"reps={r}")
        g.case("tile", lambda t: t.tile(dims), x, attr=f"reps={r}")
    g.case("tile", lambda t: t.tile([2]), "2x3", attr="reps=2")
    for x, s, a in (
        ("5", "2", "0"),
        ("3x4", "-1", "1"),
        ("3x4", "1,2", "0,1"),
        ("2x3", "7", "1"),
        ("3", "0", "0"),
    ):
        ss, aa = [int(v) for v in s.split(",")], [int(v) for v in a.split(",")]
        g.case("roll", lambda t: torch.roll(t, ss, aa), x, attr=f"shifts={s} axes={a}")
    for x, a in (("5", "0"), ("3x4", "1"), ("3x4", "0,1"), ("2x3x2", "-1"), ("0x3", "0")):
        g.case("flip", lambda t: t.flip([int(v) for v in a.split(",")]), x, attr=f"axes={a}")
    modes = {0: "constant", 1: "reflect", 2: "replicate", 3: "circular"}
    for x, before, after, mode in (
        ("2x3", "1", "2", 0),
        ("2x3", "1,0", "0,2", 0),
        ("2x4", "2", "1", 1),
        ("2x3", "2", "3", 2),
        ("2x3", "1", "2", 3),
        ("4", "-1", "1", 0),
    ):
        bs, as_ = [int(v) for v in before.split(",")], [int(v) for v in after.split(",")]
        pads = [v for pair in reversed(list(zip(bs, as_))) for v in pair]
        g.case(
            "pad",
            lambda t: (
                F.pad(t.unsqueeze(0) if mode else t, pads, modes[mode]).squeeze(0)
                if mode
                else F.pad(t, pads)
            ),
            x,
            attr=f"before={before} after={after} mode={mode}",
        )
    g.case("pad", lambda t: F.pad(t, [1, 1], value=2.5), "3", attr="before=1 after=1 value=2.5")
    for n, f_ in (("tril", torch.tril), ("triu", torch.triu)):
        for x, d in (("3x4", 0), ("3x4", 1), ("4x3", -1), ("2x3x3", 0), ("0x3", 0)):
            g.case(n, lambda t: f_(t, d), x, attr=f"diagonal={d}")
    for x, y, a, s, e, st in (
        ("5", "2", 0, 1, 3, 1),
        ("3x4", "3x2", 1, 0, 4, 2),
        ("3x4", "1x4", 0, 2, 3, 1),
        ("4", "4", 0, 0, 4, 1),
        ("2x3", "2x1", -1, 1, 2, 1),
    ):
        g.case(
            "slice_assign",
            lambda t, v: t.index_copy(a, torch.arange(s, e, st), v),
            x,
            y,
            attr=f"axis={a} start={s} stop={e} step={st}",
        )


def joins(g):
    for xs, a in (
        (("2x3", "1x3"), 0),
        (("2x3", "2x1", "2x2"), 1),
        (("2", "0", "1"), 0),
        (("3",), 0),
        (("1x2x1", "1x2x2"), -1),
    ):
        g.case("cat", lambda *t: torch.cat(t, a), *xs, attr=f"axis={a}")
    for xs, a in (
        (("3", "3"), 0),
        (("2x2", "2x2"), 1),
        (("2", "2", "2"), -1),
        (("", ""), 0),
        (("0x2", "0x2"), 0),
    ):
        g.case("stack", lambda *t: torch.stack(t, a), *xs, attr=f"axis={a}")
    for x, n, a in (("6x2", 2, 0), ("5", 2, 0), ("2x6", 4, 1), ("2x3x4", 2, -1), ("4", 3, 0)):
        g.case("split", lambda t: torch.split(t, n, a), x, attr=f"size={n} axis={a}")
    for x, n, a in (("6x2", 3, 0), ("5", 3, 0), ("2x6", 2, 1), ("4", 2, -1), ("7", 2, 0)):
        g.case("chunk", lambda t: torch.chunk(t, n, a), x, attr=f"axis={a}")
    for xs, xy in (
        (("2", "3"), 0),
        (("2", "3"), 1),
        (("2", "2", "2"), 0),
        (("1", "4"), 0),
        (("3", "1", "2"), 1),
    ):
        g.case(
            "meshgrid",
            lambda *t: torch.meshgrid(*t, indexing="xy" if xy else "ij"),
            *xs,
            attr="xy=1" if xy else "",
        )


def indexing(g):
    g.case("gather", lambda t, k: t.gather(1, k), "2x3", i(0, 2, 2, 1, 0, 1, shape=(2, 3)), attr="axis=1")
    g.case("gather", lambda t, k: t.gather(0, k), "3x2", i(2, 0, shape=(1, 2)), attr="axis=0")
    g.case("gather", lambda t, k: t.gather(0, k), "4", i(3, 3, 3, 0, 1), attr="axis=0")
    g.case("gather", lambda t, k: t.gather(-1, k), "2x2x2", i(1, 0, 0, 1, shape=(2, 2, 1)), attr="axis=-1")
    g.case("gather", lambda t, k: t.gather(0, k), "4", i(dtype=torch.int64), attr="axis=0")
    for name, fn in (
        ("scatter_add", lambda t, k, s, a: t.scatter_add(a, k, s)),
        ("scatter", lambda t, k, s, a: t.scatter(a, k, s)),
    ):
        g.case(name, lambda t, k, s: fn(t, k, s, 0), "5", i(1, 3, 0), "3", attr="axis=0")
        g.case(
            name, lambda t, k, s: fn(t, k, s, 1), "2x3", i(0, 2, 1, 0, shape=(2, 2)), "2x2", attr="axis=1"
        )
        g.case(name, lambda t, k, s: fn(t, k, s, -1), "2x3", i(2, 1, shape=(2, 1)), "2x1", attr="axis=-1")
        g.case(name, lambda t, k, s: fn(t, k, s, 0), "3x2", i(2, 1, shape=(1, 2)), "1x2", attr="axis=0")
        g.case(name, lambda t, k, s: fn(t, k, s, 0), "4", i(2), "1", attr="axis=0")
    g.case("scatter_add", lambda t, k, s: t.scatter_add(0, k, s), "3", i(1, 1, 1), "3", attr="axis=0")
    for x, k, a, v in (
        ("5", i(1, 3), 0, 2.5),
        ("2x3", i(0, 2, shape=(2, 1)), 1, -1),
        ("4", i(2, 2), 0, 0),
        ("3x2", i(1, 0, shape=(1, 2)), 0, 9),
        ("3", i(0), -1, 1),
    ):
        g.case("scatter_value", lambda t, j: t.scatter(a, j, v), x, k, attr=f"axis={a} value={v}")
    for x, k in (
        ("6", i(5, 0, 0)),
        ("2x3", i(4, 1)),
        ("2x2", i(0, 1, 2, 3, shape=(2, 2))),
        ("3", i(-1)),
        ("4", i(1, shape=())),
    ):
        g.case("take", torch.take, x, k)
    for x, k, a in (
        ("4x2", i(3, 0, 0), 0),
        ("2x4", i(1, 2), 1),
        ("3", i(2), -1),
        ("4", i(dtype=torch.int64), 0),
        ("2x2x2", i(1, 1, 0), 1),
    ):
        g.case("index_select", lambda t, j: t.index_select(a, j), x, k, attr=f"axis={a}")
    for x, k, s, a in (
        ("4x2", i(3, 0, 0), "3x2", 0),
        ("2x4", i(1, 2), "2x2", 1),
        ("3", i(2), "1", -1),
        ("4", i(1, 1, 1), "3", 0),
        ("2x2", i(0), "1x2", 0),
    ):
        g.case("index_add", lambda t, j, v: t.index_add(a, j, v), x, k, s, attr=f"axis={a}")
    put = torch.index_put
    g.case("index_put", lambda t, v, k: put(t, [k], v), "5", "2", i(1, 3))
    g.case(
        "index_put",
        lambda t, v, k: put(t, [k], v, accumulate=True),
        "5",
        "3",
        i(1, 1, 0),
        attr="accumulate=1",
    )
    g.case("index_put", lambda t, v, k, m: put(t, [k, m], v), "2x3", "2", i(0, 1), i(2, 0))
    g.case("index_put", lambda t, v, k: put(t, [k], v), "3x2", "2", i(2))
    g.case(
        "index_put",
        lambda t, v, k: put(t, [k], v, accumulate=True),
        "3x2",
        "",
        i(0, 0),
        attr="accumulate=1",
    )
    for w, k in (
        ("4x2", i(3, 0, 0)),
        ("3x3", i(1, 2, shape=(2, 1))),
        ("2x1", i(0, 1)),
        ("4x2", i(2, shape=())),
        ("3x2", i(dtype=torch.int64)),
    ):
        g.case("embedding", lambda t, j: F.embedding(j, t), w, k)
    for p in (0, 2, -1):
        g.case(
            "embedding",
            lambda t, j: F.embedding(j, t, padding_idx=p),
            "4x2",
            i(0, 3, 2, 3, 0, 1),
            attr=f"padding=1 padding_idx={p}",
        )
    for k, n in ((i(0, 2, 1), 3), (i(1), 4), (i(0, 1, shape=(2, 1)), 2), (i(2, shape=()), 3), (i(4, 4), 5)):
        g.case("one_hot", lambda j: F.one_hot(j, n), k, attr=f"n_classes={n}")
    g.case("one_hot", F.one_hot, i(2, 0, 3), attr="n_classes=0")
    g.case("one_hot", F.one_hot, i(1, 0, shape=(2, 1)), attr="n_classes=-1")
    for x in (f(0, 1, -2), f(0, 3, 4, 0, shape=(2, 2)), b(1, 0, 1), i(0, 0), f(1.5, shape=())):
        g.case("nonzero", torch.nonzero, x)
    for x, m in (
        ("3", b(1, 0, 1)),
        ("2x2", b(1, 0, 0, 1, shape=(2, 2))),
        ("2x3", b(1, 0, 1)),
        ("3", b(0, 0, 0)),
        ("2x1", b(1, 1, 0, shape=(1, 3))),
    ):
        g.case("masked_select", torch.masked_select, x, m)


def write(g):
    views(g)
    copies(g)
    joins(g)
    indexing(g)
