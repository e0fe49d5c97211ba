// SPDX-License-Identifier: Apache-2.0

// This file owns a gRPC server on a unix socket as the kubelet runs two of them.

package kubelet

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
)

type service struct {
	path   string
	server *grpc.Server
	link   *link
	done   chan struct{}

	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

func newService(path string, server *grpc.Server) *service {
	return &service{path: path, server: server, link: newLink(), done: make(chan struct{})}
}

// listen binds the path and serves on it. With a delay the socket is bound, but refuses.
func (s *service) listen(delay time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return grpc.ErrServerStopped
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: s.path}); err != nil {
		syscall.Close(fd)
		return err
	}
	if delay == 0 {
		return s.serve(fd)
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		select {
		case <-time.After(delay):
			s.serve(fd) // wg is above 0 as long as we are here
		case <-s.done:
			syscall.Close(fd)
		}
	}()
	return nil
}

func (s *service) serve(fd int) error {
	if err := syscall.Listen(fd, 128); err != nil {
		syscall.Close(fd)
		return err
	}
	file := os.NewFile(uintptr(fd), s.path)
	listener, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return err
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		s.server.Serve(&trackedListener{Listener: listener, link: s.link})
	}()
	return nil
}

// stop ends the server. Killed, it leaves its socket file behind.
func (s *service) stop(mode StopMode) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	close(s.done)
	if mode == Kill {
		s.link.cutAll()
	}
	s.server.Stop()
	if mode == Graceful {
		os.Remove(s.path)
	}
	s.wg.Wait()
}
