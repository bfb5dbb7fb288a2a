// Package timeline puts a run's journal in the order in which people look at it: by node, as bands
// of time. It says which machine ran when, in which view, with which right to commit, how it saw
// its peers, what it answered, which frames went between them and what the rig did to them.
// Pictures and traces are drawn from it.
//
// It must never judge: it repeats what consoles, answers and the relay say, and where they say
// nothing there is no band. Every band names the record that it begins with. Times are the rig's;
// an instant of a guest's clock is mapped to the latest that it can have been.
package timeline

import (
	"fmt"
	"strings"

	"holdfast/qemu/relay"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// Timeline is one run.
type Timeline struct {
	Run    *judge.Run
	Leased bool // a lease gives the right to commit, and not the acknowledgements of all
	End    journal.Time
	Nodes  []Node // as the run lists them
	Faults []Band // what the rig did, by time; without the steps
	Steps  []Band
	Frames []Frame // by record number
	Names  *strings.Replacer
}

// Band is a stretch of time in which something was so.
type Band struct {
	N        int // of the record with which it begins
	From, To journal.Time
	Kind     string // one of the constants of its list
	Text     string // for people
	Peer     string // the other node, if it is about one
}

// Instant says whether the band has no length.
func (b Band) Instant() bool { return b.From == b.To }

// The kinds of Node.Machine: it runs, or the rig makes it stand still. No band: it is off.
const (
	Runs    = "runs"
	Frozen  = "frozen"  // its counter stands still
	Stalled = "stalled" // its counter goes on
)

// The kinds of Node.Views.
const (
	Starting = "starting" // from the node's first line to its first view
	Viewed   = "view"
)

// The kinds of Node.Write, the right to commit. Without leases it is no right: such a node says
// whether it takes commits, each of which all others have to acknowledge.
const (
	Told     = "told"     // the node said so
	Possible = "possible" // no more can follow from the frames that passed: a lease at most
	Denied   = "denied"   // the node said that it must not
)

// The kinds of Node.Peers.
const (
	Alive   = "alive"
	Suspect = "suspect"
	Failed  = "failed"
	Lost    = "lost" // the authority, once the lease is over as well
)

// The kinds of Timeline.Faults, beside the journal's names of actions.
const Reset = "reset" // a machine began anew by itself

// The kinds of Timeline.Steps.
const (
	Done   = "done"
	Broken = "broken" // it was not got through
)

// Node is one machine with its boots.
type Node struct {
	journal.Node
	Machine []Band
	Views   []Band
	Write   []Band
	Peers   []Band
	Answers []Answer
}

// Class says what kind of answer a request got.
type Class string

// The classes.
const (
	OK      Class = "ok"
	Refused Class = "refused" // with a status, which is an answer too
	Silent  Class = "silent"  // none, or half of one
)

// Answer is a request to a node.
type Answer struct {
	Band
	Class  Class
	Object bool // it was for an object
}

// Fate is what became of a frame in the relay.
type Fate string

// The fates. Held is that of a frame that the relay kept, whether or not it let it go later.
const (
	Passed Fate = "passed"
	Held   Fate = "held"
	Gone   Fate = "lost"
)

// Frame is one frame with bytes of a mesh session, or one more verdict on it.
type Frame struct {
	N        int
	Sent, At journal.Time // Sent is earlier than At when the relay had kept it
	From, To string
	Fate     Fate
	Text     string
}

// Of reads a run's journal.
func Of(r *judge.Run) *Timeline {
	t := &Timeline{Run: r, Leased: !r.Times().AcksAll, End: r.EndAt, Names: names(r)}
	for _, n := range r.Info.Nodes {
		node := Node{Node: n}
		node.Machine = machine(r, n.Name)
		node.Views = t.views(n.Name)
		node.Write = t.write(n, node)
		node.Peers = t.peers(n.Name)
		t.Nodes = append(t.Nodes, node)
	}
	for _, record := range r.Records {
		switch record.Kind {
		case journal.KindHTTP:
			t.answer(record)
		case journal.KindFrame:
			t.frame(record)
		case journal.KindStep:
			t.step(record)
		}
	}
	t.faults()
	return t
}

// names replaces the ids of a run by its names.
func names(r *judge.Run) *strings.Replacer {
	var pairs []string
	for _, n := range r.Info.Nodes {
		pairs = append(pairs, n.ID, n.Name)
	}
	for _, o := range r.Info.Objects {
		pairs = append(pairs, o.ID, o.Name)
	}
	return strings.NewReplacer(pairs...)
}

// Node returns a node by its name, nil for none.
func (t *Timeline) Node(name string) *Node {
	for i := range t.Nodes {
		if t.Nodes[i].Name == name {
			return &t.Nodes[i]
		}
	}
	return nil
}

func (t *Timeline) answer(r journal.Record) {
	n := t.Node(r.Node)
	if n == nil {
		return
	}
	h := r.HTTP
	a := Answer{Band: Band{N: r.N, From: h.Sent, To: r.At},
		Object: strings.HasPrefix(h.Path, judge.ObjectsPath)}
	first, _, _ := strings.Cut(strings.TrimSpace(h.Body), "\n")
	switch {
	case h.Status == 0 || h.Error != "":
		a.Class, first = Silent, h.Error
	case h.Status == 200:
		a.Class = OK
	default:
		a.Class = Refused
	}
	if a.Class == OK && !a.Object {
		first = "" // a page, of which one row says nothing
	}
	a.Text = fmt.Sprintf("%s %s: %d %s", h.Method, h.Path, h.Status, t.Names.Replace(first))
	n.Answers = append(n.Answers, a)
}

func (t *Timeline) frame(r journal.Record) {
	f := Frame{N: r.N, Sent: r.At, At: r.At, From: r.Node, To: r.Frame.To,
		Text: fmt.Sprintf("%d bytes, %s", r.Frame.Payload, r.Frame.Verdict)}
	switch r.Frame.Verdict {
	case relay.Forwarded.String():
		f.Fate = Passed
		if kept := t.before(r); kept != nil && kept.Fate == Held {
			f.Sent = kept.At
		}
	case relay.Held.String(), relay.Delayed.String():
		f.Fate = Held
	case relay.Absent.String():
		// The relay had let it pass, to a machine that was gone: it is one frame, and lost.
		if sent := t.before(r); sent != nil && sent.Fate == Passed {
			sent.Fate, sent.Text = Gone, f.Text
			return
		}
		f.Fate = Gone
	default:
		f.Fate = Gone
	}
	t.Frames = append(t.Frames, f)
}

// before is the latest verdict before this one on a frame with the same bytes, nil for none.
func (t *Timeline) before(r journal.Record) *Frame {
	for i := len(t.Frames) - 1; i >= 0; i-- {
		f := &t.Frames[i]
		same := t.Run.Records[f.N-1].Frame
		if f.From == r.Node && same.Port == r.Frame.Port && same.Seq == r.Frame.Seq &&
			same.Payload == r.Frame.Payload {
			return f
		}
	}
	return nil
}

func (t *Timeline) step(r journal.Record) {
	if r.Step.Result == "" {
		t.Steps = append(t.Steps, Band{N: r.N, From: r.At, To: t.End, Kind: Broken,
			Text: t.Names.Replace(r.Step.Name)})
		return
	}
	if n := len(t.Steps); n > 0 {
		s := &t.Steps[n-1]
		s.To = r.At
		if r.Step.Result == "ok" {
			s.Kind = Done
		} else {
			s.Text += ": " + r.Step.Result
		}
	}
}
