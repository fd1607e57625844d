#!/usr/bin/env bash
# test_all.sh - everything that must hold before a change lands: the suite with assertions, again
# under ASan and UBSan, the threaded layers under TSan, the graph under valgrind, and the operations
# without oneDNN. The last line is "N passed, N failed".
# SPDX-License-Identifier: MIT
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test || exit 1
unset MAKEFLAGS MAKELEVEL # tests that run make are not part of the outer one
# Threads that wait for others sleep: the tests share the cores.
export OMP_WAIT_POLICY=PASSIVE
jobs=$(nproc)
results=$PWD/build/results
broken=()
rm -rf "$results"
mkdir -p "$results"

# stage PRESET TARGET CTEST_ARGUMENT... - configures, builds and tests; leaves $results/PRESET.xml.
# Where part of the build breaks the rest is tested and what was not built counts as failed.
stage() {
    local name=$1 target=$2 start=$SECONDS
    shift 2
    echo "== $name"
    if ! cmake --preset "$name" >"$results/$name.log" 2>&1 ||
        ! cmake --build "build/$name" -j "$jobs" --target "$target" -- -k 0 >>"$results/$name.log" 2>&1; then
        grep -E 'error:|CMake Error|undefined reference|^FAILED' "$results/$name.log" | head -40
        echo "== $name: the build broke, all of it is in build/results/$name.log"
        broken+=("$results/$name-build.xml") # a file that is not there counts as a failure
    fi
    local built=$((SECONDS - start))
    ctest --test-dir "build/$name" -j "$jobs" --output-on-failure --test-output-size-passed 65536 \
        --output-junit "$results/$name.xml" "$@" 2>&1 | grep -vE '^ +Start +[0-9]+:|^$'
    echo "== $name: build $built s, tests $((SECONDS - start - built)) s"
}

stage dev all
stage asan all -LE '^(house|valgrind|model)$'
stage tsan threaded_tests -L '^(base|graph|memory|threads)$'
stage ref-only all -LE '^(house|valgrind|model|base|graph|memory)$'

echo "== total: $SECONDS s"
scripts/count_tests.py "$results"/{dev,asan,tsan,ref-only}.xml "${broken[@]}"
