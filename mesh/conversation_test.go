package mesh_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// TestConversations runs the scripts in testdata/conversations and compares everything that the
// nodes say with what the scripts hold. `go test ./mesh -run Conversations -rewrite` writes them
// anew; the difference is then read like any other. The commands:
//
//	nodes NAMES...          an authority and members, all off; options detect=off, route=off,
//	                        lab=off, objects=N for the first N lab objects only; acks=all is
//	                        without leases, and without the lab
//	twin NAME               adds NAME-twin, a machine with the same key
//	config NAME OPTION      before its boot: allow=none, fail=MS, epoch=N, marks=...
//	boot NAME               switches a machine on
//	connect NAME            opens a session from a member to the authority
//	disconnect NAME         ends all of its sessions, at both ends
//	hangup NAME             ends all of its sessions at its own end
//	run MS                  lets time pass
//	cut NAME | heal NAME    holds what is sent to and from it | lets it go on its way
//	freeze NAME             holds it on its present sessions only
//	halt NAME MS            stops a machine and its counter, as a monitor does a virtual machine
//	delay NAME MS           how long frames take on its present sessions, each way
//	kill NAME               switches a machine off without a word
//	start-empty NAME        the operator's word that an authority may start with nothing
//	stop NAME | cont NAME   a machine does not run, its counter does
//	clock NAME MS           sets its counter forward, or back when negative
//	keep NAME               remembers the latest frame of each kind that it has got
//	again NAME KIND         it gets the remembered one, else the latest, on its newest session
//	garbage NAME            it gets a frame that no node sends
//	step NAME N OBJECT      a lab step with a capability for that object, until its answer
//	launch NAME N OBJECT    the same, without waiting
//	status NAME | homes NAME
//	frames on|off           also lists every frame
func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata/conversations", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "nodes" {
				w = conversationWorld(t, d)
				return "ok"
			}
			w.t = t
			w.log.Reset()
			command(w, d)
			if w.log.Len() == 0 {
				return "ok"
			}
			return w.log.String()
		})
	})
}

func conversationWorld(t *testing.T, d *datadriven.TestData) *world {
	var names []string
	off := map[string]bool{}
	objects, acks := len(labNames), false
	for _, a := range d.CmdArgs {
		switch {
		case len(a.Vals) == 0:
			names = append(names, a.Key)
		case a.Key == "objects":
			objects = number(t, d, a.Vals[0])
		case a.Key == "acks":
			acks = a.Vals[0] == "all"
		default:
			off[a.Key] = a.Vals[0] == "off"
		}
	}
	w := newWorld(t, names...)
	for _, m := range w.nodes {
		m.config.Detect = !off["detect"]
		m.config.Route = !off["route"]
		m.config.Lab = !off["lab"]
		m.config.LabObject = labNames[:objects]
		if acks {
			m.config.Timing, m.config.Lab = timing.OneSecond, false
		}
	}
	return w
}

func number(t testing.TB, d *datadriven.TestData, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		d.Fatalf(t, "%s: %v", d.Cmd, err)
	}
	return n
}

func command(w *world, d *datadriven.TestData) {
	arg := func(i int) string { return d.CmdArgs[i].Key }
	switch d.Cmd {
	case "run":
		w.run(when.Span(number(w.t, d, arg(0))))
	case "frames":
		w.frames = arg(0) == "on"
	case "step":
		answer := w.labStep(w.machine(arg(0)), number(w.t, d, arg(1)), arg(2))
		if !strings.HasPrefix(answer, "mesh-route: result") { // else it has been printed as evidence
			fmt.Fprintf(&w.log, "%s\n", answer)
		}
	case "launch":
		w.launch(w.machine(arg(0)), number(w.t, d, arg(1)), arg(2))
	case "commit", "stat":
		ask(w, d, w.machine(arg(0)))
	case "status":
		status(w, w.machine(arg(0)))
	case "homes":
		homes(w, w.machine(arg(0)))
	case "twin":
		w.twin(w.machine(arg(0)))
	case "config":
		configure(w, d, w.machine(arg(0)))
	default:
		machineCommand(w, d, w.machine(arg(0)))
	}
}

func machineCommand(w *world, d *datadriven.TestData, m *machine) {
	switch d.Cmd {
	case "boot":
		w.boot(m)
	case "connect":
		w.connect(m)
	case "disconnect":
		for _, l := range w.linksOf(m) {
			w.disconnect(l)
		}
	case "hangup":
		for _, l := range w.linksOf(m) {
			w.hangUp(m, l.id)
		}
	case "cut", "heal":
		w.cut(m, d.Cmd == "cut")
	case "freeze":
		for _, l := range w.linksOf(m) {
			l.ends[0].cut, l.ends[1].cut = true, true
		}
	case "delay":
		d := when.Span(number(w.t, d, d.CmdArgs[1].Key))
		for _, l := range w.linksOf(m) {
			l.ends[0].latency, l.ends[1].latency = d, d
		}
	case "kill":
		w.kill(m)
	case "start-empty":
		w.step(m, mesh.StartEmpty{})
	case "stop":
		m.stopped = true
	case "cont":
		w.resume(m)
	case "clock":
		m.jumped += when.Span(number(w.t, d, d.CmdArgs[1].Key))
	case "halt":
		w.halt(m, when.Span(number(w.t, d, d.CmdArgs[1].Key)))
	case "keep":
		m.kept = maps.Clone(m.got)
	case "again":
		w.again(m, d.CmdArgs[1].Key)
	case "garbage":
		links := w.linksOf(m)
		w.step(m, mesh.Frame{Session: links[len(links)-1].id, Data: []byte("GET / HTTP/1.1")})
	default:
		d.Fatalf(w.t, "unknown command %s", d.Cmd)
	}
}

func configure(w *world, d *datadriven.TestData, m *machine) {
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "allow":
			m.config.Allow = nil
		case "root": // trusts another authority's key
			m.config.Root = public(keyOf(a.Vals[0]))
		case "both":
			m.config.Both = true
		case "epoch":
			m.config.Epoch = id.Epoch(number(w.t, d, a.Vals[0]))
		case "marks":
			m.marks = marksOf(w.t, d, a.Vals)
		case "chip":
			m.broken = a.Vals[0] == "broken"
		case "fail":
			m.config.Timing.Fail = when.Span(number(w.t, d, a.Vals[0]))
		default:
			d.Fatalf(w.t, "config: unknown option %s", a.Key)
		}
	}
}

// ask has a client ask a node, and goes on: the answer is printed when it comes. A commit has the
// value that is given, a stat the class; options are local, copies, within, if-version, first (the
// epoch), and again, the number of a request that is to be repeated.
func ask(w *world, d *datadriven.TestData, m *machine) {
	q := mesh.Request{Name: d.CmdArgs[1].Key, Op: wire.Stat, Class: wire.Authoritative,
		IfVersion: wire.AnyVersion}
	if d.Cmd == "commit" {
		q.Op, q.Durability, q.Value = wire.Commit, wire.Replicated, []byte(d.CmdArgs[2].Key)
	} else if len(d.CmdArgs) > 2 && d.CmdArgs[2].Key == "stale-ok" {
		q.Class = wire.StaleOK
	}
	w.requests++
	seq := w.requests
	for _, a := range d.CmdArgs[2:] {
		switch a.Key {
		case "local":
			q.Durability = wire.Local
		case "copies":
			q.Copies = uint8(number(w.t, d, a.Vals[0]))
		case "within":
			q.Within = when.Span(number(w.t, d, a.Vals[0]))
		case "if-version":
			q.IfVersion = uint64(number(w.t, d, a.Vals[0]))
		case "again":
			seq = uint64(number(w.t, d, a.Vals[0]))
			q.FirstEpoch = 1
		case "first":
			q.FirstEpoch = id.Epoch(number(w.t, d, a.Vals[0]))
		}
	}
	q.Identity = wire.Request{Client: id.Client{1}, Boot: 1, Seq: seq}
	copy(q.Capability[:], w.mint(m, id.ObjectOf(q.Name), max(1, m.node.Epoch())))
	w.tickets++
	q.Ticket = w.tickets
	w.asked[q.Ticket] = fmt.Sprintf("%s %s #%d", d.Cmd, q.Name, seq)
	w.step(m, q)
}

// marksOf reads marks as a script writes them: (never-ran), (lost), or (signed,activated) with an
// optional may-empty.
func marksOf(t testing.TB, d *datadriven.TestData, vals []string) *mesh.Marks {
	switch vals[0] {
	case "never-ran":
		return &mesh.Marks{NeverRan: true}
	case "lost":
		return &mesh.Marks{Lost: true}
	}
	return &mesh.Marks{Signed: id.Epoch(number(t, d, vals[0])),
		Activated: id.Epoch(number(t, d, vals[1])), MayEmpty: len(vals) > 2 && vals[2] == "may-empty"}
}

// again delivers the latest frame of a kind that the machine has got once more.
func (w *world) again(m *machine, kind string) {
	links := w.linksOf(m)
	frames := m.kept
	if frames == nil {
		frames = m.got
	}
	for k, data := range frames {
		if k.String() == kind {
			w.step(m, mesh.Frame{Session: links[len(links)-1].id, Data: data})
			return
		}
	}
	w.t.Fatalf("%s has never got a %s", m.name, kind)
}

func status(w *world, m *machine) {
	s := m.node.Status(w.counter(m))
	fmt.Fprintf(&w.log, "%s %s %s epoch=%d mutable=%v\n", m.name, s.Role, s.State, s.Epoch, s.Mutable)
	for _, e := range s.Members {
		fmt.Fprintf(&w.log, "  %s %s age_ms=%d incarnation=%d\n",
			w.names.Replace(e.ID.String()), e.Health, e.AgeMS, e.Incarnation)
	}
	fmt.Fprintf(&w.log, "  %s\n  %s\n", m.node.AuthorityRow(w.counter(m)),
		m.node.CountersRow(w.counter(m)))
}

func homes(w *world, m *machine) {
	for _, h := range m.node.Homes(w.counter(m)) {
		fmt.Fprintf(&w.log, "%s home=%s home_epoch=%d lease=%s read_ms=%d write_ms=%d version=%d "+
			"copies=%d\n", h.Name, w.names.Replace(h.Home.String()), h.HomeEpoch, h.Lease, h.ReadMS,
			h.WriteMS, h.Version, h.Copies)
	}
}

// kindOf is the kind of a well-formed frame.
func kindOf(data []byte) (wire.Kind, bool) {
	_, m, err := wire.Parse(data)
	if err != nil {
		return 0, false
	}
	return m.Kind(), true
}
