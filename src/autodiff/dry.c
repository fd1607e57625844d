/* dry.c - what a dry run leaves out, and what it puts back.
 *
 * Invariant: `slots` has, for each change of a leaf's slot to or from what was there before the
 * run, in the order of the changes, what it held; undone from the last to the first they are as
 * they were.
 * SPDX-License-Identifier: MIT */
#include "autodiff/dry.h"

#include "autodiff/in_budget.h"

#include <string.h>

struct ebb__dry {
    ebb__array slots;
};

typedef struct slot_before {
    ebb_graph_node *leaf;
    ebb__storage *grad; /* may be NULL */
} slot_before;

static void set_below(ebb_context *ctx, struct ebb__dry *dry)
{
    ctx->engine->dry = dry;
    for (ebb_context *c = ctx->first_child; c; c = c->next_sibling)
        if (!c->closed) set_below(c, dry);
}

ebb_status ebb__dry_begin(ebb_context *ctx)
{
    if (ebb__is_dry(ctx)) return ebb__fail(EBB_E_MISUSE, "a dry run is under way already");
    struct ebb__dry *dry = ebb__alloc(&ebb__allocator_libc, sizeof *dry, 16);
    if (!dry) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", sizeof *dry);
    memset(dry, 0, sizeof *dry);
    dry->slots.item_bytes = sizeof(slot_before);
    set_below(ctx, dry);
    return EBB_OK;
}

void ebb__dry_end(ebb_context *ctx)
{
    struct ebb__dry *dry = ctx->engine->dry;
    const slot_before *before = dry->slots.items;
    for (size_t i = dry->slots.n; i-- > 0;) {
        ebb__leaf *leaf = ebb_graph_node_payload(before[i].leaf);
        ebb__graph_leaf_lock(before[i].leaf);
        ebb__storage *phantom = leaf->grad;
        leaf->grad = before[i].grad;
        ebb__graph_leaf_unlock(before[i].leaf);
        ebb__storage_release(phantom);
        ebb_graph_node_release(before[i].leaf);
    }
    set_below(ctx, NULL);
    ebb__array_free(&dry->slots, &ebb__allocator_libc);
    ebb__free(&ebb__allocator_libc, dry, sizeof *dry);
}

ebb_status ebb__dry_slot_note(ebb_context *ctx, ebb_graph_node *leaf)
{
    ebb__storage *grad = ((ebb__leaf *)ebb_graph_node_payload(leaf))->grad;
    if (grad && grad->value->phantom) return EBB_OK; /* noted when it came */
    slot_before s = {.leaf = leaf, .grad = grad};
    EBB_TRY(ebb__array_push(&ctx->engine->dry->slots, &ebb__allocator_libc, &s));
    ebb_graph_node_keep(leaf);
    if (grad) ebb__storage_keep(grad);
    return EBB_OK;
}

/* What a region gave up is there again once it is read, so that its end is recorded. */
static void operands_restore(const ebb__apply *a)
{
    for (int32_t i = 0; i < a->call.n_in; i++) {
        ebb__value *v = a->slot[i] ? a->slot[i]->storage->value : NULL;
        if (v && v->phantom && !ebb__value_has_bytes(v) && ebb__value_reserve(v) == EBB_OK)
            ebb__value_restored(v);
    }
}

ebb_status ebb__dry_compute(ebb__apply *a)
{
    ebb__call *c = &a->call;
    operands_restore(a);
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) {
        if (ebb__value_create_phantom(&a->made[k], c->ctx, ebb__view_bytes(&c->out[k]),
                                      ebb__result_kind(c, k)) == EBB_OK)
            continue;
        while (k-- > 0) ebb__value_unuse(a->made[k]);
        return ebb_error_status();
    }
    return EBB_OK;
}

ebb_status ebb__dry_tensor_new(ebb_tensor **out, ebb_context *ctx, ebb_dtype d,
                               const ebb_shape *shape, ebb_kind kind)
{
    ebb__value *value;
    ebb__storage *storage;
    EBB_TRY(ebb__shape_check(shape, d));
    size_t bytes = (size_t)ebb__n_elems(shape) * ebb__dtype_size(d);
    EBB_TRY(ebb__value_create_phantom(&value, ctx, bytes, kind));
    EBB_TRY(ebb__storage_create(&storage, value));
    ebb_view layout = {.dtype = d, .shape = *shape};
    ebb__view_contiguous(&layout);
    return ebb__tensor_create(out, ctx, storage, &layout, 0);
}
