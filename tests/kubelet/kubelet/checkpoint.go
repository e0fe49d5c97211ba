// SPDX-License-Identifier: Apache-2.0

// This file owns kubelet_internal_checkpoint.

package kubelet

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/ioutil"
	"os"
	"strconv"
	"time"

	"github.com/golang/protobuf/proto"
	"hami/proto/deviceplugin"
)

// CheckpointEntry is what one container holds of one resource.
type CheckpointEntry struct {
	PodUID        string
	ContainerName string
	ResourceName  string
	DeviceIDs     map[string][]string // by NUMA node, "-1" without
	AllocResp     []byte              // the marshalled ContainerAllocateResponse
}

// CheckpointData is the part under the checksum.
type CheckpointData struct {
	PodDeviceEntries  []CheckpointEntry
	RegisteredDevices map[string][]string
}

// Checkpoint is the whole file.
type Checkpoint struct {
	Data     CheckpointData
	Checksum uint64
}

func (d *CheckpointData) checksum() uint64 {
	text, err := json.Marshal(d)
	if err != nil {
		return 0
	}
	h := fnv.New32a()
	h.Write(text)
	return uint64(h.Sum32())
}

// writeCheckpointLocked replaces the file by rename. It is written on every list and allocation.
func (r *run) writeCheckpointLocked() {
	cp := Checkpoint{Data: CheckpointData{PodDeviceEntries: []CheckpointEntry{},
		RegisteredDevices: map[string][]string{}}}
	for uid, containers := range r.podDevices {
		for name, resources := range containers {
			for resource, a := range resources {
				cp.Data.PodDeviceEntries = append(cp.Data.PodDeviceEntries,
					a.entry(uid, name, resource))
			}
		}
	}
	for name, res := range r.resources {
		cp.Data.RegisteredDevices[name] = r.k.shuffledLocked(res.healthy)
	}
	cp.Checksum = cp.Data.checksum()
	text, err := json.Marshal(&cp)
	if err == nil {
		err = writeAtomically(r.k.cfg.DevicePluginDir, r.k.cfg.CheckpointPath(), text)
	}
	if err != nil {
		r.k.cfg.Logf("checkpoint not written: %v", err)
	}
}

func (a *allocation) entry(uid, container, resource string) CheckpointEntry {
	e := CheckpointEntry{PodUID: uid, ContainerName: container, ResourceName: resource,
		DeviceIDs: map[string][]string{}}
	for node, ids := range a.numa {
		e.DeviceIDs[strconv.FormatInt(node, 10)] = ids
	}
	e.AllocResp, _ = proto.Marshal(a.resp)
	return e
}

func writeAtomically(dir, path string, text []byte) error {
	tmp, err := ioutil.TempFile(dir, "."+checkpointFile)
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// ReadCheckpoint reads and verifies a checkpoint file.
func ReadCheckpoint(path string) (*Checkpoint, error) {
	text, err := ioutil.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cp := &Checkpoint{}
	if err := json.Unmarshal(text, cp); err != nil {
		return nil, err
	}
	if sum := cp.Data.checksum(); sum != cp.Checksum {
		return nil, fmt.Errorf("checkpoint is corrupted: checksum %d, computed %d", cp.Checksum,
			sum)
	}
	return cp, nil
}

// readCheckpoint restores what pods hold. Resources come back without devices and with a stopped
// endpoint, until their plugins return.
func (r *run) readCheckpoint() error {
	cp, err := ReadCheckpoint(r.k.cfg.CheckpointPath())
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range cp.Data.PodDeviceEntries {
		a := &allocation{numa: map[int64][]string{},
			resp: &deviceplugin.ContainerAllocateResponse{}}
		for node, ids := range e.DeviceIDs {
			n, err := strconv.ParseInt(node, 10, 64)
			if err != nil {
				return err
			}
			a.numa[n] = ids
		}
		if err := proto.Unmarshal(e.AllocResp, a.resp); err != nil {
			return err
		}
		r.podDevices.insert(e.PodUID, e.ContainerName, e.ResourceName, a)
	}
	for name := range cp.Data.RegisteredDevices {
		r.resource(name)
		r.endpoints[name] = &endpoint{stopped: time.Now()}
	}
	return nil
}
