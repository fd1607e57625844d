/* refusing.h - an allocator that refuses its k-th call, for tests of what runs out of memory.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_REFUSING_H
#define EBB_TESTS_REFUSING_H

#include <ebb/extend.h>

#include <stdlib.h>

typedef struct refusing {
    int64_t n_calls, refuse_at, n_live; /* refuse_at < 0: never */
} refusing;

static inline void *refusing_alloc(void *user, size_t bytes, size_t alignment)
{
    refusing *r = user;
    if (r->n_calls++ == r->refuse_at) return NULL;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p) r->n_live++;
    return p;
}

static inline void refusing_free(void *user, void *p, size_t bytes)
{
    (void)bytes;
    if (p) ((refusing *)user)->n_live--;
    free(p);
}

#endif
