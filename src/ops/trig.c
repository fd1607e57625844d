/* trig.c - angles and hyperbolic functions of one tensor.
 *
 * Rules keep the output where the derivative can be written with it (tan), else the input.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <tgmath.h>

#define IN EBB_NEED_IN(0)
#define OUT EBB_NEED_OUT(0)

EBB_PLAIN1(tan, tan(x))
EBB_PLAIN1(asin, asin(x))
EBB_PLAIN1(acos, acos(x))
EBB_PLAIN1(atan, atan(x))
EBB_PLAIN1(sinh, sinh(x))
EBB_PLAIN1(cosh, cosh(x))
EBB_PLAIN1(asinh, asinh(x))
EBB_PLAIN1(acosh, acosh(x))
EBB_PLAIN1(atanh, atanh(x))

/* g * f(a + b x^2) */
static ebb_tensor *with_square(ebb_vjp *v, const ebb_op *f, double a, double b)
{
    ebb_tensor *x2 = EBB_EMIT(v, square, NULL, ebb__in(v, 0));
    if (b != 1) x2 = ebb__rule_scale(v, x2, b);
    ebb_tensor *inner = ebb__rule_shift(v, x2, a);
    return ebb__rule_mul(v, ebb__grad(v, 0), ebb__emit(v, f, NULL, 1, &inner));
}

static void tan_vjp(ebb_vjp *v)
{
    ebb_tensor *y2 = EBB_EMIT(v, square, NULL, ebb__out(v, 0));
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), ebb__rule_shift(v, y2, 1)));
}
static void asin_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, with_square(v, &ebb__op_rsqrt, 1, -1));
}
static void acos_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, neg, NULL, with_square(v, &ebb__op_rsqrt, 1, -1)));
}
/* sqrt(1 + x^2) where x^2 overflows, too: in 16 bits from 256 on. */
static ebb_tensor *one_and(ebb_vjp *v)
{
    double one = 1;
    ebb_tensor *x = ebb__in(v, 0);
    return EBB_EMIT(v, hypot, NULL, x, EBB_EMIT(v, full_like, &one, x));
}
static void atan_vjp(ebb_vjp *v)
{
    ebb_tensor *r = one_and(v), *part = EBB_EMIT(v, div, NULL, ebb__grad(v, 0), r);
    ebb__give(v, 0, EBB_EMIT(v, div, NULL, part, r));
}
static void sinh_vjp(ebb_vjp *v)
{
    ebb_tensor *slope = EBB_EMIT(v, cosh, NULL, ebb__in(v, 0));
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), slope));
}
static void cosh_vjp(ebb_vjp *v)
{
    ebb_tensor *slope = EBB_EMIT(v, sinh, NULL, ebb__in(v, 0));
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), slope));
}
static void asinh_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, div, NULL, ebb__grad(v, 0), one_and(v)));
}
/* sqrt(x - 1) sqrt(x + 1) does not overflow, and is exact near 1. */
static void acosh_vjp(ebb_vjp *v)
{
    ebb_tensor *part = ebb__grad(v, 0);
    for (int s = -1; s <= 1; s += 2)
        part = ebb__rule_mul(v, part,
                             EBB_EMIT(v, rsqrt, NULL, ebb__rule_shift(v, ebb__in(v, 0), s)));
    ebb__give(v, 0, part);
}
static void atanh_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, with_square(v, &ebb__op_reciprocal, 1, -1));
}

EBB_UNARY(tan, ebb__shape_floats, OUT, tan_vjp, "out = tan(x), radians.", {-1.2, 1.2, 0})
EBB_UNARY(asin, ebb__shape_floats, IN, asin_vjp,
          "out = the angle in [-pi/2, pi/2] whose sine is x, NaN for |x| > 1; the gradient at "
          "-1 and 1 is infinite.",
          {-0.8, 0.8, 0})
EBB_UNARY(acos, ebb__shape_floats, IN, acos_vjp,
          "out = the angle in [0, pi] whose cosine is x, NaN for |x| > 1; the gradient at -1 "
          "and 1 is infinite.",
          {-0.8, 0.8, 0})
EBB_UNARY(atan, ebb__shape_floats, IN, atan_vjp,
          "out = the angle in (-pi/2, pi/2) whose tangent is x.", {-2, 2, 0})
EBB_UNARY(sinh, ebb__shape_floats, IN, sinh_vjp, "out = (exp(x) - exp(-x)) / 2.", {-2, 2, 0})
EBB_UNARY(cosh, ebb__shape_floats, IN, cosh_vjp, "out = (exp(x) + exp(-x)) / 2.", {-2, 2, 0})
EBB_UNARY(asinh, ebb__shape_floats, IN, asinh_vjp, "out = ln(x + sqrt(x^2 + 1)).", {-2, 2, 0})
EBB_UNARY(acosh, ebb__shape_floats, IN, acosh_vjp,
          "out = ln(x + sqrt(x^2 - 1)), NaN for x < 1; the gradient at 1 is infinite.",
          {1.3, 3, 0})
EBB_UNARY(atanh, ebb__shape_floats, IN, atanh_vjp,
          "out = ln((1 + x) / (1 - x)) / 2, infinite at -1 and 1, NaN beyond.", {-0.8, 0.8, 0})
