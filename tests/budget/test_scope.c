/* test_scope.c - a step in which every handle lives to its end comes to use what one that lets go of
 * everything at its last use would: for every model, small or large beside its parameters.
 *
 * Exact liveness is that of a recorded step: what is there between steps, and each value from
 * the operation that makes it to the last one that reads it.
 * SPDX-License-Identifier: MIT */
#include "api/recorded.h"
#include "budget/models.h"
#include "models/zoo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOOD(call)                                                                             \
    do {                                                                                       \
        if ((call) != EBB_OK) fail_msg("%s", ebb_error_message());                             \
    } while (0)

static size_t exact_of(const ebb_iteration *it)
{
    const ebb__program *p = &it->program;
    int64_t *change = calloc(p->n_steps + 1, sizeof *change), now = 0, most = 0;
    assert_non_null(change);
    for (uint32_t v = 0; v < p->n_vals; v++) {
        uint32_t from = p->made[v], to = from;
        if (p->use[v + 1] > p->use[v]) to = p->uses[p->use[v + 1] - 1];
        bool stays = p->steps[from].kind == EBB__STEP_SOURCE;
        change[stays ? 0 : from] += (int64_t)p->bytes[v];
        if (!stays) change[to + 1] -= (int64_t)p->bytes[v];
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        now += change[i];
        if (now > most) most = now;
    }
    free(change);
    return (size_t)most;
}

/* One step more, which is the largest there is. */
typedef struct trained {
    const char *name;
    ebb_context *ctx;
    ebb_status (*step)(void *user);
    void *user;
} trained;

/* Bookkeeping counts on both sides: handles, which no step in one scope can let go of. */
static void comes_to_exact_liveness(const trained *t, int period)
{
    ebb_stats s;
    size_t exact = 0;
    for (int i = 0; i < period; i++) {
        ebb_recorder *recorder;
        ebb_iteration *it;
        GOOD(ebb_recorder_begin(&recorder, t->ctx));
        GOOD(t->step(t->user));
        GOOD(ebb_recorder_end(&it, recorder));
        size_t bytes = exact_of(it);
        if (bytes > exact) exact = bytes;
        ebb_iteration_destroy(it);
    }
    ebb_stats_reset_peak(t->ctx); /* before the third of each kind */
    for (int i = 0; i < 2 * period; i++) GOOD(t->step(t->user));
    ebb_stats_get(&s, t->ctx);
    size_t allowed = exact + s.peak_by_kind[EBB_KIND_BOOKKEEPING];
    if (getenv("EBB_TEST_VERBOSE"))
        printf("%s: %zu, exact liveness is %zu, bookkeeping %zu: %.3f\n", t->name, s.peak_bytes,
               exact, allowed - exact, (double)s.peak_bytes / (double)allowed);
    if (s.peak_bytes > allowed + allowed / 20)
        fail_msg("%s: %zu bytes, exact liveness is %zu", t->name, s.peak_bytes, allowed);
}

/* ---- the benchmark's models --------------------------------------------------------------- */

static ebb_status zoo_natural(void *user)
{
    zoo_run *run = user;
    ebb_tensor *state[ZOO_STATE] = {NULL};
    EBB_SCOPE(iter);
    if (run->model->begin) run->model->begin(run);
    for (int i = 0; i < run->n_blocks; i++) EBB_TRY(run->model->block(state, run, i));
    run->step++;
    return ebb_minimize(run->opt, state[0], NULL);
}

static void the_models_of_the_benchmark(void **state)
{
    (void)state;
    for (int i = 0; i < zoo_n_models; i++) {
        if (strcmp(zoo_models[i].name, "tree_lstm_random") == 0) continue; /* never the same */
        zoo_run run;
        GOOD(zoo_open(&run, &zoo_models[i], ZOO_TINY, 0, 2, false));
        GOOD(zoo_natural(&run)); /* brings the optimizer's state */
        trained t = {zoo_models[i].name, run.ctx, zoo_natural, &run};
        comes_to_exact_liveness(&t, zoo_models[i].begin ? 8 : 1);
        zoo_close(&run);
    }
}

/* ---- small ones --------------------------------------------------------------------------- */

typedef struct small {
    const model *model;
    ebb_context *ctx;
    ebb_params *params;
    ebb_optimizer *opt;
    ebb_tensor *x;
    int n_layers, width, batch;
} small;

static void small_open(small *m, bool adam, size_t budget)
{
    GOOD(ebb_context_create(
        &m->ctx,
        &(ebb_context_options){.n_threads = 2, .seed = 5, .memory_budget_bytes = budget}));
    GOOD(ebb_params_create(&m->params, m->ctx));
    if (m->model) GOOD(m->model->make(m->params));
    for (int l = 0; l < m->n_layers; l++) {
        ebb_params *layer = ebb_params_sub(m->params, "l%d", l);
        ebb_param(layer, "w", EBB_F32, EBB_SHAPE(m->width, m->width), ebb_xavier_uniform());
        ebb_param(layer, "b", EBB_F32, EBB_SHAPE(m->width), ebb_constant(0.1));
    }
    GOOD(ebb_params_status(m->params));
    GOOD(adam ? ebb_adam_create(&m->opt, m->params, 1e-3, NULL)
              : ebb_sgd_create(&m->opt, m->params, 0.05, NULL));
    EBB_SCOPE(scope);
    if (m->n_layers) m->x = ebb_keep(ebb_ones(m->ctx, EBB_F32, EBB_SHAPE(m->batch, m->width)));
}

static ebb_status model_natural(void *user)
{
    const small *m = user;
    EBB_SCOPE(iter);
    return ebb_minimize(m->opt, m->model->loss(m->params, 0), NULL);
}

static ebb_tensor *layers_loss(const small *m)
{
    ebb_tensor *h = m->x;
    for (int l = 0; l < m->n_layers; l++) {
        ebb_params *layer = ebb_params_sub(m->params, "l%d", l);
        h = ebb_matmul(h, ebb_params_find(layer, "w"));
        h = ebb_mul_scalar(ebb_add(h, ebb_params_find(layer, "b")), 1.5);
        h = l % 2 ? ebb_tanh(h) : ebb_gelu(h, NULL);
    }
    return ebb_mean(ebb_square(h), EBB_ALL);
}

static ebb_status layers_natural(void *user)
{
    const small *m = user;
    EBB_SCOPE(iter);
    return ebb_minimize(m->opt, layers_loss(m), NULL);
}

static void small_models(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * n_models; i++) {
        small m = {.model = &models[i / 2]};
        small_open(&m, i % 2, 0);
        GOOD(model_natural(&m));
        comes_to_exact_liveness(&(trained){m.model->name, m.ctx, model_natural, &m}, 1);
        ebb_context_destroy(m.ctx);
    }
}

/* From values of 256 bytes, of which nothing is learned because handles take more, to parameters of
 * a hundred times what operations make. */
static void layers_of_all_sizes(void **state)
{
    (void)state;
    static const int sizes[][3] = {{8, 8, 8},    {8, 16, 16},  {8, 16, 64},
                                   {8, 32, 256}, {8, 64, 8},   {8, 64, 64},
                                   {4, 256, 8},  {4, 256, 64}, {2, 1024, 4}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int *s = sizes[i / 2];
        char name[64];
        small m = {.n_layers = s[0], .width = s[1], .batch = s[2]};
        snprintf(name, sizeof name, "%d layers of %d, batch %d", s[0], s[1], s[2]);
        small_open(&m, i % 2, 0);
        GOOD(layers_natural(&m));
        comes_to_exact_liveness(&(trained){name, m.ctx, layers_natural, &m}, 1);
        ebb_release(m.x);
        ebb_context_destroy(m.ctx);
    }
}

/* ---- under a budget ------------------------------------------------------------------------ */

enum { LEARNING = 8, KNOWN = 4 };

/* The peak of steps that are known; *n_again: operations run again in them. */
static size_t known_steps(uint64_t *n_again, small *m)
{
    ebb_stats s;
    ebb_room_stats before, after;
    for (int i = 0; i < LEARNING; i++) GOOD(layers_natural(m));
    ebb_stats_reset_peak(m->ctx);
    ebb_room_stats_get(&before, m->ctx);
    for (int i = 0; i < KNOWN; i++) GOOD(layers_natural(m));
    ebb_room_stats_get(&after, m->ctx);
    ebb_stats_get(&s, m->ctx);
    *n_again = after.n_recomputes - before.n_recomputes;
    return s.peak_bytes;
}

/* What nobody reads again stays while there is room, and is what goes when there is none: with the bytes
 * that a step comes to use without a budget, an eighth of them and what a budget keeps, nothing is
 * run again. */
static void a_step_in_one_scope_runs_nothing_again_in_what_it_came_to_use(void **state)
{
    (void)state;
    const size_t kept_by_a_budget = 300 << 10;
    small m = {.n_layers = 8, .width = 64, .batch = 1024};
    uint64_t n_again;
    small_open(&m, false, 0);
    const size_t used = known_steps(&n_again, &m);
    ebb_release(m.x);
    ebb_context_destroy(m.ctx);
    small_open(&m, false, used + used / 8 + kept_by_a_budget);
    known_steps(&n_again, &m);
    assert_int_equal(n_again, 0);
    ebb_release(m.x);
    ebb_context_destroy(m.ctx);
}

/* ---- updates written by hand --------------------------------------------------------------- */

static ebb_status by_hand(void *user)
{
    const small *m = user;
    EBB_SCOPE(iter);
    EBB_TRY(ebb_backward(layers_loss(m), NULL));
    for (int64_t i = 0; i < ebb_params_count(m->params); i++) {
        EBB_NO_GRAD(update);
        ebb_tensor *p = ebb_params_at(m->params, i);
        EBB_TRY(ebb_sub_(p, ebb_mul_scalar(ebb_grad_of(p), 0.05)));
        EBB_TRY(ebb_clear_grad(p));
    }
    return EBB_OK;
}

/* They copy what they write where something given up needs it: with many parameters that would
 * cost more than it gains. */
static void updates_by_hand_never_come_to_use_more(void **state)
{
    (void)state;
    static const int sizes[][3] = {{8, 32, 256}, {8, 64, 8}, {4, 256, 8}, {4, 256, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        small m = {.n_layers = sizes[i][0], .width = sizes[i][1], .batch = sizes[i][2]};
        ebb_stats first, later;
        small_open(&m, false, 0);
        GOOD(by_hand(&m));
        ebb_stats_get(&first, m.ctx);
        for (int k = 0; k < 4; k++) GOOD(by_hand(&m));
        ebb_stats_reset_peak(m.ctx);
        for (int k = 0; k < 4; k++) GOOD(by_hand(&m));
        ebb_stats_get(&later, m.ctx);
        if (later.peak_bytes > first.peak_bytes + first.peak_bytes / 20)
            fail_msg("%d layers of %d: %zu bytes, %zu at first", sizes[i][0], sizes[i][1],
                     later.peak_bytes, first.peak_bytes);
        ebb_release(m.x);
        ebb_context_destroy(m.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_of_the_benchmark),
        cmocka_unit_test(small_models),
        cmocka_unit_test(layers_of_all_sizes),
        cmocka_unit_test(a_step_in_one_scope_runs_nothing_again_in_what_it_came_to_use),
        cmocka_unit_test(updates_by_hand_never_come_to_use_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
