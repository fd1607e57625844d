/* tables.c - bookkeeping in the one chunk of a budget: what never moves, and tables, which do.
 *
 * What never moves (slabs of small objects, and objects too large for them) lies at the end of the
 * chunk and grows downwards: `edge` is where it begins, and what is in the way slides. So it cuts
 * up nothing that moves. Outgrown tables would leave holes of all sizes among it; so they move
 * as values do, and who owns one is told. Without such a chunk both come from the allocator.
 * SPDX-License-Identifier: MIT */
#include "memory/room.h"

static void *outside_alloc(ebb__memory *m, size_t bytes)
{
    size_t budget = ebb__account_budget(m->owner->account);
    if (budget) {
        ebb__memory_enter(m);
        size_t slabs = atomic_load_explicit(&m->slab_bytes, memory_order_relaxed);
        if (ebb__arena_chunk_bytes(m->arena) + slabs + bytes > budget)
            ebb__arena_trim(m->arena);
        ebb__memory_leave(m);
    }
    return ebb__alloc(&m->owner->allocator, bytes, EBB__ARENA_GRAIN);
}

/* ---- what never moves -------------------------------------------------------------------- */

/* A hole beyond the edge, or what is free directly before it; under the mutex. */
static char *edge_take(ebb__memory *m, size_t bytes)
{
    char *p = ebb__arena_alloc_high(m->arena, bytes);
    if (!p || p >= m->edge) return p;
    if (p + bytes == m->edge) return m->edge = p;
    ebb__arena_free(m->arena, p, bytes);
    return NULL;
}

/* The bytes are free. Where what is pinned is in the way it is given up to lie beyond. */
static void *edge_clear(ebb__memory *m, size_t bytes)
{
    ebb__gate_hold hold;
    ebb__gate_enter_alone(&hold, &m->gate);
    ebb__memory_enter(m);
    char *p = edge_take(m, bytes);
    if (!p && ebb__compact_edge(m, bytes)) p = edge_take(m, bytes);
    if (!p) {
        ebb__compact_all(m);
        p = edge_take(m, bytes);
    }
    while (!p && !(p = ebb__arena_alloc_high(m->arena, bytes)) && ebb__hole_make(m, bytes)) {
    }
    ebb__memory_leave(m);
    ebb__gate_leave(&hold);
    return p;
}

void *ebb__fixed_alloc(ebb__memory *m, size_t bytes)
{
    if (!ebb__arena_is_fixed(m->arena)) return outside_alloc(m, bytes);
    bytes = ebb__round_64(bytes);
    ebb__memory_enter(m);
    void *p = edge_take(m, bytes);
    ebb__memory_leave(m);
    if (!p) p = edge_clear(m, bytes);
    if (p) atomic_fetch_add_explicit(&m->region_bytes, bytes, memory_order_relaxed);
    return p;
}

void ebb__fixed_free(ebb__memory *m, void *p, size_t bytes)
{
    if (!ebb__arena_is_fixed(m->arena)) {
        ebb__free(&m->owner->allocator, p, bytes);
        return;
    }
    bytes = ebb__round_64(bytes);
    if (p == m->edge) m->edge += bytes + ebb__arena_free_at(m->arena, (char *)p + bytes);
    ebb__arena_free(m->arena, p, bytes);
    atomic_fetch_sub_explicit(&m->region_bytes, bytes, memory_order_relaxed);
}

/* ---- tables ------------------------------------------------------------------------------ */

static bool table_block(ebb__memory *m, ebb__table *t, size_t bytes, bool stays)
{
    const ebb_kind place = stays ? EBB_KIND_SCRATCH : EBB_KIND_BOOKKEEPING;
    void **at = &t->big.value.data;
    while (!ebb__account_try(m->owner->account, EBB_KIND_BOOKKEEPING, bytes))
        if (!ebb__room_more(m->owner, bytes)) return false;
    if (!ebb__arena_is_fixed(m->arena)) {
        *at = outside_alloc(m, bytes);
    } else if (!ebb__room_block(at, m->owner, bytes, place, &t->big)) {
        *at = NULL;
    }
    if (!*at) ebb__account_take_back(m->owner->account, EBB_KIND_BOOKKEEPING, bytes);
    return *at != NULL;
}

ebb__table *ebb__table_make(ebb__memory *m, size_t bytes, bool stays)
{
    ebb_error pending;
    ebb_error_get(&pending);
    ebb__table *t = ebb__object_alloc(m->owner, sizeof *t);
    bytes = ebb__round_64(bytes);
    if (t) {
        *t = (ebb__table){
            .big.value = {.kind = EBB_KIND_BOOKKEEPING, .bytes = bytes, .ctx = m->owner}};
        if (!table_block(m, t, bytes, stays)) {
            ebb__object_free(m->owner, t, sizeof *t);
            t = NULL;
        }
    }
    if (!t) ebb__error_adopt(&pending);
    return t;
}

void ebb__table_drop(ebb__memory *m, ebb__table *t)
{
    if (!t) return;
    const size_t bytes = t->big.value.bytes;
    if (ebb__arena_is_fixed(m->arena)) {
        ebb__list_remove(&t->big);
        ebb__place_leave(&t->big);
        ebb__arena_free(m->arena, t->big.value.data, bytes);
    } else {
        ebb__free(&m->owner->allocator, t->big.value.data, bytes);
    }
    ebb__account_discharge(m->owner->account, EBB_KIND_BOOKKEEPING, bytes);
    ebb__object_dead(m, t, sizeof *t);
}

bool ebb__table_cut(ebb__memory *m, ebb__table *t, size_t bytes)
{
    size_t now = t->big.value.bytes;
    bytes = ebb__round_64(bytes);
    if (bytes >= now) return false;
    ebb__arena_cut(m->arena, t->big.value.data, now, bytes);
    t->big.value.bytes = bytes;
    ebb__account_discharge(m->owner->account, EBB_KIND_BOOKKEEPING, now - bytes);
    return true;
}

void ebb__table_moved(ebb__memory *m, ebb__table *t, const char *from)
{
    char *to = t->big.value.data, *left = (char *)m->left_table, *named = (char *)m->named;
    const char *end = from + t->big.value.bytes;
    if (left >= from && left < end) m->left_table = (uint32_t *)(void *)(to + (left - from));
    if (named >= from && named < end) m->named = (ebb__value **)(void *)(to + (named - from));
    t->moved(t->owner, to);
}
