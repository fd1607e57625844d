/* test_values_shape.c - where elements go when shapes change: windows, diagonals, borders,
 * copies, at their edges too. Expected values by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include <stdint.h>

static ebb_tensor *square(ebb_context *ctx)
{
    return MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
}

static void borders_are_constant_reflected_repeated_or_circular(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = VEC(1, 2, 3);
    ebb_shape two = EBB_SHAPE(2);
    EXPECT(ebb_pad(x, two, EBB_SHAPE(1), NULL), 0, 0, 0, 1, 2, 3, 0);
    EXPECT(ebb_pad(x, two, EBB_SHAPE(1), &(ebb_pad_options){.value = -7}), 0, -7, -7, 1, 2, 3,
           -7);
    EXPECT(ebb_pad(x, two, two, &(ebb_pad_options){.mode = EBB_PAD_REFLECT}), 0, 3, 2, 1, 2, 3,
           2, 1);
    EXPECT(ebb_pad(x, two, two, &(ebb_pad_options){.mode = EBB_PAD_REPLICATE}), 0, 1, 1, 1, 2,
           3, 3, 3);
    EXPECT(ebb_pad(x, two, two, &(ebb_pad_options){.mode = EBB_PAD_CIRCULAR}), 0, 2, 3, 1, 2, 3,
           1, 2);
    EXPECT(ebb_pad(x, EBB_SHAPE(-1), EBB_SHAPE(1), NULL), 0, 2, 3, 0);
    EXPECT(ebb_pad(x, EBB_SHAPE(5), EBB_SHAPE(-6), NULL), 0, 0, 0); /* nothing of x shows */
    EXPECT(ebb_pad(x, EBB_SHAPE(-5), EBB_SHAPE(4), NULL), 0, 0, 0);
    EXPECT(ebb_pad(square(ctx), EBB_SHAPE(1, 0), EBB_SHAPE(0, 1), NULL), 0, 0, 0, 0, 0, 1, 2, 3,
           0, 4, 5, 6, 0);
}

static void gradients_of_borders_add_up_where_a_place_shows_often(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(1, 2, 3);
    ebb_tensor *g = VEC(1, 10, 100, 1000, 1e4, 1e5, 1e6);
    const int64_t mode[] = {EBB_PAD_CONSTANT, EBB_PAD_REFLECT, EBB_PAD_REPLICATE,
                            EBB_PAD_CIRCULAR};
    const double want[][3] = {{100, 1000, 1e4},
                              {1000100, 101010, 10001},
                              {111, 1000, 1110000},
                              {100100, 1001001, 10010}};
    for (int i = 0; i < 4; i++) {
        ebb_tensor *y =
            ebb_pad(x, EBB_SHAPE(2), EBB_SHAPE(2), &(ebb_pad_options){.mode = mode[i]});
        GOOD(case_backward_with(y, g));
        case_expect(ebb_grad_of(x), 0, want[i], 3, "gradient", __LINE__);
        GOOD(ebb_clear_grad(x));
    }
}

static void borders_that_do_not_exist_are_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = VEC(1, 2, 3);
    ebb_shape three = EBB_SHAPE(3), none = EBB_SHAPE(0), four = EBB_SHAPE(4);
    assert_null(ebb_pad(x, three, none, &(ebb_pad_options){.mode = EBB_PAD_REFLECT}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_pad(x, four, none, &(ebb_pad_options){.mode = EBB_PAD_CIRCULAR}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_pad(x, none, EBB_SHAPE(-4), NULL));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_pad(x, EBB_SHAPE(1, 1), EBB_SHAPE(1, 1), NULL));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_null(ebb_pad(x, none, none, &(ebb_pad_options){.mode = 9}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    ebb_tensor *empty = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0));
    assert_null(
        ebb_pad(empty, none, EBB_SHAPE(1), &(ebb_pad_options){.mode = EBB_PAD_REPLICATE}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_true(case_has_shape(ebb_pad(empty, none, EBB_SHAPE(1), NULL), EBB_SHAPE(1)));
}

static void rolling_carries_elements_round(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = square(ctx);
    EXPECT(ebb_roll(x, EBB_SHAPE(1), EBB_AXES(1)), 0, 3, 1, 2, 6, 4, 5);
    EXPECT(ebb_roll(x, EBB_SHAPE(-1, 4), EBB_AXES(0, 1)), 0, 6, 4, 5, 3, 1, 2);
    EXPECT(ebb_roll(x, EBB_SHAPE(2), EBB_ALL), 0, 5, 6, 1, 2, 3, 4);
    EXPECT(ebb_roll(ebb_transpose(x, 0, 1), EBB_SHAPE(1), EBB_AXES(0)), 0, 3, 6, 1, 4, 2, 5);
    assert_null(ebb_roll(x, EBB_SHAPE(1), EBB_AXES(0, 1)));
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

static void copies_side_by_side(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4));
    ebb_tensor *y = ebb_repeat(x, EBB_SHAPE(2, 2));
    EXPECT(y, 0, 1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4);
    GOOD(case_backward_sum(ebb_sum(y, EBB_ALL)));
    EXPECT_GRAD(x, 0, 4, 4, 4, 4);
    EXPECT(ebb_tile(x, EBB_SHAPE(2)), 0, 1, 2, 1, 2, 3, 4, 3, 4);
    assert_true(case_has_shape(ebb_tile(VEC(1, 2), EBB_SHAPE(2, 1)), EBB_SHAPE(2, 2)));
    assert_true(case_has_shape(ebb_repeat(x, EBB_SHAPE(3, 0, 1)), EBB_SHAPE(3, 0, 2)));
    assert_null(ebb_repeat(x, EBB_SHAPE(2)));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_null(ebb_repeat(x, EBB_SHAPE(2, -1)));
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

static void windows_share_their_elements(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(1, 2, 3, 4, 5);
    ebb_tensor *y = ebb_unfold(x, 0, 3, 1);
    EXPECT(y, 0, 1, 2, 3, 2, 3, 4, 3, 4, 5);
    GOOD(case_backward_sum(ebb_sum(y, EBB_ALL)));
    EXPECT_GRAD(x, 0, 1, 2, 3, 2, 1);
    EXPECT(ebb_unfold(x, 0, 2, 3), 0, 1, 2, 4, 5);
    EXPECT(ebb_unfold(square(ctx), 0, 2, 1), 0, 1, 4, 2, 5, 3, 6);
    assert_null(ebb_unfold(x, 0, 6, 1));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_unfold(x, 0, 2, 0));
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

static void diagonals_and_back(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(square(ctx));
    EXPECT(ebb_diagonal(x, 0, 0, 1), 0, 1, 5);
    EXPECT(ebb_diagonal(x, 1, 0, 1), 0, 2, 6);
    EXPECT(ebb_diagonal(x, -1, 0, 1), 0, 4);
    EXPECT(ebb_diagonal(x, 1, 1, 0), 0, 4);
    assert_true(case_has_shape(ebb_diagonal(x, 5, 0, 1), EBB_SHAPE(0)));
    EXPECT(ebb_trace(x), 0, 6);
    GOOD(case_backward_sum(ebb_trace(x)));
    EXPECT_GRAD(x, 0, 1, 0, 0, 0, 1, 0);
    EXPECT(ebb_diag_embed(VEC(7, 8), 0, -2, -1), 0, 7, 0, 0, 8);
    EXPECT(ebb_diag_embed(VEC(7, 8), -1, -2, -1), 0, 0, 0, 0, 7, 0, 0, 0, 8, 0);
    EXPECT(ebb_diag(VEC(7, 8), 1), 0, 0, 7, 0, 0, 0, 8, 0, 0, 0);
    EXPECT(ebb_diag(x, -1), 0, 4);
    assert_null(ebb_diagonal(x, 0, 1, -1));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_trace(VEC(1)));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

static void grids_chunks_and_merged_axes(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *xs[] = {VEC(1, 2), VEC(3, 4, 5)}, *grid[2], *part[4];
    GOOD(ebb_meshgrid(grid, 2, xs, 2, NULL));
    EXPECT(grid[0], 0, 1, 1, 1, 2, 2, 2);
    EXPECT(grid[1], 0, 3, 4, 5, 3, 4, 5);
    GOOD(ebb_meshgrid(grid, 2, xs, 2, &(ebb_meshgrid_options){.xy = true}));
    assert_true(case_has_shape(grid[0], EBB_SHAPE(3, 2)));
    EXPECT(grid[0], 0, 1, 2, 1, 2, 1, 2);
    REFUSED(EBB_E_SHAPE, ebb_meshgrid(part, 3, xs, 2, NULL));
    GOOD(ebb_chunk(part, 3, VEC(1, 2, 3, 4, 5), 0));
    EXPECT(part[0], 0, 1, 2);
    EXPECT(part[2], 0, 5);
    REFUSED(EBB_E_SHAPE, ebb_chunk(part, 4, VEC(1, 2, 3, 4, 5), 0));
    assert_true(case_has_shape(ebb_flatten(NUMBER(1), 0, -1), EBB_SHAPE(1)));
    ebb_tensor *deep = ebb_reshape(square(ctx), EBB_SHAPE(1, 2, 3));
    assert_true(case_has_shape(ebb_flatten(deep, 1, -1), EBB_SHAPE(1, 6)));
    assert_null(ebb_flatten(deep, 2, 1));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    EXPECT(ebb_broadcast_to(VEC(1, 2), EBB_SHAPE(2, 2)), 0, 1, 2, 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(borders_are_constant_reflected_repeated_or_circular),
        CASE(gradients_of_borders_add_up_where_a_place_shows_often),
        CASE(borders_that_do_not_exist_are_refused),
        CASE(rolling_carries_elements_round),
        CASE(copies_side_by_side),
        CASE(windows_share_their_elements),
        CASE(diagonals_and_back),
        CASE(grids_chunks_and_merged_axes),
    };
    return cmocka_run_group_tests_name("values/shape", tests, NULL, NULL);
}
