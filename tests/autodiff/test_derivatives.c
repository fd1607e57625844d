/* test_derivatives.c - Jacobians, Hessians, products with them, and the check of gradients;
 * expected values by hand.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

static ebb_tensor *leaf_vector(ebb_context *ctx, int64_t n, const double *values)
{
    ebb_tensor *t = vector(ctx, n, values);
    assert_ok(ebb_set_requires_grad(t, true));
    return t;
}

static void assert_values(ebb_tensor *t, const double *want, int64_t n)
{
    double got[32];
    assert_in_range(n, 1, 32);
    assert_ok(EBB_READ(t, got, n));
    for (int64_t i = 0; i < n; i++) assert_float_equal(got[i], want[i], 1e-12);
}

/* ---- products ---------------------------------------------------------------------------- */

static void a_jvp_pushes_changes_of_the_inputs_forward(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2}, b[] = {3, 4}, da[] = {1, 0}, db[] = {0, 10};
    ebb_tensor *x = leaf_vector(*state, 2, a), *y = leaf_vector(*state, 2, b);
    ebb_tensor *roots[] = {ebb_mul(x, y), ebb_exp(x), ebb_sum(ebb_square(y), EBB_ALL)};
    ebb_tensor *inputs[] = {x, y}, *v[] = {vector(*state, 2, da), vector(*state, 2, db)},
               *jv[3];
    assert_ok(ebb_jvp(jv, roots, 3, inputs, v, 2));
    assert_values(jv[0], (double[]){3, 20}, 2); /* dx*y + x*dy */
    assert_values(jv[1], (double[]){exp(1), 0}, 2);
    assert_values(jv[2], (double[]){80}, 1);
    assert_false(ebb_requires_grad(jv[0]));
    assert_ok(ebb_backward(roots[2], NULL)); /* the graph was kept */
}

static void a_jvp_is_zero_where_nothing_depends_and_checks_its_vectors(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2};
    ebb_tensor *x = leaf_vector(*state, 2, a), *w = leaf_vector(*state, 2, a);
    ebb_tensor *roots[] = {ebb_mul_scalar(x, 3), ebb_exp(w)}, *v = vector(*state, 2, a), *jv[2];
    assert_ok(ebb_jvp(jv, roots, 2, &x, &v, 1));
    assert_values(jv[0], (double[]){3, 6}, 2);
    assert_values(jv[1], (double[]){0, 0}, 2);
    ebb_tensor *wrong = scalar(*state, 1);
    assert_status(ebb_jvp(jv, roots, 2, &x, &wrong, 1), EBB_E_SHAPE);
    assert_null(jv[0]);
}

/* ---- whole Jacobians --------------------------------------------------------------------- */

static void a_jacobian_has_the_dimensions_of_both(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9};
    ebb_tensor *m = EBB_FROM(*state, EBB_SHAPE(2, 3), a, 6), *x = leaf_vector(*state, 3, b);
    assert_ok(ebb_set_requires_grad(m, true));
    ebb_tensor *inputs[] = {m, x}, *j[2];
    ebb_tensor *y = ebb_sum(ebb_mul(m, x), EBB_AXES(1)); /* m @ x */
    assert_ok(ebb_jacobian(j, y, inputs, 2, NULL));
    assert_int_equal(ebb_rank(j[0]), 3);
    assert_values(j[0], (double[]){7, 8, 9, 0, 0, 0, 0, 0, 0, 7, 8, 9}, 12);
    assert_values(j[1], a, 6);
    ebb_tensor *loose = leaf_vector(*state, 3, b);
    assert_ok(ebb_jacobian(j, y, &loose, 1, NULL));
    assert_values(j[0], (double[6]){0}, 6);
    assert_ok(ebb_backward_from(&y, NULL, 1, NULL));
}

static void a_jacobian_with_history_is_differentiated_again(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2};
    ebb_tensor *x = leaf_vector(*state, 2, a), *j, *g;
    ebb_tensor *y = ebb_mul(ebb_square(x), x);
    assert_ok(ebb_jacobian(&j, y, &x, 1, &(ebb_jacobian_options){.create_graph = true}));
    assert_values(j, (double[]){3, 0, 0, 12}, 4);
    ebb_tensor *sum = ebb_sum(j, EBB_ALL);
    assert_ok(ebb_grad(&g, &sum, NULL, 1, &x, 1, NULL));
    assert_values(g, (double[]){6, 12}, 2);
}

static void a_hessian_has_a_block_per_pair(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2}, b[] = {3};
    ebb_tensor *x = leaf_vector(*state, 2, a), *s = leaf_vector(*state, 1, b), *h[4];
    ebb_tensor *inputs[] = {x, s};
    /* s (x0^2 + x1^2): d2/dx2 = 2 s I, d2/dxds = 2 x, d2/ds2 = 0 */
    ebb_tensor *loss = ebb_sum(ebb_mul(ebb_square(x), s), EBB_ALL);
    assert_ok(ebb_hessian(h, loss, inputs, 2));
    assert_values(h[0], (double[]){6, 0, 0, 6}, 4);
    assert_values(h[1], (double[]){2, 4}, 2);
    assert_values(h[2], (double[]){2, 4}, 2);
    assert_values(h[3], (double[]){0}, 1);
    assert_int_equal(ebb_rank(h[1]), 2);
    ebb_tensor *linear = ebb_sum(x, EBB_ALL);
    assert_ok(ebb_hessian(h, linear, &x, 1));
    assert_values(h[0], (double[4]){0}, 4);
    assert_status(ebb_hessian(h, ebb_exp(x), &x, 1), EBB_E_SHAPE);
}

static void too_many_dimensions_and_untracked_roots_are_refused(void **state)
{
    EBB_SCOPE(scope);
    double one[] = {1};
    ebb_tensor *x = EBB_FROM(*state, EBB_SHAPE(1, 1, 1, 1, 1), one, 1), *j;
    assert_ok(ebb_set_requires_grad(x, true));
    assert_status(ebb_jacobian(&j, ebb_exp(x), &x, 1, NULL), EBB_E_SHAPE);
    assert_status(ebb_jacobian(&j, scalar(*state, 1), &x, 1, NULL), EBB_E_GRAPH);
    assert_status(ebb_jacobian(&j, NULL, &x, 1, NULL), EBB_E_MISUSE);
    assert_null(j);
}

/* ---- the check --------------------------------------------------------------------------- */

static ebb_tensor *right(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user;
    return n == 2 ? ebb_mul(ebb_sin(in[0]), ebb_exp(in[1])) : ebb_sin(in[0]);
}

static void a_right_gradient_passes_in_both_orders(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 2, 0.3}, b[] = {0.5};
    ebb_tensor *in[] = {vector(*state, 3, a), vector(*state, 1, b)};
    ebb_gradcheck_report r = {0};
    assert_ok(ebb_gradcheck(&r, right, NULL, in, 2, NULL));
    assert_int_equal(r.n_compared, 3 * 4);
    assert_true(r.error <= 1);
    assert_ok(
        ebb_gradcheck(&r, right, NULL, in, 2, &(ebb_gradcheck_options){.second_order = true}));
    assert_int_equal(r.n_compared, 3 * 4 + 4 * (4 + 3));
    assert_false(ebb_requires_grad(in[0]));
}

/* Treats a part as a constant: the derivative of x * x is then x. */
static ebb_tensor *detached(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user, (void)n;
    return ebb_mul(in[0], ebb_detach(in[0]));
}

static void a_wrong_gradient_is_named_with_both_values(void **state)
{
    EBB_SCOPE(scope);
    double a[] = {1, 5};
    ebb_tensor *x = vector(*state, 2, a);
    ebb_gradcheck_report r = {0};
    assert_int_equal(ebb_gradcheck(&r, detached, NULL, &x, 1, NULL), EBB_E_RANGE);
    const char *text = ebb_error_message();
    assert_non_null(strstr(text, "element 1 of the result in element 1 of input 0"));
    assert_non_null(strstr(text, "the derivative is 5, differences give 10"));
    ebb_error_clear();
    assert_int_equal(r.input, 0);
    assert_int_equal(r.element, 1);
    assert_float_equal(r.analytic, 5, 1e-12);
    assert_float_equal(r.numeric, 10, 1e-6);
    assert_true(r.error > 1);
}

/* t e + (t - t e) with e = exp(t) is t, but of numbers 10^20 times as large: 0 or an ulp of these. */
static ebb_tensor *cancelling(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user, (void)n;
    ebb_tensor *t = ebb_mul_scalar(in[0], 100), *te = ebb_mul(t, ebb_exp(t));
    return ebb_add(te, ebb_sub(t, te));
}

static ebb_tensor *cancelling_and_wrong(void *user, ebb_tensor *const *in, int64_t n)
{
    ebb_tensor *both[] = {cancelling(user, in, n), detached(user, in, n)};
    return ebb_cat(both, 2, 0);
}

static void a_gradient_that_rounding_hides_is_ill_conditioned_not_wrong(void **state)
{
    EBB_SCOPE(scope);
    double half = 0.5;
    ebb_tensor *x = vector(*state, 1, &half);
    ebb_gradcheck_report r = {0};
    assert_int_equal(ebb_gradcheck(&r, cancelling, NULL, &x, 1, NULL), EBB_E_RANGE);
    assert_non_null(strstr(ebb_error_message(), "ill-conditioned"));
    assert_true(r.is_ill_conditioned);
    assert_true(r.uncertainty > 1e12); /* an ulp of 50 exp(50) = 2.6e23 is 3.4e7, over 1e-6 */
    ebb_error_clear();
    assert_int_equal(ebb_gradcheck(&r, cancelling_and_wrong, NULL, &x, 1, NULL), EBB_E_RANGE);
    assert_null(strstr(ebb_error_message(), "ill-conditioned"));
    assert_non_null(strstr(ebb_error_message(), "the derivative is 0.5, differences give 1"));
    assert_false(r.is_ill_conditioned);
    assert_int_equal(r.output_element, 1);
    ebb_error_clear();
}

/* ---- finite gradients ---------------------------------------------------------------------- */
static void the_operation_whose_gradient_is_not_finite_is_named(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    /* s = sqrt(a exp(u)) underflows to 0: infinity from sqrt, and NaN before it */
    ebb_tensor *a = leaf_scalar(ctx, 1), *u = leaf_scalar(ctx, -800), *g[2];
    ebb_tensor *in[] = {a, u};
    const ebb_backward_options find = {.check_finite = true};
    ebb_tensor *y = ebb_sqrt(ebb_mul(a, ebb_exp(u)));
    assert_int_equal(ebb_backward(y, &find), EBB_E_RANGE);
    assert_non_null(strstr(ebb_error_message(), "sqrt"));
    assert_non_null(strstr(ebb_error_message(), "not finite"));
    assert_false(ebb_has_grad(a));
    ebb_error_clear();
    y = ebb_sqrt(ebb_mul(a, ebb_exp(u)));
    assert_status(ebb_grad(g, &y, NULL, 1, in, 2, &(ebb_grad_options){.check_finite = true}),
                  EBB_E_RANGE);
    y = ebb_mul(a, ebb_exp(u)); /* nothing to find */
    assert_ok(ebb_backward(y, &find));
    assert_true(grad_item(a) == 0);
    /* what came in like that is nobody's fault here */
    ebb_tensor *seed = scalar(ctx, INFINITY);
    y = ebb_mul(a, a);
    assert_ok(ebb_backward_from(&y, &seed, 1, &find));
}

static ebb_tensor *counting(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)n;
    return ebb_mul_scalar(in[0], ++*(int *)user);
}

static ebb_tensor *failing(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user, (void)n, (void)in;
    ebb_scope_begin(0, NULL); /* left open */
    return NULL;
}

static ebb_tensor *picks(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user, (void)n;
    return ebb_index_select(in[0], in[1], 0);
}

static void what_cannot_be_checked_is_refused(void **state)
{
    EBB_SCOPE(scope);
    int n = 0;
    double a[] = {1, 5};
    int64_t at[] = {1, 1, 0};
    ebb_tensor *x = vector(*state, 2, a), *narrow = ebb_cast(x, EBB_F32);
    ebb_tensor *in[] = {x, EBB_FROM(*state, EBB_SHAPE(3), at, 3)};
    assert_int_equal(ebb_gradcheck(NULL, counting, &n, &x, 1, NULL), EBB_E_RANGE);
    assert_non_null(strstr(ebb_error_message(), "two calls of the function"));
    ebb_error_clear();
    assert_status(ebb_gradcheck(NULL, failing, NULL, &x, 1, NULL), EBB_E_MISUSE);
    assert_status(ebb_gradcheck(NULL, right, NULL, &narrow, 1, NULL), EBB_E_DTYPE);
    assert_status(ebb_gradcheck(NULL, right, NULL, &in[1], 1, NULL), EBB_E_DTYPE);
    assert_status(ebb_gradcheck(NULL, NULL, NULL, &x, 1, NULL), EBB_E_MISUSE);
    assert_ok(ebb_gradcheck(NULL, picks, NULL, in, 2,
                            &(ebb_gradcheck_options){.second_order = true}));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_jvp_pushes_changes_of_the_inputs_forward),
        T(a_jvp_is_zero_where_nothing_depends_and_checks_its_vectors),
        T(a_jacobian_has_the_dimensions_of_both),
        T(a_jacobian_with_history_is_differentiated_again),
        T(a_hessian_has_a_block_per_pair),
        T(too_many_dimensions_and_untracked_roots_are_refused),
        T(a_right_gradient_passes_in_both_orders),
        T(a_wrong_gradient_is_named_with_both_values),
        T(a_gradient_that_rounding_hides_is_ill_conditioned_not_wrong),
        T(what_cannot_be_checked_is_refused),
        T(the_operation_whose_gradient_is_not_finite_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
