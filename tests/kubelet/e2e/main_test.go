// SPDX-License-Identifier: Apache-2.0

// Package e2e drives hami-dp, the program, against the kubelet stand-in in this process: real
// sockets, real signals, a simulated machine in a file. HAMI_DP names the program; without it
// every test is skipped. HAMI_LONG=1 takes the long form of the restart test.
package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hami/kubelet"
	"hami/tap"
)

const (
	vgpu     = "hami.com/vgpu"
	patience = 10 * time.Second
)

func TestMain(m *testing.M) { tap.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want interface{}) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q does not contain %q", text, part)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func want(name string, amount int) kubelet.ContainerSpec {
	return kubelet.ContainerSpec{Name: name, Limits: map[string]int{vgpu: amount}}
}

func pod(name string, containers ...kubelet.ContainerSpec) kubelet.PodSpec {
	return kubelet.PodSpec{Name: name, Containers: containers}
}
