// SPDX-License-Identifier: Apache-2.0

// This file owns what the device manager knows of resources: lists, health, capacity, history.

package kubelet

import (
	"time"

	"hami/proto/deviceplugin"
)

// resource is the device manager's picture of one resource. A name that is only known from the
// checkpoint has no devices.
type resource struct {
	devices   map[string]*deviceplugin.Device // as last listed
	healthy   idSet
	unhealthy idSet
}

// Frame is one received ListAndWatch message.
type Frame struct {
	Time      time.Time `json:"time"`
	Resource  string    `json:"resource"`
	Stream    int       `json:"stream"`
	Devices   int       `json:"devices"`
	Healthy   int       `json:"healthy"`
	Unhealthy []string  `json:"unhealthy,omitempty"`
	Bytes     int       `json:"bytes"`
}

const maxFrames = 20000

// resourceStats counts over restarts.
type resourceStats struct {
	clients       int
	Registers     int // Register calls, refused ones too
	Registrations int // accepted, either way
	Streams       int // opened
	LiveStreams   int
	Frames        int
	Options       *deviceplugin.DevicePluginOptions
}

func (k *Kubelet) statsLocked(resource string) *resourceStats {
	st := k.stats[resource]
	if st == nil {
		st = &resourceStats{}
		k.stats[resource] = st
	}
	return st
}

func (k *Kubelet) countRegister(resource string) {
	k.mu.Lock()
	k.statsLocked(resource).Registers++
	k.notifyLocked()
	k.mu.Unlock()
}

func (k *Kubelet) streamOpened(c *client) {
	k.mu.Lock()
	st := k.statsLocked(c.resource)
	st.Streams++
	st.LiveStreams++
	k.notifyLocked()
	k.mu.Unlock()
}

func (k *Kubelet) streamClosed(c *client) {
	k.mu.Lock()
	k.statsLocked(c.resource).LiveStreams--
	k.notifyLocked()
	k.mu.Unlock()
}

func (r *run) resource(name string) *resource {
	res := r.resources[name]
	if res == nil {
		res = &resource{devices: map[string]*deviceplugin.Device{}, healthy: idSet{},
			unhealthy: idSet{}}
		r.resources[name] = res
	}
	return res
}

func (res *resource) allUnhealthy() {
	res.unhealthy = res.unhealthy.union(res.healthy)
	res.healthy = idSet{}
}

// receive takes a list, from whichever stream of the resource, and writes the checkpoint.
func (r *run) receive(c *client, list *deviceplugin.ListAndWatchResponse, size int) {
	k := r.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.dead {
		return
	}
	res := r.resource(c.resource)
	res.devices = map[string]*deviceplugin.Device{}
	res.healthy, res.unhealthy = idSet{}, idSet{}
	for _, dev := range list.Devices {
		res.devices[dev.ID] = dev
		if dev.Health == healthy {
			res.healthy.add(dev.ID)
		} else {
			res.unhealthy.add(dev.ID)
		}
	}
	k.statsLocked(c.resource).Frames++
	if len(k.frames) < maxFrames {
		k.frames = append(k.frames, Frame{Time: time.Now(), Resource: c.resource, Stream: c.id,
			Devices: len(list.Devices), Healthy: len(res.healthy),
			Unhealthy: res.unhealthy.sorted(), Bytes: size})
	}
	k.cfg.Logf("%s: list of %d devices, %d healthy", c.resource, len(list.Devices),
		len(res.healthy))
	r.writeCheckpointLocked()
	k.notifyLocked()
}

// capacityLocked is what the node object says. After the grace period of a stopped endpoint the
// resource is gone, which the node object shows as 0.
func (r *run) capacityLocked(name string) (capacity, allocatable int) {
	res := r.resources[name]
	ep := r.endpoints[name]
	if res == nil || ep == nil {
		return 0, 0
	}
	if ep.isStopped() && time.Since(ep.stopped) >= r.k.cfg.StopGrace {
		return 0, 0
	}
	return len(res.healthy.union(res.unhealthy)), len(res.healthy)
}

// numaNodes lists a device's nodes that the machine has.
func (r *run) numaNodes(dev *deviceplugin.Device) []int64 {
	var nodes []int64
	for _, node := range dev.GetTopology().GetNodes() {
		if r.knowsNode(node.ID) {
			nodes = append(nodes, node.ID)
		}
	}
	return nodes
}

func (r *run) knowsNode(id int64) bool {
	if len(r.k.cfg.NUMANodes) == 0 {
		return id >= 0 && id < 64
	}
	for _, node := range r.k.cfg.NUMANodes {
		if node == id {
			return id >= 0 && id < 64
		}
	}
	return false
}

// isPluginResource says whether the device manager has ever heard of the resource.
func (r *run) isPluginResource(name string) bool {
	if _, ok := r.resources[name]; ok {
		return true
	}
	return len(r.podDevices.inUse(name)) > 0
}
