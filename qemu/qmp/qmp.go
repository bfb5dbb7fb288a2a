// Package qmp speaks the QEMU Machine Protocol: one JSON object a line in each direction over a
// stream, as QEMU's docs/interop/qmp-spec describes it.
//
// It owns the connection it is given: the greeting, the capability negotiation, the pairing of
// answers with commands by their id, and the delivery of events. It knows no command by name but
// qmp_capabilities, starts no process and retries nothing. Nothing here waits without a bound: a
// command waits as long as its context lets it, and everything ends when the connection does.
//
// States of a Client: open (New returned it), then closed for good, with a reason, once the
// connection ends, the peer says something that is not QMP, or Close is called.
package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxMessage bounds one message from QEMU. query-qmp-schema, the longest answer QEMU has,
	// is about 200 KB; what is longer than this is not QMP.
	maxMessage = 16 << 20
	// maxEvents is how many events may wait for the event function. QEMU limits the rate of its
	// noisy events, so that only a function that has stopped returning can fill it.
	maxEvents = 256
)

// ErrClosed is what Execute returns, wrapped around the reason, once the connection has ended.
var ErrClosed = errors.New("QMP connection closed")

// Event is something QEMU reports unasked, such as SHUTDOWN, RESET, STOP or WATCHDOG.
type Event struct {
	At   time.Time // when it was read here, on this program's clock
	Name string
	Data json.RawMessage // the event's own object; nil when it has none
}

// Error is QEMU's refusal of a command.
type Error struct {
	Command string
	Class   string // "GenericError", "CommandNotFound", ...
	Desc    string // for people
}

// Error names the command, and QEMU's reason for refusing it.
func (e *Error) Error() string {
	return fmt.Sprintf("QMP %s: %s (%s)", e.Command, e.Desc, e.Class)
}

// message is every shape that QEMU sends: a greeting, an answer, an error or an event.
type message struct {
	QMP    json.RawMessage `json:"QMP"`
	ID     *uint64         `json:"id"`
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// request is every shape that a Client sends.
type request struct {
	Execute   string `json:"execute"`
	Arguments any    `json:"arguments,omitempty"`
	ID        uint64 `json:"id"`
}

// Client is one QMP session. Its methods may be called from any goroutine, also from the event
// function.
type Client struct {
	conn   net.Conn
	events chan Event
	over   chan struct{} // closed when the session is over
	done   chan struct{} // closed when, besides, the last event was delivered
	lost   atomic.Uint64

	writing chan struct{} // holds one token while a request is being written to conn

	mu      sync.Mutex              // guards what follows
	pending map[uint64]chan message // commands that wait for their answer, by id
	last    uint64                  // the newest id given out
	reason  error                   // why the session is over; nil while it is open
}

// New takes conn, waits for QEMU's greeting and negotiates; ctx bounds that. After that each event
// is handed to onEvent, in order, by one goroutine of the Client's; onEvent may be nil, and may be
// slow, but while maxEvents wait for it, further ones are dropped and counted. New closes conn when
// it fails.
func New(ctx context.Context, conn net.Conn, onEvent func(Event)) (*Client, error) {
	c := &Client{
		conn:    conn,
		events:  make(chan Event, maxEvents),
		over:    make(chan struct{}),
		done:    make(chan struct{}),
		writing: make(chan struct{}, 1),
		pending: make(map[uint64]chan message),
	}
	greeted := make(chan struct{})
	go c.read(greeted)
	go c.deliver(onEvent)
	if err := c.negotiate(ctx, greeted); err != nil {
		c.Close()
		return nil, fmt.Errorf("QMP handshake: %w", err)
	}
	return c, nil
}

func (c *Client) negotiate(ctx context.Context, greeted <-chan struct{}) error {
	select {
	case <-greeted:
	case <-c.over:
		return c.closed()
	case <-ctx.Done():
		return fmt.Errorf("no greeting: %w", context.Cause(ctx))
	}
	_, err := c.Execute(ctx, "qmp_capabilities", nil)
	return err
}

// Execute runs one command and returns its answer. args is its arguments, encoded by encoding/json,
// or nil for none. A refusal is an *Error; an ended connection is ErrClosed, wrapped. When ctx ends
// first QEMU may still carry the command out, and its answer is thrown away.
func (c *Client) Execute(ctx context.Context, command string, args any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.reason != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("QMP %s: %w", command, c.closed())
	}
	c.last++
	id := c.last
	c.pending[id] = answer
	c.mu.Unlock()
	defer c.forget(id)

	if err := c.send(ctx, request{Execute: command, Arguments: args, ID: id}); err != nil {
		return nil, fmt.Errorf("QMP %s: %w", command, err)
	}
	var m message
	select {
	case m = <-answer:
	case <-ctx.Done():
		return nil, fmt.Errorf("QMP %s: no answer: %w", command, context.Cause(ctx))
	case <-c.over:
		select { // the answer to quit is the last thing that QEMU says
		case m = <-answer:
		default:
			return nil, fmt.Errorf("QMP %s: %w", command, c.closed())
		}
	}
	if m.Error != nil {
		return nil, &Error{Command: command, Class: m.Error.Class, Desc: m.Error.Desc}
	}
	return m.Return, nil
}

// send writes one request. A stopped QEMU does not read, so that a write, too, can last: ctx ends
// it. A request cut short leaves the stream without meaning, so that the session ends with it.
func (c *Client) send(ctx context.Context, r request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return fmt.Errorf("not sent: %w", context.Cause(ctx))
	}
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.conn.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	n, err := c.conn.Write(append(line, '\n'))
	if !stop() {
		<-expired
		c.conn.SetWriteDeadline(time.Time{}) // for the next request
	}
	if err == nil {
		return nil
	}
	if n > 0 || ctx.Err() == nil {
		c.end(err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("not sent: %w", cause)
	}
	return c.closed()
}

// read is the Client's reading goroutine. It ends when the connection does.
func (c *Client) read(greeted chan<- struct{}) {
	defer close(c.events)
	in := bufio.NewScanner(c.conn)
	in.Buffer(make([]byte, 0, 4096), maxMessage)
	for in.Scan() {
		var m message
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			c.end(fmt.Errorf("not QMP: %w", err))
			return
		}
		switch {
		case m.QMP != nil:
			if greeted == nil {
				c.end(errors.New("not QMP: a second greeting"))
				return
			}
			close(greeted)
			greeted = nil
		case m.Event != "":
			select {
			case c.events <- Event{At: time.Now(), Name: m.Event, Data: m.Data}:
			default:
				c.lost.Add(1)
			}
		case m.ID != nil:
			c.answer(*m.ID, m)
		default:
			// An error without an id is QEMU's answer to something it could not parse, which
			// json.Marshal does not write.
			c.end(fmt.Errorf("not QMP: %.200q", in.Text()))
			return
		}
	}
	err := in.Err()
	if err == nil {
		err = io.EOF
	}
	c.end(err)
}

// answer hands m to the command that waits for it; a command whose context ended waits no more.
func (c *Client) answer(id uint64, m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.pending[id]; answer != nil {
		answer <- m // has room: one answer an id
		delete(c.pending, id)
	}
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
}

// deliver is the goroutine that calls onEvent. Events read before the end are delivered before
// Done is closed.
func (c *Client) deliver(onEvent func(Event)) {
	defer close(c.done)
	for e := range c.events {
		if onEvent != nil {
			onEvent(e)
		}
	}
}

// end closes the session for the first reason given.
func (c *Client) end(reason error) {
	c.mu.Lock()
	if c.reason == nil {
		c.reason = reason
		close(c.over)
	}
	c.mu.Unlock()
	c.conn.Close()
}

func (c *Client) closed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Errorf("%w: %w", ErrClosed, c.reason)
}

// Done is closed when the session is over and the last event was delivered.
func (c *Client) Done() <-chan struct{} { return c.done }

// LostEvents counts events that were dropped because the event function did not keep up.
func (c *Client) LostEvents() uint64 { return c.lost.Load() }

// Close ends the session. It does not wait for the event function, from which it may be called.
func (c *Client) Close() { c.end(net.ErrClosed) }
