/* test_golden_layers.c - convolutions, pools, resampling, norms, attention and recurrent
 * operations, and their gradients, against PyTorch's, in f64 and in f32. Inputs and cotangents
 * are the waves of scripts/golden/make_layers.py.
 * SPDX-License-Identifier: MIT */
#include "data/golden_layers.h"

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

/* Compares t with the values at *want and steps over them. */
static void expect(ebb_tensor *t, const double **want, const char *name, int part)
{
    int64_t n = ebb_n_elems(good(t));
    double *got = calloc((size_t)n + 1, sizeof *got);
    double tolerance = dtype == EBB_F64 ? 1e-12 : 2e-5;
    assert_int_equal(ebb_read(got, (size_t)n * sizeof *got, EBB_F64, t), EBB_OK);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - (*want)[i]) <= tolerance * (1 + fabs((*want)[i]))))
            fail_msg("%s, part %d: element %lld is %.17g, %.17g expected", name, part,
                     (long long)i, got[i], (*want)[i]);
    free(got);
    *want += n;
}

/* The result, then the gradient of each input with the cotangent wave 9. */
static void check(ebb_context *ctx, const char *name, const double *want, size_t bytes,
                  ebb_tensor *y, ebb_tensor *const *in, int64_t n)
{
    const double *at = want;
    ebb_tensor *grads[8];
    expect(y, &at, name, 0);
    ebb_tensor *seed = constant(ctx, 9, ebb_shape_get(y));
    if (ebb_grad(grads, &y, &seed, 1, in, n, NULL) != EBB_OK)
        fail_msg("%s: %s", name, ebb_error_message());
    for (int i = 0; i < n; i++) expect(grads[i], &at, name, i + 1);
    assert_int_equal((char *)at - (char *)want, bytes);
}
#define CHECK(name, y, ...)                                                                    \
    check(ctx, #name, layers_##name, sizeof layers_##name, y, (ebb_tensor *[]){__VA_ARGS__},   \
          (int64_t)(sizeof((ebb_tensor *[]){__VA_ARGS__}) / sizeof(ebb_tensor *)))
#define WAVE(k, ...) wave(ctx, k, EBB_SHAPE(__VA_ARGS__))

static void test_convolutions(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WAVE(1, 2, 4, 9), *w = WAVE(2, 6, 2, 3), *b = WAVE(3, 6);
    ebb_conv1d_options o1 = {.stride = 2, .padding = 1, .dilation = 2, .groups = 2};
    CHECK(conv1d, ebb_conv1d(x, w, b, &o1), x, w, b);
    x = WAVE(1, 1, 2, 4, 3, 5), w = WAVE(2, 4, 1, 2, 2, 3), b = WAVE(3, 4);
    ebb_conv3d_options o3 = {
        .stride = {2, 1, 1}, .padding = {1, 0, 2}, .dilation = {1, 2, 1}, .groups = 2};
    CHECK(conv3d, ebb_conv3d(x, w, b, &o3), x, w, b);
}

static void test_transposed_convolutions(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WAVE(1, 2, 4, 3), *w = WAVE(2, 4, 3, 3), *b = WAVE(3, 6);
    ebb_conv_transpose1d_options o1 = {
        .stride = 3, .padding = 1, .output_padding = 2, .groups = 2, .dilation = 2};
    CHECK(conv_transpose1d, ebb_conv_transpose1d(x, w, b, &o1), x, w, b);
    x = WAVE(1, 2, 2, 3, 2), w = WAVE(2, 2, 3, 2, 3), b = WAVE(3, 3);
    ebb_conv_transpose2d_options o2 = {
        .stride = {2, 1}, .padding = {1, 0}, .output_padding = {1, 0}, .dilation = {1, 2}};
    CHECK(conv_transpose2d, ebb_conv_transpose2d(x, w, b, &o2), x, w, b);
    x = WAVE(1, 1, 2, 2, 3, 2), w = WAVE(2, 2, 1, 2, 2, 3);
    ebb_conv_transpose3d_options o3 = {.stride = {1, 2, 1}};
    CHECK(conv_transpose3d, ebb_conv_transpose3d(x, w, EBB_NONE, &o3), x, w);
}

static void test_pools(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WAVE(1, 2, 2, 11);
    ebb_pool1d_options m1 = {.stride = 3, .padding = 1, .dilation = 2, .ceil_mode = true};
    CHECK(max_pool1d, ebb_max_pool1d(x, 3, &m1), x);
    ebb_avg_pool1d_options a1 = {.stride = 3, .padding = 2, .ceil_mode = true};
    CHECK(avg_pool1d, ebb_avg_pool1d(x, 4, &a1), x);
    x = WAVE(1, 1, 2, 7, 6);
    ebb_pool2d_options m2 = {
        .stride = {2, 2}, .padding = {1, 1}, .dilation = {2, 1}, .ceil_mode = true};
    CHECK(max_pool2d, ebb_max_pool2d(x, 2, 3, &m2), x);
    ebb_avg_pool2d_options a2 = {
        .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true, .exclude_padding = true};
    CHECK(avg_pool2d, ebb_avg_pool2d(x, 3, 3, &a2), x);
    a2 = (ebb_avg_pool2d_options){.stride = {2, 2}, .ceil_mode = true, .divisor = 4};
    CHECK(avg_pool2d_divisor, ebb_avg_pool2d(x, 3, 3, &a2), x);
    x = WAVE(1, 1, 2, 4, 5, 4);
    ebb_pool3d_options m3 = {.stride = {1, 2, 2}, .padding = {0, 1, 1}};
    CHECK(max_pool3d, ebb_max_pool3d(x, 2, 3, 2, &m3), x);
    ebb_avg_pool3d_options a3 = {.stride = {2, 2, 1}, .padding = {1, 1, 1}};
    CHECK(avg_pool3d, ebb_avg_pool3d(x, 2, 3, 2, &a3), x);
}

static void test_adaptive_pools(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WAVE(1, 2, 1, 7);
    CHECK(adaptive_avg_pool1d, ebb_adaptive_avg_pool1d(x, 3), x);
    CHECK(adaptive_max_pool1d, ebb_adaptive_max_pool1d(x, 4), x);
    x = WAVE(1, 1, 2, 5, 7);
    CHECK(adaptive_avg_pool2d, ebb_adaptive_avg_pool2d(x, 3, 8), x);
    CHECK(adaptive_max_pool2d, ebb_adaptive_max_pool2d(x, 2, 3), x);
    x = WAVE(1, 1, 1, 3, 5, 4);
    CHECK(adaptive_avg_pool3d, ebb_adaptive_avg_pool3d(x, 2, 2, 3), x);
    CHECK(adaptive_max_pool3d, ebb_adaptive_max_pool3d(x, 2, 2, 3), x);
}

static void test_resampling(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    typedef ebb_interpolate_options options;
    ebb_tensor *x = WAVE(1, 1, 2, 3, 5);
    CHECK(nearest, ebb_interpolate(x, &(options){.size = EBB_SHAPE(7, 4)}), x);
    CHECK(nearest_scale, ebb_interpolate(x, &(options){.scale = 1.7}), x);
    options o = {.size = EBB_SHAPE(5, 7), .linear = true};
    CHECK(bilinear, ebb_interpolate(x, &o), x);
    o.size = EBB_SHAPE(2, 3);
    CHECK(bilinear_down, ebb_interpolate(x, &o), x);
    o.size = EBB_SHAPE(5, 4), o.align_corners = true;
    CHECK(bilinear_corners, ebb_interpolate(x, &o), x);
    CHECK(bilinear_scale, ebb_interpolate(x, &(options){.scale = 2.3, .linear = true}), x);
    x = WAVE(1, 1, 2, 5);
    CHECK(linear, ebb_interpolate(x, &(options){.size = EBB_SHAPE(8), .linear = true}), x);
    x = WAVE(1, 1, 1, 2, 3, 2);
    o = (options){.size = EBB_SHAPE(3, 4, 3), .linear = true};
    CHECK(trilinear, ebb_interpolate(x, &o), x);
    x = WAVE(1, 1, 8, 2, 3);
    CHECK(pixel_shuffle, ebb_pixel_shuffle(x, 2), x);
    x = WAVE(1, 1, 2, 4, 6);
    CHECK(pixel_unshuffle, ebb_pixel_unshuffle(x, 2), x);
}

static void test_norms(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WAVE(1, 2, 4, 3, 2), *w = WAVE(2, 4), *b = WAVE(3, 4);
    CHECK(group_norm, ebb_group_norm(x, w, b, 2, NULL), x, w, b);
    CHECK(instance_norm, ebb_instance_norm(x, w, b, EBB_NONE, EBB_NONE, NULL), x, w, b);
    ebb_tensor *mean = constant(ctx, 4, EBB_SHAPE(4));
    ebb_tensor *var = ebb_add_scalar(ebb_square(constant(ctx, 5, EBB_SHAPE(4))), 0.5);
    ebb_norm_options o = {.momentum = 0.3, .eps = 0.01};
    CHECK(instance_norm_running, ebb_instance_norm(x, w, b, mean, var, &o), x, w, b);
    const double *moved = layers_instance_norm_moved;
    expect(mean, &moved, "instance_norm's running mean", 0);
    expect(var, &moved, "instance_norm's running variance", 0);
    o = (ebb_norm_options){.inference = true};
    CHECK(instance_norm_inference, ebb_instance_norm(x, w, b, mean, var, &o), x, w, b);
    x = WAVE(1, 3, 2, 5), w = WAVE(2, 5);
    CHECK(rms_norm, ebb_rms_norm(x, w, &(ebb_rms_norm_options){.eps = 0.01}), x, w);
    x = WAVE(1, 2, 5, 3);
    ebb_local_response_norm_options r = {.alpha = 0.4, .beta = 0.6, .k = 1.5};
    CHECK(response_odd, ebb_local_response_norm(x, 3, &r), x);
    r = (ebb_local_response_norm_options){.alpha = 0.4};
    CHECK(response_even, ebb_local_response_norm(x, 4, &r), x);
}

static void test_attention(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *q = WAVE(1, 2, 3, 4), *k = WAVE(2, 2, 5, 4), *v = WAVE(3, 2, 5, 2);
    ebb_tensor *mask = WAVE(4, 3, 5);
    CHECK(attention_mask, ebb_scaled_dot_product_attention(q, k, v, mask, NULL), q, k, v, mask);
    ebb_tensor *seen = ebb_gt(mask, ebb_full_like(mask, -0.5));
    ebb_tensor *row = ebb_tensor_copy(ctx, EBB_BOOL, EBB_SHAPE(3, 1),
                                      (bool[]){true, false, true}, 3 * sizeof(bool));
    seen = ebb_logical_and(seen, row); /* the second place sees nothing */
    CHECK(attention_blind, ebb_scaled_dot_product_attention(q, k, v, seen, NULL), q, k, v);
    q = WAVE(1, 70, 3), k = WAVE(2, 150, 3), v = WAVE(3, 150, 2);
    ebb_attention_options o = {.causal = true};
    ebb_tensor *y = ebb_scaled_dot_product_attention(q, k, v, EBB_NONE, &o);
    CHECK(attention_tiles, ebb_sum(y, EBB_AXES(0)), q);
    q = WAVE(1, 150, 3), k = WAVE(2, 70, 3), v = WAVE(3, 70, 2);
    y = ebb_scaled_dot_product_attention(q, k, v, EBB_NONE, NULL);
    CHECK(attention_keys, ebb_sum(y, EBB_AXES(0)), k, v);
}

static ebb_tensor *flat(ebb_tensor *const *part, int64_t n)
{
    ebb_tensor *line[3];
    for (int64_t i = 0; i < n; i++)
        line[i] = ebb_reshape(part[i], EBB_SHAPE(ebb_n_elems(good(part[i]))));
    return ebb_cat(line, n, 0);
}

static void test_recurrent(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WAVE(1, 4, 2, 3), *h = WAVE(2, 2, 2), *c = WAVE(3, 2, 2), *out[3];
    ebb_tensor *w = WAVE(4, 2, 3), *u = WAVE(5, 2, 2), *b = WAVE(6, 2), *d = WAVE(7, 2);
    assert_int_equal(ebb_rnn(&out[0], &out[1], x, h, w, u, b, d, NULL), EBB_OK);
    CHECK(rnn, flat(out, 2), x, h, w, u, b, d);
    ebb_rnn_options back = {.reverse = true};
    assert_int_equal(ebb_rnn(&out[0], &out[1], x, h, w, u, b, d, &back), EBB_OK);
    CHECK(rnn_reverse, flat(out, 2), x, h, w, u, b, d);
    w = WAVE(4, 8, 3), u = WAVE(5, 8, 2), b = WAVE(6, 8), d = WAVE(7, 8);
    ebb_lstm_options l = {.reverse = true};
    assert_int_equal(ebb_lstm(&out[0], &out[1], &out[2], x, h, c, w, u, b, d, NULL), EBB_OK);
    CHECK(lstm, flat(out, 3), x, h, c, w, u, b, d);
    assert_int_equal(ebb_lstm(&out[0], &out[1], &out[2], x, h, c, w, u, b, d, &l), EBB_OK);
    CHECK(lstm_reverse, flat(out, 3), x, h, c, w, u, b, d);
    w = WAVE(4, 6, 3), u = WAVE(5, 6, 2), b = WAVE(6, 6), d = WAVE(7, 6);
    ebb_gru_options g = {.reverse = true};
    assert_int_equal(ebb_gru(&out[0], &out[1], x, h, w, u, b, d, NULL), EBB_OK);
    CHECK(gru, flat(out, 2), x, h, w, u, b, d);
    assert_int_equal(ebb_gru(&out[0], &out[1], x, h, w, u, b, d, &g), EBB_OK);
    CHECK(gru_reverse, flat(out, 2), x, h, w, u, b, d);
}

static void test_cells(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WAVE(1, 2, 3), *h = WAVE(2, 2, 2), *c = WAVE(3, 2, 2), *out[2];
    ebb_tensor *w = WAVE(4, 2, 3), *u = WAVE(5, 2, 2), *b = WAVE(6, 2), *d = WAVE(7, 2);
    ebb_rnn_cell_options o = {.relu = true};
    CHECK(rnn_cell_relu, ebb_rnn_cell(x, h, w, u, b, d, &o), x, h, w, u, b, d);
    w = WAVE(4, 8, 3), u = WAVE(5, 8, 2), b = WAVE(6, 8), d = WAVE(7, 8);
    assert_int_equal(ebb_lstm_cell(&out[0], &out[1], x, h, c, w, u, b, d), EBB_OK);
    CHECK(lstm_cell, flat(out, 2), x, h, c, w, u, b, d);
    w = WAVE(4, 6, 3), u = WAVE(5, 6, 2), b = WAVE(6, 6), d = WAVE(7, 6);
    CHECK(gru_cell, ebb_gru_cell(x, h, w, u, b, d), x, h, w, u, b, d);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)
    const struct CMUnitTest tests[] = {
        TEST(test_convolutions), TEST(test_transposed_convolutions),
        TEST(test_pools),        TEST(test_adaptive_pools),
        TEST(test_resampling),   TEST(test_norms),
        TEST(test_attention),    TEST(test_recurrent),
        TEST(test_cells),
    };
    dtype = EBB_F64;
    int failed = cmocka_run_group_tests_name("f64", tests, NULL, NULL);
    dtype = EBB_F32;
    return failed + cmocka_run_group_tests_name("f32", tests, NULL, NULL);
}
