/* unary.c - elementary functions of one tensor.
 *
 * Rules keep the output where the derivative can be written with it (exp, sqrt, reciprocal),
 * else the input. Step functions (sign, floor, ...) have no rule: their results are untracked.
 * SPDX-License-Identifier: MIT */
#include "ops/unary.h"
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"
#include "ops/kernels/vmath.h"

#include <stddef.h>

#define IN EBB_NEED_IN(0)
#define OUT EBB_NEED_OUT(0)
#define NONE 0

/* x * factor, x + term: attributes of mul_scalar and add_scalar. */
static ebb_tensor *times(ebb_vjp *v, ebb_tensor *x, double factor)
{
    return EBB_EMIT(v, mul_scalar, &factor, x);
}
static ebb_tensor *plus(ebb_vjp *v, ebb_tensor *x, double term)
{
    return EBB_EMIT(v, add_scalar, &term, x);
}

/* ---- sign and size ----------------------------------------------------------------------- */
EBB_MAP1(neg, WRAPPING, -x)
#define MAGNITUDE(type, name, negative)                                                        \
    static inline type name(type x)                                                            \
    {                                                                                          \
        return x <= 0 ? (type)(negative) : x;                                                  \
    }
MAGNITUDE(float, magnitude_f32, 0 - x)
MAGNITUDE(double, magnitude_f64, 0 - x)
MAGNITUDE(int64_t, magnitude_i64, 0 - (uint64_t)x) /* the least stays itself */
MAGNITUDE(int32_t, magnitude_i32, 0 - (uint32_t)x)
MAGNITUDE(uint8_t, magnitude_u8, x)
EBB_MAP1(abs, NUMBER,
         _Generic(x, float
                  : magnitude_f32, double
                  : magnitude_f64, int64_t
                  : magnitude_i64, int32_t
                  : magnitude_i32, uint8_t
                  : magnitude_u8)(x))
EBB_MAP_ROWS(1, sign, ANY, EBB_SAME, x > 0 ? 1 : x < 1 && x != 0 ? -1 : x)
EBB_MAP_FORWARD(sign)

static void neg_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, neg, NULL, ebb__grad(v, 0)));
}
static void abs_vjp(ebb_vjp *v)
{
    ebb_tensor *sign = EBB_EMIT(v, sign, NULL, ebb__in(v, 0));
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), sign));
}

EBB_UNARY(neg, ebb__shape_numbers, NONE, neg_vjp, "out = -x.", {-2, 2, 0})
EBB_UNARY(abs, ebb__shape_numbers, IN, abs_vjp, "out = |x|; the gradient at 0 is 0.",
          {-2, 2, 0})
EBB_UNARY(sign, ebb__shape_broadcast_n, NONE, NULL,
          "out = -1, 0 or 1; NaN stays NaN, a bool as it is.", {-2, 2, 0})

/* ---- roots and powers -------------------------------------------------------------------- */
EBB_MAP1(sqrt, FLOAT, EBB_SQRT(x))
EBB_MAP1(rsqrt, FLOAT, 1 / EBB_SQRT(x))
EBB_MAP1(reciprocal, FLOAT, 1 / x)
EBB_MAP1(square, WRAPPING, x *x)

static void sqrt_vjp(ebb_vjp *v)
{
    ebb_tensor *twice = times(v, ebb__out(v, 0), 2);
    ebb__give(v, 0, EBB_EMIT(v, div, NULL, ebb__grad(v, 0), twice));
}
/* y = x^(-1/2): dy/dx = -y^3 / 2. */
static void rsqrt_vjp(ebb_vjp *v)
{
    ebb_tensor *y = ebb__out(v, 0), *y2 = EBB_EMIT(v, square, NULL, y);
    ebb_tensor *slope = times(v, EBB_EMIT(v, mul, NULL, y2, y), -0.5);
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), slope));
}
static void reciprocal_vjp(ebb_vjp *v)
{
    ebb_tensor *y2 = EBB_EMIT(v, square, NULL, ebb__out(v, 0));
    ebb_tensor *part = EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), y2);
    ebb__give(v, 0, EBB_EMIT(v, neg, NULL, part));
}
static void square_vjp(ebb_vjp *v)
{
    ebb_tensor *twice = times(v, ebb__grad(v, 0), 2);
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, twice, ebb__in(v, 0)));
}

EBB_UNARY(sqrt, ebb__shape_floats, OUT, sqrt_vjp,
          "out = sqrt(x), NaN for x < 0; the gradient at 0 is infinite.", {0.2, 3, 0})
EBB_UNARY(rsqrt, ebb__shape_floats, OUT, rsqrt_vjp, "out = 1 / sqrt(x).", {0.2, 3, 0})
EBB_UNARY(reciprocal, ebb__shape_floats, OUT, reciprocal_vjp, "out = 1 / x.", {0.4, 3, 0})
EBB_UNARY(square, ebb__shape_numbers, IN, square_vjp, "out = x * x.", {-2, 2, 0})

/* ---- exponential, logarithm -------------------------------------------------------------- */
EBB_MAP1(exp, FLOAT, EBB_EXP(x))
EBB_MAP1(expm1, FLOAT, EBB_EXPM1(x))
EBB_MAP1(log, FLOAT, EBB_LOG(x))
EBB_MAP1(log1p, FLOAT, EBB_LOG1P(x))

static void exp_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), ebb__out(v, 0)));
}
static void expm1_vjp(ebb_vjp *v)
{
    ebb_tensor *slope = plus(v, ebb__out(v, 0), 1);
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), slope));
}
static void log_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, div, NULL, ebb__grad(v, 0), ebb__in(v, 0)));
}
static void log1p_vjp(ebb_vjp *v)
{
    ebb_tensor *below = plus(v, ebb__in(v, 0), 1);
    ebb__give(v, 0, EBB_EMIT(v, div, NULL, ebb__grad(v, 0), below));
}

EBB_UNARY(exp, ebb__shape_floats, OUT, exp_vjp, "out = exp(x).", {-2, 2, 0})
EBB_UNARY(expm1, ebb__shape_floats, OUT, expm1_vjp, "out = exp(x) - 1, exact near 0.",
          {-2, 2, 0})
EBB_UNARY(log, ebb__shape_floats, IN, log_vjp, "out = ln(x), NaN for x < 0.", {0.2, 3, 0})
EBB_UNARY(log1p, ebb__shape_floats, IN, log1p_vjp, "out = ln(1 + x), exact near 0.",
          {-0.7, 3, 0})

/* Powers and logarithms of 2 are exact at whole powers; log10 is the C library's. */
EBB_MAP1(exp2, FLOAT, EBB_EXP2(x))
EBB_MAP1(log2, FLOAT, EBB_LOG2(x))
EBB_PLAIN1(log10, EBB_LOG10(x))

static const double ln_2 = 0.69314718055994530942, ln_10 = 2.30258509299404568402;

static void exp2_vjp(ebb_vjp *v)
{
    ebb_tensor *part = EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), ebb__out(v, 0));
    ebb__give(v, 0, times(v, part, ln_2));
}
static void log2_vjp(ebb_vjp *v)
{
    ebb_tensor *part = EBB_EMIT(v, div, NULL, ebb__grad(v, 0), ebb__in(v, 0));
    ebb__give(v, 0, times(v, part, 1 / ln_2));
}
static void log10_vjp(ebb_vjp *v)
{
    ebb_tensor *part = EBB_EMIT(v, div, NULL, ebb__grad(v, 0), ebb__in(v, 0));
    ebb__give(v, 0, times(v, part, 1 / ln_10));
}

EBB_UNARY(exp2, ebb__shape_floats, OUT, exp2_vjp, "out = 2^x.", {-2, 2, 0})
EBB_UNARY(log2, ebb__shape_floats, IN, log2_vjp, "out = ln(x) / ln(2), NaN for x < 0.",
          {0.2, 3, 0})
EBB_UNARY(log10, ebb__shape_floats, IN, log10_vjp, "out = ln(x) / ln(10), NaN for x < 0.",
          {0.2, 3, 0})

/* ---- angles, error function -------------------------------------------------------------- */
EBB_MAP1(sin, FLOAT, EBB_SIN(x))
EBB_MAP1(cos, FLOAT, EBB_COS(x))
EBB_MAP1(erf, FLOAT, EBB_ERF(x))

static void sin_vjp(ebb_vjp *v)
{
    ebb_tensor *slope = EBB_EMIT(v, cos, NULL, ebb__in(v, 0));
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), slope));
}
static void cos_vjp(ebb_vjp *v)
{
    ebb_tensor *slope = EBB_EMIT(v, neg, NULL, EBB_EMIT(v, sin, NULL, ebb__in(v, 0)));
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), slope));
}
/* d erf / dx = 2 / sqrt(pi) exp(-x^2). */
static void erf_vjp(ebb_vjp *v)
{
    static const double two_by_root_pi = 1.12837916709551257390;
    ebb_tensor *x2 = EBB_EMIT(v, square, NULL, ebb__in(v, 0));
    ebb_tensor *bell = EBB_EMIT(v, exp, NULL, EBB_EMIT(v, neg, NULL, x2));
    ebb_tensor *part = EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), bell);
    ebb__give(v, 0, times(v, part, two_by_root_pi));
}

EBB_UNARY(sin, ebb__shape_floats, IN, sin_vjp, "out = sin(x), radians.", {-3, 3, 0})
EBB_UNARY(cos, ebb__shape_floats, IN, cos_vjp, "out = cos(x), radians.", {-3, 3, 0})
EBB_UNARY(erf, ebb__shape_floats, IN, erf_vjp,
          "out = 2 / sqrt(pi) * (integral of exp(-t^2) from 0 to x).", {-2, 2, 0})

/* ---- to whole numbers -------------------------------------------------------------------- */
/* Whole numbers stay as they are, all their digits. */
EBB_MAP_ROWS(1, whole, INTEGER, EBB_SAME, x)
#define TO_WHOLE(op_name, expr)                                                                \
    EBB_MAP_ROWS(1, op_name, FLOAT, EBB_SAME, expr)                                            \
    static ebb_status op_name##_forward(const ebb__call *c)                                    \
    {                                                                                          \
        ebb_dtype d = c->in[0].dtype;                                                          \
        return ebb__map(c, ebb__dtype_is_float(d) ? op_name##_rows[d] : whole_rows[d], NULL);  \
    }
TO_WHOLE(floor, EBB_FLOOR(x))
TO_WHOLE(ceil, EBB_CEIL(x))
TO_WHOLE(round, EBB_RINT(x))
TO_WHOLE(trunc, EBB_TRUNC(x))

EBB_UNARY(floor, ebb__shape_numbers, NONE, NULL, "out = the largest whole number <= x.",
          {-2, 2, 0})
EBB_UNARY(ceil, ebb__shape_numbers, NONE, NULL, "out = the smallest whole number >= x.",
          {-2, 2, 0})
EBB_UNARY(round, ebb__shape_numbers, NONE, NULL,
          "out = the whole number nearest to x; halves go to the even one.", {-2, 2, 0})
EBB_UNARY(trunc, ebb__shape_numbers, NONE, NULL, "out = x without its fraction.", {-2, 2, 0})
