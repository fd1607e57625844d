/* parallel.c - a range cut into one fixed piece per thread.
 * SPDX-License-Identifier: MIT */
#include "ops/parallel.h"

int32_t ebb__n_parts(int32_t n_threads, int64_t n, int64_t grain)
{
    if (n_threads < 2 || n < 2 * grain) return 1;
    int64_t most = n / grain;
    return most < n_threads ? (int32_t)most : n_threads;
}

void ebb__parallel(int32_t n_threads, int64_t n, int64_t grain, ebb__range_fn fn,
                   const void *arg)
{
    int32_t n_parts = ebb__n_parts(n_threads, n, grain);
    if (n_parts == 1) {
        fn(arg, 0, n, 0);
        return;
    }
    int64_t each = n / n_parts, more = n % n_parts;
#pragma omp parallel for num_threads(n_parts) schedule(static, 1)
    for (int32_t part = 0; part < n_parts; part++) {
        int64_t lo = part * each + (part < more ? part : more);
        fn(arg, lo, lo + each + (part < more), part);
    }
}
