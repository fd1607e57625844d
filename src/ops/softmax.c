/* softmax.c - softmax and its logarithm along one axis, and their gradients in one sweep.
 *
 * Subtracting the maximum keeps every exp <= 1: Goodfellow, Bengio, Courville (2016),
 * section 4.1. Both keep their output for the gradient, not x.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/clones.h"
#include "ops/kernels/vmath.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>

enum { SOFTMAX_WIDTH = 64 };

typedef struct softmax_attr {
    int64_t axis;
} softmax_attr;
static const ebb_attr_spec softmax_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(softmax_attr, axis), false, "negative: from the end"}, {0}};

typedef enum softmax_kind { SOFTMAX, LOG_SOFTMAX, SOFTMAX_GRAD, LOG_SOFTMAX_GRAD } softmax_kind;
typedef struct softmax_work {
    softmax_kind kind;
    ebb_dtype dtype;
    ebb__around around;
    const void *x, *y;
    void *out;
} softmax_work;

#define EBB_TYPED "ops/exp_rows.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/softmax.inl"
#include "ops/kernels/typed.h"

static ebb_status softmax_shape(ebb__call *c)
{
    int64_t axis = ((const softmax_attr *)c->attr)->axis;
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
        EBB_TRY(ebb__check_shape_as(c, i, 0));
    }
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}

static void softmax_items(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const softmax_work *w = arg;
    for (int64_t item = lo; item < hi; item++) EBB_BY_DTYPE(w->dtype, softmax_item, w, item);
}

static ebb_status softmax_run(const ebb__call *c, softmax_kind kind)
{
    int64_t axis = ((const softmax_attr *)c->attr)->axis;
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    softmax_work w = {kind,          c->in[0].dtype, ebb__around_axis(&c->in[0].shape, axis),
                      c->in[0].data, NULL,           c->out[0].data};
    if (c->n_in > 1) w.y = c->in[1].data;
    if (w.around.n == 0) return EBB_OK;
    int64_t blocks = (w.around.inner + SOFTMAX_WIDTH - 1) / SOFTMAX_WIDTH;
    int64_t width = w.around.inner < SOFTMAX_WIDTH ? w.around.inner : SOFTMAX_WIDTH;
    ebb__parallel(c->n_threads, w.around.outer * blocks, ebb__grain(w.around.n * width * 4),
                  softmax_items, &w);
    return EBB_OK;
}

static ebb_status softmax_forward(const ebb__call *c)
{
    return softmax_run(c, SOFTMAX);
}

static ebb_status log_softmax_forward(const ebb__call *c)
{
    return softmax_run(c, LOG_SOFTMAX);
}

static ebb_status softmax_grad_forward(const ebb__call *c)
{
    return softmax_run(c, SOFTMAX_GRAD);
}

static ebb_status log_softmax_grad_forward(const ebb__call *c)
{
    return softmax_run(c, LOG_SOFTMAX_GRAD);
}

static void softmax_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, softmax_grad, v->attr, ebb__grad(v, 0), ebb__out(v, 0)));
}

static void log_softmax_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, log_softmax_grad, v->attr, ebb__grad(v, 0), ebb__out(v, 0)));
}

/* The axis kept as 1, so that sums broadcast back. */
static ebb_axes kept_axis(const ebb_vjp *v)
{
    return EBB_KEEP(((const softmax_attr *)v->attr)->axis);
}

/* dx = y * (g - <g, y>) is linear and symmetric in g; with the cotangent u
 * dL/dy = u * (g - <g, y>) - g * <u, y>. */
static void softmax_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *u = ebb__grad(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, softmax_grad, v->attr, u, y));
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *g = ebb__in(v, 0);
    ebb_tensor *g_dot = ebb__rule_sum(v, ebb__rule_mul(v, g, y), kept_axis(v));
    ebb_tensor *u_dot = ebb__rule_sum(v, ebb__rule_mul(v, u, y), kept_axis(v));
    ebb__give(v, 1,
              ebb__rule_sub(v, ebb__rule_mul(v, u, ebb__rule_sub(v, g, g_dot)),
                            ebb__rule_mul(v, g, u_dot)));
}

/* dx = g - p * sum(g) with p = exp(y); with the cotangent u
 * dL/dg = u - <u, p> and dL/dy = -u * p * sum(g). */
static void log_softmax_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *u = ebb__grad(v, 0);
    ebb_tensor *up = ebb__rule_mul(v, u, EBB_EMIT(v, exp, NULL, ebb__in(v, 1)));
    if (ebb__wants(v, 0))
        ebb__give(v, 0, ebb__rule_sub(v, u, ebb__rule_sum(v, up, kept_axis(v))));
    if (ebb__wants(v, 1)) {
        ebb_tensor *total = ebb__rule_sum(v, ebb__in(v, 0), kept_axis(v));
        ebb__give(v, 1, ebb__rule_scale(v, ebb__rule_mul(v, up, total), -1));
    }
}

#define SOFTMAX_COMMON                                                                         \
    .n_out = 1, .attr_bytes = sizeof(softmax_attr), .attrs = softmax_attrs,                    \
    .bound = EBB_BOUND_MEMORY, .shape = softmax_shape
#define SOFTMAX_SAMPLES                                                                        \
    EBB_SAMPLES({.in = {"5"}, .attr = "axis=-1"}, {.in = {"3x4"}, .attr = "axis=0"},           \
                {.in = {"3x4"}, .attr = "axis=1"}, {.in = {"2x3x70"}, .attr = "axis=-2"},      \
                {.in = {"2x1x3"}, .attr = "axis=1"}, {.in = {"0x3"}, .attr = "axis=-1"},       \
                {.in = {"3x0"}, .attr = "axis=-1"})
#define SOFTMAX_GRAD_SAMPLES                                                                   \
    EBB_SAMPLES({.in = {"5", "5"}, .attr = "axis=-1"},                                         \
                {.in = {"3x4", "3x4"}, .attr = "axis=0"},                                      \
                {.in = {"2x3x70", "2x3x70"}, .attr = "axis=-2"},                               \
                {.in = {"0x3", "0x3"}, .attr = "axis=-1"})

const ebb_op ebb__op_softmax = {
    EBB_OP_HEAD(softmax),
    .doc = "y = exp(x) / sum(exp(x)) along one axis.",
    .n_in = 1,
    .arg = {"x"},
    SOFTMAX_COMMON,
    .need = {EBB_NEED_OUT(0)},
    .forward = softmax_forward,
    .vjp = softmax_vjp,
    SOFTMAX_SAMPLES,
};

const ebb_op ebb__op_log_softmax = {
    EBB_OP_HEAD(log_softmax),
    .doc = "y = x - log(sum(exp(x))) along one axis, without overflow.",
    .n_in = 1,
    .arg = {"x"},
    SOFTMAX_COMMON,
    .need = {EBB_NEED_OUT(0)},
    .forward = log_softmax_forward,
    .vjp = log_softmax_vjp,
    SOFTMAX_SAMPLES,
};

const ebb_op ebb__op_softmax_grad = {
    EBB_OP_HEAD(softmax_grad),
    .doc = "dx = y * (g - sum(g * y)); the gradient of softmax without temporaries.",
    .n_in = 2,
    .arg = {"g", "y"},
    SOFTMAX_COMMON,
    .flags = EBB_OP_PRIVATE,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .forward = softmax_grad_forward,
    .vjp = softmax_grad_vjp,
    SOFTMAX_GRAD_SAMPLES,
};

const ebb_op ebb__op_log_softmax_grad = {
    EBB_OP_HEAD(log_softmax_grad),
    .doc = "dx = g - exp(y) * sum(g); the gradient of log_softmax without temporaries.",
    .n_in = 2,
    .arg = {"g", "y"},
    SOFTMAX_COMMON,
    .flags = EBB_OP_PRIVATE,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .forward = log_softmax_grad_forward,
    .vjp = log_softmax_grad_vjp,
    SOFTMAX_GRAD_SAMPLES,
};
