/* test_dry.c - what a training step would cost is known before the first one: a run with shapes
 * only records what the real one records, and leaves everything as it was.
 * SPDX-License-Identifier: MIT */
#include "models/zoo.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GOOD(call)                                                                             \
    do {                                                                                       \
        if ((call) != EBB_OK) fail_msg("%s", ebb_error_message());                             \
    } while (0)
#define REFUSED(status, call)                                                                  \
    do {                                                                                       \
        assert_int_equal((call), status);                                                      \
        ebb_error_clear();                                                                     \
    } while (0)

/* ---- the benchmark's models, small ------------------------------------------------------- */

static ebb_status zoo_step_of(void *run)
{
    return zoo_step(run);
}

static zoo_run *open_regions(const zoo_model *model, size_t budget, bool regions)
{
    zoo_run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    if (zoo_open(run, model, ZOO_TINY, budget, 1, regions) != EBB_OK && !budget)
        fail_msg("%s", ebb_error_message());
    return run;
}

static zoo_run *open_model(const zoo_model *model, size_t budget)
{
    return open_regions(model, budget, false);
}

static void close_model(zoo_run *run)
{
    zoo_close(run);
    free(run);
}

static ebb_iteration *dry_of(zoo_run *run)
{
    ebb_iteration *it;
    GOOD(ebb_dry_run(&it, run->ctx, zoo_step_of, run));
    run->step--; /* the function's own count */
    return it;
}

/* The trace as text, but for when values go, which the facts tell of: what is at most 64 bytes may
 * go a little earlier where a parameter is really written. The caller frees it. */
static char *text_of(const ebb_iteration *it)
{
    char path[] = "/tmp/ebb-dry-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    GOOD(ebb_iteration_save(it, path));
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)n, f), n);
    text[n] = '\0';
    fclose(f);
    unlink(path);
    char *to = text, *from = strchr(text, '\n'); /* the first line counts the commands, too */
    while (from) {
        char *end = strchr(from + 1, '\n');
        size_t bytes = end ? (size_t)(end - from) : strlen(from);
        if (from[1] != 'R') {
            memmove(to, from, bytes);
            to += bytes;
        }
        from = end;
    }
    *to = '\0';
    return text;
}

static void a_dry_run_records_what_the_first_step_records(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * zoo_n_models; k++) {
        const int i = k / 2;
        zoo_run *run = open_regions(&zoo_models[i], 0, k % 2);
        ebb_iteration *dry = dry_of(run), *real;
        ebb_recorder *recorder;
        GOOD(ebb_recorder_begin(&recorder, run->ctx));
        GOOD(zoo_step(run));
        GOOD(ebb_recorder_end(&real, recorder));
        ebb_iteration_facts f, g;
        GOOD(ebb_iteration_facts_get(&f, dry));
        GOOD(ebb_iteration_facts_get(&g, real));
        assert_true(f.n_operations > 20);
        assert_int_equal(f.n_operations, g.n_operations);
        assert_int_equal(f.peak_bytes, g.peak_bytes);
        assert_int_equal(f.lower_bound, g.lower_bound);
        assert_true(f.cost == g.cost);
        char *a = text_of(dry), *b = text_of(real);
        if (strcmp(a, b) != 0) fail_msg("%s is recorded otherwise", zoo_models[i].name);
        free(a);
        free(b);
        ebb_iteration_destroy(dry);
        ebb_iteration_destroy(real);
        close_model(run);
    }
}

static uint64_t hash_of(uint64_t hash, ebb_tensor *t)
{
    size_t bytes = ebb_n_bytes(t);
    unsigned char *copy = malloc(bytes);
    assert_non_null(copy);
    GOOD(ebb_read(copy, bytes, ebb_dtype_of(t), t));
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ copy[i]) * UINT64_C(1099511628211);
    free(copy);
    return hash;
}

/* Parameters and buffers after two steps; dry runs before and between. */
static uint64_t trained(const zoo_model *model, bool dry, size_t *bytes)
{
    zoo_run *run = open_model(model, 0);
    uint64_t hash = UINT64_C(14695981039346656037);
    ebb_stats s;
    for (int i = 0; i < 2; i++) {
        if (dry) ebb_iteration_destroy(dry_of(run));
        GOOD(zoo_step(run));
    }
    if (dry) ebb_iteration_destroy(dry_of(run));
    EBB_SCOPE(scope);
    for (int64_t i = 0; i < ebb_params_count(run->params); i++)
        hash = hash_of(hash, ebb_params_at(run->params, i));
    ebb_stats_get(&s, run->ctx);
    *bytes = s.bytes[EBB_KIND_PARAMETER] + s.bytes[EBB_KIND_OPTIMIZER] +
             s.bytes[EBB_KIND_GRADIENT] + s.bytes[EBB_KIND_ACTIVATION] +
             s.bytes[EBB_KIND_TEMPORARY];
    ebb_scope_end(scope);
    close_model(run);
    return hash;
}

static void training_goes_on_as_if_there_had_been_no_dry_run(void **state)
{
    (void)state;
    for (int i = 0; i < zoo_n_models; i++) {
        size_t with, without;
        uint64_t a = trained(&zoo_models[i], true, &with);
        uint64_t b = trained(&zoo_models[i], false, &without);
        if (a != b) fail_msg("%s is trained otherwise", zoo_models[i].name);
        assert_int_equal(with, without);
    }
}

static ebb_status one_step_within(const zoo_model *model, size_t budget)
{
    zoo_run *run = open_model(model, budget);
    ebb_status status = run->opt ? zoo_step(run) : EBB_E_BUDGET;
    close_model(run);
    ebb_error_clear();
    return status;
}

/* Beside the iteration's values: what the operations did not read, and bookkeeping. */
static void what_a_dry_run_says_of_budgets_is_true(void **state)
{
    (void)state;
    const size_t beside = 256 << 10;
    for (int i = 0; i < zoo_n_models; i++) {
        zoo_run *run = open_model(&zoo_models[i], 0);
        ebb_iteration *it = dry_of(run);
        ebb_iteration_facts f;
        ebb_simulation s;
        size_t smallest;
        GOOD(ebb_iteration_facts_get(&f, it));
        GOOD(ebb_iteration_smallest(&smallest, &s, it, 8));
        assert_true(smallest >= f.lower_bound && smallest <= f.peak_bytes);
        ebb_iteration_destroy(it);
        close_model(run);
        assert_int_equal(one_step_within(&zoo_models[i], f.lower_bound - 1), EBB_E_BUDGET);
        assert_int_equal(one_step_within(&zoo_models[i], f.peak_bytes + beside), EBB_OK);
    }
}

static void the_peak_that_is_told_is_that_of_the_step(void **state)
{
    (void)state;
    for (int i = 0; i < zoo_n_models; i++) {
        zoo_run *run = open_model(&zoo_models[i], 0);
        ebb_iteration *it = dry_of(run);
        ebb_iteration_facts f;
        ebb_stats s;
        GOOD(ebb_iteration_facts_get(&f, it));
        ebb_stats_reset_peak(run->ctx);
        GOOD(zoo_step(run));
        ebb_stats_get(&s, run->ctx);
        size_t values = s.peak_bytes - s.peak_by_kind[EBB_KIND_BOOKKEEPING];
        if (values != f.peak_bytes)
            fail_msg("%s: %zu bytes, %zu were told", zoo_models[i].name, values, f.peak_bytes);
        ebb_iteration_destroy(it);
        close_model(run);
    }
}

/* At tenths of what is between the lower bound and the peak. */
static void more_bytes_never_take_longer(const char *name, const ebb_iteration *it)
{
    enum { TENTHS = 10 };
    ebb_iteration_facts f;
    ebb_simulation s;
    double slowdown = INFINITY, bound = INFINITY; /* in less bytes */
    GOOD(ebb_iteration_facts_get(&f, it));
    GOOD(ebb_iteration_simulate(&s, it, f.lower_bound - 1, NULL));
    assert_true(s.is_infeasible && !s.works);
    for (size_t k = 2; k <= TENTHS; k += 2) {
        size_t budget = f.peak_bytes - (f.peak_bytes - f.lower_bound) / TENTHS * (TENTHS - k);
        GOOD(ebb_iteration_simulate(&s, it, budget, NULL));
        double takes = s.works ? s.slowdown : (double)INFINITY;
        if (takes > slowdown)
            fail_msg("%s: %.4f times as long in %zu bytes, %.4f in less", name, takes, budget,
                     slowdown);
        assert_true(s.bound >= 1 && s.bound <= bound && s.bound <= takes);
        if (s.works) assert_true(s.peak_bytes <= budget && (takes > 1) == (k < TENTHS));
        slowdown = takes;
        bound = s.bound;
    }
    assert_true(slowdown == 1 && s.n_evictions == 0);
}

static void more_bytes_are_never_said_to_take_longer(void **state)
{
    (void)state;
    for (int i = 0; i < zoo_n_models; i++) {
        zoo_run *run = open_model(&zoo_models[i], 0);
        ebb_iteration *it = dry_of(run);
        more_bytes_never_take_longer(zoo_models[i].name, it);
        ebb_iteration_destroy(it);
        close_model(run);
    }
}

enum { TRAINED = 5 };

/* What so many steps make of parameters and buffers, and the bytes they have had. */
static ebb_status train_on(uint64_t *hash, ebb_stats *s, const zoo_model *model, size_t budget)
{
    zoo_run *run = open_model(model, budget);
    ebb_status status = run->opt ? EBB_OK : EBB_E_BUDGET;
    ebb_scope scope = ebb_scope_begin(0, NULL);
    *hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < TRAINED && status == EBB_OK; i++) status = zoo_step(run);
    if (status == EBB_OK) {
        ebb_stats_get(s, run->ctx);
        for (int64_t i = 0; i < ebb_params_count(run->params); i++)
            *hash = hash_of(*hash, ebb_params_at(run->params, i));
    }
    ebb_scope_end(scope);
    close_model(run);
    return status;
}

/* As docs/memory.md says: a quarter more than simulated, bookkeeping, and what the optimizer makes
 * in the first step, which the later ones have from their beginning. */
static void the_smallest_budget_that_is_told_trains(void **state)
{
    (void)state;
    for (int i = 0; i < zoo_n_models; i++) {
        const zoo_model *model = &zoo_models[i];
        zoo_run *run = open_model(model, 0);
        ebb_iteration *it = dry_of(run);
        ebb_iteration_facts f;
        ebb_stats s, ample;
        size_t smallest;
        uint64_t want, got;
        GOOD(ebb_iteration_facts_get(&f, it));
        GOOD(ebb_iteration_smallest(&smallest, NULL, it, 2));
        ebb_iteration_destroy(it);
        close_model(run);
        GOOD(train_on(&want, &ample, model, 2 * f.peak_bytes));
        GOOD(train_on(&want, &s, model, 0));
        size_t budget = smallest + smallest / 4 + ample.bytes[EBB_KIND_OPTIMIZER] +
                        ample.peak_by_kind[EBB_KIND_BOOKKEEPING];
        assert_true(budget < ample.peak_bytes);
        if (train_on(&got, &s, model, budget) != EBB_OK)
            fail_msg("%s: %zu bytes were said to do: %s", model->name, budget,
                     ebb_error_message());
        if (got != want) fail_msg("%s is trained otherwise in %zu", model->name, budget);
        assert_true(s.peak_bytes <= budget);
    }
}

/* ---- far more than there is -------------------------------------------------------------- */

typedef struct net {
    ebb_context *ctx;
    ebb_params *params;
    ebb_optimizer *adam;
    int64_t batch;
} net;
enum { LAYERS = 8, WIDTH = 1024 };

static ebb_status net_step(void *user)
{
    net *n = user;
    ebb_tensor *h = ebb_empty(n->ctx, EBB_F32, EBB_SHAPE(n->batch, WIDTH), EBB_KIND_DATA);
    for (int64_t i = 0; i < LAYERS; i++)
        h = ebb_dropout(ebb_relu(ebb_matmul(h, ebb_params_at(n->params, i))), 0.1);
    return ebb_minimize(n->adam, ebb_mean(ebb_square(h), EBB_ALL), NULL);
}

static void a_step_of_gigabytes_is_tried_in_the_bytes_of_its_parameters(void **state)
{
    (void)state;
    const size_t budget = 64 << 20;
    net n = {.batch = 65536};
    ebb_iteration *it;
    ebb_iteration_facts f;
    ebb_stats s;
    GOOD(ebb_context_create(&n.ctx, &(ebb_context_options){.memory_budget_bytes = budget}));
    GOOD(ebb_params_create(&n.params, n.ctx));
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", i);
        ebb_param(n.params, name, EBB_F32, EBB_SHAPE(WIDTH, WIDTH), ebb_xavier_uniform());
    }
    GOOD(ebb_params_status(n.params));
    GOOD(ebb_adam_create(&n.adam, n.params, 0.001, NULL));
    GOOD(ebb_dry_run(&it, n.ctx, net_step, &n));
    GOOD(ebb_iteration_facts_get(&f, it));
    /* The least that a backward reads: what relu made and what dropout made, of each layer. */
    assert_true(f.peak_bytes > (size_t)LAYERS * 65536 * WIDTH * 4);
    ebb_stats_get(&s, n.ctx);
    assert_true(s.peak_bytes <= budget);
    assert_true(s.bytes[EBB_KIND_OPTIMIZER] == 0 && s.bytes[EBB_KIND_GRADIENT] == 0);
    ebb_iteration_destroy(it);
    ebb_context_destroy(n.ctx);
}

/* ---- what it refuses --------------------------------------------------------------------- */

typedef struct probe {
    ebb_context *ctx;
    ebb_tensor *w, *x, *graph, *kept;
    int32_t what;
} probe;
enum {
    READS,
    ITEM,
    MAPS,
    SHAPE_OF_VALUES,
    MAPS_FOR_WRITING,
    USES_UP_A_GRAPH,
    REBINDS,
    AGAIN,
    FAILS,
    N_PROBES
};

static ebb_status same(void *user)
{
    (void)user;
    return EBB_OK;
}

static ebb_status probe_step(void *user)
{
    probe *p = user;
    ebb_view v;
    double out[4];
    ebb_iteration *it;
    ebb_tensor *y = ebb_mul(p->w, p->x);
    EBB_TRY(ebb_backward(ebb_sum(y, EBB_ALL), NULL));
    EBB_TRY(ebb_clear_grad(p->w));
    EBB_TRY(ebb_backward(ebb_sum(ebb_mul(p->w, p->x), EBB_ALL), NULL));
    assert_true(ebb_is_dry_run(p->ctx));
    p->kept = ebb_keep(y);
    switch (p->what) {
    case READS:
        return ebb_read(out, sizeof out, EBB_F64, y);
    case ITEM:
        return isnan(ebb_item(ebb_sum(y, EBB_ALL))) ? ebb_error_status() : EBB_OK;
    case MAPS:
        return ebb_map(&v, y, EBB_MAP_READ);
    case SHAPE_OF_VALUES:
        return ebb_nonzero(y) ? EBB_OK : ebb_error_status();
    case MAPS_FOR_WRITING:
        return ebb_map(&v, p->x, EBB_MAP_WRITE);
    case USES_UP_A_GRAPH:
        return ebb_backward(ebb_sum(ebb_mul(p->graph, p->x), EBB_ALL), NULL);
    case REBINDS:
        return ebb_mul_(p->graph, p->x);
    case AGAIN:
        return ebb_dry_run(&it, p->ctx, same, NULL);
    default:
        return ebb_add(p->x, ebb_zeros(p->ctx, EBB_F32, EBB_SHAPE(3))) ? EBB_OK
                                                                       : ebb_error_status();
    }
}

static void probe_open(probe *p)
{
    GOOD(ebb_context_create(&p->ctx, NULL));
    float w[4] = {1, 2, 3, 4}, x[4] = {5, 6, 7, 8};
    p->w = ebb_keep(EBB_FROM(p->ctx, EBB_SHAPE(4), w, 4));
    p->x = ebb_keep(EBB_FROM(p->ctx, EBB_SHAPE(4), x, 4));
    GOOD(ebb_set_requires_grad(p->w, true));
    GOOD(ebb_backward(ebb_sum(ebb_square(p->w), EBB_ALL), NULL)); /* a gradient: 2 w */
    p->graph = ebb_keep(ebb_mul(p->w, p->x));
}

static void expect(ebb_tensor *t, double a, double b, double c, double d)
{
    double got[4] = {0}, want[4] = {a, b, c, d};
    GOOD(ebb_read(got, sizeof got, EBB_F64, t));
    for (int i = 0; i < 4; i++) assert_true(got[i] == want[i]);
}

static void what_needs_values_is_refused_and_nothing_has_changed(void **state)
{
    (void)state;
    static const ebb_status want[N_PROBES] = {
        EBB_E_UNSUPPORTED, EBB_E_UNSUPPORTED, EBB_E_UNSUPPORTED,
        EBB_E_UNSUPPORTED, EBB_E_UNSUPPORTED, EBB_E_UNSUPPORTED,
        EBB_E_UNSUPPORTED, EBB_E_MISUSE,      EBB_E_SHAPE};
    EBB_SCOPE(scope);
    probe p = {0};
    probe_open(&p);
    for (p.what = 0; p.what < N_PROBES; p.what++) {
        ebb_iteration *it = (ebb_iteration *)&p;
        REFUSED(want[p.what], ebb_dry_run(&it, p.ctx, probe_step, &p));
        assert_null(it);
        assert_false(ebb_is_dry_run(p.ctx));
        expect(p.w, 1, 2, 3, 4);
        expect(p.x, 5, 6, 7, 8);
        expect(p.graph, 5, 12, 21, 32);
        expect(ebb_grad_of(p.w), 2, 4, 6, 8);
        /* It has outlived the run, and has no values. */
        double out[4];
        REFUSED(EBB_E_UNSUPPORTED, ebb_read(out, sizeof out, EBB_F64, p.kept));
        assert_null(ebb_neg(p.kept));
        REFUSED(EBB_E_UNSUPPORTED, ebb_error_status());
        ebb_release(p.kept);
    }
    GOOD(ebb_clear_grad(p.w));
    GOOD(ebb_backward(ebb_sum(p.graph, EBB_ALL), NULL)); /* nobody has used it up */
    expect(ebb_grad_of(p.w), 5, 6, 7, 8);
    ebb_release(p.graph);
    ebb_release(p.w);
    ebb_release(p.x);
    ebb_scope_end(scope);
    ebb_context_destroy(p.ctx);
}

static ebb_status writing_step(void *user)
{
    probe *p = user;
    static const float other[4] = {9, 9, 9, 9};
    EBB_TRY(ebb_write(p->x, EBB_F32, other, sizeof other));
    EBB_TRY(ebb_add_(p->x, p->x));
    ebb_tensor *y = ebb_mul_scalar(p->x, 2);
    EBB_TRY(ebb_exp_(y));
    ebb_tensor *drawn = ebb_dropout(y, 0.5);
    return drawn ? ebb_backward(ebb_sum(ebb_mul(drawn, p->w), EBB_ALL), NULL)
                 : ebb_error_status();
}

static void writes_in_a_dry_run_write_nothing(void **state)
{
    (void)state;
    EBB_SCOPE(scope);
    probe p = {0};
    ebb_iteration *it;
    probe_open(&p);
    GOOD(ebb_dry_run(&it, p.ctx, writing_step, &p));
    ebb_iteration_destroy(it);
    expect(p.x, 5, 6, 7, 8);
    expect(ebb_grad_of(p.w), 2, 4, 6, 8);
    ebb_release(p.graph);
    ebb_release(p.w);
    ebb_release(p.x);
    ebb_scope_end(scope);
    ebb_context_destroy(p.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dry_run_records_what_the_first_step_records),
        cmocka_unit_test(training_goes_on_as_if_there_had_been_no_dry_run),
        cmocka_unit_test(what_a_dry_run_says_of_budgets_is_true),
        cmocka_unit_test(the_peak_that_is_told_is_that_of_the_step),
        cmocka_unit_test(more_bytes_are_never_said_to_take_longer),
        cmocka_unit_test(the_smallest_budget_that_is_told_trains),
        cmocka_unit_test(a_step_of_gigabytes_is_tried_in_the_bytes_of_its_parameters),
        cmocka_unit_test(what_needs_values_is_refused_and_nothing_has_changed),
        cmocka_unit_test(writes_in_a_dry_run_write_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
