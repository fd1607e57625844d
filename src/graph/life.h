/* life.h - how a node goes: the parts that are on every node's way, inline.
 *
 * Invariants: as in life.c.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAPH_LIFE_H
#define EBB_GRAPH_LIFE_H

#include "graph/node.h"

/* What became useless and waits to be worked off by the thread's outermost call, through link:
 * DEAD interior nodes, each with a pin of ours, and leaves without any count. */
typedef struct pending_list {
    node *first;
    uint32_t depth; /* calls in progress on this thread that work it off */
} pending_list;
extern EBB__THREAD_HOT pending_list ebb__graph_pending;

void ebb__graph_pending_free(void);
void ebb__graph_unlink_edge(edge *e, ebb__pool_part *part);
void ebb__graph_unlink(node *n, uint32_t n_linked, ebb__pool_part *part);
void ebb__graph_unpin(node *n, ebb__pool_part *part);
void ebb__graph_leaf_drop(node *leaf, uint64_t counts, ebb__pool_part *part);

/* Every call from outside that may free something is bracketed by these: leave frees what has
 * become useless, unless an outer call on this thread does. */
static inline void ebb__graph_enter(void)
{
    ebb__graph_pending.depth++;
}
static inline void ebb__graph_leave(void)
{
    if (ebb__graph_pending.first && ebb__graph_pending.depth == 1) ebb__graph_pending_free();
    ebb__graph_pending.depth--;
}

static inline void pending_push(node *n)
{
    n->link = ebb__graph_pending.first;
    ebb__graph_pending.first = n;
}

static inline void node_memory_free(node *n, ebb__pool_part *part)
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
static inline void node_free(node *n, ebb__pool_part *part)
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

static inline void ebb__graph_use_drop(node *n)
{
    ebb__pool *pool = n->space->pool;
    bool owned = false, gone = false;
    node_lock(n);
    use_drop_locked(n, &owned, &gone);
    node_unlock(n);
    if (owned || gone) after_drop(n, owned, gone, ebb__pool_part_get(pool));
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

/* By who moved n out of LIVE and has unlinked it: gives back the pin and `uses` uses. Nobody
 * can pin n any more: it is in no child list of a LIVE node. So the pin goes by a plain
 * subtraction under the lock, where all others give theirs back too. */
static inline void ebb__graph_unpin_last(node *n, uint32_t uses, ebb__pool_part *part)
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

#endif
