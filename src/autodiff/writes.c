/* writes.c - operations that write what they read: what is checked and done before.
 *
 * Whoever gave up values made from the old content needs it. A write then copies it; not where
 * the operation can put the new content into the bytes of its other operand (a gradient that is
 * used up), which the storage gets, while the old value stays where it is. So the update of a
 * parameter wants no bytes, whatever a scope still holds. Other operations may put their result where
 * an operand was that nobody reads again.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"
#include "autodiff/dry.h"
#include "autodiff/in_budget.h"

static bool goes_over(const ebb_op *op, const ebb__slot *s, const ebb__slot *other)
{
    enum { GRADIENT = 2 }; /* holders of its storage: the leaf's slot and this handle */
    if (!(op->flags & EBB_OP_OVER) || ebb__is_dry(s->ctx)) return false;
    const unsigned dtype = s->layout->dtype;
    return (dtype == EBB_F32 || dtype == EBB_F64) && other->layout->dtype == dtype &&
           s->layout->contiguous && other->layout->contiguous && other->layout->offset == 0 &&
           s->layout->offset == 0 &&
           atomic_load_explicit(&other->storage->refs, memory_order_acquire) <= GRADIENT &&
           ebb__storage_may_exchange(s->storage, other->storage);
}

bool ebb__goes_over(const ebb_op *op, ebb_tensor *const *in)
{
    const ebb__slot *s = ebb__slot_find(in[0]), *other = ebb__slot_find(in[1]);
    return s && other && goes_over(op, s, other);
}

/* An operation that writes its inputs: never on history, nor on a leaf while recording. */
ebb_status ebb__writes_prepare(ebb__apply *a)
{
    ebb__call *c = &a->call;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!(c->op->writes >> i & 1) || !a->slot[i]) continue;
        ebb__slot *s = a->slot[i];
        if (s->node && (!s->is_leaf || ebb__scope_records()))
            return ebb__fail(EBB_E_GRAPH, "%s would be written in place but %s",
                             ebb__argument_name(c->op, i),
                             s->is_leaf ? "is a leaf and the scope records"
                                        : "carries history");
        if (!s->layout->contiguous)
            return ebb__fail(EBB_E_MISUSE,
                             "%s would be written in place: it must be contiguous",
                             ebb__argument_name(c->op, i));
        for (int32_t j = 0; j < i; j++)
            if (c->op->writes >> j & 1 && a->slot[j] && a->slot[j]->storage == s->storage)
                return ebb__fail(EBB_E_MISUSE,
                                 "%s and %s would both be written and share bytes",
                                 ebb__argument_name(c->op, j), ebb__argument_name(c->op, i));
        const bool over = i == 0 && goes_over(c->op, a->slot[0], a->slot[1]);
        if (i == 0) c->over = over; /* an optimizer's state is written where it lies */
        if (!ebb__is_dry(c->ctx) && !over)
            EBB_TRY(ebb__storage_write(s->storage, c->op->name, ebb__restore));
    }
    return EBB_OK;
}

bool ebb__may_go_over(const ebb__call *c, int32_t i)
{
    const ebb_view *in = &c->in[i], *out = &c->out[0];
    bool is_map = c->op->flags & EBB_OP_ALIAS_SAFE && c->n_out + c->n_aux == 1;
    bool is_first = c->op->flags & EBB_OP_OVER_FIRST && i == 0;
    if ((!is_map && !is_first) || c->op->flags & EBB_OP_RANDOM || in->dtype != out->dtype ||
        ebb__dtype_is_half(out->dtype) || !ebb__shape_equal(&in->shape, &out->shape))
        return false;
    for (int64_t d = 0; d < out->shape.n_dims; d++)
        if (in->strides[d] != out->strides[d]) return false;
    return true;
}
