#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes debian/libhamidp0.symbols from the version script: make-debian-symbols.sh > FILE
set -euo pipefail

map=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../libhamidp/hamidp.map
printf 'libhamidp.so.0 libhamidp0 #MINVER#\n* Build-Depends-Package: libhamidp-dev\n'
awk '
/^HAMIDP_[0-9.]+ \{/ { node = $1; release = substr(node, 8); print " " node "@" node " " release ".0" }
/^\t[a-z_0-9]+;$/ { sub(/;/, "", $1); print " " $1 "@" node " " release ".0" }
' "$map"
