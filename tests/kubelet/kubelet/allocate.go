// SPDX-License-Identifier: Apache-2.0

// This file owns the choice of device ids for a container and the calls that go with it.

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hami/proto/deviceplugin"
)

// errStopped ends an admission in which the kubelet itself was stopped: the pod stays pending.
var errStopped = errors.New("the kubelet was stopped")

// wanted is one container's request for one resource.
type wanted struct {
	pod       *pod
	container string
	resource  string
	size      int
}

// allocateContainer gets a container its devices; reuse holds what earlier init containers left.
// One Allocate per resource, in random order.
func (r *run) allocateContainer(p *pod, c *container) error {
	k := r.k
	k.mu.Lock()
	reuse := r.reuse[p.uid]
	if reuse == nil {
		// Only the pod in admission may reuse.
		reuse = map[string]idSet{}
		r.reuse = map[string]map[string]idSet{p.uid: reuse}
	}
	names := idSet{}
	for name := range c.limits {
		names.add(name)
	}
	order := k.shuffledLocked(names)
	k.mu.Unlock()

	cleaned := false
	for _, name := range order {
		k.mu.Lock()
		known := r.isPluginResource(name)
		if known && !cleaned {
			r.releaseStaleLocked()
			cleaned = true
		}
		k.mu.Unlock()
		if !known {
			continue
		}
		w := wanted{p, c.name, name, c.limits[name]}
		if err := r.allocateResource(w, c, reuse[name]); err != nil {
			return err
		}
	}
	k.mu.Lock()
	r.updateReuseLocked(p, c, reuse)
	k.mu.Unlock()
	return nil
}

// updateReuseLocked: an init container's devices are free for the containers after it; those of a
// sidecar or of a container are not.
func (r *run) updateReuseLocked(p *pod, c *container, reuse map[string]idSet) {
	for name, a := range r.podDevices[p.uid][c.name] {
		if reuse[name] == nil {
			reuse[name] = idSet{}
		}
		if c.kind == kindInit {
			reuse[name] = reuse[name].union(a.ids())
		} else {
			reuse[name] = reuse[name].minus(a.ids())
		}
	}
}

// releaseStaleLocked frees what pods hold that are gone. Nobody else does.
func (r *run) releaseStaleLocked() {
	active := idSet{}
	for _, p := range r.k.pods {
		if p.active() {
			active.add(p.uid)
		}
	}
	active.add(r.pending)
	for uid := range r.podDevices {
		if !active.has(uid) {
			delete(r.podDevices, uid)
		}
	}
}

func (r *run) allocateResource(w wanted, c *container, reusable idSet) error {
	k := r.k
	ids, err := r.devicesToAllocate(w, c, reusable)
	if err != nil || len(ids) == 0 {
		return err
	}
	k.mu.Lock()
	ep := r.endpoints[w.resource]
	list := k.shuffledLocked(ids)
	k.mu.Unlock()
	if ep == nil {
		return fmt.Errorf("unknown Device Plugin %s", w.resource)
	}
	resp, err := r.callAllocate(ep, list)
	if err != nil {
		return err
	}
	if len(resp.ContainerResponses) == 0 {
		return fmt.Errorf("no containers return in allocation response %v", resp)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.dead {
		return errStopped
	}
	r.podDevices.insert(w.pod.uid, w.container, w.resource,
		&allocation{numa: r.byNUMA(w.resource, ids), resp: resp.ContainerResponses[0]})
	r.writeCheckpointLocked()
	k.notifyLocked()
	return nil
}

func (r *run) byNUMA(resource string, ids idSet) map[int64][]string {
	numa := map[int64][]string{}
	res := r.resource(resource)
	for _, id := range ids.sorted() {
		nodes := r.numaNodes(res.devices[id])
		if len(nodes) == 0 {
			nodes = []int64{-1}
		}
		for _, node := range nodes {
			numa[node] = append(numa[node], id)
		}
	}
	return numa
}

// callAllocate has no deadline: a slow plugin holds up every pod of the node.
func (r *run) callAllocate(ep *endpoint, ids []string) (*deviceplugin.AllocateResponse, error) {
	r.k.mu.Lock()
	err := ep.usable()
	r.k.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return ep.client.api.Allocate(context.Background(), &deviceplugin.AllocateRequest{
		ContainerRequests: []*deviceplugin.ContainerAllocateRequest{{DevicesIds: ids}}})
}

// devicesToAllocate picks the ids; an empty set means that there is nothing to call for.
func (r *run) devicesToAllocate(w wanted, c *container, reusable idSet) (idSet, error) {
	k := r.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.dead {
		return nil, errStopped
	}
	held := idSet{}
	if a := r.podDevices.get(w.pod.uid, w.container, w.resource); a != nil {
		held = a.ids()
		if len(held) != w.size {
			return nil, fmt.Errorf("pod %q container %q changed request for resource %q "+
				"from %d to %d", w.pod.uid, w.container, w.resource, len(held), w.size)
		}
	}
	if err := r.checkHeldLocked(w, c, held); err != nil {
		if err == errRunning {
			return nil, nil
		}
		return nil, err
	}
	need := w.size - len(held)
	if need == 0 {
		return nil, nil
	}
	return r.pickLocked(w, need, reusable)
}

var errRunning = errors.New("already running")

// checkHeldLocked is what 1.27 and later check at a re-admission; 1.20 lets every pod pass.
func (r *run) checkHeldLocked(w wanted, c *container, held idSet) error {
	if len(held) > 0 && (c.running() || r.k.cfg.Style == Style120) {
		return errRunning
	}
	if r.k.cfg.Style == Style120 {
		return nil
	}
	res := r.resources[w.resource]
	switch {
	case res == nil:
		return fmt.Errorf("cannot allocate unregistered device %s", w.resource)
	case len(res.healthy) == 0:
		return fmt.Errorf("no healthy devices present; cannot allocate unhealthy devices %s",
			w.resource)
	case len(held.minus(res.healthy)) > 0:
		return fmt.Errorf("previously allocated devices are no longer healthy; cannot allocate "+
			"unhealthy devices %s", w.resource)
	}
	return nil
}

// picker fills a set from one group of ids after the other.
type picker struct {
	k    *Kubelet
	got  idSet
	need int
}

func (p *picker) take(from idSet) bool {
	for _, id := range p.k.shuffledLocked(from.minus(p.got)) {
		if p.need == 0 {
			break
		}
		p.got.add(id)
		p.need--
	}
	return p.need == 0
}

func (r *run) pickLocked(w wanted, need int, reusable idSet) (idSet, error) {
	p := &picker{r.k, idSet{}, need}
	if p.take(reusable) {
		return p.got, nil
	}
	reused := newSet(p.got.sorted()...)
	free := r.resource(w.resource).healthy.minus(r.podDevices.inUse(w.resource))
	if len(free) < p.need {
		return nil, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, "+
			"Available: %d", w.resource, p.need, len(free))
	}
	aligned, unaligned, noAffinity := r.byAffinityLocked(w, free)
	if p.need < len(aligned) {
		wish, err := r.preferredLocked(w, aligned.union(reused), reused)
		if err != nil {
			return nil, err
		}
		if p.take(wish.common(aligned)) || p.take(aligned) {
			return p.got, nil
		}
	}
	if p.take(aligned) {
		return p.got, nil
	}
	wish, err := r.preferredLocked(w, free.union(reused), reused)
	if err != nil {
		return nil, err
	}
	if p.take(wish.common(free)) || p.take(unaligned) || p.take(noAffinity) {
		return p.got, nil
	}
	return nil, fmt.Errorf("unexpectedly allocated less resources than required. Requested: %d, "+
		"Got: %d", w.size, w.size-p.need)
}

// preferredLocked asks the plugin, without the lock. Its answer is a wish only: the caller meets
// it with what is free and fills up.
func (r *run) preferredLocked(w wanted, available, must idSet) (idSet, error) {
	ep := r.endpoints[w.resource]
	if ep == nil || !ep.options.GetGetPreferredAllocationAvailable() {
		return idSet{}, nil
	}
	if err := ep.usable(); err != nil {
		return nil, err
	}
	k := r.k
	req := &deviceplugin.PreferredAllocationRequest{
		ContainerRequests: []*deviceplugin.ContainerPreferredAllocationRequest{{
			AvailableDeviceIDs:   k.shuffledLocked(available),
			MustIncludeDeviceIDs: k.shuffledLocked(must),
			AllocationSize:       int32(w.size),
		}}}
	k.mu.Unlock()
	resp, err := ep.client.api.GetPreferredAllocation(context.Background(), req)
	k.mu.Lock()
	if r.dead {
		return nil, errStopped
	}
	if err != nil {
		return nil, err
	}
	if len(resp.ContainerResponses) == 0 {
		return idSet{}, nil
	}
	return newSet(resp.ContainerResponses[0].DeviceIDs...), nil
}

// preStart calls PreStartContainer where the plugin wants it, before every start of a container.
func (r *run) preStart(p *pod, c *container, resource string) error {
	k := r.k
	k.mu.Lock()
	ep := r.endpoints[resource]
	a := r.podDevices.get(p.uid, c.name, resource)
	if ep == nil || !ep.options.GetPreStartRequired() || a == nil {
		k.mu.Unlock()
		return nil
	}
	err := ep.usable()
	ids := k.shuffledLocked(a.ids())
	k.mu.Unlock()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), k.cfg.PreStartTimeout)
		defer cancel()
		_, err = ep.client.api.PreStartContainer(ctx,
			&deviceplugin.PreStartContainerRequest{DevicesIds: ids})
	}
	if err != nil {
		return fmt.Errorf("device plugin PreStartContainer rpc failed with err: %s",
			strings.TrimSpace(err.Error()))
	}
	return nil
}
