package judge

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/rig/journal"
)

// hazard is what a record means for the whole run, whatever its fault is about.
type hazard uint8

const (
	harmless   hazard = iota
	panicked          // a kernel or node said that it is broken
	unparsable        // a console line claims to be evidence and is not
	paused            // a node noticed that it had not been running
	restarted         // a machine reset itself or switched itself off
	died              // QEMU ended and the rig had no part in it
	incomplete        // console output was lost
)

// lostMark starts the line that stands in for console bytes that were lost in the rig.
const lostMark = "[console: "

// Watch goes through a journal record by record and notices what makes going on pointless. The zero
// Watch is at the start.
type Watch struct {
	ended map[boot]bool  // machines that the rig has killed or asked to end
	halts map[boot]*halt // machines that the rig has made stand still

	broken map[int]bool // records of lines that an expected reset broke off
}

// halt is the latest time in which a machine stood still.
type halt struct {
	over    bool
	until   journal.Time // when it went on
	stalled bool         // by a signal, for which a watchdog resets the machine
	bitten  bool         // the watchdog has, and the reset is to come
	torn    bool         // that reset may have broken a line off, which the next boot's first ends
}

// wakes is how long after a machine went on what it says and does may come of the halt.
const wakes = 5 * time.Second

// causes says whether what happens to a machine at an instant may come of the halt.
func (h *halt) causes(at journal.Time) bool {
	return h != nil && (!h.over || at <= h.until.Add(wakes))
}

// boot is one start of one node.
type boot struct {
	node  string
	count int
}

// Alarm is why a run should end.
type Alarm struct {
	Reason  string
	Panic   bool // a trace is to be expected on the console
	Trouble bool // it is no fault of a guest's
}

// See takes the next record and says whether it is an alarm.
func (w *Watch) See(r journal.Record) (Alarm, bool) {
	switch w.see(r) {
	case panicked:
		return Alarm{Reason: describe(r), Panic: true}, true
	case restarted:
		return Alarm{Reason: describe(r)}, true
	case died:
		return Alarm{Reason: describe(r), Trouble: true}, true
	case unparsable:
		reason := describe(r) + ", which is malformed"
		_, err := evidence.Parse(r.Line)
		var why *evidence.Error
		if errors.As(err, &why) {
			reason += ": " + why.Why
		}
		return Alarm{Reason: reason}, true
	}
	return Alarm{}, false
}

// describe is what a record with a hazard says, for people.
func describe(r journal.Record) string {
	switch r.Kind {
	case journal.KindConsole:
		return r.Node + " printed `" + r.Line + "`"
	case journal.KindEvent:
		return r.Node + " had an unexpected " + r.Event.Name + " " + r.Event.Data
	case journal.KindExit:
		return r.Node + "'s QEMU ended: " + r.Exit.Text
	}
	return r.Node
}

func (w *Watch) see(r journal.Record) hazard {
	switch r.Kind {
	case journal.KindConsole:
		h := console(r.Line)
		if h == unparsable && w.ended[boot{r.Node, r.Boot}] {
			return harmless // perhaps it broke off; the whole journal tells
		}
		if h == unparsable && w.brokenOff(r) {
			return harmless
		}
		if h == paused && w.halts[boot{r.Node, r.Boot}].causes(r.At) {
			return harmless // the rig paused it, and what the node says is true
		}
		return h
	case journal.KindAction:
		w.act(r)
	case journal.KindEvent:
		if w.ended[boot{r.Node, r.Boot}] || w.expected(r) {
			return harmless
		}
		if r.Event.Name == eventReset || r.Event.Name == "SHUTDOWN" && !byHost(r.Event.Data) {
			return restarted
		}
	case journal.KindExit:
		switch {
		case !w.ended[boot{r.Node, r.Boot}]:
			return died
		case r.Exit.Lost > 0:
			return incomplete
		}
	}
	return harmless
}

// act notes what the rig did.
func (w *Watch) act(r journal.Record) {
	if w.ended == nil {
		w.ended, w.halts = make(map[boot]bool), make(map[boot]*halt)
	}
	b := boot{r.Node, r.Boot}
	switch r.Action.Name {
	case journal.ActionFreeze, journal.ActionStall:
		w.halts[b] = &halt{stalled: r.Action.Name == journal.ActionStall}
	case journal.ActionArm:
		w.halts[b] = &halt{over: true, until: r.Action.Done}
	case journal.ActionThaw, journal.ActionResume:
		if h := w.halts[b]; h != nil {
			h.over, h.until = true, r.Action.Done
		}
	}
	if r.Action.Ends() {
		w.ended[b] = true
	}
}

// expected says whether an event is a step of what a stalled machine goes through when it goes on
// and its watchdog has not been fed meanwhile: the watchdog bites, once, and the machine is reset
// (rule L15).
func (w *Watch) expected(r journal.Record) bool {
	h := w.halts[boot{r.Node, r.Boot}]
	if !h.causes(r.At) || !h.stalled {
		return false
	}
	switch r.Event.Name {
	case eventWatchdog:
		h.bitten = true
		return true
	case eventReset:
		bitten := h.bitten
		h.stalled, h.bitten, h.torn = !bitten && h.stalled, false, bitten
		return bitten
	}
	return false
}

// brokenOff says whether a malformed line is the one that an expected reset broke off.
func (w *Watch) brokenOff(r journal.Record) bool {
	h := w.halts[boot{r.Node, r.Boot}]
	if !h.causes(r.At) || !h.torn {
		return false
	}
	h.torn = false
	if w.broken == nil {
		w.broken = make(map[int]bool)
	}
	w.broken[r.N] = true
	return true
}

// Events of QMP: a watchdog ran out, a machine starts again.
const (
	eventWatchdog = "WATCHDOG"
	eventReset    = "RESET"
)

func console(line string) hazard {
	l, err := evidence.Parse(line)
	switch {
	case strings.HasPrefix(line, "panic:"):
		return panicked
	case strings.HasPrefix(line, lostMark):
		return incomplete
	case errors.Is(err, evidence.ErrNotEvidence):
		return harmless
	case err != nil:
		return unparsable
	case l.Is("mesh-fail", "paused"):
		return paused
	}
	return harmless
}

// byHost says whether a SHUTDOWN event was caused by this side: QEMU names the cause.
func byHost(data string) bool {
	var event struct {
		Reason string `json:"reason"`
	}
	return json.Unmarshal([]byte(data), &event) == nil && strings.HasPrefix(event.Reason, "host-")
}
