// SPDX-License-Identifier: Apache-2.0

// The control socket and its verbs.

package kubelet_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"hami/kubelet"
)

func TestControlSocket(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	path := filepath.Join(filepath.Dir(n.cfg.RootDir), "ctl")
	c, err := kubelet.NewControl(n.Kubelet, path)
	must(t, err)
	t.Cleanup(c.Close)
	call := func(verb string, args map[string]string) *kubelet.Reply {
		t.Helper()
		rep, err := kubelet.Call(path, kubelet.Request{Verb: verb, Args: args})
		must(t, err)
		return rep
	}
	n.plain(4)
	equal(t, "wait", call("wait", map[string]string{"allocatable": resource + ":4"}).OK, true)
	rep := call("run-pod", map[string]string{"name": "a", "limits": resource + ":2", "env": "A:b"})
	var st kubelet.PodStatus
	must(t, json.Unmarshal(rep.Result, &st))
	equal(t, "phase", st.Phase, "Running")
	equal(t, "env", st.Container("main").View.Env["A"], "b")
	rep = call("run-pod", map[string]string{
		"spec": `{"name":"b","containers":[{"name":"c","limits":{"` + resource + `":1}}]}`})
	equal(t, "spec", rep.OK, true)
	for _, verb := range []string{"status", "devices", "frames", "pods", "checkpoint"} {
		equal(t, verb, call(verb, nil).OK, true)
	}
	equal(t, "delete-pod", call("delete-pod", map[string]string{"name": "b"}).OK, true)
	equal(t, "restart-container", call("restart-container", map[string]string{"name": "a"}).OK, true)
	equal(t, "fault", call("fault", map[string]string{"set": "stream", "value": "reset"}).OK, true)
	equal(t, "clear", call("fault", map[string]string{"clear": "true"}).OK, true)
	equal(t, "restart", call("restart", map[string]string{"mode": "kill"}).OK, true)
	equal(t, "pod", call("pod", map[string]string{"name": "a"}).OK, true)

	bad := []struct {
		verb, key, value, part string
	}{
		{"nosuch", "", "", `verb "nosuch": must be one of`},
		{"status", "x", "y", `argument "x"`},
		{"run-pod", "limits", "x", "must be RESOURCE:AMOUNT"},
		{"run-pod", "spec", `{"nosuch":1}`, "unknown field"},
		{"pod", "name", "z", "not found"},
		{"restart", "mode", "soft", "must be graceful or kill"},
		{"wait", "timeout", "1ms", "nothing to wait for"},
		{"wait", "moon", "x:1", "must be capacity"},
		{"fault", "set", "fire", "must be stream"},
	}
	for _, b := range bad {
		rep := call(b.verb, map[string]string{b.key: b.value})
		if b.key == "" {
			rep = call(b.verb, nil)
		}
		equal(t, b.verb, rep.OK, false)
		contains(t, rep.Error, b.part)
	}
	rep = call("wait", map[string]string{"allocatable": resource + ":4", "timeout": "20ms"})
	contains(t, rep.Error, "deadline exceeded")
	call("quit", nil)
	<-c.Quit()
}
