/* test_values_order.c - order, running products, norms, weighted losses and random choices:
 * values and gradients at ties, zeros and NaN. Numbers are by hand or from PyTorch 2.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#define INF INFINITY

static void sorting_is_stable_and_puts_nan_above_infinity(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *v, *i, *x = LEAF(3, NAN, 1, -0.0, 0, 1, INF, -INF);
    GOOD(ebb_sort(&v, &i, x, 0, NULL));
    EXPECT(v, 0, -INF, 0, 0, 1, 1, 3, INF, NAN);
    EXPECT(i, 0, 7, 3, 4, 2, 5, 0, 6, 1);
    GOOD(case_backward_with(v, VEC(1, 2, 3, 4, 5, 6, 7, 8)));
    EXPECT_GRAD(x, 0, 6, 8, 4, 2, 3, 5, 7, 1);
    ebb_sort_options down = {.descending = true};
    GOOD(ebb_sort(&v, &i, x, 0, &down));
    EXPECT(v, 0, NAN, INF, 3, 1, 1, 0, 0, -INF);
    EXPECT(i, 0, 1, 6, 0, 2, 5, 3, 4, 7);
    EXPECT(ebb_argsort(x, -1, &down), 0, 1, 6, 0, 2, 5, 3, 4, 7);
    GOOD(ebb_topk(&v, &i, VEC(2, 5, NAN, 5, 1), 3, 0, NULL));
    EXPECT(v, 0, NAN, 5, 5);
    EXPECT(i, 0, 2, 1, 3);
    ebb_topk_options least = {.smallest = true};
    GOOD(ebb_topk(&v, &i, MAT(EBB_SHAPE(2, 3), 3, 1, 1, 4, 6, 5), 2, 1, &least));
    EXPECT(v, 0, 1, 1, 4, 5);
    EXPECT(i, 0, 1, 2, 0, 2);
    REFUSED(EBB_E_RANGE, ebb_topk(&v, &i, VEC(1, 2), 3, 0, NULL));
}

/* Long enough for every stage of the merge and of the selection. */
static void long_lines_are_sorted_and_selected(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { N = 1000 };
    double want[N], got[N], place[N];
    ebb_tensor *v, *i, *x = ebb_cast(ebb_randperm(ctx, N), EBB_F64);
    GOOD(ebb_sort(&v, &i, x, 0, NULL));
    GOOD(ebb_read(got, sizeof got, EBB_F64, v));
    for (int k = 0; k < N; k++) assert_true(got[k] == k);
    GOOD(ebb_read(want, sizeof want, EBB_F64, x));
    GOOD(ebb_read(place, sizeof place, EBB_F64, i));
    for (int k = 0; k < N; k++) assert_true(want[(int)place[k]] == k);
    GOOD(ebb_topk(&v, &i, x, 100, 0, NULL));
    GOOD(ebb_read(got, 100 * sizeof *got, EBB_F64, v));
    for (int k = 0; k < 100; k++) assert_true(got[k] == N - 1 - k);
    GOOD(ebb_median(&v, &i, x, EBB_ALL));
    EXPECT(v, 0, 499);
}

static void medians_and_running_extremes(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *v, *i, *x = LEAF(4, 1, 3, 2);
    GOOD(ebb_median(&v, &i, x, EBB_ALL));
    EXPECT(v, 0, 2);
    EXPECT(i, 0, 3);
    GOOD(case_backward_sum(v));
    EXPECT_GRAD(x, 0, 0, 0, 0, 1);
    GOOD(ebb_median(&v, &i, VEC(1, NAN, 3, NAN), EBB_AXES(0)));
    EXPECT(v, 0, NAN);
    EXPECT(i, 0, 1);
    REFUSED(EBB_E_SHAPE,
            ebb_median(&v, &i, ebb_zeros(ctx, EBB_F64, EBB_SHAPE(2, 0)), EBB_AXES(1)));
    ebb_tensor *y = LEAF(1, 3, 3, 2, NAN, 5);
    GOOD(ebb_cummax(&v, &i, y, 0));
    EXPECT(v, 0, 1, 3, 3, 3, NAN, NAN);
    EXPECT(i, 0, 0, 1, 2, 2, 4, 4);
    GOOD(case_backward_sum(v));
    EXPECT_GRAD(y, 0, 1, 1, 2, 0, 2, 0);
    GOOD(ebb_cummin(&v, &i, VEC(2, 2, 1, 3), 0));
    EXPECT(v, 0, 2, 2, 1, 1);
    EXPECT(i, 0, 0, 1, 2, 2);
}

/* The second derivative of sum(op(x)) in the direction of ones, by the engine twice. */
static ebb_tensor *curve_along_ones(ebb_tensor *y, ebb_tensor *x)
{
    ebb_tensor *g = NULL, *h = NULL;
    ebb_tensor *root = ebb_sum(y, EBB_ALL);
    GOOD(ebb_grad(&g, &root, NULL, 1, &x, 1, &(ebb_grad_options){.create_graph = true}));
    root = ebb_sum(g, EBB_ALL);
    GOOD(ebb_grad(&h, &root, NULL, 1, &x, 1, NULL));
    return h;
}

static void products_with_zeros_are_exact_in_every_order(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(2, 0, 3), *y = LEAF(2, 0, 3, 0, 5);
    EXPECT(ebb_cumprod(x, 0), 0, 2, 0, 0);
    GOOD(case_backward_sum(ebb_cumprod(x, 0)));
    EXPECT_GRAD(x, 0, 1, 8, 0);
    GOOD(case_backward_sum(ebb_cumprod(y, 0)));
    EXPECT_GRAD(y, 0, 1, 8, 0, 0, 0);
    /* f = a + a b + a b c: f'' ones = (1 + c + b, 1 + c + a, b + a) at (2, 0, 3). */
    EXPECT(curve_along_ones(ebb_cumprod(x, 0), x), 0, 4, 6, 2);
    /* f = a b c: f'' ones = (b + c, a + c, a + b). */
    EXPECT(curve_along_ones(ebb_prod(x, EBB_ALL), x), 0, 3, 5, 2);
    ebb_tensor *m = case_leaf(MAT(EBB_SHAPE(2, 2), 0, 0, 3, 4));
    /* a b c d with a = b = 0: only d(a) d(b) = c d = 12 is left. */
    EXPECT(curve_along_ones(ebb_prod(m, EBB_ALL), m), 0, 12, 12, 0, 0);
    EXPECT(ebb_cumprod(ebb_cast(VEC(2, 3, 4), EBB_I32), 0), 0, 2, 6, 24);
}

static void norms_of_every_order(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = VEC(3, -4, 0);
    EXPECT(ebb_norm(x, 2, EBB_ALL), 0, 5);
    EXPECT(ebb_norm(x, 1, EBB_ALL), 0, 7);
    EXPECT(ebb_norm(x, 0, EBB_ALL), 0, 2);
    EXPECT(ebb_norm(x, INF, EBB_ALL), 0, 4);
    EXPECT(ebb_norm(x, -INF, EBB_ALL), 0, 0);
    EXPECT(ebb_norm(x, 3, EBB_ALL), 1e-15, 4.497941445275415);
    EXPECT(ebb_norm(x, 0.5, EBB_ALL), 1e-15, 13.928203230275509);
    EXPECT(ebb_norm(VEC(3e200, 4e200), 2, EBB_ALL), 1e-15, 5e200);
    EXPECT(ebb_norm(VEC(3e-200, 4e-200), 2, EBB_ALL), 1e-15, 5e-200);
    EXPECT(ebb_norm(VEC(1, NAN, 1e300), 2, EBB_ALL), 0, NAN);
    EXPECT(ebb_norm(VEC(1, -INF), 2, EBB_ALL), 0, INF);
    const double orders[] = {2, 1, 3, 1.5, 0.5};
    for (int k = 0; k < 5; k++) {
        ebb_tensor *origin = LEAF(0, 0, 0);
        GOOD(case_backward_sum(ebb_norm(origin, orders[k], EBB_ALL)));
        EXPECT_GRAD(origin, 0, 0, 0, 0);
    }
    ebb_tensor *y = LEAF(3, -4), *tie = LEAF(2, -2, 1), *some = LEAF(0, 2);
    GOOD(case_backward_sum(ebb_norm(y, 2, EBB_ALL)));
    EXPECT_GRAD(y, 1e-15, 0.6, -0.8);
    GOOD(case_backward_sum(ebb_norm(tie, INF, EBB_ALL)));
    EXPECT_GRAD(tie, 0, 0.5, -0.5, 0);
    GOOD(case_backward_sum(ebb_norm(some, 0.5, EBB_ALL)));
    EXPECT_GRAD(some, 1e-15, 0, 1);
    EXPECT(ebb_count_nonzero(VEC(1, 0, -0.0, NAN), EBB_ALL), 0, 2);
    ebb_var_options two = {.correction = 2};
    EXPECT(ebb_var(VEC(1, 2, 4), EBB_ALL, &two), 1e-15, 14.0 / 3);
}

static void weighted_losses_agree_with_pytorch(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(2, 3), 1, 2, 3, 0.5, -1, 2), *w = VEC(1, 2, 0.5);
    ebb_tensor *label = ebb_cast(VEC(2, 0), EBB_I64);
    ebb_cross_entropy_weighted_options smooth = {.label_smoothing = 0.1}, left = smooth,
                                       each = {.reduction = EBB_REDUCTION_NONE};
    left.ignore = true, left.ignore_index = 0;
    EXPECT(ebb_cross_entropy_weighted(x, label, w, NULL), 1e-15, 1.2967428525862317);
    EXPECT(ebb_cross_entropy_weighted(x, label, w, &smooth), 1e-15, 1.4730954654132837);
    EXPECT(ebb_cross_entropy_weighted(x, label, w, &left), 1e-15, 0.7286200930369645);
    EXPECT(ebb_cross_entropy_weighted(x, label, w, &each), 1e-15, 0.2038029822221902,
           1.7413112966571571);
    EXPECT(ebb_nll_weighted(x, label, w, NULL), 1e-15, -4.0 / 3);
    ebb_tensor *t = MAT(EBB_SHAPE(2, 3), 0.2, 0.3, 0.5, 1, 0, 0);
    ebb_cross_entropy_soft_options soft = {.label_smoothing = 0.1};
    EXPECT(ebb_cross_entropy_soft(x, t, EBB_NONE, NULL), 1e-15, 1.424458630550769);
    EXPECT(ebb_cross_entropy_soft(x, t, w, &soft), 1e-15, 1.6557040752599468);
    ebb_tensor *y = MAT(EBB_SHAPE(2, 3), 0, 1, 1, 1, 0, 0.3);
    EXPECT(ebb_bce_with_logits_weighted(x, y, w, VEC(2, 3, 4), NULL), 1e-15,
           0.7612105684685041);
    assert_null(ebb_cross_entropy_weighted(x, ebb_cast(VEC(-1, 0), EBB_I64), w, NULL));
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    ebb_error_clear();
}

static void losses_made_of_formulas_agree_with_pytorch(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = VEC(0.1, -2, 3), *b = VEC(0, 0, 1);
    EXPECT(ebb_huber(a, b, &(ebb_huber_options){.delta = 0.7}), 1e-15, 0.7716666666666665);
    EXPECT(ebb_huber(a, b, &(ebb_huber_options){.reduction = EBB_REDUCTION_NONE}), 1e-14, 0.005,
           1.5, 1.5);
    EXPECT(ebb_hinge(VEC(2, -2, 0.5), VEC(1, 1, -1), NULL), 1e-15, 1.5);
    EXPECT(ebb_hinge_embedding(a, VEC(1, -1, -1), NULL), 1e-15, 3.1 / 3);
    ebb_tensor *p = MAT(EBB_SHAPE(2, 2), 0.2, 0.8, 0, 1);
    ebb_tensor *q = ebb_log(MAT(EBB_SHAPE(2, 2), 0.5, 0.5, 0.25, 0.75));
    ebb_kl_div_options batch = {.reduction = EBB_REDUCTION_BATCH_MEAN},
                       logs = {.log_target = true, .reduction = EBB_REDUCTION_SUM};
    EXPECT(ebb_kl_div(q, p, NULL), 1e-15, 0.12010670736838458);
    EXPECT(ebb_kl_div(q, p, &batch), 1e-15, 0.24021341473676916);
    EXPECT(ebb_kl_div(q, ebb_log(MAT(EBB_SHAPE(2, 2), 0.2, 0.8, 0.1, 0.9)), &logs), 1e-14,
           0.26520508494890116);
    ebb_tensor *c = ebb_cosine_similarity(MAT(EBB_SHAPE(2, 2), 3, 4, 0, 0),
                                          MAT(EBB_SHAPE(2, 2), 4, 3, 1, 1), 1, NULL);
    EXPECT(c, 1e-15, 0.96, 0);
    ebb_tensor *an = MAT(EBB_SHAPE(1, 2), 0, 0), *po = MAT(EBB_SHAPE(1, 2), 3, 4),
               *ne = MAT(EBB_SHAPE(1, 2), 6, 8.5);
    ebb_triplet_options far = {.margin = 7}, swap = {.margin = 7, .swap = true};
    EXPECT(ebb_triplet(an, po, ne, &far), 1e-14, 1.5956739703086562);
    EXPECT(ebb_triplet(an, po, ne, &swap), 1e-14, 6.591673073554505);
}

static void random_choices_are_what_they_say(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { N = 20000 };
    static double x[N];
    GOOD(ebb_read(x, sizeof x, EBB_F64, ebb_randint(ctx, EBB_I64, EBB_SHAPE(N), -2, 3)));
    int count[5] = {0}, hits[3] = {0};
    for (int k = 0; k < N; k++) {
        assert_true(x[k] >= -2 && x[k] < 3);
        count[(int)x[k] + 2]++;
    }
    /* Five standard deviations of a count of 20000 / 5: 283. */
    for (int k = 0; k < 5; k++) assert_true(abs(count[k] - N / 5) < 283);
    ebb_multinomial_options again = {.replacement = true};
    GOOD(ebb_read(x, sizeof x, EBB_F64, ebb_multinomial(VEC(1, 0, 3), N, &again)));
    for (int k = 0; k < N; k++) hits[(int)x[k]]++;
    assert_int_equal(hits[1], 0);
    assert_true(abs(hits[0] - N / 4) < 307); /* five standard deviations */
    ebb_tensor *p = ebb_full(ctx, EBB_F64, EBB_SHAPE(N / 2, 2), 1);
    p = ebb_mul(p, VEC(3, 1));
    GOOD(ebb_read(x, sizeof x, EBB_F64, ebb_multinomial(p, 2, NULL)));
    int first = 0;
    for (int k = 0; k < N; k += 2) {
        assert_true(x[k] + x[k + 1] == 1); /* each class once */
        first += x[k] == 0;
    }
    assert_true(abs(first - N / 2 * 3 / 4) < 217); /* likelier ones come first */
    GOOD(ebb_read(x, 7 * sizeof *x, EBB_F64, ebb_randperm(ctx, 7)));
    int seen = 0;
    for (int k = 0; k < 7; k++) seen |= 1 << (int)x[k];
    assert_int_equal(seen, 127);
    assert_null(ebb_multinomial(VEC(0, 1), 2, NULL));
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    assert_null(ebb_randint(ctx, EBB_U8, EBB_SHAPE(1), 0, 257));
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    ebb_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sorting_is_stable_and_puts_nan_above_infinity),
        CASE(long_lines_are_sorted_and_selected),
        CASE(medians_and_running_extremes),
        CASE(products_with_zeros_are_exact_in_every_order),
        CASE(norms_of_every_order),
        CASE(weighted_losses_agree_with_pytorch),
        CASE(losses_made_of_formulas_agree_with_pytorch),
        CASE(random_choices_are_what_they_say),
    };
    return cmocka_run_group_tests_name("values of orders and losses", tests, NULL, NULL);
}
