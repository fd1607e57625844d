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
    assert_non_null(strstr(text, "held by 1 hook: 'probe' on mul, the tensor itself"));
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
        T(a_hook_whose_tensor_stays_held_is_warned_of_once),
        T(a_kept_gradient_is_listed_and_the_sums_stay_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
