package netstack

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// stackError reports that gVisor refused to do something, in its own words.
func stackError(what string, err tcpip.Error) error {
	return fmt.Errorf("netstack: %s: %s", what, err)
}

// standard turns gVisor's errors into those that a Go program tests for: io.EOF, net.ErrClosed and
// the errno values that package net returns on Linux.
func standard(err tcpip.Error) error {
	switch err.(type) {
	case *tcpip.ErrClosedForReceive:
		return io.EOF
	case *tcpip.ErrClosedForSend:
		return syscall.EPIPE
	case *tcpip.ErrInvalidEndpointState: // only a closed listener answers so
		return net.ErrClosed
	case *tcpip.ErrConnectionRefused:
		return syscall.ECONNREFUSED
	case *tcpip.ErrConnectionReset:
		return syscall.ECONNRESET
	case *tcpip.ErrConnectionAborted, *tcpip.ErrAborted:
		return syscall.ECONNABORTED
	case *tcpip.ErrNotConnected:
		return syscall.ENOTCONN
	case *tcpip.ErrTimeout:
		return syscall.ETIMEDOUT
	case *tcpip.ErrHostUnreachable, *tcpip.ErrHostDown:
		return syscall.EHOSTUNREACH
	case *tcpip.ErrNetworkUnreachable, *tcpip.ErrNoNet:
		return syscall.ENETUNREACH
	case *tcpip.ErrPortInUse:
		return syscall.EADDRINUSE
	case *tcpip.ErrBadLocalAddress:
		return syscall.EADDRNOTAVAIL
	}
	return errors.New(err.String())
}
