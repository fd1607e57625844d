/* test_values_losses.c - losses at the edges: impossible classes, certain answers, nothing to count.
 * Numbers are by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#define INF INFINITY

static void certain_logits_cost_nothing_where_they_are_right(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(INF, -INF, 0, 0);
    ebb_tensor *y = ebb_bce_with_logits(x, VEC(1, 0, 1, 0));
    EXPECT(y, 1e-15, 0.34657359027997264); /* ln(2) / 2 */
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 0, 0, -0.125, 0.125);
    EXPECT(ebb_bce_with_logits(VEC(INF), VEC(0)), 0, INF);
    EXPECT(ebb_bce_with_logits(VEC(-INF), VEC(1)), 0, INF);
    EXPECT(ebb_bce_with_logits(VEC(INF, -INF), VEC(0.5, 0.5)), 0, INF);
    EXPECT(ebb_bce_with_logits(VEC(NAN), VEC(1)), 0, NAN);
}

static void an_impossible_class_without_a_target_costs_nothing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *logits = case_leaf(MAT(EBB_SHAPE(1, 3), 0, -INF, 0));
    ebb_tensor *y =
        ebb_cross_entropy_soft(logits, MAT(EBB_SHAPE(1, 3), 1, 0, 0), EBB_NONE, NULL);
    EXPECT(y, 1e-15, 0.69314718055994531);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(logits, 1e-15, -0.5, 0, 0.5);
    EXPECT(ebb_cross_entropy_soft(logits, MAT(EBB_SHAPE(1, 3), 0, 1, 0), EBB_NONE, NULL), 0,
           INF);
    ebb_tensor *x = LEAF(-INF, -2);
    y = ebb_kl_div(x, VEC(0, 1), &(ebb_kl_div_options){.reduction = EBB_REDUCTION_SUM});
    EXPECT(y, 0, 2);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 0, -1);
    EXPECT(ebb_kl_div(x, VEC(0.5, 0.5), NULL), 0, INF);
}

static void a_mean_over_no_labels_is_nan_and_has_no_gradient(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4)), *weight = LEAF(0.5, 2);
    ebb_tensor *labels = ebb_cast(VEC(1, 1), EBB_I64);
    ebb_nll_weighted_options ones = {.ignore = true, .ignore_index = 1};
    ebb_tensor *y = ebb_nll_weighted(x, labels, weight, &ones);
    EXPECT(y, 0, NAN);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 0, 0, 0, 0);
    EXPECT_GRAD(weight, 0, 0, 0);
    ebb_cross_entropy_weighted_options same = {
        .ignore = true, .ignore_index = 1, .label_smoothing = 0.1};
    y = ebb_cross_entropy_weighted(x, labels, weight, &same);
    EXPECT(y, 0, NAN);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 0, 0, 0, 0);
    ebb_cross_entropy_options plain = {.ignore = true, .ignore_index = 1};
    y = ebb_cross_entropy(x, labels, &plain);
    EXPECT(y, 0, NAN);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 0, 0, 0, 0);
}

static void losses_of_nothing_are_nan_as_means_and_zero_as_sums(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *none = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 3));
    ebb_tensor *labels = ebb_zeros(ctx, EBB_I64, EBB_SHAPE(0));
    EXPECT(ebb_mse(none, none), 0, NAN);
    EXPECT(ebb_l1(none, none), 0, NAN);
    EXPECT(ebb_cross_entropy(none, labels, NULL), 0, NAN);
    EXPECT(ebb_huber(none, none, &(ebb_huber_options){.reduction = EBB_REDUCTION_SUM}), 0, 0);
    EXPECT(ebb_nll_weighted(none, labels, VEC(1, 1, 1),
                            &(ebb_nll_weighted_options){.reduction = EBB_REDUCTION_SUM}),
           0, 0);
}

static void cosines_of_short_vectors_in_16_bits(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_cast(MAT(EBB_SHAPE(2, 2), 0, 0, 3, 4), EBB_F16);
    ebb_tensor *y = ebb_cast(MAT(EBB_SHAPE(2, 2), 1, 2, 300, 400), EBB_F16);
    ebb_tensor *cosine = ebb_cosine_similarity(x, y, 1, NULL);
    EXPECT(cosine, 0, 0, 1);
    assert_int_equal(ebb_dtype_of(cosine), EBB_F16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(certain_logits_cost_nothing_where_they_are_right),
        CASE(an_impossible_class_without_a_target_costs_nothing),
        CASE(a_mean_over_no_labels_is_nan_and_has_no_gradient),
        CASE(cosines_of_short_vectors_in_16_bits),
        CASE(losses_of_nothing_are_nan_as_means_and_zero_as_sums),
    };
    return cmocka_run_group_tests_name("values of losses", tests, NULL, NULL);
}
