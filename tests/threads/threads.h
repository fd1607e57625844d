/* threads.h - tests that use Ebb from several threads: they start together, and their failures
 * reach the main thread, for cmocka's assertions belong to it.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_THREADS_H
#define EBB_TESTS_THREADS_H

#include "support/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8 };

static char wrong[512];
static pthread_mutex_t wrong_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The first failure is kept. */
#define MUST(holds)                                                                            \
    do {                                                                                       \
        if (!(holds)) must_fail(#holds, __LINE__);                                             \
    } while (0)
static inline void must_fail(const char *what, int line)
{
    pthread_mutex_lock(&wrong_mutex);
    if (!*wrong)
        snprintf(wrong, sizeof wrong, "line %d: %s (%s)", line, what, ebb_error_message());
    pthread_mutex_unlock(&wrong_mutex);
}

/* Fewer rounds where each one is dear: under sanitizers and valgrind. */
static inline int rounds(int many, int few)
{
    return getenv("EBB_TEST_SHORT") ? few : many;
}

typedef struct worker {
    int i; /* 0 to n - 1 */
    ebb_context *ctx;
    void *shared;
    void (*work)(struct worker *w);
    pthread_barrier_t *start;
    double result;
    ebb_error error;
} worker;

static inline void *worker_main(void *arg)
{
    worker *w = arg;
    ebb_error_clear();
    pthread_barrier_wait(w->start);
    w->work(w);
    return NULL;
}

/* Runs work on n threads that start at the same moment; fails where one of them found
 * something. */
static inline void workers_run(worker *w, int n, ebb_context *ctx, void *shared,
                               void (*work)(worker *w))
{
    pthread_t thread[MOST_THREADS];
    pthread_barrier_t start;
    *wrong = 0;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        w[i] = (worker){.i = i, .ctx = ctx, .shared = shared, .work = work, .start = &start};
        assert_int_equal(pthread_create(&thread[i], NULL, worker_main, &w[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&start);
    if (*wrong) fail_msg("%s", wrong);
}

/* A context without threads of its own: each test brings its own. */
static inline int threads_setup(void **state)
{
    ebb_error_clear();
    ebb_context *ctx = NULL;
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1, .seed = 5}) != EBB_OK)
        return -1;
    *state = ctx;
    return 0;
}
#define THREADS(f) cmocka_unit_test_setup_teardown(f, threads_setup, fixture_teardown)

#endif
