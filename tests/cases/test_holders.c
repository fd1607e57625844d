/* test_holders.c - what must not keep a graph, and what must: hooks, kept gradients, retained
 * gradients, shared outputs, metrics.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

/* ---- hooks ------------------------------------------------------------------------------- */

typedef struct closure {
    ebb_tensor *own; /* held strongly, let go in done */
    ebb_tensor *seen;
    int n_calls, n_done;
} closure;

static ebb_status closure_call(void *user, ebb_tensor **grad)
{
    closure *c = user;
    c->n_calls++;
    return ebb_hold(&c->seen, *grad);
}

static void closure_done(void *user)
{
    closure *c = user;
    c->n_done++;
    ebb_clear(&c->own);
}

static void hook_goes_with_the_last_use_of_its_tensor(void **state)
{
    ebb_context *ctx = *state;
    closure c = {0};
    {
        EBB_SCOPE(outer);
        ebb_tensor *y = ebb_mul_scalar(LEAF(1, 2), 2);
        GOOD(
            ebb_hook_add(NULL, y, closure_call, &c, &(ebb_hook_options){.done = closure_done}));
    }
    assert_int_equal(c.n_calls, 0);
    assert_int_equal(c.n_done, 1); /* without a backward */
    assert_int_equal(case_bytes(ctx), 0);
}

static void hook_that_owns_its_tensor_goes_with_the_backward_or_by_its_number(void **state)
{
    ebb_context *ctx = *state;
    for (int consumed = 0; consumed < 2; consumed++) {
        closure c = {0};
        ebb_hook_id id;
        {
            EBB_SCOPE(outer);
            ebb_tensor *y = ebb_mul_scalar(LEAF(1, 2), 2);
            GOOD(ebb_hold(&c.own, y));
            GOOD(ebb_hook_add(&id, y, closure_call, &c,
                              &(ebb_hook_options){.done = closure_done}));
            if (consumed) GOOD(case_backward_sum(y));
            assert_int_equal(c.n_done, consumed);
        }
        if (!consumed) { /* the cycle that a user can make */
            assert_int_equal(case_nodes(ctx), 1);
            GOOD(ebb_hook_remove(ctx, id));
        }
        assert_int_equal(c.n_done, 1);
        assert_null(c.own);
        assert_int_equal(case_nodes(ctx), 0);
        ebb_clear(&c.seen);
        assert_int_equal(case_bytes(ctx), 0);
    }
}

static void gradient_that_a_hook_kept_keeps_no_graph(void **state)
{
    ebb_context *ctx = *state;
    closure c = {0};
    {
        EBB_SCOPE(outer);
        ebb_tensor *x = LEAF(1, 2), *y = ebb_square(ebb_mul_scalar(x, 1));
        GOOD(
            ebb_hook_add(NULL, y, closure_call, &c, &(ebb_hook_options){.done = closure_done}));
        GOOD(case_backward_sum(ebb_square(y)));
        EXPECT_GRAD(x, 0, 4, 32); /* of x^4 */
    }
    assert_int_equal(case_nodes(ctx), 0);
    assert_int_equal(c.n_done, 1);
    EXPECT(c.seen, 0, 2, 8);
    assert_false(ebb_requires_grad(c.seen));
    ebb_clear(&c.seen);
    assert_int_equal(case_bytes(ctx), 0);
}

/* What a hook sees while a graph is created has a history, in which the hook itself may be. */
static void gradient_with_history_that_a_hook_kept_goes_with_the_hook(void **state)
{
    ebb_context *ctx = *state;
    closure c = {0};
    ebb_hook_id id;
    {
        EBB_SCOPE(outer);
        ebb_tensor *x = LEAF_NUMBER(0.5), *h = ebb_mul_scalar(x, 1), *y = ebb_tanh(h), *g;
        GOOD(ebb_hook_add(&id, h, closure_call, &c, &(ebb_hook_options){.done = closure_done}));
        GOOD(ebb_grad(&g, &y, NULL, 1, &x, 1, &(ebb_grad_options){.create_graph = true}));
        EXPECT(c.seen, 1e-14, 0.7864477329659274);
        assert_true(ebb_requires_grad(c.seen));
    }
    assert_true(case_nodes(ctx) > 0); /* seen is held, and leads to the hook's own tensor */
    GOOD(ebb_hook_remove(ctx, id));
    assert_int_equal(c.n_done, 1);
    ebb_clear(&c.seen);
    assert_int_equal(case_nodes(ctx), 0);
    assert_int_equal(case_bytes(ctx), 0);
}

static void hook_fires_in_every_backward_though_its_handle_went(void **state)
{
    ebb_context *ctx = *state;
    closure c = {0};
    EBB_SCOPE(outer);
    ebb_tensor *a = LEAF_NUMBER(1), *end = NULL;
    {
        EBB_SCOPE(inner);
        ebb_tensor *b = ebb_clone(a);
        GOOD(
            ebb_hook_add(NULL, b, closure_call, &c, &(ebb_hook_options){.done = closure_done}));
        GOOD(ebb_hold(&end, ebb_clone(b)));
    }
    GOOD(ebb_backward(end, &(ebb_backward_options){.keep_graph = true}));
    assert_int_equal(c.n_calls, 1);
    assert_int_equal(c.n_done, 0);
    GOOD(ebb_backward(end, NULL));
    assert_int_equal(c.n_calls, 2);
    assert_int_equal(c.n_done, 1);
    EXPECT_GRAD(a, 0, 2);
    ebb_clear(&end);
    ebb_clear(&c.seen);
}

static void hook_goes_once_when_a_sibling_backward_severs_its_tensor(void **state)
{
    ebb_context *ctx = *state;
    closure c = {0};
    EBB_SCOPE(outer);
    ebb_tensor *trunk = ebb_square(LEAF_NUMBER(3)), *y = ebb_exp(trunk), *z = ebb_neg(trunk);
    GOOD(ebb_hold(&c.own, y));
    GOOD(ebb_hook_add(NULL, y, closure_call, &c, &(ebb_hook_options){.done = closure_done}));
    GOOD(ebb_backward(z, NULL));
    assert_int_equal(c.n_done, 1);
    assert_int_equal(c.n_calls, 0);
    assert_int_equal(case_nodes(ctx), 0);
}

/* ---- retained gradients ------------------------------------------------------------------ */

static void retained_gradient_keeps_its_bytes_alone(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2), *y = NULL;
    {
        EBB_SCOPE(inner);
        GOOD(ebb_hold(&y, ebb_mul_scalar(x, 3)));
        GOOD(ebb_retain_grad(y));
        GOOD(case_backward_sum(ebb_square(y)));
    }
    {
        EBB_SCOPE(inner);
        EXPECT_GRAD(y, 0, 6, 12);
        assert_false(ebb_requires_grad(ebb_grad_of(y)));
    }
    assert_int_equal(case_nodes(ctx), 0);
    ebb_clear(&y);
    GOOD(ebb_clear_grad(x));
    assert_in_range(case_bytes(ctx), 1, 2 * sizeof(double)); /* x */
}

static void retained_gradient_that_never_came_leaves_nothing(void **state)
{
    ebb_context *ctx = *state;
    {
        EBB_SCOPE(outer);
        ebb_tensor *y = ebb_mul_scalar(LEAF(1, 2), 3);
        GOOD(ebb_retain_grad(y));
        GOOD(ebb_check(ebb_exp(y)));
    }
    assert_int_equal(case_nodes(ctx), 0);
    assert_int_equal(case_bytes(ctx), 0);
}

/* ---- what saves its own output ----------------------------------------------------------- */

static ebb_status own_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype, s[0] = in[0].shape;
    return EBB_OK;
}

static ebb_status exp_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                              const void *attr)
{
    (void)aux, (void)attr;
    for (int64_t i = 0; i < in[0].shape.dims[0]; i++)
        ((double *)out[0].data)[i] = exp(((const double *)in[0].data)[i * in[0].strides[0]]);
    return EBB_OK;
}

static ebb_status exp_rule(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), ebb_vjp_out(v, 0)));
    return EBB_OK;
}

static void own_operation_that_saves_its_output_goes_without_backward(void **state)
{
    ebb_context *ctx = *state;
    const ebb_custom op = {.name = "own_exp",
                           .n_in = 1,
                           .n_out = 1,
                           .need = {EBB_NEED_OUT(0)},
                           .shape = own_shape,
                           .forward = exp_forward,
                           .vjp = exp_rule};
    for (int x_first = 0; x_first < 2; x_first++) {
        EBB_SCOPE(outer);
        ebb_tensor *x = ebb_claim(LEAF(0, 1)), *y;
        GOOD(ebb_apply(&y, &op, &x, NULL));
        y = ebb_claim(y);
        assert_int_equal(case_nodes(ctx), 1);
        ebb_release(x_first ? x : y);
        ebb_release(x_first ? y : x);
        assert_int_equal(case_nodes(ctx), 0);
        assert_int_equal(case_bytes(ctx), 0);
    }
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(0, 1), *y;
    GOOD(ebb_apply(&y, &op, &x, NULL));
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 1e-15, 1, 2.718281828459045);
}

typedef ebb_tensor *(*unary)(ebb_tensor *x);
static ebb_tensor *do_softmax(ebb_tensor *x)
{
    return ebb_softmax(x, -1);
}
static ebb_tensor *do_log_softmax(ebb_tensor *x)
{
    return ebb_log_softmax(x, -1);
}

static void activation_shares_its_output_with_the_next_layer(void **state)
{
    ebb_context *ctx = *state;
    const unary ops[] = {(ebb_exp),  (ebb_tanh), (ebb_sigmoid),
                         (ebb_sqrt), do_softmax, do_log_softmax};
    const ebb_shape s = EBB_SHAPE(256, 256);
    const size_t one = 256 * 256 * 4;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        EBB_SCOPE(outer);
        ebb_tensor *x = ebb_full(ctx, EBB_F32, s, 0.01), *y = NULL;
        ebb_tensor *w1 = case_leaf(ebb_full(ctx, EBB_F32, s, 0.01));
        ebb_tensor *w2 = case_leaf(ebb_full(ctx, EBB_F32, s, 0.01));
        size_t before = case_bytes(ctx);
        {
            EBB_SCOPE(inner);
            GOOD(ebb_hold(&y, ebb_matmul(ops[i](ebb_matmul(x, w1)), w2)));
        }
        /* besides what the user has: the activation's output, saved by both, and y */
        assert_int_equal(case_bytes(ctx), before + 2 * one);
        ebb_clear(&y);
        assert_int_equal(case_bytes(ctx), before);
    }
}

/* ---- totals of other kinds --------------------------------------------------------------- */

static void running_maximum_and_average_do_not_keep_their_graphs(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(2), *best = NULL, *mean = NULL;
    GOOD(ebb_hold(&best, NUMBER(0)));
    GOOD(ebb_hold(&mean, NUMBER(0)));
    size_t after_first = 0;
    for (int step = 0; step < 300; step++) {
        EBB_SCOPE(iter);
        ebb_tensor *l = ebb_mul_scalar(ebb_mul(w, w), 1 + step % 3);
        GOOD(ebb_hold(&best, ebb_maximum(best, l))); /* recorded before the backward */
        GOOD(ebb_backward(l, NULL));
        GOOD(ebb_hold(&mean, ebb_add(ebb_mul_scalar(mean, 0.5), ebb_mul_scalar(l, 0.5))));
        assert_int_equal(case_nodes(ctx), 0);
        if (step == 1) after_first = case_bytes(ctx);
        if (step > 1) assert_int_equal(case_bytes(ctx), after_first);
    }
    EXPECT(best, 0, 12);
    REFUSED(EBB_E_GRAPH, ebb_backward(best, NULL));
    REFUSED(EBB_E_GRAPH, ebb_backward(mean, NULL));
    ebb_clear(&best);
    ebb_clear(&mean);
}

static void penalties_on_gradients_leave_nothing_after_each_step(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(3), *history = NULL;
    GOOD(ebb_hold(&history, NUMBER(0)));
    size_t after_first = 0;
    for (int step = 0; step < 100; step++) {
        EBB_SCOPE(iter);
        ebb_tensor *l = ebb_mul(ebb_mul(w, w), w), *g; /* w^3, 3 w^2 */
        GOOD(ebb_grad(&g, &l, NULL, 1, &w, 1, &(ebb_grad_options){.create_graph = true}));
        GOOD(ebb_backward(ebb_add(l, ebb_mul(g, g)), NULL));
        EXPECT_GRAD(w, 0, 27 + 36 * 27); /* 3 w^2 + 36 w^3 */
        GOOD(ebb_clear_grad(w));
        GOOD(ebb_hold(&history, ebb_add(history, g)));
        assert_int_equal(case_nodes(ctx), 0);
        if (step == 1) after_first = case_bytes(ctx);
        if (step > 1) assert_int_equal(case_bytes(ctx), after_first);
    }
    EXPECT(history, 0, 2700);
    ebb_clear(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(hook_goes_with_the_last_use_of_its_tensor),
        CASE(hook_that_owns_its_tensor_goes_with_the_backward_or_by_its_number),
        CASE(gradient_that_a_hook_kept_keeps_no_graph),
        CASE(gradient_with_history_that_a_hook_kept_goes_with_the_hook),
        CASE(hook_fires_in_every_backward_though_its_handle_went),
        CASE(hook_goes_once_when_a_sibling_backward_severs_its_tensor),
        CASE(retained_gradient_keeps_its_bytes_alone),
        CASE(retained_gradient_that_never_came_leaves_nothing),
        CASE(own_operation_that_saves_its_output_goes_without_backward),
        CASE(activation_shares_its_output_with_the_next_layer),
        CASE(running_maximum_and_average_do_not_keep_their_graphs),
        CASE(penalties_on_gradients_leave_nothing_after_each_step),
    };
    return cmocka_run_group_tests_name("holders", tests, NULL, NULL);
}
