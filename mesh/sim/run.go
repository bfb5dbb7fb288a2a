package sim

import (
	"holdfast/mesh"
	"holdfast/mesh/id"
)

// Result is what one seed has shown.
type Result struct {
	Seed     uint64
	Verdict  string // what was wrong, "" for nothing
	Hash     uint64 // of everything that the nodes did
	Plan     string
	Log      string // of a Replay: like a golden conversation, with true time in seconds
	Events   int64  // steps of nodes
	Lived    Time   // simulated true time
	Minutes  int64  // in which something was committed
	Commits  int64
	Durables int64 // acknowledged as replicated
	Measures Measures

	// Of a world of failovers: its nodes, what came of replicated commits, and the history; how often
	// the authority was restarted with its marks kept, torn or wiped, and started with nothing.
	Nodes    int
	Outcomes Outcomes
	Acts     []Act
	Restarts [3]int64
	Emptied  int64
}

// Run lives through the world of a seed: first trouble, then none, when the mesh has to become
// whole again within a bound, and then a while in which it has to stay so.
func Run(seed uint64) Result { return newWorld(seed, draw).live(seed) }

// Replay does the same, and the result has the log.
func Replay(seed uint64) Result {
	w := newWorld(seed, draw)
	w.listen()
	return w.live(seed)
}

func (w *world) live(seed uint64) (result Result) {
	defer func() {
		if r := recover(); r != nil {
			w.judge.wrong(w.machines[0], "panics: "+text(r))
		}
		result = w.result(seed)
	}()
	w.storm()
	w.calm()
	w.quiet()
	return
}

func text(r any) string {
	switch r := r.(type) {
	case string:
		return r
	case error:
		return r.Error()
	}
	return "?"
}

func (w *world) result(seed uint64) Result {
	r := Result{Seed: seed, Verdict: w.judge.verdict, Hash: w.hash, Plan: w.plan.String(),
		Events: w.events, Lived: w.now, Minutes: w.judge.minutes, Commits: w.judge.commits,
		Durables: w.judge.durables,
		Measures: w.judge.measured, Nodes: 1 + w.plan.members, Outcomes: w.judge.outcomes,
		Restarts: w.judge.restarts, Emptied: w.judge.emptied}
	if w.plan.failover {
		r.Acts = w.history()
	}
	if w.log != nil {
		r.Log = w.log.String()
	}
	return r
}

// storm is the time of trouble.
func (w *world) storm() {
	w.machines[0].boot()
	for _, m := range w.machines[1:] {
		if m != w.clone {
			m.boot()
		}
	}
	w.trouble = w.now + w.random.upTo(20*Second)
	w.visit()
	w.run(w.plan.storm, nil)
}

// The bounds of recovery. The longest chain of waits is the ten minutes of a degraded node; then a
// refused joiner's 5 s, a probe of one, a fence of 7.5 s and a request period of 2 s; or a
// conviction at 12 s and a join after it. The latter twice, for what was under way. An authority
// that nobody can prove anything to waits for its operator, who comes after patience, twice when
// its chip has been wiped.
const (
	patience    = 40 * Second
	visits      = 2
	recoveryMax = 600*Second + 40*Second + visits*patience
)

// calm ends all trouble and waits until the mesh is whole.
func (w *world) calm() {
	w.trouble, w.timers, w.trap = never, nil, nil
	w.machines[0].chip.refuses = false
	if w.clone != nil && w.clone.on() {
		w.clone.kill()
	}
	for _, m := range w.machines {
		w.touch(m)
		m.blind = false
		m.path.up.clean(&w.plan)
		m.path.down.clean(&w.plan)
		w.network.healed(&m.path.up)
		w.network.healed(&m.path.down)
		switch {
		case m.power == off && m != w.clone:
			m.boot()
		case m.power == stopped || m.power == frozen:
			m.resume()
		}
	}
	began := w.now
	for range visits {
		if !w.run(w.now+patience, w.whole) {
			w.operator()
		}
	}
	since, ok := w.stays(began)
	if ok {
		w.judge.measured.Recovery.note(since - began)
		w.judge.allKept()
	} else if w.judge.verdict == "" {
		w.judge.wrong(w.machines[0], "is not in a whole mesh: "+w.broken())
	}
}

// stays waits until the mesh is whole, and tells since when. What was sent before the trouble ended
// may still hold up what is sent after it, and convict a member that is in peace: until that can
// be no more, a whole mesh may break again.
func (w *world) stays(began Time) (since Time, ok bool) {
	since = never
	ok = w.run(began+recoveryMax, func() bool {
		if !w.whole() {
			since = never
			return false
		}
		since = min(since, w.now)
		return w.now-began >= leftAlone
	})
	return since, ok
}

// visit is the operator, who looks after the authority once in a while.
func (w *world) visit() {
	w.later(w.random.between(w.plan.visit, 5*w.plan.visit), func() {
		if m := w.machines[0]; m.runs() && (w.now-m.booted > patience || w.refuses()) {
			w.operator()
		}
		w.visit()
	})
}

// operator helps an authority that cannot start by itself. One whose chip has been wiped needs an
// epoch above every certificate, and then takes the state of those who hold it. Only one that still
// waits when he comes again may start with nothing.
func (w *world) operator() {
	m := w.machines[0]
	switch {
	case w.judge.verdict != "" || m.look.Joined():
		return
	case w.refuses():
		m.kill()
		m.config.Epoch = w.above()
		m.boot()
		return
	}
	if m.runs() && (m.chip.lost() || w.random.one(2)) {
		w.say(m, "may start with nothing")
		m.tickets++
		w.judge.mayEmpty = true
		m.ask(m.tickets, nil, mesh.StartEmpty{Ticket: m.tickets})
		return
	}
	m.kill()
	m.chip.mayEmpty()
	m.boot()
}

// above is an epoch that nobody has signed, and refuses reports whether the authority wants one.
func (w *world) above() id.Epoch { return max(2, id.Epoch(len(w.judge.digests))) }

func (w *world) refuses() bool {
	m := w.machines[0]
	return m.chip.lost() && m.config.Epoch < w.above()
}

func (w *world) whole() bool { return w.broken() == "" }

// broken tells what keeps the mesh from being whole, "" for nothing.
func (w *world) broken() string {
	root := w.machines[0]
	for _, m := range w.machines {
		switch {
		case m == w.clone:
		case !m.look.Joined():
			return m.name + " has not joined"
		case m.look.Epoch() != root.look.Epoch() || m.seen.epoch != root.seen.epoch:
			return m.name + " has another view than the root"
		case !m.able():
			return m.name + " may not commit"
		}
	}
	return ""
}

func (m *machine) able() bool {
	return m.look.TakesCommits(m.counter(), m.calendar())
}

// quiet watches the whole mesh for a while: nothing may happen in it but what clients want.
func (w *world) quiet() {
	if w.judge.verdict != "" {
		return
	}
	epoch := w.machines[0].look.Epoch()
	w.run(w.now+w.plan.quiet, nil)
	if now := w.machines[0].look.Epoch(); now != epoch && w.judge.verdict == "" {
		w.judge.wrong(w.machines[0], "changes a view without a reason")
	}
}
