/* in_place.c - operations whose result takes the place of their first input.
 *
 * Where a gradient is recorded the handle gets the result, with its history, and lets go of what
 * it had: whoever saved that still has it, so no backward is ever refused for it. That needs the
 * bytes to be the handle's alone. Elsewhere it is a write into the bytes, which every view sees
 * and which a backward that saved them is told of, with both operations named.
 * SPDX-License-Identifier: MIT */
#include "autodiff/dry.h"

#include <string.h>

typedef struct job {
    const ebb_op *op;
    const char *name; /* of the variant; a literal */
    const void *attr;
    int32_t n_in;
    ebb_tensor *const *in;
    ebb__slot *x;
} job;

/* ---- what may be written ----------------------------------------------------------------- */

/* Do two elements of the view share bytes: by ascending strides each must step over all before.
 */
static bool overlaps_itself(const ebb_view *v)
{
    bool taken[EBB_MAX_DIMS] = {false};
    int64_t reach = 0;
    if (ebb__n_elems(&v->shape) == 0) return false;
    for (int64_t n = 0; n < v->shape.n_dims; n++) {
        int64_t next = -1;
        for (int64_t d = 0; d < v->shape.n_dims; d++)
            if (!taken[d] && (next < 0 || v->strides[d] < v->strides[next])) next = d;
        taken[next] = true;
        if (v->shape.dims[next] <= 1) continue;
        if (v->strides[next] <= reach) return true;
        reach += (v->shape.dims[next] - 1) * v->strides[next];
    }
    return false;
}

static ebb_status fits(const job *j, ebb_dtype d, const ebb_shape *s)
{
    ebb_view x;
    ebb__layout_unpack(&x, j->x->layout, NULL);
    char have[EBB__SHAPE_TEXT], want[EBB__SHAPE_TEXT];
    if (!ebb__shape_equal(&x.shape, s))
        return ebb__fail(EBB_E_SHAPE, "the result is %s, x is %s: x keeps its shape",
                         ebb__shape_text(have, sizeof have, s),
                         ebb__shape_text(want, sizeof want, &x.shape));
    if (x.dtype != d && !(ebb__dtype_is_float(d) && ebb__dtype_is_float(x.dtype)))
        return ebb__fail(EBB_E_DTYPE, "the result is %s, x is %s: x keeps its dtype",
                         ebb_dtype_name(d), ebb_dtype_name(x.dtype));
    return EBB_OK;
}

/* The result, cast to x's dtype where another float has raised it, with bytes of its own. */
static ebb_tensor *result_make(const job *j)
{
    ebb_tensor *t = ebb__run1(NULL, j->op, j->attr, j->n_in, j->in);
    if (!t) return NULL;
    const ebb__slot *s = ebb__slot_raw(t);
    ebb_shape shape = ebb_shape_get(t);
    ebb_dtype want = (ebb_dtype)j->x->layout->dtype;
    if (fits(j, (ebb_dtype)s->layout->dtype, &shape) != EBB_OK) return NULL;
    if ((ebb_dtype)s->layout->dtype != want) {
        t = ebb__run1(NULL, s->ctx->engine->cast, &want, 1, &t);
        if (!t) return NULL;
        s = ebb__slot_raw(t);
    }
    bool own = atomic_load_explicit(&s->storage->refs, memory_order_acquire) == 1;
    if (own && s->layout->contiguous) return t;
    return ebb__run1(NULL, s->ctx->engine->clone, NULL, 1, &t);
}

/* ---- the handle gets the result ---------------------------------------------------------- */

static ebb_status rebind_check(const ebb__slot *x)
{
    unsigned n = atomic_load_explicit(&x->storage->refs, memory_order_acquire);
    if (x->is_leaf)
        return ebb__fail(EBB_E_GRAPH, "x is a leaf and the scope records: its data may be "
                                      "changed in a scope of EBB_NO_GRAD");
    if (n > 1)
        return ebb__fail(EBB_E_GRAPH,
                         "x shares its bytes with %u other tensor%s (views, detached ones): a "
                         "recorded change must not be seen there; slice_assign makes a changed "
                         "whole",
                         n - 1, n > 2 ? "s" : "");
    if (atomic_load_explicit(&x->n_maps, memory_order_relaxed))
        return ebb__fail(EBB_E_MISUSE, "x is mapped");
    return EBB_OK;
}

static void rebind(ebb__slot *x, ebb__slot *t)
{
    ebb__storage *storage = x->storage;
    ebb_graph_node *node = x->node;
    uint16_t output = x->output;
    x->storage = t->storage;
    x->node = t->node;
    x->output = t->output;
    t->storage = storage;
    t->node = node;
    t->output = output;
    if (x->layout->n_dims > EBB__INLINE_DIMS) {
        ebb__layout *layout = x->layout;
        x->layout = t->layout;
        t->layout = layout;
    } else {
        unsigned char bytes[sizeof x->own.bytes];
        memcpy(bytes, x->own.bytes, sizeof bytes);
        memcpy(x->own.bytes, t->own.bytes, sizeof bytes);
        memcpy(t->own.bytes, bytes, sizeof bytes);
    }
    if (!x->extra) return;
    ebb__retained_release(x->extra->retained); /* it was what x was before */
    x->extra->retained = NULL;
}

static ebb_status run_recorded(const job *j)
{
    if (ebb__is_dry(j->x->ctx) && !j->x->storage->value->phantom)
        return ebb__fail(EBB_E_UNSUPPORTED, "x was made before the dry run, which changes "
                                            "nothing that was there");
    EBB_TRY(rebind_check(j->x));
    ebb_tensor *t = result_make(j);
    if (!t) return ebb_error_status();
    ebb__slot *s = ebb__slot_raw(t);
    if (s->ctx != j->x->ctx)
        return ebb__fail(EBB_E_MISUSE, "the result belongs to a context below that of x");
    rebind(j->x, s);
    ebb_replace(&t, NULL);
    return EBB_OK;
}

/* ---- a write ----------------------------------------------------------------------------- */

static void copy_rows(const ebb_view *to, const ebb_view *from)
{
    int64_t n = ebb__n_elems(&to->shape), rank = to->shape.n_dims;
    size_t size = ebb__dtype_size(to->dtype);
    int64_t at[EBB_MAX_DIMS] = {0}, offset = 0;
    const char *in = from->data;
    for (int64_t i = 0; i < n; i++) {
        memcpy((char *)to->data + offset * (int64_t)size, in + (size_t)i * size, size);
        for (int64_t d = rank - 1; d >= 0; d--) {
            offset += to->strides[d];
            if (++at[d] < to->shape.dims[d]) break;
            offset -= at[d] * to->strides[d];
            at[d] = 0;
        }
    }
}

/* Through a temporary result: dense, of x's dtype. */
static ebb_status write_copied(const job *j)
{
    ebb_view to, from;
    ebb_tensor *t = result_make(j);
    if (!t) return ebb_error_status();
    if (ebb__is_dry(j->x->ctx)) return EBB_OK;
    EBB_TRY(ebb__tensor_pin(&from, ebb__slot_raw(t)));
    ebb_status status = ebb__storage_write(j->x->storage, j->name, ebb__restore);
    if (status == EBB_OK) status = ebb__tensor_pin(&to, j->x);
    if (status == EBB_OK) {
        if (j->x->layout->contiguous)
            memcpy(to.data, from.data, ebb__view_bytes(&to));
        else
            copy_rows(&to, &from);
        ebb__tensor_unpin(j->x);
    }
    ebb__tensor_unpin(ebb__slot_raw(t));
    return status;
}

static bool same_place(const ebb__slot *a, const ebb__slot *b)
{
    if (a->layout->offset != b->layout->offset || a->layout->n_dims != b->layout->n_dims)
        return false;
    for (int64_t i = 0; i < 2 * a->layout->n_dims; i++)
        if (a->layout->dims_strides[i] != b->layout->dims_strides[i]) return false;
    return true;
}

/* Can the reference kernel read the operands and write x where it lies. */
static bool is_direct(const job *j)
{
    const ebb_op *op = j->op;
    ebb_dtype d = (ebb_dtype)j->x->layout->dtype;
    if (op->compose || !(op->flags & EBB_OP_ALIAS_SAFE) || op->n_aux || op->n_out != 1 ||
        op->flags & EBB_OP_RANDOM || !j->x->layout->contiguous || ebb__dtype_is_half(d))
        return false;
    for (int32_t i = 1; i < j->n_in; i++) {
        if (j->in[i] == EBB_NONE) continue;
        const ebb__slot *s = ebb__slot_raw(j->in[i]);
        if (s->layout->dtype != d && !(op->keep_dtype >> i & 1)) return false;
        if (!s->layout->contiguous && !(op->flags & EBB_OP_STRIDED)) return false;
        if (s->storage == j->x->storage && !same_place(s, j->x)) return false;
    }
    return true;
}

/* Its bytes are x's own: as x is pinned and moved, so are they. */
static bool is_elsewhere(const job *j, int32_t i)
{
    return i > 0 && j->in[i] != EBB_NONE && ebb__slot_raw(j->in[i])->storage != j->x->storage;
}

/* What may be refused comes before the write: x is as it was, and so is its version. */
static ebb_status kernel_run(const job *j, ebb__call *c)
{
    ebb_view view;
    ebb_status status = EBB_OK;
    int32_t n = 1;
    for (; n < j->n_in && status == EBB_OK; n++) {
        if (!is_elsewhere(j, n)) continue;
        status = ebb__tensor_pin(&view, ebb__slot_raw(j->in[n]));
        if (status == EBB_OK) c->in[n].data = view.data;
    }
    if (status != EBB_OK) n--; /* the last one was not pinned */
    if (status == EBB_OK) status = ebb__storage_write(j->x->storage, j->name, ebb__restore);
    if (status == EBB_OK) status = ebb__tensor_pin(&view, j->x);
    if (status == EBB_OK) {
        for (int32_t i = 0; i < j->n_in; i++)
            if (j->in[i] != EBB_NONE && !is_elsewhere(j, i)) c->in[i].data = view.data;
        c->out[0].data = view.data;
        status = j->op->forward(c);
        ebb__tensor_unpin(j->x);
    }
    for (int32_t i = 1; i < n; i++)
        if (is_elsewhere(j, i)) ebb__tensor_unpin(ebb__slot_raw(j->in[i]));
    return status;
}

/* *done false: it has to go through a temporary. */
static ebb_status write_direct(const job *j, bool *done)
{
    ebb_view in[EBB__MAX_IN], out[1];
    ebb__call c = {.op = j->op,
                   .ctx = j->x->ctx,
                   .attr = j->attr,
                   .n_in = j->n_in,
                   .n_out = 1,
                   .in = in,
                   .out = out,
                   .n_threads = j->x->ctx->n_threads};
    for (int32_t i = 0; i < j->n_in; i++) {
        in[i] = (ebb_view){0};
        if (j->in[i] != EBB_NONE)
            ebb__layout_unpack(&in[i], ebb__slot_raw(j->in[i])->layout, NULL);
    }
    EBB_TRY(j->op->shape(&c));
    EBB_TRY(fits(j, out[0].dtype, &out[0].shape));
    if (c.scratch_bytes || out[0].dtype != in[0].dtype) return EBB_OK;
    ebb__view_contiguous(&out[0]);
    if (j->op->flags & EBB_OP_BROADCAST)
        for (int32_t i = 0; i < j->n_in; i++)
            if (in[i].dtype) ebb__view_broadcast(&in[i], &out[0].shape);
    *done = true;
    return ebb__is_dry(c.ctx) ? EBB_OK : kernel_run(j, &c);
}

static ebb_status run_write(const job *j)
{
    ebb_view x;
    ebb__layout_unpack(&x, j->x->layout, NULL);
    if (overlaps_itself(&x))
        return ebb__fail(
            EBB_E_MISUSE,
            "elements of x share bytes (it was expanded, or its windows overlap): a "
            "write into it has no meaning");
    bool done = false;
    ebb_status status = is_direct(j) ? write_direct(j, &done) : EBB_OK;
    if (status != EBB_OK || done) return status;
    ebb_scope scope = ebb_scope_begin(EBB_SCOPE_NO_GRAD, NULL);
    status = scope.id ? write_copied(j) : ebb_error_status();
    ebb_scope_end(scope);
    return status;
}

/* ---- entry ------------------------------------------------------------------------------- */

static ebb_status run(job *j)
{
    EBB_TRY(ebb__scope_required());
    bool tracked = false;
    for (int32_t i = 0; i < j->n_in; i++) {
        const char *arg = j->op->arg[i] ? j->op->arg[i] : "x";
        if (i > 0 && j->in[i] == EBB_NONE && j->op->optional >> i & 1) continue;
        ebb__slot *s = ebb__slot_of(j->in[i], j->name, arg);
        if (!s) return ebb_error_status();
        ebb_context *ctx = s->ctx;
        EBB_TRY(ebb__context_usable(ctx));
        if (s->storage->value->phantom && !ebb__is_dry(ctx)) return ebb__no_values();
        if (i == 0) j->x = s;
        EBB_TRY(ebb__context_join(&ctx, j->x->ctx));
        tracked |= s->node != NULL;
    }
    if (tracked && ebb__scope_records()) return run_recorded(j);
    if (j->x->node && !j->x->is_leaf)
        return ebb__fail(EBB_E_GRAPH, "x carries history, which the scope does not record: "
                                      "detach it, or open EBB_ENABLE_GRAD");
    return run_write(j);
}

ebb_status ebb__run_in_place(const ebb_op *op, const char *name, const void *attr, int32_t n_in,
                             ebb_tensor *const *in)
{
    const char *outer = ebb__error_op_set(name);
    job j = {.op = op, .name = name, .attr = attr, .n_in = n_in, .in = in};
    ebb_status status = run(&j);
    return ebb__call_end(outer, ebb__context_among(in, n_in), status);
}
