#!/usr/bin/env bash
# test_all.sh - everything that must hold before a change lands: the suite with assertions, again
# under ASan and UBSan, the threaded layers under TSan, the graph under valgrind, and the operations
# without oneDNN. The last line is "N passed, N failed".
# SPDX-License-Identifier: MIT
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test || exit 1
unset MAKEFLAGS MAKELEVEL # tests that run make are not part of the outer one
jobs=$(nproc)
results=$PWD/build/results
rm -rf "$results"
mkdir -p "$results"

# stage NAME PRESET CTEST_ARGUMENT... - configures, builds and tests; leaves $results/NAME.xml.
stage() {
    local name=$1 preset=$2 start=$SECONDS
    shift 2
    echo "== $name"
    if ! cmake --preset "$preset" >"$results/$name.log" 2>&1 ||
        ! cmake --build "build/$preset" -j "$jobs" >>"$results/$name.log" 2>&1; then
        grep -E 'error|Error|FAILED|undefined' "$results/$name.log" | head -40
        echo "== $name: the build broke, all of it is in build/results/$name.log"
        return
    fi
    local built=$((SECONDS - start))
    ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --test-output-size-passed 65536 \
        --output-junit "$results/$name.xml" "$@" 2>&1 | grep -vE '^ +Start +[0-9]+:|^$'
    echo "== $name: build $built s, tests $((SECONDS - start - built)) s"
}

stage dev dev
stage asan asan -LE '^(house|valgrind)$'
stage tsan tsan -L '^(base|graph|memory)$'
stage ref-only ref-only -LE '^(house|valgrind|base|graph|memory)$'

echo "== total: $SECONDS s"
scripts/count_tests.py "$results"/{dev,asan,tsan,ref-only}.xml
