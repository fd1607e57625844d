/* group_norm.c - normalisation of groups of channels, and of single ones: group norm, instance
 * norm.
 *
 * By-products are the mean and 1 / sqrt(var + eps) of each group of each image; under
 * create_graph the rule is a formula of x alone.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/clones.h"
#include "ops/norm.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

typedef struct group_attr {
    double eps;
    int64_t groups;
} group_attr;
static const ebb_attr_spec group_attrs[] = {
    {"eps", EBB_ATTR_F64, offsetof(group_attr, eps), true, "0: 1e-5"},
    {"groups", EBB_ATTR_I64, offsetof(group_attr, groups), false, "must divide the channels"},
    {0}};
static const ebb_attr_spec group_grad_attrs[] = {
    {"eps", EBB_ATTR_F64, offsetof(group_attr, eps), false, NULL},
    {"groups", EBB_ATTR_I64, offsetof(group_attr, groups), false, NULL},
    {0}};
static const ebb_attr_spec instance_options[] = NORM_SPECS(true);
static const ebb_attr_spec instance_attrs[] = NORM_SPECS(false);

typedef struct group_work {
    ebb_dtype dtype;
    int64_t n_images, n_groups, each, run; /* channels of a group; elements of a channel */
    const void *x, *weight, *bias, *mean, *rstd, *grad;
    void *out, *mean_out, *rstd_out, *dw, *db, *run_mean, *run_var;
    double eps, momentum;
    double *sums, *batch_mean, *batch_squares;
} group_work;

#define EBB_TYPED "ops/group_norm.inl"
#include "ops/kernels/typed.h"

static group_work work_of(const ebb_view *x, int64_t groups)
{
    group_work w = {.dtype = x->dtype,
                    .n_images = x->shape.dims[0],
                    .n_groups = groups,
                    .each = groups ? x->shape.dims[1] / groups : 0,
                    .run = 1};
    for (int64_t i = 2; i < x->shape.n_dims; i++) w.run *= x->shape.dims[i];
    return w;
}

static ebb_status check_operands(const ebb__call *c, int64_t rank)
{
    EBB_TRY(ebb__check_rank_at_least(c, 0, rank));
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
        if (i > 0) EBB_TRY(ebb__check_vector(c, i, c->in[0].shape.dims[1]));
    }
    return EBB_OK;
}

static ebb_status check_groups(const ebb_shape *x, int64_t groups)
{
    if (groups >= 1 && x->dims[1] % groups == 0) return EBB_OK;
    return ebb__fail(EBB_E_RANGE, "groups is %lld, it must divide %lld channels",
                     (long long)groups, (long long)x->dims[1]);
}

static void set_outputs(ebb__call *c, int64_t groups)
{
    ebb_shape stat = EBB_SHAPE(c->in[0].shape.dims[0], groups);
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    ebb__set_out(c, 1, c->in[0].dtype, &stat);
    ebb__set_out(c, 2, c->in[0].dtype, &stat);
}

static void group_items(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const group_work *w = arg;
    for (int64_t i = lo; i < hi; i++) EBB_BY_DTYPE(w->dtype, group_forward, w, i);
}

static void group_grad_items(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const group_work *w = arg;
    for (int64_t i = lo; i < hi; i++) EBB_BY_DTYPE(w->dtype, group_backward, w, i);
}

static void group_run(const ebb__call *c, group_work *w)
{
    w->x = c->in[0].data, w->weight = norm_data(c, 1), w->bias = norm_data(c, 2);
    w->out = c->out[0].data, w->mean_out = c->out[1].data, w->rstd_out = c->out[2].data;
    ebb__parallel(c->n_threads, w->n_images * w->n_groups, ebb__grain(w->each * w->run * 3),
                  group_items, w);
}

/* ---- rules ------------------------------------------------------------------------------ */
/* x as (images, groups, elements of a group). */
static ebb_shape group_rows(const ebb_shape *x, int64_t groups)
{
    ebb_shape s = EBB_SHAPE(x->dims[0], groups, groups ? x->dims[1] / groups : 0);
    for (int64_t i = 2; i < x->n_dims; i++) s.dims[2] *= x->dims[i];
    return s;
}

/* The weight of each channel in x's rank. */
static ebb_shape channel_shape(const ebb_shape *x)
{
    ebb_shape s = *x;
    for (int64_t i = 0; i < s.n_dims; i++)
        if (i != 1) s.dims[i] = 1;
    return s;
}

static ebb_axes but_channels(const ebb_shape *x)
{
    ebb_axes a = {.n = 0};
    for (int64_t i = 0; i < x->n_dims; i++)
        if (i != 1) a.axis[a.n++] = i;
    return a;
}

/* Gradients of w and b, from g and the normalised x; running statistics have none. */
static void give_weights(ebb_vjp *v, ebb_tensor *g, ebb_tensor *xh, const ebb_shape *x)
{
    if (ebb__wants(v, 1))
        ebb__give(v, 1, ebb__rule_sum(v, ebb__rule_mul(v, g, xh), but_channels(x)));
    if (ebb__wants(v, 2)) ebb__give(v, 2, ebb__rule_sum(v, g, but_channels(x)));
}

static void group_rule(ebb_vjp *v, int64_t groups)
{
    ebb_tensor *g = ebb__grad(v, 0), *xh = NULL;
    ebb_shape x = ebb__in_shape(v, 0);
    if (ebb__wants(v, 0)) {
        group_attr attr = {.groups = groups};
        ebb_tensor *weight = ebb__in_dtype(v, 1) ? ebb__in(v, 1) : EBB_NONE, *out[3];
        ebb_tensor *in[] = {g, ebb__in(v, 0), weight, ebb__aux(v, 0), ebb__aux(v, 1)};
        ebb__emit_n(v, &ebb__op_group_norm_grad, &attr, 5, in, 3, out);
        for (int32_t i = 0; i < 3; i++)
            if (ebb__wants(v, i)) ebb__give(v, i, out[i]);
        return;
    }
    if (ebb__wants(v, 1)) {
        ebb_shape rows = group_rows(&x, groups), stat = EBB_SHAPE(x.dims[0], groups, 1);
        ebb_tensor *mean = ebb__rule_reshape(v, ebb__aux(v, 0), stat);
        ebb_tensor *rstd = ebb__rule_reshape(v, ebb__aux(v, 1), stat);
        xh = ebb__rule_sub(v, ebb__rule_reshape(v, ebb__in(v, 0), rows), mean);
        xh = ebb__rule_reshape(v, ebb__rule_mul(v, xh, rstd), x);
    }
    give_weights(v, g, xh, &x);
}

/* The whole rule from x, w and g by public operations. */
static void group_composed(ebb_vjp *v, int64_t groups, double eps)
{
    ebb_tensor *g = ebb__grad(v, 0), *xh = NULL;
    ebb_shape x = ebb__in_shape(v, 0);
    ebb_shape rows = group_rows(&x, groups);
    ebb_axes last = EBB_KEEP(-1);
    if (ebb__wants(v, 0) || ebb__wants(v, 1)) {
        ebb_tensor *row = ebb__rule_reshape(v, ebb__in(v, 0), rows);
        ebb_tensor *away = ebb__rule_sub(v, row, ebb__rule_mean(v, row, last));
        ebb_tensor *var = ebb__rule_mean(v, EBB_EMIT(v, square, NULL, away), last);
        ebb_tensor *rstd = EBB_EMIT(v, rsqrt, NULL, ebb__rule_shift(v, var, eps));
        xh = ebb__rule_mul(v, away, rstd);
        if (ebb__wants(v, 0)) {
            ebb_tensor *gw = g;
            if (ebb__in_dtype(v, 1))
                gw =
                    ebb__rule_mul(v, g, ebb__rule_reshape(v, ebb__in(v, 1), channel_shape(&x)));
            gw = ebb__rule_reshape(v, gw, rows);
            ebb_tensor *slope = ebb__rule_mean(v, ebb__rule_mul(v, gw, xh), last);
            ebb_tensor *level = ebb__rule_sub(v, gw, ebb__rule_mean(v, gw, last));
            ebb_tensor *dx = ebb__rule_sub(v, level, ebb__rule_mul(v, xh, slope));
            ebb__give(v, 0, ebb__rule_reshape(v, ebb__rule_mul(v, rstd, dx), x));
        }
        xh = ebb__rule_reshape(v, xh, x);
    }
    give_weights(v, g, xh, &x);
}

#define GROUP_NEEDS                                                                            \
    {                                                                                          \
        EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_AUX(0) | EBB_NEED_AUX(1),                   \
            EBB_NEED_IN(0) | EBB_NEED_AUX(0) | EBB_NEED_AUX(1), 0                              \
    }

/* ---- group norm ------------------------------------------------------------------------- */
static ebb_status group_norm_shape(ebb__call *c)
{
    const group_attr *a = c->attr;
    if (!(a->eps >= 0)) return ebb__fail(EBB_E_RANGE, "eps is %g, it must be positive", a->eps);
    EBB_TRY(check_operands(c, 2));
    EBB_TRY(check_groups(&c->in[0].shape, a->groups));
    set_outputs(c, a->groups);
    return EBB_OK;
}

static double group_eps(const group_attr *a)
{
    return a->eps != 0 ? a->eps : 1e-5;
}

static ebb_status group_norm_forward(const ebb__call *c)
{
    const group_attr *a = c->attr;
    group_work w = work_of(&c->in[0], a->groups);
    w.eps = group_eps(a);
    group_run(c, &w);
    return EBB_OK;
}

static void group_norm_vjp(ebb_vjp *v)
{
    group_rule(v, ((const group_attr *)v->attr)->groups);
}

static void group_norm_composed(ebb_vjp *v)
{
    group_composed(v, ((const group_attr *)v->attr)->groups, group_eps(v->attr));
}

const ebb_op ebb__op_group_norm = {
    EBB_OP_HEAD(group_norm),
    .doc = "out = (x - mean) / sqrt(var + eps) * w + b, mean and variance over each group of "
           "channels (axis 1) of each image, w and b per channel.",
    .n_in = 3,
    .n_out = 1,
    .n_aux = 2,
    .optional = 1u << 1 | 1u << 2,
    .arg = {"x", "w", "b"},
    .attr_bytes = sizeof(group_attr),
    .options_bytes = offsetof(group_attr, groups),
    .attrs = group_attrs,
    .options = "group_norm",
    .bound = EBB_BOUND_MEMORY,
    .need = GROUP_NEEDS,
    .shape = group_norm_shape,
    .forward = group_norm_forward,
    .vjp = group_norm_vjp,
    .vjp_composed = group_norm_composed,
    EBB_SAMPLES({.in = {"2x4x3x2", "4", "4"}, .attr = "groups=2"},
                {.in = {"3x6", "6", "-"}, .attr = "groups=2"},
                {.in = {"2x3x5", "-", "-"}, .attr = "groups=3 eps=0.1"},
                {.in = {"2x4x20", "4", "4"}, .attr = "groups=1"},
                {.in = {"1x2x1x2", "2", "2"}, .attr = "groups=1"},
                {.in = {"0x4x2", "4", "4"}, .attr = "groups=2"}),
};

static ebb_status group_norm_grad_shape(ebb__call *c)
{
    int64_t groups = ((const group_attr *)c->attr)->groups;
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
    }
    EBB_TRY(ebb__check_rank_at_least(c, 1, 2));
    EBB_TRY(ebb__check_shape_as(c, 0, 1));
    EBB_TRY(ebb__check_shape_as(c, 4, 3));
    EBB_TRY(check_groups(&c->in[1].shape, groups));
    ebb_shape channels = EBB_SHAPE(c->in[1].shape.dims[1]);
    EBB_TRY(ebb__check_vector(c, 2, channels.dims[0]));
    if (ebb__n_elems(&c->in[3].shape) != c->in[1].shape.dims[0] * groups)
        return ebb__fail(EBB_E_SHAPE, "mean has %lld elements, x has %lld groups",
                         (long long)ebb__n_elems(&c->in[3].shape),
                         (long long)(c->in[1].shape.dims[0] * groups));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[1].shape);
    ebb__set_out(c, 1, c->in[0].dtype, &channels);
    ebb__set_out(c, 2, c->in[0].dtype, &channels);
    c->scratch_bytes = 2 * (size_t)(c->in[1].shape.dims[0] * channels.dims[0]) * sizeof(double);
    return EBB_OK;
}

static ebb_status group_norm_grad_forward(const ebb__call *c)
{
    group_work w = work_of(&c->in[1], ((const group_attr *)c->attr)->groups);
    w.grad = c->in[0].data, w.x = c->in[1].data, w.weight = norm_data(c, 2);
    w.mean = c->in[3].data, w.rstd = c->in[4].data;
    w.out = c->out[0].data, w.dw = c->out[1].data, w.db = c->out[2].data;
    w.sums = c->scratch;
    ebb__parallel(c->n_threads, w.n_images * w.n_groups, ebb__grain(w.each * w.run * 3),
                  group_grad_items, &w);
    EBB_BY_DTYPE(w.dtype, group_weights, &w);
    return EBB_OK;
}

const ebb_op ebb__op_group_norm_grad = {
    EBB_OP_HEAD(group_norm_grad),
    .doc = "dx, dw and db of group_norm; rstd is 1 / sqrt(var + eps).",
    .n_in = 5,
    .n_out = 3,
    .arg = {"g", "x", "w", "mean", "rstd"},
    .result = {"dx", "dw", "db"},
    .optional = 1u << 2,
    .attr_bytes = sizeof(group_attr),
    .attrs = group_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .range = {[4] = {0.5, 2, 0}},
    .shape = group_norm_grad_shape,
    .forward = group_norm_grad_forward,
    EBB_SAMPLES({.in = {"2x4x3", "2x4x3", "4", "2x2", "2x2"}, .attr = "groups=2"},
                {.in = {"3x2", "3x2", "-", "3x1", "3x1"}, .attr = "groups=1"},
                {.in = {"1x3x2x2", "1x3x2x2", "3", "1x3", "1x3"}, .attr = "groups=3"}),
};

/* ---- instance norm ---------------------------------------------------------------------- */
static bool moves_statistics(const ebb__call *c)
{
    return ebb__given(c, 3) || ebb__given(c, 4);
}

static ebb_status instance_train_shape(ebb__call *c)
{
    EBB_TRY(norm_check_attr(c->attr));
    EBB_TRY(check_operands(c, 3));
    const ebb_shape *x = &c->in[0].shape;
    group_work w = work_of(&c->in[0], x->dims[1]);
    char text[EBB__SHAPE_TEXT];
    if (ebb__n_elems(x) > 0 && w.run < 2)
        return ebb__fail(EBB_E_SHAPE, "x is %s: at least 2 values per channel are needed",
                         ebb__shape_text(text, sizeof text, x));
    set_outputs(c, x->dims[1]);
    if (moves_statistics(c))
        c->scratch_bytes = 2 * (size_t)(x->dims[0] * x->dims[1]) * sizeof(double);
    return EBB_OK;
}

static ebb_status instance_train_forward(const ebb__call *c)
{
    const norm_attr *a = c->attr;
    group_work w = work_of(&c->in[0], c->in[0].shape.dims[1]);
    w.eps = norm_eps(a);
    w.momentum = a->momentum != 0 ? a->momentum : 0.1;
    bool moves = moves_statistics(c) && !c->recompute && w.n_images > 0 && w.run > 1;
    if (moves) {
        w.run_mean = (void *)norm_data(c, 3), w.run_var = (void *)norm_data(c, 4);
        w.batch_mean = c->scratch;
        w.batch_squares = w.batch_mean + w.n_images * w.n_groups;
    }
    group_run(c, &w);
    if (moves) EBB_BY_DTYPE(w.dtype, group_move, &w);
    return EBB_OK;
}

static void instance_train_vjp(ebb_vjp *v)
{
    group_rule(v, ebb__in_shape(v, 0).dims[1]);
}

static void instance_train_composed(ebb_vjp *v)
{
    group_composed(v, ebb__in_shape(v, 0).dims[1], norm_eps(v->attr));
}

static void instance_norm_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                  int32_t n_in, const void *attr)
{
    const ebb_op *op = ((const norm_attr *)attr)->inference ? &ebb__op_batch_norm_eval
                                                            : &ebb__op_instance_norm_train;
    out[0] = ebb__emit(v, op, attr, n_in, in);
}

#define INSTANCE_COMMON                                                                        \
    .n_in = 5, .n_out = 1, .arg = {"x", "w", "b", "running_mean", "running_var"},              \
    .optional = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, .attr_bytes = sizeof(norm_attr),        \
    .bound = EBB_BOUND_MEMORY, .range = {[4] = {0.5, 2, 0}}, .writes = 1u << 3 | 1u << 4

const ebb_op ebb__op_instance_norm = {
    EBB_OP_HEAD(instance_norm),
    .doc =
        "out = (x - mean) / sqrt(var + eps) * w + b, mean and variance over each channel "
        "(axis 1) of each image; running_mean and running_var move by momentum towards the "
        "images' mean of them (the variance unbiased). inference: out uses the running values "
        "instead.",
    INSTANCE_COMMON,
    .options_bytes = sizeof(norm_attr),
    .attrs = instance_options,
    .options = "norm",
    .compose = instance_norm_compose,
    EBB_SAMPLES({.in = {"2x3x4", "3", "3", "3", "3"}}, {.in = {"2x3x2x2", "3", "3", "-", "-"}},
                {.in = {"1x2x5", "-", "-", "-", "-"}, .attr = "eps=0.1"},
                {.in = {"0x2x4", "2", "2", "2", "2"}},
                {.in = {"3x2x4", "2", "2", "2", "2"}, .attr = "inference=1"}),
};

const ebb_op ebb__op_instance_norm_train = {
    EBB_OP_HEAD(instance_norm_train),
    .doc = "instance_norm with the images' own statistics; moves the running ones.",
    INSTANCE_COMMON,
    .n_aux = 2,
    .attrs = instance_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_STATEFUL,
    .need = GROUP_NEEDS,
    .shape = instance_train_shape,
    .forward = instance_train_forward,
    .vjp = instance_train_vjp,
    .vjp_composed = instance_train_composed,
    EBB_SAMPLES({.in = {"2x3x4", "3", "3", "-", "-"}}, {.in = {"2x3x2x2", "3", "-", "-", "-"}},
                {.in = {"2x1x5", "1", "-", "1", "1"}, .attr = "momentum=0.3"}),
};
