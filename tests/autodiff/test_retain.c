/* test_retain.c - gradient slots of interior tensors; expected values by hand.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <string.h>

static ebb_status ten_times(void *user, ebb_tensor **grad)
{
    (void)user;
    *grad = ebb_mul_scalar(*grad, 10);
    return EBB_OK;
}

static void an_interior_tensor_keeps_its_gradient_where_asked(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x), *z = ebb_mul_scalar(y, 3);
    assert_false(ebb_has_grad(y));
    assert_null_with(ebb_grad_of(y), EBB_E_GRAPH);
    assert_ok(ebb_retain_grad(y));
    assert_ok(ebb_retain_grad(y)); /* nothing more happens */
    assert_ok(ebb_retain_grad(x));
    assert_ptr_equal(ebb_grad_of(y), EBB_NONE);
    assert_ok(ebb_backward(z, &(ebb_backward_options){.keep_graph = true}));
    assert_float_equal(grad_item(y), 3, 0);
    assert_ok(ebb_backward(z, NULL));
    assert_float_equal(grad_item(y), 6, 0); /* added up, and there after the graph has gone */
    assert_false(ebb_requires_grad(ebb_grad_of(y)));
    assert_ok(ebb_clear_grad(y));
    assert_false(ebb_has_grad(y));
    assert_status(ebb_retain_grad(z), EBB_E_GRAPH);
}

static void it_sees_what_hooks_leave_and_ebb_grad_leaves_it_alone(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x), *z = ebb_mul_scalar(y, 3), *g;
    assert_ok(ebb_retain_grad(y));
    assert_ok(ebb_hook_add(NULL, y, ten_times, NULL, NULL));
    assert_ok(ebb_grad(&g, &z, NULL, 1, &x, 1, &(ebb_grad_options){.keep_graph = true}));
    assert_false(ebb_has_grad(y));
    assert_ok(ebb_backward(z, NULL));
    assert_float_equal(grad_item(y), 30, 0);
    assert_float_equal(grad_item(x), 120, 0);
}

static void it_outlives_the_child_whose_backward_came_by(void **state)
{
    enum { N = 1000 };
    static double v[N], g[N];
    EBB_SCOPE(scope);
    ebb_context *child;
    assert_ok(ebb_context_create(&child, &(ebb_context_options){.parent = *state}));
    ebb_tensor *x = vector(*state, N, v);
    assert_ok(ebb_set_requires_grad(x, true));
    ebb_tensor *y = ebb_mul_scalar(x, 2);
    assert_ok(ebb_retain_grad(y));
    {
        EBB_SCOPE(in_child);
        for (int i = 0; i < N; i++) v[i] = i;
        ebb_tensor *z = ebb_mul(y, vector(child, N, v));
        const ebb_backward_options keep = {.keep_graph = true};
        assert_ok(ebb_backward(ebb_sum(z, EBB_ALL), &keep));
        assert_ok(ebb_backward(ebb_sum(z, EBB_ALL), NULL));
    }
    ebb_context_destroy(child);
    assert_ok(EBB_READ(ebb_grad_of(y), g, N));
    for (int i = 0; i < N; i++) assert_float_equal(g[i], 2 * i, 0);
}

static void the_kept_gradient_of_a_view_is_dense_and_its_own(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {1, 2, 3}, seven = 7, g[3];
    ebb_tensor *x = vector(*state, 3, v);
    assert_ok(ebb_set_requires_grad(x, true));
    ebb_tensor *y = ebb_mul_scalar(x, 1);
    assert_ok(ebb_retain_grad(y));
    assert_ok(ebb_backward(ebb_sum(y, EBB_ALL), NULL)); /* an expanded scalar comes */
    ebb_tensor *gy = ebb_grad_of(y);
    assert_ok(EBB_WRITE(ebb_slice(gy, 0, 0, 1, 1), &seven, 1));
    assert_ok(EBB_READ(gy, g, 3));
    assert_float_equal(g[0], 7, 0);
    assert_float_equal(g[1], 1, 0);
    assert_ok(EBB_READ(ebb_grad_of(x), g, 3));
    assert_float_equal(g[0], 1, 0);
}

static ebb_status no(void *user, ebb_tensor **grad)
{
    (void)user;
    (void)grad;
    return ebb_fail(EBB_E_RANGE, "no");
}

static void a_failed_backward_fills_no_slot(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x), *z = ebb_mul_scalar(y, 3);
    assert_ok(ebb_retain_grad(y));
    assert_ok(ebb_hook_add(NULL, x, no, NULL, NULL));
    assert_status(ebb_backward(z, NULL), EBB_E_RANGE);
    assert_false(ebb_has_grad(y));
    assert_false(ebb_has_grad(x));
}

static void the_slot_goes_with_the_handle_and_holds_no_graph(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2);
    ebb_stats before, s;
    ebb_stats_get(&before, ctx);
    {
        EBB_SCOPE(inner);
        ebb_tensor *y = ebb_mul(x, x);
        assert_ok(ebb_retain_grad(y)); /* and never run backward */
    }
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.live_nodes, 0);
    {
        EBB_SCOPE(inner);
        ebb_tensor *y = ebb_mul(x, x), *z = ebb_exp(y);
        assert_ok(ebb_retain_grad(y));
        assert_ok(ebb_backward(z, NULL));
        ebb_stats_get(&s, ctx);
        assert_int_equal(s.live_nodes, 0);
        assert_int_equal(s.bytes[EBB_KIND_GRADIENT], 16);
    }
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.bytes[EBB_KIND_GRADIENT], 8);
}

static void untracked_tensors_are_refused(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *c = scalar(*state, 1);
    assert_status(ebb_retain_grad(c), EBB_E_GRAPH);
    assert_status(ebb_hook_add(NULL, c, no, NULL, NULL), EBB_E_GRAPH);
    assert_status(ebb_retain_grad(NULL), EBB_E_MISUSE);
    assert_status(ebb_hook_add(NULL, leaf_scalar(*state, 1), NULL, NULL, NULL), EBB_E_MISUSE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(an_interior_tensor_keeps_its_gradient_where_asked),
        T(it_sees_what_hooks_leave_and_ebb_grad_leaves_it_alone),
        T(it_outlives_the_child_whose_backward_came_by),
        T(the_kept_gradient_of_a_view_is_dense_and_its_own),
        T(a_failed_backward_fills_no_slot),
        T(the_slot_goes_with_the_handle_and_holds_no_graph),
        T(untracked_tensors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
