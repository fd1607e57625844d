/* test_contexts.c - a context within another, and operations of the user's own: what is
 * refused, and that both go on working.
 * SPDX-License-Identifier: MIT */
#include "errors/refusal.h"

static ebb_tensor *leaf(ebb_context *ctx, double x)
{
    ebb_tensor *t = ebb_tensor_copy(ctx, EBB_F64, EBB_SCALAR, &x, sizeof x);
    assert_int_equal(ebb_set_requires_grad(t, true), EBB_OK);
    return t;
}

static void child_uses_the_parents_tensors(void **state)
{
    ebb_context *ctx = *state, *child = NULL;
    EBB_SCOPE(outer);
    assert_int_equal(ebb_context_create(&child, &(ebb_context_options){.parent = ctx}), EBB_OK);
    ebb_tensor *w = leaf(ctx, 3), *x = leaf(child, 2), *g[2], *in[] = {w, x};
    ebb_tensor *y = ebb_mul(w, x);
    assert_int_equal(ebb_grad(g, &y, NULL, 1, in, 2, NULL), EBB_OK);
    assert_true(ebb_item(g[0]) == 2 && ebb_item(g[1]) == 3);
    context_works(child);
    ebb_context_destroy(child);
    REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_exp(x));
    assert_true(ebb_item(w) == 3);
}

static void childs_bytes_count_against_the_parents_budget(void **state)
{
    (void)state;
    ebb_context *ctx = NULL, *child = NULL;
    assert_int_equal(
        ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = 2 << 20}),
        EBB_OK);
    assert_int_equal(ebb_context_create(&child, &(ebb_context_options){.parent = ctx}), EBB_OK);
    {
        EBB_SCOPE(outer);
        ebb_stats mine, all;
        ebb_tensor *x = ebb_empty(child, EBB_F32, EBB_SHAPE(250000), EBB_KIND_DATA);
        assert_int_equal(ebb_check(x), EBB_OK);
        ebb_stats_get(&mine, child), ebb_stats_get(&all, ctx);
        assert_true(mine.used_bytes >= 1000000 && all.used_bytes >= mine.used_bytes);
        REFUSED_TENSOR(EBB_E_BUDGET, NULL, ebb_zeros(child, EBB_F32, EBB_SHAPE(250000)));
        REFUSED_TENSOR(EBB_E_BUDGET, NULL, ebb_zeros(ctx, EBB_F32, EBB_SHAPE(250000)));
        context_works(child);
    }
    ebb_context_destroy(child);
    ebb_stats after;
    ebb_stats_get(&after, ctx);
    assert_true(after.used_bytes < 500000);
    ebb_context_destroy(ctx);
}

static void child_is_unusable_once_its_parent_is_gone(void **state)
{
    ebb_context *ctx = *state, *parent = NULL, *child = NULL;
    EBB_SCOPE(outer);
    assert_int_equal(ebb_context_create(&parent, NULL), EBB_OK);
    assert_int_equal(ebb_context_create(&child, &(ebb_context_options){.parent = parent}),
                     EBB_OK);
    ebb_tensor *x = leaf(child, 2), *y = ebb_exp(x);
    ebb_context_destroy(parent);
    REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_exp(x));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_backward(y, NULL));
    ebb_context_destroy(child);
    ebb_error_clear();
}

/* ---- operations of the user's own -------------------------------------------------------- */
static ebb_status same_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = d[1] = in[0].dtype, s[0] = s[1] = in[0].shape;
    return EBB_OK;
}

/* out = x^2; by-product 2 x */
static ebb_status square_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                 const void *attr)
{
    (void)attr;
    double x = *(double *)in[0].data;
    *(double *)out[0].data = x * x;
    *(double *)aux[0].data = 2 * x;
    return EBB_OK;
}

static ebb_status rule_by_aux(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), ebb_vjp_aux(v, 0)));
    return EBB_OK;
}
static ebb_status rule_by_input(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), ebb_mul_scalar(ebb_vjp_in(v, 0), 2)));
    return EBB_OK;
}
static ebb_status rule_of_wrong_shape(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_cat((ebb_tensor *[]){ebb_vjp_grad(v, 0), ebb_vjp_grad(v, 0)}, 2, 0));
    return EBB_OK;
}

static const ebb_custom square = {.name = "my_square",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .n_aux = 1,
                                  .need = {EBB_NEED_AUX(0)},
                                  .shape = same_shape,
                                  .forward = square_forward,
                                  .vjp = rule_by_aux};

static void floating_by_product_has_no_second_order_without_its_own_rule(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y, *g;
    const ebb_grad_options create = {.create_graph = true};
    assert_int_equal(ebb_apply(&y, &square, &x, NULL), EBB_OK);
    REFUSED_STATUS(EBB_E_UNSUPPORTED, "my_square", ebb_grad(&g, &y, NULL, 1, &x, 1, &create));
    assert_null(g);
    assert_int_equal(ebb_grad(&g, &y, NULL, 1, &x, 1, NULL), EBB_OK);
    assert_true(ebb_item(g) == 6);
    ebb_custom composed = square;
    composed.vjp_composed = rule_by_input;
    composed.need[0] |= EBB_NEED_IN(0);
    ebb_tensor *second;
    assert_int_equal(ebb_apply(&y, &composed, &x, NULL), EBB_OK);
    assert_int_equal(ebb_grad(&g, &y, NULL, 1, &x, 1, &create), EBB_OK);
    assert_int_equal(ebb_grad(&second, &g, NULL, 1, &x, 1, NULL), EBB_OK);
    assert_true(ebb_item(second) == 2);
}

static void rule_that_reads_what_it_did_not_declare(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_custom sly = square;
    sly.name = "sly", sly.vjp = rule_by_input;
    ebb_tensor *x = leaf(ctx, 3), *y;
    assert_int_equal(ebb_apply(&y, &sly, &x, NULL), EBB_OK);
    REFUSED_STATUS(EBB_E_MISUSE, "sly", ebb_backward(y, NULL));
    assert_false(ebb_has_grad(x));
}

static void rule_that_gives_a_wrong_shape(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_custom odd = square;
    odd.name = "odd", odd.vjp = rule_of_wrong_shape;
    double two[] = {1, 2};
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(2, 1), two, 2), *y;
    assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
    assert_int_equal(ebb_apply(&y, &odd, &x, NULL), EBB_OK);
    /* The line may be the rule's own; the operation must be named. */
    assert_int_equal(ebb_backward_from(&y, NULL, 1, NULL), EBB_E_SHAPE);
    if (!strstr(ebb_error_message(), "odd")) fail_msg("\"%s\"", ebb_error_message());
    ebb_error_clear();
    context_works(ctx);
    assert_false(ebb_has_grad(x));
}

static void descriptions_that_make_no_sense(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y;
    ebb_custom op = square;
    op.shape = NULL;
    REFUSED_STATUS(EBB_E_MISUSE, "shape", ebb_apply(&y, &op, &x, NULL));
    op = square, op.forward = NULL;
    REFUSED_STATUS(EBB_E_MISUSE, "forward", ebb_apply(&y, &op, &x, NULL));
    op = square, op.name = NULL;
    REFUSED_STATUS(EBB_E_MISUSE, "name", ebb_apply(&y, &op, &x, NULL));
    op = square, op.n_in = 99;
    REFUSED_STATUS(EBB_E_RANGE, "99", ebb_apply(&y, &op, &x, NULL));
    op = square, op.reserved[1] = 1;
    REFUSED_STATUS(EBB_E_MISUSE, "reserved", ebb_apply(&y, &op, &x, NULL));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_apply(&y, NULL, &x, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ERRORS(child_uses_the_parents_tensors),
        cmocka_unit_test(childs_bytes_count_against_the_parents_budget),
        ERRORS(child_is_unusable_once_its_parent_is_gone),
        ERRORS(floating_by_product_has_no_second_order_without_its_own_rule),
        ERRORS(rule_that_reads_what_it_did_not_declare),
        ERRORS(rule_that_gives_a_wrong_shape),
        ERRORS(descriptions_that_make_no_sense),
    };
    return cmocka_run_group_tests_name("contexts", tests, NULL, NULL);
}
