/* explore_interleavings.c - our own C code under every interleaving of small programs.
 *
 * The layer is compiled with EBB__EXPLORE: taking a lock, giving it back and counting a leaf
 * ask here who goes on. Threads are coroutines of one thread, each run repeats the program from
 * the start with the next choice in depth-first order, and the number of switches that nobody
 * was forced to make is bounded. (Musuvathi and Qadeer, Iterative context bounding, PLDI 2007.)
 * A lock of freed memory, a deadlock, a payload freed twice or never, and whatever the audit
 * finds at the end are faults; the schedule that shows one is printed. The scenarios are those
 * of tests/model, some more, and random ones.
 * SPDX-License-Identifier: MIT */
#include "graph/life.h"
#include "support/graph_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

enum { N_NODES = 7, N_THREADS = 3, N_ACTS = 6, STACK_BYTES = 64 << 10, MOST_CHOICES = 4096 };

/* ---- a scenario -------------------------------------------------------------------------- */

/* kind: r record, b backward, k kept backward, x release, + keep, l drop the leaf; 0 ends. */
typedef struct act {
    char kind;
    int node;
} act;

typedef struct scenario {
    const char *name;
    /* parents: node numbers, -1 none, -2 the leaf; handles: -1 to be recorded by a thread */
    struct {
        int parents[2], handles;
    } nodes[N_NODES];
    act acts[N_THREADS][N_ACTS];
    int n_consumed_least;
} scenario;

#define NONE                                                                                   \
    {                                                                                          \
        {-1, -1}, -3                                                                           \
    }
static const scenario scenarios[] = {
    {"two roots over two trunks, a third thread joins them",
     {{{-2, -1}, 1}, {{-2, -1}, 1}, {{0, -1}, 1}, {{1, -1}, 1}, {{0, 1}, -1}, NONE, NONE},
     {{{'r', 4}, {'b', 4}, {'x', 4}}, {{'b', 2}, {'x', 2}}, {{'b', 3}, {'x', 3}}},
     1},
    {"a shared trunk under a kept walk, a consumer and a recorder",
     {{{-2, -1}, 0}, {{0, -1}, 1}, {{0, -1}, 1}, {{1, -1}, 1}, {{3, -2}, -1}, NONE, NONE},
     {{{'k', 1}, {'x', 1}}, {{'b', 2}, {'x', 2}}, {{'r', 4}, {'x', 3}, {'b', 4}, {'x', 4}}},
     1},
    {"a release cascade against a sever",
     {{{-2, -1}, 0}, {{0, -1}, 0}, {{1, -1}, 2}, {{0, -1}, 1}, {{2, -1}, -1}, NONE, NONE},
     {{{'x', 2}}, {{'b', 3}, {'x', 3}}, {{'r', 4}, {'x', 2}, {'x', 4}}},
     1},
    {"the child of two trunks severed by two consumers",
     {{{-2, -1}, 0},
      {{-2, -1}, 0},
      {{0, 1}, 1},
      {{0, -1}, 1},
      {{1, -1}, 1},
      {{2, 2}, -1},
      NONE},
     {{{'b', 3}, {'x', 3}}, {{'b', 4}, {'x', 4}}, {{'r', 5}, {'x', 2}, {'x', 5}}},
     2},
    {"two consumers and a kept walk over one trunk",
     {{{-2, -1}, 0}, {{0, -1}, 1}, {{0, -1}, 1}, {{1, 2}, 1}, NONE, NONE, NONE},
     {{{'b', 1}, {'x', 1}}, {{'b', 2}, {'x', 2}}, {{'k', 3}, {'x', 3}}},
     1},
    {"a long sever against a recorder at its end",
     {{{-2, -1}, 0},
      {{0, -1}, 0},
      {{1, -1}, 1},
      {{2, -1}, 1},
      {{3, -1}, -1},
      {{0, -1}, 1},
      NONE},
     {{{'b', 5}, {'x', 5}}, {{'r', 4}, {'x', 3}, {'b', 4}, {'x', 4}}, {{'x', 2}}},
     1},
    {"everything at once",
     {{{-2, -1}, 0}, {{0, -1}, 2}, {{0, -1}, 2}, {{1, 2}, -1}, NONE, NONE, NONE},
     {{{'k', 1}, {'x', 1}},
      {{'b', 2}, {'x', 2}},
      {{'r', 3}, {'x', 1}, {'x', 2}, {'b', 3}, {'x', 3}}},
     1},
    {"recorded on two nodes while both are consumed",
     {{{-2, -1}, 2}, {{-2, -1}, 2}, {{0, 1}, -1}, {{0, -1}, 1}, NONE, NONE, NONE},
     {{{'r', 2}, {'x', 2}}, {{'b', 0}, {'x', 0}}, {{'b', 1}, {'x', 1}}},
     2},
    {"one leaf under private graphs",
     {{{-2, -1}, -1}, {{-2, -1}, -1}, {{-2, -2}, -1}, NONE, NONE, NONE, NONE},
     {{{'r', 0}, {'b', 0}, {'x', 0}}, {{'r', 1}, {'b', 1}, {'x', 1}}, {{'r', 2}, {'x', 2}}},
     2},
    {"a leaf dropped under a walk while another severs what uses it",
     {{{-2, -1}, 1}, {{0, -2}, 1}, {{0, -2}, 1}, NONE, NONE, NONE, NONE},
     {{{'k', 1}, {'x', 1}}, {{'b', 0}, {'x', 0}}, {{'l', 0}, {'x', 2}}},
     1},
};

/* ---- the state of one run ---------------------------------------------------------------- */

typedef struct node_run {
    ebb_graph_node *node;
    int handles, freed, consumed;
    bool is_made;
} node_run;

typedef struct coroutine {
    ucontext_t context;
    ebb__lock *waits_for;
    bool is_done;
    pending_list pending; /* the thread-local of the thread this stands for */
    char *stack;
} coroutine;

static struct {
    const scenario *scenario;
    ebb_graph_space *space;
    ebb_graph_node *leaf; /* NULL: its handle was dropped */
    int leaf_freed;
    bool drops_leaf; /* a thread does */
    node_run nodes[N_NODES];
    coroutine threads[N_THREADS];
    ucontext_t outside;
    int current, n_threads; /* current: -1 outside */
    int n_consumed;
    const char *fault;
    /* the schedule: choice i was taken[i] of options[i] */
    int taken[MOST_CHOICES], options[MOST_CHOICES];
    int n_choices, n_fixed, n_preemptions, most_preemptions;
    bool is_two_phase; /* backwards pin first and claim later, as the engine's do */
} x;

static void fault(const char *what)
{
    if (!x.fault) x.fault = what;
}

static bool can_run(int t)
{
    const coroutine *c = &x.threads[t];
    return !c->is_done && (!c->waits_for || atomic_load(&c->waits_for->held) == 0);
}

static void switch_to(int t)
{
    coroutine *from = &x.threads[x.current];
    if (t == x.current) return;
    from->pending = ebb__graph_pending;
    x.current = t;
    ebb__graph_pending = x.threads[t].pending;
    swapcontext(&from->context, &x.threads[t].context);
}

static void leave_all(void)
{
    coroutine *from = &x.threads[x.current];
    x.current = -1;
    swapcontext(&from->context, &x.outside);
}

/* The next thread: option 0 is to go on where that is possible. */
static void choose(void)
{
    int able[N_THREADS], n = 0;
    bool goes_on = can_run(x.current);
    if (goes_on) able[n++] = x.current;
    bool may_preempt = !goes_on || x.n_preemptions < x.most_preemptions;
    for (int t = 0; t < x.n_threads && may_preempt; t++)
        if (t != x.current && can_run(t)) able[n++] = t;
    if (n == 0 || x.fault || x.n_choices == MOST_CHOICES) {
        if (!x.threads[x.current].is_done || n) fault(n ? "a run without end" : "a deadlock");
        leave_all();
        return;
    }
    int pick = 0;
    if (n > 1) {
        if (x.n_choices >= x.n_fixed) x.taken[x.n_choices] = 0;
        x.options[x.n_choices] = n;
        pick = x.taken[x.n_choices++];
    }
    if (goes_on && pick > 0) x.n_preemptions++;
    switch_to(able[pick]);
}

void ebb__explore_point(void)
{
    if (x.current >= 0) choose();
}

void ebb__explore_take(ebb__lock *lock, const ebb_graph_space *space)
{
    if (!space) fault("freed memory was locked");
    if (x.current >= 0) {
        x.threads[x.current].waits_for = lock;
        choose();
        x.threads[x.current].waits_for = NULL;
    }
    atomic_store(&lock->held, 1);
}

void ebb__explore_give(ebb__lock *lock)
{
    atomic_store(&lock->held, 0);
    ebb__explore_point();
}

/* ---- what the threads do ----------------------------------------------------------------- */

static void payload_free(void *data)
{
    ((node_run *)data)->freed++;
}

static void node_record(int id)
{
    ebb_graph_edge edges[2];
    uint32_t n = 0;
    for (int k = 0; k < 2; k++) {
        int parent = x.scenario->nodes[id].parents[k];
        if (parent != -1)
            edges[n++] = (ebb_graph_edge){.node = parent == -2 ? x.leaf : x.nodes[parent].node};
    }
    node_run *made = &x.nodes[id];
    ebb_graph_payload payload = {.data = made, .free = payload_free, .tag = (uint32_t)id};
    if (ebb_graph_node_record(&made->node, x.space, edges, n, &payload) != EBB_OK)
        fault("a record was refused");
    made->is_made = true;
    made->handles = 1;
}

static void leaf_free(void *data)
{
    ++*(int *)data;
}

static ebb_status leaf_visit(void *user, ebb_graph_node *leaf, void *payload)
{
    (void)user;
    ebb__graph_leaf_lock(leaf);
    if (*(int *)payload) fault("a leaf was reached that is gone");
    ebb__graph_leaf_unlock(leaf);
    return EBB_OK;
}

static void rule_run(node_run *visited, bool keep)
{
    if (!visited || visited->freed) fault("a node was visited without its payload");
    if (visited && !keep && ++visited->consumed > 1) fault("a rule ran twice");
}

static ebb_status node_visit(void *keeps, const ebb_graph_step *s)
{
    rule_run(s->payload, keeps != NULL);
    return EBB_OK;
}

static ebb_status backward_in_two_phases(ebb_graph_node *root, bool keep)
{
    ebb__graph_walk w;
    ebb__graph_place place = {.node = root}, input = {.node = x.leaf};
    bool is_chosen = !x.drops_leaf; /* an input must be held */
    EBB_TRY(ebb__graph_walk_begin(&w, &place, 1, is_chosen ? &input : NULL, is_chosen, NULL,
                                  NULL, keep));
    for (int64_t i = 0; i < w.n_nodes; i++) /* versions are checked here, in saved values */
        if (((node_run *)ebb_graph_node_payload(w.nodes[i]))->freed)
            fault("a payload went early");
    ebb__explore_point();
    ebb_status s = ebb__graph_walk_claim(&w);
    for (int64_t i = 0; i < w.n_nodes && s == EBB_OK; i++) {
        rule_run(ebb_graph_node_payload(w.nodes[i]), keep);
        ebb__graph_walk_done(&w, i);
    }
    for (int64_t i = 0; i < w.n_leaves && s == EBB_OK; i++)
        leaf_visit(NULL, w.leaves[i], ebb_graph_node_payload(w.leaves[i]));
    ebb__graph_walk_end(&w);
    return s;
}

static void act_run(const act *a)
{
    node_run *n = &x.nodes[a->node];
    if (a->kind == 'r') {
        node_record(a->node);
    } else if (a->kind == '+') {
        ebb_graph_node_keep(n->node);
        n->handles++;
    } else if (a->kind == 'l') {
        ebb_graph_node *leaf = x.leaf;
        x.leaf = NULL;
        ebb_graph_node_release(leaf);
    } else if (a->kind == 'x') {
        n->handles--;
        ebb_graph_node_release(n->node);
    } else {
        bool keep = a->kind == 'k';
        ebb_graph_visitor visitor = {
            .node = node_visit, .leaf = leaf_visit, .user = keep ? &x : NULL};
        ebb_graph_consume_options o = {.keep = keep};
        ebb_graph_edge root = {.node = n->node};
        ebb_status s = x.is_two_phase ? backward_in_two_phases(n->node, keep)
                                      : ebb_graph_consume(&root, 1, &visitor, &o);
        if (s != EBB_OK && s != EBB_E_GRAPH) fault("an unexpected status");
        x.n_consumed += s == EBB_OK && !keep;
        if (s == EBB_OK && !keep && !n->consumed) fault("a rule did not run");
    }
}

static void thread_main(int t)
{
    for (const act *a = x.scenario->acts[t]; a < x.scenario->acts[t] + N_ACTS && a->kind; a++)
        act_run(a);
    x.threads[t].is_done = true;
    choose();
    leave_all();
}

static void run_setup(void)
{
    x.n_choices = x.n_preemptions = x.n_consumed = x.n_threads = x.leaf_freed = 0;
    x.fault = NULL;
    x.current = -1;
    ebb__graph_pending = (pending_list){0};
    memset(x.nodes, 0, sizeof x.nodes);
    if (ebb_graph_space_create(&x.space, NULL) != EBB_OK) abort();
    ebb_graph_payload payload = {.data = &x.leaf_freed, .free = leaf_free};
    if (ebb_graph_leaf_create(&x.leaf, x.space, &payload) != EBB_OK) abort();
    for (int i = 0; i < N_NODES; i++)
        if (x.scenario->nodes[i].handles >= 0) node_record(i);
    for (int i = 0; i < N_NODES; i++) {
        int wanted = x.scenario->nodes[i].handles;
        for (; wanted >= 0 && x.nodes[i].handles < wanted; x.nodes[i].handles++)
            ebb_graph_node_keep(x.nodes[i].node);
        for (; wanted >= 0 && x.nodes[i].handles > wanted; x.nodes[i].handles--)
            ebb_graph_node_release(x.nodes[i].node);
    }
    x.drops_leaf = false;
    for (int i = 0; i < N_THREADS * N_ACTS; i++)
        x.drops_leaf |= x.scenario->acts[i / N_ACTS][i % N_ACTS].kind == 'l';
    while (x.n_threads < N_THREADS && x.scenario->acts[x.n_threads][0].kind) x.n_threads++;
}

static void run_check(void)
{
    ebb_graph_stats stats;
    const char *audit = ebb__graph_check(x.space);
    if (audit) fault(audit);
    if (x.n_consumed < x.scenario->n_consumed_least) fault("too few backwards succeeded");
    for (int i = 0; i < N_NODES && !x.fault; i++)
        for (; x.nodes[i].handles > 0; x.nodes[i].handles--)
            ebb_graph_node_release(x.nodes[i].node);
    if (x.leaf && x.leaf_freed) fault("a held leaf was freed");
    ebb_graph_node_release(x.leaf);
    if (x.leaf_freed != 1) fault("a leaf was not freed once");
    ebb_graph_stats_get(&stats, x.space);
    if (stats.nodes_created != stats.nodes_freed || stats.leaves) fault("a node was leaked");
    for (int i = 0; i < N_NODES; i++)
        if (x.nodes[i].is_made && x.nodes[i].freed != 1) fault("a payload was not freed once");
}

/* A stack of its own, kept between runs; thread_main(t) runs on it. */
static void thread_prepare(int t)
{
    coroutine *c = &x.threads[t];
    void *kept = c->stack;
    *c = (coroutine){.stack = kept ? kept : malloc(STACK_BYTES)};
    getcontext(&c->context);
    c->context.uc_stack.ss_sp = x.threads[t].stack;
    c->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&c->context, (void (*)(void))thread_main, 1, t);
}

/* One run with the first n_fixed choices given. */
static const char *run_once(void)
{
    run_setup();
    for (int t = 0; t < x.n_threads; t++) thread_prepare(t);
    x.current = 0;
    swapcontext(&x.outside, &x.threads[0].context);
    ebb__graph_pending = (pending_list){0};
    if (!x.fault) run_check();
    if (!x.fault) ebb_graph_space_destroy(x.space); /* else it may be broken: left alone */
    return x.fault;
}

/* The last choice that has an option left is advanced; false where there is none. */
static bool next_schedule(void)
{
    while (x.n_choices > 0 && x.taken[x.n_choices - 1] + 1 == x.options[x.n_choices - 1])
        x.n_choices--;
    if (x.n_choices == 0) return false;
    x.taken[x.n_choices - 1]++;
    x.n_fixed = x.n_choices;
    return true;
}

static void explore(const scenario *s, int most_preemptions, int64_t most_runs)
{
    int64_t n_runs = 0;
    x.scenario = s;
    x.n_fixed = 0;
    x.most_preemptions = most_preemptions;
    do {
        const char *wrong = run_once();
        if (wrong) {
            print_error("%s: run %lld: %s; choices", s->name, (long long)n_runs, wrong);
            for (int i = 0; i < x.n_choices; i++) print_error(" %d", x.taken[i]);
            fail_msg("%s", wrong);
        }
        n_runs++;
    } while (n_runs < most_runs && next_schedule());
    if (getenv("EBB_VERBOSE") && most_runs > 300)
        print_message("%s: %lld runs\n", s->name, (long long)n_runs);
}

/* ---- tests ------------------------------------------------------------------------------- */

static int64_t runs_wanted(void)
{
    const char *wanted = getenv("EBB_EXPLORE_RUNS");
    return wanted ? atoll(wanted) : 60000;
}

static void every_interleaving_with_two_preemptions_is_right(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        x.is_two_phase = form == 1;
        for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
            explore(&scenarios[i], 2, INT64_MAX);
    }
}

static void many_interleavings_with_four_preemptions_are_right(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        x.is_two_phase = form == 1;
        for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
            explore(&scenarios[i], 4, runs_wanted() / 2);
    }
}

static void interleavings_of_random_programs_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < (uint64_t)runs_wanted() / 300; seed++) {
        uint64_t random = seed;
        x.is_two_phase = seed % 2 == 1;
        scenario s = {.name = "random"};
        for (int i = 0; i < N_NODES; i++) {
            s.nodes[i].handles = i < 4 ? 3 : -1;
            for (int k = 0; k < 2; k++) {
                int parent = random_below(&random, (i < 4 ? i : 4) + 1) - 1;
                s.nodes[i].parents[k] = parent >= 0 ? parent : k == 0 ? -2 : -1;
            }
        }
        /* Each thread owns one handle on each of the four nodes and may record one node. */
        for (int t = 0; t < N_THREADS; t++) {
            int n = 0, made = 4 + t;
            if (random_below(&random, 3)) s.acts[t][n++] = (act){'r', made};
            if (n && random_below(&random, 2))
                s.acts[t][n++] = (act){random_below(&random, 2) ? 'b' : 'k', made};
            s.acts[t][n++] =
                (act){random_below(&random, 4) ? 'b' : 'k', random_below(&random, 4)};
            for (int k = 0; k < 2; k++)
                s.acts[t][n++] = (act){'x', random_below(&random, 2) + 2 * k};
        }
        explore(&s, 2, 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_interleaving_with_two_preemptions_is_right),
        cmocka_unit_test(many_interleavings_with_four_preemptions_are_right),
        cmocka_unit_test(interleavings_of_random_programs_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
