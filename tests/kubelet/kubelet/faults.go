// SPDX-License-Identifier: Apache-2.0

// This file owns the faults that a test may order.

package kubelet

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

type streamFault string

const (
	streamReset   streamFault = "reset"  // RST_STREAM before the first frame is received
	streamCut     streamFault = "cut"    // the connection breaks instead
	streamUnread  streamFault = "unread" // nothing is read from the connection any more
	streamIgnored streamFault = "ignore" // frames are read by HTTP/2 but never received
)

type faults struct {
	StreamFault   streamFault
	StreamCount   int
	RegisterError string
	RegisterCount int
	RegisterDelay time.Duration
	Mute          bool // Register is never answered
	ListenDelay   time.Duration
	Recreate      string // "", socket, graceful or kill: N after the next Register
	RecreateAfter time.Duration
}

// SetFault orders a fault. Names and values are those of the control verb.
func (k *Kubelet) SetFault(name, value string, count int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := &k.faults
	if count < 1 {
		count = 1
	}
	switch name {
	case "stream":
		switch streamFault(value) {
		case streamReset, streamCut, streamUnread, streamIgnored:
			f.StreamFault, f.StreamCount = streamFault(value), count
			return nil
		}
		return fmt.Errorf("stream=%q: must be reset, cut, unread or ignore", value)
	case "register-error":
		f.RegisterError, f.RegisterCount = value, count
		return nil
	case "mute":
		f.Mute = true
		return nil
	case "register-delay":
		return parseDelay(&f.RegisterDelay, value)
	case "listen-delay":
		return parseDelay(&f.ListenDelay, value)
	case "recreate-socket", "restart-graceful", "restart-kill":
		if err := parseDelay(&f.RecreateAfter, value); err != nil {
			return err
		}
		f.Recreate = name
		return nil
	}
	return fmt.Errorf("fault %q: must be stream, register-error, mute, register-delay, "+
		"listen-delay, recreate-socket, restart-graceful or restart-kill", name)
}

func parseDelay(d *time.Duration, value string) error {
	if ms, err := strconv.Atoi(value); err == nil && ms >= 0 {
		*d = time.Duration(ms) * time.Millisecond
		return nil
	}
	v, err := time.ParseDuration(value)
	if err != nil || v < 0 {
		return fmt.Errorf("%q: must be a duration such as 5ms", value)
	}
	*d = v
	return nil
}

// ClearFaults ends all faults: unread connections are read again, mute calls end with an error.
func (k *Kubelet) ClearFaults() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = faults{}
	if k.run != nil {
		for c := range k.run.open {
			c.link.setUnread(false)
		}
	}
	k.notifyLocked()
}

func (k *Kubelet) takeStreamFault() streamFault {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.faults.StreamCount == 0 {
		return ""
	}
	k.faults.StreamCount--
	return k.faults.StreamFault
}

// registerFault holds up or refuses a Register call.
func (r *run) registerFault() error {
	k := r.k
	k.mu.Lock()
	f := k.faults
	if f.RegisterCount > 0 {
		k.faults.RegisterCount--
	}
	k.mu.Unlock()
	if f.RegisterDelay > 0 {
		select {
		case <-time.After(f.RegisterDelay):
		case <-r.ctx.Done():
		}
	}
	if f.Mute {
		k.waitFor(r.ctx, func() bool { return !k.faults.Mute })
		return errors.New("the kubelet was mute")
	}
	if f.RegisterCount > 0 {
		return errors.New(f.RegisterError)
	}
	return nil
}

// afterRegister does what was ordered for the time after an answered Register.
func (r *run) afterRegister() {
	k := r.k
	k.mu.Lock()
	what, after := k.faults.Recreate, k.faults.RecreateAfter
	k.faults.Recreate = ""
	k.mu.Unlock()
	if what == "" {
		return
	}
	time.AfterFunc(after, func() {
		var err error
		switch what {
		case "recreate-socket":
			err = r.recreateSocket()
		case "restart-graceful":
			err = k.Restart(RestartOptions{Mode: Graceful})
		case "restart-kill":
			err = k.Restart(RestartOptions{Mode: Kill})
		}
		k.cfg.Logf("%s after Register: done, error %v", what, err)
	})
}

// recreateSocket gives kubelet.sock a new inode without a restart: the old listener's connections
// live on.
func (r *run) recreateSocket() error {
	r.k.mu.Lock()
	dead := r.dead
	r.k.mu.Unlock()
	if dead {
		return errors.New("kubelet is stopped")
	}
	if err := os.Remove(r.k.cfg.Socket()); err != nil && !os.IsNotExist(err) {
		return err
	}
	return r.sock.listen(0)
}
