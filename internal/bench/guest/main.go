// Guest is the image that package bench measures: what any network service on this kernel has
// (net/http over gVisor over ENET) and nothing of Holdfast's own, so that its figures can be put
// beside another bare-metal Go's. It is no product.
//
//	80    HTTP: GET / a short text, GET /figures the counters, GET /clocks what reading a clock
//	      costs, GET /latency how soon a goroutine has an interrupt, GET /busy begins to be busy
//	5001  takes bytes and drops them
//	5002  sends bytes for as long as the peer takes them
//	5003  sends back what it takes
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"holdfast/internal/guest"
	"holdfast/kernel/sys"
	"holdfast/netstack"
)

func main() {
	st := sys.ReadStats()
	fmt.Printf("bench: main ticks=%d kernel=%d\n", sys.Counter()-st.Entered, st.Started-st.Entered)
	s, err := guest.Network(netip.MustParsePrefix("10.0.2.15/24"), netip.MustParseAddr("10.0.2.2"))
	if err != nil {
		panic(err)
	}
	serve(s, 5001, func(c net.Conn) { io.Copy(io.Discard, c) })
	serve(s, 5002, source)
	serve(s, 5003, echo)
	l, err := s.Listen(80)
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hello from bare metal\n")
	})
	http.HandleFunc("/figures", figures)
	http.HandleFunc("/clocks", clocks)
	http.HandleFunc("/latency", latency)
	http.HandleFunc("/busy", busy)
	fmt.Println("bench: serving")
	panic(http.Serve(l, nil))
}

func serve(s *netstack.Stack, port uint16, handle func(net.Conn)) {
	l, err := s.Listen(port)
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
}

func source(c net.Conn) {
	b := make([]byte, 64<<10)
	for {
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// echo answers each message of up to 64 bytes with itself.
func echo(c net.Conn) {
	b := make([]byte, 64)
	for {
		n, err := c.Read(b)
		if err == nil {
			_, err = c.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
}

// figures prints the counters as they were when the request arrived.
func figures(w http.ResponseWriter, _ *http.Request) {
	at, st := sys.Counter(), sys.ReadStats()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(w, "ticks=%d hz=%d sys=%d gcs=%d\n",
		at-st.Entered-st.IdleTicks, sys.CounterHz(), m.Sys, m.NumGC)
}

// clocks prints how many ticks it took to read each clock so many times.
func clocks(w http.ResponseWriter, _ *http.Request) {
	const reads = 100_000
	start := sys.Counter()
	for range reads {
		time.Now()
	}
	now := sys.Counter()
	for range reads {
		sys.Counter()
	}
	end := sys.Counter()
	fmt.Fprintf(w, "reads=%d now=%d counter=%d\n", reads, now-start, end-now)
}
