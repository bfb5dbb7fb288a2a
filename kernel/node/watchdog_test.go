package node

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/mesh"
	"holdfast/mesh/when"
)

// settled is after the tick that publishes the first lease, and between two feedings, which like
// everything else here happen at whole hundredths of a second.
const settled = time.Second + 5*time.Millisecond

func TestTheWatchdogIsArmedByRoleAndFedTwiceASecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		for _, test := range []struct {
			r    *running
			want time.Duration
		}{{a, 30 * time.Second}, {m, 3 * time.Second}} {
			if after := time.Duration(test.r.dog.after.Load()); after != test.want {
				t.Errorf("armed for %v, want %v", after, test.want)
			}
		}
		<-time.After(settled)
		before := m.dog.feeds.Load()
		<-time.After(10 * time.Second)
		if feeds := m.dog.feeds.Load() - before; feeds != 20 {
			t.Errorf("fed %d times in ten seconds", feeds)
		}
	})
}

func TestANodeWithoutAMeshHasNoWatchdog(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.boot(chip(t, without(rootEnv(), "mesh.peer"), &root, true))
		<-time.After(time.Minute)
		if r.dog.after.Load() != 0 || r.dog.feeds.Load() != 0 {
			t.Error("armed or fed")
		}
	})
}

// A partition is no reason for a reset: a member without a lease that says so is well.
func TestAMemberWithoutALeaseIsFed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		w.net.Cut(a.host, m.host)
		m.await("mesh-fail", "authority")
		<-time.After(settled)
		before := m.dog.feeds.Load()
		<-time.After(10 * time.Second)
		if feeds := m.dog.feeds.Load() - before; feeds != 20 {
			t.Errorf("fed %d times in ten seconds", feeds)
		}
	})
}

// stuck is an event that the loop does not get over.
type stuck struct{ release chan struct{} }

func (e stuck) handle(*loop) { <-e.release }

// A loop that gets over it in time is fed again; one that was stuck for longer than the watchdog
// waits is not, even if it moves again a moment before the bite.
func TestAStuckLoopIsNotFed(t *testing.T) {
	for _, c := range []struct {
		stuck time.Duration
		again bool
	}{{watchdogMember - time.Second, true}, {watchdogMember + time.Second, false}} {
		inWorld(t, func(t *testing.T, w *world) {
			_, m := w.pair()
			release := make(chan struct{})
			m.node.loop.post(t.Context(), stuck{release})
			<-time.After(2 * feedEvery) // what had been asked before has been answered
			before := m.dog.feeds.Load()
			<-time.After(c.stuck - 2*feedEvery)
			if feeds := m.dog.feeds.Load() - before; feeds != 0 {
				t.Errorf("fed %d times while the loop was stuck", feeds)
			}
			close(release)
			<-time.After(10 * time.Second)
			if feeds := m.dog.feeds.Load() - before; (feeds >= 18) != c.again || !c.again && feeds != 0 {
				t.Errorf("stuck for %v: fed %d times in ten seconds behind it", c.stuck, feeds)
			}
		})
	}
}

func TestALoopIsWellWhenItTicksAndSaysWhatIsSo(t *testing.T) {
	for _, test := range []struct {
		name                string
		every               when.Span // of the ticks
		may, published, fed bool
	}{
		{"without a right to commit", 250, false, false, true},
		{"with it", 250, true, true, true},
		{"publishes one that it has not", 250, false, true, false},
		{"publishes none and has one", 250, true, false, false},
		{"has not ticked for a second", 1500, true, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newLoopWorld()
				w.core.due, w.every = when.Never, test.every
				w.core.effect = func(in mesh.Input) []mesh.Effect { return nil }
				w.start(t)
				<-time.After(1100 * time.Millisecond)
				synctest.Wait()
				w.core.mutable = test.may
				w.stats.mutable.Store(test.published)
				if got := w.well(t.Context()); got != test.fed {
					t.Errorf("well: %v", got)
				}
			})
		})
	}
}
