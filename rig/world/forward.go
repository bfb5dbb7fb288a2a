package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"holdfast/netstack"
)

// httpPort is where a node serves HTTP.
const httpPort = 80

// Forward makes an address on this host's loopback interface lead to a node's HTTP port, through
// the rig's own station, until Close. What passes is in the capture and not in the journal.
func (w *World) Forward(node string) (netip.AddrPort, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("rig: forwarding to %s: %w", node, err)
	}
	to := netip.AddrPortFrom(w.machine(node).node.Address.Addr(), httpPort)
	w.callers.Go(func() {
		defer context.AfterFunc(w.ctx, func() { listener.Close() })()
		for {
			client, err := listener.Accept()
			switch {
			case w.ctx.Err() != nil:
				if err == nil {
					client.Close()
				}
				return
			case err != nil:
				w.trouble(fmt.Errorf("forwarding to %s: %w", node, err))
				return
			}
			w.callers.Go(func() { w.splice(client.(*net.TCPConn), to) })
		}
	})
	return netip.MustParseAddrPort(listener.Addr().String()), nil
}

// splice connects a client with a node until both have said all, or the run is over. A node that
// cannot be reached closes the client's connection.
func (w *World) splice(client *net.TCPConn, to netip.AddrPort) {
	defer client.Close()
	dialling, cancel := context.WithTimeout(w.ctx, requestTimeout)
	defer cancel()
	conn, err := w.station.Dial(dialling, to)
	if err != nil {
		return
	}
	node := conn.(*netstack.Conn)
	defer node.Close()
	defer context.AfterFunc(w.ctx, func() {
		client.Close()
		node.Close()
	})()
	var both sync.WaitGroup
	both.Go(func() { pump(node, client) })
	both.Go(func() { pump(client, node) })
	both.Wait()
}

// halfCloser is a connection whose one direction can be ended.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// pump copies one direction. Its end is passed on; a failure ends both directions.
func pump(to, from halfCloser) {
	_, err := io.Copy(to, from)
	if errors.Join(err, to.CloseWrite()) != nil {
		to.Close()
		from.Close()
	}
}
