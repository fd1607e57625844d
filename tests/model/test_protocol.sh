#!/bin/bash
# test_protocol.sh - spin goes through every interleaving of the protocol's scenarios, with the
# claim in one phase and in two; with any one safeguard removed some scenario must fail.
# SPDX-License-Identifier: MIT
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v spin >/dev/null || { echo "spin is not installed"; exit 1; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# model SCENARIO NODES SWITCH...: prints the number of errors and states
model() {
    local dir="$work/$*"
    mkdir -p "$dir" && cp "$here"/*.pml "$dir" && cd "$dir" || exit 1
    local scenario=$1 nodes=$2
    shift 2
    spin -DSCEN="$scenario" -DNN="$nodes" "$@" -a graph.pml >spin.out 2>&1 ||
        { cat spin.out; return; }
    # Unoptimised: the verifiers live for a second, and take ten to optimise.
    gcc -O0 -w -DSAFETY -DVECTORSZ=2048 -DMEMLIM=3000 -o pan pan.c 2>gcc.out ||
        { cat gcc.out; return; }
    timeout 250 ./pan -m1000000 -w22 >pan.out 2>&1
    grep -oE 'errors: [0-9]+' pan.out | head -1
    grep -oE '[0-9]+ states, stored' pan.out | head -1
    grep -E 'out of memory|max search depth too small|aborted' pan.out | head -1
}
holds() {
    local out
    out=$(model "$@" | tr '\n' ' ')
    case "$out" in
    "errors: 0 "*"states, stored ") echo "scenario $*: holds ($out)" ;;
    *) echo "scenario $*: $out" ;;
    esac
}
# breaks SWITCH SCENARIO NODES [SWITCH...]
breaks() {
    local switch=$1 out
    shift
    out=$(model "$@" "-D$switch" | tr '\n' ' ')
    case "$out" in
    "errors: "[1-9]*) echo "without a safeguard ($switch), scenario $1: fails, as it must" ;;
    *) echo "without a safeguard ($switch), scenario $1: $out" ;;
    esac
}
# As many at a time as there are processors; a background job's failure is in its output.
jobs=$(nproc)
queue() { while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done; "$@" >>"$work/log" & }

nodes=(0 5 5 5 6 4 6 4 3 3 3)
for s in 8 1 2 3 4 5 6 7 9 10; do
    queue holds "$s" "${nodes[$s]}" -DTWOPHASE
    queue holds "$s" "${nodes[$s]}"
done
for form in -DTWOPHASE -DONEPHASE; do
    queue breaks NOPIN 3 5 "$form"
    queue breaks NOLINKING 10 3 "$form"
    queue breaks NOSEVMARK 10 3 "$form"
    queue breaks SEVER_OUTSIDE 6 6 "$form"
    queue breaks NOKEEPPIN 5 4 "$form"
    queue breaks NOCLAIM 5 4 "$form"
    queue breaks NOLEAFHOLD 9 3 "$form"
    queue breaks LEAFRACE 8 3 "$form"
    queue breaks LEAFCOUNT 8 3 "$form"
    queue breaks NODYINGPIN 3 5 "$form"
done
queue breaks NORECHECK 5 4 -DTWOPHASE
wait
sort "$work/log"
[ "$(grep -cE ': holds|: fails, as it must' "$work/log")" = 41 ] && [ "$(wc -l <"$work/log")" = 41 ]
