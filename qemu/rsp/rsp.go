// Package rsp speaks as much of GDB's Remote Serial Protocol as it takes to stop a machine at an
// instruction: a breakpoint is set, the machine goes on, and says when it has come there.
//
// It owns the connection that it is given. It knows nothing of programs, of symbols or of what the
// stopped machine is good for. Nothing here waits without a bound: whatever waits ends with its
// context, and the connection is of no use after that.
//
//	running   QEMU stops the machine for a debugger that connects, and says so: Stopped
//	stopped   Break, then Go
//	running   until the breakpoint is reached: Stopped
//
// A packet is `$`, its text, `#` and the sum of the text's bytes in two hex digits; the other side
// acknowledges it with `+`. Between programs of one host nothing is damaged, so that a `-` is an
// error and nothing is sent again. Sources: the GDB manual, appendix "GDB Remote Serial Protocol",
// sections Overview, Packets and Stop Reply Packets; QEMU's gdbstub, which takes this much of it.
package rsp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// packetMax bounds the text of a packet that is read. Those that are read here have a few bytes.
const packetMax = 4096

// Client is one session with a debugger stub. Its methods are called by one goroutine.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
}

// New takes a connection to a stub.
func New(conn net.Conn) *Client { return &Client{conn, bufio.NewReader(conn)} }

// Break makes the machine stop before it carries out the ARM instruction at an address. The machine
// must be stopped; when Break returns nil it is.
func (c *Client) Break(ctx context.Context, address uint32) error {
	const armInstruction = 4 // bytes; 2 and 3 are Thumb's
	err := c.within(ctx, func() error {
		if err := c.send(fmt.Sprintf("Z0,%x,%d", address, armInstruction)); err != nil {
			return err
		}
		answer, err := c.receive()
		switch {
		case err != nil:
			return err
		case answer == "":
			return errors.New("the stub knows no breakpoints")
		case answer != "OK":
			return fmt.Errorf("refused with %q", answer)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("breakpoint at %#x: %w", address, err)
	}
	return nil
}

// Go lets the stopped machine go on.
func (c *Client) Go(ctx context.Context) error {
	if err := c.within(ctx, func() error { return c.send("c") }); err != nil {
		return fmt.Errorf("going on: %w", err)
	}
	return nil
}

// Stopped waits until the running machine has stopped.
func (c *Client) Stopped(ctx context.Context) error {
	err := c.within(ctx, func() error {
		reply, err := c.receive()
		if err == nil && (reply == "" || reply[0] != 'T' && reply[0] != 'S') {
			err = fmt.Errorf("%q instead", reply)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the stop: %w", err)
	}
	return nil
}

// Close ends the session. What a stub does to a machine that its debugger leaves is the stub's.
func (c *Client) Close() error { return c.conn.Close() }

// within does something with the connection for as long as ctx lets it.
func (c *Client) within(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := do()
	if !stop() && err != nil {
		return context.Cause(ctx)
	}
	return err
}

// send sends a packet and waits for its acknowledgement.
func (c *Client) send(text string) error {
	if _, err := fmt.Fprintf(c.conn, "$%s#%02x", text, sum(text)); err != nil {
		return err
	}
	b, err := c.in.ReadByte()
	if err == nil && b != '+' {
		err = fmt.Errorf("%q is not acknowledged: %q", text, b)
	}
	return err
}

// receive reads a packet and acknowledges it.
func (c *Client) receive() (string, error) {
	if b, err := c.in.ReadByte(); err != nil {
		return "", err
	} else if b != '$' {
		return "", fmt.Errorf("%q where a packet begins", b)
	}
	text, err := c.text()
	if err != nil {
		return "", err
	}
	var digits [2]byte
	for i := range digits {
		if digits[i], err = c.in.ReadByte(); err != nil {
			return "", err
		}
	}
	if want := fmt.Sprintf("%02x", sum(text)); string(digits[:]) != want {
		return "", fmt.Errorf("packet %q has the sum %q, not %s", text, digits[:], want)
	}
	_, err = c.conn.Write([]byte{'+'})
	return text, err
}

// text reads a packet's text up to its '#'.
func (c *Client) text() (string, error) {
	var text []byte
	for {
		b, err := c.in.ReadByte()
		switch {
		case err != nil:
			return "", err
		case b == '#':
			return string(text), nil
		case len(text) == packetMax:
			return "", fmt.Errorf("a packet of more than %d bytes", packetMax)
		}
		text = append(text, b)
	}
}

// sum is a packet's checksum.
func sum(text string) (sum uint8) {
	for i := range len(text) {
		sum += text[i]
	}
	return sum
}
