#!/usr/bin/env bash
# update_exports.sh [BUILD_DIR] - rewrites cmake/exports-*.txt from the libraries of a build. The
# difference is part of a review: symbols are added, never changed or taken away within a soname.
# SPDX-License-Identifier: MIT
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build/dev}
for name in ebb ebb-graph; do
    "$root/scripts/exports.sh" "$build/lib/lib$name.so" >"$root/cmake/exports-$name.txt"
    echo "cmake/exports-$name.txt: $(wc -l <"$root/cmake/exports-$name.txt") symbols"
done
