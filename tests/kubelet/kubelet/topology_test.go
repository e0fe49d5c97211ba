// SPDX-License-Identifier: Apache-2.0

// Topology Manager hints and policies.

package kubelet_test

import (
	"testing"

	"hami/kubelet"
	"hami/plainplugin"
)

// numaNode registers a plugin with devices on nodes 0 and 1 under a policy.
func numaNode(t *testing.T, policy kubelet.Policy, on0, on1 int) (*node, *plainplugin.Plugin) {
	n := newNode(t, kubelet.Config{TopologyPolicy: policy})
	p := n.plugin(resource)
	p.Options.GetPreferredAllocationAvailable = true
	p.SetDevices(append(plainplugin.Devices("zero", on0, 0), plainplugin.Devices("one", on1, 1)...))
	n.register(p)
	return n, p
}

func TestHintNarrowsThePreferredCall(t *testing.T) {
	n, p := numaNode(t, kubelet.PolicyBestEffort, 4, 4)
	got := ids(n.pod("a", 2), "main")
	req := p.Calls("GetPreferredAllocation")[0].Request
	equal(t, "available", len(req.AvailableDeviceIDs), 4)
	for _, id := range append(req.AvailableDeviceIDs, got...) {
		equal(t, id+" is on node 0", id[:4], "zero")
	}
}

func TestHintOfExactlyAllAlignedIsNotAsked(t *testing.T) {
	n, p := numaNode(t, kubelet.PolicyBestEffort, 4, 4)
	n.pod("a", 4)
	equal(t, "calls", len(p.Calls("GetPreferredAllocation")), 0)
}

func TestPolicyNoneIgnoresTopology(t *testing.T) {
	n, p := numaNode(t, kubelet.PolicyNone, 4, 4)
	n.pod("a", 2)
	equal(t, "available", len(p.Calls("GetPreferredAllocation")[0].Request.AvailableDeviceIDs), 8)
}

func affinityError(t *testing.T, st *kubelet.PodStatus) {
	t.Helper()
	equal(t, "phase", st.Phase, "Failed")
	equal(t, "reason", st.Reason, "TopologyAffinityError")
	equal(t, "message", st.Message,
		"Pod was rejected: Resources cannot be allocated with Topology locality")
}

func TestRestrictedRefusesWhatIsSpreadNeedlessly(t *testing.T) {
	n, _ := numaNode(t, kubelet.PolicyRestricted, 4, 4)
	equal(t, "5 of 4+4 needs both nodes", n.pod("wide", 5).Phase, "Running")
	affinityError(t, n.pod("a", 4)) // one node could hold 4, but none has them free
}

func TestSingleNUMANodeRefusesTwoNodes(t *testing.T) {
	n, _ := numaNode(t, kubelet.PolicySingleNUMA, 4, 4)
	equal(t, "phase", n.pod("a", 4).Phase, "Running")
	affinityError(t, n.pod("b", 5))
	equal(t, "phase", n.pod("c", 4).Phase, "Running")
}

func TestBestEffortTakesWhatThereIs(t *testing.T) {
	n, _ := numaNode(t, kubelet.PolicyBestEffort, 4, 4)
	equal(t, "phase", n.pod("wide", 5).Phase, "Running")
	equal(t, "phase", n.pod("rest", 3).Phase, "Running")
}

func TestDevicesWithoutTopologyNeverSatisfyAHint(t *testing.T) {
	n := newNode(t, kubelet.Config{TopologyPolicy: kubelet.PolicySingleNUMA})
	p := n.plugin(resource)
	p.SetDevices(append(plainplugin.Devices("zero", 1, 0), plainplugin.Devices("none", 4, -1)...))
	n.register(p)
	affinityError(t, n.pod("a", 2))
}

func TestResourceWithoutTopologyTakesNoPart(t *testing.T) {
	n := newNode(t, kubelet.Config{TopologyPolicy: kubelet.PolicySingleNUMA})
	n.plain(4)
	equal(t, "phase", n.pod("a", 4).Phase, "Running")
}

func TestUnknownNUMANodeIsDropped(t *testing.T) {
	n := newNode(t, kubelet.Config{TopologyPolicy: kubelet.PolicySingleNUMA,
		NUMANodes: []int64{0}})
	p := n.plugin(resource)
	p.SetDevices(append(plainplugin.Devices("zero", 1, 0), plainplugin.Devices("nine", 4, 9)...))
	n.register(p)
	affinityError(t, n.pod("a", 2))
	equal(t, "phase", n.pod("b", 1).Phase, "Running")
}

func TestReusableDevicesBindTheHint(t *testing.T) {
	n, _ := numaNode(t, kubelet.PolicySingleNUMA, 4, 8)
	st := n.run(kubelet.PodSpec{Name: "p",
		InitContainers: []kubelet.ContainerSpec{want("i", 1)},
		Containers:     []kubelet.ContainerSpec{want("main", 4)}})
	equal(t, "phase", st.Phase, "Running")
	equal(t, "same node", ids(st, "main")[0][:3], ids(st, "i")[0][:3])
}
