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

ebb_status ebb_add_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_add, "add_", NULL, 2, in);
}

ebb_tensor *ebb_sub(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_sub, NULL, 2, in);
}

ebb_status ebb_sub_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_sub, "sub_", NULL, 2, in);
}

ebb_tensor *ebb_mul(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_mul, NULL, 2, in);
}

ebb_status ebb_mul_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_mul, "mul_", NULL, 2, in);
}

ebb_tensor *ebb_div(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_div, NULL, 2, in);
}

ebb_status ebb_div_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_div, "div_", NULL, 2, in);
}

ebb_tensor *ebb_neg(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_neg, NULL, 1, in);
}

ebb_status ebb_neg_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_neg, "neg_", NULL, 1, in);
}

ebb_tensor *ebb_abs(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_abs, NULL, 1, in);
}

ebb_status ebb_abs_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_abs, "abs_", NULL, 1, in);
}

ebb_tensor *ebb_sign(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sign, NULL, 1, in);
}

ebb_status ebb_sign_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_sign, "sign_", NULL, 1, in);
}

ebb_tensor *ebb_sqrt(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sqrt, NULL, 1, in);
}

ebb_status ebb_sqrt_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_sqrt, "sqrt_", NULL, 1, in);
}

ebb_tensor *ebb_rsqrt(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_rsqrt, NULL, 1, in);
}

ebb_status ebb_rsqrt_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_rsqrt, "rsqrt_", NULL, 1, in);
}

ebb_tensor *ebb_reciprocal(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_reciprocal, NULL, 1, in);
}

ebb_status ebb_reciprocal_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_reciprocal, "reciprocal_", NULL, 1, in);
}

ebb_tensor *ebb_square(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_square, NULL, 1, in);
}

ebb_status ebb_square_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_square, "square_", NULL, 1, in);
}

ebb_tensor *ebb_exp(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_exp, NULL, 1, in);
}

ebb_status ebb_exp_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_exp, "exp_", NULL, 1, in);
}

ebb_tensor *ebb_expm1(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_expm1, NULL, 1, in);
}

ebb_status ebb_expm1_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_expm1, "expm1_", NULL, 1, in);
}

ebb_tensor *ebb_log(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_log, NULL, 1, in);
}

ebb_status ebb_log_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_log, "log_", NULL, 1, in);
}

ebb_tensor *ebb_log1p(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_log1p, NULL, 1, in);
}

ebb_status ebb_log1p_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_log1p, "log1p_", NULL, 1, in);
}

ebb_tensor *ebb_sin(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sin, NULL, 1, in);
}

ebb_status ebb_sin_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_sin, "sin_", NULL, 1, in);
}

ebb_tensor *ebb_cos(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_cos, NULL, 1, in);
}

ebb_status ebb_cos_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_cos, "cos_", NULL, 1, in);
}

ebb_tensor *ebb_erf(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_erf, NULL, 1, in);
}

ebb_status ebb_erf_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_erf, "erf_", NULL, 1, in);
}

ebb_tensor *ebb_floor(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_floor, NULL, 1, in);
}

ebb_status ebb_floor_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_floor, "floor_", NULL, 1, in);
}

ebb_tensor *ebb_ceil(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_ceil, NULL, 1, in);
}

ebb_status ebb_ceil_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_ceil, "ceil_", NULL, 1, in);
}

ebb_tensor *ebb_round(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_round, NULL, 1, in);
}

ebb_status ebb_round_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_round, "round_", NULL, 1, in);
}

ebb_tensor *ebb_trunc(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_trunc, NULL, 1, in);
}

ebb_status ebb_trunc_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_trunc, "trunc_", NULL, 1, in);
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

ebb_status ebb_add_scalar_(ebb_tensor *x, double a)
{
    struct add_scalar_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.a = a;
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_add_scalar, "add_scalar_", &attr, 1, in);
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

ebb_status ebb_mul_scalar_(ebb_tensor *x, double a)
{
    struct mul_scalar_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.a = a;
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_mul_scalar, "mul_scalar_", &attr, 1, in);
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

ebb_status ebb_pow_scalar_(ebb_tensor *x, double a)
{
    struct pow_scalar_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.a = a;
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_pow_scalar, "pow_scalar_", &attr, 1, in);
}

ebb_tensor *ebb_pow(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_pow, NULL, 2, in);
}

ebb_status ebb_pow_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_pow, "pow_", NULL, 2, in);
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

ebb_status ebb_clamp_(ebb_tensor *x, double lo, double hi)
{
    struct clamp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.lo = lo;
    attr.hi = hi;
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_clamp, "clamp_", &attr, 1, in);
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

struct reshape_attr {
    ebb_shape shape;
};
_Static_assert(sizeof(struct reshape_attr) == 72, "reshape");
_Static_assert(offsetof(struct reshape_attr, shape) == 0, "reshape");
ebb_tensor *ebb_reshape(ebb_tensor *x, ebb_shape shape)
{
    struct reshape_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.shape = shape;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_reshape, &attr, 1, in);
}

struct permute_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct permute_attr) == 80, "permute");
_Static_assert(offsetof(struct permute_attr, axes) == 0, "permute");
ebb_tensor *ebb_permute(ebb_tensor *x, ebb_axes axes)
{
    struct permute_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_permute, &attr, 1, in);
}

struct transpose_attr {
    int64_t a;
    int64_t b;
};
_Static_assert(sizeof(struct transpose_attr) == 16, "transpose");
_Static_assert(offsetof(struct transpose_attr, a) == 0, "transpose");
_Static_assert(offsetof(struct transpose_attr, b) == 8, "transpose");
ebb_tensor *ebb_transpose(ebb_tensor *x, int64_t a, int64_t b)
{
    struct transpose_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.a = a;
    attr.b = b;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_transpose, &attr, 1, in);
}

struct squeeze_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct squeeze_attr) == 8, "squeeze");
_Static_assert(offsetof(struct squeeze_attr, axis) == 0, "squeeze");
ebb_tensor *ebb_squeeze(ebb_tensor *x, int64_t axis)
{
    struct squeeze_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_squeeze, &attr, 1, in);
}

struct unsqueeze_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct unsqueeze_attr) == 8, "unsqueeze");
_Static_assert(offsetof(struct unsqueeze_attr, axis) == 0, "unsqueeze");
ebb_tensor *ebb_unsqueeze(ebb_tensor *x, int64_t axis)
{
    struct unsqueeze_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_unsqueeze, &attr, 1, in);
}

struct expand_attr {
    ebb_shape shape;
};
_Static_assert(sizeof(struct expand_attr) == 72, "expand");
_Static_assert(offsetof(struct expand_attr, shape) == 0, "expand");
ebb_tensor *ebb_expand(ebb_tensor *x, ebb_shape shape)
{
    struct expand_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.shape = shape;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_expand, &attr, 1, in);
}

struct narrow_attr {
    int64_t axis;
    int64_t start;
    int64_t length;
};
_Static_assert(sizeof(struct narrow_attr) == 24, "narrow");
_Static_assert(offsetof(struct narrow_attr, axis) == 0, "narrow");
_Static_assert(offsetof(struct narrow_attr, start) == 8, "narrow");
_Static_assert(offsetof(struct narrow_attr, length) == 16, "narrow");
ebb_tensor *ebb_narrow(ebb_tensor *x, int64_t axis, int64_t start, int64_t length)
{
    struct narrow_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.start = start;
    attr.length = length;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_narrow, &attr, 1, in);
}

struct slice_attr {
    int64_t axis;
    int64_t start;
    int64_t stop;
    int64_t step;
};
_Static_assert(sizeof(struct slice_attr) == 32, "slice");
_Static_assert(offsetof(struct slice_attr, axis) == 0, "slice");
_Static_assert(offsetof(struct slice_attr, start) == 8, "slice");
_Static_assert(offsetof(struct slice_attr, stop) == 16, "slice");
_Static_assert(offsetof(struct slice_attr, step) == 24, "slice");
ebb_tensor *ebb_slice(ebb_tensor *x, int64_t axis, int64_t start, int64_t stop, int64_t step)
{
    struct slice_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.start = start;
    attr.stop = stop;
    attr.step = step;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_slice, &attr, 1, in);
}

struct select_attr {
    int64_t axis;
    int64_t i;
};
_Static_assert(sizeof(struct select_attr) == 16, "select");
_Static_assert(offsetof(struct select_attr, axis) == 0, "select");
_Static_assert(offsetof(struct select_attr, i) == 8, "select");
ebb_tensor *ebb_select(ebb_tensor *x, int64_t axis, int64_t i)
{
    struct select_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.i = i;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_select, &attr, 1, in);
}

struct unfold_attr {
    int64_t axis;
    int64_t size;
    int64_t step;
};
_Static_assert(sizeof(struct unfold_attr) == 24, "unfold");
_Static_assert(offsetof(struct unfold_attr, axis) == 0, "unfold");
_Static_assert(offsetof(struct unfold_attr, size) == 8, "unfold");
_Static_assert(offsetof(struct unfold_attr, step) == 16, "unfold");
ebb_tensor *ebb_unfold(ebb_tensor *x, int64_t axis, int64_t size, int64_t step)
{
    struct unfold_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.size = size;
    attr.step = step;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_unfold, &attr, 1, in);
}

struct flatten_attr {
    int64_t start;
    int64_t end;
};
_Static_assert(sizeof(struct flatten_attr) == 16, "flatten");
_Static_assert(offsetof(struct flatten_attr, start) == 0, "flatten");
_Static_assert(offsetof(struct flatten_attr, end) == 8, "flatten");
ebb_tensor *ebb_flatten(ebb_tensor *x, int64_t start, int64_t end)
{
    struct flatten_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.start = start;
    attr.end = end;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_flatten, &attr, 1, in);
}

struct broadcast_to_attr {
    ebb_shape shape;
};
_Static_assert(sizeof(struct broadcast_to_attr) == 72, "broadcast_to");
_Static_assert(offsetof(struct broadcast_to_attr, shape) == 0, "broadcast_to");
ebb_tensor *ebb_broadcast_to(ebb_tensor *x, ebb_shape shape)
{
    struct broadcast_to_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.shape = shape;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_broadcast_to, &attr, 1, in);
}

struct chunk_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct chunk_attr) == 8, "chunk");
_Static_assert(offsetof(struct chunk_attr, axis) == 0, "chunk");
ebb_status ebb_chunk(ebb_tensor **parts_out, int64_t n_out, ebb_tensor *x, int64_t axis)
{
    struct chunk_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call_parts(parts_out, n_out, &ebb__op_chunk, &attr, in, 1);
}

struct meshgrid_attr {
    bool xy;
};
_Static_assert(sizeof(struct meshgrid_attr) == 1, "meshgrid");
_Static_assert(offsetof(struct meshgrid_attr, xy) == 0, "meshgrid");
ebb_status ebb_meshgrid(ebb_tensor **grids_out, int64_t n_out, ebb_tensor *const *xs, int64_t n,
                        const ebb_meshgrid_options *options)
{
    struct meshgrid_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_meshgrid, options->reserved));
        attr.xy = options->xy;
    }
    return ebb__call_parts(grids_out, n_out, &ebb__op_meshgrid, &attr, xs, n);
}

struct diagonal_attr {
    int64_t offset;
    int64_t a;
    int64_t b;
};
_Static_assert(sizeof(struct diagonal_attr) == 24, "diagonal");
_Static_assert(offsetof(struct diagonal_attr, offset) == 0, "diagonal");
_Static_assert(offsetof(struct diagonal_attr, a) == 8, "diagonal");
_Static_assert(offsetof(struct diagonal_attr, b) == 16, "diagonal");
ebb_tensor *ebb_diagonal(ebb_tensor *x, int64_t offset, int64_t a, int64_t b)
{
    struct diagonal_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.offset = offset;
    attr.a = a;
    attr.b = b;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_diagonal, &attr, 1, in);
}

struct diag_embed_attr {
    int64_t offset;
    int64_t a;
    int64_t b;
};
_Static_assert(sizeof(struct diag_embed_attr) == 24, "diag_embed");
_Static_assert(offsetof(struct diag_embed_attr, offset) == 0, "diag_embed");
_Static_assert(offsetof(struct diag_embed_attr, a) == 8, "diag_embed");
_Static_assert(offsetof(struct diag_embed_attr, b) == 16, "diag_embed");
ebb_tensor *ebb_diag_embed(ebb_tensor *x, int64_t offset, int64_t a, int64_t b)
{
    struct diag_embed_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.offset = offset;
    attr.a = a;
    attr.b = b;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_diag_embed, &attr, 1, in);
}

struct diag_attr {
    int64_t offset;
};
_Static_assert(sizeof(struct diag_attr) == 8, "diag");
_Static_assert(offsetof(struct diag_attr, offset) == 0, "diag");
ebb_tensor *ebb_diag(ebb_tensor *x, int64_t offset)
{
    struct diag_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.offset = offset;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_diag, &attr, 1, in);
}

ebb_tensor *ebb_trace(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_trace, NULL, 1, in);
}

struct repeat_attr {
    ebb_shape reps;
};
_Static_assert(sizeof(struct repeat_attr) == 72, "repeat");
_Static_assert(offsetof(struct repeat_attr, reps) == 0, "repeat");
ebb_tensor *ebb_repeat(ebb_tensor *x, ebb_shape reps)
{
    struct repeat_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.reps = reps;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_repeat, &attr, 1, in);
}

struct tile_attr {
    ebb_shape reps;
};
_Static_assert(sizeof(struct tile_attr) == 72, "tile");
_Static_assert(offsetof(struct tile_attr, reps) == 0, "tile");
ebb_tensor *ebb_tile(ebb_tensor *x, ebb_shape reps)
{
    struct tile_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.reps = reps;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_tile, &attr, 1, in);
}

struct roll_attr {
    ebb_shape shifts;
    ebb_axes axes;
};
_Static_assert(sizeof(struct roll_attr) == 152, "roll");
_Static_assert(offsetof(struct roll_attr, shifts) == 0, "roll");
_Static_assert(offsetof(struct roll_attr, axes) == 72, "roll");
ebb_tensor *ebb_roll(ebb_tensor *x, ebb_shape shifts, ebb_axes axes)
{
    struct roll_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.shifts = shifts;
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_roll, &attr, 1, in);
}

struct pad_attr {
    int64_t mode;
    double value;
    ebb_shape before;
    ebb_shape after;
};
_Static_assert(sizeof(struct pad_attr) == 160, "pad");
_Static_assert(offsetof(struct pad_attr, mode) == 0, "pad");
_Static_assert(offsetof(struct pad_attr, value) == 8, "pad");
_Static_assert(offsetof(struct pad_attr, before) == 16, "pad");
_Static_assert(offsetof(struct pad_attr, after) == 88, "pad");
ebb_tensor *ebb_pad(ebb_tensor *x, ebb_shape before, ebb_shape after,
                    const ebb_pad_options *options)
{
    struct pad_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.before = before;
    attr.after = after;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_pad, options->reserved) != EBB_OK) return NULL;
        attr.mode = options->mode;
        attr.value = options->value;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_pad, &attr, 1, in);
}

ebb_tensor *ebb_clone(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_clone, NULL, 1, in);
}

struct flip_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct flip_attr) == 80, "flip");
_Static_assert(offsetof(struct flip_attr, axes) == 0, "flip");
ebb_tensor *ebb_flip(ebb_tensor *x, ebb_axes axes)
{
    struct flip_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_flip, &attr, 1, in);
}

struct slice_assign_attr {
    int64_t axis;
    int64_t start;
    int64_t stop;
    int64_t step;
};
_Static_assert(sizeof(struct slice_assign_attr) == 32, "slice_assign");
_Static_assert(offsetof(struct slice_assign_attr, axis) == 0, "slice_assign");
_Static_assert(offsetof(struct slice_assign_attr, start) == 8, "slice_assign");
_Static_assert(offsetof(struct slice_assign_attr, stop) == 16, "slice_assign");
_Static_assert(offsetof(struct slice_assign_attr, step) == 24, "slice_assign");
ebb_tensor *ebb_slice_assign(ebb_tensor *x, ebb_tensor *y, int64_t axis, int64_t start,
                             int64_t stop, int64_t step)
{
    struct slice_assign_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.start = start;
    attr.stop = stop;
    attr.step = step;
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_slice_assign, &attr, 2, in);
}

ebb_status ebb_slice_assign_(ebb_tensor *x, ebb_tensor *y, int64_t axis, int64_t start,
                             int64_t stop, int64_t step)
{
    struct slice_assign_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.start = start;
    attr.stop = stop;
    attr.step = step;
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_slice_assign, "slice_assign_", &attr, 2, in);
}

ebb_status ebb_copy_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_copy, "copy_", NULL, 2, in);
}

struct fill_attr {
    double value;
};
_Static_assert(sizeof(struct fill_attr) == 8, "fill");
_Static_assert(offsetof(struct fill_attr, value) == 0, "fill");
ebb_status ebb_fill_(ebb_tensor *x, double value)
{
    struct fill_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.value = value;
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_fill, "fill_", &attr, 1, in);
}

ebb_status ebb_zero_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_zero, "zero_", NULL, 1, in);
}

struct sum_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct sum_attr) == 80, "sum");
_Static_assert(offsetof(struct sum_attr, axes) == 0, "sum");
ebb_tensor *ebb_sum(ebb_tensor *x, ebb_axes axes)
{
    struct sum_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sum, &attr, 1, in);
}

struct mean_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct mean_attr) == 80, "mean");
_Static_assert(offsetof(struct mean_attr, axes) == 0, "mean");
ebb_tensor *ebb_mean(ebb_tensor *x, ebb_axes axes)
{
    struct mean_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_mean, &attr, 1, in);
}

struct prod_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct prod_attr) == 80, "prod");
_Static_assert(offsetof(struct prod_attr, axes) == 0, "prod");
ebb_tensor *ebb_prod(ebb_tensor *x, ebb_axes axes)
{
    struct prod_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_prod, &attr, 1, in);
}

struct amax_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct amax_attr) == 80, "amax");
_Static_assert(offsetof(struct amax_attr, axes) == 0, "amax");
ebb_tensor *ebb_amax(ebb_tensor *x, ebb_axes axes)
{
    struct amax_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_amax, &attr, 1, in);
}

struct amin_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct amin_attr) == 80, "amin");
_Static_assert(offsetof(struct amin_attr, axes) == 0, "amin");
ebb_tensor *ebb_amin(ebb_tensor *x, ebb_axes axes)
{
    struct amin_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_amin, &attr, 1, in);
}

struct any_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct any_attr) == 80, "any");
_Static_assert(offsetof(struct any_attr, axes) == 0, "any");
ebb_tensor *ebb_any(ebb_tensor *x, ebb_axes axes)
{
    struct any_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_any, &attr, 1, in);
}

struct all_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct all_attr) == 80, "all");
_Static_assert(offsetof(struct all_attr, axes) == 0, "all");
ebb_tensor *ebb_all(ebb_tensor *x, ebb_axes axes)
{
    struct all_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_all, &attr, 1, in);
}

struct var_attr {
    bool population;
    int64_t correction;
    ebb_axes axes;
};
_Static_assert(sizeof(struct var_attr) == 96, "var");
_Static_assert(offsetof(struct var_attr, population) == 0, "var");
_Static_assert(offsetof(struct var_attr, correction) == 8, "var");
_Static_assert(offsetof(struct var_attr, axes) == 16, "var");
ebb_tensor *ebb_var(ebb_tensor *x, ebb_axes axes, const ebb_var_options *options)
{
    struct var_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_var, options->reserved) != EBB_OK) return NULL;
        attr.population = options->population;
        attr.correction = options->correction;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_var, &attr, 1, in);
}

struct std_attr {
    bool population;
    int64_t correction;
    ebb_axes axes;
};
_Static_assert(sizeof(struct std_attr) == 96, "std");
_Static_assert(offsetof(struct std_attr, population) == 0, "std");
_Static_assert(offsetof(struct std_attr, correction) == 8, "std");
_Static_assert(offsetof(struct std_attr, axes) == 16, "std");
ebb_tensor *ebb_std(ebb_tensor *x, ebb_axes axes, const ebb_var_options *options)
{
    struct std_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_std, options->reserved) != EBB_OK) return NULL;
        attr.population = options->population;
        attr.correction = options->correction;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_std, &attr, 1, in);
}

struct logsumexp_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct logsumexp_attr) == 80, "logsumexp");
_Static_assert(offsetof(struct logsumexp_attr, axes) == 0, "logsumexp");
ebb_tensor *ebb_logsumexp(ebb_tensor *x, ebb_axes axes)
{
    struct logsumexp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_logsumexp, &attr, 1, in);
}

ebb_tensor *ebb_eq(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_eq, NULL, 2, in);
}

ebb_tensor *ebb_ne(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_ne, NULL, 2, in);
}

ebb_tensor *ebb_lt(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_lt, NULL, 2, in);
}

ebb_tensor *ebb_le(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_le, NULL, 2, in);
}

ebb_tensor *ebb_gt(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_gt, NULL, 2, in);
}

ebb_tensor *ebb_ge(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_ge, NULL, 2, in);
}

ebb_tensor *ebb_logical_and(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_logical_and, NULL, 2, in);
}

ebb_tensor *ebb_logical_or(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_logical_or, NULL, 2, in);
}

ebb_tensor *ebb_logical_not(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_logical_not, NULL, 1, in);
}

ebb_tensor *ebb_isnan(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_isnan, NULL, 1, in);
}

ebb_tensor *ebb_isinf(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_isinf, NULL, 1, in);
}

ebb_tensor *ebb_isfinite(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_isfinite, NULL, 1, in);
}

ebb_tensor *ebb_where(ebb_tensor *cond, ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {cond, x, y};
    return ebb__call1(NULL, &ebb__op_where, NULL, 3, in);
}

struct masked_fill_attr {
    double value;
};
_Static_assert(sizeof(struct masked_fill_attr) == 8, "masked_fill");
_Static_assert(offsetof(struct masked_fill_attr, value) == 0, "masked_fill");
ebb_tensor *ebb_masked_fill(ebb_tensor *x, ebb_tensor *mask, double value)
{
    struct masked_fill_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.value = value;
    ebb_tensor *const in[] = {x, mask};
    return ebb__call1(NULL, &ebb__op_masked_fill, &attr, 2, in);
}

ebb_status ebb_masked_fill_(ebb_tensor *x, ebb_tensor *mask, double value)
{
    struct masked_fill_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.value = value;
    ebb_tensor *const in[] = {x, mask};
    return ebb__run_in_place(&ebb__op_masked_fill, "masked_fill_", &attr, 2, in);
}

ebb_tensor *ebb_maximum(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_maximum, NULL, 2, in);
}

ebb_status ebb_maximum_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_maximum, "maximum_", NULL, 2, in);
}

ebb_tensor *ebb_minimum(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_minimum, NULL, 2, in);
}

ebb_status ebb_minimum_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_minimum, "minimum_", NULL, 2, in);
}

struct cast_attr {
    ebb_dtype dtype;
};
_Static_assert(sizeof(struct cast_attr) == 4, "cast");
_Static_assert(offsetof(struct cast_attr, dtype) == 0, "cast");
ebb_tensor *ebb_cast(ebb_tensor *x, ebb_dtype dtype)
{
    struct cast_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_cast, &attr, 1, in);
}

ebb_tensor *ebb_matmul(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_matmul, NULL, 2, in);
}

ebb_tensor *ebb_linear(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b)
{
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_linear, NULL, 3, in);
}

struct conv1d_attr {
    int64_t stride;
    int64_t padding;
    int64_t dilation;
    int64_t groups;
};
_Static_assert(sizeof(struct conv1d_attr) == 32, "conv1d");
_Static_assert(offsetof(struct conv1d_attr, stride) == 0, "conv1d");
_Static_assert(offsetof(struct conv1d_attr, padding) == 8, "conv1d");
_Static_assert(offsetof(struct conv1d_attr, dilation) == 16, "conv1d");
_Static_assert(offsetof(struct conv1d_attr, groups) == 24, "conv1d");
ebb_tensor *ebb_conv1d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                       const ebb_conv1d_options *options)
{
    struct conv1d_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_conv1d, options->reserved) != EBB_OK) return NULL;
        attr.stride = options->stride;
        attr.padding = options->padding;
        attr.dilation = options->dilation;
        attr.groups = options->groups;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_conv1d, &attr, 3, in);
}

ebb_tensor *ebb_mv(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_mv, NULL, 2, in);
}

ebb_tensor *ebb_dot(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_dot, NULL, 2, in);
}

ebb_tensor *ebb_outer(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_outer, NULL, 2, in);
}

ebb_tensor *ebb_bmm(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bmm, NULL, 2, in);
}

struct addmm_attr {
    double beta;
    double alpha;
};
_Static_assert(sizeof(struct addmm_attr) == 16, "addmm");
_Static_assert(offsetof(struct addmm_attr, beta) == 0, "addmm");
_Static_assert(offsetof(struct addmm_attr, alpha) == 8, "addmm");
ebb_tensor *ebb_addmm(ebb_tensor *x, ebb_tensor *a, ebb_tensor *b, double beta, double alpha)
{
    struct addmm_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.beta = beta;
    attr.alpha = alpha;
    ebb_tensor *const in[] = {x, a, b};
    return ebb__call1(NULL, &ebb__op_addmm, &attr, 3, in);
}

struct baddbmm_attr {
    double beta;
    double alpha;
};
_Static_assert(sizeof(struct baddbmm_attr) == 16, "baddbmm");
_Static_assert(offsetof(struct baddbmm_attr, beta) == 0, "baddbmm");
_Static_assert(offsetof(struct baddbmm_attr, alpha) == 8, "baddbmm");
ebb_tensor *ebb_baddbmm(ebb_tensor *x, ebb_tensor *a, ebb_tensor *b, double beta, double alpha)
{
    struct baddbmm_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.beta = beta;
    attr.alpha = alpha;
    ebb_tensor *const in[] = {x, a, b};
    return ebb__call1(NULL, &ebb__op_baddbmm, &attr, 3, in);
}

struct einsum_attr {
    const char * equation;
};
_Static_assert(sizeof(struct einsum_attr) == 8, "einsum");
_Static_assert(offsetof(struct einsum_attr, equation) == 0, "einsum");
ebb_tensor *ebb_einsum(ebb_tensor *const *xs, int64_t n, const char *equation)
{
    struct einsum_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.equation = equation;
    return ebb__call_list(&ebb__op_einsum, &attr, NULL, 0, xs, n);
}

ebb_tensor *ebb_inverse(ebb_tensor *a)
{
    ebb_tensor *const in[] = {a};
    return ebb__call1(NULL, &ebb__op_inverse, NULL, 1, in);
}

ebb_tensor *ebb_solve(ebb_tensor *a, ebb_tensor *b)
{
    ebb_tensor *const in[] = {a, b};
    return ebb__call1(NULL, &ebb__op_solve, NULL, 2, in);
}

struct triangular_solve_attr {
    bool upper;
    bool transpose;
    bool unitriangular;
    bool right;
};
_Static_assert(sizeof(struct triangular_solve_attr) == 4, "triangular_solve");
_Static_assert(offsetof(struct triangular_solve_attr, upper) == 0, "triangular_solve");
_Static_assert(offsetof(struct triangular_solve_attr, transpose) == 1, "triangular_solve");
_Static_assert(offsetof(struct triangular_solve_attr, unitriangular) == 2, "triangular_solve");
_Static_assert(offsetof(struct triangular_solve_attr, right) == 3, "triangular_solve");
ebb_tensor *ebb_triangular_solve(ebb_tensor *a, ebb_tensor *b,
                                 const ebb_triangular_solve_options *options)
{
    struct triangular_solve_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_triangular_solve, options->reserved) != EBB_OK) return NULL;
        attr.upper = options->upper;
        attr.transpose = options->transpose;
        attr.unitriangular = options->unitriangular;
        attr.right = options->right;
    }
    ebb_tensor *const in[] = {a, b};
    return ebb__call1(NULL, &ebb__op_triangular_solve, &attr, 2, in);
}

struct cholesky_attr {
    bool upper;
};
_Static_assert(sizeof(struct cholesky_attr) == 1, "cholesky");
_Static_assert(offsetof(struct cholesky_attr, upper) == 0, "cholesky");
ebb_tensor *ebb_cholesky(ebb_tensor *a, const ebb_cholesky_options *options)
{
    struct cholesky_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_cholesky, options->reserved) != EBB_OK) return NULL;
        attr.upper = options->upper;
    }
    ebb_tensor *const in[] = {a};
    return ebb__call1(NULL, &ebb__op_cholesky, &attr, 1, in);
}

ebb_tensor *ebb_det(ebb_tensor *a)
{
    ebb_tensor *const in[] = {a};
    return ebb__call1(NULL, &ebb__op_det, NULL, 1, in);
}

ebb_status ebb_slogdet(ebb_tensor **sign_out, ebb_tensor **logabsdet_out, ebb_tensor *a)
{
    ebb_tensor *const in[] = {a};
    ebb_tensor **const out[] = {sign_out, logabsdet_out};
    return ebb__call_outs(out, 2, &ebb__op_slogdet, NULL, 1, in);
}

struct rfft_attr {
    int64_t n;
    int64_t norm;
    int64_t axis;
};
_Static_assert(sizeof(struct rfft_attr) == 24, "rfft");
_Static_assert(offsetof(struct rfft_attr, n) == 0, "rfft");
_Static_assert(offsetof(struct rfft_attr, norm) == 8, "rfft");
_Static_assert(offsetof(struct rfft_attr, axis) == 16, "rfft");
ebb_tensor *ebb_rfft(ebb_tensor *x, int64_t axis, const ebb_fft_options *options)
{
    struct rfft_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_rfft, options->reserved) != EBB_OK) return NULL;
        attr.n = options->n;
        attr.norm = options->norm;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_rfft, &attr, 1, in);
}

struct irfft_attr {
    int64_t n;
    int64_t norm;
    int64_t axis;
};
_Static_assert(sizeof(struct irfft_attr) == 24, "irfft");
_Static_assert(offsetof(struct irfft_attr, n) == 0, "irfft");
_Static_assert(offsetof(struct irfft_attr, norm) == 8, "irfft");
_Static_assert(offsetof(struct irfft_attr, axis) == 16, "irfft");
ebb_tensor *ebb_irfft(ebb_tensor *x, int64_t axis, const ebb_fft_options *options)
{
    struct irfft_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_irfft, options->reserved) != EBB_OK) return NULL;
        attr.n = options->n;
        attr.norm = options->norm;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_irfft, &attr, 1, in);
}

struct conv2d_attr {
    int64_t stride[2];
    int64_t padding[2];
    int64_t dilation[2];
    int64_t groups;
};
_Static_assert(sizeof(struct conv2d_attr) == 56, "conv2d");
_Static_assert(offsetof(struct conv2d_attr, stride) == 0, "conv2d");
_Static_assert(offsetof(struct conv2d_attr, padding) == 16, "conv2d");
_Static_assert(offsetof(struct conv2d_attr, dilation) == 32, "conv2d");
_Static_assert(offsetof(struct conv2d_attr, groups) == 48, "conv2d");
ebb_tensor *ebb_conv2d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                       const ebb_conv2d_options *options)
{
    struct conv2d_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_conv2d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.groups = options->groups;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_conv2d, &attr, 3, in);
}

struct conv3d_attr {
    int64_t stride[3];
    int64_t padding[3];
    int64_t dilation[3];
    int64_t groups;
};
_Static_assert(sizeof(struct conv3d_attr) == 80, "conv3d");
_Static_assert(offsetof(struct conv3d_attr, stride) == 0, "conv3d");
_Static_assert(offsetof(struct conv3d_attr, padding) == 24, "conv3d");
_Static_assert(offsetof(struct conv3d_attr, dilation) == 48, "conv3d");
_Static_assert(offsetof(struct conv3d_attr, groups) == 72, "conv3d");
ebb_tensor *ebb_conv3d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                       const ebb_conv3d_options *options)
{
    struct conv3d_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_conv3d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.stride[2] = options->stride[2];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.padding[2] = options->padding[2];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.dilation[2] = options->dilation[2];
        attr.groups = options->groups;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_conv3d, &attr, 3, in);
}

struct conv_transpose1d_attr {
    int64_t stride;
    int64_t padding;
    int64_t output_padding;
    int64_t dilation;
    int64_t groups;
};
_Static_assert(sizeof(struct conv_transpose1d_attr) == 40, "conv_transpose1d");
_Static_assert(offsetof(struct conv_transpose1d_attr, stride) == 0, "conv_transpose1d");
_Static_assert(offsetof(struct conv_transpose1d_attr, padding) == 8, "conv_transpose1d");
_Static_assert(offsetof(struct conv_transpose1d_attr, output_padding) == 16, "conv_transpose1d");
_Static_assert(offsetof(struct conv_transpose1d_attr, dilation) == 24, "conv_transpose1d");
_Static_assert(offsetof(struct conv_transpose1d_attr, groups) == 32, "conv_transpose1d");
ebb_tensor *ebb_conv_transpose1d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                 const ebb_conv_transpose1d_options *options)
{
    struct conv_transpose1d_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_conv_transpose1d, options->reserved) != EBB_OK) return NULL;
        attr.stride = options->stride;
        attr.padding = options->padding;
        attr.output_padding = options->output_padding;
        attr.dilation = options->dilation;
        attr.groups = options->groups;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_conv_transpose1d, &attr, 3, in);
}

struct conv_transpose2d_attr {
    int64_t stride[2];
    int64_t padding[2];
    int64_t output_padding[2];
    int64_t dilation[2];
    int64_t groups;
};
_Static_assert(sizeof(struct conv_transpose2d_attr) == 72, "conv_transpose2d");
_Static_assert(offsetof(struct conv_transpose2d_attr, stride) == 0, "conv_transpose2d");
_Static_assert(offsetof(struct conv_transpose2d_attr, padding) == 16, "conv_transpose2d");
_Static_assert(offsetof(struct conv_transpose2d_attr, output_padding) == 32, "conv_transpose2d");
_Static_assert(offsetof(struct conv_transpose2d_attr, dilation) == 48, "conv_transpose2d");
_Static_assert(offsetof(struct conv_transpose2d_attr, groups) == 64, "conv_transpose2d");
ebb_tensor *ebb_conv_transpose2d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                 const ebb_conv_transpose2d_options *options)
{
    struct conv_transpose2d_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_conv_transpose2d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.output_padding[0] = options->output_padding[0];
        attr.output_padding[1] = options->output_padding[1];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.groups = options->groups;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_conv_transpose2d, &attr, 3, in);
}

struct conv_transpose3d_attr {
    int64_t stride[3];
    int64_t padding[3];
    int64_t output_padding[3];
    int64_t dilation[3];
    int64_t groups;
};
_Static_assert(sizeof(struct conv_transpose3d_attr) == 104, "conv_transpose3d");
_Static_assert(offsetof(struct conv_transpose3d_attr, stride) == 0, "conv_transpose3d");
_Static_assert(offsetof(struct conv_transpose3d_attr, padding) == 24, "conv_transpose3d");
_Static_assert(offsetof(struct conv_transpose3d_attr, output_padding) == 48, "conv_transpose3d");
_Static_assert(offsetof(struct conv_transpose3d_attr, dilation) == 72, "conv_transpose3d");
_Static_assert(offsetof(struct conv_transpose3d_attr, groups) == 96, "conv_transpose3d");
ebb_tensor *ebb_conv_transpose3d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                 const ebb_conv_transpose3d_options *options)
{
    struct conv_transpose3d_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_conv_transpose3d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.stride[2] = options->stride[2];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.padding[2] = options->padding[2];
        attr.output_padding[0] = options->output_padding[0];
        attr.output_padding[1] = options->output_padding[1];
        attr.output_padding[2] = options->output_padding[2];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.dilation[2] = options->dilation[2];
        attr.groups = options->groups;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_conv_transpose3d, &attr, 3, in);
}

struct max_pool1d_attr {
    int64_t stride;
    int64_t padding;
    int64_t dilation;
    bool ceil_mode;
    int64_t kernel;
};
_Static_assert(sizeof(struct max_pool1d_attr) == 40, "max_pool1d");
_Static_assert(offsetof(struct max_pool1d_attr, stride) == 0, "max_pool1d");
_Static_assert(offsetof(struct max_pool1d_attr, padding) == 8, "max_pool1d");
_Static_assert(offsetof(struct max_pool1d_attr, dilation) == 16, "max_pool1d");
_Static_assert(offsetof(struct max_pool1d_attr, ceil_mode) == 24, "max_pool1d");
_Static_assert(offsetof(struct max_pool1d_attr, kernel) == 32, "max_pool1d");
ebb_tensor *ebb_max_pool1d(ebb_tensor *x, int64_t kernel, const ebb_pool1d_options *options)
{
    struct max_pool1d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel = kernel;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_max_pool1d, options->reserved) != EBB_OK) return NULL;
        attr.stride = options->stride;
        attr.padding = options->padding;
        attr.dilation = options->dilation;
        attr.ceil_mode = options->ceil_mode;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_max_pool1d, &attr, 1, in);
}

struct max_pool2d_attr {
    int64_t stride[2];
    int64_t padding[2];
    int64_t dilation[2];
    bool ceil_mode;
    int64_t kernel_h;
    int64_t kernel_w;
};
_Static_assert(sizeof(struct max_pool2d_attr) == 72, "max_pool2d");
_Static_assert(offsetof(struct max_pool2d_attr, stride) == 0, "max_pool2d");
_Static_assert(offsetof(struct max_pool2d_attr, padding) == 16, "max_pool2d");
_Static_assert(offsetof(struct max_pool2d_attr, dilation) == 32, "max_pool2d");
_Static_assert(offsetof(struct max_pool2d_attr, ceil_mode) == 48, "max_pool2d");
_Static_assert(offsetof(struct max_pool2d_attr, kernel_h) == 56, "max_pool2d");
_Static_assert(offsetof(struct max_pool2d_attr, kernel_w) == 64, "max_pool2d");
ebb_tensor *ebb_max_pool2d(ebb_tensor *x, int64_t kernel_h, int64_t kernel_w,
                           const ebb_pool2d_options *options)
{
    struct max_pool2d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel_h = kernel_h;
    attr.kernel_w = kernel_w;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_max_pool2d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.ceil_mode = options->ceil_mode;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_max_pool2d, &attr, 1, in);
}

struct max_pool3d_attr {
    int64_t stride[3];
    int64_t padding[3];
    int64_t dilation[3];
    bool ceil_mode;
    int64_t kernel_d;
    int64_t kernel_h;
    int64_t kernel_w;
};
_Static_assert(sizeof(struct max_pool3d_attr) == 104, "max_pool3d");
_Static_assert(offsetof(struct max_pool3d_attr, stride) == 0, "max_pool3d");
_Static_assert(offsetof(struct max_pool3d_attr, padding) == 24, "max_pool3d");
_Static_assert(offsetof(struct max_pool3d_attr, dilation) == 48, "max_pool3d");
_Static_assert(offsetof(struct max_pool3d_attr, ceil_mode) == 72, "max_pool3d");
_Static_assert(offsetof(struct max_pool3d_attr, kernel_d) == 80, "max_pool3d");
_Static_assert(offsetof(struct max_pool3d_attr, kernel_h) == 88, "max_pool3d");
_Static_assert(offsetof(struct max_pool3d_attr, kernel_w) == 96, "max_pool3d");
ebb_tensor *ebb_max_pool3d(ebb_tensor *x, int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                           const ebb_pool3d_options *options)
{
    struct max_pool3d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel_d = kernel_d;
    attr.kernel_h = kernel_h;
    attr.kernel_w = kernel_w;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_max_pool3d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.stride[2] = options->stride[2];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.padding[2] = options->padding[2];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.dilation[2] = options->dilation[2];
        attr.ceil_mode = options->ceil_mode;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_max_pool3d, &attr, 1, in);
}

struct avg_pool1d_attr {
    int64_t stride;
    int64_t padding;
    int64_t divisor;
    bool ceil_mode;
    bool exclude_padding;
    int64_t kernel;
};
_Static_assert(sizeof(struct avg_pool1d_attr) == 40, "avg_pool1d");
_Static_assert(offsetof(struct avg_pool1d_attr, stride) == 0, "avg_pool1d");
_Static_assert(offsetof(struct avg_pool1d_attr, padding) == 8, "avg_pool1d");
_Static_assert(offsetof(struct avg_pool1d_attr, divisor) == 16, "avg_pool1d");
_Static_assert(offsetof(struct avg_pool1d_attr, ceil_mode) == 24, "avg_pool1d");
_Static_assert(offsetof(struct avg_pool1d_attr, exclude_padding) == 25, "avg_pool1d");
_Static_assert(offsetof(struct avg_pool1d_attr, kernel) == 32, "avg_pool1d");
ebb_tensor *ebb_avg_pool1d(ebb_tensor *x, int64_t kernel, const ebb_avg_pool1d_options *options)
{
    struct avg_pool1d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel = kernel;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_avg_pool1d, options->reserved) != EBB_OK) return NULL;
        attr.stride = options->stride;
        attr.padding = options->padding;
        attr.divisor = options->divisor;
        attr.ceil_mode = options->ceil_mode;
        attr.exclude_padding = options->exclude_padding;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_avg_pool1d, &attr, 1, in);
}

struct avg_pool2d_attr {
    int64_t stride[2];
    int64_t padding[2];
    int64_t divisor;
    bool ceil_mode;
    bool exclude_padding;
    int64_t kernel_h;
    int64_t kernel_w;
};
_Static_assert(sizeof(struct avg_pool2d_attr) == 64, "avg_pool2d");
_Static_assert(offsetof(struct avg_pool2d_attr, stride) == 0, "avg_pool2d");
_Static_assert(offsetof(struct avg_pool2d_attr, padding) == 16, "avg_pool2d");
_Static_assert(offsetof(struct avg_pool2d_attr, divisor) == 32, "avg_pool2d");
_Static_assert(offsetof(struct avg_pool2d_attr, ceil_mode) == 40, "avg_pool2d");
_Static_assert(offsetof(struct avg_pool2d_attr, exclude_padding) == 41, "avg_pool2d");
_Static_assert(offsetof(struct avg_pool2d_attr, kernel_h) == 48, "avg_pool2d");
_Static_assert(offsetof(struct avg_pool2d_attr, kernel_w) == 56, "avg_pool2d");
ebb_tensor *ebb_avg_pool2d(ebb_tensor *x, int64_t kernel_h, int64_t kernel_w,
                           const ebb_avg_pool2d_options *options)
{
    struct avg_pool2d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel_h = kernel_h;
    attr.kernel_w = kernel_w;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_avg_pool2d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.divisor = options->divisor;
        attr.ceil_mode = options->ceil_mode;
        attr.exclude_padding = options->exclude_padding;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_avg_pool2d, &attr, 1, in);
}

struct avg_pool3d_attr {
    int64_t stride[3];
    int64_t padding[3];
    int64_t divisor;
    bool ceil_mode;
    bool exclude_padding;
    int64_t kernel_d;
    int64_t kernel_h;
    int64_t kernel_w;
};
_Static_assert(sizeof(struct avg_pool3d_attr) == 88, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, stride) == 0, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, padding) == 24, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, divisor) == 48, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, ceil_mode) == 56, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, exclude_padding) == 57, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, kernel_d) == 64, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, kernel_h) == 72, "avg_pool3d");
_Static_assert(offsetof(struct avg_pool3d_attr, kernel_w) == 80, "avg_pool3d");
ebb_tensor *ebb_avg_pool3d(ebb_tensor *x, int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                           const ebb_avg_pool3d_options *options)
{
    struct avg_pool3d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel_d = kernel_d;
    attr.kernel_h = kernel_h;
    attr.kernel_w = kernel_w;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_avg_pool3d, options->reserved) != EBB_OK) return NULL;
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.stride[2] = options->stride[2];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.padding[2] = options->padding[2];
        attr.divisor = options->divisor;
        attr.ceil_mode = options->ceil_mode;
        attr.exclude_padding = options->exclude_padding;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_avg_pool3d, &attr, 1, in);
}

struct adaptive_avg_pool1d_attr {
    int64_t out_l;
};
_Static_assert(sizeof(struct adaptive_avg_pool1d_attr) == 8, "adaptive_avg_pool1d");
_Static_assert(offsetof(struct adaptive_avg_pool1d_attr, out_l) == 0, "adaptive_avg_pool1d");
ebb_tensor *ebb_adaptive_avg_pool1d(ebb_tensor *x, int64_t out_l)
{
    struct adaptive_avg_pool1d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.out_l = out_l;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_adaptive_avg_pool1d, &attr, 1, in);
}

struct adaptive_avg_pool2d_attr {
    int64_t out_h;
    int64_t out_w;
};
_Static_assert(sizeof(struct adaptive_avg_pool2d_attr) == 16, "adaptive_avg_pool2d");
_Static_assert(offsetof(struct adaptive_avg_pool2d_attr, out_h) == 0, "adaptive_avg_pool2d");
_Static_assert(offsetof(struct adaptive_avg_pool2d_attr, out_w) == 8, "adaptive_avg_pool2d");
ebb_tensor *ebb_adaptive_avg_pool2d(ebb_tensor *x, int64_t out_h, int64_t out_w)
{
    struct adaptive_avg_pool2d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.out_h = out_h;
    attr.out_w = out_w;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_adaptive_avg_pool2d, &attr, 1, in);
}

struct adaptive_avg_pool3d_attr {
    int64_t out_d;
    int64_t out_h;
    int64_t out_w;
};
_Static_assert(sizeof(struct adaptive_avg_pool3d_attr) == 24, "adaptive_avg_pool3d");
_Static_assert(offsetof(struct adaptive_avg_pool3d_attr, out_d) == 0, "adaptive_avg_pool3d");
_Static_assert(offsetof(struct adaptive_avg_pool3d_attr, out_h) == 8, "adaptive_avg_pool3d");
_Static_assert(offsetof(struct adaptive_avg_pool3d_attr, out_w) == 16, "adaptive_avg_pool3d");
ebb_tensor *ebb_adaptive_avg_pool3d(ebb_tensor *x, int64_t out_d, int64_t out_h, int64_t out_w)
{
    struct adaptive_avg_pool3d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.out_d = out_d;
    attr.out_h = out_h;
    attr.out_w = out_w;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_adaptive_avg_pool3d, &attr, 1, in);
}

struct adaptive_max_pool1d_attr {
    int64_t out_l;
};
_Static_assert(sizeof(struct adaptive_max_pool1d_attr) == 8, "adaptive_max_pool1d");
_Static_assert(offsetof(struct adaptive_max_pool1d_attr, out_l) == 0, "adaptive_max_pool1d");
ebb_tensor *ebb_adaptive_max_pool1d(ebb_tensor *x, int64_t out_l)
{
    struct adaptive_max_pool1d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.out_l = out_l;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_adaptive_max_pool1d, &attr, 1, in);
}

struct adaptive_max_pool2d_attr {
    int64_t out_h;
    int64_t out_w;
};
_Static_assert(sizeof(struct adaptive_max_pool2d_attr) == 16, "adaptive_max_pool2d");
_Static_assert(offsetof(struct adaptive_max_pool2d_attr, out_h) == 0, "adaptive_max_pool2d");
_Static_assert(offsetof(struct adaptive_max_pool2d_attr, out_w) == 8, "adaptive_max_pool2d");
ebb_tensor *ebb_adaptive_max_pool2d(ebb_tensor *x, int64_t out_h, int64_t out_w)
{
    struct adaptive_max_pool2d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.out_h = out_h;
    attr.out_w = out_w;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_adaptive_max_pool2d, &attr, 1, in);
}

struct adaptive_max_pool3d_attr {
    int64_t out_d;
    int64_t out_h;
    int64_t out_w;
};
_Static_assert(sizeof(struct adaptive_max_pool3d_attr) == 24, "adaptive_max_pool3d");
_Static_assert(offsetof(struct adaptive_max_pool3d_attr, out_d) == 0, "adaptive_max_pool3d");
_Static_assert(offsetof(struct adaptive_max_pool3d_attr, out_h) == 8, "adaptive_max_pool3d");
_Static_assert(offsetof(struct adaptive_max_pool3d_attr, out_w) == 16, "adaptive_max_pool3d");
ebb_tensor *ebb_adaptive_max_pool3d(ebb_tensor *x, int64_t out_d, int64_t out_h, int64_t out_w)
{
    struct adaptive_max_pool3d_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.out_d = out_d;
    attr.out_h = out_h;
    attr.out_w = out_w;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_adaptive_max_pool3d, &attr, 1, in);
}

struct interpolate_attr {
    ebb_shape size;
    double scale;
    bool linear;
    bool align_corners;
};
_Static_assert(sizeof(struct interpolate_attr) == 88, "interpolate");
_Static_assert(offsetof(struct interpolate_attr, size) == 0, "interpolate");
_Static_assert(offsetof(struct interpolate_attr, scale) == 72, "interpolate");
_Static_assert(offsetof(struct interpolate_attr, linear) == 80, "interpolate");
_Static_assert(offsetof(struct interpolate_attr, align_corners) == 81, "interpolate");
ebb_tensor *ebb_interpolate(ebb_tensor *x, const ebb_interpolate_options *options)
{
    struct interpolate_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_interpolate, options->reserved) != EBB_OK) return NULL;
        attr.size = options->size;
        attr.scale = options->scale;
        attr.linear = options->linear;
        attr.align_corners = options->align_corners;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_interpolate, &attr, 1, in);
}

struct pixel_shuffle_attr {
    int64_t factor;
};
_Static_assert(sizeof(struct pixel_shuffle_attr) == 8, "pixel_shuffle");
_Static_assert(offsetof(struct pixel_shuffle_attr, factor) == 0, "pixel_shuffle");
ebb_tensor *ebb_pixel_shuffle(ebb_tensor *x, int64_t factor)
{
    struct pixel_shuffle_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.factor = factor;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_pixel_shuffle, &attr, 1, in);
}

struct pixel_unshuffle_attr {
    int64_t factor;
};
_Static_assert(sizeof(struct pixel_unshuffle_attr) == 8, "pixel_unshuffle");
_Static_assert(offsetof(struct pixel_unshuffle_attr, factor) == 0, "pixel_unshuffle");
ebb_tensor *ebb_pixel_unshuffle(ebb_tensor *x, int64_t factor)
{
    struct pixel_unshuffle_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.factor = factor;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_pixel_unshuffle, &attr, 1, in);
}

struct softmax_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct softmax_attr) == 8, "softmax");
_Static_assert(offsetof(struct softmax_attr, axis) == 0, "softmax");
ebb_tensor *ebb_softmax(ebb_tensor *x, int64_t axis)
{
    struct softmax_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_softmax, &attr, 1, in);
}

struct log_softmax_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct log_softmax_attr) == 8, "log_softmax");
_Static_assert(offsetof(struct log_softmax_attr, axis) == 0, "log_softmax");
ebb_tensor *ebb_log_softmax(ebb_tensor *x, int64_t axis)
{
    struct log_softmax_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_log_softmax, &attr, 1, in);
}

struct batch_norm_attr {
    double eps;
    double momentum;
    bool inference;
};
_Static_assert(sizeof(struct batch_norm_attr) == 24, "batch_norm");
_Static_assert(offsetof(struct batch_norm_attr, eps) == 0, "batch_norm");
_Static_assert(offsetof(struct batch_norm_attr, momentum) == 8, "batch_norm");
_Static_assert(offsetof(struct batch_norm_attr, inference) == 16, "batch_norm");
ebb_tensor *ebb_batch_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                           ebb_tensor *running_mean, ebb_tensor *running_var,
                           const ebb_norm_options *options)
{
    struct batch_norm_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_batch_norm, options->reserved) != EBB_OK) return NULL;
        attr.eps = options->eps;
        attr.momentum = options->momentum;
        attr.inference = options->inference;
    }
    ebb_tensor *const in[] = {x, w, b, running_mean, running_var};
    return ebb__call1(NULL, &ebb__op_batch_norm, &attr, 5, in);
}

struct layer_norm_attr {
    double eps;
    double momentum;
    bool inference;
};
_Static_assert(sizeof(struct layer_norm_attr) == 24, "layer_norm");
_Static_assert(offsetof(struct layer_norm_attr, eps) == 0, "layer_norm");
_Static_assert(offsetof(struct layer_norm_attr, momentum) == 8, "layer_norm");
_Static_assert(offsetof(struct layer_norm_attr, inference) == 16, "layer_norm");
ebb_tensor *ebb_layer_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                           const ebb_norm_options *options)
{
    struct layer_norm_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_layer_norm, options->reserved) != EBB_OK) return NULL;
        attr.eps = options->eps;
        attr.momentum = options->momentum;
        attr.inference = options->inference;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_layer_norm, &attr, 3, in);
}

struct group_norm_attr {
    double eps;
    int64_t groups;
};
_Static_assert(sizeof(struct group_norm_attr) == 16, "group_norm");
_Static_assert(offsetof(struct group_norm_attr, eps) == 0, "group_norm");
_Static_assert(offsetof(struct group_norm_attr, groups) == 8, "group_norm");
ebb_tensor *ebb_group_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b, int64_t groups,
                           const ebb_group_norm_options *options)
{
    struct group_norm_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.groups = groups;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_group_norm, options->reserved) != EBB_OK) return NULL;
        attr.eps = options->eps;
    }
    ebb_tensor *const in[] = {x, w, b};
    return ebb__call1(NULL, &ebb__op_group_norm, &attr, 3, in);
}

struct instance_norm_attr {
    double eps;
    double momentum;
    bool inference;
};
_Static_assert(sizeof(struct instance_norm_attr) == 24, "instance_norm");
_Static_assert(offsetof(struct instance_norm_attr, eps) == 0, "instance_norm");
_Static_assert(offsetof(struct instance_norm_attr, momentum) == 8, "instance_norm");
_Static_assert(offsetof(struct instance_norm_attr, inference) == 16, "instance_norm");
ebb_tensor *ebb_instance_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                              ebb_tensor *running_mean, ebb_tensor *running_var,
                              const ebb_norm_options *options)
{
    struct instance_norm_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_instance_norm, options->reserved) != EBB_OK) return NULL;
        attr.eps = options->eps;
        attr.momentum = options->momentum;
        attr.inference = options->inference;
    }
    ebb_tensor *const in[] = {x, w, b, running_mean, running_var};
    return ebb__call1(NULL, &ebb__op_instance_norm, &attr, 5, in);
}

struct rms_norm_attr {
    double eps;
};
_Static_assert(sizeof(struct rms_norm_attr) == 8, "rms_norm");
_Static_assert(offsetof(struct rms_norm_attr, eps) == 0, "rms_norm");
ebb_tensor *ebb_rms_norm(ebb_tensor *x, ebb_tensor *w, const ebb_rms_norm_options *options)
{
    struct rms_norm_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_rms_norm, options->reserved) != EBB_OK) return NULL;
        attr.eps = options->eps;
    }
    ebb_tensor *const in[] = {x, w};
    return ebb__call1(NULL, &ebb__op_rms_norm, &attr, 2, in);
}

struct local_response_norm_attr {
    double alpha;
    double beta;
    double k;
    int64_t size;
};
_Static_assert(sizeof(struct local_response_norm_attr) == 32, "local_response_norm");
_Static_assert(offsetof(struct local_response_norm_attr, alpha) == 0, "local_response_norm");
_Static_assert(offsetof(struct local_response_norm_attr, beta) == 8, "local_response_norm");
_Static_assert(offsetof(struct local_response_norm_attr, k) == 16, "local_response_norm");
_Static_assert(offsetof(struct local_response_norm_attr, size) == 24, "local_response_norm");
ebb_tensor *ebb_local_response_norm(ebb_tensor *x, int64_t size,
                                    const ebb_local_response_norm_options *options)
{
    struct local_response_norm_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = size;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_local_response_norm, options->reserved) != EBB_OK) return NULL;
        attr.alpha = options->alpha;
        attr.beta = options->beta;
        attr.k = options->k;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_local_response_norm, &attr, 1, in);
}

struct cross_entropy_attr {
    double label_smoothing;
    bool ignore;
    int64_t ignore_index;
    int64_t reduction;
};
_Static_assert(sizeof(struct cross_entropy_attr) == 32, "cross_entropy");
_Static_assert(offsetof(struct cross_entropy_attr, label_smoothing) == 0, "cross_entropy");
_Static_assert(offsetof(struct cross_entropy_attr, ignore) == 8, "cross_entropy");
_Static_assert(offsetof(struct cross_entropy_attr, ignore_index) == 16, "cross_entropy");
_Static_assert(offsetof(struct cross_entropy_attr, reduction) == 24, "cross_entropy");
ebb_tensor *ebb_cross_entropy(ebb_tensor *logits, ebb_tensor *labels,
                              const ebb_cross_entropy_options *options)
{
    struct cross_entropy_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_cross_entropy, options->reserved) != EBB_OK) return NULL;
        attr.label_smoothing = options->label_smoothing;
        attr.ignore = options->ignore;
        attr.ignore_index = options->ignore_index;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {logits, labels};
    return ebb__call1(NULL, &ebb__op_cross_entropy, &attr, 2, in);
}

struct nll_attr {
    bool ignore;
    int64_t ignore_index;
    int64_t reduction;
};
_Static_assert(sizeof(struct nll_attr) == 24, "nll");
_Static_assert(offsetof(struct nll_attr, ignore) == 0, "nll");
_Static_assert(offsetof(struct nll_attr, ignore_index) == 8, "nll");
_Static_assert(offsetof(struct nll_attr, reduction) == 16, "nll");
ebb_tensor *ebb_nll(ebb_tensor *x, ebb_tensor *labels, const ebb_nll_options *options)
{
    struct nll_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_nll, options->reserved) != EBB_OK) return NULL;
        attr.ignore = options->ignore;
        attr.ignore_index = options->ignore_index;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, labels};
    return ebb__call1(NULL, &ebb__op_nll, &attr, 2, in);
}

struct dropout_attr {
    double p;
};
_Static_assert(sizeof(struct dropout_attr) == 8, "dropout");
_Static_assert(offsetof(struct dropout_attr, p) == 0, "dropout");
ebb_tensor *ebb_dropout(ebb_tensor *x, double p)
{
    struct dropout_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.p = p;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_dropout, &attr, 1, in);
}

struct uniform_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double low;
    double high;
};
_Static_assert(sizeof(struct uniform_attr) == 96, "uniform");
_Static_assert(offsetof(struct uniform_attr, dtype) == 0, "uniform");
_Static_assert(offsetof(struct uniform_attr, shape) == 8, "uniform");
_Static_assert(offsetof(struct uniform_attr, low) == 80, "uniform");
_Static_assert(offsetof(struct uniform_attr, high) == 88, "uniform");
ebb_tensor *ebb_uniform(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape, double low,
                        double high)
{
    struct uniform_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.shape = shape;
    attr.low = low;
    attr.high = high;
    return ebb__call1(ctx, &ebb__op_uniform, &attr, 0, NULL);
}

struct normal_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double mean;
    double std;
};
_Static_assert(sizeof(struct normal_attr) == 96, "normal");
_Static_assert(offsetof(struct normal_attr, dtype) == 0, "normal");
_Static_assert(offsetof(struct normal_attr, shape) == 8, "normal");
_Static_assert(offsetof(struct normal_attr, mean) == 80, "normal");
_Static_assert(offsetof(struct normal_attr, std) == 88, "normal");
ebb_tensor *ebb_normal(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape, double mean,
                       double std)
{
    struct normal_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.shape = shape;
    attr.mean = mean;
    attr.std = std;
    return ebb__call1(ctx, &ebb__op_normal, &attr, 0, NULL);
}

struct bernoulli_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double p;
};
_Static_assert(sizeof(struct bernoulli_attr) == 88, "bernoulli");
_Static_assert(offsetof(struct bernoulli_attr, dtype) == 0, "bernoulli");
_Static_assert(offsetof(struct bernoulli_attr, shape) == 8, "bernoulli");
_Static_assert(offsetof(struct bernoulli_attr, p) == 80, "bernoulli");
ebb_tensor *ebb_bernoulli(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape, double p)
{
    struct bernoulli_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.shape = shape;
    attr.p = p;
    return ebb__call1(ctx, &ebb__op_bernoulli, &attr, 0, NULL);
}

ebb_tensor *ebb_relu(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_relu, NULL, 1, in);
}

ebb_status ebb_relu_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_relu, "relu_", NULL, 1, in);
}

ebb_tensor *ebb_tanh(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_tanh, NULL, 1, in);
}

ebb_status ebb_tanh_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_tanh, "tanh_", NULL, 1, in);
}

ebb_tensor *ebb_sigmoid(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sigmoid, NULL, 1, in);
}

ebb_status ebb_sigmoid_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_sigmoid, "sigmoid_", NULL, 1, in);
}

ebb_tensor *ebb_silu(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_silu, NULL, 1, in);
}

ebb_status ebb_silu_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_silu, "silu_", NULL, 1, in);
}

ebb_tensor *ebb_logsigmoid(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_logsigmoid, NULL, 1, in);
}

ebb_status ebb_logsigmoid_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_logsigmoid, "logsigmoid_", NULL, 1, in);
}

struct leaky_relu_attr {
    double slope;
};
_Static_assert(sizeof(struct leaky_relu_attr) == 8, "leaky_relu");
_Static_assert(offsetof(struct leaky_relu_attr, slope) == 0, "leaky_relu");
ebb_tensor *ebb_leaky_relu(ebb_tensor *x, const ebb_leaky_relu_options *options)
{
    struct leaky_relu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_leaky_relu, options->reserved) != EBB_OK) return NULL;
        attr.slope = options->slope;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_leaky_relu, &attr, 1, in);
}

ebb_status ebb_leaky_relu_(ebb_tensor *x, const ebb_leaky_relu_options *options)
{
    struct leaky_relu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_leaky_relu, options->reserved));
        attr.slope = options->slope;
    }
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_leaky_relu, "leaky_relu_", &attr, 1, in);
}

struct elu_attr {
    double alpha;
};
_Static_assert(sizeof(struct elu_attr) == 8, "elu");
_Static_assert(offsetof(struct elu_attr, alpha) == 0, "elu");
ebb_tensor *ebb_elu(ebb_tensor *x, const ebb_elu_options *options)
{
    struct elu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_elu, options->reserved) != EBB_OK) return NULL;
        attr.alpha = options->alpha;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_elu, &attr, 1, in);
}

ebb_status ebb_elu_(ebb_tensor *x, const ebb_elu_options *options)
{
    struct elu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_elu, options->reserved));
        attr.alpha = options->alpha;
    }
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_elu, "elu_", &attr, 1, in);
}

struct softplus_attr {
    double beta;
};
_Static_assert(sizeof(struct softplus_attr) == 8, "softplus");
_Static_assert(offsetof(struct softplus_attr, beta) == 0, "softplus");
ebb_tensor *ebb_softplus(ebb_tensor *x, const ebb_softplus_options *options)
{
    struct softplus_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_softplus, options->reserved) != EBB_OK) return NULL;
        attr.beta = options->beta;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_softplus, &attr, 1, in);
}

ebb_status ebb_softplus_(ebb_tensor *x, const ebb_softplus_options *options)
{
    struct softplus_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_softplus, options->reserved));
        attr.beta = options->beta;
    }
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_softplus, "softplus_", &attr, 1, in);
}

struct gelu_attr {
    bool tanh_approximation;
};
_Static_assert(sizeof(struct gelu_attr) == 1, "gelu");
_Static_assert(offsetof(struct gelu_attr, tanh_approximation) == 0, "gelu");
ebb_tensor *ebb_gelu(ebb_tensor *x, const ebb_gelu_options *options)
{
    struct gelu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_gelu, options->reserved) != EBB_OK) return NULL;
        attr.tanh_approximation = options->tanh_approximation;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_gelu, &attr, 1, in);
}

ebb_status ebb_gelu_(ebb_tensor *x, const ebb_gelu_options *options)
{
    struct gelu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_gelu, options->reserved));
        attr.tanh_approximation = options->tanh_approximation;
    }
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_gelu, "gelu_", &attr, 1, in);
}

struct argmax_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct argmax_attr) == 80, "argmax");
_Static_assert(offsetof(struct argmax_attr, axes) == 0, "argmax");
ebb_tensor *ebb_argmax(ebb_tensor *x, ebb_axes axes)
{
    struct argmax_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_argmax, &attr, 1, in);
}

struct argmin_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct argmin_attr) == 80, "argmin");
_Static_assert(offsetof(struct argmin_attr, axes) == 0, "argmin");
ebb_tensor *ebb_argmin(ebb_tensor *x, ebb_axes axes)
{
    struct argmin_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_argmin, &attr, 1, in);
}

struct max_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct max_attr) == 80, "max");
_Static_assert(offsetof(struct max_attr, axes) == 0, "max");
ebb_status ebb_max(ebb_tensor **values_out, ebb_tensor **indices_out, ebb_tensor *x,
                   ebb_axes axes)
{
    struct max_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_max, &attr, 1, in);
}

struct min_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct min_attr) == 80, "min");
_Static_assert(offsetof(struct min_attr, axes) == 0, "min");
ebb_status ebb_min(ebb_tensor **values_out, ebb_tensor **indices_out, ebb_tensor *x,
                   ebb_axes axes)
{
    struct min_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_min, &attr, 1, in);
}

struct cumsum_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct cumsum_attr) == 8, "cumsum");
_Static_assert(offsetof(struct cumsum_attr, axis) == 0, "cumsum");
ebb_tensor *ebb_cumsum(ebb_tensor *x, int64_t axis)
{
    struct cumsum_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_cumsum, &attr, 1, in);
}

ebb_tensor *ebb_mse(ebb_tensor *x, ebb_tensor *y)
{
    return ebb_mse_with(x, y, NULL);
}

struct mse_attr {
    int64_t reduction;
};
_Static_assert(sizeof(struct mse_attr) == 8, "mse");
_Static_assert(offsetof(struct mse_attr, reduction) == 0, "mse");
ebb_tensor *ebb_mse_with(ebb_tensor *x, ebb_tensor *y, const ebb_mse_options *options)
{
    struct mse_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_mse, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_mse, &attr, 2, in);
}

ebb_tensor *ebb_bce(ebb_tensor *x, ebb_tensor *y)
{
    return ebb_bce_with(x, y, NULL);
}

struct bce_attr {
    int64_t reduction;
};
_Static_assert(sizeof(struct bce_attr) == 8, "bce");
_Static_assert(offsetof(struct bce_attr, reduction) == 0, "bce");
ebb_tensor *ebb_bce_with(ebb_tensor *x, ebb_tensor *y, const ebb_bce_options *options)
{
    struct bce_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_bce, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bce, &attr, 2, in);
}

ebb_tensor *ebb_bce_with_logits(ebb_tensor *x, ebb_tensor *y)
{
    return ebb_bce_with_logits_with(x, y, NULL);
}

struct bce_with_logits_attr {
    int64_t reduction;
};
_Static_assert(sizeof(struct bce_with_logits_attr) == 8, "bce_with_logits");
_Static_assert(offsetof(struct bce_with_logits_attr, reduction) == 0, "bce_with_logits");
ebb_tensor *ebb_bce_with_logits_with(ebb_tensor *x, ebb_tensor *y,
                                     const ebb_bce_with_logits_options *options)
{
    struct bce_with_logits_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_bce_with_logits, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bce_with_logits, &attr, 2, in);
}

ebb_tensor *ebb_l1(ebb_tensor *x, ebb_tensor *y)
{
    return ebb_l1_with(x, y, NULL);
}

struct l1_attr {
    int64_t reduction;
};
_Static_assert(sizeof(struct l1_attr) == 8, "l1");
_Static_assert(offsetof(struct l1_attr, reduction) == 0, "l1");
ebb_tensor *ebb_l1_with(ebb_tensor *x, ebb_tensor *y, const ebb_l1_options *options)
{
    struct l1_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_l1, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_l1, &attr, 2, in);
}

struct smooth_l1_attr {
    double beta;
    int64_t reduction;
};
_Static_assert(sizeof(struct smooth_l1_attr) == 16, "smooth_l1");
_Static_assert(offsetof(struct smooth_l1_attr, beta) == 0, "smooth_l1");
_Static_assert(offsetof(struct smooth_l1_attr, reduction) == 8, "smooth_l1");
ebb_tensor *ebb_smooth_l1(ebb_tensor *x, ebb_tensor *y, const ebb_smooth_l1_options *options)
{
    struct smooth_l1_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_smooth_l1, options->reserved) != EBB_OK) return NULL;
        attr.beta = options->beta;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_smooth_l1, &attr, 2, in);
}

struct gather_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct gather_attr) == 8, "gather");
_Static_assert(offsetof(struct gather_attr, axis) == 0, "gather");
ebb_tensor *ebb_gather(ebb_tensor *x, ebb_tensor *index, int64_t axis)
{
    struct gather_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x, index};
    return ebb__call1(NULL, &ebb__op_gather, &attr, 2, in);
}

struct scatter_add_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct scatter_add_attr) == 8, "scatter_add");
_Static_assert(offsetof(struct scatter_add_attr, axis) == 0, "scatter_add");
ebb_tensor *ebb_scatter_add(ebb_tensor *x, ebb_tensor *index, ebb_tensor *src, int64_t axis)
{
    struct scatter_add_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x, index, src};
    return ebb__call1(NULL, &ebb__op_scatter_add, &attr, 3, in);
}

struct scatter_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct scatter_attr) == 8, "scatter");
_Static_assert(offsetof(struct scatter_attr, axis) == 0, "scatter");
ebb_tensor *ebb_scatter(ebb_tensor *x, ebb_tensor *index, ebb_tensor *src, int64_t axis)
{
    struct scatter_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x, index, src};
    return ebb__call1(NULL, &ebb__op_scatter, &attr, 3, in);
}

struct scatter_value_attr {
    int64_t axis;
    double value;
};
_Static_assert(sizeof(struct scatter_value_attr) == 16, "scatter_value");
_Static_assert(offsetof(struct scatter_value_attr, axis) == 0, "scatter_value");
_Static_assert(offsetof(struct scatter_value_attr, value) == 8, "scatter_value");
ebb_tensor *ebb_scatter_value(ebb_tensor *x, ebb_tensor *index, int64_t axis, double value)
{
    struct scatter_value_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.value = value;
    ebb_tensor *const in[] = {x, index};
    return ebb__call1(NULL, &ebb__op_scatter_value, &attr, 2, in);
}

struct index_put_attr {
    bool accumulate;
};
_Static_assert(sizeof(struct index_put_attr) == 1, "index_put");
_Static_assert(offsetof(struct index_put_attr, accumulate) == 0, "index_put");
ebb_tensor *ebb_index_put(ebb_tensor *x, ebb_tensor *values, ebb_tensor *const *indices,
                          int64_t n, const ebb_index_put_options *options)
{
    struct index_put_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_index_put, options->reserved) != EBB_OK) return NULL;
        attr.accumulate = options->accumulate;
    }
    ebb_tensor *const in[] = {x, values};
    return ebb__call_list(&ebb__op_index_put, &attr, in, 2, indices, n);
}

ebb_tensor *ebb_take(ebb_tensor *x, ebb_tensor *index)
{
    ebb_tensor *const in[] = {x, index};
    return ebb__call1(NULL, &ebb__op_take, NULL, 2, in);
}

struct index_select_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct index_select_attr) == 8, "index_select");
_Static_assert(offsetof(struct index_select_attr, axis) == 0, "index_select");
ebb_tensor *ebb_index_select(ebb_tensor *x, ebb_tensor *index, int64_t axis)
{
    struct index_select_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x, index};
    return ebb__call1(NULL, &ebb__op_index_select, &attr, 2, in);
}

struct index_add_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct index_add_attr) == 8, "index_add");
_Static_assert(offsetof(struct index_add_attr, axis) == 0, "index_add");
ebb_tensor *ebb_index_add(ebb_tensor *x, ebb_tensor *index, ebb_tensor *src, int64_t axis)
{
    struct index_add_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x, index, src};
    return ebb__call1(NULL, &ebb__op_index_add, &attr, 3, in);
}

ebb_tensor *ebb_embedding(ebb_tensor *w, ebb_tensor *index)
{
    return ebb_embedding_with(w, index, NULL);
}

struct embedding_attr {
    bool padding;
    int64_t padding_idx;
};
_Static_assert(sizeof(struct embedding_attr) == 16, "embedding");
_Static_assert(offsetof(struct embedding_attr, padding) == 0, "embedding");
_Static_assert(offsetof(struct embedding_attr, padding_idx) == 8, "embedding");
ebb_tensor *ebb_embedding_with(ebb_tensor *w, ebb_tensor *index,
                               const ebb_embedding_options *options)
{
    struct embedding_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_embedding, options->reserved) != EBB_OK) return NULL;
        attr.padding = options->padding;
        attr.padding_idx = options->padding_idx;
    }
    ebb_tensor *const in[] = {w, index};
    return ebb__call1(NULL, &ebb__op_embedding, &attr, 2, in);
}

struct one_hot_attr {
    int64_t n_classes;
};
_Static_assert(sizeof(struct one_hot_attr) == 8, "one_hot");
_Static_assert(offsetof(struct one_hot_attr, n_classes) == 0, "one_hot");
ebb_tensor *ebb_one_hot(ebb_tensor *index, int64_t n_classes)
{
    struct one_hot_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.n_classes = n_classes;
    ebb_tensor *const in[] = {index};
    return ebb__call1(NULL, &ebb__op_one_hot, &attr, 1, in);
}

ebb_tensor *ebb_nonzero(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_nonzero, NULL, 1, in);
}

ebb_tensor *ebb_masked_select(ebb_tensor *x, ebb_tensor *mask)
{
    ebb_tensor *const in[] = {x, mask};
    return ebb__call1(NULL, &ebb__op_masked_select, NULL, 2, in);
}

struct cat_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct cat_attr) == 8, "cat");
_Static_assert(offsetof(struct cat_attr, axis) == 0, "cat");
ebb_tensor *ebb_cat(ebb_tensor *const *xs, int64_t n, int64_t axis)
{
    struct cat_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    return ebb__call_list(&ebb__op_cat, &attr, NULL, 0, xs, n);
}

struct stack_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct stack_attr) == 8, "stack");
_Static_assert(offsetof(struct stack_attr, axis) == 0, "stack");
ebb_tensor *ebb_stack(ebb_tensor *const *xs, int64_t n, int64_t axis)
{
    struct stack_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    return ebb__call_list(&ebb__op_stack, &attr, NULL, 0, xs, n);
}

struct split_attr {
    int64_t size;
    int64_t axis;
};
_Static_assert(sizeof(struct split_attr) == 16, "split");
_Static_assert(offsetof(struct split_attr, size) == 0, "split");
_Static_assert(offsetof(struct split_attr, axis) == 8, "split");
ebb_status ebb_split(ebb_tensor **parts_out, int64_t n_out, ebb_tensor *x, int64_t size,
                     int64_t axis)
{
    struct split_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = size;
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call_parts(parts_out, n_out, &ebb__op_split, &attr, in, 1);
}

struct tril_attr {
    int64_t diagonal;
};
_Static_assert(sizeof(struct tril_attr) == 8, "tril");
_Static_assert(offsetof(struct tril_attr, diagonal) == 0, "tril");
ebb_tensor *ebb_tril(ebb_tensor *x, int64_t diagonal)
{
    struct tril_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.diagonal = diagonal;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_tril, &attr, 1, in);
}

struct triu_attr {
    int64_t diagonal;
};
_Static_assert(sizeof(struct triu_attr) == 8, "triu");
_Static_assert(offsetof(struct triu_attr, diagonal) == 0, "triu");
ebb_tensor *ebb_triu(ebb_tensor *x, int64_t diagonal)
{
    struct triu_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.diagonal = diagonal;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_triu, &attr, 1, in);
}

struct scaled_dot_product_attention_attr {
    bool causal;
    double scale;
    double dropout_p;
};
_Static_assert(sizeof(struct scaled_dot_product_attention_attr) == 24, "scaled_dot_product_attention");
_Static_assert(offsetof(struct scaled_dot_product_attention_attr, causal) == 0, "scaled_dot_product_attention");
_Static_assert(offsetof(struct scaled_dot_product_attention_attr, scale) == 8, "scaled_dot_product_attention");
_Static_assert(offsetof(struct scaled_dot_product_attention_attr, dropout_p) == 16, "scaled_dot_product_attention");
ebb_tensor *ebb_scaled_dot_product_attention(ebb_tensor *q, ebb_tensor *k, ebb_tensor *v,
                                             ebb_tensor *mask,
                                             const ebb_attention_options *options)
{
    struct scaled_dot_product_attention_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_scaled_dot_product_attention, options->reserved) != EBB_OK) return NULL;
        attr.causal = options->causal;
        attr.scale = options->scale;
        attr.dropout_p = options->dropout_p;
    }
    ebb_tensor *const in[] = {q, k, v, mask};
    return ebb__call1(NULL, &ebb__op_scaled_dot_product_attention, &attr, 4, in);
}

struct rnn_attr {
    bool relu;
    bool reverse;
};
_Static_assert(sizeof(struct rnn_attr) == 2, "rnn");
_Static_assert(offsetof(struct rnn_attr, relu) == 0, "rnn");
_Static_assert(offsetof(struct rnn_attr, reverse) == 1, "rnn");
ebb_status ebb_rnn(ebb_tensor **y_out, ebb_tensor **h_out, ebb_tensor *x, ebb_tensor *h0,
                   ebb_tensor *w_ih, ebb_tensor *w_hh, ebb_tensor *b_ih, ebb_tensor *b_hh,
                   const ebb_rnn_options *options)
{
    struct rnn_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_rnn, options->reserved));
        attr.relu = options->relu;
        attr.reverse = options->reverse;
    }
    ebb_tensor *const in[] = {x, h0, w_ih, w_hh, b_ih, b_hh};
    ebb_tensor **const out[] = {y_out, h_out};
    return ebb__call_outs(out, 2, &ebb__op_rnn, &attr, 6, in);
}

struct rnn_cell_attr {
    bool relu;
};
_Static_assert(sizeof(struct rnn_cell_attr) == 1, "rnn_cell");
_Static_assert(offsetof(struct rnn_cell_attr, relu) == 0, "rnn_cell");
ebb_tensor *ebb_rnn_cell(ebb_tensor *x, ebb_tensor *h0, ebb_tensor *w_ih, ebb_tensor *w_hh,
                         ebb_tensor *b_ih, ebb_tensor *b_hh,
                         const ebb_rnn_cell_options *options)
{
    struct rnn_cell_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_rnn_cell, options->reserved) != EBB_OK) return NULL;
        attr.relu = options->relu;
    }
    ebb_tensor *const in[] = {x, h0, w_ih, w_hh, b_ih, b_hh};
    return ebb__call1(NULL, &ebb__op_rnn_cell, &attr, 6, in);
}

struct lstm_attr {
    bool reverse;
};
_Static_assert(sizeof(struct lstm_attr) == 1, "lstm");
_Static_assert(offsetof(struct lstm_attr, reverse) == 0, "lstm");
ebb_status ebb_lstm(ebb_tensor **y_out, ebb_tensor **h_out, ebb_tensor **c_out, ebb_tensor *x,
                    ebb_tensor *h0, ebb_tensor *c0, ebb_tensor *w_ih, ebb_tensor *w_hh,
                    ebb_tensor *b_ih, ebb_tensor *b_hh, const ebb_lstm_options *options)
{
    struct lstm_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_lstm, options->reserved));
        attr.reverse = options->reverse;
    }
    ebb_tensor *const in[] = {x, h0, c0, w_ih, w_hh, b_ih, b_hh};
    ebb_tensor **const out[] = {y_out, h_out, c_out};
    return ebb__call_outs(out, 3, &ebb__op_lstm, &attr, 7, in);
}

ebb_status ebb_lstm_cell(ebb_tensor **h_out, ebb_tensor **c_out, ebb_tensor *x, ebb_tensor *h0,
                         ebb_tensor *c0, ebb_tensor *w_ih, ebb_tensor *w_hh, ebb_tensor *b_ih,
                         ebb_tensor *b_hh)
{
    ebb_tensor *const in[] = {x, h0, c0, w_ih, w_hh, b_ih, b_hh};
    ebb_tensor **const out[] = {h_out, c_out};
    return ebb__call_outs(out, 2, &ebb__op_lstm_cell, NULL, 7, in);
}

struct gru_attr {
    bool reverse;
};
_Static_assert(sizeof(struct gru_attr) == 1, "gru");
_Static_assert(offsetof(struct gru_attr, reverse) == 0, "gru");
ebb_status ebb_gru(ebb_tensor **y_out, ebb_tensor **h_out, ebb_tensor *x, ebb_tensor *h0,
                   ebb_tensor *w_ih, ebb_tensor *w_hh, ebb_tensor *b_ih, ebb_tensor *b_hh,
                   const ebb_gru_options *options)
{
    struct gru_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_gru, options->reserved));
        attr.reverse = options->reverse;
    }
    ebb_tensor *const in[] = {x, h0, w_ih, w_hh, b_ih, b_hh};
    ebb_tensor **const out[] = {y_out, h_out};
    return ebb__call_outs(out, 2, &ebb__op_gru, &attr, 6, in);
}

ebb_tensor *ebb_gru_cell(ebb_tensor *x, ebb_tensor *h0, ebb_tensor *w_ih, ebb_tensor *w_hh,
                         ebb_tensor *b_ih, ebb_tensor *b_hh)
{
    ebb_tensor *const in[] = {x, h0, w_ih, w_hh, b_ih, b_hh};
    return ebb__call1(NULL, &ebb__op_gru_cell, NULL, 6, in);
}

ebb_tensor *ebb_exp2(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_exp2, NULL, 1, in);
}

ebb_status ebb_exp2_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_exp2, "exp2_", NULL, 1, in);
}

ebb_tensor *ebb_log2(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_log2, NULL, 1, in);
}

ebb_status ebb_log2_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_log2, "log2_", NULL, 1, in);
}

ebb_tensor *ebb_log10(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_log10, NULL, 1, in);
}

ebb_status ebb_log10_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_log10, "log10_", NULL, 1, in);
}

ebb_tensor *ebb_tan(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_tan, NULL, 1, in);
}

ebb_status ebb_tan_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_tan, "tan_", NULL, 1, in);
}

ebb_tensor *ebb_asin(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_asin, NULL, 1, in);
}

ebb_status ebb_asin_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_asin, "asin_", NULL, 1, in);
}

ebb_tensor *ebb_acos(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_acos, NULL, 1, in);
}

ebb_status ebb_acos_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_acos, "acos_", NULL, 1, in);
}

ebb_tensor *ebb_atan(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_atan, NULL, 1, in);
}

ebb_status ebb_atan_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_atan, "atan_", NULL, 1, in);
}

ebb_tensor *ebb_sinh(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_sinh, NULL, 1, in);
}

ebb_status ebb_sinh_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_sinh, "sinh_", NULL, 1, in);
}

ebb_tensor *ebb_cosh(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_cosh, NULL, 1, in);
}

ebb_status ebb_cosh_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_cosh, "cosh_", NULL, 1, in);
}

ebb_tensor *ebb_asinh(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_asinh, NULL, 1, in);
}

ebb_status ebb_asinh_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_asinh, "asinh_", NULL, 1, in);
}

ebb_tensor *ebb_acosh(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_acosh, NULL, 1, in);
}

ebb_status ebb_acosh_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_acosh, "acosh_", NULL, 1, in);
}

ebb_tensor *ebb_atanh(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_atanh, NULL, 1, in);
}

ebb_status ebb_atanh_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_atanh, "atanh_", NULL, 1, in);
}

ebb_tensor *ebb_erfc(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_erfc, NULL, 1, in);
}

ebb_status ebb_erfc_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_erfc, "erfc_", NULL, 1, in);
}

ebb_tensor *ebb_erfinv(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_erfinv, NULL, 1, in);
}

ebb_status ebb_erfinv_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_erfinv, "erfinv_", NULL, 1, in);
}

ebb_tensor *ebb_lgamma(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_lgamma, NULL, 1, in);
}

ebb_status ebb_lgamma_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_lgamma, "lgamma_", NULL, 1, in);
}

ebb_tensor *ebb_digamma(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_digamma, NULL, 1, in);
}

ebb_status ebb_digamma_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_digamma, "digamma_", NULL, 1, in);
}

struct polygamma_attr {
    int64_t n;
};
_Static_assert(sizeof(struct polygamma_attr) == 8, "polygamma");
_Static_assert(offsetof(struct polygamma_attr, n) == 0, "polygamma");
ebb_tensor *ebb_polygamma(ebb_tensor *x, int64_t n)
{
    struct polygamma_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.n = n;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_polygamma, &attr, 1, in);
}

ebb_status ebb_polygamma_(ebb_tensor *x, int64_t n)
{
    struct polygamma_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.n = n;
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_polygamma, "polygamma_", &attr, 1, in);
}

struct hardtanh_attr {
    double min_val;
    double max_val;
};
_Static_assert(sizeof(struct hardtanh_attr) == 16, "hardtanh");
_Static_assert(offsetof(struct hardtanh_attr, min_val) == 0, "hardtanh");
_Static_assert(offsetof(struct hardtanh_attr, max_val) == 8, "hardtanh");
ebb_tensor *ebb_hardtanh(ebb_tensor *x, const ebb_hardtanh_options *options)
{
    struct hardtanh_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_hardtanh, options->reserved) != EBB_OK) return NULL;
        attr.min_val = options->min_val;
        attr.max_val = options->max_val;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_hardtanh, &attr, 1, in);
}

ebb_status ebb_hardtanh_(ebb_tensor *x, const ebb_hardtanh_options *options)
{
    struct hardtanh_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_hardtanh, options->reserved));
        attr.min_val = options->min_val;
        attr.max_val = options->max_val;
    }
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_hardtanh, "hardtanh_", &attr, 1, in);
}

ebb_tensor *ebb_relu6(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_relu6, NULL, 1, in);
}

ebb_status ebb_relu6_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_relu6, "relu6_", NULL, 1, in);
}

ebb_tensor *ebb_hardsigmoid(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_hardsigmoid, NULL, 1, in);
}

ebb_status ebb_hardsigmoid_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_hardsigmoid, "hardsigmoid_", NULL, 1, in);
}

ebb_tensor *ebb_hardswish(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_hardswish, NULL, 1, in);
}

ebb_status ebb_hardswish_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_hardswish, "hardswish_", NULL, 1, in);
}

ebb_tensor *ebb_selu(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_selu, NULL, 1, in);
}

ebb_status ebb_selu_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_selu, "selu_", NULL, 1, in);
}

struct celu_attr {
    double alpha;
};
_Static_assert(sizeof(struct celu_attr) == 8, "celu");
_Static_assert(offsetof(struct celu_attr, alpha) == 0, "celu");
ebb_tensor *ebb_celu(ebb_tensor *x, const ebb_celu_options *options)
{
    struct celu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_celu, options->reserved) != EBB_OK) return NULL;
        attr.alpha = options->alpha;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_celu, &attr, 1, in);
}

ebb_status ebb_celu_(ebb_tensor *x, const ebb_celu_options *options)
{
    struct celu_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_celu, options->reserved));
        attr.alpha = options->alpha;
    }
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_celu, "celu_", &attr, 1, in);
}

ebb_tensor *ebb_mish(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_mish, NULL, 1, in);
}

ebb_status ebb_mish_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_mish, "mish_", NULL, 1, in);
}

ebb_tensor *ebb_hypot(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_hypot, NULL, 2, in);
}

ebb_status ebb_hypot_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_hypot, "hypot_", NULL, 2, in);
}

ebb_tensor *ebb_atan2(ebb_tensor *y, ebb_tensor *x)
{
    ebb_tensor *const in[] = {y, x};
    return ebb__call1(NULL, &ebb__op_atan2, NULL, 2, in);
}

ebb_status ebb_atan2_(ebb_tensor *y, ebb_tensor *x)
{
    ebb_tensor *const in[] = {y, x};
    return ebb__run_in_place(&ebb__op_atan2, "atan2_", NULL, 2, in);
}

ebb_tensor *ebb_logaddexp(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_logaddexp, NULL, 2, in);
}

ebb_status ebb_logaddexp_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_logaddexp, "logaddexp_", NULL, 2, in);
}

ebb_tensor *ebb_xlogy(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_xlogy, NULL, 2, in);
}

ebb_status ebb_xlogy_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_xlogy, "xlogy_", NULL, 2, in);
}

ebb_tensor *ebb_lerp(ebb_tensor *x, ebb_tensor *y, ebb_tensor *weight)
{
    ebb_tensor *const in[] = {x, y, weight};
    return ebb__call1(NULL, &ebb__op_lerp, NULL, 3, in);
}

ebb_status ebb_lerp_(ebb_tensor *x, ebb_tensor *y, ebb_tensor *weight)
{
    ebb_tensor *const in[] = {x, y, weight};
    return ebb__run_in_place(&ebb__op_lerp, "lerp_", NULL, 3, in);
}

ebb_tensor *ebb_fmod(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_fmod, NULL, 2, in);
}

ebb_status ebb_fmod_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_fmod, "fmod_", NULL, 2, in);
}

ebb_tensor *ebb_remainder(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_remainder, NULL, 2, in);
}

ebb_status ebb_remainder_(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__run_in_place(&ebb__op_remainder, "remainder_", NULL, 2, in);
}

ebb_tensor *ebb_frac(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_frac, NULL, 1, in);
}

ebb_status ebb_frac_(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_frac, "frac_", NULL, 1, in);
}

ebb_tensor *ebb_bitwise_and(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bitwise_and, NULL, 2, in);
}

ebb_tensor *ebb_bitwise_or(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bitwise_or, NULL, 2, in);
}

ebb_tensor *ebb_bitwise_xor(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bitwise_xor, NULL, 2, in);
}

ebb_tensor *ebb_bitwise_not(ebb_tensor *x)
{
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_bitwise_not, NULL, 1, in);
}

ebb_tensor *ebb_logical_xor(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_logical_xor, NULL, 2, in);
}

ebb_tensor *ebb_bitwise_left_shift(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bitwise_left_shift, NULL, 2, in);
}

ebb_tensor *ebb_bitwise_right_shift(ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_bitwise_right_shift, NULL, 2, in);
}

struct nan_to_num_attr {
    double nan;
    double posinf;
    double neginf;
    bool zero_infinities;
};
_Static_assert(sizeof(struct nan_to_num_attr) == 32, "nan_to_num");
_Static_assert(offsetof(struct nan_to_num_attr, nan) == 0, "nan_to_num");
_Static_assert(offsetof(struct nan_to_num_attr, posinf) == 8, "nan_to_num");
_Static_assert(offsetof(struct nan_to_num_attr, neginf) == 16, "nan_to_num");
_Static_assert(offsetof(struct nan_to_num_attr, zero_infinities) == 24, "nan_to_num");
ebb_tensor *ebb_nan_to_num(ebb_tensor *x, const ebb_nan_to_num_options *options)
{
    struct nan_to_num_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_nan_to_num, options->reserved) != EBB_OK) return NULL;
        attr.nan = options->nan;
        attr.posinf = options->posinf;
        attr.neginf = options->neginf;
        attr.zero_infinities = options->zero_infinities;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_nan_to_num, &attr, 1, in);
}

ebb_status ebb_nan_to_num_(ebb_tensor *x, const ebb_nan_to_num_options *options)
{
    struct nan_to_num_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_nan_to_num, options->reserved));
        attr.nan = options->nan;
        attr.posinf = options->posinf;
        attr.neginf = options->neginf;
        attr.zero_infinities = options->zero_infinities;
    }
    ebb_tensor *const in[] = {x};
    return ebb__run_in_place(&ebb__op_nan_to_num, "nan_to_num_", &attr, 1, in);
}

struct count_nonzero_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct count_nonzero_attr) == 80, "count_nonzero");
_Static_assert(offsetof(struct count_nonzero_attr, axes) == 0, "count_nonzero");
ebb_tensor *ebb_count_nonzero(ebb_tensor *x, ebb_axes axes)
{
    struct count_nonzero_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_count_nonzero, &attr, 1, in);
}

struct sort_attr {
    bool descending;
    int64_t axis;
};
_Static_assert(sizeof(struct sort_attr) == 16, "sort");
_Static_assert(offsetof(struct sort_attr, descending) == 0, "sort");
_Static_assert(offsetof(struct sort_attr, axis) == 8, "sort");
ebb_status ebb_sort(ebb_tensor **values_out, ebb_tensor **indices_out, ebb_tensor *x,
                    int64_t axis, const ebb_sort_options *options)
{
    struct sort_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_sort, options->reserved));
        attr.descending = options->descending;
    }
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_sort, &attr, 1, in);
}

struct argsort_attr {
    bool descending;
    int64_t axis;
};
_Static_assert(sizeof(struct argsort_attr) == 16, "argsort");
_Static_assert(offsetof(struct argsort_attr, descending) == 0, "argsort");
_Static_assert(offsetof(struct argsort_attr, axis) == 8, "argsort");
ebb_tensor *ebb_argsort(ebb_tensor *x, int64_t axis, const ebb_sort_options *options)
{
    struct argsort_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_argsort, options->reserved) != EBB_OK) return NULL;
        attr.descending = options->descending;
    }
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_argsort, &attr, 1, in);
}

struct topk_attr {
    bool smallest;
    int64_t k;
    int64_t axis;
};
_Static_assert(sizeof(struct topk_attr) == 24, "topk");
_Static_assert(offsetof(struct topk_attr, smallest) == 0, "topk");
_Static_assert(offsetof(struct topk_attr, k) == 8, "topk");
_Static_assert(offsetof(struct topk_attr, axis) == 16, "topk");
ebb_status ebb_topk(ebb_tensor **values_out, ebb_tensor **indices_out, ebb_tensor *x, int64_t k,
                    int64_t axis, const ebb_topk_options *options)
{
    struct topk_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.k = k;
    attr.axis = axis;
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_topk, options->reserved));
        attr.smallest = options->smallest;
    }
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_topk, &attr, 1, in);
}

struct median_attr {
    ebb_axes axes;
};
_Static_assert(sizeof(struct median_attr) == 80, "median");
_Static_assert(offsetof(struct median_attr, axes) == 0, "median");
ebb_status ebb_median(ebb_tensor **values_out, ebb_tensor **indices_out, ebb_tensor *x,
                      ebb_axes axes)
{
    struct median_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_median, &attr, 1, in);
}

struct cumprod_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct cumprod_attr) == 8, "cumprod");
_Static_assert(offsetof(struct cumprod_attr, axis) == 0, "cumprod");
ebb_tensor *ebb_cumprod(ebb_tensor *x, int64_t axis)
{
    struct cumprod_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_cumprod, &attr, 1, in);
}

struct cummax_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct cummax_attr) == 8, "cummax");
_Static_assert(offsetof(struct cummax_attr, axis) == 0, "cummax");
ebb_status ebb_cummax(ebb_tensor **values_out, ebb_tensor **indices_out, ebb_tensor *x,
                      int64_t axis)
{
    struct cummax_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_cummax, &attr, 1, in);
}

struct cummin_attr {
    int64_t axis;
};
_Static_assert(sizeof(struct cummin_attr) == 8, "cummin");
_Static_assert(offsetof(struct cummin_attr, axis) == 0, "cummin");
ebb_status ebb_cummin(ebb_tensor **values_out, ebb_tensor **indices_out, ebb_tensor *x,
                      int64_t axis)
{
    struct cummin_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_cummin, &attr, 1, in);
}

struct norm_attr {
    double p;
    ebb_axes axes;
};
_Static_assert(sizeof(struct norm_attr) == 88, "norm");
_Static_assert(offsetof(struct norm_attr, p) == 0, "norm");
_Static_assert(offsetof(struct norm_attr, axes) == 8, "norm");
ebb_tensor *ebb_norm(ebb_tensor *x, double p, ebb_axes axes)
{
    struct norm_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.p = p;
    attr.axes = axes;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_norm, &attr, 1, in);
}

struct huber_attr {
    int64_t reduction;
    double delta;
};
_Static_assert(sizeof(struct huber_attr) == 16, "huber");
_Static_assert(offsetof(struct huber_attr, reduction) == 0, "huber");
_Static_assert(offsetof(struct huber_attr, delta) == 8, "huber");
ebb_tensor *ebb_huber(ebb_tensor *x, ebb_tensor *y, const ebb_huber_options *options)
{
    struct huber_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_huber, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.delta = options->delta;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_huber, &attr, 2, in);
}

struct hinge_attr {
    int64_t reduction;
};
_Static_assert(sizeof(struct hinge_attr) == 8, "hinge");
_Static_assert(offsetof(struct hinge_attr, reduction) == 0, "hinge");
ebb_tensor *ebb_hinge(ebb_tensor *x, ebb_tensor *y, const ebb_hinge_options *options)
{
    struct hinge_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_hinge, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_hinge, &attr, 2, in);
}

struct hinge_embedding_attr {
    int64_t reduction;
    double margin;
};
_Static_assert(sizeof(struct hinge_embedding_attr) == 16, "hinge_embedding");
_Static_assert(offsetof(struct hinge_embedding_attr, reduction) == 0, "hinge_embedding");
_Static_assert(offsetof(struct hinge_embedding_attr, margin) == 8, "hinge_embedding");
ebb_tensor *ebb_hinge_embedding(ebb_tensor *x, ebb_tensor *y,
                                const ebb_hinge_embedding_options *options)
{
    struct hinge_embedding_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_hinge_embedding, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.margin = options->margin;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_hinge_embedding, &attr, 2, in);
}

struct kl_div_attr {
    int64_t reduction;
    bool log_target;
};
_Static_assert(sizeof(struct kl_div_attr) == 16, "kl_div");
_Static_assert(offsetof(struct kl_div_attr, reduction) == 0, "kl_div");
_Static_assert(offsetof(struct kl_div_attr, log_target) == 8, "kl_div");
ebb_tensor *ebb_kl_div(ebb_tensor *x, ebb_tensor *y, const ebb_kl_div_options *options)
{
    struct kl_div_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_kl_div, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.log_target = options->log_target;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_kl_div, &attr, 2, in);
}

struct cosine_similarity_attr {
    double eps;
    int64_t axis;
};
_Static_assert(sizeof(struct cosine_similarity_attr) == 16, "cosine_similarity");
_Static_assert(offsetof(struct cosine_similarity_attr, eps) == 0, "cosine_similarity");
_Static_assert(offsetof(struct cosine_similarity_attr, axis) == 8, "cosine_similarity");
ebb_tensor *ebb_cosine_similarity(ebb_tensor *x, ebb_tensor *y, int64_t axis,
                                  const ebb_cosine_similarity_options *options)
{
    struct cosine_similarity_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_cosine_similarity, options->reserved) != EBB_OK) return NULL;
        attr.eps = options->eps;
    }
    ebb_tensor *const in[] = {x, y};
    return ebb__call1(NULL, &ebb__op_cosine_similarity, &attr, 2, in);
}

struct triplet_attr {
    int64_t reduction;
    double margin;
    double p;
    double eps;
    bool swap;
};
_Static_assert(sizeof(struct triplet_attr) == 40, "triplet");
_Static_assert(offsetof(struct triplet_attr, reduction) == 0, "triplet");
_Static_assert(offsetof(struct triplet_attr, margin) == 8, "triplet");
_Static_assert(offsetof(struct triplet_attr, p) == 16, "triplet");
_Static_assert(offsetof(struct triplet_attr, eps) == 24, "triplet");
_Static_assert(offsetof(struct triplet_attr, swap) == 32, "triplet");
ebb_tensor *ebb_triplet(ebb_tensor *anchor, ebb_tensor *positive, ebb_tensor *negative,
                        const ebb_triplet_options *options)
{
    struct triplet_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_triplet, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.margin = options->margin;
        attr.p = options->p;
        attr.eps = options->eps;
        attr.swap = options->swap;
    }
    ebb_tensor *const in[] = {anchor, positive, negative};
    return ebb__call1(NULL, &ebb__op_triplet, &attr, 3, in);
}

struct nll_weighted_attr {
    int64_t reduction;
    bool ignore;
    int64_t ignore_index;
};
_Static_assert(sizeof(struct nll_weighted_attr) == 24, "nll_weighted");
_Static_assert(offsetof(struct nll_weighted_attr, reduction) == 0, "nll_weighted");
_Static_assert(offsetof(struct nll_weighted_attr, ignore) == 8, "nll_weighted");
_Static_assert(offsetof(struct nll_weighted_attr, ignore_index) == 16, "nll_weighted");
ebb_tensor *ebb_nll_weighted(ebb_tensor *x, ebb_tensor *labels, ebb_tensor *weight,
                             const ebb_nll_weighted_options *options)
{
    struct nll_weighted_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_nll_weighted, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.ignore = options->ignore;
        attr.ignore_index = options->ignore_index;
    }
    ebb_tensor *const in[] = {x, labels, weight};
    return ebb__call1(NULL, &ebb__op_nll_weighted, &attr, 3, in);
}

struct cross_entropy_weighted_attr {
    int64_t reduction;
    double label_smoothing;
    bool ignore;
    int64_t ignore_index;
};
_Static_assert(sizeof(struct cross_entropy_weighted_attr) == 32, "cross_entropy_weighted");
_Static_assert(offsetof(struct cross_entropy_weighted_attr, reduction) == 0, "cross_entropy_weighted");
_Static_assert(offsetof(struct cross_entropy_weighted_attr, label_smoothing) == 8, "cross_entropy_weighted");
_Static_assert(offsetof(struct cross_entropy_weighted_attr, ignore) == 16, "cross_entropy_weighted");
_Static_assert(offsetof(struct cross_entropy_weighted_attr, ignore_index) == 24, "cross_entropy_weighted");
ebb_tensor *ebb_cross_entropy_weighted(ebb_tensor *logits, ebb_tensor *labels,
                                       ebb_tensor *weight,
                                       const ebb_cross_entropy_weighted_options *options)
{
    struct cross_entropy_weighted_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_cross_entropy_weighted, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.label_smoothing = options->label_smoothing;
        attr.ignore = options->ignore;
        attr.ignore_index = options->ignore_index;
    }
    ebb_tensor *const in[] = {logits, labels, weight};
    return ebb__call1(NULL, &ebb__op_cross_entropy_weighted, &attr, 3, in);
}

struct cross_entropy_soft_attr {
    int64_t reduction;
    double label_smoothing;
};
_Static_assert(sizeof(struct cross_entropy_soft_attr) == 16, "cross_entropy_soft");
_Static_assert(offsetof(struct cross_entropy_soft_attr, reduction) == 0, "cross_entropy_soft");
_Static_assert(offsetof(struct cross_entropy_soft_attr, label_smoothing) == 8, "cross_entropy_soft");
ebb_tensor *ebb_cross_entropy_soft(ebb_tensor *logits, ebb_tensor *target, ebb_tensor *weight,
                                   const ebb_cross_entropy_soft_options *options)
{
    struct cross_entropy_soft_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_cross_entropy_soft, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.label_smoothing = options->label_smoothing;
    }
    ebb_tensor *const in[] = {logits, target, weight};
    return ebb__call1(NULL, &ebb__op_cross_entropy_soft, &attr, 3, in);
}

struct bce_with_logits_weighted_attr {
    int64_t reduction;
};
_Static_assert(sizeof(struct bce_with_logits_weighted_attr) == 8, "bce_with_logits_weighted");
_Static_assert(offsetof(struct bce_with_logits_weighted_attr, reduction) == 0, "bce_with_logits_weighted");
ebb_tensor *ebb_bce_with_logits_weighted(ebb_tensor *x, ebb_tensor *y, ebb_tensor *weight,
                                         ebb_tensor *pos_weight,
                                         const ebb_bce_with_logits_weighted_options *options)
{
    struct bce_with_logits_weighted_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_bce_with_logits_weighted, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
    }
    ebb_tensor *const in[] = {x, y, weight, pos_weight};
    return ebb__call1(NULL, &ebb__op_bce_with_logits_weighted, &attr, 4, in);
}

struct randint_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    int64_t low;
    int64_t high;
};
_Static_assert(sizeof(struct randint_attr) == 96, "randint");
_Static_assert(offsetof(struct randint_attr, dtype) == 0, "randint");
_Static_assert(offsetof(struct randint_attr, shape) == 8, "randint");
_Static_assert(offsetof(struct randint_attr, low) == 80, "randint");
_Static_assert(offsetof(struct randint_attr, high) == 88, "randint");
ebb_tensor *ebb_randint(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape, int64_t low,
                        int64_t high)
{
    struct randint_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype;
    attr.shape = shape;
    attr.low = low;
    attr.high = high;
    return ebb__call1(ctx, &ebb__op_randint, &attr, 0, NULL);
}

struct randperm_attr {
    int64_t n;
};
_Static_assert(sizeof(struct randperm_attr) == 8, "randperm");
_Static_assert(offsetof(struct randperm_attr, n) == 0, "randperm");
ebb_tensor *ebb_randperm(ebb_context *ctx, int64_t n)
{
    struct randperm_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.n = n;
    return ebb__call1(ctx, &ebb__op_randperm, &attr, 0, NULL);
}

struct multinomial_attr {
    bool replacement;
    int64_t n;
};
_Static_assert(sizeof(struct multinomial_attr) == 16, "multinomial");
_Static_assert(offsetof(struct multinomial_attr, replacement) == 0, "multinomial");
_Static_assert(offsetof(struct multinomial_attr, n) == 8, "multinomial");
ebb_tensor *ebb_multinomial(ebb_tensor *p, int64_t n, const ebb_multinomial_options *options)
{
    struct multinomial_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.n = n;
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_multinomial, options->reserved) != EBB_OK) return NULL;
        attr.replacement = options->replacement;
    }
    ebb_tensor *const in[] = {p};
    return ebb__call1(NULL, &ebb__op_multinomial, &attr, 1, in);
}

struct ctc_attr {
    int64_t reduction;
    bool zero_infinity;
    int64_t blank;
};
_Static_assert(sizeof(struct ctc_attr) == 24, "ctc");
_Static_assert(offsetof(struct ctc_attr, reduction) == 0, "ctc");
_Static_assert(offsetof(struct ctc_attr, zero_infinity) == 8, "ctc");
_Static_assert(offsetof(struct ctc_attr, blank) == 16, "ctc");
ebb_tensor *ebb_ctc(ebb_tensor *log_probs, ebb_tensor *targets, ebb_tensor *input_lengths,
                    ebb_tensor *target_lengths, const ebb_ctc_options *options)
{
    struct ctc_attr attr;
    memset(&attr, 0, sizeof attr);
    if (options != NULL) {
        if (ebb__call_reserved(&ebb__op_ctc, options->reserved) != EBB_OK) return NULL;
        attr.reduction = options->reduction;
        attr.zero_infinity = options->zero_infinity;
        attr.blank = options->blank;
    }
    ebb_tensor *const in[] = {log_probs, targets, input_lengths, target_lengths};
    return ebb__call1(NULL, &ebb__op_ctc, &attr, 4, in);
}

struct as_strided_attr {
    ebb_shape shape;
    ebb_shape strides;
    int64_t offset;
};
_Static_assert(sizeof(struct as_strided_attr) == 152, "as_strided");
_Static_assert(offsetof(struct as_strided_attr, shape) == 0, "as_strided");
_Static_assert(offsetof(struct as_strided_attr, strides) == 72, "as_strided");
_Static_assert(offsetof(struct as_strided_attr, offset) == 144, "as_strided");
ebb_tensor *ebb_as_strided(ebb_tensor *x, ebb_shape shape, ebb_shape strides, int64_t offset)
{
    struct as_strided_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.shape = shape;
    attr.strides = strides;
    attr.offset = offset;
    ebb_tensor *const in[] = {x};
    return ebb__call1(NULL, &ebb__op_as_strided, &attr, 1, in);
}

struct max_pool1d_with_indices_attr {
    int64_t stride;
    int64_t padding;
    int64_t dilation;
    bool ceil_mode;
    int64_t kernel;
};
_Static_assert(sizeof(struct max_pool1d_with_indices_attr) == 40, "max_pool1d_with_indices");
_Static_assert(offsetof(struct max_pool1d_with_indices_attr, stride) == 0, "max_pool1d_with_indices");
_Static_assert(offsetof(struct max_pool1d_with_indices_attr, padding) == 8, "max_pool1d_with_indices");
_Static_assert(offsetof(struct max_pool1d_with_indices_attr, dilation) == 16, "max_pool1d_with_indices");
_Static_assert(offsetof(struct max_pool1d_with_indices_attr, ceil_mode) == 24, "max_pool1d_with_indices");
_Static_assert(offsetof(struct max_pool1d_with_indices_attr, kernel) == 32, "max_pool1d_with_indices");
ebb_status ebb_max_pool1d_with_indices(ebb_tensor **values_out, ebb_tensor **indices_out,
                                       ebb_tensor *x, int64_t kernel,
                                       const ebb_pool1d_options *options)
{
    struct max_pool1d_with_indices_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel = kernel;
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_max_pool1d_with_indices, options->reserved));
        attr.stride = options->stride;
        attr.padding = options->padding;
        attr.dilation = options->dilation;
        attr.ceil_mode = options->ceil_mode;
    }
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_max_pool1d_with_indices, &attr, 1, in);
}

struct max_pool2d_with_indices_attr {
    int64_t stride[2];
    int64_t padding[2];
    int64_t dilation[2];
    bool ceil_mode;
    int64_t kernel_h;
    int64_t kernel_w;
};
_Static_assert(sizeof(struct max_pool2d_with_indices_attr) == 72, "max_pool2d_with_indices");
_Static_assert(offsetof(struct max_pool2d_with_indices_attr, stride) == 0, "max_pool2d_with_indices");
_Static_assert(offsetof(struct max_pool2d_with_indices_attr, padding) == 16, "max_pool2d_with_indices");
_Static_assert(offsetof(struct max_pool2d_with_indices_attr, dilation) == 32, "max_pool2d_with_indices");
_Static_assert(offsetof(struct max_pool2d_with_indices_attr, ceil_mode) == 48, "max_pool2d_with_indices");
_Static_assert(offsetof(struct max_pool2d_with_indices_attr, kernel_h) == 56, "max_pool2d_with_indices");
_Static_assert(offsetof(struct max_pool2d_with_indices_attr, kernel_w) == 64, "max_pool2d_with_indices");
ebb_status ebb_max_pool2d_with_indices(ebb_tensor **values_out, ebb_tensor **indices_out,
                                       ebb_tensor *x, int64_t kernel_h, int64_t kernel_w,
                                       const ebb_pool2d_options *options)
{
    struct max_pool2d_with_indices_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel_h = kernel_h;
    attr.kernel_w = kernel_w;
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_max_pool2d_with_indices, options->reserved));
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.ceil_mode = options->ceil_mode;
    }
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_max_pool2d_with_indices, &attr, 1, in);
}

struct max_pool3d_with_indices_attr {
    int64_t stride[3];
    int64_t padding[3];
    int64_t dilation[3];
    bool ceil_mode;
    int64_t kernel_d;
    int64_t kernel_h;
    int64_t kernel_w;
};
_Static_assert(sizeof(struct max_pool3d_with_indices_attr) == 104, "max_pool3d_with_indices");
_Static_assert(offsetof(struct max_pool3d_with_indices_attr, stride) == 0, "max_pool3d_with_indices");
_Static_assert(offsetof(struct max_pool3d_with_indices_attr, padding) == 24, "max_pool3d_with_indices");
_Static_assert(offsetof(struct max_pool3d_with_indices_attr, dilation) == 48, "max_pool3d_with_indices");
_Static_assert(offsetof(struct max_pool3d_with_indices_attr, ceil_mode) == 72, "max_pool3d_with_indices");
_Static_assert(offsetof(struct max_pool3d_with_indices_attr, kernel_d) == 80, "max_pool3d_with_indices");
_Static_assert(offsetof(struct max_pool3d_with_indices_attr, kernel_h) == 88, "max_pool3d_with_indices");
_Static_assert(offsetof(struct max_pool3d_with_indices_attr, kernel_w) == 96, "max_pool3d_with_indices");
ebb_status ebb_max_pool3d_with_indices(ebb_tensor **values_out, ebb_tensor **indices_out,
                                       ebb_tensor *x, int64_t kernel_d, int64_t kernel_h,
                                       int64_t kernel_w, const ebb_pool3d_options *options)
{
    struct max_pool3d_with_indices_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.kernel_d = kernel_d;
    attr.kernel_h = kernel_h;
    attr.kernel_w = kernel_w;
    if (options != NULL) {
        EBB_TRY(ebb__call_reserved(&ebb__op_max_pool3d_with_indices, options->reserved));
        attr.stride[0] = options->stride[0];
        attr.stride[1] = options->stride[1];
        attr.stride[2] = options->stride[2];
        attr.padding[0] = options->padding[0];
        attr.padding[1] = options->padding[1];
        attr.padding[2] = options->padding[2];
        attr.dilation[0] = options->dilation[0];
        attr.dilation[1] = options->dilation[1];
        attr.dilation[2] = options->dilation[2];
        attr.ceil_mode = options->ceil_mode;
    }
    ebb_tensor *const in[] = {x};
    ebb_tensor **const out[] = {values_out, indices_out};
    return ebb__call_outs(out, 2, &ebb__op_max_pool3d_with_indices, &attr, 1, in);
}
