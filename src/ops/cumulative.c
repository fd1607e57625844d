/* cumulative.c - products and extremes up to each element along an axis.
 *
 * The gradient of a running product divides by nothing: it is made of sums that decay by x on
 * the way, whose own gradients are such sums, so it is exact with zeros in x in every order.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/index.h"
#include "ops/parallel.h"
#include "ops/rule.h"

static const ebb_attr_spec axis_attrs[] = {
    {"axis", EBB_ATTR_I64, 0, false, "negative: from the end"},
    {0},
};

typedef struct cumulative_work {
    const ebb__call *c;
    ebb__around around;
} cumulative_work;

#define EBB_TYPED "ops/cumulative.inl"
#include "ops/kernels/numbers.h"
#define EBB_TYPED "ops/decay.inl"
#include "ops/kernels/typed.h"

static ebb_status run_lines(const ebb__call *c, ebb__range_fn lines)
{
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis;
    EBB_TRY(ebb__axis_check(&axis, c->out[0].shape.n_dims));
    cumulative_work w = {c, ebb__around_axis(&c->out[0].shape, axis)};
    if (w.around.n == 0) return EBB_OK;
    ebb__parallel(c->n_threads, w.around.outer * w.around.inner, ebb__grain(w.around.n), lines,
                  &w);
    return EBB_OK;
}
#define LINES(name)                                                                            \
    static const ebb__range_fn name[] = {                                                      \
        [EBB_F32] = name##_f32, [EBB_F64] = name##_f64, [EBB_I64] = name##_i64,                \
        [EBB_I32] = name##_i32, [EBB_U8] = name##_u8,   [EBB_BOOL] = name##_bool}
LINES(cumprod_lines);
LINES(cummax_lines);
LINES(cummin_lines);

#define ONE_SAMPLES                                                                            \
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axis=0"}, {.in = {"3x4"}, .attr = "axis=-1"},         \
                {.in = {"2x3x4"}, .attr = "axis=1"}, {.in = {"1"}, .attr = "axis=0"},          \
                {.in = {"i64:7<4"}, .attr = "axis=0"}, {.in = {"2x0"}, .attr = "axis=1"})

/* ---- cumprod ----------------------------------------------------------------------------- */
static ebb_status check_axis(const ebb__call *c)
{
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis;
    return ebb__axis_check(&axis, c->in[0].shape.n_dims);
}
static ebb_status cumprod_shape(ebb__call *c)
{
    ebb_dtype d = c->in[0].dtype;
    EBB_TRY(check_axis(c));
    ebb__set_out(c, 0, ebb__dtype_is_float(d) ? d : EBB_I64, &c->in[0].shape);
    return EBB_OK;
}
static ebb_status cumprod_forward(const ebb__call *c)
{
    return run_lines(c, cumprod_lines[c->in[0].dtype]);
}

static int64_t axis_of(ebb_vjp *v, const ebb_shape *s)
{
    int64_t axis = ((const ebb__axis_attr *)v->attr)->axis;
    return axis < 0 ? axis + s->n_dims : axis;
}
/* x moved up by one place along the axis: 0 comes first, the last goes. */
static ebb_tensor *moved_up(ebb_vjp *v, ebb_tensor *x, const ebb_shape *s, int64_t axis)
{
    ebb__narrow_attr most = {axis, 0, s->dims[axis] - 1};
    ebb__place_attr place = {*s, axis, 1, 1};
    return EBB_EMIT(v, place, &place, EBB_EMIT(v, narrow, &most, x));
}
/* The products before each element, 1 before the first, from those up to each. */
static ebb_tensor *products_before(ebb_vjp *v, ebb_tensor *up_to, const ebb_shape *s,
                                   int64_t axis)
{
    struct {
        ebb_dtype dtype;
        ebb_shape shape;
    } first = {ebb__in_dtype(v, 0), *s};
    first.shape.dims[axis] = 1;
    ebb__narrow_attr most = {axis, 0, s->dims[axis] - 1};
    ebb_tensor *ones = ebb__emit(v, &ebb__op_ones, &first, 0, NULL);
    return EBB_EMIT(v, cat, &axis, ones, EBB_EMIT(v, narrow, &most, up_to));
}

/* dL/dx_k = (product before k) * (the sum over i >= k of g_i x_(k + 1) ... x_i). */
static void cumprod_vjp(ebb_vjp *v)
{
    ebb_shape s = ebb__in_shape(v, 0);
    int64_t axis = axis_of(v, &s);
    ebb_tensor *g = ebb__grad(v, 0);
    ebb_tensor *after = EBB_EMIT(v, decay_sum_back, &axis, g, ebb__in(v, 0));
    if (s.dims[axis] < 2)
        ebb__give(v, 0, after);
    else
        ebb__give(v, 0, ebb__rule_mul(v, after, products_before(v, ebb__out(v, 0), &s, axis)));
}

const ebb_op ebb__op_cumprod = {
    EBB_OP_HEAD(cumprod),
    .doc =
        "out[i] = x[0] * ... * x[i] along an axis; integers and bools give i64. The gradient "
        "is exact with zeros in x.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__axis_attr),
    .attrs = axis_attrs,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0) | EBB_NEED_OUT(0)},
    .shape = cumprod_shape,
    .forward = cumprod_forward,
    .vjp = cumprod_vjp,
    ONE_SAMPLES,
};

/* ---- sums that decay --------------------------------------------------------------------- */
static ebb_status decay_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(ebb__check_dtype_as(c, 1, 0));
    EBB_TRY(ebb__check_shape_as(c, 1, 0));
    EBB_TRY(check_axis(c));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}
static ebb_status decay_sum_forward(const ebb__call *c)
{
    return run_lines(c, c->in[0].dtype == EBB_F64 ? decay_up_f64 : decay_up_f32);
}
static ebb_status decay_sum_back_forward(const ebb__call *c)
{
    return run_lines(c, c->in[0].dtype == EBB_F64 ? decay_down_f64 : decay_down_f32);
}
/* The two are linear in g, each the transpose of the other; and where u and d are the sums up
 * and down, the derivative by x_m is u_(m - 1) d_m. */
static void decay_vjp(ebb_vjp *v, const ebb_op *other, bool out_is_up)
{
    ebb_shape s = ebb__in_shape(v, 0);
    int64_t axis = axis_of(v, &s);
    ebb_tensor *pair[] = {ebb__grad(v, 0), ebb__in(v, 1)};
    ebb_tensor *turned = ebb__emit(v, other, &axis, 2, pair);
    if (ebb__wants(v, 0)) ebb__give(v, 0, turned);
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *up = out_is_up ? ebb__out(v, 0) : turned;
    ebb_tensor *down = out_is_up ? turned : ebb__out(v, 0);
    if (s.dims[axis] > 0) up = moved_up(v, up, &s, axis);
    ebb__give(v, 1, ebb__rule_mul(v, up, down));
}
static void decay_sum_vjp(ebb_vjp *v)
{
    decay_vjp(v, &ebb__op_decay_sum_back, true);
}
static void decay_sum_back_vjp(ebb_vjp *v)
{
    decay_vjp(v, &ebb__op_decay_sum, false);
}

#define DECAY(op_name, text)                                                                   \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"g", "x"},                                                                     \
        .attr_bytes = sizeof(ebb__axis_attr),                                                  \
        .attrs = axis_attrs,                                                                   \
        .flags = EBB_OP_PRIVATE,                                                               \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {EBB_NEED_IN(1), EBB_NEED_IN(1) | EBB_NEED_OUT(0)},                            \
        .shape = decay_shape,                                                                  \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        EBB_SAMPLES({.in = {"3x4", "3x4"}, .attr = "axis=0"},                                  \
                    {.in = {"2x3x4", "2x3x4"}, .attr = "axis=1"},                              \
                    {.in = {"1", "1"}, .attr = "axis=0"},                                      \
                    {.in = {"2x0", "2x0"}, .attr = "axis=1"}),                                 \
    };
DECAY(decay_sum, "out[i] = g[i] + x[i] * out[i - 1] along an axis.")
DECAY(decay_sum_back,
      "out[i] = g[i] + x[i + 1] * out[i + 1] along an axis: the gradient of cumprod.")

/* ---- cummax, cummin ---------------------------------------------------------------------- */
static ebb_status extreme_shape(ebb__call *c)
{
    EBB_TRY(check_axis(c));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    ebb__set_out(c, 1, EBB_I64, &c->in[0].shape);
    return EBB_OK;
}
static ebb_status cummax_forward(const ebb__call *c)
{
    return run_lines(c, cummax_lines[c->in[0].dtype]);
}
static ebb_status cummin_forward(const ebb__call *c)
{
    return run_lines(c, cummin_lines[c->in[0].dtype]);
}
static void extreme_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    if (g == EBB_NONE) return;
    ebb__index_grad_attr attr = {.shape = ebb__in_shape(v, 0)};
    attr.axis = axis_of(v, &attr.shape);
    ebb__give(v, 0, EBB_EMIT(v, gather_grad, &attr, g, ebb__out(v, 1)));
}

#define EXTREME(op_name, text)                                                                 \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 2,                                                                            \
        .arg = {"x"},                                                                          \
        .result = {"values", "indices"},                                                       \
        .attr_bytes = sizeof(ebb__axis_attr),                                                  \
        .attrs = axis_attrs,                                                                   \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {EBB_NEED_OUT(1)},                                                             \
        .shape = extreme_shape,                                                                \
        .forward = op_name##_forward,                                                          \
        .vjp = extreme_vjp,                                                                    \
        ONE_SAMPLES,                                                                           \
    };
EXTREME(cummax,
        "The largest of x[0] to x[i] along an axis and its place (i64), of equal ones the "
        "last; NaN wins from where it stands on. Gradients go to those places.")
EXTREME(cummin,
        "The smallest of x[0] to x[i] along an axis and its place (i64), of equal ones the "
        "last; NaN wins from where it stands on. Gradients go to those places.")
