package world

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"holdfast/qemu"
	"holdfast/rig/journal"
)

// Stop is a way to make a machine stand still. The two differ in what the guest's counter shows
// afterwards, and so in what can unmask them.
type Stop uint8

const (
	// Freeze stops the guest together with its counter, as a hypervisor does (QMP stop): afterwards
	// the guest cannot tell by its counter that it was away. Its second clock goes on.
	Freeze Stop = iota
	// Stall stops QEMU itself (SIGSTOP): afterwards the guest's counter has jumped, and a watchdog
	// that was not fed meanwhile resets the machine at once.
	Stall
)

// kinds has, for each way, how it is done and undone and the journal's words for that.
var kinds = [...]struct {
	stops, goesOn string
	stop, goOn    func(context.Context, *qemu.Process) error
}{
	Freeze: {journal.ActionFreeze, journal.ActionThaw,
		func(ctx context.Context, p *qemu.Process) error { return p.Pause(ctx) },
		func(ctx context.Context, p *qemu.Process) error { return p.Resume(ctx) }},
	Stall: {journal.ActionStall, journal.ActionResume,
		func(_ context.Context, p *qemu.Process) error { return p.Signal(syscall.SIGSTOP) },
		func(_ context.Context, p *qemu.Process) error { return p.Signal(syscall.SIGCONT) }},
}

func (s Stop) String() string { return kinds[s].stops }

// Halt makes a node stand still. Frames to it are lost from before it does until GoOn, as on an
// Ethernet without anybody to receive them: the relay and the socket would keep them for it.
func (w *World) Halt(ctx context.Context, node string, how Stop) error {
	m := w.machine(node)
	return w.still(m, kinds[how].stops, func() error {
		m.port.Freeze()
		return kinds[how].stop(ctx, m.process)
	})
}

// GoOn ends a Halt of the same kind.
func (w *World) GoOn(ctx context.Context, node string, how Stop) error {
	m := w.machine(node)
	return w.still(m, kinds[how].goesOn, func() error {
		m.port.Thaw()
		return kinds[how].goOn(ctx, m.process)
	})
}

// still does something to a running machine and journals it, even if it fails: what a machine does
// from here on may come of the attempt.
func (w *World) still(m *machine, action string, do func() error) error {
	if m.process == nil {
		return fmt.Errorf("rig: %s %s: it is not running", action, m.node.Name)
	}
	w.since = w.Journal.Len()
	at := time.Now()
	err := do()
	w.journalAction(m, "", action, at)
	if err != nil {
		return fmt.Errorf("rig: %s %s: %w", action, m.node.Name, err)
	}
	return nil
}
