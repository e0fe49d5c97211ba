// SPDX-License-Identifier: Apache-2.0

// This file owns kubelet.sock: the Registration service.

package kubelet

import (
	"context"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"hami/proto/deviceplugin"
)

type registration struct{ run *run }

func (r *run) serveRegistration(listenDelay time.Duration) error {
	server := grpc.NewServer()
	deviceplugin.RegisterRegistrationServer(server, &registration{r})
	sock := newService(r.k.cfg.Socket(), server)
	r.k.mu.Lock()
	r.sock = sock
	r.k.mu.Unlock()
	return sock.listen(listenDelay)
}

// Register checks the request, and from 1.25 on dials back before it answers.
func (s *registration) Register(ctx context.Context, req *deviceplugin.RegisterRequest) (
	*deviceplugin.Empty, error) {
	r := s.run
	r.k.countRegister(req.ResourceName)
	err := r.registerFault()
	if err == nil {
		err = checkRegistration(req.Version, req.ResourceName)
	}
	if err == nil {
		err = r.registerPlugin(ctx, req)
	}
	if err != nil {
		r.k.cfg.Logf("Register %s at %s: %v", req.ResourceName, req.Endpoint, err)
		return nil, err
	}
	r.afterRegister()
	return &deviceplugin.Empty{}, nil
}

func (r *run) registerPlugin(ctx context.Context, req *deviceplugin.RegisterRequest) error {
	path := filepath.Join(r.k.cfg.DevicePluginDir, req.Endpoint)
	if r.k.cfg.Style == Style136 {
		return r.connect(ctx, req.ResourceName, path)
	}
	// One more goroutine under a handler that Stop ends first, so Stop cannot miss it.
	r.goRun(func() {
		if err := r.connect120(req.ResourceName, path, req.Options); err != nil {
			r.k.cfg.Logf("%s: %v", req.ResourceName, err)
		}
	})
	return nil
}
