/* test_state_and_refusals.c - what neural-network operations change besides their results, and
 * what they refuse: with which status, in which words, and with nothing written.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int open_context(void **state)
{
    ebb_context *ctx = NULL;
    ebb_error_clear();
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 2}) != EBB_OK) return -1;
    *state = ctx;
    return 0;
}

static int close_context(void **state)
{
    ebb_context_destroy(*state);
    return 0;
}

static ebb_tensor *zeros(ebb_context *ctx, ebb_shape s)
{
    return ebb_full(ctx, EBB_F64, s, 0);
}

static ebb_tensor *indices(ebb_context *ctx, int64_t n, const int64_t *values)
{
    return ebb_tensor_copy(ctx, EBB_I64, EBB_SHAPE(n), values, (size_t)n * sizeof *values);
}
#define INDICES(...)                                                                           \
    indices(ctx, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                \
            (int64_t[]){__VA_ARGS__})

/* The message ends in these words. */
static void refused(const ebb_tensor *result, ebb_status want, const char *words, int line)
{
    if (result) fail_msg("line %d: was not refused", line);
    const char *message = ebb_error_message();
    if (ebb_error_status() != want)
        fail_msg("line %d: %s, %s expected: %s", line, ebb_status_name(ebb_error_status()),
                 ebb_status_name(want), message);
    size_t n = strlen(message), m = strlen(words);
    if (n < m || strcmp(message + n - m, words) != 0)
        fail_msg("line %d: \"%s\" should end in \"%s\"", line, message, words);
    ebb_error_clear();
}
#define REFUSED(status, words, expr) refused(expr, status, words, __LINE__)

static void expect(ebb_tensor *t, int64_t n, const double *want)
{
    double got[16];
    if (!t || t == EBB_NONE) fail_msg("%s", ebb_error_message());
    assert_int_equal(ebb_n_elems(t), n);
    assert_int_equal(ebb_read(got, (size_t)n * sizeof *got, EBB_F64, t), EBB_OK);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-12))
            fail_msg("[%lld] is %.17g, %.17g expected", (long long)i, got[i], want[i]);
}
#define EXPECT(t, ...)                                                                         \
    expect(t, (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)),                     \
           (double[]){__VA_ARGS__})

/* Mean 2, unbiased variance 2 of {1, 3}; momentum 0.1 from mean 0, variance 1. */
static void test_batch_norm_moves_its_statistics_once_per_call(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = EBB_VALUES(ctx, double, EBB_SHAPE(2, 1), 1, 3);
    ebb_tensor *mean = zeros(ctx, EBB_SHAPE(1)), *var = ebb_full(ctx, EBB_F64, EBB_SHAPE(1), 1);
    assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
    ebb_tensor *y = ebb_batch_norm(x, EBB_NONE, EBB_NONE, mean, var, NULL);
    EXPECT(y, -1 / sqrt(1 + 1e-5), 1 / sqrt(1 + 1e-5));
    ebb_tensor *loss = ebb_sum(ebb_square(y), EBB_ALL);
    assert_int_equal(ebb_backward(loss, NULL), EBB_OK);
    EXPECT(mean, 0.2);
    EXPECT(var, 1.1);
}

static void test_batch_norm_for_inference_leaves_its_statistics_alone(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = EBB_VALUES(ctx, double, EBB_SHAPE(2, 1), 1, 3);
    ebb_tensor *mean = ebb_full(ctx, EBB_F64, EBB_SHAPE(1), 2);
    ebb_tensor *var = ebb_full(ctx, EBB_F64, EBB_SHAPE(1), 4);
    ebb_norm_options o = {.eps = 5, .inference = true};
    EXPECT(ebb_batch_norm(x, EBB_NONE, EBB_NONE, mean, var, &o), -1 / 3.0, 1 / 3.0);
    EXPECT(mean, 2);
    EXPECT(var, 4);
    REFUSED(EBB_E_MISUSE, "batch_norm: inference needs running_mean and running_var",
            ebb_batch_norm(x, EBB_NONE, EBB_NONE, EBB_NONE, EBB_NONE, &o));
}

static void test_batch_norm_of_one_value_per_channel_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    REFUSED(EBB_E_SHAPE,
            "batch_norm: x is (1, 3): training needs at least 2 values per channel",
            ebb_batch_norm(zeros(ctx, EBB_SHAPE(1, 3)), EBB_NONE, EBB_NONE, EBB_NONE, EBB_NONE,
                           NULL));
}

static void test_negative_indices_count_from_the_end(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = EBB_VALUES(ctx, double, EBB_SHAPE(3), 1, 2, 3);
    assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
    ebb_tensor *y = ebb_index_select(x, INDICES(-1, 2, -3), 0);
    EXPECT(y, 3, 3, 1);
    assert_int_equal(ebb_backward(ebb_sum(y, EBB_ALL), NULL), EBB_OK);
    EXPECT(ebb_grad_of(x), 1, 0, 2);
    EXPECT(ebb_gather(x, INDICES(-3, 0), 0), 1, 1);
    EXPECT(ebb_embedding(x, INDICES(-2)), 2);
}

static void test_an_index_out_of_range_is_named(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = zeros(ctx, EBB_SHAPE(3)), *bad = INDICES(0, 3), *low = INDICES(-4);
    REFUSED(EBB_E_RANGE, "index_select: index 3 at position 1 is outside [-3, 3)",
            ebb_index_select(x, bad, 0));
    REFUSED(EBB_E_RANGE, "index_select: index -4 at position 0 is outside [-3, 3)",
            ebb_index_select(x, low, 0));
    REFUSED(EBB_E_RANGE, "gather: index 3 at position 1 is outside [-3, 3)",
            ebb_gather(x, bad, 0));
    REFUSED(EBB_E_RANGE, "embedding: index 3 at position 1 is outside [-3, 3)",
            ebb_embedding(x, bad));
    REFUSED(EBB_E_RANGE, "one_hot: index 3 at position 1 is outside [0, 3)",
            ebb_one_hot(bad, 3));
    REFUSED(EBB_E_RANGE, "cross_entropy: label 3 at position 1 is outside [0, 3)",
            ebb_cross_entropy(zeros(ctx, EBB_SHAPE(2, 3)), bad, NULL));
    EXPECT(ebb_index_select(x, INDICES(2), 0), 0);
}

static void test_an_ignored_label_may_be_any_number(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = zeros(ctx, EBB_SHAPE(2, 4));
    ebb_cross_entropy_options o = {.ignore = true, .ignore_index = -100};
    EXPECT(ebb_cross_entropy(x, INDICES(-100, 1), &o), log(4));
    double all = ebb_item(ebb_cross_entropy(x, INDICES(-100, -100), &o));
    assert_true(isnan(all)); /* the mean of nothing */
}

/* p - 1 = -exp(-20) / (1 + exp(-20)) at the label, in f32. */
static void test_the_gradient_of_a_sure_answer_keeps_its_digits(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = EBB_VALUES(ctx, float, EBB_SHAPE(1, 2), 20, 0);
    assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
    assert_int_equal(ebb_backward(ebb_cross_entropy(x, INDICES(0), NULL), NULL), EBB_OK);
    double got[2], want = exp(-20) / (1 + exp(-20));
    assert_int_equal(ebb_read(got, sizeof got, EBB_F64, ebb_grad_of(x)), EBB_OK);
    assert_true(fabs(got[0] + want) < 1e-6 * want && fabs(got[1] - want) < 1e-6 * want);
}

static void test_shapes_that_do_not_fit_are_named(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = zeros(ctx, EBB_SHAPE(2, 3)), *y = zeros(ctx, EBB_SHAPE(2));
    ebb_tensor *image = zeros(ctx, EBB_SHAPE(1, 3, 4, 4)),
               *w = zeros(ctx, EBB_SHAPE(2, 4, 3, 3));
    REFUSED(EBB_E_SHAPE, "matmul: x is (2, 3), y is (2): 3 and 2 differ", ebb_matmul(x, y));
    REFUSED(EBB_E_SHAPE, "linear: x is (2), w is (2, 3): 2 and 3 differ",
            ebb_linear(y, x, EBB_NONE));
    REFUSED(EBB_E_SHAPE,
            "conv2d: x is (1, 3, 4, 4), w is (2, 4, 3, 3): w must have 3 / 1 channels",
            ebb_conv2d(image, w, EBB_NONE, NULL));
    w = zeros(ctx, EBB_SHAPE(2, 3, 5, 3));
    REFUSED(EBB_E_SHAPE, "conv2d: the kernel's height is 5, the padded input's is 4",
            ebb_conv2d(image, w, EBB_NONE, NULL));
    REFUSED(EBB_E_SHAPE, "mse: x is (2, 3), y is (2): one shape is needed", ebb_mse(x, y));
    REFUSED(EBB_E_SHAPE, "l1: x is (2, 3), y is (2): one shape is needed", ebb_l1(x, y));
    ebb_pool2d_options o = {.padding = {2, 0}};
    REFUSED(EBB_E_RANGE, "max_pool2d: padding 2 is outside [0, 1], half the kernel",
            ebb_max_pool2d(image, 3, 3, &o));
    REFUSED(EBB_E_RANGE, "softmax: axis 2 is outside [-2, 2)", ebb_softmax(x, 2));
    REFUSED(EBB_E_RANGE, "dropout: p is 1.5, it must be in [0, 1]", ebb_dropout(x, 1.5));
    ebb_tensor *list[] = {x, y};
    REFUSED(EBB_E_SHAPE, "cat: xs[0] is (2, 3), xs[1] is (2): only the axis joined may differ",
            ebb_cat(list, 2, 0));
    REFUSED(EBB_E_DTYPE, "cross_entropy: labels must be i64, i32 or u8, it is f64",
            ebb_cross_entropy(x, y, NULL));
}

/* Rows 2 to 4 get zeros although their parts' gradients never existed. */
static void test_parts_of_a_split_that_nobody_uses_cost_nothing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = zeros(ctx, EBB_SHAPE(5, 2)), *part[3];
    assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
    assert_int_equal(ebb_split(part, 3, x, 2, 0), EBB_OK);
    assert_int_equal(ebb_dim(part[2], 0), 1);
    assert_int_equal(ebb_backward(ebb_sum(part[0], EBB_ALL), NULL), EBB_OK);
    EXPECT(ebb_grad_of(x), 1, 1, 1, 1, 0, 0, 0, 0, 0, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)
    const struct CMUnitTest tests[] = {
        TEST(test_batch_norm_moves_its_statistics_once_per_call),
        TEST(test_batch_norm_for_inference_leaves_its_statistics_alone),
        TEST(test_batch_norm_of_one_value_per_channel_is_refused),
        TEST(test_negative_indices_count_from_the_end),
        TEST(test_an_index_out_of_range_is_named),
        TEST(test_an_ignored_label_may_be_any_number),
        TEST(test_the_gradient_of_a_sure_answer_keeps_its_digits),
        TEST(test_shapes_that_do_not_fit_are_named),
        TEST(test_parts_of_a_split_that_nobody_uses_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
