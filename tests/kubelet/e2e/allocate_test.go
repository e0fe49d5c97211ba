// SPDX-License-Identifier: Apache-2.0

// Allocate and GetPreferredAllocation asked directly.

package e2e

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"hami/kubelet"
)

func TestBadIDsAreRefusedByNameAndChangeNothing(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	all := n.ids()
	before := n.preferred(all, nil, 3)
	foreign := "GPU-ffffffff-0000-4000-8000-000000000000::0"
	tooMany := append(append([]string{}, all...), slot(0, 8))
	cases := []struct {
		what string
		ids  []string
		name string
		code codes.Code
	}{
		{"unknown", []string{"nonsense"}, "'nonsense'", codes.NotFound},
		{"unknown slot", []string{slot(0, 8)}, slot(0, 8), codes.NotFound},
		{"foreign", []string{slot(0, 0), foreign}, foreign, codes.NotFound},
		{"duplicate", []string{slot(1, 2), slot(1, 3), slot(1, 2)}, slot(1, 2),
			codes.InvalidArgument},
		{"too many", tooMany, "33 slots are named, it has 32; slot '" + slot(0, 8) + "'",
			codes.InvalidArgument},
		{"empty id", []string{""}, "slot ''", codes.NotFound},
	}
	for _, c := range cases {
		_, err := n.allocate(c.ids...)
		equal(t, c.what, status.Code(err), c.code)
		contains(t, fmt.Sprint(err), c.name)
	}
	equal(t, "preferred afterwards", n.preferred(all, nil, 3), before)
	n.running(pod("all", want("main", 8)))
}

func TestIDsOfAnotherResourceAreRefusedByName(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serveTwoResources()
	_, err := n.allocate(slot(0, 0), slot(2, 0))
	equal(t, "code", status.Code(err), codes.NotFound)
	contains(t, fmt.Sprint(err), "'"+slot(2, 0)+"' does not belong to "+vgpu)
	_, err = n.allocate(slot(0, 0))
	must(t, err)
}

func TestUnhealthyCardIsRefusedByName(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	n.edit(n.machine.withHealth(1, "unhealthy"))
	n.counts(32, 24)
	_, err := n.allocate(slot(1, 0))
	equal(t, "code", status.Code(err), codes.FailedPrecondition)
	contains(t, err.Error(), newDevice(1).UUID)
	_, err = n.allocate(slot(2, 0))
	must(t, err)
}

func TestHeldIDsAreGrantedAgainWhateverTheirOrder(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	first, err := n.allocate(slot(0, 1), slot(0, 2))
	must(t, err)
	again, err := n.allocate(slot(0, 2), slot(0, 1))
	must(t, err)
	for _, key := range []string{"UUID", "DEVICES", "MEMORY_MB", "CORES"} {
		equal(t, key, again.Envs["HAMI_VGPU_"+key], first.Envs["HAMI_VGPU_"+key])
	}
	part, err := n.allocate(slot(0, 2))
	must(t, err)
	equal(t, "a part of held ids", part.Envs["HAMI_VGPU_UUID"], slot(0, 2))
}

func TestPreferredIsExactlyThatManyOnOneCard(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	rng := rand.New(rand.NewSource(1))
	all := n.ids()
	for k := 1; k <= 8; k++ {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got := n.preferred(all, nil, k)
		equal(t, fmt.Sprint(k, " ids"), []int{len(got), distinct(got), len(cards(got))},
			[]int{k, k, 1})
	}
	for _, k := range []int{9, 16, 31, 32} {
		got := n.preferred(all, nil, k)
		equal(t, fmt.Sprint(k, " ids"), []int{len(got), distinct(got)}, []int{k, k})
		equal(t, fmt.Sprint(k, " ids: cards"), len(cards(got)), (k+7)/8)
	}
}

func TestPreferredTakesTheTightestCardThatFits(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	// Card 0 has 2 free, card 1 has 4, cards 2 and 3 have all.
	var free []string
	for card, count := range []int{2, 4, 8, 8} {
		free = append(free, slots(card, count)...)
	}
	for _, c := range []struct{ size, card int }{{1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 2}, {8, 2}} {
		got := n.preferred(free, nil, c.size)
		equal(t, fmt.Sprint(c.size, " ids"), cards(got),
			map[string]int{newDevice(c.card).UUID: c.size})
	}
}

func TestPreferredKeepsMustInclude(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	got := n.preferred(n.ids(), []string{slot(2, 3)}, 3)
	equal(t, "ids", distinct(got), 3)
	equal(t, "cards", cards(got), map[string]int{newDevice(2).UUID: 3})
	contains(t, strings.Join(got, ","), slot(2, 3))
}
