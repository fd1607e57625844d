#!/usr/bin/env bash
# demo.sh - from a clean clone to a trained network; its last line is the result.
# EBB_DEMO_EPOCHS=1 gives a short form.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh demo
mkdir -p build
cmake --preset demo >build/demo-configure.log || {
    cat build/demo-configure.log
    exit 1
}
cmake --build build/demo -j "$(nproc)" --target example_fashion_mnist
exec build/demo/examples/fashion_mnist /usr/share/datasets/fashion-mnist build/demo/cnn.safetensors
