/* test_storage.c - what a write does to those who still need what was there before.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "support/memory_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
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

static ebb__storage *storage_of(ebb__value *take_v)
{
    ebb__storage *s;
    assert_int_equal(ebb__storage_create(&s, take_v), EBB_OK);
    return s;
}

static void write_all(ebb__storage *s, int32_t value)
{
    for (size_t j = 0; j < TEST_N; j++) ((int32_t *)s->value->data)[j] = value;
}

static void a_storage_holds_its_value(void **state)
{
    (void)state;
    for (size_t n = 1; n <= TEST_N; n *= TEST_N) {
        ebb__storage *s = storage_of(test_source(&ctx, n, 7));
        assert_ptr_equal(ebb__storage_keep(s), s);
        ebb__storage_release(s);
        assert_int_equal(test_at(s->value, 0), 7);
        ebb__storage_release(s);
    }
    assert_null(ebb__storage_keep(NULL));
    ebb__storage_release(NULL);
}

static void a_write_to_what_nobody_else_holds_is_in_place(void **state)
{
    (void)state;
    for (size_t n = 1; n <= TEST_N; n *= TEST_N) {
        ebb__storage *s = storage_of(test_source(&ctx, n, 7));
        ebb__value *v = s->value;
        void *data = v->data;
        assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_OK);
        assert_ptr_equal(s->value, v);
        assert_ptr_equal(v->data, data);
        assert_int_equal(s->version, 1);
        assert_false(v->moved);
        ebb__storage_release(s);
    }
}

static void a_save_of_what_is_written_is_marked_moved(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *old = s->value;
    void *data = old->data;
    test_op op = {.in = {old}};
    assert_int_equal(test_op_run(&op, &ctx, 1, 1, TEST_N, true, 1, 0), EBB_OK);
    size_t before = test_stats(&ctx).bytes[EBB_KIND_DATA];
    assert_int_equal(ebb__storage_write(s, "add_inplace", NULL), EBB_OK);
    sound();
    assert_ptr_not_equal(s->value, old);
    assert_ptr_equal(s->value->data, data); /* no copy, no byte more */
    assert_int_equal(test_stats(&ctx).bytes[EBB_KIND_DATA], before);
    assert_int_equal(test_at(s->value, 3), 10);
    assert_ptr_equal(op.record->in[0], old);
    assert_true(old->moved);
    assert_string_equal(old->moved_by, "add_inplace");
    assert_null(old->data);
    write_all(s, 0);
    assert_int_equal(test_at(op.out[0], 0), 22);
    ebb__record_unsave(op.record);
    ebb__record_release(op.record);
    ebb__value_unuse(op.out[0]);
    ebb__storage_release(s);
}

/* A storage mapped for reading and then written to: the pins go with the bytes. */
static void a_mapped_storage_may_be_written_to(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *old = ebb__value_use(s->value);
    assert_true(ebb__value_pin(s->value));
    assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_OK);
    assert_ptr_not_equal(s->value, old);
    assert_int_equal(atomic_load(&s->value->pins), 1);
    assert_int_equal(atomic_load(&old->pins), 0);
    ebb__value_unpin(s->value);
    ebb__value_unuse(old);
    ebb__storage_release(s);
}

static void a_tiny_save_keeps_the_old_bytes_and_is_marked_too(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, 2, 7));
    ebb__value *old = s->value;
    test_op op = {.in = {old}};
    assert_int_equal(test_op_run(&op, &ctx, 1, 1, TEST_N, true, 1, 0), EBB_OK);
    assert_int_equal(ebb__storage_write(s, "fill", NULL), EBB_OK);
    assert_ptr_not_equal(s->value, old);
    assert_int_equal(test_at(s->value, 1), 8);
    ((int32_t *)s->value->data)[0] = 99;
    assert_true(old->moved);
    assert_string_equal(old->moved_by, "fill");
    assert_true(ebb__value_drop(op.out[0]));
    assert_int_equal(test_at(op.out[0], 0), 22); /* made again of the old bytes */
    ebb__record_unsave(op.record);
    ebb__record_release(op.record);
    ebb__value_unuse(op.out[0]);
    ebb__storage_release(s);
}

static void recipes_that_read_what_is_written_break(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *old = s->value, *y = test_map(&ctx, old);
    assert_true(ebb__value_can_drop(y));
    assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_OK);
    assert_ptr_equal(s->value, old); /* nothing saved it */
    assert_false(ebb__value_can_drop(y));
    write_all(s, 0);
    assert_int_equal(test_at(y, 1), 25);
    ebb__value_unuse(y);
    ebb__storage_release(s);
}

static int n_restored;
static ebb_status counting_restore(ebb__value *v)
{
    n_restored++;
    return test_restore(v);
}

/* Whoever has mapped the storage knows where its bytes are: the older ones cannot stay there. */
static ebb_status write_mapped(ebb__storage *s, ebb_status (*restore)(ebb__value *))
{
    atomic_store(&s->n_maps, 1);
    assert_true(ebb__value_pin(s->value));
    ebb_status status = ebb__storage_write(s, "write", restore);
    ebb__value_unpin(s->value);
    atomic_store(&s->n_maps, 0);
    return status;
}

static void older_bytes_stay_for_dropped_values_that_need_them(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *a = test_map(&ctx, s->value), *old = s->value;
    assert_true(ebb__value_drop(a));
    n_restored = 0;
    assert_int_equal(ebb__storage_write(s, "write", counting_restore), EBB_OK);
    assert_int_equal(n_restored, 0);
    assert_ptr_not_equal(s->value, old);
    assert_int_equal(((int32_t *)s->value->data)[0], 7);
    write_all(s, 0);
    sound();
    assert_int_equal(test_at(a, 0), 22);
    assert_int_equal(ebb__storage_write(s, "write", counting_restore), EBB_OK);
    ebb__value_unuse(a);
    ebb__storage_release(s);
}

static void dropped_values_that_need_the_old_bytes_are_made_first(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *a = test_map(&ctx, s->value), *b = test_map(&ctx, s->value);
    ebb__value *unneeded = test_map(&ctx, s->value), *of_unneeded = test_map(&ctx, unneeded);
    ebb__value_unuse(unneeded);
    assert_true(ebb__value_drop(a));
    assert_true(ebb__value_drop(b));
    n_restored = 0;
    assert_int_equal(write_mapped(s, counting_restore), EBB_OK);
    assert_int_equal(n_restored, 2); /* not the unneeded one, which is lost */
    sound();
    write_all(s, 0);
    assert_int_equal(a->state, EBB__VALUE_RESIDENT);
    assert_int_equal(test_at(a, 0), 22);
    assert_int_equal(test_at(b, 0), 22);
    assert_false(ebb__value_can_drop(of_unneeded));
    assert_int_equal(test_at(of_unneeded, 0), 67);
    ebb__value_unuse(a);
    ebb__value_unuse(b);
    ebb__value_unuse(of_unneeded);
    ebb__storage_release(s);
}

static void a_dropped_value_behind_an_unneeded_one_is_safe(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *middle = test_map(&ctx, s->value), *far = test_map(&ctx, middle);
    ebb__value_unuse(middle);
    assert_true(ebb__value_drop(far)); /* needs middle, which needs what is to be written */
    n_restored = 0;
    assert_int_equal(write_mapped(s, counting_restore), EBB_OK);
    assert_int_equal(n_restored, 1);
    write_all(s, 0);
    assert_int_equal(test_at(far, 0), 67);
    ebb__value_unuse(far);
    ebb__storage_release(s);
}

static void a_dropped_value_is_made_before_it_is_written_to(void **state)
{
    (void)state;
    ebb__value *x = test_source(&ctx, TEST_N, 1);
    ebb__storage *s = storage_of(test_map(&ctx, x));
    assert_true(ebb__value_drop(s->value));
    assert_int_equal(ebb__storage_write(s, "write", counting_restore), EBB_OK);
    assert_int_equal(((int32_t *)s->value->data)[0], 4);
    assert_null(s->value->recipe); /* its recipe would bring back what was there before */
    assert_false(ebb__value_can_drop(s->value));
    ebb__value_unuse(x);
    ebb__storage_release(s);
}

/* A policy under pressure: making one value again costs another its bytes. */
static ebb__value *rivals[3];
static ebb_status evicting_restore(ebb__value *v)
{
    n_restored++;
    assert_true(n_restored < 10);
    for (int i = 0; i < 3; i++)
        if (rivals[i] != v) ebb__value_drop(rivals[i]);
    return test_restore(v);
}

static void a_write_ends_although_what_it_makes_could_be_evicted(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    for (int i = 0; i < 3; i++) {
        rivals[i] = test_map(&ctx, s->value);
        assert_true(ebb__value_drop(rivals[i]));
    }
    n_restored = 0;
    assert_int_equal(write_mapped(s, evicting_restore), EBB_OK);
    assert_int_equal(n_restored, 3);
    write_all(s, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(test_at(rivals[i], 0), 22);
        ebb__value_unuse(rivals[i]);
    }
    ebb__storage_release(s);
}

/* What is made of a value that has lost its bytes cannot be made again. */
static void a_moved_value_cannot_be_read_by_a_recipe(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *old = ebb__value_use(s->value), *y;
    ebb__record *r;
    assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_OK);
    assert_int_equal(ebb__record_create(&r, &ctx, NULL, 1, 1, true, 0), EBB_OK);
    assert_int_equal(ebb__value_create(&y, &ctx, 128, EBB_KIND_ACTIVATION), EBB_OK);
    r->in[0] = old;
    r->out[0] = y;
    ebb__record_link(r);
    assert_false(ebb__value_can_drop(y));
    assert_null(r->in[0]);
    assert_null(r->out[0]);
    sound();
    ebb__record_release(r);
    ebb__value_unuse(y);
    ebb__value_unuse(old);
    ebb__storage_release(s);
}

static ebb_status refusing_restore(ebb__value *v)
{
    (void)v;
    return ebb__fail(EBB_E_NOMEM, "no memory to make it again");
}

static void a_refused_write_changes_no_content(void **state)
{
    (void)state;
    ebb__storage *s = storage_of(test_source(&ctx, TEST_N, 7));
    ebb__value *old = s->value, *y = test_map(&ctx, old);
    test_op op = {.in = {old}};
    assert_int_equal(test_op_run(&op, &ctx, 1, 1, TEST_N, true, 1, 0), EBB_OK);
    assert_true(ebb__value_drop(y));
    assert_int_equal(ebb__storage_write(s, "write", refusing_restore), EBB_E_NOMEM);
    assert_int_equal(ebb__storage_write(s, "write", NULL), EBB_E_INTERNAL);
    sound();
    assert_ptr_equal(s->value, old);
    assert_int_equal(s->version, 0);
    assert_false(old->moved);
    assert_int_equal(y->state, EBB__VALUE_DROPPED);
    assert_int_equal(test_at(y, 0), 22);
    ebb__record_unsave(op.record);
    ebb__record_release(op.record);
    ebb__value_unuse(op.out[0]);
    ebb__value_unuse(y);
    ebb__storage_release(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_storage_holds_its_value),
        TEST(a_write_to_what_nobody_else_holds_is_in_place),
        TEST(a_save_of_what_is_written_is_marked_moved),
        TEST(a_mapped_storage_may_be_written_to),
        TEST(a_tiny_save_keeps_the_old_bytes_and_is_marked_too),
        TEST(recipes_that_read_what_is_written_break),
        TEST(older_bytes_stay_for_dropped_values_that_need_them),
        TEST(dropped_values_that_need_the_old_bytes_are_made_first),
        TEST(a_dropped_value_behind_an_unneeded_one_is_safe),
        TEST(a_dropped_value_is_made_before_it_is_written_to),
        TEST(a_write_ends_although_what_it_makes_could_be_evicted),
        TEST(a_moved_value_cannot_be_read_by_a_recipe),
        TEST(a_refused_write_changes_no_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
