package node

import (
	"strings"
	"testing"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/timing"
)

func TestTwoNodesJoinLoseOneAndTakeItBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		both := "snapshot=" + snapshot(root, member)
		for _, r := range []*running{a, m} {
			has(t, r.await("mesh-join", "confirmed"), "epoch=2", "members=2", both)
		}
		digest, _ := a.await("mesh-join", "confirmed").Get("digest")
		has(t, m.await("mesh-join", "confirmed"), "digest="+digest)

		atRoot, atMember := homedAt(t, root), homedAt(t, member)
		has(t, m.step(1, atRoot, member, 2), "status=ok", "attempts=1", "home="+root.id.String())
		has(t, a.step(5, atMember, root, 2), "status=ok", "home="+member.id.String(), "epoch=2",
			"durability=local", "copies=1")

		chip := m.chip
		m.kill()
		suspect := a.await("mesh-fail", "suspect")
		failed := a.await("mesh-fail", "failed")
		checkSilence(t, suspect, timing.SuspectMS)
		checkSilence(t, failed, timing.FailMS)
		has(t, a.await("mesh-fail", "removed"), "epoch=3", "members=1",
			"snapshot="+root.id.String())
		for _, h := range a.status("/mesh/homes") {
			has(t, h, "home="+root.id.String(), "home_epoch=3", "lease=active")
		}
		fenced := 0
		for _, f := range a.rows("mesh-route", "fence") {
			if reason, _ := f.Get("reason"); reason != "left-view" {
				continue // the root's own leases, when the member took its objects
			}
			fenced++
			has(t, f, "stale_home="+member.id.String(), "home="+root.id.String(), "home_epoch=3")
		}
		if fenced == 0 {
			t.Error("no route was fenced")
		}
		has(t, a.step(6, atMember, root, 3), "status=ok", "attempts=1", "sends=0", "moved=0",
			"timeouts=0", "home="+root.id.String())
		has(t, a.step(7, atRoot, member, 2), "status=stale-epoch")
		has(t, a.step(8, atMember, root, 3), "status=ok", "epoch=3", "home="+root.id.String())

		m = w.boot(chip)
		has(t, m.await("mesh-join", "confirmed"), "epoch=4", "members=2", both)
		has(t, a.awaitNth(2, "mesh-join", "confirmed"), "epoch=4", "members=2", both)
		<-time.After(timing.FenceMS * time.Millisecond) // until the old boot's lease is surely over
		has(t, a.step(10, atMember, root, 4), "status=ok", "epoch=4", "home="+member.id.String())
		a.stop()
		m.stop()
		if a.err != nil || m.err != nil {
			t.Errorf("Run ended with %v and %v", a.err, m.err)
		}
	})
}

// snapshot is the ids in a view's order.
func snapshot(a, b identity) string {
	if a.id.Compare(b.id) > 0 {
		a, b = b, a
	}
	return a.id.String() + "," + b.id.String()
}

// checkSilence allows a tick and the barrier after the boundary, and nothing before it.
func checkSilence(t *testing.T, l evidence.Line, want int64) {
	t.Helper()
	silent, ok := l.GetSpan("silent_ms")
	if !ok || int64(silent) < want || int64(silent) > want+timing.TickMS+timing.HandlerMS {
		t.Errorf("%q: the silence should be %d ms and up to half a second more", l, want)
	}
}

func TestTheLinkRowsTellBothSides(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		up := a.await("mesh-link", "up")
		has(t, up, "node="+member.id.String(), "slot=0")
		if remote, _ := up.Get("remote"); !strings.HasPrefix(remote, memberIP+":") {
			t.Errorf("%q", up)
		}
		has(t, m.await("mesh-link", "up"), "node="+root.id.String(), "remote="+rootIP+":7070")
		m.stop()
		has(t, a.await("mesh-link", "down"), "node="+member.id.String(), "reason=eof")
	})
}

func TestAMemberOfAnotherAuthorityIsRefusedOnBothSides(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		env := memberEnv()
		env[2] = "mesh.root=" + stranger.keyText()
		a := w.boot(chip(t, rootEnv(), &root, true))
		m := w.boot(chip(t, env, &member, true))
		has(t, a.await("mesh-link", "refused"), "reason=wrong-key")
		has(t, m.await("mesh-link", "refused"), "reason=wrong-key", "remote="+rootIP+":7070")
	})
}

func TestANodeThatIsNotAllowedIsRefusedOnBothSides(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, rootEnv(), &root, true))
		m := w.boot(chip(t, memberEnv(), &stranger, true))
		has(t, a.await("mesh-link", "refused"), "reason=not-allowed")
		has(t, m.await("mesh-link", "refused"), "reason=not-allowed")
	})
}

func TestACutEndsInARemovalAndHealingInARejoin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		w.net.Cut(a.host, m.host)
		a.await("mesh-fail", "removed")
		has(t, m.await("mesh-fail", "authority"), "state=lost", "mutable=0")
		// The node answers while its peer is unreachable.
		has(t, m.status("/mesh")[0], "mutable=0", "epoch=2")
		has(t, a.status("/mesh")[0], "mutable=1", "epoch=3")
		w.net.Heal(a.host, m.host)
		has(t, m.awaitNth(2, "mesh-join", "confirmed"), "epoch=4")
	})
}

func TestTheRootAloneStaysInItsViewOfOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, rootEnv(), &root, true))
		<-time.After(time.Minute)
		row := a.status("/mesh")
		if len(row) != 3 {
			t.Fatalf("rows %v", row)
		}
		has(t, row[2], "fail_ms=12000", "lease_ms=6000", "fence=lease")
		has(t, row[0], "id="+root.id.String(), "role=authority", "mesh=joined", "epoch=1", "mutable=1")
		has(t, row[1], "id="+root.id.String(), "state=alive")
		for _, word := range []string{"removed", "suspect", "failed"} {
			if rows := a.rows("mesh-fail", word); len(rows) != 0 {
				t.Errorf("%q", rows)
			}
		}
		if rows := a.rows("mesh-join", "confirmed"); len(rows) != 0 {
			t.Errorf("%q", rows)
		}
	})
}
