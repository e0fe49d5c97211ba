// SPDX-License-Identifier: Apache-2.0

// This file owns hami-dp as a process: start, log, signals, and what /proc says about it.

package e2e

import (
	"bytes"
	"fmt"
	"io/ioutil"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

type daemon struct {
	t       *testing.T
	cmd     *exec.Cmd
	done    chan struct{} // closed once it has ended
	err     error         // of Wait
	mu      sync.Mutex
	log     bytes.Buffer
	changed chan struct{}
}

// startDaemon starts the program with a clean environment plus env.
func startDaemon(t *testing.T, env []string, args ...string) *daemon {
	t.Helper()
	return startCommand(t, env, append([]string{os.Getenv("HAMI_DP")}, args...)...)
}

// startCommand starts something that becomes the program.
func startCommand(t *testing.T, env []string, args ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, done: make(chan struct{}), changed: make(chan struct{})}
	d.cmd = exec.Command(args[0], args[1:]...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HAMI_") {
			d.cmd.Env = append(d.cmd.Env, v)
		}
	}
	d.cmd.Env = append(d.cmd.Env, env...)
	d.cmd.Stdout, d.cmd.Stderr = d, d
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The death signal is tied to the thread that started the process.
		runtime.LockOSThread()
		err := d.cmd.Start()
		started <- err
		if err == nil {
			d.err = d.cmd.Wait()
			close(d.done)
		}
	}()
	must(t, <-started)
	t.Cleanup(func() {
		d.cmd.Process.Kill()
		<-d.done
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(args, " "), d.text())
		}
	})
	return d
}

// Write takes the daemon's output.
func (d *daemon) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.changed)
	d.changed = make(chan struct{})
	return d.log.Write(p)
}

func (d *daemon) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// waitLog waits until the output contains part.
func (d *daemon) waitLog(part string) {
	d.t.Helper()
	timeout := time.After(patience)
	for {
		d.mu.Lock()
		found := strings.Contains(d.log.String(), part)
		changed := d.changed
		d.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			d.t.Fatalf("no %q in the log within %v", part, patience)
		}
	}
}

func (d *daemon) signal(sig os.Signal) {
	d.t.Helper()
	must(d.t, d.cmd.Process.Signal(sig))
}

// waitExit returns the exit status, or fails the test after limit.
func (d *daemon) waitExit(limit time.Duration) int {
	d.t.Helper()
	select {
	case <-d.done:
	case <-time.After(limit):
		d.t.Fatalf("still running after %v", limit)
	}
	return d.cmd.ProcessState.ExitCode()
}

func (d *daemon) alive() bool {
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// terminate ends it by SIGTERM, which must take less than 3 s and succeed.
func (d *daemon) terminate() {
	d.t.Helper()
	start := time.Now()
	d.signal(syscall.SIGTERM)
	equal(d.t, "exit status after SIGTERM", d.waitExit(3*time.Second), 0)
	d.t.Logf("SIGTERM to exit: %v", time.Since(start))
}

func (d *daemon) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), name)
}

// status reads a line of /proc/PID/status such as VmRSS or Threads.
func (d *daemon) status(field string) int {
	d.t.Helper()
	text, err := ioutil.ReadFile(d.proc("status"))
	must(d.t, err)
	for _, line := range strings.Split(string(text), "\n") {
		parts := strings.Fields(line)
		if len(parts) > 1 && parts[0] == field+":" {
			n, err := strconv.Atoi(parts[1])
			must(d.t, err)
			return n
		}
	}
	d.t.Fatalf("no %s in /proc/PID/status", field)
	return 0
}

func (d *daemon) fds() int {
	d.t.Helper()
	entries, err := ioutil.ReadDir(d.proc("fd"))
	must(d.t, err)
	return len(entries)
}

// sanitized says whether it runs with a sanitizer or valgrind, whose memory says nothing.
func (d *daemon) sanitized() bool {
	text, err := ioutil.ReadFile(d.proc("maps"))
	return err == nil && (bytes.Contains(text, []byte("asan")) ||
		bytes.Contains(text, []byte("tsan")) || bytes.Contains(text, []byte("valgrind")))
}

func (d *daemon) usage() string {
	return fmt.Sprintf("RSS %d KiB, %d threads, %d fds", d.status("VmRSS"), d.status("Threads"),
		d.fds())
}
