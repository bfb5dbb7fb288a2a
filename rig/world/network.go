package world

import (
	"context"
	"fmt"
	"time"

	"holdfast/qemu/relay"
	"holdfast/rig/journal"
)

// Cut interrupts the Ethernet between two nodes in both directions; each of them still reaches
// everybody else. Frames to peer are lost. Those that peer sends are kept by the relay for Release,
// until Drop.
func (w *World) Cut(node, peer string) error {
	return w.between(node, peer, journal.ActionCut, func(there, back *relay.Path) error {
		if err := there.Set(relay.Block); err != nil {
			return err
		}
		return back.Set(relay.Rule{Hold: true})
	})
}

// Drop lets the relay lose, rather than keep, what goes from a node to a peer after a Cut.
func (w *World) Drop(node, peer string) error {
	return w.relay.Path(w.machine(node).port, w.machine(peer).port).Set(relay.Block)
}

// Release sends on what the relay has kept of a node's frames to a peer.
func (w *World) Release(node, peer string) error {
	return w.between(node, peer, journal.ActionRelease, func(there, _ *relay.Path) error {
		if there.Release(-1) == 0 {
			return fmt.Errorf("rig: the relay has kept no frame from %s to %s", node, peer)
		}
		return nil
	})
}

// Heal ends a Cut. What the relay still keeps is lost.
func (w *World) Heal(node, peer string) error {
	return w.between(node, peer, journal.ActionHeal, func(there, back *relay.Path) error {
		there.Discard()
		back.Discard()
		w.relay.Heal(w.machine(node).port, w.machine(peer).port)
		return nil
	})
}

// Impair makes what a node sends to a peer pass by a rule, until Heal. detail says it for people.
func (w *World) Impair(node, peer string, rule relay.Rule, detail string) error {
	m := w.machine(node)
	w.since = w.Journal.Len()
	at := time.Now()
	if err := w.relay.Path(m.port, w.machine(peer).port).Set(rule); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	action := journal.Action{Name: journal.ActionImpair, Peer: peer, Detail: detail}
	w.journalDetail(m, action, at)
	return nil
}

// Yield heals as well, but what the relay has kept between the two nodes is not lost: it goes on,
// in the order in which it came.
func (w *World) Yield(node, peer string) error {
	return w.between(node, peer, journal.ActionHeal, func(there, back *relay.Path) error {
		w.relay.Heal(w.machine(node).port, w.machine(peer).port)
		there.Release(-1)
		back.Release(-1)
		return nil
	})
}

// between does something to the two directions between two nodes and journals it.
func (w *World) between(
	node, peer, action string, do func(there, back *relay.Path) error,
) error {
	m, p := w.machine(node), w.machine(peer)
	if action != journal.ActionRelease {
		w.since = w.Journal.Len()
	}
	at := time.Now()
	if err := do(w.relay.Path(m.port, p.port), w.relay.Path(p.port, m.port)); err != nil {
		return err
	}
	w.journalAction(m, peer, action, at)
	return nil
}

// AwaitFrame waits until the relay has judged so, since something was last done to the way between
// two, a frame from a node to a peer with at least so many bytes of a mesh session.
func (w *World) AwaitFrame(
	ctx context.Context, node, peer string, verdict relay.Verdict, least int,
) error {
	_, err := w.Journal.Await(ctx, w.since, func(r journal.Record) bool {
		return r.Kind == journal.KindFrame && r.Node == node && r.Frame.To == peer &&
			r.Frame.Verdict == verdict.String() && r.Frame.Payload >= least
	})
	return err
}
