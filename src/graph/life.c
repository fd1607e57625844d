/* life.c - how a node goes: uses and pins dropped, edges unlinked, what nobody can use freed.
 *
 * Invariants: whoever moves a node out of LIVE holds a pin on it until it has unlinked it.
 * Nodes that became useless wait in the thread's pending list, through `link`; the outermost
 * call works it off, so that neither depth of the graph nor releases inside free callbacks
 * recurse. SPDX-License-Identifier: MIT */
#include "graph/node.h"

static EBB__THREAD_HOT struct {
    node
        *first; /* DEAD interior nodes, each with a pin of ours, and leaves without any count */
    uint32_t depth;
} pending;

static inline void pending_push(node *n)
{
    n->link = pending.first;
    pending.first = n;
}

static void payload_run_free(void (*payload_free)(void *), void *payload)
{
    if (payload_free) payload_free(payload);
}

static void node_memory_free(node *n, ebb__pool_part *part)
{
    ebb_graph_space *space = n->space;
    n->space = NULL;
    if (n->flags & NODE_BIG)
        ebb__graph_big_free(space, n);
    else
        ebb__pool_part_free_listed(part, n, node_bytes(n->n_parents));
}

/* uses is 0 and there are no pins: nobody is left who could reach it. */
static void node_free(node *n, ebb__pool_part *part)
{
    EBB_ASSERT(!n->payload_free || n->payload == NULL);
    unsigned state = node_state(n);
    if (state == NODE_SPENT) ebb__pool_part_count(part, COUNT_SPENT, -1);
    if (state == NODE_SEVERED) ebb__pool_part_count(part, COUNT_SEVERED, -1);
    ebb__pool_part_count(part, COUNT_FREED, 1);
    node_memory_free(n, part);
}

static void leaf_free(node *leaf)
{
    payload_run_free(leaf->payload_free, leaf->payload);
    ebb__pool_part *part = ebb__pool_part_get(leaf->space->pool);
    ebb__pool_part_count(part, COUNT_LEAVES, -1);
    node_memory_free(leaf, part);
}

/* One use less, under the lock. *owned: it is DEAD by our hand and waits to be worked off;
 * *gone: to be freed after the unlock. */
static inline void use_drop_locked(node *n, bool *owned, bool *gone)
{
    EBB_ASSERT(n->uses > 0);
    if (--n->uses > 0) return;
    if (node_state(n) == NODE_LIVE) {
        EBB_ASSERT(!n->children);
        node_state_set(n, NODE_DEAD);
        node_pin(n);
        *owned = true;
    } else {
        *gone = atomic_load_explicit(&n->pins, memory_order_acquire) == 0;
    }
}

static inline void after_drop(node *n, bool owned, bool gone, ebb__pool_part *part)
{
    if (owned) {
        ebb__pool_part_count(part, COUNT_LIVE, -1);
        pending_push(n);
    }
    if (gone) node_free(n, part);
}

void ebb__graph_use_drop(node *n)
{
    ebb__pool *pool = n->space->pool;
    bool owned = false, gone = false;
    node_lock(n);
    use_drop_locked(n, &owned, &gone);
    node_unlock(n);
    if (owned || gone) after_drop(n, owned, gone, ebb__pool_part_get(pool));
}

void ebb__graph_leaf_drop(node *leaf, uint64_t counts, ebb__pool_part *part)
{
    uint64_t before = leaf_count(leaf, (uint64_t)0 - counts);
    if (counts == 1 && (uint32_t)before == 1)
        ebb__pool_part_count(part, COUNT_LEAVES_IN_USE, -1);
    if (before == counts) pending_push(leaf);
}

/* By who moved n out of LIVE, holding a pin. The first n_linked edges hold uses of their
 * parents. */
void ebb__graph_unlink(node *n, uint32_t n_linked, ebb__pool_part *part)
{
    for (edge *e = n->edges, *end = e + n_linked; e < end; e++) {
        node *p = e->parent;
        if (node_is_leaf(p)) {
            ebb__graph_leaf_drop(p, 1, part);
            continue;
        }
        bool owned = false, gone = false;
        node_lock(p);
        if (node_state(p) == NODE_LIVE) {
            *e->back = e->next;
            if (e->next) e->next->back = e->back;
        }
        use_drop_locked(p, &owned, &gone);
        node_unlock(p);
        if (owned || gone) after_drop(p, owned, gone, part);
    }
    ebb__pool_part_count(part, COUNT_EDGES, -(int64_t)n_linked);
}

void ebb__graph_unpin(node *n, ebb__pool_part *part)
{
    void (*payload_free)(void *) = NULL;
    void *payload = NULL;
    bool gone = false;
    node_lock(n);
    if (node_unpin_count(n) == 0) {
        unsigned state = node_state(n);
        if (state == NODE_SPENT || state == NODE_SEVERED || state == NODE_DEAD) {
            payload_free = n->payload_free;
            payload = n->payload;
            n->payload_free = NULL;
            n->payload = NULL;
            gone = n->uses == 0;
        }
    }
    node_unlock(n);
    /* From here on n is touched only to free it: a handle may go meanwhile. */
    if (gone) node_free(n, part);
    payload_run_free(payload_free, payload);
}

void ebb__graph_enter(void)
{
    pending.depth++;
}

void ebb__graph_leave(void)
{
    if (pending.depth == 1) {
        for (node *n; (n = pending.first);) {
            pending.first = n->link;
            if (node_is_leaf(n)) {
                leaf_free(n);
                continue;
            }
            ebb__pool_part *part = ebb__pool_part_get(n->space->pool);
            ebb__graph_unlink(n, n->n_parents, part);
            ebb__graph_unpin(n, part);
        }
    }
    pending.depth--;
}
