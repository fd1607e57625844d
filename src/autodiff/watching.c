/* watching.c - backwards that keep their graph, and those that use it again, are noted.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "autodiff/inspect.h"
#include "base/thread.h"

static bool walk_has(const ebb__graph_walk *w, const ebb_graph_node *node)
{
    for (int64_t i = 0; i < w->n_nodes; i++)
        if (w->nodes[i] == node) return true;
    return false;
}

/* Under the lock. */
static void root_note(ebb__watch *watch, ebb_tensor *root)
{
    const ebb__slot *s = ebb__slot_raw(root);
    ebb__thread_token *self = ebb__thread_self();
    ebb__kept_root *place = NULL;
    if (s->is_leaf || !self) return;
    for (int i = 0; i < EBB__WATCH_ROOTS; i++) {
        ebb__kept_root *k = &watch->kept[i];
        if (k->root == root && k->node == s->node) place = k;
        if (!place && !k->root) place = k;
    }
    if (!place) place = &watch->kept[watch->next_kept++ % EBB__WATCH_ROOTS];
    *place = (ebb__kept_root){.root = root,
                              .node = s->node,
                              .sequence = ebb__node_sequence(s->node),
                              .thread_id = self->id,
                              .step = watch->step};
}

void ebb__watch_backward(const ebb__backward *b)
{
    ebb__watch *watch = &b->ctx->root->engine->watch;
    const ebb__backward_args *a = b->args;
    ebb__lock_take(&watch->lock);
    for (int i = 0; i < EBB__WATCH_ROOTS; i++)
        if (watch->kept[i].root && walk_has(&b->walk, watch->kept[i].node))
            watch->kept[i].step = watch->step;
    for (int64_t i = 0; i < a->n_roots && a->keep_graph; i++) root_note(watch, a->roots[i]);
    ebb__lock_give(&watch->lock);
}
