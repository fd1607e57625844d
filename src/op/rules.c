/* rules.c - what shape rules and backward rules of many operations share.
 * SPDX-License-Identifier: MIT */
#include "op/op.h"

#include <stdio.h>

ebb_status ebb__shape_same(ebb__call *c)
{
    for (int32_t k = 0; k < c->n_out; k++) {
        c->out[k].dtype = c->in[0].dtype;
        c->out[k].shape = c->in[0].shape;
    }
    return EBB_OK;
}

ebb_status ebb__shape_same_float(ebb__call *c)
{
    if (!ebb__dtype_is_float(c->in[0].dtype))
        return ebb__fail(EBB_E_DTYPE, "%s is %s, a floating type is needed", c->op->arg[0],
                         ebb_dtype_name(c->in[0].dtype));
    return ebb__shape_same(c);
}

ebb_status ebb__shape_broadcast_n(ebb__call *c)
{
    ebb_shape shape = c->in[0].shape;
    for (int32_t i = 1; i < c->n_in; i++) {
        if (c->in[i].dtype != c->in[0].dtype)
            return ebb__fail(EBB_E_DTYPE, "%s is %s and %s is %s: they must be of one type",
                             c->op->arg[0], ebb_dtype_name(c->in[0].dtype), c->op->arg[i],
                             ebb_dtype_name(c->in[i].dtype));
        if (!ebb__shape_equal(&shape, &c->in[i].shape))
            EBB_TRY(ebb__shape_broadcast(&shape, &shape, &c->in[i].shape));
    }
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = shape;
    return EBB_OK;
}

ebb_status ebb__shape_floats(ebb__call *c)
{
    if (!ebb__dtype_is_float(c->in[0].dtype))
        return ebb__fail(EBB_E_DTYPE, "%s is %s, a floating type is needed", c->op->arg[0],
                         ebb_dtype_name(c->in[0].dtype));
    return ebb__shape_broadcast_n(c);
}

const char *ebb__view_text(char *buffer, size_t size, const ebb_view *v)
{
    char shape[EBB__SHAPE_TEXT];
    snprintf(buffer, size, "%s %s", ebb_dtype_name(v->dtype),
             ebb__shape_text(shape, sizeof shape, &v->shape));
    return buffer;
}

ebb_status ebb__axes_resolve(bool reduced[EBB_MAX_DIMS], const ebb_axes *a, int64_t rank)
{
    bool every = a->all || a->n == 0;
    for (int64_t i = 0; i < EBB_MAX_DIMS; i++) reduced[i] = every && i < rank;
    if (every) return EBB_OK;
    if (a->n < 0 || a->n > EBB_MAX_DIMS)
        return ebb__fail(EBB_E_RANGE, "%lld axes were given, at most %d are allowed",
                         (long long)a->n, EBB_MAX_DIMS);
    for (int64_t i = 0; i < a->n; i++) {
        int64_t axis = a->axis[i];
        EBB_TRY(ebb__axis_check(&axis, rank));
        if (reduced[axis])
            return ebb__fail(EBB_E_RANGE, "axis %lld is given twice", (long long)axis);
        reduced[axis] = true;
    }
    return EBB_OK;
}

ebb_status ebb__axes_shape(ebb_shape *out, const ebb_shape *in,
                           const bool reduced[EBB_MAX_DIMS], bool keep)
{
    ebb_shape r = {0};
    for (int64_t i = 0; i < in->n_dims; i++) {
        if (!reduced[i])
            r.dims[r.n_dims++] = in->dims[i];
        else if (keep)
            r.dims[r.n_dims++] = 1;
    }
    *out = r;
    return EBB_OK;
}

void ebb__emit_n(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                 ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    for (int32_t k = 0; k < n_out; k++) out[k] = NULL;
    if (v->status == EBB_OK) v->host->emit(v, op, attr, n_in, in, n_out, out);
}

ebb_tensor *ebb__emit(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                      ebb_tensor *const *in)
{
    ebb_tensor *out;
    ebb__emit_n(v, op, attr, n_in, in, 1, &out);
    return out;
}
