#!/usr/bin/env python3
"""make.py [FAMILY...] - writes tests/golden/FAMILY.txt, all of them where none is named.

Run by hand where PyTorch and SciPy can be imported; what it writes is committed.
SPDX-License-Identifier: MIT
"""

import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from golden import Family  # noqa: E402

FAMILIES = ["elementwise", "shapes", "reductions", "layers", "layers_uneven", "losses", "linear_algebra"]

for name in sys.argv[1:] or FAMILIES:
    family = Family(name)
    importlib.import_module(name).write(family)
    family.write()
