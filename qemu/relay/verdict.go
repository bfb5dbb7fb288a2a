package relay

import (
	"strings"
	"time"
)

// Verdict is what became of a frame on one path, or, for Runt and Local, before it took any.
type Verdict uint8

const (
	Forwarded Verdict = iota // put into the destination's queue
	Dropped                  // lost by the rule, or by Path.Discard after it was held or delayed
	Held                     // kept for Path.Release
	Delayed                  // goes on later
	Frozen                   // lost: the destination was frozen, perhaps after it was Forwarded
	Full                     // lost: the queue it had to wait in was full
	Absent                   // was Forwarded, and then nobody had the destination's socket open
	Runt                     // shorter than an Ethernet header
	Local                    // for an address behind the port it came from

	verdicts = iota
)

var verdictNames = [verdicts]string{
	"forwarded", "dropped", "held", "delayed", "frozen", "full", "absent", "runt", "local",
}

// String is the verdict in one lower-case word.
func (v Verdict) String() string { return verdictNames[v] }

// Change is a set of things that happened to a frame besides its verdict.
type Change uint8

const (
	Corrupted Change = 1 << iota
	Truncated
	Repeated // goes on twice
	Hurried  // skipped the delay
	Late     // this is the second verdict
)

// String lists the changes, comma-separated; it is empty for none.
func (c Change) String() string {
	var words []string
	for i, word := range []string{"corrupted", "truncated", "repeated", "hurried", "late"} {
		if c&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}

// Outcome is the verdict for one path of a frame.
type Outcome struct {
	To      *Port // nil when the frame took no path: Runt, Local, or a relay with one port
	Verdict Verdict
	Change  Change
}

// Record tells what the relay did with one frame. A frame has one record when it arrives, with an
// outcome for each path it took; and one more each time a part of that was settled later: a held or
// delayed frame that went on or was discarded, one that waited for a station that was frozen or
// turned out Absent.
type Record struct {
	At   time.Time
	From *Port
	// Frame is shared with its receivers and not to be modified. A frame that took one path is as
	// that path's rule left it; one that was flooded is as it came.
	Frame    []byte
	Outcomes []Outcome
}

// String lists the outcomes, such as "n1 forwarded; host dropped".
func (r *Record) String() string {
	var words []string
	for _, o := range r.Outcomes {
		word := o.Verdict.String()
		if o.To != nil {
			word = o.To.Name() + " " + word
		}
		if o.Change != 0 {
			word += " (" + o.Change.String() + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

// Counts has a number of frames for each verdict.
type Counts [verdicts]uint64

// Of returns the number of frames with the given verdict.
func (c Counts) Of(v Verdict) uint64 { return c[v] }

// Lost is the number of frames that the relay took and nobody got: not by a rule, but for want of
// room or of a receiver.
func (c Counts) Lost() uint64 { return c[Frozen] + c[Full] + c[Absent] }
