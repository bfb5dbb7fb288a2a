package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/imagebuild"
	"holdfast/netstack"
	"holdfast/qemu"
	"holdfast/qemu/relay"
)

const (
	guestPackage = "holdfast/kernel/internal/guest/soak"

	startTime = 2 * time.Minute // to boot, on a machine that has other things to do
	askTime   = time.Minute     // for one exchange, likewise
	checks    = 9               // check.Lasting

	clients    = 3 // of each protocol
	messageMax = 32 << 10
)

// The guest's address, and this side's on the same Ethernet. QEMU's user network will not do: a
// guest that has no time for a second answers a connection request twice, and to a connection that
// was answered twice QEMU 7.2 hands one segment of data and no more.
var (
	guestAddress = netip.MustParseAddr("10.0.2.15")
	ownAddress   = netip.MustParsePrefix("10.0.2.2/24")
	ownMAC       = [6]byte{2, 0, 0, 0, 0, 2}
)

// soak is a running guest and what became of it so far.
type soak struct {
	relay   *relay.Relay // the Ethernet between the guest and station
	station *netstack.Stack
	http    http.Client
	machine *qemu.Process
	serving chan struct{}
	came    chan struct{} // capacity 1: a check came round

	requests, echoes atomic.Int64

	mu      sync.Mutex
	rounds  map[string]string // by check: its latest line's detail
	failed  []string
	stopped bool // what ends from now on is no failure
}

// boot starts the guest and waits until it serves.
func boot(ctx context.Context, dir, ram string, limit time.Duration) (*soak, error) {
	image := filepath.Join(dir, "soak.elf")
	err := imagebuild.BuildWithSymbols(guestPackage, image, "-tags", "nethttpomithttp2")
	if err != nil {
		return nil, err
	}
	s := newSoak()
	if err := s.start(ctx, image, dir, ram, limit); err != nil {
		s.end()
		return nil, err
	}
	select {
	case <-s.serving:
		return s, nil
	case <-s.machine.Done():
		defer s.end()
		return nil, fmt.Errorf("the guest does not serve: %v; %q", s.machine.Wait(), s.failures())
	}
}

// start makes the Ethernet, the station on this side of it, and the guest's machine.
func (s *soak) start(ctx context.Context, image, dir, ram string, limit time.Duration) error {
	s.relay = relay.New(relay.Options{Report: func(err error) { s.fail(err.Error()) }})
	own, err := s.relay.Local("station")
	if err != nil {
		return err
	}
	s.station, err = netstack.New(own, netstack.Config{MAC: ownMAC, Addr: ownAddress})
	if err != nil {
		return err
	}
	s.http.Transport = &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return s.dial(ctx, httpPort)
		}}
	port, err := s.relay.Unix("soak", filepath.Join(dir, "soak.sw"), filepath.Join(dir, "soak.vm"))
	if err != nil {
		return err
	}
	local, remote := port.Sockets()
	s.machine, err = qemu.Start(ctx, qemu.Machine{
		Name: "soak", Image: image, RAM: ram, Dir: dir, NoReboot: true, Limit: limit,
		Net:    qemu.Ethernet{Local: local, Remote: remote},
		OnLine: func(_ time.Time, line string) { s.heard(line) },
	})
	return err
}

// end ends the guest and everything that start made.
func (s *soak) end() {
	if s.machine != nil {
		s.machine.Kill()
	}
	if s.station != nil {
		s.station.Close()
	}
	s.relay.Close()
}

// The ports of the guest.
const (
	echoPort = 7
	httpPort = 80
)

func (s *soak) dial(ctx context.Context, port uint16) (net.Conn, error) {
	return s.station.Dial(ctx, netip.AddrPortFrom(guestAddress, port))
}

func newSoak() *soak {
	return &soak{serving: make(chan struct{}), came: make(chan struct{}, 1),
		rounds: map[string]string{}}
}

// heard takes a line of the console.
func (s *soak) heard(line string) {
	if line == "soak: serving" {
		close(s.serving)
		return
	}
	if name, rounds, ok := strings.Cut(strings.TrimPrefix(line, "ok "), ": "); ok &&
		strings.HasPrefix(line, "ok ") {
		s.mu.Lock()
		s.rounds[name] = rounds
		s.mu.Unlock()
		select {
		case s.came <- struct{}{}:
		default:
		}
		return
	}
	if strings.HasPrefix(line, "FAIL ") || strings.HasPrefix(line, "panic: ") ||
		strings.HasPrefix(line, "fatal error: ") {
		s.fail(line)
	}
}

func (s *soak) fail(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.failed = append(s.failed, what)
	}
}

func (s *soak) failures() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// load talks to the guest from all clients until ctx is done or the guest ends.
func (s *soak) load(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() { s.client(ctx, "http", uint64(i), s.request, &s.requests) })
		group.Go(func() { s.client(ctx, "echo", uint64(i), s.echo, &s.echoes) })
	}
	select {
	case <-s.machine.Done():
		s.fail("the guest ended: " + s.machine.Wait().String())
	case <-ctx.Done():
	}
	cancel()
	group.Wait()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
}

// client sends messages and compares what comes back, each on a connection of its own.
func (s *soak) client(ctx context.Context, name string, seed uint64,
	exchange func(context.Context, []byte) ([]byte, error), count *atomic.Int64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for ctx.Err() == nil {
		message := make([]byte, 1+r.IntN(messageMax))
		for i := range message {
			message[i] = byte(r.Uint32())
		}
		limited, cancel := context.WithTimeout(ctx, askTime)
		answer, err := exchange(limited, message)
		cancel()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.fail(name + ": " + err.Error())
			return
		case !bytes.Equal(answer, message):
			s.fail(fmt.Sprintf("%s: %d bytes came back changed", name, len(message)))
			return
		default:
			count.Add(1)
		}
	}
}

func (s *soak) request(ctx context.Context, message []byte) ([]byte, error) {
	url := "http://" + guestAddress.String() + "/"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func (s *soak) echo(ctx context.Context, message []byte) ([]byte, error) {
	c, err := s.dial(ctx, echoPort)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(message)
		sent <- err
	}()
	answer := make([]byte, len(message))
	_, err = io.ReadFull(c, answer)
	return answer, errors.Join(err, <-sent)
}

// report says what came of it. A check that never came round is a failure.
func (s *soak) report(out io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.rounds)) {
		fmt.Fprintf(out, "%s: %s\n", name, s.rounds[name])
	}
	fmt.Fprintf(out, "HTTP: %d exchanges\nTCP: %d exchanges\n", s.requests.Load(), s.echoes.Load())
	switch {
	case len(s.failed) != 0:
		return &failure{strings.Join(s.failed, "; ")}
	case len(s.rounds) != checks:
		return &failure{fmt.Sprintf("%d checks came round, want %d", len(s.rounds), checks)}
	case s.requests.Load() == 0 || s.echoes.Load() == 0:
		return &failure{"not one exchange"}
	}
	return nil
}
