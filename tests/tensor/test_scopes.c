/* test_scopes.c - who owns results, and what happens to handles used late or twice.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <string.h>

static int64_t handles(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s.n_handles;
}

static void results_go_when_the_scope_closes(void **state)
{
    ebb_context *ctx = *state;
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = scalar(ctx, 2);
        ebb_tensor *y = ebb_mul(x, x);
        assert_float_equal(ebb_item(y), 4, 0);
        assert_int_equal(handles(ctx), 2);
    }
    assert_int_equal(handles(ctx), 0);
}

static void an_operation_without_a_scope_is_refused(void **state)
{
    ebb_context *ctx = *state;
    assert_null_with(scalar(ctx, 1), EBB_E_MISUSE);
}

static ebb_tensor *make(ebb_context *ctx, double v)
{
    EBB_SCOPE(inner);
    ebb_tensor *a = scalar(ctx, v), *b = scalar(ctx, v);
    return ebb_escape(inner, ebb_add(a, b));
}

static void an_escaped_result_belongs_to_the_scope_around(void **state)
{
    ebb_context *ctx = *state;
    {
        EBB_SCOPE(outer);
        ebb_tensor *t[20];
        for (int i = 0; i < 20; i++) t[i] = make(ctx, i);
        assert_int_equal(handles(ctx), 20);
        for (int i = 0; i < 20; i++) assert_float_equal(ebb_item(t[i]), 2 * i, 0);
    }
    assert_int_equal(handles(ctx), 0);
}

static void a_result_escapes_through_several_scopes_at_once(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *t;
    {
        EBB_SCOPE(first);
        {
            EBB_SCOPE(second);
            t = ebb_escape(first, scalar(ctx, 7));
            scalar(ctx, 1);
        }
        assert_float_equal(ebb_item(t), 7, 0);
        scalar(ctx, 1);
    }
    assert_float_equal(ebb_item(t), 7, 0);
    assert_int_equal(handles(ctx), 1);
}

static void a_kept_tensor_outlives_its_scope(void **state)
{
    ebb_context *ctx = *state;
    ebb_tensor *t;
    {
        EBB_SCOPE(scope);
        t = ebb_keep(scalar(ctx, 3));
    }
    assert_float_equal(ebb_item(t), 3, 0);
    ebb_release(t);
    assert_int_equal(handles(ctx), 0);
    ebb_release(t);
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
}

static void a_stale_handle_names_its_scope(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *t;
    {
        EBB_SCOPE(iteration);
        t = scalar(ctx, 3);
    }
    assert_null(ebb_neg(t));
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    assert_non_null(strstr(ebb_error_message(), "iteration"));
    assert_non_null(strstr(ebb_error_message(), "test_scopes.c:"));
    ebb_error_clear();
}

static void releasing_what_the_scope_owns_is_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *t = scalar(ctx, 3);
    ebb_release(t);
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    assert_float_equal(ebb_item(t), 3, 0);
}

static void a_foreign_pointer_is_an_error_not_a_crash(void **state)
{
    (void)state;
    EBB_SCOPE(scope);
    double x = 1;
    assert_null_with(ebb_neg((ebb_tensor *)&x), EBB_E_MISUSE);
    assert_null_with(ebb_neg((ebb_tensor *)(uintptr_t)0x1234567890ab00), EBB_E_MISUSE);
    assert_null_with(ebb_neg(EBB_NONE), EBB_E_MISUSE);
}

static void a_loop_that_replaces_its_variable_holds_one(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = scalar(ctx, 0), *one = scalar(ctx, 1);
    for (int i = 0; i < 1000; i++) {
        ebb_replace(&x, ebb_add(x, one));
        assert_int_equal(handles(ctx), 2);
    }
    assert_float_equal(ebb_item(x), 1000, 0);
}

static void held_slots_carry_values_across_iterations(void **state)
{
    ebb_context *ctx = *state;
    ebb_tensor *h = NULL;
    {
        EBB_SCOPE(start);
        assert_ok(ebb_hold(&h, scalar(ctx, 1)));
    }
    for (int i = 0; i < 10; i++) {
        EBB_SCOPE(iter);
        assert_ok(ebb_hold(&h, ebb_add(h, h)));
    }
    assert_float_equal(ebb_item(h), 1024, 0);
    ebb_error_clear();
    assert_status(ebb_hold(&h, NULL), EBB_E_MISUSE);
    assert_float_equal(ebb_item(h), 1024, 0);
    ebb_clear(&h);
    assert_null(h);
    assert_int_equal(handles(ctx), 0);
}

static void closing_an_outer_scope_closes_those_inside(void **state)
{
    ebb_context *ctx = *state;
    ebb_scope outer = ebb_scope_begin(0, NULL), inner = ebb_scope_begin(0, NULL);
    scalar(ctx, 1);
    ebb_scope_end(outer);
    assert_int_equal(handles(ctx), 0);
    assert_int_equal(ebb_error_status(), EBB_OK);
    ebb_scope_end(inner);
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
}

static void handles_that_outlive_their_context_are_stale(void **state)
{
    (void)state;
    ebb_context *ctx;
    assert_ok(ebb_context_create(&ctx, NULL));
    EBB_SCOPE(scope);
    ebb_tensor *t = ebb_keep(scalar(ctx, 1));
    ebb_context_destroy(ctx);
    ebb_release(t);
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    assert_null_with(ebb_neg(t), EBB_E_MISUSE);
}

static void a_claimed_result_is_the_callers(void **state)
{
    ebb_context *ctx = *state;
    ebb_tensor *t;
    {
        EBB_SCOPE(scope);
        t = ebb_claim(scalar(ctx, 5));
    }
    assert_float_equal(ebb_item(t), 5, 0);
    ebb_release(t);
    assert_int_equal(handles(ctx), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(results_go_when_the_scope_closes),
        T(an_operation_without_a_scope_is_refused),
        T(an_escaped_result_belongs_to_the_scope_around),
        T(a_result_escapes_through_several_scopes_at_once),
        T(a_kept_tensor_outlives_its_scope),
        T(a_stale_handle_names_its_scope),
        T(releasing_what_the_scope_owns_is_refused),
        T(a_foreign_pointer_is_an_error_not_a_crash),
        T(a_loop_that_replaces_its_variable_holds_one),
        T(held_slots_carry_values_across_iterations),
        T(closing_an_outer_scope_closes_those_inside),
        T(handles_that_outlive_their_context_are_stale),
        T(a_claimed_result_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
