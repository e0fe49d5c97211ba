// SPDX-License-Identifier: Apache-2.0

// Waiting costs nothing and ends by itself; an end comes whatever the kubelet does.

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hami/kubelet"
)

func TestWaitingForTheDriverCostsNothing(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	must(t, os.Remove(n.file()))
	d := n.start("--fail-on-init-error=false")
	d.waitLog("looking again")
	d.restful(100, 20)
	equal(t, "Register calls", n.Resource(vgpu).Registers, 0)
	start := time.Now()
	n.edit(n.machine)
	n.counts(32, 32)
	if took := time.Since(start); took > 2*time.Second && !d.sanitized() {
		t.Errorf("served %v after the driver came", took)
	}
}

func TestWaitingForALibraryCostsNothing(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.start("--driver=hamivgpu", "--fail-on-init-error=false", "--driver-root="+n.dir)
	d.waitLog("failed to open HAMI driver library")
	d.restful(100, 20)
	equal(t, "times that it was said", strings.Count(d.text(), "failed to open"), 1)
	d.terminate()
}

func TestWaitingForTheKubeletCostsNothing(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.Stop(kubelet.Kill)
	d := n.start()
	n.awaitSocket()
	d.restful(100, 20)
	must(t, n.Start())
	n.counts(32, 32)
	d.restful(100, 20)
}

// kubeletProcess runs the stand-in's program in the place of the one in this process.
func (n *node) kubeletProcess() *exec.Cmd {
	n.t.Helper()
	n.Stop(kubelet.Kill)
	self, err := os.Executable()
	must(n.t, err)
	cmd := exec.Command(filepath.Join(filepath.Dir(self), "hami-kubelet"), "--quiet",
		"--dir", n.cfg.DevicePluginDir, "--root", n.cfg.RootDir,
		"--control", filepath.Join(n.dir, "ctl"))
	out, err := cmd.StdoutPipe()
	must(n.t, err)
	must(n.t, cmd.Start())
	n.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ready := make([]byte, 64)
	_, err = out.Read(ready)
	must(n.t, err)
	contains(n.t, string(ready), "ready")
	return cmd
}

func TestTermWhileTheKubeletIsStopped(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	cmd := n.kubeletProcess()
	n.machine = newMachine(16)
	n.edit(n.machine)
	d := n.start("--cores-per-device=1000", "--memory-mb-per-core=40") // 1 MB, above any buffer
	d.waitLog("ListAndWatch opened")
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	for i := 0; i < 4; i++ {
		health := []string{"unhealthy", "healthy"}[i%2]
		n.edit(n.machine.withHealth(1, health))
		d.waitLog(fmt.Sprintf("16000 slots, %d healthy", 15000+1000*(i%2)))
	}
	d.terminate()
}

func TestTermWhileRegisterIsPending(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	cmd := n.kubeletProcess()
	must(t, cmd.Process.Signal(syscall.SIGSTOP)) // the kernel still takes connections for it
	d := n.start()
	d.waitLog("registering, attempt 1")
	d.terminate()
}

func TestTermWhileTheStreamIsAwaited(t *testing.T) {
	n := newNode(t, kubelet.Config{Style: kubelet.Style120})
	must(t, n.SetFault("stream", "ignore", 1))
	d := n.start()
	must(t, n.WaitCondition(within(t, patience), "registers", vgpu+":1"))
	d.terminate()
}

func TestTermWithSilentConnections(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.serve()
	n.silent(20)
	d.terminate()
}

// Signals in any number end it once.
func TestManySignalsEndItOnce(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.serve()
	for i := 0; i < 200; i++ {
		d.signal(syscall.SIGHUP)
	}
	n.running(pod("a", want("main", 2)))
	for i := 0; i < 20; i++ {
		d.cmd.Process.Signal(syscall.SIGINT) // it may have ended
	}
	equal(t, "exit status", d.waitExit(3*time.Second), 0)
}
