/* avg_pool.c - average pooling over one, two or three axes: linear, so its gradient's gradient
 * is itself.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/pooling.h"
#include "ops/rule.h"

#include <string.h>

#define AVG_SPECS(n, kind, text)                                                               \
    static const ebb_attr_spec avg_pool##n##d_attrs[] = {                                      \
        {"stride", kind, 0, true, text "0: the kernel's side"},                                \
        {"padding", kind, 8 * n, true, "on each side, at most half the kernel"},               \
        {"divisor", EBB_ATTR_I64, 16 * n, true, "of every sum; 0: the places counted"},        \
        {"ceil_mode", EBB_ATTR_BOOL, 16 * n + 8, true,                                         \
         "a last window for what is left at the end"},                                         \
        {"exclude_padding", EBB_ATTR_BOOL, 16 * n + 9, true,                                   \
         "divide by the places inside the image only"},                                        \
        EBB__POOL_KERNEL_##n(16 * n + 16),                                                     \
        {0}}
AVG_SPECS(1, EBB_ATTR_I64, "");
AVG_SPECS(2, EBB_ATTR_PAIR, "rows, columns; ");
AVG_SPECS(3, EBB_ATTR_TRIPLE, "planes, rows, columns; ");

typedef struct avg_work {
    ebb__pool_geometry s;
    const void *x;
    void *out;
    void (*volume)(const struct avg_work *w, int64_t volume);
} avg_work;

/* By how much the sum of the window at (z, y, j) is divided. What a last window has beyond the
 * padding counts for nothing. */
static double avg_count(const ebb__pool_geometry *s, int64_t z, int64_t y, int64_t j)
{
    if (s->divisor) return (double)s->divisor;
    int64_t at[3] = {z, y, j}, n = 1;
    for (int i = 0; i < 3; i++) {
        int64_t lo = ebb__pool_at(s, i, at[i], 0), hi = lo + s->kernel[i];
        int64_t end = s->in[i] + (s->exclude_padding ? 0 : s->padding[i]);
        if (hi > end) hi = end;
        if (s->exclude_padding && lo < 0) lo = 0;
        n *= hi - lo;
    }
    return (double)n;
}

#define EBB_TYPED "ops/avg_pool.inl"
#include "ops/kernels/typed.h"

/* How many spatial axes: a public operation's attributes are 3 n + 2 numbers. */
static int64_t rank_of(const ebb_op *op)
{
    return (op->attr_bytes / (int64_t)sizeof(int64_t) - 2) / 3;
}

static ebb__pool_attr attr_of(const ebb_op *op, const void *attr)
{
    ebb__pool_attr a;
    memset(&a, 0, sizeof a);
    int64_t n = rank_of(op);
    const int64_t *from = attr;
    for (int64_t i = 0; i < n; i++) {
        a.stride[i] = from[i];
        a.padding[i] = from[n + i];
        a.kernel[i] = from[2 * n + 2 + i];
    }
    a.divisor = from[2 * n];
    a.ceil_mode = ((const bool *)(from + 2 * n + 1))[0];
    a.exclude_padding = ((const bool *)(from + 2 * n + 1))[1];
    return a;
}

/* The average pooling that these attributes describe, of x. */
static ebb_tensor *emit_avg(ebb_vjp *v, const ebb__pool_grad_attr *g, ebb_tensor *x)
{
    static const ebb_op *const ops[] = {&ebb__op_avg_pool1d, &ebb__op_avg_pool2d,
                                        &ebb__op_avg_pool3d};
    int64_t n = g->shape.n_dims - 2, attr[11] = {0};
    const ebb__pool_attr *a = &g->pool;
    for (int64_t i = 0; i < n; i++) {
        attr[i] = a->stride[i];
        attr[n + i] = a->padding[i];
        attr[2 * n + 2 + i] = a->kernel[i];
    }
    attr[2 * n] = a->divisor;
    memcpy((char *)(attr + 2 * n + 1), &a->ceil_mode, sizeof(bool));
    memcpy((char *)(attr + 2 * n + 1) + 1, &a->exclude_padding, sizeof(bool));
    return ebb__emit(v, ops[n - 1], attr, 1, &x);
}

static void avg_volumes(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const avg_work *w = arg;
    for (int64_t volume = lo; volume < hi; volume++) w->volume(w, volume);
}

static ebb_status avg_pool_shape(ebb__call *c)
{
    ebb__pool_geometry s;
    ebb__pool_attr a = attr_of(c->op, c->attr);
    EBB_TRY(ebb__pool_check(c, rank_of(c->op)));
    EBB_TRY(ebb__pool_geometry_of(&s, &c->in[0].shape, &a));
    ebb__set_out(c, 0, c->in[0].dtype, &s.shape);
    return EBB_OK;
}

static ebb_status avg_pool_forward(const ebb__call *c)
{
    avg_work w = {.volume = c->in[0].dtype == EBB_F64 ? avg_volume_f64 : avg_volume_f32,
                  .x = c->in[0].data,
                  .out = c->out[0].data};
    ebb__pool_attr a = attr_of(c->op, c->attr);
    EBB_TRY(ebb__pool_geometry_of(&w.s, &c->in[0].shape, &a));
    ebb__pool_run(c, &w.s, avg_volumes, &w);
    return EBB_OK;
}

static void avg_pool_vjp(ebb_vjp *v)
{
    ebb__pool_grad_attr attr = {.pool = attr_of(v->op, v->attr), .shape = ebb__in_shape(v, 0)};
    ebb__give(v, 0, EBB_EMIT(v, avg_pool_grad, &attr, ebb__grad(v, 0)));
}

#define AVG_POOL(n, what)                                                                      \
    EBB_OP_HEAD(avg_pool##n##d),                                                               \
        .doc =                                                                                 \
            "out[n, c, " what ", ...] = the mean of x[n, c] in the window at (stride * " what  \
            " - padding, ...), padding counted as zeros.",                                     \
        .n_in = 1, .n_out = 1, .arg = {"x"}, .attr_bytes = (3 * n + 2) * 8,                    \
        .options_bytes = (2 * n + 2) * 8, .attrs = avg_pool##n##d_attrs,                       \
        .options = "avg_pool" #n "d", .bound = EBB_BOUND_MEMORY, .shape = avg_pool_shape,      \
        .forward = avg_pool_forward, .vjp = avg_pool_vjp

const ebb_op ebb__op_avg_pool1d = {
    AVG_POOL(1, "i"),
    EBB_SAMPLES(
        {.in = {"2x3x6"}, .attr = "kernel=2"},
        {.in = {"1x2x8"}, .attr = "kernel=3 stride=2 padding=1 ceil_mode=1"},
        {.in = {"1x2x8"}, .attr = "kernel=3 stride=2 padding=1 ceil_mode=1 exclude_padding=1"},
        {.in = {"1x1x1"}, .attr = "kernel=1"}, {.in = {"2x0x4"}, .attr = "kernel=2"}),
};

const ebb_op ebb__op_avg_pool2d = {
    AVG_POOL(2, "i"),
    EBB_SAMPLES({.in = {"2x3x4x6"}, .attr = "kernel_h=2 kernel_w=2"},
                {.in = {"1x2x5x5"}, .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1"},
                {.in = {"1x2x5x5"},
                 .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1 exclude_padding=1"},
                {.in = {"1x2x6x7"},
                 .attr = "kernel_h=3 kernel_w=2 stride=2,3 padding=1,0 ceil_mode=1 divisor=5"},
                {.in = {"1x1x1x1"}, .attr = "kernel_h=1 kernel_w=1"},
                {.in = {"2x0x4x4"}, .attr = "kernel_h=2 kernel_w=2"}),
};

const ebb_op ebb__op_avg_pool3d = {
    AVG_POOL(3, "h"),
    EBB_SAMPLES({.in = {"1x2x4x4x6"}, .attr = "kernel_d=2 kernel_h=2 kernel_w=2"},
                {.in = {"1x1x5x4x5"},
                 .attr = "kernel_d=3 kernel_h=2 kernel_w=2 stride=2,1,2 padding=1,1,0"},
                {.in = {"1x1x5x4x5"},
                 .attr =
                     "kernel_d=3 kernel_h=2 kernel_w=2 stride=2,3,2 padding=1,1,0 ceil_mode=1 "
                     "exclude_padding=1"},
                {.in = {"1x1x1x1x1"}, .attr = "kernel_d=1 kernel_h=1 kernel_w=1"},
                {.in = {"2x0x2x2x2"}, .attr = "kernel_d=2 kernel_h=2 kernel_w=2"}),
};

static ebb_status avg_pool_grad_shape(ebb__call *c)
{
    ebb__pool_geometry s;
    EBB_TRY(ebb__pool_grad_geometry(&s, c));
    EBB_TRY(ebb__pool_check_pooled(c, 0, &s));
    ebb__set_out(c, 0, c->in[0].dtype, &((const ebb__pool_grad_attr *)c->attr)->shape);
    return EBB_OK;
}

static ebb_status avg_pool_grad_forward(const ebb__call *c)
{
    avg_work w = {.volume =
                      c->in[0].dtype == EBB_F64 ? avg_grad_volume_f64 : avg_grad_volume_f32,
                  .x = c->in[0].data,
                  .out = c->out[0].data};
    EBB_TRY(ebb__pool_grad_geometry(&w.s, c));
    ebb__pool_run(c, &w.s, avg_volumes, &w);
    return EBB_OK;
}

static void avg_pool_grad_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, emit_avg(v, v->attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_avg_pool_grad = {
    EBB_OP_HEAD(avg_pool_grad),
    .doc = "dx of average pooling: each g is shared out over its window.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(ebb__pool_grad_attr),
    .attrs = ebb__pool_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = avg_pool_grad_shape,
    .forward = avg_pool_grad_forward,
    .vjp = avg_pool_grad_vjp,
    EBB_SAMPLES({.in = {"2x3x2x3"}, .attr = "kernel=2,2 shape=2x3x4x6"},
                {.in = {"1x2x3x6"},
                 .attr = "kernel=3,2 stride=2,1 padding=1,1 exclude_padding=1 shape=1x2x5x5"},
                {.in = {"1x1x1x1"}, .attr = "kernel=1,1 shape=1x1x1x1"},
                {.in = {"2x1x4"}, .attr = "kernel=3 stride=2 ceil_mode=1 shape=2x1x8"},
                {.in = {"1x2x2x2x2"}, .attr = "kernel=2,2,3 divisor=7 shape=1x2x4x5x6"}),
};
