package relay

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const testTimeout = 20 * time.Second // for what takes milliseconds

// machine is what QEMU is to the relay: it binds a socket and sends to the relay's.
type machine struct {
	*net.UnixConn
	relay *net.UnixAddr
}

func boot(t testing.TB, p *Port) *machine {
	t.Helper()
	ours, theirs := p.Sockets()
	os.Remove(ours) // as QEMU does
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ours, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(testTimeout))
	return &machine{c, &net.UnixAddr{Name: theirs, Net: "unixgram"}}
}

func (m *machine) send(t testing.TB, to, from byte, payload string) {
	t.Helper()
	frame := append(append(append(address(to), address(from)...), 0x88, 0xb5), payload...)
	if _, err := m.WriteToUnix(frame, m.relay); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) receive(t testing.TB) string {
	t.Helper()
	buf := make([]byte, 2048)
	n, err := m.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[headerLen:n])
}

// wired makes a relay with one Unix port for each name; addresses 1, 2, ... are known to it.
func wired(t testing.TB, o Options, names ...string) (r *Relay, ports []*Port) {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay") // t.TempDir would be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r = New(o)
	t.Cleanup(func() { r.Close() })
	for i, name := range names {
		p, err := r.Unix(name, filepath.Join(dir, name+".sw"), filepath.Join(dir, name+".vm"))
		if err != nil {
			t.Fatal(err)
		}
		know(r, byte(i+1), p)
		ports = append(ports, p)
	}
	return r, ports
}

func TestTwoMachinesTalkThroughTheirSockets(t *testing.T) {
	_, ports := wired(t, Options{}, "a", "b")
	a, b := boot(t, ports[0]), boot(t, ports[1])
	const frames = 100 // ten times what a socket holds
	go func() {
		for i := range frames {
			a.send(t, 2, 1, fmt.Sprint("frame ", i))
		}
	}()
	for i := range frames {
		if got, want := b.receive(t), fmt.Sprint("frame ", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	b.send(t, 1, 2, "answer")
	if got := a.receive(t); got != "answer" {
		t.Errorf("got %q", got)
	}
}

func TestAMachineMayComeLateDieAndComeAgain(t *testing.T) {
	records := make(chan Record, 16)
	observe := func(r Record) { records <- r }
	_, ports := wired(t, Options{Observe: observe}, "a", "b")
	a := boot(t, ports[0])
	absent := func(payload string) {
		t.Helper()
		a.send(t, 2, 1, payload)
		for _, want := range []string{"b forwarded", "b absent (late)"} {
			if r := <-records; r.String() != want {
				t.Errorf("%s: record %v, want %s", payload, &r, want)
			}
		}
	}
	absent("before it ever was there")
	for range 2 {
		b := boot(t, ports[1])
		a.send(t, 2, 1, "hello")
		if got := b.receive(t); got != "hello" {
			t.Errorf("got %q", got)
		}
		<-records
		b.Close() // its path stays, as when QEMU is killed
		absent("after it died")
	}
}

func TestAMachineThatDoesNotReadHoldsUpNobody(t *testing.T) {
	const bound = 16
	r, ports := wired(t, Options{Queue: bound}, "a", "b", "c")
	a, _, c := boot(t, ports[0]), boot(t, ports[1]), boot(t, ports[2])
	stuck := r.Path(ports[0], ports[1])
	// Sent one at a time, with c's answer in between, so that a's frames cannot overflow c's queue.
	sent := uint64(0)
	for stuck.Counts().Of(Full) == 0 {
		a.send(t, 2, 1, "to the one that does not read")
		a.send(t, 3, 1, "to the other")
		if got := c.receive(t); got != "to the other" {
			t.Fatalf("got %q", got)
		}
		if sent++; sent > 1000 {
			t.Fatal("a machine that does not read got a thousand frames")
		}
	}
	if n := stuck.Counts().Of(Forwarded); n < bound {
		t.Errorf("%d frames waited, want at least %d", n, bound)
	}
	closed := make(chan error)
	go func() { closed <- r.Close() }() // while b's writer waits in the kernel
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testTimeout):
		t.Fatal("Close does not return")
	}
	if _, path := ports[0].Sockets(); exists(path) {
		t.Error("Close left its socket's file")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

func TestAPortWithoutAFolderIsAnError(t *testing.T) {
	r := New(Options{})
	defer r.Close()
	if _, err := r.Unix("a", filepath.Join(t.TempDir(), "none", "a.sw"), "a.vm"); err == nil {
		t.Error("no error")
	}
	if len(r.Ports()) != 0 {
		t.Error("the failed port was added")
	}
}

// BenchmarkFrame sends full frames from one machine's socket to another's.
func BenchmarkFrame(b *testing.B) {
	for _, c := range []struct {
		name    string
		options Options
	}{{"plain", Options{}}, {"observed", Options{Observe: func(Record) {}}}} {
		b.Run(c.name, func(b *testing.B) {
			_, ports := wired(b, c.options, "a", "b")
			from, to := boot(b, ports[0]), boot(b, ports[1])
			frame := make([]byte, 1514)
			copy(frame, append(address(2), address(1)...))
			// No more are on the way than the queue takes, so that none is lost and all are counted.
			window := make(chan struct{}, DefaultQueue/2)
			b.SetBytes(int64(len(frame)))
			b.ResetTimer()
			go func() {
				for range b.N {
					window <- struct{}{}
					from.WriteToUnix(frame, from.relay)
				}
			}()
			buf := make([]byte, 2048)
			for range b.N {
				if _, err := to.Read(buf); err != nil {
					b.Fatal(err)
				}
				<-window
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}
