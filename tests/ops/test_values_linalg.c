/* test_values_linalg.c - systems, factors and determinants, at singular matrices too. Expected
 * values from PyTorch 2 (torch.linalg) and by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

static ebb_tensor *matrix(ebb_context *ctx)
{
    return case_leaf(MAT(EBB_SHAPE(3, 3), 2, -1, 0, 1, 3, 4, 0, 5, -2));
}
static ebb_tensor *nine(ebb_context *ctx)
{
    return MAT(EBB_SHAPE(3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9);
}

static void refused_with(ebb_tensor *t, const char *text)
{
    if (t) fail_msg("not refused: %s", text);
    if (!strstr(ebb_error_message(), text))
        fail_msg("\"%s\" does not say \"%s\"", ebb_error_message(), text);
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

static void inverses_and_solutions(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = matrix(ctx), *y = ebb_inverse(a);
    EXPECT(y, 1e-14, 13 / 27.0, 1 / 27.0, 2 / 27.0, -1 / 27.0, 2 / 27.0, 4 / 27.0, -2.5 / 27,
           5 / 27.0, -3.5 / 27);
    GOOD(case_backward_with(y, nine(ctx)));
    EXPECT_GRAD(a, 1e-11, 0.12139917695473254, -0.07201646090534981, 0.014403292181069945,
                -1.0205761316872428, -0.4115226337448559, 0.0823045267489712,
                0.12551440329218116, 0.010288065843621361, -0.002057613168724296);
    a = matrix(ctx);
    ebb_tensor *b = LEAF(1, 2, 3), *x = ebb_solve(a, b);
    EXPECT(x, 1e-14, 7 / 9.0, 5 / 9.0, -1 / 9.0);
    GOOD(case_backward_with(x, VEC(1, -2, 4)));
    EXPECT_GRAD(b, 1e-13, 0.18518518518518523, 0.6296296296296295, -0.7407407407407407);
    EXPECT_GRAD(a, 1e-12, -0.14403292181069963, -0.10288065843621402, 0.020576131687242788,
                -0.48971193415637854, -0.34979423868312753, 0.06995884773662546,
                0.5761316872427983, 0.411522633744856, -0.08230452674897114);
}

static void shapes_of_systems_are_pytorchs(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *one = ebb_eye(ctx, EBB_F64, 2), *many = ebb_expand(one, EBB_SHAPE(3, 2, 2));
    ebb_tensor *rows = ebb_ones(ctx, EBB_F64, EBB_SHAPE(3, 2));
    assert_true(case_has_shape(ebb_solve(many, rows), EBB_SHAPE(3, 2)));
    assert_true(case_has_shape(ebb_solve(many, VEC(1, 2)), EBB_SHAPE(3, 2)));
    assert_true(case_has_shape(ebb_solve(one, ebb_ones(ctx, EBB_F64, EBB_SHAPE(5, 2, 4))),
                               EBB_SHAPE(5, 2, 4)));
    assert_true(case_has_shape(ebb_det(many), EBB_SHAPE(3)));
    assert_null(ebb_solve(one, rows)); /* a matrix of 3 rows */
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_null(ebb_inverse(rows));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

static void what_has_no_solution_is_refused_by_its_place_in_the_batch(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *flat = MAT(EBB_SHAPE(2, 2), 1, 2, 2, 4);
    refused_with(ebb_inverse(flat), "a is singular: no pivot is left at row 1");
    refused_with(ebb_solve(flat, VEC(1, 1)), "a is singular");
    ebb_tensor *batch[] = {ebb_eye(ctx, EBB_F64, 2), ebb_eye(ctx, EBB_F64, 2), flat};
    refused_with(ebb_inverse(ebb_stack(batch, 3, 0)), "matrix 2 of a is singular");
    refused_with(ebb_cholesky(flat, NULL), "a is not positive definite: no pivot at row 1");
    refused_with(ebb_cholesky(ebb_full_like(flat, NAN), NULL), "not positive definite");
    batch[2] = ebb_neg(batch[0]);
    refused_with(ebb_cholesky(ebb_stack(batch, 3, 0), NULL), "matrix 2 of a is not positive");
}

static void factors_of_positive_definite_matrices(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = case_leaf(MAT(EBB_SHAPE(3, 3), 4, 1, 2, 1, 5, 3, 2, 3, 6));
    ebb_tensor *l = ebb_cholesky(a, NULL);
    EXPECT(l, 1e-14, 2, 0, 0, 0.5, 2.179449471770337, 0, 1, 1.1470786693528088,
           1.9194297398747862);
    GOOD(case_backward_with(l, nine(ctx)));
    EXPECT_GRAD(a, 1e-11, -0.08662743062154855, 0.4916594238557492, 0.42742514931522263,
                0.4916594238557491, 0.830548799629882, 0.6014067524735602, 0.4274251493152227,
                0.6014067524735602, 2.3444463251327745);
    GOOD(ebb_clear_grad(a));
    l = ebb_cholesky(a, &(ebb_cholesky_options){.upper = true});
    EXPECT(l, 1e-14, 2, 0.5, 1, 0, 2.179449471770337, 1.1470786693528088, 0, 0,
           1.9194297398747862);
    GOOD(case_backward_with(l, nine(ctx)));
    EXPECT_GRAD(a, 1e-11, 0.4387578428293917, 0.16070259618142646, -0.4578669837494965,
                0.16070259618142635, 1.0720390458094209, 0.1425752847324366,
                -0.4578669837494964, 0.14257528473243675, 2.3444463251327745);
    /* Of an asymmetric matrix the mean of both halves is read. */
    EXPECT(ebb_cholesky(MAT(EBB_SHAPE(2, 2), 4, 4, 0, 2), NULL), 1e-15, 2, 0, 1, 1);
}

static void triangular_systems_read_one_half(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = matrix(ctx), *b = case_leaf(MAT(EBB_SHAPE(3, 2), 1, 2, 3, 4, 5, 6));
    ebb_tensor *x = ebb_triangular_solve(a, b, &(ebb_triangular_solve_options){.upper = true});
    EXPECT(x, 1e-14, 8 / 3.0, 11 / 3.0, 13 / 3.0, 16 / 3.0, -2.5, -3);
    GOOD(case_backward_with(x, MAT(EBB_SHAPE(3, 2), 1, 0, 2, -1, 3, 1)));
    EXPECT_GRAD(b, 1e-13, 0.5, 0, 5 / 6.0, -1 / 3.0, 1 / 6.0, -7 / 6.0);
    EXPECT_GRAD(a, 1e-13, -4 / 3.0, -13 / 6.0, 1.25, 0, -11 / 6.0, 13 / 12.0, 0, 0, -37 / 12.0);
    GOOD(ebb_clear_grad(a));
    b = case_leaf(MAT(EBB_SHAPE(1, 3), 1, 2, 3));
    ebb_triangular_solve_options right = {.right = true, .unitriangular = true};
    x = ebb_triangular_solve(a, b, &right);
    EXPECT(x, 0, 14, -13, 3);
    GOOD(case_backward_with(x, MAT(EBB_SHAPE(1, 3), 1, 2, -1)));
    EXPECT_GRAD(b, 0, 1, 1, -6);
    EXPECT_GRAD(a, 0, 0, 0, 0, 13, 0, 0, -3, -3, 0);
    ebb_tensor *hole = MAT(EBB_SHAPE(2, 2), 0, NAN, 1, 1); /* the upper half is not read */
    EXPECT(ebb_triangular_solve(hole, MAT(EBB_SHAPE(2, 1), 1, 0), NULL), 0, INFINITY,
           -INFINITY);
}

static void determinants_have_gradients_where_they_are_zero(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = matrix(ctx);
    EXPECT(ebb_det(a), 1e-14, -54);
    GOOD(case_backward_sum(ebb_det(a)));
    EXPECT_GRAD(a, 1e-13, -26, 2, 5, -2, -4, -10, -4, -8, 7); /* the cofactors */
    ebb_tensor *rank2 = case_leaf(nine(ctx));
    EXPECT(ebb_det(case_leaf(MAT(EBB_SHAPE(2, 2), 1, 2, 2, 4))), 0, 0);
    GOOD(case_backward_sum(ebb_det(rank2)));
    EXPECT_GRAD(rank2, 1e-12, -3, 6, -3, 6, -12, 6, -3, 6, -3);
    ebb_tensor *rank1 = case_leaf(ebb_ones(ctx, EBB_F64, EBB_SHAPE(3, 3)));
    GOOD(case_backward_sum(ebb_det(rank1)));
    EXPECT_GRAD(rank1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    ebb_tensor *none = case_leaf(NUMBER(0)), *line = ebb_reshape(none, EBB_SHAPE(1, 1));
    GOOD(case_backward_sum(ebb_det(line)));
    EXPECT_GRAD(none, 0, 1);
    EXPECT(ebb_det(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 0))), 0, 1);
}

/* Cofactors are quadratic: half of those at a + v less those at a - v, in whole numbers. */
static void determinants_have_second_derivatives_where_they_are_zero(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    const double rank[3][9] = {
        {0}, {1, 2, 3, 2, 4, 6, -1, -2, -3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    const double along[9] = {2, -1, 0, 1, 3, 4, 0, 5, -2};
    const double want[3][9] = {
        {0}, /* of 3 x 3 zeros: every product has a 0 left */
        {-39, 3, 11, 16, -8, 0, -7, -13, 11},
        {-45, 27, 7, 28, 16, -28, -7, -13, 15},
    };
    for (int k = 0; k < 3; k++) {
        ebb_tensor *a = case_leaf(case_tensor(ctx, EBB_SHAPE(3, 3), rank[k], 9)), *hv;
        ebb_tensor *v = case_tensor(ctx, EBB_SHAPE(3, 3), along, 9);
        GOOD(ebb_hvp(&hv, ebb_det(a), &a, &v, 1));
        case_expect(hv, 1e-12, want[k], 9, "d2 det", __LINE__);
    }
    ebb_tensor *a = case_leaf(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(2, 2))), *hv;
    ebb_tensor *v = MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4);
    GOOD(ebb_hvp(&hv, ebb_det(a), &a, &v, 1));
    EXPECT(hv, 0, 4, -3, -2, 1);
}

static void logarithms_of_determinants(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = matrix(ctx), *sign, *log_abs;
    GOOD(ebb_slogdet(&sign, &log_abs, a));
    EXPECT(sign, 0, -1);
    EXPECT(log_abs, 1e-15, 3.9889840465642745);
    GOOD(case_backward_sum(log_abs));
    EXPECT_GRAD(a, 1e-13, 13 / 27.0, -1 / 27.0, -2.5 / 27, 1 / 27.0, 2 / 27.0, 5 / 27.0,
                2 / 27.0, 4 / 27.0, -3.5 / 27);
    GOOD(ebb_slogdet(&sign, &log_abs, MAT(EBB_SHAPE(2, 2), 1, 2, 2, 4)));
    EXPECT(sign, 0, 0);
    EXPECT(log_abs, 0, -INFINITY);
    ebb_tensor *huge = ebb_mul_scalar(ebb_eye(ctx, EBB_F64, 4), 1e200);
    GOOD(ebb_slogdet(&sign, &log_abs, huge));
    EXPECT(log_abs, 1e-15, 1842.0680743952367);
    EXPECT(ebb_det(huge), 0, INFINITY);
    GOOD(ebb_slogdet(&sign, &log_abs, ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 0))));
    EXPECT(sign, 0, 1);
    EXPECT(log_abs, 0, 0);
}

/* a x = b for a matrix of a size at which threads and vectors matter; the residual is small. */
static void large_systems_are_solved_to_rounding(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { N = 150 };
    ebb_tensor *a = ebb_normal(ctx, EBB_F64, EBB_SHAPE(3, N, N), 0, 1);
    ebb_tensor *b = ebb_normal(ctx, EBB_F64, EBB_SHAPE(3, N, 2), 0, 1);
    ebb_tensor *rest = ebb_sub(ebb_matmul(a, ebb_solve(a, b)), b);
    double worst = ebb_item(ebb_amax(ebb_abs(rest), EBB_ALL));
    if (!(worst < 1e-9)) fail_msg("residual %g", worst);
    rest = ebb_sub(ebb_matmul(a, ebb_inverse(a)), ebb_eye(ctx, EBB_F64, N));
    worst = ebb_item(ebb_amax(ebb_abs(rest), EBB_ALL));
    if (!(worst < 1e-9)) fail_msg("residual of the inverse %g", worst);
}

/* At sizes at which another library may do the work. */
static void large_matrices_are_refused_in_the_same_words(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *one = ebb_eye(ctx, EBB_F64, 300), *zero = ebb_mul_scalar(one, 0);
    refused_with(ebb_inverse(zero), "a is singular: no pivot is left at row 0");
    refused_with(ebb_solve(zero, ebb_ones(ctx, EBB_F64, EBB_SHAPE(300))), "a is singular: no");
    ebb_tensor *batch[] = {one, ebb_neg(one)};
    refused_with(ebb_cholesky(ebb_stack(batch, 2, 0), NULL),
                 "matrix 1 of a is not positive definite: no pivot at row 0");
    ebb_tensor *sign, *log_abs;
    GOOD(ebb_slogdet(&sign, &log_abs, zero));
    EXPECT(sign, 0, 0);
    EXPECT(log_abs, 0, -INFINITY);
    GOOD(ebb_slogdet(&sign, &log_abs, ebb_mul_scalar(batch[1], 2)));
    EXPECT(sign, 0, 1);
    EXPECT(log_abs, 1e-14, 300 * log(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(inverses_and_solutions),
        CASE(shapes_of_systems_are_pytorchs),
        CASE(what_has_no_solution_is_refused_by_its_place_in_the_batch),
        CASE(factors_of_positive_definite_matrices),
        CASE(triangular_systems_read_one_half),
        CASE(determinants_have_gradients_where_they_are_zero),
        CASE(determinants_have_second_derivatives_where_they_are_zero),
        CASE(logarithms_of_determinants),
        CASE(large_systems_are_solved_to_rounding),
        CASE(large_matrices_are_refused_in_the_same_words),
    };
    return cmocka_run_group_tests_name("values/linalg", tests, NULL, NULL);
}
