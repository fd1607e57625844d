/* test_misuse.c - calls that break the contract get one clear message and change nothing.
 * SPDX-License-Identifier: MIT */
#include "support/graph_fixture.h"

#include <string.h>

static ebb_graph_space *space_a, *space_b;
static ebb_graph_node *leaf_a, *leaf_b;

static int setup(void **state)
{
    (void)state;
    if (ebb_graph_space_create(&space_a, NULL) != EBB_OK) return -1;
    if (ebb_graph_space_create(&space_b, NULL) != EBB_OK) return -1;
    leaf_a = leaf_new(space_a);
    leaf_b = leaf_new(space_b);
    ebb_error_clear();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bool is_sound = !ebb__graph_check(space_a) && !ebb__graph_check(space_b);
    ebb_graph_space_destroy(space_a);
    ebb_graph_space_destroy(space_b);
    return is_sound ? 0 : -1;
}

static void refused(ebb_status s, ebb_status expected, const char *word)
{
    assert_int_equal(s, expected);
    assert_int_equal(ebb_error_status(), expected);
    if (!strstr(ebb_error_message(), word))
        fail_msg("'%s' is not in '%s'", word, ebb_error_message());
    assert_null(strchr(ebb_error_message(), '\n'));
    ebb_error_clear();
}

static void a_missing_argument_is_named(void **state)
{
    (void)state;
    ebb_graph_node *out;
    ebb_graph_edge none = {0}, edge = {.node = leaf_a};
    refused(ebb_graph_space_create(NULL, NULL), EBB_E_MISUSE, "out is NULL");
    refused(ebb_graph_leaf_create(NULL, space_a, NULL), EBB_E_MISUSE, "out is NULL");
    refused(ebb_graph_leaf_create(&out, NULL, NULL), EBB_E_MISUSE, "space is NULL");
    refused(ebb_graph_node_record(NULL, space_a, &edge, 1, NULL), EBB_E_MISUSE, "out is NULL");
    refused(ebb_graph_node_record(&out, NULL, &edge, 1, NULL), EBB_E_MISUSE, "space is NULL");
    refused(ebb_graph_node_record(&out, space_a, NULL, 1, NULL), EBB_E_MISUSE,
            "parents is NULL");
    refused(ebb_graph_node_record(&out, space_a, &none, 1, NULL), EBB_E_MISUSE, "parent");
    refused(ebb_graph_consume(NULL, 1, NULL, NULL), EBB_E_MISUSE, "roots is NULL");
    refused(ebb_graph_consume(&none, 1, NULL, NULL), EBB_E_MISUSE, "root");
    ebb_graph_consume_options o = {.inputs = &none, .n_inputs = 1};
    refused(ebb_graph_consume(&edge, 1, NULL, &o), EBB_E_MISUSE, "input");
    assert_null(ebb_graph_node_keep(NULL));
    ebb_graph_node_release(NULL);
    ebb_graph_space_destroy(NULL);
    refused(ebb_graph_explain(NULL, 0, &(int64_t){0}, NULL), EBB_E_MISUSE, "node is NULL");
    refused(ebb_graph_label_set(NULL, "x"), EBB_E_MISUSE, "node is NULL");
    refused(ebb_graph_forecast_get(&(ebb_graph_forecast){0}, NULL, 1, NULL), EBB_E_MISUSE,
            "roots is NULL");
    refused(ebb_graph_dump(NULL, EBB_GRAPH_DOT, NULL, NULL), EBB_E_MISUSE, "space is NULL");
}

static void what_only_asks_has_an_answer_for_nothing(void **state)
{
    (void)state;
    ebb_graph_stats s = {.live = 7};
    assert_int_equal(ebb_graph_node_state(NULL), 0);
    assert_null(ebb_graph_node_payload(NULL));
    assert_int_equal(ebb_graph_node_tag(NULL), 0);
    assert_int_equal(ebb_graph_node_tombstone(NULL).number, 0);
    assert_int_equal(ebb_graph_node_handles(NULL), 0);
    assert_null(ebb_graph_label(NULL));
    ebb_graph_stats_get(&s, NULL);
    assert_int_equal(s.live, 0);
    ebb_graph_stats_get(NULL, space_a);
    assert_int_equal(ebb_error_status(), EBB_OK);
}

static void a_null_argument_passes_the_pending_failure_on(void **state)
{
    (void)state;
    ebb_graph_node *out;
    assert_int_equal(ebb_fail(EBB_E_SHAPE, "shapes differ"), EBB_E_SHAPE);
    assert_int_equal(ebb_graph_leaf_create(&out, NULL, NULL), EBB_E_SHAPE);
    assert_string_equal(ebb_error_message(), "shapes differ");
}

static void a_node_without_parents_is_refused(void **state)
{
    (void)state;
    ebb_graph_node *out;
    ebb_graph_edge edge = {.node = leaf_a};
    refused(ebb_graph_node_record(&out, space_a, &edge, 0, NULL), EBB_E_MISUSE, "parent");
    refused(ebb_graph_consume(&edge, 0, NULL, NULL), EBB_E_MISUSE, "root");
    refused(ebb_graph_consume(&edge, -1, NULL, NULL), EBB_E_MISUSE, "root");
}

static void nodes_of_two_spaces_do_not_mix(void **state)
{
    (void)state;
    ebb_graph_node *out;
    ebb_graph_edge both[2] = {{.node = leaf_a}, {.node = leaf_b}};
    refused(ebb_graph_node_record(&out, space_a, both, 2, NULL), EBB_E_MISUSE, "parent 1");
    refused(ebb_graph_consume(both, 2, NULL, NULL), EBB_E_MISUSE, "root 1");
    ebb_graph_consume_options o = {.inputs = &both[1], .n_inputs = 1};
    refused(ebb_graph_consume(both, 1, NULL, &o), EBB_E_MISUSE, "input 0");
}

static void options_of_a_later_version_are_refused(void **state)
{
    (void)state;
    ebb_graph_space *space = NULL;
    ebb_graph_space_options so = {.reserved = {0, 1}};
    refused(ebb_graph_space_create(&space, &so), EBB_E_MISUSE, "reserved[1]");
    assert_null(space);
    ebb_graph_edge edge = {.node = leaf_a};
    ebb_graph_consume_options co = {.reserved = {1}};
    refused(ebb_graph_consume(&edge, 1, NULL, &co), EBB_E_MISUSE, "reserved[0]");
}

static ebb_graph_space *dying;
static ebb_status in_free;

static void record_in_free(void *data)
{
    ebb_graph_node *out;
    ebb_graph_edge edge = {.node = data};
    in_free = ebb_graph_node_record(&out, dying, &edge, 1, NULL);
    ebb_graph_node_release(data);
}

static void recording_into_a_space_that_is_being_destroyed_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ebb_graph_space_create(&dying, NULL), EBB_OK);
    ebb_graph_node *leaf = leaf_new(dying), *node;
    ebb_graph_payload payload = {.data = leaf, .free = record_in_free};
    ebb_graph_edge edge = {.node = leaf};
    assert_int_equal(ebb_graph_node_record(&node, dying, &edge, 1, &payload), EBB_OK);
    in_free = EBB_OK;
    ebb_graph_space_destroy(dying);
    refused(in_free, EBB_E_MISUSE, "destroyed");
}

static void messages_begin_with_the_caller_where_it_is_known(void **state)
{
    (void)state;
    ebb__at("some/where/train.c", 41);
    refused(ebb_graph_consume(NULL, 1, NULL, NULL), EBB_E_MISUSE,
            "train.c:41: ebb_graph_consume: roots is NULL");
    ebb__at(NULL, 0);
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(ebb_status_name(EBB_OK), "EBB_OK");
    assert_string_equal(ebb_status_name(EBB_E_INTERNAL), "EBB_E_INTERNAL");
    assert_non_null(ebb_status_name((ebb_status)99));
}

static void a_failure_stays_until_it_is_cleared(void **state)
{
    (void)state;
    ebb_error e;
    assert_int_equal(ebb_fail(EBB_E_IO, "line\nbreak %s", ebb_error_message()), EBB_E_IO);
    assert_string_equal(ebb_error_message(), "line break ");
    assert_int_equal(ebb_fail(EBB_E_RANGE, "again: %s", ebb_error_message()), EBB_E_RANGE);
    ebb_error_get(&e);
    assert_string_equal(e.message, "again: line break ");
    assert_int_equal(e.status, EBB_E_RANGE);
    assert_int_equal(consume(leaf_a), EBB_OK);
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    ebb_error_clear();
    assert_int_equal(ebb_error_status(), EBB_OK);
    assert_string_equal(ebb_error_message(), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_missing_argument_is_named),
        TEST(what_only_asks_has_an_answer_for_nothing),
        TEST(a_null_argument_passes_the_pending_failure_on),
        TEST(a_node_without_parents_is_refused),
        TEST(nodes_of_two_spaces_do_not_mix),
        TEST(options_of_a_later_version_are_refused),
        TEST(recording_into_a_space_that_is_being_destroyed_is_refused),
        TEST(messages_begin_with_the_caller_where_it_is_known),
        TEST(every_status_has_a_name),
        TEST(a_failure_stays_until_it_is_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
