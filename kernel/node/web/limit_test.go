package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/internal/memnet"
)

// occupy opens as many connections as are served at once, from two addresses.
func (w *world) occupy() (open []net.Conn) {
	w.t.Helper()
	other := w.net.Host("10.7.0.2")
	for i := range ConnectionsMax {
		from := w.rig
		if i >= AddressMax {
			from = other
		}
		open = append(open, w.dialFrom(from))
	}
	synctest.Wait()
	return open
}

func TestOneAddressLeavesRoomToOthers(t *testing.T) {
	inWorld(t, text(), func(t *testing.T, w *world) {
		for range AddressMax {
			w.dial()
		}
		synctest.Wait()
		if status, body, _ := w.send(request("GET /mesh", "")); body != full {
			t.Errorf("one more: %d %q", status, body)
		}
		w.rig = w.net.Host("10.7.0.2")
		for range ConnectionsMax - AddressMax {
			io.WriteString(w.dial(), request("GET /mesh", ""))
		}
		synctest.Wait()
		if w.server.Refused() != 1 {
			t.Errorf("%d refused, want the one", w.server.Refused())
		}
	})
}

func TestTheSeventeenthClientIsToldThatThereIsNoRoom(t *testing.T) {
	inWorld(t, text(), func(t *testing.T, w *world) {
		open := w.occupy()
		began := time.Now()
		status, body, _ := w.send(request("GET /mesh", ""))
		if status != http.StatusServiceUnavailable || body != full {
			t.Errorf("%d %q", status, body)
		}
		if time.Since(began) != 0 || w.server.Refused() != 1 {
			t.Errorf("told after %v, %d refused", time.Since(began), w.server.Refused())
		}
		// The sixteen are served all the same, and each makes room when it goes.
		io.WriteString(open[0], request("GET /mesh", ""))
		if resp, err := http.ReadResponse(bufio.NewReader(open[0]), nil); err != nil {
			t.Error(err)
		} else if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
		}
		ends(open[0])
		if status, _, _ := w.send(request("GET /mesh", "")); status != http.StatusOK {
			t.Errorf("after one has gone: %d", status)
		}
		if time.Since(began) >= readTime {
			t.Error("room was made by a time limit alone")
		}
	})
}

func TestWhoIsTurnedAwayTakesNoRoomForLong(t *testing.T) {
	inWorld(t, text(), func(t *testing.T, w *world) {
		w.occupy()
		// They neither send nor close: told, and closed when their time is over.
		var told []net.Conn
		for range doorMax {
			told = append(told, w.dial())
		}
		synctest.Wait()
		silent := w.dial()
		if b, _ := io.ReadAll(silent); len(b) != 0 {
			t.Errorf("one more than are told at once gets %q", b)
		}
		for _, c := range told {
			if b, _ := io.ReadAll(c); !strings.HasSuffix(string(b), full) {
				t.Errorf("got %q", b)
			}
			if _, err := c.Write([]byte("x")); err != nil {
				t.Errorf("closed before the answer could be read: %v", err)
			}
		}
		<-time.After(doorTime)
		synctest.Wait()
		for _, c := range told {
			if _, err := c.Write([]byte("x")); err == nil {
				t.Error("still open")
			}
		}
		if status, body, _ := w.send(request("GET /mesh", "")); body != full {
			t.Errorf("the door is still taken: %d %q", status, body)
		}
	})
}

func TestServeComesBackWhenNobodyIsAtTheDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		l, err := n.Host(address).Listen(80)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, server: New(text()), net: n, rig: n.Host("10.7.0.1")}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.server.Serve(ctx, l) }()
		w.occupy()
		silent := w.dial()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := silent.Write([]byte("x")); err == nil {
			t.Error("somebody is still at the door")
		}
	})
}
