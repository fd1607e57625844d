/* test_backward.c - gradients as users ask for them; expected values by hand.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

static int64_t live_nodes(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s.live_nodes;
}

static void gradients_accumulate_until_they_are_cleared(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 3);
    for (int i = 1; i <= 3; i++) {
        assert_ok(ebb_backward(ebb_mul(x, x), NULL));
        assert_float_equal(grad_item(x), 6.0 * i, 0);
    }
    assert_int_equal(live_nodes(ctx), 0);
    assert_ok(ebb_clear_grad(x));
    assert_false(ebb_has_grad(x));
    assert_ptr_equal(ebb_grad_of(x), EBB_NONE);
}

static void a_consumed_graph_names_what_consumed_it(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 3), *y = ebb_mul(x, x);
    assert_ok(ebb_backward(y, NULL));
    assert_int_equal(ebb_backward(y, NULL), EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "mul"));
    ebb_error_clear();
    assert_float_equal(grad_item(x), 6, 0);
    assert_float_equal(ebb_item(y), 9, 0);
}

static void a_kept_graph_can_run_again(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *y = ebb_mul(ebb_mul(x, x), x);
    ebb_backward_options keep = {.keep_graph = true};
    for (int i = 0; i < 3; i++) assert_ok(ebb_backward(y, &keep));
    assert_float_equal(grad_item(x), 36, 0);
    assert_ok(ebb_discard_graph(y));
    assert_int_equal(live_nodes(ctx), 0);
    assert_float_equal(ebb_item(y), 8, 0);
    assert_status(ebb_backward(y, NULL), EBB_E_GRAPH);
}

static void broadcast_gradients_have_the_operands_shape(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double xs[] = {1, 2, 3, 4}, s[] = {10, 20};
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(2, 2), xs, 4), *b = vector(ctx, 2, s);
    assert_ok(ebb_set_requires_grad(x, true));
    assert_ok(ebb_set_requires_grad(b, true));
    assert_ok(ebb_backward(ebb_sum(ebb_mul(x, b), EBB_ALL), NULL));
    double gx[4], gb[2];
    assert_ok(EBB_READ(ebb_grad_of(x), gx, 4));
    assert_ok(EBB_READ(ebb_grad_of(b), gb, 2));
    assert_float_equal(gx[0], 10, 0);
    assert_float_equal(gx[3], 20, 0);
    assert_float_equal(gb[0], 1 + 3, 0);
    assert_float_equal(gb[1], 2 + 4, 0);
}

static void a_seed_of_the_users_is_never_aliased(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double xs[] = {1, 2}, seed[] = {5, 6}, zero[] = {-1, -1}, g[2];
    ebb_tensor *x = vector(ctx, 2, xs), *s = vector(ctx, 2, seed);
    assert_ok(ebb_set_requires_grad(x, true));
    ebb_tensor *y = ebb_reshape(x, EBB_SHAPE(2));
    assert_ok(ebb_backward_from(&y, &s, 1, NULL));
    assert_ok(EBB_WRITE(s, zero, 2));
    assert_ok(EBB_READ(ebb_grad_of(x), g, 2));
    assert_float_equal(g[0], 5, 0);
    assert_float_equal(g[1], 6, 0);
}

static void several_roots_take_one_pass(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *h = ebb_mul(x, x);
    ebb_tensor *root[] = {ebb_mul(h, x), ebb_mul_scalar(h, 5)}; /* x^3, 5 x^2 */
    assert_ok(ebb_backward_from(root, NULL, 2, NULL));
    assert_float_equal(grad_item(x), 12 + 20, 0);
    assert_int_equal(live_nodes(ctx), 0);
}

static void grad_returns_gradients_and_leaves_slots_alone(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *u = leaf_scalar(ctx, 5), *y = ebb_mul(x, x), *g[2];
    ebb_tensor *in[] = {x, u};
    assert_status(ebb_grad(g, &y, NULL, 1, in, 2, NULL), EBB_E_GRAPH);
    assert_null(g[0]);
    ebb_grad_options allow = {.allow_unused = true};
    assert_ok(ebb_grad(g, &y, NULL, 1, in, 2, &allow));
    assert_float_equal(ebb_item(g[0]), 4, 0);
    assert_ptr_equal(g[1], EBB_NONE);
    assert_false(ebb_requires_grad(g[0]));
    assert_false(ebb_has_grad(x));
}

static void an_intermediate_is_a_chosen_input_and_stays_live(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *h = ebb_mul(x, x), *y = ebb_mul(h, h), *g;
    assert_ok(ebb_grad(&g, &y, NULL, 1, &h, 1, NULL));
    assert_float_equal(ebb_item(g), 8, 0); /* dy/dh = 2h */
    assert_ok(ebb_backward(h, NULL));      /* h's own node was not on a path to an input */
    assert_float_equal(grad_item(x), 4, 0);
}

static void an_input_on_the_way_to_another_gets_its_gradient_too(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *h = ebb_mul(x, x), *y = ebb_mul(h, h), *g[2];
    ebb_tensor *in[] = {h, x};
    assert_ok(ebb_grad(g, &y, NULL, 1, in, 2, NULL));
    assert_float_equal(ebb_item(g[0]), 8, 0);
    assert_float_equal(ebb_item(g[1]), 32, 0); /* 4 x^3 */
    assert_status(ebb_backward(h, NULL), EBB_E_GRAPH);
}

static void third_derivatives_of_a_power(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *y = ebb_mul(ebb_mul(x, x), ebb_mul(x, x)), *g;
    ebb_grad_options create = {.create_graph = true};
    double want[] = {32, 48, 48}; /* 4 x^3, 12 x^2, 24 x */
    for (int i = 0; i < 3; i++) {
        assert_ok(ebb_grad(&g, &y, NULL, 1, &x, 1, &create));
        assert_float_equal(ebb_item(g), want[i], 1e-12);
        y = g;
    }
}

static void hessian_vector_products(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    /* f = x^2 y; H = [[2y, 2x], [2x, 0]]; at (3, 5), v = (1, 2): (10 + 12, 6) */
    ebb_tensor *in[] = {leaf_scalar(ctx, 3), leaf_scalar(ctx, 5)};
    ebb_tensor *v[] = {scalar(ctx, 1), scalar(ctx, 2)}, *hv[2];
    ebb_tensor *f = ebb_mul(ebb_mul(in[0], in[0]), in[1]);
    assert_ok(ebb_hvp(hv, f, in, v, 2));
    assert_float_equal(ebb_item(hv[0]), 22, 1e-12);
    assert_float_equal(ebb_item(hv[1]), 6, 1e-12);
}

static void a_write_between_forward_and_backward_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *w = leaf_scalar(ctx, 2), *x = leaf_scalar(ctx, 3), *p = ebb_mul(w, x);
    double one = 1;
    assert_ok(EBB_WRITE(w, &one, 1));
    assert_int_equal(ebb_backward(p, NULL), EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "mul"));
    assert_non_null(strstr(ebb_error_message(), "write"));
    ebb_error_clear();
    assert_false(ebb_has_grad(x));
    assert_float_equal(ebb_item(w), 1, 0);
}

static void nothing_is_recorded_without_gradients(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *y;
    {
        EBB_NO_GRAD(quiet);
        y = ebb_escape(quiet, ebb_mul(x, x));
        assert_false(ebb_requires_grad(y));
        assert_int_equal(live_nodes(ctx), 0);
    }
    assert_ok(ebb_backward(ebb_mul(y, x), NULL));
    assert_float_equal(grad_item(x), 4, 0); /* y is a constant */
}

static void sixty_doublings_have_gradient_two_to_the_sixty(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 1), *y = x;
    for (int i = 0; i < 60; i++) y = ebb_add(y, y);
    assert_ok(ebb_backward(y, NULL));
    assert_true(grad_item(x) == ldexp(1, 60));
}

static void each_leaf_has_gradient_bytes_of_its_own(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double as[] = {1, 2}, bs[] = {3, 4}, ten[] = {10, 10}, g[2];
    ebb_tensor *a = vector(ctx, 2, as), *b = vector(ctx, 2, bs);
    assert_ok(ebb_set_requires_grad(a, true));
    assert_ok(ebb_set_requires_grad(b, true));
    assert_ok(ebb_backward(ebb_sum(ebb_add(a, b), EBB_ALL), NULL));
    assert_ok(EBB_WRITE(ebb_grad_of(a), ten, 2));
    assert_ok(EBB_READ(ebb_grad_of(b), g, 2));
    assert_float_equal(g[0], 1, 0);
    assert_float_equal(g[1], 1, 0);
}

static void a_leaf_that_is_its_own_loss_gets_one(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 3);
    for (int i = 1; i <= 2; i++) {
        assert_ok(ebb_backward(x, NULL));
        assert_float_equal(grad_item(x), i, 0);
    }
}

static void backward_into_slots_needs_no_scope(void **state)
{
    ebb_context *ctx = *state;
    ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_tensor *x = ebb_keep(leaf_scalar(ctx, 3)), *y = ebb_keep(ebb_mul(x, x)), *g;
    ebb_scope_end(scope);
    assert_status(ebb_grad(&g, &y, NULL, 1, &x, 1, NULL), EBB_E_MISUSE);
    assert_ok(ebb_backward(y, NULL));
    EBB_SCOPE(look);
    assert_float_equal(grad_item(x), 6, 0);
    ebb_release(y);
    ebb_release(x);
}

static void a_split_into_many_parts_has_its_gradient(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { N = 20 };
    double xs[N], g[N];
    for (int i = 0; i < N; i++) xs[i] = i;
    ebb_tensor *x = vector(ctx, N, xs), *part[N], *loss;
    assert_ok(ebb_set_requires_grad(x, true));
    assert_ok(ebb_split(part, N, x, 1, 0));
    loss = ebb_mul(part[3], part[17]); /* the others are used by nobody */
    assert_ok(ebb_backward(ebb_sum(loss, EBB_ALL), NULL));
    assert_ok(EBB_READ(ebb_grad_of(x), g, N));
    for (int i = 0; i < N; i++) assert_float_equal(g[i], i == 3 ? 17 : i == 17 ? 3 : 0, 0);
}

static void a_line_is_never_another_calls(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *t = scalar(ctx, 1);
    assert_float_equal(ebb_item(t), 1, 0);
    assert_null(
        (ebb_neg)(NULL)); /* not through the wrapper: no line is better than a wrong one */
    assert_null(strstr(ebb_error_message(), "test_backward.c"));
    ebb_error_clear();
    assert_null(ebb_neg(NULL));
    assert_non_null(strstr(ebb_error_message(), "test_backward.c:"));
    ebb_error_clear();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(gradients_accumulate_until_they_are_cleared),
        T(a_consumed_graph_names_what_consumed_it),
        T(a_kept_graph_can_run_again),
        T(broadcast_gradients_have_the_operands_shape),
        T(a_seed_of_the_users_is_never_aliased),
        T(several_roots_take_one_pass),
        T(grad_returns_gradients_and_leaves_slots_alone),
        T(an_intermediate_is_a_chosen_input_and_stays_live),
        T(an_input_on_the_way_to_another_gets_its_gradient_too),
        T(third_derivatives_of_a_power),
        T(hessian_vector_products),
        T(a_write_between_forward_and_backward_is_refused),
        T(nothing_is_recorded_without_gradients),
        T(sixty_doublings_have_gradient_two_to_the_sixty),
        T(each_leaf_has_gradient_bytes_of_its_own),
        T(a_leaf_that_is_its_own_loss_gets_one),
        T(backward_into_slots_needs_no_scope),
        T(a_split_into_many_parts_has_its_gradient),
        T(a_line_is_never_another_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
