/* graph_fixture.c - what the graph tests share.
 * SPDX-License-Identifier: MIT */
#include "graph_fixture.h"

#include <pthread.h>
#include <stdlib.h>

static void *memory_alloc(void *user, size_t bytes, size_t alignment)
{
    graph_memory *m = user;
    if (atomic_fetch_add(&m->n_allocs, 1) + 1 == m->fail_at) return NULL;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!p) return NULL;
    if ((long long)bytes > atomic_load(&m->largest))
        atomic_store(&m->largest, (long long)bytes);
    atomic_fetch_add(&m->n_blocks, 1);
    atomic_fetch_add(&m->bytes, (long long)bytes);
    return p;
}

static void memory_free(void *user, void *p, size_t bytes)
{
    graph_memory *m = user;
    atomic_fetch_sub(&m->n_blocks, 1);
    atomic_fetch_sub(&m->bytes, (long long)bytes);
    free(p);
}

void graph_memory_init(graph_memory *m, long long fail_at)
{
    *m = (graph_memory){.fail_at = fail_at};
    m->allocator = (ebb_allocator){.alloc = memory_alloc, .free = memory_free, .user = m};
}

void count_free(void *count)
{
    ++*(int *)count;
}

ebb_graph_node *leaf_new(ebb_graph_space *space)
{
    ebb_graph_node *leaf;
    if (ebb_graph_leaf_create(&leaf, space, NULL) != EBB_OK)
        fail_msg("%s", ebb_error_message());
    return leaf;
}

ebb_graph_node *op_new(ebb_graph_space *space, int *freed, uint32_t tag, ...)
{
    ebb_graph_edge parents[64];
    uint32_t n = 0;
    va_list args;
    va_start(args, tag);
    for (ebb_graph_node *p; (p = va_arg(args, ebb_graph_node *));)
        parents[n++] = (ebb_graph_edge){.node = p};
    va_end(args);
    ebb_graph_payload payload = {.data = freed, .free = freed ? count_free : NULL, .tag = tag};
    ebb_graph_node *node;
    if (ebb_graph_node_record(&node, space, parents, n, &payload) != EBB_OK)
        fail_msg("%s", ebb_error_message());
    return node;
}

ebb_graph_node *chain_new(ebb_graph_space *space, ebb_graph_node *from, int64_t n, int *freed)
{
    ebb_graph_node *last = ebb_graph_node_keep(from);
    for (int64_t i = 0; i < n; i++) {
        ebb_graph_node *next = op_new(space, freed, 0, last, NULL);
        ebb_graph_node_release(last);
        last = next;
    }
    return last;
}

ebb_status consume(ebb_graph_node *root)
{
    return ebb_graph_consume(&(ebb_graph_edge){.node = root}, 1, NULL, NULL);
}

typedef struct small_run {
    void (*f)(void *user);
    void *user;
} small_run;

static void *small_main(void *arg)
{
    small_run *run = arg;
    run->f(run->user);
    return NULL;
}

void run_on_small_stack(void (*f)(void *user), void *user)
{
    small_run run = {.f = f, .user = user};
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, 256 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attr, small_main, &run), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

int64_t test_size(int64_t full, int64_t reduced)
{
    return getenv("EBB_TEST_SHORT") ? reduced : full;
}
