/* test_children.c - children whose memory is their own, and what their records read of the
 * parent's.
 *
 * Each test runs with a root that has no budget, where the child's memory is apart, and with one
 * that has, where it is the root's; what a user can see is the same but for the places that say
 * otherwise.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "memory/memory.h"
#include "support/memory_fixture.h"
#include "support/numeric.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static test_memory memory;
static ebb_context root, child;
static ebb_stats baseline;

static int begin(size_t budget)
{
    memset(&memory, 0, sizeof memory);
    test_context_init(&root, &memory, budget, false);
    baseline = test_stats(&root);
    test_child_init(&child, &root, 0);
    return 0;
}

static int begin_apart(void **state)
{
    (void)state;
    begin(0);
    assert_true(child.memory != root.memory);
    return 0;
}

static int begin_shared(void **state)
{
    (void)state;
    begin(1 << 20);
    assert_ptr_equal(child.memory, root.memory);
    return 0;
}

static bool apart(void)
{
    return child.memory != root.memory;
}

static void sound(void)
{
    const char *fault = ebb__memory_check(&root);
    if (fault) fail_msg("%s", fault);
}

static int end(void **state)
{
    (void)state;
    sound();
    assert_int_equal(test_stats(&child).used_bytes, 0);
    test_context_end(&child);
    sound();
    ebb_stats now = test_stats(&root);
    test_same_bytes(&baseline, &now);
    test_context_end(&root);
    return 0;
}

static ebb__storage *stored(ebb__value *v)
{
    ebb__storage *s;
    assert_int_equal(ebb__storage_create(&s, v), EBB_OK);
    return s;
}

/* Writes 1000, 1001, ... */
static ebb_status overwrite(ebb__storage *s)
{
    EBB_TRY(ebb__storage_write(s, "write", test_restore));
    for (int j = 0; j < TEST_N; j++) ((int32_t *)s->value->data)[j] = 1000 + j;
    return EBB_OK;
}

/* ---- what a child reads ------------------------------------------------------------------ */

static void a_child_makes_its_results_again_from_the_parents_values(void **state)
{
    (void)state;
    ebb__value *x = test_source(&root, TEST_N, 10);
    ebb__value *y = test_map(&child, x), *z = test_map(&child, y);
    ebb__value_unuse(y); /* z = 1 + 3 (1 + 3 x) */
    assert_true(ebb__value_can_drop(z));
    assert_true(ebb__value_drop(z));
    sound();
    ebb__value_unuse(x); /* needed by what is dropped */
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 128);
    sound();
    assert_int_equal(test_at(z, 2), 1 + 3 * (1 + 3 * 12));
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 0);
    assert_false(ebb__value_drop(z)); /* x is gone for ever */
    assert_false(ebb__value_can_drop(z));
    assert_int_equal(test_at(z, 2), 1 + 3 * (1 + 3 * 12));
    ebb__value_unuse(z);
}

static void a_write_to_the_parents_value_breaks_the_childs_recipe(void **state)
{
    (void)state;
    ebb__storage *s = stored(test_source(&root, TEST_N, 10));
    ebb__value *y = test_map(&child, s->value), *z = test_map(&child, y);
    void *bytes = s->value->data;
    ebb__value_unuse(y);
    assert_int_equal(overwrite(s), EBB_OK);
    assert_ptr_equal(s->value->data, bytes); /* nobody needs the old ones */
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 128);
    sound();
    assert_false(ebb__value_drop(z));
    assert_int_equal(test_at(z, 0), 1 + 3 * (1 + 3 * 10));
    assert_null(z->recipe);
    sound();
    ebb__value_unuse(z);
    ebb__storage_release(s);
}

/* Two ways from the parent's value to z, of which one went by a write and one is in force. */
static void a_recipe_with_one_sound_way_and_one_broken_is_no_recipe(void **state)
{
    (void)state;
    ebb__storage *s = stored(test_source(&root, TEST_N, 10));
    ebb__value *other = test_source(&root, TEST_N, 20);
    ebb__value *a = test_map(&child, other), *b = test_map(&child, s->value);
    test_op op = {.in = {a, b, other}};
    assert_int_equal(test_op_run(&op, &child, 3, 1, TEST_N, true, 0, 0), EBB_OK);
    ebb__record_release(op.record);
    ebb__value *z = op.out[0];
    int32_t z0 = test_at(z, 0);
    ebb__value_unuse(a);
    ebb__value_unuse(b);
    assert_int_equal(overwrite(s), EBB_OK);
    assert_false(ebb__value_drop(z));
    sound();
    assert_int_equal(atomic_load(&other->uses), 1);
    assert_int_equal(test_at(z, 0), z0);
    ebb__value_unuse(other);
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 128);
    ebb__value_unuse(z);
    ebb__storage_release(s);
}

static void a_write_leaves_what_a_dropped_result_is_made_of(void **state)
{
    (void)state;
    ebb__storage *s = stored(test_source(&root, TEST_N, 10));
    ebb__value *y = test_map(&child, s->value);
    assert_true(ebb__value_drop(y));
    assert_int_equal(overwrite(s), EBB_OK);
    sound();
    /* shared: y was made resident before the write */
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], apart() ? 256 : 128);
    assert_int_equal(test_at(y, 1), 1 + 3 * 11);
    assert_int_equal(((int32_t *)s->value->data)[1], 1001);
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 128);
    assert_false(ebb__value_drop(y));
    ebb__value_unuse(y);
    ebb__storage_release(s);
}

static void done(void *user)
{
    ++*(int *)user;
}

/* Nowhere to put a copy: the user's memory, and addresses that he has. */
static void a_write_that_would_need_a_copy_elsewhere_is_refused(void **state)
{
    (void)state;
    static int32_t mine[TEST_N];
    int n_done = 0;
    ebb__value *adopted;
    mine[0] = 4;
    assert_int_equal(ebb__value_adopt(&adopted, &root, mine, sizeof mine, done, &n_done),
                     EBB_OK);
    for (int mapped = 0; mapped < 2; mapped++) {
        ebb__storage *s = stored(mapped ? test_source(&root, TEST_N, 4) : adopted);
        if (mapped) atomic_fetch_add(&s->n_maps, 1);
        ebb__value *y = test_map(&child, s->value);
        assert_true(ebb__value_drop(y));
        ebb_error_clear();
        assert_int_equal(overwrite(s), apart() ? EBB_E_MISUSE : EBB_OK);
        assert_int_equal(test_at(y, 0), 1 + 3 * 4);
        assert_int_equal(overwrite(s), EBB_OK); /* nothing dropped needs it now */
        sound();
        ebb__value_unuse(y);
        if (mapped) atomic_fetch_sub(&s->n_maps, 1);
        ebb__storage_release(s);
    }
    assert_int_equal(mine[0], 1000);
    assert_int_equal(n_done, 1);
}

static void a_refused_copy_leaves_everything_as_it_was(void **state)
{
    (void)state;
    static int32_t zeros[1 << 16];
    ebb__value *big;
    assert_int_equal(ebb__value_create(&big, &root, sizeof zeros, EBB_KIND_DATA), EBB_OK);
    memset(big->data, 0, sizeof zeros);
    ebb__storage *s = stored(big);
    ebb__value *y = test_map(&child, big);
    ebb__value_note_kept(y); /* not just some scope's */
    assert_true(ebb__value_drop(y));
    size_t n = 0;
    static ebb__value *fill[1 << 12];
    atomic_store(&memory.fail_from, atomic_load(&memory.n_allocs) + 1);
    while (ebb__value_create(&fill[n], &root, sizeof zeros / 2, EBB_KIND_DATA) == EBB_OK) n++;
    ebb_status status = overwrite(s);
    if (apart()) assert_int_equal(status, EBB_E_NOMEM);
    atomic_store(&memory.fail_from, 0);
    while (n) ebb__value_unuse(fill[--n]);
    assert_int_equal(test_at(y, 0), 1);
    if (apart()) assert_ptr_equal(s->value, big);
    assert_int_equal(overwrite(s), EBB_OK);
    ebb__value_unuse(y);
    ebb__storage_release(s);
}

static void the_childs_last_use_frees_the_parents_bytes(void **state)
{
    (void)state;
    ebb__value *x = test_source(&root, TEST_N, 10);
    test_op op = {.in = {x, x}};
    assert_int_equal(test_op_run(&op, &child, 2, 1, TEST_N, true, 3, 0), EBB_OK);
    ebb__value_unuse(x);
    sound();
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 128);
    ebb__record_unsave(op.record);
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 0);
    sound();
    ebb__record_release(op.record);
    assert_false(ebb__value_drop(op.out[0]));
    sound();
    ebb__value_unuse(op.out[0]);
}

static void a_record_that_dies_with_saves_lets_go_of_the_parents_values(void **state)
{
    (void)state;
    ebb__value *x = test_source(&root, TEST_N, 10), *tiny = test_source(&root, 1, 3);
    test_op op = {.in = {x, tiny, x}};
    assert_int_equal(test_op_run(&op, &child, 3, 1, TEST_N, true, 7, 1), EBB_OK);
    ebb__value_unuse(x);
    ebb__value_unuse(tiny);
    ebb__value_unuse(op.out[0]);
    sound();
    ebb__record_unsave(op.record);
    ebb__record_release(op.record);
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 0);
}

/* A result of the parent's is no source. */
static void what_reads_a_parents_result_keeps_its_bytes(void **state)
{
    (void)state;
    ebb__value *x = test_source(&root, TEST_N, 10), *y = test_map(&root, x),
               *z = test_map(&child, y);
    assert_int_equal(ebb__value_drop(z), !apart());
    assert_int_equal(test_at(z, 0), 1 + 3 * (1 + 3 * 10));
    sound();
    assert_true(ebb__value_drop(y));
    assert_int_equal(test_at(y, 0), 1 + 3 * 10);
    ebb__value_unuse(x);
    ebb__value_unuse(y);
    sound();
    assert_int_equal(test_at(z, 0), 1 + 3 * (1 + 3 * 10));
    ebb__value_unuse(z);
}

/* ---- where a memory ends ----------------------------------------------------------------- */

static void a_childs_budget_makes_one_memory_of_all_below(void **state)
{
    (void)state;
    ebb_context tenant, inner;
    test_child_init(&tenant, &root, 1 << 18);
    test_child_init(&inner, &tenant, 0);
    assert_ptr_equal(inner.memory, tenant.memory);
    assert_int_equal(tenant.memory != root.memory, apart());
    ebb__value *x = test_source(&tenant, TEST_N, 1), *y = test_map(&inner, x);
    assert_true(ebb__value_drop(y));
    assert_int_equal(test_stats(&root).bytes[EBB_KIND_DATA], 128);
    assert_int_equal(test_at(y, 0), 4);
    ebb__value *much;
    assert_int_equal(ebb__value_create(&much, &inner, 1 << 18, EBB_KIND_DATA), EBB_E_BUDGET);
    ebb__value_unuse(y);
    ebb__value_unuse(x);
    test_context_end(&inner);
    test_context_end(&tenant);
}

static void a_parent_counts_its_childrens_bytes_and_their_peak(void **state)
{
    (void)state;
    ebb_context other;
    ebb__value *v, *w;
    test_child_init(&other, &root, 0);
    ebb__account_reset_peak(root.account);
    size_t used = test_stats(&root).peak_bytes;
    const char *before = ebb__error_op_set("first");
    assert_int_equal(ebb__value_create(&v, &child, 1 << 16, EBB_KIND_ACTIVATION), EBB_OK);
    ebb__value_unuse(v);
    ebb__error_op_set("second");
    assert_int_equal(ebb__value_create(&v, &other, 1 << 15, EBB_KIND_GRADIENT), EBB_OK);
    ebb_stats s = test_stats(&root);
    assert_int_equal(s.bytes[EBB_KIND_GRADIENT], 1 << 15);
    assert_int_equal(s.peak_bytes, used + (1 << 16)); /* not both: they were not at once */
    assert_int_equal(s.peak_by_kind[EBB_KIND_ACTIVATION], 1 << 16);
    assert_int_equal(s.peak_by_kind[EBB_KIND_GRADIENT], 0);
    assert_string_equal(s.peak_op, "first");
    assert_int_equal(ebb__value_create(&w, &child, 1 << 16, EBB_KIND_ACTIVATION), EBB_OK);
    ebb__error_op_set(before);
    s = test_stats(&root);
    assert_int_equal(s.peak_bytes, used + (1 << 16) + (1 << 15));
    assert_int_equal(s.peak_by_kind[EBB_KIND_GRADIENT], 1 << 15);
    assert_int_equal(s.peak_by_kind[EBB_KIND_ACTIVATION], 1 << 16);
    assert_string_equal(s.peak_op, "second");
    ebb__value_unuse(v);
    ebb__value_unuse(w);
    assert_int_equal(ebb__value_create(&v, &root, 1 << 15, EBB_KIND_DATA), EBB_OK);
    assert_int_equal(test_stats(&root).peak_bytes, used + (1 << 16) + (1 << 15));
    ebb__account_reset_peak(root.account);
    assert_int_equal(test_stats(&root).peak_bytes, used + (1 << 15));
    ebb__value_unuse(v);
    test_context_end(&other);
}

static void free_bytes_of_a_childs_chunks_show_in_the_parent_and_can_be_trimmed(void **state)
{
    (void)state;
    ebb__value *v;
    size_t before = test_stats(&root).bytes[EBB_KIND_CACHE];
    assert_int_equal(ebb__value_create(&v, &child, 1 << 16, EBB_KIND_DATA), EBB_OK);
    ebb__value_unuse(v);
    assert_true(test_stats(&root).bytes[EBB_KIND_CACHE] >= before + (1 << 16));
    if (apart()) assert_true(test_stats(&child).bytes[EBB_KIND_CACHE] >= 1 << 16);
    ebb__memory_trim(&root);
    /* what a budget reserves stays */
    if (apart()) assert_int_equal(test_stats(&root).bytes[EBB_KIND_CACHE], before);
}

/* ---- random programs --------------------------------------------------------------------- */

enum { N_STORED = 4, N_HELD = 12 };
typedef struct held {
    ebb__value *value;
    ebb__record *record; /* with saves, or NULL */
    int32_t first;
} held;

static void random_step(numeric_random *rng, ebb__storage **stored_in, held *all)
{
    held *h = &all[numeric_below(rng, N_HELD)];
    ebb__storage *s = stored_in[numeric_below(rng, N_STORED)];
    switch (numeric_below(rng, 6)) {
    case 0:
        assert_int_equal(overwrite(s), EBB_OK);
        ((int32_t *)s->value->data)[0] = (int32_t)numeric_below(rng, 1000);
        return;
    case 1:
        if (h->value) ebb__value_drop(h->value);
        return;
    case 2:
        if (h->value) assert_int_equal(test_at(h->value, 0), h->first);
        return;
    default:
        break;
    }
    held made = {0};
    const held *from = &all[numeric_below(rng, N_HELD)];
    bool two = from->value != NULL;
    if (two) (void)test_at(from->value, 0);
    test_op op = {.in = {s->value, from->value}};
    ebb_context *ctx = numeric_below(rng, 5) || two ? &child : &root;
    assert_int_equal(test_op_run(&op, ctx, two ? 2 : 1, 1, TEST_N, numeric_below(rng, 8) != 0,
                                 (uint64_t)numeric_below(rng, 4),
                                 (uint32_t)numeric_below(rng, 2)),
                     EBB_OK);
    made = (held){op.out[0], op.record, test_at(op.out[0], 0)};
    if (numeric_below(rng, 2)) {
        ebb__record_unsave(made.record);
        ebb__record_release(made.record);
        made.record = NULL;
    }
    if (h->record) {
        ebb__record_unsave(h->record);
        ebb__record_release(h->record);
    }
    ebb__value_unuse(h->value);
    *h = made;
}

static void random_programs_across_two_contexts_are_right(void **state)
{
    (void)state;
    numeric_random rng = {7};
    ebb__storage *in_root[N_STORED];
    held all[N_HELD] = {0};
    for (int i = 0; i < N_STORED; i++) in_root[i] = stored(test_source(&root, TEST_N, i));
    for (int i = getenv("EBB_TEST_SHORT") ? 2000 : 40000; i-- > 0;) {
        random_step(&rng, in_root, all);
        sound();
    }
    for (int i = 0; i < N_HELD; i++) {
        if (all[i].value) assert_int_equal(test_at(all[i].value, 0), all[i].first);
        if (all[i].record) ebb__record_unsave(all[i].record);
        ebb__record_release(all[i].record);
        ebb__value_unuse(all[i].value);
    }
    for (int i = 0; i < N_STORED; i++) ebb__storage_release(in_root[i]);
}

/* ---- threads ----------------------------------------------------------------------------- */

enum { N_TENANTS = 3 };
static ebb__storage *tables[N_STORED];
static pthread_rwlock_t tables_lock = PTHREAD_RWLOCK_INITIALIZER; /* operations read, a write */
static int n_rounds;

/* Drops and makes again what is its own at any time, as an operation that needs room would. */
static void *tenant(void *seed)
{
    numeric_random rng = {(uint64_t)(uintptr_t)seed};
    ebb_context own;
    held all[N_HELD] = {0};
    test_child_init(&own, &root, 0);
    for (int i = 0; i < n_rounds; i++) {
        held *h = &all[numeric_below(&rng, N_HELD)], *from = &all[numeric_below(&rng, N_HELD)];
        if (h->value && numeric_below(&rng, 3)) {
            if (numeric_below(&rng, 2)) ebb__value_drop(h->value);
            if (numeric_below(&rng, 2)) assert_int_equal(test_at(h->value, 0), h->first);
            continue;
        }
        if (from->value) (void)test_at(from->value, 0);
        pthread_rwlock_rdlock(&tables_lock);
        test_op op = {.in = {tables[numeric_below(&rng, N_STORED)]->value, from->value}};
        assert_int_equal(test_op_run(&op, &own, from->value ? 2 : 1, 1, TEST_N, true,
                                     (uint64_t)numeric_below(&rng, 4), 0),
                         EBB_OK);
        int32_t first = ((int32_t *)op.out[0]->data)[0];
        pthread_rwlock_unlock(&tables_lock);
        if (h->record) ebb__record_unsave(h->record);
        ebb__record_release(h->record);
        ebb__value_unuse(h->value);
        *h = (held){op.out[0], op.record, first};
    }
    for (int i = 0; i < N_HELD; i++) {
        if (all[i].record) ebb__record_unsave(all[i].record);
        ebb__record_release(all[i].record);
        ebb__value_unuse(all[i].value);
    }
    test_context_end(&own);
    return NULL;
}

static void a_parent_writes_while_its_children_make_results_again(void **state)
{
    (void)state;
    numeric_random rng = {1};
    pthread_t threads[N_TENANTS];
    n_rounds = getenv("EBB_TEST_SHORT") ? 2000 : 50000;
    for (int i = 0; i < N_STORED; i++) tables[i] = stored(test_source(&root, TEST_N, i));
    for (uintptr_t i = 0; i < N_TENANTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, tenant, (void *)(i + 1)), 0);
    for (int i = 0; i < n_rounds / 20; i++) {
        ebb__storage **s = &tables[numeric_below(&rng, N_STORED)];
        pthread_rwlock_wrlock(&tables_lock);
        if (numeric_below(&rng, 3)) {
            assert_int_equal(overwrite(*s), EBB_OK);
            ((int32_t *)(*s)->value->data)[0] = i;
        } else {
            ebb__storage_release(*s);
            *s = stored(test_source(&root, TEST_N, i));
        }
        pthread_rwlock_unlock(&tables_lock);
        (void)test_stats(&child);
    }
    for (int i = 0; i < N_TENANTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < N_STORED; i++) ebb__storage_release(tables[i]);
}

#define BOTH(test)                                                                             \
    {#test " (apart)", test, begin_apart, end, NULL},                                          \
    {                                                                                          \
#test " (shared)", test, begin_shared, end, NULL                                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_child_makes_its_results_again_from_the_parents_values),
        BOTH(a_write_to_the_parents_value_breaks_the_childs_recipe),
        BOTH(a_recipe_with_one_sound_way_and_one_broken_is_no_recipe),
        BOTH(a_write_leaves_what_a_dropped_result_is_made_of),
        BOTH(a_write_that_would_need_a_copy_elsewhere_is_refused),
        BOTH(a_refused_copy_leaves_everything_as_it_was),
        BOTH(the_childs_last_use_frees_the_parents_bytes),
        BOTH(a_record_that_dies_with_saves_lets_go_of_the_parents_values),
        BOTH(what_reads_a_parents_result_keeps_its_bytes),
        BOTH(a_childs_budget_makes_one_memory_of_all_below),
        BOTH(a_parent_counts_its_childrens_bytes_and_their_peak),
        BOTH(free_bytes_of_a_childs_chunks_show_in_the_parent_and_can_be_trimmed),
        BOTH(random_programs_across_two_contexts_are_right),
        /* in a shared memory one thread at a time makes results again */
        cmocka_unit_test_setup_teardown(a_parent_writes_while_its_children_make_results_again,
                                        begin_apart, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
