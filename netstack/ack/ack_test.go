package ack

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/netstack"
	"holdfast/netstack/virtual"
)

// wire is a device that keeps what it is given, with a clock that the test moves.
type wire struct {
	sent [][]byte
	full bool // it refuses everything
	now  time.Duration
	due  time.Duration // of the one timer, 0 for none
	fire func()
}

func (w *wire) Send(parts [][]byte) bool {
	if w.full {
		return false
	}
	w.sent = append(w.sent, bytes.Join(parts, nil))
	return true
}

func (w *wire) Receive(func([]byte)) error               { return net.ErrClosed }
func (w *wire) ReceiveBursts(func([]byte), func()) error { return net.ErrClosed }

func (w *wire) after(d time.Duration, f func()) {
	if w.due != 0 {
		panic("ack: two timers")
	}
	w.due, w.fire = w.now+d, f
}

// pass moves the clock on.
func (w *wire) pass(d time.Duration) {
	w.now += d
	if w.due != 0 && w.due <= w.now {
		w.due = 0
		w.fire()
	}
}

func newWire() (*wire, *Device) {
	w := new(wire)
	d := New(w)
	d.after = w.after
	return w, d
}

// frame is a TCP segment of connection n. Options are header bytes beyond the least.
type frame struct {
	n       int
	ack     uint32
	flags   byte
	options int
	data    string
}

// pure is a segment that only acknowledges, with timestamps.
func pure(ack uint32) frame { return frame{ack: ack, flags: flagAck, options: 12} }

// with is a segment with data.
func with(ack uint32, data string) frame {
	return frame{ack: ack, flags: flagAck | flagPsh, options: 12, data: data}
}

func (f frame) bytes() []byte {
	b := make([]byte, headerMin+f.options, headerMin+f.options+len(f.data))
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	b[ip], b[ip+9] = 0x45, 6
	copy(b[ip+16:], []byte{10, 7, 0, byte(f.n)})
	binary.BigEndian.PutUint16(b[tcp:], 7070)
	binary.BigEndian.PutUint32(b[tcp+8:], f.ack)
	b[tcp+12], b[tcp+13] = byte((20+f.options)/4)<<4, f.flags
	return append(b, f.data...)
}

// send sends the frame as the stack does: headers and data apart.
func (f frame) send(d *Device) bool {
	b := f.bytes()
	at := len(b) - len(f.data)
	return d.Send([][]byte{b[:at], b[at:]})
}

func TestWhatWaits(t *testing.T) {
	const fin, syn, rst, urg = 1, 2, 4, 32
	for _, c := range []struct {
		name  string
		f     frame
		waits bool
	}{
		{"an acknowledgement", pure(1001), true},
		{"the most that may wait", pure(1000 + Every - 1), true},
		{"two whole segments", pure(1000 + Every), false},
		{"no progress", pure(1000), false},
		{"an old one", pure(999), false},
		{"without timestamps", frame{ack: 1001, flags: flagAck}, true},
		{"with SACK", frame{ack: 1001, flags: flagAck, options: 24}, false},
		{"data", with(1001, "x"), false},
		{"FIN", frame{ack: 1001, flags: flagAck | fin}, false},
		{"SYN", frame{ack: 1001, flags: flagAck | syn}, false},
		{"RST", frame{ack: 1001, flags: flagAck | rst}, false},
		{"URG", frame{ack: 1001, flags: flagAck | urg}, false},
		{"another connection", frame{n: 1, ack: 1001, flags: flagAck}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, d := newWire()
			with(1000, "x").send(d)
			if !c.f.send(d) {
				t.Error("refused")
			}
			if waits := len(w.sent) == 1; waits != c.waits {
				t.Fatalf("%d frames sent, want it to wait: %v", len(w.sent), c.waits)
			}
			w.pass(Delay - 1)
			if waits := len(w.sent) == 1; waits != c.waits {
				t.Error("it was sent too early")
			}
			w.pass(1)
			if len(w.sent) != 2 || !bytes.Equal(w.sent[1], c.f.bytes()) {
				t.Errorf("after the delay: %d frames", len(w.sent))
			}
			w.pass(time.Second)
			if len(w.sent) != 2 {
				t.Error("it was sent twice")
			}
		})
	}
}

// TestWhatBecomesOfIt goes on behind an acknowledgement of 1100 that waits.
func TestWhatBecomesOfIt(t *testing.T) {
	for _, c := range []struct {
		name string
		more []frame
		want []frame
	}{
		{"data takes it along", []frame{with(1100, "x")}, []frame{with(1100, "x")}},
		{"so does data that acknowledges more", []frame{with(1200, "x")}, []frame{with(1200, "x")}},
		{"and a FIN", []frame{{ack: 1100, flags: flagAck | 1}},
			[]frame{{ack: 1100, flags: flagAck | 1}}},
		{"a later one replaces it", []frame{pure(1200), pure(1300)}, []frame{pure(1300)}},
		{"all together are two segments", []frame{pure(1000 + Every)}, []frame{pure(1000 + Every)}},
		{"the same again goes at once", []frame{pure(1100)}, []frame{pure(1100)}},
		{"older data does not take it along", []frame{with(1050, "x")},
			[]frame{pure(1100), with(1050, "x")}},
		{"another connection leaves it", []frame{{n: 1, ack: 5000, flags: flagAck, data: "x"}},
			[]frame{{n: 1, ack: 5000, flags: flagAck, data: "x"}, pure(1100)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, d := newWire()
			with(1000, "x").send(d)
			pure(1100).send(d)
			for _, f := range c.more {
				f.send(d)
			}
			w.pass(Delay)
			var want [][]byte
			for _, f := range c.want {
				want = append(want, f.bytes())
			}
			if !slices.EqualFunc(w.sent[1:], want, bytes.Equal) {
				t.Errorf("sent %x, want %x", w.sent[1:], want)
			}
		})
	}
}

// TestRepetitionsGoAtOnce is what the other side finds losses by (RFC 5681 section 3.2).
func TestRepetitionsGoAtOnce(t *testing.T) {
	w, d := newWire()
	with(1000, "x").send(d)
	pure(1100).send(d) // waits
	for want := 2; want < 5; want++ {
		pure(1100).send(d)
		if len(w.sent) != want {
			t.Errorf("%d frames, want %d", len(w.sent), want)
		}
	}
	pure(1200).send(d)
	w.pass(Delay)
	if len(w.sent) != 5 {
		t.Errorf("%d frames after the delay", len(w.sent))
	}
	pure(1200).send(d)
	if len(w.sent) != 6 {
		t.Error("a repetition of what had waited waits")
	}
}

func TestOneConnectionMoreReplacesAnother(t *testing.T) {
	w, d := newWire()
	for n := range flowsMax {
		frame{n: n, ack: 1000, flags: flagAck, data: "x"}.send(d)
		frame{n: n, ack: 1001, flags: flagAck}.send(d)
	}
	if len(w.sent) != flowsMax {
		t.Fatalf("%d frames", len(w.sent))
	}
	frame{n: flowsMax, ack: 9000, flags: flagAck, data: "x"}.send(d)
	if want := (frame{n: 0, ack: 1001, flags: flagAck}); len(w.sent) != flowsMax+2 ||
		!bytes.Equal(w.sent[flowsMax], want.bytes()) {
		t.Errorf("what waited for the replaced one was not sent: %d frames", len(w.sent))
	}
	w.pass(Delay)
	if len(w.sent) != 2*flowsMax+1 {
		t.Errorf("%d frames in the end", len(w.sent))
	}
}

func TestWhatIsNoAcknowledgementPasses(t *testing.T) {
	w, d := newWire()
	good := pure(1001).bytes()
	change := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	frames := [][][]byte{
		{}, {nil}, {good[:headerMin-1]}, {change(13, 6)}, {change(ip, 0x46)}, {change(ip+9, 17)},
		{change(tcp+13, 2)}, {good[:20], good[20:]},
	}
	for range 2 { // the second time, too
		for _, parts := range frames {
			d.Send(parts)
		}
	}
	if len(w.sent) != 2*len(frames) {
		t.Errorf("%d of %d frames passed", len(w.sent), 2*len(frames))
	}
}

func TestADeviceThatRefusesIsHeard(t *testing.T) {
	w, d := newWire()
	with(1000, "x").send(d)
	w.full = true
	if with(1001, "x").send(d) {
		t.Error("a frame that was lost counts as sent")
	}
}

// TestNothingIsLostOrLate sends anything at any time: all but acknowledgements go out in order and
// at once, and whatever acknowledges something has been sent, or something that acknowledges more,
// within the delay.
func TestNothingIsLostOrLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, d := newWire()
		type promise struct {
			n   int
			ack uint32
			by  time.Duration
		}
		var promises []promise
		seen, acked, next := 0, [3]uint32{}, [3]uint32{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := rapid.IntRange(0, 2).Draw(t, "connection")
			next[n] += rapid.SampledFrom([]uint32{0, 1, 100, Every - 1, Every}).Draw(t, "progress")
			f := frame{n: n, ack: 1<<32 - 500 + next[n], flags: flagAck}
			if rapid.Bool().Draw(t, "data") {
				f.data = "x"
			}
			before := len(w.sent)
			f.send(d)
			if f.data != "" && !bytes.Equal(w.sent[len(w.sent)-1], f.bytes()) ||
				len(w.sent) > before+2 {
				t.Fatalf("data was held back, or more was sent than there is")
			}
			promises = append(promises, promise{n, next[n], w.now + Delay})
			w.pass(time.Duration(rapid.IntRange(0, 60).Draw(t, "ms")) * time.Millisecond)
			for ; seen < len(w.sent); seen++ {
				b := w.sent[seen]
				from, ack := int(b[ip+19]), binary.BigEndian.Uint32(b[tcp+8:])+500
				if ack < acked[from] {
					t.Fatalf("connection %d goes back from %d to %d", from, acked[from], ack)
				}
				acked[from] = ack
			}
			for _, p := range promises {
				if p.by <= w.now && acked[p.n] < p.ack {
					t.Fatalf("%v: %d of connection %d is late", w.now, p.ack, p.n)
				}
			}
		}
	})
}

// counted is a port that counts the TCP segments that only acknowledge.
type counted struct {
	*virtual.Port
	acks int
}

func (c *counted) Send(parts [][]byte) bool {
	if s, ok := parse(parts); ok && s.only {
		c.acks++
	}
	return c.Port.Send(parts)
}

// TestAConversationHasNoSegmentsForAcknowledgementAlone runs the real stack on both sides.
func TestAConversationHasNoSegmentsForAcknowledgementAlone(t *testing.T) {
	const lines = 50
	for _, delayed := range []bool{false, true} {
		clock := virtual.NewClock(t)
		wire := virtual.NewWire(clock, time.Millisecond)
		ports := [2]*counted{{Port: wire.Port()}, {Port: wire.Port()}}
		var stacks [2]*netstack.Stack
		for i, p := range ports {
			dev := netstack.Burster(p)
			if delayed {
				d := New(p)
				d.after = func(wait time.Duration, f func()) { clock.AfterFunc(wait, f) }
				dev = d
			}
			s, err := netstack.New(dev, netstack.Config{
				MAC: [6]byte{2, 0, 0, 0, 0, byte(i)}, Clock: clock,
				Addr: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 7, 0, byte(10 + i)}), 24),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				p.Port.Close()
				s.Close()
			}()
			stacks[i] = s
		}
		said := make(chan error, 1)
		go func() { said <- converse(stacks[0], stacks[1], lines) }()
		if !clock.RunUntil(time.Minute, func() bool { return len(said) > 0 }) {
			t.Fatal("the conversation does not end")
		}
		if err := <-said; err != nil {
			t.Fatal(err)
		}
		acks := ports[0].acks + ports[1].acks
		if delayed && acks > lines/10 || !delayed && acks < lines {
			t.Errorf("delayed: %v: %d acknowledgements for %d questions and answers",
				delayed, acks, lines)
		}
	}
}

// converse asks so many questions and waits for the answer to each.
func converse(server, client *netstack.Stack, lines int) error {
	l, err := server.Listen(7)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
		}
	}()
	c, err := client.Dial(context.Background(), netip.AddrPortFrom(server.Addr().Addr(), 7))
	if err != nil {
		return err
	}
	defer c.Close()
	answer := make([]byte, 1)
	for range lines {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			return err
		}
	}
	return nil
}
