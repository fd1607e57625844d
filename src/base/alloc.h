/* alloc.h - where memory comes from: the embedder's allocator hook, or the C library.
 *
 * Everything in the library that allocates does it through one of these, so a test can fail
 * each allocation in turn and an embedder can supply the arena.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_ALLOC_H
#define EBB_BASE_ALLOC_H

#include <ebb/allocator.h>

/* The allocator used where none was given: aligned_alloc and free. */
extern const ebb_allocator ebb__allocator_libc;

/* alignment is a power of two >= 16; returns NULL where refused. bytes is not 0. */
void *ebb__alloc(const ebb_allocator *a, size_t bytes, size_t alignment);
/* NULL is ignored; bytes as given to ebb__alloc. */
void ebb__free(const ebb_allocator *a, void *p, size_t bytes);

#endif
