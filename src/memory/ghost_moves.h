/* ghost_moves.h - where the values of a simulated run would lie: an arena of the budget's size
 * whose blocks slide together where no hole is large enough.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_GHOST_MOVES_H
#define EBB_MEMORY_GHOST_MOVES_H

#include "base/alloc.h"

typedef struct ebb__moves_block {
    uint64_t at, bytes;
    uint32_t val;
} ebb__moves_block;

/* Blocks in order of address, not overlapping. */
typedef struct ebb__moves {
    uint64_t size, moved_bytes;
    uint32_t n, n_moves, max;
    ebb__moves_block *blocks;
} ebb__moves;

/* Forgets the blocks of vals that are no longer there. */
void ebb__moves_sync(ebb__moves *m, bool (*is_there)(const void *user, uint32_t val),
                     const void *user);
/* The smallest hole that is large enough; else the blocks of the window that costs least slide
 * down to make one. The free bytes suffice. */
void ebb__moves_place(ebb__moves *m, uint32_t val, uint64_t bytes);

#endif
