// Package web is the node's HTTP server: what is needed to serve a few small text pages to clients
// that may be slow, stuck or hostile, without the rest of the node noticing. It owns the limits,
// the paths and their methods, and the checks of everything that comes from outside. It must never
// wait for the mesh itself or know what a page says: package node writes the pages (Site).
//
// Like Plan 9's status files, a page is text with one fact a line; a refusal is one line, too, that
// says what was wrong. The paths are those of evidence.md:
//
//	GET  /                  what there is
//	GET  /mesh              the node and its members
//	GET  /mesh/homes        every object
//	GET  /mesh/route        authority, fences, results, counters
//	GET  /mesh/log?after=N  the evidence, numbered
//	GET  /mesh/stats        the node's own figures
//	POST /mesh/step/N       a lab step; body cap=<base64url>
//	     /objects/...       disabled until objects are served
//
// HEAD is answered wherever GET is (RFC 9110 section 9.1). Any other path is 404, any other method
// 405.
package web

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// The limits (spec/system.md section 6; evidence.md, "HTTP").
const (
	// ConnectionsMax is how many clients are served at once; one more is closed at once.
	ConnectionsMax = 16
	// HeadMax bounds a request's line and headers, BodyMax its body, in bytes.
	HeadMax = 4096
	BodyMax = 1024
	// IdleTime is how long a connection may rest between two requests.
	IdleTime = 5 * time.Second
	// RequestTime bounds a whole request: it must have come within readTime, and its answer have
	// gone writeTime after its headers.
	RequestTime = readTime + writeTime
	readTime    = 4 * time.Second
	writeTime   = 6 * time.Second
)

// headSlop is what package http adds to Server.MaxHeaderBytes, which it takes as a rough figure.
const headSlop = 4096

// Answer is a page or a refusal. Body is whole lines.
type Answer struct {
	Status int
	Body   string
}

// Refuse is an answer of one line.
func Refuse(status int, line string) Answer { return Answer{status, line + "\n"} }

// Site is the pages. Its functions are called by many goroutines; those that take a context come
// back when it is done.
type Site struct {
	Mesh, Homes, Route func(context.Context) Answer
	Stats              func() Answer
	Log                func(after uint64) Answer
	// Step carries out a lab step. The capability has the length that the client chose.
	Step func(ctx context.Context, number int, capability []byte) Answer
}

// Server serves one Site.
type Server struct {
	http    http.Server
	refused atomic.Uint64
}

// New makes the server of a site.
func New(site Site) *Server {
	return &Server{http: http.Server{
		Handler:      handler{site},
		ReadTimeout:  readTime,
		WriteTimeout: writeTime,
		IdleTimeout:  IdleTime,
		// 0 would mean the default of a megabyte, so that one byte more than HeadMax passes.
		MaxHeaderBytes: HeadMax - headSlop + 1,
		// What strangers send is answered, not logged: the console is for evidence.
		ErrorLog:                     log.New(io.Discard, "", 0),
		DisableGeneralOptionsHandler: true,
	}}
}

// Serve takes connections from a listener until ctx is done, and closes it and them. The error is
// nil unless the listener failed by itself.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		s.http.Close()
	})
	err := s.http.Serve(&limitedListener{l, make(chan struct{}, ConnectionsMax), &s.refused})
	if stop() {
		return fmt.Errorf("web: %w", err)
	}
	<-closed
	return nil
}

// Refused is how many connections were closed because there were too many.
func (s *Server) Refused() uint64 { return s.refused.Load() }

// limitedListener accepts a connection only while there is room, and closes the others at once: a
// client that waits in the backlog cannot tell a busy node from a dead one.
type limitedListener struct {
	net.Listener
	room    chan struct{} // holds a token for each connection
	refused *atomic.Uint64
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.room <- struct{}{}:
			return &limitedConn{Conn: c, room: l.room}, nil
		default:
			l.refused.Add(1)
			c.Close()
		}
	}
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	room   chan struct{}
	closed atomic.Bool
}

func (c *limitedConn) Close() error {
	if !c.closed.Swap(true) {
		<-c.room
	}
	return c.Conn.Close()
}

// CloseWrite is what package http closes its side with after a refusal that the client may still be
// sending to, so that the client gets to read it.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
