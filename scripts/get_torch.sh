#!/usr/bin/env bash
# get_torch.sh - makes build/torch-venv with PyTorch and NumPy, for the benchmarks' rows beside ours.
# Where PyTorch cannot be had it says so and the benchmarks go without; never an error.
# SPDX-License-Identifier: MIT
set -uo pipefail
cd "$(dirname "$0")/.."
venv=build/torch-venv

version() { "$venv/bin/python" -c 'import torch; print("torch", torch.__version__)' 2>/dev/null; }

if version; then exit 0; fi
mkdir -p build
rm -rf "$venv"
# The package is large because it carries accelerator libraries that the import needs.
if python3 -m venv "$venv" >build/torch-venv.log 2>&1 &&
    timeout "${EBB_TORCH_TIMEOUT:-900}" "$venv/bin/python" -m pip install --quiet --no-cache-dir \
        --disable-pip-version-check torch numpy >>build/torch-venv.log 2>&1 && version; then
    exit 0
fi
rm -rf "$venv"
echo "torch: absent, it could not be installed (build/torch-venv.log); its rows say so"
exit 0
