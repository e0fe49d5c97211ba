// SPDX-License-Identifier: Apache-2.0

// This file owns the plugin watcher: sockets below plugins_registry come and go.

package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hami/proto/pluginregistration"
)

const (
	getInfoTimeout = time.Second
	notifyTimeout  = 5 * time.Second
	maxBackoff     = 2 * time.Minute
)

// identity tells a socket from one made later under the same name.
type identity struct {
	dev, ino uint64
	sec, ns  int64
}

// registered is one socket of the registry as the watcher knows it.
type registered struct {
	id       identity
	resource string // "" until it is registered
	retry    time.Time
	backoff  time.Duration
}

// watchRegistry compares the directory with what is registered, at each reconcile interval. A
// socket deleted and made anew in between shows by its identity.
func (r *run) watchRegistry() {
	known := map[string]*registered{}
	ticker := time.NewTicker(r.k.cfg.Reconcile)
	defer ticker.Stop()
	for {
		r.reconcile(known)
		select {
		case <-ticker.C:
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *run) reconcile(known map[string]*registered) {
	found := r.scanRegistry()
	for path, reg := range known {
		if id, ok := found[path]; !ok || id != reg.id {
			if reg.resource != "" {
				r.deregister(reg.resource)
			}
			delete(known, path)
		}
	}
	for path, id := range found {
		reg := known[path]
		if reg == nil {
			reg = &registered{id: id, backoff: r.k.cfg.Reconcile}
			known[path] = reg
		}
		if reg.resource != "" || time.Now().Before(reg.retry) || r.ctx.Err() != nil {
			continue
		}
		resource, err := r.registerFromRegistry(path)
		if err != nil {
			r.k.cfg.Logf("plugin %s: %v", path, err)
			reg.retry = time.Now().Add(reg.backoff)
			if reg.backoff *= 2; reg.backoff > maxBackoff {
				reg.backoff = maxBackoff
			}
			continue
		}
		reg.resource = resource
	}
}

// scanRegistry lists the sockets at any depth; names that start with a dot are skipped.
func (r *run) scanRegistry() map[string]identity {
	found := map[string]identity{}
	root := r.k.cfg.RegistryDir()
	filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == root {
			return nil
		}
		if strings.HasPrefix(info.Name(), ".") {
			if info.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode()&os.ModeSocket != 0 {
			found[path] = identity{uint64(st.Dev), st.Ino, int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}
		}
		return nil
	})
	return found
}

// registerFromRegistry asks a socket what it is, registers it, and tells it so.
func (r *run) registerFromRegistry(path string) (string, error) {
	conn, l, err := r.dial(r.ctx, path, r.k.registryAuthority(path))
	if err != nil {
		return "", fmt.Errorf("dial failed: %v", err)
	}
	defer l.cutAll()
	defer conn.Close()
	api := pluginregistration.NewRegistrationClient(conn)
	ctx, cancel := context.WithTimeout(r.ctx, getInfoTimeout)
	defer cancel()
	info, err := api.GetInfo(ctx, &pluginregistration.InfoRequest{})
	if err != nil {
		return "", fmt.Errorf("GetInfo failed: %v", err)
	}
	regErr := r.registerInfo(info, path)
	note := &pluginregistration.RegistrationStatus{PluginRegistered: regErr == nil}
	if regErr != nil {
		note.Error = regErr.Error()
	}
	ctx, cancel = context.WithTimeout(r.ctx, notifyTimeout)
	defer cancel()
	if _, err := api.NotifyRegistrationStatus(ctx, note); err != nil && regErr == nil {
		regErr = fmt.Errorf("NotifyRegistrationStatus failed: %v", err)
	}
	return info.Name, regErr
}

func (r *run) registerInfo(info *pluginregistration.PluginInfo, path string) error {
	if info.Type != "DevicePlugin" {
		return fmt.Errorf("no handler registered for plugin type %q", info.Type)
	}
	version := ""
	for _, v := range info.SupportedVersions {
		if v == apiVersion {
			version = v
		}
	}
	if err := checkRegistration(version, info.Name); err != nil {
		return err
	}
	endpoint := info.Endpoint
	if endpoint == "" {
		endpoint = path
	}
	if r.k.cfg.Style == Style120 {
		return r.connect120(info.Name, endpoint, nil)
	}
	return r.connect(r.ctx, info.Name, endpoint)
}

// deregister drops a resource's plugin because its socket is gone.
func (r *run) deregister(resource string) {
	k := r.k
	k.mu.Lock()
	c := r.clients[resource]
	if c != nil && !r.dead {
		k.cfg.Logf("%s: deregistered, its socket is gone", resource)
		r.disconnectLocked(c)
	}
	k.mu.Unlock()
	if c != nil {
		c.close()
	}
}
