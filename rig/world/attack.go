package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	"holdfast/rig/attack"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

const (
	// attackerName is the stranger's port on the relay.
	attackerName = "stranger"
	// sampleEvery is how often an attacked node is asked for its figures.
	sampleEvery = time.Second
)

// InsiderKey names, for provision.Cast.StrangersKey, the key of the stranger that the authority is
// told to allow.
const InsiderKey = "insider"

// Attack has a stranger on the Ethernet do something to a node, and asks the node for its figures
// all the while.
func (w *World) Attack(ctx context.Context, node string, a attack.Attack) error {
	m := w.machine(node)
	if err := w.invite(); err != nil {
		return err
	}
	at, starved := time.Now(), m.starved()
	target := attack.Target{MAC: m.node.MAC(), Address: m.node.Address.Addr()}
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { w.sample(watching, node) })
	tally := w.attacker.Run(ctx, a, target)
	stop()
	watch.Wait()
	action := journal.Action{
		Name: journal.ActionAttack, Detail: a.Name, Offered: tally.Offered, Taken: tally.Taken,
		StarvedMS: (m.starved() - starved).Milliseconds(),
	}
	w.journalDetail(m, action, at)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// starved is qemu.Process.Starved of the machine, 0 when it is off.
func (m *machine) starved() time.Duration {
	if m.process == nil {
		return 0
	}
	return m.process.Starved()
}

// invite puts the stranger on the Ethernet.
func (w *World) invite() error {
	if w.attacker != nil {
		return nil
	}
	port, err := w.relay.Local(attackerName)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	w.attacker, err = attack.Open(port, w.Cast.Seed,
		w.Cast.StrangersKey(InsiderKey), w.Cast.StrangersKey("stranger"))
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	return nil
}

// sample asks a node for its figures again and again, whatever the answer.
func (w *World) sample(ctx context.Context, node string) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w.Get(ctx, node, judge.MetricsPath)
	}
}
