/* promote.c - one dtype for operands of several: PyTorch's rules.
 *
 * Categories rank bool < whole < floating. Tensors with dimensions decide; those without raise
 * the result only to a higher category. Operations with floating rules take whole numbers as
 * f32. Casts are recorded, so gradients come back in each operand's own dtype.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

static int category(ebb_dtype d)
{
    return d == 0 ? -1 : d == EBB_BOOL ? 0 : ebb__dtype_is_float(d) ? 2 : 1;
}

static bool is_whole(ebb_dtype d)
{
    return category(d) == 0 || category(d) == 1;
}

/* Of one category or two; 0: none yet. */
static ebb_dtype common(ebb_dtype a, ebb_dtype b)
{
    if (a == b || category(a) != category(b)) return category(a) >= category(b) ? a : b;
    if (ebb__dtype_is_half(a) && ebb__dtype_is_half(b)) return EBB_F32;
    return ebb__dtype_size(a) >= ebb__dtype_size(b) ? a : b;
}

static bool is_kept(const ebb_op *op, int32_t i)
{
    return op->keep_dtype >> (i < op->n_in ? i : op->n_in - 1) & 1;
}

/* What operands have been, so far. */
typedef struct operands {
    ebb_dtype shaped, scalar; /* of those with dimensions, and of those without; 0: none */
    bool differ;
} operands;

static void operand_add(operands *o, ebb_dtype d, bool has_dims)
{
    ebb_dtype seen = o->shaped ? o->shaped : o->scalar,
              *to = has_dims ? &o->shaped : &o->scalar;
    o->differ |= seen != 0 && d != seen;
    *to = *to ? common(*to, d) : d;
}

static ebb_dtype operands_dtype(const operands *o)
{
    return category(o->shaped) >= category(o->scalar) ? o->shaped
                                                      : common(o->shaped, o->scalar);
}

ebb_dtype ebb__promoted(const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    operands o = {0};
    for (int32_t i = 0; i < c->n_in; i++)
        if (a->slot[i] && !is_kept(c->op, i))
            operand_add(&o, c->in[i].dtype, c->in[i].shape.n_dims > 0);
    ebb_dtype d = operands_dtype(&o);
    if (is_whole(d) && (c->op->shape == ebb__shape_floats || c->op->flags & EBB_OP_FLOATS))
        return EBB_F32;
    return o.differ ? d : (ebb_dtype)0;
}

ebb_status ebb__promote_all(ebb_tensor **out, const ebb_op *op, ebb_tensor *const *in,
                            int32_t n_in)
{
    operands o = {0};
    for (int32_t i = 0; i < n_in; i++) {
        out[i] = in[i];
        if (in[i] == EBB_NONE || is_kept(op, i)) continue;
        const ebb__layout *l = ebb__slot_raw(in[i])->layout;
        operand_add(&o, (ebb_dtype)l->dtype, l->n_dims > 0);
    }
    ebb_dtype d = operands_dtype(&o);
    bool to_float = op->flags & EBB_OP_FLOATS && is_whole(d);
    if (to_float) d = EBB_F32;
    for (int32_t i = 0; i < n_in && (o.differ || to_float); i++)
        if (in[i] != EBB_NONE && !(out[i] = ebb__promote(in[i], op, i, d)))
            return ebb_error_status();
    return EBB_OK;
}

ebb_tensor *ebb__promote(ebb_tensor *t, const ebb_op *op, int32_t i, ebb_dtype d)
{
    const ebb__slot *s = ebb__slot_raw(t);
    if (is_kept(op, i) || s->layout->dtype == d) return t;
    return ebb__run1(s->ctx, s->ctx->engine->cast, &d, 1, &t);
}
