package sim

import "holdfast/mesh"

// chip is the authority's NVRAM, as far as the marks go (spec/protocol.md, "NVRAM marks"): two
// slots, written one after the other. Without power in the middle of it the slot that is being
// written is worth nothing afterwards.
type chip struct {
	slots   [2]slot
	refuses bool // takes nothing
	at      Time // when the slot that is being written is done, never for none
	writing int  // which slot
	marks   mesh.Marks
	failed  bool // what is under way will fail
}

type slot struct {
	whole bool
	marks mesh.Marks
}

// newChip is a provisioned one: its authority has never run.
func newChip() chip {
	s := slot{true, mesh.Marks{NeverRan: true}}
	return chip{slots: [2]slot{s, s}, at: never}
}

// load is what a booting authority reads: each mark is the highest of the whole slots.
func (c *chip) load() mesh.Marks {
	c.at = never
	m := mesh.Marks{NeverRan: true, Lost: true}
	for _, s := range c.slots {
		if !s.whole {
			m.NeverRan = false
			continue
		}
		m.Lost = false
		m.Signed, m.Activated = max(m.Signed, s.marks.Signed), max(m.Activated, s.marks.Activated)
		m.NeverRan = m.NeverRan && s.marks.NeverRan
		m.MayEmpty = m.MayEmpty || s.marks.MayEmpty
	}
	return m
}

// write begins to make marks durable.
func (c *chip) write(w *world, m mesh.Marks) {
	if c.at != never {
		w.judge.wrong(w.machines[0], "writes its marks twice at a time")
		return
	}
	c.marks, c.writing, c.failed = m, 0, c.refuses
	c.at = w.now + w.plan.chip
}

// goOn finishes one slot; with the second one the answer is due.
func (c *chip) goOn(w *world) {
	in, done := mesh.Persisted{}, false
	have := c.load() // also sets at to never
	switch {
	case c.failed:
		in.Err, done = mesh.PersistFailed, true
	case have.Signed > c.marks.Signed || have.Activated > c.marks.Activated:
		in.Err, done = mesh.PersistHigher, true
	default:
		c.slots[c.writing] = slot{true, c.marks}
		c.writing++
		if done = c.writing == len(c.slots); done {
			w.machines[0].config.Epoch = 1 // the operator's has done its work
		}
	}
	if !done {
		c.at = w.now + w.plan.chip
		return
	}
	w.machines[0].step(in)
}

// tear is what the loss of power does: half of the time, the slot is in the middle of it.
func (c *chip) tear(w *world) {
	if c.at != never && !c.failed && w.random.one(2) {
		c.slots[c.writing].whole = false
	}
	c.at = never
}

// wipe is what an eraser does.
func (c *chip) wipe() { c.slots = [2]slot{} }

// damage ruins one slot while the machine is off.
func (c *chip) damage(i int) { c.slots[i].whole = false }

// lost reports whether the authority could read nothing of it.
func (c *chip) lost() bool { return !c.slots[0].whole && !c.slots[1].whole }

// mayEmpty says on a chip that can be read that the authority may start although nobody proves a
// state.
func (c *chip) mayEmpty() {
	for i := range c.slots {
		c.slots[i].marks.MayEmpty = true
	}
}
