/* ops_gen.c - the public operations: each packs its attributes and runs its descriptor.
 *
 * Generated from the table of operations (src/ops/ops.def) by gen_ops; edit the descriptors.
 * SPDX-License-Identifier: MIT */
/* clang-format off */
#ifndef EBB_NO_SITES
#define EBB_NO_SITES
#endif
#include "api/call.h"
#include "ops/ids.h"

#include <ebb/ops.h>

#include <string.h>

ebb_tensor *ebb_add(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_add, NULL, 2, in);
}

ebb_tensor *ebb_sub(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_sub, NULL, 2, in);
}

ebb_tensor *ebb_mul(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_mul, NULL, 2, in);
}

ebb_tensor *ebb_div(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_div, NULL, 2, in);
}

ebb_tensor *ebb_neg(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_neg, NULL, 1, in);
}

ebb_tensor *ebb_abs(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_abs, NULL, 1, in);
}

ebb_tensor *ebb_sign(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sign, NULL, 1, in);
}

ebb_tensor *ebb_sqrt(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sqrt, NULL, 1, in);
}

ebb_tensor *ebb_rsqrt(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_rsqrt, NULL, 1, in);
}

ebb_tensor *ebb_reciprocal(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_reciprocal, NULL, 1, in);
}

ebb_tensor *ebb_square(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_square, NULL, 1, in);
}

ebb_tensor *ebb_exp(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_exp, NULL, 1, in);
}

ebb_tensor *ebb_expm1(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_expm1, NULL, 1, in);
}

ebb_tensor *ebb_log(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_log, NULL, 1, in);
}

ebb_tensor *ebb_log1p(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_log1p, NULL, 1, in);
}

ebb_tensor *ebb_sin(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sin, NULL, 1, in);
}

ebb_tensor *ebb_cos(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_cos, NULL, 1, in);
}

ebb_tensor *ebb_erf(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_erf, NULL, 1, in);
}

ebb_tensor *ebb_floor(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_floor, NULL, 1, in);
}

ebb_tensor *ebb_ceil(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_ceil, NULL, 1, in);
}

ebb_tensor *ebb_round(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_round, NULL, 1, in);
}

ebb_tensor *ebb_trunc(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_trunc, NULL, 1, in);
}

struct add_scalar_attr {
    double a;
};
_Static_assert(sizeof(struct add_scalar_attr) == 8, "add_scalar");
_Static_assert(offsetof(struct add_scalar_attr, a) == 0, "add_scalar");
ebb_tensor *ebb_add_scalar(ebb_tensor *x, double a)
{
    struct add_scalar_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.a = a;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_add_scalar, &attr, 1, in);
}

struct mul_scalar_attr {
    double a;
};
_Static_assert(sizeof(struct mul_scalar_attr) == 8, "mul_scalar");
_Static_assert(offsetof(struct mul_scalar_attr, a) == 0, "mul_scalar");
ebb_tensor *ebb_mul_scalar(ebb_tensor *x, double a)
{
    struct mul_scalar_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.a = a;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_mul_scalar, &attr, 1, in);
}

struct pow_scalar_attr {
    double a;
};
_Static_assert(sizeof(struct pow_scalar_attr) == 8, "pow_scalar");
_Static_assert(offsetof(struct pow_scalar_attr, a) == 0, "pow_scalar");
ebb_tensor *ebb_pow_scalar(ebb_tensor *x, double a)
{
    struct pow_scalar_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.a = a;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_pow_scalar, &attr, 1, in);
}

ebb_tensor *ebb_pow(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_pow, NULL, 2, in);
}

struct clamp_attr {
    double lo;
    double hi;
};
_Static_assert(sizeof(struct clamp_attr) == 16, "clamp");
_Static_assert(offsetof(struct clamp_attr, lo) == 0, "clamp");
_Static_assert(offsetof(struct clamp_attr, hi) == 8, "clamp");
ebb_tensor *ebb_clamp(ebb_tensor *x, double lo, double hi)
{
    struct clamp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.lo = lo;
    attr.hi = hi;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_clamp, &attr, 1, in);
}

struct full_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double value;
};
_Static_assert(sizeof(struct full_attr) == 88, "full");
_Static_assert(offsetof(struct full_attr, dtype) == 0, "full");
_Static_assert(offsetof(struct full_attr, shape) == 8, "full");
_Static_assert(offsetof(struct full_attr, value) == 80, "full");
ebb_tensor *ebb_full(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape, double value)
{
    struct full_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.shape = shape;
    attr.value = value;
    return ebb__call1(ctx, &ebb__op_full, &attr, 0, NULL);
}

struct zeros_attr {
    ebb_dtype dtype;
    ebb_shape shape;
};
_Static_assert(sizeof(struct zeros_attr) == 80, "zeros");
_Static_assert(offsetof(struct zeros_attr, dtype) == 0, "zeros");
_Static_assert(offsetof(struct zeros_attr, shape) == 8, "zeros");
ebb_tensor *ebb_zeros(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape)
{
    struct zeros_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.shape = shape;
    return ebb__call1(ctx, &ebb__op_zeros, &attr, 0, NULL);
}

struct ones_attr {
    ebb_dtype dtype;
    ebb_shape shape;
};
_Static_assert(sizeof(struct ones_attr) == 80, "ones");
_Static_assert(offsetof(struct ones_attr, dtype) == 0, "ones");
_Static_assert(offsetof(struct ones_attr, shape) == 8, "ones");
ebb_tensor *ebb_ones(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape)
{
    struct ones_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.shape = shape;
    return ebb__call1(ctx, &ebb__op_ones, &attr, 0, NULL);
}

struct full_like_attr {
    double value;
};
_Static_assert(sizeof(struct full_like_attr) == 8, "full_like");
_Static_assert(offsetof(struct full_like_attr, value) == 0, "full_like");
ebb_tensor *ebb_full_like(ebb_tensor *x, double value)
{
    struct full_like_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.value = value;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_full_like, &attr, 1, in);
}

struct arange_attr {
    ebb_dtype dtype;
    double start;
    double stop;
    double step;
};
_Static_assert(sizeof(struct arange_attr) == 32, "arange");
_Static_assert(offsetof(struct arange_attr, dtype) == 0, "arange");
_Static_assert(offsetof(struct arange_attr, start) == 8, "arange");
_Static_assert(offsetof(struct arange_attr, stop) == 16, "arange");
_Static_assert(offsetof(struct arange_attr, step) == 24, "arange");
ebb_tensor *ebb_arange(ebb_context *ctx, ebb_dtype dtype, double start, double stop,
                       double step)
{
    struct arange_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.start = start;
    attr.stop = stop;
    attr.step = step;
    return ebb__call1(ctx, &ebb__op_arange, &attr, 0, NULL);
}

struct eye_attr {
    ebb_dtype dtype;
    int64_t n;
};
_Static_assert(sizeof(struct eye_attr) == 16, "eye");
_Static_assert(offsetof(struct eye_attr, dtype) == 0, "eye");
_Static_assert(offsetof(struct eye_attr, n) == 8, "eye");
ebb_tensor *ebb_eye(ebb_context *ctx, ebb_dtype dtype, int64_t n)
{
    struct eye_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.n = n;
    return ebb__call1(ctx, &ebb__op_eye, &attr, 0, NULL);
}
