package node

import (
	"context"
	"errors"
	"strconv"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/nvram"
	"holdfast/nvram/config"
)

// loadMarks gives the authority's protocol what its NVRAM says of earlier boots (rule L8). Marks
// that are lost, or that cannot be read, are the protocol's to refuse, unless the operator has set
// mesh.epoch: above all that is left on the chip, or it cannot be above every certificate.
func (n *Node) loadMarks(store *nvram.Store) {
	n.mesh.Marks = &mesh.Marks{Lost: true}
	ledger, err := store.OpenLedger()
	if err != nil {
		n.log.Note("marks: " + err.Error())
		return
	}
	n.keeper = newKeeper(ledger)
	m, err := ledger.Marks()
	if err != nil {
		n.log.Note("marks: " + err.Error())
	}
	if lost := err != nil; lost {
		if left := id.Epoch(max(m.Signed, m.Activated)); n.mesh.Epoch <= left {
			n.log.Note("marks: mesh.epoch has to be above " + strconv.FormatUint(uint64(left), 10))
			n.mesh.Epoch = 1
		}
		return
	}
	if n.mesh.Epoch > config.EpochDefault && !m.NeverRan {
		n.log.Note("marks: mesh.epoch has done its work: env unset mesh.epoch")
	}
	*n.mesh.Marks = mesh.Marks{
		Signed: id.Epoch(m.Signed), Activated: id.Epoch(m.Activated),
		NeverRan: m.NeverRan, MayEmpty: m.MayEmpty,
	}
}

// keeper makes the authority's marks durable, on a goroutine of its own: the chip takes tens of
// milliseconds, and the loop waits for nobody. Nobody else writes its part of the chip.
type keeper struct {
	ledger *nvram.Ledger
	wanted chan mesh.Marks // of capacity 1: the protocol wants one thing at a time
}

func newKeeper(l *nvram.Ledger) *keeper { return &keeper{l, make(chan mesh.Marks, 1)} }

// want has marks saved. It does not wait.
func (k *keeper) want(m mesh.Marks) {
	select {
	case k.wanted <- m:
	default:
		panic("node: the marks are being saved already")
	}
}

// run saves what is wanted and hands each result on, until ctx is done.
func (k *keeper) run(ctx context.Context, done func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-k.wanted:
			done(k.ledger.Save(nvram.Marks{
				Signed: uint64(m.Signed), Activated: uint64(m.Activated),
				NeverRan: m.NeverRan, MayEmpty: m.MayEmpty,
			}))
		}
	}
}

// saved is what became of the marks that the protocol wanted durable.
type saved struct{ err error }

func (e saved) handle(l *loop) {
	switch {
	case e.err == nil:
		l.step(mesh.Persisted{Err: mesh.PersistOK})
		return
	case errors.Is(e.err, nvram.ErrMarksHigher):
		l.step(mesh.Persisted{Err: mesh.PersistHigher})
	default:
		l.step(mesh.Persisted{Err: mesh.PersistFailed})
	}
	l.log.Note("marks: " + e.err.Error())
}
