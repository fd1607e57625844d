/* explain_tensor.c - why a tensor is alive: who holds its handle, and who its bytes.
 * SPDX-License-Identifier: MIT */
#include "api/handles.h"

#include "autodiff/inspect.h"

#include <ebb/explain.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- who holds the bytes ----------------------------------------------------------------- */

typedef struct inquiry {
    ebb_explanation *out;
    const ebb__slot *slot;
    const ebb__value *value;
    const ebb__graph_walk *history; /* of the tensor; NULL where it has none */
    ebb_graph_node *saver[EBB_EXPLAIN_SAVES];
} inquiry;

static void handle_count(void *user, ebb__slot *s)
{
    inquiry *q = user;
    if (s->storage == q->slot->storage) q->out->n_handles++;
    const ebb__retained *r = s->extra ? s->extra->retained : NULL;
    if (!r || r->slot.grad != q->slot->storage) return;
    const char *label = ebb__slot_label(s);
    if (q->out->n_gradient_slots++ == 0 && label)
        snprintf(q->out->gradient_of, sizeof q->out->gradient_of, "%s", label);
}

static void node_inspect(void *user, ebb_graph_node *node, ebb__record *r, ebb__leaf *leaf)
{
    inquiry *q = user;
    if (leaf && leaf->grad == q->slot->storage) {
        const char *label = ebb_graph_label(node);
        if (q->out->n_gradient_slots++ == 0 && label)
            snprintf(q->out->gradient_of, sizeof q->out->gradient_of, "%s", label);
    }
    if (!r || !ebb__record_saves(r, q->value)) return;
    if (q->out->n_saves < EBB_EXPLAIN_SAVES) q->saver[q->out->n_saves] = node;
    q->out->n_saves++;
}

static void hook_describe(char *name, char *of, const ebb__hook *h)
{
    const ebb__record *r = ebb_graph_node_payload(h->node);
    bool is_leaf = ebb_graph_node_state(h->node) == EBB_GRAPH_LEAF;
    const char *label = ebb_graph_label(h->node);
    snprintf(name, EBB_NAME_BYTES, "%s", h->name);
    snprintf(of, EBB_NAME_BYTES, "%s", label ? label : is_leaf || !r ? "a leaf" : r->op->name);
}

/* A holder by hook is a reference of the user's that ebb_hook_add took. */
static void hook_inspect(void *user, ebb__hook *h)
{
    inquiry *q = user;
    ebb_explanation *out = q->out;
    if (h->retained) return;
    out->n_hooks += h->node == q->slot->node && h->output == q->slot->output;
    for (int64_t i = 0; i < h->n_holds; i++) {
        for (int64_t k = 0; k < out->n_explained; k++) {
            ebb_explained_save *save = &out->save[k];
            if (!save->handle || h->holds[i] != save->handle) continue;
            if (save->n_hook_references++ == 0) hook_describe(save->hook, save->hook_of, h);
        }
        if (h->holds[i] != ebb__handle_of(q->slot)) continue;
        bool is_cycle = q->history && ebb__walk_has(q->history, h->node);
        if (out->n_hook_references++ == 0 || (is_cycle && !out->is_held_by_own_hook))
            hook_describe(out->hook, out->hook_of, h);
        out->is_held_by_own_hook |= is_cycle;
    }
}

/* ---- why an operation is alive ----------------------------------------------------------- */

static void link_describe(ebb_explained_link *out, const ebb_graph_node *node)
{
    const char *label = ebb_graph_label(node);
    const ebb__record *r = ebb_graph_node_payload(node);
    memset(out, 0, sizeof *out);
    snprintf(out->op, sizeof out->op, "%s", r ? r->op->name : "an operation");
    snprintf(out->label, sizeof out->label, "%s", label ? label : "");
    if (r) ebb__record_site_get(&out->file, &out->line, r);
}

typedef struct head_search {
    ebb_explained_save *out;
    const ebb_graph_node *node;
} head_search;

/* Of several handles that with the user's references comes first. */
static void head_match(void *user, ebb__slot *s)
{
    const head_search *search = user;
    ebb_explained_save *out = search->out;
    if (s->node != search->node) return;
    int64_t n = ebb__user_references(s);
    if (out->handle && n <= out->n_references) return;
    out->handle = ebb__handle_of(s);
    out->n_references = n;
    out->scope = ebb__is_in_scope(s) ? s->scope : NULL;
    const char *label = ebb__slot_label(s);
    if (label) snprintf(out->head.label, sizeof out->head.label, "%s", label);
}

static ebb_status save_explain(ebb_explained_save *out, ebb_graph_node *saver, ebb_context *ctx)
{
    enum { LONGEST = 64 };
    ebb_graph_reason chain[LONGEST];
    int64_t n = 0;
    EBB_TRY(ebb_graph_explain(chain, LONGEST, &n, saver));
    memset(out, 0, sizeof *out);
    out->n_links = n;
    out->n_written = 1;
    link_describe(&out->link[0], saver);
    for (int64_t i = 1; i < n && n <= LONGEST && i < EBB_EXPLAIN_LINKS; i++) {
        link_describe(&out->link[i], chain[n - 1 - i].node);
        out->n_written++;
    }
    if (n == 0) return EBB_OK;
    link_describe(&out->head, chain[0].node);
    head_search search = {out, chain[0].node};
    ebb__handles_each(ctx, head_match, &search);
    return EBB_OK;
}

/* ---- the handle -------------------------------------------------------------------------- */

static void handle_describe(ebb_explanation *out, const ebb__slot *s)
{
    const ebb__value *v = s->storage->value;
    size_t own = ebb__dtype_size((ebb_dtype)s->layout->dtype);
    for (int64_t i = 0; i < s->layout->n_dims; i++) own *= (size_t)s->layout->dims_strides[i];
    out->bytes = v->bytes;
    out->kind = (ebb_kind)v->kind;
    out->is_resident = v->data != NULL;
    size_t slack = v->tiny || v->external ? own == 0 : 63; /* as values are allocated */
    out->is_view = !s->layout->contiguous || s->layout->offset || own + slack < v->bytes;
    const char *label = ebb__slot_label(s);
    snprintf(out->label, sizeof out->label, "%s", label ? label : "");
    out->n_references = ebb__user_references(s);
    out->is_in_scope = ebb__is_in_scope(s);
    out->scope = out->is_in_scope ? s->scope : NULL;
    out->n_maps = atomic_load_explicit(&s->n_maps, memory_order_relaxed);
}

static ebb_status holders_inspect(inquiry *q)
{
    ebb_explanation *out = q->out;
    ebb_context *ctx = q->slot->ctx;
    ebb__handles_each(ctx, handle_count, q);
    ebb__nodes_each(ctx, node_inspect, q);
    for (int64_t i = 0; i < out->n_saves && i < EBB_EXPLAIN_SAVES; i++) {
        EBB_TRY(save_explain(&out->save[i], q->saver[i], ctx));
        out->n_explained++;
    }
    ebb__hooks_each(ctx->root, hook_inspect, q);
    return EBB_OK;
}

static ebb_status explain(ebb_explanation *out, const ebb__slot *s)
{
    memset(out, 0, sizeof *out);
    EBB_TRY(ebb__context_usable(s->ctx));
    handle_describe(out, s);
    inquiry q = {.out = out, .slot = s, .value = s->storage->value};
    ebb_graph_state state = ebb_graph_node_state(s->node);
    if (state != EBB_GRAPH_LIVE && state != EBB_GRAPH_LEAF) return holders_inspect(&q);
    ebb__graph_walk walk;
    ebb__graph_place place = {s->node, s->output};
    EBB_TRY(ebb__graph_walk_begin(&walk, &place, 1, NULL, 0, NULL, NULL, true));
    out->n_history = walk.n_nodes;
    q.history = &walk;
    ebb_status status = holders_inspect(&q);
    ebb__graph_walk_end(&walk);
    return status;
}

ebb_status(ebb_explain)(ebb_explanation *out, ebb_tensor *t)
{
    const char *outer = ebb__error_op_set("explain");
    const ebb__slot *s = ebb__slot_of(t, "ebb_explain", "t");
    ebb_explanation e;
    ebb_status status = s ? EBB_OK : ebb_error_status();
    if (s && !out) status = ebb__null_argument("ebb_explain", "out");
    if (status == EBB_OK) status = explain(&e, s);
    if (status == EBB_OK) *out = e;
    return ebb__call_end(outer, s ? s->ctx : NULL, status);
}

/* ---- as text ----------------------------------------------------------------------------- */

typedef struct text {
    char *at;
    size_t left;
} text;

static EBB_PRINTF(2, 3) void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - (t->left > 0);
    t->at += used;
    t->left -= used;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_count(text *t, int64_t n, const char *one)
{
    put(t, "%lld %s%s", (long long)n, one, n == 1 ? "" : "s");
}

static void put_scope(text *t, const ebb_site *scope)
{
    if (scope)
        put(t, "scope %s (%s:%d)", scope->name, file_name(scope->file), (int)scope->line);
    else
        put(t, "a scope");
}

static void put_link(text *t, const ebb_explained_link *link, bool with_label)
{
    put(t, "%s", link->op);
    if (with_label && link->label[0]) put(t, " '%s'", link->label);
    if (link->file) put(t, " (%s:%d)", file_name(link->file), (int)link->line);
}

static void put_hook_name(text *t, const char *hook, const char *of)
{
    put(t, "%s%s%son %s", hook[0] ? "'" : "", hook, hook[0] ? "' " : "", of);
}

static void put_save(text *t, const ebb_explained_save *s)
{
    put(t, "saved by ");
    for (int64_t i = 0; i < s->n_written; i++) {
        put(t, "%s", i ? " <- " : "");
        put_link(t, &s->link[i], i + 1 < s->n_links);
    }
    if (s->n_written < s->n_links) {
        if (s->n_links - s->n_written > 1)
            put(t, " <- (%lld more)", (long long)(s->n_links - s->n_written - 1));
        put(t, " <- ");
        put_link(t, &s->head, false);
    }
    put(t, " (");
    int64_t n = s->n_references - s->n_hook_references;
    if (n > 0) {
        put(t, "user, ");
        put_count(t, n, "reference");
    } else if (s->n_references > 0) {
        put_count(t, s->n_hook_references, "hook");
        put(t, ": ");
        put_hook_name(t, s->hook, s->hook_of);
    } else if (s->handle) {
        put_scope(t, s->scope);
    } else {
        put(t, "a call in progress");
    }
    if (s->head.label[0]) put(t, ", label '%s'", s->head.label);
    put(t, ")\n");
}

static void put_hook(text *t, const ebb_explanation *e)
{
    put(t, "held by ");
    put_count(t, e->n_hook_references, "hook");
    put(t, ": ");
    put_hook_name(t, e->hook, e->hook_of);
    put(t, "%s\n",
        e->is_held_by_own_hook
            ? ", in its own history: neither goes before that is consumed or the hook removed"
            : "");
}

static void put_handle(text *t, const ebb_explanation *e)
{
    int64_t n = e->n_references - e->n_hook_references;
    if (n > 0) {
        put(t, "held by the user: ");
        put_count(t, n, "reference");
        put(t, "\n");
    }
    if (e->n_hook_references > 0) put_hook(t, e);
    if (e->is_in_scope) {
        put(t, "held by ");
        put_scope(t, e->scope);
        put(t, "\n");
    }
    if (e->n_maps > 0) {
        put(t, "mapped ");
        put_count(t, e->n_maps, "time");
        put(t, "\n");
    }
    if (e->n_history > 0) {
        put(t, "holds itself ");
        put_count(t, e->n_history, "operation");
        put(t, " that a backward would run\n");
    }
}

static void put_bytes(text *t, const ebb_explanation *e)
{
    if (e->n_handles > 1) {
        put(t, "bytes shared with ");
        put_count(t, e->n_handles - 1, "other handle");
        put(t, "\n");
    }
    if (e->n_gradient_slots > 0) {
        put(t, "bytes in the gradient slot of ");
        put(t, e->gradient_of[0] ? "'%s'\n" : "a leaf%s\n", e->gradient_of);
    }
    for (int64_t i = 0; i < e->n_explained; i++) put_save(t, &e->save[i]);
    if (e->n_saves > e->n_explained) {
        put(t, "saved by ");
        put_count(t, e->n_saves - e->n_explained, "more operation");
        put(t, "\n");
    }
}

ebb_status(ebb_explain_text)(char *buffer, size_t size, ebb_tensor *t)
{
    ebb_explanation e;
    if (size > 0 && !buffer) return ebb__null_argument("ebb_explain_text", "buffer");
    EBB_TRY((ebb_explain)(&e, t));
    const ebb__slot *s = ebb__slot_raw(t);
    ebb_view view;
    char shape[EBB__SHAPE_TEXT];
    text out = {buffer, size};
    ebb__layout_unpack(&view, s->layout, NULL);
    if (e.label[0]) put(&out, "'%s': ", e.label);
    put(&out, "%s %s, %zu bytes of kind %s%s\n", ebb_dtype_name(view.dtype),
        ebb__shape_text(shape, sizeof shape, &view.shape), e.bytes, ebb_kind_name(e.kind),
        e.is_resident ? "" : ", not in memory now");
    put_handle(&out, &e);
    put_bytes(&out, &e);
    return EBB_OK;
}

/* ---- the graph --------------------------------------------------------------------------- */

ebb_status(ebb_context_dump_graph)(ebb_context *ctx, ebb_graph_format format,
                                   void (*write)(void *user, const char *text, size_t n),
                                   void *user)
{
    if (!ctx) return ebb__null_argument("ebb_context_dump_graph", "ctx");
    EBB_TRY(ebb__context_usable(ctx));
    return ebb_graph_dump(ctx->space, format, write, user);
}
