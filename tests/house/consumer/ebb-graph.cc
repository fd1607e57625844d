/* ebb-graph.cc - the same in C++, with the space in an owner.
 * SPDX-License-Identifier: MIT */
#include <cstdio>
#include <ebb/graph.h>
#include <memory>

int main()
{
    ebb_graph_space *made = nullptr;
    if (ebb_graph_space_create(&made, nullptr) != EBB_OK) return 1;
    std::unique_ptr<ebb_graph_space, void (*)(ebb_graph_space *)> space(
        made, ebb_graph_space_destroy);
    ebb_graph_payload payload = {nullptr, nullptr, 7};
    ebb_graph_node *leaf = nullptr;
    if (ebb_graph_leaf_create(&leaf, space.get(), &payload) != EBB_OK) return 1;
    bool ok = ebb_graph_node_state(leaf) == EBB_GRAPH_LEAF && ebb_graph_node_tag(leaf) == 7;
    ebb_graph_node_release(leaf);
    if (ok) std::puts("consumer ok");
    return !ok;
}
