#!/usr/bin/env bash
# test_plan.sh - `ebb simulate` and `ebb plan` say of recorded iterations what a budget costs.
# SPDX-License-Identifier: MIT
set -uo pipefail
ebb="$EBB_BUILD_DIR/bin/ebb"
data="$EBB_SOURCE_DIR/tests/plan/data"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1"
    exit 1
}
want() { # the text in what the command prints
    grep -qF -- "$1" <<<"$2" || fail "not printed: $1 in: $2"
}
refuse() { # exit status, text, arguments: the text in what is said
    local status=$1 text=$2
    shift 2
    "$ebb" "$@" >"$work/out" 2>"$work/errors"
    local got=$?
    [ $got = "$status" ] || fail "ebb $*: exit $got, expected $status"
    [ ! -s "$work/out" ] || fail "ebb $*: prints before it refuses"
    want "$text" "$(cat "$work/errors")"
}

# Published slowdowns of DTR's own simulator on its recorded U-Net: 1.033, 1.085, 1.159, none.
want " 1.033" "$("$ebb" simulate "$data/unet.tr" --budget .9 --policy h_dtr)"
want " 1.085" "$("$ebb" simulate "$data/unet.tr" --budget r.7 --policy h_dtr)"
want " 1.159" "$("$ebb" simulate "$data/unet.tr" --budget 4207882464 --policy h_dtr)"
want "no room" "$("$ebb" simulate "$data/unet.tr" --budget .3 --policy h_dtr)"

# The peak is 8415764928 bytes; W_t at its largest a quarter of it.
curve=$("$ebb" simulate "$data/unet.tr" --curve --policy backward) || fail "--curve failed"
want "peak 8415764928 bytes" "$curve"
want "r 0.242" "$curve"
[ "$(grep -c '^ 0\.[1-9]00 ' <<<"$curve")" = 9 ] || fail "the curve has not 9 rows: $curve"
want "never" "$curve"
want "   4096.0M " "$("$ebb" simulate "$data/unet.tr" --budget 4G --policy known)"

plan=$("$ebb" plan "$data/resnet32.tr") || fail "plan failed"
want "at twice the time" "$plan"
want " 1.000     1.000" "$plan"
rising='/^ .*M / { if ($5 < last) bad = 1; last = $5 } END { exit bad }'
awk "$rising" <<<"$plan" || fail "less memory takes less time: $plan"

refuse 1 "No such file" simulate "$work/none" --budget .5
head -c 1000 "$data/unet.tr" >"$work/cut"
refuse 1 "trace: line" simulate "$work/cut" --budget .5
refuse 1 "trace: line" plan "$work/cut"
: >"$work/empty"
refuse 1 "trace: line" plan "$work/empty"
refuse 2 "not a budget" simulate "$data/unet.tr" --budget 12Q
refuse 2 "not a budget" simulate "$data/unet.tr" --budget -1
refuse 2 "one of --budget and --curve" simulate "$data/unet.tr"
refuse 2 "there is no policy best" simulate "$data/unet.tr" --curve --policy best
refuse 2 "usage: ebb plan" plan
want "--policy" "$("$ebb" simulate --help)"
want "usage: ebb plan" "$("$ebb" plan --help)"
