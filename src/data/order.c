/* order.c - shuffles by Fisher and Yates from a PCG stream per epoch.
 * Source: O'Neill 2014 (PCG-XSH-RR 64/32); bounded draws: Lemire 2019, algorithm 5.
 * SPDX-License-Identifier: MIT */
#include "data/order.h"

typedef struct pcg {
    uint64_t state, increment;
} pcg;

static uint32_t pcg_next(pcg *g)
{
    const uint64_t old = g->state;
    g->state = old * UINT64_C(6364136223846793005) + g->increment;
    const uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27),
                   turn = (uint32_t)(old >> 59);
    return shifted >> turn | shifted << (-turn & 31);
}

static pcg pcg_make(uint64_t seed, uint64_t stream)
{
    pcg g = {.increment = stream << 1 | 1};
    (void)pcg_next(&g);
    g.state += seed;
    (void)pcg_next(&g);
    return g;
}

static uint64_t draw64(pcg *g)
{
    const uint64_t high = pcg_next(g);
    return high << 32 | pcg_next(g);
}

/* Uniform in [0, n), without the bias of a remainder. */
static uint64_t draw_below(pcg *g, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)draw64(g) * n;
    if ((uint64_t)product < n) {
        const uint64_t least = -n % n;
        while ((uint64_t)product < least) product = (wide)draw64(g) * n;
    }
    return (uint64_t)(product >> 64);
}

void ebb__order_shuffle(int64_t *order, int64_t n, uint64_t seed, uint64_t epoch)
{
    pcg g = pcg_make(seed, epoch);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n; i-- > 1;) {
        const int64_t j = (int64_t)draw_below(&g, (uint64_t)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}
