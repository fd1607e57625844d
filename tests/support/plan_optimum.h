/* plan_optimum.h - the cheapest of all schedules, by trying every one.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_PLAN_OPTIMUM_H
#define EBB_TESTS_PLAN_OPTIMUM_H

#include "memory/program.h"

enum { PLAN_OPTIMUM_VALS = 16 };

/* Cost of the cheapest schedule that runs p's steps in their order within the budget, making
 * again between them what it likes; costs are whole numbers below 256. INFINITY: none. Dijkstra
 * over (steps done, vals in memory); at most PLAN_OPTIMUM_VALS vals. */
double plan_optimum(const ebb__program *p, uint64_t budget);
/* Extra cost of the cheapest schedule for plan_trace_chain of n in a budget of so many bytes,
 * by the recurrence of treeverse (Griewank 1992) with one snapshot pinned. */
double plan_optimum_chain(uint32_t n, uint32_t budget);

#endif
