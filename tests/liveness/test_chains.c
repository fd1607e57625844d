/* test_chains.c - a million operations deep on a stack of 256 KiB: built, walked backward and
 * released in several orders; and gradients that double sixty times.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STACK_BYTES = 256 << 10 };

static int64_t depth(void)
{
    return getenv("EBB_TEST_SHORT") ? 20000 : 1000000;
}

typedef struct job {
    const char *(*run)(ebb_context *ctx); /* NULL, or what is wrong */
    char fault[500];
} job;

static void *small_stack(void *user)
{
    job *j = user;
    ebb_context *ctx = NULL;
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1}) != EBB_OK) {
        snprintf(j->fault, sizeof j->fault, "%s", ebb_error_message());
        return NULL;
    }
    const char *fault = j->run(ctx);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    if (fault)
        snprintf(j->fault, sizeof j->fault, "%s", fault);
    else if (s.live_nodes != 0 || s.n_handles != 0)
        snprintf(j->fault, sizeof j->fault, "%lld nodes, %lld handles are left",
                 (long long)s.live_nodes, (long long)s.n_handles);
    ebb_context_destroy(ctx);
    return NULL;
}

static void on_small_stack(const char *(*run)(ebb_context *ctx))
{
    job j = {.run = run};
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, small_stack, &j), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    if (*j.fault) fail_msg("%s", j.fault);
}

static ebb_tensor *leaf(ebb_context *ctx, double x)
{
    ebb_tensor *t = ebb_tensor_copy(ctx, EBB_F64, EBB_SCALAR, &x, sizeof x);
    return ebb_set_requires_grad(t, true) == EBB_OK ? t : NULL;
}

static int64_t live_nodes(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s.live_nodes;
}

#define NEED(condition)                                                                        \
    do {                                                                                       \
        if (!(condition))                                                                      \
            return *ebb_error_message() ? ebb_error_message()                                  \
                                        : "line does not hold: " #condition;                   \
    } while (0)

static const char *all_handles_in_one_scope(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y = x;
    int64_t n = depth();
    for (int64_t i = 0; i < n; i++) y = ebb_add_scalar(y, 1);
    NEED(ebb_item(y) == 3 + (double)n);
    NEED(live_nodes(ctx) == n);
    NEED(ebb_backward(y, NULL) == EBB_OK);
    NEED(ebb_item(ebb_grad_of(x)) == 1);
    NEED(live_nodes(ctx) == 0);
    return NULL;
}

/* y = f(y): only the newest handle lives, the graph holds the rest. */
static ebb_tensor *chain(ebb_tensor *x, int64_t n, ebb_tensor *(*f)(ebb_tensor *y))
{
    ebb_tensor *y = NULL;
    if (ebb_hold(&y, x) != EBB_OK) return NULL;
    for (int64_t i = 0; i < n; i++) {
        EBB_SCOPE(iter);
        if (ebb_hold(&y, f(y)) != EBB_OK) {
            ebb_clear(&y);
            return NULL;
        }
    }
    return y;
}

static ebb_tensor *negate(ebb_tensor *y)
{
    return ebb_neg(y);
}

static const char *newest_handle_only_backward(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y = chain(x, depth(), negate);
    NEED(y && live_nodes(ctx) == depth());
    NEED(ebb_backward(y, NULL) == EBB_OK);
    NEED(ebb_item(ebb_grad_of(x)) == 1);
    NEED(live_nodes(ctx) == 0);
    ebb_clear(&y);
    return NULL;
}

static const char *newest_handle_only_dropped(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y = chain(x, depth(), negate);
    NEED(y && live_nodes(ctx) == depth());
    ebb_clear(&y);
    NEED(live_nodes(ctx) == 0);
    NEED(!ebb_has_grad(x));
    return NULL;
}

static ebb_tensor *through_views(ebb_tensor *y)
{
    return ebb_select(ebb_neg(ebb_unsqueeze(y, 0)), 0, 0);
}

static const char *views_and_copies_alternate(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y = chain(x, depth() / 4, through_views);
    NEED(y != NULL);
    NEED(ebb_backward(y, NULL) == EBB_OK);
    NEED(ebb_item(ebb_grad_of(x)) == 1);
    ebb_clear(&y);
    y = chain(x, depth() / 4, through_views);
    NEED(y != NULL);
    ebb_clear(&y);
    NEED(live_nodes(ctx) == 0);
    return NULL;
}

static ebb_tensor *stack_and_select(ebb_tensor *y)
{
    ebb_tensor *both[] = {y, y};
    return ebb_mul_scalar(ebb_sum(ebb_stack(both, 2, 0), EBB_ALL), 0.5);
}

/* Two edges from every node to the one before: a walk by paths would never end. */
static const char *stacks_of_twins(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y = chain(x, depth() / 10, stack_and_select);
    NEED(y != NULL);
    NEED(ebb_item(y) == 3);
    NEED(ebb_backward(y, NULL) == EBB_OK);
    NEED(ebb_item(ebb_grad_of(x)) == 1);
    ebb_clear(&y);
    return NULL;
}

/* Both operands tracked: each node saves the one before and the leaf. */
static const char *products_with_the_leaf(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 1), *y = NULL;
    int64_t n = depth() / 2;
    NEED(ebb_hold(&y, x) == EBB_OK);
    for (int64_t i = 0; i < n; i++) {
        EBB_SCOPE(iter);
        NEED(ebb_hold(&y, ebb_mul(y, x)) == EBB_OK);
    }
    NEED(ebb_backward(y, NULL) == EBB_OK);
    NEED(ebb_item(ebb_grad_of(x)) == (double)n + 1); /* d x^(n+1) at 1 */
    ebb_clear(&y);
    return NULL;
}

/* An untracked loop records nothing, and its recipes stay bounded. */
static const char *untracked_loop_stays_small(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = ebb_full(ctx, EBB_F64, EBB_SHAPE(32), 3), *y = NULL;
    NEED(ebb_hold(&y, x) == EBB_OK);
    size_t at_start = 0;
    for (int64_t i = 0; i < depth() / 4; i++) {
        EBB_SCOPE(iter);
        NEED(ebb_hold(&y, ebb_neg(y)) == EBB_OK);
        ebb_stats s;
        if (i % 10000 != 5000) continue;
        ebb_stats_get(&s, ctx);
        if (!at_start) at_start = s.used_bytes;
        NEED(s.used_bytes < at_start + (2 << 20) && s.live_nodes == 0);
    }
    ebb_clear(&y);
    return NULL;
}

static const char *severed_chain(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 2), *h = ebb_neg(x), *y = chain(h, depth() / 4, negate);
    NEED(y != NULL);
    NEED(ebb_backward(h, NULL) ==
         EBB_OK); /* consumes the foot: all above loses its history now */
    NEED(live_nodes(ctx) == 0);
    NEED(ebb_backward(y, NULL) == EBB_E_GRAPH);
    ebb_error_clear();
    NEED(ebb_item(y) == -2);
    ebb_clear(&y);
    return NULL;
}

static ebb_tensor *negate_in_a_region(ebb_tensor *y)
{
    EBB_CHECKPOINT(region, ebb_context_of(y));
    return ebb_claim(ebb_neg(y));
}

static const char *regions_of_one_operation(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3), *y = NULL;
    NEED(ebb_hold(&y, x) == EBB_OK);
    for (int64_t i = 0; i < depth(); i++) {
        ebb_tensor *next = negate_in_a_region(y);
        NEED(next);
        ebb_clear(&y);
        y = next;
    }
    NEED(live_nodes(ctx) == depth());
    NEED(ebb_backward(y, NULL) == EBB_OK);
    NEED(ebb_item(ebb_grad_of(x)) == 1);
    NEED(live_nodes(ctx) == 0);
    ebb_clear(&y);
    return NULL;
}

/* x^10001 at 1: the graph of a derivative is as deep as that of what it is derived from, and
 * goes with its last handle. */
static const char *derivatives_with_history(ebb_context *ctx)
{
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 1), *y = ebb_mul(x, x), *first = NULL, *second = NULL;
    const ebb_grad_options graph = {.create_graph = true};
    for (int i = 1; i < 10000; i++) ebb_replace(&y, ebb_mul(y, x));
    NEED(ebb_grad(&first, &y, NULL, 1, &x, 1, &graph) == EBB_OK);
    NEED(ebb_item(first) == 10001);
    NEED(ebb_grad(&second, &first, NULL, 1, &x, 1, &graph) == EBB_OK);
    NEED(ebb_item(second) == 10001.0 * 10000);
    NEED(live_nodes(ctx) > 30000);
    return NULL;
}

static void chain_with_all_handles(void **state)
{
    (void)state;
    on_small_stack(all_handles_in_one_scope);
}
static void chain_with_one_handle_backward(void **state)
{
    (void)state;
    on_small_stack(newest_handle_only_backward);
}
static void chain_with_one_handle_dropped(void **state)
{
    (void)state;
    on_small_stack(newest_handle_only_dropped);
}
static void chain_through_views(void **state)
{
    (void)state;
    on_small_stack(views_and_copies_alternate);
}
static void chain_of_stacks(void **state)
{
    (void)state;
    on_small_stack(stacks_of_twins);
}
static void chain_of_products(void **state)
{
    (void)state;
    on_small_stack(products_with_the_leaf);
}
static void chain_untracked(void **state)
{
    (void)state;
    on_small_stack(untracked_loop_stays_small);
}
static void chain_severed_at_its_foot(void **state)
{
    (void)state;
    on_small_stack(severed_chain);
}

static void chain_of_checkpoint_regions(void **state)
{
    (void)state;
    on_small_stack(regions_of_one_operation);
}
static void chain_of_derivatives_with_history(void **state)
{
    (void)state;
    on_small_stack(derivatives_with_history);
}

static void sixty_doublings_have_gradient_two_to_the_sixty(void **state)
{
    (void)state;
    ebb_context *ctx = NULL;
    assert_int_equal(ebb_context_create(&ctx, NULL), EBB_OK);
    {
        EBB_SCOPE(outer);
        ebb_tensor *x = leaf(ctx, 1), *y = x;
        for (int i = 0; i < 60; i++) y = ebb_add(y, y);
        assert_true(ebb_item(y) == 0x1p60);
        assert_int_equal(live_nodes(ctx), 60);
        assert_int_equal(ebb_backward(y, NULL), EBB_OK);
        assert_true(ebb_item(ebb_grad_of(x)) == 0x1p60);
        assert_int_equal(live_nodes(ctx), 0);
    }
    ebb_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixty_doublings_have_gradient_two_to_the_sixty),
        cmocka_unit_test(chain_with_all_handles),
        cmocka_unit_test(chain_with_one_handle_backward),
        cmocka_unit_test(chain_with_one_handle_dropped),
        cmocka_unit_test(chain_through_views),
        cmocka_unit_test(chain_of_stacks),
        cmocka_unit_test(chain_of_products),
        cmocka_unit_test(chain_untracked),
        cmocka_unit_test(chain_severed_at_its_foot),
        cmocka_unit_test(chain_of_checkpoint_regions),
        cmocka_unit_test(chain_of_derivatives_with_history),
    };
    return cmocka_run_group_tests_name("chains", tests, NULL, NULL);
}
