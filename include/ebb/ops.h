/* ops.h - the operations: they take tensors and return tensors.
 *
 * Generated from the table of operations (src/ops/ops.def) by gen_ops; edit the descriptors.
 *
 * Inputs are borrowed; results belong to the innermost open scope. A failed operation returns NULL
 * and leaves the reason in the thread's error record; NULL as an input passes the failure on.
 * Several outputs are written to out-parameters, all NULL on failure.
 * Errors common to all: E_MISUSE no open scope, a stale handle, an option that must be zero;
 * E_SHAPE, E_DTYPE and E_RANGE where inputs and attributes do not fit; E_BUDGET; E_NOMEM.
 * Options may be NULL; zero is the default of every member. docs/ops.md has the whole table.
 * SPDX-License-Identifier: MIT */
/* clang-format off */
#ifndef EBB_OPS_H
#define EBB_OPS_H

#include <ebb/axes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out = x + y, elementwise; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_add(ebb_tensor *x, ebb_tensor *y);

/* out = x - y, elementwise; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sub(ebb_tensor *x, ebb_tensor *y);

/* out = x * y, elementwise; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mul(ebb_tensor *x, ebb_tensor *y);

/* out = x / y, elementwise, f32 or f64; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_div(ebb_tensor *x, ebb_tensor *y);

/* out = -x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_neg(ebb_tensor *x);

/* out = |x|; the gradient at 0 is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_abs(ebb_tensor *x);

/* out = -1, 0 or 1; NaN stays NaN. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sign(ebb_tensor *x);

/* out = sqrt(x), NaN for x < 0; the gradient at 0 is infinite. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sqrt(ebb_tensor *x);

/* out = 1 / sqrt(x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_rsqrt(ebb_tensor *x);

/* out = 1 / x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_reciprocal(ebb_tensor *x);

/* out = x * x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_square(ebb_tensor *x);

/* out = exp(x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_exp(ebb_tensor *x);

/* out = exp(x) - 1, exact near 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_expm1(ebb_tensor *x);

/* out = ln(x), NaN for x < 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_log(ebb_tensor *x);

/* out = ln(1 + x), exact near 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_log1p(ebb_tensor *x);

/* out = sin(x), radians. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sin(ebb_tensor *x);

/* out = cos(x), radians. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cos(ebb_tensor *x);

/* out = 2 / sqrt(pi) * (integral of exp(-t^2) from 0 to x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_erf(ebb_tensor *x);

/* out = the largest whole number <= x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_floor(ebb_tensor *x);

/* out = the smallest whole number >= x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_ceil(ebb_tensor *x);

/* out = the whole number nearest to x; halves go to the even one. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_round(ebb_tensor *x);

/* out = x without its fraction. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_trunc(ebb_tensor *x);

/* out = x + a.
 *   a          a number; whole for integer tensors */
EBB_API EBB_NODISCARD ebb_tensor *ebb_add_scalar(ebb_tensor *x, double a);

/* out = x * a.
 *   a          a number; whole for integer tensors */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mul_scalar(ebb_tensor *x, double a);

/* out = x^a, f32 or f64; the gradient is 0 where a = 0.
 *   a          a number; whole for integer tensors */
EBB_API EBB_NODISCARD ebb_tensor *ebb_pow_scalar(ebb_tensor *x, double a);

/* out = x^y, elementwise, f32 or f64; shapes broadcast as in NumPy. The gradient of x is 0
 * where y = 0, that of y is 0 where x = 0 and y >= 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_pow(ebb_tensor *x, ebb_tensor *y);

/* out = min(max(x, lo), hi), NaN stays NaN; the gradient is 1 for lo <= x <= hi (and for
 * NaN), else 0, and 0 everywhere where lo = hi.
 *   lo         lower bound; -INFINITY for none
 *   hi         upper bound; INFINITY for none */
EBB_API EBB_NODISCARD ebb_tensor *ebb_clamp(ebb_tensor *x, double lo, double hi);

/* Every element is value.
 *   value      one that the dtype holds */
EBB_API EBB_NODISCARD ebb_tensor *ebb_full(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape,
                                           double value);

/* Every element is 0 (false). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_zeros(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape);

/* Every element is 1 (true). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_ones(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape);

/* Every element is value; dtype and shape are x's. Reads no element of x.
 *   value      one that the dtype holds */
EBB_API EBB_NODISCARD ebb_tensor *ebb_full_like(ebb_tensor *x, double value);

/* out[i] = start + i * step, for all i with out[i] before stop.
 *   dtype      a number's
 *   start      the first element
 *   stop       not reached
 *   step       not 0; negative counts down */
EBB_API EBB_NODISCARD ebb_tensor *ebb_arange(ebb_context *ctx, ebb_dtype dtype, double start,
                                             double stop, double step);

/* An n by n matrix with ones on the diagonal, else zeros.
 *   n          rows and columns */
EBB_API EBB_NODISCARD ebb_tensor *ebb_eye(ebb_context *ctx, ebb_dtype dtype, int64_t n);

/* The caller's line in messages. Arguments are evaluated first, so that a nested call cannot
 * leave its own line behind. EBB_NO_SITES: without. */
#ifndef EBB_NO_SITES
static inline EBB_NODISCARD ebb_tensor *ebb__add_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    return (ebb_add)(x, y);
}
#define ebb_add(...) ebb__add_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sub_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    return (ebb_sub)(x, y);
}
#define ebb_sub(...) ebb__sub_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mul_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    return (ebb_mul)(x, y);
}
#define ebb_mul(...) ebb__mul_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__div_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    return (ebb_div)(x, y);
}
#define ebb_div(...) ebb__div_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__neg_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_neg)(x);
}
#define ebb_neg(...) ebb__neg_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__abs_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_abs)(x);
}
#define ebb_abs(...) ebb__abs_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sign_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_sign)(x);
}
#define ebb_sign(...) ebb__sign_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sqrt_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_sqrt)(x);
}
#define ebb_sqrt(...) ebb__sqrt_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__rsqrt_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_rsqrt)(x);
}
#define ebb_rsqrt(...) ebb__rsqrt_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__reciprocal_at(const char *file, int32_t line,
                                                           ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_reciprocal)(x);
}
#define ebb_reciprocal(...) ebb__reciprocal_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__square_at(const char *file, int32_t line,
                                                       ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_square)(x);
}
#define ebb_square(...) ebb__square_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__exp_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_exp)(x);
}
#define ebb_exp(...) ebb__exp_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__expm1_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_expm1)(x);
}
#define ebb_expm1(...) ebb__expm1_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__log_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_log)(x);
}
#define ebb_log(...) ebb__log_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__log1p_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_log1p)(x);
}
#define ebb_log1p(...) ebb__log1p_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sin_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_sin)(x);
}
#define ebb_sin(...) ebb__sin_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cos_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_cos)(x);
}
#define ebb_cos(...) ebb__cos_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__erf_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_erf)(x);
}
#define ebb_erf(...) ebb__erf_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__floor_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_floor)(x);
}
#define ebb_floor(...) ebb__floor_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__ceil_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_ceil)(x);
}
#define ebb_ceil(...) ebb__ceil_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__round_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_round)(x);
}
#define ebb_round(...) ebb__round_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__trunc_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    return (ebb_trunc)(x);
}
#define ebb_trunc(...) ebb__trunc_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__add_scalar_at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    return (ebb_add_scalar)(x, a);
}
#define ebb_add_scalar(...) ebb__add_scalar_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mul_scalar_at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    return (ebb_mul_scalar)(x, a);
}
#define ebb_mul_scalar(...) ebb__mul_scalar_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__pow_scalar_at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    return (ebb_pow_scalar)(x, a);
}
#define ebb_pow_scalar(...) ebb__pow_scalar_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__pow_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    return (ebb_pow)(x, y);
}
#define ebb_pow(...) ebb__pow_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__clamp_at(const char *file, int32_t line,
                                                      ebb_tensor *x, double lo, double hi)
{
    ebb__at(file, line);
    return (ebb_clamp)(x, lo, hi);
}
#define ebb_clamp(...) ebb__clamp_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__full_at(const char *file, int32_t line,
                                                     ebb_context *ctx, ebb_dtype dtype,
                                                     ebb_shape shape, double value)
{
    ebb__at(file, line);
    return (ebb_full)(ctx, dtype, shape, value);
}
#define ebb_full(...) ebb__full_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__zeros_at(const char *file, int32_t line,
                                                      ebb_context *ctx, ebb_dtype dtype,
                                                      ebb_shape shape)
{
    ebb__at(file, line);
    return (ebb_zeros)(ctx, dtype, shape);
}
#define ebb_zeros(...) ebb__zeros_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__ones_at(const char *file, int32_t line,
                                                     ebb_context *ctx, ebb_dtype dtype,
                                                     ebb_shape shape)
{
    ebb__at(file, line);
    return (ebb_ones)(ctx, dtype, shape);
}
#define ebb_ones(...) ebb__ones_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__full_like_at(const char *file, int32_t line,
                                                          ebb_tensor *x, double value)
{
    ebb__at(file, line);
    return (ebb_full_like)(x, value);
}
#define ebb_full_like(...) ebb__full_like_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__arange_at(const char *file, int32_t line,
                                                       ebb_context *ctx, ebb_dtype dtype,
                                                       double start, double stop, double step)
{
    ebb__at(file, line);
    return (ebb_arange)(ctx, dtype, start, stop, step);
}
#define ebb_arange(...) ebb__arange_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__eye_at(const char *file, int32_t line,
                                                    ebb_context *ctx, ebb_dtype dtype,
                                                    int64_t n)
{
    ebb__at(file, line);
    return (ebb_eye)(ctx, dtype, n);
}
#define ebb_eye(...) ebb__eye_at(__FILE__, __LINE__, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif
