/* test_value.c - bytes live exactly as long as somebody needs them, and are counted exactly.
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

static int begin(void **state)
{
    (void)state;
    memset(&memory, 0, sizeof memory);
    test_context_init(&ctx, &memory, 0, false);
    ebb_error_clear();
    return 0;
}

static int end(void **state)
{
    (void)state;
    const char *fault = ebb__memory_check(&ctx);
    if (fault) fail_msg("%s", fault);
    test_context_end(&ctx);
    return 0;
}

static ebb__value *make(size_t bytes, ebb_kind kind)
{
    ebb__value *v;
    assert_int_equal(ebb__value_create(&v, &ctx, bytes, kind), EBB_OK);
    return v;
}

static void bytes_are_counted_in_their_kind_and_given_back(void **state)
{
    (void)state;
    ebb_stats before = test_stats(&ctx);
    ebb__value *a = make(1000, EBB_KIND_ACTIVATION); /* 1024 with rounding */
    ebb__value *b = make(64, EBB_KIND_PARAMETER);    /* tiny: exact */
    ebb__value *c = make(4, EBB_KIND_GRADIENT);
    ebb__value *d = make(0, EBB_KIND_TEMPORARY);
    ebb_stats s = test_stats(&ctx);
    assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 1024);
    assert_int_equal(s.bytes[EBB_KIND_PARAMETER], 64);
    assert_int_equal(s.bytes[EBB_KIND_GRADIENT], 4);
    assert_int_equal(s.bytes[EBB_KIND_TEMPORARY], 1);
    memset(a->data, 1, 1000);
    memset(b->data, 2, 64);
    ((char *)d->data)[0] = 3;
    ebb__value_set_kind(a, EBB_KIND_DATA);
    ebb__value_set_kind(c, EBB_KIND_DATA);
    s = test_stats(&ctx);
    assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 0);
    assert_int_equal(s.bytes[EBB_KIND_DATA], 1028);
    ebb__value_unuse(a);
    ebb__value_unuse(b);
    ebb__value_unuse(c);
    ebb__value_unuse(d);
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&before, &after);
}

static void bytes_go_with_the_last_use(void **state)
{
    (void)state;
    for (int tiny = 0; tiny < 2; tiny++) {
        size_t bytes = tiny ? 16 : 4096;
        ebb__value *v = make(bytes, EBB_KIND_ACTIVATION);
        for (int i = 0; i < 3; i++) assert_ptr_equal(ebb__value_use(v), v);
        for (int i = 0; i < 3; i++) ebb__value_unuse(v);
        assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_ACTIVATION], bytes);
        ebb__value_unuse(v);
        assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_ACTIVATION], 0);
    }
    ebb__value_unuse(NULL);
}

static void scratch_is_counted_until_freed(void **state)
{
    (void)state;
    void *p, *q;
    assert_int_equal(ebb__scratch_alloc(&p, &ctx, 100), EBB_OK);
    assert_int_equal(ebb__scratch_alloc(&q, &ctx, 0), EBB_OK);
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_SCRATCH], 192);
    assert_null(ebb__memory_check(&ctx));
    ebb__scratch_free(&ctx, p, 100);
    ebb__scratch_free(&ctx, q, 0);
    ebb__scratch_free(&ctx, NULL, 10);
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_SCRATCH], 0);
    assert_int_equal(ebb__scratch_alloc(&p, &ctx, SIZE_MAX), EBB_E_SHAPE);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    ebb__value *v = NULL;
    ebb_stats before = test_stats(&ctx);
    assert_int_equal(ebb__value_create(&v, &ctx, SIZE_MAX, EBB_KIND_DATA), EBB_E_SHAPE);
    assert_int_equal(ebb__value_create(&v, &ctx, (size_t)1 << 60, EBB_KIND_DATA), EBB_E_NOMEM);
    assert_null(v);
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&before, &after);
}

/* ---- adopted memory ---------------------------------------------------------------------- */

static int n_done;
static void count_done(void *user)
{
    n_done++;
    free(user);
}

static void adopted_memory_goes_back_once(void **state)
{
    (void)state;
    n_done = 0;
    char *mine = malloc(100);
    ebb__value *v;
    ebb_stats before = test_stats(&ctx);
    assert_int_equal(ebb__value_adopt(&v, &ctx, mine, 100, count_done, mine), EBB_OK);
    assert_ptr_equal(v->data, mine);
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_DATA], 0);
    ebb__value_use(v);
    ebb__value_set_kind(v, EBB_KIND_PARAMETER);
    ebb__value_unuse(v);
    assert_int_equal(n_done, 0);
    ebb__value_unuse(v);
    assert_int_equal(n_done, 1);
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&before, &after);
}

static void adopted_memory_outlives_its_value_while_written_to_and_saved(void **state)
{
    (void)state;
    n_done = 0;
    int32_t *mine = malloc(64 * sizeof *mine);
    ebb__value *v;
    ebb__storage *s;
    assert_int_equal(ebb__value_adopt(&v, &ctx, mine, 64 * sizeof *mine, count_done, mine),
                     EBB_OK);
    assert_int_equal(ebb__storage_create(&s, v), EBB_OK);
    test_op op = {.in = {v}};
    memset(mine, 0, 64 * sizeof *mine);
    assert_int_equal(test_op_run(&op, &ctx, 1, 1, TEST_N, false, 1, 0), EBB_OK);
    assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_OK);
    assert_ptr_not_equal(s->value, v);
    assert_ptr_equal(s->value->data, mine);
    ebb__record_unsave(op.record);
    assert_int_equal(n_done, 0);
    ebb__storage_release(s);
    assert_int_equal(n_done, 1);
    ebb__record_release(op.record);
    ebb__value_unuse(op.out[0]);
}

static void adopted_memory_goes_back_with_its_context(void **state)
{
    (void)state;
    test_memory other_memory = {0};
    ebb_context other;
    ebb__value *v;
    n_done = 0;
    test_context_init(&other, &other_memory, 0, false);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ebb__value_adopt(&v, &other, &other, 8, count_done, NULL), EBB_OK);
    assert_int_equal(ebb__value_create(&v, &other, 5000, EBB_KIND_DATA), EBB_OK);
    assert_int_equal(ebb__value_create(&v, &other, 5, EBB_KIND_DATA), EBB_OK);
    /* moved by a write, while the old value is still held */
    ebb__storage *s;
    assert_int_equal(ebb__value_adopt(&v, &other, &other, 8, count_done, NULL), EBB_OK);
    assert_int_equal(ebb__storage_create(&s, ebb__value_use(v)), EBB_OK);
    assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_OK);
    test_context_end(&other);
    assert_int_equal(n_done, 4);
}

/* A done hook that lets go of the next adopted value: N deep, on a small stack. */
enum { N_NESTED = 100000 };
static ebb__value *nested[N_NESTED];
static void release_next(void *user)
{
    size_t i = (size_t)((ebb__value **)user - nested);
    n_done++;
    if (i + 1 < N_NESTED) ebb__value_unuse(nested[i + 1]);
}

static void *nested_run(void *unused)
{
    (void)unused;
    ebb__value_unuse(nested[0]);
    return NULL;
}

static void done_hooks_that_release_do_not_nest(void **state)
{
    (void)state;
    n_done = 0;
    for (size_t i = 0; i < N_NESTED; i++)
        assert_int_equal(
            ebb__value_adopt(&nested[i], &ctx, &nested[i], 8, release_next, &nested[i]),
            EBB_OK);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    assert_int_equal(pthread_create(&thread, &attr, nested_run, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_int_equal(n_done, N_NESTED);
}

/* ---- trace ------------------------------------------------------------------------------- */

typedef struct trace {
    size_t now, most;
    int n_made, n_gone;
} trace;

static void trace_event(void *user, const ebb__memory_event *e)
{
    trace *t = user;
    if (e->what == EBB__EVENT_MADE) {
        t->n_made++;
        t->now += e->bytes;
        if (t->now > t->most) t->most = t->now;
    } else {
        t->n_gone++;
        t->now -= e->bytes;
    }
}

static void the_trace_follows_every_byte(void **state)
{
    (void)state;
    trace t = {0};
    ebb__memory_set_trace(&ctx, trace_event, &t);
    ebb__value *x = test_source(&ctx, TEST_N, 1), *tiny = test_source(&ctx, 2, 1);
    assert_int_equal(t.now, 128 + 8);
    ebb__value *y = test_map(&ctx, x), *z = test_map(&ctx, y);
    test_op op = {.in = {tiny}};
    assert_int_equal(test_op_run(&op, &ctx, 1, 1, TEST_N, true, 1, 0), EBB_OK);
    ebb__value_unuse(tiny); /* saved and read */
    assert_int_equal(t.now, 4 * 128 + 8);
    ebb__value_unuse(y);
    assert_int_equal(t.now, 3 * 128 + 8); /* z's recipe keeps its struct only */
    assert_true(ebb__value_drop(z));
    assert_int_equal(t.now, 2 * 128 + 8);
    test_at(z, 0);
    assert_int_equal(t.now, 3 * 128 + 8); /* y came and went */
    assert_int_equal(t.most, 4 * 128 + 8);
    ebb__value_unuse(z);
    ebb__value_unuse(x);
    ebb__record_unsave(op.record);
    ebb__record_release(op.record);
    ebb__value_unuse(op.out[0]);
    assert_int_equal(t.now, 0);
    assert_int_equal(t.n_made, t.n_gone);
    assert_int_equal(t.n_made, 5 + 2);
    ebb__memory_set_trace(&ctx, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_counted_in_their_kind_and_given_back, begin,
                                        end),
        cmocka_unit_test_setup_teardown(bytes_go_with_the_last_use, begin, end),
        cmocka_unit_test_setup_teardown(scratch_is_counted_until_freed, begin, end),
        cmocka_unit_test_setup_teardown(sizes_that_cannot_be_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(adopted_memory_goes_back_once, begin, end),
        cmocka_unit_test_setup_teardown(
            adopted_memory_outlives_its_value_while_written_to_and_saved, begin, end),
        cmocka_unit_test_setup_teardown(adopted_memory_goes_back_with_its_context, begin, end),
        cmocka_unit_test_setup_teardown(done_hooks_that_release_do_not_nest, begin, end),
        cmocka_unit_test_setup_teardown(the_trace_follows_every_byte, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
