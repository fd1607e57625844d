#!/usr/bin/env python3
"""check_layer_links.py BUILD_DIR - links each layer with the layers below it and nothing else.

A call upward is an undefined symbol there, whatever was included. Layers that use the library
through its public functions are linked with libebb.so, so that a call of a hidden one shows. Names
are checked on the way: every global symbol begins with ebb_ (or EBB_ for constants).
Reads BUILD_DIR/layers.txt. Prints one line per fault and exits 1 if there is any.
SPDX-License-Identifier: MIT
"""
import os
import re
import subprocess
import sys
import tempfile

from layers import ALLOWED, THROUGH_LIBRARY, closure


def read_layers(build):
    """cc, flags, libs, library, {layer: objects} of BUILD_DIR/layers.txt."""
    found = {"cc": "cc", "library": "", "flags": [], "libs": [], "layers": {}}
    with open(os.path.join(build, "layers.txt"), encoding="utf-8") as file:
        for line in file:
            word, _, rest = line.strip().partition(" ")
            if word in ("cc", "library"):
                found[word] = rest
            elif word == "flag":
                found["flags"] += rest.split()
            elif word == "libs":
                found["libs"] = rest.split()
            elif word == "layer":
                name, _, objects = rest.partition(" ")
                found["layers"][name] = objects.split()
    return found


def link(build, objects, extra):
    """The symbols that linking these objects leaves undefined, with the object that wants each."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [build["cc"], "-shared", "-Wl,--no-undefined", *build["flags"], "-o", folder + "/layer.so"]
            + objects + extra + build["libs"],
            capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return []
    missing = re.findall(r"([^/\s:]+\.c)[^\n]*: undefined reference to [`'‘]([^'’]+)['’]", run.stderr)
    if not missing:
        return [("linker", run.stderr.strip().splitlines()[0])]
    return sorted(set(missing))


def defined(objects):
    """name -> object, of all global symbols defined in the objects."""
    if not objects:
        return {}
    out = subprocess.run(["nm", "-A", "-g", "--defined-only", *objects], capture_output=True, text=True,
                         check=True).stdout
    return {line.split()[-1]: line.split(":")[0] for line in out.splitlines() if line.strip()}


def main():
    build = read_layers(sys.argv[1])
    layers, faults, owner = build["layers"], [], {}
    for layer, objects in layers.items():
        faults += [f"layer {layer}: {o} is not built" for o in objects if not os.path.exists(o)]
        layers[layer] = objects = [o for o in objects if os.path.exists(o)]
        for symbol, where in defined(objects).items():
            owner[symbol] = layer
            if not re.match(r"_?(ebb_|EBB_|__asan|__odr_asan|__ubsan)", symbol):
                faults.append(f"{os.path.basename(where)}: global symbol {symbol} does not begin with ebb_")
    for layer, objects in layers.items():
        lower = closure(layer)
        extra = []
        if layer in THROUGH_LIBRARY:
            lower = {l for name in THROUGH_LIBRARY[layer] for l in {name} | closure(name)}
            extra = [build["library"], "-Wl,-rpath," + os.path.dirname(build["library"])]
        linked = [o for l in ALLOWED if l in lower for o in layers.get(l, [])]
        own = {os.path.basename(o).removesuffix(".o") for o in objects} | {"linker"}
        for where, symbol in link(build, objects + linked, extra):
            home = f"layer {owner[symbol]}, which it may not call" if symbol in owner else "no layer"
            if where in own:
                faults.append(f"layer {layer}: {where} needs {symbol}, defined in {home}")
    for fault in dict.fromkeys(faults):
        print(fault)
    print(f"{len(layers)} layers linked, {len(faults)} faults")
    return 1 if faults or not layers else 0


if __name__ == "__main__":
    sys.exit(main())
