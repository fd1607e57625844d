/* test_dtypes.c - 16-bit floats, and operands of several dtypes.
 *
 * Expected values: binary16 and bfloat16 by definition (IEEE 754 fields evaluated with ldexp);
 * dtypes of results from PyTorch's result_type.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include "base/half.h"

#include <math.h>
#include <string.h>

/* The number that sign, exponent and fraction fields stand for. */
static double by_fields(unsigned h, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, e = (int)(h >> fraction_bits) & (2 * bias + 1);
    double f = h & ((1u << fraction_bits) - 1), sign = h >> 15 ? -1 : 1;
    if (e == 2 * bias + 1) return f == 0 ? sign * INFINITY : NAN;
    if (e == 0) return sign * ldexp(f, 1 - bias - fraction_bits);
    return sign * ldexp(f + ldexp(1, fraction_bits), e - bias - fraction_bits);
}

static void every_16_bit_float_is_what_its_fields_say(void **state)
{
    (void)state;
    for (unsigned h = 0; h <= 0xffff; h++) {
        double want = by_fields(h, 5, 10), got = (double)ebb__f16_to_float((uint16_t)h);
        if (!(got == want || (isnan(got) && isnan(want)))) fail_msg("f16 %04x", h);
        if (!isnan(want)) assert_int_equal(ebb__f16_of_float((float)want), h);
        want = by_fields(h, 8, 7), got = (double)ebb__bf16_to_float((uint16_t)h);
        if (!(got == want || (isnan(got) && isnan(want)))) fail_msg("bf16 %04x", h);
        if (!isnan(want)) assert_int_equal(ebb__bf16_of_float((float)want), h);
    }
    assert_true(isnan(ebb__f16_to_float(ebb__f16_of_float(NAN))));
    assert_true(isnan(ebb__bf16_to_float(ebb__bf16_of_float(NAN))));
}

/* Between two neighbours: below the middle down, above it up, in it to the even one. */
static void rounding_is_to_nearest_even(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x7bff; h++) {
        double low = by_fields(h, 5, 10), high = by_fields(h + 1, 5, 10);
        float middle = (float)((low + high) / 2);
        assert_int_equal(ebb__f16_of_float(nextafterf(middle, 0)), h);
        assert_int_equal(ebb__f16_of_float(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(ebb__f16_of_float(middle), h + (h & 1));
        assert_int_equal(ebb__f16_of_float(-middle), 0x8000 | (h + (h & 1)));
    }
    for (unsigned h = 0; h < 0x7f7f; h++) {
        double low = by_fields(h, 8, 7), high = by_fields(h + 1, 8, 7);
        float middle = (float)((low + high) / 2);
        assert_int_equal(ebb__bf16_of_float(nextafterf(middle, 0)), h);
        assert_int_equal(ebb__bf16_of_float(middle), h + (h & 1));
    }
    assert_int_equal(ebb__f16_of_float(65519.0f), 0x7bff);
    assert_int_equal(ebb__f16_of_float(65520.0f), 0x7c00);
    assert_int_equal(ebb__f16_of_float(1e30f), 0x7c00);
}

static ebb_tensor *of_dtype(ebb_context *ctx, ebb_dtype d, ebb_shape s, double value)
{
    bool is_bool = d == EBB_BOOL;
    return ebb_full(ctx, d, s, is_bool ? value != 0 : value);
}

static void mixed_operands_get_the_dtype_pytorch_gives_them(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    static const struct {
        ebb_dtype a, b, both_shaped, b_scalar;
    } rows[] = {
        {EBB_F32, EBB_F64, EBB_F64, EBB_F32},  {EBB_I64, EBB_F32, EBB_F32, EBB_F32},
        {EBB_I32, EBB_F64, EBB_F64, EBB_F64},  {EBB_U8, EBB_I32, EBB_I32, EBB_U8},
        {EBB_I32, EBB_I64, EBB_I64, EBB_I32},  {EBB_BOOL, EBB_U8, EBB_U8, EBB_U8},
        {EBB_F16, EBB_BF16, EBB_F32, EBB_F16}, {EBB_F16, EBB_F32, EBB_F32, EBB_F16},
        {EBB_F16, EBB_I64, EBB_F16, EBB_F16},  {EBB_BF16, EBB_F64, EBB_F64, EBB_BF16},
        {EBB_BOOL, EBB_F32, EBB_F32, EBB_F32}, {EBB_F64, EBB_F32, EBB_F64, EBB_F64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ebb_tensor *a = of_dtype(ctx, rows[i].a, EBB_SHAPE(2), 1);
        ebb_tensor *b = of_dtype(ctx, rows[i].b, EBB_SHAPE(2), 3);
        ebb_tensor *s = of_dtype(ctx, rows[i].b, EBB_SCALAR, 3);
        ebb_tensor *sum = ebb_add(a, b), *turned = ebb_add(b, a), *with_scalar = ebb_add(a, s);
        assert_int_equal(ebb_dtype_of(sum), rows[i].both_shaped);
        assert_int_equal(ebb_dtype_of(turned), rows[i].both_shaped);
        assert_int_equal(ebb_dtype_of(with_scalar), rows[i].b_scalar);
        assert_true(ebb_item(ebb_select(sum, 0, 0)) == (rows[i].b == EBB_BOOL ? 2 : 4));
    }
}

static void whole_numbers_become_f32_where_the_result_is_not_whole(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *seven = ebb_full(ctx, EBB_I64, EBB_SHAPE(2), 7),
               *two = ebb_full(ctx, EBB_I32, EBB_SHAPE(2), 2);
    ebb_tensor *q = ebb_div(seven, two), *e = ebb_exp(two);
    assert_int_equal(ebb_dtype_of(q), EBB_F32);
    assert_true(ebb_item(ebb_select(q, 0, 0)) == 3.5);
    assert_int_equal(ebb_dtype_of(e), EBB_F32);
    assert_true(fabs(ebb_item(ebb_select(e, 0, 0)) - 7.38905609893065) < 1e-6);
}

static void gradients_come_back_in_each_operands_own_dtype(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *w = of_dtype(ctx, EBB_F16, EBB_SHAPE(3), 1.5);
    ebb_tensor *x = of_dtype(ctx, EBB_F32, EBB_SHAPE(3), 2);
    assert_ok(ebb_set_requires_grad(w, true));
    assert_ok(ebb_set_requires_grad(x, true));
    assert_ok(ebb_backward(ebb_sum(ebb_mul(w, x), EBB_ALL), NULL));
    ebb_tensor *gw = ebb_grad_of(w), *gx = ebb_grad_of(x);
    assert_int_equal(ebb_dtype_of(gw), EBB_F16);
    assert_int_equal(ebb_dtype_of(gx), EBB_F32);
    assert_true(ebb_item(ebb_select(gw, 0, 1)) == 2);
    assert_true(ebb_item(ebb_select(gx, 0, 1)) == 1.5);
}

/* 4,096 ones: at 2,048 a running sum in binary16 would stand still. */
static void sums_of_16_bit_floats_accumulate_wide(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *ones = ebb_ones(ctx, EBB_F16, EBB_SHAPE(64, 64));
    assert_true(ebb_item(ebb_sum(ones, EBB_ALL)) == 4096);
    ebb_tensor *row = ebb_ones(ctx, EBB_F16, EBB_SHAPE(1, 4096));
    assert_true(ebb_item(ebb_matmul(row, ebb_transpose(row, 0, 1))) == 4096);
    ebb_tensor *b = ebb_ones(ctx, EBB_BF16, EBB_SHAPE(512));
    assert_true(ebb_item(ebb_sum(b, EBB_ALL)) == 512);
}

/* 3000 uses of one number, of a leaf and of what lies between: 2048 + 1 is 2048 in f16, and 256 + 1
 * 256 in bf16, whose nearest to 3000 is 3008. */
static void gradients_of_many_uses_are_summed_wide(void **state)
{
    enum { USES = 3000 };
    ebb_context *ctx = *state;
    const struct {
        ebb_dtype dtype;
        double sum;
    } types[] = {{EBB_F16, 3000}, {EBB_BF16, 3008}, {EBB_F32, 3000}};
    for (int k = 0; k < 3; k++) {
        for (int between = 0; between < 2; between++) {
            EBB_SCOPE(scope);
            ebb_tensor *x = of_dtype(ctx, types[k].dtype, EBB_SHAPE(1), 1), *use[USES], *g;
            assert_ok(ebb_set_requires_grad(x, true));
            ebb_tensor *m = between ? ebb_mul_scalar(x, 1) : x;
            assert_ok(ebb_retain_grad(m));
            for (int i = 0; i < USES; i++) use[i] = ebb_mul_scalar(m, 1);
            ebb_tensor *y = ebb_sum(ebb_cat(use, USES, 0), EBB_ALL);
            const ebb_backward_options keep = {.keep_graph = true};
            assert_ok(
                ebb_grad(&g, &y, NULL, 1, &x, 1, &(ebb_grad_options){.create_graph = true}));
            assert_true(ebb_dtype_of(g) == types[k].dtype);
            assert_float_equal(ebb_item(g), types[k].sum, 0);
            assert_ok(ebb_backward(y, &keep));
            assert_true(ebb_dtype_of(ebb_grad_of(m)) == types[k].dtype);
            assert_float_equal(grad_item(m), types[k].sum, 0);
            assert_ok(ebb_clear_grad(x));
            assert_ok(ebb_backward(y, &(ebb_backward_options){.commit_each_leaf = true}));
            assert_float_equal(grad_item(x), types[k].sum, 0);
        }
    }
}

static void a_gradient_slot_of_16_bit_floats_accumulates(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *w = of_dtype(ctx, EBB_BF16, EBB_SHAPE(4), 1);
    assert_ok(ebb_set_requires_grad(w, true));
    for (int i = 0; i < 3; i++)
        assert_ok(ebb_backward(ebb_sum(ebb_mul_scalar(w, 2), EBB_ALL), NULL));
    assert_true(ebb_item(ebb_select(ebb_grad_of(w), 0, 3)) == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_16_bit_float_is_what_its_fields_say),
        cmocka_unit_test(rounding_is_to_nearest_even),
        cmocka_unit_test_setup_teardown(mixed_operands_get_the_dtype_pytorch_gives_them,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(whole_numbers_become_f32_where_the_result_is_not_whole,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(gradients_come_back_in_each_operands_own_dtype,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(sums_of_16_bit_floats_accumulate_wide, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(gradients_of_many_uses_are_summed_wide, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_gradient_slot_of_16_bit_floats_accumulates,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
