package main_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"holdfast/qemu"
)

// BenchmarkAKeepAliveRequest counts the instructions that a request costs on the whole machine,
// from interrupt to interrupt, waiting excluded: under -icount shift=0 an instruction is a
// nanosecond. The machine is an authority alone.
func BenchmarkAKeepAliveRequest(b *testing.B) {
	image := build(b)
	_, key := rootChip(b)
	allowed := "Authorization: " + capabilityHeader(key, "a") + "\r\n"
	put := "PUT /objects/a HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n" + allowed + "\r\nvalue"
	for _, bench := range []struct{ name, request string }{
		{"GET /", "GET / HTTP/1.1\r\nHost: n\r\n\r\n"},
		{"GET /mesh", "GET /mesh HTTP/1.1\r\nHost: n\r\n\r\n"},
		{"GET an object", "GET /objects/a HTTP/1.1\r\nHost: n\r\n" + allowed + "\r\n"},
		{"PUT an object", put},
	} {
		b.Run(bench.name, func(b *testing.B) {
			file, _ := rootChip(b) // an authority that has run before does not commit at once
			n := boot(b, qemu.Machine{Image: image, NVRAM: file, ICount: "shift=0"})
			n.get("/") // it serves
			c, err := net.Dial("tcp", n.p.Forwarded(80).String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			k := keepAlive{b, c, bufio.NewReader(c)}
			k.send(put)
			k.send(bench.request) // the first request pays for what is made once
			before := k.busyTicks()
			empty := k.busyTicks() - before // what asking costs
			before = k.busyTicks()
			for b.Loop() {
				k.send(bench.request)
			}
			ticks := float64(k.busyTicks() - before - empty)
			b.ReportMetric(ticks*nsPerTick/float64(b.N), "instructions/op")
		})
	}
}

// nsPerTick is 1/62.5 MHz, the counter of QEMU's board.
const nsPerTick = 16

// keepAlive is one connection that serves many requests.
type keepAlive struct {
	t testing.TB
	c net.Conn
	r *bufio.Reader
}

// send sends a request that must succeed and returns the answer's body.
func (k keepAlive) send(request string) string {
	k.t.Helper()
	if _, err := io.WriteString(k.c, request); err != nil {
		k.t.Fatal(err)
	}
	resp, err := http.ReadResponse(k.r, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		k.t.Fatalf("%q: %s %q, %v", request, resp.Status, body, err)
	}
	return string(body)
}

// busyTicks reads the machine's own count.
func (k keepAlive) busyTicks() uint64 {
	k.t.Helper()
	for line := range strings.Lines(k.send("GET /mesh/stats HTTP/1.1\r\nHost: n\r\n\r\n")) {
		if digits, ok := strings.CutPrefix(line, "kernel_busy_ticks="); ok {
			ticks, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
			if err != nil {
				k.t.Fatal(err)
			}
			return ticks
		}
	}
	k.t.Fatal("GET /mesh/stats does not count")
	return 0
}
