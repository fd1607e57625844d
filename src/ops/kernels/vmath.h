/* vmath.h - elementary functions by the type of their argument.
 *
 * f64 uses libm. The f32 versions here are straight-line code that vectorises; each is at most
 * 2 ulp off (checked against libm's f64 over the floats by tests) and right at NaN, infinities,
 * zeros and denormals. Polynomials are minimax fits of degree as given; no contraction is
 * assumed. Source: argument reductions as in Cody & Waite, Software Manual for the Elementary
 * Functions (1980).
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_VMATH_H
#define EBB_OPS_KERNELS_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline int32_t ebb__bits_of(float x)
{
    int32_t i;
    memcpy(&i, &x, sizeof i);
    return i;
}
static inline float ebb__of_bits(int32_t i)
{
    float x;
    memcpy(&x, &i, sizeof x);
    return x;
}
/* 2^n for -126 <= n <= 127. */
static inline float ebb__power_of_two(int32_t n)
{
    return ebb__of_bits((int32_t)((uint32_t)(n + 127) << 23));
}

/* x = n ln 2 + r with |r| <= 0.35; n is returned. The sum with 1.5 * 2^23 rounds to a whole
 * number, which stands in its low bits. */
static inline int32_t ebb__exp_reduce(float x, float *r)
{
    const float round = 12582912.0f;
    const float shifted = x * 1.44269504f + round, n = shifted - round;
    /* ln 2 in two parts, the first of few bits so that n * it is exact. */
    *r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    return ebb__bits_of(shifted) - ebb__bits_of(round);
}
/* (exp(r) - 1 - r) / r^2 for |r| <= 0.35. */
static inline float ebb__exp_tail(float r)
{
    float p = 1.395171725e-03f;
    p = p * r + 8.369598410e-03f;
    p = p * r + 4.166618728e-02f;
    p = p * r + 1.666651289e-01f;
    return p * r + 5.000000101e-01f;
}

static inline float ebb__exp_f32(float x)
{
    float r;
    x = x > 89.0f ? 89.0f : x;
    x = x < -105.0f ? -105.0f : x;
    const int32_t n = ebb__exp_reduce(x, &r), half = n >> 1;
    const float y = 1 + (r + r * r * ebb__exp_tail(r));
    /* In two steps: 2^n alone may be no normal float. */
    return y * ebb__power_of_two(half) * ebb__power_of_two(n - half);
}

/* Whole powers are exact: r = 0. */
static inline float ebb__exp2_f32(float x)
{
    const float round = 12582912.0f;
    x = x > 130.0f ? 130.0f : x;
    x = x < -160.0f ? -160.0f : x;
    const float shifted = x + round, r = (x - (shifted - round)) * 0.693147182f;
    const int32_t n = ebb__bits_of(shifted) - ebb__bits_of(round), half = n >> 1;
    const float y = 1 + (r + r * r * ebb__exp_tail(r));
    return y * ebb__power_of_two(half) * ebb__power_of_two(n - half);
}

/* 2^n (exp(r) - 1) + (2^n - 1), halved so that n = 128 does not overflow before its time. */
static inline float ebb__expm1_f32(float x)
{
    float r;
    const float tiny = x;
    x = x > 89.0f ? 89.0f : x;
    x = x < -20.0f ? -20.0f : x;
    const int32_t n = ebb__exp_reduce(x, &r);
    const float scale = ebb__power_of_two(n - 1);
    const float y = 2 * (scale * (r + r * r * ebb__exp_tail(r)) + (scale - 0.5f));
    return tiny == 0 ? tiny : y;
}

/* ln(x) + shift ln 2 for normal x: x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). */
static inline float ebb__log_normal(float x, float shift)
{
    const int32_t bits = ebb__bits_of(x), n = (int32_t)((uint32_t)bits - 0x3f3504f3u) >> 23;
    const float f = ebb__of_bits((int32_t)((uint32_t)bits - ((uint32_t)n << 23))) - 1;
    const float e = (float)n + shift;
    float p = 6.915146542e-02f;
    p = p * f + -1.178969537e-01f;
    p = p * f + 1.187301634e-01f;
    p = p * f + -1.238437034e-01f;
    p = p * f + 1.421865543e-01f;
    p = p * f + -1.666924946e-01f;
    p = p * f + 2.000222670e-01f;
    p = p * f + -2.499998663e-01f;
    p = p * f + 3.333331044e-01f;
    const float y = f * f * f * p + e * -2.12194440e-4f - 0.5f * f * f;
    return (f + y) + e * 0.693359375f;
}
static inline float ebb__log_f32(float x)
{
    const float scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
    float y = ebb__log_normal(scaled, x < 1.17549435e-38f ? -23.0f : 0.0f);
    y = x == 0 ? -INFINITY : y;
    y = x < 0 ? NAN : y;
    return x == INFINITY || x != x ? x : y;
}

/* log2(1 + f) + n for x = 2^n (1 + f): exact where f = 0. log2(e) in two parts. */
static inline float ebb__log2_f32(float x)
{
    const float scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
    const int32_t bits = ebb__bits_of(scaled),
                  n = (int32_t)((uint32_t)bits - 0x3f3504f3u) >> 23;
    const float f =
        ebb__log_normal(ebb__of_bits((int32_t)((uint32_t)bits - ((uint32_t)n << 23))), 0);
    float y = f * 1.44269502f + f * 1.92596303e-8f;
    y += (float)n + (x < 1.17549435e-38f ? -23.0f : 0.0f);
    y = x == 0 ? -INFINITY : y;
    y = x < 0 ? NAN : y;
    return x == INFINITY || x != x ? x : y;
}

/* ln(1 + x): what the rounding of 1 + x lost is added back. */
static inline float ebb__log1p_f32(float x)
{
    const float w = 1 + x, d = w - 1;
    const float y = ebb__log_f32(w) + (x - d) / w;
    return d == 0 || x == INFINITY ? x : w == 0 ? -INFINITY : y;
}
/* ln(1 + exp(x)), which is max(x, 0) + ln(1 + exp(-|x|)): no special values inside. */
static inline float ebb__softplus_f32(float x)
{
    const float u = ebb__exp_f32(-fabsf(x)), w = 1 + u;
    const float y = ebb__log_normal(w, 0) + (u - (w - 1)) / w;
    return (x > 0 ? x : 0) + (x != x ? x : y);
}
static inline double ebb__softplus_f64(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static inline float ebb__tanh_f32(float x)
{
    float a = fabsf(x), z = x * x;
    a = a > 10.0f ? 10.0f : a;
    const float large = 1 - 2 / (ebb__exp_f32(2 * a) + 1);
    float p = -5.717036547e-03f;
    p = p * z + 2.065057899e-02f;
    p = p * z + -5.374349526e-02f;
    p = p * z + 1.333149125e-01f;
    p = p * z + -3.333328392e-01f;
    const float small = x + x * (z * p);
    return copysignf(a < 0.625f ? small : large, x);
}

static inline float ebb__sigmoid_f32(float x)
{
    const float e = ebb__exp_f32(-fabsf(x)), y = 1 / (1 + e);
    return x < 0 ? e - e * (e * y) : y;
}
static inline double ebb__sigmoid_f64(double x)
{
    const double e = exp(-fabs(x));
    return (x < 0 ? e : 1.0) / (1 + e);
}

/* |x| < 0.93: x times a polynomial in x^2. Above: 1 - exp(-|x| + |x| * a polynomial). */
static inline float ebb__erf_f32(float x)
{
    const float z = x * x;
    float a = fabsf(x), p = 8.345224868e-05f, q = -1.971978205e-06f;
    p = p * z + -8.137437558e-04f;
    p = p * z + 5.200634305e-03f;
    p = p * z + -2.685927078e-02f;
    p = p * z + 1.128369394e-01f;
    p = p * z + -3.761263370e-01f;
    p = p * z + 1.283791666e-01f;
    const float small = x + x * p;
    a = a > 4.0f ? 4.0f : a;
    q = q * a + 1.021943532e-05f;
    q = q * a + 2.254935819e-04f;
    q = q * a + -3.403711870e-03f;
    q = q * a + 2.341970311e-02f;
    q = q * a + -1.059496939e-01f;
    q = q * a + -6.352819302e-01f;
    q = q * a + -1.286236151e-01f;
    const float large = 1 - ebb__exp_f32(a * q - a);
    return a < 0.93f ? small : copysignf(large, x);
}

#define EBB_SOFTPLUS(x) _Generic((x), float : ebb__softplus_f32, default : ebb__softplus_f64)(x)
#define EBB_SIGMOID(x) _Generic((x), float : ebb__sigmoid_f32, default : ebb__sigmoid_f64)(x)
#define EBB_EXP(x) _Generic((x), float : ebb__exp_f32, default : exp)(x)
#define EBB_EXP2(x) _Generic((x), float : ebb__exp2_f32, default : exp2)(x)
#define EBB_EXPM1(x) _Generic((x), float : ebb__expm1_f32, default : expm1)(x)
#define EBB_LOG(x) _Generic((x), float : ebb__log_f32, default : log)(x)
#define EBB_LOG2(x) _Generic((x), float : ebb__log2_f32, default : log2)(x)
#define EBB_LOG10(x) _Generic((x), float : log10f, default : log10)(x)
#define EBB_LOG1P(x) _Generic((x), float : ebb__log1p_f32, default : log1p)(x)
#define EBB_TANH(x) _Generic((x), float : ebb__tanh_f32, default : tanh)(x)
#define EBB_ERF(x) _Generic((x), float : ebb__erf_f32, default : erf)(x)
#define EBB_SIN(x) _Generic((x), float : sinf, default : sin)(x)
#define EBB_COS(x) _Generic((x), float : cosf, default : cos)(x)
#define EBB_POW(x, y) _Generic((x), float : powf, default : pow)(x, y)
#define EBB_SQRT(x) _Generic((x), float : sqrtf, default : sqrt)(x)
#define EBB_FABS(x) _Generic((x), float : fabsf, default : fabs)(x)
#define EBB_FLOOR(x) _Generic((x), float : floorf, default : floor)(x)
#define EBB_CEIL(x) _Generic((x), float : ceilf, default : ceil)(x)
#define EBB_TRUNC(x) _Generic((x), float : truncf, default : trunc)(x)
#define EBB_RINT(x) _Generic((x), float : rintf, default : rint)(x)

#endif
