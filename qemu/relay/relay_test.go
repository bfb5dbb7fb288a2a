package relay

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// station is a station on a local port that notes what it gets.
type station struct {
	port *Port
	got  []string // payloads, in order
	at   []time.Duration
	end  chan error
}

// tb is what testing.T and rapid.T have in common here.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func attach(t tb, r *Relay, name string) *station {
	t.Helper()
	port, err := r.Local(name)
	if err != nil {
		t.Fatalf("attach: %v", err)
	}
	return &station{port: port, end: make(chan error, 1)}
}

// listen starts to receive.
func (s *station) listen() *station {
	start := time.Now()
	go func() {
		s.end <- s.port.Receive(func(frame []byte) {
			s.got = append(s.got, strings.TrimRight(string(frame[headerLen:]), "\x00"))
			s.at = append(s.at, time.Since(start))
		})
	}()
	return s
}

// send sends a frame from one address to another; addresses are the last byte of 02:00:00:00:00:xx,
// and 0xff is the broadcast address.
func (s *station) send(to, from byte, payload string) bool {
	return s.port.Send([][]byte{address(to), address(from), {0x88, 0xb5}, []byte(payload)})
}

func address(last byte) []byte {
	if last == 0xff {
		return []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	return []byte{2, 0, 0, 0, 0, last}
}

// know teaches the switch an address without a frame.
func know(r *Relay, last byte, port *Port) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learn(mac(address(last)), port)
}

// bubble runs a test on three stations, a, b and c, whose addresses 1, 2 and 3 are known to r.
func bubble(t *testing.T, o Options, test func(r *Relay, a, b, c *station)) {
	synctest.Test(t, func(t *testing.T) {
		r := New(o)
		a, b, c := attach(t, r, "a"), attach(t, r, "b"), attach(t, r, "c")
		for i, s := range []*station{a, b, c} {
			know(r, byte(i+1), s.port)
		}
		test(r, a, b, c)
		if err := r.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	})
}

func (s *station) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(s.got, want) {
		t.Errorf("%s got %q, want %q", s.port.Name(), s.got, want)
	}
	s.got, s.at = nil, nil
}

func TestASwitchLearnsWhereAddressesAre(t *testing.T) {
	const broadcast = 0xff
	steps := []struct {
		why      string
		at       string // the port the frame comes from
		to, from byte
		arrives  string // the ports it reaches
	}{
		{"an unknown address is flooded", "a", 2, 1, "bc"},
		{"an answer goes to the address that was learned", "b", 1, 2, "a"},
		{"and so does what follows", "a", 2, 1, "b"},
		{"a broadcast is flooded", "c", broadcast, 3, "ab"},
		{"an address behind the sender's own port goes nowhere", "a", 1, 9, ""},
		{"several addresses live behind one port", "b", 9, 2, "a"},
		{"a station that moved is found again", "c", broadcast, 1, "ab"},
		{"at its new port", "b", 1, 2, "c"},
		{"a group address is never learned", "a", 3, broadcast, "c"},
		{"so that broadcasts are still flooded", "b", broadcast, 2, "ac"},
	}
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{})
		defer r.Close()
		stations := map[string]*station{}
		for _, name := range []string{"a", "b", "c"} {
			stations[name] = attach(t, r, name).listen()
		}
		for _, step := range steps {
			stations[step.at].send(step.to, step.from, step.why)
			synctest.Wait()
			arrived := ""
			for _, name := range []string{"a", "b", "c"} {
				if len(stations[name].got) > 0 {
					arrived += name
				}
				stations[name].got = nil
			}
			if arrived != step.arrives {
				t.Errorf("%s: arrived at %q, want %q", step.why, arrived, step.arrives)
			}
		}
	})
}

func TestInventedAddressesDoNotFillMemory(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		for i := range 2 * maxLearned {
			source := []byte{2, 1, 0, 0, byte(i >> 8), byte(i)}
			a.port.Send([][]byte{address(2), source, {0x88, 0xb5}})
		}
		if len(r.table) != maxLearned {
			t.Errorf("%d addresses learned, want %d", len(r.table), maxLearned)
		}
		c.send(2, 3, "known stations are still reached")
		if n := r.Path(c.port, b.port).Counts().Of(Full); n != 1 { // a's frames are in the queue
			t.Errorf("%d frames from c to b, want 1", n)
		}
	})
}

func TestFramesArriveInOrderAndNoneIsLostBelowTheQueueBound(t *testing.T) {
	const bound = 100
	bubble(t, Options{Queue: bound}, func(r *Relay, a, b, c *station) {
		var want []string
		for i := range bound + 1 {
			a.send(2, 1, fmt.Sprint("frame ", i))
			want = append(want, fmt.Sprint("frame ", i))
		}
		counts := r.Path(a.port, b.port).Counts()
		if counts.Of(Forwarded) != bound || counts.Of(Full) != 1 || counts.Lost() != 1 {
			t.Errorf("counts %v, want %d forwarded and 1 full", counts, bound)
		}
		b.listen().expect(t, want[:bound]...)
	})
}

func TestASendIsPaddedToEthernetsMinimum(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		var lengths []int
		go b.port.Receive(func(frame []byte) { lengths = append(lengths, len(frame)) })
		a.send(2, 1, "")
		a.send(2, 1, strings.Repeat("x", minFrame-headerLen))
		a.send(2, 1, strings.Repeat("x", minFrame-headerLen+1))
		a.port.Send([][]byte{address(2), address(1), {0x88}}) // 13 bytes: no header, a runt
		synctest.Wait()
		if want := []int{60, 60, 61}; !slices.Equal(lengths, want) {
			t.Errorf("lengths %v, want %v", lengths, want)
		}
		if n := a.port.Counts().Of(Runt); n != 1 || a.port.Received() != 4 {
			t.Errorf("%d runts of %d frames, want 1 of 4", n, a.port.Received())
		}
	})
}

func TestACutDropsBothWaysBetweenTwoPortsOnlyUntilHealed(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		a.listen()
		b.listen()
		c.listen()
		r.Cut(a.port, b.port)
		a.send(2, 1, "a to b")
		b.send(1, 2, "b to a")
		a.send(0xff, 1, "a to all")
		c.send(1, 3, "c to a")
		a.expect(t, "c to a")
		b.expect(t)
		c.expect(t, "a to all")
		r.Heal(a.port, b.port)
		a.send(2, 1, "a to b")
		b.send(1, 2, "b to a")
		a.expect(t, "b to a")
		b.expect(t, "a to b")
		if n := r.Path(a.port, b.port).Counts().Of(Dropped); n != 2 {
			t.Errorf("%d dropped from a to b, want 2", n)
		}
		if n := r.Path(b.port, a.port).Counts().Of(Dropped); n != 1 {
			t.Errorf("%d dropped from b to a, want 1", n)
		}
	})
}

func TestChancesDependOnTheSeedAndTheDirectionAlone(t *testing.T) {
	// fate sends a hundred frames over a lossy path and returns those that arrived.
	fate := func(seed uint64, back bool) (arrived string) {
		bubble(t, Options{Seed: seed}, func(r *Relay, a, b, c *station) {
			from, to, address := a, b, byte(2)
			if back {
				from, to, address = b, a, 1
			}
			to.listen()
			for _, p := range []*Path{r.Path(c.port, to.port), r.Path(from.port, to.port)} {
				p.Set(Rule{Drop: 0.5})
			}
			for i := range 100 {
				c.send(address, 3, "") // another path's chances change nothing on this one
				from.send(address, 3-address, fmt.Sprint(i))
			}
			synctest.Wait()
			arrived = strings.Join(to.got, ",")
		})
		return arrived
	}
	once := fate(1, false)
	if again := fate(1, false); again != once {
		t.Error("the same seed gave another fate")
	}
	if fate(2, false) == once {
		t.Error("another seed gave the same fate")
	}
	if fate(1, true) == once {
		t.Error("the other direction had the same fate")
	}
}

func TestEveryFrameIsRecordedInOrder(t *testing.T) {
	var records []string
	observe := func(r Record) {
		payload := strings.TrimRight(string(r.Frame[min(headerLen, len(r.Frame)):]), "\x00")
		records = append(records, fmt.Sprintf("%s %q: %v", r.From.Name(), payload, &r))
	}
	bubble(t, Options{Observe: observe}, func(r *Relay, a, b, c *station) {
		p := r.Path(a.port, b.port)
		a.send(2, 1, "plain")
		a.send(0xff, 1, "to all")
		a.send(1, 1, "to itself")
		a.port.Send([][]byte{{1, 2, 3}})
		r.Cut(a.port, b.port)
		a.send(0xff, 1, "half cut")
		p.Set(Rule{Hold: true, Repeat: 1})
		a.send(2, 1, "later")
		p.Release(-1)
		b.port.Freeze()
		r.Close()
		want := []string{
			`a "plain": b forwarded`,
			`a "to all": b forwarded; c forwarded`,
			`a "to itself": local`,
			`a "": runt`,
			`a "half cut": b dropped; c forwarded`,
			`a "later": b held (repeated)`,
			`a "later": b forwarded (repeated,late)`,
			`a "plain": b frozen (late)`,
			`a "to all": b frozen (late)`,
			`a "later": b frozen (late)`,
			`a "later": b frozen (late)`,
		}
		if !slices.Equal(records, want) {
			t.Errorf("records\n%s\nwant\n%s", strings.Join(records, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestAnObserverThatStandsStillLosesRecordsButStopsNothing(t *testing.T) {
	var gate chan struct{} // made inside the bubble, which has to know it
	bubble(t, Options{Observe: func(Record) { <-gate }}, func(r *Relay, a, b, c *station) {
		gate = make(chan struct{})
		b.listen()
		const more = 10
		for range 1 + maxRecords + more { // one is with the observer, maxRecords wait
			a.send(2, 1, "x")
			synctest.Wait()
		}
		if r.LostRecords() != more || len(b.got) != 1+maxRecords+more {
			t.Errorf("%d records lost, %d frames arrived", r.LostRecords(), len(b.got))
		}
		close(gate)
	})
}

func TestAClosedRelayRefusesEverything(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		b.listen()
		p := r.Path(a.port, b.port)
		p.Set(Rule{Hold: true})
		a.send(2, 1, "held")
		p.Set(Rule{Delay: time.Second})
		a.send(2, 1, "delayed")
		r.Close()
		time.Sleep(2 * time.Second)
		r.sendDue() // what a timer that fires meanwhile does
		if err := <-b.end; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Receive returned %v", err)
		}
		if a.send(2, 1, "late") {
			t.Error("a frame was taken")
		}
		if p.Release(-1) != 0 || p.Discard() != 0 {
			t.Error("held frames were settled")
		}
		b.port.Freeze()
		b.port.Thaw()
		if _, err := r.Local("d"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a new port: %v", err)
		}
		if err := r.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a second Close: %v", err)
		}
		b.expect(t)
	})
}

func TestPortNamesAreUnique(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		for _, name := range []string{"", "a"} {
			if _, err := r.Local(name); !errors.Is(err, ErrName) {
				t.Errorf("port %q: %v", name, err)
			}
		}
		if names := r.Ports(); len(names) != 3 || names[2] != c.port {
			t.Errorf("ports %v", names)
		}
	})
}

func TestWhateverTheRulesEveryFrameIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const queue = 8
		r := New(Options{Queue: queue, Seed: rapid.Uint64().Draw(t, "seed")})
		defer r.Close()
		a, b := attach(t, r, "a"), attach(t, r, "b")
		p := r.Path(a.port, b.port)
		chance := rapid.SampledFrom([]float64{0, 0.3, 1})
		sent, received := uint64(0), 0
		t.Repeat(map[string]func(*rapid.T){
			"rule": func(t *rapid.T) {
				rule := Rule{Drop: chance.Draw(t, "drop"), Hold: rapid.Bool().Draw(t, "hold")}
				if err := p.Set(rule); err != nil {
					t.Fatal(err)
				}
			},
			"send":    func(t *rapid.T) { a.send(2, 1, "x"); sent++ },
			"release": func(t *rapid.T) { p.Release(rapid.IntRange(-1, 3).Draw(t, "n")) },
			"discard": func(t *rapid.T) { p.Discard() },
			"freeze":  func(t *rapid.T) { b.port.Freeze() },
			"thaw":    func(t *rapid.T) { b.port.Thaw() },
			"receive": func(t *rapid.T) {
				select {
				case <-b.port.queue:
					received++
				default:
				}
			},
			"": func(t *rapid.T) {
				held, _ := p.Waiting()
				c := p.Counts()
				queued := len(b.port.queue)
				if held > queue || queued > queue {
					t.Fatalf("%d held, %d queued, bound %d", held, queued, queue)
				}
				// Each frame ended in one place: lost, still held, queued, or received. What was
				// forwarded and then frozen in the queue counts under both.
				ended := c.Of(Dropped) + c.Lost() + uint64(held) + uint64(queued) + uint64(received)
				if ended != sent {
					t.Fatalf("%d sent, %d accounted for: %v", sent, ended, c)
				}
			},
		})
	})
}
