package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
	"holdfast/rig/provision"
)

// story writes the journal of a run that nobody ran: what two good kernels would print and answer.
// Its clock is moved by hand, in milliseconds.
type story struct {
	cast    *provision.Cast
	records []journal.Record
	now     int64            // ms
	born    map[string]int64 // when a node's counter was zero
	boots   map[string]int
	seq     uint32 // of the member's session
	sends   int    // the root's counters
	commits int
	replay  string
}

func newStory(fault string) *story {
	s := &story{
		cast: provision.Draw(42, 2), replay: "none",
		born: make(map[string]int64), boots: make(map[string]int),
	}
	run := &journal.Run{Schema: journal.Schema, Fault: fault, Seed: 42, Wall: time.Unix(0, 0).UTC()}
	for i, n := range s.cast.Nodes {
		run.Nodes = append(run.Nodes, journal.Node{
			Name: n.Name, ID: n.ID.String(), Address: n.Address.String(), Authority: i == 0,
		})
	}
	for _, o := range provision.LabObjects() {
		run.Objects = append(run.Objects, journal.Object{Name: o.Name, ID: o.ID.String()})
	}
	s.add(journal.Record{Kind: journal.KindRun, Run: run})
	return s
}

// id is a node's id as text.
func (s *story) id(node string) string {
	for _, n := range s.cast.Nodes {
		if n.Name == node {
			return n.ID.String()
		}
	}
	panic("no node " + node)
}

// members is who is in an epoch's view.
func (s *story) members(epoch int) []id.Node {
	if epoch == joinEpoch || epoch == rejoinEpoch {
		return s.cast.IDs()
	}
	return s.cast.IDs()[:1]
}

func digest(epoch int) string { return id.Sum([]byte{byte(epoch)}).String() }

func (s *story) add(r journal.Record) {
	r.N, r.At = len(s.records)+1, journal.Time(s.now*1000)
	s.records = append(s.records, r)
}

// at is a node's own time.
func (s *story) at(node string) int64 { return s.now - s.born[node] }

// console prints a line, which is under way for a millisecond.
func (s *story) console(node, line string) {
	s.now++
	s.add(journal.Record{Kind: journal.KindConsole, Node: node, Boot: s.boots[node], Line: line})
}

// print prints a line of evidence that happens now, and returns it.
func (s *story) print(node, format string, args ...any) string {
	line := fmt.Sprintf(format, args...) + fmt.Sprintf(" at=%d", s.at(node))
	if _, err := evidence.Parse(line); err != nil {
		panic(err)
	}
	s.console(node, line)
	return line
}

// http journals a request that is answered within 5 ms with these lines.
func (s *story) http(node, method, path string, lines ...string) {
	for _, l := range lines {
		if _, err := evidence.Parse(l); err != nil {
			if _, err := evidence.ParseStatus(l); err != nil {
				panic(err)
			}
		}
	}
	sent := journal.Time(s.now * 1000)
	s.now += 5
	s.add(journal.Record{Kind: journal.KindHTTP, Node: node, Boot: s.boots[node], HTTP: &journal.HTTP{
		Method: method, Path: path, Sent: sent, Status: 200, Body: strings.Join(lines, "\n") + "\n",
	}})
}

func (s *story) boot(node string) {
	s.boots[node]++
	s.add(journal.Record{Kind: journal.KindBoot, Node: node, Boot: s.boots[node]})
	s.add(journal.Record{Kind: journal.KindEvent, Node: node, Boot: s.boots[node],
		Event: &journal.Event{Name: "RESUME", Data: "{}"}})
	s.now += 100
	s.born[node] = s.now
	s.now += 500
	s.console(node, "holdfast v0 go1.26")
	role := "member"
	if node == root {
		role = "authority"
	}
	s.print(node, "mesh-node: start node=%s role=%s boot=%016x epoch=1 ip=10.7.0.10 seed=nvram",
		s.id(node), role, s.now)
}

// end journals how a machine ends by an action of the rig.
func (s *story) end(node, action string) {
	at := s.now
	s.now += 8
	s.add(journal.Record{Kind: journal.KindAction, Node: node, Boot: s.boots[node],
		Action: &journal.Action{Name: action, Done: journal.Time(s.now * 1000)}})
	s.records[len(s.records)-1].At = journal.Time(at * 1000)
	s.add(journal.Record{Kind: journal.KindExit, Node: node, Boot: s.boots[node],
		Exit: &journal.Exit{Text: "ended by " + action}})
}

// frame journals bytes of the member's session passing the relay.
func (s *story) frame(from, to string) {
	f := &journal.Frame{To: to, Verdict: "forwarded", Port: 49155, Seq: s.seq, Payload: 100}
	if from == member {
		s.seq += 100
	}
	s.add(journal.Record{Kind: journal.KindFrame, Node: from, Frame: f})
}

// view is the fields of an epoch's view.
func (s *story) view(epoch int) string {
	ids := s.members(epoch)
	slices.SortFunc(ids, id.Node.Compare)
	var text []string
	for _, n := range ids {
		text = append(text, n.String())
	}
	return fmt.Sprintf("epoch=%d members=%d digest=%s snapshot=%s",
		epoch, len(ids), digest(epoch), strings.Join(text, ","))
}

// survey journals what the rig's step of that name asks for.
func (s *story) survey(node string, epoch int) {
	role := "member"
	if node == root {
		role = "authority"
	}
	lines := []string{fmt.Sprintf("node id=%s role=%s mesh=joined epoch=%d digest=%s mutable=1 now_ms=%d",
		s.id(node), role, epoch, digest(epoch), s.at(node)+2)}
	for i, m := range s.members(epoch) {
		incarnation := 1
		if i > 0 {
			incarnation = epoch
		}
		lines = append(lines,
			fmt.Sprintf("member id=%s state=alive age_ms=10 incarnation=%d", m, incarnation))
	}
	s.http(node, "GET", "/mesh", lines...)

	lines = nil
	for _, o := range provision.LabObjects() {
		at, lease := home.Of(o.ID, s.members(epoch)), "none"
		if at.String() == s.id(node) {
			lease = "active"
		}
		lines = append(lines, fmt.Sprintf("object=%s name=%s home=%s home_epoch=%d lease=%s read_ms=0 "+
			"write_ms=0 version=0 copies=0", o.ID, o.Name, at, epoch, lease))
	}
	s.http(node, "GET", "/mesh/homes", lines...)
	s.http(node, "GET", "/mesh/route", fmt.Sprintf("mesh-route: counters routes=1 sends=%d moved=0 "+
		"timeouts=0 refused=0 fences=0 commits=%d replays=0 last_replay=%s at=%d",
		s.sends, s.commits, s.replay, s.at(node)))
}

// step journals a lab step and its result.
func (s *story) step(node string, number int, op, status, homeAt string, object id.Object, epoch, sends int) {
	durability, copies := "none", 0
	if op == "commit" {
		durability, copies = "local", 1
	}
	s.now += 3
	line := s.print(node, "mesh-route: result step=%d request=%s/%016x/%d object=%s op=%s status=%s "+
		"home=%s epoch=%d home_epoch=%d version=0 attempts=1 moved=0 sends=%d timeouts=0 class=lease "+
		"durability=%s copies=%d", number, s.id(node), 7, number, object, op, status, s.id(homeAt),
		epoch, epoch, sends, durability, copies)
	s.http(node, "POST", fmt.Sprintf("/mesh/step/%d", number), line)
}

// homed is the lowest-numbered lab object that a node homes.
func (s *story) homed(node string) id.Object {
	for _, o := range provision.LabObjects() {
		if s.cast.HomeOf(o.ID).String() == s.id(node) {
			return o.ID
		}
	}
	panic("no object")
}

// join tells how the pair joins and does steps 1 and 5.
func (s *story) join() {
	s.boot(root)
	s.boot(member)
	s.now += 200
	for _, node := range []string{root, member} {
		s.print(node, "mesh-view: installed %s", s.view(joinEpoch))
		s.print(node, "mesh-join: confirmed node=%s %s incarnation=%d", s.id(member), s.view(joinEpoch),
			joinEpoch)
	}
	for range 2 { // the polls of the state, then the survey
		s.survey(root, joinEpoch)
		s.survey(member, joinEpoch)
	}
	s.step(member, 1, "stat", "ok", root, s.homed(root), joinEpoch, 1)
	s.step(root, 5, "commit", "ok", member, s.homed(member), joinEpoch, 1)
	s.sends++
}

// kill tells how the member dies, and what the root does about it.
func (s *story) kill() {
	s.survey(root, joinEpoch)
	s.frame(member, root)
	last := s.now
	s.frame(root, member)
	s.now += 1500
	s.end(member, journal.ActionKill)
	s.now = last + 6000
	s.print(root, "mesh-fail: suspect node=%s epoch=2 silent_ms=6000", s.id(member))
	s.now = last + 12001
	s.print(root, "mesh-fail: failed node=%s epoch=2 silent_ms=12001", s.id(member))
	s.print(root, "mesh-view: installed %s", s.view(removeEpoch))
	for _, o := range provision.LabObjects() {
		if s.cast.HomeOf(o.ID).String() == s.id(member) {
			s.print(root, "mesh-route: fence object=%s stale_home=%s stale_home_epoch=2 home=%s "+
				"home_epoch=3 reason=left-view", o.ID, s.id(member), s.id(root))
		}
	}
	s.print(root, "mesh-fail: removed node=%s %s", s.id(member), s.view(removeEpoch))
	s.survey(root, removeEpoch)
	s.step(root, 6, "stat", "ok", root, s.homed(member), removeEpoch, 0)
	s.survey(root, removeEpoch)
	s.step(root, 7, "stat", "stale-epoch", root, s.homed(root), removeEpoch, 0)
	s.replay = "stale-epoch"
	s.survey(root, removeEpoch)
	s.step(root, 8, "commit", "ok", root, s.homed(member), removeEpoch, 0)
	s.commits++
	s.survey(root, removeEpoch)
}

// rejoin tells how the member comes back.
func (s *story) rejoin() {
	s.now += 5000
	s.boot(member)
	s.now += 200
	s.print(root, "mesh-view: installed %s", s.view(rejoinEpoch))
	s.print(root, "mesh-route: fence object=%s stale_home=%s stale_home_epoch=3 home=%s home_epoch=4 "+
		"reason=lease-left-view", s.homed(member), s.id(root), s.id(member))
	s.print(root, "mesh-join: confirmed node=%s %s incarnation=4", s.id(member), s.view(rejoinEpoch))
	s.print(member, "mesh-join: confirmed node=%s %s incarnation=4", s.id(member), s.view(rejoinEpoch))
	s.survey(root, rejoinEpoch)
	s.survey(member, rejoinEpoch)
	s.step(root, 10, "commit", "ok", member, s.homed(member), rejoinEpoch, 1)
	s.sends++
}

// close ends the run.
func (s *story) close(nodes ...string) []journal.Record {
	for _, node := range nodes {
		s.survey(node, map[string]int{"none": 2, "kill-peer": 4, "no-peer": 1}[s.records[0].Run.Fault])
	}
	for _, node := range nodes {
		s.end(node, journal.ActionQuit)
	}
	s.add(journal.Record{Kind: journal.KindEnd, End: &journal.End{Outcome: journal.Complete}})
	return s.records
}

// good returns the journal of a run of the fault in which everything is as it should be.
func good(fault string) []journal.Record {
	s := newStory(fault)
	switch fault {
	case "none":
		s.join()
		return s.close(root, member)
	case "kill-peer":
		s.join()
		s.kill()
		s.rejoin()
		return s.close(root, member)
	case "no-peer":
		s.boot(root)
		s.survey(root, 1)
		s.now += 16_000
		return s.close(root)
	}
	panic("no story of " + fault)
}
