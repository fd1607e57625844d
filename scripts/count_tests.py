#!/usr/bin/env python3
"""count_tests.py FILE.xml... - adds up test results; the last line is "N passed, N failed".

Reads what ctest writes with --output-junit. A program that reports its own cases (cmocka, unittest)
counts as that many. A FILE that is missing or empty counts as one failure: its build or its run
broke. Exits 1 if anything failed or nothing ran.
SPDX-License-Identifier: MIT
"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

CASES = re.compile(r"^\[  PASSED  \] (\d+) test|^Ran (\d+) tests? in", re.M)


def count(path):
    """(passed, failed, skipped, names of the failed) of one file."""
    name = os.path.splitext(os.path.basename(path))[0]
    try:
        cases = ElementTree.parse(path).getroot().findall(".//testcase")
    except (OSError, ElementTree.ParseError):
        return 0, 1, 0, [f"{name}: no results, the build or the run broke"]
    passed = failed = skipped = 0
    names = []
    for case in cases:
        output = case.findtext("system-out") or ""
        inner = sum(int(a or b) for a, b in CASES.findall(output))
        reason = case.find("skipped")
        if reason is not None and re.search("SKIP_|[Dd]isabled", reason.get("message") or ""):
            skipped += 1
        elif case.get("status") == "run" and case.find("failure") is None:
            passed += max(inner, 1)
        else:
            failed += 1
            names.append(f"{name}: {case.get('name')}")
    if not cases:
        return 0, 1, 0, [f"{name}: no test ran"]
    return passed, failed, skipped, names


def main():
    passed = failed = skipped = 0
    for path in sys.argv[1:]:
        p, f, s, names = count(path)
        passed, failed, skipped = passed + p, failed + f, skipped + s
        for name in names:
            print(f"failed: {name}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
