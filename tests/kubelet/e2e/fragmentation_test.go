// SPDX-License-Identifier: Apache-2.0

// Cards that fill up unevenly: what is refused, what is withheld, and that nothing else is.

package e2e

import (
	"testing"

	"hami/kubelet"
)

// twoCards is a node of two cards of 8 slots.
func twoCards(t *testing.T, args ...string) *node {
	t.Helper()
	n := newNode(t, kubelet.Config{})
	n.machine = newMachine(2)
	n.edit(n.machine)
	n.start(args...)
	n.counts(16, 16)
	return n
}

func TestPodThatDoesNotFitTheFirstCardGoesToTheOther(t *testing.T) {
	n := twoCards(t)
	a := n.running(pod("a", want("main", 5))).Container("main").IDs[vgpu]
	b := n.running(pod("b", want("main", 4))).Container("main").IDs[vgpu]
	equal(t, "cards of a", len(cards(a)), 1)
	equal(t, "cards of b", len(cards(b)), 1)
	equal(t, "cards of both", len(cards(append(a, b...))), 2)
	n.running(pod("c", want("main", 3)))
	n.running(pod("d", want("main", 4)))
}

func TestPodThatFitsNoCardIsRefusedWithWhatFits(t *testing.T) {
	n := twoCards(t)
	n.running(pod("a", want("main", 5)))
	n.running(pod("b", want("main", 5)))
	st := n.run(pod("c", want("main", 4)))
	equal(t, "phase", st.Phase, "Failed")
	contains(t, st.Message, "hami.com/vgpu: 4 slots")
	contains(t, st.Message, "at most 3 in one request")
	n.d.waitLog("4 slots as 3+1 refused (--split=deny)")
	// The next try of that size goes elsewhere; what fits still does.
	n.counts(16, 13)
	ids := n.running(pod("d", want("main", 3))).Container("main").IDs[vgpu]
	equal(t, "cards of d", len(cards(ids)), 1)
	n.counts(16, 16)
	n.running(pod("e", want("main", 3)))
}

func TestPlaceableKeepsThePodPending(t *testing.T) {
	n := twoCards(t, "--publish=placeable")
	n.running(pod("a", want("main", 5)))
	n.counts(16, 13)
	n.running(pod("b", want("main", 5)))
	n.counts(16, 13)
	// A scheduler sees it beforehand; here the count alone turns the pod away.
	st := n.run(pod("c", want("main", 4)))
	contains(t, st.Message, "requested number of devices unavailable")
	contains(t, st.Message, "Available: 3")
	n.running(pod("d", want("main", 3)))
	n.counts(16, 16)
	n.running(pod("e", want("main", 3)))
	n.counts(16, 16)
}

func TestAllowedSplitIsGranted(t *testing.T) {
	n := twoCards(t, "--split=allow")
	n.running(pod("a", want("main", 5)))
	n.running(pod("b", want("main", 5)))
	c := n.running(pod("c", want("main", 4))).Container("main")
	equal(t, "cards of c", len(cards(c.IDs[vgpu])), 2)
	n.d.waitLog("is split as")
}

func TestWhatAnInitContainerHadMayBeCompleted(t *testing.T) {
	n := twoCards(t)
	n.running(pod("a", want("main", 5)))
	n.running(pod("b", want("main", 5)))
	c := n.running(kubelet.PodSpec{Name: "c",
		InitContainers: []kubelet.ContainerSpec{want("init", 3)},
		Containers:     []kubelet.ContainerSpec{want("main", 4)}}).Container("main")
	equal(t, "cards of c", len(cards(c.IDs[vgpu])), 2)
	n.d.waitLog("had to include an earlier container's")
}
