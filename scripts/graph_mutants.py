#!/usr/bin/env python3
"""graph_mutants.py - breaks the graph layer on purpose, one way at a time; the tests must notice.

    graph_mutants.py [NAME ...]      all mutants, or those whose names contain one of the words

Each mutant replaces text in a copy of src/ that must be found exactly once. The tests run in their
short form; a mutant is caught by the first program that fails,
crashes or takes longer than a minute. Exit status 0: all were caught.
SPDX-License-Identifier: MIT
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CC = os.environ.get("CC", "gcc")
TESTS = ["lifetime", "random_programs", "explore", "deep_graphs", "explain", "misuse",
         "allocation_failures", "threads"]
FLAGS = ["-std=gnu17", "-O1", "-g", "-w", "-DEBB_CHECK=0"]

CLAIM, LIFE, ENDS, RECORD, WALK, ORDER, NODE, CONSUME = (
    "graph/" + name for name in ("claim.c", "life.c", "life.h", "record.c", "walk.c", "walk_order.c",
                                 "node.h", "consume.c"))

# name: [(file, old, new), ...]
MUTANTS = {
    "descendants are not severed": [
        (CLAIM, "    sever_all(h);\n", "")],
    "severed nodes stay linked": [
        (CLAIM, "        ebb__graph_unlink(n, n->n_parents, part);\n    }\n    for (node *n = h->severed",
         "    }\n    for (node *n = h->severed")],
    "severing stops at the first generation": [
        (CLAIM, "            node_pin(child);\n            take_children(h, child);",
         "            node_pin(child);")],
    "no cascade to parents": [
        (ENDS, "        pending_push(n);\n    }\n    if (gone)", "    }\n    if (gone)")],
    "a leaf is spent": [
        (CLAIM, "    w->claimed = true;\n}", "    w->claimed = true;\n    for (int64_t i = 0; i < "
         "w->n_leaves; i++) node_state_set(w->leaves[i], NODE_SPENT);\n}")],
    "born severed is not noticed": [
        (RECORD, "bool is_live = node_state(p) == NODE_LIVE;", "bool is_live = true;")],
    "a new node does not look for the severer's mark": [
        (RECORD, "bool is_live = !tomb && !(n->marks & NODE_CUT);", "bool is_live = !tomb;")],
    "no LINKING: a node is live from its first link": [
        (RECORD, "atomic_init(&n->state, NODE_LINKING);", "atomic_init(&n->state, NODE_LIVE);"),
        (RECORD, "    bool is_live = !tomb && !(n->marks & NODE_CUT);\n    node_state_set(n, is_live",
         "    if (node_state(n) != NODE_LIVE) {\n        node_unlock(n);\n        return true;\n    }\n"
         "    bool is_live = !tomb;\n    node_state_set(n, is_live")],
    "children are taken over without a pin": [
        (CLAIM, "        node_pin(child);\n        *h->last = e;", "        *h->last = e;"),
        (CLAIM, "        next = e->next;\n        ebb__graph_unpin(edge_node(e), part);",
         "        next = e->next;")],
    "severing outside the claim lock": [
        (CLAIM, "    sever_all(h);\n", ""),
        (CLAIM, "    ebb__pool_part_count(part, COUNT_CONSUMED, h->n_spent);",
         "    sever_all((haul *)h);\n    ebb__pool_part_count(part, COUNT_CONSUMED, h->n_spent);")],
    "a kept walk does not pin": [
        (WALK, "        for (int64_t i = 0; i < w->n_nodes; i++) node_pin(w->nodes[i]);",
         "        for (int64_t i = 0; i < w->n_nodes && !w->keep; i++) node_pin(w->nodes[i]);"),
        (CLAIM, "    else\n        ebb__graph_unpin(w->nodes[i], part);",
         "    else if (!w->keep)\n        ebb__graph_unpin(w->nodes[i], part);")],
    "no claim lock": [
        (NODE, "    ebb__explore_take(&space->explored_claim, space);", "    (void)space;"),
        (NODE, "    if (!space->single_threaded) pthread_mutex_lock(&space->claim_lock);", ""),
        (NODE, "    ebb__explore_give(&space->explored_claim);", ""),
        (NODE, "    if (!space->single_threaded) pthread_mutex_unlock(&space->claim_lock);", "")],
    "the root is not looked at again before the claim": [
        (CLAIM, "    int64_t lost = root_lost(w);", "    int64_t lost = -1;")],
    "a dying node is not pinned": [
        (ENDS, "        node_pin(n);\n        *owned = true;", "        *owned = true;"),
        (LIFE, "        ebb__graph_unpin_last(n, 0, part);\n    }\n}",
         "        node_pin(n);\n        ebb__graph_unpin_last(n, 0, part);\n    }\n}")],
    "a spent node is freed although pinned": [
        (ENDS, "*gone = atomic_load_explicit(&n->pins, memory_order_acquire) == 0;", "*gone = true;")],
    "state goes at the end of the walk": [
        (CLAIM, "    ebb__graph_enter();\n    node_done(w, i, ebb__pool_part_get(w->space->pool));\n",
         "    w->n_done = 0;\n    ebb__graph_enter();\n")],
    "a kept graph is spent": [
        (CLAIM, "if (w->keep || w->claimed) return EBB_OK;", "if (w->claimed) return EBB_OK;")],
    "uses of parents in the walk are lost": [
        (CLAIM, "            w->node_map[t->node]++;", "            (void)0;")],
    "a leaf's uses are lost": [
        (CLAIM, "            w->leaf_map[t->leaf]++;", "            (void)0;")],
    "a chosen input is spent": [
        (CLAIM, "        if (w->is_stop[i]) continue;\n", "")],
    "chosen inputs are ignored": [
        (ORDER, "    reach(w);\n", "    for (int64_t i = 0; i < w->n_nodes; i++) w->node_map[i] = 0;\n")],
    "a kept walk lets go of what it does not visit": [
        (ORDER, "        } else if (!w->keep) {\n            ebb__graph_unpin", "        } else {\n"
         "            ebb__graph_unpin"),
        (ORDER, "    if (!w->keep) w->n_nodes_held = n;", "    w->n_nodes_held = n;")],
    "an input without a path is passed over": [
        (CONSUME, "i < w->n_inputs && !o->allow_unused", "i < 0")],
    "the order is that of discovery": [
        (WALK, "    if (!is_sorted) s = ebb__graph_walk_sort(w);", "")],
    "the order is that of discovery, in one pass": [
        (WALK, "    if (h && v->is_sorted)", "    if (h)"),
        (WALK, "    if (!is_sorted) s = ebb__graph_walk_sort(w);",
         "    if (!is_sorted && !w->claimed) s = ebb__graph_walk_sort(w);")],
    "only ten bits of a sequence are compared": [
        (ORDER, "shift < 64 && greatest >> shift", "shift < 11")],
    "a child is no younger than its parent": [
        (RECORD, "    *sequence = newest + 1;", "    *sequence = newest;")],
    "a tombstone names the severed node": [
        (CLAIM, "        h->tag = e->parent->tomb_tag;", "        h->tag = child->tag;")],
    "a node born severed has no tombstone": [
        (RECORD, "    n->tomb_tag = tomb.tag;\n    n->tomb_number = tomb.number;\n    born",
         "    born")],
    "releases in callbacks nest": [
        (ENDS, "ebb__graph_pending.first && ebb__graph_pending.depth == 1", "ebb__graph_pending.first")],
    "a leaf is freed with its last handle": [
        (LIFE, "    if (before == counts) pending_push(leaf);",
         "    if (before >> 32 == counts >> 32) pending_push(leaf);")],
    "a failed record takes the payload": [
        (RECORD, "    if (!n) return ebb_error_status();\n    thread_clock",
         "    if (!n) {\n        if (payload && payload->free) payload->free(payload->data);\n"
         "        return ebb_error_status();\n    }\n    thread_clock")],
    "a walk that finds no memory keeps its pins": [
        (WALK, "    if (s != EBB_OK) ebb__graph_walk_end(w);", "")],
    "a forked child is not told": [
        (NODE, "    return space->generation == ebb__fork_generation();",
         "    return space->generation != UINT32_MAX;")],
    "a label outlives its node": [
        (ENDS, "    if (n->marks & NODE_LABELLED) ebb__graph_label_drop(n);\n", "")],
    "edges are counted once too often": [
        (CLAIM, "    w->n_unlinked += n->n_parents;", "    w->n_unlinked += n->n_parents - 1;")],
}


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)


class Builder:
    def __init__(self, work):
        self.work = work
        self.src = os.path.join(work, "src")
        for layer in ("base", "graph"):
            shutil.copytree(os.path.join(ROOT, "src", layer), os.path.join(self.src, layer))
        self.pristine = os.path.join(work, "pristine")
        shutil.copytree(self.src, self.pristine)
        self.include = ["-I" + self.src, "-I" + os.path.join(ROOT, "include"),
                        "-I" + os.path.join(ROOT, "tests")]
        self.sources = sorted(os.path.join(layer, name) for layer in ("base", "graph")
                              for name in os.listdir(os.path.join(self.src, layer))
                              if name.endswith(".c") and name != "philox.c")

    def object(self, name, source, flags=()):
        path = os.path.join(self.work, name.replace("/", "_") + ".o")
        done = run([CC, *FLAGS, *flags, *self.include, "-c", source, "-o", path])
        if done.returncode:
            sys.exit(f"{source} does not compile:\n{done.stdout}")
        return path

    def library(self, kind, sources):
        flags = ["-DEBB__EXPLORE"] if kind == "explore" else []
        for source in sources:
            self.object(kind + "_" + source, os.path.join(self.src, source), flags)

    def tests(self):
        support = os.path.join(ROOT, "tests", "support")
        self.support = [self.object("support_" + name, os.path.join(support, name))
                        for name in sorted(os.listdir(support))
                        if name.startswith("graph_") and name.endswith(".c")]
        folder = os.path.join(ROOT, "tests", "graph")
        for test in TESTS:
            if test == "explore":
                self.object("test_explore", os.path.join(folder, "explore_interleavings.c"),
                            ["-DEBB__EXPLORE"])
            else:
                self.object("test_" + test, os.path.join(folder, f"test_{test}.c"))

    def program(self, test):
        kind = "explore" if test == "explore" else "plain"
        path = os.path.join(self.work, "run_" + test)
        objects = [os.path.join(self.work, f"{kind}_{s}".replace("/", "_") + ".o")
                   for s in self.sources]
        # The explorer's tests are programs of coroutines: they leave the fixture out.
        support = [s for s in self.support if kind == "plain" or "fixture" not in s]
        done = run([CC, os.path.join(self.work, f"test_{test}.o"), *support, *objects, "-o", path,
                    "-lcmocka", "-lpthread"])
        if done.returncode:
            sys.exit(f"{test} does not link:\n{done.stdout}")
        return path

    def caught_by(self):
        environment = dict(os.environ, EBB_TEST_SHORT="1", EBB_GRAPH_STEPS="20000",
                           EBB_EXPLORE_RUNS="6000", MALLOC_PERTURB_="165")
        for test in TESTS:
            try:
                done = run([self.program(test)], env=environment, timeout=60)
            except subprocess.TimeoutExpired:
                return test + " (time)"
            if done.returncode:
                return test
        return None


def apply(builder, edits):
    """Returns the sources to compile again."""
    changed = set()
    for name, old, new in edits:
        path = os.path.join(builder.src, name)
        with open(path) as f:
            text = f.read()
        if text.count(old) != 1:
            sys.exit(f"{name}: found {text.count(old)} times, not once: {old!r}")
        with open(path, "w") as f:
            f.write(text.replace(old, new))
        changed.add(name)
    if any(name.endswith(".h") for name in changed):
        return [s for s in builder.sources if s.startswith("graph/")]
    return sorted(changed)


def main():
    wanted = [name for name in MUTANTS
              if len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])]
    survivors = []
    with tempfile.TemporaryDirectory() as work:
        builder = Builder(work)
        builder.tests()
        for kind in ("plain", "explore"):
            builder.library(kind, builder.sources)
        failed = builder.caught_by()
        if failed:
            sys.exit(f"{failed} fails without any mutant")
        for name in wanted:
            sources = apply(builder, MUTANTS[name])
            for kind in ("plain", "explore"):
                builder.library(kind, sources)
            by = builder.caught_by()
            print(f"{name}: " + (f"caught by {by}" if by else "SURVIVES"), flush=True)
            if not by:
                survivors.append(name)
            for file in {edit[0] for edit in MUTANTS[name]}:
                shutil.copy(os.path.join(builder.pristine, file), os.path.join(builder.src, file))
            for kind in ("plain", "explore"):
                builder.library(kind, sources)
    print(f"{len(wanted) - len(survivors)} of {len(wanted)} mutants caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
