/* norm.c - batch norm and layer norm, with gradients in one pass over the data.
 *
 * By-products are the mean and 1 / sqrt(var + eps) of each group. Under create_graph the rules
 * are formulas of x alone (vjp_composed), because by-products have no history. Evaluation is an
 * operation apart: it writes nothing, so a model can be evaluated from several threads.
 * SPDX-License-Identifier: MIT */
#include "ops/norm.h"

#include "ops/kernels/clones.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

static const ebb_attr_spec norm_options[] = NORM_SPECS(true);
static const ebb_attr_spec norm_attrs[] = NORM_SPECS(false);

enum { NORM_BLOCK = 32 }; /* channels worked on at once */

#define EBB_TYPED "ops/norm.inl"
#include "ops/kernels/typed.h"

/* ---- formulas for rules ----------------------------------------------------------------- */
/* Which axes a mean is over, and how a weight lies among them. */
typedef struct norm_axes {
    ebb_axes mean; /* kept as 1 */
    ebb_axes rest; /* what a weight's gradient is summed over; n = 0: nothing */
    ebb_shape weight;
} norm_axes;

static norm_axes channel_axes(const ebb_shape *x)
{
    norm_axes a = {.mean = {.keep = true}, .weight = *x};
    for (int64_t i = 0; i < x->n_dims; i++)
        if (i != 1) {
            a.mean.axis[a.mean.n++] = i;
            a.weight.dims[i] = 1;
        }
    a.rest = a.mean;
    a.rest.keep = false;
    return a;
}

static norm_axes row_axes(const ebb_shape *x)
{
    norm_axes a = {.mean = EBB_KEEP(-1)};
    for (int64_t i = 0; i + 1 < x->n_dims; i++) a.rest.axis[a.rest.n++] = i;
    a.weight = EBB_SHAPE(x->dims[x->n_dims - 1]);
    return a;
}

static ebb_tensor *sum_rest(ebb_vjp *v, ebb_tensor *x, const norm_axes *a)
{
    return a->rest.n ? ebb__rule_sum(v, x, a->rest) : x;
}

/* Gradients of w and b, from g and the normalised x. */
static void give_weights(ebb_vjp *v, ebb_tensor *g, ebb_tensor *xh, const norm_axes *a)
{
    if (ebb__wants(v, 1)) ebb__give(v, 1, sum_rest(v, ebb__rule_mul(v, g, xh), a));
    if (ebb__wants(v, 2)) ebb__give(v, 2, sum_rest(v, g, a));
}

/* (x - mean) * rstd with statistics given. */
static ebb_tensor *normalised(ebb_vjp *v, ebb_tensor *x, ebb_tensor *mean, ebb_tensor *rstd)
{
    return ebb__rule_mul(v, ebb__rule_sub(v, x, mean), rstd);
}

/* The whole rule from x, w and g by public operations. */
static void composed(ebb_vjp *v, const norm_axes *a, double eps)
{
    ebb_tensor *g = ebb__grad(v, 0), *xh = NULL;
    if (ebb__wants(v, 0) || ebb__wants(v, 1)) {
        ebb_tensor *x = ebb__in(v, 0);
        ebb_tensor *away = ebb__rule_sub(v, x, ebb__rule_mean(v, x, a->mean));
        ebb_tensor *var = ebb__rule_mean(v, EBB_EMIT(v, square, NULL, away), a->mean);
        ebb_tensor *rstd = EBB_EMIT(v, rsqrt, NULL, ebb__rule_shift(v, var, eps));
        xh = ebb__rule_mul(v, away, rstd);
        if (ebb__wants(v, 0)) {
            ebb_tensor *gw = g;
            if (ebb__in_dtype(v, 1))
                gw = ebb__rule_mul(v, g, ebb__rule_reshape(v, ebb__in(v, 1), a->weight));
            ebb_tensor *slope = ebb__rule_mean(v, ebb__rule_mul(v, gw, xh), a->mean);
            ebb_tensor *level = ebb__rule_sub(v, gw, ebb__rule_mean(v, gw, a->mean));
            ebb_tensor *dx = ebb__rule_sub(v, level, ebb__rule_mul(v, xh, slope));
            ebb__give(v, 0, ebb__rule_mul(v, rstd, dx));
        }
    }
    give_weights(v, g, xh, a);
}

/* The rule of the training forms: the fused gradient where x wants one. */
static void fused(ebb_vjp *v, const ebb_op *grad_op, const norm_axes *a)
{
    ebb_tensor *g = ebb__grad(v, 0), *xh = NULL;
    if (ebb__wants(v, 0)) {
        ebb_tensor *weight = ebb__in_dtype(v, 1) ? ebb__in(v, 1) : EBB_NONE, *out[3];
        ebb_tensor *in[] = {ebb__grad_last(v, 0), ebb__in(v, 0), weight, ebb__aux(v, 0),
                            ebb__aux(v, 1)};
        ebb__emit_n(v, grad_op, NULL, 5, in, 3, out);
        for (int32_t i = 0; i < 3; i++)
            if (ebb__wants(v, i)) ebb__give(v, i, out[i]);
        return;
    }
    if (ebb__wants(v, 1)) {
        ebb_shape stat = ebb__in_shape(v, 0);
        for (int64_t i = 0; i < a->mean.n; i++)
            stat.dims[(a->mean.axis[i] + stat.n_dims) % stat.n_dims] = 1;
        xh = normalised(v, ebb__in(v, 0), ebb__rule_reshape(v, ebb__aux(v, 0), stat),
                        ebb__rule_reshape(v, ebb__aux(v, 1), stat));
    }
    give_weights(v, g, xh, a);
}

/* ---- running ---------------------------------------------------------------------------- */
static ebb_status check_floats(const ebb__call *c)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
    }
    return EBB_OK;
}

/* Channels of operand i as groups of runs. */
static norm_work channels_of(const ebb__call *c, int32_t i)
{
    const ebb_shape *s = &c->in[i].shape;
    norm_work w = {
        .dtype = c->in[i].dtype, .n_runs = s->dims[0], .n_groups = s->dims[1], .run = 1};
    for (int64_t d = 2; d < s->n_dims; d++) w.run *= s->dims[d];
    w.step = w.run * w.n_groups;
    return w;
}

static norm_work rows_of(const ebb__call *c, int32_t i)
{
    const ebb_shape *s = &c->in[i].shape;
    norm_work w = {.dtype = c->in[i].dtype, .n_groups = 1, .run = s->dims[s->n_dims - 1]};
    for (int64_t d = 0; d + 1 < s->n_dims; d++) w.n_groups *= s->dims[d];
    return w;
}

static void bn_channels(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const norm_work *w = arg;
    for (; lo < hi; lo += NORM_BLOCK)
        EBB_BY_DTYPE(w->dtype, bn_block, w, lo, hi - lo < NORM_BLOCK ? hi - lo : NORM_BLOCK);
}

static void bn_grad_channels(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const norm_work *w = arg;
    for (; lo < hi; lo += NORM_BLOCK)
        EBB_BY_DTYPE(w->dtype, bn_grad_block, w, lo,
                     hi - lo < NORM_BLOCK ? hi - lo : NORM_BLOCK);
}

static void ln_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const norm_work *w = arg;
    for (int64_t i = lo; i < hi; i++) EBB_BY_DTYPE(w->dtype, ln_row, w, i);
}

static void ln_grad_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const norm_work *w = arg;
    double *dw = w->sums + 2 * (int64_t)part * w->run, *db = dw + w->run;
    if (w->run > 0) memset(dw, 0, 2 * (size_t)w->run * sizeof(double));
    for (int64_t i = lo; i < hi; i++) EBB_BY_DTYPE(w->dtype, ln_grad_row, w, i, dw, db);
}

/* ---- batch norm ------------------------------------------------------------------------- */
static ebb_status batch_norm_check(ebb__call *c)
{
    EBB_TRY(norm_check_attr(c->attr));
    EBB_TRY(check_floats(c));
    EBB_TRY(ebb__check_rank_at_least(c, 0, 2));
    for (int32_t i = 1; i < 5; i++) EBB_TRY(ebb__check_vector(c, i, c->in[0].shape.dims[1]));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}

static ebb_status batch_norm_train_shape(ebb__call *c)
{
    EBB_TRY(batch_norm_check(c));
    norm_work w = channels_of(c, 0);
    char text[EBB__SHAPE_TEXT];
    if (w.n_groups > 0 && w.n_runs * w.run < 2)
        return ebb__fail(EBB_E_SHAPE, "x is %s: training needs at least 2 values per channel",
                         ebb__shape_text(text, sizeof text, &c->in[0].shape));
    ebb_shape channels = EBB_SHAPE(w.n_groups);
    ebb__set_out(c, 1, c->in[0].dtype, &channels);
    ebb__set_out(c, 2, c->in[0].dtype, &channels);
    return EBB_OK;
}

static ebb_status batch_norm_run(const ebb__call *c, norm_work *w)
{
    const norm_attr *a = c->attr;
    w->eps = norm_eps(a);
    w->momentum = a->momentum != 0 ? a->momentum : 0.1;
    w->x = c->in[0].data, w->weight = norm_data(c, 1), w->bias = norm_data(c, 2);
    w->out = c->out[0].data;
    ebb__parallel(c->n_threads, w->n_groups, ebb__grain(w->n_runs * w->run * 3), bn_channels,
                  w);
    return EBB_OK;
}

static ebb_status batch_norm_train_forward(const ebb__call *c)
{
    norm_work w = channels_of(c, 0);
    w.mean_out = c->out[1].data, w.rstd_out = c->out[2].data;
    if (!c->recompute) {
        w.run_mean = (void *)norm_data(c, 3);
        w.run_var = (void *)norm_data(c, 4);
    }
    return batch_norm_run(c, &w);
}

static void batch_norm_train_vjp(ebb_vjp *v)
{
    ebb_shape x = ebb__in_shape(v, 0);
    norm_axes a = channel_axes(&x);
    fused(v, &ebb__op_batch_norm_grad, &a);
}

static void batch_norm_train_composed(ebb_vjp *v)
{
    ebb_shape x = ebb__in_shape(v, 0);
    norm_axes a = channel_axes(&x);
    composed(v, &a, norm_eps(v->attr));
}

#define BATCH_NORM_COMMON                                                                      \
    .n_in = 5, .n_out = 1, .arg = {"x", "w", "b", "running_mean", "running_var"},              \
    .optional = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, .attr_bytes = sizeof(norm_attr),        \
    .bound = EBB_BOUND_MEMORY, .range = {[4] = {0.5, 2, 0}}

const ebb_op ebb__op_batch_norm_train = {
    EBB_OP_HEAD(batch_norm_train),
    .doc = "batch_norm with the batch's own statistics; updates the running ones.",
    BATCH_NORM_COMMON,
    .n_aux = 2,
    .attrs = norm_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_STATEFUL | EBB_OP_OVER_FIRST,
    .writes = 1u << 3 | 1u << 4,
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_AUX(0) | EBB_NEED_AUX(1),
             EBB_NEED_IN(0) | EBB_NEED_AUX(0) | EBB_NEED_AUX(1), 0},
    .shape = batch_norm_train_shape,
    .forward = batch_norm_train_forward,
    .vjp = batch_norm_train_vjp,
    .vjp_composed = batch_norm_train_composed,
    EBB_SAMPLES({.in = {"4x3", "3", "3", "-", "-"}}, {.in = {"2x3x2x2", "3", "3", "-", "-"}},
                {.in = {"3x2x4", "-", "-", "-", "-"}, .attr = "eps=0.1"},
                {.in = {"2x1x5", "1", "-", "1", "1"}, .attr = "momentum=0.3"}),
};

static ebb_status batch_norm_eval_shape(ebb__call *c)
{
    if (!ebb__given(c, 3) || !ebb__given(c, 4))
        return ebb__fail(EBB_E_MISUSE, "inference needs running_mean and running_var");
    return batch_norm_check(c);
}

static ebb_status batch_norm_eval_forward(const ebb__call *c)
{
    norm_work w = channels_of(c, 0);
    w.is_fixed = true;
    w.mean = c->in[3].data, w.var = c->in[4].data;
    return batch_norm_run(c, &w);
}

/* With r = 1 / sqrt(var + eps): dL/dx = g w r, dL/dw = sum(g (x - mean) r), dL/db = sum(g),
 * dL/dmean = -sum(g) w r, dL/dvar = -sum(g (x - mean)) w r^3 / 2; sums over all but the
 * channels. */
static void batch_norm_eval_vjp(ebb_vjp *v)
{
    ebb_shape x = ebb__in_shape(v, 0);
    norm_axes a = channel_axes(&x);
    ebb_tensor *g = ebb__grad(v, 0), *r = NULL, *scale = NULL, *sum = NULL, *products = NULL;
    bool x_or_stats = ebb__wants(v, 0) || ebb__wants(v, 3) || ebb__wants(v, 4);
    if (x_or_stats || ebb__wants(v, 1))
        r = EBB_EMIT(v, rsqrt, NULL, ebb__rule_shift(v, ebb__in(v, 4), norm_eps(v->attr)));
    if (x_or_stats) scale = ebb__in_dtype(v, 1) ? ebb__rule_mul(v, r, ebb__in(v, 1)) : r;
    if (ebb__wants(v, 2) || ebb__wants(v, 3)) sum = sum_rest(v, g, &a);
    if (ebb__wants(v, 1) || ebb__wants(v, 4)) {
        ebb_tensor *mean = ebb__rule_reshape(v, ebb__in(v, 3), a.weight);
        ebb_tensor *away = ebb__rule_sub(v, ebb__in(v, 0), mean);
        products = sum_rest(v, ebb__rule_mul(v, g, away), &a);
    }
    if (ebb__wants(v, 0))
        ebb__give(v, 0, ebb__rule_mul(v, g, ebb__rule_reshape(v, scale, a.weight)));
    if (ebb__wants(v, 1)) ebb__give(v, 1, ebb__rule_mul(v, products, r));
    if (ebb__wants(v, 2)) ebb__give(v, 2, sum);
    if (ebb__wants(v, 3)) ebb__give(v, 3, ebb__rule_scale(v, ebb__rule_mul(v, sum, scale), -1));
    if (ebb__wants(v, 4)) {
        ebb_tensor *cube = ebb__rule_mul(v, scale, EBB_EMIT(v, square, NULL, r));
        ebb__give(v, 4, ebb__rule_scale(v, ebb__rule_mul(v, products, cube), -0.5));
    }
}

const ebb_op ebb__op_batch_norm_eval = {
    EBB_OP_HEAD(batch_norm_eval),
    .doc = "batch_norm with the running statistics.",
    BATCH_NORM_COMMON,
    .attrs = norm_attrs,
    .flags = EBB_OP_PRIVATE,
    .need = {EBB_NEED_IN(1) | EBB_NEED_IN(4), EBB_NEED_IN(0) | EBB_NEED_IN(3) | EBB_NEED_IN(4),
             0, EBB_NEED_IN(1) | EBB_NEED_IN(4),
             EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(3) | EBB_NEED_IN(4)},
    .shape = batch_norm_eval_shape,
    .forward = batch_norm_eval_forward,
    .vjp = batch_norm_eval_vjp,
    EBB_SAMPLES({.in = {"4x3", "3", "3", "3", "3"}}, {.in = {"2x3x2x2", "3", "-", "3", "3"}},
                {.in = {"1x2x4", "-", "2", "2", "2"}, .attr = "eps=0.1"},
                {.in = {"0x2x4", "2", "2", "2", "2"}}),
};

static void batch_norm_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                               int32_t n_in, const void *attr)
{
    const norm_attr *a = attr;
    const ebb_op *op = a->inference ? &ebb__op_batch_norm_eval : &ebb__op_batch_norm_train;
    out[0] = ebb__emit(v, op, attr, n_in, in);
}

const ebb_op ebb__op_batch_norm = {
    EBB_OP_HEAD(batch_norm),
    .doc = "out = (x - mean) / sqrt(var + eps) * w + b per channel (axis 1), with the batch's "
           "mean "
           "and variance; running_mean and running_var move towards them by momentum (the "
           "variance unbiased), once per call. inference: out uses the running values instead.",
    BATCH_NORM_COMMON,
    .options_bytes = sizeof(norm_attr),
    .attrs = norm_options,
    .options = "norm",
    .writes = 1u << 3 | 1u << 4,
    .compose = batch_norm_compose,
    EBB_SAMPLES({.in = {"4x3", "3", "3", "3", "3"}}, {.in = {"2x3x2x2", "3", "3", "-", "-"}},
                {.in = {"3x2x4", "2", "2", "2", "2"}, .attr = "inference=1"}),
};

static ebb_status batch_norm_grad_shape(ebb__call *c)
{
    EBB_TRY(check_floats(c));
    EBB_TRY(ebb__check_rank_at_least(c, 1, 2));
    EBB_TRY(ebb__check_shape_as(c, 0, 1));
    ebb_shape channels = EBB_SHAPE(c->in[1].shape.dims[1]);
    for (int32_t i = 2; i < 5; i++) EBB_TRY(ebb__check_vector(c, i, channels.dims[0]));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[1].shape);
    ebb__set_out(c, 1, c->in[0].dtype, &channels);
    ebb__set_out(c, 2, c->in[0].dtype, &channels);
    return EBB_OK;
}

static ebb_status batch_norm_grad_forward(const ebb__call *c)
{
    norm_work w = channels_of(c, 1);
    w.grad = c->in[0].data, w.x = c->in[1].data, w.weight = norm_data(c, 2);
    w.mean = c->in[3].data, w.rstd = c->in[4].data;
    w.out = c->out[0].data, w.dw = c->out[1].data, w.db = c->out[2].data;
    ebb__parallel(c->n_threads, w.n_groups, ebb__grain(w.n_runs * w.run * 3), bn_grad_channels,
                  &w);
    return EBB_OK;
}

#define NORM_GRAD_COMMON                                                                       \
    .n_in = 5, .n_out = 3, .arg = {"g", "x", "w", "mean", "rstd"},                             \
    .result = {"dx", "dw", "db"}, .optional = 1u << 2,                                         \
    .flags = EBB_OP_PRIVATE | EBB_OP_OVER_FIRST, .bound = EBB_BOUND_MEMORY,                    \
    .range = {[4] = {0.5, 2, 0}}

const ebb_op ebb__op_batch_norm_grad = {
    EBB_OP_HEAD(batch_norm_grad),
    .doc = "dx, dw and db of batch_norm_train; rstd is 1 / sqrt(var + eps).",
    NORM_GRAD_COMMON,
    .shape = batch_norm_grad_shape,
    .forward = batch_norm_grad_forward,
    EBB_SAMPLES({.in = {"4x3", "4x3", "3", "3", "3"}},
                {.in = {"2x3x5", "2x3x5", "-", "3", "3"}},
                {.in = {"2x1x2x2", "2x1x2x2", "1", "1", "1"}}),
};

/* ---- layer norm ------------------------------------------------------------------------- */
static ebb_status layer_norm_shape(ebb__call *c)
{
    EBB_TRY(norm_check_attr(c->attr));
    EBB_TRY(check_floats(c));
    EBB_TRY(ebb__check_rank_at_least(c, 0, 1));
    ebb_shape rows = c->in[0].shape;
    int64_t n = rows.dims[--rows.n_dims];
    for (int32_t i = 1; i < 3; i++) EBB_TRY(ebb__check_vector(c, i, n));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    ebb__set_out(c, 1, c->in[0].dtype, &rows);
    ebb__set_out(c, 2, c->in[0].dtype, &rows);
    return EBB_OK;
}

static ebb_status layer_norm_forward(const ebb__call *c)
{
    norm_work w = rows_of(c, 0);
    w.eps = norm_eps(c->attr);
    w.x = c->in[0].data, w.weight = norm_data(c, 1), w.bias = norm_data(c, 2);
    w.out = c->out[0].data, w.mean_out = c->out[1].data, w.rstd_out = c->out[2].data;
    ebb__parallel(c->n_threads, w.n_groups, ebb__grain(w.run * 3), ln_rows, &w);
    return EBB_OK;
}

static void layer_norm_vjp(ebb_vjp *v)
{
    ebb_shape x = ebb__in_shape(v, 0);
    norm_axes a = row_axes(&x);
    fused(v, &ebb__op_layer_norm_grad, &a);
}

static void layer_norm_composed(ebb_vjp *v)
{
    ebb_shape x = ebb__in_shape(v, 0);
    norm_axes a = row_axes(&x);
    composed(v, &a, norm_eps(v->attr));
}

const ebb_op ebb__op_layer_norm = {
    EBB_OP_HEAD(layer_norm),
    .doc = "out = (x - mean) / sqrt(var + eps) * w + b, mean and variance over the last axis.",
    .n_in = 3,
    .n_out = 1,
    .n_aux = 2,
    .optional = 1u << 1 | 1u << 2,
    .arg = {"x", "w", "b"},
    .attr_bytes = sizeof(norm_attr),
    .options_bytes = sizeof(norm_attr),
    .attrs = norm_options,
    .options = "norm",
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_AUX(0) | EBB_NEED_AUX(1),
             EBB_NEED_IN(0) | EBB_NEED_AUX(0) | EBB_NEED_AUX(1), 0},
    .shape = layer_norm_shape,
    .forward = layer_norm_forward,
    .vjp = layer_norm_vjp,
    .vjp_composed = layer_norm_composed,
    EBB_SAMPLES({.in = {"3x4", "4", "4"}}, {.in = {"5", "5", "-"}}, {.in = {"2x3x4", "-", "-"}},
                {.in = {"2x3x20", "20", "20"}, .attr = "eps=0.1"}, {.in = {"0x3", "3", "3"}}),
};

static ebb_status layer_norm_grad_shape(ebb__call *c)
{
    EBB_TRY(check_floats(c));
    EBB_TRY(ebb__check_rank_at_least(c, 1, 1));
    EBB_TRY(ebb__check_shape_as(c, 0, 1));
    EBB_TRY(ebb__check_shape_as(c, 4, 3));
    norm_work w = rows_of(c, 1);
    EBB_TRY(ebb__check_vector(c, 2, w.run));
    if (ebb__n_elems(&c->in[3].shape) != w.n_groups)
        return ebb__fail(EBB_E_SHAPE, "mean has %lld elements, x has %lld rows",
                         (long long)ebb__n_elems(&c->in[3].shape), (long long)w.n_groups);
    ebb_shape weight = EBB_SHAPE(w.run);
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[1].shape);
    ebb__set_out(c, 1, c->in[0].dtype, &weight);
    ebb__set_out(c, 2, c->in[0].dtype, &weight);
    int32_t n_parts = ebb__n_parts(c->n_threads, w.n_groups, ebb__grain(w.run * 4));
    c->scratch_bytes = (size_t)n_parts * 2 * (size_t)w.run * sizeof(double);
    return EBB_OK;
}

static ebb_status layer_norm_grad_forward(const ebb__call *c)
{
    norm_work w = rows_of(c, 1);
    w.grad = c->in[0].data, w.x = c->in[1].data, w.weight = norm_data(c, 2);
    w.mean = c->in[3].data, w.rstd = c->in[4].data;
    w.out = c->out[0].data, w.dw = c->out[1].data, w.db = c->out[2].data;
    w.sums = c->scratch;
    int64_t grain = ebb__grain(w.run * 4);
    ebb__parallel(c->n_threads, w.n_groups, grain, ln_grad_rows, &w);
    EBB_BY_DTYPE(w.dtype, ln_add_parts, &w, ebb__n_parts(c->n_threads, w.n_groups, grain));
    return EBB_OK;
}

const ebb_op ebb__op_layer_norm_grad = {
    EBB_OP_HEAD(layer_norm_grad),
    .doc = "dx, dw and db of layer_norm; rstd is 1 / sqrt(var + eps).",
    NORM_GRAD_COMMON,
    .shape = layer_norm_grad_shape,
    .forward = layer_norm_grad_forward,
    EBB_SAMPLES({.in = {"3x4", "3x4", "4", "3", "3"}}, {.in = {"5", "5", "-", "", ""}},
                {.in = {"2x3x4", "2x3x4", "4", "2x3", "2x3"}}),
};
