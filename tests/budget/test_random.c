/* test_random.c - random training under random budgets, on one thread and on several, with all
 * that users do in between: regions, hooks, kept gradients and graphs, second derivatives, changes
 * in place, parameters written before a backward, optimizers, maps, children.
 *
 * A program is a function of its seed alone. What can be seen of it is the same, bit for bit, as
 * without a budget, until a budget refuses; no byte more than the budget is ever used, and nothing is left.
 * SPDX-License-Identifier: MIT */
#include "memory/value.h"
#include "support/numeric.h"

#include <ebb/ebb.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_LEAVES = 3, MAX_POOL = 48, MAX_SEEN = 1 << 13, N_STEPS = 5, MAX_SIDE = 96 };

typedef struct run {
    ebb_context *ctx, *child;
    numeric_random r;
    uint64_t seed;
    int64_t side;
    size_t child_budget;
    bool random_ops;
    ebb_params *params;
    ebb_optimizer *opt; /* NULL: parameters are changed by hand */
    ebb_tensor *leaf[N_LEAVES], *pool[MAX_POOL], *kept[MAX_POOL];
    int n_pool, n_kept, n_hooks;
    uint64_t seen[MAX_SEEN];
    int n_seen;
    float x[MAX_SIDE * MAX_SIDE], g[MAX_SIDE * MAX_SIDE];
    ebb_status status;
    char message[300];
} run;

static bool chance(run *p, int in)
{
    return numeric_below(&p->r, in) == 0;
}

static void see_number(run *p, uint64_t x)
{
    if (p->n_seen < MAX_SEEN) p->seen[p->n_seen++] = x;
}

/* What the user gets; only a budget's refusal ends the program. */
static ebb_status met(run *p, ebb_status s)
{
    if (s == EBB_E_BUDGET) return s;
    see_number(p, (uint64_t)s);
    ebb_error_clear();
    return EBB_OK;
}

static uint64_t hash(const void *data, size_t bytes)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
    return h;
}

static ebb_status see(run *p, ebb_tensor *t)
{
    size_t bytes = ebb_n_bytes(t);
    if (!t || bytes > sizeof p->x) return met(p, ebb_check(t));
    EBB_TRY(met(p, ebb_read(p->x, bytes, EBB_F32, t)));
    see_number(p, hash(p->x, bytes));
    return EBB_OK;
}

/* ---- operations -------------------------------------------------------------------------- */

static ebb_tensor *pick(run *p)
{
    int64_t at = numeric_below(&p->r, N_LEAVES + p->n_pool);
    return at < N_LEAVES ? p->leaf[at] : p->pool[at - N_LEAVES];
}

static ebb_tensor *op(run *p, ebb_tensor *x, ebb_tensor *y)
{
    int64_t half = p->side / 2;
    switch (numeric_below(&p->r, p->random_ops ? 13 : 12)) {
    case 0:
        return ebb_mul_scalar(ebb_add(x, y), 0.7);
    case 1:
        return ebb_mul(ebb_sin(x), y);
    case 2:
        return ebb_mul_scalar(ebb_matmul(x, y), 1.0 / (double)p->side);
    case 3:
        return ebb_tanh(x);
    case 4:
        return ebb_gelu(x, NULL);
    case 5:
        return ebb_softmax(x, -1);
    case 6:
        return ebb_layer_norm(x, EBB_NONE, EBB_NONE, NULL);
    case 7:
        return ebb_sin(ebb_matmul(ebb_transpose(x, 0, 1), y));
    case 8:
        return ebb_tanh(ebb_cumsum(x, 1));
    case 9:
        return ebb_sub(x, ebb_mean(y, EBB_AXES(1)));
    case 10:
        return ebb_add(ebb_narrow(x, 0, half, 1), y);
    case 11:
        return ebb_square(ebb_relu(ebb_sub(x, y)));
    default:
        return ebb_dropout(x, 0.25);
    }
}

static ebb_status push(run *p, ebb_tensor *t)
{
    EBB_TRY(met(p, ebb_check(t)));
    if (t && p->n_pool < MAX_POOL) p->pool[p->n_pool++] = t;
    return EBB_OK;
}

static ebb_status op_push(run *p)
{
    ebb_tensor *x = pick(p), *y = pick(p);
    if (chance(p, 2)) return push(p, op(p, x, y));
    EBB_SCOPE(tidy);
    ebb_tensor *t = op(p, x, y);
    return push(p, t ? ebb_escape(tidy, t) : NULL);
}

static ebb_status region_push(run *p)
{
    int n = p->n_pool, n_ops = 2 + (int)numeric_below(&p->r, 4);
    ebb_tensor *last = NULL;
    {
        EBB_CHECKPOINT(region, p->ctx);
        for (int i = 0; i < n_ops; i++) {
            ebb_tensor *t = op(p, pick(p), pick(p));
            EBB_TRY(met(p, ebb_check(t)));
            if (t && p->n_pool < MAX_POOL) p->pool[p->n_pool++] = t;
            if (t) last = t;
        }
        if (last) last = ebb_escape(region, last);
        p->n_pool = n;
    }
    return last ? push(p, last) : EBB_OK;
}

/* ---- hooks ------------------------------------------------------------------------------- */

typedef struct hooked {
    run *p;
    int what;
    double by;
} hooked;

static ebb_status hook(void *user, ebb_tensor **grad)
{
    hooked *h = user;
    if (h->what == 0) *grad = ebb_mul_scalar(*grad, h->by);
    if (h->what == 1) return see(h->p, *grad);
    if (h->what == 2 && !ebb_requires_grad(*grad)) return ebb_mul_scalar_(*grad, h->by);
    return ebb_check(*grad);
}

static void hook_done(void *user)
{
    hooked *h = user;
    h->p->n_hooks--;
    free(h);
}

static ebb_status hook_some(run *p)
{
    ebb_tensor *t = pick(p);
    if (!ebb_requires_grad(t)) return EBB_OK;
    if (chance(p, 2) && p->n_pool) return met(p, ebb_retain_grad(t));
    for (int l = 0; l < N_LEAVES; l++)
        if (t == p->leaf[l]) return EBB_OK; /* it would stay for ever */
    hooked *h = malloc(sizeof *h);
    *h = (hooked){p, (int)numeric_below(&p->r, 3), 0.5};
    p->n_hooks++;
    ebb_tensor *held = pick(p);
    ebb_hook_options o = {.done = hook_done, .holds = &held};
    for (int l = 0; l < N_LEAVES; l++)
        if (held == p->leaf[l]) o.n_holds = 1;
    return met(p, ebb_hook_add(NULL, t, hook, h, &o));
}

/* ---- what users do in between -------------------------------------------------------------- */

static ebb_status change_in_place(run *p)
{
    if (!p->n_pool) return EBB_OK;
    ebb_tensor *t = p->pool[numeric_below(&p->r, p->n_pool)];
    switch (numeric_below(&p->r, 3)) {
    case 0:
        return met(p, ebb_tanh_(t));
    case 1:
        return met(p, ebb_mul_scalar_(t, 0.9));
    default:
        return met(p, ebb_add_(t, pick(p)));
    }
}

/* Others are made while it is mapped; its bytes neither move nor change. */
static ebb_status map_some(run *p)
{
    ebb_tensor *t = pick(p);
    ebb_view v;
    ebb_status s = ebb_map(&v, t, EBB_MAP_READ);
    if (s != EBB_OK) return met(p, s);
    bool dense = v.strides[1] == 1 && v.strides[0] == v.shape.dims[1];
    size_t bytes = dense ? ebb_n_bytes(t) : 4;
    uint64_t before = hash(v.data, bytes);
    for (int i = 0; i < 3 && s == EBB_OK; i++) s = op_push(p);
    bool stayed = hash(v.data, bytes) == before;
    ebb_unmap(t);
    if (s == EBB_OK || !stayed) see_number(p, stayed ? before : 0);
    return s;
}

static void let_go(run *p)
{
    if (!p->n_pool) return;
    int at = (int)numeric_below(&p->r, p->n_pool);
    ebb_tensor *t = p->pool[at];
    if (chance(p, 2) && p->n_kept < MAX_POOL) p->kept[p->n_kept++] = ebb_keep(t);
    p->pool[at] = p->pool[--p->n_pool];
    ebb_replace(&t, NULL);
}

static ebb_status child_some(run *p)
{
    if (!p->child) {
        const ebb_context_options o = {
            .parent = p->ctx, .seed = 4, .memory_budget_bytes = p->child_budget};
        ebb_status s = ebb_context_create(&p->child, &o);
        if (s != EBB_OK) return met(p, s);
    }
    for (int64_t i = 0; i < p->side * p->side; i++)
        p->x[i] = (float)numeric_uniform(&p->r, -1, 1);
    ebb_tensor *t = EBB_FROM(p->child, EBB_SHAPE(p->side, p->side), p->x, p->side * p->side);
    EBB_TRY(met(p, ebb_check(t)));
    return t ? push(p, ebb_mul(t, pick(p))) : EBB_OK;
}

static ebb_status do_something(run *p)
{
    switch (numeric_below(&p->r, 24)) {
    case 0:
    case 1:
        return region_push(p);
    case 2:
    case 3:
        return hook_some(p);
    case 4:
    case 5:
        return change_in_place(p);
    case 6:
        return map_some(p);
    case 7:
    case 8:
        let_go(p);
        return EBB_OK;
    case 9:
        return see(p, pick(p));
    case 10:
        return p->seed % 3 ? EBB_OK : child_some(p);
    default:
        return op_push(p);
    }
}

/* ---- backwards --------------------------------------------------------------------------- */

static ebb_status write_leaf(run *p, int l)
{
    for (int64_t i = 0; i < p->side * p->side; i++)
        p->x[i] = (float)numeric_uniform(&p->r, -1, 1);
    return met(p, EBB_WRITE(p->leaf[l], p->x, p->side * p->side));
}

static ebb_tensor *make_loss(run *p)
{
    ebb_tensor *loss = ebb_mean(ebb_square(p->leaf[0]), EBB_ALL);
    for (int i = 0; i < p->n_pool && loss; i++)
        if (i + 1 == p->n_pool || chance(p, 3))
            loss = ebb_add(loss, ebb_mean(ebb_square(p->pool[i]), EBB_ALL));
    return loss;
}

static ebb_status second_order(run *p, ebb_tensor *loss)
{
    ebb_tensor *d[N_LEAVES], *sum = NULL;
    ebb_status s = ebb_grad(d, &loss, NULL, 1, p->leaf, N_LEAVES,
                            &(ebb_grad_options){.create_graph = true, .allow_unused = true});
    EBB_TRY(met(p, s));
    if (s != EBB_OK) return EBB_OK;
    sum = loss;
    for (int l = 0; l < N_LEAVES && sum; l++)
        if (d[l] != EBB_NONE) sum = ebb_add(sum, ebb_mean(ebb_square(d[l]), EBB_ALL));
    EBB_TRY(met(p, ebb_check(sum)));
    return sum ? met(p, ebb_backward(sum, NULL)) : EBB_OK;
}

static ebb_status backward_some(run *p)
{
    ebb_tensor *loss = make_loss(p);
    EBB_TRY(met(p, ebb_check(loss)));
    if (!loss) return EBB_OK;
    const ebb_backward_options keep = {.keep_graph = true};
    switch (numeric_below(&p->r, 5)) {
    case 0:
        EBB_TRY(met(p, ebb_backward(loss, &keep)));
        EBB_TRY(see(p, pick(p)));
        return met(p, ebb_backward(loss, NULL));
    case 1:
        return second_order(p, loss);
    case 2:
        EBB_TRY(write_leaf(p, (int)numeric_below(&p->r, N_LEAVES)));
        break;
    default:
        break;
    }
    return met(p, ebb_backward(loss, NULL));
}

/* In the bytes of gradients, where what was given up is made from the parameters. */
static ebb_status update_by_optimizer(run *p)
{
    for (int l = 0; l < N_LEAVES; l++) {
        EBB_SCOPE(seen); /* a gradient that is held is not written over */
        if (ebb_has_grad(p->leaf[l])) EBB_TRY(see(p, ebb_grad_of(p->leaf[l])));
    }
    EBB_TRY(met(p, ebb_optimizer_step(p->opt)));
    for (int l = 0; l < N_LEAVES; l++) EBB_TRY(see(p, p->leaf[l]));
    return EBB_OK;
}

static ebb_status update(run *p)
{
    for (int i = 0; i < p->n_pool; i++)
        if (ebb_has_grad(p->pool[i])) EBB_TRY(see(p, ebb_grad_of(p->pool[i])));
    if (p->opt) return update_by_optimizer(p);
    for (int l = 0; l < N_LEAVES; l++) {
        if (!ebb_has_grad(p->leaf[l])) continue;
        EBB_NO_GRAD(scope);
        ebb_tensor *g = ebb_grad_of(p->leaf[l]);
        EBB_TRY(see(p, g));
        EBB_TRY(met(p, ebb_tanh_(p->leaf[l])));
        ebb_tensor *step = ebb_mul_scalar(g, 0.05);
        EBB_TRY(met(p, ebb_check(step)));
        if (step) EBB_TRY(met(p, ebb_sub_(p->leaf[l], step)));
        EBB_TRY(met(p, ebb_clear_grad(p->leaf[l])));
        EBB_TRY(see(p, p->leaf[l]));
    }
    return EBB_OK;
}

/* ---- programs ---------------------------------------------------------------------------- */

static ebb_status step_in_scope(run *p, bool last)
{
    EBB_SCOPE(iter);
    int n = 10 + (int)numeric_below(&p->r, 25);
    p->n_pool = 0;
    for (int i = 0; i < n; i++) EBB_TRY(do_something(p));
    EBB_TRY(backward_some(p));
    EBB_TRY(update(p));
    for (int i = 0; i < p->n_kept; i += 3) EBB_TRY(see(p, p->kept[i]));
    for (int i = 0; last && i < p->n_pool; i++) EBB_TRY(see(p, p->pool[i]));
    return EBB_OK;
}

static ebb_status step(run *p, bool last)
{
    ebb_status s = step_in_scope(p, last);
    snprintf(p->message, sizeof p->message, "%s", s == EBB_OK ? "" : ebb_error_message());
    while (p->n_kept) ebb_release(p->kept[--p->n_kept]);
    ebb_context_destroy(p->child);
    p->child = NULL;
    return s;
}

static ebb_status optimizer_make(run *p)
{
    switch (p->seed / 2 % 3) {
    case 0:
        return ebb_sgd_create(&p->opt, p->params, 0.05, &(ebb_sgd_options){.momentum = 0.5});
    case 1:
        return ebb_adam_create(&p->opt, p->params, 0.01, NULL);
    default:
        return EBB_OK;
    }
}

static ebb_status leaves_make(run *p)
{
    static const char *const names[N_LEAVES] = {"a", "b", "c"};
    EBB_TRY(ebb_params_create(&p->params, p->ctx));
    for (int l = 0; l < N_LEAVES; l++) {
        for (int64_t i = 0; i < p->side * p->side; i++)
            p->x[i] = (float)numeric_uniform(&p->r, -1, 1);
        p->leaf[l] = ebb_param(p->params, names[l], EBB_F32, EBB_SHAPE(p->side, p->side),
                               ebb_constant(0));
        EBB_TRY(ebb_check(p->leaf[l]));
        EBB_TRY(EBB_WRITE(p->leaf[l], p->x, p->side * p->side));
    }
    return optimizer_make(p);
}

static void *program(void *user)
{
    run *p = user;
    p->r = (numeric_random){p->seed};
    p->side = p->seed % 2 ? MAX_SIDE : 32;
    bool repeats = p->seed % 4 < 2;
    p->status = leaves_make(p);
    numeric_random at_first = p->r;
    for (int i = 0; i < N_STEPS && p->status == EBB_OK; i++) {
        if (repeats) p->r = at_first;
        p->status = step(p, i + 1 == N_STEPS);
    }
    ebb_optimizer_release(p->opt);
    ebb_params_release(p->params);
    ebb_error_clear();
    return NULL;
}

/* NULL: the budget is not even that of an empty one. */
static ebb_context *open(size_t budget, ebb_context *parent, int n_threads)
{
    ebb_context *ctx = NULL;
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = n_threads,
                                                        .seed = 5,
                                                        .parent = parent,
                                                        .check_recompute = true,
                                                        .memory_budget_bytes = budget}) !=
            EBB_OK &&
        ebb_error_status() != EBB_E_BUDGET)
        fail_msg("%s", ebb_error_message());
    ebb_error_clear();
    return ctx;
}

static size_t nothing_left(ebb_context *ctx, const run *p, size_t budget)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    const char *unsound = ebb__memory_check(ctx);
    if (unsound) fail_msg("seed %d: %s", (int)p->seed, unsound);
    if (s.live_nodes || s.n_handles || s.n_misuse || s.saved_bytes || p->n_hooks)
        fail_msg("seed %d: %d nodes, %d handles, %d misuses, %zu saved bytes, %d hooks",
                 (int)p->seed, (int)s.live_nodes, (int)s.n_handles, (int)s.n_misuse,
                 s.saved_bytes, p->n_hooks);
    for (int k = 0; k < EBB_KIND_CACHE; k++)
        if (k != EBB_KIND_BOOKKEEPING && s.bytes[k])
            fail_msg("seed %d: %zu bytes of %s are left", (int)p->seed, s.bytes[k],
                     ebb_kind_name((ebb_kind)k));
    if (budget && s.peak_bytes > budget)
        fail_msg("seed %d: %zu bytes of %zu", (int)p->seed, s.peak_bytes, budget);
    return s.peak_bytes;
}

static void same(const run *want, const run *got, size_t budget)
{
    int n = got->n_seen;
    if (got->status != EBB_OK && got->status != EBB_E_BUDGET)
        fail_msg("seed %d: %s", (int)got->seed, got->message);
    if (n > want->n_seen || (got->status == EBB_OK && n != want->n_seen))
        fail_msg("seed %d under %zu: %d things seen, %d without", (int)got->seed, budget, n,
                 want->n_seen);
    for (int i = 0; i < n; i++)
        if (want->seen[i] != got->seen[i])
            fail_msg("seed %d under %zu: the %dth of %d things seen is %llx, not %llx; %s",
                     (int)got->seed, budget, i, n, (unsigned long long)got->seen[i],
                     (unsigned long long)want->seen[i], got->message);
}

static run want[3], got[3];

static size_t unlimited(run *p, uint64_t seed, bool random_ops, int n_threads)
{
    ebb_context *ctx = open(0, NULL, n_threads);
    *p = (run){.ctx = ctx, .seed = seed, .random_ops = random_ops};
    program(p);
    if (p->status != EBB_OK) fail_msg("seed %d: %s", (int)seed, p->message);
    size_t peak = nothing_left(ctx, p, 0);
    ebb_context_destroy(ctx);
    return peak;
}

static int first_seed(void)
{
    const char *s = getenv("EBB_TEST_SEED");
    return s ? atoi(s) : 1;
}

static int n_programs(int usual)
{
    const char *n = getenv("EBB_TEST_PROGRAMS");
    return n ? atoi(n) : getenv("EBB_TEST_SHORT") ? usual / 8 + 1 : usual;
}

static void one_thread_sees_the_same(void **state)
{
    (void)state;
    int n_through = 0, n = n_programs(60);
    for (int seed = first_seed(), end = seed + n; seed < end; seed++) {
        int n_threads = 1 + seed % 2;
        size_t peak = unlimited(&want[0], (uint64_t)seed, true, n_threads);
        numeric_random r = {(uint64_t)seed + 1000};
        for (int k = 0; k < 3; k++) {
            size_t budget = (size_t)((double)peak * numeric_uniform(&r, 0.25 + 0.2 * k, 1.05));
            ebb_context *ctx = open(budget, NULL, n_threads);
            if (!ctx) continue;
            got[0] = (run){.ctx = ctx,
                           .seed = (uint64_t)seed,
                           .random_ops = true,
                           .child_budget = k == 1 ? budget / 2 : 0};
            program(&got[0]);
            same(&want[0], &got[0], budget);
            nothing_left(ctx, &got[0], budget);
            n_through += got[0].status == EBB_OK;
            ebb_context_destroy(ctx);
        }
    }
    assert_true(n_through > n / 2);
}

/* Each in a child of its own, or all in one context. */
static void threads_see(int seed, int n_threads, bool own, double share)
{
    size_t peak = 0;
    pthread_t thread[3];
    for (int i = 0; i < n_threads; i++)
        peak += unlimited(&want[i], (uint64_t)(seed + i), own, 1);
    size_t budget = share > 0 ? (size_t)((double)peak * share) : 0;
    ebb_context *root = open(budget, NULL, 1);
    if (!root) return;
    for (int i = 0; i < n_threads; i++) {
        ebb_context *ctx = own ? open(0, root, 1) : root;
        got[i] = (run){.ctx = ctx, .seed = (uint64_t)(seed + i), .random_ops = own};
        pthread_create(&thread[i], NULL, program, &got[i]);
    }
    for (int i = 0; i < n_threads; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < n_threads; i++) {
        same(&want[i], &got[i], budget);
        if (own) ebb_context_destroy(got[i].ctx);
    }
    nothing_left(root, &got[0], budget);
    ebb_context_destroy(root);
}

static void threads_see_what_each_sees_alone(void **state)
{
    (void)state;
    for (int seed = first_seed(), end = seed + n_programs(24); seed < end; seed++) {
        numeric_random r = {(uint64_t)seed + 2000};
        double share = seed % 5 ? numeric_uniform(&r, 0.3, 1) : 0;
        threads_see(10 * seed, 2 + seed % 2, seed % 4 > 1, share);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_sees_the_same),
        cmocka_unit_test(threads_see_what_each_sees_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
