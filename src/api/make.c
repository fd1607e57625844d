/* make.c - tensors from and to the user's memory; what they are.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/dry.h"
#include "base/error.h"
#include "tensor/slots.h"

#include <ebb/extend.h>

#include <math.h>
#include <string.h>

/* ---- making ------------------------------------------------------------------------------ */

static ebb_status make_check(ebb_context *ctx, const char *function, ebb_dtype d,
                             const ebb_shape *s, const void *data, size_t data_bytes)
{
    if (!ctx) return ebb__null_argument(function, "ctx");
    EBB_TRY(ebb__context_usable(ctx));
    EBB_TRY(ebb__scope_required());
    EBB_TRY(ebb__shape_check(s, d));
    size_t bytes = (size_t)ebb__n_elems(s) * ebb__dtype_size(d);
    if (!data && bytes) return ebb__null_argument(function, "data");
    char text[EBB__SHAPE_TEXT];
    if (bytes != data_bytes)
        return ebb__fail(EBB_E_SHAPE, "%s %s is %zu bytes, %zu were given", ebb_dtype_name(d),
                         ebb__shape_text(text, sizeof text, s), bytes, data_bytes);
    return EBB_OK;
}

ebb_tensor *(ebb_tensor_copy)(ebb_context *ctx, ebb_dtype d, ebb_shape s, const void *data,
                              size_t data_bytes)
{
    const char *outer = ebb__error_op_set("tensor_copy");
    ebb_tensor *t = NULL;
    ebb_view view;
    if (make_check(ctx, "ebb_tensor_copy", d, &s, data, data_bytes) == EBB_OK &&
        ebb__tensor_new(&t, ctx, d, &s, EBB_KIND_DATA, &view) == EBB_OK) {
        if (data_bytes) memcpy(view.data, data, data_bytes);
        ebb__value_unpin(ebb__slot_raw(t)->storage->value);
    }
    ebb__call_end(outer, ctx, t ? EBB_OK : ebb_error_status());
    return t;
}

static ebb_status kind_check(ebb_kind kind)
{
    if ((unsigned)kind <= EBB_KIND_BOOKKEEPING) return EBB_OK;
    return ebb__fail(EBB_E_RANGE, "%d is not a kind of bytes", (int)kind);
}

static ebb_tensor *adopt(ebb_context *ctx, ebb_dtype d, const ebb_shape *s, void *data,
                         size_t data_bytes, void (*done)(void *user), void *user)
{
    static const char nothing; /* where no elements lie */
    ebb__value *value;
    ebb__storage *storage;
    ebb_tensor *t = NULL;
    if (make_check(ctx, "ebb_tensor_adopt", d, s, data, data_bytes) != EBB_OK ||
        ebb__value_adopt(&value, ctx, data ? data : (void *)(uintptr_t)&nothing, data_bytes,
                         done, user) != EBB_OK) {
        if (done) done(user);
        return NULL;
    }
    if (ebb__storage_create(&storage, value) != EBB_OK) return NULL; /* done has run */
    ebb_view view = {.dtype = d, .shape = *s};
    ebb__view_contiguous(&view);
    return ebb__tensor_create(&t, ctx, storage, &view, 0) == EBB_OK ? t : NULL;
}

ebb_tensor *(ebb_tensor_adopt)(ebb_context *ctx, ebb_dtype d, ebb_shape s, void *data,
                               size_t data_bytes, void (*done)(void *user), void *user)
{
    const char *outer = ebb__error_op_set("tensor_adopt");
    ebb_tensor *t = adopt(ctx, d, &s, data, data_bytes, done, user);
    (void)ebb__call_end(outer, ctx, t ? EBB_OK : ebb_error_status());
    return t;
}

ebb_tensor *(ebb_empty)(ebb_context *ctx, ebb_dtype d, ebb_shape s, ebb_kind kind)
{
    const char *outer = ebb__error_op_set("empty");
    ebb_tensor *t = NULL;
    if (!ctx)
        ebb__null_argument("ebb_empty", "ctx");
    else if (ebb__context_usable(ctx) == EBB_OK && ebb__scope_required() == EBB_OK &&
             kind_check(kind) == EBB_OK)
        (void)(ebb__is_dry(ctx) ? ebb__dry_tensor_new(&t, ctx, d, &s, kind)
                                : ebb__tensor_new(&t, ctx, d, &s, kind, NULL));
    ebb__call_end(outer, ctx, t ? EBB_OK : ebb_error_status());
    return t;
}

/* ---- what it belongs to, counts as ------------------------------------------------------- */

ebb_context *ebb_context_of(const ebb_tensor *t)
{
    const ebb__slot *s = ebb__slot_of(t, "ebb_context_of", "t");
    return s ? s->ctx : NULL;
}

ebb_status(ebb_check)(const ebb_tensor *t)
{
    if (t == EBB_NONE) return EBB_OK;
    return ebb__slot_of(t, "ebb_check", "t") ? EBB_OK : ebb_error_status();
}

ebb_status(ebb_set_kind)(ebb_tensor *t, ebb_kind kind)
{
    ebb__slot *s = ebb__slot_of(t, "ebb_set_kind", "t");
    if (!s) return ebb_error_status();
    EBB_TRY(ebb__context_usable(s->ctx));
    EBB_TRY(kind_check(kind));
    EBB_TRY(ebb__context_usable(s->ctx));
    ebb__value_set_kind(s->storage->value, kind);
    return EBB_OK;
}

/* ---- leaves ------------------------------------------------------------------------------ */

static void leaf_free(void *payload)
{
    ebb__leaf *leaf = payload;
    ebb__storage *grad = leaf->grad;
    if (atomic_load_explicit(&leaf->hooked, memory_order_relaxed))
        ebb__hooks_drop(leaf->ctx->root, leaf);
    ebb__pool_free(leaf->ctx->pool, leaf, sizeof *leaf);
    ebb__storage_release(grad);
}

static ebb_status leaf_make(ebb__slot *s)
{
    ebb_dtype d = (ebb_dtype)s->layout->dtype;
    if (!ebb__dtype_is_float(d))
        return ebb__fail(EBB_E_DTYPE,
                         "a tensor of %s cannot want a gradient, floating ones can",
                         ebb_dtype_name(d));
    ebb__leaf *leaf = ebb__pool_alloc(s->ctx->pool, sizeof *leaf);
    if (!leaf) return ebb_error_status();
    ebb_view v;
    ebb__layout_unpack(&v, s->layout, NULL);
    *leaf = (ebb__leaf){.ctx = s->ctx, .dtype = d, .shape = v.shape};
    ebb_graph_payload payload = {leaf, leaf_free, EBB__LEAF_TAG};
    ebb_status status = ebb_graph_leaf_create(&s->node, s->ctx->space, &payload);
    if (status != EBB_OK) {
        ebb__pool_free(s->ctx->pool, leaf, sizeof *leaf);
        return status;
    }
    s->is_leaf = true;
    return EBB_OK;
}

ebb_status(ebb_set_requires_grad)(ebb_tensor *t, bool on)
{
    ebb__slot *s = ebb__slot_of(t, "ebb_set_requires_grad", "t");
    if (!s) return ebb_error_status();
    EBB_TRY(ebb__context_usable(s->ctx));
    if (s->node && !s->is_leaf)
        return ebb__fail(EBB_E_GRAPH,
                         "set_requires_grad: the tensor carries history; detach it first");
    if (on) return ebb__call_end(ebb__error_op(), s->ctx, s->is_leaf ? EBB_OK : leaf_make(s));
    ebb_graph_node *node = s->node;
    s->node = NULL;
    s->is_leaf = false;
    ebb_graph_node_release(node);
    return EBB_OK;
}

bool ebb_requires_grad(const ebb_tensor *t)
{
    const ebb__slot *s = t && t != EBB_NONE ? ebb__slot_of(t, "ebb_requires_grad", "t") : NULL;
    return s && s->node;
}

ebb_tensor *(ebb_detach)(ebb_tensor *x)
{
    const char *outer = ebb__error_op_set("detach");
    ebb__slot *s = ebb__slot_of(x, "ebb_detach", "x");
    ebb_tensor *t = NULL;
    ebb_view v;
    if (s && ebb__context_usable(s->ctx) == EBB_OK && ebb__scope_required() == EBB_OK) {
        ebb__layout_unpack(&v, s->layout, NULL);
        if (ebb__tensor_create(&t, s->ctx, ebb__storage_keep(s->storage), &v,
                               s->layout->offset) != EBB_OK)
            t = NULL;
    }
    (void)ebb__call_end(outer, s ? s->ctx : NULL, t ? EBB_OK : ebb_error_status());
    return t;
}
