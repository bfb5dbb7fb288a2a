package node

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/link"
	"holdfast/mesh"
	"holdfast/mesh/when"
)

// The machine is stopped for so long that its lease is over, and not so long that it is removed.
const stopped = 8 * time.Second

// freeze stops a machine as its monitor does: the counter stands still, and nothing comes in.
func (r *running) freeze(d time.Duration, from ...*running) {
	resume := r.counter.stop()
	for _, other := range from {
		r.w.net.Cut(r.host, other.host)
	}
	<-time.After(d)
	resume()
}

// TestAMachineThatWasStoppedCommitsNothingOnWaking has the rig write through the member in the very
// instant in which it wakes up. Only the second clock tells it that its lease is over.
func TestAMachineThatWasStoppedCommitsNothingOnWaking(t *testing.T) {
	for _, second := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			a := w.boot(chip(t, rootEnv(), &root, true))
			machine := &testMachine{chip: chip(t, memberEnv(), &member, true)}
			if second {
				machine.second = new(secondClock)
			}
			m := w.start(machine)
			a.await("mesh-join", "confirmed")
			m.await("mesh-join", "confirmed")
			m.awaitLease()
			object := homedAt(t, member)
			put := func() reply {
				return m.object("PUT", object, "v", authorization(token(object, member, 2), root.key),
					"Durability: local")
			}
			put().says(t, 200, "mesh-route: result")

			m.freeze(stopped, a)
			if !second { // which shows that the test would find a commit
				put().says(t, 200, "mesh-route: result")
				return
			}
			put().says(t, 503, "not-current: ")
			has(t, m.await("mesh-fail", "paused"), "kind=rtc")
			put().says(t, 503, "not-current: ")

			w.net.Heal(m.host, a.host)
			<-time.After(10 * time.Second) // until it has shown that it hears, and has a lease again
			put().says(t, 200, "mesh-route: result")
			if rows := a.rows("mesh-fail", "removed"); len(rows) != 0 {
				t.Errorf("removed: %v", rows)
			}
		})
	}
}

func TestAnAuthorityThatWasStoppedSaysSo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		a.freeze(stopped, m)
		w.net.Heal(a.host, m.host)
		has(t, a.await("mesh-fail", "paused"), "kind=rtc")
		<-time.After(time.Minute)
		if rows := a.rows("mesh-fail", "removed"); len(rows) != 0 {
			t.Errorf("it blames the member for the time: %v", rows)
		}
	})
}

func TestWithoutAReadingOfTheSecondClockNothingIsCommitted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, m := w.pair()
		object := homedAt(t, member)
		put := func() reply {
			return m.object("PUT", object, "v", authorization(token(object, member, 2), root.key),
				"Durability: local")
		}
		put().says(t, 200, "mesh-route: result")
		m.second.dead.Store(true)
		put().says(t, 503, "not-current: ")
		<-time.After(time.Minute)
		put().says(t, 503, "not-current: ")
		if unread := m.figure("second_clock_unread"); unread == "0" {
			t.Error("no reading that failed was counted")
		}
		m.second.dead.Store(false)
		<-time.After(3 * time.Second)
		put().says(t, 200, "mesh-route: result")
		if rows := m.rows("mesh-fail", "paused"); len(rows) != 0 {
			t.Errorf("a clock that does not answer is no pause: %v", rows)
		}
	})
}

// figure is a line of GET /mesh/stats.
func (r *running) figure(name string) string {
	r.w.t.Helper()
	for _, line := range r.get("/mesh/stats") {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	r.w.t.Fatalf("no figure %s", name)
	return ""
}

func TestANodeWithoutASecondClockRunsAndSaysSo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.start(&testMachine{chip: chip(t, rootEnv(), &root, true)})
		synctest.Wait()
		has(t, m.status("/mesh")[0], "mutable=1")
		const want = "node: clock: no second one: "
		if text := strings.Join(m.console.lines(), "\n"); !strings.Contains(text, want) {
			t.Errorf("it says\n%s", text)
		}
	})
}

// The second clock costs the loop a millisecond a reading.
func TestTheSecondClockIsReadForTicksAndCommitsOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, m := w.pair()
		before := m.second.reads.Load()
		<-time.After(time.Minute)
		idle := m.second.reads.Load() - before
		if perSecond := float64(idle) / 60; perSecond < 3.9 || perSecond > 6 {
			t.Errorf("%v readings a second, at rest", perSecond)
		}
		object := homedAt(t, member)
		auth := authorization(token(object, member, 2), root.key)
		before = m.second.reads.Load()
		const commits = 10
		for range commits {
			m.object("PUT", object, "v", auth, "Durability: local").says(t, 200, "mesh-route: result")
		}
		if reads := m.second.reads.Load() - before; reads < commits || reads > commits+6 {
			t.Errorf("%d readings for %d commits", reads, commits)
		}
	})
}

// A lease that is asked for without a reading is none.
func TestTheSecondClockIsReadBeforeAnythingIsAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.boot(chip(t, memberEnv("mesh.time=1000,6000,12000,800"), &member, true))
		synctest.Wait()
		// For the seed, and for the first tick.
		if reads := r.second.reads.Load(); reads != 2 {
			t.Errorf("read %d times at boot", reads)
		}
		if r.node.loop.every != 100 {
			t.Errorf("ticks every %d ms, want an eighth of the lease", r.node.loop.every)
		}
	})
}

// A busy loop tells the protocol the time with every event, and still has to tick: the second clock
// is read by nothing else.
func TestEventsDoNotPutTheTicksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		w.core.effect = func(mesh.Input) []mesh.Effect {
			w.core.due = w.clock().Add(250)
			return nil
		}
		w.start(t)
		for range 100 {
			w.deliver(link.Drained{Session: 1})
			<-time.After(10 * time.Millisecond)
		}
		synctest.Wait()
		if ticks := w.stats.ticks.Load(); ticks != 4 {
			t.Errorf("%d ticks in a second", ticks)
		}
	})
}

func TestTicksAndRechecksCarryAFreshReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		second := when.Calendar(100)
		w.loop.second = func() (when.Calendar, bool) {
			second++
			return second, second != 102
		}
		var got []when.Calendar
		w.core.effect = func(in mesh.Input) []mesh.Effect {
			switch in := in.(type) {
			case mesh.Tick:
				got = append(got, in.Second)
				return []mesh.Effect{mesh.Recheck{Ticket: 1}}
			case mesh.Rechecked:
				got = append(got, in.Second)
			}
			return nil
		}
		w.start(t)
		<-time.After(600 * time.Millisecond)
		synctest.Wait()
		want := []when.Calendar{101, when.NoSecond, 103, 104}
		if len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] ||
			got[3] != want[3] {
			t.Errorf("readings %v, want %v", got, want)
		}
	})
}
