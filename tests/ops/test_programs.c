/* test_programs.c - a few hundred random programs of up to 50 operations.
 *
 * test_programs [FIRST_SEED [COUNT]] runs others.
 * SPDX-License-Identifier: MIT */
#include "support/random_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t first = 1, count = 300;

static void random_programs_agree_with_central_differences_and_with_themselves(void **state)
{
    (void)state;
    int64_t n_differentiated = 0, n_twice = 0, n_dropped = 0, n_released = 0, n_ops = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        random_program_report r;
        const char *fault = random_program_check(seed, 50, &r);
        if (fault) fail_msg("%s", fault);
        n_differentiated += r.differentiated, n_twice += r.twice_differentiated;
        n_dropped += r.n_dropped, n_released += r.n_released, n_ops += r.n_ops;
    }
    printf("%lld programs, %lld operations, %lld drops, %lld releases, %lld differentiated, "
           "%lld twice\n",
           (long long)count, (long long)n_ops, (long long)n_dropped, (long long)n_released,
           (long long)n_differentiated, (long long)n_twice);
    assert_true(n_dropped > 0 && n_released > 0);
    assert_true(n_differentiated * 2 > (int64_t)count);
    assert_true(n_twice * 3 > (int64_t)count);
}

int main(int argc, char **argv)
{
    if (argc > 1) first = strtoull(argv[1], NULL, 10);
    if (argc > 2) count = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_agree_with_central_differences_and_with_themselves),
    };
    int failed = cmocka_run_group_tests_name("programs", tests, NULL, NULL);
    random_program_close();
    return failed;
}
