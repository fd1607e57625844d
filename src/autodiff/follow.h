/* follow.h - under a budget: steps are recorded, known again while they run, and done as planned.
 *
 * Called by habit.c, which sees to it that one thread at a time is in here.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_FOLLOW_H
#define EBB_AUTODIFF_FOLLOW_H

#include "memory/value.h"

typedef struct ebb__follow ebb__follow;
struct ebb__apply;

/* Of the context that owns the memory. NULL: refused, nothing is learned. */
ebb__follow *ebb__follow_create(ebb_context *ctx);
void ebb__follow_destroy(ebb__follow *f);
/* An operation has run and its results have their handles. */
void ebb__follow_op(ebb__follow *f, const struct ebb__apply *a);
/* An operation is about to run: what the plan gives up before it is given up; a value that it
 * makes again first, which stays until ebb__value_stay_end. Again until NULL: that was all. */
ebb__value *ebb__follow_before(ebb__follow *f);
bool ebb__follow_acts(const ebb__follow *f); /* the step is done as planned */
/* So many bytes are missing: the step is not followed any more, nor others like it; where it was
 * not, all that was learned is forgotten, if its bytes could be enough. True: another try may do
 * better. */
bool ebb__follow_refused(ebb__follow *f, size_t missing);
/* A backward begins. */
void ebb__follow_turn(ebb__follow *f);
/* A step ends. */
void ebb__follow_step(ebb__follow *f);
/* Nothing is followed from now on. */
void ebb__follow_end(ebb__follow *f);
/* Next uses are known from a step like this one. */
bool ebb__follow_tells(const ebb__follow *f);

typedef struct ebb__follow_stats {
    uint64_t n_traces, n_plans; /* kept; with a plan */
    uint64_t n_steps_known;     /* that went to their end like one before */
    uint64_t plan_ns;
    double extra;       /* what the last step has run again, in estimated cost */
    double planned;     /* that of a step like it as simulated; below 0: it has no plan */
    uint64_t n_chosen;  /* values given up in it that no plan had named */
    size_t known_bytes; /* a budget that would do for steps like it; 0: not known */
} ebb__follow_stats;
void ebb__follow_stats_get(ebb__follow_stats *out, const ebb__follow *f);

#endif
