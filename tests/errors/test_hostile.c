/* test_hostile.c - legitimate calls in odd orders, with odd sizes, from callbacks: an error or the
 * right answer, never a crash, a hang or a silent loss.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <string.h>

static void an_empty_adopted_tensor_can_be_read(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    float f;
    ebb_tensor *x = ebb_tensor_adopt(ctx, EBB_F32, EBB_SHAPE(0, 3), NULL, 0, NULL, NULL);
    assert_ok(ebb_read(&f, 0, EBB_F32, x));
    assert_float_equal(ebb_item(ebb_sum(x, EBB_ALL)), 0, 0);
}

static void a_child_refuses_work_once_its_parent_is_gone(void **state)
{
    (void)state;
    ebb_context *parent, *child, *grandchild;
    ebb_params *params;
    assert_ok(ebb_context_create(&parent, NULL));
    assert_ok(ebb_context_create(&child, &(ebb_context_options){.parent = parent}));
    ebb_context_destroy(parent);
    EBB_SCOPE(scope);
    assert_null_with(scalar(child, 1), EBB_E_MISUSE);
    assert_null_with(ebb_zeros(child, EBB_F32, EBB_SHAPE(2)), EBB_E_MISUSE);
    assert_null_with(ebb_alloc(child, 8, EBB_KIND_DATA), EBB_E_MISUSE);
    assert_status(ebb_params_create(&params, child), EBB_E_MISUSE);
    assert_status(ebb_context_create(&grandchild, &(ebb_context_options){.parent = child}),
                  EBB_E_MISUSE);
    ebb_context_destroy(child);
}

static void a_kind_that_is_none_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    assert_null_with(ebb_empty(ctx, EBB_F32, EBB_SHAPE(100), (ebb_kind)99), EBB_E_RANGE);
    assert_null_with(ebb_empty(ctx, EBB_F32, EBB_SHAPE(100), (ebb_kind)-1), EBB_E_RANGE);
    assert_null_with(ebb_alloc(ctx, 10, EBB_KIND_CACHE), EBB_E_MISUSE);
}

static void running_statistics_that_would_be_lost_are_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_uniform(ctx, EBB_F32, EBB_SHAPE(8, 4), 0, 1);
    ebb_tensor *both = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(4, 2)),
               *one = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(4));
    assert_null_with(ebb_batch_norm(x, EBB_NONE, EBB_NONE, ebb_select(both, 1, 0),
                                    ebb_select(both, 1, 1), NULL),
                     EBB_E_MISUSE);
    assert_null_with(ebb_batch_norm(x, EBB_NONE, EBB_NONE, one, one, NULL), EBB_E_MISUSE);
    /* nor where another input has to be copied for being strided */
    ebb_tensor *xt = ebb_transpose(ebb_uniform(ctx, EBB_F32, EBB_SHAPE(4, 8), 0, 1), 0, 1);
    assert_null_with(ebb_batch_norm(xt, EBB_NONE, EBB_NONE, ebb_select(both, 1, 0), one, NULL),
                     EBB_E_MISUSE);
}

static void writing_through_a_map_after_a_save_is_noticed(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double xs[20] = {1};
    ebb_tensor *x = vector(ctx, 20, xs);
    assert_ok(ebb_set_requires_grad(x, true));
    ebb_view v;
    assert_ok(ebb_map(&v, x, EBB_MAP_WRITE));
    ebb_tensor *y = ebb_sum(ebb_square(x), EBB_ALL);
    ((double *)v.data)[0] = 100;
    ebb_unmap(x);
    assert_status(ebb_backward(y, NULL), EBB_E_GRAPH);
}

static void mapped_bytes_of_a_small_tensor_stay_where_they_are(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double xs[2] = {1, 2}, nine[2] = {9, 9};
    ebb_tensor *x = vector(ctx, 2, xs);
    assert_ok(ebb_set_requires_grad(x, true));
    ebb_view v;
    assert_ok(ebb_map(&v, x, EBB_MAP_READ));
    ebb_tensor *y = ebb_sum(ebb_square(x), EBB_ALL);
    assert_status(EBB_WRITE(x, nine, 2), EBB_E_MISUSE);
    assert_ok(ebb_discard_graph(y));
    assert_float_equal(((double *)v.data)[1], 2, 0);
    ebb_unmap(x);
    assert_ok(EBB_WRITE(x, nine, 2));
}

/* ---- callbacks ----------------------------------------------------------------------------- */

static ebb_tensor *victim;
static ebb_scope around;
static int deed;

static ebb_status same_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype;
    s[0] = in[0].shape;
    return deed == 3 ? EBB_E_RANGE : EBB_OK;
}

static ebb_status odd_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                              const void *attr)
{
    (void)aux;
    (void)attr;
    if (deed == 1) ebb_release(victim);
    if (deed == 2) ebb_scope_end(around);
    memcpy(out[0].data, in[0].data, sizeof(double));
    return EBB_OK;
}

static const ebb_custom odd = {
    .name = "odd", .n_in = 1, .n_out = 1, .shape = same_shape, .forward = odd_forward};

static void a_callback_that_releases_its_input_does_no_harm(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *y, *x = victim = ebb_claim(scalar(ctx, 5));
    deed = 1;
    assert_ok(ebb_apply(&y, &odd, &x, NULL));
    assert_float_equal(ebb_item(y), 5, 0);
}

static void a_callback_cannot_end_the_scopes_around_it(void **state)
{
    ebb_context *ctx = *state;
    around = ebb_scope_begin(0, NULL);
    ebb_tensor *y, *x = scalar(ctx, 5);
    deed = 2;
    assert_ok(ebb_apply(&y, &odd, &x, NULL));
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    assert_float_equal(ebb_item(y), 5, 0);
    ebb_scope_end(around);
}

static void a_callback_that_fails_in_silence_gets_a_message(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *y, *x = scalar(ctx, 5);
    deed = 3;
    assert_int_equal(ebb_apply(&y, &odd, &x, NULL), EBB_E_RANGE);
    assert_non_null(strstr(ebb_error_message(), "shape returned"));
    ebb_error_clear();
}

/* ---- gradients ----------------------------------------------------------------------------- */

static void a_seed_of_another_context_leaves_the_graph_alone(void **state)
{
    ebb_context *ctx = *state, *other;
    assert_ok(ebb_context_create(&other, NULL));
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 3), *y = ebb_square(x), *seed = scalar(other, 1);
    assert_status(ebb_backward_from(&y, &seed, 1, NULL), EBB_E_MISUSE);
    assert_ok(ebb_backward(y, NULL));
    assert_float_equal(grad_item(x), 6, 0);
    ebb_context_destroy(other);
}

static void another_output_of_the_same_operation_is_no_path(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double xs[6] = {1, 2, 3, 4, 5, 6}, g[3];
    ebb_tensor *x = vector(ctx, 6, xs), *part[2], *out;
    assert_ok(ebb_set_requires_grad(x, true));
    assert_ok(ebb_split(part, 2, x, 3, 0));
    ebb_tensor *loss = ebb_sum(ebb_square(part[1]), EBB_ALL);
    assert_status(ebb_grad(&out, &loss, NULL, 1, &part[0], 1, NULL), EBB_E_GRAPH);
    assert_ok(ebb_grad(&out, &loss, NULL, 1, &part[1], 1, NULL));
    assert_ok(EBB_READ(out, g, 3));
    assert_float_equal(g[2], 12, 0);
}

static void returned_gradients_have_bytes_of_their_own(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double as[2] = {1, 2}, ones[2] = {1, 1}, seven[2] = {7, 7}, g[2];
    ebb_tensor *in[] = {vector(ctx, 2, as), vector(ctx, 2, as)}, *out[2],
               *seed = vector(ctx, 2, ones);
    assert_ok(ebb_set_requires_grad(in[0], true));
    assert_ok(ebb_set_requires_grad(in[1], true));
    ebb_tensor *y = ebb_add(in[0], in[1]);
    assert_ok(ebb_grad(out, &y, &seed, 1, in, 2, NULL));
    assert_ok(EBB_WRITE(out[0], seven, 2));
    assert_ok(EBB_READ(out[1], g, 2));
    assert_float_equal(g[0], 1, 0);
    assert_ok(EBB_READ(seed, g, 2));
    assert_float_equal(g[0], 1, 0);
}

static void a_vector_of_the_wrong_shape_is_refused_even_for_a_linear_loss(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double vs[3] = {1, 1, 1};
    ebb_tensor *x = leaf_scalar(ctx, 3), *hv, *v = vector(ctx, 3, vs);
    assert_status(ebb_hvp(&hv, ebb_mul_scalar(x, 2), &x, &v, 1), EBB_E_SHAPE);
    assert_null(hv);
}

static void thousands_of_different_views_can_be_joined(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { N = 4000 };
    static ebb_tensor *row[N];
    static double back[2 * N];
    for (int i = 0; i < 2 * N; i++) back[i] = i;
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(N, 2), back, 2 * N);
    assert_ok(ebb_set_requires_grad(x, true));
    for (int i = 0; i < N; i++) row[i] = ebb_narrow(x, 0, N - 1 - i, 1);
    ebb_tensor *y = ebb_cat(row, N, 0);
    assert_ok(ebb_check(y));
    assert_ok(ebb_backward(ebb_sum(ebb_mul(y, x), EBB_ALL), NULL));
    assert_ok(EBB_READ(ebb_grad_of(x), back, 2 * N));
    /* sum of x[i] x[N-1-i]: each product comes twice */
    assert_float_equal(back[0], 2.0 * (2 * N - 2), 0);
    assert_float_equal(back[2 * N - 1], 2.0 * 1, 0);
}

/* ---- counts and sizes ---------------------------------------------------------------------- */

static void more_references_than_can_be_counted_are_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *t = scalar(ctx, 1);
    int64_t n = 0;
    while (n < (1 << 25) && ebb_keep(t)) n++;
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    ebb_error_clear();
    while (n-- > 0) ebb_release(t);
    assert_int_equal(ebb_error_status(), EBB_OK);
    assert_float_equal(ebb_item(t), 1, 0);
}

static void operations_in_a_scope_that_could_not_open_fail(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    enum { MOST = UINT16_MAX };
    ebb_scope last = {0};
    for (int i = 1; i < MOST; i++) last = ebb_scope_begin(0, NULL);
    assert_true(last.id != 0);
    ebb_scope refused = ebb_scope_begin(EBB_SCOPE_NO_GRAD, NULL);
    assert_int_equal(refused.id, 0);
    ebb_error_clear();
    assert_null_with(scalar(ctx, 1), EBB_E_MISUSE);
    ebb_scope_end(refused);
    assert_float_equal(ebb_item(scalar(ctx, 1)), 1, 0);
}

static void integers_that_do_not_fit_saturate(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    int64_t big[] = {5000000000, -5000000000};
    int32_t got[2];
    assert_ok(EBB_READ(EBB_FROM(ctx, EBB_SHAPE(2), big, 2), got, 2));
    assert_int_equal(got[0], INT32_MAX);
    assert_int_equal(got[1], INT32_MIN);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(an_empty_adopted_tensor_can_be_read),
        T(a_child_refuses_work_once_its_parent_is_gone),
        T(a_kind_that_is_none_is_refused),
        T(running_statistics_that_would_be_lost_are_refused),
        T(writing_through_a_map_after_a_save_is_noticed),
        T(mapped_bytes_of_a_small_tensor_stay_where_they_are),
        T(a_callback_that_releases_its_input_does_no_harm),
        T(a_callback_cannot_end_the_scopes_around_it),
        T(a_callback_that_fails_in_silence_gets_a_message),
        T(a_seed_of_another_context_leaves_the_graph_alone),
        T(another_output_of_the_same_operation_is_no_path),
        T(returned_gradients_have_bytes_of_their_own),
        T(a_vector_of_the_wrong_shape_is_refused_even_for_a_linear_loss),
        T(thousands_of_different_views_can_be_joined),
        T(more_references_than_can_be_counted_are_refused),
        T(operations_in_a_scope_that_could_not_open_fail),
        T(integers_that_do_not_fit_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
