// SPDX-License-Identifier: Apache-2.0

// This file owns the podresources service.

package kubelet

import (
	"context"
	"fmt"
	"os"
	"sort"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"hami/proto/podresources"
)

type podResources struct{ run *run }

func (r *run) servePodResources() error {
	server := grpc.NewServer(rateLimit())
	podresources.RegisterPodResourcesListerServer(server, &podResources{r})
	path := r.k.cfg.PodResourcesSocket()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	s := newService(path, server)
	r.k.mu.Lock()
	r.podres = s
	r.k.mu.Unlock()
	return s.listen(0)
}

// List shows active pods, those without devices too, without plain init containers.
func (s *podResources) List(context.Context, *podresources.ListPodResourcesRequest) (
	*podresources.ListPodResourcesResponse, error) {
	k := s.run.k
	k.mu.Lock()
	defer k.mu.Unlock()
	s.run.releaseStaleLocked()
	var list []*pod
	for _, p := range k.pods {
		if p.active() {
			list = append(list, p)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].seq < list[j].seq })
	resp := &podresources.ListPodResourcesResponse{}
	for _, p := range list {
		resp.PodResources = append(resp.PodResources, s.run.podResourcesLocked(p))
	}
	return resp, nil
}

// Get shows one pod.
func (s *podResources) Get(_ context.Context, req *podresources.GetPodResourcesRequest) (
	*podresources.GetPodResourcesResponse, error) {
	k := s.run.k
	if k.cfg.Style == Style120 {
		return nil, status.Error(codes.Unimplemented, "unknown method Get")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[req.PodNamespace+"/"+req.PodName]
	if p == nil || !p.active() {
		return nil, fmt.Errorf("pod %s in namespace %s not found", req.PodName, req.PodNamespace)
	}
	s.run.releaseStaleLocked()
	return &podresources.GetPodResourcesResponse{PodResources: s.run.podResourcesLocked(p)}, nil
}

// GetAllocatableResources shows the healthy devices, allocated or not.
func (s *podResources) GetAllocatableResources(context.Context,
	*podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	r := s.run
	if r.k.cfg.Style == Style120 {
		return nil, status.Error(codes.Unimplemented, "unknown method GetAllocatableResources")
	}
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	resp := &podresources.AllocatableResourcesResponse{}
	for name, res := range r.resources {
		resp.Devices = append(resp.Devices, r.containerDevices(name, r.byNUMA(name, res.healthy))...)
	}
	return resp, nil
}

func (r *run) podResourcesLocked(p *pod) *podresources.PodResources {
	out := &podresources.PodResources{Name: p.name, Namespace: p.namespace}
	for _, c := range p.containers {
		if c.kind == kindInit {
			continue
		}
		cr := &podresources.ContainerResources{Name: c.name}
		for name, a := range r.podDevices[p.uid][c.name] {
			cr.Devices = append(cr.Devices, r.containerDevices(name, a.numa)...)
		}
		out.Containers = append(out.Containers, cr)
	}
	return out
}

// containerDevices makes one entry per device and NUMA node; 1.20 grouped the ids.
func (r *run) containerDevices(name string, numa map[int64][]string) []*podresources.ContainerDevices {
	var out []*podresources.ContainerDevices
	for node, ids := range numa {
		var topology *podresources.TopologyInfo
		if node >= 0 {
			topology = &podresources.TopologyInfo{Nodes: []*podresources.NUMANode{{ID: node}}}
		}
		if r.k.cfg.Style == Style120 {
			out = append(out, &podresources.ContainerDevices{ResourceName: name, DeviceIds: ids})
			continue
		}
		for _, id := range ids {
			out = append(out, &podresources.ContainerDevices{ResourceName: name,
				DeviceIds: []string{id}, Topology: topology})
		}
	}
	return out
}
