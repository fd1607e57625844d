/* explain.c - counts, why a node is alive, and what a backward would do.
 *
 * Invariant: apart from the counts these look at a quiet space, so child lists need no locks; a
 * visit is marked as walks mark theirs, with a number of its own.
 * SPDX-License-Identifier: MIT */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("Os") /* nobody waits for these; the library has a size to keep */
#endif

#include "base/alloc.h"
#include "base/error.h"
#include "graph/node.h"

#include <string.h>

void ebb_graph_stats_get(ebb_graph_stats *out, const ebb_graph_space *space)
{
    int64_t c[COUNT_EDGES + 1];
    ebb__pool_stats pool;
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (!space) return;
    ebb__pool_stats_get(&pool, space->pool);
    for (unsigned i = 0; i <= COUNT_EDGES; i++) c[i] = ebb__pool_count(space->pool, i);
    *out = (ebb_graph_stats){
        .live = c[COUNT_CREATED] - c[COUNT_CONSUMED] - c[COUNT_CUT] - c[COUNT_DIED],
        .spent = c[COUNT_CONSUMED] - c[COUNT_FREED_SPENT],
        .severed = c[COUNT_CUT] - c[COUNT_FREED_SEVERED],
        .leaves = c[COUNT_LEAVES_CREATED] - c[COUNT_LEAVES_FREED],
        .leaves_in_use = c[COUNT_LEAVES_IN_USE],
        .edges = c[COUNT_EDGES],
        .nodes_created = c[COUNT_CREATED],
        .nodes_freed = c[COUNT_FREED_SPENT] + c[COUNT_FREED_SEVERED] + c[COUNT_FREED_DEAD],
        .leaves_created = c[COUNT_LEAVES_CREATED],
        .leaves_freed = c[COUNT_LEAVES_FREED],
        .nodes_consumed = c[COUNT_CONSUMED],
        .nodes_severed = c[COUNT_CUT],
        .object_bytes = pool.object_bytes,
        .memory_bytes = pool.slab_bytes};
    ebb_graph_space *locked =
        (ebb_graph_space *)(uintptr_t)space; /* its lock is no part of it */
    claim_take(locked);
    out->backwards = (int64_t)space->n_backwards;
    claim_give(locked);
}

int64_t ebb_graph_node_handles(const ebb_graph_node *n)
{
    if (!n) return 0;
    if (node_is_leaf(n))
        return (int64_t)(atomic_load_explicit(&n->counts, memory_order_relaxed) >> 32);
    int64_t handles = n->uses;
    if (node_state(n) == NODE_LIVE)
        for (const edge *e = n->children; e; e = e->next) handles--;
    return handles;
}

/* ---- a search: nodes in the order found, each with the one it was found from ------------- */

typedef struct found {
    node *node;
    int64_t from;
} found;

typedef struct search {
    ebb_graph_space *space;
    uint64_t mark_walk;
    found *list;
    int64_t n, size;
    const node *leaf; /* whose users are looked for, one by one */
    ebb_status status;
} search;

static void search_add(search *s, node *n, int64_t from)
{
    if (n->mark_walk == s->mark_walk || s->status != EBB_OK) return;
    if (s->n == s->size) {
        size_t old = (size_t)s->size * sizeof *s->list,
               bytes = old ? 2 * old : 64 * sizeof(found);
        found *list = ebb__alloc(&s->space->allocator, bytes, 16);
        if (!list) {
            s->status = ebb__fail(EBB_E_NOMEM, "%zu bytes for a search were refused", bytes);
            return;
        }
        if (old) memcpy(list, s->list, old);
        ebb__free(&s->space->allocator, s->list, old);
        s->list = list;
        s->size = (int64_t)(bytes / sizeof *list);
    }
    n->mark_walk = s->mark_walk;
    s->list[s->n++] = (found){.node = n, .from = from};
}

static void search_end(search *s)
{
    ebb__free(&s->space->allocator, s->list, (size_t)s->size * sizeof *s->list);
}

static void leaf_user_add(void *user, node *n)
{
    search *s = user;
    if (node_state(n) != NODE_LIVE) return;
    for (uint32_t i = 0; i < n->n_parents; i++)
        if (n->edges[i].parent == s->leaf) search_add(s, n, 0);
}

static void children_add(search *s, node *n, int64_t at)
{
    if (node_state(n) != NODE_LIVE) return;
    for (edge *e = n->children; e; e = e->next) search_add(s, edge_node(e), at);
}

ebb_status ebb_graph_explain(ebb_graph_reason *chain, int64_t size, int64_t *n_out,
                             ebb_graph_node *n)
{
    if (!n) return ebb__null_argument("ebb_graph_explain", "node");
    if (!n_out) return ebb__null_argument("ebb_graph_explain", "n_out");
    if (size > 0 && !chain) return ebb__null_argument("ebb_graph_explain", "chain");
    if (!space_is_ours(n->space)) return ebb__graph_space_refused(n->space);
    search s = {.space = n->space, .mark_walk = ++n->space->walk_mark, .leaf = n};
    search_add(&s, n, -1);
    int64_t at = 0;
    while (s.status == EBB_OK && at < s.n && ebb_graph_node_handles(s.list[at].node) == 0) {
        if (at == 0 && node_is_leaf(n)) ebb__graph_each(s.space, leaf_user_add, &s);
        children_add(&s, s.list[at].node, at);
        at++;
    }
    int64_t length = 0;
    if (s.status == EBB_OK && at < s.n) {
        for (int64_t i = at; i >= 0; i = s.list[i].from, length++) {
            node *member = s.list[i].node;
            if (length < size)
                chain[length] = (ebb_graph_reason){.node = member,
                                                   .n_handles = ebb_graph_node_handles(member),
                                                   .tag = member->tag,
                                                   .label = ebb_graph_label(member)};
        }
    }
    if (s.status == EBB_OK) *n_out = length;
    search_end(&s);
    return s.status;
}

ebb_status ebb_graph_forecast_get(ebb_graph_forecast *out, const ebb_graph_edge *roots,
                                  int64_t n_roots, const ebb_graph_node *asked)
{
    if (!out) return ebb__null_argument("ebb_graph_forecast_get", "out");
    if (!roots || n_roots < 1) return ebb__null_argument("ebb_graph_forecast_get", "roots");
    for (int64_t i = 0; i < n_roots; i++)
        if (!roots[i].node) return ebb__null_argument("ebb_graph_forecast_get", "a root");
    ebb__graph_walk w;
    EBB_TRY(ebb__graph_walk_begin(&w, roots, n_roots, NULL, 0, NULL, NULL, true));
    ebb_graph_forecast f = {.n_spent = w.n_nodes};
    search s = {.space = w.space, .mark_walk = ++w.space->walk_mark};
    for (int64_t i = 0; i < w.n_nodes; i++) search_add(&s, w.nodes[i], -1);
    for (int64_t at = 0; s.status == EBB_OK && at < s.n; at++) {
        node *n = s.list[at].node;
        children_add(&s, n, at);
        if (n == asked) f.severs_node = true;
        if (at >= w.n_nodes) {
            f.n_severed++;
            f.n_severed_held += ebb_graph_node_handles(n) > 0;
        }
    }
    search_end(&s);
    ebb__graph_walk_end(&w);
    if (s.status == EBB_OK) *out = f;
    return s.status;
}
