#!/usr/bin/env bash
# test_ops_table.sh - configuring tells what is wrong with a line of ops.def.
# SPDX-License-Identifier: MIT
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/ops" "$work/include"
cp -r "$EBB_SOURCE_DIR/CMakeLists.txt" "$EBB_SOURCE_DIR/cmake" "$work/"
cp -r "$EBB_SOURCE_DIR/include/ebb" "$work/include/"
echo 'typedef int ebb__sample;' >"$work/src/ops/arith.c"

configure() { # a line of ops.def
    printf '/* sample */\n%s\n' "$1" >"$work/src/ops/ops.def"
    "$CMAKE" -S "$work" -B "$work/build" -DBUILD_TESTING=OFF -DEBB_ONEDNN=OFF >"$work/log" 2>&1
}
refused() { # a line of ops.def, words of the message
    if configure "$1"; then
        echo "accepted: $1"
        exit 1
    fi
    tr -s '\n ' ' ' <"$work/log" | grep -qF "$2" || { cat "$work/log"; exit 1; }
}

configure 'EBB_OP(add, arith)' || { cat "$work/log"; exit 1; }
refused 'EBB_OP(add, aritth)' 'missing file src/ops/aritth.c'
refused 'EBB_OP(add)' 'expected EBB_OP(name, family), got: EBB_OP(add)'
