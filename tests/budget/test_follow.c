/* test_follow.c - under a budget steps that repeat are known again and cost no more than they did
 * before; what is unlike, breaks off or comes from another thread costs nothing but that.
 * SPDX-License-Identifier: MIT */
#include "support/layers_net.h"

#include "autodiff/habit.h"
#include "budget/models.h"
#include "memory/memory.h"

#include <ebb/memory.h>

#include <pthread.h>

enum { MAX_LAYERS = 24, MAX_STEPS = 64, WIDTH = 32, BATCH = 1024 };
/* Steps in which the planner gets through its portfolio in a fiftieth of the time; and where the
 * machine does something else meanwhile, which counts as planning. */
enum { LONG_ENOUGH = 150, MOST_STEPS = 4000 };

/* So many layers have parameters; a step may use a layer more than once. */
static void net_open(net *m, int n_layers, size_t budget)
{
    net_make(m, (net_options){n_layers, WIDTH, BATCH, 1, true, budget});
}

static ebb_tensor *layer(const net *m, ebb_tensor *h, int l)
{
    h = ebb_add(ebb_matmul(h, net_param(m, l, "w")), net_param(m, l, "b"));
    return l % 2 ? ebb_tanh(h) : ebb_gelu(h, NULL);
}

typedef struct route {
    int n;
    unsigned char layer[MAX_LAYERS];
} route;

static route straight(int n)
{
    route r = {.n = n};
    for (int i = 0; i < n; i++) r.layer[i] = (unsigned char)i;
    return r;
}

static ebb_status step(float *loss_out, const net *m, const route *r)
{
    EBB_SCOPE(iter);
    ebb_tensor *h = m->x;
    for (int i = 0; i < r->n; i++) {
        EBB_SCOPE(inner);
        h = ebb_escape(inner, layer(m, h, r->layer[i]));
    }
    ebb_tensor *loss = ebb_mean(ebb_square(h), EBB_ALL);
    EBB_TRY(ebb_minimize(m->opt, loss, NULL));
    return EBB_READ(loss, loss_out, 1);
}

static ebb_room_stats room_of(const net *m)
{
    ebb_room_stats s;
    ebb_room_stats_get(&s, m->ctx);
    return s;
}

/* Half of what can move. */
static size_t half(int n_layers, const route *r)
{
    net m;
    float loss;
    net_open(&m, n_layers, 0);
    for (int i = 0; i < 2; i++) GOOD(step(&loss, &m, r));
    ebb_stats s = case_stats(m.ctx);
    net_close(&m);
    return s.used_bytes + (s.peak_bytes - s.used_bytes) / 2;
}

static void within(const net *m, size_t budget)
{
    ebb_stats s = case_stats(m->ctx);
    if (s.peak_bytes > budget) fail_msg("%zu bytes of %zu", s.peak_bytes, budget);
}

/* Losses of so many steps, the route of step i being routes[which[i]], without a budget. */
static void losses(float *out, int n_layers, const route *routes, const int *which, int n)
{
    net m;
    net_open(&m, n_layers, 0);
    for (int i = 0; i < n; i++) GOOD(step(&out[i], &m, &routes[which[i]]));
    net_close(&m);
}

/* A net whose steps all take this route, in half of what can move; returns the budget. */
static size_t begin(net *m, float *want, const route *r, int n)
{
    const int which[MAX_STEPS] = {0};
    size_t budget = half(r->n, r);
    assert_true(n <= MAX_STEPS);
    losses(want, r->n, r, which, n);
    net_open(m, r->n, budget);
    return budget;
}

static void a_repeated_step_is_known_and_costs_no_more(void **state)
{
    (void)state;
    enum { LAYERS = 16, STEPS = 24 };
    const route r = straight(LAYERS);
    float want[STEPS], loss;
    uint64_t again[STEPS], before = 0;
    net m;
    size_t budget = begin(&m, want, &r, STEPS);
    for (int i = 0; i < STEPS; i++) {
        GOOD(step(&loss, &m, &r));
        assert_memory_equal(&loss, &want[i], sizeof loss);
        ebb_room_stats s = room_of(&m);
        again[i] = s.n_recomputes - before;
        before = s.n_recomputes;
        /* the first has no optimizer's work before it, the second is recorded */
        assert_int_equal(s.n_steps_known, i < 2 ? 0 : i - 1);
    }
    within(&m, budget);
    net_close(&m);
    assert_true(again[1] > 0);
    for (int i = STEPS - 4; i < STEPS; i++) assert_true(again[i] <= again[1]);
}

/* Early values that the end of the forward pass reads: by staleness they are given up first, and
 * made again; known, the next use of the others is further away. */
static ebb_status skipping_step(const net *m, int n)
{
    enum { SKIPS = 4 };
    EBB_SCOPE(iter);
    ebb_tensor *skip[SKIPS], *h = m->x;
    for (int l = 0; l < n + SKIPS; l++) {
        EBB_SCOPE(inner);
        h = ebb_escape(inner, ebb_tanh(ebb_mul(h, net_param(m, l % n, "b"))));
        if (l < SKIPS) skip[l] = h;
    }
    for (int l = 0; l < SKIPS; l++) {
        EBB_SCOPE(sum);
        h = ebb_escape(sum, ebb_add(h, skip[l]));
    }
    return ebb_minimize(m->opt, ebb_mean(ebb_square(h), EBB_ALL), NULL);
}

static void what_is_learned_saves_work(void **state)
{
    (void)state;
    enum { LAYERS = 8, STEPS = 8 };
    net m;
    uint64_t again[STEPS], before = 0;
    net_open(&m, LAYERS, 0);
    for (int i = 0; i < 2; i++) GOOD(skipping_step(&m, LAYERS));
    ebb_stats full = case_stats(m.ctx);
    net_close(&m);
    net_open(&m, LAYERS, full.peak_bytes * 6 / 10);
    for (int i = 0; i < STEPS; i++) {
        GOOD(skipping_step(&m, LAYERS));
        ebb_room_stats s = room_of(&m);
        again[i] = s.n_recomputes - before;
        before = s.n_recomputes;
    }
    net_close(&m);
    if (getenv("EBB_TEST_VERBOSE"))
        for (int i = 0; i < STEPS; i++) printf("step %d: %d again\n", i, (int)again[i]);
    assert_true(again[1] > 0);
    for (int i = 3; i < STEPS; i++) assert_true(again[i] < again[1]);
}

typedef struct watch {
    int n_steps, n_planned, n_exact; /* steps; with a plan; that gave up nothing else */
    double alone, extra, planned;
    bool is_enough;
} watch;

static void watch_step(void *user, ebb_context *ctx)
{
    watch *w = user;
    ebb__follow_stats s;
    ebb__habit_stats(&s, ctx);
    w->n_steps++;
    w->n_exact += w->n_planned > 0 && s.n_chosen == 0; /* the plan is of the step before */
    w->n_planned += s.planned >= 0;
    if (w->n_steps == 2) w->alone = s.extra;
    w->extra = s.extra;
    w->planned = s.planned;
    w->is_enough = w->n_steps >= LONG_ENOUGH && w->n_planned >= LONG_ENOUGH / 2;
}

static void planned_steps_cost(const model *m)
{
    const double tolerance = 1.1;
    watch w = {.n_steps = 0};
    training free_run, run;
    training_options o = {.n_threads = 1, .n_steps = 3};
    GOOD(train(&free_run, m, &o));
    o.budget = free_run.pinned + (free_run.peak - free_run.pinned) / 2;
    training_free(&free_run);
    o.n_steps = MOST_STEPS;
    o.each_step = watch_step;
    o.user = &w;
    o.enough = &w.is_enough;
    GOOD(train(&run, m, &o));
    if (run.peak > o.budget) fail_msg("%zu bytes of %zu", run.peak, o.budget);
    o = (training_options){.n_threads = 1, .n_steps = w.n_steps};
    GOOD(train(&free_run, m, &o));
    assert_true(training_equal(&run, &free_run));
    training_free(&free_run);
    training_free(&run);
    if (getenv("EBB_TEST_VERBOSE"))
        printf(
            "%s: alone %.0f, planned %.0f, run again %.0f; %d of %d steps have a plan, %d do "
            "nothing else\n",
            m->name, w.alone, w.planned, w.extra, w.n_planned, w.n_steps, w.n_exact);
    assert_true(w.alone > 0 && w.extra <= w.alone);
    if (!w.is_enough) fail_msg("%s: %d steps are planned", m->name, w.n_planned);
    if (w.extra > w.planned * tolerance)
        fail_msg("%s: %.0f ns run again, %.0f as planned", m->name, w.extra, w.planned);
    /* a cheaper way is kept to instead: no plan counts on results that go over operands */
    if (w.planned <= w.extra && w.n_exact < w.n_planned / 2)
        fail_msg("%s: %d of %d planned steps give up what the plan says alone", m->name,
                 w.n_exact, w.n_planned);
}

static void a_planned_step_costs_what_the_plan_says(void **state)
{
    (void)state;
    planned_steps_cost(&models[0]);
    planned_steps_cost(&models[1]);
}

/* What a refusal would name after each step, as the planner gets to know more. */
enum { MOST_KNOWN = 12 };
typedef struct figures {
    size_t bytes[MOST_KNOWN];
    int n, n_steps;
    bool is_enough;
} figures;

static void known_note(void *user, ebb_context *ctx)
{
    figures *k = user;
    ebb__follow_stats s;
    ebb__habit_stats(&s, ctx);
    bool is_new = s.known_bytes && (!k->n || k->bytes[k->n - 1] != s.known_bytes);
    if (is_new && k->n < MOST_KNOWN) k->bytes[k->n++] = s.known_bytes;
    k->is_enough = ++k->n_steps >= LONG_ENOUGH && k->n;
}

static void evictions_note(void *user, ebb_context *ctx)
{
    ebb_room_stats s;
    ebb_room_stats_get(&s, ctx);
    *(uint64_t *)user = s.n_evictions;
}

static void known_works(const model *m, size_t budget, const training *free_run, int n_steps)
{
    training run;
    uint64_t n_evictions = 0;
    training_options o = {.budget = budget,
                          .n_threads = 1,
                          .n_steps = n_steps,
                          .each_step = evictions_note,
                          .user = &n_evictions};
    assert_true(budget > free_run->pinned && budget < free_run->peak);
    if (train(&run, m, &o) != EBB_OK)
        fail_msg("%s: %zu was known to work: %s", m->name, budget, ebb_error_message());
    if (!training_equal(&run, free_run))
        fail_msg("%s: trained otherwise in %zu bytes", m->name, budget);
    assert_true(run.peak <= budget && n_evictions > 0);
    training_free(&run);
}

static void the_smallest_budget_known_to_work_works(void **state)
{
    (void)state;
    enum { STEPS = 8 };
    for (int i = 0; i < n_models; i++) {
        figures k = {.n = 0};
        training free_run, run;
        training_options o = {.n_threads = 1, .n_steps = STEPS};
        GOOD(train(&free_run, &models[i], &o));
        o.budget = free_run.pinned + (free_run.peak - free_run.pinned) / 10 * 7;
        o.n_steps = MOST_STEPS;
        o.each_step = known_note;
        o.user = &k;
        o.enough = &k.is_enough;
        GOOD(train(&run, &models[i], &o));
        training_free(&run);
        if (!k.n) fail_msg("%s: none is known after %d steps", models[i].name, k.n_steps);
        if (getenv("EBB_TEST_VERBOSE"))
            printf("%s: peak %zu, pinned %zu, known to work %zu, the last of %d\n",
                   models[i].name, free_run.peak, free_run.pinned, k.bytes[k.n - 1], k.n);
        for (int n = 0; n < k.n; n++) known_works(&models[i], k.bytes[n], &free_run, STEPS);
        training_free(&free_run);
    }
}

typedef enum made { ALLOCATED, EMPTY, COPIED, N_MADE } made;

static ebb_status make(net *m, made how, size_t bytes)
{
    EBB_SCOPE(scope);
    const int64_t n = (int64_t)bytes / 4;
    if (how == EMPTY) return ebb_check(ebb_empty(m->ctx, EBB_F32, EBB_SHAPE(n), EBB_KIND_DATA));
    void *p = how == COPIED ? calloc(1, bytes) : ebb_alloc(m->ctx, bytes, EBB_KIND_DATA);
    if (!p) return ebb_error_status();
    ebb_status status = EBB_OK;
    if (how == COPIED) {
        status = ebb_check(ebb_tensor_copy(m->ctx, EBB_F32, EBB_SHAPE(n), p, bytes));
        free(p);
    } else {
        ebb_free(m->ctx, p, bytes, EBB_KIND_DATA);
    }
    return status;
}

/* Tables of what was learned and given up stay for the next step, until somebody needs their bytes. */
static void what_only_tables_have_can_be_had(void **state)
{
    (void)state;
    enum { LAYERS = 16, STEPS = 8, ENTRIES = 8192 }; /* of the parameters */
    const route r = straight(LAYERS);
    float want[STEPS * N_MADE], loss;
    net m;
    size_t budget = begin(&m, want, &r, STEPS * N_MADE);
    for (int i = 0; i < STEPS * N_MADE; i++) {
        GOOD(step(&loss, &m, &r));
        assert_memory_equal(&loss, &want[i], sizeof loss);
        if (i % STEPS != STEPS - 1) continue;
        assert_true(room_of(&m).n_traces > 0);
        size_t tables = ebb__tables_bytes(m.ctx->memory);
        size_t bytes = ebb__account_free(m.ctx->account) + tables - ENTRIES;
        assert_true(tables > 4 * ENTRIES);
        GOOD(make(&m, (made)(i / STEPS), bytes / 64 * 64));
        assert_true(ebb__tables_bytes(m.ctx->memory) <= ENTRIES);
    }
    assert_true(room_of(&m).n_recomputes > 0);
    within(&m, budget);
    net_close(&m);
}

static void lengths_that_come_again_are_known_again(void **state)
{
    (void)state;
    enum { LAYERS = 16, LENGTHS = 4, ROUNDS = 6, STEPS = LENGTHS * ROUNDS };
    const route routes[LENGTHS] = {straight(10), straight(16), straight(12), straight(14)};
    int which[STEPS];
    float want[STEPS], loss;
    uint64_t known = 0;
    size_t budget = half(LAYERS, &routes[1]);
    net m;
    for (int i = 0; i < STEPS; i++) which[i] = i % LENGTHS;
    losses(want, LAYERS, routes, which, STEPS);
    net_open(&m, LAYERS, budget);
    for (int i = 0; i < STEPS; i++) {
        GOOD(step(&loss, &m, &routes[which[i]]));
        assert_memory_equal(&loss, &want[i], sizeof loss);
        ebb_room_stats s = room_of(&m);
        /* from the third round on each is; the first step of all is like none */
        if (i >= 2 * LENGTHS) assert_int_equal(s.n_steps_known, known + 1);
        known = s.n_steps_known;
    }
    assert_int_equal(room_of(&m).n_traces, LENGTHS);
    within(&m, budget);
    net_close(&m);
}

static route mixed(int n, uint32_t *random)
{
    route r = straight(n);
    for (int k = 0; k < n; k++) {
        *random = *random * 1664525u + 1013904223u;
        r.layer[k] = (unsigned char)((*random >> 16) % (uint32_t)n);
    }
    return r;
}

/* Nothing is kept of them after a while, and what then comes again is known. */
static void steps_that_are_all_different_train_the_same(void **state)
{
    (void)state;
    enum { LAYERS = 12, DIFFERENT = 28, KINDS = 3, STEPS = DIFFERENT + 5 * KINDS };
    route routes[STEPS];
    int which[STEPS];
    float want[STEPS], loss;
    uint32_t random = 7;
    for (int i = 0; i < STEPS; i++) {
        routes[i] = mixed(LAYERS, &random);
        which[i] = i < DIFFERENT ? i : DIFFERENT + (i - DIFFERENT) % KINDS;
    }
    size_t budget = half(LAYERS, &routes[0]);
    net m;
    losses(want, LAYERS, routes, which, STEPS);
    net_open(&m, LAYERS, budget);
    for (int i = 0; i < STEPS; i++) {
        if (i == DIFFERENT) {
            assert_int_equal(room_of(&m).n_steps_known, 0);
            assert_int_equal(room_of(&m).n_traces, 0);
        }
        GOOD(step(&loss, &m, &routes[which[i]]));
        assert_memory_equal(&loss, &want[i], sizeof loss);
    }
    assert_true(room_of(&m).n_steps_known >= KINDS);
    within(&m, budget);
    net_close(&m);
}

static void a_step_that_turns_off_in_the_middle_costs_only_itself(void **state)
{
    (void)state;
    enum { LAYERS = 12, STEPS = 12, OTHER = 6 };
    route routes[2] = {straight(LAYERS), straight(LAYERS)};
    int which[STEPS] = {[OTHER] = 1};
    float want[STEPS], loss;
    for (int k = LAYERS / 2; k < LAYERS; k++) routes[1].layer[k] = 0;
    size_t budget = half(LAYERS, &routes[0]);
    net m;
    losses(want, LAYERS, routes, which, STEPS);
    net_open(&m, LAYERS, budget);
    for (int i = 0; i < STEPS; i++) {
        uint64_t known = room_of(&m).n_steps_known;
        GOOD(step(&loss, &m, &routes[which[i]]));
        assert_memory_equal(&loss, &want[i], sizeof loss);
        bool is_known = room_of(&m).n_steps_known > known;
        /* the step after has other work of the optimizer's before it: layers without a gradient */
        if (i >= 2 && i != OTHER && i != OTHER + 1) assert_true(is_known);
        if (i == OTHER) assert_false(is_known);
    }
    within(&m, budget);
    net_close(&m);
}

static void a_step_that_fails_in_the_middle_costs_only_itself(void **state)
{
    (void)state;
    enum { LAYERS = 12, STEPS = 12, FAILS = 6 };
    const route r = straight(LAYERS);
    float want[STEPS], loss;
    net m;
    size_t budget = begin(&m, want, &r, STEPS);
    for (int i = 0; i < STEPS; i++) {
        if (i == FAILS) {
            EBB_SCOPE(iter);
            ebb_tensor *h = m.x;
            for (int k = 0; k < LAYERS / 2; k++) h = layer(&m, h, k);
            ebb_tensor *large = ebb_expand(ebb_reshape(h, EBB_SHAPE(1, BATCH, WIDTH)),
                                           EBB_SHAPE(64, BATCH, WIDTH));
            large = ebb_mul(large, large);
            assert_null(large);
            REFUSED(EBB_E_BUDGET, ebb_error_status());
        }
        GOOD(step(&loss, &m, &r));
        assert_memory_equal(&loss, &want[i], sizeof loss);
    }
    /* The one that failed and the next are one step, unlike all. */
    assert_int_equal(room_of(&m).n_steps_known, STEPS - 2 - 1);
    within(&m, budget);
    net_close(&m);
}

/* It begins like the step that is followed, whose values are read for longer. */
static void a_forward_that_is_dropped_says_nothing_about_the_step_it_is_like(void **state)
{
    (void)state;
    enum { LAYERS = 12, STEPS = 16 };
    const route r = straight(LAYERS);
    float want[STEPS], loss;
    net m;
    size_t budget = begin(&m, want, &r, STEPS);
    for (int i = 0; i < STEPS; i++) {
        if (i > 2 && i % 4 == 0) {
            EBB_SCOPE(iter);
            ebb_tensor *h = m.x;
            for (int k = 0; k < LAYERS; k++) h = layer(&m, h, k);
            assert_non_null(h);
        }
        uint64_t known = room_of(&m).n_steps_known;
        GOOD(step(&loss, &m, &r));
        assert_memory_equal(&loss, &want[i], sizeof loss);
        if (i > 3 && i % 4) assert_true(room_of(&m).n_steps_known > known);
    }
    within(&m, budget);
    net_close(&m);
}

typedef struct other {
    const net *m;
    ebb_status status;
} other;

static void *other_thread(void *user)
{
    other *o = user;
    EBB_SCOPE(scope);
    o->status = ebb_add(o->m->x, o->m->x) ? EBB_OK : ebb_error_status();
    return NULL;
}

static void a_second_thread_ends_learning(void **state)
{
    (void)state;
    enum { LAYERS = 12, STEPS = 10, COMES = 5 };
    const route r = straight(LAYERS);
    float want[STEPS], loss;
    net m;
    size_t budget = begin(&m, want, &r, STEPS);
    for (int i = 0; i < STEPS; i++) {
        if (i == COMES) {
            pthread_t t;
            other o = {.m = &m, .status = EBB_E_INTERNAL};
            assert_true(room_of(&m).n_traces > 0);
            assert_int_equal(pthread_create(&t, NULL, other_thread, &o), 0);
            pthread_join(t, NULL);
            GOOD(o.status);
        }
        GOOD(step(&loss, &m, &r));
        assert_memory_equal(&loss, &want[i], sizeof loss);
    }
    assert_int_equal(room_of(&m).n_traces, 0);
    within(&m, budget);
    net_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeated_step_is_known_and_costs_no_more),
        cmocka_unit_test(what_is_learned_saves_work),
        cmocka_unit_test(a_planned_step_costs_what_the_plan_says),
        cmocka_unit_test(the_smallest_budget_known_to_work_works),
        cmocka_unit_test(what_only_tables_have_can_be_had),
        cmocka_unit_test(lengths_that_come_again_are_known_again),
        cmocka_unit_test(steps_that_are_all_different_train_the_same),
        cmocka_unit_test(a_step_that_turns_off_in_the_middle_costs_only_itself),
        cmocka_unit_test(a_step_that_fails_in_the_middle_costs_only_itself),
        cmocka_unit_test(a_forward_that_is_dropped_says_nothing_about_the_step_it_is_like),
        cmocka_unit_test(a_second_thread_ends_learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
