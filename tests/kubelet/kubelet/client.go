// SPDX-License-Identifier: Apache-2.0

// This file owns the connection to one plugin: dial, options, ListAndWatch until it ends.

package kubelet

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/golang/protobuf/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"hami/proto/deviceplugin"
)

type client struct {
	run      *run
	resource string
	path     string
	id       int
	link     *link
	conn     *grpc.ClientConn
	api      deviceplugin.DevicePluginClient
	cancel   context.CancelFunc // of the stream
}

// endpoint is what the device manager knows of a resource's plugin.
type endpoint struct {
	client  *client // nil when it comes from the checkpoint
	options *deviceplugin.DevicePluginOptions
	stopped time.Time
}

func (e *endpoint) isStopped() bool { return !e.stopped.IsZero() }

func (e *endpoint) usable() error {
	if e.isStopped() {
		path := ""
		if e.client != nil {
			path = e.client.path
		}
		return fmt.Errorf("endpoint %s has been stopped", path)
	}
	return nil
}

// authority of a call on the DevicePlugin service.
func (k *Kubelet) authority(path string) string {
	if k.cfg.Style == Style120 {
		return path
	}
	return "localhost"
}

// registryAuthority of GetInfo and NotifyRegistrationStatus.
func (k *Kubelet) registryAuthority(path string) string {
	if k.cfg.Style == Style120 {
		return path
	}
	return url.PathEscape(path)
}

// dial connects and waits for the server's SETTINGS.
func (r *run) dial(ctx context.Context, path, authority string) (*grpc.ClientConn, *link, error) {
	ctx, cancel := context.WithTimeout(ctx, r.k.cfg.DialTimeout)
	defer cancel()
	l := newLink()
	conn, err := grpc.DialContext(ctx, path, grpc.WithInsecure(), grpc.WithBlock(),
		grpc.WithAuthority(authority), grpc.WithContextDialer(l.dialer(path)))
	if err != nil {
		l.cutAll()
		return nil, nil, err
	}
	return conn, l, nil
}

func (r *run) newClient(ctx context.Context, resource, path string) (*client, error) {
	conn, l, err := r.dial(ctx, path, r.k.authority(path))
	if err != nil {
		return nil, fmt.Errorf("failed to dial device plugin: %v", err)
	}
	c := &client{run: r, resource: resource, path: path, link: l, conn: conn,
		api: deviceplugin.NewDevicePluginClient(conn), cancel: func() {}}
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	if r.dead {
		go c.close()
		return nil, fmt.Errorf("kubelet is stopping")
	}
	st := r.k.statsLocked(resource)
	st.clients++
	c.id = st.clients
	r.open[c] = struct{}{}
	return c, nil
}

// close ends the channel. The lock must not be held.
func (c *client) close() {
	c.link.setUnread(false)
	c.conn.Close()
	c.run.k.mu.Lock()
	delete(c.run.open, c)
	c.run.k.mu.Unlock()
}

// connect is the way of 1.25 and later: dial, options, endpoint; all of it before Register answers.
func (r *run) connect(ctx context.Context, resource, path string) error {
	c, err := r.newClient(ctx, resource, path)
	if err != nil {
		return err
	}
	options, err := c.api.GetDevicePluginOptions(ctx, &deviceplugin.Empty{})
	if err != nil {
		c.close()
		return fmt.Errorf("failed to get device plugin options: %v", err)
	}
	if !r.install(c, options) {
		c.close()
		return fmt.Errorf("kubelet is stopping")
	}
	return nil
}

// connect120 is the way before 1.25: after the answer, without asking for options.
func (r *run) connect120(resource, path string, options *deviceplugin.DevicePluginOptions) error {
	c, err := r.newClient(r.ctx, resource, path)
	if err != nil {
		return err
	}
	if !r.install(c, options) {
		c.close()
	}
	return nil
}

// install makes c the resource's endpoint (the newest wins) and opens its stream.
func (r *run) install(c *client, options *deviceplugin.DevicePluginOptions) bool {
	k := r.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.dead {
		return false
	}
	if options == nil {
		options = &deviceplugin.DevicePluginOptions{}
	}
	r.clients[c.resource] = c
	r.endpoints[c.resource] = &endpoint{client: c, options: options}
	st := k.statsLocked(c.resource)
	st.Registrations++
	st.Options = options
	k.cfg.Logf("%s: registered at %s", c.resource, c.path)
	k.notifyLocked()
	ctx, cancel := context.WithCancel(r.ctx)
	c.cancel = cancel
	r.goRunLocked(func() {
		c.watch(ctx)
		r.streamEnded(c)
	})
	return true
}

// watch opens ListAndWatch without a deadline and reads it until it ends.
func (c *client) watch(ctx context.Context) {
	k := c.run.k
	defer c.cancel()
	fault := k.takeStreamFault()
	ready := make(chan struct{})
	if fault == streamReset || fault == streamCut || fault == streamUnread {
		c.link.whenSent(func() {
			if fault == streamCut {
				c.link.cutAll()
			} else {
				c.link.setUnread(fault == streamUnread)
			}
			close(ready)
		})
	}
	stream, err := c.api.ListAndWatch(ctx, &deviceplugin.Empty{})
	if err != nil {
		k.cfg.Logf("%s: ListAndWatch: %v", c.resource, err)
		return
	}
	k.streamOpened(c)
	defer k.streamClosed(c)
	switch fault {
	case streamReset, streamCut:
		select {
		case <-ready:
		case <-ctx.Done():
		}
		k.cfg.Logf("%s: stream ended before its first frame (%s)", c.resource, fault)
		return
	case streamIgnored:
		k.cfg.Logf("%s: ListAndWatch is not received", c.resource)
		for c.conn.WaitForStateChange(ctx, connectivity.Ready) {
			if c.conn.GetState() != connectivity.Ready {
				return
			}
		}
		return
	}
	for {
		list, err := stream.Recv()
		if err != nil {
			k.cfg.Logf("%s: ListAndWatch ended: %v", c.resource, err)
			return
		}
		c.run.receive(c, list, proto.Size(list))
	}
}

// streamEnded disconnects. 1.25 and later look the client up by the resource's name, so the end
// of an old stream takes the new client down; 1.20 compared endpoints.
func (r *run) streamEnded(c *client) {
	k := r.k
	k.mu.Lock()
	if r.dead {
		k.mu.Unlock()
		return
	}
	victim := c
	if k.cfg.Style == Style136 {
		victim = r.clients[c.resource]
	}
	if victim != nil {
		r.disconnectLocked(victim)
	}
	k.mu.Unlock()
	if victim != nil {
		victim.close()
	}
}

// disconnectLocked takes a client out of the tables; the caller closes it.
func (r *run) disconnectLocked(c *client) {
	if r.clients[c.resource] == c {
		delete(r.clients, c.resource)
	}
	if ep := r.endpoints[c.resource]; ep != nil && ep.client == c {
		r.stopEndpointLocked(c.resource, ep)
	}
	r.k.notifyLocked()
}

func (r *run) stopEndpointLocked(resource string, ep *endpoint) {
	if ep.isStopped() {
		return
	}
	ep.stopped = time.Now()
	r.resource(resource).allUnhealthy()
	time.AfterFunc(r.k.cfg.StopGrace+time.Millisecond, func() {
		r.k.mu.Lock()
		r.k.notifyLocked()
		r.k.mu.Unlock()
	})
}
