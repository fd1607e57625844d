/* check.c - the audit: every invariant of a quiet space, from its nodes alone.
 *
 * Invariant: at rest `link` is nobody's, so the audit counts in it.
 * SPDX-License-Identifier: MIT */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("Os") /* nobody waits for these; the library has a size to keep */
#endif

#include "graph/node.h"

typedef struct audit {
    ebb_graph_space *space;
    const char *fault;
    int64_t n_live, n_spent, n_severed, n_leaves, n_leaves_in_use, n_edges;
} audit;

static void expect(audit *a, bool holds, const char *what)
{
    if (!holds && !a->fault) a->fault = what;
}

static uintptr_t tally(const node *n)
{
    return (uintptr_t)n->link;
}

static void tally_set(node *n, uintptr_t count)
{
    n->link = (node *)count;
}

static void tally_zero(void *user, node *n)
{
    (void)user;
    tally_set(n, 0);
}

static void live_check(audit *a, const node *n)
{
    a->n_live++;
    a->n_edges += n->n_parents;
    expect(a, n->uses > 0, "a live node has neither handle nor child");
    for (uint32_t i = 0; i < n->n_parents; i++) {
        const edge *e = &n->edges[i];
        node *p = e->parent;
        expect(a, p->space == a->space, "an edge leads to freed memory");
        if (a->fault) return;
        expect(a, e->index == i, "an edge does not know its place");
        expect(a, p->sequence < n->sequence, "a parent is not older than its child");
        expect(a, node_state(p) == NODE_LIVE || node_is_leaf(p),
               "a live node has an interior parent that is not live");
        if (node_state(p) == NODE_LIVE) expect(a, *e->back == e, "a child list is broken");
        tally_set(p, tally(p) + 1);
    }
}

static void node_check(void *user, node *n)
{
    audit *a = user;
    unsigned state = node_state(n);
    expect(a, atomic_load(&n->lock.held) == 0, "a lock is held at rest");
    expect(a, atomic_load(&n->pins) == 0, "a pin is left at rest");
    if (state == NODE_LIVE) {
        live_check(a, n);
    } else if (state == NODE_LEAF) {
        a->n_leaves++;
        expect(a, atomic_load(&n->counts) != 0, "a leaf without use is left");
    } else {
        expect(a, state == NODE_SPENT || state == NODE_SEVERED, "a node is between two states");
        if (state == NODE_SPENT) a->n_spent++;
        if (state == NODE_SEVERED) a->n_severed++;
        expect(a, n->uses > 0, "a spent or severed node without handle is left");
        expect(a, !n->payload_free && !n->payload, "a spent or severed node has its payload");
        expect(a, n->tomb_number > 0 && n->tomb_number <= a->space->n_backwards,
               "a tombstone names no backward");
    }
}

/* After node_check has counted the edges that lead to each node. */
static void children_check(void *user, node *n)
{
    audit *a = user;
    if (a->fault) return;
    if (node_is_leaf(n)) {
        uint32_t edges = (uint32_t)atomic_load(&n->counts);
        expect(a, edges == tally(n), "a leaf's count of edges is wrong");
        a->n_leaves_in_use += edges > 0;
    } else if (node_state(n) == NODE_LIVE) {
        uintptr_t length = 0;
        for (edge *e = n->children; e && !a->fault; e = e->next) {
            expect(a, ++length <= tally(n),
                   "a child list is longer than the edges that lead here");
            expect(a, e->parent == n, "a child list holds an edge to another node");
        }
        expect(a, length == tally(n), "a live child is missing from its parent's list");
        expect(a, n->uses >= length, "a node has fewer uses than children");
    }
}

static int64_t count(const audit *a, unsigned slot)
{
    return ebb__pool_count(a->space->pool, slot);
}

static void counters_check(audit *a)
{
    int64_t created = count(a, COUNT_CREATED), consumed = count(a, COUNT_CONSUMED),
            cut = count(a, COUNT_CUT), died = count(a, COUNT_DIED);
    expect(a, created - consumed - cut - died == a->n_live, "the count of live nodes is wrong");
    expect(a, consumed - count(a, COUNT_FREED_SPENT) == a->n_spent,
           "the count of spent nodes is wrong");
    expect(a, cut - count(a, COUNT_FREED_SEVERED) == a->n_severed,
           "the count of severed nodes is wrong");
    expect(a, died == count(a, COUNT_FREED_DEAD), "a dead node was not freed");
    expect(a, count(a, COUNT_LEAVES_CREATED) - count(a, COUNT_LEAVES_FREED) == a->n_leaves,
           "the count of leaves is wrong");
    expect(a, count(a, COUNT_LEAVES_IN_USE) == a->n_leaves_in_use,
           "the count of leaves in use is wrong");
    expect(a, count(a, COUNT_EDGES) == a->n_edges, "the count of edges is wrong");
}

const char *ebb__graph_check(ebb_graph_space *space)
{
    audit a = {.space = space};
    ebb__graph_each(space, tally_zero, NULL);
    ebb__graph_each(space, node_check, &a);
    if (!a.fault) ebb__graph_each(space, children_check, &a);
    /* The counters are the pool's: they are this space's only where the pool is. */
    if (!a.fault && space->owns_pool) counters_check(&a);
    return a.fault;
}
