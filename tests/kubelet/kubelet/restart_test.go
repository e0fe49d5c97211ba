// SPDX-License-Identifier: Apache-2.0

// Kubelet restarts: what is wiped, what is kept, what happens to pods.

package kubelet_test

import (
	"fmt"
	"io/ioutil"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hami/kubelet"
	"hami/plainplugin"
	"hami/proto/deviceplugin"
)

func (n *node) status(name string) *kubelet.PodStatus {
	n.t.Helper()
	st, err := n.Pod("default", name)
	must(n.t, err)
	return st
}

func answerThen(fn func()) func([]string) (*deviceplugin.AllocateResponse, error) {
	return func(ids []string) (*deviceplugin.AllocateResponse, error) {
		fn()
		return plainplugin.Answer(map[string]string{"PLAIN_IDS": fmt.Sprint(ids)}), nil
	}
}

func inodeOf(path string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return "", err
	}
	return fmt.Sprint(st.Ino, st.Ctim), nil
}

func inode(t *testing.T, path string) string {
	t.Helper()
	id, err := inodeOf(path)
	must(t, err)
	return id
}

// waitFile waits for something outside the stand-in's own state.
func waitFile(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing happened in 10 s")
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestStartWipesSocketsOnly(t *testing.T) {
	for _, wipe := range []bool{false, true} {
		n := newNode(t, kubelet.Config{WipeFiles: wipe})
		p := n.plain(1)
		file := filepath.Join(n.cfg.DevicePluginDir, "plain.file")
		dir := filepath.Join(n.cfg.DevicePluginDir, "sub")
		must(t, ioutil.WriteFile(file, nil, 0o600))
		must(t, os.Mkdir(dir, 0o755))
		before := inode(t, n.cfg.Socket())
		must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill}))
		equal(t, "plugin's socket", exists(p.Path), false)
		equal(t, "plain file", exists(file), !wipe)
		equal(t, "directory", exists(dir), true)
		equal(t, "checkpoint", exists(n.cfg.CheckpointPath()), true)
		if inode(t, n.cfg.Socket()) == before {
			t.Fatal("kubelet.sock is the old one")
		}
	}
}

func TestStopModesDifferInWhatTheyLeave(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(1)
	n.Stop(kubelet.Kill)
	equal(t, "kubelet.sock after a kill", exists(n.cfg.Socket()), true)
	equal(t, "plugin's socket after a kill", exists(p.Path), true)
	must(t, n.Start())
	n.Stop(kubelet.Graceful)
	equal(t, "kubelet.sock after a stop", exists(n.cfg.Socket()), false)
}

func TestCountsAreZeroAfterARestartUntilThePluginIsBack(t *testing.T) {
	for _, mode := range []kubelet.StopMode{kubelet.Graceful, kubelet.Kill} {
		n := newNode(t, kubelet.Config{})
		p := n.plain(4)
		st := n.pod("a", 2)
		must(t, n.Restart(kubelet.RestartOptions{Mode: mode, Delay: time.Millisecond}))
		n.counts(0, 0)
		equal(t, "live", n.Resource(resource).LiveStreams, 0)
		after := n.status("a")
		equal(t, "phase of a running pod", after.Phase, "Running")
		equal(t, "ids", ids(after, "main"), ids(st, "main"))
		p.Stop()
		n.register(p)
		n.counts(4, 4)
		equal(t, "still in use", n.Resource(resource).InUse, 2)
		rejected(t, n.pod("b", 3), "Requested: 3, Available: 2")
	}
}

func TestContainerRestartsOnTheCachedAnswer(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(4)
	env := n.pod("a", 2).Container("main").View.Env["PLAIN_IDS"]
	p.Stop()
	must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill}))
	st, err := n.RestartContainer("default", "a", "main")
	must(t, err)
	equal(t, "env from the checkpoint", st.Container("main").View.Env["PLAIN_IDS"], env)
	equal(t, "restarts", st.Container("main").Restarts, 1)
	equal(t, "Allocate calls", len(p.Calls("Allocate")), 1)
}

func TestRebootedPodFailsUntilThePluginIsBack(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.plain(2)
	n.pod("a", 1)
	must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill, Reboot: true}))
	rejected(t, n.status("a"),
		"no healthy devices present; cannot allocate unhealthy devices "+resource)
}

func TestRebootedPodPassesOnceThePluginIsBack(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plain(2)
	held := ids(n.pod("a", 1), "main")
	reboot := kubelet.RestartOptions{Mode: kubelet.Kill, Reboot: true, NoReadmit: true}
	must(t, n.Restart(reboot))
	p.Stop()
	n.register(p)
	n.Readmit()
	equal(t, "phase", n.status("a").Phase, "Running")
	equal(t, "ids", ids(n.status("a"), "main"), held)
	equal(t, "Allocate calls", len(p.Calls("Allocate")), 1)

	list := plainplugin.Devices("dev", 2, -1)
	for _, dev := range list {
		if dev.ID == held[0] {
			dev.Health = "Unhealthy"
		}
	}
	p.SetDevices(list)
	n.counts(2, 1)
	must(t, n.Restart(reboot))
	p.Stop()
	n.register(p)
	n.Readmit()
	rejected(t, n.status("a"), "previously allocated devices are no longer healthy; "+
		"cannot allocate unhealthy devices "+resource)
}

func TestRebootedPodAlwaysPassesIn120(t *testing.T) {
	n := newNode(t, kubelet.Config{Style: kubelet.Style120})
	n.plain(2)
	n.pod("a", 1)
	must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill, Reboot: true}))
	equal(t, "phase", n.status("a").Phase, "Running")
}

func TestRebootWithoutCheckpointEntryOfTheResource(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.plain(2)
	n.pod("a", 1)
	n.Stop(kubelet.Kill)
	must(t, os.Remove(n.cfg.CheckpointPath()))
	must(t, n.Start())
	equal(t, "resources without a checkpoint", n.Resource(resource).InUse, 0)
}

func TestStopDuringAllocateLeavesThePodPending(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	p := n.plugin(resource)
	p.SetDevices(plainplugin.Devices("dev", 2, -1))
	hold := make(chan struct{})
	entered := make(chan struct{}, 8)
	p.OnAllocate = answerThen(func() {
		entered <- struct{}{}
		<-hold
	})
	n.register(p)
	done := make(chan error, 1)
	go func() {
		_, err := n.RunPod(kubelet.PodSpec{Name: "a",
			Containers: []kubelet.ContainerSpec{want("main", 1)}})
		done <- err
	}()
	<-entered
	n.Stop(kubelet.Graceful)
	if <-done == nil {
		t.Fatal("the pod was admitted by a stopped kubelet")
	}
	close(hold)
	p.Stop()
	equal(t, "phase", n.status("a").Phase, "Pending")
	must(t, n.Start())
	n.register(p)
	n.Readmit()
	equal(t, "phase", n.status("a").Phase, "Running")
}
