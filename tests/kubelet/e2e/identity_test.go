// SPDX-License-Identifier: Apache-2.0

// What makes a card the same card, and where the kubelet is told that it lies.

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"hami/kubelet"
)

// The same cards, found in another order, under other indexes, minors and PCI addresses.
func TestIDsSurviveOtherIndexesAndMinors(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	ids := n.ids()
	held := n.running(pod("a", want("main", 2))).Container("main").IDs[vgpu]
	n.d.terminate()
	other := n.machine.clone()
	for i := range other.Devices {
		dev := &other.Devices[i]
		*dev = n.machine.Devices[len(other.Devices)-1-i]
		dev.Index = i
		dev.Minor = 10 + 2*i
		dev.PCI = fmt.Sprintf("0001:%02x:00.0", 0x80-i)
	}
	n.edit(other)
	n.serve()
	equal(t, "ids", n.ids(), ids)
	for _, dev := range n.Devices(vgpu) {
		for _, id := range held {
			if dev.ID == id {
				equal(t, id+" is in use", dev.InUse, true)
			}
		}
	}
}

func TestUUIDsInAnotherCaseAreOtherCards(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	twin := newDevice(4)
	twin.UUID = strings.ToUpper(newDevice(0).UUID)
	n.machine.Devices = append(n.machine.Devices, twin)
	n.edit(n.machine)
	n.start()
	n.counts(40, 40)
	equal(t, "cards", len(cards(n.ids())), 5)
	_, err := n.allocate(twin.UUID + "::0")
	must(t, err)
}

func TestTwoCardsWithOneUUIDAreRefusedByName(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	twins := n.machine.clone()
	twins.Devices[2].UUID = twins.Devices[1].UUID
	n.edit(twins)
	d := n.start("--fail-on-init-error=true", "--v=0")
	if code := d.waitExit(patience); code == 0 {
		t.Error("ended with status 0")
	}
	contains(t, d.text(), twins.Devices[1].UUID)
	equal(t, "lines", strings.Count(d.text(), "\n"), 1)

	// While it runs: refused, and what was known stays.
	n.edit(n.machine)
	n.serve()
	frames := len(n.Frames(vgpu))
	n.edit(twins)
	n.d.waitLog(twins.Devices[1].UUID + "'")
	_, err := n.allocate(slot(1, 0))
	must(t, err)
	n.edit(n.machine.withHealth(0, "unhealthy"))
	n.counts(32, 24)
	equal(t, "lists", len(n.Frames(vgpu)), frames+1)
}

// numaNodes are those of the cards in the kubelet's list, which every slot of a card must have.
func (n *node) numaNodes() string {
	n.t.Helper()
	on := map[string]string{}
	for _, dev := range n.Devices(vgpu) {
		card := strings.Split(dev.ID, "::")[0]
		if was, ok := on[card]; ok {
			equal(n.t, dev.ID, fmt.Sprint(dev.NUMA), was)
		}
		on[card] = fmt.Sprint(dev.NUMA)
	}
	var list []string
	for _, dev := range n.machine.Devices {
		list = append(list, on[dev.UUID])
	}
	return strings.Join(list, "")
}

// withNUMA sets the cards' nodes; -1 is none.
func (m *machine) withNUMA(nodes ...int) *machine {
	c := m.clone()
	for i := range nodes {
		c.Devices[i].NUMANode = &nodes[i]
	}
	return c
}

func TestTopologyIsForAllCardsOrForNone(t *testing.T) {
	for _, c := range []struct {
		nodes []int
		flag  string
		told  string
	}{
		{[]int{0, 0, 1, 1}, "--enable-topology=true", "[0][0][1][1]"},
		{[]int{0, 0, 1, 1}, "--v=4", "[0][0][1][1]"},
		{[]int{0, 0, 1, -1}, "--enable-topology=true", "[][][][]"},
		{[]int{-1, -1, -1, -1}, "--enable-topology=true", "[][][][]"},
		{[]int{0, 0, 1, 1}, "--enable-topology=false", "[][][][]"},
	} {
		n := newNode(t, kubelet.Config{})
		n.edit(n.machine.withNUMA(c.nodes...))
		n.serve(c.flag)
		equal(t, fmt.Sprint(c.nodes, c.flag), n.numaNodes(), c.told)
		n.d.terminate()
	}
}

func TestTopologyGoesWithACardThatHasNone(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.edit(n.machine.withNUMA(0, 0, 1, 1))
	n.serve()
	equal(t, "at first", n.numaNodes(), "[0][0][1][1]")
	more := n.machine.withNUMA(0, 0, 1, 1)
	more.Devices = append(more.Devices, newDevice(4))
	n.edit(more)
	n.counts(40, 40)
	equal(t, "with a card more", n.numaNodes(), "[][][][]")
	n.edit(n.machine.withNUMA(0, 0, 1, 1))
	n.counts(32, 32)
	equal(t, "without it", n.numaNodes(), "[0][0][1][1]")
}
