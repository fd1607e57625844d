/* test_recipe.c - what a recipe keeps, when it can bring bytes back, and when it no longer can.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "support/memory_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static test_memory memory;
static ebb_context ctx;
static ebb_stats baseline;

static int begin(void **state)
{
    (void)state;
    memset(&memory, 0, sizeof memory);
    test_context_init(&ctx, &memory, 0, false);
    baseline = test_stats(&ctx);
    return 0;
}

static void sound(void)
{
    const char *fault = ebb__memory_check(&ctx);
    if (fault) fail_msg("%s", fault);
}

static int end(void **state)
{
    (void)state;
    sound();
    ebb_stats now = test_stats(&ctx);
    test_same_bytes(&baseline, &now);
    test_context_end(&ctx);
    return 0;
}

static size_t bytes_of(ebb_kind kind)
{
    return test_stats(&ctx).bytes[kind];
}

static void an_unneeded_value_keeps_no_bytes_but_can_be_made_again(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 10), *y = test_map(&ctx, x),
               *z = test_map(&ctx, y);
    ebb__value_unuse(y);
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 128);
    assert_int_equal(y->state, EBB__VALUE_DROPPED);
    sound();
    assert_true(ebb__value_can_drop(z));
    assert_true(ebb__value_drop(z));
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 0);
    assert_false(ebb__value_drop(z)); /* it is */
    sound();
    assert_int_equal(test_at(z, 4), 3 * (3 * 14 + 1) + 1);
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 128);
    ebb__value_unuse(z);
    ebb__value_unuse(x);
}

static void a_dropped_value_holds_what_it_is_made_of(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 1), *y = test_map(&ctx, x);
    assert_true(ebb__value_drop(y));
    ebb__value_unuse(x); /* the user's data has no other holder */
    assert_int_equal(x->state, EBB__VALUE_RESIDENT);
    assert_int_equal(bytes_of(EBB_KIND_DATA), 128);
    sound();
    assert_int_equal(test_at(y, 0), 4); /* x goes when y is back: y becomes a source */
    assert_int_equal(bytes_of(EBB_KIND_DATA), 0);
    assert_false(ebb__value_can_drop(y));
    assert_null(y->recipe);
    ebb__value_unuse(y);
}

static void losing_a_source_breaks_what_was_made_of_it(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 1);
    ebb__value *a = test_map(&ctx, x), *b = test_map(&ctx, a), *c = test_map(&ctx, b);
    ebb__value_unuse(a);
    ebb__value_unuse(b);
    assert_true(ebb__value_can_drop(c));
    sound();
    ebb__value_unuse(x); /* a and b, unneeded and dropped, are lost with it */
    assert_false(ebb__value_can_drop(c));
    assert_false(ebb__value_drop(c));
    assert_int_equal(test_at(c, 0), 3 * (3 * (3 * 1 + 1) + 1) + 1);
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 128);
    sound();
    ebb__value_unuse(c);
}

static void a_pinned_value_stays_where_it_is(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 1), *y = test_map(&ctx, x);
    ebb__value *tiny = test_source(&ctx, 1, 1);
    assert_true(ebb__value_pin(y));
    assert_true(ebb__value_pin(y));
    assert_false(ebb__value_drop(y));
    ebb__value_unpin(y);
    assert_false(ebb__value_drop(y));
    ebb__value_unpin(y);
    assert_true(ebb__value_drop(y));
    assert_false(ebb__value_pin(y));
    assert_true(ebb__value_pin(tiny));
    ebb__value_unpin(tiny);
    assert_false(ebb__value_drop(tiny));
    assert_false(ebb__value_can_drop(tiny));
    assert_false(ebb__value_drop(x));
    ebb__value_unuse(tiny);
    ebb__value_unuse(y);
    ebb__value_unuse(x);
}

static void a_failed_run_leaves_the_value_dropped(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 1), *y = test_map(&ctx, x);
    assert_true(ebb__value_drop(y));
    assert_int_equal(ebb__value_reserve(y), EBB_OK);
    assert_false(ebb__value_pin(y)); /* nobody reads what the kernel has not yet written */
    ebb__value_unreserve(y);
    assert_int_equal(y->state, EBB__VALUE_DROPPED);
    sound();
    assert_int_equal(test_at(y, 0), 4);
    ebb__value_unuse(y);
    ebb__value_unuse(x);
}

/* x*x reads twice; several outputs come and go by themselves. */
static void an_input_may_be_read_twice_and_outputs_go_apart(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 2);
    test_op op = {.in = {x, x}};
    assert_int_equal(test_op_run(&op, &ctx, 2, 3, TEST_N, true, 0, 0), EBB_OK);
    ebb__record_release(op.record);
    assert_true(ebb__value_drop(op.out[0]));
    assert_true(ebb__value_drop(op.out[2]));
    sound();
    ebb__value_unuse(op.out[1]);
    assert_null(op.out[0]->recipe->out[1]);
    assert_int_equal(test_at(op.out[2], 0), 2 * 8 + 3);
    sound();
    ebb__value_unuse(op.out[0]); /* dropped */
    ebb__value_unuse(x);
    assert_null(op.out[2]->recipe);
    ebb__value_unuse(op.out[2]);
}

/* a, b = split(x); c of a, d of b; a and b unneeded. Making c again needs a, and not b. */
static void an_unneeded_output_is_not_held_for_a_run(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 2);
    test_op op = {.in = {x}};
    assert_int_equal(test_op_run(&op, &ctx, 1, 3, TEST_N, true, 0, 0), EBB_OK);
    ebb__value *c = test_map(&ctx, op.out[0]), *d = test_map(&ctx, op.out[1]);
    ebb__value_unuse(op.out[0]);
    ebb__value_unuse(op.out[1]);
    assert_true(ebb__value_drop(c));
    ebb__value *held[3];
    ebb__record_hold(op.record, held);
    assert_ptr_equal(held[0], op.out[0]);
    assert_null(held[1]); /* nobody needs it */
    assert_null(held[2]); /* it is there */
    ebb__value_unuse(c);  /* not even now does it go, while it is held */
    assert_int_equal(ebb__value_reserve(op.out[0]), EBB_OK);
    ebb__value_restored(op.out[0]);
    sound();
    ebb__value_unuse(op.out[0]);
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 2 * 128);
    ebb__record_release(op.record);
    ebb__value_unuse(op.out[2]);
    ebb__value_unuse(d);
    ebb__value_unuse(x);
}

static void a_tiny_output_is_remembered_only_while_saved(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 2), *big, *tiny;
    ebb__record *r;
    assert_int_equal(ebb__record_create(&r, &ctx, NULL, 1, 2, true, 0), EBB_OK);
    assert_int_equal(ebb__value_create(&big, &ctx, 128, EBB_KIND_ACTIVATION), EBB_OK);
    assert_int_equal(ebb__value_create(&tiny, &ctx, 4, EBB_KIND_ACTIVATION), EBB_OK);
    r->in[0] = x;
    r->out[0] = big;
    r->out[1] = tiny;
    ebb__record_save(r, 0, 2);
    ebb__record_link(r);
    ebb__value_unuse(tiny);
    assert_ptr_equal(r->out[1], tiny);
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 132);
    ebb__record_unsave(r);
    ebb__record_unsave(r);
    assert_null(r->out[1]);
    assert_ptr_equal(r->out[0], big);
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 128);
    ebb__record_release(r);
    ebb__value_unuse(big);
    ebb__value_unuse(x);
}

/* ---- saves ------------------------------------------------------------------------------- */

static void saves_keep_bytes_until_given_back(void **state)
{
    (void)state;
    for (int recipe = 0; recipe < 2; recipe++) {
        ebb__value *x = test_source(&ctx, TEST_N, 1), *t = test_source(&ctx, 2, 1);
        test_op op = {.in = {x, t}};
        assert_int_equal(test_op_run(&op, &ctx, 2, 2, TEST_N, recipe, 3, 1), EBB_OK);
        ebb__value_unuse(x);
        ebb__value_unuse(t);
        ebb__value_unuse(op.out[0]);
        ebb__value_unuse(op.out[1]);
        assert_int_equal(bytes_of(EBB_KIND_DATA), 128 + 8);
        assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 128);
        sound();
        ebb__record_unsave(op.record);
        assert_int_equal(bytes_of(EBB_KIND_DATA),
                         0); /* the tiny one too: x is lost, nothing reads */
        assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 0);
        ebb__record_unsave(op.record);
        ebb__record_release(op.record);
    }
}

static void a_record_let_go_gives_its_saves_back(void **state)
{
    (void)state;
    for (int recipe = 0; recipe < 2; recipe++) {
        ebb__value *x = test_source(&ctx, TEST_N, 1), *t = test_source(&ctx, 2, 1);
        test_op op = {.in = {x, t}};
        assert_int_equal(test_op_run(&op, &ctx, 2, 1, 1, recipe, 3, 1),
                         EBB_OK); /* tiny output */
        ebb__value_unuse(x);
        ebb__value_unuse(t);
        ebb__value_unuse(op.out[0]);
        assert_ptr_equal(ebb__record_keep(op.record), op.record);
        ebb__record_release(op.record);
        assert_int_equal(bytes_of(EBB_KIND_DATA), 136);
        ebb__record_release(op.record);
    }
    assert_null(ebb__record_keep(NULL));
    ebb__record_release(NULL);
}

/* 200 inputs: the last bit of the mask stands for all from the 32nd on; too large for the pool.
 */
static void the_last_bit_of_a_mask_stands_for_all_the_rest(void **state)
{
    (void)state;
    enum { N = 200 };
    ebb__value *x[N], *y;
    ebb__record *r;
    assert_int_equal(ebb__record_create(&r, &ctx, NULL, N, 40, true, 100), EBB_OK);
    assert_true(r->bytes > EBB__POOL_MAX);
    assert_int_equal((uintptr_t)ebb__record_tail(r) % 8, 0);
    memset(ebb__record_tail(r), 1, 100);
    for (int i = 0; i < N; i++) r->in[i] = x[i] = test_source(&ctx, TEST_N, i);
    assert_int_equal(ebb__value_create(&y, &ctx, 128, EBB_KIND_ACTIVATION), EBB_OK);
    r->out[39] = y;
    ebb__record_save(r, UINT32_C(1) << 31 | 1, UINT32_C(1) << 31);
    ebb__record_link(r);
    for (int i = 0; i < N; i++) ebb__value_unuse(x[i]);
    ebb__value_unuse(y);
    assert_int_equal(bytes_of(EBB_KIND_DATA), (1 + N - 31) * 128);
    assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 128);
    assert_non_null(r->in[31]);
    assert_null(r->in[30]); /* lost, so the recipe broke and forgot it */
    sound();
    ebb__record_unsave(r);
    assert_int_equal(bytes_of(EBB_KIND_DATA), 0);
    ebb__record_release(r);
}

/* ---- long chains ------------------------------------------------------------------------- */

/* An untracked loop must not grow: at most EBB__RECIPE_DEPTH_MAX records at any time. */
static void a_loop_holds_a_bounded_chain(void **state)
{
    (void)state;
    ebb__value *h = test_source(&ctx, TEST_N, 1), *w = test_source(&ctx, TEST_N, 2);
    ebb__value *first = ebb__value_use(h); /* so that recipes stay in force */
    uint32_t expected = 1;
    size_t most = 0;
    for (int step = 0; step < 100000; step++) {
        test_op op = {.in = {h, w}};
        assert_int_equal(test_op_run(&op, &ctx, 2, 1, TEST_N, true, 0, 0), EBB_OK);
        ebb__record_release(op.record);
        ebb__value_unuse(h);
        h = op.out[0];
        expected = 1 + 3 * expected + 5 * 2;
        if (step % 100 == 0) {
            size_t now = bytes_of(EBB_KIND_BOOKKEEPING) - baseline.bytes[EBB_KIND_BOOKKEEPING];
            if (now > most) most = now;
            assert_int_equal(bytes_of(EBB_KIND_ACTIVATION), 128);
        }
    }
    assert_true(most > EBB__RECIPE_DEPTH_MAX / 2 * 100);
    assert_true(most < (EBB__RECIPE_DEPTH_MAX + 2) * 400);
    assert_int_equal((uint32_t)test_at(h, 0), expected);
    sound();
    ebb__value_unuse(h);
    ebb__value_unuse(w);
    ebb__value_unuse(first);
}

/* N values, each made of the one before, every cut a source; released from the far end on. */
enum { N_CHAIN = 1000000 };
static void *chain_run(void *unused)
{
    (void)unused;
    int n = N_CHAIN;
    ebb__value **v = malloc((size_t)(n + 1) * sizeof *v);
    v[0] = test_source(&ctx, TEST_N, 1);
    for (int i = 0; i < n; i++) {
        v[i + 1] = test_map(&ctx, v[i]);
        if (i % 2) ebb__value_drop(v[i]);
    }
    for (int i = 1; i < n; i++) ebb__value_unuse(v[i]);
    ebb__value_unuse(v[0]);
    ebb__value_unuse(v[n]);
    free(v);
    return NULL;
}

/* A chain deeper than the cut, built by records that only save: each holds the one before. */
static void *saved_chain_run(void *unused)
{
    (void)unused;
    /* v[i] dies -> its record dies -> v[i-1] ...: as deep as the cut allows, with all of it
     * dropped and needed only through the last one */
    ebb__value *h = test_source(&ctx, TEST_N, 1);
    ebb__value *x = ebb__value_use(h);
    for (int i = 1; i < EBB__RECIPE_DEPTH_MAX - 1; i++) {
        ebb__value *next = test_map(&ctx, h);
        ebb__value_unuse(h);
        h = next;
    }
    for (int round = 0; round < 20; round++) {
        assert_true(ebb__value_drop(h));
        test_at(h, 0);
    }
    assert_true(ebb__value_drop(h));
    ebb__value_unuse(x);
    ebb__value_unuse(h);
    return NULL;
}

static void on_small_stack(void *(*run)(void *))
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    assert_int_equal(pthread_create(&thread, &attr, run, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static void a_long_chain_needs_little_stack(void **state)
{
    (void)state;
    on_small_stack(chain_run);
    on_small_stack(saved_chain_run);
}

static void depth_is_cut_at_birth(void **state)
{
    (void)state;
    ebb__value *source[3], *h = test_source(&ctx, TEST_N, 1);
    source[0] = ebb__value_use(h);
    for (int i = 1; i < 3 * EBB__RECIPE_DEPTH_MAX; i++) {
        ebb__value *next = test_map(&ctx, h);
        int depth = i % EBB__RECIPE_DEPTH_MAX;
        assert_int_equal(next->depth, depth);
        assert_int_equal(ebb__value_can_drop(next), depth != 0);
        if (!depth) source[i / EBB__RECIPE_DEPTH_MAX] = ebb__value_use(next);
        ebb__value_unuse(h);
        h = next;
    }
    ebb__value_unuse(h);
    for (int i = 0; i < 3; i++) ebb__value_unuse(source[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unneeded_value_keeps_no_bytes_but_can_be_made_again),
        TEST(a_dropped_value_holds_what_it_is_made_of),
        TEST(losing_a_source_breaks_what_was_made_of_it),
        TEST(a_pinned_value_stays_where_it_is),
        TEST(a_failed_run_leaves_the_value_dropped),
        TEST(an_input_may_be_read_twice_and_outputs_go_apart),
        TEST(an_unneeded_output_is_not_held_for_a_run),
        TEST(a_tiny_output_is_remembered_only_while_saved),
        TEST(saves_keep_bytes_until_given_back),
        TEST(a_record_let_go_gives_its_saves_back),
        TEST(the_last_bit_of_a_mask_stands_for_all_the_rest),
        TEST(a_loop_holds_a_bounded_chain),
        TEST(depth_is_cut_at_birth),
        TEST(a_long_chain_needs_little_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
