#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages in a copy of the tree, looks at them with lintian and runs what is in
# them, unpacked in a temporary directory. With CI=true and as root they are also installed by
# apt-get, tried and removed.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
cd "$root"
. tools/shell.sh
. tests/tree.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

build_packages() {
	step "Building the packages"
	mkdir "$tmp/hamidp"
	tree_files | tar -cf - -T - | tar -xf - -C "$tmp/hamidp"
	(cd "$tmp/hamidp" && DEB_BUILD_OPTIONS="parallel=$(nproc)" \
		exec_child dpkg-buildpackage -us -uc -b) >"$tmp/build.log" 2>&1 ||
		{ tail -n 80 "$tmp/build.log"; die "dpkg-buildpackage failed"; }
	(cd "$tmp" && ls -l ./*.deb)
}

# One tag is not ours to judge: the maintainer's address is not meant to be reachable.
lint() {
	step "lintian"
	lintian --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
		"$tmp"/*.changes
}

# The daemon of the package, with the library of the package.
unpacked_run() {
	LD_LIBRARY_PATH=$(dirname "$(find "$tmp/root" -name 'libhamidp.so.0')") \
		"$tmp/root/usr/sbin/hami-dp" --dry-run --driver=sim:article --cores-per-device=8 \
		--memory-mb-per-core=5120
}

unpacked_example() {
	local lib
	lib=$(dirname "$(find "$tmp/root" -name 'libhamidp.so.0')")
	cc -Wall -D_GNU_SOURCE -o "$tmp/list-devices" \
		"$tmp/root/usr/share/doc/libhamidp-dev/examples/list-devices.c" \
		-I "$tmp/root/usr/include" -L "$lib" -lhamidp
	LD_LIBRARY_PATH=$lib "$tmp/list-devices" sim:article
}

try_unpacked() {
	local deb
	step "Trying the packages, unpacked"
	for deb in "$tmp"/*.deb; do
		dpkg-deb -x "$deb" "$tmp/root"
	done
	unpacked_run >"$tmp/dry-run.txt"
	[ "$(grep -c '::' "$tmp/dry-run.txt")" -ge 32 ] || die "no 32 slots in $(cat "$tmp/dry-run.txt")"
	unpacked_example >"$tmp/list.txt"
	grep -q . "$tmp/list.txt" || die "the example prints nothing"
	note "hami-dp --dry-run shows $(grep -c '::' "$tmp/dry-run.txt") slots; list-devices runs"
	if command -v systemd-analyze >/dev/null; then
		note "$(systemd-analyze security --offline=true --threshold=25 --no-pager \
			--root="$tmp/root" hami-dp.service 2>&1 | tail -n 1)"
	fi
}

try_installed() {
	step "Installing the packages"
	if [ "${CI:-}" != true ] || [ "$(id -u)" -ne 0 ]; then
		note "left out: only with CI=true and as root"
		return 0
	fi
	local debs
	mapfile -t debs < <(find "$tmp" -maxdepth 1 -name "*.deb" ! -name "*-dbgsym_*")
	DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "${debs[@]}" \
		</dev/null >"$tmp/apt.log" 2>&1 || { tail -n 40 "$tmp/apt.log"; die "apt-get failed"; }
	trap 'dpkg --purge hami-dp libhamidp-dev libhamidp0 >/dev/null 2>&1 || :; rm -rf "$tmp"' EXIT
	debian/tests/dry-run >/dev/null
	debian/tests/build-example >/dev/null
	dpkg --purge hami-dp libhamidp-dev libhamidp0 >/dev/null
	if [ -e /usr/sbin/hami-dp ] || [ -e /etc/hami/hami-dp.yaml ]; then
		die "purge left files behind"
	fi
	note "installed, tried, purged"
}

build_packages
lint
try_unpacked
try_installed
