#!/bin/bash
# test_replay.sh - ebb-graph-replay gives the expected answers for every trace, notices wrong ones,
# and refuses what is no program.
# SPDX-License-Identifier: MIT
set -u
replay=$(find "$EBB_BUILD_DIR" -maxdepth 2 -name ebb-graph-replay -type f | head -1)
[ -n "$replay" ] || { echo "ebb-graph-replay is not built"; exit 1; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
failed=0

check() { # check WHAT STATUS FILE
    "$replay" "$3" >"$work/out" 2>"$work/err"
    local status=$?
    [ $status = "$2" ] || { echo "$1: exit status $status, expected $2"; cat "$work/err"; failed=1; }
}

n=0
for trace in "$EBB_SOURCE_DIR"/tests/data/traces/*.trace; do
    check "$trace" 0 "$trace"
    # What it prints is what the file states.
    grep -E '^(expect|live)' "$trace" | sed 's/ *$//' | cmp -s - "$work/out" ||
        { echo "$trace: the output is not what the file states"; failed=1; }
    n=$((n + 1))
done
[ $n -ge 38 ] || { echo "only $n traces"; failed=1; }

program() { printf '%b' "$1" >"$work/p.trace"; }
program 'leaf 0\nop 1 0\nback 1\nexpect ok\nlive\n'
check "a missing gradient is noticed" 1 "$work/p.trace"
grep -q "p.trace:4: the file states 'expect ok', the graph says 'expect ok 0'" "$work/err" ||
    { echo "the mismatch does not say where"; failed=1; }
program 'leaf 0\nop 1 0\nop 2 0\nback 1\nexpect ok 0\nlive\n'
check "a live node is noticed" 1 "$work/p.trace"
program 'leaf 0\nop 1 0\nback 1\nexpect error\n'
check "a backward that works is noticed" 1 "$work/p.trace"
program 'leaf 0\nop 1 0\n  back 1 # comment\n\nlive\n'
check "one of the two lines is enough" 0 "$work/p.trace"
program 'leaf 0\nop 1 0\nback 1'
check "a last line without an end is read" 0 "$work/p.trace"
for bad in 'leaf 1\n' 'leaf 0\nop 1\n' 'leaf 0\nop 1 7\n' 'leaf 0\ndrop 0\nhold 0\n' 'grow 0\n' \
    'leaf x\n' 'leaf 0\nback\n' 'live\n' 'leaf 0\nback 0\nlive\nexpect ok 0\n' 'leaf -1\n' \
    'leaf 99999999999999999999\n' 'leaf 0 1\n' 'leaf\n'; do
    program "$bad"
    check "'$bad' is refused" 2 "$work/p.trace"
    grep -q "p.trace:" "$work/err" || { echo "'$bad': no place in the message"; failed=1; }
done
check "a missing file is refused" 2 "$work/missing.trace"

# A line of a megabyte.
{ echo "leaf 0"; echo "op 1 0"; printf 'op 2'; for _ in $(seq 1 60000); do printf ' 0 1'; done
  printf '\nback 2\nexpect ok 0\nlive\n'; } >"$work/long.trace"
check "a long line is read" 0 "$work/long.trace"
[ $failed = 0 ] && echo "$n traces as expected"
exit $failed
