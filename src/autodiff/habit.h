/* habit.h - which values a training step does not read again, learned from the steps before.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_HABIT_H
#define EBB_AUTODIFF_HABIT_H

#include "memory/value.h"

typedef struct ebb__habit ebb__habit;
struct ebb__apply;

void ebb__habit_destroy(ebb__habit *h);
/* An operation has run and its results have their handles. */
void ebb__habit_op(const struct ebb__apply *a);
/* The user reads or maps the value's bytes. */
void ebb__habit_read(ebb__habit *h, ebb__value *v);
/* Before a backward: is there so much to give up that learning pays? Then it begins. */
void ebb__habit_weigh(ebb_context *ctx);
/* A backward that used its graph up has succeeded: a step ends. */
void ebb__habit_step(ebb_context *ctx);

#endif
