/* context.h - the context as a frame: each layer keeps its part behind a pointer of its own.
 *
 * A root context (no parent) owns the pool, the memory and the graph space; its descendants use
 * the root's. Upward needs go through `host`, the few functions a lower layer may call.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_CONTEXT_H
#define EBB_BASE_CONTEXT_H

#include "base/alloc.h"
#include "base/lock.h"
#include "base/pool.h"
#include "base/thread.h"

#include <ebb/context.h>

struct ebb_context {
    struct ebb_context *root, *parent;
    /* Guarded by the parent's lock. A context whose parent went first is closed: what it had is
     * gone, every use is refused, destroying it frees the frame. */
    struct ebb_context *first_child, *next_sibling;
    ebb__lock children_lock;
    bool closed;
    ebb_allocator allocator;
    uint32_t fork_generation;
    int32_t n_threads;
    bool single_threaded, nondeterministic, record_sites, check_recompute;
    size_t cache_limit; /* 0: none */
    uint64_t thread_id; /* the only user where single_threaded */
    uint64_t seed;
    atomic_uint_fast64_t random_counter; /* next unused Philox counter */
    ebb__pool *pool;                     /* the root's */
    struct ebb_graph_space *space;       /* the root's */
    struct ebb__memory *memory;          /* the root's: arena, lock; src/memory */
    struct ebb__account *account;        /* this context's bytes; src/memory */
    struct ebb__slots *slots;            /* this context's tensor handles; src/tensor */
    struct ebb__registry *registry;      /* the root's: operations and overrides; src/op */
    struct ebb__engine *engine;          /* this context's; src/autodiff */
    void *customs;            /* the root's: users' own operations; src/api/custom.c */
    struct ebb__owned *owned; /* objects destroyed with the context; src/tensor/owned.h */
};

/* False in a forked child: what the context has is the parent process's, and its locks may be
 * held by threads that do not exist here. */
static inline bool ebb__context_is_ours(const ebb_context *ctx)
{
    return ctx->fork_generation == ebb__fork_generation();
}

#endif
