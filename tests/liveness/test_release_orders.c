/* test_release_orders.c - a million operations with a handle on each, let go in every order on a
 * stack of 256 KiB: through products that save what they multiply, through views, and through
 * branch points.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STACK_BYTES = 256 << 10 };

/* One more step on y, of `n_ops` operations; x is the leaf at the start of it all. */
typedef struct kind {
    const char *name;
    ebb_tensor *(*step)(ebb_tensor *y, ebb_tensor *x);
    int n_ops;
} kind;

static ebb_tensor *product(ebb_tensor *y, ebb_tensor *x)
{
    return ebb_mul(y, x);
}

static ebb_tensor *view_and_copy(ebb_tensor *y, ebb_tensor *x)
{
    (void)x;
    return ebb_clone(ebb_reshape(y, EBB_SHAPE(1)));
}

static ebb_tensor *one_of_twins(ebb_tensor *y, ebb_tensor *x)
{
    (void)x;
    ebb_tensor *twins[] = {y, y};
    return ebb_select(ebb_stack(twins, 2, 0), 0, 0);
}

static const kind kinds[] = {{"products", product, 1},
                             {"views and copies", view_and_copy, 2},
                             {"one of two twins", one_of_twins, 2}};

typedef enum order { NEWEST_FIRST, OLDEST_FIRST, SHUFFLED, N_ORDERS } order;

typedef struct job {
    const kind *kind;
    order order;
    bool backward; /* before anything is let go */
    char fault[300];
} job;

static void shuffle(ebb_tensor **y, int64_t n)
{
    uint64_t random = 1;
    for (int64_t i = n - 1; i > 0; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t k = (int64_t)((random >> 33) % (uint64_t)(i + 1));
        ebb_tensor *t = y[i];
        y[i] = y[k];
        y[k] = t;
    }
}

static bool steps_make(const kind *k, ebb_tensor **y, int64_t n, ebb_tensor *x)
{
    for (int64_t i = 0; i < n; i++) {
        EBB_SCOPE(iter);
        y[i] = ebb_claim(k->step(i ? y[i - 1] : x, x));
        if (!y[i]) return false;
    }
    return true;
}

static const char *run(ebb_context *ctx, const job *j, ebb_tensor **y, int64_t n)
{
    ebb_stats s;
    EBB_SCOPE(outer);
    ebb_tensor *x = ebb_full(ctx, EBB_F64, EBB_SHAPE(1), 1);
    if (ebb_set_requires_grad(x, true) != EBB_OK || !steps_make(j->kind, y, n, x))
        return ebb_error_message();
    if (j->backward) {
        if (ebb_backward_from(&y[n - 1], NULL, 1, NULL) != EBB_OK) return ebb_error_message();
        double want = j->kind->step == product ? (double)n + 1 : 1;
        if (ebb_item(ebb_grad_of(x)) != want) return "the gradient is wrong";
    }
    ebb_stats_get(&s, ctx);
    if (s.live_nodes != (j->backward ? 0 : n * j->kind->n_ops)) return "nodes are missing";
    if (j->order == SHUFFLED) shuffle(y, n);
    for (int64_t i = 0; i < n; i++) ebb_release(y[j->order == NEWEST_FIRST ? n - 1 - i : i]);
    ebb_stats_get(&s, ctx);
    return s.live_nodes == 0 ? NULL : "nodes are left";
}

/* A million; sanitizers make each of them dear. */
static int64_t n_ops_wanted(void)
{
    const char *sanitizers = getenv("EBB_SANITIZE");
    if (getenv("EBB_TEST_SHORT")) return 20000;
    return sanitizers && *sanitizers ? 100000 : 1000000;
}

static void *job_run(void *user)
{
    job *j = user;
    ebb_context *ctx = NULL;
    int64_t n = n_ops_wanted() / j->kind->n_ops;
    ebb_tensor **y = malloc((size_t)n * sizeof *y);
    const char *fault = "no context";
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1}) == EBB_OK)
        fault = run(ctx, j, y, n);
    if (fault)
        snprintf(j->fault, sizeof j->fault, "%s, order %d: %s", j->kind->name, (int)j->order,
                 fault);
    ebb_context_destroy(ctx);
    free(y);
    return NULL;
}

static void on_small_stack(void *(*f)(void *), void *user)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, f, user), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static void every_order(const kind *k)
{
    for (int o = 0; o < N_ORDERS; o++)
        for (int backward = 0; backward <= (o == SHUFFLED); backward++) {
            job j = {.kind = k, .order = (order)o, .backward = backward != 0};
            on_small_stack(job_run, &j);
            if (*j.fault) fail_msg("%s", j.fault);
        }
}

static void products_go_in_any_order(void **state)
{
    (void)state;
    every_order(&kinds[0]);
}

static void views_go_in_any_order(void **state)
{
    (void)state;
    every_order(&kinds[1]);
}

static void branch_points_go_in_any_order(void **state)
{
    (void)state;
    every_order(&kinds[2]);
}

/* ---- gradients on gradients -------------------------------------------------------------- */

/* Gradient descent on h * h / 2, differentiated through: each step's gradient carries a graph
 * that ends in the step before. */
typedef struct descent {
    bool backward;
    char fault[300];
} descent;

static const char *descend(ebb_context *ctx, bool backward)
{
    const int n = n_ops_wanted() < 1000000 ? 1000 : 10000;
    const double rate = 1e-4;
    ebb_stats s;
    EBB_SCOPE(outer);
    ebb_tensor *x = ebb_full(ctx, EBB_F64, EBB_SCALAR, 2), *h = NULL;
    if (ebb_set_requires_grad(x, true) != EBB_OK || ebb_hold(&h, x) != EBB_OK)
        return ebb_error_message();
    for (int i = 0; i < n; i++) {
        EBB_SCOPE(iter);
        ebb_tensor *loss = ebb_mul_scalar(ebb_mul(h, h), 0.5), *g;
        ebb_grad_options o = {.create_graph = true};
        if (ebb_grad(&g, &loss, NULL, 1, &h, 1, &o) != EBB_OK ||
            ebb_hold(&h, ebb_sub(h, ebb_mul_scalar(g, rate))) != EBB_OK)
            return ebb_error_message();
    }
    ebb_stats_get(&s, ctx);
    if (s.live_nodes < n) return "the graph is not there";
    if (backward) {
        if (ebb_backward(h, NULL) != EBB_OK) return ebb_error_message();
        double want = pow(1 - rate, n), got = ebb_item(ebb_grad_of(x));
        if (fabs(got - want) > 1e-9 * fabs(want)) return "the gradient is wrong";
    }
    ebb_clear(&h);
    ebb_stats_get(&s, ctx);
    return s.live_nodes == 0 ? NULL : "nodes are left";
}

static void *descent_run(void *user)
{
    descent *d = user;
    ebb_context *ctx = NULL;
    const char *fault = "no context";
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1}) == EBB_OK)
        fault = descend(ctx, d->backward);
    if (fault) snprintf(d->fault, sizeof d->fault, "%s", fault);
    ebb_context_destroy(ctx);
    return NULL;
}

static void ten_thousand_gradients_of_gradients_go_at_once(void **state)
{
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        descent d = {.backward = backward != 0};
        on_small_stack(descent_run, &d);
        if (*d.fault) fail_msg("%s", d.fault);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_go_in_any_order),
        cmocka_unit_test(views_go_in_any_order),
        cmocka_unit_test(branch_points_go_in_any_order),
        cmocka_unit_test(ten_thousand_gradients_of_gradients_go_at_once),
    };
    return cmocka_run_group_tests_name("release_orders", tests, NULL, NULL);
}
