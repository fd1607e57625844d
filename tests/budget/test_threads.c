/* test_threads.c - threads that share one budget: each gets what it gets alone, and together they
 * never use a byte more.
 * SPDX-License-Identifier: MIT */
#include "budget/models.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_THREADS = 3, N_STEPS = 4 };

typedef struct worker {
    pthread_t thread;
    training_options options;
    training got;
    const model *m;
    ebb_status status;
    char message[400];
} worker;

static void *work(void *user)
{
    worker *w = user;
    w->status = train(&w->got, w->m, &w->options);
    snprintf(w->message, sizeof w->message, "%s", ebb_error_message());
    return NULL;
}

/* Each thread in a child of one context whose budget is less than they want together. */
static void threads_train_under(int tenths)
{
    for (int which = 0; which < n_models; which++) {
        training want;
        training_options o = {.n_threads = 1, .n_steps = N_STEPS};
        if (train(&want, &models[which], &o) != EBB_OK) fail_msg("%s", ebb_error_message());
        ebb_context *table;
        ebb_stats s;
        size_t budget = want.peak + (N_THREADS - 1) * want.pinned +
                        N_THREADS * (want.peak - want.pinned) / 10 * (size_t)tenths;
        assert_int_equal(
            ebb_context_create(
                &table, &(ebb_context_options){.n_threads = 1, .memory_budget_bytes = budget}),
            EBB_OK);
        static worker workers[N_THREADS];
        for (int i = 0; i < N_THREADS; i++) {
            workers[i] = (worker){.options = o, .m = &models[which]};
            workers[i].options.parent = table;
            pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        }
        for (int i = 0; i < N_THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
            if (workers[i].status != EBB_OK)
                fail_msg("%s: %s", models[which].name, workers[i].message);
            assert_true(training_equal(&want, &workers[i].got));
            training_free(&workers[i].got);
        }
        ebb_stats_get(&s, table);
        assert_true(s.peak_bytes <= budget);
        ebb_context_destroy(table);
        training_free(&want);
    }
}

static void threads_with_room_for_all_train_the_same(void **state)
{
    (void)state;
    threads_train_under(8);
}

static void threads_with_too_little_for_all_train_the_same(void **state)
{
    (void)state;
    threads_train_under(4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_room_for_all_train_the_same),
        cmocka_unit_test(threads_with_too_little_for_all_train_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
