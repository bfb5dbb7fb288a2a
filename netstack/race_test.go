package netstack

import (
	"bytes"
	"context"
	"io"
	"math/rand"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
)

// cable joins two devices in real time. Its queues are short: bulk traffic meets full rings.
type cable struct {
	in, out chan []byte
	once    *sync.Once
	closed  chan struct{}
}

func newCable() (a, b *cable) {
	x, y := make(chan []byte, 32), make(chan []byte, 32)
	once, closed := new(sync.Once), make(chan struct{})
	return &cable{x, y, once, closed}, &cable{y, x, once, closed}
}

func (c *cable) Send(parts [][]byte) bool {
	select {
	case c.out <- slices.Concat(parts...):
		return true
	default:
		return false
	}
}

func (c *cable) Receive(f func([]byte)) error {
	for {
		select {
		case frame := <-c.in:
			f(frame)
			clear(frame) // whoever kept it will notice
		case <-c.closed:
			return net.ErrClosed
		}
	}
}

func (c *cable) Close() { c.once.Do(func() { close(c.closed) }) }

// realPair is two stacks that run at once, on the machine's clock.
func realPair(t *testing.T) (a, b *Stack) {
	t.Helper()
	left, right := newCable()
	stacks := make([]*Stack, 2)
	for i, d := range []*cable{left, right} {
		s, err := New(d, Config{
			MAC:  [6]byte{2, 0, 0, 0, 0, byte(i + 1)},
			Addr: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 24),
		})
		if err != nil {
			t.Fatal(err)
		}
		stacks[i] = s
		t.Cleanup(func() { s.Close(); d.Close(); <-s.Stopped() })
	}
	return stacks[0], stacks[1]
}

func TestManyConnectionsAtOnceKeepTheirBytesApart(t *testing.T) {
	a, b := realPair(t)
	l, err := a.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	t.Cleanup(func() { l.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			c, err := b.Dial(ctx, addrPort(a, port))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(time.Minute))
			sent := make([]byte, 100<<10)
			rand.New(rand.NewSource(int64(i))).Read(sent)
			go func() { c.Write(sent); c.(*Conn).CloseWrite() }()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("connection %d: %d bytes came back, other than the %d sent: %v",
					i, len(got), len(sent), err)
			}
		})
	}
	wg.Wait()
	if a.Err() != nil || b.Err() != nil {
		t.Errorf("a device stopped: %v, %v", a.Err(), b.Err())
	}
}
