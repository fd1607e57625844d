#!/usr/bin/env python3
"""graph_mutants.py - breaks the graph layer on purpose, one way at a time; the tests must notice.

    graph_mutants.py [NAME ...]      all mutants, or those whose names contain one of the words

Each mutant replaces text of a file in src/ that must be found exactly once, whatever its line
breaks: what does not apply any more, or does not compile, is a failure of its own. The tests run
in their short form, as many mutants at a time as there are processors; a mutant is caught by the
first program that fails, crashes or takes ten times longer than without it. Exit status 0: all
were caught.
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CC = os.environ.get("CC", "gcc")
# Quick ones first: most mutants are caught at once.
TESTS = ["lifetime", "misuse", "explain", "random_programs", "allocation_failures", "explore",
         "deep_graphs", "threads"]
FLAGS = ["-std=gnu17", "-O1", "-w", "-DEBB_CHECK=0"]

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
    "a walk to several inputs stops at the newest": [
        (WALK, "if (sequence < oldest) oldest", "if (i == 0 || sequence > oldest) oldest")],
    "a walk to inputs goes through the whole past": [
        (WALK, "uint64_t oldest = n_inputs > 0 ? UINT64_MAX : 0;", "uint64_t oldest = 0;")],
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
    "a walk does not hold the leaves it reaches": [
        (WALK, "    for (int64_t i = 0; i < w->n_leaves; i++) leaf_count(w->leaves[i], LEAF_HANDLE);", ""),
        (CLAIM, "LEAF_HANDLE + (w->claimed ?", "(w->claimed ?")],
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



class Broken(Exception):
    """The script, not the code under test, is at fault."""


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **kwargs)


def replace_once(name, text, old, new):
    """White space in old stands for any: a formatter may have broken the lines anew."""
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    if old[0].isspace():
        pattern = r"(?<=\s)" + pattern
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise Broken(f"{name}: found {len(found)} times, not once: {old!r}")
    return text[:found[0].start()] + new + text[found[0].end():]


def mutated(edits):
    """The changed files by name."""
    texts = {}
    for name, old, new in edits:
        if name not in texts:
            with open(os.path.join(ROOT, "src", name)) as f:
                texts[name] = f.read()
        texts[name] = replace_once(name, texts[name], old, new)
    return texts


class Layer:
    """The objects of base and graph in two kinds, plain and with the explorer's yield points, with
    some files replaced; those that were not are the pristine layer's."""

    def __init__(self, work, name, pristine=None, texts=None):
        self.folder = os.path.join(work, name)
        self.pristine = pristine
        self.objects = {}
        os.makedirs(self.folder)
        sources = sorted(f"{layer}/{name}" for layer in ("base", "graph")
                         for name in os.listdir(os.path.join(ROOT, "src", layer))
                         if name.endswith(".c") and name != "philox.c")
        self.sources = {s: os.path.join(ROOT, "src", s) for s in sources}
        self.changed = sources if not pristine else []
        self.include = []
        if texts:
            self.replace(texts)

    def replace(self, texts):
        os.makedirs(os.path.join(self.folder, "src/graph"))
        if any(name.endswith(".h") for name in texts):
            # A header of the folder is found beside the file that includes it: take all of it.
            self.changed = [s for s in self.sources if s.startswith("graph/")]
            for name in os.listdir(os.path.join(ROOT, "src/graph")):
                with open(os.path.join(ROOT, "src/graph", name)) as f:
                    texts.setdefault("graph/" + name, f.read())
        else:
            self.changed = sorted(texts)
        for name, text in texts.items():
            path = os.path.join(self.folder, "src", name)
            with open(path, "w") as f:
                f.write(text)
            if name.endswith(".c"):
                self.sources[name] = path
        self.include = ["-I" + os.path.join(self.folder, "src")]

    def compile(self, name, source, flags=()):
        path = os.path.join(self.folder, name.replace("/", "_") + ".o")
        done = run([CC, *FLAGS, *flags, *self.include, "-I" + os.path.join(ROOT, "src"),
                    "-I" + os.path.join(ROOT, "include"), "-I" + os.path.join(ROOT, "tests"),
                    "-c", source, "-o", path])
        if done.returncode:
            raise Broken(f"{source} does not compile:\n{done.stdout}")
        return path

    def library(self, kind):
        if kind not in self.objects:
            flags = ["-DEBB__EXPLORE"] if kind == "explore" else []
            objects = dict(self.pristine.library(kind)) if self.pristine else {}
            for s in self.changed:
                objects[s] = self.compile(f"{kind}_{s}", self.sources[s], flags)
            self.objects[kind] = objects
        return self.objects[kind]


class Tests:
    def __init__(self, layer):
        support, folder = (os.path.join(ROOT, "tests", name) for name in ("support", "graph"))
        self.support = {name: layer.compile("support_" + name, os.path.join(support, name))
                        for name in sorted(os.listdir(support))
                        if name.startswith("graph_") and name.endswith(".c")}
        self.objects = {}
        for test in TESTS:
            name = "explore_interleavings.c" if test == "explore" else f"test_{test}.c"
            flags = ["-DEBB__EXPLORE"] if test == "explore" else []
            self.objects[test] = layer.compile("test_" + test, os.path.join(folder, name), flags)
        self.seconds = {test: 60 for test in TESTS}

    def program(self, test, layer):
        kind = "explore" if test == "explore" else "plain"
        path = os.path.join(layer.folder, "run_" + test)
        # The explorer's tests are programs of coroutines: they leave the fixture out.
        support = [o for name, o in self.support.items() if kind == "plain" or "fixture" not in name]
        done = run([CC, self.objects[test], *support, *layer.library(kind).values(), "-o", path,
                    "-lcmocka", "-lpthread"])
        if done.returncode:
            raise Broken(f"{test} does not link:\n{done.stdout}")
        return path

    def caught_by(self, layer):
        environment = dict(os.environ, EBB_TEST_SHORT="1", EBB_GRAPH_STEPS="20000",
                           EBB_EXPLORE_RUNS="6000", MALLOC_PERTURB_="165")
        for test in TESTS:
            program = self.program(test, layer)
            try:
                done = run([program], env=environment, timeout=self.seconds[test])
            except subprocess.TimeoutExpired:
                return test + " (time)"
            if done.returncode:
                return test
            os.remove(program)
        return None

    def measure(self, layer):
        """Runs all of them on the unbroken layer; what they take bounds what a mutant may."""
        for test in TESTS:
            start = time.monotonic()
            path = self.program(test, layer)
            done = run([path], env=dict(os.environ, EBB_TEST_SHORT="1", EBB_GRAPH_STEPS="20000",
                                        EBB_EXPLORE_RUNS="6000"))
            if done.returncode:
                raise Broken(f"{test} fails without any mutant:\n{done.stdout}")
            self.seconds[test] = 10 + 10 * (time.monotonic() - start)


def main():
    wanted = {name: edits for name, edits in MUTANTS.items()
              if len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])}
    survivors = []
    with tempfile.TemporaryDirectory() as work, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        texts = {name: mutated(edits) for name, edits in wanted.items()}
        pristine = Layer(work, "pristine")
        libraries = [pool.submit(pristine.library, kind) for kind in ("plain", "explore")]
        tests = Tests(pristine)
        for library in libraries:
            library.result()
        tests.measure(pristine)

        def judge(number, name):
            layer = Layer(work, str(number), pristine, texts[name])
            return tests.caught_by(layer)

        judged = [(name, pool.submit(judge, number, name)) for number, name in enumerate(wanted)]
        for name, result in judged:
            by = result.result()
            print(f"{name}: " + (f"caught by {by}" if by else "SURVIVES"), flush=True)
            if not by:
                survivors.append(name)
    print(f"{len(wanted) - len(survivors)} of {len(wanted)} mutants caught")
    return 1 if survivors or not wanted else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as broken:
        sys.exit(str(broken))
