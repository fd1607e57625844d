/* test_hooks.c - functions that see gradients on their way; expected values by hand.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <stdio.h>
#include <string.h>

typedef struct seen {
    int n, n_done;
    double value, factor; /* factor not 0: the gradient is replaced by so many times it */
    int *order;
    int number;
    ebb_tensor *kept;
    bool keep, fail;
} seen;

static ebb_status look(void *user, ebb_tensor **grad)
{
    seen *s = user;
    s->n++;
    s->value = ebb_item(*grad);
    if (s->order) *s->order = *s->order * 10 + s->number;
    if (s->fail) return ebb_fail(EBB_E_RANGE, "this gradient is not wanted");
    if (s->keep) EBB_TRY(ebb_hold(&s->kept, *grad));
    if (s->factor != 0) *grad = ebb_mul_scalar(*grad, s->factor);
    return EBB_OK;
}

static void done(void *user)
{
    ((seen *)user)->n_done++;
}

static const ebb_hook_options with_done = {.name = "look", .done = done};

static int64_t live_nodes(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s.live_nodes;
}

static void a_hook_sees_the_sum_over_all_uses_and_goes_with_its_operation(void **state)
{
    EBB_SCOPE(scope);
    seen s = {0};
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x);
    assert_ok(ebb_hook_add(NULL, y, look, &s, &with_done));
    assert_ok(ebb_backward(ebb_add(ebb_mul_scalar(y, 3), ebb_mul_scalar(y, 4)), NULL));
    assert_int_equal(s.n, 1);
    assert_float_equal(s.value, 7, 0);
    assert_int_equal(s.n_done, 1);
    assert_float_equal(grad_item(x), 28, 0);
}

static void a_hook_may_replace_the_gradient(void **state)
{
    EBB_SCOPE(scope);
    seen s = {.factor = 10};
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x);
    assert_ok(ebb_hook_add(NULL, y, look, &s, NULL));
    assert_ok(ebb_backward(ebb_mul_scalar(y, 3), NULL));
    assert_float_equal(grad_item(x), 120, 0);
}

static ebb_status write_over(void *user, ebb_tensor **grad)
{
    (void)user;
    double zero[2] = {0, 0};
    return EBB_WRITE(*grad, zero, 2);
}

static void what_a_hook_writes_reaches_only_its_own_tensor(void **state)
{
    EBB_SCOPE(scope);
    double one[] = {1, 1}, seed[] = {5, 6}, g[2];
    ebb_tensor *a = vector(*state, 2, one), *b = vector(*state, 2, one);
    ebb_tensor *s = vector(*state, 2, seed);
    assert_ok(ebb_set_requires_grad(a, true));
    assert_ok(ebb_set_requires_grad(b, true));
    ebb_tensor *u = ebb_reshape(a, EBB_SHAPE(2, 1)), *v = ebb_reshape(u, EBB_SHAPE(2));
    ebb_tensor *y = ebb_add(v, b); /* both operands get the seed itself */
    assert_ok(ebb_hook_add(NULL, v, write_over, NULL, NULL));
    assert_ok(ebb_backward_from(&y, &s, 1, NULL));
    assert_ok(EBB_READ(ebb_grad_of(a), g, 2));
    assert_float_equal(g[0], 0, 0);
    assert_ok(EBB_READ(ebb_grad_of(b), g, 2));
    assert_float_equal(g[0], 5, 0);
    assert_float_equal(g[1], 6, 0);
    assert_float_equal(ebb_item(ebb_select(s, 0, 0)), 5, 0);
}

static void a_gradient_that_a_hook_kept_is_its_own(void **state)
{
    EBB_SCOPE(scope);
    seen s = {.keep = true};
    ebb_tensor *x = leaf_scalar(*state, 2);
    assert_ok(ebb_hook_add(NULL, x, look, &s, NULL));
    assert_ok(ebb_backward(ebb_mul_scalar(x, 3), NULL));
    double zero = 0;
    assert_ok(EBB_WRITE(s.kept, &zero, 1));
    assert_float_equal(grad_item(x), 3, 0);
    assert_ok(ebb_backward(ebb_mul_scalar(x, 3), NULL));
    assert_float_equal(grad_item(x), 6, 0);
    assert_float_equal(ebb_item(s.kept), 3, 0);
    ebb_clear(&s.kept);
}

static void hooks_run_in_the_order_of_adding_and_can_be_removed(void **state)
{
    EBB_SCOPE(scope);
    int order = 0;
    ebb_hook_id id[3];
    seen s[3] = {{.number = 1, .order = &order, .factor = 2},
                 {.number = 2, .order = &order},
                 {.number = 3, .order = &order}};
    ebb_backward_options keep = {.keep_graph = true};
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x), *z = ebb_exp(y);
    for (int i = 0; i < 3; i++) assert_ok(ebb_hook_add(&id[i], y, look, &s[i], &with_done));
    assert_ok(ebb_backward(ebb_mul_scalar(y, 1), &keep));
    assert_int_equal(order, 123);
    assert_float_equal(s[1].value, 2, 0); /* what the first left */
    assert_ok(ebb_hook_remove(*state, id[1]));
    assert_int_equal(s[1].n_done, 1);
    assert_ok(ebb_hook_remove(*state, id[1])); /* gone already */
    assert_status(ebb_hook_remove(*state, id[2] + 1), EBB_E_MISUSE);
    assert_ok(ebb_backward(z, NULL));
    assert_int_equal(order, 12313);
    assert_int_equal(s[0].n_done + s[1].n_done + s[2].n_done, 3);
}

static void a_leafs_hook_sees_what_this_backward_adds(void **state)
{
    EBB_SCOPE(scope);
    seen s = {.factor = -1};
    ebb_tensor *x = leaf_scalar(*state, 2);
    assert_ok(ebb_backward(ebb_mul_scalar(x, 5), NULL));
    assert_ok(ebb_hook_add(NULL, x, look, &s, &with_done));
    assert_ok(ebb_backward(ebb_add(ebb_mul_scalar(x, 3), x), NULL));
    assert_float_equal(s.value, 4, 0);
    assert_float_equal(grad_item(x), 5 - 4, 0);
    assert_int_equal(s.n_done, 0); /* a leaf is never spent */
    assert_ok(ebb_backward(x, NULL));
    assert_int_equal(s.n, 2);
}

typedef struct stepper {
    ebb_tensor *first, *second;
    double first_slot; /* of `first` when the hook of `second` ran; -1: empty */
} stepper;

static ebb_status look_at_the_other(void *user, ebb_tensor **grad)
{
    stepper *s = user;
    (void)grad;
    s->first_slot = ebb_has_grad(s->first) ? grad_item(s->first) : -1;
    return EBB_OK;
}

static void leaf_hooks_run_before_all_commits_or_as_each_leaf_completes(void **state)
{
    EBB_SCOPE(scope);
    for (int each = 0; each < 2; each++) {
        ebb_tensor *late = leaf_scalar(*state, 2), *early = leaf_scalar(*state, 3);
        stepper s = {.first = late};
        assert_ok(ebb_hook_add(NULL, early, look_at_the_other, &s, NULL));
        ebb_tensor *loss = ebb_mul(ebb_mul_scalar(early, 1), late); /* late completes first */
        assert_ok(ebb_backward(loss, &(ebb_backward_options){.commit_each_leaf = each}));
        assert_float_equal(s.first_slot, each ? 3 : -1, 0);
    }
}

static void a_hook_that_fails_ends_the_walk_with_its_status(void **state)
{
    for (int on_leaf = 0; on_leaf < 2; on_leaf++) {
        EBB_SCOPE(scope);
        seen s = {.fail = true};
        ebb_tensor *x = leaf_scalar(*state, 2), *w = leaf_scalar(*state, 5);
        ebb_tensor *y = ebb_mul(x, x), *loss = ebb_mul(y, w);
        assert_ok(ebb_hook_add(NULL, on_leaf ? x : y, look, &s, &with_done));
        ebb_backward_options keep = {.keep_graph = true};
        assert_int_equal(ebb_backward(loss, &keep), EBB_E_RANGE);
        assert_null(strstr(ebb_error_message(), "spent"));
        assert_int_equal(ebb_backward(loss, NULL), EBB_E_RANGE);
        assert_non_null(strstr(ebb_error_message(), "look: this gradient is not wanted"));
        assert_non_null(strstr(ebb_error_message(), "its graph is spent"));
        ebb_error_clear();
        assert_false(ebb_has_grad(x));
        assert_false(ebb_has_grad(w));
        assert_int_equal(live_nodes(*state), 0);
        assert_int_equal(s.n_done, on_leaf ? 0 : 1);
    }
}

static ebb_status wrong_shape(void *user, ebb_tensor **grad)
{
    *grad = *(bool *)user ? ebb_reshape(*grad, EBB_SHAPE(1, 1)) : NULL;
    return EBB_OK;
}

static void a_replacement_must_fit(void **state)
{
    EBB_SCOPE(scope);
    bool shaped = true;
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x);
    assert_ok(ebb_hook_add(NULL, y, wrong_shape, &shaped, NULL));
    assert_int_equal(ebb_backward(y, &(ebb_backward_options){.keep_graph = true}), EBB_E_SHAPE);
    assert_non_null(strstr(ebb_error_message(), "a hook left a gradient of f64 (1, 1)"));
    ebb_error_clear();
    shaped = false;
    assert_status(ebb_backward(y, NULL), EBB_E_MISUSE);
    assert_false(ebb_has_grad(x));
}

static void hooks_go_when_their_operation_is_freed_or_severed(void **state)
{
    seen s = {0}, t = {0};
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2);
    {
        EBB_SCOPE(inner);
        assert_ok(ebb_hook_add(NULL, ebb_mul(x, x), look, &s, &with_done));
        assert_int_equal(s.n_done, 0);
    }
    assert_int_equal(s.n_done, 1);
    ebb_tensor *y = ebb_mul(x, x), *side = ebb_exp(y);
    assert_ok(ebb_hook_add(NULL, side, look, &t, &with_done));
    assert_ok(ebb_backward(ebb_neg(y), NULL)); /* severs side, whose tensor is held */
    assert_int_equal(t.n_done, 1);
    assert_int_equal(s.n + t.n, 0);
    assert_status(ebb_hook_add(NULL, side, look, &t, &with_done), EBB_E_GRAPH);
    assert_int_equal(t.n_done, 2); /* taken over, also on failure */
}

static void grad_runs_the_hooks_of_what_it_visits(void **state)
{
    EBB_SCOPE(scope);
    seen on_y = {.factor = 2}, on_x = {.factor = 3}, aside = {0};
    ebb_tensor *x = leaf_scalar(*state, 2), *w = leaf_scalar(*state, 5);
    ebb_tensor *y = ebb_mul(x, x), *v = ebb_exp(w), *loss = ebb_mul(y, v), *g[2];
    assert_ok(ebb_hook_add(NULL, y, look, &on_y, NULL));
    assert_ok(ebb_hook_add(NULL, x, look, &on_x, NULL));
    assert_ok(ebb_hook_add(NULL, v, look, &aside, NULL));
    ebb_tensor *inputs[] = {x, y};
    ebb_tensor *seed = ebb_reciprocal(ebb_detach(v));
    assert_ok(ebb_grad(g, &loss, &seed, 1, inputs, 2, NULL));
    assert_float_equal(ebb_item(g[1]), 2, 1e-12);
    assert_float_equal(ebb_item(g[0]), 2 * 4 * 3, 1e-12);
    assert_int_equal(aside.n, 0);
    assert_false(ebb_has_grad(x));
}

static ebb_status square_it(void *user, ebb_tensor **grad)
{
    (void)user;
    *grad = ebb_mul(*grad, *grad);
    return EBB_OK;
}

static void under_create_graph_a_hook_is_differentiated_too(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(ebb_mul(x, x), x), *g, *gg;
    assert_ok(ebb_hook_add(NULL, x, square_it, NULL, NULL));
    assert_ok(ebb_grad(&g, &y, NULL, 1, &x, 1, &(ebb_grad_options){.create_graph = true}));
    assert_float_equal(ebb_item(g), 144, 1e-12); /* (3 x^2)^2 */
    assert_ok(ebb_grad(&gg, &g, NULL, 1, &x, 1, NULL));
    /* 9 x^4 has the derivative 36 x^3 = 288, which the hook on x squares */
    assert_float_equal(ebb_item(gg), 288.0 * 288.0, 1e-9);
}

static ebb_status backward_inside(void *user, ebb_tensor **grad)
{
    ebb_tensor *w = user;
    (void)grad;
    EBB_ENABLE_GRAD(inner);
    return ebb_backward(ebb_mul(w, w), NULL);
}

static void a_backward_inside_a_hook_works(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2), *w = leaf_scalar(*state, 7), *y = ebb_mul(x, x);
    assert_ok(ebb_hook_add(NULL, y, backward_inside, w, NULL));
    assert_ok(ebb_backward(ebb_mul_scalar(y, 3), NULL));
    assert_float_equal(grad_item(w), 14, 0);
    assert_float_equal(grad_item(x), 12, 0);
}

typedef struct remover {
    ebb_context *ctx;
    ebb_hook_id own;
    int n;
} remover;

static ebb_status remove_myself(void *user, ebb_tensor **grad)
{
    remover *r = user;
    (void)grad;
    r->n++;
    return ebb_hook_remove(r->ctx, r->own);
}

static void a_hook_may_remove_itself(void **state)
{
    EBB_SCOPE(scope);
    remover r = {.ctx = *state};
    ebb_tensor *x = leaf_scalar(*state, 2);
    assert_ok(ebb_hook_add(&r.own, x, remove_myself, &r, NULL));
    for (int i = 0; i < 3; i++) assert_ok(ebb_backward(ebb_mul(x, x), NULL));
    assert_int_equal(r.n, 1);
}

static void hooks_of_one_output_do_not_see_the_others(void **state)
{
    EBB_SCOPE(scope);
    double v[] = {1, 2}, g[2];
    seen s = {.factor = 10};
    ebb_tensor *x = vector(*state, 2, v), *part[2];
    assert_ok(ebb_set_requires_grad(x, true));
    assert_ok(ebb_split(part, 2, x, 1, 0));
    assert_ok(ebb_hook_add(NULL, part[1], look, &s, NULL));
    assert_ok(ebb_backward(ebb_sum(ebb_add(part[0], part[1]), EBB_ALL), NULL));
    assert_ok(EBB_READ(ebb_grad_of(x), g, 2));
    assert_float_equal(g[0], 1, 0);
    assert_float_equal(g[1], 10, 0);
    assert_int_equal(s.n, 1);
}

static void many_hooks_are_found_again(void **state)
{
    enum { N = 1000 };
    EBB_SCOPE(scope);
    static seen s[N];
    ebb_tensor *x = leaf_scalar(*state, 1), *y = x;
    for (int i = 0; i < N; i++) {
        s[i] = (seen){0};
        y = ebb_mul_scalar(y, i % 2 ? 2 : 0.5);
        assert_ok(ebb_hook_add(NULL, y, look, &s[i], &with_done));
    }
    assert_ok(ebb_backward(y, NULL));
    for (int i = 0; i < N; i++) {
        assert_int_equal(s[i].n, 1);
        assert_float_equal(s[i].value, (i % 2 ? 1 : 2), 0);
        assert_int_equal(s[i].n_done, 1);
    }
}

static void hooks_left_at_the_end_of_the_context_are_let_go(void **state)
{
    (void)state;
    seen s = {0};
    ebb_context *ctx;
    assert_ok(ebb_context_create(&ctx, NULL));
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = ebb_keep(leaf_scalar(ctx, 2)), *y = ebb_keep(ebb_mul(x, x));
        assert_ok(ebb_hook_add(NULL, x, look, &s, &with_done));
        assert_ok(ebb_hook_add(NULL, y, look, &s,
                               &(ebb_hook_options){.done = done, .holds = &y, .n_holds = 1}));
    }
    assert_int_equal(s.n_done, 0);
    ebb_context_destroy(ctx);
    assert_int_equal(s.n_done, 2);
}

static ebb_status cast_to_f32(void *user, ebb_tensor **grad)
{
    (void)user;
    *grad = ebb_cast(*grad, EBB_F32); /* sets a line of its own */
    return ebb_check(*grad);
}

static ebb_status work_then_fail(void *user, ebb_tensor **grad)
{
    (void)user;
    EBB_TRY(ebb_check(ebb_exp(*grad)));
    return EBB_E_RANGE;
}

static void what_fails_after_a_hook_names_the_line_of_the_backward(void **state)
{
    ebb_context *ctx = *state;
    ebb_hook_fn hooks[] = {cast_to_f32, work_then_fail};
    for (int k = 0; k < 2; k++) {
        EBB_SCOPE(scope);
        char line[64];
        ebb_tensor *x = leaf_scalar(ctx, 2), *y = ebb_exp(x);
        assert_ok(ebb_hook_add(NULL, y, hooks[k], NULL, NULL));
        y = ebb_mul(y, y);
        snprintf(line, sizeof line, "test_hooks.c:%d: ", __LINE__ + 1);
        assert_int_equal(ebb_backward(y, NULL), k ? EBB_E_RANGE : EBB_E_DTYPE);
        assert_non_null(strstr(ebb_error_message(), line));
        ebb_error_clear();
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_hook_sees_the_sum_over_all_uses_and_goes_with_its_operation),
        T(a_hook_may_replace_the_gradient),
        T(what_a_hook_writes_reaches_only_its_own_tensor),
        T(a_gradient_that_a_hook_kept_is_its_own),
        T(hooks_run_in_the_order_of_adding_and_can_be_removed),
        T(a_leafs_hook_sees_what_this_backward_adds),
        T(leaf_hooks_run_before_all_commits_or_as_each_leaf_completes),
        T(a_hook_that_fails_ends_the_walk_with_its_status),
        T(a_replacement_must_fit),
        T(hooks_go_when_their_operation_is_freed_or_severed),
        T(grad_runs_the_hooks_of_what_it_visits),
        T(under_create_graph_a_hook_is_differentiated_too),
        T(a_backward_inside_a_hook_works),
        T(a_hook_may_remove_itself),
        T(hooks_of_one_output_do_not_see_the_others),
        T(many_hooks_are_found_again),
        T(hooks_left_at_the_end_of_the_context_are_let_go),
        T(what_fails_after_a_hook_names_the_line_of_the_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
