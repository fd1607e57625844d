#!/usr/bin/env bash
# test_ops.sh - `ebb ops` lists every operation and says of each what the document says.
# SPDX-License-Identifier: MIT
set -uo pipefail
ebb="$EBB_BUILD_DIR/bin/ebb"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
fail() {
    echo "$1"
    exit 1
}
want() { # the text in what the command prints
    grep -qF -- "$1" <<<"$2" || fail "not printed: $1"
}

list=$("$ebb" ops) || fail "ops failed"
# Variants in place (NAME_) and with options (NAME_with) stand with their operation.
public=$(grep '^EBB_API EBB_NODISCARD .*[^_](' "$EBB_SOURCE_DIR/include/ebb/ops.h" | grep -vc '_with(')
listed=$(wc -l <<<"$list")
[ "$listed" = "$public" ] || fail "$listed operations are listed, the header has $public"
want "matmul" "$list"
[ "$("$ebb" ops --all | wc -l)" -gt "$listed" ] || fail "--all shows no more"

# Every line of an entry stands in the document.
entry=$("$ebb" ops mul) || fail "ops mul failed"
want "ebb_tensor *ebb_mul(ebb_tensor *x, ebb_tensor *y);" "$entry"
want "out = x * y, elementwise" "$entry"
want "* keeps for x: y" "$entry"
want "* shapes: (3, 4), (3, 4) give (3, 4)" "$entry"
want "* cost there: 144 bytes" "$entry"
want "* in place: ebb_mul_" "$entry"
want "flop" "$("$ebb" ops matmul)"
entry=$("$ebb" ops mse) || fail "ops mse failed"
want "ebb_tensor *ebb_mse(ebb_tensor *x, ebb_tensor *y);" "$entry"
want "ebb_tensor *ebb_mse_with(ebb_tensor *x, ebb_tensor *y, const ebb_mse_options *options);" "$entry"
plain=$(tr -d '`' <"$EBB_SOURCE_DIR/docs/ops.md")
while IFS= read -r line; do
    want "$line" "$plain"
done <<<"$("$ebb" ops softmax conv2d slice_assign)"

# What is not there is said, with what is.
if "$ebb" ops softmx >/dev/null 2>"$errors"; then fail "an unknown name was accepted"; fi
want "no operation is called softmx" "$(cat "$errors")"
want "softmax" "$(cat "$errors")"
"$ebb" nothing >/dev/null 2>&1
[ $? = 2 ] || fail "an unknown subcommand does not exit with 2"
want "ebb ops" "$("$ebb" --help)"
want "$(sed -n 's/.*EBB_VERSION "\(.*\)"/\1/p' "$EBB_SOURCE_DIR/include/ebb/version.h")" "$("$ebb" --version)"
