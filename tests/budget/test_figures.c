/* test_figures.c - what a refusal says of budgets is true: no step gets through below the bound it
 * names, and steps get through in the budget that it names as one that does.
 * SPDX-License-Identifier: MIT */
#include "models/zoo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_STEPS = 3, N_KNOWN = 4 };

typedef struct outcome {
    ebb_status status;
    size_t peak, pinned;
    ebb_budget_report report; /* where it was refused */
} outcome;

static void train(outcome *out, const zoo_model *model, size_t budget)
{
    zoo_run run;
    ebb_stats s;
    *out = (outcome){0};
    ebb_error_clear();
    out->status = zoo_open(&run, model, ZOO_TINY, budget, 1, false);
    for (int i = 0; i < N_STEPS && out->status == EBB_OK; i++) out->status = zoo_step(&run);
    if (out->status == EBB_OK) {
        ebb_stats_get(&s, run.ctx);
        out->peak = s.peak_bytes;
        out->pinned = s.used_bytes + run.trained_bytes;
    }
    if (out->status != EBB_OK && out->status != EBB_E_BUDGET)
        fail_msg("%s under %zu: %s", model->name, budget, ebb_error_message());
    if (out->status != EBB_OK && !ebb_error_budget(&out->report))
        fail_msg("%s under %zu: no figures", model->name, budget);
    ebb_error_clear();
    zoo_close(&run);
}

static size_t budget_at(const outcome *unlimited, double r)
{
    return unlimited->pinned + (size_t)(r * (double)(unlimited->peak - unlimited->pinned));
}

static void no_budget_below_a_named_bound_gets_through(void **state)
{
    const zoo_model *model = *state;
    outcome unlimited, o;
    size_t bound = 0, least = SIZE_MAX;
    train(&unlimited, model, 0);
    for (double r = -0.3; r < 0.8; r += 0.06) {
        size_t budget = budget_at(&unlimited, r);
        train(&o, model, budget);
        if (o.status == EBB_OK && budget < least) least = budget;
        if (o.status == EBB_OK) continue;
        assert_true(o.report.needed_bytes > budget);
        if (o.report.lower_bound_bytes > bound) bound = o.report.lower_bound_bytes;
    }
    if (getenv("EBB_TEST_VERBOSE"))
        printf("%s: bound %zu, least %zu\n", model->name, bound, least);
    if (!bound) fail_msg("%s: no bound was named", model->name);
    if (bound > least)
        fail_msg("%s: no budget below %zu serves, %zu does", model->name, bound, least);
    train(&o, model, bound - 1);
    assert_int_equal(o.status, EBB_E_BUDGET);
}

/* Of steps that got through: by an array of the user's that is larger than all. */
static size_t known_after(const zoo_model *model, zoo_scale scale, size_t budget)
{
    zoo_run run;
    ebb_budget_report report = {0};
    ebb_status status = zoo_open(&run, model, scale, budget, 1, false);
    for (int i = 0; i < N_KNOWN && status == EBB_OK; i++) status = zoo_step(&run);
    if (status == EBB_OK) {
        assert_null(ebb_alloc(run.ctx, 2 * budget, EBB_KIND_DATA));
        assert_true(ebb_error_budget(&report));
    }
    ebb_error_clear();
    zoo_close(&run);
    return report.smallest_known_bytes;
}

static void known_serves(const zoo_model *model, zoo_scale scale, size_t budget)
{
    zoo_run run;
    size_t known = known_after(model, scale, budget);
    assert_true(known <= budget);
    if (getenv("EBB_TEST_VERBOSE")) printf("%s: %zu of %zu\n", model->name, known, budget);
    if (!known) return; /* it was refused in that budget */
    ebb_status status = zoo_open(&run, model, scale, known, 1, false);
    for (int i = 0; i < N_KNOWN && status == EBB_OK; i++) status = zoo_step(&run);
    if (status != EBB_OK)
        fail_msg("%s: %zu was said to do under %zu: %s", model->name, known, budget,
                 ebb_error_message());
    zoo_close(&run);
}

static void a_budget_that_is_said_to_do_does(void **state)
{
    const zoo_model *model = *state;
    outcome unlimited;
    train(&unlimited, model, 0);
    for (double r = 0.4; r < 1.2; r += 0.35)
        known_serves(model, ZOO_TINY, budget_at(&unlimited, r));
    /* the one that wants most beyond what is simulated, and only where it is larger */
    if (strcmp(model->name, "densenet_40") == 0) known_serves(model, ZOO_SHORT, 20 << 20);
}

int main(void)
{
    struct CMUnitTest tests[64];
    size_t n = 0;
    for (int i = 0; i < zoo_n_models; i++) {
        if (zoo_models[i].is_chain && zoo_models[i].variant > 64) continue;
        void *model = (void *)(uintptr_t)&zoo_models[i];
        tests[n++] =
            (struct CMUnitTest){.name = zoo_models[i].name,
                                .test_func = no_budget_below_a_named_bound_gets_through,
                                .initial_state = model};
        tests[n++] = (struct CMUnitTest){.name = zoo_models[i].name,
                                         .test_func = a_budget_that_is_said_to_do_does,
                                         .initial_state = model};
    }
    return _cmocka_run_group_tests("figures", tests, n, NULL, NULL);
}
