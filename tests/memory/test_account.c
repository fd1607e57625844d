/* test_account.c - bytes by kind, the peak and where it was, budgets of a context and its
 * parents.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "memory/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ebb__account *make(ebb__account *parent, size_t budget)
{
    ebb__account *a;
    assert_int_equal(ebb__account_create(&a, &ebb__allocator_libc, parent, budget, false),
                     EBB_OK);
    return a;
}

static ebb_stats stats_of(const ebb__account *a)
{
    ebb_stats s = {0};
    ebb__account_stats(&s, a);
    return s;
}

static void bytes_are_counted_by_kind(void **state)
{
    (void)state;
    ebb__account *a = make(NULL, 0);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_PARAMETER, 100), EBB_OK);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_ACTIVATION, 30), EBB_OK);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_ACTIVATION, 12), EBB_OK);
    ebb__account_discharge(a, EBB_KIND_ACTIVATION, 30);
    ebb__account_move(a, EBB_KIND_PARAMETER, EBB_KIND_DATA, 40);
    ebb__account_cache(a, 1000);
    ebb__account_cache(a, -300);
    ebb_stats s = stats_of(a);
    assert_int_equal(s.bytes[EBB_KIND_PARAMETER], 60);
    assert_int_equal(s.bytes[EBB_KIND_DATA], 40);
    assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 12);
    assert_int_equal(s.bytes[EBB_KIND_CACHE], 700);
    assert_int_equal(s.used_bytes, 112); /* the cache is not in use */
    assert_int_equal(ebb__account_free(a), SIZE_MAX);
    ebb__account_destroy(a);
}

static void what_came_to_nothing_was_no_peak(void **state)
{
    (void)state;
    ebb__account *a = make(NULL, 0);
    const char *before = ebb__error_op_set("matmul");
    assert_int_equal(ebb__account_charge(a, EBB_KIND_PARAMETER, 50), EBB_OK);
    ebb__error_op_set("relu");
    ebb__account_discharge(a, EBB_KIND_PARAMETER, 20);
    /* less than the peak, to it and beyond it */
    for (size_t bytes = 10; bytes <= 30; bytes += 10) {
        assert_int_equal(ebb__account_charge(a, EBB_KIND_ACTIVATION, bytes), EBB_OK);
        assert_int_equal(stats_of(a).peak_bytes, bytes < 20 ? 50 : 30 + bytes);
        ebb__account_take_back(a, EBB_KIND_ACTIVATION, bytes);
        ebb_stats s = stats_of(a);
        assert_int_equal(s.used_bytes, 30);
        assert_int_equal(s.peak_bytes, 50);
        assert_string_equal(s.peak_op, "matmul");
        assert_int_equal(s.peak_by_kind[EBB_KIND_PARAMETER], 50);
        assert_int_equal(s.peak_by_kind[EBB_KIND_ACTIVATION], 0);
    }
    ebb__error_op_set(before);
    ebb__account_discharge(a, EBB_KIND_PARAMETER, 30);
    ebb__account_destroy(a);
}

static void the_peak_names_its_operation_and_its_kinds(void **state)
{
    (void)state;
    ebb__account *a = make(NULL, 0);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_PARAMETER, 10), EBB_OK);
    const char *before = ebb__error_op_set("matmul");
    assert_int_equal(ebb__account_charge(a, EBB_KIND_ACTIVATION, 50), EBB_OK);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_SCRATCH, 25), EBB_OK);
    ebb__error_op_set("relu");
    ebb__account_discharge(a, EBB_KIND_SCRATCH, 25);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_ACTIVATION, 25), EBB_OK); /* equals it */
    ebb__error_op_set(before);
    ebb_stats s = stats_of(a);
    assert_int_equal(s.peak_bytes, 85);
    assert_string_equal(s.peak_op, "matmul");
    assert_int_equal(s.peak_by_kind[EBB_KIND_PARAMETER], 10);
    assert_int_equal(s.peak_by_kind[EBB_KIND_ACTIVATION], 50);
    assert_int_equal(s.peak_by_kind[EBB_KIND_SCRATCH], 25);
    ebb__account_discharge(a, EBB_KIND_ACTIVATION, 75);
    ebb__account_reset_peak(a);
    s = stats_of(a);
    assert_int_equal(s.peak_bytes, 10);
    assert_string_equal(s.peak_op, "");
    ebb__account_destroy(a);
}

static void a_refused_charge_changes_nothing(void **state)
{
    (void)state;
    ebb__account *a = make(NULL, 1000);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_PARAMETER, 700), EBB_OK);
    ebb_stats before = stats_of(a);
    ebb_error_clear();
    assert_int_equal(ebb__account_charge(a, EBB_KIND_ACTIVATION, 301), EBB_E_BUDGET);
    ebb_stats after = stats_of(a);
    assert_memory_equal(&before, &after, sizeof before);
    assert_string_equal(
        ebb_error_message(),
        "301 bytes of kind activation are needed, 300 of the budget of 1000 are "
        "free; most is held as parameter (700)");
    const ebb_budget_report *report = ebb__refusal_pending();
    assert_int_equal(report->needed_bytes, 301);
    assert_int_equal(report->budget_bytes, 1000);
    assert_int_equal(report->needed_by_kind[EBB_KIND_ACTIVATION], 301);
    assert_int_equal(ebb__account_check(a, EBB_KIND_ACTIVATION, 301), EBB_E_BUDGET);
    assert_int_equal(ebb__account_check(a, EBB_KIND_ACTIVATION, 300), EBB_OK);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_ACTIVATION, 300), EBB_OK);
    assert_int_equal(ebb__account_free(a), 0);
    assert_int_equal(ebb__account_charge(a, EBB_KIND_SCRATCH, SIZE_MAX), EBB_E_BUDGET);
    ebb__account_destroy(a);
}

static void trying_records_no_failure(void **state)
{
    (void)state;
    ebb__account *a = make(NULL, 10);
    ebb_error_clear();
    assert_false(ebb__account_try(a, EBB_KIND_DATA, 11));
    assert_int_equal(ebb_error_status(), EBB_OK);
    ebb__account_destroy(a);
}

static void a_parents_budget_holds_for_its_children(void **state)
{
    (void)state;
    ebb__account *root = make(NULL, 1000), *left = make(root, 0), *right = make(root, 300);
    assert_int_equal(ebb__account_charge(left, EBB_KIND_DATA, 800), EBB_OK);
    assert_int_equal(ebb__account_free(right), 200);
    ebb_stats before_root = stats_of(root), before_right = stats_of(right);
    assert_int_equal(ebb__account_charge(right, EBB_KIND_DATA, 250), EBB_E_BUDGET);
    assert_int_equal(ebb__refusal_pending()->budget_bytes, 1000);
    ebb_stats after_root = stats_of(root), after_right = stats_of(right);
    assert_memory_equal(&before_root, &after_root, sizeof before_root);
    assert_memory_equal(&before_right, &after_right, sizeof before_right);
    assert_int_equal(ebb__account_charge(right, EBB_KIND_GRADIENT, 200), EBB_OK);
    assert_int_equal(stats_of(root).used_bytes, 1000);
    assert_int_equal(stats_of(root).bytes[EBB_KIND_GRADIENT], 200);
    assert_int_equal(stats_of(right).peak_bytes, 200);
    ebb__account_discharge(left, EBB_KIND_DATA, 800);
    assert_int_equal(ebb__account_charge(right, EBB_KIND_DATA, 101), EBB_E_BUDGET);
    assert_int_equal(ebb__refusal_pending()->budget_bytes, 300);
    ebb__account_discharge(right, EBB_KIND_GRADIENT, 200);
    assert_int_equal(stats_of(root).used_bytes, 0);
    ebb__account_destroy(left);
    ebb__account_destroy(right);
    ebb__account_destroy(root);
}

static void *slab_more(void *user)
{
    (void)user;
    return aligned_alloc(4096, EBB__SLAB_BYTES);
}

static void slab_less(void *user, void *slab)
{
    (void)user;
    free(slab);
}

static void pooled_bytes_count_once(void **state)
{
    (void)state;
    ebb__account *root = make(NULL, 0), *child = make(root, 20);
    ebb__pool *pool =
        ebb__pool_create(&(ebb__pool_source){.more = slab_more, .less = slab_less}, false);
    assert_non_null(pool);
    ebb__account_set_pool(root, pool);
    assert_int_equal(ebb__account_charge(root, EBB_KIND_BOOKKEEPING, 64), EBB_OK);
    assert_true(ebb__account_try_pooled(root, EBB_KIND_ACTIVATION, 4));
    assert_true(ebb__account_try_pooled(child, EBB_KIND_ACTIVATION, 16));
    assert_false(ebb__account_try_pooled(child, EBB_KIND_ACTIVATION, 5));
    ebb_stats s = stats_of(root);
    assert_int_equal(s.used_bytes, 64);
    assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 20);
    assert_int_equal(s.bytes[EBB_KIND_BOOKKEEPING], 44);
    assert_int_equal(stats_of(child).used_bytes, 16);
    ebb__account_move_pooled(child, EBB_KIND_ACTIVATION, EBB_KIND_GRADIENT, 16);
    assert_int_equal(stats_of(root).bytes[EBB_KIND_GRADIENT], 16);
    assert_int_equal(stats_of(root).bytes[EBB_KIND_ACTIVATION], 4);
    assert_int_equal(stats_of(child).bytes[EBB_KIND_GRADIENT], 16);
    ebb__account_discharge_pooled(child, EBB_KIND_GRADIENT, 16);
    ebb__account_discharge_pooled(root, EBB_KIND_ACTIVATION, 4);
    assert_int_equal(stats_of(root).bytes[EBB_KIND_BOOKKEEPING], 64);
    ebb__account_destroy(child);
    ebb__account_destroy(root);
    ebb__pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_counted_by_kind),
        cmocka_unit_test(what_came_to_nothing_was_no_peak),
        cmocka_unit_test(the_peak_names_its_operation_and_its_kinds),
        cmocka_unit_test(a_refused_charge_changes_nothing),
        cmocka_unit_test(trying_records_no_failure),
        cmocka_unit_test(a_parents_budget_holds_for_its_children),
        cmocka_unit_test(pooled_bytes_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
