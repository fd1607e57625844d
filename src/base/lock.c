/* lock.c - waiting for a spin lock; mutexes that spin before they sleep.
 * Invariant: critical sections are a few instructions long, so a lock that stays held for
 * longer than some hundred tries has a preempted holder, and the processor goes to somebody
 * else.
 * SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <sched.h>

enum { SPINS_BEFORE_YIELD = 200 };

static inline void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

void ebb__mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
#if defined __GLIBC__ && defined _GNU_SOURCE
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

void ebb__lock_wait(ebb__lock *lock)
{
    for (;;) {
        for (int i = 0; i < SPINS_BEFORE_YIELD; i++) {
            /* Read before trying: a failing exchange would take the cache line each time. */
            if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
                !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
                return;
            relax();
        }
        sched_yield();
    }
}
