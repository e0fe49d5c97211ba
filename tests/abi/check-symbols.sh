#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the library shows and needs: check-symbols.sh SHARED_OBJECT SOURCE_ROOT
# The linker accepts names in a version script that nobody defines; this does not.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/../tap.sh"
. "$here/../tree.sh"
lib=$1 source=$2
map=$source/libhamidp/hamidp.map
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

exported() {
	nm -D --defined-only "$lib" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}

mapped() {
	sed -n 's/^[[:space:]]*\([a-z_][A-Za-z0-9_]*\);$/\1/p' "$map" | sort
}

declared() {
	local header
	for header in "$source"/include/hami/*.h{,.in}; do
		without_comments "$header"
	done | grep -oE '\<hamidp_[a-z0-9_]+[[:space:]]*\(' | tr -d '( \t' | sort -u
}

packaged() {
	sed -n 's/^ \(hamidp_[a-z0-9_]*\)@.*/\1/p' "$source/debian/libhamidp0.symbols" | sort
}

dynamic() { # dynamic TAG: values of that entry of the dynamic section
	readelf -dW "$lib" | sed -n "s/.*($1).*\[\(.*\)\]/\1/p" | sort
}

map_is_sorted() {
	sed -n '/global:/,/local:/s/^[[:space:]]*\(hamidp_[a-z0-9_]*\);$/\1/p' "$map" | LC_ALL=C sort -c
}

needs_only_what_it_may() {
	dynamic NEEDED | grep -vE '^(libjansson\.so\.4|libc\.so\.6|libm\.so\.6|ld-linux.*\.so\.[0-9]+)$' \
		>"$tmp/extra" || :
	sed 's/^/not allowed: /' "$tmp/extra"
	[ ! -s "$tmp/extra" ] && dynamic NEEDED | grep -qx 'libjansson\.so\.4'
}

calls_nothing_forbidden() {
	! nm -D --undefined-only "$lib" | awk '{ sub(/@.*/, "", $2); print $2 }' |
		grep -xE '(__)?v?printf(_chk)?|puts|putchar|perror|_?exit|abort|(secure_)?getenv|setenv|unsetenv|putenv|signal|sigaction|stdout|stderr|environ|setlocale|system|popen|v?syslog'
}

exported >"$tmp/exported"
mapped >"$tmp/mapped"
declared >"$tmp/declared"
tap_run "the version script and the library agree" diff -u "$tmp/mapped" "$tmp/exported"
tap_run "the version script and the headers agree" diff -u "$tmp/mapped" "$tmp/declared"
tap_run "the version script is sorted" map_is_sorted
tap_run "the SONAME is libhamidp.so.0" test "$(dynamic SONAME)" = libhamidp.so.0
tap_run "it needs libjansson and libc alone" needs_only_what_it_may
tap_run "it calls nothing that prints, exits or reads the environment" calls_nothing_forbidden
if [ -f "$source/debian/libhamidp0.symbols" ]; then
	packaged >"$tmp/packaged"
	tap_run "debian's symbols file mirrors the version script" diff -u "$tmp/mapped" "$tmp/packaged"
fi
tap_done
