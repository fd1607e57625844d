/* test_children.c - threads that each have a child context over what the parent shares.
 * SPDX-License-Identifier: MIT */
#include "threads/threads.h"

enum { ROWS = 20, WIDTH = 24 };

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER; /* reads and writes of it */

/* Graphs are made and walked while nobody writes the table, and live on meanwhile. One that
 * has saved a table that has been written to since is refused, with nothing half done. */
static void train(worker *w)
{
    ebb_context *ctx = NULL;
    MUST(ebb_context_create(&ctx, &(ebb_context_options){.parent = w->ctx, .n_threads = 1}) ==
         EBB_OK);
    for (int step = rounds(3000, 200); ctx && step-- > 0;) {
        EBB_SCOPE(iter);
        double ones[WIDTH], g[WIDTH];
        for (int i = 0; i < WIDTH; i++) ones[i] = 1;
        ebb_tensor *own = EBB_FROM(ctx, EBB_SHAPE(WIDTH), ones, WIDTH);
        MUST(ebb_set_requires_grad(own, true) == EBB_OK);
        pthread_rwlock_rdlock(&table_lock);
        ebb_tensor *y = ebb_sum(ebb_mul(w->shared, own), EBB_ALL);
        double filled = ebb_item(y) / (ROWS * WIDTH);
        pthread_rwlock_unlock(&table_lock);
        MUST(filled == (int)filled);
        if (step % 3 == 0) continue; /* dropped as it is */
        pthread_rwlock_rdlock(&table_lock);
        ebb_status status = ebb_backward(y, NULL);
        pthread_rwlock_unlock(&table_lock);
        MUST(status == EBB_OK || status == EBB_E_GRAPH);
        if (status != EBB_OK) {
            MUST(!ebb_has_grad(own));
            ebb_error_clear();
            continue;
        }
        MUST(EBB_READ(ebb_grad_of(own), g, WIDTH) == EBB_OK);
        for (int i = 0; i < WIDTH; i++) MUST(g[i] == ROWS * filled);
        w->result++;
    }
    ebb_context_destroy(ctx);
}

static void write_or_train(worker *w)
{
    if (w->i) {
        train(w);
        return;
    }
    double row[ROWS * WIDTH];
    for (int round = rounds(2000, 100); round-- > 0;) {
        for (int i = 0; i < ROWS * WIDTH; i++) row[i] = round % 7;
        pthread_rwlock_wrlock(&table_lock);
        MUST(EBB_WRITE(w->shared, row, ROWS * WIDTH) == EBB_OK);
        pthread_rwlock_unlock(&table_lock);
    }
}

static ebb_tensor *table_of(ebb_context *ctx)
{
    double ones[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
    ebb_tensor *table = EBB_FROM(ctx, EBB_SHAPE(ROWS, WIDTH), ones, ROWS * WIDTH);
    assert_ok(ebb_set_requires_grad(table, true));
    return table;
}

static void table_is_written(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *table = table_of(ctx);
    double g[ROWS * WIDTH], n = 0;
    worker w[4];
    workers_run(w, 4, ctx, table, write_or_train);
    for (int i = 1; i < 4; i++) n += w[i].result;
    assert_true(n > 0);
    assert_ok(EBB_READ(ebb_grad_of(table), g, ROWS * WIDTH));
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(g[i] == n);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.live_nodes, 0);
    assert_int_equal(s.saved_bytes, 0);
    assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 0);
    assert_int_equal(s.bytes[EBB_KIND_TEMPORARY], 0);
}

static void a_shared_table_is_written_while_children_hold_graphs_on_it(void **state)
{
    table_is_written(*state);
}

static void the_same_with_a_budget(void **state)
{
    (void)state;
    ebb_context *ctx = NULL;
    assert_ok(ebb_context_create(
        &ctx, &(ebb_context_options){.n_threads = 1, .memory_budget_bytes = 64 << 20}));
    table_is_written(ctx);
    ebb_context_destroy(ctx);
}

/* What a child had made of the parent's tensors goes with it, whoever held it. */
static void a_child_may_go_with_graphs_on_the_parents_tensors(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *table = table_of(ctx), *doubled = ebb_mul_scalar(table, 2);
    ebb_stats before, after;
    ebb_stats_get(&before, ctx);
    for (int life = 0; life < 3; life++) {
        EBB_SCOPE(iter);
        ebb_context *child = NULL;
        assert_ok(
            ebb_context_create(&child, &(ebb_context_options){.parent = ctx, .n_threads = 1}));
        ebb_tensor *own = EBB_FROM(child, EBB_SHAPE(2), ((double[]){1, 2}), 2);
        assert_ok(ebb_set_requires_grad(own, true));
        ebb_tensor *y = ebb_mul(doubled, ebb_mul(table, ebb_sum(own, EBB_ALL)));
        y = ebb_keep(y);
        assert_ok(ebb_check(y));
        if (life == 1)
            assert_ok(
                ebb_backward(ebb_sum(y, EBB_ALL), &(ebb_backward_options){.keep_graph = true}));
        ebb_context_destroy(child);
        assert_int_equal(ebb_check(y), EBB_E_MISUSE);
        ebb_error_clear();
    }
    ebb_stats_get(&after, ctx);
    assert_int_equal(after.saved_bytes, before.saved_bytes);
    assert_int_equal(after.live_nodes, before.live_nodes);
    for (int k = 0; k < EBB_KIND_BOOKKEEPING; k++)
        assert_true(k == EBB_KIND_GRADIENT || after.bytes[k] == before.bytes[k]);
    /* d/dt (t * 2 t) * 3 = 4 t * 3 */
    double g[ROWS * WIDTH];
    assert_ok(EBB_READ(ebb_grad_of(table), g, ROWS * WIDTH));
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(g[i] == 12);
    assert_ok(ebb_backward(ebb_sum(doubled, EBB_ALL), NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADS(a_shared_table_is_written_while_children_hold_graphs_on_it),
        THREADS(the_same_with_a_budget),
        THREADS(a_child_may_go_with_graphs_on_the_parents_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
