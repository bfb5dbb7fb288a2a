package mesh_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"holdfast/mesh/when"
)

// TestConversations runs the scripts in testdata/conversations and compares everything that the
// nodes say with what the scripts hold. `go test ./mesh -run Conversations -rewrite` writes them
// anew; the difference is then read like any other. The commands:
//
//	nodes NAMES...          an authority and members, all off; options detect=off, route=off, lab=off
//	boot NAME               switches a machine on
//	connect NAME            opens a session from a member to the authority
//	disconnect NAME         ends all of its sessions, at both ends
//	run MS                  lets time pass
//	cut NAME | heal NAME    holds what is sent on its sessions | lets it go on its way
//	kill NAME               switches a machine off without a word
//	stop NAME | cont NAME   a machine does not run, its counter does
//	step NAME N OBJECT      a lab step with a capability for that object
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
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			names = append(names, a.Key)
		} else {
			off[a.Key] = a.Vals[0] == "off"
		}
	}
	w := newWorld(t, names...)
	for _, m := range w.nodes {
		m.config.Detect = !off["detect"]
		m.config.Route = !off["route"]
		m.config.Lab = !off["lab"]
	}
	return w
}

func command(w *world, d *datadriven.TestData) {
	arg := func(i int) string { return d.CmdArgs[i].Key }
	switch d.Cmd {
	case "run":
		ms, err := strconv.Atoi(arg(0))
		if err != nil {
			d.Fatalf(w.t, "run: %v", err)
		}
		w.run(when.Span(ms))
	case "frames":
		w.frames = arg(0) == "on"
	case "step":
		number, err := strconv.Atoi(arg(1))
		if err != nil {
			d.Fatalf(w.t, "step: %v", err)
		}
		answer := w.labStep(w.machine(arg(0)), number, arg(2))
		if !strings.HasPrefix(answer, "mesh-route: result") { // else it has been printed as evidence
			fmt.Fprintf(&w.log, "%s\n", answer)
		}
	default:
		machineCommand(w, d, w.machine(arg(0)))
	}
}

func machineCommand(w *world, d *datadriven.TestData, m *machine) {
	switch d.Cmd {
	case "boot":
		w.boot(m)
	case "connect":
		w.connect(m, w.nodes[0])
	case "disconnect":
		for _, l := range w.linksOf(m) {
			w.disconnect(l)
		}
	case "cut", "heal":
		for _, l := range w.linksOf(m) {
			l.cut = d.Cmd == "cut"
		}
	case "kill":
		w.kill(m)
	case "stop", "cont":
		m.stopped = d.Cmd == "stop"
	case "status":
		status(w, m)
	case "homes":
		for _, h := range m.node.Homes(w.counter(m)) {
			fmt.Fprintf(&w.log, "%s home=%s home_epoch=%d lease=%s read_ms=%d write_ms=%d version=%d\n",
				h.Name, w.names.Replace(h.Home.String()), h.HomeEpoch, h.Lease, h.ReadMS, h.WriteMS,
				h.Version)
		}
	default:
		d.Fatalf(w.t, "unknown command %s", d.Cmd)
	}
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

func (w *world) linksOf(m *machine) []*link {
	var links []*link
	for _, l := range w.links {
		if l.ends[0] == m || l.ends[1] == m {
			links = append(links, l)
		}
	}
	return links
}
