package judge

import (
	"encoding/json"
	"errors"
	"strings"

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
	ended map[boot]bool // machines that the rig has killed or asked to end
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
		return h
	case journal.KindAction:
		if w.ended == nil {
			w.ended = make(map[boot]bool)
		}
		if r.Action.Ends() {
			w.ended[boot{r.Node, r.Boot}] = true
		}
	case journal.KindEvent:
		if w.ended[boot{r.Node, r.Boot}] {
			return harmless
		}
		if r.Event.Name == "RESET" || r.Event.Name == "SHUTDOWN" && !byHost(r.Event.Data) {
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
