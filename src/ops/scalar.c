/* scalar.c - a tensor and a number; powers; clamping.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"
#include "ops/kernels/vmath.h"

#include <math.h>
#include <stddef.h>

#define ONE_FLAGS (EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE)

typedef struct scalar_attr {
    double a;
} scalar_attr;

static const ebb_attr_spec scalar_attrs[] = {
    {"a", EBB_ATTR_F64, offsetof(scalar_attr, a), false,
     "a number; one that is not whole makes whole numbers f32"},
    {0},
};

static ebb_tensor *times(ebb_vjp *v, ebb_tensor *x, double factor)
{
    return EBB_EMIT(v, mul_scalar, &factor, x);
}
static ebb_tensor *power(ebb_vjp *v, ebb_tensor *x, double p)
{
    return EBB_EMIT(v, pow_scalar, &p, x);
}

/* Whole numbers with a number that is not give f32. */
#define TO_F32(T) float
static bool is_broken(double a)
{
    return a != trunc(a) || isinf(a);
}

/* An integer tensor takes a number that its type holds. */
static ebb_status scalar_shape(ebb__call *c)
{
    double a = ((const scalar_attr *)c->attr)->a;
    EBB_TRY(ebb__shape_numbers(c));
    if (ebb__dtype_is_float(c->in[0].dtype) || !is_broken(a))
        return ebb__check_holds(c->in[0].dtype, a);
    c->out[0].dtype = EBB_F32;
    return EBB_OK;
}

/* ---- sum and product --------------------------------------------------------------------- */
EBB_MAP_ROWS(1, add_scalar, WRAPPING, EBB_SAME, x + a)
EBB_MAP_ROWS(1, mul_scalar, WRAPPING, EBB_SAME, x *a)
EBB_ROWS_INTEGER(1, broken_add, TO_F32, (float)x + (float)p[0])
EBB_ROWS_INTEGER(1, broken_mul, TO_F32, (float)x *(float)p[0])
static const ebb__map_row broken_add_rows[EBB__N_DTYPES] = {EBB_TABLE_INTEGER(broken_add)};
static const ebb__map_row broken_mul_rows[EBB__N_DTYPES] = {EBB_TABLE_INTEGER(broken_mul)};

static ebb_status scalar_map(const ebb__call *c, const ebb__map_row *same,
                             const ebb__map_row *broken)
{
    const double p[2] = {((const scalar_attr *)c->attr)->a};
    ebb_dtype d = c->in[0].dtype;
    return ebb__map(c, c->out[0].dtype == d ? same[d] : broken[d], p);
}
static ebb_status add_scalar_forward(const ebb__call *c)
{
    return scalar_map(c, add_scalar_rows, broken_add_rows);
}
static ebb_status mul_scalar_forward(const ebb__call *c)
{
    return scalar_map(c, mul_scalar_rows, broken_mul_rows);
}

static void add_scalar_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, ebb__grad(v, 0));
}
static void mul_scalar_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, times(v, ebb__grad(v, 0), ((const scalar_attr *)v->attr)->a));
}

const ebb_op ebb__op_add_scalar = {
    EBB_OP_HEAD(add_scalar),
    .doc = "out = x + a.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(scalar_attr),
    .attrs = scalar_attrs,
    .flags = ONE_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .shape = scalar_shape,
    .forward = add_scalar_forward,
    .vjp = add_scalar_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "a=3"}, {.in = {""}, .attr = "a=-2"},
                {.in = {"0x3"}, .attr = "a=1"}),
};
const ebb_op ebb__op_mul_scalar = {
    EBB_OP_HEAD(mul_scalar),
    .doc = "out = x * a.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(scalar_attr),
    .attrs = scalar_attrs,
    .flags = ONE_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .shape = scalar_shape,
    .forward = mul_scalar_forward,
    .vjp = mul_scalar_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "a=3"}, {.in = {""}, .attr = "a=-2"},
                {.in = {"0x3"}, .attr = "a=2"}),
};

/* ---- powers ------------------------------------------------------------------------------ */
EBB_MAP_ROWS(1, pow_scalar, FLOAT, EBB_SAME, EBB_POW(x, a))
EBB_MAP_ROWS(1, cube, FLOAT, EBB_SAME, x *x *x)
EBB_MAP_ROWS(1, second_power, FLOAT, EBB_SAME, x *x)
EBB_MAP_ROWS(2, pow, FLOAT, EBB_SAME, EBB_POW(x, y))

/* x^n of whole numbers, wrapping; of negative n the whole part: 1 / 0 counts as 0. */
static int64_t whole_power(int64_t x, int64_t n)
{
    uint64_t result = 1, factor = (uint64_t)x;
    if (n < 0) return x == 1 ? 1 : x != -1 ? 0 : n % 2 == 0 ? 1 : -1;
    for (; n > 0; n /= 2, factor *= factor)
        if (n % 2) result *= factor;
    return (int64_t)result;
}
EBB_PLAIN_ROW2(whole_pow_i64, int64_t, whole_power(x, y))
EBB_PLAIN_ROW2(whole_pow_i32, int32_t, whole_power(x, y))
EBB_PLAIN_ROW2(whole_pow_u8, uint8_t, whole_power(x, y))
static const ebb__map_row whole_pow_rows[EBB__N_DTYPES] = {EBB_TABLE_INTEGER(whole_pow)};
/* The exponent of whole numbers is one, or the result is f32. */
EBB_PLAIN_ROW1(whole_pow_scalar_i64, int64_t, whole_power(x, (int64_t)p[0]))
EBB_PLAIN_ROW1(whole_pow_scalar_i32, int32_t, whole_power(x, (int64_t)p[0]))
EBB_PLAIN_ROW1(whole_pow_scalar_u8, uint8_t, whole_power(x, (int64_t)p[0]))
static const ebb__map_row whole_pow_scalar_rows[EBB__N_DTYPES] = {
    EBB_TABLE_INTEGER(whole_pow_scalar)};
EBB_ROWS_INTEGER(1, broken_pow, TO_F32, powf((float)x, (float)p[0]))
static const ebb__map_row broken_pow_rows[EBB__N_DTYPES] = {EBB_TABLE_INTEGER(broken_pow)};

static ebb_status pow_forward(const ebb__call *c)
{
    ebb_dtype d = c->in[0].dtype;
    return ebb__map(c, ebb__dtype_is_float(d) ? pow_rows[d] : whole_pow_rows[d], NULL);
}
static ebb_status pow_scalar_shape(ebb__call *c)
{
    double a = ((const scalar_attr *)c->attr)->a;
    EBB_TRY(ebb__shape_numbers(c));
    if (ebb__dtype_is_float(c->in[0].dtype)) return EBB_OK;
    if (is_broken(a)) {
        c->out[0].dtype = EBB_F32;
        return EBB_OK;
    }
    if (a >= 0 && a < 0x1p63) return EBB_OK;
    return ebb__fail(EBB_E_RANGE,
                     "%g is no exponent of whole numbers: 0 and more are, or cast x", a);
}

/* Small whole powers are products: exact in the sense of pow to one rounding each. */
static ebb_status pow_scalar_forward(const ebb__call *c)
{
    const double p[2] = {((const scalar_attr *)c->attr)->a};
    ebb_dtype d = c->in[0].dtype;
    if (!ebb__dtype_is_float(d))
        return ebb__map(
            c, c->out[0].dtype == EBB_F32 ? broken_pow_rows[d] : whole_pow_scalar_rows[d], p);
    if (p[0] == 2) return ebb__map(c, second_power_rows[d], p);
    if (p[0] == 3) return ebb__map(c, cube_rows[d], p);
    return ebb__map(c, pow_scalar_rows[d], p);
}

/* a x^(a - 1), which is 0 for a = 0 even at x = 0. */
static void pow_scalar_vjp(ebb_vjp *v)
{
    double a = ((const scalar_attr *)v->attr)->a;
    ebb_tensor *g = ebb__grad(v, 0);
    if (a == 1)
        ebb__give(v, 0, g);
    else if (a == 0)
        ebb__give(v, 0, EBB_EMIT(v, full_like, &(double){0}, g));
    else if (a == 2)
        ebb__give(v, 0, EBB_EMIT(v, mul, NULL, g, times(v, ebb__in(v, 0), 2)));
    else
        ebb__give(v, 0, EBB_EMIT(v, mul, NULL, g, times(v, power(v, ebb__in(v, 0), a - 1), a)));
}

const ebb_op ebb__op_pow_scalar = {
    EBB_OP_HEAD(pow_scalar),
    .doc =
        "out = x^a; the gradient is 0 where a = 0. Whole numbers stay whole (and wrap) where a "
        "is, which must not be negative then; else they give f32.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(scalar_attr),
    .attrs = scalar_attrs,
    .flags = ONE_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0)},
    .shape = pow_scalar_shape,
    .forward = pow_scalar_forward,
    .vjp = pow_scalar_vjp,
    .range = {{0.3, 2, 0}},
    EBB_SAMPLES({.in = {"3x4"}, .attr = "a=3"}, {.in = {"5"}, .attr = "a=-1.5"},
                {.in = {""}, .attr = "a=2"}, {.in = {"0x3"}, .attr = "a=0.5"},
                {.in = {"i64:3x4<9"}, .attr = "a=3"}, {.in = {"u8:5<9"}, .attr = "a=0.5"}),
};

/* dL/dx = g y x^(y-1) (0 where y = 0), dL/dy = g x^y ln x (0 where x = 0 and y >= 0). */
static void pow_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, pow_grad_x, NULL, g, x, y));
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, pow_grad_y, NULL, g, x, y));
}

const ebb_op ebb__op_pow = {
    EBB_OP_HEAD(pow),
    .doc = "out = x^y, elementwise; shapes broadcast as in NumPy. The gradient of x is 0 where "
           "y = 0, that of y is 0 where x = 0 and y >= 0. Whole numbers stay whole: they wrap, "
           "and with y < 0 all but 1 and -1 give 0.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = ONE_FLAGS | EBB_OP_BROADCAST,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .shape = ebb__shape_numbers,
    .forward = pow_forward,
    .vjp = pow_vjp,
    .range = {{0.3, 2, 0}, {-2, 2, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x1", "4"}}, {.in = {"", ""}},
                {.in = {"0x3", "3"}}, {.in = {"i64:3x1<9", "i64:4<5"}},
                {.in = {"u8:4<9", "u8:4<9"}}),
};

EBB_MAP3(pow_grad_x, z == 0 ? 0 : x * z * EBB_POW(y, z - 1))
EBB_MAP3(pow_grad_y, y == 0 && z >= 0 ? 0 : x * EBB_POW(y, z) * EBB_LOG(y))

/* h: the gradient of the result. d/dx of y x^(y-1) is y (y-1) x^(y-2), d/dy is x^(y-1) (1 + y
 * ln x). */
static void pow_grad_x_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1), *y = ebb__in(v, 2);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, pow_grad_x, NULL, h, x, y));
    if (!ebb__wants(v, 1) && !ebb__wants(v, 2)) return;
    ebb_tensor *gh = EBB_EMIT(v, mul, NULL, ebb__in(v, 0), h);
    ebb_tensor *less = EBB_EMIT(v, add_scalar, &(double){-1}, y);
    if (ebb__wants(v, 1)) {
        ebb_tensor *second = EBB_EMIT(v, pow_grad_x, NULL, gh, x, less);
        ebb__give(v, 1, EBB_EMIT(v, mul, NULL, second, y));
    }
    if (ebb__wants(v, 2)) {
        ebb_tensor *one = EBB_EMIT(v, mul, NULL, gh, EBB_EMIT(v, pow, NULL, x, less));
        ebb_tensor *two = EBB_EMIT(v, mul, NULL, EBB_EMIT(v, pow_grad_y, NULL, gh, x, less), y);
        ebb__give(v, 2, EBB_EMIT(v, add, NULL, one, two));
    }
}
/* d/dx of x^y ln x is x^(y-1) (1 + y ln x), d/dy is x^y (ln x)^2. */
static void pow_grad_y_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1), *y = ebb__in(v, 2);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, pow_grad_y, NULL, h, x, y));
    if (!ebb__wants(v, 1) && !ebb__wants(v, 2)) return;
    ebb_tensor *gh = EBB_EMIT(v, mul, NULL, ebb__in(v, 0), h);
    if (ebb__wants(v, 1)) {
        ebb_tensor *less = EBB_EMIT(v, add_scalar, &(double){-1}, y);
        ebb_tensor *one = EBB_EMIT(v, mul, NULL, gh, EBB_EMIT(v, pow, NULL, x, less));
        ebb_tensor *two = EBB_EMIT(v, mul, NULL, EBB_EMIT(v, pow_grad_y, NULL, gh, x, less), y);
        ebb__give(v, 1, EBB_EMIT(v, add, NULL, one, two));
    }
    if (ebb__wants(v, 2)) {
        ebb_tensor *part = EBB_EMIT(v, pow_grad_y, NULL, gh, x, y);
        ebb__give(v, 2, EBB_EMIT(v, mul, NULL, part, EBB_EMIT(v, log, NULL, x)));
    }
}

#define POW_GRAD(op_name, text)                                                                \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 3,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"g", "x", "y"},                                                                \
        .flags = ONE_FLAGS | EBB_OP_BROADCAST | EBB_OP_PRIVATE,                                \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {EBB_NEED_IN(1) | EBB_NEED_IN(2),                                              \
                 EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(2),                             \
                 EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(2)},                            \
        .shape = ebb__shape_floats,                                                            \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {{-2, 2, 0}, {0.3, 2, 0}, {-2, 2, 0}},                                        \
        EBB_SAMPLES({.in = {"3x4", "3x4", "3x4"}}, {.in = {"2x3", "2x1", "3"}},                \
                    {.in = {"", "", ""}}, {.in = {"0x3", "0x3", "3"}}),                        \
    };
POW_GRAD(pow_grad_x, "out = g * y * x^(y - 1), 0 where y = 0: the gradient of x in x^y.")
POW_GRAD(pow_grad_y, "out = g * x^y * ln(x), 0 where x = 0 and y >= 0: that of y in x^y.")

/* ---- clamp ------------------------------------------------------------------------------- */
typedef struct clamp_attr {
    double lo, hi;
} clamp_attr;

static const ebb_attr_spec clamp_attrs[] = {
    {"lo", EBB_ATTR_F64, offsetof(clamp_attr, lo), false, "lower bound; -INFINITY for none"},
    {"hi", EBB_ATTR_F64, offsetof(clamp_attr, hi), false, "upper bound; INFINITY for none"},
    {0},
};

EBB_MAP_ROWS(1, clamp, FLOAT, EBB_SAME, x<a ? a : x> b ? b : x)

EBB_MAP_ROWS(1, clamp_whole, INTEGER, EBB_SAME, x<a ? a : x> b ? b : x)
EBB_MAP_ROWS(1, at_least, INTEGER, EBB_SAME, x < a ? a : x)

EBB_ROWS_INTEGER(1, broken_clamp, TO_F32, (float)(x<p[0] ? p[0] : x> p[1] ? p[1] : (double)x))
static const ebb__map_row broken_clamp_rows[EBB__N_DTYPES] = {EBB_TABLE_INTEGER(broken_clamp)};

static ebb_status clamp_shape(ebb__call *c)
{
    const clamp_attr *k = c->attr;
    if (!(k->lo <= k->hi))
        return ebb__fail(EBB_E_RANGE, "lo is %g, hi is %g: lo <= hi is needed", k->lo, k->hi);
    EBB_TRY(ebb__shape_numbers(c));
    bool floats = ebb__dtype_is_float(c->in[0].dtype);
    if (!floats && (k->lo != trunc(k->lo) || k->hi != trunc(k->hi))) {
        c->out[0].dtype = EBB_F32;
        return EBB_OK;
    }
    if (k->lo != -INFINITY) EBB_TRY(ebb__check_holds(c->in[0].dtype, k->lo));
    return k->hi == INFINITY ? EBB_OK : ebb__check_holds(c->in[0].dtype, k->hi);
}
/* No integer is infinite: the lowest number stands for no lower bound. */
static ebb_status clamp_forward(const ebb__call *c)
{
    static const double lowest[EBB__N_DTYPES] = {
        [EBB_I64] = -9223372036854775808.0, [EBB_I32] = -2147483648.0};
    const clamp_attr *k = c->attr;
    ebb_dtype d = c->in[0].dtype;
    if (ebb__dtype_is_float(d)) return ebb__map(c, clamp_rows[d], c->attr);
    if (c->out[0].dtype != d) return ebb__map(c, broken_clamp_rows[d], c->attr);
    double p[2] = {k->lo == -INFINITY ? lowest[d] : k->lo};
    if (k->hi == INFINITY) return ebb__map(c, at_least_rows[d], p);
    p[1] = k->hi;
    return ebb__map(c, clamp_whole_rows[d], p);
}
static void clamp_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, clamp_grad, v->attr, ebb__grad_last(v, 0), ebb__in(v, 0)));
}

const ebb_op ebb__op_clamp = {
    EBB_OP_HEAD(clamp),
    .doc = "out = min(max(x, lo), hi), NaN stays NaN; the gradient is 1 for lo <= x <= hi (and "
           "for "
           "NaN), else 0, and 0 everywhere where lo = hi.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(clamp_attr),
    .attrs = clamp_attrs,
    .flags = ONE_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0)},
    .shape = clamp_shape,
    .forward = clamp_forward,
    .vjp = clamp_vjp,
    .range = {{-2, 2, 0.5}},
    EBB_SAMPLES({.in = {"3x4"}, .attr = "lo=-10 hi=0.5"},
                {.in = {"67"}, .attr = "lo=-9 hi=0.5"}, {.in = {""}, .attr = "lo=0.5 hi=9"},
                {.in = {"0x3"}, .attr = "lo=0 hi=1"}),
};

EBB_MAP_ROWS(2, clamp_grad, FLOAT, EBB_SAME, y<a || y> b || a == b ? 0 : x)

static ebb_status clamp_grad_forward(const ebb__call *c)
{
    return ebb__map(c, clamp_grad_rows[c->in[0].dtype], c->attr);
}
static void clamp_grad_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0, EBB_EMIT(v, clamp_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_clamp_grad = {
    EBB_OP_HEAD(clamp_grad),
    .doc = "out = g where lo <= x <= hi, else 0; the gradient of clamp. Its own is that of a "
           "constant "
           "in x.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "x"},
    .attr_bytes = sizeof(clamp_attr),
    .attrs = clamp_attrs,
    .flags = ONE_FLAGS | EBB_OP_BROADCAST | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = ebb__shape_floats,
    .forward = clamp_grad_forward,
    .vjp = clamp_grad_vjp,
    .range = {{-2, 2, 0}, {-2, 2, 0.5}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}, .attr = "lo=-9 hi=0.5"},
                {.in = {"", ""}, .attr = "lo=0.5 hi=9"},
                {.in = {"0x3", "0x3"}, .attr = "lo=0 hi=1"}),
};
