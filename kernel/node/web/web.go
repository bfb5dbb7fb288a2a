// Package web is the node's HTTP server: what is needed to serve a few small text pages to clients
// that may be slow, stuck or hostile, without the rest of the node noticing. It owns the limits,
// the turns in which requests are at work (turn.go), the paths and their methods, and the checks of
// everything that comes from outside. It must never wait for the mesh itself or know what a page
// says: package node writes the pages (Site).
//
// Like Plan 9's status files, a page is text with one fact a line; a refusal is one line, too, that
// says what was wrong: a word, a colon, a sentence. The paths are those of evidence.md:
//
//	GET  /                  what there is
//	GET  /mesh              the node and its members
//	GET  /mesh/homes        every object
//	GET  /mesh/health       how regularly peers are heard of
//	GET  /mesh/route        authority, fences, results, counters
//	GET  /mesh/log?after=N  the evidence, numbered
//	GET  /mesh/tape?after=N the protocol's inputs and what came of them; where it is kept
//	GET  /mesh/stats        the node's own figures
//	GET  /metrics           the same and more, for Prometheus
//	GET  /epitaph           what the boot before left of a crash
//	POST /mesh/step/N       a lab step; body cap=<base64url>
//	GET  /debug/pprof/NAME  a profile, seconds=N for the processor's; where there are profiles
//	GET  /objects/{name}    an object's value
//	PUT  /objects/{name}    a new value, the body; 0 to BodyMax bytes
//
// HEAD is answered wherever GET is (RFC 9110 section 9.1). Any other path is 404, any other method
// 405. What a request for an object says in its headers is in object.go.
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

	"holdfast/mesh"
	"holdfast/mesh/wire"
)

// The limits (spec/system.md section 6; evidence.md, "HTTP").
const (
	// ConnectionsMax is how many clients are served at once, AddressMax how many of them from one
	// address, so that a stranger who takes all that he gets leaves some to others; one more is told
	// so and closed.
	ConnectionsMax = 16
	AddressMax     = 12
	// HeadMax bounds a request's line and headers, BodyMax its body, in bytes. The largest body is
	// an object's value.
	HeadMax = 4096
	BodyMax = wire.ValueMax
	// IdleTime is how long a connection may rest between two requests.
	IdleTime = 5 * time.Second
	// RequestTime bounds a whole request: it must have come within readTime, and its answer have
	// gone writeTime after that. A replicated commit may wait for the removal of a silent member,
	// and so for longer than the 10 s of evidence.md (docs/decisions/0009-replication.md).
	RequestTime = readTime + writeTime
	readTime    = 4 * time.Second
	writeTime   = 17 * time.Second
)

// headSlop is what package http adds to Server.MaxHeaderBytes, which it takes as a rough figure.
const headSlop = 4096

// AnswerTime is how long a function of Site may take: what is left of writeTime is for the answer
// to go out.
const AnswerTime = writeTime - 500*time.Millisecond

// Answer is a page, a value or a refusal. The body of a page or a refusal is whole lines. Header is
// what the answer has besides the usual, in the canonical spelling of package http; nil is none.
type Answer struct {
	Status int
	Body   string
	Header http.Header
}

// Page is an answer of whole lines.
func Page(text string) Answer { return Answer{Status: http.StatusOK, Body: text} }

// Refuse is an answer of one line.
func Refuse(status int, line string) Answer { return Answer{Status: status, Body: line + "\n"} }

// Site is the pages. Its functions are called by many goroutines, and by one for each address that
// does not Rest; those that take a context come back when it is done.
type Site struct {
	Mesh  func(context.Context) Answer
	Stats func() Answer
	// Metrics is in the text format of Prometheus, and says so in its header.
	Metrics func() Answer
	Log     func(after uint64) Answer
	Epitaph func() Answer
	// Profile takes a profile by its name, the processor's for so long; nil when there are none.
	Profile func(ctx context.Context, name string, length time.Duration) Answer

	// NoMesh answers for all that follows, which is nil then, at a node without a mesh. It is nil
	// at a node with one.
	NoMesh func() Answer

	Homes, Route, Health func(context.Context) Answer
	// Tape is what the node keeps of its protocol's steps, behind a record.
	Tape func(after uint64) Answer
	// Step carries out a lab step. The capability has the length that the client chose.
	Step func(ctx context.Context, number int, capability []byte) Answer
	// Object carries out a request for an object, whose Ticket is zero. What it says is in the
	// right form; whether it may be done is for the mesh to say.
	Object func(ctx context.Context, q mesh.Request) Answer
}

// Server serves one Site.
type Server struct {
	http    http.Server
	room    room
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
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, guestKey{}, c.(*limitedConn).guest)
		},
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
	limited := newLimitedListener(l, &s.room, &s.refused)
	defer limited.wait()
	err := s.http.Serve(limited)
	if stop() {
		return fmt.Errorf("web: %w", err)
	}
	<-closed
	return nil
}

// Refused is how many connections were turned away because there were too many.
func (s *Server) Refused() uint64 { return s.refused.Load() }

// Waited is how many requests had to wait for a turn of their address.
func (s *Server) Waited() uint64 { return s.room.waited.Load() }
