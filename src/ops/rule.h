/* rule.h - the few operations that backward rules of this folder use most, with their
 * attributes.
 *
 * Errors are sticky, as everywhere in rules.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_RULE_H
#define EBB_OPS_RULE_H

#include "ops/ids.h"

#include <string.h>

static inline ebb_tensor *ebb__rule_reshape(ebb_vjp *v, ebb_tensor *x, ebb_shape shape)
{
    return EBB_EMIT(v, reshape, &shape, x);
}
static inline ebb_tensor *ebb__rule_transpose(ebb_vjp *v, ebb_tensor *x, int64_t a, int64_t b)
{
    int64_t attr[2] = {a, b};
    return EBB_EMIT(v, transpose, attr, x);
}
static inline ebb_tensor *ebb__rule_sum(ebb_vjp *v, ebb_tensor *x, ebb_axes axes)
{
    return EBB_EMIT(v, sum, &axes, x);
}
static inline ebb_tensor *ebb__rule_mean(ebb_vjp *v, ebb_tensor *x, ebb_axes axes)
{
    return EBB_EMIT(v, mean, &axes, x);
}
static inline ebb_tensor *ebb__rule_scale(ebb_vjp *v, ebb_tensor *x, double factor)
{
    return EBB_EMIT(v, mul_scalar, &factor, x);
}
static inline ebb_tensor *ebb__rule_shift(ebb_vjp *v, ebb_tensor *x, double term)
{
    return EBB_EMIT(v, add_scalar, &term, x);
}
static inline ebb_tensor *ebb__rule_add(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return EBB_EMIT(v, add, NULL, x, y);
}
static inline ebb_tensor *ebb__rule_sub(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return EBB_EMIT(v, sub, NULL, x, y);
}
static inline ebb_tensor *ebb__rule_mul(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return EBB_EMIT(v, mul, NULL, x, y);
}
static inline ebb_tensor *ebb__rule_zeros(ebb_vjp *v, ebb_dtype dtype, ebb_shape shape)
{
    struct {
        ebb_dtype dtype;
        ebb_shape shape;
    } attr;
    memset(&attr, 0, sizeof attr); /* attributes are compared as bytes */
    attr.dtype = dtype;
    attr.shape = shape;
    return ebb__emit(v, &ebb__op_zeros, &attr, 0, NULL);
}
/* 16-bit floats as f32, for formulas on whose way they overflow; others as they are. */
static inline ebb_tensor *ebb__rule_wide(ebb_vjp *v, ebb_tensor *x)
{
    ebb_dtype wide = EBB_F32;
    return x && ebb__dtype_is_half(ebb_dtype_of(x)) ? EBB_EMIT(v, cast, &wide, x) : x;
}
/* The way back: y in the dtype of what was given. */
static inline ebb_tensor *ebb__rule_narrow(ebb_vjp *v, ebb_tensor *y, ebb_dtype d)
{
    return y && ebb_dtype_of(y) != d ? EBB_EMIT(v, cast, &d, y) : y;
}
/* sum(x * y) over everything: a scalar. */
static inline ebb_tensor *ebb__rule_dot(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return ebb__rule_sum(v, ebb__rule_mul(v, x, y), EBB_ALL);
}

#endif
