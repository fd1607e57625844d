/* test_record.c - a training step recorded as it runs says what it holds and what a budget would
 * cost it.
 * SPDX-License-Identifier: MIT */
#include "support/layers_net.h"

#include <unistd.h>

enum { LAYERS = 6, WIDTH = 64, BATCH = 256, VALUE = BATCH * WIDTH * 4 };

static void net_open(net *m)
{
    net_make(m, (net_options){LAYERS, WIDTH, BATCH, 1, false, 0});
}

static void step(const net *m)
{
    EBB_SCOPE(iter);
    ebb_tensor *h = m->x;
    for (int l = 0; l < LAYERS; l++) {
        EBB_SCOPE(layer);
        h = ebb_escape(layer, ebb_tanh(ebb_matmul(h, net_param(m, l, "w"))));
    }
    GOOD(ebb_minimize(m->opt, ebb_mean(ebb_square(h), EBB_ALL), NULL));
}

static void record(ebb_iteration **out, const net *m)
{
    ebb_recorder *r;
    GOOD(ebb_recorder_begin(&r, m->ctx));
    step(m);
    GOOD(ebb_recorder_end(out, r));
}

static void a_recorded_step_holds_what_the_step_holds(void **state)
{
    (void)state;
    net m;
    ebb_iteration *it;
    ebb_iteration_facts f;
    ebb_stats s;
    net_open(&m);
    step(&m);
    ebb_stats_reset_peak(m.ctx);
    record(&it, &m);
    ebb_stats_get(&s, m.ctx);
    size_t peak =
        s.peak_bytes - s.peak_by_kind[EBB_KIND_BOOKKEEPING] - s.peak_by_kind[EBB_KIND_CACHE];
    GOOD(ebb_iteration_facts_get(&f, it));
    /* Layers of two operations, the same backward, a loss, updates. */
    assert_true(f.n_operations >= 4 * LAYERS);
    assert_true(f.cost > 0);
    /* Gradients of the step before lie in their slots until they are made anew. */
    double share = (double)f.peak_bytes / (double)peak;
    if (share < 0.85 || share > 1.02) fail_msg("peak %zu, recorded %zu", peak, f.peak_bytes);
    /* Each layer's result is kept for its backward, beside all that outlives the step: whenever
     * that is read first, it is there from the beginning. */
    size_t lasting = s.bytes[EBB_KIND_PARAMETER] + s.bytes[EBB_KIND_OPTIMIZER];
    assert_true(f.outside_bytes >= lasting);
    assert_true(f.outside_bytes <= lasting + s.bytes[EBB_KIND_DATA]);
    assert_true(f.peak_bytes > f.outside_bytes + LAYERS * VALUE);
    assert_true(f.lower_bound < f.peak_bytes && f.lower_bound > 3 * VALUE);
    ebb_iteration_destroy(it);
    net_close(&m);
}

static void a_saved_step_is_read_again(void **state)
{
    (void)state;
    net m;
    ebb_iteration *it, *again;
    ebb_iteration_facts f, g;
    ebb_simulation s;
    char path[] = "/tmp/ebb-record-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    net_open(&m);
    for (int i = 0; i < 4; i++) step(&m);
    record(&it, &m);
    GOOD(ebb_iteration_save(it, path));
    GOOD(ebb_iteration_load(&again, path));
    unlink(path);
    GOOD(ebb_iteration_facts_get(&f, it));
    GOOD(ebb_iteration_facts_get(&g, again));
    assert_int_equal(f.n_operations, g.n_operations);
    assert_int_equal(f.peak_bytes, g.peak_bytes);
    assert_int_equal(f.lower_bound, g.lower_bound);
    size_t budget = f.lower_bound + (f.peak_bytes - f.lower_bound) / 2;
    GOOD(ebb_iteration_simulate(&s, again, budget, NULL));
    assert_true(s.works && s.slowdown > 1 && s.slowdown < 2 && s.peak_bytes <= budget);
    /* Next uses are known in the backward pass: so it was found. */
    ebb_simulation lru, backward;
    GOOD(ebb_iteration_simulate(&lru, again, budget,
                                &(ebb_simulate_options){.policy = EBB_POLICY_LRU}));
    GOOD(ebb_iteration_simulate(&backward, again, budget,
                                &(ebb_simulate_options){.policy = EBB_POLICY_BACKWARD}));
    assert_true(backward.works);
    assert_true(!lru.works || backward.slowdown < lru.slowdown);
    assert_int_equal(ebb_iteration_save(it, "/nonexistent/x"), EBB_E_IO);
    ebb_iteration_destroy(it);
    ebb_iteration_destroy(again);
    net_close(&m);
}

/* Three regions one after the other: each gives its values up at its end. */
static void values_given_up_for_a_region_are_not_held(void **state)
{
    (void)state;
    enum { REGIONS = 3 };
    net m;
    ebb_iteration *it;
    ebb_iteration_facts f;
    net_open(&m);
    ebb_recorder *r;
    GOOD(ebb_recorder_begin(&r, m.ctx));
    {
        EBB_SCOPE(iter);
        ebb_tensor *h = m.x;
        for (int k = 0; k < REGIONS; k++) {
            EBB_CHECKPOINT(region, m.ctx);
            for (int l = 0; l < LAYERS; l++)
                h = ebb_tanh(
                    ebb_matmul(h, ebb_params_find(ebb_params_sub(m.p, "l%d", l), "w")));
            h = ebb_escape(region, h);
        }
        GOOD(ebb_discard_graph(ebb_mean(ebb_square(h), EBB_ALL)));
    }
    GOOD(ebb_recorder_end(&it, r));
    GOOD(ebb_iteration_facts_get(&f, it));
    /* In a region each layer's product and result are held. */
    assert_true(f.peak_bytes >= 2 * LAYERS * VALUE);
    if (f.peak_bytes > 2 * LAYERS * VALUE * 3 / 2)
        fail_msg("%zu bytes at most, a region has %d", f.peak_bytes, 2 * LAYERS * VALUE);
    ebb_iteration_destroy(it);
    net_close(&m);
}

static void recording_twice_at_once_is_refused(void **state)
{
    (void)state;
    net m;
    ebb_recorder *r, *second;
    net_open(&m);
    GOOD(ebb_recorder_begin(&r, m.ctx));
    assert_int_equal(ebb_recorder_begin(&second, m.ctx), EBB_E_MISUSE);
    assert_null(second);
    assert_int_equal(ebb_recorder_begin(&second, NULL), EBB_E_MISUSE);
    assert_int_equal(ebb_recorder_end(NULL, NULL), EBB_E_MISUSE);
    GOOD(ebb_recorder_end(NULL, r));
    GOOD(ebb_recorder_begin(&r, m.ctx));
    GOOD(ebb_recorder_end(NULL, r));
    net_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_step_holds_what_the_step_holds),
        cmocka_unit_test(a_saved_step_is_read_again),
        cmocka_unit_test(values_given_up_for_a_region_are_not_held),
        cmocka_unit_test(recording_twice_at_once_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
