/* test_saved.c - what a backward would use, and the counter of saved bytes; values by hand.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 32 };

static ebb_stats stats_of(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s;
}

static size_t unique_sum(const ebb_saved_value *v, int64_t n)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += v[i].unique_bytes;
    return bytes;
}

static ebb_tensor *leaf_f32(ebb_context *ctx, ebb_shape s)
{
    float zero[256] = {0};
    int64_t n = 1;
    for (int64_t i = 0; i < s.n_dims; i++) n *= s.dims[i];
    ebb_tensor *t = EBB_FROM(ctx, s, zero, n);
    assert_ok(ebb_set_requires_grad(t, true));
    return t;
}

static void assert_saved(const ebb_saved_value *v, const char *op, bool is_output,
                         int32_t index, int64_t rows, int64_t columns, size_t bytes)
{
    assert_string_equal(v->op, op);
    assert_int_equal(v->is_output, is_output);
    assert_int_equal(v->index, index);
    assert_int_equal(v->dtype, EBB_F32);
    assert_int_equal(v->shape.n_dims, 2);
    assert_int_equal(v->shape.dims[0], rows);
    assert_int_equal(v->shape.dims[1], columns);
    assert_int_equal(v->bytes, bytes);
    assert_int_equal(v->unique_bytes, bytes);
    assert_false(v->is_shared);
    assert_true(v->is_resident);
    assert_false(v->is_stale);
}

/* matmul saves x (24 bytes) and w (48), tanh its output (32), sum nothing: 104. */
static void product_and_tanh_save_exactly_their_operands_and_output(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_f32(ctx, EBB_SHAPE(2, 3)), *w = leaf_f32(ctx, EBB_SHAPE(3, 4));
    ebb_tensor *loss = ebb_sum(ebb_tanh(ebb_matmul(x, w)), EBB_ALL);
    ebb_saved_value v[MOST];
    int64_t n;
    assert_ok(ebb_saved(v, MOST, &n, loss));
    assert_int_equal(n, 3);
    assert_saved(&v[0], "tanh", true, 0, 2, 4, 32);
    assert_saved(&v[1], "matmul", false, 0, 2, 3, 24);
    assert_saved(&v[2], "matmul", false, 1, 3, 4, 48);
    assert_int_equal(unique_sum(v, n), 104);
    assert_int_equal(stats_of(ctx).saved_bytes, 104);
    assert_null(v[0].file);
    assert_ok(ebb_backward(loss, NULL));
    assert_int_equal(stats_of(ctx).saved_bytes, 0);
}

static void recorded_sites_name_the_line_of_each_operation(void **state)
{
    (void)state;
    ebb_context *ctx, *child;
    assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.record_sites = true}));
    assert_ok(ebb_context_create(&child, &(ebb_context_options){.parent = ctx}));
    for (int i = 0; i < 2; i++) {
        EBB_SCOPE(scope);
        ebb_tensor *x = leaf_scalar(i ? child : ctx, 3);
        ebb_tensor *y = ebb_exp(x);
        const int exp_line = __LINE__ - 1;
        ebb_saved_value v[MOST];
        int64_t n;
        assert_ok(ebb_saved(v, MOST, &n, y));
        assert_int_equal(n, 1);
        assert_string_equal(v[0].op, "exp");
        assert_non_null(strstr(v[0].file, "test_saved.c"));
        assert_int_equal(v[0].line, exp_line);
        assert_ok(ebb_backward(y, NULL));
        assert_true(grad_item(x) > 20.08553 && grad_item(x) < 20.08554); /* e^3 */
    }
    ebb_context_destroy(child);
    ebb_context_destroy(ctx);
}

static void a_write_to_saved_bytes_is_seen_and_the_refusal_names_the_line(void **state)
{
    (void)state;
    ebb_context *ctx;
    assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.record_sites = true}));
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = leaf_scalar(ctx, 3);
        ebb_tensor *y = ebb_mul(x, x);
        const int mul_line = __LINE__ - 1;
        char want[64];
        snprintf(want, sizeof want, "mul (test_saved.c:%d) was written to by write", mul_line);
        ebb_saved_value v[MOST];
        int64_t n;
        assert_ok(EBB_WRITE(x, &(double){4}, 1));
        assert_ok(ebb_saved(v, MOST, &n, y));
        assert_int_equal(n, 2);
        assert_true(v[0].is_stale);
        assert_int_equal(ebb_backward(y, NULL), EBB_E_GRAPH);
        assert_non_null(strstr(ebb_error_message(), want));
        ebb_error_clear();
    }
    ebb_context_destroy(ctx);
}

/* y = x * x, z = y * x: x is saved three times, y once; 8 bytes each. */
static void bytes_saved_several_times_count_once(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 3), *y = ebb_mul(x, x), *z = ebb_mul(y, x);
    ebb_saved_value v[MOST];
    int64_t n;
    assert_ok(ebb_saved(v, MOST, &n, z));
    assert_int_equal(n, 4); /* of z: y and x; of y: x twice */
    assert_false(v[0].is_shared);
    assert_true(v[1].is_shared);
    assert_true(v[2].is_shared && v[3].is_shared);
    assert_int_equal(v[0].unique_bytes, 8);
    assert_int_equal(v[1].unique_bytes, 8);
    assert_int_equal(v[2].unique_bytes, 0);
    assert_int_equal(v[3].unique_bytes, 0);
    assert_int_equal(v[3].bytes, 8);
    assert_int_equal(stats_of(ctx).saved_bytes, 16);
    /* y alone: both saves are one operation's */
    assert_ok(ebb_saved(v, MOST, &n, y));
    assert_int_equal(n, 2);
    assert_false(v[0].is_shared);
    assert_int_equal(unique_sum(v, n), 8);
    assert_int_equal(stats_of(ctx).saved_bytes, 16);
}

/* 20 f32 are 80 bytes, allocated as 128. */
static void large_tensors_count_as_allocated(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *y = ebb_exp(leaf_f32(ctx, EBB_SHAPE(20)));
    ebb_saved_value v[MOST];
    int64_t n;
    assert_ok(ebb_saved(v, MOST, &n, y));
    assert_int_equal(n, 1);
    assert_int_equal(v[0].bytes, 128);
    assert_int_equal(stats_of(ctx).saved_bytes, 128);
}

static void dropped_forwards_give_their_saves_back(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf_f32(ctx, EBB_SHAPE(8, 8));
    for (int i = 0; i < 5; i++) {
        EBB_SCOPE(scope);
        ebb_tensor *y = x;
        for (int k = 0; k < 4; k++) y = ebb_mul(ebb_sigmoid(y), y);
        assert_true(stats_of(ctx).saved_bytes > 0);
    }
    assert_int_equal(stats_of(ctx).saved_bytes, 0);
}

static void a_short_list_says_how_many_there_are(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 3), *z = ebb_mul(ebb_mul(x, x), x);
    ebb_saved_value v[3];
    int64_t n;
    memset(v, 0x55, sizeof v);
    assert_ok(ebb_saved(NULL, 0, &n, z));
    assert_int_equal(n, 4);
    assert_ok(ebb_saved(v, 2, &n, z));
    assert_int_equal(n, 4);
    assert_string_equal(v[1].op, "mul");
    assert_int_equal(v[2].op[0], 0x55);
}

static void nothing_changes_and_misuse_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 3), *y = ebb_mul(x, x), *plain = scalar(ctx, 1);
    ebb_saved_value v[MOST];
    int64_t n;
    assert_ok(ebb_saved(v, MOST, &n, x)); /* a leaf: nothing saved */
    assert_int_equal(n, 0);
    for (int i = 0; i < 3; i++) assert_ok(ebb_saved(v, MOST, &n, y));
    assert_status(ebb_saved(v, MOST, &n, plain), EBB_E_GRAPH);
    assert_status(ebb_saved(v, MOST, NULL, y), EBB_E_MISUSE);
    assert_status(ebb_saved(NULL, 1, &n, y), EBB_E_MISUSE);
    assert_status(ebb_saved(v, MOST, &n, NULL), EBB_E_MISUSE);
    assert_ok(ebb_backward(y, NULL));
    assert_true(grad_item(x) == 6);
    assert_status(ebb_saved(v, MOST, &n, y), EBB_E_GRAPH);
}

/* f = (x * x) + x; g = exp(f) and h = exp(f), which f's consumption through g severs. */
static void statistics_follow_the_graph(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 1);
    ebb_stats before = stats_of(ctx);
    ebb_tensor *f = ebb_add(ebb_mul(x, x), x), *g = ebb_exp(f), *h = ebb_exp(f);
    ebb_stats s = stats_of(ctx);
    assert_int_equal(s.live_nodes, 4);
    assert_int_equal(s.edges, 2 + 2 + 1 + 1);
    assert_int_equal(s.leaves_in_use, 1);
    assert_int_equal(s.created_nodes - before.created_nodes, 4);
    assert_int_equal(s.saved_bytes, 8 + 8 + 8); /* x; both exp */
    assert_ok(ebb_backward(g, NULL));
    s = stats_of(ctx);
    assert_int_equal(s.live_nodes, 0);
    assert_int_equal(s.spent_nodes, 3); /* the product's tensor is in the scope too */
    assert_int_equal(s.severed_nodes, 1);
    assert_int_equal(s.edges, 0);
    assert_int_equal(s.leaves_in_use, 0);
    assert_int_equal(s.saved_bytes, 0);
    assert_int_equal(s.freed_nodes, before.freed_nodes);
    ebb_replace(&h, NULL);
    assert_int_equal(stats_of(ctx).severed_nodes, 0);
    assert_int_equal(stats_of(ctx).freed_nodes - before.freed_nodes, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(product_and_tanh_save_exactly_their_operands_and_output),
        TEST(recorded_sites_name_the_line_of_each_operation),
        TEST(a_write_to_saved_bytes_is_seen_and_the_refusal_names_the_line),
        TEST(bytes_saved_several_times_count_once),
        TEST(large_tensors_count_as_allocated),
        TEST(dropped_forwards_give_their_saves_back),
        TEST(a_short_list_says_how_many_there_are),
        TEST(nothing_changes_and_misuse_is_refused),
        TEST(statistics_follow_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
