package kernel_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/qemu"
	"holdfast/qemu/relay"
)

const (
	cutFor = 15 * time.Second // longer than TCP's defaults bear at a retransmission time of a second

	// soon is how long the first byte after healing may take: one retransmission timeout of at most a
	// second, and what a machine with other things to do takes.
	soon = 6 * time.Second
)

// TestASessionOutlivesACutBetweenTwoKernels is the cut of package netstack's tests on real kernels
// and in real time: two machines on a relay, a talker that writes every 100 ms or every 500 ms, all
// frames between them lost for 15 s. The same session must be heard again soon after. TCP's
// defaults fail it, and so does each of its options alone (netstack/tcp.go).
func TestASessionOutlivesACutBetweenTwoKernels(t *testing.T) {
	t.Parallel()
	for _, every := range []string{"100ms", "500ms"} {
		t.Run("a write every "+every, func(t *testing.T) {
			t.Parallel()
			c := newConversation(t, every)
			c.await("before the cut", time.Now(), limit)
			c.relay.Cut(c.echo, c.talker)
			lost := c.quiet(cutFor)
			c.relay.Heal(c.echo, c.talker)
			healed := time.Now()
			first := c.await("after the cut", healed, soon)
			t.Logf("%d frames lost; heard again %v after healing", lost, first.Sub(healed))
		})
	}
}

// conversation is two machines that talk over a relay.
type conversation struct {
	t            *testing.T
	relay        *relay.Relay
	echo, talker *relay.Port
	heard        chan time.Time // when a line came back
	over         chan string    // what ended the session, or a machine
}

func newConversation(t *testing.T, every string) *conversation {
	dir, remove, err := qemu.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{t: t, relay: relay.New(relay.Options{}), heard: make(chan time.Time, 4096),
		over: make(chan string, 16)}
	t.Cleanup(func() { c.relay.Close(); remove() })
	listening := make(chan bool, 1)
	c.echo = c.boot(dir, "echo", func(line string) {
		if line == "talk: listening" {
			listening <- true
		}
	}, "ADDRESS=10.7.0.10/24")
	select {
	case <-listening:
	case why := <-c.over:
		t.Fatal(why)
	case <-time.After(limit):
		t.Fatal("the echo does not listen")
	}
	c.talker = c.boot(dir, "talk", func(line string) {
		if strings.HasPrefix(line, "talk: heard ") {
			c.heard <- time.Now()
		}
	}, "ADDRESS=10.7.0.11/24", "PEER=10.7.0.10", "EVERY="+every)
	return c
}

// boot starts a machine on a port of the relay. A line that tells of an end is one.
func (c *conversation) boot(dir, name string, onLine func(string), env ...string) *relay.Port {
	c.t.Helper()
	station := filepath.Join(dir, name+".vm")
	port, err := c.relay.Unix(name, filepath.Join(dir, name+".sw"), station)
	if err != nil {
		c.t.Fatal(err)
	}
	m := machine(c.t, "talk", env...)
	m.Name, m.Net = name, qemu.Ethernet{Local: station, Remote: filepath.Join(dir, name+".sw")}
	m.OnLine = func(_ time.Time, line string) {
		onLine(line)
		if strings.HasPrefix(line, "panic:") {
			c.over <- name + ": " + line
		}
	}
	p, err := qemu.Start(context.Background(), m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { p.Kill() })
	return port
}

// await waits for a line that came back at or after from.
func (c *conversation) await(what string, from time.Time, within time.Duration) time.Time {
	c.t.Helper()
	for late := time.After(within); ; {
		select {
		case at := <-c.heard:
			if !at.Before(from) {
				return at
			}
		case why := <-c.over:
			c.t.Fatalf("%s: %s", what, why)
		case <-late:
			c.t.Fatalf("%s: nothing heard within %v", what, within)
		}
	}
}

// quiet lets the cut last, and returns how many frames it has cost. Nothing may be heard once what
// was on its way has arrived.
func (c *conversation) quiet(d time.Duration) (lost uint64) {
	c.t.Helper()
	began := time.Now()
	for end := time.After(d); ; {
		select {
		case at := <-c.heard:
			if at.Sub(began) > d/2 {
				c.t.Fatal("heard through the cut")
			}
		case why := <-c.over:
			c.t.Fatalf("during the cut: %s", why)
		case <-end:
			return c.relay.Path(c.talker, c.echo).Counts().Of(relay.Dropped) +
				c.relay.Path(c.echo, c.talker).Counts().Of(relay.Dropped)
		}
	}
}
