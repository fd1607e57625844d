/* test_large_reductions.c - reductions over enough elements to be cut into blocks, parts and
 * threads, against plain loops; strides and threads do not change a bit.
 *
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers, so that every sum is exact whatever its order. */
static float whole(int64_t i)
{
    return (float)(i * 7919 % 257 - 128);
}

static float *values(int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = whole(i);
    return x;
}

/* x is (a, b, c): checks sum and the first maximum over the middle axis, by loops. */
static void check_middle(ebb_context *ctx, int64_t a, int64_t b, int64_t c)
{
    EBB_SCOPE(here);
    int64_t n = a * b * c;
    float *x = values(n), *sum = calloc((size_t)(a * c), 4), *top = calloc((size_t)(a * c), 4);
    int64_t *where = calloc((size_t)(a * c), 8);
    ebb_tensor *t = EBB_FROM(ctx, EBB_SHAPE(a, b, c), x, n), *best, *index;
    assert_ok(EBB_READ(ebb_sum(t, EBB_AXES(1)), sum, a * c));
    assert_ok(ebb_max(&best, &index, t, EBB_AXES(1)));
    assert_ok(EBB_READ(best, top, a * c));
    assert_ok(EBB_READ(index, where, a * c));
    for (int64_t i = 0; i < a; i++)
        for (int64_t k = 0; k < c; k++) {
            double total = 0;
            int64_t first = 0;
            for (int64_t j = 0; j < b; j++) {
                total += (double)x[(i * b + j) * c + k];
                if (x[(i * b + j) * c + k] > x[(i * b + first) * c + k]) first = j;
            }
            assert_true((double)sum[i * c + k] == total);
            assert_int_equal(where[i * c + k], first);
            assert_true(top[i * c + k] == x[(i * b + first) * c + k]);
        }
    free(x), free(sum), free(top), free(where);
}

static void sums_and_places_at_every_cut(void **state)
{
    static const int64_t n[][3] = {
        {1, 300001, 1}, {3, 100003, 1}, {1, 50001, 3}, {1, 3001, 300}, {2, 4097, 257},
        {5000, 17, 1},  {257, 63, 256}, {20, 1025, 2}, {1, 131072, 2}, {7, 64, 1}};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        check_middle(*state, n[i][0], n[i][1], n[i][2]);
}

static void outer_and_inner_axes_together(void **state)
{
    enum { A = 50, B = 3, C = 1999 };
    EBB_SCOPE(here);
    float *x = values(A * B * C), got[B];
    ebb_tensor *t = EBB_FROM(*state, EBB_SHAPE(A, B, C), x, A * B * C);
    assert_ok(EBB_READ(ebb_sum(t, EBB_AXES(0, 2)), got, B));
    for (int64_t b = 0; b < B; b++) {
        double total = 0;
        for (int64_t a = 0; a < A; a++)
            for (int64_t c = 0; c < C; c++) total += (double)x[(a * B + b) * C + c];
        assert_true((double)got[b] == total);
    }
    free(x);
}

static uint32_t bits_of(ebb_tensor *t)
{
    float value;
    uint32_t bits;
    assert_ok(EBB_READ(t, &value, 1));
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void strides_and_threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { N = 700 };
    uint32_t seen[3][3];
    for (int32_t threads = 1; threads <= 3; threads++) {
        ebb_context *ctx;
        assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = threads}));
        {
            EBB_SCOPE(here);
            float *x = values(N * N);
            for (int64_t i = 0; i < N * N; i++) x[i] = sinf(x[i]) * 1e-3f;
            ebb_tensor *t = EBB_FROM(ctx, EBB_SHAPE(N, N), x, N * N);
            ebb_tensor *turned = ebb_transpose(ebb_clone(ebb_transpose(t, 0, 1)), 0, 1);
            uint32_t *s = seen[threads - 1];
            s[0] = bits_of(ebb_sum(turned, EBB_ALL));
            s[1] = bits_of(ebb_var(turned, EBB_ALL, NULL));
            s[2] = bits_of(ebb_logsumexp(turned, EBB_ALL));
            assert_int_equal(s[0], bits_of(ebb_sum(t, EBB_ALL)));
            assert_int_equal(s[1], bits_of(ebb_var(t, EBB_ALL, NULL)));
            assert_int_equal(s[2], bits_of(ebb_logsumexp(t, EBB_ALL)));
            free(x);
        }
        ebb_context_destroy(ctx);
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    assert_memory_equal(seen[0], seen[2], sizeof seen[0]);
}

/* Rows and columns of a turned matrix are folded a line at a time. */
static void rows_of_a_turned_matrix_are_those_of_its_copy(void **state)
{
    static const int64_t sides[][2] = {{700, 1500}, {1030, 67}, {5, 3000}, {4096, 16}};
    static const ebb_dtype dtypes[] = {EBB_F32, EBB_F64, EBB_U8, EBB_I64};
    ebb_context *ctx = *state;
    for (size_t i = 0; i < 4 * sizeof sides / sizeof *sides; i++) {
        EBB_SCOPE(here);
        const int64_t *n = sides[i / 4];
        float *x = values(n[0] * n[1]);
        for (int64_t k = 0; k < n[0] * n[1]; k++) x[k] = sinf(x[k]) * 100;
        ebb_tensor *t = EBB_FROM(ctx, EBB_SHAPE(n[0], n[1]), x, n[0] * n[1]);
        ebb_tensor *turned = ebb_transpose(ebb_cast(t, dtypes[i % 4]), 0, 1);
        ebb_tensor *copy = ebb_clone(turned);
        for (int64_t axis = 0; axis < 2; axis++) {
            ebb_tensor *one[2], *two[2];
            assert_ok(ebb_max(&one[0], &one[1], turned, EBB_AXES(axis)));
            assert_ok(ebb_max(&two[0], &two[1], copy, EBB_AXES(axis)));
            ebb_tensor *same[] = {
                ebb_eq(ebb_sum(turned, EBB_AXES(axis)), ebb_sum(copy, EBB_AXES(axis))),
                ebb_eq(one[0], two[0]), ebb_eq(one[1], two[1]),
                ebb_eq(ebb_var(ebb_cast(turned, EBB_F64), EBB_AXES(axis), NULL),
                       ebb_var(ebb_cast(copy, EBB_F64), EBB_AXES(axis), NULL))};
            for (size_t k = 0; k < sizeof same / sizeof *same; k++)
                assert_true(ebb_item(ebb_all(same[k], EBB_ALL)) == 1);
        }
        free(x);
    }
}

/* Repeated places add up in the order of the index, on one thread and on several. */
static void threads_do_not_change_what_is_gathered_or_scattered(void **state)
{
    (void)state;
    enum { N = 300, M = 500 };
    static float seen[3][2][3][N * M];
    static int64_t place[N * M];
    static float x[N * M];
    for (int64_t i = 0; i < N * M; i++) {
        place[i] = i * 7919 % N;
        x[i] = sinf(whole(i));
    }
    for (int32_t threads = 1; threads <= 3; threads++) {
        ebb_context *ctx;
        assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = threads}));
        for (int64_t axis = 0; axis < 2; axis++) {
            EBB_SCOPE(here);
            float(*out)[N * M] = seen[threads - 1][axis];
            ebb_tensor *t = EBB_FROM(ctx, EBB_SHAPE(N, M), x, N * M);
            ebb_tensor *index =
                ebb_tensor_copy(ctx, EBB_I64, EBB_SHAPE(N, M), place, sizeof place);
            ebb_tensor *zeros = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(N, M));
            assert_ok(EBB_READ(ebb_gather(t, index, axis), out[0], N * M));
            assert_ok(EBB_READ(ebb_scatter_add(zeros, index, t, axis), out[1], N * M));
            for (int64_t i = 0; i < N; i++)
                for (int64_t j = 0; j < M; j++) {
                    int64_t p = place[i * M + j], at = axis ? i * M + p : p * M + j;
                    assert_true(out[0][i * M + j] == x[at]);
                    out[2][at] += x[i * M + j];
                }
            assert_memory_equal(out[1], out[2], sizeof out[1]);
        }
        ebb_context_destroy(ctx);
    }
}

/* NaN beats every number wherever it stands; of two the first is reported. */
static void nan_is_found_in_long_rows(void **state)
{
    enum { N = 4500 };
    for (int64_t at = 0; at < N; at += 499) {
        EBB_SCOPE(here);
        float *x = values(N);
        x[at] = NAN;
        x[N - 1] = NAN;
        ebb_tensor *t = EBB_FROM(*state, EBB_SHAPE(N), x, N);
        int64_t low, high;
        assert_ok(EBB_READ(ebb_argmax(t, EBB_ALL), &high, 1));
        assert_ok(EBB_READ(ebb_argmin(t, EBB_AXES(0)), &low, 1));
        assert_int_equal(high, at);
        assert_int_equal(low, at);
        assert_true(isnan(ebb_item(ebb_amax(t, EBB_ALL))));
        assert_true(isnan(ebb_item(ebb_amin(t, EBB_ALL))));
        free(x);
    }
}

/* Three million times 0.1f: a plain f32 sum is off in the fourth digit. */
static void long_f32_sums_keep_their_digits(void **state)
{
    enum { N = 3000000 };
    EBB_SCOPE(here);
    ebb_tensor *t = ebb_full(*state, EBB_F32, EBB_SHAPE(N), 0.1);
    double exact = (double)0.1f * N;
    assert_true(fabs(ebb_item(ebb_sum(t, EBB_ALL)) - exact) <= 6e-8 * exact);
    assert_true(fabs(ebb_item(ebb_mean(t, EBB_ALL)) - (double)0.1f) <= 6e-8 * 0.1);
    assert_true(ebb_item(ebb_var(t, EBB_ALL, NULL)) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_and_places_at_every_cut, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(outer_and_inner_axes_together, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test(strides_and_threads_do_not_change_a_bit),
        cmocka_unit_test_setup_teardown(rows_of_a_turned_matrix_are_those_of_its_copy,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test(threads_do_not_change_what_is_gathered_or_scattered),
        cmocka_unit_test_setup_teardown(nan_is_found_in_long_rows, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(long_f32_sums_keep_their_digits, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
