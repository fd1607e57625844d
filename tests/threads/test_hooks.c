/* test_hooks.c - hooks come and go while other threads run backwards over what they are on.
 * SPDX-License-Identifier: MIT */
#include "threads/threads.h"

typedef struct shared_graph {
    ebb_tensor *x, *y, *z; /* z = exp(y), y = x * x: kept */
    atomic_int n_seen, n_done;
} shared_graph;

static ebb_status see(void *user, ebb_tensor **grad)
{
    shared_graph *g = user;
    (void)grad;
    atomic_fetch_add(&g->n_seen, 1);
    return EBB_OK;
}

static void done(void *user)
{
    shared_graph *g = user;
    atomic_fetch_add(&g->n_done, 1);
}

static void add_or_walk(worker *w)
{
    shared_graph *g = w->shared;
    for (int i = 0; i < rounds(2000, 100); i++) {
        EBB_SCOPE(scope);
        if (w->i % 2) {
            MUST(ebb_backward(g->z, &(ebb_backward_options){.keep_graph = true}) == EBB_OK);
            w->result++;
            continue;
        }
        ebb_hook_id id;
        ebb_hook_options o = {.done = done};
        MUST(ebb_hook_add(&id, i % 3 ? g->y : g->x, see, g, &o) == EBB_OK);
        MUST(ebb_hook_remove(w->ctx, id) == EBB_OK);
        w->result++;
    }
}

static void hooks_are_added_and_removed_under_running_backwards(void **state)
{
    shared_graph g = {0};
    worker w[4];
    double n_added = 0, n_walks = 0, got = 0;
    {
        EBB_SCOPE(scope);
        g.x = leaf_scalar(*state, 2);
        g.y = ebb_mul(g.x, g.x);
        g.z = ebb_mul_scalar(g.y, 3);
        workers_run(w, 4, *state, &g, add_or_walk);
        for (int i = 0; i < 4; i++) *(i % 2 ? &n_walks : &n_added) += w[i].result;
        got = grad_item(g.x);
    }
    assert_int_equal(atomic_load(&g.n_done), (int)n_added);
    assert_true(got == 12 * n_walks);
}

/* A hook is added while another thread consumes: it is refused, or goes with the operation. */
static void consume_or_add(worker *w)
{
    shared_graph *g = w->shared;
    EBB_SCOPE(scope);
    if (w->i == 0) {
        MUST(ebb_backward(g->z, NULL) == EBB_OK);
        return;
    }
    ebb_hook_options o = {.done = done};
    if (ebb_hook_add(NULL, g->y, see, g, &o) != EBB_OK) MUST(ebb_error_status() == EBB_E_GRAPH);
    ebb_error_clear();
}

static void a_hook_that_comes_as_its_operation_goes_is_let_go(void **state)
{
    for (int i = 0; i < rounds(500, 30); i++) {
        shared_graph g = {0};
        worker w[3];
        EBB_SCOPE(scope);
        g.x = leaf_scalar(*state, 2);
        g.y = ebb_mul(g.x, g.x);
        g.z = ebb_mul_scalar(g.y, 3);
        workers_run(w, 3, *state, &g, consume_or_add);
        assert_int_equal(atomic_load(&g.n_done), 2);
        assert_true(grad_item(g.x) == 12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADS(hooks_are_added_and_removed_under_running_backwards),
        THREADS(a_hook_that_comes_as_its_operation_goes_is_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
