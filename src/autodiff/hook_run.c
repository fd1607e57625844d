/* hook_run.c - hooks called during a backward; gradients of interior tensors that are kept.
 *
 * A hook gets a handle of its own scope's on bytes that nobody else sees, so neither an extra
 * release nor a write can touch a seed, a slot or another total; what it keeps is copied for us.
 * SPDX-License-Identifier: MIT */
#include "autodiff/commit.h"

static ebb_status total_replace(ebb__grad_total *total, ebb_tensor *by)
{
    ebb_tensor *old = *total;
    *total = ebb__claim_or_keep(by);
    if (!*total) {
        *total = old;
        return ebb_error_status();
    }
    ebb__tensor_release(old);
    return EBB_OK;
}

/* Under create_graph a total with history stays as it is: nothing can be written to it. */
static ebb_status total_own(ebb__backward *b, ebb__grad_total *total)
{
    const ebb__slot *s = ebb__slot_raw(*total);
    if (ebb__tensor_exclusive(s) || s->node) return EBB_OK;
    ebb_tensor *copy = ebb__run1(b->ctx, b->ctx->engine->clone, NULL, 1, total);
    return copy ? total_replace(total, copy) : ebb_error_status();
}

static ebb_status replacement_check(ebb_tensor *g, ebb_tensor *total)
{
    const ebb__slot *s = ebb__slot_of(g, "a hook", "its gradient");
    if (!s) return ebb_error_status();
    ebb_context *ctx = ebb__slot_raw(total)->ctx;
    EBB_TRY(ebb__context_join(&ctx, s->ctx));
    ebb_view have, want;
    ebb__layout_unpack(&have, s->layout, NULL);
    ebb__layout_unpack(&want, ebb__slot_raw(total)->layout, NULL);
    if (have.dtype == want.dtype && ebb__shape_equal(&have.shape, &want.shape)) return EBB_OK;
    char th[EBB__SHAPE_TEXT], tw[EBB__SHAPE_TEXT];
    return ebb__fail(have.dtype == want.dtype ? EBB_E_SHAPE : EBB_E_DTYPE,
                     "a hook left a gradient of %s %s, %s %s is needed",
                     ebb_dtype_name(have.dtype), ebb__shape_text(th, sizeof th, &have.shape),
                     ebb_dtype_name(want.dtype), ebb__shape_text(tw, sizeof tw, &want.shape));
}

static ebb_status hook_call(ebb__backward *b, ebb__hook *h, ebb__grad_total *total)
{
    EBB_TRY(total_own(b, total));
    ebb_scope scope = ebb_scope_begin(
        EBB__SCOPE_RULE | (b->create_graph ? EBB_SCOPE_GRAD : EBB_SCOPE_NO_GRAD), NULL);
    ebb_tensor *given = scope.id ? ebb__alias(ebb__slot_raw(*total), true) : NULL, *g = given;
    ebb_status status = given ? EBB_OK : ebb_error_status();
    if (given) {
        const char *outer = ebb__error_op_set(h->name[0] ? h->name : "a hook");
        ebb__fence before = ebb__scope_fence();
        status = h->fn(h->user, &g);
        ebb__at(before.file, before.line);
        status = ebb__callback_status(status, "a hook");
        if (status == EBB_OK && g != given) status = replacement_check(g, *total);
        if (status == EBB_OK && g != given) g = ebb_keep(g);
        ebb__scope_unfence(before);
        ebb__error_op_set(outer);
    }
    ebb_scope_end(scope);
    if (status == EBB_OK && g != given) {
        status = g ? total_replace(total, g) : ebb_error_status();
        ebb_release(g);
    }
    return status == EBB_OK ? total_own(b, total) : status;
}

/* A copy waits for the end of the walk. */
static ebb_status retain(ebb__backward *b, ebb__hook *h, ebb__grad_total *total)
{
    if (b->args->inputs || atomic_load_explicit(&h->retained->refs, memory_order_acquire) == 1)
        return EBB_OK; /* ebb_grad leaves slots alone; or the handle is gone */
    ebb__pool *pool = b->ctx->pool;
    ebb__kept_total *kept = ebb__pool_alloc(pool, sizeof *kept);
    if (!kept) return ebb_error_status();
    ebb_tensor *copy = ebb__run1(b->ctx, b->ctx->engine->clone, NULL, 1, total);
    ebb_status status = copy ? EBB_OK : ebb_error_status();
    if (copy) {
        ebb__storage *s = ebb__slot_raw(copy)->storage;
        copy = ebb_claim(copy);
        status = ebb__value_may_rehome(s->value, h->retained->slot.ctx)
                     ? ebb__storage_write(s, "backward", ebb__restore)
                     : ebb__stage_above(&copy, &h->retained->slot);
    }
    if (status != EBB_OK) {
        if (copy) ebb_release(copy);
        ebb__pool_free(pool, kept, sizeof *kept);
        return status;
    }
    atomic_fetch_add_explicit(&h->retained->refs, 1, memory_order_relaxed);
    *kept = (ebb__kept_total){b->kept, h->retained, copy};
    b->kept = kept;
    return EBB_OK;
}

static ebb_status place_run(ebb__backward *b, const void *place, uint32_t output,
                            ebb__grad_total *total, bool retains)
{
    ebb_context *root = b->ctx->root;
    uint64_t last = ebb__hooks_last_id(root), after = 0;
    for (ebb__hook *h; (h = ebb__hook_next(root, place, output, after, last));) {
        after = h->id;
        ebb_status status = EBB_OK;
        if (!h->retained != retains)
            status = retains ? retain(b, h, total) : hook_call(b, h, total);
        ebb__hook_unref(h);
        EBB_TRY(status);
    }
    return EBB_OK;
}

ebb_status ebb__hooks_run_node(ebb__backward *b, int64_t i)
{
    const ebb__record *r = ebb_graph_node_payload(b->walk.nodes[i]);
    int64_t first = b->first_out[i], n = b->first_out[i + 1] - first;
    for (int64_t k = 0; k < n; k++) {
        ebb__grad_total *total = &b->total[first + k];
        if (!*total) continue;
        EBB_TRY(place_run(b, r, (uint32_t)k, total, false));
        EBB_TRY(place_run(b, r, (uint32_t)k, total, true));
    }
    return EBB_OK;
}

ebb_status ebb__hooks_run_leaf(ebb__backward *b, int64_t i)
{
    const ebb__leaf *leaf = ebb_graph_node_payload(b->walk.leaves[i]);
    ebb__grad_total *total = ebb__leaf_total(b, i);
    if (!*total || !atomic_load_explicit(&leaf->hooked, memory_order_relaxed)) return EBB_OK;
    return place_run(b, leaf, 0, total, false);
}

void ebb__kept_release(ebb__backward *b)
{
    for (ebb__kept_total *k; (k = b->kept);) {
        b->kept = k->next;
        ebb__retained_release(k->to);
        ebb_release(k->total);
        ebb__pool_free(b->ctx->pool, k, sizeof *k);
    }
}
