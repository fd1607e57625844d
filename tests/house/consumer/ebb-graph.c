/* ebb-graph.c - an engine author's first program in C: a node lives while it has a handle.
 * SPDX-License-Identifier: MIT */
#include <ebb/graph.h>
#include <stdio.h>

static void count(void *freed)
{
    ++*(int *)freed;
}

static ebb_status record(ebb_graph_space *space, int *freed)
{
    ebb_graph_payload leaf_payload = {NULL, NULL, 1}, node_payload = {freed, count, 2};
    ebb_graph_node *leaf = NULL, *node = NULL;
    EBB_TRY(ebb_graph_leaf_create(&leaf, space, &leaf_payload));
    ebb_graph_edge edge = {leaf, 0};
    EBB_TRY(ebb_graph_node_record(&node, space, &edge, 1, &node_payload));
    if (ebb_graph_node_state(node) != EBB_GRAPH_LIVE || *freed != 0)
        return ebb_fail(EBB_E_INTERNAL, "a new node is not live");
    ebb_graph_node_release(node);
    if (*freed != 1)
        return ebb_fail(EBB_E_INTERNAL, "the last handle went, the payload did not");
    ebb_graph_node_release(leaf);
    return EBB_OK;
}

int main(void)
{
    ebb_graph_space *space = NULL;
    int freed = 0;
    ebb_status s = ebb_graph_space_create(&space, NULL);
    if (s == EBB_OK) s = record(space, &freed);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_graph_space_destroy(space);
    if (s == EBB_OK) puts("consumer ok");
    return s != EBB_OK;
}
