package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/internal/memnet"
	"holdfast/mesh"
)

// world is a server on a network in memory, inside a synctest bubble.
type world struct {
	t      *testing.T
	server *Server
	net    *memnet.Net
	rig    *memnet.Host
}

const address = "10.7.0.10"

func inWorld(t *testing.T, site Site, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		l, err := n.Host(address).Listen(80)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, server: New(site), net: n, rig: n.Host("10.7.0.1")}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if err := w.server.Serve(ctx, l); err != nil {
				t.Error(err)
			}
		})
		defer func() {
			cancel()
			group.Wait()
			// Package http keeps a connection for half a second after a refusal, for it to be read.
			// A bubble's time stands still once its function has returned.
			<-time.After(time.Second)
		}()
		f(t, w)
	})
}

// text is a site whose pages name themselves.
func text() Site {
	page := func(name string) func(context.Context) Answer {
		return func(context.Context) Answer { return Page(name + "\n") }
	}
	return Site{
		Mesh: page("mesh"), Homes: page("homes"), Route: page("route"),
		Health:  page("health"),
		Stats:   func() Answer { return Page("stats\n") },
		Metrics: func() Answer { return Page("metrics\n") },
		Epitaph: func() Answer { return Page("epitaph\n") },
		Profile: func(_ context.Context, name string, d time.Duration) Answer {
			return Page(fmt.Sprintf("%s for %v\n", name, d))
		},
		Log:  func(after uint64) Answer { return Page(fmt.Sprintf("log %d\n", after)) },
		Tape: func(after uint64) Answer { return Page(fmt.Sprintf("tape %d\n", after)) },
		Step: func(_ context.Context, n int, c []byte) Answer {
			return Page(fmt.Sprintf("step %d %x\n", n, c))
		},
		Object: func(_ context.Context, q mesh.Request) Answer {
			return Page(q.Op.String() + " " + q.Name + "\n")
		},
	}
}

func (w *world) dial() net.Conn {
	w.t.Helper()
	return w.dialFrom(w.rig)
}

func (w *world) dialFrom(host *memnet.Host) net.Conn {
	w.t.Helper()
	c, err := host.Dial(w.t.Context(), netip.MustParseAddrPort(address+":80"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

// send writes a request as it stands and reads the answer.
func (w *world) send(request string) (status int, body string, header http.Header) {
	w.t.Helper()
	synctest.Wait() // the server is done with the connections before
	c := w.dial()
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		w.t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("%.80q: %v", request, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// request is one with a Host and a body.
func request(line, body string, headers ...string) string {
	s := line + " HTTP/1.1\r\nHost: n\r\nConnection: close\r\n"
	if body != "" {
		s += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	for _, h := range headers {
		s += h + "\r\n"
	}
	return s + "\r\n" + body
}

func TestThePagesAreWhereTheyShouldBe(t *testing.T) {
	tests := []struct{ request, want string }{
		{request("GET /", ""), index},
		{request("GET /mesh", ""), "mesh\n"},
		{request("HEAD /mesh", ""), ""},
		{request("GET /mesh/homes", ""), "homes\n"},
		{request("GET /mesh/health", ""), "health\n"},
		{request("GET /mesh/route", ""), "route\n"},
		{request("GET /mesh/stats", ""), "stats\n"},
		{request("GET /metrics", ""), "metrics\n"},
		{request("GET /epitaph", ""), "epitaph\n"},
		{request("GET /debug/pprof/heap", ""), "heap for 5s\n"},
		{request("GET /debug/pprof/profile?seconds=2", ""), "profile for 2s\n"},
		{request("GET /mesh/log", ""), "log 0\n"},
		{request("GET /mesh/log?after=12", ""), "log 12\n"},
		{request("GET /mesh/tape", ""), "tape 0\n"},
		{request("GET /mesh/tape?after=12", ""), "tape 12\n"},
		{request("GET http://n/mesh", ""), "mesh\n"},
		{request("POST /mesh/step/7", "cap="), "step 7 \n"},
		{request("POST /mesh/step/12", "cap=AQID"), "step 12 010203\n"},
		{"POST /mesh/step/1 HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"3\r\ncap\r\n5\r\n=AQID\r\n0\r\n\r\n", "step 1 010203\n"},
		{"GET /mesh HTTP/1.0\r\n\r\n", "mesh\n"},
	}
	inWorld(t, text(), func(t *testing.T, w *world) {
		for _, test := range tests {
			status, body, header := w.send(test.request)
			if status != http.StatusOK || body != test.want {
				t.Errorf("%.40q: %d %q", test.request, status, body)
			}
			if header.Get("Content-Type") != "text/plain; charset=utf-8" || header["Date"] != nil {
				t.Errorf("%.40q: headers %v", test.request, header)
			}
		}
	})
}

func TestABadRequestGetsALineThatSaysWhatIsWrong(t *testing.T) {
	long := strings.Repeat("x", HeadMax)
	tests := []struct {
		request string
		status  int
		says    string
	}{
		{request("GET /nowhere", ""), 404, "not found"},
		{request("GET /mesh/", ""), 404, "not found"},
		{request("GET /mesh/step", ""), 404, "not found"},
		{request("GET /objects", ""), 404, "not found"},
		{request("POST /", ""), 405, "wrong method"},
		{request("PUT /mesh", ""), 405, "wrong method"},
		{request("DELETE /mesh/log", ""), 405, "wrong method"},
		{request("BREW /mesh", ""), 405, "wrong method"},
		{request("GET /mesh/step/1", ""), 405, "wrong method: this page takes POST"},
		{request("OPTIONS *", ""), 404, "not found"},
		{request("GET /mesh", "body"), 400, "a GET has no body"},
		{"GET /mesh HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			400, "a GET has no body"},
		{request("GET /mesh?x=1", ""), 400, "takes no query"},
		{request("GET /?", ""), 200, "holdfast"},
		{request("GET /mesh/log?after", ""), 400, "after=N"},
		{request("GET /mesh/log?after=", ""), 400, "after=N"},
		{request("GET /mesh/log?after=-1", ""), 400, "after=N"},
		{request("GET /mesh/log?after=1&after=2", ""), 400, "after=N"},
		{request("GET /mesh/log?after=99999999999999999999", ""), 400, "after=N"},
		{request("GET /mesh/log?before=1", ""), 400, "after=N"},
		{request("GET /mesh/tape?after=-1", ""), 400, "after=N"},
		{request("POST /mesh/step/", "cap="), 404, "steps are numbered"},
		{request("POST /mesh/step/one", "cap="), 404, "steps are numbered"},
		{request("POST /mesh/step/01", "cap="), 404, "steps are numbered"},
		{request("POST /mesh/step/999", "cap="), 404, "steps are numbered"},
		{request("POST /mesh/step/1/2", "cap="), 404, "steps are numbered"},
		{request("POST /mesh/step/1?now", "cap="), 400, "takes no query"},
		{request("POST /mesh/step/1", ""), 400, "cap=<base64url>"},
		{request("POST /mesh/step/1", "capability=AA"), 400, "cap=<base64url>"},
		{request("POST /mesh/step/1", "cap=AA=="), 400, "not base64url"},
		{request("POST /mesh/step/1", "cap=A+/A"), 400, "not base64url"},
		{request("POST /mesh/step/1", "cap=AA\n"), 400, "not base64url"},
		{request("POST /mesh/step/1", strings.Repeat("x", BodyMax+1)), 413, "too-large"},
		{request("GET /mesh", strings.Repeat("x", BodyMax+1)), 413, "too-large"},
		{"POST /mesh/step/1 HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"401\r\n" + strings.Repeat("x", BodyMax+1) + "\r\n0\r\n\r\n", 413, "too-large"},
		{request("GET /"+long, ""), 431, "Too Large"},
		{request("GET /mesh", "", "X: "+long), 431, "Too Large"},
		{"GET /mesh HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
		{"GET\r\n\r\n", 400, "Bad Request"},
		{"\x16\x03\x01\r\n\r\n", 400, "Bad Request"},
		{"GET /mesh HTTP/3.0\r\nHost: n\r\n\r\n", 505, "unsupported protocol version"},
		{request("POST /mesh/step/1", "cap=", "Content-Length: 9"), 400, "Bad Request"},
		{request("POST /mesh/step/1", "", "Transfer-Encoding: gzip"), 501, "transfer encoding"},
		{request("POST /mesh/step/1", "", "Expect: magic"), 417, ""},
	}
	inWorld(t, text(), func(t *testing.T, w *world) {
		for _, test := range tests {
			status, body, header := w.send(test.request)
			if status != test.status || !strings.Contains(body, test.says) {
				t.Errorf("%.60q: %d %q, want %d %q", test.request, status, body, test.status, test.says)
			}
			if status != 200 && strings.Count(strings.TrimSuffix(body, "\n"), "\n") != 0 {
				t.Errorf("%.60q: %q is not one line", test.request, body)
			}
			if status == 405 && header.Get("Allow") == "" {
				t.Errorf("%.60q: no Allow header", test.request)
			}
		}
	})
}

func TestTheLimitsAreMetExactly(t *testing.T) {
	inWorld(t, text(), func(t *testing.T, w *world) {
		// What is in a head besides the padding.
		rest := len(request("GET /mesh", "", "X: "))
		head := func(n int) string {
			return request("GET /mesh", "", "X: "+strings.Repeat("x", n-rest))
		}
		for n, want := range map[int]int{HeadMax: 200, HeadMax + 2: 431} { // see MaxHeaderBytes
			if status, _, _ := w.send(head(n)); status != want {
				t.Errorf("a head of %d bytes: %d, want %d", n, status, want)
			}
		}
		body := "cap=" + strings.Repeat("A", BodyMax-4)
		if status, _, _ := w.send(request("POST /mesh/step/1", body)); status != 200 {
			t.Errorf("a body of %d bytes: %d", len(body), status)
		}
	})
}

func TestABodyThatIsTooLargeIsNotWaitedFor(t *testing.T) {
	inWorld(t, text(), func(t *testing.T, w *world) {
		for _, body := range []string{
			fmt.Sprintf("Content-Length: %d\r\n\r\n", BodyMax+1),
			"Transfer-Encoding: chunked\r\n\r\n800\r\n" + strings.Repeat("x", BodyMax+1),
		} {
			c := w.dial()
			began := time.Now()
			io.WriteString(c, "POST /mesh/step/1 HTTP/1.1\r\nHost: n\r\n"+body)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 413 || !resp.Close || time.Since(began) != 0 {
				t.Errorf("%.20q: %d, close %v, after %v",
					body, resp.StatusCode, resp.Close, time.Since(began))
			}
		}
	})
}

func TestAConnectionServesManyRequests(t *testing.T) {
	inWorld(t, text(), func(t *testing.T, w *world) {
		c := w.dial()
		r := bufio.NewReader(c)
		for range 5 {
			io.WriteString(c, "GET /mesh HTTP/1.1\r\nHost: n\r\n\r\n")
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := io.ReadAll(resp.Body); string(b) != "mesh\n" || resp.Close {
				t.Errorf("%q, close %v", b, resp.Close)
			}
			<-time.After(IdleTime - time.Millisecond)
		}
		began := time.Now()
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("after %v of rest: %v", time.Since(began), err)
		}
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("closed %v after the idle time was over", took)
		}
	})
}

// ends returns how long the connection lives on, whatever comes on it.
func ends(c net.Conn) time.Duration {
	began := time.Now()
	io.Copy(io.Discard, c)
	return time.Since(began)
}

func TestASlowOrSilentClientIsCutOff(t *testing.T) {
	inWorld(t, text(), func(t *testing.T, w *world) {
		tests := []struct {
			name string
			talk func(c net.Conn)
		}{
			{"says nothing", func(net.Conn) {}},
			{"sends a byte a second", func(c net.Conn) {
				for _, b := range []byte("GET /mesh HTTP/1.1\r\nHost: n\r\n\r\n") {
					if _, err := c.Write([]byte{b}); err != nil {
						return
					}
					<-time.After(time.Second)
				}
			}},
			{"does not send its body", func(c net.Conn) {
				io.WriteString(c, "POST /mesh/step/1 HTTP/1.1\r\nHost: n\r\nContent-Length: 9\r\n\r\n")
			}},
		}
		for _, test := range tests {
			c := w.dial()
			var group sync.WaitGroup
			group.Go(func() { test.talk(c) })
			if took := ends(c); took > RequestTime {
				t.Errorf("a client that %s is served for %v", test.name, took)
			}
			group.Wait()
		}
	})
}

func TestAClientThatReadsNothingIsCutOff(t *testing.T) {
	big := text()
	big.Mesh = func(context.Context) Answer { return Page(strings.Repeat("x", 1<<20)) }
	inWorld(t, big, func(t *testing.T, w *world) {
		c := w.dial()
		io.WriteString(c, "GET /mesh HTTP/1.1\r\nHost: n\r\n\r\n")
		<-time.After(RequestTime)
		synctest.Wait()
		b, _ := io.ReadAll(c)
		if len(b) == 0 || len(b) >= 1<<20 {
			t.Errorf("got %d bytes of the answer", len(b))
		}
	})
}

func TestServeReportsAListenerThatFails(t *testing.T) {
	l, err := memnet.New().Host(address).Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := New(text()).Serve(t.Context(), l); err == nil {
		t.Error("no error")
	}
}

// panicking makes the test binary, run again, serve a page that panics.
const panicking = "HOLDFAST_TEST_PANIC"

func TestAPanicInAPageEndsTheProgram(t *testing.T) {
	if os.Getenv(panicking) != "" {
		servePanic(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), panicking+"=1", "GOTRACEBACK=all")
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Count(string(out), "panic: web: on purpose") != 1 {
		t.Errorf("error %v, output:\n%s", err, out)
	}
	if !strings.Contains(string(out), "web.panicOnPurpose") {
		t.Errorf("the trace does not show where:\n%s", out)
	}
}

func servePanic(t *testing.T) {
	site := text()
	site.Mesh = panicOnPurpose
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go New(site).Serve(context.Background(), l)
	resp, err := http.Get("http://" + l.Addr().String() + "/mesh")
	t.Fatal("still alive:", resp, err)
}

func panicOnPurpose(context.Context) Answer { panic("web: on purpose") }
