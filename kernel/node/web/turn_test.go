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

// slack is how many busy pages an address may be ahead, and how many more the end of a flood finds.
const slack = int(credit/pageTime) + AddressMax + 1

// busy is a site whose page takes time.
func busy() Site {
	site := text()
	site.Stats = func() Answer {
		<-time.After(pageTime)
		return Page("stats\n")
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

func TestAnAddressWithCompanyHasItsPart(t *testing.T) {
	const length = 10 * time.Second
	const whole = int(length / pageTime)
	for others := range 4 {
		inWorld(t, busy(), func(t *testing.T, w *world) {
			var group sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			for i := range others {
				host := w.net.Host("10.7.0." + string(rune('1'+i)))
				group.Go(func() {
					// It comes twice a second, which is to be there all the time.
					for ctx.Err() == nil {
						c := w.dialFrom(host)
						began := time.Now()
						io.WriteString(c, request("GET /mesh", ""))
						b, _ := io.ReadAll(c)
						if !strings.HasSuffix(string(b), "mesh\n") || time.Since(began) != 0 {
							t.Errorf("got %q after %v", b, time.Since(began))
						}
						c.Close()
						<-time.After(stays / 2)
					}
				})
			}
			synctest.Wait()
			n := w.flood(w.net.Host("10.7.0.66"), length)
			cancel()
			group.Wait()
			want := whole
			if others > 0 {
				want /= 2 * (others + 1)
			}
			if n < want || n > want+slack {
				t.Errorf("with %d others it was answered %d times in %v, want %d to %d", others, n,
					length, want, want+slack)
			}
		})
	}
}

func TestAnAddressIsHeldBackNoLongerThanItHasCompany(t *testing.T) {
	inWorld(t, busy(), func(t *testing.T, w *world) {
		host := w.net.Host("10.7.0.66")
		w.send(request("GET /mesh", ""))
		if n := w.flood(host, stays); n > int(stays/pageTime)/4+slack {
			t.Errorf("%d answers beside somebody who has just left", n)
		}
		<-time.After(stays)
		if n := w.flood(host, stays); n < int(stays/pageTime) {
			t.Errorf("only %d answers, alone", n)
		}
		if n := len(w.server.room.guests); n != 1 {
			t.Errorf("%d addresses are remembered", n)
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
