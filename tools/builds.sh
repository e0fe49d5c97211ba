# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Configuring, building and testing in one build directory a kind; to be sourced, from the root of
# the tree, after shell.sh.

# configure DIR OPTION...: set up a build directory, or keep the one that is there.
configure() {
	local dir=$1
	shift
	if [ -e "$dir" ] && [ ! -w "$dir" ]; then
		die "$PWD/$dir belongs to someone else: remove it, or run as its owner"
	fi
	# A directory that was moved, or whose set-up was interrupted, is of no use.
	if [ -e "$dir" ] && ! grep -qsF "$PWD" "$dir/build.ninja"; then
		rm -rf "$dir"
	fi
	[ ! -e "$dir/build.ninja" ] || return 0
	step "Configuring $dir"
	exec_child meson setup "$dir" "$@" || { rm -rf "$dir"; return 1; }
}

# The developer's build: warnings are errors, nothing is left out silently.
configure_dev() {
	configure "$1" -Dwerror=true -Dkubelet=enabled
}

# build_all DIR
build_all() {
	configure_dev "$1" || return 1
	step "Building"
	exec_child ninja -C "$1"
}

# build_targets DIR NAME...: only what is asked for; names are those of the programs.
build_targets() {
	local dir=$1 name targets=()
	shift
	configure_dev "$dir"
	for name in "$@"; do
		targets+=("$(program_path "$dir" "$name")")
	done
	step "Building $*"
	exec_child ninja -C "$dir" "${targets[@]}"
}

# program_path DIR NAME: where the build puts a program, relative to DIR.
program_path() {
	meson introspect --targets "$1" | python3 -c '
import json, os, sys
for target in json.load(sys.stdin):
    for path in target["filename"]:
        if os.path.basename(path) == sys.argv[2]:
            print(os.path.relpath(path, sys.argv[1]))
            sys.exit()
sys.exit("no target builds %s" % sys.argv[2])
' "$(readlink -f "$1")" "$2"
}

# run_tests DIR LOG_BASE MESON_TEST_ARGS...: the counts stand alone on the last line.
run_tests() {
	local dir=$1 base=$2 status=0 counted=0
	shift 2
	step "Testing in $dir"
	rm -f "$dir/meson-logs/$base".*
	exec_child meson test -C "$dir" --no-rebuild --print-errorlogs "$@" || status=$?
	printf '\n'
	python3 tools/count-tests.py "$dir/meson-logs" "$base" || counted=$?
	[ "$status" -eq 0 ] || return "$status"
	return "$counted"
}

# build_fuzzers DIR: and nothing but them.
build_fuzzers() {
	local targets
	CC=clang configure "$1" -Dfuzz=true -Db_lundef=false -Db_sanitize=address,undefined \
		-Dkubelet=disabled -Dbench=false -Dexamples=false -Dwerror=true
	step "Building the fuzzers"
	mapfile -t targets < <(fuzz_targets "$1" | sed "s|^$PWD/$1/||")
	[ "${#targets[@]}" -gt 0 ] || die "there is no fuzzer"
	exec_child ninja -C "$1" "${targets[@]}"
}

# run_fuzzers DIR SECONDS: every target, one after the other, on a copy of its corpus.
run_fuzzers() {
	local dir=$1 seconds=$2 target name targets corpus
	mapfile -t targets < <(fuzz_targets "$dir")
	mkdir -p "$dir/findings"
	for target in "${targets[@]}"; do
		name=${target##*/}
		step "Fuzzing: $name, $seconds s"
		corpus=("$dir/corpus/$name")
		mkdir -p "${corpus[0]}"
		[ ! -d "tests/fuzz/corpus/${name#fuzz-}" ] || corpus+=("tests/fuzz/corpus/${name#fuzz-}")
		exec_child "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
			-verbosity=0 -artifact_prefix="$dir/findings/$name-" "${corpus[@]}" ||
			die "$name failed; see $dir/findings"
		note "nothing found"
	done
}

# fuzz_targets DIR: the paths of the programs named fuzz-*.
fuzz_targets() {
	meson introspect --targets "$1" | python3 -c '
import json, sys
for target in json.load(sys.stdin):
    if target["type"] == "executable" and target["name"].startswith("fuzz-"):
        print(target["filename"][0])
'
}

# format_sources CLANG_FORMAT_ARGS...: all C files of the tree. Version 14 decides: others differ.
format_sources() {
	local tool
	tool=$(command -v clang-format-14 || command -v clang-format) ||
		die "clang-format 14 is missing: ./dev deps ci"
	case $("$tool" --version) in
	*'version 14.'*) ;;
	*) die "$("$tool" --version): the tree is formatted by clang-format 14" ;;
	esac
	find include libhamidp daemon examples tests -name '*.[ch]' -print0 | sort -z |
		xargs -0 -r "$tool" "$@"
}
