/* test_lifetime.c - what must go when: totals of losses, dropped outputs, unused branches,
 * state carried across steps, frozen layers, failing callbacks.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

static void running_total_of_losses_does_not_keep_their_graphs(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(2), *total = NULL;
    GOOD(ebb_hold(&total, NUMBER(0)));
    size_t after_first = 0;
    for (int step = 0; step < 1000; step++) {
        EBB_SCOPE(iter);
        ebb_tensor *l = ebb_mul(w, w);
        GOOD(ebb_backward(l, NULL));
        GOOD(ebb_hold(&total, ebb_add(total, l)));
        if (step == 1) after_first = case_bytes(ctx);
        if (step > 1) assert_int_equal(case_bytes(ctx), after_first);
        assert_true(case_nodes(ctx) == 0);
    }
    EXPECT(total, 0, 4000);
    EXPECT_GRAD(w, 0, 4000);
    REFUSED(EBB_E_GRAPH, ebb_backward(total, NULL));
    EXPECT_GRAD(w, 0, 4000);
    ebb_clear(&total);
}

static void running_total_of_detached_losses(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(2), *total = NULL;
    GOOD(ebb_hold(&total, NUMBER(0)));
    for (int step = 0; step < 100; step++) {
        EBB_SCOPE(iter);
        ebb_tensor *l = ebb_mul(w, w);
        GOOD(ebb_hold(&total, ebb_add(total, ebb_detach(l))));
        GOOD(ebb_backward(l, NULL));
        assert_int_equal(case_nodes(ctx), 0);
    }
    EXPECT(total, 0, 400);
    ebb_clear(&total);
}

typedef ebb_tensor *(*unary)(ebb_tensor *x);
static ebb_tensor *do_softmax(ebb_tensor *x)
{
    return ebb_softmax(x, -1);
}

static ebb_tensor *do_elu(ebb_tensor *x)
{
    return ebb_elu(x, NULL);
}
static ebb_tensor *do_norm(ebb_tensor *x)
{
    return ebb_norm(x, 2, EBB_ALL);
}
static ebb_tensor *do_logsumexp(ebb_tensor *x)
{
    return ebb_logsumexp(x, EBB_ALL);
}
static ebb_tensor *do_cumprod(ebb_tensor *x)
{
    return ebb_cumprod(x, 0);
}

static void output_that_saves_itself_goes_without_backward(void **state)
{
    ebb_context *ctx = *state;
    const unary ops[] = {(ebb_exp), (ebb_tanh), (ebb_sigmoid), (ebb_sqrt),   (ebb_rsqrt),
                         do_elu,    do_softmax, do_norm,       do_logsumexp, do_cumprod};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        for (int x_first = 0; x_first < 2; x_first++) {
            EBB_SCOPE(outer);
            ebb_tensor *x = ebb_claim(LEAF(0, 1)), *y = ebb_claim(ops[i](x));
            assert_int_equal(case_nodes(ctx), 1);
            ebb_release(x_first ? x : y);
            ebb_release(x_first ? y : x);
            assert_int_equal(case_nodes(ctx), 0);
            assert_int_equal(case_stats(ctx).n_handles, 0);
            assert_int_equal(case_bytes(ctx), 0);
        }
    }
}

static void branch_that_the_loss_does_not_reach_goes_with_its_handle(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2);
    {
        EBB_SCOPE(inner);
        ebb_tensor *y1 = ebb_exp(x), *y2 = ebb_exp(ebb_mul_scalar(x, 3));
        GOOD(ebb_check(y2));
        GOOD(ebb_backward(ebb_sum(y1, EBB_ALL), NULL));
    }
    EXPECT_GRAD(x, 1e-12, 2.718281828459045, 7.38905609893065);
    assert_int_equal(case_nodes(ctx), 0);
}

static void gradient_with_history_does_not_keep_itself_alive(void **state)
{
    ebb_context *ctx = *state;
    {
        EBB_SCOPE(outer);
        ebb_tensor *x = LEAF_NUMBER(0.5), *y = ebb_tanh(x), *g;
        GOOD(ebb_grad(&g, &y, NULL, 1, &x, 1, &(ebb_grad_options){.create_graph = true}));
        EXPECT(y, 1e-14, 0.46211715726000974);
        EXPECT(g, 1e-14, 0.7864477329659274);
        assert_true(ebb_requires_grad(g));
        assert_false(ebb_has_grad(x));
    }
    assert_int_equal(case_nodes(ctx), 0);
    assert_int_equal(case_bytes(ctx), 0);
}

static void backward_seeded_with_the_output_itself(void **state)
{
    ebb_context *ctx = *state;
    for (int create = 0; create < 2; create++) {
        EBB_SCOPE(outer);
        ebb_tensor *w = LEAF(1, 2), *x = VEC(3, 4), *y = ebb_mul(w, x), *g;
        GOOD(ebb_grad(&g, &y, &y, 1, &w, 1, &(ebb_grad_options){.create_graph = create}));
        EXPECT(g, 0, 9, 32);
    }
    {
        EBB_SCOPE(outer);
        ebb_tensor *w = LEAF(1, 2), *y = ebb_mul(w, VEC(3, 4));
        GOOD(case_backward_with(y, y));
        EXPECT_GRAD(w, 0, 9, 32);
    }
    assert_int_equal(case_nodes(ctx), 0);
    assert_int_equal(case_bytes(ctx), 0);
}

static void many_tiny_graphs_leave_no_trace(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *leaf = LEAF_NUMBER(1);
    size_t early = 0;
    for (int i = 0; i < 1000000; i++) {
        {
            EBB_SCOPE(iter);
            GOOD(ebb_check(ebb_mul_scalar(leaf, 2)));
        }
        if (i == 1000) early = case_stats(ctx).used_bytes;
    }
    assert_int_equal(case_stats(ctx).used_bytes, early);
    assert_int_equal(case_nodes(ctx), 0);
}

static void every_step_of_a_regression_returns_to_the_same_bytes(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(0), *b = LEAF_NUMBER(0);
    ebb_tensor *x = VEC(0, 1, 2, 3), *y = VEC(1, 4, 7, 10);
    size_t bytes = 0;
    for (int step = 0; step < 1000; step++) {
        {
            EBB_SCOPE(iter);
            ebb_tensor *loss =
                ebb_mean(ebb_square(ebb_sub(ebb_add(ebb_mul(w, x), b), y)), EBB_ALL);
            GOOD(ebb_backward(loss, NULL));
            assert_int_equal(case_nodes(ctx), 0);
            EBB_NO_GRAD(update);
            double next_w = ebb_item(w) - 0.1 * ebb_item(ebb_grad_of(w));
            double next_b = ebb_item(b) - 0.1 * ebb_item(ebb_grad_of(b));
            GOOD(EBB_WRITE(w, &next_w, 1));
            GOOD(EBB_WRITE(b, &next_b, 1));
            GOOD(ebb_clear_grad(w));
            GOOD(ebb_clear_grad(b));
        }
        if (step == 2) bytes = case_stats(ctx).used_bytes;
        if (step > 2) assert_int_equal(case_stats(ctx).used_bytes, bytes);
    }
    EXPECT(w, 1e-6, 3);
    EXPECT(b, 1e-6, 1);
}

static void plain_gradients_carry_no_history(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2);
    GOOD(ebb_backward(ebb_sum(ebb_mul(ebb_mul(x, x), x), EBB_ALL), NULL));
    EXPECT_GRAD(x, 0, 3, 12);
    assert_false(ebb_requires_grad(ebb_grad_of(x)));
    assert_int_equal(case_nodes(ctx), 0);
}

static void hidden_state_must_be_detached_and_the_error_says_so(void **state)
{
    ebb_context *ctx = *state;
    const double h_at[] = {0.46211715726000974, 0.2270326087174543, 0.11303121601000445};
    const double g_at[] = {0.7864477329659274, 1.2247456133903971, 1.448877640832115};
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF_NUMBER(0.5), *h = NUMBER(1);
    for (int k = 0; k < 3; k++) {
        h = ebb_tanh(ebb_mul(w, h));
        GOOD(ebb_backward(h, NULL));
        EXPECT(h, 1e-13, h_at[k]);
        EXPECT_GRAD(w, 1e-13, g_at[k]);
        h = ebb_detach(h);
        assert_int_equal(case_nodes(ctx), 0);
    }
    h = ebb_tanh(ebb_mul(w, NUMBER(1)));
    GOOD(ebb_backward(h, NULL));
    h = ebb_tanh(ebb_mul(w, h));
    REFUSED(EBB_E_GRAPH, ebb_backward(h, NULL));
    GOOD(ebb_clear_grad(w));
    h = NUMBER(1);
    for (int k = 0; k < 3; k++) h = ebb_tanh(ebb_mul(w, h));
    GOOD(ebb_backward(h, NULL));
    EXPECT_GRAD(w, 1e-13, 0.6245764637242187);
}

static void mask_keeps_the_mask_alone(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = case_leaf(ebb_full(ctx, EBB_F32, EBB_SHAPE(512, 512), 1));
    ebb_tensor *m = ebb_full(ctx, EBB_F32, EBB_SHAPE(512, 512), 2), *y = NULL;
    const size_t mib = 1 << 20;
    assert_int_equal(case_bytes(ctx), 2 * mib);
    {
        EBB_SCOPE(inner);
        GOOD(ebb_hold(&y, ebb_mul(ebb_mul_scalar(x, 1), m)));
    }
    assert_int_equal(case_bytes(ctx), 3 * mib); /* x, m, y; the scaled x is not kept */
    ebb_clear(&y);
    assert_int_equal(case_bytes(ctx), 2 * mib);
}

static void frozen_layers_record_nothing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = ebb_full(ctx, EBB_F32, EBB_SHAPE(8, 64), 1), *h = NULL;
    ebb_tensor *frozen = ebb_full(ctx, EBB_F32, EBB_SHAPE(64, 64), 0.01);
    ebb_tensor *w = case_leaf(ebb_full(ctx, EBB_F32, EBB_SHAPE(64, 64), 0.01));
    size_t before = case_bytes(ctx);
    GOOD(ebb_hold(&h, x));
    for (int layer = 0; layer < 10; layer++) {
        EBB_SCOPE(inner);
        GOOD(ebb_hold(&h, ebb_tanh(ebb_matmul(h, frozen))));
        assert_int_equal(case_nodes(ctx), 0);
    }
    assert_int_equal(case_bytes(ctx), before + 8 * 64 * 4);
    ebb_tensor *y = ebb_matmul(h, w);
    assert_int_equal(case_nodes(ctx), 1);
    GOOD(ebb_check(y));
    ebb_clear(&h);
}

static void relu_adds_no_buffer_to_what_the_next_layer_keeps(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    const ebb_shape s = EBB_SHAPE(256, 256);
    const size_t one = 256 * 256 * 4;
    ebb_tensor *x = ebb_full(ctx, EBB_F32, s, 0.01), *loss = NULL;
    ebb_tensor *w1 = case_leaf(ebb_full(ctx, EBB_F32, s, 0.01));
    ebb_tensor *w2 = case_leaf(ebb_full(ctx, EBB_F32, s, 0.01));
    size_t before = case_bytes(ctx);
    {
        EBB_SCOPE(inner);
        ebb_tensor *h = ebb_relu(ebb_matmul(x, w1));
        GOOD(ebb_hold(&loss, ebb_sum(ebb_square(ebb_matmul(h, w2)), EBB_ALL)));
    }
    /* x, w1, w2 are the user's; kept besides: h (for matmul and relu), h @ w2 (for square),
     * loss */
    assert_in_range(case_bytes(ctx), before, before + 2 * one + 256);
    ebb_clear(&loss);
    assert_int_equal(case_bytes(ctx), before);
}

static void saved_values_go_as_backward_proceeds(void **state)
{
    ebb_context *ctx = *state;
    const size_t mib = 1 << 20;
    EBB_SCOPE(outer);
    ebb_tensor *x = case_leaf(ebb_full(ctx, EBB_F32, EBB_SHAPE(512, 512), 1)), *loss = NULL;
    {
        EBB_SCOPE(inner);
        ebb_tensor *y = x;
        for (int k = 0; k < 64; k++) y = ebb_mul(y, y);
        GOOD(ebb_hold(&loss, ebb_sum(y, EBB_ALL)));
    }
    size_t start = case_bytes(ctx);
    ebb_stats_reset_peak(ctx);
    GOOD(ebb_backward(loss, NULL));
    ebb_stats s = case_stats(ctx);
    assert_in_range(s.peak_bytes - s.peak_by_kind[EBB_KIND_BOOKKEEPING], 0, start + 3 * mib);
    ebb_clear(&loss);
    assert_in_range(case_bytes(ctx), 2 * mib, 2 * mib + 256); /* x and its gradient */
    float g[512];
    GOOD(EBB_READ(ebb_select(ebb_grad_of(x), 0, 0), g, 512));
    assert_true(g[0] == 18446744073709551616.0f && g[511] == g[0]);
}

static void no_grad_work_leaves_nothing_and_is_a_constant_later(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = LEAF(2, 3), *y = NULL;
    {
        EBB_NO_GRAD(inference);
        GOOD(ebb_hold(&y, ebb_mul(w, w)));
        assert_int_equal(case_nodes(ctx), 0);
        assert_false(ebb_requires_grad(y));
    }
    GOOD(ebb_backward(ebb_sum(ebb_mul(y, w), EBB_ALL), NULL));
    EXPECT_GRAD(w, 0, 4, 9);
    ebb_clear(&y);
}

static void cleared_gradients_give_their_bytes_back(void **state)
{
    ebb_context *ctx = *state;
    const size_t mib = 1 << 20;
    EBB_SCOPE(outer);
    ebb_tensor *w = case_leaf(ebb_full(ctx, EBB_F32, EBB_SHAPE(512, 512), 1));
    {
        EBB_SCOPE(iter);
        GOOD(ebb_backward(ebb_sum(ebb_mul(w, w), EBB_ALL), NULL));
    }
    assert_int_equal(case_stats(ctx).bytes[EBB_KIND_GRADIENT], mib);
    GOOD(ebb_clear_grad(w));
    assert_int_equal(case_stats(ctx).bytes[EBB_KIND_GRADIENT], 0);
    assert_false(ebb_has_grad(w));
    assert_ptr_equal(ebb_grad_of(w), EBB_NONE);
    assert_int_equal(case_bytes(ctx), mib);
    ebb_stats_reset_peak(ctx);
    {
        EBB_SCOPE(iter);
        GOOD(ebb_backward(ebb_sum(ebb_mul(w, w), EBB_ALL), NULL));
    }
    ebb_stats s = case_stats(ctx); /* w, w*w, the two contributions and their sum at most */
    assert_in_range(s.peak_bytes - s.peak_by_kind[EBB_KIND_BOOKKEEPING], 0, 5 * mib);
}

static void repeated_training_steps_hold_exactly_the_same(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = ebb_full(ctx, EBB_F32, EBB_SHAPE(32, 64), 0.1), *w[3];
    for (int l = 0; l < 3; l++)
        w[l] = case_leaf(ebb_full(ctx, EBB_F32, EBB_SHAPE(64, l == 2 ? 1 : 64), 0.01));
    ebb_stats second = {0};
    for (int step = 0; step < 500; step++) {
        {
            EBB_SCOPE(iter);
            ebb_tensor *h = ebb_tanh(ebb_matmul(ebb_tanh(ebb_matmul(x, w[0])), w[1]));
            GOOD(ebb_backward(ebb_mean(ebb_matmul(h, w[2]), EBB_ALL), NULL));
            for (int l = 0; l < 3; l++) GOOD(ebb_clear_grad(w[l]));
        }
        ebb_stats now = case_stats(ctx);
        if (step == 2) second = now;
        if (step > 2) {
            assert_int_equal(now.used_bytes, second.used_bytes);
            assert_int_equal(now.n_handles, second.n_handles);
            assert_int_equal(now.bytes[EBB_KIND_CACHE], second.bytes[EBB_KIND_CACHE]);
        }
    }
}

static void recycled_nodes_do_not_mix_programs_up(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF_NUMBER(3);
    for (int k = 0; k < 1000; k++) {
        EBB_SCOPE(iter);
        ebb_tensor *a = ebb_mul(x, x);
        GOOD(ebb_backward(ebb_mul_scalar(a, 5), NULL));
        EXPECT_GRAD(x, 0, 30);
        GOOD(ebb_clear_grad(x));
        GOOD(ebb_backward(ebb_mul(x, x), NULL));
        EXPECT_GRAD(x, 0, 6);
        GOOD(ebb_clear_grad(x));
        assert_int_equal(case_nodes(ctx), 0);
    }
}

static ebb_status own_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype, s[0] = in[0].shape;
    return EBB_OK;
}
static ebb_status failing_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                  const void *attr)
{
    (void)out, (void)aux, (void)in, (void)attr;
    return ebb_fail(EBB_E_RANGE, "sensor 7 is out of range");
}

static void failure_in_a_users_operation_leaves_nothing(void **state)
{
    ebb_context *ctx = *state;
    const ebb_custom op = {.name = "sensor",
                           .n_in = 1,
                           .n_out = 1,
                           .shape = own_shape,
                           .forward = failing_forward};
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 2);
    ebb_stats before = {0};
    for (int k = 0; k < 1000; k++) {
        if (k == 1) before = case_stats(ctx); /* the operation is known from its first use on */
        EBB_SCOPE(iter);
        ebb_tensor *out, *in = ebb_mul(x, x);
        assert_int_equal(ebb_apply(&out, &op, &in, NULL), EBB_E_RANGE);
        assert_null(out);
        assert_non_null(strstr(ebb_error_message(), "sensor 7 is out of range"));
        ebb_error_clear();
    }
    ebb_stats after = case_stats(ctx);
    assert_int_equal(after.used_bytes, before.used_bytes);
    assert_int_equal(after.live_nodes, 0);
    assert_int_equal(after.n_handles, before.n_handles);
    GOOD(ebb_backward(ebb_sum(ebb_mul(x, x), EBB_ALL), NULL));
    EXPECT_GRAD(x, 0, 2, 4);
}

static ebb_status identity_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                                   const void *attr)
{
    (void)aux, (void)attr;
    *(double *)out[0].data = *(double *)in[0].data;
    return EBB_OK;
}

/* Differentiates a small graph of its own, q = y + p', inside the rule. */
static ebb_status rule_with_a_graph_of_its_own(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_scope s = ebb_scope_begin(EBB_SCOPE_GRAD, NULL);
    ebb_tensor *g = ebb_vjp_grad(v, 0), *p = ebb_clone(ebb_detach(ebb_vjp_in(v, 0))), *inner;
    ebb_status status = ebb_set_requires_grad(p, true);
    ebb_tensor *q = ebb_add(ebb_detach(ebb_vjp_in(v, 0)), p);
    if (status == EBB_OK) status = ebb_grad(&inner, &q, &g, 1, &p, 1, NULL);
    if (status == EBB_OK) ebb_vjp_give(v, 0, inner);
    ebb_scope_end(s);
    return status;
}

static void rule_may_differentiate_a_graph_of_its_own(void **state)
{
    ebb_context *ctx = *state;
    const ebb_custom op = {.name = "identity",
                           .n_in = 1,
                           .n_out = 1,
                           .need = {EBB_NEED_IN(0)},
                           .shape = own_shape,
                           .forward = identity_forward,
                           .vjp = rule_with_a_graph_of_its_own};
    for (int k = 0; k < 3; k++) {
        EBB_SCOPE(outer);
        ebb_tensor *p = LEAF_NUMBER(3), *out;
        GOOD(ebb_apply(&out, &op, &p, NULL));
        GOOD(ebb_backward(ebb_mul(out, out), NULL));
        EXPECT_GRAD(p, 0, 6);
        assert_int_equal(case_nodes(ctx), 0);
    }
    assert_int_equal(case_bytes(ctx), 0);
}

/* Checked, and the 32 gradients written to bits. */
static void deep_alternation(ebb_context *ctx, double *bits)
{
    EBB_SCOPE(outer);
    ebb_tensor *h0 = LEAF_NUMBER(1), *h1 = LEAF_NUMBER(0.5), *w[30], *a = h0, *b = h1;
    for (int i = 0; i < 30; i++) {
        w[i] = LEAF_NUMBER(0.1 * (i % 7) - 0.3);
        ebb_tensor *next = ebb_tanh(ebb_add(ebb_mul(b, w[i]), ebb_mul_scalar(a, 0.5)));
        a = b, b = next;
    }
    GOOD(ebb_backward(b, NULL));
    EXPECT(b, 1e-9, 1.0986271883552e-05);
    EXPECT_GRAD(h0, 1e-9, -5.1777222333507e-06);
    EXPECT_GRAD(h1, 1e-9, 3.22822563622666e-05);
    EXPECT_GRAD(w[0], 1e-9, -5.1777222333507e-06);
    EXPECT_GRAD(w[15], 1e-9, 2.02985275310856e-05);
    EXPECT_GRAD(w[29], 1e-9, 2.02985682663606e-05);
    double sum = 0;
    for (int i = 0; i < 30; i++) sum += ebb_item(ebb_grad_of(w[i]));
    assert_true(fabs(sum - 3.75447878709e-04) < 1e-9 * 3.75447878709e-04);
    for (int i = 0; i < 30; i++) bits[i] = ebb_item(ebb_grad_of(w[i]));
    bits[30] = ebb_item(ebb_grad_of(h0));
    bits[31] = ebb_item(ebb_grad_of(h1));
}

/* Freed bytes are spoilt, as far as the C library can reach. */
static void *spoilt_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p) memset(p, 0xA5, bytes);
    return p;
}
static void spoilt_free(void *user, void *p, size_t bytes)
{
    (void)user;
    memset(p, 0x5A, bytes);
    free(p);
}

static void deep_alternation_keeps_its_gradient(void **state)
{
    double bits[32], again[32];
    const ebb_allocator spoilt = {.alloc = spoilt_alloc, .free = spoilt_free};
    deep_alternation(*state, bits);
    for (int n_threads = 1; n_threads <= 8; n_threads += 7) {
        ebb_context *ctx;
        GOOD(ebb_context_create(
            &ctx, &(ebb_context_options){.allocator = &spoilt, .n_threads = n_threads}));
        deep_alternation(ctx, again);
        assert_memory_equal(again, bits, sizeof bits);
        ebb_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(running_total_of_losses_does_not_keep_their_graphs),
        CASE(running_total_of_detached_losses),
        CASE(output_that_saves_itself_goes_without_backward),
        CASE(branch_that_the_loss_does_not_reach_goes_with_its_handle),
        CASE(gradient_with_history_does_not_keep_itself_alive),
        CASE(backward_seeded_with_the_output_itself),
        CASE(many_tiny_graphs_leave_no_trace),
        CASE(every_step_of_a_regression_returns_to_the_same_bytes),
        CASE(plain_gradients_carry_no_history),
        CASE(hidden_state_must_be_detached_and_the_error_says_so),
        CASE(mask_keeps_the_mask_alone),
        CASE(frozen_layers_record_nothing),
        CASE(relu_adds_no_buffer_to_what_the_next_layer_keeps),
        CASE(saved_values_go_as_backward_proceeds),
        CASE(no_grad_work_leaves_nothing_and_is_a_constant_later),
        CASE(cleared_gradients_give_their_bytes_back),
        CASE(repeated_training_steps_hold_exactly_the_same),
        CASE(recycled_nodes_do_not_mix_programs_up),
        CASE(failure_in_a_users_operation_leaves_nothing),
        CASE(rule_may_differentiate_a_graph_of_its_own),
        CASE(deep_alternation_keeps_its_gradient),
    };
    return cmocka_run_group_tests_name("lifetime", tests, NULL, NULL);
}
