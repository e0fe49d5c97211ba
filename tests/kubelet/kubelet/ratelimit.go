// SPDX-License-Identifier: Apache-2.0

// This file owns the rate limit of podresources: 100 requests a second, 10 at once.

package kubelet

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	podResourcesRate  = 100.0
	podResourcesBurst = 10.0
)

// bucket holds tokens that time refills.
type bucket struct {
	mu     sync.Mutex
	tokens float64
	last   time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens += now.Sub(b.last).Seconds() * podResourcesRate
	if b.tokens > podResourcesBurst {
		b.tokens = podResourcesBurst
	}
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// rateLimit refuses what comes too fast.
func rateLimit() grpc.ServerOption {
	b := &bucket{tokens: podResourcesBurst, last: time.Now()}
	return grpc.UnaryInterceptor(func(ctx context.Context, req interface{},
		_ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (interface{}, error) {
		if !b.take(time.Now()) {
			return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
		}
		return handler(ctx, req)
	})
}
