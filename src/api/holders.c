/* holders.c - who holds how many bytes: one list, in memory of the caller's.
 *
 * Four passes add what they find: handles, nodes (gradient slots, saves, the tiny values that
 * recipes of nodes read), values that are not tiny (each once, and the tiny ones that its recipe
 * reads). References that are hooks' are told from the user's. Then holders of the same bytes are
 * brought together; the last two kinds of entry stay only where nobody else holds the bytes.
 * SPDX-License-Identifier: MIT */
#include "api/handles.h"

#include "autodiff/inspect.h"

#include <ebb/explain.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ebb_holder_what_name(ebb_holder_what what)
{
    switch (what) {
#define X(name, value, text)                                                                   \
    case EBB_HOLDER_##name:                                                                    \
        return text;
        EBB_HOLDER_MAP(X)
#undef X
    }
    return "not an ebb_holder_what";
}

typedef struct listing {
    ebb_holder *out;
    int64_t max, n;
    const ebb_context *ctx;
} listing;

static bool is_within(const ebb_context *ctx, const ebb_context *ancestor)
{
    while (ctx && ctx != ancestor) ctx = ctx->parent;
    return ctx != NULL;
}

/* As the accounts have it: a tiny value as long as its struct lives, others their block. */
static size_t accounted_bytes(const ebb__value *v)
{
    return v->tiny || (v->data && !v->external) ? v->bytes : 0;
}

/* The next member for a holder of v; NULL where v is another context's or there is no room. */
static ebb_holder *holder_add(listing *l, ebb_holder_what what, const ebb__value *v,
                              const ebb__layout *layout)
{
    if (!is_within(v->ctx, l->ctx)) return NULL;
    if (l->n++ >= l->max) return NULL;
    ebb_holder *h = &l->out[l->n - 1];
    memset(h, 0, sizeof *h);
    h->what = what;
    h->kind = (ebb_kind)v->kind;
    h->bytes = v->bytes;
    h->unique_bytes = accounted_bytes(v);
    h->storage = (uintptr_t)v;
    if (!layout) return h;
    ebb_view view;
    ebb__layout_unpack(&view, layout, NULL);
    h->dtype = view.dtype;
    h->shape = view.shape;
    return h;
}

/* ---- passes ------------------------------------------------------------------------------ */

static void handle_add(void *user, ebb__slot *s)
{
    const ebb__retained *r = s->extra ? s->extra->retained : NULL;
    ebb_holder *kept = r && r->slot.grad
                           ? holder_add(user, EBB_HOLDER_GRADIENT, r->slot.grad->value, NULL)
                           : NULL;
    if (kept) {
        const char *of = ebb__slot_label(s);
        snprintf(kept->name, sizeof kept->name, "%s", of ? of : "");
        kept->dtype = r->slot.dtype;
        kept->shape = r->slot.shape;
    }
    int64_t n = ebb__user_references(s);
    ebb_holder *h =
        holder_add(user, n ? EBB_HOLDER_USER : EBB_HOLDER_SCOPE, s->storage->value, s->layout);
    if (!h) return;
    h->n_references = n;
    const char *label = ebb__slot_label(s);
    snprintf(h->name, sizeof h->name, "%s", label ? label : "");
    h->tensor = ebb__handle_of(s);
    if (!ebb__is_in_scope(s) || !s->scope) return;
    h->scope = s->scope->name;
    h->file = s->scope->file;
    h->line = s->scope->line;
}

static void named_by_record(ebb_holder *h, const ebb__record *r)
{
    if (!h) return;
    snprintf(h->name, sizeof h->name, "%s", r->op->name);
    ebb__record_site_get(&h->file, &h->line, r);
}

/* A recipe in force holds the tiny values that it reads. */
static void recipe_add(listing *l, const ebb__record *r)
{
    if (!r->is_recipe || r->broken) return;
    for (int32_t i = 0; i < r->n_in; i++)
        if (r->in[i] && r->in[i]->tiny)
            named_by_record(
                holder_add(l, EBB_HOLDER_RECIPE, r->in[i], ebb__record_layout(r, i)), r);
}

static void node_add(void *user, ebb_graph_node *node, ebb__record *r, ebb__leaf *leaf)
{
    listing *l = user;
    if (leaf && leaf->grad) {
        const char *label = ebb_graph_label(node);
        ebb_holder *h = holder_add(l, EBB_HOLDER_GRADIENT, leaf->grad->value, NULL);
        if (h) {
            snprintf(h->name, sizeof h->name, "%s", label ? label : "");
            h->dtype = leaf->dtype;
            h->shape = leaf->shape;
        }
    }
    if (!r) return;
    ebb__save save;
    int64_t n_links;
    ebb_graph_node *head = ebb__head_of(node, &n_links);
    for (uint32_t at = 0; ebb__save_next(&save, r, &at);) {
        ebb_holder *h = holder_add(l, EBB_HOLDER_SAVE, save.value, save.layout);
        if (!h) continue;
        named_by_record(h, r);
        h->tensor = (ebb_tensor *)(void *)head; /* heads_resolve makes it a handle */
        h->n_links = n_links;
    }
    recipe_add(l, r);
}

static void value_add(void *user, ebb__value *v)
{
    const ebb__record *r = ebb__recipe_of(v);
    if (v->data) holder_add(user, EBB_HOLDER_RECIPE, v, NULL);
    if (r) recipe_add(user, r);
}

/* ---- who keeps the operations ------------------------------------------------------------ */

/* At each head the handle that a user's reference keeps, or any. */
static void head_note(void *user, ebb__slot *s)
{
    (void)user;
    if (ebb_graph_node_state(s->node) != EBB_GRAPH_LIVE) return;
    void **note = ebb__head_note(s->node);
    if (*note == s->node ||
        ebb__user_references(ebb__slot_raw(*note)) < ebb__user_references(s))
        *note = ebb__handle_of(s);
}

static void heads_resolve(ebb_holder *h, int64_t n, ebb_context *ctx)
{
    ebb__handles_each(ctx, head_note, NULL);
    for (int64_t i = 0; i < n; i++) {
        if (h[i].what != EBB_HOLDER_SAVE || !h[i].tensor) continue;
        ebb_graph_node *head = (ebb_graph_node *)(void *)h[i].tensor;
        void *note = *ebb__head_note(head);
        h[i].tensor = note == head ? NULL : note;
    }
}

/* Those of the user's references first, in the order of their handles. */
static int by_handle(const void *a, const void *b)
{
    const ebb_holder *x = a, *y = b;
    bool of_x = x->what == EBB_HOLDER_USER, of_y = y->what == EBB_HOLDER_USER;
    if (of_x != of_y) return of_x ? -1 : 1;
    return ((uintptr_t)x->tensor > (uintptr_t)y->tensor) -
           ((uintptr_t)x->tensor < (uintptr_t)y->tensor);
}

typedef struct users {
    ebb_holder *first;
    size_t n;
} users;

static void hook_note(void *user, ebb__hook *h)
{
    const users *u = user;
    for (int64_t i = 0; i < h->n_holds && !h->retained; i++) {
        const ebb_holder key = {.what = EBB_HOLDER_USER, .tensor = h->holds[i]};
        ebb_holder *found = u->n ? bsearch(&key, u->first, u->n, sizeof key, by_handle) : NULL;
        if (!found) continue;
        found->n_links++; /* hooks' references so far */
        snprintf(found->hook, sizeof found->hook, "%s", h->name);
    }
}

/* What hooks alone, or they and a scope, hold is theirs. */
static void hooks_resolve(ebb_holder *h, int64_t n, ebb_context *ctx)
{
    users u = {.first = h};
    if (n > 0) qsort(h, (size_t)n, sizeof *h, by_handle);
    while (u.n < (size_t)n && h[u.n].what == EBB_HOLDER_USER) u.n++;
    ebb__hooks_each(ctx->root, hook_note, &u);
    for (size_t i = 0; i < u.n; i++) {
        if (h[i].n_references > h[i].n_links) {
            h[i].n_references -= h[i].n_links;
            h[i].hook[0] = '\0';
        } else {
            h[i].what = EBB_HOLDER_HOOK;
        }
        h[i].n_links = 0;
    }
}

/* ---- bringing together ------------------------------------------------------------------- */

static int by_storage(const void *a, const void *b)
{
    const ebb_holder *x = a, *y = b;
    if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
    return (int)x->what - (int)y->what;
}

static int by_bytes(const void *a, const void *b)
{
    const ebb_holder *x = a, *y = b;
    if (x->unique_bytes != y->unique_bytes) return x->unique_bytes < y->unique_bytes ? 1 : -1;
    return by_storage(a, b);
}

/* Returns how many stay. */
static int64_t holders_join(ebb_holder *h, int64_t n)
{
    int64_t kept = 0;
    if (n > 0) qsort(h, (size_t)n, sizeof *h, by_storage);
    for (int64_t i = 0; i < n; i++) {
        bool first = kept == 0 || h[kept - 1].storage != h[i].storage;
        if (!first && h[i].what == EBB_HOLDER_RECIPE) continue;
        h[kept] = h[i];
        if (!first) h[kept].unique_bytes = 0;
        kept++;
    }
    return kept;
}

/* What the accounts have beyond tensors. */
static int64_t objects_add(ebb_holder *out, int64_t n, int64_t max, const ebb_context *ctx)
{
    ebb_stats stats;
    size_t listed[EBB_KIND_MAX] = {0};
    ebb_stats_get(&stats, ctx);
    for (int64_t i = 0; i < n; i++) listed[out[i].kind] += out[i].unique_bytes;
    for (int k = 0; k < EBB_KIND_CACHE; k++) {
        if (stats.bytes[k] <= listed[k]) continue;
        if (n < max) {
            out[n] = (ebb_holder){.what = EBB_HOLDER_OBJECTS,
                                  .kind = (ebb_kind)k,
                                  .bytes = stats.bytes[k] - listed[k],
                                  .unique_bytes = stats.bytes[k] - listed[k]};
        }
        n++;
    }
    return n;
}

ebb_status(ebb_holders)(ebb_holder *out, int64_t max, int64_t *n_out, ebb_context *ctx)
{
    if (!n_out) return ebb__null_argument("ebb_holders", "n_out");
    if (!ctx) return ebb__null_argument("ebb_holders", "ctx");
    if (max > 0 && !out) return ebb__null_argument("ebb_holders", "out");
    if (ctx->closed)
        return ebb__fail(EBB_E_MISUSE, "ebb_holders: the context went with its parent");
    EBB_TRY(ebb__context_usable(ctx));
    listing l = {.out = out, .max = max > 0 ? max : 0, .ctx = ctx};
    ebb__heads_find(ctx);
    ebb__handles_each(ctx, handle_add, &l);
    ebb__nodes_each(ctx, node_add, &l);
    ebb__values_each(ctx, value_add, &l);
    int64_t listed = l.n < l.max ? l.n : l.max;
    heads_resolve(out, listed, ctx);
    hooks_resolve(out, listed, ctx);
    if (l.n > l.max) {
        holders_join(out, l.max);
        *n_out = l.n + EBB_KIND_CACHE; /* with room for the objects */
        return EBB_OK;
    }
    int64_t n = objects_add(out, holders_join(out, l.n), l.max, ctx);
    *n_out = n;
    if (n > l.max) n = l.max;
    if (n > 0) qsort(out, (size_t)n, sizeof *out, by_bytes);
    return EBB_OK;
}
