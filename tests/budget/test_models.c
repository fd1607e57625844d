/* test_models.c - the benchmark's models, small (as large as they are and over more steps where
 * SCALE and MAX_STEPS are defined so): under every budget that training gets through
 * with, losses and gradients are those of a run without one, bit for bit, and no more bytes are
 * used than were given.
 * SPDX-License-Identifier: MIT */
#include "models/zoo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef SCALE
#define SCALE ZOO_TINY
#define MAX_STEPS 4
#endif
enum { N_RATIOS = 8 };
static const double ratios[N_RATIOS] = {0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1};

typedef struct outcome {
    uint64_t hash[MAX_STEPS]; /* of the loss and all gradients of a step */
    size_t peak, pinned;
} outcome;

/* FNV-1a */
static uint64_t hashed(uint64_t hash, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static ebb_status see(uint64_t *hash, ebb_tensor *t)
{
    const size_t bytes = ebb_n_bytes(t);
    unsigned char *copy = malloc(bytes);
    assert_non_null(copy);
    ebb_status status = ebb_read(copy, bytes, ebb_dtype_of(t), t);
    if (status == EBB_OK) *hash = hashed(*hash, copy, bytes);
    free(copy);
    return status;
}

static ebb_status step(uint64_t *hash, zoo_run *run)
{
    EBB_SCOPE(iter);
    *hash = UINT64_C(14695981039346656037);
    ebb_tensor *loss = zoo_loss(run);
    EBB_TRY(ebb_backward(loss, NULL));
    EBB_TRY(see(hash, loss));
    for (int64_t i = 0; i < ebb_params_count(run->params); i++)
        if (!ebb_params_is_buffer(run->params, i))
            EBB_TRY(see(hash, ebb_grad_of(ebb_params_at(run->params, i))));
    ebb_clear(&run->loss);
    return ebb_optimizer_step(run->opt);
}

static int n_steps(const zoo_model *model)
{
    return model->begin ? MAX_STEPS : MAX_STEPS - 1;
}

static ebb_status train(outcome *out, const zoo_model *model, size_t budget, int32_t n_threads,
                        bool regions)
{
    zoo_run run;
    ebb_stats s;
    *out = (outcome){0};
    ebb_status status = zoo_open(&run, model, SCALE, budget, n_threads, regions);
    for (int i = 0; i < n_steps(model) && status == EBB_OK; i++)
        status = step(&out->hash[i], &run);
    if (status == EBB_OK) {
        ebb_stats_get(&s, run.ctx);
        out->peak = s.peak_bytes;
        out->pinned = s.used_bytes + run.trained_bytes;
    }
    zoo_close(&run);
    return status;
}

static void same(const outcome *want, const outcome *got, const zoo_model *model, double r,
                 int32_t n_threads)
{
    for (int i = 0; i < n_steps(model); i++)
        if (want->hash[i] != got->hash[i])
            fail_msg("%s at %.1f with %d threads: step %d differs", model->name, r,
                     (int)n_threads, i);
}

/* The smallest ratio that training gets through with, as it does with all larger ones. Where it
 * does not, bytes are missing: what is free can be had in one piece. */
static double smallest(const zoo_model *model, int32_t n_threads)
{
    outcome want, got;
    if (train(&want, model, 0, n_threads, false) != EBB_OK)
        fail_msg("%s: %s", model->name, ebb_error_message());
    if (train(&got, model, 0, n_threads, true) != EBB_OK)
        fail_msg("%s in segments: %s", model->name, ebb_error_message());
    same(&want, &got, model, 1, n_threads);
    double least = 1;
    bool fits = true;
    for (int i = 0; i < N_RATIOS; i++) {
        size_t budget = want.pinned + (size_t)(ratios[i] * (double)(want.peak - want.pinned));
        ebb_error_clear();
        ebb_status status = train(&got, model, budget, n_threads, false);
        if (status != EBB_OK && status != EBB_E_BUDGET)
            fail_msg("%s at %.1f: %s", model->name, ratios[i], ebb_error_message());
        if (getenv("EBB_TEST_VERBOSE"))
            printf("%s at %.1f of %zu + %zu: %s\n", model->name, ratios[i], want.pinned,
                   want.peak - want.pinned, status == EBB_OK ? "ok" : ebb_error_message());
        if (status != EBB_OK && strstr(ebb_error_message(), "in one piece"))
            fail_msg("%s at %.1f: %s", model->name, ratios[i], ebb_error_message());
        fits = fits && status == EBB_OK;
        if (status != EBB_OK) continue;
        same(&want, &got, model, ratios[i], n_threads);
        if (got.peak > budget) fail_msg("%zu bytes were used of %zu", got.peak, budget);
        if (fits) least = ratios[i];
    }
    return least;
}

static void trains_the_same_under_every_budget_it_fits(void **state)
{
    const zoo_model *model = *state;
    for (int32_t n_threads = 1; n_threads <= 2; n_threads++) {
        double least = smallest(model, n_threads);
        if (least > 0.6)
            fail_msg("%s needs %.1f of what can move, 0.6 is enough", model->name, least);
    }
}

int main(void)
{
    struct CMUnitTest tests[32];
    size_t n = 0;
    for (int i = 0; i < zoo_n_models; i++)
        if (!zoo_models[i].is_chain || zoo_models[i].variant <= 64)
            tests[n++] =
                (struct CMUnitTest){.name = zoo_models[i].name,
                                    .test_func = trains_the_same_under_every_budget_it_fits,
                                    .initial_state = (void *)(uintptr_t)&zoo_models[i]};
    return _cmocka_run_group_tests("models", tests, n, NULL, NULL);
}
