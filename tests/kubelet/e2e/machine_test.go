// SPDX-License-Identifier: Apache-2.0

// This file owns the simulated machine: the inventory file and how it is edited.

package e2e

import (
	"encoding/json"
	"fmt"
	"io/ioutil"
	"math/rand"
	"os"
	"testing"
)

type path struct {
	Host        string `json:"host"`
	Container   string `json:"container"`
	Permissions string `json:"permissions,omitempty"`
}

type device struct {
	UUID        string `json:"uuid"`
	Index       int    `json:"index"`
	Minor       int    `json:"minor"`
	Model       string `json:"model"`
	PCI         string `json:"pci"`
	MemoryMiB   int    `json:"memory_mib"`
	NUMANode    *int   `json:"numa_node,omitempty"`
	Health      string `json:"health"`
	DeviceNodes []path `json:"device_nodes"`
}

type machine struct {
	Schema  string            `json:"schema"`
	Driver  map[string]string `json:"driver"`
	Devices []device          `json:"devices"`
	Mounts  []path            `json:"mounts"`
	Sim     map[string]string `json:"sim"`
}

// newMachine describes cards of 40,960 MiB, by default four of them.
func newMachine(cards int) *machine {
	m := &machine{Schema: "hami.inventory/1",
		Driver: map[string]string{"name": "sim", "version": "1.0"},
		Sim:    map[string]string{"state": "ok"},
		Mounts: []path{{Host: "/usr/lib/libhami-e2e.so", Container: "/usr/lib/libhami-e2e.so"}}}
	for i := 0; i < cards; i++ {
		m.Devices = append(m.Devices, newDevice(i))
	}
	return m
}

func newDevice(i int) device {
	return device{
		UUID:  fmt.Sprintf("GPU-e2e00000-0000-4000-8000-%012d", i),
		Index: i, Minor: i, Model: "Sim 40G", PCI: fmt.Sprintf("0000:%02x:00.0", i+1),
		MemoryMiB: 40960, Health: "healthy",
		DeviceNodes: []path{{Host: "/dev/null", Container: fmt.Sprintf("/dev/hamivgpu%d", i),
			Permissions: "rw"}},
	}
}

func slot(card, n int) string { return fmt.Sprintf("%s::%d", newDevice(card).UUID, n) }

// slots lists n slots of a card from the first on.
func slots(card, n int) []string {
	var list []string
	for i := 0; i < n; i++ {
		list = append(list, slot(card, i))
	}
	return list
}

func (m *machine) clone() *machine {
	c := *m
	c.Devices = append([]device(nil), m.Devices...)
	return &c
}

// shuffled reorders the enumeration; indexes and minors move along, identities stay.
func (m *machine) shuffled(rng *rand.Rand) *machine {
	c := m.clone()
	rng.Shuffle(len(c.Devices), func(i, j int) {
		c.Devices[i], c.Devices[j] = c.Devices[j], c.Devices[i]
	})
	for i := range c.Devices {
		c.Devices[i].Index = i
	}
	return c
}

func (m *machine) withHealth(card int, health string) *machine {
	c := m.clone()
	c.Devices[card].Health = health
	return c
}

func (m *machine) without(card int) *machine {
	c := m.clone()
	c.Devices = append(c.Devices[:card], c.Devices[card+1:]...)
	return c
}

// save replaces the file by rename, so that a reader never sees half of it.
func (m *machine) save(t *testing.T, file string) {
	t.Helper()
	text, err := json.MarshalIndent(m, "", " ")
	must(t, err)
	must(t, ioutil.WriteFile(file+".new", text, 0o644))
	must(t, os.Rename(file+".new", file))
}
