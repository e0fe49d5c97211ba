// SPDX-License-Identifier: Apache-2.0

// This file owns the table of which container holds which devices, and the merged result that a
// container is created with.

package kubelet

import (
	"fmt"

	"hami/proto/deviceplugin"
)

// allocation is one answered Allocate.
type allocation struct {
	numa map[int64][]string // as the checkpoint keeps it; -1 without topology
	resp *deviceplugin.ContainerAllocateResponse
}

func (a *allocation) ids() idSet {
	ids := idSet{}
	for _, list := range a.numa {
		ids.add(list...)
	}
	return ids
}

// podDevices is pod UID, container, resource.
type podDevices map[string]map[string]map[string]*allocation

func (p podDevices) get(uid, container, resource string) *allocation {
	return p[uid][container][resource]
}

func (p podDevices) insert(uid, container, resource string, a *allocation) {
	if p[uid] == nil {
		p[uid] = map[string]map[string]*allocation{}
	}
	if p[uid][container] == nil {
		p[uid][container] = map[string]*allocation{}
	}
	p[uid][container][resource] = a
}

func (p podDevices) inUse(resource string) idSet {
	used := idSet{}
	for _, containers := range p {
		for _, resources := range containers {
			if a := resources[resource]; a != nil {
				for _, list := range a.numa {
					used.add(list...)
				}
			}
		}
	}
	return used
}

// View is what a container is created with.
type View struct {
	Env         map[string]string `json:"env"`
	Devices     []DeviceNode      `json:"devices"`
	Mounts      []Mount           `json:"mounts"`
	Annotations map[string]string `json:"annotations"`
	CDIDevices  []string          `json:"cdi_devices"`
	Conflicts   []string          `json:"conflicts,omitempty"` // what a second resource lost
	Overridden  []string          `json:"overridden,omitempty"`
}

// DeviceNode is a device node of a container.
type DeviceNode struct {
	Container   string `json:"container"`
	Host        string `json:"host"`
	Permissions string `json:"permissions"`
}

// Mount is a mount of a container.
type Mount struct {
	Container string `json:"container"`
	Host      string `json:"host"`
	ReadOnly  bool   `json:"read_only"`
}

// merge builds a container's view. Of two resources the first wins, whichever that is; the pod's
// own env beats all.
func merge(order []string, allocs map[string]*allocation, podEnv map[string]string) *View {
	v := &View{Env: map[string]string{}, Annotations: map[string]string{},
		Devices: []DeviceNode{}, Mounts: []Mount{}, CDIDevices: []string{}}
	seen := map[string]string{}
	for _, resource := range order {
		if a := allocs[resource]; a != nil {
			v.add(seen, a.resp)
		}
	}
	for key, value := range podEnv {
		if old, ok := v.Env[key]; ok && old != value {
			v.Overridden = append(v.Overridden, key)
		}
		v.Env[key] = value
	}
	return v
}

func (v *View) add(seen map[string]string, resp *deviceplugin.ContainerAllocateResponse) {
	first := func(kind, key, value string) bool {
		old, taken := seen[kind+"\x00"+key]
		if taken && old != value {
			v.Conflicts = append(v.Conflicts, fmt.Sprintf("%s %s: %s kept, %s lost", kind, key,
				old, value))
		}
		if !taken {
			seen[kind+"\x00"+key] = value
		}
		return !taken
	}
	for key, value := range resp.GetEnvs() {
		if first("env", key, value) {
			v.Env[key] = value
		}
	}
	for key, value := range resp.GetAnnotations() {
		if first("annotation", key, value) {
			v.Annotations[key] = value
		}
	}
	for _, d := range resp.GetDevices() {
		if first("device", d.ContainerPath, d.HostPath+" "+d.Permissions) {
			v.Devices = append(v.Devices, DeviceNode{d.ContainerPath, d.HostPath, d.Permissions})
		}
	}
	for _, m := range resp.GetMounts() {
		if first("mount", m.ContainerPath, fmt.Sprintf("%s %v", m.HostPath, m.ReadOnly)) {
			v.Mounts = append(v.Mounts, Mount{m.ContainerPath, m.HostPath, m.ReadOnly})
		}
	}
	for _, c := range resp.GetCdiDevices() {
		if first("cdi", c.Name, c.Name) {
			v.CDIDevices = append(v.CDIDevices, c.Name)
		}
	}
}
