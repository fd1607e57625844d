#!/usr/bin/env bash
# bench.sh [NAME...] - builds and runs bench/bench_*.c and bench_*.py (or those named), one at a
# time; results go to bench/results/*.csv with columns name,value,unit,n,spread.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
names=("$@")
targets=() # what is named: the programs among them alone are built, and PyTorch had for scripts only
torch=no
[ ${#names[@]} = 0 ] && torch=yes
for name in "${names[@]}"; do
    if [ -e "bench/$name.c" ]; then
        targets+=("$name")
    elif [ -e "bench/$name.py" ]; then
        torch=yes
    else
        echo "bench.sh: there is no bench/$name.c or bench/$name.py" >&2
        exit 2
    fi
done
scripts/setup.sh bench
[ $torch = no ] || scripts/get_torch.sh
cmake --preset bench >/dev/null
[ ${#names[@]} -gt 0 ] && [ ${#targets[@]} = 0 ] ||
    cmake --build build/bench -j "$(nproc)" ${targets:+--target "${targets[@]}"}
mkdir -p bench/results
python=python3
[ -x build/torch-venv/bin/python ] && python=build/torch-venv/bin/python

wanted() {
    [ ${#names[@]} = 0 ] && return 0
    local name
    for name in "${names[@]}"; do [ "$name" = "$1" ] && return 0; done
    return 1
}
for program in build/bench/bench/bench_*; do
    name=$(basename "$program")
    [ -x "$program" ] && wanted "$name" || continue
    echo "== $name"
    "$program"
done
for script in bench/bench_*.py; do
    name=$(basename "$script" .py)
    [ -e "$script" ] && wanted "$name" || continue
    echo "== $name"
    "$python" "$script"
done
scripts/graph_figures.py # the tables of docs/graph.md
