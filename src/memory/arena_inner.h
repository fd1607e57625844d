/* arena_inner.h - inside the arena: chunks, their maps, bins.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_ARENA_INNER_H
#define EBB_MEMORY_ARENA_INNER_H

#include "memory/arena.h"

#include "base/check.h"

#include <string.h>

enum {
    GRAIN = EBB__ARENA_GRAIN,
    PAGE = 4096,
    SUB_LOG2 = 3,
    SUB = 1 << SUB_LOG2,
    N_BINS = SUB * 56,
    LOOK_MAX = 64, /* free blocks of one bin that are compared */
    N_SIDES = 4
};

typedef struct free_block {
    struct free_block *next, **prev;
    size_t grains;
} free_block;

typedef struct side {
    size_t chunk_bytes;
    uint64_t filled[N_BINS / 64]; /* bit: the bin is not empty */
    free_block *bin[N_BINS];
} side;

typedef struct map_word {
    uint64_t used_start, free_start, free_end;
    void *callers; /* see ebb__arena_word */
} map_word;

/* Words of a chunk's maps from `low` to before `high` were never touched: they count as zero, so
 * that a large chunk costs what is used of it. */
typedef struct chunk {
    side *side;
    size_t bytes; /* of the whole allocation */
    size_t n_grains, used_grains;
    char *grains;
    map_word *map;    /* one for 64 grains */
    size_t low, high; /* words */
} chunk;
_Static_assert(sizeof(chunk) <= GRAIN, "the header takes one grain");

struct ebb__arena {
    ebb_allocator allocator;
    size_t limit, most_free, chunk_bytes, used_grains;
    bool fixed;                       /* one chunk holds all there may be */
    size_t reached_low, reached_high; /* its grains between these were never in a block */
    chunk **chunks;
    size_t n_chunks, max_chunks;
    side first, *sides[N_SIDES]; /* the first of them, others once they are asked for */
};

/* ---- bits -------------------------------------------------------------------------------- */

static inline bool touched(const chunk *c, size_t i)
{
    return i / 64 < c->low || i / 64 >= c->high;
}

/* Makes the word of grain i one that is in use; the gap shrinks from the nearer end. */
static inline void touch(chunk *c, size_t i)
{
    size_t word = i / 64;
    if (word - c->low < c->high - word) {
        memset(c->map + c->low, 0, (word + 1 - c->low) * sizeof *c->map);
        c->low = word + 1;
    } else {
        memset(c->map + word, 0, (c->high - word) * sizeof *c->map);
        c->high = word;
    }
}

static inline uint64_t bit(size_t i)
{
    return UINT64_C(1) << (i % 64);
}

#define BIT_FUNCTIONS(what)                                                                    \
    static inline bool is_##what(const chunk *c, size_t i)                                     \
    {                                                                                          \
        return touched(c, i) && c->map[i / 64].what & bit(i);                                  \
    }                                                                                          \
    static inline void set_##what(chunk *c, size_t i)                                          \
    {                                                                                          \
        if (!touched(c, i)) touch(c, i);                                                       \
        c->map[i / 64].what |= bit(i);                                                         \
    }                                                                                          \
    static inline void clear_##what(chunk *c, size_t i)                                        \
    {                                                                                          \
        c->map[i / 64].what &= ~bit(i);                                                        \
    }
BIT_FUNCTIONS(used_start)
BIT_FUNCTIONS(free_start)
BIT_FUNCTIONS(free_end)
#undef BIT_FUNCTIONS

/* ---- bins -------------------------------------------------------------------------------- */

/* Sizes below SUB have a bin each; then SUB bins between one power of two and the next. */
static inline unsigned bin_of(size_t grains)
{
    if (grains < SUB) return (unsigned)grains;
    unsigned log2 = 63u - (unsigned)__builtin_clzll(grains);
    return (log2 - SUB_LOG2 + 1) * SUB + ((unsigned)(grains >> (log2 - SUB_LOG2)) & (SUB - 1));
}

static inline size_t *end_size(free_block *b, size_t grains)
{
    return (size_t *)((char *)b + grains * GRAIN) - 1;
}

#endif
