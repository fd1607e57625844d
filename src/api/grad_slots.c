/* grad_slots.c - gradient slots and hooks: what a backward leaves behind, and what it calls.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/dry.h"

#include <ebb/grad.h>

/* ---- slots ------------------------------------------------------------------------------- */

/* Where the gradients of a tensor are added up: its leaf's slot, or one of the handle's own. */
typedef struct grad_slot {
    ebb__leaf *at; /* NULL: it has none */
    ebb_graph_node *leaf;
    ebb__retained *retained;
} grad_slot;

static grad_slot slot_of(const ebb__slot *s)
{
    if (s->is_leaf) return (grad_slot){.at = ebb_graph_node_payload(s->node), .leaf = s->node};
    ebb__retained *r = s->extra ? s->extra->retained : NULL;
    return (grad_slot){.at = r ? &r->slot : NULL, .retained = r};
}

static grad_slot slot_find(const ebb_tensor *t, const char *function)
{
    const ebb__slot *s = ebb__slot_of(t, function, "leaf");
    if (!s || ebb__context_usable(s->ctx) != EBB_OK) return (grad_slot){0};
    grad_slot slot = slot_of(s);
    if (!slot.at)
        ebb__fail(
            EBB_E_GRAPH,
            "%s: the tensor is no leaf: only leaves, and tensors that ebb_retain_grad was "
            "called for, have a gradient slot",
            function);
    return slot;
}

static void slot_lock(const grad_slot *slot)
{
    if (slot->leaf)
        ebb__graph_leaf_lock(slot->leaf);
    else
        ebb__lock_take(&slot->retained->lock);
}

static void slot_unlock(const grad_slot *slot)
{
    if (slot->leaf)
        ebb__graph_leaf_unlock(slot->leaf);
    else
        ebb__lock_give(&slot->retained->lock);
}

bool ebb_has_grad(const ebb_tensor *leaf)
{
    const ebb__slot *s =
        leaf && leaf != EBB_NONE ? ebb__slot_of(leaf, "ebb_has_grad", "leaf") : NULL;
    if (!s || ebb__context_usable(s->ctx) != EBB_OK) return false;
    grad_slot slot = slot_of(s);
    if (!slot.at) return false;
    slot_lock(&slot);
    bool has = slot.at->grad != NULL;
    slot_unlock(&slot);
    return has;
}

ebb_tensor *(ebb_grad_of)(ebb_tensor *leaf)
{
    grad_slot slot = slot_find(leaf, "grad_of");
    if (!slot.at || ebb__scope_required() != EBB_OK) return NULL;
    slot_lock(&slot);
    ebb__storage *grad = slot.at->grad ? ebb__storage_keep(slot.at->grad) : NULL;
    slot_unlock(&slot);
    if (!grad) return EBB_NONE;
    ebb_view v = {.dtype = slot.at->dtype, .shape = slot.at->shape};
    ebb_tensor *t = NULL;
    ebb__view_contiguous(&v);
    ebb_context *ctx = slot.at->ctx;
    ebb_status status = ebb__tensor_create(&t, ctx, grad, &v, 0);
    return ebb__call_end(ebb__error_op(), ctx, status) == EBB_OK ? t : NULL;
}

ebb_status(ebb_clear_grad)(ebb_tensor *leaf)
{
    grad_slot slot = slot_find(leaf, "clear_grad");
    if (!slot.at) return ebb_error_status();
    if (slot.leaf && ebb__is_dry(slot.at->ctx))
        EBB_TRY(ebb__call_end(ebb__error_op(), slot.at->ctx,
                              ebb__dry_slot_note(slot.at->ctx, slot.leaf)));
    slot_lock(&slot);
    ebb__storage *grad = slot.at->grad;
    slot.at->grad = NULL;
    slot_unlock(&slot);
    ebb__storage_release(grad);
    return EBB_OK;
}

/* ---- hooks ------------------------------------------------------------------------------- */

/* The slot of a tensor that a gradient may reach. */
static ebb__slot *target_of(ebb_tensor *t, const char *function)
{
    ebb__slot *s = ebb__slot_of(t, function, "t");
    if (!s || ebb__context_usable(s->ctx) != EBB_OK) return NULL;
    if (s->node) return s;
    ebb__fail(EBB_E_GRAPH,
              "the tensor depends on nothing that wants a gradient: none will come");
    return NULL;
}

ebb_status(ebb_hook_add)(ebb_hook_id *out, ebb_tensor *t, ebb_hook_fn fn, void *user,
                         const ebb_hook_options *options)
{
    static const ebb_hook_options none;
    const ebb_hook_options *o = options ? options : &none;
    const char *outer = ebb__error_op_set("hook_add");
    ebb__slot *s = target_of(t, "ebb_hook_add");
    ebb_status status = s ? EBB_OK : ebb_error_status();
    if (s && !fn) status = ebb__null_argument("ebb_hook_add", "fn");
    if (status == EBB_OK)
        status = ebb__reserved_check("", o->reserved, sizeof o->reserved / sizeof *o->reserved);
    if (status == EBB_OK)
        status = ebb__hook_add(out, s, fn, user, o);
    else if (o->done)
        o->done(user);
    return ebb__call_end(outer, s ? s->ctx : NULL, status);
}

ebb_status(ebb_hook_remove)(ebb_context *ctx, ebb_hook_id id)
{
    if (!ctx) return ebb__null_argument("ebb_hook_remove", "ctx");
    EBB_TRY(ebb__context_usable(ctx));
    const char *outer = ebb__error_op_set("hook_remove");
    ebb_status status = ebb__hook_remove(ctx->root, id);
    ebb__error_op_set(outer);
    return status;
}

ebb_status(ebb_retain_grad)(ebb_tensor *t)
{
    const char *outer = ebb__error_op_set("retain_grad");
    ebb__slot *s = target_of(t, "ebb_retain_grad");
    ebb_status status = !s ? ebb_error_status() : s->is_leaf ? EBB_OK : ebb__hook_retain(s);
    return ebb__call_end(outer, s ? s->ctx : NULL, status);
}
