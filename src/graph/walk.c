/* walk.c - the first phase of a backward: all interior ancestors of the roots, pinned and
 * sorted.
 *
 * Invariants: under a LIVE root with a handle all interior ancestors are LIVE and stay so while
 * the claim lock is held, so pinning them needs no node lock, and their link, mark and
 * mark_walk belong to the holder. A node's mark counts only with the mark_walk of the traversal
 * at hand: nothing is cleared afterwards. The ancestors of a node never change, so what was
 * counted once holds at the next try. Nothing is allocated and nobody called under the lock.
 * SPDX-License-Identifier: MIT */
#include "graph/walk_shared.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/size.h"

#include <string.h>

enum { SPARE_BYTES = 1 << 20 }; /* a block up to this size is kept for the next walk */

/* ---- memory of a walk -------------------------------------------------------------------- */

static size_t walk_layout(ebb__graph_walk *w, extent cap, char *base)
{
    size_t at = sizeof(walk_memory);
#define CARVE(field, n)                                                                        \
    do {                                                                                       \
        if (base) w->field = (void *)(base + at);                                              \
        at += (size_t)(n) * sizeof *w->field;                                                  \
        at = (at + 7) & ~(size_t)7;                                                            \
    } while (0)
    CARVE(nodes, cap.nodes);
    CARVE(leaves, cap.leaves);
    CARVE(first, cap.nodes + 1);
    CARVE(targets, cap.edges);
    CARVE(node_map, cap.nodes);
    CARVE(leaf_map, cap.leaves);
    CARVE(is_stop, cap.nodes);
    CARVE(root, w->n_roots);
    CARVE(input, w->n_inputs);
#undef CARVE
    return at;
}

static int64_t with_room(int64_t n)
{
    return n + n / 8 + 32;
}

/* Blocks that will be kept get some room, for the next walk may be a little larger. */
static ebb_status memory_make(ebb__graph_walk *w, extent *cap)
{
    extent roomy = {.nodes = with_room(cap->nodes),
                    .edges = with_room(cap->edges),
                    .leaves = with_room(cap->leaves)};
    size_t bytes = walk_layout(w, roomy, NULL);
    if (bytes <= SPARE_BYTES)
        *cap = roomy;
    else
        bytes = walk_layout(w, *cap, NULL);
    walk_memory *m = ebb__alloc(&w->space->allocator, bytes, 16);
    if (!m)
        return ebb__fail(EBB_E_NOMEM, "%zu bytes for a walk of the graph were refused", bytes);
    m->bytes = bytes;
    m->cap = *cap;
    w->memory = m;
    walk_layout(w, *cap, (char *)m);
    return EBB_OK;
}

static _Atomic(walk_memory *) *spare_of_thread(ebb_graph_space *space)
{
    return &space->spare[ebb__pool_part_get(space->pool)->number % WALK_SPARES].block;
}

/* The block of a walk before; a cap of zero where there is none that will do. */
static extent memory_reuse(ebb__graph_walk *w)
{
    walk_memory *m =
        atomic_exchange_explicit(spare_of_thread(w->space), NULL, memory_order_acquire);
    w->memory = m;
    if (!m || walk_layout(w, m->cap, NULL) > m->bytes) return (extent){0};
    walk_layout(w, m->cap, (char *)m);
    return m->cap;
}

ebb_status ebb__graph_walk_memory_again(ebb__graph_walk *w)
{
    const int32_t *root = w->root, *input = w->input;
    extent cap = {.nodes = w->n_nodes, .edges = w->n_edges, .leaves = w->n_leaves};
    EBB_TRY(memory_make(w, &cap));
    memcpy(w->root, root, (size_t)w->n_roots * sizeof *root);
    memcpy(w->input, input, (size_t)w->n_inputs * sizeof *input);
    return EBB_OK;
}

void ebb__graph_walk_memory_give(ebb__graph_walk *w)
{
    walk_memory *m = w->memory;
    w->memory = NULL;
    if (m && m->bytes <= SPARE_BYTES)
        m = atomic_exchange_explicit(spare_of_thread(w->space), m, memory_order_acq_rel);
    if (m) ebb__free(&w->space->allocator, m, m->bytes);
}

/* ---- traversal --------------------------------------------------------------------------- */

typedef struct visit {
    ebb__graph_walk *w;
    extent cap, n;
    uint64_t mark_walk;
    uint64_t last_sequence;
    uint64_t oldest; /* nothing wanted lies behind a node older than this */
    node **tail;     /* the queue runs through link */
    bool fits, is_sorted;
} visit;

static inline uint32_t visit_leaf(visit *v, node *leaf)
{
    if (leaf->mark_walk == v->mark_walk) return leaf->mark;
    leaf->mark_walk = v->mark_walk;
    leaf->mark = (uint32_t)v->n.leaves;
    if (v->n.leaves < v->cap.leaves)
        v->w->leaves[v->n.leaves] = leaf;
    else
        v->fits = false;
    v->n.leaves++;
    return leaf->mark;
}

static inline uint32_t visit_node(visit *v, node *n)
{
    if (n->mark_walk == v->mark_walk) return n->mark;
    EBB_ASSERT(node_state(n) == NODE_LIVE);
    n->mark_walk = v->mark_walk;
    n->mark = (uint32_t)v->n.nodes;
    n->link = NULL;
    *v->tail = n;
    v->tail = &n->link;
    if (n->sequence > v->last_sequence) v->is_sorted = false;
    v->last_sequence = n->sequence;
    if (v->n.nodes < v->cap.nodes)
        v->w->nodes[v->n.nodes] = n;
    else
        v->fits = false;
    v->n.nodes++;
    return n->mark;
}

static inline void visit_edges(visit *v, node *n)
{
    int64_t at = v->n.edges;
    uint32_t n_parents = n->sequence < v->oldest ? 0 : n->n_parents;
    v->n.edges += n_parents;
    if (v->n.edges > v->cap.edges) v->fits = false;
    if (v->fits) v->w->first[n->mark] = at;
    for (uint32_t i = 0; i < n_parents; i++, at++) {
        const edge *e = &n->edges[i];
        ebb__graph_target t = {.node = -1, .leaf = -1};
        if (node_is_leaf(e->parent)) {
            t.leaf = (int32_t)visit_leaf(v, e->parent);
        } else {
            t.node = (int32_t)visit_node(v, e->parent);
            t.output = e->output;
        }
        if (v->fits) v->w->targets[at] = t;
    }
}

static int32_t place_index(const visit *v, const node *n)
{
    unsigned state = node_state(n);
    if ((state != NODE_LIVE && state != NODE_LEAF) || n->mark_walk != v->mark_walk)
        return INT32_MIN;
    return state == NODE_LEAF ? -1 - (int32_t)n->mark : (int32_t)n->mark;
}

/* A node is newer than all before it: a walk to chosen nodes need not go on from what is older
 * than they are. Such parents of its own nodes it still meets, for a walk that keeps holds them. */
static uint64_t oldest_wanted(const ebb__graph_place *inputs, int64_t n_inputs)
{
    uint64_t oldest = n_inputs > 0 ? UINT64_MAX : 0;
    for (int64_t i = 0; i < n_inputs; i++) {
        uint64_t sequence = node_is_leaf(inputs[i].node) ? 0 : inputs[i].node->sequence;
        if (sequence < oldest) oldest = sequence;
    }
    return oldest;
}

/* Under the claim lock. Returns the first root that is not LIVE, or -1. */
static int64_t traverse(visit *v, const ebb__graph_place *roots)
{
    ebb__graph_walk *w = v->w;
    for (int64_t i = 0; i < w->n_roots; i++) {
        unsigned state = node_state(roots[i].node);
        if (state != NODE_LIVE && state != NODE_LEAF) return i;
    }
    v->mark_walk = ++w->space->walk_mark;
    node *queue = NULL;
    v->tail = &queue;
    v->last_sequence = UINT64_MAX;
    v->is_sorted = true;
    for (int64_t i = 0; i < w->n_roots; i++) {
        node *n = roots[i].node;
        if (node_is_leaf(n))
            visit_leaf(v, n);
        else
            visit_node(v, n);
    }
    for (node *n = queue; n; n = n->link) visit_edges(v, n);
    return -1;
}

/* Under the claim lock, when everything fits: what was found is held from now on. Where h is
 * given and the order is right already, the nodes are claimed in the same pass. */
static void seize(visit *v, const ebb__graph_place *roots, const ebb__graph_place *inputs,
                  haul *h)
{
    ebb__graph_walk *w = v->w;
    w->n_nodes = w->n_nodes_held = v->n.nodes;
    w->n_leaves = w->n_leaves_held = v->n.leaves;
    w->n_edges = v->n.edges;
    w->first[w->n_nodes] = w->n_edges;
    for (int64_t i = 0; i < w->n_roots; i++) w->root[i] = place_index(v, roots[i].node);
    for (int64_t i = 0; i < w->n_inputs; i++) w->input[i] = place_index(v, inputs[i].node);
    for (int64_t i = 0; i < w->n_leaves; i++) leaf_count(w->leaves[i], LEAF_HANDLE);
    memset(w->is_stop, 0, (size_t)w->n_nodes * sizeof *w->is_stop);
    if (h && v->is_sorted)
        ebb__graph_claim_locked(w, h, false);
    else
        for (int64_t i = 0; i < w->n_nodes; i++) node_pin(w->nodes[i]);
}

ebb_status ebb__graph_root_refused(const ebb_graph_space *space, int64_t i, const node *root)
{
    ebb_graph_tombstone tomb = ebb_graph_node_tombstone(root);
    const char *name = space->tag_name ? space->tag_name(space->user, tomb.tag) : NULL;
    char number[32];
    snprintf(number, sizeof number, "operation %u", tomb.tag);
    if (!name) name = number;
    if (ebb_graph_node_state(root) == EBB_GRAPH_SPENT)
        return ebb__fail(EBB_E_GRAPH, "root %lld (%s) was consumed by backward %llu",
                         (long long)i, name, (unsigned long long)tomb.number);
    if (ebb_graph_node_state(root) == EBB_GRAPH_SEVERED)
        return ebb__fail(EBB_E_GRAPH, "root %lld depends on %s, which backward %llu consumed",
                         (long long)i, name, (unsigned long long)tomb.number);
    return ebb__fail(EBB_E_MISUSE, "root %lld was released", (long long)i);
}

static ebb_status places_check(ebb_graph_space **space, const ebb__graph_place *roots,
                               int64_t n_roots, const ebb__graph_place *inputs,
                               int64_t n_inputs)
{
    if (n_roots < 1)
        return ebb__fail(EBB_E_MISUSE, "%lld roots; at least 1 is needed", (long long)n_roots);
    *space = roots[0].node->space;
    for (int64_t i = 1; i < n_roots; i++)
        if (roots[i].node->space != *space)
            return ebb__fail(EBB_E_MISUSE, "root %lld belongs to another space than root 0",
                             (long long)i);
    for (int64_t i = 0; inputs && i < n_inputs; i++)
        if (inputs[i].node->space != *space)
            return ebb__fail(EBB_E_MISUSE, "input %lld belongs to another space than the root",
                             (long long)i);
    return space_is_ours(*space) ? EBB_OK : ebb__graph_space_refused(*space);
}

/* At most two tries: the first counts where its block does not fit. */
static ebb_status collect(ebb__graph_walk *w, const ebb__graph_place *roots,
                          const ebb__graph_place *inputs, haul *h, bool *is_sorted)
{
    extent cap = memory_reuse(w);
    for (;;) {
        visit v = {.w = w,
                   .cap = cap,
                   .fits = cap.nodes > 0,
                   .oldest = oldest_wanted(inputs, w->n_inputs)};
        claim_take(w->space);
        int64_t refused = traverse(&v, roots);
        if (refused < 0 && v.fits) seize(&v, roots, inputs, h);
        claim_give(w->space);
        if (refused >= 0)
            return ebb__graph_root_refused(w->space, refused, roots[refused].node);
        *is_sorted = v.is_sorted;
        if (v.fits) return EBB_OK;
        ebb__graph_walk_memory_give(w);
        if (v.n.nodes >= INT32_MAX || v.n.leaves >= INT32_MAX)
            return ebb__fail(EBB_E_RANGE,
                             "a walk of %lld nodes; at most 2^31 - 2 are supported",
                             (long long)v.n.nodes);
        cap = v.n;
        if (cap.nodes == 0) cap.nodes = 1; /* a root that is a leaf; tells a block from none */
        EBB_TRY(memory_make(w, &cap));
    }
}

static ebb_status begin(ebb__graph_walk *w, const ebb__graph_place *roots,
                        const ebb__graph_place *inputs, haul *h)
{
    EBB_TRY(places_check(&w->space, roots, w->n_roots, inputs, w->n_inputs));
    bool is_sorted = true;
    ebb_status s = collect(w, roots, inputs, h, &is_sorted);
    if (s != EBB_OK) {
        ebb__graph_walk_memory_give(w);
        return s;
    }
    if (!is_sorted) s = ebb__graph_walk_sort(w);
    if (s != EBB_OK) ebb__graph_walk_end(w);
    return s;
}

ebb_status ebb__graph_walk_begin(ebb__graph_walk *out, const ebb__graph_place *roots,
                                 int64_t n_roots, const ebb__graph_place *inputs,
                                 int64_t n_inputs, bool (*only)(void *user, void *leaf_payload),
                                 void *user, bool keep)
{
    ebb__graph_walk w = {.keep = keep, .n_roots = n_roots, .n_inputs = inputs ? n_inputs : 0};
    EBB_TRY(begin(&w, roots, inputs, NULL));
    if (inputs || only) ebb__graph_walk_filter(&w, inputs != NULL, only, user);
    *out = w;
    return EBB_OK;
}

ebb_status ebb__graph_walk_begin_claimed(ebb__graph_walk *out, const ebb__graph_place *roots,
                                         int64_t n_roots)
{
    ebb__graph_walk w = {.n_roots = n_roots};
    haul h = {0};
    EBB_TRY(begin(&w, roots, NULL, &h));
    if (w.claimed) ebb__graph_claim_finish(&w, &h);
    *out = w;
    return EBB_OK;
}
