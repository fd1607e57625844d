/* test_deep_graphs.c - a million nodes in a row or side by side, on a stack of 256 KiB.
 * SPDX-License-Identifier: MIT */
#include "support/graph_fixture.h"

#include <stdlib.h>
#include <time.h>

/* cmocka's assertions jump between stacks, so the small-stack runs report instead. */
typedef struct deep {
    ebb_graph_space *space;
    int64_t n;
    int freed;
    int64_t n_visited;
    const char *wrong;
} deep;

static void deep_begin(deep *d)
{
    *d = (deep){.n = test_size(1000000, 20000)};
    assert_int_equal(ebb_graph_space_create(&d->space, NULL), EBB_OK);
}

static void deep_end(deep *d)
{
    if (d->wrong) fail_msg("%s", d->wrong);
    assert_null(ebb__graph_check(d->space));
    ebb_graph_space_destroy(d->space);
}

static ebb_status visit_count(void *user, const ebb_graph_step *step)
{
    (void)step;
    ((deep *)user)->n_visited++;
    return EBB_OK;
}

static void chain_consume(void *user)
{
    deep *d = user;
    ebb_graph_node *leaf = leaf_new(d->space),
                   *last = chain_new(d->space, leaf, d->n, &d->freed);
    ebb_graph_visitor visitor = {.node = visit_count, .user = d};
    if (ebb_graph_consume(&(ebb_graph_edge){.node = last}, 1, &visitor, NULL) != EBB_OK)
        d->wrong = "refused";
    if (d->n_visited != d->n || d->freed != d->n) d->wrong = "not all were visited and freed";
    ebb_graph_node_release(last);
    ebb_graph_node_release(leaf);
}

static void a_chain_of_a_million_runs_backward(void **state)
{
    (void)state;
    deep d;
    deep_begin(&d);
    run_on_small_stack(chain_consume, &d);
    deep_end(&d);
}

static void chain_release(void *user)
{
    deep *d = user;
    ebb_graph_node *leaf = leaf_new(d->space),
                   *last = chain_new(d->space, leaf, d->n, &d->freed);
    ebb_graph_node_release(leaf);
    ebb_graph_node_release(last);
    if (d->freed != d->n) d->wrong = "a dropped chain is not freed on the spot";
}

static void a_dropped_chain_of_a_million_is_freed(void **state)
{
    (void)state;
    deep d;
    deep_begin(&d);
    run_on_small_stack(chain_release, &d);
    deep_end(&d);
}

/* The chain hangs on a spent node. */
static void chain_sever(void *user)
{
    deep *d = user;
    ebb_graph_node *leaf = leaf_new(d->space),
                   *trunk = op_new(d->space, &d->freed, 7, leaf, NULL);
    ebb_graph_node *last = chain_new(d->space, trunk, d->n, &d->freed);
    if (consume(trunk) != EBB_OK) d->wrong = "refused";
    if (d->freed != d->n + 1) d->wrong = "severed nodes keep their payload";
    if (ebb_graph_node_state(last) != EBB_GRAPH_SEVERED) d->wrong = "the end is not severed";
    if (ebb_graph_node_tombstone(last).tag != 7) d->wrong = "the tombstone names another node";
    ebb_graph_node_release(last);
    ebb_graph_node_release(trunk);
    ebb_graph_node_release(leaf);
}

static void a_chain_of_a_million_is_severed(void **state)
{
    (void)state;
    deep d;
    deep_begin(&d);
    run_on_small_stack(chain_sever, &d);
    deep_end(&d);
}

/* x = x + x: n nodes, 2^n paths. */
static void doublings(void *user)
{
    deep *d = user;
    ebb_graph_node *x = leaf_new(d->space);
    for (int64_t i = 0; i < d->n; i++) {
        ebb_graph_node *y = op_new(d->space, &d->freed, 0, x, x, NULL);
        ebb_graph_node_release(x);
        x = y;
    }
    ebb_graph_visitor visitor = {.node = visit_count, .user = d};
    if (ebb_graph_consume(&(ebb_graph_edge){.node = x}, 1, &visitor, NULL) != EBB_OK)
        d->wrong = "refused";
    if (d->n_visited != d->n) d->wrong = "a node was visited more or less than once";
    ebb_graph_node_release(x);
}

static void a_million_doublings_visit_each_node_once(void **state)
{
    (void)state;
    deep d;
    deep_begin(&d);
    run_on_small_stack(doublings, &d);
    deep_end(&d);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time to record n held children of one node and to release them in the given order. */
static double fan_seconds(int64_t n, int order, int *freed)
{
    ebb_graph_space *space;
    assert_int_equal(ebb_graph_space_create(&space, NULL), EBB_OK);
    ebb_graph_node *leaf = leaf_new(space), *trunk = op_new(space, NULL, 0, leaf, NULL);
    ebb_graph_node **children = malloc((size_t)n * sizeof *children);
    double start = seconds();
    for (int64_t i = 0; i < n; i++) children[i] = op_new(space, freed, 0, trunk, NULL);
    for (int64_t i = 0; i < n; i++)
        ebb_graph_node_release(children[order == 0   ? i
                                        : order == 1 ? n - 1 - i
                                                     : i * 7919 % n]);
    double taken = seconds() - start;
    assert_int_equal(*freed, n);
    assert_int_equal(ebb_graph_node_state(trunk), EBB_GRAPH_LIVE);
    free(children);
    assert_null(ebb__graph_check(space));
    ebb_graph_space_destroy(space);
    return taken;
}

/* A list searched at each release would take ten minutes. n is no multiple of 7919, so that order visits each once. */
static void a_fan_of_a_million_is_released_in_any_order_in_linear_time(void **state)
{
    (void)state;
    for (int order = 0; order < 3; order++) {
        int freed = 0;
        assert_true(fan_seconds(test_size(1000000, 10000), order, &freed) < 60);
    }
}

static void a_fan_of_a_million_is_severed(void **state)
{
    (void)state;
    deep d;
    deep_begin(&d);
    ebb_graph_node *leaf = leaf_new(d.space), *trunk = op_new(d.space, NULL, 0, leaf, NULL);
    ebb_graph_node **children = malloc((size_t)d.n * sizeof *children);
    for (int64_t i = 0; i < d.n; i++) children[i] = op_new(d.space, &d.freed, 0, trunk, NULL);
    assert_int_equal(consume(trunk), EBB_OK);
    assert_int_equal(d.freed, d.n);
    for (int64_t i = 0; i < d.n; i++) ebb_graph_node_release(children[i]);
    free(children);
    deep_end(&d);
}

/* Every step's metric is held; the state is dropped at the end. */
static void a_dropped_unroll_with_a_held_metric_per_step_goes_at_once(void **state)
{
    (void)state;
    deep d;
    deep_begin(&d);
    ebb_graph_node *leaf = leaf_new(d.space), *h = ebb_graph_node_keep(leaf);
    ebb_graph_node **metrics = malloc((size_t)d.n * sizeof *metrics);
    for (int64_t i = 0; i < d.n; i++) {
        ebb_graph_node *next = op_new(d.space, &d.freed, 0, h, NULL);
        ebb_graph_node_release(h);
        h = next;
        metrics[i] = op_new(d.space, &d.freed, 0, h, NULL);
    }
    ebb_graph_node_release(h);
    assert_int_equal(d.freed, 0); /* the last metric needs them all */
    for (int64_t i = 0; i < d.n - 1; i++) ebb_graph_node_release(metrics[i]);
    assert_int_equal(d.freed, d.n - 1);
    ebb_graph_node_release(metrics[d.n - 1]);
    assert_int_equal(d.freed, 2 * d.n);
    free(metrics);
    deep_end(&d);
}

typedef struct ordered {
    uint32_t tag; /* of the node visited before */
    int64_t n, n_wrong;
} ordered;

static ebb_status visit_descending(void *user, const ebb_graph_step *step)
{
    ordered *o = user;
    o->n_wrong += step->tag != o->tag - 1;
    o->tag = step->tag;
    o->n++;
    return EBB_OK;
}

/* Two chains recorded in turns: discovery alternates between them in the wrong order. */
static void backward_visits_a_large_graph_newest_first(void **state)
{
    (void)state;
    deep d;
    deep_begin(&d);
    uint32_t tag = 0, n = (uint32_t)d.n / 2;
    ebb_graph_node *leaf = leaf_new(d.space), *ends[2] = {leaf, leaf};
    ebb_graph_node_keep(leaf);
    for (uint32_t i = 0; i < 2 * n; i++) {
        ebb_graph_node *next = op_new(d.space, &d.freed, tag++, ends[i % 2], NULL);
        ebb_graph_node_release(ends[i % 2]);
        ends[i % 2] = next;
    }
    ebb_graph_edge root = {.node = op_new(d.space, &d.freed, tag++, ends[0], ends[1], NULL)};
    for (int i = 0; i < 2; i++) ebb_graph_node_release(ends[i]);
    ordered o = {.tag = tag};
    ebb_graph_visitor visitor = {.node = visit_descending, .user = &o};
    assert_int_equal(ebb_graph_consume(&root, 1, &visitor, NULL), EBB_OK);
    assert_int_equal(o.n, 2 * n + 1);
    assert_int_equal(o.n_wrong, 0);
    ebb_graph_node_release(root.node);
    assert_int_equal(d.freed, 2 * n + 1);
    deep_end(&d);
}

static void a_node_with_a_thousand_parents_is_an_ordinary_node(void **state)
{
    (void)state;
    enum { N = 1000 };
    deep d;
    deep_begin(&d);
    ebb_graph_node *leaf = leaf_new(d.space), *nodes[N], *all[2];
    ebb_graph_edge edges[N];
    for (int i = 0; i < N; i++) {
        nodes[i] = op_new(d.space, &d.freed, 0, leaf, NULL);
        edges[i] = (ebb_graph_edge){.node = nodes[i], .output = (uint32_t)i};
    }
    ebb_graph_payload payload = {.data = &d.freed, .free = count_free};
    for (int i = 0; i < 2; i++)
        assert_int_equal(ebb_graph_node_record(&all[i], d.space, edges, N, &payload), EBB_OK);
    for (int i = 0; i < N; i++) ebb_graph_node_release(nodes[i]);
    ebb_graph_node_release(all[0]);
    assert_int_equal(d.freed, 1);
    assert_null(ebb__graph_check(d.space));
    ebb_graph_visitor visitor = {.node = visit_count, .user = &d};
    assert_int_equal(ebb_graph_consume(&(ebb_graph_edge){.node = all[1]}, 1, &visitor, NULL),
                     EBB_OK);
    assert_int_equal(d.n_visited, N + 1);
    assert_int_equal(d.freed, N + 2);
    ebb_graph_node_release(all[1]);
    deep_end(&d);
}

static void a_walk_to_a_recent_node_does_not_meet_the_whole_past(void **state)
{
    (void)state;
    graph_memory memory;
    graph_memory_init(&memory, 0);
    ebb_graph_space *space;
    ebb_graph_space_options options = {.allocator = &memory.allocator};
    assert_int_equal(ebb_graph_space_create(&space, &options), EBB_OK);
    ebb_graph_node *leaf = leaf_new(space), *input = chain_new(space, leaf, 100000, NULL);
    ebb_graph_node *root = chain_new(space, input, 10, NULL);
    deep d = {0};
    ebb_graph_visitor visitor = {.node = visit_count, .user = &d};
    ebb_graph_edge from = {.node = root}, to = {.node = input};
    ebb_graph_consume_options o = {.inputs = &to, .n_inputs = 1};
    for (int keep = 1; keep >= 0; keep--) {
        d.n_visited = 0;
        o.keep = keep;
        assert_int_equal(ebb_graph_consume(&from, 1, &visitor, &o), EBB_OK);
        assert_int_equal(d.n_visited, 11);
    }
    assert_int_equal(ebb_graph_node_state(input), EBB_GRAPH_LIVE);
    assert_in_range(memory.largest, 1, 64 << 10); /* pages for nodes; the walks took less */
    assert_null(ebb__graph_check(space));
    ebb_graph_node_release(root);
    ebb_graph_node_release(input);
    ebb_graph_node_release(leaf);
    ebb_graph_space_destroy(space);
    assert_int_equal(memory.n_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_a_million_runs_backward),
        cmocka_unit_test(a_dropped_chain_of_a_million_is_freed),
        cmocka_unit_test(a_chain_of_a_million_is_severed),
        cmocka_unit_test(a_million_doublings_visit_each_node_once),
        cmocka_unit_test(a_fan_of_a_million_is_released_in_any_order_in_linear_time),
        cmocka_unit_test(a_fan_of_a_million_is_severed),
        cmocka_unit_test(a_dropped_unroll_with_a_held_metric_per_step_goes_at_once),
        cmocka_unit_test(backward_visits_a_large_graph_newest_first),
        cmocka_unit_test(a_node_with_a_thousand_parents_is_an_ordinary_node),
        cmocka_unit_test(a_walk_to_a_recent_node_does_not_meet_the_whole_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
