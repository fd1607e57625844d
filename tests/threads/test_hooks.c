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

/* ---- a value that a rule keeps ------------------------------------------------------------- */

static struct {
    ebb_context *ctx;
    ebb_tensor *kept, *made[64];
} of_rule;

static ebb_status scaled_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype;
    s[0] = in[0].shape;
    return EBB_OK;
}

static ebb_status scaled_run(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                             const void *attr)
{
    (void)aux, (void)attr;
    const float *x = in[0].data, *w = in[1].data;
    float *y = out[0].data;
    for (int64_t i = 0; i < in[0].shape.dims[0]; i++) y[i] = x[i] * *w;
    return EBB_OK;
}

static ebb_status scaled_rule(ebb_vjp *v, const void *attr)
{
    (void)attr;
    of_rule.kept = ebb_keep(ebb_vjp_in(v, 1));
    ebb_vjp_give(v, 0, ebb_vjp_grad(v, 0));
    ebb_vjp_give(v, 1, ebb_full(of_rule.ctx, EBB_F32, EBB_SHAPE(), 1));
    return of_rule.kept ? EBB_OK : ebb_error_status();
}

/* What was let go of is at once the memory of others. */
static void let_go_and_make(worker *w)
{
    EBB_SCOPE(scope);
    ebb_clear(&of_rule.kept);
    for (int i = 0; i < 64; i++)
        of_rule.made[i] = ebb_keep(ebb_full(w->ctx, EBB_F32, EBB_SHAPE(), 7));
}

static ebb_status let_go_elsewhere(void *user, ebb_tensor **grad)
{
    worker w[1];
    (void)user, (void)grad;
    workers_run(w, 1, of_rule.ctx, NULL, let_go_and_make);
    return EBB_OK;
}

static void what_a_rule_kept_may_go_on_another_thread_meanwhile(void **state)
{
    (void)state;
    ebb_custom op = {.name = "scaled", .n_in = 2, .n_out = 1};
    op.need[0] = op.need[1] = EBB_NEED_IN(1);
    op.shape = scaled_shape;
    op.forward = scaled_run;
    op.vjp = scaled_rule;
    assert_ok(ebb_context_create(&of_rule.ctx,
                                 &(ebb_context_options){.memory_budget_bytes = 1 << 20}));
    ebb_tensor *y = NULL, *z;
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = ebb_full(of_rule.ctx, EBB_F32, EBB_SHAPE(100), 1);
        ebb_tensor *w = ebb_full(of_rule.ctx, EBB_F32, EBB_SHAPE(), 2);
        assert_ok(ebb_set_requires_grad(x, true));
        assert_ok(ebb_set_requires_grad(w, true));
        x = ebb_exp(x);
        assert_ok(ebb_hook_add(NULL, x, let_go_elsewhere, NULL, NULL));
        assert_ok(ebb_apply(&z, &op, (ebb_tensor *[]){x, w}, NULL));
        assert_ok(ebb_hold(&y, ebb_sum(z, EBB_ALL)));
    }
    assert_ok(ebb_backward(y, NULL));
    for (int i = 0; i < 64; i++) { /* saves of the new values are their own */
        EBB_SCOPE(scope);
        ebb_stats s;
        assert_ok(ebb_set_requires_grad(of_rule.made[i], true));
        assert_non_null(ebb_mul(of_rule.made[i], of_rule.made[i]));
        ebb_stats_get(&s, of_rule.ctx);
        assert_int_equal(s.saved_bytes, 4);
    }
    ebb_clear(&y);
    for (int i = 0; i < 64; i++) ebb_clear(&of_rule.made[i]);
    ebb_context_destroy(of_rule.ctx);
}

/* ---- a watch whose tensors others let go of ---------------------------------------------- */

enum { N_PLACES = 4 };
typedef struct watched {
    pthread_mutex_t lock;
    ebb_tensor *x, *place[N_PLACES];
    atomic_int n_added, n_done, n_warned;
} watched;

static ebb_status pass(void *user, ebb_tensor **grad)
{
    (void)user;
    (void)grad;
    return EBB_OK;
}

static void watched_done(void *user)
{
    atomic_fetch_add(&((watched *)user)->n_done, 1);
}

static void count_warning(void *user, const ebb_watch_event *e)
{
    if (e->text[0]) atomic_fetch_add(&((watched *)user)->n_warned, 1);
}

/* Swaps a tensor, with a reference, for what another thread left there. */
static ebb_tensor *watched_swap(watched *g, int i, ebb_tensor *t)
{
    pthread_mutex_lock(&g->lock);
    ebb_tensor *before = g->place[i];
    g->place[i] = t;
    pthread_mutex_unlock(&g->lock);
    return before;
}

/* Each makes kept graphs with hooks, takes steps of the watch, and lets go of or uses up what the
 * others made. */
static void make_and_let_go(worker *w)
{
    watched *g = w->shared;
    for (int i = 0; i < rounds(3000, 300); i++) {
        EBB_SCOPE(scope);
        ebb_tensor *y = ebb_tanh(ebb_square(g->x));
        ebb_hook_options o = {
            .done = watched_done, .holds = i % 5 ? &g->x : &y, .n_holds = i % 2};
        MUST(ebb_backward(y, &(ebb_backward_options){.keep_graph = true}) == EBB_OK);
        MUST(ebb_hook_add(NULL, y, pass, g, &o) == EBB_OK);
        atomic_fetch_add(&g->n_added, 1);
        ebb_tensor *theirs = watched_swap(g, (i + w->i) % N_PLACES, ebb_claim(y));
        ebb_watch_step(w->ctx);
        /* the hook may hold it too: then only this ends the cycle */
        if (theirs) MUST(ebb_discard_graph(theirs) == EBB_OK);
        ebb_release(theirs);
        ebb_watch_step(w->ctx);
    }
}

static void a_watch_takes_steps_while_other_threads_let_go_of_what_it_watches(void **state)
{
    watched g = {.lock = PTHREAD_MUTEX_INITIALIZER};
    worker w[4];
    EBB_SCOPE(scope);
    g.x = leaf_scalar(*state, 2);
    assert_ok(ebb_watch(*state, count_warning, &g, 0));
    workers_run(w, 4, *state, &g, make_and_let_go);
    for (int i = 0; i < N_PLACES; i++) {
        if (!g.place[i]) continue;
        assert_ok(ebb_discard_graph(g.place[i]));
        ebb_clear(&g.place[i]);
    }
    assert_int_equal(atomic_load(&g.n_done), atomic_load(&g.n_added));
    assert_int_equal(atomic_load(&g.n_added), 4 * rounds(3000, 300));
    ebb_stats s;
    ebb_stats_get(&s, *state);
    assert_int_equal(s.live_nodes + s.spent_nodes + s.severed_nodes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADS(hooks_are_added_and_removed_under_running_backwards),
        THREADS(a_hook_that_comes_as_its_operation_goes_is_let_go),
        THREADS(a_watch_takes_steps_while_other_threads_let_go_of_what_it_watches),
        cmocka_unit_test(what_a_rule_kept_may_go_on_another_thread_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
