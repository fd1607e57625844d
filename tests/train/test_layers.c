/* test_layers.c - layers: shapes, PyTorch's LSTM cell, running statistics, gradients through
 * them.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include "data/golden_train.h"

#include <math.h>

static ebb_params *new_set(ebb_context *ctx)
{
    ebb_params *p;
    assert_ok(ebb_params_create(&p, ctx));
    return p;
}

static void expect_close(ebb_tensor *t, const float *want, int64_t n)
{
    float got[32];
    assert_true(n <= 32);
    assert_ok(EBB_READ(t, got, n));
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 2e-6f * fmaxf(1, fabsf(want[i]))))
            fail_msg("element %lld: %.9g, expected %.9g", (long long)i, got[i], want[i]);
}

static void the_lstm_cell_is_that_of_pytorch(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_nn_lstm m = ebb_nn_lstm_make(new_set(ctx), "cell", 3, 2);
    assert_ok(EBB_WRITE(m.w_x, golden_lstm_w_x, 24));
    assert_ok(EBB_WRITE(m.w_h, golden_lstm_w_h, 16));
    assert_ok(EBB_WRITE(m.bias, golden_lstm_bias, 8));
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(2, 3), golden_lstm_x, 6);
    ebb_tensor *h = EBB_FROM(ctx, EBB_SHAPE(2, 2), golden_lstm_h, 4);
    ebb_tensor *c = EBB_FROM(ctx, EBB_SHAPE(2, 2), golden_lstm_c, 4);
    assert_ok(ebb_nn_lstm_step(&h, &c, &m, x));
    expect_close(h, golden_lstm_h_next, 4);
    expect_close(c, golden_lstm_c_next, 4);
    assert_ok(ebb_backward(ebb_sum(ebb_add(h, c), EBB_ALL), NULL));
    assert_true(ebb_has_grad(m.w_x) && ebb_has_grad(m.w_h) && ebb_has_grad(m.bias));

    ebb_tensor *wrong = ebb_full(ctx, EBB_F32, EBB_SHAPE(2, 5), 0);
    h = EBB_FROM(ctx, EBB_SHAPE(2, 2), golden_lstm_h, 4);
    c = h;
    assert_status(ebb_nn_lstm_step(&h, &c, &m, wrong), EBB_E_SHAPE);
    assert_null(h);
    assert_null(c);
    assert_status(ebb_nn_lstm_step(NULL, &c, &m, x), EBB_E_MISUSE);
}

/* A window of steps keeps no handle that its results do not need. */
static void an_unrolled_lstm_leaves_nothing(void **state)
{
    ebb_context *ctx = *state;
    ebb_nn_lstm m = ebb_nn_lstm_make(new_set(ctx), "cell", 3, 4);
    ebb_stats s;
    {
        EBB_SCOPE(scope);
        ebb_tensor *h = ebb_full(ctx, EBB_F32, EBB_SHAPE(2, 4), 0), *c = h;
        for (int t = 0; t < 20; t++)
            assert_ok(ebb_nn_lstm_step(&h, &c, &m, ebb_full(ctx, EBB_F32, EBB_SHAPE(2, 3), t)));
        assert_ok(ebb_backward(ebb_sum(h, EBB_ALL), NULL));
        ebb_stats_get(&s, ctx);
        assert_int_equal(s.live_nodes, 0);
    }
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 0);
}

static void linear_is_x_times_the_transposed_weight(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_nn_linear m = ebb_nn_linear_make(new_set(ctx), "l", 3, 2);
    static const float w[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20}, x[] = {1, 0, -1},
                       y[] = {8, 18};
    assert_ok(EBB_WRITE(m.weight, w, 6));
    assert_ok(EBB_WRITE(m.bias, b, 2));
    expect_close(ebb_nn_linear_forward(&m, EBB_FROM(ctx, EBB_SHAPE(1, 3), x, 3)), y, 2);
    ebb_tensor *wrong = ebb_full(ctx, EBB_F32, EBB_SHAPE(1, 4), 0);
    assert_null_with(ebb_nn_linear_forward(&m, wrong), EBB_E_SHAPE);
}

static void convolutions_have_the_shapes_asked_for(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    const ebb_conv2d_options o = {.stride = {2, 2}, .padding = {1, 1}, .groups = 2};
    ebb_nn_conv2d m = ebb_nn_conv2d_make(new_set(ctx), "c", 4, 6, 3, &o);
    assert_int_equal(ebb_dim(m.weight, 0), 6);
    assert_int_equal(ebb_dim(m.weight, 1), 2);
    ebb_tensor *y = ebb_nn_conv2d_forward(&m, ebb_full(ctx, EBB_F32, EBB_SHAPE(1, 4, 9, 7), 1));
    assert_int_equal(ebb_dim(y, 1), 6);
    assert_int_equal(ebb_dim(y, 2), 5);
    assert_int_equal(ebb_dim(y, 3), 4);
}

/* Rows 1 and 3 in a channel: mean 2, variance 1 (biased), 2 (unbiased, for the running one). */
static void batch_norm_learns_statistics_only_while_training(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_nn_batch_norm m = ebb_nn_batch_norm_make(new_set(ctx), "n", 1);
    static const float rows[] = {1, 3};
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(2, 1), rows, 2);
    const float unit = 1 / sqrtf(1 + 1e-5f), normed[] = {-unit, unit};
    expect_close(ebb_nn_batch_norm_forward(&m, x, true), normed, 2);
    assert_true(fabs(ebb_item(m.running_mean) - 0.2) < 1e-6);
    assert_true(fabs(ebb_item(m.running_var) - 1.1) < 1e-6);
    const float scale = 1 / sqrtf(1.1f + 1e-5f), evaluated[] = {0.8f * scale, 2.8f * scale};
    expect_close(ebb_nn_batch_norm_forward(&m, x, false), evaluated, 2);
    assert_true(fabs(ebb_item(m.running_mean) - 0.2) < 1e-6);
}

static void layer_norm_centres_each_row(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_nn_norm m = ebb_nn_norm_make(new_set(ctx), "n", 2);
    static const float rows[] = {1, 3, 10, 30};
    const float a = 1 / sqrtf(1 + 1e-5f), b = 10 / sqrtf(100 + 1e-5f), want[] = {-a, a, -b, b};
    expect_close(ebb_nn_norm_forward(&m, EBB_FROM(ctx, EBB_SHAPE(2, 2), rows, 4)), want, 4);
}

/* One head of width 1 with weights 1 and biases 0: softmax(x x') x, of x = (0, 1). */
static void attention_mixes_the_steps_of_each_sequence(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_nn_attention m = ebb_nn_attention_make(new_set(ctx), "a", 1, 1);
    static const float ones[] = {1, 1, 1}, two[] = {0, 1}, four[] = {0, 1, 2, 0};
    assert_ok(EBB_WRITE(m.in_weight, ones, 3));
    assert_ok(EBB_WRITE(m.out_weight, ones, 1));
    const float e = expf(1), want[] = {0.5f, e / (1 + e)};
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(1, 2, 1), two, 2);
    expect_close(ebb_nn_attention_forward(&m, x, EBB_NONE, NULL), want, 2);
    ebb_attention_options o = {.causal = true};
    const float alone[] = {0, e / (1 + e)};
    expect_close(ebb_nn_attention_forward(&m, x, EBB_NONE, &o), alone, 2);
    ebb_nn_attention two_heads = ebb_nn_attention_make(new_set(ctx), "b", 4, 2);
    x = EBB_FROM(ctx, EBB_SHAPE(1, 1, 4), four, 4);
    ebb_tensor *y = ebb_nn_attention_forward(&two_heads, x, EBB_NONE, NULL);
    assert_int_equal(ebb_dim(y, 2), 4);
    assert_ok(ebb_backward(ebb_sum(y, EBB_ALL), NULL));
    assert_true(ebb_has_grad(two_heads.in_weight) && ebb_has_grad(two_heads.out_bias));
    ebb_tensor *wrong = ebb_full(ctx, EBB_F32, EBB_SHAPE(1, 2, 3), 0);
    assert_null_with(ebb_nn_attention_forward(&two_heads, wrong, EBB_NONE, NULL), EBB_E_SHAPE);
    assert_null_with(ebb_nn_attention_forward(NULL, x, EBB_NONE, NULL), EBB_E_MISUSE);
}

static void a_sequence_at_once_is_its_steps_one_by_one(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_nn_lstm m = ebb_nn_lstm_make(new_set(ctx), "cell", 3, 2);
    ebb_tensor *x = ebb_normal(ctx, EBB_F32, EBB_SHAPE(4, 2, 3), 0, 1), *y;
    ebb_tensor *h = ebb_full(ctx, EBB_F32, EBB_SHAPE(2, 2), 0), *c = h;
    float states[4][4], last[4];
    for (int t = 0; t < 4; t++) {
        assert_ok(ebb_nn_lstm_step(&h, &c, &m, ebb_select(x, 0, t)));
        assert_ok(EBB_READ(h, states[t], 4));
    }
    assert_ok(EBB_READ(c, last, 4));
    h = c = EBB_NONE;
    assert_ok(ebb_nn_lstm_forward(&y, &h, &c, &m, x, NULL));
    expect_close(y, states[0], 16);
    expect_close(h, states[3], 4);
    expect_close(c, last, 4);
    assert_status(ebb_nn_lstm_forward(&y, &h, NULL, &m, x, NULL), EBB_E_MISUSE);
    ebb_nn_gru g = ebb_nn_gru_make(new_set(ctx), "g", 3, 2);
    h = EBB_NONE;
    assert_ok(ebb_nn_gru_forward(&y, &h, &g, x, NULL));
    assert_ok(EBB_READ(ebb_select(y, 0, 3), last, 4));
    expect_close(h, last, 4);
    assert_ok(ebb_backward(ebb_sum(y, EBB_ALL), NULL));
    assert_true(ebb_has_grad(g.w_x) && ebb_has_grad(g.w_h) && ebb_has_grad(g.b_h));
}

static void other_layers_have_the_shapes_asked_for(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_params *p = new_set(ctx);
    ebb_nn_conv1d c = ebb_nn_conv1d_make(p, "c", 4, 6, 3, &(ebb_conv1d_options){.groups = 2});
    ebb_tensor *y = ebb_nn_conv1d_forward(&c, ebb_full(ctx, EBB_F32, EBB_SHAPE(1, 4, 9), 1));
    assert_int_equal(ebb_dim(c.weight, 1), 2);
    assert_int_equal(ebb_dim(y, 2), 7);
    ebb_conv_transpose2d_options o = {.stride = {2, 2}, .output_padding = {1, 1}};
    ebb_nn_conv_transpose2d t = ebb_nn_conv_transpose2d_make(p, "t", 4, 6, 3, &o);
    y = ebb_nn_conv_transpose2d_forward(&t, ebb_full(ctx, EBB_F32, EBB_SHAPE(1, 4, 5, 3), 1));
    assert_int_equal(ebb_dim(y, 1), 6);
    assert_int_equal(ebb_dim(y, 2), 12);
    assert_int_equal(ebb_dim(y, 3), 8);
    static const float rows[] = {1, 3, 10, 30};
    const float a = 1 / sqrtf(1 + 1e-5f), b = 10 / sqrtf(100 + 1e-5f), want[] = {-a, a, -b, b};
    ebb_nn_group_norm n = ebb_nn_group_norm_make(p, "n", 2, 4);
    expect_close(ebb_nn_group_norm_forward(&n, EBB_FROM(ctx, EBB_SHAPE(1, 4), rows, 4)), want,
                 4);
    ebb_nn_embedding e = ebb_nn_embedding_make(p, "e", 5, 3);
    y = ebb_nn_embedding_forward(&e, ebb_full(ctx, EBB_I64, EBB_SHAPE(2), 4));
    assert_int_equal(ebb_dim(y, 0), 2);
    assert_int_equal(ebb_dim(y, 1), 3);
    assert_ok(ebb_params_status(p));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_lstm_cell_is_that_of_pytorch),
        TEST(an_unrolled_lstm_leaves_nothing),
        TEST(linear_is_x_times_the_transposed_weight),
        TEST(convolutions_have_the_shapes_asked_for),
        TEST(batch_norm_learns_statistics_only_while_training),
        TEST(layer_norm_centres_each_row),
        TEST(attention_mixes_the_steps_of_each_sequence),
        TEST(a_sequence_at_once_is_its_steps_one_by_one),
        TEST(other_layers_have_the_shapes_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
