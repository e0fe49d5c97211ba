#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program builds and runs against what "meson install" leaves, through pkg-config alone:
# check-pkgconfig.sh BUILD_DIR SOURCE_ROOT
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/../tap.sh"
build=$1 source=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

install_tree() {
	meson install -C "$build" --no-rebuild --quiet --destdir "$tmp/root" &&
		find "$tmp/root" -name libhamidp.pc | grep -q .
}

# The file's own paths, moved below the temporary root.
pc() {
	local dir
	dir=$(dirname "$(find "$tmp/root" -name libhamidp.pc)")
	PKG_CONFIG_PATH=$dir pkg-config --define-variable=prefix="$tmp/root$prefix" "$@" libhamidp
}

prefix_of() {
	sed -n 's/^prefix=//p' "$(find "$tmp/root" -name libhamidp.pc)"
}

compile() { # compile OUTPUT SOURCE...
	local flags
	read -r -a flags <<<"$(pc --cflags --libs)"
	"${CC:-cc}" -std=c99 -Wall -Wextra -Werror -D_GNU_SOURCE -o "$1" "$2" "${@:3}" "${flags[@]}"
}

run_program() {
	LD_LIBRARY_PATH=$(pc --variable=libdir) "$@" >"$tmp/out" && grep . "$tmp/out"
}

cat >"$tmp/version.c" <<'END'
#include <hami/hamidp.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	printf("%s %s\n", hamidp_version(), HAMIDP_VERSION);
	return strcmp(hamidp_version(), HAMIDP_VERSION) != 0;
}
END

tap_run "meson install leaves libhamidp.pc" install_tree
prefix=$(prefix_of)
tap_run "pkg-config names the version of the headers" \
	test "$(pc --modversion)" = "$(sed -n 's/.*HAMIDP_VERSION "\(.*\)"/\1/p' "$build/include/hami/version.h")"
tap_run "pkg-config asks for libhamidp alone" test "$(pc --libs-only-l | xargs)" = "-lhamidp"
tap_run "a program builds" compile "$tmp/version" "$tmp/version.c"
tap_run "it runs with the version it was built with" run_program "$tmp/version"
tap_run "no internal header is installed" \
	test "$(cd "$tmp/root$prefix/include" && find . -type f | grep -cv '^\./hami/')" -eq 0
# shellcheck disable=SC2016 # the fences of Markdown
sed -n '/^```c$/,/^```$/p' "$source/README.md" | sed '/^```/d' >"$tmp/readme.c"
tap_run "the README's program builds" compile "$tmp/readme" "$tmp/readme.c"
tap_run "it prints what it found" run_program "$tmp/readme"
for example in "$source"/examples/*.c; do
	name=$(basename "$example" .c)
	[ ! -f "$source/examples/${name%-*}.c" ] || continue # a part of that one
	mapfile -t parts < <(find "$source/examples" -name "$name-*.c")
	tap_run "$name builds against it" compile "$tmp/example" "$example" "${parts[@]}"
done
tap_done
