package mesh_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

var (
	walkRuns = flag.Int("walk.runs", 150, "how many random walks")
	walkSeed = flag.Uint64("walk.seed", 0, "only the walk with this seed, with its log")
)

// walkActions is how much happens in a walk, about 0.6 s apart.
const walkActions = 150

// A walk is a random history of a small mesh: cuts, delays, pauses, deaths, clocks, copies of
// nodes, damaged frames. It is made from its seed alone. Every walk has a character of its own: the
// faults that it uses at all are drawn first, since a history in which everything happens at once
// rarely gets far enough to be interesting.
type walk struct {
	w     *world
	j     *judge
	r     *rand.Rand
	kinds []func(*walk)
	twin  *machine // nil in most
	seq   uint64   // of the clients' requests
}

func newWalk(t testing.TB, seed uint64, log bool) *walk {
	k := &walk{r: rand.New(rand.NewPCG(seed, 0))}
	names := []string{"root", "n1", "n2"}[:2+k.r.IntN(2)]
	k.w = newWorld(t, names...)
	k.w.quiet, k.w.frames = !log, log
	k.j = newJudge(k.w)
	k.w.recheck = func(*machine) bool { return k.one(8) }
	if k.one(4) {
		k.twin = k.w.twin(k.w.nodes[1])
	}
	detect, lab := !k.one(5), labNames[:k.r.IntN(len(labNames)+1)]
	both := k.one(2)
	k.w.chip = when.Span(k.r.IntN(2) * k.r.IntN(500))
	if k.one(2) {
		k.w.nodes[0].marks = &mesh.Marks{NeverRan: true}
	}
	for _, m := range k.w.nodes {
		m.config.LabObject = lab
		m.config.Detect, m.config.Both = detect, both
		m.fast = int64(k.r.IntN(20_001)) - 10_000 // rho: 1 % at most
	}
	for _, kind := range faults {
		if k.one(2) {
			k.kinds = append(k.kinds, kind)
		}
	}
	k.kinds = append(k.kinds, (*walk).labStep, (*walk).commit, (*walk).commit, (*walk).upkeep)
	return k
}

// one is true once in n times.
func (k *walk) one(n int) bool { return k.r.IntN(n) == 0 }

func (k *walk) any() *machine    { return k.w.nodes[k.r.IntN(len(k.w.nodes))] }
func (k *walk) member() *machine { return k.w.nodes[1+k.r.IntN(len(k.w.nodes)-1)] }

// end is any end of any link, nil when there is none.
func (k *walk) end() (*link, *end) {
	if len(k.w.links) == 0 {
		return nil, nil
	}
	l := k.w.links[k.r.IntN(len(k.w.links))]
	return l, &l.ends[k.r.IntN(2)]
}

// run takes the walk's actions, and stops at the first violation.
func (k *walk) run() {
	k.w.boot(k.w.nodes[0])
	for _, m := range k.w.nodes[1:] {
		if m != k.twin {
			k.w.boot(m)
			k.w.connect(m)
		}
	}
	for range walkActions {
		k.kinds[k.r.IntN(len(k.kinds))](k)
		k.w.runUntil(k.w.now.Add(k.pause()), func() bool { return k.j.wrong != "" })
		if k.j.wrong != "" {
			return
		}
	}
}

// pause is the time to the next action: mostly short, sometimes long against every bound.
func (k *walk) pause() when.Span {
	most := []int{20, 300, 300, 1500, 1500, 9000}
	return when.Span(k.r.IntN(most[k.r.IntN(len(most))]))
}

var faults = []func(*walk){
	(*walk).isolate, (*walk).isolate, (*walk).oneWay, (*walk).delay, (*walk).hangUp, (*walk).halfOpen,
	(*walk).power, (*walk).rootPower, (*walk).halt, (*walk).stop, (*walk).stop, (*walk).clockBack,
	(*walk).damage, (*walk).disorder,
	(*walk).secondSession,
}

func (k *walk) isolate() {
	m := k.member()
	k.w.cut(m, !m.isolated)
}

func (k *walk) oneWay() {
	if _, e := k.end(); e != nil {
		e.cut = !e.cut
	}
}

func (k *walk) delay() {
	if _, e := k.end(); e != nil {
		e.latency = when.Span(k.r.IntN([]int{5, 50, 4000}[k.r.IntN(3)]))
	}
}

func (k *walk) hangUp() {
	if l, e := k.end(); l != nil && e.machine.running() {
		k.w.hangUp(e.machine, l.id)
	}
}

func (k *walk) halfOpen() {
	if l, e := k.end(); l != nil && e.machine.running() {
		k.w.drop(l, e.machine)
	}
}

func (k *walk) power() {
	m := k.member()
	if m.node != nil {
		k.w.kill(m)
		return
	}
	k.w.boot(m)
}

// stop lets a machine stand still, or go on: its counter does not care.
// rootPower switches the authority off or on, if it has something to remember by.
func (k *walk) rootPower() {
	root := k.w.nodes[0]
	switch {
	case root.marks == nil:
	case root.node != nil:
		k.w.kill(root)
	default:
		k.w.boot(root)
	}
}

// halt stops a machine together with its counter, for up to half a minute. A member without a
// second clock cannot know: it is spared.
func (k *walk) halt() {
	if m := k.any(); m.running() && (m.config.Both || m == k.w.nodes[0]) {
		k.w.halt(m, when.Span(k.r.Int64N(30_000)))
	}
}

func (k *walk) stop() {
	m := k.any()
	switch {
	case m.node == nil:
	case m.stopped:
		k.w.resume(m)
	default:
		m.stopped = true
	}
}

// clockBack sets a counter back, but not below zero. The machine notices at once: a counter that
// goes back and forth again between two steps is a frozen one, which needs the second clock (L6).
func (k *walk) clockBack() {
	m := k.any()
	if m.running() {
		m.jumped -= when.Span(k.r.Int64N(int64(min(k.w.counter(m), 20_000)) + 1))
		k.w.tick(m)
	}
}

// damage changes a frame on its way, or adds one that means nothing.
func (k *walk) damage() {
	_, e := k.end()
	if e == nil || len(e.queue) == 0 {
		return
	}
	p := &e.queue[k.r.IntN(len(e.queue))]
	if kind, ok := kindOf(p.data); p.news != frame || !ok || kind == wire.KindRefuse {
		return // a Refuse may ask for ten minutes, which no walk waits for
	}
	p.data = append([]byte(nil), p.data...)
	p.data[k.r.IntN(len(p.data))] ^= byte(1 << k.r.IntN(8))
}

// disorder does what TLS rules out: it drops, repeats or overtakes a frame within a session. Safety
// must not depend on it.
func (k *walk) disorder() {
	_, e := k.end()
	if e == nil || len(e.queue) == 0 {
		return
	}
	i, n := k.r.IntN(len(e.queue)), len(e.queue)-1
	switch {
	case e.queue[i].news != frame || e.queue[n].news != frame:
	case k.one(3):
		e.queue[i].data = nil
	case k.one(2):
		e.queue = append(e.queue, packet{at: e.queue[n].at, data: e.queue[i].data})
	default:
		e.queue[i].data, e.queue[n].data = e.queue[n].data, e.queue[i].data
	}
}

func (k *walk) secondSession() {
	if m := k.member(); m.running() && !m.isolated {
		k.w.connect(m)
	}
}

func (k *walk) labStep() {
	steps := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if m := k.any(); m.running() {
		k.j.launch(m, steps[k.r.IntN(len(steps))], k.r.IntN(len(labNames)))
	}
}

// commit is what clients want: some node asks its peer to commit an object that may be homed there.
func (k *walk) commit() {
	l, e := k.end()
	if e == nil || l.other(e.machine).machine.node == nil {
		return
	}
	from := l.other(e.machine).machine
	epoch := max(1, from.node.Epoch())
	k.seq++
	q := &wire.RouteReq{Request: wire.Request{Client: id.Client(from.id()), Boot: 1, Seq: k.seq},
		FirstEpoch: epoch, Object: objects[k.r.IntN(len(objects))], Op: wire.Commit,
		Class: wire.Lease, Durability: wire.Local, IfVersion: wire.AnyVersion, Within: 5_000,
		Value: []byte{1}}
	copy(q.Capability[:], k.w.mint(from, q.Object, epoch))
	k.w.post(e, packet{data: wire.Append(nil, epoch, q)[wire.PrefixSize:]})
}

// upkeep is what every adapter does: a member without a session dials.
func (k *walk) upkeep() {
	for _, m := range k.w.nodes[1:] {
		if m.running() && !m.isolated && !k.w.hasSession(m) {
			k.w.connect(m)
		}
	}
}

func (w *world) hasSession(m *machine) bool {
	for _, l := range w.linksOf(m) {
		if l.end(m).open {
			return true
		}
	}
	return false
}

// calm ends all trouble and gives the mesh the time that recovery may take: the old sessions are
// gone, every node but the twin runs.
func (k *walk) calm() {
	k.w.recheck = nil
	if k.twin != nil && k.twin.node != nil {
		k.w.kill(k.twin)
	}
	for _, m := range k.w.nodes {
		if m.stopped {
			k.w.resume(m)
		}
	}
	for len(k.w.links) > 0 {
		k.w.disconnect(k.w.links[0])
	}
	if root := k.w.nodes[0]; root.node == nil || !root.node.Joined() {
		k.w.kill(root)
		root.marks.MayEmpty = true // perhaps nobody is left who could prove anything
		k.w.boot(root)
	}
	for _, m := range k.w.nodes[1:] {
		if m.node == nil && m != k.twin {
			k.w.boot(m)
		}
		k.w.cut(m, false)
	}
	k.upkeep()
	k.w.run(timing.FailMS) // whatever still holds from before is over then
	k.w.runUntil(k.w.now.Add(calmMS), func() bool { return k.converged() == "" })
}

// calmMS is the longest chain of waits: the ten minutes of a degraded node; then a refused joiner's
// 5 s, a probe of one, a fence of 7.5 s and a request period of 2 s; or a conviction at 12 s and a
// join after it. The latter twice, for what was under way.
const calmMS = 600_000 + 40_000

// converged reports what keeps the mesh from being whole, if anything.
func (k *walk) converged() string {
	root := k.w.nodes[0].node
	for _, m := range k.w.nodes {
		switch {
		case m == k.twin:
		case !m.node.Joined():
			return m.name + " has not joined"
		case m.node.Epoch() != root.Epoch() || m.node.Digest() != root.Digest():
			return m.name + " has another view than the root"
		case !m.node.CanCommit(k.w.counter(m), k.w.second()):
			return m.name + " has no lease"
		}
	}
	return ""
}

// TestWalksKeepTheInvariants runs random histories and judges each after every step; when the
// trouble is over, the mesh must become whole again.
func TestWalksKeepTheInvariants(t *testing.T) {
	if *walkSeed != 0 {
		walkOnce(t, *walkSeed, true)
		return
	}
	var commits int
	for seed := range uint64(*walkRuns) {
		commits += walkOnce(t, seed+1, false).j.commits
		if t.Failed() {
			return
		}
	}
	if commits < *walkRuns {
		t.Errorf("only %d commits in %d walks: they prove nothing", commits, *walkRuns)
	}
}

func walkOnce(t *testing.T, seed uint64, log bool) *walk {
	k := newWalk(t, seed, log)
	defer func() {
		if r := recover(); r != nil {
			t.Logf("-walk.seed=%d at %s", seed, stamp(k.w.now))
			panic(r)
		}
	}()
	k.run()
	if k.j.wrong == "" {
		k.calm()
	}
	if k.j.wrong == "" {
		if why := k.converged(); why != "" {
			k.j.violation("the mesh is not whole: %s", why)
		}
	}
	if log {
		t.Log(k.w.log.String())
	}
	if k.j.wrong != "" {
		t.Errorf("-walk.seed=%d: %s", seed, k.j.wrong)
	}
	return k
}

// TestWalksSeeTheLeaseOfTheADR judges the same histories by the lease as the ADR has it, which
// counts from the arrival of whatever comes from the authority. It must fail, or the walks are
// blind.
func TestWalksSeeTheLeaseOfTheADR(t *testing.T) {
	for seed := range uint64(*walkRuns) {
		k := newWalk(t, seed+1, false)
		k.j.adr = true
		k.run()
		if k.j.wrong != "" {
			t.Logf("seed %d: %s", seed+1, k.j.wrong)
			return
		}
	}
	t.Error("no walk finds that two nodes may commit at once")
}

// TestWalksRepeat runs histories twice: what a node does depends on nothing but its inputs.
func TestWalksRepeat(t *testing.T) {
	for seed := range uint64(20) {
		var sums [2]string
		for i := range sums {
			k := newWalk(t, seed+1, false)
			k.run()
			sums[i] = fmt.Sprint(k.j.hash(), k.j.commits, k.w.now)
		}
		if sums[0] != sums[1] {
			t.Fatalf("seed %d is not repeated: %v", seed+1, sums)
		}
	}
}
