// SPDX-License-Identifier: Apache-2.0

// This file owns a pod's specification as callers write it, and its status as they read it.

package kubelet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// PodSpec is the part of a Kubernetes pod that matters here.
type PodSpec struct {
	Name           string          `json:"name"`
	Namespace      string          `json:"namespace"`
	InitContainers []ContainerSpec `json:"initContainers"`
	Containers     []ContainerSpec `json:"containers"`
}

// ContainerSpec is a container. RestartPolicy "Always" makes an init container a sidecar.
type ContainerSpec struct {
	Name          string            `json:"name"`
	RestartPolicy string            `json:"restartPolicy"`
	Limits        map[string]int    `json:"limits"`
	Env           map[string]string `json:"env"`
}

// ParsePodSpec reads JSON and refuses keys it does not know.
func ParsePodSpec(text string) (PodSpec, error) {
	var spec PodSpec
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&spec); err != nil {
		return spec, fmt.Errorf("pod spec: %v", err)
	}
	return spec, nil
}

// ParseAmounts reads "hami.com/vgpu:2,x.io/y:1", the short form of limits.
func ParseAmounts(text string) (map[string]int, error) {
	amounts := map[string]int{}
	for _, item := range strings.Split(text, ",") {
		at := strings.LastIndex(item, ":")
		if at < 1 {
			return nil, fmt.Errorf("%q: must be RESOURCE:AMOUNT", item)
		}
		n, err := strconv.Atoi(item[at+1:])
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q: the amount must be a number from 0 up", item)
		}
		amounts[item[:at]] = n
	}
	return amounts, nil
}

func (s *PodSpec) pod() (*pod, error) {
	p := &pod{namespace: s.Namespace, name: s.Name, phase: phasePending}
	if p.namespace == "" {
		p.namespace = "default"
	}
	if p.name == "" || len(s.Containers) == 0 {
		return nil, fmt.Errorf("a pod needs a name and a container")
	}
	for _, c := range s.InitContainers {
		kind := kindInit
		if c.RestartPolicy == "Always" {
			kind = kindSidecar
		}
		p.containers = append(p.containers, c.container(kind))
	}
	for _, c := range s.Containers {
		p.containers = append(p.containers, c.container(kindContainer))
	}
	names := idSet{}
	for _, c := range p.containers {
		if c.name == "" || names.has(c.name) {
			return nil, fmt.Errorf("container name %q is empty or taken", c.name)
		}
		names.add(c.name)
		for resource, n := range c.limits {
			if n < 0 {
				return nil, fmt.Errorf("container %s: %s: %d is below 0", c.name, resource, n)
			}
		}
	}
	return p, nil
}

func (s *ContainerSpec) container(kind string) *container {
	return &container{name: s.Name, kind: kind, limits: s.Limits, env: s.Env, state: stateWaiting}
}

// PodStatus is a pod as seen from outside.
type PodStatus struct {
	UID        string            `json:"uid"`
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	Phase      string            `json:"phase"`
	Reason     string            `json:"reason,omitempty"`
	Message    string            `json:"message,omitempty"`
	Containers []ContainerStatus `json:"containers"`
}

// ContainerStatus is a container with what it was given.
type ContainerStatus struct {
	Name     string              `json:"name"`
	Kind     string              `json:"kind"`
	State    string              `json:"state"`
	Reason   string              `json:"reason,omitempty"`
	Message  string              `json:"message,omitempty"`
	Restarts int                 `json:"restarts"`
	IDs      map[string][]string `json:"ids"`
	View     *View               `json:"view,omitempty"`
}

// Container returns one container's status, or nil.
func (s *PodStatus) Container(name string) *ContainerStatus {
	for i := range s.Containers {
		if s.Containers[i].Name == name {
			return &s.Containers[i]
		}
	}
	return nil
}

func (k *Kubelet) podStatusLocked(p *pod) *PodStatus {
	st := &PodStatus{UID: p.uid, Namespace: p.namespace, Name: p.name, Phase: p.phase,
		Reason: p.reason, Message: p.message}
	for _, c := range p.containers {
		cs := ContainerStatus{Name: c.name, Kind: c.kind, State: c.state, Reason: c.reason,
			Message: c.message, Restarts: c.restarts, View: c.view, IDs: map[string][]string{}}
		if k.run != nil {
			for resource, a := range k.run.podDevices[p.uid][c.name] {
				cs.IDs[resource] = a.ids().sorted()
			}
		}
		st.Containers = append(st.Containers, cs)
	}
	return st
}

// Pod returns a pod's status.
func (k *Kubelet) Pod(namespace, name string) (*PodStatus, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[namespace+"/"+name]
	if p == nil {
		return nil, fmt.Errorf("pod %s/%s not found", namespace, name)
	}
	return k.podStatusLocked(p), nil
}

// Pods returns all pods, oldest first.
func (k *Kubelet) Pods() []*PodStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []*pod
	for _, p := range k.pods {
		list = append(list, p)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].seq < list[j].seq })
	out := []*PodStatus{}
	for _, p := range list {
		out = append(out, k.podStatusLocked(p))
	}
	return out
}
