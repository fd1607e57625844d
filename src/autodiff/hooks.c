/* hooks.c - the table of hooks: adding, finding, letting go.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "autodiff/inspect.h"
#include "base/text.h"
#include "tensor/owned.h"

#include <string.h>

static uint32_t place_hash(const ebb__hooks *t, const void *place)
{
    return (uint32_t)(((uintptr_t)place >> 4) * 0x9E3779B97F4A7C15u >> 40) & (t->n_buckets - 1);
}

static uint32_t id_hash(const ebb__hooks *t, uint64_t id)
{
    return (uint32_t)id & (t->n_buckets - 1);
}

static ebb__hooks *hooks_of(const ebb_context *root)
{
    return root->engine ? &root->engine->hooks : NULL;
}

/* ---- letting go -------------------------------------------------------------------------- */

static void hook_free(ebb__hook *h)
{
    if (h->done) {
        ebb__fence before = ebb__scope_fence();
        h->done(h->user);
        ebb__scope_unfence(before);
    }
    for (int64_t i = 0; i < h->n_holds; i++) ebb_release(h->holds[i]);
    if (h->holds)
        ebb__owned_free(h->ctx, h->holds, (size_t)h->n_holds * sizeof *h->holds,
                        EBB_KIND_BOOKKEEPING);
    ebb__retained_release(h->retained);
    ebb__pool_free(h->ctx->pool, h, sizeof *h);
}

void ebb__hook_unref(ebb__hook *h)
{
    ebb__hooks *t = hooks_of(h->ctx->root);
    ebb__lock_take(&t->lock);
    bool gone = --h->refs == 0;
    ebb__lock_give(&t->lock);
    if (gone) hook_free(h);
}

/* Under the lock. */
static void id_unlink(ebb__hooks *t, const ebb__hook *h)
{
    ebb__hook **at = &t->bucket_by_id[id_hash(t, h->id)];
    while (*at != h) at = &(*at)->next_by_id;
    *at = h->next_by_id;
    t->n--;
}

/* Takes the first hook of a place (NULL: of any) out of the table, with the table's reference.
 */
static ebb__hook *hook_take(ebb__hooks *t, const void *place)
{
    ebb__hook *found = NULL;
    ebb__lock_take(&t->lock);
    uint32_t from = place && t->n_buckets ? place_hash(t, place) : 0;
    uint32_t to = place && t->n_buckets ? from + 1 : t->n_buckets;
    for (uint32_t b = from; b < to && !found; b++) {
        ebb__hook **at = &t->bucket[b];
        while (place && *at && (*at)->place != place) at = &(*at)->next;
        if (!*at) continue;
        found = *at;
        *at = found->next;
        id_unlink(t, found);
    }
    ebb__lock_give(&t->lock);
    return found;
}

void ebb__hooks_drop(ebb_context *root, const void *place)
{
    ebb__hooks *t = hooks_of(root);
    for (ebb__hook *h; t && (h = hook_take(t, place));) ebb__hook_unref(h);
}

void ebb__hooks_destroy(ebb_context *root)
{
    ebb__hooks *t = hooks_of(root);
    for (ebb__hook *h; (h = hook_take(t, NULL));) ebb__hook_unref(h);
    size_t bytes = 2 * t->n_buckets * sizeof *t->bucket;
    ebb__owned_free(root, t->bucket, bytes, EBB_KIND_BOOKKEEPING);
    *t = (ebb__hooks){0};
}

ebb_status ebb__hook_remove(ebb_context *root, ebb_hook_id id)
{
    ebb__hooks *t = hooks_of(root);
    ebb__hook *found = NULL;
    ebb__lock_take(&t->lock);
    bool known = id > 0 && id <= t->last_id;
    if (t->n_buckets) {
        found = t->bucket_by_id[id_hash(t, id)];
        while (found && found->id != id) found = found->next_by_id;
    }
    if (found) {
        ebb__hook **at = &t->bucket[place_hash(t, found->place)];
        while (*at != found) at = &(*at)->next;
        *at = found->next;
        id_unlink(t, found);
    }
    ebb__lock_give(&t->lock);
    if (found) ebb__hook_unref(found);
    return known
               ? EBB_OK
               : ebb__fail(EBB_E_MISUSE, "no hook has the number %llu", (unsigned long long)id);
}

/* ---- adding ------------------------------------------------------------------------------ */

/* Under the lock: the buckets are full, and these are twice as many. Returns the old ones. */
static ebb__hook **rehash(ebb__hooks *t, ebb__hook **bucket, uint32_t n)
{
    ebb__hook **old = t->bucket;
    uint32_t n_old = t->n_buckets;
    t->bucket = bucket;
    t->bucket_by_id = bucket + n;
    t->n_buckets = n;
    for (uint32_t b = 0; b < n_old; b++) {
        for (ebb__hook *h = old[b], *next; h; h = next) { /* at the end: the order stays */
            next = h->next;
            ebb__hook **at = &t->bucket[place_hash(t, h->place)];
            while (*at) at = &(*at)->next;
            *at = h;
            h->next = NULL;
            h->next_by_id = t->bucket_by_id[id_hash(t, h->id)];
            t->bucket_by_id[id_hash(t, h->id)] = h;
        }
    }
    return old;
}

static ebb_status table_grow(ebb_context *root)
{
    ebb__hooks *t = hooks_of(root);
    ebb__lock_take(&t->lock);
    uint32_t n_old = t->n_buckets, n = n_old ? 2 * n_old : 64;
    bool full = t->n >= n_old;
    ebb__lock_give(&t->lock);
    if (!full) return EBB_OK;
    ebb__hook **bucket =
        ebb__owned_alloc(root, 2 * (size_t)n * sizeof *bucket, EBB_KIND_BOOKKEEPING);
    if (!bucket) return ebb_error_status();
    ebb__hook **spare = bucket;
    uint32_t n_spare = n;
    ebb__lock_take(&t->lock);
    if (t->n_buckets == n_old) { /* no other thread was first */
        spare = rehash(t, bucket, n);
        n_spare = n_old;
    }
    ebb__lock_give(&t->lock);
    ebb__owned_free(root, spare, 2 * (size_t)n_spare * sizeof *spare, EBB_KIND_BOOKKEEPING);
    return EBB_OK;
}

static void hook_insert(ebb__hooks *t, ebb__hook *h)
{
    ebb__lock_take(&t->lock);
    h->id = ++t->last_id;
    ebb__hook **at = &t->bucket[place_hash(t, h->place)];
    while (*at) at = &(*at)->next;
    *at = h;
    h->next_by_id = t->bucket_by_id[id_hash(t, h->id)];
    t->bucket_by_id[id_hash(t, h->id)] = h;
    t->n++;
    ebb__lock_give(&t->lock);
}

/* Ties a hook, which has one reference, to the slot's place; it is let go on failure. */
static ebb_status hook_place(ebb_hook_id *out, ebb__hook *h, ebb__slot *s)
{
    ebb_context *root = s->ctx->root;
    ebb_status status = table_grow(root);
    ebb__record *record = NULL;
    if (status == EBB_OK && !s->is_leaf && !(record = ebb__graph_payload_pin(s->node)))
        status = ebb__fail(EBB_E_GRAPH, "the graph behind the tensor was consumed: no gradient "
                                        "will come");
    if (status != EBB_OK) {
        ebb__hook_unref(h);
        return status;
    }
    h->output = s->is_leaf ? 0 : s->output;
    h->tensor = ebb__handle_of(s);
    h->is_on_leaf = s->is_leaf;
    h->node = s->node;
    h->sequence = ebb__node_sequence(s->node);
    const char *label = ebb__slot_label(s);
    if (label) memcpy(h->label, label, sizeof h->label);
    ebb__thread_token *self = ebb__thread_self();
    h->thread_id = self ? self->id : 0;
    ebb__lock_take(&root->engine->watch.lock);
    h->step = root->engine->watch.step;
    ebb__lock_give(&root->engine->watch.lock);
    h->place = record ? (const void *)record : ebb_graph_node_payload(s->node);
    hook_insert(hooks_of(root), h);
    if (out) *out = h->id;
    if (record)
        atomic_fetch_or_explicit(&record->marks, EBB__RECORD_HOOKED, memory_order_relaxed);
    else
        atomic_store_explicit(&((ebb__leaf *)ebb_graph_node_payload(s->node))->hooked, true,
                              memory_order_relaxed);
    if (record) ebb__graph_payload_unpin(s->node);
    return EBB_OK;
}

static ebb__hook *hook_make(ebb_context *ctx)
{
    ebb__hook *h = ebb__pool_alloc(ctx->pool, sizeof *h);
    if (!h) return NULL;
    memset(h, 0, sizeof *h);
    h->ctx = ctx;
    h->refs = 1;
    return h;
}

static ebb_status hook_hold(ebb__hook *h, const ebb_hook_options *o)
{
    if (o->n_holds == 0) return EBB_OK;
    if (o->n_holds < 0 || o->n_holds > INT16_MAX)
        return ebb__fail(EBB_E_RANGE, "options.n_holds is %lld, 0 to %d are allowed",
                         (long long)o->n_holds, INT16_MAX);
    if (!o->holds) return ebb__null_argument("ebb_hook_add", "options.holds");
    h->holds =
        ebb__owned_alloc(h->ctx, (size_t)o->n_holds * sizeof *h->holds, EBB_KIND_BOOKKEEPING);
    if (!h->holds) return ebb_error_status();
    h->n_holds = o->n_holds;
    for (int64_t i = 0; i < o->n_holds; i++) {
        if (o->holds[i] == EBB_NONE) continue;
        if (!o->holds[i])
            return ebb__null_argument("ebb_hook_add", "a member of options.holds");
        h->holds[i] = ebb_keep(o->holds[i]);
        if (!h->holds[i]) return ebb_error_status();
    }
    return EBB_OK;
}

ebb_status ebb__hook_add(ebb_hook_id *out, ebb__slot *s, ebb_hook_fn fn, void *user,
                         const ebb_hook_options *o)
{
    ebb__hook *h = hook_make(s->ctx);
    if (!h) {
        if (o->done) o->done(user);
        return ebb_error_status();
    }
    h->fn = fn;
    h->user = user;
    h->done = o->done;
    if (o->name) ebb__text_copy(h->name, sizeof h->name, o->name);
    ebb_status status = hook_hold(h, o);
    if (status == EBB_OK) return hook_place(out, h, s);
    ebb__hook_unref(h);
    return status;
}

ebb_status ebb__hook_retain(ebb__slot *s)
{
    ebb__slot_extra *extra = ebb__slot_extra_need(s);
    if (!extra) return ebb_error_status();
    if (extra->retained) return EBB_OK;
    ebb_view v;
    ebb__layout_unpack(&v, s->layout, NULL);
    ebb__retained *r = ebb__retained_create(s->ctx, v.dtype, &v.shape);
    ebb__hook *h = r ? hook_make(s->ctx) : NULL;
    if (!h) {
        ebb__retained_release(r);
        return ebb_error_status();
    }
    h->retained = r;
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    ebb_status status = hook_place(NULL, h, s);
    if (status == EBB_OK)
        extra->retained = r;
    else
        ebb__retained_release(r);
    return status;
}

/* ---- finding ----------------------------------------------------------------------------- */

ebb__hook *ebb__hook_next(ebb_context *root, const void *place, uint32_t output, uint64_t after,
                          uint64_t last)
{
    ebb__hooks *t = hooks_of(root);
    ebb__lock_take(&t->lock);
    ebb__hook *h = t->n_buckets ? t->bucket[place_hash(t, place)] : NULL;
    while (h && (h->place != place || h->output != output || h->id <= after || h->id > last))
        h = h->next;
    if (h) h->refs++;
    ebb__lock_give(&t->lock);
    return h;
}

uint64_t ebb__hooks_last_id(ebb_context *root)
{
    ebb__hooks *t = hooks_of(root);
    ebb__lock_take(&t->lock);
    uint64_t last = t->last_id;
    ebb__lock_give(&t->lock);
    return last;
}

ebb__hook *ebb__hook_unseen(ebb_context *root, uint64_t thread_id, int64_t step)
{
    ebb__hooks *t = hooks_of(root);
    ebb__hook *found = NULL;
    ebb__lock_take(&t->lock);
    for (uint32_t b = 0; b < t->n_buckets && !found; b++)
        for (found = t->bucket[b]; found; found = found->next)
            if (found->n_holds > 0 && !found->seen && found->thread_id == thread_id &&
                found->step < step)
                break;
    if (found) {
        found->seen = true;
        found->refs++;
    }
    ebb__lock_give(&t->lock);
    return found;
}

void ebb__hook_told(ebb__hook *h)
{
    ebb__hooks *t = hooks_of(h->ctx->root);
    ebb__lock_take(&t->lock);
    h->step = -1;
    ebb__lock_give(&t->lock);
}

static void hook_unsee(void *user, ebb__hook *h)
{
    (void)user;
    h->step = 0;
    h->seen = false;
}

void ebb__hooks_unsee(ebb_context *root)
{
    ebb__hooks_each(root, hook_unsee, NULL);
}

void ebb__hooks_each(ebb_context *root, void (*each)(void *user, ebb__hook *h), void *user)
{
    ebb__hooks *t = hooks_of(root);
    ebb__lock_take(&t->lock);
    for (uint32_t b = 0; b < t->n_buckets; b++)
        for (ebb__hook *h = t->bucket[b]; h; h = h->next) each(user, h);
    ebb__lock_give(&t->lock);
}
