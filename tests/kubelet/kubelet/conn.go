// SPDX-License-Identifier: Apache-2.0

// This file owns the raw connections: they can be cut without a word, left unread, and watched for
// the moment at which a whole request has gone out.

package kubelet

import (
	"context"
	"errors"
	"net"
	"sync"
)

var errCut = errors.New("connection cut")

// link stands for all connections of one gRPC channel.
type link struct {
	mu     sync.Mutex
	cond   *sync.Cond
	cut    bool
	unread bool
	conns  map[*trackedConn]struct{}
	onSent func() // once, after the next request's last frame is on the wire
}

func newLink() *link {
	l := &link{conns: map[*trackedConn]struct{}{}}
	l.cond = sync.NewCond(&l.mu)
	return l
}

func (l *link) dialer(path string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		if l.isCut() {
			return nil, errCut
		}
		raw, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		return l.adopt(raw)
	}
}

func (l *link) adopt(raw net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		raw.Close()
		return nil, errCut
	}
	c := &trackedConn{Conn: raw, link: l, skip: len(preface)}
	l.conns[c] = struct{}{}
	return c, nil
}

func (l *link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// cutAll closes every connection as a killed process does: no GOAWAY, no RST_STREAM.
func (l *link) cutAll() {
	l.mu.Lock()
	l.cut = true
	for c := range l.conns {
		c.Conn.Close()
	}
	l.conns = map[*trackedConn]struct{}{}
	l.cond.Broadcast()
	l.mu.Unlock()
}

// setUnread stops or resumes reading. What has been read is not lost.
func (l *link) setUnread(unread bool) {
	l.mu.Lock()
	l.unread = unread
	l.cond.Broadcast()
	l.mu.Unlock()
}

// whenSent calls fn after the next complete request has been written.
func (l *link) whenSent(fn func()) {
	l.mu.Lock()
	l.onSent = fn
	l.mu.Unlock()
}

func (l *link) requestSent() {
	l.mu.Lock()
	fn := l.onSent
	l.onSent = nil
	l.mu.Unlock()
	if fn != nil {
		fn()
	}
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

type trackedConn struct {
	net.Conn
	link *link

	// Where the written bytes stand in the HTTP/2 framing; one writer at a time.
	skip int
	head [9]byte
	have int
}

func (c *trackedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.link.mu.Lock()
	for c.link.unread && !c.link.cut {
		c.link.cond.Wait()
	}
	c.link.mu.Unlock()
	return n, err
}

func (c *trackedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.scan(p[:n]) {
		c.link.requestSent()
	}
	return n, err
}

// scan walks the frames and says whether a DATA frame with END_STREAM was completed.
func (c *trackedConn) scan(p []byte) bool {
	const frameData, flagEndStream = 0, 1

	sent := false
	for len(p) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(p))
			c.skip -= n
			p = p[n:]
			continue
		}
		n := copy(c.head[c.have:], p)
		c.have += n
		p = p[n:]
		if c.have == len(c.head) {
			c.have = 0
			c.skip = int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
			sent = sent || (c.head[3] == frameData && c.head[4]&flagEndStream != 0)
		}
	}
	return sent
}

func (c *trackedConn) Close() error {
	c.link.mu.Lock()
	delete(c.link.conns, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}

// trackedListener hands its connections to a link, so that a kill can cut them.
type trackedListener struct {
	net.Listener
	link *link
}

func (l *trackedListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.link.adopt(raw)
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
