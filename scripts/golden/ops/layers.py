"""layers.py - convolutions, pools, norms, attention, recurrences.
SPDX-License-Identifier: MIT
"""

import torch
import torch.nn.functional as F

from golden import b, f, i, wave

SIDES = {1: "5", 2: "4x3", 3: "3x2x2"}
KERNEL = {1: "3", 2: "2x2", 3: "2x1x2"}


def text(v):
    return ",".join(str(d) for d in v) if isinstance(v, tuple) else str(v)


def triple(n, *v):
    return v[0] if n == 1 else tuple(v[:n]) if len(v) >= n else tuple(v) * n


def convolutions(g):
    for n in (1, 2, 3):
        conv, turned = getattr(F, f"conv{n}d"), getattr(F, f"conv_transpose{n}d")
        x, k = SIDES[n], KERNEL[n]
        for st, pd, dl, gr in ((1, 0, 1, 1), (2, 1, 1, 1), (1, 1, 1, 2), (1, 2, 2, 1)):
            s, p, d = ((v,) * n if n > 1 else v for v in (st, pd, dl))
            a = f"stride={text(s)} padding={text(p)} dilation={text(d)} groups={gr}"
            g.case(
                f"conv{n}d",
                lambda t, w, c: conv(t, w, c, s, p, d, gr),
                f"1x2x{x}",
                f"2x{2 // gr}x{k}",
                "2",
                attr=a,
            )
            if pd == 2 or (n == 3 and pd):
                continue
            g.case(
                f"conv_transpose{n}d",
                lambda t, w, c: turned(t, w, c, s, p, 0, gr, d),
                f"1x2x{x}",
                f"2x{2 // gr}x{k}",
                str(2),
                attr=a,
            )
        g.case(f"conv{n}d", lambda t, w, c: conv(t, w, c), f"2x1x{x}", f"3x1x{k}", None)
        g.case(f"conv_transpose{n}d", lambda t, w, c: turned(t, w, c), f"2x1x{x}", f"1x3x{k}", None)
        for gr in (1, 2):
            g.case(
                f"conv_transpose{n}d",
                lambda t, w, c: turned(t, w, c, groups=gr),
                f"2x2x{x}",
                f"2x1x{k}",
                str(gr),
                attr=f"groups={gr}",
            )
        s = (2,) * n if n > 1 else 2
        o = (1,) * n if n > 1 else 1
        g.case(
            f"conv_transpose{n}d",
            lambda t, w, c: turned(t, w, c, s, 0, o),
            f"1x1x{x}",
            f"1x2x{k}",
            "2",
            attr=f"stride={text(s)} output_padding={text(o)}",
        )


def pools(g):
    names = {1: ["kernel"], 2: ["kernel_h", "kernel_w"], 3: ["kernel_d", "kernel_h", "kernel_w"]}
    outs = {1: ["out_l"], 2: ["out_h", "out_w"], 3: ["out_d", "out_h", "out_w"]}
    for n in (1, 2, 3):
        mx, av = getattr(F, f"max_pool{n}d"), getattr(F, f"avg_pool{n}d")
        x = "1x2x" + {1: "7", 2: "5x4", 3: "4x3x3"}[n]
        k = " ".join(f"{m}=2" for m in names[n])
        tup = lambda v: (v,) * n if n > 1 else v
        for st, pd, ceil in ((0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 0, 1), (2, 1, 1)):
            a = f"{k} stride={text(tup(st))} padding={text(tup(pd))} ceil_mode={ceil}"
            g.case(f"max_pool{n}d", lambda t: mx(t, 2, st or None, pd, 1, bool(ceil)), x, attr=a)
            g.case(
                f"max_pool{n}d_with_indices",
                lambda t: mx(t, 2, st or None, pd, 1, bool(ceil), return_indices=True),
                x,
                attr=a,
            )
            g.case(f"avg_pool{n}d", lambda t: av(t, 2, st or None, pd, bool(ceil)), x, attr=a)
        g.case(
            f"avg_pool{n}d",
            lambda t: av(t, 2, 1, 1, False, False),
            x,
            attr=f"{k} stride={text(tup(1))} padding={text(tup(1))} exclude_padding=1",
        )
        g.case(
            f"max_pool{n}d",
            lambda t: mx(t, 2, 1, 0, 2),
            x,
            attr=f"{k} stride={text(tup(1))} dilation={text(tup(2))}",
        )
        ad, am = getattr(F, f"adaptive_avg_pool{n}d"), getattr(F, f"adaptive_max_pool{n}d")
        for o in ((1, 1, 1), (2, 2, 2), (3, 1, 2), (2, 3, 1), (3, 3, 3)):
            o = o[:n]
            a = " ".join(f"{m}={v}" for m, v in zip(outs[n], o))
            g.case(f"adaptive_avg_pool{n}d", lambda t: ad(t, o), x, attr=a)
            g.case(f"adaptive_max_pool{n}d", lambda t: am(t, o), x, attr=a)


def resampling(g):
    for x, size, mode, corners in (
        ("1x1x3", "5", "nearest", 0),
        ("1x2x2x3", "4x5", "nearest", 0),
        ("1x1x4", "7", "linear", 0),
        ("1x1x2x3", "4x4", "bilinear", 0),
        ("1x1x2x3", "3x5", "bilinear", 1),
        ("1x1x2x2x2", "3x3x3", "trilinear", 0),
    ):
        dims = [int(v) for v in size.split("x")]
        kw = {} if mode == "nearest" else {"align_corners": bool(corners)}
        g.case(
            "interpolate",
            lambda t: F.interpolate(t, size=dims, mode=mode, **kw),
            x,
            attr=f"size={size} linear={int(mode != 'nearest')} align_corners={corners}",
        )
    g.case("interpolate", lambda t: F.interpolate(t, scale_factor=2), "1x1x2x3", attr="scale=2")
    for x, r in (("1x4x2x2", 2), ("4x1x1", 2), ("1x9x1x2", 3), ("2x1x2x2", 1), ("1x8x2x1", 2)):
        g.case("pixel_shuffle", lambda t: F.pixel_shuffle(t, r), x, attr=f"factor={r}")
    for x, r in (("1x1x4x4", 2), ("1x2x2", 2), ("1x1x3x6", 3), ("2x1x2x2", 1), ("1x2x4x2", 2)):
        g.case("pixel_unshuffle", lambda t: F.pixel_unshuffle(t, r), x, attr=f"factor={r}")


def norms(g):
    for x, a in (("3x4", 1), ("3x4", 0), ("2x3x2", -2), ("1", 0), (f(1000, 1001, -1000), 0)):
        g.case("softmax", lambda t: F.softmax(t, a), x, attr=f"axis={a}")
        g.case("log_softmax", lambda t: F.log_softmax(t, a), x, attr=f"axis={a}")
    for x, c in (("3x2", 2), ("2x3x2", 3), ("2x2x2x2", 2), ("4x1", 1)):
        w, bias = wave(str(c), 1), wave(str(c), 2)
        g.case(
            "batch_norm",
            lambda t, p, q, m, v: F.batch_norm(t, None, None, p, q, True),
            x,
            w,
            bias,
            None,
            None,
        )
        g.case(
            "instance_norm" if x.count("x") > 1 else "layer_norm",
            (
                (lambda t, p, q, m, v: F.instance_norm(t, None, None, p, q))
                if x.count("x") > 1
                else (lambda t, p, q: F.layer_norm(t, [c], p, q))
            ),
            *((x, w, bias, None, None) if x.count("x") > 1 else (x, w, bias)),
        )
    g.case(
        "batch_norm",
        lambda t, p, q, m, v: F.batch_norm(t, None, None, None, None, True, eps=0.1),
        "3x2",
        None,
        None,
        None,
        None,
        attr="eps=0.1",
    )
    for x in ("1x2x4", "2x1x3", "1x3x2x2"):
        g.case("instance_norm", lambda t, p, q, m, v: F.instance_norm(t), x, None, None, None, None)
    for x, c in (("2x3x4", 4), ("1x2", 2), ("2x5", 5)):
        g.case(
            "layer_norm",
            lambda t, p, q: F.layer_norm(t, [c], p, q, 0.01),
            x,
            str(c),
            str(c),
            attr="eps=0.01",
        )
    for x, c, n in (("2x4", 4, 2), ("1x4x3", 4, 2), ("2x2x2x2", 2, 1), ("1x6x2", 6, 3), ("2x3x2", 3, 3)):
        g.case(
            "group_norm", lambda t, p, q: F.group_norm(t, n, p, q), x, str(c), str(c), attr=f"groups={n}"
        )
    for x, c, e in (
        ("3x4", 4, 1e-5),
        ("2x3x2", 2, 0.1),
        ("4", 4, 1e-6),
        ("1x1", 1, 1e-5),
        ("2x5", 5, 1e-3),
    ):
        g.case("rms_norm", lambda t, p: F.rms_norm(t, [c], p, e), x, str(c), attr=f"eps={e}")
    for x, n, al in (
        ("1x4x3", 3, 1e-4),
        ("2x3x2x2", 2, 0.1),
        ("1x5x1", 5, 1),
        ("1x1x3", 1, 0.5),
        ("1x3x2", 4, 0.2),
    ):
        g.case(
            "local_response_norm", lambda t: F.local_response_norm(t, n, al), x, attr=f"size={n} alpha={al}"
        )


def attention(g):
    sdpa = F.scaled_dot_product_attention
    g.case("scaled_dot_product_attention", lambda q, k, v, m: sdpa(q, k, v), "3x2", "4x2", "4x3", None)
    g.case(
        "scaled_dot_product_attention",
        lambda q, k, v, m: sdpa(q, k, v, is_causal=True),
        "2x3x2",
        "2x3x2",
        "2x3x2",
        None,
        attr="causal=1",
    )
    g.case(
        "scaled_dot_product_attention",
        lambda q, k, v, m: sdpa(q, k, v, scale=0.3),
        "1x2x2x3",
        "1x2x4x3",
        "1x2x4x2",
        None,
        attr="scale=0.3",
    )
    g.case(
        "scaled_dot_product_attention",
        lambda q, k, v, m: sdpa(q, k, v, m),
        "3x2",
        "4x2",
        "4x3",
        b(1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, shape=(3, 4)),
    )
    g.case(
        "scaled_dot_product_attention",
        lambda q, k, v, m: sdpa(q, k, v, m),
        "2x3x2",
        "2x4x2",
        "2x4x2",
        "3x4",
    )


def recurrences(g):
    def layer(kind, reverse):
        def run(x, h0, w, u, p, q):
            cell = torch.nn.RNNCell if kind == "rnn" else torch.nn.GRUCell
            h, ys = h0, []
            for t in range(x.shape[0])[:: -1 if reverse else 1]:
                h = (torch.rnn_tanh_cell if kind == "rnn" else torch.gru_cell)(x[t], h, w, u, p, q)
                ys.append(h)
            return torch.stack(ys[:: -1 if reverse else 1]), h

        return run

    def lstm(reverse):
        def run(x, h0, c0, w, u, p, q):
            h, c, ys = h0, c0, []
            for t in range(x.shape[0])[:: -1 if reverse else 1]:
                h, c = torch.lstm_cell(x[t], (h, c), w, u, p, q)
                ys.append(h)
            return torch.stack(ys[:: -1 if reverse else 1]), h, c

        return run

    for steps, batch, n_in, n, rev in (
        (3, 2, 2, 2, 0),
        (1, 1, 3, 1, 0),
        (2, 1, 1, 3, 1),
        (4, 2, 1, 1, 1),
        (2, 3, 2, 1, 0),
    ):
        (
            x,
            h,
        ) = (
            f"{steps}x{batch}x{n_in}",
            f"{batch}x{n}",
        )
        a = "reverse=1" if rev else ""
        for kind, k in (("rnn", 1), ("gru", 3)):
            g.case(
                kind,
                layer(kind, rev),
                x,
                h,
                f"{k * n}x{n_in}",
                f"{k * n}x{n}",
                str(k * n),
                str(k * n),
                attr=a,
            )
            fn = torch.rnn_tanh_cell if kind == "rnn" else torch.gru_cell
            g.case(
                kind + "_cell",
                fn,
                f"{batch}x{n_in}",
                h,
                f"{k * n}x{n_in}",
                f"{k * n}x{n}",
                str(k * n),
                str(k * n),
            )
        g.case(
            "lstm", lstm(rev), x, h, h, f"{4 * n}x{n_in}", f"{4 * n}x{n}", str(4 * n), str(4 * n), attr=a
        )
        g.case(
            "lstm_cell",
            lambda t, h0, c0, w, u, p, q: torch.lstm_cell(t, (h0, c0), w, u, p, q),
            f"{batch}x{n_in}",
            h,
            h,
            f"{4 * n}x{n_in}",
            f"{4 * n}x{n}",
            str(4 * n),
            str(4 * n),
        )


def write(g):
    convolutions(g)
    pools(g)
    resampling(g)
    norms(g)
    attention(g)
    recurrences(g)
