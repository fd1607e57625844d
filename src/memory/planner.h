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

typedef struct ebb__planner {
    const ebb__program *p;
    uint64_t budget;
    /* Set it where the driver can do all that advice may ask for; else it has EBB__ACT_DROP
     * alone. */
    bool has_all_acts;
    ebb__plan best;
    ebb__bound bound;
    uint32_t candidate;        /* the next one; beyond the last: local search */
    uint32_t n_tried, n_since; /* simulations in all, since the last gain by local search */
    uint64_t random;
    double credit_ns, run_ns, pass_ns; /* time not used yet; what a run, a pass takes */
    double *axis;                      /* of the candidate at hand */
    ebb__advice advice;                /* the same */
    ebb__policy walk_policy;           /* where local search is */
    double walk_mix, walk_cost;
    ebb__advice walk;
    uint32_t *dropped; /* vals that the best run dropped, each once */
    uint32_t *changed; /* the same of the run at hand */
    uint8_t *seen;
    uint32_t n_dropped, n_changed;
    void *block;
    size_t block_bytes;
} ebb__planner;

/* p must outlive it. Errors: E_NOMEM. */
ebb_status ebb__planner_create(ebb__planner *out, const ebb__program *p, uint64_t budget);
void ebb__planner_destroy(ebb__planner *n);
/* Adds max_ns to the time it may use and works while the next piece is expected to fit. Sets
 * *better (may be NULL) where the plan has changed. Errors: E_NOMEM, the plan is as it was. */
ebb_status ebb__planner_step(bool *better, ebb__planner *n, double max_ns);
/* So many pieces of work, whatever they take; 0 of them left when the portfolio is through and
 * local search has found nothing for a while: returns that in *is_done. */
ebb_status ebb__planner_work(bool *is_done, ebb__planner *n, uint32_t pieces);

/* The least budget of which it is known that it works, for at most `limit` times the program's
 * cost (> 1): by bisection with a few policies, to 1 %. out: its run. The program's peak always
 * works. Errors: E_NOMEM. */
ebb_status ebb__planner_smallest(uint64_t *budget, ebb__ghost_result *out,
                                 const ebb__program *p, double limit);

#endif
