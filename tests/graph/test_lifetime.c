/* test_lifetime.c - when state goes, what remains, and what a later backward says.
 * SPDX-License-Identifier: MIT */
#include "support/graph_fixture.h"

#include <string.h>

typedef struct fixture {
    ebb_graph_space *space;
    ebb_graph_node *leaf;
    int freed;
} fixture;

static const char *tag_name(void *user, uint32_t tag)
{
    static const char *const names[] = {"none", "matmul", "tanh"};
    (void)user;
    return tag < 3 ? names[tag] : NULL;
}

static int setup(void **state)
{
    static fixture f;
    f = (fixture){0};
    ebb_graph_space_options options = {.tag_name = tag_name};
    if (ebb_graph_space_create(&f.space, &options) != EBB_OK) return -1;
    f.leaf = leaf_new(f.space);
    ebb_error_clear();
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    const char *fault = ebb__graph_check(f->space);
    if (fault) print_error("%s\n", fault);
    ebb_graph_space_destroy(f->space);
    return fault ? -1 : 0;
}

static void a_held_node_severed_by_another_backward_frees_its_state_at_once(void **state)
{
    fixture *f = *state;
    ebb_graph_node *a = op_new(f->space, NULL, 1, f->leaf, NULL);
    ebb_graph_node *b = op_new(f->space, &f->freed, 2, a, NULL);
    assert_int_equal(consume(a), EBB_OK);
    assert_int_equal(f->freed, 1);
    assert_int_equal(ebb_graph_node_state(b), EBB_GRAPH_SEVERED);
    assert_null(ebb_graph_node_payload(b));
    assert_int_equal(consume(b), EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "matmul"));
    assert_non_null(strstr(ebb_error_message(), "backward 1"));
    assert_int_equal(ebb_graph_node_tombstone(b).tag, 1);
    assert_int_equal(ebb_graph_node_tombstone(b).number, 1);
}

static void a_second_backward_from_one_root_is_refused_by_name(void **state)
{
    fixture *f = *state;
    ebb_graph_node *a = op_new(f->space, NULL, 2, f->leaf, NULL);
    assert_int_equal(consume(a), EBB_OK);
    assert_int_equal(consume(a), EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "tanh"));
    assert_non_null(strstr(ebb_error_message(), "consumed"));
}

static void what_is_recorded_on_a_spent_node_is_severed_and_shares_its_tombstone(void **state)
{
    fixture *f = *state;
    ebb_graph_node *a = op_new(f->space, NULL, 1, f->leaf, NULL);
    ebb_graph_node *live = op_new(f->space, NULL, 2, f->leaf, NULL);
    assert_int_equal(consume(a), EBB_OK);
    ebb_graph_node *b = op_new(f->space, &f->freed, 2, live, a, NULL);
    assert_int_equal(f->freed, 1);
    assert_int_equal(ebb_graph_node_state(b), EBB_GRAPH_SEVERED);
    ebb_graph_node *c = op_new(f->space, &f->freed, 2, b, NULL);
    assert_int_equal(f->freed, 2);
    assert_int_equal(ebb_graph_node_tombstone(c).tag, 1);
    assert_int_equal(ebb_graph_node_tombstone(c).number, 1);
    assert_int_equal(ebb_graph_node_state(live), EBB_GRAPH_LIVE);
}

static void a_leaf_behaves_the_same_in_every_iteration(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 1000; i++) {
        ebb_graph_node *a = chain_new(f->space, f->leaf, 3, &f->freed);
        assert_int_equal(consume(a), EBB_OK);
        assert_int_equal(f->freed, 3 * (i + 1));
        ebb_graph_node_release(a);
        assert_int_equal(ebb_graph_node_state(f->leaf), EBB_GRAPH_LEAF);
    }
}

static void a_dropped_leaf_lives_while_a_node_needs_it(void **state)
{
    fixture *f = *state;
    int leaf_freed = 0;
    ebb_graph_payload payload = {.data = &leaf_freed, .free = count_free};
    ebb_graph_node *leaf;
    assert_int_equal(ebb_graph_leaf_create(&leaf, f->space, &payload), EBB_OK);
    ebb_graph_node *a = op_new(f->space, NULL, 0, leaf, leaf, NULL);
    ebb_graph_node_release(leaf);
    assert_int_equal(leaf_freed, 0);
    assert_int_equal(consume(a), EBB_OK);
    assert_int_equal(leaf_freed, 1);
    ebb_graph_node_release(a);
}

static void backward_from_a_leaf_reaches_the_leaf_and_consumes_nothing(void **state)
{
    fixture *f = *state;
    assert_int_equal(consume(f->leaf), EBB_OK);
    assert_int_equal(consume(f->leaf), EBB_OK);
}

/* ---- order, state and kinds of a backward ------------------------------------------------ */

typedef struct seen {
    uint32_t tags[16];
    int n, n_leaves, freed_before_last;
    const int *freed;
    int fail_at;
} seen;

static ebb_status see(void *user, const ebb_graph_step *step)
{
    seen *s = user;
    s->tags[s->n++] = step->tag;
    s->freed_before_last = s->freed ? *s->freed : 0;
    return s->n == s->fail_at ? ebb_fail(EBB_E_UNSUPPORTED, "stopped here") : EBB_OK;
}

static ebb_status see_leaf(void *user, ebb_graph_node *leaf, void *payload)
{
    (void)leaf;
    (void)payload;
    ((seen *)user)->n_leaves++;
    return EBB_OK;
}

static ebb_status walk(seen *s, ebb_graph_node *root, const ebb_graph_consume_options *o)
{
    ebb_graph_visitor visitor = {.node = see, .leaf = see_leaf, .user = s};
    return ebb_graph_consume(&(ebb_graph_edge){.node = root}, 1, &visitor, o);
}

static void state_goes_node_by_node_while_backward_runs(void **state)
{
    fixture *f = *state;
    ebb_graph_node *last = chain_new(f->space, f->leaf, 5, &f->freed);
    seen s = {.freed = &f->freed};
    assert_int_equal(walk(&s, last, NULL), EBB_OK);
    assert_int_equal(s.freed_before_last, 4);
    assert_int_equal(f->freed, 5);
}

static void a_kept_graph_can_be_walked_again_and_then_consumed(void **state)
{
    fixture *f = *state;
    ebb_graph_node *last = chain_new(f->space, f->leaf, 4, &f->freed);
    ebb_graph_consume_options keep = {.keep = true};
    for (int i = 0; i < 3; i++) {
        seen s = {0};
        assert_int_equal(walk(&s, last, &keep), EBB_OK);
        assert_int_equal(s.n, 4);
        assert_int_equal(s.n_leaves, 1);
    }
    assert_int_equal(f->freed, 0);
    assert_int_equal(consume(last), EBB_OK);
    assert_int_equal(f->freed, 4);
}

static void a_kept_graph_goes_when_its_root_is_dropped(void **state)
{
    fixture *f = *state;
    ebb_graph_node *last = chain_new(f->space, f->leaf, 4, &f->freed);
    seen s = {0};
    assert_int_equal(walk(&s, last, &(ebb_graph_consume_options){.keep = true}), EBB_OK);
    ebb_graph_node_release(last);
    assert_int_equal(f->freed, 4);
}

/* leaf -1- a -2- b -3- c, and a -4- d: only what lies between c and a is spent. */
static void chosen_inputs_spend_only_the_way_to_them(void **state)
{
    fixture *f = *state;
    ebb_graph_node *a = op_new(f->space, &f->freed, 1, f->leaf, NULL);
    ebb_graph_node *b = op_new(f->space, &f->freed, 2, a, NULL);
    ebb_graph_node *side = op_new(f->space, &f->freed, 5, f->leaf, NULL);
    ebb_graph_node *c = op_new(f->space, &f->freed, 3, b, side, NULL);
    ebb_graph_edge input = {.node = a};
    seen s = {0};
    ebb_graph_consume_options o = {.inputs = &input, .n_inputs = 1};
    assert_int_equal(walk(&s, c, &o), EBB_OK);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.tags[0], 3);
    assert_int_equal(s.tags[1], 2);
    assert_int_equal(s.tags[2], 1);
    assert_int_equal(s.n_leaves, 0);
    assert_int_equal(ebb_graph_node_state(a), EBB_GRAPH_LIVE);
    assert_int_equal(ebb_graph_node_state(b), EBB_GRAPH_SPENT);
    assert_int_equal(ebb_graph_node_state(side), EBB_GRAPH_LIVE);
    assert_int_equal(f->freed, 2);
    assert_int_equal(consume(a), EBB_OK);
}

static void an_input_without_a_path_is_named_and_nothing_changes(void **state)
{
    fixture *f = *state;
    ebb_graph_node *a = op_new(f->space, &f->freed, 1, f->leaf, NULL);
    ebb_graph_node *other = leaf_new(f->space);
    ebb_graph_edge inputs[2] = {{.node = f->leaf}, {.node = other}};
    seen s = {0};
    ebb_graph_consume_options o = {.inputs = inputs, .n_inputs = 2};
    assert_int_equal(walk(&s, a, &o), EBB_E_GRAPH);
    assert_non_null(strstr(ebb_error_message(), "input 1"));
    assert_int_equal(s.n, 0);
    assert_int_equal(ebb_graph_node_state(a), EBB_GRAPH_LIVE);
    o.allow_unused = true;
    assert_int_equal(walk(&s, a, &o), EBB_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.n_leaves, 1);
}

static void two_roots_in_one_pass_visit_the_shared_part_once(void **state)
{
    fixture *f = *state;
    ebb_graph_node *trunk = op_new(f->space, &f->freed, 1, f->leaf, NULL);
    ebb_graph_edge roots[2] = {{.node = op_new(f->space, &f->freed, 2, trunk, NULL)},
                               {.node = op_new(f->space, &f->freed, 3, trunk, NULL)}};
    seen s = {0};
    ebb_graph_visitor visitor = {.node = see, .leaf = see_leaf, .user = &s};
    assert_int_equal(ebb_graph_consume(roots, 2, &visitor, NULL), EBB_OK);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.tags[2], 1);
    assert_int_equal(f->freed, 3);
}

static void a_failing_visitor_leaves_the_walked_graph_spent_and_freed(void **state)
{
    fixture *f = *state;
    ebb_graph_node *last = chain_new(f->space, f->leaf, 5, &f->freed);
    seen s = {.fail_at = 2};
    assert_int_equal(walk(&s, last, NULL), EBB_E_UNSUPPORTED);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.n_leaves, 0);
    assert_int_equal(f->freed, 5);
    assert_int_equal(ebb_graph_node_state(last), EBB_GRAPH_SPENT);
}

static void a_failing_visitor_of_a_kept_walk_changes_nothing(void **state)
{
    fixture *f = *state;
    ebb_graph_node *last = chain_new(f->space, f->leaf, 5, &f->freed);
    seen s = {.fail_at = 2};
    assert_int_equal(walk(&s, last, &(ebb_graph_consume_options){.keep = true}),
                     EBB_E_UNSUPPORTED);
    assert_int_equal(f->freed, 0);
    assert_int_equal(consume(last), EBB_OK);
}

/* ---- callbacks --------------------------------------------------------------------------- */

/* A payload that holds a handle on another node, as a saved tensor with a history would. */
typedef struct holder {
    ebb_graph_node *held;
    int *freed, *depth, *deepest;
} holder;

static void holder_free(void *data)
{
    holder *h = data;
    if (++*h->depth > *h->deepest) *h->deepest = *h->depth;
    ++*h->freed;
    ebb_graph_node_release(h->held);
    --*h->depth;
}

static void a_release_inside_a_free_callback_never_nests(void **state)
{
    fixture *f = *state;
    enum { N = 10000 };
    static holder holders[N];
    int depth = 0, deepest = 0;
    ebb_graph_node *last = NULL;
    for (int i = 0; i < N; i++) {
        holders[i] =
            (holder){.held = last, .freed = &f->freed, .depth = &depth, .deepest = &deepest};
        ebb_graph_payload payload = {.data = &holders[i], .free = holder_free};
        ebb_graph_edge edge = {.node = f->leaf};
        assert_int_equal(ebb_graph_node_record(&last, f->space, &edge, 1, &payload), EBB_OK);
    }
    ebb_graph_node_release(last);
    assert_int_equal(f->freed, N);
    assert_int_equal(deepest, 1);
}

static void leaves_that_hold_each_other_go_without_nesting(void **state)
{
    fixture *f = *state;
    enum { N = 10000 };
    static holder holders[N];
    int depth = 0, deepest = 0;
    ebb_graph_node *last = NULL;
    for (int i = 0; i < N; i++) {
        holders[i] =
            (holder){.held = last, .freed = &f->freed, .depth = &depth, .deepest = &deepest};
        ebb_graph_payload payload = {.data = &holders[i], .free = holder_free};
        assert_int_equal(ebb_graph_leaf_create(&last, f->space, &payload), EBB_OK);
    }
    ebb_graph_node_release(last);
    assert_int_equal(f->freed, N);
    assert_int_equal(deepest, 1);
}

typedef struct nested {
    fixture *f;
    ebb_graph_node *other;
    ebb_status status;
} nested;

static void nested_free(void *data)
{
    nested *n = data;
    n->status = consume(n->other);
    ebb_graph_node_release(n->other);
}

static void a_backward_started_inside_a_free_callback_works(void **state)
{
    fixture *f = *state;
    nested n = {
        .f = f, .other = chain_new(f->space, f->leaf, 3, &f->freed), .status = EBB_E_INTERNAL};
    ebb_graph_payload payload = {.data = &n, .free = nested_free};
    ebb_graph_node *a;
    ebb_graph_edge edge = {.node = f->leaf};
    assert_int_equal(ebb_graph_node_record(&a, f->space, &edge, 1, &payload), EBB_OK);
    ebb_graph_node_release(a);
    assert_int_equal(n.status, EBB_OK);
    assert_int_equal(f->freed, 3);
}

static ebb_status nested_visit(void *user, const ebb_graph_step *step)
{
    nested *n = user;
    (void)step;
    if (n->other) {
        n->status = consume(n->other);
        ebb_graph_node_release(n->other);
        n->other = NULL;
        ebb_graph_node *small = op_new(n->f->space, &n->f->freed, 0, n->f->leaf, NULL);
        if (consume(small) != EBB_OK) n->status = EBB_E_INTERNAL;
        ebb_graph_node_release(small);
    }
    return EBB_OK;
}

static void a_rule_may_build_and_consume_graphs_of_its_own(void **state)
{
    fixture *f = *state;
    nested n = {
        .f = f, .other = chain_new(f->space, f->leaf, 3, &f->freed), .status = EBB_E_INTERNAL};
    ebb_graph_node *root = chain_new(f->space, f->leaf, 4, &f->freed);
    ebb_graph_visitor visitor = {.node = nested_visit, .user = &n};
    assert_int_equal(ebb_graph_consume(&(ebb_graph_edge){.node = root}, 1, &visitor, NULL),
                     EBB_OK);
    assert_int_equal(n.status, EBB_OK);
    assert_int_equal(f->freed, 8);
    ebb_graph_node_release(root);
}

typedef struct taker {
    ebb_graph_node *other, *parent;
} taker;

/* At the first node another backward consumes the rest; at the second its parents are taken. */
static ebb_status taker_visit(void *user, const ebb_graph_step *step)
{
    taker *t = user;
    if (t->other) {
        if (consume(t->other) != EBB_OK) return ebb_fail(EBB_E_INTERNAL, "refused");
        ebb_graph_node_release(t->other);
        t->other = NULL;
    } else {
        t->parent = ebb_graph_node_keep(ebb__graph_parent(step->node, 1).node);
    }
    return EBB_OK;
}

static void a_kept_walk_holds_the_parents_it_does_not_visit(void **state)
{
    fixture *f = *state;
    ebb_graph_node *x = leaf_new(f->space),
                   *unwanted = op_new(f->space, NULL, 5, f->leaf, NULL);
    ebb_graph_node *n = op_new(f->space, NULL, 2, x, unwanted, NULL);
    taker t = {.other = op_new(f->space, NULL, 3, n, NULL)};
    ebb_graph_edge root = {.node = op_new(f->space, NULL, 4, n, NULL)}, input = {.node = x};
    ebb_graph_node_release(unwanted);
    ebb_graph_node_release(n);
    ebb_graph_visitor visitor = {.node = taker_visit, .user = &t};
    ebb_graph_consume_options o = {.keep = true, .inputs = &input, .n_inputs = 1};
    assert_int_equal(ebb_graph_consume(&root, 1, &visitor, &o), EBB_OK);
    assert_ptr_equal(t.parent, unwanted);
    assert_int_equal(ebb_graph_node_tag(t.parent), 5);
    assert_int_equal(ebb_graph_node_state(t.parent), EBB_GRAPH_SPENT);
    ebb_graph_node_release(t.parent);
    ebb_graph_node_release(root.node);
    ebb_graph_node_release(x);
}

static void dropping_the_root_inside_its_own_backward_is_safe(void **state)
{
    fixture *f = *state;
    ebb_graph_node *last = chain_new(f->space, f->leaf, 3, &f->freed);
    holder h = {.held = last, .freed = &f->freed, .depth = &(int){0}, .deepest = &(int){0}};
    ebb_graph_payload payload = {.data = &h, .free = holder_free};
    ebb_graph_node *root;
    ebb_graph_edge edge = {.node = last};
    assert_int_equal(ebb_graph_node_record(&root, f->space, &edge, 1, &payload), EBB_OK);
    assert_int_equal(consume(root), EBB_OK);
    assert_int_equal(f->freed, 4);
    ebb_graph_node_release(root);
}

static void destroying_a_space_frees_every_payload_once(void **state)
{
    (void)state;
    int freed = 0;
    ebb_graph_space *space;
    assert_int_equal(ebb_graph_space_create(&space, NULL), EBB_OK);
    ebb_graph_node *leaf = leaf_new(space);
    chain_new(space, leaf, 10, &freed);
    ebb_graph_node *gone = chain_new(space, leaf, 5, &freed);
    assert_int_equal(consume(gone), EBB_OK);
    assert_int_equal(freed, 5);
    ebb_graph_space_destroy(space);
    assert_int_equal(freed, 15);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_held_node_severed_by_another_backward_frees_its_state_at_once),
        TEST(a_second_backward_from_one_root_is_refused_by_name),
        TEST(what_is_recorded_on_a_spent_node_is_severed_and_shares_its_tombstone),
        TEST(a_leaf_behaves_the_same_in_every_iteration),
        TEST(a_dropped_leaf_lives_while_a_node_needs_it),
        TEST(backward_from_a_leaf_reaches_the_leaf_and_consumes_nothing),
        TEST(state_goes_node_by_node_while_backward_runs),
        TEST(a_kept_graph_can_be_walked_again_and_then_consumed),
        TEST(a_kept_graph_goes_when_its_root_is_dropped),
        TEST(chosen_inputs_spend_only_the_way_to_them),
        TEST(an_input_without_a_path_is_named_and_nothing_changes),
        TEST(two_roots_in_one_pass_visit_the_shared_part_once),
        TEST(a_failing_visitor_leaves_the_walked_graph_spent_and_freed),
        TEST(a_failing_visitor_of_a_kept_walk_changes_nothing),
        TEST(a_release_inside_a_free_callback_never_nests),
        TEST(leaves_that_hold_each_other_go_without_nesting),
        TEST(a_backward_started_inside_a_free_callback_works),
        TEST(a_rule_may_build_and_consume_graphs_of_its_own),
        TEST(a_kept_walk_holds_the_parents_it_does_not_visit),
        TEST(dropping_the_root_inside_its_own_backward_is_safe),
        TEST(destroying_a_space_frees_every_payload_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
