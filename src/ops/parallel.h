/* parallel.h - a range cut into one fixed piece per thread.
 *
 * The pieces depend on n and the number of threads only, so sums made per piece are repeatable.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_PARALLEL_H
#define EBB_OPS_PARALLEL_H

#include <stdint.h>

/* Work on [lo, hi); piece 0 <= part < the number of pieces. */
typedef void (*ebb__range_fn)(const void *arg, int64_t lo, int64_t hi, int32_t part);

/* How many pieces ebb__parallel makes: 1 where n < 2 * grain; else at most n_threads, and each
 * has at least `grain` items. */
int32_t ebb__n_parts(int32_t n_threads, int64_t n, int64_t grain);
/* Runs fn over [0, n) in that many pieces, on the calling thread where that is one. */
void ebb__parallel(int32_t n_threads, int64_t n, int64_t grain, ebb__range_fn fn,
                   const void *arg);

/* Items of `cost` elementary steps each that make a piece worth a thread. */
static inline int64_t ebb__grain(int64_t cost)
{
    return cost >= 16384 ? 1 : 16384 / (cost < 1 ? 1 : cost);
}

#endif
