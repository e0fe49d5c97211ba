// SPDX-License-Identifier: Apache-2.0

// What the list says: identity, health, cards that come and go.

package e2e

import (
	"math/rand"
	"sort"
	"strings"
	"syscall"
	"testing"

	"hami/kubelet"
)

// lastFrame waits for the counts and returns the last list and how many came since before.
func (n *node) lastFrame(before, capacity, allocatable int) (kubelet.Frame, int) {
	n.t.Helper()
	n.counts(capacity, allocatable)
	frames := n.Frames(vgpu)
	return frames[len(frames)-1], len(frames) - before
}

func TestIDsSurviveRestartAndShuffledEnumeration(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	ids := n.ids()
	expect := append(append(slots(0, 8), slots(1, 8)...), append(slots(2, 8), slots(3, 8)...)...)
	sort.Strings(expect)
	equal(t, "ids", ids, expect)
	rng := rand.New(rand.NewSource(7))
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
		n.d.signal(sig)
		n.d.waitExit(patience)
		n.edit(n.machine.shuffled(rng))
		n.serve()
		equal(t, "ids", n.ids(), ids)
	}
	for _, f := range n.Frames(vgpu) {
		equal(t, "devices and healthy of every list", []int{f.Devices, f.Healthy}, []int{32, 32})
	}
}

func TestCardFailsAndRecoversInOneListEach(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	held := n.running(pod("a", want("main", 2))).Container("main").IDs[vgpu]
	before := len(n.Frames(vgpu))
	n.edit(n.machine.withHealth(1, "unhealthy"))
	frame, lists := n.lastFrame(before, 32, 24)
	equal(t, "lists", lists, 1)
	sort.Strings(frame.Unhealthy)
	equal(t, "unhealthy", frame.Unhealthy, slots(1, 8))
	n.edit(n.machine)
	_, lists = n.lastFrame(before, 32, 32)
	equal(t, "lists", lists, 2)
	st, err := n.RestartContainer("default", "a", "main")
	must(t, err)
	equal(t, "the pod keeps its ids", st.Container("main").IDs[vgpu], held)
}

func TestCardIsUnpluggedAndPlugged(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	before := len(n.Frames(vgpu))
	n.edit(n.machine.without(2))
	frame, lists := n.lastFrame(before, 24, 24)
	equal(t, "lists", lists, 1)
	equal(t, "unhealthy", len(frame.Unhealthy), 0)
	for _, id := range n.ids() {
		equal(t, id+" is on the card that is gone", strings.HasPrefix(id, newDevice(2).UUID), false)
	}
	n.edit(n.machine)
	_, lists = n.lastFrame(before, 32, 32)
	equal(t, "lists", lists, 2)
}

func TestAllCardsGoAndComeBack(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	none := n.machine.clone()
	none.Devices = []device{}
	n.edit(none)
	n.counts(0, 0)
	n.edit(n.machine)
	n.counts(32, 32)
	equal(t, "daemon runs", n.d.alive(), true)
}

func TestUnchangedFileSendsNothing(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	before := len(n.Frames(vgpu))
	n.edit(n.machine)
	n.edit(n.machine.shuffled(rand.New(rand.NewSource(3))))
	n.edit(n.machine.withHealth(0, "unhealthy")) // the sign that the others were read
	_, lists := n.lastFrame(before, 32, 24)
	equal(t, "lists", lists, 1)
}
