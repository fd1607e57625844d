/* test_calls.c - shapes, types, axes, NULL, EBB_NONE, reserved fields, sizes: each refused with
 * one clear message, and the context goes on working.
 * SPDX-License-Identifier: MIT */
#include "errors/refusal.h"

#define F32(...) ebb_full(ctx, EBB_F32, EBB_SHAPE(__VA_ARGS__), 1)

static void shapes_that_do_not_fit(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = F32(2, 3), *y = F32(4);
    REFUSED_TENSOR(EBB_E_SHAPE, "(2, 3)", ebb_add(x, y));
    REFUSED_TENSOR(EBB_E_SHAPE, "(4)", ebb_add(x, y));
    REFUSED_TENSOR(EBB_E_SHAPE, "add", ebb_add(x, y));
    REFUSED_TENSOR(EBB_E_SHAPE, "matmul", ebb_matmul(x, y));
    REFUSED_TENSOR(EBB_E_SHAPE, "linear", ebb_linear(x, F32(5, 4), EBB_NONE));
    REFUSED_TENSOR(EBB_E_SHAPE, "reshape", ebb_reshape(x, EBB_SHAPE(7)));
    REFUSED_TENSOR(EBB_E_SHAPE, "expand", ebb_expand(x, EBB_SHAPE(2, 4)));
    REFUSED_TENSOR(EBB_E_SHAPE, "mse", ebb_mse(x, y));
    REFUSED_TENSOR(EBB_E_SHAPE, "conv2d",
                   ebb_conv2d(F32(1, 3, 8, 8), F32(4, 2, 3, 3), EBB_NONE, NULL));
    REFUSED_TENSOR(EBB_E_SHAPE, "max_pool2d", ebb_max_pool2d(F32(1, 1, 2, 2), 3, 3, NULL));
    ebb_tensor *list[] = {x, F32(2, 4)};
    REFUSED_TENSOR(EBB_E_SHAPE, "cat", ebb_cat(list, 2, 0));
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    REFUSED_TENSOR(EBB_E_SHAPE, "reshape", ebb_reshape(F32(1), ebb_shape_of(nine, 9)));
    REFUSED_TENSOR(EBB_E_SHAPE, NULL, ebb_zeros(ctx, EBB_F32, EBB_SHAPE(-3)));
    REFUSED_TENSOR(EBB_E_SHAPE, NULL, ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(3), nine, 11));
}

static void types_that_do_not_fit(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = F32(3), *i = ebb_full(ctx, EBB_I64, EBB_SHAPE(3), 1);
    REFUSED_TENSOR(EBB_E_DTYPE, "softmax", ebb_softmax(i, 0));
    REFUSED_TENSOR(EBB_E_DTYPE, "index_select", ebb_index_select(x, x, 0));
    REFUSED_TENSOR(EBB_E_DTYPE, "matmul",
                   ebb_matmul(x, ebb_full(ctx, EBB_F64, EBB_SHAPE(3), 1)));
    REFUSED_TENSOR(EBB_E_DTYPE, "cross_entropy", ebb_cross_entropy(F32(1, 3), F32(1), NULL));
    REFUSED_STATUS(EBB_E_DTYPE, "i64", ebb_set_requires_grad(i, true));
    REFUSED_TENSOR(EBB_E_DTYPE, NULL, ebb_zeros(ctx, (ebb_dtype)77, EBB_SHAPE(3)));
    REFUSED_TENSOR(EBB_E_DTYPE, NULL, ebb_cast(x, (ebb_dtype)0));
}

static void axes_and_numbers_out_of_range(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = F32(2, 3);
    REFUSED_TENSOR(EBB_E_RANGE, "softmax: axis 5 is outside [-2, 2)", ebb_softmax(x, 5));
    REFUSED_TENSOR(EBB_E_RANGE, "axis -3 is outside [-2, 2)", ebb_sum(x, EBB_AXES(-3)));
    REFUSED_TENSOR(EBB_E_RANGE, "axis 1 is given twice", ebb_sum(x, EBB_AXES(1, -1)));
    REFUSED_TENSOR(EBB_E_RANGE, "select", ebb_select(x, 0, 2));
    REFUSED_TENSOR(EBB_E_RANGE, "narrow", ebb_narrow(x, 1, 2, 2));
    REFUSED_TENSOR(EBB_E_RANGE, "dropout", ebb_dropout(x, 1.5));
    REFUSED_TENSOR(EBB_E_RANGE, "dropout", ebb_dropout(x, NAN));
    REFUSED_TENSOR(EBB_E_RANGE, "7",
                   ebb_index_select(x, ebb_full(ctx, EBB_I64, EBB_SHAPE(1), 7), 0));
    REFUSED_TENSOR(EBB_E_RANGE, "9",
                   ebb_cross_entropy(x, ebb_full(ctx, EBB_I64, EBB_SHAPE(2), 9), NULL));
    REFUSED_TENSOR(EBB_E_RANGE, "clamp", ebb_clamp(x, 2, 1));
    REFUSED_CALL(EBB_E_RANGE, "axis 4", ebb_dim(x, 4));
    ebb_context *other = NULL;
    REFUSED_STATUS(EBB_E_RANGE, "-2",
                   ebb_context_create(&other, &(ebb_context_options){.n_threads = -2}));
    assert_null(other);
}

static void null_is_named_once_and_passed_on_silently(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = F32(2, 3);
    REFUSED_TENSOR(EBB_E_MISUSE, "add", ebb_add(NULL, x));
    REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_add(x, NULL));
    REFUSED_STATUS(EBB_E_MISUSE, "ebb_backward", ebb_backward(NULL, NULL));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_set_requires_grad(NULL, true));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_read(&ctx, sizeof ctx, EBB_F64, NULL));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_check(NULL));
    REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_zeros(NULL, EBB_F32, EBB_SHAPE(3)));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_context_create(NULL, NULL));
    REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(3), NULL, 12));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_read(NULL, 24, EBB_F32, x));

    int line = __LINE__ + 1;
    ebb_tensor *wrong = ebb_matmul(x, F32(4));
    wrong = ebb_relu(ebb_softmax(wrong, 99));
    assert_null(ebb_add(wrong, x));
    assert_int_equal(ebb_backward(wrong, NULL), EBB_E_SHAPE);
    assert_int_equal(ebb_check(wrong), EBB_E_SHAPE);
    assert_true(isnan(ebb_item(wrong)));
    assert_int_equal(ebb_dim(wrong, 0), EBB_DIM_NONE);
    expect_record("the first failure", __FILE__, line, EBB_E_SHAPE, "matmul");
    ebb_keep(NULL), ebb_release(NULL), ebb_context_destroy(NULL);
    assert_int_equal(ebb_error_status(), EBB_OK);
}

static void absent_tensor_where_one_is_needed(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = F32(2, 3);
    REFUSED_TENSOR(EBB_E_MISUSE, "EBB_NONE", ebb_add(EBB_NONE, x));
    REFUSED_TENSOR(EBB_E_MISUSE, "EBB_NONE", ebb_linear(x, EBB_NONE, EBB_NONE));
    REFUSED_STATUS(EBB_E_MISUSE, "EBB_NONE", ebb_backward(EBB_NONE, NULL));
    REFUSED_STATUS(EBB_E_MISUSE, "EBB_NONE", ebb_read(&ctx, sizeof ctx, EBB_F64, EBB_NONE));
}

static void reserved_fields_must_be_zero(void **state)
{
    ebb_context *ctx = *state, *other = NULL;
    EBB_SCOPE(scope);
    ebb_tensor *x = F32(1, 1, 4, 4), *w = F32(1, 1, 3, 3);
    REFUSED_STATUS(EBB_E_MISUSE, "reserved",
                   ebb_context_create(&other, &(ebb_context_options){.reserved = {1}}));
    REFUSED_TENSOR(EBB_E_MISUSE, "reserved",
                   ebb_conv2d(x, w, EBB_NONE, &(ebb_conv2d_options){.reserved = {0, 0, 0, 5}}));
    ebb_tensor *leaf = F32(1), *g;
    assert_int_equal(ebb_set_requires_grad(leaf, true), EBB_OK);
    ebb_tensor *y = ebb_exp(leaf);
    REFUSED_STATUS(EBB_E_MISUSE, "reserved",
                   ebb_backward(y, &(ebb_backward_options){.reserved = {1}}));
    REFUSED_STATUS(EBB_E_MISUSE, "reserved",
                   ebb_grad(&g, &y, NULL, 1, &leaf, 1, &(ebb_grad_options){.reserved = {1}}));
    assert_int_equal(ebb_backward(y, NULL), EBB_OK); /* nothing had changed */
}

static void no_open_scope(void **state)
{
    ebb_context *ctx = *state;
    ebb_tensor *x;
    {
        EBB_SCOPE(scope);
        x = ebb_claim(F32(3));
    }
    REFUSED_TENSOR(EBB_E_MISUSE, "scope", ebb_exp(x));
    REFUSED_TENSOR(EBB_E_MISUSE, "scope", F32(3));
    REFUSED_TENSOR(EBB_E_MISUSE, "scope", ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(1), &x, 4));
    ebb_release(x);
}

static void wrong_sizes_when_reading_and_writing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = F32(2, 3);
    float v[8] = {0};
    REFUSED_STATUS(EBB_E_SHAPE, "32", EBB_READ(x, v, 8));
    REFUSED_STATUS(EBB_E_SHAPE, "20", EBB_WRITE(x, v, 5));
    REFUSED_CALL(EBB_E_SHAPE, "6 elements", ebb_item(x));
    assert_true(v[0] == 0);
}

static void messages_fit_and_stay_one_line(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    const int64_t eight[8] = {1000000, 1, 1, 1, 1, 1, 1, 2},
                  other[8] = {1000000, 1, 1, 1, 1, 1, 1, 3};
    ebb_tensor *x = ebb_expand(F32(1), ebb_shape_of(eight, 8));
    ebb_tensor *y = ebb_expand(F32(1), ebb_shape_of(other, 8));
    REFUSED_TENSOR(EBB_E_SHAPE, "1000000", ebb_add(x, y));
    ebb_fail(EBB_E_RANGE, "%0400d", 7);
    assert_true(strlen(ebb_error_message()) < 400);
    assert_string_equal(ebb_status_name((ebb_status)99), ebb_status_name((ebb_status)98));
    assert_string_equal(ebb_status_name(EBB_E_SHAPE), "EBB_E_SHAPE");
    ebb_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ERRORS(shapes_that_do_not_fit),
        ERRORS(types_that_do_not_fit),
        ERRORS(axes_and_numbers_out_of_range),
        ERRORS(null_is_named_once_and_passed_on_silently),
        ERRORS(absent_tensor_where_one_is_needed),
        ERRORS(reserved_fields_must_be_zero),
        ERRORS(no_open_scope),
        ERRORS(wrong_sizes_when_reading_and_writing),
        ERRORS(messages_fit_and_stay_one_line),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
