// SPDX-License-Identifier: Apache-2.0

// The Register call, and two plugins that claim one resource.

package kubelet_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"hami/kubelet"
	"hami/plainplugin"
	"hami/proto/deviceplugin"
)

func TestRegisterDialsBackBeforeItAnswers(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	must(t, p.Serve())
	must(t, p.Register(deadline(t), n.cfg.Socket()))
	calls := p.Calls("GetDevicePluginOptions")
	equal(t, "GetDevicePluginOptions calls when Register returned", len(calls), 1)
	equal(t, "authority", calls[0].Authority, "localhost")
}

func TestRegisterWithoutListenerFailsAtTheDialTimeout(t *testing.T) {
	n := newNode(t, kubelet.Config{DialTimeout: 100 * time.Millisecond})
	p := n.plugin(resource)
	start := time.Now()
	err := p.Register(deadline(t), n.cfg.Socket())
	if err == nil || time.Since(start) < 100*time.Millisecond {
		t.Fatalf("Register: %v after %v", err, time.Since(start))
	}
	contains(t, err.Error(), "code = Unknown")
	contains(t, err.Error(), "failed to dial device plugin: context deadline exceeded")
}

func TestRegisterDeadlineCutsTheDialBack(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := p.Register(ctx, n.cfg.Socket()); err == nil {
		t.Fatal("registered without a listener")
	}
	must(t, n.WaitResource(deadline(t), resource, func(s kubelet.ResourceStatus) bool {
		return s.Registers == 1
	}))
	equal(t, "registrations", n.Resource(resource).Registrations, 0)
}

func TestRegister120AnswersAtOnceAndDialsLater(t *testing.T) {
	n := newNode(t, kubelet.Config{Style: kubelet.Style120})
	p := n.plugin(resource)
	p.Options.PreStartRequired = true
	p.SetDevices(plainplugin.Devices("dev", 2, -1))
	must(t, p.Register(deadline(t), n.cfg.Socket())) // nobody listens yet
	must(t, p.Serve())
	n.counts(2, 2)
	equal(t, "GetDevicePluginOptions calls", len(p.Calls("GetDevicePluginOptions")), 0)
	equal(t, "options of the request", n.Resource(resource).PreStart, true)
	equal(t, "authority", p.Calls("ListAndWatch")[0].Authority, p.Path)
}

func TestOptionsComeFromTheCallIn136(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.Options = &deviceplugin.DevicePluginOptions{GetPreferredAllocationAvailable: true}
	n.register(p)
	equal(t, "preferred", n.Resource(resource).Preferred, true)
}

func TestRegisterChecksVersionAndName(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	must(t, p.Serve())
	err := p.RegisterAs(deadline(t), n.cfg.Socket(), "v1alpha9", resource)
	if err == nil {
		t.Fatal("version accepted")
	}
	contains(t, err.Error(), `requested API version "v1alpha9" is not supported by kubelet. `+
		`Supported version is ["v1beta1"]`)
	for _, name := range []string{"vgpu", "kubernetes.io/x", "requests.foo/x", "hami.com/",
		"a.b/c/d", "Hami.com/x", "x/" + strings.Repeat("n", 64), "", "/x", "a.b/-x"} {
		if p.RegisterAs(deadline(t), n.cfg.Socket(), "v1beta1", name) == nil {
			t.Errorf("%q accepted", name)
		}
	}
	for _, name := range []string{"hami.com/vGPU_1.x", "8.8.8.8/x", "x/" + strings.Repeat("n", 60)} {
		if err := p.RegisterAs(deadline(t), n.cfg.Socket(), "v1beta1", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNewestRegistrationWins(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.plain(2)
	q := plainplugin.New(resource, n.cfg.DevicePluginDir+"/second.sock")
	t.Cleanup(q.Stop)
	q.SetDevices(plainplugin.Devices("new", 3, -1))
	n.register(q)
	n.counts(3, 3)
	st := n.pod("a", 1)
	equal(t, "phase", st.Phase, "Running")
	equal(t, "Allocate calls at the newest", len(q.Calls("Allocate")), 1)
}

// secondWhileFirst registers a second plugin beside the first and ends the first's stream.
func secondWhileFirst(t *testing.T, style kubelet.Style) (*node, *plainplugin.Plugin) {
	n := newNode(t, kubelet.Config{Style: style})
	p := n.plain(2)
	q := plainplugin.New(resource, n.cfg.DevicePluginDir+"/second.sock")
	t.Cleanup(q.Stop)
	q.SetDevices(plainplugin.Devices("new", 3, -1))
	n.register(q)
	must(t, n.WaitCondition(deadline(t), "live", resource+":2"))
	p.DropStreams()
	return n, q
}

func TestOldStreamsEndDisconnectsTheNewPluginIn136(t *testing.T) {
	n, q := secondWhileFirst(t, kubelet.Style136)
	n.counts(3, 0)
	must(t, n.WaitCondition(deadline(t), "live", resource+":0"))
	n.register(q)
	n.counts(3, 3)
}

func TestOldStreamsEndLeavesTheNewPluginAloneIn120(t *testing.T) {
	n, _ := secondWhileFirst(t, kubelet.Style120)
	must(t, n.WaitCondition(deadline(t), "live", resource+":1"))
	n.counts(3, 3)
}

func TestOldStreamStillDeliversLists(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(2)
	q := plainplugin.New(resource, n.cfg.DevicePluginDir+"/second.sock")
	t.Cleanup(q.Stop)
	n.register(q)
	p.SetDevices(plainplugin.Devices("old", 5, -1))
	n.counts(5, 5)
}

func TestListenDelayRefusesFirst(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, n.SetFault("listen-delay", "300ms", 0))
	must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill}))
	conn, err := net.Dial("unix", n.cfg.Socket())
	if err == nil {
		conn.Close()
		t.Fatal("a bound socket that does not listen took a connection")
	}
	contains(t, err.Error(), "connection refused")
	n.plain(1) // waits for the connection inside gRPC
	n.counts(1, 1)
}
