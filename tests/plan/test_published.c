/* test_published.c - DTR's rules on DTR's traces give what its own simulator
 * gives.
 *
 * Expected: total over base compute as its Python simulator
 * (RuntimeV2EagerOptimized, h_DTR) reports at these fractions of the unlimited
 * peak; 0: it runs out of memory. SPDX-License-Identifier: MIT */
#include "memory/ghost.h"
#include "support/plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const double fractions[] = {0.9, 0.7, 0.5, 0.3, 0.2};

typedef struct published {
    const char *name;
    double slowdown[5];
} published;

static published models[] = {
    {"unet", {1.033, 1.085, 1.159, 0, 0}},
    {"resnet32", {1.013, 1.046, 1.107, 1.178, 1.371}},
    {"transformer", {1.009, 1.031, 1.058, 1.123, 1.352}},
    {"treelstm", {1.008, 1.034, 1.123, 1.401, 1.530}},
};

static void model_gives_what_was_published(void **state)
{
    const published *model = *state;
    ebb__trace t;
    plan_trace_load(&t, model->name);
    ebb__ghost_result all, r;
    assert_int_equal(ebb__ghost_dtr(&all, &t, 0, 0), EBB_OK);
    assert_int_equal(all.end, EBB__GHOST_DONE);
    assert_int_equal(all.n_evictions + all.n_rebuilt, all.n_evictions);
    for (int i = 0; i < 5; i++) {
        uint64_t budget = (uint64_t)((double)all.peak * fractions[i]);
        assert_int_equal(ebb__ghost_dtr(&r, &t, budget, 0), EBB_OK);
        if (model->slowdown[i] == 0) {
            assert_int_equal(r.end, EBB__GHOST_SHORT);
            continue;
        }
        assert_int_equal(r.end, EBB__GHOST_DONE);
        assert_true(r.peak <= budget);
        double off = r.cost / all.cost / model->slowdown[i] - 1;
        if (off > 0.01 || off < -0.01)
            fail_msg("%s at %g: %g, published %g", model->name, fractions[i], r.cost / all.cost,
                     model->slowdown[i]);
    }
    ebb__trace_destroy(&t);
}

/* Exact liveness and DTR's eager eviction agree where nothing is short. */
static void the_unlimited_peak_is_the_same_by_both_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        ebb__trace t;
        ebb__program p;
        ebb__ghost_result dtr, ours;
        plan_trace_load(&t, models[i].name);
        assert_int_equal(ebb__program_create(&p, &ebb__allocator_libc, &t), EBB_OK);
        assert_int_equal(ebb__ghost_dtr(&dtr, &t, 0, 0), EBB_OK);
        assert_int_equal(ebb__ghost_run(&ours, &p, &(ebb__ghost_options){0}), EBB_OK);
        assert_int_equal(ours.peak, dtr.peak);
        assert_int_equal(p.peak, dtr.peak);
        assert_true(ours.cost == dtr.cost);
        ebb__program_destroy(&p);
        ebb__trace_destroy(&t);
    }
}

int main(void)
{
    struct CMUnitTest tests[5] = {
        cmocka_unit_test(the_unlimited_peak_is_the_same_by_both_rules)};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        tests[1 + i] = (struct CMUnitTest){models[i].name, model_gives_what_was_published, NULL,
                                           NULL, &models[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
