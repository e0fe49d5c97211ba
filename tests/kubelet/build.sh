#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the kubelet stand-in and its tests: build.sh SOURCE_DIR WORK_DIR OUT_DIR
# Offline: the packages come from Debian's golang-*-dev, the generated code from protoc here and now.
set -eu

src=$1
work=$2
out=$3
mkdir -p "$work" "$out"
work=$(cd "$work" && pwd)
out=$(cd "$out" && pwd)

# Copies, not links: Go's GOPATH mode does not follow links in package patterns.
rm -rf "$work/src"
mkdir -p "$work/src/hami/proto"
for dir in kubelet plainplugin cmd tap e2e; do
	if [ -d "$src/$dir" ]; then
		cp -Rp "$src/$dir" "$work/src/hami/$dir"
	fi
done
for proto in "$src"/proto/*.proto; do
	protoc -I "$src/proto" --go_out=plugins=grpc:"$work/src" "$proto"
done

GO111MODULE=off
GOPATH=$work:/usr/share/gocode
GOFLAGS=
GOPROXY=off
CGO_ENABLED=0
export GO111MODULE GOPATH GOFLAGS GOPROXY CGO_ENABLED
if [ -z "${HOME:-}" ] || [ ! -w "${HOME:-/nonexistent}" ]; then
	GOCACHE=$work/cache
	export GOCACHE
fi

go build -o "$out/hami-kubelet" hami/cmd/hami-kubelet
go test -c -o "$out/kubelet-selftest" hami/kubelet
if [ -f "$src/e2e/main_test.go" ]; then
	go test -c -o "$out/e2e" hami/e2e
fi
