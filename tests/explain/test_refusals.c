/* test_refusals.c - explanations where memory is short, and after a fork.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Refuses from the n-th allocation on; counts what is out. */
typedef struct hook {
    int64_t left, n_out;
} hook;

static void *hook_alloc(void *user, size_t bytes, size_t alignment)
{
    hook *h = user;
    if (h->left == 0) return NULL;
    h->left--;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    h->n_out += p != NULL;
    return p;
}
static void hook_free(void *user, void *p, size_t bytes)
{
    (void)bytes;
    ((hook *)user)->n_out--;
    free(p);
}

typedef struct call {
    ebb_context *ctx;
    ebb_tensor *leaf, *root;
} call;

static ebb_status call_label(const call *c)
{
    return ebb_label(c->root, "root");
}
static ebb_status call_saved(const call *c)
{
    static ebb_saved_value v[2000];
    int64_t n = 0;
    ebb_status s = ebb_saved(v, 2000, &n, c->root);
    if (s == EBB_OK) assert_int_equal(n, 1200);
    return s;
}
static ebb_status call_explain(const call *c)
{
    ebb_explanation e;
    ebb_status s = ebb_explain(&e, c->leaf);
    if (s == EBB_OK) {
        assert_int_equal(e.n_saves, 600);
        assert_int_equal(e.n_explained, 4);
    }
    return s;
}
static ebb_status call_text(const call *c)
{
    char text[4000];
    return ebb_explain_text(text, sizeof text, c->root);
}
static ebb_status call_holders(const call *c)
{
    static ebb_holder h[4000];
    int64_t n = 0;
    ebb_status s = ebb_holders(h, 4000, &n, c->ctx);
    assert_int_equal(s, EBB_OK); /* it takes no memory */
    return s;
}

/* Each call with its first, second, ... allocation refused: E_NOMEM, nothing left, and then it
 * works. */
static void every_allocation_refused_is_a_clean_error(void **state)
{
    (void)state;
    ebb_status (*const calls[])(const call *) = {call_saved, call_explain, call_text,
                                                 call_holders, call_label};
    hook h = {.left = -1};
    const ebb_allocator allocator = {hook_alloc, hook_free, &h};
    call c;
    assert_ok(ebb_context_create(&c.ctx, &(ebb_context_options){.allocator = &allocator}));
    {
        EBB_SCOPE(scope);
        c.leaf = leaf_scalar(c.ctx, 1);
        c.root = c.leaf;
        for (int i = 0; i < 600; i++) c.root = ebb_mul(c.root, c.leaf);
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            ebb_stats before, after;
            ebb_stats_get(&before, c.ctx);
            for (int64_t n = 0;; n++) {
                int64_t n_out = h.n_out;
                h.left = n;
                ebb_status s = calls[k](&c);
                bool all_given = h.left > 0;
                h.left = -1;
                if (s == EBB_OK) break;
                assert_int_equal(s, EBB_E_NOMEM);
                ebb_error_clear();
                assert_true(h.n_out <= n_out + 2); /* a walk's block, the table of names */
                assert_null(ebb_label_of(c.root));
                ebb_stats_get(&after, c.ctx);
                assert_int_equal(after.used_bytes, before.used_bytes);
                assert_int_equal(after.saved_bytes, before.saved_bytes);
                assert_false(all_given);
            }
        }
        assert_ok(ebb_backward(c.root, NULL));
        assert_true(grad_item(c.leaf) == 601);
    }
    ebb_context_destroy(c.ctx);
    assert_int_equal(h.n_out, 0);
}

static void a_forked_child_is_refused_in_all_of_them(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 1), *y = ebb_exp(x);
    pid_t child = fork();
    if (child == 0) {
        ebb_saved_value v[4];
        ebb_explanation e;
        ebb_holder h[16];
        int64_t n;
        ebb_stats s;
        ebb_stats_get(&s, ctx);
        ebb_watch_step(ctx);
        bool refused =
            ebb_saved(v, 4, &n, y) == EBB_E_MISUSE && ebb_explain(&e, y) == EBB_E_MISUSE &&
            ebb_holders(h, 16, &n, ctx) == EBB_E_MISUSE && ebb_label(y, "y") == EBB_E_MISUSE &&
            ebb_watch(ctx, NULL, NULL, 0) == EBB_E_MISUSE;
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_ok(ebb_label(y, "y"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_allocation_refused_is_a_clean_error),
        TEST(a_forked_child_is_refused_in_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
