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

/* ---- a context closed beside writes ------------------------------------------------------ */

enum { SIDE = 64, N_HELD = 6, N_ROUNDS = 600 };

typedef struct beside {
    ebb_context *root;
    bool closes, is_wrong;
    int n_through; /* rounds that the budget let through */
} beside;

static ebb_status round_in(ebb_context *ctx, ebb_tensor *param, bool *is_wrong)
{
    static const float start[SIDE * SIDE];
    float got[SIDE * SIDE];
    ebb_tensor *held[N_HELD] = {0};
    EBB_NO_GRAD(scope);
    ebb_status status = param ? EBB_WRITE(param, start, SIDE * SIDE) : EBB_OK;
    ebb_tensor *at = param ? param : EBB_FROM(ctx, EBB_SHAPE(SIDE, SIDE), start, SIDE * SIDE);
    for (int i = 0; i < N_HELD && status == EBB_OK; i++) {
        at = ebb_add_scalar(at, 1);
        status = ebb_check(at);
        if (status == EBB_OK) held[i] = ebb_keep(at);
    }
    if (status == EBB_OK && param) status = EBB_WRITE(param, start, SIDE * SIDE);
    for (int i = 0; i < N_HELD; i++) {
        if (status == EBB_OK) status = EBB_READ(held[i], got, SIDE * SIDE);
        if (status == EBB_OK) *is_wrong |= got[0] != (float)(i + 1) || got[SIDE] != got[0];
        if (held[i]) ebb_release(held[i]);
    }
    return status;
}

static void *rounds(void *user)
{
    beside *b = user;
    ebb_context *child = NULL;
    EBB_SCOPE(all);
    ebb_tensor *param =
        b->closes ? NULL
                  : ebb_empty(b->root, EBB_F32, EBB_SHAPE(SIDE, SIDE), EBB_KIND_PARAMETER);
    for (int i = 0; i < N_ROUNDS; i++) {
        if (b->closes && ebb_context_create(&child, &(ebb_context_options){.parent = b->root}))
            continue;
        ebb_status status = round_in(child, param, &b->is_wrong);
        b->is_wrong |= status != EBB_OK && status != EBB_E_BUDGET;
        b->n_through += status == EBB_OK;
        ebb_context_destroy(child);
        child = NULL;
    }
    ebb_error_clear();
    return NULL;
}

static void a_context_is_closed_while_another_thread_writes(void **state)
{
    (void)state;
    ebb_context *root;
    int n_through[2] = {0};
    for (size_t room = 18; room < 26; room += 2) {
        pthread_t thread[2];
        assert_int_equal(
            ebb_context_create(
                &root, &(ebb_context_options){.n_threads = 1,
                                              .memory_budget_bytes = room * SIDE * SIDE * 4}),
            EBB_OK);
        beside b[2] = {{.root = root}, {.root = root, .closes = true}};
        for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, rounds, &b[i]);
        for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
        assert_false(b[0].is_wrong || b[1].is_wrong);
        for (int i = 0; i < 2; i++) n_through[i] += b[i].n_through;
        ebb_context_destroy(root);
    }
    assert_true(n_through[0] > 0 && n_through[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_room_for_all_train_the_same),
        cmocka_unit_test(threads_with_too_little_for_all_train_the_same),
        cmocka_unit_test(a_context_is_closed_while_another_thread_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
