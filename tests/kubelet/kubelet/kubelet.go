// SPDX-License-Identifier: Apache-2.0

// This file owns the stand-in's life: start, stop, restart, and how waiters learn of a change.

package kubelet

import (
	"context"
	"fmt"
	"io/ioutil"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"
)

// Kubelet is a node's kubelet with its API server in one: pods, counters and faults outlive a
// restart, everything else is one process's memory and lives in run.
type Kubelet struct {
	cfg Config

	life  sync.Mutex // one start or stop at a time
	admit sync.Mutex // one pod admission at a time; RPCs are made under it

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	rng     *rand.Rand
	run     *run // nil while stopped
	pods    map[string]*pod
	podSeq  int
	faults  faults
	stats   map[string]*resourceStats
	frames  []Frame
	starts  int
}

// run is one process life of the kubelet.
type run struct {
	k      *Kubelet
	ctx    context.Context
	cancel context.CancelFunc
	dead   bool
	wg     sync.WaitGroup

	sock   *service // kubelet.sock
	podres *service

	clients    map[string]*client // the newest of each resource
	open       map[*client]struct{}
	endpoints  map[string]*endpoint
	resources  map[string]*resource
	podDevices podDevices
	reuse      map[string]map[string]idSet // pod UID, resource
	affinity   map[string]mask             // pod UID/container
	pending    string                      // UID of the pod in admission
}

// New makes a stopped stand-in.
func New(cfg Config) (*Kubelet, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Kubelet{
		cfg:     cfg,
		changed: make(chan struct{}),
		rng:     rand.New(rand.NewSource(cfg.Seed)),
		pods:    map[string]*pod{},
		stats:   map[string]*resourceStats{},
	}, nil
}

// Config returns the completed configuration.
func (k *Kubelet) Config() Config { return k.cfg }

func (k *Kubelet) newRun() *run {
	r := &run{
		k:          k,
		clients:    map[string]*client{},
		open:       map[*client]struct{}{},
		endpoints:  map[string]*endpoint{},
		resources:  map[string]*resource{},
		podDevices: podDevices{},
		reuse:      map[string]map[string]idSet{},
		affinity:   map[string]mask{},
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Start brings the kubelet up: checkpoint, wiped sockets, kubelet.sock, plugins_registry,
// podresources, and the admission of the pods it knows.
func (k *Kubelet) Start() error {
	k.life.Lock()
	defer k.life.Unlock()
	return k.start()
}

func (k *Kubelet) start() error {
	for _, dir := range []string{k.cfg.DevicePluginDir, k.cfg.RegistryDir(),
		filepath.Dir(k.cfg.PodResourcesSocket())} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	r := k.newRun()
	if err := r.readCheckpoint(); err != nil {
		k.cfg.Logf("checkpoint not used: %v", err)
	}
	if err := k.wipe(); err != nil {
		return err
	}

	k.mu.Lock()
	if k.run != nil {
		k.mu.Unlock()
		return fmt.Errorf("already running")
	}
	k.run = r
	k.starts++
	listenDelay := k.faults.ListenDelay
	k.notifyLocked()
	k.mu.Unlock()

	if err := r.servePodResources(); err != nil {
		k.stop(Kill)
		return err
	}
	if err := r.serveRegistration(listenDelay); err != nil {
		k.stop(Kill)
		return err
	}
	r.goRun(r.watchRegistry)
	k.cfg.Logf("kubelet %s started, seed %d", k.cfg.Style, k.cfg.Seed)
	return nil
}

// wipe removes what a starting kubelet removes from the device plugin directory.
func (k *Kubelet) wipe() error {
	entries, err := ioutil.ReadDir(k.cfg.DevicePluginDir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		isSocket := entry.Mode()&os.ModeSocket != 0
		isFile := entry.Mode().IsRegular() && entry.Name() != checkpointFile
		if isSocket || (isFile && k.cfg.WipeFiles) {
			if err := os.Remove(filepath.Join(k.cfg.DevicePluginDir, entry.Name())); err != nil &&
				!os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// StopMode says how the kubelet ends.
type StopMode string

// The two ways to end.
const (
	Graceful StopMode = "graceful" // SIGTERM: streams are closed first, kubelet.sock goes
	Kill     StopMode = "kill"     // SIGKILL: connections are cut, the sockets stay
)

// Stop ends the kubelet. It returns when nothing of it runs any more.
func (k *Kubelet) Stop(mode StopMode) {
	k.life.Lock()
	defer k.life.Unlock()
	k.stop(mode)
}

func (k *Kubelet) stop(mode StopMode) {
	k.mu.Lock()
	r := k.run
	if r == nil {
		k.mu.Unlock()
		return
	}
	r.dead = true
	k.run = nil
	var clients []*client
	for c := range r.open {
		clients = append(clients, c)
	}
	k.notifyLocked()
	k.mu.Unlock()

	if mode == Kill {
		for _, c := range clients {
			c.link.cutAll()
		}
	}
	r.cancel()
	for _, c := range clients {
		c.close()
	}
	r.sock.stop(mode)
	r.podres.stop(mode)
	r.wg.Wait()
	k.cfg.Logf("kubelet stopped (%s)", mode)
}

// RestartOptions says how the kubelet comes back.
type RestartOptions struct {
	Mode      StopMode
	Delay     time.Duration // for which it is away
	Reboot    bool          // the node restarts: no container runs afterwards
	NoReadmit bool          // the caller calls Readmit
}

// Restart stops the kubelet, waits, and starts it again.
func (k *Kubelet) Restart(o RestartOptions) error {
	k.life.Lock()
	defer k.life.Unlock()
	k.stop(o.Mode)
	if o.Reboot {
		k.reboot()
	}
	if o.Delay > 0 {
		time.Sleep(o.Delay)
	}
	if err := k.start(); err != nil {
		return err
	}
	if !o.NoReadmit {
		k.Readmit()
	}
	return nil
}

// goRun starts a goroutine that Stop waits for, unless Stop has begun.
func (r *run) goRun(fn func()) {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	if !r.dead {
		r.goRunLocked(fn)
	}
}

func (r *run) goRunLocked(fn func()) {
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		fn()
	}()
}

func (k *Kubelet) notifyLocked() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// waitFor blocks until pred, called with the lock held, is true.
func (k *Kubelet) waitFor(ctx context.Context, pred func() bool) error {
	for {
		k.mu.Lock()
		done := pred()
		changed := k.changed
		k.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// shuffledLocked returns ids in a random order, reproducible by the seed.
func (k *Kubelet) shuffledLocked(ids idSet) []string {
	list := ids.sorted()
	k.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// idSet is a set of device ids, or of other names.
type idSet map[string]struct{}

func newSet(ids ...string) idSet {
	s := idSet{}
	s.add(ids...)
	return s
}

func (s idSet) add(ids ...string) {
	for _, id := range ids {
		s[id] = struct{}{}
	}
}

func (s idSet) has(id string) bool {
	_, ok := s[id]
	return ok
}

func (s idSet) sorted() []string {
	list := make([]string, 0, len(s))
	for id := range s {
		list = append(list, id)
	}
	sort.Strings(list)
	return list
}

func (s idSet) union(o idSet) idSet {
	u := newSet(s.sorted()...)
	for id := range o {
		u[id] = struct{}{}
	}
	return u
}

func (s idSet) minus(o idSet) idSet {
	d := idSet{}
	for id := range s {
		if !o.has(id) {
			d[id] = struct{}{}
		}
	}
	return d
}

func (s idSet) common(o idSet) idSet { return s.minus(s.minus(o)) }
