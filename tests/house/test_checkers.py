"""test_checkers.py - the checks of layers, style and results refuse what they are there to refuse.

Each sample is a small tree with one fault; the fault must be named, and the same tree without it
must pass.
SPDX-License-Identifier: MIT
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ["EBB_SOURCE_DIR"]
CC = os.environ.get("CC") or "cc"


def header(name):
    return f"/* {name} - a sample.\n * SPDX-License-Identifier: MIT */\n"


def run(script, *arguments):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", script), *arguments],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        self.addCleanup(self.folder.cleanup)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def source(self, path, text):
        self.write(path, header(os.path.basename(path)) + text)

    def guarded(self, path, guard, text=""):
        self.source(path, f"#ifndef {guard}\n#define {guard}\n{text}#endif\n")


class Layers(Tree):
    def refused(self, words):
        code, out = run("check_layers.py", self.root)
        self.assertEqual(code, 1, out)
        self.assertIn(words, out)

    def accepted(self):
        self.assertEqual(run("check_layers.py", self.root), (0, ""))

    def setUp(self):
        super().setUp()
        self.guarded("src/base/low.h", "EBB_BASE_LOW_H")
        self.guarded("src/graph/node.h", "EBB_GRAPH_NODE_H", '#include "base/low.h"\n')
        self.guarded("src/tensor/dtype.h", "EBB_TENSOR_DTYPE_H", '#include "graph/node.h"\n')
        self.accepted()

    def test_include_of_a_higher_layer(self):
        self.source("src/graph/x.c", '#include "tensor/dtype.h"\n')
        self.refused('src/graph/x.c:3: graph may not include "tensor/dtype.h"')

    def test_include_of_a_lower_layer_that_is_not_listed(self):
        self.source("src/memory/x.c", '#include "graph/node.h"\n')
        self.refused("memory may not include")

    def test_include_inside_a_comment_is_none(self):
        self.source("src/base/x.c", '/*\n#include "graph/node.h"\n*/\n')
        self.accepted()

    def test_private_header_in_a_public_only_layer(self):
        self.source("src/nn/x.c", '#include "base/low.h"\n')
        self.refused('nn may not include "base/low.h"')

    def test_private_header_in_a_program(self):
        self.source("examples/x.c", '#include "base/low.h"\n')
        self.refused("programs see <ebb/...>")

    def test_path_without_the_layer(self):
        self.source("src/base/x.c", '#include "low.h"\n')
        self.refused('write "layer/file.h"')

    def test_generated_interface_below_api(self):
        self.source("src/autodiff/x.c", "#include <ebb/ops.h>\n")
        self.refused("belongs to layer api")

    def test_unknown_folder(self):
        self.source("src/misc/x.c", "")
        self.refused("no entry in scripts/layers.py")

    def test_include_cycle(self):
        self.guarded("src/base/a.h", "EBB_BASE_A_H", '#include "base/b.h"\n')
        self.guarded("src/base/b.h", "EBB_BASE_B_H", '#include "base/c.h"\n')
        self.guarded("src/base/c.h", "EBB_BASE_C_H", '#include "base/a.h"\n')
        self.refused("include cycle: ")

    def test_private_header_in_a_public_one(self):
        self.source("include/ebb/x.h", '#include "base/low.h"\n')
        self.refused("public headers include <ebb/...>")


class Links(Tree):
    def layers(self, **texts):
        lines = [f"cc {CC}", "library "]
        for name, text in texts.items():
            source, target = f"{self.root}/{name}.c", f"{self.root}/{name}.c.o"
            self.write(name + ".c", text)
            subprocess.run([CC, "-fPIC", "-c", source, "-o", target], check=True)
            lines.append(f"layer {name} {target}")
        self.write("layers.txt", "\n".join(lines) + "\n")
        return run("check_layer_links.py", self.root)

    def test_calls_downward_pass(self):
        code, out = self.layers(base="int ebb__low(void) { return 1; }\n",
                                graph="int ebb__low(void);\nint ebb__mid(void) { return ebb__low(); }\n")
        self.assertEqual((code, out), (0, "2 layers linked, 0 faults\n"))

    def test_call_upward_without_an_include(self):
        code, out = self.layers(base="int ebb__mid(void);\nint ebb__low(void) { return ebb__mid(); }\n",
                                graph="int ebb__mid(void) { return 2; }\n")
        self.assertEqual(code, 1, out)
        self.assertIn("layer base: base.c needs ebb__mid, defined in layer graph", out)

    def test_call_of_a_layer_beside(self):
        code, out = self.layers(graph="int ebb__use(void);\nint ebb__g(void) { return ebb__use(); }\n",
                                memory="int ebb__use(void) { return 2; }\n")
        self.assertEqual(code, 1, out)
        self.assertIn("layer graph: graph.c needs ebb__use, defined in layer memory", out)

    def test_global_name_without_the_prefix(self):
        code, out = self.layers(base="int helper(void) { return 1; }\n")
        self.assertEqual(code, 1, out)
        self.assertIn("global symbol helper", out)


class Style(Tree):
    def refused(self, words):
        code, out = run("check_style.py", self.root)
        self.assertEqual(code, 1, out)
        self.assertIn(words, out)

    def accepted(self):
        self.assertEqual(run("check_style.py", self.root), (0, ""))

    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(ROOT, ".clang-format"), self.root)
        self.guarded("src/graph/node.h", "EBB_GRAPH_NODE_H", "int ebb__n(void);\n")
        self.accepted()

    def function(self, lines):
        return "int ebb__f(int x)\n{\n" + "    x++;\n" * (lines - 4) + "    return x;\n}\n"

    def test_function_of_61_lines(self):
        self.source("src/base/x.c", self.function(60))
        self.accepted()
        self.source("src/base/x.c", self.function(61))
        self.refused("src/base/x.c:3: a function of 61 lines")

    def test_long_class_is_no_function(self):
        self.source("examples/x.hpp", "class x\n{\n" + "    int a;\n" * 70 + "};\n")
        self.accepted()
        self.source("examples/x.hpp", "struct x f(int a)\n{\n" + "    a++;\n" * 70 + "}\n")
        self.refused("examples/x.hpp:3: a function of 73 lines")

    def test_file_of_601_lines(self):
        self.source("src/base/x.c", "int ebb__a;\n" * 598)
        self.accepted()
        self.source("src/base/x.c", "int ebb__a;\n" * 599)
        self.refused("src/base/x.c: 601 lines")

    def test_every_layer_is_looked_at(self):
        for folder in ["src/data", "src/backend/onednn", "src/ops/kernels", "tests/graph", "examples"]:
            with self.subTest(folder):
                self.source(f"{folder}/y.c", self.function(61))
                self.refused(f"{folder}/y.c:3: a function of 61 lines")
                os.remove(os.path.join(self.root, folder, "y.c"))

    def test_missing_header_comment(self):
        self.write("src/base/x.c", "int ebb__a;\n")
        self.refused('begins with "/* x.c - "')
        self.refused("lacks SPDX-License-Identifier")

    def test_status_made_without_the_record(self):
        self.source("src/base/x.c", "int ebb__f(void)\n{\n    return EBB_E_SHAPE;\n}\n")
        self.refused("ebb__fail makes every non-OK status")
        self.source("src/base/x.c", "int ebb__f(void)\n{\n    return ebb__fail(EBB_E_SHAPE, \"x\");\n}\n")
        self.accepted()

    def test_printing_stopping_and_reading_the_environment(self):
        for call in ['printf("x")', "exit(1)", "abort()", 'getenv("X")', 'fprintf(stderr, "x")']:
            with self.subTest(call):
                self.source("src/base/x.c", f"void ebb__f(void)\n{{\n    {call};\n}}\n")
                self.refused("src/base/x.c:5: ")
        self.source("src/base/x.c", "void ebb__f(char *s)\n{\n    /* printf() */\n"
                    "    snprintf(s, 1, \"exit(\");\n}\n")
        self.accepted()

    def test_unfinished_work(self):
        self.source("src/base/x.c", "/* TO" + "DO */\n")
        self.refused("src/base/x.c:3: TO" + "DO")

    def test_include_guard(self):
        self.source("src/base/x.h", "int ebb__a(void);\n")
        self.refused("src/base/x.h:1: no include guard")
        self.guarded("src/base/x.h", "EBB_X_H")
        self.refused("include guard is EBB_X_H, not EBB_BASE_X_H")
        self.guarded("src/base/x.h", "EBB_BASE_X_H")
        self.guarded("include/ebb/y.h", "EBB_Y_H")
        self.accepted()

    def test_file_name_used_twice(self):
        self.guarded("src/tensor/node.h", "EBB_TENSOR_NODE_H")
        self.refused("src/tensor/node.h: the name is taken by src/graph/node.h")

    def test_link_that_leads_nowhere(self):
        self.write("docs/a.md", "[good](b.md#part) [bad](c.md) ```[code](d.md)```\n")
        self.write("docs/b.md", "[out](http://example.org)\n")
        self.refused("docs/a.md: the link to c.md leads nowhere")
        self.assertNotIn("d.md", run("check_style.py", self.root)[1])

    def test_format(self):
        self.source("src/base/x.c", "int  ebb__a ;\n")
        if subprocess.run(["which", "clang-format-14"], capture_output=True, check=False).returncode == 0:
            self.refused("src/base/x.c: not as clang-format-14 writes it")


class Counts(Tree):
    def counted(self, *cases):
        body = "".join(f'<testcase name="a/{i}" {case}</testcase>' for i, case in enumerate(cases))
        self.write("dev.xml", f"<testsuite>{body}</testsuite>")
        code, out = run("count_tests.py", os.path.join(self.root, "dev.xml"))
        return code, out.splitlines()

    GOOD = 'status="run"><system-out>ok</system-out>'
    CASES = 'status="run"><system-out>[  PASSED  ] 5 test(s).\n</system-out>'
    BAD = 'status="fail"><failure message=""/><system-out>[  PASSED  ] 4 test(s).\n</system-out>'
    NOT_BUILT = 'status="notrun"><skipped message="Unable to find executable"/>'
    SKIPPED = 'status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'

    def test_cases_inside_a_program_count(self):
        self.assertEqual(self.counted(self.GOOD, self.CASES), (0, ["6 passed, 0 failed"]))

    def test_one_failure_fails_the_run(self):
        self.assertEqual(self.counted(self.GOOD, self.BAD), (1, ["failed: dev: a/1", "1 passed, 1 failed"]))

    def test_a_program_that_was_not_built_failed(self):
        self.assertEqual(self.counted(self.GOOD, self.NOT_BUILT)[0], 1)

    def test_skipped_is_neither(self):
        self.assertEqual(self.counted(self.GOOD, self.SKIPPED), (0, ["1 passed, 0 failed, 1 skipped"]))

    def test_no_results_is_a_failure(self):
        self.assertEqual(run("count_tests.py", os.path.join(self.root, "none.xml"))[0], 1)
        self.assertEqual(self.counted()[0], 1)


if __name__ == "__main__":
    unittest.main()
