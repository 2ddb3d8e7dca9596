#!/bin/sh
# SPDX-License-Identifier: MIT
# Install libtrapless somewhere, build the own-process example against it as a user would, run it.
root=$(cd "$(dirname "$0")/../../.." && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
name=the_example_builds_with_pkg_config_and_finds_the_leaks

fail()
{
	echo "not ok $name: $1"
	exit 1
}

if ! command -v pkg-config >/dev/null; then
	echo "skip $name: no pkg-config"
	exit 0
fi
make -s -C "$root" -f lib/lib.mk install-lib PREFIX="$tmp/usr" >"$tmp/log" 2>&1 || fail "install: $(tail -1 "$tmp/log")"
cp -r "$root/examples/own-process" "$tmp/example"
PKG_CONFIG_PATH="$tmp/usr/lib/pkgconfig" make -s -B -C "$tmp/example" >"$tmp/log" 2>&1 || fail "build: $(tail -1 "$tmp/log")"
"$tmp/example/faults" >"$tmp/out" 2>&1 || fail "run: $(tail -1 "$tmp/out")"
[ "$(tail -1 "$tmp/out")" = "5 of the failures leak" ] || fail "printed: $(tail -1 "$tmp/out")"
echo "ok $name"

name=the_example_sees_arguments_of_a_library_function
"$tmp/example/arguments" >"$tmp/out" 2>&1 || fail "run: $(tail -1 "$tmp/out")"
[ "$(cut -d';' -f2 "$tmp/out")" = " 1000 calls, x up to 999, y up to 4.5, 100 of them pointless" ] ||
	fail "printed: $(tail -1 "$tmp/out")"
echo "ok $name"
