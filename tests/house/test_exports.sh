#!/usr/bin/env bash
# test_exports.sh - the libraries export the symbols of cmake/exports-*.txt, no more and no fewer.
# SPDX-License-Identifier: MIT
set -euo pipefail
failed=0
for name in ebb ebb-graph; do
    if ! diff -u --label listed --label exported "$EBB_SOURCE_DIR/cmake/exports-$name.txt" \
        <("$EBB_SOURCE_DIR/scripts/exports.sh" "$EBB_BUILD_DIR/lib/lib$name.so"); then
        echo "lib$name.so differs from cmake/exports-$name.txt: if meant, scripts/update_exports.sh"
        failed=1
    fi
done
exit $failed
