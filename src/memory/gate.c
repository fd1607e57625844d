/* gate.c - kernels side by side; whoever makes room, alone.
 *
 * A thread's holds are a list in its frames, so what it holds is found without a lock. Who waits
 * to be alone goes before those who come to be inside.
 * SPDX-License-Identifier: MIT */
#include "memory/gate.h"

#include "base/check.h"

#include <stddef.h>

static _Thread_local ebb__gate_hold *innermost;

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

void ebb__gate_enter(ebb__gate_hold *h, ebb__gate *g)
{
    h->gate = g;
    if (!g) return;
    bool again = innermost && mine(g);
    push(h, g, again ? EBB__GATE_NESTED : EBB__GATE_INSIDE);
    if (again) return;
    lock(g);
    while (g->depth || g->n_waiting) pthread_cond_wait(&g->changed, &g->mutex);
    g->n_inside++;
    unlock(g);
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
    if (h->suspended) g->n_inside--;
    g->n_waiting++;
    if (g->n_inside == 0) pthread_cond_broadcast(&g->changed);
    while (g->depth || g->n_inside) pthread_cond_wait(&g->changed, &g->mutex);
    g->n_waiting--;
    g->depth = 1;
    unlock(g);
}

void ebb__gate_share(ebb__gate_hold *h)
{
    ebb__gate *g = h->gate;
    if (!g || h->how != EBB__GATE_ALONE) return;
    lock(g);
    g->depth = 0;
    g->n_inside++;
    pthread_cond_broadcast(&g->changed);
    unlock(g);
    h->how = h->suspended ? EBB__GATE_NESTED : EBB__GATE_INSIDE;
}

void ebb__gate_leave(ebb__gate_hold *h)
{
    ebb__gate *g = h->gate;
    if (!g) return;
    EBB_ASSERT(innermost == h);
    innermost = h->outer;
    if (h->how == EBB__GATE_NESTED) return;
    lock(g);
    if (h->how == EBB__GATE_ALONE) {
        g->depth = 0;
        if (h->suspended) g->n_inside++;
        pthread_cond_broadcast(&g->changed);
    } else {
        g->n_inside--;
        if (g->n_inside == 0 && g->n_waiting) pthread_cond_broadcast(&g->changed);
    }
    unlock(g);
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
