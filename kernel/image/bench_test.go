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
// nanosecond.
func BenchmarkAKeepAliveRequest(b *testing.B) {
	image := build(b)
	for _, path := range []string{"/", "/mesh"} {
		b.Run("GET "+path, func(b *testing.B) {
			n := boot(b, qemu.Machine{Image: image, ICount: "shift=0"})
			n.get(path) // the first request pays for what is made once
			c, err := net.Dial("tcp", n.p.Forwarded(80).String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			k := keepAlive{b, c, bufio.NewReader(c)}
			k.get(path)
			before := k.busyTicks()
			empty := k.busyTicks() - before // what asking costs
			before = k.busyTicks()
			for b.Loop() {
				k.get(path)
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

func (k keepAlive) get(path string) string {
	k.t.Helper()
	if _, err := io.WriteString(k.c, "GET "+path+" HTTP/1.1\r\nHost: n\r\n\r\n"); err != nil {
		k.t.Fatal(err)
	}
	resp, err := http.ReadResponse(k.r, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		k.t.Fatalf("GET %s: %s %q, %v", path, resp.Status, body, err)
	}
	return string(body)
}

// busyTicks reads the machine's own count.
func (k keepAlive) busyTicks() uint64 {
	k.t.Helper()
	for line := range strings.Lines(k.get("/mesh/stats")) {
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
