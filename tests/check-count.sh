#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tool that counts tests sees failures, crashes, hangs and programs that ran nothing.
# check-count.sh SOURCE_ROOT
set -euo pipefail

root=$1
. "$root/tests/tap.sh"
logs=$root/tests/data/meson-logs
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# expect LOGS STATUS "LAST LINE"
expect() {
	local status=0 last
	last=$(python3 "$root/tools/count-tests.py" "$1" | tail -n 1) || status=$?
	if [ "$status $last" != "$2 $3" ]; then
		echo "got status $status, \"$last\"; wanted status $2, \"$3\""
		return 1
	fi
}

# only PROGRAM STATUS "LAST LINE": the logs as if this program had run alone.
only() {
	cp "$logs/testlog.junit.xml" "$tmp"
	grep -F "/ $1\"" "$logs/testlog.json" >"$tmp/testlog.json"
	expect "$tmp" "$2" "$3"
}

tap_run "everything adds up" expect "$logs" 1 "14 passed, 14 failed, 3 skipped"
while IFS='|' read -r program status line; do
	tap_run "$program" only "$program" "$status" "$line"
done <<'END'
tapok|0|2 passed, 0 failed, 1 skipped
tapfail|1|2 passed, 1 failed, 0 skipped
tapcrash|1|1 passed, 1 failed, 0 skipped
tapcrashlate|1|2 passed, 1 failed, 0 skipped
tapnone|1|0 passed, 1 failed, 0 skipped
tapbail|1|1 passed, 1 failed, 0 skipped
tapexit|1|2 passed, 1 failed, 0 skipped
tapskipall|1|0 passed, 0 failed, 1 skipped
tapskip77|1|0 passed, 1 failed, 0 skipped
taptodo|1|1 passed, 1 failed, 0 skipped
taptimeout|1|1 passed, 1 failed, 0 skipped
exok|0|1 passed, 0 failed, 0 skipped
exfail|1|0 passed, 1 failed, 0 skipped
exskip|1|0 passed, 0 failed, 1 skipped
exhard|1|0 passed, 1 failed, 0 skipped
excrash|1|0 passed, 1 failed, 0 skipped
extimeout|1|0 passed, 1 failed, 0 skipped
exshouldfail|0|1 passed, 0 failed, 0 skipped
exshouldfailbad|1|0 passed, 1 failed, 0 skipped
END
tap_run "no logs at all" expect "$tmp/absent" 1 "0 passed, 1 failed, 0 skipped"
: >"$tmp/testlog.json"
tap_run "an empty run" expect "$tmp" 1 "0 passed, 1 failed, 0 skipped"
tap_done
