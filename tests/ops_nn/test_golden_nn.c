/* test_golden_nn.c - neural-network operations and their gradients against PyTorch's, in f64,
 * and in f32 to its precision. Inputs and cotangents are the waves of
 * scripts/golden/make_nn.py.
 * SPDX-License-Identifier: MIT */
#include "data/golden_nn.h"

#include <ebb/ebb.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static ebb_dtype dtype; /* of the run: every test runs in f64 and in f32 */

static int open_context(void **state)
{
    ebb_context *ctx = NULL;
    ebb_error_clear();
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 2}) != EBB_OK) return -1;
    *state = ctx;
    return 0;
}

static int close_context(void **state)
{
    ebb_context_destroy(*state);
    return 0;
}

static ebb_tensor *good(ebb_tensor *t)
{
    if (!t) fail_msg("%s", ebb_error_message());
    return t;
}

/* Element i is sin(0.9 i + k). */
static ebb_tensor *constant(ebb_context *ctx, double k, ebb_shape s)
{
    int64_t n = 1;
    for (int64_t d = 0; d < s.n_dims; d++) n *= s.dims[d];
    double *values = calloc((size_t)n, sizeof *values);
    for (int64_t i = 0; i < n; i++) values[i] = sin(0.9 * (double)i + k);
    ebb_tensor *t = good(ebb_tensor_copy(ctx, EBB_F64, s, values, (size_t)n * sizeof *values));
    free(values);
    return good(ebb_cast(t, dtype));
}

static ebb_tensor *wave(ebb_context *ctx, double k, ebb_shape s)
{
    ebb_tensor *t = constant(ctx, k, s);
    assert_int_equal(ebb_set_requires_grad(t, true), EBB_OK);
    return t;
}

static ebb_tensor *labels_of(ebb_context *ctx, ebb_shape s, const int64_t *values, int64_t n)
{
    return good(ebb_tensor_copy(ctx, EBB_I64, s, values, (size_t)n * sizeof *values));
}

static void expect(ebb_tensor *t, const double *want, size_t bytes, const char *name)
{
    size_t n = bytes / sizeof *want;
    double *got = calloc(n, sizeof *got), tolerance = dtype == EBB_F64 ? 1e-12 : 2e-5;
    if (!t || t == EBB_NONE) fail_msg("%s: %s", name, ebb_error_message());
    if (ebb_n_elems(t) != (int64_t)n)
        fail_msg("%s: %lld elements, %zu expected", name, (long long)ebb_n_elems(t), n);
    assert_int_equal(ebb_read(got, bytes, EBB_F64, t), EBB_OK);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            fail_msg("%s[%zu] is %.17g, %.17g expected", name, i, got[i], want[i]);
    free(got);
}
#define EXPECT(t, name) expect(t, nn_##name, sizeof nn_##name, #name)

/* grads[i] = the gradient of y by in[i] with the cotangent wave 9. */
static void backward(ebb_context *ctx, ebb_tensor **grads, ebb_tensor *y, ebb_tensor *const *in,
                     int64_t n)
{
    ebb_shape s = {ebb_rank(good(y)), {0}};
    for (int64_t d = 0; d < s.n_dims; d++) s.dims[d] = ebb_dim(y, d);
    ebb_tensor *seed = constant(ctx, 9, s);
    if (ebb_grad(grads, &y, &seed, 1, in, n, NULL) != EBB_OK)
        fail_msg("%s", ebb_error_message());
}
#define CHECK1(name, y, a, da)                                                                 \
    do {                                                                                       \
        ebb_tensor *y_ = (y), *in_[] = {a}, *g_[1];                                            \
        EXPECT(y_, name);                                                                      \
        backward(ctx, g_, y_, in_, 1);                                                         \
        EXPECT(g_[0], name##_##da);                                                            \
    } while (0)
#define CHECK2(name, y, a, da, b, db)                                                          \
    do {                                                                                       \
        ebb_tensor *y_ = (y), *in_[] = {a, b}, *g_[2];                                         \
        EXPECT(y_, name);                                                                      \
        backward(ctx, g_, y_, in_, 2);                                                         \
        EXPECT(g_[0], name##_##da);                                                            \
        EXPECT(g_[1], name##_##db);                                                            \
    } while (0)
#define CHECK3(name, y, a, da, b, db, c, dc)                                                   \
    do {                                                                                       \
        ebb_tensor *y_ = (y), *in_[] = {a, b, c}, *g_[3];                                      \
        EXPECT(y_, name);                                                                      \
        backward(ctx, g_, y_, in_, 3);                                                         \
        EXPECT(g_[0], name##_##da);                                                            \
        EXPECT(g_[1], name##_##db);                                                            \
        EXPECT(g_[2], name##_##dc);                                                            \
    } while (0)

static void test_convolution(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(2, 4, 6, 5)),
               *w = wave(ctx, 2, EBB_SHAPE(6, 2, 3, 2));
    ebb_tensor *b = wave(ctx, 3, EBB_SHAPE(6));
    ebb_conv2d_options o = {
        .stride = {2, 1}, .padding = {1, 1}, .dilation = {1, 2}, .groups = 2};
    CHECK3(conv, ebb_conv2d(x, w, b, &o), x, dx, w, dw, b, db);
    x = wave(ctx, 1, EBB_SHAPE(1, 3, 5, 4)), w = wave(ctx, 2, EBB_SHAPE(4, 3, 1, 1));
    CHECK2(conv_pointwise, ebb_conv2d(x, w, EBB_NONE, NULL), x, dx, w, dw);
}

static void test_linear(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(2, 3, 4)), *w = wave(ctx, 2, EBB_SHAPE(5, 4));
    ebb_tensor *b = wave(ctx, 3, EBB_SHAPE(5));
    CHECK3(linear, ebb_linear(x, w, b), x, dx, w, dw, b, db);
}

static void test_pooling(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(2, 2, 7, 6));
    ebb_pool2d_options o = {.stride = {2, 2}, .padding = {1, 1}};
    CHECK1(max_pool, ebb_max_pool2d(x, 3, 3, &o), x, dx);
    ebb_avg_pool2d_options a = {.stride = {2, 1}, .padding = {1, 1}};
    CHECK1(avg_pool, ebb_avg_pool2d(x, 3, 2, &a), x, dx);
    a.exclude_padding = true;
    CHECK1(avg_pool_exclude, ebb_avg_pool2d(x, 3, 2, &a), x, dx);
    x = wave(ctx, 1, EBB_SHAPE(1, 2, 4, 6));
    CHECK1(max_pool_tiled, ebb_max_pool2d(x, 2, 2, NULL), x, dx);
}

static void test_batch_norm(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(3, 2, 2, 3)), *w = wave(ctx, 2, EBB_SHAPE(2));
    ebb_tensor *b = wave(ctx, 3, EBB_SHAPE(2)), *mean = constant(ctx, 4, EBB_SHAPE(2));
    ebb_tensor *var = ebb_add_scalar(ebb_square(constant(ctx, 5, EBB_SHAPE(2))), 0.5);
    ebb_norm_options o = {.inference = true};
    CHECK3(bn_eval, ebb_batch_norm(x, w, b, mean, var, &o), x, dx, w, dw, b, db);
    o = (ebb_norm_options){.momentum = 0.3, .eps = 0.01};
    CHECK3(bn_train, ebb_batch_norm(x, w, b, mean, var, &o), x, dx, w, dw, b, db);
    EXPECT(mean, bn_running_mean);
    EXPECT(var, bn_running_var);
}

static void test_layer_norm(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(3, 2, 5)), *w = wave(ctx, 2, EBB_SHAPE(5));
    ebb_tensor *b = wave(ctx, 3, EBB_SHAPE(5));
    CHECK3(ln, ebb_layer_norm(x, w, b, NULL), x, dx, w, dw, b, db);
}

static void test_cross_entropy(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(4, 5));
    ebb_tensor *labels = labels_of(ctx, EBB_SHAPE(4), (int64_t[]){2, 0, 4, 2}, 4);
    CHECK1(ce, ebb_cross_entropy(ebb_mul_scalar(x, 3), labels, NULL), x, dx);
    ebb_cross_entropy_options o = {.label_smoothing = 0.2};
    CHECK1(ce_smooth, ebb_cross_entropy(ebb_mul_scalar(x, 3), labels, &o), x, dx);
    o = (ebb_cross_entropy_options){.label_smoothing = 0.1, .ignore = true, .ignore_index = 2};
    CHECK1(ce_ignore, ebb_cross_entropy(ebb_mul_scalar(x, 3), labels, &o), x, dx);
    CHECK1(nll, ebb_nll(ebb_log_softmax(x, 1), labels, NULL), x, dx);
    x = wave(ctx, 1, EBB_SHAPE(2, 3, 4));
    labels = labels_of(ctx, EBB_SHAPE(2, 4), (int64_t[]){2, 0, 1, 2, 1, 1, 0, 2}, 8);
    CHECK1(ce_planes, ebb_cross_entropy(x, labels, NULL), x, dx);
}

static void test_losses_of_pairs(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(3, 4)), *y = wave(ctx, 2, EBB_SHAPE(3, 4));
    CHECK2(mse, ebb_mse(x, y), x, dx, y, dy);
    CHECK2(l1, ebb_l1(x, y), x, dx, y, dy);
    ebb_smooth_l1_options o = {.beta = 0.7};
    CHECK2(smooth_l1, ebb_smooth_l1(x, y, &o), x, dx, y, dy);
    CHECK2(bce_logits, ebb_bce_with_logits(x, ebb_sigmoid(y)), x, dx, y, dy);
    CHECK1(bce, ebb_bce(ebb_sigmoid(x), ebb_sigmoid(y)), x, dx);
}

static void test_softmax(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(2, 3, 4));
    CHECK1(softmax, ebb_softmax(x, 1), x, dx);
    CHECK1(log_softmax, ebb_log_softmax(x, -1), x, dx);
}

static void test_indexing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *w = wave(ctx, 1, EBB_SHAPE(5, 3));
    ebb_tensor *index = labels_of(ctx, EBB_SHAPE(2, 3), (int64_t[]){4, 0, 4, 1, 4, 0}, 6);
    CHECK1(embedding, ebb_embedding(w, index), w, dw);
    ebb_tensor *x = wave(ctx, 1, EBB_SHAPE(3, 4));
    index = labels_of(ctx, EBB_SHAPE(2, 3), (int64_t[]){3, 3, 0, 1, 2, 1}, 6);
    CHECK1(gather, ebb_gather(x, index, 1), x, dx);
}

static void test_attention(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *q = wave(ctx, 1, EBB_SHAPE(2, 3, 4)), *k = wave(ctx, 2, EBB_SHAPE(2, 5, 4));
    ebb_tensor *v = wave(ctx, 3, EBB_SHAPE(2, 5, 2)), *mask = constant(ctx, 4, EBB_SHAPE(3, 5));
    CHECK3(attention, ebb_scaled_dot_product_attention(q, k, v, mask, NULL), q, dq, k, dk, v,
           dv);
    ebb_attention_options o = {.causal = true};
    CHECK3(attention_causal, ebb_scaled_dot_product_attention(q, k, v, EBB_NONE, &o), q, dq, k,
           dk, v, dv);
    o = (ebb_attention_options){.scale = 0.3};
    ebb_tensor *seen = ebb_gt(mask, ebb_full_like(mask, -0.5));
    CHECK3(attention_bool, ebb_scaled_dot_product_attention(q, k, v, seen, &o), q, dq, k, dk, v,
           dv);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)
    const struct CMUnitTest tests[] = {
        TEST(test_convolution),     TEST(test_linear),     TEST(test_pooling),
        TEST(test_batch_norm),      TEST(test_layer_norm), TEST(test_cross_entropy),
        TEST(test_losses_of_pairs), TEST(test_softmax),    TEST(test_indexing),
        TEST(test_attention),
    };
    dtype = EBB_F64;
    int failed = cmocka_run_group_tests_name("f64", tests, NULL, NULL);
    dtype = EBB_F32;
    return failed + cmocka_run_group_tests_name("f32", tests, NULL, NULL);
}
