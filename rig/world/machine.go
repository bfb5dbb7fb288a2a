package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"holdfast/nvram/config"
	"holdfast/qemu"
	"holdfast/qemu/relay"
	"holdfast/qemu/rsp"
	"holdfast/rig/journal"
	"holdfast/rig/provision"
)

// machine is one node's place: it outlives the QEMUs that run there.
type machine struct {
	index   int // in the cast
	node    *provision.Node
	port    *relay.Port
	eeprom  string   // file
	console *os.File // raw, all boots

	boots   atomic.Int32
	process *qemu.Process // nil before the first boot and after an end

	recording *recording // of the latest boot's tape; nil without one

	// life ends with the process; nil before the first boot.
	life atomic.Pointer[lifetime]

	// epoch is that of the newest view that the node has printed since it started, 0 for none.
	epoch atomic.Uint64

	debugger *rsp.Client // nil: it is not armed
	function string      // where it stops

	// ending is held while the rig ends the process, so that the journal has the action before the
	// exit that it caused.
	ending sync.Mutex
}

// lifetime is the time in which a machine runs, until the rig ends it.
type lifetime struct {
	context.Context
	end context.CancelCauseFunc
}

// errEnded is why nobody waits for a node's answer any more.
var errEnded = errors.New("the rig has ended the machine")

// during is a context for a request to the node, which ends with the machine's life as well: a dead
// machine answers nobody, and its next boot knows nothing of the request.
func (m *machine) during(
	ctx context.Context, patience time.Duration,
) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	l := m.life.Load()
	if l == nil {
		return ctx, cancel
	}
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l, func() { end(context.Cause(l)) })
	return ctx, func() {
		stop()
		end(nil)
		cancel()
	}
}

// prepare makes a node's EEPROM file, its port and its console file.
func (w *World) prepare(i int) error {
	node := &w.Cast.Nodes[i]
	m := &machine{index: i, node: node, eeprom: filepath.Join(w.temp, node.Name+".ee")}
	conf := w.config(i)
	environment, err := conf.Environment()
	if err != nil {
		return fmt.Errorf("rig: node %s: %w", node.Name, err)
	}
	content, err := w.Cast.EEPROM(i, environment)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	if err := os.WriteFile(m.eeprom, content, 0o600); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	m.port, err = w.relay.Unix(node.Name,
		filepath.Join(w.temp, node.Name+".sw"), filepath.Join(w.temp, node.Name+".vm"))
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	if m.console, err = w.create(consoleFile(node.Name)); err != nil {
		return err
	}
	w.machines = append(w.machines, m)
	return nil
}

// config is what the cast's i-th node is provisioned with.
func (w *World) config(i int) config.Config {
	conf := w.Cast.Config(i)
	if w.Configure != nil {
		w.Configure(w.Cast, i, &conf)
	}
	conf.Tape = w.Record && (conf.Lab || conf.AcksAll)
	return conf
}

// machine returns the machine of a node; a fault that names another is a bug.
func (w *World) machine(node string) *machine {
	for _, m := range w.machines {
		if m.node.Name == node {
			return m
		}
	}
	panic("world: no node " + node)
}

// Running returns the names of the nodes whose machines run, in the cast's order.
func (w *World) Running() []string {
	var names []string
	for _, m := range w.machines {
		if m.process != nil {
			names = append(names, m.node.Name)
		}
	}
	return names
}

// Boot starts a node's machine, which must not be running, and returns when its guest runs.
func (w *World) Boot(ctx context.Context, node string) error {
	m := w.machine(node)
	if m.process != nil {
		panic("world: " + node + " is running")
	}
	count := int(m.boots.Add(1))
	if err := heading(m.console, node, count); err != nil {
		return fmt.Errorf("rig: console of %s: %w", node, err)
	}
	w.since = w.Journal.Len()
	w.Journal.Add(time.Now(), journal.Record{Kind: journal.KindBoot, Node: node, Boot: count})
	// The step bounds the start, but no context the life: however a run ends, Close ends its
	// machines, in order and on the record.
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	p, err := qemu.Start(life, w.describeMachine(m, count))
	stop()
	if err != nil {
		cancel(nil)
		return w.stillborn(ctx, m, err)
	}
	m.process = p
	up, end := context.WithCancelCause(context.WithoutCancel(ctx))
	m.life.Store(&lifetime{up, end})
	w.record(m)
	w.watchers.Go(func() {
		defer cancel(nil)
		w.awaitExit(m, p, count)
	})
	return nil
}

// stillborn journals the end of a machine that did not start and returns why: ctx's cause if it was
// ctx that ended it.
func (w *World) stillborn(ctx context.Context, m *machine, err error) error {
	now := time.Now()
	if ctx.Err() != nil {
		w.journalAction(m, "", journal.ActionQuit, now)
	}
	w.Journal.Add(now, journal.Record{
		Kind: journal.KindExit, Node: m.node.Name, Boot: int(m.boots.Load()),
		Exit: &journal.Exit{Text: err.Error()},
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Tamper changes the content of the EEPROM of a node whose machine is off. detail says it for
// people.
func (w *World) Tamper(node, detail string, change func(eeprom []byte) error) error {
	m := w.machine(node)
	if m.process != nil {
		panic("world: " + node + " is running")
	}
	at := time.Now()
	content, err := os.ReadFile(m.eeprom)
	if err == nil {
		err = change(content)
	}
	if err == nil {
		err = os.WriteFile(m.eeprom, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("rig: EEPROM of %s: %w", node, err)
	}
	w.journalDetail(m, journal.Action{Name: journal.ActionTamper, Detail: detail}, at)
	return nil
}

// describeMachine is what QEMU is started with for a boot of a node.
func (w *World) describeMachine(m *machine, count int) qemu.Machine {
	node := m.node.Name
	station, switched := m.port.Sockets()
	mac := m.node.MAC()
	return qemu.Machine{
		Name:  node,
		Image: w.Image,
		RAM:   w.RAM,
		Dir:   w.temp,
		NVRAM: m.eeprom,
		Clock: new(qemu.Clock), // the host's time: it goes on while QMP has stopped the machine
		MAC:   mac[:],
		Net:   qemu.Ethernet{Local: station, Remote: switched},
		Limit: w.Patience(w.Patient),
		Raw:   m.console,
		OnLine: func(at time.Time, line string) {
			w.Journal.Add(at, journal.Record{
				Kind: journal.KindConsole, Node: node, Boot: count, Line: line,
			})
		},
		OnEvent: func(at time.Time, name string, data json.RawMessage) {
			w.Journal.Add(at, journal.Record{
				Kind: journal.KindEvent, Node: node, Boot: count,
				Event: &journal.Event{Name: name, Data: string(data)},
			})
		},
	}
}

// awaitExit journals the end of a machine's QEMU.
func (w *World) awaitExit(m *machine, p *qemu.Process, count int) {
	exit := p.Wait()
	m.ending.Lock()
	defer m.ending.Unlock()
	w.Journal.Add(time.Now(), journal.Record{
		Kind: journal.KindExit, Node: m.node.Name, Boot: count,
		Exit: &journal.Exit{Text: exit.String(), Lost: exit.Lost},
	})
	if exit.RawErr != nil {
		w.trouble(fmt.Errorf("console file of %s: %w", m.node.Name, exit.RawErr))
	}
}

// Kill ends a node's machine like a power cut: SIGKILL, nothing is said to anybody.
func (w *World) Kill(node string) error {
	m := w.machine(node)
	err := w.end(m, journal.ActionKill, func() error {
		if err := m.process.Signal(syscall.SIGKILL); err != nil {
			return fmt.Errorf("rig: kill %s: %w", node, err)
		}
		m.process.Wait()
		return nil
	})
	w.since = w.Journal.Len()
	return err
}

// quitTimeout bounds QEMU's end when it is asked to, and covers the kill that follows.
const quitTimeout = 10 * time.Second

// quit ends a machine at the end of a run, if it is running.
func (w *World) quit(m *machine) {
	if m.process == nil {
		return
	}
	w.takeRest(m)
	w.end(m, journal.ActionQuit, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), w.Patience(quitTimeout))
		defer cancel()
		m.process.Quit(ctx)
		return nil
	})
}

// end ends a machine's process by do and journals that it was the rig's doing, unless the process
// had ended before.
func (w *World) end(m *machine, action string, do func() error) error {
	if m.process == nil {
		return fmt.Errorf("rig: %s %s: it is not running", action, m.node.Name)
	}
	m.ending.Lock()
	defer m.ending.Unlock()
	defer func() { m.process = nil }()
	defer m.disarm()
	defer m.epoch.Store(0)
	select {
	case <-m.process.Done():
		return fmt.Errorf("rig: %s %s: it had ended before", action, m.node.Name)
	default:
	}
	// The action comes first: what the console says from here on may break off in a line.
	w.journalAction(m, "", action, time.Now())
	if err := do(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	m.life.Load().end(errEnded)
	return nil
}

// journalAction journals what was done to a machine, or between it and a peer, from an instant on
// until now.
func (w *World) journalAction(m *machine, peer, action string, at time.Time) {
	w.journalDetail(m, journal.Action{Name: action, Peer: peer}, at)
}

// journalDetail journals an action, except for when it had taken effect, which is now.
func (w *World) journalDetail(m *machine, action journal.Action, at time.Time) {
	action.Done = w.Journal.Now()
	w.Journal.Add(at, journal.Record{
		Kind: journal.KindAction, Node: m.node.Name, Boot: max(1, int(m.boots.Load())),
		Action: &action,
	})
}
