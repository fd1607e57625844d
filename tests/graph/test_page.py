#!/usr/bin/env python3
"""test_page.py - the programs on the graph's page compile without warnings, run and are right.

The first block is common to all; each other one is the body of a function.
SPDX-License-Identifier: MIT
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.environ["EBB_SOURCE_DIR"]
BEGIN = """#undef NDEBUG
#include <assert.h>
#include <ebb/graph.h>
#include <stdio.h>
#include <stdlib.h>
static void must(ebb_status s)
{
    if (s != EBB_OK) {
        fprintf(stderr, "%s\\n", ebb_error_message());
        exit(1);
    }
}
int main(void)
{
    ebb_graph_space *space;
    must(ebb_graph_space_create(&space, NULL));
"""
END = """
    (void)a, (void)b, (void)c, (void)s;
    ebb_graph_space_destroy(space);
    return 0;
}
"""


def main():
    with open(os.path.join(ROOT, "docs", "graph.md")) as f:
        common, *programs = re.findall(r"```c\n(.*?)```", f.read(), flags=re.S)
    if len(programs) < 6:
        sys.exit(f"{len(programs)} programs on the page")
    common = common.replace("*a, *b, *c;", "*a = NULL, *b = NULL, *c = NULL;")
    with tempfile.TemporaryDirectory() as work:
        sources = [os.path.join(ROOT, "src", layer, name) for layer in ("base", "graph")
                   for name in os.listdir(os.path.join(ROOT, "src", layer))
                   if name.endswith(".c") and name != "philox.c"]
        cc = [os.environ.get("CC", "cc"), "-std=gnu17", "-I" + os.path.join(ROOT, "src"),
              "-I" + os.path.join(ROOT, "include")]
        subprocess.run([*cc, "-O1", "-c", *sources], cwd=work, check=True)
        objects = [os.path.join(work, os.path.basename(s)[:-1] + "o") for s in sources]
        for i, program in enumerate(programs):
            path = os.path.join(work, f"program_{i}")
            with open(path + ".c", "w") as f:
                f.write(BEGIN + common + program + END)
            subprocess.run([*cc, "-Wall", "-Werror", path + ".c", *objects, "-o", path,
                            "-lpthread"], check=True)
            if subprocess.run([path]).returncode:
                sys.exit(f"this program of docs/graph.md is wrong:\n{program}")
    print(f"{len(programs)} programs")


if __name__ == "__main__":
    main()
