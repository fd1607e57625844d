/* test_checkpoint.c - regions whose insides are made again: the same bits, one update of state,
 * less memory.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

enum { N = 4096 };

static ebb_tensor *ramp(ebb_context *ctx, double low, double high)
{
    static double x[N];
    for (int i = 0; i < N; i++) x[i] = low + (high - low) * i / N;
    return case_tensor(ctx, EBB_SHAPE(N), x, N);
}

static ebb_tensor *same(ebb_context *ctx, double value)
{
    return ramp(ctx, value, value);
}

static double first(ebb_tensor *t)
{
    static double x[N];
    GOOD(EBB_READ(t, x, N));
    for (int i = 1; i < N; i++) assert_true(x[i] == x[0]);
    return x[0];
}

static uint64_t runs_again(ebb_context *ctx)
{
    ebb_room_stats s;
    ebb_room_stats_get(&s, ctx);
    return s.n_recomputes;
}

static void dropout_draws_the_same_mask_again(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    static float y[N], g[N], ones[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    ebb_tensor *x = ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(N), ones, sizeof ones), *out;
    GOOD(ebb_set_requires_grad(x, true));
    {
        EBB_CHECKPOINT(region, ctx);
        out = ebb_escape(region, ebb_mul_scalar(ebb_dropout(x, 0.5), 1));
    }
    GOOD(EBB_READ(out, y, N));
    GOOD(case_backward_sum(out));
    GOOD(EBB_READ(ebb_grad_of(x), g, N));
    assert_memory_equal(y, g, sizeof y);
    int n_kept = 0;
    for (int i = 0; i < N; i++) n_kept += y[i] == 2;
    assert_true(n_kept > N / 3 && n_kept < N * 2 / 3);
    /* the stream was not moved by running anything again */
    ebb_context *plain;
    GOOD(ebb_context_create(&plain, &(ebb_context_options){.n_threads = 2, .seed = 3}));
    ebb_tensor *x2 = ebb_tensor_copy(plain, EBB_F32, EBB_SHAPE(N), ones, sizeof ones);
    static float a[N], b[N];
    GOOD(EBB_READ(ebb_dropout(x2, 0.5), b, N));
    assert_memory_equal(y, b, sizeof b);
    GOOD(EBB_READ(ebb_uniform(plain, EBB_F32, EBB_SHAPE(N), 0, 1), a, N));
    GOOD(EBB_READ(ebb_uniform(ctx, EBB_F32, EBB_SHAPE(N), 0, 1), b, N));
    assert_memory_equal(a, b, sizeof a);
    ebb_context_destroy(plain);
}

static void running_statistics_move_once(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    static double x0[2 * N];
    for (int i = 0; i < 2 * N; i++) x0[i] = i < N ? 1 : 3; /* each channel: 1 and 3 */
    ebb_tensor *x = case_tensor(ctx, EBB_SHAPE(2, N), x0, 2 * N), *out;
    GOOD(ebb_set_requires_grad(x, true));
    ebb_tensor *mean = same(ctx, 0), *var = same(ctx, 1);
    {
        EBB_CHECKPOINT(region, ctx);
        ebb_tensor *y = ebb_batch_norm(x, EBB_NONE, EBB_NONE, mean, var, NULL);
        out = ebb_escape(region, ebb_sum(ebb_exp(ebb_tanh(y)), EBB_ALL));
    }
    GOOD(ebb_backward(out, NULL));
    assert_true(runs_again(ctx) > 0);
    /* 0.9 * 0 + 0.1 * 2, 0.9 * 1 + 0.1 * 2: mean 2, unbiased variance 2 */
    assert_true(fabs(first(mean) - 0.2) < 1e-12);
    assert_true(fabs(first(var) - 1.1) < 1e-12);
}

static void parameters_of_the_region_get_their_gradients(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = same(ctx, 3), *w = same(ctx, 2), *y;
    GOOD(ebb_set_requires_grad(x, true));
    GOOD(ebb_set_requires_grad(w, true));
    {
        EBB_CHECKPOINT(region, ctx);
        y = ebb_escape(region, ebb_mul(w, ebb_square(x)));
    }
    GOOD(case_backward_sum(y));
    assert_true(first(ebb_grad_of(x)) == 12 && first(ebb_grad_of(w)) == 9);
    ebb_tensor *c = same(ctx, 1), *v = same(ctx, 2);
    GOOD(ebb_set_requires_grad(v, true));
    {
        EBB_CHECKPOINT(region, ctx);
        y = ebb_escape(region, ebb_mul(ebb_mul(v, v), c));
    }
    assert_true(ebb_requires_grad(y));
    GOOD(case_backward_sum(y));
    assert_true(first(ebb_grad_of(v)) == 4);
}

static void a_kept_region_is_made_again_for_each_backward(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = same(ctx, 0.3), *y;
    GOOD(ebb_set_requires_grad(x, true));
    {
        EBB_CHECKPOINT(region, ctx);
        y = ebb_escape(region, ebb_tanh(ebb_mul(ebb_exp(ebb_sin(x)), x)));
    }
    size_t bytes = case_bytes(ctx), saved = case_stats(ctx).saved_bytes;
    GOOD(ebb_backward_from(&y, NULL, 1, &(ebb_backward_options){.keep_graph = true}));
    assert_true(fabs(first(ebb_grad_of(x)) / 1.4758243974920893 - 1) < 1e-12);
    uint64_t once = runs_again(ctx);
    assert_true(once > 0);
    /* what was made again has gone again; the gradient has come */
    assert_int_equal(case_bytes(ctx), bytes + N * sizeof(double));
    assert_int_equal(case_stats(ctx).saved_bytes, saved);
    GOOD(case_backward_sum(y));
    assert_true(fabs(first(ebb_grad_of(x)) / 2.9516487949841786 - 1) < 1e-12);
    assert_int_equal(runs_again(ctx), 2 * once);
    REFUSED(EBB_E_GRAPH, case_backward_sum(y));
    assert_int_equal(case_stats(ctx).saved_bytes, 0);
}

static void second_derivatives_go_through(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = same(ctx, 1), *y, *d, *d2;
    GOOD(ebb_set_requires_grad(x, true));
    {
        EBB_CHECKPOINT(region, ctx);
        y = ebb_escape(region, ebb_sin(ebb_sin(x)));
    }
    ebb_tensor *sum = ebb_sum(y, EBB_ALL);
    GOOD(ebb_grad(&d, &sum, NULL, 1, &x, 1, &(ebb_grad_options){.create_graph = true}));
    sum = ebb_sum(d, EBB_ALL);
    GOOD(ebb_grad(&d2, &sum, NULL, 1, &x, 1, NULL));
    assert_true(fabs(first(y) / 0.7456241416655579 - 1) < 1e-14);
    assert_true(fabs(first(d) / 0.36003948908962097 - 1) < 1e-14);
    assert_true(fabs(first(d2) / -0.7783957884181089 - 1) < 1e-13);
}

enum { LAYERS = 6 };

/* Layers of two operations that save, each layer a region of its own, all in one more. */
static ebb_tensor *layers(ebb_context *ctx, ebb_tensor *x, int depth)
{
    for (int l = 0; l < LAYERS; l++) {
        if (depth == 0) {
            x = ebb_tanh(ebb_sin(ebb_exp(ebb_tanh(x))));
            continue;
        }
        EBB_CHECKPOINT(region, ctx);
        ebb_tensor *y = ebb_exp(ebb_tanh(x));
        if (depth > 1) {
            EBB_CHECKPOINT(inner, ctx);
            y = ebb_escape(inner, ebb_sin(y));
        } else {
            y = ebb_sin(y);
        }
        x = ebb_escape(region, ebb_tanh(y));
    }
    return x;
}

static void nested_regions_give_the_same_bits_with_less_memory(void **state)
{
    (void)state;
    static double want[N], got[N];
    size_t peak[3];
    for (int depth = 0; depth < 3; depth++) {
        ebb_context *ctx;
        GOOD(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 2}));
        {
            EBB_SCOPE(scope);
            ebb_tensor *x = ramp(ctx, 0.1, 0.9), *y;
            GOOD(ebb_set_requires_grad(x, true));
            {
                EBB_SCOPE(forward);
                y = ebb_escape(forward, layers(ctx, x, depth));
            }
            GOOD(case_backward_sum(y));
            GOOD(EBB_READ(ebb_grad_of(x), depth ? got : want, N));
        }
        peak[depth] = case_stats(ctx).peak_bytes;
        if (depth) assert_memory_equal(want, got, sizeof want);
        if (depth) assert_true(runs_again(ctx) >= LAYERS);
        ebb_context_destroy(ctx);
    }
    assert_true(peak[1] < peak[0] * 3 / 4);
    assert_true(peak[2] <= peak[1] + N * sizeof(double));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(dropout_draws_the_same_mask_again),
        CASE(running_statistics_move_once),
        CASE(parameters_of_the_region_get_their_gradients),
        CASE(a_kept_region_is_made_again_for_each_backward),
        CASE(second_derivatives_go_through),
        CASE(nested_regions_give_the_same_bits_with_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
