/* arena.h - blocks of bytes of one root context, recycled and never given back on every free.
 *
 * Chunks from the allocator hook hold address-ordered blocks, neighbours coalesce, free blocks
 * wait in bins by size; best fit. A chunk has a side, and a thread takes blocks of its own side:
 * bytes that another core wrote last are dear. All blocks are 64-byte aligned and a multiple of 64 bytes; a
 * used block has no header, so what is charged for it is all it takes. The caller holds the
 * memory lock (memory.h). Free bytes inside chunks are accounted as CACHE by the owner.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_ARENA_H
#define EBB_MEMORY_ARENA_H

#include "base/alloc.h"

enum { EBB__ARENA_GRAIN = 64 };

typedef struct ebb__arena ebb__arena;
ebb__arena *ebb__arena_create(const ebb_allocator *allocator); /* NULL: refused */
void ebb__arena_destroy(ebb__arena *a);
/* Chunks shall not take more than this where it can be helped: before one that would, empty
 * chunks go back, and it is no larger than what is asked for. SIZE_MAX: no limit. */
void ebb__arena_set_limit(ebb__arena *a, size_t chunk_bytes);
/* A chunk that becomes empty goes back at once where more than this is free; chunks add no more than this
 * to what is asked for, or 4 MiB. SIZE_MAX, as at first: never. */
void ebb__arena_set_cache(ebb__arena *a, size_t free_bytes);
/* bytes > 0; NULL where the allocator refused. near: any number of the calling thread's. Where
 * there is a limit, other sides' holes are used before a chunk is added. */
void *ebb__arena_alloc(ebb__arena *a, unsigned near, size_t bytes);
/* Once, before the first block: one chunk of so many bytes, maps included, and no other ever
 * after. False where it is too small or the allocator refuses: as it was. What no block has
 * reached stays untouched. */
bool ebb__arena_fix(ebb__arena *a, size_t bytes);
size_t ebb__arena_room(const ebb__arena *a); /* of a fixed one: for blocks */
bool ebb__arena_is_fixed(const ebb__arena *a);
void *ebb__arena_end(const ebb__arena *a);
/* From the other end of what is free already, for what stays. */
void *ebb__arena_alloc_high(ebb__arena *a, size_t bytes);
bool ebb__arena_fits(const ebb__arena *a, size_t bytes); /* a free block serves as it is */
/* Bytes of the free block directly before a used one, of that which begins at p; 0 where there
 * is none. */
size_t ebb__arena_free_before(const ebb__arena *a, const void *p);
size_t ebb__arena_free_at(const ebb__arena *a, const void *p);
/* The first used block at p or behind it; NULL: there is none. */
void *ebb__arena_next(const ebb__arena *a, const void *p);
/* A word of the caller's for each 4096 bytes, NULL at first, where a used block begins at p; else
 * NULL. */
void **ebb__arena_word(const ebb__arena *a, const void *p);
/* The largest free blocks, `most` of them, in the order of addresses. */
typedef struct ebb__arena_hole {
    char *at;
    size_t bytes;
} ebb__arena_hole;
size_t ebb__arena_holes(const ebb__arena *a, ebb__arena_hole *out, size_t most);
/* A free block becomes a used one. */
void ebb__arena_claim(ebb__arena *a, void *hole);
/* Moves a used block with its content to the start of the free block before it, which then is
 * behind it; returns where it is. */
void *ebb__arena_slide(ebb__arena *a, void *p, size_t bytes);
/* bytes as given to ebb__arena_alloc. */
void ebb__arena_free(ebb__arena *a, void *p, size_t bytes);
/* Of a used block all but the first `to` bytes, > 0, is free from now on. */
void ebb__arena_cut(ebb__arena *a, void *p, size_t bytes, size_t to);
/* Chunks without a used block go back to the allocator. */
void ebb__arena_trim(ebb__arena *a);
/* Of a fixed one: what was ever reached. */
size_t ebb__arena_chunk_bytes(const ebb__arena *a);
size_t ebb__arena_used_bytes(const ebb__arena *a);
/* First fault found, NULL if sound. */
const char *ebb__arena_check(const ebb__arena *a);

#endif
