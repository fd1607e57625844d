/* watch.c - warnings about leaks, given at the ends of steps.
 *
 * A warning is made up under the watch's lock and given without it.
 * SPDX-License-Identifier: MIT */
#include "api/handles.h"

#include "autodiff/inspect.h"
#include "base/thread.h"

#include <ebb/explain.h>

#include <stdio.h>

ebb_status(ebb_watch)(ebb_context *ctx, void (*warn)(void *user, const ebb_watch_event *e),
                      void *user, uint32_t flags)
{
    const uint32_t all = EBB_WATCH_GROWTH | EBB_WATCH_KEPT | EBB_WATCH_HOOK;
    if (!ctx) return ebb__null_argument("ebb_watch", "ctx");
    if (ctx->closed)
        return ebb__fail(EBB_E_MISUSE, "ebb_watch: the context went with its parent");
    EBB_TRY(ebb__context_usable(ctx));
    if (flags & ~all)
        return ebb__fail(EBB_E_RANGE, "ebb_watch: flags are %u, 0 to %u are known",
                         (unsigned)flags, (unsigned)all);
    ebb__watch *watch = &ctx->root->engine->watch;
    ebb__lock_take(&watch->lock);
    watch->warn = warn;
    watch->user = user;
    watch->step = 0;
    watch->n_grown_steps = 0;
    watch->last_live = ebb__graph_live_nodes(ctx->space);
    for (int i = 0; i < EBB__WATCH_ROOTS; i++) watch->kept[i] = (ebb__kept_root){0};
    atomic_store_explicit(&watch->flags, !warn ? 0 : flags ? flags : all, memory_order_relaxed);
    ebb__lock_give(&watch->lock);
    ebb__hooks_unsee(ctx->root);
    return EBB_OK;
}

ebb_status(ebb_watch_refusals)(ebb_context *ctx,
                               void (*refused)(void *user, ebb_context *ctx,
                                               const ebb_error *error),
                               void *user)
{
    if (!ctx) return ebb__null_argument("ebb_watch_refusals", "ctx");
    if (ctx->closed)
        return ebb__fail(EBB_E_MISUSE, "ebb_watch_refusals: the context went with its parent");
    EBB_TRY(ebb__context_usable(ctx));
    ebb__watch *watch = &ctx->root->engine->watch;
    ebb__lock_take(&watch->lock);
    watch->refused = refused;
    watch->refused_user = user;
    atomic_store_explicit(&watch->tells, refused != NULL, memory_order_relaxed);
    ebb__lock_give(&watch->lock);
    return EBB_OK;
}

/* Under the lock. True where there is something to warn of. */
static bool growth_check(ebb_watch_event *e, ebb__watch *w)
{
    bool grew = e->live_nodes > w->last_live;
    if (grew && w->n_grown_steps == 0) w->first_live = w->last_live;
    w->n_grown_steps = grew ? w->n_grown_steps + 1 : 0;
    w->last_live = e->live_nodes;
    if (w->n_grown_steps < EBB_WATCH_STEPS) return false;
    w->n_grown_steps = 0;
    e->what = EBB_WATCH_GROWTH;
    e->n_grown = e->live_nodes - w->first_live;
    e->root = NULL;
    snprintf(e->text, sizeof e->text,
             "live operations grew in each of %d steps, by %lld to %lld: something holds what "
             "was computed in them; ebb_holders says what",
             EBB_WATCH_STEPS, (long long)e->n_grown, (long long)e->live_nodes);
    return true;
}

/* Under the lock. Forgets a root whose handle is gone; one whose graph is has gone from the list. */
static bool kept_check(ebb_watch_event *e, ebb__watch *w, ebb__kept_root *k, uint64_t thread_id)
{
    if (!k->root || k->thread_id != thread_id) return false;
    bool is_held = ebb__slot_find(k->root);
    if (is_held && w->step - k->step < EBB_WATCH_STEPS) return false;
    if (is_held) {
        char text[EBB__RECORD_TEXT];
        e->what = EBB_WATCH_KEPT;
        e->n_grown = 0;
        e->root = k->root;
        snprintf(e->text, sizeof e->text,
                 "the graph behind %s%s%s%s was kept (keep_graph) and not used in %d steps",
                 ebb__record_text(text, sizeof text, k->record), k->label[0] ? " '" : "",
                 k->label, k->label[0] ? "'" : "", EBB_WATCH_STEPS);
    }
    *k = (ebb__kept_root){0};
    return is_held;
}

/* While the hook is in the table, its place is there. */
static void hook_event(ebb_watch_event *e, const ebb__hook *h, const char *what)
{
    const ebb__record *r = h->is_on_leaf ? NULL : h->place;
    const char *label = h->label[0] ? h->label : NULL;
    char op[EBB__RECORD_TEXT];
    e->what = EBB_WATCH_HOOK;
    e->n_grown = 0;
    e->root = ebb__slot_find(h->tensor) ? h->tensor : NULL;
    snprintf(e->text, sizeof e->text, "the hook%s%s%s on %s%s%s%s %s: neither goes by itself",
             h->name[0] ? " '" : "", h->name, h->name[0] ? "'" : "",
             r ? ebb__record_text(op, sizeof op, r) : "a leaf", label ? " '" : "",
             label ? label : "", label ? "'" : "", what);
}

/* One of its `holds` has what the hook is on in its history: each keeps the other. Walks, so no lock
 * is held. */
static bool hook_cycle(ebb_watch_event *e, const ebb__hook *h)
{
    bool found = false;
    for (int64_t i = 0; i < h->n_holds && !found; i++) {
        const ebb__slot *s = h->holds[i] ? ebb__slot_find(h->holds[i]) : NULL;
        ebb_graph_state state = s ? ebb_graph_node_state(s->node) : (ebb_graph_state)0;
        if (state != EBB_GRAPH_LIVE && state != EBB_GRAPH_LEAF) continue;
        ebb__graph_walk walk;
        ebb__graph_place place = {s->node, s->output};
        if (ebb__graph_walk_begin(&walk, &place, 1, NULL, 0, NULL, NULL, true) != EBB_OK)
            continue; /* consumed meanwhile */
        found = ebb__walk_has(&walk, h->node) && ebb__node_sequence(h->node) == h->sequence;
        if (found)
            hook_event(e, h,
                       s->node == h->node ? "holds its own tensor"
                                          : "holds a tensor computed from its own");
        ebb__graph_walk_end(&walk);
    }
    return found;
}

static void tell(ebb__watch *w, const ebb_watch_event *e)
{
    ebb__lock_take(&w->lock);
    void (*warn)(void *, const ebb_watch_event *) = w->warn;
    void *user = w->user;
    ebb__lock_give(&w->lock);
    if (warn) warn(user, e);
}

/* What a hook holds does not change, so each is looked at once. */
static void hooks_check(ebb_watch_event *e, ebb__watch *w, uint64_t thread_id)
{
    ebb_context *root = e->ctx->root;
    for (ebb__hook *h; (h = ebb__hook_unseen(root, thread_id, e->step));) {
        ebb_error pending;
        ebb_error_get(&pending);
        bool is_cycle = hook_cycle(e, h);
        ebb__error_adopt(&pending);
        if (is_cycle) ebb__hook_told(h);
        ebb__hook_unref(h);
        if (is_cycle) tell(w, e);
    }
}

typedef struct hook_search {
    ebb_watch_event *e;
    uint64_t thread_id;
    bool found;
} hook_search;

/* An interior tensor that is still held long after a hook was put on it. */
static void hook_check(void *user, ebb__hook *h)
{
    hook_search *search = user;
    ebb_watch_event *e = search->e;
    if (search->found || h->retained || h->step < 0 || h->thread_id != search->thread_id)
        return;
    const ebb__slot *s = ebb__slot_find(h->tensor);
    if (!s || h->is_on_leaf || ebb__user_references(s) == 0 ||
        e->step - h->step < EBB_WATCH_STEPS)
        return;
    search->found = true;
    hook_event(e, h, "may hold its own tensor, held for 8 steps");
    h->step = -1;
}

static bool hook_warning(ebb_watch_event *e, uint64_t thread_id)
{
    hook_search search = {.e = e, .thread_id = thread_id};
    ebb__hooks_each(e->ctx->root, hook_check, &search);
    return search.found;
}

/* The next thing to warn of: checks from number *at on; growth is 0, kept roots follow. */
static bool warning_next(ebb_watch_event *e, ebb__watch *w, uint32_t flags, int *at,
                         uint64_t thread_id)
{
    if (flags & EBB_WATCH_HOOK && hook_warning(e, thread_id)) return true;
    for (int i; (i = (*at)++) <= EBB__WATCH_ROOTS;) {
        if (i == 0 && flags & EBB_WATCH_GROWTH && growth_check(e, w)) return true;
        if (i > 0 && flags & EBB_WATCH_KEPT && kept_check(e, w, &w->kept[i - 1], thread_id))
            return true;
    }
    return false;
}

void ebb_watch_step(ebb_context *ctx)
{
    if (!ctx || ctx->closed || !ctx->root->engine) return;
    ebb__watch *w = &ctx->root->engine->watch;
    uint32_t flags = atomic_load_explicit(&w->flags, memory_order_relaxed);
    if (!flags || ebb__context_usable(ctx) != EBB_OK) return;
    ebb__thread_token *self = ebb__thread_self();
    ebb_watch_event e = {.ctx = ctx, .live_nodes = ebb__graph_live_nodes(ctx->space)};
    uint64_t thread_id = self ? self->id : 0;
    ebb__lock_take(&w->lock);
    e.step = ++w->step;
    ebb__lock_give(&w->lock);
    if (flags & EBB_WATCH_HOOK) hooks_check(&e, w, thread_id);
    for (int at = 0;;) {
        ebb__lock_take(&w->lock);
        bool found = warning_next(&e, w, flags, &at, thread_id);
        ebb__lock_give(&w->lock);
        if (!found) return;
        tell(w, &e);
    }
}
