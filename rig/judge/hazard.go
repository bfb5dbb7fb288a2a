package judge

import (
	"encoding/json"
	"errors"
	"fmt"
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

// See returns why a run should end with this record, or "".
func (w *Watch) See(r journal.Record) string {
	switch w.see(r) {
	case panicked:
		return fmt.Sprintf("%s panicked: %s", r.Node, r.Line)
	case unparsable:
		_, err := evidence.Parse(r.Line)
		var why *evidence.Error
		if errors.As(err, &why) {
			return fmt.Sprintf("%s printed a malformed line (%s): %s", r.Node, why.Why, r.Line)
		}
		return fmt.Sprintf("%s printed a malformed line: %s", r.Node, r.Line)
	case restarted:
		return fmt.Sprintf("%s: unexpected %s %s", r.Node, r.Event.Name, r.Event.Data)
	case died:
		return fmt.Sprintf("%s: QEMU ended: %s", r.Node, r.Exit.Text)
	}
	return ""
}

func (w *Watch) see(r journal.Record) hazard {
	switch r.Kind {
	case journal.KindConsole:
		return console(r.Line)
	case journal.KindAction:
		if w.ended == nil {
			w.ended = make(map[boot]bool)
		}
		w.ended[boot{r.Node, r.Boot}] = true
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
