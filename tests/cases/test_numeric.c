/* test_numeric.c - values and gradients at kinks, ties, zeros, infinities, NaN and nothing at
 * all.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

static ebb_tensor *indices(ebb_context *ctx, ebb_shape s, const int64_t *i, size_t n)
{
    ebb_tensor *t = ebb_tensor_copy(ctx, EBB_I64, s, i, n * sizeof *i);
    assert_non_null(t);
    return t;
}
#define INDEX(...)                                                                             \
    indices(ctx, EBB_SHAPE((int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))),     \
            (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void repeated_indices_add_up(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(0.1);
    GOOD(case_backward_with(ebb_index_select(x, INDEX(0, 0), 0), VEC(0.2, 0.3)));
    EXPECT_GRAD(x, 1e-15, 0.5);
    x = LEAF(1, 2, 3);
    ebb_tensor *y = ebb_index_select(x, INDEX(-1, 2, -3), 0);
    EXPECT(y, 0, 3, 3, 1);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 1, 0, 2);
    ebb_tensor *base = LEAF(0, 0, 0), *src = LEAF(1, 2, 3);
    y = ebb_scatter_add(base, INDEX(0, 0, 2), src, 0);
    EXPECT(y, 0, 3, 0, 3);
    GOOD(case_backward_with(y, VEC(10, 20, 30)));
    EXPECT_GRAD(src, 0, 10, 10, 30);
    EXPECT_GRAD(base, 0, 10, 20, 30);
}

static void broadcast_gradients_have_the_operands_shape(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *v = LEAF_NUMBER(3), *a, *b;
    GOOD(case_backward_sum(ebb_mul(VEC(1, 1), v)));
    EXPECT_GRAD(v, 0, 2);
    assert_int_equal(ebb_rank(ebb_grad_of(v)), 0);
    a = case_leaf(MAT(EBB_SHAPE(2, 1), 1, 1)), b = LEAF(1, 1);
    GOOD(case_backward_sum(ebb_add(a, b)));
    assert_true(case_has_shape(ebb_grad_of(a), EBB_SHAPE(2, 1)));
    EXPECT_GRAD(a, 0, 2, 2);
    EXPECT_GRAD(b, 0, 2, 2);
    a = case_leaf(MAT(EBB_SHAPE(4, 1), 1, 2, 3, 4)),
    b = case_leaf(MAT(EBB_SHAPE(1, 4), 1, 2, 3, 4));
    GOOD(case_backward_sum(ebb_mul(a, b)));
    EXPECT_GRAD(a, 0, 10, 10, 10, 10);
    EXPECT_GRAD(b, 0, 10, 10, 10, 10);
    a = ebb_ones(ctx, EBB_F64, EBB_SHAPE(2, 1, 3, 4));
    b = case_leaf(ebb_ones(ctx, EBB_F64, EBB_SHAPE(2, 1, 3, 1)));
    GOOD(case_backward_sum(ebb_mul(a, b)));
    assert_true(case_has_shape(ebb_grad_of(b), EBB_SHAPE(2, 1, 3, 1)));
    EXPECT_GRAD(b, 0, 4, 4, 4, 4, 4, 4);
}

static void zero_size_axes(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *a = case_leaf(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(4, 0)));
    ebb_tensor *b = case_leaf(ebb_ones(ctx, EBB_F64, EBB_SHAPE(4, 1)));
    GOOD(case_backward_sum(ebb_add(a, b)));
    EXPECT_GRAD(b, 0, 0, 0, 0, 0);
    assert_true(case_has_shape(ebb_grad_of(a), EBB_SHAPE(4, 0)));
    ebb_tensor *c = case_leaf(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(2, 0)));
    GOOD(case_backward_sum(ebb_cumsum(c, 0)));
    assert_true(case_has_shape(ebb_grad_of(c), EBB_SHAPE(2, 0)));
    ebb_tensor *d = case_leaf(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(3, 0)));
    ebb_tensor *p = ebb_prod(d, EBB_AXES(1));
    EXPECT(p, 0, 1, 1, 1);
    GOOD(case_backward_sum(p));
    assert_true(case_has_shape(ebb_grad_of(d), EBB_SHAPE(3, 0)));
    ebb_tensor *x = case_leaf(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(2, 0)));
    ebb_tensor *y = case_leaf(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 3)));
    ebb_tensor *m = ebb_matmul(x, y);
    EXPECT(m, 0, 0, 0, 0, 0, 0, 0);
    GOOD(case_backward_sum(m));
    assert_true(case_has_shape(ebb_grad_of(x), EBB_SHAPE(2, 0)));
    assert_true(case_has_shape(ebb_grad_of(y), EBB_SHAPE(0, 3)));
}

static void reductions_over_nothing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *none = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0)), *values, *at;
    ebb_tensor *wide = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, 4));
    EXPECT(ebb_sum(none, EBB_ALL), 0, 0);
    EXPECT(ebb_mean(none, EBB_ALL), 0, NAN);
    EXPECT(ebb_prod(none, EBB_ALL), 0, 1);
    EXPECT(ebb_logsumexp(none, EBB_ALL), 0, -INFINITY);
    assert_null(ebb_amax(none, EBB_ALL));
    assert_int_equal(ebb_error_status(), EBB_E_SHAPE);
    assert_null(ebb_amin(none, EBB_ALL));
    assert_null(ebb_argmax(none, EBB_ALL));
    REFUSED(EBB_E_SHAPE, ebb_max(&values, &at, wide, EBB_AXES(0)));
    GOOD(ebb_max(&values, &at, wide, EBB_AXES(1)));
    assert_true(case_has_shape(values, EBB_SHAPE(0)));
    ebb_error_clear();
}

static void norm_squared_at_the_origin_and_square_roots_of_zero(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(0, 0);
    GOOD(ebb_backward(ebb_sum(ebb_square(x), EBB_ALL), NULL));
    EXPECT_GRAD(x, 0, 0, 0);
    x = LEAF(0, 4);
    GOOD(case_backward_sum(ebb_sqrt(x)));
    EXPECT_GRAD(x, 0, INFINITY, 0.25);
    x = LEAF(0, 0, 0);
    GOOD(ebb_backward(ebb_norm(x, 2, EBB_ALL), NULL));
    EXPECT_GRAD(x, 0, 0, 0, 0);
    x = LEAF(0, 0); /* by hand, infinity times 0 */
    GOOD(ebb_backward(ebb_sqrt(ebb_sum(ebb_square(x), EBB_ALL)), NULL));
    EXPECT_GRAD(x, 0, NAN, NAN);
}

/* sqrt(a exp(u)) at a root that underflows to 0, made again in a small budget and not. */
static void root_of_an_underflow_is_the_same_however_it_is_made(void **state)
{
    (void)state;
    const size_t budgets[] = {0, 512 << 10};
    for (int k = 0; k < 4; k++) {
        ebb_context *ctx = NULL;
        ebb_context_options o = {.n_threads = 1 + k / 2, .memory_budget_bytes = budgets[k % 2]};
        GOOD(ebb_context_create(&ctx, &o));
        {
            EBB_SCOPE(outer);
            ebb_tensor *a = LEAF(1, 4), *u = LEAF(-800, 0);
            GOOD(case_backward_sum(ebb_sqrt(ebb_mul(a, ebb_exp(u)))));
            EXPECT_GRAD(a, 0, NAN, 0.25); /* infinity times 0 */
            EXPECT_GRAD(u, 0, NAN, 1);
        }
        ebb_context_destroy(ctx);
    }
}

static void branch_not_taken(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    const float hundred = 100;
    ebb_tensor *a = ebb_tensor_copy(ctx, EBB_F32, EBB_SCALAR, &hundred, sizeof hundred);
    case_leaf(a);
    ebb_tensor *b = ebb_where(ebb_le(a, ebb_full_like(a, 0)), ebb_exp(a), ebb_add_scalar(a, 1));
    EXPECT(b, 0, 101);
    GOOD(ebb_backward(b, NULL));
    EXPECT_GRAD(a, 0, NAN); /* by the chain rule 1 + 0 * infinity: docs/conventions.md */
    GOOD(ebb_clear_grad(a));
    ebb_tensor *low = ebb_le(a, ebb_full_like(a, 0)); /* so the argument is chosen, too */
    b = ebb_where(low, ebb_exp(ebb_masked_fill(a, ebb_logical_not(low), 0)),
                  ebb_add_scalar(a, 1));
    GOOD(ebb_backward(b, NULL));
    EXPECT_GRAD(a, 0, 1);
}

static void powers_of_zero(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(0, 2), *e = LEAF(1, 1);
    GOOD(case_backward_sum(ebb_pow(x, e)));
    EXPECT_GRAD(e, 1e-7, 0, 1.3862943611198906);
    EXPECT_GRAD(x, 0, 1, 1);
    const double power[] = {0.5, 1, 2, 3, -1}, slope[] = {INFINITY, 1, 0, 0, -INFINITY};
    for (int k = 0; k < 5; k++) {
        x = LEAF_NUMBER(0);
        GOOD(ebb_backward(ebb_pow(x, NUMBER(power[k])), NULL));
        EXPECT_GRAD(x, 0, slope[k]);
        x = LEAF_NUMBER(0);
        GOOD(ebb_backward(ebb_pow_scalar(x, power[k]), NULL));
        EXPECT_GRAD(x, 0, slope[k]);
    }
    x = LEAF_NUMBER(-2), e = LEAF_NUMBER(2);
    GOOD(ebb_backward(ebb_pow(x, e), NULL));
    EXPECT_GRAD(x, 0, -4);
    EXPECT_GRAD(e, 0, NAN);
    x = LEAF(0, 2), e = LEAF(0, 0);
    ebb_tensor *y = ebb_pow(x, e);
    EXPECT(y, 0, 1, 1);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, 0, 0, 0);
    assert_true(ebb_item(ebb_select(ebb_grad_of(e), 0, 0)) == 0);
    x = LEAF(0, 2);
    GOOD(case_backward_sum(ebb_pow_scalar(x, 0)));
    EXPECT_GRAD(x, 0, 0, 0);
}

static void products_with_zeros(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(2, 0, 3, 4);
    GOOD(ebb_backward(ebb_prod(x, EBB_ALL), NULL));
    EXPECT_GRAD(x, 0, 0, 24, 0, 0);
    x = LEAF(0, 0, 3);
    GOOD(ebb_backward(ebb_prod(x, EBB_ALL), NULL));
    EXPECT_GRAD(x, 0, 0, 0, 0);
    x = case_leaf(MAT(EBB_SHAPE(2, 3), 2, 0, 4, 1, 2, 3));
    GOOD(case_backward_sum(ebb_prod(x, EBB_AXES(1))));
    EXPECT_GRAD(x, 0, 0, 8, 0, 6, 3, 2);
    x = LEAF(0);
    GOOD(ebb_backward(ebb_prod(x, EBB_AXES(0)), NULL));
    EXPECT_GRAD(x, 0, 1);
    assert_true(case_has_shape(ebb_grad_of(x), EBB_SHAPE(1)));
}

static void running_products_with_zeros(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(2, 0, 3);
    GOOD(case_backward_sum(ebb_cumprod(x, 0)));
    EXPECT_GRAD(x, 0, 1, 8, 0);
    x = LEAF(2, 0, 3, 0, 5);
    GOOD(case_backward_sum(ebb_cumprod(x, 0)));
    EXPECT_GRAD(x, 0, 1, 8, 0, 0, 0);
}

static void ties_share_or_choose_but_sum_to_one(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(0.6, 0.6, 0.3), *values, *at;
    GOOD(ebb_backward(ebb_amax(x, EBB_ALL), NULL));
    EXPECT_GRAD(x, 0, 0.5, 0.5, 0);
    GOOD(ebb_clear_grad(x));
    GOOD(ebb_max(&values, &at, x, EBB_AXES(0)));
    assert_true(ebb_item(at) == 0);
    GOOD(ebb_backward(values, NULL));
    EXPECT_GRAD(x, 0, 1, 0, 0);
    ebb_tensor *a = LEAF(1, 2), *b = LEAF(1, 1);
    GOOD(case_backward_sum(ebb_maximum(a, b)));
    EXPECT_GRAD(a, 0, 0.5, 1);
    EXPECT_GRAD(b, 0, 0.5, 0);
}

static void one_rule_at_the_kink(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF_NUMBER(0);
    const double want[] = {0, 1, 1, 0.5, 0};
    ebb_tensor *y[] = {ebb_relu(x), ebb_clamp(x, 0, INFINITY), ebb_clamp(x, 0, 6),
                       ebb_maximum(x, NUMBER(0)), ebb_abs(x)};
    for (int k = 0; k < 5; k++) {
        GOOD(ebb_backward(y[k], NULL));
        EXPECT_GRAD(x, 0, want[k]);
        GOOD(ebb_clear_grad(x));
    }
    x = LEAF(0, 1, 2);
    ebb_tensor *c = ebb_clamp(x, 1, 1);
    EXPECT(c, 0, 1, 1, 1);
    GOOD(case_backward_sum(c));
    EXPECT_GRAD(x, 0, 0, 0, 0);
    x = LEAF_NUMBER(1.5);
    c = ebb_clamp(x, 0, 1);
    EXPECT(c, 0, 1);
    GOOD(ebb_backward(c, NULL));
    EXPECT_GRAD(x, 0, 0);
}

static void logsumexp_of_infinities(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(-INFINITY, -INFINITY), *y = ebb_logsumexp(x, EBB_ALL);
    EXPECT(y, 0, -INFINITY);
    GOOD(ebb_backward(y, NULL));
    EXPECT_GRAD(x, 0, 0, 0);
    x = LEAF(-INFINITY, 0, 0), y = ebb_logsumexp(x, EBB_ALL);
    EXPECT(y, 1e-7, 0.6931471805599453);
    GOOD(ebb_backward(y, NULL));
    EXPECT_GRAD(x, 1e-15, 0, 0.5, 0.5);
    x = case_leaf(ebb_full(ctx, EBB_F32, EBB_SHAPE(2), 1000)), y = ebb_logsumexp(x, EBB_ALL);
    EXPECT(y, 1e-7, 1000.6931471805599);
    GOOD(ebb_backward(y, NULL));
    EXPECT_GRAD(x, 0, 0.5, 0.5);
    EXPECT(ebb_logsumexp(VEC(INFINITY, 0), EBB_ALL), 0, INFINITY);
}

static void losses_at_extreme_logits(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    const float logits[] = {-431, 279, 427}, steep[] = {-1047, -981, 1891};
    ebb_tensor *x = case_leaf(EBB_FROM(ctx, EBB_SHAPE(1, 3), logits, 3));
    ebb_tensor *loss = ebb_cross_entropy(x, INDEX(0), NULL);
    EXPECT(loss, 0, 858);
    GOOD(ebb_backward(loss, NULL));
    EXPECT_GRAD(x, 0, -1, 0, 1);
    x = case_leaf(EBB_FROM(ctx, EBB_SHAPE(3), steep, 3));
    GOOD(case_backward_with(ebb_softmax(x, 0), ebb_cast(VEC(1, 2, 3), EBB_F32)));
    EXPECT_GRAD(x, 0, 0, 0, 0);
    ebb_tensor *z = LEAF(-1000, 1000, 0), *t = VEC(1, 1, 0);
    loss = ebb_mul_scalar(ebb_bce_with_logits(z, t), 3); /* a mean of three */
    EXPECT(loss, 1e-12, 1000.6931471805599);
    GOOD(ebb_backward(loss, NULL));
    EXPECT_GRAD(z, 1e-12, -1, 0, 0.5);
}

static void probabilities_of_zero_and_one(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *p = LEAF(0, 1, 0.5);
    ebb_tensor *loss = ebb_mul_scalar(ebb_bce(p, VEC(0, 1, 1)), 3);
    EXPECT(loss, 1e-12, 0.6931471805599453);
    GOOD(ebb_backward(loss, NULL));
    EXPECT_GRAD(p, 1e-12, 0, 0, -2);
}

/* A running sum of ones in binary16 stands still at 2,048, in bfloat16 at 256. */
static void sixteen_bits_lose_nothing_of_4096_uses(void **state)
{
    ebb_context *ctx = *state;
    enum { N = 4096 };
    for (int k = 0; k < 20; k++) {
        EBB_SCOPE(outer);
        ebb_dtype d = k < 10 ? EBB_F16 : EBB_BF16;
        ebb_tensor *x = case_leaf(ebb_ones(ctx, d, EBB_SHAPE(1)));
        ebb_tensor *zeros = ebb_zeros(ctx, EBB_I64, EBB_SHAPE(N)), *y = NULL;
        ebb_tensor *many = ebb_ones(ctx, d, EBB_SHAPE(N));
        switch (k % 10) {
        case 0:
            y = ebb_expand(x, EBB_SHAPE(N));
            break;
        case 1:
            y = ebb_add(x, many);
            break;
        case 2:
            y = ebb_mul(x, many);
            break;
        case 3:
            y = ebb_index_select(x, zeros, 0);
            break;
        case 4:
            y = ebb_gather(x, zeros, 0);
            break;
        case 5:
            y = ebb_take(x, zeros);
            break;
        case 6:
            y = ebb_repeat(x, EBB_SHAPE(N));
            break;
        case 7:
            y = ebb_as_strided(x, EBB_SHAPE(N), EBB_SHAPE(0), 0);
            break;
        case 8:
            y = ebb_outer(x, many);
            break;
        case 9:
            y = ebb_where(ebb_isnan(many), many, x);
            break;
        }
        GOOD(case_backward_sum(y));
        assert_int_equal(ebb_dtype_of(ebb_grad_of(x)), d);
        EXPECT_GRAD(x, 0, N);
        EXPECT(ebb_scatter_add(ebb_zeros(ctx, d, EBB_SHAPE(1)), zeros, many, 0), 0, N);
        EXPECT(ebb_index_add(ebb_zeros(ctx, d, EBB_SHAPE(1)), zeros, many, 0), 0, N);
        EXPECT(ebb_sum(many, EBB_ALL), 0, N);
        EXPECT(ebb_select(ebb_cumsum(many, 0), 0, -1), 0, N);
        EXPECT(ebb_dot(many, many), 0, N);
    }
}

static void spread_of_constant_data(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF(1, 1);
    GOOD(ebb_backward(ebb_std(x, EBB_ALL, NULL), NULL));
    EXPECT_GRAD(x, 0, 0, 0);
    x = LEAF(1, 1);
    GOOD(ebb_backward(ebb_var(x, EBB_ALL, NULL), NULL));
    EXPECT_GRAD(x, 0, 0, 0);
    x = LEAF(1, 3);
    GOOD(ebb_backward(ebb_std(x, EBB_ALL, NULL), NULL));
    EXPECT_GRAD(x, 1e-12, -0.7071067811865476, 0.7071067811865476);
    x = LEAF(5);
    ebb_tensor *v = ebb_var(x, EBB_ALL, NULL);
    EXPECT(v, 0, NAN);
    GOOD(ebb_backward(v, NULL));
    EXPECT_GRAD(x, 0, NAN);
    assert_true(case_has_shape(ebb_grad_of(x), EBB_SHAPE(1)));
    x = LEAF(5);
    v = ebb_var(x, EBB_ALL, &(ebb_var_options){.population = true});
    EXPECT(v, 0, 0);
    GOOD(ebb_backward(v, NULL));
    EXPECT_GRAD(x, 0, 0);
}

static bool nan_at(ebb_tensor *y, int n, int k)
{
    double v[67];
    GOOD(ebb_read(v, (size_t)n * 8, EBB_F64, y));
    for (int i = 0; i < n; i++)
        if (isnan(v[i]) != (i == k)) return false;
    return true;
}

static void nan_survives_at_every_length_and_position(void **state)
{
    ebb_context *ctx = *state;
    for (int n = 1; n <= 67; n += n < 20 ? 1 : 5) {
        for (int k = 0; k<n; k += n> 20 ? 7 : 1) {
            EBB_SCOPE(iter);
            float v[67];
            for (int i = 0; i < n; i++) v[i] = i == k ? NAN : 0.5f;
            ebb_tensor *x = ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(n), v, (size_t)n * 4);
            ebb_tensor *one = ebb_full_like(x, 1), *values, *at;
            assert_true(nan_at(ebb_relu(x), n, k));
            assert_true(nan_at(ebb_clamp(x, 0, 1), n, k));
            assert_true(nan_at(ebb_maximum(x, one), n, k));
            assert_true(nan_at(ebb_maximum(one, x), n, k));
            assert_true(nan_at(ebb_minimum(one, x), n, k));
            assert_true(isnan(ebb_item(ebb_amax(x, EBB_ALL))));
            assert_true(isnan(ebb_item(ebb_amin(x, EBB_ALL))));
            assert_true(ebb_item(ebb_argmax(x, EBB_ALL)) == k);
            GOOD(ebb_max(&values, &at, x, EBB_AXES(0)));
            assert_true(isnan(ebb_item(values)) && ebb_item(at) == k);
        }
    }
}

static void cancellation_stays_within_what_f64_can_do(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = LEAF_NUMBER(0.5), *t = ebb_mul_scalar(x, 100), *e = ebb_exp(t);
    ebb_tensor *te = ebb_mul(t, e);
    GOOD(ebb_backward(ebb_add(te, ebb_sub(t, te)), NULL));
    assert_true(fabs(ebb_item(ebb_grad_of(x)) - 100) < 3.8e11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(repeated_indices_add_up),
        CASE(broadcast_gradients_have_the_operands_shape),
        CASE(zero_size_axes),
        CASE(reductions_over_nothing),
        CASE(norm_squared_at_the_origin_and_square_roots_of_zero),
        CASE(root_of_an_underflow_is_the_same_however_it_is_made),
        CASE(branch_not_taken),
        CASE(powers_of_zero),
        CASE(products_with_zeros),
        CASE(running_products_with_zeros),
        CASE(ties_share_or_choose_but_sum_to_one),
        CASE(one_rule_at_the_kink),
        CASE(logsumexp_of_infinities),
        CASE(losses_at_extreme_logits),
        CASE(probabilities_of_zero_and_one),
        CASE(sixteen_bits_lose_nothing_of_4096_uses),
        CASE(spread_of_constant_data),
        CASE(nan_survives_at_every_length_and_position),
        CASE(cancellation_stays_within_what_f64_can_do),
    };
    return cmocka_run_group_tests_name("numeric", tests, NULL, NULL);
}
