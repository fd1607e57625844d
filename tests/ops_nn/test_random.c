/* test_random.c - random tensors are repeatable, independent of threads, and distributed as
 * they say; dropout drops what it says and remembers it without a mask.
 *
 * Bounds on sample statistics are 6 standard errors: a right generator fails one in 10^9 times,
 * and seeds are fixed.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 200000 };

static ebb_context *context(uint64_t seed, int32_t n_threads)
{
    ebb_context *ctx = NULL;
    ebb_error_clear();
    if (ebb_context_create(&ctx, &(ebb_context_options){.seed = seed, .n_threads = n_threads}))
        fail_msg("%s", ebb_error_message());
    return ctx;
}

static double *numbers(ebb_tensor *t)
{
    if (!t) fail_msg("%s", ebb_error_message());
    size_t n = (size_t)ebb_n_elems(t);
    double *values = calloc(n + 1, sizeof *values);
    assert_int_equal(ebb_read(values, n * sizeof *values, EBB_F64, t), EBB_OK);
    return values;
}

/* Central moments of the sample: mean, variance, then skewness and kurtosis as ratios. */
typedef struct moments {
    double mean, variance, skewness, kurtosis;
} moments;

static moments moments_of(const double *x, int64_t n)
{
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    for (int64_t i = 0; i < n; i++) m1 += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] - m1;
        m2 += d * d / (double)n, m3 += d * d * d / (double)n, m4 += d * d * d * d / (double)n;
    }
    return (moments){m1, m2, m3 / pow(m2, 1.5), m4 / (m2 * m2)};
}

static void expect_within(double got, double want, double bound, const char *what)
{
    if (!(fabs(got - want) <= bound))
        fail_msg("%s is %g, %g +- %g expected", what, got, want, bound);
}

static void test_uniform_fills_its_interval_evenly(void **state)
{
    static const ebb_dtype dtypes[] = {EBB_F32, EBB_F64};
    (void)state;
    for (int k = 0; k < 2; k++) {
        ebb_context *ctx = context(5, 2);
        {
            EBB_SCOPE(scope);
            double *x = numbers(ebb_uniform(ctx, dtypes[k], EBB_SHAPE(N), -1, 3));
            moments m = moments_of(x, N);
            for (int64_t i = 0; i < N; i++)
                if (!(x[i] >= -1 && x[i] < 3)) fail_msg("%g is outside [-1, 3)", x[i]);
            expect_within(m.mean, 1, 6 * sqrt(16 / 12.0 / N), "the mean");
            expect_within(m.variance, 16 / 12.0, 6 * sqrt(16 * 16 / 180.0 / N), "the variance");
            expect_within(m.kurtosis, 1.8, 0.03, "the kurtosis");
            free(x);
        }
        ebb_context_destroy(ctx);
    }
}

/* 1 is excluded from [0, 1) in types of so few digits, too, and so is what rounds to it. */
static void test_uniform_never_reaches_the_end_of_its_interval(void **state)
{
    static const ebb_dtype dtypes[] = {EBB_F32, EBB_F64, EBB_F16, EBB_BF16};
    static const double last[] = {0x1.fffffep-1, 0x1.fffffffffffffp-1, 0x1.ffcp-1, 0x1.fep-1};
    (void)state;
    for (int k = 0; k < 4; k++) {
        ebb_context *ctx = context(5, 2);
        {
            EBB_SCOPE(scope);
            double *x = numbers(ebb_uniform(ctx, dtypes[k], EBB_SHAPE(N), 0, 1)), most = 0;
            moments m = moments_of(x, N);
            for (int64_t i = 0; i < N; i++) most = x[i] > most ? x[i] : most;
            if (!(most <= last[k] && most > 0.99)) fail_msg("the largest is %.17g", most);
            expect_within(m.mean, 0.5, 6 * sqrt(1 / 12.0 / N) + 1e-4, "the mean");
            free(x);
            x = numbers(ebb_uniform(ctx, dtypes[k], EBB_SHAPE(N), -2, 0)); /* a zero end */
            for (int64_t i = 0; i < N; i++)
                if (!(x[i] >= -2 && x[i] < 0)) fail_msg("%g is outside [-2, 0)", x[i]);
            free(x);
        }
        ebb_context_destroy(ctx);
    }
}

/* From the lowest number to the largest: their difference is infinite. */
static void test_uniform_fills_the_widest_interval(void **state)
{
    (void)state;
    ebb_context *ctx = context(7, 1);
    {
        EBB_SCOPE(scope);
        double *x = numbers(ebb_uniform(ctx, EBB_F64, EBB_SHAPE(N), -1e308, 1e308));
        for (int64_t i = 0; i < N; i++) x[i] /= 1e308;
        moments m = moments_of(x, N);
        expect_within(m.mean, 0, 6 * sqrt(4 / 12.0 / N), "the mean");
        expect_within(m.variance, 4 / 12.0, 6 * sqrt(4 * 4 / 180.0 / N), "the variance");
        free(x);
    }
    ebb_context_destroy(ctx);
}

static void test_normal_has_the_moments_it_was_asked_for(void **state)
{
    static const ebb_dtype dtypes[] = {EBB_F32, EBB_F64};
    (void)state;
    for (int k = 0; k < 2; k++) {
        ebb_context *ctx = context(6, 2);
        {
            EBB_SCOPE(scope);
            double *x = numbers(ebb_normal(ctx, dtypes[k], EBB_SHAPE(N), 2, 0.5));
            moments m = moments_of(x, N);
            expect_within(m.mean, 2, 6 * 0.5 / sqrt(N), "the mean");
            expect_within(m.variance, 0.25, 6 * 0.25 * sqrt(2.0 / N), "the variance");
            expect_within(m.skewness, 0, 6 * sqrt(6.0 / N), "the skewness");
            expect_within(m.kurtosis, 3, 6 * sqrt(24.0 / N), "the kurtosis");
            free(x);
        }
        ebb_context_destroy(ctx);
    }
}

static void test_bernoulli_is_one_as_often_as_it_says(void **state)
{
    static const ebb_dtype dtypes[] = {EBB_F32, EBB_F64, EBB_I64, EBB_I32, EBB_U8, EBB_BOOL};
    (void)state;
    ebb_context *ctx = context(7, 2);
    for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
        EBB_SCOPE(scope);
        double *x =
            numbers(ebb_cast(ebb_bernoulli(ctx, dtypes[k], EBB_SHAPE(N), 0.3), EBB_F64));
        for (int64_t i = 0; i < N; i++)
            if (x[i] != 0 && x[i] != 1) fail_msg("%g is neither 0 nor 1", x[i]);
        expect_within(moments_of(x, N).mean, 0.3, 6 * sqrt(0.21 / N), "the mean");
        free(x);
        x = numbers(ebb_cast(ebb_bernoulli(ctx, dtypes[k], EBB_SHAPE(1000), 1), EBB_F64));
        for (int64_t i = 0; i < 1000; i++) assert_true(x[i] == 1);
        free(x);
    }
    ebb_context_destroy(ctx);
}

/* Draws of all kinds after each other; the second must not repeat the first. */
static void draw(double *out, uint64_t seed, int32_t n_threads)
{
    ebb_context *ctx = context(seed, n_threads);
    {
        EBB_SCOPE(scope);
        ebb_tensor *t[] = {ebb_normal(ctx, EBB_F32, EBB_SHAPE(N / 4), 0, 1),
                           ebb_normal(ctx, EBB_F32, EBB_SHAPE(N / 4), 0, 1),
                           ebb_uniform(ctx, EBB_F64, EBB_SHAPE(N / 4), 0, 1),
                           ebb_dropout(ebb_full(ctx, EBB_F32, EBB_SHAPE(N / 4), 1), 0.5)};
        for (int i = 0; i < 4; i++) {
            double *x = numbers(t[i]);
            memcpy(out + i * (N / 4), x, N / 4 * sizeof *x);
            free(x);
        }
    }
    ebb_context_destroy(ctx);
}

static void test_numbers_depend_on_the_seed_and_not_on_threads(void **state)
{
    double *one = calloc(N, sizeof *one), *other = calloc(N, sizeof *other);
    (void)state;
    draw(one, 11, 1);
    draw(other, 11, 3);
    assert_memory_equal(one, other, N * sizeof *one);
    assert_memory_not_equal(one, one + N / 4, N / 4 * sizeof *one);
    draw(other, 12, 1);
    assert_memory_not_equal(one, other, N / 4 * sizeof *one);
    free(one);
    free(other);
}

static void test_dropout_keeps_the_mean_and_the_gradient_follows_it(void **state)
{
    (void)state;
    ebb_context *ctx = context(13, 2);
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = ebb_full(ctx, EBB_F32, EBB_SHAPE(N), 3);
        assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
        ebb_stats before, after;
        ebb_stats_get(&before, ctx);
        ebb_tensor *y = ebb_dropout(x, 0.2);
        ebb_stats_get(&after, ctx);
        /* The result and nothing else of its size: no mask. */
        size_t grown = after.used_bytes - before.used_bytes;
        if (grown > N * sizeof(float) + 65536)
            fail_msg("%zu bytes for a dropout of %d", grown, N);
        double *out = numbers(y), zeros = 0;
        for (int64_t i = 0; i < N; i++) {
            if (out[i] == 0)
                zeros++;
            else
                expect_within(out[i], 3 / 0.8, 1e-6, "a kept element");
        }
        expect_within(zeros / N, 0.2, 6 * sqrt(0.16 / N), "the part dropped");
        ebb_tensor *seed = ebb_full_like(y, 2), *grad;
        assert_int_equal(ebb_grad(&grad, &y, &seed, 1, &x, 1, NULL), EBB_OK);
        double *g = numbers(grad);
        for (int64_t i = 0; i < N; i++) {
            if (out[i] == 0)
                assert_true(g[i] == 0);
            else
                expect_within(g[i], 2 / 0.8, 1e-6, "the gradient of a kept element");
        }
        free(out);
        free(g);
    }
    ebb_context_destroy(ctx);
}

static void expect_share(const double *x, int64_t n, double value, double p)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += x[i] == value;
    expect_within((double)count / (double)n, p, 6 * sqrt(p * (1 - p) / (double)n), "a share");
}

static void test_randint_draws_every_number_as_often(void **state)
{
    (void)state;
    ebb_context *ctx = context(21, 2);
    {
        EBB_SCOPE(scope);
        double *x = numbers(ebb_randint(ctx, EBB_I64, EBB_SHAPE(N), -3, 4));
        for (int64_t i = 0; i < N; i++) assert_true(x[i] >= -3 && x[i] < 4);
        for (int v = -3; v < 4; v++) expect_share(x, N, v, 1.0 / 7);
        free(x);
        assert_null(ebb_randint(ctx, EBB_I64, EBB_SHAPE(2), 4, 4));
        ebb_error_clear();
    }
    ebb_context_destroy(ctx);
}

static void test_randperm_is_any_order_as_often(void **state)
{
    (void)state;
    enum { ROUNDS = 12000 };
    ebb_context *ctx = context(22, 1);
    static double seen[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        EBB_SCOPE(scope);
        double *x = numbers(ebb_randperm(ctx, 3));
        assert_true(x[0] + x[1] + x[2] == 3 && x[0] != x[1] && x[1] != x[2] && x[0] != x[2]);
        seen[r] = x[0] * 3 + x[1];
        free(x);
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            if (a != b) expect_share(seen, ROUNDS, a * 3 + b, 1.0 / 6);
    {
        EBB_SCOPE(scope);
        double *x = numbers(ebb_randperm(ctx, 1000));
        bool there[1000] = {false};
        for (int i = 0; i < 1000; i++) there[(int)x[i]] = true;
        for (int i = 0; i < 1000; i++) assert_true(there[i]);
        free(x);
    }
    ebb_context_destroy(ctx);
}

static void test_multinomial_draws_classes_by_weight(void **state)
{
    (void)state;
    ebb_context *ctx = context(23, 2);
    {
        EBB_SCOPE(scope);
        ebb_tensor *p = EBB_VALUES(ctx, double, EBB_SHAPE(4), 1, 0, 3, 4);
        double *x =
            numbers(ebb_multinomial(p, N, &(ebb_multinomial_options){.replacement = true}));
        for (int k = 0; k < 4; k++) expect_share(x, N, k, (double[]){0.125, 0, 0.375, 0.5}[k]);
        free(x);
        enum { ROUNDS = 8000 };
        static double first[ROUNDS];
        for (int r = 0; r < ROUNDS; r++) {
            x = numbers(ebb_multinomial(p, 3, NULL));
            assert_true(x[0] != x[1] && x[1] != x[2] && x[0] != x[2]);
            assert_true(x[0] != 1 && x[1] != 1 && x[2] != 1);
            first[r] = x[0];
            free(x);
        }
        for (int k = 0; k < 4; k++)
            expect_share(first, ROUNDS, k, (double[]){0.125, 0, 0.375, 0.5}[k]);
    }
    ebb_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniform_fills_its_interval_evenly),
        cmocka_unit_test(test_uniform_never_reaches_the_end_of_its_interval),
        cmocka_unit_test(test_uniform_fills_the_widest_interval),
        cmocka_unit_test(test_normal_has_the_moments_it_was_asked_for),
        cmocka_unit_test(test_bernoulli_is_one_as_often_as_it_says),
        cmocka_unit_test(test_numbers_depend_on_the_seed_and_not_on_threads),
        cmocka_unit_test(test_randint_draws_every_number_as_often),
        cmocka_unit_test(test_randperm_is_any_order_as_often),
        cmocka_unit_test(test_multinomial_draws_classes_by_weight),
        cmocka_unit_test(test_dropout_keeps_the_mean_and_the_gradient_follows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
