package attack

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"holdfast/rig/provision"
)

// The ports of a node.
const (
	meshPort = provision.MeshPort
	httpPort = 80
)

// All returns the attacks on a node that listens for links, in the order in which they are made.
func All() []Attack {
	return []Attack{
		{Name: "garbage", Time: 5 * time.Second, Rate: 100, do: garbage,
			About: "random bytes to both ports and, with a key that is allowed, inside a session"},
		{Name: "length-bombs", Time: 5 * time.Second, Rate: 40, do: bombs,
			About: "lengths that promise more than there is: records, frames, headers, bodies"},
		{Name: "trickle", Time: 8 * time.Second, do: trickle,
			About: "one byte a second of what begins well, on every connection that can be had"},
		{Name: "held-slots", Time: 6 * time.Second, do: slots,
			About: "connections that say nothing hold every handshake slot"},
		{Name: "wrong-keys", Time: 30 * time.Second, Rate: 1000, do: wrongKeys,
			About: "a thousand connections a second with keys that nobody allows"},
		{Name: "http-flood", Time: 8 * time.Second, do: flood,
			About: "requests without end, the longest pages, commits without a right"},
		{Name: "bad-frames", Time: 6 * time.Second, Rate: 1500, do: frames,
			About: "malformed Ethernet, ARP, IP, ICMP and TCP, fragments, connections half opened"},
	}
}

// garbage sends what is no protocol.
func garbage(x *assault) {
	x.paced(func(r *rand.Rand) {
		switch r.IntN(3) {
		case 0:
			x.babble(x.dial(httpPort), r)
		case 1:
			x.babble(x.dial(meshPort), r)
		case 2:
			x.babble(x.inside(), r)
		}
	})
}

// babble says random bytes and listens until the node has had enough.
func (x *assault) babble(c net.Conn, r *rand.Rand) {
	if c == nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	noise := make([]byte, 1+r.IntN(8<<10))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	if _, err := c.Write(noise); err == nil {
		io.Copy(io.Discard, c)
	}
}

// inside is a session with a key that the authority allows; nil when there is none to be had.
func (x *assault) inside() net.Conn { return x.secure(x.insider) }

// secure is a connection after its handshake.
func (x *assault) secure(config *tls.Config) net.Conn {
	raw := x.dial(meshPort)
	if raw == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(x.ctx, 2*patience)
	defer cancel()
	c := tls.Client(raw, config)
	if c.HandshakeContext(ctx) != nil {
		raw.Close()
		return nil
	}
	return c
}

// bomb is a beginning that promises more than is sent, and what is sent until the node has had
// enough.
type bomb struct {
	port       uint16
	inside     bool // a session, with a key that is allowed
	head, fill string
}

// handshakeRecord is the header of a TLS record of a handshake.
const handshakeRecord = "\x16\x03\x01"

var allBombs = []bomb{
	{port: meshPort, head: handshakeRecord + "\xff\xff", fill: "\x00"},
	{port: meshPort, head: handshakeRecord + "\x40\x00\x01\xff\xff\xff", fill: "\x03"},
	{port: meshPort, head: "\x17\x03\x03\x40\x00", fill: "\x17"},
	{inside: true, head: "\xff\xff", fill: "\x00"},
	{inside: true, head: "\x00\x00", fill: "\x00"},
	{inside: true, head: "\x0f\xfe\x01", fill: "\xff"},
	{port: httpPort, head: "GET /", fill: "a"},
	{port: httpPort, head: "GET / HTTP/1.1\r\n", fill: "X-Header: value\r\n"},
	{port: httpPort, head: "PUT /objects/x HTTP/1.1\r\nHost: x\r\n" +
		"Content-Length: 9223372036854775807\r\n\r\n", fill: "v"},
	{port: httpPort, head: "PUT /objects/x HTTP/1.1\r\nHost: x\r\n" +
		"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", fill: "v"},
	{port: httpPort, head: "PUT /objects/x HTTP/1.1\r\nHost: x\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n", fill: "1;extension\r\nv\r\n"},
}

// fillMax is how much a bomb sends at most, which is more than any node is to take.
const fillMax = 1 << 20

func bombs(x *assault) {
	x.paced(func(r *rand.Rand) {
		b := allBombs[r.IntN(len(allBombs))]
		var c net.Conn
		if b.inside {
			c = x.inside()
		} else {
			c = x.dial(b.port)
		}
		if c == nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		fill := strings.Repeat(b.fill, 1024)
		_, err := io.WriteString(c, b.head)
		for sent := 0; err == nil && sent < fillMax; sent += len(fill) {
			_, err = io.WriteString(c, fill)
		}
	})
}

// trickle sends one byte a second.
func trickle(x *assault) {
	const request = "PUT /objects/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
	hello := binary.BigEndian.AppendUint16([]byte(handshakeRecord), 512)
	x.crowd(20, func(*rand.Rand) { x.drip(x.dial(httpPort), request) })
	x.crowd(6, func(*rand.Rand) { x.drip(x.dial(meshPort), string(hello)) })
	x.crowd(2, func(*rand.Rand) { x.drip(x.inside(), "\x0f\xfe\x01") })
}

// drip sends a text, and zeros behind it, a byte a second, until the node closes the connection.
func (x *assault) drip(c net.Conn, text string) {
	if c == nil {
		x.pause(time.Second / 10)
		return
	}
	defer c.Close()
	text += strings.Repeat("0", int(x.Time/time.Second))
	for i := range text {
		if _, err := io.WriteString(c, text[i:i+1]); err != nil || !x.pause(time.Second) {
			return
		}
	}
}

// pause reports false when the attack is over.
func (x *assault) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// slots holds handshake slots by saying nothing, and comes again when it is pushed out.
func slots(x *assault) {
	x.crowd(8, func(*rand.Rand) {
		c := x.dial(meshPort)
		if c == nil {
			x.pause(time.Second / 10)
			return
		}
		defer c.Close()
		io.Copy(io.Discard, c)
	})
}

// wrongKeys shows keys that nobody allows.
func wrongKeys(x *assault) {
	x.paced(func(*rand.Rand) {
		if c := x.secure(x.stranger); c != nil {
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			io.Copy(io.Discard, c) // the refusal
		}
	})
}

// flood asks without end: each of a crowd asks a few times on one connection, as fast as it is
// answered, and begins anew.
func flood(x *assault) {
	const each = 20
	requests := []string{
		"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /mesh/log HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /mesh/route HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /" + strings.Repeat("no-such-page", 100) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		fmt.Sprintf("PUT /objects/x HTTP/1.1\r\nHost: x\r\nAuthorization: Holdfast %s\r\n"+
			"Content-Length: 1000\r\n\r\n%s", strings.Repeat("A", 172), strings.Repeat("v", 1000)),
		"POST /mesh/step/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\ncap=",
	}
	x.crowd(32, func(r *rand.Rand) {
		c := x.dial(httpPort)
		if c == nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		go func() { io.Copy(io.Discard, c) }()
		for range each {
			if _, err := io.WriteString(c, requests[r.IntN(len(requests))]); err != nil {
				return
			}
		}
		x.pause(time.Duration(r.IntN(200)) * time.Millisecond)
	})
}
