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
        /* the slope of relu, which is 1 where the mask is not 0, is read of what is made again */
        ebb_tensor *kept = ebb_relu(ebb_dropout(x, 0.5));
        out = ebb_escape(region, ebb_mul_scalar(kept, 1));
    }
    assert_int_equal(runs_again(ctx), 0);
    GOOD(EBB_READ(out, y, N));
    GOOD(case_backward_sum(out));
    assert_true(runs_again(ctx) >= 2);
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

/* Numbers of four kinds; what the inner part makes is a region of its own at depth 2. */
static ebb_tensor *noisy_layer(ebb_tensor *x, int depth)
{
    ebb_context *ctx = ebb_context_of(x);
    EBB_CHECKPOINT(region, depth > 0 ? ctx : NULL);
    ebb_tensor *h = ebb_tanh(ebb_dropout(x, 0.25));
    h = ebb_mul(h, ebb_normal(ctx, EBB_F64, EBB_SHAPE(N), 1, 0.1));
    {
        EBB_CHECKPOINT(inner, depth > 1 ? ctx : NULL);
        ebb_tensor *place = ebb_randint(ctx, EBB_I64, EBB_SHAPE(N), 0, N);
        ebb_tensor *some = ebb_bernoulli(ctx, EBB_F64, EBB_SHAPE(N), 0.75);
        h = ebb_sin(ebb_mul(ebb_gather(h, place, 0), some));
        h = ebb_escape(inner, ebb_dropout(ebb_exp(h), 0.125));
    }
    return ebb_escape(region, ebb_mul(ebb_square(h), x));
}

static void random_numbers_in_regions_are_those_without(void **state)
{
    (void)state;
    enum { NOISY = 3 };
    static double y[3][N], g[3][N], after[3][N];
    for (int depth = 0; depth < 3; depth++) {
        ebb_context *ctx;
        GOOD(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 2, .seed = 9}));
        ebb_scope scope = ebb_scope_begin(0, NULL);
        ebb_tensor *x = ramp(ctx, 0.1, 0.9), *out = x;
        GOOD(ebb_set_requires_grad(x, true));
        for (int l = 0; l < NOISY; l++) out = noisy_layer(out, depth);
        ebb_error_clear();
        GOOD(EBB_READ(out, y[depth], N));
        GOOD(case_backward_sum(out));
        GOOD(EBB_READ(ebb_grad_of(x), g[depth], N));
        GOOD(EBB_READ(ebb_uniform(ctx, EBB_F64, EBB_SHAPE(N), 0, 1), after[depth], N));
        /* in each layer both dropouts, three other draws and what reads them */
        assert_true(depth ? runs_again(ctx) >= NOISY * 8 : runs_again(ctx) == 0);
        assert_memory_equal(y[depth], y[0], sizeof y[0]);
        assert_memory_equal(g[depth], g[0], sizeof g[0]);
        assert_memory_equal(after[depth], after[0], sizeof after[0]);
        ebb_scope_end(scope);
        ebb_context_destroy(ctx);
    }
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

/* ---- operations that are not the same twice ----------------------------------------------- */

static int n_calls;

static ebb_status same_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype, s[0] = in[0].shape;
    return EBB_OK;
}

static ebb_status counts_its_calls(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                   const void *attr)
{
    (void)aux, (void)attr;
    n_calls++;
    for (int i = 0; i < N; i++)
        ((double *)out[0].data)[i] = ((double *)in[0].data)[i] + n_calls;
    return EBB_OK;
}

static ebb_status passes_on(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_vjp_grad(v, 0));
    return EBB_OK;
}

static void an_operation_that_differs_when_run_again_is_found_and_named(void **state)
{
    (void)state;
    ebb_custom op = {.name = "drifts",
                     .n_in = 1,
                     .n_out = 1,
                     .shape = same_shape,
                     .forward = counts_its_calls,
                     .vjp = passes_on};
    ebb_context *ctx;
    GOOD(ebb_context_create(&ctx, &(ebb_context_options){.check_recompute = true}));
    for (int allowed = 0; allowed < 2; allowed++) {
        EBB_SCOPE(scope);
        ebb_tensor *x = ramp(ctx, 0.1, 0.9), *y;
        GOOD(ebb_set_requires_grad(x, true));
        {
            EBB_CHECKPOINT(region, ctx);
            GOOD(ebb_apply(&y, &op, &x, NULL));
            y = ebb_escape(region, ebb_tanh(ebb_sin(y)));
        }
        ebb_status status = case_backward_sum(y);
        if (allowed) {
            assert_int_equal(status, EBB_OK);
        } else {
            assert_int_equal(status, EBB_E_MISUSE);
            assert_non_null(strstr(ebb_error_message(), "drifts: run again"));
            assert_false(ebb_has_grad(x));
            ebb_error_clear();
        }
        op.flags = EBB_CUSTOM_NO_RECOMPUTE;
    }
    ebb_context_destroy(ctx);
}

/* By-products that a rule reads belong to the run that is seen, noise filled in by the kernel. */
static ebb_status noise_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    for (int k = 0; k < 2; k++) d[k] = in[0].dtype, s[k] = in[0].shape;
    return EBB_OK;
}

static ebb_status noise(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                        const void *attr)
{
    uint32_t seed = *(const uint32_t *)attr;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        double slope = 0.1 + 0.8 * seed / 4294967296.0;
        ((double *)aux[0].data)[i] = slope;
        ((double *)out[0].data)[i] = ((double *)in[0].data)[i] * slope;
    }
    return EBB_OK;
}

static ebb_status noise_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), ebb_vjp_aux(v, 0)));
    return EBB_OK;
}

static void noise_drawn_inside_is_the_noise_of_the_gradient(void **state)
{
    (void)state;
    const ebb_custom op = {.name = "noise",
                           .n_in = 1,
                           .n_out = 1,
                           .n_aux = 1,
                           .attr_bytes = sizeof(uint32_t),
                           .need = {EBB_NEED_AUX(0)},
                           .shape = noise_shape,
                           .forward = noise,
                           .vjp = noise_vjp};
    static double y0[N], g[3][N];
    for (int mode = 0; mode < 3; mode++) { /* plain, a region, a budget */
        ebb_context *ctx;
        GOOD(ebb_context_create(
            &ctx, &(ebb_context_options){.memory_budget_bytes = mode == 2 ? 400000 : 0,
                                         .check_recompute = true}));
        ebb_scope scope = ebb_scope_begin(0, NULL);
        ebb_tensor *x = same(ctx, -1), *y;
        GOOD(ebb_set_requires_grad(x, true));
        ebb_checkpoint region = ebb_checkpoint_begin(mode == 1 ? ctx : NULL);
        ebb_error_clear();
        ebb_scope inside = ebb_scope_begin(0, NULL);
        GOOD(ebb_apply(&y, &op, &x, &(uint32_t){7}));
        y = ebb_escape(inside, y);
        ebb_tensor *kept = ebb_keep(y);
        ebb_scope_end(inside);
        ebb_checkpoint_end(&region);
        ebb_tensor *more[6];
        for (int i = 0; i < 6; i++)
            more[i] = ebb_exp(i ? more[i - 1] : x); /* to be given up for */
        GOOD(EBB_READ(kept, y0, N));
        GOOD(case_backward_sum(kept));
        GOOD(EBB_READ(ebb_grad_of(x), g[mode], N));
        for (int i = 0; i < N; i++) assert_true(g[mode][i] == -y0[i]);
        assert_memory_equal(g[mode], g[0], sizeof g[0]);
        ebb_room_stats s;
        ebb_room_stats_get(&s, ctx);
        assert_true(mode != 2 || s.n_evictions > 0);
        ebb_release(kept);
        ebb_scope_end(scope);
        ebb_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(dropout_draws_the_same_mask_again),
        cmocka_unit_test(random_numbers_in_regions_are_those_without),
        CASE(running_statistics_move_once),
        CASE(parameters_of_the_region_get_their_gradients),
        CASE(a_kept_region_is_made_again_for_each_backward),
        CASE(second_derivatives_go_through),
        cmocka_unit_test(an_operation_that_differs_when_run_again_is_found_and_named),
        cmocka_unit_test(noise_drawn_inside_is_the_noise_of_the_gradient),
        CASE(nested_regions_give_the_same_bits_with_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
