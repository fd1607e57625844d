/* walk.h - what the files of a walk share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAPH_WALK_H
#define EBB_GRAPH_WALK_H

#include "graph/node.h"

/* The refusal of root i, which is not LIVE. Calls tag_name: no lock is held. */
ebb_status ebb__graph_root_refused(const ebb_graph_space *space, int64_t i, const node *root);
/* Keeps the block for the next walk of the space, or frees it. */
void ebb__graph_walk_memory_give(ebb__graph_walk *w);
/* A block of the same extent; the walk's arrays move there, uninitialised, but root and input.
 */
ebb_status ebb__graph_walk_memory_again(ebb__graph_walk *w);

/* ---- order.c ---- */
ebb_status ebb__graph_walk_sort(ebb__graph_walk *w);
void ebb__graph_walk_filter(ebb__graph_walk *w, bool has_inputs,
                            bool (*only)(void *user, void *leaf_payload), void *user);

#endif
