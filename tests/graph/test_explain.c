/* test_explain.c - counts, reasons, forecasts, labels and dumps say what is there.
 * SPDX-License-Identifier: MIT */
#include "support/graph_fixture.h"
#include "support/graph_program.h"

#include <stdlib.h>
#include <string.h>

static graph_memory memory;
static ebb_graph_space *space;
static ebb_graph_node *leaf;

static const char *tag_name(void *user, uint32_t tag)
{
    static const char *const names[] = {"leaf", "matmul", "tan\"h"};
    (void)user;
    return tag < 3 ? names[tag] : NULL;
}

static int setup(void **state)
{
    (void)state;
    graph_memory_init(&memory, 0);
    ebb_graph_space_options options = {.allocator = &memory.allocator, .tag_name = tag_name};
    if (ebb_graph_space_create(&space, &options) != EBB_OK) return -1;
    leaf = leaf_new(space);
    ebb_error_clear();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    const char *fault = ebb__graph_check(space);
    ebb_graph_space_destroy(space);
    return fault || memory.n_blocks ? -1 : 0;
}

static ebb_graph_stats stats(void)
{
    ebb_graph_stats s;
    ebb_graph_stats_get(&s, space);
    return s;
}

static void the_counts_follow_every_step(void **state)
{
    (void)state;
    assert_int_equal(stats().leaves, 1);
    assert_int_equal(stats().leaves_in_use, 0);
    ebb_graph_node *a = op_new(space, NULL, 1, leaf, leaf, NULL);
    ebb_graph_node *b = op_new(space, NULL, 2, a, NULL),
                   *c = op_new(space, NULL, 2, a, leaf, NULL);
    ebb_graph_stats s = stats();
    assert_int_equal(s.live, 3);
    assert_int_equal(s.edges, 5);
    assert_int_equal(s.leaves_in_use, 1);
    assert_int_equal(s.object_bytes % 16, 0);
    assert_true(s.object_bytes >= 4 * 80 && s.object_bytes <= 4 * 160);
    assert_int_equal(consume(b), EBB_OK);
    s = stats();
    assert_int_equal(s.live, 0);
    assert_int_equal(s.spent, 2);
    assert_int_equal(s.severed, 1);
    assert_int_equal(s.edges, 0);
    assert_int_equal(s.leaves_in_use, 0);
    assert_int_equal(s.nodes_consumed, 2);
    assert_int_equal(s.nodes_severed, 1);
    assert_int_equal(s.backwards, 1);
    ebb_graph_node_release(a);
    ebb_graph_node_release(b);
    ebb_graph_node_release(c);
    s = stats();
    assert_int_equal(s.spent + s.severed + s.live, 0);
    assert_int_equal(s.nodes_created, 3);
    assert_int_equal(s.nodes_freed, 3);
}

static void a_million_small_graphs_leave_nothing_behind(void **state)
{
    (void)state;
    size_t bytes = 0;
    long long held = 0;
    for (int64_t i = 0; i < test_size(1000000, 5000); i++) {
        ebb_graph_node *a = op_new(space, NULL, 1, leaf, NULL);
        if (i % 2) assert_int_equal(consume(a), EBB_OK);
        ebb_graph_node_release(a);
        if (i == 1000) {
            bytes = stats().memory_bytes;
            held = memory.bytes;
        }
    }
    assert_int_equal(stats().memory_bytes, bytes);
    assert_int_equal(memory.bytes, held);
    assert_int_equal(stats().object_bytes, 80); /* the leaf */
}

static void a_node_is_alive_for_its_nearest_holder(void **state)
{
    (void)state;
    ebb_graph_node *a = op_new(space, NULL, 1, leaf, NULL);
    ebb_graph_node *far = chain_new(space, a, 5, NULL), *near = chain_new(space, a, 2, NULL);
    ebb_graph_reason chain[8];
    int64_t n = -1;
    assert_int_equal(ebb_graph_explain(chain, 8, &n, a), EBB_OK);
    assert_int_equal(n, 1);
    assert_int_equal(chain[0].n_handles, 1);
    ebb_graph_node_release(a);
    assert_int_equal(ebb_graph_label_set(near, "loss kept in a list"), EBB_OK);
    ebb_graph_node_keep(near);
    assert_int_equal(ebb_graph_explain(chain, 8, &n, a), EBB_OK);
    assert_int_equal(n, 3);
    assert_ptr_equal(chain[0].node, near);
    assert_int_equal(chain[0].n_handles, 2);
    assert_string_equal(chain[0].label, "loss kept in a list");
    assert_int_equal(chain[1].n_handles, 0);
    assert_ptr_equal(chain[2].node, a);
    ebb_graph_node_release(near);
    ebb_graph_node_release(near);
    assert_int_equal(ebb_graph_explain(chain, 2, &n, a), EBB_OK);
    assert_int_equal(n, 6);
    assert_ptr_equal(chain[0].node, far);
    ebb_graph_node_release(far);
}

static void a_leaf_without_handle_is_alive_for_the_graph_that_uses_it(void **state)
{
    (void)state;
    ebb_graph_node *other = leaf_new(space), *a = op_new(space, NULL, 2, other, NULL);
    ebb_graph_node *root = chain_new(space, a, 1, NULL);
    ebb_graph_node_release(a);
    ebb_graph_node_release(other);
    ebb_graph_reason chain[8];
    int64_t n = -1;
    assert_int_equal(ebb_graph_explain(chain, 8, &n, other), EBB_OK);
    assert_int_equal(n, 3);
    assert_ptr_equal(chain[0].node, root);
    assert_ptr_equal(chain[2].node, other);
    ebb_graph_node_release(root);
}

/* What the forecast says is what then happens, for random programs. */
static void a_forecast_comes_true(void **state)
{
    (void)state;
    program_shape shape = {
        .most_nodes = 40, .leaves = 2, .ops = 12, .holds = 1, .drops = 4, .backs = 1};
    program p = {0};
    int n_checked = 0;
    for (uint64_t seed = 0; seed < (uint64_t)test_size(2000, 50); seed++) {
        uint64_t random = seed;
        run r = {.space = space};
        program_clear(&p);
        while (p.n_steps < 90 && program_grow(&p, &shape, &random)) {
            const program_step *s = &p.steps[p.n_steps - 1];
            ebb_graph_forecast f = {0};
            ebb_graph_stats before = stats();
            ebb_status said = EBB_OK;
            if (s->kind == STEP_BACK) {
                ebb_graph_edge root = {.node = r.entries[s->id]->node};
                said = ebb_graph_forecast_get(&f, &root, 1, root.node);
            }
            run_step(&r, s);
            if (s->kind != STEP_BACK) continue;
            assert_int_equal(said, r.status);
            assert_int_equal(stats().nodes_consumed - before.nodes_consumed, f.n_spent);
            assert_int_equal(stats().nodes_severed - before.nodes_severed, f.n_severed);
            n_checked += f.n_severed > 0;
        }
        run_release(&r);
        for (int32_t i = 0; i < r.size; i++) free(r.entries[i]);
        free(r.entries);
    }
    assert_true(n_checked > 0);
    program_free(&p);
}

static void a_label_goes_with_its_node(void **state)
{
    (void)state;
    long long before = memory.n_blocks;
    for (int i = 0; i < 1000; i++) {
        ebb_graph_node *a = op_new(space, NULL, 1, leaf, NULL);
        assert_null(ebb_graph_label(a));
        assert_int_equal(ebb_graph_label_set(a, "first"), EBB_OK);
        assert_int_equal(ebb_graph_label_set(a, i % 2 ? "second" : NULL), EBB_OK);
        if (i % 2)
            assert_string_equal(ebb_graph_label(a), "second");
        else
            assert_null(ebb_graph_label(a));
        ebb_graph_node_release(a);
        assert_int_equal(memory.n_blocks, before + 1); /* the table itself */
    }
}

static void each_allocation_of_the_tools_fails_once(void **state)
{
    (void)state;
    ebb_graph_node *a = op_new(space, NULL, 1, leaf, NULL), *b = chain_new(space, a, 200, NULL);
    ebb_graph_edge root = {.node = b};
    ebb_graph_node_release(a);
    for (int tool = 0; tool < 3; tool++) {
        ebb_status s = EBB_E_NOMEM;
        int tries = 0;
        for (; s == EBB_E_NOMEM; tries++) {
            ebb_graph_reason reason;
            ebb_graph_forecast f;
            int64_t n;
            memory.fail_at = memory.n_allocs + tries + 1;
            s = tool == 0   ? ebb_graph_label_set(b, "b")
                : tool == 1 ? ebb_graph_explain(&reason, 1, &n, a)
                            : ebb_graph_forecast_get(&f, &root, 1, NULL);
            assert_null(ebb__graph_check(space));
        }
        assert_int_equal(s, EBB_OK);
        assert_true(tries > 1);
    }
    memory.fail_at = 0;
}

typedef struct text {
    char bytes[8192];
    size_t n;
} text;

static void text_write(void *user, const char *bytes, size_t n)
{
    text *t = user;
    assert_true(t->n + n < sizeof t->bytes);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
}

static int times(const char *in, const char *what)
{
    int n = 0;
    for (const char *at = in; (at = strstr(at, what)); at++) n++;
    return n;
}

static void a_dump_holds_every_node_and_edge(void **state)
{
    (void)state;
    ebb_graph_node *a = op_new(space, NULL, 1, leaf, NULL),
                   *b = op_new(space, NULL, 2, a, leaf, NULL);
    ebb_graph_node *spent = op_new(space, NULL, 7, leaf, NULL);
    assert_int_equal(consume(spent), EBB_OK);
    assert_int_equal(ebb_graph_label_set(b, "the \\ \"loss\"\n"), EBB_OK);
    text t = {.n = 0};
    assert_int_equal(ebb_graph_dump(space, EBB_GRAPH_JSON, text_write, &t), EBB_OK);
    assert_int_equal(times(t.bytes, "\"id\":"), 4);
    assert_int_equal(times(t.bytes, "\"from\":"), 3);
    assert_int_equal(times(t.bytes, "\"state\":\"live\""), 2);
    assert_non_null(strstr(t.bytes, "\"consumed_tag\":7,\"consumed_by\":1"));
    assert_non_null(strstr(t.bytes, "\"name\":\"tan\\\"h\""));
    assert_non_null(strstr(t.bytes, "\"label\":\"the \\\\ \\\"loss\\\"\\u000a\""));
    t.n = 0;
    assert_int_equal(ebb_graph_dump(space, EBB_GRAPH_DOT, text_write, &t), EBB_OK);
    assert_int_equal(times(t.bytes, "shape="), 4);
    assert_int_equal(times(t.bytes, "->"), 3);
    assert_int_equal(times(t.bytes, "dashed"), 1);
    assert_int_equal(strncmp(t.bytes, "digraph", 7), 0);
    assert_int_equal(ebb_graph_dump(space, (ebb_graph_format)9, text_write, &t), EBB_E_RANGE);
}

/* RFC 3629: no stray bytes, longer forms, surrogates, nothing above U+10FFFF. */
static void a_label_that_is_no_text_leaves_the_dump_text(void **state)
{
    (void)state;
#define BAD "\xEF\xBF\xBD" /* U+FFFD */
    static const char *const label[][2] = {
        {"\xE6\x97\xA5\xC3\xA9\xF0\x9F\x8C\x8A", "\xE6\x97\xA5\xC3\xA9\xF0\x9F\x8C\x8A"},
        {"\xFF"
         "a",
         BAD "a"},
        {"cut\xE6\x97", "cut" BAD BAD},
        {"\xC0\xAF", BAD BAD},
        {"\xED\xA0\x80", BAD BAD BAD},
        {"\xF4\x90\x80\x80", BAD BAD BAD BAD},
        {"\xC3\"", BAD "\\\""}};
    for (size_t i = 0; i < sizeof label / sizeof *label; i++) {
        char want[64];
        text t = {.n = 0};
        assert_int_equal(ebb_graph_label_set(leaf, label[i][0]), EBB_OK);
        assert_int_equal(ebb_graph_dump(space, EBB_GRAPH_JSON, text_write, &t), EBB_OK);
        snprintf(want, sizeof want, "\"label\":\"%s\"", label[i][1]);
        assert_non_null(strstr(t.bytes, want));
    }
#undef BAD
}

typedef struct asker {
    ebb_graph_node *kept, *dying; /* dying has a handle of its own */
    int n_freed, n_failed;
} asker;

static void bytes_add(void *user, const char *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)user += n;
}

/* While many nodes wait to be freed. */
static void ask_in_free(void *data)
{
    asker *a = data;
    size_t bytes = 0;
    ebb_graph_reason chain[4];
    ebb_graph_forecast f;
    int64_t n = 0;
    a->n_freed++;
    a->n_failed += ebb_graph_dump(space, EBB_GRAPH_JSON, bytes_add, &bytes) != EBB_OK;
    a->n_failed += ebb_graph_dump(space, EBB_GRAPH_DOT, bytes_add, &bytes) != EBB_OK;
    a->n_failed += ebb_graph_explain(chain, 4, &n, leaf) != EBB_OK || n != 1;
    a->n_failed += ebb_graph_explain(chain, 4, &n, a->kept) != EBB_OK || n != 1;
    a->n_failed +=
        ebb_graph_forecast_get(&f, &(ebb_graph_edge){a->kept, 0}, 1, NULL) != EBB_OK ||
        f.n_spent != 1 || f.n_severed != 0;
    a->n_failed += ebb_graph_label_set(a->kept, a->n_freed % 2 ? "kept" : NULL) != EBB_OK;
    if (a->dying) a->n_failed += ebb_graph_explain(chain, 4, &n, a->dying) != EBB_OK || n != 1;
}

/* Dropped, consumed, severed: all payloads go in one call, each asks about everything. */
static void a_free_callback_may_ask_about_everything(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        asker a = {.kept = op_new(space, NULL, 1, leaf, NULL)};
        ebb_graph_node *trunk = op_new(space, NULL, 1, leaf, NULL), *root = trunk;
        for (int i = 0; i < 20; i++) {
            const ebb_graph_payload p = {&a, ask_in_free, 2};
            ebb_graph_node *side, *sum, *own = leaf_new(space);
            assert_int_equal(ebb_graph_node_record(
                                 &side, space, (ebb_graph_edge[]){{trunk, 0}, {own, 0}}, 2, &p),
                             EBB_OK);
            assert_int_equal(ebb_graph_node_record(
                                 &sum, space, (ebb_graph_edge[]){{root, 0}, {side, 0}}, 2, &p),
                             EBB_OK);
            ebb_graph_node_release(own);
            ebb_graph_node_release(side);
            if (root != trunk) ebb_graph_node_release(root);
            root = sum;
        }
        ebb_graph_node *sibling = op_new(space, NULL, 1, trunk, NULL);
        if (how == 1) assert_int_equal(consume(root), EBB_OK);
        if (how == 2) {
            a.dying = root; /* severed with all that leads to it */
            assert_int_equal(consume(sibling), EBB_OK);
        }
        ebb_graph_node_release(root);
        assert_int_equal(a.n_freed, 40);
        assert_int_equal(a.n_failed, 0);
        assert_null(ebb__graph_check(space));
        ebb_graph_node_release(trunk);
        ebb_graph_node_release(sibling);
        assert_int_equal(stats().live, 1);
        ebb_graph_node_release(a.kept);
        assert_int_equal(stats().live + stats().spent + stats().severed, 0);
        assert_int_equal(stats().leaves, 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_counts_follow_every_step),
        TEST(a_million_small_graphs_leave_nothing_behind),
        TEST(a_node_is_alive_for_its_nearest_holder),
        TEST(a_leaf_without_handle_is_alive_for_the_graph_that_uses_it),
        TEST(a_forecast_comes_true),
        TEST(a_label_goes_with_its_node),
        TEST(each_allocation_of_the_tools_fails_once),
        TEST(a_dump_holds_every_node_and_edge),
        TEST(a_label_that_is_no_text_leaves_the_dump_text),
        TEST(a_free_callback_may_ask_about_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
