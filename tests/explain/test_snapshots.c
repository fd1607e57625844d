/* test_snapshots.c - a snapshot where memory is refused: written, and the failure is what it was.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 64, KIB = 1024 };

/* What a program would write to a file; the memory is here before anything is refused. */
typedef struct snapshot {
    ebb_holder holder[ROOM];
    int64_t n_holders;
    size_t used_bytes, listed_bytes, n_text;
    int n_calls;
    bool spoils;
    ebb_context *ctx;
    ebb_error error;
} snapshot;

static void count_text(void *user, const char *text, size_t n)
{
    (void)text;
    *(size_t *)user += n;
}

static void take(void *user, ebb_context *ctx, const ebb_error *error)
{
    snapshot *s = user;
    ebb_stats stats;
    s->n_calls++;
    s->ctx = ctx;
    s->error = *error;
    ebb_stats_get(&stats, ctx);
    s->used_bytes = stats.used_bytes;
    assert_int_equal(ebb_holders(s->holder, ROOM, &s->n_holders, ctx), EBB_OK);
    assert_true(s->n_holders <= ROOM);
    s->listed_bytes = 0;
    for (int64_t i = 0; i < s->n_holders; i++) s->listed_bytes += s->holder[i].unique_bytes;
    s->n_text = 0;
    assert_int_equal(ebb_context_dump_graph(ctx, EBB_GRAPH_JSON, count_text, &s->n_text),
                     EBB_OK);
    if (!s->spoils) return;
    EBB_SCOPE(within); /* refused too: no second call, and the first failure stays */
    assert_null(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1 << 30)));
    ebb_error_clear();
    assert_null(ebb_matmul(NULL, NULL));
}

static ebb_context *context_make(size_t budget, snapshot *s)
{
    ebb_context *ctx = NULL;
    ebb_error_clear();
    memset(s, 0, sizeof *s);
    assert_int_equal(
        ebb_context_create(
            &ctx, &(ebb_context_options){.memory_budget_bytes = budget, .n_threads = 1}),
        EBB_OK);
    assert_int_equal(ebb_watch_refusals(ctx, take, s), EBB_OK);
    return ctx;
}

static void snapshot_at_a_refusal_lists_every_byte_and_the_error_stays(void **state)
{
    (void)state;
    snapshot s;
    ebb_context *ctx = context_make(1024 * KIB, &s);
    for (int spoils = 0; spoils < 2; spoils++) {
        EBB_SCOPE(run);
        s.spoils = spoils;
        s.n_calls = 0;
        ebb_tensor *w = ebb_ones(ctx, EBB_F32, EBB_SHAPE(300, 300)); /* 360,000 bytes */
        assert_int_equal(ebb_set_requires_grad(w, true), EBB_OK);
        ebb_tensor *y = ebb_mul(w, w);
        assert_non_null(y);
        assert_int_equal(s.n_calls, 0);
        ebb_tensor *large = ebb_expand(w, EBB_SHAPE(4, 300, 300));
        assert_null(ebb_exp(large)); /* 1,440,000: more than all */
        assert_int_equal(s.n_calls, 1);
        assert_ptr_equal(s.ctx, ctx);
        assert_int_equal(s.error.status, EBB_E_BUDGET);
        assert_string_equal(s.error.op, "exp");
        assert_int_equal(s.listed_bytes, s.used_bytes);
        assert_true(s.used_bytes >= 720000);
        assert_true(s.n_text > 100);
        ebb_error now;
        ebb_budget_report report;
        ebb_error_get(&now);
        assert_memory_equal(&now, &s.error, sizeof now);
        assert_true(ebb_error_budget(&report));
        assert_int_equal(report.budget_bytes, 1024 * KIB);
        assert_true(report.needed_bytes >= 1440000 && report.needed_bytes < 3000000);
        ebb_error_clear();
        assert_non_null(ebb_sum(y, EBB_ALL)); /* and the context works on */
    }
    ebb_context_destroy(ctx);
}

static void backward_tells_once_and_what_is_no_want_of_memory_not_at_all(void **state)
{
    (void)state;
    snapshot s;
    ebb_context *ctx = context_make(1024 * KIB, &s);
    EBB_SCOPE(run);
    size_t bytes = 720000; /* so is the gradient; what the user wrote is not given up */
    float *data = calloc(1, bytes);
    ebb_tensor *w = ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(600, 300), data, bytes);
    free(data);
    assert_int_equal(ebb_set_requires_grad(w, true), EBB_OK);
    ebb_tensor *loss = ebb_sum(w, EBB_ALL);
    assert_int_equal(ebb_backward(loss, NULL), EBB_E_BUDGET);
    assert_int_equal(s.n_calls, 1);
    assert_int_equal(s.error.status, EBB_E_BUDGET);
    assert_true(ebb_grad_of(w) == EBB_NONE); /* told when the backward was undone */
    ebb_error_clear();
    assert_null(ebb_matmul(w, w)); /* 600x300 by 600x300: shapes */
    assert_int_equal(ebb_error_status(), EBB_E_SHAPE);
    assert_null(ebb_exp(NULL)); /* passes the failure on */
    assert_int_equal(s.n_calls, 1);
    ebb_error_clear();
    float x[4] = {0};
    assert_int_equal(ebb_watch_refusals(ctx, NULL, NULL), EBB_OK);
    assert_null(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1 << 20)));
    assert_int_equal(s.n_calls, 1);
    ebb_error_clear();
    assert_non_null(ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(4), x, sizeof x));
    ebb_context_destroy(ctx);
}

static void a_child_is_told_of_as_itself_and_hand_made_tensors_count(void **state)
{
    (void)state;
    snapshot s;
    ebb_context *ctx = context_make(0, &s), *child = NULL;
    assert_int_equal(
        ebb_context_create(&child, &(ebb_context_options){.parent = ctx,
                                                          .memory_budget_bytes = 256 * KIB,
                                                          .n_threads = 1}),
        EBB_OK);
    EBB_SCOPE(run);
    size_t bytes = 1024 * KIB;
    float *data = calloc(1, bytes);
    assert_null(ebb_tensor_copy(child, EBB_F32, EBB_SHAPE(256 * KIB), data, bytes));
    assert_int_equal(s.n_calls, 1);
    assert_ptr_equal(s.ctx, child);
    assert_int_equal(ebb_error_status(), EBB_E_BUDGET);
    ebb_error_clear();
    assert_null(ebb_empty(child, EBB_F32, EBB_SHAPE(256 * KIB), EBB_KIND_DATA));
    assert_int_equal(s.n_calls, 2);
    ebb_error_clear();
    free(data);
    assert_int_equal(ebb_watch_refusals(NULL, take, &s), EBB_E_MISUSE);
    ebb_error_clear();
    ebb_context_destroy(child);
    ebb_context_destroy(ctx);
}

/* One that is passed on by calls that were given its NULL is told of once. */
static void a_refusal_that_is_passed_on_is_told_of_once(void **state)
{
    (void)state;
    snapshot s;
    ebb_context *ctx = context_make(1024 * KIB, &s);
    EBB_SCOPE(run);
    ebb_tensor *w = ebb_ones(ctx, EBB_F32, EBB_SHAPE(100, 100));
    assert_int_equal(ebb_set_requires_grad(w, true), EBB_OK);
    ebb_tensor *large = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1000, 1000)); /* 4,000,000 bytes */
    assert_null(large);
    assert_int_equal(s.n_calls, 1);
    ebb_tensor *y = ebb_add(ebb_mul(w, large), w), *roots[] = {w, y}, *g;
    assert_null(y);
    assert_int_equal(ebb_add_(w, large), EBB_E_BUDGET);
    assert_int_equal(ebb_backward_from(roots, NULL, 2, NULL), EBB_E_BUDGET);
    assert_int_equal(ebb_grad(&g, roots, NULL, 2, &w, 1, NULL), EBB_E_BUDGET);
    assert_int_equal(s.n_calls, 1);
    assert_null(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1000, 1000))); /* a new one */
    assert_int_equal(s.n_calls, 2);
    ebb_error_clear();
    ebb_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot_at_a_refusal_lists_every_byte_and_the_error_stays),
        cmocka_unit_test(backward_tells_once_and_what_is_no_want_of_memory_not_at_all),
        cmocka_unit_test(a_child_is_told_of_as_itself_and_hand_made_tensors_count),
        cmocka_unit_test(a_refusal_that_is_passed_on_is_told_of_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
