#!/usr/bin/env python3
"""make_nn.py > tests/data/golden_nn.h - what PyTorch's operations and their gradients give, in f64.

Inputs are waves: element i of wave k is sin(0.9 i + k). The cotangent of every result is wave 9.
Run by hand where PyTorch can be imported; its output is committed.
SPDX-License-Identifier: MIT
"""
import math

import torch
import torch.nn.functional as F


def wave(k, *shape):
    n = math.prod(shape)
    t = torch.tensor([math.sin(0.9 * i + k) for i in range(n)], dtype=torch.float64)
    return t.reshape(shape).requires_grad_(True)


def emit(name, tensor):
    values = [f"{v:.13g}" for v in tensor.detach().reshape(-1).tolist()]
    print(f"static const double nn_{name}[] = {{")
    line = "   "
    for v in values:
        if len(line) + len(v) + 2 > 94:
            print(line)
            line = "   "
        line += f" {v},"
    print(line + "};")


def case(name, result, **inputs):
    """The result, and its gradients by the named inputs."""
    cotangent = wave(9, *result.shape).detach()
    gradients = torch.autograd.grad(result, list(inputs.values()), cotangent)
    emit(name, result)
    for key, gradient in zip(inputs, gradients):
        emit(f"{name}_d{key}", gradient)


def convolutions():
    x, w, b = wave(1, 2, 4, 6, 5), wave(2, 6, 2, 3, 2), wave(3, 6)
    y = F.conv2d(x, w, b, stride=(2, 1), padding=(1, 1), dilation=(1, 2), groups=2)
    case("conv", y, x=x, w=w, b=b)
    x, w = wave(1, 1, 3, 5, 4), wave(2, 4, 3, 1, 1)
    case("conv_pointwise", F.conv2d(x, w), x=x, w=w)
    x, w, b = wave(1, 2, 3, 4), wave(2, 5, 4), wave(3, 5)
    case("linear", F.linear(x, w, b), x=x, w=w, b=b)


def pools():
    x = wave(1, 2, 2, 7, 6)
    case("max_pool", F.max_pool2d(x, 3, stride=2, padding=1), x=x)
    case("avg_pool", F.avg_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 1)), x=x)
    y = F.avg_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 1), count_include_pad=False)
    case("avg_pool_exclude", y, x=x)
    x = wave(1, 1, 2, 4, 6)
    case("max_pool_tiled", F.max_pool2d(x, 2), x=x)


def norms():
    x, w, b = wave(1, 3, 2, 2, 3), wave(2, 2), wave(3, 2)
    mean, var = wave(4, 2).detach(), wave(5, 2).detach() ** 2 + 0.5
    case("bn_eval", F.batch_norm(x, mean, var, w, b, training=False), x=x, w=w, b=b)
    case("bn_train", F.batch_norm(x, mean, var, w, b, training=True, momentum=0.3, eps=0.01), x=x, w=w, b=b)
    emit("bn_running_mean", mean)
    emit("bn_running_var", var)
    x, w, b = wave(1, 3, 2, 5), wave(2, 5), wave(3, 5)
    case("ln", F.layer_norm(x, (5,), w, b), x=x, w=w, b=b)


def losses():
    x, labels = wave(1, 4, 5), torch.tensor([2, 0, 4, 2])
    case("ce", F.cross_entropy(3 * x, labels), x=x)
    case("ce_smooth", F.cross_entropy(3 * x, labels, label_smoothing=0.2), x=x)
    case("ce_ignore", F.cross_entropy(3 * x, labels, ignore_index=2, label_smoothing=0.1), x=x)
    case("nll", F.nll_loss(F.log_softmax(x, 1), labels), x=x)
    x, labels = wave(1, 2, 3, 4), torch.tensor([[2, 0, 1, 2], [1, 1, 0, 2]])
    case("ce_planes", F.cross_entropy(x, labels), x=x)
    x, y = wave(1, 3, 4), wave(2, 3, 4)
    case("mse", F.mse_loss(x, y), x=x, y=y)
    case("l1", F.l1_loss(x, y), x=x, y=y)
    case("smooth_l1", F.smooth_l1_loss(x, y, beta=0.7), x=x, y=y)
    target = torch.sigmoid(y)
    case("bce_logits", F.binary_cross_entropy_with_logits(x, target), x=x, y=y)
    case("bce", F.binary_cross_entropy(torch.sigmoid(x), target), x=x)


def rows():
    x = wave(1, 2, 3, 4)
    case("softmax", F.softmax(x, 1), x=x)
    case("log_softmax", F.log_softmax(x, -1), x=x)
    w, index = wave(1, 5, 3), torch.tensor([[4, 0, 4], [1, 4, 0]])
    case("embedding", F.embedding(index, w), w=w)
    x, index = wave(1, 3, 4), torch.tensor([[3, 3, 0], [1, 2, 1]])
    case("gather", torch.gather(x, 1, index), x=x)
    q, k, v = wave(1, 2, 3, 4), wave(2, 2, 5, 4), wave(3, 2, 5, 2)
    mask = wave(4, 3, 5).detach()
    case("attention", F.scaled_dot_product_attention(q, k, v, attn_mask=mask), q=q, k=k, v=v)
    case("attention_causal", F.scaled_dot_product_attention(q, k, v, is_causal=True), q=q, k=k, v=v)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask > -0.5, scale=0.3)
    case("attention_bool", y, q=q, k=k, v=v)


print("/* golden_nn.h - results and gradients of PyTorch operations, by scripts/golden/make_nn.py.")
print(" * SPDX-License-Identifier: MIT */")
print("/* clang-format off */")
print("#ifndef EBB_TESTS_GOLDEN_NN_H")
print("#define EBB_TESTS_GOLDEN_NN_H")
print()
for part in (convolutions, pools, norms, losses, rows):
    part()
print()
print("#endif")
