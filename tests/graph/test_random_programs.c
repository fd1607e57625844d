/* test_random_programs.c - random programs against the definition, after every step.
 * SPDX-License-Identifier: MIT */
#include "support/graph_program.h"

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

static void programs_run(const program_shape *shape, const ebb_graph_space_options *options,
                         uint64_t seed, int64_t n_steps)
{
    program p = {0};
    answer a = {0};
    while (n_steps > 0) {
        uint64_t random = seed++;
        run r;
        run_begin(&r, options);
        assert_int_equal(r.status, EBB_OK);
        program_clear(&p);
        while (p.n_steps < 3 * shape->most_nodes && program_grow(&p, shape, &random)) {
            const program_step *last = &p.steps[p.n_steps - 1];
            run_step(&r, last);
            oracle_answer(&a, &p, p.n_steps);
            const char *difference = run_compare(&r, &a, last, true);
            if (difference) {
                program_print(stderr, &p, p.n_steps);
                fail_msg("seed %llu, step %d: %s", (unsigned long long)(seed - 1), p.n_steps,
                         difference);
            }
            n_steps--;
        }
        run_release(&r);
        assert_null(ebb__graph_check(r.space));
        run_end(&r);
    }
    answer_free(&a);
    program_free(&p);
}

static void every_step_agrees_with_the_definition(void **state)
{
    (void)state;
    program_shape shape = {
        .most_nodes = 24, .leaves = 2, .ops = 9, .holds = 1, .drops = 5, .backs = 3};
    programs_run(&shape, NULL, 1, steps_wanted() / 2);
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
    programs_run(&shape, NULL, 1000003, steps_wanted() / 4);
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
    programs_run(&shape, &options, 2000003, steps_wanted() / 4);
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
