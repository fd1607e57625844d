/* walk_order.c - a walk's nodes sorted by descending sequence, and reduced to what is wanted.
 *
 * Invariants: no lock is held here; the walk's pins keep nodes and leaves. Sorting is stable
 * (equal sequences keep the order of discovery, so a program's sums have one order). After
 * sorting a target's index is greater than that of the node it belongs to.
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/error.h"
#include "graph/life.h"
#include "graph/walk_shared.h"

#include <string.h>

enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS };

typedef struct sort_item {
    uint64_t key; /* newest sequence - sequence: ascending keys are descending sequences */
    int32_t index, pad;
} sort_item;

/* Least significant digit first, as many digits as the greatest key has. Returns the sorted
 * half. */
static sort_item *sort_items(sort_item *a, sort_item *b, int64_t n, uint64_t greatest)
{
    uint32_t start[RADIX];
    for (unsigned shift = 0; shift < 64 && greatest >> shift; shift += RADIX_BITS) {
        memset(start, 0, sizeof start);
        for (int64_t i = 0; i < n; i++) start[(a[i].key >> shift) & (RADIX - 1)]++;
        uint32_t sum = 0;
        for (int d = 0; d < RADIX; d++) {
            uint32_t count = start[d];
            start[d] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) b[start[(a[i].key >> shift) & (RADIX - 1)]++] = a[i];
        sort_item *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* Moves nodes and targets into the new block in the sorted order. */
static void sorted_copy(ebb__graph_walk *w, const ebb__graph_walk *old, const sort_item *order,
                        int32_t *rank)
{
    int64_t at = 0;
    for (int64_t i = 0; i < w->n_nodes; i++) rank[order[i].index] = (int32_t)i;
    for (int64_t i = 0; i < w->n_nodes; i++) {
        int32_t from = order[i].index;
        w->nodes[i] = old->nodes[from];
        w->first[i] = at;
        for (int64_t j = old->first[from]; j < old->first[from + 1]; j++) {
            ebb__graph_target t = old->targets[j];
            if (t.node >= 0) t.node = rank[t.node];
            w->targets[at++] = t;
        }
    }
    w->first[w->n_nodes] = at;
    memcpy(w->leaves, old->leaves, (size_t)w->n_leaves * sizeof *w->leaves);
    memset(w->is_stop, 0, (size_t)w->n_nodes * sizeof *w->is_stop);
    for (int64_t i = 0; i < w->n_roots; i++)
        if (w->root[i] >= 0) w->root[i] = rank[w->root[i]];
    for (int64_t i = 0; i < w->n_inputs; i++)
        if (w->input[i] >= 0) w->input[i] = rank[w->input[i]];
}

ebb_status ebb__graph_walk_sort(ebb__graph_walk *w)
{
    const ebb_allocator *a = &w->space->allocator;
    size_t n = (size_t)w->n_nodes, bytes = 2 * n * sizeof(sort_item);
    sort_item *items = ebb__alloc(a, bytes, 16);
    if (!items)
        return ebb__fail(EBB_E_NOMEM, "%zu bytes for ordering %zu nodes were refused", bytes,
                         n);
    uint64_t newest = 0, oldest = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        uint64_t sequence = w->nodes[i]->sequence;
        if (sequence > newest) newest = sequence;
        if (sequence < oldest) oldest = sequence;
    }
    for (size_t i = 0; i < n; i++)
        items[i] = (sort_item){.key = newest - w->nodes[i]->sequence, .index = (int32_t)i};
    sort_item *order = sort_items(items, items + n, w->n_nodes, newest - oldest);
    ebb__graph_walk old = *w;
    ebb_status s = ebb__graph_walk_memory_again(w);
    if (s == EBB_OK) {
        sorted_copy(w, &old, order, (int32_t *)(order == items ? items + n : items));
        ebb__graph_walk_memory_give(&old);
    }
    ebb__free(a, items, bytes);
    return s;
}

/* ---- reduction to what is wanted --------------------------------------------------------- */

/* is_stop[i] = node i is an input; leaf_map = 0 where a leaf is wanted, else -1. */
static void want(ebb__graph_walk *w, bool has_inputs, bool (*only)(void *user, void *payload),
                 void *user)
{
    for (int64_t l = 0; l < w->n_leaves; l++) {
        bool is_wanted = !has_inputs && only(user, w->leaves[l]->payload);
        w->leaf_map[l] = is_wanted ? 0 : -1;
    }
    for (int64_t i = 0; has_inputs && i < w->n_inputs; i++) {
        if (w->input[i] >= 0)
            w->is_stop[w->input[i]] = true;
        else if (w->input[i] != INT32_MIN)
            w->leaf_map[-1 - w->input[i]] = 0;
    }
}

/* node_map[i] = 0 where something wanted is reached from node i through its edges, else -1. */
static void reach(ebb__graph_walk *w)
{
    for (int64_t i = w->n_nodes; i-- > 0;) {
        w->node_map[i] = -1;
        for (int64_t j = w->first[i]; j < w->first[i + 1]; j++) {
            ebb__graph_target t = w->targets[j];
            if (t.leaf >= 0 ? w->leaf_map[t.leaf] == 0
                            : w->node_map[t.node] == 0 || w->is_stop[t.node]) {
                w->node_map[i] = 0;
                break;
            }
        }
    }
}

/* The maps become new indices; what is not wanted is let go, but not by a walk that keeps: a
 * rule of it may take its parents' histories. */
static void renumber(ebb__graph_walk *w)
{
    int32_t n = 0, n_leaves = 0;
    ebb__pool_part *part = ebb__pool_part_get(w->space->pool);
    for (int64_t i = 0; i < w->n_nodes; i++) {
        bool reaches = w->node_map[i] == 0;
        if (reaches || w->is_stop[i]) {
            w->is_stop[i] = !reaches;
            w->node_map[i] = n++;
        } else if (!w->keep) {
            ebb__graph_unpin(w->nodes[i], part);
        }
    }
    for (int64_t l = 0; l < w->n_leaves; l++) {
        node *leaf = w->leaves[l];
        if (w->leaf_map[l] == 0) {
            w->leaf_map[l] = n_leaves;
            w->leaves[l] = w->leaves[n_leaves];
            w->leaves[n_leaves++] = leaf;
        } else if (!w->keep) {
            ebb__graph_leaf_drop(leaf, LEAF_HANDLE, part);
        }
    }
    w->n_leaves = n_leaves;
    if (!w->keep) w->n_leaves_held = n_leaves;
}

static int32_t place_map(const ebb__graph_walk *w, int32_t place)
{
    if (place == INT32_MIN) return place;
    if (place >= 0) return w->node_map[place] < 0 ? INT32_MIN : w->node_map[place];
    int32_t leaf = w->leaf_map[-1 - place];
    return leaf < 0 ? INT32_MIN : -1 - leaf;
}

/* In place: what is wanted moves towards the front, by swaps, so that the rest stays behind it.
 */
static void compact(ebb__graph_walk *w)
{
    int64_t n = 0, at = 0;
    for (int64_t i = 0; i < w->n_nodes; i++) {
        if (w->node_map[i] < 0) continue;
        int64_t from = w->first[i], to = w->first[i + 1];
        node *wanted = w->nodes[i];
        w->nodes[i] = w->nodes[n];
        w->nodes[n] = wanted;
        w->is_stop[n] = w->is_stop[i];
        w->first[n] = at;
        for (int64_t j = from; j < to; j++) {
            ebb__graph_target t = w->targets[j];
            if (t.node >= 0) t.node = w->is_stop[n] ? -1 : w->node_map[t.node];
            if (t.leaf >= 0) t.leaf = w->is_stop[n] ? -1 : w->leaf_map[t.leaf];
            w->targets[at++] = t;
        }
        n++;
    }
    w->first[n] = at;
    w->n_nodes = n;
    if (!w->keep) w->n_nodes_held = n;
    for (int64_t i = 0; i < w->n_roots; i++) w->root[i] = place_map(w, w->root[i]);
    for (int64_t i = 0; i < w->n_inputs; i++) w->input[i] = place_map(w, w->input[i]);
}

void ebb__graph_walk_filter(ebb__graph_walk *w, bool has_inputs,
                            bool (*only)(void *user, void *leaf_payload), void *user)
{
    want(w, has_inputs, only, user);
    reach(w);
    ebb__graph_enter();
    renumber(w);
    compact(w);
    ebb__graph_leave();
}
