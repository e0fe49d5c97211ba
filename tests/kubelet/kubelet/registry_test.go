// SPDX-License-Identifier: Apache-2.0

// Registration by plugins_registry.

package kubelet_test

import (
	"os"
	"path/filepath"
	"testing"

	"hami/kubelet"
	"hami/plainplugin"
	"hami/proto/pluginregistration"
)

// inRegistry serves a plugin below plugins_registry.
func (n *node) inRegistry(name string) *plainplugin.Plugin {
	n.t.Helper()
	path := filepath.Join(n.cfg.RegistryDir(), name)
	must(n.t, os.MkdirAll(filepath.Dir(path), 0o755))
	p := plainplugin.New(resource, path)
	p.Info = &pluginregistration.PluginInfo{Type: "DevicePlugin", Name: resource,
		SupportedVersions: []string{"v1beta1"}}
	p.SetDevices(plainplugin.Devices("dev", 3, -1))
	n.t.Cleanup(p.Stop)
	return p
}

func TestRegistryRegistersBothStyles(t *testing.T) {
	for _, style := range []kubelet.Style{kubelet.Style136, kubelet.Style120} {
		n := newNode(t, kubelet.Config{Style: style})
		p := n.inRegistry("deep/down/x.sock")
		must(t, p.Serve())
		n.counts(3, 3)
		must(t, p.WaitCalls(deadline(t), "NotifyRegistrationStatus", 1))
		equal(t, "told so", p.Calls("NotifyRegistrationStatus")[0].Status.PluginRegistered, true)
		if style == kubelet.Style136 {
			contains(t, p.Calls("GetInfo")[0].Authority, "%2F")
			equal(t, "authority", p.Calls("ListAndWatch")[0].Authority, "localhost")
		}
	}
}

func TestRegistryUsesAnotherEndpoint(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	service := n.plugin(resource)
	service.SetDevices(plainplugin.Devices("dev", 5, -1))
	must(t, service.Serve())
	p := n.inRegistry("x.sock")
	p.Info.Endpoint = service.Path
	must(t, p.Serve())
	n.counts(5, 5)
	equal(t, "streams at the registry socket", len(p.Calls("ListAndWatch")), 0)
}

func TestRegistrySkipsDotNames(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	for _, name := range []string{".x.sock", ".hidden/x.sock"} {
		must(t, n.inRegistry(name).Serve())
	}
	p := n.inRegistry("y.sock")
	must(t, p.Serve())
	n.counts(3, 3)
	equal(t, "registrations", n.Resource(resource).Registrations, 1)
}

func TestRegistryDeletionDeregistersAndRecreationRegisters(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.inRegistry("x.sock")
	must(t, p.Serve())
	n.counts(3, 3)
	must(t, os.Remove(p.Path))
	n.counts(3, 0)
	p.Stop()
	must(t, p.Serve())
	n.counts(3, 3)
	p.DropStreams() // a broken stream alone does not register again
	n.counts(3, 0)
	p.Stop()
	must(t, p.Serve())
	n.counts(3, 3)
	equal(t, "registrations", n.Resource(resource).Registrations, 3)
}

func TestRegistryIsNotWipedAtARestart(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, n.inRegistry("x.sock").Serve())
	n.counts(3, 3)
	must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill}))
	n.counts(3, 3)
	equal(t, "registrations", n.Resource(resource).Registrations, 2)
}

func TestRegistryRefusesAndRetries(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.inRegistry("x.sock")
	p.Info.SupportedVersions = []string{"v2"}
	must(t, p.Serve())
	must(t, p.WaitCalls(deadline(t), "NotifyRegistrationStatus", 2))
	st := p.Calls("NotifyRegistrationStatus")[0].Status
	equal(t, "registered", st.PluginRegistered, false)
	contains(t, st.Error, "is not supported by kubelet")
}
