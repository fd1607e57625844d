/* workspace.h - an allocator inside one table of bookkeeping, for what is worked out between steps:
 * it has what it has, and goes as a whole.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_WORKSPACE_H
#define EBB_MEMORY_WORKSPACE_H

#include "base/alloc.h"
#include "base/context.h"

typedef struct ebb__workspace_hole {
    struct ebb__workspace_hole *next; /* by address */
    size_t bytes;
} ebb__workspace_hole;

typedef struct ebb__workspace {
    ebb__workspace_hole *holes;
    struct ebb__table *table;
} ebb__workspace;

/* False, and it is empty, where the context has no room for so many bytes. */
bool ebb__workspace_make(ebb__workspace *w, ebb_context *ctx, size_t bytes);
void ebb__workspace_free(ebb__workspace *w, ebb_context *ctx);
/* Points to w, which must not move. Alignments of up to 64; not thread-safe. */
ebb_allocator ebb__workspace_allocator(ebb__workspace *w);

#endif
