//go:build arm

// Soak runs the checks that can last beside each other, without an end, while it serves HTTP on
// port 80 and echoes TCP on port 7. Every round of a check is a line, "ok NAME: N rounds" or "FAIL
// NAME: REASON"; package soakkernel drives and judges it.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"

	"holdfast/internal/guest"
	"holdfast/kernel/internal/guest/check"
)

func main() {
	stack, err := guest.Network(netip.MustParsePrefix("10.0.2.15/24"),
		netip.MustParseAddr("10.0.2.2"))
	if err != nil {
		panic(err)
	}
	echo, err := stack.Listen(7)
	if err != nil {
		panic(err)
	}
	web, err := stack.Listen(80)
	if err != nil {
		panic(err)
	}
	go serveEcho(echo)
	for _, c := range check.Lasting {
		go repeat(c)
	}
	fmt.Println("soak: serving")
	panic(http.Serve(web, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	})))
}

// repeat runs a check again and again.
func repeat(c check.Check) {
	for n := 1; ; n++ {
		if _, err := c.Protected(); err != nil {
			fmt.Printf("FAIL %s: %v\n", c.Name, err)
			return
		}
		fmt.Printf("ok %s: %d rounds\n", c.Name, n)
	}
}

func serveEcho(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			io.Copy(c, c)
		}()
	}
}
