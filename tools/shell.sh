# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Messages and child processes for the scripts of this tree; to be sourced.

# step TEXT: a heading for what comes next.
step() {
	printf '\n== %s\n' "$*"
}

note() {
	printf '   %s\n' "$*"
}

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# no_tests WHY: the last line that a test run owes, when it did not get that far.
no_tests() {
	printf '%s\n0 passed, 1 failed, 0 skipped\n' "$1"
	exit 1
}

# exec_child COMMAND...: run a command in a process group of its own and wait for it. A signal that
# ends the script ends the whole group first, so that nothing is left running.
exec_child() {
	local pid status=0
	set -m
	"$@" </dev/null &
	pid=$!
	set +m
	# shellcheck disable=SC2064 # the pid as it is now
	trap "kill -TERM -- -$pid 2>/dev/null || :; wait $pid || :; exit 143" TERM INT HUP
	wait "$pid" || status=$?
	trap - TERM INT HUP
	return "$status"
}
