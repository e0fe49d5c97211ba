// SPDX-License-Identifier: Apache-2.0

// What the daemon takes of a node of 16 cards cut into 100 slots each.

package e2e

import (
	"os"
	"testing"

	"hami/kubelet"
)

// serveLarge serves 1600 slots.
func (n *node) serveLarge(env ...string) *daemon {
	n.t.Helper()
	n.machine = newMachine(16)
	n.edit(n.machine)
	n.startWith(env, nil, "--cores-per-device=100", "--memory-mb-per-core=400", "--v=2")
	n.counts(1600, 1600)
	n.running(pod("a", want("main", 2)))
	return n.d
}

func TestFootprint(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.serveLarge()
	t.Log(d.usage())
	n.maxBytes("16 x 100 slots", "VmRSS", 14000000)
}

func TestFootprintWith128Cores(t *testing.T) {
	library := os.Getenv("HAMI_MANY_CORES")
	if library == "" {
		t.Skip("HAMI_MANY_CORES does not name the library that fakes them")
	}
	n := newNode(t, kubelet.Config{})
	d := n.serveLarge("LD_PRELOAD=" + library)
	t.Log(d.usage())
	if d.status("Threads") < 20 {
		t.Error("the fake has no effect")
	}
	n.maxBytes("16 x 100 slots, 128 cores", "VmRSS", 17000000)
	d.terminate()
}
