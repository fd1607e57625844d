/* planner.h - from one recorded iteration and a budget to what the next one should do.
 *
 * A plan is a policy for the ledger, an axis for next uses and weights: whoever feeds the ledger
 * an iteration like the recorded one, with these, takes the simulated run's decisions and pays
 * its cost. It only advises: where the iteration turns out otherwise, what the ledger does stays
 * right.
 *
 * The planner tries candidates by simulation, one at a time, and keeps the cheapest: next uses by
 * time and by shadow prices with the powers that mostly win, DTR's heuristic, so that it is never
 * worse, then many powers, then small random changes to the weights of the best. It works for as long as
 * it is given time and can be asked for the best so far at any moment.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_PLANNER_H
#define EBB_MEMORY_PLANNER_H

#include "memory/bound.h"
#include "memory/ghost.h"

/* On single vals; ghost.h says what each means. */
typedef struct ebb__advice {
    float *weights;  /* of vals */
    uint8_t *early;  /* of links */
    uint32_t *again; /* of vals */
} ebb__advice;

typedef struct ebb__plan {
    ebb__ghost_result result; /* end != EBB__GHOST_DONE: none found yet */
    ebb__policy policy;
    double mix;      /* of the axis, ebb__bound_axis; 1: time */
    bool is_advised; /* else without advice */
    double *axis;    /* n_steps + 1 */
    ebb__advice advice;
} ebb__plan;

/* What ebb__ghost_run takes to repeat it; points into it. */
void ebb__plan_options(ebb__ghost_options *out, const ebb__plan *plan, uint64_t budget);

/* What a run has done, in its order. */
typedef struct ebb__acts {
    ebb__ghost_event *list;
    uint32_t n, max;
} ebb__acts;

typedef struct ebb__planner {
    const ebb__program *p;
    uint64_t budget;
    /* Set it where the driver can do all that advice may ask for; else it has EBB__ACT_DROP
     * alone. */
    bool has_all_acts;
    ebb__plan best;
    ebb__acts acts; /* of the best run */
    ebb__bound bound;
    uint32_t chain, candidate; /* the next ones; beyond the last: local search */
    uint32_t n_tried, n_since; /* simulations in all, since the last gain by local search */
    uint64_t random;
    ebb__ghost *run;          /* under way; NULL: none */
    ebb__plan now;            /* what it simulates */
    ebb__acts now_acts;       /* the same */
    bool is_search, is_short; /* the same; no memory for its acts */
    ebb__policy walk_policy;  /* where local search is */
    double walk_mix, walk_cost;
    ebb__advice walk;
    void *block;
    size_t block_bytes;
} ebb__planner;

/* p must outlive it. Errors: E_NOMEM. */
ebb_status ebb__planner_create(ebb__planner *out, const ebb__program *p, uint64_t budget);
void ebb__planner_destroy(ebb__planner *n);
/* Another planner has tried so many candidates and found a plan of that cost (INFINITY: none). */
void ebb__planner_resume(ebb__planner *n, uint32_t at, double cost);
/* So many pieces of work, whatever they take: simulated runs, or prices made better. *is_done: none of
 * them is left; the portfolio is through and local search has found nothing for a while. Errors:
 * E_NOMEM, the plan is as it was. */
ebb_status ebb__planner_work(bool *is_done, ebb__planner *n, uint32_t pieces);
/* A small part of a piece. */
ebb_status ebb__planner_bit(bool *is_done, ebb__planner *n);

/* The least budget of which it is known that it works, for at most `limit` times the program's
 * cost (> 1): by bisection with a few policies, to 1 %. out: its run. The program's peak always
 * works. Errors: E_NOMEM. */
ebb_status ebb__planner_smallest(uint64_t *budget, ebb__ghost_result *out,
                                 const ebb__program *p, double limit);

#endif
