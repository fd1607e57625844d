"""test_example.py - the example in CONTRIBUTING of adding an operation is the code that is there, and
no other hand-written file knows the operation.
SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import sys

root = pathlib.Path(os.environ["EBB_SOURCE_DIR"])
text = (root / "CONTRIBUTING.md").read_text()
section = text.split("## Adding an operation")[1].split("\n## ")[0]
blocks = re.findall(r"```c\n/\* (\S+) \*/\n(.*?)```", section, re.S)
generated = {"src/api/ops_gen.c", "include/ebb/ops.h", "include/ebb/sites.h"}
faults = []
if {path for path, _ in blocks} != {"src/ops/ops.def", "src/ops/trig.c"}:
    faults.append(f"the example has blocks of {[path for path, _ in blocks]}")
for path, code in blocks:
    if code.strip() not in (root / path).read_text():
        faults.append(f"the example's part of {path} is not what stands there")
for folder in ("src", "include", "cli", "cmake"):
    for path in sorted((root / folder).rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or name in generated | {p for p, _ in blocks}:
            continue
        if re.search(r"\bsinh\b", path.read_text(errors="replace")):
            faults.append(f"{name} knows the example's operation")
for fault in faults:
    print(fault)
sys.exit(bool(faults))
