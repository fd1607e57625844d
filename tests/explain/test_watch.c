/* test_watch.c - warnings about leaks: when they come, when not, and only where asked for.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <string.h>

typedef struct warnings {
    int n;
    ebb_watch_event last;
    ebb_context *ctx;
} warnings;

static void warn(void *user, const ebb_watch_event *e)
{
    warnings *w = user;
    w->n++;
    w->last = *e;
    if (w->ctx) assert_ok(ebb_watch(w->ctx, NULL, NULL, 0)); /* it may call anything */
}

static void nodes_growing_in_each_of_eight_steps_are_warned_of(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    warnings w = {.n = 0};
    ebb_tensor *x = leaf_scalar(ctx, 1), *sum = x;
    assert_ok(ebb_watch(ctx, warn, &w, 0));
    for (int step = 1; step <= 7; step++) {
        sum = ebb_add(ebb_exp(x), sum); /* the running sum that keeps every step's graph */
        ebb_watch_step(ctx);
    }
    assert_int_equal(w.n, 0);
    sum = ebb_add(ebb_exp(x), sum);
    ebb_watch_step(ctx);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.last.what, EBB_WATCH_GROWTH);
    assert_int_equal(w.last.step, 8);
    assert_int_equal(w.last.live_nodes, 16);
    assert_int_equal(w.last.n_grown, 16);
    assert_ptr_equal(w.last.ctx, ctx);
    assert_non_null(strstr(w.last.text, "in each of 8 steps, by 16 to 16"));
    for (int step = 9; step <= 16; step++) {
        sum = ebb_add(ebb_exp(x), sum);
        ebb_watch_step(ctx);
    }
    assert_int_equal(w.n, 2);
    assert_int_equal(w.last.n_grown, 16);
    assert_int_equal(w.last.live_nodes, 32);
}

static void one_step_without_growth_begins_anew(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    warnings w = {.n = 0};
    ebb_tensor *x = leaf_scalar(ctx, 1), *y = x;
    assert_ok(ebb_watch(ctx, warn, &w, EBB_WATCH_GROWTH));
    for (int step = 1; step <= 14; step++) {
        if (step != 7) y = ebb_neg(y);
        ebb_watch_step(ctx);
    }
    assert_int_equal(w.n, 0);
    y = ebb_neg(y);
    ebb_watch_step(ctx);
    assert_int_equal(w.n, 1);
}

static void a_training_loop_warns_of_nothing(void **state)
{
    ebb_context *ctx = *state;
    warnings w = {.n = 0};
    ebb_params *p;
    ebb_optimizer *opt;
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *weight = ebb_param(p, "w", EBB_F32, EBB_SHAPE(3), ebb_constant(1));
    assert_ok(ebb_sgd_create(&opt, p, 0.1, NULL));
    assert_ok(ebb_watch(ctx, warn, &w, 0));
    for (int step = 0; step < 30; step++) {
        EBB_SCOPE(iter);
        assert_ok(ebb_minimize(opt, ebb_sum(ebb_mul(weight, weight), EBB_ALL), NULL));
    }
    assert_int_equal(w.n, 0);
    ebb_optimizer_release(opt);
    ebb_params_release(p);
}

/* Losses of which the user keeps a metric with its graph: minimize ends the steps. */
static void metrics_kept_with_their_graph_are_warned_of(void **state)
{
    ebb_context *ctx = *state;
    warnings w = {.n = 0};
    ebb_params *p;
    ebb_optimizer *opt;
    ebb_tensor *kept[12] = {0};
    assert_ok(ebb_params_create(&p, ctx));
    ebb_tensor *weight = ebb_param(p, "w", EBB_F32, EBB_SHAPE(3), ebb_constant(1));
    assert_ok(ebb_sgd_create(&opt, p, 0.1, NULL));
    assert_ok(ebb_watch(ctx, warn, &w, 0));
    for (int step = 0; step < 12; step++) {
        EBB_SCOPE(iter);
        ebb_tensor *loss = ebb_sum(ebb_mul(weight, weight), EBB_ALL);
        assert_ok(ebb_hold(&kept[step], ebb_mean(ebb_exp(weight), EBB_ALL)));
        assert_ok(ebb_minimize(opt, loss, NULL));
    }
    assert_int_equal(w.n, 1);
    assert_int_equal(w.last.what, EBB_WATCH_GROWTH);
    for (int i = 0; i < 12; i++) ebb_clear(&kept[i]);
    ebb_optimizer_release(opt);
    ebb_params_release(p);
}

static void a_kept_graph_that_is_not_used_again_is_warned_of_once(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    warnings w = {.n = 0};
    const ebb_backward_options keep = {.keep_graph = true};
    ebb_tensor *x = leaf_scalar(ctx, 1), *y = ebb_exp(x);
    assert_ok(ebb_label(y, "y"));
    assert_ok(ebb_watch(ctx, warn, &w, EBB_WATCH_KEPT));
    assert_ok(ebb_backward(y, &keep));
    for (int step = 1; step <= 5; step++) ebb_watch_step(ctx);
    /* used again, by a root that only leads to it */
    assert_ok(ebb_backward(ebb_neg(y), &keep));
    for (int step = 6; step <= 12; step++) ebb_watch_step(ctx);
    assert_int_equal(w.n, 0);
    ebb_watch_step(ctx); /* the 8th since */
    assert_int_equal(w.n, 2);
    assert_int_equal(w.last.what, EBB_WATCH_KEPT);
    for (int step = 14; step <= 30; step++) ebb_watch_step(ctx);
    assert_int_equal(w.n, 2);
}

static void a_kept_graph_that_went_is_not_warned_of(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    warnings w = {.n = 0};
    const ebb_backward_options keep = {.keep_graph = true};
    ebb_tensor *x = leaf_scalar(ctx, 1), *y = ebb_exp(x);
    assert_ok(ebb_watch(ctx, warn, &w, EBB_WATCH_KEPT));
    {
        EBB_SCOPE(inner); /* dropped */
        assert_ok(ebb_backward(ebb_exp(x), &keep));
    }
    assert_ok(ebb_backward(y, &keep));
    assert_ok(ebb_backward(y, NULL)); /* consumed */
    for (int step = 1; step <= 20; step++) ebb_watch_step(ctx);
    assert_int_equal(w.n, 0);
}

static void the_kept_root_is_named(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    warnings w = {.n = 0, .ctx = ctx};
    ebb_tensor *y = ebb_exp(leaf_scalar(ctx, 1));
    assert_ok(ebb_label(y, "penalty"));
    assert_ok(ebb_watch(ctx, warn, &w, 0));
    assert_ok(ebb_backward(y, &(ebb_backward_options){.keep_graph = true}));
    for (int step = 1; step <= 8; step++) ebb_watch_step(ctx);
    assert_int_equal(w.n, 1);
    assert_ptr_equal(w.last.root, y);
    assert_string_equal(w.last.text, "the graph behind exp 'penalty' was kept (keep_graph) and "
                                     "not used in 8 steps");
    /* the callback switched it off */
    for (int step = 1; step <= 30; step++) ebb_watch_step(ctx);
    assert_int_equal(w.n, 1);
}

static void misuse_is_refused_and_nobody_need_watch(void **state)
{
    ebb_context *ctx = *state;
    warnings w = {.n = 0};
    assert_status(ebb_watch(NULL, warn, &w, 0), EBB_E_MISUSE);
    assert_status(ebb_watch(ctx, warn, &w, 8), EBB_E_RANGE);
    ebb_watch_step(NULL);
    for (int step = 0; step < 20; step++) ebb_watch_step(ctx);
    assert_int_equal(w.n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nodes_growing_in_each_of_eight_steps_are_warned_of),
        TEST(one_step_without_growth_begins_anew),
        TEST(a_training_loop_warns_of_nothing),
        TEST(metrics_kept_with_their_graph_are_warned_of),
        TEST(a_kept_graph_that_is_not_used_again_is_warned_of_once),
        TEST(a_kept_graph_that_went_is_not_warned_of),
        TEST(the_kept_root_is_named),
        TEST(misuse_is_refused_and_nobody_need_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
