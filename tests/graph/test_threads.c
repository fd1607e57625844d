/* test_threads.c - nodes recorded, released and consumed from several threads at once.
 * SPDX-License-Identifier: MIT */
#include "support/graph_fixture.h"
#include "support/graph_program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_THREADS = 4 };

/* cmocka's assertions belong to the main thread; the others leave a word here. */
static _Atomic(const char *) wrong;

static void must(bool holds, const char *what)
{
    if (!holds) atomic_store(&wrong, what);
}

static ebb_graph_space *space_new(void)
{
    ebb_graph_space *space;
    atomic_store(&wrong, NULL);
    assert_int_equal(ebb_graph_space_create(&space, NULL), EBB_OK);
    return space;
}

static void threads_run(int n, void *(*main_of)(void *), void *args, size_t arg_bytes)
{
    pthread_t threads[8];
    for (int i = 0; i < n; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, main_of, (char *)args + (size_t)i * arg_bytes),
            0);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    if (atomic_load(&wrong)) fail_msg("%s", atomic_load(&wrong));
}

static void space_end(ebb_graph_space *space)
{
    const char *fault = ebb__graph_check(space);
    if (fault) fail_msg("%s", fault);
    ebb_graph_space_destroy(space);
}

/* ---- independent graphs that share a parameter ------------------------------------------- */

typedef struct trainer {
    ebb_graph_space *space;
    ebb_graph_node *leaf;
    double *gradient;
    int64_t n_steps;
    int freed;
} trainer;

static ebb_status trainer_leaf(void *user, ebb_graph_node *leaf, void *payload)
{
    (void)payload;
    trainer *t = user;
    ebb__graph_leaf_lock(leaf);
    *t->gradient += 1;
    ebb__graph_leaf_unlock(leaf);
    return EBB_OK;
}

static void *trainer_main(void *arg)
{
    trainer *t = arg;
    ebb_graph_visitor visitor = {.leaf = trainer_leaf, .user = t};
    for (int64_t i = 0; i < t->n_steps; i++) {
        ebb_graph_node *x = ebb_graph_node_keep(t->leaf);
        for (int k = 0; k < 10; k++) {
            ebb_graph_edge edges[2] = {{.node = x}, {.node = t->leaf}};
            ebb_graph_payload payload = {.data = &t->freed, .free = count_free};
            ebb_graph_node *y;
            if (ebb_graph_node_record(&y, t->space, edges, 2, &payload) != EBB_OK) abort();
            ebb_graph_node_release(x);
            x = y;
        }
        if (i % 3 == 0)
            must(ebb_graph_node_state(x) == EBB_GRAPH_LIVE, "a private graph is not live");
        else
            must(ebb_graph_consume(&(ebb_graph_edge){.node = x}, 1, &visitor, NULL) == EBB_OK,
                 "a private backward was refused");
        ebb_graph_node_release(x);
        must(t->freed == 10 * (i + 1), "a private graph was not freed on the spot");
    }
    return NULL;
}

static void threads_share_a_leaf_and_lose_no_contribution(void **state)
{
    (void)state;
    ebb_graph_space *space = space_new();
    double gradient = 0;
    trainer trainers[N_THREADS];
    ebb_graph_node *leaf = leaf_new(space);
    for (int i = 0; i < N_THREADS; i++)
        trainers[i] = (trainer){.space = space,
                                .leaf = leaf,
                                .gradient = &gradient,
                                .n_steps = test_size(30000, 300)};
    threads_run(N_THREADS, trainer_main, trainers, sizeof *trainers);
    int64_t n = trainers[0].n_steps;
    assert_true(gradient == (double)(N_THREADS * (n - (n + 2) / 3)));
    ebb_graph_node_release(leaf);
    space_end(space);
}

/* ---- one web for all --------------------------------------------------------------------- */

enum { N_SLOTS = 12 };

typedef struct web {
    ebb_graph_space *space;
    ebb_graph_node *leaf;
    pthread_mutex_t lock;
    ebb_graph_node *slots[N_SLOTS]; /* each with a handle of the web's */
    atomic_llong n_made, n_freed, n_consumed, n_kept;
} web;

typedef struct web_payload {
    web *w;
    atomic_int freed;
} web_payload;

typedef struct web_thread {
    web *w;
    uint64_t random;
    int64_t n_steps;
} web_thread;

static void web_payload_free(void *data)
{
    web_payload *p = data;
    must(atomic_fetch_add(&p->freed, 1) == 0, "a payload was freed twice");
    atomic_fetch_add(&p->w->n_freed, 1);
    free(p);
}

static ebb_graph_node *web_pick(web_thread *t)
{
    pthread_mutex_lock(&t->w->lock);
    ebb_graph_node *n = ebb_graph_node_keep(t->w->slots[random_below(&t->random, N_SLOTS)]);
    pthread_mutex_unlock(&t->w->lock);
    return n ? n : ebb_graph_node_keep(t->w->leaf);
}

static void web_put(web_thread *t, ebb_graph_node *n)
{
    int32_t slot = random_below(&t->random, N_SLOTS);
    pthread_mutex_lock(&t->w->lock);
    ebb_graph_node *before = t->w->slots[slot];
    t->w->slots[slot] = n;
    pthread_mutex_unlock(&t->w->lock);
    ebb_graph_node_release(before);
}

static ebb_status web_visit(void *user, const ebb_graph_step *step)
{
    (void)user;
    const web_payload *p = step->payload;
    must(p && atomic_load(&p->freed) == 0, "a node was visited without its payload");
    return EBB_OK;
}

static void web_record(web_thread *t)
{
    ebb_graph_edge edges[3];
    uint32_t n = 1 + (uint32_t)random_below(&t->random, 3);
    for (uint32_t i = 0; i < n; i++) edges[i] = (ebb_graph_edge){.node = web_pick(t)};
    web_payload *p = malloc(sizeof *p);
    *p = (web_payload){.w = t->w};
    ebb_graph_payload payload = {.data = p, .free = web_payload_free};
    ebb_graph_node *made;
    if (ebb_graph_node_record(&made, t->w->space, edges, n, &payload) != EBB_OK) abort();
    atomic_fetch_add(&t->w->n_made, 1);
    for (uint32_t i = 0; i < n; i++) ebb_graph_node_release(edges[i].node);
    web_put(t, made);
}

static void web_back(web_thread *t)
{
    ebb_graph_visitor visitor = {.node = web_visit, .user = t};
    ebb_graph_edge root = {.node = web_pick(t)}, input = {.node = t->w->leaf};
    ebb_graph_consume_options o = {
        .keep = random_below(&t->random, 3) == 0, .allow_unused = true, .n_inputs = 1};
    if (random_below(&t->random, 4) == 0) o.inputs = &input;
    ebb_graph_node *chosen = NULL;
    if (random_below(&t->random, 8) == 0) {
        input.node = chosen = web_pick(t);
        o.inputs = &input;
    }
    ebb_status s = ebb_graph_consume(&root, 1, &visitor, &o);
    must(s == EBB_OK || s == EBB_E_GRAPH, "an unexpected status");
    if (s == EBB_OK) atomic_fetch_add(o.keep ? &t->w->n_kept : &t->w->n_consumed, 1);
    if (s == EBB_OK && !o.keep && !o.inputs)
        must(ebb_graph_node_state(root.node) != EBB_GRAPH_LIVE, "a consumed root is live");
    ebb_graph_node_release(chosen);
    ebb_graph_node_release(root.node);
}

static void *web_main(void *arg)
{
    web_thread *t = arg;
    for (int64_t i = 0; i < t->n_steps; i++) {
        int32_t pick = random_below(&t->random, 10);
        if (pick < 6)
            web_record(t);
        else if (pick < 8)
            web_back(t);
        else
            web_put(t, pick == 8 ? NULL : ebb_graph_node_keep(t->w->leaf));
    }
    return NULL;
}

static void threads_share_one_web_of_nodes(void **state)
{
    (void)state;
    web w = {.space = space_new()};
    pthread_mutex_init(&w.lock, NULL);
    w.leaf = leaf_new(w.space);
    web_thread threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        threads[i] = (web_thread){
            .w = &w, .random = (uint64_t)i * 1000 + 5, .n_steps = test_size(100000, 1500)};
    threads_run(N_THREADS, web_main, threads, sizeof *threads);
    const char *fault = ebb__graph_check(w.space);
    if (fault) fail_msg("%s", fault);
    for (int i = 0; i < N_SLOTS; i++) ebb_graph_node_release(w.slots[i]);
    ebb_graph_node_release(w.leaf);
    assert_int_equal(w.n_freed, w.n_made);
    assert_true(w.n_consumed > 0 && w.n_kept > 0);
    space_end(w.space);
    pthread_mutex_destroy(&w.lock);
}

/* ---- races for one node ------------------------------------------------------------------ */

typedef struct race {
    ebb_graph_space *space;
    ebb_graph_node *a, *b, *made;
    pthread_barrier_t *start;
    int kind;
    ebb_status status;
    int freed;
} race;

enum { RACE_CONSUME_A, RACE_CONSUME_B, RACE_KEEP_B, RACE_RECORD_ON_A, RACE_RELEASE_B };

static void *race_main(void *arg)
{
    race *r = arg;
    ebb_graph_edge edge = {
        .node = r->kind == RACE_CONSUME_A || r->kind == RACE_RECORD_ON_A ? r->a : r->b};
    ebb_graph_payload payload = {.data = &r->freed, .free = count_free};
    pthread_barrier_wait(r->start);
    if (r->kind == RACE_RECORD_ON_A)
        r->status = ebb_graph_node_record(&r->made, r->space, &edge, 1, &payload);
    else if (r->kind == RACE_RELEASE_B)
        ebb_graph_node_release(r->b);
    else
        r->status = ebb_graph_consume(
            &edge, 1, NULL, &(ebb_graph_consume_options){.keep = r->kind == RACE_KEEP_B});
    return NULL;
}

/* trunk <- a, trunk <- b: the two kinds run at the same time. */
static void race_run(race r[2], int first, int second, int *trunk_freed)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 2);
    ebb_graph_space *space = r[0].space;
    ebb_graph_node *leaf = leaf_new(space), *trunk = op_new(space, trunk_freed, 1, leaf, NULL);
    ebb_graph_node *a = op_new(space, NULL, 2, trunk, NULL),
                   *b = op_new(space, NULL, 3, trunk, NULL);
    ebb_graph_node_release(trunk);
    ebb_graph_node_release(leaf);
    for (int i = 0; i < 2; i++)
        r[i] =
            (race){.space = space, .a = a, .b = b, .start = &start, .kind = i ? second : first};
    threads_run(2, race_main, r, sizeof *r);
    pthread_barrier_destroy(&start);
}

static void race_release(race r[2])
{
    ebb_graph_node_release(r[0].a);
    if (r[1].kind != RACE_RELEASE_B) ebb_graph_node_release(r[0].b);
    ebb_graph_node_release(r[1].made);
}

static void of_two_backwards_over_one_trunk_exactly_one_wins(void **state)
{
    (void)state;
    race r[2] = {{.space = space_new()}};
    for (int64_t i = 0; i < test_size(2000, 50); i++) {
        int trunk_freed = 0;
        race_run(r, RACE_CONSUME_A, RACE_CONSUME_B, &trunk_freed);
        assert_int_equal((r[0].status == EBB_OK) + (r[1].status == EBB_OK), 1);
        assert_true(r[0].status == EBB_E_GRAPH || r[1].status == EBB_E_GRAPH);
        assert_int_equal(trunk_freed, 1);
        race_release(r);
    }
    space_end(r[0].space);
}

static void a_kept_walk_and_a_consumer_both_succeed(void **state)
{
    (void)state;
    race r[2] = {{.space = space_new()}};
    for (int64_t i = 0; i < test_size(2000, 50); i++) {
        int trunk_freed = 0;
        race_run(r, RACE_CONSUME_A, RACE_KEEP_B, &trunk_freed);
        assert_int_equal(r[0].status, EBB_OK);
        /* The walk may come too late, for its root was severed. */
        assert_true(r[1].status == EBB_OK || r[1].status == EBB_E_GRAPH);
        assert_int_equal(trunk_freed, 1);
        race_release(r);
    }
    space_end(r[0].space);
}

/* A kept walk of b that stands at its root while another thread consumes all of a. */
typedef struct interrupted {
    race consumer;
    int *trunk_freed;
    int n_visits;
} interrupted;

static ebb_status consume_meanwhile(void *user, const ebb_graph_step *step)
{
    (void)step;
    interrupted *w = user;
    if (w->n_visits++ == 0) threads_run(1, race_main, &w->consumer, sizeof w->consumer);
    assert_int_equal(*w->trunk_freed, 0);
    return EBB_OK;
}

static void a_consumer_passes_a_kept_walk_that_stands_still(void **state)
{
    (void)state;
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 1);
    ebb_graph_space *space = space_new();
    int trunk_freed = 0;
    ebb_graph_node *leaf = leaf_new(space), *trunk = op_new(space, &trunk_freed, 1, leaf, NULL);
    ebb_graph_node *a = op_new(space, NULL, 2, trunk, NULL),
                   *b = op_new(space, NULL, 3, trunk, NULL);
    ebb_graph_node_release(trunk);
    ebb_graph_node_release(leaf);
    interrupted w = {{.space = space, .a = a, .b = b, .start = &start, .kind = RACE_CONSUME_A},
                     &trunk_freed,
                     0};
    ebb_graph_visitor visitor = {.node = consume_meanwhile, .user = &w};
    assert_int_equal(ebb_graph_consume(&(ebb_graph_edge){.node = b}, 1, &visitor,
                                       &(ebb_graph_consume_options){.keep = true}),
                     EBB_OK);
    assert_int_equal(w.consumer.status, EBB_OK);
    assert_int_equal(w.n_visits, 2);
    assert_int_equal(trunk_freed, 1);
    assert_int_equal(ebb_graph_node_state(a), EBB_GRAPH_SPENT);
    assert_int_equal(ebb_graph_node_state(b), EBB_GRAPH_SEVERED);
    ebb_graph_node_release(a);
    ebb_graph_node_release(b);
    space_end(space);
    pthread_barrier_destroy(&start);
}

static void what_is_recorded_while_its_input_is_consumed_is_severed(void **state)
{
    (void)state;
    race r[2] = {{.space = space_new()}};
    for (int64_t i = 0; i < test_size(2000, 50); i++) {
        int trunk_freed = 0;
        race_run(r, RACE_CONSUME_A, RACE_RECORD_ON_A, &trunk_freed);
        assert_int_equal(r[0].status, EBB_OK);
        assert_int_equal(r[1].status, EBB_OK);
        assert_int_equal(ebb_graph_node_state(r[1].made), EBB_GRAPH_SEVERED);
        assert_int_equal(ebb_graph_node_tombstone(r[1].made).tag, 2);
        assert_int_equal(r[1].freed, 1);
        race_release(r);
    }
    space_end(r[0].space);
}

static void a_node_released_while_another_thread_severs_it_goes_once(void **state)
{
    (void)state;
    race r[2] = {{.space = space_new()}};
    for (int64_t i = 0; i < test_size(2000, 50); i++) {
        int trunk_freed = 0;
        race_run(r, RACE_CONSUME_A, RACE_RELEASE_B, &trunk_freed);
        assert_int_equal(r[0].status, EBB_OK);
        assert_int_equal(trunk_freed, 1);
        race_release(r);
    }
    space_end(r[0].space);
}

/* ---- the same answers as alone ----------------------------------------------------------- */

typedef struct programmer {
    ebb_graph_space *space;
    bool is_alone; /* in its space, which can be audited at any time */
    uint64_t seed;
    int64_t n_steps;
} programmer;

static void *programmer_main(void *arg)
{
    programmer *t = arg;
    program_shape shape = {.most_nodes = 30,
                           .leaves = 2,
                           .ops = 10,
                           .holds = 1,
                           .drops = 5,
                           .backs = 3,
                           .keeps = true,
                           .inputs = true};
    program p = {0};
    answer a = {0};
    while (t->n_steps > 0) {
        uint64_t random = t->seed++;
        run r = {.space = t->space};
        program_clear(&p);
        while (p.n_steps < 90 && program_grow(&p, &shape, &random)) {
            const program_step *last = &p.steps[p.n_steps - 1];
            run_step(&r, last);
            oracle_answer(&a, &p, p.n_steps);
            const char *difference = run_compare(&r, &a, last, t->is_alone);
            must(difference == NULL, difference);
            t->n_steps--;
        }
        run_release(&r);
        for (int32_t i = 0; i < r.size; i++) free(r.entries[i]);
        free(r.entries);
    }
    answer_free(&a);
    program_free(&p);
    return NULL;
}

static void programs_on_several_threads_get_the_answers_they_get_alone(void **state)
{
    (void)state;
    programmer threads[8];
    for (int n = 2; n <= 8; n++) {
        ebb_graph_space *shared = space_new(), *spaces[8];
        for (int i = 0; i < n; i++) {
            spaces[i] = n % 2 ? space_new() : shared;
            threads[i] = (programmer){.space = spaces[i],
                                      .is_alone = n % 2,
                                      .seed = 77 + 1000000 * (uint64_t)(8 * n + i),
                                      .n_steps = test_size(4000, 200)};
        }
        threads_run(n, programmer_main, threads, sizeof *threads);
        for (int i = 0; i < n && n % 2; i++) space_end(spaces[i]);
        space_end(shared);
    }
}

/* ---- fork -------------------------------------------------------------------------------- */

static int child_main(ebb_graph_space *old, ebb_graph_node *old_leaf)
{
    ebb_graph_node *node;
    ebb_graph_edge edge = {.node = old_leaf};
    if (ebb_graph_node_record(&node, old, &edge, 1, NULL) != EBB_E_MISUSE) return 1;
    if (!strstr(ebb_error_message(), "fork")) return 2;
    if (consume(old_leaf) != EBB_E_MISUSE) return 3;
    ebb_graph_node_release(old_leaf); /* neither hangs nor frees what is the parent's */
    ebb_graph_space *space;
    if (ebb_graph_space_create(&space, NULL) != EBB_OK) return 4;
    ebb_graph_node *leaf, *last;
    if (ebb_graph_leaf_create(&leaf, space, NULL) != EBB_OK) return 5;
    edge.node = leaf;
    if (ebb_graph_node_record(&last, space, &edge, 1, NULL) != EBB_OK) return 6;
    if (consume(last) != EBB_OK) return 7;
    ebb_graph_space_destroy(space);
    ebb_graph_space_destroy(old);
    return 0;
}

static void a_forked_child_is_told_and_works_with_a_space_of_its_own(void **state)
{
    (void)state;
    ebb_graph_space *space = space_new();
    ebb_graph_node *leaf = leaf_new(space);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(child_main(space, leaf));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(consume(leaf), EBB_OK);
    ebb_graph_node_release(leaf);
    space_end(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_leaf_and_lose_no_contribution),
        cmocka_unit_test(threads_share_one_web_of_nodes),
        cmocka_unit_test(of_two_backwards_over_one_trunk_exactly_one_wins),
        cmocka_unit_test(a_kept_walk_and_a_consumer_both_succeed),
        cmocka_unit_test(a_consumer_passes_a_kept_walk_that_stands_still),
        cmocka_unit_test(what_is_recorded_while_its_input_is_consumed_is_severed),
        cmocka_unit_test(a_node_released_while_another_thread_severs_it_goes_once),
        cmocka_unit_test(programs_on_several_threads_get_the_answers_they_get_alone),
        cmocka_unit_test(a_forked_child_is_told_and_works_with_a_space_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
