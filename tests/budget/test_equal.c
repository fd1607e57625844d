/* test_equal.c - training under a budget gives bit for bit what it gives without one, and
 * never uses a byte more.
 * SPDX-License-Identifier: MIT */
#include "budget/models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_STEPS = 3 };

static void high_water_check(void *user, ebb_context *ctx)
{
    (void)user;
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    if (s.peak_bytes > s.budget_bytes)
        fail_msg("%zu bytes were used of %zu", s.peak_bytes, s.budget_bytes);
}

/* The smallest tenth of what can move that training gets through with; all that it gets through
 * with are compared. */
static int smallest_tenth(const model *m, bool adam, int32_t n_threads)
{
    training free_run, run;
    training_options o = {.n_threads = n_threads, .n_steps = N_STEPS, .adam = adam};
    if (train(&free_run, m, &o) != EBB_OK) fail_msg("%s: %s", m->name, ebb_error_message());
    int least = 11;
    for (int tenths = 10; tenths > 0; tenths--) {
        o.budget = free_run.pinned + (free_run.peak - free_run.pinned) / 10 * (size_t)tenths +
                   free_run.peak / 100;
        o.each_step = high_water_check;
        ebb_error_clear();
        ebb_status status = train(&run, m, &o);
        if (status != EBB_OK && status != EBB_E_BUDGET)
            fail_msg("%s at %d/10: %s", m->name, tenths, ebb_error_message());
        if (getenv("EBB_TEST_VERBOSE"))
            printf("%s at %d/10 of %zu + %zu: %s\n", m->name, tenths, free_run.pinned,
                   free_run.peak - free_run.pinned,
                   status == EBB_OK ? "ok" : ebb_error_message());
        if (getenv("EBB_TEST_VERBOSE") && status != EBB_OK)
            for (int k = 0; k < EBB_KIND_CACHE; k++)
                printf("  %s %zu\n", ebb_kind_name((ebb_kind)k), run.last.bytes[k]);
        if (status == EBB_OK && !training_equal(&free_run, &run))
            fail_msg("%s at %d/10 with %d threads differs", m->name, tenths, (int)n_threads);
        if (status == EBB_OK) least = tenths;
        training_free(&run);
        if (status != EBB_OK) break;
    }
    training_free(&free_run);
    return least;
}

static void check(int which, int most, int32_t n_threads)
{
    int least = smallest_tenth(&models[which], false, n_threads);
    /* The tenths were found with oneDNN on one machine; other kernels want other scratch, and
     * with EBB_CHECK 3 each value has a hash. */
    most++;
    if (least > most)
        fail_msg("%s trains with %d tenths, %d are enough", models[which].name, least, most);
    smallest_tenth(&models[which], true, n_threads);
}

static void a_perceptron_trains_the_same(void **state)
{
    (void)state;
    check(0, 3, 1);
    check(0, 3, 2);
}

static void convolutions_with_batch_norm_and_dropout_train_the_same(void **state)
{
    (void)state;
    check(1, 5, 1);
    check(1, 5, 2);
}

static void an_unrolled_lstm_trains_the_same(void **state)
{
    (void)state;
    check(2, 5, 1);
    check(2, 5, 2);
}

static void attention_trains_the_same(void **state)
{
    (void)state;
    check(3, 4, 1);
    check(3, 4, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perceptron_trains_the_same),
        cmocka_unit_test(convolutions_with_batch_norm_and_dropout_train_the_same),
        cmocka_unit_test(an_unrolled_lstm_trains_the_same),
        cmocka_unit_test(attention_trains_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
