/* stats.c - variance, standard deviation, log-sum-exp; the gradients of prod and log-sum-exp.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/ids.h"
#include "ops/kernels/clones.h"
#include "ops/kernels/walk.h"
#include "ops/reduce.h"

#include <math.h>
#include <stddef.h>

typedef struct moments {
    double shift, sum, squares; /* of x - shift */
} moments;
typedef struct log_sum {
    double top, sum; /* the sum of exp(x - top) */
} log_sum;

static double ratio(double x, double top)
{
    return x == top ? 1 : exp(x - top);
}

#define EBB_TYPED "ops/stats.inl"
#include "ops/kernels/typed.h"

/* ---- var, std ---------------------------------------------------------------------------- */
typedef struct var_attr {
    bool population;
    int64_t correction;
    ebb_axes axes;
} var_attr;

static const ebb_attr_spec var_attrs[] = {
    {"population", EBB_ATTR_BOOL, offsetof(var_attr, population), true,
     "divide by n instead of n - 1"},
    {"correction", EBB_ATTR_I64, offsetof(var_attr, correction), true,
     "divide by n - correction; 0: 1, or 0 where population is set"},
    {"axes", EBB_ATTR_AXES, offsetof(var_attr, axes), false,
     "EBB_ALL, EBB_AXES(...) or EBB_KEEP(...)"},
    {0},
};

static void var_merge(void *acc_, const void *later_, int64_t m, int64_t at, int64_t n,
                      int64_t step)
{
    (void)at, (void)n, (void)step;
    moments *acc = acc_;
    const moments *later = later_;
    for (int64_t i = 0; i < m; i++) {
        acc[i].sum += later[i].sum;
        acc[i].squares += later[i].squares;
    }
}

static double correction_of(const var_attr *k)
{
    return k->correction != 0 ? (double)k->correction : k->population ? 0 : 1;
}
static double variance(const ebb__call *c, const moments *a, int64_t n)
{
    double count = (double)n, less = correction_of(c->attr);
    if (count - less <= 0) return NAN;
    double above = a->squares - a->sum * (a->sum / count);
    return (above < 0 ? 0 : above) / (count - less);
}
static void var_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        double value = variance(c, (const moments *)acc + i, n);
        ebb__reduce_finish(c, at + i, &value, 1, n);
    }
}
static void std_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        double value = sqrt(variance(c, (const moments *)acc + i, n));
        ebb__reduce_finish(c, at + i, &value, 1, n);
    }
}

static const ebb__folder var_folder[] = {
    [EBB_F32] = {sizeof(moments), var_start_f32, var_row_f32, var_cols_f32, var_merge,
                 var_finish, true},
    [EBB_F64] = {sizeof(moments), var_start_f64, var_row_f64, var_cols_f64, var_merge,
                 var_finish, true},
};
static const ebb__folder std_folder[] = {
    [EBB_F32] = {sizeof(moments), var_start_f32, var_row_f32, var_cols_f32, var_merge,
                 std_finish, true},
    [EBB_F64] = {sizeof(moments), var_start_f64, var_row_f64, var_cols_f64, var_merge,
                 std_finish, true},
};

static ebb_status float_shape(ebb__call *c, const ebb_axes *axes, const ebb__folder *folder)
{
    ebb_dtype d = c->in[0].dtype;
    if (!ebb__dtype_is_float(d))
        return ebb__fail(EBB_E_DTYPE, "x is %s, f32 or f64 is needed; cast it",
                         ebb_dtype_name(d));
    return ebb__reduce_shape(c, axes, d, ebb__folder_of(folder, d));
}
static ebb_status var_shape(ebb__call *c)
{
    return float_shape(c, &((const var_attr *)c->attr)->axes, var_folder);
}
static ebb_status var_forward(const ebb__call *c)
{
    const var_attr *k = c->attr;
    return ebb__reduce_forward(c, &k->axes, ebb__folder_of(var_folder, c->in[0].dtype));
}
static ebb_status std_forward(const ebb__call *c)
{
    const var_attr *k = c->attr;
    return ebb__reduce_forward(c, &k->axes, ebb__folder_of(std_folder, c->in[0].dtype));
}

/* The rule's x - mean(x), and n - 1 or n. */
static ebb_tensor *centred(ebb_vjp *v, double *divisor)
{
    const var_attr *k = v->attr;
    ebb_axes keep = ebb__axes_keeping(&k->axes);
    *divisor = (double)ebb__reduce_count(v, &k->axes) - correction_of(k);
    ebb_tensor *x = ebb__in(v, 0);
    return EBB_EMIT(v, sub, NULL, x, EBB_EMIT(v, mean, &keep, x));
}
/* d var / dx = 2 (x - mean) / (n - 1). */
static void var_vjp(ebb_vjp *v)
{
    const var_attr *k = v->attr;
    double divisor;
    ebb_tensor *d = centred(v, &divisor), *g = ebb__reduce_keep(v, ebb__grad(v, 0), &k->axes);
    double factor = divisor > 0 ? 2 / divisor : NAN;
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, d, EBB_EMIT(v, mul_scalar, &factor, g)));
}
/* d std / dx = (x - mean) / ((n - 1) std), 0 where std is 0. */
static void std_vjp(ebb_vjp *v)
{
    const var_attr *k = v->attr;
    double divisor;
    ebb_tensor *d = centred(v, &divisor), *g = ebb__reduce_keep(v, ebb__grad(v, 0), &k->axes);
    ebb_tensor *y = ebb__reduce_keep(v, ebb__out(v, 0), &k->axes);
    double factor = divisor > 0 ? 1 / divisor : NAN;
    ebb_tensor *slope = EBB_EMIT(v, div, NULL, EBB_EMIT(v, mul_scalar, &factor, g), y);
    ebb_tensor *flat = EBB_EMIT(v, logical_not, NULL, y);
    slope = EBB_EMIT(v, masked_fill, &(double){0}, slope, flat);
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, d, slope));
}

#define SPREAD(op_name, need_bits, text)                                                       \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .attr_bytes = sizeof(var_attr),                                                        \
        .options_bytes = offsetof(var_attr, axes),                                             \
        .attrs = var_attrs,                                                                    \
        .options = "var",                                                                      \
        .flags = EBB_OP_STRIDED,                                                               \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_bits},                                                                   \
        .shape = var_shape,                                                                    \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        EBB_SAMPLES({.in = {"3x4"}, .attr = "axes=0"},                                         \
                    {.in = {"3x4"}, .attr = "axes=-1 keep=1 population=1"},                    \
                    {.in = {"2x3x4"}, .attr = "axes=0,2"},                                     \
                    {.in = {"5"}, .attr = "axes=all correction=2"},                            \
                    {.in = {"0x3"}, .attr = "axes=1"}),                                        \
    };
SPREAD(var, EBB_NEED_IN(0),
       "Variance over axes: sum((x - mean)^2) / (n - 1), or / n; NaN where that divides by 0.")
SPREAD(std, EBB_NEED_IN(0) | EBB_NEED_OUT(0),
       "Standard deviation over axes: the square root of var; its gradient is 0 where it is 0.")

/* ---- logsumexp --------------------------------------------------------------------------- */
static void lse_merge(void *acc_, const void *later_, int64_t m, int64_t at, int64_t n,
                      int64_t step)
{
    (void)at, (void)n, (void)step;
    log_sum *acc = acc_;
    const log_sum *later = later_;
    for (int64_t i = 0; i < m; i++) {
        double top = acc[i].top > later[i].top ? acc[i].top : later[i].top;
        double sum =
            acc[i].sum * ratio(acc[i].top, top) + later[i].sum * ratio(later[i].top, top);
        acc[i] = (log_sum){top, sum};
    }
}
static void lse_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        const log_sum *a = (const log_sum *)acc + i;
        double value = a->top + log(a->sum);
        ebb__reduce_finish(c, at + i, &value, 1, n);
    }
}

static const ebb__folder lse_folder[] = {
    [EBB_F32] = {sizeof(log_sum), lse_start_f32, lse_row_f32, lse_cols_f32, lse_merge,
                 lse_finish, false},
    [EBB_F64] = {sizeof(log_sum), lse_start_f64, lse_row_f64, lse_cols_f64, lse_merge,
                 lse_finish, false},
};

static ebb_status logsumexp_shape(ebb__call *c)
{
    return float_shape(c, c->attr, lse_folder);
}
static ebb_status logsumexp_forward(const ebb__call *c)
{
    return ebb__reduce_forward(c, c->attr, ebb__folder_of(lse_folder, c->in[0].dtype));
}
static void logsumexp_vjp(ebb_vjp *v)
{
    ebb_axes axes = ebb__axes_keeping(v->attr);
    ebb_tensor *g = ebb__reduce_keep(v, ebb__grad(v, 0), v->attr);
    ebb__give(v, 0, EBB_EMIT(v, logsumexp_grad, &axes, g, ebb__in(v, 0)));
}

const ebb_op ebb__op_logsumexp = {
    EBB_OP_HEAD(logsumexp),
    .doc = "ln(sum(exp(x))) over axes without overflow; -inf of nothing.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_axes),
    .attrs = ebb__axes_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_PROMOTES | EBB_OP_FLOATS,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0)},
    .shape = logsumexp_shape,
    .forward = logsumexp_forward,
    .vjp = logsumexp_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axes=0"}, {.in = {"3x4"}, .attr = "axes=-1 keep=1"},
                {.in = {"2x3x4"}, .attr = "axes=0,2"}, {.in = {"2x3x4"}, .attr = "axes=all"},
                {.in = {""}, .attr = "axes=all"}, {.in = {"0x3"}, .attr = "axes=1"}),
};

/* ---- gradients that see all elements of a reduction -------------------------------------- */
/* g has size 1 along the reduced axes of x, and both are contiguous. */
static ebb_status spread_shape(ebb__call *c)
{
    bool reduced[EBB_MAX_DIMS];
    ebb_shape kept;
    const ebb_axes *axes = c->attr;
    EBB_TRY(ebb__axes_resolve(reduced, axes, c->in[1].shape.n_dims));
    EBB_TRY(ebb__axes_shape(&kept, &c->in[1].shape, reduced, true));
    if (!ebb__shape_equal(&kept, &c->in[0].shape) || c->in[0].dtype != c->in[1].dtype ||
        !ebb__dtype_is_float(c->in[0].dtype))
        return ebb__fail(EBB_E_SHAPE, "g and x must be f32 or f64, g of x's reduced shape");
    c->out[0].dtype = c->in[1].dtype;
    c->out[0].shape = c->in[1].shape;
    return EBB_OK;
}

#define SPREAD_FORWARD(name, kernel)                                                           \
    static ebb_status name##_forward(const ebb__call *c)                                       \
    {                                                                                          \
        bool is_reduced[EBB_MAX_DIMS];                                                         \
        ebb__walk kept, reduced;                                                               \
        ebb_view x = c->in[1];                                                                 \
        EBB_TRY(ebb__axes_resolve(is_reduced, c->attr, x.shape.n_dims));                       \
        ebb__view_contiguous(&x);                                                              \
        ebb__walk_split(&kept, &reduced, &x, is_reduced);                                      \
        for (int64_t i = 0; i < kept.n; i++) {                                                 \
            int64_t at = ebb__walk_offset(&kept, i);                                           \
            if (x.dtype == EBB_F32)                                                            \
                kernel##_f32((float *)c->out[0].data + at, (const float *)x.data + at,         \
                             ((const float *)c->in[0].data)[i], &reduced);                     \
            else                                                                               \
                kernel##_f64((double *)c->out[0].data + at, (const double *)x.data + at,       \
                             ((const double *)c->in[0].data)[i], &reduced);                    \
        }                                                                                      \
        return EBB_OK;                                                                         \
    }
SPREAD_FORWARD(logsumexp_grad, lse_grad)
SPREAD_FORWARD(prod_grad, prod_grad)

/* The gradient with g = 1, whose products with g the rules are made of. */
static ebb_tensor *unit(ebb_vjp *v, const ebb_op *op)
{
    struct {
        ebb_dtype dtype;
        ebb_shape shape;
    } like = {ebb__in_dtype(v, 0), ebb__in_shape(v, 0)};
    ebb_tensor *one = ebb__emit(v, &ebb__op_ones, &like, 0, NULL);
    return ebb__emit(v, op, v->attr, 2, (ebb_tensor *[]){one, ebb__in(v, 1)});
}

/* s = softmax(x): out = g s, so dg = sum(h s), dx = g s (h - sum(h s)). */
static void logsumexp_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *s = unit(v, &ebb__op_logsumexp_grad);
    ebb_tensor *dot = EBB_EMIT(v, sum, v->attr, EBB_EMIT(v, mul, NULL, h, s));
    if (ebb__wants(v, 0)) ebb__give(v, 0, dot);
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *gs = EBB_EMIT(v, mul, NULL, ebb__in(v, 0), s);
    ebb__give(v, 1, EBB_EMIT(v, mul, NULL, gs, EBB_EMIT(v, sub, NULL, h, dot)));
}

/* ---- the gradient of prod_grad ------------------------------------------------------------ */
/* p_i, the product of x but x_i, is b_i a_i: the products before and after i. Divided by is
 * nothing, so zeros in x are exact. The reduced axes are one here, `axis` of shape s. */
typedef struct line {
    ebb_shape s;
    int64_t axis;
} line;

static ebb_tensor *turned(ebb_vjp *v, const line *l, ebb_tensor *x)
{
    ebb_axes axes = {.n = 1, .axis = {l->axis}};
    return EBB_EMIT(v, flip, &axes, x);
}
/* The products before each element; 1 before the first. */
static ebb_tensor *before_each(ebb_vjp *v, const line *l, ebb_tensor *x)
{
    struct {
        ebb_dtype dtype;
        ebb_shape shape;
    } first = {ebb__in_dtype(v, 0), l->s};
    first.shape.dims[l->axis] = 1;
    ebb__narrow_attr most = {l->axis, 0, l->s.dims[l->axis] - 1};
    ebb_tensor *up_to = EBB_EMIT(v, cumprod, &l->axis, EBB_EMIT(v, narrow, &most, x));
    return EBB_EMIT(v, cat, &l->axis, ebb__emit(v, &ebb__op_ones, &first, 0, NULL), up_to);
}
/* The gradient of x in sum(u before(x)): before_j times the sum over k > j of u_k times the
 * elements between j and k. */
static ebb_tensor *before_back(ebb_vjp *v, const line *l, ebb_tensor *u, ebb_tensor *x,
                               ebb_tensor *before)
{
    ebb__narrow_attr later = {l->axis, 1, l->s.dims[l->axis] - 1};
    ebb__place_attr place = {l->s, l->axis, 0, 1};
    ebb_tensor *next = EBB_EMIT(v, place, &place, EBB_EMIT(v, narrow, &later, u));
    return EBB_EMIT(v, mul, NULL, before, EBB_EMIT(v, decay_sum_back, &l->axis, next, x));
}
static ebb_tensor *prod_curve(ebb_vjp *v, const line *l, ebb_tensor *c, ebb_tensor *x)
{
    ebb_tensor *back = turned(v, l, x);
    ebb_tensor *before = before_each(v, l, x), *after = before_each(v, l, back);
    ebb_tensor *u = EBB_EMIT(v, mul, NULL, c, turned(v, l, after));
    ebb_tensor *w = turned(v, l, EBB_EMIT(v, mul, NULL, c, before));
    ebb_tensor *one = before_back(v, l, u, x, before);
    return EBB_EMIT(v, add, NULL, one, turned(v, l, before_back(v, l, w, back, after)));
}

/* With out = g p and the cotangent h: dg = sum(h p); dx is that of sum(c p), c = g h. Several
 * axes are put last and made one. */
static void prod_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) {
        ebb_tensor *hp = EBB_EMIT(v, mul, NULL, h, unit(v, &ebb__op_prod_grad));
        ebb__give(v, 0, EBB_EMIT(v, sum, v->attr, hp));
    }
    if (!ebb__wants(v, 1)) return;
    bool reduced[EBB_MAX_DIMS];
    ebb_shape s = ebb__in_shape(v, 1);
    ebb_tensor *x = ebb__in(v, 1), *c = EBB_EMIT(v, mul, NULL, ebb__in(v, 0), h);
    if (ebb__axes_resolve(reduced, v->attr, s.n_dims) != EBB_OK) return;
    ebb_axes order = {0}, inverse = {.n = s.n_dims};
    line l = {.s = {0}};
    int64_t n = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t d = 0; d < s.n_dims; d++) {
            if (reduced[d] != (pass == 1)) continue;
            inverse.axis[d] = order.n;
            order.axis[order.n++] = d;
            if (pass == 1)
                n *= s.dims[d];
            else
                l.s.dims[l.s.n_dims++] = s.dims[d];
        }
    l.axis = l.s.n_dims;
    l.s.dims[l.s.n_dims++] = n;
    ebb_shape split = {.n_dims = s.n_dims};
    for (int64_t d = 0; d < s.n_dims; d++) split.dims[d] = s.dims[order.axis[d]];
    if (n < 2) { /* p is 1 everywhere */
        ebb__give(v, 1, EBB_EMIT(v, full_like, &(double){0}, x));
        return;
    }
    ebb_tensor *moved[2] = {c, x};
    for (int i = 0; i < 2; i++)
        moved[i] = EBB_EMIT(v, reshape, &l.s, EBB_EMIT(v, permute, &order, moved[i]));
    ebb_tensor *dx = EBB_EMIT(v, reshape, &split, prod_curve(v, &l, moved[0], moved[1]));
    ebb__give(v, 1, EBB_EMIT(v, permute, &inverse, dx));
}

#define SPREAD_GRAD(op_name, text)                                                             \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"g", "x"},                                                                     \
        .attr_bytes = sizeof(ebb_axes),                                                        \
        .attrs = ebb__axes_attrs,                                                              \
        .flags = EBB_OP_PRIVATE,                                                               \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},                             \
        .shape = spread_shape,                                                                 \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {{-2, 2, 0}, {0.4, 2, 0}},                                                    \
        EBB_SAMPLES({.in = {"1x4", "3x4"}, .attr = "axes=0 keep=1"},                           \
                    {.in = {"3x1", "3x4"}, .attr = "axes=-1 keep=1"},                          \
                    {.in = {"1x3x1", "2x3x4"}, .attr = "axes=0,2 keep=1"},                     \
                    {.in = {"0x1", "0x3"}, .attr = "axes=1 keep=1"}),                          \
    };
SPREAD_GRAD(logsumexp_grad, "out = g * softmax(x) over the axes; 0 where all of x is -inf.")
SPREAD_GRAD(prod_grad, "out[i] = g * (product of all x but x[i]) over the axes.")
