/* node.h - what a node is made of, and the critical sections of its life.
 *
 * Invariants, each under the node's own lock unless said otherwise:
 *   state    LINKING -> LIVE -> SPENT | SEVERED | DEAD, or LINKING -> SEVERED; LIVE -> SPENT or
 *            SEVERED only under the space's claim lock
 *   uses     handles + linked edges of children; a LIVE interior node has uses > 0
 *   pins     + under the own lock, under a parent's lock that proves membership in its child
 * list, or under the claim lock while a LIVE descendant has a handle; - under the own lock.
 *            While there are pins neither payload nor struct goes
 *   children the linked edges of nodes recorded on this one, while LIVE; whoever moves the node
 * to SPENT or SEVERED takes the list over link     belongs to whoever moved the node out of
 * LIVE (work lists); before that, under a LIVE root that has a handle, to the holder of the
 * claim lock, as mark and mark_walk do Lock order: claim lock, then one node lock. Nothing
 * calls out under any of them. A leaf has counts instead of children, is never pinned (a walk
 * takes a handle) and its lock guards the gradient slot of its owner only.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAPH_NODE_H
#define EBB_GRAPH_NODE_H

#include "base/check.h"
#include "base/thread.h"
#include "graph/graph.h"

#include <pthread.h>

typedef ebb_graph_node node;

enum { /* LIVE .. LEAF are those of ebb_graph_state */
       NODE_LIVE = EBB_GRAPH_LIVE,
       NODE_SPENT = EBB_GRAPH_SPENT,
       NODE_SEVERED = EBB_GRAPH_SEVERED,
       NODE_LEAF = EBB_GRAPH_LEAF,
       NODE_LINKING,
       NODE_DEAD
};

enum {
    NODE_SINGLE = 1,
    NODE_BIG = 2
}; /* flags: of a single-threaded space; not from the pool */

enum { NODE_CUT = 1, NODE_LABELLED = 2 }; /* marks: severed while LINKING; has a label */

/* One tracked input of a node. parent stays as recorded; it is valid while the node is LIVE or
 * the parent pinned. */
typedef struct edge {
    node *parent;
    struct edge *next;  /* in the parent's child list, or in the list of who took it over */
    struct edge **back; /* what points at this edge in the child list of a LIVE parent */
    uint32_t output;
    uint32_t index; /* in the node's edges */
} edge;

struct ebb_graph_node {
    ebb__lock lock;
    atomic_uchar state;
    uint8_t flags; /* constant */
    uint8_t marks; /* NODE_CUT, NODE_LABELLED */
    atomic_uint pins;
    uint32_t uses; /* of an interior node */
    uint32_t tag;
    uint32_t n_parents;
    union {
        uint32_t mark;     /* index in the walk mark_walk */
        uint32_t tomb_tag; /* SPENT, SEVERED or NODE_CUT */
    };
    uint64_t sequence;
    uint64_t mark_walk;
    ebb_graph_space *space; /* NULL: free memory. At an offset of 16 or more (listed objects) */
    node *link;
    void *payload;
    void (*payload_free)(void *);
    union {
        edge *children;
        uint64_t tomb_number; /* SPENT, SEVERED or NODE_CUT */
        atomic_ullong counts; /* leaf: handles << 32 | linked edges */
    };
    edge edges[];
};
_Static_assert(sizeof(struct ebb_graph_node) + sizeof(edge) <= 112, "a node with one parent");
_Static_assert(offsetof(struct ebb_graph_node, space) >= 16, "survives on a free list");

#define LEAF_HANDLE (1ull << 32)

/* Counters in the pool's parts; structs are interior nodes. */
enum {
    COUNT_CREATED,
    COUNT_CONSUMED, /* became SPENT */
    COUNT_CUT,      /* became SEVERED, at birth or later */
    COUNT_DIED,     /* became DEAD: freed while LIVE */
    COUNT_FREED_SPENT,
    COUNT_FREED_SEVERED,
    COUNT_FREED_DEAD,
    COUNT_LEAVES_CREATED,
    COUNT_LEAVES_FREED,
    COUNT_LEAVES_IN_USE, /* now */
    COUNT_EDGES          /* linked now */
};

/* A node too large for the pool is preceded by this. */
typedef struct big {
    struct big *next, **back;
    size_t bytes;
    size_t pad;
} big;

/* The block of a walk: what it was made for stands at its head. */
typedef struct extent {
    int64_t nodes, edges, leaves;
} extent;
typedef struct walk_memory {
    size_t bytes; /* of the whole block */
    extent cap;
} walk_memory;

/* A walk's block, kept for the next of the same thread. */
enum { WALK_SPARES = 8 };
typedef struct walk_spare {
    _Alignas(64) _Atomic(walk_memory *) block;
} walk_spare;

struct ebb_graph_space {
    /* read by every call, hardly ever written */
    ebb__pool *pool;
    bool owns_pool, single_threaded;
    uint32_t
        generation; /* of the process that made it; UINT32_MAX while it is being destroyed */
    ebb_allocator allocator;
    const char *(*tag_name)(void *user, uint32_t tag);
    void *user;
    ebb__lock big_lock, label_lock;
    big *bigs;             /* under big_lock */
    struct label **labels; /* label.c, under label_lock */
    /* written by every backward: on a line of its own, away from the recorders */
    _Alignas(64) pthread_mutex_t claim_lock;
#ifdef EBB__EXPLORE
    ebb__lock explored_claim;
#endif
    uint64_t walk_mark;            /* under the claim lock: the newest marking */
    uint64_t n_backwards;          /* under the claim lock: consuming ones */
    walk_spare spare[WALK_SPARES]; /* threads take theirs by the number of their pool part */
};

/* ---- space.c ---- */
/* E_MISUSE in a child process of the one that made the space. */
ebb_status ebb__graph_space_refused(const ebb_graph_space *space);
static inline bool space_is_ours(const ebb_graph_space *space)
{
    return space->generation == ebb__fork_generation();
}
void *ebb__graph_big_alloc(ebb_graph_space *space, size_t bytes);
void ebb__graph_big_free(ebb_graph_space *space, node *n);
/* Calls `each` for every node of the space; quiet spaces only. */
void ebb__graph_each(ebb_graph_space *space, void (*each)(void *user, node *n), void *user);

/* ---- label.c ---- */
void ebb__graph_label_drop(node *n);
void ebb__graph_labels_free(ebb_graph_space *space);

#ifdef EBB__EXPLORE
/* For the tests that try interleavings one by one: they decide at each of these who goes on. */
void ebb__explore_take(ebb__lock *lock, const ebb_graph_space *space);
void ebb__explore_give(ebb__lock *lock);
void ebb__explore_point(void);
#endif

static inline void node_lock(node *n)
{
#ifdef EBB__EXPLORE
    ebb__explore_take(&n->lock, n->space);
#else
    if (!(n->flags & NODE_SINGLE)) ebb__lock_take(&n->lock);
#endif
}
static inline void node_unlock(node *n)
{
#ifdef EBB__EXPLORE
    ebb__explore_give(&n->lock);
#else
    if (!(n->flags & NODE_SINGLE)) ebb__lock_give(&n->lock);
#endif
}
static inline unsigned node_state(const node *n)
{
    return atomic_load_explicit(&n->state, memory_order_relaxed);
}
static inline void node_state_set(node *n, unsigned state)
{
    atomic_store_explicit(&n->state, (unsigned char)state, memory_order_relaxed);
}
static inline bool node_is_leaf(const node *n)
{
    return node_state(n) == NODE_LEAF;
}
static inline void node_pin(node *n)
{
    if (n->flags & NODE_SINGLE)
        atomic_store_explicit(&n->pins,
                              atomic_load_explicit(&n->pins, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&n->pins, 1, memory_order_relaxed);
}
/* Returns the pins left. */
static inline unsigned node_unpin_count(node *n)
{
    if (!(n->flags & NODE_SINGLE))
        return atomic_fetch_sub_explicit(&n->pins, 1, memory_order_acq_rel) - 1;
    unsigned left = atomic_load_explicit(&n->pins, memory_order_relaxed) - 1;
    atomic_store_explicit(&n->pins, left, memory_order_relaxed);
    return left;
}
static inline node *edge_node(edge *e)
{
    return (node *)((char *)(e - e->index) - offsetof(struct ebb_graph_node, edges));
}
/* Returns the counts before. */
static inline uint64_t leaf_count(node *leaf, uint64_t delta)
{
#ifdef EBB__EXPLORE
    ebb__explore_point();
#endif
    if (!(leaf->flags & NODE_SINGLE))
        return atomic_fetch_add_explicit(&leaf->counts, delta, memory_order_acq_rel);
    uint64_t before = atomic_load_explicit(&leaf->counts, memory_order_relaxed);
    atomic_store_explicit(&leaf->counts, before + delta, memory_order_relaxed);
    return before;
}
static inline void claim_take(ebb_graph_space *space)
{
#ifdef EBB__EXPLORE
    ebb__explore_take(&space->explored_claim, space);
#else
    if (!space->single_threaded) pthread_mutex_lock(&space->claim_lock);
#endif
}
static inline void claim_give(ebb_graph_space *space)
{
#ifdef EBB__EXPLORE
    ebb__explore_give(&space->explored_claim);
#else
    if (!space->single_threaded) pthread_mutex_unlock(&space->claim_lock);
#endif
}
static inline size_t node_bytes(uint32_t n_parents)
{
    return sizeof(struct ebb_graph_node) + n_parents * sizeof(edge);
}

#endif
