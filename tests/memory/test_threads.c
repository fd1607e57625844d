/* test_threads.c - values, records and storages used and released from several threads at once.
 *
 * As in the engine, operations run side by side, while dropping and making again is done by one
 * thread alone; uses, saves and handles come and go at any time. Meant for the thread
 * sanitizer; counts and contents are checked as well.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "support/memory_fixture.h"
#include "support/numeric.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_THREADS = 4, N_SLOTS = 16 };

static test_memory memory;
static ebb_context ctx;
static ebb__value *weight, *tiny;
static _Atomic(ebb__value *) slots[N_SLOTS]; /* a use each, for whoever takes it */
static pthread_rwlock_t alone = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int n_done, n_adopted;
static int n_steps;

static void count_done(void *user)
{
    free(user);
    atomic_fetch_add(&n_done, 1);
}

static void slot_put(numeric_random *rng, ebb__value *v)
{
    ebb__value_unuse(atomic_exchange(&slots[numeric_below(rng, N_SLOTS)], v));
}

static ebb__value *slot_take(numeric_random *rng)
{
    return atomic_exchange(&slots[numeric_below(rng, N_SLOTS)], NULL);
}

static void resident(ebb__value *v)
{
    if (v->state == EBB__VALUE_DROPPED) assert_int_equal(test_restore(v), EBB_OK);
}

/* y1, y2 = f(v, weight, tiny); one goes on to other threads, one is used here. */
static void step_op(numeric_random *rng)
{
    ebb__value *v = slot_take(rng);
    if (!v) v = test_source(&ctx, TEST_N, 1);
    test_op op = {.in = {v, weight, tiny}};
    bool resident_now;
    pthread_rwlock_rdlock(&alone);
    resident_now = v->state == EBB__VALUE_RESIDENT;
    if (!resident_now) {
        pthread_rwlock_unlock(&alone);
        pthread_rwlock_wrlock(&alone);
        resident(v);
    }
    assert_true(ebb__value_pin(v));
    int32_t first = ((int32_t *)v->data)[0];
    assert_int_equal(test_op_run(&op, &ctx, 3, 2, TEST_N, numeric_below(rng, 4) != 0,
                                 (uint64_t)numeric_below(rng, 8),
                                 (uint32_t)numeric_below(rng, 4)),
                     EBB_OK);
    ebb__value_unpin(v);
    uint32_t expected = 1 + 3 * (uint32_t)first + 5 * 7 + 7 * 9;
    assert_int_equal(((uint32_t *)op.out[0]->data)[0], expected);
    pthread_rwlock_unlock(&alone);
    slot_put(rng, v);
    slot_put(rng, op.out[0]);
    if (numeric_below(rng, 2)) ebb__record_unsave(op.record);
    slot_put(rng, op.out[1]);
    ebb__record_unsave(op.record);
    ebb__record_release(op.record);
}

static void step_drop(numeric_random *rng)
{
    ebb__value *v = slot_take(rng);
    if (!v) return;
    pthread_rwlock_wrlock(&alone);
    int32_t before = test_at(v, 0);
    ebb__value_drop(v);
    if (numeric_below(rng, 2)) assert_int_equal(test_at(v, 0), before);
    pthread_rwlock_unlock(&alone);
    slot_put(rng, v);
}

static void step_storage(numeric_random *rng)
{
    ebb__storage *s;
    ebb__value *v = test_source(&ctx, numeric_below(rng, 2) ? TEST_N : 1, 3);
    assert_int_equal(ebb__storage_create(&s, v), EBB_OK);
    ebb__storage_keep(s);
    ebb__value_set_kind(v, EBB_KIND_GRADIENT);
    assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_OK);
    ebb__storage_release(s);
    slot_put(rng, ebb__value_use(s->value));
    ebb__storage_release(s);
}

static void step_other(void)
{
    ebb__value *v;
    void *scratch, *mine = malloc(128);
    ebb_stats stats = {0};
    assert_int_equal(ebb__scratch_alloc(&scratch, &ctx, 100), EBB_OK);
    memset(scratch, 1, 100);
    ebb__scratch_free(&ctx, scratch, 100);
    atomic_fetch_add(&n_adopted, 1);
    assert_int_equal(ebb__value_adopt(&v, &ctx, mine, 128, count_done, mine), EBB_OK);
    ebb__value_unuse(v);
    ebb__account_stats(&stats, ctx.account);
    ebb__memory_stats(&stats, &ctx);
}

static void *run(void *seed)
{
    numeric_random rng = {(uint64_t)(uintptr_t)seed};
    for (int i = 0; i < n_steps; i++) {
        ebb__value_use(weight);
        switch (numeric_below(&rng, 6)) {
        case 0:
            step_drop(&rng);
            break;
        case 1:
            step_storage(&rng);
            break;
        case 2:
            step_other();
            break;
        default:
            step_op(&rng);
        }
        ebb__value_unuse(weight);
    }
    return NULL;
}

static void shared_values_survive_all_threads(void **state)
{
    (void)state;
    n_steps = getenv("EBB_TEST_SHORT") ? 300 : 10000;
    memset(&memory, 0, sizeof memory);
    test_context_init(&ctx, &memory, 0, false);
    ebb_stats before = test_stats(&ctx);
    weight = test_source(&ctx, TEST_N, 7);
    tiny = test_source(&ctx, 1, 9);
    pthread_t threads[N_THREADS];
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)(i + 1)), 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    const char *fault = ebb__memory_check(&ctx);
    if (fault) fail_msg("%s", fault);
    for (int i = 0; i < N_SLOTS; i++) ebb__value_unuse(atomic_exchange(&slots[i], NULL));
    ebb__value_unuse(weight);
    ebb__value_unuse(tiny);
    assert_null(ebb__memory_check(&ctx));
    assert_int_equal(atomic_load(&n_done), atomic_load(&n_adopted));
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&before, &after);
    test_context_end(&ctx);
}

/* ---- a thread that only releases --------------------------------------------------------- */

static void *release_run(void *value)
{
    ebb_error_clear();
    ebb__value_unuse(value);
    return (void *)(uintptr_t)ebb_error_status();
}

/* Its part of the pool cannot be had any more; that is no failure, nor may it wait for itself.
 */
static void a_new_thread_may_release_when_the_budget_is_full(void **state)
{
    (void)state;
    static ebb__value *v[20000];
    memset(&memory, 0, sizeof memory);
    test_context_init(&ctx, &memory, 1 << 20, false);
    ebb_stats before = test_stats(&ctx);
    ebb__value *big = test_source(&ctx, TEST_N, 1);
    size_t n = 0;
    while (ebb__value_create(&v[n], &ctx, 1, EBB_KIND_DATA) == EBB_OK) n++;
    pthread_t thread;
    void *status;
    assert_int_equal(pthread_create(&thread, NULL, release_run, big), 0);
    pthread_join(thread, &status);
    assert_ptr_equal(status, EBB_OK);
    while (n) ebb__value_unuse(v[--n]);
    ebb_stats after = test_stats(&ctx);
    test_same_bytes(&before, &after);
    test_context_end(&ctx);
}

/* ---- charges from all sides -------------------------------------------------------------- */

static ebb__account *root, *child[2];

static void *charge_run(void *which)
{
    numeric_random rng = {(uint64_t)(uintptr_t)which};
    ebb__account *a = child[(uintptr_t)which % 2];
    for (int i = 0; i < n_steps; i++) {
        size_t bytes = (size_t)numeric_below(&rng, 400);
        if (!ebb__account_try(a, EBB_KIND_ACTIVATION, bytes)) continue;
        ebb__account_move(a, EBB_KIND_ACTIVATION, EBB_KIND_GRADIENT, bytes);
        ebb__account_discharge(a, EBB_KIND_GRADIENT, bytes);
    }
    return NULL;
}

static void a_budget_holds_against_all_threads(void **state)
{
    (void)state;
    n_steps = getenv("EBB_TEST_SHORT") ? 1000 : 50000;
    assert_int_equal(ebb__account_create(&root, &ebb__allocator_libc, NULL, 1000, false),
                     EBB_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ebb__account_create(&child[i], &ebb__allocator_libc, root, 600, false),
                         EBB_OK);
    pthread_t threads[N_THREADS];
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, charge_run, (void *)i), 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) {
        ebb_stats s = {0};
        ebb__account_stats(&s, i < 2 ? child[i] : root);
        assert_int_equal(s.used_bytes, 0);
        assert_true(s.peak_bytes <= s.budget_bytes);
        assert_true(s.peak_bytes > 0);
    }
    for (int i = 0; i < 2; i++) ebb__account_destroy(child[i]);
    ebb__account_destroy(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_values_survive_all_threads),
        cmocka_unit_test(a_new_thread_may_release_when_the_budget_is_full),
        cmocka_unit_test(a_budget_holds_against_all_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
