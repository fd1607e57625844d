/* test_shared_programs.c - random programs of two to eight threads over one graph end as some
 * order of their steps, one after the other, would have ended by the definition.
 *
 * Each thread has handles of its own on nodes made before, and records, drops and runs backwards
 * on what it holds. Observed are whether each backward was refused, what it reached, and at the
 * end the state of every held node and whether each payload is there. Then an order is looked
 * for that explains it all. Only a backward that consumes changes what others see, so only these
 * are tried in different orders; every other step is taken as soon as its answer fits: recording
 * early and being severed later is recording late and being born severed.
 * Threads give way inside visits and free callbacks, which run without a lock, so that the calls
 * of several overlap on few processors too.
 * SPDX-License-Identifier: MIT */
#include "support/graph_fixture.h"
#include "support/graph_program.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8, MOST_STEPS = 6, MOST_SETUP = 12, MOST_NODES = 64 };

typedef struct web web;

/* A node by its number; a thread's k-th step makes MOST_SETUP + MOST_STEPS * thread + k. */
typedef struct item {
    web *w;
    ebb_graph_node *node;
    int32_t id, handles;
    bool is_leaf;
    atomic_int freed;
} item;

typedef struct script {
    web *w;
    program_step steps[MOST_STEPS];
    bool ok[MOST_STEPS];          /* observed, of a back */
    uint64_t reached[MOST_STEPS]; /* a bit per node */
    int32_t n_steps, at;          /* at: the step it is in */
    int32_t handles[MOST_NODES];  /* its own; counted while the script is made */
} script;

struct web {
    ebb_graph_space *space;
    item items[MOST_NODES];
    program setup;
    script scripts[MOST_THREADS];
    int32_t n_threads;
    pthread_barrier_t start;
    atomic_int n_faults;
};

/* ---- making a program -------------------------------------------------------------------- */

static void setup_make(web *w, uint64_t *random)
{
    program *p = &w->setup;
    program_clear(p);
    int32_t n = 6 + random_below(random, MOST_SETUP - 5);
    for (int32_t i = 0; i < n; i++) {
        program_step s = {.kind = i < 2 ? STEP_LEAF : STEP_OP};
        if (i >= 2) s.n_parents = 1 + random_below(random, 3);
        for (int32_t k = 0; k < s.n_parents; k++) s.parents[k] = random_below(random, i);
        program_add(p, s);
    }
    for (int32_t t = 0; t < w->n_threads; t++)
        for (int32_t i = 0; i < n; i++)
            if (random_below(random, 3)) {
                program_add(p, (program_step){.kind = STEP_HOLD, .id = i});
                w->scripts[t].handles[i] = 1;
            }
    for (int32_t i = 0; i < n; i++) program_add(p, (program_step){.kind = STEP_DROP, .id = i});
}

static int32_t held_pick(const script *s, uint64_t *random)
{
    int32_t start = random_below(random, MOST_NODES);
    for (int32_t i = 0; i < MOST_NODES; i++)
        if (s->handles[(start + i) % MOST_NODES]) return (start + i) % MOST_NODES;
    return -1;
}

static void script_make(script *s, int32_t thread, int32_t n_steps, uint64_t *random)
{
    for (s->n_steps = 0; s->n_steps < n_steps; s->n_steps++) {
        program_step step = {.kind = STEP_OP, .id = held_pick(s, random)};
        if (step.id < 0) return;
        int32_t pick = random_below(random, 10);
        if (pick < 4) {
            step.n_parents = 1 + random_below(random, 3);
            for (int32_t k = 0; k < step.n_parents; k++) step.parents[k] = held_pick(s, random);
            step.id = MOST_SETUP + MOST_STEPS * thread + s->n_steps;
            if (step.id >= MOST_NODES) return;
            s->handles[step.id] = 1;
        } else if (pick < 8) {
            step.kind = STEP_BACK;
            step.keep = random_below(random, 3) == 0;
            step.has_inputs = random_below(random, 4) == 0;
            step.allow_unused = true;
            if (step.has_inputs) step.parents[step.n_parents++] = held_pick(s, random);
        } else {
            step.kind = STEP_DROP;
            s->handles[step.id] = 0;
        }
        s->steps[s->n_steps] = step;
    }
}

/* ---- running it -------------------------------------------------------------------------- */

static void payload_gone(void *data)
{
    item *it = data;
    if (atomic_fetch_add(&it->freed, 1)) atomic_fetch_add(&it->w->n_faults, 1);
    sched_yield();
}

static ebb_status node_visit(void *user, const ebb_graph_step *step)
{
    script *s = user;
    item *it = step->payload;
    if (!it || atomic_load(&it->freed)) atomic_fetch_add(&s->w->n_faults, 1);
    if (it) s->reached[s->at] |= UINT64_C(1) << it->id;
    sched_yield();
    return EBB_OK;
}

static ebb_status leaf_visit(void *user, ebb_graph_node *leaf, void *payload)
{
    (void)leaf;
    script *s = user;
    s->reached[s->at] |= UINT64_C(1) << ((item *)payload)->id;
    return EBB_OK;
}

static void item_make(web *w, const program_step *step)
{
    item *it = &w->items[step->id];
    *it = (item){.w = w, .id = step->id, .handles = 1, .is_leaf = step->kind == STEP_LEAF};
    ebb_graph_payload payload = {.data = it, .free = payload_gone};
    ebb_graph_edge parents[PROGRAM_PARENTS];
    for (int32_t k = 0; k < step->n_parents; k++)
        parents[k] = (ebb_graph_edge){.node = w->items[step->parents[k]].node};
    ebb_status s = it->is_leaf ? ebb_graph_leaf_create(&it->node, w->space, &payload)
                               : ebb_graph_node_record(&it->node, w->space, parents,
                                                       (uint32_t)step->n_parents, &payload);
    if (s != EBB_OK) atomic_fetch_add(&w->n_faults, 1);
}

static void back_run(script *s, const program_step *step)
{
    web *w = s->w;
    ebb_graph_visitor visitor = {.node = node_visit, .leaf = leaf_visit, .user = s};
    ebb_graph_edge root = {.node = w->items[step->id].node};
    ebb_graph_edge input = {.node = w->items[step->parents[0]].node};
    ebb_graph_consume_options o = {.keep = step->keep,
                                   .allow_unused = true,
                                   .inputs = step->has_inputs ? &input : NULL,
                                   .n_inputs = 1};
    ebb_status status = ebb_graph_consume(&root, 1, &visitor, &o);
    s->ok[s->at] = status == EBB_OK;
    if (status != EBB_OK && status != EBB_E_GRAPH) atomic_fetch_add(&w->n_faults, 1);
}

static void *script_run(void *arg)
{
    script *s = arg;
    pthread_barrier_wait(&s->w->start);
    for (s->at = 0; s->at < s->n_steps; s->at++) {
        const program_step *step = &s->steps[s->at];
        if (step->kind == STEP_OP)
            item_make(s->w, step);
        else if (step->kind == STEP_BACK)
            back_run(s, step);
        else
            ebb_graph_node_release(s->w->items[step->id].node);
        if (s->at % 2) sched_yield();
    }
    return NULL;
}

static void web_run(web *w)
{
    pthread_t threads[MOST_THREADS];
    assert_int_equal(ebb_graph_space_create(&w->space, NULL), EBB_OK);
    for (int32_t i = 0; i < w->setup.n_steps; i++) {
        const program_step *step = &w->setup.steps[i];
        item *it = &w->items[step->id];
        if (step->kind == STEP_HOLD)
            ebb_graph_node_keep(it->node);
        else if (step->kind == STEP_DROP)
            ebb_graph_node_release(it->node);
        else
            item_make(w, step);
    }
    pthread_barrier_init(&w->start, NULL, (unsigned)w->n_threads);
    for (int32_t t = 0; t < w->n_threads; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, script_run, &w->scripts[t]), 0);
    for (int32_t t = 0; t < w->n_threads; t++) pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&w->start);
}

/* ---- explaining what was seen ------------------------------------------------------------ */

/* An order of the steps so far: the program of it, and where each node's number is in that. */
typedef struct order {
    program p;
    answer a;
    int32_t place[MOST_NODES], number[MOST_NODES]; /* node to program and back */
    int64_t n_tried;
} order;

static void order_add(order *o, const program_step *step)
{
    program_step s = *step;
    for (int32_t k = 0; k < s.n_parents; k++) s.parents[k] = o->place[s.parents[k]];
    if (s.kind == STEP_LEAF || s.kind == STEP_OP) {
        o->place[s.id] = o->p.n_nodes;
        o->number[o->p.n_nodes] = s.id;
    } else {
        s.id = o->place[s.id];
    }
    program_add(&o->p, s);
}

/* Appends the thread's next step; false, with nothing appended, where a back would not have
 * answered what it did. */
static bool order_try(order *o, const script *s, int32_t at)
{
    const program_step *step = &s->steps[at];
    order_add(o, step);
    if (step->kind != STEP_BACK) return true;
    oracle_answer(&o->a, &o->p, o->p.n_steps);
    uint64_t reached = 0;
    for (int32_t i = 0; o->a.ok && i < o->p.n_nodes; i++)
        if (o->a.is_reached[i]) reached |= UINT64_C(1) << o->number[i];
    if (o->a.ok == s->ok[at] && reached == s->reached[at]) return true;
    o->p.n_steps--;
    return false;
}

static bool ends_like(order *o, const web *w)
{
    oracle_answer(&o->a, &o->p, o->p.n_steps);
    for (int32_t i = 0; i < o->p.n_nodes; i++) {
        const item *it = &w->items[o->number[i]];
        bool is_held = false;
        for (int32_t t = 0; t < w->n_threads; t++)
            is_held |= w->scripts[t].handles[it->id] != 0;
        if (is_held && (uint8_t)ebb_graph_node_state(it->node) != o->a.state[i]) return false;
        if (!it->is_leaf && (atomic_load(&it->freed) == 0) != o->a.is_alive[i]) return false;
    }
    return true;
}

static bool order_find(order *o, const web *w, const int32_t *done)
{
    int32_t at[MOST_THREADS], n_left = 0;
    memcpy(at, done, sizeof at);
    o->n_tried++;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        n_left = 0;
        for (int32_t t = 0; t < w->n_threads; t++) {
            const script *s = &w->scripts[t];
            for (; at[t] < s->n_steps; at[t]++, goes_on = true) {
                const program_step *step = &s->steps[at[t]];
                bool consumes = step->kind == STEP_BACK && !step->keep && s->ok[at[t]];
                if (consumes || !order_try(o, s, at[t])) break;
            }
            n_left += at[t] < s->n_steps;
        }
    }
    if (n_left == 0) return ends_like(o, w);
    int32_t n_steps = o->p.n_steps, n_nodes = o->p.n_nodes;
    for (int32_t t = 0; t < w->n_threads; t++) {
        if (at[t] == w->scripts[t].n_steps || !order_try(o, &w->scripts[t], at[t])) continue;
        at[t]++;
        if (order_find(o, w, at)) return true;
        at[t]--;
        o->p.n_steps = n_steps;
        o->p.n_nodes = n_nodes;
    }
    return false;
}

static void web_check(web *w, order *o, uint64_t seed)
{
    const char *fault = ebb__graph_check(w->space);
    if (fault) fail_msg("seed %llu: %s", (unsigned long long)seed, fault);
    if (atomic_load(&w->n_faults))
        fail_msg("seed %llu: a payload came or went wrongly", (unsigned long long)seed);
    program_clear(&o->p);
    for (int32_t i = 0; i < w->setup.n_steps; i++) order_add(o, &w->setup.steps[i]);
    if (!order_find(o, w, (int32_t[MOST_THREADS]){0})) {
        program_print(stderr, &w->setup, w->setup.n_steps);
        fail_msg("seed %llu: no order of the steps of %d threads ends like this",
                 (unsigned long long)seed, w->n_threads);
    }
}

static void web_end(web *w)
{
    for (int32_t t = 0; t < w->n_threads; t++)
        for (int32_t i = 0; i < MOST_NODES; i++)
            if (w->scripts[t].handles[i]) ebb_graph_node_release(w->items[i].node);
    ebb_graph_stats stats;
    ebb_graph_stats_get(&stats, w->space);
    assert_int_equal(stats.leaves, 0);
    assert_int_equal(stats.nodes_created, stats.nodes_freed);
    ebb_graph_space_destroy(w->space);
}

static void programs_of_several_threads_over_one_graph_have_an_order(void **state)
{
    (void)state;
    static web w;
    order o = {0};
    int64_t n_programs = test_size(4000, 100);
    for (int32_t n_threads = 2; n_threads <= MOST_THREADS; n_threads++)
        for (int64_t i = 0; i < n_programs; i++) {
            uint64_t seed = (uint64_t)(n_threads * 1000000 + i), random = seed;
            program setup = w.setup;
            w = (web){.n_threads = n_threads, .setup = setup};
            setup_make(&w, &random);
            for (int32_t t = 0; t < n_threads; t++) {
                w.scripts[t].w = &w;
                script_make(&w.scripts[t], t, 2 + 8 / n_threads, &random);
            }
            web_run(&w);
            web_check(&w, &o, seed);
            web_end(&w);
        }
    program_free(&w.setup);
    program_free(&o.p);
    answer_free(&o.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_several_threads_over_one_graph_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
