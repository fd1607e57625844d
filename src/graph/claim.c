/* claim.c - the later phases of a backward: nodes spent, descendants severed, pins given back.
 *
 * Invariants: states leave LIVE for SPENT or SEVERED only here (and at birth), under the claim
 * lock, so whoever holds it sees only LIVE ancestors under a LIVE root. A child found in the
 * list of a node being spent is pinned in the same critical section, for its membership proves
 * that it exists. A child that is SPENT already has an owner of its own and needs nothing from
 * us.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "graph/life.h"
#include "graph/walk_shared.h"

#include <string.h>

enum { AHEAD = 4 }; /* nodes to fetch in advance: a lock waits for its line otherwise */

/* Under n's lock, n no longer LIVE. */
static void take_children(haul *h, node *n)
{
    edge *next, *e = n->children;
    for (; e; e = next) {
        next = e->next;
        node *child = edge_node(e);
        if (node_state(child) == NODE_SPENT) continue;
        node_pin(child);
        *h->last = e;
        h->last = &e->next;
    }
    *h->last = NULL;
}

static void tomb_set(node *n, const haul *h)
{
    n->tomb_tag = h->tag;
    n->tomb_number = h->number;
}

/* Under the claim lock and its own nobody else pins a node: where it has no pin of this walk's
 * yet, that is a plain addition. */
static inline void spend(haul *h, node *n, bool has_pin)
{
    node_lock(n);
    EBB_ASSERT(node_state(n) == NODE_LIVE);
    if (!has_pin)
        atomic_store_explicit(&n->pins,
                              atomic_load_explicit(&n->pins, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    node_state_set(n, NODE_SPENT);
    if (n->children) take_children(h, n);
    h->tag = n->tag;
    tomb_set(n, h);
    node_unlock(n);
}

/* The edges' list grows at its end while it is worked off. */
static void sever_all(haul *h)
{
    for (edge *e = h->edges; e; e = e->next) {
        node *child = edge_node(e);
        h->tag = e->parent->tomb_tag;
        node_lock(child);
        unsigned state = node_state(child);
        if (state == NODE_LINKING && !(child->marks & NODE_CUT)) {
            child->marks |= NODE_CUT;
            tomb_set(child, h);
        } else if (state == NODE_LIVE) {
            node_state_set(child, NODE_SEVERED);
            node_pin(child);
            take_children(h, child);
            tomb_set(child, h);
            child->link = NULL;
            *h->last_severed = child;
            h->last_severed = &child->link;
            h->n_severed++;
        }
        node_unlock(child);
    }
}

/* No lock held: severed nodes leave their parents, then all pins taken are given back. */
static void give_back(const haul *h, ebb__pool_part *part)
{
    for (node *n = h->severed, *next; n; n = next) {
        next = n->link;
        ebb__graph_unlink(n, n->n_parents, part);
    }
    for (node *n = h->severed, *next; n; n = next) {
        next = n->link;
        ebb__graph_unpin_last(n, 0,
                              part); /* the pin through its edge in the haul is still there */
    }
    for (edge *e = h->edges, *next; e; e = next) {
        next = e->next;
        ebb__graph_unpin(edge_node(e), part);
    }
}

/* The first root in the walk that is not LIVE any more, -1 if all are. */
static int64_t root_lost(const ebb__graph_walk *w)
{
    for (int64_t i = 0; i < w->n_roots; i++)
        if (w->root[i] >= 0 && node_state(w->nodes[w->root[i]]) != NODE_LIVE) return i;
    return -1;
}

void ebb__graph_claim_locked(ebb__graph_walk *w, haul *h, bool has_pins)
{
    h->last = &h->edges;
    h->last_severed = &h->severed;
    w->number = h->number = ++w->space->n_backwards;
    for (int64_t i = 0; i < w->n_nodes; i++) {
        if (i + AHEAD < w->n_nodes) __builtin_prefetch(w->nodes[i + AHEAD], 1);
        if (w->is_stop[i]) continue;
        spend(h, w->nodes[i], has_pins);
        h->n_spent++;
    }
    sever_all(h);
    w->claimed = true;
}

void ebb__graph_claim_finish(ebb__graph_walk *w, const haul *h)
{
    ebb__pool_part *part = ebb__pool_part_get(w->space->pool);
    ebb__pool_part_count(part, COUNT_CONSUMED, h->n_spent);
    ebb__pool_part_count(part, COUNT_CUT, h->n_severed);
    memset(w->node_map, 0, (size_t)w->n_nodes * sizeof *w->node_map);
    memset(w->leaf_map, 0, (size_t)w->n_leaves * sizeof *w->leaf_map);
    if (!h->edges) return;
    ebb__graph_enter();
    give_back(h, part);
    ebb__graph_leave();
}

ebb_status ebb__graph_walk_claim(ebb__graph_walk *w)
{
    if (w->keep || w->claimed) return EBB_OK;
    haul h = {0};
    claim_take(w->space);
    int64_t lost = root_lost(w);
    if (lost < 0) ebb__graph_claim_locked(w, &h, true);
    claim_give(w->space);
    if (lost >= 0) return ebb__graph_root_refused(w->space, lost, w->nodes[w->root[lost]]);
    ebb__graph_claim_finish(w, &h);
    return EBB_OK;
}

/* The use of a parent that is spent by this walk and waits for its turn in it is given back
 * there: our pin keeps it, and its child list is no more. So are those of leaves, at the end.
 */
static inline void consumed_done(ebb__graph_walk *w, int64_t i, ebb__pool_part *part)
{
    node *n = w->nodes[i];
    const ebb__graph_target *t = w->targets + w->first[i];
    for (uint32_t k = 0; k < n->n_parents; k++, t++) {
        if (t->node >= 0 && !w->is_stop[t->node])
            w->node_map[t->node]++;
        else if (t->leaf >= 0)
            w->leaf_map[t->leaf]++;
        else
            ebb__graph_unlink_edge(&n->edges[k], part);
    }
    w->n_unlinked += n->n_parents;
    ebb__graph_unpin_last(n, (uint32_t)w->node_map[i], part);
}

static inline void node_done(ebb__graph_walk *w, int64_t i, ebb__pool_part *part)
{
    if (w->claimed && !w->is_stop[i])
        consumed_done(w, i, part);
    else
        ebb__graph_unpin(w->nodes[i], part);
}

static inline void walk_done(ebb__graph_walk *w, int64_t i)
{
    EBB_ASSERT(i == w->n_done);
    w->n_done = i + 1;
    if (i + AHEAD < w->n_nodes) {
        __builtin_prefetch(w->nodes[i + AHEAD], 1);
        __builtin_prefetch((const char *)w->nodes[i + AHEAD] + 64, 1);
    }
    ebb__graph_enter();
    node_done(w, i, ebb__pool_part_get(w->space->pool));
    ebb__graph_leave();
}

void ebb__graph_walk_done(ebb__graph_walk *w, int64_t i)
{
    walk_done(w, i);
}

/* The whole walk with a public visitor. */
ebb_status ebb__graph_walk_visit(ebb__graph_walk *w, const ebb_graph_visitor *visitor)
{
    ebb_status s = EBB_OK;
    for (int64_t i = 0; i < w->n_nodes && s == EBB_OK; i++) {
        node *n = w->nodes[i];
        if (visitor && visitor->node) {
            ebb_graph_step step = {.node = n,
                                   .payload = n->payload,
                                   .tag = n->tag,
                                   .n_parents = n->n_parents,
                                   .is_input = w->is_stop[i],
                                   .walk = w,
                                   .index = i};
            s = visitor->node(visitor->user, &step);
        }
        walk_done(w, i);
    }
    for (int64_t i = 0; i < w->n_leaves && s == EBB_OK && visitor && visitor->leaf; i++)
        s = visitor->leaf(visitor->user, w->leaves[i], w->leaves[i]->payload);
    return s;
}

void ebb__graph_walk_end(ebb__graph_walk *w)
{
    if (!w->memory) return;
    ebb__pool_part *part = ebb__pool_part_get(w->space->pool);
    ebb__graph_enter();
    for (; w->n_done < w->n_nodes; w->n_done++) node_done(w, w->n_done, part);
    for (int64_t i = w->n_nodes; i < w->n_nodes_held; i++) ebb__graph_unpin(w->nodes[i], part);
    for (int64_t i = 0; i < w->n_leaves_held; i++)
        ebb__graph_leaf_drop(w->leaves[i],
                             LEAF_HANDLE + (w->claimed ? (uint32_t)w->leaf_map[i] : 0u), part);
    ebb__pool_part_count(part, COUNT_EDGES, -w->n_unlinked);
    ebb__graph_leave();
    ebb__graph_walk_memory_give(w);
}
