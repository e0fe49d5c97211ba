#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may include and call what: check-layering.sh SOURCE_ROOT
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/tap.sh"
. "$here/tree.sh"
cd "$1"

# deny_include PATTERN FILE...: no #include of it.
deny_include() {
	local pattern=$1
	shift
	deny_in_code "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@"
}

# The rooms of the library that map values to values.
pure_rooms() {
	existing libhamidp/{place,choose,plan,fleet,index,layout,policy,occupancy,decide,decision,request,edits,inventory,links,text,reason,slot,publish,holddown,room}*.[ch]
}

public_headers_self_contained() {
	deny_include '[^>"]*/(internal|config)\.h|config\.h|jansson|sqlite3|systemd/|grpc/|protobuf-c/' \
		include/hami/*.h &&
		deny_in_code '#[[:space:]]*include[[:space:]]*"' include/hami/*.h
}

pure_rooms_do_no_io() {
	local files
	mapfile -t files < <(pure_rooms)
	[ "${#files[@]}" -gt 0 ] || return 0
	deny_include 'dlfcn\.h|fcntl\.h|unistd\.h|poll\.h|time\.h|pthread\.h|signal\.h|dirent\.h|sys/(stat|socket|un|epoll|eventfd|inotify|timerfd|time|mman|ioctl|file)\.h' \
		"${files[@]}" &&
		deny_include 'driver[^"]*\.h|store[^"]*\.h|node[^"]*\.h|hami/node\.h' "${files[@]}" &&
		deny_in_code '\<(fopen|open|openat|read|write|socket|clock_gettime|gettimeofday|time|rand|random|getrandom|getpid)[[:space:]]*\(' \
			"${files[@]}"
}

library_keeps_quiet() {
	deny_in_code '\<(printf|vprintf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort|atexit|getenv|secure_getenv|setenv|unsetenv|putenv|clearenv|signal|sigaction|raise|setlocale|system|popen|syslog)[[:space:]]*\(|\<(stdout|stderr|environ)\>' \
		libhamidp/*.[ch]
}

library_knows_no_front_end() {
	deny_include 'grpc/|protobuf-c/|systemd/|yaml\.h|[^>"]*daemon/' libhamidp/*.[ch]
}

drivers_do_not_know_each_other() {
	local file own bad=0
	while IFS= read -r file; do
		own=${file##*/driver-}
		own=${own%%[-.]*}
		if grep -nE '#[[:space:]]*include "driver-' "$file" | grep -vE "\"driver-${own}[-.]" |
			sed "s|^|$file:|" | grep .; then
			bad=1
		fi
	done < <(existing libhamidp/driver-*.[ch])
	return "$bad"
}

# uses_the_public_api DIR: nothing of the library but <hami/...>; "x.h" is one of DIR's own.
uses_the_public_api() {
	local dir=$1 file name bad=0
	deny_include '[^>"]*libhamidp/' "$dir"/*.[ch] || bad=1
	while IFS=: read -r file name; do
		case $name in *.pb-c.h) continue ;; esac
		if [ ! -f "$dir/$name" ]; then
			echo "$file includes \"$name\", which is not of $dir"
			bad=1
		fi
	done < <(grep -oE '#[[:space:]]*include "[^"]+"' "$dir"/*.[ch] /dev/null 2>/dev/null |
		sed -E 's|:#[[:space:]]*include "(.*)"|:\1|')
	return "$bad"
}

grpc_in_rpc_files_only() {
	local files
	mapfile -t files < <(existing daemon/*.[ch] examples/*.c include/hami/*.h |
		grep -v '^daemon/rpc-')
	deny_include 'grpc/' "${files[@]}"
}

tap_run "public headers stand alone" public_headers_self_contained
tap_run "pure rooms do no I/O" pure_rooms_do_no_io
tap_run "the library neither prints, exits, reads the environment nor touches signals" library_keeps_quiet
tap_run "the library knows no front end" library_knows_no_front_end
tap_run "drivers do not know each other" drivers_do_not_know_each_other
tap_run "the daemon uses <hami/...> only" uses_the_public_api daemon
tap_run "gRPC stays in daemon/rpc-*" grpc_in_rpc_files_only
tap_run "examples use <hami/...> only" uses_the_public_api examples
tap_done
