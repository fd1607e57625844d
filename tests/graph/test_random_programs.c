/* test_random_programs.c - random programs against the definition, after every step.
 * SPDX-License-Identifier: MIT */
#include "support/graph_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A million steps; EBB_GRAPH_STEPS asks for another number, EBB_TEST_SHORT for few. */
static int64_t steps_wanted(void)
{
    const char *wanted = getenv("EBB_GRAPH_STEPS");
    if (wanted) return atoll(wanted);
    return getenv("EBB_TEST_SHORT") ? 10000 : 1000000;
}

static void every_step_agrees_with_the_definition(void **state)
{
    (void)state;
    program_shape shape = {
        .most_nodes = 24, .leaves = 2, .ops = 9, .holds = 1, .drops = 5, .backs = 3};
    random_programs_run(&shape, NULL, 1, steps_wanted() / 2);
}

static void every_step_agrees_with_kept_and_chosen_backwards(void **state)
{
    (void)state;
    program_shape shape = {.most_nodes = 30,
                           .leaves = 2,
                           .ops = 12,
                           .holds = 1,
                           .drops = 4,
                           .backs = 4,
                           .keeps = true,
                           .inputs = true};
    random_programs_run(&shape, NULL, 1000003, steps_wanted() / 4);
}

static void a_single_threaded_space_agrees_too(void **state)
{
    (void)state;
    program_shape shape = {.most_nodes = 40,
                           .leaves = 1,
                           .ops = 14,
                           .holds = 1,
                           .drops = 8,
                           .backs = 3,
                           .keeps = true,
                           .inputs = true};
    ebb_graph_space_options options = {.single_threaded = true};
    random_programs_run(&shape, &options, 2000003, steps_wanted() / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_agrees_with_the_definition),
        cmocka_unit_test(every_step_agrees_with_kept_and_chosen_backwards),
        cmocka_unit_test(a_single_threaded_space_agrees_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
