/* habit.h - which values a training step does not read again, learned from the steps before.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_HABIT_H
#define EBB_AUTODIFF_HABIT_H

#include "autodiff/follow.h"

typedef struct ebb__habit ebb__habit;
struct ebb__apply;

void ebb__habit_destroy(ebb__habit *h);
/* The context's engine is made, under a budget: steps are learned from its first operation on. */
void ebb__habit_begin(ebb_context *ctx);
void ebb__habit_end(ebb_context *ctx);
/* An operation has run and its results have their handles. */
void ebb__habit_op(const struct ebb__apply *a);
/* The user reads or maps the value's bytes. */
void ebb__habit_read(ebb__habit *h, ebb__value *v);
/* Before a backward through so many nodes. Without a budget: is there so much to give up that
 * learning pays? Then it begins. */
void ebb__habit_weigh(ebb_context *ctx, int64_t n_nodes);
/* A backward that used its graph up has succeeded: a step ends. */
void ebb__habit_step(ebb_context *ctx);

/* Operations are none of the step's: they depend on what was given up. */
void ebb__habit_pause(ebb_context *ctx, bool pauses);
/* Before an operation runs under a budget: the next value that is to be made again for a plan's
 * sake, which stays until ebb__value_stay_end; NULL: no more, or another thread's. */
ebb__value *ebb__habit_before(ebb_context *ctx);
/* Under a budget: so many bytes are missing for what was asked for; true: another try may find them. */
bool ebb__habit_refused(ebb_context *ctx, size_t missing);
/* Next uses are known from an earlier step, and it is this thread's. */
bool ebb__habit_tells(const ebb_context *ctx);
/* Zeros for any but the thread whose steps they are. */
void ebb__habit_stats(ebb__follow_stats *out, const ebb_context *ctx);

#endif
