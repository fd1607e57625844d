/* life.c - how a node goes: uses and pins dropped, edges unlinked, what nobody can use freed.
 *
 * Invariants: whoever moves a node out of LIVE holds a pin on it until it has unlinked it.
 * Nodes that became useless wait in the thread's pending list, through `link`; the outermost
 * call works it off, so that neither depth of the graph nor releases inside free callbacks
 * recurse. SPDX-License-Identifier: MIT */
#include "graph/node.h"

EBB__THREAD_HOT pending_list ebb__graph_pending;

static inline void pending_push(node *n)
{
    n->link = ebb__graph_pending.first;
    ebb__graph_pending.first = n;
}

static void node_memory_free(node *n, ebb__pool_part *part)
{
    ebb_graph_space *space = n->space;
    if (n->marks & NODE_LABELLED) ebb__graph_label_drop(n);
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
    ebb__pool_part_count(part,
                         state == NODE_SPENT     ? COUNT_FREED_SPENT
                         : state == NODE_SEVERED ? COUNT_FREED_SEVERED
                                                 : COUNT_FREED_DEAD,
                         1);
    node_memory_free(n, part);
}

static void leaf_free(node *leaf)
{
    if (leaf->payload_free) leaf->payload_free(leaf->payload);
    ebb__pool_part *part = ebb__pool_part_get(leaf->space->pool);
    ebb__pool_part_count(part, COUNT_LEAVES_FREED, 1);
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
        ebb__pool_part_count(part, COUNT_DIED, 1);
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

/* counts: so many handles and edges less. */
void ebb__graph_leaf_drop(node *leaf, uint64_t counts, ebb__pool_part *part)
{
    uint64_t before = leaf_count(leaf, (uint64_t)0 - counts);
    uint32_t edges = (uint32_t)counts;
    if (edges && (uint32_t)before == edges) ebb__pool_part_count(part, COUNT_LEAVES_IN_USE, -1);
    if (before == counts) pending_push(leaf);
}

void ebb__graph_unlink_edge(edge *e, ebb__pool_part *part)
{
    node *p = e->parent;
    if (node_is_leaf(p)) {
        ebb__graph_leaf_drop(p, 1, part);
        return;
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

/* By who moved n out of LIVE, holding a pin. The first n_linked edges hold uses of their
 * parents.
 */
void ebb__graph_unlink(node *n, uint32_t n_linked, ebb__pool_part *part)
{
    for (uint32_t i = 0; i < n_linked; i++) ebb__graph_unlink_edge(&n->edges[i], part);
    ebb__pool_part_count(part, COUNT_EDGES, -(int64_t)n_linked);
}

typedef struct payload_end {
    void (*free)(void *);
    void *data;
} payload_end;

static inline payload_end payload_take(node *n)
{
    payload_end end = {.free = n->payload_free, .data = n->payload};
    n->payload_free = NULL;
    n->payload = NULL;
    return end;
}

void ebb__graph_unpin(node *n, ebb__pool_part *part)
{
    payload_end end = {0};
    bool gone = false;
    node_lock(n);
    if (node_unpin_count(n) == 0) {
        unsigned state = node_state(n);
        if (state == NODE_SPENT || state == NODE_SEVERED || state == NODE_DEAD) {
            end = payload_take(n);
            gone = n->uses == 0;
        }
    }
    node_unlock(n);
    /* From here on n is touched only to free it: a handle may go meanwhile. */
    if (gone) node_free(n, part);
    if (end.free) end.free(end.data);
}

/* Nobody can pin n any more: it is in no child list of a LIVE node. So the pin goes by a plain
 * subtraction under the lock, where all others give theirs back too. */
void ebb__graph_unpin_last(node *n, uint32_t uses, ebb__pool_part *part)
{
    payload_end end = {0};
    bool gone = false;
    node_lock(n);
    unsigned pins = atomic_load_explicit(&n->pins, memory_order_relaxed) - 1;
    atomic_store_explicit(&n->pins, pins, memory_order_relaxed);
    EBB_ASSERT(n->uses >= uses);
    n->uses -= uses;
    if (pins == 0) {
        end = payload_take(n);
        gone = n->uses == 0;
    }
    node_unlock(n);
    if (gone) node_free(n, part);
    if (end.free) end.free(end.data);
}

void ebb__graph_pending_free(void)
{
    for (node *n; (n = ebb__graph_pending.first);) {
        ebb__graph_pending.first = n->link;
        if (node_is_leaf(n)) {
            leaf_free(n);
            continue;
        }
        ebb__pool_part *part = ebb__pool_part_get(n->space->pool);
        ebb__graph_unlink(n, n->n_parents, part);
        ebb__graph_unpin_last(n, 0, part);
    }
}
