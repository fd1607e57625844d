/* gate.h - who may use bytes side by side, and who moves or makes them alone.
 *
 * Threads whose kernels run are inside, side by side. One that must make room (evict, run recipes,
 * move blocks) and finds too little goes alone: it waits until nobody is inside. A thread that
 * is inside and asks to be alone (a user's kernel that calls back) counts as outside while it
 * waits; its pins stand, so others leave its blocks where they are. Both are re-entrant.
 *
 * Lock order: the gate before the memory's mutex; nothing is held that a kernel might wait for.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_GATE_H
#define EBB_MEMORY_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* state: how many are inside, and EBB__GATE_CLOSED for each that is alone or waits to be. Who
 * comes counts itself first and then looks, so nobody takes the mutex while nobody is or wants to
 * be alone. */
typedef struct ebb__gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool single_threaded;
    atomic_uint state;
    bool is_taken; /* somebody is alone; under the mutex */
} ebb__gate;
enum { EBB__GATE_CLOSED = 1 << 16 };

/* In the frame of whoever has entered; entries of one thread nest. */
typedef struct ebb__gate_hold {
    ebb__gate *gate;
    struct ebb__gate_hold *outer;
    enum { EBB__GATE_NESTED, EBB__GATE_INSIDE, EBB__GATE_ALONE } how;
    bool suspended; /* an outer hold of this thread was inside, and is again afterwards */
} ebb__gate_hold;

void ebb__gate_init(ebb__gate *g, bool single_threaded);
void ebb__gate_destroy(ebb__gate *g);
/* A NULL gate lets everybody through. */
void ebb__gate_enter(ebb__gate_hold *h, ebb__gate *g);
void ebb__gate_enter_alone(ebb__gate_hold *h, ebb__gate *g);
/* From alone to inside, without others in between; a nested hold stays as it is. */
void ebb__gate_share(ebb__gate_hold *h);
void ebb__gate_leave(ebb__gate_hold *h);
/* Has the calling thread entered more than once: what the outer ones have pinned is in the way. */
bool ebb__gate_is_nested(const ebb__gate *g);
/* Is the calling thread the one that is alone. */
bool ebb__gate_is_alone(const ebb__gate *g);

#endif
