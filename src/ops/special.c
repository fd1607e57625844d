/* special.c - error functions and the gamma function's family.
 *
 * f32 is computed in f64 and rounded once. The derivatives form a chain: lgamma, digamma,
 * polygamma of order 1, 2, ...
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <math.h>
#include <stddef.h>

#define IN EBB_NEED_IN(0)
#define OUT EBB_NEED_OUT(0)
#define TWO_BY_ROOT_PI 1.12837916709551257390 /* 2 / sqrt(pi) */

/* ---- error functions --------------------------------------------------------------------- */
static double horner(const double *c, int n, double x)
{
    double y = 0;
    for (int i = 0; i < n; i++) y = y * x + c[i];
    return y;
}

/* Where ln(1 / (1 - x^2)) < 5 a polynomial by Giles, Approximating the erfinv function (2011),
 * some 6 digits, and two steps of Halley's method. Above a = 1 / 2 it is erfc that is inverted:
 * 1 - a is exact there, and erfc keeps its digits where erf has lost them. */
static double erf_inverse_middle(double a, double rest, double w)
{
    static const double start[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                   -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                   -0.00417768164,  0.246640727,    1.50140941};
    double y = a * horner(start, 9, w - 2.5);
    for (int i = 0; i < 2; i++) {
        double miss = a < 0.5 ? erf(y) - a : rest - erfc(y);
        double step = miss / (TWO_BY_ROOT_PI * exp(-y * y));
        y -= step / (1 + y * step);
    }
    return y;
}

/* Far out erfc(y) is nearly exp(-y^2) / (y sqrt(pi)), which gives a start good to 1 %; then
 * three steps of Newton's method for ln(erfc(y)) = ln(rest). */
static double erf_inverse_tail(double rest)
{
    const double root_pi = 1.77245385090551602730, far = -log(rest);
    double y = sqrt(far - log(sqrt(far) * root_pi));
    for (int i = 0; i < 3; i++) {
        double c = erfc(y);
        y += log(c / rest) * c / (TWO_BY_ROOT_PI * exp(-y * y));
    }
    return y;
}

static double erf_inverse(double x)
{
    const double a = fabs(x), rest = 1 - a;
    if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
    if (a < 1e-8) return x / TWO_BY_ROOT_PI; /* the next term is x^3 pi / 12 */
    const double w = -log(rest * (1 + a));
    return copysign(w < 5 ? erf_inverse_middle(a, rest, w) : erf_inverse_tail(rest), x);
}

EBB_PLAIN1(erfc, erfc((double)x))
EBB_PLAIN1(erfinv, erf_inverse((double)x))

static void erfc_vjp(ebb_vjp *v)
{
    ebb_tensor *x2 = EBB_EMIT(v, square, NULL, ebb__in(v, 0));
    ebb_tensor *bell = EBB_EMIT(v, exp, NULL, EBB_EMIT(v, neg, NULL, x2));
    ebb__give(v, 0,
              ebb__rule_scale(v, ebb__rule_mul(v, ebb__grad(v, 0), bell), -TWO_BY_ROOT_PI));
}
static void erfinv_vjp(ebb_vjp *v)
{
    ebb_tensor *slope = EBB_EMIT(v, exp, NULL, EBB_EMIT(v, square, NULL, ebb__out(v, 0)));
    ebb__give(v, 0,
              ebb__rule_scale(v, ebb__rule_mul(v, ebb__grad(v, 0), slope), 1 / TWO_BY_ROOT_PI));
}

EBB_UNARY(erfc, ebb__shape_floats, IN, erfc_vjp, "out = 1 - erf(x), exact far out.", {-2, 2, 0})
EBB_UNARY(erfinv, ebb__shape_floats, OUT, erfinv_vjp,
          "out = the y with erf(y) = x; infinite at -1 and 1, NaN beyond.", {-0.8, 0.8, 0})

/* ---- gamma ------------------------------------------------------------------------------- */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* For x >= 10: Abramowitz & Stegun, Handbook of Mathematical Functions (1964), 6.3.18. Smaller
 * ones are raised by 6.3.5, negative ones reflected by 6.3.7. */
static double digamma_of(double x)
{
    static const double series[] = {-1.0 / 12,  691.0 / 32760, -1.0 / 132, 1.0 / 240,
                                    -1.0 / 252, 1.0 / 120,     -1.0 / 12};
    double sum = 0;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x)) return NAN;
        return digamma_of(1 - x) - M_PI / tan(M_PI * (x - rint(x)));
    }
    for (; x < 10; x++) sum -= 1 / x;
    const double z = 1 / (x * x);
    return sum + log(x) - 0.5 / x + z * horner(series, 7, z);
}

/* The sum of (q + k)^-s over k >= 0, for s > 1 and q > 0: some terms, the rest by the formula
 * of Euler and Maclaurin (Abramowitz & Stegun 3.6.28), whose terms fall while q > s. */
static double hurwitz(double s, double q)
{
    /* (2 j)! / B(2 j) */
    static const double divisor[] = {12,
                                     -720,
                                     30240,
                                     -1209600,
                                     47900160,
                                     -1.8924375803183791606e9,
                                     7.47242496e10,
                                     -2.950130727918164224e12,
                                     1.1646782814350067249e14,
                                     -4.5979787224074726105e15};
    double sum = 0;
    const double enough = 10 + s;
    for (; q < enough; q++) sum += pow(q, -s);
    double power = pow(q, -s), factor = s;
    sum += power * q / (s - 1) + power / 2;
    power /= q;
    for (int j = 0; j < 10; j++) {
        sum += factor * power / divisor[j];
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
        power /= q * q;
    }
    return sum;
}

/* The n-th derivative of digamma, n >= 1: (-1)^(n + 1) n! (the sum of (x + k)^-(n + 1)). For
 * x < 0 the sum is one up from the fraction of x and one down from it, ended at x. */
static double polygamma_of(int64_t n, double x)
{
    const double s = (double)n + 1, sign = n % 2 ? 1 : -1, whole = floor(x);
    double sum;
    if (x != x || x == -INFINITY) return NAN;
    if (x > 0) {
        sum = x == INFINITY ? 0 : hurwitz(s, x);
    } else if (x == whole) {
        sum = INFINITY;
    } else {
        double down = hurwitz(s, 1 - (x - whole)) - hurwitz(s, 1 - x);
        sum = hurwitz(s, x - whole) + sign * down;
    }
    return sign * tgamma(s) * sum;
}

typedef struct polygamma_attr {
    int64_t n;
} polygamma_attr;
static const ebb_attr_spec polygamma_attrs[] = {
    {"n", EBB_ATTR_I64, offsetof(polygamma_attr, n), false,
     "order of the derivative of digamma, in [0, 100]"},
    {0},
};

EBB_PLAIN1(lgamma, log_gamma((double)x))
EBB_PLAIN1(digamma, digamma_of((double)x))
EBB_PLAIN_ROWS(1, polygamma, polygamma_of((int64_t)p[0], (double)x))

static ebb_status polygamma_shape(ebb__call *c)
{
    int64_t n = ((const polygamma_attr *)c->attr)->n;
    if (n < 0 || n > 100)
        return ebb__fail(EBB_E_RANGE, "n is %lld, it must be in [0, 100]", (long long)n);
    return ebb__shape_floats(c);
}
static ebb_status polygamma_forward(const ebb__call *c)
{
    const double p[2] = {(double)((const polygamma_attr *)c->attr)->n};
    ebb_dtype d = c->in[0].dtype;
    return ebb__map(c, p[0] == 0 ? digamma_rows[d] : polygamma_rows[d], p);
}

static void lgamma_vjp(ebb_vjp *v)
{
    ebb_tensor *slope = EBB_EMIT(v, digamma, NULL, ebb__in(v, 0));
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), slope));
}
static void derivative_of_order(ebb_vjp *v, int64_t n)
{
    ebb_tensor *slope = EBB_EMIT(v, polygamma, &n, ebb__in(v, 0));
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), slope));
}
static void digamma_vjp(ebb_vjp *v)
{
    derivative_of_order(v, 1);
}
static void polygamma_vjp(ebb_vjp *v)
{
    derivative_of_order(v, ((const polygamma_attr *)v->attr)->n + 1);
}

EBB_UNARY(lgamma, ebb__shape_floats, IN, lgamma_vjp,
          "out = ln(|gamma(x)|); infinite at 0, -1, -2, ...", {0.4, 4, 0})
EBB_UNARY(digamma, ebb__shape_floats, IN, digamma_vjp,
          "out = the derivative of lgamma; -inf at 0, NaN at -1, -2, ...", {0.4, 4, 0})

const ebb_op ebb__op_polygamma = {
    EBB_OP_HEAD(polygamma),
    .doc = "out = the n-th derivative of digamma; infinite at 0, -1, -2, ... for n > 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(polygamma_attr),
    .attrs = polygamma_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,
    .bound = EBB_BOUND_MEMORY,
    .need = {IN},
    .shape = polygamma_shape,
    .forward = polygamma_forward,
    .vjp = polygamma_vjp,
    .range = {{0.7, 3, 0}},
    EBB_SAMPLES({.in = {"3x4"}, .attr = "n=1"}, {.in = {"5"}, .attr = "n=2"},
                {.in = {""}, .attr = "n=0"}, {.in = {"2x3"}, .attr = "n=4"},
                {.in = {"0x3"}, .attr = "n=3"}),
};
