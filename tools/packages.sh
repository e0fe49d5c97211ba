# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Which Debian packages a checkout needs, and how the missing ones get there; to be sourced.
# Nothing that is installed is upgraded by name, and no package here starts a service.

# shellcheck disable=SC2034 # need_packages reads them by name
packages_build=(
	build-essential meson ninja-build pkg-config
	libgrpc-dev libprotobuf-c-dev protobuf-c-compiler protobuf-compiler
	libjansson-dev libyaml-dev libsystemd-dev scdoc check
	golang-go golang-google-grpc-dev golang-goprotobuf-dev
)
# shellcheck disable=SC2034
packages_fuzz=(clang llvm libclang-rt-14-dev)
# shellcheck disable=SC2034
packages_ci=(
	clang-format shellcheck valgrind libc6-dbg
	debhelper dpkg-dev fakeroot lintian
)

# missing_packages SET...: the names of those that are not installed, one a line.
missing_packages() {
	local set name
	for set in "$@"; do
		local -n names="packages_$set"
		for name in "${names[@]}"; do
			dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null |
				grep -qx installed || printf '%s\n' "$name"
		done
	done
}

# root_prefix: how to become root, in the array "as_root".
root_prefix() {
	as_root=()
	[ "$(id -u)" -ne 0 ] || return 0
	if ! command -v sudo >/dev/null; then
		die "missing packages: $*; as root: apt-get install $*"
	fi
	as_root=(sudo)
	[ -t 0 ] || as_root=(sudo -n)
}

# One line now and then out of the many that apt-get prints.
apt_progress() {
	awk '
	/newly installed/ { print "   " $0; fflush() }
	/^Get:/ { if (++got % 25 == 0) { print "   " got " packages fetched"; fflush() } }
	/^Setting up/ { if (++set % 25 == 0) { print "   " set " packages set up"; fflush() } }
	'
}

# apt_get ARGS...: apt-get without questions; its words go to the log.
apt_get() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y \
		-o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" 2>&1 </dev/null |
		tee -a "$apt_log" | apt_progress
}

# need_packages SET...: install what is missing.
need_packages() {
	local missing as_root apt_log
	command -v dpkg-query >/dev/null || die "this is no Debian: see docs/building.md for what to install"
	mapfile -t missing < <(missing_packages "$@")
	[ "${#missing[@]}" -gt 0 ] || return 0
	step "Installing Debian packages: ${#missing[@]}"
	fold -s -w 90 <<<"${missing[*]}" | sed 's/^/   /'
	root_prefix "${missing[@]}"
	apt_log=$(mktemp)
	apt_get update || note "apt-get update failed; going on with the package lists that are here"
	if ! apt_get install --no-install-recommends --no-upgrade "${missing[@]}"; then
		tail -n 30 "$apt_log"
		rm -f "$apt_log"
		die "apt-get could not install: ${missing[*]}"
	fi
	rm -f "$apt_log"
	mapfile -t missing < <(missing_packages "$@")
	[ "${#missing[@]}" -eq 0 ] || die "still missing after apt-get: ${missing[*]}"
}
