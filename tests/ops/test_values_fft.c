/* test_values_fft.c - Fourier transforms of many lengths against the sums that define them, in
 * twice the precision; conventions against NumPy.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

enum { LONGEST = 1200 };

static double sample(int64_t i)
{
    return (double)((i * 7919 + 13) % 101) / 50 - 1;
}

/* The sums themselves: n / 2 + 1 pairs. */
static void by_definition(double *out, const double *x, int64_t n)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    for (int64_t k = 0; k <= n / 2; k++) {
        long double re = 0, im = 0;
        for (int64_t j = 0; j < n; j++) {
            long double angle = 2 * pi * (long double)(j * k % n) / (long double)n;
            re += x[j] * cosl(angle);
            im -= x[j] * sinl(angle);
        }
        out[2 * k] = (double)re, out[2 * k + 1] = (double)im;
    }
}

static void expect_close(ebb_tensor *t, const double *want, int64_t n, double error, int64_t of)
{
    double got[LONGEST + 2];
    if (!t) fail_msg("length %lld: %s", (long long)of, ebb_error_message());
    assert_int_equal(ebb_n_elems(t), n);
    GOOD(ebb_read(got, (size_t)n * sizeof *got, EBB_F64, t));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= error))
            fail_msg("length %lld, element %lld: %.17g, %.17g expected", (long long)of,
                     (long long)i, got[i], want[i]);
}

static void transforms_of_any_length_are_right_and_go_back(void **state)
{
    ebb_context *ctx = *state;
    static const int64_t more[] = {64,  81,  97,  127,  128,  210, 331,
                                   343, 499, 961, 1009, 1024, 1200};
    double x[LONGEST], want[LONGEST + 2];
    for (int64_t i = 0; i < LONGEST; i++) x[i] = sample(i);
    for (size_t i = 0; i < 40 + sizeof more / sizeof *more; i++) {
        EBB_SCOPE(scope);
        int64_t n = i < 40 ? (int64_t)i + 1 : more[i - 40];
        by_definition(want, x, n);
        ebb_tensor *t = case_tensor(ctx, EBB_SHAPE(n), x, n), *y = ebb_rfft(t, 0, NULL);
        expect_close(y, want, n / 2 * 2 + 2, 2e-14 * (double)n, n);
        expect_close(ebb_irfft(y, 0, &(ebb_fft_options){.n = n}), x, n, 1e-14, n);
        ebb_tensor *single = ebb_rfft(ebb_cast(t, EBB_F32), 0, NULL);
        expect_close(single, want, n / 2 * 2 + 2, 1e-6 * sqrt((double)n) * 2 + 3e-6, n);
    }
}

static void lengths_and_norms_are_numpys(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = VEC(1, 2, 0, -1, 3, 5);
    static const double ortho[] = {
        4.08248290463863,   0, 1.6329931618554523,  2.121320343559643,
        -2.041241452319315, 0, -0.8164965809277261, 0};
    expect_close(ebb_rfft(x, 0, &(ebb_fft_options){.norm = EBB_FFT_ORTHO}), ortho, 8, 1e-15, 6);
    EXPECT(ebb_rfft(x, 0, &(ebb_fft_options){.n = 4}), 1e-15, 2, 0, 1, -3, 0, 0);
    EXPECT(ebb_rfft(x, 0, &(ebb_fft_options){.n = 7}), 1e-13, 10, 0, -0.6675628018689432,
           5.046511552443291, -2.702906603707257, -7.246600449823557, 1.8704694055762006,
           -0.8772132418479708);
    /* The imaginary parts of the first and, for even lengths, the last value are not read. */
    ebb_tensor *y = MAT(EBB_SHAPE(3, 2), 1, 5, 2, -1, -3, 2);
    EXPECT(ebb_irfft(y, 0, NULL), 1e-15, 0.5, 1.5, -1.5, 0.5);
    EXPECT(ebb_irfft(y, 0, &(ebb_fft_options){.n = 5}), 1e-14, -0.2, 1.328228393433978,
           0.1779253252032172, -1.8139933027030068, 1.507839584065812);
    EXPECT(ebb_irfft(y, 0, &(ebb_fft_options){.norm = EBB_FFT_FORWARD}), 1e-15, 2, 6, -6, 2);
}

static void any_axis_and_what_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(4, 2), 1, 1, 2, 0, 0, 0, -1, 0);
    ebb_tensor *y = ebb_rfft(x, 0, NULL);
    assert_true(case_has_shape(y, EBB_SHAPE(3, 2, 2)));
    EXPECT(y, 1e-15, 2, 0, 1, 0, 1, -3, 1, 0, 0, 0, 1, 0);
    EXPECT(ebb_irfft(y, 0, NULL), 1e-15, 1, 1, 2, 0, 0, 0, -1, 0);
    ebb_tensor *none = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0));
    assert_null(ebb_rfft(none, 0, NULL));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_rfft(x, 0, &(ebb_fft_options){.n = -1}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_rfft(x, 0, &(ebb_fft_options){.norm = 3}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_irfft(VEC(1, 2), 0, NULL));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_null(ebb_irfft(MAT(EBB_SHAPE(1, 2), 1, 0), 0, NULL)); /* 2 (1 - 1) = 0 */
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

/* dL/dx[j] of L = sum over k of g[k] X[k]: the sums with cosines and sines. */
static void gradients_of_spectra(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(1, 2, 3, 4);
    ebb_tensor *y = ebb_rfft(x, 0, NULL);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(3, 2), 1, 7, 10, 100, 1000, 7)));
    EXPECT_GRAD(x, 1e-15, 1011, -1099, 991, -899);
    ebb_tensor *z = case_leaf(MAT(EBB_SHAPE(3, 2), 1, 5, 2, -1, -3, 2));
    GOOD(case_backward_with(ebb_irfft(z, 0, NULL), VEC(1, 10, 100, 1000)));
    EXPECT_GRAD(z, 1e-15, 277.75, 0, -49.5, 495, -227.25, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(transforms_of_any_length_are_right_and_go_back),
        CASE(lengths_and_norms_are_numpys),
        CASE(any_axis_and_what_is_refused),
        CASE(gradients_of_spectra),
    };
    return cmocka_run_group_tests_name("values/fft", tests, NULL, NULL);
}
