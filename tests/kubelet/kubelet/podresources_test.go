// SPDX-License-Identifier: Apache-2.0

// The podresources service.

package kubelet_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"hami/kubelet"
	"hami/plainplugin"
	"hami/proto/podresources"
)

func (n *node) podResources() podresources.PodResourcesListerClient {
	n.t.Helper()
	conn, err := grpc.DialContext(deadline(n.t), "unix:"+n.cfg.PodResourcesSocket(),
		grpc.WithInsecure(), grpc.WithBlock())
	must(n.t, err)
	n.t.Cleanup(func() { conn.Close() })
	return podresources.NewPodResourcesListerClient(conn)
}

func TestPodResourcesList(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.plain(8)
	side := want("side", 1)
	side.RestartPolicy = "Always"
	n.run(kubelet.PodSpec{Name: "p", Namespace: "ns",
		InitContainers: []kubelet.ContainerSpec{want("i", 1), side},
		Containers:     []kubelet.ContainerSpec{want("main", 2)}})
	n.run(kubelet.PodSpec{Name: "bare", Containers: []kubelet.ContainerSpec{{Name: "main"}}})
	n.pod("failed", 20)
	list, err := n.podResources().List(deadline(t), &podresources.ListPodResourcesRequest{})
	must(t, err)
	equal(t, "pods", len(list.PodResources), 2)
	p := list.PodResources[0]
	equal(t, "pod", p.Namespace+"/"+p.Name, "ns/p")
	equal(t, "containers", len(p.Containers), 2)
	equal(t, "sidecar", p.Containers[0].Name, "side")
	equal(t, "entries, one per device", len(p.Containers[1].Devices), 2)
	equal(t, "ids in an entry", len(p.Containers[1].Devices[0].DeviceIds), 1)
}

func TestPodResourcesListFreesStaleEntries(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.plain(2)
	n.pod("a", 2)
	must(t, n.DeletePod("default", "a"))
	equal(t, "in use before", n.Resource(resource).InUse, 2)
	_, err := n.podResources().List(deadline(t), &podresources.ListPodResourcesRequest{})
	must(t, err)
	equal(t, "in use after", n.Resource(resource).InUse, 0)
}

func TestPodResourcesGetAndAllocatable(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(3)
	n.pod("a", 1)
	list := plainplugin.Devices("dev", 3, -1)
	list[0].Health = "Unhealthy"
	p.SetDevices(list)
	n.counts(3, 2)
	api := n.podResources()
	all, err := api.GetAllocatableResources(deadline(t), &podresources.AllocatableResourcesRequest{})
	must(t, err)
	equal(t, "healthy devices", len(all.Devices), 2)
	one, err := api.Get(deadline(t), &podresources.GetPodResourcesRequest{PodName: "a",
		PodNamespace: "default"})
	must(t, err)
	equal(t, "pod", one.PodResources.Name, "a")
	_, err = api.Get(deadline(t), &podresources.GetPodResourcesRequest{PodName: "x",
		PodNamespace: "y"})
	equal(t, "error", err.Error(),
		"rpc error: code = Unknown desc = pod x in namespace y not found")
}

func TestPodResources120(t *testing.T) {
	n := newNode(t, kubelet.Config{Style: kubelet.Style120})
	n.plain(4)
	n.pod("a", 3)
	api := n.podResources()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := api.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	equal(t, "GetAllocatableResources", status.Code(err), codes.Unimplemented)
	_, err = api.Get(ctx, &podresources.GetPodResourcesRequest{PodName: "a"})
	equal(t, "Get", status.Code(err), codes.Unimplemented)
	list, err := api.List(ctx, &podresources.ListPodResourcesRequest{})
	must(t, err)
	devices := list.PodResources[0].Containers[0].Devices
	equal(t, "entries", len(devices), 1)
	equal(t, "ids in it", len(devices[0].DeviceIds), 3)
}

func TestPodResourcesRateLimit(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	api := n.podResources()
	for i := 0; i < 10000; i++ {
		_, err := api.List(deadline(t), &podresources.ListPodResourcesRequest{})
		if err != nil {
			equal(t, "error", err.Error(),
				"rpc error: code = ResourceExhausted desc = rejected by rate limit")
			equal(t, "the first ten pass", i >= 10, true)
			return
		}
	}
	t.Fatal("10000 calls passed")
}
