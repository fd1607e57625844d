#!/usr/bin/env bash
# test_install.sh ebb|ebb-graph - the installed library serves a project outside the tree: through
# the CMake package and through pkg-config, shared and static, in C and in C++.
# SPDX-License-Identifier: MIT
set -euo pipefail
name=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$EBB_SOURCE_DIR/tests/house/consumer" "$work/consumer"
what=()
[ "$name" = ebb ] || what=(--component graph) # the graph library serves without the rest
"$CMAKE" --install "$EBB_BUILD_DIR" --prefix "$work/first" "${what[@]}" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix" # nothing may remember where it was installed
cd "$work/consumer"

n=0
try() { # description, program
    echo "$1"
    [ "$("$2")" = "consumer ok" ]
    n=$((n + 1))
}

"$CMAKE" -S . -B build -DNAME="$name" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
"$CMAKE" --build build >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for program in c cxx c_static cxx_static; do
    try "find_package: $program" build/$program
done
if ldd build/c_static | grep libebb; then
    echo "the static consumer needs a shared libebb"
    exit 1
fi

libdir=$(dirname "$(find "$work/prefix" -name "lib$name.so" | head -1)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
header=$(pkg-config --modversion "$name")
grep -q "^#define EBB_VERSION \"$header\"" "$work/prefix/include/ebb/version.h"
read -ra flags <<<"$(pkg-config --cflags --libs "$name")"
"$CC" -std=c17 -Wall -Wextra -Werror "$name.c" "${flags[@]}" -o c
"$CXX" -std=c++17 -Wall -Wextra -Werror "$name.cc" "${flags[@]}" -o cxx
export LD_LIBRARY_PATH=$libdir
try "pkg-config: C" ./c
try "pkg-config: C++" ./cxx
unset LD_LIBRARY_PATH
rm "$libdir"/lib*.so*
read -ra flags <<<"$(pkg-config --cflags --libs --static "$name")"
"$CC" -std=c17 "$name.c" "${flags[@]}" -o c
try "pkg-config: C, static" ./c
echo "$n consumers built and run"
