#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rules on text that no compiler knows: check-style.sh SOURCE_ROOT
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/tap.sh"
. "$here/tree.sh"
cd "$1"
mapfile -t all < <(tree_files)
mapfile -t code < <(printf '%s\n' "${all[@]}" | grep -E '\.[ch]$' | grep -v '^tests/data/' || :)
mapfile -t scripts < <(printf '%s\n' "${all[@]}" | grep -E '\.(sh|py|go)$|^dev$|^\.ci/run$' || :)

licence_comes_first() {
	local file bad=0
	for file in "${code[@]}"; do
		if [ "$(head -n 1 "$file")" != '/* SPDX-License-Identifier: Apache-2.0 */' ]; then
			echo "$file: line 1 is not the licence"
			bad=1
		fi
	done
	for file in "${scripts[@]}"; do
		if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then
			echo "$file: no licence in lines 1 to 3"
			bad=1
		fi
	done
	return "$bad"
}

files_are_short() {
	local file lines bad=0
	for file in "${code[@]}"; do
		lines=$(wc -l <"$file")
		if [ "$lines" -ge 500 ]; then
			echo "$file: $lines lines; the limit is 500"
			bad=1
		fi
	done
	return "$bad"
}

block_comments_only() {
	deny_in_code '^[^"]*([^":]|^)//' "${code[@]}"
}

nothing_is_left_to_do() {
	! grep -nE '\<(TO''DO|FIX''ME|XX''X)\>' "${code[@]}" "${scripts[@]}" /dev/null
}

# Paths of somebody's machine have no place in a tree.
no_machine_paths() {
	! grep -nIE '(^|[^A-Za-z0-9_.$}*-])/(wor''k|hom''e|roo''t)/' "${all[@]}" /dev/null |
		cut -c 1-160 | grep .
}

no_trailing_blanks() {
	! grep -nE '[[:blank:]]$' "${code[@]}" "${scripts[@]}" /dev/null
}

unchecked_conversions() {
	deny_in_code '\<(atoi|atol|atoll|atof|sscanf|strcpy|strcat|sprintf|vsprintf|strtok|gets)[[:space:]]*\(' \
		libhamidp/*.[ch] daemon/*.[ch] examples/*.c include/hami/*.h
}

tap_run "the licence comes first" licence_comes_first
tap_run "C files stay under 500 lines" files_are_short
tap_run "block comments only" block_comments_only
tap_run "nothing is left to do" nothing_is_left_to_do
tap_run "no path of somebody's machine" no_machine_paths
tap_run "no trailing blanks" no_trailing_blanks
tap_run "no unchecked conversions or copies" unchecked_conversions
tap_done
