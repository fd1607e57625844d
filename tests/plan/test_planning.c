/* test_planning.c - planning a training step takes a fiftieth of the time and a fifth of a step at
 * once, by a clock that moves on by a microsecond at each look.
 * SPDX-License-Identifier: MIT */
#include "support/layers_net.h"

#include "memory/planning.h"

enum { LAYERS = 100, STEPS = 150, LOOK_NS = 1000, SOME_LOOKS = 4 };

static double clock_ns;

static double look(void)
{
    return clock_ns += LOOK_NS;
}

/* A chain of equal layers and its backward. */
static void chain_tape(ebb__tape *t, ebb_context *ctx, uint64_t bytes)
{
    uint32_t value[LAYERS + 1], gradient = 0;
    assert_true(ebb__tape_room(t, ctx, SIZE_MAX, 2, 2));
    value[0] = ebb__tape_val(t, EBB__TAPE_SOURCE, bytes);
    for (uint32_t i = 0; i < 2 * LAYERS; i++) {
        assert_true(ebb__tape_room(t, ctx, SIZE_MAX, 2, 2));
        const bool is_rule = i >= LAYERS;
        const uint32_t layer = is_rule ? 2 * LAYERS - 1 - i : i;
        ebb__tape_read(t, value[layer]);
        if (i > LAYERS) ebb__tape_read(t, gradient);
        const uint32_t made = ebb__tape_val(t, EBB__TAPE_MADE, bytes);
        if (i > LAYERS) t->left[gradient] = i;
        if (is_rule) t->left[value[layer + 1]] = i;
        if (is_rule) gradient = made;
        if (!is_rule) value[layer + 1] = made;
        ebb__tape_end(t, i + 1, 100, is_rule);
    }
}

typedef struct run {
    ebb_context *ctx;
    ebb__trace_cache cache;
    ebb__learned *learned;
    ebb__planning planning;
} run;

static void run_open(run *r, size_t budget)
{
    ebb__tape tape = {0};
    *r = (run){.planning = {.now = look}};
    GOOD(ebb_context_create(&r->ctx, &(ebb_context_options){.memory_budget_bytes = budget}));
    chain_tape(&tape, r->ctx, budget / (LAYERS / 2));
    r->learned = ebb__trace_cache_add(&r->cache, r->ctx, &tape, SIZE_MAX, NULL);
    assert_non_null(r->learned);
    r->learned->n_seen = 2;
    ebb__tape_free(&tape, r->ctx);
}

static void run_close(run *r)
{
    ebb__planning_end(&r->planning, r->ctx);
    ebb__trace_cache_destroy(&r->cache, r->ctx);
    ebb_context_destroy(r->ctx);
}

/* Steps of that length, each second one with a pause before it; none of them spends more than at_once
 * of itself. Where there are pauses, up to a quarter of a step may count for one. */
static void planned_within(size_t budget, double step_ns, double pause_ns, double at_once)
{
    run r;
    const double longest = pause_ns > 0 ? 1.25 * step_ns : step_ns;
    double all = 0;
    run_open(&r, budget);
    for (int i = 1; i <= STEPS; i++) {
        double before = clock_ns, some = SOME_LOOKS * LOOK_NS;
        ebb__planning_step(&r.planning, r.ctx, r.learned, step_ns + (i % 2 ? 0 : pause_ns));
        double now = fmax(clock_ns - before - LOOK_NS, 0); /* from the first look on */
        all += now;
        if (now > at_once * longest + some)
            fail_msg("step %d of %g ns: %g spent at once", i, step_ns, now);
        if (all > 0.02 * fmax(i * (longest / step_ns), 50) * step_ns + some)
            fail_msg("step %d of %g ns: %g spent", i, step_ns, all);
    }
    assert_non_null(r.learned->plan);
    run_close(&r);
}

static void a_plan_takes_a_fifth_of_a_step_at_once(void **state)
{
    (void)state;
    planned_within(64 << 20, 1e6, 0, 0.2);
}

static void a_run_that_takes_longer_goes_on_after_the_next_step(void **state)
{
    (void)state;
    planned_within(64 << 20, 3e4, 0, 0.2);
}

static void where_no_tables_stay_all_that_was_saved_up_is_spent_at_once(void **state)
{
    (void)state;
    planned_within(2 << 20, 1e6, 0, 1);
}

static void what_the_program_does_between_steps_is_no_time_of_theirs(void **state)
{
    (void)state;
    planned_within(64 << 20, 1e5, 1e7, 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_takes_a_fifth_of_a_step_at_once),
        cmocka_unit_test(a_run_that_takes_longer_goes_on_after_the_next_step),
        cmocka_unit_test(where_no_tables_stay_all_that_was_saved_up_is_spent_at_once),
        cmocka_unit_test(what_the_program_does_between_steps_is_no_time_of_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
