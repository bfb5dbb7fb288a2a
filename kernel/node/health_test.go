package node

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/timing"
)

// peerRow is the peer's row of GET /mesh/health.
func (r *running) peerRow() evidence.Line {
	r.w.t.Helper()
	for _, l := range r.status("/mesh/health") {
		if strings.HasPrefix(l.String(), "peer ") {
			return l
		}
	}
	r.w.t.Fatal("nothing was heard of any peer")
	return evidence.Line{}
}

func TestHealthTellsOfGapsAndTicks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		m.awaitLease()
		<-time.After(time.Minute)
		for r, peer := range map[*running]identity{a: member, m: root} {
			row := r.peerRow()
			has(t, row, "id="+peer.id.String(), "worst_ms=2000")
			if n, _ := row.GetUint("n"); n < 30 {
				t.Errorf("%d gaps in a minute of a question every two seconds: %q", n, row)
			}
			has(t, r.status("/mesh/health")[0], "worst_ms=0")
		}
	})
}

// What phi says of a member must never move the epoch (the verdict is the ADR's): a cut of ten
// seconds is astonishing under both models, and no conviction.
func TestPhiNeverMovesTheEpoch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		m.awaitLease()
		<-time.After(time.Minute) // the models have learnt how regular the member is
		for {
			if age, _ := a.peerRow().GetSpan("silent_ms"); age == 0 {
				break
			}
			<-time.After(time.Millisecond)
		}
		heard := time.Now()
		w.net.Cut(a.host, m.host)
		<-time.After(time.Until(heard.Add((timing.FailMS - 100) * time.Millisecond)))
		row := a.peerRow()
		if phi, _ := row.GetUint("phi_normal_milli"); phi < 8_000 {
			t.Fatalf("the test shows nothing: phi is below 8 in %q", row)
		}
		if rows := a.rows("mesh-fail", "failed"); len(rows) != 0 {
			t.Errorf("convicted before its time: %q", rows)
		}
		has(t, a.status("/mesh")[0], "epoch=2")
		w.net.Heal(a.host, m.host)
		a.await("mesh-fail", "recovered")
		<-time.After(time.Minute)
		has(t, a.status("/mesh")[0], "epoch=2", "mutable=1")
		if rows := a.rows("mesh-fail", "removed"); len(rows) != 0 {
			t.Errorf("removed: %q", rows)
		}
	})
}

// The protocol cannot ask what it does not know of.
func TestTheProtocolDoesNotKnowOfPhi(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "holdfast/mesh").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, advice := range []string{"holdfast/mesh/detect/phi", "holdfast/mesh/detect/policy",
		"holdfast/kernel/node/health"} {
		if slices.Contains(strings.Fields(string(out)), advice) {
			t.Errorf("package mesh depends on %s", advice)
		}
	}
}
