#!/usr/bin/env python3
"""make_layers.py > tests/data/golden_layers.h - what PyTorch's layers and their gradients give, in f64.

Inputs are waves: element i of wave k is sin(0.9 i + k). The cotangent of every result is wave 9. One
array per case: the result, then the gradient of each input in order. Run by hand where PyTorch can be
imported; its output is committed.
SPDX-License-Identifier: MIT
"""
import math

import torch
import torch.nn.functional as F


def wave(k, *shape):
    n = math.prod(shape)
    t = torch.tensor([math.sin(0.9 * i + k) for i in range(n)], dtype=torch.float64)
    return t.reshape(shape).requires_grad_(True)


def emit(name, tensors):
    values = [f"{v:.13g}" for t in tensors for v in t.detach().reshape(-1).tolist()]
    print(f"static const double layers_{name}[] = {{")
    line = "   "
    for v in values:
        if len(line) + len(v) + 2 > 94:
            print(line)
            line = "   "
        line += f" {v},"
    print(line + "};")


def case(name, result, *inputs):
    cotangent = wave(9, *result.shape).detach()
    gradients = torch.autograd.grad(result, inputs, cotangent)
    emit(name, [result, *gradients])


def flat(*tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def convolutions():
    x, w, b = wave(1, 2, 4, 9), wave(2, 6, 2, 3), wave(3, 6)
    case("conv1d", F.conv1d(x, w, b, stride=2, padding=1, dilation=2, groups=2), x, w, b)
    x, w, b = wave(1, 1, 2, 4, 3, 5), wave(2, 4, 1, 2, 2, 3), wave(3, 4)
    y = F.conv3d(x, w, b, stride=(2, 1, 1), padding=(1, 0, 2), dilation=(1, 2, 1), groups=2)
    case("conv3d", y, x, w, b)
    x, w, b = wave(1, 2, 4, 3), wave(2, 4, 3, 3), wave(3, 6)
    y = F.conv_transpose1d(x, w, b, stride=3, padding=1, output_padding=2, groups=2, dilation=2)
    case("conv_transpose1d", y, x, w, b)
    x, w, b = wave(1, 2, 2, 3, 2), wave(2, 2, 3, 2, 3), wave(3, 3)
    y = F.conv_transpose2d(x, w, b, stride=(2, 1), padding=(1, 0), output_padding=(1, 0), dilation=(1, 2))
    case("conv_transpose2d", y, x, w, b)
    x, w = wave(1, 1, 2, 2, 3, 2), wave(2, 2, 1, 2, 2, 3)
    case("conv_transpose3d", F.conv_transpose3d(x, w, None, stride=(1, 2, 1)), x, w)


def pools():
    x = wave(1, 2, 2, 11)
    y = F.max_pool1d(x, 3, stride=3, padding=1, dilation=2, ceil_mode=True)
    case("max_pool1d", y, x)
    case("avg_pool1d", F.avg_pool1d(x, 4, stride=3, padding=2, ceil_mode=True), x)
    x = wave(1, 1, 2, 7, 6)
    y = F.max_pool2d(x, (2, 3), stride=(2, 2), padding=(1, 1), dilation=(2, 1), ceil_mode=True)
    case("max_pool2d", y, x)
    y = F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)
    case("avg_pool2d", y, x)
    case("avg_pool2d_divisor", F.avg_pool2d(x, 3, stride=2, ceil_mode=True, divisor_override=4), x)
    x = wave(1, 1, 2, 4, 5, 4)
    case("max_pool3d", F.max_pool3d(x, (2, 3, 2), stride=(1, 2, 2), padding=(0, 1, 1)), x)
    y = F.avg_pool3d(x, (2, 3, 2), stride=(2, 2, 1), padding=(1, 1, 1), count_include_pad=True)
    case("avg_pool3d", y, x)
    x = wave(1, 2, 1, 7)
    case("adaptive_avg_pool1d", F.adaptive_avg_pool1d(x, 3), x)
    case("adaptive_max_pool1d", F.adaptive_max_pool1d(x, 4), x)
    x = wave(1, 1, 2, 5, 7)
    case("adaptive_avg_pool2d", F.adaptive_avg_pool2d(x, (3, 8)), x)
    case("adaptive_max_pool2d", F.adaptive_max_pool2d(x, (2, 3)), x)
    x = wave(1, 1, 1, 3, 5, 4)
    case("adaptive_avg_pool3d", F.adaptive_avg_pool3d(x, (2, 2, 3)), x)
    case("adaptive_max_pool3d", F.adaptive_max_pool3d(x, (2, 2, 3)), x)


def resampling():
    x = wave(1, 1, 2, 3, 5)
    case("nearest", F.interpolate(x, size=(7, 4)), x)
    case("nearest_scale", F.interpolate(x, scale_factor=1.7), x)
    case("bilinear", F.interpolate(x, size=(5, 7), mode="bilinear"), x)
    case("bilinear_down", F.interpolate(x, size=(2, 3), mode="bilinear"), x)
    case("bilinear_corners", F.interpolate(x, size=(5, 4), mode="bilinear", align_corners=True), x)
    case("bilinear_scale", F.interpolate(x, scale_factor=2.3, mode="bilinear"), x)
    x = wave(1, 1, 2, 5)
    case("linear", F.interpolate(x, size=8, mode="linear"), x)
    x = wave(1, 1, 1, 2, 3, 2)
    case("trilinear", F.interpolate(x, size=(3, 4, 3), mode="trilinear"), x)
    x = wave(1, 1, 8, 2, 3)
    case("pixel_shuffle", F.pixel_shuffle(x, 2), x)
    x = wave(1, 1, 2, 4, 6)
    case("pixel_unshuffle", F.pixel_unshuffle(x, 2), x)


def norms():
    x, w, b = wave(1, 2, 4, 3, 2), wave(2, 4), wave(3, 4)
    case("group_norm", F.group_norm(x, 2, w, b), x, w, b)
    case("instance_norm", F.instance_norm(x, None, None, w, b), x, w, b)
    mean, var = wave(4, 4).detach(), wave(5, 4).detach() ** 2 + 0.5
    y = F.instance_norm(x, mean, var, w, b, use_input_stats=True, momentum=0.3, eps=0.01)
    case("instance_norm_running", y, x, w, b)
    emit("instance_norm_moved", [mean, var])
    y = F.instance_norm(x, mean, var, w, b, use_input_stats=False)
    case("instance_norm_inference", y, x, w, b)
    x, w = wave(1, 3, 2, 5), wave(2, 5)
    case("rms_norm", F.rms_norm(x, (5,), w, eps=0.01), x, w)
    x = wave(1, 2, 5, 3)
    case("response_odd", F.local_response_norm(x, 3, alpha=0.4, beta=0.6, k=1.5), x)
    case("response_even", F.local_response_norm(x, 4, alpha=0.4), x)


def attention():
    q, k, v, mask = wave(1, 2, 3, 4), wave(2, 2, 5, 4), wave(3, 2, 5, 2), wave(4, 3, 5)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    case("attention_mask", y, q, k, v, mask)
    seen = mask.detach() > -0.5
    seen[1] = False
    case("attention_blind", F.scaled_dot_product_attention(q, k, v, attn_mask=seen), q, k, v)
    q, k, v = wave(1, 70, 3), wave(2, 150, 3), wave(3, 150, 2)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    case("attention_tiles", y.sum(0), q)
    q, k, v = wave(1, 150, 3), wave(2, 70, 3), wave(3, 70, 2)
    y = F.scaled_dot_product_attention(q, k, v)
    case("attention_keys", y.sum(0), k, v)


def recurrent():
    steps, batch, n_in, n = 4, 2, 3, 2
    x = wave(1, steps, batch, n_in)
    h, c = wave(2, 1, batch, n), wave(3, 1, batch, n)
    for name, gates, cls in (("rnn", 1, torch.nn.RNN), ("lstm", 4, torch.nn.LSTM), ("gru", 3, torch.nn.GRU)):
        weights = [wave(4, gates * n, n_in), wave(5, gates * n, n), wave(6, gates * n), wave(7, gates * n)]
        for reverse in (False, True):
            given = torch.flip(x, [0]) if reverse else x
            layer = cls(n_in, n, dtype=torch.float64)
            names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
            state = (h, c) if name == "lstm" else h
            y, last = torch.func.functional_call(layer, dict(zip(names, weights)), (given, state))
            if reverse:
                y = torch.flip(y, [0])
            lasts = last if name == "lstm" else (last,)
            inputs = [x, h] + ([c] if name == "lstm" else []) + weights
            case(name + ("_reverse" if reverse else ""), flat(y, *lasts), *inputs)
    weights = [wave(4, n, n_in), wave(5, n, n), wave(6, n), wave(7, n)]
    layer = torch.nn.RNNCell(n_in, n, nonlinearity="relu", dtype=torch.float64)
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    x, h, c = wave(1, batch, n_in), wave(2, batch, n), wave(3, batch, n)
    y = torch.func.functional_call(layer, dict(zip(names, weights)), (x, h))
    case("rnn_cell_relu", y, x, h, *weights)
    weights = [wave(4, 4 * n, n_in), wave(5, 4 * n, n), wave(6, 4 * n), wave(7, 4 * n)]
    layer = torch.nn.LSTMCell(n_in, n, dtype=torch.float64)
    y = torch.func.functional_call(layer, dict(zip(names, weights)), (x, (h, c)))
    case("lstm_cell", flat(*y), x, h, c, *weights)
    weights = [wave(4, 3 * n, n_in), wave(5, 3 * n, n), wave(6, 3 * n), wave(7, 3 * n)]
    layer = torch.nn.GRUCell(n_in, n, dtype=torch.float64)
    y = torch.func.functional_call(layer, dict(zip(names, weights)), (x, h))
    case("gru_cell", y, x, h, *weights)


print("/* golden_layers.h - results and gradients of PyTorch's layers, by scripts/golden/make_layers.py.")
print(" * SPDX-License-Identifier: MIT */")
print("/* clang-format off */")
print("#ifndef EBB_TESTS_GOLDEN_LAYERS_H")
print("#define EBB_TESTS_GOLDEN_LAYERS_H")
print()
for part in (convolutions, pools, resampling, norms, attention, recurrent):
    part()
print()
print("#endif")
