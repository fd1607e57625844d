/* planning.h - between steps, the planner at work on steps that have been seen twice.
 *
 * It is given a share of the time that steps take and saves it up. One step after the other is
 * worked on: first the smallest budget that would do is looked for, then for the best plan. What
 * it works in is bookkeeping, within the budget: kept from step to step where that is little, else
 * made once there is time for all of the work, and gone before the next step begins.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_PLANNING_H
#define EBB_MEMORY_PLANNING_H

#include "memory/trace_cache.h"
#include "memory/workspace.h"

typedef struct ebb__planning {
    ebb__learned *of; /* what is worked on; NULL: nothing */
    ebb__workspace space;
    ebb_allocator allocator;
    ebb__program program;
    ebb__planner planner;
    bool has_program, has_planner;
    ebb__ghost *look;       /* whether a smaller budget would do; NULL: none is under way */
    uint32_t n_runs;        /* simulated, the last time */
    double (*now)(void);    /* ns; NULL: time */
    double spent, steps_ns; /* in all */
    double least_ns;        /* of the shortest step */
    double item_ns;         /* what a simulated run took last, by operation and val */
} ebb__planning;

/* A step that took so long has ended, and was this one (NULL: not kept). */
void ebb__planning_step(ebb__planning *p, ebb_context *ctx, ebb__learned *l, double step_ns);
void ebb__planning_end(ebb__planning *p, ebb_context *ctx);

#endif
