#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The trace scheduler makes the same of the same trace, and refuses what is no trace:
# check-trace-scheduler.sh PROGRAM DATA
set -euo pipefail

program=$1 data=$2/trace-sample
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# replay ARG...: its lines without the speed.
replay() {
	"$program" "$@" | sed 's/"decisions_per_s":[0-9]*/"decisions_per_s":0/'
}

as_expected() {
	replay --first-seed=1 --last-seed=3 "$data/nodes.csv" "$data/pods.csv" |
		diff "$data/expected.txt" -
}

# Another order of the nodes' rows is the same cluster: ties go by name.
order_does_not_matter() {
	{
		head -n 1 "$data/nodes.csv"
		tail -n +2 "$data/nodes.csv" | sort -r
	} >"$tmp/nodes.csv"
	replay --first-seed=1 --last-seed=3 "$tmp/nodes.csv" "$data/pods.csv" |
		diff "$data/expected.txt" -
}

# allocates NODES_ROW PODS_ROW PERCENT: one node, one kind of pod, what every policy allocates.
allocates() {
	printf 'sn,cpu_milli,memory_mib,gpu,model\n%s\n' "$1" >"$tmp/nodes.csv"
	printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n%s\n' "$2" >"$tmp/pods.csv"
	local out
	out=$(replay --last-seed=42 "$tmp/nodes.csv" "$tmp/pods.csv")
	if [ "$(grep -c "\"gpu_allocated_pct\":$3," <<<"$out")" -ne "$(wc -l <<<"$out")" ]; then
		echo "$out"
		return 1
	fi
}

# refuses NODES_TEXT PODS_TEXT MESSAGE
refuses() {
	printf '%s\n' "$1" >"$tmp/nodes.csv"
	printf '%s\n' "$2" >"$tmp/pods.csv"
	local out
	if out=$("$program" "$tmp/nodes.csv" "$tmp/pods.csv" 2>&1) || ! grep -qF "$3" <<<"$out"; then
		echo "$out"
		return 1
	fi
}

tap_run "every line is as it was" as_expected
tap_run "the order of rows does not matter" order_does_not_matter
tap_run "the node fills up" allocates n,64000,64000,4,A p,1000,1000,1,250, 100.00
tap_run "whole cards only for several" allocates n,64000,64000,3,A p,1000,1000,2,300, 66.67
tap_run "CPU limits" allocates n,2000,64000,4,A p,1000,1000,1,1000, 50.00
tap_run "memory limits" allocates n,64000,3000,4,A p,1000,1000,1,1000, 75.00
tap_run "a share stays on one card" allocates n,64000,64000,4,A p,1000,1000,1,600, 60.00
tap_run "one of the models named" allocates n,64000,64000,4,A 'p,1000,1000,1,1000,B|A|C' 100.00
tap_run "another model" allocates n,64000,64000,4,A 'p,1000,1000,1,1000,AA|B' 0.00

nodes=$'sn,cpu_milli,memory_mib,gpu,model\nn,1,1,1,A'
pods=$'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,1,1000,'
tap_run "no such column" refuses "${nodes/gpu/cards}" "$pods" "nodes.csv:1: a table without the column 'gpu'"
tap_run "not a number" refuses "$nodes" "${pods/p,1/p,-1}" "pods.csv:2: number '-1'"
tap_run "more than a card" refuses "$nodes" "${pods/1000/1001}" "pods.csv:2: a share of a GPU of '1001'"
tap_run "too many cards" refuses "${nodes/1,A/17,A}" "$pods" "nodes.csv:2: more than 16 GPUs: '17'"
tap_run "no rows" refuses "$nodes" "${pods%%$'\n'*}" "pods.csv:1: a table without rows"
tap_run "nothing to allocate" refuses "${nodes/1,A/0,A}" "$pods" "no GPU"
tap_run "pods without GPUs only" refuses "$nodes" "${pods/1,1000/0,0}" "no GPU"
tap_done
