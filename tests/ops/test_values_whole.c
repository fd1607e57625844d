/* test_values_whole.c - arithmetic of whole numbers and truths, and two slopes at the edge of their
 * range. Dtypes are PyTorch's; numbers are by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#define INF INFINITY
#define OF(dtype, ...) ebb_cast(VEC(__VA_ARGS__), dtype)

static void powers_of_whole_numbers_are_whole(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = OF(EBB_I64, 2, -3, 0, 1, -1, -1), *y = OF(EBB_I64, 10, 3, 0, -5, -4, -3);
    ebb_tensor *p = ebb_pow(x, y);
    assert_int_equal(ebb_dtype_of(p), EBB_I64);
    EXPECT(p, 0, 1024, -27, 1, 1, 1, -1);
    EXPECT(ebb_pow(OF(EBB_I32, 2, 0, 5), OF(EBB_I32, -1, -2, -1)), 0, 0, 0, 0);
    EXPECT(ebb_pow(OF(EBB_U8, 2, 255, 16), OF(EBB_U8, 2, 255, 2)), 0, 4, 255, 0);
    EXPECT(ebb_pow(OF(EBB_I64, 3), OF(EBB_I64, 39)), 0, 4052555153018976267.0);
    EXPECT(ebb_pow_scalar(x, 2), 0, 4, 9, 0, 1, 1, 1);
    assert_int_equal(ebb_dtype_of(ebb_pow_scalar(OF(EBB_U8, 3), 2)), EBB_U8);
    ebb_tensor *root = ebb_pow_scalar(OF(EBB_I32, 4, 9), 0.5);
    assert_int_equal(ebb_dtype_of(root), EBB_F32);
    EXPECT(root, 0, 2, 3);
    assert_null(ebb_pow_scalar(x, -1));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    ebb_tensor *mixed = ebb_pow(OF(EBB_I64, 2, 3), VEC(-1, 0.5));
    assert_int_equal(ebb_dtype_of(mixed), EBB_F64);
    EXPECT(mixed, 1e-15, 0.5, 1.7320508075688772);
    assert_null(ebb_pow(OF(EBB_BOOL, 1), OF(EBB_BOOL, 1)));
    REFUSED(EBB_E_DTYPE, ebb_error_status());
}

static void products_of_whole_matrices_are_whole_and_wrap(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = ebb_cast(MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, -6), EBB_I64);
    ebb_tensor *b = ebb_cast(MAT(EBB_SHAPE(3, 2), 1, 0, 0, 1, 2, 2), EBB_I64);
    ebb_tensor *c = ebb_matmul(a, b);
    assert_int_equal(ebb_dtype_of(c), EBB_I64);
    EXPECT(c, 0, 7, 8, -8, -7);
    EXPECT(ebb_matmul(a, ebb_transpose(a, 0, 1)), 0, 14, -4, -4, 77);
    EXPECT(ebb_mv(a, OF(EBB_I64, 1, 1, 1)), 0, 6, 3);
    EXPECT(ebb_dot(OF(EBB_U8, 16, 200), OF(EBB_U8, 16, 2)), 0, 144); /* 656 - 512 */
    ebb_tensor *d = ebb_dot(OF(EBB_I32, 65536), OF(EBB_I32, 32768));
    assert_int_equal(ebb_dtype_of(d), EBB_I32);
    EXPECT(d, 0, -2147483648.0);
    ebb_tensor *batch = ebb_reshape(a, EBB_SHAPE(1, 2, 3));
    EXPECT(ebb_bmm(batch, ebb_reshape(b, EBB_SHAPE(1, 3, 2))), 0, 7, 8, -8, -7);
    EXPECT(ebb_einsum(&(ebb_tensor *){a}, 1, "ij->ji"), 0, 1, 4, 2, 5, 3, -6);
    EXPECT(ebb_einsum((ebb_tensor *[]){a, b}, 2, "ij,jk->ik"), 0, 7, 8, -8, -7);
    EXPECT(ebb_linear(a, a, OF(EBB_I64, 100, 1000)), 0, 114, 996, 96, 1077);
    assert_null(ebb_matmul(a, ebb_cast(b, EBB_I32)));
    REFUSED(EBB_E_DTYPE, ebb_error_status());
    assert_null(ebb_dot(OF(EBB_BOOL, 1), OF(EBB_BOOL, 1)));
    REFUSED(EBB_E_DTYPE, ebb_error_status());
    ebb_tensor *none = ebb_zeros(ctx, EBB_I64, EBB_SHAPE(2, 0));
    EXPECT(ebb_matmul(none, ebb_zeros(ctx, EBB_I64, EBB_SHAPE(0, 1))), 0, 0, 0);
}

static void truths_are_added_and_multiplied_as_truths(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *a = OF(EBB_BOOL, 0, 0, 1, 1), *b = OF(EBB_BOOL, 0, 1, 0, 1);
    ebb_tensor *either[] = {ebb_add(a, b), ebb_maximum(a, b)};
    ebb_tensor *both[] = {ebb_mul(a, b), ebb_minimum(a, b)};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ebb_dtype_of(either[i]), EBB_BOOL);
        assert_int_equal(ebb_dtype_of(both[i]), EBB_BOOL);
        EXPECT(either[i], 0, 0, 1, 1, 1);
        EXPECT(both[i], 0, 0, 0, 0, 1);
    }
    EXPECT(ebb_sign(a), 0, 0, 0, 1, 1);
    assert_int_equal(ebb_dtype_of(ebb_add(a, OF(EBB_U8, 1, 2, 3, 255))), EBB_U8);
    EXPECT(ebb_add(a, OF(EBB_U8, 1, 2, 3, 255)), 0, 1, 2, 4, 0);
    ebb_tensor *refused[] = {ebb_sub(a, b), ebb_neg(a), ebb_abs(a), ebb_square(a),
                             ebb_fmod(a, b)};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) assert_null(refused[i]);
    REFUSED(EBB_E_DTYPE, ebb_error_status());
    EXPECT(ebb_sum(a, EBB_ALL), 0, 2);
    assert_int_equal(ebb_dtype_of(ebb_sum(a, EBB_ALL)), EBB_I64);
    /* PyTorch answers u8 with u8; a truth is bool here, whatever it was made from. */
    assert_int_equal(ebb_dtype_of(ebb_any(OF(EBB_U8, 0, 2), EBB_ALL)), EBB_BOOL);
}

static void relu6_is_there_in_place(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = VEC(-1, 3, 9);
    GOOD(ebb_relu6_(x));
    EXPECT(x, 0, 0, 3, 6);
}

/* x - n y with n = floor(x / y): -1 for a divisor without bound of the other sign. */
static void a_remainder_by_infinity_moves_with_it_where_signs_differ(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = LEAF(-3, 3, 3, -3, 0), *y = LEAF(INF, -INF, INF, -INF, INF);
    ebb_tensor *r = ebb_remainder(x, y);
    EXPECT(r, 0, INF, -INF, 3, -3, 0);
    GOOD(case_backward_sum(r));
    EXPECT_GRAD(x, 0, 1, 1, 1, 1, 1);
    EXPECT_GRAD(y, 0, 1, 1, 0, 0, 0);
}

/* xlogy is 0 along x = 0, y <= 0, and flat there to every order. */
static void xlogy_is_flat_at_the_origin_to_second_order(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *in[] = {LEAF(0, 2), LEAF(0, 4)}, *first[2], *second[2];
    ebb_tensor *f = ebb_xlogy(in[0], in[1]), *g = VEC(1, 1);
    GOOD(ebb_grad(first, &f, &g, 1, in, 2, &(ebb_grad_options){.create_graph = true}));
    EXPECT(first[0], 1e-15, 0, 1.3862943611198906);
    EXPECT(first[1], 0, 0, 0.5);
    GOOD(ebb_grad(second, first, (ebb_tensor *[]){g, g}, 2, in, 2, NULL));
    EXPECT(second[0], 0, 0, 0.25);
    EXPECT(second[1], 0, 0, 0.25 - 0.125);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(powers_of_whole_numbers_are_whole),
        CASE(products_of_whole_matrices_are_whole_and_wrap),
        CASE(truths_are_added_and_multiplied_as_truths),
        CASE(relu6_is_there_in_place),
        CASE(a_remainder_by_infinity_moves_with_it_where_signs_differ),
        CASE(xlogy_is_flat_at_the_origin_to_second_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
