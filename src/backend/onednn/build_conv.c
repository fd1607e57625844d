/* build_conv.c - plans for the convolution and its two gradients.
 *
 * oneDNN's fast kernels want their own blocked layouts. Copies into and out of them cost a
 * tenth of the kernel at the sizes that matter, and plain layouts run at less than half the
 * speed, so every operand but the bias is offered in the layout of the kernel's choice.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/build.h"

/* Multiplications below which creating and running primitives does not pay. */
static const double CONV_WORTH = 16384;

static ebb__dnnl_layout weight_layout(const ebb_shape *w, int64_t groups)
{
    if (groups == 1) return ebb__dnnl_layout_dense((int32_t)w->n_dims, w->dims);
    int64_t dims[EBB_MAX_DIMS] = {groups, w->dims[0] / groups};
    for (int64_t i = 1; i < w->n_dims; i++) dims[i + 1] = w->dims[i];
    return ebb__dnnl_layout_dense((int32_t)w->n_dims + 1, dims);
}

/* n numbers, one for each spatial axis. */
static void read_axes(dnnl_dims_t out, const ebb__call *c, const char *name, int64_t n,
                      int64_t zero)
{
    const int64_t *own = ebb__dnnl_attribute(c, name);
    for (int64_t i = 0; i < n; i++) out[i] = own && own[i] ? own[i] : zero;
}

/* What the blocked copies of one round may take. */
static const int64_t ROUND_BYTES = 1 << 17;

/* Cuts the batch into a range per thread and each range into rounds: of the most images that
 * fit, and of a divisor of the range where images may not be repeated. Leaves the plan without
 * rounds where there are fewer images than threads, or no such divisor of a sensible size.
 * Returns the images of one round. */
static int64_t rounds_set(ebb__dnnl_plan *p, const ebb__call *c, const ebb_view *x,
                          const ebb_view *y, bool repeats)
{
    int64_t n = x->shape.dims[0], range = n / c->n_threads;
    if (range < 1 || (!repeats && n % c->n_threads != 0)) return n;
    int64_t item = (ebb__n_elems(&x->shape) + ebb__n_elems(&y->shape)) / n * 4;
    int64_t most = ROUND_BYTES / item < 1 ? 1 : ROUND_BYTES / item;
    if (most > range) most = range;
    int64_t items = (range + (range + most - 1) / most - 1) / ((range + most - 1) / most);
    if (!repeats) {
        for (items = most; range % items != 0;) items--;
        if (2 * items < most) return n;
    }
    p->n_ranges = c->n_threads;
    p->n_items = n;
    p->round_items = items;
    return items;
}

/* The request, and its operands as they lie in memory; x, w and y in their roles (for a
 * gradient one of them is the result). */
typedef struct conv_work {
    ebb__dnnl_request request;
    ebb__dnnl_layout x, w, y;
} conv_work;

static conv_work work_of(ebb__dnnl_plan *p, const ebb__call *c, ebb__dnnl_kind kind,
                         const ebb_view *x, const ebb_view *w, const ebb_view *y)
{
    const int64_t *attr = ebb__dnnl_attribute(c, "groups");
    int32_t rank = (int32_t)x->shape.n_dims;
    conv_work k = {.x = ebb__dnnl_layout_dense(rank, x->shape.dims),
                   .w = weight_layout(&w->shape, attr && *attr ? *attr : 1),
                   .y = ebb__dnnl_layout_dense(rank, y->shape.dims)};
    k.x.dims[0] = k.y.dims[0] = rounds_set(p, c, x, y, kind != EBB__DNNL_CONV_GRAD_WEIGHT);
    ebb__dnnl_request *r = &k.request;
    r->kind = kind;
    r->src = ebb__dnnl_layout_any(k.x);
    r->weight = ebb__dnnl_layout_any(k.w);
    r->dst = ebb__dnnl_layout_any(k.y);
    read_axes(r->stride, c, "stride", rank - 2, 1);
    read_axes(r->padding, c, "padding", rank - 2, 0);
    read_axes(r->dilation, c, "dilation", rank - 2, 1);
    return k;
}

static bool worth(const ebb__call *c, const ebb_shape *w, const ebb_shape *y)
{
    if (!ebb__dnnl_all_f32(c)) return false;
    double taps = 1;
    for (int64_t i = 1; i < w->n_dims; i++) taps *= (double)w->dims[i];
    return (double)ebb__n_elems(y) * taps >= CONV_WORTH;
}

bool ebb__dnnl_conv_worth(const ebb__call *c)
{
    return worth(c, &c->in[1].shape, &c->out[0].shape);
}

void ebb__dnnl_conv_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    conv_work k = work_of(p, c, EBB__DNNL_CONV, &c->in[0], &c->in[1], &c->out[0]);
    bool bias = c->n_in > 2 && c->in[2].dtype != 0;
    if (bias) k.request.bias = ebb__dnnl_layout_dense(1, c->in[2].shape.dims);
    int32_t x = ebb__dnnl_batch(p, ebb__dnnl_in(p, 0, &k.x), &k.x);
    int32_t w = ebb__dnnl_in(p, 1, &k.w);
    int32_t b = bias ? ebb__dnnl_in(p, 2, &k.request.bias) : -1;
    int32_t y = ebb__dnnl_batch(p, ebb__dnnl_out(p, 0, &k.y), &k.y);
    dnnl_primitive_t made = ebb__dnnl_make(p, &k.request);
    ebb__dnnl_argument args[4] = {
        {DNNL_ARG_SRC, ebb__dnnl_read(p, made, DNNL_ARG_SRC, x)},
        {DNNL_ARG_WEIGHTS, ebb__dnnl_read(p, made, DNNL_ARG_WEIGHTS, w)},
        {DNNL_ARG_DST, ebb__dnnl_target(p, made, DNNL_ARG_DST, y)},
        {DNNL_ARG_BIAS, b}};
    ebb__dnnl_step(p, made, bias ? 4 : 3, args);
    ebb__dnnl_write(p, args[2].memory, y);
}

/* The operation's two inputs are the gradient g of y and the other factor. */
static const ebb_view *named(const ebb__call *c, const char *arg)
{
    int32_t i = ebb__dnnl_input(c, arg);
    return i < 0 ? &c->in[0] : &c->in[i];
}

bool ebb__dnnl_conv_grad_input_worth(const ebb__call *c)
{
    return worth(c, &named(c, "w")->shape, &named(c, "g")->shape);
}

bool ebb__dnnl_conv_grad_weight_worth(const ebb__call *c)
{
    return worth(c, &c->out[0].shape, &named(c, "g")->shape);
}

void ebb__dnnl_conv_grad_input_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    int32_t g = ebb__dnnl_input(c, "g"), w = ebb__dnnl_input(c, "w");
    if (g < 0 || w < 0) {
        ebb__dnnl_refuse(p);
        return;
    }
    conv_work k = work_of(p, c, EBB__DNNL_CONV_GRAD_INPUT, &c->out[0], &c->in[w], &c->in[g]);
    int32_t from = ebb__dnnl_batch(p, ebb__dnnl_in(p, g, &k.y), &k.y);
    int32_t weight = ebb__dnnl_in(p, w, &k.w);
    int32_t to = ebb__dnnl_batch(p, ebb__dnnl_out(p, 0, &k.x), &k.x);
    dnnl_primitive_t made = ebb__dnnl_make(p, &k.request);
    ebb__dnnl_argument args[3] = {
        {DNNL_ARG_DIFF_DST, ebb__dnnl_read(p, made, DNNL_ARG_DIFF_DST, from)},
        {DNNL_ARG_WEIGHTS, ebb__dnnl_read(p, made, DNNL_ARG_WEIGHTS, weight)},
        {DNNL_ARG_DIFF_SRC, ebb__dnnl_target(p, made, DNNL_ARG_DIFF_SRC, to)}};
    ebb__dnnl_step(p, made, 3, args);
    ebb__dnnl_write(p, args[2].memory, to);
}

void ebb__dnnl_conv_grad_weight_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    int32_t g = ebb__dnnl_input(c, "g"), x = ebb__dnnl_input(c, "x");
    if (g < 0 || x < 0) {
        ebb__dnnl_refuse(p);
        return;
    }
    conv_work k = work_of(p, c, EBB__DNNL_CONV_GRAD_WEIGHT, &c->in[x], &c->out[0], &c->in[g]);
    int32_t from = ebb__dnnl_batch(p, ebb__dnnl_in(p, g, &k.y), &k.y);
    int32_t other = ebb__dnnl_batch(p, ebb__dnnl_in(p, x, &k.x), &k.x);
    int32_t to = p->n_ranges ? -1 : ebb__dnnl_out(p, 0, &k.w);
    dnnl_primitive_t made = ebb__dnnl_make(p, &k.request);
    ebb__dnnl_argument args[3] = {
        {DNNL_ARG_DIFF_DST, ebb__dnnl_read(p, made, DNNL_ARG_DIFF_DST, from)},
        {DNNL_ARG_SRC, ebb__dnnl_read(p, made, DNNL_ARG_SRC, other)},
        {DNNL_ARG_DIFF_WEIGHTS, p->n_ranges
                                    ? ebb__dnnl_scratch(p, made, DNNL_ARG_DIFF_WEIGHTS)
                                    : ebb__dnnl_target(p, made, DNNL_ARG_DIFF_WEIGHTS, to)}};
    ebb__dnnl_step(p, made, 3, args);
    if (p->n_ranges)
        ebb__dnnl_write_sum(p, args[2].memory, 0, &k.w);
    else
        ebb__dnnl_write(p, args[2].memory, to);
}
