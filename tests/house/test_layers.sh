#!/usr/bin/env bash
# test_layers.sh - no layer of the library includes or calls a higher one.
# SPDX-License-Identifier: MIT
set -euo pipefail
"$EBB_SOURCE_DIR/scripts/check_layers.py" "$EBB_SOURCE_DIR"
"$EBB_SOURCE_DIR/scripts/check_layer_links.py" "$EBB_BUILD_DIR"
