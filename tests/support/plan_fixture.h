/* plan_fixture.h - recorded iterations for the tests of tests/plan.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_PLAN_FIXTURE_H
#define EBB_TESTS_PLAN_FIXTURE_H

#include "memory/program.h"

/* Of tests/plan/data: "unet", "resnet32", "transformer", "treelstm". Fails the
 * test where it cannot be read. */
void plan_trace_load(ebb__trace *out, const char *name);
/* A chain of n operations of cost 1 and their backward: forward i makes x_i of
 * x_{i-1} (x_0 is from outside), backward i reads x_{i-1}, x_i and the
 * gradient; every value has one byte. */
void plan_trace_chain(ebb__trace *out, uint32_t n);

#endif
