/* space.c - a space of nodes: where their memory comes from, and its end.
 *
 * Invariants: every node of a space is a listed object of its pool or in `bigs`, so all can be
 * found without a list of their own. generation tells a forked child that the space, whose
 * locks a thread of the parent may have held, is not for it.
 * SPDX-License-Identifier: MIT */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("Os") /* nobody waits for these; the library has a size to keep */
#endif

#include "base/alloc.h"
#include "base/error.h"
#include "graph/node.h"

#include <string.h>

static void *slab_more(void *user)
{
    const ebb_graph_space *space = user;
    void *slab = ebb__alloc(&space->allocator, EBB__SLAB_BYTES, 4096);
    if (!slab) ebb__fail(EBB_E_NOMEM, "%d bytes for graph nodes were refused", EBB__SLAB_BYTES);
    return slab;
}

static void slab_less(void *user, void *slab)
{
    const ebb_graph_space *space = user;
    ebb__free(&space->allocator, slab, EBB__SLAB_BYTES);
}

static ebb_status space_make(ebb_graph_space **out, ebb__pool *pool,
                             const ebb_graph_space_options *options)
{
    static const ebb_graph_space_options defaults;
    if (!options) options = &defaults;
    for (size_t i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; i++)
        if (options->reserved[i])
            return ebb__fail(EBB_E_MISUSE, "options: reserved[%zu] is not zero", i);
    const ebb_allocator *a = options->allocator ? options->allocator : &ebb__allocator_libc;
    ebb_graph_space *space = ebb__alloc(a, sizeof *space, 64);
    if (!space) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", sizeof *space);
    memset(space, 0, sizeof *space);
    ebb__mutex_init(&space->claim_lock);
    space->allocator = *a;
    space->single_threaded = options->single_threaded;
    space->generation = ebb__fork_generation();
    space->tag_name = options->tag_name;
    space->user = options->user;
    space->pool = pool;
    if (!pool) {
        space->owns_pool = true;
        space->pool = ebb__pool_create(
            &(ebb__pool_source){.more = slab_more, .less = slab_less, .user = space},
            space->single_threaded);
        if (!space->pool) {
            pthread_mutex_destroy(&space->claim_lock);
            ebb__free(a, space, sizeof *space);
            return ebb_error_status();
        }
    }
    *out = space;
    return EBB_OK;
}

ebb_status ebb_graph_space_create(ebb_graph_space **out, const ebb_graph_space_options *options)
{
    if (!out) return ebb__null_argument("ebb_graph_space_create", "out");
    return space_make(out, NULL, options);
}

ebb_status ebb__graph_space_create(ebb_graph_space **out, ebb__pool *pool,
                                   const ebb_graph_space_options *options)
{
    return space_make(out, pool, options);
}

ebb_status ebb__graph_space_refused(const ebb_graph_space *space)
{
    if (space->generation == UINT32_MAX)
        return ebb__fail(EBB_E_MISUSE, "the space is being destroyed");
    return ebb__fail(EBB_E_MISUSE, "the space was made before a fork, by the parent process");
}

void *ebb__graph_big_alloc(ebb_graph_space *space, size_t bytes)
{
    big *b = ebb__alloc(&space->allocator, sizeof *b + bytes, 16);
    if (!b) {
        ebb__fail(EBB_E_NOMEM, "%zu bytes for a graph node were refused", bytes);
        return NULL;
    }
    b->bytes = sizeof *b + bytes;
    ebb__lock_take(&space->big_lock);
    b->next = space->bigs;
    b->back = &space->bigs;
    if (b->next) b->next->back = &b->next;
    space->bigs = b;
    ebb__lock_give(&space->big_lock);
    return b + 1;
}

void ebb__graph_big_free(ebb_graph_space *space, node *n)
{
    big *b = (big *)(void *)n - 1;
    ebb__lock_take(&space->big_lock);
    *b->back = b->next;
    if (b->next) b->next->back = b->back;
    ebb__lock_give(&space->big_lock);
    ebb__free(&space->allocator, b, b->bytes);
}

typedef struct each_filter {
    ebb_graph_space *space;
    void (*each)(void *user, node *n);
    void *user;
} each_filter;

static void each_of_space(void *user, void *object)
{
    const each_filter *filter = user;
    node *n = object;
    if (n->space == filter->space) filter->each(filter->user, n);
}

void ebb__graph_each(ebb_graph_space *space, void (*each)(void *user, node *n), void *user)
{
    each_filter filter = {.space = space, .each = each, .user = user};
    ebb__pool_each_listed(space->pool, each_of_space, &filter);
    for (big *b = space->bigs, *next; b; b = next) {
        next = b->next;
        each(user, (node *)(void *)(b + 1));
    }
}

static void payload_end(void *user, node *n)
{
    (void)user;
    void (*payload_free)(void *) = n->payload_free;
    n->payload_free = NULL;
    if (payload_free) payload_free(n->payload);
}

static void memory_end(void *user, node *n)
{
    ebb_graph_space *space = user;
    n->space = NULL;
    if (n->flags & NODE_BIG)
        ebb__graph_big_free(space, n);
    else
        ebb__pool_part_free_listed(ebb__pool_part_get(space->pool), n,
                                   node_bytes(n->n_parents));
}

void ebb_graph_space_destroy(ebb_graph_space *space)
{
    if (!space) return;
    /* In a forked child the payloads, like the space, are the parent's. */
    bool ours = space_is_ours(space);
    space->generation = UINT32_MAX; /* what a payload's end releases or records is refused */
    if (ours) ebb__graph_each(space, payload_end, NULL);
    if (space->owns_pool) {
        for (big *b = space->bigs, *next; b; b = next) {
            next = b->next;
            ebb__free(&space->allocator, b, b->bytes);
        }
        ebb__pool_destroy(space->pool);
    } else {
        ebb__graph_each(space, memory_end, space);
    }
    ebb__graph_labels_free(space);
    for (int i = 0; i < WALK_SPARES; i++) {
        walk_memory *spare = atomic_exchange(&space->spare[i].block, NULL);
        if (spare) ebb__free(&space->allocator, spare, spare->bytes);
    }
    pthread_mutex_destroy(&space->claim_lock);
    ebb_allocator a = space->allocator;
    ebb__free(&a, space, sizeof *space);
}

int64_t ebb__graph_live_nodes(const ebb_graph_space *space)
{
    const ebb__pool *pool = space->pool;
    return ebb__pool_count(pool, COUNT_CREATED) - ebb__pool_count(pool, COUNT_CONSUMED) -
           ebb__pool_count(pool, COUNT_CUT) - ebb__pool_count(pool, COUNT_DIED);
}
