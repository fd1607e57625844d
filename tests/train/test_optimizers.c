/* test_optimizers.c - steps against PyTorch's, ebb_minimize all or nothing, what a step leaves.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include "data/golden_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void make_optimizer(ebb_optimizer **out, ebb_params *p, const struct golden_optimizer *g)
{
    const ebb_sgd_options sgd = {
        .momentum = g->momentum, .weight_decay = g->weight_decay, .nesterov = g->nesterov};
    const ebb_adam_options adam = {
        .betas = {g->betas[0], g->betas[1]}, .eps = g->eps, .weight_decay = g->weight_decay};
    if (strcmp(g->kind, "sgd") == 0)
        assert_ok(ebb_sgd_create(out, p, g->lr, &sgd));
    else if (strcmp(g->kind, "adam") == 0)
        assert_ok(ebb_adam_create(out, p, g->lr, &adam));
    else
        assert_ok(ebb_adamw_create(out, p, g->lr, &adam));
}

/* A loss whose gradient is exactly g. */
static ebb_tensor *linear_loss(ebb_context *ctx, ebb_tensor *w, const double *g, int64_t n)
{
    ebb_tensor *weights = ebb_cast(vector(ctx, n, g), ebb_dtype_of(w));
    return ebb_sum(ebb_mul(w, weights), EBB_ALL);
}

static ebb_tensor *param_of(ebb_params *p, const char *name, ebb_dtype d, const double *values,
                            int64_t n)
{
    ebb_tensor *w = ebb_param(p, name, d, EBB_SHAPE(n), ebb_constant(0));
    assert_non_null(w);
    if (values) assert_ok(ebb_write(w, EBB_F64, values, (size_t)n * sizeof *values));
    return w;
}

static void follow(ebb_context *ctx, const struct golden_optimizer *g, ebb_dtype d)
{
    ebb_params *p;
    ebb_optimizer *opt;
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *w = param_of(p, "w", d, golden_start, GOLDEN_N);
    make_optimizer(&opt, p, g);
    for (int step = 0; step < GOLDEN_STEPS; step++) {
        EBB_SCOPE(scope);
        double got[GOLDEN_N];
        assert_ok(
            ebb_minimize(opt, linear_loss(ctx, w, golden_gradient[step], GOLDEN_N), NULL));
        assert_ok(ebb_read(got, sizeof got, EBB_F64, w));
        for (int i = 0; i < GOLDEN_N; i++) {
            const double want = d == EBB_F64 ? g->f64[step][i] : g->f32[step][i];
            const double tolerance = d == EBB_F64 ? 1e-13 : 1e-6;
            if (!(fabs(got[i] - want) <= tolerance * fmax(1, fabs(want))))
                fail_msg("%s, %s, step %d, element %d: %.17g, PyTorch has %.17g", g->name,
                         ebb_dtype_name(d), step, i, got[i], want);
        }
    }
    ebb_optimizer_release(opt);
    ebb_params_release(p);
}

static void steps_are_those_of_pytorch(void **state)
{
    for (size_t i = 0; i < sizeof golden_optimizers / sizeof *golden_optimizers; i++) {
        follow(*state, &golden_optimizers[i], EBB_F64);
        follow(*state, &golden_optimizers[i], EBB_F32);
    }
}

static void after_a_step_only_parameters_and_state_are_left(void **state)
{
    ebb_context *ctx = *state;
    ebb_params *p;
    ebb_optimizer *opt;
    ebb_stats s;
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *w = ebb_param(p, "w", EBB_F32, EBB_SHAPE(16, 8), ebb_kaiming_uniform());
    ebb_tensor *b = ebb_param(p, "b", EBB_F64, EBB_SHAPE(3), ebb_constant(1));
    assert_ok(ebb_adam_create(&opt, p, 0.1, NULL));
    const size_t parameters = 128 * 4 + 3 * 8;
    for (int step = 0; step < 3; step++) {
        {
            EBB_SCOPE(scope);
            ebb_tensor *loss = ebb_add(ebb_sum(ebb_square(ebb_cast(w, EBB_F64)), EBB_ALL),
                                       ebb_sum(ebb_exp(b), EBB_ALL));
            assert_ok(ebb_minimize(opt, loss, NULL));
        }
        ebb_stats_get(&s, ctx);
        assert_int_equal(s.bytes[EBB_KIND_PARAMETER], parameters);
        assert_int_equal(s.bytes[EBB_KIND_OPTIMIZER], 2 * parameters);
        assert_int_equal(s.bytes[EBB_KIND_GRADIENT], 0);
        assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 0);
        assert_int_equal(s.bytes[EBB_KIND_TEMPORARY], 0);
        assert_int_equal(s.live_nodes, 0);
    }
    ebb_optimizer_release(opt);
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.bytes[EBB_KIND_OPTIMIZER], 0);
    ebb_params_release(p);
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.bytes[EBB_KIND_PARAMETER], 0);
}

static void a_parameter_without_gradient_is_left_alone(void **state)
{
    ebb_context *ctx = *state;
    static const double ones[] = {1, 1};
    double got[2];
    ebb_params *p;
    ebb_optimizer *opt;
    EBB_SCOPE(scope);
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *used = param_of(p, "used", EBB_F64, ones, 2);
    ebb_tensor *unused = param_of(p, "unused", EBB_F64, ones, 2);
    assert_ok(ebb_adamw_create(&opt, p, 0.1, &(ebb_adam_options){.weight_decay = 0.5}));
    assert_ok(ebb_minimize(opt, linear_loss(ctx, used, ones, 2), NULL));
    assert_ok(EBB_READ(unused, got, 2));
    assert_true(got[0] == 1 && got[1] == 1); /* no decay either */
    assert_ok(EBB_READ(used, got, 2));
    assert_true(got[0] < 1);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.bytes[EBB_KIND_OPTIMIZER], 2 * 16);
}

static void gradients_add_up_until_the_step(void **state)
{
    ebb_context *ctx = *state;
    static const double g[] = {1, -2}, start[] = {5, 5};
    double got[2];
    ebb_params *p;
    ebb_optimizer *opt;
    EBB_SCOPE(scope);
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *w = param_of(p, "w", EBB_F64, start, 2);
    assert_ok(ebb_sgd_create(&opt, p, 0.5, NULL));
    for (int i = 0; i < 3; i++) assert_ok(ebb_backward(linear_loss(ctx, w, g, 2), NULL));
    assert_ok(ebb_optimizer_step(opt));
    assert_ok(EBB_READ(w, got, 2));
    assert_true(got[0] == 5 - 0.5 * 3 && got[1] == 5 + 0.5 * 6);
    assert_false(ebb_has_grad(w));
    assert_status(ebb_optimizer_step(opt), EBB_E_MISUSE);
    ebb_optimizer_set_lr(opt, 0.25);
    assert_true(ebb_optimizer_lr(opt) == 0.25);
    assert_ok(ebb_minimize(opt, linear_loss(ctx, w, g, 2), NULL));
    assert_ok(EBB_READ(w, got, 2));
    assert_true(got[0] == 3.25 && got[1] == 8.5);
}

static void minimize_touches_only_its_own_parameters(void **state)
{
    ebb_context *ctx = *state;
    static const double ones[] = {1, 1};
    double got[2];
    ebb_params *p;
    ebb_optimizer *opt;
    EBB_SCOPE(scope);
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *mine = param_of(ebb_params_sub(p, "mine"), "w", EBB_F64, ones, 2);
    ebb_tensor *other = param_of(ebb_params_sub(p, "other"), "w", EBB_F64, ones, 2);
    assert_ok(ebb_sgd_create(&opt, ebb_params_sub(p, "mine"), 0.5, NULL));
    ebb_tensor *loss = ebb_sum(ebb_mul(mine, other), EBB_ALL);
    assert_ok(ebb_minimize(opt, loss, NULL));
    assert_false(ebb_has_grad(other));
    assert_ok(EBB_READ(mine, got, 2));
    assert_true(got[0] == 0.5);
    assert_ok(EBB_READ(other, got, 2));
    assert_true(got[0] == 1);
}

static void clipping_bounds_the_joint_norm(void **state)
{
    ebb_context *ctx = *state;
    static const double three[] = {3, 0}, four[] = {-4};
    double got[2], norm = 0;
    ebb_params *p;
    EBB_SCOPE(scope);
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *a = param_of(p, "a", EBB_F32, NULL, 2), *b = param_of(p, "b", EBB_F64, NULL, 1);
    ebb_tensor *loss =
        ebb_add(ebb_cast(linear_loss(ctx, a, three, 2), EBB_F64), linear_loss(ctx, b, four, 1));
    assert_ok(ebb_backward(loss, NULL));
    assert_ok(ebb_params_clip_grad_norm(&norm, p, 10));
    assert_true(norm == 5);
    assert_true(grad_item(b) == -4);
    assert_ok(ebb_params_clip_grad_norm(&norm, p, 2));
    assert_true(norm == 5);
    assert_true(fabs(grad_item(b) + 1.6) < 1e-12);
    assert_ok(ebb_read(got, sizeof got, EBB_F64, ebb_grad_of(a)));
    assert_true(fabs(got[0] - 1.2) < 1e-6 && got[1] == 0);
    assert_status(ebb_params_clip_grad_norm(&norm, p, 0), EBB_E_RANGE);
    assert_status(ebb_params_clip_grad_norm(&norm, p, -1), EBB_E_RANGE);
    assert_ok(ebb_params_clear_grads(p));
    assert_false(ebb_has_grad(a));
    assert_ok(ebb_params_clip_grad_norm(&norm, p, 1));
    assert_true(norm == 0);
}

static void gradients_of_16_bits_are_clipped_with_the_others(void **state)
{
    ebb_context *ctx = *state;
    double got[2], norm = 0;
    ebb_params *p;
    EBB_SCOPE(scope);
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *a = param_of(p, "a", EBB_F16, NULL, 2), *b = param_of(p, "b", EBB_F64, NULL, 1);
    ebb_tensor *c = param_of(p, "c", EBB_BF16, NULL, 1);
    ebb_tensor *loss = ebb_add(ebb_cast(ebb_sum(ebb_mul_scalar(a, 2), EBB_ALL), EBB_F64),
                               ebb_sum(ebb_mul_scalar(b, -1), EBB_ALL));
    loss = ebb_add(loss, ebb_cast(ebb_sum(ebb_mul_scalar(c, 4), EBB_ALL), EBB_F64));
    assert_ok(ebb_backward(loss, NULL));
    assert_ok(ebb_params_clip_grad_norm(&norm, p, 1)); /* of 2, 2, -1, 4 */
    assert_true(norm == 5);
    assert_ok(ebb_read(got, sizeof got, EBB_F64, ebb_grad_of(a)));
    assert_true(fabs(got[0] - 0.4) < 0.4 * 0x1p-11 && got[1] == got[0]);
    assert_true(fabs(grad_item(b) + 0.2) < 1e-15);
    assert_true(fabs(grad_item(c) - 0.8) < 0.8 * 0x1p-8);
    assert_int_equal(ebb_dtype_of(ebb_grad_of(a)), EBB_F16);
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state)
{
    ebb_context *ctx = *state;
    static const double start[] = {1, 2};
    const double g[] = {NAN, 1};
    double got[2];
    ebb_params *p;
    ebb_optimizer *opt;
    EBB_SCOPE(scope);
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *w = param_of(p, "w", EBB_F64, start, 2);
    assert_ok(ebb_sgd_create(&opt, p, 1, &(ebb_sgd_options){.momentum = 0.9}));
    const ebb_minimize_options clip = {.clip_grad_norm = 1};
    assert_status(ebb_minimize(opt, linear_loss(ctx, w, g, 2), &clip), EBB_E_RANGE);
    assert_false(ebb_has_grad(w));
    assert_ok(EBB_READ(w, got, 2));
    assert_memory_equal(got, start, sizeof start);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.bytes[EBB_KIND_OPTIMIZER], 0);
}

static void minimize_refuses_slots_that_hold_something(void **state)
{
    ebb_context *ctx = *state;
    static const double ones[] = {1, 1};
    ebb_params *p;
    ebb_optimizer *opt;
    EBB_SCOPE(scope);
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *w = param_of(p, "layer.w", EBB_F64, ones, 2);
    assert_ok(ebb_sgd_create(&opt, p, 1, NULL));
    assert_ok(ebb_backward(linear_loss(ctx, w, ones, 2), NULL));
    ebb_tensor *loss = linear_loss(ctx, w, ones, 2);
    assert_int_equal(ebb_minimize(opt, loss, NULL), EBB_E_MISUSE);
    assert_non_null(strstr(ebb_error_message(), "layer.w"));
    assert_non_null(strstr(ebb_error_message(), "test_optimizers.c:"));
    ebb_error_clear();
    assert_true(ebb_has_grad(w));
    assert_ok(ebb_clear_grad(w));
    assert_ok(ebb_minimize(opt, loss, NULL)); /* the graph was not touched */
}

static void arguments_out_of_range_are_refused(void **state)
{
    ebb_params *p;
    ebb_optimizer *opt = NULL;
    assert_ok(ebb_params_create(&p, *state));
    assert_status(ebb_sgd_create(&opt, p, -1, NULL), EBB_E_RANGE);
    assert_status(ebb_sgd_create(&opt, p, NAN, NULL), EBB_E_RANGE);
    assert_status(ebb_sgd_create(&opt, p, 1, &(ebb_sgd_options){.nesterov = true}),
                  EBB_E_RANGE);
    assert_status(ebb_sgd_create(&opt, p, 1, &(ebb_sgd_options){.momentum = -1}), EBB_E_RANGE);
    assert_status(ebb_sgd_create(&opt, p, 1, &(ebb_sgd_options){.reserved = {0, 1}}),
                  EBB_E_MISUSE);
    assert_status(ebb_adam_create(&opt, p, 1, &(ebb_adam_options){.betas = {1, 0.9}}),
                  EBB_E_RANGE);
    assert_status(ebb_adam_create(&opt, p, 1, &(ebb_adam_options){.eps = -1}), EBB_E_RANGE);
    assert_status(ebb_adam_create(NULL, p, 1, NULL), EBB_E_MISUSE);
    assert_status(ebb_adam_create(&opt, NULL, 1, NULL), EBB_E_MISUSE);
    assert_null(opt);
    assert_ok(ebb_adam_create(&opt, p, 1, NULL));
    ebb_optimizer_set_lr(opt, -2);
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    assert_true(ebb_optimizer_lr(opt) == 1);
    ebb_error_clear();
    assert_status(ebb_minimize(opt, NULL, NULL), EBB_E_MISUSE);
    assert_status(ebb_minimize(NULL, NULL, NULL), EBB_E_MISUSE);
    assert_status(ebb_optimizer_step(NULL), EBB_E_MISUSE);
    ebb_optimizer_release(NULL);
}

static void an_optimizer_outlives_its_set_and_may_go_with_the_context(void **state)
{
    (void)state;
    ebb_context *ctx;
    ebb_params *p;
    ebb_optimizer *opt;
    static const double ones[] = {1, 1};
    double got[2];
    assert_ok(ebb_context_create(&ctx, NULL));
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *w = param_of(p, "w", EBB_F64, ones, 2);
    assert_ok(ebb_adam_create(&opt, p, 1, NULL));
    ebb_params_release(p);
    {
        EBB_SCOPE(scope);
        assert_ok(ebb_minimize(opt, linear_loss(ctx, w, ones, 2), NULL));
        assert_ok(EBB_READ(w, got, 2));
        assert_true(got[0] < 1);
    }
    ebb_context_destroy(ctx); /* with the optimizer and the set it kept */
    assert_ok(ebb_context_create(&ctx, NULL));
    assert_ok(ebb_params_create(&p, ctx));
    (void)param_of(p, "w", EBB_F64, ones, 2);
    assert_ok(ebb_adam_create(&opt, p, 1, NULL));
    ebb_params_release(p);
    ebb_optimizer_release(opt);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.bytes[EBB_KIND_PARAMETER], 0);
    ebb_context_destroy(ctx);
}

/* ---- every allocation refused once ------------------------------------------------------- */

static int64_t n_until_refusal; /* < 0: never */

static void *failing_alloc(void *user, size_t n, size_t alignment)
{
    (void)user;
    void *p = NULL;
    if (n_until_refusal == 0) return NULL;
    if (n_until_refusal > 0) n_until_refusal--;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    return posix_memalign(&p, alignment, n) == 0 ? p : NULL;
}
static void failing_free(void *user, void *p, size_t n)
{
    (void)user;
    (void)n;
    free(p);
}

typedef struct model {
    ebb_context *ctx;
    ebb_params *params;
    ebb_optimizer *opt;
    ebb_tensor *w, *b;
} model;

enum { WIDE = 300 };

static void model_make(model *m, size_t budget)
{
    static const ebb_allocator failing = {failing_alloc, failing_free, NULL};
    n_until_refusal = -1;
    const ebb_context_options o = {.allocator = &failing, .memory_budget_bytes = budget};
    assert_ok(ebb_context_create(&m->ctx, &o));
    assert_ok(ebb_params_create(&m->params, m->ctx));
    m->w = ebb_param(m->params, "w", EBB_F64, EBB_SHAPE(WIDE, WIDE), ebb_constant(0.5));
    m->b = ebb_param(m->params, "b", EBB_F64, EBB_SHAPE(WIDE), ebb_constant(0.5));
    assert_ok(ebb_adam_create(&m->opt, m->params, 0.1, NULL));
}

static ebb_status minimize_once(const model *m)
{
    EBB_SCOPE(scope);
    ebb_tensor *y = ebb_add(ebb_square(m->w), m->b);
    return ebb_minimize(m->opt, ebb_sum(y, EBB_ALL),
                        &(ebb_minimize_options){.clip_grad_norm = 1});
}

static void expect_unchanged(const model *m)
{
    static double w[WIDE * WIDE];
    double b[WIDE];
    assert_ok(EBB_READ(m->w, w, WIDE * WIDE));
    assert_ok(EBB_READ(m->b, b, WIDE));
    for (int i = 0; i < WIDE * WIDE; i++) assert_true(w[i] == 0.5);
    for (int i = 0; i < WIDE; i++) assert_true(b[i] == 0.5);
    assert_false(ebb_has_grad(m->w) || ebb_has_grad(m->b));
    ebb_stats s;
    ebb_stats_get(&s, m->ctx);
    assert_int_equal(s.bytes[EBB_KIND_OPTIMIZER], 0);
    assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 0);
    assert_int_equal(s.live_nodes, 0);
}

static void every_refused_allocation_leaves_parameters_as_they_were(void **state)
{
    (void)state;
    int64_t n_refused = 0;
    for (int64_t k = 0;; k++) {
        model m;
        model_make(&m, 0);
        ebb_trim(m.ctx);
        n_until_refusal = k;
        const ebb_status s = minimize_once(&m);
        const bool refused = n_until_refusal == 0;
        n_until_refusal = -1;
        if (s != EBB_OK) {
            assert_int_equal(s, EBB_E_NOMEM);
            expect_unchanged(&m);
            ebb_error_clear();
            n_refused++;
            assert_ok(minimize_once(&m));
        }
        ebb_context_destroy(m.ctx);
        if (s == EBB_OK && !refused) break;
    }
    assert_true(n_refused > 0);
}

static void every_budget_step_leaves_parameters_as_they_were(void **state)
{
    (void)state;
    int64_t n_refused = 0;
    model m;
    ebb_stats s;
    model_make(&m, 0);
    ebb_stats_get(&s, m.ctx);
    const size_t least = s.peak_bytes + s.peak_bytes / 100; /* with the budget's own map */
    assert_ok(minimize_once(&m));
    ebb_stats_get(&s, m.ctx);
    const size_t most = s.peak_bytes + s.peak_bytes / 128;
    ebb_context_destroy(m.ctx);
    for (size_t budget = least; budget < most; budget += (most - least) / 50) {
        model_make(&m, budget);
        if (minimize_once(&m) != EBB_OK) {
            assert_int_equal(ebb_error_status(), EBB_E_BUDGET);
            expect_unchanged(&m);
            ebb_error_clear();
            n_refused++;
        }
        ebb_stats_get(&s, m.ctx);
        assert_true(s.peak_bytes <= budget);
        ebb_context_destroy(m.ctx);
    }
    assert_true(n_refused > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steps_are_those_of_pytorch),
        TEST(after_a_step_only_parameters_and_state_are_left),
        TEST(a_parameter_without_gradient_is_left_alone),
        TEST(gradients_add_up_until_the_step),
        TEST(minimize_touches_only_its_own_parameters),
        TEST(clipping_bounds_the_joint_norm),
        TEST(gradients_of_16_bits_are_clipped_with_the_others),
        TEST(a_gradient_that_is_not_finite_changes_nothing),
        TEST(minimize_refuses_slots_that_hold_something),
        TEST(arguments_out_of_range_are_refused),
        TEST(an_optimizer_outlives_its_set_and_may_go_with_the_context),
        TEST(every_refused_allocation_leaves_parameters_as_they_were),
        TEST(every_budget_step_leaves_parameters_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
