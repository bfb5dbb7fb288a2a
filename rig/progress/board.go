package progress

import (
	"fmt"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/timing"
	"holdfast/qemu/relay"
	"holdfast/rig/journal"
)

// board is what a run's journal says of its nodes so far. It asks nobody: what it has not heard of
// it does not know, and shows as "-".
type board struct {
	nodes  []nodeState
	bands  []band
	names  *strings.Replacer // ids to names
	lease  time.Duration     // how long a write lease lasts in this run
	leased bool              // it gives a right
}

// nodeState is a line of the board.
type nodeState struct {
	name    string
	state   string // off, starts, alone, joining, joined, isolated, single, frozen, stalled
	before  string // what it was when it was made to stand still
	epoch   string
	mutable string
	leaseAt time.Time // when the lease ends that the node has told of last; zero when it has not

	authority bool
	asked     time.Time // when a member's latest frame passed to the authority
	mayUntil  time.Time // when a lease ends at the latest that the frames allow; zero: none
	last      string    // its newest console line
}

// band is a fault that lasts.
type band struct {
	key, text string
	since     time.Time
}

// see takes a record that has come now.
func (b *board) see(r journal.Record, now time.Time) {
	if r.Kind == journal.KindRun {
		b.begin(r.Run)
		return
	}
	if r.Kind == journal.KindAction {
		b.act(r, now)
	}
	n := b.node(r.Node)
	if n == nil {
		return
	}
	switch r.Kind {
	case journal.KindBoot:
		b.lower(r.Node + " ") // a kill ends here
		*n = nodeState{name: n.name, state: "starts", authority: n.authority}
	case journal.KindExit:
		*n = nodeState{name: n.name, state: "off", last: n.last, authority: n.authority}
	case journal.KindConsole:
		if r.Line == "" {
			return
		}
		n.last = b.names.Replace(r.Line)
		if line, err := evidence.Parse(r.Line); err == nil {
			n.hear(line, now)
		}
	case journal.KindHTTP:
		n.answered(r.HTTP, now)
	case journal.KindFrame:
		if to := b.node(r.Frame.To); to != nil && r.Frame.Verdict == relay.Forwarded.String() {
			b.passed(n, to, now)
		}
	}
}

// passed takes a frame that passed between two nodes: what a member sent to the authority may have
// asked for a lease, which begins then, and what comes back may be the answer.
func (b *board) passed(from, to *nodeState, now time.Time) {
	switch {
	case to.authority && !from.authority:
		from.asked = now
	case from.authority && !to.authority && !to.asked.IsZero():
		to.mayUntil = to.asked.Add(b.lease)
	}
}

func (b *board) begin(run *journal.Run) {
	b.lease, b.leased = timing.WriteLeaseMS*time.Millisecond, true
	if run.Times != nil {
		b.lease = time.Duration(run.Times.Lease) * time.Millisecond
		b.leased = run.Times.Fence != timing.FenceAcks
	}
	var names []string
	for _, n := range run.Nodes {
		b.nodes = append(b.nodes, nodeState{name: n.Name, state: "off", authority: n.Authority})
		names = append(names, n.ID, n.Name)
	}
	for _, o := range run.Objects {
		names = append(names, o.ID, o.Name)
	}
	b.names = strings.NewReplacer(names...)
}

func (b *board) node(name string) *nodeState {
	for i := range b.nodes {
		if b.nodes[i].name == name {
			return &b.nodes[i]
		}
	}
	return nil
}

// hear takes a line of evidence.
func (n *nodeState) hear(l evidence.Line, now time.Time) {
	if epoch, ok := l.Get("epoch"); ok {
		n.epoch = epoch
	}
	if mutable, ok := l.Get("mutable"); ok {
		n.mutable = mutable
	}
	members, _ := l.GetUint("members")
	state, _ := l.Get("state")
	switch {
	case l.Is("mesh-node", "start"):
		n.state = "joining"
	case l.Is("mesh-view", "installed"), l.Is("mesh-join", "confirmed"):
		n.state = "joined"
		if members == 1 {
			n.state = "alone"
		}
	case l.Is("mesh-fail", "removed") && members == 1:
		n.state = "alone"
	case l.Is("mesh-fail", "authority") && state == "lost":
		n.state, n.leaseAt = "isolated", time.Time{}
	case l.Is("mesh-fail", "authority") && state == "restored":
		n.state = "joined"
	case l.Is("mesh=single"):
		n.state = "single"
	}
	if left, ok := l.GetSpan("write_lease_ms"); ok {
		n.leaseAt = now.Add(time.Duration(left) * time.Millisecond)
	}
}

// answered takes what a node says of itself over HTTP.
func (n *nodeState) answered(h *journal.HTTP, now time.Time) {
	if h.Status != 200 || !strings.HasPrefix(h.Path, "/mesh") {
		return
	}
	for line := range strings.Lines(h.Body) {
		line = strings.TrimSuffix(line, "\n")
		if l, err := evidence.Parse(line); err == nil && l.Is("mesh-route", "authority") {
			n.hear(l, now)
		}
		if l, err := evidence.ParseStatus(line); err == nil && strings.HasPrefix(line, "node id=") {
			n.hear(l, now)
		}
	}
}

// act takes an action: a fault begins or ends.
func (b *board) act(r journal.Record, now time.Time) {
	a, n := r.Action, b.node(r.Node)
	key := r.Node + " " + a.Peer
	switch a.Name {
	case journal.ActionCut:
		b.raise(band{key, r.Node + " and " + a.Peer + ": nothing passes", now})
	case journal.ActionImpair:
		b.raise(band{key, "from " + r.Node + " to " + a.Peer + ": " + a.Detail, now})
	case journal.ActionHeal:
		b.lower(key)
		b.lower(a.Peer + " " + r.Node)
	case journal.ActionFreeze, journal.ActionStall:
		b.raise(band{key, r.Node + ": " + a.Name, now})
		if n != nil {
			n.before, n.state = n.state, "stalled"
			if a.Name == journal.ActionFreeze {
				n.state = "frozen"
			}
		}
	case journal.ActionThaw, journal.ActionResume:
		b.lower(key)
		if n != nil {
			n.state = n.before
		}
	case journal.ActionKill:
		b.raise(band{key, r.Node + ": killed", now})
	}
	if a.Name == journal.ActionQuit {
		b.bands = nil
	}
}

func (b *board) raise(x band) {
	b.lower(x.key)
	b.bands = append(b.bands, x)
}

func (b *board) lower(key string) {
	for i, x := range b.bands {
		if x.key == key {
			b.bands = append(b.bands[:i:i], b.bands[i+1:]...)
			return
		}
	}
}

// lines are the board for people, one a fault and one a node.
func (b *board) lines(now time.Time) []string {
	var lines []string
	for _, x := range b.bands {
		lines = append(lines, fmt.Sprintf("  ## %s, for %.1f s", x.text, now.Sub(x.since).Seconds()))
	}
	for i := range b.nodes {
		lines = append(lines, b.nodes[i].line(now, b.leased))
	}
	return lines
}

// line is a node's: name, state, epoch, whether it may commit, what is left of its lease, and what
// it said last.
func (n *nodeState) line(now time.Time, leased bool) string {
	or := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	mutable := map[string]string{"1": "mutable", "0": "immutable"}[n.mutable]
	lease := ""
	if !leased {
		lease = "none" // it gives no right
	} else if left := n.leaseAt.Sub(now); left > 0 {
		lease = fmt.Sprintf("%.1f+ s", left.Seconds()) // it may have been renewed since
	} else if left := n.mayUntil.Sub(now); left > 0 && n.mutable != "0" {
		lease = fmt.Sprintf("<%.1f s", left.Seconds()) // no more, by the frames that passed
	}
	return fmt.Sprintf("  %-3s %-8s epoch %-3s %-9s lease %-7s %s", n.name, n.state, or(n.epoch),
		or(mutable), or(lease), n.last)
}
