/* compact.c - holes joined by moving blocks, so that bytes that are free can be had in one piece.
 *
 * Called alone (gate.h) with the mutex held, so that whoever looks at an address is either done or
 * has pinned it. A pin takes no lock: a value that is on the move says so first, and stays where
 * it is if pinned then. What is pinned stays where it is; what never moves lies beyond all that does
 * (tables.c).
 *
 * Two ways, of which the one that moves less is taken: what lies in a stretch of the length
 * wanted goes to holes elsewhere (cleared), or what lies between neighbouring holes slides down
 * until these are one. The first moves no more than is wanted, but needs holes that fit.
 *
 * Values are found by their blocks' addresses in lists, one for each 4096 bytes, kept from the first
 * compaction on.
 * SPDX-License-Identifier: MIT */
#include "memory/room.h"

enum {
    HOLES_MAX = 384, /* the largest that are looked at */
    PIECES_MAX = 64, /* blocks and holes in a stretch to be cleared */
    TRIES = 4        /* stretches */
};

/* ---- who has a block --------------------------------------------------------------------- */

static inline char *block(const ebb__big *b)
{
    return b->value.data;
}

void ebb__place_set(ebb__memory *m, ebb__big *b)
{
    if (!b->value.data || b->value.external) return;
    void **first = ebb__arena_word(m->arena, block(b));
    b->beside = *first;
    b->beside_prev = first;
    if (b->beside) ((ebb__big *)b->beside)->beside_prev = &b->beside;
    *first = b;
}

bool ebb__place_is_known(const ebb__memory *m, const ebb__big *b)
{
    if (!m->has_places || !b->value.data || b->value.external) return !b->beside_prev;
    void **first = ebb__arena_word(m->arena, block(b));
    const ebb__big *one = first ? *first : NULL;
    while (one && one != b) one = one->beside;
    return one != NULL;
}

static void places_begin(ebb__memory *m)
{
    if (m->has_places) return;
    m->has_places = true;
    for (ebb__big *b = m->all; b; b = b->next) ebb__place_set(m, b);
    for (ebb__big *b = m->tables; b; b = b->next) ebb__place_set(m, b);
}

static bool movable(const ebb__big *b)
{
    if (b->value.kind == EBB_KIND_BOOKKEEPING) {
        const ebb__table *t = (const ebb__table *)b;
        return t->moved && (!t->thread || t->thread == ebb__thread_self());
    }
    return atomic_load_explicit(&b->value.pins, memory_order_relaxed) == 0;
}

/* The value that has the used block at p, if it can move; else NULL. */
static ebb__big *movable_at(const ebb__memory *m, const char *p)
{
    void **first = ebb__arena_word(m->arena, p);
    ebb__big *b = first ? *first : NULL;
    while (b && block(b) != p) b = b->beside;
    return b && movable(b) ? b : NULL;
}

/* NULL: to the start of the hole before it. False, and nothing has moved, where b is pinned. */
static bool move_to(ebb__memory *m, ebb__big *b, void *to)
{
    ebb__value *v = &b->value;
    unsigned state = ebb__state_get(v);
    ebb__state_set(v, EBB__VALUE_MOVING);
    bool pinned = atomic_load(&v->pins) != 0; /* in this order: see ebb__value_pin */
    if (!pinned) {
        const char *from = v->data;
        ebb__place_leave(b);
        if (to)
            v->data = memcpy(to, v->data, v->bytes);
        else
            v->data = ebb__arena_slide(m->arena, v->data, v->bytes);
        ebb__place_set(m, b);
        m->moved_bytes += v->bytes;
        if (v->kind == EBB_KIND_BOOKKEEPING) ebb__table_moved(m, (ebb__table *)b, from);
    }
    ebb__state_set(v, state);
    return !pinned;
}

/* ---- a stretch cleared ------------------------------------------------------------------- */

typedef struct holes {
    ebb__arena_hole at[HOLES_MAX];
    size_t n;
    bool barred[HOLES_MAX]; /* no stretch is cleared from here on */
    bool closed[HOLES_MAX]; /* what lies behind it stays */
} holes;

/* From the start of a hole on: what moves if it becomes free for so many bytes. */
typedef struct stretch {
    size_t first; /* hole */
    size_t live;  /* at least; SIZE_MAX: there is none */
} stretch;

typedef struct piece {
    char *at, *to;
    size_t bytes;
    ebb__big *b; /* NULL: a hole */
} piece;

static stretch stretch_find(const holes *h, size_t bytes)
{
    stretch best = {.live = SIZE_MAX};
    size_t free = 0;
    for (size_t i = 0, end = 0; i < h->n; i++) {
        const char *from = h->at[i].at, *to = from + bytes;
        for (; end < h->n && h->at[end].at < to; end++) free += h->at[end].bytes;
        const char *last = h->at[end - 1].at + h->at[end - 1].bytes;
        size_t beyond = last > to ? (size_t)(last - to) : 0, live = bytes + beyond - free;
        if (!h->barred[i] && live < best.live) best = (stretch){i, live};
        free -= h->at[i].bytes;
    }
    return best;
}

/* Its blocks and holes; 0: something in it cannot move, or there are too many. */
static size_t stretch_walk(const ebb__memory *m, piece *out, char *at, size_t bytes)
{
    size_t n = 0;
    for (char *p = at; p < at + bytes; p += out[n++].bytes) {
        if (n == PIECES_MAX) return 0;
        size_t free = ebb__arena_free_at(m->arena, p);
        ebb__big *b = free ? NULL : movable_at(m, p);
        if (!free && !b) return 0;
        out[n] = (piece){.at = p, .bytes = free ? free : b->value.bytes, .b = b};
    }
    return n;
}

/* A place for each block; the holes of the stretch are taken first, so that none is there. */
static bool places_find(ebb__memory *m, piece *pieces, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        if (!pieces[i].b) ebb__arena_claim(m->arena, pieces[i].at);
    for (size_t i = 0; i < n && ok; i++)
        if (pieces[i].b)
            ok = (pieces[i].to = ebb__arena_alloc(m->arena, 0, pieces[i].bytes)) != NULL;
    for (size_t i = 0; i < n && !ok; i++) {
        if (pieces[i].to) ebb__arena_free(m->arena, pieces[i].to, pieces[i].bytes);
        if (!pieces[i].b) ebb__arena_free(m->arena, pieces[i].at, pieces[i].bytes);
    }
    return ok;
}

static bool stretch_clear(ebb__memory *m, char *at, size_t bytes)
{
    piece pieces[PIECES_MAX];
    size_t n = stretch_walk(m, pieces, at, bytes);
    if (!n || !places_find(m, pieces, n)) return false;
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        bool moved = !pieces[i].b || move_to(m, pieces[i].b, pieces[i].to);
        ebb__arena_free(m->arena, moved ? pieces[i].at : pieces[i].to, pieces[i].bytes);
        ok &= moved;
    }
    return ok;
}

/* ---- holes that slide together ----------------------------------------------------------- */

typedef struct window {
    size_t first, last; /* holes */
    size_t live;        /* SIZE_MAX: there is none */
} window;

/* The fewest live bytes between neighbouring holes that come to `bytes`. */
static window window_find(const holes *h, size_t bytes)
{
    window best = {.live = SIZE_MAX};
    size_t free = 0;
    for (size_t i = 0, first = 0; i < h->n; i++) {
        if (i && h->closed[i - 1]) {
            first = i;
            free = 0;
        }
        free += h->at[i].bytes;
        while (free - h->at[first].bytes >= bytes) free -= h->at[first++].bytes;
        size_t span = (size_t)(h->at[i].at - h->at[first].at);
        size_t live = span - (free - h->at[i].bytes);
        if (free >= bytes && live < best.live) best = (window){first, i, live};
    }
    return best;
}

static char *after(const ebb__memory *m, const char *p, size_t bytes)
{
    return ebb__arena_next(m->arena, p + bytes);
}

/* Marks what stays where it is. */
static bool window_can_slide(const ebb__memory *m, holes *h, const window *w)
{
    size_t hole = w->first, bytes = h->at[hole].bytes;
    const char *end = h->at[w->last].at;
    for (char *p = after(m, h->at[hole].at, bytes); p < end; p = after(m, p, bytes)) {
        const ebb__big *b = movable_at(m, p);
        while (h->at[hole + 1].at < p) hole++;
        if (!b) {
            h->closed[hole] = true;
            return false;
        }
        bytes = b->value.bytes;
    }
    return true;
}

/* The movable blocks from p to before `end`; false: one that stays was among them. */
static bool slide(ebb__memory *m, char *p, const char *end)
{
    bool all = true;
    for (char *next; p && (!end || p < end); p = next) {
        ebb__big *b = movable_at(m, p);
        next = after(m, p, b ? b->value.bytes : EBB__ARENA_GRAIN);
        bool moves = b && ebb__arena_free_before(m->arena, p);
        if (!b || (moves && !move_to(m, b, NULL))) all = false;
    }
    return all;
}

/* ---- both -------------------------------------------------------------------------------- */

bool ebb__compact(ebb__memory *m, size_t bytes, size_t most)
{
    holes h;
    places_begin(m);
    h.n = ebb__arena_holes(m->arena, h.at, HOLES_MAX);
    memset(h.barred, 0, sizeof h.barred);
    memset(h.closed, 0, sizeof h.closed);
    for (int tries = 0;;) {
        stretch s = {.live = SIZE_MAX};
        if (tries < TRIES) s = stretch_find(&h, bytes);
        window w = window_find(&h, bytes);
        if (s.live < w.live && s.live <= most) {
            if (stretch_clear(m, h.at[s.first].at, bytes)) return true;
            h.barred[s.first] = true;
            tries++;
        } else if (w.live == SIZE_MAX || w.live > most) {
            return false;
        } else if (window_can_slide(m, &h, &w)) {
            const ebb__arena_hole *first = &h.at[w.first];
            return slide(m, after(m, first->at, first->bytes), h.at[w.last].at);
        }
    }
}

void ebb__compact_all(ebb__memory *m)
{
    places_begin(m);
    slide(m, ebb__arena_next(m->arena, NULL), NULL);
}

bool ebb__compact_edge(ebb__memory *m, size_t bytes)
{
    holes h;
    places_begin(m);
    size_t i = ebb__arena_holes(m->arena, h.at, HOLES_MAX), free = 0;
    while (i > 0 && h.at[i - 1].at > m->edge) i--;
    while (i > 0 && free < bytes) free += h.at[--i].bytes;
    return free >= bytes && slide(m, after(m, h.at[i].at, h.at[i].bytes), m->edge);
}
