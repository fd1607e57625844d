/* test_concurrent.c - counters and warnings while several threads record, drop and consume.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N_THREADS = 3 };

typedef struct shared {
    ebb_context *ctx;
    ebb_tensor *w, *small;
    int n_steps;
    atomic_int n_failed, n_warned;
} shared;

static void warn(void *user, const ebb_watch_event *e)
{
    shared *s = user;
    if (e->text[0]) atomic_fetch_add(&s->n_warned, 1);
}

/* Saves of the same values begin and end on all threads at once. */
static void *work(void *user)
{
    shared *s = user;
    for (int i = 0; i < s->n_steps; i++) {
        EBB_SCOPE(iter);
        ebb_tensor *h = ebb_mul(ebb_mul(s->w, s->w), s->small);
        ebb_tensor *loss = ebb_sum(ebb_tanh(h), EBB_ALL);
        const ebb_backward_options keep = {.keep_graph = i % 3 == 0};
        if (i % 2 && ebb_backward(loss, &keep) != EBB_OK) atomic_fetch_add(&s->n_failed, 1);
        if (!loss) atomic_fetch_add(&s->n_failed, 1);
        ebb_stats stats;
        ebb_stats_get(&stats, s->ctx);
        ebb_watch_step(s->ctx);
    }
    return NULL;
}

static void nothing_saved_is_left_when_all_threads_have_ended(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    shared s = {.ctx = ctx, .n_steps = getenv("EBB_TEST_SHORT") ? 100 : 1000};
    s.w = ebb_uniform(ctx, EBB_F32, EBB_SHAPE(8, 8), -1, 1); /* 256 bytes */
    s.small = EBB_FROM(ctx, EBB_SCALAR, &(const float){2}, 1);
    assert_ok(ebb_set_requires_grad(s.w, true));
    assert_ok(ebb_set_requires_grad(s.small, true));
    assert_ok(ebb_watch(ctx, warn, &s, 0));
    pthread_t thread[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &s), 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&s.n_failed), 0);
    ebb_stats stats;
    ebb_stats_get(&stats, ctx);
    assert_int_equal(stats.saved_bytes, 0);
    assert_int_equal(stats.live_nodes + stats.spent_nodes + stats.severed_nodes, 0);
    assert_int_equal(stats.edges, 0);
    assert_int_equal(stats.leaves_in_use, 0);
    assert_int_equal(stats.created_nodes, stats.freed_nodes);
    /* mul saves w (twice), mul its operands, tanh its output: 256 + 256 + 4 + 256 */
    ebb_tensor *y = ebb_tanh(ebb_mul(ebb_mul(s.w, s.w), s.small));
    assert_non_null(y);
    ebb_stats_get(&stats, ctx);
    assert_int_equal(stats.saved_bytes, 3 * 256 + 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_saved_is_left_when_all_threads_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
