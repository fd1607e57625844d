/* test_optimum.c - small programs are planned near the cheapest of all schedules, and no bound is
 * above it.
 *
 * Expected values: an exhaustive search over all schedules.
 * SPDX-License-Identifier: MIT */
#include "support/plan_small.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static plan_tally planned(void (*make)(ebb__trace *t, uint64_t seed), uint64_t n_seeds,
                          bool has_all_acts)
{
    plan_tally sum = {0};
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        ebb__trace t;
        make(&t, seed);
        plan_compare(&sum, &t, has_all_acts);
        ebb__trace_destroy(&t);
    }
    assert_int_equal(sum.n_planned, sum.n_possible);
    return sum;
}

/* Drops and weights do: what a backward reads is what its forward has kept. */
static void a_training_step_is_planned_at_the_optimum(void **state)
{
    (void)state;
    plan_tally sum = planned(plan_trace_training, 30, false);
    assert_true(sum.n_pressed > 100);
    assert_true(sum.n_optimal + 1 >= sum.n_possible);
    assert_true(sum.worst <= 1.1);
}

static void any_program_is_planned_within_a_quarter_of_the_optimum(void **state)
{
    (void)state;
    plan_tally sum = planned(plan_trace_random, getenv("EBB_TEST_SHORT") ? 20 : 120, true);
    assert_true(sum.n_pressed > 40);
    assert_true(sum.worst <= 1.25);
    assert_true(sum.n_possible - sum.n_optimal <= sum.n_pressed / 50);
}

/* With what programs do: nothing is held, or made again ahead. */
static void any_program_can_be_planned_at_every_budget_that_works(void **state)
{
    (void)state;
    plan_tally sum = planned(plan_trace_random, getenv("EBB_TEST_SHORT") ? 20 : 60, false);
    assert_true(sum.n_pressed > 40);
    assert_true(sum.worst <= 1.6);
    assert_true(sum.n_possible - sum.n_optimal <= sum.n_pressed / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_step_is_planned_at_the_optimum),
        cmocka_unit_test(any_program_can_be_planned_at_every_budget_that_works),
        cmocka_unit_test(any_program_is_planned_within_a_quarter_of_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
