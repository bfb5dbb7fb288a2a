// Talk shows on real kernels how a TCP session bears a cut (package talk has it in virtual time).
// With PEER in the environment it is the talker: it writes a line every EVERY and says each number
// that comes back; else it is the echo. ADDRESS is its own address.
package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	"holdfast/internal/guest"
	"holdfast/netstack/talk"
)

const port = 7

func main() {
	s, err := guest.Network(netip.MustParsePrefix(os.Getenv("ADDRESS")), netip.Addr{})
	if err != nil {
		panic(err)
	}
	peer := os.Getenv("PEER")
	if peer == "" {
		l, err := s.Listen(port)
		if err != nil {
			panic(err)
		}
		fmt.Println("talk: listening")
		panic(talk.Echo(l))
	}
	every, err := time.ParseDuration(os.Getenv("EVERY"))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := s.Dial(ctx, netip.AddrPortFrom(netip.MustParseAddr(peer), port))
	if err != nil {
		panic(err)
	}
	t := talk.Talker{Every: every, Sleep: time.Sleep,
		Heard: func(n int) { fmt.Println("talk: heard", n) }}
	panic(t.Run(c)) // the session is over: it should have lived
}
