/* room.h - inside src/memory: room made under a budget, by moving blocks and by giving up what can
 * be made again. How an operation goes about it: reserve.h.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_ROOM_H
#define EBB_MEMORY_ROOM_H

#include "memory/memory.h"

/* ---- compact.c, evict.c: alone, under the mutex ------------------------------------------ */
/* Moves blocks, `most` bytes at most, until a hole of so many bytes is there. */
bool ebb__compact(ebb__memory *m, size_t bytes, size_t most);
/* Slides all that can move: what stays where it is has the free bytes below it. */
void ebb__compact_all(ebb__memory *m);
/* Has a hole of so many bytes directly before what never moves; false: something is in the way. */
bool ebb__compact_edge(ebb__memory *m, size_t bytes);
/* Drops the value that is cheapest to miss and counts against `tight` (NULL: any), if possible one
 * of `need` bytes. False: there is none. */
bool ebb__evict_one(ebb__memory *m, const ebb__account *tight, size_t need);
/* Bytes that evictions could free there; not exact: pinned ones are not told apart. */
size_t ebb__evictable_bytes(ebb__memory *m, const ebb__account *tight);
void ebb__evictable_by_kind(size_t out[EBB_KIND_MAX], ebb__memory *m, const ebb__account *tight,
                            bool exact);

/* ---- room.c, not under the mutex --------------------------------------------------------- */
/* Whether a charge that was refused is worth another try. */
bool ebb__room_more(ebb_context *ctx, size_t bytes);
/* A block for bytes that are charged: blocks move and values are given up for it. *out is set and
 * `list` (not NULL) entered under one hold of the mutex. */
bool ebb__room_block(void **out, ebb_context *ctx, size_t bytes, ebb_kind kind, ebb__big *list);
/* Alone, under the mutex: a step towards a hole of so many bytes; false: there is none to take. */
bool ebb__hole_make(ebb__memory *m, size_t bytes);
/* ---- refuse.c: records why ---------------------------------------------------------------- */
/* So many more bytes by kind; with what is held beside them. */
ebb_status ebb__room_refuse(ebb_context *ctx, const size_t more[EBB_KIND_MAX]);
ebb_status ebb__room_refuse_charge(ebb_context *ctx, ebb_kind kind, size_t bytes);
ebb_status ebb__room_refuse_block(ebb_context *ctx, size_t bytes, ebb_kind kind);

#endif
