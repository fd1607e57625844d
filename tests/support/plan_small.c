/* plan_small.c - small programs, and how near to the cheapest schedule they are planned.
 * SPDX-License-Identifier: MIT */
#include "support/plan_small.h"

#include "memory/planner.h"
#include "support/numeric.h"
#include "support/plan_optimum.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t below(numeric_random *rng, uint32_t n)
{
    return (uint32_t)(numeric_next(rng) % n);
}

void plan_trace_random(ebb__trace *t, uint64_t seed)
{
    numeric_random rng = {seed};
    uint32_t n = 8 + below(&rng, 5), in[12][2], n_in[12], last[12];
    for (uint32_t i = 1; i < n; i++) {
        n_in[i] = 1 + below(&rng, 2);
        for (uint32_t k = 0; k < n_in[i]; k++) {
            in[i][k] = below(&rng, 3) ? i - 1 - below(&rng, i < 3 ? i : 3) : below(&rng, i);
            last[in[i][k]] = i;
        }
        last[i] = UINT32_MAX;
    }
    last[0] = UINT32_MAX;
    ebb__trace_create(t, &ebb__allocator_libc);
    uint32_t out;
    assert_int_equal(ebb__trace_constant(&out, t, 1 + below(&rng, 4)), EBB_OK);
    for (uint32_t i = 1; i < n; i++) {
        uint64_t bytes = 1 + below(&rng, 4);
        double cost = 1 + below(&rng, 9);
        assert_int_equal(ebb__trace_call(&out, t, "op", cost, n_in[i], in[i], 1, &bytes, NULL),
                         EBB_OK);
        assert_int_equal(out, i);
        for (uint32_t v = 1; v < i; v++)
            if (last[v] == i)
                assert_int_equal(ebb__trace_note(t, EBB__TRACE_RELEASE, v), EBB_OK);
    }
    assert_int_equal(ebb__trace_check(t), EBB_OK);
}

void plan_trace_training(ebb__trace *t, uint64_t seed)
{
    enum { LAYERS = 6 };
    numeric_random rng = {seed};
    uint32_t skip[LAYERS + 1], saves[LAYERS + 1], out, g = 0;
    ebb__trace_create(t, &ebb__allocator_libc);
    assert_int_equal(ebb__trace_constant(&out, t, 1 + below(&rng, 3)), EBB_OK);
    for (uint32_t i = 1; i <= LAYERS; i++) {
        uint64_t bytes = 1 + below(&rng, 4);
        skip[i] = below(&rng, i);
        saves[i] = 1 + below(&rng, 7);
        uint32_t in[] = {i - 1, skip[i]};
        uint32_t n_in = 1 + below(&rng, 2);
        assert_int_equal(
            ebb__trace_call(&out, t, "op", 1 + below(&rng, 9), n_in, in, 1, &bytes, NULL),
            EBB_OK);
    }
    for (uint32_t i = LAYERS; i > 0; i--) {
        uint32_t in[4], n_in = 0;
        uint64_t bytes = t->storages[i - 1];
        if (saves[i] & 1) in[n_in++] = i;
        if (saves[i] & 2) in[n_in++] = i - 1;
        if (saves[i] & 4) in[n_in++] = skip[i];
        if (i < LAYERS) in[n_in++] = g;
        assert_int_equal(ebb__trace_call(&out, t, "op_backward", 1 + below(&rng, 9), n_in, in,
                                         1, &bytes, NULL),
                         EBB_OK);
        if (i < LAYERS) assert_int_equal(ebb__trace_note(t, EBB__TRACE_RELEASE, g), EBB_OK);
        assert_int_equal(ebb__trace_note(t, EBB__TRACE_RELEASE, i), EBB_OK);
        g = out;
    }
    assert_int_equal(ebb__trace_check(t), EBB_OK);
}

void plan_compare(plan_tally *sum, const ebb__trace *t, bool has_all_acts)
{
    ebb__program p;
    assert_int_equal(ebb__program_create(&p, &ebb__allocator_libc, t), EBB_OK);
    for (uint64_t budget = p.bottleneck - 1; budget <= p.peak; budget++) {
        double best = plan_optimum(&p, budget);
        bool is_possible = best < (double)INFINITY, is_done = false;
        ebb__planner n;
        assert_int_equal(ebb__planner_create(&n, &p, budget), EBB_OK);
        n.has_all_acts = has_all_acts;
        while (!is_done) assert_int_equal(ebb__planner_work(&is_done, &n, 100), EBB_OK);
        const ebb__ghost_result *r = &n.best.result;
        if (budget < p.bottleneck) assert_false(is_possible);
        if (is_possible) assert_true(p.cost + n.bound.best <= best * (1 + 1e-9));
        if (r->end == EBB__GHOST_DONE) {
            assert_true(is_possible);
            assert_true(r->cost >= best);
            assert_true(r->peak <= budget);
            sum->worst = fmax(sum->worst, r->cost / best);
            sum->n_optimal += r->cost == best;
            sum->n_planned++;
        }
        sum->n_possible += is_possible;
        sum->n_pressed += is_possible && best > p.cost;
        ebb__planner_destroy(&n);
    }
    ebb__program_destroy(&p);
}
