// SPDX-License-Identifier: Apache-2.0

// Package kubelet is a stand-in for the kubelet as a device plugin meets it: registration, device
// manager, topology manager, checkpoint, plugin watcher and podresources, on real unix sockets.
// This file owns its configuration.
package kubelet

import (
	"fmt"
	"path/filepath"
	"time"
)

// Style names the kubelet release whose behaviour is shown.
type Style string

// The two ends of the supported range; they differ in registration, above all.
const (
	Style136 Style = "1.36"
	Style120 Style = "1.20"
)

// Policy is a Topology Manager policy.
type Policy string

// The Topology Manager policies.
const (
	PolicyNone       Policy = "none"
	PolicyBestEffort Policy = "best-effort"
	PolicyRestricted Policy = "restricted"
	PolicySingleNUMA Policy = "single-numa-node"
)

const (
	kubeletSocket  = "kubelet.sock"
	checkpointFile = "kubelet_internal_checkpoint"
	apiVersion     = "v1beta1"

	healthy   = "Healthy"
	unhealthy = "Unhealthy"
)

// Config is everything a caller may choose. Zero values mean the kubelet's defaults.
type Config struct {
	DevicePluginDir string
	RootDir         string // plugins_registry and pod-resources lie below it
	Style           Style
	WipeFiles       bool // plain files in DevicePluginDir go at start, too (1.32 and older)
	TopologyPolicy  Policy
	NUMANodes       []int64 // nodes the machine has; none: every node is known
	Seed            int64   // of all random orders; 0 takes the clock

	DialTimeout     time.Duration
	StopGrace       time.Duration // from a broken stream to capacity 0
	Reconcile       time.Duration // of plugins_registry
	PreStartTimeout time.Duration

	Logf func(format string, args ...interface{})
}

func (c *Config) complete() error {
	if c.DevicePluginDir == "" || c.RootDir == "" {
		return fmt.Errorf("device plugin dir and root dir must be given")
	}
	switch c.Style {
	case "":
		c.Style = Style136
	case Style136, Style120:
	default:
		return fmt.Errorf("style %q: must be %s or %s", c.Style, Style136, Style120)
	}
	switch c.TopologyPolicy {
	case "":
		c.TopologyPolicy = PolicyNone
	case PolicyNone, PolicyBestEffort, PolicyRestricted, PolicySingleNUMA:
	default:
		return fmt.Errorf("topology policy %q: must be none, best-effort, restricted or "+
			"single-numa-node", c.TopologyPolicy)
	}
	if c.Style == Style120 {
		c.WipeFiles = true
	}
	if c.Seed == 0 {
		c.Seed = time.Now().UnixNano()
	}
	setDefault(&c.DialTimeout, 10*time.Second)
	setDefault(&c.StopGrace, 5*time.Minute)
	setDefault(&c.Reconcile, time.Second)
	setDefault(&c.PreStartTimeout, 30*time.Second)
	if c.Logf == nil {
		c.Logf = func(string, ...interface{}) {}
	}
	return nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Socket is the path of kubelet.sock.
func (c *Config) Socket() string { return filepath.Join(c.DevicePluginDir, kubeletSocket) }

// CheckpointPath is the path of the device manager's checkpoint.
func (c *Config) CheckpointPath() string { return filepath.Join(c.DevicePluginDir, checkpointFile) }

// RegistryDir is the path of plugins_registry.
func (c *Config) RegistryDir() string { return filepath.Join(c.RootDir, "plugins_registry") }

// PodResourcesSocket is the path of the podresources service.
func (c *Config) PodResourcesSocket() string {
	return filepath.Join(c.RootDir, "pod-resources", kubeletSocket)
}
