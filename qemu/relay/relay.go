package relay

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// DefaultQueue is how many frames may wait for a port, and how many may be held or delayed on
	// a path: about two TCP windows of 256 KB.
	DefaultQueue = 512

	headerLen = 14 // destination, source, EtherType
	minFrame  = 60 // Ethernet's shortest frame without its check sequence
	// maxLearned bounds the table of addresses. Only a station that invents addresses gets there;
	// what is not learned is flooded.
	maxLearned = 1024
)

type mac [6]byte

func (a mac) group() bool { return a[0]&1 != 0 }

// Options configure a relay; the zero value will do.
type Options struct {
	Queue int    // bound of each queue, in frames; DefaultQueue when 0
	Seed  uint64 // of the chances in rules

	// Observe gets every record, in order, from one goroutine. It may be slow: up to maxRecords
	// wait for it, and what comes beyond them is counted by LostRecords.
	Observe func(Record)
	// Report gets what went wrong with a port's socket, at most one error for each goroutine of a
	// port's. What happens to frames is no error.
	Report func(error)
}

// Relay is a switch. Its methods, and those of its ports and paths, may be called from any
// goroutine; but for Close, also from Options' functions.
type Relay struct {
	options Options
	records *recorder
	wake    chan struct{} // has room for one: the earliest due time may have changed
	closing chan struct{}
	working sync.WaitGroup // the goroutines that Close waits for

	mu     sync.Mutex // guards what follows, and what Port and Path say it guards
	closed bool
	ports  []*Port
	table  map[mac]*Port
	paths  map[[2]*Port]*Path
	due    timetable
	number uint64 // of frames that were delayed so far
}

// New makes a switch without ports.
func New(o Options) *Relay {
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	r := &Relay{
		options: o,
		records: newRecorder(o.Observe),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		table:   make(map[mac]*Port),
		paths:   make(map[[2]*Port]*Path),
	}
	r.working.Go(r.pace)
	return r
}

// Path returns the direction from one port to another, which must be different ones of this relay.
func (r *Relay) Path(from, to *Port) *Path {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.path(from, to)
}

func (r *Relay) path(from, to *Port) *Path {
	if from == to || from.relay != r || to.relay != r {
		panic("relay: a path leads between two ports of one relay")
	}
	key := [2]*Port{from, to}
	p := r.paths[key]
	if p == nil {
		h := fnv.New64a()
		io.WriteString(h, from.name+"\x00"+to.name)
		p = &Path{from: from, to: to, chance: rand.New(rand.NewPCG(r.options.Seed, h.Sum64()))}
		r.paths[key] = p
	}
	return p
}

// Cut drops everything between a and b, both ways, until Heal.
func (r *Relay) Cut(a, b *Port) {
	r.Path(a, b).set(Block)
	r.Path(b, a).set(Block)
}

// Heal takes the rules between a and b away, both ways.
func (r *Relay) Heal(a, b *Port) {
	r.Path(a, b).set(Rule{})
	r.Path(b, a).set(Rule{})
}

// arrive takes a frame that from's station sent. The frame is the relay's from now on. It reports
// false when the relay is closed.
func (r *Relay) arrive(from *Port, frame []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	record := Record{At: time.Now(), From: from, Frame: frame}
	from.received++
	if len(frame) < headerLen {
		record.Outcomes = []Outcome{{Verdict: Runt}}
		from.other[Runt]++
		r.records.put(record)
		return true
	}
	r.learn(mac(frame[6:12]), from)
	if to, known := r.table[mac(frame[:6])]; known && to == from {
		record.Outcomes = []Outcome{{Verdict: Local}}
		from.other[Local]++
	} else if known {
		record.Outcomes = []Outcome{r.send(r.path(from, to), &record.Frame, record.At)}
	} else {
		for _, to := range r.ports {
			if to != from {
				copied := frame
				record.Outcomes = append(record.Outcomes, r.send(r.path(from, to), &copied, record.At))
			}
		}
	}
	r.records.put(record)
	return true
}

// learn remembers that a station's address is behind a port. A group address is nobody's.
func (r *Relay) learn(source mac, from *Port) {
	if source.group() {
		return
	}
	if _, known := r.table[source]; known || len(r.table) < maxLearned {
		r.table[source] = from
	}
}

// send puts a frame on a path and returns what came of it. It replaces *frame by the frame that
// goes on, when the path's rule changed it.
func (r *Relay) send(p *Path, frame *[]byte, now time.Time) Outcome {
	f := p.rule.apply(*frame, p.chance)
	*frame = f.frame
	o := Outcome{To: p.to, Change: f.change}
	switch {
	case f.drop:
		o.Verdict = Dropped
	case p.to.frozen:
		o.Verdict = Frozen
	case f.hold:
		o.Verdict = Full
		if len(p.held) < r.options.Queue {
			o.Verdict = Held
			p.held = append(p.held, parcel{path: p, frame: f.frame, change: f.change})
		}
	case f.wait:
		o.Verdict = Full
		if p.waiting < r.options.Queue {
			o.Verdict = Delayed
			r.delay(p, f, now)
		}
	default:
		o.Verdict = p.pass(f.frame, f.change)
	}
	p.counts[o.Verdict]++
	return o
}

// LostRecords counts records that neither Capture nor Observe got, because they did not keep up.
func (r *Relay) LostRecords() uint64 { return r.records.lost.Load() }

// Ports returns the ports in the order in which they were added.
func (r *Relay) Ports() []*Port {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ports)
}

// Close closes every port and waits for the relay's goroutines, and so until Observe has got the
// last record. Frames that are held, delayed or wait for another process are lost; a Local port's
// Receive gets what waits for it, and returns. A second Close returns net.ErrClosed.
func (r *Relay) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return net.ErrClosed
	}
	r.closed = true
	close(r.closing)
	for _, p := range r.ports {
		p.close()
	}
	r.mu.Unlock()
	r.working.Wait()
	r.records.close()
	return nil
}
