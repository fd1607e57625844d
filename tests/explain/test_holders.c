/* test_holders.c - who holds how many bytes: every byte that the statistics count has a holder.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include "autodiff/engine.h"
#include "base/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };
static ebb_holder list[MOST];

static ebb_stats stats_of(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s;
}

/* Lists all, compares the sums by kind with the statistics; returns how many. */
static int64_t balanced(ebb_context *ctx)
{
    int64_t n;
    size_t sum[EBB_KIND_MAX] = {0}, total = 0;
    assert_ok(ebb_holders(list, MOST, &n, ctx));
    assert_true(n <= MOST);
    ebb_stats s = stats_of(ctx);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(list[i].what, EBB_HOLDER_USER, EBB_HOLDER_OBJECTS);
        if (i) assert_true(list[i].unique_bytes <= list[i - 1].unique_bytes);
        sum[list[i].kind] += list[i].unique_bytes;
        total += list[i].unique_bytes;
    }
    for (int k = 0; k < EBB_KIND_CACHE; k++) assert_int_equal(sum[k], s.bytes[k]);
    assert_int_equal(total, s.used_bytes);
    return n;
}

static int64_t count(int64_t n, ebb_holder_what what, const char *name)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++)
        found += list[i].what == what && (!name || strcmp(list[i].name, name) == 0);
    return found;
}
static const ebb_holder *find(int64_t n, ebb_holder_what what, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (list[i].what == what && strcmp(list[i].name, name) == 0) return &list[i];
    fail_msg("no %s '%s'", ebb_holder_what_name(what), name);
    return NULL;
}
/* Apart from bookkeeping all bytes are tensors'. */
static void assert_objects_hold_bookkeeping_alone(int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (list[i].what == EBB_HOLDER_OBJECTS)
            assert_int_equal(list[i].kind, EBB_KIND_BOOKKEEPING);
}

/* A list of three losses, and a gradient: each loss holds what its operations saved. */
static void every_byte_of_three_kept_losses_has_a_holder(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = leaf_scalar(ctx, 2), *loss[3] = {0};
    assert_ok(ebb_label(w, "w"));
    assert_ok(ebb_backward(ebb_mul(w, w), NULL));
    for (int i = 0; i < 3; i++) {
        EBB_SCOPE(iter);
        ebb_tensor *x = EBB_VALUES(ctx, double, EBB_SHAPE(16), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                   11, 12, 13, 14, 15, 16);
        ebb_tensor *y = ebb_tanh(ebb_mul(x, w)); /* saves x (128 bytes), its result (128) */
        assert_ok(ebb_hold(&loss[i], ebb_sum(y, EBB_ALL)));
        assert_ok(ebb_label(loss[i], "loss"));
    }
    int64_t n = balanced(ctx);
    assert_objects_hold_bookkeeping_alone(n);
    assert_int_equal(count(n, EBB_HOLDER_USER, "loss"), 3);
    assert_int_equal(count(n, EBB_HOLDER_SAVE, "mul"), 3);
    assert_int_equal(count(n, EBB_HOLDER_SAVE, "tanh"), 3);
    for (int i = 0; i < 3; i++) { /* which loss holds them */
        int64_t of_loss = 0;
        for (int64_t k = 0; k < n; k++)
            of_loss += list[k].what == EBB_HOLDER_SAVE && list[k].tensor == loss[i];
        assert_int_equal(of_loss, 2);
    }
    const ebb_holder *h = find(n, EBB_HOLDER_SAVE, "tanh");
    assert_int_equal(h->unique_bytes, 128);
    assert_int_equal(h->n_links, 2); /* tanh, sum */
    assert_int_equal(h->shape.dims[0], 16);
    h = find(n, EBB_HOLDER_USER, "loss");
    assert_int_equal(h->n_references, 1);
    assert_int_equal(h->unique_bytes, 8);
    h = find(n, EBB_HOLDER_GRADIENT, "w");
    assert_int_equal(h->kind, EBB_KIND_GRADIENT);
    assert_int_equal(h->unique_bytes, 8);
    h = find(n, EBB_HOLDER_SCOPE, "w");
    assert_string_equal(h->scope, "outer");
    assert_ptr_equal(h->tensor, w);
    assert_int_equal(stats_of(ctx).saved_bytes, 3 * 256);
    for (int i = 0; i < 3; i++) ebb_clear(&loss[i]);
    n = balanced(ctx);
    assert_int_equal(count(n, EBB_HOLDER_SAVE, NULL), 0);
    assert_int_equal(count(n, EBB_HOLDER_USER, NULL), 0);
}

/* Two losses on one trunk, the nearer one held by the user, the other by a scope: each saved value is
 * listed with the handle that keeps its operation, by the shortest way. */
static void saved_bytes_are_listed_with_the_nearest_handle(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = leaf_scalar(ctx, 2), *near = NULL, *far;
    {
        EBB_SCOPE(inner);
        ebb_tensor *trunk = ebb_square(w), *side = ebb_exp(ebb_neg(trunk));
        far = ebb_escape(inner, ebb_sqrt(ebb_neg(ebb_neg(side))));
        assert_ok(ebb_hold(&near, ebb_tanh(trunk)));
    }
    int64_t n = balanced(ctx);
    assert_int_equal(count(n, EBB_HOLDER_SAVE, NULL), 4);
    const ebb_holder *h = find(n, EBB_HOLDER_SAVE, "square"); /* square, tanh */
    assert_ptr_equal(h->tensor, near);
    assert_int_equal(h->n_links, 2);
    h = find(n, EBB_HOLDER_SAVE, "tanh");
    assert_ptr_equal(h->tensor, near);
    assert_int_equal(h->n_links, 1);
    h = find(n, EBB_HOLDER_SAVE, "exp"); /* exp, neg, neg, sqrt */
    assert_ptr_equal(h->tensor, far);
    assert_int_equal(h->n_links, 4);
    h = find(n, EBB_HOLDER_SAVE, "sqrt");
    assert_ptr_equal(h->tensor, far);
    ebb_clear(&near);
    n = balanced(ctx);
    h = find(n, EBB_HOLDER_SAVE, "square"); /* square, neg, exp, neg, neg, sqrt */
    assert_ptr_equal(h->tensor, far);
    assert_int_equal(h->n_links, 6);
    assert_ok(ebb_backward(far, NULL));
    assert_int_equal(count(balanced(ctx), EBB_HOLDER_SAVE, NULL), 0);
}

static void views_count_once_at_the_user_first(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_uniform(ctx, EBB_F32, EBB_SHAPE(8, 8), 0, 1), *mine = NULL;
    assert_ok(ebb_hold(&mine, ebb_transpose(x, 0, 1)));
    assert_ok(ebb_label(mine, "view"));
    int64_t n = balanced(ctx);
    const ebb_holder *h = find(n, EBB_HOLDER_USER, "view");
    assert_int_equal(h->unique_bytes, 256);
    assert_int_equal(count(n, EBB_HOLDER_SCOPE, NULL), 1);
    for (int64_t i = 0; i < n; i++)
        if (list[i].what == EBB_HOLDER_SCOPE) {
            assert_int_equal(list[i].storage, h->storage);
            assert_int_equal(list[i].unique_bytes, 0);
            assert_int_equal(list[i].bytes, 256);
        }
    ebb_clear(&mine);
}

/* z = tanh(x + s): what z's recipe reads of x + s's is not needed; the small s it keeps. */
static void what_a_recipe_reads_has_a_holder(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *z = NULL;
    {
        EBB_SCOPE(inner);
        ebb_tensor *x = ebb_uniform(ctx, EBB_F64, EBB_SHAPE(64), 0, 1);
        assert_ok(ebb_hold(&z, ebb_tanh(ebb_add(x, scalar(ctx, 1)))));
    }
    assert_true(balanced(ctx) >= 2);
    /* Dropped by hand: its inputs are kept for it. */
    ebb__slot *s = ebb__slot_raw(z);
    if (ebb__value_drop(s->storage->value)) {
        int64_t n = balanced(ctx);
        assert_objects_hold_bookkeeping_alone(n);
        assert_int_equal(find(n, EBB_HOLDER_USER, "")->unique_bytes, 0);
    }
    double read[64];
    assert_ok(EBB_READ(z, read, 64));
    balanced(ctx);
    ebb_clear(&z);
}

static void adopted_bytes_are_the_users_and_objects_are_listed(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    double mine[32] = {0};
    ebb_tensor *x =
        ebb_tensor_adopt(ctx, EBB_F64, EBB_SHAPE(32), mine, sizeof mine, NULL, NULL);
    assert_non_null(x);
    void *buffer = ebb_alloc(ctx, 1000, EBB_KIND_DATA);
    assert_non_null(buffer);
    int64_t n = balanced(ctx);
    const ebb_holder *h = find(n, EBB_HOLDER_SCOPE, "");
    assert_int_equal(h->bytes, 256);
    assert_int_equal(h->unique_bytes, 0);
    bool found = false;
    for (int64_t i = 0; i < n; i++)
        found |= list[i].what == EBB_HOLDER_OBJECTS && list[i].kind == EBB_KIND_DATA &&
                 list[i].unique_bytes == 1000;
    assert_true(found);
    ebb_free(ctx, buffer, 1000, EBB_KIND_DATA);
}

static void a_childs_list_is_its_own_and_the_parents_has_both(void **state)
{
    ebb_context *ctx = *state, *child;
    assert_ok(ebb_context_create(&child, &(ebb_context_options){.parent = ctx}));
    {
        EBB_SCOPE(scope);
        ebb_tensor *table = leaf_scalar(ctx, 2), *x = scalar(child, 3);
        ebb_tensor *y = ebb_exp(ebb_mul(table, x));
        assert_non_null(y);
        int64_t n = balanced(child);
        assert_int_equal(count(n, EBB_HOLDER_SCOPE, NULL), 3);
        n = balanced(ctx);
        assert_int_equal(count(n, EBB_HOLDER_SCOPE, NULL), 4);
    }
    ebb_context_destroy(child);
}

static void a_short_list_says_how_many_are_needed(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    for (int i = 0; i < 10; i++) assert_non_null(scalar(ctx, i));
    int64_t n, more;
    memset(list, 0, sizeof list);
    assert_ok(ebb_holders(list, 5, &n, ctx));
    assert_true(n > 5);
    assert_int_equal(list[4].what, EBB_HOLDER_SCOPE);
    assert_int_equal(list[5].what, 0);
    assert_ok(ebb_holders(list, n, &more, ctx));
    assert_true(more <= n);
    assert_ok(ebb_holders(NULL, 0, &more, ctx));
    assert_true(more >= 11);
    assert_status(ebb_holders(list, MOST, NULL, ctx), EBB_E_MISUSE);
    assert_status(ebb_holders(list, MOST, &n, NULL), EBB_E_MISUSE);
    assert_status(ebb_holders(NULL, 1, &n, ctx), EBB_E_MISUSE);
}

/* Nothing is left to allocate from: the list is made all the same and the failure stays. */
static void a_list_after_a_refusal_needs_no_memory_and_keeps_the_error(void **state)
{
    (void)state;
    ebb_context *ctx;
    assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = 1 << 20}));
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(64, 1024)), *y = x;
        for (int i = 0; y && i < 20; i++)
            y = ebb_empty(ctx, EBB_F32, EBB_SHAPE(64, 1024), EBB_KIND_ACTIVATION);
        assert_null(y);
        assert_int_equal(ebb_error_status(), EBB_E_BUDGET);
        char message[400];
        snprintf(message, sizeof message, "%s", ebb_error_message());
        size_t used = stats_of(ctx).used_bytes, peak = stats_of(ctx).peak_bytes;
        int64_t n = balanced(ctx);
        assert_objects_hold_bookkeeping_alone(n);
        assert_int_equal(list[0].unique_bytes, 64 * 1024 * 4);
        assert_int_equal(ebb_error_status(), EBB_E_BUDGET);
        assert_string_equal(ebb_error_message(), message);
        assert_int_equal(stats_of(ctx).used_bytes, used);
        assert_int_equal(stats_of(ctx).peak_bytes, peak);
        ebb_error_clear();
    }
    ebb_context_destroy(ctx);
}

/* Random programs: after each step all bytes have holders and the saved ones are as counted. */
static void all_bytes_have_holders_in_random_programs(void **state)
{
    ebb_context *ctx = *state;
    uint32_t seed = 1;
    EBB_SCOPE(scope);
    enum { N = 12 };
    ebb_tensor *t[N] = {0};
    ebb_tensor *w = ebb_uniform(ctx, EBB_F32, EBB_SHAPE(4, 4), -1, 1);
    assert_ok(ebb_set_requires_grad(w, true));
    for (int step = 0; step < 400; step++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t i = seed >> 8 & 0xffff, j = (seed >> 16) % N;
        ebb_tensor *x = t[i % N] ? t[i % N] : w, *y = t[j] ? t[j] : w;
        EBB_SCOPE(inner);
        switch (seed >> 28 & 7) {
        case 0:
            ebb_clear(&t[j]);
            break;
        case 1:
            if (ebb_backward(ebb_sum(x, EBB_ALL), NULL) != EBB_OK) ebb_error_clear();
            break;
        case 2:
            assert_ok(ebb_hold(&t[j], ebb_transpose(x, 0, 1)));
            break;
        case 3:
            assert_ok(ebb_hold(&t[j], ebb_tanh(x)));
            break;
        default:
            assert_ok(ebb_hold(&t[j], ebb_tanh(ebb_mul(ebb_matmul(x, w), y))));
        }
        balanced(ctx);
    }
    for (int i = 0; i < N; i++) ebb_clear(&t[i]);
    assert_int_equal(stats_of(ctx).saved_bytes, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_byte_of_three_kept_losses_has_a_holder),
        TEST(saved_bytes_are_listed_with_the_nearest_handle),
        TEST(views_count_once_at_the_user_first),
        TEST(what_a_recipe_reads_has_a_holder),
        TEST(adopted_bytes_are_the_users_and_objects_are_listed),
        TEST(a_childs_list_is_its_own_and_the_parents_has_both),
        TEST(a_short_list_says_how_many_are_needed),
        TEST(a_list_after_a_refusal_needs_no_memory_and_keeps_the_error),
        TEST(all_bytes_have_holders_in_random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
