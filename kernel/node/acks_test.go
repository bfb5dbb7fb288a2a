package node

import (
	"slices"
	"testing"
	"time"

	"holdfast/mesh/when"
)

// acksEnv is an environment without leases, in which a node that is gone is found within a second.
func acksEnv(env []string) []string {
	env = slices.DeleteFunc(env, func(s string) bool { return s == "mesh.lab=1" })
	return append(env, "mesh.acks=all", "mesh.time=300,600,1000,600")
}

// secondPair is a pair of such nodes, working.
func (w *world) secondPair() (a, m *running) {
	w.t.Helper()
	a = w.boot(chip(w.t, acksEnv(rootEnv()), &root, true))
	m = w.boot(chip(w.t, acksEnv(memberEnv()), &member, true))
	a.await("mesh-join", "confirmed")
	m.await("mesh-join", "confirmed")
	m.awaitLease()
	return a, m
}

func TestWithoutLeasesOnlyWhatIsAcknowledgedIsAnswered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.secondPair()
		for _, n := range []struct {
			*running
			identity
		}{{a, root}, {m, member}} {
			for _, at := range []identity{root, member} {
				name := namedFor(at, "acks-")
				auth := authorization(token(name, n.identity, 2), root.key)
				n.object("PUT", name, "v", auth).says(t, 200, "mesh-route: result",
					"Durability: replicated", "Copies: 2", "Home: "+at.id.String())
				const why = "disabled: with mesh.acks=all no commit is local and no read is "
				n.object("PUT", name, "v", auth, "Durability: local").says(t, 503, why)
				n.object("GET", name, "", auth).says(t, 503, why)
				n.object("GET", name, "", auth, "Class: lease").says(t, 200, "v")
			}
			for _, page := range []string{"/mesh", "/mesh/health"} {
				rows := n.status(page)
				has(t, rows[len(rows)-1], "heartbeat_ms=300", "suspect_ms=600", "fail_ms=1000",
					"lease_ms=600", "fence=acks")
			}
		}
		name := namedFor(member, "acks-")
		auth := authorization(token(name, root, 2), root.key)
		<-time.After(2 * time.Second) // the member says once a second what it has answered for
		a.object("GET", name, "", auth, "Class: stale-ok").says(t, 200, "v", "Age-Ms: 0")
	})
}

func TestWithoutLeasesAMemberThatIsCutOffIsRemovedWithinASecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.secondPair()
		w.net.Cut(a.host, m.host)
		cut := a.counter.now()
		removed, _ := a.await("mesh-fail", "removed").Time()
		if late := removed.Sub(cut); late > 1_000+when.Second/2 {
			t.Errorf("removed %d ms after the cut", late)
		}
		m.await("mesh-fail", "authority")
		name := namedFor(member, "acks-")
		m.object("PUT", name, "v", authorization(token(name, member, 2), root.key)).
			says(t, 503, "no-authority")
		a.object("PUT", name, "w", authorization(token(name, root, 3), root.key)).
			says(t, 200, "mesh-route: result", "Copies: 1")
		w.net.Heal(a.host, m.host)
		has(t, m.awaitNth(2, "mesh-join", "confirmed"), "epoch=4")
	})
}

func TestANodeWithLeasesDoesNotJoinThoseWithout(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, acksEnv(rootEnv()), &root, true))
		m := w.boot(chip(t, memberEnv(), &member, true))
		has(t, a.await("mesh-join", "refused"), "reason=timing", "node="+member.id.String())
		has(t, m.await("mesh-join", "refused"), "reason=timing")
	})
}
