#!/usr/bin/env bash
# soak.sh - the long forms of the tests (tests/AREA/soak_*.c): hours, for machines that are idle.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
cmake --preset soak >/dev/null
cmake --build build/soak -j "$(nproc)"
ctest --test-dir build/soak -L '^soak$' --output-on-failure --no-tests=ignore
