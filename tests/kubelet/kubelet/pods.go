// SPDX-License-Identifier: Apache-2.0

// This file owns pods: their specification, admission, the start of containers, and their end.

package kubelet

import (
	"errors"
	"fmt"
	"sort"
)

const (
	kindInit      = "init"
	kindSidecar   = "sidecar" // a restartable init container
	kindContainer = "container"

	phasePending   = "Pending"
	phaseRunning   = "Running"
	phaseFailed    = "Failed"
	phaseSucceeded = "Succeeded"

	reasonAdmission = "UnexpectedAdmissionError"
	reasonTopology  = "TopologyAffinityError"
	reasonConfig    = "CreateContainerConfigError"

	stateWaiting    = "Waiting"
	stateRunning    = "Running"
	stateTerminated = "Terminated"
)

type container struct {
	name     string
	kind     string
	limits   map[string]int
	env      map[string]string
	state    string
	reason   string
	message  string
	restarts int
	view     *View // of the last start
}

func (c *container) running() bool { return c.state == stateRunning }

type pod struct {
	uid        string
	namespace  string
	name       string
	seq        int
	phase      string
	reason     string
	message    string
	containers []*container // init containers first
}

func (p *pod) key() string { return p.namespace + "/" + p.name }

func (p *pod) active() bool { return p.phase == phasePending || p.phase == phaseRunning }

func (p *pod) container(name string) *container {
	for _, c := range p.containers {
		if c.name == name {
			return c
		}
	}
	return nil
}

// RunPod admits a pod and starts its containers. A rejected pod is no error: its status says so.
func (k *Kubelet) RunPod(spec PodSpec) (*PodStatus, error) {
	p, err := spec.pod()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	if k.pods[p.key()] != nil {
		k.mu.Unlock()
		return nil, fmt.Errorf("pod %s exists", p.key())
	}
	r := k.run
	if r == nil {
		k.mu.Unlock()
		return nil, errStopped
	}
	k.podSeq++
	p.seq = k.podSeq
	p.uid = k.newUIDLocked()
	k.pods[p.key()] = p
	k.notifyLocked()
	k.mu.Unlock()
	if err := r.admitAndStart(p); err != nil {
		return nil, err
	}
	return k.Pod(p.namespace, p.name)
}

func (k *Kubelet) newUIDLocked() string {
	b := make([]byte, 16)
	k.rng.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (r *run) admitAndStart(p *pod) error {
	if err := r.admitPod(p); err != nil {
		return err
	}
	return r.startPod(p)
}

// admitPod takes one pod at a time, also pods that want no device.
func (r *run) admitPod(p *pod) error {
	k := r.k
	k.admit.Lock()
	defer k.admit.Unlock()
	k.mu.Lock()
	if k.pods[p.key()] != p || !p.active() {
		k.mu.Unlock()
		return nil
	}
	r.pending = p.uid
	k.mu.Unlock()

	var err error
	for _, c := range p.containers {
		if err = r.admitContainer(p, c); err != nil {
			break
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r.pending = ""
	if r.dead {
		return errStopped
	}
	if err != nil {
		k.rejectLocked(p, err)
	}
	k.notifyLocked()
	return nil
}

func (r *run) admitContainer(p *pod, c *container) error {
	if err := r.alignContainer(p, c); err != nil {
		return err
	}
	return r.allocateContainer(p, c)
}

// rejectLocked fails the pod for good; its devices go at the next admission.
func (k *Kubelet) rejectLocked(p *pod, err error) {
	p.phase = phaseFailed
	p.reason = reasonAdmission
	p.message = fmt.Sprintf("Pod was rejected: Allocate failed due to %v, which is unexpected", err)
	if errors.Is(err, errAffinity) {
		p.reason = reasonTopology
		p.message = "Pod was rejected: " + err.Error()
	}
	for _, c := range p.containers {
		c.state = stateTerminated
	}
	k.cfg.Logf("pod %s: %s", p.key(), p.message)
}

// startPod starts whatever of an admitted pod does not run: init containers to their end, one
// after the other, then the containers.
func (r *run) startPod(p *pod) error {
	for _, c := range p.containers {
		r.k.mu.Lock()
		skip := !p.active() || c.state != stateWaiting
		r.k.mu.Unlock()
		if skip {
			continue
		}
		if err := r.startContainer(p, c); err != nil && c.kind != kindContainer {
			break // the next one waits for it
		}
	}
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	if p.active() {
		p.phase = phaseRunning
		for _, c := range p.containers {
			if c.state == stateWaiting {
				p.phase = phasePending
			}
		}
	}
	r.k.notifyLocked()
	return nil
}

// startContainer creates a container from the cached answers.
func (r *run) startContainer(p *pod, c *container) error {
	k := r.k
	k.mu.Lock()
	names := idSet{}
	for name := range c.limits {
		names.add(name)
	}
	order := k.shuffledLocked(names)
	k.mu.Unlock()
	var err error
	for _, name := range order {
		if err = r.preStart(p, c, name); err != nil {
			break
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		c.state, c.reason, c.message = stateWaiting, reasonConfig, err.Error()
		k.notifyLocked()
		return err
	}
	c.reason, c.message = "", ""
	c.view = merge(order, r.podDevices[p.uid][c.name], c.env)
	c.state = stateRunning
	if c.kind == kindInit {
		c.state, c.reason = stateTerminated, "Completed"
	}
	k.notifyLocked()
	return nil
}

// RestartContainer ends a container, if it runs, and starts it again on the cached answer.
func (k *Kubelet) RestartContainer(namespace, name, containerName string) (*PodStatus, error) {
	k.mu.Lock()
	r, p := k.run, k.pods[namespace+"/"+name]
	if r == nil {
		k.mu.Unlock()
		return nil, errStopped
	}
	if p == nil || p.container(containerName) == nil {
		k.mu.Unlock()
		return nil, fmt.Errorf("pod %s/%s has no container %q", namespace, name, containerName)
	}
	c := p.container(containerName)
	if !p.active() {
		k.mu.Unlock()
		return nil, fmt.Errorf("pod %s is %s", p.key(), p.phase)
	}
	if c.state != stateWaiting {
		c.state = stateWaiting
		c.restarts++
	}
	k.mu.Unlock()
	if err := r.startPod(p); err != nil {
		return nil, err
	}
	return k.Pod(namespace, name)
}

// DeletePod ends a pod and forgets it. Nothing is called and nothing written: the devices are
// freed inside a later admission.
func (k *Kubelet) DeletePod(namespace, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := namespace + "/" + name
	p := k.pods[key]
	if p == nil {
		return fmt.Errorf("pod %s not found", key)
	}
	p.phase = phaseSucceeded
	delete(k.pods, key)
	k.notifyLocked()
	return nil
}

// reboot stops all containers, as a node's restart does.
func (k *Kubelet) reboot() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		for _, c := range p.containers {
			if p.active() {
				c.state = stateWaiting
			}
		}
	}
}

// Readmit admits every pod again that a starting kubelet finds, oldest first.
func (k *Kubelet) Readmit() {
	k.mu.Lock()
	r := k.run
	var list []*pod
	for _, p := range k.pods {
		if p.active() {
			list = append(list, p)
		}
	}
	k.mu.Unlock()
	sort.Slice(list, func(i, j int) bool { return list[i].seq < list[j].seq })
	for _, p := range list {
		if r == nil || r.admitAndStart(p) != nil {
			return
		}
	}
}
