// SPDX-License-Identifier: Apache-2.0

// Standard streams that are closed, or that nobody reads.

package e2e

import (
	"io/ioutil"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hami/kubelet"
)

// redirected is a shell's exec with redirections.
func redirected(words string) []string { return []string{"sh", "-c", `exec "$0" "$@" ` + words} }

func TestClosedStandardStreamsAreNoFilesOfOurs(t *testing.T) {
	for _, words := range []string{"<&-", "2>&-", "<&- >&- 2>&-"} {
		n := newNode(t, kubelet.Config{})
		d := n.startWith(nil, redirected(words), "--v=10")
		n.counts(32, 32)
		for _, fd := range []string{"0", "1", "2"} {
			target, err := os.Readlink(d.proc("fd/" + fd))
			must(t, err)
			if target != "/dev/null" && !strings.HasPrefix(target, "pipe:") {
				t.Errorf("%s: descriptor %s is %s", words, fd, target)
			}
		}
		n.running(pod("a", want("main", 2)))
		lock, err := ioutil.ReadFile(filepath.Join(n.dir, "run", "hami.com_vgpu.lock"))
		must(t, err)
		equal(t, "lines in the lock file", strings.Count(string(lock), "\n"), 1)
		d.terminate()
	}
}

// A log's reader may be stopped, or be slower than what is written.
func TestLogThatNobodyReadsStopsNothing(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	fifo := filepath.Join(n.dir, "log")
	must(t, syscall.Mkfifo(fifo, 0o600))
	log, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends: it opens at once
	must(t, err)
	defer log.Close()
	d := n.startWith(nil, redirected("2>"+fifo), "--v=6")
	n.counts(32, 32)
	client := n.plugin()
	for i := 0; i < 1000; i++ { // a pipe takes 64 KiB at most
		_, err := allocateBy(within(t, patience), client, slots(0, 8)...)
		must(t, err)
	}
	buf := make([]byte, 1<<20)
	got, err := log.Read(buf)
	must(t, err)
	if got < 50000 {
		t.Errorf("the log was not full: %d bytes", got)
	}
	n.edit(n.machine.withHealth(1, "unhealthy")) // something to say again
	n.counts(32, 24)
	got, err = log.Read(buf)
	must(t, err)
	contains(t, string(buf[:got]), " log lines lost")
	d.terminate()
}

func TestConfigurationThatIsNoFileIsRefused(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	fifo := filepath.Join(n.dir, "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	loop := filepath.Join(n.dir, "loop")
	must(t, os.Symlink("loop", loop))
	for _, path := range []string{fifo, loop, n.dir, "/dev/zero"} {
		d := n.start("--config=" + path)
		equal(t, path, d.waitExit(patience), 2)
		contains(t, d.text(), path+": ")
		equal(t, path+": lines", strings.Count(d.text(), "\n"), 1)
	}
}
