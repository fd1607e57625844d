#!/usr/bin/env bash
# test_style.sh - the tree keeps the project's style.
# SPDX-License-Identifier: MIT
set -euo pipefail
"$EBB_SOURCE_DIR/scripts/check_style.py" "$EBB_SOURCE_DIR"
