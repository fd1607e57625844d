/* lock.h - a one-byte spin lock for critical sections of a few instructions; a mutex for longer
 * ones.
 *
 * Holders never allocate, call out or take a second node or value lock while they hold one.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_LOCK_H
#define EBB_BASE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ebb__lock {
    atomic_uchar held;
} ebb__lock;

/* Spins, then yields the processor: the holder may have been preempted. */
void ebb__lock_wait(ebb__lock *lock);

static inline void ebb__lock_take(ebb__lock *lock)
{
    if (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire)) ebb__lock_wait(lock);
}
static inline void ebb__lock_give(ebb__lock *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* For sections that are mostly short: where the C library can, it tries for a while before it
 * sleeps. */
void ebb__mutex_init(pthread_mutex_t *mutex);

#endif
