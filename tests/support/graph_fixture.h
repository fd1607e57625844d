/* graph_fixture.h - what the graph tests share: short calls, counting payloads, a failing
 * allocator.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_SUPPORT_GRAPH_FIXTURE_H
#define EBB_TESTS_SUPPORT_GRAPH_FIXTURE_H

#include "graph/graph.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- allocator --------------------------------------------------------------------------- */
typedef struct graph_memory {
    ebb_allocator allocator;
    atomic_llong n_allocs, n_blocks, bytes, largest;
    long long fail_at; /* the one of this number (from 1) is refused; 0: none */
} graph_memory;
void graph_memory_init(graph_memory *m, long long fail_at);

/* ---- short calls; a refusal fails the test ----------------------------------------------- */
/* Counts payloads freed: pass &count as data with this. */
void count_free(void *count);
ebb_graph_node *leaf_new(ebb_graph_space *space);
/* The parents as arguments, NULL last. freed may be NULL. */
ebb_graph_node *op_new(ebb_graph_space *space, int *freed, uint32_t tag, ...)
    __attribute__((sentinel));
/* A chain of n nodes on `from`, of which only the last has a handle. */
ebb_graph_node *chain_new(ebb_graph_space *space, ebb_graph_node *from, int64_t n, int *freed);
ebb_status consume(ebb_graph_node *root);

/* Runs f on a thread with a stack of 256 KiB. */
void run_on_small_stack(void (*f)(void *user), void *user);
/* EBB_TEST_SHORT asks for small sizes. */
int64_t test_size(int64_t full, int64_t reduced);

#endif
