// SPDX-License-Identifier: Apache-2.0

// Admission: which ids a container gets, what it is created with, and what fails a pod.

package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"testing"
	"time"

	"hami/kubelet"
	"hami/plainplugin"
	"hami/proto/deviceplugin"
)

func TestOneAllocatePerContainerAndResource(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(8)
	other := n.plugin("plain.test/other")
	other.SetDevices(plainplugin.Devices("other", 2, -1))
	n.register(other)
	both := want("a", 2)
	both.Limits[other.Resource] = 1
	both.Limits["cpu"] = 4 // no plugin serves it
	st := n.run(kubelet.PodSpec{Name: "p", Containers: []kubelet.ContainerSpec{both, want("b", 3)}})
	equal(t, "phase", st.Phase, "Running")
	calls := p.Calls("Allocate")
	equal(t, "Allocate calls", len(calls), 2)
	equal(t, "sizes", []int{len(calls[0].IDs), len(calls[1].IDs)}, []int{2, 3})
	equal(t, "deadline", calls[0].Deadline, time.Duration(0))
	equal(t, "other's calls", len(other.Calls("Allocate")), 1)
	equal(t, "nothing twice", n.Resource(resource).InUse, 5)
}

func TestIDsComeInRandomOrder(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(40)
	n.pod("a", 20)
	list := p.Calls("Allocate")[0].IDs
	if sort.StringsAreSorted(list) {
		t.Fatalf("sorted: %v", list)
	}
}

func TestSeedFixesTheOrder(t *testing.T) {
	var first []string
	for i := 0; i < 2; i++ {
		n := newNode(t, kubelet.Config{Seed: 42})
		p := n.plain(40)
		n.pod("a", 20)
		list := p.Calls("Allocate")[0].IDs
		if i == 1 {
			equal(t, "order", list, first)
		}
		first = list
	}
}

func TestInitContainersDevicesAreReused(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.Options.GetPreferredAllocationAvailable = true
	p.SetDevices(plainplugin.Devices("dev", 3, -1))
	n.register(p)
	st := n.run(kubelet.PodSpec{Name: "p",
		InitContainers: []kubelet.ContainerSpec{want("i", 3)},
		Containers:     []kubelet.ContainerSpec{want("main", 2)}})
	equal(t, "phase", st.Phase, "Running")
	equal(t, "Allocate calls", len(p.Calls("Allocate")), 2)
	equal(t, "preferred calls", len(p.Calls("GetPreferredAllocation")), 1) // the reusable ones suffice
	equal(t, "in use", n.Resource(resource).InUse, 3)
	equal(t, "init container", st.Container("i").State, "Terminated")
	for _, id := range ids(st, "main") {
		contains(t, fmt.Sprint(ids(st, "i")), id)
	}
}

func TestSidecarKeepsWhatItTookFromAnInitContainer(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(3)
	side := want("side", 1)
	side.RestartPolicy = "Always"
	st := n.run(kubelet.PodSpec{Name: "p",
		InitContainers: []kubelet.ContainerSpec{want("i", 3), side},
		Containers:     []kubelet.ContainerSpec{want("main", 2)}})
	equal(t, "phase", st.Phase, "Running")
	equal(t, "Allocate calls", len(p.Calls("Allocate")), 3)
	all := append(ids(st, "side"), ids(st, "main")...)
	sort.Strings(all)
	equal(t, "sidecar and main share the init container's", all, ids(st, "i"))
	equal(t, "sidecar", st.Container("side").State, "Running")
}

func TestMustInclude(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.Options.GetPreferredAllocationAvailable = true
	p.SetDevices(plainplugin.Devices("dev", 6, -1))
	n.register(p)
	st := n.run(kubelet.PodSpec{Name: "p",
		InitContainers: []kubelet.ContainerSpec{want("i", 1)},
		Containers:     []kubelet.ContainerSpec{want("main", 3)}})
	equal(t, "phase", st.Phase, "Running")
	calls := p.Calls("GetPreferredAllocation")
	equal(t, "calls", len(calls), 2)
	req := calls[1].Request
	equal(t, "must include", req.MustIncludeDeviceIDs, ids(st, "i"))
	equal(t, "size", req.AllocationSize, 3)
	equal(t, "available", len(req.AvailableDeviceIDs), 6)
	contains(t, fmt.Sprint(ids(st, "main")), ids(st, "i")[0])
}

func TestDevicesAreFreedInsideTheNextAdmission(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(2)
	first := n.pod("a", 2)
	must(t, n.DeletePod("default", "a"))
	equal(t, "in use after the deletion", n.Resource(resource).InUse, 2)
	cp, err := kubelet.ReadCheckpoint(n.cfg.CheckpointPath())
	must(t, err)
	equal(t, "checkpoint entries after the deletion", len(cp.Data.PodDeviceEntries), 1)
	second := n.pod("b", 2)
	equal(t, "the same ids at once", ids(second, "main"), ids(first, "main"))
	equal(t, "Allocate calls", len(p.Calls("Allocate")), 2)
}

func TestFailedAllocateFailsThePod(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.SetDevices(plainplugin.Devices("dev", 2, -1))
	p.OnAllocate = func([]string) (*deviceplugin.AllocateResponse, error) {
		return nil, errors.New("no such slice")
	}
	n.register(p)
	rejected(t, n.pod("a", 2),
		"due to rpc error: code = Unknown desc = no such slice, which is unexpected")
	equal(t, "in use", n.Resource(resource).InUse, 0)
	p.OnAllocate = func([]string) (*deviceplugin.AllocateResponse, error) {
		return &deviceplugin.AllocateResponse{}, nil
	}
	rejected(t, n.pod("b", 2), "no containers return in allocation response")
}

func TestSecondContainersFailureFreesTheFirstsLater(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.plain(2)
	st := n.run(kubelet.PodSpec{Name: "p",
		Containers: []kubelet.ContainerSpec{want("a", 1), want("b", 2)}})
	rejected(t, st, "Requested: 2, Available: 1")
	equal(t, "phase of the next", n.pod("next", 2).Phase, "Running")
}

func TestSlowAllocateHoldsUpEveryPod(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.SetDevices(plainplugin.Devices("dev", 2, -1))
	hold, entered := make(chan struct{}), make(chan struct{})
	p.OnAllocate = answerThen(func() {
		close(entered)
		<-hold
	})
	n.register(p)
	done := make(chan string, 2)
	go func() {
		st, _ := n.RunPod(kubelet.PodSpec{Name: "slow", Containers: []kubelet.ContainerSpec{
			want("main", 1)}})
		done <- st.Name
	}()
	<-entered
	go func() {
		st, _ := n.RunPod(kubelet.PodSpec{Name: "plain", Containers: []kubelet.ContainerSpec{
			{Name: "main"}}})
		done <- st.Name
	}()
	must(t, n.WaitCondition(deadline(t), "pod", "plain:Pending"))
	close(hold)
	equal(t, "first to end", <-done, "slow")
	equal(t, "then", <-done, "plain")
}

func TestPreStartContainer(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.Options.PreStartRequired = true
	p.SetDevices(plainplugin.Devices("dev", 2, -1))
	fail := true
	p.OnPreStart = func(context.Context, []string) error {
		if fail {
			return errors.New("not now")
		}
		return nil
	}
	n.register(p)
	st := n.pod("a", 2)
	equal(t, "phase", st.Phase, "Pending")
	c := st.Container("main")
	equal(t, "state and reason", c.State+" "+c.Reason, "Waiting CreateContainerConfigError")
	contains(t, c.Message, "device plugin PreStartContainer rpc failed with err: rpc error: "+
		"code = Unknown desc = not now")
	fail = false
	st, err := n.RestartContainer("default", "a", "main")
	must(t, err)
	equal(t, "phase", st.Phase, "Running")
	call := p.Calls("PreStartContainer")[1]
	equal(t, "ids", len(call.IDs), 2)
	if call.Deadline < 25*time.Second || call.Deadline > 30*time.Second {
		t.Fatalf("deadline in %v", call.Deadline)
	}
}

func TestPreStartWhileThePluginIsAway(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.Options.PreStartRequired = true
	p.SetDevices(plainplugin.Devices("dev", 2, -1))
	n.register(p)
	n.pod("a", 1)
	n.pod("b", 1)
	p.Stop()
	n.counts(2, 0)
	st, err := n.RestartContainer("default", "a", "main")
	must(t, err)
	contains(t, st.Container("main").Message, "has been stopped")
	// A restarted kubelet does not know the options and starts the container without the call.
	must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill}))
	st, err = n.RestartContainer("default", "b", "main")
	must(t, err)
	equal(t, "state", st.Container("main").State, "Running")
	equal(t, "calls", len(p.Calls("PreStartContainer")), 2)
}

func TestMergeOfTwoResourcesAndThePodsEnv(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	answer := func(which string) func([]string) (*deviceplugin.AllocateResponse, error) {
		return func([]string) (*deviceplugin.AllocateResponse, error) {
			return &deviceplugin.AllocateResponse{
				ContainerResponses: []*deviceplugin.ContainerAllocateResponse{{
					Envs:        map[string]string{"SHARED": which, "OWN_" + which: "1", "POD": which},
					Annotations: map[string]string{"shared": which},
					Mounts: []*deviceplugin.Mount{{ContainerPath: "/m", HostPath: "/" + which,
						ReadOnly: true}},
					Devices: []*deviceplugin.DeviceSpec{{ContainerPath: "/dev/x",
						HostPath: "/dev/" + which, Permissions: "rw"}},
					CdiDevices: []*deviceplugin.CDIDevice{{Name: "v/c=" + which}},
				}}}, nil
		}
	}
	for _, which := range []string{"one", "two"} {
		p := n.plugin("plain.test/" + which)
		p.SetDevices(plainplugin.Devices(which, 8, -1))
		p.OnAllocate = answer(which)
		n.register(p)
	}
	winners := map[string]int{}
	for i := 0; i < 40 && len(winners) < 2; i++ {
		name := fmt.Sprint("p", i)
		st := n.run(kubelet.PodSpec{Name: name, Containers: []kubelet.ContainerSpec{{Name: "main",
			Limits: map[string]int{"plain.test/one": 1, "plain.test/two": 1},
			Env:    map[string]string{"POD": "mine"}}}})
		equal(t, "phase", st.Phase, "Running")
		v := st.Container("main").View
		won := v.Env["SHARED"]
		winners[won]++
		equal(t, "env", []string{v.Env["OWN_one"], v.Env["OWN_two"], v.Env["POD"]},
			[]string{"1", "1", "mine"})
		equal(t, "annotation", v.Annotations["shared"], won)
		equal(t, "mounts", v.Mounts, []kubelet.Mount{{Container: "/m", Host: "/" + won, ReadOnly: true}})
		equal(t, "devices", v.Devices, []kubelet.DeviceNode{{Container: "/dev/x",
			Host: "/dev/" + won, Permissions: "rw"}})
		equal(t, "cdi devices", len(v.CDIDevices), 2)
		equal(t, "conflicts", len(v.Conflicts), 5)
		must(t, n.DeletePod("default", name))
	}
	equal(t, "either may be first", len(winners), 2)
}
