/* alloc.c - the allocator hook, and the C library behind it where none was given.
 * Invariant: nothing else in the library calls malloc, aligned_alloc or free.
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include "base/size.h"

#include <stdlib.h>

static void *libc_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    if (!ebb__round_up(&bytes, bytes, alignment)) return NULL;
    return alignment <= 16 ? malloc(bytes) : aligned_alloc(alignment, bytes);
}

static void libc_free(void *user, void *p, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(p);
}

const ebb_allocator ebb__allocator_libc = {.alloc = libc_alloc, .free = libc_free};

void *ebb__alloc(const ebb_allocator *a, size_t bytes, size_t alignment)
{
    return a->alloc(a->user, bytes, alignment);
}

void ebb__free(const ebb_allocator *a, void *p, size_t bytes)
{
    if (p) a->free(a->user, p, bytes);
}
