package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/internal/memnet"
	"holdfast/mesh"
	"holdfast/mesh/capability"
)

// held is a site whose /mesh/stats is at work, and whose objects wait, until they are released.
type held struct {
	begun          chan struct{}
	release, reply chan struct{}
}

// inHeld is inWorld with such a site, whose channels are the bubble's.
func inHeld(t *testing.T, f func(t *testing.T, w *world, h *held)) {
	t.Helper()
	var h held
	site := text()
	site.Stats = func() Answer {
		h.begun <- struct{}{}
		<-h.release
		return Page("stats\n")
	}
	site.Object = func(ctx context.Context, _ mesh.Request) Answer {
		Rest(ctx)
		defer Resume(ctx)
		<-h.reply
		return Page("stored\n")
	}
	inWorld(t, site, func(t *testing.T, w *world) {
		h = held{make(chan struct{}, ConnectionsMax), make(chan struct{}), make(chan struct{})}
		f(t, w, &h)
	})
}

// from asks for a page from an address, on a connection of its own, and returns the connection.
func (w *world) from(host *memnet.Host, line string) net.Conn {
	w.t.Helper()
	c := w.dialFrom(host)
	io.WriteString(c, request(line, ""))
	synctest.Wait()
	return c
}

// status is that of the answer that has come, 0 when there is none yet.
func (w *world) status(c net.Conn) int {
	w.t.Helper()
	synctest.Wait()
	c.SetReadDeadline(time.Now().Add(time.Nanosecond))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestOneRequestOfAnAddressIsAtWorkAtATime(t *testing.T) {
	inHeld(t, func(t *testing.T, w *world, site *held) {
		stranger := w.net.Host("10.7.0.66")
		for range AddressMax {
			w.from(stranger, "GET /mesh/stats")
		}
		for n := 1; n <= AddressMax; n++ {
			if len(site.begun) != n {
				t.Fatalf("%d have begun, want %d", len(site.begun), n)
			}
			// Nobody else waits for that.
			if status := w.status(w.from(w.rig, "GET /mesh")); status != http.StatusOK {
				t.Fatalf("another address has got %d", status)
			}
			site.release <- struct{}{}
			synctest.Wait()
		}
		if n := w.server.Waited(); n != AddressMax-1 {
			t.Errorf("%d have waited", n)
		}
	})
}

func TestWhatARequestWaitsForItWaitsForWithoutATurn(t *testing.T) {
	inHeld(t, func(t *testing.T, w *world, site *held) {
		body := w.dial()
		io.WriteString(body, "PUT /objects/a HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n"+
			"Authorization: Holdfast "+capability.Text(token)+"\r\n\r\n")
		var asked []net.Conn
		for range 3 {
			c := w.dial()
			io.WriteString(c, ask("PUT /objects/a", "value"))
			asked = append(asked, c)
		}
		if status := w.status(w.from(w.rig, "GET /mesh")); status != http.StatusOK {
			t.Errorf("one whose body is missing and three that wait for the mesh hold up another: %d",
				status)
		}
		// What has begun goes on before what has not.
		working := w.from(w.rig, "GET /mesh/stats")
		late := w.from(w.rig, "GET /mesh/stats")
		close(site.reply)
		synctest.Wait()
		site.release <- struct{}{}
		for _, c := range append(asked, working) {
			if status := w.status(c); status != http.StatusOK {
				t.Errorf("status %d", status)
			}
		}
		if status := w.status(late); status != 0 {
			t.Errorf("what came last is answered already: %d", status)
		}
		close(site.release)
		if status := w.status(late); status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	})
}

// pageTime is how much time the busy page takes.
const pageTime = 20 * time.Millisecond

// busy is a site whose /mesh/stats takes time, and whose objects wait so long for another node.
func busy(wait time.Duration) Site {
	site := text()
	site.Stats = func() Answer {
		<-time.After(pageTime)
		return Page("stats\n")
	}
	site.Object = func(ctx context.Context, _ mesh.Request) Answer {
		Rest(ctx)
		defer Resume(ctx)
		<-time.After(wait)
		return Page("stored\n")
	}
	return site
}

// flood asks for the busy page on every connection that one address can have, each time as soon as
// it is answered, for so long, and returns how often it was.
func (w *world) flood(host *memnet.Host, length time.Duration) (answers int) {
	w.t.Helper()
	end := time.Now().Add(length)
	var mu sync.Mutex
	var group sync.WaitGroup
	for range AddressMax {
		c := w.dialFrom(host)
		group.Go(func() {
			defer c.Close()
			r := bufio.NewReader(c)
			for time.Now().Before(end) {
				io.WriteString(c, "GET /mesh/stats HTTP/1.1\r\nHost: n\r\n\r\n")
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					w.t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				mu.Lock()
				answers++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return answers
}

func TestAnAddressGivesWayToLighterOnes(t *testing.T) {
	const length = 10 * time.Second
	const whole = int(length / pageTime)
	tests := []struct {
		name        string
		every, wait time.Duration // a request each, which takes so long
		least, most int           // pages of the flood
	}{
		{"to nobody", time.Hour, 0, whole, whole + AddressMax},
		{"while a request is under way", 200 * time.Millisecond, 100 * time.Millisecond,
			whole * 45 / 100, whole * 70 / 100}, // one page at most at either end of it
		{"for a while, each time", 50 * time.Millisecond, 100 * time.Millisecond,
			int(length / (giveWay + pageTime)), int(length/(giveWay+pageTime)) + 2*AddressMax},
		{"no longer to what takes long", time.Hour, length,
			whole - int(giveWay/pageTime) - 1, whole + AddressMax},
	}
	for _, tt := range tests {
		inWorld(t, busy(tt.wait), func(t *testing.T, w *world) {
			var group sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			group.Go(func() {
				<-time.After(pageTime) // the flood has begun
				for ctx.Err() == nil {
					group.Go(func() {
						c := w.dialFrom(w.rig)
						defer c.Close()
						began := time.Now()
						io.WriteString(c, ask("PUT /objects/a", "value"))
						b, _ := io.ReadAll(c)
						if took := time.Since(began); !strings.HasSuffix(string(b), "stored\n") ||
							took != tt.wait {
							t.Errorf("%s: got %q after %v", tt.name, b, took)
						}
					})
					select {
					case <-time.After(tt.every):
					case <-ctx.Done():
					}
				}
			})
			n := w.flood(w.net.Host("10.7.0.66"), length)
			cancel()
			group.Wait()
			if n < tt.least || n > tt.most {
				t.Errorf("gives way %s: %d pages in %v, want %d to %d", tt.name, n, length, tt.least,
					tt.most)
			}
		})
	}
}

func TestWorkIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r room
		a, b := r.take("a"), r.take("b")
		a.worked(time.Now(), 8*time.Second)
		b.worked(time.Now(), time.Second)
		<-time.After(3 * stays)
		if a.worked(time.Now(), 0); a.load != time.Second {
			t.Errorf("%v are left", a.load)
		}
		<-time.After(100 * stays)
		if a.worked(time.Now(), 0); a.load != 0 {
			t.Errorf("%v are left", a.load)
		}
		a.leave()
		<-time.After(stays)
		b.mayBegin()
		if len(r.guests) != 1 || r.crowd.Load() != 1 {
			t.Errorf("%d addresses are remembered", len(r.guests))
		}
	})
}

func TestWhoEndsItsSideLosesItsTurn(t *testing.T) {
	inHeld(t, func(t *testing.T, w *world, site *held) {
		first := w.from(w.rig, "GET /mesh/stats")
		second := w.from(w.rig, "GET /mesh/stats")
		third := w.from(w.rig, "GET /mesh/stats")
		closeWrite(second)
		if status := w.status(second); status != http.StatusServiceUnavailable {
			t.Errorf("it gets %d", status)
		}
		for _, c := range []net.Conn{first, third} {
			site.release <- struct{}{}
			if status := w.status(c); status != http.StatusOK {
				t.Errorf("status %d", status)
			}
		}
		if len(site.begun) != 2 {
			t.Errorf("%d have begun", len(site.begun))
		}
	})
}

func TestAContextOfNoRequestHasNoTurn(t *testing.T) {
	Rest(t.Context())
	Resume(t.Context())
}
