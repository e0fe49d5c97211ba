// SPDX-License-Identifier: Apache-2.0

// Package tap lets a Go test binary print TAP: one line for each top-level test.
package tap

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const childEnv = "HAMI_TAP_CHILD"

var (
	result = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\S+) (\(.*\))$`)
	note   = regexp.MustCompile(`^    \S+_test\.go:\d+: (.*)$`)
)

// Main is to be called by TestMain. It runs the binary once more and converts what it prints.
func Main(m *testing.M) {
	if os.Getenv(childEnv) != "" || listsOnly() {
		os.Exit(m.Run())
	}
	// The child dies with us; that signal is tied to the thread which made it.
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe", append(os.Args[1:], "-test.v")...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Printf("Bail out! %v\n", err)
		os.Exit(1)
	}
	failed := convert(out, os.Stdout)
	if err := cmd.Wait(); err != nil && !failed {
		fmt.Printf("Bail out! the tests ended early: %v\n", err)
		os.Exit(1)
	}
	if failed {
		os.Exit(1)
	}
}

func listsOnly() bool {
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(strings.TrimLeft(arg, "-"), "test.list") {
			return true
		}
	}
	return false
}

// convert writes TAP and says whether a test failed.
func convert(in io.Reader, out io.Writer) bool {
	failed := false
	count := 0
	reason := ""
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), 16<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := note.FindStringSubmatch(line); m != nil {
			reason = m[1]
		}
		m := result.FindStringSubmatch(line)
		if m == nil {
			fmt.Fprintf(out, "# %s\n", line)
			continue
		}
		count++
		switch m[1] {
		case "PASS":
			fmt.Fprintf(out, "ok %d - %s\n", count, m[2])
		case "SKIP":
			fmt.Fprintf(out, "ok %d - %s # SKIP %s\n", count, m[2], reason)
		default:
			failed = true
			fmt.Fprintf(out, "not ok %d - %s %s\n", count, m[2], m[3])
		}
	}
	fmt.Fprintf(out, "1..%d\n", count)
	return failed
}
