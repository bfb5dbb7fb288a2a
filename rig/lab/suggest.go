package lab

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"holdfast/mesh/detect/policy"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/nvram/config"
	"holdfast/rig/lab/trace"
)

const (
	// leastLease is the shortest write lease that is proposed: with it a node steps every 50 ms,
	// and takes a tenth of a second for a pause of its own.
	leastLease when.Span = 400
	// gapsLeast is how many gaps a proposal needs.
	gapsLeast = 20
	// roundTo: the proposed times are multiples.
	roundTo when.Span = 10
	// failMost is the longest failure window that an environment can hold.
	failMost = when.Span(config.TimeMax / time.Millisecond)
)

// Suggestion is a proposal of timing constants for one trace.
type Suggestion struct {
	Timing timing.Timing
	Rate   float64   // false convictions a day that were asked for
	Late   when.Span // by how much a frame is late so seldom
	Far    bool      // Late lies beyond what the trace can show: it was extrapolated
	Worst  when.Span // lateness in the trace
	Spare  when.Span // what rule L3 leaves, or what stands in its place without leases
	Played Result    // the trace's lateness replayed to the detector with this timing
}

// Suggest proposes a timing under which a living peer is convicted at most rate times a day, as far
// as the trace can tell.
//
// The watcher hears of a member when it asks for its lease, every third of it: a silence is that
// and a lateness. How late a frame is with a given rarity is read from the trace; where the trace
// is too short, it is extrapolated from its longest gaps, by the most careful of several
// exponential tails, and never below the longest. The lease then is so long that it outlives a
// lateness that comes once a day, and the failure window so long that both it and rule L3 fit.
//
// Within is the longest failure window that is wanted, 0 for any. One that no lease leaves the time
// for is had by nodes whose every commit needs the acknowledgements of all (mesh.acks=all): then it
// is as long as wanted, if the trace allows that.
func Suggest(t *trace.Trace, rate float64, within when.Span, s Settings) (*Suggestion, error) {
	late := lateness(t)
	switch {
	case len(late) < gapsLeast:
		return nil, fmt.Errorf("%d gaps are too few, want at least %d", len(late), gapsLeast)
	case rate <= 0 || math.IsInf(rate, 0) || math.IsNaN(rate):
		return nil, errors.New("the rate of false convictions must be positive")
	}
	g := &Suggestion{Rate: rate, Worst: late[len(late)-1]}
	daily, _ := rare(late, max(1, 10*rate)/(dayMS/float64(leastLease/3)))
	lease := max(leastLease, up(daily*3/2))
	ask := lease / 3
	g.Late, g.Far = rare(late, rate/(dayMS/float64(ask)))
	beat := lease * 3 / 4
	suspect := up(max(ask+daily, beat+roundTo))
	fail := up(max(ask+g.Late+timing.HandlerMS, 2*suspect))
	g.Timing = timing.Timing{Heartbeat: beat, Suspect: suspect, Fail: fail, WriteLease: lease}
	g.widen()
	if within > 0 && g.Timing.Fail > within {
		g.Timing.AcksAll, g.Timing.Fail = true, max(fail, within/roundTo*roundTo)
		g.widen()
	}
	switch {
	case within > 0 && g.Timing.Fail > within:
		return nil, fmt.Errorf("the shortest failure window is %s, also without leases: the frames come "+
			"too late for %s", text(g.Timing.Fail), text(within))
	case g.Timing.Fail > failMost:
		return nil, fmt.Errorf("it takes a failure window above %s, the longest of %s: the frames come "+
			"too late", config.TimeMax, config.KeyTime)
	}
	// A member that has not shown for the suspicion time that it hears gets no lease: the half of the
	// window, as the ADR has it, costs nothing.
	g.Timing.Suspect = max(suspect, g.Timing.Fail/2)
	g.Spare = g.Timing.Spare()
	g.Played = Compare(Contender{Name: "suggested", Interval: ask, look: ask / 50,
		make: func(Settings) policy.Policy { return policy.NewPair(g.Timing) }}, retimed(t, ask), s)
	return g, nil
}

// widen lengthens the failure window until a node takes the times: they are in order, so that only
// the window can be too short.
func (g *Suggestion) widen() {
	for g.Timing.Check() != nil && g.Timing.Fail <= failMost {
		g.Timing.Fail += roundTo
	}
}

// retimed is the trace as it would have been with another interval and the same lateness.
func retimed(t *trace.Trace, interval when.Span) *trace.Trace {
	r := &trace.Trace{Name: t.Name, Interval: interval}
	for _, g := range t.Gaps {
		r.Gaps = append(r.Gaps, trace.Gap{Length: interval + max(0, g.Length-t.Interval), Cause: g.Cause})
	}
	return r
}

// up rounds up.
func up(s when.Span) when.Span { return (s + roundTo - 1) / roundTo * roundTo }

// lateness is by how much each gap is longer than it was meant to be, sorted. What the watcher
// itself did is left out.
func lateness(t *trace.Trace) []when.Span {
	var late []when.Span
	for _, g := range t.Gaps {
		if g.Cause != trace.Self {
			late = append(late, max(0, g.Length-t.Interval))
		}
	}
	slices.Sort(late)
	return late
}

// rare is the lateness that is exceeded with probability p, and whether it had to be extrapolated:
// the trace has too few gaps for ten such.
func rare(late []when.Span, p float64) (length when.Span, far bool) {
	const enough = 10
	n := float64(len(late))
	if k := p * n; k >= enough {
		return late[len(late)-1-int(min(k, n-1))], false
	}
	best := float64(late[len(late)-1])
	for k := enough; k <= len(late)/2; k *= 2 {
		u := float64(late[len(late)-1-k])
		mean := 0.0
		for _, l := range late[len(late)-k:] {
			mean += (float64(l) - u) / float64(k)
		}
		best = max(best, u+mean*math.Log(float64(k)/n/p))
	}
	return when.Span(math.Ceil(min(best, trace.GapMax))), true
}

// WriteText writes the proposal for a terminal, the NVRAM key last.
func (g *Suggestion) WriteText(to io.Writer, t *trace.Trace) error {
	how := "read from it"
	if g.Far {
		how = fmt.Sprintf("extrapolated: %s of it can show nothing rarer than %s a day",
			text(t.Length()/when.Second*when.Second), number(dayMS/float64(t.Length())))
	}
	c := g.Timing
	fmt.Fprintf(to, "%s: %d gaps of %s and up to %s more\n", t.Name, len(t.Gaps), text(t.Interval),
		text(g.Worst))
	fmt.Fprintf(to, "  wanted: at most %s false convictions a day; so seldom a frame is %s late\n"+
		"  (%s)\n", number(g.Rate), text(g.Late), how)
	fmt.Fprintf(to, "  heartbeat %s, suspect %s, fail %s, lease %s (asked for every %s)\n",
		text(c.Heartbeat), text(c.Suspect), text(c.Fail), text(c.WriteLease), text(c.Ask()))
	rule := "rule L3: (lease in whole seconds + 1 s)"
	if c.AcksAll {
		rule = "no lease: (2 questions apart + a pause of a quarter of fail)"
	}
	fmt.Fprintf(to, "  %s/(1 - 1 %%) + 0.3 s <= fail/(1 + 1 %%), %s to spare\n", rule, text(g.Spare))
	fmt.Fprintf(to, "  replayed: %s suspected, %s convicted a day; a crash is found in %s (p50), "+
		"%s (max)\n", number(g.Played.Suspicions), number(g.Played.Convictions),
		g.Played.time(g.Played.P50), g.Played.time(g.Played.Max))
	acks := ""
	if c.AcksAll {
		acks = "  " + config.KeyAcks + "=all\n"
	}
	_, err := fmt.Fprintf(to, "%s  %s=%d,%d,%d,%d\n", acks, config.KeyTime, c.Heartbeat, c.Suspect,
		c.Fail, c.WriteLease)
	return err
}
