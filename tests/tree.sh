# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the checks of the tree share; to be sourced, inside the tree to be checked.

# tree_files: every file that belongs to the tree, one a line, without build and package output.
tree_files() {
	find . \( -path ./.git -o -path './obj-*' -o -path './debian/.debhelper' -o -path './debian/tmp' \
		-o -path './debian/libhamidp*/*' -o -path './debian/hami-dp/*' -o -name __pycache__ \
		-o -type d -exec test -d '{}/meson-private' \; \) -prune -o -type f -print |
		sed 's|^\./||' | sort
}

# without_comments FILE: C source with its comments blanked, lines kept.
without_comments() {
	perl -0pe 's{("(?:\\.|[^"\\])*")|/\*.*?\*/}{defined $1 ? $1 : $& =~ tr/\n//cdr}gse' "$1"
}

# existing FILE...: those that exist; globs that match nothing vanish.
existing() {
	local file
	for file in "$@"; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}

# deny_in_code PATTERN FILE...: fails and shows the lines if code, comments aside, matches.
deny_in_code() {
	local pattern=$1 file bad=0
	shift
	while IFS= read -r file; do
		if without_comments "$file" | grep -nE "$pattern" | sed "s|^|$file:|" | grep .; then
			bad=1
		fi
	done < <(existing "$@")
	return "$bad"
}
