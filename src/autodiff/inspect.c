/* inspect.c - looking into records and graphs that are at rest.
 *
 * A search for heads uses the fields of live nodes that walks use while they begin: link, mark.
 * SPDX-License-Identifier: MIT */
#include "autodiff/inspect.h"

#include "base/context.h"
#include "graph/node.h"

/* The last bit of a mask stands for all that follow. */
static bool in_mask(uint32_t mask, uint32_t i)
{
    return mask >> (i < 31 ? i : 31) & 1;
}

bool ebb__save_next(ebb__save *out, const ebb__record *r, uint32_t *at)
{
    for (uint32_t n = (uint32_t)r->n_in + r->n_out; *at < n;) {
        uint32_t place = (*at)++;
        bool is_output = place >= r->n_in;
        uint32_t i = is_output ? place - r->n_in : place;
        ebb__value *v = is_output ? r->out[i] : r->in[i];
        if (!v || !in_mask(is_output ? r->saved_out : r->saved_in, i)) continue;
        *out = (ebb__save){.value = v,
                           .layout = ebb__record_layout(r, (int32_t)place),
                           .index = (int32_t)i,
                           .is_output = is_output};
        return true;
    }
    return false;
}

bool ebb__record_saves(const ebb__record *r, const ebb__value *v)
{
    ebb__save save;
    for (uint32_t at = 0; ebb__save_next(&save, r, &at);)
        if (save.value == v) return true;
    return false;
}

void ebb__record_site_get(const char **file, int32_t *line, const ebb__record *r)
{
    const ebb__record_site *site = r->ctx->record_sites ? ebb__record_site_at(r) : NULL;
    *file = site ? site->file : NULL;
    *line = site && site->file ? (int32_t)site->line : 0;
}

typedef struct node_visit {
    ebb__node_fn each;
    void *user;
} node_visit;

static void node_visited(void *user, ebb_graph_node *n)
{
    const node_visit *visit = user;
    unsigned state = node_state(n);
    visit->each(visit->user, n, state == NODE_LIVE ? n->payload : NULL,
                state == NODE_LEAF ? n->payload : NULL);
}

void ebb__nodes_each(ebb_context *ctx, ebb__node_fn each, void *user)
{
    node_visit visit = {each, user};
    ebb__graph_each(ctx->space, node_visited, &visit);
}

uint64_t ebb__node_sequence(const ebb_graph_node *n)
{
    return n->sequence;
}

bool ebb__walk_has(const ebb__graph_walk *w, const ebb_graph_node *n)
{
    for (int64_t i = 0; i < w->n_nodes; i++)
        if (w->nodes[i] == n) return true;
    for (int64_t i = 0; i < w->n_leaves; i++)
        if (w->leaves[i] == n) return true;
    return false;
}

/* ---- heads: breadth first from the nodes with handles to their parents ------------------- */

enum { NOT_MET = UINT32_MAX, WAITS = 0 }; /* in mark; else the length of the chain */

typedef struct head_queue {
    node *first, **last; /* through link, which then holds the head */
    uint64_t mark_walk;
} head_queue;

static void queue_put(head_queue *q, node *n)
{
    n->mark = WAITS;
    n->link = NULL;
    *q->last = n;
    q->last = &n->link;
}

static void queue_begin(void *user, node *n)
{
    head_queue *q = user;
    if (node_state(n) != NODE_LIVE) return;
    n->mark_walk = q->mark_walk;
    n->mark = NOT_MET;
    if (ebb_graph_node_handles(n) > 0) queue_put(q, n);
}

static void head_take(const head_queue *q, node *n)
{
    const node *nearest = NULL;
    n->link = n;
    n->mark = 1;
    if (ebb_graph_node_handles(n) > 0) return;
    for (edge *e = n->children; e; e = e->next) {
        const node *c = edge_node(e);
        if (c->mark_walk != q->mark_walk || c->mark == NOT_MET || c->mark == WAITS) continue;
        if (!nearest || c->mark < nearest->mark) nearest = c;
    }
    n->link = nearest->link;
    n->mark = nearest->mark + 1;
}

void ebb__heads_find(ebb_context *ctx)
{
    head_queue q = {.mark_walk = ++ctx->space->walk_mark};
    q.last = &q.first;
    ebb__graph_each(ctx->space, queue_begin, &q);
    for (node *n; (n = q.first);) {
        q.first = n->link;
        if (!q.first) q.last = &q.first;
        head_take(&q, n);
        for (uint32_t i = 0; i < n->n_parents; i++) {
            node *p = n->edges[i].parent;
            if (node_state(p) == NODE_LIVE && p->mark == NOT_MET) queue_put(&q, p);
        }
    }
}

ebb_graph_node *ebb__head_of(const ebb_graph_node *n, int64_t *n_links)
{
    bool met = n->mark != NOT_MET;
    *n_links = met ? n->mark : 0;
    return met ? n->link : NULL;
}

void **ebb__head_note(ebb_graph_node *head)
{
    return (void **)(void *)&head->link;
}
