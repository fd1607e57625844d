/* conv_transpose.c - transposed convolution: what the gradient of a convolution does to its
 * image, as an operation of its own.
 *
 * A formula: the gradient operation of conv.c with the shape of the larger image computed from
 * the smaller one's, and the bias added.
 * SPDX-License-Identifier: MIT */
#include "ops/conv.h"
#include "ops/rule.h"

#define CONV_TRANSPOSE_SPECS(kind, n, text)                                                    \
    static const ebb_attr_spec conv_transpose##n##d_attrs[] = {                                \
        {"stride", kind, 0, true, text "; 0: 1"},                                              \
        {"padding", kind, 8 * n, true, "taken off each side of the result"},                   \
        {"output_padding", kind, 16 * n, true, "added at the end, less than the stride"},      \
        {"dilation", kind, 24 * n, true, "0: 1"},                                              \
        {"groups", EBB_ATTR_I64, 32 * n, true, "0: 1"},                                        \
        {0}}
CONV_TRANSPOSE_SPECS(EBB_ATTR_I64, 1, "of the window");
CONV_TRANSPOSE_SPECS(EBB_ATTR_PAIR, 2, "rows, columns");
CONV_TRANSPOSE_SPECS(EBB_ATTR_TRIPLE, 3, "planes, rows, columns");

static ebb_status check_shapes(const ebb_shape *x, const ebb_shape *w, int64_t n,
                               int64_t groups)
{
    char xt[EBB__SHAPE_TEXT], wt[EBB__SHAPE_TEXT];
    if (x->n_dims != n + 2 || w->n_dims != n + 2)
        return ebb__fail(EBB_E_SHAPE, "x is %s, w is %s: both must have %lld dimensions",
                         ebb__shape_text(xt, sizeof xt, x), ebb__shape_text(wt, sizeof wt, w),
                         (long long)n + 2);
    if (x->dims[1] != w->dims[0])
        return ebb__fail(EBB_E_SHAPE, "x is %s, w is %s: w's first axis must be x's channels",
                         ebb__shape_text(xt, sizeof xt, x), ebb__shape_text(wt, sizeof wt, w));
    if (groups < 1 || x->dims[1] % groups)
        return ebb__fail(EBB_E_RANGE, "groups is %lld, it must divide %lld channels",
                         (long long)groups, (long long)x->dims[1]);
    return EBB_OK;
}

/* (size - 1) * stride - 2 padding + dilation * (kernel - 1) + more + 1. */
static ebb_status side_of(int64_t *out, int64_t size, int64_t kernel, int64_t stride,
                          int64_t padding, int64_t dilation, int64_t more)
{
    int64_t whole, reach;
    if (stride < 1 || dilation < 1 || padding < 0 || more < 0 || more >= stride)
        return ebb__fail(EBB_E_RANGE,
                         "stride %lld, dilation %lld, padding %lld, output_padding %lld: "
                         "stride and dilation must be positive, padding not negative and "
                         "output_padding in [0, stride)",
                         (long long)stride, (long long)dilation, (long long)padding,
                         (long long)more);
    if (!ebb__mul_i64(&whole, size - 1, stride) ||
        !ebb__mul_i64(&reach, dilation, kernel - 1) || !ebb__add_i64(&whole, whole, reach) ||
        !ebb__add_i64(&whole, whole, more + 1) || padding > INT64_MAX / 4)
        return ebb__fail(EBB_E_SHAPE, "stride, padding or dilation too large");
    *out = whole - 2 * padding;
    if (size > 0 && kernel > 0 && *out > 0) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "a side of %lld and a kernel of %lld give a side of %lld",
                     (long long)size, (long long)kernel, (long long)*out);
}

static ebb_status transposed_attr(ebb__conv_grad_attr *a, const ebb_shape *x,
                                  const ebb_shape *w, const int64_t *attr, int64_t n)
{
    *a = (ebb__conv_grad_attr){.conv.groups = attr[4 * n] ? attr[4 * n] : 1};
    EBB_TRY(check_shapes(x, w, n, a->conv.groups));
    a->shape = EBB_SHAPE(x->dims[0], w->dims[1] * a->conv.groups);
    for (int64_t i = 0; i < n; i++) {
        a->conv.stride[i] = attr[i] ? attr[i] : 1;
        a->conv.padding[i] = attr[n + i];
        a->conv.dilation[i] = attr[3 * n + i] ? attr[3 * n + i] : 1;
        EBB_TRY(side_of(&a->shape.dims[a->shape.n_dims++], x->dims[2 + i], w->dims[2 + i],
                        a->conv.stride[i], a->conv.padding[i], a->conv.dilation[i],
                        attr[2 * n + i]));
    }
    return EBB_OK;
}

static void conv_transpose_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                   int32_t n_in, const void *attr)
{
    (void)n_in;
    int64_t n = (v->op->attr_bytes / (int64_t)sizeof(int64_t) - 1) / 4;
    ebb_shape x = ebb_shape_get(in[0]), w = ebb_shape_get(in[1]);
    ebb__conv_grad_attr a = {.shape.n_dims = 0};
    v->status = transposed_attr(&a, &x, &w, attr, n);
    if (v->status != EBB_OK) return;
    out[0] = EBB_EMIT(v, conv_grad_input, &a, in[0], in[1]);
    if (in[2] == EBB_NONE || !out[0]) return;
    ebb_shape bias = ebb_shape_get(in[2]), channels = {.n_dims = n + 2};
    if (bias.n_dims != 1 || bias.dims[0] != a.shape.dims[1]) {
        char text[EBB__SHAPE_TEXT];
        v->status =
            ebb__fail(EBB_E_SHAPE, "b must be (%lld), it is %s", (long long)a.shape.dims[1],
                      ebb__shape_text(text, sizeof text, &bias));
        return;
    }
    for (int64_t i = 0; i < n + 2; i++) channels.dims[i] = i == 1 ? bias.dims[0] : 1;
    out[0] = ebb__rule_add(v, out[0], ebb__rule_reshape(v, in[2], channels));
}

#define CONV_TRANSPOSE(n)                                                                      \
    EBB_OP_HEAD(conv_transpose##n##d),                                                         \
        .n_in = 3, .n_out = 1, .optional = 1u << 2, .arg = {"x", "w", "b"},                    \
        .attr_bytes = (4 * n + 1) * 8, .options_bytes = (4 * n + 1) * 8,                       \
        .attrs = conv_transpose##n##d_attrs, .options = "conv_transpose" #n "d",               \
        .bound = EBB_BOUND_COMPUTE, .compose = conv_transpose_compose

const ebb_op ebb__op_conv_transpose1d = {
    CONV_TRANSPOSE(1),
    .doc = "out[n, o, stride * i - padding + dilation * p] += w[c, o, p] * x[n, c, i], plus "
           "b[o]: the gradient of conv1d in its image. x is (n, c, l), w is (c, out / groups, "
           "kernel); the result's side is (l - 1) * stride - 2 padding + dilation * (kernel - "
           "1) + output_padding + 1.",
    EBB_SAMPLES(
        {.in = {"2x3x4", "3x2x3", "2"}}, {.in = {"1x1x1", "1x1x1", "1"}},
        {.in = {"2x4x3", "4x2x3", "-"}, .attr = "stride=3 padding=1 output_padding=2 groups=2"},
        {.in = {"1x2x4", "2x3x2", "3"}, .attr = "dilation=2 padding=1"},
        {.in = {"0x2x4", "2x3x2", "3"}}),
};

const ebb_op ebb__op_conv_transpose2d = {
    CONV_TRANSPOSE(2),
    .doc = "out[n, o, stride * i - padding + dilation * p, ...] += w[c, o, p, q] * x[n, c, i, "
           "j], plus b[o]: the gradient of conv2d in its image. x is (n, c, h, w), w is (c, "
           "out / groups, kernel_h, kernel_w); a side of the result is (side - 1) * stride - 2 "
           "padding + dilation * (kernel - 1) + output_padding + 1.",
    EBB_SAMPLES({.in = {"2x3x3x4", "3x2x3x3", "2"}}, {.in = {"1x1x1x1", "1x1x1x1", "1"}},
                {.in = {"1x4x3x2", "4x2x3x2", "4"},
                 .attr = "stride=2,1 padding=1,0 output_padding=1,0 groups=2"},
                {.in = {"1x2x2x3", "2x3x2x2", "-"}, .attr = "dilation=2,1 stride=1,2"},
                {.in = {"0x2x3x3", "2x3x2x2", "3"}}),
};

const ebb_op ebb__op_conv_transpose3d = {
    CONV_TRANSPOSE(3),
    .doc = "out[n, o, stride * h - padding + dilation * r, ...] += w[c, o, r, p, q] * x[n, c, "
           "h, i, j], plus b[o]: the gradient of conv3d in its image. x is (n, c, d, h, w), w "
           "is (c, out / groups, kernel_d, kernel_h, kernel_w); a side of the result is (side "
           "- 1) * stride - 2 padding + dilation * (kernel - 1) + output_padding + 1.",
    EBB_SAMPLES({.in = {"1x2x2x3x2", "2x2x2x2x3", "2"}},
                {.in = {"1x1x1x1x1", "1x1x1x1x1", "1"}},
                {.in = {"1x2x2x2x2", "2x1x2x2x2", "-"},
                 .attr = "stride=2,1,2 padding=1,0,0 output_padding=1,0,1 groups=2"},
                {.in = {"1x1x2x2x2", "1x2x2x1x2", "2"}, .attr = "dilation=2,1,1"},
                {.in = {"0x2x2x2x2", "2x1x2x2x2", "1"}}),
};
