/* inspect.h - looking into records and graphs that are at rest: what is saved, by whom.
 *
 * Nothing here computes, allocates or changes what is alive.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_INSPECT_H
#define EBB_AUTODIFF_INSPECT_H

#include "autodiff/recording.h"

/* One save of a record. */
typedef struct ebb__save {
    ebb__value *value;
    const ebb__layout *layout;
    int32_t index; /* of the input, or of the output; by-products follow the outputs */
    bool is_output;
} ebb__save;
/* The next one: *at begins at 0. False at the end. */
bool ebb__save_next(ebb__save *out, const ebb__record *r, uint32_t *at);
/* Whether r saves v. */
bool ebb__record_saves(const ebb__record *r, const ebb__value *v);
/* File and line where the application was called; NULL and 0 where not known. */
void ebb__record_site_get(const char **file, int32_t *line, const ebb__record *r);

/* Each node of the graph that ctx shares: record of a live one, leaf of a leaf, else both NULL;
 * while no other call is in progress. */
typedef void (*ebb__node_fn)(void *user, ebb_graph_node *node, ebb__record *record,
                             ebb__leaf *leaf);
void ebb__nodes_each(ebb_context *ctx, ebb__node_fn each, void *user);
/* Whether a walk that keeps has met the node, or the leaf; it need not exist any more. */
bool ebb__walk_has(const ebb__graph_walk *w, const ebb_graph_node *n);
/* Finds the head of each live node of the graph: the end of the shortest chain from it, by way of
 * what was computed from it, to a node that has a handle. While no other call is in progress. */
void ebb__heads_find(ebb_context *ctx);
/* After that: the head, NULL where there is none, and the nodes on the way, both ends included. */
ebb_graph_node *ebb__head_of(const ebb_graph_node *n, int64_t *n_links);
/* Then, when heads are no longer asked for: a place at a head for a note, at first the head. */
void **ebb__head_note(ebb_graph_node *head);
/* Given at record time: with the address it tells one node from all others. */
uint64_t ebb__node_sequence(const ebb_graph_node *node);

#endif
