// SPDX-License-Identifier: Apache-2.0

// Requests that no kubelet sends: what they are answered, and what they may cost.

package e2e

import (
	"bytes"
	"fmt"
	"io/ioutil"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // as a compressor by name
	"google.golang.org/grpc/status"
	"hami/kubelet"
	"hami/proto/deviceplugin"
)

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v interface{}) ([]byte, error) { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v interface{}) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (rawCodec) Name() string { return "proto" }

// raw calls a method with a message that is given as bytes.
func (n *node) raw(method string, message []byte, opts ...grpc.CallOption) ([]byte, error) {
	n.t.Helper()
	conn, err := grpc.DialContext(within(n.t, patience), "unix:"+n.socket(), grpc.WithInsecure(),
		grpc.WithBlock())
	must(n.t, err)
	defer conn.Close()
	var answer []byte
	opts = append(opts, grpc.ForceCodec(rawCodec{}), grpc.MaxCallSendMsgSize(1<<30))
	err = conn.Invoke(within(n.t, patience), "/v1beta1.DevicePlugin/"+method, &message, &answer,
		opts...)
	return answer, err
}

// field encodes a length-delimited field of a number below 16.
func field(number byte, content []byte) []byte {
	out := []byte{number<<3 | 2}
	n := len(content)
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(append(out, byte(n)), content...)
}

// allocateRaw asks for one container with ids of any bytes.
func (n *node) allocateRaw(ids ...string) error {
	n.t.Helper()
	var container []byte
	for _, id := range ids {
		container = append(container, field(1, []byte(id))...)
	}
	_, err := n.raw("Allocate", field(1, container))
	return err
}

func TestOddIDsAreRefusedWithOneLineEach(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.serve("--v=10")
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		what, id, part string
		code           codes.Code
	}{
		{"1 MiB", long, long[:100], codes.NotFound},
		{"invalid UTF-8", "GPU-\xff\xfe::0", "malformed", codes.InvalidArgument},
		{"embedded NUL", slot(0, 0) + "\x00x", "malformed", codes.InvalidArgument},
		{"newline and escape", "a\nforged line\x1b[31m", "forged line", codes.NotFound},
		{"C1 control", "a\u009b31mforged", "forged", codes.NotFound},
		{"cut inside a character", "a" + strings.Repeat("\u00e9", 200), "a\u00e9", codes.NotFound},
		{"format", "%s%n%s%n", "%s%n%s%n", codes.NotFound},
		{"another case", strings.ToUpper(slot(0, 0)), strings.ToUpper(slot(0, 0)), codes.NotFound},
		{"leading zero", strings.Replace(slot(0, 1), "::1", "::01", 1), "::01", codes.NotFound},
		{"sign", strings.Replace(slot(0, 1), "::1", "::+1", 1), "::+1", codes.NotFound},
		{"trailing blank", slot(0, 0) + " ", slot(0, 0) + " ", codes.NotFound},
	} {
		err := n.allocateRaw(c.id)
		if status.Code(err) != c.code {
			t.Errorf("%s: %.300v", c.what, err)
		}
		contains(t, fmt.Sprint(err), c.part)
		if !utf8.ValidString(fmt.Sprint(err)) {
			t.Errorf("%s: %q", c.what, fmt.Sprint(err))
		}
		if len(fmt.Sprint(err)) > 2000 {
			t.Errorf("%s: %d bytes of text", c.what, len(fmt.Sprint(err)))
		}
	}
	n.running(pod("a", want("main", 8)))
	for _, line := range strings.Split(d.text(), "\n") {
		if strings.HasPrefix(line, "forged") || !utf8.ValidString(line) || strings.ContainsAny(line, "\x1b\u009b\x00") ||
			len(line) > 70000 {
			t.Errorf("log line %.200q", line)
		}
	}
}

func TestEmptyRequests(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	_, err := n.raw("Allocate", nil)
	equal(t, "no container", status.Code(err), codes.InvalidArgument)
	contains(t, fmt.Sprint(err), "0 containers")
	err = n.allocateRaw()
	equal(t, "no id", status.Code(err), codes.InvalidArgument)
	answer, err := n.raw("GetPreferredAllocation", nil)
	must(t, err)
	equal(t, "preferred for no container", len(answer), 0)
	_, err = n.raw("GetDevicePluginOptions", nil)
	must(t, err)
	_, err = n.raw("PreStartContainer", nil)
	must(t, err)
	_, err = n.raw("NoSuchMethod", nil)
	equal(t, "unknown method", status.Code(err), codes.Unimplemented)
}

// Whatever is odd about the question, valid ids come back, never more than asked for.
func TestPreferredForOddQuestions(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	few := slots(1, 3)
	for _, c := range []struct {
		what            string
		available, must []string
		size, answered  int
	}{
		{"negative", few, nil, -1, 0},
		{"least", few, nil, -1 << 31, 0},
		{"none", few, nil, 0, 0},
		{"more than there are", few, nil, 5, 3},
		{"most", few, nil, 1<<31 - 1, 3},
		{"must include what is not available", few, slots(2, 1), 2, 2},
		{"must include more than asked for", few, few, 2, 2},
		{"available twice", append(few, few...), nil, 4, 3},
		{"unknown", []string{"a", "b"}, nil, 2, 0},
		{"nothing available", nil, nil, 2, 0},
	} {
		got := n.preferred(c.available, c.must, c.size)
		equal(t, c.what, []int{len(got), distinct(got)}, []int{c.answered, c.answered})
		known := strings.Join(append(append([]string{}, c.available...), c.must...), " ")
		for _, id := range got {
			contains(t, known, id)
		}
	}
	got := n.preferred(few, slots(2, 1), 2)
	contains(t, strings.Join(got, " "), slot(2, 0))
}

// maxBytes fails the test if the daemon has ever been larger.
func (n *node) maxBytes(what string, field string, limit int) {
	n.t.Helper()
	kib := n.d.status(field)
	n.t.Logf("%s: %s %d KiB", what, field, kib)
	if !n.d.sanitized() && kib > limit/1024 {
		n.t.Errorf("%s: %s %d KiB is above %d bytes", what, field, kib, limit)
	}
}

func TestLargeRequestsCostLittle(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	for _, c := range []struct {
		what, method string
		message      []byte
		code         codes.Code
	}{
		{"200,000 empty containers", "Allocate", bytes.Repeat([]byte{0x0a, 0}, 200000),
			codes.ResourceExhausted},
		{"200,000 empty ids", "Allocate", field(1, bytes.Repeat([]byte{0x0a, 0}, 200000)),
			codes.ResourceExhausted},
		{"200,000 empty questions", "GetPreferredAllocation",
			bytes.Repeat([]byte{0x0a, 0}, 200000), codes.ResourceExhausted},
		{"200,000 unknown fields", "Allocate", bytes.Repeat([]byte{0x7a, 0}, 200000),
			codes.ResourceExhausted},
		{"64 MiB", "Allocate", make([]byte, 64<<20), codes.ResourceExhausted},
		{"256 MiB", "Allocate", make([]byte, 256<<20), codes.ResourceExhausted},
		{"4 MiB and a byte", "Allocate", make([]byte, 4<<20+1), codes.ResourceExhausted},
	} {
		_, err := n.raw(c.method, c.message)
		if status.Code(err) != c.code {
			t.Errorf("%s: %.300v", c.what, err)
		}
		n.maxBytes(c.what, "VmHWM", 40000000)
	}
	bomb := bytes.Repeat([]byte{0x0a, 0}, 32<<20)
	_, err := n.raw("Allocate", bomb, grpc.UseCompressor("gzip"))
	equal(t, "gzip", status.Code(err), codes.Unimplemented)
	n.maxBytes("gzip", "VmHWM", 40000000)
	n.counts(32, 32) // gRPC may end any stream where it is short of memory
	n.running(pod("a", want("main", 2)))
	n.maxBytes("afterwards", "VmRSS", 20000000) // it stayed at 78 MB without a trim
}

func TestParallelAllocatesLeaveNothingBehind(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve("--v=2")
	client := n.plugin()
	before := n.d.fds()
	var wg sync.WaitGroup
	errs := make(chan error, count(10000))
	for i := 0; i < count(10000); i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			_, err := allocateBy(within(t, 3*patience), client, slots(i%4, 8)...)
			errs <- err
		}(i)
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		must(t, err)
	}
	n.maxBytes("after the burst", "VmRSS", 16000000)
	if after := n.d.fds(); after > before { // the count before may hold a connection that was ending
		t.Errorf("fds: %d before, %d after", before, after)
	}
}

// garbage is what a port scanner or a wrong client may send.
func garbage(i int) []byte {
	switch i % 4 {
	case 0:
		return []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	case 1:
		return bytes.Repeat([]byte{byte(i), byte(i >> 8), 0xff}, 100)
	case 2:
		return []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x04\x00\x00\x00\x00\x00")
	}
	return nil
}

func TestGarbageConnectionsLeaveNothingBehind(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	before := n.d.fds()
	for i := 0; i < count(5000); i++ {
		conn := n.dial()
		conn.Write(garbage(i)) // may be refused meanwhile
		if i%3 == 0 {
			conn.CloseWrite()
			ioutil.ReadAll(conn)
		}
		conn.Close()
	}
	n.d.waitFds(before)
	n.running(pod("a", want("main", 2)))
	n.maxBytes("afterwards", "VmRSS", 16000000)
}

func TestConnectionsAreCapped(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.serve()
	before := d.fds()
	silent := n.silent(200)
	d.waitLog("connections are open, refusing more")
	if now := d.fds(); now > before+2*64+8 {
		t.Errorf("%d fds, %d before", now, before)
	}
	equal(t, "lines", strings.Count(d.text(), "refusing more"), 1)
	equal(t, "live streams", n.Resource(vgpu).LiveStreams, 1)
	silent.close()
	d.waitFds(before)
	n.running(pod("a", want("main", 2)))
	d.terminate()
}

func TestTooFewFilesBurnNoCPUAndPassBy(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	d := n.startWith(nil, []string{"sh", "-c", `ulimit -n 48; exec "$0" "$@"`})
	n.counts(32, 32)
	before := d.fds()
	silent := n.silent(30) // more wait in the backlog than it can take
	d.waitLog("cannot accept: Too many open files")
	d.restful(100, 60)
	silent.close()
	d.waitFds(before)
	_, err := n.allocate(slot(0, 0))
	must(t, err)
	equal(t, "live streams", n.Resource(vgpu).LiveStreams, 1)
	d.terminate()
}

func TestOneRequestForTwoContainersIsWholeOrNothing(t *testing.T) {
	n := newNode(t, kubelet.Config{})
	n.serve()
	ask := func(a, b []string) (*deviceplugin.AllocateResponse, error) {
		return n.plugin().Allocate(within(t, patience), &deviceplugin.AllocateRequest{
			ContainerRequests: []*deviceplugin.ContainerAllocateRequest{
				{DevicesIds: a}, {DevicesIds: b}}})
	}
	resp, err := ask(slots(0, 1), slots(1, 2))
	must(t, err)
	equal(t, "responses", len(resp.ContainerResponses), 2)
	_, err = ask(slots(0, 2), slots(0, 1))
	equal(t, "an id for two containers", status.Code(err), codes.InvalidArgument)
	contains(t, fmt.Sprint(err), slot(0, 0))
	_, err = ask(slots(0, 2), []string{"nonsense"})
	equal(t, "the second is unknown", status.Code(err), codes.NotFound)
	contains(t, fmt.Sprint(err), "nonsense")
}
