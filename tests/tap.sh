# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# TAP for shell tests; to be sourced. Call tap_done at the end.

tap_count=0
tap_failures=0

# tap_ok STATUS NAME: one case, passed if STATUS is 0.
tap_ok() {
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$tap_count" "$2"
	else
		printf 'not ok %d - %s\n' "$tap_count" "$2"
		tap_failures=$((tap_failures + 1))
	fi
}

# tap_run NAME COMMAND...: one case, passed if the command succeeds; its output becomes comments.
tap_run() {
	local name=$1 text status=0
	shift
	text=$("$@" 2>&1) || status=$?
	if [ "$status" -ne 0 ] && [ -n "$text" ]; then
		printf '%s\n' "$text" | sed 's/^/# /'
	fi
	tap_ok "$status" "$name"
}

tap_done() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_failures" -eq 0 ]
}
