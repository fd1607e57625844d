/* test_allocation_failures.c - every allocation of every scenario is refused once: a clear
 * error, nothing changed, nothing leaked.
 * SPDX-License-Identifier: MIT */
#include "support/graph_fixture.h"
#include "support/graph_program.h"

#include <stdlib.h>
#include <string.h>

/* Runs the program with allocation k refused; the step that meets it is tried again. Returns
 * false when the program made fewer than k allocations. */
static bool program_run_failing(const program *p, long long k, bool single_threaded)
{
    graph_memory memory;
    graph_memory_init(&memory, k);
    ebb_graph_space_options options = {.allocator = &memory.allocator,
                                       .single_threaded = single_threaded};
    run r;
    answer a = {0};
    bool has_failed = false;
    ebb_error_clear();
    run_begin(&r, &options);
    if (r.status == EBB_E_NOMEM) {
        assert_true(ebb_error_message()[0] != '\0');
        has_failed = true;
        run_begin(&r, &options);
    }
    assert_int_equal(r.status, EBB_OK);
    for (int32_t i = 0; i < p->n_steps; i++) {
        run_step(&r, &p->steps[i]);
        if (r.status == EBB_E_NOMEM) {
            assert_false(has_failed);
            has_failed = true;
            assert_non_null(strstr(ebb_error_message(), "refused"));
            assert_null(ebb__graph_check(r.space));
            oracle_answer(&a, p, i); /* nothing has changed */
            program_step none = {.kind = STEP_HOLD};
            const char *difference = run_compare(&r, &a, &none, true);
            if (difference) fail_msg("allocation %lld: %s", k, difference);
            run_step(&r, &p->steps[i]);
        }
        oracle_answer(&a, p, i + 1);
        const char *difference = run_compare(&r, &a, &p->steps[i], true);
        if (difference) fail_msg("allocation %lld, step %d: %s", k, i, difference);
    }
    run_release(&r);
    assert_null(ebb__graph_check(r.space));
    run_end(&r);
    assert_int_equal(memory.n_blocks, 0);
    assert_int_equal(memory.bytes, 0);
    answer_free(&a);
    return has_failed;
}

/* A chain longer than a slab, a wide node, then backwards of every kind over it. */
static void program_large(program *p)
{
    int32_t leaf = p->n_nodes, last = leaf;
    program_add(p, (program_step){.kind = STEP_LEAF});
    for (int32_t i = 0; i < 1500; i++) {
        program_step s = {.kind = STEP_OP, .n_parents = 2, .parents = {last, leaf}};
        program_add(p, s);
        if (last != leaf) program_add(p, (program_step){.kind = STEP_DROP, .id = last});
        last = p->n_nodes - 1;
    }
    program_step root = {.kind = STEP_OP, .n_parents = 3, .parents = {last, last, leaf}};
    program_add(p, root);
    int32_t id = p->n_nodes - 1;
    program_step back = {.kind = STEP_BACK, .id = id, .keep = true};
    program_add(p, back);
    back = (program_step){
        .kind = STEP_BACK, .id = id, .has_inputs = true, .n_parents = 1, .parents = {last}};
    program_add(p, back);
    program_add(p, (program_step){.kind = STEP_BACK, .id = last});
}

static void each_allocation_of_a_large_program_fails_once(void **state)
{
    (void)state;
    program p = {0};
    program_large(&p);
    long long k = 1;
    while (program_run_failing(&p, k, false)) k++;
    assert_true(k > 4); /* the space, its slabs and its walks */
    program_free(&p);
}

static void each_allocation_of_random_programs_fails_once(void **state)
{
    (void)state;
    program_shape shape = {.most_nodes = 30,
                           .leaves = 2,
                           .ops = 12,
                           .holds = 1,
                           .drops = 4,
                           .backs = 4,
                           .keeps = true,
                           .inputs = true};
    program p = {0};
    for (uint64_t seed = 0; seed < (uint64_t)test_size(60, 10); seed++) {
        uint64_t random = seed;
        program_clear(&p);
        while (p.n_steps < 80 && program_grow(&p, &shape, &random)) {
        }
        long long k = 1;
        while (program_run_failing(&p, k, seed % 2 == 1)) k++;
        assert_true(k > 2);
    }
    program_free(&p);
}

static void a_wide_node_that_finds_no_memory_changes_nothing(void **state)
{
    (void)state;
    enum { N = 200 };
    graph_memory memory;
    graph_memory_init(&memory, 0);
    ebb_graph_space_options options = {.allocator = &memory.allocator};
    ebb_graph_space *space;
    assert_int_equal(ebb_graph_space_create(&space, &options), EBB_OK);
    ebb_graph_node *leaf = leaf_new(space), *node = NULL;
    ebb_graph_edge edges[N];
    for (int i = 0; i < N; i++) edges[i] = (ebb_graph_edge){.node = leaf};
    int freed = 0;
    ebb_graph_payload payload = {.data = &freed, .free = count_free};
    memory.fail_at = memory.n_allocs + 1;
    assert_int_equal(ebb_graph_node_record(&node, space, edges, N, &payload), EBB_E_NOMEM);
    assert_null(node);
    assert_int_equal(freed, 0); /* the payload stays the caller's */
    assert_null(ebb__graph_check(space));
    assert_int_equal(ebb_graph_node_record(&node, space, edges, N, &payload), EBB_OK);
    ebb_graph_node_release(node);
    assert_int_equal(freed, 1);
    ebb_graph_node_release(leaf);
    ebb_graph_space_destroy(space);
    assert_int_equal(memory.n_blocks, 0);
}

static void releasing_and_severing_never_allocate(void **state)
{
    (void)state;
    graph_memory memory;
    graph_memory_init(&memory, 0);
    ebb_graph_space_options options = {.allocator = &memory.allocator};
    ebb_graph_space *space;
    assert_int_equal(ebb_graph_space_create(&space, &options), EBB_OK);
    ebb_graph_node *leaf = leaf_new(space), *trunk = op_new(space, NULL, 0, leaf, NULL);
    assert_int_equal(consume(trunk), EBB_OK); /* the first walk allocates its block */
    ebb_graph_node_release(trunk);
    trunk = op_new(space, NULL, 0, leaf, NULL);
    ebb_graph_node *end = chain_new(space, trunk, 5000, NULL);
    ebb_graph_node *dropped = chain_new(space, leaf, 5000, NULL);
    long long before = memory.n_allocs;
    assert_int_equal(consume(trunk), EBB_OK);
    ebb_graph_node_release(dropped);
    ebb_graph_node_release(end);
    ebb_graph_node_release(trunk);
    ebb_graph_node_release(leaf);
    assert_int_equal(memory.n_allocs, before);
    assert_null(ebb__graph_check(space));
    ebb_graph_space_destroy(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_a_large_program_fails_once),
        cmocka_unit_test(each_allocation_of_random_programs_fails_once),
        cmocka_unit_test(a_wide_node_that_finds_no_memory_changes_nothing),
        cmocka_unit_test(releasing_and_severing_never_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
