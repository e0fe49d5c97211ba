// SPDX-License-Identifier: Apache-2.0

// Lists, broken streams, and the faults that tests may order.

package kubelet_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"hami/kubelet"
	"hami/plainplugin"
)

func TestBrokenStreamTakesAllocatableFirstAndCapacityAfterTheGrace(t *testing.T) {
	n := newNode(t, kubelet.Config{StopGrace: 300 * time.Millisecond})
	p := n.plain(4)
	p.DropStreams()
	n.counts(4, 0)
	for _, d := range n.Devices(resource) {
		equal(t, d.ID, d.Health, "Unhealthy")
	}
	n.counts(0, 0)
}

func TestStoppedEndpointRefusesAllocate(t *testing.T) {
	n := newNode(t, kubelet.Config{Style: kubelet.Style120})
	p := n.plain(1)
	// The plugin dies between the two calls: the reused device is not checked again.
	other := n.plugin("plain.test/other")
	other.SetDevices(plainplugin.Devices("other", 1, -1))
	other.OnAllocate = answerThen(func() {
		p.DropStreams()
		n.counts(1, 0)
	})
	n.register(other)
	rejected(t, n.run(kubelet.PodSpec{Name: "a",
		InitContainers: []kubelet.ContainerSpec{want("i", 1)},
		Containers: []kubelet.ContainerSpec{
			{Name: "b", Limits: map[string]int{other.Resource: 1}}, want("main", 1)}}),
		"endpoint "+p.Path+" has been stopped")
}

func TestMessageOver4MiBDisconnects(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(1)
	p.SetDevices(plainplugin.Devices(strings.Repeat("x", 5000), 1000, -1))
	n.counts(1, 0)
	must(t, n.WaitCondition(deadline(t), "live", resource+":0"))
}

func TestHealthAndRemoval(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(3)
	st := n.pod("a", 1)
	held := ids(st, "main")[0]
	list := plainplugin.Devices("dev", 3, -1)
	for _, dev := range list {
		if dev.ID == held {
			dev.Health = "Unhealthy"
		}
	}
	p.SetDevices(list)
	n.counts(3, 2)
	equal(t, "the pod keeps an unhealthy device", ids(n.status("a"), "main"), []string{held})
	rejected(t, n.pod("b", 3), "requested number of devices unavailable for "+resource+
		". Requested: 3, Available: 2")

	list = plainplugin.Devices("dev", 3, -1)
	for i, dev := range list {
		if dev.ID == held {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	p.SetDevices(list)
	n.counts(2, 2)
	equal(t, "the pod keeps a removed device", ids(n.status("a"), "main"), []string{held})
	p.SetDevices(plainplugin.Devices("dev", 3, -1))
	n.counts(3, 3)
	rejected(t, n.pod("c", 3), "Requested: 3, Available: 2") // it is still that pod's
}

func TestOtherHealthWordsAreUnhealthy(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(3)
	list := plainplugin.Devices("dev", 3, -1)
	list[0].Health, list[1].Health = "healthy", ""
	p.SetDevices(list)
	n.counts(3, 1)
}

func TestFrameHistoryAndCounters(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(3)
	p.SetDevices(plainplugin.Devices("dev", 2, -1))
	n.counts(2, 2)
	frames := n.Frames(resource)
	equal(t, "frames", len(frames), 2)
	equal(t, "devices of the second", frames[1].Devices, 2)
	if frames[1].Time.Before(frames[0].Time) || frames[0].Bytes == 0 {
		t.Fatalf("frames: %+v", frames)
	}
	st := n.Resource(resource)
	equal(t, "counters", []int{st.Registers, st.Registrations, st.Streams, st.LiveStreams},
		[]int{1, 1, 1, 1})
}

func TestFaultResetsTheFirstStream(t *testing.T) {
	for _, kind := range []string{"reset", "cut"} {
		n := newNode(t, kubelet.Config{})
		must(t, n.SetFault("stream", kind, 1))
		p := n.plugin(resource)
		p.SetDevices(plainplugin.Devices("dev", 2, -1))
		must(t, p.Serve())
		must(t, p.Register(deadline(t), n.cfg.Socket()))
		must(t, n.WaitResource(deadline(t), resource, func(s kubelet.ResourceStatus) bool {
			return s.Streams == 1 && s.LiveStreams == 0
		}))
		equal(t, kind+": frames", n.Resource(resource).Frames, 0)
		n.register(p)
		n.counts(2, 2)
	}
}

func TestFaultLeavesTheStreamUnread(t *testing.T) {
	for _, kind := range []string{"unread", "ignore"} {
		n := newNode(t, kubelet.Config{})
		must(t, n.SetFault("stream", kind, 1))
		p := n.plugin(resource)
		p.SetDevices(plainplugin.Devices("dev", 2, -1))
		must(t, p.Serve())
		must(t, p.Register(deadline(t), n.cfg.Socket()))
		must(t, p.WaitCalls(deadline(t), "ListAndWatch", 1))
		must(t, n.WaitCondition(deadline(t), "live", resource+":1"))
		equal(t, kind+": frames", n.Resource(resource).Frames, 0)
		if kind == "unread" {
			n.ClearFaults()
			n.counts(2, 2)
		}
	}
}

func TestFaultRefusesOrNeverAnswersRegister(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, n.SetFault("register-error", "not today", 1))
	p := n.plugin(resource)
	must(t, p.Serve())
	err := p.Register(deadline(t), n.cfg.Socket())
	equal(t, "code", status.Code(err), codes.Unknown)
	contains(t, err.Error(), "not today")

	must(t, n.SetFault("mute", "", 0))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	equal(t, "code", status.Code(p.Register(ctx, n.cfg.Socket())), codes.DeadlineExceeded)
	n.ClearFaults()
	n.plain(1)
}

func TestFaultRecreatesTheSocketAfterRegister(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, n.SetFault("recreate-socket", "1ms", 0))
	before := inode(t, n.cfg.Socket())
	n.plain(1)
	waitFile(t, func() bool {
		now, err := inodeOf(n.cfg.Socket())
		return err == nil && now != before
	})
	must(t, n.WaitCondition(deadline(t), "live", resource+":1")) // the old stream lives on
	n.register(n.plugin(resource))

	must(t, n.SetFault("restart-kill", "1ms", 0))
	n.plain(1)
	must(t, n.WaitCondition(deadline(t), "live", resource+":0"))
}
