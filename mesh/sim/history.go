package sim

import (
	"encoding/binary"

	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// Act is what came of one request in the history of a world of failovers: of a replicated commit or
// of an authoritative read, with all its tries. Reads without an answer are left out, and so are
// commits that were refused: a read of their value is of one that nobody committed.
type Act struct {
	Object string
	Era    int64 // how often the operator had let the authority start with nothing
	Client int   // who asked
	Commit bool  // else a read
	Vague  bool  // a commit without an answer: the version was found in a record, if it was made
	Alone  bool  // a commit that nobody else held when it was made: it may be lost with its home
	Call   Time  // when it was sent first
	Return Time  // when it was answered; of a vague commit, the end of the world

	// What a commit made or a read found. A version above 0 has the value of that request of that
	// client.
	Version uint64
	Writer  int
	Seq     uint64
}

// Outcomes counts what came of requests for replicated commits.
type Outcomes struct{ Acknowledged, Unknown, Refused int64 }

// judged reports whether a client's request belongs into the history: all that is asked of its
// object is replicated commits and authoritative reads.
func (c *client) judged() bool { return c.w.plan.failover && c.object%2 == 0 }

// answered notes the end of a client's request: its answer, nil when it was given up.
func (j *judge) answered(c *client, r *wire.RouteRep) {
	ok := r != nil && r.Word == refusal.OK
	commit := c.q.Op == wire.Commit
	switch {
	case !commit || c.q.Durability != wire.Replicated:
	case ok:
		j.outcomes.Acknowledged++
	case c.vague:
		j.outcomes.Unknown++
	default:
		j.outcomes.Refused++
	}
	if !c.judged() || !ok && !(commit && c.vague) {
		return
	}
	if ok && c.emptied != j.emptied {
		return // of before the authority started with nothing, or of after
	}
	a := Act{Object: objectNames[c.object], Era: c.emptied, Client: c.index, Commit: commit,
		Vague: !ok, Call: c.asked, Return: j.w.now, Writer: c.index, Seq: uint64(len(c.done) - 1)}
	if ok {
		a.Version, a.Alone = r.Version, commit && r.Durability != wire.Replicated
	}
	if !commit && r.Version > 0 {
		if len(r.Value) != valueSize {
			j.wrong(c.node, "answers a read of "+a.Object+" with what nobody committed")
			return
		}
		a.Writer = int(binary.BigEndian.Uint16(r.Value))
		a.Seq = binary.BigEndian.Uint64(r.Value[2:])
	}
	j.acts = append(j.acts, a)
}

// history is the world's, when it is over.
func (w *world) history() []Act {
	for _, c := range w.clients {
		if c.busy && c.tries > 0 {
			c.vague = true
			w.judge.answered(c, nil)
		}
	}
	acts := w.judge.acts[:0]
	for _, a := range w.judge.acts {
		if a.Vague {
			c := w.clients[a.Client]
			a.Return, a.Version, a.Alone = w.now+1, c.done[a.Seq], c.alone[a.Seq]
		}
		if !a.Vague || a.Version > 0 {
			acts = append(acts, a)
		}
	}
	return acts
}
