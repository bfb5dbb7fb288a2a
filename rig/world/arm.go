package world

import (
	"context"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"time"

	"holdfast/rig/journal"
)

// Arm makes a running node stop, once, where a function of its image begins, before it has done
// anything of it. The image needs nothing for that: the breakpoint is QEMU's, and where functions
// begin stands in the table that every Go program has for its own stack traces. While the
// breakpoint is set, for some milliseconds, the machine stands still with its counter. A node can
// be armed once in a boot.
func (w *World) Arm(ctx context.Context, node, function string) error {
	m := w.machine(node)
	if m.process == nil || m.debugger != nil {
		panic("world: " + node + " is not running, or armed")
	}
	address, err := entry(w.Image, function)
	if err != nil {
		return fmt.Errorf("rig: arm %s: %w", node, err)
	}
	at := time.Now()
	m.debugger, err = m.process.Debug(ctx)
	if err == nil {
		m.function = function
		err = errors.Join(m.debugger.Break(ctx, address), m.debugger.Go(ctx))
	}
	w.journalDetail(m, journal.Action{Name: journal.ActionArm, Detail: function}, at)
	if err != nil {
		return fmt.Errorf("rig: arm %s: %w", node, err)
	}
	return nil
}

// Reach waits until an armed node has come to the function. It stands still then, with everything
// that it is, and is not to go on: what there is to do with it is Kill.
func (w *World) Reach(ctx context.Context, node string) error {
	m := w.machine(node)
	if m.debugger == nil {
		panic("world: " + node + " is not armed")
	}
	if err := m.debugger.Stopped(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("rig: %s: %w", node, err)
	}
	w.journalDetail(m, journal.Action{Name: journal.ActionReach, Detail: m.function}, time.Now())
	return nil
}

// disarm ends the session with a node's debugger stub, whose machine has ended.
func (m *machine) disarm() {
	if m.debugger != nil {
		_ = m.debugger.Close() // there is nobody at the other end
		m.debugger = nil
	}
}

// entry is where a function of a Go program begins. The table that it is found in is part of every
// image, also of one without symbols.
func entry(image, function string) (uint32, error) {
	f, err := elf.Open(image)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	table, text := f.Section(".gopclntab"), f.Section(".text")
	if table == nil || text == nil {
		return 0, fmt.Errorf("%s has no table of functions: it is no Go program", image)
	}
	data, err := table.Data()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", image, err)
	}
	functions, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", image, err)
	}
	found := functions.LookupFunc(function)
	if found == nil {
		return 0, fmt.Errorf("%s has no function %s: there is none, or it is inlined", image, function)
	}
	return uint32(found.Entry), nil
}
