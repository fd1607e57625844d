/* test_values_layers.c - what layers compute at their edges: ties, NaN, infinities, padding,
 * windows that are cut off, nothing to see, nothing at all. Expected values by hand.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

/* ---- pools ------------------------------------------------------------------------------ */
static void the_first_maximum_gets_the_gradient_and_nan_wins(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(1, 1, 6), 2, 2, NAN, 1, -3, -4));
    ebb_tensor *y = ebb_max_pool1d(x, 2, NULL);
    EXPECT(y, 0, 2, NAN, -3);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(1, 1, 3), 1, 10, 100)));
    EXPECT_GRAD(x, 0, 1, 0, 10, 0, 100, 0);
    ebb_tensor *z = case_leaf(MAT(EBB_SHAPE(1, 1, 1, 4), 5, 5, NAN, NAN));
    y = ebb_adaptive_max_pool2d(z, 1, 2);
    EXPECT(y, 0, 5, NAN);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(1, 1, 1, 2), 1, 10)));
    EXPECT_GRAD(z, 0, 1, 0, 10, 0);
}

static void padding_never_is_a_maximum(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(1, 1, 3), -5, -6, -INFINITY);
    ebb_pool1d_options o = {.stride = 2, .padding = 1};
    EXPECT(ebb_max_pool1d(x, 3, &o), 0, -5, -6);
    EXPECT(ebb_max_pool1d(MAT(EBB_SHAPE(1, 1, 1), -INFINITY), 1, NULL), 0, -INFINITY);
    o = (ebb_pool1d_options){.padding = 2};
    assert_null(ebb_max_pool1d(x, 3, &o));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    /* Places -1 and 3 of three: the window steps over the whole image. */
    o = (ebb_pool1d_options){.padding = 1, .dilation = 4};
    assert_null(ebb_max_pool1d(x, 2, &o));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

/* 1 to 5 in windows of 2 and 3: the last is what is left, unless it would begin behind all. */
static void a_last_window_is_cut_off(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(1, 1, 5), 1, 2, 3, 4, 5);
    EXPECT(ebb_max_pool1d(x, 2, NULL), 0, 2, 4);
    EXPECT(ebb_max_pool1d(x, 2, &(ebb_pool1d_options){.ceil_mode = true}), 0, 2, 4, 5);
    ebb_avg_pool1d_options o = {.ceil_mode = true};
    EXPECT(ebb_avg_pool1d(x, 2, &o), 0, 1.5, 3.5, 5);
    /* With padding 1 the last window of (., 1), (2, 3), (4, 5), (., nothing) is none. */
    o = (ebb_avg_pool1d_options){.ceil_mode = true, .padding = 1};
    EXPECT(ebb_avg_pool1d(x, 2, &o), 0, 0.5, 2.5, 4.5);
    o.exclude_padding = true;
    EXPECT(ebb_avg_pool1d(x, 2, &o), 0, 1, 2.5, 4.5);
    /* (., 1, 2), (3, 4, 5); with stride 4: (., 1, 2), (4, 5, .), divided by 3. */
    o = (ebb_avg_pool1d_options){.padding = 1, .stride = 4};
    EXPECT(ebb_avg_pool1d(x, 3, &o), 1e-15, 1, 3);
    o.divisor = 10;
    EXPECT(ebb_avg_pool1d(x, 3, &o), 1e-15, 0.3, 0.9);
}

static void adaptive_windows_overlap_where_sides_do_not_divide(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(1, 1, 5), 1, 2, 3, 4, 5));
    ebb_tensor *y = ebb_adaptive_avg_pool1d(x, 3);
    EXPECT(y, 0, 1.5, 3, 4.5);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(1, 1, 3), 2, 3, 4)));
    EXPECT_GRAD(x, 0, 1, 2, 1, 3, 2);
    EXPECT(ebb_adaptive_max_pool1d(x, 3), 0, 2, 4, 5);
    EXPECT(ebb_adaptive_avg_pool1d(x, 10), 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5);
    assert_null(ebb_adaptive_avg_pool1d(x, 0));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_adaptive_avg_pool1d(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(1, 1, 0)), 2));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

/* ---- resampling ------------------------------------------------------------------------- */
static void interpolation_stays_inside_and_keeps_points(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    typedef ebb_interpolate_options options;
    ebb_tensor *x = MAT(EBB_SHAPE(1, 1, 2), 0, 12);
    EXPECT(ebb_interpolate(x, &(options){.size = EBB_SHAPE(3)}), 0, 0, 0, 12);
    EXPECT(ebb_interpolate(x, &(options){.size = EBB_SHAPE(4), .linear = true}), 0, 0, 3, 9,
           12);
    options o = {.size = EBB_SHAPE(4), .linear = true, .align_corners = true};
    EXPECT(ebb_interpolate(x, &o), 1e-15, 0, 4, 8, 12);
    o.size = EBB_SHAPE(1);
    EXPECT(ebb_interpolate(x, &o), 0, 0);
    /* An infinity reaches as far as it has weight. */
    o.size = EBB_SHAPE(5);
    x = MAT(EBB_SHAPE(1, 1, 3), 1, 2, INFINITY);
    EXPECT(ebb_interpolate(x, &o), 0, 1, 1.5, 2, INFINITY, INFINITY);
    EXPECT(ebb_interpolate(x, &(options){.scale = 1.5}), 0, 1, 1, 2, INFINITY);
    assert_null(ebb_interpolate(x, NULL));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_interpolate(x, &(options){.size = EBB_SHAPE(2), .align_corners = true}));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    assert_null(ebb_interpolate(x, &(options){.scale = 0.2}));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

static void channels_become_places_and_back(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_arange(ctx, EBB_I64, 0, 8, 1);
    ebb_tensor *y = ebb_pixel_shuffle(ebb_reshape(x, EBB_SHAPE(4, 1, 2)), 2);
    assert_true(case_has_shape(y, EBB_SHAPE(1, 2, 4)));
    EXPECT(y, 0, 0, 2, 1, 3, 4, 6, 5, 7);
    EXPECT(ebb_pixel_unshuffle(y, 2), 0, 0, 1, 2, 3, 4, 5, 6, 7);
    assert_null(ebb_pixel_shuffle(y, 2));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_null(ebb_pixel_shuffle(y, 0));
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

static void output_padding_is_less_than_the_stride(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(1, 1, 2), 1, 10), *w = MAT(EBB_SHAPE(1, 1, 2), 1, 2);
    ebb_conv_transpose1d_options o = {.stride = 2, .output_padding = 1};
    EXPECT(ebb_conv_transpose1d(x, w, EBB_NONE, &o), 0, 1, 2, 10, 20, 0);
    o.output_padding = 2;
    assert_null(ebb_conv_transpose1d(x, w, EBB_NONE, &o));
    REFUSED(EBB_E_RANGE, ebb_error_status());
    o = (ebb_conv_transpose1d_options){.padding = 2};
    assert_null(ebb_conv_transpose1d(x, w, EBB_NONE, &o));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

/* ---- norms ------------------------------------------------------------------------------ */
static void a_group_of_one_number_is_its_bias(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(1, 2), 7, 9), *w = VEC(3, 3), *b = VEC(1, 2);
    EXPECT(ebb_group_norm(x, w, b, 2, NULL), 0, 1, 2);
    /* A NaN stays in its group. */
    x = MAT(EBB_SHAPE(1, 2, 2), NAN, 1, 4, 4);
    EXPECT(ebb_group_norm(x, EBB_NONE, b, 2, NULL), 0, NAN, NAN, 2, 2);
    assert_null(ebb_group_norm(x, EBB_NONE, b, 0, NULL));
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

static void running_statistics_need_something_to_learn_from(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *mean = VEC(5), *var = VEC(6);
    ebb_tensor *none = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 1, 4));
    ebb_tensor *y = ebb_instance_norm(none, EBB_NONE, EBB_NONE, mean, var, NULL);
    assert_true(case_has_shape(y, EBB_SHAPE(0, 1, 4)));
    EXPECT(mean, 0, 5);
    EXPECT(var, 0, 6);
    ebb_tensor *one = MAT(EBB_SHAPE(2, 1, 1), 1, 2);
    assert_null(ebb_instance_norm(one, EBB_NONE, EBB_NONE, mean, var, NULL));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
    assert_null(ebb_instance_norm(one, EBB_NONE, EBB_NONE, mean, EBB_NONE,
                                  &(ebb_norm_options){.inference = true}));
    REFUSED(EBB_E_MISUSE, ebb_error_status());
}

static void a_row_of_zeros_has_a_finite_slope(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(1, 2), 0, 0));
    ebb_tensor *y = ebb_rms_norm(x, EBB_NONE, &(ebb_rms_norm_options){.eps = 0.25});
    EXPECT(y, 0, 0, 0);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(1, 2), 3, 5)));
    EXPECT_GRAD(x, 0, 6, 10);
    /* No eps given: that of the element type, 2^-52. */
    EXPECT(ebb_rms_norm(MAT(EBB_SHAPE(1), 0x1p-26), EBB_NONE, NULL), 1e-15, M_SQRT1_2);
}

static void an_even_window_of_channels_leans_forward(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(1, 3, 1), 1, 2, 3);
    ebb_local_response_norm_options o = {.alpha = 1, .beta = 1};
    EXPECT(ebb_local_response_norm(x, 2, &o), 1e-15, 1 / 1.5, 2 / 3.5, 3 / 7.5);
}

/* ---- attention -------------------------------------------------------------------------- */
static void a_place_that_sees_nothing_is_zero(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *q = case_leaf(MAT(EBB_SHAPE(2, 1), 1, 2));
    ebb_tensor *k = case_leaf(MAT(EBB_SHAPE(2, 1), 3, 3));
    ebb_tensor *v = case_leaf(MAT(EBB_SHAPE(2, 1), 4, 8));
    ebb_tensor *term = MAT(EBB_SHAPE(2, 2), 0, 0, -INFINITY, -INFINITY);
    ebb_tensor *y = ebb_scaled_dot_product_attention(q, k, v, term, NULL);
    EXPECT(y, 0, 6, 0);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(2, 1), 1, 100)));
    EXPECT_GRAD(q, 0, 0, 0);
    EXPECT_GRAD(v, 1e-15, 0.5, 0.5);
    ebb_tensor *seen = ebb_cast(MAT(EBB_SHAPE(2, 2), 0, 1, 0, 0), EBB_BOOL);
    EXPECT(ebb_scaled_dot_product_attention(q, k, v, seen, NULL), 0, 8, 0);
    /* The same by the formula that a mask with a gradient takes. */
    ebb_tensor *learned = case_leaf(MAT(EBB_SHAPE(2, 2), 0, 0, -INFINITY, -INFINITY));
    y = ebb_scaled_dot_product_attention(q, k, v, learned, NULL);
    GOOD(case_backward_with(y, MAT(EBB_SHAPE(2, 1), 1, 100)));
    EXPECT_GRAD(learned, 1e-15, -1, 1, 0, 0);
    ebb_tensor *no_keys = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 1));
    EXPECT(ebb_scaled_dot_product_attention(q, no_keys, no_keys, EBB_NONE, NULL), 0, 0, 0);
}

static void a_nan_stays_with_the_places_that_see_it(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *q = MAT(EBB_SHAPE(2, 1), 0, 0), *k = MAT(EBB_SHAPE(2, 1), 1, NAN);
    ebb_tensor *v = MAT(EBB_SHAPE(2, 1), 4, 8);
    ebb_attention_options o = {.causal = true};
    EXPECT(ebb_scaled_dot_product_attention(q, k, v, EBB_NONE, &o), 0, 4, NAN);
    k = MAT(EBB_SHAPE(2, 1), 1, 1), q = MAT(EBB_SHAPE(2, 1), NAN, 0);
    EXPECT(ebb_scaled_dot_product_attention(q, k, v, EBB_NONE, NULL), 0, NAN, 6);
    ebb_tensor *mask = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(3, 3));
    assert_null(ebb_scaled_dot_product_attention(q, k, v, mask, NULL));
    REFUSED(EBB_E_SHAPE, ebb_error_status());
}

/* Equal weights of 1/4, of which some fall and the others double; the values show which. */
static void dropped_weights_are_the_same_in_the_gradient(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { L = 6, S = 4 };
    ebb_tensor *q = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(L, 2));
    ebb_tensor *k = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(S, 2));
    ebb_tensor *v = case_leaf(ebb_eye(ctx, EBB_F64, S));
    ebb_attention_options o = {.dropout_p = 0.5};
    ebb_tensor *y = ebb_scaled_dot_product_attention(q, k, v, EBB_NONE, &o);
    double weight[L][S], slope[S][S], kept = 0;
    GOOD(ebb_read(weight, sizeof weight, EBB_F64, y));
    GOOD(case_backward_sum(y));
    GOOD(ebb_read(slope, sizeof slope, EBB_F64, ebb_grad_of(v)));
    for (int j = 0; j < S; j++) {
        double sum = 0;
        for (int i = 0; i < L; i++) {
            assert_true(weight[i][j] == 0 || weight[i][j] == 0.5);
            sum += weight[i][j];
        }
        for (int e = 0; e < S; e++) assert_true(fabs(slope[j][e] - sum) < 1e-14);
        kept += sum;
    }
    assert_true(kept > 0 && kept < L * S * 0.5);
    o.dropout_p = 1;
    assert_null(ebb_scaled_dot_product_attention(q, k, v, EBB_NONE, &o));
    REFUSED(EBB_E_RANGE, ebb_error_status());
}

/* 2,048 places: the scores of one head alone would be 16 MiB in f32. */
static void attention_needs_no_room_for_its_scores(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { L = 2048, D = 16 };
    ebb_tensor *part[3];
    for (int i = 0; i < 3; i++)
        part[i] = case_leaf(ebb_normal(ctx, EBB_F32, EBB_SHAPE(L, D), 0, 1));
    ebb_attention_options o = {.causal = true};
    ebb_tensor *y = ebb_scaled_dot_product_attention(part[0], part[1], part[2], EBB_NONE, &o);
    GOOD(case_backward_sum(y));
    assert_true(ebb_has_grad(part[0]));
    ebb_stats s = case_stats(ctx);
    if (s.peak_bytes > 3u << 20) fail_msg("peak: %zu bytes", s.peak_bytes);
}

/* ---- recurrent -------------------------------------------------------------------------- */
/* w_ih = 1, w_hh = 2, relu: h = max(x + 2 h, 0). */
static void absent_states_are_zeros_and_the_last_state_is_the_last_made(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = MAT(EBB_SHAPE(3, 1, 1), 1, 10, 100), *one = MAT(EBB_SHAPE(1, 1), 1);
    ebb_tensor *two = MAT(EBB_SHAPE(1, 1), 2), *y, *h, *no = EBB_NONE;
    ebb_rnn_options o = {.relu = true};
    GOOD(ebb_rnn(&y, &h, x, no, one, two, no, no, &o));
    EXPECT(y, 0, 1, 12, 124);
    EXPECT(h, 0, 124);
    o.reverse = true;
    GOOD(ebb_rnn(&y, &h, x, one, one, two, no, no, &o));
    EXPECT(y, 0, 429, 214, 102);
    EXPECT(h, 0, 429);
    ebb_tensor *none = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 1, 1));
    REFUSED(EBB_E_SHAPE, ebb_rnn(&y, &h, none, no, one, two, no, no, NULL));
    assert_null(y);
    assert_null(h);
}

static void gates_saturate_without_nan(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 1, 1), 1e300, -1e300)), *no = EBB_NONE;
    ebb_tensor *w = ebb_ones(ctx, EBB_F64, EBB_SHAPE(4, 1)), *y, *h, *c;
    GOOD(ebb_lstm(&y, &h, &c, x, no, no, w, w, no, no, NULL));
    EXPECT(y, 1e-15, tanh(1), 0);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 0, 0);
    ebb_tensor *three = ebb_ones(ctx, EBB_F64, EBB_SHAPE(3, 1));
    GOOD(ebb_gru(&y, &h, x, no, three, three, no, no, NULL));
    EXPECT(y, 1e-15, 0, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_maximum_gets_the_gradient_and_nan_wins),
        CASE(padding_never_is_a_maximum),
        CASE(a_last_window_is_cut_off),
        CASE(adaptive_windows_overlap_where_sides_do_not_divide),
        CASE(interpolation_stays_inside_and_keeps_points),
        CASE(channels_become_places_and_back),
        CASE(output_padding_is_less_than_the_stride),
        CASE(a_group_of_one_number_is_its_bias),
        CASE(running_statistics_need_something_to_learn_from),
        CASE(a_row_of_zeros_has_a_finite_slope),
        CASE(an_even_window_of_channels_leans_forward),
        CASE(a_place_that_sees_nothing_is_zero),
        CASE(a_nan_stays_with_the_places_that_see_it),
        CASE(dropped_weights_are_the_same_in_the_gradient),
        CASE(attention_needs_no_room_for_its_scores),
        CASE(absent_states_are_zeros_and_the_last_state_is_the_last_made),
        CASE(gates_saturate_without_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
