package sim

import "holdfast/mesh"

// The faults of machines, and of their clocks and chips.

func (w *world) killMember() {
	if m := w.member(); m.on() && m != w.clone {
		m.kill()
		w.later(w.lasts(), func() { w.bootAgain(m) })
	}
}

func (w *world) bootAgain(m *machine) {
	if !m.on() {
		m.boot()
	}
}

func (w *world) killRoot() {
	if m := w.machines[0]; m.on() {
		m.kill()
		w.later(w.lasts()/2, func() { w.bootAgain(m) })
	}
}

func (w *world) chipRefuses() {
	c := &w.machines[0].chip
	w.say(w.machines[0], "has a chip that takes nothing")
	c.refuses = true
	w.later(w.lasts(), func() { c.refuses = false })
}

// tearChip damages one of the authority's slots while it is off, wipeChip both.
func (w *world) tearChip() {
	if m := w.machines[0]; !m.on() {
		m.chip.damage(w.random.below(2))
		w.say(m, "has a torn slot")
	}
}

func (w *world) wipeChip() {
	if m := w.machines[0]; !m.on() && w.random.one(4) {
		m.chip.wipe()
		w.say(m, "has a wiped chip")
	}
}

func (w *world) stopSome() {
	if m := w.any(); m.runs() {
		w.haltFor(m, stopped)
	}
}

// freezeSome stops a machine together with its counter. A member without a second clock cannot
// know of it: it is spared (rule L6).
func (w *world) freezeSome() {
	if m := w.any(); m.runs() && (w.plan.both || m.root()) {
		w.haltFor(m, frozen)
	}
}

func (w *world) haltFor(m *machine, how power) {
	d, boots := w.lasts(), m.boots
	w.touch(m)
	m.halt(how)
	w.later(d, func() {
		w.touch(m)
		if m.boots == boots && m.power == how {
			m.resume()
		}
	})
}

// interruptNext stops a machine between the two checks of its next commit.
func (w *world) interruptNext() {
	w.trap = w.any()
	w.trapHow = stopped
	if w.random.one(2) && (w.plan.both || w.trap.root()) {
		w.trapHow = frozen
	}
}

// interrupts reports whether the machine is stopped just before it reads the clocks again.
func (w *world) interrupts(m *machine) bool {
	if w.trap != m {
		return false
	}
	w.trap = nil
	w.haltFor(m, w.trapHow)
	return true
}

// clockBack sets a counter back, but not below zero, and clockForward sets it forward, by more than
// what a node takes for the slowness of its machine. The node notices at its next step, which comes
// at once: a clock that has gone back and forth between two steps is a slow one, and one that goes
// forward a little, again and again, is a fast one: both are excluded by rule L3. The authority's
// counter is not set forward: it takes a gap for time that has passed.
func (w *world) clockBack() {
	if m := w.any(); m.runs() {
		by := w.random.upTo(Time(m.clock.micros(w.now)))
		w.jump(m, -min(by, w.random.scale(Millisecond, 40*Second)))
	}
}

func (w *world) clockForward() {
	if m := w.member(); m.runs() {
		w.jump(m, w.random.scale(1100*Millisecond, 40*Second))
	}
}

func (w *world) jump(m *machine, by Time) {
	m.step(mesh.Tick{Second: m.calendar()})
	if !m.runs() {
		return
	}
	w.say(m, "has a counter that jumps by "+seconds(by))
	w.touch(m)
	m.clock.change(w.now, int64(by))
	w.judge.look(m)
	m.step(mesh.Tick{Second: m.calendar()})
}

func (w *world) blindSome() {
	m := w.any()
	w.say(m, "has a second clock that does not answer")
	m.blind = true
	w.touch(m)
	w.later(w.lasts(), func() {
		m.blind = false
		w.touch(m)
	})
}

// secondJumps sets a second clock. It is not set while the counter stands still: one clock fails at
// a time.
func (w *world) secondJumps() {
	if m := w.any(); m.runs() && !m.blind {
		by := int64(w.random.scale(3*Second, Hour))
		if w.random.one(2) {
			by = -min(by, m.second.micros(w.now))
		}
		w.say(m, "has a second clock that jumps by "+seconds(Time(by)))
		w.touch(m)
		m.second.change(w.now, by)
		m.step(mesh.Tick{Second: m.calendar()})
	}
}

// twin switches the copy of a member on, for a while.
func (w *world) twin() {
	if m := w.clone; !m.on() {
		m.boot()
		w.later(w.lasts(), func() {
			if m.on() {
				m.kill()
			}
		})
	}
}
