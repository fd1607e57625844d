/* bound.h - what no schedule can do better than, and what a byte is worth at each step.
 *
 * For prices lambda_t >= 0 of a byte at step t, every schedule that keeps the order of the steps
 * and the budget B costs at least
 *
 *   D(lambda) = sum over gaps min(c, m * (lambda_a+1 + ... + lambda_b-1))
 *               - sum over steps lambda_t * (B - W_t)
 *
 * more than the program: a gap is a val of m bytes not read between the steps a and b, whose
 * recipe costs c for each of its outputs; W_t is what must be in memory at step t. The prices
 * that make D large are found by subgradient steps; any of them gives a valid bound.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_BOUND_H
#define EBB_MEMORY_BOUND_H

#include "memory/program.h"

typedef struct ebb__bound_gap {
    uint32_t from, to; /* steps a and b */
    double bytes, cost;
} ebb__bound_gap;

typedef struct ebb__bound {
    const ebb__program *p;
    uint64_t budget;
    double best;   /* largest D so far: extra cost that no schedule avoids */
    double target; /* what D is driven towards; above the best possible D it only goes slower */
    double *prices; /* steps: at the best D */
    double *now;    /* steps: at present */
    double *slope;  /* steps + 1 */
    double *sums;   /* steps + 1: of the prices before each step */
    ebb__bound_gap *gaps;
    uint32_t n_gaps, n_passes, n_stuck;
    void *block;
    size_t block_bytes;
} ebb__bound;

/* p must outlive it. A budget below p->bottleneck is infeasible: best is INFINITY. Errors:
 * E_NOMEM. */
ebb_status ebb__bound_create(ebb__bound *out, const ebb__program *p, uint64_t budget);
void ebb__bound_destroy(ebb__bound *b);
/* One step towards better prices: O(steps + gaps). upper: extra cost of a known schedule, which
 * D cannot exceed; INFINITY: none. */
void ebb__bound_pass(ebb__bound *b, double upper);
/* The axis of next uses (ghost.h) that the best prices give: n_steps + 1 entries, as long as
 * the program's time. mix in [0, 1]: how much of it is time itself. */
void ebb__bound_axis(double *axis, const ebb__bound *b, double mix);

#endif
