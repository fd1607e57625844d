/* test_custom.c - operations of the user's own have the rights of built-in ones; expected values by
 * hand or by differences.
 * SPDX-License-Identifier: MIT */
#include "autodiff/custom_parts.h"
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- an optional input: y = a * x + b ------------------------------------------------------ */
static ebb_status affine_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                 const void *attr)
{
    (void)aux, (void)attr;
    const double *x = in[0].data, *a = in[1].data, *b = in[2].dtype ? in[2].data : NULL;
    for (int64_t i = 0; i < n_elems(&out[0]); i++)
        ((double *)out[0].data)[i] = a[i] * x[i] + (b ? b[i] : 0);
    return EBB_OK;
}

static ebb_status affine_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_tensor *g = ebb_vjp_grad(v, 0);
    if (ebb_vjp_wants(v, 0)) ebb_vjp_give(v, 0, ebb_mul(g, ebb_vjp_in(v, 1)));
    if (ebb_vjp_wants(v, 1)) ebb_vjp_give(v, 1, ebb_mul(g, ebb_vjp_in(v, 0)));
    if (ebb_vjp_wants(v, 2)) ebb_vjp_give(v, 2, g);
    if (ebb_vjp_in_shape(v, 0).n_dims != 1) return ebb_fail(EBB_E_INTERNAL, "another shape");
    if (ebb_vjp_in_dtype(v, 0) != EBB_F64) return ebb_fail(EBB_E_INTERNAL, "another dtype");
    return EBB_OK;
}

static const ebb_custom affine = {.name = "affine",
                                  .n_in = 3,
                                  .n_out = 1,
                                  .flags = EBB_CUSTOM_CHEAP,
                                  .need = {EBB_NEED_IN(1), EBB_NEED_IN(0)},
                                  .optional = 1 << 2,
                                  .shape = like_first,
                                  .forward = affine_forward,
                                  .vjp = affine_vjp};

static ebb_tensor *affine_of(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user;
    ebb_tensor *y = NULL, *all[] = {in[0], in[1], n > 2 ? in[2] : EBB_NONE};
    return ebb_apply(&y, &affine, all, NULL) == EBB_OK ? y : NULL;
}

static void an_input_may_be_absent(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2, 3}, b[] = {4, 5, 6};
    ebb_tensor *in[] = {vector(*state, 3, a), vector(*state, 3, b), vector(*state, 3, a)};
    ebb_gradcheck_options both = {.second_order = true};
    assert_ok(ebb_gradcheck(NULL, affine_of, NULL, in, 3, &both));
    assert_ok(ebb_gradcheck(NULL, affine_of, NULL, in, 2, &both));
    ebb_tensor *none[] = {EBB_NONE, in[1], EBB_NONE}, *y;
    assert_status(ebb_apply(&y, &affine, none, NULL), EBB_E_MISUSE);
    ebb_custom odd = affine;
    odd.optional = 1 << 3;
    assert_status(ebb_apply(&y, &odd, in, NULL), EBB_E_RANGE);
    odd = affine;
    odd.flags = 1 << 20;
    assert_status(ebb_apply(&y, &odd, in, NULL), EBB_E_RANGE);
}

/* ---- several outputs and a by-product: polar coordinates ------------------------------------ */
static ebb_status polar_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    for (int k = 0; k < 3; k++) d[k] = EBB_F64, s[k] = in[0].shape;
    return EBB_OK;
}

static ebb_status polar_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                const void *attr)
{
    (void)attr;
    const double *x = in[0].data, *y = in[1].data;
    double *r = out[0].data, *angle = out[1].data, *square = aux[0].data;
    for (int64_t i = 0; i < n_elems(&out[0]); i++) {
        square[i] = x[i] * x[i] + y[i] * y[i];
        r[i] = sqrt(square[i]);
        angle[i] = atan2(y[i], x[i]);
    }
    return EBB_OK;
}

/* square: x^2 + y^2, however it is had. */
static ebb_status polar_give(ebb_vjp *v, ebb_tensor *square)
{
    for (int i = 0; i < 2; i++) {
        if (!ebb_vjp_wants(v, i)) continue;
        ebb_tensor *own = ebb_vjp_in(v, i), *other = ebb_vjp_in(v, 1 - i);
        ebb_tensor *gr = ebb_vjp_grad(v, 0), *ga = ebb_vjp_grad(v, 1);
        if (gr != EBB_NONE) ebb_vjp_give(v, i, ebb_div(ebb_mul(gr, own), ebb_sqrt(square)));
        if (ga == EBB_NONE) continue;
        ebb_tensor *part = ebb_div(ebb_mul(ga, other), square);
        ebb_vjp_give(v, i, i == 0 ? ebb_neg(part) : part);
    }
    return EBB_OK;
}

static ebb_status polar_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    return polar_give(v, ebb_vjp_aux(v, 0));
}

static ebb_status polar_composed(ebb_vjp *v, const void *attr)
{
    (void)attr;
    return polar_give(v, ebb_add(ebb_square(ebb_vjp_in(v, 0)), ebb_square(ebb_vjp_in(v, 1))));
}

static const uint32_t polar_needs = EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_AUX(0);
static const ebb_custom polar = {.name = "polar",
                                 .n_in = 2,
                                 .n_out = 2,
                                 .n_aux = 1,
                                 .need = {polar_needs, polar_needs},
                                 .shape = polar_shape,
                                 .forward = polar_forward,
                                 .vjp = polar_vjp,
                                 .vjp_composed = polar_composed};

static ebb_tensor *polar_of(void *user, ebb_tensor *const *in, int64_t n)
{
    const int *which = user;
    ebb_tensor *out[2];
    (void)n;
    if (ebb_apply(out, &polar, in, NULL) != EBB_OK) return NULL;
    return *which == 2 ? ebb_mul(out[0], out[1]) : out[*which];
}

static void several_outputs_and_a_by_product_differentiate_twice(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, -2, 0.5}, b[] = {0.3, 1, 2};
    ebb_tensor *in[] = {vector(*state, 3, a), vector(*state, 3, b)};
    for (int which = 0; which < 3; which++)
        assert_ok(ebb_gradcheck(NULL, polar_of, &which, in, 2,
                                &(ebb_gradcheck_options){.second_order = true}));
}

/* ---- broadcasting ------------------------------------------------------------------------- */
static ebb_status joint(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    if (in[0].shape.n_dims != 2 || in[1].shape.n_dims != 1)
        return ebb_fail(EBB_E_SHAPE, "a matrix and a row are needed");
    d[0] = in[0].dtype;
    s[0] = in[0].shape;
    return EBB_OK;
}

static ebb_status times_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                const void *attr)
{
    (void)aux, (void)attr;
    const double *x = in[0].data, *y = in[1].data;
    double *z = out[0].data;
    for (int64_t i = 0; i < out[0].shape.dims[0]; i++)
        for (int64_t j = 0; j < out[0].shape.dims[1]; j++)
            *z++ = x[i * in[0].strides[0] + j * in[0].strides[1]] *
                   y[i * in[1].strides[0] + j * in[1].strides[1]];
    return EBB_OK;
}

static ebb_status times_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    for (int i = 0; i < 2; i++)
        if (ebb_vjp_wants(v, i))
            ebb_vjp_give(v, i, ebb_mul(ebb_vjp_grad(v, 0), ebb_vjp_in(v, 1 - i)));
    return EBB_OK;
}

static ebb_tensor *times_of(void *user, ebb_tensor *const *in, int64_t n)
{
    static const ebb_custom times = {.name = "times",
                                     .n_in = 2,
                                     .n_out = 1,
                                     .flags = EBB_CUSTOM_STRIDED | EBB_CUSTOM_BROADCAST,
                                     .need = {EBB_NEED_IN(1), EBB_NEED_IN(0)},
                                     .shape = joint,
                                     .forward = times_forward,
                                     .vjp = times_vjp};
    ebb_tensor *y = NULL;
    (void)user, (void)n;
    return ebb_apply(&y, &times, in, NULL) == EBB_OK ? y : NULL;
}

static void broadcast_inputs_are_repeated_and_their_gradients_summed(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9};
    ebb_tensor *in[] = {EBB_FROM(*state, EBB_SHAPE(2, 3), a, 6), vector(*state, 3, b)};
    assert_ok(ebb_gradcheck(NULL, times_of, NULL, in, 2, NULL));
}

/* ---- a list: the product of all ------------------------------------------------------------- */
typedef struct list_attr {
    int64_t n;
} list_attr;

static ebb_status product_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                  const void *attr)
{
    (void)aux;
    double *y = out[0].data;
    for (int64_t i = 0; i < n_elems(&out[0]); i++) {
        y[i] = 1;
        for (int64_t k = 0; k < ((const list_attr *)attr)->n; k++)
            y[i] *= ((const double *)in[k].data)[i];
    }
    return EBB_OK;
}

static ebb_status product_vjp(ebb_vjp *v, const void *attr)
{
    int64_t n = ebb_vjp_n_in(v);
    if (n != ((const list_attr *)attr)->n) return ebb_fail(EBB_E_INTERNAL, "another number");
    for (int32_t i = 0; i < n; i++) {
        if (!ebb_vjp_wants(v, i)) continue;
        ebb_tensor *g = ebb_vjp_grad(v, 0);
        for (int32_t k = 0; k < n; k++)
            if (k != i) g = ebb_mul(g, ebb_vjp_in(v, k));
        ebb_vjp_give(v, i, g);
    }
    return EBB_OK;
}

static const ebb_custom product = {
    .name = "product",
    .n_in = 2,
    .n_out = 1,
    .flags = EBB_CUSTOM_LIST,
    .attr_bytes = sizeof(list_attr),
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .shape = like_first,
    .forward = product_forward,
    .vjp = product_vjp};

static ebb_tensor *product_of(void *user, ebb_tensor *const *in, int64_t n)
{
    ebb_tensor *y = NULL;
    (void)user;
    return ebb_apply_list(&y, &product, in, n, &(list_attr){n}) == EBB_OK ? y : NULL;
}

static void the_last_input_may_be_a_list(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *in[12], *y;
    for (int i = 0; i < 12; i++)
        in[i] = vector(*state, 2, (const double[]){1 + 0.1 * i, 0.8 + 0.05 * i});
    ebb_gradcheck_options both = {.second_order = true};
    assert_ok(ebb_gradcheck(NULL, product_of, NULL, in, 12, &both));
    assert_ok(ebb_gradcheck(NULL, product_of, NULL, in, 2, &both));
    assert_status(ebb_apply_list(&y, &product, in, 1, &(list_attr){1}), EBB_E_RANGE);
    assert_status(ebb_apply_list(&y, &affine, in, 4, NULL), EBB_E_RANGE);
}

/* ---- random numbers from a seed; state ------------------------------------------------------ */
typedef struct noise_attr {
    uint64_t seed;
} noise_attr;

static int n_runs;

static ebb_status noise_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                const void *attr)
{
    (void)aux;
    uint64_t s = ((const noise_attr *)attr)->seed;
    n_runs++;
    for (int64_t i = 0; i < n_elems(&out[0]); i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        ((double *)out[0].data)[i] = ((const double *)in[0].data)[i] * (double)(s >> 60);
    }
    return EBB_OK;
}

static void what_may_be_made_again_is_and_the_rest_is_kept(void **state)
{
    (void)state;
    enum { N = 4096 };
    static double x[N], first[N], again[N];
    for (int i = 0; i < N; i++) x[i] = i;
    for (int fixed = 0; fixed < 2; fixed++) {
        ebb_custom noise = {.name = fixed ? "noise_once" : "noise",
                            .n_in = 1,
                            .n_out = 1,
                            .attr_bytes = sizeof(noise_attr),
                            .flags = fixed ? EBB_CUSTOM_NO_RECOMPUTE : 0,
                            .shape = like_first,
                            .forward = noise_forward};
        ebb_context *ctx;
        n_runs = 0;
        assert_ok(ebb_context_create(
            &ctx, &(ebb_context_options){.memory_budget_bytes = 1 << 20, .n_threads = 1}));
        {
            EBB_SCOPE(scope);
            ebb_tensor *in = vector(ctx, N, x), *y;
            assert_ok(ebb_apply(&y, &noise, &in, &(noise_attr){42}));
            assert_ok(EBB_READ(y, first, N));
            for (int i = 0; i < 40; i++) assert_non_null(ebb_add_scalar(in, i)); /* 1.3 MB */
            assert_ok(EBB_READ(y, again, N));
            assert_memory_equal(first, again, sizeof first);
            if (fixed)
                assert_int_equal(n_runs, 1);
            else
                assert_true(n_runs >= 1);
        }
        ebb_context_destroy(ctx);
    }
}

/* ---- failure in a rule, and a graph of its own ---------------------------------------------- */
static ebb_status refuse(ebb_vjp *v, const void *attr)
{
    (void)v, (void)attr;
    return ebb_fail(EBB_E_RANGE, "not today");
}

static ebb_status own_graph_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    EBB_SCOPE(inner);
    EBB_ENABLE_GRAD(recording);
    ebb_tensor *x = ebb_detach(ebb_vjp_in(v, 0)), *g = ebb_vjp_grad(v, 0), *gx;
    EBB_TRY(ebb_set_requires_grad(x, true));
    ebb_tensor *y = ebb_mul(ebb_mul(x, x), x);
    EBB_TRY(ebb_grad(&gx, &y, &g, 1, &x, 1, NULL));
    ebb_vjp_give(v, 0, gx);
    return EBB_OK;
}

static ebb_status cube_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                               const void *attr)
{
    (void)aux, (void)attr;
    for (int64_t i = 0; i < n_elems(&out[0]); i++)
        ((double *)out[0].data)[i] = pow(((const double *)in[0].data)[i], 3);
    return EBB_OK;
}

static void a_rule_may_run_a_backward_or_fail(void **state)
{
    EBB_SCOPE(scope);
    ebb_custom cube = {.name = "cube",
                       .n_in = 1,
                       .n_out = 1,
                       .need = {EBB_NEED_IN(0)},
                       .shape = like_first,
                       .forward = cube_forward,
                       .vjp = own_graph_vjp};
    ebb_tensor *x = leaf_scalar(*state, 2), *w = leaf_scalar(*state, 3), *y;
    assert_ok(ebb_apply(&y, &cube, &x, NULL));
    assert_ok(ebb_backward(ebb_mul(y, w), NULL));
    assert_float_equal(grad_item(x), 36, 1e-12);
    assert_ok(ebb_clear_grad(w));
    cube.vjp = refuse;
    assert_ok(ebb_apply(&y, &cube, &x, NULL));
    assert_int_equal(ebb_backward(ebb_mul(y, w), NULL), EBB_E_RANGE);
    assert_non_null(strstr(ebb_error_message(), "not today"));
    assert_non_null(strstr(ebb_error_message(), "its graph is spent"));
    ebb_error_clear();
    assert_false(ebb_has_grad(w));
    assert_float_equal(grad_item(x), 36, 1e-12);
}

static ebb_status work_then_refuse(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), ebb_vjp_in(v, 0)));
    return EBB_E_RANGE; /* without words of its own */
}

static void what_fails_after_a_rule_has_run_names_the_line_of_the_backward(void **state)
{
    EBB_SCOPE(scope);
    const ebb_custom cube = {.name = "cube",
                             .n_in = 1,
                             .n_out = 1,
                             .need = {EBB_NEED_IN(0)},
                             .shape = like_first,
                             .forward = cube_forward,
                             .vjp = work_then_refuse};
    char line[64];
    ebb_tensor *x = leaf_scalar(*state, 2), *y;
    assert_ok(ebb_apply(&y, &cube, &x, NULL));
    snprintf(line, sizeof line, "test_custom.c:%d: ", __LINE__ + 1);
    assert_int_equal(ebb_backward(y, NULL), EBB_E_RANGE);
    assert_non_null(strstr(ebb_error_message(), line));
    ebb_error_clear();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(an_input_may_be_absent),
        T(several_outputs_and_a_by_product_differentiate_twice),
        T(broadcast_inputs_are_repeated_and_their_gradients_summed),
        T(the_last_input_may_be_a_list),
        T(what_may_be_made_again_is_and_the_rest_is_kept),
        T(a_rule_may_run_a_backward_or_fail),
        T(what_fails_after_a_rule_has_run_names_the_line_of_the_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
