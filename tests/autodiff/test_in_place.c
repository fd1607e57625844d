/* test_in_place.c - results that take the place of an input, and what is refused; expected values
 * by hand.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

static void assert_values(ebb_tensor *t, const double *want, int64_t n)
{
    double got[16];
    assert_in_range(n, 1, 16);
    assert_ok(EBB_READ(t, got, n));
    for (int64_t i = 0; i < n; i++) assert_float_equal(got[i], want[i], 1e-12);
}

static ebb_tensor *leaf_vector(ebb_context *ctx, int64_t n, const double *values)
{
    ebb_tensor *t = vector(ctx, n, values);
    assert_ok(ebb_set_requires_grad(t, true));
    return t;
}

static void what_was_saved_before_stays_right(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {0, 1}, g[2];
    ebb_tensor *x = leaf_vector(*state, 2, v), *y = ebb_exp(x); /* saves its output */
    assert_ok(ebb_mul_(y, ebb_full_like(y, 3)));
    assert_values(y, (double[]){3, 3 * exp(1)}, 2);
    assert_ok(ebb_add_(y, x));
    assert_true(ebb_requires_grad(y));
    assert_ok(ebb_backward(ebb_sum(y, EBB_ALL), NULL));
    assert_ok(EBB_READ(ebb_grad_of(x), g, 2));
    assert_float_equal(g[0], 3 + 1, 1e-12);
    assert_float_equal(g[1], 3 * exp(1) + 1, 1e-12);
}

static void an_untracked_tensor_takes_on_history(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *w = leaf_scalar(*state, 5), *sum = scalar(*state, 1);
    assert_ok(ebb_add_(sum, ebb_mul(w, w)));
    assert_true(ebb_requires_grad(sum));
    assert_float_equal(ebb_item(sum), 26, 0);
    assert_ok(ebb_backward(sum, NULL));
    assert_float_equal(grad_item(w), 10, 0);
}

static void a_leaf_is_changed_only_where_nothing_is_recorded(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *w = leaf_scalar(*state, 5);
    assert_int_equal(ebb_mul_scalar_(w, 2), EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "mul_scalar_: x is a leaf and the scope"));
    ebb_error_clear();
    {
        EBB_NO_GRAD(still);
        assert_ok(ebb_mul_scalar_(w, 2));
    }
    assert_true(ebb_requires_grad(w));
    assert_float_equal(ebb_item(w), 10, 0);
    assert_ok(ebb_backward(ebb_mul(w, w), NULL));
    assert_float_equal(grad_item(w), 20, 0);
}

static void a_backward_that_saved_what_was_written_names_both(void **state)
{
    EBB_SCOPE(scope);
    double big[100] = {0};
    for (int large = 0; large < 2; large++) {
        ebb_tensor *w = large ? leaf_vector(*state, 100, big) : leaf_scalar(*state, 2);
        ebb_tensor *x = large ? leaf_vector(*state, 100, big) : leaf_scalar(*state, 3);
        ebb_tensor *p = ebb_sum(ebb_mul(w, x), EBB_ALL);
        {
            EBB_NO_GRAD(update);
            assert_ok(ebb_sub_(w, ebb_full_like(w, 1)));
        }
        assert_int_equal(ebb_backward(p, NULL), EBB_E_GRAPH);
        assert_non_null(strstr(ebb_error_message(), "saved by mul was written to by sub_"));
        ebb_error_clear();
        assert_false(ebb_has_grad(x));
    }
}

static void a_tracked_tensor_with_another_view_is_refused(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {1, 2, 3};
    ebb_tensor *x = leaf_vector(*state, 3, v), *y = ebb_mul_scalar(x, 1);
    ebb_tensor *part = ebb_narrow(y, 0, 0, 2);
    assert_int_equal(ebb_exp_(y), EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "shares its bytes with 1 other tensor"));
    assert_status(ebb_exp_(part), EBB_E_GRAPH);
    assert_values(y, v, 3);
    ebb_replace(&part, NULL);
    assert_ok(ebb_add_scalar_(y, 1));
    assert_values(y, (double[]){2, 3, 4}, 3);
}

static void untracked_views_see_a_write(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {1, 2, 3, 4, 5, 6};
    ebb_tensor *x = EBB_FROM(*state, EBB_SHAPE(2, 3), v, 6), *t = ebb_transpose(x, 0, 1);
    ebb_tensor *row = ebb_select(x, 0, 1);
    assert_ok(ebb_mul_scalar_(row, 10));
    assert_values(x, (double[]){1, 2, 3, 40, 50, 60}, 6);
    assert_ok(ebb_add_(t, t)); /* strided, and its own operand */
    assert_values(x, (double[]){2, 4, 6, 80, 100, 120}, 6);
    double square[] = {1, 2, 3, 4};
    ebb_tensor *s = EBB_FROM(*state, EBB_SHAPE(2, 2), square, 4);
    assert_ok(ebb_add_(s, ebb_transpose(s, 0, 1))); /* reads what it writes, elsewhere */
    assert_values(s, (double[]){2, 5, 5, 8}, 4);
}

static void an_expanded_tensor_cannot_be_written(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *one = scalar(*state, 0.785398), *e = ebb_expand(one, EBB_SHAPE(3));
    assert_int_equal(ebb_cos_(e), EBB_E_MISUSE);
    assert_non_null(strstr(ebb_error_message(), "elements of x share bytes"));
    ebb_error_clear();
    assert_float_equal(ebb_item(one), 0.785398, 0);
}

static void a_result_of_another_shape_or_type_is_refused(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {1, 2};
    int64_t whole[] = {3, 4};
    ebb_tensor *x = vector(*state, 2, v),
               *m = ebb_reshape(vector(*state, 2, v), EBB_SHAPE(2, 1));
    ebb_tensor *i = EBB_FROM(*state, EBB_SHAPE(2), whole, 2);
    assert_int_equal(ebb_add_(x, m), EBB_E_SHAPE);
    assert_non_null(strstr(ebb_error_message(), "the result is (2, 2), x is (2)"));
    ebb_error_clear();
    assert_status(ebb_add_(i, x), EBB_E_DTYPE);
    assert_status(ebb_div_(i, i), EBB_E_DTYPE);
    assert_ok(ebb_add_(x, i));
    assert_values(x, (double[]){4, 6}, 2);
    ebb_tensor *narrow = ebb_cast(x, EBB_F32);
    assert_ok(ebb_mul_(narrow, x)); /* the result is rounded to x's float */
    assert_int_equal(ebb_dtype_of(narrow), EBB_F32);
    assert_values(narrow, (double[]){16, 36}, 2);
}

static void history_is_not_changed_where_nothing_is_recorded(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x);
    {
        EBB_NO_GRAD(still);
        assert_status(ebb_exp_(y), EBB_E_GRAPH);
    }
    assert_ok(ebb_backward(y, NULL));
    assert_float_equal(grad_item(x), 4, 0);
}

static void copying_filling_and_clearing(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {1, 2, 3, 4}, g[2];
    int64_t whole[] = {7, 8};
    ebb_tensor *x = EBB_FROM(*state, EBB_SHAPE(2, 2), v, 4);
    ebb_tensor *i = EBB_FROM(*state, EBB_SHAPE(2), whole, 2);
    assert_ok(ebb_copy_(x, i));
    assert_values(x, (double[]){7, 8, 7, 8}, 4);
    assert_ok(ebb_copy_(x, ebb_transpose(x, 0, 1)));
    assert_values(x, (double[]){7, 7, 8, 8}, 4);
    assert_ok(ebb_fill_(ebb_select(x, 1, 0), -1));
    assert_values(x, (double[]){-1, 7, -1, 8}, 4);
    assert_ok(ebb_zero_(x));
    assert_values(x, (double[]){0, 0, 0, 0}, 4);
    ebb_tensor *w = leaf_vector(*state, 2, v);
    x = EBB_FROM(*state, EBB_SHAPE(2, 2), v, 4);
    assert_ok(ebb_copy_(x, w)); /* takes on its history, summed over the rows */
    assert_ok(ebb_backward(ebb_sum(x, EBB_ALL), NULL));
    assert_ok(EBB_READ(ebb_grad_of(w), g, 2));
    assert_float_equal(g[0], 2, 0);
    ebb_tensor *y = ebb_exp(w);
    assert_ok(ebb_zero_(y));
    assert_false(ebb_requires_grad(y)); /* depends on nothing any more */
}

static void a_slice_is_replaced(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {1, 2, 3, 4}, two[] = {10, 20}, g[4];
    ebb_tensor *x = leaf_vector(*state, 4, v), *p = leaf_vector(*state, 2, two);
    ebb_tensor *y = ebb_mul_scalar(x, 1);
    assert_ok(ebb_slice_assign_(y, p, 0, 0, 4, 2));
    assert_values(y, (double[]){10, 2, 20, 4}, 4);
    ebb_tensor *c = vector(*state, 4, v);
    assert_ok(ebb_backward(ebb_sum(ebb_mul(y, c), EBB_ALL), NULL));
    assert_ok(EBB_READ(ebb_grad_of(x), g, 4));
    for (int k = 0; k < 4; k++) assert_float_equal(g[k], (k % 2 ? v[k] : 0), 0);
    assert_ok(EBB_READ(ebb_grad_of(p), g, 2));
    assert_float_equal(g[0], 1, 0);
    assert_float_equal(g[1], 3, 0);
    assert_null_with(ebb_slice_assign(c, p, 0, 0, 4, 1), EBB_E_SHAPE);
}

static void nothing_is_allocated_for_a_write_that_nobody_saved(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_full(*state, EBB_F32, EBB_SHAPE(1000), 2);
    ebb_tensor *y = ebb_full(*state, EBB_F32, EBB_SHAPE(1000), 3);
    ebb_stats before, after;
    ebb_stats_get(&before, *state);
    ebb_stats_reset_peak(*state);
    for (int i = 0; i < 10; i++) assert_ok(ebb_add_(x, y));
    ebb_stats_get(&after, *state);
    assert_int_equal(after.bytes[EBB_KIND_ACTIVATION], before.bytes[EBB_KIND_ACTIVATION]);
    assert_int_equal(after.peak_by_kind[EBB_KIND_ACTIVATION],
                     before.bytes[EBB_KIND_ACTIVATION]);
    assert_int_equal(after.peak_by_kind[EBB_KIND_TEMPORARY], 0);
    assert_int_equal(after.peak_by_kind[EBB_KIND_SCRATCH], 0);
    assert_float_equal(ebb_item(ebb_select(x, 0, 999)), 32, 0);
}

enum { MANY = 20000 };

/* Direct, through a copy, and recorded. */
static ebb_status change(ebb_tensor *x, ebb_tensor *y, int way)
{
    if (way == 0) return ebb_add_(x, y);
    if (way == 1)
        return ebb_copy_(ebb_reshape(x, EBB_SHAPE(MANY / 2, 2)),
                         ebb_reshape(y, EBB_SHAPE(MANY / 2, 2)));
    return ebb_mul_(x, y);
}

static void a_refusal_by_the_budget_changes_nothing(void **state)
{
    (void)state;
    static double from[MANY], got[MANY];
    int n_refused = 0, n_done = 0;
    for (int i = 0; i < MANY; i++) from[i] = i;
    for (int n = 0; n < 60; n++) {
        int way = n % 3;
        size_t budget = 520000 + 20000 * (size_t)n;
        ebb_context *ctx;
        assert_ok(ebb_context_create(
            &ctx, &(ebb_context_options){.n_threads = 1, .memory_budget_bytes = budget}));
        {
            EBB_SCOPE(scope);
            ebb_tensor *x = vector(ctx, MANY, from), *y = vector(ctx, MANY, from);
            ebb_tensor *w = vector(ctx, MANY, from), *saved = NULL;
            bool made = w && ebb_set_requires_grad(way == 2 ? y : w, true) == EBB_OK;
            if (made) saved = ebb_mul(x, w); /* x is saved, and has to move */
            ebb_error_clear();
            ebb_status s = made ? change(x, y, way) : EBB_OK;
            ebb_error_clear();
            assert_true(s == EBB_OK || s == EBB_E_BUDGET);
            n_done += made && s == EBB_OK;
            if (s != EBB_OK) {
                n_refused++;
                assert_ok(EBB_READ(x, got, MANY));
                assert_memory_equal(got, from, sizeof got);
                /* and nothing that was saved counts as written */
                s = saved && way < 2 ? ebb_backward_from(&saved, NULL, 1, NULL) : EBB_OK;
                assert_true(s == EBB_OK || s == EBB_E_BUDGET);
                ebb_error_clear();
            }
        }
        ebb_context_destroy(ctx);
    }
    assert_true(n_refused > 0);
    assert_true(n_done > 0);
}

static void bad_handles_are_refused(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = scalar(*state, 1);
    assert_status(ebb_add_(NULL, x), EBB_E_MISUSE);
    assert_status(ebb_add_(x, NULL), EBB_E_MISUSE);
    assert_status(ebb_add_(x, EBB_NONE), EBB_E_MISUSE);
    assert_status(ebb_exp_(EBB_NONE), EBB_E_MISUSE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(what_was_saved_before_stays_right),
        T(an_untracked_tensor_takes_on_history),
        T(a_leaf_is_changed_only_where_nothing_is_recorded),
        T(a_backward_that_saved_what_was_written_names_both),
        T(a_tracked_tensor_with_another_view_is_refused),
        T(untracked_views_see_a_write),
        T(an_expanded_tensor_cannot_be_written),
        T(a_result_of_another_shape_or_type_is_refused),
        T(history_is_not_changed_where_nothing_is_recorded),
        T(copying_filling_and_clearing),
        T(a_slice_is_replaced),
        T(nothing_is_allocated_for_a_write_that_nobody_saved),
        T(a_refusal_by_the_budget_changes_nothing),
        T(bad_handles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
