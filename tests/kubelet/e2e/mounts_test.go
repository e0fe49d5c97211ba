// SPDX-License-Identifier: Apache-2.0

// The plugin's container: its own root, read-only, and three mounts of the node.

package e2e

import (
	"bytes"
	"io/ioutil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hami/kubelet"
)

// container makes the root that $0's arguments run in: the image's directories read-only, the
// device plugin directory, /dev and the driver's directory. There is no /proc, /sys, /run, /var.
const container = `set -e
root=$1 plugins=$2 driver=$3 program=$4
shift 4
mount -t tmpfs tmpfs "$root"
for dir in /usr /lib /lib64 /bin /etc; do
	[ -e "$dir" ] || continue
	mkdir "$root$dir"
	mount --rbind "$dir" "$root$dir"
done
mkdir -p "$root/app" "$root$plugins" "$root/dev" "$root$driver"
mount --rbind "$program" "$root/app"
mount --bind "$plugins" "$root$plugins"
mount --rbind /dev "$root/dev"
mount --bind "$driver" "$root$driver"
mount -o remount,bind,ro "$root"
exec chroot "$root" "$@"`

func TestThreeMountsAreEnough(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	driver := filepath.Join(n.dir, "driver")
	root := filepath.Join(n.dir, "root")
	must(t, os.Mkdir(driver, 0o755))
	must(t, os.Mkdir(root, 0o755))
	program, err := filepath.Abs(os.Getenv("HAMI_DP"))
	must(t, err)
	text, err := ioutil.ReadFile(program)
	must(t, err)
	if bytes.Contains(text, []byte("__asan_init")) || bytes.Contains(text, []byte("__tsan_init")) {
		t.Skip("a sanitizer needs /proc")
	}
	built := filepath.Dir(filepath.Dir(program))
	relative, err := filepath.Rel(built, program)
	must(t, err)
	before := []string{"unshare", "--user", "--map-root-user", "--mount", "--propagation", "private",
		"sh", "-c", container, "sh", root, n.cfg.DevicePluginDir, driver, built}
	probe := exec.Command(before[0], append(append([]string{}, before[1:]...), "/bin/true")...)
	if text, err := probe.CombinedOutput(); err != nil {
		t.Skipf("no private mounts on this machine: %v: %s", err, text)
	}
	file := filepath.Join(driver, "machine.json")
	n.machine.save(t, file)
	// Without /proc the program does not find the library from where it lies itself.
	libraries := "LD_LIBRARY_PATH=/app/libhamidp"
	d := startCommand(t, []string{libraries}, append(before, "/app/"+relative, "--driver=sim:"+file,
		"--device-plugin-dir="+n.cfg.DevicePluginDir, "--cores-per-device=8")...)
	n.d = d
	n.counts(32, 32)
	st := n.running(pod("a", want("main", 2)))
	equal(t, "device nodes", len(st.Container("main").View.Devices), 1)
	contains(t, d.text(), "going on without")
	must(t, n.Restart(kubelet.RestartOptions{Mode: kubelet.Kill}))
	n.counts(32, 32)
	n.machine.withHealth(1, "unhealthy").save(t, file) // the directory is mounted, so it is seen
	n.counts(32, 24)
	entries, err := ioutil.ReadDir(n.cfg.DevicePluginDir)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s lies in the device plugin directory", e.Name())
		}
	}
	d.terminate()
}
