/* gate.c - kernels side by side; whoever makes room, alone.
 *
 * A thread's holds are a list in its frames, so what it holds is found without a lock. Who waits
 * to be alone goes before those who come to be inside.
 * SPDX-License-Identifier: MIT */
#include "memory/gate.h"

#include "base/check.h"
#include "base/thread.h"

#include <stddef.h>

static EBB__THREAD_HOT ebb__gate_hold *innermost;

void ebb__gate_init(ebb__gate *g, bool single_threaded)
{
    *g = (ebb__gate){.single_threaded = single_threaded};
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->changed, NULL);
}

void ebb__gate_destroy(ebb__gate *g)
{
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->mutex);
}

/* This thread's outermost counted hold of g: there is one that is alone at most, inside another
 * at most. */
static const ebb__gate_hold *mine(const ebb__gate *g)
{
    for (const ebb__gate_hold *h = innermost; h; h = h->outer)
        if (h->gate == g && h->how != EBB__GATE_NESTED) return h;
    return NULL;
}

static void push(ebb__gate_hold *h, ebb__gate *g, int how)
{
    *h = (ebb__gate_hold){.gate = g, .outer = innermost, .how = how};
    innermost = h;
}

static void lock(ebb__gate *g)
{
    if (!g->single_threaded) pthread_mutex_lock(&g->mutex);
}

static void unlock(ebb__gate *g)
{
    if (!g->single_threaded) pthread_mutex_unlock(&g->mutex);
}

/* The state afterwards. */
static unsigned change(ebb__gate *g, unsigned by)
{
    if (!g->single_threaded) return atomic_fetch_add(&g->state, by) + by;
    unsigned after = atomic_load_explicit(&g->state, memory_order_relaxed) + by;
    atomic_store_explicit(&g->state, after, memory_order_relaxed);
    return after;
}

static unsigned n_inside(unsigned state)
{
    return state % EBB__GATE_CLOSED;
}

static unsigned state_of(const ebb__gate *g)
{
    return atomic_load(&g->state);
}

/* One less inside; whoever waits for that hears of it. */
static void go_out(ebb__gate *g)
{
    unsigned state = change(g, -1U);
    if (state < EBB__GATE_CLOSED || n_inside(state)) return;
    lock(g);
    pthread_cond_broadcast(&g->changed);
    unlock(g);
}

static void go_in(ebb__gate *g)
{
    while (change(g, 1) >= EBB__GATE_CLOSED) {
        go_out(g);
        lock(g);
        while (state_of(g) >= EBB__GATE_CLOSED) pthread_cond_wait(&g->changed, &g->mutex);
        unlock(g);
    }
}

void ebb__gate_enter(ebb__gate_hold *h, ebb__gate *g)
{
    h->gate = g;
    if (!g) return;
    bool again = innermost && mine(g);
    push(h, g, again ? EBB__GATE_NESTED : EBB__GATE_INSIDE);
    if (!again) go_in(g);
}

void ebb__gate_enter_alone(ebb__gate_hold *h, ebb__gate *g)
{
    h->gate = g;
    if (!g) return;
    const ebb__gate_hold *have = mine(g);
    bool alone = have && have->how == EBB__GATE_ALONE;
    push(h, g, alone ? EBB__GATE_NESTED : EBB__GATE_ALONE);
    if (alone) return;
    h->suspended = have != NULL;
    lock(g);
    change(g, EBB__GATE_CLOSED);
    if (h->suspended && !n_inside(change(g, -1U))) pthread_cond_broadcast(&g->changed);
    while (g->is_taken || n_inside(state_of(g))) pthread_cond_wait(&g->changed, &g->mutex);
    g->is_taken = true;
    unlock(g);
}

/* From alone to inside, or, where it was nothing before, out. */
static void open_up(ebb__gate *g, bool inside)
{
    lock(g);
    g->is_taken = false;
    change(g, inside - (unsigned)EBB__GATE_CLOSED);
    pthread_cond_broadcast(&g->changed);
    unlock(g);
}

void ebb__gate_share(ebb__gate_hold *h)
{
    if (!h->gate || h->how != EBB__GATE_ALONE) return;
    open_up(h->gate, true);
    h->how = h->suspended ? EBB__GATE_NESTED : EBB__GATE_INSIDE;
}

void ebb__gate_leave(ebb__gate_hold *h)
{
    ebb__gate *g = h->gate;
    if (!g) return;
    EBB_ASSERT(innermost == h);
    innermost = h->outer;
    if (h->how == EBB__GATE_ALONE)
        open_up(g, h->suspended);
    else if (h->how == EBB__GATE_INSIDE)
        go_out(g);
}

bool ebb__gate_is_nested(const ebb__gate *g)
{
    int n = 0;
    for (const ebb__gate_hold *h = innermost; h; h = h->outer) n += h->gate == g;
    return n > 1;
}

bool ebb__gate_is_alone(const ebb__gate *g)
{
    const ebb__gate_hold *have = mine(g);
    return have && have->how == EBB__GATE_ALONE;
}
