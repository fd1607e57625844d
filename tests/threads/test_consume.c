/* test_consume.c - backwards that meet: over shared interiors, with recorders, with kept walks,
 * inside rules, and when one of them fails.
 * SPDX-License-Identifier: MIT */
#include "threads/threads.h"

#include <sched.h>

/* ---- a shared prefix --------------------------------------------------------------------- */

typedef struct prefix {
    ebb_tensor *w, *h;
    bool keep;
    atomic_int won, refused;
} prefix;

/* h = w^2 at w = 2: d(k h)/dw = 4 k */
static void through_the_prefix(worker *t)
{
    prefix *p = t->shared;
    EBB_SCOPE(outer);
    ebb_tensor *g = NULL, *y = ebb_mul_scalar(p->h, t->i + 1);
    ebb_status s = ebb_check(y);
    MUST(s == EBB_OK);
    s = ebb_grad(&g, &y, NULL, 1, &p->w, 1, &(ebb_grad_options){.keep_graph = p->keep});
    if (s == EBB_OK) {
        atomic_fetch_add(&p->won, 1);
        MUST(ebb_item(g) == 4.0 * (t->i + 1));
        return;
    }
    atomic_fetch_add(&p->refused, 1);
    MUST(s == EBB_E_GRAPH && g == NULL);
    MUST(strstr(ebb_error_message(), "consumed")); /* a reason the user can act on */
    MUST(strstr(ebb_error_message(), "square"));   /* and the operation it was */
    MUST(ebb_item(y) == 4.0 * (t->i + 1));         /* the value stays */
}

static void prefix_round(ebb_context *ctx, bool keep, int n, prefix *p)
{
    EBB_SCOPE(round);
    *p = (prefix){.keep = keep, .w = leaf_scalar(ctx, 2)};
    p->h = ebb_square(p->w);
    worker w[8];
    workers_run(w, n, ctx, p, through_the_prefix);
    assert_false(ebb_has_grad(p->w));
}

static void kept_graphs_answer_every_thread(void **state)
{
    for (int i = rounds(200, 30); i-- > 0;) {
        prefix p;
        prefix_round(*state, true, 8, &p);
        assert_int_equal(p.won, 8);
    }
}

static void of_several_consumers_of_a_prefix_one_wins(void **state)
{
    for (int i = rounds(200, 30); i-- > 0;) {
        prefix p;
        prefix_round(*state, false, 8, &p);
        assert_int_equal(p.won, 1);
        assert_int_equal(p.refused, 7);
    }
}

/* Two recorded losses on one trunk, consumed at the same moment into slots: nothing half done.
 */
typedef struct trunk {
    ebb_tensor *w, *v, *loss[2];
    atomic_int won;
} trunk;

static void consume_one(worker *t)
{
    trunk *p = t->shared;
    if (ebb_backward(p->loss[t->i], NULL) == EBB_OK)
        atomic_fetch_add(&p->won, 1 << t->i);
    else
        MUST(ebb_error_status() == EBB_E_GRAPH && strstr(ebb_error_message(), "consumed"));
}

static void the_loser_leaves_no_gradient_behind(void **state)
{
    ebb_context *ctx = *state;
    for (int i = rounds(500, 50); i-- > 0;) {
        EBB_SCOPE(round);
        trunk p = {.w = leaf_scalar(ctx, 2), .v = leaf_scalar(ctx, 5)};
        ebb_tensor *x = p.w;
        for (int k = 0; k < 5; k++) x = ebb_mul(x, p.w); /* w^6 */
        p.loss[0] = ebb_mul_scalar(x, 2);
        p.loss[1] = ebb_mul(x, p.v); /* alone in reaching v */
        worker w[2];
        workers_run(w, 2, ctx, &p, consume_one);
        int won = atomic_load(&p.won);
        assert_true(won == 1 || won == 2);
        assert_true(grad_item(p.w) == (won == 1 ? 2 : 5) * 6 * 32.0);
        assert_int_equal(ebb_has_grad(p.v), won == 2);
        if (won == 2) assert_true(grad_item(p.v) == 64);
    }
}

static void keep_or_consume(worker *t)
{
    trunk *p = t->shared;
    EBB_SCOPE(outer);
    ebb_tensor *g = NULL;
    ebb_status s = ebb_grad(&g, &p->loss[t->i], NULL, 1, &p->w, 1,
                            &(ebb_grad_options){.keep_graph = t->i == 0});
    if (s == EBB_OK) {
        MUST(ebb_item(g) == (t->i ? 5 : 2) * 6 * 32.0);
        atomic_fetch_add(&p->won, 1 << t->i);
    } else { /* the keeper came after the consumer */
        MUST(t->i == 0 && s == EBB_E_GRAPH);
    }
}

static void a_keeper_that_came_first_is_not_disturbed_by_a_consumer(void **state)
{
    ebb_context *ctx = *state;
    for (int i = rounds(500, 50); i-- > 0;) {
        EBB_SCOPE(round);
        trunk p = {.w = leaf_scalar(ctx, 2)};
        ebb_tensor *x = p.w;
        for (int k = 0; k < 5; k++) x = ebb_mul(x, p.w);
        p.loss[0] = ebb_mul_scalar(x, 2);
        p.loss[1] = ebb_mul_scalar(x, 5);
        worker w[2];
        workers_run(w, 2, ctx, &p, keep_or_consume);
        assert_true(atomic_load(&p.won) & 2);
    }
}

/* ---- recording while another consumes ---------------------------------------------------- */

typedef struct meeting {
    ebb_tensor *w, *h, *loss, *made[4];
} meeting;

static void record_or_consume(worker *t)
{
    meeting *m = t->shared;
    if (t->i == 0) {
        MUST(ebb_backward(m->loss, NULL) == EBB_OK);
        return;
    }
    EBB_SCOPE(outer);
    ebb_tensor *x = m->h;
    for (int k = 0; k < 4; k++) {
        x = ebb_mul(x, m->h);
        MUST(ebb_check(x) == EBB_OK);
        m->made[k] = ebb_keep(x);
    }
}

/* Whatever was recorded, early or late, ends severed: its value is right, backward from it is
 * refused, and nothing of it stays in the graph. */
static void what_is_recorded_meanwhile_ends_severed(void **state)
{
    ebb_context *ctx = *state;
    for (int i = rounds(1000, 100); i-- > 0;) {
        EBB_SCOPE(round);
        meeting m = {.w = leaf_scalar(ctx, 3)};
        m.h = ebb_mul_scalar(m.w, 2);
        m.loss = ebb_square(m.h);
        worker w[2];
        workers_run(w, 2, ctx, &m, record_or_consume);
        assert_true(grad_item(m.w) == 24); /* 2 h dh/dw, from the consumer alone */
        ebb_stats s;
        ebb_stats_get(&s, ctx);
        assert_int_equal(s.live_nodes, 0);
        double power = 6;
        for (int k = 0; k < 4; k++) {
            power *= 6;
            assert_true(ebb_item(m.made[k]) == power);
            assert_status(ebb_backward(m.made[k], NULL), EBB_E_GRAPH);
            ebb_release(m.made[k]);
        }
    }
}

/* ---- rules that do more than arithmetic -------------------------------------------------- */

static ebb_status same_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype;
    s[0] = in[0].shape;
    return EBB_OK;
}

static ebb_status copy_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                               const void *attr)
{
    (void)aux;
    (void)attr;
    size_t n = 1;
    for (int64_t i = 0; i < in[0].shape.n_dims; i++) n *= (size_t)in[0].shape.dims[i];
    memcpy(out[0].data, in[0].data, n * sizeof(double));
    return EBB_OK;
}

/* The rule differentiates a graph of its own: d(q^2)/dq at q = the gradient. */
static ebb_status nested_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_scope inner = ebb_scope_begin(EBB_SCOPE_GRAD, NULL);
    ebb_tensor *q = ebb_add_scalar(ebb_vjp_grad(v, 0), 0), *g = NULL;
    ebb_tensor *leaf = ebb_detach(q);
    ebb_status s = ebb_set_requires_grad(leaf, true);
    if (s == EBB_OK) {
        ebb_tensor *y = ebb_square(leaf);
        s = ebb_grad(&g, &y, NULL, 1, &leaf, 1, NULL);
    }
    if (s == EBB_OK) ebb_vjp_give(v, 0, g);
    ebb_scope_end(inner);
    return s;
}

static const ebb_custom nested = {.name = "nested",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .shape = same_shape,
                                  .forward = copy_forward,
                                  .vjp = nested_vjp};

static void backward_with_nested_rules(worker *t)
{
    for (int i = rounds(300, 50); i-- > 0;) {
        EBB_SCOPE(iter);
        ebb_tensor *y = NULL;
        MUST(ebb_apply(&y, &nested, (ebb_tensor *[]){t->shared}, NULL) == EBB_OK);
        MUST(ebb_backward(ebb_mul_scalar(y, 3), NULL) == EBB_OK); /* 2 * 3 */
    }
}

static void backward_inside_a_rule_works_on_every_thread(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = leaf_scalar(ctx, 7);
    worker t[4];
    workers_run(t, 4, ctx, w, backward_with_nested_rules);
    assert_true(grad_item(w) == 4 * 6 * rounds(300, 50));
}

/* A rule that accumulates into the very leaf its own backward leads to. */
static ebb_tensor *leaf_of_the_rule;

static ebb_status same_leaf_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    ebb_scope inner = ebb_scope_begin(EBB_SCOPE_GRAD, NULL);
    ebb_status s = ebb_backward(ebb_mul_scalar(leaf_of_the_rule, 10), NULL);
    ebb_scope_end(inner);
    ebb_vjp_give(v, 0, ebb_vjp_grad(v, 0));
    return s;
}

static void a_rule_may_run_a_backward_into_the_same_leaf(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_custom op = nested;
    op.vjp = same_leaf_vjp;
    leaf_of_the_rule = leaf_scalar(ctx, 1);
    ebb_tensor *y = NULL;
    assert_ok(ebb_apply(&y, &op, &leaf_of_the_rule, NULL));
    assert_ok(ebb_backward(y, NULL));
    assert_true(grad_item(leaf_of_the_rule) == 11);
}

/* ---- errors ------------------------------------------------------------------------------ */

static ebb_status slow_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    for (int i = 0; i < 50; i++) sched_yield();
    ebb_vjp_give(v, 0, ebb_vjp_grad(v, 0));
    return EBB_OK;
}

/* loss = left + right; what left saved is written to, right is slow. */
static ebb_status step_of_two_branches(ebb_context *ctx, bool spoil, double *gradient)
{
    EBB_SCOPE(step);
    ebb_custom slow = nested;
    slow.vjp = slow_vjp;
    double two[12], five[12];
    for (int i = 0; i < 12; i++) {
        two[i] = 2;
        five[i] = 5;
    }
    ebb_tensor *w = vector(ctx, 12, two), *x = vector(ctx, 12, two), *right = NULL;
    EBB_TRY(ebb_set_requires_grad(w, true));
    ebb_tensor *left = ebb_mul(w, x);
    EBB_TRY(ebb_apply(&right, &slow, &w, NULL));
    if (spoil) EBB_TRY(EBB_WRITE(x, five, 12));
    EBB_TRY(ebb_backward(ebb_sum(ebb_add(left, right), EBB_ALL), NULL));
    EBB_TRY(EBB_READ(ebb_grad_of(w), two, 12));
    *gradient = two[11];
    return EBB_OK;
}

static void spoil_half(worker *t)
{
    for (int i = rounds(200, 20); i-- > 0;) {
        double g = 0;
        bool spoil = (i + t->i) % 2;
        ebb_status s = step_of_two_branches(t->ctx, spoil, &g);
        if (spoil) {
            MUST(s == EBB_E_GRAPH && strstr(ebb_error_message(), "mul"));
            ebb_error_clear();
        } else {
            MUST(s == EBB_OK && g == 3); /* x + 1 */
        }
    }
}

static void a_spoiled_branch_is_an_error_and_the_next_backward_works(void **state)
{
    worker t[4];
    workers_run(t, 4, *state, NULL, spoil_half);
    ebb_stats s;
    ebb_stats_get(&s, *state);
    assert_int_equal(s.n_handles, 0);
    assert_int_equal(s.live_nodes, 0);
}

/* Each thread's failure is its own. */
static void fail_in_its_own_way(worker *t)
{
    EBB_SCOPE(outer);
    for (int i = rounds(300, 50); i-- > 0;) {
        ebb_tensor *a = EBB_VALUES(t->ctx, double, EBB_SHAPE(2), 1, 2), *b = scalar(t->ctx, 1);
        if (t->i % 2) {
            MUST(ebb_matmul(a, b) == NULL && strstr(ebb_error_message(), "matmul"));
        } else {
            MUST(ebb_backward(a, NULL) == EBB_E_SHAPE);
            MUST(strstr(ebb_error_message(), "2 elements"));
        }
        ebb_error_clear();
        sched_yield();
        MUST(ebb_error_status() == EBB_OK);
    }
}

static void one_threads_failure_is_not_anothers(void **state)
{
    worker t[4];
    workers_run(t, 4, *state, NULL, fail_in_its_own_way);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADS(kept_graphs_answer_every_thread),
        THREADS(of_several_consumers_of_a_prefix_one_wins),
        THREADS(the_loser_leaves_no_gradient_behind),
        THREADS(a_keeper_that_came_first_is_not_disturbed_by_a_consumer),
        THREADS(what_is_recorded_meanwhile_ends_severed),
        THREADS(backward_inside_a_rule_works_on_every_thread),
        THREADS(a_rule_may_run_a_backward_into_the_same_leaf),
        THREADS(a_spoiled_branch_is_an_error_and_the_next_backward_works),
        THREADS(one_threads_failure_is_not_anothers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
