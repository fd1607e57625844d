/* arena_check.c - whether blocks, maps and bins of an arena agree.
 * SPDX-License-Identifier: MIT */
#include "memory/arena_inner.h"

static const char *chunk_check(const chunk *c, size_t *n_free)
{
    size_t used = 0;
    bool free_before = false;
    for (size_t at = 0, end; at < c->n_grains; at = end) {
        bool is_free = is_free_start(c, at);
        if (is_free == is_used_start(c, at)) return "a grain starts no block, or two";
        end = at + 1;
        while (end < c->n_grains && !is_free_start(c, end) && !is_used_start(c, end)) {
            if (!is_free && is_free_end(c, end)) return "a used block ends as a free one";
            end = touched(c, end) ? end + 1 : c->high * 64;
        }
        if (is_free) {
            free_block *b = (free_block *)(c->grains + at * GRAIN);
            if (free_before) return "two free blocks touch";
            if (b->grains != end - at || *end_size(b, b->grains) != b->grains)
                return "a free block's size is wrong";
            if (!is_free_end(c, end - 1)) return "a free block has no end";
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
        if (!(s->filled[bin / 64] & bit(bin)) != !s->bin[bin]) return "a bin's mark is wrong";
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
