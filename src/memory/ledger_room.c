/* ledger_room.c - the ledger's tables: vals with what goes with each, recs, links.
 *
 * A table grows in three steps, so that a driver may let go of its locks in the second: what is
 * lacking is asked, a block is allocated, the block is taken over. Whoever comes with a block that is
 * no longer needed takes it away again.
 * SPDX-License-Identifier: MIT */
#include "memory/ledger_inner.h"

#include <string.h>

enum { VALS, RECS, LINKS, TABLES = EBB__LEDGER_TABLES };

typedef struct parts {
    void **table[4];
    size_t bytes[4]; /* of one item each; the largest alignment first */
    int n;
    uint32_t *max, end; /* never used from there on */
} parts;

static parts parts_of(ebb__ledger *l, int which)
{
    if (which == RECS)
        return (parts){{(void **)&l->recs}, {sizeof *l->recs}, 1, &l->recs_max, l->recs_end};
    if (which == LINKS)
        return (parts){
            {(void **)&l->links}, {sizeof *l->links}, 1, &l->links_max, l->links_end};
    return (parts){
        {(void **)&l->vals, (void **)&l->slot_coord, (void **)&l->slot_val,
         (void **)&l->slot_gain},
        {sizeof *l->vals, sizeof *l->slot_coord, sizeof *l->slot_val, sizeof *l->slot_gain},
        4,
        &l->vals_max,
        l->vals_end};
}

static size_t item_bytes(int which)
{
    const parts p = parts_of(&(ebb__ledger){0}, which);
    size_t bytes = 0;
    for (int i = 0; i < p.n; i++) bytes += p.bytes[i];
    return bytes;
}

uint8_t ebb__ledger_links_class(uint32_t n)
{
    return (uint8_t)__builtin_ctzll(ebb__ledger_links(n));
}

static bool lacks(ebb__ledger_table *t, int which, size_t max, size_t need, bool least)
{
    enum { FEWEST = 32 };
    if (need <= max) return false;
    size_t n = max + max / 2;
    if (n < FEWEST) n = FEWEST;
    if (n < need || least) n = need;
    *t = (ebb__ledger_table){.n = n, .which = which};
    t->bytes = n < NONE ? n * item_bytes(which) : SIZE_MAX / 2;
    return true;
}

bool ebb__ledger_lacks(const ebb__ledger *l, ebb__ledger_table *t, size_t vals, size_t recs,
                       size_t links, bool least)
{
    vals = vals > l->n_free_vals ? vals - l->n_free_vals : 0;
    recs = recs > l->n_free_recs ? recs - l->n_free_recs : 0;
    return lacks(t, VALS, l->vals_max, l->vals_end + vals, least) ||
           lacks(t, RECS, l->recs_max, l->recs_end + recs, least) ||
           lacks(t, LINKS, l->links_max, l->links_end + links, least);
}

bool ebb__ledger_has_room(const ebb__ledger *l, size_t n_vals, size_t n_links)
{
    uint8_t size_class = ebb__ledger_links_class((uint32_t)n_links);
    return l->vals_end + n_vals <= l->vals_max + l->n_free_vals &&
           l->recs_end < l->recs_max + l->n_free_recs &&
           (l->free_links[size_class] != NONE ||
            l->links_end + ((size_t)1 << size_class) <= l->links_max);
}

void ebb__ledger_grow(ebb__ledger *l, ebb__ledger_table *t)
{
    parts p = parts_of(l, t->which);
    if (t->n <= *p.max) return;
    ebb__ledger_table old = {.n = *p.max, .which = t->which};
    old.block = *p.table[0];
    old.bytes = old.n * item_bytes(t->which);
    char *at = t->block;
    for (int i = 0; i < p.n; i++) {
        if (p.end) memcpy(at, *p.table[i], p.end * p.bytes[i]);
        *p.table[i] = at;
        at += t->n * p.bytes[i];
    }
    *p.max = (uint32_t)t->n;
    l->bytes += t->bytes - old.bytes;
    *t = old;
}

void ebb__ledger_cut(ebb__ledger *l, const size_t least[TABLES], size_t bytes[TABLES])
{
    for (int which = VALS; which < TABLES; which++) {
        parts p = parts_of(l, which);
        size_t n = p.end > least[which] ? p.end : least[which];
        if (n > *p.max) n = *p.max;
        char *at = *p.table[0];
        for (int i = 0; i < p.n; i++) {
            if (p.end) memmove(at, *p.table[i], p.end * p.bytes[i]);
            *p.table[i] = n ? at : NULL; /* the next one may come to lie there */
            at += n * p.bytes[i];
        }
        bytes[which] = n * item_bytes(which);
        l->bytes -= (*p.max - n) * item_bytes(which);
        *p.max = (uint32_t)n;
    }
}

void ebb__ledger_moved(ebb__ledger *l, int which, void *to)
{
    parts p = parts_of(l, which);
    char *at = to;
    for (int i = 0; i < p.n; i++) {
        *p.table[i] = at;
        at += *p.max * p.bytes[i];
    }
}

static void empty(ebb__ledger *l, int which)
{
    if (which == VALS) {
        l->free_val = NONE;
        l->vals_end = l->n_free_vals = l->n_candidates = 0;
        l->awake = false;
    } else if (which == RECS) {
        l->free_rec = NONE;
        l->recs_end = l->n_free_recs = 0;
    } else {
        l->links_end = l->n_links = 0;
        for (int i = 0; i < 32; i++) l->free_links[i] = NONE;
    }
}

size_t ebb__ledger_taken_bytes(const ebb__ledger *l)
{
    size_t vals = l->vals_end - l->n_free_vals, recs = l->recs_end - l->n_free_recs;
    return vals * item_bytes(VALS) + recs * item_bytes(RECS) + l->n_links * item_bytes(LINKS);
}

bool ebb__ledger_is_empty(const ebb__ledger *l)
{
    return l->vals_end == l->n_free_vals;
}

void ebb__ledger_clear(ebb__ledger *l)
{
    for (int which = VALS; which < TABLES; which++) empty(l, which);
    l->resident_bytes = l->droppable_bytes = 0;
    for (int i = 0; i < EBB__LEDGER_GROUPS; i++) l->free_bytes[i] = 0;
}

bool ebb__ledger_holds(const ebb__ledger *l, size_t vals, size_t recs, size_t links)
{
    return vals <= l->vals_max && recs <= l->recs_max && links <= l->links_max;
}

bool ebb__ledger_shed(ebb__ledger *l, ebb__ledger_table *t)
{
    for (int which = VALS; which < TABLES; which++) {
        parts p = parts_of(l, which);
        if (!*p.max) continue;
        *t = (ebb__ledger_table){*p.table[0], *p.max * item_bytes(which), *p.max, which};
        *p.max = 0;
        *p.table[0] = NULL;
        l->bytes -= t->bytes;
        empty(l, which);
        return true;
    }
    return false;
}

ebb_status ebb__ledger_reserve(ebb__ledger *l, size_t vals, size_t recs, size_t links)
{
    ebb__ledger_table t;
    while (ebb__ledger_lacks(l, &t, vals, recs, links, false)) {
        t.block = t.bytes < SIZE_MAX / 2 ? ebb__alloc(&l->allocator, t.bytes, 64) : NULL;
        if (!t.block)
            return ebb__fail(EBB_E_NOMEM, "no memory for a ledger of %zu entries", t.n);
        ebb__ledger_grow(l, &t);
        ebb__free(&l->allocator, t.block, t.bytes);
    }
    return EBB_OK;
}

ebb_status ebb__ledger_create(ebb__ledger **out, const ebb_allocator *allocator)
{
    ebb__ledger *l = ebb__alloc(allocator, sizeof *l, 64);
    if (!l) return ebb__fail(EBB_E_NOMEM, "no memory for a ledger");
    memset(l, 0, sizeof *l);
    l->allocator = *allocator;
    l->bytes = sizeof *l;
    l->policy = ebb__policy_next;
    l->likely.part = 0.8;
    empty(l, VALS);
    empty(l, RECS);
    empty(l, LINKS);
    *out = l;
    return EBB_OK;
}

void ebb__ledger_destroy(ebb__ledger *l)
{
    if (!l) return;
    const ebb_allocator a = l->allocator;
    ebb__ledger_table t;
    while (ebb__ledger_shed(l, &t)) ebb__free(&a, t.block, t.bytes);
    ebb__free(&a, l, sizeof *l);
}
