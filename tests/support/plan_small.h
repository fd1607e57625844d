/* plan_small.h - small programs, and how near to the cheapest schedule they are planned.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_PLAN_SMALL_H
#define EBB_TESTS_PLAN_SMALL_H

#include "memory/program.h"

/* Up to 12 values of 1 to 4 bytes: a source, then operations of cost 1 to 9 that read one or two
 * earlier values; each is released after the last that reads it. */
void plan_trace_random(ebb__trace *t, uint64_t seed);
/* A training step in small: 6 layers, some of which also read an earlier value; the backward of
 * each reads the gradient after it and any of what the layer read and made. Values that the
 * backward passes read are released there. */
void plan_trace_training(ebb__trace *t, uint64_t seed);

typedef struct plan_tally {
    /* Budgets at which a schedule exists; it makes something again; one is planned; the
     * cheapest is. */
    int n_possible, n_pressed, n_planned, n_optimal;
    double worst; /* planned over cheapest */
} plan_tally;
/* Plans t at every budget from below the least conceivable to the most that is of use; fails where
 * the bound is above the cheapest schedule, or a plan below. */
void plan_compare(plan_tally *sum, const ebb__trace *t, bool has_all_acts);

#endif
