/* life.c - how a node goes: uses and pins dropped, edges unlinked, what nobody can use freed.
 *
 * Invariants: whoever moves a node out of LIVE holds a pin on it until it has unlinked it.
 * Nodes that became useless wait in the thread's pending list, through `link`; the outermost
 * call works it off, so that neither depth of the graph nor releases inside free callbacks
 * recurse.
 * SPDX-License-Identifier: MIT */
#include "graph/life.h"

EBB__THREAD_HOT pending_list ebb__graph_pending;

static void leaf_free(node *leaf)
{
    if (leaf->payload_free) leaf->payload_free(leaf->payload);
    ebb__pool_part *part = ebb__pool_part_get(leaf->space->pool);
    ebb__pool_part_count(part, COUNT_LEAVES_FREED, 1);
    node_memory_free(leaf, part);
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

void *ebb__graph_payload_pin(ebb_graph_node *n)
{
    void *payload = NULL;
    node_lock(n);
    if (node_state(n) == NODE_LIVE) {
        node_pin(n);
        payload = n->payload;
    }
    node_unlock(n);
    return payload;
}

void ebb__graph_payload_unpin(ebb_graph_node *n)
{
    ebb__graph_enter();
    ebb__graph_unpin(n, ebb__pool_part_get(n->space->pool));
    ebb__graph_leave();
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
