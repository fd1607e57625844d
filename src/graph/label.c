/* label.c - names that users give to nodes.
 *
 * Invariants: a node with a label has NODE_LABELLED and one entry here, which goes with the
 * node, so the table holds nothing of nodes that are gone. Labels are few: a fixed number of
 * buckets.
 * SPDX-License-Identifier: MIT */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("Os") /* nobody waits for these; the library has a size to keep */
#endif

#include "base/alloc.h"
#include "base/error.h"
#include "graph/node.h"

#include <string.h>

enum { BUCKETS = 256 };

typedef struct label {
    struct label *next;
    const node *node;
    size_t bytes;
    char text[];
} label;

static size_t bucket_of(const node *n)
{
    return (size_t)(((uintptr_t)n >> 4) * 0x9E3779B97F4A7C15u >> 56) % BUCKETS;
}

/* Under label_lock: what points at the node's entry, or at the end of its bucket. */
static label **label_find(ebb_graph_space *space, const node *n)
{
    label **at = &space->labels[bucket_of(n)];
    while (*at && (*at)->node != n) at = &(*at)->next;
    return at;
}

static label *label_swap(ebb_graph_space *space, const node *n, label *fresh)
{
    ebb__lock_take(&space->label_lock);
    label **at = label_find(space, n), *before = *at;
    if (before) *at = before->next;
    if (fresh) {
        fresh->next = *at;
        *at = fresh;
    }
    ebb__lock_give(&space->label_lock);
    return before;
}

static ebb_status table_make(ebb_graph_space *space)
{
    size_t bytes = BUCKETS * sizeof(label *);
    label **table = ebb__alloc(&space->allocator, bytes, 16);
    if (!table) return ebb__fail(EBB_E_NOMEM, "%zu bytes for labels were refused", bytes);
    memset(table, 0, bytes);
    ebb__lock_take(&space->label_lock);
    label **mine = space->labels ? table : NULL; /* another thread was first */
    if (!mine) space->labels = table;
    ebb__lock_give(&space->label_lock);
    ebb__free(&space->allocator, mine, bytes);
    return EBB_OK;
}

static bool has_table(ebb_graph_space *space)
{
    ebb__lock_take(&space->label_lock);
    bool has = space->labels != NULL;
    ebb__lock_give(&space->label_lock);
    return has;
}

ebb_status ebb_graph_label_set(ebb_graph_node *n, const char *text)
{
    if (!n) return ebb__null_argument("ebb_graph_label_set", "node");
    ebb_graph_space *space = n->space;
    if (!space_is_ours(space)) return ebb__graph_space_refused(space);
    label *fresh = NULL;
    if (!has_table(space)) {
        if (!text) return EBB_OK;
        EBB_TRY(table_make(space));
    }
    if (text) {
        size_t bytes = sizeof *fresh + strlen(text) + 1;
        fresh = ebb__alloc(&space->allocator, bytes, 16);
        if (!fresh) return ebb__fail(EBB_E_NOMEM, "%zu bytes for a label were refused", bytes);
        fresh->node = n;
        fresh->bytes = bytes;
        memcpy(fresh->text, text, bytes - sizeof *fresh);
    }
    label *before = label_swap(space, n, fresh);
    node_lock(n);
    n->marks = (uint8_t)(text ? n->marks | NODE_LABELLED : n->marks & ~NODE_LABELLED);
    node_unlock(n);
    if (before) ebb__free(&space->allocator, before, before->bytes);
    return EBB_OK;
}

const char *ebb_graph_label(const ebb_graph_node *n)
{
    if (!n || !(n->marks & NODE_LABELLED)) return NULL;
    ebb__lock_take(&n->space->label_lock);
    const label *found = *label_find(n->space, n);
    ebb__lock_give(&n->space->label_lock);
    return found ? found->text : NULL;
}

void ebb__graph_label_drop(node *n)
{
    label *before = label_swap(n->space, n, NULL);
    if (before) ebb__free(&n->space->allocator, before, before->bytes);
}

void ebb__graph_labels_free(ebb_graph_space *space)
{
    if (!space->labels) return;
    for (int i = 0; i < BUCKETS; i++) {
        for (label *l = space->labels[i], *next; l; l = next) {
            next = l->next;
            ebb__free(&space->allocator, l, l->bytes);
        }
    }
    ebb__free(&space->allocator, space->labels, BUCKETS * sizeof(label *));
}
