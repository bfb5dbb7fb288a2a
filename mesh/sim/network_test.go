package sim

import (
	"testing"

	"holdfast/mesh"
)

// joined is a world of two nodes without faults, after a while.
func joined(t *testing.T) *world {
	t.Helper()
	w := &world{}
	for seed := uint64(1); ; seed++ {
		if w = newWorld(seed, draw); w.plan.members == 1 && w.clone == nil && w.plan.marks {
			break
		}
	}
	w.plan.weights, w.plan.faults, w.clients = 0, nil, nil
	w.machines[0].boot()
	w.machines[1].boot()
	if !w.run(10*Second, w.whole) {
		t.Fatal(w.broken())
	}
	return w
}

// only is the one session of such a world.
func only(t *testing.T, w *world) *link {
	t.Helper()
	if len(w.network.links) != 1 {
		t.Fatalf("%d sessions, want one", len(w.network.links))
	}
	return w.network.links[0]
}

func TestACutHoldsWhatIsSentAndLosesNothing(t *testing.T) {
	w := joined(t)
	l, m := only(t, w), w.machines[1]
	w.cutFor(m, 5*Second)
	w.run(w.now+4*Second, nil)
	held := len(l.ends[1].queue)
	if held == 0 {
		t.Fatal("the member has sent nothing for four seconds")
	}
	for i := 1; i < held; i++ {
		if l.ends[1].queue[i].at < l.ends[1].queue[i-1].at {
			t.Fatalf("frame %d overtakes another", i)
		}
	}
	w.run(w.now+3*Second, nil)
	if len(w.network.links) != 1 || len(l.ends[1].queue) > 1 {
		t.Errorf("%d sessions, %d frames held after the cut", len(w.network.links),
			len(l.ends[1].queue))
	}
	if w.machines[0].look.Epoch() != 2 {
		t.Errorf("a cut of five seconds has led to epoch %d", w.machines[0].look.Epoch())
	}
}

func TestASessionOfADeadMachineIsHalfOpenUntilItIsBack(t *testing.T) {
	w := joined(t)
	l, m := only(t, w), w.machines[1]
	m.kill()
	w.run(w.now+8*Second, nil)
	if e := &l.ends[1]; !e.open || !e.gone || e.retry == never {
		t.Fatalf("the authority's end: %+v; it has sent a ping into nothing", e)
	}
	m.boot()
	w.run(w.now+2*Second, nil)
	if l.ends[1].open {
		t.Error("a machine that is back does not reset the session of its former boot")
	}
	if !w.run(w.now+30*Second, w.whole) {
		t.Error(w.broken())
	}
}

func TestAThirdSessionReplacesTheOldest(t *testing.T) {
	w := joined(t)
	first, m := only(t, w), w.machines[1]
	for range 2 {
		m.dialAt(w.now)
		w.run(w.now+Second, nil)
	}
	if len(w.network.links) != perPeer || first.ends[0].open || first.ends[1].open {
		t.Errorf("%d sessions, want %d without the first one", len(w.network.links), perPeer)
	}
}

// TestABarrierWaitsForWhatHasArrived and for nothing else (rule L12).
func TestABarrierWaitsForWhatHasArrived(t *testing.T) {
	w := joined(t)
	l := only(t, w)
	e := &l.ends[1]
	e.queue = []packet{{at: w.now - 2}, {at: w.now}, {at: w.now + 1}}
	w.network.drain(w.machines[0], l.id)
	if e.queue[2].news != barrier || len(e.queue) != 4 {
		t.Errorf("the barrier is not behind the two frames that have arrived: %+v", e.queue)
	}
	e.queue = []packet{{at: w.now - 2}}
	e.lane.cut = true
	w.network.drain(w.machines[0], l.id)
	if e.queue[0].news != barrier || e.due() == never {
		t.Errorf("what a cut holds has not arrived: %+v", e.queue)
	}
}

func TestAMachineThatIsStoppedTakesNothing(t *testing.T) {
	w := joined(t)
	m := w.machines[1]
	m.halt(stopped)
	before := m.look.Now()
	w.run(w.now+3*Second, nil)
	if m.look.Now() != before {
		t.Error("a stopped machine has made a step")
	}
	m.resume()
	w.run(w.now+Second, nil)
	if m.look.Now().Sub(before) < 3000 {
		t.Error("its counter has stood still")
	}
	m.halt(frozen)
	counter := m.counter()
	w.run(w.now+3*Second, nil)
	if m.counter() != counter {
		t.Error("the counter of a frozen machine goes on")
	}
}

func TestWhatAStoppedMachineHadToDoIsDoneLater(t *testing.T) {
	w := joined(t)
	m := w.machines[1]
	m.power = stopped
	w.machines[1].carry(&mesh.Effects{List: []mesh.Effect{mesh.Dial{}}})
	if m.dial.at != never || len(m.rest) != 1 {
		t.Fatal("a machine that does not run has dialled")
	}
	m.resume()
	if m.dial.at == never || len(m.rest) != 0 {
		t.Error("it has forgotten to dial")
	}
}
