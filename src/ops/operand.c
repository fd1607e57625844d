/* operand.c - what shape rules ask of operands, each with its one message.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"

const char *ebb__arg_name(const ebb__call *c, int32_t i)
{
    int32_t last = c->op->n_in - 1;
    const char *name = c->op->arg[i < last ? i : last];
    return name ? name : "operand";
}

ebb_status ebb__check_float(const ebb__call *c, int32_t i)
{
    if (!ebb__given(c, i) || ebb__dtype_is_float(c->in[i].dtype)) return EBB_OK;
    return ebb__fail(EBB_E_DTYPE, "%s must be f32 or f64, it is %s", ebb__arg_name(c, i),
                     ebb_dtype_name(c->in[i].dtype));
}

ebb_status ebb__check_number(const ebb__call *c, int32_t i)
{
    if (!ebb__given(c, i) || c->in[i].dtype != EBB_BOOL) return EBB_OK;
    return ebb__fail(EBB_E_DTYPE, "%s is bool, a number is needed; cast it",
                     ebb__arg_name(c, i));
}

ebb_status ebb__check_integer(const ebb__call *c, int32_t i)
{
    if (!ebb__given(c, i)) return EBB_OK;
    ebb_dtype d = c->in[i].dtype;
    if (d == EBB_I64 || d == EBB_I32 || d == EBB_U8) return EBB_OK;
    return ebb__fail(EBB_E_DTYPE, "%s must be i64, i32 or u8, it is %s", ebb__arg_name(c, i),
                     ebb_dtype_name(d));
}

ebb_status ebb__check_dtype_as(const ebb__call *c, int32_t i, int32_t j)
{
    if (!ebb__given(c, i) || !ebb__given(c, j) || c->in[i].dtype == c->in[j].dtype)
        return EBB_OK;
    return ebb__fail(EBB_E_DTYPE, "%s is %s, %s is %s: one dtype is needed",
                     ebb__arg_name(c, j), ebb_dtype_name(c->in[j].dtype), ebb__arg_name(c, i),
                     ebb_dtype_name(c->in[i].dtype));
}

ebb_status ebb__check_shape_as(const ebb__call *c, int32_t i, int32_t j)
{
    if (!ebb__given(c, i) || !ebb__given(c, j)) return EBB_OK;
    if (ebb__shape_equal(&c->in[i].shape, &c->in[j].shape)) return EBB_OK;
    char a[EBB__SHAPE_TEXT], b[EBB__SHAPE_TEXT];
    return ebb__fail(EBB_E_SHAPE, "%s is %s, %s is %s: one shape is needed",
                     ebb__arg_name(c, j), ebb__shape_text(b, sizeof b, &c->in[j].shape),
                     ebb__arg_name(c, i), ebb__shape_text(a, sizeof a, &c->in[i].shape));
}

ebb_status ebb__check_rank(const ebb__call *c, int32_t i, int64_t rank)
{
    if (!ebb__given(c, i) || c->in[i].shape.n_dims == rank) return EBB_OK;
    char text[EBB__SHAPE_TEXT];
    return ebb__fail(EBB_E_SHAPE, "%s must have %d dimensions, it is %s", ebb__arg_name(c, i),
                     (int)rank, ebb__shape_text(text, sizeof text, &c->in[i].shape));
}

ebb_status ebb__check_rank_at_least(const ebb__call *c, int32_t i, int64_t rank)
{
    if (!ebb__given(c, i) || c->in[i].shape.n_dims >= rank) return EBB_OK;
    char text[EBB__SHAPE_TEXT];
    return ebb__fail(EBB_E_SHAPE, "%s must have at least %d dimension%s, it is %s",
                     ebb__arg_name(c, i), (int)rank, rank == 1 ? "" : "s",
                     ebb__shape_text(text, sizeof text, &c->in[i].shape));
}

ebb_status ebb__check_vector(const ebb__call *c, int32_t i, int64_t n)
{
    if (!ebb__given(c, i)) return EBB_OK;
    if (c->in[i].shape.n_dims == 1 && c->in[i].shape.dims[0] == n) return EBB_OK;
    char text[EBB__SHAPE_TEXT];
    return ebb__fail(EBB_E_SHAPE, "%s must be (%lld), it is %s", ebb__arg_name(c, i),
                     (long long)n, ebb__shape_text(text, sizeof text, &c->in[i].shape));
}

ebb__around ebb__around_axis(const ebb_shape *s, int64_t axis)
{
    ebb__around a = {1, s->dims[axis], 1};
    for (int64_t i = 0; i < axis; i++) a.outer *= s->dims[i];
    for (int64_t i = axis + 1; i < s->n_dims; i++) a.inner *= s->dims[i];
    return a;
}
