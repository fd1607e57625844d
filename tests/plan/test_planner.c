/* test_planner.c - what the planner promises: near the best that exists, never worse than DTR's
 * heuristic, and figures that the simulated run repeats.
 *
 * Expected values: the exact recurrence for chains, and published figures for DTR's recorded
 * iterations.
 * SPDX-License-Identifier: MIT */
#include "memory/planner.h"
#include "support/plan_fixture.h"
#include "support/plan_optimum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The recurrence has the figures that were published for it. */
static void the_exact_recurrence_is_as_published(void **state)
{
    (void)state;
    static const struct {
        uint32_t budget, extra;
    } published[] = {{6, 574}, {8, 307}, {10, 223}, {12, 193}, {16, 139}, {24, 107}, {32, 99}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        assert_int_equal((uint32_t)plan_optimum_chain(128, published[i].budget),
                         published[i].extra);
}

/* At every budget at which the optimum is within the limit of eight times the program. */
static void chains_are_planned_at_the_exact_optimum(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {32, 48, 64, 96, 128, 192, 256};
    static const double at[] = {0.9,  0.8, 0.7,  0.6, 0.5,  0.4,  0.3,
                                0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        ebb__trace t;
        ebb__program p;
        plan_trace_chain(&t, lengths[i]);
        assert_int_equal(ebb__program_create(&p, &ebb__allocator_libc, &t), EBB_OK);
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            uint64_t budget = (uint64_t)(at[k] * (double)p.peak);
            if (budget < 4) continue;
            /* The recurrence runs the last operation once more than is necessary. */
            double extra = plan_optimum_chain(lengths[i], (uint32_t)budget);
            double exact = p.cost + fmax(extra - 1, 0);
            if (exact > 8 * p.cost) continue;
            ebb__planner n;
            bool is_done = false;
            assert_int_equal(ebb__planner_create(&n, &p, budget), EBB_OK);
            for (int w = 0; w < 130 && !is_done; w++) {
                assert_int_equal(ebb__planner_work(&is_done, &n, 1), EBB_OK);
                is_done |= n.best.result.cost <= exact + 1;
            }
            if (n.best.result.cost > 1.05 * exact)
                fail_msg("%u long, %u bytes: %g, exact %g", lengths[i], (uint32_t)budget,
                         n.best.result.cost, exact);
            assert_true(p.cost + n.bound.best <= exact * (1 + 1e-9));
            ebb__planner_destroy(&n);
        }
        ebb__program_destroy(&p);
        ebb__trace_destroy(&t);
    }
}

/* ---- recorded models --------------------------------------------------------------------- */
static const double fractions[] = {0.9, 0.7, 0.5, 0.3, 0.2};
typedef struct model {
    const char *name;
    int pieces;        /* of work, until it is as good as published */
    double planned[5]; /* published for a portfolio of 48 simulated runs; 0: none found */
    double smallest;   /* fraction of the peak, at twice the cost at most */
} model;
static model models[] = {
    {"unet", 3000, {1.013, 1.046, 1.105, 1.373, 0}, 0.28},
    {"resnet32", 1000, {1.013, 1.037, 1.096, 1.179, 1.251}, 0.11},
    {"transformer", 1000, {1.004, 1.025, 1.053, 1.090, 1.140}, 0.13},
    {"treelstm", 118, {1.000, 1.008, 1.094, 1.195, 1.260}, 0.07},
};

static void repeats(const ebb__planner *n)
{
    const ebb__plan *best = &n->best;
    ebb__ghost_options o;
    ebb__plan_options(&o, best, n->budget);
    ebb__ghost_result r, dtr;
    assert_int_equal(ebb__ghost_run(&r, n->p, &o), EBB_OK);
    assert_int_equal(r.end, EBB__GHOST_DONE);
    assert_true(r.cost == best->result.cost);
    assert_int_equal(r.n_evictions, best->result.n_evictions);
    o = (ebb__ghost_options){.budget = n->budget, .policy = ebb__policy_h_dtr};
    assert_int_equal(ebb__ghost_run(&dtr, n->p, &o), EBB_OK);
    assert_true(dtr.end != EBB__GHOST_DONE || best->result.cost <= dtr.cost);
}

/* At most as published, to the three places published; never worse than DTR's heuristic under
 * the same rules; and the plan given to a new run repeats its figures. */
static void model_is_planned_as_well_as_published(void **state)
{
    const model *m = *state;
    ebb__trace t;
    ebb__program p;
    plan_trace_load(&t, m->name);
    assert_int_equal(ebb__program_create(&p, &ebb__allocator_libc, &t), EBB_OK);
    for (int i = 0; i < 5; i++) {
        uint64_t budget = (uint64_t)((double)p.peak * fractions[i]);
        double goal = (m->planned[i] + 0.0005) * p.cost;
        ebb__planner n;
        bool is_done = false;
        assert_int_equal(ebb__planner_create(&n, &p, budget), EBB_OK);
        for (int k = 0; k < m->pieces && !is_done; k++) {
            assert_int_equal(ebb__planner_work(&is_done, &n, 1), EBB_OK);
            is_done |= n.best.result.cost < goal;
        }
        if (m->planned[i] == 0)
            assert_int_not_equal(n.best.result.end, EBB__GHOST_DONE);
        else if (n.best.result.cost >= goal)
            fail_msg("%s at %g: %.4f after %u runs, published %g", m->name, fractions[i],
                     n.best.result.cost / p.cost, n.n_tried, m->planned[i]);
        if (m->planned[i] > 0) repeats(&n);
        ebb__planner_destroy(&n);
    }
    uint64_t smallest;
    ebb__ghost_result r;
    assert_int_equal(ebb__planner_smallest(&smallest, &r, &p, 2), EBB_OK);
    assert_int_equal(r.end, EBB__GHOST_DONE);
    assert_true(r.peak <= smallest);
    assert_true(r.cost <= 2 * p.cost);
    assert_true((double)smallest <= m->smallest * (double)p.peak);
    ebb__program_destroy(&p);
    ebb__trace_destroy(&t);
}

int main(void)
{
    struct CMUnitTest tests[2 + sizeof models / sizeof *models] = {
        cmocka_unit_test(the_exact_recurrence_is_as_published),
        cmocka_unit_test(chains_are_planned_at_the_exact_optimum),
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        tests[2 + i] = (struct CMUnitTest){
            models[i].name, model_is_planned_as_well_as_published, NULL, NULL, &models[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
