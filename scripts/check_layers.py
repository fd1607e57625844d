#!/usr/bin/env python3
"""check_layers.py [ROOT] - refuses includes that a layer may not have, and include cycles.

Prints one line per fault and exits 1 if there is any. The table is in layers.py.
SPDX-License-Identifier: MIT
"""
import os
import re
import sys

from layers import ABOVE_HEADERS, ALLOWED, BELOW_API, EXCEPT, PUBLIC_ONLY

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
SOURCE = (".c", ".h", ".inl", ".def", ".cc", ".hpp")


def sources(root, folder):
    for path, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if name.endswith(SOURCE):
                yield os.path.relpath(os.path.join(path, name), root)


def includes(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), file.read(), flags=re.S)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def check_src(root, path, faults):
    layer = os.path.dirname(os.path.relpath(path, "src"))
    if layer not in ALLOWED:
        faults.append(f"{path}: folder src/{layer} has no entry in scripts/layers.py")
        return
    for line, mark, name in includes(root, path):
        folder = os.path.dirname(name)
        if mark == "<":
            if layer in BELOW_API and name in ABOVE_HEADERS:
                faults.append(f"{path}:{line}: <{name}> belongs to layer api, above {layer}")
        elif not os.path.exists(os.path.join(root, "src", name)):
            faults.append(f'{path}:{line}: "{name}" is not a file of src/ (write "layer/file.h")')
        elif folder != layer and folder not in ALLOWED[layer] and not (
            layer == "ops" and folder == "ops/kernels"
        ):
            allowed = ", ".join(ALLOWED[layer]) or "<ebb/...> alone"
            faults.append(f'{path}:{line}: {layer} may not include "{name}" (it may: {allowed})')


def check_public_only(root, path, faults):
    if any(path.startswith(prefix) for prefix in EXCEPT):
        return
    for line, mark, name in includes(root, path):
        if mark == '"' and not os.path.exists(os.path.join(root, os.path.dirname(path), name)):
            faults.append(f'{path}:{line}: "{name}": programs see <ebb/...> and files beside them')


def check_public_headers(root, path, faults):
    for line, mark, name in includes(root, path):
        if mark == '"':
            faults.append(f'{path}:{line}: "{name}": public headers include <ebb/...>')


def resolve(root, mark, name):
    """The project's file behind an include, or None."""
    for folder in ("include", "src") if mark == "<" else ("src",):
        path = os.path.join(folder, name)
        if os.path.exists(os.path.join(root, path)):
            return path
    return None


def find_cycle(root, files):
    """One include cycle as a list of files, or None. Iterative depth-first search."""
    edges = {f: [r for _, m, n in includes(root, f) if (r := resolve(root, m, n))] for f in files}
    state = {}
    for start in edges:
        path, todo = [], [(start, False)]
        while todo:
            file, leaving = todo.pop()
            if leaving:
                state[file] = "done"
                path.pop()
            elif state.get(file) == "open":
                return path[path.index(file):] + [file]
            elif file not in state:
                state[file] = "open"
                path.append(file)
                todo.append((file, True))
                todo += [(e, False) for e in edges.get(file, []) if state.get(e) != "done"]
    return None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    faults = []
    src, headers = list(sources(root, "src")), list(sources(root, "include"))
    for path in src:
        check_src(root, path, faults)
    for path in headers:
        check_public_headers(root, path, faults)
    for folder in PUBLIC_ONLY:
        for path in sources(root, folder):
            check_public_only(root, path, faults)
    # An .inl file is meant to be read several times by one header, but never by itself in a circle.
    cycle = find_cycle(root, src + headers)
    if cycle:
        faults.append("include cycle: " + " -> ".join(cycle))
    for fault in dict.fromkeys(faults):
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
