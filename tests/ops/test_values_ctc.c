/* test_values_ctc.c - ctc against PyTorch 2 and against sums over all alignments by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

static ebb_tensor *whole(ebb_context *ctx, ebb_shape s, const double *x, int64_t n)
{
    return ebb_cast(case_tensor(ctx, s, x, n), EBB_I64);
}
#define WHOLE(shape, ...) whole(ctx, shape, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

/* Three items: a repeated label, a shorter one, and one whose targets do not fit. */
static void values_and_gradients_agree_with_pytorch(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { T = 5, N = 3, C = 4 };
    double x[T * N * C], g[T * N * C];
    for (int k = 0; k < T * N * C; k++) x[k] = sin(k * 1.7);
    ebb_tensor *leaf = case_leaf(case_tensor(ctx, EBB_SHAPE(T, N, C), x, T * N * C));
    ebb_tensor *lp = ebb_log_softmax(leaf, 2);
    ebb_tensor *targets = WHOLE(EBB_SHAPE(3, 2), 1, 1, 2, 3, 1, 2);
    ebb_tensor *steps = WHOLE(EBB_SHAPE(3), 5, 4, 1), *labels = WHOLE(EBB_SHAPE(3), 2, 1, 2);
    ebb_ctc_options each = {.reduction = EBB_REDUCTION_NONE}, zero = {.zero_infinity = true},
                    sum = zero;
    sum.reduction = EBB_REDUCTION_SUM;
    EXPECT(ebb_ctc(lp, targets, steps, labels, &each), 1e-14, 3.862363783820773,
           3.0490328869257155, INFINITY);
    EXPECT(ebb_ctc(lp, targets, steps, labels, &zero), 1e-14, 1.660071592945367);
    ebb_tensor *loss = ebb_ctc(lp, targets, steps, labels, &sum);
    EXPECT(loss, 1e-14, 6.9113966707464884);
    GOOD(case_backward_sum(loss));
    GOOD(ebb_read(g, sizeof g, EBB_F64, ebb_grad_of(leaf)));
    const double first[] = {0.1185050140491196, -0.35907297699511126, 0.1591512038430479,
                            0.08141675910294374},
                 last[] = {-0.024216655544027996, -0.22757160576417212, 0.17250556966546973,
                           0.07928269164273037};
    for (int k = 0; k < C; k++) {
        assert_true(fabs(g[k] - first[k]) < 1e-14);
        assert_true(fabs(g[4 * N * C + k] - last[k]) < 1e-14);
        assert_true(g[2 * C + k] == 0);           /* no alignment: no gradient */
        assert_true(g[(4 * N + 1) * C + k] == 0); /* after the end */
    }
}

/* Two steps, one label: (1, 1), (blank, 1), (1, blank). */
static void a_sum_over_all_alignments(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *p = MAT(EBB_SHAPE(2, 1, 2), 0.3, 0.7, 0.6, 0.4);
    ebb_tensor *one = WHOLE(EBB_SHAPE(1), 1), *two = WHOLE(EBB_SHAPE(1), 2);
    ebb_tensor *loss = ebb_ctc(ebb_log(p), WHOLE(EBB_SHAPE(1, 1), 1), two, one, NULL);
    EXPECT(loss, 1e-15, -log(0.7 * 0.4 + 0.3 * 0.4 + 0.7 * 0.6));
    ebb_tensor *none = WHOLE(EBB_SHAPE(1), 0);
    EXPECT(ebb_ctc(ebb_log(p), WHOLE(EBB_SHAPE(1, 1), 1), two, none, NULL), 1e-15,
           -log(0.3 * 0.6)); /* blanks alone */
    assert_null(ebb_ctc(ebb_log(p), WHOLE(EBB_SHAPE(1, 1), 0), two, one, NULL));
    assert_int_equal(ebb_error_status(), EBB_E_RANGE); /* the blank is no label */
    ebb_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(values_and_gradients_agree_with_pytorch),
        CASE(a_sum_over_all_alignments),
    };
    return cmocka_run_group_tests_name("values of ctc", tests, NULL, NULL);
}
