// SPDX-License-Identifier: Apache-2.0

// What may happen to the device plugin directory, and to the sockets in it.

package e2e

import (
	"io/ioutil"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hami/kubelet"
)

// back waits until the daemon's socket answers again and the kubelet has the whole list.
func (n *node) back(what string) {
	n.t.Helper()
	n.t.Log(what)
	n.counts(32, 32)
	_, err := n.allocate(slot(0, 0))
	must(n.t, err)
}

func TestDirectoryIsMovedAwayAndBack(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	away := n.cfg.DevicePluginDir + "-away"
	for i := 0; i < 20; i++ {
		must(t, os.Rename(n.cfg.DevicePluginDir, away))
		time.Sleep(time.Duration(i*7) * time.Millisecond) // a listen may be tried, or not yet
		must(t, os.Rename(away, n.cfg.DevicePluginDir))
		n.back("moved")
	}
	n.d.restful(100, 20)
	n.d.terminate()
}

func TestDirectoryIsRemovedAndMadeAnew(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	for i := 0; i < 3; i++ {
		n.Stop(kubelet.Kill)
		away := n.cfg.DevicePluginDir + "-away" // in one step: the daemon makes its socket anew
		must(t, os.Rename(n.cfg.DevicePluginDir, away))
		must(t, os.RemoveAll(away))
		n.d.waitLog("the directory does not exist")
		must(t, n.Start()) // makes it
		n.back("removed")
	}
	n.d.terminate()
}

func TestDirectoryIsALinkThatIsSwitched(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.Stop(kubelet.Kill)
	must(t, os.RemoveAll(n.cfg.DevicePluginDir))
	for _, target := range []string{"a", "b"} {
		must(t, os.Mkdir(filepath.Join(n.dir, target), 0o755))
	}
	must(t, os.Symlink("a", n.cfg.DevicePluginDir))
	must(t, n.Start())
	n.serve()
	n.Stop(kubelet.Kill)
	must(t, os.Symlink("b", n.cfg.DevicePluginDir+".new"))
	must(t, os.Rename(n.cfg.DevicePluginDir+".new", n.cfg.DevicePluginDir))
	must(t, n.Start())
	n.back("switched")
	n.d.terminate()
}

func TestWhatTakesThePlaceOfOurSocketIsLeftAlone(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	must(t, os.Remove(n.socket()))
	n.back("removed")
	for what, put := range map[string]func() error{
		"directory": func() error { return os.Mkdir(n.socket(), 0o755) },
		"file":      func() error { return ioutil.WriteFile(n.socket(), []byte("x"), 0o644) },
		"link":      func() error { return os.Symlink("nowhere", n.socket()) },
	} {
		before := n.socket() + ".before"
		must(t, os.Rename(n.socket(), before)) // what follows is quicker than a new socket
		for put() != nil {
			os.Remove(n.socket())
		}
		must(t, os.RemoveAll(before))
		n.d.waitLog("the path exists and is not a socket")
		n.d.restful(200, 20)
		if info, err := os.Lstat(n.socket()); err != nil || info.Mode()&os.ModeSocket != 0 {
			t.Errorf("the %s was replaced", what)
		}
		must(t, os.Remove(n.socket()))
		n.back(what)
	}
}

func TestWhatIsNoKubeletIsNotCalled(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	path := filepath.Join(n.cfg.DevicePluginDir, "kubelet.sock")
	for what, put := range map[string]func() error{
		"directory": func() error { return os.Mkdir(path, 0o755) },
		"file":      func() error { return ioutil.WriteFile(path, nil, 0o644) },
		"loop":      func() error { return os.Symlink("kubelet.sock", path) },
	} {
		n.Stop(kubelet.Kill)
		os.Remove(path)
		must(t, put())
		n.d.restful(200, 20)
		must(t, os.Remove(path))
		must(t, n.Start())
		n.back(what)
	}
}
