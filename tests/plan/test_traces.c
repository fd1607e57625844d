/* test_traces.c - traces as text: what is none is refused with its line, what is one runs under
 * any budget to an end, and the public functions say the same as what they stand on.
 * SPDX-License-Identifier: MIT */
#include "memory/ghost.h"
#include "support/numeric.h"
#include "support/plan_fixture.h"

#include <ebb/plan.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct buffer {
    char *bytes;
    size_t n, max;
} buffer;

static bool buffer_put(void *user, const char *s, size_t n)
{
    buffer *b = user;
    if (b->n + n > b->max) {
        b->max = 2 * (b->n + n);
        b->bytes = realloc(b->bytes, b->max);
        assert_non_null(b->bytes);
    }
    memcpy(b->bytes + b->n, s, n);
    b->n += n;
    return true;
}

/* Parses it; where it is a trace, runs it under several budgets. */
static bool is_trace(const char *text, size_t n)
{
    ebb__trace t;
    ebb__program p;
    ebb__ghost_result r;
    ebb_status s = ebb__trace_parse(&t, &ebb__allocator_libc, text, n);
    if (s != EBB_OK) {
        assert_int_equal(s, EBB_E_IO);
        assert_true(strlen(ebb_error_message()) > 10);
        return false;
    }
    assert_int_equal(ebb__program_create(&p, &ebb__allocator_libc, &t), EBB_OK);
    for (int i = 1; i <= 4; i++) {
        ebb__ghost_options o = {.budget = p.peak * (uint64_t)i / 4, .moves = true};
        assert_int_equal(ebb__ghost_run(&r, &p, &o), EBB_OK);
        if (r.end == EBB__GHOST_DONE && o.budget) assert_true(r.peak <= o.budget);
    }
    ebb__program_destroy(&p);
    ebb__trace_destroy(&t);
    return true;
}

static const char small[] = "# two operations\n"
                            "3 3 3 5\n"
                            "8 16 24\n"
                            "0 0 0\n1 0 1\n2 0 2\n"
                            "0 0 1 0 constant\n"
                            "5 1 0 1 1 exp\n"
                            "7 2 0 1 1 2 mul\n"
                            "C 0\nC 1\nC 2\nR 1\nP 2\n";

static void every_cut_of_a_trace_is_refused(void **state)
{
    (void)state;
    size_t n = sizeof small - 1;
    assert_true(is_trace(small, n));
    for (size_t i = 0; i < n - 2; i++) assert_false(is_trace(small, i));
}

/* Any character of it replaced by any of these: refused, or a trace that can be simulated. */
static void damaged_traces_do_no_harm(void **state)
{
    (void)state;
    static const char with[] = "0129 \n-.xCRGP#e";
    char text[sizeof small];
    size_t n = sizeof small - 1, n_taken = 0;
    for (size_t i = 0; i < n; i++)
        for (const char *w = with; *w; w++) {
            memcpy(text, small, sizeof small);
            text[i] = *w;
            n_taken += is_trace(text, n);
        }
    assert_true(n_taken > 100);
    ebb__trace t;
    buffer b = {0};
    plan_trace_load(&t, "unet");
    assert_true(ebb__trace_print(&t, buffer_put, &b));
    numeric_random rng = {7};
    char *copy = malloc(b.n);
    assert_non_null(copy);
    for (int i = 0; i < 400; i++) {
        memcpy(copy, b.bytes, b.n);
        for (int64_t k = numeric_below(&rng, 3); k >= 0; k--)
            copy[numeric_below(&rng, (int64_t)b.n)] =
                with[numeric_below(&rng, (int64_t)sizeof with - 1)];
        (void)is_trace(copy, b.n);
    }
    free(copy);
    free(b.bytes);
    ebb__trace_destroy(&t);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    ebb__trace t, again;
    buffer b = {0}, c = {0};
    plan_trace_load(&t, "resnet32");
    assert_true(ebb__trace_print(&t, buffer_put, &b));
    assert_int_equal(ebb__trace_parse(&again, &ebb__allocator_libc, b.bytes, b.n), EBB_OK);
    assert_true(ebb__trace_print(&again, buffer_put, &c));
    assert_int_equal(b.n, c.n);
    assert_memory_equal(b.bytes, c.bytes, b.n);
    assert_true(t.hash == again.hash);
    free(b.bytes);
    free(c.bytes);
    ebb__trace_destroy(&t);
    ebb__trace_destroy(&again);
}

/* Steps whose rebuilds use up their fuel go on in protected mode and come to an end: at the
 * tightest budgets of a long chain, where each rebuild is as long as the chain. */
static void the_tightest_budgets_end(void **state)
{
    (void)state;
    ebb__trace t;
    ebb__program p;
    plan_trace_chain(&t, 200);
    assert_int_equal(ebb__program_create(&p, &ebb__allocator_libc, &t), EBB_OK);
    uint32_t n_protected = 0;
    static const ebb__policy *const all[] = {&ebb__policy_next, &ebb__policy_lru,
                                             &ebb__policy_msps, &ebb__policy_h_dtr};
    for (uint64_t budget = 4; budget < 12; budget++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            ebb__ghost_options o = {.budget = budget, .policy = *all[i], .limit = 1e6};
            ebb__ghost_result r;
            assert_int_equal(ebb__ghost_run(&r, &p, &o), EBB_OK);
            assert_int_not_equal(r.end, EBB__GHOST_LIMIT);
            assert_true(r.peak <= budget);
            n_protected += r.n_protected;
        }
    assert_true(n_protected > 0);
    ebb__program_destroy(&p);
    ebb__trace_destroy(&t);
}

/* Beside two that cost 1e18 two that cost next to nothing, at a budget where these take turns. */
static void operations_that_cost_nothing_come_to_an_end(void **state)
{
    (void)state;
    static const char text[] = "5 5 5 5\n"
                               "1000000 1000000 64 1000000 1000000\n"
                               "0 0 0\n1 0 1\n2 0 2\n3 0 3\n4 0 4\n"
                               "0 0 1 0 f\n"
                               "1e18 2 0 0 1 1 backward\n"
                               "1e-300 1 1 1 2 f\n"
                               "1 2 2 0 1 3 f\n"
                               "1e18 0 1 4 backward\n"
                               "C 0\nC 1\nC 2\nC 3\nC 4\n";
    ebb__trace t;
    ebb__program p;
    ebb__ghost_result r;
    assert_int_equal(ebb__trace_parse(&t, &ebb__allocator_libc, text, strlen(text)), EBB_OK);
    assert_int_equal(ebb__program_create(&p, &ebb__allocator_libc, &t), EBB_OK);
    for (uint64_t tenths = 1; tenths < 10; tenths++) {
        ebb__ghost_options o = {.budget = p.peak * tenths / 10, .policy = ebb__policy_h_dtr};
        assert_int_equal(ebb__ghost_run(&r, &p, &o), EBB_OK);
        assert_true(r.n_rebuilt < 10000);
        assert_int_equal(ebb__ghost_dtr(&r, &t, o.budget, 8), EBB_OK);
        assert_true(r.n_rebuilt < 200000);
    }
    ebb__program_destroy(&p);
    ebb__trace_destroy(&t);
}

static void the_public_functions_say_the_same(void **state)
{
    (void)state;
    char path[512];
    ebb_iteration *t = NULL;
    ebb_iteration_facts f;
    ebb_simulation s;
    snprintf(path, sizeof path, "%s/tests/plan/data/resnet32.tr", EBB_SOURCE_DIR);
    assert_int_equal(ebb_iteration_load(&t, path), EBB_OK);
    assert_int_equal(ebb_iteration_facts_get(&f, t), EBB_OK);
    assert_int_equal(f.n_operations, 286);
    for (int policy = 0; policy < EBB_POLICY_MAX; policy++) {
        ebb_simulate_options o = {.policy = (ebb_policy)policy, .most_runs = 10};
        assert_int_equal(ebb_policy_of(ebb_policy_name(o.policy)), o.policy);
        assert_int_equal(ebb_iteration_simulate(&s, t, 0, &o), EBB_OK);
        assert_true(s.works && s.slowdown == 1 && s.peak_bytes == f.peak_bytes);
        assert_int_equal(ebb_iteration_simulate(&s, t, f.lower_bound - 1, &o), EBB_OK);
        assert_true(s.is_infeasible && !s.works);
        assert_int_equal(ebb_iteration_simulate(&s, t, f.peak_bytes / 10 * 9, &o), EBB_OK);
        assert_true(s.works && s.n_evictions > 0 && s.peak_bytes <= f.peak_bytes / 10 * 9);
        assert_true(policy == EBB_POLICY_H_DTR ? s.bound == 0 : s.bound > 1);
        assert_true(s.slowdown >= s.bound);
    }
    size_t smallest;
    assert_int_equal(ebb_iteration_smallest(&smallest, &s, t, 2), EBB_OK);
    assert_true(s.works && s.slowdown <= 2 && smallest >= f.lower_bound);
    assert_null(ebb_policy_name(EBB_POLICY_MAX));
    assert_int_equal(ebb_policy_of("best"), EBB_POLICY_MAX);
    assert_int_equal(ebb_iteration_smallest(&smallest, &s, t, 1), EBB_E_MISUSE);
    ebb_simulate_options o = {.reserved = {1}};
    assert_int_equal(ebb_iteration_simulate(&s, t, 1, &o), EBB_E_MISUSE);
    assert_int_equal(ebb_iteration_simulate(&s, NULL, 1, NULL), EBB_E_MISUSE);
    ebb_iteration_destroy(t);
    assert_int_equal(ebb_iteration_load(&t, "/nonexistent/trace"), EBB_E_IO);
    assert_null(t);
    assert_int_equal(ebb_iteration_load(&t, EBB_SOURCE_DIR), EBB_E_IO);
    ebb_iteration_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_of_a_trace_is_refused),
        cmocka_unit_test(damaged_traces_do_no_harm),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(the_tightest_budgets_end),
        cmocka_unit_test(operations_that_cost_nothing_come_to_an_end),
        cmocka_unit_test(the_public_functions_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
