package sim

import (
	"slices"
	"strconv"

	"holdfast/mesh/timing"
)

// plan is the character of one world, drawn from its seed before anything happens: which faults it
// knows at all and how often, how good its network and its clocks are, who uses it. A world with
// every fault in it rarely gets far enough to be interesting; many worlds with a few each do.
type plan struct {
	members int  // beside the authority, 1 to 4
	twin    bool // a machine with a copy of the first member's NVRAM exists
	marks   bool // the authority has NVRAM, so that it can be restarted
	both    bool // the nodes have a second clock
	detect  bool
	acks    *timing.Timing // of nodes without leases, nil for the ADR's (acks.go)
	objects int            // of the lab

	latency, jitter Time // each way, at best
	buffers         bool // what arrives while a machine is stopped waits for it
	queue           int  // frames that a session's sender keeps before it gives up
	late            Time // a tick comes up to that much after it is due
	rate            int  // millionths by which counters err at most
	secondRate      int  // and second clocks
	chip            Time // how long one slot of marks takes to be written

	clients int
	think   Time // between two requests of one client, at most

	faults   []fault
	weights  int
	failover bool // failover.go
	season   bool // hours with a fault in a while, not minutes with one every few seconds
	between  Time // mean time between two faults
	storm    Time // how long there are faults
	quiet    Time // how long the whole mesh is watched afterwards
	visit    Time // the operator comes after this and up to five times as long
}

// most is the worst that a world's nodes may be like (spec/system.md section 9, L3).
const rateMax = 10_000

func draw(r *random) plan {
	p := plan{
		members:    1 + r.below(2),
		twin:       r.one(5),
		marks:      !r.one(4),
		both:       !r.one(3),
		detect:     !r.one(6),
		objects:    r.below(len(labNames) + 1),
		latency:    r.scale(200, 50*Millisecond),
		buffers:    r.one(2),
		queue:      []int{20, 48, 400}[r.below(3)],
		rate:       []int{50, 1_000, rateMax}[r.below(3)],
		secondRate: []int{0, 50, rateMax}[r.below(3)],
		chip:       r.scale(Millisecond, 200*Millisecond),
		clients:    r.below(4),
		think:      r.scale(50*Millisecond, 20*Second),
	}
	if r.one(3) {
		p.members = 3 + r.below(2)
	}
	p.jitter, p.visit = r.upTo(p.latency), 2*Minute
	if r.one(4) {
		p.late = r.upTo(700 * Millisecond)
	}
	// Most worlds have a fault every few seconds, for minutes; the others one in a while, for hours.
	p.between = r.scale(300*Millisecond, 20*Second)
	p.storm = max(2*Minute, r.between(50, 100)*p.between)
	p.quiet = r.scale(Minute, 20*Minute)
	if r.one(3) {
		p.season = true
		p.between = r.scale(30*Second, 20*Minute)
		p.think = r.scale(10*Second, 10*Minute)
		p.storm = r.between(2*Hour, 16*Hour)
		p.quiet = r.between(Hour, 8*Hour)
	}
	p.choose(r)
	return p
}

// Season reports whether the world of a seed is one of those in which there is trouble in a while
// only, for hours: they cost a hundred times what the others cost.
func Season(seed uint64) bool {
	p := draw(&random{seed})
	return p.season
}

// choose draws the faults: each kind that fits the world is there or not.
func (p *plan) choose(r *random) {
	for _, f := range kinds {
		if (f.fits == nil || f.fits(p)) && r.one(2) {
			f.weight = 1 + r.below(f.weight)
			p.faults = append(p.faults, f)
			p.weights += f.weight
		}
	}
}

// pick draws one of the world's faults, by weight.
func (p *plan) pick(r *random) (fault, bool) {
	if p.weights == 0 {
		return fault{}, false
	}
	n := r.below(p.weights)
	i := slices.IndexFunc(p.faults, func(f fault) bool {
		n -= f.weight
		return n < 0
	})
	return p.faults[i], true
}

// String tells the plan in one line.
func (p *plan) String() string {
	words := []string{"members=" + strconv.Itoa(p.members)}
	number := func(key string, n int64) {
		words = append(words, key+"="+strconv.FormatInt(n, 10))
	}
	for _, on := range []struct {
		is   bool
		name string
	}{{p.failover, "failover"}, {p.twin, "twin"}, {p.marks, "marks"},
		{p.both, "second-clock"}, {p.detect, "detect"}, {p.buffers, "buffers"}} {
		if on.is {
			words = append(words, on.name)
		}
	}
	number("objects", int64(p.objects))
	number("latency_us", int64(p.latency))
	number("jitter_us", int64(p.jitter))
	number("late_ms", int64(p.late/Millisecond))
	number("queue", int64(p.queue))
	number("rate_ppm", int64(p.rate))
	number("second_ppm", int64(p.secondRate))
	number("chip_us", int64(p.chip))
	number("clients", int64(p.clients))
	number("think_ms", int64(p.think/Millisecond))
	number("between_ms", int64(p.between/Millisecond))
	number("storm_s", int64(p.storm/Second))
	number("quiet_s", int64(p.quiet/Second))
	if p.acks != nil {
		number("acks_fail_ms", int64(p.acks.Fail))
	}
	for _, f := range p.faults {
		number(f.name, int64(f.weight))
	}
	return join(words)
}
