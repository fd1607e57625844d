/* vector_norm.c - norms over axes: p = 2 as a kernel of its own, every other p as a formula.
 *
 * Where a norm has no derivative (the origin; for p <= 1 any coordinate that is 0) its gradient
 * is 0, the shortest of the subgradients, in every order.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/kernels/clones.h"
#include "ops/kernels/map.h"
#include "ops/kernels/vmath.h"
#include "ops/operand.h"
#include "ops/reduce.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <stddef.h>

/* ---- p = 2 ------------------------------------------------------------------------------- */
/* Sums of squares of scaled small, of middle and of scaled big elements, none of which over- or
 * underflows: J. L. Blue, A portable Fortran program to find the Euclidean norm (1978), with
 * the limits for f64 of Anderson (2017), Algorithm 978. */
typedef struct squares {
    double small, middle, big;
} squares;
#define SMALL_BELOW 0x1p-511
#define BIG_ABOVE 0x1p486
#define SMALL_SCALE 0x1p537
#define BIG_SCALE 0x1p-538

static inline void add_square(squares *s, double x)
{
    const double a = fabs(x);
    if (a > BIG_ABOVE)
        s->big += (a * BIG_SCALE) * (a * BIG_SCALE);
    else if (a < SMALL_BELOW)
        s->small += (a * SMALL_SCALE) * (a * SMALL_SCALE);
    else
        s->middle += a * a;
}

#define EBB_TYPED "ops/vector_norm.inl"
#include "ops/kernels/typed.h"

static void squares_merge(void *acc_, const void *later_, int64_t m, int64_t at, int64_t n,
                          int64_t step)
{
    (void)at, (void)n, (void)step;
    squares *acc = acc_;
    const squares *later = later_;
    for (int64_t i = 0; i < m; i++) {
        acc[i].small += later[i].small;
        acc[i].middle += later[i].middle;
        acc[i].big += later[i].big;
    }
}

static double root_of(const squares *s)
{
    if (s->big != 0) return sqrt(s->big + s->middle * BIG_SCALE * BIG_SCALE) / BIG_SCALE;
    if (s->small == 0) return sqrt(s->middle);
    const double a = sqrt(s->middle), b = sqrt(s->small) / SMALL_SCALE;
    if (a == 0) return b;
    return a > b ? a * sqrt(1 + (b / a) * (b / a)) : b * sqrt(1 + (a / b) * (a / b));
}
static void norm_2_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        double value = root_of((const squares *)acc + i);
        ebb__reduce_finish(c, at + i, &value, 1, n);
    }
}

static const ebb__folder norm_2_folder[] = {
    [EBB_F32] = {sizeof(squares), squares_start_f32, squares_row_f32, squares_cols_f32,
                 squares_merge, norm_2_finish, false},
    [EBB_F64] = {sizeof(squares), squares_start_f64, squares_row_f64, squares_cols_f64,
                 squares_merge, norm_2_finish, false},
};

static ebb_status norm_2_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_float(c, 0));
    return ebb__reduce_shape(c, c->attr, c->in[0].dtype, &norm_2_folder[EBB_F64]);
}
static ebb_status norm_2_forward(const ebb__call *c)
{
    return ebb__reduce_forward(c, c->attr, &norm_2_folder[c->in[0].dtype]);
}
static void norm_2_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__reduce_keep(v, ebb__grad(v, 0), v->attr);
    ebb_tensor *y = ebb__reduce_keep(v, ebb__out(v, 0), v->attr);
    ebb__give(v, 0, EBB_EMIT(v, mul_div, NULL, g, ebb__in(v, 0), y));
}

const ebb_op ebb__op_norm_2 = {
    EBB_OP_HEAD(norm_2),
    .doc = "The square root of the sum of squares over axes, without overflow.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_axes),
    .attrs = ebb__axes_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0) | EBB_NEED_OUT(0)},
    .shape = norm_2_shape,
    .forward = norm_2_forward,
    .vjp = norm_2_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axes=0"}, {.in = {"3x4"}, .attr = "axes=-1 keep=1"},
                {.in = {"2x3x4"}, .attr = "axes=0,2"}, {.in = {"2x3x4"}, .attr = "axes=all"},
                {.in = {"300x301"}, .attr = "axes=0"}, {.in = {"90001"}, .attr = "axes=all"},
                {.in = {"0x3"}, .attr = "axes=1"}),
};

/* ---- powers of sizes --------------------------------------------------------------------- */
/* |x|^q and sign(x) |x|^q: each is q times the other's derivative, one power lower. At 0 both
 * are 0 for every q but |0|^0 = 1: that is what makes the gradients above 0 there. */
typedef struct power_attr {
    double q;
} power_attr;
static const ebb_attr_spec power_attrs[] = {
    {"q", EBB_ATTR_F64, offsetof(power_attr, q), false, "the power"}, {0}};

EBB_MAP_ROWS(1, abs_pow, FLOAT, EBB_SAME, x == 0 ? a == 0 : EBB_POW(EBB_FABS(x), a))
EBB_MAP_ROWS(1, sign_pow, FLOAT, EBB_SAME, x == 0 ? 0 : x < 0 ? -EBB_POW(-x, a) : EBB_POW(x, a))

static ebb_status abs_pow_forward(const ebb__call *c)
{
    const double p[2] = {((const power_attr *)c->attr)->q};
    return ebb__map(c, abs_pow_rows[c->in[0].dtype], p);
}
static ebb_status sign_pow_forward(const ebb__call *c)
{
    const double p[2] = {((const power_attr *)c->attr)->q};
    return ebb__map(c, sign_pow_rows[c->in[0].dtype], p);
}
static void power_vjp(ebb_vjp *v, const ebb_op *other)
{
    double q = ((const power_attr *)v->attr)->q, less = q - 1;
    ebb_tensor *x = ebb__in(v, 0), *slope = ebb__emit(v, other, &less, 1, &x);
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), ebb__rule_scale(v, slope, q)));
}
static void abs_pow_vjp(ebb_vjp *v)
{
    power_vjp(v, &ebb__op_sign_pow);
}
static void sign_pow_vjp(ebb_vjp *v)
{
    power_vjp(v, &ebb__op_abs_pow);
}

#define POWER(op_name, text)                                                                   \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .attr_bytes = sizeof(power_attr),                                                      \
        .attrs = power_attrs,                                                                  \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_PRIVATE,                          \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {EBB_NEED_IN(0)},                                                              \
        .shape = ebb__shape_floats,                                                            \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {{0.3, 2, 0}},                                                                \
        EBB_SAMPLES({.in = {"3x4"}, .attr = "q=3"}, {.in = {"5"}, .attr = "q=0.5"},            \
                    {.in = {""}, .attr = "q=-1"}, {.in = {"0x3"}, .attr = "q=2"}),             \
    };
POWER(abs_pow, "out = |x|^q; 0 at 0 for every q but 0.")
POWER(sign_pow, "out = sign(x) |x|^q; 0 at 0.")

/* ---- norm -------------------------------------------------------------------------------- */
typedef struct vector_norm_attr {
    double p;
    ebb_axes axes;
} vector_norm_attr;
static const ebb_attr_spec vector_norm_attrs[] = {
    {"p", EBB_ATTR_F64, offsetof(vector_norm_attr, p), false,
     "2, 1, INFINITY, -INFINITY, 0 or any other number"},
    {"axes", EBB_ATTR_AXES, offsetof(vector_norm_attr, axes), false,
     "EBB_ALL, EBB_AXES(...) or EBB_KEEP(...)"},
    {0},
};

/* For p < 0 abs_pow has 0 where the power is infinite: the norm is 0 where any element is 0, and
 * infinite where all are (or there are none). Both are flat. */
static ebb_tensor *poles(ebb_vjp *v, ebb_tensor *y, ebb_tensor *total, ebb_tensor *x,
                         const ebb_axes *axes)
{
    double zero = 0, infinity = INFINITY;
    ebb_tensor *no_sum = EBB_EMIT(v, logical_not, NULL, total);
    y = EBB_EMIT(v, masked_fill, &infinity, y, no_sum);
    ebb_tensor *has_zero = EBB_EMIT(v, any, axes, EBB_EMIT(v, logical_not, NULL, x));
    return EBB_EMIT(v, masked_fill, &zero, y, has_zero);
}

static void norm_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in;
    const vector_norm_attr *k = attr;
    ebb_tensor *x = in[0];
    ebb_dtype d = ebb_dtype_of(x);
    if (!ebb__dtype_is_float(d) || k->p != k->p) {
        v->status = k->p != k->p ? ebb__fail(EBB_E_RANGE, "p is NaN")
                                 : ebb__fail(EBB_E_DTYPE, "x is %s, a floating type is needed",
                                             ebb_dtype_name(d));
        return;
    }
    if (k->p == 2) {
        out[0] = EBB_EMIT(v, norm_2, &k->axes, x);
    } else if (k->p == 0) {
        out[0] = EBB_EMIT(v, cast, &d, EBB_EMIT(v, count_nonzero, &k->axes, x));
    } else if (k->p == 1) {
        out[0] = EBB_EMIT(v, sum, &k->axes, EBB_EMIT(v, abs, NULL, x));
    } else if (isinf(k->p)) {
        ebb_tensor *size = EBB_EMIT(v, abs, NULL, x);
        out[0] =
            k->p > 0 ? EBB_EMIT(v, amax, &k->axes, size) : EBB_EMIT(v, amin, &k->axes, size);
    } else {
        double root = 1 / k->p;
        x = ebb__rule_wide(v, x);
        ebb_tensor *total = EBB_EMIT(v, sum, &k->axes, EBB_EMIT(v, abs_pow, &k->p, x));
        out[0] = EBB_EMIT(v, abs_pow, &root, total);
        if (k->p < 0) out[0] = poles(v, out[0], total, x, &k->axes);
        out[0] = ebb__rule_narrow(v, out[0], d);
    }
}

const ebb_op ebb__op_norm = {
    EBB_OP_HEAD(norm),
    .doc = "out = (sum of |x|^p)^(1/p) over axes; p = inf: the largest |x|, -inf: the "
           "smallest, 0: "
           "how many are not 0. The gradient at the origin is 0; equal largest share it.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(vector_norm_attr),
    .attrs = vector_norm_attrs,
    .bound = EBB_BOUND_MEMORY,
    .compose = norm_compose,
    .range = {{0.2, 2, 0}},
    EBB_SAMPLES(
        {.in = {"3x4"}, .attr = "p=2 axes=0"}, {.in = {"3x4"}, .attr = "p=1 axes=-1 keep=1"},
        {.in = {"2x3x4"}, .attr = "p=3 axes=0,2"}, {.in = {"2x3"}, .attr = "p=inf axes=1"},
        {.in = {"2x3"}, .attr = "p=-inf axes=all"}, {.in = {"5"}, .attr = "p=0.5 axes=0"},
        {.in = {""}, .attr = "p=2 axes=all"}, {.in = {"0x3"}, .attr = "p=2 axes=1"}),
};
