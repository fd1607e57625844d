"""layers_uneven.py - layers whose parameters differ from axis to axis, running statistics, attention of
more places than a tile has.
SPDX-License-Identifier: MIT
"""

import torch
import torch.nn.functional as F

from golden import wave


def convolutions(g):
    g.case(
        "conv1d",
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1, dilation=2, groups=2),
        *("2x4x9", "6x2x3", "6"),
        attr="stride=2 padding=1 dilation=2 groups=2",
    )
    g.case(
        "conv2d",
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2),
        *("1x4x5x6", "2x2x3x2", "2"),
        attr="stride=2,1 padding=1,0 dilation=1,2 groups=2",
    )
    g.case("conv2d", lambda x, w, b: F.conv2d(x, w), "2x3x5x4", "4x3x1x1", None)
    g.case(
        "conv3d",
        lambda x, w, b: F.conv3d(x, w, b, (2, 1, 1), (1, 0, 2), (1, 2, 1), 2),
        *("1x2x4x3x5", "4x1x2x2x3", "4"),
        attr="stride=2,1,1 padding=1,0,2 dilation=1,2,1 groups=2",
    )
    g.case(
        "conv_transpose1d",
        lambda x, w, b: F.conv_transpose1d(x, w, b, 3, 1, 2, 2, 2),
        *("2x4x3", "4x3x3", "6"),
        attr="stride=3 padding=1 output_padding=2 groups=2 dilation=2",
    )
    g.case(
        "conv_transpose2d",
        lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 1), (1, 0), (1, 0), 1, (1, 2)),
        *("2x2x3x2", "2x3x2x3", "3"),
        attr="stride=2,1 padding=1,0 output_padding=1,0 dilation=1,2",
    )
    g.case(
        "conv_transpose3d",
        lambda x, w, b: F.conv_transpose3d(x, w, None, (1, 2, 1)),
        *("1x2x2x3x2", "2x2x1x2x2", None),
        attr="stride=1,2,1",
    )


def pools(g):
    g.case(
        "max_pool1d",
        lambda x: F.max_pool1d(x, 3, 3, 1, 2, True),
        "2x2x11",
        attr="kernel=3 stride=3 padding=1 dilation=2 ceil_mode=1",
    )
    g.case(
        "avg_pool1d",
        lambda x: F.avg_pool1d(x, 4, 3, 2, True),
        "2x2x11",
        attr="kernel=4 stride=3 padding=2 ceil_mode=1",
    )
    g.case(
        "max_pool2d",
        lambda x: F.max_pool2d(x, (2, 3), (2, 2), (1, 1), (2, 1), True),
        "1x2x7x6",
        attr="kernel_h=2 kernel_w=3 stride=2,2 padding=1,1 dilation=2,1 ceil_mode=1",
    )
    g.case(
        "avg_pool2d",
        lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 0), True, False),
        "1x2x7x6",
        attr="kernel_h=3 kernel_w=2 stride=2,1 padding=1,0 ceil_mode=1 exclude_padding=1",
    )
    g.case(
        "avg_pool2d",
        lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True, divisor_override=4),
        "1x2x7x6",
        attr="kernel_h=3 kernel_w=3 stride=2,2 ceil_mode=1 divisor=4",
    )
    g.case(
        "max_pool3d",
        lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 2), (0, 1, 1)),
        "1x2x4x5x4",
        attr="kernel_d=2 kernel_h=3 kernel_w=2 stride=1,2,2 padding=0,1,1",
    )
    g.case(
        "avg_pool3d",
        lambda x: F.avg_pool3d(x, (2, 3, 2), (2, 2, 1), (1, 1, 1)),
        "1x2x4x5x4",
        attr="kernel_d=2 kernel_h=3 kernel_w=2 stride=2,2,1 padding=1,1,1",
    )
    x = "1x2x5x7"
    g.case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 8)), x, attr="out_h=3 out_w=8")
    g.case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (2, 3)), x, attr="out_h=2 out_w=3")
    a = "out_d=2 out_h=2 out_w=3"
    g.case("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (2, 2, 3)), "1x1x3x5x4", attr=a)
    g.case("adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, (2, 2, 3)), "1x1x3x5x4", attr=a)


def resampling(g):
    for x, kw, a in (
        ("1x2x3x5", {"size": (7, 4)}, "size=7x4"),
        ("1x2x3x5", {"scale_factor": 1.7}, "scale=1.7"),
        ("1x2x3x5", {"size": (5, 7), "mode": "bilinear"}, "size=5x7 linear=1"),
        ("1x2x3x5", {"size": (2, 3), "mode": "bilinear"}, "size=2x3 linear=1"),
        (
            "1x2x3x5",
            {"size": (5, 4), "mode": "bilinear", "align_corners": True},
            "size=5x4 linear=1 align_corners=1",
        ),
        ("1x2x3x5", {"scale_factor": 2.3, "mode": "bilinear"}, "scale=2.3 linear=1"),
        ("1x1x2x3x2", {"size": (3, 4, 3), "mode": "trilinear"}, "size=3x4x3 linear=1"),
    ):
        g.case("interpolate", lambda t: F.interpolate(t, **kw), x, attr=a)


def norms(g):
    mean, var = wave("4", 4), wave("4", 5) ** 2 + 0.5

    def moving(x, w, b, m, v):
        m, v = m.clone(), v.clone()
        return F.instance_norm(x, m, v, w, b, True, 0.3, 0.01), m, v

    args = ("2x4x3x2", "4", "4", mean, var)
    g.case("instance_norm", moving, *args, attr="momentum=0.3 eps=0.01", fixed=(3, 4))
    g.case(
        "instance_norm",
        lambda x, w, b, m, v: F.instance_norm(x, m, v, w, b, False),
        *args,
        attr="inference=1",
        fixed=(3, 4),
    )

    def moving_batch(x, w, b, m, v):
        m, v = m.clone(), v.clone()
        return F.batch_norm(x, m, v, w, b, True, 0.3, 0.01), m, v

    g.case("batch_norm", moving_batch, *args, attr="momentum=0.3 eps=0.01", fixed=(3, 4))
    g.case(
        "batch_norm",
        lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, False),
        *args,
        attr="inference=1",
        fixed=(3, 4),
    )
    g.case(
        "local_response_norm",
        lambda x: F.local_response_norm(x, 3, alpha=0.4, beta=0.6, k=1.5),
        "2x5x3",
        attr="size=3 alpha=0.4 beta=0.6 k=1.5",
    )
    g.case(
        "local_response_norm",
        lambda x: F.local_response_norm(x, 4, alpha=0.4),
        "2x5x3",
        attr="size=4 alpha=0.4",
    )


def attention(g):
    def blind(q, k, v, m):
        # A place that sees nothing is 0 here; PyTorch says NaN.
        y = F.scaled_dot_product_attention(q, k, v, m | ~m.any(-1, keepdim=True))
        return torch.where(m.any(-1, keepdim=True), y, 0.0)

    seen = wave("3x5", 4) > -0.5
    seen[1] = False
    name = "scaled_dot_product_attention"
    g.case(name, blind, "2x3x4", "2x5x4", "2x5x2", seen)
    g.case(
        name,
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        *("70x3", "150x3", "150x2", None),
        attr="causal=1",
    )
    g.case(
        name,
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v),
        *("150x3", "70x3", "70x2", None),
    )


def recurrences(g):
    g.case("rnn_cell", torch.rnn_relu_cell, "2x3", "2x2", "2x3", "2x2", "2", "2", attr="relu=1")


def write(g):
    convolutions(g)
    pools(g)
    resampling(g)
    norms(g)
    attention(g)
    recurrences(g)
