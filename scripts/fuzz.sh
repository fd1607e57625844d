#!/usr/bin/env bash
# fuzz.sh [SECONDS] - runs each fuzz program for that long (60). Inputs that broke one stay in
# build/fuzz/findings/NAME; a fix puts them into tests/fuzz/corpus/NAME.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
scripts/setup.sh fuzz
cmake --preset fuzz >/dev/null
cmake --build build/fuzz -j "$(nproc)"
found=0
for program in build/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    found=1
    name=$(basename "$program")
    work=build/fuzz/corpus/$name
    mkdir -p "$work" "build/fuzz/findings/$name" "tests/fuzz/corpus/$name"
    echo "== $name"
    "$program" -max_total_time="$seconds" -timeout=20 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/findings/$name/" "$work" "tests/fuzz/corpus/$name"
done
[ $found = 1 ] || echo "no fuzz programs"
