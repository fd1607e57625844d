/* test_copies.c - elements that change places: transposed and permuted copies, flips, slices at
 * sizes around the tiles, against plain loops.
 *
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <stdlib.h>

/* All elements of t in C order against want(i). */
static void check(ebb_tensor *t, const int64_t *want, int64_t n)
{
    int64_t *got = malloc((size_t)n * sizeof *got + 1);
    assert_ok(EBB_READ(t, got, n));
    for (int64_t i = 0; i < n; i++) assert_int_equal(got[i], want[i]);
    free(got);
}

static void transposed(ebb_context *ctx, ebb_dtype d, int64_t rows, int64_t cols)
{
    EBB_SCOPE(here);
    int64_t *x = malloc((size_t)(rows * cols) * 8), *want = malloc((size_t)(rows * cols) * 8);
    for (int64_t i = 0; i < rows * cols; i++) x[i] = i % 251;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) want[c * rows + r] = x[r * cols + c];
    ebb_tensor *t = EBB_FROM(ctx, EBB_SHAPE(rows, cols), x, rows * cols);
    check(ebb_clone(ebb_transpose(ebb_cast(t, d), 0, 1)), want, rows * cols);
    free(x), free(want);
}

static void transposed_copies(void **state)
{
    static const ebb_dtype d[] = {EBB_F32, EBB_F64, EBB_U8, EBB_I32, EBB_I64};
    static const int64_t size[] = {1, 7, 8, 9, 31, 32, 33, 65, 200};
    for (size_t k = 0; k < sizeof d / sizeof *d; k++)
        for (size_t i = 0; i < sizeof size / sizeof *size; i++)
            for (size_t j = 0; j < sizeof size / sizeof *size; j++)
                transposed(*state, d[k], size[i], size[j]);
}

static void permuted_flipped_and_sliced(void **state)
{
    enum { A = 5, B = 37, C = 41 };
    EBB_SCOPE(here);
    static int64_t x[A * B * C], want[A * B * C];
    for (int64_t i = 0; i < A * B * C; i++) x[i] = i;
    ebb_tensor *t = EBB_FROM(*state, EBB_SHAPE(A, B, C), x, A * B * C);
    for (int64_t a = 0; a < A; a++)
        for (int64_t b = 0; b < B; b++)
            for (int64_t c = 0; c < C; c++) want[(c * A + a) * B + b] = x[(a * B + b) * C + c];
    check(ebb_clone(ebb_permute(t, EBB_AXES(2, 0, 1))), want, A * B * C);
    for (int64_t a = 0; a < A; a++)
        for (int64_t b = 0; b < B; b++)
            for (int64_t c = 0; c < C; c++)
                want[(a * B + b) * C + c] = x[((A - 1 - a) * B + b) * C + C - 1 - c];
    check(ebb_flip(t, EBB_AXES(0, -1)), want, A * B * C);
    int64_t n = 0;
    for (int64_t c = 1; c < C; c += 3)
        for (int64_t a = 0; a < A; a++)
            for (int64_t b = 0; b < B; b++) want[n++] = x[(a * B + b) * C + c];
    ebb_tensor *part = ebb_slice(t, 2, 1, C, 3);
    check(ebb_clone(ebb_permute(part, EBB_AXES(2, 0, 1))), want, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(transposed_copies, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(permuted_flipped_and_sliced, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
