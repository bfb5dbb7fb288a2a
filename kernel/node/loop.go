package node

import (
	"context"
	"sync/atomic"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/kernel/node/health"
	"holdfast/kernel/node/link"
	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// core is the protocol as the loop uses it: *mesh.Node.
type core interface {
	Step(now when.Instant, in mesh.Input, out *mesh.Effects)
	Deadline() when.Instant
	Status(now when.Instant) mesh.Status
	Homes(now when.Instant) []mesh.HomeStatus
	Leaves(now when.Instant, o id.Object) bool
	AuthorityRow(now when.Instant) evidence.Line
	CountersRow(now when.Instant) evidence.Line
}

// linkLayer is what the loop asks of the links: *link.Links. None of it waits.
type linkLayer interface {
	Send(s link.Session, control bool, frame []byte)
	Close(s link.Session, why link.Reason)
	Drain(s link.Session)
	Redial()
}

const (
	// eventQueue is how many events wait for the loop. Whoever brings one waits while it is full;
	// there is at most one waiting for each session, handshake and HTTP connection.
	eventQueue = 64
	// askedMax is how many questions are under way at once: more than HTTP has connections, since
	// clients may go before the answer comes.
	askedMax = 2 * web.ConnectionsMax
)

// loop is the one goroutine that owns the protocol's state (rule L2): it hands every event in with
// a reading of the clock, carries the effects out in order, and never waits for anybody.
type loop struct {
	clock  func() when.Instant
	second func() (when.Calendar, bool) // nil: there is no second clock
	waits  clock.Clock
	log    *log
	events chan event
	ended  chan struct{} // closed when the loop takes no more events

	core  core
	links linkLayer
	out   mesh.Effects
	want  func(mesh.Marks) // has the authority's marks saved; saved follows
	armed when.Instant     // when the timer fires, Never when it does not
	tape  *recorder        // nil: no tape is kept

	every  when.Span    // the longest between two ticks
	ticked when.Instant // when the latest one was

	closing map[link.Session]bool         // closed, but Down has not come yet
	heard   map[link.Session]when.Instant // when its latest frame came
	peers   map[link.Session]id.Node
	said    map[link.Reason]when.Instant // when a refusal with that reason was last a row
	ticket  mesh.Ticket
	asked   map[mesh.Ticket]chan<- mesh.Answer

	health health.Monitor // advises whoever looks, and nobody here
	pause  when.Span      // a tick that is later than this was a pause of the node's own

	stats loopStats
}

// loopStats is read by others while the loop runs.
type loopStats struct {
	steps    atomic.Uint64
	ticks    atomic.Uint64
	lateTick atomic.Uint64 // ticks later than lateMS
	lateMax  atomic.Int64  // the latest tick, in milliseconds
	refused  atomic.Uint64 // connections that did not become a session
	unread   atomic.Uint64 // readings of the second clock that failed
	mutable  atomic.Bool   // whether the node may commit, as of the latest tick
	lease    atomic.Int64  // milliseconds left of the write lease, as of the latest tick

	gaps   *histogram // between two frames of a session
	leases *histogram // what is left of the write lease, at every tick with one
}

// lateMS is how late a tick is before it is counted: more than scheduling alone costs.
const lateMS when.Span = 20

func newLoop(m Machine, log *log) *loop {
	return &loop{
		clock: m.Clock, second: m.Second, waits: m.Waits, log: log,
		armed: when.Never, every: timing.TickMS, pause: timing.PauseMS,
		events:  make(chan event, eventQueue),
		ended:   make(chan struct{}),
		closing: make(map[link.Session]bool),
		said:    make(map[link.Reason]when.Instant),
		asked:   make(map[mesh.Ticket]chan<- mesh.Answer),
		heard:   make(map[link.Session]when.Instant),
		peers:   make(map[link.Session]id.Node),
		stats: loopStats{
			gaps: newHistogram(10, 100, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 5_500, 6_000, 8_000,
				10_000, 12_000),
			leases: newHistogram(250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 5_500, 6_000),
		},
	}
}

// begin starts the protocol and carries out the effects of its boot.
func (l *loop) begin(c mesh.Config) error {
	now := l.clock()
	node, err := mesh.New(now, c, &l.out)
	if err != nil {
		return err
	}
	l.tape.began(now, c, &l.out)
	l.core, l.every, l.pause = node, c.Timing.Tick(), c.Timing.Pause()
	l.health.Outage = c.Timing.Fail
	l.carryOut()
	// The protocol has a reading of the second clock before anything that it would ask it for.
	l.tell()
	return nil
}

// run handles events and time until ctx is done.
func (l *loop) run(ctx context.Context) error {
	defer close(l.ended)
	due := make(chan struct{}, 1)
	timer := l.waits.AfterFunc(0, func() {
		select {
		case due <- struct{}{}:
		default: // the loop has not come to the last one yet
		}
	})
	defer timer.Stop()
	for {
		l.arm(timer)
		select {
		case <-ctx.Done():
			return nil
		case <-due:
			l.armed = when.Never
			l.tick()
		case e := <-l.events:
			l.tick() // time first: an event must not be judged by a deadline that has passed
			e.handle(l)
		}
	}
}

// arm sets the timer to the next tick. Nearly every step moves the deadline back; a timer
// that is armed already is left alone then, fires early, and is armed anew.
func (l *loop) arm(timer clock.Timer) {
	if at := l.due(); at < l.armed {
		l.armed = at
		timer.Reset(time.Duration(at.Sub(l.clock())) * time.Millisecond)
	}
}

// due is when the next tick is. Events put the protocol's deadline off, because each of them tells
// it the time; but not that of the second clock, which only ticks do.
func (l *loop) due() when.Instant { return l.core.Deadline().Min(l.ticked.Add(l.every)) }

// tick tells the protocol of the time, when it wants to know.
func (l *loop) tick() {
	now, due := l.clock(), l.due()
	if now < due {
		return
	}
	l.stats.ticks.Add(1)
	late := now.Sub(due)
	if late > lateMS {
		l.stats.lateTick.Add(1)
	}
	l.health.Ticked(late, l.pause)
	if int64(late) > l.stats.lateMax.Load() {
		l.stats.lateMax.Store(int64(late))
	}
	l.tell()
}

// tell is a tick, with a fresh reading of the second clock. There are few more ticks than the four
// a second that time alone makes, so that no reading is worth keeping for the next one.
func (l *loop) tell() {
	l.step(mesh.Tick{Second: l.readSecond()})
	now := l.clock()
	l.ticked = now
	mutable := l.core.Status(now).Mutable
	l.stats.mutable.Store(mutable)
	left, _ := l.core.AuthorityRow(now).GetSpan("write_lease_ms")
	l.stats.lease.Store(int64(left))
	if mutable {
		l.stats.leases.observe(left)
	}
}

// readSecond reads the second clock.
func (l *loop) readSecond() when.Calendar {
	if l.second == nil {
		return when.NoSecond
	}
	s, ok := l.second()
	if !ok {
		l.stats.unread.Add(1)
		return when.NoSecond
	}
	return s
}

// step hands one input to the protocol and carries out what follows from it.
func (l *loop) step(in mesh.Input) {
	l.stats.steps.Add(1)
	now := l.clock()
	l.core.Step(now, in, &l.out)
	l.tape.stepped(now, in, &l.out)
	l.carryOut()
}

// carryOut carries out the effects of the latest step in order. A Recheck is answered once all of
// them are, with a new reading of both clocks, before anything else can happen (rules L4, L6).
func (l *loop) carryOut() {
	var recheck []mesh.Ticket
	for _, e := range l.out.List {
		switch e := e.(type) {
		case mesh.Send:
			l.links.Send(link.Session(e.Session), e.Control, e.Data)
		case mesh.Close:
			l.closing[link.Session(e.Session)] = true
			l.links.Close(link.Session(e.Session), link.Reason(e.Reason))
		case mesh.Dial:
			l.links.Redial()
		case mesh.Drain:
			l.links.Drain(link.Session(e.Session))
		case mesh.Recheck:
			recheck = append(recheck, e.Ticket)
		case mesh.Persist:
			l.want(e.Marks)
		case mesh.Print:
			l.log.Add(e.Line)
		case mesh.Answer:
			l.answer(e)
		default:
			panic("node: unknown effect")
		}
	}
	for _, t := range recheck {
		l.step(mesh.Rechecked{Ticket: t, Second: l.readSecond()})
	}
}

// answer ends a question. There is a place for the answer; whoever asked may be gone.
func (l *loop) answer(a mesh.Answer) {
	reply := l.asked[a.Ticket]
	if reply == nil {
		panic("node: an answer that nobody asked for")
	}
	delete(l.asked, a.Ticket)
	reply <- a
}

func (l *loop) print(line evidence.Line) { l.log.Add(line.At(l.clock())) }

// deliver brings an event of the links. It waits for a place in the queue.
func (l *loop) deliver(e link.Event) { l.post(context.Background(), linkEvent{e}) }

// post brings an event, and reports false when the loop or ctx ended before there was a place.
func (l *loop) post(ctx context.Context, e event) bool {
	select {
	case l.events <- e:
		return true
	case <-l.ended:
		return false
	case <-ctx.Done():
		return false
	}
}
