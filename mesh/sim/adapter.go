package sim

import (
	"slices"

	"holdfast/mesh"
	"holdfast/mesh/when"
)

// What a node's adapter does: it hands in what happens, and carries out what the node asks for.

// step hands one input to the node and carries out the effects.
func (m *machine) step(in mesh.Input) {
	if m.power != running {
		panic("sim: a step of a machine that does not run")
	}
	effects := m.take()
	m.node.Step(m.counter(), in, effects)
	m.w.events++
	m.w.judge.stepped(m, in, effects.List)
	m.depth++
	m.carry(effects)
	m.depth--
	if m.depth == 0 && m.power == running {
		m.w.judge.owes(m)
		m.tickDue()
	}
}

// take and give keep the lists of effects: a step can happen while another's are carried out.
func (m *machine) take() *mesh.Effects {
	if n := len(m.free); n > 0 {
		e := &mesh.Effects{List: m.free[n-1]}
		m.free = m.free[:n-1]
		return e
	}
	return &mesh.Effects{}
}

func (m *machine) give(e *mesh.Effects) {
	clear(e.List)
	m.free = append(m.free, e.List[:0])
}

// carry carries effects out in order.
func (m *machine) carry(effects *mesh.Effects) {
	w := m.w
	for i, e := range effects.List {
		if m.power != running { // it was stopped between two of them
			m.rest = append(m.rest, slices.Clone(effects.List[i:]))
			break
		}
		switch e := e.(type) {
		case mesh.Send:
			w.network.send(m, e)
		case mesh.Print:
			w.print(m, e.Line)
		case mesh.Recheck:
			m.recheck(e.Ticket)
		case mesh.Persist:
			m.chip.write(w, e.Marks)
		case mesh.Drain:
			w.network.drain(m, e.Session)
		case mesh.Answer:
			w.answered(m, e)
		case mesh.Close:
			w.network.hangUp(m, e.Session, e.Reason)
		case mesh.Dial:
			m.dialAt(w.now)
		}
	}
	m.give(effects)
}

// recheck reads the clocks again, unless the machine is stopped just then.
func (m *machine) recheck(ticket mesh.Ticket) {
	w := m.w
	if w.interrupts(m) {
		m.staged = ticket
		return
	}
	m.step(mesh.Rechecked{Ticket: ticket, Second: m.calendar()})
}

// waiting is an operation that has been asked for at a node.
type waiting struct {
	ticket mesh.Ticket
	since  when.Instant // by the node's own time
	client *client      // nil for a lab step
}

// ask hands an operation to the node that will answer it under the ticket.
func (m *machine) ask(ticket mesh.Ticket, c *client, in mesh.Input) {
	m.waiting = append(m.waiting, waiting{ticket, m.own(), c})
	m.step(in)
}

// answered takes an answer out of those that are waited for.
func (m *machine) answered(t mesh.Ticket) (waiting, bool) {
	i := slices.IndexFunc(m.waiting, func(w waiting) bool { return w.ticket == t })
	if i < 0 {
		return waiting{}, false
	}
	found := m.waiting[i]
	m.waiting = slices.Delete(m.waiting, i, i+1)
	return found, true
}
