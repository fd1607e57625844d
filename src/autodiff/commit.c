/* commit.c - totals of leaves become gradients in slots.
 *
 * A slot's tensor is dense and its own: a total that anybody else can see (a seed, a view,
 * another leaf's total) is copied while staging. The leaf's lock guards the slot and what is
 * added to its bytes; whether they may be changed where they lie is only known under it.
 * SPDX-License-Identifier: MIT */
#include "autodiff/commit.h"
#include "autodiff/dry.h"

#include "base/half.h"

#include <string.h>

static ebb_tensor *full_like(const ebb__slot *s, double value)
{
    ebb_view v;
    ebb__layout_unpack(&v, s->layout, NULL);
    ebb_tensor *t;
    if (ebb__tensor_new(&t, s->ctx, v.dtype, &v.shape, EBB_KIND_TEMPORARY, &v) != EBB_OK)
        return NULL;
    ebb__slot *made = ebb__slot_raw(t);
    int64_t n = ebb__n_elems(&v.shape);
    uint16_t half =
        v.dtype == EBB_F16 ? ebb__f16_of_float((float)value) : ebb__bf16_of_float((float)value);
    if (v.dtype == EBB_F32)
        for (int64_t i = 0; i < n; i++) ((float *)v.data)[i] = (float)value;
    else if (v.dtype == EBB_F64)
        for (int64_t i = 0; i < n; i++) ((double *)v.data)[i] = value;
    else
        for (int64_t i = 0; i < n; i++) ((uint16_t *)v.data)[i] = half;
    ebb__tensor_unpin(made);
    return t;
}

ebb_tensor *ebb__ones_like(const ebb__slot *s)
{
    return full_like(s, 1);
}

ebb_tensor *ebb__zeros_like(const ebb__slot *s)
{
    return full_like(s, 0);
}

ebb_tensor *ebb__alias(const ebb__slot *s, bool history)
{
    ebb_view v;
    ebb_tensor *t;
    ebb__layout_unpack(&v, s->layout, NULL);
    if (ebb__tensor_create(&t, s->ctx, ebb__storage_keep(s->storage), &v, s->layout->offset) !=
        EBB_OK)
        return NULL;
    if (history && s->node) ebb__tensor_set_node(t, ebb_graph_node_keep(s->node), s->output);
    return t;
}

ebb_status ebb__stage_above(ebb__grad_total *total, const ebb__leaf *slot)
{
    ebb__slot *s = ebb__slot_raw(*total);
    ebb_view v, to;
    ebb_tensor *copy;
    ebb__layout_unpack(&v, s->layout, NULL);
    if (ebb__is_dry(slot->ctx)) {
        EBB_TRY(ebb__dry_tensor_new(&copy, slot->ctx, v.dtype, &v.shape, EBB_KIND_GRADIENT));
    } else {
        EBB_TRY(ebb__tensor_pin(&v, s));
        ebb_status status =
            ebb__tensor_new(&copy, slot->ctx, v.dtype, &v.shape, EBB_KIND_GRADIENT, &to);
        if (status == EBB_OK) memcpy(to.data, v.data, ebb__view_bytes(&v));
        ebb__tensor_unpin(s);
        if (status != EBB_OK) return status;
    }
    copy = ebb_claim(copy);
    ebb_release(*total);
    *total = copy;
    return EBB_OK;
}

/* Sees to it that the total is ours alone, dense and a source: a gradient is never made again
 * from a recipe. */
static ebb_status stage(ebb__backward *b, int64_t i)
{
    ebb__grad_total *total = ebb__leaf_total(b, i);
    ebb__slot *s = ebb__slot_raw(*total);
    size_t bytes = (size_t)(ebb_n_elems(*total)) * ebb__dtype_size((ebb_dtype)s->layout->dtype);
    bool whole = s->storage->value->tiny || s->storage->value->bytes < bytes + 64;
    if (!ebb__tensor_exclusive(s) || !whole) {
        ebb__habit_pause(b->ctx, true);
        ebb_tensor *copy = ebb__run1(b->ctx, b->ctx->engine->clone, NULL, 1, total);
        ebb__habit_pause(b->ctx, false);
        if (!copy) return ebb_error_status();
        copy = ebb_claim(copy);
        ebb_release(*total);
        *total = copy;
        s = ebb__slot_raw(copy);
    }
    const ebb__leaf *leaf = ebb_graph_node_payload(b->walk.leaves[i]);
    if (ebb__is_dry(b->ctx)) EBB_TRY(ebb__dry_slot_note(b->ctx, b->walk.leaves[i]));
    if (!ebb__value_may_rehome(s->storage->value, leaf->ctx))
        return ebb__stage_above(total, leaf);
    return ebb__storage_write(s->storage, "backward", ebb__restore);
}

void ebb__add_in_place(void *to, const void *from, ebb_dtype d, int64_t n)
{
    if (d == EBB_F32) {
        float *x = to;
        const float *y = from;
        for (int64_t i = 0; i < n; i++) x[i] += y[i];
    } else if (d == EBB_F16) {
        uint16_t *x = to;
        const uint16_t *y = from;
        for (int64_t i = 0; i < n; i++)
            x[i] = ebb__f16_of_float(ebb__f16_to_float(x[i]) + ebb__f16_to_float(y[i]));
    } else if (d == EBB_BF16) {
        uint16_t *x = to;
        const uint16_t *y = from;
        for (int64_t i = 0; i < n; i++)
            x[i] = ebb__bf16_of_float(ebb__bf16_to_float(x[i]) + ebb__bf16_to_float(y[i]));
    } else {
        double *x = to;
        const double *y = from;
        for (int64_t i = 0; i < n; i++) x[i] += y[i];
    }
}

/* Both are sources and there; at most they are just being moved. */
static void pin_source(ebb__value *v)
{
    while (!ebb__value_pin(v)) (void)ebb__restore(v);
}

static void add_to_slot(ebb__storage *slot, ebb__storage *total, ebb_dtype d, int64_t n)
{
    ebb__value *have = slot->value, *more = total->value;
    pin_source(have);
    pin_source(more);
    bool unseen = ebb__value_unseen(have);
    if (unseen)
        ebb__add_in_place(have->data, more->data, d, n);
    else
        ebb__add_in_place(more->data, have->data, d, n);
    ebb__value_unpin(have);
    ebb__value_unpin(more);
    /* Somebody saved what the slot holds: it stays as it is, and goes with the total. */
    if (!unseen) ebb__storage_swap(slot, total);
}

/* Before the lock: both take the memory's. A leaf of the parent's outlives this context. */
static void commit_prepare(const ebb__leaf *leaf, ebb_tensor *total)
{
    ebb__value *v = ebb__slot_raw(total)->storage->value;
    ebb__value_set_kind(v, EBB_KIND_GRADIENT);
    ebb__value_rehome(v, leaf->ctx);
}

/* Under the slot's lock. */
static void commit_locked(ebb__leaf *leaf, ebb_tensor *total)
{
    ebb__storage *s = ebb__slot_raw(total)->storage;
    if (leaf->grad && ebb__is_dry(leaf->ctx)) return;
    if (leaf->grad)
        add_to_slot(leaf->grad, s, leaf->dtype, ebb__n_elems(&leaf->shape));
    else
        leaf->grad = ebb__storage_keep(s);
}

static void kept_commit(ebb__backward *b)
{
    for (ebb__kept_total *k = b->kept; k; k = k->next) {
        commit_prepare(&k->to->slot, k->total);
        ebb__lock_take(&k->to->lock);
        commit_locked(&k->to->slot, k->total);
        ebb__lock_give(&k->to->lock);
    }
}

static void commit(ebb__backward *b, int64_t i)
{
    ebb__grad_total *total = ebb__leaf_total(b, i);
    ebb_graph_node *node = b->walk.leaves[i];
    ebb__leaf *leaf = ebb_graph_node_payload(node);
    commit_prepare(leaf, *total);
    ebb__graph_leaf_lock(node);
    commit_locked(leaf, *total);
    ebb__graph_leaf_unlock(node);
    ebb_release(*total);
    *total = NULL;
}

ebb_status ebb__commit_all(ebb__backward *b)
{
    for (int64_t i = 0; i < b->walk.n_leaves; i++) EBB_TRY(ebb__leaf_complete(b, i));
    for (int64_t i = 0; i < b->walk.n_leaves; i++)
        if (*ebb__leaf_total(b, i)) EBB_TRY(stage(b, i));
    for (int64_t i = 0; i < b->walk.n_leaves; i++)
        if (*ebb__leaf_total(b, i)) commit(b, i);
    kept_commit(b);
    return EBB_OK;
}

ebb_status ebb__commit_complete(ebb__backward *b, int64_t i)
{
    const ebb__graph_walk *w = &b->walk;
    for (int64_t e = w->first[i]; e < w->first[i + 1]; e++) {
        int32_t leaf = w->targets[e].leaf;
        if (leaf < 0 || !*ebb__leaf_total(b, leaf) || b->last_of[leaf] != i) continue;
        EBB_TRY(ebb__leaf_complete(b, leaf));
        EBB_TRY(stage(b, leaf));
        commit(b, leaf);
        b->committed = true;
    }
    return EBB_OK;
}
