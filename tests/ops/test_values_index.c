/* test_values_index.c - what operations that choose by index or mask compute, at their edges
 * too: expected values by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include "tensor/tensor.h"

#include <stdint.h>

static ebb_tensor *mask_of(ebb_tensor *x)
{
    return ebb_cast(x, EBB_BOOL);
}

static void nonzero_names_places_in_c_order(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(2, 3), 0, NAN, -0.0, 2, 0, -1);
    ebb_tensor *at = ebb_nonzero(x);
    EXPECT(at, 0, 0, 1, 1, 0, 1, 2);
    assert_true(case_has_shape(at, EBB_SHAPE(3, 2)));
    assert_int_equal(ebb_dtype_of(at), EBB_I64);
    assert_true(case_has_shape(ebb_nonzero(NUMBER(4)), EBB_SHAPE(1, 0)));
    assert_true(case_has_shape(ebb_nonzero(NUMBER(0)), EBB_SHAPE(0, 0)));
    assert_true(
        case_has_shape(ebb_nonzero(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 3))), EBB_SHAPE(0, 2)));
    EXPECT(ebb_nonzero(ebb_transpose(x, 0, 1)), 0, 0, 1, 1, 0, 2, 1);
}

static void masked_select_scatters_its_gradient_back(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4));
    ebb_tensor *y = ebb_masked_select(x, mask_of(MAT(EBB_SHAPE(2, 2), 1, 0, 0, 1)));
    EXPECT(y, 0, 1, 4);
    GOOD(case_backward_with(y, VEC(10, 20)));
    EXPECT_GRAD(x, 0, 10, 0, 0, 20);
    /* A mask of one column chooses whole rows, and x repeated collects from all its copies. */
    EXPECT(ebb_masked_select(x, mask_of(MAT(EBB_SHAPE(2, 1), 0, 1))), 0, 3, 4);
    ebb_tensor *row = LEAF(5, 6);
    ebb_tensor *many = ebb_masked_select(row, mask_of(MAT(EBB_SHAPE(2, 2), 1, 1, 1, 0)));
    EXPECT(many, 0, 5, 6, 5);
    GOOD(case_backward_with(many, VEC(1, 10, 100)));
    EXPECT_GRAD(row, 0, 101, 10);
    ebb_tensor *none = ebb_masked_select(x, mask_of(MAT(EBB_SHAPE(2, 2), 0, 0, 0, 0)));
    assert_true(case_has_shape(none, EBB_SHAPE(0)));
    assert_null(ebb_masked_select(x, x));
    REFUSED(EBB_E_DTYPE, ebb_error_status());
}

/* The mask's bytes are given up; its shape's reader gets them back first. */
static void a_shape_that_reads_values_finds_them_after_a_drop(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { N = 4096 };
    ebb_tensor *x = case_leaf(ebb_cast(ebb_arange(ctx, EBB_I64, 0, N, 1), EBB_F64));
    ebb_tensor *mask = ebb_ge(x, ebb_full_like(x, N - 3));
    ebb__value *v = ebb__slot_raw(mask)->storage->value;
    assert_true(ebb__value_can_drop(v) && ebb__value_drop(v));
    ebb_tensor *y = ebb_masked_select(x, mask);
    EXPECT(y, 0, N - 3, N - 2, N - 1);
    if (ebb__value_can_drop(v)) ebb__value_drop(v);
    GOOD(case_backward_with(y, VEC(1, 2, 3)));
    EXPECT(ebb_narrow(ebb_grad_of(x), 0, N - 4, 4), 0, 0, 1, 2, 3);
}

static ebb_tensor *index_of(ebb_context *ctx, ebb_shape shape, const int64_t *at)
{
    int64_t n = 1;
    for (int64_t d = 0; d < shape.n_dims; d++) n *= shape.dims[d];
    return ebb_tensor_copy(ctx, EBB_I64, shape, at, (size_t)n * sizeof *at);
}
#define INDEX(shape, ...) index_of(ctx, shape, (const int64_t[]){__VA_ARGS__})

static void the_last_of_several_for_one_place_wins(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(1, 2, 3, 4), *src = LEAF(10, 20, 30);
    ebb_tensor *y = ebb_scatter(x, INDEX(EBB_SHAPE(3), 1, -1, 1), src, 0);
    EXPECT(y, 0, 1, 30, 3, 20);
    GOOD(case_backward_with(y, VEC(1, 2, 3, 4)));
    EXPECT_GRAD(x, 0, 1, 0, 3, 0);
    EXPECT_GRAD(src, 0, 0, 4, 2);
    EXPECT(ebb_scatter_value(x, INDEX(EBB_SHAPE(2), 0, 2), 0, NAN), 0, NAN, 2, NAN, 4);
    ebb_tensor *rows =
        ebb_scatter(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(2, 3)),
                    INDEX(EBB_SHAPE(2, 2), 0, 2, 1, 1), MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4), 1);
    EXPECT(rows, 0, 1, 0, 2, 0, 4, 0);
    assert_null(ebb_scatter(x, INDEX(EBB_SHAPE(3), 1, 4, 1), src, 0));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_scatter(x, INDEX(EBB_SHAPE(2), 1, 2), src, 0));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

static void several_indices_name_places_or_rows(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6)),
               *values = LEAF(10, 20, 30);
    ebb_tensor *at[] = {INDEX(EBB_SHAPE(3), 0, -1, 0), INDEX(EBB_SHAPE(3), 2, 0, 2)};
    ebb_tensor *y = ebb_index_put(x, values, at, 2, NULL);
    EXPECT(y, 0, 1, 2, 30, 20, 5, 6);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6)));
    EXPECT_GRAD(x, 0, 1, 2, 0, 0, 5, 6);
    EXPECT_GRAD(values, 0, 0, 4, 3);
    GOOD(ebb_clear_grad(values));
    ebb_index_put_options add = {.accumulate = true};
    y = ebb_index_put(x, values, at, 2, &add);
    EXPECT(y, 0, 1, 2, 43, 24, 5, 6);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6)));
    EXPECT_GRAD(values, 0, 3, 4, 3);
    EXPECT(ebb_index_put(x, NUMBER(9), at, 1, NULL), 0, 9, 9, 9, 9, 9, 9);
    at[1] = INDEX(EBB_SHAPE(1), 3);
    assert_null(ebb_index_put(x, values, at, 2, NULL));
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

static void whole_numbers_are_counted_exactly(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *counts = ebb_cast(VEC(16777216, 0, -2), EBB_I64);
    ebb_tensor *ones = ebb_ones(ctx, EBB_I64, EBB_SHAPE(4));
    ebb_tensor *places = INDEX(EBB_SHAPE(4), 0, 2, 2, 2);
    EXPECT(ebb_scatter_add(counts, places, ones, 0), 0, 16777217, 0, 1);
    EXPECT(ebb_index_add(counts, places, ones, 0), 0, 16777217, 0, 1);
    ebb_tensor *full = ebb_cast(VEC(255, 1), EBB_U8);
    EXPECT(ebb_index_add(full, INDEX(EBB_SHAPE(2), 0, 0), ebb_cast(VEC(1, 1), EBB_U8), 0), 0, 1,
           1);
}

static void take_counts_elements(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4));
    ebb_tensor *y = ebb_take(x, INDEX(EBB_SHAPE(2, 2), 3, -1, 0, 3));
    EXPECT(y, 0, 4, 4, 1, 4);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4)));
    EXPECT_GRAD(x, 0, 3, 0, 0, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_last_of_several_for_one_place_wins),
        CASE(several_indices_name_places_or_rows),
        CASE(whole_numbers_are_counted_exactly),
        CASE(take_counts_elements),
        CASE(nonzero_names_places_in_c_order),
        CASE(masked_select_scatters_its_gradient_back),
        CASE(a_shape_that_reads_values_finds_them_after_a_drop),
    };
    return cmocka_run_group_tests_name("values/index", tests, NULL, NULL);
}
