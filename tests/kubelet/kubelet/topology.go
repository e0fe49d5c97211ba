// SPDX-License-Identifier: Apache-2.0

// This file owns the Topology Manager, scope container: hints of each resource, their merge, the
// policy's verdict, and the split of free devices by the affinity that came out.

package kubelet

import (
	"errors"
	"math/bits"
	"sort"

	"hami/proto/deviceplugin"
)

var errAffinity = errors.New("Resources cannot be allocated with Topology locality")

// mask is a set of NUMA nodes; 0 means no affinity.
type mask uint64

func (m mask) count() int { return bits.OnesCount64(uint64(m)) }

type hint struct {
	nodes     mask
	preferred bool
}

// maxHintNodes bounds the number of combinations, as the kubelet's default does.
const maxHintNodes = 8

func (r *run) nodeMask(dev *deviceplugin.Device) mask {
	var m mask
	for _, node := range r.numaNodes(dev) {
		m |= 1 << uint(node)
	}
	return m
}

// hasTopology: one device with a NUMA node makes the resource take part.
func (res *resource) hasTopology() bool {
	for _, dev := range res.devices {
		if len(dev.GetTopology().GetNodes()) > 0 {
			return true
		}
	}
	return false
}

// alignContainer asks for hints and stores the affinity that Allocate will follow.
func (r *run) alignContainer(p *pod, c *container) error {
	policy := r.k.cfg.TopologyPolicy
	if policy == PolicyNone {
		return nil
	}
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	r.releaseStaleLocked()
	var perResource [][]hint
	var all mask
	for _, name := range limitNames(c) {
		if r.isPluginResource(name) {
			hints, nodes := r.hintsLocked(wanted{p, c.name, name, c.limits[name]})
			perResource = append(perResource, hints)
			all |= nodes
		}
	}
	best := mergeHints(policy, perResource, all)
	if policy == PolicySingleNUMA && best.nodes == all && all.count() > 1 {
		best.nodes = 0
	}
	r.affinity[p.uid+"/"+c.name] = best.nodes
	if !best.preferred && policy != PolicyBestEffort {
		return errAffinity
	}
	return nil
}

func limitNames(c *container) []string {
	names := idSet{}
	for name := range c.limits {
		names.add(name)
	}
	return names.sorted()
}

// hintsLocked lists the node combinations that could hold the request; no preference is one
// preferred hint without nodes, impossible is one unpreferred hint without nodes.
func (r *run) hintsLocked(w wanted) ([]hint, mask) {
	res := r.resources[w.resource]
	if res == nil || !res.hasTopology() {
		return []hint{{0, true}}, 0
	}
	free, reusable := r.candidatesLocked(w, res)
	var all mask
	for _, dev := range res.devices {
		all |= r.nodeMask(dev)
	}
	if len(free.union(reusable)) < w.size || all.count() > maxHintNodes {
		return []hint{{0, false}}, all
	}
	var hints []hint
	smallest := 65
	for _, m := range combinations(all) {
		total := 0
		for _, dev := range res.devices {
			if r.nodeMask(dev)&m != 0 {
				total++
			}
		}
		if total >= w.size && m.count() < smallest {
			smallest = m.count()
		}
		if r.fitsLocked(res, m, free, reusable, w.size) {
			hints = append(hints, hint{m, false})
		}
	}
	for i := range hints {
		hints[i].preferred = hints[i].nodes.count() == smallest
	}
	if len(hints) == 0 {
		hints = []hint{{0, false}}
	}
	return hints, all
}

func (r *run) candidatesLocked(w wanted, res *resource) (free, reusable idSet) {
	if a := r.podDevices.get(w.pod.uid, w.container, w.resource); a != nil {
		return a.ids(), idSet{} // held already: the hints it was admitted with
	}
	reusable = r.reuse[w.pod.uid][w.resource].union(nil)
	free = res.healthy.minus(r.podDevices.inUse(w.resource)).minus(reusable)
	return free, reusable
}

// fitsLocked: everything reusable must lie in the mask, and with the free ones be enough.
func (r *run) fitsLocked(res *resource, m mask, free, reusable idSet, size int) bool {
	for id := range reusable {
		if r.nodeMask(res.devices[id])&m == 0 {
			return false
		}
	}
	n := len(reusable)
	for id := range free {
		if r.nodeMask(res.devices[id])&m != 0 {
			n++
		}
	}
	return n >= size
}

// combinations lists the non-empty subsets of all.
func combinations(all mask) []mask {
	var list []mask
	for m := all; m != 0; m = (m - 1) & all {
		list = append(list, m)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].count() != list[j].count() {
			return list[i].count() < list[j].count()
		}
		return list[i] < list[j]
	})
	return list
}

// mergeHints crosses the hints of all resources and takes the best: preferred, then narrowest,
// then the lowest nodes.
func mergeHints(policy Policy, perResource [][]hint, all mask) hint {
	merged := []hint{{all, true}}
	for _, hints := range perResource {
		var next []hint
		for _, a := range merged {
			for _, b := range hints {
				if policy == PolicySingleNUMA && b.nodes.count() > 1 {
					continue
				}
				if b.nodes == 0 {
					next = append(next, hint{a.nodes, a.preferred && b.preferred})
				} else if a.nodes&b.nodes != 0 {
					next = append(next, hint{a.nodes & b.nodes, a.preferred && b.preferred})
				}
			}
		}
		merged = next
	}
	best := hint{all, false}
	for _, h := range merged {
		if h.better(best) {
			best = h
		}
	}
	return best
}

func (h hint) better(o hint) bool {
	if h.preferred != o.preferred {
		return h.preferred
	}
	if h.nodes.count() != o.nodes.count() {
		return h.nodes.count() < o.nodes.count()
	}
	return h.nodes < o.nodes
}

// byAffinityLocked splits free devices by the stored affinity. Without one, or when no device of
// the resource has topology, all are in the last group.
func (r *run) byAffinityLocked(w wanted, free idSet) (aligned, unaligned, noAffinity idSet) {
	aligned, unaligned, noAffinity = idSet{}, idSet{}, idSet{}
	res := r.resource(w.resource)
	want := r.affinity[w.pod.uid+"/"+w.container]
	if want == 0 || !res.hasTopology() {
		return aligned, unaligned, newSet(free.sorted()...)
	}
	for id := range free {
		nodes := r.nodeMask(res.devices[id])
		switch {
		case nodes == 0:
			noAffinity.add(id)
		case nodes&want != 0:
			aligned.add(id)
		default:
			unaligned.add(id)
		}
	}
	return aligned, unaligned, noAffinity
}
