// SPDX-License-Identifier: Apache-2.0

// Package plainplugin is a plain, correct v1beta1 device plugin on real unix sockets, to try the
// kubelet stand-in against. It records every call and lets a test change every answer.
package plainplugin

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"hami/proto/deviceplugin"
	"hami/proto/pluginregistration"
)

// Plugin serves one resource.
type Plugin struct {
	Resource string
	Path     string // of its socket
	Options  *deviceplugin.DevicePluginOptions

	// Answers; nil takes the plain one. Set before Serve.
	OnAllocate  func(ids []string) (*deviceplugin.AllocateResponse, error)
	OnPreferred func(*deviceplugin.ContainerPreferredAllocationRequest) (
		*deviceplugin.PreferredAllocationResponse, error)
	OnPreStart func(ctx context.Context, ids []string) error
	Info       *pluginregistration.PluginInfo // served when not nil: the registry way

	mu      sync.Mutex
	devices []*deviceplugin.Device
	calls   []Call
	changed chan struct{}
	version int
	drop    int // streams below this number are to end
	streams int
	server  *grpc.Server
}

// Call is one recorded call.
type Call struct {
	Method    string
	Authority string
	IDs       []string // Allocate, PreStartContainer
	Request   *deviceplugin.ContainerPreferredAllocationRequest
	Deadline  time.Duration // what was left of it, 0 without one
	Status    *pluginregistration.RegistrationStatus
}

// New makes a plugin whose socket is path.
func New(resource, path string) *Plugin {
	return &Plugin{Resource: resource, Path: path, changed: make(chan struct{}),
		Options: &deviceplugin.DevicePluginOptions{}}
}

// Devices makes n healthy devices, with a NUMA node each unless numa is negative.
func Devices(prefix string, n int, numa int64) []*deviceplugin.Device {
	var list []*deviceplugin.Device
	for i := 0; i < n; i++ {
		dev := &deviceplugin.Device{ID: fmt.Sprintf("%s-%02d", prefix, i), Health: "Healthy"}
		if numa >= 0 {
			dev.Topology = &deviceplugin.TopologyInfo{
				Nodes: []*deviceplugin.NUMANode{{ID: numa}}}
		}
		list = append(list, dev)
	}
	return list
}

// Serve makes the socket anew and listens.
func (p *Plugin) Serve() error {
	if err := os.Remove(p.Path); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", p.Path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	deviceplugin.RegisterDevicePluginServer(server, p)
	if p.Info != nil {
		pluginregistration.RegisterRegistrationServer(server, registry{p})
	}
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	go server.Serve(listener)
	return nil
}

// Register calls the kubelet's Register.
func (p *Plugin) Register(ctx context.Context, kubeletSocket string) error {
	return p.RegisterAs(ctx, kubeletSocket, "v1beta1", p.Resource)
}

// RegisterAs calls Register with another version or name.
func (p *Plugin) RegisterAs(ctx context.Context, kubeletSocket, version, resource string) error {
	conn, err := grpc.DialContext(ctx, "unix:"+kubeletSocket, grpc.WithInsecure(),
		grpc.WithBlock())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = deviceplugin.NewRegistrationClient(conn).Register(ctx,
		&deviceplugin.RegisterRequest{Version: version, Endpoint: filepath.Base(p.Path),
			ResourceName: resource, Options: p.Options})
	return err
}

// Stop ends the plugin at once; its socket goes with it.
func (p *Plugin) Stop() {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// SetDevices sends a new list on every open stream.
func (p *Plugin) SetDevices(devices []*deviceplugin.Device) {
	p.mu.Lock()
	p.devices = devices
	p.bumpLocked()
	p.mu.Unlock()
}

// DropStreams ends the streams that are open now, with status OK.
func (p *Plugin) DropStreams() {
	p.mu.Lock()
	p.drop = p.streams
	p.bumpLocked()
	p.mu.Unlock()
}

func (p *Plugin) bumpLocked() {
	p.version++
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Plugin) record(ctx context.Context, c Call) {
	if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get(":authority")) > 0 {
		c.Authority = md.Get(":authority")[0]
	}
	if deadline, ok := ctx.Deadline(); ok {
		c.Deadline = time.Until(deadline)
	}
	p.mu.Lock()
	p.calls = append(p.calls, c)
	p.bumpLocked()
	p.mu.Unlock()
}

// Calls returns what was recorded, of one method, or all if it is empty.
func (p *Plugin) Calls(method string) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Call
	for _, c := range p.calls {
		if method == "" || c.Method == method {
			list = append(list, c)
		}
	}
	return list
}

// WaitCalls waits until a method was called n times.
func (p *Plugin) WaitCalls(ctx context.Context, method string, n int) error {
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if len(p.Calls(method)) >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s was not called %d times: %v", method, n, ctx.Err())
		}
	}
}

// GetDevicePluginOptions answers the options.
func (p *Plugin) GetDevicePluginOptions(ctx context.Context, _ *deviceplugin.Empty) (
	*deviceplugin.DevicePluginOptions, error) {
	p.record(ctx, Call{Method: "GetDevicePluginOptions"})
	return p.Options, nil
}

// ListAndWatch sends the list, and again at each change.
func (p *Plugin) ListAndWatch(_ *deviceplugin.Empty,
	stream deviceplugin.DevicePlugin_ListAndWatchServer) error {
	p.record(stream.Context(), Call{Method: "ListAndWatch"})
	p.mu.Lock()
	me := p.streams
	p.streams++
	p.mu.Unlock()
	sent := []*deviceplugin.Device{{}}
	for {
		p.mu.Lock()
		list, changed, ended := p.devices, p.changed, me < p.drop
		p.mu.Unlock()
		if ended {
			return nil
		}
		if !same(list, sent) {
			err := stream.Send(&deviceplugin.ListAndWatchResponse{Devices: list})
			if err != nil {
				return err
			}
			sent = list
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// same compares by identity: SetDevices always brings a new slice.
func same(a, b []*deviceplugin.Device) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Allocate answers one env that names the ids.
func (p *Plugin) Allocate(ctx context.Context, req *deviceplugin.AllocateRequest) (
	*deviceplugin.AllocateResponse, error) {
	if len(req.ContainerRequests) != 1 {
		return nil, fmt.Errorf("%d container requests", len(req.ContainerRequests))
	}
	ids := req.ContainerRequests[0].DevicesIds
	p.record(ctx, Call{Method: "Allocate", IDs: ids})
	if p.OnAllocate != nil {
		return p.OnAllocate(ids)
	}
	return Answer(map[string]string{"PLAIN_IDS": fmt.Sprint(ids)}), nil
}

// Answer makes an Allocate response of envs.
func Answer(envs map[string]string) *deviceplugin.AllocateResponse {
	return &deviceplugin.AllocateResponse{
		ContainerResponses: []*deviceplugin.ContainerAllocateResponse{{Envs: envs}}}
}

// GetPreferredAllocation answers the first ids in the order given, must-include first.
func (p *Plugin) GetPreferredAllocation(ctx context.Context,
	req *deviceplugin.PreferredAllocationRequest) (*deviceplugin.PreferredAllocationResponse, error) {
	r := req.ContainerRequests[0]
	p.record(ctx, Call{Method: "GetPreferredAllocation", Request: r})
	if p.OnPreferred != nil {
		return p.OnPreferred(r)
	}
	return Preferred(r.AvailableDeviceIDs[:r.AllocationSize]...), nil
}

// Preferred makes a GetPreferredAllocation response.
func Preferred(ids ...string) *deviceplugin.PreferredAllocationResponse {
	return &deviceplugin.PreferredAllocationResponse{
		ContainerResponses: []*deviceplugin.ContainerPreferredAllocationResponse{{DeviceIDs: ids}}}
}

// PreStartContainer answers yes.
func (p *Plugin) PreStartContainer(ctx context.Context, req *deviceplugin.PreStartContainerRequest) (
	*deviceplugin.PreStartContainerResponse, error) {
	p.record(ctx, Call{Method: "PreStartContainer", IDs: req.DevicesIds})
	if p.OnPreStart != nil {
		if err := p.OnPreStart(ctx, req.DevicesIds); err != nil {
			return nil, err
		}
	}
	return &deviceplugin.PreStartContainerResponse{}, nil
}

type registry struct{ p *Plugin }

func (r registry) GetInfo(ctx context.Context, _ *pluginregistration.InfoRequest) (
	*pluginregistration.PluginInfo, error) {
	r.p.record(ctx, Call{Method: "GetInfo"})
	return r.p.Info, nil
}

func (r registry) NotifyRegistrationStatus(ctx context.Context,
	st *pluginregistration.RegistrationStatus) (*pluginregistration.RegistrationStatusResponse, error) {
	r.p.record(ctx, Call{Method: "NotifyRegistrationStatus", Status: st})
	return &pluginregistration.RegistrationStatusResponse{}, nil
}
