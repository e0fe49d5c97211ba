// SPDX-License-Identifier: Apache-2.0

// This file owns the control socket: one JSON object a line in, one out.

package kubelet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"sync"
)

const maxControlLine = 16 << 20

// Request is one line to the control socket.
type Request struct {
	Verb string            `json:"verb"`
	Args map[string]string `json:"args"`
}

// Reply is one line from it.
type Reply struct {
	OK     bool            `json:"ok"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Control serves a stand-in to scripts.
type Control struct {
	kubelet  *Kubelet
	listener net.Listener
	quit     chan struct{}
	once     sync.Once
}

// NewControl listens on a path.
func NewControl(k *Kubelet, path string) (*Control, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	c := &Control{kubelet: k, listener: listener, quit: make(chan struct{})}
	go c.serve()
	return c, nil
}

// Quit is closed when a script has said quit.
func (c *Control) Quit() <-chan struct{} { return c.quit }

// Close ends listening and removes the socket.
func (c *Control) Close() { c.listener.Close() }

func (c *Control) serve() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		go c.talk(conn)
	}
}

func (c *Control) talk(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	in.Buffer(make([]byte, 64<<10), maxControlLine)
	for in.Scan() {
		var req Request
		var result interface{}
		err := json.Unmarshal(in.Bytes(), &req)
		if err == nil {
			result, err = c.do(req)
		}
		if _, err := conn.Write(reply(result, err)); err != nil {
			return
		}
		if req.Verb == "quit" {
			c.once.Do(func() { close(c.quit) })
		}
	}
}

func reply(result interface{}, err error) []byte {
	rep := Reply{OK: err == nil}
	if err != nil {
		rep.Error = err.Error()
	} else if result != nil {
		rep.Result, err = json.Marshal(result)
		if err != nil {
			rep = Reply{Error: err.Error()}
		}
	}
	line, err := json.Marshal(&rep)
	if err != nil {
		line = []byte(`{"ok":false,"error":"reply cannot be encoded"}`)
	}
	return append(line, '\n')
}

// do runs one verb, and refuses arguments that the verb does not know.
func (c *Control) do(req Request) (interface{}, error) {
	verb, ok := verbs[req.Verb]
	if !ok {
		return nil, fmt.Errorf("verb %q: must be one of %v", req.Verb, verbNames())
	}
	if req.Verb != "wait" { // whose arguments are conditions
		known := newSet(verb.args...)
		for key := range req.Args {
			if !known.has(key) {
				return nil, fmt.Errorf("%s: argument %q: must be one of %v", req.Verb, key,
					verb.args)
			}
		}
	}
	if req.Args == nil {
		req.Args = map[string]string{}
	}
	return verb.do(c.kubelet, req.Args)
}

// Call sends one request to a control socket and returns its reply.
func Call(path string, req Request) (*Reply, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	line, err := json.Marshal(&req)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	var rep Reply
	if err := json.NewDecoder(conn).Decode(&rep); err != nil {
		return nil, err
	}
	return &rep, nil
}
