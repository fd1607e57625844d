/* tensor.c - making handles, checking them, counting references.
 * SPDX-License-Identifier: MIT */
#include "tensor/tensor.h"

#include "base/error.h"
#include "tensor/slots.h"

static const char none_object[EBB__SLOT_BYTES];
ebb_tensor *const EBB_NONE = (ebb_tensor *)(uintptr_t)none_object;

ebb__slot *ebb__slot_refuse(const ebb_tensor *t, const char *function, const char *argument)
{
    if (!t) {
        ebb__null_argument(function, argument);
        return NULL;
    }
    if (t == EBB_NONE) {
        ebb__fail(EBB_E_MISUSE, "%s is EBB_NONE, a tensor is needed", argument);
        return NULL;
    }
    ebb__slot *s = ebb__slot_raw(t);
    if (!ebb__slot_known(s)) {
        ebb__fail(EBB_E_MISUSE, "%s is not a tensor of Ebb's", argument);
        return NULL;
    }
    ebb__slot_page *page =
        (ebb__slot_page *)((uintptr_t)s & ~(uintptr_t)(EBB__SLOT_PAGE_BYTES - 1));
    if (page->ctx)
        atomic_fetch_add_explicit(&page->ctx->slots->n_misuse, 1, memory_order_relaxed);
    if (s->scope)
        ebb__fail(EBB_E_MISUSE, "%s is a stale handle: its scope was %s (%s:%d)", argument,
                  s->scope->name, s->scope->file, (int)s->scope->line);
    else
        ebb__fail(EBB_E_MISUSE, "%s is a stale handle: it was released", argument);
    return NULL;
}

ebb_status ebb__tensor_create(ebb_tensor **out, ebb_context *ctx, ebb__storage *take_storage,
                              const ebb_view *layout, int64_t offset)
{
    ebb__slot *s = ebb__slot_take(ctx);
    if (!s) {
        ebb__storage_release(take_storage);
        return ebb_error_status();
    }
    s->ctx = ctx;
    s->layout = &s->own.layout_inline;
    int64_t n_dims = layout->shape.n_dims;
    if (n_dims > EBB__INLINE_DIMS)
        s->layout = ebb__pool_alloc(ctx->pool, ebb__layout_bytes(n_dims));
    if (!s->layout || ebb__scope_adopt(s) != EBB_OK) {
        if (s->layout && n_dims > EBB__INLINE_DIMS)
            ebb__pool_free(ctx->pool, s->layout, ebb__layout_bytes(n_dims));
        ebb__slot_give(s);
        ebb__storage_release(take_storage);
        return ebb_error_status();
    }
    ebb__layout_pack(s->layout, layout, offset);
    s->storage = take_storage;
    s->node = NULL;
    s->is_leaf = false;
    s->output = 0;
    s->extra = NULL;
    atomic_store_explicit(&s->n_maps, 0, memory_order_relaxed);
    atomic_store_explicit(&s->written_by_map, false, memory_order_relaxed);
    atomic_store_explicit(&s->refs, EBB__SCOPE_REF, memory_order_release);
    *out = ebb__handle_of(s);
    return EBB_OK;
}

ebb_status ebb__tensor_new(ebb_tensor **out, ebb_context *ctx, ebb_dtype d,
                           const ebb_shape *shape, ebb_kind kind, ebb_view *view)
{
    EBB_TRY(ebb__shape_check(shape, d));
    ebb__value *value;
    ebb__storage *storage;
    size_t bytes = (size_t)ebb__n_elems(shape) * ebb__dtype_size(d);
    EBB_TRY(ebb__value_create(&value, ctx, bytes, kind));
    EBB_TRY(ebb__storage_create(&storage, value));
    ebb_view layout = {.dtype = d, .shape = *shape};
    ebb__view_contiguous(&layout);
    EBB_TRY(ebb__tensor_create(out, ctx, storage, &layout, 0));
    if (view) {
        while (!ebb__value_pin(value)) {
        } /* it is just being moved */
        *view = layout;
        view->data = value->data;
    }
    return EBB_OK;
}

void ebb__tensor_set_node(ebb_tensor *t, ebb_graph_node *take_node, uint32_t output)
{
    ebb__slot *s = ebb__slot_raw(t);
    s->node = take_node;
    s->output = (uint16_t)output;
}

void ebb__tensor_view(ebb_view *out, const ebb__slot *s)
{
    ebb__layout_unpack(out, s->layout, s->storage->value->data);
}

ebb_tensor *ebb_keep(ebb_tensor *t)
{
    if (!t || t == EBB_NONE) return t;
    ebb__slot *s = ebb__slot_of(t, "ebb_keep", "t");
    if (!s) return NULL;
    unsigned before = atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    ebb__value_note_kept(s->storage->value);
    if (before % EBB__SCOPE_REF < EBB__SCOPE_REF - 2) return t;
    atomic_fetch_sub_explicit(&s->refs, 1, memory_order_relaxed);
    ebb__fail(EBB_E_RANGE, "ebb_keep: %d references to one tensor are the most",
              EBB__SCOPE_REF - 2);
    return NULL;
}

void ebb__tensor_release(ebb_tensor *t)
{
    ebb__slot *s = ebb__slot_raw(t);
    if (!t) return;
    if (atomic_load_explicit(&s->refs, memory_order_acquire) != 1) {
        ebb_release(t);
        return;
    }
    atomic_store_explicit(&s->refs, 0, memory_order_relaxed);
    ebb__slot_die(s);
}

void ebb_release(ebb_tensor *t)
{
    if (!t || t == EBB_NONE) return;
    ebb__slot *s = ebb__slot_of(t, "ebb_release", "t");
    if (!s) return;
    unsigned refs = atomic_load_explicit(&s->refs, memory_order_acquire);
    if (refs == 1) { /* the last one is the caller's: nobody else may count here */
        atomic_store_explicit(&s->refs, 0, memory_order_relaxed);
        ebb__slot_die(s);
        return;
    }
    do {
        if (refs % EBB__SCOPE_REF == 0) {
            atomic_fetch_add_explicit(&s->ctx->slots->n_misuse, 1, memory_order_relaxed);
            ebb__fail(EBB_E_MISUSE,
                      "ebb_release: no reference of yours is left, a scope owns it");
            return;
        }
    } while (!atomic_compare_exchange_weak_explicit(
        &s->refs, &refs, refs - 1, memory_order_acq_rel, memory_order_relaxed));
    if (refs == 1) ebb__slot_die(s);
}

ebb_status ebb_hold(ebb_tensor **slot, ebb_tensor *t)
{
    if (!slot) return ebb__fail(EBB_E_MISUSE, "ebb_hold: slot is NULL");
    if (!t) return ebb__null_argument("ebb_hold", "t");
    if (!ebb_keep(t)) return ebb_error_status();
    ebb_tensor *old = *slot;
    *slot = t;
    ebb_release(old);
    return EBB_OK;
}

void ebb_clear(ebb_tensor **slot)
{
    if (!slot) return;
    ebb_tensor *old = *slot;
    *slot = NULL;
    ebb_release(old);
}
