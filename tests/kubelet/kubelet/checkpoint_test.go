// SPDX-License-Identifier: Apache-2.0

// The checkpoint file.

package kubelet_test

import (
	"encoding/json"
	"io/ioutil"
	"os"
	"path/filepath"
	"testing"

	"github.com/golang/protobuf/proto"
	"hami/kubelet"
	"hami/plainplugin"
	"hami/proto/deviceplugin"
)

func TestCheckpointHoldsThePluginsAnswer(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.SetDevices(append(plainplugin.Devices("zero", 2, 0), plainplugin.Devices("none", 1, -1)...))
	n.register(p)
	st := n.pod("a", 3)
	text, err := ioutil.ReadFile(n.cfg.CheckpointPath())
	must(t, err)
	info, err := os.Stat(n.cfg.CheckpointPath())
	must(t, err)
	equal(t, "mode", info.Mode().Perm(), os.FileMode(0o600))

	// Read by hand: the shape is what others parse.
	var file struct {
		Data struct {
			PodDeviceEntries []struct {
				PodUID, ContainerName, ResourceName string
				DeviceIDs                           map[string][]string
				AllocResp                           []byte
			}
			RegisteredDevices map[string][]string
		}
		Checksum *uint64
	}
	must(t, json.Unmarshal(text, &file))
	equal(t, "entries", len(file.Data.PodDeviceEntries), 1)
	e := file.Data.PodDeviceEntries[0]
	equal(t, "names", []string{e.PodUID, e.ContainerName, e.ResourceName},
		[]string{st.UID, "main", resource})
	equal(t, "ids", e.DeviceIDs, map[string][]string{"0": {"zero-00", "zero-01"}, "-1": {"none-00"}})
	var resp deviceplugin.ContainerAllocateResponse
	must(t, proto.Unmarshal(e.AllocResp, &resp))
	equal(t, "env", resp.Envs["PLAIN_IDS"], st.Container("main").View.Env["PLAIN_IDS"])
	equal(t, "registered", len(file.Data.RegisteredDevices[resource]), 3)
	if file.Checksum == nil {
		t.Fatal("no checksum")
	}
}

func TestCheckpointIsReplacedAtEachListAndAllocation(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(2)
	first := inode(t, n.cfg.CheckpointPath())
	p.SetDevices(plainplugin.Devices("dev", 3, -1))
	n.counts(3, 3)
	second := inode(t, n.cfg.CheckpointPath())
	n.pod("a", 1)
	third := inode(t, n.cfg.CheckpointPath())
	if first == second || second == third {
		t.Fatalf("inodes: %s, %s, %s", first, second, third)
	}
	left, err := filepath.Glob(filepath.Join(n.cfg.DevicePluginDir, ".kubelet_internal*"))
	must(t, err)
	equal(t, "temporary files", len(left), 0)
}

func TestCorruptCheckpointIsNotUsed(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.plain(2)
	n.pod("a", 2)
	n.Stop(kubelet.Kill)
	text, err := ioutil.ReadFile(n.cfg.CheckpointPath())
	must(t, err)
	text[len(text)-3] ^= 1
	must(t, ioutil.WriteFile(n.cfg.CheckpointPath(), text, 0o600))
	must(t, n.Start())
	equal(t, "in use", n.Resource(resource).InUse, 0)
}
