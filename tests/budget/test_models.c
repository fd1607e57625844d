/* test_models.c - the benchmark's models, small (as large as they are and over more steps where
 * SCALE and MAX_STEPS are defined so): under every budget that training gets through
 * with, down to the smallest, losses and gradients are those of a run without one, bit for bit, and
 * no more bytes are used than were given.
 *
 * test_models MODEL runs one of them.
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
#define IS_SHORT true
#else
#define IS_SHORT false
#endif
enum { N_RATIOS = 9 };
static const double ratios[N_RATIOS] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1};
static const double closest = 0.02; /* how near the smallest ratio is looked for */

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

typedef struct setting {
    zoo_model model;
    int32_t n_threads;
    outcome want; /* without a budget */
} setting;

static void same(const setting *s, const outcome *got, double r)
{
    for (int i = 0; i < n_steps(&s->model); i++)
        if (s->want.hash[i] != got->hash[i])
            fail_msg("%s at %.3f with %d threads, %s: step %d differs", s->model.name, r,
                     (int)s->n_threads, s->model.adam ? "Adam" : "SGD", i);
}

/* Whether training gets through with that ratio; then it is the same. Where it does not, bytes are
 * missing: what is free can be had in one piece. */
static bool fits(const setting *s, double r)
{
    outcome got;
    const size_t moving = s->want.peak - s->want.pinned;
    const size_t budget = s->want.pinned + (size_t)(r * (double)moving);
    ebb_error_clear();
    ebb_status status = train(&got, &s->model, budget, s->n_threads, false);
    if (getenv("EBB_TEST_VERBOSE"))
        printf("%s, %d threads, %s, at %.3f of %zu + %zu: %s\n", s->model.name,
               (int)s->n_threads, s->model.adam ? "Adam" : "SGD", r, s->want.pinned, moving,
               status == EBB_OK ? "ok" : ebb_error_message());
    if (status != EBB_OK &&
        (status != EBB_E_BUDGET || strstr(ebb_error_message(), "in one piece")))
        fail_msg("%s at %.3f: %s", s->model.name, r, ebb_error_message());
    if (status != EBB_OK) return false;
    same(s, &got, r);
    if (got.peak > budget) fail_msg("%zu bytes were used of %zu", got.peak, budget);
    return true;
}

static void wanted(setting *s)
{
    outcome regions;
    if (train(&s->want, &s->model, 0, s->n_threads, false) != EBB_OK)
        fail_msg("%s: %s", s->model.name, ebb_error_message());
    if (train(&regions, &s->model, 0, s->n_threads, true) != EBB_OK)
        fail_msg("%s in segments: %s", s->model.name, ebb_error_message());
    same(s, &regions, 1);
}

/* The smallest ratio that training gets through with, as it does with all larger ones. */
static double smallest(const setting *s)
{
    double least = 1, most = 0; /* most: the largest it does not get through with */
    for (int i = 0; i < N_RATIOS; i++) {
        if (fits(s, ratios[i]))
            least = most > 0 ? least : ratios[i];
        else if (ratios[i] > most)
            most = ratios[i];
    }
    while (least - most > closest && !getenv("EBB_TEST_SHORT")) {
        const double between = (least + most) / 2;
        if (fits(s, between))
            least = between;
        else
            most = between;
    }
    return least;
}

/* Short: each optimizer with one number of threads. */
static void trains_the_same_under_every_budget_it_fits(void **state)
{
    const zoo_model *model = *state;
    for (int i = IS_SHORT ? 2 : 0; i < 4; i++) {
        const bool other = i % 2;
        setting s = {.model = *model, .n_threads = IS_SHORT ? 1 + other : 1 + i / 2};
        if (other) s.model.adam = !model->adam;
        wanted(&s);
        double least = smallest(&s);
        if (least > 0.6)
            fail_msg("%s needs %.2f of what can move, 0.6 is enough", model->name, least);
    }
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[32];
    size_t n = 0;
    for (int i = 0; i < zoo_n_models; i++)
        if (argc < 2 ? !getenv("EBB_TEST_SHORT") || zoo_models[i].variant <= 64
                     : strcmp(argv[1], zoo_models[i].name) == 0)
            tests[n++] =
                (struct CMUnitTest){.name = zoo_models[i].name,
                                    .test_func = trains_the_same_under_every_budget_it_fits,
                                    .initial_state = (void *)(uintptr_t)&zoo_models[i]};
    return _cmocka_run_group_tests("models", tests, n, NULL, NULL);
}
