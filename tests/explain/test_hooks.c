/* test_hooks.c - hooks as holders: what holds its own tensor is named, and warned of.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <string.h>

static ebb_status nothing(void *user, ebb_tensor **grad)
{
    (void)user;
    (void)grad;
    return EBB_OK;
}

typedef struct owner {
    ebb_tensor *t;
    int n_done;
} owner;

static void owner_done(void *user)
{
    owner *o = user;
    ebb_clear(&o->t);
    o->n_done++;
}

typedef struct warnings {
    int n;
    ebb_watch_event last;
} warnings;

static void warn(void *user, const ebb_watch_event *e)
{
    warnings *w = user;
    w->n++;
    w->last = *e;
}

static int64_t live_nodes(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s.live_nodes;
}

static void a_hook_that_names_its_own_tensor_is_the_cycle_that_explain_shows(void **state)
{
    EBB_SCOPE(scope);
    warnings w = {0};
    ebb_hook_id id;
    ebb_tensor *y = NULL;
    assert_ok(ebb_watch(*state, warn, &w, EBB_WATCH_HOOK));
    {
        EBB_SCOPE(inner);
        y = ebb_mul(leaf_scalar(*state, 2), leaf_scalar(*state, 3));
        ebb_hook_options o = {.name = "probe", .holds = &y, .n_holds = 1};
        assert_ok(ebb_hook_add(&id, y, nothing, NULL, &o));
    }
    assert_int_equal(live_nodes(*state), 1); /* nobody but the hook has it */
    ebb_explanation e;
    char text[400];
    assert_ok(ebb_explain(&e, y));
    assert_int_equal(e.n_hooks, 1);
    assert_int_equal(e.n_references, 1);
    assert_int_equal(e.n_hook_references, 1);
    assert_true(e.is_held_by_own_hook);
    assert_string_equal(e.hook, "probe");
    assert_string_equal(e.hook_of, "mul");
    assert_ok(ebb_explain_text(text, sizeof text, y));
    assert_non_null(strstr(text, "held by 1 hook: 'probe' on mul, in its own history"));
    assert_null(strstr(text, "held by the user"));
    ebb_watch_step(*state);
    ebb_watch_step(*state);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.last.what, EBB_WATCH_HOOK);
    assert_ptr_equal(w.last.root, y);
    assert_non_null(strstr(w.last.text, "the hook 'probe' on mul holds its own tensor"));
    assert_ok(ebb_hook_remove(*state, id));
    assert_int_equal(live_nodes(*state), 0);
}

static void a_hook_on_another_tensor_is_a_holder_and_no_cycle(void **state)
{
    EBB_SCOPE(scope);
    warnings w = {0};
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x), *c = scalar(*state, 1);
    assert_ok(ebb_watch(*state, warn, &w, EBB_WATCH_HOOK));
    assert_ok(ebb_label(y, "y"));
    assert_ok(
        ebb_hook_add(NULL, y, nothing, NULL, &(ebb_hook_options){.holds = &c, .n_holds = 1}));
    ebb_explanation e;
    assert_ok(ebb_explain(&e, c));
    assert_int_equal(e.n_hook_references, 1);
    assert_false(e.is_held_by_own_hook);
    assert_string_equal(e.hook_of, "y");
    for (int i = 0; i < 20; i++) ebb_watch_step(*state); /* only a scope holds y */
    assert_int_equal(w.n, 0);
}

/* On what the held tensor was computed from (a leaf, an operation, another part of the same
 * split): each waits for the other all the same. */
static void a_hook_that_names_what_was_computed_from_its_tensor_is_a_cycle_too(void **state)
{
    ebb_context *ctx = *state;
    for (int on = 0; on < 4; on++) {
        EBB_SCOPE(scope);
        warnings w = {0};
        ebb_hook_id id;
        ebb_tensor *held = NULL;
        assert_ok(ebb_watch(ctx, warn, &w, EBB_WATCH_HOOK));
        {
            EBB_SCOPE(inner);
            ebb_tensor *x = leaf_scalar(ctx, 2), *y = ebb_square(x), *part[2];
            ebb_tensor *pair[] = {y, y};
            assert_ok(ebb_split(part, 2, ebb_stack(pair, 2, 0), 1, 0));
            held = on == 3 ? part[1] : ebb_exp(y);
            ebb_tensor *of = on == 0 ? x : on == 1 ? y : on == 2 ? held : part[0];
            ebb_hook_options o = {.name = "probe", .holds = &held, .n_holds = 1};
            assert_ok(ebb_hook_add(&id, of, nothing, NULL, &o));
        }
        int64_t alive = on == 3 ? 3 : 2; /* square, stack, split; square, exp */
        assert_int_equal(live_nodes(ctx), alive);
        ebb_explanation e;
        assert_ok(ebb_explain(&e, held));
        assert_true(e.is_held_by_own_hook);
        assert_string_equal(e.hook, "probe");
        assert_string_equal(e.hook_of, on == 0   ? "a leaf"
                                       : on == 1 ? "square"
                                       : on == 2 ? "exp"
                                                 : "split");
        for (int i = 0; i < 20; i++) ebb_watch_step(ctx);
        assert_int_equal(w.n, 1);
        assert_non_null(strstr(w.last.text, on < 2 ? "holds a tensor computed from its own"
                                                   : "holds its own tensor"));
        assert_int_equal(ebb_error_status(), EBB_OK);
        assert_ok(ebb_hook_remove(ctx, id));
        assert_int_equal(live_nodes(ctx), 0);
    }
}

/* What a hook holds and its tensor does not lead to is let go with it; a consumed history is none. */
static void a_hook_that_names_what_its_tensor_does_not_lead_to_is_not_warned_of(void **state)
{
    ebb_context *ctx = *state;
    warnings w = {0};
    EBB_SCOPE(scope);
    assert_ok(ebb_watch(ctx, warn, &w, EBB_WATCH_HOOK));
    ebb_tensor *x = leaf_scalar(ctx, 2), *y = ebb_square(x), *after = ebb_exp(y), *held[3];
    held[0] = x;                      /* before it */
    held[1] = ebb_neg(x);             /* beside it */
    held[2] = ebb_exp(ebb_square(x)); /* consumed */
    assert_ok(ebb_backward(held[2], NULL));
    assert_ok(
        ebb_hook_add(NULL, y, nothing, NULL, &(ebb_hook_options){.holds = held, .n_holds = 3}));
    for (int i = 0; i < 20; i++) ebb_watch_step(ctx);
    assert_int_equal(w.n, 0);
    ebb_explanation e;
    for (int i = 0; i < 3; i++) {
        assert_ok(ebb_explain(&e, held[i]));
        assert_int_equal(e.n_hook_references, 1);
        assert_false(e.is_held_by_own_hook);
    }
    assert_ok(ebb_backward(after, NULL));
}

/* A watch that begins after the hook, or begins again, tells as one that was there before. */
static void a_watch_that_begins_later_warns_of_hooks_that_are_there(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_hook_id id;
    ebb_tensor *y = ebb_square(leaf_scalar(ctx, 2));
    assert_ok(ebb_watch(ctx, warn, &(warnings){0}, EBB_WATCH_GROWTH));
    for (int i = 0; i < 30; i++) ebb_watch_step(ctx);
    assert_ok(
        ebb_hook_add(&id, y, nothing, NULL, &(ebb_hook_options){.holds = &y, .n_holds = 1}));
    for (int again = 0; again < 2; again++) {
        warnings w = {0};
        assert_ok(ebb_watch(ctx, warn, &w, EBB_WATCH_HOOK));
        for (int i = 0; i < 20; i++) ebb_watch_step(ctx);
        assert_int_equal(w.n, 1);
    }
    assert_ok(ebb_watch(ctx, NULL, NULL, 0));
    assert_ok(ebb_hook_remove(ctx, id));
}

/* x is saved by the square, whose exp only a hook on another leaf holds. */
static void a_chain_that_ends_at_a_hook_names_the_hook(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 2), *other = leaf_scalar(ctx, 3), *mine = NULL;
    {
        EBB_SCOPE(inner);
        ebb_tensor *y = ebb_exp(ebb_square(x));
        assert_ok(ebb_label(other, "other"));
        assert_ok(ebb_label(y, "y"));
        ebb_hook_options o = {.name = "probe", .holds = &y, .n_holds = 1};
        assert_ok(ebb_hook_add(NULL, other, nothing, NULL, &o));
        assert_ok(ebb_hook_add(NULL, other, nothing, NULL, &o));
        mine = y;
    }
    ebb_explanation e;
    char text[600];
    assert_ok(ebb_explain(&e, x));
    assert_int_equal(e.n_saves, 1);
    assert_int_equal(e.save[0].n_links, 2);
    assert_int_equal(e.save[0].n_references, 2);
    assert_int_equal(e.save[0].n_hook_references, 2);
    assert_string_equal(e.save[0].hook, "probe");
    assert_string_equal(e.save[0].hook_of, "other");
    assert_ok(ebb_explain_text(text, sizeof text, x));
    assert_non_null(
        strstr(text, "\nsaved by square <- exp (2 hooks: 'probe' on other, label 'y')\n"));
    ebb_holder h[64];
    int64_t n, found = 0;
    assert_ok(ebb_holders(h, 64, &n, ctx));
    for (int64_t i = 0; i < n; i++) {
        if (h[i].what != EBB_HOLDER_HOOK) continue;
        found++;
        assert_ptr_equal(h[i].tensor, mine);
        assert_int_equal(h[i].n_references, 2);
        assert_string_equal(h[i].hook, "probe");
    }
    assert_int_equal(found, 1);
    assert_ptr_equal(ebb_keep(mine), mine); /* a reference of the user's comes first */
    assert_ok(ebb_explain_text(text, sizeof text, x));
    assert_non_null(strstr(text, "<- exp (user, 1 reference, label 'y')\n"));
    assert_ok(ebb_holders(h, 64, &n, ctx));
    for (int64_t i = 0; i < n; i++) {
        assert_true(h[i].what != EBB_HOLDER_HOOK);
        if (h[i].tensor == mine && h[i].what == EBB_HOLDER_USER)
            assert_int_equal(h[i].n_references, 1);
    }
    ebb_release(mine);
}

/* What a closure of another language does: the library cannot see what it holds. */
static void a_hook_whose_tensor_stays_held_is_warned_of_once(void **state)
{
    EBB_SCOPE(scope);
    warnings w = {0};
    owner o = {0};
    ebb_hook_id id;
    assert_ok(ebb_watch(*state, warn, &w, 0));
    {
        EBB_SCOPE(inner);
        ebb_tensor *x = leaf_scalar(*state, 2);
        assert_ok(ebb_hold(&o.t, ebb_mul(x, x)));
        assert_ok(ebb_hook_add(&id, o.t, nothing, &o, &(ebb_hook_options){.done = owner_done}));
    }
    for (int i = 0; i < EBB_WATCH_STEPS - 1; i++) ebb_watch_step(*state);
    assert_int_equal(w.n, 0);
    for (int i = 0; i < 20; i++) ebb_watch_step(*state);
    assert_int_equal(w.n, 1);
    assert_non_null(strstr(w.last.text, "may hold its own tensor"));
    assert_ok(ebb_hook_remove(*state, id));
    assert_int_equal(o.n_done, 1);
    assert_int_equal(live_nodes(*state), 0);
}

static void a_kept_gradient_is_listed_and_the_sums_stay_exact(void **state)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(*state, 2), *y = ebb_mul(x, x);
    assert_ok(ebb_label(y, "middle"));
    assert_ok(ebb_retain_grad(y));
    assert_ok(ebb_backward(ebb_exp(y), NULL));
    ebb_holder h[64];
    int64_t n;
    size_t sum = 0;
    bool found = false;
    assert_ok(ebb_holders(h, 64, &n, *state));
    assert_in_range(n, 1, 64);
    for (int64_t i = 0; i < n; i++) {
        if (h[i].kind == EBB_KIND_GRADIENT) sum += h[i].unique_bytes;
        found |= h[i].what == EBB_HOLDER_GRADIENT && strcmp(h[i].name, "middle") == 0;
    }
    ebb_stats s;
    ebb_stats_get(&s, *state);
    assert_true(found);
    assert_int_equal(sum, s.bytes[EBB_KIND_GRADIENT]);
    ebb_explanation e;
    assert_ok(ebb_explain(&e, ebb_grad_of(y)));
    assert_int_equal(e.n_gradient_slots, 1);
    assert_string_equal(e.gradient_of, "middle");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_hook_that_names_its_own_tensor_is_the_cycle_that_explain_shows),
        T(a_hook_on_another_tensor_is_a_holder_and_no_cycle),
        T(a_hook_that_names_what_was_computed_from_its_tensor_is_a_cycle_too),
        T(a_hook_that_names_what_its_tensor_does_not_lead_to_is_not_warned_of),
        T(a_watch_that_begins_later_warns_of_hooks_that_are_there),
        T(a_chain_that_ends_at_a_hook_names_the_hook),
        T(a_hook_whose_tensor_stays_held_is_warned_of_once),
        T(a_kept_gradient_is_listed_and_the_sums_stay_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
