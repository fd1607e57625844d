/* classic.h - the classical graph memory manager: mark and sweep after each backward.
 *
 * The baseline of the graph benchmarks and the partner of a differential test. Nodes are ids in
 * a hash map; the map holds one reference on each, every user handle one more. A driver on top
 * keeps one step (the recorded rule) per node.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_SUPPORT_CLASSIC_H
#define EBB_TESTS_SUPPORT_CLASSIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its six faults, each of which can be mended, so that a test can tell which one shows. */
typedef enum classic_mend {
    CLASSIC_HELD = 1,      /* a held node is consumed like any other */
    CLASSIC_ROOT = 2,      /* so is the root of a backward */
    CLASSIC_LEAF_GONE = 4, /* a leaf without handle survives the backward that reaches it */
    CLASSIC_LEAF_USED = 8, /* a leaf keeps its step */
    CLASSIC_BORN = 16,     /* a node made from a consumed one is dead at birth */
    CLASSIC_LATE = 32,     /* cleaning up after every change, not after backwards only */
    CLASSIC_ALL = 63
} classic_mend;

typedef struct classic classic;
typedef struct classic_node { /* what a handle points at */
    uint64_t id;
    uint32_t refs;
} classic_node;

classic *classic_create(unsigned mends);
void classic_destroy(classic *c);

/* ---- the driver -------------------------------------------------------------------------- */
/* A new node with one handle; n = 0 makes a leaf. */
classic_node *classic_record(classic *c, classic_node *const *parents, uint32_t n);
void classic_keep(classic *c, classic_node *node);
void classic_release(classic *c, classic_node *node);
/* False: refused. reached is called for each leaf. */
bool classic_backward(classic *c, classic_node *root,
                      void (*reached)(void *user, uint64_t leaf), void *user);
bool classic_has_step(const classic *c, uint64_t id);

/* ---- the manager itself ------------------------------------------------------------------ */
void classic_register(classic *c, classic_node *node, const uint64_t *parents, uint32_t n);
void classic_consume_node(classic *c, uint64_t id);
void classic_free_unavailable_nodes(classic *c);
void classic_free_unused_roots(classic *c);
/* Takes everything over; other is empty afterwards. Ids of the two are distinct. */
void classic_extend(classic *c, classic *other);
bool classic_maybe_useful(const classic *c);
size_t classic_n_nodes(const classic *c);

#endif
