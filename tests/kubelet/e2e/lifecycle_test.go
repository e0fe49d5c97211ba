// SPDX-License-Identifier: Apache-2.0

// Start, refusal to start, and an end that always comes.

package e2e

import (
	"fmt"
	"io/ioutil"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hami/kubelet"
)

func TestTermWithALiveStream(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve().terminate()
	must(t, n.WaitCondition(within(t, patience), "live", vgpu+":0"))
	if _, err := os.Lstat(n.socket()); err == nil {
		t.Errorf("%s is still there", n.socket())
	}
}

func TestTermWithAStoppedReader(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.machine = newMachine(16) // a list beyond any flow-control window
	n.edit(n.machine)
	must(t, n.SetFault("stream", "unread", 1))
	d := n.start("--cores-per-device=100", "--memory-mb-per-core=400")
	must(t, n.WaitCondition(within(t, patience), "live", vgpu+":1"))
	d.terminate()
}

func TestTermWithAMuteKubelet(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, n.SetFault("mute", "", 1))
	d := n.start()
	must(t, n.WaitCondition(within(t, patience), "registers", vgpu+":1"))
	d.terminate()
}

func TestTermWithoutAKubelet(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.Stop(kubelet.Kill)
	d := n.start()
	n.awaitSocket()
	d.terminate()
}

func TestSecondInstanceRefusesToStart(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	first := n.serve()
	second := n.start()
	if code := second.waitExit(patience); code == 0 {
		t.Error("the second instance ended with status 0")
	}
	equal(t, "the first runs", first.alive(), true)
	equal(t, "registrations", n.Resource(vgpu).Registrations, 1)
	n.running(pod("a", want("main", 2)))
}

func TestStaleSocketIsReplaced(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	listener, err := net.Listen("unix", n.socket())
	must(t, err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	must(t, listener.Close())
	n.serve()
	info, err := os.Lstat(n.socket())
	must(t, err)
	equal(t, "mode", info.Mode().Perm(), os.FileMode(0o600))
	n.running(pod("a", want("main", 1)))
}

func TestKilledInstanceIsFollowedByAnother(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve().signal(syscall.SIGKILL)
	n.d.waitExit(patience)
	n.serve()
}

func TestSocketDirectoryHasNoStrayFiles(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	entries, err := ioutil.ReadDir(n.cfg.DevicePluginDir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	equal(t, "files", names, []string{"hami.com_vgpu.sock", "kubelet.sock",
		"kubelet_internal_checkpoint"})
}

func TestListOver4MiBIsRefusedAtStart(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.machine = newMachine(512)
	for i := range n.machine.Devices {
		n.machine.Devices[i].UUID = fmt.Sprintf("GPU-%04d-%s", i, strings.Repeat("a", 100))
		n.machine.Devices[i].PCI = fmt.Sprintf("%04x:01:00.0", i)
	}
	n.edit(n.machine)
	d := n.start("--cores-per-device=100", "--memory-mb-per-core=400")
	if code := d.waitExit(patience); code == 0 {
		t.Error("ended with status 0")
	}
	size := 0
	for _, number := range regexp.MustCompile(`\d+`).FindAllString(d.text(), -1) {
		if v, err := strconv.Atoi(number); err == nil && v > 4194304 && v < 20000000 {
			size = v
		}
	}
	if size == 0 {
		t.Errorf("the computed size is not named:\n%s", d.text())
	}
	equal(t, "Register calls", n.Resource(vgpu).Registers, 0)
}

func TestFailOnInitErrorEnds(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, os.Remove(n.file()))
	d := n.start("--fail-on-init-error=true", "--v=0")
	if code := d.waitExit(patience); code == 0 {
		t.Error("ended with status 0")
	}
	equal(t, "lines", strings.Count(strings.TrimSpace(d.text()), "\n")+1, 1)
	contains(t, d.text(), filepath.Base(n.file()))
}

func TestWithoutFailOnInitErrorItServesOnceTheDriverAppears(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, os.Remove(n.file()))
	d := n.start("--fail-on-init-error=false")
	d.waitLog(filepath.Base(n.file()))
	equal(t, "runs", d.alive(), true)
	n.edit(n.machine)
	n.counts(32, 32)
}

func TestNoGPUFoundIsSaid(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	none := n.machine.clone()
	none.Devices = []device{}
	n.edit(none)
	d := n.start("--fail-on-init-error=false")
	d.waitLog("no HAMI GPU found")
	n.edit(n.machine)
	n.counts(32, 32)
}

func TestDryRunShowsTheSlotsAndEnds(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.start("--dry-run")
	equal(t, "exit status", d.waitExit(patience), 0)
	for _, dev := range n.machine.Devices {
		contains(t, d.text(), dev.UUID)
	}
	equal(t, "Register calls", n.Resource(vgpu).Registers, 0)
}
