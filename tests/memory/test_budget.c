/* test_budget.c - the budget is a promise, also for what the library itself needs; and every
 * refusal, by budget or by the allocator, leaves all as it was.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "support/memory_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static test_memory memory;
static ebb_context ctx;

static void begin(size_t budget)
{
    memset(&memory, 0, sizeof memory);
    test_context_init(&ctx, &memory, budget, false);
    ebb_error_clear();
}

static void a_refused_value_changes_nothing(void **state)
{
    (void)state;
    begin(1 << 20);
    ebb__value *x, *y = NULL;
    const char *op = ebb__error_op_set("matmul");
    assert_int_equal(ebb__value_create(&x, &ctx, 900000, EBB_KIND_PARAMETER), EBB_OK);
    ebb__error_op_set("relu");
    ebb_stats before = test_stats(&ctx);
    assert_int_equal(ebb__value_create(&y, &ctx, 200000, EBB_KIND_ACTIVATION), EBB_E_BUDGET);
    ebb_stats after = test_stats(&ctx);
    assert_memory_equal(&before, &after, sizeof before);
    assert_string_equal(after.peak_op, "matmul");
    assert_null(y);
    assert_non_null(strstr(ebb_error_message(), "200000 bytes"));
    assert_non_null(strstr(ebb_error_message(), "1048576"));
    assert_non_null(strstr(ebb_error_message(), "parameter"));
    void *scratch;
    assert_int_equal(ebb__scratch_alloc(&scratch, &ctx, 200000), EBB_E_BUDGET);
    ebb__error_op_set(op);
    assert_null(ebb__memory_check(&ctx));
    ebb__value_unuse(x);
    assert_int_equal(ebb__value_create(&y, &ctx, 900000, EBB_KIND_ACTIVATION), EBB_OK);
    ebb__value_unuse(y);
    test_context_end(&ctx);
}

/* The library's own objects count: a budget filled with tiny values is not exceeded by them. */
static void many_small_values_keep_to_the_budget(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes < 200; bytes += 60) {
        size_t budget = 600000, n = 0;
        begin(budget);
        ebb_stats before = test_stats(&ctx);
        static ebb__value *v[20000];
        /* an empty chunk makes way for slabs */
        size_t before_it = bytes <= EBB__TINY_BYTES ? 400000 : 1;
        assert_int_equal(ebb__value_create(&v[0], &ctx, before_it, EBB_KIND_DATA), EBB_OK);
        ebb__value_unuse(v[0]);
        while (ebb__value_create(&v[n], &ctx, bytes, EBB_KIND_ACTIVATION) == EBB_OK) {
            n++;
            assert_true(n < 20000);
        }
        assert_int_equal(ebb_error_status(), EBB_E_BUDGET);
        ebb_stats full = test_stats(&ctx);
        assert_true(full.used_bytes > budget * 3 / 4);
        /* what was really taken: pages of chunks and some hundred bytes for the context itself
         */
        assert_true((size_t)atomic_load(&memory.bytes) < budget + budget / 50 + 16384);
        for (size_t i = 0; i < n; i++) ebb__value_unuse(v[i]);
        ebb_stats after = test_stats(&ctx);
        test_same_bytes(&before, &after);
        test_context_end(&ctx);
    }
}

static void the_peak_is_exact_for_blocks(void **state)
{
    (void)state;
    begin(0);
    ebb__value *a, *b, *c;
    ebb_stats base = test_stats(&ctx);
    ebb__account_reset_peak(ctx.account);
    size_t floor = test_stats(&ctx).peak_bytes; /* slabs count whole */
    assert_int_equal(ebb__value_create(&a, &ctx, 6400, EBB_KIND_PARAMETER), EBB_OK);
    const char *op = ebb__error_op_set("conv2d");
    assert_int_equal(ebb__value_create(&b, &ctx, 64000, EBB_KIND_ACTIVATION), EBB_OK);
    void *scratch;
    assert_int_equal(ebb__scratch_alloc(&scratch, &ctx, 640), EBB_OK);
    ebb__scratch_free(&ctx, scratch, 640);
    ebb__error_op_set(op);
    ebb__value_unuse(b);
    assert_int_equal(ebb__value_create(&c, &ctx, 32000, EBB_KIND_ACTIVATION), EBB_OK);
    ebb_stats s = test_stats(&ctx);
    assert_int_equal(s.peak_bytes, floor + 6400 + 64000 + 640);
    assert_int_equal(s.peak_by_kind[EBB_KIND_ACTIVATION], 64000);
    assert_int_equal(s.peak_by_kind[EBB_KIND_PARAMETER], 6400);
    assert_int_equal(s.peak_by_kind[EBB_KIND_SCRATCH], 640);
    assert_string_equal(s.peak_op, "conv2d");
    ebb__value_unuse(a);
    ebb__value_unuse(c);
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&base, &after);
    test_context_end(&ctx);
}

static void a_parents_budget_is_kept_by_its_children(void **state)
{
    (void)state;
    begin(1 << 20);
    ebb_context left, right;
    test_child_init(&left, &ctx, 0);
    test_child_init(&right, &ctx, 100000);
    ebb__value *a, *b, *c, *tiny[1700];
    assert_int_equal(ebb__value_create(&a, &left, 800000, EBB_KIND_DATA), EBB_OK);
    assert_int_equal(ebb__value_create(&b, &right, 110000, EBB_KIND_DATA), EBB_E_BUDGET);
    assert_int_equal(ebb__value_create(&b, &right, 90000, EBB_KIND_DATA), EBB_OK);
    assert_int_equal(ebb__value_create(&c, &left, 150000, EBB_KIND_DATA), EBB_E_BUDGET);
    assert_int_equal(ebb__value_create(&c, &right, 20000, EBB_KIND_DATA), EBB_E_BUDGET);
    size_t n = 0;
    while (n < 1700 && ebb__value_create(&tiny[n], &right, 64, EBB_KIND_GRADIENT) == EBB_OK)
        n++;
    assert_int_equal(n, (100000 - 90048) / 64);
    assert_int_equal(test_stats(&right).bytes[EBB_KIND_GRADIENT], n * 64);
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_GRADIENT], n * 64);
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_DATA], 800000 + 90048);
    while (n) ebb__value_unuse(tiny[--n]);
    ebb__value_unuse(a);
    ebb__value_unuse(b);
    assert_int_equal(test_stats(&left).used_bytes, 0);
    assert_int_equal(test_stats(&right).used_bytes, 0);
    test_context_end(&left);
    test_context_end(&right);
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_DATA], 0);
    test_context_end(&ctx);
}

/* A gradient made in a child for the parent's parameter outlives the child. */
static void a_value_may_move_to_the_parent(void **state)
{
    (void)state;
    begin(1 << 20);
    ebb_context child;
    ebb__value *big, *tiny, *own;
    ebb_stats before = test_stats(&ctx);
    test_child_init(&child, &ctx, 5000);
    assert_int_equal(ebb__value_create(&big, &child, 4000, EBB_KIND_GRADIENT), EBB_OK);
    assert_int_equal(ebb__value_create(&tiny, &child, 40, EBB_KIND_GRADIENT), EBB_OK);
    assert_int_equal(ebb__value_create(&own, &ctx, 100, EBB_KIND_GRADIENT), EBB_OK);
    ebb__value_rehome(big, &ctx);
    ebb__value_rehome(tiny, &ctx);
    ebb__value_rehome(own, &child); /* no ancestor: stays */
    assert_ptr_equal(own->ctx, &ctx);
    assert_int_equal(test_stats(&child).used_bytes, 0);
    test_context_end(&child);
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_GRADIENT], 4032 + 40 + 128);
    ebb__value_unuse(big);
    ebb__value_unuse(tiny);
    ebb__value_unuse(own);
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&before, &after);
    test_context_end(&ctx);
}

/* What can be made again gives way, but not in vain. */
static void bytes_that_can_be_made_again_give_way(void **state)
{
    (void)state;
    begin(1 << 20);
    ebb__value *x = test_source(&ctx, TEST_N, 1), *z;
    test_op op = {.in = {x}};
    assert_int_equal(test_op_run(&op, &ctx, 1, 1, 150000, true, 0, 0), EBB_OK);
    ebb__record_release(op.record);
    ebb_error_clear();
    assert_int_equal(ebb__value_create(&z, &ctx, 1000000, EBB_KIND_DATA), EBB_E_BUDGET);
    assert_int_equal(op.out[0]->state, EBB__VALUE_RESIDENT);
    ebb_error_clear();
    assert_int_equal(ebb__value_create(&z, &ctx, 600000, EBB_KIND_DATA), EBB_OK);
    assert_int_equal(ebb_error_status(), EBB_OK); /* what was overcome is no failure */
    assert_int_equal(op.out[0]->state, EBB__VALUE_DROPPED);
    ebb__value_unuse(z);
    assert_int_equal(test_at(op.out[0], 0), 4);
    ebb__value_unuse(op.out[0]);
    ebb__value_unuse(x);
    test_context_end(&ctx);
}

static void trimming_gives_free_chunks_back(void **state)
{
    (void)state;
    begin(0);
    ebb__value *v;
    assert_int_equal(ebb__value_create(&v, &ctx, 50 << 20, EBB_KIND_DATA), EBB_OK);
    long long full = atomic_load(&memory.bytes);
    ebb__value_unuse(v);
    assert_int_equal(atomic_load(&memory.bytes), full);
    assert_true(test_stats(&ctx).bytes[EBB_KIND_CACHE] >= 50 << 20);
    ebb__memory_trim(&ctx);
    assert_true(atomic_load(&memory.bytes) < full - (50 << 20));
    assert_true(test_stats(&ctx).bytes[EBB_KIND_CACHE] < 1 << 20);
    test_context_end(&ctx);
}

/* ---- every refusal once ------------------------------------------------------------------ */

enum { N_WORK = 700 };
typedef struct work {
    ebb__value *x, *tiny;
    ebb__storage *s;
    test_op op[N_WORK];
    ebb__record *large;
    void *scratch;
    int n_ops;
} work;

static ebb_status work_steps(work *w)
{
    EBB_TRY(ebb__value_create(&w->x, &ctx, 4 * TEST_N, EBB_KIND_DATA));
    memset(w->x->data, 0, 4 * TEST_N);
    EBB_TRY(ebb__value_create(&w->tiny, &ctx, 4, EBB_KIND_DATA));
    memset(w->tiny->data, 0, 4);
    EBB_TRY(ebb__storage_create(&w->s, ebb__value_use(w->x)));
    EBB_TRY(ebb__record_create(&w->large, &ctx, NULL, 300, 1, true, 100));
    for (; w->n_ops < N_WORK; w->n_ops++) {
        test_op *op = &w->op[w->n_ops];
        op->in[0] = w->x;
        op->in[1] = w->tiny;
        EBB_TRY(test_op_run(op, &ctx, 2, 2, w->n_ops % 3 ? 1 : 100, true, 3, 1));
    }
    EBB_TRY(ebb__scratch_alloc(&w->scratch, &ctx, 3000));
    for (int i = 0; i < N_WORK; i += 3) ebb__value_drop(w->op[i].out[0]);
    EBB_TRY(ebb__storage_write(w->s, "write", test_restore));
    return EBB_OK;
}

static void work_undo(work *w)
{
    ebb__scratch_free(&ctx, w->scratch, 3000);
    for (int i = 0; i < w->n_ops; i++) {
        ebb__record_unsave(w->op[i].record);
        ebb__record_release(w->op[i].record);
        ebb__value_unuse(w->op[i].out[0]);
        ebb__value_unuse(w->op[i].out[1]);
    }
    ebb__record_release(w->large);
    ebb__storage_release(w->s);
    ebb__value_unuse(w->x);
    ebb__value_unuse(w->tiny);
}

/* True where the work was done without a failure. */
static bool work_once(size_t budget, long long fail_at, bool for_good)
{
    static work w;
    memset(&w, 0, sizeof w);
    memset(&memory, 0, sizeof memory);
    *(for_good ? &memory.fail_from : &memory.fail_at) = fail_at;
    ebb_error_clear();
    ebb_status s = test_context_try(&ctx, &memory, budget, false), expected;
    expected = budget ? EBB_E_BUDGET : EBB_E_NOMEM;
    if (s != EBB_OK) {
        assert_int_equal(s, expected);
        assert_int_equal(ebb_error_status(), s);
        assert_int_equal(atomic_load(&memory.n_blocks), 0);
        return false;
    }
    ebb_stats before = test_stats(&ctx);
    s = work_steps(&w);
    if (s != EBB_OK) {
        assert_int_equal(s, expected);
        assert_int_equal(ebb_error_status(), s);
    }
    const char *fault = ebb__memory_check(&ctx);
    if (fault) fail_msg("%s", fault);
    work_undo(&w);
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&before, &after);
    test_context_end(&ctx);
    return s == EBB_OK;
}

static void every_refused_allocation_is_survived(void **state)
{
    (void)state;
    for (int for_good = 0; for_good < 2; for_good++) {
        int n_failed = 0;
        for (long long k = 1;; k++) {
            bool done = work_once(0, k, for_good);
            n_failed += !done;
            if (done && k > atomic_load(&memory.n_allocs)) break;
        }
        assert_true(n_failed >= 6);
    }
}

static void every_budget_is_survived(void **state)
{
    (void)state;
    size_t step = getenv("EBB_TEST_SHORT") ? 20011 : 1009, budget = 64;
    int n_failed = 0;
    while (!work_once(budget, 0, false)) {
        n_failed++;
        budget += step;
    }
    assert_true(n_failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_value_changes_nothing),
        cmocka_unit_test(many_small_values_keep_to_the_budget),
        cmocka_unit_test(the_peak_is_exact_for_blocks),
        cmocka_unit_test(a_parents_budget_is_kept_by_its_children),
        cmocka_unit_test(a_value_may_move_to_the_parent),
        cmocka_unit_test(bytes_that_can_be_made_again_give_way),
        cmocka_unit_test(trimming_gives_free_chunks_back),
        cmocka_unit_test(every_refused_allocation_is_survived),
        cmocka_unit_test(every_budget_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
