#!/usr/bin/env bash
# test_generated.sh - the generated files in the tree are what the operation table gives today.
# SPDX-License-Identifier: MIT
set -euo pipefail
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/include/ebb" "$out/src/api" "$out/docs"
cp "$EBB_SOURCE_DIR/.clang-format" "$out/"
"$EBB_BUILD_DIR/bin/gen_ops" "$out"
failed=0
for file in include/ebb/ops.h include/ebb/sites.h src/api/ops_gen.c docs/ops.md; do
    diff -u --label "$file" --label "$file as generated" "$EBB_SOURCE_DIR/$file" "$out/$file" |
        head -40 || true
    cmp -s "$EBB_SOURCE_DIR/$file" "$out/$file" || failed=1
done
[ $failed = 0 ] || echo "generated files are out of date: make regen"
exit $failed
