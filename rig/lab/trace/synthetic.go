package trace

import (
	"math"
	"math/rand/v2"

	"holdfast/mesh/when"
)

// Base is the heartbeat of the synthetic traces, the chapter's.
const Base when.Span = 100

// worstPause is the chapter's longest silence of a living process, in section 4.2.
const worstPause when.Span = 2_900

// Kind is one way to make a trace.
type Kind struct {
	Name  string
	About string
	gap   func(*maker)
}

// Kinds are the synthetic traces.
func Kinds() []Kind {
	return []Kind{
		{"idle", "an idle machine: a beat is late by a few milliseconds at most", (*maker).idle},
		{"busy", "a busy machine: mean 101 ms, deviation 2.4 ms, the worst some 50 late", (*maker).busy},
		{"gc", "a collector that stops the world all the time, up to 2.9 s", (*maker).collector},
		{"stalls", "an idle machine that stands still every ten minutes, 0.5 to 2.9 s", (*maker).stalls},
		{"loss", "an idle machine behind a path that loses every hundredth frame", (*maker).loss},
		{"jitter", "an idle machine behind a path that delays by up to 80 ms", (*maker).jitter},
		{"flapping", "a path that breaks once a minute, for 1 to 8 s", (*maker).flapping},
		{"observer", "a watcher that stands still once in five minutes, 0.5 to 8 s", (*maker).observer},
	}
}

// Make makes a trace of at least that length. The same kind, length and seed give the same trace.
func (k Kind) Make(length when.Span, seed uint64) *Trace {
	m := &maker{
		random: rand.New(rand.NewPCG(seed, uint64(len(k.Name)))),
		trace:  &Trace{Name: k.Name, About: k.About, Interval: Base},
	}
	for m.at < length {
		k.gap(m)
	}
	return m.trace
}

// maker is a trace being made.
type maker struct {
	random *rand.Rand
	trace  *Trace
	at     when.Span // the length so far
	delay  when.Span // of the path, for the latest beat
}

func (m *maker) add(length when.Span, cause Cause) {
	m.trace.Gaps = append(m.trace.Gaps, Gap{length, cause})
	m.at += length
}

// late is how late a process gets the processor, exponentially distributed.
func (m *maker) late(mean float64) when.Span {
	return when.Span(math.Round(m.random.ExpFloat64() * mean))
}

// between is a length between two, both included.
func (m *maker) between(low, high when.Span) when.Span {
	return low + when.Span(m.random.Int64N(int64(high-low)+1))
}

// once reports whether something happens in this gap that happens once in a mean time.
func (m *maker) once(mean when.Span) bool {
	return m.random.Float64() < float64(Base)/float64(mean)
}

func (m *maker) idle() { m.add(Base+m.late(0.8), Peer) }

// busy has two kinds of lateness: a little, and in one gap of 70 the wait for other processes.
func (m *maker) busy() {
	mean := 0.9
	if m.random.Float64() < 1.0/70 {
		mean = 13
	}
	m.add(Base+m.late(mean), Peer)
}

// collector stops the world between any two beats. The median gap is 600 ms.
func (m *maker) collector() {
	stop := 500 * math.Exp(0.6*m.random.NormFloat64())
	m.add(min(Base+when.Span(stop), worstPause), Peer)
}

func (m *maker) stalls() {
	if m.once(600_000) {
		m.add(Base+m.between(500, worstPause-Base), Peer)
		return
	}
	m.idle()
}

// loss adds up what is lost with the gap before it.
func (m *maker) loss() {
	gap, cause := Base+m.late(0.8), Peer
	for m.random.IntN(100) == 0 {
		gap, cause = gap+Base+m.late(0.8), Path
	}
	m.add(gap, cause)
}

// jitter keeps the order of the beats: one that overtakes arrives with the one before it.
func (m *maker) jitter() {
	delay := m.between(0, 80)
	gap := max(0, Base+m.late(0.8)+delay-m.delay)
	m.delay = delay
	m.add(gap, Peer)
}

func (m *maker) flapping() {
	if m.once(60_000) {
		m.add(Base+m.between(1_000, 8_000), Path)
		return
	}
	m.idle()
}

// observer finds what came during its pause waiting, all at once.
func (m *maker) observer() {
	if !m.once(300_000) {
		m.idle()
		return
	}
	pause := m.between(500, 8_000)
	m.add(Base+pause, Self)
	for range pause / Base {
		m.add(0, Self)
	}
}
