/* compact.c - holes joined by moving blocks, so that bytes that are free can be had in one piece.
 *
 * Called alone (gate.h) with the mutex held, so that whoever looks at an address is either done or
 * has pinned it. A pin takes no lock: a value that is on the move says so first, and stays where
 * it is if pinned then. Blocks that are not a value's, or are pinned, bound the windows in which
 * blocks slide; slabs lie above all results, so that they do not cut up what these share.
 * SPDX-License-Identifier: MIT */
#include "memory/room.h"

static inline char *block(const ebb__big *b)
{
    return b->value.data;
}

static bool movable(const ebb__big *b)
{
    return b->value.data && !b->value.external &&
           atomic_load_explicit(&b->value.pins, memory_order_relaxed) == 0;
}

static ebb__big *merge(ebb__big *x, ebb__big *y)
{
    ebb__big *first = NULL, **end = &first;
    while (x && y) {
        ebb__big **least = (uintptr_t)block(x) < (uintptr_t)block(y) ? &x : &y;
        *end = *least;
        end = &(*least)->work;
        *least = *end;
    }
    *end = x ? x : y;
    return first;
}

/* What can move, in the order of addresses, linked by `work`. Lists of 2^i at place i. */
static ebb__big *movables(ebb__memory *m)
{
    ebb__big *sorted[48] = {NULL}, *all = NULL;
    for (ebb__big *b = m->all; b; b = b->next) {
        if (!movable(b)) continue;
        ebb__big *one = b;
        one->work = NULL;
        int i = 0;
        for (; sorted[i]; i++) {
            one = merge(sorted[i], one);
            sorted[i] = NULL;
        }
        sorted[i] = one;
    }
    for (int i = 0; i < 48; i++)
        if (sorted[i]) all = all ? merge(sorted[i], all) : sorted[i];
    return all;
}

typedef struct window {
    ebb__big *from, *last;
    size_t free, live;
} window;

/* Between `before` and b lies nothing, or one free block. */
static bool adjoins(const ebb__arena *a, const ebb__big *before, const ebb__big *b)
{
    size_t free = ebb__arena_free_before(a, block(b));
    return block(before) + before->value.bytes + free == block(b);
}

/* The fewest live bytes between free ones that come to `bytes`. from NULL: there is none. */
static window window_find(const ebb__arena *a, ebb__big *all, size_t bytes)
{
    window best = {.live = SIZE_MAX}, w = {0};
    for (ebb__big *b = all, *before = NULL; b; before = b, b = b->work) {
        if (!before || !adjoins(a, before, b))
            w = (window){.from = b, .free = ebb__arena_free_before(a, block(b))};
        w.last = b;
        w.free += ebb__arena_free_after(a, block(b), b->value.bytes);
        w.live += b->value.bytes;
        while (w.from != b) {
            size_t least = ebb__arena_free_before(a, block(w.from));
            if (w.free - least < bytes) break;
            w.free -= least;
            w.live -= w.from->value.bytes;
            w.from = w.from->work;
        }
        if (w.free >= bytes && w.live < best.live) best = w;
    }
    return best;
}

static bool slide(ebb__memory *m, ebb__big *b)
{
    ebb__value *v = &b->value;
    unsigned state = ebb__state_get(v);
    if (ebb__arena_free_before(m->arena, v->data) == 0) return true;
    ebb__state_set(v, EBB__VALUE_MOVING);
    bool pinned = atomic_load(&v->pins) != 0; /* in this order: see ebb__value_pin */
    if (!pinned) {
        v->data = ebb__arena_slide(m->arena, v->data, v->bytes);
        m->moved_bytes += v->bytes;
    }
    ebb__state_set(v, state);
    return !pinned;
}

bool ebb__compact(ebb__memory *m, size_t bytes, size_t most)
{
    window w = window_find(m->arena, movables(m), bytes);
    if (!w.from || w.live > most) return false;
    for (ebb__big *b = w.from;; b = b->work) {
        if (!slide(m, b)) return false;
        if (b == w.last) return true;
    }
}

void ebb__compact_all(ebb__memory *m)
{
    for (ebb__big *b = movables(m); b; b = b->work) (void)slide(m, b);
}

bool ebb__is_below_movable(const ebb__memory *m, const void *p)
{
    for (const ebb__big *b = m->all; b; b = b->next)
        if (movable(b) && (uintptr_t)block(b) > (uintptr_t)p &&
            (b->value.kind == EBB_KIND_ACTIVATION || b->value.kind == EBB_KIND_TEMPORARY))
            return true;
    return false;
}
