/* test_footprint.c - what the C library was asked for while a model trains under a budget: the budget,
 * and what docs/memory.md says is not counted.
 *
 * Linked with --wrap, so that every allocation of the library's own objects goes through here; the
 * test's own are told apart by where they are made.
 * SPDX-License-Identifier: MIT */
#include "budget/models.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *p);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *p);

static atomic_llong now, most;

static void *count(void *p)
{
    if (!p || models_own) return p;
    long long bytes = (long long)malloc_usable_size(p);
    long long sum = atomic_fetch_add(&now, bytes) + bytes, before = atomic_load(&most);
    while (sum > before && !atomic_compare_exchange_weak(&most, &before, sum)) {
    }
    return p;
}

void *__wrap_malloc(size_t bytes)
{
    return count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return count(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *p, size_t bytes)
{
    if (p && !models_own) atomic_fetch_sub(&now, (long long)malloc_usable_size(p));
    return count(__real_realloc(p, bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return count(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *p)
{
    if (p && !models_own) atomic_fetch_sub(&now, (long long)malloc_usable_size(p));
    __real_free(p);
}

/* Bytes asked for at most, above what was there before. */
static long long trained(training *out, const model *m, const training_options *o)
{
    long long before = atomic_load(&now);
    atomic_store(&most, before);
    if (train(out, m, o) != EBB_OK) fail_msg("%s: %s", m->name, ebb_error_message());
    return atomic_load(&most) - before;
}

/* Tenths of what can move. */
static void keeps_to(const model *m, bool adam, size_t tenths)
{
    /* The context itself, its list of operations, scopes, and the arrays of one walk. */
    const long long slack = 128 << 10;
    training all, some;
    training_options o = {.n_threads = 2, .n_steps = 3, .adam = adam};
    trained(&all, m, &o);
    long long free_bytes = trained(&some, m, &o);
    training_free(&some);
    o.budget = all.pinned + (all.peak - all.pinned) * tenths / 10;
    long long bytes = trained(&some, m, &o);
    if (getenv("EBB_TEST_VERBOSE"))
        printf("%s, %s: budget %zu, asked for %lld, without %lld\n", m->name,
               adam ? "Adam" : "SGD", o.budget, bytes, free_bytes);
    if (bytes > (long long)o.budget + slack)
        fail_msg("%s: %lld bytes asked for, the budget is %zu", m->name, bytes, o.budget);
    assert_true(free_bytes > (long long)o.budget + 2 * slack); /* the test can fail */
    training_free(&all);
    training_free(&some);
}

static void what_is_asked_for_keeps_to_the_budget(void **state)
{
    (void)state;
    for (int i = 0; i < n_models; i++) {
        keeps_to(&models[i], false, 6);
        keeps_to(&models[i], true, 6);
        keeps_to(&models[i], false, 8);
        keeps_to(&models[i], true, 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_keeps_to_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
