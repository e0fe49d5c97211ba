// SPDX-License-Identifier: Apache-2.0

// This file owns plain connections to the daemon's socket, and what its idleness costs.

package e2e

import (
	"errors"
	"io/ioutil"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// count is full with HAMI_LONG=1, else a twentieth.
func count(full int) int {
	if os.Getenv("HAMI_LONG") != "" {
		return full
	}
	return full / 20
}

func (n *node) dial() *net.UnixConn {
	n.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", n.socket())
		if err == nil {
			return conn.(*net.UnixConn)
		}
		if !errors.Is(err, syscall.EAGAIN) || time.Now().After(end) { // its backlog is full
			n.t.Fatal(err)
		}
	}
}

// silent are connections that say nothing.
type silent []*net.UnixConn

func (n *node) silent(count int) silent {
	n.t.Helper()
	var list silent
	for i := 0; i < count; i++ {
		list = append(list, n.dial())
	}
	n.t.Cleanup(list.close)
	return list
}

func (s silent) close() {
	for _, conn := range s {
		conn.Close()
	}
}

// waitFds waits until the daemon has at most that many and two: gRPC keeps some to itself.
func (d *daemon) waitFds(most int) {
	d.t.Helper()
	for end := time.Now().Add(patience); d.fds() > most+2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%d fds, at most %d are expected", d.fds(), most+2)
		}
	}
}

// ticks is the CPU time used, in 1/100 s.
func (d *daemon) ticks() int {
	d.t.Helper()
	text, err := ioutil.ReadFile(d.proc("stat"))
	must(d.t, err)
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+2:]))
	user, err := strconv.Atoi(fields[11])
	must(d.t, err)
	system, err := strconv.Atoi(fields[12])
	must(d.t, err)
	return user + system
}

// switches is how often its threads have gone to sleep.
func (d *daemon) switches() int {
	d.t.Helper()
	sum := 0
	files, err := filepath.Glob(d.proc("task/*/status"))
	must(d.t, err)
	for _, file := range files {
		text, _ := ioutil.ReadFile(file) // a thread may have ended
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "voluntary_ctxt_switches:") {
				v, _ := strconv.Atoi(strings.Fields(line)[1])
				sum += v
			}
		}
	}
	return sum
}

// restful looks on for two seconds, in which it must sleep most of the time. The bounds are far
// from what is normal: they tell a loop from a daemon that waits.
func (d *daemon) restful(switches, ticks int) {
	d.t.Helper()
	t0, s0 := d.ticks(), d.switches()
	time.Sleep(2 * time.Second)
	usedTicks, usedSwitches := d.ticks()-t0, d.switches()-s0
	d.t.Logf("in 2 s: %d ticks, %d switches", usedTicks, usedSwitches)
	if !d.sanitized() && (usedTicks > ticks || usedSwitches > switches) {
		d.t.Errorf("in 2 s: %d ticks, %d switches; at most %d and %d", usedTicks, usedSwitches,
			ticks, switches)
	}
}
