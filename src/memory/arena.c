/* arena.c - blocks of bytes of one root context, recycled and never given back on every free.
 *
 * A chunk is: header, three bitmaps with a bit for each grain of 64 bytes (a used block starts
 * here, a free block starts here, a free block ends here), grains. A free block keeps its links
 * and its size in its first grain and its size in the end of its last; a used one keeps
 * nothing.
 *
 * Invariants: the blocks of a chunk tile its grains; two free blocks never touch; each free
 * block is in the bin of its size on its chunk's side; `chunks` is sorted by address; used_grains is the sum of the
 * used blocks.
 *
 * Bins are as in TLSF (Masmano et al., 2004), 8 to each power of two. Best fit within the first
 * bin that can serve, looking at a bounded number of blocks.
 * SPDX-License-Identifier: MIT */
#include "memory/arena.h"

#include "base/check.h"
#include "base/size.h"

#include <string.h>

/* Reading or writing bytes of a free block is reported where the address sanitizer runs. */
#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum {
    GRAIN = EBB__ARENA_GRAIN,
    PAGE = 4096,
    SUB_LOG2 = 3,
    SUB = 1 << SUB_LOG2,
    N_BINS = SUB * 56,
    LOOK_MAX = 64, /* free blocks of one bin that are compared */
    N_SIDES = 4
};
static const size_t CHUNK_LEAST = (size_t)4 << 20, CHUNK_MOST = (size_t)256 << 20;

typedef struct free_block {
    struct free_block *next, **prev;
    size_t grains;
} free_block;

typedef struct side {
    size_t chunk_bytes;
    uint64_t filled[N_BINS / 64]; /* bit: the bin is not empty */
    free_block *bin[N_BINS];
} side;

typedef struct chunk {
    side *side;
    size_t bytes; /* of the whole allocation */
    size_t n_grains, used_grains;
    char *grains;
    uint64_t *used_start, *free_start, *free_end;
} chunk;
_Static_assert(sizeof(chunk) <= GRAIN, "the header takes one grain");

struct ebb__arena {
    ebb_allocator allocator;
    size_t limit, chunk_bytes, used_grains;
    chunk **chunks;
    size_t n_chunks, max_chunks;
    side first, *sides[N_SIDES]; /* the first of them, others once they are asked for */
};

/* ---- bits -------------------------------------------------------------------------------- */

static inline bool bit_get(const uint64_t *bits, size_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, size_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void bit_clear(uint64_t *bits, size_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* ---- bins -------------------------------------------------------------------------------- */

/* Sizes below SUB have a bin each; then SUB bins between one power of two and the next. */
static unsigned bin_of(size_t grains)
{
    if (grains < SUB) return (unsigned)grains;
    unsigned log2 = 63u - (unsigned)__builtin_clzll(grains);
    return (log2 - SUB_LOG2 + 1) * SUB + ((unsigned)(grains >> (log2 - SUB_LOG2)) & (SUB - 1));
}

/* The first bin from `from` on that holds a block; N_BINS if none. */
static unsigned bin_next(const side *s, unsigned from)
{
    for (unsigned word = from / 64; word < N_BINS / 64; word++) {
        uint64_t bits = s->filled[word];
        if (word == from / 64) bits &= ~UINT64_C(0) << (from % 64);
        if (bits) return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return N_BINS;
}

static inline size_t *end_size(free_block *b, size_t grains)
{
    return (size_t *)((char *)b + grains * GRAIN) - 1;
}

static void free_insert(chunk *c, size_t at, size_t grains)
{
    side *s = c->side;
    free_block *b = (free_block *)(c->grains + at * GRAIN);
    unsigned bin = bin_of(grains);
    UNPOISON(b, sizeof *b);
    UNPOISON(end_size(b, grains), sizeof(size_t));
    b->grains = grains;
    *end_size(b, grains) = grains;
    b->next = s->bin[bin];
    b->prev = &s->bin[bin];
    if (b->next) b->next->prev = &b->next;
    s->bin[bin] = b;
    bit_set(s->filled, bin);
    bit_set(c->free_start, at);
    bit_set(c->free_end, at + grains - 1);
}

static void free_remove(chunk *c, free_block *b)
{
    size_t at = (size_t)((char *)b - c->grains) / GRAIN;
    unsigned bin = bin_of(b->grains);
    *b->prev = b->next;
    if (b->next) b->next->prev = b->prev;
    if (!c->side->bin[bin]) bit_clear(c->side->filled, bin);
    bit_clear(c->free_start, at);
    bit_clear(c->free_end, at + b->grains - 1);
}

static free_block *free_find(const side *s, size_t grains)
{
    for (unsigned bin = bin_next(s, bin_of(grains)); bin < N_BINS; bin = bin_next(s, bin + 1)) {
        free_block *best = NULL;
        int look = LOOK_MAX;
        for (free_block *b = s->bin[bin]; b && look > 0; b = b->next, look--) {
            if (b->grains == grains) return b;
            if (b->grains > grains && (!best || b->grains < best->grains)) best = b;
        }
        if (best) return best;
    }
    return NULL;
}

/* ---- chunks ------------------------------------------------------------------------------ */

/* Index of the first chunk that starts above p. */
static size_t chunk_above(const ebb__arena *a, const void *p)
{
    size_t low = 0, high = a->n_chunks;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)a->chunks[middle] > (uintptr_t)p)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static chunk *chunk_of(const ebb__arena *a, const void *p)
{
    size_t above = chunk_above(a, p);
    EBB_ASSERT(above > 0);
    return a->chunks[above - 1];
}

/* Header and bitmaps of a chunk that has at most n grains. */
static size_t head_bytes(size_t n)
{
    size_t bytes = GRAIN + 3 * ((n + 63) / 64) * sizeof(uint64_t);
    return (bytes + GRAIN - 1) / GRAIN * GRAIN;
}

/* Bytes of a chunk with room for a block of `grains`; false on overflow. The bitmaps take 24
 * bytes of 4096, so a chunk has less than a 64th more grains than the block, and those of two
 * pages. */
static bool chunk_size(size_t *out, size_t grains)
{
    size_t bytes;
    return ebb__mul_size(&bytes, grains, GRAIN) &&
           ebb__add_size(&bytes, bytes, head_bytes(grains + grains / 64 + 2 * PAGE / GRAIN)) &&
           ebb__round_up(out, bytes, PAGE);
}

static bool chunks_room(ebb__arena *a)
{
    if (a->n_chunks < a->max_chunks) return true;
    size_t max = a->max_chunks ? 2 * a->max_chunks : 16;
    chunk **chunks = ebb__alloc(&a->allocator, max * sizeof(chunk *), 16);
    if (!chunks) return false;
    if (a->n_chunks) memcpy(chunks, a->chunks, a->n_chunks * sizeof(chunk *));
    ebb__free(&a->allocator, a->chunks, a->max_chunks * sizeof(chunk *));
    a->chunks = chunks;
    a->max_chunks = max;
    return true;
}

static bool chunk_add(ebb__arena *a, side *s, size_t bytes)
{
    if (!chunks_room(a)) return false;
    chunk *c = ebb__alloc(&a->allocator, bytes, PAGE);
    if (!c) return false;
    size_t head = head_bytes(bytes / GRAIN), words = (bytes / GRAIN + 63) / 64;
    memset(c, 0, head);
    c->side = s;
    c->bytes = bytes;
    c->n_grains = (bytes - head) / GRAIN;
    c->used_start = (uint64_t *)((char *)c + GRAIN);
    c->free_start = c->used_start + words;
    c->free_end = c->free_start + words;
    c->grains = (char *)c + head;
    size_t at = chunk_above(a, c);
    memmove(a->chunks + at + 1, a->chunks + at, (a->n_chunks - at) * sizeof(chunk *));
    a->chunks[at] = c;
    a->n_chunks++;
    a->chunk_bytes += bytes;
    s->chunk_bytes += bytes;
    POISON(c->grains, c->n_grains * GRAIN);
    free_insert(c, 0, c->n_grains);
    return true;
}

/* As large as all of the side before together, within bounds; no larger than asked for near the limit. */
static bool grow(ebb__arena *a, side *s, size_t grains)
{
    size_t least, bytes;
    if (!chunk_size(&least, grains)) return false;
    bytes = s->chunk_bytes < CHUNK_LEAST  ? CHUNK_LEAST
            : s->chunk_bytes > CHUNK_MOST ? CHUNK_MOST
                                          : s->chunk_bytes;
    if (bytes < least) bytes = least;
    if (a->chunk_bytes > a->limit || bytes > a->limit - a->chunk_bytes) {
        bytes = least;
        if (a->chunk_bytes > a->limit || bytes > a->limit - a->chunk_bytes) ebb__arena_trim(a);
    }
    if (chunk_add(a, s, bytes)) return true;
    ebb__arena_trim(a);
    return chunk_add(a, s, least);
}

/* ---- the arena --------------------------------------------------------------------------- */

ebb__arena *ebb__arena_create(const ebb_allocator *allocator)
{
    ebb__arena *a = ebb__alloc(allocator, sizeof *a, 64);
    if (!a) return NULL;
    memset(a, 0, sizeof *a);
    a->allocator = *allocator;
    a->limit = SIZE_MAX;
    a->sides[0] = &a->first;
    return a;
}

void ebb__arena_destroy(ebb__arena *a)
{
    if (!a) return;
    ebb_allocator allocator = a->allocator;
    for (size_t i = 0; i < a->n_chunks; i++) {
        size_t bytes = a->chunks[i]->bytes;
        UNPOISON(a->chunks[i], bytes);
        ebb__free(&allocator, a->chunks[i], bytes);
    }
    for (int i = 1; i < N_SIDES; i++) ebb__free(&allocator, a->sides[i], sizeof(side));
    ebb__free(&allocator, a->chunks, a->max_chunks * sizeof(chunk *));
    ebb__free(&allocator, a, sizeof *a);
}

void ebb__arena_set_limit(ebb__arena *a, size_t chunk_bytes)
{
    a->limit = chunk_bytes;
}

static free_block *other_sides_find(const ebb__arena *a, const side *own, size_t grains)
{
    free_block *b = NULL;
    for (int i = 0; i < N_SIDES && !b; i++)
        if (a->sides[i] && a->sides[i] != own) b = free_find(a->sides[i], grains);
    return b;
}

static side *side_get(ebb__arena *a, unsigned near)
{
    side **s = &a->sides[near % N_SIDES];
    if (!*s && (*s = ebb__alloc(&a->allocator, sizeof **s, 64))) memset(*s, 0, sizeof **s);
    return *s ? *s : &a->first;
}

static free_block *block_find(ebb__arena *a, side *own, size_t grains)
{
    free_block *b = free_find(own, grains);
    if (!b && a->limit != SIZE_MAX) b = other_sides_find(a, own, grains);
    if (b) return b;
    return grow(a, own, grains) ? free_find(own, grains) : other_sides_find(a, own, grains);
}

void *ebb__arena_alloc(ebb__arena *a, unsigned near, size_t bytes)
{
    size_t rounded;
    EBB_ASSERT(bytes > 0);
    if (!ebb__round_up(&rounded, bytes, GRAIN)) return NULL;
    size_t grains = rounded / GRAIN;
    free_block *b = block_find(a, side_get(a, near), grains);
    if (!b) return NULL;
    chunk *c = chunk_of(a, b);
    size_t at = (size_t)((char *)b - c->grains) / GRAIN, total = b->grains;
    free_remove(c, b);
    if (total > grains) free_insert(c, at + grains, total - grains);
    UNPOISON(b, grains * GRAIN);
    bit_set(c->used_start, at);
    c->used_grains += grains;
    a->used_grains += grains;
    return b;
}

void ebb__arena_free(ebb__arena *a, void *p, size_t bytes)
{
    if (!p) return;
    chunk *c = chunk_of(a, p);
    size_t at = (size_t)((char *)p - c->grains) / GRAIN, grains = (bytes + GRAIN - 1) / GRAIN;
    EBB_ASSERT(at < c->n_grains && bit_get(c->used_start, at));
    bit_clear(c->used_start, at);
    c->used_grains -= grains;
    a->used_grains -= grains;
    size_t end = at + grains;
    POISON(p, grains * GRAIN);
    if (end < c->n_grains && bit_get(c->free_start, end)) {
        free_block *after = (free_block *)(c->grains + end * GRAIN);
        end += after->grains;
        free_remove(c, after);
        POISON(after, sizeof *after);
    }
    if (at > 0 && bit_get(c->free_end, at - 1)) {
        size_t *before = (size_t *)(c->grains + at * GRAIN) - 1;
        at -= *before;
        free_remove(c, (free_block *)(c->grains + at * GRAIN));
        POISON(before, sizeof *before);
    }
    free_insert(c, at, end - at);
}

void ebb__arena_trim(ebb__arena *a)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n_chunks; i++) {
        chunk *c = a->chunks[i];
        if (c->used_grains) {
            a->chunks[kept++] = c;
            continue;
        }
        free_remove(c, (free_block *)c->grains);
        size_t bytes = c->bytes;
        a->chunk_bytes -= bytes;
        c->side->chunk_bytes -= bytes;
        UNPOISON(c, bytes);
        ebb__free(&a->allocator, c, bytes);
    }
    a->n_chunks = kept;
}

size_t ebb__arena_chunk_bytes(const ebb__arena *a)
{
    return a->chunk_bytes;
}

size_t ebb__arena_used_bytes(const ebb__arena *a)
{
    return a->used_grains * GRAIN;
}

/* ---- audit ------------------------------------------------------------------------------- */

static const char *chunk_check(const chunk *c, size_t *n_free)
{
    size_t used = 0;
    bool free_before = false;
    for (size_t at = 0, end; at < c->n_grains; at = end) {
        bool is_free = bit_get(c->free_start, at);
        if (is_free == bit_get(c->used_start, at)) return "a grain starts no block, or two";
        end = at + 1;
        while (end < c->n_grains && !bit_get(c->free_start, end) &&
               !bit_get(c->used_start, end)) {
            if (!is_free && bit_get(c->free_end, end)) return "a used block ends as a free one";
            end++;
        }
        if (is_free) {
            free_block *b = (free_block *)(c->grains + at * GRAIN);
            if (free_before) return "two free blocks touch";
            if (b->grains != end - at || *end_size(b, b->grains) != b->grains)
                return "a free block's size is wrong";
            if (!bit_get(c->free_end, end - 1)) return "a free block has no end";
            if (*b->prev != b) return "a free block is not in a bin";
            ++*n_free;
        } else {
            used += end - at;
        }
        free_before = is_free;
    }
    return used == c->used_grains ? NULL : "a chunk's used bytes are miscounted";
}

static const char *bins_check(const side *s, size_t *n_binned)
{
    for (unsigned bin = 0; bin < N_BINS; bin++) {
        if (bit_get(s->filled, bin) != (s->bin[bin] != NULL)) return "a bin's mark is wrong";
        for (const free_block *b = s->bin[bin]; b; b = b->next, ++*n_binned)
            if (bin_of(b->grains) != bin) return "a free block is in a wrong bin";
    }
    return NULL;
}

const char *ebb__arena_check(const ebb__arena *a)
{
    size_t bytes = 0, used = 0, n_free = 0, n_binned = 0;
    for (size_t i = 0; i < a->n_chunks; i++) {
        const chunk *c = a->chunks[i];
        if (i && (uintptr_t)a->chunks[i - 1] >= (uintptr_t)c) return "chunks are out of order";
        const char *fault = chunk_check(c, &n_free);
        if (fault) return fault;
        bytes += c->bytes;
        used += c->used_grains;
    }
    for (int i = 0; i < N_SIDES; i++) {
        const char *fault = a->sides[i] ? bins_check(a->sides[i], &n_binned) : NULL;
        if (fault) return fault;
    }
    if (n_free != n_binned) return "a bin holds a block that is in no chunk";
    if (bytes != a->chunk_bytes || used != a->used_grains) return "the totals are wrong";
    return NULL;
}
