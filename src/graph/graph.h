/* graph.h - the graph layer as the engine sees it: record, keep, release, and a backward as a
 * walk.
 *
 * The public face of the same thing is ebb/graph.h; ebb_graph_consume is built on the walk
 * below. Invariant: a live node has only live interior ancestors. Protocol: docs/graph.md.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAPH_GRAPH_H
#define EBB_GRAPH_GRAPH_H

#include "base/pool.h"

#include <ebb/graph.h>

/* The space takes its nodes from `pool`, which must outlive it. */
ebb_status ebb__graph_space_create(ebb_graph_space **out, ebb__pool *pool,
                                   const ebb_graph_space_options *options);

/* ---- a backward, step by step -------------------------------------------------------------
 *
 * begin pins every interior ancestor of the roots (phase 1), sorted newest first, and tells
 * which leaves are reached. The caller then checks what it must (phase 2, no lock held) and
 * either ends the walk, and nothing has changed, or claims it (phases 3 and 4: nodes spent,
 * descendants outside severed and their payloads freed). It then handles node 0, 1, ... in
 * order, calling _done after each, which frees that node's payload where the walk consumes. end
 * gives back every pin left; it is safe at any point. Claiming allocates nothing and fails only
 * if another walk was first. */

/* Where an edge of a walked node leads. */
typedef struct ebb__graph_target {
    int32_t node;    /* index of an interior node in this walk, -1 if none */
    int32_t leaf;    /* index into leaves, -1 if none; both -1: not wanted by this walk */
    uint32_t output; /* the parent's output that the edge reads; 0 for a leaf */
} ebb__graph_target;

typedef struct ebb__graph_walk {
    ebb_graph_space *space;
    int64_t n_nodes, n_leaves;
    ebb_graph_node **nodes;     /* pinned, in descending sequence */
    ebb_graph_node **leaves;    /* pinned; distinct */
    ebb__graph_target *targets; /* of node i: targets[first[i]] ... , one per tracked parent */
    int64_t *first;             /* n_nodes + 1 entries */
    int32_t *root;              /* per root given: its index in nodes, or -1 - index in leaves;
                                   INT32_MIN: it leads to nothing that is wanted */
    int32_t *input;             /* per chosen input: the same; INT32_MIN: no path from any root.
                                   An input that is an interior node which is itself not on the way
                                   to another input is in `nodes` of no rule: see is_stop */
    bool *is_stop;              /* per node: gradient arrives here and goes no further (a chosen
                                   input not on the path to another); not consumed, no rule runs */
    bool keep;
    /* private to walk.c and claim.c from here */
    int64_t n_edges, n_roots, n_inputs;
    int64_t n_nodes_held,
        n_leaves_held; /* more where it keeps: what is not wanted stays held */
    int64_t n_done, n_unlinked;
    bool claimed;
    uint64_t number;              /* of this backward, for tombstones */
    int32_t *node_map, *leaf_map; /* new indices while filtering, then uses to be given back */
    void *memory;
} ebb__graph_walk;

/* A place in the graph: output `output` of `node`, or a leaf. */
typedef ebb_graph_edge ebb__graph_place;

/* The caller holds handles on roots and inputs until the walk has been claimed (or, where it
 * keeps, until begin has returned). inputs NULL: every leaf reached. `only`, if not NULL and
 * inputs is, says for each leaf reached whether it is wanted (then nodes from which no wanted
 * leaf is reached are left out); called without locks. Errors: E_GRAPH a root is spent or
 * severed (the message names the tombstone's tag through options.tag_name of the space);
 * E_MISUSE roots of different spaces; E_NOMEM. */
ebb_status ebb__graph_walk_begin(ebb__graph_walk *out, const ebb__graph_place *roots,
                                 int64_t n_roots, const ebb__graph_place *inputs,
                                 int64_t n_inputs, bool (*only)(void *user, void *leaf_payload),
                                 void *user, bool keep);
/* E_GRAPH if another backward was first: nothing has changed. No-op when the walk keeps. */
ebb_status ebb__graph_walk_claim(ebb__graph_walk *walk);
/* Node i has been handled; i ascends by one from 0. */
void ebb__graph_walk_done(ebb__graph_walk *walk, int64_t i);
void ebb__graph_walk_end(ebb__graph_walk *walk);

/* Parents of a node in order of recording. In a walk that keeps, those of its nodes may be kept
 * (ebb_graph_node_keep) until the walk ends, wanted or not, whatever other threads consume. */
uint32_t ebb__graph_n_parents(const ebb_graph_node *node);
ebb__graph_place ebb__graph_parent(const ebb_graph_node *node, uint32_t i);
/* The payload of an interior node that is live, kept from going until _payload_unpin; NULL where
 * it is not live any more. The caller has a handle on the node. */
void *ebb__graph_payload_pin(ebb_graph_node *node);
void ebb__graph_payload_unpin(ebb_graph_node *node);
/* A leaf's own lock guards the gradient slot in its payload, nothing else. */
void ebb__graph_leaf_lock(ebb_graph_node *leaf);
void ebb__graph_leaf_unlock(ebb_graph_node *leaf);

/* Live interior nodes, exact when no call is in progress. */
int64_t ebb__graph_live_nodes(const ebb_graph_space *space);

/* Audits every invariant of the space when no call is in progress; the first fault as a
 * message, NULL if sound. */
const char *ebb__graph_check(ebb_graph_space *space);

#endif
