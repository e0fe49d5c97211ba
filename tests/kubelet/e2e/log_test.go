// SPDX-License-Identifier: Apache-2.0

// This file owns the stand-in's log, which is shown when a test has failed.

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

type lockedLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *lockedLog) add(format string, args ...interface{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (l *lockedLog) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) > n {
		l.lines = l.lines[len(l.lines)-n:]
	}
	return strings.Join(l.lines, "\n")
}
