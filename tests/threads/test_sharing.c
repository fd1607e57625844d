/* test_sharing.c - parameters, contexts and generators used by several threads at once.
 * SPDX-License-Identifier: MIT */
#include "threads/threads.h"

#include <math.h>

/* ---- a shared leaf ----------------------------------------------------------------------- */

enum { SIDE = 16 };

/* loss = sum(cat(w, c)^2) with w = 1: dw = 2 */
static void concatenate(worker *w)
{
    double ones[SIDE * SIDE], got[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) ones[i] = 1;
    ebb_tensor *leaf = w->shared;
    for (int round = rounds(300, 30); round-- > 0;) {
        EBB_SCOPE(iter);
        ebb_tensor *c = EBB_FROM(w->ctx, EBB_SHAPE(SIDE, SIDE), ones, SIDE * SIDE);
        ebb_tensor *g = NULL,
                   *loss =
                       ebb_sum(ebb_square(ebb_cat((ebb_tensor *[]){leaf, c}, 2, 0)), EBB_ALL);
        MUST(ebb_grad(&g, &loss, NULL, 1, &leaf, 1, NULL) == EBB_OK);
        MUST(g && ebb_read(got, sizeof got, EBB_F64, g) == EBB_OK);
        for (int i = 0; g && i < SIDE * SIDE; i++) MUST(got[i] == 2);
    }
}

static void run_elsewhere(worker *w)
{
    for (int round = rounds(1000, 100); round-- > 0;) {
        EBB_SCOPE(iter);
        ebb_tensor *x = scalar(w->ctx, 3);
        MUST(ebb_set_requires_grad(x, true) == EBB_OK);
        MUST(ebb_backward(ebb_mul(x, x), NULL) == EBB_OK);
        MUST(ebb_item(ebb_grad_of(x)) == 6);
    }
}

static void half_and_half(worker *w)
{
    (w->i % 2 ? run_elsewhere : concatenate)(w);
}

static void other_threads_backwards_never_cost_a_leaf_its_gradient(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    double ones[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) ones[i] = 1;
    ebb_tensor *leaf = EBB_FROM(ctx, EBB_SHAPE(SIDE, SIDE), ones, SIDE * SIDE);
    assert_ok(ebb_set_requires_grad(leaf, true));
    worker w[8];
    workers_run(w, 8, ctx, leaf, half_and_half);
    assert_false(ebb_has_grad(leaf)); /* ebb_grad leaves slots alone */
}

static void accumulate(worker *w)
{
    for (int round = rounds(1000, 100); round-- > 0;) {
        EBB_SCOPE(iter);
        ebb_tensor *y = ebb_mul_scalar(w->shared, w->i + 1);
        MUST(ebb_backward(ebb_sum(y, EBB_ALL), NULL) == EBB_OK);
    }
}

/* The slot of n ones after `accumulate` on eight threads. */
static void accumulate_into(ebb_context *ctx, int64_t n)
{
    EBB_SCOPE(outer);
    double *x = calloc((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = 1;
    ebb_tensor *leaf = EBB_FROM(ctx, EBB_SHAPE(n), x, n);
    assert_ok(ebb_set_requires_grad(leaf, true));
    worker w[8];
    workers_run(w, 8, ctx, leaf, accumulate);
    assert_ok(EBB_READ(ebb_grad_of(leaf), x, n));
    for (int64_t i = 0; i < n; i++) assert_true(x[i] == 36.0 * rounds(1000, 100));
    free(x);
}

static void a_leafs_gradient_loses_no_threads_contribution(void **state)
{
    accumulate_into(*state, 1024);
}

static void a_one_element_gradient_loses_no_threads_contribution(void **state)
{
    accumulate_into(*state, 1);
}

/* Each thread computes with the gradient it sees, and holds graphs that have saved it. */
static void use_the_gradient(worker *w)
{
    ebb_tensor *leaf = w->shared;
    for (int round = rounds(500, 100); round-- > 0;) {
        EBB_SCOPE(iter);
        if (w->i) {
            ebb_tensor *y = ebb_mul_scalar(leaf, w->i);
            MUST(ebb_backward(ebb_sum(y, EBB_ALL), NULL) == EBB_OK);
        } else { /* handles come and go, the bytes are not looked at */
            ebb_tensor *g = ebb_grad_of(leaf);
            MUST(g && (g == EBB_NONE || ebb_dim(g, 0) == ebb_dim(leaf, 0)));
        }
    }
}

static void handles_on_a_gradient_come_and_go_while_others_add_to_it(void **state)
{
    ebb_context *ctx = *state;
    for (int64_t n = 1; n <= 64; n += 63) {
        EBB_SCOPE(outer);
        double x[64] = {0};
        ebb_tensor *leaf = EBB_FROM(ctx, EBB_SHAPE(n), x, n);
        assert_ok(ebb_set_requires_grad(leaf, true));
        worker w[4];
        workers_run(w, 4, ctx, leaf, use_the_gradient);
        assert_ok(EBB_READ(ebb_grad_of(leaf), x, n));
        for (int64_t i = 0; i < n; i++) assert_true(x[i] == 6.0 * rounds(500, 100));
    }
}

/* What a graph has saved of a gradient is what it was then, whatever is added to the slot. */
static void a_graph_that_read_a_gradient_keeps_what_it_read(void **state)
{
    ebb_context *ctx = *state;
    for (int64_t n = 1; n <= 64; n += 63) {
        EBB_SCOPE(outer);
        double x[64], g[64];
        for (int i = 0; i < 64; i++) x[i] = i;
        ebb_tensor *leaf = EBB_FROM(ctx, EBB_SHAPE(n), x, n);
        ebb_tensor *other = EBB_FROM(ctx, EBB_SHAPE(n), x, n);
        assert_ok(ebb_set_requires_grad(leaf, true));
        assert_ok(ebb_set_requires_grad(other, true));
        assert_ok(ebb_backward(ebb_sum(ebb_mul_scalar(leaf, 3), EBB_ALL), NULL));
        ebb_tensor *slot = ebb_grad_of(leaf);
        ebb_view map;
        assert_ok(ebb_map(&map, slot, EBB_MAP_READ));
        ebb_tensor *y = ebb_sum(ebb_mul(other, slot), EBB_ALL);
        assert_ok(ebb_backward(ebb_sum(ebb_mul_scalar(leaf, 4), EBB_ALL), NULL));
        assert_ok(EBB_READ(slot, g, n));
        for (int64_t i = 0; i < n; i++) assert_true(g[i] == 7);
        if (n > 8) /* small ones may lie elsewhere after a write */
            for (int64_t i = 0; i < n; i++) assert_true(((double *)map.data)[i] == 7);
        ebb_unmap(slot);
        assert_ok(ebb_backward(y, NULL));
        assert_ok(EBB_READ(ebb_grad_of(other), g, n));
        for (int64_t i = 0; i < n; i++) assert_true(g[i] == 3);
    }
}

/* ---- many small graphs ------------------------------------------------------------------- */

/* y = tanh(w x)^2 at w = 0.5, x = 1: dy/dw = 2 tanh(0.5) (1 - tanh(0.5)^2) */
static void small_graphs(worker *w)
{
    double t = tanh(0.5), want = 2 * t * (1 - t * t);
    for (int round = rounds(10000, 300); round-- > 0;) {
        EBB_SCOPE(iter);
        ebb_tensor *leaf = scalar(w->ctx, 0.5), *x = scalar(w->ctx, 1);
        MUST(ebb_set_requires_grad(leaf, true) == EBB_OK);
        MUST(ebb_backward(ebb_square(ebb_tanh(ebb_mul(leaf, x))), NULL) == EBB_OK);
        MUST(fabs(ebb_item(ebb_grad_of(leaf)) - want) < 1e-14);
    }
}

static void many_small_graphs_from_many_threads_are_right(void **state)
{
    ebb_context *ctx = *state;
    worker w[8];
    for (int n = 1; n <= 8; n *= 2) {
        workers_run(w, n, ctx, NULL, small_graphs);
        ebb_stats s;
        ebb_stats_get(&s, ctx);
        assert_int_equal(s.live_nodes, 0);
        assert_int_equal(s.n_handles, 0);
    }
}

/* Statistics may be asked for at any time; once all is quiet they are exact. */
static void ask_for_statistics(worker *w)
{
    if (w->i) {
        small_graphs(w);
        return;
    }
    for (int round = rounds(2000, 100); round-- > 0;) {
        ebb_stats s;
        ebb_stats_get(&s, w->ctx);
        MUST(s.n_handles >= 0 && s.n_handles < 1000);
    }
}

static void statistics_can_be_read_while_others_work(void **state)
{
    worker w[4];
    workers_run(w, 4, *state, NULL, ask_for_statistics);
    ebb_stats s;
    ebb_stats_get(&s, *state);
    assert_int_equal(s.n_handles, 0);
}

/* ---- tenants ----------------------------------------------------------------------------- */

enum { ROWS = 20, WIDTH = 24 };

/* Trains a row of weights of its own on a table of the parent's, in a context of its own that
 * comes and goes. */
static void tenant(worker *w)
{
    ebb_tensor *table = w->shared;
    for (int life = rounds(20, 3); life-- > 0;) {
        ebb_context *ctx = NULL;
        MUST(ebb_context_create(&ctx, &(ebb_context_options){.parent = w->ctx,
                                                             .memory_budget_bytes = 4 << 20,
                                                             .n_threads = 1}) == EBB_OK);
        for (int step = 0; ctx && step < 10; step++) {
            EBB_SCOPE(iter);
            double ones[WIDTH];
            for (int i = 0; i < WIDTH; i++) ones[i] = 1;
            ebb_tensor *own = EBB_FROM(ctx, EBB_SHAPE(WIDTH), ones, WIDTH);
            MUST(ebb_set_requires_grad(own, true) == EBB_OK);
            MUST(ebb_backward(ebb_sum(ebb_mul(table, own), EBB_ALL), NULL) == EBB_OK);
            double g[WIDTH];
            MUST(EBB_READ(ebb_grad_of(own), g, WIDTH) == EBB_OK);
            for (int i = 0; i < WIDTH; i++) MUST(g[i] == ROWS);
        }
        ebb_context_destroy(ctx);
    }
}

static void tenants_that_come_and_go_share_a_table(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    double ones[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
    ebb_tensor *table = EBB_FROM(ctx, EBB_SHAPE(ROWS, WIDTH), ones, ROWS * WIDTH);
    assert_ok(ebb_set_requires_grad(table, true));
    worker w[4];
    workers_run(w, 4, ctx, table, tenant);
    assert_ok(EBB_READ(ebb_grad_of(table), ones, ROWS * WIDTH));
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(ones[i] == 4 * 10 * rounds(20, 3));
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.n_handles, 2); /* the table and its gradient, no tenant's */
}

/* A tensor made by one thread, used by the next, let go by a third. */
static void pass_on(worker *w)
{
    ebb_tensor **slot = w->shared;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    for (int round = rounds(3000, 200); round-- > 0;) {
        EBB_SCOPE(iter);
        pthread_mutex_lock(&mutex);
        ebb_tensor *mine = *slot ? ebb_keep(*slot) : NULL;
        pthread_mutex_unlock(&mutex);
        ebb_tensor *next;
        if (mine) {
            next = ebb_add_scalar(mine, 1);
        } else {
            next = scalar(w->ctx, 0);
            MUST(ebb_set_requires_grad(next, true) == EBB_OK);
        }
        MUST(ebb_check(next) == EBB_OK);
        ebb_release(mine);
        ebb_keep(next);
        pthread_mutex_lock(&mutex);
        ebb_tensor *before = *slot;
        *slot = round % 50 ? next : NULL; /* now and then the chain is let go */
        pthread_mutex_unlock(&mutex);
        ebb_release(before);
        if (round % 50 == 0) ebb_release(next);
    }
}

static void tensors_are_made_used_and_released_by_different_threads(void **state)
{
    ebb_tensor *slot = NULL;
    worker w[4];
    workers_run(w, 4, *state, &slot, pass_on);
    ebb_release(slot);
    ebb_stats s;
    ebb_stats_get(&s, *state);
    assert_int_equal(s.n_handles, 0);
    assert_int_equal(s.n_misuse, 0);
}

/* ---- random numbers ---------------------------------------------------------------------- */

enum { DRAWS = 100 };

static double draw_sum(ebb_context *ctx, int n)
{
    double sum = 0, x[DRAWS];
    for (int i = 0; i < n; i++) {
        EBB_SCOPE(iter);
        ebb_tensor *t = ebb_normal(ctx, EBB_F64, EBB_SHAPE(DRAWS), 0, 1);
        if (!t || EBB_READ(t, x, DRAWS) != EBB_OK) return NAN;
        for (int k = 0; k < DRAWS; k++) sum = sum * 0.5 + x[k];
    }
    return sum;
}

static void draw(worker *w)
{
    MUST(isfinite(draw_sum(w->ctx, rounds(300, 30)))); /* the shared generator */
    ebb_context *own = NULL;
    MUST(ebb_context_create(&own, &(ebb_context_options){
                                      .n_threads = 1, .seed = 40 + (uint64_t)w->i}) == EBB_OK);
    if (own) w->result = draw_sum(own, rounds(300, 30));
    ebb_context_destroy(own);
}

static void private_generators_draw_what_they_draw_alone(void **state)
{
    worker w[8];
    workers_run(w, 8, *state, NULL, draw);
    for (int i = 0; i < 8; i++) {
        ebb_context *alone = NULL;
        assert_ok(ebb_context_create(
            &alone, &(ebb_context_options){.n_threads = 1, .seed = 40 + (uint64_t)i}));
        assert_true(w[i].result == draw_sum(alone, rounds(300, 30)));
        ebb_context_destroy(alone);
        for (int k = 0; k < i; k++) assert_true(w[i].result != w[k].result);
    }
}

/* Every block of the shared generator's stream is drawn once. */
static void draw_one(worker *w)
{
    EBB_SCOPE(outer);
    double *x = (double *)w->shared + w->i * DRAWS;
    ebb_tensor *t = ebb_normal(w->ctx, EBB_F64, EBB_SHAPE(DRAWS), 0, 1);
    MUST(EBB_READ(t, x, DRAWS) == EBB_OK);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void a_shared_generator_gives_no_number_twice(void **state)
{
    double x[8 * DRAWS];
    worker w[8];
    workers_run(w, 8, *state, x, draw_one);
    qsort(x, 8 * DRAWS, sizeof *x, compare);
    for (int i = 1; i < 8 * DRAWS; i++) assert_true(x[i] != x[i - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADS(other_threads_backwards_never_cost_a_leaf_its_gradient),
        THREADS(a_leafs_gradient_loses_no_threads_contribution),
        THREADS(a_one_element_gradient_loses_no_threads_contribution),
        THREADS(handles_on_a_gradient_come_and_go_while_others_add_to_it),
        THREADS(a_graph_that_read_a_gradient_keeps_what_it_read),
        THREADS(many_small_graphs_from_many_threads_are_right),
        THREADS(statistics_can_be_read_while_others_work),
        THREADS(tenants_that_come_and_go_share_a_table),
        THREADS(tensors_are_made_used_and_released_by_different_threads),
        THREADS(private_generators_draw_what_they_draw_alone),
        THREADS(a_shared_generator_gives_no_number_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
