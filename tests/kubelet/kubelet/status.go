// SPDX-License-Identifier: Apache-2.0

// This file owns the pictures that a caller takes and the conditions it waits for.

package kubelet

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// ResourceStatus is one resource as the node object and the counters show it.
type ResourceStatus struct {
	Name          string `json:"name"`
	Capacity      int    `json:"capacity"`
	Allocatable   int    `json:"allocatable"`
	InUse         int    `json:"in_use"`
	Registers     int    `json:"registers"`     // Register calls, refused ones too
	Registrations int    `json:"registrations"` // accepted, either way
	Streams       int    `json:"streams"`       // ListAndWatch streams ever opened
	LiveStreams   int    `json:"live_streams"`
	Frames        int    `json:"frames"`
	PreStart      bool   `json:"pre_start_required"`
	Preferred     bool   `json:"get_preferred_allocation_available"`
	Endpoint      string `json:"endpoint,omitempty"`
	Stopped       bool   `json:"stopped"`
}

// Status is the node's picture.
type Status struct {
	Running   bool             `json:"running"`
	Style     Style            `json:"style"`
	Seed      int64            `json:"seed"`
	Starts    int              `json:"starts"`
	Resources []ResourceStatus `json:"resources"`
}

// DeviceStatus is one device as last listed.
type DeviceStatus struct {
	Resource string  `json:"resource"`
	ID       string  `json:"id"`
	Health   string  `json:"health"`
	NUMA     []int64 `json:"numa"`
	InUse    bool    `json:"in_use"`
}

// Status takes the node's picture.
func (k *Kubelet) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := Status{Running: k.run != nil, Style: k.cfg.Style, Seed: k.cfg.Seed, Starts: k.starts,
		Resources: []ResourceStatus{}}
	names := idSet{}
	for name := range k.stats {
		names.add(name)
	}
	if k.run != nil {
		for name := range k.run.resources {
			names.add(name)
		}
	}
	for _, name := range names.sorted() {
		st.Resources = append(st.Resources, k.resourceStatusLocked(name))
	}
	return st
}

// Resource is the status of one resource, empty if nobody has heard of it.
func (k *Kubelet) Resource(name string) ResourceStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.resourceStatusLocked(name)
}

func (k *Kubelet) resourceStatusLocked(name string) ResourceStatus {
	st := ResourceStatus{Name: name}
	if s := k.stats[name]; s != nil {
		st.Registers, st.Registrations = s.Registers, s.Registrations
		st.Streams, st.LiveStreams, st.Frames = s.Streams, s.LiveStreams, s.Frames
		st.PreStart = s.Options.GetPreStartRequired()
		st.Preferred = s.Options.GetGetPreferredAllocationAvailable()
	}
	if r := k.run; r != nil {
		st.Capacity, st.Allocatable = r.capacityLocked(name)
		st.InUse = len(r.podDevices.inUse(name))
		if ep := r.endpoints[name]; ep != nil {
			st.Stopped = ep.isStopped()
			if ep.client != nil {
				st.Endpoint = ep.client.path
			}
		}
	}
	return st
}

// Devices lists a resource's devices, of all resources if name is empty.
func (k *Kubelet) Devices(name string) []DeviceStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := []DeviceStatus{}
	if k.run == nil {
		return list
	}
	for resource, res := range k.run.resources {
		if name != "" && name != resource {
			continue
		}
		used := k.run.podDevices.inUse(resource)
		for id, dev := range res.devices {
			d := DeviceStatus{Resource: resource, ID: id, Health: unhealthy, NUMA: []int64{},
				InUse: used.has(id)}
			if res.healthy.has(id) {
				d.Health = healthy
			}
			for _, node := range dev.GetTopology().GetNodes() {
				d.NUMA = append(d.NUMA, node.ID)
			}
			list = append(list, d)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Resource != list[j].Resource {
			return list[i].Resource < list[j].Resource
		}
		return list[i].ID < list[j].ID
	})
	return list
}

// Frames is the history of received lists, of all resources if name is empty.
func (k *Kubelet) Frames(name string) []Frame {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := []Frame{}
	for _, f := range k.frames {
		if name == "" || f.Resource == name {
			list = append(list, f)
		}
	}
	return list
}

// WaitResource blocks until pred holds for a resource.
func (k *Kubelet) WaitResource(ctx context.Context, name string,
	pred func(ResourceStatus) bool) error {
	var last ResourceStatus
	err := k.waitFor(ctx, func() bool {
		last = k.resourceStatusLocked(name)
		return pred(last)
	})
	if err != nil {
		return fmt.Errorf("%v; %s was %+v", err, name, last)
	}
	return nil
}

// WaitPod blocks until pred holds for a pod that exists.
func (k *Kubelet) WaitPod(ctx context.Context, namespace, name string,
	pred func(*PodStatus) bool) error {
	return k.waitFor(ctx, func() bool {
		p := k.pods[namespace+"/"+name]
		return p != nil && pred(k.podStatusLocked(p))
	})
}

// WaitCondition waits for one condition of the control verb, such as capacity=hami.com/vgpu:32.
func (k *Kubelet) WaitCondition(ctx context.Context, kind, value string) error {
	if kind == "pod" {
		return k.waitPodPhase(ctx, value)
	}
	if kind == "health" {
		return k.waitHealth(ctx, value)
	}
	name, want := value, -1
	if at := strings.LastIndex(value, ":"); at >= 0 {
		n, err := strconv.Atoi(value[at+1:])
		if err != nil || n < 0 {
			return fmt.Errorf("%s=%q: must be RESOURCE:NUMBER", kind, value)
		}
		name, want = value[:at], n
	}
	exact := func(n int) bool { return n == want || (want < 0 && n > 0) }
	atLeast := func(n int) bool { return n >= want && n > 0 }
	tests := map[string]func(ResourceStatus) bool{
		"capacity":    func(s ResourceStatus) bool { return exact(s.Capacity) },
		"allocatable": func(s ResourceStatus) bool { return exact(s.Allocatable) },
		"live":        func(s ResourceStatus) bool { return exact(s.LiveStreams) },
		"registered":  func(s ResourceStatus) bool { return atLeast(s.Registrations) },
		"registers":   func(s ResourceStatus) bool { return atLeast(s.Registers) },
		"frames":      func(s ResourceStatus) bool { return atLeast(s.Frames) },
		"streams":     func(s ResourceStatus) bool { return atLeast(s.Streams) },
	}
	test := tests[kind]
	if test == nil {
		return fmt.Errorf("condition %q: must be capacity, allocatable, live, registered, "+
			"registers, frames, streams, health or pod", kind)
	}
	return k.WaitResource(ctx, name, test)
}

func (k *Kubelet) waitPodPhase(ctx context.Context, value string) error {
	at := strings.LastIndex(value, ":")
	if at < 0 {
		return fmt.Errorf("pod=%q: must be [NAMESPACE/]NAME:PHASE", value)
	}
	namespace, name := splitPodName(value[:at])
	return k.WaitPod(ctx, namespace, name, func(p *PodStatus) bool { return p.Phase == value[at+1:] })
}

func splitPodName(text string) (namespace, name string) {
	if at := strings.Index(text, "/"); at >= 0 {
		return text[:at], text[at+1:]
	}
	return "default", text
}

// waitHealth waits until an id, of whichever resource, is Healthy, Unhealthy or gone.
func (k *Kubelet) waitHealth(ctx context.Context, value string) error {
	at := strings.LastIndex(value, ":")
	if at < 0 {
		return fmt.Errorf("health=%q: must be ID:Healthy, ID:Unhealthy or ID:gone", value)
	}
	id, want := value[:at], value[at+1:]
	return k.waitFor(ctx, func() bool {
		got := "gone"
		if k.run != nil {
			for _, res := range k.run.resources {
				if res.healthy.has(id) {
					got = healthy
				} else if res.unhealthy.has(id) {
					got = unhealthy
				}
			}
		}
		return got == want
	})
}
