#!/usr/bin/env bash
# setup.sh [demo|test|bench|fuzz] - installs what that needs and this machine lacks, from Debian.
# Prints install_seconds=... last. Where apt-get is missing it says what to install and goes on: the
# build tells what it cannot find.
# SPDX-License-Identifier: MIT
set -euo pipefail

build="cmake ninja-build pkg-config gcc g++ python3 libcjson-dev zlib1g-dev libdnnl-dev"
data="dataset-fashion-mnist"
test="liblapacke libcmocka-dev valgrind spin clang-format-14"
fuzz="clang-14 libclang-rt-14-dev"
case ${1:-test} in
demo) packages="$build $data" ;;
test) packages="$build $data $test" ;;
bench) packages="$build $data libcmocka-dev python3-venv" ;;
fuzz) packages="$build libcmocka-dev $fuzz" ;;
*)
    echo "usage: scripts/setup.sh [demo|test|bench|fuzz]" >&2
    exit 2
    ;;
esac

start=$(date +%s.%N)
finish() {
    awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "install_seconds=%.1f\n", b - a }'
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: not Debian; needed are the equivalents of: $packages"
    finish
    exit 0
fi

missing=""
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
    as_root=""
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || {
            echo "setup: as root, run: apt-get install$missing" >&2
            exit 1
        }
        as_root=sudo
    fi
    echo "setup: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # both lists are meant to split
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
finish
