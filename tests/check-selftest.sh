#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every rule of the checks fails on a tree that breaks it, and only there:
# check-selftest.sh SOURCE_ROOT
set -euo pipefail

root=$(readlink -f "$1")
. "$root/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
licence='/* SPDX-License-Identifier: Apache-2.0 */'

# put FILE TEXT: a source file with its licence.
put() {
	mkdir -p "$tmp/tree/$(dirname "$1")"
	printf '%s\n%s\n' "$licence" "$2" >"$tmp/tree/$1"
}

good_tree() {
	rm -rf "$tmp/tree"
	put include/hami/hamidp.h $'/* hamidp_ghost() is in a comment. */\nint hamidp_one(void);'
	put include/hami/version.h.in '#define HAMIDP_VERSION "1"'
	put libhamidp/place.c $'#include "place.h"\n/* printf("in a comment") */'
	put libhamidp/place.h '#pragma once'
	put libhamidp/driver-sim.c '#include "driver-sim.h"'
	put libhamidp/driver-sim.h '#pragma once'
	put daemon/main.c $'#include <hami/hamidp.h>\n#include "log.h"\n#include "api.pb-c.h"'
	put daemon/log.h '#pragma once'
	put daemon/rpc-server.c '#include <grpc/grpc.h>'
	put examples/one.h '#pragma once'
	put examples/one.c $'#include <hami/hamidp.h>\n#include "one.h"\nconst char *url = "http://example.org";'
	printf 'HAMIDP_0.1 {\nglobal:\n\thamidp_one;\nlocal:\n\t*;\n};\n' >"$tmp/tree/libhamidp/hamidp.map"
}

# build_library CODE EXTRA_FLAGS...: the tree's shared object.
build_library() {
	printf '#include <stdlib.h>\n#include <jansson.h>\n%s\n' "$1" >"$tmp/lib.c"
	"${CC:-cc}" -shared -fPIC -w -o "$tmp/libhamidp.so" "$tmp/lib.c" \
		-Wl,--version-script="$tmp/tree/libhamidp/hamidp.map" "${@:2}"
}

good_code='int hamidp_one(void) { return json_object() == 0; }'
good_flags=("-Wl,-soname,libhamidp.so.0" -ljansson)

good_library() {
	good_tree
	build_library "$good_code" "${good_flags[@]}"
}

run_check() {
	case $1 in
	symbols) "$root/tests/abi/check-symbols.sh" "$tmp/libhamidp.so" "$tmp/tree" ;;
	*) "$root/tests/check-$1.sh" "$tmp/tree" ;;
	esac
}

# fails_in CHECK RULE: exactly this rule fails, and the check's exit status says so.
fails_in() {
	local out status=0
	out=$(run_check "$1" 2>&1) || status=$?
	if [ "$status" -eq 0 ] || [ "$(grep -c '^not ok' <<<"$out")" -ne 1 ] ||
		! grep -q "^not ok .* - $2" <<<"$out"; then
		printf 'status %d\n%s\n' "$status" "$out"
		return 1
	fi
}

# breaks CHECK RULE FILE TEXT: with this file in the tree, the rule fails.
breaks() {
	good_tree
	put "$3" "$4"
	tap_run "$1: $2: $3" fails_in "$1" "$2"
}

breaks_library() { # breaks_library RULE CODE FLAGS...
	good_tree
	build_library "$2" "${@:3}"
	tap_run "symbols: $1" fails_in symbols "$1"
}

good_library
for check in layering style symbols; do
	tap_run "$check: a good tree passes" run_check "$check"
done

breaks layering "public headers" include/hami/x.h '#include "x.h"'
breaks layering "public headers" include/hami/x.h '#include <jansson.h>'
breaks layering "pure rooms" libhamidp/place.c '#include <unistd.h>'
breaks layering "pure rooms" libhamidp/layout-slots.c '#include "driver.h"'
breaks layering "pure rooms" libhamidp/occupancy.c 'long f(void) { return time(0); }'
breaks layering "the library neither" libhamidp/error.c 'void f(void) { printf("x"); }'
breaks layering "the library neither" libhamidp/error.c 'void f(void) { exit (1); }'
breaks layering "the library neither" libhamidp/error.c 'char *f(void) { return getenv("X"); }'
breaks layering "the library neither" libhamidp/error.c 'void f(void) { fputs("x", stderr); }'
breaks layering "the library knows" libhamidp/error.c '#include <systemd/sd-event.h>'
breaks layering "drivers" libhamidp/driver-nvml.c '#include "driver-sim.h"'
breaks layering "the daemon" daemon/main.c '#include "place.h"'
breaks layering "the daemon" daemon/main.c '#include "../libhamidp/place.h"'
breaks layering "gRPC" daemon/main.c '#include <grpc/grpc.h>'
breaks layering "examples" examples/one.c '#include "place.h"'
breaks layering "examples" examples/one.c '#include "../libhamidp/place.h"'

breaks style "C files" libhamidp/long.c "$(seq -f 'int x%g;' 600)"
breaks style "block comments" libhamidp/error.c 'int x; // one'
breaks style "nothing is left" libhamidp/error.c '/* TO''DO: later */'
breaks style "no path" docs/x.md 'see /hom''e/me/file'
breaks style "no trailing" libhamidp/error.c 'int x; '
breaks style "no unchecked" daemon/main.c 'int f(char *s) { return atoi(s); }'
good_tree
echo 'int x;' >"$tmp/tree/libhamidp/error.c"
tap_run "style: the licence" fails_in style "the licence"

good_library
sed -i 's/\thamidp_one;/&\n\thamidp_two;/' "$tmp/tree/libhamidp/hamidp.map"
put include/hami/more.h 'int hamidp_two(void);'
tap_run "symbols: a ghost in the version script" fails_in symbols "the version script and the library"
breaks_library "the SONAME" "$good_code" -ljansson -Wl,-soname,libhamidp.so.1
breaks_library "it needs" "$good_code" "${good_flags[@]}" -Wl,--no-as-needed -lpthread -ldl -lresolv
breaks_library "it calls" "$good_code int g(void) { puts(\"x\"); return 0; } int (*p)(void) = g;" \
	"${good_flags[@]}"
good_library
put include/hami/hamidp.h $'int hamidp_one(void);\nint hamidp_two(void);'
tap_run "symbols: declared, not exported" fails_in symbols "the version script and the headers"
good_library
mkdir -p "$tmp/tree/debian"
echo ' hamidp_two@HAMIDP_0.1 0.1.0' >"$tmp/tree/debian/libhamidp0.symbols"
tap_run "symbols: packaged, not exported" fails_in symbols "debian's symbols file"
tap_done
