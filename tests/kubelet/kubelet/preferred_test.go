// SPDX-License-Identifier: Apache-2.0

// GetPreferredAllocation and how its answer is treated.

package kubelet_test

import (
	"errors"
	"testing"
	"time"

	"hami/kubelet"
	"hami/plainplugin"
	"hami/proto/deviceplugin"
)

type prefRequest = deviceplugin.ContainerPreferredAllocationRequest
type prefReply = deviceplugin.PreferredAllocationResponse

// wishing registers a plugin of 6 devices that answers GetPreferredAllocation by fn.
func wishing(t *testing.T, fn func(*prefRequest) (*prefReply, error)) (*node, *plainplugin.Plugin) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.Options.GetPreferredAllocationAvailable = true
	p.OnPreferred = fn
	p.SetDevices(plainplugin.Devices("dev", 6, -1))
	n.register(p)
	return n, p
}

func TestPreferredIsFollowed(t *testing.T) {
	n, p := wishing(t, func(*prefRequest) (*prefReply, error) {
		return plainplugin.Preferred("dev-04", "dev-01"), nil
	})
	equal(t, "ids", ids(n.pod("a", 2), "main"), []string{"dev-01", "dev-04"})
	equal(t, "deadline", p.Calls("GetPreferredAllocation")[0].Deadline, time.Duration(0))
}

func TestPreferredIsAskedEvenIfAllAreNeeded(t *testing.T) {
	n, p := wishing(t, nil)
	n.pod("a", 6)
	equal(t, "calls", len(p.Calls("GetPreferredAllocation")), 1)
}

func TestPreferredTooShortIsFilledUp(t *testing.T) {
	n, _ := wishing(t, func(*prefRequest) (*prefReply, error) {
		return plainplugin.Preferred("dev-04"), nil
	})
	got := ids(n.pod("a", 3), "main")
	equal(t, "amount", len(got), 3)
	equal(t, "the wish is in", newIDs(got)["dev-04"], true)
}

func newIDs(list []string) map[string]bool {
	set := map[string]bool{}
	for _, id := range list {
		set[id] = true
	}
	return set
}

func TestPreferredTooLongIsCutAtRandom(t *testing.T) {
	seen := map[string]bool{}
	n, _ := wishing(t, func(*prefRequest) (*prefReply, error) {
		return plainplugin.Preferred("dev-00", "dev-01", "dev-02"), nil
	})
	for i := 0; i < 50 && len(seen) < 3; i++ {
		id := ids(n.pod("a", 1), "main")[0]
		if id > "dev-02" {
			t.Fatalf("%s was not wished for", id)
		}
		seen[id] = true
		must(t, n.DeletePod("default", "a"))
	}
	equal(t, "different ids", len(seen), 3)
}

func TestPreferredOutsideIsIgnored(t *testing.T) {
	n, _ := wishing(t, func(*prefRequest) (*prefReply, error) {
		return plainplugin.Preferred("nosuch", "dev-05"), nil
	})
	got := ids(n.pod("a", 2), "main")
	equal(t, "amount", len(got), 2)
	equal(t, "the valid wish is in", newIDs(got)["dev-05"], true)
}

func TestPreferredWithoutResponseIsNoWish(t *testing.T) {
	n, _ := wishing(t, func(*prefRequest) (*prefReply, error) { return &prefReply{}, nil })
	equal(t, "amount", len(ids(n.pod("a", 2), "main")), 2)
}

func TestPreferredErrorFailsThePod(t *testing.T) {
	n, _ := wishing(t, func(*prefRequest) (*prefReply, error) { return nil, errors.New("no idea") })
	rejected(t, n.pod("a", 2), "rpc error: code = Unknown desc = no idea")
}

func TestPreferredAvailableIsShuffledAndFree(t *testing.T) {
	n, p := wishing(t, nil)
	first := ids(n.pod("a", 2), "main")
	n.pod("b", 1)
	req := p.Calls("GetPreferredAllocation")[1].Request
	equal(t, "available", len(req.AvailableDeviceIDs), 4)
	for _, id := range first {
		equal(t, id+" is offered", newIDs(req.AvailableDeviceIDs)[id], false)
	}
}
