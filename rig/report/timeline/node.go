package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// writeLease is how long a write lease lasts in this run.
func (t *Timeline) writeLease() time.Duration {
	return time.Duration(t.Run.Times().WriteLease) * time.Millisecond
}

// machine is when a node's machine ran and when it stood still.
func machine(r *judge.Run, node string) []Band {
	var all []Band
	end := func(at journal.Time) {
		if n := len(all); n > 0 && all[n-1].To == r.EndAt {
			all[n-1].To = at
		}
	}
	begin := func(record journal.Record, kind, text string) {
		end(record.At)
		all = append(all, Band{N: record.N, From: record.At, To: r.EndAt, Kind: kind, Text: text})
	}
	for _, record := range r.Records {
		if record.Node != node {
			continue
		}
		switch record.Kind {
		case journal.KindBoot:
			begin(record, Runs, fmt.Sprintf("boot %d", record.Boot))
		case journal.KindExit:
			end(record.At)
		case journal.KindAction:
			switch record.Action.Name {
			case journal.ActionFreeze:
				begin(record, Frozen, "frozen: its counter stands still")
			case journal.ActionReach:
				begin(record, Frozen, "stopped at "+record.Action.Detail)
			case journal.ActionStall:
				begin(record, Stalled, "stalled: its counter goes on")
			case journal.ActionThaw, journal.ActionResume:
				begin(record, Runs, fmt.Sprintf("boot %d goes on", record.Boot))
			}
		}
	}
	return all
}

// bands gathers bands of which at most one is open for each key.
type bands struct {
	all  []Band
	open map[string]int
}

// begin closes what is open under the key and opens another band, up to the given end.
func (b *bands) begin(key string, band Band) {
	b.end(key, band.From)
	if b.open == nil {
		b.open = make(map[string]int)
	}
	b.open[key] = len(b.all)
	b.all = append(b.all, band)
}

func (b *bands) end(key string, at journal.Time) {
	if i, ok := b.open[key]; ok {
		b.all[i].To = max(b.all[i].From, min(b.all[i].To, at))
		delete(b.open, key)
	}
}

func (b *bands) endAll(at journal.Time) {
	for key := range b.open {
		b.end(key, at)
	}
}

// kind is that of the open band of a key, "" for none.
func (b *bands) kind(key string) string {
	if i, ok := b.open[key]; ok {
		return b.all[i].Kind
	}
	return ""
}

// ends says whether a node has no state any more: its machine is gone, or begins anew.
func ends(r journal.Record) bool {
	return r.Kind == journal.KindExit || r.Kind == journal.KindEvent && r.Event.Name == resetEvent
}

// resetEvent is QMP's, when a machine begins anew.
const resetEvent = "RESET"

// through calls see with each row of a node and end whenever the node's state is gone.
func (t *Timeline) through(node string, see func(judge.Row), end func(journal.Time)) {
	rows := t.Run.Rows
	for _, record := range t.Run.Records {
		for len(rows) > 0 && rows[0].N < record.N {
			rows = rows[1:]
		}
		if record.Node != node {
			continue
		}
		if ends(record) {
			end(record.At)
		}
		if len(rows) > 0 && rows[0].N == record.N {
			see(rows[0])
		}
	}
}

// views is in which view a node was, when.
func (t *Timeline) views(node string) []Band {
	var b bands
	t.through(node, func(row judge.Row) {
		switch {
		case row.Is("mesh-node", "start"):
			b.begin("", Band{N: row.N, From: row.Seen, To: t.End, Kind: Starting, Text: "no view yet"})
		case row.Is("mesh-view", "installed"):
			epoch, _ := row.Get("epoch")
			b.begin("", Band{N: row.N, From: row.Seen, To: t.End, Kind: Viewed,
				Text: fmt.Sprintf("epoch %s: %s", epoch, t.members(row.Line))})
		}
	}, b.endAll)
	return b.all
}

// members are the names of a view's.
func (t *Timeline) members(l evidence.Line) string {
	snapshot, _ := l.Get("snapshot")
	return strings.ReplaceAll(t.Names.Replace(snapshot), ",", ", ")
}

// peers is how a node saw the others, when.
func (t *Timeline) peers(node string) []Band {
	var b bands
	t.through(node, func(row judge.Row) {
		if row.Is("mesh-view", "installed") {
			t.newView(&b, node, row)
			return
		}
		key := "node"
		if row.Is("mesh-fail", "authority") {
			key = "root"
		}
		id, ok := row.GetNode(key)
		if !ok {
			return
		}
		peer := t.Run.Name(id)
		state := ""
		switch {
		case row.Is("mesh-fail", "suspect"):
			state = Suspect
		case row.Is("mesh-fail", "failed"):
			state = Failed
		case row.Is("mesh-fail", "recovered"):
			state = Alive
		case row.Is("mesh-fail", "authority"):
			state = Alive
			if word, _ := row.Get("state"); word == "lost" {
				state = Lost
			}
		}
		if state != "" && state != b.kind(peer) {
			b.begin(peer, Band{N: row.N, From: row.Seen, To: t.End, Kind: state, Peer: peer,
				Text: peer + " " + state})
		}
	}, b.endAll)
	return b.all
}

// newView begins and ends bands of peers: whoever is new in the view is alive.
func (t *Timeline) newView(b *bands, node string, row judge.Row) {
	members := strings.Split(t.members(row.Line), ", ")
	for _, n := range t.Run.Info.Nodes {
		in := slices.Contains(members, n.Name)
		switch {
		case n.Name == node:
		case !in:
			b.end(n.Name, row.Seen)
		case b.kind(n.Name) == "":
			b.begin(n.Name, Band{N: row.N, From: row.Seen, To: t.End, Kind: Alive, Peer: n.Name,
				Text: n.Name + " " + Alive})
		}
	}
}

// write is when a node could commit: what it said, and for a member what the frames allow.
func (t *Timeline) write(info journal.Node, node Node) []Band {
	all := t.told(info, node)
	if !info.Authority && t.Leased {
		all = append(all, t.possible(info.Name, node)...)
	}
	slices.SortStableFunc(all, func(a, b Band) int { return cmp.Compare(a.From, b.From) })
	return all
}

// told joins what a node said of its right to commit: between two answers that say the same in the
// same view it was so all the time, as far as anybody knows. A member's lease goes on as long as it
// said, unless it says before that it has none.
func (t *Timeline) told(info journal.Node, node Node) []Band {
	texts := map[string]string{
		Told: "may commit, as it says", Denied: "must not commit, as it says",
	}
	if !t.Leased {
		texts = map[string]string{
			Told:   "takes commits, as it says: each waits for all acknowledgements",
			Denied: "takes no commits, as it says",
		}
	}
	var all []Band
	view := ""
	for _, r := range t.Run.Records {
		s, ok := t.sample(info, r)
		if !ok {
			continue
		}
		kind := Denied
		if s.mutable {
			kind = Told
		}
		now := node.viewAt(r.At)
		if last := len(all) - 1; last >= 0 {
			b := &all[last]
			if b.Kind == Told && kind == Denied {
				b.To = max(b.To, s.until) // the lease that it has lost by now
			}
			if b.Kind == kind && view == now {
				b.To = max(b.To, r.At, s.until)
				continue
			}
			b.To = min(b.To, r.At)
		}
		view = now
		all = append(all, Band{N: r.N, From: r.At, To: r.At, Kind: kind, Text: texts[kind]})
		if s.mutable {
			all[len(all)-1].To = max(r.At, s.until)
		}
	}
	for i := range all {
		all[i].To = min(all[i].To, node.stateEnd(all[i].From, t.End))
	}
	return all
}

// sample is what a node said of its right to commit.
type sample struct {
	mutable bool
	until   journal.Time // when the lease is over of which it tells, 0 for none
}

// sample reads a record in which a node says whether it may commit.
func (t *Timeline) sample(info journal.Node, r journal.Record) (s sample, ok bool) {
	if r.Node != info.Name {
		return s, false
	}
	var line evidence.Line
	var err error
	switch {
	case r.Kind == journal.KindConsole:
		if line, err = evidence.Parse(r.Line); !line.Is("mesh-fail", "authority") {
			return s, false
		}
	case r.Kind != journal.KindHTTP || r.HTTP.Status != 200:
		return s, false
	case r.HTTP.Path == "/mesh":
		line, err = evidence.ParseStatus(firstLine(r.HTTP.Body))
	case r.HTTP.Path == "/mesh/route":
		line, err = evidence.Parse(firstLine(r.HTTP.Body))
	}
	s.mutable, ok = line.GetBool("mutable")
	if err != nil || !ok {
		return s, false
	}
	if sent, leased := line.GetInstant("lease_sent_ms"); leased && !info.Authority {
		if _, at, mapped := t.Run.When(info.Name, r.N, sent); mapped {
			s.until = at.Add(t.writeLease())
		}
	}
	return s, true
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// possible is when a member may have had a lease at most: for a write lease after something of its
// passed to the authority that was followed by something back.
func (t *Timeline) possible(member string, node Node) []Band {
	var all []Band
	for _, authority := range t.Run.Info.Nodes {
		if !authority.Authority {
			continue
		}
		back := t.Run.Passed(authority.Name, member)
		for _, f := range t.Run.Passed(member, authority.Name) {
			for len(back) > 0 && back[0].At < f.At {
				back = back[1:]
			}
			if len(back) == 0 {
				break
			}
			from := back[0].At // the earliest that an answer can have been
			view := node.viewAt(from)
			to := min(f.At.Add(t.writeLease()), node.stateEnd(from, t.End))
			last := len(all) - 1
			switch {
			case view == "" || to <= from:
			case last >= 0 && all[last].To >= from && node.viewAt(all[last].From) == view:
				all[last].To = max(all[last].To, to)
			default:
				all = append(all, Band{N: f.N, From: from, To: to, Kind: Possible,
					Text: "a write lease is possible, by the frames that passed"})
			}
		}
	}
	return all
}

// viewAt names the view in which a node was at an instant; "" for none.
func (n Node) viewAt(at journal.Time) string {
	for _, b := range n.Views {
		if b.Kind == Viewed && b.From <= at && at < b.To {
			return fmt.Sprint(b.N)
		}
	}
	return ""
}

// stateEnd is when the view of a node at an instant, and with it a lease, was over.
func (n Node) stateEnd(at, end journal.Time) journal.Time {
	for _, b := range n.Views {
		if b.From <= at && at < b.To {
			return b.To
		}
	}
	return end
}
