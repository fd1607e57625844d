/* rms_norm.c - normalisation by the root mean square of a row, and by the squares of
 * neighbouring channels.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/clones.h"
#include "ops/norm.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct rms_attr {
    double eps;
} rms_attr;
static const ebb_attr_spec rms_attrs[] = {
    {"eps", EBB_ATTR_F64, offsetof(rms_attr, eps), true, "0: the element type's epsilon"}, {0}};

typedef struct rms_work {
    ebb_dtype dtype;
    int64_t n_rows, n;
    const void *x, *weight, *rstd, *grad;
    void *out, *rstd_out, *dw;
    double eps, *sums;
} rms_work;

#define EBB_TYPED "ops/rms_norm.inl"
#include "ops/kernels/typed.h"

static double rms_eps(const rms_attr *a, ebb_dtype dtype)
{
    if (a->eps != 0) return a->eps;
    return dtype == EBB_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

static rms_work work_of(const ebb_view *x)
{
    rms_work w = {
        .dtype = x->dtype, .n_rows = 1, .n = x->shape.dims[x->shape.n_dims - 1], .x = x->data};
    for (int64_t i = 0; i + 1 < x->shape.n_dims; i++) w.n_rows *= x->shape.dims[i];
    return w;
}

static void rms_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const rms_work *w = arg;
    for (int64_t i = lo; i < hi; i++) EBB_BY_DTYPE(w->dtype, rms_row, w, i);
}

static void rms_grad_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const rms_work *w = arg;
    double *dw = w->sums + (int64_t)part * w->n;
    if (w->n > 0) memset(dw, 0, (size_t)w->n * sizeof(double));
    for (int64_t i = lo; i < hi; i++) EBB_BY_DTYPE(w->dtype, rms_grad_row, w, i, dw);
}

static ebb_status rms_norm_shape(ebb__call *c)
{
    const rms_attr *a = c->attr;
    if (!(a->eps >= 0)) return ebb__fail(EBB_E_RANGE, "eps is %g, it must be positive", a->eps);
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(ebb__check_dtype_as(c, 1, 0));
    EBB_TRY(ebb__check_rank_at_least(c, 0, 1));
    ebb_shape rows = c->in[0].shape;
    EBB_TRY(ebb__check_vector(c, 1, rows.dims[rows.n_dims - 1]));
    rows.n_dims--;
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    ebb__set_out(c, 1, c->in[0].dtype, &rows);
    return EBB_OK;
}

static ebb_status rms_norm_forward(const ebb__call *c)
{
    rms_work w = work_of(&c->in[0]);
    w.eps = rms_eps(c->attr, w.dtype);
    w.weight = norm_data(c, 1);
    w.out = c->out[0].data, w.rstd_out = c->out[1].data;
    ebb__parallel(c->n_threads, w.n_rows, ebb__grain(w.n * 2), rms_rows, &w);
    return EBB_OK;
}

/* dw from g and the normalised x. */
static void give_weight(ebb_vjp *v, ebb_tensor *g, ebb_tensor *xh)
{
    ebb_axes rest = {.n = ebb__in_shape(v, 0).n_dims - 1};
    for (int64_t i = 0; i < rest.n; i++) rest.axis[i] = i;
    ebb_tensor *product = ebb__rule_mul(v, g, xh);
    ebb__give(v, 1, rest.n ? ebb__rule_sum(v, product, rest) : product);
}

static void rms_norm_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) {
        ebb_tensor *weight = ebb__in_dtype(v, 1) ? ebb__in(v, 1) : EBB_NONE, *out[2];
        ebb_tensor *in[] = {g, ebb__in(v, 0), weight, ebb__aux(v, 0)};
        ebb__emit_n(v, &ebb__op_rms_norm_grad, NULL, 4, in, 2, out);
        for (int32_t i = 0; i < 2; i++)
            if (ebb__wants(v, i)) ebb__give(v, i, out[i]);
    } else if (ebb__wants(v, 1)) {
        ebb_shape stat = ebb__in_shape(v, 0);
        stat.dims[stat.n_dims - 1] = 1;
        ebb_tensor *rstd = ebb__rule_reshape(v, ebb__aux(v, 0), stat);
        give_weight(v, g, ebb__rule_mul(v, ebb__in(v, 0), rstd));
    }
}

/* dx = r * (gw - xh * mean(gw * xh)), from x, w and g by public operations. */
static void rms_norm_composed(ebb_vjp *v)
{
    if (!ebb__wants(v, 0) && !ebb__wants(v, 1)) return;
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0);
    ebb_axes last = EBB_KEEP(-1);
    ebb_tensor *square = ebb__rule_mean(v, EBB_EMIT(v, square, NULL, x), last);
    double eps = rms_eps(v->attr, ebb__in_dtype(v, 0));
    ebb_tensor *rstd = EBB_EMIT(v, rsqrt, NULL, ebb__rule_shift(v, square, eps));
    ebb_tensor *xh = ebb__rule_mul(v, x, rstd);
    if (ebb__wants(v, 0)) {
        ebb_tensor *gw = ebb__in_dtype(v, 1) ? ebb__rule_mul(v, g, ebb__in(v, 1)) : g;
        ebb_tensor *slope = ebb__rule_mean(v, ebb__rule_mul(v, gw, xh), last);
        ebb_tensor *dx = ebb__rule_sub(v, gw, ebb__rule_mul(v, xh, slope));
        ebb__give(v, 0, ebb__rule_mul(v, rstd, dx));
    }
    if (ebb__wants(v, 1)) give_weight(v, g, xh);
}

const ebb_op ebb__op_rms_norm = {
    EBB_OP_HEAD(rms_norm),
    .doc = "out = x / sqrt(mean(x^2) + eps) * w, the mean over the last axis.",
    .n_in = 2,
    .n_out = 1,
    .n_aux = 1,
    .optional = 1u << 1,
    .arg = {"x", "w"},
    .attr_bytes = sizeof(rms_attr),
    .options_bytes = sizeof(rms_attr),
    .attrs = rms_attrs,
    .options = "rms_norm",
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_AUX(0),
             EBB_NEED_IN(0) | EBB_NEED_AUX(0)},
    .shape = rms_norm_shape,
    .forward = rms_norm_forward,
    .vjp = rms_norm_vjp,
    .vjp_composed = rms_norm_composed,
    EBB_SAMPLES({.in = {"3x4", "4"}}, {.in = {"5", "5"}}, {.in = {"2x3x4", "-"}},
                {.in = {"2x3x20", "20"}, .attr = "eps=0.1"},
                {.in = {"2x1", "1"}, .attr = "eps=0.1"}, {.in = {"0x3", "3"}}),
};

static ebb_status rms_norm_grad_shape(ebb__call *c)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
    }
    EBB_TRY(ebb__check_rank_at_least(c, 1, 1));
    EBB_TRY(ebb__check_shape_as(c, 0, 1));
    rms_work w = work_of(&c->in[1]);
    EBB_TRY(ebb__check_vector(c, 2, w.n));
    if (ebb__n_elems(&c->in[3].shape) != w.n_rows)
        return ebb__fail(EBB_E_SHAPE, "rstd has %lld elements, x has %lld rows",
                         (long long)ebb__n_elems(&c->in[3].shape), (long long)w.n_rows);
    ebb_shape weight = EBB_SHAPE(w.n);
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[1].shape);
    ebb__set_out(c, 1, c->in[0].dtype, &weight);
    int32_t n_parts = ebb__n_parts(c->n_threads, w.n_rows, ebb__grain(w.n * 3));
    c->scratch_bytes = (size_t)n_parts * (size_t)w.n * sizeof(double);
    return EBB_OK;
}

static ebb_status rms_norm_grad_forward(const ebb__call *c)
{
    rms_work w = work_of(&c->in[1]);
    w.grad = c->in[0].data, w.weight = norm_data(c, 2), w.rstd = c->in[3].data;
    w.out = c->out[0].data, w.dw = c->out[1].data, w.sums = c->scratch;
    int64_t grain = ebb__grain(w.n * 3);
    ebb__parallel(c->n_threads, w.n_rows, grain, rms_grad_rows, &w);
    EBB_BY_DTYPE(w.dtype, rms_add_parts, &w, ebb__n_parts(c->n_threads, w.n_rows, grain));
    return EBB_OK;
}

const ebb_op ebb__op_rms_norm_grad = {
    EBB_OP_HEAD(rms_norm_grad),
    .doc = "dx and dw of rms_norm; rstd is 1 / sqrt(mean(x^2) + eps).",
    .n_in = 4,
    .n_out = 2,
    .arg = {"g", "x", "w", "rstd"},
    .result = {"dx", "dw"},
    .optional = 1u << 2,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .range = {[3] = {0.5, 2, 0}},
    .shape = rms_norm_grad_shape,
    .forward = rms_norm_grad_forward,
    EBB_SAMPLES({.in = {"3x4", "3x4", "4", "3"}}, {.in = {"5", "5", "-", ""}},
                {.in = {"2x3x4", "2x3x4", "4", "2x3"}}),
};

/* ---- local response norm ---------------------------------------------------------------- */
typedef struct response_attr {
    double alpha, beta, k;
    int64_t size;
} response_attr;
static const ebb_attr_spec response_attrs[] = {
    {"alpha", EBB_ATTR_F64, offsetof(response_attr, alpha), true, "0: 1e-4"},
    {"beta", EBB_ATTR_F64, offsetof(response_attr, beta), true, "0: 0.75"},
    {"k", EBB_ATTR_F64, offsetof(response_attr, k), true, "0: 1"},
    {"size", EBB_ATTR_I64, offsetof(response_attr, size), false, "neighbouring channels"},
    {0}};

/* The mean of y (n, c, ...) over `size` channels around each, zeros outside. */
static ebb_tensor *channel_means(ebb_vjp *v, ebb_tensor *y, const ebb_shape *x, int64_t size)
{
    int64_t places = 1, half = size / 2, channels = x->dims[1];
    for (int64_t i = 2; i < x->n_dims; i++) places *= x->dims[i];
    y = ebb__rule_reshape(v, y, EBB_SHAPE(x->dims[0], 1, channels, places));
    /* avg_pool2d: stride, padding, divisor, flags, kernel. */
    int64_t attr[8] = {1, 1, half, 0, size, 0, size, 1};
    y = EBB_EMIT(v, avg_pool2d, attr, y);
    if (size % 2 == 0) {
        int64_t narrow[3] = {2, 0, channels};
        y = EBB_EMIT(v, narrow, narrow, y);
    }
    return ebb__rule_reshape(v, y, *x);
}

static void response_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                             const void *attr)
{
    (void)n_in;
    const response_attr *a = attr;
    ebb_shape x = ebb_shape_get(in[0]);
    char text[EBB__SHAPE_TEXT];
    if (x.n_dims < 3) {
        v->status = ebb__fail(EBB_E_SHAPE, "x must have at least 3 dimensions, it is %s",
                              ebb__shape_text(text, sizeof text, &x));
        return;
    }
    if (a->size < 1 || a->size > INT32_MAX / 2) {
        v->status = ebb__fail(EBB_E_RANGE, "size is %lld, it must be in [1, %d]",
                              (long long)a->size, INT32_MAX / 2);
        return;
    }
    if (ebb__n_elems(&x) == 0) {
        out[0] = EBB_EMIT(v, clone, NULL, in[0]);
        return;
    }
    ebb_tensor *wide = ebb__rule_wide(v, in[0]);
    ebb_tensor *mean = channel_means(v, EBB_EMIT(v, square, NULL, wide), &x, a->size);
    double alpha = a->alpha != 0 ? a->alpha : 1e-4, power = -(a->beta != 0 ? a->beta : 0.75);
    mean = ebb__rule_shift(v, ebb__rule_scale(v, mean, alpha), a->k != 0 ? a->k : 1);
    ebb_tensor *y = ebb__rule_mul(v, wide, EBB_EMIT(v, pow_scalar, &power, mean));
    out[0] = ebb__rule_narrow(v, y, ebb_dtype_of(in[0]));
}

const ebb_op ebb__op_local_response_norm = {
    EBB_OP_HEAD(local_response_norm),
    .doc = "out = x / (k + alpha * m)^beta, m the mean of x^2 over `size` channels around each "
           "(axis 1), zeros outside.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(response_attr),
    .options_bytes = offsetof(response_attr, size),
    .attrs = response_attrs,
    .options = "local_response_norm",
    .bound = EBB_BOUND_MEMORY,
    .compose = response_compose,
    EBB_SAMPLES({.in = {"2x5x3x2"}, .attr = "size=3 alpha=0.5"},
                {.in = {"1x4x3"}, .attr = "size=2 alpha=1 beta=0.5 k=2"},
                {.in = {"1x1x1"}, .attr = "size=1"},
                {.in = {"2x3x2"}, .attr = "size=4 alpha=0.3"},
                {.in = {"2x3x0"}, .attr = "size=3"}),
};
