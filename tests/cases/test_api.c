/* test_api.c - what users call: several roots, kept graphs, unused parameters, repeated
 * backward, integer inputs, shapes of gradients.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

static void several_roots_in_one_call(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF_NUMBER(2), *h = ebb_mul(x, x);
    ebb_tensor *roots[] = {ebb_mul_scalar(h, 3), ebb_mul(h, ebb_mul(h, NUMBER(1)))};
    GOOD(ebb_backward_from(roots, NULL, 2, NULL)); /* 3 * 2x + 2h * 2x */
    EXPECT_GRAD(x, 0, 44);
    assert_int_equal(case_nodes(ctx), 0);
}

static void kept_graph_can_be_let_go(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF_NUMBER(2), *y = NULL;
    {
        EBB_SCOPE(inner);
        GOOD(ebb_hold(&y, ebb_mul(ebb_mul(x, x), x)));
    }
    const ebb_backward_options keep = {.keep_graph = true};
    GOOD(ebb_backward(y, &keep));
    size_t bytes = case_bytes(ctx);
    for (int k = 0; k < 2; k++) {
        GOOD(ebb_backward(y, &keep));
        assert_int_equal(case_bytes(ctx), bytes);
    }
    EXPECT_GRAD(x, 0, 36);
    assert_int_equal(case_nodes(ctx), 2);
    GOOD(ebb_discard_graph(y));
    assert_int_equal(case_nodes(ctx), 0);
    EXPECT(y, 0, 8);
    REFUSED(EBB_E_GRAPH, ebb_backward(y, NULL));
    EXPECT_GRAD(x, 0, 36);
    ebb_clear(&y);
}

static void parameter_without_influence(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF_NUMBER(2), *u = LEAF_NUMBER(5);
    ebb_tensor *loss = ebb_mul(x, x), *other = ebb_mul_scalar(u, 3);
    GOOD(ebb_backward(loss, &(ebb_backward_options){.keep_graph = true}));
    EXPECT_GRAD(x, 0, 4);
    assert_false(ebb_has_grad(u));
    assert_ptr_equal(ebb_grad_of(u), EBB_NONE);
    ebb_tensor *in[] = {x, u}, *g[2];
    assert_int_equal(ebb_grad(g, &loss, NULL, 1, in, 2, NULL), EBB_E_GRAPH);
    assert_true(g[0] == NULL && g[1] == NULL);
    assert_non_null(strstr(ebb_error_message(), "1")); /* which input */
    ebb_error_clear();
    GOOD(ebb_grad(g, &loss, NULL, 1, in, 2, &(ebb_grad_options){.allow_unused = true}));
    EXPECT(g[0], 0, 4);
    assert_ptr_equal(g[1], EBB_NONE);
    GOOD(ebb_check(other));
}

static void equal_leaves_stay_apart(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *a = LEAF_NUMBER(3), *b = LEAF_NUMBER(3);
    GOOD(ebb_backward(ebb_add(a, b), NULL));
    EXPECT_GRAD(a, 0, 1);
    EXPECT_GRAD(b, 0, 1);
}

static void accumulation_is_visible_through_an_older_handle(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(2);
    GOOD(ebb_backward(ebb_square(ebb_mul_scalar(w, 1)), NULL));
    ebb_tensor *g = ebb_grad_of(w);
    EXPECT(g, 0, 4);
    GOOD(ebb_backward(ebb_square(ebb_mul_scalar(w, 3)), NULL));
    EXPECT_GRAD(w, 0, 40);
    EXPECT(g, 0, 40); /* a handle on the slot's bytes */
}

static void integers_end_the_gradient_silently(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = case_leaf(ebb_full(ctx, EBB_F64, EBB_SHAPE(3, 3), 1));
    ebb_tensor *top = ebb_argmax(w, EBB_KEEP(1));
    assert_false(ebb_requires_grad(top));
    GOOD(ebb_backward(ebb_sum(ebb_gather(w, top, 1), EBB_ALL), NULL));
    EXPECT_GRAD(w, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0);
    REFUSED(EBB_E_DTYPE, ebb_set_requires_grad(top, true));
    GOOD(ebb_clear_grad(w));
    ebb_tensor *order = ebb_narrow(ebb_argsort(w, 1, NULL), 1, 0, 1);
    ebb_tensor *rows = ebb_sum(w, EBB_KEEP(1)), *zeros = ebb_full_like(w, 0);
    GOOD(case_backward_sum(ebb_scatter(zeros, order, rows, 1)));
    EXPECT_GRAD(w, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1);
}

static void halves_of_a_kept_graph_alternate_exactly(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = case_leaf(ebb_full(ctx, EBB_F64, EBB_SHAPE(1, 10), 2));
    ebb_tensor *y = ebb_mul_scalar(x, 1);
    ebb_tensor *half[] = {ebb_narrow(y, 1, 0, 5), ebb_narrow(y, 1, 5, 5)};
    ebb_tensor *sum[] = {ebb_sum(half[0], EBB_ALL), ebb_sum(half[1], EBB_ALL)};
    for (int k = 0; k < 6; k++) {
        GOOD(ebb_backward(sum[k % 2], &(ebb_backward_options){.keep_graph = true}));
        double a = k % 2 == 0, b = k % 2;
        EXPECT_GRAD(x, 0, a, a, a, a, a, b, b, b, b, b);
        GOOD(ebb_clear_grad(x));
    }
}

static void gradient_has_the_leafs_shape_whatever_the_path(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = case_leaf(ebb_full(ctx, EBB_F64, EBB_SHAPE(3, 2), 1));
    ebb_tensor *x = ebb_full(ctx, EBB_F64, EBB_SHAPE(4, 3), 1);
    ebb_tensor *a = ebb_narrow(ebb_full(ctx, EBB_F64, EBB_SHAPE(1, 4, 5), 1), 2, 0, 3);
    ebb_tensor *loss =
        ebb_add(ebb_sum(ebb_matmul(x, w), EBB_ALL), ebb_sum(ebb_matmul(a, w), EBB_ALL));
    GOOD(ebb_backward(loss, NULL));
    assert_true(case_has_shape(ebb_grad_of(w), EBB_SHAPE(3, 2)));
    EXPECT_GRAD(w, 0, 8, 8, 8, 8, 8, 8);
}

static void vector_times_matrix(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2, 3);
    ebb_tensor *w = case_leaf(ebb_full(ctx, EBB_F64, EBB_SHAPE(3, 2), 1));
    ebb_tensor *y = ebb_matmul(x, w);
    EXPECT(y, 0, 6, 6);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 2, 2, 2);
    EXPECT_GRAD(w, 0, 1, 1, 2, 2, 3, 3);
    GOOD(ebb_clear_grad(w));
    ebb_tensor *v = LEAF(5, 7);
    GOOD(case_backward_sum(ebb_matmul(w, v)));
    EXPECT_GRAD(w, 0, 5, 7, 5, 7, 5, 7);
    EXPECT_GRAD(v, 0, 3, 3);
    ebb_tensor *dot = ebb_matmul(x, VEC(4, 5, 6));
    assert_int_equal(ebb_rank(dot), 0);
    EXPECT(dot, 0, 32);
    GOOD(ebb_clear_grad(x));
    GOOD(ebb_backward(dot, NULL));
    EXPECT_GRAD(x, 0, 4, 5, 6);
}

static void unused_halves_of_a_split_cost_nothing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *a = case_leaf(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(5, 2))), *first = NULL;
    {
        EBB_SCOPE(inner);
        ebb_tensor *rest = ebb_narrow(a, 0, 2, 3);
        GOOD(ebb_check(rest));
        GOOD(ebb_hold(&first, ebb_sum(ebb_narrow(a, 0, 0, 2), EBB_ALL)));
    }
    size_t start = case_bytes(ctx);
    ebb_stats_reset_peak(ctx);
    GOOD(ebb_backward(first, NULL));
    EXPECT_GRAD(a, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0);
    ebb_stats s = case_stats(ctx);
    assert_in_range(s.peak_bytes - s.peak_by_kind[EBB_KIND_BOOKKEEPING], 0, start + 3 * 128);
    ebb_clear(&first);
}

static void second_order_through_composed_formulas(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF_NUMBER(1), *y = ebb_sin(ebb_sin(x)), *d, *d2;
    GOOD(ebb_grad(&d, &y, NULL, 1, &x, 1, &(ebb_grad_options){.create_graph = true}));
    GOOD(ebb_grad(&d2, &d, NULL, 1, &x, 1, NULL));
    EXPECT(y, 1e-14, 0.7456241416655579);
    EXPECT(d, 1e-14, 0.36003948908962097);
    EXPECT(d2, 1e-14, -0.7783957884181089);
}

static void hessian_vector_product_of_a_cubic(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2), *v = VEC(10, 1), *hv;
    ebb_tensor *cube = ebb_sum(ebb_mul(ebb_mul(x, x), x), EBB_ALL);
    GOOD(ebb_hvp(&hv, cube, &x, &v, 1)); /* diag(6 x) v */
    EXPECT(hv, 0, 60, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(several_roots_in_one_call),
        CASE(kept_graph_can_be_let_go),
        CASE(parameter_without_influence),
        CASE(equal_leaves_stay_apart),
        CASE(accumulation_is_visible_through_an_older_handle),
        CASE(integers_end_the_gradient_silently),
        CASE(halves_of_a_kept_graph_alternate_exactly),
        CASE(gradient_has_the_leafs_shape_whatever_the_path),
        CASE(vector_times_matrix),
        CASE(unused_halves_of_a_split_cost_nothing),
        CASE(second_order_through_composed_formulas),
        CASE(hessian_vector_product_of_a_cubic),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
