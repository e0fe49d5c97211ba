// SPDX-License-Identifier: Apache-2.0

// Values out of the environment, and cards that cannot be cut as they say.

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"hami/kubelet"
)

func TestBadValuesAreOneLineWithVariableValueAndRange(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	for name, accepted := range map[string]string{
		"HAMI_VGPU_CORES_PER_DEVICE":   "a whole number from 1 to 1024",
		"HAMI_VGPU_MEMORY_MB_PER_CORE": "a whole number from 1 to 16777216",
		"HAMI_CORES_PER_DEVICE":        "a whole number from 1 to 1024",
		"HAMI_MEMORY_MB_PER_CORE":      "a whole number from 1 to 16777216",
	} {
		for _, value := range []string{"0", "-1", "8x", "99999999999999999999", " 8", "8 ", "8.5",
			"+8", "0x8", "08", "1e3", "", "18446744073709551617", "eight", "8\n8"} {
			d := startDaemon(t, []string{name + "=" + value}, "--driver=sim:"+n.file(),
				"--device-plugin-dir="+n.cfg.DevicePluginDir, "--run-dir="+n.dir)
			equal(t, fmt.Sprintf("%s=%q", name, value), d.waitExit(patience), 2)
			shown := strings.Replace(value, "\n", "?", -1)
			equal(t, name, d.text(), name+": '"+shown+"': accepted: "+accepted+"\n")
		}
	}
	equal(t, "Register calls", n.Resource(vgpu).Registers, 0)
}

func TestMemoryThatFallsShortByLittleShrinksTheSlots(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	m := n.machine.clone()
	m.Devices[1].MemoryMiB = 40536
	n.edit(m)
	d := n.serve("--v=2")
	var notice string
	for _, line := range strings.Split(d.text(), "\n") {
		if strings.Contains(line, m.Devices[1].UUID) {
			notice = line
		}
	}
	for _, part := range []string{"40536", "5120", "5067"} {
		contains(t, notice, part)
	}
	small, err := n.allocate(slot(1, 0))
	must(t, err)
	equal(t, "memory on the small card", small.Envs["HAMI_VGPU_MEMORY_MB"], "5067")
	full, err := n.allocate(slot(0, 0))
	must(t, err)
	equal(t, "memory on another", full.Envs["HAMI_VGPU_MEMORY_MB"], "5120")
	whole, err := n.allocate(slots(1, 8)...)
	must(t, err)
	equal(t, "memory of all its slots", whole.Envs["HAMI_VGPU_MEMORY_MB"], fmt.Sprint(8*5067))
}

func TestCardThatCannotBeCutIsLeftOutWithTheNumbers(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	m := n.machine.clone()
	for i := range m.Devices {
		m.Devices[i].MemoryMiB = 81920
	}
	m.Devices[2].MemoryMiB = 40536
	n.edit(m)
	d := n.start("--memory-mb-per-core=10240", "--v=2")
	n.counts(24, 24)
	equal(t, "cards", len(cards(n.ids())), 3)
	var line string
	for _, l := range strings.Split(d.text(), "\n") {
		if strings.Contains(l, m.Devices[2].UUID) {
			line = l
		}
	}
	for _, part := range []string{"40536", "10240", "8"} {
		contains(t, line, part)
	}
	_, err := n.allocate(slot(2, 0))
	if err == nil {
		t.Error("a slot of the card that is left out was granted")
	}
	contains(t, fmt.Sprint(err), slot(2, 0))
}
