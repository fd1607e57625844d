"""test_headers.py - every public header compiles alone, and twice, in C17 and in C++17.

SPDX-License-Identifier: MIT
"""
import os
import subprocess
import sys
import tempfile

INCLUDE = os.path.join(os.environ["EBB_SOURCE_DIR"], "include")
FLAGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-pedantic", "-fsyntax-only", "-I", INCLUDE]
LANGUAGES = [("c", [os.environ.get("CC") or "cc", "-std=c17", "-Wstrict-prototypes"])]
if os.environ.get("CXX"):
    LANGUAGES.append(("cc", [os.environ["CXX"], "-std=c++17"]))


def compiles(text, suffix, command):
    with tempfile.NamedTemporaryFile("w", suffix="." + suffix) as file:
        file.write(text)
        file.flush()
        run = subprocess.run(command + FLAGS + [file.name], capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stderr


def main():
    failed = checked = 0
    for name in sorted(os.listdir(os.path.join(INCLUDE, "ebb"))):
        for suffix, command in LANGUAGES if name.endswith(".h") else LANGUAGES[1:]:
            line = f"#include <ebb/{name}>\n"
            ok, errors = compiles(line + line + "typedef int ebb_anything;\n", suffix, command)
            checked += 1
            if not ok:
                failed += 1
                print(f"{name} as {command[1]}:\n{errors}")
    for suffix, command in LANGUAGES:
        if compiles("int f();;\n#error no\n", suffix, command)[0]:
            failed += 1
            print(f"{command}: accepts what it must refuse")
    print(f"{checked} compilations, {failed} failed")
    return 1 if failed or not checked else 0


sys.exit(main())
