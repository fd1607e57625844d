/* test_fork.c - a child made by fork is told about its parent's contexts, never waits for a
 * lock or a thread that stayed behind, and works with contexts of its own.
 * SPDX-License-Identifier: MIT */
#include "threads/threads.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) return __LINE__;                                                     \
    } while (0)
#define TOLD(expr) CHILD((expr) == EBB_E_MISUSE && strstr(ebb_error_message(), "fork"))

/* What a child can touch of its parent's. */
typedef struct inheritance {
    ebb_context *ctx;
    ebb_tensor *w, *loss;
    ebb_scope scope;
} inheritance;

static int old_things(const inheritance *old)
{
    ebb_tensor *g = NULL, *w = old->w;
    double x = 1;
    ebb_view v;
    CHILD(ebb_mul(old->w, old->w) == NULL);
    TOLD(ebb_error_status());
    TOLD(ebb_backward(old->loss, NULL));
    TOLD(ebb_grad(&g, (ebb_tensor *[]){old->loss}, NULL, 1, &w, 1, NULL));
    TOLD(ebb_discard_graph(old->loss));
    TOLD(ebb_clear_grad(old->w));
    CHILD(ebb_grad_of(old->w) == NULL);
    TOLD(ebb_error_status());
    CHILD(!ebb_has_grad(old->w));
    TOLD(ebb_set_requires_grad(old->w, false));
    TOLD(EBB_WRITE(old->w, &x, 1));
    TOLD(EBB_READ(old->w, &x, 1));
    TOLD(ebb_map(&v, old->w, EBB_MAP_READ));
    CHILD(ebb_tensor_copy(old->ctx, EBB_F64, EBB_SCALAR, &x, sizeof x) == NULL);
    TOLD(ebb_error_status());
    ebb_context *child = NULL;
    TOLD(ebb_context_create(&child, &(ebb_context_options){.parent = old->ctx}));
    ebb_params *params = NULL;
    TOLD(ebb_params_create(&params, old->ctx));
    ebb_stats stats;
    ebb_stats_get(&stats, old->ctx);
    ebb_stats_reset_peak(old->ctx);
    ebb_trim(old->ctx);
    ebb_release(ebb_keep(old->w));
    ebb_error_clear();
    return 0;
}

/* x^2 and a product large enough for every thread of a pool. */
static int new_things(void)
{
    ebb_context *ctx = NULL;
    CHILD(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 4}) == EBB_OK);
    {
        EBB_SCOPE(outer);
        ebb_tensor *x = scalar(ctx, 3);
        CHILD(ebb_set_requires_grad(x, true) == EBB_OK);
        CHILD(ebb_backward(ebb_mul(x, x), NULL) == EBB_OK);
        CHILD(ebb_item(ebb_grad_of(x)) == 6);
        ebb_tensor *a = ebb_ones(ctx, EBB_F32, EBB_SHAPE(96, 96));
        CHILD(ebb_set_requires_grad(a, true) == EBB_OK);
        ebb_tensor *y = ebb_sum(ebb_exp(ebb_mul_scalar(ebb_matmul(a, a), 0)), EBB_ALL);
        CHILD(ebb_backward(y, NULL) == EBB_OK);
        CHILD(ebb_item(y) == 96 * 96);
    }
    ebb_context_destroy(ctx);
    return 0;
}

static int child_main(const inheritance *old)
{
    int line = old_things(old);
    if (!line) line = new_things();
    if (line) return line;
    ebb_scope_end(old->scope); /* its handles are the parent's: they go without a lock */
    ebb_context_destroy(old->ctx);
    return 0;
}

/* Forks; the child must be through in a second, of a quiet machine's. */
static void fork_and_wait(const inheritance *old)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm((unsigned)rounds(10, 60));
        int line = child_main(old);
        if (line) fprintf(stderr, "in the child, line %d: %s\n", line, ebb_error_message());
        _exit(line != 0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) fail_msg("the child was ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void inherit(inheritance *old, ebb_context *ctx)
{
    *old = (inheritance){.ctx = ctx, .scope = ebb_scope_begin(0, NULL)};
    old->w = leaf_scalar(ctx, 2);
    old->loss = ebb_mul(old->w, old->w);
}

static void a_child_is_told_and_works_with_contexts_of_its_own(void **state)
{
    inheritance old;
    inherit(&old, *state);
    fork_and_wait(&old);
    assert_ok(ebb_backward(old.loss, NULL)); /* the parent's are as they were */
    assert_true(grad_item(old.w) == 4);
    ebb_scope_end(old.scope);
}

static void a_grandchild_is_told_too(void **state)
{
    inheritance old;
    inherit(&old, *state);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm((unsigned)rounds(10, 60));
        int line = new_things();
        pid_t grandchild = line ? -1 : fork();
        if (grandchild == 0) _exit(child_main(&old) != 0);
        int status = 1;
        if (grandchild > 0) waitpid(grandchild, &status, 0);
        _exit(status != 0);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    ebb_scope_end(old.scope);
}

/* The pool of kernel threads exists in the parent and has no threads in the child. */
static void a_child_does_not_wait_for_the_parents_kernel_threads(void **state)
{
    (void)state;
    ebb_context *ctx = NULL;
    assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 4}));
    inheritance old;
    inherit(&old, ctx);
    ebb_tensor *a = ebb_ones(ctx, EBB_F32, EBB_SHAPE(256, 256));
    assert_ok(ebb_set_requires_grad(a, true));
    assert_ok(ebb_backward(ebb_sum(ebb_exp(ebb_matmul(a, a)), EBB_ALL), NULL));
    fork_and_wait(&old);
    ebb_scope_end(old.scope);
    ebb_context_destroy(ctx);
}

/* ---- fork at any moment of other threads' work ------------------------------------------- */

typedef struct busy {
    ebb_context *ctx;
    atomic_bool stop;
} busy;

/* Everything that takes a lock: small and large values, nodes, slots, contexts. */
static void *work(void *arg)
{
    busy *b = arg;
    while (!atomic_load(&b->stop)) {
        ebb_context *own = NULL;
        if (ebb_context_create(&own, &(ebb_context_options){.n_threads = 1}) != EBB_OK) abort();
        ebb_context *both[2] = {own, b->ctx};
        for (int i = 0; i < 2; i++) {
            EBB_SCOPE(iter);
            ebb_tensor *x = ebb_ones(both[i], EBB_F64, EBB_SHAPE(8, 8)), *y = x;
            if (ebb_set_requires_grad(x, true) != EBB_OK) abort();
            for (int k = 0; k < 30; k++) y = ebb_mul(ebb_matmul(y, x), scalar(both[i], 0.125));
            if (ebb_backward(ebb_sum(y, EBB_ALL), NULL) != EBB_OK) abort();
        }
        ebb_context_destroy(own);
    }
    return NULL;
}

static void a_child_forked_amid_other_threads_work_never_hangs(void **state)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    /* gcc 12's sanitizers have locks of their own, which a thread may hold at the fork. */
    (void)state;
    skip();
#endif
    busy b = {.ctx = *state};
    pthread_t thread[3];
    inheritance old;
    inherit(&old, *state);
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&thread[i], NULL, work, &b), 0);
    for (int i = rounds(60, 5); i-- > 0;) fork_and_wait(&old);
    atomic_store(&b.stop, true);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    ebb_scope_end(old.scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADS(a_child_is_told_and_works_with_contexts_of_its_own),
        THREADS(a_grandchild_is_told_too),
        THREADS(a_child_does_not_wait_for_the_parents_kernel_threads),
        THREADS(a_child_forked_amid_other_threads_work_never_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
