package sim

import (
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
)

// What is judged of what nodes say, and of how they leave each other alone (I8, I9).

// busiest is how many steps a second a world's nodes may take, on average over a minute: a mesh
// that talks to itself does more.
const busiest = 2_000

// pace judges how busy the world is.
func (j *judge) pace() {
	if j.w.now >= j.paced {
		j.paced, j.events = j.w.now+Minute, j.w.events
	}
	if j.w.events-j.events > busiest*60 {
		j.wrong(j.w.machines[0], "is in a mesh that talks to itself")
	}
}

// printed judges a line of evidence.
func (j *judge) printed(m *machine, l evidence.Line) {
	if err := l.Check(); err != nil {
		j.wrong(m, "prints what the grammar does not know: "+err.Error())
	}
	if l.Is("mesh-fail", "fork") {
		j.wrong(m, "has seen two views under one number")
	}
	if n, ok := l.GetNode("node"); ok && m.root() && l.Is("mesh-fail", "failed") {
		j.convicted(m, n)
	}
}

// leftAlone is how long a member must have been in peace before the authority can be expected to
// know that it lives: a redial or two, a heartbeat, and the failure window. It is time in which the
// authority runs: a silence that began before a pause of its goes on after it (spec/protocol.md,
// "Conviction").
const leftAlone = 25 * Second

// ran is for how long the authority has run, or has been off.
func (w *world) ran() Time {
	root := w.machines[0]
	if root.on() && !root.runs() {
		return root.halted - root.idle
	}
	return w.now - root.idle
}

// convicted judges a conviction: its reason must be in the member or on the way to it, or the
// member has not been admitted since it came back. That the authority did not run is none (rule
// L5).
func (j *judge) convicted(root *machine, n id.Node) {
	for _, m := range j.w.machines {
		if m.id != n || m == j.w.clone {
			continue
		}
		good := lane{latency: j.w.plan.latency, jitter: j.w.plan.jitter}
		clean := m.path.up == good && m.path.down == good
		switch since := j.w.ran() - m.touched; {
		case m.runs() && m.look.Joined() && clean && since >= leftAlone:
			j.wrong(root, "convicts "+m.name+" without a reason")
		case m.power == off && clean && m.peaceful && root.booted < m.died:
			j.measured.Detection.note(j.w.now - m.died)
		}
	}
}
