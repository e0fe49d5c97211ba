// SPDX-License-Identifier: Apache-2.0

// What a container gets.

package e2e

import (
	"fmt"
	"io/ioutil"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"

	"hami/kubelet"
)

var grantID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// hamiEnv returns the daemon's own variables of a container.
func hamiEnv(v *kubelet.View) map[string]string {
	env := map[string]string{}
	for key, value := range v.Env {
		if strings.HasPrefix(key, "HAMI_") {
			env[key] = value
		}
	}
	return env
}

func TestArticlesNodeHas32Slots(t *testing.T) {
	for _, style := range []kubelet.Style{kubelet.Style136, kubelet.Style120} {
		n := newNode(t, kubelet.Config{Style: style})
		n.serve("--driver=sim:article")
		equal(t, "ids", distinct(n.ids()), 32)
		equal(t, "cards", len(cards(n.ids())), 4)
		equal(t, "preferred is offered", n.Resource(vgpu).Preferred, true)
		equal(t, "pre start is not", n.Resource(vgpu).PreStart, false)
		n.running(pod("a", want("main", 2)))
		n.d.terminate()
	}
}

func TestPodOfTwoGetsExactlyItsSlice(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	c := n.running(pod("a", want("main", 2))).Container("main")
	ids := c.IDs[vgpu]
	on := cards(ids)
	equal(t, "cards", len(on), 1)
	uuid := strings.Split(ids[0], "::")[0]
	env := hamiEnv(c.View)
	if !grantID.MatchString(env["HAMI_VGPU_GRANT"]) {
		t.Fatalf("HAMI_VGPU_GRANT=%q", env["HAMI_VGPU_GRANT"])
	}
	delete(env, "HAMI_VGPU_GRANT")
	equal(t, "env", env, map[string]string{
		"HAMI_VGPU_UUID":      strings.Join(ids, ","),
		"HAMI_VGPU_DEVICES":   uuid,
		"HAMI_VGPU_MEMORY_MB": "10240",
		"HAMI_VGPU_CORES":     "25",
	})
	var minor int
	for _, dev := range n.machine.Devices {
		if dev.UUID == uuid {
			minor = dev.Minor
		}
	}
	equal(t, "device nodes", c.View.Devices, []kubelet.DeviceNode{
		{Container: fmt.Sprintf("/dev/hamivgpu%d", minor), Host: "/dev/null", Permissions: "rw"}})
	equal(t, "mounts", c.View.Mounts, []kubelet.Mount{{Container: "/usr/lib/libhami-e2e.so",
		Host: "/usr/lib/libhami-e2e.so", ReadOnly: true}})
	equal(t, "cdi devices", len(c.View.CDIDevices), 0)
}

func TestInitContainersAndSidecarsShareDevices(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	side := want("side", 1)
	side.RestartPolicy = "Always"
	st := n.running(kubelet.PodSpec{Name: "a",
		InitContainers: []kubelet.ContainerSpec{want("init", 3), side},
		Containers:     []kubelet.ContainerSpec{want("main", 2)}})
	all := append(append([]string{}, st.Container("side").IDs[vgpu]...),
		st.Container("main").IDs[vgpu]...)
	sort.Strings(all)
	equal(t, "sidecar and main together", all, st.Container("init").IDs[vgpu])
	for _, c := range st.Containers {
		equal(t, c.Name, c.View.Env["HAMI_VGPU_UUID"], strings.Join(c.IDs[vgpu], ","))
	}
}

func TestMainTakesMoreThanItsInitContainerOnTheSameCard(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	st := n.running(kubelet.PodSpec{Name: "a",
		InitContainers: []kubelet.ContainerSpec{want("init", 1)},
		Containers:     []kubelet.ContainerSpec{want("main", 5)}})
	ids := st.Container("main").IDs[vgpu]
	equal(t, "cards", len(cards(ids)), 1)
	contains(t, strings.Join(ids, ","), st.Container("init").IDs[vgpu][0])
}

// config writes a configuration file and returns the flag for it.
func (n *node) config(text string) string {
	n.t.Helper()
	file := filepath.Join(n.dir, "hami-dp.yaml")
	must(n.t, ioutil.WriteFile(file, []byte("version: 1\n"+text), 0o644))
	return "--config=" + file
}

// serveTwoResources serves cards 0 and 1, and as another resource cards 2 and 3.
func (n *node) serveTwoResources() {
	n.t.Helper()
	n.start(n.config("resources:\n" +
		"  - name: hami.com/vgpu\n    devices:\n      - index: 0\n      - index: 1\n" +
		"  - name: hami.com/vgpu-b\n    devices:\n      - index: 2\n      - index: 3\n"))
	n.counts(16, 16)
	must(n.t, n.WaitCondition(within(n.t, patience), "allocatable", "hami.com/vgpu-b:16"))
}

// Nothing of one grant may take the place of the other's: each is there as if it were alone.
func TestTwoResourcesInOneContainer(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serveTwoResources()
	c := n.running(pod("a", kubelet.ContainerSpec{Name: "main",
		Limits: map[string]int{vgpu: 2, "hami.com/vgpu-b": 3}})).Container("main")
	equal(t, "conflicts", len(c.View.Conflicts), 0)
	equal(t, "overridden", len(c.View.Overridden), 0)
	env := hamiEnv(c.View)
	for _, g := range []struct{ prefix, resource, memory, cores string }{
		{"HAMI_VGPU", vgpu, "10240", "25"}, {"HAMI_VGPU_B", "hami.com/vgpu-b", "15360", "37.5"}} {
		ids := c.IDs[g.resource]
		equal(t, g.prefix+"_UUID", env[g.prefix+"_UUID"], strings.Join(ids, ","))
		equal(t, g.prefix+"_DEVICES", env[g.prefix+"_DEVICES"], strings.Split(ids[0], "::")[0])
		equal(t, g.prefix+"_MEMORY_MB", env[g.prefix+"_MEMORY_MB"], g.memory)
		equal(t, g.prefix+"_CORES", env[g.prefix+"_CORES"], g.cores)
		equal(t, g.prefix+"_GRANT", grantID.MatchString(env[g.prefix+"_GRANT"]), true)
	}
	equal(t, "variables", len(env), 10)
	if env["HAMI_VGPU_GRANT"] == env["HAMI_VGPU_B_GRANT"] {
		t.Error("one grant for both")
	}
	equal(t, "device nodes", len(c.View.Devices), 2)
}

func TestFiftyPodsEachOwnWhatTheirIDsSay(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.machine = newMachine(10)
	n.edit(n.machine)
	n.start()
	n.counts(80, 80)
	for round := 0; round < 2; round++ {
		var wg sync.WaitGroup
		for i := 0; i < 50; i++ {
			wg.Add(1)
			go func(i int) {
				defer wg.Done()
				n.RunPod(pod(fmt.Sprint("p", i), want("main", 1+i%2))) // some exist already
			}(i)
		}
		wg.Wait()
		owner := map[string]string{}
		grants := map[string]bool{}
		for _, p := range n.Pods() {
			equal(t, p.Name+" "+p.Message, p.Phase, "Running")
			c := p.Container("main")
			equal(t, p.Name, c.View.Env["HAMI_VGPU_UUID"], strings.Join(c.IDs[vgpu], ","))
			grants[c.View.Env["HAMI_VGPU_GRANT"]] = true
			for _, id := range c.IDs[vgpu] {
				equal(t, id+" is also owned by", owner[id], "")
				owner[id] = p.Name
			}
		}
		equal(t, "grants", len(grants), 50)
		for i := 0; i < 50; i += 3 {
			must(t, n.DeletePod("default", fmt.Sprint("p", i)))
		}
	}
}
