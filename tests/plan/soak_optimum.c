/* soak_optimum.c - test_optimum.c on two thousand programs.
 * SPDX-License-Identifier: MIT */
#include "support/plan_small.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* One in thousands may go without a plan: that search finds none is no proof that there is none. */
static void two_thousand_programs_are_planned_within_a_quarter_of_the_optimum(void **state)
{
    (void)state;
    plan_tally sum = {0};
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        ebb__trace t;
        plan_trace_random(&t, seed);
        plan_compare(&sum, &t, true);
        ebb__trace_destroy(&t);
    }
    assert_true(sum.n_pressed > 4000);
    assert_true(sum.n_possible - sum.n_planned <= 2);
    assert_true(sum.worst <= 1.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_thousand_programs_are_planned_within_a_quarter_of_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
