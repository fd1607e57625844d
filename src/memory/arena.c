/* arena.c - blocks of bytes of one root context, recycled and never given back on every free.
 *
 * A chunk is: header, three bitmaps with a bit for each grain of 64 bytes (a used block starts
 * here, a free block starts here, a free block ends here) and a word of the caller's for every 64, grains. A free block keeps its links
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
#include "memory/arena_inner.h"

#include "base/size.h"

/* Reading or writing bytes of a free block is reported where the address sanitizer runs. */
#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

static const size_t CHUNK_LEAST = (size_t)4 << 20, CHUNK_MOST = (size_t)256 << 20;

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
    s->filled[bin / 64] |= bit(bin);
    set_free_start(c, at);
    set_free_end(c, at + grains - 1);
}

static void free_remove(chunk *c, free_block *b)
{
    size_t at = (size_t)((char *)b - c->grains) / GRAIN;
    unsigned bin = bin_of(b->grains);
    *b->prev = b->next;
    if (b->next) b->next->prev = b->prev;
    if (!c->side->bin[bin]) c->side->filled[bin / 64] &= ~bit(bin);
    clear_free_start(c, at);
    clear_free_end(c, at + b->grains - 1);
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
    size_t bytes = GRAIN + ((n + 63) / 64) * sizeof(map_word);
    return (bytes + GRAIN - 1) / GRAIN * GRAIN;
}

/* Bytes of a chunk with room for a block of `grains`; false on overflow. The maps take 32
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
    size_t head = head_bytes(bytes / GRAIN);
    *c = (chunk){.side = s,
                 .bytes = bytes,
                 .n_grains = (bytes - head) / GRAIN,
                 .grains = (char *)c + head,
                 .map = (map_word *)((char *)c + GRAIN)};
    c->high = (c->n_grains + 63) / 64;
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
    if (a->fixed || !chunk_size(&least, grains)) return false;
    bytes = s->chunk_bytes < CHUNK_LEAST  ? CHUNK_LEAST
            : s->chunk_bytes > CHUNK_MOST ? CHUNK_MOST
                                          : s->chunk_bytes;
    if (bytes > CHUNK_LEAST && bytes > a->most_free) bytes = CHUNK_LEAST;
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
    a->limit = a->most_free = SIZE_MAX;
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

void ebb__arena_set_cache(ebb__arena *a, size_t free_bytes)
{
    a->most_free = free_bytes;
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

/* The `grains` of a free block that begin `skip` after its start are used from now on. */
static void *take(ebb__arena *a, chunk *c, free_block *b, size_t skip, size_t grains)
{
    size_t at = (size_t)((char *)b - c->grains) / GRAIN, total = b->grains;
    free_remove(c, b);
    if (skip) free_insert(c, at, skip);
    at += skip;
    if (total > skip + grains) free_insert(c, at + grains, total - skip - grains);
    char *p = c->grains + at * GRAIN;
    UNPOISON(p, grains * GRAIN);
    set_used_start(c, at);
    c->used_grains += grains;
    a->used_grains += grains;
    return p;
}

/* The grains will be written to: what was never reached shrinks from the nearer end. */
static void reach(ebb__arena *a, size_t at, size_t end)
{
    if (end <= a->reached_low || at >= a->reached_high) return;
    size_t below = at > a->reached_low ? at - a->reached_low : 0;
    size_t above = a->reached_high > end ? a->reached_high - end : 0;
    if (below <= above)
        a->reached_low = end;
    else
        a->reached_high = at;
}

static void *taken(ebb__arena *a, chunk *c, free_block *b, size_t skip, size_t grains)
{
    char *p = take(a, c, b, skip, grains);
    size_t at = (size_t)(p - c->grains) / GRAIN;
    if (a->fixed) reach(a, at, at + grains);
    return p;
}

void *ebb__arena_alloc(ebb__arena *a, unsigned near, size_t bytes)
{
    size_t rounded;
    EBB_ASSERT(bytes > 0);
    if (!ebb__round_up(&rounded, bytes, GRAIN)) return NULL;
    size_t grains = rounded / GRAIN;
    free_block *b = block_find(a, side_get(a, near), grains);
    return b ? taken(a, chunk_of(a, b), b, 0, grains) : NULL;
}

/* The free block that ends last and has room. */
static free_block *highest(const chunk *c, size_t grains)
{
    size_t n_words = (c->n_grains + 63) / 64;
    for (size_t word = n_words; word-- > 0;) {
        if (word >= c->low && word < c->high) word = c->low - 1;
        if (word >= n_words) return NULL;
        for (uint64_t left = c->map[word].free_end; left;) {
            size_t end = word * 64 + 63 - (size_t)__builtin_clzll(left);
            left &= ~bit(end);
            size_t size = *(size_t *)(c->grains + (end + 1) * GRAIN - sizeof(size_t));
            if (size >= grains) return (free_block *)(c->grains + (end + 1 - size) * GRAIN);
        }
    }
    return NULL;
}

void *ebb__arena_alloc_high(ebb__arena *a, size_t bytes)
{
    size_t rounded;
    if (!ebb__round_up(&rounded, bytes, GRAIN)) return NULL;
    for (size_t i = a->n_chunks, n = rounded / GRAIN; i-- > 0;) {
        free_block *b = highest(a->chunks[i], n);
        if (b) return taken(a, a->chunks[i], b, b->grains - n, n);
    }
    return NULL;
}

bool ebb__arena_fix(ebb__arena *a, size_t bytes)
{
    bytes -= bytes % GRAIN;
    if (a->n_chunks || bytes < PAGE || !chunk_add(a, &a->first, bytes)) return false;
    a->fixed = true;
    a->reached_high = a->chunks[0]->n_grains;
    return true;
}

size_t ebb__arena_room(const ebb__arena *a)
{
    return a->chunks[0]->n_grains * GRAIN;
}

void *ebb__arena_end(const ebb__arena *a)
{
    return a->chunks[0]->grains + ebb__arena_room(a);
}

bool ebb__arena_is_fixed(const ebb__arena *a)
{
    return a->fixed;
}

bool ebb__arena_fits(const ebb__arena *a, size_t bytes)
{
    return other_sides_find(a, NULL, (bytes + GRAIN - 1) / GRAIN) != NULL;
}

size_t ebb__arena_free_before(const ebb__arena *a, const void *p)
{
    const chunk *c = chunk_of(a, p);
    size_t at = (size_t)((const char *)p - c->grains) / GRAIN;
    return at > 0 && is_free_end(c, at - 1) ? ((const size_t *)p)[-1] * GRAIN : 0;
}

size_t ebb__arena_free_at(const ebb__arena *a, const void *p)
{
    const chunk *c = chunk_of(a, p);
    size_t at = (size_t)((const char *)p - c->grains) / GRAIN;
    return at < c->n_grains && is_free_start(c, at) ? ((const free_block *)p)->grains * GRAIN
                                                    : 0;
}

void **ebb__arena_word(const ebb__arena *a, const void *p)
{
    const chunk *c = chunk_of(a, p);
    size_t at = (size_t)((const char *)p - c->grains) / GRAIN;
    return at < c->n_grains && is_used_start(c, at) ? &c->map[at / 64].callers : NULL;
}

void *ebb__arena_next(const ebb__arena *a, const void *p)
{
    for (size_t i = chunk_above(a, p) - (chunk_above(a, p) > 0); i < a->n_chunks; i++) {
        const chunk *c = a->chunks[i];
        size_t n_words = (c->n_grains + 63) / 64;
        size_t at = (const char *)p <= c->grains
                        ? 0
                        : (size_t)((const char *)p - c->grains + GRAIN - 1) / GRAIN;
        for (size_t word = at / 64; word < n_words; word++) {
            if (word >= c->low && word < c->high) word = c->high;
            if (word >= n_words) break;
            uint64_t bits = c->map[word].used_start;
            if (word == at / 64) bits &= ~UINT64_C(0) << (at % 64);
            if (bits) return c->grains + (word * 64 + (size_t)__builtin_ctzll(bits)) * GRAIN;
        }
    }
    return NULL;
}

/* By address (Shell 1959): without memory of its own. */
static void holes_sort(ebb__arena_hole *h, size_t n)
{
    static const size_t gaps[] = {301, 132, 57, 23, 10, 4, 1}; /* Ciura 2001 */
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t i = gaps[g]; i < n; i++) {
            const ebb__arena_hole one = h[i];
            size_t k = i;
            for (; k >= gaps[g] && (uintptr_t)h[k - gaps[g]].at > (uintptr_t)one.at;
                 k -= gaps[g])
                h[k] = h[k - gaps[g]];
            h[k] = one;
        }
}

size_t ebb__arena_holes(const ebb__arena *a, ebb__arena_hole *out, size_t most)
{
    size_t n = 0;
    for (int i = 0; i < N_SIDES; i++) {
        const side *s = a->sides[i];
        for (unsigned bin = N_BINS; s && bin-- > 0;) {
            if (!s->filled[bin / 64]) bin &= ~63u;
            for (free_block *b = s->bin[bin]; b && n < most; b = b->next)
                out[n++] = (ebb__arena_hole){(char *)b, b->grains * GRAIN};
        }
    }
    holes_sort(out, n);
    return n;
}

void ebb__arena_claim(ebb__arena *a, void *hole)
{
    take(a, chunk_of(a, hole), hole, 0, ((free_block *)hole)->grains);
}

void *ebb__arena_slide(ebb__arena *a, void *p, size_t bytes)
{
    chunk *c = chunk_of(a, p);
    size_t at = (size_t)((char *)p - c->grains) / GRAIN, grains = (bytes + GRAIN - 1) / GRAIN;
    EBB_ASSERT(is_used_start(c, at) && at > 0 && is_free_end(c, at - 1));
    size_t before = ((size_t *)p)[-1], end = at + grains;
    free_remove(c, (free_block *)((char *)p - before * GRAIN));
    if (end < c->n_grains && is_free_start(c, end)) {
        free_block *after = (free_block *)(c->grains + end * GRAIN);
        end += after->grains;
        free_remove(c, after);
    }
    clear_used_start(c, at);
    set_used_start(c, at - before);
    char *to = (char *)p - before * GRAIN;
    UNPOISON(to, (before + grains) * GRAIN);
    memmove(to, p, grains * GRAIN);
    POISON(to + grains * GRAIN, before * GRAIN);
    free_insert(c, at - before + grains, end - (at - before + grains));
    if (a->fixed) reach(a, at - before, at - before + grains);
    return to;
}

/* Nothing in it is used; it is still among a->chunks. */
static void chunk_drop(ebb__arena *a, chunk *c)
{
    free_remove(c, (free_block *)c->grains);
    size_t bytes = c->bytes;
    a->chunk_bytes -= bytes;
    c->side->chunk_bytes -= bytes;
    UNPOISON(c, bytes);
    ebb__free(&a->allocator, c, bytes);
}

static void chunk_remove(ebb__arena *a, chunk *c)
{
    size_t at = chunk_above(a, c) - 1;
    a->n_chunks--;
    memmove(a->chunks + at, a->chunks + at + 1, (a->n_chunks - at) * sizeof(chunk *));
    chunk_drop(a, c);
}

void ebb__arena_free(ebb__arena *a, void *p, size_t bytes)
{
    if (!p) return;
    chunk *c = chunk_of(a, p);
    size_t at = (size_t)((char *)p - c->grains) / GRAIN, grains = (bytes + GRAIN - 1) / GRAIN;
    EBB_ASSERT(at < c->n_grains && is_used_start(c, at));
    clear_used_start(c, at);
    c->used_grains -= grains;
    a->used_grains -= grains;
    size_t end = at + grains;
    POISON(p, grains * GRAIN);
    if (end < c->n_grains && is_free_start(c, end)) {
        free_block *after = (free_block *)(c->grains + end * GRAIN);
        end += after->grains;
        free_remove(c, after);
        POISON(after, sizeof *after);
    }
    if (at > 0 && is_free_end(c, at - 1)) {
        size_t *before = (size_t *)(c->grains + at * GRAIN) - 1;
        at -= *before;
        free_remove(c, (free_block *)(c->grains + at * GRAIN));
        POISON(before, sizeof *before);
    }
    free_insert(c, at, end - at);
    if (!c->used_grains && !a->fixed && a->chunk_bytes - a->used_grains * GRAIN > a->most_free)
        chunk_remove(a, c);
}

void ebb__arena_cut(ebb__arena *a, void *p, size_t bytes, size_t to)
{
    size_t left = (to + GRAIN - 1) / GRAIN * GRAIN;
    if (left >= bytes) return;
    chunk *c = chunk_of(a, p);
    char *rest = (char *)p + left;
    set_used_start(c, (size_t)(rest - c->grains) / GRAIN);
    ebb__arena_free(a, rest, bytes - left);
}

void ebb__arena_trim(ebb__arena *a)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n_chunks && !a->fixed; i++) {
        chunk *c = a->chunks[i];
        if (c->used_grains)
            a->chunks[kept++] = c;
        else
            chunk_drop(a, c);
    }
    if (!a->fixed) a->n_chunks = kept;
}

size_t ebb__arena_chunk_bytes(const ebb__arena *a)
{
    if (!a->fixed) return a->chunk_bytes;
    size_t n_grains = a->chunks[0]->n_grains;
    size_t gap = a->reached_high > a->reached_low ? a->reached_high - a->reached_low : 0;
    return (n_grains - gap) * GRAIN;
}

size_t ebb__arena_used_bytes(const ebb__arena *a)
{
    return a->used_grains * GRAIN;
}
