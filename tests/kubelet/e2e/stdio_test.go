// SPDX-License-Identifier: Apache-2.0

// Standard streams that are closed, or that nobody reads.

package e2e

import (
	"io/ioutil"
	"os"
	"path/filepath"
	"strings"
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
