package node

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/kernel/node/link"
	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

// fakeCore records its steps and answers with scripted effects.
type fakeCore struct {
	steps  []string
	at     []when.Instant
	due    when.Instant
	effect func(in mesh.Input) []mesh.Effect

	mutable bool // in its Status
}

func (c *fakeCore) Step(now when.Instant, in mesh.Input, out *mesh.Effects) {
	c.steps = append(c.steps, fmt.Sprintf("%T", in))
	c.at = append(c.at, now)
	out.List = out.List[:0]
	if _, ok := in.(mesh.Tick); ok {
		c.due = now.Add(250)
	}
	if c.effect != nil {
		out.List = append(out.List, c.effect(in)...)
	}
}

func (c *fakeCore) Status(when.Instant) mesh.Status {
	return mesh.Status{Mutable: c.mutable}
}

func (c *fakeCore) Deadline() when.Instant                  { return c.due }
func (c *fakeCore) Homes(when.Instant) []mesh.HomeStatus    { return nil }
func (c *fakeCore) Leaves(when.Instant, id.Object) bool     { return false }
func (c *fakeCore) AuthorityRow(when.Instant) evidence.Line { return evidence.Line{} }
func (c *fakeCore) CountersRow(when.Instant) evidence.Line  { return evidence.Line{} }

// fakeLinks records what it is asked for.
type fakeLinks struct{ asked []string }

func (f *fakeLinks) note(format string, args ...any) {
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}
func (f *fakeLinks) Send(s link.Session, control bool, data []byte) {
	f.note("send %d %v %s", s, control, data)
}
func (f *fakeLinks) Close(s link.Session, why link.Reason) { f.note("close %d %s", s, why) }
func (f *fakeLinks) Drain(s link.Session)                  { f.note("drain %d", s) }
func (f *fakeLinks) Redial()                               { f.note("redial") }

// loopWorld is a loop around a fake core, on virtual time.
type loopWorld struct {
	*loop
	core    *fakeCore
	links   *fakeLinks
	console *console
	skip    time.Duration // what the raw counter is ahead
}

func newLoopWorld() *loopWorld {
	w := &loopWorld{core: &fakeCore{due: 250}, links: &fakeLinks{}, console: new(console)}
	boot := time.Now()
	w.loop = newLoop(Machine{
		Clock: func() when.Instant {
			return when.Instant((time.Since(boot) + w.skip).Milliseconds())
		},
		Waits: clock.System,
	}, newLog(w.console))
	w.loop.core, w.loop.links = w.core, w.links
	return w
}

// start runs the loop until the test ends.
func (w *loopWorld) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { w.run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

func TestEffectsAreCarriedOutInOrderAndARecheckComesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		w.core.effect = func(in mesh.Input) []mesh.Effect {
			switch in := in.(type) {
			case mesh.LinkUp:
				return []mesh.Effect{
					mesh.Send{Session: 1, Control: true, Data: []byte("a")},
					mesh.Recheck{Ticket: 7},
					mesh.Drain{Session: 1}, mesh.Dial{}, mesh.Close{Session: 2, Reason: "replaced"},
				}
			case mesh.Rechecked:
				return []mesh.Effect{mesh.Send{Session: mesh.Session(in.Ticket), Data: []byte("b")}}
			}
			return nil
		}
		w.deliver(link.Up{Session: 1}) // both wait in the queue when the loop starts
		w.deliver(link.Down{Session: 3})
		w.start(t)
		synctest.Wait()
		wantSteps := []string{"mesh.LinkUp", "mesh.Rechecked", "mesh.LinkDown"}
		if !slices.Equal(w.core.steps, wantSteps) {
			t.Errorf("steps %q", w.core.steps)
		}
		wantAsked := []string{"send 1 true a", "drain 1", "redial", "close 2 replaced", "send 7 false b"}
		if !slices.Equal(w.links.asked, wantAsked) {
			t.Errorf("asked %q", w.links.asked)
		}
	})
}

func TestTheLoopTicksAtTheDeadlineAndCountsWhenItIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		w.start(t)
		<-time.After(1100 * time.Millisecond)
		synctest.Wait()
		if want := []when.Instant{250, 500, 750, 1000}; !slices.Equal(w.core.at, want) {
			t.Errorf("ticks at %v", w.core.at)
		}
		if w.stats.lateMax.Load() != 0 || w.stats.lateTick.Load() != 0 {
			t.Error("nothing was late")
		}
	})
}

func TestTimeComesBeforeAnEventThatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		w.skip = time.Second // the machine stood still, and woke up with an event waiting
		w.deliver(link.Drained{Session: 1})
		w.start(t)
		synctest.Wait()
		if want := []string{"mesh.Tick", "mesh.Drained"}; !slices.Equal(w.core.steps, want) {
			t.Errorf("steps %q", w.core.steps)
		}
		if w.stats.lateMax.Load() != 750 || w.stats.lateTick.Load() != 1 {
			t.Errorf("late by %d ms, %d times", w.stats.lateMax.Load(), w.stats.lateTick.Load())
		}
	})
}

func TestWhatArrivesOnAClosedSessionIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		w.core.effect = func(in mesh.Input) []mesh.Effect {
			if f, ok := in.(mesh.Frame); ok && f.Session == 1 {
				return []mesh.Effect{mesh.Close{Session: 1, Reason: "malformed"}}
			}
			return nil
		}
		for _, e := range []link.Event{
			link.Arrived{Session: 1}, link.Arrived{Session: 1}, link.Arrived{Session: 2},
			link.Down{Session: 1, Reason: link.Malformed},
		} {
			w.deliver(e)
		}
		w.start(t)
		synctest.Wait()
		want := []string{"mesh.Frame", "mesh.Frame", "mesh.LinkDown"}
		if !slices.Equal(w.core.steps, want) {
			t.Errorf("steps %q", w.core.steps)
		}
		if len(w.closing) != 0 {
			t.Error("a session that is over is still kept in mind")
		}
	})
}

func TestQuestionsAreBoundedAndMayBeAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		w.core.effect = func(in mesh.Input) []mesh.Effect {
			switch in := in.(type) {
			case mesh.LinkDown: // the answer to the first step, far too late
				return []mesh.Effect{mesh.Answer{Ticket: 1, Status: mesh.WrongOrder}}
			case mesh.LabStep:
				if in.Number == 2 {
					return []mesh.Effect{mesh.Answer{Ticket: in.Ticket, Status: mesh.WrongRole}}
				}
			}
			return nil
		}
		w.start(t)
		n := &Node{loop: w.loop}
		var group sync.WaitGroup
		for range askedMax {
			group.Go(func() {
				if a := n.labStep(t.Context(), 1, nil); a.Status != http.StatusGatewayTimeout {
					t.Errorf("%+v", a)
				}
			})
		}
		synctest.Wait()
		if a := n.labStep(t.Context(), 2, nil); a.Status != http.StatusServiceUnavailable {
			t.Errorf("one more: %+v", a)
		}
		group.Wait() // nobody answered in time
		w.deliver(link.Down{})
		synctest.Wait()
		if a := n.labStep(t.Context(), 2, nil); a.Status != http.StatusConflict {
			t.Errorf("after one has made room: %+v", a)
		}
	})
}

func TestAQuestionThatTheNodesEndOvertakesHasAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { w.run(ctx) })
		n := &Node{loop: w.loop}
		group.Go(func() { // begun, so that nobody knows how it ends
			if a := n.labStep(t.Context(), 1, nil); !strings.HasPrefix(a.Body, "unknown-outcome: ") {
				t.Errorf("%+v", a)
			}
		})
		synctest.Wait()
		began := time.Now()
		cancel()
		group.Wait()
		for range eventQueue + 1 { // the queue may take some, and nobody takes them out of it
			a := n.labStep(t.Context(), 1, nil)
			if !strings.HasPrefix(a.Body, "unknown-outcome: ") &&
				!strings.HasPrefix(a.Body, "not-ready: ") {
				t.Errorf("%+v", a)
			}
		}
		if time.Since(began) != 0 {
			t.Errorf("answered after %v", time.Since(began))
		}
	})
}

func TestAQuestionThatDoesNotFitIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld() // nobody runs it
		for range eventQueue {
			w.deliver(link.Drained{})
		}
		n := &Node{loop: w.loop}
		if a := n.labStep(t.Context(), 1, nil); !strings.HasPrefix(a.Body, "not-ready: ") {
			t.Errorf("%+v", a)
		}
	})
}

func TestEveryAnswerOfAStepHasItsStatus(t *testing.T) {
	for status, want := range map[mesh.AnswerStatus]int{
		mesh.Done: 200, mesh.LabOff: 403, mesh.UnknownStep: 404, mesh.WrongRole: 409,
		mesh.WrongOrder: 409,
	} {
		if got := stepAnswer(mesh.Answer{Status: status}).Status; got != want {
			t.Errorf("status %d is HTTP %d, want %d", status, got, want)
		}
	}
}

func TestALoopThatStandsStillDoesNotHoldARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{loop: newLoopWorld().loop} // nobody runs it
		began := time.Now()
		for name, page := range map[string]func(context.Context) web.Answer{
			"mesh": n.meshPage, "homes": n.homesPage, "route": n.routePage,
		} {
			if a := page(t.Context()); a.Status != http.StatusServiceUnavailable {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if took := time.Since(began); took != 3*web.AnswerTime {
			t.Errorf("three requests took %v", took)
		}
	})
}
