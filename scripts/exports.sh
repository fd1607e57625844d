#!/usr/bin/env bash
# exports.sh LIBRARY - the symbols that a shared library exports, one a line, sorted.
# SPDX-License-Identifier: MIT
set -euo pipefail
nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort
