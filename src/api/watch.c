/* watch.c - warnings about leaks, given at the ends of steps.
 *
 * A warning is made up under the watch's lock and given without it.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/inspect.h"
#include "base/thread.h"

#include <ebb/explain.h>

#include <stdio.h>

ebb_status(ebb_watch)(ebb_context *ctx, void (*warn)(void *user, const ebb_watch_event *e),
                      void *user, uint32_t flags)
{
    const uint32_t all = EBB_WATCH_GROWTH | EBB_WATCH_KEPT;
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

/* Under the lock. Forgets a root whose handle or graph is gone. */
static bool kept_check(ebb_watch_event *e, ebb__watch *w, ebb__kept_root *k, uint64_t thread_id)
{
    if (!k->root || k->thread_id != thread_id) return false;
    const ebb__slot *s = ebb__slot_find(k->root);
    if (!s || s->node != k->node || ebb__node_sequence(k->node) != k->sequence ||
        ebb_graph_node_state(k->node) != EBB_GRAPH_LIVE) {
        k->root = NULL;
        return false;
    }
    if (w->step - k->step < EBB_WATCH_STEPS) return false;
    const ebb__record *r = ebb_graph_node_payload(k->node);
    char text[EBB__RECORD_TEXT];
    e->what = EBB_WATCH_KEPT;
    e->n_grown = 0;
    e->root = k->root;
    snprintf(e->text, sizeof e->text,
             "the graph behind %s%s%s%s was kept (keep_graph) and not used in %d steps",
             ebb__record_text(text, sizeof text, r), s->label ? " '" : "",
             s->label ? s->label : "", s->label ? "'" : "", EBB_WATCH_STEPS);
    k->root = NULL;
    return true;
}

/* The next thing to warn of: checks from number *at on; growth is 0, kept roots follow. */
static bool warning_next(ebb_watch_event *e, ebb__watch *w, uint32_t flags, int *at,
                         uint64_t thread_id)
{
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
    ebb__lock_take(&w->lock);
    e.step = ++w->step;
    for (int at = 0; warning_next(&e, w, flags, &at, self ? self->id : 0);) {
        void (*warn)(void *, const ebb_watch_event *) = w->warn;
        void *user = w->user;
        ebb__lock_give(&w->lock);
        if (warn) warn(user, &e);
        ebb__lock_take(&w->lock);
    }
    ebb__lock_give(&w->lock);
}
