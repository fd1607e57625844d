/* record.c - nodes come: leaves and recorded nodes, their handles, and what can be asked of
 * one.
 *
 * Invariant: a node is LINKING until all its edges are linked or one could not be; a backward
 * that meets it then leaves a mark (NODE_CUT) and the recorder severs it, so it is never half
 * linked.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "graph/life.h"

/* Sequences ascend along edges without a counter shared by threads. */
static EBB__THREAD_HOT uint64_t thread_clock;

static inline node *node_make(ebb_graph_space *space, uint32_t n_parents, ebb__pool_part *part,
                              const ebb_graph_payload *payload)
{
    static const ebb_graph_payload none;
    size_t bytes = node_bytes(n_parents);
    bool is_big = bytes > EBB__POOL_MAX;
    node *n =
        is_big ? ebb__graph_big_alloc(space, bytes) : ebb__pool_part_alloc_listed(part, bytes);
    if (!n) return NULL;
    if (!payload) payload = &none;
    atomic_init(&n->lock.held, 0);
    n->flags = (uint8_t)((space->single_threaded ? NODE_SINGLE : 0) | (is_big ? NODE_BIG : 0));
    n->marks = 0;
    atomic_init(&n->pins, 0);
    n->tag = payload->tag;
    n->n_parents = n_parents;
    n->mark_walk = 0;
    n->space = space;
    n->payload = payload->data;
    n->payload_free = payload->free;
    return n;
}

ebb_status ebb_graph_leaf_create(ebb_graph_node **out, ebb_graph_space *space,
                                 const ebb_graph_payload *payload)
{
    if (!out) return ebb__null_argument("ebb_graph_leaf_create", "out");
    if (!space) return ebb__null_argument("ebb_graph_leaf_create", "space");
    if (!space_is_ours(space)) return ebb__graph_space_refused(space);
    ebb__pool_part *part = ebb__pool_part_get(space->pool);
    node *leaf = node_make(space, 0, part, payload);
    if (!leaf) return ebb_error_status();
    atomic_init(&leaf->state, NODE_LEAF);
    atomic_init(&leaf->counts, LEAF_HANDLE);
    leaf->sequence = 0;
    ebb__pool_part_count(part, COUNT_LEAVES_CREATED, 1);
    *out = leaf;
    return EBB_OK;
}

/* Links edge e to its parent; false, with the parent's tombstone, where it is not LIVE. */
static inline bool edge_link(edge *e, ebb_graph_tombstone *tomb)
{
    node *p = e->parent;
    node_lock(p);
    bool is_live = node_state(p) == NODE_LIVE;
    if (is_live) {
        e->next = p->children;
        e->back = &p->children;
        if (e->next) e->next->back = &e->next;
        p->children = e;
        p->uses++;
    } else {
        tomb->tag = p->tomb_tag;
        tomb->number = p->tomb_number;
    }
    node_unlock(p);
    return is_live;
}

/* Ends LINKING; tomb is NULL where all edges were linked. A severer may have been here. */
static inline bool node_publish(node *n, const ebb_graph_tombstone *tomb)
{
    node_lock(n);
    bool is_live = !tomb && !(n->marks & NODE_CUT);
    node_state_set(n, is_live ? NODE_LIVE : NODE_SEVERED);
    if (!is_live) node_pin(n);
    if (tomb && !(n->marks & NODE_CUT)) {
        n->tomb_tag = tomb->tag;
        n->tomb_number = tomb->number;
    }
    node_unlock(n);
    return is_live;
}

static ebb_status parent_refused(const ebb_graph_edge *parents, uint32_t i)
{
    if (!parents[i].node) return ebb__null_argument("ebb_graph_node_record", "a parent");
    return ebb__fail(EBB_E_MISUSE, "parent %u belongs to another space", i);
}

/* How many interior parents, and the sequence of the child; UINT32_MAX: one was refused. */
static inline uint32_t parents_scan(uint64_t *sequence, uint32_t *refused,
                                    const ebb_graph_space *space, const ebb_graph_edge *parents,
                                    uint32_t n)
{
    uint64_t newest = thread_clock;
    uint32_t n_interior = 0;
    for (uint32_t i = 0; i < n; i++) {
        const node *p = parents[i].node;
        if (!p || p->space != space) {
            *refused = i;
            return UINT32_MAX;
        }
        if (p->sequence > newest) newest = p->sequence;
        n_interior += !node_is_leaf(p);
    }
    *sequence = newest + 1;
    return n_interior;
}

/* n is SEVERED, with a pin. Of its edges those to leaves were linked and the interior ones
 * before n_linked. */
static void born_severed(node *n, uint32_t n_linked, ebb__pool_part *part)
{
    ebb__pool_part_count(part, COUNT_CUT, 1);
    ebb__graph_enter();
    for (uint32_t i = 0; i < n->n_parents; i++)
        if (i < n_linked || node_is_leaf(n->edges[i].parent))
            ebb__graph_unlink_edge(&n->edges[i], part);
    ebb__pool_part_count(part, COUNT_EDGES, -(int64_t)n->n_parents);
    ebb__graph_unpin_last(n, 0, part);
    ebb__graph_leave();
}

/* Fills the edges and links those to leaves. Returns the index of the last interior one. */
static inline uint32_t edges_make(node *n, const ebb_graph_edge *parents, ebb__pool_part *part)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < n->n_parents; i++) {
        edge *e = &n->edges[i];
        e->parent = parents[i].node;
        e->output = parents[i].output;
        e->index = i;
        if (!node_is_leaf(e->parent))
            last = i;
        else if ((uint32_t)leaf_count(e->parent, 1) == 0)
            ebb__pool_part_count(part, COUNT_LEAVES_IN_USE, 1);
    }
    return last;
}

/* One interior parent: nobody can have reached n before its one link, so it is LIVE from there
 * on and LINKING is not needed. */
static inline void link_one(node *n, uint32_t i, ebb__pool_part *part)
{
    ebb_graph_tombstone tomb;
    atomic_init(&n->state, NODE_LIVE);
    if (edge_link(&n->edges[i], &tomb)) return;
    node_state_set(n, NODE_SEVERED);
    node_pin(n);
    n->tomb_tag = tomb.tag;
    n->tomb_number = tomb.number;
    born_severed(n, 0, part);
}

static void link_several(node *n, ebb__pool_part *part)
{
    ebb_graph_tombstone tomb;
    uint32_t i = 0;
    atomic_init(&n->state, NODE_LINKING);
    while (i < n->n_parents &&
           (node_is_leaf(n->edges[i].parent) || edge_link(&n->edges[i], &tomb)))
        i++;
    if (!node_publish(n, i == n->n_parents ? NULL : &tomb)) born_severed(n, i, part);
}

ebb_status ebb_graph_node_record(ebb_graph_node **out, ebb_graph_space *space,
                                 const ebb_graph_edge *parents, uint32_t n_parents,
                                 const ebb_graph_payload *payload)
{
    if (!out) return ebb__null_argument("ebb_graph_node_record", "out");
    if (!space) return ebb__null_argument("ebb_graph_node_record", "space");
    if (!parents) return ebb__null_argument("ebb_graph_node_record", "parents");
    if (!space_is_ours(space)) return ebb__graph_space_refused(space);
    if (n_parents == 0)
        return ebb__fail(EBB_E_MISUSE, "a node has at least one parent; 0 were given");
    uint64_t sequence = 0;
    uint32_t refused = 0;
    uint32_t n_interior = parents_scan(&sequence, &refused, space, parents, n_parents);
    if (n_interior == UINT32_MAX) return parent_refused(parents, refused);
    ebb__pool_part *part = ebb__pool_part_get(space->pool);
    node *n = node_make(space, n_parents, part, payload);
    if (!n) return ebb_error_status();
    thread_clock = sequence;
    n->uses = 1;
    n->mark = 0;
    n->sequence = sequence;
    n->children = NULL;
    ebb__pool_part_count(part, COUNT_CREATED, 1);
    ebb__pool_part_count(part, COUNT_EDGES, n_parents);
    uint32_t last = edges_make(n, parents, part);
    if (n_interior == 0)
        atomic_init(&n->state, NODE_LIVE);
    else if (n_interior == 1)
        link_one(n, last, part);
    else
        link_several(n, part);
    *out = n;
    return EBB_OK;
}

ebb_graph_node *ebb_graph_node_keep(ebb_graph_node *n)
{
    if (!n || !space_is_ours(n->space)) return n;
    if (node_is_leaf(n)) {
        leaf_count(n, LEAF_HANDLE);
        return n;
    }
    node_lock(n);
    n->uses++;
    node_unlock(n);
    return n;
}

void ebb_graph_node_release(ebb_graph_node *n)
{
    if (!n || !space_is_ours(n->space)) return;
    ebb__graph_enter();
    if (node_is_leaf(n))
        ebb__graph_leaf_drop(n, LEAF_HANDLE, ebb__pool_part_get(n->space->pool));
    else
        ebb__graph_use_drop(n);
    ebb__graph_leave();
}

ebb_graph_state ebb_graph_node_state(const ebb_graph_node *n)
{
    return n ? (ebb_graph_state)node_state(n) : (ebb_graph_state)0;
}

void *ebb_graph_node_payload(const ebb_graph_node *n)
{
    return n ? n->payload : NULL;
}

uint32_t ebb_graph_node_tag(const ebb_graph_node *n)
{
    return n ? n->tag : 0;
}

ebb_graph_tombstone ebb_graph_node_tombstone(const ebb_graph_node *n)
{
    ebb_graph_tombstone tomb = {0};
    node *locked = (node *)(uintptr_t)n; /* its lock is not part of its value */
    if (!n || node_is_leaf(n)) return tomb;
    node_lock(locked);
    unsigned state = node_state(n);
    if (state == NODE_SPENT || state == NODE_SEVERED) {
        tomb.tag = n->tomb_tag;
        tomb.number = n->tomb_number;
    }
    node_unlock(locked);
    return tomb;
}

uint32_t ebb__graph_n_parents(const ebb_graph_node *n)
{
    return n->n_parents;
}

ebb__graph_place ebb__graph_parent(const ebb_graph_node *n, uint32_t i)
{
    return (ebb__graph_place){.node = n->edges[i].parent, .output = n->edges[i].output};
}

void ebb__graph_leaf_lock(ebb_graph_node *leaf)
{
    node_lock(leaf);
}

void ebb__graph_leaf_unlock(ebb_graph_node *leaf)
{
    node_unlock(leaf);
}
