#!/bin/bash
# test_protocol.sh - spin goes through every interleaving of the protocol's scenarios; with any one
# safeguard removed some scenario must fail.
#   test_protocol.sh [all]     "all": every scenario in both forms, not only the quick ones
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
    gcc -O0 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=6000 -o pan pan.c 2>gcc.out ||
        { cat gcc.out; return; }
    timeout 250 ./pan -m1000000 -w23 >pan.out 2>&1
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
nodes=(0 5 5 5 6 4 6 4 3 3 3)
# Two at a time; a background job's failure is in its output.
queue() { while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done; "$@" >>"$work/log" & }

quick="3 5 9 10"
[ "${1:-}" = all ] && quick="1 2 3 4 5 6 7 8 9 10"
for s in $quick; do
    queue holds "$s" "${nodes[$s]}" -DTWOPHASE
    queue holds "$s" "${nodes[$s]}"
done
queue breaks NOPIN 3 5 -DTWOPHASE
queue breaks NOLINKING 10 3 -DTWOPHASE
queue breaks NOSEVMARK 10 3 -DTWOPHASE
queue breaks SEVER_OUTSIDE 6 6 -DTWOPHASE
queue breaks NOKEEPPIN 5 4 -DTWOPHASE
queue breaks NOCLAIM 5 4 -DTWOPHASE
queue breaks NOLEAFHOLD 9 3 -DTWOPHASE
queue breaks LEAFRACE 8 3 -DTWOPHASE
queue breaks LEAFCOUNT 8 3 -DTWOPHASE
wait
cat "$work/log"
! grep -qvE ': holds|: fails, as it must' "$work/log"
