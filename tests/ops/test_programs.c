/* test_programs.c - a few hundred random programs of up to 50 operations.
 *
 * test_programs [FIRST_SEED [COUNT]] runs others.
 * SPDX-License-Identifier: MIT */
#include "ops/ids.h"
#include "support/random_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t first = 1, count = 300;

/* By id: in how many of the programs whose differences agreed. */
static int64_t n_seen[RANDOM_PROGRAM_MAX_OPS];

static bool has_gradient(const ebb_op *op)
{
    return !(op->flags & (EBB_OP_PRIVATE | EBB_OP_INTEGER)) && (op->vjp || op->compose);
}

static void count_seen(const random_program_report *r)
{
    for (int32_t id = 0; r->differentiated && id < EBB__N_OPS; id++) n_seen[id] += r->drawn[id];
}

static void random_programs_agree_with_central_differences_and_with_themselves(void **state)
{
    (void)state;
    int64_t n_differentiated = 0, n_twice = 0, n_dropped = 0, n_released = 0, n_ops = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        random_program_report r;
        const char *fault = random_program_check(seed, 50, &r);
        if (fault) fail_msg("%s", fault);
        count_seen(&r);
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

static void every_operation_with_a_gradient_took_part(void **state)
{
    (void)state;
    int n_missing = 0, n_ops = 0;
    for (int32_t id = 0; id < EBB__N_OPS; id++) {
        const ebb_op *op = ebb__op_table[id];
        if (!has_gradient(op) || op->writes & 1 || op->flags & EBB_OP_CREATE) continue;
        n_ops++;
        if (n_seen[id] > 0) continue;
        print_error("  %s took no part\n", op->name);
        n_missing++;
    }
    printf("%d operations with a gradient, %d of them took no part\n", n_ops, n_missing);
    if (count >= 300 && n_missing) fail_msg("%d of %d took no part", n_missing, n_ops);
}

int main(int argc, char **argv)
{
    if (argc > 1) first = strtoull(argv[1], NULL, 10);
    if (argc > 2) count = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_agree_with_central_differences_and_with_themselves),
        cmocka_unit_test(every_operation_with_a_gradient_took_part),
    };
    int failed = cmocka_run_group_tests_name("programs", tests, NULL, NULL);
    random_program_close();
    return failed;
}
