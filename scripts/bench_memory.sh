#!/usr/bin/env bash
# bench_memory.sh [--quick] [MODEL...] - builds and runs bench/bench_memory.c, what training under a budget
# costs; a whole run writes bench/results/memory.csv and the tables of docs/memory.md.
# --quick: three small models, only printed, in seconds. All of it takes some twenty minutes.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset bench >/dev/null
cmake --build build/bench -j "$(nproc)" --target bench_memory
mkdir -p bench/results
build/bench/bench/bench_memory "$@"
[ $# -gt 0 ] || scripts/memory_figures.py # tables of docs/memory.md
