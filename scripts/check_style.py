#!/usr/bin/env python3
"""check_style.py [ROOT] - refuses what the project's style forbids and a compiler lets pass.

Sizes, header comments, include guards, names, forbidden calls in the library, links between pages,
and clang-format where clang-format-14 is installed. Prints one line per fault and exits 1 if there is any.
SPDX-License-Identifier: MIT
"""
import os
import re
import shutil
import subprocess
import sys

MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_SCRIPT_COLUMNS = 600, 60, 110
GENERATED = ["include/ebb/ops.h", "include/ebb/sites.h", "src/api/ops_gen.c", "docs/ops.md"]
FOLDERS = ["include", "src", "cli", "examples", "bench", "tests", "scripts", "cmake", "python", "docs", ".ci"]
NOT_SOURCE = ["__pycache__", "corpus", "golden", "data"]  # under tests/
C_FILE = (".c", ".h", ".inl", ".cc", ".hpp")
SCRIPT = (".py", ".sh", ".cmake", ".in", ".def", "CMakeLists.txt")

# In src/: the library neither prints nor ends the process nor reads the environment.
FORBIDDEN = re.compile(
    r"\b(printf|vprintf|puts|putchar|perror|exit|_exit|quick_exit|abort|assert)\s*\("
    r"|\b(stderr|stdout)\b")
ENVIRONMENT = re.compile(r"\b(getenv|secure_getenv|setenv|putenv)\s*\(")
MAY_STOP, MAY_READ_ENVIRONMENT = ["src/base/check.h"], ["src/api/context.c"]
MAKES_STATUS = ["src/base/error.c", "src/base/error.h"]
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
OUTSIDE = re.compile(r"/wo" r"rk/|\.\./sha" r"red\b")


TYPE = re.compile(r"(template *<.*> *)?(class|struct|union|enum|namespace)\b[^()]*$")


def files(root):
    """The project's text files, by path from root."""
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(root, folder)):
            skipped = NOT_SOURCE if path.startswith(os.path.join(root, "tests")) else ["__pycache__"]
            folders[:] = sorted(f for f in folders if f not in skipped)
            for name in sorted(names):
                yield os.path.relpath(os.path.join(path, name), root)
    for name in sorted(os.listdir(root)):
        if os.path.isfile(os.path.join(root, name)) and name != ".git":  # a file in a linked checkout
            yield name


def without_comments(text):
    """The code alone, with strings emptied; every line stays where it was."""
    def blank(match):
        found = match[0]
        if found.startswith("/"):
            return " " + "\n" * found.count("\n")
        return found[0] + found[0]
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def functions(code):
    """(first line, number of lines) of each function: a body opens and closes at column 0."""
    lines, start = code.split("\n"), None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
            while start > 0 and lines[start - 1].strip() and lines[start - 1][0] not in "}#{":
                start -= 1
        elif line.startswith("}") and start is not None:
            if not TYPE.match(lines[start]):
                yield start + 1, i - start + 1
            start = None


def check_header(path, text, faults):
    head = "\n".join(text.split("\n")[:40])
    name = os.path.basename(path)
    if path.endswith(C_FILE) and not text.startswith(f"/* {name} - "):
        faults.append(f'{path}:1: begins with "/* {name} - " and what the file is')
    if "SPDX-License-Identifier: MIT" not in head:
        faults.append(f"{path}:1: the header comment lacks SPDX-License-Identifier: MIT")


def check_guard(path, text, code, faults):
    """Public headers: EBB_NAME_H; in src/: EBB_LAYER_NAME_H; elsewhere anything unique."""
    kernels = path.startswith("src/ops/kernels/")
    if not path.endswith(".h") or (kernels and "no include guard" in text[:2000]):
        return
    found = re.search(r"^#ifndef (\w+)\n#define (\w+)\n", code, re.M)
    if not found or found[1] != found[2]:
        faults.append(f"{path}:1: no include guard")
        return
    inner = re.sub(r"^(src/|include/ebb/)", "", path)
    want = "EBB_" + re.sub(r"[^A-Z0-9]", "_", inner.upper())
    if path.startswith(("src/", "include/")) and found[1] != want:
        faults.append(f"{path}:1: include guard is {found[1]}, not {want}")


def check_calls(path, code, faults):
    for i, line in enumerate(code.split("\n"), 1):
        found = FORBIDDEN.search(line)
        if found and path not in MAY_STOP:
            faults.append(f"{path}:{i}: {found[0]}: the library never prints or stops the process")
        if ENVIRONMENT.search(line) and path not in MAY_READ_ENVIRONMENT:
            faults.append(f"{path}:{i}: the environment is read in src/api/context.c alone")
        if re.search(r"\breturn\b[^;(]*\bEBB_E_", line) and path not in MAKES_STATUS:
            faults.append(f"{path}:{i}: return EBB_E_...: ebb__fail makes every non-OK status")


def check_c(path, text, faults):
    code = without_comments(text)
    check_guard(path, text, code, faults)
    if path.startswith("src/"):
        check_calls(path, code, faults)
    if path not in GENERATED:
        for start, length in functions(code):
            if length > MAX_FUNCTION_LINES:
                faults.append(f"{path}:{start}: a function of {length} lines, {MAX_FUNCTION_LINES} allowed")


def check_text(path, text, faults):
    lines = text.split("\n")
    if path not in GENERATED and path.endswith(C_FILE + SCRIPT) and len(lines) - 1 > MAX_FILE_LINES:
        faults.append(f"{path}: {len(lines) - 1} lines, {MAX_FILE_LINES} allowed")
    for i, line in enumerate(lines, 1):
        found = UNFINISHED.search(line) or OUTSIDE.search(line)
        if found:
            faults.append(f"{path}:{i}: {found[0]}")
        if path.endswith((".py", ".sh")) and len(line) > MAX_SCRIPT_COLUMNS:
            faults.append(f"{path}:{i}: {len(line)} columns, {MAX_SCRIPT_COLUMNS} allowed")
    if text and not text.endswith("\n"):
        faults.append(f"{path}: no newline at the end")


def check_links(root, path, text, faults):
    for match in re.finditer(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        if not os.path.exists(os.path.join(root, os.path.dirname(path), match[1])):
            faults.append(f"{path}: the link to {match[1]} leads nowhere")


def check_names(paths, faults):
    seen = {}
    for path in paths:
        if path.startswith("src/") and path.endswith(C_FILE):
            name = os.path.basename(path)
            if name in seen:
                faults.append(f"{path}: the name is taken by {seen[name]}")
            seen[name] = path


def check_format(root, paths, faults):
    tool = shutil.which("clang-format-14")
    if not tool or not os.path.exists(os.path.join(root, ".clang-format")):
        return
    for start in range(0, len(paths), 50):
        run = subprocess.run([tool, "--dry-run", "-Werror", *paths[start:start + 50]], cwd=root,
                             capture_output=True, text=True, check=False)
        where = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", run.stderr, re.M)))
        faults += [f"{path}: not as clang-format-14 writes it (make format)" for path in where]


def check(root):
    faults, paths = [], []
    for path in files(root):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        paths.append(path)
        check_text(path, text, faults)
        if path.endswith(C_FILE + SCRIPT):
            check_header(path, text, faults)
        if path.endswith(C_FILE):
            check_c(path, text, faults)
        if path.endswith(".md"):
            check_links(root, path, text, faults)
    check_names(paths, faults)
    check_format(root, [p for p in paths if p.endswith(C_FILE)], faults)
    return faults


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    faults = check(root)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
