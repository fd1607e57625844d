#!/bin/bash
# test_size.sh - the object code of libebb-graph, optimised as for a release, stays under 48 KiB.
# SPDX-License-Identifier: MIT
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$EBB_SOURCE_DIR"
for source in src/base/*.c src/graph/*.c; do
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -O3 -fPIC -fvisibility=hidden -Isrc -Iinclude -c "$source" \
        -o "$work/$(basename "$source" .c).o"
done
bytes=$(size "$work"/*.o | awk 'NR > 1 { sum += $1 } END { print sum }')
echo "object code: $bytes bytes of 49152"
[ "$bytes" -le 49152 ]
