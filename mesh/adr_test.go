package mesh_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// The tests in this file are the sentences of ADR-0008, "Evidence / Host tests", one test a
// sentence and in the ADR's words. docs/adr-0008.md maps each sentence to its test and to what the
// rig shows on real kernels.

// pair is an authority and a member, joined and working.
type pair struct {
	*world
	root, n1 *machine
}

func newPair(t *testing.T) *pair {
	w := newWorld(t, "root", "n1")
	p := &pair{w, w.nodes[0], w.nodes[1]}
	w.boot(p.root)
	w.boot(p.n1)
	w.connect(p.n1)
	w.run(100)
	if p.n1.node.Epoch() != 2 || !p.n1.node.Joined() {
		t.Fatal("the pair has not joined")
	}
	return p
}

// said counts the lines of the log with all of these parts, and empties nothing.
func (p *pair) said(m *machine, parts ...string) int {
	n := 0
	for line := range strings.Lines(p.log.String()) {
		ok := strings.Contains(line, " "+m.name+" | ")
		for _, part := range parts {
			ok = ok && strings.Contains(line, part)
		}
		if ok {
			n++
		}
	}
	return n
}

// want fails unless the answer has all of these fields.
func want(t *testing.T, answer string, fields ...string) {
	t.Helper()
	for _, f := range fields {
		if !strings.Contains(answer+" ", " "+f+" ") {
			t.Errorf("no %s in: %s", f, answer)
		}
	}
}

// objectsOf is where m believes the objects to be.
func (p *pair) objectsOf(m *machine) map[string]string {
	homes := map[string]string{}
	for _, h := range m.node.Homes(p.counter(m)) {
		homes[h.Name] = p.names.Replace(h.Home.String())
	}
	return homes
}

// homedAt is the lowest-numbered object that the authority believes at m.
func (p *pair) homedAt(m *machine) string {
	homes := p.objectsOf(p.root)
	for _, name := range labNames {
		if homes[name] == m.name {
			return name
		}
	}
	p.t.Fatalf("no object is homed at %s", m.name)
	return ""
}

// killAndRemove kills the member and waits until it has been removed.
func (p *pair) killAndRemove() {
	p.kill(p.n1)
	if !p.runUntil(p.now.Add(13_000), func() bool { return p.root.node.Epoch() == 3 }) {
		p.t.Fatal("the member has not been removed")
	}
}

// mesh-service

func TestADRExactSuspectAndFailBoundaries(t *testing.T) {
	for _, b := range []struct {
		after when.Span
		row   string
		said  int
	}{
		{timing.SuspectMS - 1, "mesh-fail: suspect", 0}, {timing.SuspectMS, "mesh-fail: suspect", 1},
		{timing.FailMS - 1, "mesh-fail: failed", 0}, {timing.FailMS, "mesh-fail: failed", 1},
	} {
		t.Run(fmt.Sprint(b.row, " after ", b.after), func(t *testing.T) {
			p := newPair(t)
			p.kill(p.n1)
			heard := when.Span(0)
			for _, m := range p.root.node.Status(p.counter(p.root)).Members {
				if m.ID == p.n1.id() {
					heard = when.Span(m.AgeMS)
				}
			}
			p.run(b.after - heard)
			if got := p.said(p.root, b.row); got != b.said {
				t.Errorf("said %d times, want %d", got, b.said)
			}
		})
	}
}

func TestADRDuplicateFailure(t *testing.T) {
	p := newPair(t)
	p.killAndRemove()
	p.run(30_000)
	if n := p.said(p.root, "mesh-fail: failed"); n != 1 {
		t.Errorf("failed %d times", n)
	}
	if n := p.said(p.root, "mesh-fail: removed"); n != 1 {
		t.Errorf("removed %d times", n)
	}
}

func TestADRStaleIncarnationReplay(t *testing.T) {
	p := newPair(t)
	p.run(3000)
	stale := p.root.got[wire.KindLeaseReq] // of this boot: an old one after the next
	p.kill(p.n1)
	p.boot(p.n1)
	l := p.connect(p.n1)
	p.run(8000)
	epoch := p.root.node.Epoch()
	p.cut(p.n1, true)
	for range 14 {
		p.run(1000)
		p.deliverAs(l, stale)
	}
	if p.root.node.Epoch() != epoch+1 {
		t.Error("a frame of the old boot has kept the silent new one in the view")
	}
}

// deliverAs hands a frame to the authority as if it had come on a session.
func (p *pair) deliverAs(l *link, data []byte) {
	p.post(l.end(p.root), packet{at: p.now, data: data})
}

func TestADRSuspectRecovery(t *testing.T) {
	p := newPair(t)
	p.cut(p.n1, true)
	p.run(8000)
	p.cut(p.n1, false)
	p.run(1000)
	if p.said(p.root, "mesh-fail: suspect") != 1 || p.said(p.root, "mesh-fail: recovered") != 1 {
		t.Error("not suspected once and recovered once")
	}
	p.run(20_000)
	if p.said(p.root, "mesh-fail: failed") != 0 {
		t.Error("failed after it had recovered")
	}
}

func TestADRAFailedNodeRequiresAJoin(t *testing.T) {
	p := newPair(t)
	beat := p.root.got[wire.KindLeaseReq]
	p.cut(p.n1, true)
	p.run(13_000)
	for range 20 {
		p.deliverAs(p.linksOf(p.n1)[0], beat)
		p.run(500)
	}
	if p.root.node.Epoch() != 3 || p.said(p.root, "mesh-fail: recovered") != 0 {
		t.Error("bare heartbeats have brought a failed node back")
	}
	p.cut(p.n1, false)
	p.run(5000)
	if p.root.node.Epoch() != 4 || p.said(p.root, "mesh-join: confirmed", "epoch=4") != 1 {
		t.Error("a signed join has not")
	}
}

func TestADRSnapshotExclusion(t *testing.T) {
	p := newPair(t)
	p.killAndRemove()
	if p.said(p.root, "mesh-fail: removed", "members=1", "snapshot=root ") != 1 {
		t.Error("the snapshot of the new epoch is not the root alone")
	}
	for _, m := range p.root.node.Status(p.counter(p.root)).Members {
		if m.ID == p.n1.id() {
			t.Error("the failed node is still in the view")
		}
	}
}

// mesh-join

func TestADRRootRemovalAdvancesTheEpochOnce(t *testing.T) {
	p := newPair(t)
	p.killAndRemove()
	p.run(60_000)
	if epoch := p.root.node.Epoch(); epoch != 3 {
		t.Errorf("epoch %d after one removal at epoch 2", epoch)
	}
}

func TestADRDuplicateTicksAreNoOps(t *testing.T) {
	p := newPair(t)
	p.killAndRemove()
	before, digest := p.log.Len(), p.root.node.Digest()
	for range 100 {
		p.step(p.root, mesh.Tick{})
	}
	if p.log.Len() != before || p.root.node.Digest() != digest {
		t.Error("ticks at the same instant have done something")
	}
}

func TestADRTheRemovedNodesObjectsMoveAndTheSurvivorsDoNotChurn(t *testing.T) {
	p := newPair(t)
	want := p.labStep(p.root, 8, "lab-0") // no object has been fenced yet: nothing to commit to
	if want != "wrong order" {
		t.Fatal(want)
	}
	before := p.objectsOf(p.root)
	p.killAndRemove()
	for name, home := range p.objectsOf(p.root) {
		if home != "root" {
			t.Errorf("%s is at %s", name, home)
		}
		fenced := p.said(p.root, "fence object="+name, "reason=left-view")
		if moved := before[name] == "n1"; (fenced == 1) != moved {
			t.Errorf("%s was at %s and has %d fences", name, before[name], fenced)
		}
	}
}

func TestADRAMemberLosesAuthorityWithoutRemovingTheRootOrAdvancingTheEpoch(t *testing.T) {
	p := newPair(t)
	p.cut(p.n1, true)
	p.run(60_000)
	if p.said(p.n1, "mesh-fail: authority state=lost", "mutable=0", "reads=lease") != 1 {
		t.Error("the loss is not said once")
	}
	status := p.n1.node.Status(p.counter(p.n1))
	if status.Epoch != 2 || len(status.Members) != 2 || status.Mutable {
		t.Errorf("%+v", status)
	}
	if p.said(p.n1, "removed") != 0 || p.said(p.n1, "installed epoch=3") != 0 {
		t.Error("the member has removed the root")
	}
}

func TestADRARejoinIsANewEpochAndRestoresMutableService(t *testing.T) {
	p := newPair(t)
	p.cut(p.n1, true)
	p.run(20_000)
	p.cut(p.n1, false)
	p.run(5000)
	for _, m := range p.nodes {
		status := m.node.Status(p.counter(m))
		if status.Epoch != 4 || len(status.Members) != 2 || !status.Mutable {
			t.Errorf("%s: %+v", m.name, status)
		}
	}
	if p.root.node.Digest() != p.n1.node.Digest() {
		t.Error("two views of epoch 4")
	}
	want(t, p.labStep(p.root, 10, p.homedAt(p.n1)), "status=ok", "home=n1", "epoch=4")
}

func TestADRASuspectRecoveryDoesNotAdvanceTheEpoch(t *testing.T) {
	p := newPair(t)
	p.cut(p.n1, true)
	p.run(9000)
	p.cut(p.n1, false)
	p.run(30_000)
	if p.root.node.Epoch() != 2 || p.n1.node.Epoch() != 2 {
		t.Error("the epoch has moved")
	}
}

// mesh-route

func TestADRAMembershipChangeFencesTheStaleRouteAndCompletesLocally(t *testing.T) {
	p := newPair(t)
	object := p.homedAt(p.n1)
	p.killAndRemove()
	if p.said(p.root, "fence object="+object, "stale_home=n1", "home=root", "home_epoch=3") != 1 {
		t.Error("the stale route is not fenced")
	}
	want(t, p.labStep(p.root, 6, object), "status=ok", "home=root", "attempts=1", "moved=0",
		"sends=0", "timeouts=0")
}

func TestADRDuplicateSnapshotsDoNotRepeatAFence(t *testing.T) {
	p := newPair(t)
	fences := p.said(p.root, "mesh-route: fence")
	if fences == 0 {
		t.Fatal("no lease was dropped at the join")
	}
	l := p.linksOf(p.n1)[0]
	before := p.said(p.n1, "mesh-route: fence")
	for range 3 { // the view again, as a resent one arrives
		p.post(l.end(p.n1), packet{at: p.now, data: p.viewFrame()})
		p.run(1000)
	}
	if p.said(p.root, "mesh-route: fence") != fences || p.said(p.n1, "mesh-route: fence") != before {
		t.Error("a fence was repeated")
	}
}

// viewFrame is the current view as the authority pushes it.
func (p *pair) viewFrame() []byte {
	c := p.n1.got[wire.KindConfirm]
	epoch, m, err := wire.Parse(c)
	if err != nil {
		p.t.Fatal(err)
	}
	frame := wire.Append(nil, epoch, &wire.View{Certificate: m.(*wire.Confirm).Certificate})
	return frame[wire.PrefixSize:]
}

func TestADRAReplayedStaleFrameIsRefusedWithStaleEpoch(t *testing.T) {
	p := newPair(t)
	want(t, p.labStep(p.n1, 1, p.homedAt(p.root)), "status=ok")
	p.killAndRemove()
	want(t, p.labStep(p.root, 7, "lab-0"), "status=stale-epoch")
	if row := p.root.node.CountersRow(p.counter(p.root)).String(); !strings.Contains(row,
		"replays=1 last_replay=stale-epoch") {
		t.Error(row)
	}
}

func TestADRACommitRequiresACurrentAuthorityAndAFreshWriteLease(t *testing.T) {
	p := newPair(t)
	object := p.homedAt(p.n1)
	want(t, p.labStep(p.root, 5, object), "status=ok", "home=n1")
	p.stop(p.n1, 3000) // a pause ends the lease
	want(t, p.labStep(p.n1, 9, object), "status=not-current")
	p.run(3000)
	want(t, p.labStep(p.n1, 9, object), "status=ok")
	p.cut(p.n1, true)
	p.run(9000)
	want(t, p.labStep(p.n1, 9, object), "status=no-authority")
}

// stop keeps a machine from running for a while.
func (p *pair) stop(m *machine, d when.Span) {
	m.stopped = true
	p.run(d)
	p.resume(m)
}

func TestADRAnIsolatedHomeRefusesARemoteCommitWithoutMovingTheObject(t *testing.T) {
	p := newPair(t)
	object := p.homedAt(p.n1)
	homes := p.objectsOf(p.n1)
	p.cut(p.n1, true)
	p.run(10_000)
	want(t, p.labStep(p.n1, 9, object), "status=no-authority", "op=commit")
	if p.said(p.n1, "step=9", "op=stat", "status=no-authority", "sends=0") != 1 {
		t.Error("the remote home is not reported as no-authority")
	}
	if fmt.Sprint(p.objectsOf(p.n1)) != fmt.Sprint(homes) || p.n1.node.Epoch() != 2 {
		t.Error("an object has moved")
	}
}

func TestADRTheRootRenewsFromItsViewWhileAMemberRenewsFromAuthorityFrames(t *testing.T) {
	p := newPair(t)
	p.run(60_000)
	if left := p.readLeft(p.n1, p.homedAt(p.n1)); left < timing.ReadLeaseMS-3000 {
		t.Errorf("with frames of the authority the member has %d ms left", left)
	}
	p.cut(p.n1, true)
	p.run(60_000)
	if left := p.readLeft(p.n1, p.homedAtBefore(p.n1)); left > timing.ReadLeaseMS-60_000 {
		t.Errorf("without them it has %d ms left", left)
	}
	if left := p.readLeft(p.root, p.homedAt(p.root)); left != timing.ReadLeaseMS {
		t.Errorf("the root, alone, has %d ms left", left)
	}
}

func (p *pair) readLeft(m *machine, object string) int64 {
	for _, h := range m.node.Homes(p.counter(m)) {
		if h.Name == object {
			return h.ReadMS
		}
	}
	return -1
}

// homedAtBefore is the lowest-numbered object that m believes to be its own.
func (p *pair) homedAtBefore(m *machine) string {
	for _, h := range m.node.Homes(p.counter(m)) {
		if h.Home == m.id() {
			return h.Name
		}
	}
	return ""
}

func TestADRExpiryYieldsNotCurrent(t *testing.T) {
	p := newPair(t)
	object := p.homedAt(p.n1)
	p.cut(p.n1, true)
	p.run(timing.ReadLeaseMS - 3000)
	want(t, p.read(p.n1, object), "status=ok")
	p.run(6000)
	want(t, p.read(p.n1, object), "status=not-current")
}

// read is a client's lease read at a node.
func (p *pair) read(m *machine, object string) string {
	m.answers = nil
	p.request(m, object, m.node.Epoch())
	p.runUntil(p.now.Add(6000), func() bool { return len(m.answers) > 0 })
	return p.names.Replace(m.answers[0].Lines[0].String())
}

func TestADRTheRemovedNodeIsNeverUsedAsARouter(t *testing.T) {
	p := newPair(t)
	p.killAndRemove()
	for name, home := range p.objectsOf(p.root) {
		if home != "root" {
			t.Errorf("%s is routed to %s", name, home)
		}
		p.read(p.root, name)
	}
	row := p.root.node.CountersRow(p.counter(p.root)).String()
	if !strings.Contains(row, " sends=0 ") {
		t.Error(row)
	}
}

func TestADRTheWriteLeaseIsShorterThanTheFailureWindow(t *testing.T) {
	for _, k := range []struct{ less, more when.Span }{
		{timing.WriteLeaseMS, timing.FailMS},
		{timing.HeartbeatMS + timing.WriteLeaseMS, timing.FailMS},
		{timing.WriteLeaseMS, timing.FenceMS},
	} {
		if k.less >= k.more {
			t.Errorf("%d is not less than %d", k.less, k.more)
		}
	}
	broken := timing.Default
	broken.WriteLease = broken.Fail
	if broken.Check() == nil {
		t.Error("a lease as long as the failure window is accepted")
	}
}
