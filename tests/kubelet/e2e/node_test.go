// SPDX-License-Identifier: Apache-2.0

// This file owns a test's node: temporary directory, stand-in, machine file, daemon.

package e2e

import (
	"context"
	"io/ioutil"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"hami/kubelet"
	"hami/proto/deviceplugin"
)

type node struct {
	*kubelet.Kubelet
	t       *testing.T
	dir     string
	cfg     kubelet.Config
	machine *machine
	d       *daemon
	log     *lockedLog
}

// newNode starts a stand-in and writes the machine's file. The directory's name is short, since a
// socket's path has 107 bytes.
func newNode(t *testing.T, cfg kubelet.Config) *node {
	t.Helper()
	if os.Getenv("HAMI_DP") == "" {
		t.Skip("HAMI_DP does not name hami-dp")
	}
	dir, err := ioutil.TempDir("", "e2e")
	must(t, err)
	n := &node{t: t, dir: dir, machine: newMachine(4), log: &lockedLog{}}
	cfg.DevicePluginDir = filepath.Join(dir, "dp")
	cfg.RootDir = filepath.Join(dir, "kubelet")
	if cfg.Reconcile == 0 {
		cfg.Reconcile = 20 * time.Millisecond
	}
	cfg.Logf = n.log.add
	n.Kubelet, err = kubelet.New(cfg)
	must(t, err)
	n.cfg = n.Config()
	must(t, n.Start())
	n.machine.save(t, n.file())
	t.Cleanup(func() {
		n.Stop(kubelet.Kill)
		os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("stand-in:\n%s", n.log.tail(60))
		}
	})
	return n
}

func (n *node) file() string { return filepath.Join(n.dir, "machine.json") }

func (n *node) socket() string { return filepath.Join(n.cfg.DevicePluginDir, "hami.com_vgpu.sock") }

// args are the flags of every daemon; more replaces those of the same name.
func (n *node) args(more ...string) []string {
	given := strings.Join(more, " ") + " "
	list := more
	for _, arg := range []string{
		"--driver=sim:" + n.file(),
		"--device-plugin-dir=" + n.cfg.DevicePluginDir,
		"--kubelet-root-dir=" + n.cfg.RootDir,
		"--state-dir=" + filepath.Join(n.dir, "state"),
		"--run-dir=" + filepath.Join(n.dir, "run"),
		"--cores-per-device=8", "--memory-mb-per-core=5120", "--v=4"} {
		if !strings.Contains(given, arg[:strings.Index(arg, "=")+1]) {
			list = append(list, arg)
		}
	}
	return list
}

// start starts the daemon without waiting for anything.
func (n *node) start(more ...string) *daemon {
	n.t.Helper()
	return n.startWith(nil, nil, more...)
}

// startWith starts it with an environment and behind another program, such as a shell's exec.
func (n *node) startWith(env, before []string, more ...string) *daemon {
	n.t.Helper()
	for _, dir := range []string{"state", "run"} {
		must(n.t, os.MkdirAll(filepath.Join(n.dir, dir), 0o755))
	}
	before = append(append([]string{}, before...), os.Getenv("HAMI_DP"))
	n.d = startCommand(n.t, env, append(before, n.args(more...)...)...)
	return n.d
}

// serve starts the daemon and waits until the kubelet has the four cards' 32 slots.
func (n *node) serve(more ...string) *daemon {
	n.t.Helper()
	n.start(more...)
	n.counts(32, 32)
	return n.d
}

func (n *node) counts(capacity, allocatable int) {
	n.t.Helper()
	must(n.t, n.WaitResource(within(n.t, patience), vgpu, func(s kubelet.ResourceStatus) bool {
		return s.Capacity == capacity && s.Allocatable == allocatable && s.LiveStreams == 1
	}))
}

// edit replaces the machine's file.
func (n *node) edit(m *machine) {
	n.t.Helper()
	m.save(n.t, n.file())
}

func (n *node) run(spec kubelet.PodSpec) *kubelet.PodStatus {
	n.t.Helper()
	st, err := n.RunPod(spec)
	must(n.t, err)
	return st
}

// running runs a pod that must be admitted.
func (n *node) running(spec kubelet.PodSpec) *kubelet.PodStatus {
	n.t.Helper()
	st := n.run(spec)
	if st.Phase != "Running" {
		n.t.Fatalf("pod %s: %s %s: %s", st.Name, st.Phase, st.Reason, st.Message)
	}
	return st
}

// ids lists what the kubelet knows, sorted.
func (n *node) ids() []string {
	var list []string
	for _, d := range n.Devices(vgpu) {
		list = append(list, d.ID)
	}
	sort.Strings(list)
	return list
}

// plugin is a client of the daemon's own socket, beside the kubelet's.
func (n *node) plugin() deviceplugin.DevicePluginClient {
	n.t.Helper()
	conn, err := grpc.DialContext(within(n.t, patience), "unix:"+n.socket(), grpc.WithInsecure(),
		grpc.WithBlock())
	must(n.t, err)
	n.t.Cleanup(func() { conn.Close() })
	return deviceplugin.NewDevicePluginClient(conn)
}

// allocateBy asks for one container.
func allocateBy(ctx context.Context, client deviceplugin.DevicePluginClient, ids ...string) (
	*deviceplugin.AllocateResponse, error) {
	return client.Allocate(ctx, &deviceplugin.AllocateRequest{
		ContainerRequests: []*deviceplugin.ContainerAllocateRequest{{DevicesIds: ids}}})
}

func (n *node) allocate(ids ...string) (*deviceplugin.ContainerAllocateResponse, error) {
	n.t.Helper()
	resp, err := allocateBy(within(n.t, patience), n.plugin(), ids...)
	if err != nil {
		return nil, err
	}
	equal(n.t, "container responses", len(resp.ContainerResponses), 1)
	return resp.ContainerResponses[0], nil
}

func (n *node) preferred(available, must []string, size int) []string {
	n.t.Helper()
	resp, err := n.plugin().GetPreferredAllocation(within(n.t, patience),
		&deviceplugin.PreferredAllocationRequest{
			ContainerRequests: []*deviceplugin.ContainerPreferredAllocationRequest{{
				AvailableDeviceIDs: available, MustIncludeDeviceIDs: must,
				AllocationSize: int32(size)}}})
	if err != nil {
		n.t.Fatal(err)
	}
	equal(n.t, "container responses", len(resp.ContainerResponses), 1)
	return resp.ContainerResponses[0].DeviceIDs
}

// cards says on which cards the ids lie.
func cards(ids []string) map[string]int {
	on := map[string]int{}
	for _, id := range ids {
		on[strings.Split(id, "::")[0]]++
	}
	return on
}

func distinct(ids []string) int {
	set := map[string]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return len(set)
}
