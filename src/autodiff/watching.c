/* watching.c - backwards that keep their graph, and those that use it again, are noted.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "base/thread.h"

#include <string.h>

static bool walk_uses(const ebb__graph_walk *w, const ebb__record *record)
{
    for (int64_t i = 0; i < w->n_nodes; i++)
        if (ebb_graph_node_payload(w->nodes[i]) == record) return true;
    return false;
}

/* Under the lock, in the walk that keeps the record. */
static void root_note(ebb__watch *watch, ebb_tensor *root)
{
    const ebb__slot *s = ebb__slot_raw(root);
    ebb__thread_token *self = ebb__thread_self();
    ebb__kept_root *place = NULL;
    ebb__record *record = s->is_leaf ? NULL : ebb_graph_node_payload(s->node);
    const char *label = ebb__slot_label(s);
    if (!record || !self) return;
    for (int i = 0; i < EBB__WATCH_ROOTS; i++) {
        ebb__kept_root *k = &watch->kept[i];
        if (k->record == record) place = k;
        if (!place && !k->root) place = k;
    }
    if (!place) place = &watch->kept[watch->next_kept++ % EBB__WATCH_ROOTS];
    *place = (ebb__kept_root){
        .root = root, .record = record, .thread_id = self->id, .step = watch->step};
    if (label) memcpy(place->label, label, sizeof place->label);
    atomic_fetch_or_explicit(&record->marks, EBB__RECORD_KEPT, memory_order_relaxed);
}

void ebb__watch_forget(const ebb__record *record)
{
    ebb__watch *watch = &record->ctx->root->engine->watch;
    ebb__lock_take(&watch->lock);
    for (int i = 0; i < EBB__WATCH_ROOTS; i++)
        if (watch->kept[i].record == record) watch->kept[i] = (ebb__kept_root){0};
    ebb__lock_give(&watch->lock);
}

/* NULL: nobody listens, or is listening to another refusal. */
static void (*telling_begin(ebb__watch *watch, void **user))(void *, ebb_context *,
                                                             const ebb_error *)
{
    ebb__lock_take(&watch->lock);
    void (*refused)(void *, ebb_context *, const ebb_error *) =
        watch->telling ? NULL : watch->refused;
    *user = watch->refused_user;
    if (refused) watch->telling = true;
    ebb__lock_give(&watch->lock);
    return refused;
}

ebb_status ebb__call_end(const char *outer, const ebb_context *ctx, ebb_status status)
{
    ebb__error_op_set(outer);
    if ((status != EBB_E_BUDGET && status != EBB_E_NOMEM) || outer || !ctx) return status;
    ebb__watch *watch = &ctx->root->engine->watch;
    if (!atomic_load_explicit(&watch->tells, memory_order_relaxed) || !ebb__error_tell())
        return status;
    void *user;
    void (*refused)(void *, ebb_context *, const ebb_error *) = telling_begin(watch, &user);
    if (!refused) return status;
    ebb_error pending;
    ebb__refusal refusal = *ebb__refusal_get();
    const char *file;
    int32_t line;
    ebb_error_get(&pending);
    ebb__site_get(&file, &line);
    refused(user, (ebb_context *)(uintptr_t)ctx, &pending);
    ebb__at(file, line);
    *ebb__refusal_get() = refusal;
    ebb__error_adopt(&pending);
    (void)ebb__error_tell();
    ebb__lock_take(&watch->lock);
    watch->telling = false;
    ebb__lock_give(&watch->lock);
    return status;
}

void ebb__watch_backward(const ebb__backward *b)
{
    ebb__watch *watch = &b->ctx->root->engine->watch;
    const ebb__backward_args *a = b->args;
    ebb__lock_take(&watch->lock);
    for (int i = 0; i < EBB__WATCH_ROOTS; i++)
        if (watch->kept[i].root && walk_uses(&b->walk, watch->kept[i].record))
            watch->kept[i].step = watch->step;
    for (int64_t i = 0; i < a->n_roots && a->keep_graph; i++) root_note(watch, a->roots[i]);
    ebb__lock_give(&watch->lock);
}
