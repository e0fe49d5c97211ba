// SPDX-License-Identifier: Apache-2.0

// This file owns what the stand-in's own tests share: a node in a temporary directory.

package kubelet_test

import (
	"context"
	"fmt"
	"io/ioutil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hami/kubelet"
	"hami/plainplugin"
	"hami/tap"
)

const resource = "plain.test/dev"

func TestMain(m *testing.M) { tap.Main(m) }

type node struct {
	*kubelet.Kubelet
	t   *testing.T
	cfg kubelet.Config

	mu  sync.Mutex
	log []string
}

// newNode starts a stand-in. The directory's name is short: socket paths have 107 bytes.
func newNode(t *testing.T, cfg kubelet.Config) *node {
	t.Helper()
	dir, err := ioutil.TempDir("", "kst")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t}
	cfg.DevicePluginDir = filepath.Join(dir, "dp")
	cfg.RootDir = filepath.Join(dir, "root")
	if cfg.Reconcile == 0 {
		cfg.Reconcile = 10 * time.Millisecond
	}
	cfg.Logf = func(format string, args ...interface{}) {
		n.mu.Lock()
		n.log = append(n.log, fmt.Sprintf(format, args...))
		n.mu.Unlock()
	}
	n.Kubelet, err = kubelet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.cfg = n.Config()
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.Stop(kubelet.Kill)
		os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("stand-in: %s", strings.Join(n.log, "\n  "))
		}
	})
	return n
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// plugin makes a listening plugin that is not registered.
func (n *node) plugin(name string) *plainplugin.Plugin {
	n.t.Helper()
	p := plainplugin.New(name, filepath.Join(n.cfg.DevicePluginDir,
		strings.ReplaceAll(name, "/", "_")+".sock"))
	n.t.Cleanup(p.Stop)
	return p
}

// register serves and registers a plugin and waits for its first list.
func (n *node) register(p *plainplugin.Plugin) {
	n.t.Helper()
	frames := n.Resource(p.Resource).Frames
	must(n.t, p.Serve())
	must(n.t, p.Register(deadline(n.t), n.cfg.Socket()))
	must(n.t, n.WaitResource(deadline(n.t), p.Resource, func(s kubelet.ResourceStatus) bool {
		return s.Frames > frames
	}))
}

// plain registers a plugin of count devices without topology.
func (n *node) plain(count int) *plainplugin.Plugin {
	n.t.Helper()
	p := n.plugin(resource)
	p.SetDevices(plainplugin.Devices("dev", count, -1))
	n.register(p)
	return p
}

// counts waits for a capacity and allocatable.
func (n *node) counts(capacity, allocatable int) {
	n.t.Helper()
	must(n.t, n.WaitResource(deadline(n.t), resource, func(s kubelet.ResourceStatus) bool {
		return s.Capacity == capacity && s.Allocatable == allocatable
	}))
}

// pod runs a pod of one container that wants amount of the resource.
func (n *node) pod(name string, amount int) *kubelet.PodStatus {
	n.t.Helper()
	return n.run(kubelet.PodSpec{Name: name, Containers: []kubelet.ContainerSpec{
		want("main", amount)}})
}

func (n *node) run(spec kubelet.PodSpec) *kubelet.PodStatus {
	n.t.Helper()
	st, err := n.RunPod(spec)
	must(n.t, err)
	return st
}

func want(name string, amount int) kubelet.ContainerSpec {
	return kubelet.ContainerSpec{Name: name, Limits: map[string]int{resource: amount}}
}

func ids(st *kubelet.PodStatus, container string) []string {
	return st.Container(container).IDs[resource]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want interface{}) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q does not contain %q", text, part)
	}
}

func rejected(t *testing.T, st *kubelet.PodStatus, part string) {
	t.Helper()
	equal(t, "phase", st.Phase, "Failed")
	equal(t, "reason", st.Reason, "UnexpectedAdmissionError")
	contains(t, st.Message, "Pod was rejected: Allocate failed due to ")
	contains(t, st.Message, part)
	contains(t, st.Message, ", which is unexpected")
}
