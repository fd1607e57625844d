/* test_simulated.c - a program under a budget does what the simulator says of its recorded step.
 *
 * The simulator counts values; a program also has bookkeeping in its budget, which is measured and
 * added. What differs: scratch and growing tables lie in the budget, and the clock of a program
 * in its backward runs by estimates of whole rules. So the
 * numbers are alike, not equal: to 40 % and 6, the more so the less is short. The first step is
 * compared: later ones do as they have learned.
 * SPDX-License-Identifier: MIT */
#include "support/layers_net.h"

enum { LAYERS = 12, WIDTH = 64, BATCH = 256, STEPS = 3 };

static void net_open(net *m, size_t budget)
{
    net_make(m, (net_options){LAYERS, WIDTH, BATCH, 1, false, budget});
}

/* h = tanh(x W_l) in turn, or h = tanh(x W_0 + h W_1) sigmoid(x W_2 + h W_3) again and again. */
static ebb_tensor *layer(const net *m, ebb_tensor *h, int l, bool recurs)
{
    if (!recurs) return ebb_tanh(ebb_matmul(h, net_param(m, l, "w")));
    ebb_tensor *a = ebb_tanh(
        ebb_add(ebb_matmul(m->x, net_param(m, 0, "w")), ebb_matmul(h, net_param(m, 1, "w"))));
    ebb_tensor *g = ebb_sigmoid(
        ebb_add(ebb_matmul(m->x, net_param(m, 2, "w")), ebb_matmul(h, net_param(m, 3, "w"))));
    return ebb_mul(a, g);
}

static ebb_status step(const net *m, bool recurs)
{
    EBB_SCOPE(iter);
    ebb_tensor *h = m->x;
    for (int l = 0; l < LAYERS; l++) {
        EBB_SCOPE(inner);
        h = ebb_escape(inner, layer(m, h, l, recurs));
    }
    return ebb_minimize(m->opt, ebb_mean(ebb_square(h), EBB_ALL), NULL);
}

static void record(ebb_iteration **out, bool recurs)
{
    net m;
    ebb_recorder *r;
    net_open(&m, 0);
    for (int i = 0; i < STEPS; i++) GOOD(step(&m, recurs));
    GOOD(ebb_recorder_begin(&r, m.ctx));
    GOOD(step(&m, recurs));
    GOOD(ebb_recorder_end(out, r));
    net_close(&m);
}

static size_t kept(size_t budget)
{
    ebb_context *ctx;
    ebb_stats s;
    GOOD(ebb_context_create(
        &ctx, &(ebb_context_options){.n_threads = 1, .memory_budget_bytes = budget}));
    ebb_stats_get(&s, ctx);
    ebb_context_destroy(ctx);
    return s.peak_by_kind[EBB_KIND_BOOKKEEPING];
}

/* The budget in which there are `bytes` for values: bookkeeping, in which the chunk's own map grows
 * with the budget, comes on top. */
static size_t budget_for(size_t bytes, bool recurs)
{
    const size_t ample = (size_t)64 << 20;
    net m;
    ebb_stats s;
    net_open(&m, ample);
    for (int i = 0; i < STEPS; i++) GOOD(step(&m, recurs));
    ebb_stats_get(&s, m.ctx);
    net_close(&m);
    double map = (double)(kept(ample) - kept(ample / 2)) / (double)(ample / 2);
    double rest = (double)s.peak_by_kind[EBB_KIND_BOOKKEEPING] - map * (double)ample;
    return (size_t)(((double)bytes + rest) / (1 - map));
}

/* In a first step the time since the last use stands for the next: a little decides what goes. */
static void near(const char *what, double is, double want)
{
    if (fabs(is - want) > 0.4 * want + 6) fail_msg("%s %.0f, simulated %.0f", what, is, want);
}

static void compare(bool recurs, double r)
{
    ebb_iteration *it;
    ebb_iteration_facts f;
    ebb_simulation want;
    net m;
    record(&it, recurs);
    GOOD(ebb_iteration_facts_get(&f, it));
    size_t budget = f.lower_bound + (size_t)(r * (double)(f.peak_bytes - f.lower_bound));
    GOOD(ebb_iteration_simulate(&want, it, budget,
                                &(ebb_simulate_options){.policy = EBB_POLICY_BACKWARD}));
    assert_true(want.works && want.n_evictions > 0);
    net_open(&m, budget_for(budget, recurs));
    ebb_room_stats before, after;
    ebb_room_stats_get(&before, m.ctx);
    GOOD(step(&m, recurs));
    ebb_room_stats_get(&after, m.ctx);
    assert_int_equal(ebb_error_status(), EBB_OK);
    double evictions = (double)(after.n_evictions - before.n_evictions);
    double reruns = (double)(after.n_recomputes - before.n_recomputes);
    if (getenv("EBB_TEST_VERBOSE"))
        printf("r %.2f: evictions %.0f simulated %d, run again %.0f simulated %d\n", r,
               evictions, (int)want.n_evictions, reruns, (int)want.n_rebuilt);
    near("run again", reruns, (double)want.n_rebuilt);
    /* More is given up where tables grow in the first step: what nobody reads again. */
    assert_true(evictions >= 0.7 * want.n_evictions - 4);
    ebb_iteration_destroy(it);
    net_close(&m);
}

static void a_perceptron_does_what_was_simulated(void **state)
{
    (void)state;
    for (int i = 5; i <= 8; i++) compare(false, i / 10.0);
}

static void a_recurrent_net_does_what_was_simulated(void **state)
{
    (void)state;
    for (int i = 5; i <= 8; i++) compare(true, i / 10.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perceptron_does_what_was_simulated),
        cmocka_unit_test(a_recurrent_net_does_what_was_simulated),
    };
    return cmocka_run_group_tests_name("simulated", tests, NULL, NULL);
}
