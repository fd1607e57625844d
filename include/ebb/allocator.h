/* allocator.h - the hook through which an embedder supplies all memory.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_ALLOCATOR_H
#define EBB_ALLOCATOR_H

#include <ebb/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* alloc returns `bytes` (> 0) aligned to `alignment` (a power of two, at most 4096), or NULL;
 * free gets back what alloc returned with the same size. Both may be called from any thread and
 * must outlive every object made with them. */
typedef struct ebb_allocator {
    void *(*alloc)(void *user, size_t bytes, size_t alignment);
    void (*free)(void *user, void *p, size_t bytes);
    void *user;
} ebb_allocator;

#ifdef __cplusplus
}
#endif

#endif
