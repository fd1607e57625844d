/* test_values_options.c - what options choose: how a loss ends, the row of padding, as many classes as
 * there are, places of maxima, strides. Numbers are by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include <stdint.h>

#define INF INFINITY

static ebb_tensor *ids(ebb_tensor *x)
{
    return ebb_cast(x, EBB_I64);
}

/* ---- losses ------------------------------------------------------------------------------ */
static void a_loss_is_a_mean_a_sum_or_one_number_for_each(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_mse_options sum = {.reduction = EBB_REDUCTION_SUM},
                    each = {.reduction = EBB_REDUCTION_NONE};
    ebb_tensor *x = LEAF(1, 2, 4), *t = VEC(0, 0, 1);
    EXPECT(ebb_mse(x, t), 1e-15, 14.0 / 3);
    EXPECT(ebb_mse_with(x, t, NULL), 1e-15, 14.0 / 3);
    EXPECT(ebb_mse_with(x, t, &sum), 0, 14);
    ebb_tensor *y = ebb_mse_with(x, t, &each);
    EXPECT(y, 0, 1, 4, 9);
    GOOD(case_backward_with(y, VEC(1, 10, 100)));
    EXPECT_GRAD(x, 0, 2, 40, 600);
    EXPECT(ebb_l1_with(x, t, &(ebb_l1_options){.reduction = EBB_REDUCTION_NONE}), 0, 1, 2, 3);
    ebb_smooth_l1_options wide = {.beta = 2, .reduction = EBB_REDUCTION_NONE};
    EXPECT(ebb_smooth_l1(x, t, &wide), 1e-15, 0.25, 1, 2);
}

/* Weights are the user's: each of a loss, times a weight, and the mean. */
static void ignored_labels_cost_nothing_and_count_in_no_mean(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(3, 2), 0, 0, 1, 1, 5, 7)),
               *labels = ids(VEC(0, 1, 9));
    ebb_cross_entropy_options o = {.ignore = true, .ignore_index = 9};
    double ln2 = 0.69314718055994531;
    EXPECT(ebb_cross_entropy(x, labels, &o), 1e-15, ln2);
    o.reduction = EBB_REDUCTION_SUM;
    EXPECT(ebb_cross_entropy(x, labels, &o), 1e-15, 2 * ln2);
    o.reduction = EBB_REDUCTION_NONE;
    ebb_tensor *y = ebb_cross_entropy(x, labels, &o);
    EXPECT(y, 1e-15, ln2, ln2, 0);
    GOOD(case_backward_with(y, VEC(1, 10, 100)));
    EXPECT_GRAD(x, 1e-15, -0.5, 0.5, 5, -5, 0, 0);
    ebb_nll_options each = {.reduction = EBB_REDUCTION_NONE};
    EXPECT(ebb_nll(x, ids(VEC(0, 1, 1)), &each), 0, 0, -1, -7);
}

static void a_reduction_that_there_is_not_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_mse_options by_batch = {.reduction = EBB_REDUCTION_BATCH_MEAN};
    assert_null(ebb_mse_with(VEC(1), VEC(2), &by_batch));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_huber(VEC(1), VEC(2), &(ebb_huber_options){.reduction = -1}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_kl_div(NUMBER(1), NUMBER(2),
                           &(ebb_kl_div_options){.reduction = EBB_REDUCTION_BATCH_MEAN}));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_null(ebb_mse_with(VEC(1), VEC(2), &(ebb_mse_options){.reserved = {1}}));
    REFUSED(EBB_E_MISUSE, ebb_error_status());
}

/* Logarithms end at -100, slopes at 1e12: PyTorch's. */
static void certain_probabilities_cost_nothing_or_a_hundred(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_bce_options each = {.reduction = EBB_REDUCTION_NONE};
    ebb_tensor *x = LEAF(0, 1, 0, 1);
    ebb_tensor *y = ebb_bce_with(x, VEC(0, 1, 1, 0), &each);
    EXPECT(y, 0, 0, 0, 100, 100);
    EXPECT(ebb_bce(x, VEC(0, 1, 1, 0)), 0, 50);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 1e-15, 0, 0, -1e12, 1e12);
}

static void weighted_certain_logits_cost_nothing_where_they_are_right(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_bce_with_logits_weighted_options each = {.reduction = EBB_REDUCTION_NONE};
    ebb_tensor *x = LEAF(INF, -INF, INF, -INF, 0);
    ebb_tensor *y = ebb_bce_with_logits_weighted(x, VEC(1, 0, 0, 1, 1), EBB_NONE,
                                                 VEC(3, 3, 3, 3, 3), &each);
    EXPECT(y, 1e-15, 0, 0, INF, INF, 3 * 0.69314718055994531);
    GOOD(case_backward_with(y, VEC(1, 1, 1, 1, 1)));
    EXPECT_GRAD(x, 1e-15, 0, 0, 1, -3, -1.5);
}

/* ---- embedding --------------------------------------------------------------------------- */
static void the_row_of_padding_gets_no_gradient(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_embedding_options first = {.padding = true},
                          last = {.padding = true, .padding_idx = -1};
    ebb_tensor *w = case_leaf(MAT(EBB_SHAPE(3, 2), 1, 2, 3, 4, 5, 6));
    ebb_tensor *y = ebb_embedding_with(w, ids(VEC(0, 2, -3, 1)), &first);
    EXPECT(y, 0, 1, 2, 5, 6, 1, 2, 3, 4);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(w, 0, 0, 0, 1, 1, 1, 1);
    ebb_tensor *v = case_leaf(MAT(EBB_SHAPE(3, 2), 1, 2, 3, 4, 5, 6));
    GOOD(case_backward_sum(ebb_embedding_with(v, ids(VEC(2, 2, 0)), &last)));
    EXPECT_GRAD(v, 0, 1, 1, 0, 0, 0, 0);
    ebb_embedding_options far = {.padding = true, .padding_idx = 3};
    assert_null(ebb_embedding_with(w, ids(VEC(0)), &far));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    /* Without the option row 0 is one like the others. */
    ebb_tensor *u = case_leaf(MAT(EBB_SHAPE(2, 1), 1, 2));
    GOOD(case_backward_sum(ebb_embedding(u, ids(VEC(0, 0)))));
    EXPECT_GRAD(u, 0, 2, 0);
}

/* In binary16 a running sum of ones stands still at 2,048. */
static void a_row_of_16_bits_that_is_used_4096_times_gets_all_of_it(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *w = ebb_ones(ctx, EBB_F16, EBB_SHAPE(2, 3));
    GOOD(ebb_set_requires_grad(w, true));
    ebb_tensor *index = ebb_zeros(ctx, EBB_I64, EBB_SHAPE(4096));
    GOOD(case_backward_sum(ebb_embedding(w, index)));
    assert_int_equal(ebb_dtype_of(ebb_grad_of(w)), EBB_F16);
    EXPECT_GRAD(w, 0, 4096, 4096, 4096, 0, 0, 0);
}

static void elements_of_16_bits_are_chosen_as_they_are(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_cast(VEC(1.5, NAN, -65504, 0.1), EBB_F16), *at = ids(VEC(-1, 2, 1, 0));
    ebb_tensor *chosen[] = {ebb_gather(x, at, 0), ebb_index_select(x, at, 0), ebb_take(x, at)};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        assert_int_equal(ebb_dtype_of(chosen[i]), EBB_F16);
        EXPECT(chosen[i], 0, 0.0999755859375, -65504, NAN, 1.5);
    }
}

/* ---- one_hot, max_pool ------------------------------------------------------------------- */
static void classes_are_counted_where_no_number_is_given(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *labels = ids(VEC(2, 0));
    EXPECT(ebb_one_hot(labels, 0), 0, 0, 0, 1, 1, 0, 0);
    EXPECT(ebb_one_hot(labels, -1), 0, 0, 0, 1, 1, 0, 0);
    assert_true(case_has_shape(ebb_one_hot(labels, 5), EBB_SHAPE(2, 5)));
    assert_null(ebb_one_hot(labels, -2));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_one_hot(ids(VEC(2, -1)), 0));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_one_hot(ebb_zeros(ctx, EBB_I64, EBB_SHAPE(0)), 0));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

static void maxima_say_where_they_were(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(1, 1, 2, 4), 1, 5, 5, 2, 7, 3, NAN, 9)), *top, *at;
    GOOD(ebb_max_pool2d_with_indices(&top, &at, x, 2, 2, NULL));
    EXPECT(top, 0, 7, NAN);
    EXPECT(at, 0, 4, 6);
    assert_int_equal(ebb_dtype_of(at), EBB_I64);
    GOOD(case_backward_with(top, MAT(EBB_SHAPE(1, 1, 1, 2), 10, 20)));
    EXPECT_GRAD(x, 0, 0, 0, 0, 0, 10, 0, 20, 0);
    /* Of equal ones the first; padding is never named. */
    ebb_pool1d_options o = {.stride = 1, .padding = 1};
    GOOD(ebb_max_pool1d_with_indices(&top, &at, MAT(EBB_SHAPE(1, 1, 3), -5, -5, -7), 3, &o));
    EXPECT(top, 0, -5, -5, -5);
    EXPECT(at, 0, 0, 0, 1);
    REFUSED(EBB_E_SHAPE, ebb_max_pool3d_with_indices(&top, &at, x, 1, 1, 1, NULL));
}

/* ---- as_strided -------------------------------------------------------------------------- */
static void strides_that_overlap_add_their_gradients_up(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(1, 2, 3, 4);
    ebb_tensor *y = ebb_as_strided(x, EBB_SHAPE(2, 3), EBB_SHAPE(1, 1), 0);
    EXPECT(y, 0, 1, 2, 3, 2, 3, 4);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(2, 3), 1, 10, 100, 1000, 1e4, 1e5)));
    EXPECT_GRAD(x, 0, 1, 1010, 10100, 1e5);
    /* Of a transposed tensor: its elements in C order, wherever they lie. */
    ebb_tensor *m = ebb_transpose(MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4), 0, 1);
    EXPECT(ebb_as_strided(m, EBB_SHAPE(3), EBB_SHAPE(1), 1), 0, 3, 2, 4);
    EBB_NO_GRAD(quiet);
    ebb_tensor *data = VEC(1, 2, 3, 4);
    REFUSED(EBB_E_MISUSE,
            ebb_mul_scalar_(ebb_as_strided(data, EBB_SHAPE(2, 3), EBB_SHAPE(1, 1), 0), 2));
    EXPECT(data, 0, 1, 2, 3, 4);
}

static void strides_that_leave_the_tensor_are_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(16));
    static const struct {
        ebb_shape shape, strides;
        int64_t offset;
    } bad[] = {
        {{2, {64, 64}}, {2, {64, 1}}, 0},
        {{1, {5}}, {1, {2}}, INT64_MAX - 9999},
        {{1, {2}}, {1, {1}}, -1},
        {{1, {2}}, {1, {-1}}, 4},
        {{1, {9}}, {1, {2}}, 0},
        {{0}, {0}, 16},
        {{1, {3}}, {1, {INT64_MAX / 2}}, 1},
        {{1, {5}}, {1, {INT64_MAX / 2}}, 0},
        {{1, {0}}, {1, {1}}, 17},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(ebb_as_strided(x, bad[i].shape, bad[i].strides, bad[i].offset));
        REFUSED(EBB_E_RANGE, ebb_error_status());
    }
    assert_null(ebb_as_strided(x, EBB_SHAPE(2, 2), EBB_SHAPE(1), 0));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_true(case_has_shape(ebb_as_strided(x, EBB_SHAPE(8), EBB_SHAPE(2), 1), EBB_SHAPE(8)));
    assert_true(
        case_has_shape(ebb_as_strided(x, EBB_SHAPE(0), EBB_SHAPE(1), 16), EBB_SHAPE(0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_loss_is_a_mean_a_sum_or_one_number_for_each),
        CASE(ignored_labels_cost_nothing_and_count_in_no_mean),
        CASE(a_reduction_that_there_is_not_is_refused),
        CASE(certain_probabilities_cost_nothing_or_a_hundred),
        CASE(weighted_certain_logits_cost_nothing_where_they_are_right),
        CASE(the_row_of_padding_gets_no_gradient),
        CASE(a_row_of_16_bits_that_is_used_4096_times_gets_all_of_it),
        CASE(elements_of_16_bits_are_chosen_as_they_are),
        CASE(classes_are_counted_where_no_number_is_given),
        CASE(maxima_say_where_they_were),
        CASE(strides_that_overlap_add_their_gradients_up),
        CASE(strides_that_leave_the_tensor_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
