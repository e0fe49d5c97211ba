// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"hami/tap"
)

func TestMain(m *testing.M) { tap.Main(m) }
