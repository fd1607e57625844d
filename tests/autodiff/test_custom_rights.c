/* test_custom_rights.c - operations of the user's own under what built-in ones are under: writes
 * after saving, no elements, a budget, several threads, any number of results; expected values by
 * hand.
 * SPDX-License-Identifier: MIT */
#include "autodiff/custom_parts.h"
#include "support/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- x^2, from the saved input ------------------------------------------------------------- */
static ebb_status squared_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                  const void *attr)
{
    (void)aux, (void)attr;
    const double *x = in[0].data;
    for (int64_t i = 0; i < n_elems(&in[0]); i++) ((double *)out[0].data)[i] = x[i] * x[i];
    return EBB_OK;
}

static ebb_status squared_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), ebb_mul_scalar(ebb_vjp_in(v, 0), 2)));
    return EBB_OK;
}

static const ebb_custom squared = {.name = "squared",
                                   .n_in = 1,
                                   .n_out = 1,
                                   .need = {EBB_NEED_IN(0)},
                                   .shape = like_first,
                                   .forward = squared_forward,
                                   .vjp = squared_vjp};

static ebb_tensor *squared_of(ebb_tensor *x)
{
    ebb_tensor *y = NULL;
    return ebb_apply(&y, &squared, &x, NULL) == EBB_OK ? y : NULL;
}

static void a_value_it_saved_and_that_was_written_is_refused_by_both_names(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 3), *y = squared_of(x);
    {
        EBB_NO_GRAD(quiet);
        assert_ok(ebb_add_(x, x));
    }
    assert_int_equal(ebb_backward(y, NULL), EBB_E_GRAPH);
    assert_non_null(
        strstr(ebb_error_message(), "a value saved by squared was written to by add_ since"));
    ebb_error_clear();
    ebb_tensor *z = ebb_mul_scalar(leaf_scalar(*state, 3), 1), *w = squared_of(z);
    assert_ok(ebb_mul_(z, z)); /* with history: what was saved stays */
    assert_ok(ebb_retain_grad(w));
    assert_ok(ebb_backward(ebb_add(w, z), NULL));
    assert_float_equal(ebb_item(ebb_grad_of(w)), 1, 0);
}

static void scalars_and_nothing_are_shapes_too(void **state)
{
    EBB_SCOPE(scope);
    const ebb_shape shapes[] = {EBB_SHAPE(0), EBB_SHAPE(2, 0, 3), EBB_SCALAR};
    for (int k = 0; k < 3; k++) {
        ebb_tensor *x = ebb_full(*state, EBB_F64, shapes[k], 5);
        assert_ok(ebb_set_requires_grad(x, true));
        assert_ok(ebb_backward(ebb_sum(squared_of(x), EBB_ALL), NULL));
        ebb_tensor *g = ebb_grad_of(x);
        assert_int_equal(ebb_n_elems(g), ebb_n_elems(x));
        assert_int_equal(ebb_rank(g), ebb_rank(x));
        if (k == 2) assert_float_equal(ebb_item(g), 10, 0);
    }
}

static void it_is_differentiated_again_and_again(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 3), *y = ebb_mul(squared_of(squared_of(x)), x), *g = y;
    const double want[] = {405, 540, 540, 360, 120}; /* of x^5 at 3 */
    for (int order = 0; order < 5; order++) {
        ebb_tensor *root = g;
        const ebb_grad_options again = {.create_graph = true};
        assert_ok(ebb_grad(&g, &root, NULL, 1, &x, 1, &again));
        assert_float_equal(ebb_item(g), want[order], 1e-12);
    }
}

/* ---- as many results as a call asks for ---------------------------------------------------- */
static ebb_status fan_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    for (int64_t k = 0; k < *(const int64_t *)attr; k++) d[k] = in[0].dtype, s[k] = in[0].shape;
    return EBB_OK;
}

/* Result k is k + 1 times the sum of the inputs, of which there are as many. */
static ebb_status fan_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                              const void *attr)
{
    (void)aux;
    int64_t n = *(const int64_t *)attr;
    for (int64_t i = 0; i < n_elems(&in[0]); i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += ((const double *)in[k].data)[i];
        for (int64_t k = 0; k < n; k++) ((double *)out[k].data)[i] = (double)(k + 1) * sum;
    }
    return EBB_OK;
}

static ebb_status fan_vjp(ebb_vjp *v, const void *attr)
{
    int64_t n = *(const int64_t *)attr;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < n && ebb_vjp_wants(v, i); k++)
            if (ebb_vjp_grad(v, k) != EBB_NONE)
                ebb_vjp_give(v, i, ebb_mul_scalar(ebb_vjp_grad(v, k), k + 1));
    return EBB_OK;
}

static void inputs_and_results_are_as_many_as_the_call_says(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *in[8], *out[9];
    for (int i = 0; i < 8; i++) in[i] = leaf_scalar(*state, i);
    for (int64_t n = 1; n <= 9; n++) {
        ebb_custom fan = {.name = "fan",
                          .n_in = 1,
                          .n_out = (int32_t)n,
                          .flags = EBB_CUSTOM_LIST,
                          .attr_bytes = sizeof n,
                          .shape = fan_shape,
                          .forward = fan_forward,
                          .vjp = fan_vjp};
        if (n == 9) {
            assert_status(ebb_apply_list(out, &fan, in, 8, &n), EBB_E_RANGE);
            break;
        }
        assert_ok(ebb_apply_list(out, &fan, in, n, &n));
        assert_float_equal(ebb_item(out[n - 1]), (double)(n * n * (n - 1)) / 2, 0);
        for (int i = 0; i < n; i++) assert_ok(ebb_clear_grad(in[i]));
        ebb_tensor *roots[] = {out[0], out[n - 1]};
        assert_ok(ebb_backward_from(roots, NULL, n > 1 ? 2 : 1, NULL));
        for (int i = 0; i < n; i++)
            assert_float_equal(grad_item(in[i]), n > 1 ? (double)(n + 1) : 1, 0);
    }
}

/* ---- noise from a counter, under a budget -------------------------------------------------- */
enum { N = 4096, DEPTH = 24 };

static atomic_int n_runs;

static ebb_status noisy_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                const void *attr)
{
    (void)aux;
    atomic_fetch_add(&n_runs, 1);
    for (int64_t i = 0; i < n_elems(&in[0]); i++) {
        uint64_t z = *(const uint64_t *)attr + (uint64_t)i * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        double x = ((const double *)in[0].data)[i];
        ((double *)out[0].data)[i] = x * (0.9 + 0.2 * (double)(z >> 11) / 9007199254740992.0);
    }
    return EBB_OK;
}

/* From the result and the input: both must be there. */
static ebb_status noisy_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_tensor *factor = ebb_div(ebb_vjp_out(v, 0), ebb_vjp_in(v, 0));
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), factor));
    return EBB_OK;
}

/* The gradient of a chain of noise; the status of the first call that failed. */
static ebb_status chain(double *grad, size_t budget, uint32_t flags)
{
    ebb_custom noisy = {.name = "noisy",
                        .n_in = 1,
                        .n_out = 1,
                        .flags = flags,
                        .attr_bytes = sizeof(uint64_t),
                        .need = {EBB_NEED_IN(0) | EBB_NEED_OUT(0)},
                        .shape = like_first,
                        .forward = noisy_forward,
                        .vjp = noisy_vjp};
    ebb_context *ctx = NULL;
    ebb_context_options options = {.memory_budget_bytes = budget, .n_threads = 1};
    assert_ok(ebb_context_create(&ctx, &options));
    atomic_store(&n_runs, 0);
    ebb_status status = EBB_OK;
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = ebb_full(ctx, EBB_F64, EBB_SHAPE(N), 1), *y = x;
        assert_ok(ebb_set_requires_grad(x, true));
        for (uint64_t k = 0; k < DEPTH && status == EBB_OK; k++) {
            EBB_SCOPE(step);
            ebb_tensor *next = NULL;
            status = ebb_apply(&next, &noisy, &y, &(uint64_t){k * 1000003});
            if (k) ebb_release(y);
            y = status == EBB_OK ? ebb_keep(next) : NULL;
        }
        if (status == EBB_OK) status = ebb_backward(ebb_sum(y, EBB_ALL), NULL);
        if (status == EBB_OK) status = EBB_READ(ebb_grad_of(x), grad, N);
        ebb_release(y);
    }
    ebb_context_destroy(ctx);
    return status;
}

static void what_is_drawn_from_a_counter_is_made_again_bit_for_bit(void **state)
{
    static double plain[N], tight[N];
    (void)state;
    assert_ok(chain(plain, 0, EBB_CUSTOM_CHEAP));
    assert_int_equal(atomic_load(&n_runs), DEPTH);
    assert_ok(chain(tight, 16 * N * sizeof(double), EBB_CUSTOM_CHEAP));
    assert_true(atomic_load(&n_runs) > DEPTH);
    assert_memory_equal(plain, tight, sizeof plain);
}

static void what_cannot_be_made_again_runs_once_or_does_not_fit(void **state)
{
    static double plain[N], tight[N];
    (void)state;
    assert_ok(chain(plain, 0, EBB_CUSTOM_NO_RECOMPUTE));
    assert_int_equal(chain(tight, 16 * N * sizeof(double), EBB_CUSTOM_NO_RECOMPUTE),
                     EBB_E_BUDGET);
    assert_true(atomic_load(&n_runs) < DEPTH);
    ebb_error_clear();
    assert_ok(chain(tight, (DEPTH + 16) * N * sizeof(double), EBB_CUSTOM_NO_RECOMPUTE));
    assert_int_equal(atomic_load(&n_runs), DEPTH);
    assert_memory_equal(plain, tight, sizeof plain);
}

static void one_without_a_rule_is_a_constant(void **state)
{
    EBB_SCOPE(scope);
    ebb_custom constant = squared;
    constant.vjp = NULL;
    ebb_tensor *x = leaf_scalar(*state, 3), *y;
    assert_ok(ebb_apply(&y, &constant, &x, NULL));
    assert_false(ebb_requires_grad(y));
    assert_ok(ebb_backward(ebb_mul(y, x), NULL));
    assert_float_equal(grad_item(x), 9, 0);
}

/* ---- several threads ------------------------------------------------------------------------ */
typedef struct job {
    ebb_context *ctx;
    ebb_tensor *shared; /* a leaf */
    int n_wrong;
} job;

static void *use_it(void *arg)
{
    job *j = arg;
    for (int k = 0; k < 200; k++) {
        EBB_SCOPE(scope);
        double value = k;
        ebb_tensor *x = EBB_FROM(j->ctx, EBB_SCALAR, &value, 1);
        if (ebb_set_requires_grad(x, true) != EBB_OK) j->n_wrong++;
        ebb_tensor *y = ebb_mul(squared_of(x), squared_of(j->shared)); /* k^2 2^2 */
        if (ebb_backward(y, NULL) != EBB_OK) j->n_wrong++;
        if (ebb_item(ebb_grad_of(x)) != 8.0 * k) j->n_wrong++;
    }
    return NULL;
}

static void several_threads_use_one(void **state)
{
    enum { THREADS = 4 };
    EBB_SCOPE(scope);
    pthread_t thread[THREADS];
    job jobs[THREADS];
    ebb_tensor *shared = leaf_scalar(*state, 2);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){*state, shared, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, use_it, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(jobs[i].n_wrong, 0);
    /* 4 times the sum of 4 k^2 below 200 */
    assert_float_equal(grad_item(shared), 4 * 4 * 2646700.0, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_value_it_saved_and_that_was_written_is_refused_by_both_names),
        T(scalars_and_nothing_are_shapes_too),
        T(it_is_differentiated_again_and_again),
        T(inputs_and_results_are_as_many_as_the_call_says),
        T(what_is_drawn_from_a_counter_is_made_again_bit_for_bit),
        T(what_cannot_be_made_again_runs_once_or_does_not_fit),
        T(one_without_a_rule_is_a_constant),
        T(several_threads_use_one),
    };
    return cmocka_run_group_tests_name("autodiff/custom_rights", tests, NULL, NULL);
}
