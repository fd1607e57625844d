"""layers.py - which folder of src/ may know which: the table behind both layer checks.

Lower layers know nothing of higher ones. check_layers.py reads the includes, check_layer_links.py
links the objects, because a call upward needs no include.
SPDX-License-Identifier: MIT
"""

# folder -> the folders whose headers it may include, besides its own and <ebb/...>.
ALLOWED = {
    "base": [],
    "graph": ["base"],
    "memory": ["base"],
    "tensor": ["base", "graph", "memory"],
    "op": ["base", "tensor"],
    "ops": ["base", "tensor", "op"],
    "ops/kernels": ["base", "tensor", "op", "ops"],
    "backend": ["base", "tensor", "op"],
    "backend/onednn": ["base", "tensor", "op", "backend"],
    "backend/lapack": ["base", "tensor", "op", "backend"],
    "autodiff": ["base", "graph", "memory", "tensor", "op"],
    "api": ["base", "graph", "memory", "tensor", "op", "ops", "backend", "backend/onednn",
            "backend/lapack", "autodiff"],
    "nn": [],
    "data": [],
    "io": [],
    "optim": ["op"],
    "report": ["base"],
}

# Folders outside src/ that may include only <ebb/...>.
PUBLIC_ONLY = ["cli", "examples", "bench"]

# Files in those that measure or generate what lies behind the public interface.
EXCEPT = ["cli/gen_ops", "bench/bench_graph", "bench/bench_memory"]

# Layers that call the library through its exported functions alone, plus the layers named.
THROUGH_LIBRARY = {"nn": [], "data": [], "io": [], "optim": ["op"], "report": ["base"]}

# The generated interface is made from the layers below api; using it there would be a circle.
BELOW_API = ["base", "graph", "memory", "tensor", "op", "ops", "ops/kernels", "backend", "backend/onednn",
             "backend/lapack", "autodiff"]
ABOVE_HEADERS = ["ebb/ops.h", "ebb/ebb.h"]


def closure(layer):
    """The layers whose objects the layer's own may need: those it may know, and theirs."""
    found, todo = set(), list(ALLOWED[layer])
    while todo:
        lower = todo.pop()
        if lower not in found:
            found.add(lower)
            todo += ALLOWED[lower]
    return found
