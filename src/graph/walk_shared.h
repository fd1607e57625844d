/* walk_shared.h - what the files of a walk share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAPH_WALK_SHARED_H
#define EBB_GRAPH_WALK_SHARED_H

#include "graph/node.h"

/* The refusal of root i, which is not LIVE. Calls tag_name: no lock is held. */
ebb_status ebb__graph_root_refused(const ebb_graph_space *space, int64_t i, const node *root);
/* Keeps the block for the next walk of the space, or frees it. */
void ebb__graph_walk_memory_give(ebb__graph_walk *w);
/* A block of the same extent; the walk's arrays move there, uninitialised, but root and input.
 */
ebb_status ebb__graph_walk_memory_again(ebb__graph_walk *w);

/* ---- claim.c ---- */
/* What a claim has taken over: child edges, each with a pin on its node, and the nodes severed.
 */
typedef struct haul {
    edge *edges, **last;
    node *severed, **last_severed;
    int64_t n_spent, n_severed;
    uint32_t tag;
    uint64_t number;
} haul;
/* Under the claim lock, the walk's roots LIVE: spends and severs. */
void ebb__graph_claim_locked(ebb__graph_walk *w, haul *h, bool has_pins);
/* After it. */
void ebb__graph_claim_finish(ebb__graph_walk *w, const haul *h);
ebb_status ebb__graph_walk_visit(ebb__graph_walk *w, const ebb_graph_visitor *visitor);

/* As ebb__graph_walk_begin, and claims at once where that needs no second look at the graph. */
ebb_status ebb__graph_walk_begin_claimed(ebb__graph_walk *out, const ebb__graph_place *roots,
                                         int64_t n_roots);

/* ---- walk_order.c ---- */
ebb_status ebb__graph_walk_sort(ebb__graph_walk *w);
void ebb__graph_walk_filter(ebb__graph_walk *w, bool has_inputs,
                            bool (*only)(void *user, void *leaf_payload), void *user);

#endif
