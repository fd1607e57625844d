/* test_views.c - views and writes: who keeps the base, who notices a write, whose bytes a
 * gradient is.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

static void small_view_keeps_its_base_and_says_so(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *base = ebb_claim(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1000, 1000)));
    ebb_tensor *row = ebb_claim(ebb_select(base, 0, 0));
    ebb_release(base);
    assert_in_range(case_bytes(ctx), 4000000, 4000064);
    assert_in_range(ebb_storage_bytes(row), 4000000, 4000064);
    assert_int_equal(ebb_n_bytes(row), 4000);
    ebb_tensor *copy = ebb_claim(ebb_clone(row));
    ebb_release(row);
    assert_in_range(case_bytes(ctx), 4000, 4064);
    ebb_release(copy);
}

/* backward refuses a saved value that was written to since, and names both operations. */
static void write_is_noticed_through_every_handle(void **state)
{
    ebb_context *ctx = *state;
    for (int how = 0; how < 3; how++) {
        EBB_SCOPE(outer);
        ebb_tensor *w = case_leaf(MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6));
        ebb_tensor *y = ebb_detach(w), *turned = ebb_transpose(y, 0, 1);
        ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(3, 2), 1, 1, 1, 1, 1, 1));
        ebb_tensor *loss = ebb_sum(ebb_mul(turned, x), EBB_ALL);
        const double ones[6] = {1, 1, 1, 1, 1, 1};
        if (how == 0) GOOD(EBB_WRITE(y, ones, 6));
        if (how == 1) GOOD(EBB_WRITE(turned, ones, 6));
        if (how == 2) {
            ebb_view view;
            ebb_tensor *row = ebb_select(y, 0, 1);
            GOOD(ebb_map(&view, row, EBB_MAP_WRITE));
            ((double *)view.data)[0] = 9;
            ebb_unmap(row);
        }
        assert_int_equal(ebb_backward(loss, NULL), EBB_E_GRAPH);
        assert_non_null(strstr(ebb_error_message(), "mul"));
        ebb_error_clear();
        assert_false(ebb_has_grad(x));
    }
}

static void optimizer_step_between_forward_and_backward_is_noticed(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(2), *x = LEAF_NUMBER(3), *p = ebb_mul(w, x);
    const double one = 1;
    GOOD(EBB_WRITE(w, &one, 1));
    REFUSED(EBB_E_GRAPH, ebb_backward(p, NULL));
    assert_false(ebb_has_grad(x));
    const double two = 2;
    GOOD(EBB_WRITE(w, &two, 1));
    p = ebb_mul(w, x);
    GOOD(ebb_backward(p, NULL));
    EXPECT_GRAD(x, 0, 2);
    EXPECT_GRAD(w, 0, 3);
}

static void gradients_of_one_sum_do_not_share_bytes(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *a = LEAF(1, 2), *b = LEAF(3, 4);
    GOOD(ebb_backward(ebb_sum(ebb_add(a, b), EBB_ALL), NULL));
    const double ten[] = {10, 10};
    GOOD(EBB_WRITE(ebb_grad_of(a), ten, 2));
    EXPECT_GRAD(a, 0, 10, 10);
    EXPECT_GRAD(b, 0, 1, 1);
    ebb_tensor *x = LEAF_NUMBER(1), *y = LEAF_NUMBER(1);
    GOOD(ebb_backward(ebb_add(ebb_add(x, y), x), NULL));
    EXPECT_GRAD(x, 0, 2);
    EXPECT_GRAD(y, 0, 1);
}

static void seed_may_be_overwritten_after_backward(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2), *y = ebb_reshape(x, EBB_SHAPE(2, 1));
    ebb_tensor *seed = MAT(EBB_SHAPE(2, 1), 5, 6);
    GOOD(case_backward_with(y, seed));
    const double minus[] = {-1, -1};
    GOOD(EBB_WRITE(seed, minus, 2));
    EXPECT_GRAD(x, 0, 5, 6);
}

static void gradient_of_a_sum_is_dense(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2, 3);
    GOOD(ebb_backward(ebb_sum(x, EBB_ALL), NULL));
    ebb_view view;
    ebb_tensor *g = ebb_grad_of(x);
    GOOD(ebb_map(&view, g, EBB_MAP_WRITE));
    assert_int_equal(view.strides[0], 1);
    ((double *)view.data)[0] = 7;
    ebb_unmap(g);
    EXPECT_GRAD(x, 0, 7, 1, 1);
}

static void write_to_repeated_elements_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = NUMBER(0.7853981633974483), *e = ebb_expand(x, EBB_SHAPE(3));
    const double v[] = {1, 2, 3};
    ebb_status s = EBB_WRITE(e, v, 3);
    assert_true(s != EBB_OK);
    ebb_error_clear();
    ebb_view view;
    assert_true(ebb_map(&view, e, EBB_MAP_WRITE) != EBB_OK);
    ebb_error_clear();
    EXPECT(x, 0, 0.7853981633974483);
    const double c = 0.7071067811865476;
    EXPECT(ebb_cos(e), 1e-15, c, c, c);
}

static void views_of_views_carry_gradients_home(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6));
    ebb_tensor *v = ebb_select(ebb_narrow(ebb_transpose(x, 0, 1), 0, 1, 2), 1, 0); /* 2, 3 */
    EXPECT(v, 0, 2, 3);
    GOOD(case_backward_with(v, VEC(10, 20)));
    EXPECT_GRAD(x, 0, 0, 10, 20, 0, 0, 0);
}

/* Recorded, a change in place leaves what was saved as it was; a write is told of. */
static void change_in_place_after_saving_is_right_or_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6)),
               *y = ebb_mul_scalar(x, 1);
    ebb_tensor *t = ebb_transpose(y, 0, 1), *z = ebb_mul(t, t); /* saves the view */
    REFUSED(EBB_E_GRAPH, ebb_add_scalar_(y, 1));                /* t lies on the same bytes */
    ebb_replace(&t, NULL);
    GOOD(ebb_add_scalar_(y, 1));
    EXPECT(y, 0, 2, 3, 4, 5, 6, 7);
    GOOD(case_backward_sum(z));
    EXPECT_GRAD(x, 0, 2, 4, 6, 8, 10, 12);
    ebb_tensor *c = VEC(2, 3), *w = LEAF(5, 7), *p = ebb_mul(w, c);
    GOOD(ebb_mul_scalar_(ebb_narrow(c, 0, 1, 1), 10)); /* through a view of a constant */
    ebb_status s = case_backward_sum(p);
    assert_int_equal(s, EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "mul was written to by mul_scalar_"));
    ebb_error_clear();
    assert_false(ebb_has_grad(w));
}

static void update_in_place_between_forward_and_backward_is_noticed(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(2), *x = LEAF_NUMBER(3), *p = ebb_mul(w, x), *q = ebb_mul(w, x);
    GOOD(ebb_backward(q, NULL));
    EXPECT_GRAD(x, 0, 2);
    EXPECT_GRAD(w, 0, 3);
    {
        EBB_NO_GRAD(update);
        GOOD(ebb_sub_(w, NUMBER(1)));
    }
    ebb_status s = ebb_backward(p, NULL);
    assert_int_equal(s, EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "saved by mul was written to by sub_"));
    ebb_error_clear();
    EXPECT_GRAD(x, 0, 2);
}

static void gradient_scaled_in_place_changes_one_only(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *a = LEAF(1, 2), *b = LEAF(3, 4);
    GOOD(case_backward_sum(ebb_add(a, b)));
    GOOD(ebb_mul_scalar_(ebb_grad_of(a), 10));
    EXPECT_GRAD(a, 0, 10, 10);
    EXPECT_GRAD(b, 0, 1, 1);
    ebb_tensor *x = LEAF_NUMBER(1), *y = LEAF_NUMBER(1), *z = ebb_add(x, y);
    GOOD(ebb_backward(ebb_add(z, x), NULL));
    EXPECT_GRAD(x, 0, 2);
    EXPECT_GRAD(y, 0, 1);
}

static ebb_status set_first(void *user, ebb_tensor **grad)
{
    (void)user;
    return ebb_fill_(ebb_narrow(*grad, 0, 0, 1), 7);
}

/* The gradient of a sum is one number repeated: a hook that writes must not write all of it. */
static void hook_writes_one_element_of_the_gradient_of_a_sum(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2, 3), *y = ebb_mul_scalar(x, 1);
    GOOD(ebb_retain_grad(y));
    GOOD(ebb_hook_add(NULL, y, set_first, NULL, NULL));
    GOOD(ebb_backward(ebb_sum(y, EBB_ALL), NULL));
    EXPECT_GRAD(y, 0, 7, 1, 1);
    EXPECT_GRAD(x, 0, 7, 1, 1);
}

static void change_in_place_of_repeated_elements_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *e = ebb_expand(NUMBER(0.7853981633974483), EBB_SHAPE(3));
    REFUSED(EBB_E_MISUSE, ebb_cos_(e));
    REFUSED(EBB_E_MISUSE, ebb_copy_(e, VEC(0, 1, 2)));
    REFUSED(EBB_E_MISUSE, ebb_exp_(ebb_unfold(VEC(1, 2, 3, 4, 5), 0, 3, 1)));
    EXPECT(e, 0, 0.7853981633974483, 0.7853981633974483, 0.7853981633974483);
}

static void overlapping_windows_add_their_gradients(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2, 3, 4, 5);
    GOOD(case_backward_sum(ebb_unfold(x, 0, 3, 1)));
    EXPECT_GRAD(x, 0, 1, 2, 3, 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(small_view_keeps_its_base_and_says_so),
        CASE(write_is_noticed_through_every_handle),
        CASE(optimizer_step_between_forward_and_backward_is_noticed),
        CASE(gradients_of_one_sum_do_not_share_bytes),
        CASE(seed_may_be_overwritten_after_backward),
        CASE(gradient_of_a_sum_is_dense),
        CASE(write_to_repeated_elements_is_refused),
        CASE(views_of_views_carry_gradients_home),
        CASE(change_in_place_after_saving_is_right_or_refused),
        CASE(update_in_place_between_forward_and_backward_is_noticed),
        CASE(gradient_scaled_in_place_changes_one_only),
        CASE(hook_writes_one_element_of_the_gradient_of_a_sum),
        CASE(change_in_place_of_repeated_elements_is_refused),
        CASE(overlapping_windows_add_their_gradients),
    };
    return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
